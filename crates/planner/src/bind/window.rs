//! Window functions: calls, the windows they name, and the operators that compute them.
//!
//! A call becomes a column when it is met in the select list or ORDER BY. What its OVER clause means is bound when all clauses are, for a
//! window may name select aliases; over a grouped block `grouping` then rewrites its expressions with the others.
//!
//! | a window | may add to the window it refines | must not |
//! |---|---|---|
//! | `OVER w`, the window itself | – | – |
//! | `OVER (w …)`, `WINDOW v AS (w …)` | ORDER BY, if `w` has none; a frame | partitions; refine a window with a frame |
//!
//! Functions of equal partitions and order share one operator, whatever their frames. Operators with longer sort keys come first, so that
//! those whose keys begin a longer one find their order already there. (MySQL 8.0 manual, 14.20.)

use std::sync::Arc;

use expr::{
    AggDesc, AggKind, Expr,
    window::{Bound, Frame, FrameUnit, Offset, WindowDesc, WindowFunc, WindowKind, build_aggregate_window, build_window},
};
use parser::ast;
use types::{Datum, EvalType, FieldType, TypeKind};

use super::{
    Aliases, Binder,
    expression::{ExprCx, Windows},
    function::aggregate_kind,
    scope::{WindowUse, same_name},
    select::{OrderKey, literal_position},
};
use crate::{
    error::{Clause, Error, Result, WindowFault},
    logical::{Col, Plan, Project, Window, columns_of},
};

/// What messages call a window that has no name.
const UNNAMED: &str = "<unnamed window>";

/// A window function with its window bound.
#[derive(Debug)]
pub(super) struct WindowCall {
    pub col: Col,
    pub desc: WindowDesc,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderKey>,
}

/// A window's definition with what it takes from the windows it refines.
struct Definition<'a> {
    name: &'a str,
    partition_by: &'a [ast::Expr],
    order_by: &'a [ast::OrderItem],
    frame: Option<&'a ast::WindowFrame>,
}

type Named<'a> = [(ast::Ident, ast::WindowSpec)];

impl<'a> Binder<'a> {
    /// A call of a function that is only a window function.
    pub(super) fn bind_window_function(&mut self, call: &'a ast::WindowCall, cx: ExprCx) -> Result<Expr> {
        self.check_window_use(call.func.name(), cx)?;
        if call.from_last {
            return Err(Error::unsupported("FROM LAST"));
        }
        if call.ignore_nulls {
            return Err(Error::unsupported("IGNORE NULLS"));
        }
        let args = self.bind_all(&call.args, arguments(cx))?;
        let (func, ty) = build_window(window_kind(call.func), args, &self.build())?;
        Ok(self.window_column(func, ty, &call.over))
    }

    /// An aggregate function with an OVER clause.
    pub(super) fn bind_window_aggregate(&mut self, call: &'a ast::AggregateCall, over: &'a ast::Over, cx: ExprCx) -> Result<Expr> {
        self.check_window_use(call.func.name(), cx)?;
        let args = self.bind_all(&call.args, arguments(cx))?;
        let kind = aggregate_kind(call.func)?;
        let distinct = call.distinct && !matches!(kind, AggKind::Min | AggKind::Max);
        let mut desc = AggDesc::new(kind, args, false, &self.build())?;
        desc.distinct = distinct;
        let (func, ty) = build_aggregate_window(desc)?;
        Ok(self.window_column(func, ty, over))
    }

    fn check_window_use(&self, function: &'static str, cx: ExprCx) -> Result<()> {
        match cx.windows {
            Windows::Allowed => Ok(()),
            Windows::Refused => Err(Error::MisplacedWindowFunction { function }),
            Windows::InDefinition => Err(fault(&self.window_name, WindowFault::Nested)),
        }
    }

    /// Refuses the alias of an expression with a window function where no window function may stand. (GROUP BY has an error of its own.)
    pub(super) fn check_alias(&mut self, name: &ast::ColumnRef, expr: &Expr, cx: ExprCx) -> Result<()> {
        let windows = &self.frame().windows;
        if windows.is_empty() || cx.windows == Windows::Allowed || cx.clause == Clause::GroupBy {
            return Ok(());
        }
        let used = columns_of(expr);
        match windows.iter().any(|call| used.contains(&call.col)) {
            true => Err(Error::MisplacedWindowAlias { alias: name.name.as_str().to_owned() }),
            false => Ok(()),
        }
    }

