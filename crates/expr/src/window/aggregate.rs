//! Aggregates over frames.
//!
//! | aggregate | when the frame's start moves |
//! |---|---|
//! | any, frame from the partition's begin | it never does: rows are only added |
//! | COUNT, exact SUM and AVG, BIT_XOR | what leaves is taken out of the state |
//! | BIT_AND, BIT_OR | as a count for each bit |
//! | MIN, MAX | candidates, see `extreme` |
//! | approximate SUM and AVG, variances | anew for narrow frames, see `real` for wide ones |
//! | JSON_ARRAYAGG, JSON_OBJECTAGG | anew: the result is as long as the frame |

use std::ops::Range;

use types::{Column, Datum, DatumRef, EvalType};

use super::Frame;
use super::eval::{Evaluator, Input, Place, Reach};
use super::extreme::MovingExtreme;
use super::frame::FrameBounds;
use super::real::MovingSums;
use crate::aggregate::{AggDesc, AggKind, AggState, new_state};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::vector::Vector;

/// Frames of at most so many rows are summed anew, in the order of the rows, which gives the digits that MySQL gives.
const NARROW_ROWS: usize = 128;

/// An aggregate as a window function.
pub(super) struct FrameAggregate {
    desc: AggDesc,
    frame: FrameBounds,
    engine: Engine,
    /// The rows of the batch that are in the state.
    rows: Range<usize>,
    /// The value for them.
    last: Option<Datum>,
}

enum Engine {
    Fold(AggState),
    Extreme(MovingExtreme),
    Bits(Box<MovingBits>),
    Real { state: AggState, wide: MovingSums },
}

impl FrameAggregate {
    pub(super) fn new(desc: &AggDesc, frame: &Frame, ctx: &EvalCtx, exprs: &mut Vec<Expr>) -> Result<Self> {
        exprs.extend(desc.args.iter().cloned());
        let frame = FrameBounds::new(frame, ctx, exprs)?;
        let moves = !frame.starts_with_partition();
        let engine = match desc.kind {
            AggKind::Min | AggKind::Max if moves => Engine::Extreme(MovingExtreme::new(desc)),
            AggKind::BitAnd | AggKind::BitOr if moves => Engine::Bits(Box::default()),
            AggKind::Sum | AggKind::Avg if moves && desc.ty.tp.eval_type() == EvalType::Real => Engine::real(desc),
            AggKind::StddevPop | AggKind::StddevSamp | AggKind::VarPop | AggKind::VarSamp if moves => Engine::real(desc),
            _ => Engine::Fold(new_state(desc)),
        };
        Ok(Self { desc: desc.clone(), frame, engine, rows: 0..0, last: None })
    }

    /// Brings the state to the frame `wanted`; how many rows were looked at.
    fn move_to(&mut self, input: &Input<'_>, wanted: &Range<usize>) -> Result<usize> {
        let Self { desc, engine, rows, .. } = self;
        let args = &input.args[..desc.args.len()];
        let only_adds = wanted.start == rows.start && wanted.end >= rows.end;
        let is_ahead = wanted.start >= rows.start && wanted.end >= rows.end;
        let leaves = rows.start..wanted.start.min(rows.end);
        let takes_out = is_ahead && wanted.start < rows.end && leaves.len() < wanted.len();
        match engine {
            Engine::Fold(state) | Engine::Real { state, .. } if only_adds => {
                state.fold(desc, input.ctx, args, rows.end..wanted.end)?;
                return Ok(wanted.end - rows.end);
            }
            Engine::Fold(state) => {
                if takes_out && state.take_out(desc, args, leaves.clone())? {
                    state.fold(desc, input.ctx, args, rows.end..wanted.end)?;
                    return Ok(leaves.len() + wanted.end - rows.end);
                }
                *state = new_state(desc);
                state.fold(desc, input.ctx, args, wanted.clone())?;
            }
            Engine::Real { state, .. } => {
                *state = new_state(desc);
                state.fold(desc, input.ctx, args, wanted.clone())?;
            }
            Engine::Extreme(extreme) => {
                let enters = if is_ahead { rows.end.max(wanted.start)..wanted.end } else { wanted.clone() };
                if !is_ahead {
                    extreme.clear();
                }
                extreme.leave(wanted.start);
                extreme.add(&args[0], enters.clone());
                return Ok(enters.len());
            }
            Engine::Bits(bits) => {
                let enters = if takes_out || only_adds { rows.end..wanted.end } else { wanted.clone() };
                match takes_out || only_adds {
                    true => bits.count(&args[0], leaves, false),
                    false => **bits = MovingBits::default(),
                }
                bits.count(&args[0], enters.clone(), true);
                return Ok(enters.len());
            }
        }
        Ok(wanted.len())
    }

