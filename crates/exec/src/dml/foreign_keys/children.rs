//! Rows that are referred to: when one goes or changes its key, those that refer to it are in the way, or follow.
//!
//! The caller has removed the old key, and so holds its lock: nobody can begin to refer to it. Whoever did so before has committed and is found
//! in a snapshot that is newer than the lock; in an optimistic transaction prewrite finds the others.

use bytes::Bytes;
use catalog::ReferenceRule;
use client::{LockRequest, ScanOptions, Snapshot};
use codec::table::{decode_record_key, record_key};
use planner::physical::Assignment;
use types::{Datum, DatumRef};

use super::reference::{Path, Reference};
use super::{Cascade, ForeignKeys};
use crate::dml::assign::{RowBuffer, layout_types, store_checked};
use crate::dml::conflict::RowReader;
use crate::dml::convert::Converter;
use crate::dml::locks::{Change, Pending, apply_batch};
use crate::dml::table_writer::{TableWriter, borrowed};
use crate::dml::update::change;
use crate::{ExecCtx, Result};

/// Rows looked at together.
const PAGE_ROWS: usize = 256;

/// Does what the key says to the rows that refer to `old`, which is `new` now, or gone.
pub(super) async fn follow(
    reference: &Reference,
    old: &[DatumRef<'_>],
    new: Option<&[DatumRef<'_>]>,
    snapshot: &Snapshot,
    cascade: &Cascade,
    ctx: &ExecCtx,
) -> Result<()> {
    let path = Path::to(&reference.child, reference.child_columns());
    let range = path.range(&reference.child, old)?;
    let options = ScanOptions { batch: PAGE_ROWS, ..ScanOptions::default() };
    let mut scanner = ctx.txn()?.lock().await.scan_over(snapshot.clone(), range, options);
    let mut rows = Rows { reference, path, reader: RowReader::new(&TableWriter::new(reference.child.clone())) };
    let rule = if new.is_some() { reference.key.on_update } else { reference.key.on_delete };
    // An update that comes back to a table it has changed already is refused.
    let comes_back = new.is_some() && cascade.updated.contains(&reference.child.id);
    let mut follower = None;
    while let Some(page) = scanner.next_page().await? {
        ctx.checkpoint().await?;
        let found = rows.referring(page, old, ctx).await?;
        if found.is_empty() {
            continue;
        }
        if !rule.acts() || comes_back {
            return Err(reference.referenced());
        }
        let follower = match &mut follower {
            Some(follower) => follower,
            none => none.insert(Follower::new(reference, rule, new, cascade, ctx)?),
        };
        Box::pin(follower.change(found, ctx)).await?;
    }
    Ok(())
}

/// Reads rows that refer.
struct Rows<'k> {
    reference: &'k Reference,
    path: Path,
    reader: RowReader,
}

impl Rows<'_> {
    /// The rows behind a page of keys that refer to `key`, as they are now. In a pessimistic transaction they are locked; one that has changed
    /// since it was found makes the statement begin again.
    async fn referring(&mut self, page: Vec<(Bytes, Bytes)>, key: &[DatumRef<'_>], ctx: &ExecCtx) -> Result<Vec<(Bytes, Vec<Datum>)>> {
        let child = &self.reference.child;
        let keys = match self.path {
            // Of all rows only those that refer are locked.
            Path::Table => {
                let mut keys = Vec::new();
                for (row_key, value) in page {
                    if self.refers(&row_key, &value, key)?.is_some() {
                        keys.push(row_key);
                    }
                }
                keys
            }
            _ => {
                let row_key = |(found, value): &(Bytes, Bytes)| Ok(record_key(child.id, &self.path.handle(found, value)?).into());
                page.iter().map(row_key).collect::<Result<Vec<Bytes>>>()?
            }
        };
        let values = current_rows(&keys, ctx).await?;
        let mut rows = Vec::with_capacity(keys.len());
        for (row_key, value) in keys.into_iter().zip(values) {
            let Some(value) = value else { continue };
            if let Some(row) = self.refers(&row_key, &value, key)? {
                rows.push((row_key, row));
            }
        }
        Ok(rows)
    }

    /// The row, if it refers to the key.
    fn refers(&mut self, row_key: &[u8], value: &[u8], key: &[DatumRef<'_>]) -> Result<Option<Vec<Datum>>> {
        let row = self.reader.decode(row_key, value)?;
        let refers = Reference::is_key(&self.reference.child, self.reference.child_columns(), &borrowed(&row), key);
        Ok(refers.then_some(row))
    }
}

/// The rows under keys as the transaction sees them, locked in a pessimistic one.
async fn current_rows(keys: &[Bytes], ctx: &ExecCtx) -> Result<Vec<Option<Bytes>>> {
    let mut txn = ctx.txn()?.lock().await;
    let mut values: Vec<Option<Bytes>> = Vec::with_capacity(keys.len());
    let mut wanted = Vec::new();
    for key in keys {
        let local = txn.get_local(key);
        if local.is_none() {
            wanted.push((values.len(), key.clone()));
        }
        values.push(local.and_then(|local| local.value().cloned()));
    }
    let (places, wanted): (Vec<usize>, Vec<Bytes>) = wanted.into_iter().unzip();
    if wanted.is_empty() {
        return Ok(values);
    }
    let read = if ctx.pessimistic {
        let request = LockRequest { return_values: true, ..ctx.lock_request(planner::physical::LockWait::Default) };
        txn.lock_keys(&wanted, request).await?.values.into_iter().map(Option::flatten).collect()
    } else {
        drop(txn);
        ctx.snapshot().batch_get(&wanted).await?
    };
    for (place, value) in places.into_iter().zip(read) {
        values[place] = value;
    }
    Ok(values)
}

/// Changes rows that refer.
struct Follower<'k, 'c> {
    reference: &'k Reference,
    rule: ReferenceRule,
    new: Option<Vec<Datum>>,
    writer: TableWriter,
    /// The keys that the changes of the child must keep themselves.
    keys: Option<ForeignKeys>,
    cascade: Cascade,
    generated: Vec<Assignment>,
    converter: Converter<'c>,
}

impl<'k, 'c> Follower<'k, 'c> {
    fn new(
        reference: &'k Reference,
        rule: ReferenceRule,
        new: Option<&[DatumRef<'_>]>,
        cascade: &Cascade,
        ctx: &'c ExecCtx,
    ) -> Result<Self> {
        let child = &reference.child;
        Ok(Self {
            reference,
            rule,
            new: new.map(|new| new.iter().copied().map(DatumRef::to_owned).collect()),
            writer: TableWriter::new(child.clone()),
            keys: ForeignKeys::of(child, ctx),
            cascade: cascade.one_further(child.id)?,
            generated: planner::definition::generated(&ctx.infoschema, child, &ctx.eval)?,
            converter: Converter::new(ctx, false),
        })
    }

    async fn change(&mut self, rows: Vec<(Bytes, Vec<Datum>)>, ctx: &ExecCtx) -> Result<()> {
        let mut changed = Vec::with_capacity(rows.len());
        for (key, old) in rows {
            let new = self.new_row(&old, ctx)?;
            changed.push((key, old, new));
        }
        let mut batch = Vec::with_capacity(changed.len());
        for (key, old, new) in &changed {
            let (_, handle) = decode_record_key(key)?;
            let old = borrowed(old);
            batch.push(match new {
                None => Pending { writes: self.writer.remove(&old, &handle)?, row: old, change: Change::Remove },
                Some(new) => {
                    let new = borrowed(new);
                    Pending { writes: change(&mut self.writer, &old, &new, &handle)?, row: new, change: Change::Update(old) }
                }
            });
        }
        match &self.keys {
            Some(keys) => keys.apply_under(&self.cascade, &mut batch, &self.writer, ctx).await,
            None => apply_batch(&mut batch, &self.writer, ctx).await,
        }
    }

    /// The row that follows; `None` when it goes.
    fn new_row(&self, old: &[Datum], ctx: &ExecCtx) -> Result<Option<Vec<Datum>>> {
        let key = match (self.rule, &self.new) {
            (ReferenceRule::Cascade, None) => return Ok(None),
            (ReferenceRule::Cascade, Some(new)) => new.clone(),
            _ => vec![Datum::Null; self.reference.child_columns().len()],
        };
        let table = &self.reference.child;
        let mut row = old.to_vec();
        for (offset, value) in self.reference.child_columns().iter().zip(key) {
            row[*offset] = value;
        }
        if !self.generated.is_empty() {
            let mut buffer = RowBuffer::new(&layout_types(table), &row);
            for Assignment { column, value } in &self.generated {
                row[*column] = store_checked(&self.converter, buffer.eval(value, &ctx.eval)?, &table.columns[*column], 1, false)?;
                buffer.set(*column, &row[*column]);
            }
        }
        Ok(Some(row))
    }
}
