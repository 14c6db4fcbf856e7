//! What a node takes from the outside world: time, randomness and tasks, as small traits with their production versions.
//!
//! Crates from `txn` upwards never call the operating system's clock, random number generator or the async runtime's
//! spawner directly: they take them through an [`Env`]. In production it is a thin layer over the system; a simulated
//! cluster puts one seeded implementation under every node, so that a run can be repeated from its seed.
//!
//! Invariants:
//! - [`Clock::now`] never goes backwards; [`Clock::wall_ms`] may (an operator can set the clock), so nothing is ordered by it.
//! - A job given to [`Spawn::spawn_blocking`] may wait for the disk; a future given to [`Spawn::spawn`] must not.

mod cancel;
mod clock;
mod rng;
mod spawn;

use std::{sync::Arc, time::Duration};

pub use cancel::{CancelReason, CancelToken, Cancelled};
pub use clock::{Clock, Instant, ManualClock, SystemClock};
pub use rng::{Rng, SeededRng, SystemRng};
pub use spawn::{BoxFuture, Spawn, TokioSpawn};

/// Handles to the outside world; cheap to clone, one for each node.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    rng: Arc<dyn Rng>,
    spawner: Arc<dyn Spawn>,
}

impl Env {
    /// Puts an environment together from its parts.
    pub fn new(clock: Arc<dyn Clock>, rng: Arc<dyn Rng>, spawner: Arc<dyn Spawn>) -> Self {
        Self { clock, rng, spawner }
    }

    /// The operating system's clock and randomness, and the tokio runtime that is current where tasks are spawned.
    pub fn production() -> Self {
        Self::new(Arc::new(SystemClock::new()), Arc::new(SystemRng), Arc::new(TokioSpawn))
    }

    /// The monotonic clock.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The wall clock: milliseconds since the Unix epoch.
    pub fn wall_ms(&self) -> u64 {
        self.clock.wall_ms()
    }

    /// Completes after `duration`.
    pub fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.clock.sleep(duration)
    }

    /// 64 random bits.
    pub fn random(&self) -> u64 {
        self.rng.next_u64()
    }

    /// The same environment, whose tasks run where the caller of this does: long work that a connection asks for must not run on the event
    /// loop of that connection and its neighbours.
    pub fn bound(&self) -> Self {
        Self { spawner: self.spawner.bound().unwrap_or_else(|| self.spawner.clone()), ..self.clone() }
    }

    /// Runs `future` as a task of its own.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.spawner.spawn(Box::pin(future));
    }

    /// Runs `job`, which may wait for the disk, outside the async workers, and returns its result; `None` when the job
    /// panicked or the runtime is going down.
    pub async fn run_blocking<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.spawner.spawn_blocking(Box::new(move || {
            // The caller may have gone away; its answer is then nobody's.
            let _ = sender.send(job());
        }));
        receiver.await.ok()
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}
