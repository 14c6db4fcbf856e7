//! From conditions on key columns to key ranges.
//!
//! While planning, `detach` takes the conditions that a key's leading columns can answer out of a conjunction. What it finds is kept in a
//! [`RangeBuilder`] as expressions over constants and parameters. For each execution the builder evaluates them to sorted, disjoint
//! ranges of keys, so a plan is right for every value of its parameters: a NULL or impossible value simply yields no range.
//!
//! ```text
//! a IN (1, 3) AND b > ?      index (a, b)
//!        │           └─ column 1: interval ──────┐
//!        └─ column 0: points ── each point ── prefix ++ interval ── [t_i…1?, t_i…2) [t_i…3?, t_i…4)
//! ```
//!
//! Invariants:
//! - the ranges hold every key whose row can satisfy the detached conditions, whatever the parameters;
//! - for conditions that `detach` took away for good (`Detached::rest` does not hold them) they hold no other key;
//! - ranges are ascending and disjoint.

mod access;
pub(crate) mod detach;
mod fit;
mod interval;

use base::{IndexId, KeyRange, TableId, prefix_end};
use codec::table::{RECORD_PREFIX_LEN, index_prefix, int_record_key, record_prefix};
use copr::KeyPart;
use expr::{EvalCtx, Expr};
use types::{Datum, FieldType};

use self::access::{ColumnCondition, ColumnKey, Comparison};
use self::{
    access::encode,
    fit::{Fit, fit},
    interval::{Interval, IntervalSet},
};
use crate::error::Result;

/// Computes the key ranges of a reader for each execution.
#[derive(Clone, Debug)]
pub struct RangeBuilder {
    table: TableId,
    space: KeySpace,
    access: Access,
    /// The conditions behind `access`, for EXPLAIN.
    conditions: Vec<Expr>,
    /// Conditions without columns: unless all are true, no key is wanted.
    gates: Vec<Expr>,
}

/// What the keys are made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeySpace {
    /// Record keys with an integer handle, which is the value of a column of this type (or a hidden row id).
    IntHandle { ty: FieldType },
    /// Record keys with a common handle.
    CommonHandle { parts: Vec<KeyPart> },
    /// Entries of an index.
    Index { index: IndexId, parts: Vec<KeyPart> },
}

/// Which keys are wanted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// All.
    Full,
    /// Those whose leading columns satisfy these conditions, one for each column.
    Columns(Vec<ColumnCondition>),
    /// Those of any member.
    Union(Vec<Access>),
    /// Those that the outer rows of an index join ask for, one after the other.
    Lookup,
}

/// A range of keys behind the table's or index's prefix.
type Suffix = (Vec<u8>, Vec<u8>);

impl RangeBuilder {
    pub(crate) fn new(table: TableId, space: KeySpace, access: Access, conditions: Vec<Expr>) -> Self {
        Self { table, space, access, conditions, gates: vec![] }
    }

    /// The same with conditions without columns: unless all are true, no key is wanted.
    pub(crate) fn with_gates(self, gates: Vec<Expr>) -> Self {
        Self { gates, ..self }
    }

    /// The conditions that the ranges answer, for EXPLAIN.
    pub(crate) fn describe(&self) -> Option<String> {
        if self.access == Access::Lookup {
            return Some("range:decided by the outer rows".to_owned());
        }
        let conditions: Vec<String> = self.conditions.iter().chain(&self.gates).map(Expr::to_string).collect();
        (!conditions.is_empty()).then(|| format!("range:{}", conditions.join(", ")))
    }

    /// Whether the ranges always hold all keys of the table or index.
    pub fn is_full(&self) -> bool {
        self.access == Access::Full && self.gates.is_empty()
    }

