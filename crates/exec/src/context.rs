//! What an execution runs in: the store, the transaction, the statement's parameters, and the means to stop it.
//!
//! ```text
//!   session ── ExecCtx ──▶ execute(plan) ──▶ operators (borrow it for each chunk)
//!                │
//!                ├ client, txn, read_ts      where rows come from
//!                ├ eval                      parameters, time, SQL mode, warnings
//!                ├ cancel, deadline, memory  how it is stopped and bounded
//!                └ vars                      the session's variables that execution looks at
//! ```
//!
//! The context is cheap to clone (shared handles): an apply clones it for each outer row to bind other parameters.

use std::sync::Arc;
use std::time::Duration;

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use catalog::{AutoIdStep, AutoIds, InfoSchema, TableInfo};
use client::{Client, LockRequest, LockWait, Snapshot, SnapshotOptions, Transaction};
use env::{CancelReason, CancelToken, Env, Instant};
use expr::EvalCtx;
use types::{Chunk, Datum};

use crate::memory::MemTracker;
use crate::runtime_stats::RuntimeStats;
use crate::{Error, Result};

/// A transaction shared between the session and the running statement. Only one of them uses it at a time; the mutex says so.
pub type TxnHandle = Arc<tokio::sync::Mutex<Transaction>>;

/// At which version a statement reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTs {
    /// The newest version: an autocommit read that needs only one key does without a timestamp; any other statement fetches one.
    Newest,
    /// The version at this timestamp.
    At(TimeStamp),
}

/// Session variables that execution looks at.
#[derive(Clone, Debug)]
pub struct ExecVars {
    /// Rows of a full chunk (`tidb_max_chunk_size`); at least 1.
    pub chunk_rows: usize,
    /// Handles that an index lookup collects before it fetches rows (`tidb_index_lookup_size`).
    pub lookup_rows: usize,
    /// Outer rows that an index join looks up together (`tidb_index_join_batch_size`).
    pub join_batch_rows: usize,
    /// How long to wait for a row lock (`innodb_lock_wait_timeout`).
    pub lock_wait: Duration,
    /// `auto_increment_increment` and `auto_increment_offset`.
    pub auto_id_step: AutoIdStep,
    /// Whether operators may write temporary files (`tidb_enable_tmp_storage_on_oom`).
    pub spill: bool,
    /// The client wants matched rather than changed rows (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// Whether key errors of foreign keys and the like are checked (`foreign_key_checks`); kept for DDL and imports.
    pub foreign_key_checks: bool,
}

impl Default for ExecVars {
    fn default() -> Self {
        Self {
            chunk_rows: 1024,
            lookup_rows: 4096,
            join_batch_rows: 1024,
            lock_wait: Duration::from_secs(50),
            auto_id_step: AutoIdStep::default(),
            spill: true,
            found_rows: false,
            foreign_key_checks: true,
        }
    }
}

/// What a virtual table is asked for.
#[derive(Clone, Debug)]
pub struct VirtualScan {
    /// The table.
    pub table: Arc<TableInfo>,
    /// Its database.
    pub database: String,
    /// `column offset = value` conditions that the provider may use to compute less. All conditions are applied to its rows anyway.
    pub equals: Vec<(usize, Datum)>,
}

/// Computes the rows of virtual tables (`information_schema` and the like).
#[async_trait::async_trait]
pub trait VirtualTables: Send + Sync {
    /// All rows, with all columns of the table.
    async fn rows(&self, scan: &VirtualScan, ctx: &ExecCtx) -> Result<Vec<Chunk>>;
}

/// What an execution runs in.
#[derive(Clone)]
pub struct ExecCtx {
    /// The store.
    pub client: Client,
    /// The transaction the statement runs in; none for an autocommit read.
    pub txn: Option<TxnHandle>,
    /// Whether `txn` takes pessimistic locks.
    pub pessimistic: bool,
    /// At which version rows are read. For statements that lock or change rows in a pessimistic transaction: its `for_update_ts`.
    pub read_ts: ReadTs,
    /// Parameters, time, SQL mode, warnings.
    pub eval: Arc<EvalCtx>,
    /// The schema that the plan was made for.
    pub infoschema: Arc<InfoSchema>,
    /// AUTO_INCREMENT values and row ids.
    pub auto_ids: AutoIds,
    /// Rows of virtual tables.
    pub virtual_tables: Option<Arc<dyn VirtualTables>>,
    /// Stops the statement.
    pub cancel: CancelToken,
    /// When the statement must be over (`max_execution_time`).
    pub deadline: Option<Instant>,
    /// The clock that deadlines are read on.
    pub env: Env,
    /// The statement's memory.
    pub memory: MemTracker,
    /// Session variables.
    pub vars: Arc<ExecVars>,
    /// Where figures for EXPLAIN ANALYZE go.
    pub stats: Option<Arc<RuntimeStats>>,
    /// The statement inserts rows of a file (LOAD DATA): how many of them were inserted before.
    pub loaded_rows: Option<u64>,
}

