//! Schema changes over a store in memory: while rows are written, through crashes, and back again.

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use base::TableId;
use bytes::Bytes;
use catalog::SchemaState;
use client::{CancelReason, CancelToken};
use codec::table::{index_prefix, record_prefix, table_prefix};
use ddl::job::JobState;
use support::{Cluster, Server, Writer, check_consistency, contents, decode};
use types::Datum;

fn text(value: &str) -> Datum {
    Datum::Bytes(value.as_bytes().to_vec())
}

/// Waits until a condition holds, at most half a minute.
async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let bound = tokio::time::Instant::now() + Duration::from_secs(30);
    while !holds().await {
        assert!(tokio::time::Instant::now() < bound, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

async fn fill(server: &Server, table: &str, rows: i64) {
    let writer = Writer::new(server, 1000);
    for id in 0..rows {
        writer.put(table, &[Datum::Int(id), Datum::Int(id % 100), text(&format!("row {id}"))], false).await.expect("writes");
    }
}

#[tokio::test]
async fn statements_take_effect_and_errors_change_nothing() {
    let server = Server::start(&Cluster::default()).await;
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    let error = server.run("CREATE TABLE T (id INT)").await.expect_err("exists");
    assert_eq!(error.to_mysql().code, 1050);
    server.run("ALTER TABLE t ADD COLUMN c INT DEFAULT 3, ADD INDEX k (a)").await.expect("alters");
    let table = server.table("t");
    assert_eq!(table.public_columns().len(), 4);
    assert!(table.index("k").expect("the index").state.is_public());
    server.run("CREATE DATABASE d").await.expect("creates");
    server.run("RENAME TABLE t TO d.u").await.expect("renames");
    assert!(server.catalog.current().table("test", "t").is_none());
    assert_eq!(server.catalog.current().table("d", "u").map(|table| table.id), Some(table.id));
    server.run("DROP DATABASE d").await.expect("drops");
    assert!(server.catalog.current().table_by_id(table.id).is_none());
    let jobs = server.ddl.jobs(10).await.expect("lists");
    let states: Vec<_> = jobs.iter().map(|job| (job.action.name(), job.state)).collect();
    assert_eq!(states[0], ("drop schema", JobState::Done));
    assert_eq!(states.len(), 5, "{states:?}");
    assert!(jobs.iter().all(|job| job.error.is_none()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tables_are_made_at_once() {
    let server = Arc::new(Server::start(&Cluster::default()).await);
    let tasks: Vec<_> = (0..16)
        .map(|i| {
            let server = Arc::clone(&server);
            tokio::spawn(async move {
                server.run(&format!("CREATE TABLE t{i} (id INT PRIMARY KEY, a INT)")).await.expect("creates");
                server.run(&format!("CREATE INDEX k ON t{i} (a)")).await.expect("indexes");
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    assert_eq!(server.catalog.current().tables("test").len(), 16);
    let ids: std::collections::HashSet<TableId> = server.catalog.current().tables("test").iter().map(|table| table.id).collect();
    assert_eq!(ids.len(), 16);
}

#[tokio::test]
async fn an_index_is_filled_with_the_rows_that_are_there() {
    for definition in ["id INT PRIMARY KEY, a INT, b VARCHAR(20)", "id INT, a INT, b VARCHAR(20), PRIMARY KEY (b, id)"] {
        let server = Server::start(&Cluster::default()).await;
        server.run(&format!("CREATE TABLE t ({definition})")).await.expect("creates");
        fill(&server, "t", 1000).await;
        server.run("ALTER TABLE t ADD INDEX k (a, b(3)), ADD UNIQUE u (b), ADD INDEX d (a DESC)").await.expect("indexes");
        assert_eq!(check_consistency(&server, "t").await, 1000);
        let job = server.ddl.jobs(1).await.expect("lists").remove(0);
        assert_eq!(job.row_count, 1000);
    }
}

#[tokio::test]
async fn a_duplicate_rolls_a_unique_index_back() {
    let server = Server::start(&Cluster::default()).await;
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", 300).await;
    let error = server.run("CREATE UNIQUE INDEX u ON t (a)").await.expect_err("duplicates").to_mysql();
    assert_eq!(error.code, 1062);
    assert!(error.message.starts_with("Duplicate entry '") && error.message.ends_with("' for key 't.u'"), "{}", error.message);
    let table = server.table("t");
    assert!(table.indexes.is_empty());
    server.run("CREATE UNIQUE INDEX u ON t (id)").await.expect("no duplicates");
    check_consistency(&server, "t").await;
}

/// Writers that change, add and remove rows until they are stopped.
struct Load {
    stop: Arc<AtomicBool>,
    changes: Arc<AtomicUsize>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Load {
    /// Writers of table `t`, of rows with ids below `ids`, which pause after each change.
    fn start(server: &Arc<Server>, ids: i64, pause: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let changes = Arc::new(AtomicUsize::new(0));
        let writers = (0..4u64)
            .map(|seed| {
                let (server, stop, changes) = (Arc::clone(server), Arc::clone(&stop), Arc::clone(&changes));
                tokio::spawn(async move {
                    let writer = Writer::new(&server, seed);
                    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                    while !stop.load(Ordering::Relaxed) {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let id = (state >> 33) as i64 % ids;
                        let row = [Datum::Int(id), Datum::Int((state >> 20) as i64 % 50), text(&format!("{}", state >> 40))];
                        match writer.put("t", &row, state >> 62 == 0).await {
                            Ok(()) | Err(client::Error::KeyExists { .. }) => changes.fetch_add(1, Ordering::Relaxed),
                            Err(error) => panic!("a writer failed: {error}"),
                        };
                        if !pause.is_zero() {
                            tokio::time::sleep(pause).await;
                        }
                    }
                })
            })
            .collect();
        Self { stop, changes, writers }
    }

    async fn go_on(&self) {
        let before = self.changes.load(Ordering::Relaxed);
        until("writers go on", async || self.changes.load(Ordering::Relaxed) > before + 20).await;
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for writer in self.writers {
            writer.await.expect("no panic");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_go_on_while_indexes_come_and_go() {
    const ROWS: i64 = 400;
    let server = Arc::new(Server::start(&Cluster::default()).await);
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", ROWS).await;
    let load = Load::start(&server, ROWS * 2, Duration::ZERO);
    for round in 0..4 {
        server.run("CREATE INDEX k ON t (a)").await.expect("indexes");
        server.run("ALTER TABLE t ADD INDEX kb (b, a)").await.expect("indexes");
        load.go_on().await;
        if round < 3 {
            server.run("DROP INDEX k ON t").await.expect("drops");
            server.run("ALTER TABLE t DROP INDEX kb").await.expect("drops");
        }
    }
    load.stop().await;
    assert!(check_consistency(&server, "t").await > 0);
    // What was dropped is nowhere in the definition, and its entries wait for destruction.
    assert_eq!(server.table("t").indexes.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_that_change_while_entries_are_sorted_have_the_entries_of_their_last_values() {
    // The third run reads for long enough that some of its rows change meanwhile.
    const ROWS: i64 = 8000;
    let server = Arc::new(Server::start(&Cluster::default()).await);
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", ROWS).await;
    for _ in 0..4 {
        // Few changes: a transaction that meets one reads its rows again, whatever was wrong with them.
        let load = Load::start(&server, ROWS, Duration::from_millis(20));
        load.go_on().await;
        server.run("ALTER TABLE t ADD INDEX k (a), ADD INDEX kb (b, a)").await.expect("indexes");
        load.stop().await;
        check_consistency(&server, "t").await;
        server.run("ALTER TABLE t DROP INDEX k, DROP INDEX kb").await.expect("drops");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_unique_index_is_built_right_or_not_at_all_while_values_come_and_go() {
    const ROWS: i64 = 300;
    let server = Arc::new(Server::start(&Cluster::default()).await);
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    let writer = Writer::new(&server, 1000);
    for id in 0..ROWS {
        writer.put("t", &[Datum::Int(id), Datum::Int(id), text("")], false).await.expect("writes");
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4i64)
        .map(|task| {
            let (server, stop) = (Arc::clone(&server), Arc::clone(&stop));
            tokio::spawn(async move {
                let writer = Writer::new(&server, task as u64);
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Pairs of rows trade values, so that duplicates exist for moments.
                    round += 1;
                    let id = (round * 7 + task * 75) % ROWS;
                    for (id, value) in [(id, id + 10_000), (ROWS + id, id), (id, id + 20_000), (ROWS + id, id + 30_000), (id, id)] {
                        match writer.put("t", &[Datum::Int(id), Datum::Int(value), text("")], false).await {
                            Ok(()) | Err(client::Error::KeyExists { .. }) => {}
                            Err(error) => panic!("a writer failed: {error}"),
                        }
                    }
                }
            })
        })
        .collect();
    let mut built = 0;
    for _ in 0..12 {
        match server.run("CREATE UNIQUE INDEX u ON t (a)").await {
            Ok(_) => {
                built += 1;
                server.run("DROP INDEX u ON t").await.expect("drops");
            }
            Err(error) => assert_eq!(error.to_mysql().code, 1062, "{error}"),
        }
    }
    let last = server.run("CREATE UNIQUE INDEX u ON t (a)").await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.expect("no panic");
    }
    assert_eq!(server.table("t").indexes.len(), usize::from(last.is_ok()));
    assert!(check_consistency(&server, "t").await >= ROWS as usize, "{built}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crash_in_the_middle_of_a_backfill_resumes() {
    const ROWS: i64 = 3000;
    let cluster = Cluster::default();
    let first = Server::start(&cluster).await;
    first.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&first, "t", ROWS).await;
    let ddl = first.ddl.clone();
    let table = first.table("t");
    let client = first.client.clone();
    let running = {
        let first = Arc::new(first);
        let for_task = Arc::clone(&first);
        let task = tokio::spawn(async move { for_task.run("CREATE INDEX k ON t (a, b)").await.map(|_| ()) });
        // Stop the owner as soon as some entries are there, and drop the process without a farewell.
        until("the backfill has begun", async || {
            !contents(&client, &index_prefix(table.id, base::IndexId(2))).await.is_empty() || task.is_finished()
        })
        .await;
        ddl.stop();
        task
    };
    let finished_early = running.await.expect("no panic").is_ok();
    let second = Server::start(&cluster).await;
    if !finished_early {
        let job = second.ddl.jobs(1).await.expect("lists").remove(0);
        assert!(job.state == JobState::Running || job.is_finished(), "{:?}", job.state);
    }
    until("the index is public", async || second.table("t").index("k").is_some_and(|index| index.state == SchemaState::Public)).await;
    until("the job has ended", async || second.ddl.jobs(1).await.expect("lists").iter().all(|job| job.is_finished())).await;
    assert_eq!(check_consistency(&second, "t").await, ROWS as usize);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_crash_while_a_generated_column_is_filled_resumes() {
    const ROWS: i64 = 2000;
    let cluster = Cluster::default();
    let first = Arc::new(Server::start(&cluster).await);
    first.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&first, "t", ROWS).await;
    let task = {
        let first = Arc::clone(&first);
        tokio::spawn(
            async move { first.run("ALTER TABLE t ADD COLUMN g INT AS (a + 1) STORED AFTER id, ADD INDEX g (g)").await.map(|_| ()) },
        )
    };
    until("the filling has begun", async || {
        let state = first.table("t").columns.iter().find(|column| column.name == "g").map(|column| column.state);
        state == Some(SchemaState::WriteReorg) || task.is_finished()
    })
    .await;
    first.ddl.stop();
    let _ = task.await.expect("no panic");
    let second = Server::start(&cluster).await;
    until("the column is public", async || second.table("t").column("g").is_some()).await;
    until("the job has ended", async || second.ddl.jobs(1).await.expect("lists").iter().all(|job| job.is_finished())).await;
    assert_eq!(check_consistency(&second, "t").await, ROWS as usize);
    let table = second.table("t");
    for (key, value) in contents(&second.client, &record_prefix(table.id)).await {
        let row = decode(&table, &key, &value);
        assert!(matches!(row[..], [_, Datum::Int(g), Datum::Int(a), _] if g == a + 1), "{row:?}");
    }
}

#[tokio::test]
async fn every_state_survives_a_crash() {
    // A transaction that stays open holds the job in one state after the other; the process is dropped there.
    for steps in 1..=4 {
        let cluster = Cluster::default();
        let server = Arc::new(Server::start(&cluster).await);
        server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
        fill(&server, "t", 50).await;
        let mut blockers = vec![Writer::new(&server, 1)];
        blockers[0].enter("t");
        let task = tokio::spawn({
            let server = Arc::clone(&server);
            async move { server.run("CREATE INDEX k ON t (a)").await.map(|_| ()) }
        });
        for step in 1..=steps {
            let version = server.catalog.version();
            if step > 1 {
                // The next blocker uses the present state; then the one before lets go.
                let next = Writer::new(&server, step);
                next.enter("t");
                blockers.push(next);
                blockers.remove(0).leave();
            }
            let moved = |server: &Server| server.catalog.version() > version || step == 1;
            until("the job takes its step", async || moved(&server) || task.is_finished()).await;
        }
        until("a step was taken", async || server.table("t").index("k").is_some() || task.is_finished()).await;
        server.ddl.stop();
        drop(blockers);
        let _ = task.await.expect("no panic");
        let restarted = Server::start(&cluster).await;
        until("the index is public", async || restarted.table("t").index("k").is_some_and(|index| index.state.is_public())).await;
        assert_eq!(check_consistency(&restarted, "t").await, 50);
    }
}

#[tokio::test]
async fn ddl_waits_for_transactions_that_use_the_table_and_for_no_others() {
    let server = Arc::new(Server::start(&Cluster::default()).await);
    for name in ["t", "u"] {
        server.run(&format!("CREATE TABLE {name} (id INT PRIMARY KEY, a INT)")).await.expect("creates");
    }
    let user = Writer::new(&server, 1);
    user.enter("t");
    server.run("CREATE INDEX k ON u (a)").await.expect("another table is free");
    let task = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.run("DROP TABLE t").await.map(|_| ()) }
    });
    until("the table is gone from the schema", async || server.catalog.current().table("test", "t").is_none()).await;
    assert!(!task.is_finished());
    user.leave();
    task.await.expect("no panic").expect("drops");
}

#[tokio::test]
async fn rows_written_with_an_old_definition_get_their_entries() {
    // One transaction holds the definition of before the index, or of one of its states, while other schema changes run.
    for state in [None, Some(SchemaState::DeleteOnly), Some(SchemaState::WriteOnly)] {
        let server = Arc::new(Server::start(&Cluster::default()).await);
        server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
        server.run("CREATE TABLE other (id INT PRIMARY KEY, a INT)").await.expect("creates");
        fill(&server, "t", 20).await;
        let gate = Writer::new(&server, 1);
        gate.enter("t");
        let task = tokio::spawn({
            let server = Arc::clone(&server);
            async move { server.run("CREATE INDEX k ON t (a)").await.map(|_| ()) }
        });
        let reached = || server.table("t").index("k").map(|index| index.state);
        let (mut slow, mut held) = (Writer::new(&server, 2), gate);
        let mut old = if state.is_none() { slow.enter("t") } else { server.table("t") };
        while old.index("k").map(|index| index.state) != state {
            // Step by step: the next user takes the newest definition before the one before lets go.
            until("the next state", async || reached() > old.index("k").map(|index| index.state)).await;
            old = slow.enter("t");
            held.leave();
            (slow, held) = (held, slow);
        }
        if state.is_some() {
            std::mem::swap(&mut slow, &mut held);
        } else {
            held.leave();
        }
        for _ in 0..5 {
            server.run("CREATE INDEX k ON other (a)").await.expect("indexes");
            server.run("DROP INDEX k ON other").await.expect("drops");
        }
        slow.change(&old, &[Datum::Int(5), Datum::Int(1000), text("changed")], false).await.expect("writes");
        slow.change(&old, &[Datum::Int(100), Datum::Int(1001), text("new")], false).await.expect("writes");
        slow.change(&old, &[Datum::Int(6), Datum::Int(0), text("")], true).await.expect("removes");
        assert!(!task.is_finished(), "the job must wait in the state after {state:?}");
        slow.leave();
        task.await.expect("no panic").expect("indexes");
        assert_eq!(check_consistency(&server, "t").await, 20);
    }
}

#[tokio::test]
async fn a_killed_statement_takes_its_job_back() {
    let server = Arc::new(Server::start(&Cluster::default()).await);
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", 10).await;
    let user = Writer::new(&server, 1);
    user.enter("t");
    let cancel = CancelToken::new();
    let task = tokio::spawn({
        let (server, cancel) = (Arc::clone(&server), cancel.clone());
        async move { server.run_until("CREATE INDEX k ON t (a)", cancel).await.map(|_| ()) }
    });
    until("the job has begun", async || server.table("t").index("k").is_some()).await;
    cancel.cancel(CancelReason::KillQuery);
    assert_eq!(task.await.expect("no panic").expect_err("killed").to_mysql().code, 1317);
    user.leave();
    until("the index is gone", async || server.table("t").index("k").is_none()).await;
    until("the job has ended", async || server.ddl.jobs(1).await.expect("lists").iter().all(|job| job.is_finished())).await;
    assert_eq!(server.ddl.jobs(1).await.expect("lists")[0].state, JobState::Cancelled);
    assert_eq!(check_consistency(&server, "t").await, 10);
}

#[tokio::test]
async fn added_columns_show_their_default_in_old_rows() {
    let server = Server::start(&Cluster::default()).await;
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", 3).await;
    server
        .run("ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7, ADD COLUMN d VARCHAR(5) NOT NULL, ADD UNIQUE (id, c)")
        .await
        .expect("alters");
    let table = server.table("t");
    for (key, value) in contents(&server.client, &codec::table::record_prefix(table.id)).await {
        let row = support::decode(&table, &key, &value);
        assert_eq!(row[3..], [Datum::Int(7), text("")]);
    }
    check_consistency(&server, "t").await;
    server.run("ALTER TABLE t ALTER c SET DEFAULT 9, DROP COLUMN a").await.expect("alters");
    let table = server.table("t");
    for (key, value) in contents(&server.client, &codec::table::record_prefix(table.id)).await {
        assert_eq!(support::decode(&table, &key, &value)[2], Datum::Int(7));
    }
}

#[tokio::test]
async fn dropped_data_is_destroyed_once_the_safe_point_has_passed() {
    let server = Server::start(&Cluster::default()).await;
    server.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20))").await.expect("creates");
    fill(&server, "t", 20).await;
    let table = server.table("t");
    server.run("TRUNCATE TABLE t").await.expect("truncates");
    assert_ne!(server.table("t").id, table.id);
    // Nothing has moved the safe point: old snapshots still read the rows.
    assert_eq!(server.ddl.destroy_old_ranges().await.expect("looks"), 0);
    assert_eq!(contents(&server.client, &table_prefix(table.id)).await.len(), 20);
    let _: Bytes = table_prefix(table.id).into();
}
