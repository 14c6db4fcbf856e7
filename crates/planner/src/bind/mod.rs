//! Binding: from names to columns, from syntax to the logical plan.
//!
//! One pass over the tree. [`Binder`] holds what the whole statement shares: the columns' numbers, the parameter slots, the tables
//! touched and the stack of query blocks. One file a concern: `scope` (what names mean), `from`, `select`, `grouping`, `dependence`, `window`, `set_operation`,
//! `subquery`, `expression`, and one for each statement that changes rows.
//!
//! Literals of a statement that goes through the plan cache become parameters where neither the plan's shape nor a result column can
//! depend on them (operands of comparisons and arithmetic in conditions, inserted and assigned values, LIMIT); any other literal stays
//! a constant and makes the plan not cacheable.

pub(crate) mod column_default;
pub(crate) mod delete;
mod dependence;
mod expression;
mod from;
mod function;
mod grouping;
pub(crate) mod insert;
mod literal;
pub(crate) mod scope;
mod select;
mod set_operation;
mod subquery;
pub(crate) mod update;
mod window;

use std::sync::Arc;

use base::TableId;
use catalog::TableInfo;
use expr::BuildCtx;
use parser::ast;
use types::{Datum, FieldType};

pub(crate) use self::scope::{Aliases, Frame, PendingJoin, ScopeColumn};
use crate::{
    context::PlanCtx,
    error::{Error, Result},
    logical::{Col, Columns, Join, Plan},
    physical::{OutputColumn, ScalarKind, TableAccess, TableUse},
};

/// The state of binding one statement.
pub(crate) struct Binder<'a> {
    pub cx: &'a PlanCtx<'a>,
    pub columns: Columns,
    pub frames: Vec<Frame>,
    /// Common table expressions in scope, innermost last.
    ctes: Vec<CteDefinition<'a>>,
    /// Parameter slots in use.
    pub slots: usize,
    /// Types of the caller's parameters that the plan reads.
    pub params: Vec<Option<FieldType>>,
    /// Values of slots as far as they are known, for estimates.
    pub values: Vec<Option<Datum>>,
    pub subqueries: Vec<BoundSubquery>,
    pub cacheable: bool,
    /// The statement calls a function that waits.
    pub waits: std::cell::Cell<bool>,
    /// The types of integer and text literals, but for their length.
    integer_type: FieldType,
    text_type: FieldType,
    pub tables: Vec<TableUse>,
    /// Columns that the statement's text reads.
    reads: Vec<Col>,
    /// The statement has FOR UPDATE or FOR SHARE, or changes rows.
    pub locks_rows: bool,
    /// Queries around the current one whose rows are computed before others see them: those of derived tables.
    derived_depth: usize,
    /// The user variables that `INTO @a, …` of the statement fills.
    pub into: Vec<String>,
    /// Tables that subqueries in expressions read other than through derived tables.
    read_by_subqueries: Vec<TableId>,
    /// The OVER clauses of all window functions.
    overs: Vec<&'a ast::Over>,
    /// The name of the window whose definition is being bound.
    window_name: String,
}

/// A subquery evaluated once per execution.
pub(crate) struct BoundSubquery {
    pub slot: usize,
    pub kind: ScalarKind,
    pub plan: Plan,
    /// The columns it yields, in order.
    pub output: Vec<Col>,
}

#[derive(Clone)]
struct CteDefinition<'a> {
    cte: &'a ast::Cte,
    /// How many definitions were in scope where it was defined.
    visible: usize,
}

/// A bound query: its plan and its result columns.
#[derive(Debug)]
pub(crate) struct BoundQuery {
    pub plan: Plan,
    pub output: Vec<ResultColumn>,
}

/// A result column.
#[derive(Clone, Debug)]
pub(crate) struct ResultColumn {
    pub col: Col,
    pub name: String,
    /// The table column behind it, for the client's meta data.
    pub source: Option<ScopeColumn>,
}

impl<'a> Binder<'a> {
    /// A binder for one statement.
    pub fn new(cx: &'a PlanCtx<'a>) -> Self {
        let given = cx.literal_count.unwrap_or(cx.param_types.len());
        let mut values: Vec<Option<Datum>> = vec![None; given];
        if cx.literal_count.is_none() {
            for (slot, value) in cx.param_values.iter().enumerate().take(given) {
                values[slot] = Some(value.clone());
            }
        }
        Self {
            cx,
            columns: Columns::default(),
            frames: vec![],
            ctes: vec![],
            slots: given,
            params: vec![None; given],
            values,
            subqueries: vec![],
            cacheable: true,
            waits: std::cell::Cell::new(false),
            integer_type: FieldType::bigint().with_not_null(),
            text_type: FieldType::varchar(0).with_collation(cx.eval.collation_connection).with_not_null(),
            tables: vec![],
            reads: vec![],
            locks_rows: false,
            derived_depth: 0,
            into: vec![],
            read_by_subqueries: vec![],
            overs: vec![],
            window_name: String::new(),
        }
    }

