//! A page before it is Markdown, HTML or text for a terminal: sections of blocks. What a report says is decided here, once; the renderers
//! only decide how it looks.

use crate::report::chart::Chart;
use crate::report::table::Table;

/// A whole page.
#[derive(Debug)]
pub(crate) struct Page {
    /// One line.
    pub title: String,
    /// What kind of page it is: `Benchmark report`, `Comparison of two results`.
    pub kind: &'static str,
    /// What was measured, in Markdown written by the scenario's author.
    pub description: String,
    /// Name and value of what a reader asks first.
    pub facts: Vec<(String, String)>,
    /// In reading order.
    pub sections: Vec<Section>,
}

/// A part of a page with a heading.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its heading.
    pub title: String,
    /// In reading order.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section without anything in it yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Tables(vec![table])
    }
}

/// A piece of a section.
#[derive(Debug)]
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// What must be known before the figures are believed; nothing is shown for none.
    Warnings(Vec<String>),
    /// Figures in rows; tables of the same kind share the explanation of their marks.
    Tables(Vec<Table>),
    /// Charts side by side, of the same subjects in the same order.
    Charts {
        /// Names of the subjects.
        subjects: Vec<String>,
        /// The charts.
        charts: Vec<Chart>,
    },
    /// Text to be copied as it is.
    Code {
        /// What it is.
        caption: String,
        /// The text.
        text: String,
    },
    /// Details that few readers need.
    Fold {
        /// What is in it.
        title: String,
        /// Its blocks.
        blocks: Vec<Block>,
    },
}
