//! Estimates of row counts from statistics.
//!
//! Conditions on one column become intervals of its key form and are looked up in histograms and top values; where the constants are not
//! known while planning, averages serve. Conditions are taken to be independent.

use std::{cell::Cell, sync::Arc};

use base::KeyRange;
use expr::{EvalCtx, Expr, Op};
use stats::{TableStats, Target};
use types::Datum;

use crate::{
    context::PlanCtx,
    logical::{Col, Columns, Plan, Scan, ScanSource, columns_of},
    physical::JoinKind,
    range::{
        RangeBuilder,
        detach::{KeyColumn, column_condition},
    },
};

/// What is assumed of a condition nothing is known of.
const UNKNOWN_CONDITION: f64 = 0.8;
/// … of an equality of which nothing is known.
const UNKNOWN_EQUALITY: f64 = 0.01;

/// Estimates for one statement.
pub(crate) struct Estimator<'a> {
    cx: &'a PlanCtx<'a>,
    eval: EvalCtx,
    known: Vec<bool>,
    /// Parameters are taken for unknown, see [`Estimator::blindly`].
    blind: Cell<bool>,
}

impl<'a> Estimator<'a> {
    /// `values`: the parameter values as far as they are known.
    pub fn new(cx: &'a PlanCtx<'a>, values: &[Option<Datum>]) -> Self {
        let known = values.iter().map(Option::is_some).collect();
        let params: Vec<Datum> = values.iter().map(|value| value.clone().unwrap_or(Datum::Null)).collect();
        let mut eval = EvalCtx::default();
        eval.params = params.into();
        eval.sql_mode = cx.eval.sql_mode;
        eval.time_zone = cx.eval.time_zone.clone();
        eval.now_micros = cx.eval.now_micros;
        eval.connection = Arc::clone(&cx.eval.connection);
        eval.user_vars = Arc::clone(&cx.eval.user_vars);
        eval.div_precision_increment = cx.eval.div_precision_increment;
        eval.collation_connection = cx.eval.collation_connection;
        Self { cx, eval, known, blind: Cell::new(false) }
    }

    /// The table's statistics.
    pub fn stats(&self, scan: &Scan) -> Arc<TableStats> {
        self.cx.stats.table_stats(scan.table.id).unwrap_or_else(|| Arc::new(TableStats::pseudo(scan.table.id)))
    }

    /// A constant's value as a number of rows.
    pub fn row_count(&self, expr: &Expr) -> f64 {
        match self.is_known(expr).then(|| expr.eval_const(&self.eval)) {
            Some(Ok(Datum::Int(count))) => count.max(0) as f64,
            Some(Ok(Datum::UInt(count))) => count as f64,
            _ => 100.0,
        }
    }

    /// What `f` estimates when no parameter's value is known.
    pub fn blindly<T>(&self, f: impl FnOnce() -> T) -> T {
        let before = self.blind.replace(true);
        let result = f();
        self.blind.set(before);
        result
    }

    fn is_known(&self, expr: &Expr) -> bool {
        if self.blind.get() && expr.has_params() {
            return false;
        }
        let mut known = true;
        expr.walk(&mut |node| {
            if let Expr::Param { index, .. } = node {
                known &= self.known.get(*index).copied().unwrap_or(false);
            }
        });
        known
    }

    /// How many keys the ranges of an access path hold. `target`: whose values the key's columns are.
    pub fn access_rows(&self, stats: &TableStats, builder: &RangeBuilder, used: &[Expr], target: Target, equal_columns: usize) -> f64 {
        if builder.is_full() {
            return stats.rows();
        }
        if used.iter().all(|condition| self.is_known(condition))
            && let Ok(ranges) = builder.value_ranges(&self.eval)
        {
            return ranges_rows(stats, target, &ranges);
        }
        let mut rows = match (target, equal_columns) {
            (_, 0) => stats.rows(),
            (Target::Index(index), parts) => stats.estimate_index_prefix_unknown(index, parts),
            (target, _) => stats.estimate_equal_unknown(target),
        };
        if equal_columns < used.len() {
            rows *= 1.0 / 40.0;
        }
        rows.clamp(1.0, stats.rows())
    }

    /// The share of the scan's rows that satisfy all conditions.
    pub fn scan_selectivity(&self, scan: &Scan, stats: &TableStats, conditions: &[Expr]) -> f64 {
        conditions.iter().map(|condition| self.condition_selectivity(scan, stats, condition)).product::<f64>().max(1e-9)
    }

