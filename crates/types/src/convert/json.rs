//! Values as JSON values, and back.
//!
//! A text becomes a JSON string here, whatever it holds; texts that are parsed are the business of [`store`](super::store()), of CAST and of the
//! JSON functions. Byte strings and BIT become opaque values.

use super::Conversion;
use crate::{
    datum::{Datum, DatumRef},
    error::Result,
    field_type::{EvalType, FieldType, TypeFlags, TypeKind},
    json::{self, Json, JsonError, JsonRef, Scalar},
    time::{TimeKind, TimeZone},
};

/// The JSON value that a value of another type is. A TIMESTAMP is shown in the zone's time; NULL is `null`.
pub fn to_json(datum: DatumRef<'_>, from: &FieldType, zone: &TimeZone) -> Json {
    match datum {
        DatumRef::Null => Json::Null,
        DatumRef::Int(value) if from.flags.contains(TypeFlags::TRUTH) => Json::Bool(value != 0),
        DatumRef::Int(value) => Json::Int(value),
        DatumRef::UInt(_) if from.tp == TypeKind::Bit => Json::Opaque { mysql_type: from.tp.mysql_type(), bytes: datum.to_text(from) },
        DatumRef::UInt(_) if matches!(from.tp, TypeKind::Enum | TypeKind::Set) => text(datum.to_text(from)),
        DatumRef::UInt(value) => Json::UInt(value),
        DatumRef::Float(value) => Json::Double(f64::from(value)),
        DatumRef::Double(value) => Json::Double(value),
        DatumRef::Decimal(value) => Json::Decimal(*value),
        DatumRef::Bytes(bytes) if !from.is_text() && from.tp != TypeKind::Null => {
            let mysql_type = if from.tp.is_string() { from.tp.mysql_type() } else { TypeKind::VarBinary.mysql_type() };
            Json::Opaque { mysql_type, bytes: bytes.to_vec() }
        }
        DatumRef::Bytes(bytes) => text(bytes.to_vec()),
        DatumRef::Time(value) if value.kind() == TimeKind::Timestamp => {
            Json::Time(value.to_zone(zone).with_kind(TimeKind::DateTime, value.fsp()))
        }
        DatumRef::Time(value) => Json::Time(value),
        DatumRef::Duration(value) => Json::Duration(value),
        DatumRef::Json(stored) => JsonRef::new(stored).to_json(),
    }
}

fn text(bytes: Vec<u8>) -> Json {
    Json::String(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The name of a type in messages about casts.
fn target(to: &FieldType) -> &'static str {
    match to.eval_type() {
        EvalType::Int => "INTEGER",
        EvalType::Real => "DOUBLE",
        EvalType::Decimal => "DECIMAL",
        EvalType::Time | EvalType::Duration => "DATE/TIME/DATETIME/TIMESTAMP",
        EvalType::String | EvalType::Json => "CHAR",
    }
}

/// The value a JSON value stands for where a value of another type is wanted: numbers, times and truth values are themselves, strings are
/// converted further, anything is a text.
///
/// # Errors
/// [`JsonError::Cast`] for arrays, objects and `null` that should be numbers or times.
pub fn of_json(stored: &[u8], to: &FieldType) -> Result<Datum, JsonError> {
    let json = JsonRef::new(stored);
    if to.eval_type() == EvalType::String {
        return Ok(Datum::Bytes(json.to_text()));
    }
    let temporal = to.tp.is_temporal();
    let refused = || JsonError::Cast { target: target(to), column: String::new(), row: 1 };
    match json.scalar() {
        Scalar::String(text) => {
            let is_number = super::numeric::double_prefix(text.as_bytes());
            if temporal || !(is_number.empty || is_number.rest) { Ok(Datum::from(text)) } else { Err(refused()) }
        }
        Scalar::Time(value) if temporal => Ok(Datum::Time(value)),
        Scalar::Duration(value) if temporal => Ok(Datum::Duration(value)),
        Scalar::Int(value) if !temporal => Ok(Datum::Int(value)),
        Scalar::UInt(value) if !temporal => Ok(Datum::UInt(value)),
        Scalar::Double(value) if !temporal => Ok(Datum::Double(value)),
        Scalar::Decimal(value) if !temporal => Ok(Datum::Decimal(value)),
        Scalar::Bool(value) if !temporal => Ok(Datum::from(value)),
        _ => Err(refused()),
    }
}

impl Conversion<'_> {
    /// A value on its way into a JSON column: texts are parsed, whatever the SQL mode.
    pub(super) fn store_json(&mut self, datum: Datum, ty: &FieldType) -> Result<Datum> {
        let json = match &datum {
            Datum::Null | Datum::Json(_) => return Ok(datum),
            Datum::Bytes(text) if std::str::from_utf8(text).is_err() => return Err(JsonError::Charset { charset: "binary" }.into()),
            Datum::Bytes(text) => json::parse(text)?,
            other => to_json(other.as_ref(), ty, self.zone),
        };
        Ok(Datum::Json(json.to_binary()?))
    }
}
