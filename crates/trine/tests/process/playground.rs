//! A whole cluster by one command: it is found again by a second start, and its processes end with it.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use testkit::{
    mysql::{Conn, OptsBuilder, prelude::Queryable as _},
    wait_until,
};

use crate::BINARY;

const PATIENCE: Duration = Duration::from_secs(120);

/// A playground that says where its SQL servers are.
struct Playground {
    child: Child,
    ports: Vec<u16>,
}

impl Playground {
    fn start(directory: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.arg("playground").arg("--data-dir").arg(directory).args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the binary runs");
        let mut ports = Vec::new();
        for line in BufReader::new(child.stdout.take().expect("it was asked for")).lines() {
            let line = line.expect("text");
            if let Some((_, rest)) = line.split_once("MySQL clients: 127.0.0.1:") {
                ports.push(rest.split(' ').next().and_then(|port| port.parse().ok()).expect("a port"));
            }
            if line.contains("stop with Ctrl-C") {
                break;
            }
        }
        assert!(!ports.is_empty(), "it did not start");
        Self { child, ports }
    }

    fn connect(&self, server: usize) -> Conn {
        let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(self.ports[server]).user(Some("root"));
        Conn::new(options.db_name(Some("test")).prefer_socket(false)).expect("a connection")
    }

    fn stop(mut self) {
        // SAFETY: a plain system call on a process that is ours and has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        let ended = wait_until("it stops", PATIENCE, || self.child.try_wait().expect("it is ours")).expect("it stops");
        assert!(ended.success(), "{ended}");
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        // It may have ended already; its processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_playground_is_found_again_and_grows_by_a_second_start() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let first = Playground::start(directory.path(), &[]);
    let mut connection = first.connect(0);
    connection.query_drop("CREATE TABLE kept (id INT PRIMARY KEY)").expect("a table");
    connection.query_drop("INSERT INTO kept VALUES (1), (2)").expect("rows");
    drop(connection);
    first.stop();
    let second = Playground::start(directory.path(), &["--sql", "2"]);
    for server in 0..2 {
        let rows: Vec<i64> = second.connect(server).query("SELECT id FROM kept ORDER BY id").expect("rows");
        assert_eq!(rows, [1, 2]);
    }
    let ports = second.ports.clone();
    drop(second);
    for port in ports {
        let gone = || std::net::TcpStream::connect(("127.0.0.1", port)).is_err().then_some(());
        wait_until("the processes end with the playground", PATIENCE, gone).expect("nobody listens");
    }
}
