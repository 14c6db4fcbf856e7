//! Locks of a pessimistic statement: the row keys and unique keys of a batch of changes, in one request.
//!
//! | key | asked of the store |
//! |---|---|
//! | a new row or unique entry | lock, and check that it does not exist |
//! | … that the transaction, or an earlier change of the batch, has deleted | lock only: the store still has the old value |
//! | … that the transaction has written itself | nothing: a duplicate, found when the write is made |
//! | an existing row or unique entry | lock; another transaction that wants the same value must wait for this one |
//!
//! Entries of non-unique indexes are guarded by their row's lock.

use bytes::Bytes;
use client::{LocalValue, Transaction};
use codec::table::decode_record_key;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::dml::convert::Converter;
use crate::dml::foreign_keys::ForeignKeys;
use crate::dml::table_writer::{ApplyError, KeyRole, RowValues, TableWriter, Writes, apply};
use crate::{Error, ExecCtx, Result};

/// What happens to a row.
pub(crate) enum Change<'r> {
    /// It is new.
    Insert,
    /// It was this.
    Update(RowValues<'r>),
    /// It goes.
    Remove,
}

/// One row's change, ready to be made.
pub(crate) struct Pending<'r> {
    /// The row as it will be (as it was, for a deletion), for messages.
    pub(crate) row: RowValues<'r>,
    pub(crate) change: Change<'r>,
    pub(crate) writes: Writes,
}

impl<'r> Pending<'r> {
    /// The row as it was, if it was there.
    pub(crate) fn before(&self) -> Option<&RowValues<'r>> {
        match &self.change {
            Change::Insert => None,
            Change::Update(old) => Some(old),
            Change::Remove => Some(&self.row),
        }
    }

    /// The row as it will be, if it will be there.
    pub(crate) fn after(&self) -> Option<&RowValues<'r>> {
        match &self.change {
            Change::Insert | Change::Update(_) => Some(&self.row),
            Change::Remove => None,
        }
    }
}

