//! Applying committed entries: operations go into one engine batch together with the index they bring the region to.
//!
//! ```text
//!   entries ─▶ decode ─▶ refused (another version of the region)  or  operations ─▶ WriteBatch ┐
//!                         changes of the region: new states of regions ───────────────────────┤
//!                                                                       applied index ─────────┴─▶ one engine write ─▶ callers told
//! ```
//!
//! Invariants:
//! - The applied index is in the batch of what it stands for: after a crash an entry is applied as if for the first time, or not at all.
//! - Every replica comes to the same answer for every entry: it depends on the entry and the region only.
//! - Callers are told after the engine was written.
//!
//! The engine is not synced here: the log has the entries, and it is not cut before the engine has been synced (see the store's log keeper).
//! What makes the log superfluous for good, the removal of a replica or a snapshot put in place, is synced.

mod members;
mod merge;
mod split;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use engine::{Engine, WriteBatch};
use proto::{
    metapb::Region,
    raft_cmdpb::{AdminCmdType, AdminRequest},
    raft_serverpb::{MergeState, PeerState, RaftApplyState, RaftTruncatedState, RegionLocalState},
};
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Entry, EntryType};

pub(crate) use self::merge::check_pair;
pub use self::merge::{CatchUp, NoSources, Sources};
use crate::{
    Error, Result,
    entry::{self, Payload},
    local_state,
    peer::{Applied, Done, Proposal, RegionChange},
    region,
};

/// Batches are written when they have grown to this size, between two entries.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Applies a region's log to the engine.
pub struct Applier {
    peer_id: u64,
    region: Region,
    state: RaftApplyState,
    removed: bool,
    /// The region is to become a part of another one.
    merging: Option<MergeState>,
    /// Version of the region in the snapshot it was last made from.
    installed_version: u64,
    /// What cannot be applied before a replica of another region here has caught up.
    stalled: Stalled,
    /// A source that has handed over to the CommitMerge that is applied next, and the version of the snapshot it was made from.
    handed_over: Option<(u64, u64)>,
    /// How often entries were applied, or tried to be.
    rounds: u64,
    /// Version of the region, for readers: it changes before what comes from the change can be written to elsewhere.
    version: Arc<AtomicU64>,
}

/// Committed entries that wait, and the proposals made here for some of them.
#[derive(Default)]
struct Stalled {
    entries: VecDeque<Entry>,
    proposals: VecDeque<Proposal>,
}

/// What is collected before it is written.
#[derive(Default)]
struct Pending {
    batch: WriteBatch,
    told: Vec<(Done, Result<Vec<Region>>)>,
    applied: Applied,
    /// A later crash must not find the log gone and this not done.
    sync: bool,
}

impl Applier {
    /// An applier for a region as it is on disk.
    pub fn new(peer_id: u64, region: Region, state: RaftApplyState) -> Self {
        let version = Arc::new(AtomicU64::new(region::epoch(&region).version));
        let (merging, installed_version, stalled) = (None, 0, Stalled::default());
        Self { peer_id, region, state, removed: false, merging, installed_version, stalled, handed_over: None, rounds: 0, version }
    }

    /// The same with what else is on disk for the replica.
    pub fn with_local_state(mut self, local: &RegionLocalState) -> Self {
        self.merging = local.merge_state.clone().filter(|_| local.state == PeerState::Merging as i32);
        self.installed_version = local.installed_version;
        self
    }

    /// The region as applied.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// Version of the region, always as applied.
    pub fn version(&self) -> Arc<AtomicU64> {
        self.version.clone()
    }

    /// How far the log has been applied.
    pub fn state(&self) -> &RaftApplyState {
        &self.state
    }

    /// Whether the replica has been removed by an entry.
    pub fn is_removed(&self) -> bool {
        self.removed
    }

    /// Applies entries, and tells the callers of their proposals. The engine's failures are returned; entries cannot fail.
    ///
    /// An entry that takes over another region waits until `sources` gives that up; it and what follows are kept here, and gone on with when
    /// this is called again, be it with nothing.
    pub fn apply<E: Engine>(
        &mut self,
        engine: &E,
        entries: Vec<Entry>,
        proposals: Vec<Proposal>,
        sources: &dyn Sources,
    ) -> Result<Applied> {
        let mut pending = Pending::default();
        self.rounds += 1;
        self.stalled.entries.extend(entries);
        self.stalled.proposals.extend(proposals);
        while let Some(entry) = self.stalled.entries.pop_front() {
            if self.removed {
                break;
            }
            assert_eq!(entry.index, self.state.applied_index + 1, "region {}: entries are applied in order, none twice", self.region.id);
            if let Some(catch_up) = self.waits_for(&entry, sources)? {
                pending.applied.waits_for = Some(catch_up);
                self.stalled.entries.push_front(entry);
                break;
            }
            let answer = self.apply_entry(&entry, &mut pending)?;
            (self.state.applied_index, self.state.applied_term) = (entry.index, entry.term);
            if self.stalled.proposals.front().is_some_and(|proposal| proposal.index == entry.index)
                && let Some(proposal) = self.stalled.proposals.pop_front()
            {
                pending.told.push((proposal.done, answer));
            }
            if pending.batch.size_bytes() > MAX_BATCH_BYTES {
                self.write(engine, &mut pending)?;
            }
        }
        self.write(engine, &mut pending)?;
        if self.removed {
            self.forget_stalled(&Error::RegionNotFound(self.region.id));
        }
        Ok(Applied { index: self.state.applied_index, ..pending.applied })
    }

