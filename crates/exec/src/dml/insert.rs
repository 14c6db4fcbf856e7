//! INSERT and REPLACE.
//!
//! ```text
//!   VALUES or query ──▶ drafts (converted, defaults filled) ──▶ AUTO_INCREMENT ──▶ generated columns ──▶ handle ──▶ write
//!                                                                                                    │
//!   plain              lock the batch's keys (pessimistic), write; the store finds duplicates ───────┤
//!   IGNORE             look first; a duplicate is a warning ─────────────────────────────────────────┤
//!   ON DUPLICATE KEY   look first; change the row that is in the way ────────────────────────────────┤
//!   REPLACE            look first; delete all rows that are in the way ──────────────────────────────┘
//! ```
//!
//! Invariants
//! - Generated AUTO_INCREMENT values of neighbouring rows of a batch are consecutive; the first of the statement is LAST_INSERT_ID().
//! - An explicit AUTO_INCREMENT value raises the counter before the row is written.

use catalog::{AutoIdKind, PrimaryKey};
use codec::Handle;
use expr::SqlMode;
use planner::physical::{ColumnFill, Insert as Plan, InsertSource, InsertValue};
use smallvec::SmallVec;
use types::{Datum, DatumRef, FieldType};

use crate::dml::assign::{RowBuffer, current_timestamp, fill_generated, layout_types, needs_row, store_checked};
use crate::dml::checks;
use crate::dml::conflict::{Conflict, RowReader, find};
use crate::dml::convert::Converter;
use crate::dml::locks::{Change, Pending, apply_or_warn, lock_and_apply};
use crate::dml::row_source::RowSource;
use crate::dml::table_writer::{RowValues, TableWriter, borrowed, same};
use crate::dml::update::change;
use crate::dml::{Affected, InfoKind, TableChanges};
use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

/// Rows written together.
const BATCH_ROWS: usize = 256;

/// Runs an INSERT or REPLACE.
pub(crate) async fn run(plan: PlanRef<Plan>, ctx: &ExecCtx) -> Result<Affected> {
    let mut inserter = Inserter::new(&plan, ctx);
    match &plan.source {
        InsertSource::Values(rows) => {
            inserter.single_row = rows.len() == 1;
            if rows.len() > 1 {
                inserter.affected.info = InfoKind::Records;
            }
            for batch in rows.chunks(BATCH_ROWS) {
                ctx.checkpoint().await?;
                let drafts = batch.iter().map(|values| inserter.draft_values(values)).collect::<Result<Vec<_>>>()?;
                inserter.write(drafts).await?;
            }
        }
        InsertSource::Query(_) => {
            inserter.affected.info = InfoKind::Records;
            let query = plan.try_map(|plan| if let InsertSource::Query(query) = &plan.source { Some(&**query) } else { None });
            let query = query.ok_or(Error::InvalidPlan("an insert from a query was expected"))?;
            let mut rows = RowSource::open(&query, ctx).await?;
            while let Some(chunk) = rows.next(ctx).await? {
                ctx.checkpoint().await?;
                let mut drafts = Vec::with_capacity(chunk.rows().min(BATCH_ROWS));
                for row in chunk.iter() {
                    drafts.push(inserter.draft_row(row.iter().map(types::DatumRef::to_owned))?);
                    if drafts.len() == BATCH_ROWS {
                        inserter.write(std::mem::take(&mut drafts)).await?;
                    }
                }
                inserter.write(drafts).await?;
            }
        }
    }
    Ok(inserter.finish())
}

/// A row on its way.
struct Draft {
    row: Vec<Datum>,
    number: u64,
    needs_auto_id: bool,
    /// The AUTO_INCREMENT value made for it.
    generated: Option<u64>,
    /// Columns of the query that only ON DUPLICATE KEY UPDATE reads.
    further: Vec<Datum>,
}

/// Which columns of a row have got a value.
type Given = SmallVec<[bool; 32]>;

struct Inserter<'p> {
    plan: &'p Plan,
    ctx: &'p ExecCtx,
    writer: TableWriter,
    reader: Option<RowReader>,
    converter: Converter<'p>,
    /// Offset of the AUTO_INCREMENT column.
    auto_column: Option<usize>,
    /// Whether some column is computed from others.
    single_row: bool,
    row_number: u64,
    affected: Affected,
    first_generated: Option<u64>,
    last_explicit: u64,
    /// Rows added, less those removed.
    rows_added: i64,
    rows_modified: u64,
}

