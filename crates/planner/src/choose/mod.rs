//! The choice of physical operators by cost.
//!
//! [`Chooser::choose`] walks the logical plan from the root with what is wanted of the result (an order, and how many rows will be read of
//! it) and builds the cheapest operators from the leaves up. An order is either delivered by an operator for free (a scan in key order, a
//! streamed aggregation) or by a sort put on top; both are priced. Work is pushed into the readers' DAGs where they stand directly below.
//!
//! Invariant: `Physical::columns[i]` is the column at position `i` of the node's output; expressions are renumbered to positions in the moment
//! their operator is built over its child.

mod aggregate;
mod cost;
mod estimate;
mod join;
mod order;
mod path;
mod rollup;
mod scan;
mod window;

use std::cell::Cell;

use copr::{DagPlan, SortKey};
use expr::Expr;
use types::FieldType;

pub(crate) use self::estimate::Estimator;
use crate::{
    logical::{Col, Columns, Lock, Plan, Project, Union, columns_of},
    physical::{self, CopTask, LockTarget, Node, Op},
    rules::{Rule, RuleSet},
};

/// A sort column with its direction.
pub(crate) type OrderColumn = (Col, bool);

/// What the reader of a plan wants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Want {
    /// The order of the rows; empty for any.
    pub order: Vec<OrderColumn>,
    /// How many rows will be read, when not all.
    pub limit: Option<f64>,
}

impl Want {
    fn limited(limit: Option<f64>) -> Self {
        Self { order: vec![], limit }
    }
}

/// A chosen operator tree.
#[derive(Clone, Debug)]
pub(crate) struct Physical {
    pub node: Node,
    /// The column at each position of the output.
    pub columns: Vec<Col>,
    /// The order the rows come in.
    pub order: Vec<OrderColumn>,
    /// Columns that have the same value in all rows.
    pub constant: Vec<Col>,
}

impl Physical {
    fn cost(&self) -> f64 {
        self.node.cost
    }

    fn rows(&self) -> f64 {
        self.node.rows
    }

    /// The position of a column in the output.
    pub fn position(&self, col: Col) -> usize {
        self.columns.iter().position(|own| *own == col).expect("an operator's child hands up every column the operator reads")
    }

    /// The expression over positions of the output.
    pub fn resolve(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        expr.remap_columns(&|col| self.position(col));
        expr
    }

    /// Whether the rows come in the wanted order.
    fn is_ordered(&self, wanted: &[OrderColumn]) -> bool {
        let mut provided = self.order.iter().filter(|(col, _)| !self.constant.contains(col));
        wanted.iter().filter(|(col, _)| !self.constant.contains(col)).all(|wanted| provided.next() == Some(wanted))
    }
}

/// Builds the physical plan of one statement.
pub(crate) struct Chooser<'a> {
    pub columns: &'a Columns,
    pub estimator: &'a Estimator<'a>,
    pub rules: RuleSet,
    /// Some access path was chosen because of a parameter's value: with other values another one may be much better.
    value_dependent: Cell<bool>,
}

impl<'a> Chooser<'a> {
    pub fn new(columns: &'a Columns, estimator: &'a Estimator<'a>, rules: RuleSet) -> Self {
        Self { columns, estimator, rules, value_dependent: Cell::new(false) }
    }

    /// Whether the plan owes its shape to the values of parameters, and so should not be kept for others.
    pub fn is_value_dependent(&self) -> bool {
        self.value_dependent.get()
    }

    fn is_on(&self, rule: Rule) -> bool {
        self.rules.is_on(rule)
    }

    /// An operator; ids are given to the finished tree.
    pub(crate) fn node(&self, op: Op, output: Vec<FieldType>, rows: f64, cost: f64) -> Node {
        Node { id: 0, output, rows, cost, op }
    }

    fn task(&self, rows: f64) -> CopTask {
        CopTask { id: 0, rows }
    }

    fn types(&self, columns: &[Col]) -> Vec<FieldType> {
        columns.iter().map(|col| self.columns.meta(*col).ty.clone()).collect()
    }

