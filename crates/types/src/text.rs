//! Values as text, exactly as MySQL prints them.
//!
//! Doubles print the fewest digits that are read back as the same number; floats at most six digits. A point number is used while the decimal point stands
//! within the 15 digits next to the number, else `1.5e20`. A type with a fixed number of fraction digits prints all of them.

use std::io::Write as _;

use crate::{
    datum::{Datum, DatumRef},
    field_type::{FieldType, TypeKind},
    json::JsonRef,
    time::TimeZone,
};

/// The decimal point may stand this far behind the first digit, and one place less before it.
const MAX_POINT_POSITION: i32 = 15;
/// Digits of a FLOAT.
const FLOAT_DIGITS: usize = 6;

/// Appends an integer.
#[inline]
pub fn write_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends an integer.
#[inline]
pub fn write_u64(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a double with the fewest digits that are read back as the same number.
pub fn write_f64(value: f64, out: &mut Vec<u8>) {
    if value == 0.0 {
        // MySQL keeps the sign of a negative zero.
        out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
        return;
    }
    if value.is_finite() && value.trunc() == value && value.abs() < 1e15 {
        return write_i64(value as i64, out);
    }
    let mut buffer = ryu::Buffer::new();
    write_scientific(buffer.format(value), out);
}

/// Appends a float with at most six digits.
pub fn write_f32(value: f32, out: &mut Vec<u8>) {
    if value == 0.0 {
        return write_f64(f64::from(value), out);
    }
    let mut text = Vec::with_capacity(16);
    let _ = write!(text, "{:.*e}", FLOAT_DIGITS - 1, f64::from(value));
    write_scientific(std::str::from_utf8(&text).unwrap_or("0"), out);
}

/// Appends a number given as any text Rust writes floats with, in MySQL's form.
fn write_scientific(text: &str, out: &mut Vec<u8>) {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let Ok(exponent) = exponent.parse::<i32>() else {
        // Infinities and NaN never are values of SQL; they print as Rust writes them.
        return out.extend_from_slice(text.as_bytes());
    };
    let (int, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: Vec<u8> = int.bytes().chain(fraction.bytes()).collect();
    let leading = all.iter().take_while(|&&digit| digit == b'0').count();
    let trailing = all[leading..].iter().rev().take_while(|&&digit| digit == b'0').count();
    let digits = &all[leading..all.len() - trailing];
    if digits.is_empty() {
        return out.push(b'0');
    }
    // The value is 0.digits * 10^point.
    let point = int.len() as i32 + exponent - leading as i32;
    if negative {
        out.push(b'-');
    }
    if !(-MAX_POINT_POSITION + 1..=MAX_POINT_POSITION).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        write_i64(i64::from(point - 1), out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
    } else if let Some((before, behind)) = digits.split_at_checked(point as usize).filter(|(_, behind)| !behind.is_empty()) {
        out.extend_from_slice(before);
        out.push(b'.');
        out.extend_from_slice(behind);
    } else {
        out.extend_from_slice(digits);
        out.resize(out.len() + point as usize - digits.len(), b'0');
    }
}

impl DatumRef<'_> {
    /// Appends the value as MySQL prints it; nothing for NULL. A TIMESTAMP is printed in UTC; see [`write_text_in_zone`](Self::write_text_in_zone).
    #[inline]
    pub fn write_text(&self, ty: &FieldType, out: &mut Vec<u8>) {
        match *self {
            Self::Null => {}
            Self::Int(value) => self.write_int(ty, out, |out| write_i64(value, out)),
            Self::UInt(value) => match ty.tp {
                TypeKind::Enum => out.extend_from_slice(enum_text(value, ty).as_bytes()),
                TypeKind::Set => write_set(value, ty, out),
                TypeKind::Bit => write_bits(value, ty, out),
                _ => self.write_int(ty, out, |out| write_u64(value, out)),
            },
            Self::Float(value) => match ty.scale() {
                Some(scale) => {
                    let _ = write!(out, "{value:.*}", usize::from(scale));
                }
                None => self.write_padded(ty, out, |out| write_f32(value, out)),
            },
            Self::Double(value) => match ty.scale() {
                Some(scale) if matches!(ty.tp, TypeKind::Double | TypeKind::Float) => {
                    let _ = write!(out, "{value:.*}", usize::from(scale));
                }
                _ => self.write_padded(ty, out, |out| write_f64(value, out)),
            },
            Self::Decimal(value) => match ty.scale() {
                Some(scale) if ty.tp == TypeKind::Decimal => self.write_padded(ty, out, |out| value.write_text_scaled(scale, out)),
                _ => value.write_text(out),
            },
            Self::Bytes(value) => out.extend_from_slice(value),
            Self::Time(value) => value.write_text(out),
            Self::Duration(value) => value.write_text(out),
            Self::Json(value) => JsonRef::new(value).write_text(out),
        }
    }

    /// As [`write_text`](Self::write_text), with a TIMESTAMP in the local time of a zone: what a client sees.
    #[inline]
    pub fn write_text_in_zone(&self, ty: &FieldType, zone: &TimeZone, out: &mut Vec<u8>) {
        match *self {
            Self::Time(value) => value.to_zone(zone).write_text(out),
            _ => self.write_text(ty, out),
        }
    }

    #[inline]
    fn write_int(&self, ty: &FieldType, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        if ty.is_zerofill() || ty.tp == TypeKind::Year { self.write_padded(ty, out, write) } else { write(out) }
    }

    /// Writes a number, padded with zeros to the display width where the type says so.
    fn write_padded(&self, ty: &FieldType, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        write(out);
        if !ty.is_zerofill() && ty.tp != TypeKind::Year {
            return;
        }
        let width = match ty.tp {
            TypeKind::Year => 4,
            TypeKind::Decimal => ty.flen.max(0) as usize + usize::from(ty.decimal > 0),
            _ => ty.flen.max(0) as usize,
        };
        let len = out.len() - start;
        if len < width {
            out.splice(start..start, std::iter::repeat_n(b'0', width - len));
        }
    }

    /// The text as a new vector.
    pub fn to_text(&self, ty: &FieldType) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_text(ty, &mut out);
        out
    }
}

