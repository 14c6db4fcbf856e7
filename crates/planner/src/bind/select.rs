//! SELECT: from the clauses of a block to operators.
//!
//! ```text
//! FROM ─ WHERE ─ [lock] ─ [aggregation ─ HAVING] ─ [windows] ─ select list ─ [DISTINCT] ─ ORDER BY ─ LIMIT
//! ```
//!
//! The clauses are bound in the order in which their names become visible: FROM, WHERE, the select list (whose aliases GROUP BY, HAVING
//! and ORDER BY may use), GROUP BY, HAVING, ORDER BY. Aggregate functions met on the way are collected in the block's frame; when there
//! are any, `grouping` rewrites the bound expressions to refer to the aggregation's output. Window functions are collected likewise; the
//! windows they name are bound last (`window`).

use copr::{RowLimit, SortKey};
use expr::Expr;
use parser::ast;

use super::{
    Aliases, Binder, BoundQuery, ResultColumn, ScopeColumn,
    expression::{ExprCx, Windows},
    from::ScanMode,
    grouping::Clauses,
    scope::same_name,
};
use crate::{
    error::{Clause, Error, Result},
    logical::{Aggregate, Col, Limit, Lock, Plan, Project, Sort, Values},
    physical::{LockWait, RowLock},
};

/// An entry of the select list after `*` is expanded.
#[derive(Debug)]
pub(super) struct Item {
    pub expr: Expr,
    pub name: String,
    pub source: Option<ScopeColumn>,
}

/// A bound ORDER BY or GROUP BY entry.
#[derive(Debug)]
pub(super) struct OrderKey {
    pub expr: Expr,
    pub desc: bool,
}

impl<'a> Binder<'a> {
    /// A query in the open frame.
    pub(super) fn bind_query(&mut self, query: &'a ast::Query) -> Result<BoundQuery> {
        match &query.into {
            None => {}
            Some(ast::IntoClause::Vars(_)) if self.frames.len() == 1 && !self.into.is_empty() => {}
            Some(ast::IntoClause::Vars(_)) => return Err(Error::MisplacedInto),
            Some(_) => return Err(Error::unsupported("SELECT ... INTO OUTFILE and DUMPFILE")),
        }
        let ctes = self.open_ctes(query.with.as_ref())?;
        let bound = match &query.body {
            ast::QueryBody::Select(select) => self.bind_select(select, &query.order_by, query.limit.as_ref(), &query.locks),
            ast::QueryBody::SetOpr(operation) => self.bind_set_operation(operation, query),
            body => {
                let bound = self.bind_body(body)?;
                self.order_and_limit(bound, query)
            }
        };
        self.close_ctes(ctes);
        bound
    }

    /// A query body without the clauses around it.
    pub(super) fn bind_body(&mut self, body: &'a ast::QueryBody) -> Result<BoundQuery> {
        match body {
            ast::QueryBody::Select(select) => self.bind_select(select, &[], None, &[]),
            ast::QueryBody::SetOpr(operation) => self.bind_operation(operation),
            ast::QueryBody::Values(rows) => self.bind_values_query(rows),
            ast::QueryBody::Table(name) => self.bind_table_query(name),
            ast::QueryBody::Query(inner) => self.bind_block(inner).map(|(bound, _)| bound),
        }
    }

