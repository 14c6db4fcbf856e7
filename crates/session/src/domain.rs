//! What the sessions of one server share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicIsize, Ordering},
    },
    time::{Duration, Instant},
};

use base::TableId;
use catalog::{Catalog, ServerAbout};
use client::Client;
use ddl::Ddl;
use parking_lot::Mutex;
use planner::StatsSource;
use stats::{StatsCache, TableStats};
use tokio::{sync::Notify, task::JoinHandle};
use types::mysql_error::MysqlError;

use crate::{
    Error,
    accounts::{Account, Accounts},
    background,
    connections::ConnectionRegistry,
    deadlocks::DeadlockHistory,
    logins::Logins,
    persisted,
    plan_cache::SharedPlans,
    user_locks::UserLocks,
    users::PasswordHasher,
    vars::{Definition, GlobalVars, find},
};

/// How a server's SQL layer is set up.
#[derive(Clone)]
pub struct DomainConfig {
    /// Version of this program.
    pub version: String,
    /// Connections served at the same time.
    pub max_connections: usize,
    /// Whether plans are kept.
    pub plan_cache: bool,
    /// Plans kept.
    pub plan_cache_capacity: usize,
    /// Address and port clients connect to, for the variables of the same names.
    pub host: String,
    /// See `host`.
    pub port: u16,
    /// Data directory, for the variable `datadir`.
    pub data_dir: String,
    /// The address others are told; that of `host` when it is empty.
    pub advertise_address: String,
    /// The commit this program was built from.
    pub git_hash: &'static str,
    /// Variables of TLS: `have_ssl`, `ssl_cert`, `tls_version` and the like.
    pub tls_variables: Vec<(&'static str, String)>,
    /// Makes stored forms of passwords.
    pub hasher: Arc<dyn PasswordHasher>,
}

/// What the sessions of one server share.
pub struct Domain {
    client: Client,
    catalog: Catalog,
    ddl: Ddl,
    stats: Stats,
    globals: GlobalVars,
    accounts: Accounts,
    logins: Logins,
    connections: ConnectionRegistry,
    plans: SharedPlans,
    prepared: AtomicIsize,
    started: Instant,
    version: String,
    hasher: Arc<dyn PasswordHasher>,
    background: Mutex<Vec<JoinHandle<()>>>,
    stop: Notify,
    about: Mutex<ServerAbout>,
    deadlocks: DeadlockHistory,
    user_locks: Arc<UserLocks>,
}

/// Statistics as the planner asks for them.
pub(crate) struct Stats(pub StatsCache);

impl StatsSource for Stats {
    fn table_stats(&self, table: TableId) -> Option<Arc<TableStats>> {
        Some(self.0.get(table))
    }
}

impl Domain {
    /// Bootstraps an empty store or loads what is there, and starts what works in the background.
    pub async fn open(client: Client, config: DomainConfig) -> Result<Arc<Self>, Error> {
        let catalog = Catalog::load(client.clone()).await?;
        let number = catalog.servers().map_or(0, catalog::Servers::number);
        let stats = StatsCache::default();
        let ddl = Ddl::start(catalog.clone()).await?;
        // Clients decide by the number in front what they may ask for: it is that of the MySQL this server behaves like.
        let version = format!("8.0.36-Trine-{}", config.version);
        let globals = GlobalVars::new(config.tls_variables.into_iter().chain([
            ("version", version.clone()),
            ("port", config.port.to_string()),
            ("bind_address", config.host.clone()),
            ("datadir", config.data_dir.clone()),
            ("max_connections", config.max_connections.to_string()),
        ]));
        if !config.plan_cache {
            for name in ["tidb_enable_prepared_plan_cache", "tidb_enable_non_prepared_plan_cache"] {
                if let Some(definition) = find(name) {
                    globals.set(definition, Some("OFF".to_owned()));
                }
            }
        }
        let about = ServerAbout {
            host: if config.advertise_address.is_empty() { config.host } else { config.advertise_address },
            port: config.port,
            status_port: 0,
            version: version.clone(),
            git_hash: config.git_hash.to_owned(),
            started_ms: client.env().wall_ms(),
        };
        let domain = Arc::new(Self {
            client,
            catalog,
            ddl,
            stats: Stats(stats),
            globals,
            accounts: Accounts::default(),
            logins: Logins::default(),
            hasher: config.hasher,
            connections: ConnectionRegistry::new(config.max_connections, number),
            plans: SharedPlans::new(config.plan_cache_capacity),
            prepared: AtomicIsize::new(0),
            started: Instant::now(),
            version,
            background: Mutex::default(),
            stop: Notify::new(),
            about: Mutex::new(about),
            deadlocks: DeadlockHistory::default(),
            user_locks: Arc::default(),
        });
        stats::store::load(&domain.client, domain.stats()).await?;
        background::forget_dropped_tables(&domain).await?;
        domain.accounts.reload(&domain).await?;
        persisted::load(&domain).await?;
        crate::notices::load_variables(&domain).await?;
        *domain.background.lock() = background::start(&domain);
        Ok(domain)
    }

    /// The locks of GET_LOCK.
    pub(crate) fn user_locks(&self) -> &Arc<UserLocks> {
        &self.user_locks
    }

    /// Stops what works in the background. Sessions must have ended.
    pub async fn close(&self) {
        for task in self.background.lock().drain(..) {
            task.abort();
        }
        self.ddl.stop();
        if let Err(error) = self.leave().await {
            tracing::warn!(%error, "the other servers could not be told that this one stops; they wait until its lease is over");
        }
        if let Err(error) = self.catalog.auto_ids().release().await {
            tracing::warn!(%error, "unused AUTO_INCREMENT values could not be given back; they are skipped");
        }
    }

