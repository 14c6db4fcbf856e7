//! Joins: by hash table, by index lookups, as an `Apply`.

use expr::{Expr, Func, Op as ExprOp};

use super::{Chooser, Physical, Want, cost};
use crate::{
    logical::{Col, Join, Plan, Scan, covered},
    physical::{self, JoinKey, JoinKind, Op, Side},
    rules::Rule,
};

/// The conditions of a match, sorted out. Key expressions still refer to columns by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Match {
    pub keys: Vec<JoinKey>,
    pub conditions: Vec<Expr>,
    /// The first so many keys come from IN.
    pub null_aware: usize,
}

impl Chooser<'_> {
    pub(super) fn choose_join(&self, join: &Join, want: &Want) -> Physical {
        let limit = match join.kind {
            JoinKind::LeftOuter | JoinKind::Mark if want.order.is_empty() => want.limit,
            _ => None,
        };
        let (left_columns, right_columns) = (join.left.columns(), join.right.columns());
        let found = sort_out(join, &left_columns, &right_columns);
        if join.apply {
            return self.apply(join, found);
        }
        let left = self.choose(&join.left, &Want::limited(limit));
        let right = self.choose(&join.right, &Want::default());
        let rows = self.joined_rows(join, left.rows(), right.rows());
        let mut best = self.hash_join(join, &found, left.clone(), right.clone(), rows);
        if self.is_on(Rule::IndexJoin) && !found.keys.is_empty() && found.null_aware == 0 {
            if let Some(by_index) = self.index_join(join.kind, &found, left, &join.right, rows, &join.right_scan())
                && by_index.cost() < best.cost()
            {
                best = by_index;
            }
            if join.kind == JoinKind::Inner && !join.straight {
                let swapped = found.swapped();
                if let Some(by_index) = self.index_join(join.kind, &swapped, right, &join.left, rows, &join.left_scan())
                    && by_index.cost() < best.cost()
                {
                    best = by_index;
                }
            }
        }
        best
    }

    fn joined_rows(&self, join: &Join, left: f64, right: f64) -> f64 {
        match join.kind {
            JoinKind::Inner => self.estimator.join_rows(left, right, &join.conditions, self.columns),
            JoinKind::LeftOuter => self.estimator.join_rows(left, right, &join.conditions, self.columns).max(left),
            JoinKind::Semi | JoinKind::AntiSemi => (left * 0.8).max(1.0),
            JoinKind::Mark => left,
        }
    }

    fn hash_join(&self, join: &Join, found: &Match, left: Physical, right: Physical, rows: f64) -> Physical {
        let build = match join.kind {
            JoinKind::Inner | JoinKind::LeftOuter if left.rows() * 1.2 < right.rows() => Side::Left,
            _ => Side::Right,
        };
        let (built, probed) = if build == Side::Left { (left.rows(), right.rows()) } else { (right.rows(), left.rows()) };
        let mut cost = left.cost() + right.cost() + rows * cost::COMPUTE;
        cost += match found.keys.is_empty() {
            true => left.rows() * right.rows() * cost::COMPUTE,
            false => built * cost::HASH_BUILD + probed * cost::HASH_PROBE,
        };
        let (keys, conditions) = resolve_match(found, &left, &right);
        let (columns, output) = self.join_output(join.kind, join.mark, &left, &right);
        let op = Op::HashJoin(physical::HashJoin {
            kind: join.kind,
            left: Box::new(left.node),
            right: Box::new(right.node),
            build,
            keys,
            conditions,
            null_aware_keys: found.null_aware,
        });
        let node = self.node(op, output, rows, cost);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    /// A join that looks `inner` up by an index for each row of `outer`; `found` has the outer side on the left.
    fn index_join(
        &self,
        kind: JoinKind,
        found: &Match,
        outer: Physical,
        inner: &Plan,
        rows: f64,
        scan: &Option<(&Scan, Vec<Expr>)>,
    ) -> Option<Physical> {
        if !matches!(kind, JoinKind::Inner | JoinKind::LeftOuter | JoinKind::Semi | JoinKind::AntiSemi) {
            return None;
        }
        let (scan, above) = scan.as_ref()?;
        // A key is usable when the inner side is a bare column; a NULL never matches.
        let usable: Vec<(Col, Expr)> =
            found.keys.iter().filter(|key| !key.null_safe).filter_map(|key| Some((key.right.as_column()?, key.left.clone()))).collect();
        let lookup = self.choose_lookup(scan, &usable)?;
        let mut reader = lookup.reader;
        let matches_per_row = reader.rows();
        if !above.is_empty() {
            // Conditions that could not be pushed into the scan would have to stand between the join and its reader.
            return None;
        }
        let cost = outer.cost() + outer.rows() * (lookup.cost_per_row + cost::HASH_PROBE) + rows * cost::COMPUTE;
        reader.node.rows = matches_per_row;
        reader.node.cost = lookup.cost_per_row;
        let lookup_exprs = lookup.keys.iter().map(|expr| outer.resolve(expr)).collect();
        let (keys, conditions) = resolve_match(found, &outer, &reader);
        let (columns, output) = self.join_output(kind, None, &outer, &reader);
        debug_assert!(
            inner.columns().iter().all(|col| reader.columns.contains(col) || !columns.contains(col)),
            "the reader yields what is read"
        );
        let op = Op::IndexJoin(physical::IndexJoin {
            kind,
            outer: Box::new(outer.node),
            inner: Box::new(reader.node),
            lookup: lookup_exprs,
            keys,
            conditions,
        });
        let node = self.node(op, output, rows, cost);
        Some(Physical { node, columns, order: vec![], constant: vec![] })
    }

    fn apply(&self, join: &Join, found: Match) -> Physical {
        let outer = self.choose(&join.left, &Want::default());
        let first_only = matches!(join.kind, JoinKind::Semi | JoinKind::AntiSemi | JoinKind::Mark) && found.keys.is_empty();
        let inner = self.choose(&join.right, &Want::limited(first_only.then_some(1.0)));
        let rows = self.joined_rows(join, outer.rows(), inner.rows());
        let cost = outer.cost() + outer.rows() * inner.cost();
        let (keys, conditions) = resolve_match(&found, &outer, &inner);
        let bindings = join.bindings.iter().map(|(slot, col)| (*slot, outer.position(*col))).collect();
        let (columns, output) = self.join_output(join.kind, join.mark, &outer, &inner);
        let op = Op::Apply(physical::Apply {
            kind: join.kind,
            outer: Box::new(outer.node),
            inner: Box::new(inner.node),
            bindings,
            null_aware: found.null_aware > 0,
            keys,
            conditions,
        });
        let node = self.node(op, output, rows, cost);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    fn join_output(&self, kind: JoinKind, mark: Option<Col>, left: &Physical, right: &Physical) -> (Vec<Col>, Vec<types::FieldType>) {
        let mut columns = left.columns.clone();
        let mut output = left.node.output.clone();
        match kind {
            JoinKind::Inner => {
                columns.extend(&right.columns);
                output.extend(right.node.output.iter().cloned());
            }
            JoinKind::LeftOuter => {
                columns.extend(&right.columns);
                output.extend(right.node.output.iter().cloned().map(|mut ty| {
                    ty.not_null = false;
                    ty
                }));
            }
            JoinKind::Semi | JoinKind::AntiSemi => {}
            JoinKind::Mark => {
                columns.extend(mark);
                output.extend(mark.map(|col| self.columns.meta(col).ty.clone()));
            }
        }
        (columns, output)
    }
}

impl Join {
    fn right_scan(&self) -> Option<(&Scan, Vec<Expr>)> {
        scan_below(&self.right)
    }

    fn left_scan(&self) -> Option<(&Scan, Vec<Expr>)> {
        scan_below(&self.left)
    }
}

/// The scan that a side of a join consists of, and the conditions above it.
fn scan_below(plan: &Plan) -> Option<(&Scan, Vec<Expr>)> {
    match plan {
        Plan::Scan(scan) => Some((scan, vec![])),
        Plan::Filter(filter) => {
            let (scan, mut conditions) = scan_below(&filter.child)?;
            conditions.extend(filter.conditions.iter().cloned());
            Some((scan, conditions))
        }
        _ => None,
    }
}

impl Match {
    fn swapped(&self) -> Self {
        let swap = |key: &JoinKey| JoinKey { left: key.right.clone(), right: key.left.clone(), null_safe: key.null_safe };
        Self { keys: self.keys.iter().map(swap).collect(), conditions: self.conditions.clone(), null_aware: self.null_aware }
    }
}

/// Sorts equalities between the two sides from the other conditions.
fn sort_out(join: &Join, left: &[Col], right: &[Col]) -> Match {
    let mut found = Match::default();
    for condition in &join.in_conditions {
        found.keys.push(as_key(condition, left, right).unwrap_or_else(|| in_key(condition, left, right)));
    }
    found.null_aware = found.keys.len();
    for condition in &join.conditions {
        match as_key(condition, left, right) {
            Some(key) => found.keys.push(key),
            None => found.conditions.push(condition.clone()),
        }
    }
    found
}

fn as_key(condition: &Expr, left: &[Col], right: &[Col]) -> Option<JoinKey> {
    let call = condition.as_call()?;
    let Func::Op(op @ (ExprOp::Eq | ExprOp::NullEq), _) = call.func else { return None };
    let [a, b] = &call.args[..] else { return None };
    let refers = |expr: &Expr| !crate::logical::columns_of(expr).is_empty();
    let null_safe = op == ExprOp::NullEq;
    if !refers(a) || !refers(b) || !same_collation(call.collation, a, b) {
        return None;
    }
    if covered(a, left) && covered(b, right) {
        Some(JoinKey { left: a.clone(), right: b.clone(), null_safe })
    } else if covered(b, left) && covered(a, right) {
        Some(JoinKey { left: b.clone(), right: a.clone(), null_safe })
    } else {
        None
    }
}

/// The key of an IN whose sides are not columns of both inputs: a constant stands for a side without columns. A comparison that was decided
/// while it was built is compared with 1, which gives its own truth value.
fn in_key(condition: &Expr, left: &[Col], right: &[Col]) -> JoinKey {
    let one = || Expr::constant(types::Datum::Int(1), types::FieldType::boolean().with_not_null());
    if let Some((ExprOp::Eq, [a, b])) = condition.as_op() {
        if covered(a, left) && covered(b, right) {
            return JoinKey { left: a.clone(), right: b.clone(), null_safe: false };
        }
        if covered(b, left) && covered(a, right) {
            return JoinKey { left: b.clone(), right: a.clone(), null_safe: false };
        }
    }
    if covered(condition, left) {
        JoinKey { left: condition.clone(), right: one(), null_safe: false }
    } else {
        JoinKey { left: one(), right: condition.clone(), null_safe: false }
    }
}

/// Keys are hashed by the collation of their own types, so it must be the one of the comparison.
fn same_collation(collation: types::Collation, a: &Expr, b: &Expr) -> bool {
    let is_string = |expr: &Expr| expr.eval_type() == types::EvalType::String;
    !is_string(a) || !is_string(b) || (a.field_type().collation == collation && b.field_type().collation == collation)
}

/// Keys and conditions over positions of the two sides, the conditions over left then right.
fn resolve_match(found: &Match, left: &Physical, right: &Physical) -> (Vec<JoinKey>, Vec<Expr>) {
    let keys = found
        .keys
        .iter()
        .map(|key| JoinKey { left: left.resolve(&key.left), right: right.resolve(&key.right), null_safe: key.null_safe })
        .collect();
    let conditions = found
        .conditions
        .iter()
        .map(|condition| {
            let mut condition = condition.clone();
            condition.remap_columns(&|col| match left.columns.iter().position(|own| *own == col) {
                Some(at) => at,
                None => left.columns.len() + right.position(col),
            });
            condition
        })
        .collect();
    (keys, conditions)
}
