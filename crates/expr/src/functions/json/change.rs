//! Functions that answer a changed document.

use types::Datum;
use types::json::{Json, JsonError, JsonPath, Placement, merge_patch, merge_preserve, path::Leg};

use super::stored;
use crate::error::{Error, Result};
use crate::functions::{ANY, Args, Builtin, Want};
use crate::result_type as rt;

/// A document, then pairs of path and value.
const PAIRS: &[Want] = &[Want::Any];

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("json_set", (3, ANY), PAIRS, |_| rt::json(), |a| place(a, Placement::Set)).sees_null(),
    Builtin::new("json_insert", (3, ANY), PAIRS, |_| rt::json(), |a| place(a, Placement::Insert)).sees_null(),
    Builtin::new("json_replace", (3, ANY), PAIRS, |_| rt::json(), |a| place(a, Placement::Replace)).sees_null(),
    Builtin::new("json_array_append", (3, ANY), PAIRS, |_| rt::json(), append).sees_null(),
    Builtin::new("json_array_insert", (3, ANY), PAIRS, |_| rt::json(), insert_cell).sees_null(),
    Builtin::new("json_remove", (2, ANY), &[Want::Any, Want::Raw], |_| rt::json(), remove),
    Builtin::new("json_merge_preserve", (2, ANY), &[Want::Any], |_| rt::json(), preserve),
    Builtin::new("json_merge", (2, ANY), &[Want::Any], |_| rt::json(), deprecated_merge),
    Builtin::new("json_merge_patch", (2, ANY), &[Want::Any], |_| rt::json(), patch).sees_null(),
];

/// Applies `change` for every pair of path and value; NULL if the document or a path is NULL.
fn for_pairs(a: &Args<'_>, mut change: impl FnMut(&mut Json, &JsonPath, Json) -> Result<()>) -> Result<Datum> {
    if a.len().is_multiple_of(2) {
        return Err(Error::WrongArity { name: a.call.func.name().to_owned() });
    }
    if a.is_null(0) || (1..a.len()).step_by(2).any(|i| a.is_null(i)) {
        return Ok(Datum::Null);
    }
    let mut document = a.tree(0)?;
    for i in (1..a.len()).step_by(2) {
        change(&mut document, &a.single_path(i)?, a.json_value(i + 1))?;
    }
    stored(&document)
}

fn place(a: &Args<'_>, placement: Placement) -> Result<Datum> {
    for_pairs(a, |document, path, value| {
        document.place(path, value, placement);
        Ok(())
    })
}

fn append(a: &Args<'_>) -> Result<Datum> {
    for_pairs(a, |document, path, value| {
        document.append(path, value);
        Ok(())
    })
}

fn insert_cell(a: &Args<'_>) -> Result<Datum> {
    for_pairs(a, |document, path, value| {
        if !matches!(path.legs.last(), Some(Leg::Cell(_))) {
            return Err(JsonError::NotAnArrayCell.into());
        }
        document.insert_cell(path, value);
        Ok(())
    })
}

fn remove(a: &Args<'_>) -> Result<Datum> {
    let mut document = a.tree(0)?;
    for i in 1..a.len() {
        let path = a.single_path(i)?;
        if path.is_root() {
            return Err(JsonError::VacuousPath.into());
        }
        document.remove(&path);
    }
    stored(&document)
}

fn preserve(a: &Args<'_>) -> Result<Datum> {
    let mut merged = a.tree(0)?;
    for i in 1..a.len() {
        merged = merge_preserve(merged, a.tree(i)?);
    }
    stored(&merged)
}

fn deprecated_merge(a: &Args<'_>) -> Result<Datum> {
    a.warn(
        1287,
        "'JSON_MERGE' is deprecated and will be removed in a future release. Please use JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead",
    );
    preserve(a)
}

/// NULL spoils what came before it; a patch that is no object begins anew.
fn patch(a: &Args<'_>) -> Result<Datum> {
    let mut merged = if a.is_null(0) { None } else { Some(a.tree(0)?) };
    for i in 1..a.len() {
        merged = match (merged, if a.is_null(i) { None } else { Some(a.tree(i)?) }) {
            (_, None) => None,
            (None, Some(Json::Object(_))) => None,
            (None, Some(patch)) => Some(patch),
            (Some(target), Some(patch)) => Some(merge_patch(target, patch)),
        };
    }
    merged.map_or(Ok(Datum::Null), |merged| stored(&merged))
}
