//! UPDATE.
//!
//! Assignments are evaluated over whole chunks, in order, so that each sees the columns assigned before it; then each row is compared with what it
//! was, and only rows that really change are written.

use base::TableId;
use codec::Handle;
use planner::physical::{Assignment, Update as Plan, UpdateTarget};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use types::{Chunk, Column, Datum, DatumRef};

use crate::dml::assign::store_checked;
use crate::dml::checks;
use crate::dml::convert::Converter;
use crate::dml::locks::{Change, Pending, apply_or_warn, first_existing, lock_and_apply};
use crate::dml::row_source::RowSource;
use crate::dml::table_writer::{RowValues, TableWriter, Writes, same};
use crate::dml::{Affected, InfoKind, TableChanges};
use crate::layout::handle_from_value;
use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

/// Runs an UPDATE.
pub(crate) async fn run(plan: PlanRef<Plan>, ctx: &ExecCtx) -> Result<Affected> {
    let child = plan.map(|plan| &*plan.child);
    let repeats = RowSource::may_repeat_rows(&child);
    let converter = Converter::new(ctx, plan.ignore);
    let mut targets = plan.targets.iter().map(|target| Target::new(target, repeats)).collect::<Vec<_>>();
    let mut rewritten = changes_a_table_twice(&plan).then(Rewritten::default);
    let mut rows = RowSource::open(&child, ctx).await?;
    let mut affected = Affected { info: InfoKind::Matched, ..Affected::default() };
    while let Some(chunk) = rows.next(ctx).await? {
        ctx.checkpoint().await?;
        let (last, others) = targets.split_last_mut().ok_or(Error::InvalidPlan("an update changes a table"))?;
        for target in others {
            target.update(chunk.clone(), rewritten.as_mut(), &converter, &mut affected, ctx).await?;
        }
        last.update(chunk, rewritten.as_mut(), &converter, &mut affected, ctx).await?;
    }
    for target in targets.iter().filter(|target| target.changed > 0) {
        affected.changed += target.changed;
        affected.changes.push(TableChanges { table: target.plan.table.id, rows: 0, modified: target.changed });
    }
    affected.rows = if ctx.vars.found_rows { affected.matched } else { affected.changed };
    Ok(affected)
}

/// Rows as the statement has left them, of tables that are changed under several names: under the next name it goes on from there.
type Rewritten = FxHashMap<(TableId, Handle), Vec<Datum>>;

fn changes_a_table_twice(plan: &Plan) -> bool {
    let ids = plan.targets.iter().map(|target| target.table.id);
    ids.enumerate().any(|(at, id)| plan.targets[..at].iter().any(|other| other.table.id == id))
}

struct Target<'p> {
    plan: &'p UpdateTarget,
    writer: TableWriter,
    /// Rows met already, where a join may bring one twice.
    seen: Option<FxHashSet<Handle>>,
    /// Rows met so far, for "at row n".
    row_number: u64,
    /// Rows written.
    changed: u64,
}

/// Rows of a chunk.
type Rows = SmallVec<[u32; 8]>;

/// A chunk of rows as they will be, and as they were.
struct Revised {
    chunk: Chunk,
    /// The columns that were replaced, as they were.
    before: SmallVec<[(usize, Column); 4]>,
}

impl Revised {
    fn replace(&mut self, at: usize, column: Column) {
        let old = std::mem::replace(&mut self.chunk.columns_mut()[at], column);
        if self.before.iter().all(|(replaced, _)| *replaced != at) {
            self.before.push((at, old));
        }
    }

    fn old(&self, at: usize) -> &Column {
        self.before.iter().find(|(replaced, _)| *replaced == at).map_or(self.chunk.column(at), |(_, column)| column)
    }

    fn is_changed(&self, row: u32) -> bool {
        let row = row as usize;
        self.before.iter().any(|(at, old)| !same(old.datum_ref(row), self.chunk.column(*at).datum_ref(row)))
    }
}

impl<'p> Target<'p> {
    fn new(plan: &'p UpdateTarget, repeats: bool) -> Self {
        Self { plan, writer: TableWriter::new(plan.table.clone()), seen: repeats.then(FxHashSet::default), row_number: 0, changed: 0 }
    }

