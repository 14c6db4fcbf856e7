//! Two result files side by side: a version or a configuration before and after.
//!
//! Subjects of the same name are compared with each other; when each file has one subject, these two are, whatever they are called. Runs are
//! matched by workload and number of threads; what only one file holds is named and left out. The first file is A, the second B, and
//! differences are B's relative to A's under the rules of [`crate::report`].

mod differences;
mod pairs;

use std::path::Path;

use crate::compare::pairs::{Pair, Pairs};
use crate::report::page::{Block, Page, Section};
use crate::report::resources::{self, Costs};
use crate::report::table::Table;
use crate::report::{self, Error, Written, figures, glance, render, settings, warnings, workload};
use crate::result::BenchResult;

/// Writes `compare.md` and `compare.html` into the directory, which is created when missing.
pub fn write(a: &BenchResult, b: &BenchResult, directory: &Path) -> Result<Written, Error> {
    report::write_page(&page(a, b), "compare", directory)
}

/// The comparison's essence as text for a terminal.
pub fn terminal(a: &BenchResult, b: &BenchResult) -> String {
    let pairs = Pairs::of(a, b);
    let mut blocks = vec![Block::Warnings(warnings_of(a, b, &pairs))];
    for pair in &pairs.matched {
        blocks.push(Block::Text(pair.title()));
        let summary = pair.summary();
        blocks.extend(summary.workloads.iter().map(|workload| Block::from(workload::main_table(&summary, workload))));
    }
    blocks.extend(differences::table(a, b, &pairs).map(Block::from));
    render::terminal::text(&title(a, b), &blocks)
}

fn title(a: &BenchResult, b: &BenchResult) -> String {
    if a.scenario == b.scenario { format!("{}: A against B", a.scenario) } else { format!("{} (A) against {} (B)", a.scenario, b.scenario) }
}

fn page(a: &BenchResult, b: &BenchResult) -> Page {
    let pairs = Pairs::of(a, b);
    let mut sections = Vec::new();
    let care = warnings_of(a, b, &pairs);
    if !care.is_empty() {
        sections.push(Section { title: "Read with care".to_string(), blocks: vec![Block::Warnings(care)] });
    }
    let mut differing = Section::new("What differs between A and B");
    match differences::table(a, b, &pairs) {
        Some(table) => differing.blocks.push(Block::from(table)),
        None => differing.blocks.push(Block::Text("Nothing that was recorded: scenario, machine and settings are the same.".to_string())),
    }
    sections.push(differing);
    for pair in &pairs.matched {
        let summary = pair.summary();
        let titled = |section: Section| match pairs.matched.len() {
            1 => section,
            _ => Section { title: format!("{}: {}", pair.title(), section.title), ..section },
        };
        sections.extend(glance::section(&summary).map(titled));
        sections.extend(summary.workloads.iter().map(|workload| titled(workload::section(&summary, workload))));
        let mut promises = Section::new("Durability and isolation");
        promises.blocks.push(Block::from(settings::table(&[&pair.a.named("A"), &pair.b.named("B")])));
        sections.push(titled(promises));
    }
    let names: Vec<_> =
        pairs.matched.iter().map(|pair| (format!("A: {}", pair.a.subject.name), format!("B: {}", pair.b.subject.name))).collect();
    let costs = pairs
        .matched
        .iter()
        .zip(&names)
        .flat_map(|(pair, (name_a, name_b))| [Costs::of(a, pair.a.subject, name_a), Costs::of(b, pair.b.subject, name_b)]);
    sections.push(resources::section(&costs.collect::<Vec<_>>()));
    let mut repeat = Section::new("Repeat it");
    for (side, result) in [("A", a), ("B", b)] {
        repeat.blocks.push(Block::Code { caption: format!("Scenario of {side}"), text: result.scenario_text.clone() });
    }
    sections.push(repeat);
    Page { title: title(a, b), kind: "Comparison of two results", description: String::new(), facts: facts(a, b, &pairs), sections }
}

fn facts(a: &BenchResult, b: &BenchResult, pairs: &Pairs<'_>) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for (side, result) in [("A", a), ("B", b)] {
        facts.push((format!("{side} measured"), format!("{}, {} runs", figures::instant(&result.started_at), result.runs.len())));
    }
    for pair in &pairs.matched {
        for (side, part) in [("A", &pair.a), ("B", &pair.b)] {
            let commit = part.subject.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
            facts.push((format!("{side}: {}", part.subject.name), format!("{}{commit}", part.subject.version)));
        }
    }
    for (side, result) in [("A", a), ("B", b)] {
        let sync = &result.machine.sync_micros;
        let text = format!("{} µs (50 %), {} µs (95 %)", figures::time(sync.p50), figures::time(sync.p95));
        facts.push((format!("{side}: synced write"), text));
    }
    facts
}

fn warnings_of(a: &BenchResult, b: &BenchResult, pairs: &Pairs<'_>) -> Vec<String> {
    let mut all = Vec::new();
    if a.scenario != b.scenario {
        all.push("A and B are of different scenarios.".to_string());
    }
    if report::reproduce::hardware(&a.machine) != report::reproduce::hardware(&b.machine) {
        all.push("A and B were measured on different machines or kernels.".to_string());
    }
    if pairs.matched.is_empty() {
        all.push("Nothing to compare: no subject of A has the name of one of B.".to_string());
    }
    for (side, names) in [("A", &pairs.only_in_a), ("B", &pairs.only_in_b)] {
        if !names.is_empty() {
            all.push(format!("Only in {side}, not compared: {}.", names.join(", ")));
        }
    }
    for pair in &pairs.matched {
        let prefix = if pairs.matched.len() > 1 { format!("{}: ", pair.title()) } else { String::new() };
        let of_pair = warnings::of(&pair.summary(), &[&pair.a.named("A"), &pair.b.named("B")]);
        all.extend(of_pair.into_iter().chain(pair.unmatched()).map(|warning| format!("{prefix}{warning}")));
    }
    all
}

impl Pair<'_> {
    fn title(&self) -> String {
        let (a, b) = (&self.a.subject.name, &self.b.subject.name);
        if a == b { a.clone() } else { format!("{a} (A) against {b} (B)") }
    }
}

/// A table of settings with the values of both sides.
fn two_sided(caption: &str) -> Table {
    use crate::report::table::Column;
    Table::new(caption, ["setting", "A", "B"].map(Column::words).into())
}
