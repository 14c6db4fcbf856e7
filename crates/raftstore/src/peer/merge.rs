//! A replica whose region becomes a part of another one; see `apply::merge` for the whole.
//!
//! ```text
//!   PrepareMerge proposed ──▶ no lease, no reads, no writes ──applied──▶ merging: looks from time to time whether the target
//!          │                                                             can take it over, or never will
//!          ╰─ leadership lost: whether it was committed is seen by the next leader before it serves anything
//! ```
//!
//! Invariant: from before a PrepareMerge leaves its proposer until it has been applied there or is overtaken, the proposer serves nothing. A
//! later leader has applied it before it serves anything. So nobody reads the source's range under the source's lease once the target writes.

use std::sync::Arc;

use env::Instant;
use proto::{
    metapb::{Region, RegionEpoch},
    raft_cmdpb::AdminRequest,
    raft_serverpb::{ExtraMessageType, MergeState},
};
use raft::{GetEntriesContext, eraftpb::Entry};

use super::{Done, Effects, Peer};
use crate::{Error, Result, apply::CatchUp, entry, region};

/// Ticks between two looks at the target.
const CHECK_TICKS: u64 = 4;

/// Bytes of entries that replicas of a source may lack: they must fit one entry of the target, with room for what surrounds them.
fn max_gap_bytes(max_entry_bytes: u64) -> u64 {
    max_entry_bytes / 2
}

#[derive(Debug, Default)]
pub(super) struct Merging {
    applied: Option<Arc<MergeState>>,
    /// Index of a PrepareMerge that was proposed here in this term.
    proposed: Option<u64>,
}

impl Merging {
    pub(super) fn applied(&self) -> Option<Arc<MergeState>> {
        self.applied.clone()
    }

    /// What was proposed up to `index` has been applied or refused.
    pub(super) fn on_applied(&mut self, index: u64) {
        self.proposed = self.proposed.filter(|proposed| *proposed > index);
    }

    pub(super) fn forget_proposal(&mut self) {
        self.proposed = None;
    }
}

impl Peer {
    /// The replica as it was left by an earlier process.
    pub fn restore_merging(&mut self, state: MergeState) {
        self.merging.applied = Some(Arc::new(state));
    }

    /// Whether the region serves nothing because it is to become a part of another one.
    pub(super) fn is_merging(&self) -> bool {
        self.merging.applied.is_some() || self.merging.proposed.is_some()
    }

    pub(super) fn check_prepare_merge(&self, epoch: &RegionEpoch, request: &AdminRequest) -> Result<()> {
        let region = self.region();
        region::check_epoch(region, epoch)?;
        let target = request.prepare_merge.as_ref().and_then(|prepare| prepare.target.as_ref());
        crate::apply::check_pair(region, target.ok_or(Error::InvalidRequest("a merge without a target"))?)?;
        if self.raw.raft.has_pending_conf() || self.raw.raft.lead_transferee.is_some() {
            return Err(Error::ProposalRefused(region.id));
        }
        if !self.view().caught_up {
            return Err(Error::ReadIndexNotReady(region.id));
        }
        self.first_missing().map(|_| ())
    }

    /// The first index that some replica may lack. What follows must be few writes and nothing else: it is given to that replica by way of
    /// the target's log, and must find it a member with the borders it has.
    fn first_missing(&self) -> Result<u64> {
        let refused = Error::ProposalRefused(self.region_id());
        let raft = &self.raw.raft;
        let matched = raft.prs().iter().map(|(_, progress)| progress.matched).min().unwrap_or(0);
        let last = self.last_index();
        if matched < self.raw.store().truncated_index().max(1) || last - matched > self.config.merge_max_log_gap {
            return Err(refused);
        }
        let limit = max_gap_bytes(self.config.max_entry_bytes);
        let missing: Vec<Entry> = match matched < last {
            // Entries of this round are not in the store yet: the library has them.
            true => raft.raft_log.slice(matched + 1, last + 1, None, GetEntriesContext::empty(false))?,
            false => Vec::new(),
        };
        let plain = |entry: &Entry| entry.get_entry_type() == raft::eraftpb::EntryType::EntryNormal && !entry::is_admin(&entry.data);
        let bytes: usize = missing.iter().map(|entry| entry.data.len()).sum();
        match missing.iter().all(plain) && bytes as u64 <= limit {
            true => Ok(matched + 1),
            false => Err(refused),
        }
    }

    pub(super) fn propose_prepare_merge(
        &mut self,
        now: Instant,
        epoch: &RegionEpoch,
        request: &AdminRequest,
        done: Done,
        effects: &mut Effects,
    ) {
        let min_index = match self.first_missing() {
            Ok(min_index) => min_index,
            Err(error) => return effects.failed.push((done, error)),
        };
        let mut request = request.clone();
        if let Some(prepare) = &mut request.prepare_merge {
            prepare.min_index = min_index;
        }
        let before = self.last_index();
        self.propose_data(entry::encode_admin(epoch, &request), done, now, effects);
        if self.last_index() > before {
            self.merging.proposed = Some(self.last_index());
            self.lease_until = None;
            self.fail_reads(&Error::Merging(self.region_id()), effects);
        }
    }

    pub(super) fn check_rollback_merge(&self, request: &AdminRequest) -> Result<()> {
        let commit = request.rollback_merge.map(|rollback| rollback.commit);
        match self.merging.applied.as_ref().is_some_and(|merging| Some(merging.commit) == commit) {
            true => Ok(()),
            false => Err(Error::InvalidRequest("the merge that is to be given up is not under way")),
        }
    }

    pub(super) fn on_merge_prepared(&mut self, region: Region, state: MergeState, effects: &mut Effects) {
        self.raw.mut_store().set_region(Arc::new(region));
        self.merging.applied = Some(Arc::new(state));
        self.lease_until = None;
        self.fail_reads(&Error::Merging(self.region_id()), effects);
        self.rest.wake();
        effects.check_merge = true;
    }

    pub(super) fn on_merge_rolled_back(&mut self, region: Region, effects: &mut Effects) {
        self.raw.mut_store().set_region(Arc::new(region));
        self.merging.applied = None;
        effects.report = self.is_leader();
    }

    pub(super) fn tick_merge(&mut self, effects: &mut Effects) {
        effects.check_merge |= self.merging.applied.is_some() && self.ticks.is_multiple_of(CHECK_TICKS);
    }

    /// Asks the other members whether the region is still there.
    pub fn ask_whether_stale(&self, effects: &mut Effects) {
        self.tell_others(ExtraMessageType::MsgCheckStalePeer, effects);
    }

    /// Takes entries that the target's log has brought, which a majority of this region's members had: this replica may be the only one
    /// left of them, and hears of nobody what is committed.
    pub fn catch_up(&mut self, catch_up: CatchUp) {
        let CatchUp { commit, mut entries, .. } = catch_up;
        let committed = self.raw.raft.raft_log.committed;
        entries.retain(|entry| entry.index > committed);
        let before = entries.first().map_or(commit, |entry| entry.index - 1);
        if committed >= commit || (entries.is_empty() && self.last_index() < commit) {
            return;
        }
        let Ok(before_term) = self.raw.raft.raft_log.term(before) else { return };
        if let Some(last) = entries.last().filter(|last| last.term > self.term()) {
            // An ordinary append would have come with a term no older than that.
            self.raw.raft.become_follower(last.term, raft::INVALID_ID);
        }
        self.rest.wake();
        self.raw.raft.raft_log.maybe_append(before, before_term, commit, &entries);
    }
}
