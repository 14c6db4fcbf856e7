//! Clients that write until the server goes away and remember what was acknowledged, and the check of what is there afterwards.
//!
//! A transaction writes one row into each of two tables and changes a counter, all under the client's next sequence number. So whatever is
//! found later tells by itself whether a transaction is torn (tables or counter differ), lost (a number at the end is missing) or was
//! skipped (a number in the middle is missing).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use testkit::{
    Server,
    mysql::{Conn, prelude::Queryable as _},
    wait_until,
};

const CLIENTS: u64 = 4;

/// What a client knows: the last sequence number that was acknowledged, and the one it may have lost the answer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded {
    acknowledged: u64,
    attempted: u64,
}

/// The knowledge of all clients.
#[derive(Clone, Debug)]
pub struct Record(Vec<Recorded>);

/// Clients at work.
pub struct Writers {
    stop: Arc<AtomicBool>,
    /// What each client has had acknowledged so far.
    acknowledged: Arc<[AtomicU64]>,
    before: u64,
    threads: Vec<JoinHandle<Recorded>>,
}

impl Record {
    /// Makes the tables; nothing was acknowledged yet.
    pub fn prepare(server: &Server) -> Self {
        let mut conn = server.connect_to(Some("test")).expect("connects");
        for statement in [
            "CREATE TABLE log_a (client INT, seq BIGINT, k INT, note VARCHAR(200), PRIMARY KEY (client, seq), KEY (k))",
            "CREATE TABLE log_b (id BIGINT AUTO_INCREMENT PRIMARY KEY, client INT, seq BIGINT, k INT, UNIQUE KEY (client, seq), KEY (k))",
            "CREATE TABLE counters (client INT PRIMARY KEY, n BIGINT, twice BIGINT, KEY (n))",
            "INSERT INTO counters VALUES (0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)",
        ] {
            conn.query_drop(statement).expect(statement);
        }
        Self(vec![Recorded::default(); CLIENTS as usize])
    }

    /// Starts the clients where they stopped before.
    pub fn write(&self, server: &Server) -> Writers {
        let stop = Arc::new(AtomicBool::new(false));
        let acknowledged: Arc<[AtomicU64]> = self.0.iter().map(|recorded| AtomicU64::new(recorded.acknowledged)).collect();
        let threads = (0..CLIENTS).map(|client| {
            let conn = server.connect_to(Some("test")).expect("connects");
            let (stop, acknowledged) = (stop.clone(), acknowledged.clone());
            std::thread::spawn(move || write_until_stopped(conn, client, &acknowledged[client as usize], &stop))
        });
        let before = self.0.iter().map(|recorded| recorded.acknowledged).sum();
        Writers { threads: threads.collect(), stop, acknowledged, before }
    }

    /// The knowledge as it was when `acknowledged` was read from the writers: what was acknowledged later counts as attempted.
    pub fn known_at(mut self, acknowledged: &[u64]) -> Self {
        for (recorded, &then) in self.0.iter_mut().zip(acknowledged) {
            recorded.acknowledged = then;
        }
        self
    }

    /// Every acknowledged transaction is there, an unacknowledged one is there whole or not at all. The clients go on from what they find.
    pub fn check(&mut self, server: &Server) {
        assert_eq!(self.lost(server), 0, "acknowledged commits are missing: {self:?}");
    }

    /// What is there is whole; answers how many acknowledged transactions are not. The clients go on from what they find.
    pub fn lost(&mut self, server: &Server) -> u64 {
        let mut lost = 0;
        for (recorded, survived) in self.0.iter_mut().zip(survivors(server)) {
            assert!(survived <= recorded.attempted, "{survived} commits survived, but only {recorded:?} were made");
            lost += recorded.acknowledged.saturating_sub(survived);
            *recorded = Recorded { acknowledged: survived, attempted: survived };
        }
        lost
    }
}

impl Writers {
    /// Commits acknowledged since the clients were started.
    pub fn commits(&self) -> u64 {
        self.acknowledged().iter().sum::<u64>() - self.before
    }

    /// What each client has had acknowledged so far.
    pub fn acknowledged(&self) -> Vec<u64> {
        self.acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect()
    }

    /// Waits until `commits` transactions are acknowledged.
    pub fn wait_for(&self, commits: u64) {
        wait_until("enough commits", Duration::from_secs(60), || (self.commits() >= commits).then_some(()))
            .expect("the writers make progress");
    }

    /// Lets the clients end.
    pub fn stop(self) -> Record {
        self.stop.store(true, Ordering::Relaxed);
        Record(self.threads.into_iter().map(|thread| thread.join().expect("no panic")).collect())
    }
}

fn write_until_stopped(mut conn: Conn, client: u64, acknowledged: &AtomicU64, stop: &AtomicBool) -> Recorded {
    let from = acknowledged.load(Ordering::SeqCst);
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
        acknowledged.store(sequence, Ordering::SeqCst);
    }
    recorded
}

/// The last sequence number of each client; fails when a transaction is torn or skipped, or an index disagrees with its table.
fn survivors(server: &Server) -> Vec<u64> {
    let mut conn = server.connect_to(Some("test")).expect("connects");
    let mut survived = Vec::new();
    for client in 0..CLIENTS {
        let row = |conn: &mut Conn, table: &str| -> (u64, u64) {
            conn.query_first(format!("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM {table} WHERE client = {client}"))
                .expect("reads")
                .expect("one row")
        };
        let (a, b) = (row(&mut conn, "log_a"), row(&mut conn, "log_b"));
        assert_eq!(a, b, "client {client}: a transaction is torn");
        let (count, last) = a;
        assert_eq!(count, last, "client {client}: a commit in the middle is missing");
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
