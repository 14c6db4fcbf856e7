//! DDL jobs: what is stored of a schema change while it is under way, and afterwards.
//!
//! ```text
//!               ┌──────────────── error before Publish ───────────┐
//! Queued ──▶ Running ──────────────────────────▶ Done             ▼
//!    │          └── cancel before Publish ──▶ RollingBack ──▶ Cancelled (with its error)
//!    └── cancel / first check fails ─────────────────────────────▶ Cancelled
//! ```
//!
//! Invariants:
//! - A job is written in the same transaction as the schema change of its step: job and schema never disagree.
//! - A job that has published cannot be cancelled; it goes on to Done, through crashes too.
//! - Jobs that touch the same table or database run in the order of their ids.

use base::{ColumnId, DatabaseId, IndexId, TableId};
use catalog::{CheckInfo, ColumnDefault, ColumnInfo, DatabaseInfo, ForeignKeyInfo, IndexInfo, SchemaState, TableInfo};
use serde::{Deserialize, Serialize};
use types::{Charset, Collation};

/// A DDL job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Unique, ascending in the order of submission.
    pub id: i64,
    /// What is to be done.
    pub action: Action,
    /// How far it has got.
    pub state: JobState,
    /// The state of the elements that are being added or dropped.
    pub schema_state: SchemaState,
    /// What the step machine will do next.
    pub phase: Phase,
    /// The database's name, for users.
    pub database: String,
    /// The table's name, for users; empty for jobs on databases.
    pub table: String,
    /// The statement's text.
    pub query: String,
    /// Why it was or is being rolled back.
    pub error: Option<JobError>,
    /// Rows that a backfill has gone through.
    pub row_count: u64,
    /// Milliseconds since the epoch when it was queued.
    pub created_ms: u64,
    /// … when its first step was taken; 0 before.
    pub started_ms: u64,
    /// … when it ended; 0 before.
    pub finished_ms: u64,
    /// The schema version of its last step; 0 before.
    pub schema_version: u64,
    /// Somebody asked for cancelling.
    pub cancel_requested: bool,
}

/// How far a job has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// Waiting for its turn.
    Queued,
    /// Taking steps.
    Running,
    /// Taking steps back.
    RollingBack,
    /// Ended, with effect.
    Done,
    /// Ended, without effect.
    Cancelled,
}

/// Where the step machine stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing has been changed.
    #[default]
    Start,
    /// Elements are being added; their state is the job's `schema_state`.
    Adding,
    /// The change is visible; what was removed is on its way out.
    Removing,
    /// Everything is changed; the old data is still to be queued for destruction.
    Cleanup,
}

/// An error in a job's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// MySQL's number.
    pub code: u16,
    /// The message.
    pub message: String,
}

/// What a job is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Action {
    /// CREATE DATABASE.
    CreateDatabase(DatabaseInfo),
    /// ALTER DATABASE.
    AlterDatabase {
        /// The database.
        id: DatabaseId,
        /// Its new default character set.
        charset: Charset,
        /// Its new default collation.
        collation: Collation,
    },
    /// DROP DATABASE.
    DropDatabase {
        /// The database.
        id: DatabaseId,
        /// Its tables, filled in by the first step.
        tables: Vec<TableId>,
    },
    /// CREATE TABLE.
    CreateTable(Box<TableInfo>),
    /// DROP TABLE.
    DropTable {
        /// Its database.
        database: DatabaseId,
        /// The table.
        id: TableId,
    },
    /// TRUNCATE TABLE.
    TruncateTable {
        /// Its database.
        database: DatabaseId,
        /// The table.
        id: TableId,
        /// The id it gets.
        new_id: TableId,
    },
    /// RENAME TABLE, all renames at once.
    RenameTables(Vec<TableRename>),
    /// ALTER TABLE, CREATE INDEX, DROP INDEX.
    AlterTable {
        /// Its database.
        database: DatabaseId,
        /// The table.
        id: TableId,
        /// What changes, in order.
        changes: Vec<TableChange>,
        /// What a backfill has done, for resuming.
        backfill: BackfillProgress,
    },
}

/// One rename of RENAME TABLE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRename {
    /// The table.
    pub id: TableId,
    /// The database it is in.
    pub old_database: DatabaseId,
    /// The database it goes to.
    pub new_database: DatabaseId,
    /// That database's name.
    pub new_database_name: String,
    /// Its new name.
    pub new_name: String,
}

/// How far a backfill has got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackfillProgress {
    /// The new generated columns stand in all rows; what follows is about indexes.
    #[serde(default)]
    pub columns_filled: bool,
    /// Rows with keys below this one are done; empty at the beginning.
    pub done_below: Vec<u8>,
    /// All rows are done.
    pub finished: bool,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Position {
    /// To the front.
    First,
    /// Behind that column.
    After(ColumnId),
}

