//! UPDATE.
//!
//! Assignments are evaluated over whole chunks, in order, so that each sees the columns assigned before it; then each row is compared with what it
//! was, and only rows that really change are written.

use codec::Handle;
use planner::physical::{Assignment, Update as Plan, UpdateTarget};
use rustc_hash::FxHashSet;
use types::{Chunk, Column, Datum};

use crate::dml::assign::store_checked;
use crate::dml::convert::Converter;
use crate::dml::locks::{Pending, first_existing, lock_and_apply};
use crate::dml::row_source::RowSource;
use crate::dml::table_writer::{TableWriter, Writes, same};
use crate::dml::{Affected, InfoKind, TableChanges};
use crate::layout::handle_from_value;
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Runs an UPDATE.
pub(crate) async fn run(plan: PlanRef<Plan>, ctx: &ExecCtx) -> Result<Affected> {
    let child = plan.map(|plan| &*plan.child);
    let repeats = RowSource::may_repeat_rows(&child);
    let converter = Converter::new(ctx, plan.ignore);
    let mut targets = plan.targets.iter().map(|target| Target::new(target, repeats)).collect::<Vec<_>>();
    let mut rows = RowSource::open(&child, ctx).await?;
    let mut affected = Affected { info: InfoKind::Matched, ..Affected::default() };
    while let Some(chunk) = rows.next(ctx).await? {
        ctx.checkpoint().await?;
        for target in &mut targets {
            target.update(&chunk, &converter, &mut affected, ctx).await?;
        }
    }
    for target in targets.iter().filter(|target| target.changed > 0) {
        affected.changed += target.changed;
        affected.changes.push(TableChanges { table: target.plan.table.id, rows: 0, modified: target.changed });
    }
    affected.rows = if ctx.vars.found_rows { affected.matched } else { affected.changed };
    Ok(affected)
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

/// A chunk of rows as they were and as they will be.
struct Changes<'a> {
    old: &'a Chunk,
    new: &'a Chunk,
    /// The rows that really change.
    rows: &'a [u32],
    /// Of all rows.
    handles: &'a [Handle],
}

impl<'p> Target<'p> {
    fn new(plan: &'p UpdateTarget, repeats: bool) -> Self {
        Self { plan, writer: TableWriter::new(plan.table.clone()), seen: repeats.then(FxHashSet::default), row_number: 0, changed: 0 }
    }

    async fn update(&mut self, old: &Chunk, converter: &Converter<'_>, affected: &mut Affected, ctx: &ExecCtx) -> Result<()> {
        // Rows this target has in the chunk, each once.
        let mut rows = Vec::with_capacity(old.rows());
        let mut handles = Vec::with_capacity(old.rows());
        for row in 0..old.rows() {
            let Some(handle) = handle_from_value(old.column(self.plan.handle).datum_ref(row))? else { continue };
            if self.seen.as_mut().is_some_and(|seen| !seen.insert(handle.clone())) {
                continue;
            }
            rows.push(row as u32);
            handles.push(handle);
        }
        if rows.is_empty() {
            return Ok(());
        }
        let gathered;
        let old = if rows.len() == old.rows() {
            old
        } else {
            gathered = old.gather(&rows);
            &gathered
        };
        let mut new = old.clone();
        let all = (0..old.rows() as u32).collect::<Vec<_>>();
        self.assign(&self.plan.assignments, &mut new, &all, converter, ctx)?;
        let changed = all.into_iter().filter(|row| self.is_changed(old, &new, *row)).collect::<Vec<_>>();
        self.assign(&self.plan.on_update, &mut new, &changed, converter, ctx)?;
        self.assign(&self.plan.generated, &mut new, &changed, converter, ctx)?;
        affected.matched += old.rows() as u64;
        self.row_number += old.rows() as u64;
        self.write(Changes { old, new: &new, rows: &changed, handles: &handles }, converter, ctx).await
    }

    /// Evaluates assignments in order over `chunk` and replaces the columns' values in `rows`.
    fn assign(&self, assignments: &[Assignment], chunk: &mut Chunk, rows: &[u32], converter: &Converter<'_>, ctx: &ExecCtx) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        for assignment in assignments {
            let column = &self.plan.table.columns[assignment.column];
            let at = self.plan.start + assignment.column;
            let values = assignment.value.eval_chunk(&ctx.eval, chunk)?;
            let mut result = Column::for_type(&column.ty, chunk.rows());
            let mut wanted = rows.iter().copied().peekable();
            for row in 0..chunk.rows() as u32 {
                if wanted.next_if_eq(&row).is_none() {
                    result.push_from(chunk.column(at), row as usize);
                    continue;
                }
                let number = self.row_number + u64::from(row) + 1;
                result.push(&store_checked(converter, values.datum(row as usize), column, number, false)?);
            }
            chunk.columns_mut()[at] = result;
        }
        Ok(())
    }

    fn is_changed(&self, old: &Chunk, new: &Chunk, row: u32) -> bool {
        self.plan.assignments.iter().any(|assignment| {
            let at = self.plan.start + assignment.column;
            !same(&old.column(at).datum(row as usize), &new.column(at).datum(row as usize))
        })
    }

    fn row_values(&self, chunk: &Chunk, row: u32) -> Vec<Datum> {
        let row = chunk.row(row as usize);
        (self.plan.start..self.plan.start + self.plan.table.columns.len()).map(|at| row.get(at).to_owned()).collect()
    }

    async fn write(&mut self, changes: Changes<'_>, converter: &Converter<'_>, ctx: &ExecCtx) -> Result<()> {
        let Changes { old, new, rows, handles } = changes;
        let mut batch = Vec::with_capacity(rows.len());
        for row in rows {
            let (old, new) = (self.row_values(old, *row), self.row_values(new, *row));
            let writes = change(&mut self.writer, &old, &new, &handles[*row as usize])?;
            let mut pending = Pending { row: new, writes };
            if !converter.ignore {
                batch.push(pending);
                continue;
            }
            match Box::pin(first_existing(&pending, ctx)).await? {
                Some(role) => converter.warn(&self.writer.duplicate(role, &pending.row)),
                None => {
                    lock_and_apply(std::slice::from_mut(&mut pending), &self.writer, ctx).await?;
                    self.changed += 1;
                }
            }
        }
        self.changed += batch.len() as u64;
        lock_and_apply(&mut batch, &self.writer, ctx).await
    }
}

/// The writes that turn a row into another one; a changed primary key moves the row.
pub(crate) fn change(writer: &mut TableWriter, old: &[Datum], new: &[Datum], handle: &Handle) -> Result<Writes> {
    match writer.handle_of(new)? {
        Some(new_handle) if new_handle != *handle => {
            let mut writes = writer.remove(old, handle)?;
            writes.extend(writer.insert(new, &new_handle)?);
            Ok(writes)
        }
        _ => writer.update(old, new, handle),
    }
}
