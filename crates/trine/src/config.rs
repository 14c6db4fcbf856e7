//! The configuration file: TOML under the names that operators of the reference system know.
//!
//! One file may hold the keys of all three roles (`pd`, `kv`, `sql`); one process with all roles uses what applies to it and says at start
//! which settings have no effect there. An unknown key is an error that names the nearest known one. Flags win over the file.

use std::{collections::BTreeSet, path::Path};

use base::{ReadableDuration, ReadableSize};
use engine::EngineConfig;
use serde::{Deserialize, Serialize};

/// Known keys of the KV engine that the defaults do not show because they are empty there.
pub const OPTIONAL_ENGINE_KEYS: [&str; 4] = [
    "rocksdb.block-cache-size",
    "rocksdb.defaultcf.block-cache-size",
    "rocksdb.writecf.block-cache-size",
    "rocksdb.lockcf.block-cache-size",
];

/// Settings that mean something between processes only, with the reason to give when they stand in the file of a single one.
const NO_EFFECT_IN_ONE_PROCESS: [(&str, &str); 8] = [
    ("path", "the placement driver is in the same process"),
    ("advertise-address", "there are no other servers"),
    ("server.grpc-concurrency", "roles in one process call each other directly"),
    ("raftstore.store-pool-size", "the embedded store has no replicas"),
    ("raftstore.apply-pool-size", "the embedded store has no replicas"),
    ("replication.location-labels", "there is one store"),
    ("replication.max-replicas", "there is one store"),
    ("tikv-client.max-batch-wait-time", "requests between roles are not batched in one process"),
];

macro_rules! section {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $default:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize)]
        #[serde(default, rename_all = "kebab-case")]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }
    };
}

section!(
    /// Everything a file can say.
    Config {
        /// Address to listen on.
        host: String = "127.0.0.1".to_owned(),
        /// Port for MySQL clients.
        port: u16 = 4000,
        /// Address other SQL servers of a cluster are told; empty for `host`.
        advertise_address: String = String::new(),
        /// Client addresses of a cluster's placement driver, of `trine sql`.
        path: String = "127.0.0.1:2379".to_owned(),
        /// Directory of the store.
        data_dir: String = "trine-data".to_owned(),
        /// Least severe level that is logged: error, warn, info, debug, trace.
        log_level: String = String::new(),
        /// Logging.
        log: LogSection = LogSection::default(),
        /// Status port of a SQL server.
        status: StatusSection = StatusSection::default(),
        /// Network side of a store.
        server: ServerSection = ServerSection::default(),
        /// Threads for reads that wait for the disk.
        readpool: ReadPoolSection = ReadPoolSection::default(),
        /// The KV engine.
        rocksdb: EngineConfig = EngineConfig::default(),
        /// Replication and durability of a store.
        raftstore: RaftStoreSection = RaftStoreSection::default(),
        /// The store's directory and reserve.
        storage: StorageSection = StorageSection::default(),
        /// Placement of replicas.
        replication: ReplicationSection = ReplicationSection::default(),
        /// Plan caches.
        prepared_plan_cache: PlanCacheSection = PlanCacheSection::default(),
        /// Encryption of connections with MySQL clients.
        security: SecuritySection = SecuritySection::default(),
        /// The client between SQL server and stores.
        tikv_client: ClientSection = ClientSection::default(),
        /// Limits of statements and connections.
        performance: PerformanceSection = PerformanceSection::default(),
    }
);

section!(
    /// `[log]`
    LogSection {
        /// Least severe level that is logged; `log-level` at the top says the same.
        level: String = String::new(),
        /// `text` or `json`.
        format: String = "text".to_owned(),
    }
);

section!(
    /// `[status]`
    StatusSection {
        /// Whether there is a status port.
        report_status: bool = true,
        /// Address of the status port; empty for `host`.
        status_host: String = String::new(),
        /// Port of the status page.
        status_port: u16 = 10080,
    }
);

section!(
    /// `[server]`
    ServerSection {
        /// `address:port` of a store's status page. In one process it moves the status port.
        status_addr: String = String::new(),
        /// Threads that serve requests from other processes.
        grpc_concurrency: u32 = 4,
        /// Seconds running statements have to finish when the server stops.
        graceful_shutdown_timeout: ReadableDuration = ReadableDuration(std::time::Duration::from_secs(10)),
    }
);

