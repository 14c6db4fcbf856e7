//! Conversion of one value to another type, as CAST and as operands need it.
//!
//! [`types::convert::cast`](types::convert::cast()) says what becomes of a value. This module adds what depends on the
//! statement: which odd dates are accepted, today's date for a TIME that becomes a date, and that warnings are errors where
//! the statement changes data in strict mode.

use types::convert::ConvertMode;
use types::time::{FSP_UNIT, MICROS_PER_SECOND};
use types::{Datum, DatumRef, Decimal, EvalType, FieldType, Time, TimeKind};

use crate::context::{EvalCtx, SqlMode};
use crate::error::{Error, Result};

/// A number as DOUBLE, without warnings; temporal values as their digits.
pub(crate) fn real(value: DatumRef<'_>) -> f64 {
    match value {
        DatumRef::Bytes(text) => types::convert::numeric::double_prefix(text).value,
        DatumRef::Time(v) => v.to_decimal().to_f64(),
        DatumRef::Duration(v) => v.to_decimal().to_f64(),
        number => number.number().unwrap_or(0.0),
    }
}

/// An exact number as DECIMAL, without warnings.
pub(crate) fn exact(value: DatumRef<'_>) -> Decimal {
    match value {
        DatumRef::Decimal(v) => *v,
        DatumRef::Int(v) => Decimal::from_i64(v),
        DatumRef::UInt(v) => Decimal::from_u64(v),
        DatumRef::Time(v) => v.to_decimal(),
        DatumRef::Duration(v) => v.to_decimal(),
        DatumRef::Bytes(text) => Decimal::parse_prefix(text).value,
        DatumRef::Float(_) | DatumRef::Double(_) => Decimal::from_f64(real(value)).unwrap_or_default(),
        DatumRef::Null => Decimal::ZERO,
    }
}

/// Converts a value of type `from` to type `to`.
///
/// # Errors
/// Values that do not convert, in a strict data change.
pub(crate) fn cast(value: DatumRef<'_>, from: &FieldType, to: &FieldType, ctx: &EvalCtx) -> Result<Datum> {
    if to.tp.eval_type() == EvalType::Json {
        return Err(Error::NotSupported { feature: "JSON".into() });
    }
    let has = |mode| ctx.sql_mode.contains(mode);
    let mode = ConvertMode {
        strict: false,
        no_zero_date: has(SqlMode::NO_ZERO_DATE),
        // Dates with a zero month or day are refused by columns only: MONTH('2008-00-00') is 0.
        no_zero_in_date: false,
        allow_invalid_dates: has(SqlMode::ALLOW_INVALID_DATES),
        // Only a TIME that becomes a date asks for today.
        today: matches!(value, DatumRef::Duration(_)).then(|| local_now(ctx, 0).with_kind(TimeKind::Date, 0)),
    };
    let mut refused = None;
    let converted = types::convert::cast(value, from, to, mode, &ctx.time_zone, &mut |error| {
        if ctx.is_strict() {
            refused.get_or_insert(error);
        } else {
            ctx.warn(error.code(), error.message());
        }
    })?;
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(converted),
    }
}

/// Converts a value whose type is only known from itself.
pub(crate) fn to_class(value: Datum, to: &FieldType, ctx: &EvalCtx) -> Result<Datum> {
    let from = type_of(&value);
    if from.tp.eval_type() == to.tp.eval_type() && from.unsigned == to.unsigned {
        return Ok(value);
    }
    cast(value.as_ref(), &from, to, ctx)
}

fn type_of(value: &Datum) -> FieldType {
    match value {
        Datum::Null => FieldType::null(),
        Datum::Int(_) => FieldType::bigint(),
        Datum::UInt(_) => FieldType::unsigned_bigint(),
        Datum::Float(_) => FieldType::float(),
        Datum::Double(_) => FieldType::double(),
        Datum::Decimal(d) => FieldType::decimal(types::decimal::MAX_PRECISION, d.scale()),
        Datum::Bytes(_) => FieldType::longtext(),
        Datum::Time(t) => match t.kind() {
            TimeKind::Date => FieldType::date(),
            TimeKind::DateTime => FieldType::datetime(t.fsp()),
            TimeKind::Timestamp => FieldType::timestamp(t.fsp()),
        },
        Datum::Duration(d) => FieldType::time(d.fsp()),
    }
}

/// The statement's time as local time, cut off behind `fsp` digits.
pub(crate) fn local_now(ctx: &EvalCtx, fsp: u8) -> Time {
    let micros = ctx.now_micros + i64::from(ctx.time_zone.offset_at(ctx.now_micros)) * MICROS_PER_SECOND;
    let unit = i64::from(FSP_UNIT[usize::from(fsp.min(6))]);
    let cut = Time::from_unix_micros(micros - micros.rem_euclid(unit), TimeKind::DateTime, fsp);
    cut.unwrap_or_else(|| Time::zero(TimeKind::DateTime, fsp))
}
