//! The rows of `information_schema`.

use std::sync::Arc;

use base::{DatabaseId, TableId};
use catalog::{
    ColumnDefault, ColumnInfo, DatabaseInfo, IndexColumn, IndexInfo, InfoSchema, InfoSchemaBuilder, PrimaryKey, SchemaState, TableInfo,
    TableKind,
    infoschema_tables::{self, RowProvider, TableFacts, VirtualContext},
};
use types::{Charset, Collation, Datum, EvalType, FieldType, TimeZone};

struct Facts;

impl TableFacts for Facts {
    fn row_count(&self, _: TableId) -> u64 {
        1000
    }

    fn mean_row_size(&self, _: TableId) -> u64 {
        50
    }

    fn next_auto_increment(&self, _: TableId) -> Option<u64> {
        Some(42)
    }

    fn index_cardinality(&self, _: &TableInfo, index: &str, parts: usize) -> Option<u64> {
        (index != "k").then_some(parts as u64 * 10)
    }
}

struct NoSessions;

impl RowProvider for NoSessions {
    fn rows(&self, _: &str, _: &TableInfo) -> Option<Vec<Vec<Datum>>> {
        None
    }
}

fn schema() -> InfoSchema {
    let mut builder = InfoSchemaBuilder::default();
    infoschema_tables::define(&mut builder);
    builder.put_database(DatabaseInfo {
        id: DatabaseId(1),
        name: "shop".into(),
        charset: Charset::Utf8mb4,
        collation: Collation::Utf8mb4Bin,
        state: SchemaState::Public,
    });
    let mut table = TableInfo::new(TableId(2), DatabaseId(1), "shop", "item");
    table.created_ms = 1_600_000_000_000;
    for (name, ty) in [
        ("id", FieldType::int().with_not_null()),
        ("price", FieldType::decimal(10, 2).with_not_null()),
        ("name", FieldType::varchar(20)),
        ("at", FieldType::timestamp(3)),
    ] {
        let id = table.take_column_id();
        let offset = table.columns.len();
        table.columns.push(ColumnInfo::new(id, name, offset, ty));
    }
    table.columns[0].auto_increment = true;
    table.columns[3].default = ColumnDefault::Expr("CURRENT_TIMESTAMP(3)".into());
    table.columns[3].on_update_now = Some(3);
    table.pk = PrimaryKey::IntHandle { column: 0 };
    for (name, offset, unique) in [("k", 2, false), ("u", 1, true)] {
        let id = table.take_index_id();
        table.indexes.push(IndexInfo {
            id,
            name: name.into(),
            columns: vec![IndexColumn { offset, prefix_len: (name == "k").then_some(5), desc: name == "u" }],
            unique,
            primary: false,
            state: SchemaState::Public,
            invisible: false,
            comment: String::new(),
        });
    }
    builder.put_table(table);
    builder.build()
}

fn rows(schema: &InfoSchema, name: &str) -> Vec<String> {
    let table = schema.table("information_schema", name).expect("the table is defined");
    let context = VirtualContext {
        schema,
        facts: &Facts,
        provider: &NoSessions,
        time_zone: &TimeZone::Offset(3600),
        visible: &|database, _| database == "shop",
        column_privileges: &|_, _, _| Some("select,insert,update,references".to_owned()),
    };
    infoschema_tables::rows(&table, &context).iter().map(|row| shown(&table, row)).collect()
}

fn shown(table: &TableInfo, row: &[Datum]) -> String {
    let texts = row.iter().zip(&table.columns).map(|(value, column)| {
        if *value == Datum::Null {
            return "NULL".to_owned();
        }
        let mut text = Vec::new();
        value.write_text(&column.ty, &mut text);
        String::from_utf8(text).expect("text")
    });
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn columns_and_keys_are_described_as_mysql_does() {
    let schema = schema();
    assert_eq!(
        rows(&schema, "columns"),
        [
            "def|shop|item|id|1|NULL|NO|int|NULL|NULL|10|0|NULL|NULL|NULL|int|PRI|auto_increment|select,insert,update,references|||NULL",
            "def|shop|item|price|2|NULL|NO|decimal|NULL|NULL|10|2|NULL|NULL|NULL|decimal(10,2)|UNI||select,insert,update,references|||NULL",
            "def|shop|item|name|3|NULL|YES|varchar|20|80|NULL|NULL|NULL|utf8mb4|utf8mb4_0900_ai_ci|varchar(20)|MUL||select,insert,update,references|||NULL",
            "def|shop|item|at|4|CURRENT_TIMESTAMP(3)|YES|timestamp|NULL|NULL|NULL|NULL|3|NULL|NULL|timestamp(3)||DEFAULT_GENERATED on update CURRENT_TIMESTAMP(3)|select,insert,update,references|||NULL",
        ]
    );
    assert_eq!(
        rows(&schema, "STATISTICS"),
        [
            "def|shop|item|0|shop|PRIMARY|1|id|A|10|NULL|NULL||BTREE|||YES|NULL",
            "def|shop|item|0|shop|u|1|price|D|10|NULL|NULL||BTREE|||YES|NULL",
            "def|shop|item|1|shop|k|1|name|A|NULL|5|NULL|YES|BTREE|||YES|NULL",
        ]
    );
    assert_eq!(rows(&schema, "TABLE_CONSTRAINTS"), ["def|shop|PRIMARY|shop|item|PRIMARY KEY|YES", "def|shop|u|shop|item|UNIQUE|YES"]);
    assert_eq!(rows(&schema, "KEY_COLUMN_USAGE").len(), 2);
    assert_eq!(rows(&schema, "SCHEMATA"), ["def|shop|utf8mb4|utf8mb4_bin|NULL|NO"]);
    let tables = rows(&schema, "TABLES");
    assert_eq!(
        tables,
        ["def|shop|item|BASE TABLE|InnoDB|10|Dynamic|1000|50|50000|0|0|0|42|2020-09-13 12:26:40|NULL|NULL|utf8mb4_0900_ai_ci|NULL||"]
    );
}

#[test]
fn every_virtual_table_yields_rows_of_its_shape() {
    let schema = schema();
    let context = VirtualContext {
        schema: &schema,
        facts: &Facts,
        provider: &NoSessions,
        time_zone: &TimeZone::Offset(0),
        visible: &|_, _| true,
        column_privileges: &|_, _, _| Some(String::new()),
    };
    let tables: Vec<Arc<TableInfo>> = schema.tables("information_schema").into_iter().chain(schema.tables("performance_schema")).collect();
    assert!(tables.len() > 20);
    for table in tables {
        assert_eq!(table.kind, TableKind::Virtual);
        for row in infoschema_tables::rows(&table, &context) {
            assert_eq!(row.len(), table.columns.len(), "{}", table.name);
            for (value, column) in row.iter().zip(&table.columns) {
                let fits = match value {
                    Datum::Null => !column.ty.not_null,
                    Datum::Int(_) => column.ty.eval_type() == EvalType::Int && !column.ty.unsigned,
                    Datum::UInt(_) => column.ty.eval_type() == EvalType::Int && column.ty.unsigned,
                    Datum::Bytes(_) => column.ty.eval_type() == EvalType::String,
                    Datum::Time(_) => column.ty.eval_type() == EvalType::Time,
                    other => panic!("{other:?}"),
                };
                assert!(fits, "{}.{} = {value:?}", table.name, column.name);
            }
        }
    }
}
