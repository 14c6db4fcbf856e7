//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: a document against a JSON Schema (draft 4, as MySQL 8.0 implements it).
//!
//! References within the schema (`#/definitions/x`) are followed; those to other documents are error 1235, as in MySQL. `format` is not checked.

use std::collections::HashSet;

use regex::Regex;
use types::json::{Json, JsonKind};
use types::{Datum, JsonRef};

use super::stored;
use crate::error::{Error, Result};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("json_schema_valid", (2, 2), &[Want::Any], |_| rt::boolean(), |a| Ok(Datum::from(failure(a)?.is_none()))),
    Builtin::new("json_schema_validation_report", (2, 2), &[Want::Any], |_| rt::json(), report),
];

/// How deep references may lead into each other.
const MAX_STEPS: usize = 200;

/// The first requirement that a document does not meet.
struct Failure {
    document: String,
    schema: String,
    keyword: &'static str,
}

/// What is being compared, and where it stands.
#[derive(Clone)]
struct Place<'a> {
    value: &'a Json,
    pointer: String,
}

impl<'a> Place<'a> {
    fn root(value: &'a Json) -> Self {
        Self { value, pointer: "#".to_owned() }
    }

    fn below(&self, key: &str, value: &'a Json) -> Self {
        Self { value, pointer: format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1")) }
    }

    fn member(&self, key: &str) -> Option<Self> {
        self.value.member(key).map(|value| self.below(key, value))
    }
}

fn failure(a: &Args<'_>) -> Result<Option<Failure>> {
    let schema = a.tree(0)?;
    if !matches!(schema, Json::Object(_)) {
        return Err(Error::JsonObjectRequired { argument: 1, function: a.call.func.name() });
    }
    let document = a.tree(1)?;
    Validator { root: &schema }.check(&Place::root(&schema), &Place::root(&document), 0)
}

fn report(a: &Args<'_>) -> Result<Datum> {
    let Some(failure) = failure(a)? else { return stored(&Json::object(vec![("valid".to_owned(), Json::Bool(true))])) };
    let reason = format!(
        "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
        failure.document, failure.keyword, failure.schema
    );
    stored(&Json::object(vec![
        ("valid".to_owned(), Json::Bool(false)),
        ("reason".to_owned(), Json::String(reason)),
        ("schema-location".to_owned(), Json::String(failure.schema)),
        ("document-location".to_owned(), Json::String(failure.document)),
        ("schema-failed-keyword".to_owned(), Json::string(failure.keyword)),
    ]))
}

/// What becomes of a check: nothing, or the first failure.
type Checked = Result<Option<Failure>>;

struct Validator<'a> {
    root: &'a Json,
}

fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Int(value) => Some(*value as f64),
        Json::UInt(value) => Some(*value as f64),
        Json::Double(value) => Some(*value),
        Json::Decimal(value) => Some(value.to_f64()),
        _ => None,
    }
}

fn count(value: Option<&Json>) -> Option<usize> {
    number(value?).filter(|count| *count >= 0.0).map(|count| count as usize)
}

fn equal(a: &Json, b: &Json) -> bool {
    match (a.to_binary(), b.to_binary()) {
        (Ok(a), Ok(b)) => JsonRef::new(&a).compare(&JsonRef::new(&b)).is_eq(),
        _ => false,
    }
}

/// Bytes that equal values share.
fn identity(value: &Json) -> Vec<u8> {
    let mut key = Vec::new();
    if let Ok(stored) = value.to_binary() {
        JsonRef::new(&stored).write_sort_key(&mut key);
    }
    key
}