    /// The sorted, disjoint ranges of user keys for the parameters in `ctx`.
    ///
    /// # Errors
    /// Evaluation of a constant expression.
    pub fn ranges(&self, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let prefix = self.prefix();
        if !self.is_open(ctx)? {
            return Ok(vec![]);
        }
        if matches!(self.access, Access::Full | Access::Lookup) {
            return Ok(vec![KeyRange::prefix(&prefix)]);
        }
        let mut suffixes = vec![];
        self.collect(&self.access, ctx, &mut suffixes)?;
        suffixes.sort();
        let mut ranges: Vec<KeyRange> = Vec::with_capacity(suffixes.len());
        let mut last: Option<Suffix> = None;
        let mut push = |range: Suffix| {
            let key = |suffix: &[u8]| [&prefix[..], suffix].concat();
            ranges.push(KeyRange::new(key(&range.0), key(&range.1)));
        };
        for (start, end) in suffixes {
            match &mut last {
                Some((_, last_end)) if start <= *last_end => {
                    if *last_end < end {
                        *last_end = end;
                    }
                }
                _ => {
                    if let Some(range) = last.replace((start, end)) {
                        push(range);
                    }
                }
            }
        }
        if let Some(range) = last {
            push(range);
        }
        Ok(ranges)
    }

    /// The record key or unique index key that holds these values (one for each key column); `None` when no row can have it: a NULL, or a
    /// value that the column cannot hold.
    ///
    /// # Errors
    /// Evaluation of a constant expression.
    pub fn point_key(&self, ctx: &EvalCtx, values: &[Expr]) -> Result<Option<Vec<u8>>> {
        if !self.is_open(ctx)? {
            return Ok(None);
        }
        if let (KeySpace::IntHandle { ty }, [value]) = (&self.space, values) {
            return Ok(match fit(&value.eval_const(ctx)?, ty) {
                Fit::Exact(Datum::Int(handle)) => Some(int_record_key(self.table, handle).to_vec()),
                Fit::Exact(Datum::UInt(handle)) => Some(int_record_key(self.table, handle as i64).to_vec()),
                _ => None,
            });
        }
        let values = values.iter().map(|value| value.eval_const(ctx)).collect::<expr::Result<Vec<_>>>()?;
        let Some(mut key) = self.key_prefix(&values)? else { return Ok(None) };
        if let KeySpace::CommonHandle { .. } = self.space {
            copr::record::pad_common_handle(&mut key, RECORD_PREFIX_LEN);
        }
        Ok(Some(key))
    }

