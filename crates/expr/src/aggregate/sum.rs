//! SUM and AVG: exact in 128-bit integers or DECIMAL, approximate in DOUBLE.
//!
//! Integer arguments are added as `i128`, which 2^63 rows of any BIGINT cannot overflow, and become DECIMAL at the end.

use types::{Column, Datum, DatumRef, Decimal, EvalType};

use super::{Accumulator, AggDesc, AggKind, AggMode, Rows};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::vector::Vector;

/// The accumulator for the argument's domain.
pub(super) fn accumulator(desc: &AggDesc) -> Box<dyn Accumulator> {
    if desc.ty.tp.eval_type() == EvalType::Real {
        return Box::new(RealSum::default());
    }
    // The final mode reads sums, which are DECIMAL whatever the argument was.
    let of_ints = desc.mode != AggMode::Final && desc.args[0].eval_type() == EvalType::Int;
    if of_ints { Box::new(IntSum::default()) } else { Box::new(DecimalSum::default()) }
}

#[cold]
fn overflow(desc: &AggDesc, kind: &'static str) -> Error {
    Error::OutOfRange { kind, expression: desc.to_string() }
}

/// The result of an exact sum over `count` values.
fn exact_result(desc: &AggDesc, ctx: &EvalCtx, count: i64, sum: &Decimal) -> Result<Datum> {
    if count == 0 {
        return Ok(Datum::Null);
    }
    if desc.kind == AggKind::Sum {
        return Ok(Datum::Decimal(sum.at_scale(desc.ty.decimal.max(0) as u8)));
    }
    let average = sum.div(&Decimal::from_i64(count), ctx.div_precision_increment).map_err(|_| overflow(desc, "DECIMAL"))?;
    Ok(average.map_or(Datum::Null, |d| Datum::Decimal(d.at_scale(desc.ty.decimal.max(0) as u8))))
}

/// The partial columns: the sum, behind the count for an average.
fn push_partial(count: i64, sum: Datum, out: &mut [Column]) {
    let sum = if count == 0 { Datum::Null } else { sum };
    match out {
        [counts, sums] => {
            counts.push(&Datum::Int(count));
            sums.push(&sum);
        }
        [sums] => sums.push(&sum),
        _ => {}
    }
}

/// Count and sum of a partial row; `None` if it covers no value.
fn partial_row<'v>(partial: &'v [Vector<'_>], row: usize) -> Option<(i64, DatumRef<'v>)> {
    let (count, sum) = match partial {
        [counts, sums] => match counts.get(row) {
            DatumRef::Int(n) => (n, sums.get(row)),
            _ => return None,
        },
        [sums] => (1, sums.get(row)),
        _ => return None,
    };
    (!matches!(sum, DatumRef::Null)).then_some((count, sum))
}

fn decimal_of(value: DatumRef<'_>) -> Option<Decimal> {
    match value {
        DatumRef::Decimal(d) => Some(*d),
        DatumRef::Int(v) => Some(Decimal::from_i64(v)),
        DatumRef::UInt(v) => Some(Decimal::from_u64(v)),
        _ => None,
    }
}

/// Sums of integers.
#[derive(Default)]
struct IntSum {
    sums: Vec<i128>,
    counts: Vec<i64>,
}

impl IntSum {
    fn total(&self, group: usize) -> Decimal {
        Decimal::from_unscaled(self.sums[group], 0)
    }
}

impl Accumulator for IntSum {
    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, 0);
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let arg = &args[0];
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        let has_nulls = arg.has_nulls();
        macro_rules! add {
            ($values:expr) => {{
                let values = $values;
                if has_nulls {
                    rows.for_each(|row, group| {
                        if !arg.is_null(row) {
                            sums[group] += i128::from(values.get(row));
                            counts[group] += 1;
                        }
                    });
                } else {
                    rows.for_each(|row, group| {
                        sums[group] += i128::from(values.get(row));
                        counts[group] += 1;
                    });
                }
            }};
        }
        if let Some(values) = arg.values::<i64>() {
            add!(values);
        } else if let Some(values) = arg.values::<u64>() {
            add!(values);
        }
        Ok(())
    }

    fn take_out(&mut self, _: &AggDesc, args: &[Vector<'_>], rows: Rows<'_>) -> Result<bool> {
        rows.for_each(|row, group| {
            let value = match args[0].get(row) {
                DatumRef::Int(value) => i128::from(value),
                DatumRef::UInt(value) => i128::from(value),
                _ => return,
            };
            self.sums[group] -= value;
            self.counts[group] -= 1;
        });
        Ok(true)
    }

    fn merge(&mut self, desc: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.try_for_each(|row, group| {
            if let Some((count, sum)) = partial_row(partial, row) {
                let sum = decimal_of(sum).and_then(|d| d.to_unscaled(0)).ok_or_else(|| overflow(desc, "DECIMAL"))?;
                self.sums[group] += sum;
                self.counts[group] += count;
            }
            Ok(())
        })
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        push_partial(self.counts[group], Datum::Decimal(self.total(group)), out);
    }

    fn result(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize) -> Result<Datum> {
        exact_result(desc, ctx, self.counts[group], &self.total(group))
    }

    fn memory_bytes(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.counts.capacity() * size_of::<i64>()
    }
}

