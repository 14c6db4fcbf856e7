//! Proposals: writes, and changes of the region.
//!
//! Writes that come in one round for the same version of the region become one entry: their operations stand behind each other, and their
//! callers are told together. They are independent: whoever needs an order holds a latch until it was told.

use engine::{WriteBatch, WriteDone};
use env::Instant;
use proto::{
    eraftpb::ConfChangeType,
    metapb::{PeerRole, Region, RegionEpoch},
    raft_cmdpb::{AdminCmdType, AdminRequest, ChangePeerRequest, CompactLogRequest},
};
use raft::{
    StateRole,
    eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeV2},
};

use super::{Effects, Peer};
use crate::{Error, Result, entry, region};

/// Staged writes are proposed when they take this many bytes.
const MAX_JOINED_BYTES: usize = 1 << 20;

/// Told what became of a change of the region: the regions there are in its place, in the order of their keys.
pub type AdminDone = Box<dyn FnOnce(Result<Vec<Region>>) + Send>;

/// Who is told when an entry was applied.
pub enum Done {
    /// Writers.
    Writes(Vec<WriteDone>),
    /// Whoever asked for a change of the region.
    Admin(AdminDone),
    /// Nobody.
    Nobody,
}

impl Done {
    /// Tells that the entry was applied; `regions` for changes.
    pub fn succeed(self, regions: Vec<Region>) {
        match self {
            Self::Writes(writers) => writers.into_iter().for_each(|done| done(Ok(()))),
            Self::Admin(done) => done(Ok(regions)),
            Self::Nobody => {}
        }
    }

    /// Tells that it was not, or that its fate is unknown here.
    pub fn fail(self, error: &Error) {
        match self {
            Self::Writes(writers) => {
                let error = match error {
                    Error::Engine(error) => error.clone(),
                    Error::Stopped => engine::Error::ShutDown,
                    _ => engine::Error::Displaced,
                };
                writers.into_iter().for_each(|done| done(Err(error.clone())));
            }
            Self::Admin(done) => done(Err(error.clone())),
            Self::Nobody => {}
        }
    }
}

/// A proposal that is on its way through the log.
pub struct Proposal {
    /// Its index, if it is not overtaken by another leader.
    pub index: u64,
    /// The term it was made in.
    pub term: u64,
    /// Before anything of it was sent.
    pub proposed_at: Instant,
    /// Who is told.
    pub done: Done,
}

/// A write.
pub struct WriteProposal {
    /// The term the writer has read in: in another one, what it has read may be stale.
    pub term: u64,
    /// The version of the region it has read in.
    pub version: u64,
    /// What to write.
    pub batch: WriteBatch,
    /// Told when it was applied.
    pub done: WriteDone,
}

/// Writes that will be one entry.
pub(super) struct StagedWrite {
    version: u64,
    data: Vec<u8>,
    done: Vec<WriteDone>,
    staged_at: Instant,
}

impl Peer {
    /// Why writes in `term` at `version` of the region cannot be taken, if they cannot.
    fn check_write(&self, write: &WriteProposal) -> Result<()> {
        if !self.is_leader() {
            return Err(Error::NotLeader { region_id: self.region_id(), leader: self.leader() });
        }
        if write.term != self.term() {
            return Err(Error::StaleCommand);
        }
        region::check_version(self.region(), write.version)?;
        if self.is_merging() {
            return Err(Error::Merging(self.region_id()));
        }
        let bytes = write.batch.operations().len() as u64;
        if bytes > self.config.max_entry_bytes {
            return Err(Error::EntryTooLarge { region_id: self.region_id(), bytes, limit: self.config.max_entry_bytes });
        }
        Ok(())
    }

    /// Takes a write.
    pub fn propose_write(&mut self, now: Instant, write: WriteProposal, effects: &mut Effects) {
        if let Err(error) = self.check_write(&write) {
            effects.failed.push((Done::Writes(vec![write.done]), error));
            return;
        }
        self.rest.wake();
        let operations = write.batch.operations();
        if let Some(staged) = &mut self.staged {
            if staged.version == write.version && staged.data.len() + operations.len() <= MAX_JOINED_BYTES {
                staged.data.extend_from_slice(operations);
                staged.done.push(write.done);
                return;
            }
            self.flush_staged(effects);
        }
        let data = entry::begin_write(write.version, &write.batch);
        self.staged = Some(StagedWrite { version: write.version, data, done: vec![write.done], staged_at: now });
    }

    /// Proposes what was staged.
    pub(super) fn flush_staged(&mut self, effects: &mut Effects) {
        let Some(staged) = self.staged.take() else { return };
        self.propose_data(staged.data, Done::Writes(staged.done), staged.staged_at, effects);
    }