section!(
    /// `[readpool]`
    ReadPoolSection {
        /// For point reads and small scans.
        storage: ReadPool = ReadPool::default(),
    }
);

section!(
    /// One pool of reading threads.
    ReadPool {
        /// Number of threads; 0 chooses by the machine.
        normal_concurrency: usize = 0,
    }
);

section!(
    /// `[raftstore]`
    RaftStoreSection {
        /// Whether a commit is on disk before it is acknowledged. Switched off, a power failure can lose the last commits.
        sync_log: bool = true,
        /// Threads that step regions.
        store_pool_size: u32 = 2,
        /// Threads that apply committed entries.
        apply_pool_size: u32 = 2,
    }
);

section!(
    /// `[storage]`
    StorageSection {
        /// Space kept free for the day the disk is full.
        reserve_space: ReadableSize = ReadableSize::mib(64),
    }
);

section!(
    /// `[replication]`
    ReplicationSection {
        /// Replicas of each region.
        max_replicas: u32 = 3,
        /// Labels of stores that say where they stand, widest first.
        location_labels: Vec<String> = Vec::new(),
    }
);

section!(
    /// `[prepared-plan-cache]`
    PlanCacheSection {
        /// Whether plans of prepared and text statements are kept.
        enabled: bool = true,
        /// Plans kept.
        capacity: usize = 1000,
    }
);

section!(
    /// `[security]`
    SecuritySection {
        /// PEM file with the certificate shown to MySQL clients.
        ssl_cert: String = String::new(),
        /// PEM file with its private key.
        ssl_key: String = String::new(),
        /// PEM file with authorities whose client certificates are believed.
        ssl_ca: String = String::new(),
        /// Whether a server without a certificate makes one of its own.
        auto_tls: bool = true,
        /// Protocol versions that are spoken.
        tls_version: String = "TLSv1.2,TLSv1.3".to_owned(),
        /// Whether clients that do not encrypt are refused.
        require_secure_transport: bool = false,
        /// Whether root is let in from everywhere while it has no password: for networks that nobody else is in.
        allow_empty_root_password: bool = false,
    }
);

section!(
    /// `[tikv-client]`
    ClientSection {
        /// Nanoseconds a request may wait for others to share its packet.
        max_batch_wait_time: u64 = 0,
    }
);

section!(
    /// `[performance]`
    PerformanceSection {
        /// Largest row or index entry.
        txn_entry_size_limit: ReadableSize = ReadableSize::mib(6),
        /// Connections served at the same time.
        max_connections: usize = 2000,
        /// Worker threads of the process; 0 takes one a core.
        max_procs: usize = 0,
    }
);

impl LogSection {
    /// The level in force: the key `log-level` at the top of the file, then `[log]`, then `info`.
    pub fn level_under<'a>(&'a self, top: &'a str) -> &'a str {
        [top, &self.level].into_iter().find(|level| !level.is_empty()).unwrap_or("info")
    }
}

/// A file that cannot be used.
#[derive(Debug)]
pub struct ConfigError(String);

