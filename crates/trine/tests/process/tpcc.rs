//! TPC-C: loaded, driven by several terminals, checked; and the check finds whatever is damaged. The same over MariaDB, so that it is the server
//! and not the driver that a failure over Trine tells of.

use std::{
    fs::File,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::Duration,
};

use bench::tpcc::{self, Cardinality, Error, Kind, Options, Outcome, RunOptions};
use testkit::{
    mysql::{Conn, Error::MySqlError, OptsBuilder, prelude::Queryable as _},
    wait_until,
};

use crate::Scratch;

/// A warehouse small enough for a test.
fn small(port: u16, warehouses: u32) -> Options {
    Options { warehouses, cardinality: Cardinality::not_comparable(20), ..Options::new([format!("127.0.0.1:{port}")]) }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn connect(port: u16) -> Conn {
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("root")).prefer_socket(false);
    Conn::new(options.db_name(Some("tpcc"))).expect("connects")
}

fn load(options: &Options) {
    let told = std::sync::Mutex::new(Vec::new());
    let loaded = wait(tpcc::load(options, &|progress| told.lock().expect("no panic").push(progress))).expect("loads");
    let told = told.into_inner().expect("no panic");
    let (first, last) = (told.first().expect("told"), told.last().expect("told"));
    assert!(first.rows < last.rows && told.is_sorted_by_key(|progress| progress.rows), "{told:?}");
    assert_eq!(last.rows, loaded.rows);
    assert!((loaded.rows as f64 / last.total_rows as f64 - 1.0).abs() < 0.1, "{loaded:?} of {}", last.total_rows);
}

fn drive(options: &Options, terminals: u32) -> Outcome {
    let run = RunOptions { terminals, paced: false, warm_up: Duration::from_millis(500), duration: Duration::from_secs(3) };
    let outcome = wait(tpcc::run(options, &run)).expect("runs");
    println!("{:.0} tpmC, {} errors {:?}, {:?}", outcome.tpm_c, outcome.errors, outcome.error_messages, outcome.parts);
    outcome
}

/// The numbers of the conditions that do not hold, each with what is wrong.
fn violated(options: &Options) -> Vec<(u32, String)> {
    let conditions = wait(tpcc::check(options)).expect("the database can be checked");
    assert_eq!(conditions.iter().map(|condition| condition.number).collect::<Vec<_>>(), (1..=12).collect::<Vec<_>>());
    conditions.iter().filter(|condition| !condition.holds()).map(|condition| (condition.number, condition.to_string())).collect()
}

fn loaded_driven_and_consistent(port: u16) {
    let options = small(port, 2);
    load(&options);
    assert_eq!(violated(&options), [], "after loading");
    let mut missing = Kind::ALL.map(Kind::name).to_vec();
    // Rare kinds may not come in one run of a slow build.
    for seed in 1..20 {
        let outcome = drive(&Options { seed, ..options.clone() }, 4);
        assert_eq!(outcome.parts.iter().map(|part| &part.name[..]).collect::<Vec<_>>(), Kind::ALL.map(Kind::name));
        assert_eq!(outcome.transactions, outcome.histogram.count());
        assert_eq!((outcome.series.len(), outcome.reconnects), (3, 0));
        assert!(outcome.queries >= 4 * outcome.transactions, "{outcome:?}");
        assert!(outcome.latency.p50_ms > 0.05, "nothing is that fast: {:?}", outcome.latency);
        missing.retain(|name| !outcome.parts.iter().any(|part| part.name == *name && part.count > 0));
        if missing.is_empty() {
            break;
        }
    }
    assert!(missing.is_empty(), "never ended well: {missing:?}");
    assert_eq!(violated(&options), [], "after running");
}

#[test]
fn a_loaded_and_driven_database_is_consistent() {
    let scratch = Scratch::start();
    loaded_driven_and_consistent(scratch.server.port());
    let mut connection = connect(scratch.server.port());
    for table in ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "stock", "item"] {
        connection.query_drop(format!("ADMIN CHECK TABLE {table}")).unwrap_or_else(|error| panic!("{table}: {error}"));
    }
}

