//! TPC-C: its kinds of transactions. A run keeps their percentiles without histograms, so several repeats are told as a range.

use crate::report::figures;
use crate::report::summary::{Repeats, Summary, Workload};
use crate::report::table::{Cell, Column, Table};
use crate::result::Part;

/// Kinds of transactions by number of threads; nothing for workloads that have only one kind.
pub(crate) fn table(summary: &Summary<'_>, workload: &Workload<'_>) -> Option<Table> {
    let mut kinds: Vec<&str> = Vec::new();
    for part in workload.runs().flat_map(|run| &run.parts) {
        if !kinds.contains(&part.name.as_str()) {
            kinds.push(&part.name);
        }
    }
    if kinds.is_empty() {
        return None;
    }
    let mut columns = vec![Column::figures("threads"), Column::words("transaction")];
    for name in &summary.subjects {
        columns.extend(["count", "errors", "mean, ms", "95 %, ms", "99 %, ms"].map(|title| Column::figures(title).under(name.as_str())));
    }
    let mut table = Table::new(format!("{}: kinds of transactions (ranges are those of the repeats)", workload.name), columns);
    for &threads in &workload.threads {
        for kind in &kinds {
            let mut row = vec![Cell::from(threads.to_string()), Cell::from(*kind)];
            for subject in 0..summary.subjects.len() {
                row.extend(figures_of(workload.at(threads, subject), kind));
            }
            table.rows.push(row);
        }
    }
    Some(table)
}

fn figures_of(repeats: Option<&Repeats<'_>>, kind: &str) -> [Cell; 5] {
    let runs = repeats.map(|repeats| repeats.runs.as_slice()).unwrap_or_default();
    let parts: Vec<&Part> = runs.iter().flat_map(|run| &run.parts).filter(|part| part.name == kind).collect();
    if parts.is_empty() {
        return std::array::from_fn(|_| Cell::absent());
    }
    let total = |figure: fn(&Part) -> u64| figures::rate(parts.iter().map(|part| figure(part)).sum::<u64>() as f64).into();
    let range = |figure: fn(&Part) -> f64| {
        let values = parts.iter().map(|part| figure(part));
        let (low, high) = (values.clone().fold(f64::MAX, f64::min), values.fold(0.0, f64::max));
        let (low, high) = (figures::time(low), figures::time(high));
        Cell::from(if low == high { low } else { format!("{low}\u{2013}{high}") })
    };
    [
        total(|part| part.count),
        total(|part| part.errors),
        range(|part| part.latency.avg_ms),
        range(|part| part.latency.p95_ms),
        range(|part| part.latency.p99_ms),
    ]
}
