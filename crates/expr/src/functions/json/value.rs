//! JSON_VALUE(document, path): the text of the scalar at a place, which the planner casts to the type of RETURNING.
//!
//! The third argument says what is done when there is no value there, and when there is one that is no scalar: a letter each, `n` NULL, `e` error.
//! Defaults are the planner's business: it wraps the call.

use types::json::JsonError;
use types::{Datum, JsonRef};

use crate::error::Result;
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[Builtin::new("json_value", (3, 3), &[Want::Any, Want::Raw, Want::Raw], |_| rt::json(), value)];

fn value(a: &Args<'_>) -> Result<Datum> {
    let document = a.document(0)?;
    let found = a.path(1)?.find(JsonRef::new(&document));
    let fails = |at: usize| a.bytes(2).get(at) == Some(&b'e');
    match &found[..] {
        [] if fails(0) => Err(JsonError::Missing { function: "json_value" }.into()),
        [one] if !one.is_array() && !one.is_object() => Ok(Datum::Json(one.to_binary())),
        [_, _, ..] | [_] if fails(1) => Err(JsonError::Several { function: "json_value" }.into()),
        _ => Ok(Datum::Null),
    }
}
