//! The catalog over a store in memory: bootstrap, reloading, AUTO_INCREMENT.

mod support;

use base::{DatabaseId, TableId};
use catalog::{
    AutoIdKind, AutoIdStep, AutoIds, Catalog, DatabaseInfo, Error, SchemaState, TableInfo,
    meta::{Meta, SchemaDiff},
};
use client::{Client, TxnOptions, WriteFlags};
use support::Cluster;
use types::{Charset, Collation};

#[tokio::test]
async fn an_empty_store_is_bootstrapped_once() {
    let cluster = Cluster::default();
    let first = Catalog::load(cluster.start()).await.expect("bootstraps");
    let schema = first.current();
    let names: Vec<String> = schema.databases().iter().map(|database| database.name.clone()).collect();
    assert_eq!(names, ["information_schema", "mysql", "performance_schema", "sys", "test"]);
    let accounts = schema.table("MySQL", "User").expect("names are looked up without regard to case");
    assert_eq!(accounts.primary_key_columns(), [0, 1]);
    let version = schema.version();
    let again = Catalog::load(cluster.start()).await.expect("loads");
    assert_eq!(again.current().version(), version);
}

#[tokio::test]
async fn a_store_with_keys_of_another_system_is_left_alone() {
    let client = Cluster::default().start();
    let mut txn = client.begin(TxnOptions::default());
    let key = codec::meta::value_key(b"SchemaVersionKey");
    txn.set(key.clone().into(), b"42".as_slice().into(), WriteFlags::default()).expect("small");
    txn.commit().await.expect("commits");
    match Catalog::load(client.clone()).await.err() {
        Some(Error::ForeignMetaKeys { key: found }) => assert_eq!(found, key),
        other => panic!("bootstrapped over foreign keys: {other:?}"),
    }
    let mut txn = client.begin(TxnOptions::default());
    assert_eq!(txn.get(&key).await.expect("reads").as_deref(), Some(&b"42"[..]));
}

