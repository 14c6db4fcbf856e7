//! Settings in which two results differ, however small: a reader decides what explains a figure.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::pairs::Pairs;
use crate::compare::two_sided;
use crate::report::reproduce;
use crate::report::table::{Cell, Table};
use crate::result::{BenchResult, Subject};

type Settings = BTreeMap<String, String>;

/// Rows of all settings whose values differ; nothing when all are the same.
pub(super) fn table(a: &BenchResult, b: &BenchResult, pairs: &Pairs<'_>) -> Option<Table> {
    let mut table = two_sided("Settings that differ");
    rows("", &of_result(a), &of_result(b), &mut table);
    for pair in &pairs.matched {
        let prefix = if pairs.matched.len() > 1 { format!("{}: ", pair.a.subject.name) } else { String::new() };
        rows(&prefix, &of_subject(pair.a.subject), &of_subject(pair.b.subject), &mut table);
        let (config_a, config_b) = (&pair.a.subject.configuration, &pair.b.subject.configuration);
        for process in config_a.keys().chain(config_b.keys()).collect::<BTreeSet<_>>() {
            let [left, right] = [config_a, config_b].map(|config| config.get(process).map(String::as_str).unwrap_or_default());
            let (only_left, only_right) = (lines_missing(left, right), lines_missing(right, left));
            if !only_left.is_empty() || !only_right.is_empty() {
                table.rows.push(vec![
                    format!("{prefix}configuration of {process}").into(),
                    value(Some(only_left)),
                    value(Some(only_right)),
                ]);
            }
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn rows(prefix: &str, a: &Settings, b: &Settings, table: &mut Table) {
    for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let (left, right) = (a.get(name), b.get(name));
        if left != right {
            table.rows.push(vec![format!("{prefix}{name}").into(), value(left.cloned()), value(right.cloned())]);
        }
    }
}

fn value(text: Option<String>) -> Cell {
    Cell::maybe(text.filter(|text| !text.is_empty()))
}

/// Lines of `text` that `other` does not have, each as often as it has more of them.
fn lines_missing(text: &str, other: &str) -> String {
    let mut left_over: BTreeMap<&str, usize> = BTreeMap::new();
    for line in other.lines() {
        *left_over.entry(line.trim()).or_default() += 1;
    }
    let is_missing = |line: &&str| match left_over.get_mut(line.trim()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => !line.trim().is_empty(),
    };
    text.lines().filter(is_missing).collect::<Vec<_>>().join("\n")
}

fn of_result(result: &BenchResult) -> Settings {
    let mut settings: Settings =
        reproduce::hardware(&result.machine).into_iter().map(|(name, value)| (format!("machine: {name}"), value)).collect();
    settings.insert("drivers".to_string(), result.drivers.join(", "));
    settings.insert("seed".to_string(), result.seed.to_string());
    match result.scenario_text.parse::<toml::Table>() {
        Ok(scenario) => scenario.iter().for_each(|(key, value)| flatten(&format!("scenario: {key}"), value, &mut settings)),
        Err(_) => drop(settings.insert("scenario".to_string(), result.scenario_text.clone())),
    }
    settings
}

/// `[data] tables = 4` is `scenario: data.tables` with the value `4`.
fn flatten(key: &str, value: &toml::Value, settings: &mut Settings) {
    match value {
        toml::Value::Table(table) => table.iter().for_each(|(inner, value)| flatten(&format!("{key}.{inner}"), value, settings)),
        other => drop(settings.insert(key.to_string(), other.to_string())),
    }
}

fn of_subject(subject: &Subject) -> Settings {
    let facts = [
        ("version", subject.version.clone()),
        ("commit", subject.commit.clone().unwrap_or_default()),
        ("topology", subject.topology.clone()),
        ("network", subject.network.clone()),
        ("durability", subject.durability.clone()),
        ("isolation", subject.isolation.clone()),
        ("SQL run before measuring", subject.set_up.join("; ")),
    ];
    let variables = subject.variables.iter().map(|(name, value)| (name.clone(), value.clone()));
    facts.into_iter().map(|(name, value)| (name.to_string(), value)).chain(variables).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_as_a_bag() {
        assert_eq!(lines_missing("a\nb\nb\n  c", "c\nb\nd"), "a\nb");
        assert_eq!(lines_missing("a\n\n", "a"), "");
    }

    #[test]
    fn scenarios_are_compared_key_by_key() {
        let mut settings = Settings::new();
        flatten("scenario: data", &"[x]\nrows = 5\nt = [1, 2]".parse::<toml::Table>().unwrap().into(), &mut settings);
        let expected = [("scenario: data.x.rows", "5"), ("scenario: data.x.t", "[1, 2]")].map(|(a, b)| (a.to_string(), b.to_string()));
        assert_eq!(settings, expected.into());
    }
}
