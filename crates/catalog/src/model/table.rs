//! Tables.

use base::{ColumnId, DatabaseId, IndexId, TableId, TimeStamp};
use serde::{Deserialize, Serialize};
use types::{Charset, Collation};

use super::{CheckInfo, ColumnInfo, ForeignKeyInfo, IndexInfo, SchemaState};
use crate::name::eq_ignore_case;

/// Where a table's rows come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableKind {
    /// Stored under the table's own keys.
    #[default]
    Base,
    /// Computed on every read (`information_schema`, `performance_schema`).
    Virtual,
}

/// What the row key is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrimaryKey {
    /// The clustered primary key is one integer column whose values fit an `i64`: the row key holds it directly.
    IntHandle {
        /// Position of the column.
        column: usize,
    },
    /// The clustered primary key is of any other shape: the row key holds the memcomparable columns of `indexes[index]`.
    Common {
        /// Position in [`TableInfo::indexes`].
        index: usize,
    },
    /// No primary key: the row key holds a number nobody sees.
    HiddenRowId,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableInfo {
    /// The `t{id}` of the table's keys.
    pub id: TableId,
    /// As written; looked up case-insensitively.
    pub name: String,
    /// The database the table is in.
    pub database_id: DatabaseId,
    /// That database's name as written.
    pub database: String,
    /// All columns; public ones first, `columns[i].offset == i`.
    pub columns: Vec<ColumnInfo>,
    /// All indexes in order of creation.
    pub indexes: Vec<IndexInfo>,
    /// What the row key is made of.
    pub pk: PrimaryKey,
    /// CHECK constraints in the order of their names.
    #[serde(default)]
    pub checks: Vec<CheckInfo>,
    /// Foreign keys of this table's columns in the order of their names.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKeyInfo>,
    /// Default character set of new columns.
    pub charset: Charset,
    /// Default collation of new columns.
    pub collation: Collation,
    /// The COMMENT clause.
    pub comment: String,
    /// The ROW_FORMAT, ENGINE … options are accepted and have no effect; this is the engine name that was asked for.
    pub engine: String,
    /// `AUTO_INCREMENT=` of CREATE TABLE: the first value to hand out (0 = not given). The running value lives with the allocator.
    pub auto_increment_start: u64,
    /// Public, or on its way in or out.
    pub state: SchemaState,
    /// Stored or computed.
    pub kind: TableKind,
    /// The next column id to give out.
    pub next_column_id: i64,
    /// The next index id to give out.
    pub next_index_id: i64,
    /// The schema version that last changed this table.
    pub update_version: u64,
    /// Start timestamp of the transaction that last changed this table: older snapshots must not use this definition.
    pub update_ts: TimeStamp,
    /// Milliseconds since the epoch at which the table was created.
    pub created_ms: u64,
}

