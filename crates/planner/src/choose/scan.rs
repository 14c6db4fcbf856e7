//! Access paths: how the rows of one table are read.
//!
//! | path | when |
//! |---|---|
//! | point get, batch point get | all columns of the primary key or of a unique index are equal to constants |
//! | table reader | ranges of the primary key, or all rows |
//! | index reader | an index that holds every column read |
//! | index lookup | an index, then the rows |
//!
//! Every path that hints and rules allow is built and priced, with the sort it needs for the wanted order; the cheapest wins.

use std::sync::Arc;

use catalog::{PrimaryKey, TableKind};
use copr::{DagPlan, HANDLE_COLUMN, ScanColumn, ScanSpec, TableScan};
use expr::Expr;
use stats::TableStats;
use types::{Datum, FieldType};

use super::path::{handle_kind, index_scan, is_covering, is_in_index, key_of, key_order, target_of};
use super::{Chooser, OrderColumn, Physical, Want, columns_of_all, cost};
use crate::{
    logical::{Col, Path, Scan, ScanCol, ScanSource},
    physical::{self, CopTask, Op, PointKey},
    range::{
        Access, RangeBuilder,
        detach::{Detached, KeyColumn, detach, fixed_value},
    },
    rules::Rule,
};

/// One way to read a table, before it is built.
struct Candidate {
    path: Path,
    /// The columns of its key.
    key: Vec<KeyColumn>,
    detached: Detached,
    builder: RangeBuilder,
    /// How many keys its ranges hold.
    rows: f64,
}

/// A reader for the inner side of an index join.
pub(super) struct Lookup {
    pub reader: Physical,
    /// The outer expressions for the first key columns.
    pub keys: Vec<Expr>,
    pub cost_per_row: f64,
}

