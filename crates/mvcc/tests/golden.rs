//! Golden scripts: every step and every rule of the version layout as a transcript.
//!
//! A script is a list of blocks, separated by blank lines: a command, `----`, and what it answered and wrote. `UPDATE_GOLDEN=1` rewrites
//! the outputs; people review the difference. Commands run against the engine in memory, and their writes are applied at once.
//!
//! Written records are shown as `+cf key record` and `-cf key`; `mem` is the caller's memory for pessimistic locks.

mod script;

use std::{fs, path::Path};

#[test]
fn scripts_answer_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut failures = Vec::new();
    let mut names: Vec<_> = fs::read_dir(&folder).expect("the folder of scripts").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    assert!(names.len() >= 16, "scripts are missing: {names:?}");
    for path in names {
        let text = fs::read_to_string(&path).expect("a script");
        let answered = script::run(&text);
        if answered == text {
            continue;
        }
        if update {
            fs::write(&path, answered).expect("writes the script");
        } else {
            failures.push(format!("{}\n{}", path.display(), first_difference(&text, &answered)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn first_difference(expected: &str, found: &str) -> String {
    let pair = expected.lines().zip(found.lines()).enumerate().find(|(_, (expected, found))| expected != found);
    match pair {
        Some((line, (expected, found))) => format!("  line {}:\n    recorded: {expected}\n    answered: {found}", line + 1),
        None => "  one is longer than the other".to_owned(),
    }
}
