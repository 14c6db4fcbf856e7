//! ANALYZE: reads a table once and sums it up.
//!
//! All rows are counted and sketched as they stream by, a bounded sample of them is kept for top-n and histograms. The scan reads at one
//! timestamp, fills no block cache and gives way to other tasks between pages.

use base::KeyRange;
use catalog::{TableInfo, layout};
use client::{CancelToken, Client, ScanOptions, SnapshotOptions};
use codec::table::record_prefix;
use copr::{ScanColumn, decode::EntryDecoder, index_entry::cut_prefix};
use types::{Chunk, DatumRef, FieldType, RowRef, value::encode_key_datum};

use crate::{
    Result, TableStats,
    collector::{Counter, Reservoir},
};

/// Rows of a page.
const PAGE_ROWS: usize = 1024;
/// Columns beyond this many get no statistics unless an index begins with them.
const MAX_COLUMNS: usize = 100;
/// Bytes of a string that are looked at; longer ones that agree so far count as equal.
const MAX_STRING_CHARS: u32 = 256;

/// How a table is analyzed.
#[derive(Clone, Debug)]
pub struct AnalyzeOptions {
    /// Rows of the sample.
    pub sample_rows: usize,
    /// KILL.
    pub cancel: CancelToken,
}

impl Default for AnalyzeOptions {
    fn default() -> Self {
        Self { sample_rows: 20_000, cancel: CancelToken::never() }
    }
}

/// Gathers the statistics of a table.
pub async fn analyze(client: &Client, table: &TableInfo, options: &AnalyzeOptions) -> Result<TableStats> {
    let ts = client.timestamp().await?;
    let snapshot =
        client.snapshot(ts, SnapshotOptions { cancel: options.cancel.clone(), not_fill_cache: true, ..SnapshotOptions::default() });
    let mut collector = Collector::new(table, options.sample_rows, ts.0);
    let range = KeyRange::prefix(&record_prefix(table.id));
    let mut scanner = snapshot.scan(range, ScanOptions { batch: PAGE_ROWS, ..ScanOptions::default() });
    while let Some(page) = scanner.next_page().await? {
        let mut chunk = Chunk::new(&collector.types, page.len());
        for (key, value) in &page {
            collector.decoder.decode(&collector.columns, key, value, &mut chunk)?;
        }
        chunk.set_rows(page.len());
        chunk.iter().for_each(|row| collector.row(row));
        tokio::task::yield_now().await;
    }
    let mut stats = collector.finish(table);
    stats.analyzed_ts = ts;
    Ok(stats)
}

/// A key that is looked at: a column's, or an index's.
struct Shape {
    target: crate::Target,
    parts: Vec<Part>,
}

struct Part {
    /// Position among the decoded columns.
    at: usize,
    ty: FieldType,
    prefix_len: Option<u32>,
    desc: bool,
}

struct Collector {
    columns: Vec<ScanColumn>,
    types: Vec<FieldType>,
    decoder: EntryDecoder,
    shapes: Vec<Shape>,
    counters: Vec<Counter>,
    /// Sampled rows: the key of every shape, `None` for NULL.
    sample: Reservoir<Vec<Option<Vec<u8>>>>,
    rows: u64,
    keys: Vec<Option<Vec<u8>>>,
}

impl Collector {
    fn new(table: &TableInfo, sample_rows: usize, seed: u64) -> Self {
        let offsets = analyzed_columns(table);
        let place = |offset: usize| offsets.iter().position(|&known| known == offset).expect("columns of indexes are always analyzed");
        let part = |offset: usize, prefix_len: Option<u32>, desc: bool| {
            let ty = table.columns[offset].ty.clone();
            let prefix_len = if ty.tp.is_string() { Some(prefix_len.unwrap_or(MAX_STRING_CHARS)) } else { None };
            Part { at: place(offset), ty, prefix_len, desc }
        };
        let columns = offsets
            .iter()
            .map(|&offset| Shape { target: crate::Target::Column(table.columns[offset].id), parts: vec![part(offset, None, false)] });
        let indexes = table.public_indexes().map(|(_, index)| Shape {
            target: crate::Target::Index(index.id),
            parts: index.columns.iter().map(|column| part(column.offset, column.prefix_len, column.desc)).collect(),
        });
        let shapes: Vec<Shape> = columns.chain(indexes).collect();
        let scan = layout::scan_columns(table, offsets.iter().copied());
        Self {
            types: scan.iter().map(|column| column.ty.clone()).collect(),
            decoder: EntryDecoder::of_rows(table.id, &scan, &layout::handle_kind(table)),
            columns: scan,
            counters: shapes.iter().map(|shape| Counter::new(shape.parts.len())).collect(),
            keys: vec![None; shapes.len()],
            shapes,
            sample: Reservoir::new(sample_rows, seed),
            rows: 0,
        }
    }

    fn row(&mut self, row: RowRef<'_>) {
        self.rows += 1;
        let mut ends: smallvec::SmallVec<[usize; 16]> = smallvec::SmallVec::new();
        for ((shape, counter), slot) in self.shapes.iter().zip(&mut self.counters).zip(&mut self.keys) {
            let mut key = slot.take().unwrap_or_default();
            key.clear();
            ends.clear();
            for part in &shape.parts {
                encode_key_datum(&mut key, cut_prefix(row.get(part.at), &part.ty, part.prefix_len), &part.ty, part.desc);
                ends.push(key.len());
            }
            let null = matches!(row.get(shape.parts[0].at), DatumRef::Null);
            counter.count(&key, &ends, null && shape.parts.len() == 1);
            *slot = Some(key);
        }
        let (shapes, keys) = (&self.shapes, &self.keys);
        self.sample.offer(|| {
            let sampled = shapes.iter().zip(keys).map(|(shape, key)| {
                let null = shape.parts.len() == 1 && matches!(row.get(shape.parts[0].at), DatumRef::Null);
                if null { None } else { key.as_deref().map(|key| crate::table_stats::cut_key(key).to_vec()) }
            });
            sampled.collect()
        });
    }

    fn finish(self, table: &TableInfo) -> TableStats {
        let mut sampled: Vec<Vec<Vec<u8>>> = vec![Vec::new(); self.shapes.len()];
        for row in self.sample.into_items() {
            for (keys, key) in sampled.iter_mut().zip(row) {
                keys.extend(key);
            }
        }
        let rows = self.rows as f64;
        let mut stats = TableStats { table: table.id, analyzed_rows: rows, row_count: rows, ..TableStats::default() };
        for ((shape, counter), keys) in self.shapes.into_iter().zip(self.counters).zip(sampled) {
            match shape.target {
                crate::Target::Column(id) => stats.columns.insert(id, counter.finish(keys, false)),
                crate::Target::Index(id) => stats.indexes.insert(id, counter.finish(keys, true)),
            };
        }
        stats
    }
}

/// The columns that get statistics: those of indexes and of the primary key, then the others up to a limit.
fn analyzed_columns(table: &TableInfo) -> Vec<usize> {
    let mut offsets = table.primary_key_columns();
    offsets.extend(table.public_indexes().flat_map(|(_, index)| index.columns.iter().map(|part| part.offset)));
    offsets.extend((0..table.public_columns().len()).take(MAX_COLUMNS));
    let mut seen = vec![false; table.columns.len()];
    offsets.retain(|&offset| !std::mem::replace(&mut seen[offset], true));
    offsets
}
