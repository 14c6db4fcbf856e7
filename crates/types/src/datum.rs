//! A single value: owned ([`Datum`]) or borrowed from a column ([`DatumRef`]).
//!
//! | SQL type | variant |
//! |---|---|
//! | TINYINT to BIGINT, YEAR | `Int` |
//! | unsigned integers, BIT; ENUM and SET by their number | `UInt` |
//! | FLOAT, DOUBLE | `Float`, `Double` |
//! | DECIMAL | `Decimal` |
//! | text and byte strings | `Bytes` |
//! | DATE, DATETIME, TIMESTAMP (in UTC) | `Time` |
//! | TIME | `Duration` |
//! | JSON | `Json`, in its stored form |
//!
//! `PartialEq` is identity of variant and value, not SQL's comparison; that is [`DatumRef::compare`].

use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
};

use crate::{
    collation::Collation,
    decimal::Decimal,
    json::JsonRef,
    time::{Duration, Time},
};

/// A value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// SQL NULL.
    #[default]
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// Text or a byte string.
    Bytes(Vec<u8>),
    /// DATE, DATETIME or TIMESTAMP.
    Time(Time),
    /// TIME.
    Duration(Duration),
    /// JSON in its stored form; see [`crate::json`].
    Json(Vec<u8>),
}

/// A value borrowed from where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DatumRef<'a> {
    /// SQL NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL.
    Decimal(&'a Decimal),
    /// Text or a byte string.
    Bytes(&'a [u8]),
    /// DATE, DATETIME or TIMESTAMP.
    Time(Time),
    /// TIME.
    Duration(Duration),
    /// JSON in its stored form; see [`crate::json`].
    Json(&'a [u8]),
}

impl Datum {
    /// The value, borrowed.
    #[inline]
    pub fn as_ref(&self) -> DatumRef<'_> {
        match self {
            Self::Null => DatumRef::Null,
            Self::Int(value) => DatumRef::Int(*value),
            Self::UInt(value) => DatumRef::UInt(*value),
            Self::Float(value) => DatumRef::Float(*value),
            Self::Double(value) => DatumRef::Double(*value),
            Self::Decimal(value) => DatumRef::Decimal(value),
            Self::Bytes(value) => DatumRef::Bytes(value),
            Self::Time(value) => DatumRef::Time(*value),
            Self::Duration(value) => DatumRef::Duration(*value),
            Self::Json(value) => DatumRef::Json(value),
        }
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The bytes of a string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The integer, when it is one that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::UInt(value) => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// The integer, when it is one that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Int(value) => u64::try_from(*value).ok(),
            Self::UInt(value) => Some(*value),
            _ => None,
        }
    }

    /// Orders two values of one family; see [`DatumRef::compare`].
    #[inline]
    pub fn compare(&self, other: &Self, collation: Collation) -> Ordering {
        self.as_ref().compare(other.as_ref(), collation)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Json(bytes) => bytes.capacity(),
            _ => 0,
        }
    }
}

impl<'a> DatumRef<'a> {
    /// A copy that owns what it holds.
    pub fn to_owned(self) -> Datum {
        match self {
            Self::Null => Datum::Null,
            Self::Int(value) => Datum::Int(value),
            Self::UInt(value) => Datum::UInt(value),
            Self::Float(value) => Datum::Float(value),
            Self::Double(value) => Datum::Double(value),
            Self::Decimal(value) => Datum::Decimal(*value),
            Self::Bytes(value) => Datum::Bytes(value.to_vec()),
            Self::Time(value) => Datum::Time(value),
            Self::Duration(value) => Datum::Duration(value),
            Self::Json(value) => Datum::Json(value.to_vec()),
        }
    }