    fn condition_selectivity(&self, scan: &Scan, stats: &TableStats, condition: &Expr) -> f64 {
        if let [col] = columns_of(condition)[..]
            && let Some(ScanSource::Offset(offset)) = scan.columns.iter().find(|column| column.col == col).map(|column| column.source)
        {
            let column = &scan.table.columns[offset];
            let key = KeyColumn { col: Some(col), ty: column.ty.clone(), is_prefix: false };
            if let Some((found, _)) = column_condition(condition, &key) {
                let target = Target::Column(column.id);
                let rows = match self.is_known(condition) {
                    true => match RangeBuilder::column_ranges(&found, &column.ty, &self.eval) {
                        Ok(ranges) => ranges_rows(stats, target, &ranges),
                        Err(_) => stats.rows() * UNKNOWN_CONDITION,
                    },
                    false if found.is_points() => stats.estimate_equal_unknown(target) * found.point_count() as f64,
                    false => stats.rows() / 40.0,
                };
                return (rows / stats.rows()).clamp(0.0, 1.0);
            }
        }
        match condition.as_op() {
            Some((Op::And, args)) => args.iter().map(|arg| self.condition_selectivity(scan, stats, arg)).product(),
            Some((Op::Or, args)) => {
                let missed: f64 = args.iter().map(|arg| 1.0 - self.condition_selectivity(scan, stats, arg)).product();
                1.0 - missed
            }
            Some((Op::Eq, _)) => UNKNOWN_EQUALITY,
            _ => UNKNOWN_CONDITION,
        }
    }

    /// The share of rows that satisfy conditions on anything but a single table.
    pub fn selectivity(&self, conditions: &[Expr]) -> f64 {
        let one = |condition: &Expr| match condition.as_op() {
            Some((Op::Eq, _)) => 0.1,
            _ => UNKNOWN_CONDITION,
        };
        conditions.iter().map(one).product()
    }

    /// How many different values a column has among `rows` rows.
    pub fn distinct(&self, col: Col, rows: f64, columns: &Columns) -> f64 {
        let distinct = match columns.meta(col).origin {
            Some(origin) => match self.cx.stats.table_stats(origin.table) {
                Some(stats) => stats.distinct(origin.id),
                None => rows * 0.8,
            },
            None => rows * 0.8,
        };
        distinct.clamp(1.0, rows.max(1.0))
    }

    /// How many groups an aggregation of `rows` rows has.
    pub fn groups(&self, group_by: &[(Col, Expr)], rows: f64, columns: &Columns) -> f64 {
        if group_by.is_empty() {
            return 1.0;
        }
        let distinct: f64 = group_by
            .iter()
            .map(|(_, expr)| match expr.as_column() {
                Some(col) => self.distinct(col, rows, columns),
                None => rows * 0.8,
            })
            .product();
        distinct.clamp(1.0, rows.max(1.0))
    }

    /// How many pairs the equalities of a join leave of `left × right`.
    pub fn join_rows(&self, left: f64, right: f64, conditions: &[Expr], columns: &Columns) -> f64 {
        let mut rows = left * right;
        for condition in conditions {
            rows *= match condition.as_op() {
                Some((Op::Eq | Op::NullEq, [a, b])) => {
                    let larger = left.max(right);
                    let distinct = |expr: &Expr| expr.as_column().map_or(larger * 0.8, |col| self.distinct(col, larger, columns));
                    1.0 / distinct(a).max(distinct(b)).max(1.0)
                }
                _ => UNKNOWN_CONDITION,
            };
        }
        rows.max(1.0)
    }

    /// How many rows a logical plan yields.
    pub fn rows(&self, plan: &Plan, columns: &Columns) -> f64 {
        match plan {
            Plan::Scan(scan) => {
                let stats = self.stats(scan);
                (stats.rows() * self.scan_selectivity(scan, &stats, &scan.conditions)).max(1.0)
            }
            Plan::Values(values) => values.rows.len() as f64,
            Plan::Filter(filter) => (self.rows(&filter.child, columns) * self.selectivity(&filter.conditions)).max(1.0),
            Plan::Project(project) => self.rows(&project.child, columns),
            Plan::Aggregate(agg) => self.groups(&agg.group_by, self.rows(&agg.child, columns), columns),
            Plan::Join(join) => {
                let (left, right) = (self.rows(&join.left, columns), self.rows(&join.right, columns));
                match join.kind {
                    JoinKind::Inner => self.join_rows(left, right, &join.conditions, columns),
                    JoinKind::LeftOuter => self.join_rows(left, right, &join.conditions, columns).max(left),
                    JoinKind::Semi | JoinKind::AntiSemi => (left * UNKNOWN_CONDITION).max(1.0),
                    JoinKind::Mark => left,
                }
            }
            Plan::Window(window) => self.rows(&window.child, columns),
            Plan::Sort(sort) => self.rows(&sort.child, columns),
            Plan::Limit(limit) => self.rows(&limit.child, columns).min(self.row_count(&limit.limit.count)).max(1.0),
            Plan::Union(union) => union.children.iter().map(|child| self.rows(child, columns)).sum(),
            Plan::Lock(lock) => self.rows(&lock.child, columns),
            Plan::MaxOneRow(_) => 1.0,
        }
    }
}

/// Rows whose values lie in ranges of their key form.
fn ranges_rows(stats: &TableStats, target: Target, ranges: &[KeyRange]) -> f64 {
    if ranges.is_empty() { 0.0 } else { stats.estimate_range_rows(target, ranges) }
}