    fn value(&self, input: &Input<'_>) -> Result<Datum> {
        match &self.engine {
            Engine::Fold(state) | Engine::Real { state, .. } => state.result(&self.desc, input.ctx, 0),
            Engine::Extreme(extreme) => Ok(extreme.value(&input.args[0])),
            Engine::Bits(bits) => Ok(Datum::UInt(bits.value(self.desc.kind))),
        }
    }
}

impl Engine {
    fn real(desc: &AggDesc) -> Self {
        Self::Real { state: new_state(desc), wide: MovingSums::default() }
    }

    fn clear(&mut self, desc: &AggDesc) {
        match self {
            Self::Fold(state) => *state = new_state(desc),
            Self::Extreme(extreme) => extreme.clear(),
            Self::Bits(bits) => **bits = MovingBits::default(),
            Self::Real { state, wide } => {
                *state = new_state(desc);
                wide.clear();
            }
        }
    }
}

impl Evaluator for FrameAggregate {
    fn reach(&self) -> Reach {
        match self.frame.starts_with_partition() {
            true if self.frame.ends_at_row() => Reach::Row,
            true if self.frame.ends_at_peers() => Reach::Peers,
            _ => Reach::Partition,
        }
    }

    fn start_partition(&mut self) {
        self.engine.clear(&self.desc);
        self.frame.start_partition();
        self.rows = 0..0;
        self.last = None;
    }

    fn start_batch(&mut self) {
        // The state keeps what earlier batches added, at the begin of this one.
        self.rows = 0..0;
    }

    fn row(&mut self, input: &Input<'_>, place: &Place, out: &mut Column) -> Result<usize> {
        let wanted = self.frame.rows(place, input.args);
        if self.last.is_none() && self.rows.is_empty() {
            // Of a partition that begins somewhere in the batch.
            self.rows = wanted.start..wanted.start;
        }
        if let Some(last) = self.last.as_ref().filter(|_| self.rows == wanted) {
            out.push(last);
            return Ok(0);
        }
        if let Engine::Real { wide, .. } = &mut self.engine
            && wanted.len() > NARROW_ROWS
            && wanted.start != self.rows.start
        {
            let steps = wide.move_to(&input.args[0], &wanted);
            if let Some(value) = wide.value(&self.desc) {
                out.push(&value);
                return Ok(steps);
            }
        }
        let steps = self.move_to(input, &wanted)?;
        self.rows = wanted;
        let value = self.value(input)?;
        out.push(&value);
        let copied = if let Datum::Json(document) = &value { document.len() } else { 0 };
        self.last = Some(value);
        Ok(steps + copied)
    }

    fn memory_bytes(&self) -> usize {
        match &self.engine {
            Engine::Fold(state) | Engine::Real { state, .. } => state.memory_bytes(),
            Engine::Extreme(extreme) => extreme.memory_bytes(),
            Engine::Bits(_) => size_of::<MovingBits>(),
        }
    }
}

/// How many of a frame's values have each bit.
struct MovingBits {
    values: u64,
    ones: [u64; 64],
}

impl Default for MovingBits {
    fn default() -> Self {
        Self { values: 0, ones: [0; 64] }
    }
}

impl MovingBits {
    fn count(&mut self, values: &Vector<'_>, rows: Range<usize>, enter: bool) {
        for row in rows {
            let mut bits = match values.get(row) {
                DatumRef::Int(value) => value as u64,
                DatumRef::UInt(value) => value,
                _ => continue,
            };
            let change = |count: &mut u64| *count = if enter { *count + 1 } else { *count - 1 };
            change(&mut self.values);
            while bits != 0 {
                change(&mut self.ones[bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }

    fn value(&self, kind: AggKind) -> u64 {
        let needed = if kind == AggKind::BitAnd { self.values } else { 1 };
        self.ones.iter().enumerate().filter(|(_, ones)| **ones >= needed).map(|(bit, _)| 1u64 << bit).sum()
    }
}
