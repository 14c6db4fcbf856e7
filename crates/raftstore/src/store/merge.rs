//! Merges as a store sees them: one region here takes over another one here, or a replica here has missed that its region did.
//!
//! ```text
//!   kv: merge source into target ─▶ PrepareMerge into the source's log
//!   every store, while its source is merging:
//!       the target is led from here, at the very epoch ──▶ CommitMerge into the target's log
//!       the target has passed that epoch by its log, and the source is led from here ──▶ RollbackMerge into the source's log
//!       the same by a snapshot: its log was not seen here ──▶ the source is led from the next store
//! ```
//!
//! A replica that was cut off meanwhile catches up by the target's log, which brings the end of the source's. When the target's log is too
//! short for that, the target's leader sends a snapshot that covers the source's range. It is taken only when it is known that the source has
//! become a part of that region, which the other stores know that have ended their replicas of it:
//!
//! ```text
//!   snapshot in the way of a source ──▶ its other members are asked ──▶ "merged into T at version v"
//!       T here is at v already, or was removed after that  ──▶ the source's replica is removed
//!       else it stays: T's log may need it; the snapshot, when it is sent again, ends it in the batch that begins its installation
//! ```

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use engine::{Engine, WriteBatch};
use proto::{
    metapb::{self, PeerRole, Region, RegionEpoch},
    raft_cmdpb::{AdminCmdType, AdminRequest, CommitMergeRequest, PrepareMergeRequest, RollbackMergeRequest, TransferLeaderRequest},
    raft_serverpb::{MergeState, PeerState, RaftMessage, RegionLocalState},
};
use protobuf::Message as _;

use super::{
    RaftStore,
    cell::{Cell, PeerMessage},
};
use crate::{ApplyTask, Error, RegionView, Result, apply::Sources, apply::check_pair, local_state, region};

/// How long one region's applier waits for another's before it looks again at the next tick. They never wait for each other in a circle for
/// longer than that.
const WAIT_FOR_SOURCE: Duration = Duration::from_millis(20);

impl<E: Engine> Sources for RaftStore<E> {
    fn hand_over(&self, source_id: u64, commit: u64) -> Option<u64> {
        let source = self.inner.cell(source_id)?;
        source.applier.try_lock_for(WAIT_FOR_SOURCE)?.hand_over(commit)
    }
}

fn is_in(inner: &Region, outer: &Region) -> bool {
    inner.start_key >= outer.start_key && (outer.end_key.is_empty() || !inner.end_key.is_empty() && inner.end_key <= outer.end_key)
}

/// What is to become of a merge, as far as this store can tell.
enum Prospect {
    /// It may still happen.
    Open,
    /// It cannot happen any more.
    Void,
    /// It is over, but how is not known here: the target came out of a snapshot. Another member may have seen it.
    NotSeenHere,
}

impl<E: Engine> RaftStore<E> {
    /// Begins to merge a region that is led from here into a neighbour, as both are known to the caller. The target takes it over, or it is
    /// given back when the target has changed meanwhile; both without anything more being asked.
    pub async fn merge(&self, region_id: u64, epoch: RegionEpoch, target: Region) -> Result<Vec<Region>> {
        let here = self.view(target.id)?;
        region::check_epoch(&here.region, &region::epoch(&target))?;
        if here.merging.is_some() {
            // It takes nothing over at this epoch.
            return Err(Error::Merging(target.id));
        }
        check_pair(&self.view(region_id)?.region, &here.region)?;
        let prepare = PrepareMergeRequest { min_index: 0, target: Some((*here.region).clone()) };
        let request = AdminRequest { cmd_type: AdminCmdType::PrepareMerge as i32, prepare_merge: Some(prepare), ..Default::default() };
        self.admin(region_id, epoch, request).await
    }