impl<'p> Inserter<'p> {
    fn new(plan: &'p Plan, ctx: &'p ExecCtx) -> Self {
        Self {
            writer: TableWriter::new(plan.table.clone()),
            reader: None,
            converter: Converter::new(ctx, plan.ignore),
            auto_column: plan.table.auto_increment_column().map(|column| column.offset),
            single_row: false,
            row_number: ctx.loaded_rows.unwrap_or(0),
            affected: Affected::default(),
            first_generated: None,
            last_explicit: 0,
            rows_added: 0,
            rows_modified: 0,
            plan,
            ctx,
        }
    }

    fn finish(mut self) -> Affected {
        if let Some(first) = self.first_generated {
            self.ctx.eval.last_insert_id.set(first);
        }
        if self.rows_modified > 0 {
            let changes = TableChanges { table: self.plan.table.id, rows: self.rows_added, modified: self.rows_modified };
            self.affected.changes.push(changes);
        }
        self.affected.last_insert_id = self.first_generated.unwrap_or(self.last_explicit);
        self.affected
    }

    /// A row from a VALUES list.
    fn draft_values(&mut self, values: &[InsertValue]) -> Result<Draft> {
        let refers = values.iter().any(|value| matches!(value, InsertValue::Expr(expr) if needs_row(expr)));
        if refers {
            return self.draft_referring(values);
        }
        let number = self.next_number(values.len())?;
        let (mut row, mut given) = self.blank();
        for (value, offset) in values.iter().zip(&self.plan.columns) {
            let InsertValue::Expr(expr) = value else { continue };
            let value = expr.eval_const(&self.ctx.eval)?;
            row[*offset] = self.store(value, *offset, number)?;
            given[*offset] = true;
        }
        self.complete(row, given, number)
    }

    /// A row from a VALUES list whose expressions refer to its other columns: those given before, or their defaults.
    fn draft_referring(&mut self, values: &[InsertValue]) -> Result<Draft> {
        let number = self.next_number(values.len())?;
        let (mut row, mut given) = self.blank();
        for (offset, fill) in self.plan.fill.iter().enumerate() {
            if let ColumnFill::Default(expr) = fill {
                row[offset] = self.converter.store(expr.eval_const(&self.ctx.eval)?, &self.plan.table.columns[offset], number)?;
            }
        }
        let mut buffer = RowBuffer::new(&self.types(), &row);
        for (value, offset) in values.iter().zip(&self.plan.columns) {
            let InsertValue::Expr(expr) = value else { continue };
            let value = buffer.eval(expr, &self.ctx.eval)?;
            row[*offset] = self.store(value, *offset, number)?;
            buffer.set(*offset, &row[*offset]);
            given[*offset] = true;
        }
        self.complete(row, given, number)
    }

    /// A row from a query.
    fn draft_row(&mut self, mut values: impl Iterator<Item = Datum>) -> Result<Draft> {
        let number = self.next_number(self.plan.columns.len())?;
        let (mut row, mut given) = self.blank();
        for (offset, value) in self.plan.columns.iter().zip(values.by_ref()) {
            row[*offset] = self.store(value, *offset, number)?;
            given[*offset] = true;
        }
        let draft = self.complete(row, given, number)?;
        Ok(Draft { further: values.collect(), ..draft })
    }

    /// The types of the table's columns.
    fn types(&self) -> Vec<FieldType> {
        layout_types(&self.plan.table)
    }

    /// A row without values.
    fn blank(&self) -> (Vec<Datum>, Given) {
        let width = self.plan.table.columns.len();
        (vec![Datum::Null; width], SmallVec::from_elem(false, width))
    }

    fn next_number(&mut self, values: usize) -> Result<u64> {
        self.row_number += 1;
        if values != self.plan.columns.len() {
            return Err(Error::ValueCount { row: self.row_number });
        }
        Ok(self.row_number)
    }

    /// Converts a given value. NULL in the AUTO_INCREMENT column stays, to be replaced.
    fn store(&self, value: Datum, offset: usize, number: u64) -> Result<Datum> {
        let column = &self.plan.table.columns[offset];
        if Some(offset) == self.auto_column {
            return self.converter.store(value, column, number);
        }
        store_checked(&self.converter, value, column, number, self.single_row).map_err(|error| error.in_table(&self.plan.table.name))
    }

