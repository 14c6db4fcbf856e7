//! Golden EXPLAIN: every file of `tests/explain` holds statements with the plans they get.
//!
//! ```text
//! # a comment
//! SELECT …
//! off push_down_limits          the same statement with a rule switched off
//! cached SELECT …               planned for the plan cache of text statements
//! ----
//! the plan
//! ```
//!
//! `UPDATE_GOLDEN=1 cargo test -p planner` rewrites the plans; people review the difference.

use std::{fs, path::Path};

use crate::fixture::{Options, explain, plan};
use planner::{Rule, RuleSet};

fn run(commands: &str) -> String {
    let mut out = String::new();
    let mut statement = String::new();
    for block in commands.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
        let input = block.split("\n----").next().unwrap_or(block);
        out.push_str(input);
        out.push_str("\n----\n");
        let line = input.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
        let mut options = Options::default();
        if let Some(rules) = line.strip_prefix("off ") {
            options.rules = match rules.trim() {
                "all" => RuleSet::all_off(),
                rules => RuleSet::parse(rules).expect("a rule's name"),
            };
        } else if let Some(sql) = line.strip_prefix("cached ") {
            options.cached = true;
            statement = sql.to_owned();
        } else {
            statement = line;
        }
        match plan(&statement, &options) {
            Ok(plan) => out.push_str(&explain(&plan)),
            Err(error) => {
                let error = error.to_mysql();
                out.push_str(&format!("error {} ({}): {}\n", error.code, error.sqlstate, error.message));
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn plans_are_the_recorded_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut differing = vec![];
    let mut files: Vec<_> = fs::read_dir(&folder).expect("the folder of goldens").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in files {
        let recorded = fs::read_to_string(&file).expect("a golden file");
        let actual = run(&recorded);
        if update {
            fs::write(&file, &actual).expect("goldens are writable");
        } else if actual != recorded {
            differing.push(format!("{}:\n{actual}", file.display()));
        }
    }
    assert!(differing.is_empty(), "plans differ (UPDATE_GOLDEN=1 rewrites them)\n{}", differing.join("\n"));
}

#[test]
fn every_rule_can_be_switched_off_by_name() {
    for rule in Rule::ALL {
        assert_eq!(Rule::by_name(rule.name()), Some(*rule));
        let set = RuleSet::parse(rule.name()).expect("a rule's name");
        assert!(!set.is_on(*rule) && Rule::ALL.iter().filter(|other| *other != rule).all(|other| set.is_on(*other)));
    }
    assert_eq!(RuleSet::parse("no_such_rule"), Err("no_such_rule".to_owned()));
}