    /// Whether entries wait for another region.
    pub fn is_stalled(&self) -> bool {
        !self.stalled.entries.is_empty()
    }

    /// How often entries were applied, or tried to be: the replica hears of each time.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Entries that wait will not be applied here.
    pub fn forget_stalled(&mut self, error: &Error) {
        let Stalled { proposals, .. } = std::mem::take(&mut self.stalled);
        proposals.into_iter().for_each(|proposal| proposal.done.fail(error));
    }

    /// Writes what the region is, with what is known of the replica beside it.
    fn put_own_state(&self, batch: &mut WriteBatch) {
        let state = if self.merging.is_some() { PeerState::Merging } else { PeerState::Normal };
        let local = RegionLocalState {
            state: state as i32,
            region: Some(self.region.clone()),
            merge_state: self.merging.clone(),
            installed_version: self.installed_version,
        };
        local_state::put_local_state(batch, &local);
    }

    /// The region has other borders, or a version of its own for another reason.
    fn adopt(&mut self, region: Region, batch: &mut WriteBatch) {
        self.region = region;
        self.version.store(region::epoch(&self.region).version, Ordering::SeqCst);
        self.put_own_state(batch);
    }

    fn write<E: Engine>(&self, engine: &E, pending: &mut Pending) -> Result<()> {
        if !self.removed {
            local_state::put_apply_state(&mut pending.batch, self.region.id, &self.state);
        }
        engine.write_ref(&pending.batch, pending.sync)?;
        pending.batch.clear();
        pending.sync = false;
        for (done, answer) in pending.told.drain(..) {
            match answer {
                Ok(regions) => done.succeed(regions),
                Err(error) => done.fail(&error),
            }
        }
        Ok(())
    }

    fn apply_entry(&mut self, entry: &Entry, pending: &mut Pending) -> Result<Result<Vec<Region>>> {
        match entry.get_entry_type() {
            EntryType::EntryNormal => match entry::decode(self.region.id, &entry.data)? {
                Payload::Empty => Ok(Ok(Vec::new())),
                Payload::Write { version, operations } => self.apply_write(version, operations, pending),
                Payload::Admin { epoch, request } => Ok(match self.check_admin(&epoch, &request) {
                    Err(error) => Err(error),
                    Ok(()) => self.apply_admin(&request, entry.index, pending),
                }),
            },
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => self.apply_membership(entry, pending),
        }
    }

    fn apply_write(&mut self, version: u64, operations: &[u8], pending: &mut Pending) -> Result<Result<Vec<Region>>> {
        if let Err(error) = region::check_version(&self.region, version) {
            return Ok(Err(error));
        }
        if self.merging.is_some() {
            return Ok(Err(Error::Merging(self.region.id)));
        }
        let before = pending.batch.len();
        pending.batch.append_operations(operations)?;
        pending.applied.written_bytes += operations.len() as u64;
        pending.applied.written_keys += (pending.batch.len() - before) as u64;
        Ok(Ok(Vec::new()))
    }

    fn apply_admin(&mut self, request: &AdminRequest, index: u64, pending: &mut Pending) -> Result<Vec<Region>> {
        match AdminCmdType::try_from(request.cmd_type) {
            Ok(AdminCmdType::CompactLog) => {
                let Some(cut) = request.compact_log else { return Err(Error::InvalidRequest("a cut of the log says not where")) };
                let truncated = self.state.truncated_state.unwrap_or_default();
                if cut.compact_index > truncated.index && cut.compact_index <= self.state.applied_index {
                    self.state.truncated_state = Some(RaftTruncatedState { index: cut.compact_index, term: cut.compact_term });
                    pending.applied.changes.push(RegionChange::LogCut { index: cut.compact_index, term: cut.compact_term });
                }
                Ok(vec![self.region.clone()])
            }
            Ok(AdminCmdType::BatchSplit) => {
                let split = request.splits.as_ref().ok_or(Error::InvalidRequest("a split without keys"))?;
                let (regions, derived) = split::split(&self.region, split)?;
                for (index, part) in regions.iter().enumerate() {
                    match index == derived {
                        true => self.adopt(part.clone(), &mut pending.batch),
                        false => local_state::put_new_region(&mut pending.batch, part),
                    }
                }
                // The parts' logs are written to, and synced, from now on: the engine must know what they belong to.
                pending.sync = true;
                pending.applied.changes.push(RegionChange::Split { regions: regions.clone(), derived });
                Ok(regions)
            }
            Ok(AdminCmdType::PrepareMerge) => self.prepare_merge(request, index, pending),
            Ok(AdminCmdType::CommitMerge) => self.commit_merge(request, pending),
            Ok(AdminCmdType::RollbackMerge) => self.rollback_merge(request, pending),
            _ => Err(Error::InvalidRequest("this change of a region is not supported")),
        }
    }