    /// The cheapest operators for `plan`, in the wanted order.
    pub fn choose(&self, plan: &Plan, want: &Want) -> Physical {
        match plan {
            Plan::Scan(scan) => self.choose_scan(scan, want),
            Plan::Values(values) => {
                let rows = values.rows.len() as f64;
                let types = self.types(&values.columns);
                let node = self.node(Op::Values(physical::Values { rows: values.rows.clone() }), types, rows, rows);
                let chosen = Physical { node, columns: values.columns.clone(), order: vec![], constant: vec![] };
                self.sorted(chosen, want)
            }
            Plan::Filter(filter) => {
                let selectivity = self.estimator.selectivity(&filter.conditions);
                let inner = Want { order: want.order.clone(), limit: want.limit.map(|limit| limit / selectivity) };
                let child = self.choose(&filter.child, &inner);
                self.selection(child, &filter.conditions)
            }
            Plan::Project(project) => self.choose_projection(project, want),
            Plan::Aggregate(agg) => match agg.rollup {
                Some(kept_keys) => self.choose_rollup(agg, kept_keys, want),
                None => self.choose_aggregate(agg, want),
            },
            Plan::Window(window) => self.choose_window(window, want),
            Plan::Join(join) => {
                let chosen = self.choose_join(join, want);
                self.sorted(chosen, want)
            }
            Plan::Sort(sort) => self.choose_sort(sort, want),
            Plan::Limit(limit) => {
                let chosen = self.choose_limit(limit);
                self.sorted(chosen, want)
            }
            Plan::Union(union) => {
                let chosen = self.choose_union(union, want);
                self.sorted(chosen, want)
            }
            Plan::Lock(lock) => self.choose_lock(lock, want),
            Plan::MaxOneRow(child) => {
                let child = self.choose(child, &Want::limited(Some(2.0)));
                let (output, cost, columns) = (child.node.output.clone(), child.cost(), child.columns);
                let node = self.node(Op::MaxOneRow(physical::MaxOneRow { child: Box::new(child.node) }), output, 1.0, cost);
                Physical { node, columns, order: vec![], constant: vec![] }
            }
        }
    }

    fn selection(&self, child: Physical, conditions: &[Expr]) -> Physical {
        if conditions.is_empty() {
            return child;
        }
        let rows = (child.rows() * self.estimator.selectivity(conditions)).max(1.0);
        let cost = child.cost() + child.rows() * cost::CONDITION * conditions.len() as f64;
        let resolved = conditions.iter().map(|condition| child.resolve(condition)).collect();
        let output = child.node.output.clone();
        let Physical { node, columns, order, constant } = child;
        let node = self.node(Op::Selection(physical::Selection { child: Box::new(node), conditions: resolved }), output, rows, cost);
        Physical { node, columns, order, constant }
    }

    fn choose_projection(&self, project: &Project, want: &Want) -> Physical {
        let passed = |col: Col| project.exprs.iter().any(|(out, expr)| *out == col && expr.as_column() == Some(col));
        let passes_order = want.order.iter().all(|(col, _)| passed(*col));
        let inner = if passes_order { want.clone() } else { Want::limited(None) };
        let child = self.choose(&project.child, &inner);
        let exprs: Vec<Expr> = project.exprs.iter().map(|(_, expr)| child.resolve(expr)).collect();
        let columns: Vec<Col> = project.exprs.iter().map(|(col, _)| *col).collect();
        if let Op::Values(values) = &child.node.op
            && child.columns.is_empty()
            && values.rows.len() == 1
        {
            // `SELECT 1`: the constants are the row.
            let output = exprs.iter().map(|expr| expr.field_type().clone()).collect();
            let node = self.node(Op::Values(physical::Values { rows: vec![exprs] }), output, 1.0, 1.0);
            return Physical { node, constant: columns.clone(), columns, order: vec![] };
        }
        let computed = exprs.iter().filter(|expr| expr.as_column().is_none()).count() as f64;
        let cost = child.cost() + child.rows() * cost::COMPUTE * computed;
        let (rows, mut order, constant) = (child.rows(), child.order, child.constant);
        order.truncate(order.iter().take_while(|(col, _)| passed(*col)).count());
        let output = exprs.iter().map(|expr| expr.field_type().clone()).collect();
        let node = self.node(Op::Projection(physical::Projection { child: Box::new(child.node), exprs }), output, rows, cost);
        self.sorted(Physical { node, columns, order, constant }, want)
    }

