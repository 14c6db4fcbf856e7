//! Tests that run the real binary as processes: the command line, crashes, power loss, full disks, the real sysbench, TPC-C, SQL scripts, bad input, stores of a cluster and
//! SQL servers over them, machines that fail.

mod accounts;
mod authentication;
mod bad_input;
mod bench;
mod cluster_servers;
mod cluster_sql;
mod command_line;
mod crash;
mod ctl;
mod disk_full;
mod faults;
mod foreign_keys;
mod isolation;
mod kill;
mod load_data;
mod long_run;
mod metrics;
mod pd;
mod playground;
mod power_loss;
mod protocol;
mod pushed_down;
mod raw_client;
mod recording;
mod region_merge;
mod scripts;
mod slow_readers;
mod stores;
mod sysbench;
mod tls;
mod tpcc;

use testkit::{Server, ServerOptions};

/// The binary under test.
const BINARY: &str = env!("CARGO_BIN_EXE_trine");

/// A server with its data in a temporary directory that lives as long as it does.
struct Scratch {
    server: Server,
    directory: tempfile::TempDir,
}

impl Scratch {
    fn start() -> Self {
        Self::with_config("")
    }

    fn with_config(config: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(&options(&directory, config)).expect("the server starts");
        Self { server, directory }
    }

    /// Kills the server and starts it again on the same data.
    fn crash_and_restart(self) -> Self {
        self.server.kill().expect("the server is killed");
        let server = Server::start(&options(&self.directory, "")).expect("the server starts again");
        Self { server, directory: self.directory }
    }
}

fn options(directory: &tempfile::TempDir, config: &str) -> ServerOptions {
    ServerOptions { config: config.to_owned(), ..ServerOptions::new(BINARY, directory.path().join("data")) }
}
