//! FROM: tables, derived tables, joins.

use std::sync::Arc;

use catalog::{PrimaryKey, TableInfo, TableKind};
use expr::{Expr, Op, build_op};
use parser::ast;
use types::FieldType;

use super::{
    Binder, CteDefinition, Frame, ScopeColumn,
    expression::ExprCx,
    scope::{RowTarget, same_name},
};
use crate::{
    error::{Clause, Error, Result},
    logical::{Col, Join, Origin, Path, PathHints, Plan, Scan, ScanCol, ScanSource},
    physical::{JoinKind, TableAccess},
};

/// A bound table reference: its plan and the names it offers.
pub(super) struct BoundFrom {
    pub plan: Plan,
    pub columns: Vec<ScopeColumn>,
}

/// How a base table is scanned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ScanMode {
    /// Columns in any state, as UPDATE and DELETE need them.
    pub whole_row: bool,
    /// The handle, to lock or change rows by.
    pub handle: bool,
}

impl<'a> Binder<'a> {
    /// The comma-separated references of a FROM clause; the open block sees their columns afterwards.
    pub(super) fn bind_from(&mut self, references: &'a [ast::TableRef], straight: bool, mode: ScanMode) -> Result<Plan> {
        let mut all: Option<BoundFrom> = None;
        for reference in references {
            let right = self.bind_table_ref(reference, straight, mode)?;
            all = Some(match all {
                None => right,
                Some(left) => {
                    let mut bound = self.join(JoinKind::Inner, left, right, straight)?;
                    if let Plan::Join(join) = &mut bound.plan {
                        join.conditions = vec![];
                    }
                    bound
                }
            });
        }
        let Some(all) = all else { return Ok(Plan::one_row()) };
        self.frame().columns = all.columns;
        Ok(all.plan)
    }

    pub(super) fn bind_table_ref(&mut self, reference: &'a ast::TableRef, straight: bool, mode: ScanMode) -> Result<BoundFrom> {
        match reference {
            ast::TableRef::Table(factor) => self.bind_table_factor(factor, mode),
            ast::TableRef::Derived(derived) => self.bind_derived(derived),
            ast::TableRef::Join(join) => self.bind_join(join, straight, mode),
            ast::TableRef::JsonTable(_) => Err(Error::unsupported("JSON_TABLE")),
        }
    }

    fn bind_table_factor(&mut self, factor: &'a ast::TableFactor, mode: ScanMode) -> Result<BoundFrom> {
        if !factor.partitions.is_empty() {
            return Err(Error::unsupported("PARTITION"));
        }
        if factor.name.schema.is_none()
            && let Some(position) = self.ctes.iter().rposition(|definition| same_name(&definition.cte.name, &factor.name.name))
        {
            let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
            return self.bind_cte_use(position, alias);
        }
        let (database, table) = self.lookup_table(&factor.name)?;
        // UPDATE and DELETE read of their targets what their expressions name, and of the other tables at least that there are rows.
        if !mode.handle || table.kind != TableKind::Base {
            self.touch(&table, TableAccess::Select);
        }
        let alias = factor.alias.as_ref().map_or_else(|| table.name.clone(), |alias| alias.as_str().to_owned());
        self.bind_scan(database, table, alias, &factor.index_hints, mode)
    }

    /// A table by its name alone, as `TABLE t` means it.
    pub(super) fn bind_plain_table(&mut self, name: &ast::TableName) -> Result<BoundFrom> {
        let (database, table) = self.lookup_table(name)?;
        self.touch(&table, TableAccess::Select);
        let alias = table.name.clone();
        let bound = self.bind_scan(database, table, alias, &[], ScanMode::default())?;
        bound.columns.iter().for_each(|column| self.note_read(column.col));
        Ok(bound)
    }

