//! Scenarios that are read, overridden, cut to the small size, and refused with the nearest name.

use std::collections::BTreeSet;

use super::*;

const SCENARIO: &str = r#"
title = "Two settings"
workloads = ["oltp_point_select", { script = "oltp_read_only", name = "without ranges", options = { range_selects = "off" } }]
threads = [1, 8]
set-up = ["SET GLOBAL a = 1"]
[[target]]
name = "Trine"
set-up = ["SET GLOBAL b = 1"]
[target.configuration]
embedded = """
log-level = "warn"
[raftstore]
sync-log = true
"""
[[target]]
name = "MariaDB"
topology = "mariadb"
[[variation]]
name = "synced"
targets = ["Trine"]
[[variation]]
name = "not synced"
targets = ["Trine"]
set-up = ["SET GLOBAL c = 1"]
drivers = 2
target.configuration.embedded.raftstore.sync-log = false
options = { rand-type = "pareto" }
data = { rows = 5 }
[small]
seconds = 1
data.tables = 1
target.user = "small"
"#;

fn parsed(text: &str, size: Size, assignments: &[&str]) -> Result<Loaded, String> {
    let overrides: Vec<Override> = assignments.iter().map(|text| Override::Set((*text).to_owned())).collect();
    parse("test", text, size, &overrides)
}

#[test]
fn each_variation_that_applies_to_a_target_makes_a_subject() {
    let scenario = parsed(SCENARIO, Size::Full, &[]).expect("a scenario").scenario;
    let subjects = scenario.subjects().expect("subjects");
    let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
    assert_eq!(names, ["Trine, synced", "Trine, not synced", "MariaDB"]);
    let [synced, relaxed, maria] = &subjects[..] else { panic!("three") };
    let sync_log = |subject: &SubjectPlan| subject.target.configuration.embedded["raftstore"]["sync-log"].as_bool();
    assert_eq!((sync_log(synced), sync_log(relaxed)), (Some(true), Some(false)));
    assert_eq!(relaxed.target.configuration.embedded["log-level"].as_str(), Some("warn"), "the rest of the file stays");
    assert_eq!(relaxed.set_up, ["SET GLOBAL a = 1", "SET GLOBAL b = 1", "SET GLOBAL c = 1"]);
    assert_eq!((relaxed.data.rows, synced.data.rows, relaxed.drivers, maria.drivers), (5, 100_000, 2, 1));
    let options = relaxed.options_of(&scenario.workloads[1]);
    assert_eq!((options["range_selects"].as_str(), options["rand-type"].as_str()), (Some("off"), Some("pareto")));
    assert_eq!(scenario.workloads[1].title(), "without ranges");
    assert_eq!(maria.topology, Topology::MariaDb);
}

#[test]
fn baseline_comes_first() {
    let loaded = parsed(SCENARIO, Size::Full, &["report.baseline=MariaDB"]).expect("a scenario");
    assert_eq!(names(&loaded), ["MariaDB", "Trine, synced", "Trine, not synced"]);
}

#[test]
fn flags_win_over_the_small_size_and_that_over_the_file() {
    let full = parsed(SCENARIO, Size::Full, &[]).expect("a scenario").scenario;
    assert_eq!((full.seconds, full.data.tables), (10, 4));
    let small = parsed(SCENARIO, Size::Small, &["data.tables=2", "threads=[3]"]).expect("a scenario");
    assert_eq!((small.scenario.seconds, small.scenario.data.tables, &small.scenario.threads[..]), (1, 2, &[3][..]));
    assert!(small.scenario.target.iter().all(|target| target.user == "small") && full.target[0].user == "root");
    let again = parsed(&small.text, Size::Full, &[]).expect("what was run is a scenario");
    assert_eq!(again.scenario, small.scenario);
}

#[test]
fn unknown_keys_are_errors_that_name_the_nearest_key() {
    for (assignment, wanted) in [
        ("second=3", "unknown key `second`; the nearest known key is `seconds`"),
        ("data.row=3", "unknown key `data.row`; the nearest known key is `data.rows`"),
        ("target.0.topolgy='x'", "unknown key `target.topolgy`; the nearest known key is `target.topology`"),
        ("target.0.configuration.kvs.a=1", "unknown key `target.configuration.kvs`; the nearest known key is `target.configuration.kv`"),
        ("variation.0.target.cpu.core=1", "unknown key `variation.target.cpu.core`; the nearest known key is `variation.target.cpu.cores`"),
    ] {
        assert_eq!(parsed(SCENARIO, Size::Full, &[assignment]).expect_err(assignment), wanted);
    }
    let small = SCENARIO.replace("data.tables = 1", "data.table = 1");
    let error = parsed(&small, Size::Full, &[]).expect_err("a wrong key in another size");
    assert_eq!(error, "[small]: unknown key `data.table`; the nearest known key is `data.tables`");
    parsed(SCENARIO, Size::Full, &["sysbench.options.anything=1", "target.0.configuration.embedded.whatever=1"]).expect("keys of others");
}

