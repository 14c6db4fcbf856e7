//! SCHEMATA, TABLES, VIEWS, PARTITIONS.

use types::{Datum, Time, TimeKind};

use super::{
    VirtualContext,
    definition::{Type, Type::*, VirtualTable, count, text},
};
use crate::model::{TableInfo, TableKind};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        database: "information_schema",
        name: "SCHEMATA",
        columns: &[
            ("CATALOG_NAME", Name(64)),
            ("SCHEMA_NAME", Name(64)),
            ("DEFAULT_CHARACTER_SET_NAME", Name(64)),
            ("DEFAULT_COLLATION_NAME", Name(64)),
            ("SQL_PATH", Nullable(&Char(1))),
            ("DEFAULT_ENCRYPTION", Enum(&["NO", "YES"])),
        ],
        rows: Some(schemata),
    },
    VirtualTable { database: "information_schema", name: "TABLES", columns: TABLE_COLUMNS, rows: Some(tables) },
    VirtualTable {
        database: "information_schema",
        name: "VIEWS",
        columns: &[
            ("TABLE_CATALOG", Name(64)),
            ("TABLE_SCHEMA", Name(64)),
            ("TABLE_NAME", Name(64)),
            ("VIEW_DEFINITION", Nullable(&LongText)),
            ("CHECK_OPTION", Nullable(&Enum(&["NONE", "LOCAL", "CASCADED"]))),
            ("IS_UPDATABLE", Nullable(&Enum(&["NO", "YES"]))),
            ("DEFINER", Nullable(&Text(288))),
            ("SECURITY_TYPE", Nullable(&Name(7))),
            ("CHARACTER_SET_CLIENT", Name(64)),
            ("COLLATION_CONNECTION", Name(64)),
        ],
        rows: None,
    },
    VirtualTable {
        database: "information_schema",
        name: "PARTITIONS",
        columns: &[
            ("TABLE_CATALOG", Name(64)),
            ("TABLE_SCHEMA", Name(64)),
            ("TABLE_NAME", Name(64)),
            ("PARTITION_NAME", Nullable(&Name(64))),
            ("SUBPARTITION_NAME", Nullable(&Name(64))),
            ("PARTITION_ORDINAL_POSITION", Nullable(&Unsigned)),
            ("SUBPARTITION_ORDINAL_POSITION", Nullable(&Unsigned)),
            ("PARTITION_METHOD", Nullable(&Name(13))),
            ("SUBPARTITION_METHOD", Nullable(&Name(13))),
            ("PARTITION_EXPRESSION", Nullable(&Text(2048))),
            ("SUBPARTITION_EXPRESSION", Nullable(&Text(2048))),
            ("PARTITION_DESCRIPTION", Nullable(&LongText)),
            ("TABLE_ROWS", Nullable(&Unsigned)),
            ("AVG_ROW_LENGTH", Nullable(&Unsigned)),
            ("DATA_LENGTH", Nullable(&Unsigned)),
            ("MAX_DATA_LENGTH", Nullable(&Unsigned)),
            ("INDEX_LENGTH", Nullable(&Unsigned)),
            ("DATA_FREE", Nullable(&Unsigned)),
            ("CREATE_TIME", Nullable(&Timestamp)),
            ("UPDATE_TIME", Nullable(&DateTime)),
            ("CHECK_TIME", Nullable(&DateTime)),
            ("CHECKSUM", Nullable(&BigInt)),
            ("PARTITION_COMMENT", LongText),
            ("NODEGROUP", Nullable(&Text(256))),
            ("TABLESPACE_NAME", Nullable(&Name(268))),
        ],
        rows: Some(partitions),
    },
];

