//! The consensus library with its effects as data.
//!
//! A turn has two halves, with the disk between them:
//!
//! ```text
//!   take_turn ──▶ send_now, install, write, committed ──▶ (written) ──▶ written() ──▶ send, committed
//! ```

use proto::pdstate::SnapshotFile;
use raft::{
    RawNode, Ready, SnapshotStatus, StateRole,
    eraftpb::{ConfChange, ConfState, Entry, Message, Snapshot},
};

use super::{LogCache, LogWrite, Recovered};
use crate::{Error, Result};

/// Ticks without a leader before a member asks to be elected (at random up to twice of it), and for which no other is voted for.
pub const ELECTION_TICKS: usize = 10;
/// Ticks between signs of life of the leader.
pub const HEARTBEAT_TICKS: usize = 2;
/// Bytes of entries in one message.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;
/// Bytes of proposals that may wait for a majority.
const MAX_UNCOMMITTED_BYTES: u64 = 256 << 20;

/// What is to be done after inputs.
#[derive(Debug, Default)]
pub struct Turn {
    /// Messages that may leave at once.
    pub send: Vec<Message>,
    /// A snapshot of another member that replaces the state. It is in `write` too.
    pub install: Option<SnapshotFile>,
    /// What must be on disk before [`RaftGroup::written`] is called.
    pub write: LogWrite,
    /// Entries to apply, in order.
    pub committed: Vec<Entry>,
    /// Confirmations that this member led at the time they were asked for.
    pub confirmed: Vec<Vec<u8>>,
}

/// Where the group stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupStatus {
    /// The leader this member follows; 0 when it knows none.
    pub leader: u64,
    /// The term.
    pub term: u64,
    /// Whether this member leads.
    pub leads: bool,
}

/// One member's side of the group.
pub struct RaftGroup {
    raft: RawNode<LogCache>,
    log: LogCache,
    ready: Option<Ready>,
    conf_state: ConfState,
}

impl RaftGroup {
    /// A member that goes on where the disk says.
    pub fn new(member_id: u64, recovered: &Recovered, logger: &slog::Logger) -> Result<Self> {
        let (mut conf_state, mut at) = (ConfState::default(), (0, 0));
        if let Some(snapshot) = &recovered.snapshot {
            conf_state = conf_state_of(snapshot);
            at = (snapshot.index, snapshot.term);
        }
        let log = LogCache::new(recovered.hard_state.clone(), conf_state.clone(), at, recovered.entries.clone());
        let config = raft::Config {
            id: member_id,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied: at.0,
            max_size_per_msg: MAX_MESSAGE_BYTES,
            max_inflight_msgs: 256,
            max_uncommitted_size: MAX_UNCOMMITTED_BYTES,
            check_quorum: true,
            pre_vote: true,
            ..raft::Config::default()
        };
        let raft = RawNode::new(&config, log.clone(), logger)?;
        Ok(Self { raft, log, ready: None, conf_state })
    }

    /// The log.
    pub fn log(&self) -> &LogCache {
        &self.log
    }

    /// Voters and learners as of the last applied entry.
    pub fn conf_state(&self) -> &ConfState {
        &self.conf_state
    }

    /// Where the group stands.
    pub fn status(&self) -> GroupStatus {
        let raft = &self.raft.raft;
        GroupStatus { leader: raft.leader_id, term: raft.term, leads: raft.state == StateRole::Leader }
    }

    /// Whether leadership is being handed over.
    pub fn is_transferring(&self) -> bool {
        self.raft.raft.lead_transferee.is_some()
    }

    /// One unit of time passed.
    pub fn tick(&mut self) {
        self.raft.tick();
    }

    /// Asks for an election at once: for a group of one, which has nobody to wait for.
    pub fn campaign(&mut self) -> Result<()> {
        Ok(self.raft.campaign()?)
    }

    /// A message of another member.
    pub fn step(&mut self, message: Message) -> Result<()> {
        Ok(self.raft.step(message)?)
    }

    /// Asks for a command to be replicated; `context` comes back with the committed entry.
    pub fn propose(&mut self, context: Vec<u8>, command: Vec<u8>) -> Result<()> {
        if !self.status().leads || self.is_transferring() {
            return Err(Error::NoLeader);
        }
        self.raft.propose(context, command).map_err(|error| match error {
            raft::Error::ProposalDropped => Error::NoLeader,
            other => Error::from(other),
        })
    }

    /// Asks for a change of members. Only one is under way at a time; a second is silently replaced by an empty entry.
    pub fn propose_change(&mut self, context: Vec<u8>, change: &ConfChange) -> Result<()> {
        if !self.status().leads || self.raft.raft.has_pending_conf() {
            return Err(Error::NoLeader);
        }
        Ok(self.raft.propose_conf_change(context, change.clone())?)
    }

