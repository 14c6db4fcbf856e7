//! The INSERT behind LOAD DATA.
//!
//! ```text
//!   LOAD DATA … (a, @v, b) SET c = @v + 1        INSERT IGNORE … (a, b, c) VALUES (?, ?, IF(ISNULL(@v := ?), @v + 1, @v + 1)), …
//! ```
//!
//! A field is a parameter: of its column, or of the assignment to its user variable, which stands before the first expression of SET so that it
//! is made row by row. The statement is planned once for each number of fields and rows.
//!
//! Invariant: a plan is used with the definition of the table it was made for.

use std::sync::Arc;

use exec::dml::Affected;
use parser::ast::{
    Assignment, BinaryOp, ColumnRef, Expr, FuncCall, Ident, InsertSource, InsertStmt, IsTest, LoadDataStmt, Stmt, TableName,
};
use rustc_hash::FxHashMap;
use types::{Datum, FieldType};

use super::{replaces, variable};
use crate::{
    Error,
    plan_cache::{CachedPlan, PlanKey},
    session::Session,
};

/// Where a field goes.
#[derive(Clone, Debug)]
enum Target {
    Column(ColumnRef),
    Variable(Ident),
    /// The column is computed; what the file says about it does not count.
    Nowhere,
}

/// The INSERT in all shapes it was needed in.
pub(super) struct Inserts {
    table: TableName,
    replace: bool,
    targets: Vec<Target>,
    set: Vec<Assignment>,
    plans: FxHashMap<Shape, Arc<CachedPlan>>,
    /// The variables' values of the last row.
    variables: Vec<(Ident, Datum)>,
}

/// How many rows, of how many fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shape {
    rows: usize,
    fields: usize,
}

impl Inserts {
    pub(super) fn new(session: &Session, stmt: &LoadDataStmt) -> Result<Self, Error> {
        let (database, name) = session.existing_table(&stmt.table)?;
        let schema = session.domain.catalog().current();
        let table = schema.table(&database, &name);
        let targets: Vec<Target> = match (&stmt.columns[..], table) {
            ([], Some(table)) => {
                let visible = table.public_columns().iter().filter(|column| !column.hidden);
                visible
                    .map(|column| match column.generated {
                        None => Target::Column(ColumnRef::bare(column.name.as_str())),
                        Some(_) => Target::Nowhere,
                    })
                    .collect()
            }
            (columns, _) => columns
                .iter()
                .map(|column| match column {
                    Expr::Column(column) => Target::Column(column.clone()),
                    other => Target::Variable(Ident::new(variable(other).unwrap_or_default())),
                })
                .collect(),
        };
        let set_twice = |target: &Target| match target {
            Target::Column(column) => stmt.set.iter().any(|set| set.column.name.eq_ignore_ascii_case(&column.name)),
            _ => false,
        };
        if targets.iter().any(set_twice) {
            return Err(Error::unsupported("LOAD DATA with a column that is both read and SET"));
        }
        Ok(Self {
            table: stmt.table.clone(),
            replace: replaces(stmt),
            targets,
            set: stmt.set.clone(),
            plans: FxHashMap::default(),
            variables: Vec::new(),
        })
    }

    /// Fields of a full line.
    pub(super) fn field_count(&self) -> usize {
        self.targets.len()
    }

    pub(super) fn replaces(&self) -> bool {
        self.replace
    }

    /// Finds out what is wrong with the statement.
    pub(super) async fn check(&mut self, session: &mut Session) -> Result<(), Error> {
        // Expressions take variables for what they will be: texts.
        for target in &self.targets {
            if let Target::Variable(name) = target {
                session.user_vars.set(
                    name,
                    Datum::Bytes(Vec::new()),
                    FieldType::varchar(16_383).with_collation(session.vars.hot.collation),
                );
            }
        }
        self.plan(session, Shape { rows: 1, fields: self.targets.len() }).map(drop)
    }

    /// Inserts rows, which all have the same number of fields. `before` rows of the file were inserted before.
    pub(super) async fn run(&mut self, session: &mut Session, rows: Vec<Vec<Datum>>, before: u64) -> Result<Affected, Error> {
        let fields = rows.first().map_or(0, Vec::len);
        let shape = Shape { rows: rows.len(), fields };
        let plan = self.plan(session, shape)?;
        let order = self.parameter_order(fields);
        let mut params = Vec::with_capacity(rows.len() * order.len());
        for row in &rows {
            params.extend(order.iter().map(|field| row.get(*field).cloned().unwrap_or(Datum::Null)));
        }
        if let Some(last) = rows.last() {
            let variables = self.targets.iter().enumerate().filter_map(|(at, target)| match target {
                Target::Variable(name) => Some((name.clone(), last.get(at).cloned().unwrap_or(Datum::Null))),
                _ => None,
            });
            self.variables = variables.collect();
        }
        session.run_insert(&plan, params.into(), before).await
    }

