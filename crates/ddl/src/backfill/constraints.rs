//! Holding the rows that were there before them to new constraints.
//!
//! When this runs every writer holds new rows to them (state reorg, older users gone), so what one snapshot shows is all there is to be looked
//! at. Whoever took a row's parent away meanwhile has seen the row: its own transaction had to look for it.

use std::sync::Arc;

use catalog::{ForeignKeyInfo, InfoSchema, TableInfo, layout, show_create};
use client::{ScanOptions, SnapshotOptions};
use copr::decode::EntryDecoder;
use expr::EvalCtx;
use types::Chunk;

use super::{all_rows, check};
use crate::{
    Error, Result,
    job::{Action, Job, TableChange},
    owner::Owner,
};

/// Rows looked at together.
const PAGE_ROWS: usize = 512;

/// The constraints that a job adds, and rows must keep.
struct Added<'j> {
    checks: Vec<&'j str>,
    foreign_keys: Vec<&'j ForeignKeyInfo>,
}

impl<'j> Added<'j> {
    fn by(job: &'j Job) -> Self {
        let mut added = Self { checks: Vec::new(), foreign_keys: Vec::new() };
        let Action::AlterTable { changes, .. } = &job.action else { return added };
        for change in changes {
            match change {
                TableChange::AddCheck(check) if check.enforced => added.checks.push(&check.name),
                TableChange::EnforceCheck(name) => added.checks.push(name),
                TableChange::AddForeignKey { key, checked: true } => added.foreign_keys.push(key),
                _ => {}
            }
        }
        added
    }
}

/// Fails with the error of the first row that does not keep a new constraint.
pub(super) async fn hold(owner: &Owner, job: &Job, schema: &Arc<InfoSchema>, table: &Arc<TableInfo>) -> Result<()> {
    let added = Added::by(job);
    if added.checks.is_empty() && added.foreign_keys.is_empty() {
        return Ok(());
    }
    let eval = EvalCtx { changes_data: true, ..EvalCtx::default() };
    let mut checks = planner::definition::checks(schema, table, &eval).map_err(|error| Error::Mysql(error.to_mysql()))?;
    checks.retain(|check| added.checks.contains(&check.name.as_str()));
    let columns = layout::scan_columns(table, 0..table.columns.len());
    let types: Vec<_> = columns.iter().map(|column| column.ty.clone()).collect();
    let mut decoder = EntryDecoder::of_rows(table.id, &columns, &layout::handle_kind(table));
    let client = owner.catalog.client();
    let snapshot = client.snapshot(client.timestamp().await?, SnapshotOptions { not_fill_cache: true, ..SnapshotOptions::default() });
    let mut scanner = snapshot.scan(all_rows(table.id), ScanOptions { batch: PAGE_ROWS, ..ScanOptions::default() });
    while let Some(page) = scanner.next_page().await? {
        self::check(owner, job)?;
        let mut chunk = Chunk::new(&types, page.len());
        for (key, value) in &page {
            decoder.decode(&columns, key, value, &mut chunk)?;
        }
        chunk.set_rows(page.len());
        for check in &checks {
            for row in chunk.iter() {
                let value = check.condition.eval(&eval, row).map_err(|error| Error::Mysql(error.to_mysql()))?;
                if types::convert::to_bool(value.as_ref()) == Some(false) {
                    return Err(Error::CheckViolated { name: check.name.clone() });
                }
            }
        }
        for key in &added.foreign_keys {
            let kept = exec::dml::rows_have_parents(schema, table, key, &chunk, &snapshot).await;
            if !kept.map_err(|error| match error {
                exec::Error::Client(error) => Error::Client(error),
                error => Error::Mysql(error.to_mysql()),
            })? {
                let quote = show_create::quote_name;
                let clause = show_create::foreign_key_clause(table, key);
                return Err(Error::NoReferencedRow { key: format!("{}.{}, {clause}", quote(&table.database), quote(&table.name)) });
            }
        }
    }
    Ok(())
}