    fn bind_select(
        &mut self,
        select: &'a ast::SelectStmt,
        order_by: &'a [ast::OrderItem],
        limit: Option<&'a ast::Limit>,
        locks: &'a [ast::LockClause],
    ) -> Result<BoundQuery> {
        refuse_unsupported(select)?;
        let lock = row_lock(locks)?;
        let mode = ScanMode { whole_row: false, handle: lock.is_some() };
        let mut plan = self.bind_from(&select.from, select.options.straight_join, mode)?;
        if let Some(condition) = &select.where_clause {
            plan = self.bind_where(plan, condition)?;
        }
        if let Some(lock) = lock {
            plan = self.bind_lock(plan, lock, locks)?;
        }

        self.frame().rollup = select.rollup;
        let mut items = self.bind_items(select)?;
        self.frame().aliases = items.iter().map(|item| (item.name.clone(), item.expr.clone())).collect();
        let group = self.bind_order_items(&select.group_by, &items, Clause::GroupBy)?;
        let mut having = vec![];
        if let Some(condition) = &select.having {
            let cx = ExprCx::condition(Clause::Having).with_aggregates(Aliases::First);
            let bound = self.bind_expr(condition, cx)?;
            self.as_condition(bound)?.split_conjunction(&mut having);
        }
        let mut order = self.bind_order_items(order_by, &items, Clause::OrderBy)?;
        let mut windows = self.bind_windows(&select.windows)?;

        for pending in std::mem::take(&mut self.frame().before_aggregation) {
            let later = std::mem::replace(&mut self.frame().pending, vec![pending]);
            plan = self.attach_pending(plan);
            self.frame().pending = later;
        }
        if !group.is_empty() || !self.frame().aggs.is_empty() {
            let clauses = Clauses { items: &mut items, having: &mut having, order: &mut order, windows: &mut windows };
            plan = self.aggregate(plan, group, clauses)?;
        }
        plan = self.attach_pending(plan).filtered(having);
        plan = self.with_windows(plan, windows);
        let bound = self.project(plan, items, order, select.options.distinct)?;
        self.limit_query(bound, limit)
    }

    /// Filters by a WHERE condition; subqueries in it become joins below the filter.
    pub(super) fn bind_where(&mut self, plan: Plan, condition: &'a ast::Expr) -> Result<Plan> {
        let conditions = self.bind_condition(condition, ExprCx::condition(Clause::Where))?;
        Ok(self.attach_pending(plan).filtered(conditions))
    }

    /// The select list with wildcards expanded.
    fn bind_items(&mut self, select: &'a ast::SelectStmt) -> Result<Vec<Item>> {
        let mut items = vec![];
        for item in &select.items {
            match item {
                ast::SelectItem::Wildcard => {
                    if select.from.is_empty() {
                        return Err(Error::NoTablesUsed);
                    }
                    let columns: Vec<_> = self.frame().columns.iter().filter(|c| !c.qualified_only && !c.hidden).cloned().collect();
                    items.extend(columns.into_iter().map(|column| self.column_item(column)));
                }
                ast::SelectItem::TableWildcard(name) => items.extend(self.expand_table_wildcard(name)?),
                ast::SelectItem::Expr { expr, .. } => {
                    let bound = self.bind_expr(expr, ExprCx::select_list())?;
                    let source = match expr {
                        ast::Expr::Column(wanted) => self.frame().find(wanted, Clause::FieldList)?.cloned(),
                        _ => None,
                    };
                    let name = item.name().map(|name| name.into_owned()).unwrap_or_default();
                    items.push(Item { expr: bound, name, source });
                }
            }
        }
        Ok(items)
    }

    fn column_item(&mut self, column: ScopeColumn) -> Item {
        self.note_read(column.col);
        Item { expr: self.columns.expr(column.col), name: column.name.clone(), source: Some(column) }
    }

    fn expand_table_wildcard(&mut self, name: &ast::TableName) -> Result<Vec<Item>> {
        let wanted = |column: &&ScopeColumn| {
            same_name(&column.table, &name.name) && name.schema.as_ref().is_none_or(|schema| same_name(&column.database, schema))
        };
        let mut columns: Vec<ScopeColumn> = self.frame().columns.iter().filter(wanted).filter(|column| !column.hidden).cloned().collect();
        if columns.is_empty() {
            return Err(Error::UnknownTable { table: name.name.as_str().to_owned() });
        }
        // USING moves columns about; `t.*` shows them in the table's own order.
        columns.sort_by_key(|column| column.col);
        Ok(columns.into_iter().map(|column| self.column_item(column)).collect())
    }

