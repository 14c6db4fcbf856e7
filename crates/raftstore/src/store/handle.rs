//! What `kv` asks of the store: who leads a region, whether a read may be served, where writes go, changes of regions.

use std::sync::{Arc, atomic::Ordering};

use bytes::Bytes;
use engine::{Engine, SpaceUse, WriteBatch, WriteDone, WriteQueue};
use proto::{
    metapb::{Region, RegionEpoch},
    raft_cmdpb::{AdminCmdType, AdminRequest, BatchSplitRequest, SplitRequest},
};
use tokio::sync::oneshot;

use super::{
    RaftStore,
    cell::{Cell, PeerMessage},
};
use crate::{Error, RegionView, Result, SplitFrom, WriteProposal, region};

/// The permission to read a region's applied state. Looked at again when the read has ended.
pub struct ReadPermit {
    cell: Arc<Cell>,
    term: u64,
    version: u64,
    /// A majority has confirmed the leader after the read was asked for; the lease does not matter then.
    confirmed: bool,
}

/// Ids for a part of a region that is split.
#[derive(Clone, Debug, Default)]
pub struct SplitIds {
    /// The new region's id.
    pub region_id: u64,
    /// Ids of its members, in the order of the region's.
    pub peer_ids: Vec<u64>,
}

impl ReadPermit {
    /// The term the permission is good for.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// The region.
    pub fn region_id(&self) -> u64 {
        self.cell.region_id
    }

    /// The version of the region when the permission was given.
    pub fn version(&self) -> u64 {
        self.version
    }
}

/// Where writes of a region go: proposals in one term, for one version of the region.
pub struct RegionWrites<E: Engine> {
    store: RaftStore<E>,
    cell: Arc<Cell>,
    term: u64,
    version: u64,
}

impl<E: Engine> WriteQueue for RegionWrites<E> {
    fn submit(&self, batch: WriteBatch, space: SpaceUse, on_done: WriteDone) {
        if let Some(guard) = &self.store.inner.disk_guard
            && let Err(error) = guard.admit(batch.size_bytes() as u64, space)
        {
            return on_done(Err(error));
        }
        let write = WriteProposal { term: self.term, version: self.version, batch, done: on_done };
        self.store.inner.post(&self.cell, PeerMessage::Write(write));
    }
}

impl<E: Engine> RaftStore<E> {
    fn find(&self, region_id: u64) -> Result<Arc<Cell>> {
        self.inner.cell(region_id).ok_or(Error::RegionNotFound(region_id))
    }

    /// The store's id.
    pub fn store_id(&self) -> u64 {
        self.inner.store_id
    }

    /// The engine all regions share.
    pub fn engine(&self) -> &E {
        &self.inner.engine
    }

    /// A region as it is seen here.
    pub fn view(&self, region_id: u64) -> Result<Arc<RegionView>> {
        Ok(self.find(region_id)?.view())
    }

    /// What a region that this store leads in `term` was split off, if that was led from here as well and nobody has led the region between.
    pub fn split_from(&self, region_id: u64, term: u64) -> Option<SplitFrom> {
        // Nobody leads in the initial term.
        self.find(region_id).ok()?.split_from().filter(|_| term == region::INITIAL_TERM + 1)
    }

    /// All regions as they are seen here.
    pub fn views(&self) -> Vec<Arc<RegionView>> {
        self.inner.cells.read().values().map(|cell| cell.view()).collect()
    }

    /// Checks that this replica leads the region, at the version the caller knows, and has caught up.
    fn check(&self, cell: &Arc<Cell>, version: u64) -> Result<Arc<RegionView>> {
        let view = cell.view();
        region::check_version(&view.region, version).map_err(|error| self.with_neighbours(error, &view))?;
        cell.check_borders(&view)?;
        if !view.is_leader {
            if cell.resting.load(Ordering::Acquire) {
                self.inner.post(cell, PeerMessage::Wake);
            }
            return Err(Error::NotLeader { region_id: cell.region_id, leader: view.leader });
        }
        if view.is_merging {
            return Err(Error::Merging(cell.region_id));
        }
        if !view.caught_up {
            return Err(Error::ReadIndexNotReady(cell.region_id));
        }
        Ok(view)
    }

    /// A caller that knows a region from before its split learns of all parts that are here.
    fn with_neighbours(&self, error: Error, view: &RegionView) -> Error {
        let Error::EpochNotMatch { mut current } = error else { return error };
        let own = &view.region;
        for other in self.views() {
            let touches = other.region.end_key == own.start_key && !own.start_key.is_empty()
                || other.region.start_key == own.end_key && !own.end_key.is_empty();
            if touches && region::is_initialized(&other.region) {
                current.push((*other.region).clone());
            }
        }
        Error::EpochNotMatch { current }
    }

