//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::logging::LEVELS;

/// A horizontally scalable SQL database that speaks MySQL.
///
/// Without arguments it starts everything in one process: a durable, transactional database in ./trine-data that MySQL clients reach at
/// 127.0.0.1:4000 as user root without a password.
#[derive(Debug, Parser)]
#[command(
    name = "trine",
    version = crate::version::long(),
    args_conflicts_with_subcommands = true,
    after_help = "Connect with:  mysql --host 127.0.0.1 --port 4000 --user root"
)]
pub struct Cli {
    /// A role to run by itself.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Directory of the store; created when missing [default: trine-data]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,

    /// Where clients connect.
    #[command(flatten)]
    pub listen: ListenArgs,

    /// Configuration and logging.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// What every role is told.
#[derive(Args, Debug)]
pub struct CommonArgs {
    /// Configuration file (TOML); flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Least severe level that is logged: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    pub log_level: Option<String>,
}

/// Where the SQL side listens.
#[derive(Args, Debug)]
pub struct ListenArgs {
    /// Address to listen on; 0.0.0.0 for all [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<String>,

    /// Port for MySQL clients; 0 for a free one [default: 4000]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Port of /status and /metrics; 0 for a free one [default: 10080]
    #[arg(long, value_name = "PORT")]
    pub status_port: Option<u16>,

    /// Certificate shown to MySQL clients (PEM) [default: one of the server's own]
    #[arg(long, value_name = "FILE")]
    pub ssl_cert: Option<String>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub ssl_key: Option<String>,

    /// Authorities whose client certificates are believed (PEM)
    #[arg(long, value_name = "FILE")]
    pub ssl_ca: Option<String>,

    /// Whether a server without a certificate makes one of its own [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub auto_tls: Option<bool>,

    /// Refuse MySQL clients that do not encrypt [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub require_secure_transport: Option<bool>,
}

/// Roles that run as processes of their own.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// One member of the placement driver: timestamps, ids, where regions are and where they should be.
    Pd(PdArgs),
    /// One store: regions replicated to other stores, served over gRPC.
    Kv(KvArgs),
    /// One SQL server over a cluster; it has no data of its own.
    Sql(SqlArgs),
    /// A whole cluster on this machine, each role a process of its own, to try things out.
    Playground(PlaygroundArgs),
    /// Shows and changes a running cluster: members, stores, regions, operators, schedulers, settings, safe points.
    Ctl(crate::ctl::CtlArgs),
    /// Measures Trine, or any server that speaks MySQL, by a scenario file, and writes a report.
    Bench {
        /// What is done.
        #[command(subcommand)]
        command: crate::bench::BenchCommand,
    },
}

/// Flags of `trine pd`; they win over the file.
#[derive(Args, Debug)]
pub struct PdArgs {
    /// Name of the member, unique in the cluster [default: pd]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Directory of log and snapshots; created when missing [default: trine-NAME]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,

    /// URLs to serve clients on [default: http://127.0.0.1:2379]
    #[arg(long, value_name = "URLS")]
    pub client_urls: Option<String>,

    /// URLs clients are told [default: those of --client-urls]
    #[arg(long, value_name = "URLS")]
    pub advertise_client_urls: Option<String>,

    /// URLs to serve the other members on [default: http://127.0.0.1:2380]
    #[arg(long, value_name = "URLS")]
    pub peer_urls: Option<String>,

    /// URLs the other members are told [default: those of --peer-urls]
    #[arg(long, value_name = "URLS")]
    pub advertise_peer_urls: Option<String>,

    /// First members of a new cluster: name=peer-url,… [default: this member alone]
    #[arg(long, value_name = "NAME=URL,…")]
    pub initial_cluster: Option<String>,

    /// Client URLs of members of a running cluster to join
    #[arg(long, value_name = "URLS")]
    pub join: Option<String>,

    /// Configuration and logging.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Flags of `trine kv`; they win over the file.
#[derive(Args, Debug)]
pub struct KvArgs {
    /// Client addresses of the placement driver's members [default: 127.0.0.1:2379]
    #[arg(long, value_name = "ADDRESS,…")]
    pub pd: Option<String>,

    /// Address to listen on [default: 127.0.0.1:20160]
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: Option<String>,

    /// Address others are told [default: that of --addr]
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise_addr: Option<String>,

    /// Address of the status page [default: 127.0.0.1:20180]
    #[arg(long, value_name = "HOST:PORT")]
    pub status_addr: Option<String>,

    /// Data directory; created when missing [default: trine-kv]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,

    /// Where the store stands: zone=z1,host=h1
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub labels: Option<String>,

    /// Configuration and logging.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Flags of `trine sql`; they win over the file.
#[derive(Args, Debug)]
pub struct SqlArgs {
    /// Client addresses of the placement driver's members [default: 127.0.0.1:2379]
    #[arg(long, value_name = "ADDRESS,…")]
    pub pd: Option<String>,

    /// Where clients connect.
    #[command(flatten)]
    pub listen: ListenArgs,

    /// Address other servers are told [default: that of --host]
    #[arg(long, value_name = "ADDRESS")]
    pub advertise_address: Option<String>,

    /// Configuration and logging.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Flags of `trine playground`.
#[derive(Args, Debug)]
pub struct PlaygroundArgs {
    /// Members of the placement driver [default: 1, or as many as there were]
    #[arg(long, value_name = "N")]
    pub pd: Option<usize>,

    /// Stores; three and more keep three copies of everything [default: 1, or as many as there were]
    #[arg(long, value_name = "N")]
    pub kv: Option<usize>,

    /// SQL servers [default: 1, or as many as there were]
    #[arg(long, value_name = "N")]
    pub sql: Option<usize>,

    /// Directory of all processes' data; a later start with the same one finds it
    #[arg(long, value_name = "DIR", default_value_os_t = crate::playground::default_directory())]
    pub data_dir: PathBuf,

    /// Least severe level that is logged: error, warn, info, debug or trace [default: warn]
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    pub log_level: Option<String>,
}
