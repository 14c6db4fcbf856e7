//! MIN and MAX: over native slices, or over strings by their collation.

use std::cmp::Ordering;

use types::{Collation, Column, ColumnData, Datum, DatumRef, Decimal, Duration, EvalType, Time, TypeKind};

use super::{Accumulator, AggDesc, AggKind, Rows};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::ops::compare::doubles;
use crate::vector::{Native, Vector};

/// The accumulator for the argument's physical type.
pub(super) fn accumulator(desc: &AggDesc) -> Box<dyn Accumulator> {
    let wanted = if desc.kind == AggKind::Max { Ordering::Greater } else { Ordering::Less };
    let column = Column::for_type(&desc.ty, 0);
    match column.data() {
        ColumnData::Int(_) => Box::new(Extreme::<i64>::new(wanted, Ord::cmp)),
        ColumnData::UInt(_) => Box::new(Extreme::<u64>::new(wanted, Ord::cmp)),
        ColumnData::Float(_) => Box::new(Extreme::<f32>::new(wanted, |a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal))),
        ColumnData::Double(_) => Box::new(Extreme::<f64>::new(wanted, |a, b| doubles(*a, *b))),
        ColumnData::Decimal(_) => Box::new(Extreme::<Decimal>::new(wanted, Ord::cmp)),
        ColumnData::Time(_) => Box::new(Extreme::<Time>::new(wanted, Ord::cmp)),
        ColumnData::Duration(_) => Box::new(Extreme::<Duration>::new(wanted, Ord::cmp)),
        _ => {
            let is_text = desc.ty.tp.eval_type() == EvalType::String && desc.ty.tp != TypeKind::Null;
            Box::new(ExtremeText {
                wanted,
                collation: if is_text { desc.ty.collation } else { Collation::Binary },
                json: desc.ty.tp == TypeKind::Json,
                best: Vec::new(),
                heap_bytes: 0,
            })
        }
    }
}

/// The extreme of native values.
struct Extreme<T> {
    wanted: Ordering,
    compare: fn(&T, &T) -> Ordering,
    best: Vec<Option<T>>,
}

impl<T: Native> Extreme<T> {
    fn new(wanted: Ordering, compare: fn(&T, &T) -> Ordering) -> Self {
        Extreme { wanted, compare, best: Vec::new() }
    }

    fn fold(&mut self, arg: &Vector<'_>, rows: Rows<'_>) {
        let Some(values) = arg.values::<T>() else { return };
        let (best, wanted, compare) = (&mut self.best, self.wanted, self.compare);
        let has_nulls = arg.has_nulls();
        rows.for_each(|row, group| {
            if has_nulls && arg.is_null(row) {
                return;
            }
            let value = values.get(row);
            let slot = &mut best[group];
            if slot.as_ref().is_none_or(|b| compare(&value, b) == wanted) {
                *slot = Some(value);
            }
        });
    }

    fn value(&self, group: usize) -> Datum {
        self.best[group].map_or(Datum::Null, T::to_datum)
    }
}

impl<T: Native> Accumulator for Extreme<T> {
    fn grow(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&args[0], rows);
        Ok(())
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&partial[0], rows);
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        out[0].push(&self.value(group));
    }

    fn result(&self, _: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        Ok(self.value(group))
    }

    fn memory_bytes(&self) -> usize {
        self.best.capacity() * size_of::<Option<T>>()
    }
}

/// The extreme of strings and JSON values. A new best is copied into the old one's buffer.
struct ExtremeText {
    wanted: Ordering,
    collation: Collation,
    /// The strings are JSON values in their stored form, and ordered as such.
    json: bool,
    best: Vec<Option<Vec<u8>>>,
    heap_bytes: usize,
}

impl ExtremeText {
    fn fold(&mut self, arg: &Vector<'_>, rows: Rows<'_>) {
        rows.for_each(|row, group| {
            let value = arg.get(row);
            let (DatumRef::Bytes(text) | DatumRef::Json(text)) = value else { return };
            match &mut self.best[group] {
                Some(best) if self.json && value.compare(DatumRef::Json(best), self.collation) != self.wanted => {}
                Some(best) if !self.json && self.collation.compare(text, best) != self.wanted => {}
                Some(best) => {
                    let before = best.capacity();
                    best.clear();
                    best.extend_from_slice(text);
                    self.heap_bytes += best.capacity().saturating_sub(before);
                }
                empty => {
                    self.heap_bytes += text.len();
                    *empty = Some(text.to_vec());
                }
            }
        });
    }

    fn value(&self, group: usize) -> Datum {
        self.best[group].clone().map_or(Datum::Null, if self.json { Datum::Json } else { Datum::Bytes })
    }
}

impl Accumulator for ExtremeText {
    fn grow(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&args[0], rows);
        Ok(())
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&partial[0], rows);
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        out[0].push(&self.value(group));
    }

    fn result(&self, _: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        Ok(self.value(group))
    }

    fn memory_bytes(&self) -> usize {
        self.best.capacity() * size_of::<Option<Vec<u8>>>() + self.heap_bytes
    }
}
