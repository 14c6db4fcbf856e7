//! Filling new indexes with the rows that were there before them.
//!
//! ```text
//!   key-only scan at one snapshot ──▶ batches of row keys ──▶ workers (in parallel) ──▶ checkpoint: all keys below K are done
//!                                                              │
//!       one transaction a batch: read the rows, build entries, write them, commit; on contention again, in halves
//! ```
//!
//! The scan begins when every user of the table maintains the indexes (state reorg, older users gone). Rows inserted later are the
//! writers' business; rows that a writer changes or removes between scan and batch are seen as they are when the batch reads them.
//!
//! How a batch keeps a row from changing between its reading and its commit:
//!
//! | indexes | way | why it holds |
//! |---|---|---|
//! | none is unique | optimistic: a scan at `start_ts`, entries checked for conflicts at commit | whoever changes or removes the row writes its old entry too (a removal leaves a record even where nothing was), so one of the two transactions meets the other's write of that key |
//! | some is unique | pessimistic: the rows and the unique entries are locked and read in their newest versions | a writer leaves a unique entry alone that is not its row's, so there is no key that both must write |
//!
//! Invariants:
//! - A batch never waits for a lock while it holds others (it gives all up and tries again), so it cannot be part of a deadlock and
//!   no foreground transaction is ever rolled back for it.
//! - Writing an entry that exists already with the same handle changes nothing: after a crash batches may be repeated.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use base::KeyRange;
use bytes::Bytes;
use catalog::{IndexInfo, TableInfo, layout};
use client::{Client, LockRequest, LockWait, ScanOptions, SnapshotOptions, Transaction, TxnOptions, WriteFlags};
use codec::{
    Handle,
    table::{decode_record_key, record_prefix},
};
use copr::{
    ScanColumn,
    decode::EntryDecoder,
    index_entry::{EntryBuffer, IndexCodec},
};
use rustc_hash::FxHashMap;
use tokio::task::JoinHandle;
use types::{Chunk, DatumRef};

use crate::{
    Error, Result,
    job::{Action, BackfillProgress, Job},
    owner::{Owner, added_indexes},
};

/// Rows of a batch: enough to share the cost of a commit, few enough to be locked, or to be repeated, only for milliseconds.
const BATCH_ROWS: usize = 512;
/// Batches under way at once.
const WORKERS: usize = 4;
/// Batches between two checkpoints.
const CHECKPOINT_BATCHES: u64 = 64;
/// Pauses between attempts at a batch that met locked rows.
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
    let plan = Arc::new(Plan::of(owner, job)?);
    let client = owner.catalog.client();
    let snapshot = client.snapshot(client.timestamp().await?, SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() });
    let mut range = KeyRange::prefix(&record_prefix(plan.table.id));
    let done = &progress(job).done_below;
    if !done.is_empty() {
        range.start = Bytes::copy_from_slice(done);
    }
    let mut scanner = snapshot.scan(range, ScanOptions { key_only: true, batch: BATCH_ROWS, ..ScanOptions::default() });
    let mut under_way: VecDeque<(Vec<u8>, u64, Worker)> = VecDeque::with_capacity(WORKERS);
    let mut batches = 0u64;
    loop {
        if owner.is_stopped() {
            return Err(Error::Stopping);
        }
        if owner.is_cancelled(job.id) {
            return Err(Error::Cancelled);
        }
        let page = scanner.next_page().await?;
        while under_way.len() >= WORKERS || (page.is_none() && !under_way.is_empty()) {
            let Some((below, rows, worker)) = under_way.pop_front() else { break };
            worker.join().await?;
            progress(job).done_below = below;
            job.row_count += rows;
            batches += 1;
            if batches.is_multiple_of(CHECKPOINT_BATCHES) {
                owner.store(job).await?;
            }
        }
        let Some(page) = page else { break };
        let keys: Vec<Bytes> = page.into_iter().map(|(key, _)| key).collect();
        let Some(last) = keys.last() else { continue };
        let below = [last, &b"\0"[..]].concat();
        let rows = keys.len() as u64;
        under_way.push_back((below, rows, Worker::spawn(client.clone(), Arc::clone(&plan), keys)));
    }
    progress(job).finished = true;
    owner.store(job).await
}

fn progress(job: &mut Job) -> &mut BackfillProgress {
    match &mut job.action {
        Action::AlterTable { backfill, .. } => backfill,
        _ => unreachable!("only ALTER TABLE asks for a backfill"),
    }
}

/// A batch's task; stopped when it is dropped.
struct Worker(JoinHandle<Result<()>>);

impl Worker {
    fn spawn(client: Client, plan: Arc<Plan>, keys: Vec<Bytes>) -> Self {
        Self(tokio::spawn(async move { fill_batch(&client, &plan, &keys).await }))
    }

