//! Duplicate keys that the store reports when a transaction commits: which index and which values.

use catalog::{InfoSchema, TableInfo};
use codec::index_value::IndexValue;
use codec::table::{decode_index_key, decode_record_key, decode_table_id};
use copr::HandleKind;
use types::Chunk;

use crate::Error;
use crate::layout::{all_columns, datum_text, handle_kind, index_codec, key_name};

/// MySQL's error for a key that exists: `Duplicate entry '1' for key 't.PRIMARY'`.
///
/// `value` is what was to be written under the key: it gives back the values of strings, of which the key has only the sort keys. A key that
/// cannot be understood (its table is gone) is shown in hexadecimal digits.
pub fn duplicate_entry(schema: &InfoSchema, key: &[u8], value: Option<&[u8]>) -> Error {
    let described = decode_table_id(key).ok().and_then(|id| schema.table_by_id(id)).and_then(|table| describe(&table, key, value));
    described.unwrap_or_else(|| {
        let digits = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Error::DuplicateEntry { entry: digits, key: "unknown".to_owned() }
    })
}

fn describe(table: &TableInfo, key: &[u8], value: Option<&[u8]>) -> Option<Error> {
    if decode_record_key(key).is_ok() {
        return Some(Error::DuplicateEntry { entry: row_text(table, key, value)?, key: key_name(table, "PRIMARY") });
    }
    let (_, index, _) = decode_index_key(key).ok()?;
    let index = table.index_by_id(index)?;
    let codec = index_codec(table, index);
    // A plain index value is enough where the key alone tells everything.
    let value = value.filter(|value| IndexValue::parse(value).is_ok()).unwrap_or(&[0; 8]);
    let (_, values) = codec.decode(key, value).ok()?;
    let texts = values.iter().zip(&codec.parts).map(|(value, part)| datum_text(value.as_ref(), &part.ty)).collect::<Vec<_>>();
    Some(Error::DuplicateEntry { entry: texts.join("-"), key: key_name(table, &index.name) })
}

/// The primary key's values of an existing row.
fn row_text(table: &TableInfo, key: &[u8], value: Option<&[u8]>) -> Option<String> {
    let (_, handle) = decode_record_key(key).ok()?;
    let kind = handle_kind(table);
    let HandleKind::Common { .. } = kind else { return Some(crate::layout::handle_text(table, &handle)) };
    let Some(value) = value else { return Some(crate::layout::handle_text(table, &handle)) };
    let primary = table.primary_key_columns();
    let columns = all_columns(table);
    let columns = primary.iter().map(|offset| columns[*offset].clone()).collect::<Vec<_>>();
    let types = columns.iter().map(|column| column.ty.clone()).collect::<Vec<_>>();
    let mut chunk = Chunk::new(&types, 1);
    copr::decode::EntryDecoder::of_rows(table.id, &columns, &kind).decode(&columns, key, value, &mut chunk).ok()?;
    chunk.set_rows(1);
    let texts = types.iter().enumerate().map(|(at, ty)| datum_text(chunk.row(0).get(at), ty)).collect::<Vec<_>>();
    Some(texts.join("-"))
}
