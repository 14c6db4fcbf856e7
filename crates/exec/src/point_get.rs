//! Point gets: rows by whole keys. The fast path of the executor: one get, one decoded row, no operators.
//!
//! ```text
//!   handle         record key ─────────────────────────────▶ row
//!   unique index   entry key ──▶ value ──▶ handle ──▶ record key ──▶ row
//! ```
//!
//! A locking point get takes its lock without reading first: the lock request returns the newest value. Keys that do not exist are
//! locked too, so that a REPEATABLE READ transaction finds nothing there when it looks again.
//!
//! Invariant: by a unique index the entry is locked before the row, and both are read under their locks.

use bytes::Bytes;
use catalog::TableInfo;
use codec::Handle;
use copr::decode::{EntryDecoder, decode_int_row};
use copr::{HandleKind, ScanColumn};
use planner::physical::{BatchPointGet as BatchPlan, PointGet as Plan, RowLock};
use types::{Chunk, FieldType};

use crate::fetch::{fetch, fetch_one};
use crate::filter::filtered;
use crate::layout::{handle_kind, handle_text, index_codec};
use crate::{Error, ExecCtx, Result};

/// Whether the plan reads one key only, so that it needs no timestamp.
pub(crate) fn reads_one_key(plan: &Plan) -> bool {
    plan.index.is_none() && plan.lock.is_none()
}

/// Runs a point get. `types` are those of the output.
pub(crate) async fn point_get(plan: &Plan, types: &[FieldType], ctx: &ExecCtx) -> Result<Option<Chunk>> {
    ctx.check()?;
    let Some(key) = plan.key.builder.point_key(&ctx.eval, &plan.key.values)? else { return Ok(None) };
    let lock = plan.lock.filter(|_| ctx.pessimistic);
    let (key, value) = match plan.index {
        None => {
            let value = get(&key, lock, ctx).await?;
            (key, value)
        }
        Some(index) => {
            let Some(entry) = get(&key, lock, ctx).await? else { return Ok(None) };
            let handle = index_codec(&plan.table, &plan.table.indexes[index]).decode_handle(&key, &entry)?;
            let record = codec::table::record_key(plan.table.id, &handle);
            let value = get(&record, lock, ctx).await?;
            if value.is_none() && lock.is_none() {
                return Err(missing_row(&plan.table, index, &handle));
            }
            (record, value)
        }
    };
    let Some(value) = value else { return Ok(None) };
    let mut chunk = Chunk::new(types, 1);
    decode(&plan.table, &plan.columns, &key, &value, &mut chunk)?;
    let chunk = with_rows(chunk, 1);
    let chunk = filtered(&plan.filters, &ctx.eval, chunk)?;
    Ok((!chunk.is_empty()).then_some(chunk))
}

/// Decodes one row.
fn decode(table: &TableInfo, columns: &[ScanColumn], key: &[u8], value: &[u8], chunk: &mut Chunk) -> Result<()> {
    use catalog::PrimaryKey;
    let pk = match table.pk {
        PrimaryKey::IntHandle { column } => Some(table.columns[column].id),
        PrimaryKey::HiddenRowId => None,
        PrimaryKey::Common { .. } => {
            let mut decoder = EntryDecoder::of_rows(table.id, columns, &handle_kind(table));
            return Ok(decoder.decode(columns, key, value, chunk)?);
        }
    };
    let (_, handle) = codec::table::decode_record_key(key)?;
    let handle = handle.as_int().ok_or(Error::InvalidPlan("the table has integer handles"))?;
    Ok(decode_int_row(columns, pk, handle, value, chunk)?)
}

fn with_rows(mut chunk: Chunk, rows: usize) -> Chunk {
    if chunk.width() == 0 {
        return Chunk::without_columns(rows);
    }
    chunk.set_rows(rows);
    chunk
}

