//! IN lists: three-valued, by linear comparison or, for long lists of constants, by a hash set.

use rustc_hash::FxHashSet;
use types::{Collation, Datum, DatumRef, EvalType, RowRef};

use super::from_truth;
use crate::context::EvalCtx;
use crate::error::Result;
use crate::expr::{Call, CallData, Expr};

/// The constants of an IN list, for lookup.
#[derive(Debug)]
pub struct InSet {
    members: Members,
    has_null: bool,
}

#[derive(Debug)]
enum Members {
    /// Integers of either signedness as their exact value.
    Ints(FxHashSet<i128>),
    /// Strings by their sort key.
    Strings(FxHashSet<Box<[u8]>>, Collation),
    /// Other classes: sorted.
    Sorted(Vec<Datum>),
}

impl InSet {
    /// The set of a list's members, if all of them are constants.
    pub fn of_constants(class: EvalType, collation: Collation, list: &[Expr]) -> Option<InSet> {
        let values = list.iter().map(Expr::as_constant).collect::<Option<Vec<_>>>()?;
        let has_null = values.iter().any(|v| v.is_null());
        let present = values.into_iter().filter(|v| !v.is_null());
        let members = match class {
            EvalType::Int => Members::Ints(present.filter_map(|v| int_of(v.as_ref())).collect()),
            EvalType::String => {
                let keys = present.filter_map(|v| match v {
                    Datum::Bytes(text) => Some(key(text, collation)),
                    _ => None,
                });
                Members::Strings(keys.collect(), collation)
            }
            _ => {
                let mut sorted: Vec<Datum> = present.cloned().collect();
                sorted.sort_by(|a, b| a.as_ref().compare(b.as_ref(), collation));
                Members::Sorted(sorted)
            }
        };
        Some(InSet { members, has_null })
    }

    /// `value IN (the list)` for a value that is not NULL.
    pub(crate) fn contains(&self, value: DatumRef<'_>) -> Option<bool> {
        let found = match &self.members {
            Members::Ints(set) => int_of(value).is_some_and(|v| set.contains(&v)),
            Members::Strings(set, collation) => match value {
                DatumRef::Bytes(text) if collation.sort_key_is_identity() => set.contains(text),
                DatumRef::Bytes(text) => set.contains(&key(text, *collation)),
                _ => false,
            },
            Members::Sorted(sorted) => sorted.binary_search_by(|m| m.as_ref().compare(value, Collation::Binary)).is_ok(),
        };
        if found { Some(true) } else { (!self.has_null).then_some(false) }
    }
}

fn int_of(value: DatumRef<'_>) -> Option<i128> {
    match value {
        DatumRef::Int(v) => Some(i128::from(v)),
        DatumRef::UInt(v) => Some(i128::from(v)),
        _ => None,
    }
}

fn key(text: &[u8], collation: Collation) -> Box<[u8]> {
    let mut key = Vec::with_capacity(text.len() * 2);
    collation.sort_key(text, &mut key);
    key.into_boxed_slice()
}

/// Evaluates an IN for one row.
pub(crate) fn eval_row(call: &Call, ctx: &EvalCtx, row: RowRef<'_>) -> Result<Datum> {
    let mut slot = Datum::Null;
    let subject = call.args[0].eval_ref(ctx, row, &mut slot)?;
    if matches!(subject, DatumRef::Null) {
        return Ok(Datum::Null);
    }
    if let CallData::InSet(set) = &call.data {
        return Ok(from_truth(set.contains(subject)));
    }
    let mut seen_null = false;
    for item in &call.args[1..] {
        let mut slot = Datum::Null;
        match item.eval_ref(ctx, row, &mut slot)? {
            DatumRef::Null => seen_null = true,
            value if subject.compare(value, call.collation).is_eq() => return Ok(Datum::Int(1)),
            _ => {}
        }
    }
    Ok(if seen_null { Datum::Null } else { Datum::Int(0) })
}