    fn apply_membership(&mut self, entry: &Entry, pending: &mut Pending) -> Result<Result<Vec<Region>>> {
        let region_id = self.region.id;
        let corrupted = |_| Error::Corrupted { what: "change of members", region_id };
        let change = ConfChangeV2::parse_from_bytes(&entry.data).map_err(corrupted)?;
        let changed = match entry::decode(region_id, &entry.context)? {
            _ if self.merging.is_some() => Err(Error::Merging(region_id)),
            Payload::Admin { epoch, request } if epoch.conf_ver == region::epoch(&self.region).conf_ver => {
                members::change(&self.region, &request)
            }
            Payload::Admin { .. } => Err(Error::EpochNotMatch { current: vec![self.region.clone()] }),
            Payload::Empty => members::leave_joint(&self.region),
            Payload::Write { .. } => return Err(Error::Corrupted { what: "change of members", region_id }),
        };
        let region = match changed {
            Ok(region) => region,
            Err(error) => return Ok(Err(error)),
        };
        if region::peer(&region, self.peer_id).is_none() {
            self.remove(&region, None, &mut pending.batch);
            pending.sync = true;
            self.region = region.clone();
        } else {
            self.adopt(region.clone(), &mut pending.batch);
        }
        pending.applied.changes.push(RegionChange::Members { region: region.clone(), change });
        Ok(Ok(vec![region]))
    }

    /// Removes the replica's data; `region` is what a later message is compared with.
    fn remove(&mut self, region: &Region, merged_into: Option<Region>, batch: &mut WriteBatch) {
        self.removed = true;
        if region::is_initialized(&self.region) {
            delete_range(&self.region, batch);
        }
        local_state::put_tombstone(batch, region, merged_into, self.installed_version);
    }

    /// Removes the replica without an entry saying so; `merged_into` when its region is a part of another one elsewhere.
    pub fn destroy<E: Engine>(&mut self, engine: &E, merged_into: Option<Region>) -> Result<()> {
        let mut batch = WriteBatch::new();
        let region = self.region.clone();
        self.remove(&region, merged_into, &mut batch);
        engine.write(batch, true)?;
        self.forget_stalled(&Error::RegionNotFound(self.region.id));
        Ok(())
    }

    /// Begins anew with the data of a snapshot: `write_data` writes them, in an empty range.
    pub fn install<E: Engine>(
        &mut self,
        engine: &E,
        region: Region,
        index: u64,
        term: u64,
        write_data: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        // They are in the snapshot.
        self.forget_stalled(&Error::StaleCommand);
        let mut batch = WriteBatch::new();
        if region::is_initialized(&self.region) {
            delete_range(&self.region, &mut batch);
        }
        delete_range(&region, &mut batch);
        engine.write(batch, false)?;
        write_data()?;
        self.state = RaftApplyState {
            applied_index: index,
            applied_term: term,
            truncated_state: Some(RaftTruncatedState { index, term }),
            ..Default::default()
        };
        let mut batch = WriteBatch::new();
        local_state::put_apply_state(&mut batch, region.id, &self.state);
        (self.merging, self.installed_version) = (None, region::epoch(&region).version);
        self.adopt(region, &mut batch);
        Ok(engine.write(batch, true)?)
    }
}

/// What must be on disk before a log begins anew behind a snapshot: after a crash the snapshot is put in place again.
pub fn note_installing(region: &Region, index: u64, term: u64, batch: &mut WriteBatch) {
    local_state::put_region_state(batch, region, PeerState::Applying);
    let truncated_state = Some(RaftTruncatedState { index, term });
    let state = RaftApplyState { applied_index: index, applied_term: term, truncated_state, ..Default::default() };
    local_state::put_apply_state(batch, region.id, &state);
}

/// Removes everything between a region's borders.
fn delete_range(region: &Region, batch: &mut WriteBatch) {
    let (start, end) = region::engine_range(region);
    for cf in engine::Cf::REGION_LOCAL {
        batch.delete_range(cf, &start, &end);
    }
}
