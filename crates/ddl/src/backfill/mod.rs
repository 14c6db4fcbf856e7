//! Filling new generated columns and indexes with the rows that were there before them, and holding those rows to new constraints.
//!
//! ```text
//!   none unique:  rows of a run ──▶ entries ──▶ sorted ──▶ a transaction for each part, in the order of the keys ─┐
//!   some unique:  keys of a batch ──▶ rows and unique entries locked and read ──▶ a transaction a batch ──────────┴▶ checkpoint
//! ```
//!
//! The scan begins when every user of the table maintains the indexes (state reorg, older users gone). Rows inserted later are the
//! writers' business.
//!
//! How a row is kept from changing between its reading and the commit of its entries:
//!
//! | indexes | way | why it holds |
//! |---|---|---|
//! | none is unique | [`sorted`]: optimistic transactions that began before the rows were read | whoever changes or removes a row writes its old entry too (a removal leaves a record even where nothing was), so one of the two transactions meets the other's write of that key |
//! | some is unique | [`locked`]: pessimistic; the rows and the unique entries are locked and read in their newest versions | a writer leaves a unique entry alone that is not its row's, so there is no key that both must write |
//!
//! Invariants:
//! - No transaction of a backfill waits for a lock while it holds others (it gives all up and tries again), so it cannot be part of a
//!   deadlock and no foreground transaction is ever rolled back for it.
//! - Writing an entry that exists already with the same handle changes nothing: after a crash entries may be written again.

mod columns;
mod constraints;
mod locked;
mod sorted;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use base::{KeyRange, TableId};
use bytes::Bytes;
use catalog::{IndexInfo, TableInfo, layout};
use client::{Client, Transaction, TxnOptions};
use codec::{
    Handle,
    table::{decode_record_key, record_prefix},
};
use copr::{
    ScanColumn,
    decode::EntryDecoder,
    index_entry::{EntryBuffer, IndexCodec},
};
use tokio::task::JoinHandle;
use types::{Chunk, DatumRef};

use crate::{
    Error, Result,
    job::{Action, BackfillProgress, Job},
    owner::{Owner, added_indexes},
};

/// Transactions under way at once.
const WORKERS: usize = 4;
/// Pauses between attempts at rows that others were writing.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Fills the indexes that a job adds. On return the job says so, or has been turned around; an error is one of the store.
pub(crate) async fn run(owner: &Owner, job: &mut Job) -> Result<()> {
    match fill(owner, job).await {
        Ok(()) => Ok(()),
        Err(error) if turns_the_job(&error) => owner.fail(job, &error).await,
        Err(error) => Err(error),
    }
}

/// Whether an error is about the rows or the job itself, not about the store.
fn turns_the_job(error: &Error) -> bool {
    !matches!(error, Error::Stopping | Error::Client(_) | Error::Catalog(catalog::Error::Client(_)))
}

async fn fill(owner: &Owner, job: &mut Job) -> Result<()> {
    let schema = owner.catalog.current();
    let gone = || Error::BrokenJob { job: job.id, problem: "its table is gone" };
    let table = table_of(job).and_then(|id| schema.table_by_id(id)).ok_or_else(gone)?;
    if columns::are_added(job) && !progress(job).columns_filled {
        columns::fill(owner, job, &schema, &table).await?;
        *progress(job) = BackfillProgress { columns_filled: true, ..BackfillProgress::default() };
        owner.store(job).await?;
    }
    if !added_indexes(job).is_empty() {
        let plan = Arc::new(Plan::of(owner, job)?);
        match plan.has_unique {
            true => locked::fill(owner, job, &plan).await?,
            false => sorted::fill(owner, job, &plan).await?,
        }
    }
    constraints::hold(owner, job, &schema, &table).await?;
    progress(job).finished = true;
    owner.store(job).await
}

