//! The transactional storage of each region that is led from here.
//!
//! ```text
//!   region, term, version ─▶ Storage: latches, locks in memory, max_ts …
//! ```
//!
//! What a storage keeps in memory is about one region in one term of its leader, between two changes of its borders. When one of these changes, the
//! storage is dropped and another one is opened when the next request comes: its max_ts is a fresh timestamp of the placement driver's oracle
//! (rule 8), its count of locks is read from the engine. Pessimistic locks in memory are lost with the old one and are repaired when their
//! transactions prewrite. What the old one has proposed is made before the new one opens, or is refused.

use std::sync::Arc;

use base::TimeStamp;
use engine::Engine;
use env::{BoxFuture, Env};
use parking_lot::RwLock;
use proto::errorpb;
use raftstore::{RaftStore, ReadPermit, RegionEngine};
use rustc_hash::FxHashMap;
use tokio::sync::OnceCell;
use txn::{Storage, StorageOptions, StoreWide};

use crate::refusal::Refusal;

/// Where timestamps come from.
pub trait Oracle: Send + Sync + 'static {
    /// A timestamp above all handed out before; `None` when the oracle cannot be reached.
    fn timestamp(&self) -> BoxFuture<Option<TimeStamp>>;
}

/// How long a transaction waits for a lock when its request does not say so.
const DEFAULT_LOCK_WAIT_MS: u64 = 1000;

type RegionStorage<E> = Storage<RegionEngine<E>>;

struct Slot<E: Engine> {
    term: u64,
    version: u64,
    storage: OnceCell<RegionStorage<E>>,
}

/// The storages of a store.
pub(crate) struct Storages<E: Engine> {
    raft: RaftStore<E>,
    env: Env,
    oracle: Arc<dyn Oracle>,
    store_wide: StoreWide,
    slots: RwLock<FxHashMap<u64, Arc<Slot<E>>>>,
}

impl<E: Engine> Storages<E> {
    pub(crate) fn new(raft: RaftStore<E>, env: Env, oracle: Arc<dyn Oracle>, store_wide: StoreWide) -> Self {
        Self { raft, env, oracle, store_wide, slots: RwLock::default() }
    }

    pub(crate) fn store_wide(&self) -> &StoreWide {
        &self.store_wide
    }

    fn slot(&self, permit: &ReadPermit) -> Option<Arc<Slot<E>>> {
        let fits = |slot: &&Arc<Slot<E>>| slot.term == permit.term() && slot.version == permit.version();
        if let Some(slot) = self.slots.read().get(&permit.region_id()).filter(fits) {
            return Some(slot.clone());
        }
        let mut slots = self.slots.write();
        if let Some(slot) = slots.get(&permit.region_id()) {
            if fits(&slot) {
                return Some(slot.clone());
            }
            if (slot.version, slot.term) > (permit.version(), permit.term()) {
                // The permission is older than what others have got meanwhile.
                return None;
            }
        }
        let slot = Arc::new(Slot { term: permit.term(), version: permit.version(), storage: OnceCell::new() });
        slots.insert(permit.region_id(), slot.clone());
        Some(slot)
    }

    /// The storage that belongs to a permission.
    pub(crate) async fn get(&self, permit: &ReadPermit) -> Result<RegionStorage<E>, Refusal> {
        let stale = || Refusal::region("the leader is another one by now", |error| error.stale_command = Some(errorpb::StaleCommand {}));
        let slot = self.slot(permit).ok_or_else(stale)?;
        slot.storage.get_or_try_init(|| self.open(permit)).await.cloned()
    }

    async fn open(&self, permit: &ReadPermit) -> Result<RegionStorage<E>, Refusal> {
        let Some(max_ts) = self.oracle.timestamp().await else {
            let fill = |error: &mut errorpb::Error| error.max_timestamp_not_synced = Some(errorpb::MaxTimestampNotSynced {});
            return Err(Refusal::region("the timestamp oracle cannot be reached", fill));
        };
        let region = self.raft.view(permit.region_id())?.region.clone();
        let engine = RegionEngine::new(self.raft.engine().clone(), &region);
        let writes = self.raft.writes(permit);
        let options = StorageOptions {
            default_lock_wait_ms: DEFAULT_LOCK_WAIT_MS,
            store_wide: Some(self.store_wide.clone()),
            ..StorageOptions::new(self.env.clone(), max_ts, Arc::default())
        };
        let opened = self.env.run_blocking(move || Storage::open(engine, writes, options)).await.unwrap_or(Err(txn::Error::Stopped));
        // The borders may have changed between the permission and the look at the region.
        self.raft.confirm(permit).await?;
        opened.map_err(|error| Refusal::of_command(self.raft.store_id(), error))
    }

    /// Drops storages of regions that are not led from here any more, or have changed.
    pub(crate) fn drop_stale(&self) {
        self.slots.write().retain(|region_id, slot| {
            let view = self.raft.view(*region_id);
            view.is_ok_and(|view| {
                view.is_leader && view.term == slot.term && raftstore::region::epoch(&view.region).version == slot.version
            })
        });
    }

    /// Waits until no command is at work that began before the write floor was raised.
    pub(crate) async fn wait_for_running(&self, safe_point: TimeStamp) {
        let open: Vec<_> = self.slots.read().values().filter_map(|slot| slot.storage.get().cloned()).collect();
        for storage in open {
            storage.raise_write_floor(safe_point).await;
        }
    }
}
