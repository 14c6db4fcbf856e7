//! Running a request: permission of the region, its storage, the command, and a last look at the permission.
//!
//! ```text
//!   request ─▶ store, replica, version, keys right? ─▶ permission to read (lease, or ReadIndex) ─▶ storage of region and term
//!           ─▶ command (a write is proposed and applied) ─▶ reads: does the permission still hold? ─▶ answer
//! ```
//!
//! Every command needs the permission, those that write too: a pessimistic lock answers what it has read, and writes nothing.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use engine::Engine;
use env::Env;
use proto::{errorpb, kvrpcpb::*, metapb::Region};
use raftstore::{RaftStore, ReadPermit, RegionEngine, SplitIds, region};
use txn::{Storage, StoreWide};

use crate::{
    coprocessor::PushedDown,
    raw::RawLatches,
    refusal::Refusal,
    routed::{Answer, Routed},
    storages::{Oracle, Storages},
};

/// Ids for regions that come from splits.
pub trait SplitIdSource: Send + Sync + 'static {
    /// Ids for so many new regions with the members of `region`; `None` when they cannot be had.
    fn split_ids(&self, region: Region, count: u32) -> env::BoxFuture<Option<Vec<SplitIds>>>;
}

/// What commands of a store work with; cheap to clone.
pub struct Kv<E: Engine> {
    inner: Arc<Inner<E>>,
}

impl<E: Engine> Clone for Kv<E> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone() }
    }
}

pub(crate) struct Inner<E: Engine> {
    pub(crate) raft: RaftStore<E>,
    pub(crate) env: Env,
    pub(crate) storages: Storages<E>,
    pub(crate) raw_latches: RawLatches,
    pub(crate) pushed_down: PushedDown,
    split_ids: Arc<dyn SplitIdSource>,
}

/// A request that was let in.
pub(crate) struct Entered {
    pub(crate) permit: ReadPermit,
}

impl<E: Engine> Kv<E> {
    /// Commands over a replicated store.
    pub fn new(raft: RaftStore<E>, env: Env, oracle: Arc<dyn Oracle>, split_ids: Arc<dyn SplitIdSource>, store_wide: StoreWide) -> Self {
        let storages = Storages::new(raft.clone(), env.clone(), oracle, store_wide);
        Self {
            inner: Arc::new(Inner {
                raft,
                env,
                storages,
                raw_latches: RawLatches::default(),
                pushed_down: PushedDown::default(),
                split_ids,
            }),
        }
    }

    /// The replicated store.
    pub fn raft(&self) -> &RaftStore<E> {
        &self.inner.raft
    }

    pub(crate) fn inner(&self) -> &Inner<E> {
        &self.inner
    }

    /// Forgets what is kept in memory for regions that are not led from here any more.
    pub fn drop_stale_storages(&self) {
        self.inner.storages.drop_stale();
    }

    /// The placement driver's safe point has moved: all locks below it have been resolved.
    pub async fn adopt_safe_point(&self, safe_point: base::TimeStamp) -> txn::Result<()> {
        let shared = self.inner.storages.store_wide().clone();
        if safe_point <= shared.safe_point() {
            return Ok(());
        }
        shared.raise_write_floor(safe_point);
        self.inner.storages.wait_for_running(safe_point).await;
        let engine = self.inner.raft.engine().clone();
        self.inner.env.run_blocking(move || shared.publish(&engine, safe_point)).await.unwrap_or(Err(txn::Error::Stopped))
    }

    /// Checks that the request is for a replica here that leads, and that its keys are inside.
    pub(crate) async fn enter<R: Routed>(&self, request: &R) -> Result<Entered, Refusal> {
        let raft = &self.inner.raft;
        let Some(context) = request.context() else { return Err(Refusal::Request("a request without a region".to_owned())) };
        let peer = context.peer.unwrap_or_default();
        if peer.store_id != raft.store_id() {
            let mismatch = errorpb::StoreNotMatch { request_store_id: peer.store_id, actual_store_id: raft.store_id() };
            return Err(Refusal::region("the request is for another store", |error| error.store_not_match = Some(mismatch)));
        }
        let view = raft.view(context.region_id)?;
        if !region::is_initialized(&view.region) {
            // Made by a split whose leader is elsewhere: nothing is known of it here but its number.
            return Err(raftstore::Error::RegionNotFound(context.region_id).into());
        }
        if let Some(here) = region::peer_on_store(&view.region, raft.store_id())
            && here.id != peer.id
        {
            return Err(raftstore::Error::PeerNotMatch { requested: peer.id, found: here.id }.into());
        }
        if context.term != 0 && context.term + 1 < view.term {
            return Err(raftstore::Error::StaleCommand.into());
        }
        let version = context.region_epoch.unwrap_or_default().version;
        let permit = raft.read_permit(context.region_id, version).await?;
        // At the same version the borders are those the permission is good for.
        let view = raft.view(context.region_id)?;
        region::check_version(&view.region, version)?;
        request.check(&view.region)?;
        Ok(Entered { permit })
    }

