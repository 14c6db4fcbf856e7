//! Grouping: turns a block with GROUP BY or aggregate functions into an aggregation and rewrites the other clauses over its output.
//!
//! Bound expressions refer to the columns below the aggregation and to the columns of the aggregate functions. After it only group keys
//! and functions exist, so each expression is rewritten:
//!
//! - a subtree equal to a group key becomes that key's column;
//! - any other column below must be functionally dependent on the group keys (ONLY_FULL_GROUP_BY, see `dependence`): it is replaced by the
//!   value of the group's first row, under the same number.
//!
//! WITH ROLLUP adds super-aggregate rows, in which the keys from some place on are NULL. Keys then have columns of their own, every
//! expression over them may be NULL, and the aggregation says by how many keys a row is grouped; from that GROUPING() is computed.
//! (MySQL 8.0 manual, 14.19.2.)

use expr::{AggDesc, AggKind, AggMode, Expr, Op, SqlMode};
use parser::ast;
use types::{Datum, FieldType};

use super::{
    Binder, PendingJoin,
    dependence::dependent_columns,
    expression::ExprCx,
    select::{Item, OrderKey},
    window::WindowCall,
};
use crate::{
    error::{Clause, Error, Result},
    logical::{Aggregate, Col, Plan, columns_of},
};

/// GROUPING() answers one bit for each argument.
const MAX_GROUPING_ARGS: usize = 64;

/// The clauses of a block that are evaluated over its groups.
pub(super) struct Clauses<'b> {
    pub items: &'b mut [Item],
    pub having: &'b mut [Expr],
    pub order: &'b mut [OrderKey],
    pub windows: &'b mut [WindowCall],
}

impl<'a> Binder<'a> {
    /// Puts the block's aggregation over `plan` and rewrites the other clauses' expressions over it.
    pub(super) fn aggregate(&mut self, plan: Plan, group: Vec<OrderKey>, clauses: Clauses<'_>) -> Result<Plan> {
        let rollup = self.frame().rollup;
        let group_by = self.group_keys(group, rollup);
        let kept_keys = rollup.then(|| self.columns.add_computed(FieldType::bigint().with_not_null()));
        let aggs = std::mem::take(&mut self.frame().aggs);
        let mut pending = std::mem::take(&mut self.frame().pending);
        let mut rewriter = Rewriter {
            dependent: dependent_columns(&plan, &group_by),
            has_group_clause: !group_by.is_empty(),
            groupings: self.grouping_values(&group_by, kept_keys)?,
            above: pending
                .iter()
                .flat_map(|join| join.plan.columns().into_iter().chain(join.mark))
                .chain(clauses.windows.iter().map(|call| call.col))
                .collect(),
            group_by,
            aggs,
            first_rows: vec![],
            rollup,
        };
        let strict = self.cx.eval.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY);

