//! Filters, groups, first rows and limits run in the stores of a cluster: with the answers of one process, and few rows on the way.

use std::process::Command;

use base::TableId;
use testkit::mysql::{Conn, Row, prelude::Queryable as _};

use crate::{
    Scratch, cluster_sql,
    stores::{client::Client, cluster::Cluster},
};

const ROWS: i64 = 3000;

/// Statements with an order, or with one row: the answer is one text.
const STATEMENTS: &[&str] = &[
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*), COUNT(k), SUM(k), AVG(k), MIN(d), MAX(d), SUM(d), AVG(d), MIN(c), MAX(at), MIN(u) FROM t WHERE k > 5",
    "SELECT COUNT(*), SUM(k) FROM t WHERE k > 1000",
    "SELECT c, COUNT(*), SUM(d), MAX(u) FROM t GROUP BY c ORDER BY c",
    "SELECT c, k, COUNT(*) FROM t WHERE id > 10 AND k IN (1, 3, 5, 7) GROUP BY c, k ORDER BY c, k",
    "SELECT k + 1, BIT_XOR(u), BIT_OR(k) FROM t WHERE k IS NOT NULL GROUP BY k + 1 ORDER BY 1",
    "SELECT DISTINCT c FROM t ORDER BY c",
    "SELECT id, d, c, at FROM t WHERE d > 3.5 ORDER BY d DESC, id LIMIT 10",
    "SELECT id, c FROM t ORDER BY c, id DESC LIMIT 3, 12",
    "SELECT id FROM t WHERE c = 'THREE' ORDER BY id LIMIT 5",
    "SELECT id FROM t WHERE c = 'three' ORDER BY id DESC LIMIT 5",
    "SELECT id FROM t WHERE c LIKE 't%e' AND k IN (1, 2, 4, 8) ORDER BY id DESC LIMIT 7",
    "SELECT id, at, u FROM t WHERE at >= '2024-02-20' AND at < '2024-02-21 03:00:00' ORDER BY id",
    // Many rows: several pages of each region, in both directions.
    "SELECT id, c, d FROM t WHERE k IS NOT NULL ORDER BY id",
    "SELECT id, k, at FROM t WHERE c <> 'one' ORDER BY id DESC",
    "SELECT COUNT(*) FROM t WHERE LENGTH(c) = 3 AND k > 3",
    "SELECT COUNT(*) FROM t WHERE u > 18446744073709551000 OR d * d < 2.5",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN k > 5 THEN c ELSE 'one' END = 'one' AND NOT (k <=> 3)",
    "SELECT id FROM t USE INDEX (k) WHERE k < 3 AND k <> 1 ORDER BY id",
    "SELECT id, c FROM t USE INDEX (ck) WHERE c > 'o' AND k = 3 ORDER BY id LIMIT 20",
    "SELECT k, COUNT(*) FROM t USE INDEX (k) GROUP BY k ORDER BY k",
    "SELECT x, y, SUM(v) FROM pairs WHERE v > 3 GROUP BY x, y ORDER BY x, y LIMIT 30",
    "SELECT COUNT(*) FROM pairs WHERE y = 'B'",
    "SELECT COUNT(*) FROM t a JOIN pairs b ON a.k = b.x WHERE a.d > 4 AND b.v < 4",
];