    fn bind_scan(
        &mut self,
        database: String,
        table: Arc<TableInfo>,
        alias: String,
        hints: &[ast::IndexHint],
        mode: ScanMode,
    ) -> Result<BoundFrom> {
        let hints = resolve_hints(&table, &alias, hints)?;
        if self.frames.len() > 1 && self.derived_depth == 0 {
            self.read_by_subqueries.push(table.id);
        }
        let read = if mode.whole_row { &table.columns[..] } else { table.public_columns() };
        let mut scan_columns = Vec::with_capacity(read.len() + 1);
        let mut columns = Vec::with_capacity(read.len());
        for column in read {
            let origin = Some(Origin { table: table.id, id: column.id });
            let col = self.columns.add(format!("{database}.{alias}.{}", column.name), column.ty.clone(), origin);
            scan_columns.push(ScanCol { col, source: ScanSource::Offset(column.offset) });
            if column.state.is_public() {
                columns.push(ScopeColumn {
                    name: column.name.clone(),
                    table: alias.clone(),
                    org_table: table.name.clone(),
                    org_name: column.name.clone(),
                    database: database.clone(),
                    col,
                    qualified_only: false,
                    hidden: column.hidden,
                });
            }
        }
        if mode.handle && table.kind == TableKind::Base {
            let row = scan_columns.iter().map(|column| column.col).collect();
            let handle = self.handle_column(&database, &alias, &table, &mut scan_columns);
            self.frame().targets.push(RowTarget { alias: alias.clone(), database, table: Arc::clone(&table), row, handle });
        }
        let plan = Plan::Scan(Box::new(Scan { table, columns: scan_columns, wanted: None, conditions: vec![], hints }));
        Ok(BoundFrom { plan, columns })
    }

    /// The column with the row's handle: the integer primary key itself, or the handle pseudo column.
    fn handle_column(&mut self, database: &str, alias: &str, table: &TableInfo, columns: &mut Vec<ScanCol>) -> Col {
        if let PrimaryKey::IntHandle { column } = table.pk
            && let Some(scanned) = columns.iter().find(|scanned| scanned.source == ScanSource::Offset(column))
        {
            return scanned.col;
        }
        let ty = match table.pk {
            PrimaryKey::Common { .. } => FieldType::blob().with_not_null(),
            _ => FieldType::bigint().with_not_null(),
        };
        let col = self.columns.add(format!("{database}.{alias}._handle"), ty, None);
        columns.push(ScanCol { col, source: ScanSource::Handle });
        col
    }

    fn bind_derived(&mut self, derived: &'a ast::DerivedTable) -> Result<BoundFrom> {
        if derived.lateral {
            return Err(Error::unsupported("LATERAL"));
        }
        let Some(alias) = &derived.alias else { return Err(Error::DerivedTableWithoutAlias) };
        self.bind_named_query(&derived.query, alias, &derived.columns)
    }

    /// A common table expression is bound anew at each use, with the definitions that were in scope where it was written.
    fn bind_cte_use(&mut self, position: usize, alias: &str) -> Result<BoundFrom> {
        let definition = self.ctes[position].clone();
        let hidden = self.ctes.split_off(definition.visible);
        let bound = self.bind_named_query(&definition.cte.query, alias, &definition.cte.columns);
        self.ctes.truncate(definition.visible);
        self.ctes.extend(hidden);
        bound
    }

