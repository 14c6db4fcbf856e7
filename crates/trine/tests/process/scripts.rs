//! sqllogictest scripts over the matrix of settings that must not change any result.
//!
//! `TRINE_SCRIPTS=dml/insert cargo test -p trine --test process scripts` runs only the files whose path below `tests/slt` begins so.

use std::path::Path;

use testkit::{Matrix, run_scripts};

use crate::Scratch;

#[test]
fn scripts_give_equal_results_under_every_setting() {
    let scratch = Scratch::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let only = std::env::var("TRINE_SCRIPTS").unwrap_or_default();
    let runs = run_scripts(&scratch.server, &folder, &only, &Matrix::all()).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(runs >= Matrix::all().len());
}