impl Chooser<'_> {
    pub(super) fn choose_scan(&self, scan: &Scan, want: &Want) -> Physical {
        if scan.table.kind == TableKind::Virtual {
            let chosen = self.mem_table(scan);
            return self.sorted(chosen, want);
        }
        let (path, chosen) = self.cheapest_path(scan, want);
        if scan.conditions.iter().any(Expr::has_params) && !matches!(chosen.node.op, Op::PointGet(_) | Op::BatchPointGet(_)) {
            let (generic, _) = self.estimator.blindly(|| self.cheapest_path(scan, want));
            if generic != path {
                self.value_dependent.set(true);
            }
        }
        chosen
    }

    fn cheapest_path(&self, scan: &Scan, want: &Want) -> (Path, Physical) {
        let stats = self.estimator.stats(scan);
        let mut best: Option<(Path, Physical)> = None;
        for path in self.paths(scan) {
            let candidate = self.candidate(scan, &stats, path, &scan.conditions);
            for chosen in self.build_candidate(scan, &stats, &candidate, want) {
                if best.as_ref().is_none_or(|(_, best)| chosen.cost() < best.cost()) {
                    best = Some((path, chosen));
                }
            }
        }
        best.expect("the primary path is always a candidate")
    }

    /// The paths that hints and rules leave.
    fn paths(&self, scan: &Scan) -> Vec<Path> {
        let mut paths = vec![];
        if self.is_on(Rule::IndexAccess) || scan.hints.only.is_some() {
            paths.extend(
                scan.table
                    .public_indexes()
                    .filter(|(_, index)| index.has_entries() && !index.invisible)
                    .map(|(offset, _)| Path::Index(offset)),
            );
        }
        if let Some(only) = &scan.hints.only {
            paths.retain(|path| only.contains(path));
        }
        paths.retain(|path| !scan.hints.ignored.contains(path));
        paths.push(Path::Primary);
        paths
    }

    fn candidate(&self, scan: &Scan, stats: &TableStats, path: Path, conditions: &[Expr]) -> Candidate {
        let (key, space) = key_of(scan, path);
        // Conditions without columns decide for all rows at once.
        let (gates, conditions): (Vec<Expr>, Vec<Expr>) = conditions.iter().cloned().partition(Expr::is_constant);
        let detached = detach(&conditions, &key);
        let builder = RangeBuilder::new(scan.table.id, space, detached.access.clone(), detached.used.clone()).with_gates(gates);
        let unique = self.is_unique(scan, path) && detached.exact && detached.equal_columns == key.len();
        let rows = if unique {
            1.0
        } else {
            let target = target_of(scan, path, &detached);
            self.estimator.access_rows(stats, &builder, &detached.used, target, detached.equal_columns)
        };
        Candidate { path, key, detached, builder, rows }
    }

    fn is_unique(&self, scan: &Scan, path: Path) -> bool {
        match path {
            Path::Primary => scan.table.has_primary_key(),
            Path::Index(offset) => scan.table.indexes[offset].unique,
        }
    }

    /// The physical forms of one path: unordered, and in key order when that is what is wanted.
    fn build_candidate(&self, scan: &Scan, stats: &TableStats, candidate: &Candidate, want: &Want) -> Vec<Physical> {
        if let Some(points) = self.point_gets(scan, candidate, want) {
            return vec![points];
        }
        let mut built = vec![];
        let order = key_order(scan, candidate.path);
        let constant = constant_columns(candidate);
        for desc in [false, true] {
            let probe = Order { columns: &order, constant: &constant, desc };
            let keeps = !want.order.is_empty() && self.is_on(Rule::OrderedScan) && probe.provides(&want.order);
            if keeps {
                let limit = want.limit;
                built.push(self.reader(scan, stats, candidate, desc, true, limit));
            }
        }
        let limit = if want.order.is_empty() { want.limit } else { None };
        let unordered = self.reader(scan, stats, candidate, false, false, limit);
        built.push(self.sorted(unordered, want));
        built
    }

    /// A point get, when the conditions fix all columns of a unique key.
    fn point_gets(&self, scan: &Scan, candidate: &Candidate, want: &Want) -> Option<Physical> {
        if !self.is_on(Rule::PointGet) || !self.is_unique(scan, candidate.path) {
            return None;
        }
        let points = candidate.detached.points(candidate.key.len())?;
        let index = match candidate.path {
            Path::Primary => None,
            Path::Index(offset) => Some(offset),
        };
        let read = read_columns(scan, &candidate.detached.rest);
        let (columns, scanned) = scan_columns(scan, &read);
        let filters = resolve_all(&candidate.detached.rest, &columns);
        let output: Vec<FieldType> = scanned.iter().map(|column| column.ty.clone()).collect();
        let table = Arc::clone(&scan.table);
        let builder = candidate.builder.clone();
        let lookups = if index.is_some() { 2.0 } else { 1.0 };
        let rows = points.len() as f64;
        let cost = rows * lookups * cost::LOOKUP * 0.8;
        let constant = constant_columns(candidate);
        let order = key_order(scan, candidate.path);
        if let [_] = &points[..] {
            let key = PointKey { values: points.into_iter().next().unwrap_or_default(), builder };
            let get = physical::PointGet { table, index, key, columns: scanned, filters, lock: None };
            let node = self.node(Op::PointGet(get), output, 1.0, cost);
            let constant = columns.clone();
            return Some(Physical { node, columns, order: vec![], constant });
        }
        let keeps = |desc: bool| !want.order.is_empty() && Order { columns: &order, constant: &constant, desc }.provides(&want.order);
        let (keep_order, desc) = (keeps(false) || keeps(true), !keeps(false) && keeps(true));
        let get = physical::BatchPointGet { table, index, keys: points, builder, columns: scanned, filters, lock: None, keep_order, desc };
        let cost = cost + if keep_order { cost::sort(rows) } else { 0.0 };
        let node = self.node(Op::BatchPointGet(get), output, rows, cost);
        let order = if keep_order { order.iter().map(|(col, part)| (*col, *part != desc)).collect() } else { vec![] };
        let chosen = Physical { node, columns, order, constant };
        Some(self.sorted(chosen, want))
    }

    /// A range reader of any kind.
    fn reader(&self, scan: &Scan, stats: &TableStats, candidate: &Candidate, desc: bool, keep_order: bool, limit: Option<f64>) -> Physical {
        let rest = &candidate.detached.rest;
        let selectivity = self.estimator.scan_selectivity(scan, stats, rest);
        let found = (candidate.rows * selectivity).max(if candidate.rows == 0.0 { 0.0 } else { 1.0 });
        let read = read_columns(scan, rest);
        let mut shape = ReaderShape { desc, keep_order, scanned: candidate.rows, found, conditions: rest.clone() };
        let mut chosen = match candidate.path {
            Path::Primary => self.table_reader(scan, candidate, &read, shape),
            Path::Index(offset) if is_covering(scan, offset, &read) => self.index_reader(scan, candidate, offset, &read, shape),
            Path::Index(offset) => {
                shape.keep_order = keep_order;
                self.index_lookup(scan, candidate, offset, &read, shape)
            }
        };
        if let Some(limit) = limit {
            // A limit above stops the scan when it has seen enough.
            let share = (limit / found.max(1.0)).clamp(0.0, 1.0);
            chosen.node.cost = cost::SEEK + (chosen.node.cost - cost::SEEK).max(0.0) * share;
        }
        if candidate.path == Path::Primary
            && scan.hints.force
            && scan.hints.only.as_ref().is_some_and(|only| !only.contains(&Path::Primary))
        {
            chosen.node.cost += cost::FORCED_AWAY;
        }
        if keep_order {
            chosen.order = key_order(scan, candidate.path).into_iter().map(|(col, part)| (col, part != desc)).collect();
        }
        chosen.constant = constant_columns(candidate);
        chosen
    }

    fn table_reader(&self, scan: &Scan, candidate: &Candidate, read: &[ScanCol], shape: ReaderShape) -> Physical {
        let (columns, scanned) = scan_columns(scan, read);
        let spec = ScanSpec::Table(TableScan { table: scan.table.id, columns: scanned, handle: handle_kind(scan) });
        let dag = dag_of(spec, resolve_all(&shape.conditions, &columns));
        let cost = shape.cost(cost::TABLE_ROW * row_weight(&columns));
        let tasks = self.scan_tasks(&dag, &shape);
        let output = dag.output.clone();
        let reader = physical::TableReader {
            table: Arc::clone(&scan.table),
            dag: Arc::new(dag),
            tasks,
            ranges: candidate.builder.clone(),
            desc: shape.desc,
            keep_order: shape.keep_order,
        };
        let node = self.node(Op::TableReader(reader), output, shape.found, cost);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    fn index_reader(&self, scan: &Scan, candidate: &Candidate, index: usize, read: &[ScanCol], shape: ReaderShape) -> Physical {
        let (columns, scanned) = scan_columns(scan, read);
        let spec = ScanSpec::Index(index_scan(scan, index, scanned));
        let dag = dag_of(spec, resolve_all(&shape.conditions, &columns));
        let cost = shape.cost(cost::INDEX_ROW * row_weight(&columns));
        let tasks = self.scan_tasks(&dag, &shape);
        let output = dag.output.clone();
        let reader = physical::IndexReader {
            table: Arc::clone(&scan.table),
            index,
            dag: Arc::new(dag),
            tasks,
            ranges: candidate.builder.clone(),
            desc: shape.desc,
            keep_order: shape.keep_order,
        };
        let node = self.node(Op::IndexReader(reader), output, shape.found, cost);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    fn index_lookup(&self, scan: &Scan, candidate: &Candidate, index: usize, read: &[ScanCol], shape: ReaderShape) -> Physical {
        // Conditions that the entry alone decides are checked before the row is fetched.
        let in_index = |col: Col| scan.columns.iter().any(|column| column.col == col && is_in_index(scan, index, column.source));
        let (index_side, table_side): (Vec<Expr>, Vec<Expr>) =
            shape.conditions.iter().cloned().partition(|condition| crate::logical::columns_of(condition).into_iter().all(in_index));
        let stats = self.estimator.stats(scan);
        let fetched = shape.scanned * self.estimator.scan_selectivity(scan, &stats, &index_side);

        let entry_columns = read_only(scan, &columns_of_all(&index_side));
        let (entry_cols, mut entries) = scan_columns(scan, &entry_columns);
        let handle = handle_column(scan);
        entries.push(handle);
        let index_spec = ScanSpec::Index(index_scan(scan, index, entries));
        let index_dag = dag_of(index_spec, resolve_all(&index_side, &entry_cols));

        let (columns, scanned) = scan_columns(scan, &narrowed(scan, read, &table_side));
        let table_spec = ScanSpec::Table(TableScan { table: scan.table.id, columns: scanned, handle: handle_kind(scan) });
        let table_dag = dag_of(table_spec, resolve_all(&table_side, &columns));

        let per_entry = cost::INDEX_ROW + cost::CONDITION * index_side.len() as f64;
        let per_row = cost::LOOKUP + cost::CONDITION * table_side.len() as f64;
        let cost = cost::SEEK + cost::LOOKUP_START + shape.scanned * per_entry + fetched * per_row + shape.found * cost::HAND_UP;
        let index_shape = ReaderShape { found: fetched, conditions: index_side, ..shape.clone() };
        let index_tasks = self.scan_tasks(&index_dag, &index_shape);
        let table_shape = ReaderShape { scanned: fetched, conditions: table_side, ..shape.clone() };
        let table_tasks = self.scan_tasks(&table_dag, &table_shape);
        let output = table_dag.output.clone();
        let lookup = physical::IndexLookup {
            table: Arc::clone(&scan.table),
            index,
            index_dag: Arc::new(index_dag),
            index_tasks,
            ranges: candidate.builder.clone(),
            table_dag: Arc::new(table_dag),
            table_tasks,
            desc: shape.desc,
            keep_order: shape.keep_order,
            limit: None,
        };
        let node = self.node(Op::IndexLookup(lookup), output, shape.found, cost);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    fn scan_tasks(&self, dag: &DagPlan, shape: &ReaderShape) -> Vec<CopTask> {
        let mut tasks = vec![self.task(shape.scanned)];
        if !dag.filters.is_empty() {
            tasks.push(self.task(shape.found));
        }
        tasks
    }

    fn mem_table(&self, scan: &Scan) -> Physical {
        let mut columns = vec![];
        let mut offsets = vec![];
        for column in &scan.columns {
            if let ScanSource::Offset(offset) = column.source {
                columns.push(column.col);
                offsets.push(offset);
            }
        }
        let output = offsets.iter().map(|offset| scan.table.columns[*offset].ty.clone()).collect();
        let filters = resolve_all(&scan.conditions, &columns);
        let op = Op::MemTable(physical::MemTable {
            table: Arc::clone(&scan.table),
            database: scan.table.database.clone(),
            columns: offsets,
            filters,
        });
        let node = self.node(op, output, 100.0, 100.0);
        Physical { node, columns, order: vec![], constant: vec![] }
    }

    /// A reader that finds the rows for given values of `usable` columns: the cheapest path whose key begins with some of them, and with columns
    /// that the scan's conditions fix to a value.
    pub(super) fn choose_lookup(&self, scan: &Scan, usable: &[(Col, Expr)]) -> Option<Lookup> {
        if scan.table.kind == TableKind::Virtual {
            return None;
        }
        let stats = self.estimator.stats(scan);
        let mut best: Option<Lookup> = None;
        for path in self.paths(scan) {
            let (key, space) = key_of(scan, path);
            let mut keys = vec![];
            let mut by_outer = false;
            for column in &key {
                let Some(col) = column.col.filter(|_| !column.is_prefix) else { break };
                let outer = usable.iter().find(|(inner, outer)| *inner == col && comparable(outer, &column.ty));
                by_outer |= outer.is_some();
                let value = outer.map(|(_, outer)| outer.clone());
                let fixed = || scan.conditions.iter().find_map(|condition| fixed_value(condition, column));
                let Some(value) = value.or_else(|| fixed().filter(|value| fits(value, &column.ty))) else { break };
                keys.push(value);
            }
            if !by_outer {
                continue;
            }
            let unique = self.is_unique(scan, path) && keys.len() == key.len();
            let rows = match (unique, path) {
                (true, _) => 1.0,
                (false, Path::Index(offset)) => stats.estimate_index_prefix_unknown(scan.table.indexes[offset].id, keys.len()),
                (false, Path::Primary) => (stats.rows() / 100.0).max(1.0),
            };
            // All conditions are checked on the rows: the ranges are those of the outer values alone.
            let detached = Detached { access: Access::Lookup, rest: scan.conditions.clone(), used: vec![], equal_columns: 0, exact: true };
            let builder = RangeBuilder::new(scan.table.id, space, Access::Lookup, vec![]);
            let candidate = Candidate { path, key, detached, builder, rows };
            let reader = self.reader(scan, &stats, &candidate, false, false, None);
            let cost_per_row = reader.cost();
            if best.as_ref().is_none_or(|best| cost_per_row < best.cost_per_row) {
                best = Some(Lookup { reader, keys, cost_per_row });
            }
        }
        best
    }
}

/// What a reader does, for pricing and EXPLAIN.
#[derive(Clone, Debug)]
struct ReaderShape {
    desc: bool,
    keep_order: bool,
    /// Keys in the ranges.
    scanned: f64,
    /// Rows that pass the conditions.
    found: f64,
    conditions: Vec<Expr>,
}

impl ReaderShape {
    fn cost(&self, per_row: f64) -> f64 {
        let backwards = if self.desc { 1.1 } else { 1.0 };
        cost::SEEK + self.scanned * (per_row * backwards + cost::CONDITION * self.conditions.len() as f64) + self.found * cost::HAND_UP
    }
}

/// An order that a key gives its rows.
struct Order<'o> {
    columns: &'o [OrderColumn],
    constant: &'o [Col],
    desc: bool,
}

impl Order<'_> {
    fn provides(&self, wanted: &[OrderColumn]) -> bool {
        let mut provided = self.columns.iter().filter(|(col, _)| !self.constant.contains(col));
        wanted
            .iter()
            .filter(|(col, _)| !self.constant.contains(col))
            .all(|wanted| provided.next().is_some_and(|(col, part)| *col == wanted.0 && (*part != self.desc) == wanted.1))
    }
}