    async fn join(mut self) -> Result<()> {
        match (&mut self.0).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Tasks are only aborted by the runtime as it goes down.
            Err(_) => Err(Error::Stopping),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What every batch needs: the table and how its new entries are built.
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

/// Fills one batch, in as many attempts as its locks take. A batch that keeps meeting locked rows is cut in halves, so that one busy row
/// does not hold up its neighbours.
async fn fill_batch(client: &Client, plan: &Plan, keys: &[Bytes]) -> Result<()> {
    let mut pause = FIRST_PAUSE;
    let mut parts: VecDeque<&[Bytes]> = VecDeque::from([keys]);
    while let Some(part) = parts.pop_front() {
        let mut txn = client.begin(TxnOptions { pessimistic: plan.has_unique, ..TxnOptions::default() });
        let result = if plan.has_unique { fill_locked(&mut txn, plan, part).await } else { fill_optimistic(&mut txn, plan, part).await };
        match result {
            Ok(()) => pause = FIRST_PAUSE,
            Err(error) => {
                txn.rollback().await;
                if !is_contention(&error) {
                    return Err(error);
                }
                client.env().sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                let (front, back) = part.split_at(part.len() / 2);
                parts.extend([front, back].into_iter().filter(|half| !half.is_empty()));
            }
        }
    }
    Ok(())
}

/// Whether an attempt failed because of other transactions.
fn is_contention(error: &Error) -> bool {
    let Error::Client(error) = error else { return false };
    error.is_retryable()
        || matches!(error, client::Error::LockNotAvailable { .. } | client::Error::LockWaitTimeout { .. } | client::Error::Aborted { .. })
}

/// Fills a batch from a snapshot; a row that changes meanwhile makes the commit fail.
async fn fill_optimistic(txn: &mut Transaction, plan: &Plan, keys: &[Bytes]) -> Result<()> {
    let ([first, ..], [.., last]) = (keys, keys) else { return Ok(()) };
    let start_ts = txn.ensure_start_ts().await?;
    let options = SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() };
    let range = KeyRange::new(first.clone(), [last, &b"\0"[..]].concat());
    let mut scanner = txn.client().snapshot(start_ts, options).scan(range, ScanOptions { batch: BATCH_ROWS, ..ScanOptions::default() });
    while let Some(rows) = scanner.next_page().await? {
        for entry in plan.entries(&rows)? {
            txn.set(entry.key, entry.value, WriteFlags::default())?;
        }
    }
    txn.commit().await?;
    Ok(())
}

/// Fills a batch from its locked rows, and checks unique entries.
async fn fill_locked(txn: &mut Transaction, plan: &Plan, keys: &[Bytes]) -> Result<()> {
    let request =
        LockRequest { wait: LockWait::NoWait, return_values: true, lock_newest: true, only_if_exists: true, ..LockRequest::default() };
    let locked = txn.lock_keys(keys, request).await?;
    // A row without a value was removed since the scan, and its writer took care of its entries.
    let rows: Vec<(Bytes, Bytes)> = keys.iter().zip(locked.values).filter_map(|(key, value)| Some((key.clone(), value??))).collect();
    let entries = plan.entries(&rows)?;
    let present = check_distinct(txn, plan, &entries).await?;
    for (i, entry) in entries.into_iter().enumerate() {
        if present.contains(&i) {
            continue;
        }
        let flags = if entry.distinct { WriteFlags::default() } else { WriteFlags::INDEX_ENTRY };
        txn.set(entry.key, entry.value, flags)?;
    }
    txn.commit().await?;
    Ok(())
}

/// Locks the unique entries and refuses collisions. Returns the positions of entries that are there already.
async fn check_distinct(txn: &mut Transaction, plan: &Plan, entries: &[Entry]) -> Result<Vec<usize>> {
    let distinct: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].distinct).collect();
    if distinct.is_empty() {
        return Ok(Vec::new());
    }
    let mut seen: FxHashMap<&[u8], &Handle> = FxHashMap::default();
    for &i in &distinct {
        if seen.insert(&entries[i].key, &entries[i].handle).is_some_and(|other| *other != entries[i].handle) {
            return Err(plan.duplicate(&entries[i]));
        }
    }
    let keys: Vec<Bytes> = distinct.iter().map(|&i| entries[i].key.clone()).collect();
    let request = LockRequest { wait: LockWait::NoWait, return_values: true, lock_newest: true, ..LockRequest::default() };
    let locked = txn.lock_keys(&keys, request).await?;
    let mut present = Vec::new();
    for (&i, value) in distinct.iter().zip(locked.values) {
        let Some(Some(value)) = value else { continue };
        let entry = &entries[i];
        if plan.targets[entry.target].codec.decode_handle(&entry.key, &value)? != entry.handle {
            return Err(plan.duplicate(entry));
        }
        present.push(i);
    }
    Ok(present)
}
