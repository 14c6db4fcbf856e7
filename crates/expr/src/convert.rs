//! Conversion of one value to another type: CAST, CONVERT and the implicit conversions of operands.
//!
//! | to \ from | number | string | temporal |
//! |---|---|---|---|
//! | BIGINT | rounded; saturates with warning 1292 | leading digits, else warning 1292 | `YYYYMMDDhhmmss`, rounded |
//! | DECIMAL, DOUBLE | nearest | longest numeric prefix, else warning 1292 | as above with fraction |
//! | string | as printed | cut to the length with warning 1292 | as printed, TIMESTAMP in the session's zone |
//! | temporal | digits read as a date or time | parsed; NULL with warning 1292 if it is none | the other part from today or dropped |
//!
//! Where a statement changes data in strict mode, the warnings are errors. A TIMESTAMP holds UTC and is turned into local
//! time before anything else looks at it.

use std::borrow::Cow;

use types::time::{FSP_UNIT, MICROS_PER_SECOND, ParsedDuration, ParsedTime, TimeError};
use types::{Collation, DateMode, Datum, DatumRef, Decimal, Duration, EvalType, FieldType, Time, TimeKind, TypeKind};

use crate::context::{EvalCtx, SqlMode};
use crate::error::{Error, Result};
use crate::functions::string::chars;

/// Warns that only part of a value was usable, or fails in a strict data change (1292).
fn truncated(ctx: &EvalCtx, kind: &'static str, value: &[u8]) -> Result<()> {
    let value = String::from_utf8_lossy(value).into_owned();
    if ctx.is_strict() {
        return Err(Error::TruncatedWrongValue { kind, value });
    }
    ctx.warn(1292, format!("Truncated incorrect {kind} value: '{value}'"));
    Ok(())
}

/// Warns that a value is no temporal value, or fails in a strict data change (1292).
fn incorrect(ctx: &EvalCtx, kind: &'static str, value: &[u8]) -> Result<()> {
    let value = String::from_utf8_lossy(value).into_owned();
    if ctx.is_strict() {
        return Err(Error::IncorrectValue { kind, value });
    }
    ctx.warn(1292, format!("Incorrect {kind} value: '{value}'"));
    Ok(())
}

