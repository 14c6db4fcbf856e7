//! sqllogictest scripts over the matrix of settings that must not change any result.
//!
//! `TRINE_SCRIPTS=dml/insert cargo test -p trine --test process scripts` runs only the files whose path below `tests/slt` begins so.

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use testkit::{Matrix, run_scripts};

use crate::{Scratch, cluster_sql, stores::cluster::Cluster};

#[test]
fn scripts_give_equal_results_under_every_setting() {
    let scratch = Scratch::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let only = std::env::var("TRINE_SCRIPTS").unwrap_or_default();
    let connect = |database: Option<&str>| scratch.server.connect_to(database);
    let runs = run_scripts(&connect, &folder, &only, &Matrix::all()).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(runs >= Matrix::all().len());
}

/// The connections of a script go to two SQL servers in turn, so that one meets what the other has just changed.
#[test]
fn scripts_give_equal_results_over_a_cluster() {
    let cluster = Cluster::start(3);
    let servers = [cluster.start_sql("sql0"), cluster.start_sql("sql1")];
    let turn = AtomicUsize::new(0);
    let connect = |database: Option<&str>| cluster_sql::try_connect(&servers[turn.fetch_add(1, Ordering::Relaxed) % 2].address, database);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let only = std::env::var("TRINE_SCRIPTS").unwrap_or_default();
    run_scripts(&connect, &folder, &only, &Matrix::servers_in_turn()).unwrap_or_else(|error| panic!("{error:#}"));
    let connect = |database: Option<&str>| cluster_sql::try_connect(&servers[0].address, database);
    for only in Matrix::servers_in_turn()[0].skip {
        run_scripts(&connect, &folder, only, &Matrix::one_server()).unwrap_or_else(|error| panic!("{error:#}"));
    }
}
