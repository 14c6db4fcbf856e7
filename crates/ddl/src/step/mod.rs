//! The DDL state machine: (job, schema) → (what to write, the job afterwards). Pure.
//!
//! [`step`] is called under the owner's commit lock with the newest schema. Its [`Advance`] is written in one transaction; then the owner
//! waits until nobody uses the tables of [`Advance::wait_for`] at an older version, and calls again.
//!
//! | action | steps |
//! |---|---|
//! | CREATE DATABASE, CREATE TABLE, ALTER DATABASE, RENAME | one |
//! | DROP TABLE, TRUNCATE, DROP DATABASE | take out of the schema; (wait) queue the ranges for destruction |
//! | ALTER TABLE | additions: delete-only → write-only → reorg (backfill) → publish; removals: write-only → delete-only → gone → queue ranges |
//!
//! Invariants:
//! - Two schema versions that can be in use at once differ by one state of each element.
//! - Before the publishing step nothing of a job is visible, and the job can be taken back; from it on the job can only go forward.
//! - A step checks whatever another job may have changed since the statement was checked.

mod alter;
mod database;
mod references;
mod table;

use base::{DatabaseId, KeyRange, TableId};
use catalog::{DatabaseInfo, InfoSchema, TableInfo};

use crate::{
    Result,
    job::{Action, Job},
};

/// A write of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Makes or changes a database.
    PutDatabase(DatabaseInfo),
    /// Removes a database.
    RemoveDatabase(DatabaseId),
    /// Makes or changes a table.
    PutTable {
        /// Its definition.
        table: Box<TableInfo>,
        /// Readers can see something that was not there before: older snapshots must not use the definition.
        fence: bool,
    },
    /// Takes a table out of the database it moves away from.
    UnlinkTable(DatabaseId, TableId),
    /// Removes a table with its counters.
    RemoveTable(DatabaseId, TableId),
    /// Makes sure that the AUTO_INCREMENT counter of a table is at least this.
    RaiseAutoId(TableId, u64),
    /// Queues ranges for destruction.
    DestroyRanges(Vec<KeyRange>),
}

impl Write {
    /// Whether the write changes the schema, so that it needs a new version.
    pub fn changes_schema(&self) -> bool {
        !matches!(self, Self::RaiseAutoId(..) | Self::DestroyRanges(_))
    }
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// The job afterwards.
    pub job: Job,
    /// What to write with it.
    pub writes: Vec<Write>,
    /// Before the next step nobody may use these tables at an older version any more.
    pub wait_for: Vec<TableId>,
}

/// The next thing to do for a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Write this.
    Advance(Box<Advance>),
    /// Backfill the job's new indexes, then ask again.
    Backfill,
}

/// The next step of a job. An error before publishing is to be answered with [`Job::fail`].
pub fn step(job: &Job, schema: &InfoSchema) -> Result<Step> {
    match &job.action {
        Action::CreateDatabase(_) | Action::AlterDatabase { .. } | Action::DropDatabase { .. } => database::step(job, schema),
        Action::CreateTable(_) | Action::DropTable { .. } | Action::TruncateTable { .. } | Action::RenameTables(_) => {
            table::step(job, schema)
        }
        Action::AlterTable { .. } => alter::step(job, schema),
    }
}

impl Advance {
    fn new(job: Job, writes: Vec<Write>) -> Self {
        Self { job, writes, wait_for: Vec::new() }
    }

    fn waiting_for(mut self, tables: Vec<TableId>) -> Self {
        self.wait_for = tables;
        self
    }

    fn into_step(self) -> Result<Step> {
        Ok(Step::Advance(Box::new(self)))
    }
}

/// All keys of a table: records and indexes.
fn table_range(table: TableId) -> KeyRange {
    KeyRange::prefix(&codec::table::table_prefix(table))
}
