//! Merging two regions that lie side by side: the source becomes a part of the target.
//!
//! ```text
//!   source's log    … writes │ PrepareMerge @ c │ (nothing but a RollbackMerge has an effect from here on)
//!                                    ╰── entries the source's replicas may lack ──╮
//!   target's log                                             … writes │ CommitMerge(source, c) │ writes to both ranges …
//!
//!   on each store:  source applied up to c ─▶ target's CommitMerge: range, version, end of the source in one batch
//! ```
//!
//! Both regions are on the same stores, and a CommitMerge holds for the very epoch of the target that the PrepareMerge has named. So
//! whatever changes the target first makes the CommitMerge void on all stores alike, and gives the source back: whoever has seen the target
//! pass that epoch *by its log*, with the source still there, knows that it can never be taken over at c. This is what a RollbackMerge is
//! proposed on; a target that came out of a snapshot has not seen what it skipped, which is why the version of the last snapshot is kept.
//!
//! Invariants:
//! - A PrepareMerge raises version and conf_ver: proposals made before it and applied after it are refused.
//! - The target takes the range over on a store after the source has applied everything there up to c, and nothing of the source is written,
//!   or removed, after that.
//! - The source's end is in the batch of the target's new range, and is synced: afterwards the source's log may go.

use engine::WriteBatch;
use proto::{
    metapb::{Region, RegionEpoch},
    raft_cmdpb::{AdminCmdType, AdminRequest, CommitMergeRequest},
    raft_serverpb::MergeState,
};
use protobuf::Message as _;
use raft::eraftpb::Entry;

use super::{Applier, Pending};
use crate::{
    Error, Result,
    entry::{self, Payload},
    local_state,
    peer::RegionChange,
    region,
};

/// What a replica of a source needs to get as far as its target wants it.
#[derive(Clone, Debug)]
pub struct CatchUp {
    /// The source.
    pub source_id: u64,
    /// The index of its PrepareMerge.
    pub commit: u64,
    /// Entries up to there, those that all its replicas have left out.
    pub entries: Vec<Entry>,
}

/// The other replicas of the store.
pub trait Sources {
    /// Ends the replica of a source, in memory, if it has applied its PrepareMerge at `commit` and nothing after it; from then on it writes
    /// and removes nothing. Answers the version of the snapshot it was made from, 0 for none; `None` when it is not as far.
    fn hand_over(&self, source_id: u64, commit: u64) -> Option<u64>;
}

/// There are no other replicas: nothing is taken over.
pub struct NoSources;

impl Sources for NoSources {
    fn hand_over(&self, _: u64, _: u64) -> Option<u64> {
        None
    }
}

/// The region that `target` becomes with `source`, which must lie right before or behind it.
fn union(target: &Region, source: &Region) -> Result<Region> {
    let version = region::epoch(target).version.max(region::epoch(source).version) + 1;
    let mut whole = target.clone();
    if source.end_key == target.start_key && !target.start_key.is_empty() {
        whole.start_key = source.start_key.clone();
    } else if target.end_key == source.start_key && !source.start_key.is_empty() {
        whole.end_key = source.end_key.clone();
    } else {
        return Err(Error::InvalidRequest("regions that are merged must lie side by side"));
    }
    whole.region_epoch = Some(RegionEpoch { version, ..region::epoch(target) });
    Ok(whole)
}

/// Whether two regions can be merged: side by side, and the same kinds of members on the same stores.
pub(crate) fn check_pair(source: &Region, target: &Region) -> Result<()> {
    union(target, source)?;
    if region::in_joint_state(source) || region::in_joint_state(target) {
        return Err(Error::InvalidRequest("regions whose members are changing are not merged"));
    }
    let same = source.peers.len() == target.peers.len()
        && source.peers.iter().all(|peer| region::peer_on_store(target, peer.store_id).is_some_and(|other| other.role == peer.role));
    if same { Ok(()) } else { Err(Error::InvalidRequest("regions that are merged must have the same members on the same stores")) }
}

fn required<T>(part: Option<T>) -> Result<T> {
    part.ok_or(Error::InvalidRequest("a merge does not say what of"))
}

impl Applier {
    /// What an entry has to wait for, if anything: the source of a merge that is valid here.
    pub(super) fn waits_for(&mut self, entry: &Entry, sources: &dyn Sources) -> Result<Option<CatchUp>> {
        if !entry::is_admin(&entry.data) {
            return Ok(None);
        }
        let Payload::Admin { epoch, request } = entry::decode(self.region.id, &entry.data)? else { return Ok(None) };
        let Some(CommitMergeRequest { source: Some(source), commit, entries }) = &request.commit_merge else { return Ok(None) };
        if self.check_admin(&epoch, &request).is_err() || union(&self.region, source).is_err() {
            return Ok(None);
        }
        if let Some(installed_version) = sources.hand_over(source.id, *commit) {
            self.handed_over = Some((source.id, installed_version));
            return Ok(None);
        }
        let damaged = |_| Error::Corrupted { what: "entries of a merge", region_id: source.id };
        let entries = entries.iter().map(|bytes| Entry::parse_from_bytes(bytes).map_err(damaged)).collect::<Result<_>>()?;
        Ok(Some(CatchUp { source_id: source.id, commit: *commit, entries }))
    }

    /// Whether a change of the region is still what it was proposed as.
    pub(super) fn check_admin(&self, epoch: &RegionEpoch, request: &AdminRequest) -> Result<()> {
        let kind = AdminCmdType::try_from(request.cmd_type).unwrap_or(AdminCmdType::InvalidAdmin);
        match kind {
            AdminCmdType::RollbackMerge => region::check_version(&self.region, epoch.version),
            // Entries that others may need, to be taken over, must stay.
            _ if self.merging.is_some() => Err(Error::Merging(self.region.id)),
            AdminCmdType::CompactLog => Ok(()),
            AdminCmdType::PrepareMerge | AdminCmdType::CommitMerge => region::check_epoch(&self.region, epoch),
            _ => region::check_version(&self.region, epoch.version),
        }
    }

