//! The owner: runs the queued jobs of the cluster.
//!
//! Jobs that touch no common table or database run beside each other, the others in the order of their ids. Each running job is one task:
//!
//! ```text
//!   ┌─▶ commit lock: step(job, newest schema) ─▶ apply in one transaction ─▶ commit ─▶ reload the catalog
//!   │        │ Backfill                                                                     │
//!   │        ▼                                                                              ▼
//!   └── backfill the new indexes (checkpoints in the job)             wait until nobody uses the version before
//! ```
//!
//! In one process there is no polling: submitting a job, the end of a job and the end of a transaction each wake exactly who waits for them. In a
//! cluster one server at a time owns the queue (`ownership`), and after each step the owner waits for all servers, not only for its own sessions.
//!
//! Invariants:
//! - Steps of all jobs are serialized by the commit lock, so each sees the schema that the one before has left.
//! - In a cluster no step is written by a server that does not own the queue at that moment.
//! - After a crash the stored job is the whole truth: the next owner goes on from it. Errors that leave the outcome of a
//!   commit open are treated the same way: the job is read back.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use base::{TableId, TimeStamp};
use catalog::{Catalog, meta::Meta};
use client::TxnOptions;
use env::Env;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tracing::{info, warn};

use crate::{
    Error, Result,
    apply::apply,
    backfill,
    job::{Action, Job, JobError},
    ownership::Ownership,
    queue,
    step::{Step, step},
};

/// Pauses between attempts at a step that fails for reasons outside of it, such as a full disk.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a submitter hears of its job's end.
type Waiter = oneshot::Sender<Result<Job>>;

pub(crate) struct Owner {
    pub(crate) catalog: Catalog,
    /// Jobs run where the owner was started, not where statements ask for them.
    env: Env,
    state: Mutex<State>,
    /// Held while a step is taken.
    commit: tokio::sync::Mutex<()>,
    /// The lease on the queue, in a cluster.
    pub(crate) ownership: Option<Ownership>,
}

#[derive(Default)]
pub(crate) struct State {
    jobs: BTreeMap<i64, Entry>,
    waiters: HashMap<i64, Waiter>,
    cancelled: HashSet<i64>,
    stopped: bool,
    /// Jobs of this turn as an owner that have ended: the queue may have been read before.
    ended: HashSet<i64>,
}

struct Entry {
    job: Job,
    running: bool,
}

/// What a step came to.
enum Progress {
    /// Written; before the next one nobody may use these tables at a version before this.
    Stepped(Vec<TableId>, u64),
    /// The new indexes must be filled.
    Backfill,
}

impl Owner {
    /// An owner that goes on with the jobs it finds.
    pub(crate) async fn start(catalog: Catalog) -> Result<Arc<Self>> {
        let ownership = catalog.servers().cloned().map(Ownership::new);
        let env = catalog.client().env().bound();
        let owner = Arc::new(Self { catalog, env, state: Mutex::default(), commit: tokio::sync::Mutex::default(), ownership });
        if owner.ownership.is_some() {
            owner.catalog.client().env().spawn(crate::ownership::attend(Arc::downgrade(&owner)));
            return Ok(owner);
        }
        let mut txn = owner.catalog.client().begin(TxnOptions::default());
        let found = queue::unfinished(&mut Meta::new(&mut txn)).await;
        txn.rollback().await;
        for job in found? {
            info!(job = job.id, action = job.action.name(), table = job.table, "resuming a DDL job");
            owner.state.lock().jobs.insert(job.id, Entry { job, running: false });
        }
        owner.schedule();
        Ok(owner)
    }

    /// Queues a job. `make` builds it from ids that are its own: the job's and `ids - 1` more that follow it.
    pub(crate) async fn submit(self: &Arc<Self>, ids: i64, make: impl Fn(i64) -> Job) -> Result<(i64, oneshot::Receiver<Result<Job>>)> {
        loop {
            let mut txn = self.catalog.client().begin(TxnOptions::default());
            let mut meta = Meta::new(&mut txn);
            let job = make(meta.allocate_ids(ids).await?);
            queue::put(&mut meta, &job)?;
            match txn.commit().await {
                Ok(_) => {}
                Err(error) if error.is_retryable() => continue,
                Err(error) => return Err(error.into()),
            }
            let (sender, receiver) = oneshot::channel();
            let id = job.id;
            {
                let mut state = self.state.lock();
                state.waiters.insert(id, sender);
                if self.ownership.is_none() {
                    state.jobs.insert(id, Entry { job, running: false });
                }
            }
            match &self.ownership {
                None => self.schedule(),
                Some(ownership) => {
                    ownership.wake();
                    self.catalog.client().env().spawn(crate::ownership::watch_job(Arc::downgrade(self), id));
                }
            }
            return Ok((id, receiver));
        }
    }

    /// Makes sure that `meta`'s transaction commits only if this server owns the queue.
    async fn confirm_ownership(&self, meta: &mut Meta<'_>, now: TimeStamp) -> Result<()> {
        match &self.ownership {
            None => Ok(()),
            Some(ownership) => ownership.confirm(meta, now).await,
        }
    }

