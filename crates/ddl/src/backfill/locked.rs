//! Filling indexes some of which are unique.
//!
//! ```text
//!   key-only scan at one snapshot ──▶ batches of row keys ──▶ workers (in parallel) ──▶ checkpoint: all keys below K are done
//!                                                              │
//!                   one transaction a batch: lock and read the rows, lock the unique entries, write; on contention again, in halves
//! ```
//!
//! Rows that a writer changes or removes between scan and batch are seen as they are when the batch locks them.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use client::{LockRequest, LockWait, ScanOptions, SnapshotOptions, Transaction, WriteFlags};
use codec::Handle;
use rustc_hash::FxHashMap;

use super::{Entry, Plan, WORKERS, Worker, above, check, progress, remaining};
use crate::{Result, job::Job, owner::Owner};

/// Rows of a batch: enough to share the cost of a commit, few enough to be locked, or to be repeated, only for milliseconds.
const BATCH_ROWS: usize = 512;
/// Batches between two checkpoints.
const CHECKPOINT_BATCHES: u64 = 64;

/// Fills the indexes with the rows that remain.
pub(super) async fn fill(owner: &Owner, job: &mut Job, plan: &Arc<Plan>) -> Result<()> {
    let client = owner.catalog.client();
    let snapshot = client.snapshot(client.timestamp().await?, SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() });
    let options = ScanOptions { key_only: true, batch: BATCH_ROWS, ..ScanOptions::default() };
    let mut scanner = snapshot.scan(remaining(plan, job), options);
    let mut under_way: VecDeque<(Vec<u8>, u64, Worker)> = VecDeque::with_capacity(WORKERS);
    let mut batches = 0u64;
    loop {
        check(owner, job)?;
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
        let Some(page) = page else { return Ok(()) };
        let keys: Vec<Bytes> = page.into_iter().map(|(key, _)| key).collect();
        let Some(last) = keys.last() else { continue };
        let (below, rows) = (above(last), keys.len() as u64);
        let (client, plan) = (client.clone(), Arc::clone(plan));
        under_way.push_back((below, rows, Worker::spawn(async move { super::fill_rows(&client, &plan, &keys).await })));
    }
}

/// Fills a batch from its locked rows, and checks unique entries.
pub(super) async fn fill_rows(txn: &mut Transaction, plan: &Plan, keys: &[Bytes]) -> Result<()> {
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
