//! Planning one statement: bind, rewrite, choose, and put the pieces together.

use parser::ast::{self, Stmt};

use crate::{
    bind::{
        Binder, BoundQuery,
        delete::BoundDelete,
        insert::{BoundInsert, BoundSource},
        update::{BoundUpdate, BoundUpdateTarget},
    },
    choose::{Chooser, Estimator, Physical, Want},
    context::PlanCtx,
    error::{Error, Result},
    logical::{Col, Plan, columns_of},
    physical::{
        Assignment, Delete, DeleteTarget, ExplainMode, Insert, InsertSource, Node, Op, OutputColumn, PhysicalPlan, ScalarSubquery, Update,
        UpdateTarget,
    },
    rules::{RuleCx, rewrite},
};

/// What a statement is after binding.
enum Bound {
    Query(BoundQuery),
    Insert(BoundInsert),
    Update(BoundUpdate),
    Delete(BoundDelete),
}

/// Plans a SELECT, INSERT, REPLACE, UPDATE, DELETE or DO statement, or the EXPLAIN of one.
///
/// # Errors
/// Names that mean nothing, types that do not go together, features that are not supported; see [`Error`].
pub fn plan<'a>(statement: &'a Stmt, ctx: &'a PlanCtx<'a>) -> Result<PhysicalPlan> {
    match statement {
        Stmt::Explain(explain) => {
            if explain.format.as_deref().is_some_and(|format| !matches!(format, "row" | "brief" | "traditional")) {
                return Err(Error::unsupported("EXPLAIN FORMAT other than row"));
            }
            let ast::ExplainTarget::Stmt(inner) = &explain.target else { return Err(Error::unsupported("EXPLAIN FOR CONNECTION")) };
            let mut planned = plan_statement(inner, ctx)?;
            planned.cacheable = false;
            planned.into.clear();
            planned.explain = Some(if explain.analyze { ExplainMode::Analyze } else { ExplainMode::Plan });
            planned.output = crate::explain::output_columns(explain.analyze);
            Ok(planned)
        }
        _ => plan_statement(statement, ctx),
    }
}

fn plan_statement<'a>(statement: &'a Stmt, ctx: &'a PlanCtx<'a>) -> Result<PhysicalPlan> {
    let mut binder = Binder::new(ctx);
    let bound = match statement {
        Stmt::Query(query) => Bound::Query(bind_query(&mut binder, query)?),
        Stmt::Do(exprs) => Bound::Query(binder.bind_do(exprs)?),
        Stmt::Insert(insert) => Bound::Insert(binder.bind_insert(insert)?),
        Stmt::Update(update) => Bound::Update(binder.bind_update(update)?),
        Stmt::Delete(delete) => Bound::Delete(binder.bind_delete(delete)?),
        _ => return Err(Error::unsupported("this statement in EXPLAIN")),
    };
    Planner { binder }.finish(bound)
}

/// A query, with or without variables that take the values of its one row.
fn bind_query<'a>(binder: &mut Binder<'a>, query: &'a ast::Query) -> Result<BoundQuery> {
    if let Some(ast::IntoClause::Vars(names)) = &query.into {
        binder.into = names.iter().map(|name| name.as_str().to_owned()).collect();
    }
    let (bound, _) = binder.bind_block(query)?;
    if !binder.into.is_empty() && binder.into.len() != bound.output.len() {
        return Err(Error::DifferentColumnCounts);
    }
    Ok(bound)
}

struct Planner<'a> {
    binder: Binder<'a>,
}

impl<'a> Planner<'a> {
    fn finish(mut self, bound: Bound) -> Result<PhysicalPlan> {
        let cx = self.binder.cx;
        let tables = self.binder.take_tables();
        let values = std::mem::take(&mut self.binder.values);
        let estimator = Estimator::new(cx, &values);
        let (logical, wanted) = bound.input();
        let mut roots: Vec<(Plan, Vec<Col>)> = vec![(logical, wanted)];
        let subqueries = std::mem::take(&mut self.binder.subqueries);
        let mut slots = vec![];
        for subquery in subqueries {
            slots.push((subquery.slot, subquery.kind));
            roots.push((subquery.plan, subquery.output));
        }
        let build = self.binder.build();
        let mut rule_cx = RuleCx { columns: &mut self.binder.columns, build, estimator: &estimator, rules: cx.rules };
        let rewritten: Vec<(Plan, Vec<Col>)> =
            roots.into_iter().map(|(plan, wanted)| (rewrite(plan, &wanted, &mut rule_cx), wanted)).collect();

        let chooser = Chooser::new(&self.binder.columns, &estimator, cx.rules);
        let mut chosen = vec![];
        for (plan, wanted) in &rewritten {
            let physical = chooser.choose(plan, &Want::default());
            chosen.push(chooser.laid_out(physical, wanted));
        }
        let scalar_plans: Vec<Physical> = chosen.split_off(1);
        let main = chosen.pop().expect("the statement's own plan is the first");
        let is_write = !matches!(bound, Bound::Query(_));
        let output = match &bound {
            Bound::Query(query) => self.binder.output_columns(&query.output),
            _ => vec![],
        };
        let cacheable = self.binder.cacheable && !chooser.is_value_dependent();
        let mut root = finish_root(bound, main, &chooser);
        let mut last = root.number(0);
        let mut scalar_subqueries = vec![];
        for ((slot, kind), mut plan) in slots.into_iter().zip(scalar_plans) {
            last = plan.node.number(last);
            scalar_subqueries.push(ScalarSubquery { slot, kind, plan: std::sync::Arc::new(plan.node) });
        }
        Ok(PhysicalPlan {
            root,
            output,
            params: self.binder.params,
            slots: self.binder.slots,
            scalar_subqueries,
            cacheable,
            tables,
            locks_rows: self.binder.locks_rows,
            is_write,
            waits: self.binder.waits.get(),
            into: std::mem::take(&mut self.binder.into),
            explain: None,
        })
    }
}

