//! The placement driver of a single process.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use base::{ClusterId, TimeStamp};
use engine::Engine;
use env::Env;
use parking_lot::Mutex;

use crate::{
    Error, Result,
    ids::IdAllocator,
    meta::{CLUSTER_ID, EngineMeta, ID_LIMIT, MetaStore, SAFE_POINTS, TIMESTAMP_LIMIT},
    oracle::{NextTimestamp, TimestampOracle},
    safe_points::SafePoints,
};

/// Placement driver in one process; cheap to clone.
#[derive(Clone)]
pub struct EmbeddedPd {
    inner: Arc<Inner>,
}

struct Inner {
    env: Env,
    meta: Arc<dyn MetaStore>,
    cluster_id: ClusterId,
    oracle: TimestampOracle,
    /// Serialises those who persist a window; most callers never come here.
    window: tokio::sync::Mutex<()>,
    /// Whether a task that renews the window is under way.
    renewing: AtomicBool,
    ids: tokio::sync::Mutex<IdAllocator>,
    safe_points: Mutex<SafePoints>,
    /// Keeps the order of safe points on disk that of their changes.
    safe_points_write: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for EmbeddedPd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmbeddedPd").field("cluster_id", &self.inner.cluster_id).field("oracle", &self.inner.oracle).finish()
    }
}

