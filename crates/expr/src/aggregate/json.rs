//! JSON_ARRAYAGG and JSON_OBJECTAGG: the values of a group as one document.
//!
//! NULL values become `null`; a NULL key is an error. Of equal keys the last value counts. An empty group is NULL.

use types::json::{Json, JsonError};
use types::{Column, Datum, DatumRef, JsonRef};

use super::{Accumulator, AggDesc, AggKind, Rows};
use crate::context::EvalCtx;
use crate::error::{Error, Result};
use crate::vector::Vector;

/// The documents of all groups; keys only for JSON_OBJECTAGG.
#[derive(Default)]
pub(super) struct Documents {
    groups: Vec<Vec<(String, Json)>>,
    heap_bytes: usize,
}

/// About what an element takes on the heap beside its text.
const ELEMENT_BYTES: usize = size_of::<(String, Json)>();

impl Accumulator for Documents {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Vec::new);
    }

    fn update(&mut self, desc: &AggDesc, ctx: &EvalCtx, args: &[Vector<'_>], rows: Rows<'_>) -> Result<()> {
        let json = |arg: usize, row: usize| types::convert::to_json(args[arg].get(row), desc.args[arg].field_type(), &ctx.time_zone);
        rows.try_for_each(|row, group| {
            let element = match desc.kind {
                AggKind::JsonObjectAgg => (key(desc, ctx, args[0].get(row))?, json(1, row)),
                _ => (String::new(), json(0, row)),
            };
            let text = match args[args.len() - 1].get(row) {
                DatumRef::Bytes(text) | DatumRef::Json(text) => text.len(),
                _ => 0,
            };
            self.heap_bytes += ELEMENT_BYTES + element.0.len() + text;
            self.groups[group].push(element);
            Ok(())
        })
    }

    fn merge(&mut self, desc: &AggDesc, _: &EvalCtx, _: &[Vector<'_>], _: Rows<'_>) -> Result<()> {
        Err(Error::NotSupported { feature: format!("{desc} in parts") })
    }

    fn append_partial(&self, _: usize, out: &mut [Column]) {
        out[0].push(&Datum::Null);
    }

    fn result(&self, desc: &AggDesc, _: &EvalCtx, group: usize) -> Result<Datum> {
        let elements = &self.groups[group];
        if elements.is_empty() {
            return Ok(Datum::Null);
        }
        let document = match desc.kind {
            AggKind::JsonObjectAgg => Json::object(elements.clone()),
            _ => Json::Array(elements.iter().map(|(_, value)| value.clone()).collect()),
        };
        Ok(Datum::Json(document.to_binary()?))
    }

    fn memory_bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<(String, Json)>>() + self.heap_bytes
    }
}

/// The text of a key.
fn key(desc: &AggDesc, ctx: &EvalCtx, value: DatumRef<'_>) -> Result<String> {
    let text = match value {
        DatumRef::Null => return Err(JsonError::NullKey.into()),
        DatumRef::Json(stored) => JsonRef::new(stored).unquoted().into_owned(),
        value => {
            let mut out = Vec::new();
            value.write_text_in_zone(desc.args[0].field_type(), &ctx.time_zone, &mut out);
            out
        }
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}