/// Wider rows take longer to decode.
fn row_weight(columns: &[Col]) -> f64 {
    1.0 + 0.05 * columns.len() as f64
}

/// Key columns that the conditions fix to one value.
fn constant_columns(candidate: &Candidate) -> Vec<Col> {
    if !candidate.detached.exact {
        return vec![];
    }
    candidate.key[..candidate.detached.equal_columns].iter().filter_map(|column| column.col).collect()
}

/// The columns a reader has to decode: those read above, and those of the conditions that are left.
fn read_columns(scan: &Scan, rest: &[Expr]) -> Vec<ScanCol> {
    let Some(wanted) = &scan.wanted else { return scan.columns.clone() };
    let checked = columns_of_all(rest);
    scan.columns.iter().copied().filter(|column| wanted.contains(&column.col) || checked.contains(&column.col)).collect()
}

/// Of the columns read, those that the table side of an index lookup needs.
fn narrowed(scan: &Scan, read: &[ScanCol], table_side: &[Expr]) -> Vec<ScanCol> {
    let Some(wanted) = &scan.wanted else { return read.to_vec() };
    let checked = columns_of_all(table_side);
    read.iter().copied().filter(|column| wanted.contains(&column.col) || checked.contains(&column.col)).collect()
}

fn read_only(scan: &Scan, columns: &[Col]) -> Vec<ScanCol> {
    scan.columns.iter().copied().filter(|column| columns.contains(&column.col)).collect()
}

