//! Variance and standard deviation by Welford's method, which stays exact where sums of squares cancel out.

use types::{Column, Datum, DatumRef};

use super::{Accumulator, AggDesc, AggKind, Rows};
use crate::context::EvalCtx;
use crate::convert;
use crate::error::Result;
use crate::vector::Vector;

#[derive(Clone, Copy, Default)]
struct Moment {
    count: i64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
}

impl Moment {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let delta = value - self.mean;
        self.mean += delta / self.count as f64;
        self.squares += delta * (value - self.mean);
    }

    /// Two samples taken together (Chan, Golub, LeVeque 1983).
    fn join(&mut self, other: Moment) {
        if other.count == 0 {
            return;
        }
        let (a, b) = (self.count as f64, other.count as f64);
        let delta = other.mean - self.mean;
        self.count += other.count;
        self.mean += delta * b / (a + b);
        self.squares += other.squares + delta * delta * a * b / (a + b);
    }
}

/// STD, VARIANCE and their relatives.
#[derive(Default)]
pub(super) struct Moments {
    groups: Vec<Moment>,
}

impl Accumulator for Moments {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups, Moment::default());
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.for_each(|row, group| match args[0].get(row) {
            DatumRef::Null => {}
            value => self.groups[group].add(convert::real(value)),
        });
        Ok(())
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.for_each(|row, group| {
            if let DatumRef::Int(count) = partial[0].get(row) {
                let other = Moment { count, mean: convert::real(partial[1].get(row)), squares: convert::real(partial[2].get(row)) };
                self.groups[group].join(other);
            }
        });
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        let Moment { count, mean, squares } = self.groups[group];
        out[0].push(&Datum::Int(count));
        out[1].push(&Datum::Double(mean));
        out[2].push(&Datum::Double(squares));
    }

    fn result(&self, desc: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        let Moment { count, squares, .. } = self.groups[group];
        let of_sample = matches!(desc.kind, AggKind::StddevSamp | AggKind::VarSamp);
        let degrees = if of_sample { count - 1 } else { count };
        if degrees <= 0 {
            return Ok(Datum::Null);
        }
        let variance = squares / degrees as f64;
        let is_deviation = matches!(desc.kind, AggKind::StddevPop | AggKind::StddevSamp);
        Ok(Datum::Double(if is_deviation { variance.sqrt() } else { variance }))
    }

    fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Moment>()
    }
}