    pub(super) fn propose_data(&mut self, data: Vec<u8>, done: Done, proposed_at: Instant, effects: &mut Effects) {
        let before = self.last_index();
        let result = self.raw.propose(Vec::new(), data);
        self.note_proposal(before, result, done, proposed_at, effects);
    }

    fn note_proposal(&mut self, before: u64, result: raft::Result<()>, done: Done, proposed_at: Instant, effects: &mut Effects) {
        let index = self.last_index();
        match result {
            Ok(()) if index == before + 1 => self.proposals.push_back(Proposal { index, term: self.term(), proposed_at, done }),
            Ok(()) | Err(raft::Error::ProposalDropped) => effects.failed.push((done, self.refusal())),
            Err(error) => effects.failed.push((done, error.into())),
        }
    }

    fn refusal(&self) -> Error {
        match self.raw.raft.state {
            StateRole::Leader => Error::ProposalRefused(self.region_id()),
            _ => Error::NotLeader { region_id: self.region_id(), leader: self.leader() },
        }
    }

    /// Takes a request to change the region, made for its `epoch`.
    pub fn propose_admin(&mut self, now: Instant, epoch: RegionEpoch, request: &AdminRequest, done: AdminDone, effects: &mut Effects) {
        self.flush_staged(effects);
        self.rest.wake();
        let done = Done::Admin(done);
        match self.check_admin(&epoch, request) {
            Err(error) => effects.failed.push((done, error)),
            Ok(AdminCmdType::TransferLeader) => {
                // Checked to be there.
                if let Some(to) = request.transfer_leader.and_then(|transfer| transfer.peer) {
                    self.lease_until = None;
                    self.raw.transfer_leader(to.id);
                }
                let regions = vec![(**self.region()).clone()];
                done.succeed(regions);
            }
            Ok(AdminCmdType::ChangePeer | AdminCmdType::ChangePeerV2) => {
                let before = self.last_index();
                let context = entry::encode_admin(&epoch, request);
                let result = self.raw.propose_conf_change(context, conf_change(request));
                self.note_proposal(before, result, done, now, effects);
            }
            Ok(AdminCmdType::PrepareMerge) => self.propose_prepare_merge(now, &epoch, request, done, effects),
            Ok(_) => self.propose_data(entry::encode_admin(&epoch, request), done, now, effects),
        }
    }

    fn check_admin(&self, epoch: &RegionEpoch, request: &AdminRequest) -> Result<AdminCmdType> {
        if !self.is_leader() {
            return Err(Error::NotLeader { region_id: self.region_id(), leader: self.leader() });
        }
        let region = self.region();
        let kind = AdminCmdType::try_from(request.cmd_type).unwrap_or(AdminCmdType::InvalidAdmin);
        // Leadership may go on; what the region is may not change but for the end of the merge.
        if self.is_merging() && !matches!(kind, AdminCmdType::TransferLeader | AdminCmdType::RollbackMerge) {
            return Err(Error::Merging(region.id));
        }
        match kind {
            AdminCmdType::TransferLeader => {
                let to = request.transfer_leader.and_then(|transfer| transfer.peer).and_then(|peer| region::peer(region, peer.id));
                match to.map(region::role) {
                    Some(PeerRole::Voter | PeerRole::IncomingVoter) => Ok(kind),
                    _ => Err(Error::InvalidRequest("leadership can only go to a voter of the region")),
                }
            }
            AdminCmdType::ChangePeer | AdminCmdType::ChangePeerV2 => {
                region::check_epoch(region, epoch)?;
                self.check_members(&changes(request))?;
                Ok(kind)
            }
            AdminCmdType::BatchSplit => {
                region::check_epoch(region, epoch)?;
                if region::in_joint_state(region) {
                    return Err(Error::ProposalRefused(region.id));
                }
                Ok(kind)
            }
            AdminCmdType::PrepareMerge => self.check_prepare_merge(epoch, request).map(|()| kind),
            AdminCmdType::CommitMerge => region::check_epoch(region, epoch).map(|()| kind),
            AdminCmdType::RollbackMerge => self.check_rollback_merge(request).map(|()| kind),
            AdminCmdType::CompactLog => Ok(kind),
            _ => Err(Error::InvalidRequest("this change of a region is not supported")),
        }
    }

