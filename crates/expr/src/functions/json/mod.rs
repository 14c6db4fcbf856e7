//! JSON functions (MySQL 8.0 Reference Manual, 12.17).
//!
//! | file | functions |
//! |---|---|
//! | `create` | JSON_ARRAY, JSON_OBJECT, JSON_QUOTE, JSON_UNQUOTE, JSON_PRETTY |
//! | `read` | JSON_EXTRACT, JSON_KEYS, JSON_LENGTH, JSON_DEPTH, JSON_TYPE, JSON_VALID, JSON_STORAGE_SIZE |
//! | `search` | JSON_CONTAINS, JSON_CONTAINS_PATH, JSON_OVERLAPS, MEMBER OF, JSON_SEARCH |
//! | `change` | JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE, JSON_ARRAY_APPEND, JSON_ARRAY_INSERT, the merges |
//! | `value` | JSON_VALUE |
//! | `schema` | JSON_SCHEMA_VALID, JSON_SCHEMA_VALIDATION_REPORT |
//!
//! An argument that is a *document* may be a text, which is parsed (error 3141 if it is no JSON, 3146 if it is no text). An argument that is a
//! *value* is taken as it is: a text becomes a JSON string, a truth value `true` or `false`, NULL `null`.

mod change;
mod create;
mod read;
mod schema;
mod search;
pub(crate) mod value;

use std::borrow::Cow;

use types::json::{Json, JsonError, JsonPath};
use types::{Datum, DatumRef, JsonRef};

use super::{Args, Builtin};
use crate::error::{Error, Result};

/// The tables of this family.
pub(super) const TABLES: &[&[Builtin]] = &[create::TABLE, read::TABLE, search::TABLE, change::TABLE, schema::TABLE];

impl<'a> Args<'a> {
    fn function(&self) -> &'static str {
        self.call.func.name()
    }

    /// The stored form of a document argument, which is not NULL.
    ///
    /// # Errors
    /// A text that is no JSON; a value that is neither text nor JSON.
    fn document(&self, i: usize) -> Result<Cow<'a, [u8]>> {
        let argument = i + 1;
        match self.datum(i) {
            DatumRef::Json(stored) => Ok(Cow::Borrowed(stored)),
            DatumRef::Bytes(text) if self.is_text_argument(i) => {
                let json = types::json::parse(text).map_err(|error| error.in_argument(argument, self.function()))?;
                Ok(Cow::Owned(json.to_binary()?))
            }
            // A byte string is told from other wrong types.
            DatumRef::Bytes(_) => Err(JsonError::Charset { charset: "binary" }.into()),
            _ => Err(JsonError::ArgumentType { argument, function: self.function() }.into()),
        }
    }

    /// A document argument as a tree.
    ///
    /// # Errors
    /// As [`document`](Self::document).
    fn tree(&self, i: usize) -> Result<Json> {
        match self.datum(i) {
            DatumRef::Bytes(text) if self.is_text_argument(i) => {
                types::json::parse(text).map_err(|error| error.in_argument(i + 1, self.function()).into())
            }
            _ => Ok(JsonRef::new(&self.document(i)?).to_json()),
        }
    }

    /// An argument's value, whatever its type, as a tree.
    fn json_value(&self, i: usize) -> Json {
        let Some(arg) = self.call.args.get(i) else { return Json::Null };
        types::convert::to_json(self.datum(i), arg.field_type(), &self.ctx.time_zone)
    }

    fn is_text_argument(&self, i: usize) -> bool {
        self.call.args.get(i).is_some_and(|arg| arg.field_type().is_text())
    }

    /// A path argument.
    ///
    /// # Errors
    /// [`JsonError::Path`].
    fn path(&self, i: usize) -> Result<JsonPath> {
        Ok(JsonPath::parse(&self.text(i))?)
    }

    /// A path argument that leads to one place.
    ///
    /// # Errors
    /// As [`path`](Self::path), and [`JsonError::PathWildcard`].
    fn single_path(&self, i: usize) -> Result<JsonPath> {
        let path = self.path(i)?;
        if path.has_wildcard() { Err(JsonError::PathWildcard.into()) } else { Ok(path) }
    }

    /// `one` or `all`; true for all.
    ///
    /// # Errors
    /// [`JsonError::OneOrAll`].
    fn wants_all(&self, i: usize) -> Result<bool> {
        match self.bytes(i) {
            word if word.eq_ignore_ascii_case(b"one") => Ok(false),
            word if word.eq_ignore_ascii_case(b"all") => Ok(true),
            _ => Err(JsonError::OneOrAll { function: self.function() }.into()),
        }
    }

    /// Whether any argument from `from` on is NULL.
    fn any_null(&self, from: usize) -> bool {
        (from..self.len()).any(|i| self.is_null(i))
    }

    /// The error of an argument that must be a text (3064), unless it is one.
    fn must_be_text(&self, i: usize) -> Result<()> {
        match self.datum(i) {
            DatumRef::Bytes(_) => Ok(()),
            _ => Err(Error::ArgumentType { argument: i + 1, function: self.function() }),
        }
    }
}

/// A tree as a value.
fn stored(json: &Json) -> Result<Datum> {
    Ok(Datum::Json(json.to_binary()?))
}
