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
mod split;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use engine::{Engine, WriteBatch};
use proto::{
    metapb::Region,
    raft_cmdpb::{AdminCmdType, AdminRequest},
    raft_serverpb::{PeerState, RaftApplyState, RaftTruncatedState},
};
use protobuf::Message as _;
use raft::eraftpb::{ConfChangeV2, Entry, EntryType};

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
    /// Version of the region, for readers: it changes before what comes from the change can be written to elsewhere.
    version: Arc<AtomicU64>,
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
        Self { peer_id, region, state, removed: false, version }
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
    pub fn apply<E: Engine>(&mut self, engine: &E, entries: Vec<Entry>, proposals: Vec<Proposal>) -> Result<Applied> {
        let mut pending = Pending::default();
        let mut proposals = proposals.into_iter().peekable();
        for entry in entries {
            if self.removed {
                break;
            }
            assert_eq!(entry.index, self.state.applied_index + 1, "region {}: entries are applied in order, none twice", self.region.id);
            let answer = self.apply_entry(&entry, &mut pending)?;
            (self.state.applied_index, self.state.applied_term) = (entry.index, entry.term);
            if let Some(proposal) = proposals.next_if(|proposal| proposal.index == entry.index) {
                pending.told.push((proposal.done, answer));
            }
            if pending.batch.size_bytes() > MAX_BATCH_BYTES {
                self.write(engine, &mut pending)?;
            }
        }
        self.write(engine, &mut pending)?;
        for proposal in proposals {
            proposal.done.fail(&Error::RegionNotFound(self.region.id));
        }
        Ok(Applied { index: self.state.applied_index, ..pending.applied })
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
                Payload::Admin { epoch, request } => Ok(match region::check_version(&self.region, epoch.version) {
                    Err(error) if request.cmd_type != AdminCmdType::CompactLog as i32 => Err(error),
                    _ => self.apply_admin(&request, pending),
                }),
            },
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => self.apply_membership(entry, pending),
        }
    }

    fn apply_write(&mut self, version: u64, operations: &[u8], pending: &mut Pending) -> Result<Result<Vec<Region>>> {
        if let Err(error) = region::check_version(&self.region, version) {
            return Ok(Err(error));
        }
        let before = pending.batch.len();
        pending.batch.append_operations(operations)?;
        pending.applied.written_bytes += operations.len() as u64;
        pending.applied.written_keys += (pending.batch.len() - before) as u64;
        Ok(Ok(Vec::new()))
    }

    fn apply_admin(&mut self, request: &AdminRequest, pending: &mut Pending) -> Result<Vec<Region>> {
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
                        true => local_state::put_region_state(&mut pending.batch, part, PeerState::Normal),
                        false => local_state::put_new_region(&mut pending.batch, part),
                    }
                }
                self.region = regions[derived].clone();
                self.version.store(region::epoch(&self.region).version, Ordering::SeqCst);
                pending.applied.changes.push(RegionChange::Split { regions: regions.clone(), derived });
                Ok(regions)
            }
            _ => Err(Error::InvalidRequest("this change of a region is not supported")),
        }
    }

    fn apply_membership(&mut self, entry: &Entry, pending: &mut Pending) -> Result<Result<Vec<Region>>> {
        let region_id = self.region.id;
        let corrupted = |_| Error::Corrupted { what: "change of members", region_id };
        let change = ConfChangeV2::parse_from_bytes(&entry.data).map_err(corrupted)?;
        let changed = match entry::decode(region_id, &entry.context)? {
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
            self.remove(&region, &mut pending.batch);
            pending.sync = true;
        } else {
            local_state::put_region_state(&mut pending.batch, &region, PeerState::Normal);
        }
        self.region = region.clone();
        pending.applied.changes.push(RegionChange::Members { region: region.clone(), change });
        Ok(Ok(vec![region]))
    }

    /// Removes the replica's data; `region` is what a later message is compared with.
    fn remove(&mut self, region: &Region, batch: &mut WriteBatch) {
        self.removed = true;
        if region::is_initialized(&self.region) {
            delete_range(&self.region, batch);
        }
        local_state::put_region_state(batch, region, PeerState::Tombstone);
        local_state::delete_apply_state(batch, self.region.id);
    }

    /// Removes the replica without an entry saying so.
    pub fn destroy<E: Engine>(&mut self, engine: &E) -> Result<()> {
        let mut batch = WriteBatch::new();
        let region = self.region.clone();
        self.remove(&region, &mut batch);
        Ok(engine.write(batch, true)?)
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
        local_state::put_region_state(&mut batch, &region, PeerState::Normal);
        local_state::put_apply_state(&mut batch, region.id, &self.state);
        self.region = region;
        self.version.store(region::epoch(&self.region).version, Ordering::SeqCst);
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
