//! What the functions that change a document do to its tree.
//!
//! A path without wildcards leads to one place. A place that does not exist can be made if its parent exists: a new member, or a cell behind the
//! last one (before the first for `last-n`); a parent that is no array becomes one then.

use super::{
    Json,
    path::{Cell, JsonPath, Leg},
};

/// Which places are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// JSON_SET: those that exist, and new ones.
    Set,
    /// JSON_INSERT: new ones.
    Insert,
    /// JSON_REPLACE: those that exist.
    Replace,
}

/// The value at a place.
fn locate<'a>(json: &'a mut Json, legs: &[Leg]) -> Option<&'a mut Json> {
    let Some((leg, rest)) = legs.split_first() else { return Some(json) };
    match leg {
        Leg::Member(key) => {
            let Json::Object(members) = json else { return None };
            let at = members.binary_search_by(|(name, _)| super::key_order(name, key)).ok()?;
            locate(&mut members[at].1, rest)
        }
        Leg::Cell(cell) => match json {
            Json::Array(items) => {
                let at = cell.position(items.len())?;
                locate(&mut items[at], rest)
            }
            single => cell.position(1).and_then(|_| locate(single, rest)),
        },
        _ => None,
    }
}

/// The value as an array: itself, or of itself alone.
fn as_array(json: &mut Json) -> &mut Vec<Json> {
    if !matches!(json, Json::Array(_)) {
        *json = Json::Array(vec![std::mem::replace(json, Json::Null)]);
    }
    match json {
        Json::Array(items) => items,
        _ => unreachable!("the value was made an array just now"),
    }
}

impl Json {
    /// JSON_SET, JSON_INSERT, JSON_REPLACE of one place.
    pub fn place(&mut self, path: &JsonPath, value: Json, placement: Placement) {
        if let Some(found) = locate(self, &path.legs) {
            if placement != Placement::Insert {
                *found = value;
            }
            return;
        }
        let Some((last, parents)) = path.legs.split_last() else { return };
        if placement == Placement::Replace {
            return;
        }
        let Some(parent) = locate(self, parents) else { return };
        match last {
            Leg::Member(key) => parent.set_member(key, value),
            Leg::Cell(Cell { from_last, .. }) => {
                let items = as_array(parent);
                items.insert(if *from_last { 0 } else { items.len() }, value);
            }
            _ => {}
        }
    }

    /// JSON_REMOVE of one place.
    pub fn remove(&mut self, path: &JsonPath) {
        let Some((last, parents)) = path.legs.split_last() else { return };
        let Some(parent) = locate(self, parents) else { return };
        match (last, parent) {
            (Leg::Member(key), Json::Object(members)) => members.retain(|(name, _)| name != key),
            (Leg::Cell(cell), Json::Array(items)) => {
                if let Some(at) = cell.position(items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }

    /// JSON_ARRAY_APPEND: behind the last cell of the array at a place; what is no array becomes one.
    pub fn append(&mut self, path: &JsonPath, value: Json) {
        if let Some(found) = locate(self, &path.legs) {
            as_array(found).push(value);
        }
    }

    /// JSON_ARRAY_INSERT: before a cell, or behind the last one; nothing where there is no array.
    pub fn insert_cell(&mut self, path: &JsonPath, value: Json) {
        let Some((Leg::Cell(cell), parents)) = path.legs.split_last() else { return };
        if let Some(Json::Array(items)) = locate(self, parents) {
            let len = items.len();
            let at = match cell.from_last {
                true => len.saturating_sub(cell.index + 1),
                false => cell.index.min(len),
            };
            items.insert(at, value);
        }
    }
}

/// JSON_MERGE_PRESERVE: arrays one behind the other, objects member by member; what is no array becomes one.
pub fn merge_preserve(a: Json, b: Json) -> Json {
    match (a, b) {
        (Json::Object(mut members), Json::Object(others)) => {
            for (key, value) in others {
                match members.binary_search_by(|(name, _)| super::key_order(name, &key)) {
                    Ok(at) => {
                        let old = std::mem::replace(&mut members[at].1, Json::Null);
                        members[at].1 = merge_preserve(old, value);
                    }
                    Err(at) => members.insert(at, (key, value)),
                }
            }
            Json::Object(members)
        }
        (mut a, mut b) => {
            let behind = std::mem::take(as_array(&mut b));
            as_array(&mut a).extend(behind);
            a
        }
    }
}

/// JSON_MERGE_PATCH (RFC 7396): members that are `null` in the patch are removed, all else takes the place of the old.
pub fn merge_patch(target: Json, patch: Json) -> Json {
    let Json::Object(changes) = patch else { return patch };
    let mut merged = match target {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    for (key, change) in changes {
        let found = merged.binary_search_by(|(name, _)| super::key_order(name, &key));
        match (found, change) {
            (Ok(at), Json::Null) => {
                merged.remove(at);
            }
            (Err(_), Json::Null) => {}
            (Ok(at), change) => {
                let old = std::mem::replace(&mut merged[at].1, Json::Null);
                merged[at].1 = merge_patch(old, change);
            }
            (Err(at), change) => merged.insert(at, (key, merge_patch(Json::Null, change))),
        }
    }
    Json::Object(merged)
}
