//! What transactions see of each other, over real connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use testkit::{
    Server,
    mysql::{Conn, Error, prelude::Queryable as _},
    wait_until,
};

use crate::Scratch;

const ACCOUNTS: i64 = 10;
const START_BALANCE: i64 = 100;

fn run(conn: &mut Conn, statement: &str) {
    conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn one(conn: &mut Conn, query: &str) -> i64 {
    conn.query_first(query).unwrap_or_else(|error| panic!("{query}: {error}")).unwrap_or_else(|| panic!("{query}: no row"))
}

fn code(result: Result<(), Error>) -> u16 {
    match result {
        Err(Error::MySqlError(error)) => error.code,
        other => panic!("expected an error of the server, got {other:?}"),
    }
}

fn two(server: &Server, isolation: &str) -> (Conn, Conn) {
    let connect = || {
        let mut conn = server.connect_to(Some("test")).expect("connects");
        run(&mut conn, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
        conn
    };
    (connect(), connect())
}

fn with_rows() -> Scratch {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    run(&mut conn, "CREATE TABLE t (id INT PRIMARY KEY, v INT, KEY (v))");
    run(&mut conn, "INSERT INTO t VALUES (1, 10), (2, 20)");
    scratch
}

#[test]
fn bank_total_never_changes_under_concurrent_transfers() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    run(&mut conn, "CREATE TABLE accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, KEY (balance))");
    for id in 0..ACCOUNTS {
        run(&mut conn, &format!("INSERT INTO accounts VALUES ({id}, {START_BALANCE})"));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|writer: i64| {
            let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut transfers = 0;
                let mut step = writer;
                while !stop.load(Ordering::Relaxed) {
                    step = (step * 31 + 7) % 1009;
                    let (from, to) = (step % ACCOUNTS, (step / ACCOUNTS) % ACCOUNTS);
                    let statements = [
                        if writer % 2 == 0 { "BEGIN" } else { "BEGIN OPTIMISTIC" }.to_owned(),
                        format!("UPDATE accounts SET balance = balance - 1 WHERE id = {from}"),
                        format!("UPDATE accounts SET balance = balance + 1 WHERE id = {to}"),
                        "COMMIT".to_owned(),
                    ];
                    // Deadlocks and write conflicts end a transfer; they must not change the total either.
                    if statements.iter().all(|statement| conn.query_drop(statement).is_ok()) {
                        transfers += 1;
                    } else {
                        run(&mut conn, "ROLLBACK");
                    }
                }
                transfers
            })
        })
        .collect();
    let mut checks = 0;
    wait_until("a hundred checks", Duration::from_secs(60), || {
        assert_eq!(one(&mut conn, "SELECT SUM(balance) FROM accounts"), ACCOUNTS * START_BALANCE, "rows");
        assert_eq!(one(&mut conn, "SELECT SUM(balance) FROM accounts USE INDEX (balance)"), ACCOUNTS * START_BALANCE, "index");
        checks += 1;
        (checks >= 100).then_some(())
    })
    .expect("the reader makes progress");
    stop.store(true, Ordering::Relaxed);
    let transfers: i32 = writers.into_iter().map(|writer| writer.join().expect("no panic")).sum();
    assert!(transfers > 0, "no transfer succeeded");
    assert_eq!(one(&mut conn, "SELECT SUM(balance) FROM accounts"), ACCOUNTS * START_BALANCE);
    run(&mut conn, "ADMIN CHECK TABLE accounts");
}

#[test]
fn uncommitted_rows_are_invisible_at_every_level() {
    let scratch = with_rows();
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        let (mut a, mut b) = two(&scratch.server, level);
        run(&mut a, "BEGIN");
        run(&mut a, "UPDATE t SET v = 11 WHERE id = 1");
        assert_eq!(one(&mut b, "SELECT v FROM t WHERE id = 1"), 10, "{level}");
        assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 11, "{level}: its own write");
        run(&mut a, "ROLLBACK");
        assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 10, "{level}");
    }
}

#[test]
fn repeatable_read_keeps_its_snapshot_and_read_committed_moves_on() {
    let scratch = with_rows();
    for (level, expected) in [("REPEATABLE READ", 10), ("READ COMMITTED", 12)] {
        let (mut a, mut b) = two(&scratch.server, level);
        run(&mut b, "UPDATE t SET v = 10 WHERE id = 1");
        run(&mut a, "BEGIN");
        assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 10, "{level}");
        run(&mut b, "UPDATE t SET v = 12 WHERE id = 1");
        assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), expected, "{level}: point read");
        assert_eq!(one(&mut a, "SELECT COUNT(*) FROM t WHERE v = 12"), i64::from(expected == 12), "{level}: index read");
        run(&mut a, "COMMIT");
        assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 12, "{level}: behind the transaction");
    }
}

