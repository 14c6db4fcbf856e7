//! What CAST does, and what happens to operands whose types differ.

use super::{
    Conversion, ConvertMode,
    numeric::{self, decimal_prefix, double_prefix, integer_prefix},
    shown,
    store_time::number_parts,
};
use crate::{
    charset::Charset,
    datum::{Datum, DatumRef},
    decimal::Decimal,
    error::{Error, Result},
    field_type::{EvalType, FieldType, TypeKind, UNSPECIFIED},
    json::JsonRef,
    time::{Duration, Time, TimeError, TimeKind, TimeZone},
};

/// The value as another type.
///
/// What does not fit becomes the nearest value with a warning (1292); a text that is no date becomes NULL with a warning. Errors only for what
/// MySQL refuses in every mode.
pub fn cast(
    datum: DatumRef<'_>,
    from: &FieldType,
    to: &FieldType,
    mode: ConvertMode,
    zone: &TimeZone,
    warnings: &mut dyn FnMut(Error),
) -> Result<Datum> {
    let mut conversion = Conversion { mode, zone, warnings };
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    let plain = match datum {
        DatumRef::Json(json) if to.tp != TypeKind::Json => match super::of_json(json, to) {
            Ok(plain) => Some(plain),
            Err(error) => {
                conversion.warn(error.into());
                return Ok(if to.tp.is_numeric() { super::implicit_default(to) } else { Datum::Null });
            }
        },
        _ => None,
    };
    let datum = plain.as_ref().map_or(datum, Datum::as_ref);
    // ENUM and SET are texts wherever they are not numbers.
    let named = match (datum, from.tp) {
        (DatumRef::UInt(_), TypeKind::Enum | TypeKind::Set) if !to.tp.is_numeric() => Some(datum.to_text(from)),
        (DatumRef::UInt(_), TypeKind::Bit) if to.eval_type() == EvalType::String => Some(datum.to_text(from)),
        _ => None,
    };
    let datum = named.as_deref().map_or(datum, DatumRef::Bytes);
    Ok(match to.eval_type() {
        EvalType::Int if to.tp == TypeKind::Year => conversion.cast_year(datum),
        EvalType::Int if to.unsigned || to.tp == TypeKind::Bit => Datum::UInt(conversion.cast_unsigned(datum)),
        EvalType::Int => Datum::Int(conversion.cast_signed(datum)),
        EvalType::Real => conversion.cast_real(datum, to),
        EvalType::Decimal => Datum::Decimal(conversion.cast_decimal(datum, to)),
        EvalType::Time => conversion.cast_date(datum, to),
        EvalType::Duration => conversion.cast_duration(datum, to),
        EvalType::String => conversion.cast_text(datum, from, to),
        EvalType::Json => Datum::Json(super::to_json(datum, from, zone).to_binary()?),
    })
}

/// The number 0 as JSON.
const ZERO: [u8; 9] = [0x09, 0, 0, 0, 0, 0, 0, 0, 0];

/// Whether a value is true: a number other than zero; a text by the number at its front. `None` for NULL.
pub fn to_bool(datum: DatumRef<'_>) -> Option<bool> {
    match datum {
        DatumRef::Null => None,
        DatumRef::Int(value) => Some(value != 0),
        DatumRef::UInt(value) => Some(value != 0),
        DatumRef::Float(value) => Some(value != 0.0),
        DatumRef::Double(value) => Some(value != 0.0),
        DatumRef::Decimal(value) => Some(!value.is_zero()),
        DatumRef::Bytes(text) => Some(double_prefix(text).value != 0.0),
        DatumRef::Time(value) => Some(!value.is_zero()),
        DatumRef::Duration(value) => Some(value.micros() != 0),
        // What is not the number 0 is true.
        DatumRef::Json(json) => Some(JsonRef::new(json).compare(&JsonRef::new(&ZERO)).is_ne()),
    }
}

