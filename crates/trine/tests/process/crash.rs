//! `kill -9` under write load: what was acknowledged is there, nothing is torn, indexes agree with rows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use testkit::{Server, mysql::prelude::Queryable as _, wait_until};

use crate::Scratch;

const CLIENTS: u64 = 4;
const ROUNDS: usize = 10;
/// Acknowledged commits to wait for before each kill.
const COMMITS_PER_ROUND: u64 = 200;

/// What a recording client knows: the last sequence number that was acknowledged, and the one it may have lost the answer to.
#[derive(Clone, Copy, Debug, Default)]
struct Recorded {
    acknowledged: u64,
    attempted: u64,
}

/// Writes pairs of rows, one in each of two tables, in one transaction, until the server goes away.
fn write_until_killed(mut conn: testkit::mysql::Conn, client: u64, from: u64, stop: &AtomicBool, commits: &AtomicU64) -> Recorded {
    let mut recorded = Recorded { acknowledged: from, attempted: from };
    while !stop.load(Ordering::Relaxed) {
        let sequence = recorded.acknowledged + 1;
        recorded.attempted = sequence;
        let statements = [
            "BEGIN".to_owned(),
            format!("INSERT INTO log_a (client, seq, k, note) VALUES ({client}, {sequence}, {sequence} % 17, REPEAT('x', 100))"),
            format!("INSERT INTO log_b (client, seq, k) VALUES ({client}, {sequence}, {sequence} % 13)"),
            format!("UPDATE counters SET n = n + 1, twice = twice + 2 WHERE client = {client}"),
            "COMMIT".to_owned(),
        ];
        for statement in &statements {
            if conn.query_drop(statement).is_err() {
                return recorded;
            }
        }
        recorded.acknowledged = sequence;
        commits.fetch_add(1, Ordering::Relaxed);
    }
    recorded
}

/// Every acknowledged transaction is there, an unacknowledged one is there whole or not at all.
fn check(server: &Server, recorded: &[Recorded]) -> Vec<u64> {
    let mut conn = server.connect_to(Some("test")).expect("connects");
    let mut survived = Vec::new();
    for (client, recorded) in recorded.iter().enumerate() {
        let row = |conn: &mut testkit::mysql::Conn, table: &str| -> (u64, u64) {
            conn.query_first(format!("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM {table} WHERE client = {client}"))
                .expect("reads")
                .expect("one row")
        };
        let (a, b) = (row(&mut conn, "log_a"), row(&mut conn, "log_b"));
        assert_eq!(a, b, "client {client}: a transaction is torn ({recorded:?})");
        let (count, last) = a;
        assert_eq!(count, last, "client {client}: a commit in the middle is missing ({recorded:?})");
        assert!(last >= recorded.acknowledged, "client {client}: {last} commits survived, but {recorded:?}");
        assert!(last <= recorded.attempted, "client {client}: {last} commits survived, but only {recorded:?} were made");
        let (n, twice): (u64, u64) =
            conn.query_first(format!("SELECT n, twice FROM counters WHERE client = {client}")).expect("reads").expect("one row");
        assert_eq!((n, twice), (last, last * 2), "client {client}: an update is torn");
        survived.push(last);
    }
    for table in ["log_a", "log_b", "counters"] {
        conn.query_drop(format!("ADMIN CHECK TABLE {table}")).unwrap_or_else(|error| panic!("{table}: {error}"));
    }
    survived
}

#[test]
fn acknowledged_commits_survive_ten_kills() {
    let mut scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    for statement in [
        "CREATE TABLE log_a (client INT, seq BIGINT, k INT, note VARCHAR(200), PRIMARY KEY (client, seq), KEY (k))",
        "CREATE TABLE log_b (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT, seq BIGINT, k INT, UNIQUE KEY (client, seq), KEY (k))",
        "CREATE TABLE counters (client INT PRIMARY KEY, n BIGINT, twice BIGINT, KEY (n))",
        "INSERT INTO counters VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)",
    ] {
        conn.query_drop(statement).expect(statement);
    }
    drop(conn);
    let mut recorded = vec![Recorded::default(); CLIENTS as usize];
    for round in 0..ROUNDS {
        let stop = Arc::new(AtomicBool::new(false));
        let commits = Arc::new(AtomicU64::new(0));
        let writers: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let conn = scratch.server.connect_to(Some("test")).expect("connects");
                let (stop, commits, from) = (stop.clone(), commits.clone(), recorded[client as usize].acknowledged);
                std::thread::spawn(move || write_until_killed(conn, client, from, &stop, &commits))
            })
            .collect();
        wait_until("enough commits", Duration::from_secs(60), || (commits.load(Ordering::Relaxed) >= COMMITS_PER_ROUND).then_some(()))
            .expect("the writers make progress");
        let started = Instant::now();
        scratch = scratch.crash_and_restart();
        println!("round {round}: {} commits, recovered in {:?}", commits.load(Ordering::Relaxed), started.elapsed());
        stop.store(true, Ordering::Relaxed);
        recorded = writers.into_iter().map(|writer| writer.join().expect("no panic")).collect();
        let survived = check(&scratch.server, &recorded);
        for (recorded, survived) in recorded.iter_mut().zip(survived) {
            *recorded = Recorded { acknowledged: survived, attempted: survived };
        }
    }
}
