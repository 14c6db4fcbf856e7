//! One replica of a region: the consensus state machine and what surrounds it. Pure: it takes inputs and returns what is to be done.
//!
//! ```text
//!   tick, step(message), propose, read, on_applied …      a round of the store
//!        │
//!        ▼
//!   collect ─▶ entries and hard state into the round's log batch ── one write, one sync for all regions ──▶ persisted
//!        └──▶ a leader's messages, at once                                                                     └──▶ everybody's messages
//!   both ─▶ committed entries with their proposals, for the apply pool ─▶ on_applied
//! ```
//!
//! | file | what |
//! |---|---|
//! | `propose` | writes (joined to one entry while a round gathers) and changes of the region |
//! | `read` | lease and ReadIndex |
//! | `round` | collect, persisted |
//! | `applied` | what applied entries change here |
//! | `merge` | becoming a part of another region |
//! | `rest` | regions with nothing to do stop ticking |
//!
//! Invariants:
//! - Nothing is told to anybody that is not on disk: votes and acknowledgements leave after `persisted`.
//! - A proposal's `done` is called exactly once. When leadership is lost, [`Effects::failed`] holds what is to be told, and the caller
//!   publishes the new [`RegionView`] first: a reader that waited for the write then finds that its permission is gone.
//! - The lease is counted from before the message a majority answered was sent, never held while leadership is being handed over, and nobody
//!   that may have promised it to another process of this store votes until it is over ([`Peer::open`]).

mod applied;
mod merge;
mod propose;
mod read;
mod rest;
mod round;

use std::{collections::VecDeque, sync::Arc};

use env::Instant;
use proto::{
    metapb::{self, Region},
    raft_serverpb::{ExtraMessage, ExtraMessageType, MergeState, RaftApplyState, RaftMessage},
};
use protobuf::Message as _;
use raft::{
    RawNode, Ready, StateRole,
    eraftpb::{Message, MessageType, Snapshot},
};
use rustc_hash::FxHashMap;

pub use self::{
    applied::{Applied, RegionChange},
    propose::{AdminDone, Done, Proposal, WriteProposal},
    read::ReadDone,
};
pub(crate) use self::{propose::changes, round::snapshot_region};
use crate::{Config, Error, Result, SnapshotId, log::RaftLog, peer_storage::PeerStorage, region};

/// What others may know of a replica without asking its poller.
#[derive(Clone, Debug)]
pub struct RegionView {
    /// The region as applied here.
    pub region: Arc<Region>,
    /// The current term.
    pub term: u64,
    /// Who leads, if that is known.
    pub leader: Option<metapb::Peer>,
    /// Whether this replica leads.
    pub is_leader: bool,
    /// Whether it has applied everything that was committed before its term; a leader that has not serves nothing.
    pub caught_up: bool,
    /// The region is to become a part of another one: it serves nothing. Set with that having been proposed.
    pub is_merging: bool,
    /// The same as applied: what it becomes a part of, and where in its log that was said.
    pub merging: Option<Arc<MergeState>>,
    /// Until when reads may be served without asking the others.
    pub lease_until: Option<Instant>,
}

/// The region that another one was split off, while it was led from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitFrom {
    /// Its id.
    pub region_id: u64,
    /// The term in which it was led from here when the split was applied.
    pub term: u64,
    /// The version that both had after the split.
    pub version: u64,
}

/// Work for the region's applier, in order.
pub enum ApplyTask {
    /// Committed entries, with the proposals made here for some of them.
    Entries {
        /// The entries.
        entries: Vec<raft::eraftpb::Entry>,
        /// In the order of the entries.
        proposals: Vec<Proposal>,
    },
    /// A snapshot of what has been applied.
    MakeSnapshot,
    /// The region's data are replaced by those of a snapshot that has been received.
    Install {
        /// The region as of the snapshot.
        region: Box<Region>,
        /// Its last index.
        index: u64,
        /// Its last term.
        term: u64,
    },
    /// The replica is removed without an entry of its log saying so.
    Destroy {
        /// Its region is a part of this one now.
        merged_into: Option<Box<Region>>,
    },
    /// A replica of another region that entries waited for may have caught up.
    Resume,
}

