//! Grouping: turns a block with GROUP BY or aggregate functions into an aggregation and rewrites the other clauses over its output.
//!
//! Bound expressions refer to the columns below the aggregation and to the columns of the aggregate functions. After it only group keys
//! and functions exist, so each expression is rewritten:
//!
//! - a subtree equal to a group key becomes that key's column;
//! - any other column below must be functionally dependent on the group keys (ONLY_FULL_GROUP_BY): it is replaced by the value of the
//!   group's first row, under the same number.
//!
//! Functional dependence starts from the keys that are bare columns and follows: constants and equalities of the conditions, and a primary
//! key or NOT NULL unique key to all columns of its table. (SQL:2016 part 2, 4.26; MySQL 8.0 manual, 14.19.4.)

use expr::{AggDesc, AggKind, AggMode, Expr, Op, SqlMode};

use super::{
    Binder,
    select::{Item, OrderKey},
};
use crate::{
    error::{Clause, Error, Result},
    logical::{Aggregate, Col, Plan, ScanSource, columns_of},
};

impl Binder<'_> {
    /// Puts the block's aggregation over `plan` and rewrites the other clauses' expressions over it.
    pub(super) fn aggregate(
        &mut self,
        plan: Plan,
        items: &mut [Item],
        group: &mut Vec<OrderKey>,
        having: &mut [Expr],
        order: &mut [OrderKey],
    ) -> Result<Plan> {
        let mut group_by: Vec<(Col, Expr)> = vec![];
        for key in group.drain(..) {
            if group_by.iter().any(|(_, other)| *other == key.expr) || (key.expr.is_constant() && !group_by.is_empty()) {
                continue;
            }
            let col = match key.expr.as_column() {
                Some(col) => col,
                None => self.columns.add_computed(key.expr.field_type().clone()),
            };
            group_by.push((col, key.expr));
        }
        let has_group_clause = !group_by.is_empty();
        let aggs = std::mem::take(&mut self.frame().aggs);
        let mut rewriter = Rewriter { dependent: dependent_columns(&plan, &group_by), group_by, aggs, first_rows: vec![] };
        let strict = self.cx.eval.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY);

        let listed: Vec<Col> = items.iter().flat_map(|item| columns_of(&item.expr)).collect();
        for (i, item) in items.iter_mut().enumerate() {
            self.rewrite(&mut rewriter, &mut item.expr, strict.then_some((i + 1, "SELECT list")), has_group_clause)?;
        }
        for condition in having.iter_mut() {
            rewriter.replace_keys(condition);
            if let Some(col) = rewriter.stray_columns(condition).into_iter().find(|col| !listed.contains(col)) {
                let name = self.short_name(col);
                return Err(Error::UnknownColumn { name, clause: Clause::Having });
            }
            self.rewrite(&mut rewriter, condition, None, has_group_clause)?;
        }
        for (i, key) in order.iter_mut().enumerate() {
            self.rewrite(&mut rewriter, &mut key.expr, strict.then_some((i + 1, "ORDER BY clause")), has_group_clause)?;
        }
        // Columns that subqueries above the aggregation read from this block.
        let bound: Vec<Col> = self.frame().pending.iter().flat_map(|pending| pending.bindings.iter().map(|(_, col)| *col)).collect();
        for col in bound {
            let mut reference = self.columns.expr(col);
            self.rewrite(&mut rewriter, &mut reference, strict.then_some((1, "SELECT list")), has_group_clause)?;
        }
        let Rewriter { group_by, mut aggs, first_rows, .. } = rewriter;
        for col in first_rows {
            let arg = self.columns.expr(col);
            let ty = arg.field_type().clone();
            aggs.push((col, first_row(arg, ty)));
        }
        Ok(Plan::Aggregate(Aggregate { child: Box::new(plan), group_by, aggs }))
    }

    fn rewrite(
        &mut self,
        rewriter: &mut Rewriter,
        expr: &mut Expr,
        position: Option<(usize, &'static str)>,
        has_group_clause: bool,
    ) -> Result<()> {
        rewriter.replace_keys(expr);
        for col in rewriter.stray_columns(expr) {
            if let Some((position, list)) = position
                && !rewriter.dependent.contains(&col)
            {
                let column = self.columns.meta(col).name.to_string();
                return Err(if has_group_clause {
                    Error::NotInGroupBy { position, list, column }
                } else {
                    Error::MixOfGroupColumns { position, list, column }
                });
            }
            rewriter.first_rows.push(col);
        }
        Ok(())
    }

    fn short_name(&self, col: Col) -> String {
        let name = &self.columns.meta(col).name;
        name.rsplit('.').next().unwrap_or(name).to_owned()
    }
}

/// The value of the group's first row.
pub(crate) fn first_row(arg: Expr, ty: types::FieldType) -> AggDesc {
    AggDesc { kind: AggKind::FirstRow, args: vec![arg], distinct: false, ty, mode: AggMode::Complete, order_by: vec![], separator: vec![] }
}

struct Rewriter {
    group_by: Vec<(Col, Expr)>,
    aggs: Vec<(Col, AggDesc)>,
    /// Columns that have one value in a group.
    dependent: Vec<Col>,
    /// Columns below that the aggregation hands up by their first row.
    first_rows: Vec<Col>,
}