    /// The column of a call; that of an equal one if there is one.
    fn window_column(&mut self, func: WindowFunc, ty: FieldType, over: &'a ast::Over) -> Expr {
        let overs = std::mem::take(&mut self.overs);
        let known = self.frame().windows.iter().find(|call| call.func == func && overs[call.over] == over).map(|call| call.col);
        self.overs = overs;
        if let Some(col) = known {
            return self.columns.expr(col);
        }
        let col = self.columns.add_computed(ty.clone());
        self.overs.push(over);
        let over = self.overs.len() - 1;
        self.frame().windows.push(WindowUse { col, func, ty, over });
        self.columns.expr(col)
    }

    /// Binds the windows of the block's calls, and checks those of the WINDOW clause that nothing uses.
    pub(super) fn bind_windows(&mut self, named: &'a Named<'a>) -> Result<Vec<WindowCall>> {
        check_names(named)?;
        let (mut calls, mut used): (Vec<WindowCall>, Vec<&str>) = (vec![], vec![]);
        for call in self.frame().windows.clone() {
            let definition = match self.overs[call.over] {
                ast::Over::Named(name) => {
                    let (name, spec) = find(named, name)?;
                    used.push(name);
                    resolve(name, spec, named)?
                }
                ast::Over::Spec(spec) => resolve(UNNAMED, spec, named)?,
            };
            let (partition_by, order_by, frame) = self.bind_definition(&definition)?;
            let frame = if call.func.reads_frame() { frame } else { Frame::whole(frame.window) };
            let desc = WindowDesc { func: call.func, frame, ty: call.ty };
            calls.push(WindowCall { col: call.col, desc, partition_by, order_by });
        }
        for (name, spec) in named.iter().filter(|(name, _)| !used.contains(&name.as_str())) {
            self.bind_definition(&resolve(name, spec, named)?)?;
        }
        Ok(calls)
    }

    fn bind_definition(&mut self, definition: &Definition<'a>) -> Result<(Vec<Expr>, Vec<OrderKey>, Frame)> {
        self.window_name = definition.name.to_owned();
        let cx = |clause| ExprCx::plain(clause).with_aggregates(Aliases::Last).with_windows(Windows::InDefinition);
        let mut partition_by = vec![];
        for expr in definition.partition_by {
            partition_by.push(self.bind_window_key(definition.name, expr, cx(Clause::WindowPartitionBy))?);
        }
        let mut order_by = vec![];
        for entry in definition.order_by {
            let expr = self.bind_window_key(definition.name, &entry.expr, cx(Clause::WindowOrderBy))?;
            order_by.push(OrderKey { expr, desc: entry.desc });
        }
        let window: Arc<str> = definition.name.into();
        let frame = match definition.frame {
            Some(frame) => self.bind_frame(frame, &order_by, window)?,
            None if order_by.is_empty() => Frame::whole(window),
            None => Frame::up_to_peers(window),
        };
        Ok((partition_by, order_by, frame))
    }

    fn bind_window_key(&mut self, window: &str, expr: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        if literal_position(expr).is_some() {
            return Err(fault(window, WindowFault::Position));
        }
        let bound = self.bind_expr(expr, cx)?;
        self.as_condition(bound)
    }

    fn bind_frame(&mut self, frame: &'a ast::WindowFrame, order_by: &[OrderKey], window: Arc<str>) -> Result<Frame> {
        use ast::FrameBound as B;
        let unit = match frame.unit {
            ast::FrameUnit::Rows => FrameUnit::Rows,
            ast::FrameUnit::Range => FrameUnit::Range,
            ast::FrameUnit::Groups => return Err(Error::unsupported("GROUPS")),
        };
        match (&frame.start, frame.end.as_ref().unwrap_or(&B::CurrentRow)) {
            (B::UnboundedFollowing, _) => return Err(fault(&window, WindowFault::FrameStart)),
            (_, B::UnboundedPreceding) => return Err(fault(&window, WindowFault::FrameEnd)),
            (B::CurrentRow | B::Following(..), B::Preceding(..)) | (B::Following(..), B::CurrentRow) => return Err(frame_bound(&window)),
            _ => {}
        }
        let start = self.bind_bound(&frame.start, unit, order_by, &window)?;
        let end = frame.end.as_ref().map_or(Ok(Bound::CurrentRow), |end| self.bind_bound(end, unit, order_by, &window))?;
        Ok(Frame { unit, start, end, window })
    }