    /// Whether a region that is merging can be taken over by its target here, or never will be.
    pub(super) fn check_merge(&self, cell: &Arc<Cell>) -> Result<()> {
        let view = cell.view();
        let Some(state) = view.merging.clone() else { return Ok(()) };
        let Some(target) = &state.target else { return Err(Error::Corrupted { what: "merge", region_id: cell.region_id }) };
        if let Some(here) = self.inner.cell(target.id) {
            let there = here.view();
            if there.caught_up && there.region.region_epoch == target.region_epoch {
                return self.propose_commit(&view, &state, &here);
            }
            if !there.is_leader && here.resting.load(Ordering::Acquire) {
                self.inner.post(&here, PeerMessage::Wake);
            }
        }
        if !view.is_leader {
            return Ok(());
        }
        match self.prospect(cell.region_id, target)? {
            Prospect::Open => {}
            Prospect::Void => {
                tracing::info!(region_id = cell.region_id, target = target.id, "a merge is given up: its target has changed");
                let rollback = Some(RollbackMergeRequest { commit: state.commit });
                let cmd_type = AdminCmdType::RollbackMerge as i32;
                self.propose(cell, &view.region, AdminRequest { cmd_type, rollback_merge: rollback, ..Default::default() });
            }
            Prospect::NotSeenHere => {
                let peer = self.next_voter(&view.region);
                let transfer_leader = peer.map(|peer| TransferLeaderRequest { peer: Some(peer) });
                let cmd_type = AdminCmdType::TransferLeader as i32;
                self.propose(cell, &view.region, AdminRequest { cmd_type, transfer_leader, ..Default::default() });
            }
        }
        Ok(())
    }

    /// The voter on the store after this one, around.
    fn next_voter(&self, region: &Region) -> Option<metapb::Peer> {
        let own = self.inner.store_id;
        let voters = region.peers.iter().filter(|peer| peer.store_id != own && region::role(peer) == PeerRole::Voter);
        voters.min_by_key(|peer| (peer.store_id < own, peer.store_id)).copied()
    }

    fn propose(&self, cell: &Arc<Cell>, at: &Region, request: AdminRequest) {
        let region_id = cell.region_id;
        // What is not done is seen, and asked for, again.
        let done = move |result: Result<Vec<Region>>| match result {
            Ok(_) => tracing::info!(region_id, "a step of a merge was made"),
            Err(error) => tracing::debug!(region_id, %error, "a step of a merge was not made"),
        };
        self.inner.post(cell, PeerMessage::Admin { epoch: region::epoch(at), request: Box::new(request), done: Box::new(done) });
    }

    fn propose_commit(&self, source: &RegionView, state: &MergeState, target: &Arc<Cell>) -> Result<()> {
        let region_id = source.region.id;
        let mut entries = Vec::new();
        if state.min_index <= state.commit {
            self.inner.log.entries(region_id, state.min_index, state.commit + 1, None, &mut entries)?;
        }
        let encode = |entry: &raft::eraftpb::Entry| entry.write_to_bytes().map(Into::into);
        let entries = entries.iter().map(encode).collect::<Result<_, _>>();
        let entries = entries.map_err(|_| Error::Corrupted { what: "entries of a merge", region_id })?;
        let commit = CommitMergeRequest { source: Some((*source.region).clone()), commit: state.commit, entries };
        let request = AdminRequest { cmd_type: AdminCmdType::CommitMerge as i32, commit_merge: Some(commit), ..Default::default() };
        let at = state.target.clone().unwrap_or_default();
        self.propose(target, &at, request);
        Ok(())
    }

    /// What is to become of a merge. It is void when the target has seen its whole log up to where no CommitMerge for the epoch `target` can
    /// follow. The source is looked at after it: had the target taken it over on the way, it would be gone.
    fn prospect(&self, source_id: u64, target: &Region) -> Result<Prospect> {
        let wanted = region::epoch(target);
        let there = local_state::region_state(&self.inner.engine, target.id)?;
        let source = local_state::region_state(&self.inner.engine, source_id)?;
        if source.is_none_or(|source| source.state != PeerState::Merging as i32) {
            return Ok(Prospect::Open);
        }
        let unknown = || match self.is_held_by_newer(target) {
            true => Prospect::NotSeenHere,
            false => Prospect::Open,
        };
        let Some(RegionLocalState { region: Some(there), installed_version, state, .. }) = there else { return Ok(unknown()) };
        let now = region::epoch(&there);
        let seen = match now.version == wanted.version {
            // A region that is merging itself takes nothing over, and was so from this epoch's first moment.
            true => now.conf_ver > wanted.conf_ver || state == PeerState::Merging as i32,
            false => now.version > wanted.version && installed_version <= wanted.version,
        };
        Ok(match seen {
            _ if state == PeerState::Applying as i32 => Prospect::Open,
            true => Prospect::Void,
            false if now.version > wanted.version => Prospect::NotSeenHere,
            // Perhaps its replica here was ended before it had applied all.
            false => unknown(),
        })
    }

    /// Whether keys of a region are in a region here that came after it.
    fn is_held_by_newer(&self, region: &Region) -> bool {
        let version = region::epoch(region).version;
        let others = self.overlapping(region.id, &region.start_key, &region.end_key);
        others.iter().any(|cell| region::epoch(&cell.view().region).version > version)
    }

