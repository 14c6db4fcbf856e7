//! Functions that look for values in a document.

use types::json::{Json, JsonPath, Scalar, path::Leg};
use types::{Collation, Datum, JsonRef};

use super::stored;
use crate::error::{Error, Result};
use crate::functions::{ANY, Args, Builtin, Want};
use crate::ops::like;
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("json_contains", (2, 3), &[Want::Any, Want::Any, Want::Raw], |_| rt::boolean(), contains),
    Builtin::new("json_contains_path", (3, ANY), &[Want::Any, Want::Raw], |_| rt::boolean(), contains_path),
    Builtin::new("json_overlaps", (2, 2), &[Want::Any], |_| rt::boolean(), overlaps),
    Builtin::new("member of", (2, 2), &[Want::Any], |_| rt::boolean(), member_of),
    Builtin::new("json_search", (3, ANY), &[Want::Any, Want::Raw], |_| rt::json(), search).sees_null(),
];

fn contains(a: &Args<'_>) -> Result<Datum> {
    let (document, candidate) = (a.document(0)?, a.document(1)?);
    let mut target = Some(JsonRef::new(&document));
    if a.len() > 2 {
        target = a.single_path(2)?.find_one(JsonRef::new(&document));
    }
    Ok(target.map_or(Datum::Null, |target| Datum::from(is_contained(&JsonRef::new(&candidate), &target))))
}

/// An object is contained in one that has all its members; an array in one that has all its elements, anything else in an array that has it as an
/// element; a scalar in an equal one.
fn is_contained(candidate: &JsonRef<'_>, target: &JsonRef<'_>) -> bool {
    match (target.scalar(), candidate.scalar()) {
        (Scalar::Object, Scalar::Object) => {
            candidate.members().into_iter().all(|(key, wanted)| target.member(key).is_some_and(|found| is_contained(&wanted, &found)))
        }
        (Scalar::Array, Scalar::Array) => candidate.elements().all(|wanted| has_element(target, &wanted)),
        (Scalar::Array, _) => has_element(target, candidate),
        (Scalar::Object, _) | (_, Scalar::Object | Scalar::Array) => false,
        _ => target.compare(candidate).is_eq(),
    }
}

/// An element of the same kind contains what is looked for: a scalar is never looked for in an array within the array.
fn has_element(array: &JsonRef<'_>, wanted: &JsonRef<'_>) -> bool {
    let same_shape = |item: &JsonRef<'_>| item.is_array() == wanted.is_array() && item.is_object() == wanted.is_object();
    array.elements().any(|item| same_shape(&item) && is_contained(wanted, &item))
}

fn contains_path(a: &Args<'_>) -> Result<Datum> {
    let document = a.document(0)?;
    let all = a.wants_all(1)?;
    let root = JsonRef::new(&document);
    for i in 2..a.len() {
        let found = a.path(i)?.find_one(root).is_some();
        if found != all {
            return Ok(Datum::from(found));
        }
    }
    Ok(Datum::from(all))
}

/// Two arrays overlap in an element, two objects in a member; what is no array is an array of itself beside an array.
fn overlaps(a: &Args<'_>) -> Result<Datum> {
    let (left, right) = (a.document(0)?, a.document(1)?);
    let (left, right) = (JsonRef::new(&left), JsonRef::new(&right));
    let has = |array: &JsonRef<'_>, value: &JsonRef<'_>| array.elements().any(|item| item.compare(value).is_eq());
    let overlap = match (left.is_array(), right.is_array()) {
        (true, true) => left.elements().any(|item| has(&right, &item)),
        (true, false) => has(&left, &right),
        (false, true) => has(&right, &left),
        (false, false) if left.is_object() && right.is_object() => {
            left.members().into_iter().any(|(key, value)| right.member(key).is_some_and(|other| other.compare(&value).is_eq()))
        }
        (false, false) => left.compare(&right).is_eq(),
    };
    Ok(Datum::from(overlap))
}

fn member_of(a: &Args<'_>) -> Result<Datum> {
    let value = a.json_value(0).to_binary()?;
    let document = a.document(1)?;
    let (value, array) = (JsonRef::new(&value), JsonRef::new(&document));
    let found = if array.is_array() { array.elements().any(|item| item.compare(&value).is_eq()) } else { array.compare(&value).is_eq() };
    Ok(Datum::from(found))
}

/// JSON_SEARCH(document, one or all, pattern[, escape[, path …]]): the paths of the strings that match a LIKE pattern.
fn search(a: &Args<'_>) -> Result<Datum> {
    if a.any_null(0) && (0..a.len()).any(|i| i != 3 && a.is_null(i)) {
        return Ok(Datum::Null);
    }
    let document = a.document(0)?;
    let all = a.wants_all(1)?;
    let escape = match a.text(3).chars().collect::<Vec<_>>()[..] {
        [] => '\\',
        [one] => one,
        _ => return Err(Error::WrongArguments { name: "ESCAPE".to_owned() }),
    };
    let paths = match a.len() {
        ..=4 => vec![JsonPath::default()],
        _ => (4..a.len()).map(|i| a.path(i)).collect::<Result<Vec<_>>>()?,
    };
    let mut found: Vec<JsonPath> = Vec::new();
    for mut path in paths {
        // The place itself and everything within it.
        path.legs.extend([Leg::Within, Leg::Cell(types::json::path::Cell { index: 0, from_last: false })]);
        path.visit(JsonRef::new(&document), &mut |steps, value| {
            if let Scalar::String(text) = value.scalar()
                && (all || found.is_empty())
                && like::matches(text.as_bytes(), a.bytes(2), Some(escape), Collation::Utf8mb4Bin)
            {
                let at = JsonPath::of_steps(steps);
                if !found.contains(&at) {
                    found.push(at);
                }
            }
        });
    }
    let mut found = found.iter().map(|path| Json::string(path.to_string()));
    match (found.next(), found.next()) {
        (None, _) => Ok(Datum::Null),
        (Some(one), None) => stored(&one),
        (Some(one), Some(two)) => stored(&Json::Array([one, two].into_iter().chain(found).collect())),
    }
}
