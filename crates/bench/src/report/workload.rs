//! One workload: charts over threads, the table of threads, QPS and 95 % latency, all other figures, series over time.

use crate::report::chart::scale::Scale;
use crate::report::chart::{Chart, Line, Point, legend};
use crate::report::doubts::Doubt;
use crate::report::figures::{self, ABSENT};
use crate::report::metrics::{self, Metric};
use crate::report::page::{Block, Section};
use crate::report::summary::{Repeats, Summary, Workload};
use crate::report::table::{Cell, Column, Table};
use crate::report::{parts, series};
use crate::scenario::ReportPart;

/// The section of a workload.
pub(crate) fn section(summary: &Summary<'_>, workload: &Workload<'_>) -> Section {
    let mut section = Section::new(workload.name.as_str());
    let metrics = metrics::of_workload(summary, workload);
    if summary.shown.shows(ReportPart::Charts) {
        let charts = metrics.iter().map(|metric| over_threads(summary, workload, metric)).collect();
        section.blocks.push(Block::Charts { subjects: summary.subjects.clone(), charts });
    }
    section.blocks.push(Block::from(main_table(summary, workload)));
    section.blocks.extend(parts::table(summary, workload).map(Block::from));
    if summary.shown.shows(ReportPart::Series) {
        section.blocks.extend(series::blocks(summary, workload));
    }
    if summary.shown.shows(ReportPart::Details) {
        section.blocks.push(Block::Fold {
            title: format!("{}: all latencies, errors, load of the driver", workload.name),
            blocks: vec![Block::from(detail_table(summary, workload))],
        });
    }
    section
}

fn over_threads(summary: &Summary<'_>, workload: &Workload<'_>, metric: &Metric) -> Chart {
    let threads: Vec<f64> = workload.threads.iter().map(|&threads| f64::from(threads)).collect();
    let lines: Vec<Line> = (0..summary.subjects.len())
        .map(|subject| {
            let point = |&threads: &u32| {
                let measure = metric.at(workload, threads, subject);
                let nowhere = Point::single(f64::from(threads), f64::NAN);
                measure.map_or(nowhere, |measure| Point { x: f64::from(threads), y: measure.value, low: measure.low, high: measure.high })
            };
            Line { subject, points: workload.threads.iter().map(point).collect(), marked: true, named: true }
        })
        .collect();
    let heights = lines.iter().flat_map(|line| &line.points).flat_map(|point| [point.y, point.high, point.low]);
    let far_apart = threads.last().zip(threads.first()).is_some_and(|(last, first)| last / first >= 8.0);
    Chart {
        title: metric.title.to_string(),
        hint: metric.hint().to_string(),
        x_title: "threads",
        x: Scale::exact(&threads, far_apart),
        x_ticks: threads,
        y: if metric.title.contains("latency") { Scale::sensible(heights) } else { Scale::from_zero(heights) },
        format: metric.format,
        lines,
    }
}

/// The table in the form of the public reports, with differences if there are several subjects.
pub(crate) fn main_table(summary: &Summary<'_>, workload: &Workload<'_>) -> Table {
    let metrics = metrics::of_workload(summary, workload);
    let subjects = 0..summary.subjects.len();
    let labels = legend::labels(&summary.subjects);
    let mut columns = vec![Column::figures("threads")];
    for metric in &metrics {
        if subjects.len() == 1 {
            columns.push(Column::figures(metric.title));
            continue;
        }
        columns.extend(subjects.clone().map(|subject| Column::figures(labels[subject].as_str()).under(metric.title)));
        columns.extend(subjects.clone().skip(1).map(|subject| Column::figures(difference_title(&labels, subject)).under(metric.title)));
    }
    let mut table = Table::new(format!("{}: threads, throughput, latency", workload.name), columns);
    for &threads in &workload.threads {
        let mut row = vec![Cell::from(threads.to_string())];
        for (at, metric) in metrics.iter().enumerate() {
            row.extend(subjects.clone().map(|subject| {
                // Marks stand beside the first figure of a run only.
                let doubts = workload.at(threads, subject).filter(|_| at == 0).map(|repeats| repeats.doubts()).unwrap_or_default();
                Cell::measure(metric.at(workload, threads, subject), metric.format, doubts)
            }));
            row.extend(subjects.clone().skip(1).map(|subject| Cell::difference(metric.difference(workload, threads, subject))));
        }
        table.rows.push(row);
    }
    if labels != summary.subjects {
        let names = labels.iter().zip(&summary.subjects).map(|(label, name)| format!("{label}: {name}"));
        table.notes.push(format!("Subjects: {}.", names.collect::<Vec<_>>().join("; ")));
    }
    table.notes.extend(reasons(summary, workload));
    table
}

