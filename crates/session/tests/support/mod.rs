//! A server in memory, and what a client does with it.

use std::sync::{Arc, atomic::AtomicU64};

use base::TimeStamp;
use client::Client;
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::{Clock, Env, SystemRng, TokioSpawn};
use session::{ClientInfo, Domain, DomainConfig, PasswordHasher, Session, StatementResult};
use txn::{Storage, StorageOptions};
use types::{Datum, MysqlError};

/// Passwords are stored as they are.
struct NoPasswords;

impl PasswordHasher for NoPasswords {
    fn knows(&self, _plugin: &str) -> bool {
        true
    }

    fn hash(&self, _plugin: &str, password: &[u8]) -> String {
        String::from_utf8_lossy(password).into_owned()
    }

    fn is_hash(&self, _plugin: &str, _stored: &str) -> bool {
        true
    }

    fn verify(&self, _plugin: &str, stored: &str, password: &[u8]) -> bool {
        stored.as_bytes() == password
    }
}

/// A server by a clock.
pub async fn server(clock: Arc<dyn Clock>) -> Arc<Domain> {
    let env = Env::new(clock, Arc::new(SystemRng), Arc::new(TokioSpawn));
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

/// A connection of `user@'%'`, which is let in.
pub fn connect(domain: &Arc<Domain>, user: &str) -> Session {
    let handle = domain.connections().register().expect("room for a connection");
    let (user, client_host) = (user.to_owned(), "127.0.0.1".to_owned());
    let info = ClientInfo { login: user.clone(), user, account_host: "%".to_owned(), client_host, ..ClientInfo::default() };
    Session::new(domain, handle, info)
}

/// The rows of a statement; none for one without rows.
pub async fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<Datum>>, MysqlError> {
    let (result, _) = session.query(sql.as_bytes()).await?;
    let StatementResult::Rows(mut stream) = result else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    while let Some(chunk) = session.fetch(&mut stream).await? {
        all.extend(chunk.iter().map(|row| row.to_datums()));
    }
    Ok(all)
}

pub async fn run(session: &mut Session, statements: &[&str]) {
    for sql in statements {
        rows(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}
