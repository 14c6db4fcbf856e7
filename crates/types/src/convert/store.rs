//! What INSERT and UPDATE do with a value on its way into a column.

use super::{
    Conversion, ConvertMode, incorrect,
    numeric::{self, decimal_prefix, double_prefix},
    out_of_range, too_long, truncated,
};
use crate::{
    datum::{Datum, DatumRef},
    decimal::Decimal,
    error::{Error, Result},
    field_type::{FieldType, TypeKind},
    time::TimeZone,
};

/// Years of two digits up to here are of this century.
const LAST_YEAR_OF_2000S: i64 = 69;
/// The years of a YEAR column beside 0.
const YEARS: std::ops::RangeInclusive<i64> = 1901..=2155;

/// The value a column of the type stores for `datum`.
///
/// NULL stays NULL; whether the column takes it is the caller's question. In strict mode what does not fit is an error (1264, 1265, 1292, 1366, 1406 without
/// column name; see [`Error::at_column`]), else a warning and the nearest value is stored. A TIMESTAMP becomes UTC by `zone`.
///
/// Source: MySQL 8.0 Reference Manual, 5.1.11 "Server SQL Modes", 11 "Data Types".
pub fn store(datum: Datum, ty: &FieldType, mode: ConvertMode, zone: &TimeZone, warnings: &mut dyn FnMut(Error)) -> Result<Datum> {
    // The value is of the column's type already, nine times out of ten.
    match &datum {
        Datum::Null => return Ok(Datum::Null),
        Datum::Int(value) if ty.is_integer() && !ty.unsigned => {
            let (min, max) = ty.tp.int_range(false);
            if *value >= min && *value <= max as i64 {
                return Ok(datum);
            }
        }
        _ => {}
    }
    let mut conversion = Conversion { mode, zone, warnings };
    if let (Datum::Json(json), true) = (&datum, ty.tp != TypeKind::Json) {
        let plain = match super::of_json(json, ty) {
            Ok(plain) => plain,
            Err(error) => conversion.reject(error.into(), super::implicit_default(ty))?,
        };
        return store(plain, ty, mode, zone, warnings);
    }
    match ty.tp {
        TypeKind::Json => conversion.store_json(datum, ty),
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int | TypeKind::BigInt => {
            conversion.store_int(datum.as_ref(), ty)
        }
        TypeKind::Float | TypeKind::Double => conversion.store_float(datum.as_ref(), ty),
        TypeKind::Decimal => conversion.store_decimal(datum.as_ref(), ty),
        TypeKind::Year => conversion.store_year(datum.as_ref()),
        TypeKind::Bit => conversion.store_bit(datum.as_ref(), ty),
        TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => conversion.store_date(datum.as_ref(), ty),
        TypeKind::Time => conversion.store_duration(datum.as_ref(), ty),
        TypeKind::Enum => conversion.store_enum(datum.as_ref(), ty),
        TypeKind::Set => conversion.store_set(datum.as_ref(), ty),
        TypeKind::Null => Ok(Datum::Null),
        _ => conversion.store_text(datum, ty),
    }
}

