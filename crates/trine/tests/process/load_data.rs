//! LOAD DATA LOCAL INFILE: what becomes of fields, what is warned of, and that it happens whole or not at all. Expected answers are those of
//! the manual ("LOAD DATA Statement").

use std::io::Write as _;

use testkit::{
    Server,
    mysql::{Conn, Error, LocalInfileHandler, prelude::Queryable as _},
};
use wire::CapabilityFlags;

use crate::{Scratch, raw_client::RawClient};

/// A server with LOAD DATA switched on and a database `d`, and a connection to it.
fn start() -> (Scratch, Conn) {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect().expect("connects");
    for sql in ["CREATE DATABASE d", "USE d", "SET GLOBAL local_infile = ON"] {
        conn.query_drop(sql).expect(sql);
    }
    (scratch, conn)
}

/// Loads a file of this content; gives affected rows and the info.
fn load(conn: &mut Conn, content: &[u8], sql: &str) -> Result<(u64, String), Error> {
    let content = content.to_vec();
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |name, stream| {
        assert_eq!(name, b"rows");
        stream.write_all(&content)
    })));
    let result = conn.query_iter(format!("LOAD DATA LOCAL INFILE 'rows' {sql}"))?;
    Ok((result.affected_rows(), result.info_str().into_owned()))
}

fn rows(conn: &mut Conn, sql: &str) -> Vec<String> {
    let rows: Vec<testkit::mysql::Row> = conn.query(sql).expect(sql);
    let text = |row: testkit::mysql::Row| {
        let cells = row.unwrap().into_iter().map(|value| match value {
            testkit::mysql::Value::NULL => "NULL".to_owned(),
            testkit::mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => format!("{other:?}"),
        });
        cells.collect::<Vec<_>>().join("|")
    };
    rows.into_iter().map(text).collect()
}

fn code(result: Result<(u64, String), Error>) -> u16 {
    match result {
        Err(Error::MySqlError(error)) => error.code,
        other => panic!("expected an error of the server, got {other:?}"),
    }
}

#[test]
fn fields_become_values_and_wrong_ones_warnings() {
    let (_scratch, mut conn) = start();
    conn.query_drop("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(5), c DATE DEFAULT '2000-01-01')")
        .expect("t");
    let file = "1\t10\tone\t2024-02-29\n\\N\t20\t\\N\t\\N\n3\tx\ttoo long\t2024-02-30\n4\t\\N\n5\t50\tfive\t2024-01-01\tmore\n";
    let (count, info) = load(&mut conn, file.as_bytes(), "INTO TABLE t").expect("loads");
    assert_eq!((count, &info[..]), (5, "Records: 5  Deleted: 0  Skipped: 0  Warnings: 6"));
    let warnings = rows(&mut conn, "SHOW WARNINGS");
    let expected = [
        "Warning|1366|Incorrect integer value: 'x' for column 'a' at row 3",
        "Warning|1265|Data truncated for column 'b' at row 3",
        "Warning|1265|Data truncated for column 'c' at row 3",
        "Warning|1261|Row 4 doesn't contain data for all columns",
        "Warning|1263|Column set to default value; NULL supplied to NOT NULL column 'a' at row 4",
        "Warning|1262|Row 5 was truncated; it contained more data than there were input columns",
    ];
    for expected in expected {
        assert!(warnings.iter().any(|warning| warning == expected), "{expected} is not in {warnings:#?}");
    }
    let expected = ["1|10|one|2024-02-29", "2|20|NULL|NULL", "3|0|too l|0000-00-00", "4|0|NULL|2000-01-01", "5|50|five|2024-01-01"];
    assert_eq!(rows(&mut conn, "SELECT * FROM t ORDER BY id"), expected);
}

#[test]
fn columns_variables_and_expressions_are_taken_row_by_row() {
    let (_scratch, mut conn) = start();
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), total INT, at DATETIME)").expect("t");
    let file: String = (1..=1000).map(|id| format!("{id};dropped;5;'n{id}'\r\n")).collect();
    let sql = "INTO TABLE t CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\\'' LINES TERMINATED BY '\\r\\n' IGNORE 2 LINES \
               (id, @nothing, @five, name) SET total = @five + id, at = '2024-01-01 00:00:00'";
    let (count, info) = load(&mut conn, file.as_bytes(), sql).expect("loads");
    assert_eq!((count, &info[..]), (998, "Records: 998  Deleted: 0  Skipped: 0  Warnings: 0"));
    assert_eq!(
        rows(&mut conn, "SELECT id, name, total, at FROM t WHERE id IN (3, 1000)"),
        ["3|n3|8|2024-01-01 00:00:00", "1000|n1000|1005|2024-01-01 00:00:00"]
    );
    assert_eq!(rows(&mut conn, "SELECT COUNT(*), SUM(total) FROM t"), ["998|505487"]);
    assert_eq!(rows(&mut conn, "SELECT @five, @nothing"), ["5|dropped"]);
    conn.query_drop("CREATE TABLE texts (a VARCHAR(10), b VARCHAR(10))").expect("texts");
    load(&mut conn, b"caf\xe9\t\x80\n", "INTO TABLE texts CHARACTER SET latin1 (b, a)").expect("loads");
    assert_eq!(rows(&mut conn, "SELECT a, b FROM texts"), ["€|café"]);
}