    /// Brings the expressions of a WITH clause into scope; the caller takes them out with [`Self::close_ctes`].
    pub(super) fn open_ctes(&mut self, with: Option<&'a ast::With>) -> Result<usize> {
        let before = self.ctes.len();
        let Some(with) = with else { return Ok(before) };
        if with.recursive {
            return Err(Error::unsupported("WITH RECURSIVE"));
        }
        for (i, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..i].iter().any(|other| same_name(&other.name, &cte.name)) {
                return Err(Error::DuplicateAlias { alias: cte.name.as_str().to_owned() });
            }
            let visible = self.ctes.len();
            self.ctes.push(CteDefinition { cte, visible });
        }
        Ok(before)
    }

    /// Takes the expressions of a WITH clause out of scope.
    pub(super) fn close_ctes(&mut self, before: usize) {
        self.ctes.truncate(before);
    }

    /// A query under an alias. It sees the enclosing blocks' columns, but not its siblings in FROM.
    fn bind_named_query(&mut self, query: &'a ast::Query, alias: &str, names: &[ast::Ident]) -> Result<BoundFrom> {
        // References to enclosing blocks are noted in the open block's frame as well: it lies on the way.
        self.derived_depth += 1;
        let (bound, _) = self.bind_block(query)?;
        self.derived_depth -= 1;
        if !names.is_empty() && names.len() != bound.output.len() {
            return Err(Error::ColumnListMismatch);
        }
        let mut columns: Vec<ScopeColumn> = Vec::with_capacity(bound.output.len());
        for (i, output) in bound.output.iter().enumerate() {
            let name = names.get(i).map_or_else(|| output.name.clone(), |name| name.as_str().to_owned());
            if columns.iter().any(|other| same_name(&other.name, &name)) {
                return Err(Error::DuplicateColumnName { name });
            }
            columns.push(ScopeColumn {
                org_name: output.source.as_ref().map_or_else(|| name.clone(), |source| source.org_name.clone()),
                org_table: output.source.as_ref().map_or_else(String::new, |source| source.org_table.clone()),
                name,
                table: alias.to_owned(),
                database: String::new(),
                col: output.col,
                qualified_only: false,
                hidden: false,
            });
        }
        Ok(BoundFrom { plan: bound.plan, columns })
    }

    fn bind_join(&mut self, join: &'a ast::Join, straight: bool, mode: ScanMode) -> Result<BoundFrom> {
        let left = self.bind_table_ref(&join.left, straight, mode)?;
        let right = self.bind_table_ref(&join.right, straight, mode)?;
        let straight = straight || join.kind == ast::JoinKind::Straight;
        // A right join is a left join with the sides exchanged; only the order of the columns remembers it.
        let kind = if matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right) { JoinKind::LeftOuter } else { JoinKind::Inner };
        let is_right = join.kind == ast::JoinKind::Right;
        let merged = match &join.constraint {
            Some(ast::JoinConstraint::Using(names)) => names.iter().map(|name| name.as_str().to_owned()).collect(),
            _ if join.natural => common_names(&left.columns, &right.columns)?,
            _ => vec![],
        };
        let pairs = merged_pairs(&merged, &left.columns, &right.columns)?;
        let mut conditions = vec![];
        for (l, r) in &pairs {
            self.note_read(left.columns[*l].col);
            self.note_read(right.columns[*r].col);
            let args = vec![self.columns.expr(left.columns[*l].col), self.columns.expr(right.columns[*r].col)];
            conditions.push(build_op(Op::Eq, args, &self.build())?);
        }
        let mut bound = if is_right { self.join_right(left, right, straight)? } else { self.join(kind, left, right, straight)? };
        merge_columns(&mut bound.columns, &merged, is_right);
        if let Some(ast::JoinConstraint::On(on)) = &join.constraint {
            conditions.extend(self.bind_on(on, &bound.columns)?);
        }
        let pending = std::mem::take(&mut self.frame().pending);
        if !pending.is_empty() {
            return Err(Error::unsupported("subquery in ON that depends on the joined tables"));
        }
        if let Plan::Join(join) = &mut bound.plan {
            join.conditions = conditions;
        }
        Ok(bound)
    }

    /// Binds an ON condition, which sees the columns of the two joined sides only.
    fn bind_on(&mut self, on: &'a ast::Expr, columns: &[ScopeColumn]) -> Result<Vec<Expr>> {
        let frame = self.frame();
        let saved = std::mem::replace(&mut frame.columns, columns.to_vec());
        let bound = self.bind_expr(on, ExprCx::condition(Clause::On));
        self.frame().columns = saved;
        let mut conditions = vec![];
        self.as_condition(bound?)?.split_conjunction(&mut conditions);
        Ok(conditions)
    }

    fn join(&mut self, kind: JoinKind, left: BoundFrom, right: BoundFrom, straight: bool) -> Result<BoundFrom> {
        check_aliases(&left.columns, &right.columns)?;
        if kind == JoinKind::LeftOuter {
            for column in &right.columns {
                self.columns.set_nullable(column.col);
            }
        }
        let mut columns = left.columns;
        columns.extend(right.columns);
        Ok(BoundFrom { plan: plain_join(kind, left.plan, right.plan, straight), columns })
    }

    fn join_right(&mut self, left: BoundFrom, right: BoundFrom, straight: bool) -> Result<BoundFrom> {
        check_aliases(&left.columns, &right.columns)?;
        for column in &left.columns {
            self.columns.set_nullable(column.col);
        }
        let mut columns = left.columns;
        columns.extend(right.columns);
        Ok(BoundFrom { plan: plain_join(JoinKind::LeftOuter, right.plan, left.plan, straight), columns })
    }

    /// Binds a query in a block frame of its own, which is handed back with what it learned about outer columns.
    pub(crate) fn bind_block(&mut self, query: &'a ast::Query) -> Result<(super::BoundQuery, Frame)> {
        let depth = self.frames.len();
        self.frames.push(Frame::default());
        let bound = self.bind_query(query);
        let frame = self.frames.drain(depth..).next().unwrap_or_default();
        Ok((bound?, frame))
    }
}