impl Rewriter {
    /// Replaces subtrees equal to a group key by the key's column.
    fn replace_keys(&self, expr: &mut Expr) {
        if let Some((col, key)) = self.group_by.iter().find(|(_, key)| key == expr) {
            if key.as_column().is_none() {
                *expr = Expr::named_column(*col, key.field_type().clone(), format!("Column#{col}"));
            }
            return;
        }
        if let Expr::Call(call) = expr {
            call.args.iter_mut().for_each(|arg| self.replace_keys(arg));
        }
    }

    /// Columns of `expr` that the aggregation does not hand up yet.
    fn stray_columns(&self, expr: &Expr) -> Vec<Col> {
        let handed_up = |col: &Col| {
            self.group_by.iter().any(|(key, _)| key == col) || self.aggs.iter().any(|(agg, _)| agg == col) || self.first_rows.contains(col)
        };
        columns_of(expr).into_iter().filter(|col| !handed_up(col)).collect()
    }
}

/// The columns that have one value for each combination of the group keys.
fn dependent_columns(plan: &Plan, group_by: &[(Col, Expr)]) -> Vec<Col> {
    let mut known: Vec<Col> = group_by.iter().filter_map(|(_, expr)| expr.as_column()).collect();
    let mut facts = Facts::default();
    facts.collect(plan);
    loop {
        let before = known.len();
        for (from, to) in &facts.implied {
            if from.iter().all(|col| known.contains(col)) {
                for col in to {
                    if !known.contains(col) {
                        known.push(*col);
                    }
                }
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// Functional dependencies: the left columns determine the right ones.
#[derive(Default)]
struct Facts {
    implied: Vec<(Vec<Col>, Vec<Col>)>,
}

impl Facts {
    fn collect(&mut self, plan: &Plan) {
        match plan {
            Plan::Scan(scan) => {
                let col_of = |offset: usize| scan.columns.iter().find(|c| c.source == ScanSource::Offset(offset)).map(|c| c.col);
                let all: Vec<Col> = scan.columns.iter().map(|column| column.col).collect();
                let mut keys = vec![scan.table.primary_key_columns()];
                for (_, index) in scan.table.public_indexes().filter(|(_, index)| index.unique && !index.has_prefix()) {
                    let offsets: Vec<usize> = index.columns.iter().map(|part| part.offset).collect();
                    if offsets.iter().all(|offset| scan.table.columns[*offset].ty.not_null) {
                        keys.push(offsets);
                    }
                }
                for key in keys.into_iter().filter(|key| !key.is_empty()) {
                    if let Some(key) = key.into_iter().map(col_of).collect::<Option<Vec<_>>>() {
                        self.implied.push((key, all.clone()));
                    }
                }
            }
            Plan::Filter(filter) => {
                self.equalities(&filter.conditions, true);
                self.collect(&filter.child);
            }
            Plan::Join(join) => {
                let inner = join.kind == crate::physical::JoinKind::Inner;
                if inner {
                    self.equalities(&join.conditions, true);
                } else if join.kind == crate::physical::JoinKind::LeftOuter {
                    let right = join.right.columns();
                    for condition in &join.conditions {
                        if let Some((a, b)) = equal_columns(condition) {
                            // An unmatched row has NULLs on the right, which the left column determines too.
                            match (right.contains(&a), right.contains(&b)) {
                                (false, true) => self.implied.push((vec![a], vec![b])),
                                (true, false) => self.implied.push((vec![b], vec![a])),
                                _ => {}
                            }
                        }
                    }
                }
                self.collect(&join.left);
                self.collect(&join.right);
            }
            Plan::Project(project) => {
                for (col, expr) in &project.exprs {
                    if expr.is_deterministic() && expr.as_column() != Some(*col) {
                        self.implied.push((columns_of(expr), vec![*col]));
                    }
                }
                self.collect(&project.child);
            }
            Plan::Aggregate(agg) => {
                let keys: Vec<Col> = agg.group_by.iter().map(|(col, _)| *col).collect();
                self.implied.push((keys, agg.aggs.iter().map(|(col, _)| *col).collect()));
                // Dependencies below hold above for the columns that are handed up.
                self.collect(&agg.child);
            }
            Plan::Sort(sort) => self.collect(&sort.child),
            Plan::Limit(limit) => self.collect(&limit.child),
            Plan::Lock(lock) => self.collect(&lock.child),
            Plan::MaxOneRow(child) => self.collect(child),
            Plan::Values(_) | Plan::Union(_) => {}
        }
    }

    fn equalities(&mut self, conditions: &[Expr], both_ways: bool) {
        for condition in conditions {
            if let Some((a, b)) = equal_columns(condition) {
                self.implied.push((vec![a], vec![b]));
                if both_ways {
                    self.implied.push((vec![b], vec![a]));
                }
            } else if let Some((Op::Eq, [a, b])) = condition.as_op() {
                match (a.as_column(), b.as_column()) {
                    (Some(col), None) if b.is_constant() => self.implied.push((vec![], vec![col])),
                    (None, Some(col)) if a.is_constant() => self.implied.push((vec![], vec![col])),
                    _ => {}
                }
            }
        }
    }
}

/// The two columns of `a = b`.
fn equal_columns(condition: &Expr) -> Option<(Col, Col)> {
    match condition.as_op()? {
        (Op::Eq, [a, b]) => Some((a.as_column()?, b.as_column()?)),
        _ => None,
    }
}