impl EmbeddedPd {
    /// Reads the state of an engine, or bootstraps a new cluster in it. Waits for the disk: called once, at start-up.
    pub fn open(engine: impl Engine, env: Env) -> Result<Self> {
        let meta: Arc<dyn MetaStore> = Arc::new(EngineMeta(engine));
        let cluster_id = match meta.get_u64(CLUSTER_ID)? {
            Some(id) => id,
            None => {
                // Zero means "no cluster" to every client.
                let id = env.random().max(1);
                meta.put_u64(CLUSTER_ID, id)?;
                id
            }
        };
        let oracle = TimestampOracle::new(TimeStamp(meta.get_u64(TIMESTAMP_LIMIT)?.unwrap_or(0)));
        let limit = oracle.next_limit(env.wall_ms());
        meta.put_u64(TIMESTAMP_LIMIT, limit.0)?;
        oracle.open_window(limit);
        let ids = IdAllocator::new(meta.get_u64(ID_LIMIT)?.unwrap_or(0));
        let safe_points = match meta.get(SAFE_POINTS)? {
            Some(bytes) => SafePoints::decode(&bytes).ok_or(Error::Corrupted { key: SAFE_POINTS, len: bytes.len() })?,
            None => SafePoints::default(),
        };
        let inner = Inner {
            env,
            meta,
            cluster_id: ClusterId(cluster_id),
            oracle,
            window: tokio::sync::Mutex::new(()),
            renewing: AtomicBool::new(false),
            ids: tokio::sync::Mutex::new(ids),
            safe_points: Mutex::new(safe_points),
            safe_points_write: tokio::sync::Mutex::new(()),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The cluster's id, never zero.
    pub fn cluster_id(&self) -> ClusterId {
        self.inner.cluster_id
    }

    /// A timestamp greater than all handed out before. Waits only when the persisted window is used up, as after an idle time.
    pub async fn timestamp(&self) -> Result<TimeStamp> {
        loop {
            if let Some(ts) = self.try_timestamp() {
                return Ok(ts);
            }
            let window = self.inner.window.lock().await;
            // Another caller may have persisted it meanwhile.
            if let Some(ts) = self.try_timestamp() {
                return Ok(ts);
            }
            self.persist_window(window).await?;
        }
    }

    /// A timestamp greater than all handed out before, if that needs no waiting.
    #[inline]
    pub fn try_timestamp(&self) -> Option<TimeStamp> {
        match self.inner.oracle.next(self.inner.env.wall_ms()) {
            NextTimestamp::Ready { ts, renew } => {
                if renew {
                    self.renew_window();
                }
                Some(ts)
            }
            NextTimestamp::WindowUsedUp => None,
        }
    }

    /// The greatest timestamp that may have been handed out.
    pub fn last_timestamp(&self) -> TimeStamp {
        self.inner.oracle.last()
    }

    #[cold]
    fn renew_window(&self) {
        if self.inner.renewing.swap(true, Ordering::AcqRel) {
            return;
        }
        let pd = self.clone();
        self.inner.env.spawn(async move {
            let window = pd.inner.window.lock().await;
            if let Err(error) = pd.persist_window(window).await {
                // Whoever finds the window used up tries again, and tells its caller.
                tracing::warn!(%error, "could not persist the next timestamp window");
            }
            pd.inner.renewing.store(false, Ordering::Release);
        });
    }

    async fn persist_window(&self, _window: tokio::sync::MutexGuard<'_, ()>) -> Result<()> {
        let limit = self.inner.oracle.next_limit(self.inner.env.wall_ms());
        self.persist(move |meta| meta.put_u64(TIMESTAMP_LIMIT, limit.0)).await?;
        self.inner.oracle.open_window(limit);
        Ok(())
    }

    async fn persist(&self, job: impl FnOnce(&dyn MetaStore) -> Result<()> + Send + 'static) -> Result<()> {
        let meta = self.inner.meta.clone();
        self.inner.env.run_blocking(move || job(&*meta)).await.unwrap_or(Err(Error::Stopped))
    }

    /// An id that was never handed out before.
    pub async fn allocate_id(&self) -> Result<u64> {
        let mut ids = self.inner.ids.lock().await;
        let (id, begun) = ids.allocate();
        if let Some(limit) = begun
            && let Err(error) = self.persist(move |meta| meta.put_u64(ID_LIMIT, limit)).await
        {
            // The window was not persisted, so it was not begun.
            *ids = IdAllocator::new(id);
            return Err(error);
        }
        Ok(id)
    }

    /// The cluster's safe point.
    pub fn gc_safe_point(&self) -> TimeStamp {
        self.inner.safe_points.lock().gc
    }

    /// The oldest timestamp any registered service still wants to read at.
    pub fn min_service_safe_point(&self) -> Option<TimeStamp> {
        self.inner.safe_points.lock().min_service(self.inner.env.wall_ms())
    }

    /// Moves the cluster's safe point, not past any service's; answers where it is, on disk, then.
    pub async fn update_gc_safe_point(&self, safe_point: TimeStamp) -> Result<TimeStamp> {
        self.change_safe_points(|points, wall_ms| Ok(points.update_gc(safe_point, wall_ms))).await
    }

    /// Keeps versions visible at `safe_point` and later from garbage collection for `ttl`, on behalf of a service.
    pub async fn set_service_safe_point(&self, service: &str, safe_point: TimeStamp, ttl: std::time::Duration) -> Result<()> {
        self.change_safe_points(|points, wall_ms| points.set_service(service, safe_point, wall_ms.saturating_add(ttl.as_millis() as u64)))
            .await
    }

    /// Forgets a service.
    pub async fn remove_service_safe_point(&self, service: &str) -> Result<()> {
        self.change_safe_points(|points, _| {
            points.remove_service(service);
            Ok(())
        })
        .await
    }

    /// Persists a change before anybody sees it.
    async fn change_safe_points<T>(&self, change: impl FnOnce(&mut SafePoints, u64) -> Result<T>) -> Result<T> {
        let _order = self.inner.safe_points_write.lock().await;
        let mut changed = self.inner.safe_points.lock().clone();
        let answer = change(&mut changed, self.inner.env.wall_ms())?;
        let encoded = changed.encode();
        self.persist(move |meta| meta.put(SAFE_POINTS, &encoded)).await?;
        *self.inner.safe_points.lock() = changed;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use engine::MemEngine;
    use env::{ManualClock, SeededRng, TokioSpawn};

    use super::*;

    fn environment(clock: &ManualClock) -> Env {
        Env::new(Arc::new(clock.clone()), Arc::new(SeededRng::new(1)), Arc::new(TokioSpawn))
    }

    #[tokio::test]
    async fn timestamps_and_ids_go_on_behind_a_restart_with_the_clock_set_back() {
        let engine = MemEngine::new();
        let clock = ManualClock::new(1_000_000);
        let pd = EmbeddedPd::open(engine.clone(), environment(&clock)).unwrap();
        let mut last = TimeStamp::ZERO;
        for _ in 0..100 {
            clock.advance(Duration::from_millis(170));
            let ts = pd.timestamp().await.unwrap();
            assert!(ts > last);
            last = ts;
        }
        let id = pd.allocate_id().await.unwrap();
        clock.set_wall_ms(500_000);
        let restarted = EmbeddedPd::open(engine, environment(&clock)).unwrap();
        assert_eq!(restarted.cluster_id(), pd.cluster_id());
        assert!(restarted.timestamp().await.unwrap() > last);
        assert!(restarted.allocate_id().await.unwrap() > id);
    }

    #[tokio::test]
    async fn safe_points_survive_a_restart() {
        let engine = MemEngine::new();
        let clock = ManualClock::new(1_000_000);
        let pd = EmbeddedPd::open(engine.clone(), environment(&clock)).unwrap();
        pd.set_service_safe_point("backup", TimeStamp(70), Duration::from_secs(60)).await.unwrap();
        assert_eq!(pd.update_gc_safe_point(TimeStamp(100)).await.unwrap(), TimeStamp(70));
        let restarted = EmbeddedPd::open(engine, environment(&clock)).unwrap();
        assert_eq!((restarted.gc_safe_point(), restarted.min_service_safe_point()), (TimeStamp(70), Some(TimeStamp(70))));
        restarted.remove_service_safe_point("backup").await.unwrap();
        assert_eq!(restarted.update_gc_safe_point(TimeStamp(100)).await.unwrap(), TimeStamp(100));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn concurrent_callers_never_share_a_timestamp() {
        let pd = EmbeddedPd::open(MemEngine::new(), Env::production()).unwrap();
        let mut tasks = Vec::new();
        for _ in 0..4 {
            let pd = pd.clone();
            tasks.push(tokio::spawn(async move {
                let mut seen = Vec::new();
                for _ in 0..5000 {
                    seen.push(pd.timestamp().await.unwrap());
                }
                assert!(seen.is_sorted());
                seen
            }));
        }
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.unwrap());
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 20_000);
    }
}