/// Writes tables and databases under the next schema version.
async fn change(client: &Client, write: impl Fn(&mut Meta<'_>, u64) -> SchemaDiff) {
    let mut txn = client.begin(TxnOptions::default());
    let mut meta = Meta::new(&mut txn);
    let next = meta.schema_version().await.expect("reads") + 1;
    let diff = write(&mut meta, next);
    meta.next_schema_version(diff).await.expect("writes");
    txn.commit().await.expect("commits");
}

#[tokio::test]
async fn a_server_catches_up_by_diffs_and_by_loading_everything_alike() {
    let client = Cluster::default().start();
    let catalog = Catalog::load(client.clone()).await.expect("bootstraps");
    let database = DatabaseId(1000);
    change(&client, |meta, _| {
        let info = DatabaseInfo {
            id: database,
            name: "Shop".into(),
            charset: Charset::Utf8mb4,
            collation: Collation::Utf8mb4Bin,
            state: SchemaState::Public,
        };
        meta.put_database(&info).expect("encodes");
        SchemaDiff { databases: vec![database], ..SchemaDiff::default() }
    })
    .await;
    for id in [1001, 1002] {
        change(&client, |meta, version| {
            let mut table = TableInfo::new(TableId(id), database, "Shop", format!("T{id}"));
            table.update_version = version;
            meta.put_table(&table).expect("encodes");
            SchemaDiff { tables: vec![(database, TableId(id))], ..SchemaDiff::default() }
        })
        .await;
    }
    change(&client, |meta, _| {
        meta.remove_table(database, TableId(1001));
        SchemaDiff { tables: vec![(database, TableId(1001))], ..SchemaDiff::default() }
    })
    .await;
    catalog.reload().await.expect("reloads");
    let fresh = Catalog::load(client).await.expect("loads");
    for schema in [catalog.current(), fresh.current()] {
        let names: Vec<String> = schema.tables("shop").iter().map(|table| table.name.clone()).collect();
        assert_eq!(names, ["T1002"]);
        assert!(schema.table_by_id(TableId(1001)).is_none());
        assert_eq!(schema.table("SHOP", "t1002").map(|table| table.update_version), Some(schema.version() - 1));
    }
}

const TABLE: TableId = TableId(7);

async fn take(ids: &AutoIds, count: u64) -> u64 {
    ids.allocate(TABLE, AutoIdKind::AutoIncrement, AutoIdStep::default(), count).await.expect("allocates").first
}

#[tokio::test]
async fn values_are_consecutive_and_never_come_back_after_a_crash() {
    let cluster = Cluster::default();
    let ids = AutoIds::new(cluster.start(), 10);
    let mut given = Vec::new();
    for _ in 0..25 {
        given.push(take(&ids, 1).await);
    }
    assert_eq!(given, (1..=25).collect::<Vec<_>>());
    assert_eq!(take(&ids, 100).await, 26);
    // A crash loses the rest of the range, nothing else.
    let restarted = AutoIds::new(cluster.start(), 10);
    let next = take(&restarted, 1).await;
    assert!(next > 125 && next <= 150, "{next}");
    // An orderly stop gives it back.
    restarted.release().await.expect("releases");
    assert_eq!(take(&AutoIds::new(cluster.start(), 10), 1).await, next + 1);
}

#[tokio::test]
async fn explicit_values_push_the_counter() {
    let cluster = Cluster::default();
    let ids = AutoIds::new(cluster.start(), 10);
    assert_eq!(take(&ids, 1).await, 1);
    ids.rebase(TABLE, AutoIdKind::AutoIncrement, 5).await.expect("rebases");
    assert_eq!(take(&ids, 1).await, 6);
    ids.rebase(TABLE, AutoIdKind::AutoIncrement, 1000).await.expect("rebases");
    ids.rebase(TABLE, AutoIdKind::AutoIncrement, 3).await.expect("rebases");
    assert_eq!(ids.peek(TABLE, AutoIdKind::AutoIncrement).await.expect("reads"), 1001);
    assert_eq!(take(&ids, 1).await, 1001);
    let restarted = AutoIds::new(cluster.start(), 10);
    assert!(take(&restarted, 1).await > 1001);
    restarted.rebase(TABLE, AutoIdKind::AutoIncrement, u64::MAX).await.expect("rebases");
    let end = restarted.allocate(TABLE, AutoIdKind::AutoIncrement, AutoIdStep::default(), 1).await;
    assert!(matches!(end, Err(Error::AutoIncrementExhausted { .. })), "{end:?}");
}

#[tokio::test]
async fn a_server_that_spent_its_range_does_not_take_over_the_range_of_another() {
    let cluster = Cluster::default();
    let client = cluster.start();
    let (one, other) = (AutoIds::new(client.clone(), 10), AutoIds::new(client, 10));
    let mut given = Vec::new();
    for _ in 0..30 {
        given.push(take(&one, 1).await);
        given.push(take(&other, 1).await);
    }
    one.rebase(TABLE, AutoIdKind::AutoIncrement, *given.iter().max().expect("not empty")).await.expect("rebases");
    given.push(take(&one, 1).await);
    given.push(take(&other, 1).await);
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tasks_that_allocate_together_never_share_a_value() {
    let ids = AutoIds::new(Cluster::default().start(), 50);
    let tasks: Vec<_> = (0..8u64)
        .map(|task| {
            let ids = ids.clone();
            tokio::spawn(async move {
                let mut given = Vec::new();
                for i in 0..100 {
                    let count = (task + i) % 4 + 1;
                    let range = ids.allocate(TABLE, AutoIdKind::RowId, AutoIdStep::default(), count).await.expect("allocates");
                    given.extend((0..count).map(|n| range.first + n * range.increment));
                }
                given
            })
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.extend(task.await.expect("no panic"));
    }
    let count = given.len();
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), count);
}

#[tokio::test]
async fn increment_and_offset_shape_the_series() {
    let ids = AutoIds::new(Cluster::default().start(), 10);
    let step = AutoIdStep { increment: 5, offset: 2 };
    let mut given = Vec::new();
    for count in [1, 2, 4] {
        let range = ids.allocate(TABLE, AutoIdKind::AutoIncrement, step, count).await.expect("allocates");
        given.extend((0..count).map(|n| range.first + n * range.increment));
    }
    assert!(given.windows(2).all(|pair| pair[0] < pair[1]), "{given:?}");
    assert!(given.iter().all(|value| value % 5 == 2), "{given:?}");
}
