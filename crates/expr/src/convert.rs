//! Conversion of one value to another type, as CAST and as operands need it.
//!
//! [`types::convert::cast`](types::convert::cast()) says what becomes of a value. This module adds what depends on the
//! statement: which odd dates are accepted, today's date for a TIME that becomes a date, and that warnings are errors where
//! the statement changes data in strict mode.

use types::convert::ConvertMode;
use types::time::{FSP_UNIT, MICROS_PER_SECOND};
use types::{Datum, DatumRef, Decimal, FieldType, Time, TimeKind, TypeKind};

use crate::context::{EvalCtx, SqlMode};
use crate::error::Result;
use crate::expr::{Expr, Func};

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
        DatumRef::Null | DatumRef::Json(_) => Decimal::ZERO,
    }
}

/// Converts a value of type `from` to type `to`.
///
/// # Errors
/// Values that do not convert, in a strict data change.
pub(crate) fn cast(value: DatumRef<'_>, from: &FieldType, to: &FieldType, ctx: &EvalCtx) -> Result<Datum> {
    cast_named(value, from, to, ctx, "")
}

fn cast_named(value: DatumRef<'_>, from: &FieldType, to: &FieldType, ctx: &EvalCtx, name: &str) -> Result<Datum> {
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
        let error = error.at_column(name, 1);
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

/// The value of an operand as a CAST makes it; what JSON has to do with is different for casts that are written and those an operation needs.
///
/// # Errors
/// As [`cast`]; texts that are not JSON.
pub(crate) fn cast_operand(value: DatumRef<'_>, arg: &Expr, to: &FieldType, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let from = arg.field_type();
    match (value, to.tp) {
        (DatumRef::Json(stored), TypeKind::Json) => Ok(Datum::Json(stored.to_vec())),
        (DatumRef::Bytes(text), TypeKind::Json) if explicit && from.is_text() => {
            let json = types::json::parse(text).map_err(|error| error.in_argument(1, "cast_as_json"))?;
            Ok(Datum::Json(json.to_binary()?))
        }
        (DatumRef::Json(_), _) => cast_named(value, from, to, ctx, &operand_name(arg)),
        _ => cast(value, from, to, ctx),
    }
}

/// The name by which messages about casts of JSON values call an operand.
fn operand_name(arg: &Expr) -> String {
    match arg {
        Expr::Column { name: Some(name), .. } => name.rsplit('.').next().unwrap_or_default().to_owned(),
        Expr::Call(call) if matches!(call.func, Func::Cast { .. }) => "cast_as_json".to_owned(),
        Expr::Call(call) => call.func.name().to_owned(),
        // A constant was a cast before it was evaluated.
        _ => "cast_as_json".to_owned(),
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
        Datum::Json(_) => FieldType::new(types::TypeKind::Json),
    }
}

/// The statement's time as local time, cut off behind `fsp` digits.
pub(crate) fn local_now(ctx: &EvalCtx, fsp: u8) -> Time {
    let micros = ctx.now_micros + i64::from(ctx.time_zone.offset_at(ctx.now_micros)) * MICROS_PER_SECOND;
    let unit = i64::from(FSP_UNIT[usize::from(fsp.min(6))]);
    let cut = Time::from_unix_micros(micros - micros.rem_euclid(unit), TimeKind::DateTime, fsp);
    cut.unwrap_or_else(|| Time::zero(TimeKind::DateTime, fsp))
}