    fn bind_bound(&mut self, bound: &'a ast::FrameBound, unit: FrameUnit, order_by: &[OrderKey], window: &str) -> Result<Bound> {
        use ast::FrameBound as B;
        let (amount, interval, following) = match bound {
            B::UnboundedPreceding => return Ok(Bound::UnboundedPreceding),
            B::UnboundedFollowing => return Ok(Bound::UnboundedFollowing),
            B::CurrentRow => return Ok(Bound::CurrentRow),
            B::Preceding(amount, interval) => (amount, interval, false),
            B::Following(amount, interval) => (amount, interval, true),
        };
        if unit == FrameUnit::Rows && interval.is_some() {
            return Err(fault(window, WindowFault::RowsInterval));
        }
        let amount = self.bind_expr(amount, ExprCx::plain(Clause::WindowFrame).with_windows(Windows::InDefinition))?;
        if !amount.columns_used().is_empty() {
            return Err(fault(window, WindowFault::VariableBound));
        }
        let offset = match unit {
            FrameUnit::Rows => {
                if !matches!(amount.as_constant(), None | Some(Datum::Int(0..) | Datum::UInt(_))) {
                    return Err(frame_bound(window));
                }
                Offset::Rows(amount)
            }
            FrameUnit::Range => self.range_offset(amount, interval.as_ref(), order_by, following, window)?,
        };
        Ok(if following { Bound::Following(offset) } else { Bound::Preceding(offset) })
    }

    fn range_offset(
        &mut self,
        amount: Expr,
        interval: Option<&ast::IntervalUnit>,
        order_by: &[OrderKey],
        following: bool,
        window: &str,
    ) -> Result<Offset> {
        let [key] = order_by else { return Err(fault(window, WindowFault::RangeOrder)) };
        let is_named = matches!(key.expr.field_type().tp, TypeKind::Enum | TypeKind::Set);
        let ctx = self.build();
        match (key.expr.eval_type(), interval) {
            _ if is_named => Err(fault(window, WindowFault::RangeOrder)),
            (EvalType::Time | EvalType::Duration, Some(unit)) => {
                Ok(Offset::of_interval(key.expr.clone(), key.desc, amount, unit.name(), following, &ctx)?)
            }
            (EvalType::Time | EvalType::Duration, None) => Err(fault(window, WindowFault::RangeNumber)),
            (EvalType::Int | EvalType::Real | EvalType::Decimal, None) => {
                Ok(Offset::of_number(key.expr.clone(), key.desc, amount, following, &ctx)?)
            }
            (EvalType::Int | EvalType::Real | EvalType::Decimal, Some(_)) => Err(fault(window, WindowFault::RangeInterval)),
            _ => Err(fault(window, WindowFault::RangeOrder)),
        }
    }

    /// Puts the operators that compute the calls over `plan`.
    pub(super) fn with_windows(&mut self, plan: Plan, calls: Vec<WindowCall>) -> Plan {
        if calls.is_empty() {
            return plan;
        }
        let mut computed: Vec<(Col, Expr)> = plan.columns().into_iter().map(|col| (col, self.columns.expr(col))).collect();
        let passed = computed.len();
        let mut windows: Vec<Window> = vec![];
        for call in calls {
            let partition_by: Vec<Col> = call.partition_by.into_iter().filter_map(|key| self.window_key(key, &mut computed)).collect();
            let order_by: Vec<(Col, bool)> =
                call.order_by.into_iter().filter_map(|key| self.window_key(key.expr, &mut computed).map(|col| (col, key.desc))).collect();
            let same = |window: &&mut Window| {
                window.order_by == order_by
                    && window.partition_by.len() == partition_by.len()
                    && window.partition_by.iter().all(|col| partition_by.contains(col))
            };
            match windows.iter_mut().find(same) {
                Some(window) => window.funcs.push((call.col, call.desc)),
                None => {
                    let funcs = vec![(call.col, call.desc)];
                    windows.push(Window { child: Box::new(Plan::empty()), partition_by, order_by, funcs });
                }
            }
        }
        let mut plan = match computed.len() > passed {
            true => Plan::Project(Project { child: Box::new(plan), exprs: computed }),
            false => plan,
        };
        windows.sort_by_key(|window| std::cmp::Reverse(window.partition_by.len() + window.order_by.len()));
        for mut window in windows {
            window.child = Box::new(plan);
            plan = Plan::Window(window);
        }
        plan
    }

