//! STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS; also SHOW INDEX.

use types::Datum;

use super::{
    VirtualContext,
    definition::{Type::*, VirtualTable, count, text, yes_no},
    schemata::visible_tables,
};
use crate::{
    model::{CheckInfo, ForeignKeyInfo, IndexColumn, PrimaryKey, TableInfo, TableKind},
    show_create::index_rank,
};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        database: "information_schema",
        name: "STATISTICS",
        columns: &[
            ("TABLE_CATALOG", Name(64)),
            ("TABLE_SCHEMA", Name(64)),
            ("TABLE_NAME", Name(64)),
            ("NON_UNIQUE", Int),
            ("INDEX_SCHEMA", Name(64)),
            ("INDEX_NAME", Nullable(&Name(64))),
            ("SEQ_IN_INDEX", Unsigned),
            ("COLUMN_NAME", Nullable(&Name(64))),
            ("COLLATION", Nullable(&Name(1))),
            ("CARDINALITY", Nullable(&BigInt)),
            ("SUB_PART", Nullable(&BigInt)),
            ("PACKED", Nullable(&Char(1))),
            ("NULLABLE", Name(3)),
            ("INDEX_TYPE", Name(11)),
            ("COMMENT", Name(8)),
            ("INDEX_COMMENT", Text(2048)),
            ("IS_VISIBLE", Name(3)),
            ("EXPRESSION", Nullable(&LongText)),
        ],
        rows: Some(statistics),
    },
    VirtualTable {
        database: "information_schema",
        name: "KEY_COLUMN_USAGE",
        columns: &[
            ("CONSTRAINT_CATALOG", Name(64)),
            ("CONSTRAINT_SCHEMA", Name(64)),
            ("CONSTRAINT_NAME", Nullable(&Name(64))),
            ("TABLE_CATALOG", Name(64)),
            ("TABLE_SCHEMA", Name(64)),
            ("TABLE_NAME", Name(64)),
            ("COLUMN_NAME", Nullable(&Name(64))),
            ("ORDINAL_POSITION", Unsigned),
            ("POSITION_IN_UNIQUE_CONSTRAINT", Nullable(&Unsigned)),
            ("REFERENCED_TABLE_SCHEMA", Nullable(&Name(64))),
            ("REFERENCED_TABLE_NAME", Nullable(&Name(64))),
            ("REFERENCED_COLUMN_NAME", Nullable(&Name(64))),
        ],
        rows: Some(key_column_usage),
    },
    VirtualTable {
        database: "information_schema",
        name: "TABLE_CONSTRAINTS",
        columns: &[
            ("CONSTRAINT_CATALOG", Name(64)),
            ("CONSTRAINT_SCHEMA", Name(64)),
            ("CONSTRAINT_NAME", Nullable(&Name(64))),
            ("TABLE_SCHEMA", Name(64)),
            ("TABLE_NAME", Name(64)),
            ("CONSTRAINT_TYPE", Name(11)),
            ("ENFORCED", Name(3)),
        ],
        rows: Some(table_constraints),
    },
    VirtualTable {
        database: "information_schema",
        name: "REFERENTIAL_CONSTRAINTS",
        columns: &[
            ("CONSTRAINT_CATALOG", Name(64)),
            ("CONSTRAINT_SCHEMA", Name(64)),
            ("CONSTRAINT_NAME", Nullable(&Name(64))),
            ("UNIQUE_CONSTRAINT_CATALOG", Name(64)),
            ("UNIQUE_CONSTRAINT_SCHEMA", Name(64)),
            ("UNIQUE_CONSTRAINT_NAME", Nullable(&Name(64))),
            ("MATCH_OPTION", Enum(&["NONE", "PARTIAL", "FULL"])),
            ("UPDATE_RULE", Name(11)),
            ("DELETE_RULE", Name(11)),
            ("TABLE_NAME", Name(64)),
            ("REFERENCED_TABLE_NAME", Name(64)),
        ],
        rows: Some(referential_constraints),
    },
    VirtualTable {
        database: "information_schema",
        name: "CHECK_CONSTRAINTS",
        columns: &[
            ("CONSTRAINT_CATALOG", Name(64)),
            ("CONSTRAINT_SCHEMA", Name(64)),
            ("CONSTRAINT_NAME", Name(64)),
            ("CHECK_CLAUSE", LongText),
        ],
        rows: Some(check_constraints),
    },
];

/// A key of a table as users see it: the integer primary key, which has no index of its own, among them.
pub struct KeyView<'a> {
    /// `PRIMARY` or the index's name.
    pub name: &'a str,
    /// Whether equal keys are refused.
    pub unique: bool,
    /// The primary key.
    pub primary: bool,
    /// Its parts.
    pub parts: Vec<IndexColumn>,
    /// The COMMENT clause.
    pub comment: &'a str,
    /// Whether the planner considers it.
    pub visible: bool,
}

