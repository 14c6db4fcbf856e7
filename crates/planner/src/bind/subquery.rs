//! Subqueries in expressions.
//!
//! | form | does not depend on outer rows | depends on them |
//! |---|---|---|
//! | scalar | evaluated once into a parameter slot | left outer `Apply` of at most one row |
//! | EXISTS | evaluated once into a slot | semi/anti `Apply` as a conjunct of WHERE, else a mark |
//! | IN, = ANY, <> ALL | semi/null-aware anti join as a conjunct of WHERE, else a mark | the same, as `Apply` |
//! | other ANY, ALL | semi/anti join by the comparison as a conjunct of WHERE, else two marks | the same, as `Apply` |
//!
//! `Apply`s whose dependence is a plain condition are turned into joins by the rule `decorrelate`.

use expr::{Coercibility, Expr, Op};
use parser::ast;
use types::FieldType;

use super::{Binder, BoundQuery, BoundSubquery, Frame, PendingJoin, expression::ExprCx};
use crate::{
    error::{Error, Result},
    logical::{Limit, Plan},
    physical::{JoinKind, ScalarKind},
};

/// Whether a subquery stands as a conjunct of a condition (only true rows matter) or yields a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Conjunct,
    Value,
    /// A value, of a subquery that may have one row at most.
    OnlyRow,
}

