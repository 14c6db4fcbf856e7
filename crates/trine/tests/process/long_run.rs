//! Load with everything of the store at work underneath: write buffers that are flushed all the time, compaction, garbage collection. Then
//! tables and indexes agree, no row is missing, and a table that was updated a hundred times is scanned like a new one.
//!
//! `TRINE_LONG_RUN_SECONDS` makes the load last longer than in `make test`.

use std::time::Duration;

use testkit::{
    Server,
    mysql::{Conn, prelude::Queryable as _},
    wait_until,
};

use crate::{
    Scratch,
    metrics::{cpu_time, store_metric},
};

/// Write buffers and files so small that a few hundred rows fill them, and little patience with files of level 0.
const RESTLESS: &str = "[rocksdb.defaultcf]\nwrite-buffer-size = \"256KB\"\ntarget-file-size-base = \"256KB\"\nmax-bytes-for-level-base = \"1MB\"\n\
                        level0-file-num-compaction-trigger = 2\nmin-blob-size = \"100\"\n[rocksdb.writecf]\nwrite-buffer-size = \"256KB\"\n\
                        target-file-size-base = \"256KB\"\nmax-bytes-for-level-base = \"1MB\"\nlevel0-file-num-compaction-trigger = 2\n\
                        [rocksdb.lockcf]\nwrite-buffer-size = \"64KB\"\nlevel0-file-num-compaction-trigger = 2\n";
const TABLES: usize = 4;
const ROWS: usize = 5000;

fn run(conn: &mut Conn, statement: &str) {
    conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
}

fn sysbench(server: &Server, arguments: &[&str]) -> String {
    let output = std::process::Command::new("sysbench")
        .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=sbtest"])
        .args([format!("--mysql-port={}", server.port()), format!("--tables={TABLES}"), format!("--table-size={ROWS}")])
        .args(arguments)
        .output()
        .expect("sysbench runs");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !text.contains("FATAL"), "sysbench {arguments:?}:\n{text}");
    text
}

