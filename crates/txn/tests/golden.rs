//! Golden scripts of the scheduler: commands of named transactions, as a transcript.
//!
//! A script is a list of blocks, separated by blank lines: a command, `----`, and what became of it. A command that waits for a lock goes on in
//! the background; its answer appears with the command that ended its wait. `UPDATE_GOLDEN=1` rewrites the outputs; people review the difference.

#![allow(clippy::unwrap_used)]

mod script;

use std::{fs, path::Path};

#[tokio::test]
async fn scripts_answer_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 6, "scripts are missing: {names:?}");
    let mut failures = Vec::new();
    for path in names {
        let text = fs::read_to_string(&path).unwrap();
        let answered = script::run(&text).await;
        if answered == text {
            continue;
        }
        if update {
            fs::write(&path, answered).unwrap();
        } else {
            let pair = text.lines().zip(answered.lines()).find(|(recorded, answered)| recorded != answered);
            failures.push(format!("{}: {pair:?}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