/// One change of a table.
///
/// *Additions* (columns, indexes) go through the states of online change before anything of the job is visible; all other changes are
/// made in the step that publishes the additions; *removals* go through the states after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TableChange {
    /// ADD COLUMN.
    AddColumn {
        /// The column; its offset is not yet meaningful.
        column: Box<ColumnInfo>,
        /// Where; `None` = behind the others.
        position: Option<Position>,
    },
    /// ADD INDEX. Parts are named by column id, because offsets move.
    AddIndex {
        /// The index; offsets of its parts are not yet meaningful.
        index: Box<IndexInfo>,
        /// The columns of its parts.
        columns: Vec<ColumnId>,
    },
    /// DROP COLUMN.
    DropColumn(ColumnId),
    /// DROP INDEX.
    DropIndex(IndexId),
    /// MODIFY, CHANGE, RENAME COLUMN, ALTER COLUMN SET DEFAULT …: the column as it is to be, under the same id.
    ChangeColumn {
        /// The new definition; its offset is not meaningful.
        column: Box<ColumnInfo>,
        /// Where; `None` = where it is.
        position: Option<Position>,
    },
    /// ALTER COLUMN SET DEFAULT and DROP DEFAULT.
    SetDefault {
        /// The column.
        column: ColumnId,
        /// Its new default.
        default: ColumnDefault,
    },
    /// RENAME INDEX.
    RenameIndex {
        /// The index.
        index: IndexId,
        /// Its new name.
        name: String,
    },
    /// ALTER INDEX … VISIBLE, INVISIBLE.
    SetIndexVisible {
        /// The index.
        index: IndexId,
        /// Whether the planner uses it.
        visible: bool,
    },
    /// RENAME TO.
    Rename {
        /// The database it goes to.
        database: DatabaseId,
        /// That database's name.
        database_name: String,
        /// Its new name.
        name: String,
    },
    /// COMMENT.
    SetComment(String),
    /// Default character set and collation of new columns.
    SetCharset {
        /// The character set.
        charset: Charset,
        /// The collation.
        collation: Collation,
    },
    /// AUTO_INCREMENT: the next value, unless a greater one has been used.
    SetAutoIncrement(u64),
    /// ADD CHECK.
    AddCheck(CheckInfo),
    /// DROP CHECK, by name.
    DropCheck(String),
    /// ALTER CHECK … ENFORCED, by name.
    EnforceCheck(String),
    /// ALTER CHECK … NOT ENFORCED, by name.
    RelaxCheck(String),
    /// ADD FOREIGN KEY.
    AddForeignKey {
        /// The key.
        key: ForeignKeyInfo,
        /// Whether the rows that are there must refer to others (`foreign_key_checks`).
        checked: bool,
    },
    /// DROP FOREIGN KEY, by name.
    DropForeignKey(String),
}

impl TableChange {
    /// Adds an element that goes through the states of online change.
    pub fn is_addition(&self) -> bool {
        match self {
            Self::AddColumn { .. } | Self::AddIndex { .. } | Self::EnforceCheck(_) | Self::AddForeignKey { .. } => true,
            Self::AddCheck(check) => check.enforced,
            _ => false,
        }
    }

    /// Whether the rows that are there must be gone through before the change is visible.
    pub fn needs_rows(&self) -> bool {
        match self {
            Self::AddColumn { column, .. } => column.generated.is_some(),
            change => change.is_addition(),
        }
    }

    /// Removes an element that goes through the states of online change.
    pub fn is_removal(&self) -> bool {
        matches!(self, Self::DropColumn(_) | Self::DropIndex(_))
    }
}