#[test]
fn duplicates_are_skipped_or_replaced() {
    let (_scratch, mut conn) = start();
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE)").expect("t");
    conn.query_drop("INSERT INTO t VALUES (1, 1), (2, 2)").expect("rows");
    for mode in ["", "IGNORE"] {
        let (count, info) = load(&mut conn, b"1\t7\n3\t3\n4\t2\n", &format!("{mode} INTO TABLE t")).expect("loads");
        assert_eq!(
            (count, &info[..]),
            if mode.is_empty() {
                (1, "Records: 3  Deleted: 0  Skipped: 2  Warnings: 2")
            } else {
                (0, "Records: 3  Deleted: 0  Skipped: 3  Warnings: 3")
            }
        );
    }
    assert_eq!(rows(&mut conn, "SELECT * FROM t"), ["1|1", "2|2", "3|3"]);
    // Row 4 replaces two rows: one by its number, the other by its unique key.
    let (count, info) = load(&mut conn, b"1\t2\n5\t5\n", "REPLACE INTO TABLE t").expect("loads");
    assert_eq!((count, &info[..]), (4, "Records: 2  Deleted: 2  Skipped: 0  Warnings: 0"));
    assert_eq!(rows(&mut conn, "SELECT * FROM t"), ["1|2", "3|3", "5|5"]);
    conn.query_drop("ADMIN CHECK TABLE t").expect("indexes agree with rows");
}

#[test]
fn a_load_is_whole_or_nothing_and_part_of_its_transaction() {
    let (scratch, mut conn) = start();
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(100))").expect("t");
    let rows_of = |from: u32, to: u32| (from..to).flat_map(|id| format!("{id}\tvalue {id}\n").into_bytes()).collect::<Vec<u8>>();
    conn.query_drop("BEGIN").expect("begins");
    conn.query_drop("INSERT INTO t VALUES (0, 'before')").expect("a row");
    load(&mut conn, &rows_of(1, 700), "INTO TABLE t").expect("loads");
    let mut other = scratch.server.connect_to(Some("d")).expect("connects");
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM t"), ["0"]);
    conn.query_drop("ROLLBACK").expect("undone");
    assert_eq!(rows(&mut conn, "SELECT COUNT(*) FROM t"), ["0"]);
    // A column that cannot be computed ends the statement after some batches; what the transaction did before stays.
    conn.query_drop("BEGIN").expect("begins");
    conn.query_drop("INSERT INTO t VALUES (0, 'before')").expect("a row");
    let failing = "INTO TABLE t (@id) SET id = @id, v = JSON_EXTRACT(IF(@id = 600, '{', '[]'), '$')";
    assert_eq!(code(load(&mut conn, &rows_of(1, 1000), failing)), 3141);
    assert_eq!(rows(&mut conn, "SELECT * FROM t"), ["0|before"]);
    conn.query_drop("COMMIT").expect("commits");
    assert_eq!(code(load(&mut conn, &rows_of(1, 1000), failing)), 3141);
    assert_eq!(rows(&mut other, "SELECT * FROM t"), ["0|before"]);
    // A client that goes away in the middle leaves nothing.
    let mut gone = RawClient::connect(&scratch.server, CapabilityFlags::CLIENT_LOCAL_FILES);
    assert_eq!(gone.command(0x03, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t"), b"\xfbf");
    gone.send(&rows_of(1, 2000));
    drop(gone);
    load(&mut conn, &rows_of(1, 2000), "INTO TABLE t").expect("nothing holds the rows locked");
    assert_eq!(rows(&mut other, "SELECT COUNT(*) FROM t"), ["2000"]);
}

#[test]
fn what_is_wrong_is_told_before_a_file_is_asked_for() {
    let (scratch, mut conn) = start();
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").expect("t");
    for (sql, expected) in [
        ("INTO TABLE nowhere", 1146),
        ("INTO TABLE t (nothing)", 1054),
        ("INTO TABLE t CHARACTER SET nonsense", 1115),
        ("INTO TABLE t FIELDS ENCLOSED BY '<>'", 1083),
        ("INTO TABLE t FIELDS TERMINATED BY ''", 1235),
        ("INTO TABLE t (id) SET id = id + 1", 1235),
    ] {
        // The client would fail if it were asked: it sends no file.
        conn.set_local_infile_handler(None);
        match conn.query_drop(format!("LOAD DATA LOCAL INFILE 'rows' {sql}")) {
            Err(Error::MySqlError(error)) => assert_eq!(error.code, expected, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    conn.query_drop("SET GLOBAL local_infile = OFF").expect("off");
    assert_eq!(code(load(&mut conn, b"1\n", "INTO TABLE t")), 3948);
    conn.query_drop("SET GLOBAL local_infile = ON").expect("on");
    conn.query_drop("START TRANSACTION READ ONLY").expect("begins");
    assert_eq!(code(load(&mut conn, b"1\n", "INTO TABLE t")), 1792);
    conn.query_drop("COMMIT").expect("ends");
    let mut without = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    assert_eq!(without.told(0x03, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t"), Err(3948));
    assert_eq!(without.told(0x16, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t"), Err(1295));
    // Statements behind it in the same text go on.
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::CLIENT_LOCAL_FILES);
    assert_eq!(client.command(0x03, b"LOAD DATA LOCAL INFILE 'f' INTO TABLE d.t; DO 1"), b"\xfbf");
    client.send(b"1\n");
    client.send(b"");
    let first = crate::raw_client::Told::read(&client.read()).expect("OK");
    assert_eq!((&first.info[..], first.status & 8), ("Records: 1  Deleted: 0  Skipped: 0  Warnings: 0", 8));
    assert_eq!(crate::raw_client::Told::read(&client.read()).expect("OK").status & 8, 0);
    check_alive(&scratch.server);
}

fn check_alive(server: &Server) {
    assert_eq!(rows(&mut server.connect_to(Some("d")).expect("connects"), "SELECT id FROM t"), ["1"]);
}
