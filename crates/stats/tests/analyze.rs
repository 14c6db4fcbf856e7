//! ANALYZE over a store in memory, and the way of statistics to the next start.

#[path = "../../catalog/tests/support/mod.rs"]
mod cluster;

use base::{DatabaseId, IndexId, KeyRange, TableId};
use catalog::{ColumnInfo, IndexColumn, IndexInfo, PrimaryKey, SchemaState, TableInfo};
use client::{Client, TxnOptions, WriteFlags};
use cluster::Cluster;
use codec::{Handle, row::RowBuilder, table::record_key};
use stats::{AnalyzeOptions, StatsCache, Target, analyze, store};
use types::{
    Datum, FieldType,
    value::{encode_key_datum, encode_row_value},
};

/// `id INT PRIMARY KEY, kind INT, name VARCHAR(20), KEY (kind, id)`.
fn table() -> TableInfo {
    let mut table = TableInfo::new(TableId(50), DatabaseId(1), "test", "t");
    for (name, ty) in [("id", FieldType::int().with_not_null()), ("kind", FieldType::int()), ("name", FieldType::varchar(20))] {
        let id = table.take_column_id();
        let offset = table.columns.len();
        table.columns.push(ColumnInfo::new(id, name, offset, ty));
    }
    table.pk = PrimaryKey::IntHandle { column: 0 };
    let id = table.take_index_id();
    table.indexes.push(IndexInfo {
        id,
        name: "k".into(),
        columns: [1, 0].map(|offset| IndexColumn { offset, prefix_len: None, desc: false }).into(),
        unique: false,
        primary: false,
        state: SchemaState::Public,
        invisible: false,
        comment: String::new(),
    });
    table
}

/// 10,000 rows; half of them of kind 0, a tenth NULL, the others spread over 1 to 999.
async fn fill(client: &Client, table: &TableInfo) {
    for start in (0..10_000i64).step_by(1000) {
        let mut txn = client.begin(TxnOptions::default());
        for id in start..start + 1000 {
            let kind = match id % 10 {
                0..5 => Datum::Int(0),
                5 => Datum::Null,
                _ => Datum::Int(id % 999 + 1),
            };
            let mut row = RowBuilder::new();
            row.start();
            match &kind {
                Datum::Null => row.push_null(table.columns[1].id),
                kind => row.push_with(table.columns[1].id, |cell| encode_row_value(cell, kind.as_ref(), &table.columns[1].ty)),
            }
            let name = Datum::Bytes(format!("name{}", id % 100).into_bytes());
            row.push_with(table.columns[2].id, |cell| encode_row_value(cell, name.as_ref(), &table.columns[2].ty));
            txn.set(record_key(table.id, &Handle::Int(id)).into(), row.finish().into(), WriteFlags::default()).expect("small");
        }
        txn.commit().await.expect("commits");
    }
}

fn key(value: i64) -> Vec<u8> {
    let mut key = Vec::new();
    encode_key_datum(&mut key, Datum::Int(value).as_ref(), &FieldType::int(), false);
    key
}

#[tokio::test]
async fn estimates_are_close_whether_all_rows_are_sampled_or_some() {
    let client = Cluster::default().start();
    let table = table();
    fill(&client, &table).await;
    let [id, kind, name] = [0, 1, 2].map(|offset: usize| Target::Column(table.columns[offset].id));
    for sample_rows in [20_000, 2000] {
        let stats = analyze(&client, &table, &AnalyzeOptions { sample_rows, ..AnalyzeOptions::default() }).await.expect("analyzes");
        let close =
            |actual: f64, expected: f64, slack: f64| assert!((actual - expected).abs() <= slack, "{actual} for {expected} ({sample_rows})");
        assert_eq!(stats.rows(), 10_000.0);
        close(stats.estimate_equal(kind, &key(0)), 5000.0, 500.0);
        close(stats.null_fraction(table.columns[1].id), 0.1, 0.001);
        close(stats.distinct(table.columns[2].id), 100.0, 3.0);
        close(stats.estimate_equal_unknown(name), 100.0, 5.0);
        close(stats.estimate_equal(id, &key(77)), 1.0, 1.0);
        close(stats.estimate_range_rows(id, &[KeyRange::new(key(2000), key(4000))]), 2000.0, 300.0);
        close(stats.estimate_index_prefix_unknown(IndexId(1), 2), 1.0, 0.2);
        let of_kind_zero = KeyRange::prefix(&key(0));
        close(stats.estimate_range_rows(Target::Index(IndexId(1)), &[of_kind_zero]), 5000.0, 600.0);
    }
}

#[tokio::test]
async fn statistics_are_there_after_a_restart() {
    let cluster = Cluster::default();
    let client = cluster.start();
    let table = table();
    fill(&client, &table).await;
    let stats = analyze(&client, &table, &AnalyzeOptions::default()).await.expect("analyzes");
    store::save(&client, &stats).await.expect("saves");
    let cache = StatsCache::default();
    cache.put(stats.clone());
    cache.record_changes(table.id, 5000, 5000);
    store::save_counts(&client, &cache.take_changed()).await.expect("saves");
    cache.record_changes(TableId(51), 30, 30);
    store::save_counts(&client, &cache.take_changed()).await.expect("saves");

    let restarted = StatsCache::default();
    store::load(&cluster.start(), &restarted).await.expect("loads");
    let loaded = restarted.get(table.id);
    assert_eq!(loaded.row_count, 15_000.0);
    assert_eq!(loaded.columns, stats.columns);
    assert_eq!(loaded.indexes, stats.indexes);
    let kind = Target::Column(table.columns[1].id);
    assert!((loaded.estimate_equal(kind, &key(0)) - 7500.0).abs() < 1.0);
    assert_eq!(restarted.get(TableId(51)).row_count, 30.0);
}

#[tokio::test]
async fn an_empty_table_has_statistics_too() {
    let client = Cluster::default().start();
    let stats = analyze(&client, &table(), &AnalyzeOptions::default()).await.expect("analyzes");
    assert!(!stats.is_pseudo());
    assert_eq!(stats.estimate_equal(Target::Index(IndexId(1)), &key(1)), 1.0);
}