    /// The entries of ORDER BY or GROUP BY: positions, aliases, expressions.
    fn bind_order_items(&mut self, entries: &'a [ast::OrderItem], items: &[Item], clause: Clause) -> Result<Vec<OrderKey>> {
        let mut keys = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Some(position) = literal_position(&entry.expr) {
                self.cacheable &= self.cx.literal_count.is_none();
                let item = usize::try_from(position).ok().and_then(|position| items.get(position.checked_sub(1)?));
                let item = item.ok_or_else(|| Error::UnknownColumn { name: position.to_string(), clause })?;
                if clause == Clause::GroupBy && self.refers_to_aggregate(&item.expr) {
                    return Err(Error::CannotGroupOn { name: item.name.clone() });
                }
                keys.push(OrderKey { expr: item.expr.clone(), desc: entry.desc });
                continue;
            }
            let cx = match clause {
                Clause::GroupBy => ExprCx::plain(clause).with_aliases(Aliases::Last),
                _ if matches!(entry.expr, ast::Expr::Column(_)) => ExprCx::plain(clause).with_aggregates(Aliases::First),
                _ => ExprCx::plain(clause).with_aggregates(Aliases::Last),
            };
            let cx = if clause == Clause::OrderBy { cx.with_windows(Windows::Allowed) } else { cx };
            let expr = self.bind_expr(&entry.expr, cx)?;
            if clause == Clause::GroupBy && self.refers_to_aggregate(&expr) {
                let name = match &entry.expr {
                    ast::Expr::Column(column) => column.name.as_str().to_owned(),
                    other => other.to_string(),
                };
                return Err(Error::CannotGroupOn { name });
            }
            keys.push(OrderKey { expr, desc: entry.desc });
        }
        Ok(keys)
    }

    fn refers_to_aggregate(&mut self, expr: &Expr) -> bool {
        let used = crate::logical::columns_of(expr);
        let frame = self.frame();
        let aggs = frame.aggs.iter().map(|(col, _)| col).chain(frame.groupings.iter().map(|(col, _)| col));
        aggs.chain(frame.windows.iter().map(|call| &call.col)).any(|col| used.contains(col))
    }

    /// The select list, DISTINCT and ORDER BY over the block's rows.
    fn project(&mut self, plan: Plan, items: Vec<Item>, order: Vec<OrderKey>, distinct: bool) -> Result<BoundQuery> {
        let mut exprs: Vec<(Col, Expr)> = vec![];
        let mut output = Vec::with_capacity(items.len());
        for item in items {
            let col = self.add_projected(&mut exprs, item.expr);
            output.push(ResultColumn { col, name: item.name, source: item.source });
        }
        let listed = exprs.len();
        let mut by: Vec<SortKey> = vec![];
        for (i, key) in order.into_iter().enumerate() {
            if key.expr.is_constant() {
                continue;
            }
            let col = self.add_projected(&mut exprs, key.expr);
            if distinct && exprs.len() > listed {
                let column = self.columns.meta(col).name.to_string();
                return Err(Error::OrderByNotInDistinctList { position: i + 1, column });
            }
            let expr = self.columns.expr(col);
            if !by.iter().any(|other| other.expr == expr) {
                by.push(SortKey { expr, desc: key.desc });
            }
        }
        let mut plan = Plan::Project(Project { child: Box::new(plan), exprs });
        if distinct {
            plan = self.distinct(plan, &output);
        }
        if !by.is_empty() {
            plan = Plan::Sort(Sort { child: Box::new(plan), by });
        }
        Ok(BoundQuery { plan, output })
    }

    /// The projected column for an expression: the one that is there already, the column itself, or a new one.
    fn add_projected(&mut self, exprs: &mut Vec<(Col, Expr)>, expr: Expr) -> Col {
        if expr.is_deterministic()
            && let Some((col, _)) = exprs.iter().find(|(_, other)| *other == expr && other.field_type() == expr.field_type())
        {
            return *col;
        }
        let col = match expr.as_column() {
            Some(col) => col,
            None => self.columns.add_computed(expr.field_type().clone()),
        };
        exprs.push((col, expr));
        col
    }

    /// One row for each distinct combination of the output columns.
    pub(super) fn distinct(&mut self, plan: Plan, output: &[ResultColumn]) -> Plan {
        let mut group_by: Vec<(Col, Expr)> = vec![];
        for column in output {
            if !group_by.iter().any(|(col, _)| *col == column.col) {
                group_by.push((column.col, self.columns.expr(column.col)));
            }
        }
        Plan::Aggregate(Aggregate { child: Box::new(plan), group_by, aggs: vec![], rollup: None })
    }

    /// ORDER BY and LIMIT of a query whose body is not a SELECT: names are result columns.
    pub(super) fn order_and_limit(&mut self, bound: BoundQuery, query: &'a ast::Query) -> Result<BoundQuery> {
        let BoundQuery { mut plan, output } = bound;
        if row_lock(&query.locks)?.is_some() && !matches!(query.body, ast::QueryBody::Query(_)) {
            return Err(Error::unsupported("locking clause on a set operation"));
        }
        if !query.order_by.is_empty() {
            if matches!(query.body, ast::QueryBody::SetOpr(_)) {
                refuse_qualified(&query.order_by)?;
            }
            self.frame().columns = output.iter().map(output_scope).collect();
            let items: Vec<Item> =
                output.iter().map(|column| Item { expr: self.columns.expr(column.col), name: column.name.clone(), source: None }).collect();
            let keys = self.bind_order_items(&query.order_by, &items, Clause::OrderBy)?;
            if !self.frame().aggs.is_empty() {
                return Err(Error::InvalidGroupFunction);
            }
            if let Some(call) = self.frame().windows.first() {
                return Err(Error::MisplacedWindowFunction { function: call.func.name() });
            }
            let mut exprs: Vec<(Col, Expr)> = output.iter().map(|column| (column.col, self.columns.expr(column.col))).collect();
            exprs.dedup_by_key(|(col, _)| *col);
            let mut by = vec![];
            for key in keys.into_iter().filter(|key| !key.expr.is_constant()) {
                let col = self.add_projected(&mut exprs, key.expr);
                by.push(SortKey { expr: self.columns.expr(col), desc: key.desc });
            }
            plan = self.attach_pending(plan);
            plan = Plan::Project(Project { child: Box::new(plan), exprs });
            plan = Plan::Sort(Sort { child: Box::new(plan), by });
        }
        self.limit_query(BoundQuery { plan, output }, query.limit.as_ref())
    }

    fn limit_query(&mut self, mut bound: BoundQuery, limit: Option<&'a ast::Limit>) -> Result<BoundQuery> {
        if let Some(limit) = limit {
            let limit = self.bind_limit(limit)?;
            bound.plan = Plan::Limit(Limit { child: Box::new(bound.plan), limit });
        }
        Ok(bound)
    }

    /// LIMIT: constants that the executor evaluates.
    pub(super) fn bind_limit(&mut self, limit: &'a ast::Limit) -> Result<RowLimit> {
        let offset = limit.offset.as_ref().map(|offset| self.bind_row_count(offset)).transpose()?;
        Ok(RowLimit { offset, count: self.bind_row_count(&limit.count)? })
    }

    /// `DO expr, …`: one row whose values nobody reads.
    pub(crate) fn bind_do(&mut self, exprs: &'a [ast::Expr]) -> Result<BoundQuery> {
        self.frames.push(super::Frame::default());
        let mut items = vec![];
        for expr in exprs {
            let bound = self.bind_expr(expr, ExprCx::plain(Clause::FieldList))?;
            items.push(Item { expr: self.as_condition(bound)?, name: expr.to_string(), source: None });
        }
        let plan = self.attach_pending(Plan::one_row());
        let bound = self.project(plan, items, vec![], false);
        self.frames.pop();
        bound
    }

    fn bind_table_query(&mut self, name: &'a ast::TableName) -> Result<BoundQuery> {
        let from = self.bind_plain_table(name)?;
        let shown = from.columns.into_iter().filter(|column| !column.hidden);
        let output = shown.map(|column| ResultColumn { col: column.col, name: column.name.clone(), source: Some(column) }).collect();
        Ok(BoundQuery { plan: from.plan, output })
    }

    fn bind_values_query(&mut self, rows: &'a [Vec<ast::Expr>]) -> Result<BoundQuery> {
        let mut bound: Vec<Vec<Expr>> = vec![];
        for row in rows {
            let row = row.iter().map(|value| self.bind_expr(value, ExprCx::plain(Clause::FieldList))).collect::<Result<Vec<_>>>()?;
            if bound.first().is_some_and(|first| first.len() != row.len()) {
                return Err(Error::ValueCount { row: bound.len() + 1 });
            }
            bound.push(row);
        }
        let types = self.common_types(&mut bound)?;
        let columns: Vec<Col> = types.into_iter().map(|ty| self.columns.add_computed(ty)).collect();
        let output =
            columns.iter().enumerate().map(|(i, col)| ResultColumn { col: *col, name: format!("column_{i}"), source: None }).collect();
        Ok(BoundQuery { plan: Plan::Values(Values { columns, rows: bound }), output })
    }

    fn bind_lock(&mut self, plan: Plan, lock: RowLock, clauses: &[ast::LockClause]) -> Result<Plan> {
        self.locks_rows = true;
        let wanted: Vec<&ast::TableName> = clauses.iter().flat_map(|clause| &clause.of).collect();
        let targets = &self.frame().targets;
        for name in &wanted {
            if !targets.iter().any(|target| same_name(&target.alias, &name.name)) {
                return Err(Error::UnresolvedLockTable { table: name.name.as_str().to_owned() });
            }
        }
        let is_wanted = |alias: &str| wanted.is_empty() || wanted.iter().any(|name| same_name(alias, &name.name));
        let targets: Vec<_> =
            targets.iter().filter(|target| is_wanted(&target.alias)).map(|target| (target.table.clone(), target.handle)).collect();
        if targets.is_empty() {
            return Ok(plan);
        }
        Ok(Plan::Lock(Lock { child: Box::new(plan), lock, targets }))
    }
}