const TABLE_COLUMNS: &[(&str, Type)] = &[
    ("TABLE_CATALOG", Name(64)),
    ("TABLE_SCHEMA", Name(64)),
    ("TABLE_NAME", Name(64)),
    ("TABLE_TYPE", Enum(&["BASE TABLE", "VIEW", "SYSTEM VIEW"])),
    ("ENGINE", Nullable(&Name(64))),
    ("VERSION", Nullable(&Int)),
    ("ROW_FORMAT", Nullable(&Enum(&["Fixed", "Dynamic", "Compressed", "Redundant", "Compact", "Paged"]))),
    ("TABLE_ROWS", Nullable(&Unsigned)),
    ("AVG_ROW_LENGTH", Nullable(&Unsigned)),
    ("DATA_LENGTH", Nullable(&Unsigned)),
    ("MAX_DATA_LENGTH", Nullable(&Unsigned)),
    ("INDEX_LENGTH", Nullable(&Unsigned)),
    ("DATA_FREE", Nullable(&Unsigned)),
    ("AUTO_INCREMENT", Nullable(&Unsigned)),
    ("CREATE_TIME", Nullable(&Timestamp)),
    ("UPDATE_TIME", Nullable(&DateTime)),
    ("CHECK_TIME", Nullable(&DateTime)),
    ("TABLE_COLLATION", Nullable(&Name(64))),
    ("CHECKSUM", Nullable(&BigInt)),
    ("CREATE_OPTIONS", Nullable(&Text(256))),
    ("TABLE_COMMENT", Nullable(&Text(2048))),
];

fn schemata(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let visible = context.schema.databases().into_iter().filter(|database| (context.visible)(&database.name, None));
    visible
        .map(|database| {
            vec![text("def"), text(&database.name), text(database.charset.name()), text(database.collation.name()), Datum::Null, text("NO")]
        })
        .collect()
}

/// Every table the user may see, by database and name.
pub(super) fn visible_tables(context: &VirtualContext<'_>) -> Vec<std::sync::Arc<TableInfo>> {
    let databases = context.schema.databases();
    let tables = databases.iter().flat_map(|database| context.schema.tables(&database.name));
    tables.filter(|table| table.state.is_public() && (context.visible)(&table.database, Some(&table.name))).collect()
}

/// The time a table was made, in UTC.
fn created(table: &TableInfo) -> Datum {
    if table.created_ms == 0 {
        return Datum::Null;
    }
    Time::from_unix_micros(table.created_ms as i64 * 1000, TimeKind::Timestamp, 0).map_or(Datum::Null, Datum::Time)
}

fn tables(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    visible_tables(context).iter().map(|table| table_row(context, table)).collect()
}

fn table_row(context: &VirtualContext<'_>, table: &TableInfo) -> Vec<Datum> {
    let mut row = vec![text("def"), text(&table.database), text(&table.name)];
    if table.kind == TableKind::Virtual {
        row.extend([
            text("SYSTEM VIEW"),
            Datum::Null,
            Datum::Int(10),
            Datum::Null,
            count(0),
            count(0),
            count(0),
            count(0),
            count(0),
            count(0),
        ]);
        row.extend([Datum::Null, Datum::Null, Datum::Null, Datum::Null, Datum::Null, Datum::Null, text(""), text("")]);
        return row;
    }
    let (rows, size) = (context.facts.row_count(table.id), context.facts.mean_row_size(table.id));
    let auto_increment = match table.auto_increment_column() {
        Some(_) => count(context.facts.next_auto_increment(table.id).unwrap_or(table.auto_increment_start.max(1))),
        None => Datum::Null,
    };
    row.extend([text("BASE TABLE"), text(&table.engine), Datum::Int(10), text("Dynamic"), count(rows), count(size)]);
    row.extend([count(rows.saturating_mul(size)), count(0), count(0), count(0), auto_increment, created(table)]);
    row.extend([Datum::Null, Datum::Null, text(table.collation.name()), Datum::Null, text(""), text(&table.comment)]);
    row
}

fn partitions(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let tables = visible_tables(context);
    let stored = tables.iter().filter(|table| table.kind == TableKind::Base);
    stored
        .map(|table| {
            let (rows, size) = (context.facts.row_count(table.id), context.facts.mean_row_size(table.id));
            let mut row = vec![text("def"), text(&table.database), text(&table.name)];
            row.extend(std::iter::repeat_n(Datum::Null, 9));
            row.extend([count(rows), count(size), count(rows.saturating_mul(size)), count(0), count(0), count(0), created(table)]);
            row.extend([Datum::Null, Datum::Null, Datum::Null, text(""), Datum::Null, Datum::Null]);
            row
        })
        .collect()
}