impl Conversion<'_> {
    fn warn_truncated(&mut self, kind: &'static str, text: &[u8]) {
        self.warn(Error::TruncatedIncorrect { kind, value: shown(text) });
    }

    fn warn_number(&mut self, kind: &'static str, number: DatumRef<'_>) {
        let text = self.text_of(number);
        self.warn_truncated(kind, &text);
    }

    fn cast_signed(&mut self, datum: DatumRef<'_>) -> i64 {
        let result = match datum {
            DatumRef::Null => Ok(0),
            DatumRef::Int(value) => Ok(value),
            DatumRef::UInt(value) => Ok(value as i64),
            DatumRef::Float(value) => numeric::double_to_i64(f64::from(value)),
            DatumRef::Double(value) => numeric::double_to_i64(value),
            DatumRef::Decimal(value) => value.to_i64(),
            DatumRef::Time(value) => self.local_rounded(value).to_decimal().to_i64(),
            DatumRef::Duration(value) => Ok(value.round_to_fsp(0).to_i64()),
            // Converted from what it holds: `cast` begins with that.
            DatumRef::Json(_) => Err(0),
            DatumRef::Bytes(text) => {
                let prefix = integer_prefix(text);
                if prefix.empty || prefix.rest || prefix.overflow {
                    self.warn_truncated("INTEGER", text);
                }
                // Texts above the signed range wrap around, as unsigned numbers do.
                return prefix.value as i64;
            }
        };
        result.unwrap_or_else(|nearest| {
            self.warn_number(if matches!(datum, DatumRef::Decimal(_)) { "DECIMAL" } else { "INTEGER" }, datum);
            nearest
        })
    }

    fn cast_unsigned(&mut self, datum: DatumRef<'_>) -> u64 {
        match datum {
            DatumRef::UInt(value) => value,
            DatumRef::Double(value) if value >= 0.0 => self.unsigned_double(value, datum),
            DatumRef::Float(value) if value >= 0.0 => self.unsigned_double(f64::from(value), datum),
            DatumRef::Decimal(value) => value.to_u64().unwrap_or_else(|nearest| {
                self.warn_number("DECIMAL", datum);
                nearest
            }),
            // Negative numbers wrap around.
            other => self.cast_signed(other) as u64,
        }
    }

    fn unsigned_double(&mut self, value: f64, datum: DatumRef<'_>) -> u64 {
        numeric::double_to_u64(value).unwrap_or_else(|nearest| {
            self.warn_number("INTEGER", datum);
            nearest
        })
    }

    fn local_rounded(&self, value: Time) -> Time {
        let local = value.to_zone(self.zone);
        local.round_to_fsp(0).unwrap_or_else(|| local.truncate_to_fsp(0))
    }

    fn cast_year(&mut self, datum: DatumRef<'_>) -> Datum {
        let year = match datum {
            DatumRef::Time(value) => i64::from(value.to_zone(self.zone).year()),
            other => self.cast_signed(other),
        };
        let is_text = matches!(datum, DatumRef::Bytes(_));
        match year {
            0 if is_text => Datum::Int(2000),
            0 | 1901..=2155 => Datum::Int(year),
            1..=69 => Datum::Int(year + 2000),
            70..=99 => Datum::Int(year + 1900),
            _ => {
                self.warn_number("YEAR", datum);
                Datum::Null
            }
        }
    }

    fn cast_real(&mut self, datum: DatumRef<'_>, to: &FieldType) -> Datum {
        let value = match datum {
            DatumRef::Bytes(text) => {
                let prefix = double_prefix(text);
                if prefix.empty || prefix.rest || prefix.overflow {
                    self.warn_truncated("DOUBLE", text);
                }
                prefix.value
            }
            DatumRef::Time(value) => value.to_zone(self.zone).to_decimal().to_f64(),
            DatumRef::Duration(value) => value.to_decimal().to_f64(),
            number => number.number().unwrap_or_default(),
        };
        if to.tp == TypeKind::Float { Datum::Float(value as f32) } else { Datum::Double(value) }
    }

    /// A decimal of any precision where the type names none.
    fn cast_decimal(&mut self, datum: DatumRef<'_>, to: &FieldType) -> Decimal {
        let of_double = |value: f64| {
            Decimal::from_f64(value).map_err(|_| {
                let max = Decimal::max_value(65, 0);
                if value < 0.0 { max.neg() } else { max }
            })
        };
        let value = match datum {
            DatumRef::Null | DatumRef::Json(_) => Ok(Decimal::ZERO),
            DatumRef::Int(value) => Ok(Decimal::from_i64(value)),
            DatumRef::UInt(value) => Ok(Decimal::from_u64(value)),
            DatumRef::Decimal(value) => Ok(*value),
            DatumRef::Float(value) => of_double(f64::from(value)),
            DatumRef::Double(value) => of_double(value),
            DatumRef::Time(value) => Ok(value.to_zone(self.zone).to_decimal()),
            DatumRef::Duration(value) => Ok(value.to_decimal()),
            DatumRef::Bytes(text) => {
                let prefix = decimal_prefix(text);
                if prefix.empty || prefix.rest {
                    self.warn_truncated("DECIMAL", text);
                }
                if prefix.overflow { Err(prefix.value) } else { Ok(prefix.value) }
            }
        };
        let fitted = match to.scale() {
            Some(scale) if to.flen > 0 => value.and_then(|value| value.fit(to.flen.min(65) as u8, scale)),
            _ => value,
        };
        fitted.unwrap_or_else(|nearest| {
            self.warn_number("DECIMAL", datum);
            match to.scale() {
                Some(scale) if to.flen > 0 => nearest.fit(to.flen.min(65) as u8, scale).unwrap_or_else(|nearest| nearest),
                _ => nearest,
            }
        })
    }

    fn cast_date(&mut self, datum: DatumRef<'_>, to: &FieldType) -> Datum {
        let kind = TimeKind::of(to.tp).unwrap_or(TimeKind::DateTime);
        let local_kind = if kind == TimeKind::Timestamp { TimeKind::DateTime } else { kind };
        if let (TimeKind::Timestamp, DatumRef::Time(value)) = (kind, datum)
            && value.kind() == TimeKind::Timestamp
        {
            return value.round_to_fsp(to.fsp()).map_or(Datum::Null, Datum::Time);
        }
        // CAST takes dates with zero parts unless the mode forbids them.
        let mode = self.mode.date_mode();
        let read = match datum {
            DatumRef::Bytes(text) => Time::parse(text, local_kind, to.fsp(), &mode).and_then(|parsed| {
                if parsed.truncated {
                    self.warn_truncated(if kind == TimeKind::Date { "date" } else { "datetime" }, text);
                }
                match parsed.offset {
                    Some(seconds) => {
                        let given = parsed.time.with_kind(TimeKind::DateTime, parsed.time.fsp()).from_zone(&TimeZone::Offset(seconds))?;
                        Ok(given.to_zone(self.zone).with_kind(local_kind, to.fsp()))
                    }
                    None => Ok(parsed.time),
                }
            }),
            DatumRef::Time(value) => self.refit_leniently(value, local_kind, to.fsp()),
            DatumRef::Duration(value) => self.date_of_duration(value, local_kind, to.fsp()),
            number => match number_parts(number) {
                Some((whole, micro)) => Time::from_number(whole, micro, local_kind, to.fsp(), &mode),
                None => Err(TimeError::Invalid),
            },
        };
        let converted = if kind == TimeKind::Timestamp { read.and_then(|local| local.from_zone(self.zone)) } else { read };
        converted.map_or_else(
            |_| {
                let value = shown(&self.text_of(datum));
                // MySQL cannot tell what kind of date it would have been.
                self.warn(Error::Incorrect { kind: "datetime", value });
                Datum::Null
            },
            Datum::Time,
        )
    }

    /// A date that is stored already is a date, whatever the mode says.
    fn refit_leniently(&self, value: Time, kind: TimeKind, fsp: u8) -> Result<Time, TimeError> {
        let local = value.to_zone(self.zone);
        if kind == TimeKind::Date {
            return Ok(local.with_kind(TimeKind::Date, 0));
        }
        local.with_kind(TimeKind::DateTime, crate::time::MAX_FSP).round_to_fsp(fsp).ok_or(TimeError::OutOfRange)
    }

    fn cast_duration(&mut self, datum: DatumRef<'_>, to: &FieldType) -> Datum {
        let fsp = to.fsp();
        let parsed = match datum {
            DatumRef::Duration(value) => return Datum::Duration(value.round_to_fsp(fsp)),
            DatumRef::Time(value) => return Datum::Duration(value.to_zone(self.zone).to_duration().round_to_fsp(fsp)),
            DatumRef::Bytes(text) => Duration::parse(text, fsp),
            number => number_parts(number).ok_or(TimeError::Invalid).and_then(|(whole, micro)| Duration::from_number(whole, micro, fsp)),
        };
        match parsed {
            Ok(parsed) => {
                if parsed.truncated || parsed.out_of_range {
                    self.warn_number("time", datum);
                }
                Datum::Duration(parsed.duration)
            }
            Err(_) => {
                self.warn_number("time", datum);
                Datum::Null
            }
        }
    }

    fn cast_text(&mut self, datum: DatumRef<'_>, from: &FieldType, to: &FieldType) -> Datum {
        let mut text = match datum {
            DatumRef::Bytes(text) => text.to_vec(),
            other => {
                let mut out = Vec::new();
                other.write_text_in_zone(from, self.zone, &mut out);
                out
            }
        };
        let charset = if to.is_text() { to.charset } else { Charset::Binary };
        let chars = if to.flen == UNSPECIFIED { usize::MAX } else { to.flen.max(0) as usize };
        if charset == Charset::Utf8mb4 && std::str::from_utf8(&text).is_err() {
            self.warn(Error::TruncatedIncorrect { kind: "CHAR", value: shown(&text) });
            return Datum::Null;
        }
        let limit = charset.prefix_len(&text, chars);
        if limit < text.len() {
            let kind = if charset == Charset::Binary { "BINARY" } else { "CHAR" };
            self.warn(Error::TruncatedToLength { kind, length: to.flen, value: shown(&text) });
            text.truncate(limit);
        } else if to.tp == TypeKind::Binary && to.flen > 0 {
            text.resize(to.flen as usize, 0);
        }
        Datum::Bytes(text)
    }
}
