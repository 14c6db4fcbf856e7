//! A table before it is rendered. The first column names the row.

use crate::report::doubts::Doubt;
use crate::report::figures::{self, ABSENT};
use crate::report::noise::{Difference, Measure, Verdict};

/// Rows of cells under columns.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// What it shows.
    pub caption: String,
    /// As many as every row has cells.
    pub columns: Vec<Column>,
    /// From top to bottom.
    pub rows: Vec<Vec<Cell>>,
    /// Remarks below it.
    pub notes: Vec<String>,
}

/// A column's heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Column {
    /// Heading above several columns; empty for none.
    pub group: String,
    /// Its own heading.
    pub title: String,
    /// Whether it holds figures, which are aligned to the right.
    pub figures: bool,
}

/// How a cell is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// A difference the good way.
    Better,
    /// A difference the bad way.
    Worse,
    /// Nothing to be read into.
    Muted,
    /// To be noticed.
    Marked,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// What it says.
    pub text: String,
    /// A smaller second line; empty for none.
    pub note: String,
    /// Marks of the runs it comes from.
    pub doubts: Vec<Doubt>,
    /// How it is meant.
    pub tone: Tone,
}

impl Column {
    /// A column of words.
    pub fn words(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A column of figures.
    pub fn figures(title: impl Into<String>) -> Self {
        Self { title: title.into(), figures: true, ..Self::default() }
    }

    /// The same under a common heading.
    pub fn under(self, group: impl Into<String>) -> Self {
        Self { group: group.into(), ..self }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl Cell {
    /// A cell that was not measured.
    pub fn absent() -> Self {
        Self { text: ABSENT.to_string(), tone: Tone::Muted, ..Self::default() }
    }

    /// The text, or that there is none.
    pub fn maybe(text: Option<String>) -> Self {
        text.map_or_else(Self::absent, Self::from)
    }

    /// A measure with the range of its repeats.
    pub fn measure(measure: Option<Measure>, format: fn(f64) -> String, doubts: Vec<Doubt>) -> Self {
        let Some(measure) = measure else { return Self { doubts, ..Self::absent() } };
        Self { text: format(measure.value), note: range(&measure, format), doubts, tone: Tone::Plain }
    }

    /// A difference with its verdict and what the verdict rests on.
    pub fn difference(difference: Option<Difference>) -> Self {
        let Some(Difference { relative, noise, verdict }) = difference else { return Self::absent() };
        let share = figures::signed_percent(relative);
        let spread = noise.map_or_else(|| "noise unknown".to_string(), |noise| format!("spread {}", figures::percent(noise)));
        let (text, note, tone) = match verdict {
            Verdict::Better => (share, format!("better, {spread}"), Tone::Better),
            Verdict::Worse => (share, format!("worse, {spread}"), Tone::Worse),
            Verdict::WithinNoise => ("within noise".to_string(), format!("{share}, {spread}"), Tone::Muted),
            Verdict::NoiseUnknown => (share, spread, Tone::Plain),
        };
        Self { text, note, tone, doubts: Vec::new() }
    }

    /// The same cell in another tone.
    pub fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// The range of the repeats; empty when there is only one.
pub(crate) fn range(measure: &Measure, format: fn(f64) -> String) -> String {
    if measure.repeats < 2 {
        return String::new();
    }
    let (low, high) = (format(measure.low), format(measure.high));
    if low == high { "no spread".to_string() } else { format!("{low}\u{2013}{high}") }
}

/// What stands below tables: the meaning of their marks, once, and their remarks.
pub(crate) fn remarks(tables: &[Table]) -> Vec<String> {
    let cells = || tables.iter().flat_map(|table| table.rows.iter().flatten());
    let marks = Doubt::ALL.into_iter().filter(|doubt| cells().any(|cell| cell.doubts.contains(doubt)));
    let meanings: Vec<_> = marks.map(|doubt| format!("({}) {}", doubt.letter(), doubt.meaning())).collect();
    let legend = (!meanings.is_empty()).then(|| format!("Marks: {}.", meanings.join("; ")));
    legend.into_iter().chain(tables.iter().flat_map(|table| table.notes.iter().cloned())).collect()
}

impl Table {
    /// A table without rows yet.
    pub fn new(caption: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { caption: caption.into(), columns, ..Self::default() }
    }

    /// The common headings with the number of columns each spans; nothing when no column has one.
    pub fn groups(&self) -> Option<Vec<(&str, usize)>> {
        let mut groups: Vec<(&str, usize)> = Vec::new();
        for column in &self.columns {
            match groups.last_mut() {
                Some((group, columns)) if !group.is_empty() && *group == column.group => *columns += 1,
                _ => groups.push((&column.group, 1)),
            }
        }
        groups.iter().any(|(group, _)| !group.is_empty()).then_some(groups)
    }
}