    /// Fills the columns that got no value.
    fn complete(&self, mut row: Vec<Datum>, given: Given, number: u64) -> Result<Draft> {
        for (offset, fill) in self.plan.fill.iter().enumerate().filter(|(offset, _)| !given[*offset]) {
            let column = &self.plan.table.columns[offset];
            row[offset] = match fill {
                ColumnFill::AutoIncrement => Datum::Null,
                ColumnFill::Default(expr) => self.converter.store(expr.eval_const(&self.ctx.eval)?, column, number)?,
                ColumnFill::Missing => self.converter.missing(column)?,
                ColumnFill::Generated(_) => Datum::Null,
            };
        }
        let needs_auto_id = self.auto_column.is_some_and(|offset| {
            let zero_counts = self.ctx.eval.sql_mode.contains(SqlMode::NO_AUTO_VALUE_ON_ZERO);
            row[offset].is_null() || (!zero_counts && is_zero(&row[offset]))
        });
        Ok(Draft { row, number, needs_auto_id, generated: None, further: Vec::new() })
    }

    /// Gives out AUTO_INCREMENT values: one range for each run of rows that need one.
    async fn assign_auto_ids(&mut self, drafts: &mut [Draft]) -> Result<()> {
        let Some(offset) = self.auto_column else { return Ok(()) };
        let table = &self.plan.table;
        let step = self.ctx.vars.auto_id_step;
        let mut at = 0;
        let mut highest = 0;
        while at < drafts.len() {
            if !drafts[at].needs_auto_id {
                if let Some(value) = auto_value(drafts[at].row[offset].as_ref()) {
                    highest = highest.max(value);
                    self.last_explicit = value;
                }
                at += 1;
                continue;
            }
            self.rebase(std::mem::take(&mut highest)).await?;
            let end = (at..drafts.len()).find(|next| !drafts[*next].needs_auto_id).unwrap_or(drafts.len());
            let ids = &self.ctx.auto_ids;
            let count = (end - at) as u64;
            let range = match ids.try_allocate(table.id, AutoIdKind::AutoIncrement, step, count) {
                Some(range) => range,
                None => ids.allocate(table.id, AutoIdKind::AutoIncrement, step, count).await?,
            };
            for (draft, nth) in drafts[at..end].iter_mut().zip(0..) {
                let id = range.first + nth * range.increment;
                draft.row[offset] = self.converter.store(Datum::UInt(id), &table.columns[offset], draft.number)?;
                draft.generated = Some(id);
            }
            at = end;
        }
        self.rebase(highest).await
    }

    async fn rebase(&self, used: u64) -> Result<()> {
        if used == 0 {
            return Ok(());
        }
        Ok(self.ctx.auto_ids.rebase(self.plan.table.id, AutoIdKind::AutoIncrement, used).await?)
    }

    /// The handles of the rows.
    async fn handles(&self, drafts: &[Draft]) -> Result<Vec<Handle>> {
        if self.plan.table.pk != PrimaryKey::HiddenRowId {
            let handle = |draft: &Draft| self.writer.handle_of(&borrowed(&draft.row))?.ok_or(Error::InvalidPlan("the row has no handle"));
            return drafts.iter().map(handle).collect();
        }
        let (table, step) = (self.plan.table.id, catalog::AutoIdStep::default());
        let range = self.ctx.auto_ids.allocate(table, AutoIdKind::RowId, step, drafts.len() as u64).await?;
        Ok((0..drafts.len() as u64).map(|nth| Handle::Int((range.first + nth * range.increment) as i64)).collect())
    }

