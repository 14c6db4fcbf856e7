//! Frames: which rows around the current one a function reads.
//!
//! Rows are those of a batch; a frame is a half-open range of them. Under RANGE with offsets the key column and the column of limits are
//! compared, and each border is found from where it stood for the row before: it never moves back within a partition.
//!
//! NULL keys are peers of each other, and no number or date is at any distance from them: for a row with a NULL key a border by offset is
//! that of its peers, for other rows NULLs are never inside such a border. (MySQL 8.0 manual, 14.20.3.)

use std::cmp::Ordering;
use std::ops::Range;

use types::{Datum, DatumRef};

use super::eval::Place;
use super::{Bound, Frame, FrameUnit, Offset, RangeOffset, build};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::vector::Vector;

/// A frame with its offsets evaluated.
pub(super) struct FrameBounds {
    start: Border,
    end: Border,
    /// The rows of the current partition whose key is not NULL, once they are asked for.
    known: Option<Range<usize>>,
}

enum Border {
    /// The partition's first or last row.
    Unbounded,
    /// The row so far from the current one.
    Rows(i64),
    /// The current row's peers.
    Peers,
    Value(ValueBorder),
}

struct ValueBorder {
    /// Where the key's and the limit's vectors stand.
    key: usize,
    limit: usize,
    preceding: bool,
    desc: bool,
    /// The border of the row before.
    at: usize,
}

impl FrameBounds {
    /// `exprs` gets the expressions whose vectors the frame compares.
    ///
    /// # Errors
    /// An offset that is negative, NULL or no number of rows (3586).
    pub fn new(frame: &Frame, ctx: &EvalCtx, exprs: &mut Vec<Expr>) -> Result<Self> {
        Ok(Self { start: Border::new(&frame.start, frame, ctx, exprs)?, end: Border::new(&frame.end, frame, ctx, exprs)?, known: None })
    }

    /// The frame begins with the partition for every row.
    pub fn starts_with_partition(&self) -> bool {
        matches!(self.start, Border::Unbounded)
    }

    /// The frame ends with the current row.
    pub fn ends_at_row(&self) -> bool {
        matches!(self.end, Border::Rows(0))
    }

    /// The frame ends with the current row's peers.
    pub fn ends_at_peers(&self) -> bool {
        matches!(self.end, Border::Peers)
    }

    pub fn start_partition(&mut self) {
        self.known = None;
    }

    /// The frame of a row; empty ones have equal borders, which still never move back.
    pub fn rows(&mut self, place: &Place, vectors: &[Vector<'_>]) -> Range<usize> {
        if self.known.is_none() {
            self.settle(place, vectors);
        }
        let known = self.known.clone().unwrap_or_default();
        let start = match &mut self.start {
            Border::Unbounded => place.partition.start,
            Border::Rows(distance) => moved(place.row, *distance, &place.partition),
            Border::Peers => place.peers.start,
            Border::Value(border) => border.find(place, &known, vectors, true),
        };
        let end = match &mut self.end {
            Border::Unbounded => place.partition.end,
            Border::Rows(distance) => moved(place.row, distance.saturating_add(1), &place.partition),
            Border::Peers => place.peers.end,
            Border::Value(border) => border.find(place, &known, vectors, false),
        };
        start..end.max(start)
    }

    /// Finds the rows with keys at the begin of a partition: NULLs come first, or last in descending order.
    fn settle(&mut self, place: &Place, vectors: &[Vector<'_>]) {
        let mut known = place.partition.clone();
        for border in [&mut self.start, &mut self.end] {
            let Border::Value(border) = border else { continue };
            let key = &vectors[border.key];
            if border.desc {
                known.end = first(&place.partition, |row| key.is_null(row));
            } else {
                known.start = first(&place.partition, |row| !key.is_null(row));
            }
            border.at = known.start;
        }
        self.known = Some(known);
    }
}

impl Border {
    fn new(bound: &Bound, frame: &Frame, ctx: &EvalCtx, exprs: &mut Vec<Expr>) -> Result<Self> {
        let (offset, preceding) = match bound {
            Bound::UnboundedPreceding | Bound::UnboundedFollowing => return Ok(Self::Unbounded),
            Bound::CurrentRow if frame.unit == FrameUnit::Rows => return Ok(Self::Rows(0)),
            Bound::CurrentRow => return Ok(Self::Peers),
            Bound::Preceding(offset) => (offset, true),
            Bound::Following(offset) => (offset, false),
        };
        let illegal = || Error::FrameBound { window: frame.window.to_string() };
        match offset {
            Offset::Rows(amount) => {
                let distance = build::count(&amount.eval_const(ctx)?, 0).ok_or_else(illegal)? as i64;
                Ok(Self::Rows(if preceding { -distance } else { distance }))
            }
            Offset::Range(range) => {
                let RangeOffset { amount, key, limit, desc } = &**range;
                if is_null_or_negative(&amount.eval_const(ctx)?) {
                    return Err(illegal());
                }
                exprs.extend([key.clone(), limit.clone()]);
                Ok(Self::Value(ValueBorder { key: exprs.len() - 2, limit: exprs.len() - 1, preceding, desc: *desc, at: 0 }))
            }
        }
    }
}

impl ValueBorder {
    /// The first row that belongs to the frame, or the first behind it.
    fn find(&mut self, place: &Place, known: &Range<usize>, vectors: &[Vector<'_>], is_start: bool) -> usize {
        let (key, limit) = (&vectors[self.key], vectors[self.limit].get(place.row));
        if key.is_null(place.row) {
            return if is_start { place.peers.start } else { place.peers.end };
        }
        if let DatumRef::Null = limit {
            // Beyond what the type can hold: before, or behind, every row.
            return if self.preceding { known.start } else { known.end };
        }
        while self.at < known.end {
            let order = key.get(self.at).compare(limit, types::Collation::Binary);
            let order = if self.desc { order.reverse() } else { order };
            let reached = if is_start { order != Ordering::Less } else { order == Ordering::Greater };
            if reached {
                break;
            }
            self.at += 1;
        }
        self.at
    }
}

/// The row `distance` rows away, or the end of the partition that is in the way.
fn moved(row: usize, distance: i64, partition: &Range<usize>) -> usize {
    let wanted = (row as i64).saturating_add(distance);
    wanted.clamp(partition.start as i64, partition.end as i64) as usize
}

/// The first row of which `is` holds; it then holds for all that follow.
fn first(rows: &Range<usize>, is: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if is(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn is_null_or_negative(amount: &Datum) -> bool {
    match amount {
        Datum::Null => true,
        // The amount of a compound unit such as '-1:30'.
        Datum::Bytes(text) => text.trim_ascii_start().starts_with(b"-"),
        amount => amount.as_ref().number().is_none_or(|number| number < 0.0),
    }
}
