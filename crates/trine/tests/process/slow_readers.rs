//! Clients that read slowly, or not at all: what their results cost the server.

use testkit::{Server, mysql::prelude::Queryable as _};
use wire::CapabilityFlags;

use crate::{Scratch, raw_client::RawClient};

/// What a result of a gigabyte may cost: what the store caches of the rows, and some chunks.
const ALLOWED_BYTES: u64 = 192 << 20;

/// Memory of the server's process.
fn resident_bytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the process runs");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line about memory");
    let kilobytes: u64 = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kilobytes << 10
}

#[test]
fn results_of_a_gigabyte_read_slowly_cost_little_memory_and_hold_up_nobody() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect().expect("connects");
    conn.query_drop("CREATE DATABASE d").expect("d");
    conn.query_drop("USE d").expect("d");
    conn.query_drop("CREATE TABLE wide (id INT PRIMARY KEY, b LONGBLOB)").expect("wide");
    conn.query_drop("CREATE TABLE few (id INT PRIMARY KEY)").expect("few");
    for id in 0..32 {
        conn.query_drop(format!("INSERT INTO wide VALUES ({id}, REPEAT('x', 1000000))")).expect("a row");
        conn.query_drop(format!("INSERT INTO few VALUES ({id})")).expect("a row");
    }
    for query in [
        "SELECT wide.id, wide.b FROM wide, few",
        "SELECT a.id, REPEAT('x', 1000000) FROM few a, few b",
        "SELECT a.id, REPEAT('x', 10000) FROM few a, few b, few c, few d",
    ] {
        let before = resident_bytes(&scratch.server);
        let mut readers: Vec<RawClient> = (0..2).map(|_| RawClient::connect(&scratch.server, CapabilityFlags::empty())).collect();
        for reader in &mut readers {
            reader.command(0x02, b"d");
            assert_eq!(reader.command(0x03, query.as_bytes()), [2]);
        }
        // Columns and their end, then rows: the server goes on computing as far as it is let.
        let mut most = 0;
        for _ in 0..3 + 20 {
            readers.iter_mut().for_each(|reader| assert!(!reader.read().is_empty()));
            most = most.max(resident_bytes(&scratch.server));
            assert_eq!(conn.query_first::<i64, _>("SELECT COUNT(*) FROM few").expect("answers"), Some(32));
        }
        let grown = most.saturating_sub(before);
        assert!(grown < ALLOWED_BYTES, "{query}: {} MiB", grown >> 20);
    }
}

#[test]
fn a_cursor_over_much_data_keeps_it_out_of_memory() {
    let scratch = Scratch::start();
    let mut client = RawClient::connect(&scratch.server, CapabilityFlags::empty());
    client.run("CREATE DATABASE d");
    client.run("USE d");
    client.run("CREATE TABLE few (id INT PRIMARY KEY)");
    client.run("INSERT INTO few VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
    let before = resident_bytes(&scratch.server);
    let statement = client.prepare("SELECT REPEAT('x', 100000) FROM few a, few b, few c, few d LIMIT 4000");
    assert_eq!(client.command(0x17, &[&statement.to_le_bytes()[..], &[1, 1, 0, 0, 0]].concat()), [1]);
    client.read();
    client.read();
    let mut rows = 0;
    loop {
        let mut packet = client.command(0x1c, &[statement.to_le_bytes(), 64u32.to_le_bytes()].concat());
        let mut fetched = 0;
        while packet[0] == 0 {
            assert_eq!(packet.len(), 1 + 1 + 4 + 100_000);
            fetched += 1;
            packet = client.read();
        }
        rows += fetched;
        if fetched < 64 {
            break;
        }
    }
    assert_eq!(rows, 4000);
    let grown = resident_bytes(&scratch.server).saturating_sub(before);
    assert!(grown < ALLOWED_BYTES, "{} MiB", grown >> 20);
}
