//! Rows that were there before a foreign key.

use std::sync::Arc;

use bytes::Bytes;
use catalog::{ForeignKeyInfo, InfoSchema, TableInfo};
use client::{ScanOptions, Snapshot};
use types::{Chunk, DatumRef};

use super::reference::{Path, Reference};
use crate::Result;

/// Whether all rows of a chunk, which holds the whole rows of `table`, refer to rows that a snapshot shows, or to none.
pub async fn rows_have_parents(
    schema: &InfoSchema,
    table: &Arc<TableInfo>,
    key: &ForeignKeyInfo,
    rows: &Chunk,
    snapshot: &Snapshot,
) -> Result<bool> {
    let reference = Reference::to_parent(table, key, schema);
    let mut wanted: Vec<Bytes> = Vec::new();
    for row in rows.iter() {
        let values = (0..table.columns.len()).map(|at| row.get(at)).collect::<Vec<_>>();
        let key = reference.child_key(&values);
        if key.contains(&DatumRef::Null) {
            continue;
        }
        let Some(parent) = &reference.parent else { return Ok(false) };
        let path = Path::to(parent, reference.parent_columns());
        match path.key(parent, &key)? {
            Some(key) => wanted.push(key),
            None => {
                let options = ScanOptions { key_only: true, batch: 1, limit: Some(1), ..ScanOptions::default() };
                let found = snapshot.scan(path.range(parent, &key)?, options).next_page().await?;
                if found.is_none_or(|page| page.is_empty()) {
                    return Ok(false);
                }
            }
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(snapshot.batch_get(&wanted).await?.iter().all(Option::is_some))
}
