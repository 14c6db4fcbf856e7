//! Where statistics are kept: meta keys, one for a table's statistics and one for its row count, which changes more often.

use std::sync::Arc;

use base::TableId;
use catalog::meta::{Meta, keys};
use client::{Client, TxnOptions};
use serde::{Deserialize, Serialize};

use crate::{Error, Result, StatsCache, TableStats};

/// A table's row count as it is stored.
#[derive(Serialize, Deserialize)]
struct Counts {
    table: TableId,
    rows: f64,
    modified: f64,
}

/// Reads the statistics of all tables into the cache.
pub async fn load(client: &Client, cache: &StatsCache) -> Result<()> {
    let mut txn = client.begin(TxnOptions::default());
    let mut meta = Meta::new(&mut txn);
    let stored = meta.hash_raw(keys::STATS).await?;
    let counts: Vec<Counts> = meta.hash(keys::STATS_COUNTS).await?;
    txn.rollback().await;
    for (key, value) in stored {
        let mut stats: TableStats = serde_json::from_slice(&value).map_err(|source| Error::Damaged { key: key.to_vec(), source })?;
        stats.finish();
        cache.put(stats);
    }
    for count in counts {
        let stats = TableStats::clone(&cache.get(count.table));
        cache.put(TableStats { row_count: count.rows, modify_count: count.modified, ..stats });
    }
    Ok(())
}

/// Stores what an ANALYZE has gathered. The row count of before is replaced.
pub async fn save(client: &Client, stats: &TableStats) -> Result<()> {
    write(client, &|meta| {
        meta.put(keys::numbered(keys::STATS, stats.table.0), stats)?;
        put_counts(meta, stats)
    })
    .await
}

/// Removes what is stored of tables that are gone: what a server wrote of a table may have come later than the end of the table.
pub async fn remove(client: &Client, gone: &[TableId]) -> Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let remove = |meta: &mut Meta<'_>| {
        for table in gone {
            meta.remove(keys::numbered(keys::STATS, table.0));
            meta.remove(keys::numbered(keys::STATS_COUNTS, table.0));
        }
        Ok(())
    };
    write(client, &remove).await
}

/// Stores the row counts of tables that have changed.
pub async fn save_counts(client: &Client, changed: &[Arc<TableStats>]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    write(client, &|meta| changed.iter().try_for_each(|stats| put_counts(meta, stats))).await
}

fn put_counts(meta: &mut Meta<'_>, stats: &TableStats) -> Result<()> {
    let counts = Counts { table: stats.table, rows: stats.row_count, modified: stats.modify_count };
    Ok(meta.put(keys::numbered(keys::STATS_COUNTS, stats.table.0), &counts)?)
}

async fn write(client: &Client, put: &(dyn Fn(&mut Meta<'_>) -> Result<()> + Sync)) -> Result<()> {
    loop {
        let mut txn = client.begin(TxnOptions::default());
        put(&mut Meta::new(&mut txn))?;
        match txn.commit().await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_retryable() => continue,
            Err(error) => return Err(error.into()),
        }
    }
}
