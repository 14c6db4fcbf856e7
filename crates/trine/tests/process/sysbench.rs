//! The real, unmodified sysbench through every OLTP workload, without one error; then every index entry has its row.

use std::process::Command;

use testkit::{Server, mysql::prelude::Queryable as _};

use crate::Scratch;

const TABLES: usize = 3;
const ROWS: usize = 500;

const WORKLOADS: [&str; 10] = [
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
];

fn sysbench(server: &Server, workload: &str, action: &str, options: &[&str]) -> String {
    let output = Command::new("sysbench")
        .args(["--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=root", "--mysql-db=sbtest"])
        .arg(format!("--mysql-port={}", server.port()))
        .arg(format!("--tables={TABLES}"))
        .arg(format!("--table-size={ROWS}"))
        .args(options)
        .args([workload, action])
        .output()
        .expect("sysbench runs");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && !text.contains("FATAL"), "sysbench {workload} {action} {options:?}:\n{text}");
    text
}

/// Runs a workload; conflicts between transactions (deadlocks) may make sysbench repeat a transaction, anything else is an error.
fn run(server: &Server, workload: &str, options: &[&str]) {
    let mut all = vec!["--threads=4", "--time=2"];
    all.extend_from_slice(options);
    let text = sysbench(server, workload, "run", &all);
    let queries: u64 = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("total:")?.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no query count in:\n{text}"));
    assert!(queries > 0, "{workload} {options:?} made no query:\n{text}");
    assert!(text.contains("reconnects:                          0"), "{workload} {options:?}:\n{text}");
}

fn prepared() -> Scratch {
    let scratch = Scratch::start();
    scratch.server.connect().expect("connects").query_drop("CREATE DATABASE sbtest").expect("creates");
    sysbench(&scratch.server, "oltp_common", "prepare", &["--threads=2"]);
    scratch
}

fn check_tables(server: &Server) {
    let mut conn = server.connect_to(Some("sbtest")).expect("connects");
    for table in 1..=TABLES {
        conn.query_drop(format!("ADMIN CHECK TABLE sbtest{table}")).unwrap_or_else(|error| panic!("sbtest{table}: {error}"));
    }
}

#[test]
fn every_workload_runs_with_prepared_statements_and_as_text() {
    let scratch = prepared();
    sysbench(&scratch.server, "oltp_read_only", "prewarm", &[]);
    for workload in WORKLOADS {
        for mode in ["--db-ps-mode=auto", "--db-ps-mode=disable"] {
            run(&scratch.server, workload, &[mode]);
        }
    }
    check_tables(&scratch.server);
    sysbench(&scratch.server, "oltp_common", "cleanup", &[]);
    let mut conn = scratch.server.connect_to(Some("sbtest")).expect("connects");
    assert!(conn.query::<String, _>("SHOW TABLES").expect("lists").is_empty());
}

/// Debian's sysbench 1.0.20 knows no zipfian distribution; `--rand-type` of the others runs here.
#[test]
fn options_of_the_workloads_run() {
    let scratch = prepared();
    for options in [
        &["--rand-type=special"][..],
        &["--rand-type=pareto"],
        &["--range_selects=off"],
        // Without transactions two clients may delete and insert the same row crosswise, which is a duplicate in MySQL too.
        &["--skip_trx=on", "--mysql-ignore-errors=1062,1213"],
        &["--delete_inserts=3"],
        &["--threads=32"],
    ] {
        run(&scratch.server, "oltp_read_write", options);
    }
    check_tables(&scratch.server);
    for options in [&["--auto_inc=off"][..], &["--create_secondary=off"]] {
        sysbench(&scratch.server, "oltp_common", "cleanup", &[]);
        sysbench(&scratch.server, "oltp_common", "prepare", options);
        run(&scratch.server, "oltp_read_write", options);
        check_tables(&scratch.server);
    }
}

#[test]
fn bulk_insert_and_many_threads_run() {
    let scratch = Scratch::start();
    scratch.server.connect().expect("connects").query_drop("CREATE DATABASE sbtest").expect("creates");
    sysbench(&scratch.server, "bulk_insert", "prepare", &["--threads=4"]);
    let text = sysbench(&scratch.server, "bulk_insert", "run", &["--threads=4", "--time=2"]);
    assert!(text.contains("total number of events"), "{text}");
    sysbench(&scratch.server, "bulk_insert", "cleanup", &["--threads=4"]);
    sysbench(&scratch.server, "oltp_common", "prepare", &[]);
    run(&scratch.server, "oltp_point_select", &["--threads=256", "--time=3"]);
    check_tables(&scratch.server);
}

#[test]
fn lines_of_the_public_reports_work_as_they_are() {
    let scratch = prepared();
    let mut conn = scratch.server.connect_to(Some("sbtest")).expect("connects");
    conn.query_drop("ANALYZE TABLE sbtest2").expect("analyzes");
    assert_eq!(conn.query_first::<i64, _>("SELECT COUNT(pad) FROM sbtest2 USE INDEX (k_2)").expect("counts"), Some(ROWS as i64));
    for statement in [
        "set global tidb_hashagg_final_concurrency=1",
        "set global tidb_hashagg_partial_concurrency=1",
        "set global tidb_disable_txn_auto_retry=0",
        "SET tmp_table_size=2*1024*1024*1024",
    ] {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("config");
    let port = scratch.server.port();
    let text = format!(
        "mysql-host=127.0.0.1\nmysql-port={port}\nmysql-user=root\nmysql-db=sbtest\ntime=2\nthreads=4\nreport-interval=1\ndb-driver=mysql\n"
    );
    std::fs::write(&config, text).expect("written");
    let output = Command::new("sysbench")
        .arg(format!("--config-file={}", config.display()))
        .args(["oltp_read_only", &format!("--tables={TABLES}"), &format!("--table-size={ROWS}"), "run"])
        .output()
        .expect("sysbench runs");
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    run(&scratch.server, "oltp_insert", &["--mysql-password=", "--report-interval=1"]);
    check_tables(&scratch.server);
}

#[test]
fn root_with_a_password_is_asked_for_it() {
    let scratch = prepared();
    let mut conn = scratch.server.connect().expect("connects");
    conn.query_drop("ALTER USER root IDENTIFIED BY 'secret'").expect("sets the password");
    assert!(scratch.server.connect().is_err(), "an empty password is refused");
    run(&scratch.server, "oltp_point_select", &["--mysql-password=secret"]);
}