    /// The replica of a region that was taken over ends; its data live on.
    pub(super) fn remove_merged(&self, source_id: u64) -> Result<()> {
        self.inner.cell(source_id).map_or(Ok(()), |source| self.remove(&source))
    }

    /// Whether a snapshot's range is free here, or held by regions only that have become parts of it. A region that has become a part of it need not
    /// lie in it any more: it may have been split since, and whoever has the rest now brings a snapshot of its own.
    pub(super) fn may_cover_others(&self, region: &Region) -> bool {
        let others = self.overlapping(region.id, &region.start_key, &region.end_key);
        let ids: Vec<u64> = others.iter().map(|cell| cell.region_id).chain([region.id]).collect();
        let merged = |cell: &&Arc<Cell>| {
            let known = cell.merged_into.lock();
            known.as_ref().is_some_and(|into| {
                let is_older = region::epoch(into).version <= region::epoch(region).version;
                is_older && (into.id == region.id || ids.contains(&into.id) && is_in(&cell.view().region, region))
            })
        };
        let in_the_way: Vec<Arc<Cell>> = others.iter().filter(|cell| !merged(cell)).cloned().collect();
        self.ask_whether_stale(&in_the_way);
        in_the_way.is_empty()
    }

    /// Has members of regions that are in the way of another one asked whether these are still there.
    pub(super) fn ask_whether_stale(&self, cells: &[Arc<Cell>]) {
        for cell in cells {
            self.inner.post(cell, PeerMessage::AskWhetherStale);
        }
    }

    /// Ends the replicas a snapshot covers, see [`RaftStore::may_cover_others`]: they write nothing from here on. Answers them; their logs
    /// may go when the batch is on disk.
    pub(super) fn end_covered(&self, region: &Region, batch: &mut WriteBatch) -> Vec<Arc<Cell>> {
        let covered = self.overlapping(region.id, &region.start_key, &region.end_key);
        for cell in &covered {
            let mut applier = cell.applier.lock();
            let merged_into = cell.merged_into.lock().clone();
            assert!(
                merged_into.as_ref().is_some_and(|into| into.id == region.id || is_in(applier.region(), region)),
                "region {}: a snapshot covers region {}, of which it is not known that it has become a part of it",
                region.id,
                cell.region_id
            );
            applier.end(merged_into, batch);
        }
        covered
    }

    /// A message has come for a replica that is no more here: if that is because its region has become a part of another one, the sender
    /// is told.
    pub(super) fn tell_of_merge(&self, known: &RegionLocalState, message: &RaftMessage) {
        let target = known.merge_state.as_ref().and_then(|state| state.target.clone());
        let (Some(target), Some(region)) = (target, &known.region) else { return };
        self.inner.transport.send(RaftMessage {
            region_id: region.id,
            from_peer: message.to_peer,
            to_peer: message.from_peer,
            region_epoch: region.region_epoch,
            is_tombstone: true,
            merge_target: Some(target),
            ..Default::default()
        });
    }

    /// A store that has ended its replica says what the region has become a part of.
    pub(super) fn on_merged_elsewhere(&self, cell: &Arc<Cell>, message: RaftMessage) -> Result<()> {
        let (Some(target), view) = (message.merge_target, cell.view()) else { return Ok(()) };
        if message.region_epoch.unwrap_or_default().version < region::epoch(&view.region).version {
            return Ok(());
        }
        let after = region::epoch(&target);
        let there = local_state::region_state(&self.inner.engine, target.id)?;
        let past = there.is_some_and(|there| {
            let now = there.region.as_ref().map(region::epoch).unwrap_or_default();
            let removed = there.state == PeerState::Tombstone as i32 && now.conf_ver > after.conf_ver;
            let is_settled = there.state == PeerState::Normal as i32 || there.state == PeerState::Merging as i32;
            removed || is_settled && now.version >= after.version
        });
        let alone = || self.overlapping(cell.region_id, &view.region.start_key, &view.region.end_key).is_empty();
        if past && region::is_initialized(&view.region) && alone() {
            tracing::info!(
                region_id = cell.region_id,
                target = target.id,
                "a replica is removed: its region has become a part of another one"
            );
            self.inner.post_tasks(cell, vec![ApplyTask::Destroy { merged_into: Some(Box::new(target)) }]);
        } else {
            *cell.merged_into.lock() = Some(target);
        }
        Ok(())
    }
}
