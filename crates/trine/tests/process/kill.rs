//! KILL of statements that wait.

use std::time::{Duration, Instant};

use testkit::{
    mysql::{self, Conn, prelude::Queryable as _},
    wait_until,
};

use crate::Scratch;

/// Starts a statement on a connection of its own, kills it as soon as it runs, and answers what came of it.
fn killed(scratch: &Scratch, statement: &'static str) -> Result<Vec<i64>, mysql::Error> {
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    let id = conn.connection_id();
    let waiting = std::thread::spawn(move || {
        let answer = conn.query::<i64, _>(statement);
        // The connection itself goes on.
        assert_eq!(conn.query_first::<i64, _>("SELECT 5").expect("answers"), Some(5));
        answer
    });
    let mut watcher: Conn = scratch.server.connect_to(Some("test")).expect("connects");
    let running = format!("SELECT 1 FROM information_schema.processlist WHERE id = {id} AND info = '{statement}'");
    wait_until("the statement runs", Duration::from_secs(30), || watcher.query_first::<i64, _>(&running).expect("answers"))
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
    let began = Instant::now();
    watcher.query_drop(format!("KILL QUERY {id}")).expect("kills");
    let answer = waiting.join().expect("no panic");
    assert!(began.elapsed() < Duration::from_secs(60), "{statement}");
    answer
}

#[test]
fn sleep_alone_says_that_it_was_interrupted_and_is_an_error_beside_rows() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE t (a INT PRIMARY KEY)").expect("creates");
    conn.query_drop("INSERT INTO t VALUES (1), (2)").expect("inserts");
    for alone in ["SELECT SLEEP(600)", "SELECT SLEEP(600) + 0"] {
        assert_eq!(killed(&scratch, alone).unwrap_or_else(|error| panic!("{alone}: {error}")), [1]);
    }
    for statement in ["SELECT SLEEP(600) FROM t", "SELECT SLEEP(600) FROM t WHERE a = 1"] {
        match killed(&scratch, statement) {
            Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1317, "{statement}"),
            other => panic!("{statement}: {other:?}"),
        }
    }
}
