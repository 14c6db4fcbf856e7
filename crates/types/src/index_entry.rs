//! Index entries: from a row's values to key and value, and back.
//!
//! | | key behind `t{table}_i{index}` | value |
//! |---|---|---|
//! | unique, no NULL among the columns | columns | handle, restored values |
//! | unique with a NULL; non-unique | columns, handle | restored values |
//!
//! So a NULL never collides, and equal values of a non-unique index lie side by side in the order of their handles. The key holds the collation's sort
//! keys; what a covering read needs beyond them is restored from the value:
//!
//! - tables with integer handles (value version 0) restore all columns of the index when one of them needs it;
//! - tables with common handles (version 1) restore the columns that need it, those of the primary key among them; of `_bin` collations
//!   just the number of trailing spaces.
//!
//! The bytes are TiDB's. Descending columns are ours; they exist only in tables created by Trine.

use base::{ColumnId, IndexId, TableId};
use codec::{
    Handle,
    index_value::{IndexValue, encode_index_value},
    number,
    row::{RowBuilder, RowView},
    table,
};

use crate::{
    charset::Charset,
    collation::trim_spaces,
    column::Column,
    datum::DatumRef,
    error::{Error, Result},
    field_type::FieldType,
    value::{decode_key_into, decode_row_value_into, encode_key_datum, encode_row_value, skip_key_datum},
};

/// A column of an index or of a clustered primary key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexColumn {
    /// The table's column.
    pub id: ColumnId,
    /// Its type.
    pub ty: FieldType,
    /// Only so many characters (bytes of byte strings) are indexed.
    pub prefix: Option<u32>,
    /// Sorted from the greatest to the smallest.
    pub desc: bool,
}

impl IndexColumn {
    /// A whole column, ascending.
    pub fn new(id: ColumnId, ty: FieldType) -> Self {
        Self { id, ty, prefix: None, desc: false }
    }

    /// The part of a value that is indexed.
    #[inline]
    pub fn indexed_part<'a>(&self, value: DatumRef<'a>) -> DatumRef<'a> {
        match (self.prefix, value) {
            (Some(chars), DatumRef::Bytes(text)) => {
                let charset = if self.ty.is_text() { self.ty.charset } else { Charset::Binary };
                DatumRef::Bytes(&text[..charset.prefix_len(text, chars as usize)])
            }
            _ => value,
        }
    }

    /// Whether the whole value can be had back from an entry.
    fn is_whole(&self) -> bool {
        self.prefix.is_none()
    }
}

/// What identifies the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum HandleLayout {
    /// An integer: that of the column, or a hidden row id.
    Int {
        /// The clustered primary key; `None` for a hidden row id.
        column: Option<ColumnId>,
    },
    /// The columns of the clustered primary key.
    Common(Vec<IndexColumn>),
}

/// All that is needed to write and read the entries of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexLayout {
    /// The table.
    pub table: TableId,
    /// The index.
    pub index: IndexId,
    /// Its columns in order.
    pub columns: Vec<IndexColumn>,
    /// No two entries without NULL have the same columns.
    pub unique: bool,
    /// What identifies rows.
    pub handle: HandleLayout,
}

/// Where a column of a covering read is found in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoveredColumn {
    /// The nth column of the index.
    Index(usize),
    /// The nth column of the common handle.
    Handle(usize),
    /// The integer handle.
    IntHandle,
}

