//! GROUP_CONCAT: values joined by a separator, in an order if one is asked for, cut at `group_concat_max_len`.
//!
//! A group keeps its values apart, with their sort keys, until the result is asked for: sorting needs all of them.
//! Without ORDER BY the text is built at once, and values beyond the limit are dropped as they come.

use std::cmp::Ordering;

use types::{Collation, Column, Datum};

use super::{Accumulator, AggDesc, Rows};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::functions::string::chars;
use crate::vector::Vector;

/// One value with its sort keys.
struct Entry {
    keys: Vec<Datum>,
    text: Vec<u8>,
}

#[derive(Default)]
struct Group {
    /// Without ORDER BY: the text so far.
    text: Vec<u8>,
    /// With ORDER BY: all values.
    entries: Vec<Entry>,
    /// Values seen.
    count: u64,
    /// The first value that did not fit, counted from 1; 0 if all did.
    cut_at: u64,
}

/// The groups of one GROUP_CONCAT.
#[derive(Default)]
pub(super) struct GroupConcat {
    groups: Vec<Group>,
    heap_bytes: usize,
}

impl Group {
    /// Appends a value unless the text is already cut.
    fn append(&mut self, value: &[u8], separator: &[u8], limit: usize, binary: bool) {
        self.count += 1;
        if self.cut_at > 0 {
            return;
        }
        if self.count > 1 {
            self.text.extend_from_slice(separator);
        }
        self.text.extend_from_slice(value);
        if self.text.len() > limit {
            self.text.truncate(char_boundary(&self.text, limit, binary));
            self.cut_at = self.count;
        }
    }
}

/// The last position at or before `limit` that cuts no character.
fn char_boundary(text: &[u8], limit: usize, binary: bool) -> usize {
    if binary {
        return limit;
    }
    let start = (limit.saturating_sub(4)..=limit).find(|at| text[*at] & 0xc0 != 0x80).unwrap_or(limit);
    let mut at = start;
    while at < limit {
        let next = at + chars::char_width(&text[at..]);
        if next > limit {
            break;
        }
        at = next;
    }
    at
}

fn limit_of(ctx: &EvalCtx) -> usize {
    usize::try_from(ctx.group_concat_max_len).unwrap_or(usize::MAX)
}

impl Accumulator for GroupConcat {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Group::default);
    }

    fn update(&mut self, desc: &AggDesc, ctx: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let (texts, keys) = args.split_at(desc.args.len());
        let limit = limit_of(ctx);
        let binary = desc.ty.collation == Collation::Binary;
        let mut value = Vec::new();
        rows.for_each(|row, group| {
            if texts.iter().any(|t| t.is_null(row)) {
                return;
            }
            value.clear();
            for text in texts {
                if let types::DatumRef::Bytes(bytes) = text.get(row) {
                    value.extend_from_slice(bytes);
                }
            }
            let group = &mut self.groups[group];
            if keys.is_empty() {
                let before = group.text.len();
                group.append(&value, &desc.separator, limit, binary);
                self.heap_bytes += group.text.len().saturating_sub(before);
            } else {
                self.heap_bytes += value.len() + size_of::<Entry>() + keys.len() * size_of::<Datum>();
                let keys = keys.iter().map(|k| k.get(row).to_owned()).collect();
                group.entries.push(Entry { keys, text: value.clone() });
            }
        });
        Ok(())
    }

    fn merge(&mut self, desc: &AggDesc, _: &EvalCtx, _: &[Vector<'_>], _: Rows<'_>) -> Result<()> {
        Err(Error::NotSupported { feature: format!("{desc} in parts") })
    }

    fn append_partial(&self, _: usize, out: &mut [Column]) {
        out[0].push(&Datum::Null);
    }

    fn result(&self, desc: &AggDesc, ctx: &EvalCtx, group: usize) -> Result<Datum> {
        let group = &self.groups[group];
        let binary = desc.ty.collation == Collation::Binary;
        if desc.order_by.is_empty() {
            return Ok(self.finish(ctx, group, group.text.clone()));
        }
        let mut order: Vec<&Entry> = group.entries.iter().collect();
        order.sort_by(|a, b| by_keys(desc, a, b));
        let mut sorted = Group::default();
        for entry in order {
            sorted.append(&entry.text, &desc.separator, limit_of(ctx), binary);
        }
        let text = std::mem::take(&mut sorted.text);
        Ok(self.finish(ctx, &sorted, text))
    }

    fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.heap_bytes
    }
}

impl GroupConcat {
    fn finish(&self, ctx: &EvalCtx, group: &Group, text: Vec<u8>) -> Datum {
        if group.count == 0 {
            return Datum::Null;
        }
        if group.cut_at > 0 {
            ctx.warn(1260, format!("Row {} was cut by GROUP_CONCAT()", group.cut_at));
        }
        Datum::Bytes(text)
    }
}

fn by_keys(desc: &AggDesc, a: &Entry, b: &Entry) -> Ordering {
    for (i, key) in desc.order_by.iter().enumerate() {
        let order = a.keys[i].as_ref().compare(b.keys[i].as_ref(), key.expr.field_type().collation);
        let order = if key.desc { order.reverse() } else { order };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}