impl<'a> Binder<'a> {
    /// A condition as its conjuncts. Subqueries that are conjuncts become pending semi or anti joins and leave nothing behind.
    pub(super) fn bind_condition(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<Vec<Expr>> {
        let mut stack = vec![e];
        let mut conditions = vec![];
        while let Some(e) = stack.pop() {
            match e {
                ast::Expr::Binary { op: ast::BinaryOp::And, left, right } => stack.extend([&**right, &**left]),
                _ => {
                    let negated_inner = match e {
                        ast::Expr::Unary { op: ast::UnaryOp::Not, expr } => Some(&**expr),
                        _ => None,
                    };
                    let bound = match (e, negated_inner) {
                        (_, Some(ast::Expr::Exists(query))) => self.bind_exists(query, true, Use::Conjunct)?,
                        (ast::Expr::Exists(query), _) => self.bind_exists(query, false, Use::Conjunct)?,
                        _ => match as_membership(e).or(negated_inner.and_then(as_membership).map(Membership::negate)) {
                            Some(membership) => self.bind_membership(membership, cx, Use::Conjunct)?,
                            None if matches!(e, ast::Expr::Quantified { .. }) => {
                                self.bind_quantified_conjunct(e, cx)?;
                                None
                            }
                            None => {
                                let bound = self.bind_expr(e, cx)?;
                                Some(self.as_condition(bound)?)
                            }
                        },
                    };
                    if let Some(bound) = bound {
                        bound.split_conjunction(&mut conditions);
                    }
                }
            }
        }
        Ok(conditions)
    }

    /// A subquery anywhere in an expression.
    pub(super) fn bind_subquery_expr(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        let bound = match e {
            ast::Expr::Subquery(query) => return self.bind_scalar(query),
            ast::Expr::Exists(query) => self.bind_exists(query, false, Use::Value)?,
            _ => match as_membership(e) {
                Some(membership) => self.bind_membership(membership, cx, Use::Value)?,
                None => return self.bind_quantified_value(e, cx),
            },
        };
        Ok(bound.expect("a subquery used as a value leaves an expression"))
    }

    /// `(a, b) = (query)` and `(a, b) <> (query)`: a row against the only row of a subquery; NULL when it has none.
    pub(super) fn bind_row_subquery(
        &mut self,
        op: ast::BinaryOp,
        left: &'a ast::Expr,
        right: &'a ast::Expr,
        cx: ExprCx,
    ) -> Result<Option<Expr>> {
        let (row, query) = match (left, right) {
            (row @ ast::Expr::Row(_), ast::Expr::Subquery(query)) | (ast::Expr::Subquery(query), row @ ast::Expr::Row(_)) => (row, query),
            _ => return Ok(None),
        };
        let negated = match op {
            ast::BinaryOp::Eq => false,
            ast::BinaryOp::Ne => true,
            _ => return Err(Error::unsupported("this comparison of a row with a subquery")),
        };
        let membership = Membership { left: row, query, negated: false };
        let equal = self.bind_membership(membership, cx, Use::OnlyRow)?;
        let there = self.bind_exists(query, false, Use::Value)?;
        let null = Expr::constant(types::Datum::Null, FieldType::null());
        let (Some(equal), Some(there)) = (equal, there) else { return Ok(None) };
        let compared = self.op(Op::If, vec![there, equal, null])?;
        self.negate_if(negated, compared).map(Some)
    }

    fn bind_scalar(&mut self, query: &'a ast::Query) -> Result<Expr> {
        let (bound, frame) = self.bind_block(query)?;
        let [column] = &bound.output[..] else { return Err(Error::OperandColumns { expected: 1 }) };
        let col = column.col;
        if !frame.correlated {
            let mut ty = self.columns.meta(col).ty.clone();
            ty.not_null = false;
            return Ok(self.once(bound, ScalarKind::Value, ty));
        }
        // The value gets a column of its own: the same subquery column may be read as not nullable inside.
        let value = self.columns.add_computed(self.columns.meta(col).ty.clone());
        let plan = Plan::Project(crate::logical::Project { child: Box::new(bound.plan), exprs: vec![(value, self.columns.expr(col))] });
        self.columns.set_nullable(value);
        self.push_pending(JoinKind::LeftOuter, Plan::MaxOneRow(Box::new(plan)), frame, vec![], vec![], None);
        Ok(self.columns.expr(value))
    }

    fn bind_exists(&mut self, query: &'a ast::Query, negated: bool, used: Use) -> Result<Option<Expr>> {
        let (mut bound, frame) = self.bind_block(query)?;
        if !frame.correlated {
            let one = Expr::constant(types::Datum::Int(1), FieldType::bigint().with_not_null());
            bound.plan = Plan::Limit(Limit { child: Box::new(bound.plan), limit: copr::RowLimit { offset: None, count: one } });
            let exists = self.once(bound, ScalarKind::Exists, FieldType::boolean().with_not_null());
            return self.negate_if(negated, exists).map(Some);
        }
        if used == Use::Conjunct {
            let kind = if negated { JoinKind::AntiSemi } else { JoinKind::Semi };
            self.push_pending(kind, bound.plan, frame, vec![], vec![], None);
            return Ok(None);
        }
        let mark = self.columns.add_computed(FieldType::boolean().with_not_null());
        self.push_pending(JoinKind::Mark, bound.plan, frame, vec![], vec![], Some(mark));
        self.negate_if(negated, self.columns.expr(mark)).map(Some)
    }

    fn bind_membership(&mut self, membership: Membership<'a>, cx: ExprCx, used: Use) -> Result<Option<Expr>> {
        let left = self.bind_expr(membership.left, cx.without_params())?;
        let subjects: Vec<Expr> = match left.as_op() {
            Some((Op::Row, elements)) => elements.to_vec(),
            _ => vec![left],
        };
        let (bound, frame) = self.bind_block(membership.query)?;
        if bound.output.len() != subjects.len() {
            return Err(Error::OperandColumns { expected: subjects.len() });
        }
        let mut equalities = vec![];
        for (subject, column) in subjects.into_iter().zip(&bound.output) {
            equalities.push(self.op(Op::Eq, vec![subject, self.columns.expr(column.col)])?);
        }
        match (used, membership.negated) {
            (Use::Conjunct, false) => self.push_pending(JoinKind::Semi, bound.plan, frame, equalities, vec![], None),
            (Use::Conjunct, true) => self.push_pending(JoinKind::AntiSemi, bound.plan, frame, vec![], equalities, None),
            (used, negated) => {
                let mark = self.columns.add_computed(FieldType::boolean());
                let plan = if used == Use::OnlyRow { Plan::MaxOneRow(Box::new(bound.plan)) } else { bound.plan };
                self.push_pending(JoinKind::Mark, plan, frame, vec![], equalities, Some(mark));
                return self.negate_if(negated, self.columns.expr(mark)).map(Some);
            }
        }
        Ok(None)
    }

    /// `x op ANY (query)` and `x op ALL (query)` where only true rows matter: some row, or no row that is not so.
    fn bind_quantified_conjunct(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<()> {
        let (comparison, bound, frame, all) = self.bind_quantified(e, cx)?;
        if !all {
            self.push_pending(JoinKind::Semi, bound.plan, frame, vec![comparison], vec![], None);
            return Ok(());
        }
        let holds = self.op(Op::IsTrue, vec![comparison])?;
        let fails = self.op(Op::Not, vec![holds])?;
        self.push_pending(JoinKind::AntiSemi, bound.plan, frame, vec![fails], vec![], None);
        Ok(())
    }

    /// The value of `x op ANY (query)` or `x op ALL (query)`: decided by a row that is true (ANY) or false (ALL); else NULL when some comparison
    /// is; else the opposite. The subquery is bound once for each of the two questions.
    fn bind_quantified_value(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        let mut marks = vec![];
        let mut for_all = false;
        for question in 0..2 {
            let (comparison, bound, frame, all) = self.bind_quantified(e, cx)?;
            for_all = all;
            let condition = match (question, all) {
                (0, false) => comparison,
                (0, true) => self.op(Op::IsFalse, vec![comparison])?,
                _ => self.op(Op::IsNull, vec![comparison])?,
            };
            let mark = self.columns.add_computed(FieldType::boolean().with_not_null());
            self.push_pending(JoinKind::Mark, bound.plan, frame, vec![condition], vec![], Some(mark));
            marks.push(self.columns.expr(mark));
        }
        let truth = |value: bool| Expr::constant(types::Datum::Int(i64::from(value)), FieldType::boolean().with_not_null());
        let unknown = marks.pop().unwrap_or_else(|| truth(false));
        let decided = marks.pop().unwrap_or_else(|| truth(false));
        let null = Expr::constant(types::Datum::Null, FieldType::null());
        let undecided = self.op(Op::If, vec![unknown, null, truth(for_all)])?;
        self.op(Op::If, vec![decided, truth(!for_all), undecided])
    }

    fn bind_quantified(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<(Expr, BoundQuery, Frame, bool)> {
        let ast::Expr::Quantified { op, left, all, query } = e else { return Err(Error::unsupported(e.to_string())) };
        let op = match op {
            ast::BinaryOp::Eq => Op::Eq,
            ast::BinaryOp::Ne => Op::Ne,
            ast::BinaryOp::Lt => Op::Lt,
            ast::BinaryOp::Le => Op::Le,
            ast::BinaryOp::Gt => Op::Gt,
            ast::BinaryOp::Ge => Op::Ge,
            _ => return Err(Error::unsupported(e.to_string())),
        };
        let left = self.bind_expr(left, cx.without_params())?;
        if matches!(left.as_op(), Some((Op::Row, _))) {
            return Err(Error::OperandColumns { expected: 1 });
        }
        let (bound, frame) = self.bind_block(query)?;
        let [column] = &bound.output[..] else { return Err(Error::OperandColumns { expected: 1 }) };
        let comparison = self.op(op, vec![left, self.columns.expr(column.col)])?;
        Ok((comparison, bound, frame, *all))
    }

    /// A subquery evaluated once per execution: its value is a parameter.
    fn once(&mut self, bound: BoundQuery, kind: ScalarKind, ty: FieldType) -> Expr {
        let slot = self.take_slot();
        let output = bound.output.iter().map(|column| column.col).collect();
        self.subqueries.push(BoundSubquery { slot, kind, plan: bound.plan, output });
        Expr::Param { index: slot, ty, coercibility: Coercibility::Implicit }
    }

    fn push_pending(
        &mut self,
        kind: JoinKind,
        plan: Plan,
        frame: Frame,
        conditions: Vec<Expr>,
        in_conditions: Vec<Expr>,
        mark: Option<crate::logical::Col>,
    ) {
        let Frame { correlated: apply, bindings, .. } = frame;
        self.frame().pending.push(PendingJoin { kind, plan, conditions, in_conditions, mark, apply, bindings });
    }
}

/// `left [NOT] IN (query)` in any of its spellings.
struct Membership<'a> {
    left: &'a ast::Expr,
    query: &'a ast::Query,
    negated: bool,
}

impl Membership<'_> {
    fn negate(self) -> Self {
        Self { negated: !self.negated, ..self }
    }
}

fn as_membership(e: &ast::Expr) -> Option<Membership<'_>> {
    match e {
        ast::Expr::InSubquery { expr, query, negated } => Some(Membership { left: expr, query, negated: *negated }),
        ast::Expr::Quantified { op: ast::BinaryOp::Eq, left, all: false, query } => Some(Membership { left, query, negated: false }),
        ast::Expr::Quantified { op: ast::BinaryOp::Ne, left, all: true, query } => Some(Membership { left, query, negated: true }),
        _ => None,
    }
}