/// An error when the job is not to go on.
fn check(owner: &Owner, job: &Job) -> Result<()> {
    match () {
        () if owner.is_stopped() => Err(Error::Stopping),
        () if owner.is_cancelled(job.id) => Err(Error::Cancelled),
        () => Ok(()),
    }
}

/// The table of the job.
fn table_of(job: &Job) -> Option<TableId> {
    if let Action::AlterTable { id, .. } = &job.action { Some(*id) } else { None }
}

/// All rows of a table.
fn all_rows(table: TableId) -> KeyRange {
    KeyRange::prefix(&record_prefix(table))
}

/// The rows that no checkpoint says are done.
fn remaining(plan: &Plan, job: &mut Job) -> KeyRange {
    remaining_rows(plan.table.id, job)
}

/// The rows of a table that no checkpoint says are done.
fn remaining_rows(table: TableId, job: &mut Job) -> KeyRange {
    let mut range = all_rows(table);
    let done = &progress(job).done_below;
    if !done.is_empty() {
        range.start = Bytes::copy_from_slice(done);
    }
    range
}

/// The smallest key above `key`.
fn above(key: &[u8]) -> Vec<u8> {
    [key, b"\0"].concat()
}

fn progress(job: &mut Job) -> &mut BackfillProgress {
    match &mut job.action {
        Action::AlterTable { backfill, .. } => backfill,
        _ => unreachable!("only ALTER TABLE asks for a backfill"),
    }
}

/// A task of the backfill; stopped when it is dropped.
struct Worker<T = ()>(JoinHandle<Result<T>>);

