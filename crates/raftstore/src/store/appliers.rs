//! The apply pool: what replicas have committed goes to the engine.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};

use engine::Engine;
use raft::eraftpb::Entry;

use super::{
    APPLY_AT_ONCE, RaftStore,
    cell::{Cell, PeerMessage},
    jobs::Job,
};
use crate::{Applier, ApplyTask, Proposal, RegionChange, Result, SnapshotId, snapshot};

impl<E: Engine> RaftStore<E> {
    /// Applies what some regions have committed; waits for one if told so. False when the store stops.
    pub fn apply(&self, wait: bool) -> bool {
        // One at a time when several threads wait: regions are shared out evenly.
        let limit = if self.inner.config.apply_pool_size > 1 { 1 } else { APPLY_AT_ONCE };
        let Some(cells) = self.inner.applies.take(limit, wait) else { return false };
        if cells.is_empty() {
            return false;
        }
        for cell in &cells {
            if let Err(error) = self.apply_one(cell) {
                self.inner.fatal(&error);
                return false;
            }
            self.inner.applied(cell);
        }
        true
    }

    fn apply_one(&self, cell: &Arc<Cell>) -> Result<()> {
        let mut applier = cell.applier.lock();
        for task in joined(cell.take_tasks()) {
            match task {
                ApplyTask::Entries { entries, proposals } => self.apply_entries(cell, &mut applier, entries, proposals)?,
                ApplyTask::Resume if !applier.is_stalled() => {}
                ApplyTask::Resume => self.apply_entries(cell, &mut applier, Vec::new(), Vec::new())?,
                // A replica that another region has taken over does nothing any more with what is not its own.
                ApplyTask::MakeSnapshot | ApplyTask::Install { .. } | ApplyTask::Destroy { .. } if applier.is_removed() => {}
                // A region is not copied while it is unclear whether it stays: who lacks entries gets them by way of the target.
                ApplyTask::MakeSnapshot if applier.is_merging() => self.inner.post(cell, PeerMessage::SnapshotMade(None)),
                ApplyTask::MakeSnapshot => {
                    let (region, state) = (applier.region().clone(), *applier.state());
                    let data = self.inner.engine.snapshot();
                    self.inner.jobs.push(Job::MakeSnapshot { cell: cell.clone(), region, state, data });
                }
                ApplyTask::Install { region, index, term } => {
                    let id = SnapshotId { region_id: cell.region_id, term, index };
                    let path = self.inner.snapshots.received(&id);
                    let engine = &self.inner.engine;
                    applier.install(engine, *region, index, term, || snapshot::restore(engine, &path, cell.region_id))?;
                    self.inner.snapshots.remove(&path);
                    self.inner.post(cell, PeerMessage::Installed { index });
                }
                ApplyTask::Destroy { merged_into } => {
                    applier.destroy(&self.inner.engine, merged_into.map(|region| *region))?;
                    self.inner.post(cell, PeerMessage::Destroyed);
                }
            }
        }
        cell.stalled.store(applier.is_stalled(), Ordering::Release);
        Ok(())
    }

    fn apply_entries(&self, cell: &Arc<Cell>, applier: &mut Applier, entries: Vec<Entry>, proposals: Vec<Proposal>) -> Result<()> {
        let mut applied = applier.apply(&self.inner.engine, entries, proposals, self)?;
        cell.size.lock().add_written(applied.written_bytes, applied.written_keys);
        if let Some(catch_up) = applied.waits_for.take() {
            cell.stalled.store(true, Ordering::Release);
            match self.inner.cell(catch_up.source_id) {
                Some(source) => self.inner.post(&source, PeerMessage::CatchUp(catch_up)),
                // It is about to come from a split here; the next tick looks again.
                None => {
                    tracing::info!(region_id = cell.region_id, source = catch_up.source_id, "a merge waits for a region that is not here")
                }
            }
        }
        for change in &applied.changes {
            if let RegionChange::Split { .. } | RegionChange::CommitMerge { .. } = change {
                cell.size.lock().forget();
            }
            if let RegionChange::PrepareMerge { state, .. } = change
                && let Some(target) = state.target.as_ref().and_then(|target| self.inner.cell(target.id))
                && target.stalled.load(Ordering::Acquire)
            {
                self.inner.post_tasks(&target, vec![ApplyTask::Resume]);
            }
        }
        self.inner.post(cell, PeerMessage::Applied(applied));
        Ok(())
    }
}

/// Entries that follow each other are applied together.
fn joined(tasks: VecDeque<ApplyTask>) -> Vec<ApplyTask> {
    let mut out: Vec<ApplyTask> = Vec::with_capacity(tasks.len());
    for task in tasks {
        match (out.last_mut(), task) {
            (Some(ApplyTask::Entries { entries, proposals }), ApplyTask::Entries { entries: more, proposals: their }) => {
                entries.extend(more);
                proposals.extend(their);
            }
            (_, task) => out.push(task),
        }
    }
    out
}