#[test]
fn concurrent_increments_are_not_lost() {
    let scratch = with_rows();
    let (mut a, b) = two(&scratch.server, "REPEATABLE READ");
    let mut b = b;
    run(&mut a, "BEGIN");
    assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 10);
    run(&mut b, "UPDATE t SET v = v + 1 WHERE id = 1");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE id = 1");
    run(&mut a, "COMMIT");
    assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 12);
    // An optimistic transaction notices at commit that its snapshot is behind.
    run(&mut a, "BEGIN OPTIMISTIC");
    run(&mut a, "UPDATE t SET v = v + 1 WHERE id = 1");
    run(&mut b, "UPDATE t SET v = v + 1 WHERE id = 1");
    assert!(a.query_drop("COMMIT").is_err(), "the commit must fail");
    assert_eq!(one(&mut a, "SELECT v FROM t WHERE id = 1"), 13);
}

#[test]
fn write_skew_is_possible_under_snapshots_and_prevented_by_locking_reads() {
    let scratch = with_rows();
    let (mut a, mut b) = two(&scratch.server, "REPEATABLE READ");
    for conn in [&mut a, &mut b] {
        run(conn, "BEGIN");
        assert_eq!(one(conn, "SELECT SUM(v) FROM t"), 30);
    }
    run(&mut a, "UPDATE t SET v = 0 WHERE id = 1");
    run(&mut b, "UPDATE t SET v = 0 WHERE id = 2");
    run(&mut a, "COMMIT");
    run(&mut b, "COMMIT");
    assert_eq!(one(&mut a, "SELECT SUM(v) FROM t"), 0, "documented: snapshots allow write skew");
    run(&mut a, "BEGIN");
    run(&mut a, "SELECT * FROM t FOR UPDATE");
    run(&mut b, "BEGIN");
    assert_eq!(code(b.query_drop("SELECT * FROM t FOR UPDATE NOWAIT")), 3572);
    let skipped: Vec<i64> = b.query("SELECT id FROM t FOR UPDATE SKIP LOCKED").expect("reads");
    assert!(skipped.is_empty());
    run(&mut a, "COMMIT");
    run(&mut b, "ROLLBACK");
}

#[test]
fn lock_wait_times_out_with_1205() {
    let scratch = with_rows();
    let (mut a, mut b) = two(&scratch.server, "REPEATABLE READ");
    run(&mut a, "BEGIN");
    run(&mut a, "UPDATE t SET v = 1 WHERE id = 1");
    run(&mut b, "SET innodb_lock_wait_timeout = 1");
    assert_eq!(code(b.query_drop("UPDATE t SET v = 2 WHERE id = 1")), 1205);
    run(&mut a, "ROLLBACK");
    run(&mut b, "UPDATE t SET v = 3 WHERE id = 1");
    assert_eq!(one(&mut b, "SELECT v FROM t WHERE id = 1"), 3);
}

#[test]
fn deadlock_ends_one_of_the_two_with_1213() {
    let scratch = with_rows();
    let (mut a, mut b) = two(&scratch.server, "REPEATABLE READ");
    for conn in [&mut a, &mut b] {
        run(conn, "BEGIN");
    }
    run(&mut a, "UPDATE t SET v = 1 WHERE id = 1");
    run(&mut b, "UPDATE t SET v = 2 WHERE id = 2");
    let waiting = std::thread::spawn(move || {
        let result = a.query_drop("UPDATE t SET v = 1 WHERE id = 2");
        (a, result)
    });
    let second = b.query_drop("UPDATE t SET v = 2 WHERE id = 1");
    if second.is_err() {
        assert_eq!(code(second), 1213);
        let (mut a, first) = waiting.join().expect("no panic");
        first.expect("the other one goes on");
        run(&mut a, "COMMIT");
    } else {
        run(&mut b, "COMMIT");
        let (_, first) = waiting.join().expect("no panic");
        assert_eq!(code(first), 1213);
    }
}

#[test]
fn savepoints_undo_a_part() {
    let scratch = with_rows();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    for statement in [
        "BEGIN",
        "INSERT INTO t VALUES (3, 30)",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (4, 40)",
        "UPDATE t SET v = 0 WHERE id = 1",
        "ROLLBACK TO s",
        "COMMIT",
    ] {
        run(&mut conn, statement);
    }
    let rows: Vec<(i64, i64)> = conn.query("SELECT id, v FROM t ORDER BY id").expect("reads");
    assert_eq!(rows, [(1, 10), (2, 20), (3, 30)]);
    assert_eq!(code(conn.query_drop("ROLLBACK TO nothing")), 1305);
}
