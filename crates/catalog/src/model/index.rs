//! Indexes.

use base::IndexId;
use serde::{Deserialize, Serialize};

use super::SchemaState;

/// One part of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexColumn {
    /// Position of the column in [`TableInfo::columns`](super::TableInfo::columns).
    pub offset: usize,
    /// Only this many leading characters (bytes for binary strings) are indexed; `None` = the whole value.
    pub prefix_len: Option<u32>,
    /// Stored in descending order.
    pub desc: bool,
}

/// A secondary index, or the clustered primary key when that is not a single integer column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexInfo {
    /// Unique in the table, never reused.
    pub id: IndexId,
    /// As written; `PRIMARY` for the primary key.
    pub name: String,
    /// The key parts in order.
    pub columns: Vec<IndexColumn>,
    /// Equal keys without NULL parts are refused (1062).
    pub unique: bool,
    /// The clustered primary key: it has no entries of its own, the row key is its key.
    pub primary: bool,
    /// How far the index has got.
    pub state: SchemaState,
    /// Maintained, but not considered by the planner.
    pub invisible: bool,
    /// The COMMENT clause.
    pub comment: String,
}

impl IndexInfo {
    /// Whether entries of this index exist as keys of their own (false for the clustered primary key).
    pub fn has_entries(&self) -> bool {
        !self.primary
    }

    /// Whether some part holds only a prefix of its column.
    pub fn has_prefix(&self) -> bool {
        self.columns.iter().any(|column| column.prefix_len.is_some())
    }
}