    fn choose_union(&self, union: &Union, want: &Want) -> Physical {
        let (mut children, mut rows, mut cost) = (vec![], 0.0, 0.0);
        let limit = if want.order.is_empty() { want.limit } else { None };
        for (child, inputs) in union.children.iter().zip(&union.inputs) {
            let chosen = self.choose(child, &Want::limited(limit));
            let chosen = self.laid_out(chosen, inputs);
            rows += chosen.rows();
            cost += chosen.cost();
            children.push(chosen.node);
        }
        let types = self.types(&union.columns);
        let node = self.node(Op::UnionAll(physical::UnionAll { children }), types, rows, cost);
        Physical { node, columns: union.columns.clone(), order: vec![], constant: vec![] }
    }

    fn choose_lock(&self, lock: &Lock, want: &Want) -> Physical {
        let mut child = self.choose(&lock.child, want);
        match &mut child.node.op {
            Op::PointGet(get) => get.lock = Some(lock.lock),
            Op::BatchPointGet(get) => get.lock = Some(lock.lock),
            _ => {
                let targets =
                    lock.targets.iter().map(|(table, col)| LockTarget { table: table.clone(), handle: child.position(*col) }).collect();
                let (output, rows) = (child.node.output.clone(), child.rows());
                let cost = child.cost() + rows * cost::LOOKUP * lock.targets.len() as f64;
                let Physical { node, columns, order, constant } = child;
                let op = Op::SelectLock(physical::SelectLock { child: Box::new(node), targets, lock: lock.lock });
                let node = self.node(op, output, rows, cost);
                child = Physical { node, columns, order, constant };
            }
        }
        child
    }

    /// A sort on top when the rows do not come in the wanted order.
    fn sorted(&self, child: Physical, want: &Want) -> Physical {
        if child.is_ordered(&want.order) {
            return child;
        }
        let by: Vec<SortKey> = want.order.iter().map(|(col, desc)| SortKey { expr: self.columns.expr(*col), desc: *desc }).collect();
        self.explicit_sort(child, &by, &want.order)
    }

    /// A projection on top when the columns do not stand in the wanted places.
    pub fn laid_out(&self, child: Physical, columns: &[Col]) -> Physical {
        if child.columns == columns {
            return child;
        }
        let exprs: Vec<Expr> = columns
            .iter()
            .map(|col| {
                let at = child.position(*col);
                Expr::named_column(at, child.node.output[at].clone(), self.columns.meta(*col).name.clone())
            })
            .collect();
        let output = exprs.iter().map(|expr| expr.field_type().clone()).collect();
        let (rows, cost) = (child.rows(), child.cost());
        let Physical { node, order, constant, .. } = child;
        let node = self.node(Op::Projection(physical::Projection { child: Box::new(node), exprs }), output, rows, cost);
        Physical { node, columns: columns.to_vec(), order, constant }
    }
}

/// The DAG of a reader that can take further operators: nothing but scan and filters, or projections, so far.
fn open_dag(node: &mut Node) -> Option<(&mut DagPlan, &mut Vec<CopTask>)> {
    let (dag, tasks) = match &mut node.op {
        Op::TableReader(reader) => (&mut reader.dag, &mut reader.tasks),
        Op::IndexReader(reader) => (&mut reader.dag, &mut reader.tasks),
        _ => return None,
    };
    dag.ops.is_empty().then(|| (std::sync::Arc::make_mut(dag), tasks))
}

/// The sort columns when every key is a bare column.
fn order_columns(by: &[SortKey]) -> Option<Vec<OrderColumn>> {
    by.iter().map(|key| Some((key.expr.as_column()?, key.desc))).collect()
}

/// The columns of several expressions, each once.
fn columns_of_all<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<Col> {
    let mut columns = vec![];
    for col in exprs.into_iter().flat_map(columns_of) {
        if !columns.contains(&col) {
            columns.push(col);
        }
    }
    columns
}
