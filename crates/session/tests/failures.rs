//! What a statement that panics leaves behind, and what others see of it.

mod support;

use std::{cell::Cell, sync::Arc, time::Duration};

use env::{BoxFuture, Clock, Instant, SystemClock};
use session::{Domain, Session};
use support::{rows, run};
use types::Datum;

tokio::task_local! {
    /// Whether the clock is to panic the next time this task asks it.
    static BREAKS: Cell<bool>;
}

/// A clock that panics once for a task under [`BREAKS`], such as when a statement asks for the time of its deadline.
struct FaultyClock(SystemClock);

impl Clock for FaultyClock {
    fn now(&self) -> Instant {
        assert!(!BREAKS.try_with(|breaks| breaks.replace(false)).unwrap_or(false), "the clock is broken");
        self.0.now()
    }

    fn wall_ms(&self) -> u64 {
        self.0.wall_ms()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<()> {
        self.0.sleep(duration)
    }
}

/// A server whose clock can be broken.
async fn server() -> Arc<Domain> {
    support::server(Arc::new(FaultyClock(SystemClock::new()))).await
}

fn connect(domain: &Arc<Domain>) -> Session {
    support::connect(domain, "root")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_is_error_1105_and_takes_only_its_connection_and_transaction() {
    let domain = server().await;
    let (mut broken, mut other) = (connect(&domain), connect(&domain));
    run(&mut broken, &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 1)"]).await;
    run(&mut broken, &["SET max_execution_time = 60000", "BEGIN", "UPDATE d.t SET v = 2 WHERE id = 1"]).await;

    let error = BREAKS.scope(Cell::new(true), rows(&mut broken, "SELECT COUNT(*) FROM d.t")).await.expect_err("the clock panics");
    assert_eq!(error.code, 1105);
    assert!(error.message.contains("the clock is broken"), "{}", error.message);
    assert!(!broken.in_transaction());
    assert!(rows(&mut broken, "SELECT 1").await.is_err(), "the connection is on its way out");

    // Neither the row's lock nor its change is left, although the connection is still there.
    let found = rows(&mut other, "SELECT v FROM d.t WHERE id = 1 FOR UPDATE NOWAIT").await.expect("nobody holds the lock");
    assert_eq!(found, [[Datum::Int(1)]]);
    broken.close().await;
    run(&mut other, &["UPDATE d.t SET v = 3 WHERE id = 1", "ALTER TABLE d.t ADD INDEX (v)"]).await;
    assert_eq!(rows(&mut other, "SELECT id FROM d.t WHERE v = 3").await.expect("reads"), [[Datum::Int(1)]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn committed_changes_reach_the_statistics_and_others_do_not() {
    let domain = server().await;
    let mut session = connect(&domain);
    run(&mut session, &["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)"]).await;
    let table = domain.catalog().current().table("d", "t").expect("there").id;
    let values = |from: i32, to: i32| (from..to).map(|id| format!("({id}, 0)")).collect::<Vec<_>>().join(",");
    let count = |domain: &Domain| {
        domain.stats().fold(table);
        domain.stats().get(table).row_count
    };
    run(&mut session, &[&format!("INSERT INTO d.t VALUES {}", values(0, 500))]).await;
    assert_eq!(count(&domain), 500.0);
    run(&mut session, &["BEGIN", "DELETE FROM d.t WHERE id < 100", "SAVEPOINT s", "DELETE FROM d.t", "ROLLBACK TO s"]).await;
    assert_eq!(count(&domain), 500.0, "nothing is committed yet");
    run(&mut session, &["UPDATE d.t SET v = 1 WHERE id = 200", "COMMIT"]).await;
    assert_eq!(count(&domain), 400.0);
    run(&mut session, &["BEGIN", "DELETE FROM d.t", "ROLLBACK"]).await;
    assert_eq!(count(&domain), 400.0);
    run(&mut session, &["REPLACE INTO d.t VALUES (200, 7), (1, 7)", "INSERT IGNORE INTO d.t VALUES (1, 1), (2, 2)"]).await;
    assert_eq!(count(&domain), 402.0);
    assert_eq!(domain.stats().get(table).modify_count, 500.0 + 100.0 + 1.0 + 3.0 + 1.0);
}