/// Waits in vain for locks that another one holds, as long as the server lets it wait.
fn wait_for_locks(port: u16) {
    let refused = connect(port).query_drop("SELECT d_ytd FROM district WHERE d_w_id = 1 FOR UPDATE");
    assert!(matches!(&refused, Err(MySqlError(error)) if error.code == 1205), "{refused:?}");
}

#[test]
fn lost_lock_waits_and_connections_are_counted_and_the_run_goes_on() {
    let scratch = Scratch::start();
    let port = scratch.server.port();
    let options = small(port, 1);
    load(&options);
    let mut holder = connect(port);
    holder.query_drop("SET GLOBAL innodb_lock_wait_timeout = 1").expect("set");
    let run = RunOptions { terminals: 4, paced: false, warm_up: Duration::ZERO, duration: Duration::from_secs(12) };
    let driver = std::thread::spawn({
        let options = options.clone();
        move || wait(tpcc::run(&options, &run)).expect("the run goes on")
    });
    let mut watcher = connect(port);
    let own = [holder.connection_id(), watcher.connection_id()];
    let mut terminals = || {
        let all: Vec<u32> = watcher.query("SELECT id FROM information_schema.processlist WHERE db = 'tpcc'").expect("connections");
        Some(all.into_iter().filter(|id| !own.contains(id)).collect::<Vec<_>>()).filter(|terminals| terminals.len() >= 4)
    };
    wait_until("terminals connect", Duration::from_secs(60), &mut terminals).expect("terminals");
    // Whoever waits for a district from now on waits longer than it may.
    let mut lock = || {
        holder.query_drop("BEGIN").expect("begun");
        // It may be the one that gives way to a terminal.
        holder.query_drop("SELECT d_ytd FROM district WHERE d_w_id = 1 FOR UPDATE").ok()
    };
    wait_until("all districts are locked", Duration::from_secs(60), &mut lock).expect("locks");
    wait_for_locks(port);
    wait_for_locks(port);
    holder.query_drop("ROLLBACK").expect("unlocked");
    for terminal in terminals().expect("terminals") {
        // One that lost its connection by itself has another number now.
        let _ = holder.query_drop(format!("KILL {terminal}"));
    }
    let outcome = driver.join().expect("no panic");
    println!("{} transactions, {} errors {:?}", outcome.transactions, outcome.errors, outcome.error_messages);
    assert!(outcome.error_messages.iter().any(|message| message.contains("ERROR 1205")), "{:?}", outcome.error_messages);
    assert!(outcome.reconnects > 0 && outcome.errors > outcome.reconnects && outcome.transactions > 0, "{outcome:?}");
    assert_eq!(violated(&options), []);
}

/// Damage, what takes it back, and the conditions that it violates.
const DAMAGES: [(&str, &str, &[u32]); 12] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", "UPDATE warehouse SET w_ytd = w_ytd - 1", &[1, 8]),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
        "UPDATE district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
        &[2],
    ),
    ("DELETE FROM new_order WHERE no_d_id = 4 AND no_o_id = 120", "INSERT INTO new_order VALUES (120, 4, 1)", &[3, 5, 11]),
    ("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 5", "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_id = 5", &[4, 6]),
    ("INSERT INTO new_order VALUES (7, 10, 1)", "DELETE FROM new_order WHERE no_o_id = 7", &[3, 5, 11]),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE o_id WHEN 8 THEN 1 ELSE -1 END WHERE o_id IN (8, 9)",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - CASE o_id WHEN 8 THEN 1 ELSE -1 END WHERE o_id IN (8, 9)",
        &[6],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 2",
        "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 2",
        &[7],
    ),
    (
        "UPDATE history SET h_amount = h_amount + 1 WHERE h_c_id = 17 AND h_c_d_id = 2",
        "UPDATE history SET h_amount = h_amount - 1 WHERE h_c_id = 17 AND h_c_d_id = 2",
        &[8, 9, 10],
    ),
    (
        "UPDATE district SET d_ytd = d_ytd + IF(d_id = 1, 1, -1) WHERE d_id IN (1, 2)",
        "UPDATE district SET d_ytd = d_ytd - IF(d_id = 1, 1, -1) WHERE d_id IN (1, 2)",
        &[9],
    ),
    (
        "UPDATE customer SET c_balance = c_balance - 1, c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 9",
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_id = 9",
        &[10],
    ),
    (
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = 9 AND c_d_id = 10",
        "UPDATE customer SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_id = 9 AND c_d_id = 10",
        &[11],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 0.01 WHERE c_id = 150",
        "UPDATE customer SET c_ytd_payment = c_ytd_payment - 0.01 WHERE c_id = 150",
        &[12],
    ),
];

