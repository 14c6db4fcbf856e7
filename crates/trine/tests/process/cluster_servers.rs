//! SQL servers as one system: their connections are listed and killed from any of them, and tables tell of all processes, regions and locks.

use std::time::Duration;

use testkit::{
    mysql::{Conn, Error::MySqlError as MysqlError, prelude::Queryable as _},
    wait_until,
};

use crate::{
    cluster_sql::try_connect,
    stores::cluster::{Cluster, Process},
};

/// Longer than questions between servers and splits of regions take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

fn connect(server: &Process) -> Conn {
    try_connect(&server.address, Some("test")).expect("a connection")
}

/// The number of the error a statement is refused with; 0 when it is not.
fn refused(connection: &mut Conn, sql: &str) -> u16 {
    match connection.query_drop(sql) {
        Ok(()) => 0,
        Err(MysqlError(error)) => error.code,
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn number(connection: &mut Conn, sql: &str) -> i64 {
    connection.query_first(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).unwrap_or_else(|| panic!("{sql}: no row"))
}

/// The id of the connection that runs a statement beginning so, and where it is, once its server has said that.
fn running(observer: &mut Conn, text: &str) -> (u64, String) {
    let sql = format!("SELECT ID, INSTANCE FROM information_schema.CLUSTER_PROCESSLIST WHERE INFO LIKE '{text}%' AND INSTANCE <> ':0'");
    wait_until("the statement runs", PATIENCE, || observer.query_first(&sql).expect("an answer")).expect("it is listed")
}

#[test]
fn connections_of_another_server_are_listed_and_killed() {
    let cluster = Cluster::start(1);
    let [a, b] = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    let mut observer = connect(&b);
    let sleeper = |server: &Process| {
        let mut connection = connect(server);
        std::thread::spawn(move || {
            // Whether it is an answer or an error, it comes long before a minute is over.
            let _ = connection.query_drop("SELECT SLEEP(600)");
            connection
        })
    };
    let asleep = sleeper(&a);
    let (id, instance) = running(&mut observer, "SELECT SLEEP");
    assert_eq!(instance, a.address);
    assert!(id < 1 << 31, "the protocol has room for {id}");
    observer.query_drop("CREATE USER visitor").expect("a user");
    let mut visitor = wait_until("the account arrives", PATIENCE, || {
        let port = b.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
        let options = testkit::mysql::OptsBuilder::new().ip_or_hostname(Some("127.0.0.1")).tcp_port(port).user(Some("visitor"));
        Conn::new(options.prefer_socket(false)).ok()
    })
    .expect("a connection");
    assert_eq!(refused(&mut visitor, &format!("KILL QUERY {id}")), 1095, "it is somebody else's");
    let seen = number(&mut visitor, "SELECT COUNT(*) FROM information_schema.CLUSTER_PROCESSLIST WHERE USER <> 'visitor'");
    assert_eq!(seen, 0, "others are not shown");
    observer.query_drop(format!("KILL QUERY {id}")).expect("it is killed");
    let mut awake = asleep.join().expect("no panic");
    assert_eq!(number(&mut awake, "SELECT CONNECTION_ID()"), id as i64, "the connection stays");
    observer.query_drop(format!("KILL {id}")).expect("it is killed");
    wait_until("the connection ends", PATIENCE, || awake.query_drop("DO 1").is_err().then_some(())).expect("it has ended");
    assert_eq!(refused(&mut observer, &format!("KILL {id}")), 1094, "there is none any more");
    assert_eq!(refused(&mut observer, "KILL 2146435073"), 1094, "there is no such server");
    // Both servers are known, and one that has gone is no longer asked.
    assert_eq!(number(&mut observer, "SELECT COUNT(*) FROM information_schema.TIDB_SERVERS_INFO"), 2);
    a.kill();
    let gone = || number(&mut observer, "SELECT COUNT(*) FROM information_schema.CLUSTER_INFO WHERE TYPE = 'tidb'") == 1;
    let mut gone = gone;
    wait_until("the server is forgotten", PATIENCE, || gone().then_some(())).expect("its lease ends");
}

#[test]
fn tables_tell_of_processes_regions_and_locks() {
    let cluster = Cluster::start(1);
    let server = cluster.start_sql("sql0");
    let mut connection = connect(&server);
    let kinds: Vec<(String, i64)> =
        connection.query("SELECT TYPE, COUNT(*) FROM information_schema.CLUSTER_INFO GROUP BY TYPE ORDER BY TYPE").expect("an answer");
    assert_eq!(kinds, [("pd".to_owned(), 1), ("tidb".to_owned(), 1), ("tikv".to_owned(), 1)]);
    let store = cluster.stores[0].as_ref().expect("it runs").address.clone();
    let status: Option<(String, String)> =
        connection.query_first("SELECT ADDRESS, STORE_STATE_NAME FROM information_schema.TIKV_STORE_STATUS").expect("an answer");
    assert_eq!(status, Some((store, "Up".to_owned())));

    connection.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), KEY by_v (v))").expect("a table");
    connection.query_drop("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3000, 'x')").expect("rows");
    let made: Option<(i64, f64)> = connection.query_first("SPLIT TABLE t BETWEEN (0) AND (4000) REGIONS 4").expect("splits");
    assert_eq!(made.expect("a row").0, 4, "three between the parts, one before the rows");
    let made: Option<(i64, f64)> = connection.query_first("SPLIT TABLE t INDEX by_v BY ('m')").expect("splits");
    assert_eq!(made.expect("a row").0, 3, "the key, and the ends of the index");
    let id = number(&mut connection, "SELECT MAX(TABLE_ID) FROM information_schema.TIKV_REGION_STATUS WHERE TABLE_NAME = 't'");
    let rows: Vec<testkit::mysql::Row> = connection.query("SHOW TABLE t REGIONS").expect("regions");
    let starts: Vec<String> = rows.iter().map(|row| row.get("START_KEY").expect("a column")).collect();
    for handle in [1000, 2000, 3000] {
        assert!(starts.contains(&format!("t_{id}_r_{handle}")), "{starts:?}");
    }
    assert_eq!(connection.query::<testkit::mysql::Row, _>("SHOW TABLE t INDEX by_v REGIONS").expect("regions").len(), 2);
    let sql = "SELECT COUNT(*) FROM information_schema.TIKV_REGION_STATUS WHERE TABLE_NAME = 't' AND IS_INDEX = 0";
    assert_eq!(number(&mut connection, sql), 4);
    let sql = "SELECT COUNT(DISTINCT REGION_ID) - COUNT(*) FROM information_schema.TIKV_REGION_PEERS WHERE IS_LEADER = 1";
    assert_eq!(number(&mut connection, sql), 0, "one leads each region");
    let found: Vec<i64> = connection.query("SELECT id FROM t ORDER BY id").expect("rows");
    assert_eq!(found, [1, 2, 3000]);
    assert_eq!(refused(&mut connection, "SPLIT TABLE t BETWEEN (5) AND (5) REGIONS 4"), 1105);

    // Two that wait for each other: first one waits and is seen, then they are a deadlock.
    let mut other = connect(&server);
    for (conn, id) in [(&mut connection, 1), (&mut other, 2)] {
        conn.query_drop("BEGIN").expect("a transaction");
        conn.query_drop(format!("UPDATE t SET v = 'w' WHERE id = {id}")).expect("an update");
    }
    let waiter = std::thread::spawn(move || {
        let ended = refused(&mut other, "UPDATE t SET v = 'w' WHERE id = 1");
        let _ = other.query_drop("ROLLBACK");
        ended
    });
    let mut observer = connect(&server);
    let sql = "SELECT `KEY`, KEY_INFO FROM information_schema.DATA_LOCK_WAITS";
    let waits: (String, String) = wait_until("somebody waits", PATIENCE, || observer.query_first(sql).expect("an answer")).expect("a wait");
    assert_eq!(waits.0, format!("t_{id}_r_1"));
    assert!(waits.1.contains(r#""table_name":"t""#), "{waits:?}");
    let ended = refused(&mut connection, "UPDATE t SET v = 'w' WHERE id = 2");
    let _ = connection.query_drop("ROLLBACK");
    let mut both = [ended, waiter.join().expect("no panic")];
    both.sort_unstable();
    assert_eq!(both, [0, 1213]);
    assert_eq!(number(&mut observer, "SELECT COUNT(*) FROM information_schema.DEADLOCKS"), 2, "two edges of one circle");
}
