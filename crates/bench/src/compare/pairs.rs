//! Which subjects and runs of two files belong together.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::summary::Summary;
use crate::result::{BenchResult, Run, Subject};
use crate::scenario::Report;

/// Subjects of both files, matched.
pub(super) struct Pairs<'a> {
    /// In the order of the first file.
    pub matched: Vec<Pair<'a>>,
    /// Names of subjects that only the first file has.
    pub only_in_a: Vec<&'a str>,
    /// Names of subjects that only the second file has.
    pub only_in_b: Vec<&'a str>,
}

/// A subject of one file and the one of the other that it is compared with.
pub(super) struct Pair<'a> {
    /// From the first file.
    pub a: Side<'a>,
    /// From the second file.
    pub b: Side<'a>,
    /// What the first file shows.
    shown: &'a Report,
}

/// A subject with its runs.
pub(super) struct Side<'a> {
    /// The subject.
    pub subject: &'a Subject,
    runs: Vec<&'a Run>,
}

impl<'a> Pairs<'a> {
    /// Matches by name, or the only two there are.
    pub fn of(a: &'a BenchResult, b: &'a BenchResult) -> Self {
        if let ([one], [other]) = (a.subjects.as_slice(), b.subjects.as_slice()) {
            let pair = Pair { a: Side::of(a, one), b: Side::of(b, other), shown: &a.report };
            return Self { matched: vec![pair], only_in_a: Vec::new(), only_in_b: Vec::new() };
        }
        let named = |result: &'a BenchResult, name: &str| result.subjects.iter().find(|subject| subject.name == name);
        let missing = |from: &'a BenchResult, other: &'a BenchResult| {
            let names = from.subjects.iter().map(|subject| subject.name.as_str());
            names.filter(|name| named(other, name).is_none()).collect()
        };
        let pairs = a.subjects.iter().filter_map(|subject| {
            let other = named(b, &subject.name)?;
            Some(Pair { a: Side::of(a, subject), b: Side::of(b, other), shown: &a.report })
        });
        Self { matched: pairs.collect(), only_in_a: missing(a, b), only_in_b: missing(b, a) }
    }
}

impl<'a> Side<'a> {
    fn of(result: &'a BenchResult, subject: &'a Subject) -> Self {
        Self { subject, runs: result.runs.iter().filter(|run| run.subject == subject.name).collect() }
    }

    /// The subject under the name of its side.
    pub fn named(&self, side: &str) -> Subject {
        Subject { name: side.to_string(), ..self.subject.clone() }
    }

    fn measured(&self) -> BTreeSet<(&'a str, u32)> {
        self.runs.iter().map(|run| (run.workload.as_str(), run.threads)).collect()
    }
}

impl<'a> Pair<'a> {
    /// What both measured, as subjects `A` and `B`.
    pub fn summary(&self) -> Summary<'a> {
        let both: BTreeSet<_> = self.a.measured().intersection(&self.b.measured()).copied().collect();
        let runs = [&self.a, &self.b].into_iter().enumerate().flat_map(|(side, part)| part.runs.iter().map(move |run| (side, *run)));
        let matched = runs.filter(|(_, run)| both.contains(&(run.workload.as_str(), run.threads)));
        Summary::new(vec!["A".to_string(), "B".to_string()], matched, self.shown)
    }

    /// What only one of them measured, in words.
    pub fn unmatched(&self) -> Vec<String> {
        let (a, b) = (self.a.measured(), self.b.measured());
        let mut words = Vec::new();
        for (side, only) in [("A", a.difference(&b)), ("B", b.difference(&a))] {
            let mut by_workload: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (workload, threads) in only {
                by_workload.entry(workload).or_default().push(threads.to_string());
            }
            let parts = by_workload.into_iter().map(|(workload, threads)| format!("{workload} at {} threads", threads.join(", ")));
            let parts: Vec<_> = parts.collect();
            if !parts.is_empty() {
                words.push(format!("Measured only in {side}, not compared: {}.", parts.join("; ")));
            }
        }
        words
    }
}
