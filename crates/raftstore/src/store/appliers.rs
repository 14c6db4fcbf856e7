//! The apply pool: what replicas have committed goes to the engine.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
};

use engine::Engine;

use super::{
    APPLY_AT_ONCE, RaftStore,
    cell::{Cell, PeerMessage},
    jobs::Job,
};
use crate::{ApplyTask, Result, SnapshotId, snapshot};

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
                ApplyTask::Entries { entries, proposals } => {
                    let applied = applier.apply(&self.inner.engine, entries, proposals)?;
                    cell.size_bytes.fetch_add(applied.written_bytes, Ordering::Relaxed);
                    self.inner.post(cell, PeerMessage::Applied(applied));
                }
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
                ApplyTask::Destroy if applier.is_removed() => {}
                ApplyTask::Destroy => {
                    applier.destroy(&self.inner.engine)?;
                    self.inner.post(cell, PeerMessage::Destroyed);
                }
            }
        }
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
