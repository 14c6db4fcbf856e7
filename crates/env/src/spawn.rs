//! Tasks: futures that must not block, and jobs that may wait for the disk.

use std::{pin::Pin, sync::Arc};

use tokio::runtime::Handle;

/// An owned future that can move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Starts tasks.
pub trait Spawn: Send + Sync + 'static {
    /// Runs a future as a task of its own.
    fn spawn(&self, future: BoxFuture<()>);

    /// Runs a job that may wait for the disk on a thread kept for such jobs.
    fn spawn_blocking(&self, job: Box<dyn FnOnce() + Send>);

    /// Starts tasks where the caller runs, whoever calls it later; `None` where it makes no difference.
    fn bound(&self) -> Option<Arc<dyn Spawn>> {
        None
    }
}

/// The tokio runtime that is current on the calling thread.
///
/// Where there is none (a destructor that runs after the runtime has gone), a future is dropped: whatever it wanted to
/// clean up ends with the process. A job is run at once on the calling thread, which then serves no other task.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioSpawn;

impl Spawn for TokioSpawn {
    fn spawn(&self, future: BoxFuture<()>) {
        if let Ok(handle) = Handle::try_current() {
            handle.spawn(future);
        }
    }

    fn spawn_blocking(&self, job: Box<dyn FnOnce() + Send>) {
        match Handle::try_current() {
            Ok(handle) => {
                handle.spawn_blocking(job);
            }
            Err(_) => job(),
        }
    }
    fn bound(&self) -> Option<Arc<dyn Spawn>> {
        Some(Arc::new(Bound(Handle::try_current().ok()?)))
    }
}

/// One tokio runtime.
struct Bound(Handle);

impl Spawn for Bound {
    fn spawn(&self, future: BoxFuture<()>) {
        self.0.spawn(future);
    }

    fn spawn_blocking(&self, job: Box<dyn FnOnce() + Send>) {
        self.0.spawn_blocking(job);
    }
}
