//! How a workload went over time: a line for every repeat of every subject.

use crate::report::chart::scale::Scale;
use crate::report::chart::{Chart, Line, Point};
use crate::report::figures;
use crate::report::page::Block;
use crate::report::summary::{Summary, Workload};
use crate::result::Second;

/// Charts of every number of threads; nothing when no run tells single seconds.
pub(crate) fn blocks(summary: &Summary<'_>, workload: &Workload<'_>) -> Option<Block> {
    let mut charts = Vec::new();
    for &threads in workload.threads.iter().rev() {
        let at = |title: &str| format!("{title}, {}", figures::threads(threads));
        charts.extend(chart(summary, workload, threads, at("QPS"), figures::rate, |second| second.qps));
        // A second without any transaction has no latency.
        charts.extend(chart(summary, workload, threads, at("95 % latency, ms"), figures::time, |second| {
            if second.p95_ms > 0.0 { second.p95_ms } else { f64::NAN }
        }));
    }
    let blocks = vec![Block::Charts { subjects: summary.subjects.clone(), charts }];
    let any = matches!(&blocks[0], Block::Charts { charts, .. } if !charts.is_empty());
    any.then(|| Block::Fold { title: format!("{}: second by second", workload.name), blocks })
}

fn chart(
    summary: &Summary<'_>,
    workload: &Workload<'_>,
    threads: u32,
    title: String,
    format: fn(f64) -> String,
    figure: fn(&Second) -> f64,
) -> Option<Chart> {
    let mut lines = Vec::new();
    for subject in 0..summary.subjects.len() {
        let runs = workload.at(threads, subject).map(|repeats| repeats.runs.as_slice()).unwrap_or_default();
        for (at, run) in runs.iter().filter(|run| run.series.len() > 1).enumerate() {
            let points = run.series.iter().map(|second| Point::single(f64::from(second.second), figure(second))).collect();
            lines.push(Line { subject, points, marked: false, named: at == 0 });
        }
    }
    if lines.is_empty() {
        return None;
    }
    let all = || lines.iter().flat_map(|line| &line.points);
    let seconds = Scale::from_zero(all().map(|point| point.x));
    let latency = title.contains("latency");
    let y = if latency { Scale::sensible(all().map(|point| point.y)) } else { Scale::from_zero(all().map(|point| point.y)) };
    let hint = if latency { "lower is better" } else { "higher is better" }.to_string();
    Some(Chart { title, hint, x_title: "seconds", x_ticks: seconds.ticks(), x: seconds, y, format, lines })
}
