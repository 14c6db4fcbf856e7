//! DELETE.

use base::TableId;
use codec::Handle;
use planner::physical::{Delete as Plan, DeleteTarget};
use rustc_hash::{FxHashMap, FxHashSet};
use types::Chunk;

use crate::dml::convert::Converter;
use crate::dml::locks::{Change, Pending, apply_or_warn, lock_and_apply};
use crate::dml::row_source::RowSource;
use crate::dml::table_writer::{RowValues, TableWriter};
use crate::dml::{Affected, TableChanges};
use crate::layout::handle_from_value;
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Runs a DELETE.
pub(crate) async fn run(plan: PlanRef<Plan>, ctx: &ExecCtx) -> Result<Affected> {
    let child = plan.map(|plan| &*plan.child);
    let mut targets = plan.targets.iter().map(Target::new).collect::<Vec<_>>();
    let mut seen = RowSource::may_repeat_rows(&child).then(Seen::default);
    let mut rows = RowSource::open(&child, ctx).await?;
    let converter = Converter::new(ctx, plan.ignore);
    let mut affected = Affected::default();
    while let Some(chunk) = rows.next(ctx).await? {
        ctx.checkpoint().await?;
        for target in &mut targets {
            target.delete(&chunk, seen.as_mut(), &converter, ctx).await?;
        }
    }
    for target in targets.iter().filter(|target| target.removed > 0) {
        affected.rows += target.removed;
        affected.changes.push(TableChanges { table: target.plan.table.id, rows: -(target.removed as i64), modified: target.removed });
    }
    affected.matched = affected.rows;
    Ok(affected)
}

/// Rows removed already: a join may bring one twice, and a table may be a target under two names.
type Seen = FxHashMap<TableId, FxHashSet<Handle>>;

struct Target<'p> {
    plan: &'p DeleteTarget,
    writer: TableWriter,
    /// Rows removed.
    removed: u64,
}

impl<'p> Target<'p> {
    fn new(plan: &'p DeleteTarget) -> Self {
        Self { plan, writer: TableWriter::new(plan.table.clone()), removed: 0 }
    }

    async fn delete(&mut self, chunk: &Chunk, seen: Option<&mut Seen>, converter: &Converter<'_>, ctx: &ExecCtx) -> Result<()> {
        let width = self.plan.table.columns.len();
        let mut seen = seen.map(|seen| seen.entry(self.plan.table.id).or_default());
        let mut batch = Vec::with_capacity(chunk.rows());
        for row in chunk.iter() {
            let Some(handle) = handle_from_value(row.get(self.plan.handle))? else { continue };
            if seen.as_mut().is_some_and(|seen| !seen.insert(handle.clone())) {
                continue;
            }
            let values = (self.plan.start..self.plan.start + width).map(|at| row.get(at)).collect::<RowValues<'_>>();
            let writes = self.writer.remove(&values, &handle)?;
            batch.push(Pending { row: values, change: Change::Remove, writes });
        }
        if converter.ignore {
            for pending in batch {
                self.removed += u64::from(apply_or_warn(pending, &self.writer, converter, ctx).await?);
            }
            return Ok(());
        }
        lock_and_apply(&mut batch, &self.writer, ctx).await?;
        self.removed += batch.len() as u64;
        Ok(())
    }
}
