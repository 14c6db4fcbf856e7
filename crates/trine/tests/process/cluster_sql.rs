//! SQL servers over a cluster of processes: placement drivers, stores, and nothing between them but the public protocols.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{Scope, ScopedJoinHandle},
    time::Duration,
};

use base::TableId;
use testkit::{
    Random,
    mysql::{Conn, Error::MySqlError as MysqlError, OptsBuilder, Row, prelude::Queryable as _},
    wait_until,
};

use crate::stores::{
    client::Client,
    cluster::{Cluster, Process},
};

/// Longer than elections and the making of replicas take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

pub fn connect(server: &Process) -> Conn {
    connect_to(&server.address)
}

fn connect_to(address: &str) -> Conn {
    try_connect(address, Some("test")).expect("a connection")
}

/// Connects to the SQL server that listens at an address.
pub fn try_connect(address: &str, database: Option<&str>) -> anyhow::Result<Conn> {
    let port = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("an address with a port");
    let options = OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("root")).db_name(database);
    Ok(Conn::new(options.prefer_socket(false).read_timeout(Some(Duration::from_secs(120))))?)
}

pub fn numbers(connection: &mut Conn, sql: &str) -> Vec<i64> {
    connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

#[test]
fn tables_are_made_filled_read_and_found_again_by_another_server() {
    let cluster = Cluster::start(1);
    let server = cluster.start_sql("sql0");
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c VARCHAR(20), KEY (k))").expect("a table");
    connection.query_drop("INSERT INTO t (k, c) VALUES (3, 'three'), (1, 'one'), (2, 'two')").expect("rows");
    assert_eq!(numbers(&mut connection, "SELECT id FROM t WHERE id = 2"), [2]);
    assert_eq!(numbers(&mut connection, "SELECT id FROM t WHERE k > 1 ORDER BY k"), [3, 1]);
    connection.query_drop("UPDATE t SET k = k + 10 WHERE c = 'one'").expect("an update");
    connection.query_drop("START TRANSACTION").expect("a transaction");
    assert_eq!(numbers(&mut connection, "SELECT k FROM t WHERE id = 2 FOR UPDATE"), [11]);
    connection.query_drop("DELETE FROM t WHERE id = 1").expect("a deletion");
    connection.query_drop("COMMIT").expect("a commit");
    assert_eq!(numbers(&mut connection, "SELECT COUNT(*) FROM t"), [2]);
    connection.query_drop("ADMIN CHECK TABLE t").expect("rows and index entries agree");
    drop(connection);
    drop(server);
    let server = cluster.start_sql("sql1");
    let mut connection = connect(&server);
    assert_eq!(numbers(&mut connection, "SELECT SUM(k) FROM t"), [13]);
}

#[test]
fn servers_see_each_others_tables_rows_accounts_and_variables() {
    let cluster = Cluster::start(1);
    let servers = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    let [mut a, mut b] = [connect(&servers[0]), connect(&servers[1])];
    for round in 0..3 {
        // A change is known everywhere when its statement has ended, whichever server it came through.
        let (maker, user) = if round % 2 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        maker.query_drop(format!("CREATE TABLE t{round} (id INT PRIMARY KEY, v INT)")).expect("a table");
        user.query_drop(format!("INSERT INTO t{round} VALUES (1, 10), (2, 20)")).expect("rows in a table another server has made");
        maker.query_drop(format!("ALTER TABLE t{round} ADD COLUMN w INT DEFAULT 7, ADD INDEX (v)")).expect("a column and an index");
        assert_eq!(numbers(user, &format!("SELECT w FROM t{round} WHERE v = 20")), [7]);
        user.query_drop(format!("UPDATE t{round} SET w = 8 WHERE v = 10")).expect("an update");
        assert_eq!(numbers(maker, &format!("SELECT w FROM t{round} ORDER BY id")), [8, 7]);
        user.query_drop(format!("ADMIN CHECK TABLE t{round}")).expect("rows and index entries agree");
    }
    // A transaction on one server keeps a change by the other one waiting.
    a.query_drop("BEGIN").expect("a transaction");
    a.query_drop("UPDATE t0 SET v = v + 1 WHERE id = 1").expect("an update");
    let (sender, changed) = std::sync::mpsc::channel();
    let changer = std::thread::spawn(move || {
        b.query_drop("ALTER TABLE t0 ADD INDEX wv (w, v)").expect("an index");
        sender.send(()).expect("the test listens");
        b
    });
    assert!(changed.recv_timeout(Duration::from_secs(2)).is_err(), "the index was made under a transaction that does not know it");
    a.query_drop("UPDATE t0 SET v = v + 1 WHERE id = 2").expect("the transaction goes on as the table was");
    a.query_drop("COMMIT").expect("a commit");
    changed.recv_timeout(PATIENCE).expect("the change goes on");
    let mut b = changer.join().expect("no panic");
    b.query_drop("ADMIN CHECK TABLE t0").expect("rows and index entries agree");
    // What is set on one server is so on the other one within a second or so.
    a.query_drop("SET GLOBAL max_connections = 77").expect("a variable");
    a.query_drop("CREATE USER visitor").expect("an account");
    wait_until("the variable arrives", PATIENCE, || (numbers(&mut b, "SELECT @@GLOBAL.max_connections") == [77]).then_some(()))
        .expect("77");
    // So are accounts, and what they may do.
    let port = servers[1].address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let options = || OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("visitor")).prefer_socket(false);
    let mut visitor = wait_until("the account arrives", PATIENCE, || Conn::new(options()).ok()).expect("an account");
    let mut reads = || visitor.query_drop("SELECT COUNT(*) FROM test.t0").is_ok();
    assert!(!reads());
    a.query_drop("GRANT SELECT ON test.t0 TO visitor").expect("a privilege");
    wait_until("the privilege arrives", PATIENCE, || reads().then_some(())).expect("a privilege");
    a.query_drop("REVOKE SELECT ON test.t0 FROM visitor").expect("takes it back");
    wait_until("the privilege goes", PATIENCE, || (!reads()).then_some(())).expect("no privilege");
    // A server that dies in the middle of nothing does not stop the others for longer than its lease.
    let [first, second] = servers;
    drop(first);
    let mut b = connect(&second);
    b.query_drop("CREATE TABLE after_death (id INT PRIMARY KEY)").expect("a table");
}