impl ExecCtx {
    /// Fails when the statement was cancelled or its time is up.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.cancel.check()?;
        if let Some(deadline) = self.deadline
            && self.env.now() >= deadline
        {
            return Err(Error::Client(client::Error::Cancelled(CancelReason::Timeout)));
        }
        Ok(())
    }

    /// [`ExecCtx::check`], and a point where the task gives way to others when it has had its share: chunks that never wait for anything must
    /// not keep a worker to themselves.
    #[inline]
    pub async fn checkpoint(&self) -> Result<()> {
        self.check()?;
        tokio::task::consume_budget().await;
        Ok(())
    }

    /// Runs work that reads temporary files, or computes for long, outside the async workers.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        operator: &'static str,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stopped = || Error::Spill { operator, reason: "the pool for blocking work has stopped".to_owned() };
        self.env.run_blocking(job).await.ok_or_else(stopped)?
    }

    /// The same context with another parameter list.
    pub fn with_params(&self, params: Arc<[Datum]>) -> Self {
        Self { eval: Arc::new(self.eval.with_params(params)), ..self.clone() }
    }

    /// Makes sure that reads have a timestamp: several keys can only be read consistently at one.
    pub async fn fix_read_ts(&mut self) -> Result<()> {
        if self.read_ts == ReadTs::Newest {
            self.read_ts = ReadTs::At(self.client.timestamp().await?);
        }
        Ok(())
    }

    /// A snapshot at the statement's timestamp.
    pub fn snapshot(&self) -> Snapshot {
        let ts = match self.read_ts {
            ReadTs::Newest => TimeStamp::MAX,
            ReadTs::At(ts) => ts,
        };
        self.snapshot_at(ts)
    }

    /// A snapshot at another timestamp.
    pub fn snapshot_at(&self, ts: TimeStamp) -> Snapshot {
        self.client.snapshot(ts, SnapshotOptions { cancel: self.cancel.clone(), deadline: self.deadline, not_fill_cache: false })
    }

    /// The transaction, which the statement cannot do without.
    pub fn txn(&self) -> Result<&TxnHandle> {
        self.txn.as_ref().ok_or(Error::NoTransaction)
    }

    /// What the transaction itself wrote in the ranges, in key order: a deletion is `None`. Empty without a transaction.
    ///
    /// The statement sees what was there when it opened its scan, never what it writes itself afterwards.
    pub async fn local_entries(&self, ranges: &[KeyRange]) -> Vec<(Bytes, Option<Bytes>)> {
        let Some(txn) = &self.txn else { return Vec::new() };
        let txn = txn.lock().await;
        if txn.is_read_only() {
            return Vec::new();
        }
        let mut entries = Vec::new();
        for range in ranges {
            entries.extend(txn.local_range(range).map(|(key, value)| (key.clone(), value.value().cloned())));
        }
        entries
    }

    /// A lock request with the session's waiting time, unless `wait` says otherwise.
    pub fn lock_request(&self, wait: planner::physical::LockWait) -> LockRequest {
        LockRequest {
            wait: match wait {
                planner::physical::LockWait::Default => LockWait::Timeout(self.vars.lock_wait),
                planner::physical::LockWait::NoWait => LockWait::NoWait,
                planner::physical::LockWait::SkipLocked => LockWait::SkipLocked,
            },
            cancel: self.cancel.clone(),
            deadline: self.deadline,
            ..LockRequest::default()
        }
    }
}

impl std::fmt::Debug for ExecCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecCtx")
            .field("read_ts", &self.read_ts)
            .field("eval", &self.eval)
            .field("vars", &self.vars)
            .finish_non_exhaustive()
    }
}