impl Bound {
    /// The logical plan that feeds the statement's root, and the columns it has to hand up, in order.
    fn input(&self) -> (Plan, Vec<Col>) {
        match self {
            Self::Query(query) => (query.plan.clone(), query.output.iter().map(|column| column.col).collect()),
            Self::Insert(insert) => match &insert.source {
                BoundSource::Query { plan, output } => (plan.clone(), output.clone()),
                BoundSource::Values(_) => (Plan::empty(), vec![]),
            },
            Self::Update(update) => {
                let mut wanted = vec![];
                for target in &update.targets {
                    lay_out_row(&target.row, target.handle, &mut wanted);
                }
                for assignment in update.targets.iter().flat_map(all_assignments) {
                    for col in columns_of(&assignment.value) {
                        if !wanted.contains(&col) {
                            wanted.push(col);
                        }
                    }
                }
                (update.plan.clone(), wanted)
            }
            Self::Delete(delete) => {
                let mut wanted = vec![];
                for target in &delete.targets {
                    lay_out_row(&target.row, target.handle, &mut wanted);
                }
                (delete.plan.clone(), wanted)
            }
        }
    }
}

/// A target's row stands together; the handle follows unless it is one of the row's columns.
fn lay_out_row(row: &[Col], handle: Col, wanted: &mut Vec<Col>) {
    wanted.extend(row);
    if !row.contains(&handle) {
        wanted.push(handle);
    }
}

fn all_assignments(target: &BoundUpdateTarget) -> impl Iterator<Item = &Assignment> {
    target.assignments.iter().chain(&target.on_update).chain(&target.generated)
}

fn finish_root(bound: Bound, main: Physical, chooser: &Chooser<'_>) -> Node {
    let (rows, cost) = (main.node.rows, main.node.cost);
    let op = match bound {
        Bound::Query(_) => return main.node,
        Bound::Insert(insert) => {
            let source = match insert.source {
                BoundSource::Values(rows) => InsertSource::Values(rows),
                BoundSource::Query { .. } => InsertSource::Query(Box::new(main.node)),
            };
            Op::Insert(Box::new(Insert {
                table: insert.table,
                database: insert.database,
                replace: insert.replace,
                ignore: insert.ignore,
                columns: insert.columns,
                fill: insert.fill,
                source,
                on_duplicate: insert.on_duplicate,
                on_update: insert.on_update,
                checks: insert.checks,
            }))
        }
        Bound::Update(update) => {
            let targets = update.targets.into_iter().map(|target| update_target(target, &main)).collect();
            Op::Update(Box::new(Update { child: Box::new(main.node), targets, ignore: update.ignore }))
        }
        Bound::Delete(delete) => {
            let target = |target: crate::bind::delete::BoundDeleteTarget| DeleteTarget {
                start: main.position(target.row[0]),
                handle: main.position(target.handle),
                table: target.table,
                database: target.database,
            };
            let targets = delete.targets.into_iter().map(target).collect();
            Op::Delete(Box::new(Delete { child: Box::new(main.node), targets, ignore: delete.ignore }))
        }
    };
    let rows = match &op {
        Op::Insert(insert) => match &insert.source {
            InsertSource::Values(values) => values.len() as f64,
            InsertSource::Query(_) => rows,
        },
        _ => rows,
    };
    chooser.node(op, vec![], rows, cost + rows)
}

fn update_target(target: BoundUpdateTarget, main: &Physical) -> UpdateTarget {
    let resolve = |list: Vec<Assignment>| -> Vec<Assignment> {
        list.into_iter().map(|assignment| Assignment { value: main.resolve(&assignment.value), ..assignment }).collect()
    };
    UpdateTarget {
        start: main.position(target.row[0]),
        handle: main.position(target.handle),
        table: target.table,
        database: target.database,
        assignments: resolve(target.assignments),
        on_update: resolve(target.on_update),
        generated: resolve(target.generated),
        checks: target.checks,
    }
}

/// A text column of a result that the server makes up.
pub(crate) fn text_column(name: &str) -> OutputColumn {
    OutputColumn {
        name: name.to_owned(),
        org_name: String::new(),
        table: String::new(),
        org_table: String::new(),
        database: String::new(),
        ty: types::FieldType::varchar(512),
    }
}
