//! A table of many regions that has lost most of its rows becomes a few regions again, while it is read and written.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use testkit::{mysql::prelude::Queryable as _, wait_until};

use crate::{
    cluster_sql::{StopOnDrop, begin_transfers, check_money, connect, make_accounts, numbers},
    stores::{client::Client, cluster::Cluster},
};

/// Longer than measuring, ordering and carrying out a few dozen merges takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// Asks the placement driver over HTTP; the body of its answer, if it was a good one.
fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<serde_json::Value> {
    let address = address.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).ok()?;
    let length = body.len();
    write!(
        stream,
        "{method} /pd/api/v1/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| serde_json::from_str(body).ok())?
}

fn regions(cluster: &Cluster) -> Option<u64> {
    ask(&cluster.pd.address, "GET", "regions", "")?["count"].as_u64()
}

#[test]
fn a_table_that_lost_its_rows_becomes_few_regions_while_money_moves() {
    const ACCOUNTS: usize = 300;
    const LEFT: usize = 40;
    let cluster = Cluster::start(3);
    let servers = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    let mut connection = connect(&servers[0]);
    let table = make_accounts(&mut connection, ACCOUNTS);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut client = Client::new(&cluster.pd.address);
    for border in (10..ACCOUNTS).step_by(10) {
        runtime.block_on(client.split(codec::table::int_record_key(table, border as i64)));
    }
    let split = wait_until("the splits are known", PATIENCE, || regions(&cluster).filter(|count| *count >= 30)).expect("many regions");
    connection.query_drop(format!("DELETE FROM accounts WHERE id >= {LEFT}")).expect("a deletion");
    let stop = AtomicBool::new(false);
    let done: u64 = std::thread::scope(|scope| {
        let _stopping = StopOnDrop(&stop);
        let writers = begin_transfers(scope, &servers, 3, LEFT, &stop);
        let settings = r#"{"max-merge-region-size": 20, "split-merge-interval": "0s"}"#;
        ask(&cluster.pd.address, "POST", "config", settings).expect("the settings are taken");
        let mut reader = connect(&servers[1]);
        let few = || {
            check_money(&mut reader, LEFT);
            regions(&cluster).filter(|count| *count <= 3)
        };
        let merged = wait_until("the merges", PATIENCE, few);
        stop.store(true, Ordering::SeqCst);
        let done = writers.into_iter().map(|writer| writer.join().expect("no panic")).sum();
        merged.unwrap_or_else(|error| panic!("of {split} regions {:?} are left: {error}", regions(&cluster)));
        done
    });
    assert!(done > 0, "no transfer went through");
    connection.query_drop("ADMIN CHECK TABLE accounts").expect("rows and index entries agree");
    let all: Vec<i64> = (0..LEFT as i64).collect();
    assert_eq!(numbers(&mut connection, "SELECT id FROM accounts ORDER BY id"), all);
}