    /// The column a window sorts by; none for a constant, in which all rows are equal.
    fn window_key(&mut self, key: Expr, computed: &mut Vec<(Col, Expr)>) -> Option<Col> {
        if key.is_constant() {
            return None;
        }
        if let Some(col) = key.as_column() {
            return Some(col);
        }
        if let Some((col, _)) = computed.iter().find(|(_, known)| *known == key && key.is_deterministic()) {
            return Some(*col);
        }
        let col = self.columns.add_computed(key.field_type().clone());
        computed.push((col, key));
        Some(col)
    }
}

/// How the arguments of a window function are bound: it is computed over groups, so aggregates may stand in them, other window functions not.
fn arguments(cx: ExprCx) -> ExprCx {
    cx.with_windows(Windows::Refused).without_params()
}

fn fault(window: &str, what: WindowFault) -> Error {
    Error::WindowDefinition { window: window.to_owned(), what }
}

fn frame_bound(window: &str) -> Error {
    Error::Expr(expr::Error::FrameBound { window: window.to_owned() })
}

fn find<'a>(named: &'a Named<'a>, name: &ast::Ident) -> Result<(&'a str, &'a ast::WindowSpec)> {
    let found = named.iter().find(|(own, _)| same_name(own, name));
    found.map(|(own, spec)| (own.as_str(), spec)).ok_or_else(|| Error::NoSuchWindow { name: name.as_str().to_owned() })
}

/// Every name of the WINDOW clause is defined once, and no window refines itself.
fn check_names<'a>(named: &'a Named<'a>) -> Result<()> {
    for (i, (name, _)) in named.iter().enumerate() {
        if named[..i].iter().any(|(other, _)| same_name(other, name)) {
            return Err(Error::DuplicateWindow { name: name.as_str().to_owned() });
        }
    }
    for (_, spec) in named {
        let (mut spec, mut steps) = (spec, 0);
        while let Some(base) = &spec.base {
            steps += 1;
            if steps > named.len() {
                return Err(Error::WindowCircularity);
            }
            spec = find(named, base)?.1;
        }
    }
    Ok(())
}

/// A window with what it takes from the one it refines.
fn resolve<'a>(name: &'a str, spec: &'a ast::WindowSpec, named: &'a Named<'a>) -> Result<Definition<'a>> {
    let own = Definition { name, partition_by: &spec.partition_by, order_by: &spec.order_by, frame: spec.frame.as_ref() };
    let Some(base) = &spec.base else { return Ok(own) };
    let (base_name, base_spec) = find(named, base)?;
    let base = resolve(base_name, base_spec, named)?;
    if !own.partition_by.is_empty() {
        return Err(Error::DependentWindowPartitions);
    }
    if !own.order_by.is_empty() && !base.order_by.is_empty() {
        return Err(Error::WindowOrderTwice { window: name.to_owned(), base: base_name.to_owned() });
    }
    if base.frame.is_some() {
        return Err(fault(base_name, WindowFault::RefinedFrame));
    }
    let order_by = if own.order_by.is_empty() { base.order_by } else { own.order_by };
    Ok(Definition { partition_by: base.partition_by, order_by, ..own })
}

fn window_kind(func: ast::WindowFunc) -> WindowKind {
    use ast::WindowFunc as F;
    match func {
        F::RowNumber => WindowKind::RowNumber,
        F::Rank => WindowKind::Rank,
        F::DenseRank => WindowKind::DenseRank,
        F::CumeDist => WindowKind::CumeDist,
        F::PercentRank => WindowKind::PercentRank,
        F::Ntile => WindowKind::Ntile,
        F::Lead => WindowKind::Lead,
        F::Lag => WindowKind::Lag,
        F::FirstValue => WindowKind::FirstValue,
        F::LastValue => WindowKind::LastValue,
        F::NthValue => WindowKind::NthValue,
    }
}
