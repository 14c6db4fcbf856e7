//! What a person meets at the command line.

use std::{
    net::TcpListener,
    process::{Command, Output},
    time::{Duration, Instant},
};

use testkit::{Server, mysql::prelude::Queryable as _, wait_until};

use crate::{BINARY, Scratch, options};

/// Runs the binary to its end, which must come soon.
pub fn run(args: &[&str]) -> Output {
    let child = Command::new(BINARY)
        .args(args)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let pid = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(Duration::from_secs(30)) {
        Ok(output) => output.expect("the binary ends"),
        Err(_) => {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status(); // The test fails either way.
            panic!("trine {args:?} did not end");
        }
    }
}

/// Asserts that the binary refuses `args` with one line that contains all of `parts`.
pub fn refused(args: &[&str], parts: &[&str]) {
    let output = run(args);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{args:?} succeeded: {text}");
    let complaint = text.lines().filter(|line| line.starts_with("trine: ")).collect::<Vec<_>>();
    assert_eq!(complaint.len(), 1, "{args:?}: {text}");
    for part in parts {
        assert!(complaint[0].contains(part), "{args:?}: {part:?} is not in {text}");
    }
}

#[test]
fn help_names_every_flag() {
    let output = run(&["--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success());
    for flag in ["--data-dir", "--host", "--port", "--status-port", "--config", "--log-level"] {
        assert!(text.contains(flag), "{flag} is not in {text}");
    }
}

#[test]
fn second_process_on_the_same_directory_is_refused() {
    let scratch = Scratch::start();
    let data = scratch.directory.path().join("data");
    refused(&["--data-dir", &data.to_string_lossy(), "--port=0", "--status-port=0"], &["in use", &data.to_string_lossy()]);
}

#[test]
fn busy_port_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port().to_string();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let data = data.to_string_lossy();
    refused(&["--data-dir", &data, "--port", &port, "--status-port=0"], &[&port, "another process listens there"]);
    refused(&["--data-dir", &data, "--port=0", "--status-port", &port], &[&port, "status port"]);
}

#[test]
fn unusable_directory_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let below_a_file = file.path().join("data");
    refused(&["--data-dir", &below_a_file.to_string_lossy(), "--port=0", "--status-port=0"], &[&below_a_file.to_string_lossy()]);
}

#[test]
fn wrong_configuration_names_the_key_and_the_nearest_known_one() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_string_lossy().into_owned();
    std::fs::write(file.path(), "[raftstore]\nsync-lgo = false\n").expect("written");
    refused(&["--config", &path], &["raftstore.sync-lgo", "raftstore.sync-log", &path]);
    refused(&["--config", "/nonexistent/file"], &["/nonexistent/file"]);
}

#[test]
fn published_configuration_files_are_accepted() {
    for text in [
        "log-level = \"error\"\n[server]\nstatus-addr = \"127.0.0.1:0\"\ngrpc-concurrency = 6\n[readpool.storage]\nnormal-concurrency = 10\n\
         [rocksdb.defaultcf]\nblock-cache-size = \"14GB\"\n[rocksdb.writecf]\nblock-cache-size = \"8GB\"\n[rocksdb.lockcf]\n\
         block-cache-size = \"1GB\"\n[raftstore]\napply-pool-size = 3\nstore-pool-size = 3\n",
        "[log]\nlevel = \"error\"\n[prepared-plan-cache]\nenabled = true\n[tikv-client]\nmax-batch-wait-time = 2000000\n",
        "[log]\nlevel = \"info\"\n[replication]\nlocation-labels = [\"region\", \"zone\", \"rack\", \"host\"]\n",
    ] {
        let scratch = Scratch::with_config(text);
        let mut conn = scratch.server.connect().expect("connects");
        assert_eq!(conn.query_first::<i64, _>("SELECT 1").expect("answers"), Some(1));
    }
}

