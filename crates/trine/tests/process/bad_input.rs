//! What a server must survive: broken packets, texts that are no SQL, too many connections, rows and transactions that are too large.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpStream},
    time::Duration,
};

use testkit::{
    Random, Server,
    mysql::{Conn, Error, prelude::Queryable as _},
};

use crate::Scratch;

fn alive(server: &Server) {
    let mut conn = server.connect().expect("connects");
    assert_eq!(conn.query_first::<i64, _>("SELECT 1").expect("answers"), Some(1));
}

fn code(result: Result<(), Error>) -> u16 {
    match result {
        Err(Error::MySqlError(error)) => error.code,
        other => panic!("expected an error of the server, got {other:?}"),
    }
}

#[test]
fn broken_packets_end_their_connection_only() {
    let scratch = Scratch::start();
    let mut random = Random::new(0x7121e);
    for round in 0..300 {
        let mut stream = TcpStream::connect(("127.0.0.1", scratch.server.port())).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).expect("a greeting");
        let bytes: Vec<u8> = (0..1 + random.below(200)).map(|_| random.bits() as u8).collect();
        let mut packet = Vec::new();
        if round % 2 == 0 {
            // A well-formed header, so that the payload is looked at.
            packet.extend_from_slice(&(bytes.len() as u32).to_le_bytes()[..3]);
            packet.push(1);
        }
        packet.extend_from_slice(&bytes);
        let _ = stream.write_all(&packet); // The server may have closed already.
        let _ = stream.shutdown(Shutdown::Write);
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest); // Until the server closes; an error is a close as well.
    }
    alive(&scratch.server);
}

const SEEDS: [&str; 14] = [
    "SELECT a, b FROM t WHERE a = 1 AND b > 'x' ORDER BY b DESC LIMIT 10",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y') ON DUPLICATE KEY UPDATE b = VALUES(b)",
    "UPDATE t SET b = CONCAT(b, 'z') WHERE a IN (1, 2, 3) LIMIT 1",
    "DELETE FROM t WHERE a BETWEEN 10 AND 20",
    "SELECT COUNT(*), SUM(a) FROM t GROUP BY b HAVING COUNT(*) > 1",
    "SELECT * FROM t t1 LEFT JOIN t t2 ON t1.a = t2.a WHERE t2.b IS NULL",
    "SELECT (SELECT MAX(a) FROM t) + 1, CASE WHEN a > 1 THEN 'p' ELSE NULL END FROM t",
    "SELECT a FROM t UNION ALL SELECT 5 UNION SELECT a FROM t WHERE b LIKE '%x_'",
    "CREATE TABLE x (a INT PRIMARY KEY AUTO_INCREMENT, b DECIMAL(10,2) DEFAULT 1.5, KEY (b))",
    "ALTER TABLE t ADD INDEX i (b(3)), DROP INDEX i",
    "SET @a = 1, SESSION sql_mode = 'STRICT_TRANS_TABLES'",
    "SHOW VARIABLES LIKE 'max%'",
    "EXPLAIN SELECT * FROM t WHERE a = 1",
    "SELECT CAST('2024-02-30' AS DATE), DATE_ADD(NOW(), INTERVAL 1 DAY), 0x4142, b'101', _utf8mb4'ä'",
];

/// A seed with words swapped, dropped, doubled, or bytes changed.
fn mutate(random: &mut Random) -> String {
    let mut words: Vec<String> = SEEDS[random.below(SEEDS.len())].split(' ').map(str::to_owned).collect();
    for _ in 0..1 + random.below(3) {
        let at = random.below(words.len());
        match random.below(5) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[random.below(words.len())].clone()),
            2 => {
                words[at] = ["(", ")", "'", "`", "/*", "--", ";", "NULL", "-9223372036854775808", "1e400", "\\", "@@", "?"]
                    [random.below(13)]
                .to_owned()
            }
            3 => words[at] = "(".repeat(1 + random.below(300)),
            _ => {
                let other = SEEDS[random.below(SEEDS.len())].split(' ').nth(random.below(5)).unwrap_or("SELECT").to_owned();
                words[at] = other;
            }
        }
    }
    let mut bytes = words.join(" ").into_bytes();
    if random.below(4) == 0 && !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = random.bits() as u8;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn ten_thousand_mutated_texts_never_stop_the_server() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20))").expect("creates");
    conn.query_drop("SET max_execution_time = 5000").expect("sets");
    let mut random = Random::new(20_261);
    for number in 0..10_000 {
        let text = mutate(&mut random);
        match conn.query_drop(&text) {
            Ok(()) | Err(Error::MySqlError(_)) => {}
            Err(error) => panic!("text {number} {:?}: {error}; log:\n{}", text, scratch.server.log_text()),
        }
    }
    assert!(!scratch.server.log_text().contains("panicked"), "a statement panicked:\n{}", scratch.server.log_text());
    alive(&scratch.server);
}

#[test]
fn connection_over_the_limit_is_refused_with_1040() {
    let scratch = Scratch::with_config("[performance]\nmax-connections = 2000\n");
    let mut connections: Vec<Conn> = Vec::new();
    for number in 0..2000 {
        connections.push(scratch.server.connect().unwrap_or_else(|error| panic!("connection {number}: {error:#}")));
    }
    let Err(refused) = scratch.server.connect() else { panic!("the 2,001st connection was served") };
    match refused.downcast::<Error>() {
        Ok(Error::MySqlError(error)) => assert_eq!(error.code, 1040),
        other => panic!("{other:?}"),
    }
    for conn in connections.iter_mut().step_by(100) {
        assert_eq!(conn.query_first::<i64, _>("SELECT 1").expect("answers"), Some(1));
    }
    connections.truncate(1000);
    testkit::wait_until("room for another connection", Duration::from_secs(10), || scratch.server.connect().ok()).expect("connects again");
}

#[test]
fn row_over_the_entry_limit_is_refused_and_named() {
    let scratch = Scratch::with_config("[performance]\ntxn-entry-size-limit = \"1MB\"\n");
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT)").expect("creates");
    conn.query_drop("INSERT INTO t VALUES (1, REPEAT('x', 900000))").expect("fits");
    assert_eq!(code(conn.query_drop("INSERT INTO t VALUES (2, REPEAT('x', 2000000))")), 8025);
    assert_eq!(conn.query_first::<i64, _>("SELECT COUNT(*) FROM t").expect("reads"), Some(1));
}

#[test]
fn transaction_of_a_million_rows_commits() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    conn.query_drop("CREATE TABLE digits (d INT PRIMARY KEY)").expect("creates");
    conn.query_drop("INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)").expect("inserts");
    conn.query_drop("CREATE TABLE big (id INT PRIMARY KEY, k INT)").expect("creates");
    conn.query_drop(
        "INSERT INTO big SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d, a.d \
         FROM digits a, digits b, digits c, digits d, digits e, digits f",
    )
    .expect("a million rows in one transaction");
    assert_eq!(conn.query_first::<i64, _>("SELECT COUNT(*) FROM big").expect("counts"), Some(1_000_000));
    conn.query_drop("BEGIN").expect("begins");
    conn.query_drop("UPDATE big SET k = k + 1").expect("updates");
    conn.query_drop("ROLLBACK").expect("rolls back");
    assert_eq!(conn.query_first::<i64, _>("SELECT SUM(k) FROM big").expect("sums"), Some(4_500_000));
}