    /// Runs a command of the transactional API.
    pub(crate) async fn run<R, A, F, W>(&self, request: R, command: F) -> A
    where
        R: Routed,
        A: Answer,
        F: FnOnce(Storage<RegionEngine<E>>, R) -> W,
        W: Future<Output = txn::Result<A>>,
    {
        answered(self.try_run(request, command).await)
    }

    async fn try_run<R, A, F, W>(&self, request: R, command: F) -> Result<A, Refusal>
    where
        R: Routed,
        A: Answer,
        F: FnOnce(Storage<RegionEngine<E>>, R) -> W,
        W: Future<Output = txn::Result<A>>,
    {
        let Entered { permit } = self.enter(&request).await?;
        let storage = self.inner.storages.get(&permit).await?;
        let answer = command(storage, request).await.map_err(|error| self.refusal(&permit, error))?;
        if R::READS {
            self.inner.raft.confirm(&permit).await?;
        }
        Ok(answer)
    }

    /// A write that was displaced: the client is told by what, if that is known.
    pub(crate) fn refusal(&self, permit: &ReadPermit, error: txn::Error) -> Refusal {
        if matches!(error, txn::Error::Engine(engine::Error::Displaced))
            && let Ok(view) = self.inner.raft.view(permit.region_id())
        {
            if !view.is_leader {
                return Refusal::displaced(&raftstore::Error::NotLeader { region_id: permit.region_id(), leader: view.leader });
            }
            if let Err(error) = region::check_version(&view.region, permit.version()) {
                return Refusal::displaced(&error);
            }
        }
        Refusal::of_command(self.inner.raft.store_id(), error)
    }

    /// Begins to merge a region into a neighbour. Locks in the memory of this leader are written first: the target may be led elsewhere.
    pub(crate) async fn merge(&self, region_id: u64, target: Region) -> Result<(), Refusal> {
        let raft = &self.inner.raft;
        let epoch = region::epoch(&raft.view(region_id)?.region);
        let permit = raft.read_permit(region_id, epoch.version).await?;
        let storage = self.inner.storages.get(&permit).await?;
        let merged = match storage.store_locks().await {
            Ok(locks) => {
                tracing::info!(region_id, target = target.id, locks, "a region is to be merged");
                raft.merge(region_id, epoch, target).await.map(|_| ()).map_err(Refusal::from)
            }
            Err(error) => Err(self.refusal(&permit, error)),
        };
        // When it is not known what came of it, whoever holds locks here is about to be replaced.
        if merged.is_err() && raft.view(region_id).is_ok_and(|view| !view.is_merging) {
            storage.take_locks_again();
        }
        merged
    }

    /// Splits a region at keys that are inside it.
    pub(crate) async fn split_region(&self, request: SplitRegionRequest) -> Result<SplitRegionResponse, Refusal> {
        let Entered { permit } = self.enter(&request).await?;
        let view = self.inner.raft.view(permit.region_id())?;
        let old_form = std::iter::once(request.split_key.clone()).filter(|key| !key.is_empty());
        let mut keys: Vec<Bytes> = old_form.chain(request.split_keys.iter().cloned()).map(|key| border(&key, request.is_raw_kv)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.retain(|key| *key != view.region.start_key);
        for key in &keys {
            region::check_key(&view.region, key)?;
        }
        let regions = match keys.is_empty() {
            true => vec![(*view.region).clone()],
            false => self.split_at((*view.region).clone(), keys).await?,
        };
        let (left, right) = (regions.first().cloned(), regions.get(1).cloned());
        Ok(SplitRegionResponse { left, right, regions, ..Default::default() })
    }

    /// Splits a region at its inner `keys`, in the form of borders.
    pub async fn split_at(&self, region: Region, keys: Vec<Bytes>) -> raftstore::Result<Vec<Region>> {
        let Some(ids) = self.inner.split_ids.split_ids(region.clone(), keys.len() as u32).await else {
            return Err(raftstore::Error::ProposalRefused(region.id));
        };
        self.inner.raft.split(region.id, region::epoch(&region), keys, ids).await
    }
}

/// A split key as a border. Clients send transactional keys encoded; one that is not is encoded here.
fn border(key: &Bytes, is_raw: bool) -> Bytes {
    let is_encoded = codec::bytes::skip_bytes(key).is_ok_and(|length| length == key.len());
    if is_raw || is_encoded {
        return key.clone();
    }
    let mut out = Vec::new();
    codec::bytes::encode_bytes(&mut out, key);
    out.into()
}

/// An answer, whatever came of the request.
pub(crate) fn answered<A: Answer>(result: Result<A, Refusal>) -> A {
    let mut answer = A::default();
    match result {
        Ok(answer) => return answer,
        Err(Refusal::Region(error)) => answer.refuse_region(error),
        Err(Refusal::Request(message)) => answer.refuse_request(message),
    }
    answer
}
