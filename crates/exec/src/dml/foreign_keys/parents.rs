//! Rows that refer: what they refer to is there, and stays there until they are committed.

use bytes::Bytes;
use client::{LockRequest, ScanOptions, WriteFlags};
use types::DatumRef;

use super::newest_snapshot;
use super::reference::{Path, Reference};
use crate::dml::conflict::RowReader;
use crate::dml::locks::values_for_write;
use crate::dml::table_writer::{TableWriter, borrowed};
use crate::{Error, ExecCtx, Result};

/// Locks the rows that `keys` refer to; error 1452 when one is not there.
pub(super) async fn require(reference: &Reference, keys: &[Vec<DatumRef<'_>>], ctx: &ExecCtx) -> Result<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let parent = reference.parent.as_ref().ok_or_else(|| reference.no_parent())?;
    let path = Path::to(parent, reference.parent_columns());
    let mut wanted: Vec<Bytes> = Vec::with_capacity(keys.len());
    for key in keys {
        match path.key(parent, key)? {
            Some(key) => wanted.push(key),
            None => require_some(reference, &path, key, ctx).await?,
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    let values = values_for_write(&wanted, ctx).await?;
    if values.iter().any(Option::is_none) {
        return Err(reference.no_parent());
    }
    hold(wanted.into_iter().zip(values.into_iter().flatten()), ctx).await
}

/// An optimistic transaction has locked nothing: it writes what it has read, so that it meets whoever takes it away.
async fn hold(read: impl Iterator<Item = (Bytes, Bytes)>, ctx: &ExecCtx) -> Result<()> {
    if ctx.pessimistic {
        return Ok(());
    }
    let mut txn = ctx.txn()?.lock().await;
    for (key, value) in read {
        if txn.get_local(&key).is_none() {
            txn.set(key, value, WriteFlags::default())?;
        }
    }
    Ok(())
}

/// Locks one of the rows that have the key, where several may.
async fn require_some(reference: &Reference, path: &Path, key: &[DatumRef<'_>], ctx: &ExecCtx) -> Result<()> {
    let parent = reference.parent.as_ref().ok_or_else(|| reference.no_parent())?;
    let snapshot = newest_snapshot(ctx).await?;
    let options = ScanOptions { batch: 16, ..ScanOptions::default() };
    let mut scanner = ctx.txn()?.lock().await.scan_over(snapshot, path.range(parent, key)?, options);
    let mut reader = RowReader::new(&TableWriter::new(parent.clone()));
    while let Some(page) = scanner.next_page().await? {
        ctx.checkpoint().await?;
        for (found, value) in page {
            let row_key: Bytes = codec::table::record_key(parent.id, &path.handle(&found, &value)?).into();
            let Some(row) = row_under(&row_key, ctx).await? else { continue };
            if Reference::is_key(parent, reference.parent_columns(), &borrowed(&reader.decode(&row_key, &row)?), key) {
                return hold(std::iter::once((row_key, row)), ctx).await;
            }
        }
    }
    Err(reference.no_parent())
}

/// The row as the transaction sees it; in a pessimistic one it is locked, and if it has changed since it was found the statement begins again.
async fn row_under(key: &Bytes, ctx: &ExecCtx) -> Result<Option<Bytes>> {
    let mut txn = ctx.txn()?.lock().await;
    if let Some(local) = txn.get_local(key) {
        return Ok(local.value().cloned());
    }
    if !ctx.pessimistic {
        drop(txn);
        return Ok(ctx.snapshot().get(key).await?);
    }
    let request = LockRequest { return_values: true, ..ctx.lock_request(planner::physical::LockWait::Default) };
    let outcome = txn.lock_keys(std::slice::from_ref(key), request).await.map_err(Error::Client)?;
    Ok(outcome.values.into_iter().next().flatten().flatten())
}
