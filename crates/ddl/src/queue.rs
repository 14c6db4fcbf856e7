//! The job queue in meta keys: waiting and running jobs in one hash, finished ones in another, both by job id.

use base::TimeStamp;
use catalog::meta::{Meta, keys};
use client::ScanOptions;
use codec::meta::hash_prefix;
use serde::{Deserialize, Serialize};

use crate::{Error, Result, job::Job};

/// Ranges to destroy once nobody can read them any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestroyJob {
    /// The DDL job that dropped them.
    pub job: i64,
    /// When nobody wrote them any more: snapshots before may still read them.
    pub ts: TimeStamp,
    /// Start and end keys.
    pub ranges: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Every job that has not ended, in order.
pub async fn unfinished(meta: &mut Meta<'_>) -> Result<Vec<Job>> {
    Ok(meta.hash(keys::DDL_JOBS).await?)
}

/// A job that has not ended.
pub async fn find(meta: &mut Meta<'_>, id: i64) -> Result<Option<Job>> {
    Ok(meta.get(&keys::numbered(keys::DDL_JOBS, id)).await?)
}

/// A job that has ended.
pub async fn find_finished(meta: &mut Meta<'_>, id: i64) -> Result<Option<Job>> {
    Ok(meta.get(&keys::numbered(keys::DDL_JOB_HISTORY, id)).await?)
}

/// Writes a job where it belongs.
pub fn put(meta: &mut Meta<'_>, job: &Job) -> Result<()> {
    if job.is_finished() {
        meta.remove(keys::numbered(keys::DDL_JOBS, job.id));
        meta.put(keys::numbered(keys::DDL_JOB_HISTORY, job.id), job)?;
    } else {
        meta.put(keys::numbered(keys::DDL_JOBS, job.id), job)?;
    }
    Ok(())
}

/// The newest `count` jobs that have ended, newest first.
pub async fn history(meta: &mut Meta<'_>, count: usize) -> Result<Vec<Job>> {
    let txn = meta.transaction();
    txn.ensure_start_ts().await?;
    let range = base::KeyRange::prefix(&hash_prefix(keys::DDL_JOB_HISTORY));
    let options = ScanOptions { reverse: true, limit: Some(count), ..ScanOptions::default() };
    let mut scanner = txn.scan(range, options);
    let mut jobs = Vec::new();
    while let Some(page) = scanner.next_page().await? {
        for (key, value) in page {
            let decoded = serde_json::from_slice(&value);
            jobs.push(decoded.map_err(|source| Error::Catalog(catalog::Error::DecodeMeta { key: key.to_vec(), source }))?);
        }
    }
    jobs.truncate(count);
    Ok(jobs)
}

/// Jobs that somebody wants cancelled.
pub async fn cancels(meta: &mut Meta<'_>) -> Result<Vec<i64>> {
    Ok(meta.hash(keys::DDL_CANCELS).await?)
}

/// Says that a job is to be cancelled by whoever runs it.
pub fn put_cancel(meta: &mut Meta<'_>, id: i64) -> Result<()> {
    Ok(meta.put(keys::numbered(keys::DDL_CANCELS, id), &id)?)
}

/// Forgets that a job was to be cancelled.
pub fn remove_cancel(meta: &mut Meta<'_>, id: i64) {
    meta.remove(keys::numbered(keys::DDL_CANCELS, id));
}

/// Every range that waits for its destruction.
pub async fn destroy_jobs(meta: &mut Meta<'_>) -> Result<Vec<DestroyJob>> {
    Ok(meta.hash(keys::DELETE_RANGES).await?)
}

/// Queues ranges for destruction.
pub fn put_destroy_job(meta: &mut Meta<'_>, job: &DestroyJob) -> Result<()> {
    Ok(meta.put(keys::numbered(keys::DELETE_RANGES, job.job), job)?)
}

/// Forgets ranges that have been destroyed.
pub fn remove_destroy_job(meta: &mut Meta<'_>, job: i64) {
    meta.remove(keys::numbered(keys::DELETE_RANGES, job));
}
