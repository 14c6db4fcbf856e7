//! Group commit: the one thread that writes.
//!
//! ```text
//! submit ─┐                       commit thread
//! submit ─┼─► pending ──take all──► join batches ─► one write, one sync ─► on_done of each
//! submit ─┘   (the next group gathers here meanwhile)
//! ```
//!
//! While one group is being synced the next one gathers, so the number of syncs adapts to the load by itself. Where it pays, the thread then
//! waits a moment for those it has just told ([`crate::gather`]).
//! No synced write ever runs on a thread of the async runtime.
//!
//! Invariants:
//! - Batches are applied in the order they were submitted.
//! - `on_done` is called exactly once for every submitted batch, on the commit thread (or the submitting one when it is refused at once),
//!   after the batch is visible and, with `sync_log`, durable.
//! - After a failed write or sync nothing is written any more. The failure is told to `on_fatal` once, and to everybody who submits.
//! - With `sync_log = false` (the *relaxed* mode) commits survive the death of the process, not the loss of power.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    thread::JoinHandle,
    time::Instant,
};

use parking_lot::{Condvar, Mutex};

use crate::{DiskGuard, Engine, Error, Result, SpaceUse, WriteBatch, WriteDone, gather::Gather};

/// A group is cut here, so that the first of many large batches does not wait for all of them.
const MAX_GROUP_BYTES: usize = 8 << 20;
/// A server that has written so many groups is under load.
const LOAD_GROUPS: u64 = 512;
/// The buffer groups are joined in is given back beyond this size.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// How commits are made.
pub struct CommitOptions {
    /// Whether every group is synced to disk before it is acknowledged. `false` is the relaxed mode.
    pub sync_log: bool,
    /// Bytes that may wait before [`Error::Busy`] is answered.
    pub max_queued_bytes: u64,
    /// Refuses writes in time when the disk fills up.
    pub disk_guard: Option<Arc<DiskGuard>>,
    /// Told once when a write or sync failed; the process has to stop.
    pub on_fatal: Box<dyn Fn(&Error) + Send + Sync>,
}

impl Default for CommitOptions {
    fn default() -> Self {
        let on_fatal = Box::new(|error: &Error| tracing::error!(%error, "writing failed; no further writes are accepted"));
        Self { sync_log: true, max_queued_bytes: 256 << 20, disk_guard: None, on_fatal }
    }
}

/// Counters of the commit thread.
#[derive(Debug, Default)]
pub struct CommitMetrics {
    /// Batches written.
    pub batches: AtomicU64,
    /// Groups written; with `sync_log` also the number of syncs.
    pub groups: AtomicU64,
    /// Bytes written.
    pub bytes: AtomicU64,
    /// Nanoseconds spent writing and syncing.
    pub write_nanos: AtomicU64,
    /// Batches refused because the disk was nearly full.
    pub refused_disk_full: AtomicU64,
    /// Batches refused because too much was waiting.
    pub refused_busy: AtomicU64,
    /// Bytes waiting now.
    pub queued_bytes: AtomicU64,
}

/// The commit queue of one engine. Clones share it; the thread ends when the last one is dropped and the queue is empty.
pub struct CommitQueue<E: Engine> {
    handle: Arc<Handle<E>>,
}

impl<E: Engine> Clone for CommitQueue<E> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone() }
    }
}

struct Handle<E: Engine> {
    shared: Arc<Shared<E>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<E> {
    engine: E,
    options: CommitOptions,
    queue: Mutex<Queue>,
    /// Signalled when as many batches wait as the thread waits for, and when the queue is closed.
    wake: Condvar,
    poison: OnceLock<Error>,
    metrics: CommitMetrics,
    /// Prepares the engine for load.
    preparing: Mutex<Option<JoinHandle<()>>>,
    stopping: Arc<AtomicBool>,
}

#[derive(Default)]
struct Queue {
    pending: Vec<Pending>,
    closed: bool,
    /// The thread waits for so many batches; 0: it does not wait.
    wanted: usize,
}

struct Pending {
    batch: WriteBatch,
    space: SpaceUse,
    on_done: WriteDone,
}

impl<E: Engine> CommitQueue<E> {
    /// Starts the commit thread.
    pub fn start(engine: E, options: CommitOptions) -> Result<Self> {
        let shared = Arc::new(Shared {
            engine,
            options,
            queue: Mutex::default(),
            wake: Condvar::new(),
            poison: OnceLock::new(),
            metrics: CommitMetrics::default(),
            preparing: Mutex::default(),
            stopping: Arc::default(),
        });
        let for_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("commit".to_owned())
            .spawn(move || for_thread.run_until_closed())
            .map_err(|error| Error::io("cannot start", "commit thread", error))?;
        Ok(Self { handle: Arc::new(Handle { shared, thread: Mutex::new(Some(thread)) }) })
    }

