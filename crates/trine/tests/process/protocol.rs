//! Parts of the protocol that drivers rarely use: cursors, compression by zstd, session tracking, old commands.

use wire::CapabilityFlags;

use crate::{
    Scratch,
    raw_client::{RawClient, Told},
};

const CURSOR_EXISTS: u16 = 0x0040;
const LAST_ROW_SENT: u16 = 0x0080;
const STATE_CHANGED: u16 = 0x4000;

/// Executes a statement without parameters with a cursor; gives what the end of the columns says.
fn open_cursor(client: &mut RawClient, statement: u32) -> Told {
    let columns = client.command(0x17, &[&statement.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat());
    assert_eq!(columns, [1]);
    client.read();
    Told::read(&client.read()).expect("the end of the columns")
}

/// Fetches rows; gives the numbers in their only column.
fn fetch(client: &mut RawClient, statement: u32, rows: u32) -> Result<(Vec<i32>, Told), u16> {
    let mut packet = client.command(0x1c, &[statement.to_le_bytes(), rows.to_le_bytes()].concat());
    let mut numbers = Vec::new();
    loop {
        if packet[0] != 0 {
            return Told::read(&packet).map(|told| (numbers, told));
        }
        let number = packet[2..6].try_into().expect("a packet of a bitmap and a number");
        numbers.push(i32::from_le_bytes(number));
        packet = client.read();
    }
}

#[test]
fn cursors_give_rows_in_portions_while_other_statements_run() {
    let scratch = Scratch::start();
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (id INT PRIMARY KEY)");
    client.run("INSERT INTO t VALUES (1), (2), (3), (4), (5)");
    let statement = client.prepare("SELECT id FROM t ORDER BY id");
    let opened = open_cursor(&mut client, statement);
    assert_eq!(opened.status & (CURSOR_EXISTS | LAST_ROW_SENT), CURSOR_EXISTS);
    let (numbers, told) = fetch(&mut client, statement, 2).expect("two rows");
    assert_eq!((numbers, told.status & (CURSOR_EXISTS | LAST_ROW_SENT)), (vec![1, 2], CURSOR_EXISTS));
    // The cursor shows the rows of its execution, whatever happens to the table.
    client.run("DELETE FROM t WHERE id > 2");
    client.run("DROP TABLE t");
    let (numbers, told) = fetch(&mut client, statement, 3).expect("three rows");
    assert_eq!((numbers, told.status & (CURSOR_EXISTS | LAST_ROW_SENT)), (vec![3, 4, 5], CURSOR_EXISTS));
    let (numbers, told) = fetch(&mut client, statement, 1).expect("no more rows");
    assert_eq!((numbers, told.status & (CURSOR_EXISTS | LAST_ROW_SENT)), (vec![], LAST_ROW_SENT));
    assert_eq!(fetch(&mut client, statement, 1), Err(1421));
    assert_eq!(fetch(&mut client, 99, 1), Err(1243));
}

#[test]
fn cursors_are_closed_by_reset_and_close_and_by_the_next_execution() {
    let scratch = Scratch::start();
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    let statement = client.prepare("SELECT CAST(1 AS SIGNED) UNION ALL SELECT 2");
    open_cursor(&mut client, statement);
    client.told(0x1a, &statement.to_le_bytes()).expect("reset");
    assert_eq!(fetch(&mut client, statement, 1), Err(1421));
    open_cursor(&mut client, statement);
    fetch(&mut client, statement, 1).expect("a row");
    open_cursor(&mut client, statement);
    let (numbers, _) = fetch(&mut client, statement, 9).expect("all rows again");
    assert_eq!(numbers, [1, 2]);
    open_cursor(&mut client, statement);
    client.told(0x1f, &[]).expect("the connection is reset");
    assert_eq!(fetch(&mut client, statement, 1), Err(1243));
    // A statement without rows has no cursor.
    let statement = client.prepare("DO 1");
    let told = client.told(0x17, &[&statement.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat()).expect("OK");
    assert_eq!(told.status & CURSOR_EXISTS, 0);
}

#[test]
fn packets_are_compressed_as_client_and_server_agree() {
    let scratch = Scratch::start();
    let compression = "SHOW STATUS LIKE 'Compression%'";
    let (zlib, zstd) = (CapabilityFlags::CLIENT_COMPRESS, CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM);
    for (capabilities, expected) in [
        (CapabilityFlags::empty(), ["OFF", "", "0"]),
        (zlib, ["ON", "zlib", "6"]),
        (zstd, ["ON", "zstd", "7"]),
        (zlib | zstd, ["ON", "zlib", "6"]),
    ] {
        let mut client = RawClient::connect(&scratch.server, capabilities);
        let [on, algorithm, level] = expected;
        let expected = [format!("Compression|{on}"), format!("Compression_algorithm|{algorithm}"), format!("Compression_level|{level}")];
        assert_eq!(client.query(compression), expected);
        let long = client.query("SELECT REPEAT('long ', 1000000)");
        assert!(long == ["long ".repeat(1_000_000)]);
        assert_eq!(client.query(&format!("SELECT LENGTH('{}')", "y".repeat(3_000_000))), ["3000000"]);
    }
    let mut root = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    assert_eq!(root.told(0x03, b"SET GLOBAL protocol_compression_algorithms = 'zip'"), Err(1231));
    root.run("SET GLOBAL protocol_compression_algorithms = 'zstd'");
    let (_, refused) = RawClient::log_in(&scratch.server, CapabilityFlags::empty());
    assert_eq!(Told::read(&refused), Err(3922));
    let mut client = RawClient::connect(&scratch.server, zstd);
    assert_eq!(client.query("SELECT @@protocol_compression_algorithms"), ["zstd"]);
}

#[test]
fn sessions_are_told_of_what_changes_in_them() {
    let scratch = Scratch::start();
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::CLIENT_SESSION_TRACK);
    let changed = |told: Told| {
        assert_eq!(told.status & STATE_CHANGED != 0, !told.changes.is_empty());
        String::from_utf8_lossy(&told.changes).into_owned()
    };
    assert_eq!(changed(client.run("DO 1")), "");
    assert_eq!(changed(client.run("USE mysql")), "\u{1}\u{6}\u{5}mysql");
    assert_eq!(changed(client.told(0x02, b"mysql").expect("COM_INIT_DB")), "\u{1}\u{6}\u{5}mysql");
    assert_eq!(changed(client.run("SET autocommit = 0, sql_mode = ''")), "\0\u{f}\u{a}autocommit\u{3}OFF");
    assert_eq!(changed(client.run("SET @user_variable = 1")), "");
    client.run("SET session_track_state_change = ON, session_track_schema = OFF, session_track_system_variables = 'sql_mode'");
    assert_eq!(changed(client.run("SET autocommit = 1")), "\u{2}\u{2}\u{1}1");
    assert_eq!(changed(client.run("USE mysql")), "\u{2}\u{2}\u{1}1");
    assert_eq!(changed(client.run("SET @user_variable = 2")), "\u{2}\u{2}\u{1}1");
    client.run("SET session_track_state_change = OFF, session_track_system_variables = ''");
    client.run("CREATE DATABASE d");
    client.run("CREATE TABLE d.t (a INT)");
    client.run("SET session_track_transaction_info = 'CHARACTERISTICS'");
    assert_eq!(
        changed(client.run("START TRANSACTION READ WRITE")),
        "\u{4}\u{1e}\u{1d}START TRANSACTION READ WRITE;\u{5}\u{9}\u{8}T_______"
    );
    assert_eq!(changed(client.run("INSERT INTO d.t VALUES (1)")), "\u{5}\u{9}\u{8}T___W___");
    client.command(0x03, b"SELECT a FROM d.t");
    client.read();
    assert_eq!(changed(client.rows().1), "\u{5}\u{9}\u{8}T_R_W_S_");
    assert_eq!(changed(client.run("COMMIT")), "\u{4}\u{1}\0\u{5}\u{9}\u{8}________");
    let mut plain = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    assert!(plain.run("USE mysql").changes.is_empty());
}

#[test]
fn commands_of_old_clients_are_answered() {
    let scratch = Scratch::start();
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(10) DEFAULT 'nobody', note TEXT)");
    // COM_FIELD_LIST: definitions with their defaults behind them.
    let first = client.command(0x04, b"t\0");
    assert!(first.ends_with(b"\xfb"), "{first:?}");
    let (rest, _) = client.rows();
    assert!(rest[0].ends_with(b"\x06nobody") && rest[1].ends_with(b"\xfb") && rest.len() == 2, "{rest:?}");
    let like = client.command(0x04, b"t\0n%e");
    assert!(like.windows(4).any(|part| part == b"name"), "{like:?}");
    assert_eq!(client.rows().0.len(), 1);
    assert_eq!(client.told(0x04, b"nowhere\0"), Err(1146));
    // COM_SET_OPTION: several statements in one text.
    client.told(0x1b, &[1, 0]).expect("off");
    assert_eq!(client.told(0x03, b"DO 1; DO 2"), Err(1064));
    client.told(0x1b, &[0, 0]).expect("on");
    assert_eq!(client.told(0x03, b"DO 1; DO 2").expect("on").status & 8, 8);
    client.read();
    assert_eq!(client.told(0x1b, &[7, 0]), Err(1047));
    // COM_PROCESS_KILL.
    let mut victim = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    let id: u32 = victim.query("SELECT CONNECTION_ID()")[0].parse().expect("a number");
    client.told(0x0c, &id.to_le_bytes()).expect("killed");
    assert_eq!(Told::read(&victim.unasked()), Err(1317));
    assert_eq!(client.told(0x0c, &u32::MAX.to_le_bytes()), Err(1094));
}