/// Writes numbers in turn until it is told to stop, each in a transaction of two rows that must stay equal; answers those acknowledged.
fn write_until(server: &str, stop: &AtomicBool) -> Vec<i64> {
    let mut acknowledged = Vec::new();
    let mut connection = None;
    for number in 1.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let open = connection.get_or_insert_with(|| connect_to(server));
        let statements = [
            "BEGIN".to_owned(),
            format!("INSERT INTO numbers VALUES ({number}, 0), ({number}, 1)"),
            format!("UPDATE sums SET total = total + {number}"),
            "COMMIT".to_owned(),
        ];
        match statements.iter().try_for_each(|statement| open.query_drop(statement)) {
            Ok(()) => acknowledged.push(number),
            // Refused or unknown: the connection's transaction is over or goes with it.
            Err(_) => connection = None,
        }
    }
    acknowledged
}

#[test]
fn nothing_acknowledged_is_lost_when_leaders_of_stores_and_placement_driver_are_killed() {
    let mut cluster = Cluster::with_members(3, 3);
    let server = cluster.start_sql("sql0");
    let mut connection = connect(&server);
    connection.query_drop("CREATE TABLE numbers (n BIGINT, part INT, PRIMARY KEY (n, part), KEY (part))").expect("a table");
    connection.query_drop("CREATE TABLE sums (id INT PRIMARY KEY, total BIGINT)").expect("a table");
    connection.query_drop("INSERT INTO sums VALUES (1, 0), (2, 0)").expect("rows");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut client = Client::new(&cluster.pd.address);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // All of it lies in the first region still.
        let mut leader = runtime.block_on(client.leader_of("t", 3));
        let writer = scope.spawn(|| write_until(&server.address, &stop));
        let mut seen = 0;
        for round in 0..2 {
            seen = wait_for_more(&mut connection, seen);
            let address = runtime.block_on(client.address(leader.store_id)).expect("the leader has an address");
            let dead = cluster.kill_store_at(&address);
            if round == 0 {
                cluster.kill_member();
            }
            seen = wait_for_more(&mut connection, seen);
            cluster.restart_store(dead);
            leader = runtime.block_on(client.leader_of("t", 3));
        }
        wait_for_more(&mut connection, seen);
        stop.store(true, Ordering::SeqCst);
        let acknowledged = writer.join().expect("no panic");
        let found = numbers(&mut connection, "SELECT n FROM numbers WHERE part = 1 ORDER BY n");
        let lost: Vec<_> = acknowledged.iter().filter(|number| found.binary_search(number).is_err()).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        let sum: i64 = found.iter().sum();
        assert_eq!(numbers(&mut connection, "SELECT total FROM sums ORDER BY id"), [sum, sum], "a transaction is there in part");
        assert_eq!(numbers(&mut connection, "SELECT COUNT(*) FROM numbers"), [2 * found.len() as i64]);
        connection.query_drop("ADMIN CHECK TABLE numbers").expect("rows and index entries agree");
    });
}