    /// After the statement the variables have what the last row gave them.
    pub(super) fn keep_variables(&mut self, session: &Session) {
        let ty = FieldType::varchar(16_383).with_collation(session.vars.hot.collation);
        for (name, value) in self.variables.drain(..) {
            session.user_vars.set(&name, value, ty.clone());
        }
    }

    fn plan(&mut self, session: &mut Session, shape: Shape) -> Result<Arc<CachedPlan>, Error> {
        if let Some(plan) = self.plans.get(&shape)
            && plan.plan.cacheable
            && session.admit(plan)?
        {
            return Ok(plan.clone());
        }
        let stmt = Stmt::Insert(Box::new(self.statement(shape)));
        let markers = shape.rows * self.parameter_order(shape.fields).len();
        let types = vec![FieldType::varchar(16_383).with_collation(session.vars.hot.collation); markers];
        let env = session.plan_env();
        let key = PlanKey { text: b"", param_types: &types, env: &env };
        loop {
            let plan = session.make_plan(&stmt, &key, None, &[])?;
            if session.admit(&plan)? {
                self.plans.insert(shape, plan.clone());
                return Ok(plan);
            }
        }
    }

    /// Which field each parameter of a row is: columns first, then variables. Fields that a line does not have are parameters of variables only.
    fn parameter_order(&self, fields: usize) -> Vec<usize> {
        let all = self.targets.iter().enumerate();
        let columns = all.clone().take(fields).filter(|(_, target)| matches!(target, Target::Column(_)));
        let variables = all.filter(|(_, target)| self.assigns() && matches!(target, Target::Variable(_)));
        columns.chain(variables).map(|(at, _)| at).collect()
    }

    /// Whether variables have to be assigned row by row: there are expressions that may read them.
    fn assigns(&self) -> bool {
        self.set.iter().any(|set| !matches!(set.value, Expr::Default(_)))
    }

    fn statement(&self, shape: Shape) -> InsertStmt {
        let columns = self.targets.iter().take(shape.fields).filter_map(|target| match target {
            Target::Column(column) => Some(column.clone()),
            _ => None,
        });
        let columns: Vec<ColumnRef> = columns.chain(self.set.iter().map(|set| set.column.clone())).collect();
        let mut next = 0..;
        let rows = (0..shape.rows).map(|_| self.row(shape.fields, &mut next)).collect();
        InsertStmt {
            replace: self.replace,
            hints: Vec::new(),
            priority: None,
            ignore: true,
            table: self.table.clone(),
            partitions: Vec::new(),
            columns,
            source: InsertSource::Values(rows),
            row_alias: None,
            on_duplicate: Vec::new(),
        }
    }

    /// The values of a row, with the next parameters.
    fn row(&self, fields: usize, next: &mut impl Iterator<Item = u32>) -> Vec<Expr> {
        let mut marker = || Expr::Param(next.next().unwrap_or(u32::MAX));
        let columns = self.targets.iter().take(fields).filter(|target| matches!(target, Target::Column(_)));
        let mut row: Vec<Expr> = columns.map(|_| marker()).collect();
        let mut assigned = !self.assigns();
        for set in &self.set {
            let mut value = set.value.clone();
            if !assigned && !matches!(value, Expr::Default(_)) {
                value = self.assign_before(value, &mut marker);
                assigned = true;
            }
            row.push(value);
        }
        row
    }

    /// `IF(ISNULL(@a := ?) + ISNULL(@b := ?), value, value)`: the variables are assigned, then the value is computed.
    fn assign_before(&self, value: Expr, marker: &mut impl FnMut() -> Expr) -> Expr {
        let names = self.targets.iter().filter_map(|target| match target {
            Target::Variable(name) => Some(name),
            _ => None,
        });
        let tests = names.map(|name| {
            let assignment = Expr::AssignUserVar { name: name.clone(), value: Box::new(marker()) };
            Expr::Is { expr: Box::new(assignment), test: IsTest::Null, negated: false }
        });
        let all = tests.reduce(|left, right| Expr::Binary { op: BinaryOp::Add, left: Box::new(left), right: Box::new(right) });
        match all {
            Some(test) => Expr::Func(Box::new(FuncCall { schema: None, name: Ident::new("IF"), args: vec![test, value.clone(), value] })),
            None => value,
        }
    }
}
