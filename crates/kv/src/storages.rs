//! The transactional storage of each region that is led from here.
//!
//! ```text
//!   region, term, version ─▶ Storage: latches, locks in memory, max_ts …
//! ```
//!
//! What a storage keeps in memory is about one region in one term of its leader, between two changes of its borders. When one of these changes, the
//! storage is dropped and another one is opened when the next request comes: its max_ts is a fresh timestamp of the placement driver's oracle
//! (rule 8), its count of locks is read from the engine. What the old one has proposed is made before the new one opens, or is refused.
//!
//! Pessimistic locks in memory move on when borders change while the leader stays: the storage of a region inherits from the one it had before in the
//! same term, and, in the first term of a region that was split off, from that of the region it was a part of. In between nobody else can have
//! written. Storages are kept for that purpose for a while after they were replaced. When another store becomes leader, locks are lost, and are
//! repaired when their transactions prewrite.

use std::{sync::Arc, time::Duration};

use base::TimeStamp;
use codec::engine_key::{DATA_PREFIX, encode_engine_key};
use engine::Engine;
use env::{BoxFuture, Env, Instant};
use parking_lot::{Mutex, RwLock};
use proto::{errorpb, metapb::Region};
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

/// How long a storage that was replaced is kept for those that inherit from it.
const KEPT_FOR_HEIRS: Duration = Duration::from_secs(60);

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
    replaced: Mutex<Vec<Replaced<E>>>,
}

/// A storage whose region has other borders now.
struct Replaced<E: Engine> {
    region_id: u64,
    slot: Arc<Slot<E>>,
    kept_until: Instant,
}

/// Whether a user key belongs to a region.
fn contains(region: &Region, key: &[u8]) -> bool {
    let mut engine_key = Vec::new();
    encode_engine_key(key, &mut engine_key);
    raftstore::region::contains(region, engine_key.strip_prefix(&[DATA_PREFIX]).unwrap_or_default())
}

impl<E: Engine> Storages<E> {
    pub(crate) fn new(raft: RaftStore<E>, env: Env, oracle: Arc<dyn Oracle>, store_wide: StoreWide) -> Self {
        Self { raft, env, oracle, store_wide, slots: RwLock::default(), replaced: Mutex::default() }
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
        if let Some(replaced) = slots.insert(permit.region_id(), slot.clone()) {
            self.keep(permit.region_id(), replaced);
        }
        Some(slot)
    }

    fn keep(&self, region_id: u64, slot: Arc<Slot<E>>) {
        if slot.storage.get().is_some_and(|storage| storage.lock_counts().0 > 0) {
            self.replaced.lock().push(Replaced { region_id, slot, kept_until: self.env.now() + KEPT_FOR_HEIRS });
        }
    }

    /// The storage whose locks the one of a permission inherits.
    fn ancestor(&self, permit: &ReadPermit) -> Option<RegionStorage<E>> {
        let (mut region_id, mut term, mut version) = (permit.region_id(), permit.term(), permit.version());
        loop {
            if let Some(storage) = self.last_before(region_id, term, version) {
                return Some(storage);
            }
            // Nothing was asked of the region before, so what was true of the one it was a part of is still true.
            let whole = self.raft.split_from(region_id, term)?;
            (region_id, term, version) = (whole.region_id, whole.term, whole.version);
        }
    }

    /// The last storage of a region in a term before it had a version.
    fn last_before(&self, region_id: u64, term: u64, version: u64) -> Option<RegionStorage<E>> {
        let current = self.slots.read().get(&region_id).cloned();
        let replaced = self.replaced.lock();
        let kept = replaced.iter().filter(|one| one.region_id == region_id).map(|one| &one.slot);
        let before = kept.chain(&current).filter(|slot| slot.term == term && slot.version < version);
        before.max_by_key(|slot| slot.version)?.storage.get().cloned()
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
        let ancestor = self.ancestor(permit);
        let open = move || {
            let storage = Storage::open(engine, writes, options)?;
            if let Some(ancestor) = ancestor {
                let taken = storage.inherit_locks(&ancestor, |key| contains(&region, key))?;
                tracing::debug!(region_id = region.id, taken, "locks in memory were taken over");
            }
            Ok(storage)
        };
        let opened = self.env.run_blocking(open).await.unwrap_or(Err(txn::Error::Stopped));
        // The borders may have changed between the permission and the look at the region.
        self.raft.confirm(permit).await?;
        opened.map_err(|error| Refusal::of_command(self.raft.store_id(), error))
    }

    /// Drops storages of regions that are not led from here any more, or have changed, and those that were kept long enough.
    pub(crate) fn drop_stale(&self) {
        let now = self.env.now();
        self.replaced.lock().retain(|one| one.kept_until > now);
        self.slots.write().retain(|region_id, slot| {
            let Ok(view) = self.raft.view(*region_id) else { return false };
            let stays = view.is_leader && view.term == slot.term;
            let has_its_borders = raftstore::region::epoch(&view.region).version == slot.version;
            if stays && !has_its_borders {
                self.keep(*region_id, slot.clone());
            }
            stays && has_its_borders
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