fn plain_join(kind: JoinKind, left: Plan, right: Plan, straight: bool) -> Plan {
    Plan::Join(Box::new(Join {
        kind,
        left,
        right,
        conditions: vec![],
        in_conditions: vec![],
        mark: None,
        apply: false,
        bindings: vec![],
        straight,
    }))
}

fn check_aliases(left: &[ScopeColumn], right: &[ScopeColumn]) -> Result<()> {
    let mut last = None;
    for column in right {
        if last == Some((&column.table, &column.database)) {
            continue;
        }
        last = Some((&column.table, &column.database));
        let same = |other: &&ScopeColumn| same_name(&other.table, &column.table) && same_name(&other.database, &column.database);
        if left.iter().any(|other| same(&other)) {
            return Err(Error::DuplicateAlias { alias: column.table.clone() });
        }
    }
    Ok(())
}

/// The names both sides of a NATURAL join have, in the left side's order.
fn common_names(left: &[ScopeColumn], right: &[ScopeColumn]) -> Result<Vec<String>> {
    let mut names: Vec<String> = vec![];
    for column in left.iter().filter(|column| !column.qualified_only && !column.hidden) {
        if right.iter().any(|other| !other.qualified_only && !other.hidden && same_name(&other.name, &column.name)) {
            if names.iter().any(|name| same_name(name, &column.name)) {
                return Err(Error::AmbiguousColumn { name: column.name.clone(), clause: Clause::From });
            }
            names.push(column.name.clone());
        }
    }
    Ok(names)
}

/// Positions of the merged columns on both sides.
fn merged_pairs(names: &[String], left: &[ScopeColumn], right: &[ScopeColumn]) -> Result<Vec<(usize, usize)>> {
    let find = |columns: &[ScopeColumn], name: &str| {
        let mut matching = columns.iter().enumerate().filter(|(_, column)| !column.qualified_only && same_name(&column.name, name));
        let first = matching.next().ok_or_else(|| Error::UnknownColumn { name: name.to_owned(), clause: Clause::From })?;
        match matching.next() {
            Some(_) => Err(Error::AmbiguousColumn { name: name.to_owned(), clause: Clause::From }),
            None => Ok(first.0),
        }
    };
    names.iter().map(|name| Ok((find(left, name)?, find(right, name)?))).collect()
}

/// Puts merged columns first and leaves their twins visible by qualified names only. The preserved side of an outer join gives the value.
fn merge_columns(columns: &mut Vec<ScopeColumn>, names: &[String], right_is_preserved: bool) {
    let mut merged = vec![];
    for name in names {
        let mut twins: Vec<usize> =
            columns.iter().enumerate().filter(|(_, c)| !c.qualified_only && same_name(&c.name, name)).map(|(i, _)| i).collect();
        if right_is_preserved {
            twins.reverse();
        }
        let [kept, other] = twins[..] else { continue };
        merged.push(columns[kept].clone());
        // The kept column stays reachable as `table.column` too, which the merged entry answers.
        columns[other].qualified_only = true;
        columns.remove(kept);
    }
    columns.splice(0..0, merged);
}

fn resolve_hints(table: &TableInfo, alias: &str, hints: &[ast::IndexHint]) -> Result<PathHints> {
    let mut resolved = PathHints::default();
    let has = |kind| hints.iter().any(|hint| hint.kind == kind);
    if has(ast::IndexHintKind::Use) && has(ast::IndexHintKind::Force) {
        return Err(Error::WrongUsage { first: "USE INDEX", second: "FORCE INDEX" });
    }
    for hint in hints {
        let mut paths = vec![];
        for name in &hint.indexes {
            let path = if same_name(name, "PRIMARY") && table.has_primary_key() {
                Path::Primary
            } else {
                let found = table.public_indexes().find(|(_, index)| same_name(&index.name, name) && !index.invisible);
                let (offset, _) = found.ok_or_else(|| Error::UnknownIndex { index: name.as_str().to_owned(), table: alias.to_owned() })?;
                Path::Index(offset)
            };
            paths.push(path);
        }
        // Hints for ORDER BY and GROUP BY alone do not restrict how rows are found.
        if matches!(hint.scope, Some(ast::IndexHintScope::OrderBy | ast::IndexHintScope::GroupBy)) {
            continue;
        }
        match hint.kind {
            ast::IndexHintKind::Ignore => resolved.ignored.extend(paths),
            kind => {
                resolved.only.get_or_insert_default().extend(paths);
                resolved.force |= kind == ast::IndexHintKind::Force;
            }
        }
    }
    Ok(resolved)
}