    /// What expressions are built with.
    pub fn build(&self) -> BuildCtx<'a> {
        BuildCtx::new(self.cx.eval)
    }

    /// A new parameter slot, filled by the executor.
    pub fn take_slot(&mut self) -> usize {
        self.slots += 1;
        self.values.push(None);
        self.slots - 1
    }

    /// The table a name means, and the database it is in.
    pub fn lookup_table(&self, name: &ast::TableName) -> Result<(String, Arc<TableInfo>)> {
        let database = match (&name.schema, self.cx.database) {
            (Some(schema), _) => schema.as_str(),
            (None, Some(database)) => database,
            (None, None) => return Err(Error::NoDatabase),
        };
        if name.name.is_empty() {
            return Err(Error::EmptyTableName);
        }
        if let Some(gate) = self.cx.gate {
            gate.admit(database, &name.name).map_err(Error::Mysql)?;
        }
        if let Some(table) = self.cx.infoschema.table(database, &name.name) {
            return Ok((table.database.clone(), table));
        }
        if self.cx.infoschema.database(database).is_none() {
            return Err(Error::UnknownDatabase { database: database.to_owned() });
        }
        Err(Error::NoSuchTable { database: database.to_owned(), table: name.name.as_str().to_owned() })
    }

    /// Fails when a subquery reads a table that the statement changes.
    pub fn check_not_read(&self, table: &TableInfo, name: &str) -> Result<()> {
        match self.read_by_subqueries.contains(&table.id) {
            true => Err(Error::TargetIsRead { table: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// Notes that the statement does something to a table.
    pub fn touch(&mut self, table: &TableInfo, access: TableAccess) {
        self.touch_columns(table, access, []);
    }

    /// Notes that the statement does something to columns of a table.
    pub fn touch_columns(&mut self, table: &TableInfo, access: TableAccess, offsets: impl IntoIterator<Item = usize>) {
        let known = self.tables.iter().position(|used| used.id == table.id && used.access == access);
        let at = known.unwrap_or_else(|| {
            let (database, name) = (table.database.clone(), table.name.clone());
            self.tables.push(TableUse { id: table.id, database, table: name, access, columns: vec![] });
            self.tables.len() - 1
        });
        let columns = &mut self.tables[at].columns;
        for offset in offsets {
            if let Err(place) = columns.binary_search(&offset) {
                columns.insert(place, offset);
            }
        }
    }

    /// Notes that the statement's text reads a column.
    pub fn note_read(&mut self, col: Col) {
        self.reads.push(col);
    }

    /// The tables the statement touches, the columns it reads among them.
    pub fn take_tables(&mut self) -> Vec<TableUse> {
        let mut reads = std::mem::take(&mut self.reads);
        reads.sort_unstable();
        reads.dedup();
        for col in reads {
            let Some(origin) = self.columns.meta(col).origin else { continue };
            let Some(table) = self.cx.infoschema.table_ref(origin.table).cloned() else { continue };
            let offset = table.columns.iter().position(|column| column.id == origin.id);
            self.touch_columns(&table, TableAccess::Select, offset);
        }
        std::mem::take(&mut self.tables)
    }

    /// Puts the joins that subqueries in the last expressions asked for over `plan`.
    pub fn attach_pending(&mut self, mut plan: Plan) -> Plan {
        for pending in std::mem::take(&mut self.frame().pending) {
            plan = Plan::Join(Box::new(Join {
                kind: pending.kind,
                left: plan,
                right: pending.plan,
                conditions: pending.conditions,
                in_conditions: pending.in_conditions,
                mark: pending.mark,
                apply: pending.apply,
                bindings: pending.bindings,
                straight: false,
            }));
        }
        plan
    }

    /// The result's columns as the client sees them.
    pub fn output_columns(&self, output: &[ResultColumn]) -> Vec<OutputColumn> {
        let describe = |column: &ResultColumn| {
            let ty = self.columns.meta(column.col).ty.clone();
            let (org_name, table, org_table, database) = match &column.source {
                Some(source) => (source.org_name.clone(), source.table.clone(), source.org_table.clone(), source.database.clone()),
                None => Default::default(),
            };
            OutputColumn { name: column.name.clone(), org_name, table, org_table, database, ty }
        };
        output.iter().map(describe).collect()
    }
}