    /// Asks a majority whether this member still leads; `context` comes back in [`Turn::confirmed`].
    pub fn confirm(&mut self, context: Vec<u8>) {
        self.raft.read_index(context);
    }

    /// Hands leadership over.
    pub fn transfer(&mut self, to: u64) {
        self.raft.transfer_leader(to);
    }

    /// A message could not be delivered.
    pub fn report_unreachable(&mut self, member: u64) {
        self.raft.report_unreachable(member);
    }

    /// A snapshot left, or did not.
    pub fn report_snapshot(&mut self, member: u64, delivered: bool) {
        let status = if delivered { SnapshotStatus::Finish } else { SnapshotStatus::Failure };
        self.raft.report_snapshot(member, status);
    }

    /// Carries out a committed change of members.
    pub fn apply_change(&mut self, change: &ConfChange) -> Result<()> {
        self.conf_state = self.raft.apply_conf_change(change)?;
        Ok(())
    }

    /// Learners that have caught up with the leader's log: they can be made voters.
    pub fn learners_caught_up(&self) -> Vec<u64> {
        let raft = &self.raft.raft;
        if raft.state != StateRole::Leader {
            return Vec::new();
        }
        let caught_up = |id: &u64| {
            raft.prs().get(*id).is_some_and(|progress| {
                // One that has nothing yet has not caught up, however short the log is.
                progress.matched > 0 && progress.matched + 16 >= raft.raft_log.committed
            })
        };
        self.conf_state.learners.iter().copied().filter(caught_up).collect()
    }

    /// Voters the leader has heard from lately, itself included.
    pub fn reachable_voters(&self) -> Vec<u64> {
        let raft = &self.raft.raft;
        let heard = |id: &u64| *id == raft.id || raft.prs().get(*id).is_some_and(|progress| progress.recent_active);
        self.conf_state.voters.iter().copied().filter(heard).collect()
    }

    /// The first half of a turn, if there is anything to do.
    pub fn take_turn(&mut self) -> Option<Turn> {
        assert!(self.ready.is_none(), "the previous turn was not ended");
        if !self.raft.has_ready() {
            return None;
        }
        let mut ready = self.raft.ready();
        let mut turn = Turn { send: ready.take_messages(), committed: ready.take_committed_entries(), ..Turn::default() };
        turn.confirmed = ready.take_read_states().into_iter().map(|state| state.request_ctx).collect();
        if !ready.snapshot().is_empty() {
            let snapshot = ready.snapshot();
            let metadata = snapshot.get_metadata();
            self.conf_state = metadata.get_conf_state().clone();
            self.log.install(metadata.index, metadata.term, self.conf_state.clone());
            let file = SnapshotFile {
                index: metadata.index,
                term: metadata.term,
                voters: self.conf_state.voters.clone(),
                learners: self.conf_state.learners.clone(),
                state: snapshot.data.to_vec().into(),
            };
            turn.write.discard_log = true;
            turn.write.snapshot = Some(file.clone());
            turn.install = Some(file);
        }
        turn.write.entries = ready.take_entries();
        self.log.append(&turn.write.entries);
        if let Some(hard_state) = ready.hs() {
            self.log.set_hard_state(hard_state.clone());
            turn.write.hard_state = Some(hard_state.clone());
        }
        self.ready = Some(ready);
        Some(turn)
    }

    /// The second half: what was to be written is on disk, and what was committed is applied.
    pub fn written(&mut self) -> Turn {
        let mut ready = self.ready.take().expect("a turn was taken");
        let mut turn = Turn { send: ready.take_persisted_messages(), ..Turn::default() };
        let mut light = self.raft.advance_append(ready);
        if let Some(commit) = light.commit_index() {
            // Not written by itself: after a restart the leader tells it again.
            self.log.set_commit(commit);
        }
        turn.send.append(&mut light.take_messages());
        turn.committed = light.take_committed_entries();
        turn
    }

    /// All committed entries handed out so far were applied.
    pub fn applied(&mut self) {
        self.raft.advance_apply();
    }

    /// Whether a snapshot must be made for another member.
    pub fn take_wanted_snapshot(&self) -> bool {
        self.log.take_wanted()
    }

    /// Gives the snapshot that was asked for.
    pub fn offer_snapshot(&self, file: &SnapshotFile) {
        let mut snapshot = Snapshot { data: file.state.to_vec().into(), ..Snapshot::default() };
        let metadata = snapshot.mut_metadata();
        (metadata.index, metadata.term) = (file.index, file.term);
        *metadata.mut_conf_state() = conf_state_of(file);
        self.log.offer(snapshot);
    }
}

fn conf_state_of(file: &SnapshotFile) -> ConfState {
    ConfState { voters: file.voters.clone(), learners: file.learners.clone(), ..ConfState::default() }
}