    /// Whether it is NULL.
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Orders two values of one family of types (numbers among each other, strings, dates, times); NULL is smaller than all else.
    ///
    /// Values of different families have an order too, so that nothing depends on luck, but not SQL's: expressions convert before they compare.
    #[inline]
    pub fn compare(self, other: DatumRef<'_>, collation: Collation) -> Ordering {
        match (self, other) {
            (Self::Int(a), DatumRef::Int(b)) => a.cmp(&b),
            (Self::Bytes(a), DatumRef::Bytes(b)) => collation.compare(a, b),
            (Self::UInt(a), DatumRef::UInt(b)) => a.cmp(&b),
            (Self::Null, DatumRef::Null) => Ordering::Equal,
            (Self::Decimal(a), DatumRef::Decimal(b)) => a.cmp(b),
            (Self::Time(a), DatumRef::Time(b)) => a.cmp(&b),
            (Self::Duration(a), DatumRef::Duration(b)) => a.cmp(&b),
            (Self::Json(a), DatumRef::Json(b)) => JsonRef::new(a).compare(&JsonRef::new(b)),
            _ => self.compare_mixed(other),
        }
    }

    fn compare_mixed(self, other: DatumRef<'_>) -> Ordering {
        let decimal = |value: DatumRef<'_>| match value {
            DatumRef::Int(v) => Some(Decimal::from_i64(v)),
            DatumRef::UInt(v) => Some(Decimal::from_u64(v)),
            DatumRef::Decimal(v) => Some(*v),
            _ => None,
        };
        if let (Some(a), Some(b)) = (decimal(self), decimal(other)) {
            return a.cmp(&b);
        }
        match (self.number(), other.number()) {
            // NaN cannot be stored; total_cmp keeps the order total should one come by.
            (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b)),
            _ => self.family().cmp(&other.family()),
        }
    }

    /// The value of a number as a double; `None` for all else.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(value as f64),
            Self::UInt(value) => Some(value as f64),
            Self::Float(value) => Some(f64::from(value)),
            Self::Double(value) => Some(value),
            Self::Decimal(value) => Some(value.to_f64()),
            _ => None,
        }
    }

    fn family(self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Int(_) | Self::UInt(_) | Self::Float(_) | Self::Double(_) | Self::Decimal(_) => 1,
            Self::Bytes(_) => 2,
            Self::Time(_) => 3,
            Self::Duration(_) => 4,
            Self::Json(_) => 5,
        }
    }

    /// Feeds a hasher so that values which [`compare`](Self::compare) as equal within one column type hash equally.
    #[inline]
    pub fn hash(self, collation: Collation, state: &mut impl Hasher) {
        match self {
            Self::Null => state.write_u8(0),
            Self::Int(value) => state.write_i64(value),
            Self::UInt(value) => state.write_u64(value),
            Self::Float(value) => state.write_u64(if value == 0.0 { 0 } else { f64::from(value).to_bits() }),
            Self::Double(value) => state.write_u64(if value == 0.0 { 0 } else { value.to_bits() }),
            Self::Decimal(value) => value.hash(state),
            Self::Bytes(value) => collation.hash(value, state),
            Self::Time(value) => value.hash(state),
            Self::Duration(value) => value.hash(state),
            Self::Json(value) => {
                let mut key = Vec::new();
                JsonRef::new(value).write_sort_key(&mut key);
                state.write(&key);
            }
        }
    }
}

impl<'a> From<&'a Datum> for DatumRef<'a> {
    fn from(datum: &'a Datum) -> Self {
        datum.as_ref()
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Datum {
    fn from(value: u64) -> Self {
        Self::UInt(value)
    }
}

impl From<f64> for Datum {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl From<Decimal> for Datum {
    fn from(value: Decimal) -> Self {
        Self::Decimal(value)
    }
}

impl From<&str> for Datum {
    fn from(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

impl From<String> for Datum {
    fn from(value: String) -> Self {
        Self::Bytes(value.into_bytes())
    }
}

impl From<Time> for Datum {
    fn from(value: Time) -> Self {
        Self::Time(value)
    }
}

impl From<Duration> for Datum {
    fn from(value: Duration) -> Self {
        Self::Duration(value)
    }
}

impl From<bool> for Datum {
    fn from(value: bool) -> Self {
        Self::Int(i64::from(value))
    }
}