#[test]
fn sigterm_lets_a_running_statement_finish_and_exits_with_zero() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    let mut observer = scratch.server.connect().expect("connects");
    let statement = std::thread::spawn(move || conn.query_first::<i64, _>("SELECT SLEEP(1)"));
    wait_until("the statement runs", Duration::from_secs(10), || {
        let query = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'";
        (observer.query_first::<u64, _>(query).ok()?? > 0).then_some(())
    })
    .expect("visible in the process list");
    let status = scratch.server.terminate().expect("ends");
    assert!(status.success(), "{status:?}");
    assert_eq!(statement.join().expect("no panic").expect("the statement finished"), Some(0));
}

#[test]
fn data_survives_an_orderly_restart() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))").expect("creates");
    conn.query_drop("INSERT INTO t VALUES (1, 'one'), (2, 'two')").expect("inserts");
    drop(conn);
    let Scratch { server, directory } = scratch;
    assert!(server.terminate().expect("ends").success());
    let started = Instant::now();
    let server = Server::start(&options(&directory, "")).expect("starts again");
    println!("restart took {:?}", started.elapsed());
    let mut conn = server.connect_to(Some("test")).expect("connects");
    let rows: Vec<(i32, String)> = conn.query("SELECT id, v FROM t ORDER BY id").expect("reads");
    assert_eq!(rows, [(1, "one".to_owned()), (2, "two".to_owned())]);
}

#[test]
fn persisted_variables_outlive_a_kill_and_plain_globals_do_not() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect().expect("connects");
    let number = |conn: &mut testkit::mysql::Conn, name: &str| -> i64 {
        conn.query_first(format!("SELECT @@GLOBAL.{name}")).expect("answers").expect("a row")
    };
    let before = number(&mut conn, "max_connections");
    conn.query_drop("SET PERSIST max_execution_time = 5000").expect("sets");
    conn.query_drop("SET PERSIST_ONLY wait_timeout = 4000").expect("sets");
    conn.query_drop("SET GLOBAL max_connections = 77").expect("sets");
    assert_ne!(number(&mut conn, "wait_timeout"), 4000, "it counts from the next start on");
    drop(conn);
    let scratch = scratch.crash_and_restart();
    let mut conn = scratch.server.connect().expect("connects");
    let found = ["max_execution_time", "wait_timeout", "max_connections"].map(|name| number(&mut conn, name));
    assert_eq!(found, [5000, 4000, before]);
    conn.query_drop("SET PERSIST max_execution_time = DEFAULT").expect("sets");
    drop(conn);
    let scratch = scratch.crash_and_restart();
    let mut conn = scratch.server.connect().expect("connects");
    assert_eq!(["max_execution_time", "wait_timeout"].map(|name| number(&mut conn, name)), [0, 4000]);
}

#[test]
fn shutdown_by_a_statement_ends_in_order_and_data_stay() {
    let Scratch { mut server, directory } = Scratch::start();
    let mut conn = server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").expect("creates");
    conn.query_drop("INSERT INTO t VALUES (7)").expect("inserts");
    conn.query_drop("SHUTDOWN").expect("is answered before the end");
    wait_until("the process ends", Duration::from_secs(30), || (!server.is_running()).then_some(())).expect("it ends by itself");
    assert!(server.terminate().expect("its status").success());
    let server = Server::start(&options(&directory, "")).expect("starts again");
    let mut conn = server.connect_to(Some("test")).expect("connects");
    assert_eq!(conn.query::<i64, _>("SELECT id FROM t").expect("reads"), [7]);
}

#[test]
fn status_port_answers_with_status_and_metrics() {
    let scratch = Scratch::start();
    let get = |path: &str| {
        let url = format!("http://127.0.0.1:{}{path}", scratch.server.status_port());
        let output = Command::new("curl").args(["-sf", &url]).output().expect("curl runs");
        assert!(output.status.success(), "{url}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(get("/status").contains("\"version\""));
    assert!(get("/metrics").contains("trine_sql_commands_total"));
}
