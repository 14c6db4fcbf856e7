//! One foreign key between two tables, in terms of their columns, and where its rows are found.

use std::sync::Arc;

use base::KeyRange;
use bytes::Bytes;
use catalog::{ForeignKeyInfo, InfoSchema, PrimaryKey, TableInfo, name::eq_ignore_case, show_create};
use codec::Handle;
use codec::table::{index_prefix, record_key, record_prefix};
use copr::index_entry::IndexCodec;
use copr::record::common_handle;
use copr::{HandleKind, KeyPart};
use types::DatumRef;
use types::value::encode_key_datum;

use crate::layout::{handle_kind, index_codec};
use crate::{Error, Result};

/// A foreign key with its two tables.
pub(super) struct Reference {
    /// Its definition.
    pub key: ForeignKeyInfo,
    /// The table whose rows refer.
    pub child: Arc<TableInfo>,
    /// The table they refer to; none where there is no such table, or it lacks the columns.
    pub parent: Option<Arc<TableInfo>>,
    /// Positions of the referring columns in the child.
    child_columns: Vec<usize>,
    /// Positions of the columns referred to in the parent.
    parent_columns: Vec<usize>,
}

/// Where the rows of a table with a given key are found.
pub(super) enum Path {
    /// The key is the row's handle.
    Row,
    /// The key is that of a unique entry.
    Unique(Box<IndexCodec>),
    /// The key is the beginning of the row's common handle.
    RowPrefix(Vec<KeyPart>),
    /// The key is the beginning of the key of an index.
    IndexPrefix(Box<IndexCodec>),
    /// Nowhere in particular: all rows are read. Only while the index of a new foreign key is being built.
    Table,
}

impl Reference {
    /// A key of `table`'s own.
    pub(super) fn to_parent(table: &Arc<TableInfo>, key: &ForeignKeyInfo, schema: &InfoSchema) -> Self {
        let itself = eq_ignore_case(&key.parent_database, &table.database) && eq_ignore_case(&key.parent_table, &table.name);
        let parent = if itself { Some(table.clone()) } else { schema.table(&key.parent_database, &key.parent_table) };
        let columns = parent.as_ref().map(|parent| parent_offsets(parent, key)).unwrap_or_default();
        let parent = parent.filter(|_| columns.len() == key.columns.len());
        Self { child_columns: child_offsets(table, key), parent_columns: columns, key: key.clone(), child: table.clone(), parent }
    }

    /// A key of `child` that leads to `parent`.
    pub(super) fn new(child: &Arc<TableInfo>, key: &ForeignKeyInfo, parent: &Arc<TableInfo>) -> Self {
        Self {
            child_columns: child_offsets(child, key),
            parent_columns: parent_offsets(parent, key),
            key: key.clone(),
            child: child.clone(),
            parent: Some(parent.clone()),
        }
    }

    /// Whether rows of the table refer to rows of the same table.
    pub(super) fn is_to_itself(&self) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.id == self.child.id)
    }

    /// The values of the referring columns of a row.
    pub(super) fn child_key<'r>(&self, row: &[DatumRef<'r>]) -> Vec<DatumRef<'r>> {
        self.child_columns.iter().map(|offset| row[*offset]).collect()
    }

    /// The values of the columns that are referred to.
    pub(super) fn parent_key<'r>(&self, row: &[DatumRef<'r>]) -> Vec<DatumRef<'r>> {
        self.parent_columns.iter().map(|offset| row[*offset]).collect()
    }

    /// Positions of the referring columns in the child.
    pub(super) fn child_columns(&self) -> &[usize] {
        &self.child_columns
    }

    /// Positions of the columns referred to in a parent.
    pub(super) fn parent_columns(&self) -> &[usize] {
        &self.parent_columns
    }

    /// Whether a row's values are a key, under the collations of the columns.
    pub(super) fn is_key(table: &TableInfo, columns: &[usize], row: &[DatumRef<'_>], key: &[DatumRef<'_>]) -> bool {
        let equal = |(offset, value): (&usize, &DatumRef<'_>)| {
            let (have, collation) = (row[*offset], table.columns[*offset].ty.collation);
            have != DatumRef::Null && have.compare(*value, collation) == std::cmp::Ordering::Equal
        };
        columns.iter().zip(key).all(equal)
    }

    /// Error 1452: there is nothing to refer to.
    pub(super) fn no_parent(&self) -> Error {
        Error::NoParent { key: self.text() }
    }

    /// Error 1451: a row that is referred to would go.
    pub(super) fn referenced(&self) -> Error {
        Error::ParentReferenced { key: self.text() }
    }

    fn text(&self) -> String {
        let name = |name: &str| show_create::quote_name(name);
        let clause = show_create::foreign_key_clause(&self.child, &self.key);
        format!("{}.{}, {clause}", name(&self.child.database), name(&self.child.name))
    }
}