/// What is to be done after a step of a replica.
#[derive(Default)]
pub struct Effects {
    /// For other stores.
    pub messages: Vec<RaftMessage>,
    /// Messages that go with a snapshot's file.
    pub snapshots: Vec<(RaftMessage, SnapshotId)>,
    /// For the region's applier.
    pub apply: Vec<ApplyTask>,
    /// Regions that came from a split and begin to live here.
    pub created: Vec<Region>,
    /// Given when this replica leads the region that was split: those that came from it hold elections at once.
    pub created_under: Option<SplitFrom>,
    /// What callers are told after the view was published.
    pub failed: Vec<(Done, Error)>,
    /// The same for readers.
    pub failed_reads: Vec<(ReadDone, Error)>,
    /// The log below this index is not needed any more.
    pub log_cut: Option<u64>,
    /// A snapshot replaces everything: before the log is written, the engine must say so.
    pub installing: Option<Box<Region>>,
    /// Whether the log batch holds something that must be on disk before anything is told to others.
    pub must_sync: bool,
    /// Whether the placement driver should hear of the region.
    pub report: bool,
    /// Whether the region may be large enough to be split.
    pub check_size: bool,
    /// Regions that this one has taken over: their replicas here are over.
    pub merged: Vec<u64>,
    /// Whether it is time to see if the region can be taken over, or will not be.
    pub check_merge: bool,
    /// The replica is gone.
    pub destroyed: bool,
}

/// How much of what the placement driver asks for a replica knows itself.
#[derive(Clone, Debug, Default)]
pub struct PeerReport {
    /// Members that have not been heard of, with the ticks since.
    pub down_ticks: Vec<(metapb::Peer, u64)>,
    /// Members that are behind.
    pub pending: Vec<metapb::Peer>,
    /// Bytes written since the last report.
    pub written_bytes: u64,
    /// Keys written since the last report.
    pub written_keys: u64,
}

/// A replica.
pub struct Peer {
    config: Arc<Config>,
    peer: metapb::Peer,
    raw: RawNode<PeerStorage>,
    /// A round that is being written.
    pending: Option<Ready>,
    staged: Option<propose::StagedWrite>,
    proposals: VecDeque<Proposal>,
    reads: read::Reads,
    lease_until: Option<Instant>,
    /// Index of a split that is committed and has not been applied here: until then the lease says nothing about the parts.
    splitting: Option<u64>,
    /// Until then no vote is given: this process may have promised a lease before it was restarted.
    no_votes_until: Option<Instant>,
    /// Members of other regions' states that messages came from.
    seen: FxHashMap<u64, metapb::Peer>,
    rest: rest::Rest,
    merging: merge::Merging,
    was_leader: bool,
    /// Ticks since each member was heard of; leaders only.
    silent_ticks: FxHashMap<u64, u64>,
    /// Members that are behind or silent, as the placement driver was told last.
    troubled: usize,
    log_bytes: u64,
    written: PeerReport,
    size_hint: u64,
    ticks: u64,
    /// A snapshot is being put in place: until then the library would look for entries that are in it, if it held an election.
    installing: bool,
    /// How often it has heard of entries applied.
    rounds_heard_of: u64,
    removed: bool,
}

/// How a replica begins.
pub enum Origin {
    /// It was here before the process was restarted: it may have voted, and promised leases, a moment ago.
    Restarted(Instant),
    /// It comes from a split, or from a message of a leader that wants it.
    New,
}

impl Peer {
    /// A replica from what is on disk; `region` without members for one that will get a snapshot.
    pub fn open(
        config: Arc<Config>,
        peer: metapb::Peer,
        region: Arc<Region>,
        apply: &RaftApplyState,
        log: Arc<dyn RaftLog>,
        origin: Origin,
    ) -> Result<Self> {
        let storage = PeerStorage::open(region, apply, log)?;
        let raft_config = raft::Config {
            id: peer.id,
            election_tick: config.election_ticks,
            heartbeat_tick: config.heartbeat_ticks,
            applied: apply.applied_index,
            max_size_per_msg: config.max_message_bytes,
            max_inflight_msgs: config.max_inflight_messages,
            check_quorum: true,
            pre_vote: true,
            max_committed_size_per_ready: 16 << 20,
            ..raft::Config::default()
        };
        let raw = RawNode::new(&raft_config, storage, &slog::Logger::root(slog::Discard, slog::o!()))?;
        let no_votes_until = match origin {
            Origin::Restarted(now) => Some(now + config.election_timeout()),
            Origin::New => None,
        };
        Ok(Self {
            config,
            peer,
            raw,
            pending: None,
            staged: None,
            proposals: VecDeque::new(),
            reads: read::Reads::default(),
            lease_until: None,
            splitting: None,
            no_votes_until,
            seen: FxHashMap::default(),
            rest: rest::Rest::default(),
            merging: merge::Merging::default(),
            was_leader: false,
            silent_ticks: FxHashMap::default(),
            troubled: 0,
            log_bytes: 0,
            written: PeerReport::default(),
            size_hint: 0,
            ticks: 0,
            installing: false,
            rounds_heard_of: 0,
            removed: false,
        })
    }

    /// The region's id.
    pub fn region_id(&self) -> u64 {
        self.region().id
    }

    /// The replica's own entry.
    pub fn peer(&self) -> &metapb::Peer {
        &self.peer
    }