/// The public keys of a table in MySQL's order.
pub fn keys(table: &TableInfo) -> Vec<KeyView<'_>> {
    let mut keys = Vec::new();
    if let PrimaryKey::IntHandle { column } = table.pk {
        let parts = vec![IndexColumn { offset: column, prefix_len: None, desc: false }];
        keys.push(KeyView { name: "PRIMARY", unique: true, primary: true, parts, comment: "", visible: true });
    }
    let mut indexes: Vec<_> = table.public_indexes().map(|(_, index)| index).collect();
    indexes.sort_by_key(|index| index_rank(table, index));
    keys.extend(indexes.into_iter().map(|index| KeyView {
        name: &index.name,
        unique: index.unique,
        primary: index.primary,
        parts: index.columns.clone(),
        comment: &index.comment,
        visible: !index.invisible,
    }));
    keys
}

fn stored_tables(context: &VirtualContext<'_>) -> Vec<std::sync::Arc<TableInfo>> {
    visible_tables(context).into_iter().filter(|table| table.kind == TableKind::Base).collect()
}

fn statistics(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in stored_tables(context) {
        for key in keys(&table) {
            for (i, part) in key.parts.iter().enumerate() {
                let column = &table.columns[part.offset];
                let cardinality = context.facts.index_cardinality(&table, key.name, i + 1);
                rows.push(vec![
                    text("def"),
                    text(&table.database),
                    text(&table.name),
                    Datum::Int(i64::from(!key.unique)),
                    text(&table.database),
                    text(key.name),
                    count(i as u64 + 1),
                    text(&column.name),
                    text(if part.desc { "D" } else { "A" }),
                    cardinality.map_or(Datum::Null, |n| Datum::Int(n as i64)),
                    part.prefix_len.map_or(Datum::Null, |len| Datum::Int(i64::from(len))),
                    Datum::Null,
                    text(if column.ty.not_null { "" } else { "YES" }),
                    text("BTREE"),
                    text(""),
                    text(key.comment),
                    yes_no(key.visible),
                    Datum::Null,
                ]);
            }
        }
    }
    rows
}

fn key_column_usage(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in stored_tables(context) {
        for key in keys(&table).into_iter().filter(|key| key.unique) {
            for (i, part) in key.parts.iter().enumerate() {
                let mut row =
                    vec![text("def"), text(&table.database), text(key.name), text("def"), text(&table.database), text(&table.name)];
                row.extend([text(&table.columns[part.offset].name), count(i as u64 + 1)]);
                row.extend(std::iter::repeat_n(Datum::Null, 4));
                rows.push(row);
            }
        }
        for key in public_foreign_keys(&table) {
            for (i, (id, theirs)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let Some(column) = table.column_by_id(*id) else { continue };
                let position = count(i as u64 + 1);
                let mut row =
                    vec![text("def"), text(&table.database), text(&key.name), text("def"), text(&table.database), text(&table.name)];
                row.extend([
                    text(&column.name),
                    position.clone(),
                    position,
                    text(&key.parent_database),
                    text(&key.parent_table),
                    text(theirs),
                ]);
                rows.push(row);
            }
        }
    }
    rows
}

fn table_constraints(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in stored_tables(context) {
        let row = |name: &str, kind: &str, enforced: bool| {
            let (database, name) = (text(&table.database), text(name));
            vec![text("def"), database.clone(), name, database, text(&table.name), text(kind), yes_no(enforced)]
        };
        let keys = keys(&table);
        let unique = keys.iter().filter(|key| key.unique);
        rows.extend(unique.map(|key| row(key.name, if key.primary { "PRIMARY KEY" } else { "UNIQUE" }, true)));
        rows.extend(public_foreign_keys(&table).map(|key| row(&key.name, "FOREIGN KEY", true)));
        rows.extend(public_checks(&table).map(|check| row(&check.name, "CHECK", check.enforced)));
    }
    rows
}

fn public_foreign_keys(table: &TableInfo) -> impl Iterator<Item = &ForeignKeyInfo> {
    table.foreign_keys.iter().filter(|key| key.state.is_public())
}

fn public_checks(table: &TableInfo) -> impl Iterator<Item = &CheckInfo> {
    table.checks.iter().filter(|check| check.state.is_public())
}

fn referential_constraints(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in stored_tables(context) {
        rows.extend(public_foreign_keys(&table).map(|key| {
            let parent = context.schema.table(&key.parent_database, &key.parent_table);
            let unique = parent.as_ref().and_then(|parent| parent.unique_key_over(&key.parent_columns));
            vec![
                text("def"),
                text(&table.database),
                text(&key.name),
                text("def"),
                text(&key.parent_database),
                unique.map_or(Datum::Null, text),
                text("NONE"),
                text(key.on_update.name()),
                text(key.on_delete.name()),
                text(&table.name),
                text(&key.parent_table),
            ]
        }));
    }
    rows
}

fn check_constraints(context: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    let mut rows = Vec::new();
    for table in stored_tables(context) {
        rows.extend(
            public_checks(&table).map(|check| vec![text("def"), text(&table.database), text(&check.name), text(escaped(&check.expr))]),
        );
    }
    rows
}

/// The text of an expression as `information_schema` shows it: with quotes and backslashes escaped.
pub(super) fn escaped(expr: &str) -> String {
    expr.replace('\\', "\\\\").replace('\'', "\\'")
}