    /// Takes jobs of the queue in that are not known yet, and starts those whose turn it is; answers how many there are.
    pub(crate) fn take_in(self: &Arc<Self>, jobs: Vec<Job>, cancelled: &[i64]) -> usize {
        let count = {
            let mut state = self.state.lock();
            for job in jobs {
                if !state.ended.contains(&job.id) {
                    state.jobs.entry(job.id).or_insert(Entry { job, running: false });
                }
            }
            let known: Vec<i64> = cancelled.iter().copied().filter(|id| state.jobs.contains_key(id)).collect();
            state.cancelled.extend(known);
            state.jobs.len()
        };
        self.schedule();
        count
    }

    /// The queue is another server's now: jobs that wait here are forgotten; those that run end at their next step.
    pub(crate) fn let_go(&self) {
        let mut state = self.state.lock();
        state.jobs.retain(|_, entry| entry.running);
        state.ended.clear();
    }

    /// Whether a job runs here.
    pub(crate) fn is_running_jobs(&self) -> bool {
        !self.state.lock().jobs.is_empty()
    }

    /// Whether somebody here waits for the end of a job.
    pub(crate) fn has_waiter(&self, id: i64) -> bool {
        self.state.lock().waiters.contains_key(&id)
    }

    /// A job that another server has run is at its end.
    pub(crate) fn report_end(&self, job: Job) {
        let waiter = self.state.lock().waiters.remove(&job.id);
        if let Some(waiter) = waiter {
            // A submitter that has gone away does not want to know.
            let _ = waiter.send(Ok(job));
        }
    }

    /// Asks whichever server runs it for the cancelling of a job; false when there is no such job under way.
    pub(crate) async fn request_cancel(&self, id: i64) -> Result<bool> {
        if self.cancel(id) || self.ownership.is_none() {
            return Ok(self.is_cancelled(id));
        }
        crate::ownership::request_cancel(self, id).await
    }

    /// Asks for the cancelling of a job; false when there is no such job under way.
    pub(crate) fn cancel(&self, id: i64) -> bool {
        let mut state = self.state.lock();
        let known = state.jobs.contains_key(&id);
        if known {
            state.cancelled.insert(id);
        }
        known
    }

    /// Whether somebody asked for the cancelling of a job.
    pub(crate) fn is_cancelled(&self, id: i64) -> bool {
        self.state.lock().cancelled.contains(&id)
    }

    /// Whether the owner has been stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Starts no further step. Jobs stay as they are, for the next owner.
    pub(crate) fn stop(&self) {
        self.state.lock().stopped = true;
    }

    /// Starts every job whose turn it is.
    fn schedule(self: &Arc<Self>) {
        let mut ready = Vec::new();
        {
            let mut state = self.state.lock();
            if state.stopped {
                return;
            }
            let ids: Vec<i64> = state.jobs.keys().copied().collect();
            for (at, id) in ids.iter().enumerate() {
                let entry = &state.jobs[id];
                let blocked = ids[..at].iter().any(|earlier| entry.job.must_follow(&state.jobs[earlier].job));
                if !entry.running && !blocked {
                    ready.push(*id);
                }
            }
            for id in &ready {
                if let Some(entry) = state.jobs.get_mut(id) {
                    entry.running = true;
                }
            }
        }
        for id in ready {
            let owner = Arc::clone(self);
            self.env.spawn(async move { owner.run(id).await });
        }
    }

    /// Runs a job to its end.
    async fn run(self: Arc<Self>, id: i64) {
        let Some(mut job) = self.state.lock().jobs.get(&id).map(|entry| entry.job.clone()) else { return };
        let _abandoned = Abandoned { owner: &self, id };
        let result = self.run_steps(&mut job).await;
        let waiter = {
            let mut state = self.state.lock();
            state.cancelled.remove(&id);
            if job.is_finished() || self.ownership.is_some() {
                state.jobs.remove(&id);
            }
            if job.is_finished() && self.ownership.is_some() {
                state.ended.insert(id);
            }
            // A job that another server goes on with is still waited for.
            if job.is_finished() || self.ownership.is_none() || state.stopped { state.waiters.remove(&id) } else { None }
        };
        if let Err(error) = &result {
            warn!(job = id, %error, "a DDL job was left for the next owner");
        }
        if let Some(waiter) = waiter {
            // A submitter that has gone away does not want to know.
            let _ = waiter.send(result.map(|()| job));
        }
        self.schedule();
        if let Some(ownership) = &self.ownership {
            ownership.wake();
        }
    }