impl Datum {
    /// As [`DatumRef::write_text`].
    pub fn write_text(&self, ty: &FieldType, out: &mut Vec<u8>) {
        self.as_ref().write_text(ty, out);
    }
}

/// The member of an ENUM's number; empty for 0, the error value.
pub fn enum_text(number: u64, ty: &FieldType) -> &str {
    usize::try_from(number).ok().and_then(|n| n.checked_sub(1)).and_then(|at| ty.elems.get(at)).map_or("", String::as_str)
}

/// Appends the members of a SET's bits, with commas between them.
pub fn write_set(bits: u64, ty: &FieldType, out: &mut Vec<u8>) {
    let members = ty.elems.iter().take(64).enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    for (nth, (_, member)) in members.enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        out.extend_from_slice(member.as_bytes());
    }
}

/// Appends a BIT value: as many bytes as its width needs, big-endian.
fn write_bits(value: u64, ty: &FieldType, out: &mut Vec<u8>) {
    let bytes = (ty.flen.clamp(1, 64) as usize).div_ceil(8);
    out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{field_type::TypeFlags, time::Time};

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_f64(value, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        write_f32(value, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn doubles_print_as_in_mysql() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123_456_789_012_345.0, "123456789012345"),
            (1_234_567_890_123_456.0, "1.234567890123456e15"),
            (1e-5, "0.00001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.5e300, "1.5e300"),
            (-1.5e-300, "-1.5e-300"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::MAX, "1.7976931348623157e308"),
            (1.0 / 3.0, "0.3333333333333333"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn floats_print_six_digits() {
        for (value, text) in
            [(0.1f32, "0.1"), (3.4028235e38, "3.40282e38"), (16_777_216.0, "16777200"), (123_456.7, "123457"), (1.0, "1"), (1e-20, "1e-20")]
        {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn types_decide_about_width_and_fraction() {
        let text = |datum: Datum, ty: &FieldType| String::from_utf8(datum.as_ref().to_text(ty)).expect("text");
        let zerofill = FieldType::int().with_unsigned().with_flags(TypeFlags::ZEROFILL).with_flen(5);
        assert_eq!(text(Datum::UInt(42), &zerofill), "00042");
        assert_eq!(text(Datum::Int(70), &FieldType::year()), "0070");
        let mut fixed = FieldType::double().with_flen(10);
        fixed.decimal = 2;
        assert_eq!(text(Datum::Double(1.005), &fixed), "1.00");
        assert_eq!(text(Datum::Decimal("1.5".parse().expect("valid")), &FieldType::decimal(10, 3)), "1.500");
        let mut colours = FieldType::new(TypeKind::Set);
        colours.elems = ["red".to_owned(), "green".to_owned(), "blue".to_owned()].into();
        assert_eq!(text(Datum::UInt(5), &colours), "red,blue");
        assert_eq!(text(Datum::Null, &colours), "");
        assert_eq!(text(Datum::Time(Time::date(2024, 1, 2).expect("valid")), &FieldType::date()), "2024-01-02");
    }
}
