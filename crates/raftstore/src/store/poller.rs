//! Rounds: a poller takes regions with mail, steps them all, writes what they want written in one batch with one sync, and tells.

use std::sync::Arc;

use engine::{Engine, WriteBatch};
use env::Instant;
use parking_lot::MutexGuard;
use proto::metapb::Region;

use super::{
    RaftStore, RegionReport,
    cell::{Cell, PeerMessage},
    jobs::Job,
};
use crate::{
    ApplyTask, Effects, Error, Peer, Result, SplitFrom,
    apply::note_installing,
    log::{LogBatch, LogOp},
};

/// What can only be done when no replica is locked any more.
enum Afterwards {
    Create { regions: Vec<Region>, under: Option<SplitFrom> },
    Remove(Arc<Cell>),
    RemoveMerged { source_id: u64 },
    CheckMerge(Arc<Cell>),
}

struct Polled<'a> {
    cell: &'a Arc<Cell>,
    peer: MutexGuard<'a, Peer>,
    effects: Effects,
    persists: bool,
}

impl<E: Engine> RaftStore<E> {
    /// A round; waits for mail if told so. False when the store stops.
    pub fn poll(&self, wait: bool) -> bool {
        let Some(cells) = self.inner.polls.take(self.inner.config.max_regions_per_round, wait) else { return false };
        if cells.is_empty() {
            return false;
        }
        match self.round(&cells) {
            Ok(()) => {
                cells.iter().for_each(|cell| self.inner.polled(cell));
                true
            }
            Err(error) => {
                self.inner.fatal(&error);
                false
            }
        }
    }

    fn round(&self, cells: &[Arc<Cell>]) -> Result<()> {
        let now = self.inner.env.now();
        let mut batch = LogBatch::default();
        let mut afterwards = Vec::new();
        let mut polled = Vec::with_capacity(cells.len());
        for cell in cells {
            if self.inner.refuses_mail(cell) {
                continue;
            }
            let mut one = Polled { cell, peer: cell.peer.lock(), effects: Effects::default(), persists: false };
            for message in cell.take_mail() {
                self.handle(&mut one, now, message, &mut afterwards)?;
            }
            if !one.peer.has_snapshot() || self.make_way_for_snapshot(cell, &one.peer) {
                one.persists = one.peer.collect(now, &mut batch, &mut one.effects)?;
            }
            polled.push(one);
        }
        let mut sync = false;
        for one in &mut polled {
            sync |= one.effects.must_sync;
            let waits_for_log = self.note_installing(one, &mut afterwards)?;
            // A leader's entries travel while its own copy is being written.
            self.tell(one, &mut afterwards);
            one.effects.apply = waits_for_log;
        }
        if !batch.is_empty() {
            self.inner.log.write(batch, sync && self.inner.config.sync_log)?;
        }
        for one in polled.iter_mut().filter(|one| one.persists) {
            one.peer.persisted(&mut one.effects);
            self.tell(one, &mut afterwards);
        }
        drop(polled);
        for after in afterwards {
            match after {
                Afterwards::Create { regions, under } => self.create_from_split(regions, under)?,
                Afterwards::Remove(cell) => self.remove(&cell)?,
                Afterwards::RemoveMerged { source_id } => self.remove_merged(source_id)?,
                Afterwards::CheckMerge(cell) => self.check_merge(&cell)?,
            }
        }
        Ok(())
    }

    fn handle(&self, one: &mut Polled<'_>, now: Instant, message: PeerMessage, afterwards: &mut Vec<Afterwards>) -> Result<()> {
        let Polled { cell, peer, effects, .. } = one;
        match message {
            PeerMessage::Tick => {
                cell.tick_waits.store(false, std::sync::atomic::Ordering::Release);
                peer.tick(effects);
                effects.report |= peer.is_report_due(super::REPORT_TICKS);
            }
            PeerMessage::Raft(message) if peer.is_told_to_go(&message) => effects.apply.push(ApplyTask::Destroy { merged_into: None }),
            PeerMessage::Raft(message) => match peer.step(now, *message, effects) {
                Err(error @ Error::Corrupted { .. }) => tracing::warn!(region_id = cell.region_id, %error, "a message was dropped"),
                result => result?,
            },
            PeerMessage::Write(write) => peer.propose_write(now, write, effects),
            PeerMessage::Admin { epoch, request, done } => peer.propose_admin(now, epoch, &request, done, effects),
            PeerMessage::Read(done) => peer.read(now, done, effects),
            PeerMessage::RenewLease => peer.renew_lease_early(),
            PeerMessage::Wake => peer.wake_everybody(effects),
            PeerMessage::Campaign => peer.campaign(),
            PeerMessage::Report => effects.report = true,
            PeerMessage::Applied(applied) => peer.on_applied(applied, effects)?,
            PeerMessage::SnapshotMade(snapshot) => peer.on_snapshot_made(snapshot.map(|snapshot| *snapshot)),
            PeerMessage::SnapshotSent { to_peer, arrived } => peer.on_snapshot_sent(to_peer, arrived),
            PeerMessage::Installed { index } => peer.on_installed(index, effects),
            PeerMessage::CatchUp(catch_up) => peer.catch_up(catch_up),
            PeerMessage::AskWhetherStale => peer.ask_whether_stale(effects),
            PeerMessage::Destroyed => afterwards.push(Afterwards::Remove((*cell).clone())),
        }
        Ok(())
    }

    /// A snapshot takes the place of all entries that were committed before it. None of them may be on its way to the engine then, nor the news of
    /// it: what has not been applied is left out, what has is heard of first. False when that is still to come.
    fn make_way_for_snapshot(&self, cell: &Cell, peer: &Peer) -> bool {
        let mut applier = cell.applier.lock();
        if applier.rounds() != peer.rounds_heard_of() {
            return false;
        }
        cell.leave_out_entries(&mut applier);
        true
    }

