//! Reports: what a result file says, for people.
//!
//! ```text
//!   BenchResult ──► Summary (workload × threads × subject → repeats) ──► Page (sections of blocks) ──► render: HTML, Markdown, terminal
//!                   noise: what may be called a difference               glance, settings, workload,
//!                   doubts: what must be marked                          resources, reproduce
//! ```
//!
//! Invariants:
//! - Repeats are summarised by the median of a rate with its range; percentiles come from the merged histograms of all repeats.
//! - A difference within the spread of the repeats is not called better or worse (`noise`).
//! - The HTML page loads nothing, runs no script, and shows all foreign text escaped (`render::markup`).

pub(crate) mod chart;
pub(crate) mod doubts;
pub(crate) mod figures;
pub(crate) mod glance;
pub(crate) mod metrics;
pub(crate) mod noise;
pub(crate) mod page;
mod parts;
pub(crate) mod render;
pub(crate) mod reproduce;
pub(crate) mod resources;
pub(crate) mod series;
pub(crate) mod settings;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod warnings;
pub(crate) mod workload;

use std::io;
use std::path::{Path, PathBuf};

use crate::report::page::{Block, Page, Section};
use crate::report::summary::Summary;
use crate::result::{BenchResult, Subject};
use crate::scenario::ReportPart;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The disk refused.
    #[error("cannot write {}", path.display())]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

/// Where a report lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tables, for repositories and mails.
    pub markdown: PathBuf,
    /// Tables and charts, complete in one file.
    pub html: PathBuf,
}

/// Writes `report.md` and `report.html` into the directory, which is created when missing.
pub fn write(result: &BenchResult, directory: &Path) -> Result<Written, Error> {
    write_page(&page(result), "report", directory)
}

/// The report's essence as text for a terminal.
pub fn terminal(result: &BenchResult) -> String {
    let summary = summary(result);
    let mut blocks = vec![Block::Warnings(warnings_of(result, &summary))];
    blocks.extend(summary.workloads.iter().map(|workload| Block::from(workload::main_table(&summary, workload))));
    blocks.extend(resources::section(&costs(result)).blocks);
    let title = if result.title.is_empty() { &result.scenario } else { &result.title };
    render::terminal::text(title, &blocks)
}

pub(crate) fn write_page(page: &Page, name: &str, directory: &Path) -> Result<Written, Error> {
    let written = Written { markdown: directory.join(format!("{name}.md")), html: directory.join(format!("{name}.html")) };
    std::fs::create_dir_all(directory).map_err(|source| Error::Write { path: directory.to_path_buf(), source })?;
    let pages = [(&written.markdown, render::markdown::text(page, name)), (&written.html, render::html::text(page))];
    for (path, text) in pages {
        std::fs::write(path, text).map_err(|source| Error::Write { path: path.clone(), source })?;
    }
    Ok(written)
}

fn summary(result: &BenchResult) -> Summary<'_> {
    let names: Vec<String> = result.subjects.iter().map(|subject| subject.name.clone()).collect();
    let runs = result.runs.iter().filter_map(|run| Some((names.iter().position(|name| *name == run.subject)?, run))).collect::<Vec<_>>();
    Summary::new(names, runs, &result.report)
}

fn warnings_of(result: &BenchResult, summary: &Summary<'_>) -> Vec<String> {
    let mut warnings = warnings::of(summary, &result.subjects.iter().collect::<Vec<_>>());
    let shown: usize = summary.cells().map(|repeats| repeats.runs.len()).sum();
    if shown < result.runs.len() {
        warnings.push(format!("{} runs are of subjects that the result does not describe; they are left out.", result.runs.len() - shown));
    }
    warnings
}

fn costs(result: &BenchResult) -> Vec<resources::Costs<'_>> {
    result.subjects.iter().map(|subject| resources::Costs::of(result, subject, &subject.name)).collect()
}

fn page(result: &BenchResult) -> Page {
    let summary = summary(result);
    let subjects: Vec<&Subject> = result.subjects.iter().collect();
    let mut care = Section::new("Read with care");
    care.blocks.push(Block::Warnings(warnings_of(result, &summary)));
    let mut sections = Vec::new();
    if !matches!(care.blocks.as_slice(), [Block::Warnings(warnings)] if warnings.is_empty()) {
        sections.push(care);
    }
    sections.extend(glance::section(&summary).filter(|_| result.report.shows(ReportPart::Glance)));
    let mut equal = Section::new("Durability and isolation");
    equal.blocks.push(Block::Text(
        "Figures of subjects that keep different promises are not of the same work. Settings that bear on what an acknowledged commit means \
         are marked where they are unequal."
            .to_string(),
    ));
    equal.blocks.push(Block::from(settings::table(&subjects)));
    sections.push(equal);
    sections.extend(summary.workloads.iter().map(|workload| workload::section(&summary, workload)));
    if result.report.shows(ReportPart::Resources) {
        sections.push(resources::section(&costs(result)));
    }
    if result.report.shows(ReportPart::Repeat) {
        sections.push(reproduce::section(result));
    }
    Page {
        title: if result.title.is_empty() { result.scenario.clone() } else { result.title.clone() },
        kind: "Benchmark report",
        description: result.description.clone(),
        facts: facts(result, &summary),
        sections,
    }
}

/// What a reader asks first.
pub(crate) fn facts(result: &BenchResult, summary: &Summary<'_>) -> Vec<(String, String)> {
    let machine = &result.machine;
    let versions = result.subjects.iter().map(|subject| match &subject.commit {
        Some(commit) => format!("{} {} ({commit})", subject.name, subject.version),
        None => format!("{} {}", subject.name, subject.version),
    });
    let counts = |figure: &dyn Fn(&summary::Repeats<'_>) -> usize| {
        let values: Vec<usize> = summary.cells().map(figure).collect();
        match (values.iter().min(), values.iter().max()) {
            (Some(low), Some(high)) if low == high => low.to_string(),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            _ => "0".to_string(),
        }
    };
    let repeats = counts(&|repeats| repeats.runs.len());
    let seconds = counts(&|repeats| repeats.runs.iter().map(|run| run.seconds.round() as usize).max().unwrap_or(0));
    let shared = result.subjects.iter().any(|subject| subject.topology != "endpoints" && !subject.topology.is_empty());
    let facts = [
        ("Subjects", versions.collect::<Vec<_>>().join("; ")),
        ("Measured", format!("{}, {} in all", figures::instant(&result.started_at), figures::seconds(result.elapsed_seconds))),
        ("Runs", format!("{}: repeats {repeats}, {seconds} s each", result.runs.len())),
        ("Machine", format!("{}, {} cores, {}", machine.cpu, machine.cores, figures::bytes(machine.memory_bytes))),
        ("System", format!("{}, {}, {}", machine.os, machine.kernel, machine.file_system)),
        (
            "Synced write",
            format!("{} µs (50 %), {} µs (95 %)", figures::time(machine.sync_micros.p50), figures::time(machine.sync_micros.p95)),
        ),
        ("Drivers", format!("{}{}", result.drivers.join(", "), if shared { ", on the same processors as the servers" } else { "" })),
        ("Scenario", format!("{}, seed {}", result.scenario, result.seed)),
    ];
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