fn scan_columns(scan: &Scan, read: &[ScanCol]) -> (Vec<Col>, Vec<ScanColumn>) {
    let columns = read.iter().map(|column| column.col).collect();
    let scanned = read.iter().map(|column| match column.source {
        ScanSource::Handle => handle_column(scan),
        ScanSource::Offset(offset) => {
            let info = &scan.table.columns[offset];
            ScanColumn { id: info.id, ty: info.ty.clone(), default: info.origin_default.clone() }
        }
    });
    (columns, scanned.collect())
}

fn handle_column(scan: &Scan) -> ScanColumn {
    let ty = match scan.table.pk {
        PrimaryKey::Common { .. } => FieldType::blob().with_not_null(),
        _ => FieldType::bigint().with_not_null(),
    };
    ScanColumn { id: HANDLE_COLUMN, ty, default: Datum::Null }
}

/// Whether a value of the outer expression can be looked up among values of this type: the comparison must have the key's order.
fn comparable(outer: &Expr, ty: &FieldType) -> bool {
    let is_string = ty.eval_type() == types::EvalType::String;
    fits(outer, ty) && (!is_string || outer.field_type().collation == ty.collation)
}

/// Whether the values of an expression are found among a key column's as they are, compared as the column compares.
fn fits(value: &Expr, ty: &FieldType) -> bool {
    let own = value.field_type();
    match (own.eval_type(), ty.eval_type()) {
        (types::EvalType::String, types::EvalType::String) => ty.tp.is_string(),
        (types::EvalType::Time, types::EvalType::Time) => own.tp == ty.tp && ty.tp != types::TypeKind::Timestamp,
        (a, b) => a == b && ty.tp != types::TypeKind::Bit && ty.tp != types::TypeKind::Json,
    }
}

fn resolve_all(conditions: &[Expr], columns: &[Col]) -> Vec<Expr> {
    let position = |col: Col| columns.iter().position(|own| *own == col).expect("a reader decodes the columns of its conditions");
    conditions
        .iter()
        .map(|condition| {
            let mut condition = condition.clone();
            condition.remap_columns(&position);
            condition
        })
        .collect()
}

fn dag_of(scan: ScanSpec, filters: Vec<Expr>) -> DagPlan {
    let output = scan.columns().iter().map(|column| column.ty.clone()).collect();
    DagPlan { scan, filters, ops: vec![], output }
}