#[test]
fn scenarios_that_say_nothing_sensible_are_errors() {
    for (assignment, wanted) in [
        ("threads=[]", "`threads` must be at least 1"),
        ("repeats=0", "`repeats` must be at least 1"),
        ("workloads=[]", "there are no `workloads`"),
        ("target=[]", "there is no [[target]]"),
        ("target.0.topology=2+1", "unknown topology `2+1`"),
        ("target.0.topology=endpoints", "but no `endpoints`"),
        ("variation.0.targets=['Oracle']", "that is not there"),
        ("variation.0.name=not synced", "two subjects are called `Trine, not synced`"),
        ("report.baseline=x", "is not a subject"),
        ("report.figures=[]", "`report.figures` names none"),
        ("report.figures=['speed']", "unknown variant `speed`, expected one of `tpm-c`, `qps`"),
        ("report.parts=['pictures']", "unknown variant `pictures`, expected one of `glance`, `charts`"),
        ("workloads=['tpcc']", "workload `tpcc` does not run on data of kind `sysbench`"),
        ("data.kind='tpcc'", "its only workload is `tpcc`"),
        ("steps=['prepare', 'run', 'check']", "step `check` is of data of kind `tpcc`"),
        ("seconds=many", "invalid type"),
        ("variation.0.data.rows=many", "invalid type"),
    ] {
        let error = parsed(SCENARIO, Size::Full, &[assignment]).expect_err(assignment);
        assert!(error.contains(wanted), "{assignment}: {error}");
    }
}

#[test]
fn topologies_are_read() {
    assert_eq!("3+4+2".parse(), Ok(Topology::Cluster { pd: 3, kv: 4, sql: 2 }));
    assert_eq!("embedded".parse(), Ok(Topology::Embedded));
    for wrong in ["", "0+1+1", "1+1", "1+1+1+1", "a+b+c"] {
        assert!(wrong.parse::<Topology>().is_err(), "{wrong}");
    }
}

#[test]
fn every_shipped_scenario_is_listed_and_valid_in_both_sizes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/scenarios");
    let files = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let names: BTreeSet<String> = files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    let listed: BTreeSet<String> = shipped().iter().map(|shipped| shipped.name.to_owned()).collect();
    assert_eq!(names, listed);
    for shipped in shipped() {
        for size in [Size::Full, Size::Small] {
            let loaded = parsed(shipped.text, size, &[]).unwrap_or_else(|error| panic!("{}: {error}", shipped.name));
            assert!(!loaded.scenario.title.is_empty() && !loaded.scenario.description.is_empty(), "{}", shipped.name);
        }
    }
}

fn names(loaded: &Loaded) -> Vec<String> {
    loaded.scenario.subjects().expect("subjects").into_iter().map(|subject| subject.name).collect()
}

#[test]
fn targets_can_be_chosen_or_replaced_by_running_servers() {
    let with = |laid_over: Override| parse("test", SCENARIO, Size::Full, &[laid_over]);
    let maria = with(Override::OnlyTargets(vec!["mariadb".to_owned()])).expect("one target");
    assert_eq!(names(&maria), ["MariaDB"]);
    let trine = with(Override::OnlyTargets(vec!["Trine".to_owned()])).expect("one target");
    assert_eq!(names(&trine), ["synced", "not synced"]);
    let error = with(Override::OnlyTargets(vec!["Oracle".to_owned()])).expect_err("unknown");
    assert_eq!(error, "there is no target `Oracle`, but Trine, MariaDB");
    let given = with(Override::Endpoints(vec!["a:1".to_owned(), "b:2".to_owned()])).expect("servers");
    assert_eq!(names(&given), ["a:1, b:2"]);
}

#[test]
fn password_is_used_and_not_kept() {
    let loaded =
        parse("test", SCENARIO, Size::Full, &[Override::Text("target.*.password".to_owned(), "12".to_owned())]).expect("a scenario");
    assert_eq!(loaded.scenario.target[1].password, "12");
    assert!(!loaded.text.contains("password"), "{}", loaded.text);
}
