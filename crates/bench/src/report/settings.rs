//! The subjects side by side: what they are, how durable and how isolated they were, and where that is not the same.

use std::collections::BTreeSet;

use crate::report::figures::ABSENT;
use crate::report::table::{Cell, Column, Table, Tone};
use crate::result::Subject;

/// What [`Subject::durability`] and [`Subject::isolation`] say when the server does not tell.
const UNKNOWN: &str = "unknown";

/// Whether subjects may be compared, as far as a setting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// All told the same.
    Equal,
    /// Two told different things.
    Unequal,
    /// At least one did not tell.
    Unknown,
}

/// Compares what subjects told, without regard to case and to `-` for a space.
pub(crate) fn agreement<'a>(values: impl IntoIterator<Item = Option<&'a str>>) -> Agreement {
    let told: Vec<Option<String>> =
        values.into_iter().map(|value| value.map(plain).filter(|text| !text.is_empty() && text != UNKNOWN)).collect();
    let different: BTreeSet<&String> = told.iter().flatten().collect();
    if different.len() > 1 {
        Agreement::Unequal
    } else if told.iter().any(Option::is_none) {
        Agreement::Unknown
    } else {
        Agreement::Equal
    }
}

fn plain(text: &str) -> String {
    text.trim().to_lowercase().replace(['-', '_'], " ")
}

/// What the reader must know before comparing the subjects' figures.
pub(crate) fn warnings(subjects: &[&Subject]) -> Vec<String> {
    let mut warnings = Vec::new();
    if subjects.len() < 2 {
        return warnings;
    }
    let durability = subjects.iter().map(|subject| subject.durability.as_str());
    let isolation = subjects.iter().map(|subject| subject.isolation.as_str());
    for (name, values) in [("durability", durability.collect::<Vec<_>>()), ("isolation level", isolation.collect())] {
        let told = subjects.iter().zip(&values).map(|(subject, value)| format!("{}: {value}", subject.name)).collect::<Vec<_>>().join("; ");
        match agreement(values.into_iter().map(Some)) {
            Agreement::Equal => {}
            Agreement::Unequal => warnings.push(format!("Unequal {name}: figures are not of the same work ({told}).")),
            Agreement::Unknown => warnings.push(format!("Unknown {name}: figures may not be of the same work ({told}).")),
        }
    }
    warnings
}

/// Subjects as columns, settings as rows; rows that bear on durability and isolation are marked where they are unequal.
pub(crate) fn table(subjects: &[&Subject]) -> Table {
    let mut columns = vec![Column::words("setting")];
    if subjects.len() > 1 {
        columns.push(Column::words("equal?"));
    }
    columns.extend(subjects.iter().map(|subject| Column::words(subject.name.as_str())));
    let mut table = Table::new("Settings of every subject", columns);
    let mut add = |name: &str, judged: bool, value: &dyn Fn(&Subject) -> Option<String>| {
        let values: Vec<_> = subjects.iter().map(|subject| value(subject).filter(|text| !text.is_empty())).collect();
        table.rows.push(row(name, &values, judged));
    };
    add("version", false, &|subject| Some(subject.version.clone()));
    add("commit", false, &|subject| subject.commit.clone());
    add("topology", false, &|subject| Some(subject.topology.clone()));
    add("network", false, &|subject| Some(subject.network.clone()));
    add("endpoints", false, &|subject| Some(subject.endpoints.join(", ")));
    add("durability", true, &|subject| Some(subject.durability.clone()));
    add("isolation", true, &|subject| Some(subject.isolation.clone()));
    let variables: BTreeSet<&String> = subjects.iter().flat_map(|subject| subject.variables.keys()).collect();
    for variable in variables {
        add(variable, true, &|subject| subject.variables.get(variable).cloned());
    }
    table.rows.retain(|row| row.iter().skip(1).any(|cell| cell.text != ABSENT && !cell.text.is_empty()));
    table
}

fn row(name: &str, values: &[Option<String>], judged: bool) -> Vec<Cell> {
    let mut row = vec![Cell::from(name)];
    let agreement = agreement(values.iter().map(Option::as_deref));
    if values.len() > 1 {
        row.push(match agreement {
            _ if !judged => Cell::from(""),
            Agreement::Equal => Cell::from("equal").toned(Tone::Muted),
            Agreement::Unequal => Cell::from("≠ unequal").toned(Tone::Marked),
            Agreement::Unknown => Cell::from("? not told by all").toned(Tone::Muted),
        });
    }
    let tone = if judged && agreement == Agreement::Unequal { Tone::Marked } else { Tone::Plain };
    row.extend(values.iter().map(|value| value.clone().map_or_else(Cell::absent, |text| Cell::from(text).toned(tone))));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, durability: &str, isolation: &str) -> Subject {
        Subject { name: name.to_string(), durability: durability.to_string(), isolation: isolation.to_string(), ..Subject::default() }
    }

    #[test]
    fn spelling_of_a_level_is_no_difference() {
        assert_eq!(agreement([Some("REPEATABLE-READ"), Some("repeatable read")]), Agreement::Equal);
        assert_eq!(agreement([Some("REPEATABLE-READ"), Some("READ-COMMITTED"), None]), Agreement::Unequal);
        assert_eq!(agreement([Some("synced"), Some("unknown")]), Agreement::Unknown);
    }

    #[test]
    fn unequal_durability_is_warned_of_with_both_values() {
        let (a, b) = (subject("a", "synced", "x"), subject("b", "log synced once a second", "x"));
        let warnings = warnings(&[&a, &b]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("Unequal durability") && warnings[0].contains("b: log synced once a second"), "{warnings:?}");
    }

    #[test]
    fn server_that_does_not_tell_is_not_taken_for_equal() {
        let (a, b) = (subject("a", "synced", "x"), subject("b", "unknown", "x"));
        assert!(warnings(&[&a, &b])[0].contains("Unknown durability"));
        assert!(warnings(&[&a, &a]).is_empty());
    }
}