fn is_of_type(value: &Json, name: &str) -> bool {
    match name {
        "null" => matches!(value, Json::Null),
        "boolean" => matches!(value, Json::Bool(_)),
        "string" => matches!(value, Json::String(_)),
        "array" => matches!(value, Json::Array(_)),
        "object" => matches!(value, Json::Object(_)),
        "number" => number(value).is_some(),
        "integer" => {
            matches!(value.kind(), JsonKind::Integer | JsonKind::UnsignedInteger) || number(value).is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    // A pattern that cannot be read requires nothing.
    Regex::new(pattern).map_or(true, |pattern| pattern.is_match(text))
}

impl<'a> Validator<'a> {
    fn check(&self, schema: &Place<'a>, document: &Place<'_>, steps: usize) -> Checked {
        if steps > MAX_STEPS {
            return Err(types::json::JsonError::TooDeep.into());
        }
        if let Some(Json::String(reference)) = schema.value.member("$ref") {
            return match self.resolve(reference)? {
                Some(target) => self.check(&target, document, steps + 1),
                None => Ok(None),
            };
        }
        let failed = |keyword| Ok(Some(Failure { document: document.pointer.clone(), schema: schema.pointer.clone(), keyword }));
        if let Some(keyword) = plain_requirement(schema.value, document.value) {
            return failed(keyword);
        }
        if let Some(found) = self.combined(schema, document, steps)? {
            return Ok(Some(found));
        }
        match document.value {
            Json::Object(members) => self.object(schema, document, members, steps),
            Json::Array(items) => self.array(schema, document, items, steps),
            _ => Ok(None),
        }
    }

    /// The schema that `#/a/b` means.
    fn resolve(&self, reference: &str) -> Result<Option<Place<'a>>> {
        let Some(rest) = reference.strip_prefix('#') else {
            return Err(Error::NotSupported { feature: "references to external resources in JSON Schema".to_owned() });
        };
        let mut at = Place::root(self.root);
        for key in rest.split('/').skip(1) {
            let key = key.replace("~1", "/").replace("~0", "~");
            let next = match at.value {
                Json::Array(items) => key.parse::<usize>().ok().and_then(|i| items.get(i)),
                value => value.member(&key),
            };
            let Some(next) = next else { return Ok(None) };
            at = at.below(&key, next);
        }
        Ok(Some(at))
    }

    /// allOf, anyOf, oneOf, not.
    fn combined(&self, schema: &Place<'a>, document: &Place<'_>, steps: usize) -> Checked {
        let failed = |keyword| Ok(Some(Failure { document: document.pointer.clone(), schema: schema.pointer.clone(), keyword }));
        for (keyword, fits) in
            [("allOf", (|met, all| met == all) as fn(usize, usize) -> bool), ("anyOf", |met, _| met > 0), ("oneOf", |met, _| met == 1)]
        {
            let Some(list) = schema.member(keyword) else { continue };
            let Json::Array(choices) = list.value else { continue };
            let mut met = 0;
            for (i, choice) in choices.iter().enumerate() {
                met += usize::from(self.check(&list.below(&i.to_string(), choice), document, steps + 1)?.is_none());
            }
            if !fits(met, choices.len()) {
                return failed(keyword);
            }
        }
        match schema.member("not") {
            Some(unwanted) if self.check(&unwanted, document, steps + 1)?.is_none() => failed("not"),
            _ => Ok(None),
        }
    }

    fn object(&self, schema: &Place<'a>, document: &Place<'_>, members: &[(String, Json)], steps: usize) -> Checked {
        let failed = |keyword| Ok(Some(Failure { document: document.pointer.clone(), schema: schema.pointer.clone(), keyword }));
        let (properties, patterns) = (schema.member("properties"), schema.member("patternProperties"));
        for (key, value) in members {
            let place = Place { value, pointer: format!("{}/{key}", document.pointer) };
            let mut known = false;
            if let Some(wanted) = properties.as_ref().and_then(|properties| properties.member(key)) {
                known = true;
                if let Some(found) = self.check(&wanted, &place, steps + 1)? {
                    return Ok(Some(found));
                }
            }
            if let Some((patterns, Json::Object(list))) = patterns.as_ref().map(|patterns| (patterns, patterns.value)) {
                for (pattern, wanted) in list.iter().filter(|(pattern, _)| matches_pattern(pattern, key)) {
                    known = true;
                    if let Some(found) = self.check(&patterns.below(pattern, wanted), &place, steps + 1)? {
                        return Ok(Some(found));
                    }
                }
            }
            match schema.member("additionalProperties") {
                Some(more) if !known => match more.value {
                    Json::Bool(false) => return failed("additionalProperties"),
                    Json::Object(_) => {
                        if let Some(found) = self.check(&more, &place, steps + 1)? {
                            return Ok(Some(found));
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
            match schema.member("dependencies").and_then(|dependencies| dependencies.member(key)) {
                Some(Place { value: Json::Array(others), .. }) => {
                    let missing = others.iter().any(|other| matches!(other, Json::String(other) if document.value.member(other).is_none()));
                    if missing {
                        return failed("dependencies");
                    }
                }
                Some(wanted) => {
                    if let Some(found) = self.check(&wanted, document, steps + 1)? {
                        return Ok(Some(found));
                    }
                }
                None => {}
            }
        }
        Ok(None)
    }

    fn array(&self, schema: &Place<'a>, document: &Place<'_>, items: &[Json], steps: usize) -> Checked {
        let wanted = schema.member("items");
        for (i, value) in items.iter().enumerate() {
            let place = Place { value, pointer: format!("{}/{i}", document.pointer) };
            let own = match &wanted {
                Some(list @ Place { value: Json::Array(each), .. }) => match each.get(i) {
                    Some(one) => Some(list.below(&i.to_string(), one)),
                    None => match schema.member("additionalItems") {
                        Some(Place { value: Json::Bool(false), .. }) => {
                            let (document, schema) = (document.pointer.clone(), schema.pointer.clone());
                            return Ok(Some(Failure { document, schema, keyword: "additionalItems" }));
                        }
                        more => more.filter(|more| matches!(more.value, Json::Object(_))),
                    },
                },
                all => all.clone(),
            };
            if let Some(own) = own
                && let Some(found) = self.check(&own, &place, steps + 1)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The first of the requirements on a value itself that it does not meet.
fn plain_requirement(schema: &Json, value: &Json) -> Option<&'static str> {
    let get = |key: &str| schema.member(key);
    let of_type = match get("type") {
        Some(Json::String(name)) => is_of_type(value, name),
        Some(Json::Array(names)) => names.iter().any(|name| matches!(name, Json::String(name) if is_of_type(value, name))),
        _ => true,
    };
    let listed = match get("enum") {
        Some(Json::Array(values)) => values.iter().any(|one| equal(one, value)),
        _ => true,
    };
    let own = match value {
        Json::String(text) => {
            let chars = text.chars().count();
            let pattern = match get("pattern") {
                Some(Json::String(pattern)) => matches_pattern(pattern, text),
                _ => true,
            };
            first_unmet(&[
                ("minLength", count(get("minLength")).is_none_or(|least| chars >= least)),
                ("maxLength", count(get("maxLength")).is_none_or(|most| chars <= most)),
                ("pattern", pattern),
            ])
        }
        Json::Array(items) => {
            let unique = || items.iter().map(identity).collect::<HashSet<_>>().len() == items.len();
            first_unmet(&[
                ("minItems", count(get("minItems")).is_none_or(|least| items.len() >= least)),
                ("maxItems", count(get("maxItems")).is_none_or(|most| items.len() <= most)),
                ("uniqueItems", get("uniqueItems") != Some(&Json::Bool(true)) || unique()),
            ])
        }
        Json::Object(members) => {
            let required = match get("required") {
                Some(Json::Array(keys)) => keys.iter().all(|key| matches!(key, Json::String(key) if value.member(key).is_some())),
                _ => true,
            };
            first_unmet(&[
                ("minProperties", count(get("minProperties")).is_none_or(|least| members.len() >= least)),
                ("maxProperties", count(get("maxProperties")).is_none_or(|most| members.len() <= most)),
                ("required", required),
            ])
        }
        _ => number(value).and_then(|number| bounds(schema, number)),
    };
    first_unmet(&[("type", of_type), ("enum", listed)]).or(own)
}

fn first_unmet(requirements: &[(&'static str, bool)]) -> Option<&'static str> {
    requirements.iter().find(|(_, met)| !met).map(|(keyword, _)| *keyword)
}

/// minimum, maximum, multipleOf. In draft 4 the exclusive bounds are flags beside the bounds.
fn bounds(schema: &Json, value: f64) -> Option<&'static str> {
    let bound = |key: &str| schema.member(key).and_then(number);
    let exclusive = |key: &str| schema.member(key) == Some(&Json::Bool(true));
    first_unmet(&[
        ("minimum", bound("minimum").is_none_or(|least| value > least || (value == least && !exclusive("exclusiveMinimum")))),
        ("maximum", bound("maximum").is_none_or(|most| value < most || (value == most && !exclusive("exclusiveMaximum")))),
        ("multipleOf", bound("multipleOf").is_none_or(|step| step <= 0.0 || (value / step).fract() == 0.0)),
    ])
}