impl ConfigError {
    /// An error that says `text`.
    pub fn new(text: String) -> Self {
        Self(text)
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// Reads a file; also returns the settings in it that have no effect in a single process.
    pub fn load(path: &Path) -> Result<(Self, Vec<String>), ConfigError> {
        load(path, Self::parse)
    }

    fn parse(text: &str) -> Result<(Self, Vec<String>), String> {
        let config: Config = parse_checked(text, &OPTIONAL_ENGINE_KEYS)?;
        let mut given = BTreeSet::new();
        flatten(&text.parse().map_err(|error: toml::de::Error| error.to_string())?, "", &mut given);
        let notes = NO_EFFECT_IN_ONE_PROCESS
            .iter()
            .filter(|(key, _)| given.contains(*key))
            .map(|(key, reason)| format!("`{key}` has no effect in one process: {reason}"))
            .collect();
        Ok((config, notes))
    }

    /// Where the status page is served: `server.status-addr` when given, else `[status]`.
    pub fn status_address(&self) -> Result<(String, u16), ConfigError> {
        if self.server.status_addr.is_empty() {
            let host = if self.status.status_host.is_empty() { &self.host } else { &self.status.status_host };
            return Ok((host.clone(), self.status.status_port));
        }
        let invalid = || ConfigError(format!("server.status-addr {:?} is not of the form address:port", self.server.status_addr));
        let (host, port) = self.server.status_addr.rsplit_once(':').ok_or_else(invalid)?;
        Ok((host.trim_matches(['[', ']']).to_owned(), port.parse().map_err(|_| invalid())?))
    }
}

/// Reads the file of a role; what is wrong with it is said with its name.
pub fn load<C>(path: &Path, parse: impl FnOnce(&str) -> Result<C, String>) -> Result<C, ConfigError> {
    let fail = |what: String| ConfigError(format!("configuration file {}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    parse(&text).map_err(fail)
}

/// Reads the text of a role's file. Its keys are those of the defaults and `optional`, which the defaults do not show because they are empty there.
pub fn parse_checked<C: Default + Serialize + serde::de::DeserializeOwned>(text: &str, optional: &[&str]) -> Result<C, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim_end().to_owned())?;
    let mut given = BTreeSet::new();
    flatten(&table, "", &mut given);
    let known = known_keys::<C>(optional);
    if let Some(key) = given.iter().find(|key| !known.contains(*key)) {
        return Err(unknown_key(key, &known));
    }
    toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
}

/// All keys of a file, dotted.
fn known_keys<C: Default + Serialize>(optional: &[&str]) -> BTreeSet<String> {
    let mut keys: BTreeSet<String> = optional.iter().map(|key| (*key).to_owned()).collect();
    let defaults = toml::Table::try_from(C::default()).expect("the defaults are representable in TOML");
    flatten(&defaults, "", &mut keys);
    keys
}

fn flatten(table: &toml::Table, prefix: &str, keys: &mut BTreeSet<String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(inner) => flatten(inner, &key, keys),
            _ => {
                keys.insert(key);
            }
        }
    }
}

fn unknown_key(key: &str, known: &BTreeSet<String>) -> String {
    let nearest =
        known.iter().max_by(|a, b| strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key))).map_or("", String::as_str);
    format!("unknown key `{key}`; the nearest known key is `{nearest}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_files_are_accepted_as_they_are() {
        for text in [
            "log-level = \"error\"\n[server]\nstatus-addr = \"0.0.0.0:20180\"\ngrpc-concurrency = 6\n[readpool.storage]\nnormal-concurrency = 10\n\
             [rocksdb.defaultcf]\nblock-cache-size = \"14GB\"\n[rocksdb.writecf]\nblock-cache-size = \"8GB\"\n[rocksdb.lockcf]\n\
             block-cache-size = \"1GB\"\n[raftstore]\napply-pool-size = 3\nstore-pool-size = 3\n",
            "log-level = \"error\"\n[raftstore]\nsync-log = false\n[rocksdb.defaultcf]\nblock-cache-size = \"24GB\"\n",
            "[log]\nlevel = \"info\"\n[replication]\nlocation-labels = [\"region\", \"zone\", \"rack\", \"host\"]\n",
            "[log]\nlevel = \"error\"\n[prepared-plan-cache]\nenabled = true\n[tikv-client]\nmax-batch-wait-time = 2000000\n",
        ] {
            Config::parse(text).expect(text);
        }
        let (config, notes) = Config::parse("[raftstore]\nstore-pool-size = 3\nsync-log = false").expect("valid");
        assert!(!config.raftstore.sync_log);
        assert_eq!(notes, ["`raftstore.store-pool-size` has no effect in one process: the embedded store has no replicas"]);
    }

    #[test]
    fn unknown_key_is_named_with_the_nearest_known_one() {
        let error = Config::parse("[raftstore]\nsync-lgo = false").expect_err("unknown");
        assert_eq!(error, "unknown key `raftstore.sync-lgo`; the nearest known key is `raftstore.sync-log`");
        let error = Config::parse("prot = 1").expect_err("unknown");
        assert!(error.contains("`port`"), "{error}");
    }

    #[test]
    fn wrong_types_and_syntax_are_errors_with_a_position() {
        assert!(Config::parse("port = \"x\"").expect_err("wrong type").contains("line 1"));
        assert!(Config::parse("port = ").expect_err("syntax").contains("line 1"));
    }
}