impl Conversion<'_> {
    fn store_int(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let (wide, fits) = self.wide_integer(datum, ty)?;
        let (min, max) = ty.tp.int_range(ty.unsigned);
        let clamped = wide.clamp(i128::from(min), i128::from(max));
        let value = if ty.unsigned { Datum::UInt(clamped as u64) } else { Datum::Int(clamped as i64) };
        if clamped == wide && fits { Ok(value) } else { self.reject(out_of_range(), value) }
    }

    /// The integer a value means, and whether it was within 64 bits.
    fn wide_integer(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<(i128, bool)> {
        let of_double = |value: f64| {
            // A double beyond 128 bits is beyond every column.
            let rounded = value.round_ties_even();
            (rounded as i128, true)
        };
        Ok(match datum {
            DatumRef::Null => (0, true),
            DatumRef::Int(value) => (i128::from(value), true),
            DatumRef::UInt(value) => (i128::from(value), true),
            DatumRef::Float(value) => of_double(f64::from(value)),
            DatumRef::Double(value) => of_double(value),
            // A fraction below zero is out of range too, although it would round to 0.
            DatumRef::Decimal(value) if ty.unsigned && value.is_negative() => (0, false),
            DatumRef::Decimal(value) => decimal_to_wide(value),
            DatumRef::Time(value) => {
                let local = value.to_zone(self.zone);
                decimal_to_wide(&local.round_to_fsp(0).unwrap_or(local).to_decimal())
            }
            DatumRef::Duration(value) => (i128::from(value.round_to_fsp(0).to_i64()), true),
            DatumRef::Bytes(text) => self.integer_of_text(text, ty)?,
            // Stored as what they hold: `store` begins with that.
            DatumRef::Json(_) => (0, false),
        })
    }

    fn integer_of_text(&mut self, text: &[u8], ty: &FieldType) -> Result<(i128, bool)> {
        let prefix = decimal_prefix(text);
        let (value, fits) = decimal_to_wide(&prefix.value);
        if prefix.empty {
            return self.reject(incorrect("integer", text), (0, true));
        }
        let (min, max) = ty.tp.int_range(ty.unsigned);
        // Out of range outweighs what follows the number.
        let in_range = fits && !prefix.overflow && value >= i128::from(min) && value <= i128::from(max);
        if prefix.rest && in_range {
            return self.reject(truncated(), (value, true));
        }
        Ok((value, fits && !prefix.overflow))
    }

    fn store_float(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let value = match datum {
            DatumRef::Null => return Ok(Datum::Null),
            DatumRef::Bytes(text) => {
                let prefix = double_prefix(text);
                if prefix.overflow {
                    self.reject(out_of_range(), prefix.value)?
                } else if prefix.empty || prefix.rest {
                    self.reject(truncated(), prefix.value)?
                } else {
                    prefix.value
                }
            }
            DatumRef::Time(value) => value.to_zone(self.zone).to_decimal().to_f64(),
            DatumRef::Duration(value) => value.to_decimal().to_f64(),
            number => number.number().unwrap_or_default(),
        };
        self.fit_float(value, ty)
    }

    fn fit_float(&mut self, value: f64, ty: &FieldType) -> Result<Datum> {
        let single = ty.tp == TypeKind::Float;
        let mut value = value;
        let mut most = if single { f64::from(f32::MAX) } else { f64::MAX };
        if let Some(scale) = ty.scale().filter(|_| ty.flen > 0) {
            value = numeric::round_double(value, scale);
            most = most.min(10f64.powi(ty.flen - i32::from(scale)) - 10f64.powi(-i32::from(scale)));
        }
        let least = if ty.unsigned { 0.0 } else { -most };
        // A double slightly above the greatest float rounds to it.
        let fits = value >= least && (value <= most || (single && (value as f32).is_finite() && ty.scale().is_none()));
        let clamped = if value.is_nan() { 0.0 } else { value.clamp(least, most) };
        let stored = if single { Datum::Float(clamped as f32) } else { Datum::Double(clamped) };
        if fits { Ok(stored) } else { self.reject(out_of_range(), stored) }
    }

    fn store_decimal(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let (precision, scale) = (ty.flen.clamp(1, 65) as u8, ty.scale().unwrap_or(0));
        let zero = Decimal::ZERO.at_scale(scale);
        let largest = |negative: bool| match negative {
            true if ty.unsigned => zero,
            true => Decimal::max_value(precision, scale).neg(),
            false => Decimal::max_value(precision, scale),
        };
        let of_double = |value: f64| Decimal::from_f64(value).map_err(|_| largest(value < 0.0));
        let value = match datum {
            DatumRef::Null => return Ok(Datum::Null),
            DatumRef::Int(value) => Ok(Decimal::from_i64(value)),
            DatumRef::UInt(value) => Ok(Decimal::from_u64(value)),
            DatumRef::Decimal(value) => Ok(*value),
            DatumRef::Float(value) => of_double(f64::from(value)),
            DatumRef::Double(value) => of_double(value),
            DatumRef::Time(value) => Ok(value.to_zone(self.zone).to_decimal()),
            DatumRef::Duration(value) => Ok(value.to_decimal()),
            DatumRef::Json(_) => Err(zero),
            DatumRef::Bytes(text) => {
                let prefix = decimal_prefix(text);
                if prefix.empty {
                    return self.reject(incorrect("decimal", text), Datum::Decimal(zero));
                }
                if prefix.overflow {
                    Err(largest(prefix.value.is_negative()))
                } else if prefix.rest {
                    Ok(self.reject(truncated(), prefix.value)?)
                } else {
                    Ok(prefix.value)
                }
            }
        };
        let fitted = value.and_then(|value| {
            let below_zero = ty.unsigned && value.is_negative();
            if below_zero { Err(zero) } else { value.fit(precision, scale) }
        });
        match fitted {
            Ok(fitted) => {
                if value.is_ok_and(|given| given.cmp(&fitted).is_ne()) {
                    self.note_truncation();
                }
                Ok(Datum::Decimal(fitted))
            }
            Err(nearest) => self.reject(out_of_range(), Datum::Decimal(nearest)),
        }
    }

    fn store_year(&mut self, datum: DatumRef<'_>) -> Result<Datum> {
        let (value, of_text) = match datum {
            DatumRef::Bytes(text) => {
                let (value, _) = self.integer_of_text(text, &FieldType::bigint())?;
                // '0' and '00' are the year 2000, '0000' is the year 0.
                (value, text.trim_ascii().len() < 4 && text.trim_ascii().first().is_some_and(u8::is_ascii_digit))
            }
            DatumRef::Time(value) => (i128::from(value.to_zone(self.zone).year()), false),
            other => (self.wide_integer(other, &FieldType::bigint())?.0, false),
        };
        let year = match i64::try_from(value).unwrap_or(-1) {
            0 if of_text => 2000,
            0 => 0,
            value @ 1..=LAST_YEAR_OF_2000S => value + 2000,
            value @ 70..=99 => value + 1900,
            value if YEARS.contains(&value) => value,
            _ => return self.reject(out_of_range(), Datum::Int(0)),
        };
        Ok(Datum::Int(year))
    }

    fn store_bit(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let width = ty.flen.clamp(1, 64) as u32;
        let most = u64::MAX >> (64 - width);
        let value = match datum {
            DatumRef::Bytes(bytes) => {
                let significant = &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..];
                (significant.len() <= 8).then(|| significant.iter().fold(0u64, |acc, &byte| acc << 8 | u64::from(byte)))
            }
            // A negative number is stored by its bits.
            DatumRef::Int(value) => Some(value as u64),
            other => u64::try_from(self.wide_integer(other, &FieldType::unsigned_bigint())?.0).ok(),
        };
        match value {
            Some(value) if value <= most => Ok(Datum::UInt(value)),
            _ => self.reject(too_long(), Datum::UInt(most)),
        }
    }
}

/// The integer nearest to a decimal, and whether it is within 128 bits.
fn decimal_to_wide(value: &Decimal) -> (i128, bool) {
    match value.to_unscaled(0) {
        Some(value) => (value, true),
        None => (if value.is_negative() { i128::from(i64::MIN) } else { i128::from(u64::MAX) }, false),
    }
}