/// Length of the longest prefix that is a number, leading spaces included.
fn numeric_prefix(text: &[u8]) -> usize {
    let spaces = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = spaces + usize::from(matches!(text.get(spaces), Some(b'+' | b'-')));
    let int = digits(at);
    at += int;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if int + fraction == 0 {
        return 0;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// The number a text begins with, 0 if it begins with none.
pub(crate) fn numeric_prefix_value(text: &[u8]) -> f64 {
    let prefix = &text[..numeric_prefix(text)];
    let value = std::str::from_utf8(prefix).ok().and_then(|t| t.trim_start().parse::<f64>().ok()).unwrap_or(0.0);
    value.clamp(f64::MIN, f64::MAX)
}

/// A number as DOUBLE, without warnings; temporal values as their digits.
pub(crate) fn real(value: DatumRef<'_>) -> f64 {
    match value {
        DatumRef::Double(v) => v,
        DatumRef::Int(v) => v as f64,
        DatumRef::UInt(v) => v as f64,
        DatumRef::Float(v) => f64::from(v),
        DatumRef::Decimal(v) => v.to_f64(),
        DatumRef::Bytes(text) => numeric_prefix_value(text),
        DatumRef::Time(v) => v.to_decimal().to_f64(),
        DatumRef::Duration(v) => v.to_decimal().to_f64(),
        DatumRef::Null => 0.0,
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

/// Converts a value of type `from` to type `to`. `explicit` is a CAST that the statement says: it fits values to the
/// target's length and precision, and judges dates by `sql_mode`.
///
/// # Errors
/// Values that do not convert, in a strict data change.
pub(crate) fn cast(value: DatumRef<'_>, from: &FieldType, to: &FieldType, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let value = match value {
        DatumRef::Null => return Ok(Datum::Null),
        DatumRef::Time(t) if t.kind() == TimeKind::Timestamp && to.tp != TypeKind::Timestamp => DatumRef::Time(t.to_zone(&ctx.time_zone)),
        other => other,
    };
    // ENUM and SET travel as numbers and count as strings.
    let named = matches!(from.tp, TypeKind::Enum | TypeKind::Set) && matches!(value, DatumRef::UInt(_));
    match to.tp.eval_type() {
        EvalType::Int if to.tp == TypeKind::Year => to_year(value, ctx),
        EvalType::Int => to_int(value, to.unsigned, explicit, ctx),
        EvalType::Real if to.tp == TypeKind::Float => Ok(Datum::Float(to_real(value, ctx)? as f32)),
        EvalType::Real => Ok(Datum::Double(to_real(value, ctx)?)),
        EvalType::Decimal => to_decimal(value, to, explicit, ctx),
        EvalType::Time if named => to_time(DatumRef::Bytes(&value.to_text(from)), to, explicit, ctx),
        EvalType::Time => to_time(value, to, explicit, ctx),
        EvalType::Duration if named => to_duration(DatumRef::Bytes(&value.to_text(from)), to, ctx),
        EvalType::Duration => to_duration(value, to, ctx),
        EvalType::String => to_string(value, from, to, explicit, ctx),
        EvalType::Json => Err(Error::NotSupported { feature: "JSON".into() }),
    }
}

/// Converts a value whose type is only known from itself.
pub(crate) fn to_class(value: Datum, to: &FieldType, ctx: &EvalCtx) -> Result<Datum> {
    let from = type_of(&value);
    if from.tp.eval_type() == to.tp.eval_type() && from.tp.eval_type() != EvalType::Int {
        return Ok(value);
    }
    cast(value.as_ref(), &from, to, false, ctx)
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

fn signed_or_not(bits: u64, unsigned: bool) -> Datum {
    if unsigned { Datum::UInt(bits) } else { Datum::Int(bits as i64) }
}

fn to_int(value: DatumRef<'_>, unsigned: bool, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    match value {
        DatumRef::Int(v) => Ok(signed_or_not(v as u64, unsigned)),
        DatumRef::UInt(v) => Ok(signed_or_not(v, unsigned)),
        DatumRef::Float(_) | DatumRef::Double(_) => real_to_int(real(value), unsigned, ctx),
        DatumRef::Decimal(d) => decimal_to_int(d, unsigned, ctx),
        DatumRef::Bytes(text) => text_to_int(text, unsigned, explicit, ctx),
        DatumRef::Time(t) => Ok(signed_or_not(t.round_to_fsp(0).unwrap_or(t).to_i64() as u64, unsigned)),
        DatumRef::Duration(d) => Ok(signed_or_not(d.round_to_fsp(0).to_i64() as u64, unsigned)),
        DatumRef::Null => Ok(Datum::Null),
    }
}

fn real_to_int(value: f64, unsigned: bool, ctx: &EvalCtx) -> Result<Datum> {
    let rounded = value.round_ties_even();
    if unsigned && rounded >= 9_223_372_036_854_775_808.0 {
        if rounded >= 18_446_744_073_709_551_616.0 {
            truncated(ctx, "INTEGER", real_text(value).as_bytes())?;
        }
        return Ok(Datum::UInt(rounded as u64));
    }
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
        truncated(ctx, "INTEGER", real_text(value).as_bytes())?;
    }
    Ok(signed_or_not(rounded as i64 as u64, unsigned))
}

fn real_text(value: f64) -> String {
    let mut out = Vec::new();
    types::text::write_f64(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn decimal_to_int(d: &Decimal, unsigned: bool, ctx: &EvalCtx) -> Result<Datum> {
    if unsigned && !d.is_negative() {
        return match d.to_u64() {
            Ok(v) => Ok(Datum::UInt(v)),
            Err(nearest) => truncated(ctx, "DECIMAL", d.to_string().as_bytes()).map(|()| Datum::UInt(nearest)),
        };
    }
    match d.to_i64() {
        Ok(v) => Ok(signed_or_not(v as u64, unsigned)),
        Err(nearest) => truncated(ctx, "DECIMAL", d.to_string().as_bytes()).map(|()| signed_or_not(nearest as u64, unsigned)),
    }
}

/// Leading digits alone count: the text of a number with a fraction is cut, not rounded.
fn text_to_int(text: &[u8], unsigned: bool, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let start = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let signed_len = usize::from(matches!(text.get(start), Some(b'+' | b'-')));
    let negative = text.get(start) == Some(&b'-');
    let digits = text[start + signed_len..].iter().take_while(|b| b.is_ascii_digit()).count();
    let end = start + signed_len + digits;
    let mut magnitude = 0u64;
    let mut overflow = false;
    for digit in &text[start + signed_len..end] {
        match magnitude.checked_mul(10).and_then(|m| m.checked_add(u64::from(digit - b'0'))) {
            Some(m) => magnitude = m,
            None => {
                overflow = true;
                break;
            }
        }
    }
    let rest_is_space = text[end..].iter().all(u8::is_ascii_whitespace);
    if negative {
        let too_low = overflow || magnitude > 1 << 63;
        if too_low || digits == 0 || !rest_is_space {
            truncated(ctx, "INTEGER", text)?;
        }
        let value = if too_low { i64::MIN } else { (magnitude as i64).wrapping_neg() };
        if unsigned && explicit && value != 0 {
            ctx.warn(1105, "Cast to unsigned converted negative integer to it's positive complement");
        }
        return Ok(signed_or_not(value as u64, unsigned));
    }
    if overflow || digits == 0 || !rest_is_space {
        truncated(ctx, "INTEGER", text)?;
    }
    if overflow {
        magnitude = u64::MAX;
    }
    if !unsigned && magnitude > i64::MAX as u64 {
        if overflow || !explicit {
            return Ok(Datum::Int(if explicit { -1 } else { i64::MAX }));
        }
        ctx.warn(1105, "Cast to signed converted positive out-of-range integer to it's negative complement");
    }
    Ok(signed_or_not(magnitude, unsigned))
}

fn to_real(value: DatumRef<'_>, ctx: &EvalCtx) -> Result<f64> {
    if let DatumRef::Bytes(text) = value {
        let used = numeric_prefix(text);
        let parsed = numeric_prefix_value(text);
        let out_of_range = parsed == f64::MAX || parsed == f64::MIN;
        if used == 0 || out_of_range || !text[used..].iter().all(u8::is_ascii_whitespace) {
            truncated(ctx, "DOUBLE", text)?;
        }
        return Ok(parsed);
    }
    Ok(real(value))
}

fn to_decimal(value: DatumRef<'_>, to: &FieldType, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let decimal = match value {
        DatumRef::Bytes(text) => {
            let parsed = Decimal::parse_prefix(text);
            if parsed.used == 0 || parsed.overflow || !text[parsed.used..].iter().all(u8::is_ascii_whitespace) {
                truncated(ctx, "DECIMAL", text)?;
            }
            parsed.value
        }
        DatumRef::Float(_) | DatumRef::Double(_) => match Decimal::from_f64(real(value)) {
            Ok(decimal) => decimal,
            Err(_) => {
                truncated(ctx, "DECIMAL", real_text(real(value)).as_bytes())?;
                let max = Decimal::max_value(types::decimal::MAX_PRECISION, 0);
                if real(value) < 0.0 { max.neg() } else { max }
            }
        },
        _ => exact(value),
    };
    let scale = to.decimal.clamp(0, 30) as u8;
    if !explicit {
        // An operand keeps its digits; the type's scale is only an upper bound where the source has none of its own.
        let keeps = matches!(value, DatumRef::Bytes(_) | DatumRef::Float(_) | DatumRef::Double(_)) && scale == 30;
        return Ok(Datum::Decimal(if keeps { decimal } else { decimal.at_scale(scale) }));
    }
    let precision = if to.flen < 0 { 10 } else { to.flen.min(65) as u8 };
    match decimal.fit(precision, scale) {
        Ok(fitted) => Ok(Datum::Decimal(fitted)),
        Err(nearest) => {
            if ctx.is_strict() {
                return Err(Error::OutOfRange { kind: "DECIMAL", expression: decimal.to_string() });
            }
            ctx.warn(1264, format!("Out of range value for column 'CAST({decimal} AS DECIMAL({precision},{scale}))' at row 1"));
            Ok(Datum::Decimal(nearest))
        }
    }
}

fn to_string(value: DatumRef<'_>, from: &FieldType, to: &FieldType, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let text: Cow<'_, [u8]> = match value {
        DatumRef::Bytes(text) => Cow::Borrowed(text),
        _ => Cow::Owned(value.to_text(from)),
    };
    if !explicit || to.flen < 0 {
        return Ok(Datum::Bytes(text.into_owned()));
    }
    let binary = to.collation == Collation::Binary;
    let limit = to.flen as usize;
    let end = chars::offset(&text, limit, binary);
    let mut out = text[..end].to_vec();
    if end < text.len() {
        truncated(ctx, if binary { "BINARY" } else { "CHAR" }, &text)?;
    } else if to.tp == TypeKind::Binary && out.len() < limit {
        out.resize(limit, 0);
    }
    Ok(Datum::Bytes(out))
}

/// Which odd dates a conversion accepts: all that can be written down, unless a CAST is judged by `sql_mode`.
fn date_mode(ctx: &EvalCtx, explicit: bool) -> DateMode {
    DateMode {
        no_zero_date: explicit && ctx.sql_mode.contains(SqlMode::NO_ZERO_DATE),
        no_zero_in_date: explicit && ctx.sql_mode.contains(SqlMode::NO_ZERO_IN_DATE),
        allow_invalid_dates: ctx.sql_mode.contains(SqlMode::ALLOW_INVALID_DATES),
    }
}

/// Whole part and microseconds of a number that is read as a temporal value.
fn number_parts(value: DatumRef<'_>) -> Option<(i64, u32)> {
    match value {
        DatumRef::Int(v) => Some((v, 0)),
        DatumRef::UInt(v) => i64::try_from(v).ok().map(|v| (v, 0)),
        _ => {
            let scaled = exact(value).to_unscaled(6)?;
            let whole = i64::try_from(scaled / 1_000_000).ok()?;
            Some((whole, (scaled % 1_000_000).unsigned_abs() as u32))
        }
    }
}

/// The statement's time as local time.
pub(crate) fn local_now(ctx: &EvalCtx, fsp: u8) -> Time {
    let offset = i64::from(ctx.time_zone.offset_at(ctx.now_micros)) * MICROS_PER_SECOND;
    let micros = ctx.now_micros + offset;
    let unit = i64::from(FSP_UNIT[usize::from(fsp.min(6))]);
    Time::from_unix_micros(micros - micros.rem_euclid(unit), TimeKind::DateTime, fsp).unwrap_or_else(|| Time::zero(TimeKind::DateTime, fsp))
}

/// A text as a date and time of the kind, local if it names no offset.
pub(crate) fn parse_time(text: &[u8], kind: TimeKind, fsp: u8, mode: &DateMode, ctx: &EvalCtx) -> Result<Option<Time>> {
    let name = kind.name();
    let parsed: Option<ParsedTime> = Time::parse(text, kind, fsp, mode).ok();
    let Some(parsed) = parsed else {
        incorrect(ctx, name, text)?;
        return Ok(None);
    };
    if parsed.truncated {
        truncated(ctx, name, text)?;
    }
    let Some(offset) = parsed.offset else { return Ok(Some(parsed.time)) };
    let utc = parsed.time.unix_micros() - i64::from(offset) * MICROS_PER_SECOND;
    let local = utc + i64::from(ctx.time_zone.offset_at(utc)) * MICROS_PER_SECOND;
    Ok(Time::from_unix_micros(local, kind, fsp))
}

fn to_time(value: DatumRef<'_>, to: &FieldType, explicit: bool, ctx: &EvalCtx) -> Result<Datum> {
    let fsp = crate::result_type::fsp_of(to);
    let target = TimeKind::of(to.tp).unwrap_or(TimeKind::DateTime);
    // Local time first; a TIMESTAMP is made of it at the end.
    let kind = if target == TimeKind::Date { TimeKind::Date } else { TimeKind::DateTime };
    let mode = date_mode(ctx, explicit);
    let local = match value {
        DatumRef::Time(t) if target == TimeKind::Timestamp && t.kind() == TimeKind::Timestamp => return Ok(rounded(t, fsp)),
        DatumRef::Time(t) => Some(t.with_kind(kind, t.fsp())),
        DatumRef::Duration(d) => {
            let today = local_now(ctx, 0);
            let micros = d.micros();
            let day = today.day_number() + micros.div_euclid(types::time::MICROS_PER_DAY);
            Time::from_day_and_micros(day, micros.rem_euclid(types::time::MICROS_PER_DAY), kind, d.fsp())
        }
        DatumRef::Bytes(text) => parse_time(text, kind, fsp, &mode, ctx)?,
        _ => match number_parts(value).ok_or(TimeError::Invalid).and_then(|(n, micro)| Time::from_number(n, micro, kind, fsp, &mode)) {
            Ok(time) => Some(time),
            Err(_) => {
                incorrect(ctx, kind.name(), exact(value).to_string().as_bytes())?;
                None
            }
        },
    };
    let Some(local) = local else { return Ok(Datum::Null) };
    let local = rounded(local, fsp);
    match (target, local) {
        (TimeKind::Timestamp, Datum::Time(local)) => Ok(local.from_zone(&ctx.time_zone).map_or(Datum::Null, Datum::Time)),
        (_, local) => Ok(local),
    }
}

fn rounded(time: Time, fsp: u8) -> Datum {
    time.round_to_fsp(fsp).map_or(Datum::Null, Datum::Time)
}

fn to_duration(value: DatumRef<'_>, to: &FieldType, ctx: &EvalCtx) -> Result<Datum> {
    let fsp = crate::result_type::fsp_of(to);
    let checked = |parsed: std::result::Result<ParsedDuration, TimeError>, text: &[u8]| -> Result<Datum> {
        match parsed {
            Ok(parsed) => {
                if parsed.truncated || parsed.out_of_range {
                    truncated(ctx, "time", text)?;
                }
                Ok(Datum::Duration(parsed.duration))
            }
            Err(_) => incorrect(ctx, "time", text).map(|()| Datum::Null),
        }
    };
    match value {
        DatumRef::Duration(d) => Ok(Datum::Duration(d.round_to_fsp(fsp))),
        DatumRef::Time(t) => Ok(Datum::Duration(t.to_duration().round_to_fsp(fsp))),
        DatumRef::Bytes(text) => checked(Duration::parse(text, fsp), text),
        _ => {
            let text = exact(value).to_string();
            match number_parts(value) {
                Some((n, micro)) => checked(Duration::from_number(n, micro, fsp), text.as_bytes()),
                None => incorrect(ctx, "time", text.as_bytes()).map(|()| Datum::Null),
            }
        }
    }
}

/// YEAR: 1901 to 2155, or 0; 1 to 69 are 2001 to 2069 and 70 to 99 are 1970 to 1999.
fn to_year(value: DatumRef<'_>, ctx: &EvalCtx) -> Result<Datum> {
    let from_text = matches!(value, DatumRef::Bytes(_));
    let number = match value {
        DatumRef::Time(t) => i64::from(t.year()),
        DatumRef::Duration(_) => i64::from(local_now(ctx, 0).year()),
        _ => match to_int(value, false, false, ctx)? {
            Datum::Int(v) => v,
            _ => return Ok(Datum::Null),
        },
    };
    let year = match number {
        // The text '0' is the year 2000, the number 0 is the year 0000.
        0 if from_text && !matches!(value, DatumRef::Bytes(b"0000")) => 2000,
        0 => 0,
        1..=69 => 2000 + number,
        70..=99 => 1900 + number,
        1901..=2155 => number,
        _ => {
            truncated(ctx, "YEAR", number.to_string().as_bytes())?;
            return Ok(Datum::Null);
        }
    };
    Ok(Datum::Int(year))
}
