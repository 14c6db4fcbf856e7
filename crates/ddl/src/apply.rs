//! Writes a step: its changes of the schema, their diff and version, and the job, in one transaction.

use base::TimeStamp;
use catalog::meta::{Meta, SchemaDiff, keys};

use crate::{
    Result,
    job::Job,
    queue::{self, DestroyJob},
    step::Write,
};

/// Writes a step into the transaction of `meta`, whose start timestamp is `start_ts`. Sets the job's schema version and times; returns
/// whether the schema changes.
pub async fn apply(meta: &mut Meta<'_>, job: &mut Job, writes: Vec<Write>, start_ts: TimeStamp, now_ms: u64) -> Result<bool> {
    let diff = diff_of(&writes);
    let changes_schema = writes.iter().any(Write::changes_schema);
    if changes_schema {
        job.schema_version = meta.next_schema_version(diff).await?;
    }
    for write in writes {
        match write {
            Write::PutDatabase(info) => meta.put_database(&info)?,
            Write::RemoveDatabase(id) => meta.remove_database(id),
            Write::PutTable { mut table, fence } => {
                table.update_version = job.schema_version;
                if fence {
                    table.update_ts = start_ts;
                }
                meta.put_table(&table)?;
            }
            Write::UnlinkTable(database, id) => meta.unlink_table(database, id),
            Write::RemoveTable(database, id) => meta.remove_table(database, id),
            Write::RaiseAutoId(table, value) => meta.raise_counter(keys::AUTO_ID, table, value).await?,
            Write::DestroyRanges(ranges) => {
                let ranges = ranges.into_iter().map(|range| (range.start.to_vec(), range.end.to_vec())).collect();
                queue::put_destroy_job(meta, &DestroyJob { job: job.id, ts: start_ts, ranges })?;
            }
        }
    }
    if job.started_ms == 0 {
        job.started_ms = now_ms;
    }
    if job.is_finished() {
        job.finished_ms = now_ms;
    }
    queue::put(meta, job)?;
    Ok(changes_schema)
}

/// The databases and tables that a step's writes change.
fn diff_of(writes: &[Write]) -> SchemaDiff {
    let mut diff = SchemaDiff::default();
    for write in writes {
        match write {
            Write::PutDatabase(info) => diff.databases.push(info.id),
            Write::RemoveDatabase(id) => diff.databases.push(*id),
            Write::PutTable { table, .. } => diff.tables.push((table.database_id, table.id)),
            Write::UnlinkTable(database, id) | Write::RemoveTable(database, id) => diff.tables.push((*database, *id)),
            Write::RaiseAutoId(..) | Write::DestroyRanges(_) => {}
        }
    }
    diff
}