    /// Writes a batch of rows.
    async fn write(&mut self, mut drafts: Vec<Draft>) -> Result<()> {
        if drafts.is_empty() {
            return Ok(());
        }
        self.affected.matched += drafts.len() as u64;
        self.assign_auto_ids(&mut drafts).await?;
        for draft in &mut drafts {
            fill_generated(&self.plan.table, &self.plan.fill, &mut draft.row, draft.number, &self.converter, self.ctx)?;
        }
        self.refuse_unfit(&mut drafts)?;
        let handles = self.handles(&drafts).await?;
        if self.plan.replace {
            for (draft, handle) in drafts.into_iter().zip(handles) {
                Box::pin(self.replace(draft, handle)).await?;
            }
        } else if !self.plan.on_duplicate.is_empty() {
            for (draft, handle) in drafts.into_iter().zip(handles) {
                Box::pin(self.insert_or_update(draft, handle)).await?;
            }
        } else if self.plan.ignore {
            for (draft, handle) in drafts.into_iter().zip(handles) {
                Box::pin(self.insert_unless_there(draft, handle)).await?;
            }
        } else {
            let mut batch = Vec::with_capacity(drafts.len());
            for (draft, handle) in drafts.iter().zip(&handles) {
                self.first_generated = self.first_generated.or(draft.generated);
                let row = borrowed(&draft.row);
                let writes = self.writer.insert(&row, handle)?;
                batch.push(Pending { row, change: Change::Insert, writes });
            }
            lock_and_apply(&mut batch, &self.writer, self.ctx).await?;
            self.affected.rows += batch.len() as u64;
            self.count(batch.len() as i64, batch.len() as u64);
        }
        Ok(())
    }

    /// Takes the rows out that a CHECK constraint refuses (IGNORE), or fails at the first.
    fn refuse_unfit(&self, drafts: &mut Vec<Draft>) -> Result<()> {
        if self.plan.checks.is_empty() {
            return Ok(());
        }
        let mut failed = None;
        drafts.retain(|draft| match checks::hold(&self.plan.table, &self.plan.checks, &borrowed(&draft.row), self.ctx) {
            _ if failed.is_some() => true,
            Ok(()) => true,
            Err(error) if self.converter.ignore && error.is_ignorable() => {
                self.converter.warn(&error);
                false
            }
            Err(error) => {
                failed = Some(error);
                true
            }
        });
        failed.map_or(Ok(()), Err)
    }

    /// A row that nothing is in the way of. LAST_INSERT_ID() counts values of rows that were inserted, not of those that gave way.
    async fn insert_row(&mut self, row: RowValues<'_>, generated: Option<u64>, handle: &Handle) -> Result<()> {
        let writes = self.writer.insert(&row, handle)?;
        let pending = Pending { row, change: Change::Insert, writes };
        if !self.plan.ignore {
            lock_and_apply(&mut [pending], &self.writer, self.ctx).await?;
        } else if !apply_or_warn(pending, &self.writer, &self.converter, self.ctx).await? {
            return Ok(());
        }
        self.first_generated = self.first_generated.or(generated);
        self.affected.rows += 1;
        self.count(1, 1);
        Ok(())
    }

    fn count(&mut self, added: i64, modified: u64) {
        self.rows_added += added;
        self.rows_modified += modified;
    }

    /// IGNORE: a duplicate is a warning.
    async fn insert_unless_there(&mut self, draft: Draft, handle: Handle) -> Result<()> {
        let row = borrowed(&draft.row);
        if let Some(conflict) = find(&row, &handle, &mut self.writer, self.ctx).await?.first() {
            self.converter.warn(&self.writer.duplicate(conflict.role, &row));
            self.affected.changed += 1;
            return Ok(());
        }
        self.insert_row(row, draft.generated, &handle).await
    }

    /// REPLACE: all rows in the way go.
    async fn replace(&mut self, draft: Draft, handle: Handle) -> Result<()> {
        let Draft { row, generated, .. } = draft;
        let mut removed: Vec<(Handle, Vec<Datum>)> = Vec::new();
        for conflict in find(&borrowed(&row), &handle, &mut self.writer, self.ctx).await? {
            if removed.iter().all(|(handle, _)| *handle != conflict.handle) {
                let old = self.read(&conflict).await?;
                removed.push((conflict.handle, old));
            }
        }
        let mut batch = Vec::with_capacity(removed.len() + 1);
        for (handle, old) in &removed {
            let row = borrowed(old);
            let writes = self.writer.remove(&row, handle)?;
            batch.push(Pending { row, change: Change::Remove, writes });
        }
        let row = borrowed(&row);
        let writes = self.writer.insert(&row, &handle)?;
        batch.push(Pending { row, change: Change::Insert, writes });
        lock_and_apply(&mut batch, &self.writer, self.ctx).await?;
        self.affected.rows += batch.len() as u64;
        self.affected.changed += removed.len() as u64;
        self.count(1 - removed.len() as i64, batch.len() as u64);
        self.first_generated = self.first_generated.or(generated);
        Ok(())
    }