/// Waits until the writer has written more; answers how much there is.
fn wait_for_more(connection: &mut Conn, seen: i64) -> i64 {
    let more = || connection.query_first("SELECT COUNT(*) FROM numbers").ok().flatten().filter(|count: &i64| *count >= seen + 20);
    wait_until("the writer goes on", PATIENCE, more).expect("the writer goes on")
}

/// Makes accounts that have 100 each; answers the table's id.
pub fn make_accounts(connection: &mut Conn, count: usize) -> TableId {
    connection.query_drop("CREATE TABLE accounts (id INT PRIMARY KEY, k INT, balance INT, KEY (k))").expect("a table");
    let rows = (0..count).map(|id| format!("({id}, {id}, 100)")).collect::<Vec<_>>().join(",");
    connection.query_drop(format!("INSERT INTO accounts VALUES {rows}")).expect("rows");
    let jobs: Vec<Row> = connection.query("ADMIN SHOW DDL JOBS 1").expect("jobs");
    // The table's id follows that of the job that made it.
    TableId(jobs[0].get::<i64, _>(0).expect("an id") + 1)
}

/// Whether all accounts together have what they began with, and as many entries in the index as there are of them.
pub fn check_money(reader: &mut Conn, accounts: usize) {
    assert_eq!(numbers(reader, "SELECT SUM(balance) FROM accounts"), [100 * accounts as i64], "money was made or lost");
    let entries = numbers(reader, "SELECT COUNT(*) FROM accounts WHERE k > -100000");
    assert_eq!(entries, [accounts as i64], "an index entry too many or too few");
}

/// Tells clients to stop however the test ends: a thread that goes on would keep a failure from being told.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Clients that move money until they are told to stop, by turns at two servers.
pub fn begin_transfers<'scope>(
    scope: &'scope Scope<'scope, '_>,
    servers: &'scope [Process; 2],
    clients: u64,
    accounts: usize,
    stop: &'scope AtomicBool,
) -> Vec<ScopedJoinHandle<'scope, u64>> {
    let client = |seed: u64| scope.spawn(move || transfer_until(&servers[seed as usize % 2].address, seed, accounts, stop));
    (1..=clients).map(client).collect()
}

/// Moves money between random accounts until it is told to stop; answers how many transfers went through.
pub fn transfer_until(server: &str, seed: u64, accounts: usize, stop: &AtomicBool) -> u64 {
    let mut random = Random::new(seed);
    let mut connection = connect_to(server);
    let mut done = 0;
    while !stop.load(Ordering::SeqCst) {
        let (from, to) = (random.below(accounts), random.below(accounts));
        let amount = 1 + random.below(5);
        let statements = [
            "BEGIN".to_owned(),
            format!("UPDATE accounts SET balance = balance - {amount}, k = k + 1 WHERE id = {from}"),
            format!("UPDATE accounts SET balance = balance + {amount}, k = k - 1 WHERE id = {to}"),
            "COMMIT".to_owned(),
        ];
        match statements.iter().try_for_each(|statement| connection.query_drop(statement)) {
            Ok(()) => done += 1,
            // Two that wait for each other: one gives way. So does one whose lock was lost with a leader, and whose row another has changed.
            Err(MysqlError(error)) if [1205, 1213].contains(&error.code) => connection.query_drop("ROLLBACK").expect("a rollback"),
            Err(error) => panic!("a transfer failed: {error}"),
        }
    }
    done
}