    /// Whether all conditions without columns are true.
    fn is_open(&self, ctx: &EvalCtx) -> Result<bool> {
        for gate in &self.gates {
            if types::convert::to_bool(gate.eval_const(ctx)?.as_ref()) != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The range of keys whose first columns hold these values, for an index join's outer row; `None` when no key can: a NULL, or a value
    /// that the column cannot hold.
    ///
    /// # Errors
    /// Values that cannot be encoded.
    pub fn lookup_range(&self, values: &[Datum]) -> Result<Option<KeyRange>> {
        if let (KeySpace::IntHandle { ty }, [value]) = (&self.space, values) {
            let handle = match fit(value, ty) {
                Fit::Exact(Datum::Int(handle)) => handle,
                Fit::Exact(Datum::UInt(handle)) => handle as i64,
                _ => return Ok(None),
            };
            let key = int_record_key(self.table, handle);
            return Ok(Some(KeyRange::new(key.to_vec(), prefix_end(&key))));
        }
        Ok(self.key_prefix(values)?.map(|key| KeyRange::prefix(&key)))
    }

    /// The ranges as ranges of column values in key form, without the table's prefix and with open ends left empty: what statistics are
    /// looked up by.
    pub(crate) fn value_ranges(&self, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        if let (KeySpace::IntHandle { ty }, Access::Columns(conditions)) = (&self.space, &self.access)
            && let [condition] = &conditions[..]
        {
            return Self::column_ranges(condition, ty, ctx);
        }
        let mut suffixes = vec![];
        self.collect(&self.access, ctx, &mut suffixes)?;
        suffixes.sort();
        suffixes.dedup();
        Ok(suffixes.into_iter().map(open_ended).collect())
    }

    /// The values of one column for which a condition may be true, in key form.
    pub(crate) fn column_ranges(condition: &ColumnCondition, ty: &FieldType, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let set = condition.evaluate(ctx, ColumnKey { ty, prefix_len: None })?;
        Ok(set.intervals().iter().map(|i| open_ended((i.start.position().into_owned(), i.end.position().into_owned()))).collect())
    }

    fn key_prefix(&self, values: &[Datum]) -> Result<Option<Vec<u8>>> {
        let mut key = self.prefix();
        for (value, part) in values.iter().zip(self.parts()) {
            let Fit::Exact(value) = fit(value, &part.ty) else { return Ok(None) };
            let (encoded, _) = encode(&value, ColumnKey { ty: &part.ty, prefix_len: part.prefix_len });
            match part.desc {
                true => key.extend(encoded.iter().map(|byte| !byte)),
                false => key.extend(encoded),
            }
        }
        Ok(Some(key))
    }

    fn parts(&self) -> &[KeyPart] {
        match &self.space {
            KeySpace::IntHandle { .. } => &[],
            KeySpace::CommonHandle { parts } | KeySpace::Index { parts, .. } => parts,
        }
    }

    fn prefix(&self) -> Vec<u8> {
        match &self.space {
            KeySpace::IntHandle { .. } | KeySpace::CommonHandle { .. } => record_prefix(self.table),
            KeySpace::Index { index, .. } => index_prefix(self.table, *index),
        }
    }

    fn collect(&self, access: &Access, ctx: &EvalCtx, out: &mut Vec<Suffix>) -> Result<()> {
        match access {
            Access::Full | Access::Lookup => out.push((vec![], vec![0xff; 16])),
            Access::Union(members) => {
                for member in members {
                    self.collect(member, ctx, out)?;
                }
            }
            Access::Columns(conditions) => {
                if let (KeySpace::IntHandle { ty }, [condition]) = (&self.space, &conditions[..]) {
                    let set = condition.evaluate(ctx, ColumnKey { ty, prefix_len: None })?;
                    out.extend(set.intervals().iter().filter_map(handle_suffix));
                    return Ok(());
                }
                let mut sets = Vec::with_capacity(conditions.len());
                for (condition, part) in conditions.iter().zip(self.parts()) {
                    sets.push(condition.evaluate(ctx, ColumnKey { ty: &part.ty, prefix_len: part.prefix_len })?);
                }
                self.expand(&sets, 0, &[], out);
            }
        }
        Ok(())
    }

    /// Puts the intervals of one column behind each point of the columns before it.
    fn expand(&self, sets: &[IntervalSet], column: usize, prefix: &[u8], out: &mut Vec<Suffix>) {
        let desc = self.parts()[column].desc;
        for interval in sets[column].intervals() {
            let interval = if desc { &interval.inverted() } else { interval };
            if interval.point && column + 1 < sets.len() {
                self.expand(sets, column + 1, &[prefix, interval.point_prefix()].concat(), out);
            } else {
                let at = |position: &[u8]| [prefix, position].concat();
                out.push((at(&interval.start.position()), at(&interval.end.position())));
            }
        }
    }
}

/// An interval of flagged integers as handles, which are written without the flag.
fn handle_suffix(interval: &Interval) -> Option<Suffix> {
    let strip = |position: &[u8]| match position.split_first() {
        Some((flag, rest)) if *flag == codec::flag::INT => rest.to_vec(),
        Some((flag, _)) if *flag > codec::flag::INT => vec![0xff; 9],
        _ => vec![],
    };
    let (start, end) = (strip(&interval.start.position()), strip(&interval.end.position()));
    (start < end).then_some((start, end))
}

/// A range of values, with bounds that exclude nothing but NULL left out.
fn open_ended((start, end): Suffix) -> KeyRange {
    let start = if start == [codec::flag::NULL + 1] { vec![] } else { start };
    let end = if end.iter().all(|byte| *byte == 0xff) { vec![] } else { end };
    KeyRange::new(start, end)
}