fn child_offsets(child: &TableInfo, key: &ForeignKeyInfo) -> Vec<usize> {
    key.columns.iter().filter_map(|id| child.column_by_id(*id)).map(|column| column.offset).collect()
}

fn parent_offsets(parent: &TableInfo, key: &ForeignKeyInfo) -> Vec<usize> {
    key.parent_columns.iter().filter_map(|name| parent.column(name)).map(|column| column.offset).collect()
}

impl Path {
    /// Where rows are found by their values of `columns`.
    pub(super) fn to(table: &TableInfo, columns: &[usize]) -> Self {
        let leads = |parts: &[catalog::IndexColumn]| {
            parts.len() >= columns.len()
                && parts.iter().zip(columns).all(|(part, column)| part.offset == *column && part.prefix_len.is_none())
        };
        let usable = |index: &&catalog::IndexInfo| index.state.is_public() && index.has_entries() && leads(&index.columns);
        match table.pk {
            PrimaryKey::IntHandle { column } if columns == [column] => return Self::Row,
            PrimaryKey::Common { index } if leads(&table.indexes[index].columns) => {
                let HandleKind::Common { mut parts } = handle_kind(table) else { unreachable!("a common handle has parts") };
                if parts.len() == columns.len() {
                    return Self::Row;
                }
                parts.truncate(columns.len());
                return Self::RowPrefix(parts);
            }
            _ => {}
        }
        let whole = table.indexes.iter().find(|index| usable(index) && index.unique && index.columns.len() == columns.len());
        if let Some(index) = whole {
            return Self::Unique(Box::new(index_codec(table, index)));
        }
        match table.indexes.iter().find(usable) {
            Some(index) => Self::IndexPrefix(Box::new(index_codec(table, index))),
            None => Self::Table,
        }
    }

    /// The one key of a row or entry with these values, where there can only be one. No value is NULL.
    pub(super) fn key(&self, table: &TableInfo, values: &[DatumRef<'_>]) -> Result<Option<Bytes>> {
        Ok(match self {
            Self::Row => Some(record_key(table.id, &handle_of(table, values)?).into()),
            Self::Unique(codec) => {
                let mut key = Vec::new();
                codec.encode_unique_key(values, &mut key)?.map(|()| key.into())
            }
            Self::RowPrefix(_) | Self::IndexPrefix(_) | Self::Table => None,
        })
    }

    /// All keys of rows or entries with these values, of which none is NULL; of all rows where nothing leads to them.
    pub(super) fn range(&self, table: &TableInfo, values: &[DatumRef<'_>]) -> Result<KeyRange> {
        let beginning = |mut key: Vec<u8>, parts: &[KeyPart]| {
            for (part, value) in parts.iter().zip(values) {
                encode_key_datum(&mut key, *value, &part.ty, part.desc);
            }
            KeyRange::prefix(&key)
        };
        Ok(match self {
            Self::Row => {
                let key = record_key(table.id, &handle_of(table, values)?);
                let end = [&key[..], b"\0"].concat();
                KeyRange::new(key, end)
            }
            Self::RowPrefix(parts) => beginning(record_prefix(table.id), parts),
            Self::Unique(codec) | Self::IndexPrefix(codec) => beginning(index_prefix(table.id, codec.index), &codec.parts),
            Self::Table => KeyRange::prefix(&record_prefix(table.id)),
        })
    }

    /// The handle that a row's key or an entry leads to.
    pub(super) fn handle(&self, key: &[u8], value: &[u8]) -> Result<Handle> {
        Ok(match self {
            Self::Unique(codec) | Self::IndexPrefix(codec) => codec.decode_handle(key, value)?,
            Self::Row | Self::RowPrefix(_) | Self::Table => codec::table::decode_record_key(key)?.1,
        })
    }
}

/// The handle of a row whose primary key has these values.
fn handle_of(table: &TableInfo, values: &[DatumRef<'_>]) -> Result<Handle> {
    match (handle_kind(table), values) {
        (HandleKind::IntColumn { .. }, [DatumRef::Int(value)]) => Ok(Handle::Int(*value)),
        (HandleKind::IntColumn { .. }, [DatumRef::UInt(value)]) => Ok(Handle::Int(*value as i64)),
        (HandleKind::Common { parts }, values) => Ok(common_handle(&parts, values)?),
        _ => Err(Error::InvalidPlan("a foreign key leads to an integer primary key with another value")),
    }
}