/// Makes the tables; the id of the larger one.
fn fill(connection: &mut Conn) -> TableId {
    let run = |connection: &mut Conn, sql: String| connection.query_drop(&sql).unwrap_or_else(|error| panic!("{sql:.80}: {error}"));
    run(
        connection,
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, c VARCHAR(20), d DECIMAL(10,2), u BIGINT UNSIGNED, at DATETIME, KEY k (k), KEY ck (c, k))".into(),
    );
    let jobs: Vec<Row> = connection.query("ADMIN SHOW DDL JOBS 1").expect("jobs");
    // The table's id follows that of the job that made it.
    let table = TableId(jobs[0].get::<i64, _>(0).expect("an id") + 1);
    run(connection, "CREATE TABLE pairs (x INT, y VARCHAR(5), v INT, PRIMARY KEY (x, y))".into());
    let row = |id: i64| {
        let word = ["one", "two", "three", "Three", "four "][id as usize % 5];
        let k = if id % 17 == 0 { "NULL".to_owned() } else { (id * 31 % 13).to_string() };
        let (d, u) = (id * 7 % 1000 - 500, if id % 3 == 0 { u64::MAX - id as u64 } else { id as u64 });
        format!("({id}, {k}, '{word}', {d} / 100, {u}, '2024-01-01' + INTERVAL {id} HOUR)")
    };
    for first in (0..ROWS).step_by(500) {
        let rows = (first..first + 500).map(row).collect::<Vec<_>>().join(",");
        run(connection, format!("INSERT INTO t VALUES {rows}"));
    }
    let pairs = (0..=255u8).map(|n| format!("({}, '{}', {})", n % 20, char::from(b'a' + n / 20), n % 7));
    run(connection, format!("INSERT INTO pairs VALUES {}", pairs.collect::<Vec<_>>().join(",")));
    // A column that most rows were written before.
    run(connection, "ALTER TABLE t ADD COLUMN w INT DEFAULT 7".into());
    run(connection, "UPDATE t SET w = 8 WHERE id % 100 = 0".into());
    run(connection, "ANALYZE TABLE t, pairs".into());
    table
}

fn answer(connection: &mut Conn, sql: &str) -> String {
    let rows: Vec<Row> = connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.into_iter().map(|row| format!("{:?}\n", row.unwrap())).collect()
}

/// A number of a store's metrics.
fn metric(status_address: &str, name: &str) -> u64 {
    let output = Command::new("curl").args(["-sf", &format!("http://{status_address}/metrics")]).output().expect("curl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{name} is not in\n{text}"))
}

/// Rows that pushed-down plans have read and answered in all stores.
fn scanned_and_answered(stores: &[String]) -> [u64; 2] {
    ["trine_coprocessor_scanned_rows_total", "trine_coprocessor_answered_rows_total"]
        .map(|name| stores.iter().map(|address| metric(address, name)).sum())
}

#[test]
fn statements_over_regions_of_several_stores_have_the_answers_of_one_process_and_few_rows_travel() {
    let embedded = Scratch::start();
    let mut alone = embedded.server.connect().expect("a connection");
    alone.query_drop("USE test").expect("a database");
    fill(&mut alone);
    let cluster = Cluster::start(3);
    let server = cluster.start_sql("sql0");
    let mut connection = cluster_sql::try_connect(&server.address, Some("test")).expect("a connection");
    let table = fill(&mut connection);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut client = Client::new(&cluster.pd.address);
    for border in [1000, 2000] {
        runtime.block_on(client.split(codec::table::int_record_key(table, border)));
    }
    let stores = runtime.block_on(client.status_addresses());
    assert_eq!(stores.len(), 3);
    for sql in STATEMENTS {
        assert_eq!(answer(&mut connection, sql), answer(&mut alone, sql), "{sql}");
    }
    for (sql, most) in [
        ("SELECT COUNT(*), SUM(w) FROM t WHERE d > 1", 3),
        ("SELECT c, MAX(d) FROM t GROUP BY c ORDER BY c", 3 * 4),
        ("SELECT id FROM t ORDER BY d, id LIMIT 5", 3 * 5),
        ("SELECT id FROM t WHERE w = 8 AND d > 0", 30),
    ] {
        let before = scanned_and_answered(&stores);
        assert_eq!(answer(&mut connection, sql), answer(&mut alone, sql), "{sql}");
        let after = scanned_and_answered(&stores);
        assert_eq!(after[0] - before[0], ROWS as u64, "the stores read the table: {sql}");
        assert!(after[1] - before[1] <= most, "{} rows travelled, {most} are enough: {sql}", after[1] - before[1]);
    }
    // The rows a transaction has written itself are seen by its statements.
    for connection in [&mut connection, &mut alone] {
        connection.query_drop("BEGIN").expect("a transaction");
        connection.query_drop("UPDATE t SET k = 100 WHERE id IN (5, 1500, 2999)").expect("an update");
    }
    let sql = "SELECT COUNT(*), SUM(k) FROM t WHERE k > 5";
    assert_eq!(answer(&mut connection, sql), answer(&mut alone, sql));
    // What a statement cannot compute is an error with MySQL's number.
    let error = connection.query_drop("SELECT COUNT(*) FROM t WHERE id * 9223372036854775807 > 5").expect_err("out of range");
    assert!(error.to_string().contains("1690"), "{error}");
}
