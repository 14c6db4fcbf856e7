//! The threads that serve connections: one event loop each, and every connection stays on the loop it was given to.
//!
//! ```text
//!   accept ──▶ loop with the fewest connections ──▶ all of the connection's life
//! ```
//!
//! A statement is read, executed and answered on one thread, which is woken by its own readiness queue only: no task is stolen, and no
//! thread wakes another one for a client's packet. What other threads have to tell (a commit is on disk) is gathered ([`crate::wakes`]). Work that computes for long or waits for the disk leaves the loop (`Env::run_blocking`),
//! and everything else gives way between chunks, so that the connections of one loop share it fairly.
//!
//! Invariant: a loop ends only when it is told to, after the server has closed its connections.

use std::{
    future::Future,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{runtime::Handle, sync::Notify};

use crate::{
    Error,
    wakes::{Gathered, Inbox},
};

/// How many loops there are and what each may start.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkerOptions {
    /// Event loops; 0 for one a core.
    pub threads: usize,
    /// Threads that all loops together may start for work that waits for the disk; 0 for the runtime's default.
    pub blocking_threads: usize,
}

/// The event loops of a server.
pub struct Workers {
    loops: Vec<Loop>,
}

struct Loop {
    handle: Handle,
    /// Connections served now.
    load: Arc<AtomicUsize>,
    inbox: Arc<Inbox>,
    stop: Arc<Notify>,
}

/// Counts a connection of a loop for as long as it lives.
struct Served(Arc<AtomicUsize>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts the loops.
    pub fn start(options: WorkerOptions) -> Result<Self, Error> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let loops = (0..threads).map(|_| Loop::start(options.blocking_threads.div_ceil(threads))).collect::<Result<_, _>>()?;
        Ok(Self { loops })
    }

    /// Serves a connection on the loop that has the fewest.
    pub fn serve<F>(&self, stream: TcpStream, serve: impl FnOnce(tokio::net::TcpStream) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(least) = self.loops.iter().min_by_key(|l| l.load.load(Ordering::Relaxed)) else { return };
        least.load.fetch_add(1, Ordering::Relaxed);
        let served = Served(least.load.clone());
        let connection = async move {
            let _served = served;
            // Registered with the readiness queue of the loop that runs this.
            match tokio::net::TcpStream::from_std(stream) {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::warn!(%error, "cannot watch a connection"),
            }
        };
        least.handle.spawn(Gathered::new(connection, least.inbox.clone()));
    }

    /// Tells the loops to end, whatever still runs on them.
    pub fn stop(&self) {
        for l in &self.loops {
            l.stop.notify_one();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Loop {
    fn start(blocking_threads: usize) -> Result<Self, Error> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        if blocking_threads > 0 {
            builder.max_blocking_threads(blocking_threads);
        }
        let runtime = builder.enable_all().thread_name("worker").build().map_err(|source| Error::Thread { source })?;
        let (handle, stop) = (runtime.handle().clone(), Arc::new(Notify::new()));
        let told = stop.clone();
        let inbox = Arc::new(Inbox::default());
        runtime.spawn(inbox.clone().pump());
        std::thread::Builder::new()
            .name("worker".to_owned())
            .spawn(move || {
                runtime.block_on(told.notified());
                runtime.shutdown_background();
            })
            .map_err(|source| Error::Thread { source })?;
        Ok(Self { handle, load: Arc::default(), inbox, stop })
    }
}
