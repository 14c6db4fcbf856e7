//! What the subjects cost beside queries: start, rest, loading, memory.

use std::collections::BTreeMap;

use crate::report::figures;
use crate::report::page::{Block, Section};
use crate::report::table::{Cell, Column, Table};
use crate::result::{BenchResult, Load, Run, Subject};

/// What a subject's tables are made from.
pub(crate) struct Costs<'a> {
    /// As the report calls it.
    pub name: &'a str,
    /// The subject.
    pub subject: &'a Subject,
    /// Its loads.
    pub loads: Vec<&'a Load>,
    /// Its runs.
    pub runs: Vec<&'a Run>,
}

impl<'a> Costs<'a> {
    /// All that a result says of one of its subjects.
    pub fn of(result: &'a BenchResult, subject: &'a Subject, name: &'a str) -> Self {
        let loads = result.loads.iter().filter(|load| load.subject == subject.name).collect();
        let runs = result.runs.iter().filter(|run| run.subject == subject.name).collect();
        Self { name, subject, loads, runs }
    }
}

/// The section.
pub(crate) fn section(subjects: &[Costs<'_>]) -> Section {
    let mut section = Section::new("Start, loading, memory");
    section.blocks.push(Block::from(start(subjects)));
    let loads = loads(subjects);
    if !loads.rows.is_empty() {
        section.blocks.push(Block::from(loads));
    }
    let processes = processes(subjects);
    // With one process each, the first table has said it.
    if processes.rows.len() > subjects.len() {
        section.blocks.push(Block::from(processes));
    }
    section
}

fn start(subjects: &[Costs<'_>]) -> Table {
    let columns = vec![
        Column::words("subject"),
        Column::figures("start until the first answer"),
        Column::figures("CPU at rest"),
        Column::figures("memory at rest"),
        Column::figures("largest memory at a run's end"),
    ];
    let mut table = Table::new("Start, rest and memory of all server processes together", columns);
    for Costs { name, subject, runs, .. } in subjects {
        let resident = |run: &&Run| run.processes.iter().map(|process| process.resident_bytes).sum::<u64>();
        table.rows.push(vec![
            Cell::from(*name),
            Cell::maybe(subject.start_seconds.map(figures::seconds)),
            Cell::maybe(subject.idle_cpu_percent.map(|percent| format!("{} of a core", figures::percent(percent / 100.0)))),
            Cell::maybe(subject.idle_memory_bytes.map(figures::bytes)),
            Cell::maybe(runs.iter().map(resident).max().filter(|bytes| *bytes > 0).map(figures::bytes)),
        ]);
    }
    table
}

fn loads(subjects: &[Costs<'_>]) -> Table {
    let mut columns = vec![Column::words("data"), Column::words("size")];
    for Costs { name, .. } in subjects {
        columns.extend(["time", "server CPU"].map(|title| Column::figures(title).under(*name)));
    }
    let mut table = Table::new("Loading, indexes included; measured once, so the noise is unknown", columns);
    let mut kinds: Vec<(&str, &str)> = Vec::new();
    for load in subjects.iter().flat_map(|costs| &costs.loads) {
        if !kinds.contains(&(&load.data, &load.size)) {
            kinds.push((&load.data, &load.size));
        }
    }
    for (data, size) in kinds {
        let mut row = vec![Cell::from(data), Cell::from(size)];
        for Costs { loads, .. } in subjects {
            let of_kind: Vec<_> = loads.iter().filter(|load| load.data == data && load.size == size).collect();
            let list = |figure: &dyn Fn(&Load) -> Option<f64>| {
                let values: Vec<_> = of_kind.iter().filter_map(|load| figure(load)).map(figures::seconds).collect();
                Cell::maybe((!values.is_empty()).then(|| values.join(", ")))
            };
            row.extend([list(&|load| Some(load.seconds)), list(&|load| load.server_cpu_seconds)]);
        }
        table.rows.push(row);
    }
    table
}

/// Largest memory and all processor time of every process.
fn processes(subjects: &[Costs<'_>]) -> Table {
    let columns = vec![
        Column::words("subject"),
        Column::words("process"),
        Column::figures("largest memory at a run's end"),
        Column::figures("CPU time over all runs"),
    ];
    let mut table = Table::new("Server processes", columns);
    for Costs { name, runs, .. } in subjects {
        let mut used: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
        for process in runs.iter().flat_map(|run| &run.processes) {
            let (bytes, seconds) = used.entry(&process.name).or_default();
            *bytes = (*bytes).max(process.resident_bytes);
            *seconds += process.cpu_seconds;
        }
        for (process, (bytes, seconds)) in used {
            table.rows.push(vec![(*name).into(), process.into(), figures::bytes(bytes).into(), figures::seconds(seconds).into()]);
        }
    }
    table
}