    pub(super) fn prepare_merge(&mut self, request: &AdminRequest, index: u64, pending: &mut Pending) -> Result<Vec<Region>> {
        let prepare = required(request.prepare_merge.as_ref())?;
        let target = required(prepare.target.clone())?;
        check_pair(&self.region, &target)?;
        let RegionEpoch { conf_ver, version } = region::epoch(&self.region);
        let state = MergeState { min_index: prepare.min_index, target: Some(target), commit: index };
        let region = Region { region_epoch: Some(RegionEpoch { conf_ver: conf_ver + 1, version: version + 1 }), ..self.region.clone() };
        self.merging = Some(state.clone());
        self.adopt(region.clone(), &mut pending.batch);
        pending.applied.changes.push(RegionChange::PrepareMerge { region: region.clone(), state });
        Ok(vec![region])
    }

    pub(super) fn rollback_merge(&mut self, request: &AdminRequest, pending: &mut Pending) -> Result<Vec<Region>> {
        let rollback = required(request.rollback_merge)?;
        if self.merging.as_ref().is_none_or(|merging| merging.commit != rollback.commit) {
            return Err(Error::InvalidRequest("the merge that is to be given up is not under way"));
        }
        let epoch = region::epoch(&self.region);
        let region = Region { region_epoch: Some(RegionEpoch { version: epoch.version + 1, ..epoch }), ..self.region.clone() };
        self.merging = None;
        self.adopt(region.clone(), &mut pending.batch);
        pending.applied.changes.push(RegionChange::RollbackMerge { region: region.clone() });
        Ok(vec![region])
    }

    /// The source has handed over, see [`Applier::waits_for`].
    pub(super) fn commit_merge(&mut self, request: &AdminRequest, pending: &mut Pending) -> Result<Vec<Region>> {
        let commit = required(request.commit_merge.as_ref())?;
        let source = required(commit.source.as_ref())?;
        let whole = union(&self.region, source)?;
        self.adopt(whole.clone(), &mut pending.batch);
        // What it has seen by its log it remains a witness of: other regions may have been about to become a part of it.
        let handed_over = self.handed_over.take().filter(|(id, _)| *id == source.id);
        let installed_version = handed_over.map_or(u64::MAX, |(_, installed_version)| installed_version);
        local_state::put_tombstone(&mut pending.batch, source, Some(whole.clone()), installed_version);
        pending.sync = true;
        pending.applied.changes.push(RegionChange::CommitMerge { region: whole.clone(), source_id: source.id });
        Ok(vec![whole])
    }

    /// Whether the region is to become a part of another one.
    pub fn is_merging(&self) -> bool {
        self.merging.is_some()
    }

    /// Ends a replica whose data a snapshot of another region replaces.
    pub fn end(&mut self, merged_into: Option<Region>, batch: &mut WriteBatch) {
        self.removed = true;
        local_state::put_tombstone(batch, &self.region, merged_into, u64::MAX);
    }

    /// See [`Sources::hand_over`].
    pub fn hand_over(&mut self, commit: u64) -> Option<u64> {
        let ready = !self.removed && self.merging.as_ref().is_some_and(|merging| merging.commit == commit);
        self.removed |= ready;
        ready.then_some(self.installed_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::INITIAL_EPOCH;
    use proto::metapb::{Peer, PeerRole};

    fn region(id: u64, start: &'static str, end: &'static str, version: u64, stores: &[u64]) -> Region {
        let peers = stores.iter().map(|store_id| Peer { id: id * 10 + store_id, store_id: *store_id, ..Default::default() }).collect();
        let region_epoch = Some(RegionEpoch { version, ..INITIAL_EPOCH });
        Region { id, start_key: start.into(), end_key: end.into(), region_epoch, peers }
    }

    #[test]
    fn a_region_grows_to_either_side_and_is_newer_than_both() {
        let target = region(1, "g", "p", 4, &[1]);
        let left = union(&target, &region(2, "", "g", 9, &[1])).unwrap();
        assert_eq!((&left.start_key[..], &left.end_key[..], region::epoch(&left).version), (&b""[..], &b"p"[..], 10));
        let right = union(&target, &region(3, "p", "", 2, &[1])).unwrap();
        assert_eq!((&right.start_key[..], &right.end_key[..], region::epoch(&right).version), (&b"g"[..], &b""[..], 5));
        for apart in [region(4, "", "f", 1, &[1]), region(5, "q", "", 1, &[1])] {
            assert!(union(&target, &apart).is_err());
        }
        // An empty border is the end of all keys, not a place two regions share.
        assert!(union(&region(1, "", "p", 4, &[1]), &region(3, "x", "", 2, &[1])).is_err());
    }

    #[test]
    fn members_must_be_alike() {
        let target = region(1, "g", "p", 4, &[1, 2, 3]);
        let source = region(2, "", "g", 4, &[3, 1, 2]);
        assert!(check_pair(&source, &target).is_ok());
        assert!(check_pair(&region(2, "", "g", 4, &[1, 2, 4]), &target).is_err());
        assert!(check_pair(&region(2, "", "g", 4, &[1, 2]), &target).is_err());
        let mut learner = source.clone();
        learner.peers[0].role = PeerRole::Learner as i32;
        assert!(check_pair(&learner, &target).is_err());
    }
}
