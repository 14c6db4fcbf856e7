//! Window functions: what they are ([`WindowDesc`]) and their evaluation over sorted rows ([`WindowEval`]).
//!
//! ```text
//! rows sorted by partition, then by the window's order
//!   ─► Batch: rows, each marked: same peers as the row before, new peers, new partition
//!   ─► WindowEval: row by row, each function gets the row's place and adds one value
//!   ─► the rows with one more column for each function, a chunk at a time
//! ```
//!
//! | file | |
//! |---|---|
//! | `build` | types and checks of calls |
//! | `frame` | which rows a frame holds |
//! | `eval` | batches, places, the loop over rows |
//! | `ranking`, `value` | functions of a row's place; values of other rows |
//! | `aggregate`, `real`, `extreme` | aggregates over frames that move |
//!
//! Both borders of a frame only move forward from row to row of a partition, so a frame's aggregate is kept up to date by what enters and
//! leaves it: in linear time for counts, exact sums, bits, MIN and MAX. Sums of DOUBLEs and variances are computed anew for narrow frames, as
//! MySQL does, and with twice the digits for wide ones.
//!
//! Invariants
//! - A batch ends where every function knows all it needs of its rows (`Reach`): behind any row, a group of peers, or a partition.
//! - The borders of batches and chunks change no value. (MySQL 8.0 manual, 14.20.)

mod aggregate;
mod build;
mod eval;
mod extreme;
mod frame;
mod ranking;
mod real;
mod value;

use std::fmt;
use std::sync::Arc;

use types::FieldType;

use crate::aggregate::AggDesc;
use crate::expr::Expr;

pub use build::{WindowKind, build_aggregate_window, build_window};
pub use eval::{Batch, Mark, WindowEval};

/// A window function to be computed.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDesc {
    /// Which function, with its arguments over the input row.
    pub func: WindowFunc,
    /// The frame, where the function reads one.
    pub frame: Frame,
    /// The type of the result.
    pub ty: FieldType,
}

/// The functions, their arguments cast to what they compute on.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowFunc {
    /// ROW_NUMBER
    RowNumber,
    /// RANK
    Rank,
    /// DENSE_RANK
    DenseRank,
    /// PERCENT_RANK
    PercentRank,
    /// CUME_DIST
    CumeDist,
    /// NTILE with the number of buckets, a constant.
    Ntile(Expr),
    /// LAG and LEAD.
    Neighbour {
        /// LEAD.
        ahead: bool,
        /// What is read of the other row.
        value: Expr,
        /// How many rows away it is, a constant.
        distance: Expr,
        /// The value where there is no such row, of the current row.
        default: Expr,
    },
    /// FIRST_VALUE
    FirstValue(Expr),
    /// LAST_VALUE
    LastValue(Expr),
    /// NTH_VALUE with the row's number in the frame, a constant.
    NthValue(Expr, Expr),
    /// An aggregate over the frame.
    Aggregate(AggDesc),
}

/// The rows around the current one that a function reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What offsets count.
    pub unit: FrameUnit,
    /// The first row.
    pub start: Bound,
    /// The last row.
    pub end: Bound,
    /// The window's name in messages.
    pub window: Arc<str>,
}

/// What the offsets of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Distances of values of the order key.
    Range,
}

/// A border of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So far before the current row.
    Preceding(Offset),
    /// The current row; its peers under RANGE.
    CurrentRow,
    /// So far behind the current row.
    Following(Offset),
    /// The partition's last row.
    UnboundedFollowing,
}

/// How far a border is from the current row.
#[derive(Clone, Debug, PartialEq)]
pub enum Offset {
    /// A constant number of rows.
    Rows(Expr),
    /// A distance of the order key's values.
    Range(Box<RangeOffset>),
}

/// A border by value: the rows whose `key` is not beyond the current row's `limit`.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeOffset {
    /// The distance, a constant.
    pub amount: Expr,
    /// The order key, in the type of `limit`.
    pub key: Expr,
    /// The key moved by the distance.
    pub limit: Expr,
    /// The order is descending.
    pub desc: bool,
}

impl Frame {
    /// The whole partition.
    pub fn whole(window: Arc<str>) -> Self {
        Self { unit: FrameUnit::Rows, start: Bound::UnboundedPreceding, end: Bound::UnboundedFollowing, window }
    }

    /// From the partition's begin to the current row's last peer: the frame of a window that has an order and names no frame.
    pub fn up_to_peers(window: Arc<str>) -> Self {
        Self { unit: FrameUnit::Range, start: Bound::UnboundedPreceding, end: Bound::CurrentRow, window }
    }

    fn offsets_mut(&mut self) -> impl Iterator<Item = &mut Offset> {
        [&mut self.start, &mut self.end].into_iter().filter_map(|bound| match bound {
            Bound::Preceding(offset) | Bound::Following(offset) => Some(offset),
            _ => None,
        })
    }
}

impl WindowFunc {
    /// The SQL name, in lower case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::PercentRank => "percent_rank",
            Self::CumeDist => "cume_dist",
            Self::Ntile(_) => "ntile",
            Self::Neighbour { ahead: true, .. } => "lead",
            Self::Neighbour { .. } => "lag",
            Self::FirstValue(_) => "first_value",
            Self::LastValue(_) => "last_value",
            Self::NthValue(..) => "nth_value",
            Self::Aggregate(desc) => desc.kind.name(),
        }
    }

    /// Whether the function reads a frame; the others read the whole partition whatever frame the window has.
    pub fn reads_frame(&self) -> bool {
        matches!(self, Self::FirstValue(_) | Self::LastValue(_) | Self::NthValue(..) | Self::Aggregate(_))
    }

    fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::PercentRank | Self::CumeDist => vec![],
            Self::Ntile(arg) | Self::FirstValue(arg) | Self::LastValue(arg) => vec![arg],
            Self::Neighbour { value, distance, default, .. } => vec![value, distance, default],
            Self::NthValue(value, n) => vec![value, n],
            Self::Aggregate(desc) => desc.args.iter_mut().collect(),
        }
    }
}

impl WindowDesc {
    /// Every expression in it, to be renumbered or rewritten.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut exprs = self.func.exprs_mut();
        for offset in self.frame.offsets_mut() {
            match offset {
                Offset::Rows(amount) => exprs.push(amount),
                Offset::Range(range) => exprs.extend([&mut range.amount, &mut range.key, &mut range.limit]),
            }
        }
        exprs
    }
}

impl fmt::Display for WindowDesc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.func {
            WindowFunc::Aggregate(desc) => desc.fmt(f)?,
            func => {
                write!(f, "{}(", func.name())?;
                for (i, arg) in func.clone().exprs_mut().into_iter().enumerate() {
                    write!(f, "{}{arg}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")?;
            }
        }
        if self.func.reads_frame() { write!(f, " {}", self.frame) } else { Ok(()) }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = if self.unit == FrameUnit::Rows { "rows" } else { "range" };
        write!(f, "{unit} between {} and {}", self.start, self.end)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnboundedPreceding => f.write_str("unbounded preceding"),
            Self::Preceding(offset) => write!(f, "{offset} preceding"),
            Self::CurrentRow => f.write_str("current row"),
            Self::Following(offset) => write!(f, "{offset} following"),
            Self::UnboundedFollowing => f.write_str("unbounded following"),
        }
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(amount) => amount.fmt(f),
            Self::Range(range) => range.amount.fmt(f),
        }
    }
}