#[test]
fn sysbench_with_flushes_compaction_and_garbage_collection_underneath_loses_nothing() {
    let seconds: u64 = std::env::var("TRINE_LONG_RUN_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let scratch = Scratch::with_config(RESTLESS);
    let mut conn = scratch.server.connect().expect("connects");
    run(&mut conn, "SET GLOBAL tidb_gc_life_time = '1s', GLOBAL tidb_gc_run_interval = '1s'");
    run(&mut conn, "CREATE DATABASE sbtest");
    sysbench(&scratch.server, &["--threads=2", "oltp_common", "prepare"]);
    let text = sysbench(&scratch.server, &["--threads=8", &format!("--time={seconds}"), "oltp_read_write", "run"]);
    assert!(text.contains("reconnects:                          0"), "{text}");

    run(&mut conn, "USE sbtest");
    for table in 1..=TABLES {
        run(&mut conn, &format!("ADMIN CHECK TABLE sbtest{table}"));
        for index in ["PRIMARY".to_owned(), format!("k_{table}")] {
            let query = format!("SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest{table} USE INDEX ({index})");
            let counted: (usize, usize, usize) = conn.query_first(&query).expect("counts").expect("one row");
            assert_eq!(counted, (ROWS, 1, ROWS), "{query}");
        }
    }
    // It did happen underneath.
    let removed = store_metric(&scratch.server, "trine_store_gc_removed_total{cf=\"history\"}");
    assert!(removed > 1000, "garbage collection took {removed} old versions only");
    assert_eq!(store_metric(&scratch.server, "trine_store_gc_undecodable_total"), 0);
    let files = newest_file(&scratch);
    assert!(files > 50, "only {files} files were written");
    println!("{removed} old versions collected, {files} files written in {seconds} s");
    // And what was written then is what is found after a crash.
    let scratch = scratch.crash_and_restart();
    let mut conn = scratch.server.connect_to(Some("sbtest")).expect("connects");
    for table in 1..=TABLES {
        run(&mut conn, &format!("ADMIN CHECK TABLE sbtest{table}"));
        assert_eq!(conn.query_first(format!("SELECT COUNT(*) FROM sbtest{table}")).expect("counts"), Some(ROWS));
    }
}

/// RocksDB numbers its files; the newest number says how many there have been.
fn newest_file(scratch: &Scratch) -> u64 {
    let names = std::fs::read_dir(scratch.directory.path().join("data/db")).expect("readable");
    let numbers = names.filter_map(|entry| entry.ok()?.file_name().to_str()?.split('.').next()?.parse().ok());
    numbers.max().unwrap_or(0)
}

const SCANNED_ROWS: usize = 10_000;
const UPDATES: usize = 100;
/// How much more a scan of the updated table may cost.
const LIMIT: f64 = 1.2;

/// What a scan costs the server, in CPU time: of several runs in turns the cheapest of each, so that neither other processes nor background
/// work of the server decide. A ratio over the limit is measured again, a few times: what is noise goes away, what is the store's stays.
fn relative_cost(server: &Server, conn: &mut Conn) -> f64 {
    let mut scan = |table: &str| {
        let before = cpu_time(server);
        for _ in 0..10 {
            let sums: (usize, usize, usize, usize) = conn
                .query_first(format!("SELECT COUNT(*), SUM(k), SUM(LENGTH(c)), SUM(LENGTH(pad)) FROM {table}"))
                .expect("scans")
                .expect("one row");
            assert_eq!(sums, (SCANNED_ROWS, SCANNED_ROWS * UPDATES, SCANNED_ROWS * 120, SCANNED_ROWS * 60), "{table}");
        }
        cpu_time(server).saturating_sub(before)
    };
    let (mut fresh, mut updated) = (Duration::MAX, Duration::MAX);
    for attempt in 0..5 {
        for _ in 0..6 {
            fresh = fresh.min(scan("fresh"));
            updated = updated.min(scan("updated"));
        }
        let ratio = updated.as_secs_f64() / fresh.as_secs_f64();
        println!("attempt {attempt}: ten scans of a fresh table {fresh:?}, of an updated one {updated:?}: {ratio:.2}");
        if ratio <= LIMIT {
            return ratio;
        }
    }
    updated.as_secs_f64() / fresh.as_secs_f64()
}

/// The current version of a row lies in one place however often it was updated; old versions lie aside. So it must not matter whether
/// they are still there.
#[test]
fn scan_of_rows_updated_a_hundred_times_costs_what_a_fresh_copy_does_before_and_after_gc() {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect_to(Some("test")).expect("connects");
    // Rounds of garbage collection run, and tidy up what was overwritten, but keep all versions.
    run(&mut conn, "SET GLOBAL tidb_gc_life_time = '1h', GLOBAL tidb_gc_run_interval = '1s'");
    for table in ["updated", "fresh"] {
        run(&mut conn, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))"));
    }
    run(&mut conn, "CREATE TABLE digits (d INT PRIMARY KEY)");
    run(&mut conn, "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)");
    run(
        &mut conn,
        "INSERT INTO updated SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d, 0, RPAD(MD5(a.d + b.d), 120, MD5(c.d)), RPAD(MD5(d.d), 60, 'x') \
         FROM digits a, digits b, digits c, digits d",
    );
    for _ in 0..UPDATES {
        run(&mut conn, "UPDATE updated SET k = k + 1");
    }
    run(&mut conn, "INSERT INTO fresh SELECT * FROM updated");
    wait_until("the overwritten range is compacted", Duration::from_secs(60), || {
        scratch.server.log_text().contains("compacting a range that was overwritten often").then_some(())
    })
    .expect("writers have come to rest");
    wait_until_idle(&scratch.server);
    assert_eq!(store_metric(&scratch.server, "trine_store_gc_removed_total{cf=\"history\"}"), 0, "no version has been collected yet");
    let before = relative_cost(&scratch.server, &mut conn);
    assert!(before <= LIMIT, "before garbage collection a scan costs {before:.2} times that of a fresh copy");

    run(&mut conn, "SET GLOBAL tidb_gc_life_time = '1s'");
    let versions = (SCANNED_ROWS * (UPDATES - 1)) as u64;
    wait_until("old versions are collected", Duration::from_secs(90), || {
        (store_metric(&scratch.server, "trine_store_gc_removed_total{cf=\"history\"}") >= versions).then_some(())
    })
    .expect("garbage collection takes them");
    wait_until_idle(&scratch.server);
    let after = relative_cost(&scratch.server, &mut conn);
    assert!(after <= LIMIT, "after garbage collection a scan costs {after:.2} times that of a fresh copy");
}

/// Waits until background work has ended: the server uses next to no CPU time for a while.
fn wait_until_idle(server: &Server) {
    let mut last = cpu_time(server);
    let mut since = std::time::Instant::now();
    wait_until("an idle server", Duration::from_secs(60), || {
        if since.elapsed() < Duration::from_millis(500) {
            return None;
        }
        let now = cpu_time(server);
        let idle = now.saturating_sub(last) < Duration::from_millis(25);
        (last, since) = (now, std::time::Instant::now());
        idle.then_some(())
    })
    .expect("compaction comes to an end");
}
