//! Rows by key: own writes first, then the snapshot.

use bytes::Bytes;

use crate::{ExecCtx, Result};

/// The values of `keys` as the statement sees them, in their order. Keys must be distinct.
pub(crate) async fn fetch(keys: &[Bytes], ctx: &ExecCtx) -> Result<Vec<Option<Bytes>>> {
    let mut values = Vec::with_capacity(keys.len());
    let mut missing = Vec::new();
    if let Some(txn) = &ctx.txn {
        let txn = txn.lock().await;
        if !txn.is_read_only() {
            for (at, key) in keys.iter().enumerate() {
                match txn.get_local(key) {
                    Some(local) => values.push(local.value().cloned()),
                    None => {
                        missing.push(at);
                        values.push(None);
                    }
                }
            }
        }
    }
    if values.is_empty() {
        return Ok(ctx.snapshot().batch_get(keys).await?);
    }
    if missing.is_empty() {
        return Ok(values);
    }
    let wanted = missing.iter().map(|at| keys[*at].clone()).collect::<Vec<_>>();
    for (at, value) in missing.into_iter().zip(ctx.snapshot().batch_get(&wanted).await?) {
        values[at] = value;
    }
    Ok(values)
}

/// The value of one key as the statement sees it.
pub(crate) async fn fetch_one(key: &[u8], ctx: &ExecCtx) -> Result<Option<Bytes>> {
    if let Some(txn) = &ctx.txn {
        let txn = txn.lock().await;
        if let Some(local) = txn.get_local(key) {
            return Ok(local.value().cloned());
        }
    }
    Ok(ctx.snapshot().get(key).await?)
}