impl Action {
    /// The name ADMIN SHOW DDL JOBS prints.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CreateDatabase(_) => "create schema",
            Self::AlterDatabase { .. } => "modify schema charset and collate",
            Self::DropDatabase { .. } => "drop schema",
            Self::CreateTable(_) => "create table",
            Self::DropTable { .. } => "drop table",
            Self::TruncateTable { .. } => "truncate table",
            Self::RenameTables(_) => "rename table",
            Self::AlterTable { changes, .. } => match &changes[..] {
                [TableChange::AddColumn { .. }] => "add column",
                [TableChange::AddIndex { .. }] => "add index",
                [TableChange::DropColumn(_)] => "drop column",
                [TableChange::DropIndex(_)] => "drop index",
                [TableChange::ChangeColumn { .. }] => "modify column",
                [TableChange::SetDefault { .. }] => "set default value",
                [TableChange::RenameIndex { .. }] => "rename index",
                [TableChange::SetIndexVisible { .. }] => "alter index visibility",
                [TableChange::Rename { .. }] => "rename table",
                [TableChange::SetComment(_)] => "modify table comment",
                [TableChange::SetCharset { .. }] => "modify table charset and collate",
                [TableChange::SetAutoIncrement(_)] => "rebase auto_increment ID",
                [TableChange::AddCheck(_)] => "add check constraint",
                [TableChange::DropCheck(_)] => "drop check constraint",
                [TableChange::EnforceCheck(_) | TableChange::RelaxCheck(_)] => "alter check constraint",
                [TableChange::AddForeignKey { .. }] => "add foreign key",
                [TableChange::DropForeignKey(_)] => "drop foreign key",
                _ => "alter table multi-schema change",
            },
        }
    }

    /// The databases and tables whose definitions the job reads or writes.
    pub fn objects(&self) -> Vec<Object> {
        match self {
            Self::CreateDatabase(info) => vec![Object::Database(info.id), Object::Name(info.name.to_lowercase())],
            Self::AlterDatabase { id, .. } | Self::DropDatabase { id, .. } => vec![Object::WholeDatabase(*id)],
            Self::CreateTable(table) => {
                vec![Object::Database(table.database_id), Object::Name(format!("{}.{}", table.database_id, table.name.to_lowercase()))]
            }
            Self::DropTable { database, id } | Self::TruncateTable { database, id, .. } => {
                vec![Object::Database(*database), Object::Table(*id)]
            }
            Self::AlterTable { database, id, changes, .. } => {
                let mut objects = vec![Object::Database(*database), Object::Table(*id)];
                for change in changes {
                    if let TableChange::Rename { database, name, .. } = change {
                        objects.push(Object::Database(*database));
                        objects.push(Object::Name(format!("{database}.{}", name.to_lowercase())));
                    }
                }
                objects
            }
            Self::RenameTables(renames) => renames
                .iter()
                .flat_map(|rename| {
                    let name = format!("{}.{}", rename.new_database, rename.new_name.to_lowercase());
                    [
                        Object::Database(rename.old_database),
                        Object::Database(rename.new_database),
                        Object::Table(rename.id),
                        Object::Name(name),
                    ]
                })
                .collect(),
        }
    }
}

/// What two jobs may both touch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// A database that must stay; shared by the jobs on its tables.
    Database(DatabaseId),
    /// A database that is itself changed.
    WholeDatabase(DatabaseId),
    /// A table.
    Table(TableId),
    /// A name that is to be taken.
    Name(String),
}

impl Object {
    /// Whether jobs that touch these must run one after the other.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Database(a), Self::WholeDatabase(b)) | (Self::WholeDatabase(a), Self::Database(b)) => a == b,
            (Self::Database(_), Self::Database(_)) => false,
            (a, b) => a == b,
        }
    }
}

impl Job {
    /// A job that waits for its turn.
    pub fn new(
        id: i64,
        action: Action,
        database: impl Into<String>,
        table: impl Into<String>,
        query: impl Into<String>,
        now_ms: u64,
    ) -> Self {
        Self {
            id,
            action,
            state: JobState::Queued,
            schema_state: SchemaState::None,
            phase: Phase::Start,
            database: database.into(),
            table: table.into(),
            query: query.into(),
            error: None,
            row_count: 0,
            created_ms: now_ms,
            started_ms: 0,
            finished_ms: 0,
            schema_version: 0,
            cancel_requested: false,
        }
    }

    /// Moves on to a phase and state.
    pub(crate) fn enter(&mut self, phase: Phase, state: SchemaState) {
        if self.state == JobState::Queued {
            self.state = JobState::Running;
        }
        (self.phase, self.schema_state) = (phase, state);
    }

    /// Ends with effect.
    pub(crate) fn finish(&mut self, state: SchemaState) {
        (self.state, self.schema_state) = (JobState::Done, state);
    }

    /// The job after an error or a request to cancel: ended, or on its way back. `None` when it has published and can only go on.
    pub fn fail(&self, error: JobError) -> Option<Self> {
        let mut failed = self.clone();
        failed.error = Some(error);
        failed.state = match self.phase {
            Phase::Start => JobState::Cancelled,
            Phase::Adding => JobState::RollingBack,
            Phase::Removing | Phase::Cleanup => return None,
        };
        Some(failed)
    }

    /// Whether the job has ended.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, JobState::Done | JobState::Cancelled)
    }

    /// Whether the job must wait for the end of `earlier`.
    pub fn must_follow(&self, earlier: &Self) -> bool {
        let theirs = earlier.action.objects();
        self.action.objects().iter().any(|mine| theirs.iter().any(|other| mine.conflicts_with(other)))
    }
}

impl JobState {
    /// The name ADMIN SHOW DDL JOBS prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queueing",
            Self::Running => "running",
            Self::RollingBack => "rollingback",
            Self::Done => "synced",
            Self::Cancelled => "cancelled",
        }
    }
}