    /// The region as applied here.
    pub fn region(&self) -> &Arc<Region> {
        self.raw.store().region()
    }

    /// Whether this replica leads.
    pub fn is_leader(&self) -> bool {
        self.raw.raft.state == StateRole::Leader
    }

    /// The current term.
    pub fn term(&self) -> u64 {
        self.raw.raft.term
    }

    /// Index of the last entry in the log.
    pub fn last_index(&self) -> u64 {
        self.raw.raft.raft_log.last_index()
    }

    /// Index of the last applied entry.
    pub fn applied_index(&self) -> u64 {
        self.raw.store().applied_index()
    }

    /// Asks for votes without waiting for the election timeout.
    pub fn campaign(&mut self) {
        if self.installing {
            return;
        }
        // It fails only for a message that a node sends itself wrongly.
        let _ = self.raw.campaign();
    }

    /// What others may know.
    pub fn view(&self) -> RegionView {
        let is_leader = self.is_leader();
        let caught_up = is_leader && self.raw.raft.commit_to_current_term() && self.applied_to_current_term();
        let handing_over = self.raw.raft.lead_transferee.is_some();
        RegionView {
            region: self.region().clone(),
            term: self.term(),
            leader: self.leader(),
            is_leader,
            caught_up,
            is_merging: self.is_merging(),
            merging: self.merging.applied(),
            lease_until: self.lease_until.filter(|_| caught_up && !handing_over && !self.is_merging() && self.splitting.is_none()),
        }
    }

    fn applied_to_current_term(&self) -> bool {
        self.raw.raft.raft_log.term(self.applied_index()).is_ok_and(|term| term == self.term())
    }

    /// Who leads, if that is known.
    pub fn leader(&self) -> Option<metapb::Peer> {
        let id = self.raw.raft.leader_id;
        region::peer(self.region(), id).or_else(|| self.seen.get(&id)).filter(|_| id != 0).cloned()
    }

    /// Time passes.
    pub fn tick(&mut self, effects: &mut Effects) {
        self.ticks += 1;
        if self.rest.is_resting() || self.installing {
            return;
        }
        self.raw.tick();
        self.tick_merge(effects);
        if self.is_leader() {
            for ticks in self.silent_ticks.values_mut() {
                *ticks += 1;
            }
            self.cut_log_when_long(effects);
            let troubled = self.members_in_trouble();
            // The placement driver waits for a new member to catch up before it goes on.
            effects.report |= troubled != self.troubled;
            self.troubled = troubled;
        }
        self.tick_rest(effects);
    }

    fn members_in_trouble(&self) -> usize {
        let others = self.region().peers.iter().filter(|peer| peer.id != self.peer.id);
        others.map(|peer| usize::from(self.is_pending(peer.id)) + usize::from(self.silence_of(peer.id).is_some())).sum()
    }

    /// Whether a member needs entries that are not in the log any more, or has not answered yet.
    fn is_pending(&self, peer_id: u64) -> bool {
        let truncated = self.raw.store().truncated_index();
        self.raw.raft.prs().get(peer_id).is_none_or(|progress| progress.matched < truncated.max(1))
    }

    /// Ticks since a member was heard of, if these are too many.
    fn silence_of(&self, peer_id: u64) -> Option<u64> {
        self.silent_ticks.get(&peer_id).copied().filter(|silent| *silent > self.config.election_ticks as u64)
    }

