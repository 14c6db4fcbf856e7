//! Line charts: what is drawn. How it is drawn: [`svg`].
//!
//! A chart is read without colour: every subject has its own dash pattern and its own marker, and its name stands at the end of its line.

pub(crate) mod legend;
pub(crate) mod scale;
pub(crate) mod svg;

use crate::report::chart::scale::Scale;

/// A chart with one or more lines.
#[derive(Debug)]
pub(crate) struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it: `higher is better`.
    pub hint: String,
    /// What lies to the right.
    pub x_title: &'static str,
    /// Its scale.
    pub x: Scale,
    /// Figures to be written along it, ascending.
    pub x_ticks: Vec<f64>,
    /// Scale of what lies upwards.
    pub y: Scale,
    /// How heights are written where they are told exactly.
    pub format: fn(f64) -> String,
    /// Later ones are drawn over earlier ones.
    pub lines: Vec<Line>,
}

/// A line of a chart.
#[derive(Debug)]
pub(crate) struct Line {
    /// Position of its subject, which decides colour, dashes, marker and name.
    pub subject: usize,
    /// In the order of `x`; a height that is not finite is a gap.
    pub points: Vec<Point>,
    /// Whether the points are marked, with a whisker over the range of their repeats.
    pub marked: bool,
    /// Whether the subject's name stands at its end.
    pub named: bool,
}

/// A point of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Lowest of the repeats.
    pub low: f64,
    /// Highest of the repeats.
    pub high: f64,
}

impl Point {
    /// A point that was measured once.
    pub fn single(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y }
    }
}
