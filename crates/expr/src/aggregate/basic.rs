//! COUNT, the bit aggregates, ANY_VALUE and the first row's value.

use types::{Column, Datum, DatumRef};

use super::{Accumulator, AggDesc, AggKind, Rows};
use crate::context::EvalCtx;
use crate::error::Result;
use crate::vector::Vector;

/// COUNT: rows without a NULL among the arguments.
#[derive(Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl Accumulator for Count {
    fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let counts = &mut self.counts;
        let nullable: Vec<&Vector<'_>> = args.iter().filter(|a| a.has_nulls()).collect();
        match (nullable.as_slice(), rows) {
            ([], Rows::One(rows)) => counts[0] += rows.len() as i64,
            ([], Rows::All(n)) => counts[0] += n as i64,
            ([], rows) => rows.for_each(|_, group| counts[group] += 1),
            ([only], rows) => rows.for_each(|row, group| counts[group] += i64::from(!only.is_null(row))),
            (several, rows) => rows.for_each(|row, group| counts[group] += i64::from(!several.iter().any(|a| a.is_null(row)))),
        }
        Ok(())
    }

    fn take_out(&mut self, _: &AggDesc, args: &[Vector<'_>], rows: Rows<'_>) -> Result<bool> {
        rows.for_each(|row, group| self.counts[group] -= i64::from(!args.iter().any(|a| a.is_null(row))));
        Ok(true)
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        rows.for_each(|row, group| {
            if let DatumRef::Int(n) = partial[0].get(row) {
                self.counts[group] += n;
            }
        });
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        out[0].push(&Datum::Int(self.counts[group]));
    }

    fn result(&self, _: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        Ok(Datum::Int(self.counts[group]))
    }

    fn memory_bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}

/// BIT_AND, BIT_OR, BIT_XOR: NULLs are passed over, an empty group has the neutral value.
pub(super) struct Bits {
    kind: AggKind,
    words: Vec<u64>,
}

impl Bits {
    pub(super) fn new(kind: AggKind) -> Self {
        Bits { kind, words: Vec::new() }
    }

    fn fold(&mut self, values: &Vector<'_>, rows: Rows<'_>) {
        let (kind, words) = (self.kind, &mut self.words);
        rows.for_each(|row, group| {
            let bits = match values.get(row) {
                DatumRef::Int(v) => v as u64,
                DatumRef::UInt(v) => v,
                _ => return,
            };
            match kind {
                AggKind::BitAnd => words[group] &= bits,
                AggKind::BitOr => words[group] |= bits,
                _ => words[group] ^= bits,
            }
        });
    }
}

impl Accumulator for Bits {
    fn grow(&mut self, groups: usize) {
        self.words.resize(groups, if self.kind == AggKind::BitAnd { u64::MAX } else { 0 });
    }

    fn update(&mut self, _: &AggDesc, _: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&args[0], rows);
        Ok(())
    }

    fn take_out(&mut self, _: &AggDesc, args: &[Vector<'_>], rows: Rows<'_>) -> Result<bool> {
        // What was exclusively or-ed once more is gone.
        let can = self.kind == AggKind::BitXor;
        if can {
            self.fold(&args[0], rows);
        }
        Ok(can)
    }

    fn merge(&mut self, _: &AggDesc, _: &EvalCtx, partial: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        self.fold(&partial[0], rows);
        Ok(())
    }

    fn append_partial(&self, group: usize, out: &mut [Column]) {
        out[0].push(&Datum::UInt(self.words[group]));
    }

    fn result(&self, _: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        Ok(Datum::UInt(self.words[group]))
    }

    fn memory_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

/// The value of the first row fed to a group.
#[derive(Default)]
pub(super) struct AnyValue {
    values: Vec<Option<Datum>>,
    heap_bytes: usize,
}

impl AnyValue {
    fn fold(&mut self, values: &Vector<'_>, rows: Rows<'_>) {
        rows.for_each(|row, group| {
            if self.values[group].is_none() {
                let value = values.get(row).to_owned();
                self.heap_bytes += value.heap_bytes();
                self.values[group] = Some(value);
            }
        });
    }
}

impl Accumulator for AnyValue {
    fn grow(&mut self, groups: usize) {
        self.values.resize(groups, None);
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
        out[0].push(self.values[group].as_ref().unwrap_or(&Datum::Null));
    }

    fn result(&self, _: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        Ok(self.values[group].clone().unwrap_or(Datum::Null))
    }

    fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Option<Datum>>() + self.heap_bytes
    }
}
