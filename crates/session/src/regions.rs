//! Regions of tables: what keys belong to, and SHOW TABLE … REGIONS.

use base::KeyRange;
use catalog::{IndexInfo, InfoSchema, TableInfo, TableKind};
use codec::table::{decode_index_key, decode_record_key, decode_table_id, index_prefix, record_prefix};
use parser::ast::TableName;
use rustc_hash::FxHashSet;
use types::{
    Datum, FieldType,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    result::{ResultRows, StatementResult, text},
    session::Session,
};

/// The keys of a table's rows, or of one of its indexes.
pub(crate) struct TablePart<'a> {
    pub table: &'a TableInfo,
    /// `None` for the rows.
    pub index: Option<&'a IndexInfo>,
    pub range: KeyRange,
}

/// All keys of a table, part by part.
pub(crate) fn parts_of(table: &TableInfo) -> impl Iterator<Item = TablePart<'_>> {
    let rows = TablePart { table, index: None, range: KeyRange::prefix(&record_prefix(table.id)) };
    let indexes = table.indexes.iter().filter(|index| index.has_entries());
    let indexes = indexes.map(|index| TablePart { table, index: Some(index), range: KeyRange::prefix(&index_prefix(table.id, index.id)) });
    indexes.chain([rows])
}

/// The parts of all stored tables, in the order of their keys.
pub(crate) fn all_parts(schema: &InfoSchema) -> Vec<TablePart<'_>> {
    let tables = schema.all_tables().filter(|table| table.kind != TableKind::Virtual);
    let mut parts: Vec<TablePart<'_>> = tables.flat_map(|table| parts_of(table)).collect();
    parts.sort_by(|a, b| a.range.start.cmp(&b.range.start));
    parts
}

/// Those of the parts (in the order of their keys) that have keys in a range.
pub(crate) fn parts_in<'a, 'b>(parts: &'b [TablePart<'a>], range: &KeyRange) -> &'b [TablePart<'a>] {
    let first = parts.partition_point(|part| part.range.end <= range.start);
    let behind = if range.end.is_empty() { parts.len() } else { parts.partition_point(|part| part.range.start < range.end) };
    parts.get(first..behind).unwrap_or_default()
}

/// A key as the reference system writes it: `t_75_r_1`, `t_75_i_1_…`; in hexadecimal where it is of nothing that has a name.
pub(crate) fn key_name(key: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if let Ok((table, handle)) = decode_record_key(key) {
        return match handle.as_int() {
            Some(handle) => format!("t_{table}_r_{handle}"),
            None => format!("t_{table}_r_{}", hex(&key[record_prefix(table).len()..])),
        };
    }
    if let Ok((table, index, values)) = decode_index_key(key) {
        return if values.is_empty() { format!("t_{table}_i_{index}_") } else { format!("t_{table}_i_{index}_{}", hex(values)) };
    }
    match decode_table_id(key) {
        Ok(table) if key == record_prefix(table) => format!("t_{table}_r"),
        Ok(table) if key == codec::table::table_prefix(table) => format!("t_{table}_"),
        _ => hex(key),
    }
}

/// What a key is of, as JSON; nothing when it is of no table.
pub(crate) fn key_info(schema: &InfoSchema, key: &[u8]) -> Option<String> {
    let table_id = decode_table_id(key).ok()?;
    let mut info = serde_json::Map::new();
    info.insert("table_id".to_owned(), table_id.0.into());
    if let Some(table) = schema.table_ref(table_id) {
        info.insert("db_name".to_owned(), table.database.as_str().into());
        info.insert("table_name".to_owned(), table.name.as_str().into());
        if let Ok((_, index_id, _)) = decode_index_key(key)
            && let Some(index) = table.indexes.iter().find(|index| index.id == index_id)
        {
            info.insert("index_id".to_owned(), index_id.0.into());
            info.insert("index_name".to_owned(), index.name.as_str().into());
        }
    }
    if let Ok((_, handle)) = decode_record_key(key) {
        let (kind, value) = match handle.as_int() {
            Some(handle) => ("int", handle.to_string()),
            None => ("common", key[record_prefix(table_id).len()..].iter().map(|byte| format!("{byte:02x}")).collect()),
        };
        info.insert("handle_type".to_owned(), kind.into());
        info.insert("handle_value".to_owned(), value.into());
    }
    Some(serde_json::Value::Object(info).to_string())
}