    /// The permission to read the applied state of a region: at once under the lease, else after a majority has confirmed the leader.
    pub async fn read_permit(&self, region_id: u64, version: u64) -> Result<ReadPermit> {
        let cell = self.find(region_id)?;
        let view = self.check(&cell, version)?;
        let now = self.inner.env.now();
        if let Some(left) = view.lease_until.filter(|until| now < *until).map(|until| until.since(now)) {
            if left < self.inner.config.lease / 4 {
                self.inner.post(&cell, PeerMessage::RenewLease);
            }
            return Ok(ReadPermit { cell, term: view.term, version, confirmed: false });
        }
        let (sender, receiver) = oneshot::channel();
        let done = move |result| {
            // The reader may have gone away.
            let _ = sender.send(result);
        };
        self.inner.post(&cell, PeerMessage::Read(Box::new(done)));
        let term = receiver.await.map_err(|_| Error::Stopped)??;
        Ok(ReadPermit { cell, term, version, confirmed: true })
    }

    /// Whether what was read under a permission may be told: the region is led from here, unchanged, in the same term. A lease that has
    /// ended meanwhile is renewed by asking the others.
    pub async fn confirm(&self, permit: &ReadPermit) -> Result<()> {
        if self.still_leads(permit)? {
            return Ok(());
        }
        let again = self.read_permit(permit.cell.region_id, permit.version).await?;
        match again.term == permit.term {
            true => self.still_leads(&again).map(|_| ()),
            false => Err(Error::StaleCommand),
        }
    }

    /// Whether the permission holds on by itself; an error where it cannot be renewed either.
    fn still_leads(&self, permit: &ReadPermit) -> Result<bool> {
        let view = permit.cell.view();
        region::check_version(&view.region, permit.version)?;
        permit.cell.check_borders(&view)?;
        if !view.is_leader || view.term != permit.term {
            return Err(Error::NotLeader { region_id: permit.cell.region_id, leader: view.leader });
        }
        let now = self.inner.env.now();
        Ok(permit.confirmed || view.lease_until.is_some_and(|until| now < until))
    }

    /// Where writes go that are computed under a permission.
    pub fn writes(&self, permit: &ReadPermit) -> RegionWrites<E> {
        RegionWrites { store: self.clone(), cell: permit.cell.clone(), term: permit.term, version: permit.version }
    }

    /// Asks the leader for the commit index a read elsewhere has to wait for.
    pub async fn read_index(&self, region_id: u64, version: u64) -> Result<u64> {
        let permit = self.read_permit(region_id, version).await?;
        let applier = permit.cell.peer.lock().applied_index();
        Ok(applier)
    }

    /// Changes a region; answers what has taken its place, in the order of the keys.
    pub async fn admin(&self, region_id: u64, epoch: RegionEpoch, request: AdminRequest) -> Result<Vec<Region>> {
        let cell = self.find(region_id)?;
        let (sender, receiver) = oneshot::channel();
        let done = move |result| {
            // The caller may have gone away.
            let _ = sender.send(result);
        };
        self.inner.post(&cell, PeerMessage::Admin { epoch, request: Box::new(request), done: Box::new(done) });
        receiver.await.map_err(|_| Error::Stopped)?
    }

    /// Splits a region; the leftmost part keeps its id.
    pub async fn split(&self, region_id: u64, epoch: RegionEpoch, keys: Vec<Bytes>, ids: Vec<SplitIds>) -> Result<Vec<Region>> {
        if keys.len() != ids.len() {
            return Err(Error::InvalidRequest("a split needs ids for every key"));
        }
        let part = |(split_key, ids): (Bytes, SplitIds)| SplitRequest {
            split_key,
            new_region_id: ids.region_id,
            new_peer_ids: ids.peer_ids,
            right_derive: false,
        };
        let requests = keys.into_iter().zip(ids).map(part).collect();
        let request = AdminRequest {
            cmd_type: AdminCmdType::BatchSplit as i32,
            splits: Some(BatchSplitRequest { requests, right_derive: false }),
            ..Default::default()
        };
        let regions = self.admin(region_id, epoch, request).await?;
        self.inner.placement.report_split(regions.clone());
        Ok(regions)
    }

    /// Reports a region to the placement driver as soon as its poller comes to it.
    pub fn report(&self, region_id: u64) {
        if let Some(cell) = self.inner.cell(region_id) {
            self.inner.post(&cell, PeerMessage::Report);
        }
    }

    /// Measures a region and asks for its split where it is too large.
    pub fn measure(&self, region_id: u64) {
        if let Some(cell) = self.inner.cell(region_id) {
            self.inner.jobs.push(super::jobs::Job::CheckSize { cell });
        }
    }

    /// How long a member has been silent that reports say is down.
    pub fn silence(&self, ticks: u64) -> std::time::Duration {
        self.inner.ticks_to_time(ticks)
    }
}