    /// Tells the other servers of the cluster that nobody has to wait for this one.
    async fn leave(&self) -> Result<(), Error> {
        let Some(servers) = self.catalog.servers() else { return Ok(()) };
        self.ddl.hand_over().await?;
        self.client.pd().remove_service_safe_point(&background::service_name(servers.id())).await?;
        Ok(servers.leave().await?)
    }

    /// The transaction client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The schema.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Schema changes.
    pub fn ddl(&self) -> &Ddl {
        &self.ddl
    }

    /// Statistics.
    pub fn stats(&self) -> &StatsCache {
        &self.stats.0
    }

    pub(crate) fn stats_source(&self) -> &dyn StatsSource {
        &self.stats
    }

    /// Global variables.
    pub fn globals(&self) -> &GlobalVars {
        &self.globals
    }

    /// Sets a global variable, and what follows from it.
    pub(crate) fn set_global(&self, definition: &'static Definition, value: Option<String>) {
        self.globals.set(definition, value);
        match definition.name {
            "max_connections" => self.connections.set_limit(self.globals.number("max_connections") as usize),
            "mandatory_roles" => self.accounts.set_mandatory_roles(&self.globals.get(definition)),
            _ => {}
        }
    }

    /// The port clients connect to is known: the variable `port`.
    pub fn set_port(&self, port: u16) {
        if let Some(definition) = find("port") {
            self.globals.set(definition, Some(port.to_string()));
        }
        self.describe(|about| about.port = port);
    }

    /// The port of the status page is known.
    pub fn set_status_port(&self, port: u16) {
        self.describe(|about| about.status_port = port);
    }

    /// Changes what the other servers are told of this one.
    fn describe(&self, change: impl FnOnce(&mut ServerAbout)) {
        let mut about = self.about.lock();
        change(&mut about);
        if let Some(servers) = self.catalog.servers() {
            servers.describe(about.clone());
        }
    }

    /// Deadlocks that statements of this server ran into.
    pub(crate) fn deadlocks(&self) -> &DeadlockHistory {
        &self.deadlocks
    }

    /// Where this server is and what runs here.
    pub(crate) fn about(&self) -> ServerAbout {
        self.about.lock().clone()
    }

    /// SHUTDOWN: whoever started the server is to stop it.
    pub(crate) fn request_stop(&self) {
        self.stop.notify_one();
    }

    /// Completes when a client has asked for the end of the server.
    pub async fn stop_requested(&self) {
        self.stop.notified().await;
    }

    /// Accounts and privileges.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The account a client that calls itself `user` at `client_host` belongs to.
    pub fn account(&self, user: &str, client_host: &str) -> Option<Arc<Account>> {
        self.accounts.find(user, client_host)
    }

    /// Fails while an account is locked for failed logins.
    pub fn admit_login(&self, account: &Account) -> Result<(), MysqlError> {
        self.logins.admit(account, self.client.env().wall_ms())
    }

    /// A wrong password was given; the error when that locks the account.
    pub fn login_failed(&self, account: &Account) -> Result<(), MysqlError> {
        self.logins.failed(account, self.client.env().wall_ms())
    }

    /// Whether an account has to change its password before anything else.
    pub fn has_expired_password(&self, account: &Account) -> bool {
        account.has_expired_password(self.globals.number("default_password_lifetime"), self.client.env().wall_ms())
    }

    /// Failed logins.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    pub(crate) fn password_hasher(&self) -> &dyn PasswordHasher {
        &*self.hasher
    }

    /// Connections of this server.
    pub fn connections(&self) -> &ConnectionRegistry {
        &self.connections
    }

    pub(crate) fn plans(&self) -> &SharedPlans {
        &self.plans
    }

    /// Version announced to clients.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// `max_connections`
    pub fn max_connections(&self) -> usize {
        self.connections.limit()
    }

    /// `max_allowed_packet`, in bytes.
    pub fn max_allowed_packet(&self) -> usize {
        self.globals.number("max_allowed_packet") as usize
    }

    /// `require_secure_transport`
    pub fn requires_secure_transport(&self) -> bool {
        self.globals.is_on("require_secure_transport")
    }

    /// Whether `protocol_compression_algorithms` names an algorithm: `zlib`, `zstd` or `uncompressed`.
    pub fn allows_compression(&self, algorithm: &str) -> bool {
        let allowed = find("protocol_compression_algorithms").map(|definition| self.globals.get(definition));
        allowed.is_some_and(|allowed| allowed.split(',').any(|name| name == algorithm))
    }

    /// `wait_timeout`
    pub fn wait_timeout(&self) -> Duration {
        Duration::from_secs(self.globals.number("wait_timeout"))
    }

    /// Time since the server started.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The answer to COM_STATISTICS.
    pub fn statistics_line(&self) -> String {
        let uptime = self.uptime().as_secs();
        let (hits, misses) = self.plans.hits_and_misses();
        let questions = hits + misses;
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: 0  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second \
             avg: {:.3}",
            self.connections.len(),
            questions as f64 / uptime.max(1) as f64
        )
    }

    /// Microseconds since the Unix epoch.
    pub(crate) fn wall_micros(&self) -> i64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
    }

    /// Prepared statements of all sessions.
    pub(crate) fn prepared_statements(&self) -> usize {
        self.prepared.load(Ordering::Relaxed).max(0) as usize
    }

    pub(crate) fn count_prepared(&self, change: isize) {
        self.prepared.fetch_add(change, Ordering::Relaxed);
    }
}