/// What a column of differences is called.
fn difference_title(labels: &[String], subject: usize) -> String {
    if labels.len() == 2 { "difference".to_string() } else { format!("{} against {}", labels[subject], labels[0]) }
}

/// Why cells are marked, in words.
fn reasons(summary: &Summary<'_>, workload: &Workload<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for doubt in Doubt::ALL {
        for &threads in &workload.threads {
            for (subject, name) in summary.subjects.iter().enumerate() {
                let Some(repeats) = workload.at(threads, subject) else { continue };
                let reasons = grouped_reasons(repeats, doubt);
                if !reasons.is_empty() {
                    notes.push(format!("({}) {name}, {}: {}", doubt.letter(), figures::threads(threads), reasons.join("; ")));
                }
            }
        }
    }
    notes
}

/// The reasons of all repeats, each once with the repeats that have it.
fn grouped_reasons(repeats: &Repeats<'_>, doubt: Doubt) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for run in &repeats.runs {
        let Some(reason) = doubt.reason(run) else { continue };
        let number = (run.repeat + 1).to_string();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, numbers)) => numbers.push(number),
            None => reasons.push((reason, vec![number])),
        }
    }
    let words = reasons.into_iter().map(|(reason, numbers)| match numbers.len() {
        all if all == repeats.runs.len() => reason,
        1 => format!("repeat {}: {reason}", numbers[0]),
        _ => format!("repeats {}: {reason}", numbers.join(", ")),
    });
    words.collect()
}

fn detail_table(summary: &Summary<'_>, workload: &Workload<'_>) -> Table {
    let mut columns = vec![Column::figures("threads"), Column::words("subject"), Column::figures("repeats"), Column::figures("TPS")];
    columns
        .extend(["min", "mean", "50 %", "95 %", "99 %", "max"].map(|title| Column::figures(title).under("latency of a transaction, ms")));
    columns.extend(["errors", "reconnects"].map(Column::figures));
    columns.extend(["cores", "processes"].map(|title| Column::figures(title).under("drivers")));
    columns.push(Column::figures("stolen time"));
    let mut table = Table::new(format!("{}: all figures", workload.name), columns);
    for &threads in &workload.threads {
        for (subject, name) in summary.subjects.iter().enumerate() {
            let Some(repeats) = workload.at(threads, subject) else { continue };
            let extreme =
                |figure: fn(&crate::result::Run) -> f64, of: fn(f64, f64) -> f64| repeats.runs.iter().map(|run| figure(run)).reduce(of);
            let percentile = |share| Cell::measure(repeats.percentile(share), figures::time, Vec::new());
            table.rows.push(vec![
                threads.to_string().into(),
                name.as_str().into(),
                repeats.runs.len().to_string().into(),
                Cell::measure(repeats.median(|run| run.tps), figures::rate, repeats.doubts()),
                Cell::maybe(extreme(|run| run.latency.min_ms, f64::min).map(figures::time)),
                Cell::maybe(repeats.mean_latency_ms().map(figures::time)),
                percentile(0.5),
                percentile(0.95),
                percentile(0.99),
                Cell::maybe(extreme(|run| run.latency.max_ms, f64::max).map(figures::time)),
                figures::rate(repeats.total(|run| run.errors) as f64).into(),
                figures::rate(repeats.total(|run| run.reconnects) as f64).into(),
                Cell::measure(repeats.median(|run| run.driver_cores), figures::time, Vec::new()),
                repeats.runs.iter().map(|run| run.drivers).max().map_or(ABSENT.to_string(), |drivers| drivers.to_string()).into(),
                Cell::maybe(extreme(|run| run.steal_percent, f64::max).map(|steal| figures::percent(steal / 100.0))),
            ]);
        }
    }
    table
}
