//! Messages of other stores.
//!
//! ```text
//!   for a replica that is here ─▶ its mailbox
//!   for one that has become a part of another region ─▶ its sender is told
//!   for one that is not ─▶ is it wanted? (a leader's first message, or a candidate's; not one that was removed)
//!                          does its range lie in a region here? then that one is still to be split: the message is dropped
//!                          else a replica without data is created; the leader will send it a snapshot
//! ```

use std::sync::Arc;

use engine::Engine;
use proto::{
    metapb::{self, Region},
    raft_serverpb::{PeerState, RaftMessage},
};
use protobuf::Message as _;
use raft::eraftpb::{Message, MessageType};

use super::{
    RaftStore,
    cell::{Cell, PeerMessage},
};
use crate::{Applier, Error, Origin, Peer, Result, SnapshotId, local_state, region};

impl<E: Engine> RaftStore<E> {
    /// A message has come. Messages that make no sense here are dropped: their senders send again.
    pub fn on_message(&self, message: RaftMessage) {
        let Some(to) = message.to_peer.filter(|to| to.store_id == self.inner.store_id) else { return };
        match self.inner.cell(message.region_id) {
            Some(cell) if cell.peer_id == to.id && message.is_tombstone && message.merge_target.is_some() => {
                if let Err(error) = self.on_merged_elsewhere(&cell, message) {
                    self.inner.fatal(&error);
                }
            }
            Some(cell) if cell.peer_id == to.id => self.inner.post(&cell, PeerMessage::Raft(Box::new(message))),
            Some(cell) if cell.peer_id < to.id => {
                // The region has another replica on this store by now; the one here was removed and has not heard of it.
                self.inner.post_tasks(&cell, vec![crate::ApplyTask::Destroy { merged_into: None }]);
            }
            Some(_) => {}
            None => match self.create_for(to, &message) {
                Ok(Some(cell)) => self.inner.post(&cell, PeerMessage::Raft(Box::new(message))),
                Ok(None) => {}
                Err(error) => self.inner.fatal(&error),
            },
        }
    }

    /// A snapshot message whose file is in the snapshot directory. An error says that it is not wanted; the file is gone then.
    pub fn on_snapshot(&self, message: RaftMessage) -> Result<()> {
        let region_id = message.region_id;
        let inner = Message::parse_from_bytes(&message.message).map_err(|_| Error::Corrupted { what: "message", region_id })?;
        let id = SnapshotId::of(region_id, inner.get_snapshot());
        let region = crate::peer::snapshot_region(region_id, inner.get_snapshot())?;
        let wanted = self.inner.cell(region_id).is_some() && self.may_cover_others(&region);
        if !wanted {
            self.inner.snapshots.remove(&self.inner.snapshots.received(&id));
            return Err(Error::RegionNotFound(region_id));
        }
        self.on_message(message);
        Ok(())
    }

    /// Where snapshot files are.
    pub fn snapshots(&self) -> &crate::SnapshotDirectory {
        &self.inner.snapshots
    }

    /// Other regions here that have keys of a range.
    pub(super) fn overlapping(&self, region_id: u64, start: &[u8], end: &[u8]) -> Vec<Arc<Cell>> {
        let overlaps = |cell: &&Arc<Cell>| {
            let view = cell.view();
            cell.region_id != region_id && region::is_initialized(&view.region) && region::overlap(start, end, &view.region)
        };
        self.inner.cells.read().values().filter(overlaps).cloned().collect()
    }

    fn create_for(&self, me: metapb::Peer, message: &RaftMessage) -> Result<Option<Arc<Cell>>> {
        if message.is_tombstone {
            return Ok(None);
        }
        let their_conf_ver = message.region_epoch.unwrap_or_default().conf_ver;
        let known = local_state::region_state(&self.inner.engine, message.region_id)?;
        if let Some(known) = known.filter(|known| known.state == PeerState::Tombstone as i32) {
            self.tell_of_merge(&known, message);
            if known.region.as_ref().is_some_and(|region| region::epoch(region).conf_ver >= their_conf_ver) {
                return Ok(None);
            }
        }
        if message.extra_msg.is_some() || !is_first_message(message) {
            return Ok(None);
        }
        let overlapping = self.overlapping(message.region_id, &message.start_key, &message.end_key);
        if overlapping.iter().any(|cell| cell.merged_into.lock().is_none()) {
            // As a rule the region is about to come from a split of these.
            self.ask_whether_stale(&overlapping);
            return Ok(None);
        }
        let region = Region { id: message.region_id, ..Default::default() };
        let cell = self.load(me, region, Origin::New)?;
        tracing::info!(region_id = message.region_id, peer_id = me.id, "a replica without data was created");
        Ok(Some(cell))
    }

    /// Opens a replica from what is on disk and gives it its place; the one that has it already, if there is one.
    pub(super) fn load(&self, me: metapb::Peer, region: Region, origin: Origin) -> Result<Arc<Cell>> {
        let mut cells = self.inner.cells.write();
        if let Some(cell) = cells.get(&region.id) {
            return Ok(cell.clone());
        }
        let (state, local) = match region::is_initialized(&region) {
            true => {
                let state = local_state::apply_state(&self.inner.engine, region.id)?
                    .ok_or(Error::Corrupted { what: "apply state (it is missing)", region_id: region.id })?;
                (state, local_state::region_state(&self.inner.engine, region.id)?.unwrap_or_default())
            }
            false => Default::default(),
        };
        let inner = &self.inner;
        let mut peer = Peer::open(inner.config.clone(), me, Arc::new(region.clone()), &state, inner.log.clone(), origin)?;
        if let Some(merging) = local.merge_state.clone().filter(|_| local.state == PeerState::Merging as i32) {
            peer.restore_merging(merging);
        }
        let cell = Arc::new(Cell::new(peer, Applier::new(me.id, region, state).with_local_state(&local)));
        cells.insert(cell.region_id, cell.clone());
        Ok(cell)
    }
}

/// Whether a replica may be created for a message: its sender does not know, or wants to find out, that there is none.
fn is_first_message(message: &RaftMessage) -> bool {
    let Ok(inner) = Message::parse_from_bytes(&message.message) else { return false };
    match inner.get_msg_type() {
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => true,
        MessageType::MsgHeartbeat => inner.commit == 0,
        _ => false,
    }
}
