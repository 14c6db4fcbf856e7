//! mysql_async against a Trine server: TRINE_PORT is the port of one with a fresh data directory, on 127.0.0.1, where root has no password.

use futures_util::{StreamExt as _, stream};
use mysql_async::{
    Compression, Conn, Error, Opts, OptsBuilder, Row, SslOpts, TxOpts, Value,
    prelude::{BatchQuery as _, Query as _, Queryable as _, WithParams as _},
};

const DATABASE: &str = "rust_mysql_async";

fn options() -> OptsBuilder {
    let port = std::env::var("TRINE_PORT").expect("TRINE_PORT").parse().expect("a port");
    OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(port).user(Some("root")).prefer_socket(false)
}

async fn connect(further: impl FnOnce(OptsBuilder) -> OptsBuilder) -> Conn {
    let mut root = Conn::new(Opts::from(options())).await.expect("connects");
    for sql in [&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"), "SET GLOBAL local_infile = ON"] {
        sql.ignore(&mut root).await.expect(sql);
    }
    Conn::new(Opts::from(further(options().db_name(Some(DATABASE))))).await.expect("connects")
}

/// Columns and values of all kinds, as the binary protocol gives them.
fn columns() -> Vec<(&'static str, &'static str, Value)> {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    vec![
        ("c_tiny", "TINYINT", Value::Int(-128)),
        ("c_ubig", "BIGINT UNSIGNED", Value::UInt(u64::MAX)),
        ("c_float", "FLOAT", Value::Float(3.25)),
        ("c_double", "DOUBLE", Value::Double(-1.797_693_134_862_315_7e308)),
        ("c_decimal", "DECIMAL(65,30)", text("-1.000000000000000000000000000001")),
        ("c_date", "DATE", Value::Date(2024, 2, 29, 0, 0, 0, 0)),
        ("c_datetime", "DATETIME(6)", Value::Date(9999, 12, 31, 23, 59, 59, 999_999)),
        ("c_time", "TIME(6)", Value::Time(true, 34, 22, 59, 59, 0)),
        ("c_year", "YEAR", Value::Int(2155)),
        ("c_text", "TEXT", text("it's \"quoted\" \\ and\nbroken\0漢字😀")),
        ("c_blob", "BLOB", Value::Bytes((0..=255).collect())),
        ("c_enum", "ENUM('a','ü')", text("ü")),
        ("c_set", "SET('x','y','z')", text("x,z")),
        ("c_json", "JSON", text("{\"a\": [1, 2.5, null]}")),
        ("c_bit", "BIT(40)", Value::Bytes(vec![0xff; 5])),
        ("c_null", "INT", Value::NULL),
    ]
}

async fn round_trip(conn: &mut Conn, table: &str) {
    let columns = columns();
    let definitions: Vec<String> = columns.iter().map(|(name, kind, _)| format!("{name} {kind}")).collect();
    format!("DROP TABLE IF EXISTS {table}").ignore(&mut *conn).await.expect("dropped");
    format!("CREATE TABLE {table} ({})", definitions.join(", ")).ignore(&mut *conn).await.expect("created");
    let marks = vec!["?"; columns.len()].join(", ");
    let values: Vec<Value> = columns.iter().map(|(_, _, value)| value.clone()).collect();
    conn.exec_drop(format!("INSERT INTO {table} VALUES ({marks})"), values).await.expect("inserted");
    let read: Row = conn.exec_first(format!("SELECT * FROM {table}"), ()).await.expect("read").expect("a row");
    for ((name, _, wrote), read) in columns.iter().zip(read.unwrap()) {
        assert_eq!(*wrote, read, "{name}");
    }
    let texts: Row = conn.query_first(format!("SELECT c_tiny, c_ubig, c_date, c_null FROM {table}")).await.expect("read").expect("a row");
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    assert_eq!(texts.unwrap(), [text("-128"), text("18446744073709551615"), text("2024-02-29"), Value::NULL]);
}

#[tokio::test]
async fn values_come_back_over_every_transport() {
    round_trip(&mut connect(|options| options).await, "types").await;
    round_trip(&mut connect(|options| options.compression(Compression::fast())).await, "types_compressed").await;
    let tls = SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
    let mut conn = connect(|options| options.ssl_opts(tls).compression(Compression::best())).await;
    let (_, version): (String, String) = conn.query_first("SHOW STATUS LIKE 'Ssl_version'").await.expect("read").expect("a row");
    assert!(version.starts_with("TLSv1."), "{version}");
    round_trip(&mut conn, "types_tls").await;
}

#[tokio::test]
async fn packets_of_many_megabytes_go_both_ways() {
    for compression in [None, Some(Compression::fast())] {
        let mut conn = connect(|options| options.compression(compression).max_allowed_packet(Some(64 << 20))).await;
        for size in [(1 << 24) - 10, (1 << 24) - 1, 1 << 24, 33 << 20] {
            let text = "x".repeat(size);
            let (length, back): (usize, String) = conn.exec_first("SELECT LENGTH(?), ?", (&text, &text)).await.expect("read").expect("a row");
            assert!(length == size && back == text, "{size}");
        }
    }
}

#[tokio::test]
async fn transactions_errors_and_statements_of_several_results() {
    let mut conn = connect(|options| options).await;
    "DROP TABLE IF EXISTS accounts".ignore(&mut conn).await.expect("dropped");
    "CREATE TABLE accounts (id INT PRIMARY KEY AUTO_INCREMENT, money INT)".ignore(&mut conn).await.expect("created");
    "INSERT INTO accounts (money) VALUES (?)".with([(100,), (200,)]).batch(&mut conn).await.expect("inserted");
    assert_eq!(conn.last_insert_id(), Some(2));
    let mut transaction = conn.start_transaction(TxOpts::default()).await.expect("begins");
    transaction.exec_drop("UPDATE accounts SET money = 0", ()).await.expect("updated");
    assert_eq!(transaction.affected_rows(), 2);
    transaction.rollback().await.expect("undone");
    let error = conn.query_drop("INSERT INTO accounts VALUES (1, 1)").await.expect_err("a duplicate");
    assert!(matches!(error, Error::Server(error) if error.code == 1062 && error.state == "23000"));
    let mut results = conn.query_iter("SELECT SUM(money) FROM accounts; SELECT 'two'").await.expect("two results");
    assert_eq!(results.collect::<i64>().await.expect("a number"), [300]);
    assert_eq!(results.collect::<String>().await.expect("a text"), ["two"]);
    drop(results);
    conn.reset().await.expect("reset");
    assert_eq!(conn.query_first::<u8, _>("SELECT 1").await.expect("read"), Some(1));
}

#[tokio::test]
async fn streams_are_loaded() {
    let mut conn = connect(|options| options).await;
    "DROP TABLE IF EXISTS loaded".ignore(&mut conn).await.expect("dropped");
    "CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(20))".ignore(&mut conn).await.expect("created");
    let rows = (0..10_000).map(|id| Ok(format!("{id}\tname {id}\n").into()));
    conn.set_infile_handler(async move { Ok(stream::iter(rows).boxed()) });
    conn.query_drop("LOAD DATA LOCAL INFILE 'rows' INTO TABLE loaded").await.expect("loaded");
    assert_eq!(conn.affected_rows(), 10_000);
}
