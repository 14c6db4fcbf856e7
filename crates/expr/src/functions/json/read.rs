//! Functions that read from a document or tell about it.

use types::json::{Json, JsonPath};
use types::{Datum, DatumRef, JsonRef};

use super::stored;
use crate::error::Result;
use crate::functions::{ANY, Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("json_extract", (2, ANY), &[Want::Any, Want::Raw], |_| rt::json(), extract),
    Builtin::new("json_keys", (1, 2), &[Want::Any, Want::Raw], |_| rt::json(), keys),
    Builtin::new("json_length", (1, 2), &[Want::Any, Want::Raw], |_| rt::int_of(10), length),
    Builtin::new("json_depth", (1, 1), &[Want::Any], |_| rt::int_of(10), |a| int(JsonRef::new(&a.document(0)?).depth())),
    Builtin::new(
        "json_type",
        (1, 1),
        &[Want::Any],
        |s| s.connection_string(51),
        |a| Ok(Datum::from(JsonRef::new(&a.document(0)?).kind().name())),
    ),
    Builtin::new("json_valid", (1, 1), &[Want::Any], |_| rt::boolean(), valid),
    Builtin::new("json_storage_size", (1, 1), &[Want::Any], |_| rt::int_of(10), |a| int(JsonRef::new(&a.document(0)?).storage_bytes())),
    // Values are never updated in place, so nothing is free within them.
    Builtin::new("json_storage_free", (1, 1), &[Want::Any], |_| rt::int_of(10), |a| a.document(0).map(|_| Datum::Int(0))),
];

fn int(value: usize) -> Result<Datum> {
    Ok(Datum::Int(value as i64))
}

/// One path without wildcards gives the value itself, all else an array of what was found; NULL if nothing was.
fn extract(a: &Args<'_>) -> Result<Datum> {
    let document = a.document(0)?;
    let root = JsonRef::new(&document);
    let paths = (1..a.len()).map(|i| a.path(i)).collect::<Result<Vec<JsonPath>>>()?;
    if let [path] = &paths[..]
        && !path.has_wildcard()
    {
        return Ok(path.find_one(root).map_or(Datum::Null, |found| Datum::Json(found.to_binary())));
    }
    let found: Vec<Json> = paths.iter().flat_map(|path| path.find(root)).map(|value| value.to_json()).collect();
    if found.is_empty() { Ok(Datum::Null) } else { stored(&Json::Array(found)) }
}

/// The value a function is about: the document, or what its path finds.
fn subject<'d>(a: &Args<'_>, document: &'d [u8]) -> Result<Option<JsonRef<'d>>> {
    let root = JsonRef::new(document);
    if a.len() < 2 { Ok(Some(root)) } else { Ok(a.single_path(1)?.find_one(root)) }
}

fn keys(a: &Args<'_>) -> Result<Datum> {
    let document = a.document(0)?;
    match subject(a, &document)? {
        Some(object) if object.is_object() => {
            stored(&Json::Array(object.members().into_iter().map(|(key, _)| Json::string(key)).collect()))
        }
        _ => Ok(Datum::Null),
    }
}

fn length(a: &Args<'_>) -> Result<Datum> {
    let document = a.document(0)?;
    subject(a, &document)?.map_or(Ok(Datum::Null), |value| int(value.len()))
}

fn valid(a: &Args<'_>) -> Result<Datum> {
    let valid = match a.datum(0) {
        DatumRef::Json(_) => true,
        DatumRef::Bytes(text) => a.is_text_argument(0) && types::json::parse(text).is_ok(),
        _ => false,
    };
    Ok(Datum::from(valid))
}
