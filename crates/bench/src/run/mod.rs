//! A scenario from its first server to its last run.
//!
//! ```text
//!   start every subject ─► at rest ─► set-up SQL, prepare, analyze, prewarm ─► runs in turns ─► stop
//!                                                                                 │
//!        for each workload, for each number of threads, for each repeat, for each subject (every second repeat in the opposite order)
//! ```
//!
//! All subjects stay up for the whole time, so that a slow minute of the machine hits all of them; each is at rest while another one runs. The result
//! file is written after every run: what was measured before an error or Ctrl-C is kept.

mod load;
mod measured;
mod progress;
mod subject;

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use self::{load::load, measured::measure, progress::Progress, subject::Live};
use crate::{
    Error,
    driver::sysbench,
    interrupt,
    measure::machine,
    result::{self, BenchResult},
    scenario::{DataKind, Loaded, Scenario, Step, TPCC, Topology},
};

/// Runs a scenario; the result file lies in `output` when it returns, also with an error.
pub fn run(loaded: &Loaded, output: &Path) -> Result<BenchResult, Error> {
    interrupt::listen();
    let scenario = &loaded.scenario;
    let invalid = |what| Error::Scenario { scenario: loaded.name.clone(), what };
    let plans = scenario.subjects().map_err(invalid)?;
    std::fs::create_dir_all(output).map_err(Error::file("make", output))?;
    let work = work_directory(scenario)?;
    let sysbench = find_sysbench(scenario, work.path())?;
    let file = output.join("result.json");
    let mut result = empty_result(loaded, work.path())?;
    result.drivers.extend(sysbench.iter().map(|driver| driver.version.clone()));
    if scenario.data.kind == DataKind::Tpcc {
        result.drivers.push(format!("TPC-C of trine bench {}", env!("CARGO_PKG_VERSION")));
    }
    let began = Instant::now();
    let mut progress = Progress::new(scenario, &plans);
    let mut subjects = Vec::new();
    for (number, plan) in plans.into_iter().enumerate() {
        if plan.topology == Topology::Endpoints && (plan.drivers as usize) < plan.target.endpoints.len() {
            let endpoints =
                plan.target.endpoints.iter().map(|text| crate::target::Endpoint::parse(&plan.name, text)).collect::<Result<Vec<_>, _>>()?;
            if !sysbench::can_be_listed(&endpoints) {
                let what = format!(
                    "{} has endpoints on several hosts and ports: there must be a driver for each (`drivers` = {})",
                    plan.name,
                    endpoints.len()
                );
                return Err(Error::Scenario { scenario: loaded.name.clone(), what });
            }
        }
        progress.say(&format!("{}: starting ({})", plan.name, plan.target.topology));
        let idle = Duration::from_secs(u64::from(scenario.idle_seconds));
        let live = Live::start(plan, &work.path().join(format!("subject-{number}")), idle)?;
        progress.say(&live.in_words());
        result.subjects.push(live.described.clone());
        subjects.push(live);
    }
    for live in &mut subjects {
        load(scenario, live, sysbench.as_ref(), &mut result.loads, &mut progress)?;
    }
    result.elapsed_seconds = began.elapsed().as_secs_f64();
    write(&result, &file)?;
    if !scenario.steps.contains(&Step::Run) {
        return Ok(result);
    }
    for workload in &scenario.workloads {
        for &threads in &scenario.threads {
            for repeat in 0..scenario.repeats {
                for turn in 0..subjects.len() {
                    let number = if repeat % 2 == 0 { turn } else { subjects.len() - 1 - turn };
                    let started = Instant::now();
                    let run = measure(scenario, &mut subjects[number], sysbench.as_ref(), workload, threads, repeat)?;
                    progress.ran(&run, started.elapsed());
                    result.runs.push(run);
                    result.elapsed_seconds = began.elapsed().as_secs_f64();
                    write(&result, &file)?;
                }
            }
        }
    }
    check_behind_runs(scenario, &mut subjects, &mut progress)?;
    Ok(result)
}

/// The step `check`, when it stands behind `run`.
fn check_behind_runs(scenario: &Scenario, subjects: &mut [Live], progress: &mut Progress) -> Result<(), Error> {
    let place = |wanted: Step| scenario.steps.iter().position(|step| *step == wanted);
    if place(Step::Check) > place(Step::Run) {
        subjects.iter_mut().try_for_each(|live| load::check(scenario, live, progress))?;
    }
    Ok(())
}

/// Servers' data go with it when the scenario ends.
fn work_directory(scenario: &Scenario) -> Result<tempfile::TempDir, Error> {
    let parent = if scenario.directory.is_empty() { std::env::temp_dir() } else { PathBuf::from(&scenario.directory) };
    std::fs::create_dir_all(&parent).map_err(Error::file("make", &parent))?;
    let parent = std::path::absolute(&parent).map_err(Error::file("find", &parent))?;
    tempfile::Builder::new().prefix("trine-bench-").tempdir_in(&parent).map_err(Error::file("make a directory in", &parent))
}

/// sysbench, if the scenario needs it.
fn find_sysbench(scenario: &Scenario, directory: &Path) -> Result<Option<sysbench::Driver>, Error> {
    let mut scripts: Vec<&str> =
        scenario.workloads.iter().map(|workload| workload.script.as_str()).filter(|script| *script != TPCC).collect();
    if scenario.data.kind == DataKind::Sysbench && scenario.steps.contains(&Step::Prepare) {
        scripts.push("oltp_common");
    }
    if scripts.is_empty() {
        return Ok(None);
    }
    sysbench::Driver::find(&scenario.sysbench, &scripts, directory).map(Some)
}

fn empty_result(loaded: &Loaded, directory: &Path) -> Result<BenchResult, Error> {
    Ok(BenchResult {
        format: result::FORMAT,
        scenario: loaded.name.clone(),
        title: loaded.scenario.title.clone(),
        description: loaded.scenario.description.clone(),
        scenario_text: loaded.text.clone(),
        report: loaded.scenario.report.clone(),
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_seconds: 0.0,
        seed: loaded.scenario.seed,
        machine: machine::look(directory)?,
        drivers: Vec::new(),
        subjects: Vec::new(),
        loads: Vec::new(),
        runs: Vec::new(),
    })
}

/// Written beside and renamed, so that there is never half a file.
fn write(result: &BenchResult, path: &Path) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(result).map_err(|error| Error::Result { path: path.to_owned(), reason: error.to_string() })?;
    let beside = path.with_extension("json.new");
    std::fs::write(&beside, text).map_err(Error::file("write", &beside))?;
    std::fs::rename(&beside, path).map_err(Error::file("write", path))
}

/// Reads a result file.
pub fn read(path: &Path) -> Result<BenchResult, Error> {
    let path = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let result: BenchResult =
        serde_json::from_str(&text).map_err(|error| Error::Result { path: path.clone(), reason: error.to_string() })?;
    match result.format {
        result::FORMAT => Ok(result),
        other => Err(Error::Result { path, reason: format!("its format is {other}, this program knows {}", result::FORMAT) }),
    }
}