/// Locks what a batch of changes needs. Does nothing in an optimistic transaction.
pub(crate) async fn lock(batch: &[Pending<'_>], writer: &TableWriter, txn: &mut Transaction, ctx: &ExecCtx) -> Result<()> {
    if !ctx.pessimistic {
        return Ok(());
    }
    let mut keys: Vec<Bytes> = Vec::new();
    let mut check_not_exists = Vec::new();
    let mut seen = FxHashSet::default();
    let mut freed = FxHashSet::default();
    for pending in batch {
        for write in pending.writes.iter().filter(|write| write.role.is_locked()) {
            if write.value.is_none() {
                freed.insert(&write.key);
            }
            let local = txn.get_local(&write.key);
            if write.role.is_new() {
                if matches!(local, Some(LocalValue::Put(_))) || !seen.insert(&write.key) {
                    continue;
                }
                if local.is_none() && !freed.contains(&write.key) {
                    check_not_exists.push(keys.len());
                }
                keys.push(write.key.clone());
            } else if !txn.is_locked(&write.key) && seen.insert(&write.key) {
                keys.push(write.key.clone());
            }
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    let mut request = ctx.lock_request(planner::physical::LockWait::Default);
    request.check_not_exists = check_not_exists;
    match Box::pin(txn.lock_keys(&keys, request)).await {
        Ok(_) => Ok(()),
        Err(client::Error::KeyExists { key, value }) => {
            let found = batch.iter().find_map(|pending| {
                let write = pending.writes.iter().find(|write| write.role.is_new() && write.key == key)?;
                Some(writer.duplicate(write.role, &pending.row))
            });
            Err(found.unwrap_or(Error::Client(client::Error::KeyExists { key, value })))
        }
        Err(error) => Err(error.into()),
    }
}

/// Locks and makes a batch of changes, in order, and what foreign keys make of them.
pub(crate) async fn lock_and_apply(batch: &mut [Pending<'_>], writer: &TableWriter, ctx: &ExecCtx) -> Result<()> {
    match ForeignKeys::of(writer.table(), ctx) {
        None => apply_batch(batch, writer, ctx).await,
        Some(keys) => Box::pin(keys.apply(batch, writer, ctx)).await,
    }
}

/// Locks and makes the change of one row for a statement that goes on without it: an error that is about the row takes back what was made and
/// becomes a warning. Says whether the change was made.
pub(crate) async fn apply_or_warn(pending: Pending<'_>, writer: &TableWriter, converter: &Converter<'_>, ctx: &ExecCtx) -> Result<bool> {
    let stage = ctx.txn()?.lock().await.stage();
    let done = lock_and_apply(&mut [pending], writer, ctx).await;
    let mut txn = ctx.txn()?.lock().await;
    match done {
        Ok(()) => {
            txn.release(stage);
            Ok(true)
        }
        Err(error) => {
            txn.revert(stage);
            if !error.is_ignorable() {
                return Err(error);
            }
            converter.warn(&error);
            Ok(false)
        }
    }
}

/// Locks and makes a batch of changes, in order.
pub(crate) async fn apply_batch(batch: &mut [Pending<'_>], writer: &TableWriter, ctx: &ExecCtx) -> Result<()> {
    for pending in batch.iter_mut() {
        if pending.writes.iter().any(|write| matches!(write.role, KeyRole::Building(_))) {
            Box::pin(drop_foreign_entries(&mut pending.writes, writer, ctx)).await?;
        }
    }
    let mut txn = ctx.txn()?.lock().await;
    lock(batch, writer, &mut txn, ctx).await?;
    for pending in batch.iter() {
        apply(&mut txn, &pending.writes).map_err(|error| match error {
            ApplyError::Duplicate(role) => writer.duplicate(role, &pending.row),
            ApplyError::Client(error) => Error::Client(error),
        })?;
    }
    Ok(())
}

/// Leaves out the writes of entries that belong to other rows, in indexes that are being built.
async fn drop_foreign_entries(writes: &mut Writes, writer: &TableWriter, ctx: &ExecCtx) -> Result<()> {
    let mut kept = Writes::new();
    let mut handle = None;
    for write in std::mem::take(writes) {
        if let Ok((_, own)) = decode_record_key(&write.key) {
            handle = Some(own);
        }
        if let KeyRole::Building(index) = write.role {
            let existing = values_for_write(std::slice::from_ref(&write.key), ctx).await?.pop().flatten();
            let foreign = match existing {
                None => write.value.is_none(),
                Some(value) => Some(writer.entry_handle(index, &write.key, &value)?) != handle,
            };
            if foreign {
                continue;
            }
        }
        kept.push(write);
    }
    *writes = kept;
    Ok(())
}

/// The values under keys as the statement must see them before it writes: own writes, then the newest committed value, locked, in a pessimistic
/// transaction; the snapshot's in an optimistic one.
pub(crate) async fn values_for_write(keys: &[Bytes], ctx: &ExecCtx) -> Result<Vec<Option<Bytes>>> {
    let mut txn = ctx.txn()?.lock().await;
    let mut values: Vec<Option<Bytes>> = Vec::with_capacity(keys.len());
    let mut wanted: FxHashMap<usize, Bytes> = FxHashMap::default();
    for (at, key) in keys.iter().enumerate() {
        match txn.get_local(key) {
            Some(local) => values.push(local.value().cloned()),
            None => {
                values.push(None);
                wanted.insert(at, key.clone());
            }
        }
    }
    if wanted.is_empty() {
        return Ok(values);
    }
    let (places, wanted): (Vec<usize>, Vec<Bytes>) = wanted.into_iter().unzip();
    if ctx.pessimistic {
        let mut request = ctx.lock_request(planner::physical::LockWait::Default);
        request.return_values = true;
        request.lock_newest = true;
        let outcome = txn.lock_keys(&wanted, request).await?;
        for (place, value) in places.into_iter().zip(outcome.values) {
            values[place] = value.flatten();
        }
    } else {
        drop(txn);
        for (place, value) in places.into_iter().zip(ctx.snapshot().batch_get(&wanted).await?) {
            values[place] = value;
        }
    }
    Ok(values)
}

/// The first key of a change that must be new and is not, for statements that go on without the row (IGNORE).
pub(crate) async fn first_existing(pending: &Pending<'_>, ctx: &ExecCtx) -> Result<Option<KeyRole>> {
    let new = pending.writes.iter().filter(|write| write.role.is_new()).collect::<Vec<_>>();
    let freed = pending.writes.iter().filter(|write| write.value.is_none()).map(|write| &write.key).collect::<FxHashSet<_>>();
    let keys = new.iter().map(|write| write.key.clone()).collect::<Vec<_>>();
    let values = values_for_write(&keys, ctx).await?;
    Ok(new.iter().zip(values).find(|(write, value)| value.is_some() && !freed.contains(&write.key)).map(|(write, _)| write.role))
}