    /// Queues a batch; `on_done` is called when it is written (must be quick: the next group waits for it) or refused.
    pub fn submit(&self, batch: WriteBatch, on_done: impl FnOnce(Result<()>) + Send + 'static) {
        self.submit_as(SpaceUse::Grows, batch, on_done);
    }

    /// [`CommitQueue::submit`] for a batch that may be let through when the disk is nearly full.
    pub fn submit_as(&self, space: SpaceUse, batch: WriteBatch, on_done: impl FnOnce(Result<()>) + Send + 'static) {
        self.handle.shared.submit(Pending { batch, space, on_done: Box::new(on_done) });
    }

    /// Queues a batch at once; the future waits until it is written. Dropping the future does not take the batch back.
    pub fn commit(&self, batch: WriteBatch) -> CommitFuture {
        let state = Arc::new(Mutex::new(CommitState::default()));
        let completer = state.clone();
        self.submit(batch, move |result| {
            let mut state = completer.lock();
            state.result = Some(result);
            if let Some(waker) = state.waker.take() {
                drop(state);
                waker.wake();
            }
        });
        CommitFuture { state }
    }

    /// Writes a batch and waits on this thread, which must not be one of the async runtime.
    pub fn commit_blocking(&self, batch: WriteBatch) -> Result<()> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.submit(batch, move |result| {
            // The receiver waits below until this is sent.
            let _ = sender.send(result);
        });
        receiver.recv().unwrap_or(Err(Error::ShutDown))
    }

    /// Counters of the commit thread.
    pub fn metrics(&self) -> &CommitMetrics {
        &self.handle.shared.metrics
    }

    /// The failure that stopped all writing, if there was one.
    pub fn poison(&self) -> Option<&Error> {
        self.handle.shared.poison.get()
    }

    /// Refuses new batches, writes those that wait, and ends the thread.
    pub fn close(&self) {
        self.handle.close();
    }
}

impl<E: Engine> Handle<E> {
    fn close(&self) {
        self.shared.queue.lock().closed = true;
        self.shared.stopping.store(true, Ordering::Relaxed);
        self.shared.wake.notify_all();
        let threads = [self.thread.lock().take(), self.shared.preparing.lock().take()];
        for thread in threads.into_iter().flatten().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            // A panic of the commit thread has been told to on_fatal already.
            let _ = thread.join();
        }
    }
}

impl<E: Engine> Drop for Handle<E> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<E: Engine> Shared<E> {
    /// There is load: the engine may prepare for it, beside the commits.
    fn prepare_for_load(&self) {
        // What makes commits cheaper must not be what fills the disk.
        if self.options.disk_guard.as_ref().is_some_and(|guard| guard.available_bytes() < guard.capacity_bytes() / 2) {
            return;
        }
        let (engine, stopping) = (self.engine.clone(), self.stopping.clone());
        let prepare = move || {
            if let Err(error) = engine.prepare_for_load(&|| stopping.load(Ordering::Relaxed)) {
                tracing::warn!(%error, "could not prepare the log; synced writes go on at the price of growing files");
            }
        };
        match std::thread::Builder::new().name("log-filler".to_owned()).spawn(prepare) {
            Ok(thread) => *self.preparing.lock() = Some(thread),
            Err(error) => tracing::warn!(%error, "cannot start the thread that prepares the log"),
        }
    }

    fn submit(&self, pending: Pending) {
        if let Some(error) = self.poison.get() {
            return (pending.on_done)(Err(error.clone()));
        }
        let bytes = pending.batch.size_bytes() as u64;
        let limit_bytes = self.options.max_queued_bytes;
        let mut queue = self.queue.lock();
        if queue.closed {
            drop(queue);
            return (pending.on_done)(Err(Error::ShutDown));
        }
        let queued_bytes = self.metrics.queued_bytes.load(Ordering::Relaxed);
        // A batch larger than the limit is let through when it is alone, or it could never be written.
        if queued_bytes > 0 && queued_bytes.saturating_add(bytes) > limit_bytes {
            drop(queue);
            self.metrics.refused_busy.fetch_add(1, Ordering::Relaxed);
            return (pending.on_done)(Err(Error::Busy { queued_bytes, limit_bytes }));
        }
        self.metrics.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        queue.pending.push(pending);
        let wake = queue.wanted > 0 && queue.pending.len() >= queue.wanted;
        if wake {
            queue.wanted = 0;
        }
        drop(queue);
        if wake {
            self.wake.notify_one();
        }
    }