/// The keys of a table, or of one of its indexes.
fn keys_of(table: &TableInfo, index: Option<&str>) -> Result<Vec<KeyRange>, Error> {
    let Some(name) = index else { return Ok(parts_of(table).map(|part| part.range).collect()) };
    let unknown = || MysqlError::new(mysql_error::ER_KEY_DOES_NOT_EXITS, format!("Key '{name}' doesn't exist in table '{}'", table.name));
    let index = table.index(name).ok_or_else(unknown)?;
    Ok(vec![if index.has_entries() {
        KeyRange::prefix(&index_prefix(table.id, index.id))
    } else {
        // The rows are the clustered index.
        KeyRange::prefix(&record_prefix(table.id))
    }])
}

impl Session {
    /// A table of the current schema, by the name in a statement.
    pub(crate) fn table_info(&self, name: &TableName) -> Result<std::sync::Arc<TableInfo>, Error> {
        let (database, table) = self.existing_table(name)?;
        let schema = self.domain.catalog().current();
        schema.table(&database, &table).ok_or_else(|| catalog::Error::NoSuchTable { database, table }.into())
    }

    /// SHOW TABLE … REGIONS.
    pub(crate) async fn show_regions(&self, name: &TableName, index: Option<&str>) -> Result<StatementResult, Error> {
        let table = self.table_info(name)?;
        let (mut regions, mut known) = (Vec::new(), FxHashSet::default());
        for range in keys_of(&table, index)? {
            // Two parts may have keys in one region.
            let found = self.domain.client().region_pages(&range).await?;
            regions.extend(found.into_iter().filter(|region| known.insert(region.id)));
        }
        let mut rows = Vec::new();
        for region in regions {
            let range = region.range()?;
            let peers = region.peers.iter().map(|peer| peer.id.to_string()).collect::<Vec<_>>().join(", ");
            let (leader, leader_store) = region.leader.as_ref().map_or((0, 0), |leader| (leader.id, leader.store_id));
            let number = |number: u64| Datum::Int(i64::try_from(number).unwrap_or(i64::MAX));
            rows.push(vec![
                number(region.id),
                text(key_name(&range.start)),
                text(key_name(&range.end)),
                number(leader),
                number(leader_store),
                text(peers),
                Datum::Int(0),
                number(region.written_bytes),
                number(region.read_bytes),
                number(region.approximate_size),
                number(region.approximate_keys),
            ]);
        }
        let number = |name| (name, FieldType::bigint());
        let columns = [
            number("REGION_ID"),
            ("START_KEY", FieldType::varchar(256)),
            ("END_KEY", FieldType::varchar(256)),
            number("LEADER_ID"),
            number("LEADER_STORE_ID"),
            ("PEERS", FieldType::varchar(256)),
            number("SCATTERING"),
            number("WRITTEN_BYTES"),
            number("READ_BYTES"),
            number("APPROXIMATE_SIZE(MB)"),
            number("APPROXIMATE_KEYS"),
        ];
        Ok(StatementResult::Rows(ResultRows::table(&columns, rows)))
    }
}

#[cfg(test)]
mod tests {
    use base::{IndexId, TableId};
    use codec::table::{Handle, record_key, table_prefix};

    use super::*;

    #[test]
    fn keys_are_named_by_what_they_belong_to() {
        let table = TableId(75);
        assert_eq!(key_name(&record_key(table, &Handle::Int(-3))), "t_75_r_-3");
        assert_eq!(key_name(&record_prefix(table)), "t_75_r");
        assert_eq!(key_name(&table_prefix(table)), "t_75_");
        assert_eq!(key_name(&index_prefix(table, IndexId(2))), "t_75_i_2_");
        assert_eq!((key_name(b""), key_name(b"mx")), (String::new(), "6d78".to_owned()));
    }
}