/// The value of a key, locked first when a lock is asked for. A skipped key has no value.
async fn get(key: &[u8], lock: Option<RowLock>, ctx: &ExecCtx) -> Result<Option<Bytes>> {
    let Some(lock) = lock else { return fetch_one(key, ctx).await };
    let key = Bytes::copy_from_slice(key);
    Ok(Box::pin(lock_and_get(std::slice::from_ref(&key), lock, ctx)).await?.pop().flatten())
}

/// The values of keys under their locks; own writes hide the store's values.
async fn lock_and_get(keys: &[Bytes], lock: RowLock, ctx: &ExecCtx) -> Result<Vec<Option<Bytes>>> {
    let mut txn = ctx.txn()?.lock().await;
    let mut request = ctx.lock_request(lock.wait);
    request.return_values = true;
    request.lock_newest = true;
    let outcome = txn.lock_keys(keys, request).await?;
    let stored = outcome.values.into_iter().map(Option::flatten);
    Ok(keys
        .iter()
        .zip(stored)
        .enumerate()
        .map(|(at, (key, stored))| match txn.get_local(key) {
            _ if outcome.skipped.contains(&at) => None,
            Some(local) => local.value().cloned(),
            None => stored,
        })
        .collect())
}

async fn get_many(keys: &[Bytes], lock: Option<RowLock>, ctx: &ExecCtx) -> Result<Vec<Option<Bytes>>> {
    match lock {
        Some(lock) => lock_and_get(keys, lock, ctx).await,
        None => fetch(keys, ctx).await,
    }
}

fn missing_row(table: &TableInfo, index: usize, handle: &Handle) -> Error {
    Error::MissingRow { table: table.name.clone(), index: table.indexes[index].name.clone(), handle: handle_text(table, handle) }
}

/// Runs a batch point get: its chunks in order.
pub(crate) async fn batch_point_get(plan: &BatchPlan, types: &[FieldType], ctx: &ExecCtx) -> Result<Vec<Chunk>> {
    ctx.check()?;
    let mut keys = Vec::with_capacity(plan.keys.len());
    for values in &plan.keys {
        keys.extend(plan.builder.point_key(&ctx.eval, values)?.map(Bytes::from));
    }
    keys.sort_unstable();
    keys.dedup();
    if plan.desc {
        keys.reverse();
    }
    let lock = plan.lock.filter(|_| ctx.pessimistic);
    let mut values = get_many(&keys, lock, ctx).await?;
    if let Some(index) = plan.index {
        let codec = index_codec(&plan.table, &plan.table.indexes[index]);
        let mut records = Vec::with_capacity(keys.len());
        for (key, entry) in keys.iter().zip(&values) {
            let Some(entry) = entry else { continue };
            records.push(Bytes::from(codec::table::record_key(plan.table.id, &codec.decode_handle(key, entry)?)));
        }
        values = get_many(&records, lock, ctx).await?;
        if lock.is_none()
            && let Some(at) = values.iter().position(Option::is_none)
        {
            let (_, handle) = codec::table::decode_record_key(&records[at])?;
            return Err(missing_row(&plan.table, index, &handle));
        }
        keys = records;
    }
    decode_all(plan, types, &keys, &values, ctx)
}

fn decode_all(plan: &BatchPlan, types: &[FieldType], keys: &[Bytes], values: &[Option<Bytes>], ctx: &ExecCtx) -> Result<Vec<Chunk>> {
    let kind: HandleKind = handle_kind(&plan.table);
    let mut decoder = EntryDecoder::of_rows(plan.table.id, &plan.columns, &kind);
    let found = keys.iter().zip(values).filter_map(|(key, value)| value.as_ref().map(|value| (key, value))).collect::<Vec<_>>();
    let mut chunks = Vec::new();
    for part in found.chunks(ctx.vars.chunk_rows.max(1)) {
        let mut chunk = Chunk::new(types, part.len());
        for (key, value) in part {
            decoder.decode(&plan.columns, key, value, &mut chunk)?;
        }
        let chunk = filtered(&plan.filters, &ctx.eval, with_rows(chunk, part.len()))?;
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
    }
    Ok(chunks)
}