impl<T: Send + 'static> Worker<T> {
    fn spawn(work: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    async fn join(mut self) -> Result<T> {
        match (&mut self.0).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Tasks are only aborted by the runtime as it goes down.
            Err(_) => Err(Error::Stopping),
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What every part of the work needs: the table and how its new entries are built.
struct Plan {
    table: Arc<TableInfo>,
    columns: Vec<ScanColumn>,
    targets: Vec<Target>,
    has_unique: bool,
    /// Positions of the primary key's columns among `columns`, for common handles.
    handle_positions: Vec<usize>,
}

struct Target {
    index: IndexInfo,
    codec: IndexCodec,
    /// Positions of the index's parts among `columns`.
    positions: Vec<usize>,
}

impl Plan {
    fn of(owner: &Owner, job: &Job) -> Result<Self> {
        let broken = |problem| Error::BrokenJob { job: job.id, problem };
        let Action::AlterTable { id, .. } = &job.action else { return Err(broken("only ALTER TABLE fills indexes")) };
        let table = owner.catalog.current().table_by_id(*id).ok_or_else(|| broken("its table is gone"))?;
        let mut offsets: Vec<usize> = Vec::new();
        let mut place = |offset: usize| match offsets.iter().position(|&known| known == offset) {
            Some(at) => at,
            None => {
                offsets.push(offset);
                offsets.len() - 1
            }
        };
        let mut targets: Vec<Target> = Vec::new();
        for id in added_indexes(job) {
            let index = table.index_by_id(id).ok_or_else(|| broken("one of its indexes is gone"))?.clone();
            let positions = index.columns.iter().map(|part| place(part.offset)).collect();
            targets.push(Target { codec: layout::index_codec(&table, &index), index, positions });
        }
        let handle_positions = match table.pk {
            catalog::PrimaryKey::Common { .. } => table.primary_key_columns().into_iter().map(place).collect(),
            _ => Vec::new(),
        };
        let columns = layout::scan_columns(&table, offsets);
        let has_unique = targets.iter().any(|target| target.index.unique);
        Ok(Self { table, columns, targets, has_unique, handle_positions })
    }

    /// The entries of the given rows.
    fn entries(&self, rows: &[(Bytes, Bytes)]) -> Result<Vec<Entry>> {
        let mut decoder = EntryDecoder::of_rows(self.table.id, &self.columns, &layout::handle_kind(&self.table));
        let types: Vec<_> = self.columns.iter().map(|column| column.ty.clone()).collect();
        let mut chunk = Chunk::new(&types, rows.len());
        for (key, value) in rows {
            decoder.decode(&self.columns, key, value, &mut chunk)?;
        }
        chunk.set_rows(rows.len());
        let mut entries = Vec::with_capacity(rows.len() * self.targets.len());
        let mut buffer = EntryBuffer::default();
        for (i, (key, _)) in rows.iter().enumerate() {
            let (_, handle) = decode_record_key(key).map_err(types::Error::from)?;
            let row = chunk.row(i);
            let handle_values: Vec<DatumRef<'_>> = self.handle_positions.iter().map(|&at| row.get(at)).collect();
            for (target, shape) in self.targets.iter().enumerate() {
                let values: Vec<DatumRef<'_>> = shape.positions.iter().map(|&at| row.get(at)).collect();
                let distinct = shape.codec.encode(&values, &handle, &handle_values, &mut buffer)?;
                let (key, value) = (Bytes::copy_from_slice(&buffer.key), Bytes::copy_from_slice(&buffer.value));
                entries.push(Entry { target, key, value, handle: handle.clone(), distinct });
            }
        }
        Ok(entries)
    }

    /// Error 1062 for an entry that collides.
    fn duplicate(&self, entry: &Entry) -> Error {
        let shape = &self.targets[entry.target];
        let text = match shape.codec.decode(&entry.key, &entry.value) {
            Ok((_, values)) => {
                let texts = values.iter().zip(&shape.codec.parts).map(|(value, part)| {
                    let mut text = Vec::new();
                    value.write_text(&part.ty, &mut text);
                    String::from_utf8_lossy(&text).into_owned()
                });
                texts.collect::<Vec<_>>().join("-")
            }
            Err(_) => String::new(),
        };
        Error::DuplicateEntry { entry: text, key: format!("{}.{}", self.table.name, shape.index.name) }
    }
}

/// One index entry of one row.
struct Entry {
    target: usize,
    key: Bytes,
    value: Bytes,
    handle: Handle,
    distinct: bool,
}

/// Fills `keys`, sorted, in as many attempts as it takes. Rows that others keep writing are cut off in halves, so that one busy row does not
/// hold up its neighbours.
async fn fill_rows(client: &Client, plan: &Plan, keys: &[Bytes]) -> Result<()> {
    let mut pause = FIRST_PAUSE;
    let mut parts: VecDeque<&[Bytes]> = VecDeque::from([keys]);
    while let Some(part) = parts.pop_front() {
        let mut txn = client.begin(TxnOptions { pessimistic: plan.has_unique, ..TxnOptions::default() });
        let result = match plan.has_unique {
            true => locked::fill_rows(&mut txn, plan, part).await,
            false => sorted::fill_rows(&mut txn, plan, part).await,
        };
        match result {
            Ok(()) => pause = FIRST_PAUSE,
            Err(error) => {
                give_way(txn, error, &mut pause).await?;
                let (front, back) = part.split_at(part.len() / 2);
                parts.extend([front, back].into_iter().filter(|half| !half.is_empty()));
            }
        }
    }
    Ok(())
}

/// After an attempt that failed because of other transactions: leaves them time to end, each time more. Other errors come back.
async fn give_way(mut txn: Transaction, error: Error, pause: &mut Duration) -> Result<()> {
    txn.rollback().await;
    if !is_contention(&error) {
        return Err(error);
    }
    txn.client().env().sleep(*pause).await;
    *pause = (*pause * 2).min(LONGEST_PAUSE);
    Ok(())
}

/// Whether an attempt failed because of other transactions.
fn is_contention(error: &Error) -> bool {
    let Error::Client(error) = error else { return false };
    error.is_retryable()
        || matches!(error, client::Error::LockNotAvailable { .. } | client::Error::LockWaitTimeout { .. } | client::Error::Aborted { .. })
}
