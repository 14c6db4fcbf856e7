//! JSON values: as a tree to be built and changed, and as the bytes that rows, columns and packets of rows hold.
//!
//! | file | |
//! |---|---|
//! | `binary` | [`JsonRef`]: reading the stored form without taking it apart |
//! | `encode` | writing the stored form |
//! | `parse` | text to [`Json`], with the messages of MySQL's parser |
//! | `text` | values as MySQL prints them, JSON_PRETTY |
//! | `path` | path expressions: `$.a[0]`, `$**.b`, `$[last-1 to last]` |
//! | `change` | what JSON_SET, JSON_REMOVE, the merges do to a tree |
//! | `compare` | MySQL's order of JSON values, and the sort key that has the same order |
//!
//! ```text
//! stored = code value                         (all numbers little-endian; row format v2 keeps it as it is)
//!   01 object   count u32, bytes u32, count × (key offset u32, key length u16), count × entry, keys, values
//!   03 array    count u32, bytes u32, count × entry, values            entry = code, offset u32 (a literal stands in it)
//!   04 literal  00 null, 01 true, 02 false                             offsets count from the `count`
//!   09 i64      0a u64      0b f64      0c length uvarint, UTF-8       0d MySQL's type, length uvarint, bytes
//!   0e DATE     0f DATETIME 10 TIMESTAMP: packed fields u64            11 TIME: nanoseconds i64, fraction digits u32
//! ```
//!
//! The layout is TiDB's. A DECIMAL is an opaque value of type 246 whose bytes are precision, scale and digits, as MySQL stores it.
//!
//! Invariants:
//! - the keys of a stored object ascend byte by byte; a tree's and all that is printed go by length first, as MySQL shows them;
//! - nothing is nested deeper than [`MAX_DEPTH`];
//! - [`JsonRef`] never panics, whatever the bytes are: what is damaged reads as null. Bytes from disk are checked once, by [`validate`].

mod binary;
mod change;
mod compare;
mod encode;
mod error;
mod parse;
pub mod path;
#[cfg(test)]
mod tests;
mod text;

use std::cmp::Ordering;

pub use binary::{JsonRef, Scalar, validate};
pub use change::{Placement, merge_patch, merge_preserve};
pub use error::JsonError;
pub use parse::parse;
pub use path::JsonPath;
pub use text::{Unquoted, quote, unquote};

use crate::{
    decimal::Decimal,
    time::{Duration, Time, TimeKind},
};

/// Arrays and objects within each other; a scalar alone has depth 1.
pub const MAX_DEPTH: usize = 100;
/// Most bytes of a key.
pub const MAX_KEY_BYTES: usize = u16::MAX as usize;

/// MySQL's number of DECIMAL, the type of opaque values that are numbers.
const OPAQUE_DECIMAL: u8 = 246;

/// A JSON value as a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`, which is not SQL's NULL.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer that was unsigned.
    UInt(u64),
    /// A number with fraction or exponent.
    Double(f64),
    /// A number that was a DECIMAL.
    Decimal(Decimal),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object: keys in MySQL's order, each once.
    Object(Vec<(String, Json)>),
    /// A value that was a DATE, DATETIME or TIMESTAMP.
    Time(Time),
    /// A value that was a TIME.
    Duration(Duration),
    /// A value of another type of MySQL: byte strings, BIT.
    Opaque {
        /// The type's number in the protocol.
        mysql_type: u8,
        /// The value.
        bytes: Vec<u8>,
    },
}

/// What JSON_TYPE tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean,
    /// A signed integer.
    Integer,
    /// An unsigned integer.
    UnsignedInteger,
    /// A double.
    Double,
    /// A DECIMAL.
    Decimal,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
    /// A DATE.
    Date,
    /// A DATETIME or TIMESTAMP.
    DateTime,
    /// A TIME.
    Time,
    /// A byte string.
    Blob,
    /// A BIT.
    Bit,
    /// Any other type.
    Opaque,
}

impl JsonKind {
    /// What JSON_TYPE says.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Boolean => "BOOLEAN",
            Self::Integer => "INTEGER",
            Self::UnsignedInteger => "UNSIGNED INTEGER",
            Self::Double => "DOUBLE",
            Self::Decimal => "DECIMAL",
            Self::String => "STRING",
            Self::Array => "ARRAY",
            Self::Object => "OBJECT",
            Self::Date => "DATE",
            Self::DateTime => "DATETIME",
            Self::Time => "TIME",
            Self::Blob => "BLOB",
            Self::Bit => "BIT",
            Self::Opaque => "OPAQUE",
        }
    }

    /// The kind of an opaque value of a type.
    fn of_opaque(mysql_type: u8) -> Self {
        match mysql_type {
            OPAQUE_DECIMAL => Self::Decimal,
            16 => Self::Bit,
            15 | 249..=254 => Self::Blob,
            _ => Self::Opaque,
        }
    }

    /// The kind of a date.
    fn of_time(kind: TimeKind) -> Self {
        if kind == TimeKind::Date { Self::Date } else { Self::DateTime }
    }
}

/// MySQL's order of keys: shorter ones first.
pub(crate) fn key_order(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Json {
    /// A string.
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    /// An object of members in any order; of equal keys the last counts.
    pub fn object(members: Vec<(String, Json)>) -> Self {
        let mut sorted: Vec<(String, Json)> = Vec::with_capacity(members.len());
        let mut members = members;
        members.sort_by(|a, b| key_order(&a.0, &b.0));
        for member in members {
            match sorted.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => sorted.push(member),
            }
        }
        Self::Object(sorted)
    }

    /// What JSON_TYPE tells apart.
    pub fn kind(&self) -> JsonKind {
        match self {
            Self::Null => JsonKind::Null,
            Self::Bool(_) => JsonKind::Boolean,
            Self::Int(_) => JsonKind::Integer,
            Self::UInt(_) => JsonKind::UnsignedInteger,
            Self::Double(_) => JsonKind::Double,
            Self::Decimal(_) => JsonKind::Decimal,
            Self::String(_) => JsonKind::String,
            Self::Array(_) => JsonKind::Array,
            Self::Object(_) => JsonKind::Object,
            Self::Time(time) => JsonKind::of_time(time.kind()),
            Self::Duration(_) => JsonKind::Time,
            Self::Opaque { mysql_type, .. } => JsonKind::of_opaque(*mysql_type),
        }
    }

    /// Arrays and objects within each other; 1 for a scalar and for an empty array or object.
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 1,
        }
    }

    /// The value in its stored form.
    ///
    /// # Errors
    /// [`JsonError::TooDeep`], [`JsonError::KeyTooLong`], [`JsonError::TooBig`].
    pub fn to_binary(&self) -> Result<Vec<u8>, JsonError> {
        let mut out = Vec::new();
        encode::encode(self, &mut out)?;
        Ok(out)
    }

    /// The member of an object.
    pub fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Self::Object(members) => members.binary_search_by(|(name, _)| key_order(name, key)).ok().map(|at| &members[at].1),
            _ => None,
        }
    }

    /// Puts a member into an object, in the place of one of the same key; other values stay as they are.
    pub fn set_member(&mut self, key: &str, value: Json) {
        if let Self::Object(members) = self {
            match members.binary_search_by(|(name, _)| key_order(name, key)) {
                Ok(at) => members[at].1 = value,
                Err(at) => members.insert(at, (key.to_owned(), value)),
            }
        }
    }
}
