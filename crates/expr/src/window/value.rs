//! Values of other rows: LAG and LEAD by distance, FIRST_VALUE, LAST_VALUE and NTH_VALUE in the frame.

use types::{Column, DatumRef};

use super::eval::{Evaluator, Input, Place, Reach};
use super::frame::FrameBounds;
use super::{Frame, build};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;

/// LAG and LEAD.
pub(super) struct Neighbour {
    ahead: bool,
    distance: usize,
    /// Evaluated for the rows that need it.
    default: Expr,
}

impl Neighbour {
    /// The value of the other row is the function's only argument for each row.
    pub(super) fn new(ahead: bool, distance: &Expr, default: &Expr, ctx: &EvalCtx) -> Result<Self> {
        let wrong = || Error::WrongArguments { name: if ahead { "lead" } else { "lag" }.to_owned() };
        let distance = build::count(&distance.eval_const(ctx)?, 0).ok_or_else(wrong)?;
        Ok(Self { ahead, distance: usize::try_from(distance).unwrap_or(usize::MAX), default: default.clone() })
    }
}

impl Evaluator for Neighbour {
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    fn row(&mut self, input: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let other = if self.ahead { place.row.checked_add(self.distance) } else { place.row.checked_sub(self.distance) };
        match other.filter(|row| place.partition.contains(row)) {
            Some(row) => out.push_ref(input.args[0].get(row)),
            None => out.push(&self.default.eval(input.ctx, input.rows.row(place.row))?),
        }
        Ok(0)
    }
}

/// Which row of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pick {
    First,
    Last,
    /// From 0.
    Nth(usize),
}

impl Pick {
    pub(super) fn nth(n: &Expr, ctx: &EvalCtx) -> Result<Self> {
        let wrong = || Error::WrongArguments { name: "nth_value".to_owned() };
        let n = build::count(&n.eval_const(ctx)?, 1).ok_or_else(wrong)?;
        Ok(Self::Nth(usize::try_from(n - 1).unwrap_or(usize::MAX)))
    }
}

/// FIRST_VALUE, LAST_VALUE, NTH_VALUE.
pub(super) struct FrameValue {
    pick: Pick,
    frame: FrameBounds,
}

impl FrameValue {
    pub(super) fn new(value: &Expr, pick: Pick, frame: &Frame, ctx: &EvalCtx, exprs: &mut Vec<Expr>) -> Result<Self> {
        exprs.push(value.clone());
        Ok(Self { pick, frame: FrameBounds::new(frame, ctx, exprs)? })
    }
}

impl Evaluator for FrameValue {
    fn reach(&self) -> Reach {
        Reach::Partition
    }

    fn start_partition(&mut self) {
        self.frame.start_partition();
    }

    fn row(&mut self, input: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let frame = self.frame.rows(place, input.args);
        let row = match self.pick {
            Pick::First => Some(frame.start),
            Pick::Last => frame.end.checked_sub(1),
            Pick::Nth(n) => frame.start.checked_add(n),
        };
        match row.filter(|row| frame.contains(row)) {
            Some(row) => out.push_ref(input.args[0].get(row)),
            None => out.push_ref(DatumRef::Null),
        }
        Ok(0)
    }
}
