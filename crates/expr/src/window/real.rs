//! Sums of DOUBLEs over wide frames that move, in twice the digits, so that what leaves a frame can be taken out again.
//!
//! A value is kept as the unevaluated sum of two doubles (Dekker 1971): about 32 digits, of which a result shows 17.

use std::ops::Range;

use types::{Datum, DatumRef};

use crate::aggregate::{AggDesc, AggKind};
use crate::convert;
use crate::vector::Vector;

/// A number of twice the precision.
#[derive(Clone, Copy, Debug, Default)]
struct Twice {
    high: f64,
    low: f64,
}

impl Twice {
    /// `a + b` without rounding (Knuth).
    fn sum(a: f64, b: f64) -> Self {
        let high = a + b;
        let part = high - a;
        Self { high, low: (a - (high - part)) + (b - part) }
    }

    /// `a * b` without rounding.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    fn add(self, other: Self) -> Self {
        let sum = Self::sum(self.high, other.high);
        let high = Self::sum(sum.high, sum.low + self.low + other.low);
        Self { high: high.high, low: high.low }
    }

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }

    fn times(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        Self::sum(product.high, product.low + self.high * other.low + self.low * other.high)
    }

    fn divided_by(self, count: f64) -> Self {
        let high = self.high / count;
        let rest = self.add(Self::product(high, count).neg());
        Self::sum(high, (rest.high + rest.low) / count)
    }

    fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Count, sum and sum of squares of the values of a frame.
#[derive(Default)]
pub(super) struct MovingSums {
    rows: Range<usize>,
    count: i64,
    sum: Twice,
    squares: Twice,
}

impl MovingSums {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Moves to another frame; how many rows were looked at.
    pub(super) fn move_to(&mut self, values: &Vector<'_>, frame: &Range<usize>) -> usize {
        let ahead = frame.start >= self.rows.start && frame.end >= self.rows.end;
        let overlaps = ahead && frame.start < self.rows.end;
        let is_cheaper = overlaps && frame.start - self.rows.start < frame.end - frame.start;
        let (leave, enter) = if is_cheaper && self.sum.value().is_finite() && self.squares.value().is_finite() {
            (self.rows.start..frame.start, self.rows.end..frame.end)
        } else {
            self.clear();
            (0..0, frame.clone())
        };
        let steps = leave.len() + enter.len();
        leave.for_each(|row| self.take(values.get(row), -1.0));
        enter.for_each(|row| self.take(values.get(row), 1.0));
        self.rows = frame.clone();
        steps
    }

    fn take(&mut self, value: DatumRef<'_>, sign: f64) {
        if let DatumRef::Null = value {
            return;
        }
        let value = convert::real(value);
        self.count += sign as i64;
        self.sum = self.sum.add(Twice { high: sign * value, low: 0.0 });
        let square = Twice::product(value, value);
        self.squares = self.squares.add(if sign < 0.0 { square.neg() } else { square });
        if self.count == 0 {
            (self.sum, self.squares) = Default::default();
        }
    }

    /// The aggregate's value; `None` if it is no finite number.
    pub(super) fn value(&self, desc: &AggDesc) -> Option<Datum> {
        let count = self.count as f64;
        let of_sample = matches!(desc.kind, AggKind::StddevSamp | AggKind::VarSamp);
        let degrees = if of_sample { self.count - 1 } else { self.count };
        if degrees <= 0 {
            return Some(Datum::Null);
        }
        let value = match desc.kind {
            AggKind::Sum => self.sum.value(),
            AggKind::Avg => self.sum.divided_by(count).value(),
            _ => {
                let deviations = self.squares.add(self.sum.times(self.sum).divided_by(count).neg());
                let variance = deviations.divided_by(degrees as f64).value().max(0.0);
                if matches!(desc.kind, AggKind::StddevPop | AggKind::StddevSamp) { variance.sqrt() } else { variance }
            }
        };
        value.is_finite().then_some(Datum::Double(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_and_taken_out_again_leaves_nothing() {
        let values = [1e16, 0.1, -3.25, 1e-9, 7e12];
        let total = values.iter().fold(Twice::default(), |sum, value| sum.add(Twice { high: *value, low: 0.0 }));
        let rest = values[..4].iter().fold(total, |sum, value| sum.add(Twice { high: -value, low: 0.0 }));
        assert_eq!(rest.value(), 7e12);
    }

    #[test]
    fn quotients_and_products_keep_their_low_digits() {
        let third = Twice { high: 1.0, low: 0.0 }.divided_by(3.0);
        let again = third.times(Twice { high: 3.0, low: 0.0 });
        assert!((again.add(Twice { high: -1.0, low: 0.0 })).value().abs() < 1e-31);
    }
}