    fn run_until_closed(&self) {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let mut taken = Vec::new();
            let mut joined = WriteBatch::new();
            let mut gather = Gather::default();
            while self.take_pending(&mut taken, &mut gather) {
                let members = taken.len();
                let started = Instant::now();
                self.write_all(&mut taken, &mut joined);
                if self.options.sync_log {
                    gather.written(members, self.queue.lock().pending.len(), started.elapsed());
                }
            }
        }));
        if ended.is_err() {
            let detail = "the commit thread panicked; see the log".into();
            self.fail(Error::Corruption { what: "commit thread", detail });
        }
        self.queue.lock().closed = true;
        let refused = std::mem::take(&mut self.queue.lock().pending);
        let error = self.poison.get().cloned().unwrap_or(Error::ShutDown);
        refused.into_iter().for_each(|pending| (pending.on_done)(Err(error.clone())));
    }

    /// Waits for batches and takes all of them; false when the queue is closed and empty.
    fn take_pending(&self, taken: &mut Vec<Pending>, gather: &mut Gather) -> bool {
        let mut queue = self.queue.lock();
        while queue.pending.is_empty() {
            if queue.closed {
                return false;
            }
            queue.wanted = 1;
            self.wake.wait(&mut queue);
        }
        let here = queue.pending.len();
        if let Some((expected, patience)) = gather.wait_for(here) {
            let until = Instant::now() + patience;
            while queue.pending.len() < expected && !queue.closed {
                queue.wanted = expected;
                if self.wake.wait_until(&mut queue, until).timed_out() {
                    break;
                }
            }
            gather.waited(here, queue.pending.len());
        }
        queue.wanted = 0;
        std::mem::swap(&mut queue.pending, taken);
        true
    }

    fn write_all(&self, taken: &mut Vec<Pending>, joined: &mut WriteBatch) {
        let mut rest = taken.drain(..).peekable();
        let mut group = Vec::new();
        while let Some(first) = rest.next() {
            let mut bytes = first.batch.size_bytes();
            group.push(first);
            while let Some(next) = rest.next_if(|next| bytes + next.batch.size_bytes() <= MAX_GROUP_BYTES) {
                bytes += next.batch.size_bytes();
                group.push(next);
            }
            self.write_group(&mut group, bytes as u64, joined);
        }
    }

    fn write_group(&self, group: &mut Vec<Pending>, bytes: u64, joined: &mut WriteBatch) {
        self.metrics.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(error) = self.poison.get() {
            return group.drain(..).for_each(|pending| (pending.on_done)(Err(error.clone())));
        }
        self.refuse_when_disk_is_full(group, bytes);
        if group.is_empty() {
            return;
        }
        let started = Instant::now();
        let result = self.write_and_sync(group, joined);
        self.metrics.write_nanos.fetch_add(started.elapsed().as_nanos() as u64, Ordering::Relaxed);
        if self.metrics.groups.fetch_add(1, Ordering::Relaxed) + 1 == LOAD_GROUPS && self.options.sync_log {
            self.prepare_for_load();
        }
        self.metrics.batches.fetch_add(group.len() as u64, Ordering::Relaxed);
        self.metrics.bytes.fetch_add(bytes, Ordering::Relaxed);
        let result = result.map_err(|cause| self.fail(cause));
        group.drain(..).for_each(|pending| (pending.on_done)(result.clone()));
    }

    /// The one place where user writes are synced, or, in relaxed mode, are not.
    fn write_and_sync(&self, group: &[Pending], joined: &mut WriteBatch) -> Result<()> {
        let sync = self.options.sync_log;
        if let [only] = group {
            return self.engine.write_ref(&only.batch, sync);
        }
        joined.clear();
        group.iter().for_each(|pending| joined.append(&pending.batch));
        let result = self.engine.write_ref(joined, sync);
        joined.clear();
        joined.shrink_to(KEPT_BUFFER_BYTES);
        result
    }

    fn refuse_when_disk_is_full(&self, group: &mut Vec<Pending>, bytes: u64) {
        let Some(guard) = &self.options.disk_guard else { return };
        let (refused, error): (Vec<Pending>, Error) = match guard.check(bytes) {
            Ok(room) => (group.extract_if(.., |pending| !room.admits(pending.space)).collect(), guard.refusal()),
            // A file system that does not say how full it is may be full.
            Err(error) => (group.extract_if(.., |pending| pending.space != SpaceUse::Essential).collect(), error),
        };
        for refused in refused {
            self.metrics.refused_disk_full.fetch_add(1, Ordering::Relaxed);
            (refused.on_done)(Err(error.clone()));
        }
    }

    /// Poisons the queue with `cause` (the first one counts) and returns what everybody is told.
    fn fail(&self, cause: Error) -> Error {
        let mut first = false;
        let poison = self.poison.get_or_init(|| {
            first = true;
            Error::Poisoned { cause: Arc::new(cause) }
        });
        if first {
            (self.options.on_fatal)(poison);
        }
        poison.clone()
    }
}

#[derive(Default)]
struct CommitState {
    result: Option<Result<()>>,
    waker: Option<Waker>,
}

/// Waits for a batch given to [`CommitQueue::commit`].
pub struct CommitFuture {
    state: Arc<Mutex<CommitState>>,
}

impl Future for CommitFuture {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut state = self.state.lock();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}