/// Sums of DECIMALs.
#[derive(Default)]
struct DecimalSum {
    sums: Vec<Decimal>,
    counts: Vec<i64>,
}

impl DecimalSum {
    #[inline]
    fn add(&mut self, desc: &AggDesc, group: usize, count: i64, value: &Decimal) -> Result<()> {
        self.sums[group] = self.sums[group].add(value).map_err(|_| overflow(desc, "DECIMAL"))?;
        self.counts[group] += count;
        Ok(())
    }
}

impl Accumulator for DecimalSum {
    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, Decimal::ZERO);
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, desc: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let arg = &args[0];
        match arg.values::<Decimal>() {
            Some(values) => {
                rows.try_for_each(|row, group| if arg.is_null(row) { Ok(()) } else { self.add(desc, group, 1, &values.get(row)) })
            }
            None => rows.try_for_each(|row, group| match decimal_of(arg.get(row)) {
                Some(value) => self.add(desc, group, 1, &value),
                None => Ok(()),
            }),
        }
    }

    fn take_out(&mut self, desc: &AggDesc, args: &[Vector<'_>], rows: Rows<'_>) -> Result<bool> {
        rows.try_for_each(|row, group| match decimal_of(args[0].get(row)) {
            Some(value) => self.add(desc, group, -1, &value.neg()),
            None => Ok(()),
        })?;
        Ok(true)
    }

    fn merge(&mut self, desc: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.try_for_each(|row, group| match partial_row(partial, row).and_then(|(count, sum)| Some((count, decimal_of(sum)?))) {
            Some((count, sum)) => self.add(desc, group, count, &sum),
            None => Ok(()),
        })
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        push_partial(self.counts[group], Datum::Decimal(self.sums[group]), out);
    }

    fn result(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize) -> Result<Datum> {
        exact_result(desc, ctx, self.counts[group], &self.sums[group])
    }

    fn memory_bytes(&self) -> usize {
        self.sums.capacity() * size_of::<Decimal>() + self.counts.capacity() * size_of::<i64>()
    }
}

/// Sums of DOUBLEs.
#[derive(Default)]
struct RealSum {
    sums: Vec<f64>,
    counts: Vec<i64>,
}

fn real_of(value: DatumRef<'_>) -> Option<f64> {
    (!matches!(value, DatumRef::Null)).then(|| crate::convert::real(value))
}

impl Accumulator for RealSum {
    fn grow(&mut self, groups: usize) {
        self.sums.resize(groups, 0.0);
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let arg = &args[0];
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        match arg.values::<f64>() {
            Some(values) if !arg.has_nulls() => rows.for_each(|row, group| {
                sums[group] += values.get(row);
                counts[group] += 1;
            }),
            _ => rows.for_each(|row, group| {
                if let Some(value) = real_of(arg.get(row)) {
                    sums[group] += value;
                    counts[group] += 1;
                }
            }),
        }
        Ok(())
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.for_each(|row, group| {
            if let Some((count, sum)) = partial_row(partial, row) {
                self.sums[group] += crate::convert::real(sum);
                self.counts[group] += count;
            }
        });
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        push_partial(self.counts[group], Datum::Double(self.sums[group]), out);
    }

    fn result(&self, desc: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        let (sum, count) = (self.sums[group], self.counts[group]);
        match (count, desc.kind) {
            (0, _) => Ok(Datum::Null),
            _ if !sum.is_finite() => Err(overflow(desc, "DOUBLE")),
            (_, AggKind::Sum) => Ok(Datum::Double(sum)),
            _ => Ok(Datum::Double(sum / count as f64)),
        }
    }

    fn memory_bytes(&self) -> usize {
        self.sums.capacity() * size_of::<f64>() + self.counts.capacity() * size_of::<i64>()
    }
}
