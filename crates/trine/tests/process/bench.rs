//! `trine bench` from the outside: a tiny scenario and its result file, and what it says when something is missing.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
    time::Duration,
};

use bench::result::{BenchResult, Run};
use testkit::wait_until;

use crate::{BINARY, Scratch};

/// One embedded target, two drivers, two variations.
const SCENARIO: &str = r#"
title = "Tiny"
description = "As small as it gets."
workloads = ["oltp_point_select", { script = "oltp_insert", name = "inserts" }]
threads = [3]
seconds = 2
drivers = 2
idle-seconds = 1
[data]
tables = 1
rows = 100
[[target]]
name = "Trine"
configuration.embedded.rocksdb.block-cache-size = "64MB"
[[variation]]
name = "synced"
[[variation]]
name = "not synced"
target.configuration.embedded.raftstore.sync-log = false
set-up = ["SET GLOBAL tidb_enable_prepared_plan_cache = 'OFF'"]
"#;

/// Runs `trine bench` in a directory, with its temporary files in `tmp` there.
fn bench(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().expect("the binary runs")
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    std::fs::create_dir_all(directory.join("tmp")).expect("a directory");
    std::fs::write(directory.join("tiny.toml"), SCENARIO).expect("a scenario");
    let mut command = Command::new(BINARY);
    command.arg("bench").args(arguments).current_dir(directory).env("TMPDIR", directory.join("tmp")).stdin(Stdio::null());
    command
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fails with an error that contains all of these.
fn fails(directory: &Path, arguments: &[&str], wanted: &[&str]) {
    let output = bench(directory, arguments);
    let errors = errors(&output);
    assert!(!output.status.success(), "{arguments:?} succeeds");
    for part in wanted {
        assert!(errors.contains(part), "{arguments:?} does not say {part:?}:\n{errors}");
    }
}

fn result(directory: &Path) -> BenchResult {
    let text = std::fs::read_to_string(directory.join("out/result.json")).expect("a result file");
    serde_json::from_str(&text).expect("of the form that reports read")
}

fn check_run(run: &Run) {
    assert!(run.queries > 0 && run.qps > 0.0 && run.tps > 0.0, "{run:?}");
    assert_eq!((run.drivers, run.threads, run.errors, run.reconnects), (2, 3, 0, 0));
    assert_eq!(run.histogram.count(), run.transactions, "every transaction of both drivers is in the histogram");
    assert_eq!(run.latency.p95_ms, run.histogram.quantile(0.95));
    assert!(run.latency.min_ms <= run.latency.p50_ms && run.latency.p99_ms <= run.latency.max_ms * 1.02, "{:?}", run.latency);
    assert!(run.seconds >= 2.0 && !run.series.is_empty() && run.driver_cores > 0.0);
}

/// A report and a comparison of the result that is there.
fn check_reports_again(directory: &Path) {
    let again = bench(directory, &["report", "out", "--output", "again"]);
    assert!(again.status.success(), "{}", errors(&again));
    let page = |path: &str| std::fs::read_to_string(directory.join(path)).expect("a report");
    assert_eq!(page("again/report.md"), page("out/report.md"));
    let compared = bench(directory, &["compare", "out", "out/result.json", "--output", "compared"]);
    assert!(compared.status.success() && page("compared/compare.md").contains("A"), "{}", errors(&compared));
    std::fs::write(directory.join("old.json"), page("out/result.json").replace("\"format\": 1", "\"format\": 99")).expect("written");
    fails(directory, &["report", "old.json"], &["old.json is not a result file of this version", "its format is 99"]);
}

#[test]
fn tiny_scenario_leaves_a_result_with_everything_in_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = bench(
        directory.path(),
        &["run", "tiny.toml", "--output", "out", "--set", "data.rows=200", "--repeats=2", "--workloads=oltp_point_select,oltp_insert"],
    );
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("[8/8] synced oltp_insert 3 threads: "), "turns are taken in both orders:\n{}", errors(&output));
    let result = result(directory.path());
    assert_eq!((result.scenario.as_str(), result.title.as_str()), ("tiny", "Tiny"));
    assert!(result.scenario_text.contains("rows = 200"), "flags are part of it: {}", result.scenario_text);
    assert!(result.drivers[0].starts_with("sysbench ") && result.machine.cores > 0 && result.machine.sync_micros.p50 > 0.0);
    let [synced, relaxed] = &result.subjects[..] else { panic!("two subjects: {:?}", result.subjects) };
    assert_eq!((synced.name.as_str(), synced.durability.as_str()), ("synced", "synced"));
    assert!(relaxed.durability.contains("sync-log = false"), "{}", relaxed.durability);
    assert_eq!(relaxed.variables["tidb_enable_prepared_plan_cache"], "OFF", "set-up comes before the server is asked");
    assert!(
        relaxed.configuration["trine"].contains("sync-log = false")
            && relaxed.configuration["trine"].contains("block-cache-size = \"64MB\"")
    );
    assert!(synced.version.contains("Trine") && synced.start_seconds.is_some() && synced.idle_memory_bytes.is_some());
    assert_eq!(result.loads.iter().map(|load| load.size.as_str()).collect::<Vec<_>>(), ["1 tables × 200 rows"; 2]);
    assert_eq!(result.runs.len(), 8);
    for run in &result.runs {
        check_run(run);
        assert!(run.server_cpu_micros_per_query.is_some_and(|micros| micros > 0.0), "{run:?}");
        assert_eq!(run.processes.iter().map(|process| process.name.as_str()).collect::<Vec<_>>(), ["trine"]);
        assert!(run.processes[0].resident_bytes > 1 << 20);
    }
    let page = std::fs::read_to_string(directory.path().join("out/report.html")).expect("a report");
    assert!(page.contains("oltp_insert") && page.contains("sync-log = false"), "the report shows what was measured");
    check_reports_again(directory.path());
    let left: Vec<_> = std::fs::read_dir(directory.path().join("tmp")).expect("a directory").collect();
    assert!(left.is_empty(), "servers' data are taken away: {left:?}");
}