#[test]
fn every_condition_notices_its_damage() {
    let scratch = Scratch::start();
    let options = small(scratch.server.port(), 1);
    load(&options);
    let mut connection = connect(scratch.server.port());
    for (damage, repair, expected) in DAMAGES {
        connection.query_drop(damage).unwrap_or_else(|error| panic!("{damage}: {error}"));
        assert!(connection.affected_rows() > 0, "{damage} changed nothing");
        let found = violated(&options);
        assert_eq!(found.iter().map(|(number, _)| *number).collect::<Vec<_>>(), expected, "{damage}: {found:#?}");
        assert!(found.iter().all(|(_, message)| message.contains(" = ")), "no row is named: {found:#?}");
        connection.query_drop(repair).unwrap_or_else(|error| panic!("{repair}: {error}"));
    }
    assert_eq!(violated(&options), []);
}

#[test]
fn what_cannot_be_driven_is_said() {
    let scratch = Scratch::start();
    let options = small(scratch.server.port(), 1);
    load(&options);
    let refused = wait(tpcc::load(&options, &|_| {}));
    assert!(matches!(&refused, Err(Error::TableExists { table, .. }) if table == "warehouse"), "{refused:?}");
    load(&Options { replace: true, ..options.clone() });
    let larger = wait(tpcc::run(&Options { warehouses: 2, ..options.clone() }, &RunOptions::default()));
    assert!(matches!(larger, Err(Error::Loaded { found: 1, expected: 2, .. })), "{larger:?}");
    let full = wait(tpcc::run(&Options { cardinality: Cardinality::SPECIFIED, ..options.clone() }, &RunOptions::default()));
    assert!(matches!(full, Err(Error::Loaded { what: "items", .. })), "{full:?}");
    connect(scratch.server.port()).query_drop("DROP TABLE stock").expect("drops");
    let broken = wait(tpcc::run(&options, &RunOptions::default()));
    assert!(matches!(&broken, Err(error @ Error::Statement { .. }) if error.server_code() == Some(1146)), "{broken:?}");
    drop(scratch);
    let gone = wait(tpcc::check(&options));
    assert!(matches!(&gone, Err(Error::Connect { endpoint, .. }) if *endpoint == options.endpoints[0]), "{gone:?}");
}

/// A MariaDB of the test's own.
struct MariaDb {
    process: Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl MariaDb {
    fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let data = directory.path().join("data");
        let log = File::create(directory.path().join("log")).expect("a file");
        let common = [format!("--datadir={}", data.display()), "--user=root".to_owned()];
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .args(&common)
            .output()
            .expect("mariadb-install-db runs (Debian package mariadb-server)");
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
        let process = Command::new("mariadbd")
            .arg("--no-defaults")
            .args(&common)
            .args(["--bind-address=127.0.0.1", "--skip-networking=0", "--innodb-buffer-pool-size=64M"])
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", directory.path().join("socket").display()))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("mariadbd runs (Debian package mariadb-server)");
        let server = Self { process, port, directory };
        let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("root")).prefer_socket(false);
        wait_until("MariaDB listens", Duration::from_secs(60), || Conn::new(options.clone()).ok()).unwrap_or_else(|error| {
            panic!("{error}: {}", std::fs::read_to_string(server.directory.path().join("log")).unwrap_or_default())
        });
        server
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.process.kill(); // It may have ended already.
        let _ = self.process.wait();
    }
}

#[test]
fn the_driver_leaves_another_server_consistent_too() {
    let server = MariaDb::start();
    loaded_driven_and_consistent(server.port);
}
