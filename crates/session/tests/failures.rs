//! What a statement that panics leaves behind, and what others see of it.

use std::{
    cell::Cell,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use base::TimeStamp;
use client::Client;
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::{BoxFuture, Clock, Env, Instant, SystemClock, SystemRng, TokioSpawn};
use session::{ClientInfo, Domain, DomainConfig, PasswordHasher, Session, StatementResult};
use txn::{Storage, StorageOptions};
use types::{Datum, MysqlError};

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

struct NoPasswords;

impl PasswordHasher for NoPasswords {
    fn knows(&self, _plugin: &str) -> bool {
        true
    }

    fn hash(&self, _plugin: &str, _password: &[u8]) -> String {
        String::new()
    }

    fn is_hash(&self, _plugin: &str, _stored: &str) -> bool {
        true
    }
}

/// A server in memory whose clock can be broken.
async fn server() -> Arc<Domain> {
    let env = Env::new(Arc::new(FaultyClock(SystemClock::new())), Arc::new(SystemRng), Arc::new(TokioSpawn));
    let engine = MemEngine::default();
    let pd = pd::EmbeddedPd::open(engine.clone(), env.clone()).expect("the placement driver opens");
    let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("the commit thread starts");
    let options = StorageOptions::new(env.clone(), pd.last_timestamp().max(TimeStamp(1)), Arc::new(AtomicU64::new(0)));
    let storage = Storage::open(engine, queue, options).expect("the store opens");
    let client = Client::embedded(storage, pd, env);
    let config = DomainConfig {
        version: "test".to_owned(),
        max_connections: 10,
        plan_cache: true,
        plan_cache_capacity: 100,
        host: "127.0.0.1".to_owned(),
        port: 0,
        data_dir: String::new(),
        advertise_address: String::new(),
        git_hash: "",
        tls_variables: Vec::new(),
        hasher: Arc::new(NoPasswords),
    };
    Domain::open(client, config).await.expect("the domain opens")
}

fn connect(domain: &Arc<Domain>) -> Session {
    let handle = domain.connections().register().expect("room for a connection");
    let info = ClientInfo { user: "root".to_owned(), account_host: "%".to_owned(), ..ClientInfo::default() };
    Session::new(domain, handle, info)
}

/// The rows of a statement; none for one without rows.
async fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Datum>>, MysqlError> {
    let (result, _) = session.query(sql.as_bytes()).await?;
    let StatementResult::Rows(mut stream) = result else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    while let Some(chunk) = session.fetch(&mut stream).await? {
        all.extend(chunk.iter().map(|row| row.to_datums()));
    }
    Ok(all)
}

async fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
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