impl IndexLayout {
    /// Appends the key of the columns' values, in order; values may be fewer than the columns (a prefix for a range). Returns whether a NULL is among them.
    ///
    /// With all columns of a unique index and no NULL this is the whole key of the entry.
    pub fn encode_columns(&self, values: &[DatumRef<'_>], key: &mut Vec<u8>) -> bool {
        table::push_index_prefix(key, self.table, self.index);
        let mut any_null = false;
        for (column, &value) in self.columns.iter().zip(values) {
            any_null |= value.is_null();
            encode_key_datum(key, column.indexed_part(value), &column.ty, column.desc);
        }
        any_null
    }

    /// Appends key and value of the entry of a row. `handle_values` are the values of a common handle's columns (empty for integer handles).
    /// Returns whether the entry must be the only one with its key's columns: unique, no NULL among them.
    pub fn encode_entry(
        &self,
        values: &[DatumRef<'_>],
        handle: &Handle,
        handle_values: &[DatumRef<'_>],
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> bool {
        assert_eq!(values.len(), self.columns.len(), "an entry has a value for every column of its index");
        let any_null = self.encode_columns(values, key);
        let distinct = self.unique && !any_null;
        if !distinct {
            handle.encode_flagged_into(key);
        }
        let common = matches!(self.handle, HandleLayout::Common(_));
        let restored = self.restored_values(values, handle_values);
        encode_index_value(value, distinct.then_some(handle), common, &restored);
        distinct
    }

    /// The row of values a covering read restores; empty when none needs it.
    fn restored_values(&self, values: &[DatumRef<'_>], handle_values: &[DatumRef<'_>]) -> Vec<u8> {
        let any_index_column = self.columns.iter().any(|column| column.ty.needs_restored_value());
        let mut row = RowBuilder::new();
        row.start();
        let HandleLayout::Common(handle_columns) = &self.handle else {
            if !any_index_column {
                return Vec::new();
            }
            for (column, &value) in self.columns.iter().zip(values) {
                push_cell(&mut row, column, column.indexed_part(value));
            }
            return row.finish();
        };
        let mut any = false;
        let of_key = |id: ColumnId| handle_columns.iter().any(|column| column.id == id);
        let own = self.columns.iter().zip(values).filter(|(column, _)| !of_key(column.id));
        for (column, &value) in own.chain(handle_columns.iter().zip(handle_values)) {
            if !column.ty.needs_restored_value() {
                continue;
            }
            any = true;
            match (column.indexed_part(value), column.ty.collation.is_bin()) {
                (DatumRef::Bytes(text), true) => {
                    let spaces = (text.len() - trim_spaces(text).len()) as u64;
                    row.push_with(column.id, |out| number::encode_compact_u64(out, spaces));
                }
                (value, _) => push_cell(&mut row, column, value),
            }
        }
        if any { row.finish() } else { Vec::new() }
    }

    /// Where a covering read finds a column; `None` when the entries do not hold it whole.
    pub fn covers(&self, id: ColumnId) -> Option<CoveredColumn> {
        if let Some(at) = self.columns.iter().position(|column| column.id == id && column.is_whole()) {
            return Some(CoveredColumn::Index(at));
        }
        match &self.handle {
            HandleLayout::Int { column } => (*column == Some(id)).then_some(CoveredColumn::IntHandle),
            HandleLayout::Common(columns) => {
                columns.iter().position(|column| column.id == id && column.is_whole()).map(CoveredColumn::Handle)
            }
        }
    }

    /// The handle of an entry.
    pub fn decode_handle(&self, key: &[u8], value: &[u8]) -> Result<Handle> {
        let (_, _, datums) = table::decode_index_key(key)?;
        let mut rest = datums;
        for column in &self.columns {
            let len = skip_key_datum(rest, column.desc)?;
            rest = &rest[len..];
        }
        self.handle_behind(rest, &IndexValue::parse(value)?)
    }

    fn handle_behind(&self, rest: &[u8], value: &IndexValue<'_>) -> Result<Handle> {
        if rest.is_empty() {
            let missing = codec::Error::Malformed { what: "index entry", problem: "the handle is neither in the key nor in the value" };
            return value.handle.clone().ok_or(missing.into());
        }
        Ok(table::decode_flagged_handle(rest, matches!(self.handle, HandleLayout::Common(_)))?)
    }

    /// Appends the columns of a covering read to `out`, one for each of `wanted`, and returns the handle.
    /// `types` are the types of the columns in `out`. On an error some columns may be longer than others.
    pub fn decode_into(
        &self,
        key: &[u8],
        value: &[u8],
        wanted: &[CoveredColumn],
        types: &[FieldType],
        out: &mut [Column],
    ) -> Result<Handle> {
        let (_, _, datums) = table::decode_index_key(key)?;
        let value = IndexValue::parse(value)?;
        let restored = value.restored.map(RowView::parse).transpose()?;
        let mut starts = smallvec::SmallVec::<[&[u8]; 8]>::new();
        let mut rest = datums;
        for column in &self.columns {
            starts.push(rest);
            rest = &rest[skip_key_datum(rest, column.desc)?..];
        }
        let handle = self.handle_behind(rest, &value)?;
        for ((&from, ty), out) in wanted.iter().zip(types).zip(out) {
            match (from, &self.handle, &handle) {
                (CoveredColumn::Index(at), ..) => {
                    let column = self.columns.get(at).ok_or_else(|| no_such_column(ty))?;
                    decode_column(starts[at], column, restored.as_ref(), value.version, out)?;
                }
                (CoveredColumn::IntHandle, _, Handle::Int(value)) => {
                    out.push_ref(if ty.unsigned { DatumRef::UInt(*value as u64) } else { DatumRef::Int(*value) });
                }
                (CoveredColumn::Handle(at), HandleLayout::Common(columns), Handle::Common(bytes)) => {
                    let column = columns.get(at).ok_or_else(|| no_such_column(ty))?;
                    let mut rest = &bytes[..];
                    for before in &columns[..at] {
                        rest = &rest[skip_key_datum(rest, before.desc)?..];
                    }
                    decode_column(rest, column, restored.as_ref(), value.version, out)?;
                }
                _ => return Err(no_such_column(ty)),
            }
        }
        Ok(handle)
    }
}

fn no_such_column(ty: &FieldType) -> Error {
    Error::DamagedValue { kind: ty.base_name(), problem: "the index entry has another kind of handle than its table" }
}

fn push_cell(row: &mut RowBuilder, column: &IndexColumn, value: DatumRef<'_>) {
    match value {
        DatumRef::Null => row.push_null(column.id),
        value => row.push_with(column.id, |out| encode_row_value(out, value, &column.ty)),
    }
}

/// Appends a column's value from its datum in the key and what was restored.
fn decode_column(datum: &[u8], column: &IndexColumn, restored: Option<&RowView<'_>>, version: u8, out: &mut Column) -> Result<()> {
    if !column.ty.needs_restored_value() {
        return decode_key_into(&mut &datum[..], &column.ty, column.desc, out);
    }
    let cell = restored.map(|row| row.try_get(column.id)).transpose()?.flatten();
    match cell {
        Some(None) => out.push_null(),
        Some(Some(cell)) if version == 1 && column.ty.collation.is_bin() => {
            let spaces = usize::try_from(number::decode_compact_u64(cell)?).unwrap_or(usize::MAX);
            let most = usize::try_from(column.ty.max_bytes()).unwrap_or(usize::MAX);
            if spaces > most {
                return Err(Error::DamagedValue { kind: column.ty.base_name(), problem: "more trailing spaces than the column holds" });
            }
            let value = crate::value::decode_key_datum(&mut &datum[..], &column.ty, column.desc)?;
            let text = value.as_bytes().unwrap_or_default();
            out.push_bytes_with(|data| {
                data.extend_from_slice(text);
                data.resize(data.len() + spaces, b' ');
            });
        }
        Some(Some(cell)) => decode_row_value_into(cell, &column.ty, out)?,
        None => return Err(Error::DamagedValue { kind: column.ty.base_name(), problem: "the index entry lacks the value to restore" }),
    }
    Ok(())
}

/// The handle of a row: the memcomparable datums of the clustered key's columns.
pub fn encode_common_handle(columns: &[IndexColumn], values: &[DatumRef<'_>]) -> Handle {
    let mut out = Vec::with_capacity(columns.len() * 10);
    for (column, &value) in columns.iter().zip(values) {
        encode_key_datum(&mut out, column.indexed_part(value), &column.ty, column.desc);
    }
    Handle::Common(out.into())
}

/// Whether a clustered primary key of one column of this type is stored as an integer handle.
pub fn is_int_handle(ty: &FieldType) -> bool {
    ty.is_integer()
}

/// Whether a clustered key's column must also stand in the row, because its key datum does not give the value back.
pub fn key_column_needs_cell(column: &IndexColumn) -> bool {
    !column.is_whole() || column.ty.needs_restored_value()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{collation::Collation, datum::Datum};

    fn column(id: i64, ty: FieldType) -> IndexColumn {
        IndexColumn::new(ColumnId(id), ty)
    }

    fn layout(unique: bool, common: bool, desc: bool, collation: Collation) -> IndexLayout {
        let mut text = column(2, FieldType::varchar(20).with_collation(collation));
        text.desc = desc;
        let handle = if common {
            HandleLayout::Common(vec![column(3, FieldType::varchar(20)), column(4, FieldType::bigint())])
        } else {
            HandleLayout::Int { column: Some(ColumnId(3)) }
        };
        IndexLayout { table: TableId(7), index: IndexId(1), columns: vec![column(1, FieldType::bigint()), text], unique, handle }
    }

    fn collations() -> impl Strategy<Value = Collation> {
        prop::sample::select(Collation::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn entries_give_back_columns_and_handle(
            unique: bool, common: bool, desc: bool, collation in collations(),
            number in prop::option::of(any::<i64>()), text in prop::option::of("[aAé ]{0,5} {0,2}"), pk in "[aAé ]{0,5}", id: i64,
        ) {
            let layout = layout(unique, common, desc, collation);
            let datum = |value: Option<Datum>| value.unwrap_or(Datum::Null);
            let values = [datum(number.map(Datum::Int)), datum(text.map(Datum::from))];
            let handle_values = [Datum::from(pk), Datum::Int(id)];
            let refs: Vec<DatumRef<'_>> = values.iter().map(Datum::as_ref).collect();
            let handle_refs: Vec<DatumRef<'_>> = handle_values.iter().map(Datum::as_ref).collect();
            let handle = match &layout.handle {
                HandleLayout::Common(columns) => encode_common_handle(columns, &handle_refs),
                HandleLayout::Int { .. } => Handle::Int(id),
            };
            let (mut key, mut value) = (Vec::new(), Vec::new());
            let distinct = layout.encode_entry(&refs, &handle, &handle_refs, &mut key, &mut value);
            prop_assert_eq!(distinct, unique && !values.iter().any(Datum::is_null));
            prop_assert_eq!(layout.decode_handle(&key, &value), Ok(handle.clone()));
            let mut wanted = vec![layout.covers(ColumnId(2)).expect("indexed"), layout.covers(ColumnId(1)).expect("indexed"), layout.covers(ColumnId(3)).expect("in the handle")];
            let mut types = vec![layout.columns[1].ty.clone(), FieldType::bigint(), if common { FieldType::varchar(20) } else { FieldType::bigint() }];
            if common {
                wanted.push(layout.covers(ColumnId(4)).expect("in the handle"));
                types.push(FieldType::bigint());
            }
            let mut columns: Vec<Column> = types.iter().map(|ty| Column::for_type(ty, 1)).collect();
            prop_assert_eq!(layout.decode_into(&key, &value, &wanted, &types, &mut columns), Ok(handle));
            prop_assert_eq!(columns[0].datum(0), values[1].clone());
            prop_assert_eq!(columns[1].datum(0), values[0].clone());
            prop_assert_eq!(columns[2].datum(0), if common { handle_values[0].clone() } else { Datum::Int(id) });
        }

        #[test]
        fn any_bytes_are_read_without_panic(tail: Vec<u8>, value: Vec<u8>, common: bool, desc: bool) {
            let layout = layout(true, common, desc, Collation::Utf8mb4Bin);
            let mut key = table::index_prefix(layout.table, layout.index);
            key.extend_from_slice(&tail);
            let mut columns = vec![Column::for_type(&layout.columns[1].ty, 1)];
            let types = [layout.columns[1].ty.clone()];
            let _ = layout.decode_handle(&key, &value);
            let _ = layout.decode_into(&key, &value, &[CoveredColumn::Index(1)], &types, &mut columns);
        }
    }

    #[test]
    fn nulls_and_handles_keep_entries_apart() {
        let layout = layout(true, false, false, Collation::Binary);
        let key = |number: Datum, handle: i64| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            layout.encode_entry(&[number.as_ref(), DatumRef::Bytes(b"x")], &Handle::Int(handle), &[], &mut key, &mut value);
            key
        };
        assert_ne!(key(Datum::Null, 1), key(Datum::Null, 2));
        assert_eq!(key(Datum::Int(5), 1), key(Datum::Int(5), 2));
    }

    #[test]
    fn known_values_of_the_format() {
        let plain = IndexLayout { columns: vec![column(1, FieldType::bigint())], ..layout(true, false, false, Collation::Binary) };
        let value = |layout: &IndexLayout| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            layout.encode_entry(&[DatumRef::Int(5)], &Handle::Int(9), &[], &mut key, &mut value);
            value
        };
        assert_eq!(value(&plain), [0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(value(&IndexLayout { unique: false, ..plain }), b"0");
    }

    #[test]
    fn a_prefix_is_not_covering() {
        let mut layout = layout(false, false, false, Collation::Utf8mb4_0900AiCi);
        layout.columns[1].prefix = Some(2);
        assert_eq!((layout.covers(ColumnId(2)), layout.covers(ColumnId(9))), (None, None));
        assert_eq!(layout.columns[1].indexed_part(DatumRef::Bytes("éàb".as_bytes())), DatumRef::Bytes("éà".as_bytes()));
    }
}
