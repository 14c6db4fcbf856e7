//! What is needed to measure the same again: the scenario, the machine, versions, the configuration as applied, and every single run.

use crate::report::doubts;
use crate::report::figures;
use crate::report::page::{Block, Section};
use crate::report::table::{Cell, Column, Table};
use crate::result::{BenchResult, Machine, Run, Subject};

/// The section.
pub(crate) fn section(result: &BenchResult) -> Section {
    let mut section = Section::new("Repeat it");
    section.blocks.push(Block::Text(format!(
        "Save the scenario as {0}.toml and run it; it holds every option as it was, also those given as flags.",
        result.scenario
    )));
    section.blocks.push(Block::Code { caption: "Command".to_string(), text: format!("trine bench run {}.toml", result.scenario) });
    section.blocks.push(Block::Code { caption: format!("{}.toml", result.scenario), text: result.scenario_text.clone() });
    let drivers = [("drivers".to_string(), result.drivers.join(", ")), ("seed of random generators".to_string(), result.seed.to_string())];
    let facts: Vec<_> = machine(&result.machine).into_iter().chain(drivers).collect();
    section.blocks.push(Block::from(pairs("Machine and drivers", &facts)));
    section.blocks.extend(result.subjects.iter().filter_map(configuration));
    section
        .blocks
        .push(Block::Fold { title: "Every run, in the order they ran".to_string(), blocks: vec![Block::from(runs(&result.runs))] });
    section
}

/// What the machine is and how fast its disk was, as names and values.
fn machine(machine: &Machine) -> Vec<(String, String)> {
    let sync = &machine.sync_micros;
    let latency =
        format!("50 %: {} µs, 95 %: {} µs, slowest: {} µs", figures::time(sync.p50), figures::time(sync.p95), figures::time(sync.max));
    hardware(machine).into_iter().chain([("a synced write of 4 KiB".to_string(), latency)]).collect()
}

/// What does not change from one measurement on a machine to the next.
pub(crate) fn hardware(machine: &Machine) -> Vec<(String, String)> {
    let mut facts = vec![
        ("processor".to_string(), machine.cpu.clone()),
        ("cores".to_string(), machine.cores.to_string()),
        ("memory".to_string(), figures::bytes(machine.memory_bytes)),
        ("kernel".to_string(), machine.kernel.clone()),
        ("system".to_string(), machine.os.clone()),
        ("file system of the data".to_string(), machine.file_system.clone()),
    ];
    facts.extend(machine.kernel_settings.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts
}

/// Names and values as a table.
fn pairs(caption: &str, facts: &[(String, String)]) -> Table {
    let mut table = Table::new(caption, vec![Column::words("setting"), Column::words("value")]);
    table.rows = facts.iter().map(|(name, value)| vec![name.as_str().into(), value.as_str().into()]).collect();
    table
}

fn configuration(subject: &Subject) -> Option<Block> {
    let mut blocks: Vec<Block> =
        subject.configuration.iter().map(|(process, text)| Block::Code { caption: process.clone(), text: text.clone() }).collect();
    if !subject.set_up.is_empty() {
        blocks.push(Block::Code { caption: "SQL run before measuring".to_string(), text: subject.set_up.join(";\n") + ";" });
    }
    (!blocks.is_empty()).then(|| Block::Fold { title: format!("Configuration of {} as applied", subject.name), blocks })
}

fn runs(runs: &[Run]) -> Table {
    let words = ["run", "subject", "workload"].map(Column::words);
    let figures_of = ["threads", "repeat", "drivers", "seconds", "queries", "transactions", "QPS", "TPS"].map(Column::figures);
    let latencies = ["min", "mean", "50 %", "95 %", "99 %", "max"].map(|title| Column::figures(title).under("latency, ms"));
    let rest = ["errors", "reconnects", "CPU, µs per query", "driver cores", "stolen time"].map(Column::figures);
    let mut table = Table::new("Every run", words.into_iter().chain(figures_of).chain(latencies).chain(rest).collect());
    for (at, run) in runs.iter().enumerate() {
        let latency = &run.latency;
        let mut row: Vec<Cell> = vec![
            Cell { doubts: doubts::of([run]), ..(at + 1).to_string().into() },
            run.subject.as_str().into(),
            run.workload.as_str().into(),
        ];
        row.extend([u64::from(run.threads), u64::from(run.repeat) + 1, u64::from(run.drivers)].map(|count| Cell::from(count.to_string())));
        row.extend(
            [run.seconds, run.queries as f64, run.transactions as f64, run.qps, run.tps].map(|rate| Cell::from(figures::rate(rate))),
        );
        let latencies = [latency.min_ms, latency.avg_ms, latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.max_ms];
        row.extend(latencies.map(|latency| Cell::from(figures::time(latency))));
        row.extend([run.errors, run.reconnects].map(|count| Cell::from(count.to_string())));
        row.push(Cell::maybe(run.server_cpu_micros_per_query.map(figures::rate)));
        row.push(figures::time(run.driver_cores).into());
        row.push(figures::percent(run.steal_percent / 100.0).into());
        table.rows.push(row);
    }
    table
}
