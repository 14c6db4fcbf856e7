//! The command line.

use std::path::PathBuf;

use clap::Parser;

/// A horizontally scalable SQL database that speaks MySQL.
///
/// Without arguments it starts everything in one process: a durable, transactional database in ./trine-data that MySQL clients reach at
/// 127.0.0.1:4000 as user root without a password.
#[derive(Debug, Parser)]
#[command(name = "trine", version, after_help = "Connect with:  mysql --host 127.0.0.1 --port 4000 --user root")]
pub struct Cli {
    /// Directory of the store; created when missing [default: trine-data]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Address to listen on; 0.0.0.0 for all [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<String>,

    /// Port for MySQL clients; 0 for a free one [default: 4000]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Port of /status and /metrics; 0 for a free one [default: 10080]
    #[arg(long, value_name = "PORT")]
    pub status_port: Option<u16>,

    /// Configuration file (TOML); flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Least severe level that is logged: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub log_level: Option<String>,
}