        let listed: Vec<Col> = clauses.items.iter().flat_map(|item| columns_of(&item.expr)).collect();
        for (i, item) in clauses.items.iter_mut().enumerate() {
            self.rewrite(&mut rewriter, &mut item.expr, strict.then_some((i + 1, "SELECT list")))?;
        }
        for condition in clauses.having.iter_mut() {
            rewriter.replace_keys(condition);
            if let Some(col) = rewriter.stray_columns(condition).into_iter().find(|col| !listed.contains(col)) {
                let name = self.short_name(col);
                return Err(Error::UnknownColumn { name, clause: Clause::Having });
            }
            self.rewrite(&mut rewriter, condition, None)?;
        }
        for (i, key) in clauses.order.iter_mut().enumerate() {
            self.rewrite(&mut rewriter, &mut key.expr, strict.then_some((i + 1, "ORDER BY clause")))?;
        }
        for call in clauses.windows.iter_mut() {
            self.rewrite_window(&mut rewriter, call, clauses.items, strict)?;
        }
        for join in &mut pending {
            self.rewrite_pending(&mut rewriter, join, strict)?;
        }
        self.frame().pending = pending;
        let Rewriter { group_by, mut aggs, first_rows, .. } = rewriter;
        for col in first_rows {
            let arg = self.columns.expr(col);
            let ty = arg.field_type().clone();
            aggs.push((col, first_row(arg, ty)));
        }
        Ok(Plan::Aggregate(Aggregate { child: Box::new(plan), group_by, aggs, rollup: kept_keys }))
    }

    /// The group keys with their columns. Without ROLLUP a repeated or constant key changes nothing; with it, it adds rows.
    fn group_keys(&mut self, group: Vec<OrderKey>, rollup: bool) -> Vec<(Col, Expr)> {
        let mut group_by: Vec<(Col, Expr)> = vec![];
        for key in group {
            let idle = group_by.iter().any(|(_, other)| *other == key.expr) || (key.expr.is_constant() && !group_by.is_empty());
            if idle && !rollup {
                continue;
            }
            let mut ty = key.expr.field_type().clone();
            let col = match key.expr.as_column() {
                Some(col) if !rollup => col,
                Some(col) => {
                    ty.not_null = false;
                    let name = self.columns.meta(col).name.clone();
                    self.columns.add(name, ty, None)
                }
                None => {
                    ty.not_null &= !rollup;
                    self.columns.add_computed(ty)
                }
            };
            group_by.push((col, key.expr));
        }
        group_by
    }

    /// `GROUPING(a, …)`: a column that [`Binder::aggregate`] replaces, once it knows the group keys.
    pub(super) fn bind_grouping(&mut self, args: &'a [ast::Expr], cx: ExprCx) -> Result<Expr> {
        if !cx.aggregates || !self.frame().rollup {
            return Err(Error::InvalidGroupFunction);
        }
        if args.len() > MAX_GROUPING_ARGS {
            return Err(Error::TooManyArguments { function: "GROUPING", most: MAX_GROUPING_ARGS });
        }
        let args = self.bind_all(args, ExprCx::plain(cx.clause).with_aliases(cx.aliases))?;
        let col = self.columns.add_computed(FieldType::bigint().with_not_null());
        self.frame().groupings.push((col, args));
        Ok(self.columns.expr(col))
    }

    /// What each GROUPING() is: the bits of its arguments, the last one lowest, 1 where the key is rolled up.
    fn grouping_values(&mut self, group_by: &[(Col, Expr)], kept_keys: Option<Col>) -> Result<Vec<(Col, Expr)>> {
        let groupings = std::mem::take(&mut self.frame().groupings);
        let Some(kept_keys) = kept_keys else { return Ok(vec![]) };
        let number = |value: usize| Expr::constant(Datum::Int(value as i64), FieldType::bigint().with_not_null());
        let mut values = vec![];
        for (col, args) in groupings {
            let mut value: Option<Expr> = None;
            for (i, arg) in args.iter().enumerate() {
                let key = group_by.iter().position(|(_, key)| key == arg).ok_or(Error::GroupingArgument { position: i + 1 })?;
                let bit = self.op(Op::Le, vec![self.columns.expr(kept_keys), number(key)])?;
                value = Some(match value {
                    None => bit,
                    Some(higher) => {
                        let higher = self.op(Op::Shl, vec![higher, number(1)])?;
                        self.op(Op::BitOr, vec![higher, bit])?
                    }
                });
            }
            let mut ty = FieldType::bigint().with_not_null();
            ty.flen = 21;
            let mut value = self.cast(value.ok_or(Error::InvalidGroupFunction)?, ty.clone())?;
            *value.field_type_mut() = ty;
            values.push((col, value));
        }
        Ok(values)
    }

    fn rewrite(&mut self, rewriter: &mut Rewriter, expr: &mut Expr, position: Option<(usize, &str)>) -> Result<()> {
        rewriter.replace_keys(expr);
        for col in rewriter.stray_columns(expr) {
            if let Some((position, list)) = position
                && !rewriter.dependent.contains(&col)
            {
                let (column, list) = (self.columns.meta(col).name.to_string(), list.to_owned());
                return Err(if rewriter.has_group_clause {
                    Error::NotInGroupBy { position, list, column }
                } else {
                    Error::MixOfGroupColumns { position, list, column }
                });
            }
            rewriter.first_rows.push(col);
        }
        Ok(())
    }

    /// A window function reads the groups: its arguments count as those of the clause that calls it.
    fn rewrite_window(&mut self, rewriter: &mut Rewriter, call: &mut WindowCall, items: &[Item], strict: bool) -> Result<()> {
        let item = items.iter().position(|item| columns_of(&item.expr).contains(&call.col));
        let caller = item.map_or((1, "ORDER BY clause"), |item| (item + 1, "SELECT list"));
        for expr in call.desc.exprs_mut() {
            self.rewrite(rewriter, expr, strict.then_some(caller))?;
        }
        let definition = format!("PARTITION BY or ORDER BY clause of window '{}'", call.desc.frame.window);
        for (i, expr) in call.partition_by.iter_mut().chain(call.order_by.iter_mut().map(|key| &mut key.expr)).enumerate() {
            self.rewrite(rewriter, expr, strict.then_some((i + 1, definition.as_str())))?;
        }
        Ok(())
    }

    /// What a subquery above the aggregation reads from this block: in its conditions, and through its parameter slots.
    fn rewrite_pending(&mut self, rewriter: &mut Rewriter, join: &mut PendingJoin, strict: bool) -> Result<()> {
        let position = strict.then_some((1, "SELECT list"));
        for condition in join.conditions.iter_mut().chain(&mut join.in_conditions) {
            self.rewrite(rewriter, condition, position)?;
        }
        for (_, col) in &mut join.bindings {
            let mut reference = self.columns.expr(*col);
            self.rewrite(rewriter, &mut reference, position)?;
            *col = reference.as_column().unwrap_or(*col);
        }
        Ok(())
    }

    fn short_name(&self, col: Col) -> String {
        let name = &self.columns.meta(col).name;
        name.rsplit('.').next().unwrap_or(name).to_owned()
    }
}