fn refuse_unsupported(select: &ast::SelectStmt) -> Result<()> {
    if select.options.sql_calc_found_rows {
        return Err(Error::unsupported("SQL_CALC_FOUND_ROWS"));
    }
    Ok(())
}

/// The lock that a query's locking clauses ask for. Several clauses of different strength are not supported.
fn row_lock(clauses: &[ast::LockClause]) -> Result<Option<RowLock>> {
    let Some(first) = clauses.first() else { return Ok(None) };
    if clauses.iter().any(|other| other.strength != first.strength || other.wait != first.wait) {
        return Err(Error::unsupported("different locking clauses in one query"));
    }
    let wait = match first.wait {
        ast::LockWait::Wait => LockWait::Default,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::SkipLocked => LockWait::SkipLocked,
    };
    Ok(Some(RowLock { shared: first.strength == ast::LockStrength::Share, wait, for_write: false }))
}

/// ORDER BY of a set operation sees the result's columns only.
fn refuse_qualified(order_by: &[ast::OrderItem]) -> Result<()> {
    for entry in order_by {
        if let ast::Expr::Column(column) = &entry.expr
            && let Some(table) = &column.table
        {
            return Err(Error::TableInGlobalOrder { table: table.as_str().to_owned() });
        }
    }
    Ok(())
}

pub(super) fn literal_position(expr: &ast::Expr) -> Option<i64> {
    match expr {
        ast::Expr::Literal(ast::Literal::Int(position), _) => Some(*position),
        _ => None,
    }
}

fn output_scope(column: &ResultColumn) -> ScopeColumn {
    ScopeColumn {
        name: column.name.clone(),
        table: column.source.as_ref().map_or_else(String::new, |source| source.table.clone()),
        org_table: String::new(),
        org_name: String::new(),
        database: String::new(),
        col: column.col,
        qualified_only: false,
        hidden: false,
    }
}