    /// Before the log begins anew the engine says that a snapshot has to be put in place; answers that work, which waits until the log has
    /// begun anew: the other way round a crash would leave an engine that is ahead of its log.
    fn note_installing(&self, one: &mut Polled<'_>, afterwards: &mut Vec<Afterwards>) -> Result<Vec<ApplyTask>> {
        let Some(region) = one.effects.installing.take() else { return Ok(Vec::new()) };
        let tasks = std::mem::take(&mut one.effects.apply);
        for task in &tasks {
            if let ApplyTask::Install { index, term, .. } = task {
                let mut batch = WriteBatch::new();
                note_installing(&region, *index, *term, &mut batch);
                // Regions that have become parts of this one are over with it; what they hold is replaced by the snapshot.
                for cell in self.end_covered(&region, &mut batch) {
                    afterwards.push(Afterwards::Remove(cell));
                }
                self.inner.engine.write(batch, true)?;
            }
        }
        Ok(tasks)
    }

    /// Does what a replica wants done. Others see its new state before anybody is told anything.
    fn tell(&self, one: &mut Polled<'_>, afterwards: &mut Vec<Afterwards>) {
        let effects = std::mem::take(&mut one.effects);
        one.cell.publish(&one.peer);
        for (done, error) in effects.failed {
            done.fail(&error);
        }
        for (done, error) in effects.failed_reads {
            done(Err(error));
        }
        for message in effects.messages {
            self.inner.transport.send(message);
        }
        for (message, id) in effects.snapshots {
            self.send_snapshot(one.cell, message, &id);
        }
        self.inner.post_tasks(one.cell, effects.apply);
        if let Some(index) = effects.log_cut {
            self.inner.jobs.push(Job::CutLog { region_id: one.cell.region_id, index });
        }
        if effects.check_size {
            self.inner.jobs.push(Job::CheckSize { cell: one.cell.clone() });
        }
        if effects.report {
            self.report_now(one);
        }
        if !effects.created.is_empty() {
            afterwards.push(Afterwards::Create { regions: effects.created, under: effects.created_under });
        }
        for source_id in effects.merged {
            afterwards.push(Afterwards::RemoveMerged { source_id });
        }
        if effects.check_merge {
            afterwards.push(Afterwards::CheckMerge(one.cell.clone()));
        }
        if effects.destroyed {
            afterwards.push(Afterwards::Remove(one.cell.clone()));
        }
    }

    fn send_snapshot(&self, cell: &Arc<Cell>, message: proto::raft_serverpb::RaftMessage, id: &crate::SnapshotId) {
        let (store, cell) = (self.clone(), cell.clone());
        let to_peer = message.to_peer.map_or(0, |peer| peer.id);
        let path = self.inner.snapshots.made(id);
        let file = path.clone();
        let done = move |arrived| {
            store.inner.snapshots.remove(&path);
            store.inner.post(&cell, PeerMessage::SnapshotSent { to_peer, arrived });
        };
        self.inner.transport.send_snapshot(message, file, Box::new(done));
    }

    fn report_now(&self, one: &mut Polled<'_>) {
        let peer = &mut one.peer;
        if !peer.is_leader() {
            return;
        }
        let region = (**peer.region()).clone();
        // A figure for balancing: none is better than stopping over it.
        let on_disk = self.size_on_disk(&region).unwrap_or(0);
        let mut size = one.cell.size.lock();
        let estimate = size.estimate();
        if size.begin_reading(on_disk) {
            self.inner.jobs.push(Job::Measure { cell: one.cell.clone() });
        }
        let report = RegionReport {
            size_bytes: estimate.map_or(on_disk.max(size.bytes()), |size| size.bytes),
            keys: estimate.map(|size| size.keys),
            region,
            leader: *peer.peer(),
            term: peer.term(),
            peer: peer.take_report(),
        };
        drop(size);
        self.inner.placement.report_region(report);
    }

    /// Parts of a split region begin to live here; they campaign at once where the region was led from here.
    fn create_from_split(&self, regions: Vec<Region>, under: Option<SplitFrom>) -> Result<()> {
        for region in regions {
            let Some(me) = crate::region::peer_on_store(&region, self.inner.store_id).copied() else { continue };
            if let Some(early) = self.inner.cell(region.id) {
                // A message created it before the split was applied here; it has no data, and what it voted is in the log.
                self.inner.cells.write().remove(&region.id);
                self.inner.retire(&early, &Error::StaleCommand);
            }
            let cell = self.load(me, region, crate::Origin::New)?;
            if let Some(split_from) = under {
                cell.set_split_from(split_from);
                self.inner.post(&cell, PeerMessage::Campaign);
            }
        }
        Ok(())
    }

    /// A replica's data are gone; its log and its place follow.
    pub(super) fn remove(&self, cell: &Arc<Cell>) -> Result<()> {
        let mut cells = self.inner.cells.write();
        if !cells.get(&cell.region_id).is_some_and(|found| Arc::ptr_eq(found, cell)) {
            return Ok(());
        }
        let batch = LogBatch { ops: vec![(cell.region_id, LogOp::Clean)] };
        self.inner.log.write(batch, self.inner.config.sync_log)?;
        cells.remove(&cell.region_id);
        drop(cells);
        self.inner.retire(cell, &Error::RegionNotFound(cell.region_id));
        tracing::info!(region_id = cell.region_id, peer_id = cell.peer_id, "a replica was removed");
        Ok(())
    }
}
