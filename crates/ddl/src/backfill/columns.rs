//! Filling new generated columns: their values are written into the rows that were there before them.
//!
//! ```text
//!   key-only scan at one snapshot ──▶ batches of row keys ──▶ one pessimistic transaction each: lock and read the rows, compute, write
//! ```
//!
//! The scan begins when every writer computes the columns itself (state reorg, older users gone), so a row that is not filled was last written
//! before that. Indexes over the columns are filled afterwards, from the rows.
//!
//! Invariant: computing a row twice gives the same row. After a crash rows may be written again.

use std::sync::Arc;

use bytes::Bytes;
use catalog::{InfoSchema, TableInfo, layout};
use client::{Client, LockRequest, LockWait, ScanOptions, SnapshotOptions, Transaction, TxnOptions, WriteFlags};
use codec::table::decode_record_key;
use copr::{ScanColumn, decode::EntryDecoder};
use exec::dml::{TableWriter, table_writer::borrowed};
use expr::EvalCtx;
use planner::physical::Assignment;
use types::{
    Chunk, Datum, FieldType, TimeZone,
    convert::{ConvertMode, store},
};

use super::{FIRST_PAUSE, above, check, give_way, progress, remaining_rows};
use crate::{
    Error, Result,
    job::{Action, Job, TableChange},
    owner::Owner,
};

/// Rows of a transaction: enough to share the cost of a commit, few enough to be locked only for milliseconds.
const BATCH_ROWS: usize = 256;
/// Batches between two checkpoints.
const CHECKPOINT_BATCHES: u64 = 64;

/// Whether a job adds generated columns.
pub(super) fn are_added(job: &Job) -> bool {
    let Action::AlterTable { changes, .. } = &job.action else { return false };
    changes.iter().any(|change| matches!(change, TableChange::AddColumn { column, .. } if column.generated.is_some()))
}

/// Fills the rows that remain.
pub(super) async fn fill(owner: &Owner, job: &mut Job, schema: &InfoSchema, table: &Arc<TableInfo>) -> Result<()> {
    let client = owner.catalog.client();
    let mut filler = Filler::new(schema, table)?;
    let snapshot = client.snapshot(client.timestamp().await?, SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() });
    let options = ScanOptions { key_only: true, batch: BATCH_ROWS, ..ScanOptions::default() };
    let mut scanner = snapshot.scan(remaining_rows(table.id, job), options);
    let mut batches = 0u64;
    while let Some(page) = scanner.next_page().await? {
        check(owner, job)?;
        let keys: Vec<Bytes> = page.into_iter().map(|(key, _)| key).collect();
        let Some(last) = keys.last() else { continue };
        filler.fill_rows(client, &keys).await?;
        progress(job).done_below = above(last);
        job.row_count += keys.len() as u64;
        batches += 1;
        if batches.is_multiple_of(CHECKPOINT_BATCHES) {
            owner.store(job).await?;
        }
    }
    Ok(())
}

/// Computes generated columns of rows that are stored.
struct Filler {
    table: Arc<TableInfo>,
    columns: Vec<ScanColumn>,
    types: Vec<FieldType>,
    decoder: EntryDecoder,
    generated: Vec<Assignment>,
    writer: TableWriter,
    eval: EvalCtx,
}

impl Filler {
    fn new(schema: &InfoSchema, table: &Arc<TableInfo>) -> Result<Self> {
        let eval = EvalCtx { changes_data: true, ..EvalCtx::default() };
        let columns = layout::scan_columns(table, 0..table.columns.len());
        let generated = planner::definition::generated(schema, table, &eval).map_err(|error| Error::Mysql(error.to_mysql()))?;
        Ok(Self {
            types: columns.iter().map(|column| column.ty.clone()).collect(),
            decoder: EntryDecoder::of_rows(table.id, &columns, &layout::handle_kind(table)),
            columns,
            generated,
            writer: TableWriter::new(table.clone()),
            table: table.clone(),
            eval,
        })
    }

    /// Fills a batch, in as many attempts as it takes others to be done with its rows.
    async fn fill_rows(&mut self, client: &Client, keys: &[Bytes]) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut txn = client.begin(TxnOptions { pessimistic: true, ..TxnOptions::default() });
            match self.try_rows(&mut txn, keys).await {
                Ok(()) => return Ok(()),
                Err(error) => give_way(txn, error, &mut pause).await?,
            }
        }
    }

    async fn try_rows(&mut self, txn: &mut Transaction, keys: &[Bytes]) -> Result<()> {
        let request =
            LockRequest { wait: LockWait::NoWait, return_values: true, lock_newest: true, only_if_exists: true, ..LockRequest::default() };
        let locked = txn.lock_keys(keys, request).await?;
        for (key, value) in keys.iter().zip(locked.values) {
            // A row without a value was removed since the scan.
            let Some(Some(value)) = value else { continue };
            let row = self.computed(key, &value)?;
            let (_, handle) = decode_record_key(key).map_err(types::Error::from)?;
            let value = self.writer.row_value(&borrowed(&row)).map_err(|error| Error::Mysql(error.to_mysql()))?;
            txn.set(self.writer.record_key(&handle), value, WriteFlags::default())?;
        }
        txn.commit().await?;
        Ok(())
    }

    /// A row with its generated columns, in the table's layout.
    fn computed(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<Datum>> {
        let mut chunk = Chunk::new(&self.types, 1);
        self.decoder.decode(&self.columns, key, value, &mut chunk)?;
        chunk.set_rows(1);
        for Assignment { column: at, value } in &self.generated {
            let column = &self.table.columns[*at];
            let computed = value.eval(&self.eval, chunk.row(0)).map_err(|error| Error::Mysql(error.to_mysql()))?;
            let stored = match computed {
                Datum::Null if column.ty.not_null => return Err(Error::GeneratedNull { column: column.name.clone() }),
                Datum::Null => Datum::Null,
                value => store(value, &column.ty, ConvertMode::STRICT, &TimeZone::UTC, &mut |_| {})
                    .map_err(|error| error.at_column(&column.name, 1))?,
            };
            let out = &mut chunk.columns_mut()[*at];
            out.clear();
            out.push(&stored);
        }
        Ok(chunk.row(0).to_datums())
    }
}
