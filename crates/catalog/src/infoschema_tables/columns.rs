//! COLUMNS; also what SHOW COLUMNS and DESCRIBE print of a column.

use types::{Datum, EvalType, TimeZone, TypeKind};

use super::{
    VirtualContext,
    constraints::escaped,
    definition::{Type::*, VirtualTable, count, text, yes_no},
    schemata::visible_tables,
};
use crate::{
    model::{ColumnDefault, ColumnInfo, PrimaryKey, TableInfo},
    show_create::{current_timestamp, default_text, is_current_timestamp},
};

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    database: "information_schema",
    name: "COLUMNS",
    columns: &[
        ("TABLE_CATALOG", Name(64)),
        ("TABLE_SCHEMA", Name(64)),
        ("TABLE_NAME", Name(64)),
        ("COLUMN_NAME", Nullable(&Name(64))),
        ("ORDINAL_POSITION", Unsigned),
        ("COLUMN_DEFAULT", Nullable(&LongText)),
        ("IS_NULLABLE", Name(3)),
        ("DATA_TYPE", Nullable(&LongText)),
        ("CHARACTER_MAXIMUM_LENGTH", Nullable(&BigInt)),
        ("CHARACTER_OCTET_LENGTH", Nullable(&BigInt)),
        ("NUMERIC_PRECISION", Nullable(&Unsigned)),
        ("NUMERIC_SCALE", Nullable(&Unsigned)),
        ("DATETIME_PRECISION", Nullable(&Unsigned)),
        ("CHARACTER_SET_NAME", Nullable(&Name(64))),
        ("COLLATION_NAME", Nullable(&Name(64))),
        ("COLUMN_TYPE", LongText),
        ("COLUMN_KEY", Enum(&["", "PRI", "UNI", "MUL"])),
        ("EXTRA", Nullable(&Name(256))),
        ("PRIVILEGES", Nullable(&Name(154))),
        ("COLUMN_COMMENT", LongText),
        ("GENERATION_EXPRESSION", LongText),
        ("SRS_ID", Nullable(&Unsigned)),
    ],
    rows: Some(columns),
}];

/// `PRI`, `UNI`, `MUL` or empty, as in the Key column of DESCRIBE.
pub fn column_key(table: &TableInfo, offset: usize) -> &'static str {
    if table.pk == (PrimaryKey::IntHandle { column: offset }) || table.primary_key_columns().contains(&offset) {
        return "PRI";
    }
    let leading = || table.public_indexes().map(|(_, index)| index).filter(move |index| index.columns[0].offset == offset);
    if leading().any(|index| index.unique && index.columns.len() == 1) {
        // A table without primary key shows its first NOT NULL unique key as PRI.
        if table.columns[offset].ty.not_null && !table.has_primary_key() { "PRI" } else { "UNI" }
    } else if leading().next().is_some() {
        "MUL"
    } else {
        ""
    }
}

/// The Extra column of DESCRIBE.
pub fn column_extra(column: &ColumnInfo) -> String {
    let mut extra = Vec::new();
    if column.auto_increment {
        extra.push("auto_increment".to_owned());
    }
    if matches!(column.default, ColumnDefault::Expr(_)) {
        extra.push("DEFAULT_GENERATED".to_owned());
    }
    if let Some(fsp) = column.on_update_now {
        extra.push(format!("on update {}", current_timestamp(fsp)));
    }
    if let Some(generated) = &column.generated {
        extra.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned());
    }
    if column.hidden {
        extra.push("INVISIBLE".to_owned());
    }
    extra.join(" ")
}

/// The Default column of DESCRIBE; TIMESTAMP in the session's time zone.
pub fn column_default(column: &ColumnInfo, zone: &TimeZone) -> Datum {
    match &column.default {
        ColumnDefault::None => Datum::Null,
        ColumnDefault::Value(value) => default_text(value, column, zone).map_or(Datum::Null, text),
        ColumnDefault::Expr(expr) if is_current_timestamp(expr) => text(expr.to_ascii_uppercase()),
        ColumnDefault::Expr(expr) => text(expr),
    }
}

fn columns(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in visible_tables(context) {
        for column in table.public_columns() {
            if let Some(privileges) = (context.column_privileges)(&table.database, &table.name, &column.name) {
                rows.push(row(&table, column, privileges, context.time_zone));
            }
        }
    }
    rows
}

fn row(table: &TableInfo, column: &ColumnInfo, privileges: String, zone: &TimeZone) -> Vec<Datum> {
    let ty = &column.ty;
    let (mut chars, mut octets) = (Datum::Null, Datum::Null);
    if ty.tp.is_string() {
        let max = i64::from(ty.max_bytes());
        octets = Datum::Int(max);
        chars = Datum::Int(if ty.tp.is_blob() || !ty.is_text() { max } else { i64::from(ty.flen) });
    }
    if matches!(ty.tp, types::TypeKind::Enum | types::TypeKind::Set) {
        octets = Datum::Int(i64::from(ty.column_length()));
        chars = Datum::Int(i64::from(ty.flen));
    }
    let (precision, scale) = numeric_precision(column);
    let fraction = match ty.tp {
        TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Time => count(u64::from(ty.fsp())),
        _ => Datum::Null,
    };
    let (charset, collation) = if ty.is_text() { (text(ty.charset.name()), text(ty.collation.name())) } else { (Datum::Null, Datum::Null) };
    vec![
        text("def"),
        text(&table.database),
        text(&table.name),
        text(&column.name),
        count(column.offset as u64 + 1),
        column_default(column, zone),
        yes_no(!ty.not_null),
        text(ty.base_name()),
        chars,
        octets,
        precision,
        scale,
        fraction,
        charset,
        collation,
        text(ty.to_sql()),
        text(column_key(table, column.offset)),
        text(column_extra(column)),
        text(privileges),
        text(&column.comment),
        text(column.generated.as_ref().map_or_else(String::new, |generated| escaped(&generated.expr))),
        Datum::Null,
    ]
}

fn numeric_precision(column: &ColumnInfo) -> (Datum, Datum) {
    let ty = &column.ty;
    match ty.tp {
        TypeKind::TinyInt => (count(3), count(0)),
        TypeKind::SmallInt => (count(5), count(0)),
        TypeKind::MediumInt => (count(7), count(0)),
        TypeKind::Int => (count(10), count(0)),
        TypeKind::BigInt => (count(if ty.unsigned { 20 } else { 19 }), count(0)),
        TypeKind::Bit => (count(ty.flen.max(1) as u64), Datum::Null),
        TypeKind::Decimal => (count(ty.flen.max(0) as u64), count(ty.decimal.max(0) as u64)),
        _ if ty.eval_type() == EvalType::Real => {
            (count(ty.flen.max(0) as u64), ty.scale().map_or(Datum::Null, |scale| count(u64::from(scale))))
        }
        _ => (Datum::Null, Datum::Null),
    }
}