    async fn update(
        &mut self,
        chunk: Chunk,
        rewritten: Option<&mut Rewritten>,
        converter: &Converter<'_>,
        affected: &mut Affected,
        ctx: &ExecCtx,
    ) -> Result<()> {
        // Rows this target has in the chunk, each once.
        let mut rows = Rows::with_capacity(chunk.rows());
        let mut handles = Vec::with_capacity(chunk.rows());
        for row in 0..chunk.rows() {
            let Some(handle) = handle_from_value(chunk.column(self.plan.handle).datum_ref(row))? else { continue };
            if self.seen.as_mut().is_some_and(|seen| !seen.insert(handle.clone())) {
                continue;
            }
            rows.push(row as u32);
            handles.push(handle);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let mut chunk = if rows.len() == chunk.rows() { chunk } else { chunk.gather(&rows) };
        if let Some(rewritten) = &rewritten {
            self.bring_up_to_date(&mut chunk, &handles, rewritten);
        }
        let found = chunk.rows();
        let mut revised = Revised { chunk, before: SmallVec::new() };
        let all = (0..found as u32).collect::<Rows>();
        self.assign(&self.plan.assignments, &mut revised, &all, converter, ctx)?;
        let changed = all.into_iter().filter(|row| revised.is_changed(*row)).collect::<Rows>();
        self.assign(&self.plan.on_update, &mut revised, &changed, converter, ctx)?;
        self.assign(&self.plan.generated, &mut revised, &changed, converter, ctx)?;
        affected.matched += found as u64;
        self.row_number += found as u64;
        let kept = self.write(&revised, &changed, &handles, converter, ctx).await?;
        if let Some(rewritten) = rewritten {
            for row in changed.iter().filter(|row| !kept.contains(row)) {
                let values = self.row_values(*row, |at| revised.chunk.column(at)).into_iter().map(DatumRef::to_owned).collect();
                rewritten.insert((self.plan.table.id, handles[*row as usize].clone()), values);
            }
        }
        Ok(())
    }

    /// Puts rows that the statement has changed under another name of the table in the place of what was read of them.
    fn bring_up_to_date(&self, chunk: &mut Chunk, handles: &[Handle], rewritten: &Rewritten) {
        let newer = handles.iter().map(|handle| rewritten.get(&(self.plan.table.id, handle.clone()))).collect::<Vec<_>>();
        if newer.iter().all(Option::is_none) {
            return;
        }
        for column in &self.plan.table.columns {
            let at = self.plan.start + column.offset;
            let mut result = Column::for_type(&column.ty, newer.len());
            for (row, newer) in newer.iter().enumerate() {
                match newer {
                    Some(values) => result.push(&values[column.offset]),
                    None => result.push_from(chunk.column(at), row),
                }
            }
            chunk.columns_mut()[at] = result;
        }
    }

    /// Evaluates assignments in order and replaces the columns' values in `rows`.
    fn assign(
        &self,
        assignments: &[Assignment],
        revised: &mut Revised,
        rows: &[u32],
        converter: &Converter<'_>,
        ctx: &ExecCtx,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        for assignment in assignments {
            let column = &self.plan.table.columns[assignment.column];
            let at = self.plan.start + assignment.column;
            let chunk = &revised.chunk;
            let values = assignment.value.eval_chunk(&ctx.eval, chunk)?;
            let mut result = Column::for_type(&column.ty, chunk.rows());
            let mut wanted = rows.iter().copied().peekable();
            for row in 0..chunk.rows() as u32 {
                if wanted.next_if_eq(&row).is_none() {
                    result.push_from(chunk.column(at), row as usize);
                    continue;
                }
                let number = self.row_number + u64::from(row) + 1;
                let stored = store_checked(converter, values.datum(row as usize), column, number, false);
                result.push(&stored.map_err(|error| error.in_table(&self.plan.table.name))?);
            }
            revised.replace(at, result);
        }
        Ok(())
    }

    /// A row of the table, each value from the column that `column` finds.
    fn row_values<'r>(&self, row: u32, column: impl Fn(usize) -> &'r Column) -> RowValues<'r> {
        let columns = self.plan.start..self.plan.start + self.plan.table.columns.len();
        columns.map(|at| column(at).datum_ref(row as usize)).collect()
    }

    /// Writes the rows that really change; `handles` are those of all rows. Answers which of them were left as they were, for IGNORE.
    async fn write(
        &mut self,
        revised: &Revised,
        rows: &[u32],
        handles: &[Handle],
        converter: &Converter<'_>,
        ctx: &ExecCtx,
    ) -> Result<Rows> {
        let mut kept = Rows::new();
        let mut batch = Vec::with_capacity(rows.len());
        for row in rows {
            let old = self.row_values(*row, |at| revised.old(at));
            let new = self.row_values(*row, |at| revised.chunk.column(at));
            if let Err(error) = checks::hold(&self.plan.table, &self.plan.checks, &new, ctx) {
                if !(converter.ignore && error.is_ignorable()) {
                    return Err(error);
                }
                converter.warn(&error);
                kept.push(*row);
                continue;
            }
            let writes = change(&mut self.writer, &old, &new, &handles[*row as usize])?;
            let pending = Pending { row: new, change: Change::Update(old), writes };
            if !converter.ignore {
                batch.push(pending);
                continue;
            }
            match Box::pin(first_existing(&pending, ctx)).await? {
                Some(role) => {
                    converter.warn(&self.writer.duplicate(role, &pending.row));
                    kept.push(*row);
                }
                None => match Box::pin(apply_or_warn(pending, &self.writer, converter, ctx)).await? {
                    true => self.changed += 1,
                    false => kept.push(*row),
                },
            }
        }
        self.changed += batch.len() as u64;
        lock_and_apply(&mut batch, &self.writer, ctx).await?;
        Ok(kept)
    }
}

/// The writes that turn a row into another one; a changed primary key moves the row.
pub(crate) fn change(writer: &mut TableWriter, old: &[DatumRef<'_>], new: &[DatumRef<'_>], handle: &Handle) -> Result<Writes> {
    match writer.handle_of(new)? {
        Some(new_handle) if new_handle != *handle => {
            let mut writes = writer.remove(old, handle)?;
            writes.extend(writer.insert(new, &new_handle)?);
            Ok(writes)
        }
        _ => writer.update(old, new, handle),
    }
}