/// The value of the group's first row.
pub(crate) fn first_row(arg: Expr, ty: FieldType) -> AggDesc {
    AggDesc { kind: AggKind::FirstRow, args: vec![arg], distinct: false, ty, mode: AggMode::Complete, order_by: vec![], separator: vec![] }
}

struct Rewriter {
    group_by: Vec<(Col, Expr)>,
    aggs: Vec<(Col, AggDesc)>,
    /// The values of GROUPING() calls.
    groupings: Vec<(Col, Expr)>,
    /// Columns that have one value in a group.
    dependent: Vec<Col>,
    /// Columns that operators above the aggregation add.
    above: Vec<Col>,
    /// Columns below that the aggregation hands up by their first row.
    first_rows: Vec<Col>,
    has_group_clause: bool,
    rollup: bool,
}

impl Rewriter {
    /// Replaces subtrees equal to a group key by the key's column; whether anything is NULL in super-aggregate rows afterwards.
    fn replace_keys(&self, expr: &mut Expr) -> bool {
        if let Some((col, key)) = self.group_by.iter().find(|(_, key)| key == expr) {
            if key.as_column() != Some(*col) {
                let mut ty = key.field_type().clone();
                ty.not_null &= !self.rollup;
                let name = match key {
                    Expr::Column { name: Some(name), .. } => name.clone(),
                    _ => format!("Column#{col}").into(),
                };
                *expr = Expr::named_column(*col, ty, name);
            }
            return self.rollup;
        }
        if let Some((_, value)) = expr.as_column().and_then(|own| self.groupings.iter().find(|(col, _)| *col == own)) {
            *expr = value.clone();
            return false;
        }
        let Expr::Call(call) = expr else { return false };
        let mut nullable = false;
        for arg in &mut call.args {
            nullable |= self.replace_keys(arg);
        }
        call.ty.not_null &= !nullable;
        nullable
    }

    /// Columns of `expr` that the aggregation does not hand up yet.
    fn stray_columns(&self, expr: &Expr) -> Vec<Col> {
        // A GROUPING() that was replaced reads the aggregation's own column.
        let counters: Vec<Col> = self.groupings.iter().flat_map(|(_, value)| columns_of(value)).collect();
        let handed_up = |col: &Col| {
            self.group_by.iter().any(|(key, _)| key == col)
                || self.aggs.iter().any(|(agg, _)| agg == col)
                || self.first_rows.contains(col)
                || self.above.contains(col)
                || counters.contains(col)
        };
        columns_of(expr).into_iter().filter(|col| !handed_up(col)).collect()
    }
}