    async fn run_steps(&self, job: &mut Job) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        while !job.is_finished() {
            if self.is_stopped() {
                return Err(Error::Stopping);
            }
            let progress = match self.take_step(job).await {
                Ok(Progress::Backfill) => backfill::run(self, job).await.map(|()| None),
                Ok(Progress::Stepped(tables, version)) => Ok(Some((tables, version))),
                Err(error) => Err(error),
            };
            match progress {
                Ok(Some((tables, version))) => {
                    self.wait_for_users(&tables, version).await?;
                    pause = FIRST_PAUSE;
                }
                Ok(None) => pause = FIRST_PAUSE,
                Err(error) if error.stops_the_owner() => return Err(error),
                Err(error) => {
                    warn!(job = job.id, %error, "a step of a DDL job failed; trying again");
                    self.catalog.client().env().sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    self.read_back(job).await;
                }
            }
        }
        Ok(())
    }

    /// Waits until nobody uses `tables` as they were before `version`, and every server knows it.
    async fn wait_for_users(&self, tables: &[TableId], version: u64) -> Result<()> {
        if !tables.is_empty() {
            self.catalog.mdl().wait_for_users_before(tables, version).await;
        }
        let Some(servers) = self.catalog.servers() else { return Ok(()) };
        loop {
            match servers.wait_for_version(version, tables, || self.is_stopped()).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(Error::Stopping),
                // The step is written: what is left is to wait, whatever fails meanwhile.
                Err(error) => {
                    warn!(%error, "cannot see how far the other servers are; looking again");
                    self.catalog.client().env().sleep(FIRST_PAUSE).await;
                }
            }
        }
    }

    /// Takes the next step of a job. Errors of the step itself turn the job around; errors that come back are those of the store.
    async fn take_step(&self, job: &mut Job) -> Result<Progress> {
        let _committing = self.commit.lock().await;
        loop {
            let schema = self.catalog.current();
            let turned = match self.is_cancelled(job.id) {
                true if job.error.is_none() => job.fail(JobError::of(&Error::Cancelled)),
                _ => None,
            };
            let (next, writes, wait_for) = match turned {
                Some(failed) => (failed, Vec::new(), Vec::new()),
                None => match step(job, &schema) {
                    Ok(Step::Backfill) => return Ok(Progress::Backfill),
                    Ok(Step::Advance(advance)) => (advance.job, advance.writes, advance.wait_for),
                    Err(error) => match job.fail(JobError::of(&error)) {
                        Some(failed) => (failed, Vec::new(), Vec::new()),
                        None => return Err(error),
                    },
                },
            };
            let mut next = next;
            let mut txn = self.catalog.client().begin(TxnOptions::default());
            let start_ts = txn.ensure_start_ts().await?;
            let now_ms = self.catalog.client().env().wall_ms();
            self.confirm_ownership(&mut Meta::new(&mut txn), start_ts).await?;
            let changed = apply(&mut Meta::new(&mut txn), &mut next, writes, start_ts, now_ms).await?;
            match txn.commit().await {
                Ok(_) => {}
                Err(error) if error.is_retryable() => continue,
                Err(error) => return Err(error.into()),
            }
            *job = next;
            if changed {
                self.catalog.reload().await?;
            }
            return Ok(Progress::Stepped(wait_for, job.schema_version));
        }
    }

    /// Turns a job around after an error of its backfill.
    pub(crate) async fn fail(&self, job: &mut Job, error: &Error) -> Result<()> {
        if let Some(failed) = job.fail(JobError::of(error)) {
            self.store(&failed).await?;
            *job = failed;
        }
        Ok(())
    }

    /// Writes a job without taking a step: a checkpoint.
    pub(crate) async fn store(&self, job: &Job) -> Result<()> {
        loop {
            let mut txn = self.catalog.client().begin(TxnOptions::default());
            let start_ts = txn.ensure_start_ts().await?;
            self.confirm_ownership(&mut Meta::new(&mut txn), start_ts).await?;
            queue::put(&mut Meta::new(&mut txn), job)?;
            match txn.commit().await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_retryable() => continue,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Replaces the job by what is stored: after an error it is not known whether the last write has happened.
    async fn read_back(&self, job: &mut Job) {
        let mut txn = self.catalog.client().begin(TxnOptions::default());
        let mut meta = Meta::new(&mut txn);
        let stored = match queue::find(&mut meta, job.id).await {
            Ok(None) => queue::find_finished(&mut meta, job.id).await,
            found => found,
        };
        txn.rollback().await;
        match stored {
            Ok(Some(stored)) => *job = stored,
            Ok(None) => {}
            Err(error) => warn!(job = job.id, %error, "cannot read a DDL job back"),
        }
        if let Err(error) = self.catalog.reload().await {
            warn!(%error, "cannot reload the schema");
        }
    }
}

/// Lets the submitter of a job know when the job's task dies of a panic: its end of the channel is dropped.
struct Abandoned<'a> {
    owner: &'a Owner,
    id: i64,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let mut state = self.owner.state.lock();
        state.jobs.remove(&self.id);
        state.waiters.remove(&self.id);
    }
}

impl JobError {
    fn of(error: &Error) -> Self {
        let error = error.to_mysql();
        Self { code: error.code, message: error.message }
    }
}

/// The definition of a job's table and the indexes it adds.
pub(crate) fn added_indexes(job: &Job) -> Vec<base::IndexId> {
    let Action::AlterTable { changes, .. } = &job.action else { return Vec::new() };
    let added = changes.iter().filter_map(|change| match change {
        crate::job::TableChange::AddIndex { index, .. } => Some(index.id),
        _ => None,
    });
    added.collect()
}