    /// ON DUPLICATE KEY UPDATE: the first row in the way is changed instead.
    async fn insert_or_update(&mut self, draft: Draft, handle: Handle) -> Result<()> {
        let conflicts = find(&borrowed(&draft.row), &handle, &mut self.writer, self.ctx).await?;
        let Some(conflict) = conflicts.into_iter().next() else {
            return self.insert_row(borrowed(&draft.row), draft.generated, &handle).await;
        };
        self.affected.changed += 1;
        let old = self.read(&conflict).await?;
        let new = self.updated(&old, &draft)?;
        let (old, new) = (borrowed(&old), borrowed(&new));
        if let Some(value) = self.auto_column.and_then(|offset| auto_value(new[offset])) {
            self.last_explicit = value;
        }
        if new.iter().zip(&old).all(|(new, old)| same(*new, *old)) {
            self.affected.rows += u64::from(self.ctx.vars.found_rows);
            return Ok(());
        }
        if let Err(error) = checks::hold(&self.plan.table, &self.plan.checks, &new, self.ctx) {
            if !(self.plan.ignore && error.is_ignorable()) {
                return Err(error);
            }
            self.converter.warn(&error);
            return Ok(());
        }
        let writes = change(&mut self.writer, &old, &new, &conflict.handle)?;
        let pending = Pending { row: new, change: Change::Update(old), writes };
        if !self.plan.ignore {
            lock_and_apply(&mut [pending], &self.writer, self.ctx).await?;
        } else if let Some(role) = crate::dml::locks::first_existing(&pending, self.ctx).await? {
            self.converter.warn(&self.writer.duplicate(role, &pending.row));
            return Ok(());
        } else if !apply_or_warn(pending, &self.writer, &self.converter, self.ctx).await? {
            return Ok(());
        }
        self.affected.rows += 2;
        self.count(0, 1);
        Ok(())
    }

    /// The existing row after the assignments.
    fn updated(&self, old: &[Datum], draft: &Draft) -> Result<Vec<Datum>> {
        let table = &self.plan.table;
        let mut types = self.types();
        types.extend_from_within(..);
        let mut values = old.to_vec();
        values.extend_from_slice(&draft.row);
        if let InsertSource::Query(query) = &self.plan.source {
            types.extend_from_slice(&query.output[self.plan.columns.len()..]);
            values.extend_from_slice(&draft.further);
        }
        let mut buffer = RowBuffer::new(&types, &values);
        let mut new = old.to_vec();
        for assignment in &self.plan.on_duplicate {
            let value = buffer.eval(&assignment.value, &self.ctx.eval)?;
            let at = assignment.column;
            new[at] = store_checked(&self.converter, value, &table.columns[at], draft.number, true)?;
            buffer.set(at, &new[at]);
        }
        if new.iter().zip(old).any(|(new, old)| !same(new.as_ref(), old.as_ref())) {
            for column in table.columns.iter().filter(|column| column.on_update_now.is_some()) {
                if !self.plan.on_duplicate.iter().any(|assignment| assignment.column == column.offset) {
                    new[column.offset] = current_timestamp(column, self.ctx);
                }
            }
            fill_generated(table, &self.plan.fill, &mut new, draft.number, &self.converter, self.ctx)?;
        }
        Ok(new)
    }

    async fn read(&mut self, conflict: &Conflict) -> Result<Vec<Datum>> {
        let reader = self.reader.get_or_insert_with(|| RowReader::new(&self.writer));
        reader.read(conflict, self.ctx).await
    }
}

fn is_zero(value: &Datum) -> bool {
    match value {
        Datum::Int(value) => *value == 0,
        Datum::UInt(value) => *value == 0,
        Datum::Float(value) => *value == 0.0,
        Datum::Double(value) => *value == 0.0,
        _ => false,
    }
}

/// The value of an AUTO_INCREMENT column as the counter sees it; none for negative ones.
fn auto_value(value: DatumRef<'_>) -> Option<u64> {
    let value = match value {
        DatumRef::Int(value) => u64::try_from(value).ok(),
        DatumRef::UInt(value) => Some(value),
        DatumRef::Float(value) if value >= 1.0 => Some(value as u64),
        DatumRef::Double(value) if value >= 1.0 => Some(value as u64),
        _ => None,
    };
    value.filter(|value| *value > 0)
}