    /// A message from another store.
    pub fn step(&mut self, now: Instant, message: RaftMessage, effects: &mut Effects) -> Result<()> {
        if let Some(from) = &message.from_peer {
            self.seen.insert(from.id, *from);
            self.silent_ticks.insert(from.id, 0);
        }
        if let Some(extra) = message.extra_msg {
            self.step_extra(extra, message.from_peer, effects);
            return Ok(());
        }
        let region_id = self.region_id();
        let inner = Message::parse_from_bytes(&message.message).map_err(|_| Error::Corrupted { what: "message", region_id })?;
        let asks_for_vote = matches!(inner.get_msg_type(), MessageType::MsgRequestVote | MessageType::MsgRequestPreVote);
        if asks_for_vote {
            if self.no_votes_until.is_some_and(|until| now < until) {
                return Ok(());
            }
            if self.answer_former_member(&message, effects) {
                return Ok(());
            }
        }
        if self.installing && inner.get_msg_type() == MessageType::MsgTimeoutNow {
            return Ok(());
        }
        self.rest.on_message(&inner);
        match self.raw.step(inner) {
            // From somebody who is not a member (any more), or a message that makes no sense here: nothing happens.
            Ok(()) | Err(raft::Error::StepPeerNotFound | raft::Error::StepLocalMsg | raft::Error::ProposalDropped) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Somebody who was removed and has not heard of it asks for votes: it is told. True when that is so.
    fn answer_former_member(&self, message: &RaftMessage, effects: &mut Effects) -> bool {
        let (Some(from), Some(their_epoch)) = (&message.from_peer, &message.region_epoch) else { return false };
        let ours = region::epoch(self.region());
        if region::peer(self.region(), from.id).is_some() || their_epoch.conf_ver >= ours.conf_ver {
            return false;
        }
        let mut answer = self.envelope(*from);
        answer.is_tombstone = true;
        effects.messages.push(answer);
        true
    }

    /// A message to a member, without content.
    fn envelope(&self, to: metapb::Peer) -> RaftMessage {
        let region = self.region();
        RaftMessage {
            region_id: region.id,
            from_peer: Some(self.peer),
            to_peer: Some(to),
            region_epoch: region.region_epoch,
            ..Default::default()
        }
    }

    fn extra(&self, to: metapb::Peer, kind: ExtraMessageType) -> RaftMessage {
        RaftMessage { extra_msg: Some(ExtraMessage { r#type: kind as i32 }), ..self.envelope(to) }
    }

    /// Sends messages of the consensus to where their receivers are.
    fn address(&self, messages: Vec<Message>, effects: &mut Effects) {
        let region = self.region();
        for message in messages {
            let Some(to) = region::peer(region, message.to).or_else(|| self.seen.get(&message.to)) else {
                // A member of a configuration that is not applied here yet; it is sent to again when it is.
                continue;
            };
            let mut envelope = self.envelope(*to);
            // Who has no data yet needs the range to see whether it lies in a region that is still to be split.
            if matches!(message.get_msg_type(), MessageType::MsgRequestVote | MessageType::MsgRequestPreVote)
                || message.get_msg_type() == MessageType::MsgHeartbeat && message.commit == 0
            {
                envelope.start_key = region.start_key.clone();
                envelope.end_key = region.end_key.clone();
            }
            let Ok(bytes) = message.write_to_bytes() else { continue };
            envelope.message = bytes.into();
            match message.get_msg_type() {
                MessageType::MsgSnapshot => effects.snapshots.push((envelope, SnapshotId::of(region.id, message.get_snapshot()))),
                _ => effects.messages.push(envelope),
            }
        }
    }

    /// A snapshot was made, or could not be.
    pub fn on_snapshot_made(&mut self, snapshot: Option<Snapshot>) {
        self.raw.mut_store().put_snapshot(snapshot);
        // Followers that wait for it are asked again with the next heartbeat.
        if self.is_leader() {
            self.raw.ping();
        }
    }

    /// A snapshot reached its receiver, or did not.
    pub fn on_snapshot_sent(&mut self, to_peer: u64, arrived: bool) {
        let status = if arrived { raft::SnapshotStatus::Finish } else { raft::SnapshotStatus::Failure };
        self.raw.report_snapshot(to_peer, status);
    }

    /// Messages to a member cannot be delivered at the moment.
    pub fn on_unreachable(&mut self, peer_id: u64) {
        self.raw.report_unreachable(peer_id);
    }

    /// Whether a leader's report is due that has not changed: once in so many ticks, not all regions at the same time.
    pub fn is_report_due(&self, every_ticks: u64) -> bool {
        self.is_leader() && (self.ticks + self.region_id()).is_multiple_of(every_ticks)
    }

    /// What the placement driver wants to know beside the region; counters start anew.
    pub fn take_report(&mut self) -> PeerReport {
        let mut report = std::mem::take(&mut self.written);
        if !self.is_leader() {
            return report;
        }
        // A member that has caught up by the next tick is news.
        self.troubled = self.members_in_trouble();
        let region = self.region().clone();
        for peer in region.peers.iter().filter(|peer| peer.id != self.peer.id) {
            if let Some(silent) = self.silence_of(peer.id) {
                report.down_ticks.push((*peer, silent));
            }
            if self.is_pending(peer.id) {
                report.pending.push(*peer);
            }
        }
        report
    }

    /// The sender of a message says that this replica was removed. True when it has to go.
    pub fn is_told_to_go(&self, message: &RaftMessage) -> bool {
        let ours = region::epoch(self.region());
        let theirs = message.region_epoch.unwrap_or_default();
        let merged = message.merge_target.is_some();
        message.is_tombstone && !merged && message.to_peer.is_some_and(|to| to.id == self.peer.id) && theirs.conf_ver > ours.conf_ver
    }

    /// Takes everybody's hopes: the replica is about to go, or the store is stopping.
    pub fn fail_all(&mut self, error: &Error, effects: &mut Effects) {
        self.flush_staged(effects);
        effects.failed.extend(self.proposals.drain(..).map(|proposal| (proposal.done, error.clone())));
        self.fail_reads(error, effects);
        self.lease_until = None;
    }
}
