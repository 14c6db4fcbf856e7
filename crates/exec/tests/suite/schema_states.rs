//! Rows written while an index is being added or dropped.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::support::Server;
use catalog::{SchemaState, TableInfo};
use codec::Handle;
use exec::TableWriter;
use exec::dml::table_writer::KeyRole;
use types::DatumRef;

async fn table(state: SchemaState, unique: bool) -> Arc<TableInfo> {
    let (server, _) = Server::with(&["CREATE TABLE t (a INT PRIMARY KEY, b INT, KEY kb (b))"]).await;
    let mut table = TableInfo::clone(&*server.catalog.current().table("test", "t").expect("there"));
    table.indexes[0].state = state;
    table.indexes[0].unique = unique;
    Arc::new(table)
}

fn row(a: i64, b: i64) -> [DatumRef<'static>; 2] {
    [DatumRef::Int(a), DatumRef::Int(b)]
}

/// What happens to index entries: `+` written, `-` removed.
fn entries(writes: &[exec::dml::table_writer::Write]) -> String {
    writes[1..].iter().map(|write| if write.value.is_some() { '+' } else { '-' }).collect()
}

#[tokio::test]
async fn each_state_writes_and_removes_what_it_must() {
    use SchemaState::{DeleteOnly, None, Public, WriteOnly, WriteReorg};
    for (state, insert, update, idle_update, remove) in [
        (None, "", "", "", ""),
        (DeleteOnly, "", "-", "-", "-"),
        (WriteOnly, "+", "-+", "+", "-"),
        (WriteReorg, "+", "-+", "+", "-"),
        (Public, "+", "-+", "", "-"),
    ] {
        let mut writer = TableWriter::new(table(state, false).await);
        let handle = Handle::Int(1);
        assert_eq!(entries(&writer.insert(&row(1, 5), &handle).expect("encodes")), insert, "{state}");
        assert_eq!(entries(&writer.update(&row(1, 5), &row(1, 6), &handle).expect("encodes")), update, "{state}");
        assert_eq!(entries(&writer.update(&row(1, 5), &row(1, 5), &handle).expect("encodes")), idle_update, "{state}");
        assert_eq!(entries(&writer.remove(&row(1, 5), &handle).expect("encodes")), remove, "{state}");
    }
}

#[tokio::test]
async fn entries_of_a_unique_index_under_construction_are_looked_at_first() {
    let mut writer = TableWriter::new(table(SchemaState::WriteReorg, true).await);
    let handle = Handle::Int(1);
    let roles = |writes: &[exec::dml::table_writer::Write]| writes[1..].iter().map(|write| write.role).collect::<Vec<_>>();
    assert_eq!(roles(&writer.remove(&row(1, 5), &handle).expect("encodes")), [KeyRole::Building(0)]);
    assert_eq!(roles(&writer.update(&row(1, 5), &row(1, 5), &handle).expect("encodes")), [KeyRole::Building(0)]);
    let moved = writer.update(&row(1, 5), &row(1, 6), &handle).expect("encodes");
    assert_eq!(roles(&moved), [KeyRole::Building(0), KeyRole::NewUnique(0)]);
}

#[tokio::test]
async fn writers_go_on_while_an_index_is_built() {
    let (server, mut s) = Server::with(&["CREATE TABLE w (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v INT)"]).await;
    let values = (0..500).map(|k| format!("({k}, 0)")).collect::<Vec<_>>().join(",");
    s.run(&format!("INSERT INTO w (k, v) VALUES {values}")).await;
    let mut writers = Vec::new();
    for at in 0..3_i64 {
        let mut session = server.session();
        writers.push(tokio::spawn(async move {
            for round in 0..40 {
                let id = (round * 37 + at * 101) % 500 + 1;
                if at == 0 {
                    session.begin(true).await;
                }
                session.run(&format!("UPDATE w SET k = k + 1000, v = v + 1 WHERE id = {id}")).await;
                session.run(&format!("INSERT INTO w (k, v) VALUES ({}, 1)", 100_000 + round * 10 + at)).await;
                session.run(&format!("DELETE FROM w WHERE id = {}", (id * 7) % 500 + 1)).await;
                session.commit().await.expect("commits");
                tokio::task::yield_now().await;
            }
        }));
    }
    s.run("ALTER TABLE w ADD UNIQUE INDEX uk (k)").await;
    s.run("CREATE INDEX kv ON w (v, k)").await;
    for writer in writers {
        writer.await.expect("finishes");
    }
    let checked = s.check("w").await.expect("consistent");
    assert_eq!(checked.entries, 2 * checked.rows);
}

/// Rows trade unique values while a unique index over them is built: an entry that one row leaves may be another's already.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_trade_values_while_a_unique_index_is_built() {
    const ROWS: i64 = 200;
    let (server, mut s) = Server::with(&["CREATE TABLE w (id INT PRIMARY KEY, k INT)"]).await;
    let values = (0..ROWS).map(|k| format!("({k}, {k})")).collect::<Vec<_>>().join(",");
    s.run(&format!("INSERT INTO w VALUES {values}")).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for at in 0..4_i64 {
        let (mut session, stop) = (server.session(), stop.clone());
        writers.push(tokio::spawn(async move {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                round += 1;
                // Each writer has values of its own, so that only rows of one writer ever collide.
                let value = (round % (ROWS / 4)) * 4 + at;
                let partner = ROWS + value;
                for sql in [
                    format!("UPDATE w SET k = k + 100000 WHERE id = {value}"),
                    format!("INSERT INTO w VALUES ({partner}, {value})"),
                    format!("DELETE FROM w WHERE id = {partner}"),
                    format!("REPLACE INTO w VALUES ({partner}, {value})"),
                    format!("UPDATE w SET k = -{value} - 1 WHERE id = {partner}"),
                    format!("UPDATE w SET k = {value} WHERE id = {value}"),
                    format!("DELETE FROM w WHERE id = {partner}"),
                ] {
                    session.begin(at % 2 == 0).await;
                    let done = session.try_run(&sql).await;
                    let committed = session.commit().await;
                    // An optimistic transaction may lose to the backfill; then the statement is made again as it was.
                    if done.is_err() || committed.is_err() {
                        session.begin(true).await;
                        session.run(&sql).await;
                        session.commit().await.expect("commits with locks");
                    }
                }
            }
        }));
    }
    for _ in 0..5 {
        s.run("CREATE UNIQUE INDEX uk ON w (k)").await;
        s.check("w").await.expect("consistent while rows are written");
        s.run("DROP INDEX uk ON w").await;
    }
    s.run("CREATE UNIQUE INDEX uk ON w (k)").await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("finishes");
    }
    let checked = s.check("w").await.expect("consistent");
    assert_eq!((checked.rows, checked.entries), (ROWS as u64, ROWS as u64));
}
