//! Filling indexes none of which is unique: in the order of their entries.
//!
//! ```text
//!   transactions begin ──▶ rows of a run are read at one snapshot ──▶ entries sorted ──▶ part, part, part … ──▶ checkpoint
//!                          (the next run, meanwhile)                                     each in one of the transactions
//! ```
//!
//! The entries of neighbouring rows lie all over the index. Written row after row, each searches the write buffer for its place, and every
//! file that is flushed covers the whole index, so that compaction merges all of them. In order, an entry stands behind the one before, and
//! files hardly overlap.
//!
//! Invariant: the transactions of a run begin before its rows are read. Whoever changes a row after that commits above their timestamps, and
//! writes the row's old entry: the transaction that would write it too fails, and its rows are read again.

use std::{collections::VecDeque, sync::Arc};

use base::KeyRange;
use bytes::Bytes;
use client::{Client, ScanOptions, SnapshotOptions, Transaction, TxnOptions, WriteFlags};
use codec::table::record_key;

use super::{Entry, Plan, WORKERS, Worker, above, check, fill_rows as fill_again, is_contention, progress, remaining};
use crate::{Error, Result, job::Job, owner::Owner};

/// Entries of a transaction: enough to share the cost of a commit, few enough to be repeated only for milliseconds.
const TXN_ENTRIES: usize = 1024;
/// Transactions of a run: one at first, so that small tables are quick, then four times as many as in the run before. Where rows change so
/// often that most transactions fail, four times fewer.
const MAX_RUN_TXNS: usize = 256;
/// A run is cut here. Two of them are in memory: one is written while the next is read.
const RUN_BYTES: usize = 32 << 20;
/// What an entry takes in memory beside its key and value.
const ENTRY_BYTES: usize = size_of::<Entry>() + 64;
/// Rows read at a time.
const PAGE_ROWS: usize = 1024;

/// Entries that are sorted together.
struct Run {
    txns: Vec<Transaction>,
    entries: Vec<Entry>,
    rows: u64,
    /// Below it all rows are in this run or in one before.
    below: Vec<u8>,
    /// Whether there may be more rows.
    more: bool,
}

/// Fills the indexes with the rows that remain.
pub(super) async fn fill(owner: &Owner, job: &mut Job, plan: &Arc<Plan>) -> Result<()> {
    let client = owner.catalog.client();
    let mut range = remaining(plan, job);
    let mut txns = 1;
    let mut writing: Option<(Vec<u8>, u64, Worker<bool>)> = None;
    loop {
        let run = Run::read(owner, job, plan, range.clone(), txns).await?;
        if let Some((below, rows, worker)) = writing.take() {
            let disturbed = worker.join().await?;
            progress(job).done_below = below;
            job.row_count += rows;
            owner.store(job).await?;
            txns = if disturbed { (txns / 4).max(1) } else { (txns * 4).min(MAX_RUN_TXNS) };
        }
        let (below, rows, more) = (run.below.clone(), run.rows, run.more);
        let worker = Worker::spawn(run.write(client.clone(), Arc::clone(plan)));
        if !more {
            worker.join().await?;
            job.row_count += rows;
            return Ok(());
        }
        range.start = Bytes::copy_from_slice(&below);
        writing = Some((below, rows, worker));
    }
}

impl Run {
    /// Reads the first rows of `range`, as many as fill `txns` transactions.
    async fn read(owner: &Owner, job: &Job, plan: &Plan, range: KeyRange, txns: usize) -> Result<Self> {
        let client = owner.catalog.client();
        let mut run = Self { txns: Vec::with_capacity(txns), entries: Vec::new(), rows: 0, below: Vec::new(), more: false };
        for _ in 0..txns {
            let mut txn = client.begin(TxnOptions::default());
            txn.ensure_start_ts().await?;
            run.txns.push(txn);
        }
        let snapshot = client.snapshot(client.timestamp().await?, SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() });
        let mut scanner = snapshot.scan(range, ScanOptions { batch: PAGE_ROWS, ..ScanOptions::default() });
        let mut bytes = 0;
        while let Some(page) = scanner.next_page().await? {
            check(owner, job)?;
            let Some((last, _)) = page.last() else { continue };
            run.below = above(last);
            run.rows += page.len() as u64;
            let entries = plan.entries(&page)?;
            bytes += entries.iter().map(|entry| ENTRY_BYTES + entry.key.len() + entry.value.len()).sum::<usize>();
            run.entries.extend(entries);
            if run.entries.len() >= txns * TXN_ENTRIES || bytes >= RUN_BYTES {
                run.more = true;
                break;
            }
        }
        Ok(run)
    }

    /// Writes the entries in their order. Says whether most transactions met changed rows.
    async fn write(mut self, client: Client, plan: Arc<Plan>) -> Result<bool> {
        let mut entries = std::mem::take(&mut self.entries);
        let sort = move || {
            entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            entries
        };
        let entries = client.env().run_blocking(sort).await.ok_or(Error::Stopping)?;
        let part_len = entries.len().div_ceil(self.txns.len()).max(1);
        let mut entries = entries.into_iter();
        let mut under_way: VecDeque<Worker<bool>> = VecDeque::with_capacity(WORKERS);
        let (mut parts, mut again) = (0, 0);
        for txn in self.txns {
            let part = entries.by_ref().take(part_len).collect::<Vec<_>>();
            if part.is_empty() {
                break;
            }
            if under_way.len() >= WORKERS
                && let Some(first) = under_way.pop_front()
            {
                again += usize::from(first.join().await?);
            }
            parts += 1;
            under_way.push_back(Worker::spawn(write_part(client.clone(), Arc::clone(&plan), txn, part)));
        }
        for worker in under_way {
            again += usize::from(worker.join().await?);
        }
        Ok(again * 2 > parts)
    }
}

/// Writes a part of a run; where a row has changed since it was read, from the rows as they are now. Says whether that was so.
async fn write_part(client: Client, plan: Arc<Plan>, mut txn: Transaction, part: Vec<Entry>) -> Result<bool> {
    for entry in &part {
        txn.set(entry.key.clone(), entry.value.clone(), WriteFlags::default())?;
    }
    let Err(error) = txn.commit().await.map_err(Error::from) else { return Ok(false) };
    txn.rollback().await;
    if !is_contention(&error) {
        return Err(error);
    }
    let mut keys = part.iter().map(|entry| Bytes::from(record_key(plan.table.id, &entry.handle))).collect::<Vec<_>>();
    keys.sort_unstable();
    keys.dedup();
    fill_again(&client, &plan, &keys).await?;
    Ok(true)
}

/// Fills rows as they are now; one that changes meanwhile makes the commit fail.
pub(super) async fn fill_rows(txn: &mut Transaction, plan: &Plan, keys: &[Bytes]) -> Result<()> {
    let start_ts = txn.ensure_start_ts().await?;
    let options = SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() };
    let values = txn.client().snapshot(start_ts, options).batch_get(keys).await?;
    let rows = keys.iter().zip(values).filter_map(|(key, value)| Some((key.clone(), value?))).collect::<Vec<_>>();
    for entry in plan.entries(&rows)? {
        txn.set(entry.key, entry.value, WriteFlags::default())?;
    }
    txn.commit().await?;
    Ok(())
}
