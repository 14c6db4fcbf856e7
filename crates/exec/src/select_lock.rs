//! Row locks of locking reads: FOR UPDATE, FOR SHARE, and the reads of pessimistic UPDATE and DELETE.
//!
//! ```text
//!   child's chunk ──▶ record keys of its handles ──▶ lock_keys at for_update_ts ──▶ rows (skipped ones left out)
//! ```
//!
//! A newer version of a row than the one that was read is a write conflict: the session raises `for_update_ts` and runs the statement
//! again, because the new version may not satisfy the statement's conditions any more. FOR SHARE takes the same exclusive locks: readers
//! are never blocked by them, only other lockers.
//!
//! Invariant: no row is handed up before it is locked. Without a pessimistic transaction rows pass unlocked: an autocommit read releases
//! its locks at once, and an optimistic transaction checks its writes at commit.

use async_trait::async_trait;
use bytes::Bytes;
use planner::physical::SelectLock as Plan;
use rustc_hash::FxHashSet;
use types::Chunk;

use crate::layout::handle_from_value;
use crate::operator::{BoxOperator, Operator};
use crate::plan_ref::PlanRef;
use crate::{ExecCtx, Result};

/// Locks the rows of its child.
pub(crate) struct SelectLock {
    plan: PlanRef<Plan>,
    child: BoxOperator,
}

/// The keys of a chunk's rows.
struct RowKeys {
    /// Each once.
    keys: Vec<Bytes>,
    /// Which row of the chunk needs which of the keys.
    uses: Vec<(u32, usize)>,
}

impl SelectLock {
    pub(crate) fn new(plan: PlanRef<Plan>, child: BoxOperator) -> Self {
        Self { plan, child }
    }

    fn keys(&self, chunk: &Chunk) -> Result<RowKeys> {
        let mut keys = Vec::new();
        let mut uses = Vec::new();
        let mut known = rustc_hash::FxHashMap::default();
        for target in &self.plan.targets {
            for row in 0..chunk.rows() {
                let Some(handle) = handle_from_value(chunk.column(target.handle).datum_ref(row))? else { continue };
                let key = Bytes::from(codec::table::record_key(target.table.id, &handle));
                let at = *known.entry(key.clone()).or_insert_with(|| {
                    keys.push(key);
                    keys.len() - 1
                });
                uses.push((row as u32, at));
            }
        }
        Ok(RowKeys { keys, uses })
    }
}

#[async_trait]
impl Operator for SelectLock {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        while let Some(chunk) = self.child.next(ctx).await? {
            ctx.checkpoint().await?;
            if !ctx.pessimistic {
                return Ok(Some(chunk));
            }
            let RowKeys { keys, uses } = self.keys(&chunk)?;
            if keys.is_empty() {
                return Ok(Some(chunk));
            }
            let outcome = ctx.txn()?.lock().await.lock_keys(&keys, ctx.lock_request(self.plan.lock.wait)).await?;
            if outcome.skipped.is_empty() {
                return Ok(Some(chunk));
            }
            let skipped = outcome.skipped.into_iter().collect::<FxHashSet<_>>();
            let hidden = uses.iter().filter(|(_, key)| skipped.contains(key)).map(|(row, _)| *row).collect::<FxHashSet<_>>();
            let kept = (0..chunk.rows() as u32).filter(|row| !hidden.contains(row)).collect::<Vec<_>>();
            if !kept.is_empty() {
                return Ok(Some(chunk.gather(&kept)));
            }
        }
        Ok(None)
    }
}
