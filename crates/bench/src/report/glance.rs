//! Everything at one look: how far each subject is from the first, workload by number of threads, a table for each metric.

use std::collections::BTreeSet;

use crate::report::metrics::{self, Metric};
use crate::report::noise::Verdict;
use crate::report::page::{Block, Section};
use crate::report::summary::Summary;
use crate::report::table::{Cell, Column, Table};

/// The section; nothing when no run is in the result.
pub(crate) fn section(summary: &Summary<'_>) -> Option<Section> {
    if summary.workloads.is_empty() {
        return None;
    }
    let mut section = Section::new("At a glance");
    if summary.subjects.len() == 1 {
        section.blocks.push(Block::from(peaks(summary)));
        return Some(section);
    }
    section.blocks.push(Block::Text(format!(
        "Differences are relative to {}. A difference that is not larger than the spread between repeats, or whose repeats overlap, is not called one: it says “within noise”.",
        summary.subjects[0]
    )));
    section.blocks.push(Block::Tables(metrics::of_all(summary).iter().map(|metric| differences(summary, metric)).collect()));
    Some(section)
}

/// How the verdicts of one metric are distributed, in words.
pub(crate) fn tally(summary: &Summary<'_>, metric: &Metric) -> String {
    let mut counts = [0; 4];
    for workload in &summary.workloads {
        for &threads in &workload.threads {
            for difference in (1..summary.subjects.len()).filter_map(|subject| metric.difference(workload, threads, subject)) {
                counts[match difference.verdict {
                    Verdict::Better => 0,
                    Verdict::Worse => 1,
                    Verdict::WithinNoise => 2,
                    Verdict::NoiseUnknown => 3,
                }] += 1;
            }
        }
    }
    let words = ["better", "worse", "within noise", "with unknown noise"];
    let parts: Vec<_> = counts.iter().zip(words).filter(|(count, _)| **count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if parts.is_empty() { "nothing to compare".to_string() } else { parts.join(", ") }
}

fn differences(summary: &Summary<'_>, metric: &Metric) -> Table {
    let threads: BTreeSet<u32> = summary.workloads.iter().flat_map(|workload| workload.threads.iter().copied()).collect();
    let several = summary.subjects.len() > 2;
    let mut columns = vec![Column::words("workload")];
    if several {
        columns.push(Column::words("subject"));
    }
    columns.extend(threads.iter().map(|threads| Column::figures(threads.to_string()).under("threads")));
    let subject = if several { "" } else { summary.subjects[1].as_str() };
    let caption = format!(
        "{}{}{subject} relative to {}: {}",
        metric.title,
        if several { ", others" } else { ", " },
        summary.subjects[0],
        tally(summary, metric)
    );
    let mut table = Table::new(caption, columns);
    for workload in &summary.workloads {
        for (subject, name) in summary.subjects.iter().enumerate().skip(1) {
            let mut row = vec![Cell::from(workload.name.as_str())];
            if several {
                row.push(name.as_str().into());
            }
            row.extend(threads.iter().map(|&threads| {
                let mut cell = Cell::difference(metric.difference(workload, threads, subject));
                let both = [workload.at(threads, 0), workload.at(threads, subject)];
                cell.doubts = crate::report::doubts::of(both.into_iter().flatten().flat_map(|repeats| repeats.runs.iter().copied()));
                cell
            }));
            table.rows.push(row);
        }
    }
    table
}

/// With a single subject: where each workload was fastest.
fn peaks(summary: &Summary<'_>) -> Table {
    let mut table = Table::new(format!("Highest throughput of {}", summary.subjects[0]), Vec::new());
    let metrics = metrics::of_all(summary);
    table.columns = vec![Column::words("workload"), Column::figures("threads")];
    table.columns.extend(metrics.iter().map(|metric| Column::figures(metric.title)));
    for workload in &summary.workloads {
        let value = |threads: u32| metrics.iter().find_map(|metric| metric.at(workload, threads, 0)).map_or(0.0, |measure| measure.value);
        let Some(&peak) = workload.threads.iter().max_by(|a, b| value(**a).total_cmp(&value(**b))) else { continue };
        let doubts = workload.at(peak, 0).map(|repeats| repeats.doubts()).unwrap_or_default();
        let mut row = vec![Cell::from(workload.name.as_str()), Cell { doubts, ..peak.to_string().into() }];
        row.extend(metrics.iter().map(|metric| Cell::measure(metric.at(workload, peak, 0), metric.format, Vec::new())));
        table.rows.push(row);
    }
    table
}
