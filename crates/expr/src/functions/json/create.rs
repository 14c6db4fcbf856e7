//! Functions that make JSON of other values, and texts of JSON.

use types::json::{Json, JsonError, Unquoted, quote, unquote};
use types::{Collation, Datum, DatumRef, JsonRef};

use super::stored;
use crate::error::Result;
use crate::functions::{ANY, Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("json_array", (0, ANY), &[Want::Any], |_| rt::json(), array).sees_null(),
    Builtin::new("json_object", (0, ANY), &[Want::Any], |_| rt::json(), object).sees_null(),
    Builtin::new("json_quote", (1, 1), &[Want::Any], |_| rt::string(-1, Collation::Utf8mb4Bin), quoted),
    Builtin::new("json_unquote", (1, 1), &[Want::Any], |_| text(), unquoted),
    Builtin::new("json_pretty", (1, 1), &[Want::Any], |_| text(), pretty),
];

/// LONGTEXT of JSON's own collation.
fn text() -> types::FieldType {
    types::FieldType::longtext().with_collation(Collation::Utf8mb4Bin)
}

fn array(a: &Args<'_>) -> Result<Datum> {
    stored(&Json::Array((0..a.len()).map(|i| a.json_value(i)).collect()))
}

/// Keys are texts; other values are printed.
fn object(a: &Args<'_>) -> Result<Datum> {
    if !a.len().is_multiple_of(2) {
        return Err(crate::Error::WrongArity { name: "json_object".to_owned() });
    }
    let mut members = Vec::with_capacity(a.len() / 2);
    for i in (0..a.len()).step_by(2) {
        members.push((key(a, i)?, a.json_value(i + 1)));
    }
    stored(&Json::object(members))
}

/// An argument as a key.
pub(super) fn key(a: &Args<'_>, i: usize) -> Result<String> {
    let value = a.datum(i);
    match value {
        DatumRef::Null => Err(JsonError::NullKey.into()),
        DatumRef::Bytes(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        DatumRef::Json(stored) => Ok(String::from_utf8_lossy(&JsonRef::new(stored).unquoted()).into_owned()),
        _ => {
            let mut out = Vec::new();
            value.write_text_in_zone(a.call.args[i].field_type(), &a.ctx.time_zone, &mut out);
            Ok(String::from_utf8_lossy(&out).into_owned())
        }
    }
}

fn quoted(a: &Args<'_>) -> Result<Datum> {
    a.must_be_text(0)?;
    let mut out = Vec::new();
    quote(&a.text(0), &mut out);
    Ok(Datum::Bytes(out))
}

fn unquoted(a: &Args<'_>) -> Result<Datum> {
    if let DatumRef::Json(stored) = a.datum(0) {
        return Ok(Datum::Bytes(JsonRef::new(stored).unquoted().into_owned()));
    }
    a.must_be_text(0)?;
    match unquote(&a.text(0)) {
        Unquoted::Same(text) => Ok(Datum::from(text)),
        Unquoted::Text(text) => Ok(Datum::from(text)),
        Unquoted::Invalid(error) => Err(error.in_argument(1, "json_unquote").into()),
    }
}

fn pretty(a: &Args<'_>) -> Result<Datum> {
    let mut out = Vec::new();
    JsonRef::new(&a.document(0)?).write_pretty(&mut out);
    Ok(Datum::Bytes(out))
}