#[test]
fn transactions_and_scans_go_over_borders_of_regions_that_split_under_them() {
    const ACCOUNTS: usize = 300;
    let cluster = Cluster::start(3);
    let servers = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    let mut connection = connect(&servers[0]);
    let table = make_accounts(&mut connection, ACCOUNTS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut client = Client::new(&cluster.pd.address);
    let stop = AtomicBool::new(false);
    let done: u64 = std::thread::scope(|scope| {
        let _stopping = StopOnDrop(&stop);
        let writers = begin_transfers(scope, &servers, 4, ACCOUNTS, &stop);
        let mut reader = connect(&servers[1]);
        for border in (30..ACCOUNTS).step_by(30) {
            runtime.block_on(client.split(codec::table::int_record_key(table, border as i64)));
            check_money(&mut reader, ACCOUNTS);
        }
        runtime.block_on(client.split(codec::table::record_prefix(table)));
        stop.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    assert!(done > 0, "no transfer went through");
    connection.query_drop("ADMIN CHECK TABLE accounts").expect("rows and index entries agree");
    let all: Vec<i64> = (0..ACCOUNTS as i64).collect();
    assert_eq!(numbers(&mut connection, "SELECT id FROM accounts ORDER BY id"), all);
    let reversed: Vec<i64> = all.iter().rev().copied().collect();
    assert_eq!(numbers(&mut connection, "SELECT id FROM accounts ORDER BY id DESC"), reversed);
    assert_eq!(
        numbers(&mut connection, "SELECT id FROM accounts WHERE id BETWEEN 25 AND 65 ORDER BY id DESC LIMIT 40"),
        reversed[234..274]
    );
    assert_eq!(numbers(&mut connection, "SELECT id FROM accounts WHERE id IN (299, 1, 59, 60, 61, 777) ORDER BY id"), [1, 59, 60, 61, 299]);
    // More keys than async commit takes, over all regions: two phases.
    connection.query_drop("UPDATE accounts SET k = id + 1000, balance = balance + 1").expect("an update of everything");
    assert_eq!(numbers(&mut connection, "SELECT MIN(k) FROM accounts"), [1000]);
    assert_eq!(numbers(&mut connection, "SELECT SUM(balance) FROM accounts"), [101 * ACCOUNTS as i64]);
    assert_eq!(numbers(&mut connection, "SELECT id FROM accounts WHERE k BETWEEN 1028 AND 1031 ORDER BY k"), [28, 29, 30, 31]);
    connection.query_drop("DELETE FROM accounts WHERE id >= 10").expect("a deletion over all regions");
    connection.query_drop("ADMIN CHECK TABLE accounts").expect("rows and index entries agree");
    assert_eq!(numbers(&mut connection, "SELECT COUNT(*) FROM accounts"), [10]);
}

#[test]
fn jobs_and_locks_of_a_dead_server_are_taken_over() {
    let cluster = Cluster::start(1);
    let (dying, living) = (cluster.start_sql("sql0"), cluster.start_sql("sql1"));
    let (mut a, mut b) = (connect(&dying), connect(&living));
    a.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("a table");
    a.query_drop("CREATE TABLE locked (id INT PRIMARY KEY, v INT)").expect("a table");
    a.query_drop("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)").expect("rows");
    a.query_drop("INSERT INTO locked VALUES (1, 1)").expect("a row");
    // The job cannot end while this transaction uses the table as it was.
    b.query_drop("BEGIN").expect("a transaction");
    b.query_drop("UPDATE t SET v = 10 WHERE id = 1").expect("an update");
    let mut lock_holder = connect(&dying);
    lock_holder.query_drop("BEGIN").expect("a transaction");
    lock_holder.query_drop("UPDATE locked SET v = 2").expect("a lock");
    let changer = std::thread::spawn(move || a.query_drop("ALTER TABLE t ADD INDEX (v)"));
    let mut watcher = connect(&living);
    let running =
        || watcher.query::<Row, _>("ADMIN SHOW DDL JOBS 1").expect("jobs").iter().any(|job| format!("{job:?}").contains("running"));
    let mut running = running;
    wait_until("the job begins", PATIENCE, || running().then_some(())).expect("the job begins");
    dying.kill();
    assert!(changer.join().expect("no panic").is_err(), "its client has lost the server");
    b.query_drop("COMMIT").expect("a commit");
    let mut c = connect(&living);
    c.query_drop("UPDATE locked SET v = v + 10").expect("the lock of the dead goes when its time is over");
    assert_eq!(numbers(&mut c, "SELECT v FROM locked"), [11], "what was not committed is gone");
    let published = || c.query::<Row, _>("SHOW INDEX FROM t").expect("indexes").len() == 2;
    let mut published = published;
    wait_until("another server ends the job", PATIENCE, || published().then_some(())).expect("another server ends the job");
    assert_eq!(numbers(&mut b, "SELECT id FROM t WHERE v = 10"), [1]);
    b.query_drop("ADMIN CHECK TABLE t").expect("rows and index entries agree");
}

#[tokio::test]
async fn a_store_with_the_meta_data_of_another_system_is_refused_and_left_alone() {
    let cluster = Cluster::start(1);
    let mut client = Client::new(&cluster.pd.address);
    client.put("mDBs", "of somebody else").await;
    let output = std::process::Command::new(crate::BINARY)
        .args(["sql", "--pd", &cluster.endpoints(), "--port=0", "--status-port=0"])
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("another system"), "{text}");
    assert_eq!(client.get("mDBs").await.as_deref(), Some("of somebody else"));
}
