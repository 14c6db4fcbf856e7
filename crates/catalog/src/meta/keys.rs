//! Names of the meta keys.
//!
//! | key | value |
//! |---|---|
//! | value `Trine:Bootstrap` | [`BootstrapInfo`](super::BootstrapInfo), JSON; its presence says that these meta keys are ours |
//! | value `NextGlobalID` | the last id given to a database or table, decimal |
//! | value `SchemaVersionKey` | the schema version, decimal |
//! | hash `Diffs`, field version (u64) | [`SchemaDiff`](super::SchemaDiff), JSON |
//! | hash `DBs`, field `DB:{id}` | [`DatabaseInfo`](crate::DatabaseInfo), JSON |
//! | hash `DB:{id}`, field `Table:{id}` | [`TableInfo`](crate::TableInfo), JSON |
//! | hash `AutoID`, field table id (i64) | highest AUTO_INCREMENT value that may have been handed out, decimal |
//! | hash `RowID`, field table id (i64) | the same for hidden row ids |
//! | hash `DDLJobs`, field job id (i64) | waiting and running jobs, JSON (see the `ddl` crate) |
//! | hash `DDLJobHistory`, field job id (i64) | finished jobs, JSON |
//! | hash `DeleteRanges`, field job id (i64) | ranges to destroy once the safe point has passed, JSON |
//! | hash `Stats`, field table id (i64) | statistics, JSON (see the `stats` crate) |
//! | hash `StatsCounts`, field table id (i64) | row count and changes since ANALYZE, JSON |
//! | hash `GlobalVariables`, field name | values of SET GLOBAL in a cluster, JSON; null for the default |
//! | hash `Servers`, field server id (i64) | [`ServerRecord`](crate::ServerRecord), JSON |
//! | value `ServerNumber` | the number that a SQL server got last, decimal |
//! | hash `Questions`, field question id (i64) | what a server asks another, JSON |
//! | hash `Answers`, field question id (i64) | what that one answers, JSON |
//! | value `DDLOwner` | who runs schema changes, until when, JSON (see the `ddl` crate) |
//! | hash `DDLCancels`, field job id (i64) | jobs to be cancelled by their owner |
//! | value `Notices` | [`Notices`](crate::Notices), JSON |

use base::{DatabaseId, TableId};
use codec::{meta, number};

/// Name of the key that marks a store as ours.
pub const BOOTSTRAP: &[u8] = b"Trine:Bootstrap";
/// Name of the global id counter.
pub const NEXT_GLOBAL_ID: &[u8] = b"NextGlobalID";
/// Name of the schema version.
pub const SCHEMA_VERSION: &[u8] = b"SchemaVersionKey";
/// Hash of schema diffs.
pub const DIFFS: &[u8] = b"Diffs";
/// Hash of databases.
pub const DATABASES: &[u8] = b"DBs";
/// Hash of AUTO_INCREMENT counters.
pub const AUTO_ID: &[u8] = b"AutoID";
/// Hash of hidden row id counters.
pub const ROW_ID: &[u8] = b"RowID";
/// Hash of waiting and running DDL jobs.
pub const DDL_JOBS: &[u8] = b"DDLJobs";
/// Hash of finished DDL jobs.
pub const DDL_JOB_HISTORY: &[u8] = b"DDLJobHistory";
/// Hash of ranges to destroy.
pub const DELETE_RANGES: &[u8] = b"DeleteRanges";
/// Hash of table statistics.
pub const STATS: &[u8] = b"Stats";
/// Hash of row counts, which change more often than statistics.
pub const STATS_COUNTS: &[u8] = b"StatsCounts";
/// Hash of global variables.
pub const GLOBAL_VARIABLES: &[u8] = b"GlobalVariables";

/// Hash of the SQL servers of a cluster.
pub const SERVERS: &[u8] = b"Servers";
/// Name of the number that a SQL server got last.
pub const SERVER_NUMBER: &[u8] = b"ServerNumber";
/// Hash of what servers ask each other.
pub const QUESTIONS: &[u8] = b"Questions";
/// Hash of what they answer.
pub const ANSWERS: &[u8] = b"Answers";
/// Name of the lease of the owner of schema changes.
pub const DDL_OWNER: &[u8] = b"DDLOwner";
/// Hash of jobs that somebody wants cancelled.
pub const DDL_CANCELS: &[u8] = b"DDLCancels";
/// Name of the counters of changes that all servers have to hear of.
pub const NOTICES: &[u8] = b"Notices";

/// The name of the hash with a database's tables.
pub fn tables_of(database: DatabaseId) -> Vec<u8> {
    format!("DB:{database}").into_bytes()
}

/// A field that orders as the number does.
pub fn int_field(number: i64) -> Vec<u8> {
    let mut field = Vec::with_capacity(8);
    number::encode_i64(&mut field, number);
    field
}

/// The key of a database.
pub fn database(id: DatabaseId) -> Vec<u8> {
    meta::hash_field_key(DATABASES, format!("DB:{id}").as_bytes())
}

/// The key of a table.
pub fn table(database: DatabaseId, id: TableId) -> Vec<u8> {
    meta::hash_field_key(&tables_of(database), format!("Table:{id}").as_bytes())
}

/// The key of a schema diff.
pub fn diff(version: u64) -> Vec<u8> {
    let mut field = Vec::with_capacity(8);
    number::encode_u64(&mut field, version);
    meta::hash_field_key(DIFFS, &field)
}

/// The key of a number-named field in one of the hashes above.
pub fn numbered(hash: &[u8], number: i64) -> Vec<u8> {
    meta::hash_field_key(hash, &int_field(number))
}