impl TableInfo {
    /// An empty public table; columns and indexes are pushed by the builder.
    pub fn new(id: TableId, database_id: DatabaseId, database: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            database_id,
            database: database.into(),
            columns: Vec::new(),
            indexes: Vec::new(),
            pk: PrimaryKey::HiddenRowId,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            charset: Charset::Utf8mb4,
            collation: Collation::Utf8mb4_0900AiCi,
            comment: String::new(),
            engine: "InnoDB".to_owned(),
            auto_increment_start: 0,
            state: SchemaState::Public,
            kind: TableKind::Base,
            next_column_id: 1,
            next_index_id: 1,
            update_version: 0,
            update_ts: TimeStamp::ZERO,
            created_ms: 0,
        }
    }

    /// Takes the next column id.
    pub fn take_column_id(&mut self) -> ColumnId {
        let id = ColumnId(self.next_column_id);
        self.next_column_id += 1;
        id
    }

    /// Takes the next index id.
    pub fn take_index_id(&mut self) -> IndexId {
        let id = IndexId(self.next_index_id);
        self.next_index_id += 1;
        id
    }

    /// The columns readers see, in order. They are a prefix of `columns`.
    pub fn public_columns(&self) -> &[ColumnInfo] {
        let count = self.columns.iter().take_while(|column| column.state.is_public()).count();
        &self.columns[..count]
    }

    /// The indexes readers may use, with their position in `indexes`.
    pub fn public_indexes(&self) -> impl Iterator<Item = (usize, &IndexInfo)> {
        self.indexes.iter().enumerate().filter(|(_, index)| index.state.is_public())
    }

    /// A public column by name, case-insensitively.
    pub fn column(&self, name: &str) -> Option<&ColumnInfo> {
        self.public_columns().iter().find(|column| eq_ignore_case(&column.name, name))
    }

    /// A column in any state by id.
    pub fn column_by_id(&self, id: ColumnId) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// An index in any state by name, case-insensitively. While one replaces another of the same name, the public one.
    pub fn index(&self, name: &str) -> Option<&IndexInfo> {
        let mut named = self.indexes.iter().filter(|index| eq_ignore_case(&index.name, name));
        let first = named.next()?;
        if first.state.is_public() { Some(first) } else { Some(named.find(|index| index.state.is_public()).unwrap_or(first)) }
    }

    /// An index in any state by id.
    pub fn index_by_id(&self, id: IndexId) -> Option<&IndexInfo> {
        self.indexes.iter().find(|index| index.id == id)
    }

    /// Whether a snapshot at `ts` may use this definition. An older one might miss what the definition promises, such as the entries of
    /// an index that was filled since: MySQL's error 1412.
    pub fn is_readable_at(&self, ts: TimeStamp) -> bool {
        ts >= self.update_ts
    }

    /// Whether the table has a PRIMARY KEY of any shape.
    pub fn has_primary_key(&self) -> bool {
        self.pk != PrimaryKey::HiddenRowId
    }

    /// Positions of the primary key's columns in key order; empty without a primary key.
    pub fn primary_key_columns(&self) -> Vec<usize> {
        match self.pk {
            PrimaryKey::IntHandle { column } => vec![column],
            PrimaryKey::Common { index } => self.indexes[index].columns.iter().map(|column| column.offset).collect(),
            PrimaryKey::HiddenRowId => Vec::new(),
        }
    }

    /// The AUTO_INCREMENT column, if there is one.
    pub fn auto_increment_column(&self) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.auto_increment)
    }

    /// A CHECK constraint in any state by name, case-insensitively.
    pub fn check(&self, name: &str) -> Option<&CheckInfo> {
        self.checks.iter().find(|check| eq_ignore_case(&check.name, name))
    }

    /// A foreign key in any state by name, case-insensitively.
    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKeyInfo> {
        self.foreign_keys.iter().find(|key| eq_ignore_case(&key.name, name))
    }

    /// The name of a public unique key whose columns are exactly these, in whatever order.
    pub fn unique_key_over(&self, columns: &[String]) -> Option<&str> {
        let is_over = |offsets: &[usize]| {
            offsets.len() == columns.len()
                && offsets.iter().all(|offset| columns.iter().any(|name| eq_ignore_case(name, &self.columns[*offset].name)))
        };
        if is_over(&self.primary_key_columns()) && !columns.is_empty() {
            return Some("PRIMARY");
        }
        let unique = self.public_indexes().map(|(_, index)| index).filter(|index| index.unique && !index.has_prefix());
        unique
            .into_iter()
            .find(|index| is_over(&index.columns.iter().map(|part| part.offset).collect::<Vec<_>>()))
            .map(|index| index.name.as_str())
    }

    /// Puts constraints in the order of their names, in which they are tried and shown.
    pub fn sort_constraints(&mut self) {
        self.checks.sort_by_cached_key(|check| check.name.to_lowercase());
        self.foreign_keys.sort_by_cached_key(|key| key.name.to_lowercase());
    }

    /// Whether every change of a row must be looked at before it is made: some unique index other than the row key exists.
    pub fn has_unique_index(&self) -> bool {
        self.indexes.iter().any(|index| index.unique && index.has_entries())
    }

    /// Puts public columns first (keeping their order), renumbers offsets and re-points indexes and primary key.
    pub fn normalize_columns(&mut self) {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|&i| !self.columns[i].state.is_public());
        self.reorder_columns(&order);
    }

    /// Rearranges the columns so that `order[new] == old`, and re-points everything that refers to them.
    ///
    /// Columns left out of `order` are removed; no index may refer to them.
    pub fn reorder_columns(&mut self, order: &[usize]) {
        let mut moved_to = vec![usize::MAX; self.columns.len()];
        for (new, &old) in order.iter().enumerate() {
            moved_to[old] = new;
        }
        let target = |old: usize| {
            assert!(moved_to[old] != usize::MAX, "column at offset {old} is removed while an index refers to it");
            moved_to[old]
        };
        for index in &mut self.indexes {
            for part in &mut index.columns {
                part.offset = target(part.offset);
            }
        }
        if let PrimaryKey::IntHandle { column } = &mut self.pk {
            *column = target(*column);
        }
        let mut old: Vec<Option<ColumnInfo>> = std::mem::take(&mut self.columns).into_iter().map(Some).collect();
        self.columns = order.iter().filter_map(|&i| old[i].take()).collect();
        for (offset, column) in self.columns.iter_mut().enumerate() {
            column.offset = offset;
        }
    }
}
