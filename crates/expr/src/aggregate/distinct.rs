//! DISTINCT: which rows bring a value that their group has not had yet.
//!
//! Values are remembered as byte strings that are equal exactly if the values are: sort keys for text, canonical digits
//! for DECIMAL. A row with a NULL among its values is never counted.

use rustc_hash::FxHashSet;
use types::{DatumRef, EvalType};

use super::Rows;
use crate::expr::Expr;
use crate::vector::Vector;

/// The values each group has had.
#[derive(Default)]
pub(super) struct Distinct {
    /// Groups with single integers, the most frequent case.
    ints: FxHashSet<(u32, i64)>,
    others: FxHashSet<Box<[u8]>>,
    heap_bytes: usize,
}

impl Distinct {
    /// The rows with new values, which are remembered, and their groups.
    pub(super) fn fresh(&mut self, args: &[Expr], values: &[Vector<'_>], rows: Rows<'_>) -> Vec<(u32, u32)> {
        let mut fresh = Vec::new();
        if let [only] = values
            && let Some(ints) = only.values::<i64>()
        {
            rows.for_each(|row, group| {
                if !only.is_null(row) && self.ints.insert((group as u32, ints.get(row))) {
                    fresh.push((row as u32, group as u32));
                }
            });
            return fresh;
        }
        let mut key = Vec::new();
        rows.for_each(|row, group| {
            key.clear();
            key.extend_from_slice(&(group as u32).to_le_bytes());
            for (arg, value) in args.iter().zip(values) {
                if !append_key(&mut key, arg, value.get(row)) {
                    return;
                }
            }
            if !self.others.contains(key.as_slice()) {
                self.heap_bytes += key.len();
                self.others.insert(key.clone().into_boxed_slice());
                fresh.push((row as u32, group as u32));
            }
        });
        fresh
    }

    /// Heap memory of the sets.
    pub(super) fn memory_bytes(&self) -> usize {
        self.ints.capacity() * 24 + self.others.capacity() * 24 + self.heap_bytes
    }
}

/// Appends a value's identity with its length; false for NULL.
fn append_key(key: &mut Vec<u8>, arg: &Expr, value: DatumRef<'_>) -> bool {
    let start = key.len();
    key.extend_from_slice(&[0; 4]);
    match value {
        DatumRef::Null => return false,
        DatumRef::Int(v) => key.extend_from_slice(&i128::from(v).to_le_bytes()),
        DatumRef::UInt(v) => key.extend_from_slice(&i128::from(v).to_le_bytes()),
        DatumRef::Float(v) => key.extend_from_slice(&(f64::from(v) + 0.0).to_bits().to_le_bytes()),
        DatumRef::Double(v) => key.extend_from_slice(&(v + 0.0).to_bits().to_le_bytes()),
        DatumRef::Decimal(v) => {
            v.write_text_scaled(types::decimal::MAX_SCALE, key);
            let trimmed = key.len() - key.iter().rev().take_while(|b| **b == b'0').count();
            key.truncate(trimmed.max(start + 4));
        }
        DatumRef::Bytes(text) if arg.eval_type() == EvalType::String => arg.field_type().collation.sort_key(text, key),
        DatumRef::Bytes(text) => key.extend_from_slice(text),
        DatumRef::Time(v) => key.extend_from_slice(&v.packed().to_le_bytes()),
        DatumRef::Duration(v) => key.extend_from_slice(&v.micros().to_le_bytes()),
        DatumRef::Json(v) => types::JsonRef::new(v).write_sort_key(key),
    }
    let len = (key.len() - start - 4) as u32;
    key[start..start + 4].copy_from_slice(&len.to_le_bytes());
    true
}