#[test]
fn running_servers_are_measured_by_their_addresses() {
    let server = Scratch::start();
    let directory = tempfile::tempdir().expect("a directory");
    let endpoint = format!("127.0.0.1:{}", server.server.port());
    let arguments = ["run", "tiny.toml", "--output", "out", "--endpoint", &endpoint, "--workloads=oltp_point_select", "--text"];
    let output = bench(directory.path(), &arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let result = result(directory.path());
    assert_eq!((result.subjects.len(), result.runs.len(), result.subjects[0].endpoints.as_slice()), (1, 1, &[endpoint][..]));
    check_run(&result.runs[0]);
    assert_eq!((result.runs[0].server_cpu_micros_per_query, result.runs[0].processes.len()), (None, 0), "they may be elsewhere");
    assert_eq!(result.subjects[0].durability, "unknown");
}

#[test]
fn what_is_missing_or_wrong_is_said_in_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path();
    let run = |more: &[&'static str]| [&["run", "tiny.toml", "--output", "out"], more].concat();
    fails(
        directory,
        &run(&["--set", "sysbench.program=/nowhere/sysbench"]),
        &["/nowhere/sysbench is not installed", "Debian package `sysbench`"],
    );
    fails(directory, &run(&["--endpoint", "127.0.0.1:1"]), &["synced does not take connections at 127.0.0.1:1", "refused"]);
    let several = ["run", "tiny.toml", "tiny.toml", "--output", "out", "--endpoint", "127.0.0.1:1"];
    fails(directory, &several, &["2 of 2 scenarios failed: tiny, tiny", "refused"]);
    fails(directory, &run(&["--set", "secnds=3"]), &["unknown key `secnds`; the nearest known key is `seconds`"]);
    fails(directory, &["run", "no-such-scenario"], &["no scenario file no-such-scenario", "embedded-against-mariadb"]);
    fails(directory, &run(&["--set", "sysbench.lua-path=tmp"]), &["tmp/oltp_point_select.lua"]);
    let wrong_key = ["--set", "target.Trine.configuration.embedded.raftstore.sync-lgo=true"];
    fails(directory, &run(&wrong_key), &["trine of synced has ended", "the nearest known key is `raftstore.sync-log`"]);
    // No tables were made: every statement fails.
    let no_tables = ["--set", "steps=['run']", "--targets=Trine"];
    fails(directory, &run(&no_tables), &["what was measured until then is in out", "synced: the driver failed", "sbtest", "FATAL"]);
}

#[test]
fn tpcc_is_loaded_driven_and_checked_by_a_scenario() {
    let directory = tempfile::tempdir().expect("a directory");
    let options =
        ["--set", "data.divisor=100", "--set", "warm-up-seconds=0", "--seconds=3", "--repeats=1", "--threads=2", "--targets=Trine"];
    let output = bench(directory.path(), &[&["run", "tpcc-throughput", "--size=small", "--output", "out"], &options[..]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    assert!(errors(&output).contains("Trine: the database is consistent"), "{}", errors(&output));
    let result = result(directory.path());
    let run = &result.runs[0];
    assert_eq!((result.runs.len(), run.workload.as_str(), run.parts.len()), (1, "tpcc", 5));
    assert!(run.tpm_c.is_some_and(|rate| rate > 0.0) && run.driver_cores > 0.0 && run.server_cpu_micros_per_query.is_some(), "{run:?}");
    assert!(result.loads[0].size.starts_with("2 warehouses of 30 customers"), "{}", result.loads[0].size);
}

#[test]
fn shipped_scenarios_are_listed() {
    let directory = tempfile::tempdir().expect("a directory");
    let output = bench(directory.path(), &["list"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.lines().any(|line| line.starts_with("embedded-against-mariadb  ")), "{text}");
}

#[test]
fn interrupted_scenario_stops_its_servers_and_keeps_what_it_has() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = command(directory.path(), &["run", "tiny.toml", "--output", "out", "--seconds=600"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut said = BufReader::new(child.stderr.take().expect("it was asked for")).lines().map_while(Result::ok);
    let is_loaded = |line: &String| line.starts_with("not synced: 1 tables × 100 rows loaded");
    assert!(said.by_ref().any(|line| is_loaded(&line)), "the last subject is loaded");
    let running = |pattern: &str| {
        let list = Command::new("pgrep").args(["-f", "--", pattern]).output().expect("pgrep runs");
        !list.stdout.is_empty()
    };
    let data = directory.path().join("tmp").display().to_string();
    let pattern = format!("--data-dir={data}");
    assert!(running(&pattern), "servers run");
    wait_until("the result file", Duration::from_secs(60), || directory.path().join("out/result.json").exists().then_some(()))
        .expect("written");
    // SAFETY: a plain system call on a process that is ours and has not been waited for.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
    let ended = wait_until("it ends", Duration::from_secs(60), || child.try_wait().expect("it is ours")).expect("it ends");
    assert!(!ended.success() && said.any(|line| line.contains("interrupted")), "{ended}");
    assert!(!running(&pattern), "servers are stopped");
    assert_eq!(result(directory.path()).loads.len(), 2);
    assert_eq!(std::fs::read_dir(data).expect("a directory").count(), 0);
}