    /// Whether a change of members makes sense, and leaves a majority that is alive.
    fn check_members(&self, changes: &[ChangePeerRequest]) -> Result<()> {
        let region = self.region();
        if self.raw.raft.has_pending_conf() || region::in_joint_state(region) {
            return Err(Error::ProposalRefused(region.id));
        }
        if !self.view().caught_up {
            return Err(Error::ReadIndexNotReady(region.id));
        }
        let mut voters: Vec<u64> = region.peers.iter().filter(|peer| region::role(peer) == PeerRole::Voter).map(|peer| peer.id).collect();
        for change in changes {
            let Some(peer) = change.peer else { return Err(Error::InvalidRequest("a change of members names no member")) };
            match ConfChangeType::try_from(change.change_type) {
                Ok(ConfChangeType::AddNode) => voters.push(peer.id),
                Ok(ConfChangeType::RemoveNode | ConfChangeType::AddLearnerNode) => {
                    if peer.id == self.peer.id {
                        return Err(Error::InvalidRequest("a leader hands over before it leaves"));
                    }
                    voters.retain(|id| *id != peer.id);
                }
                Err(_) => return Err(Error::InvalidRequest("unknown kind of change of members")),
            }
        }
        let election_ticks = self.config.election_ticks as u64;
        let alive = |id: &u64| *id == self.peer.id || self.silent_ticks.get(id).is_some_and(|ticks| *ticks <= election_ticks);
        // One that is being added may be silent: the others carry it.
        let known = voters.iter().filter(|id| region::peer(region, **id).is_some());
        let dead = known.filter(|id| !alive(id)).count();
        match voters.len() - dead > voters.len() / 2 {
            true => Ok(()),
            false => Err(Error::InvalidRequest("the change would leave no majority of members that answer")),
        }
    }

    /// Cuts the log where nobody needs its beginning any more, or where it has grown so long that a snapshot is cheaper.
    pub(super) fn cut_log_when_long(&mut self, effects: &mut Effects) {
        // Looked at about once in ten seconds at the default tick; not by all regions at the same time.
        if !(self.ticks + self.region_id()).is_multiple_of(40) || self.is_merging() {
            return;
        }
        let (applied, truncated) = (self.applied_index(), self.raw.store().truncated_index());
        let replicated = self.raw.raft.prs().iter().map(|(_, progress)| progress.matched).min().unwrap_or(applied);
        let too_long = applied - truncated > self.config.log_gc_entries * 4 || self.log_bytes > self.config.log_gc_max_bytes;
        let to = if too_long { applied } else { replicated.min(applied) };
        if to < truncated + self.config.log_gc_entries.min(64) && !(too_long && to > truncated) {
            return;
        }
        let Ok(compact_term) = self.raw.raft.raft_log.term(to) else { return };
        let compact_log = Some(CompactLogRequest { compact_index: to, compact_term });
        let request = AdminRequest { cmd_type: AdminCmdType::CompactLog as i32, compact_log, ..Default::default() };
        self.flush_staged(effects);
        let data = entry::encode_admin(&region::epoch(self.region()), &request);
        self.propose_data(data, Done::Nobody, Instant::default(), effects);
    }

    /// Takes the proposals that committed `entries` are the fate of; those overtaken by another leader's entries have failed.
    pub(super) fn complete_proposals(&mut self, entries: &[raft::eraftpb::Entry], effects: &mut Effects) -> Vec<Proposal> {
        let mut attached = Vec::new();
        for entry in entries {
            while self.proposals.front().is_some_and(|proposal| proposal.index <= entry.index) {
                let Some(proposal) = self.proposals.pop_front() else { break };
                if proposal.index == entry.index && proposal.term == entry.term {
                    self.renew_lease(proposal.term, proposal.proposed_at);
                    attached.push(proposal);
                } else {
                    effects.failed.push((proposal.done, Error::StaleCommand));
                }
            }
        }
        attached
    }
}

/// The members a request changes.
pub(crate) fn changes(request: &AdminRequest) -> Vec<ChangePeerRequest> {
    match (&request.change_peer, &request.change_peer_v2) {
        (Some(one), _) => vec![*one],
        (None, Some(many)) => many.changes.clone(),
        (None, None) => Vec::new(),
    }
}

/// The form the consensus library wants a change of members in.
fn conf_change(request: &AdminRequest) -> ConfChangeV2 {
    let mut change = ConfChangeV2::default();
    for one in changes(request) {
        let mut single = ConfChangeSingle { node_id: one.peer.map_or(0, |peer| peer.id), ..Default::default() };
        single.set_change_type(match ConfChangeType::try_from(one.change_type) {
            Ok(ConfChangeType::RemoveNode) => raft::eraftpb::ConfChangeType::RemoveNode,
            Ok(ConfChangeType::AddLearnerNode) => raft::eraftpb::ConfChangeType::AddLearnerNode,
            Ok(ConfChangeType::AddNode) | Err(_) => raft::eraftpb::ConfChangeType::AddNode,
        });
        change.mut_changes().push(single);
    }
    // More than one change goes through a joint configuration, which the leader leaves by itself.
    if change.changes.len() > 1 {
        change.set_transition(ConfChangeTransition::Implicit);
    }
    change
}
