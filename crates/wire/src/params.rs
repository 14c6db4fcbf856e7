//! Parameters of COM_STMT_EXECUTE.
//!
//! ```text
//! NULL bitmap: (count + 7) / 8 bytes │ 1 if types follow │ types: 2 bytes each │ values of the parameters that are not NULL
//! ```
//! A client names the types with the first execution and may leave them out later; values sent in pieces (COM_STMT_SEND_LONG_DATA) are not
//! repeated here.

use types::{Datum, Decimal, Duration, Time, TimeKind, TimeParts};

use crate::{ColumnDefinition, Error, cursor::Cursor};

const WHAT: &str = "statement parameters";
/// Hours of the longest TIME.
const MAX_HOURS: u64 = 838;

/// Type of a parameter as the client declared it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamType {
    /// Type code of the protocol.
    pub code: u8,
    /// Whether an integer is unsigned.
    pub unsigned: bool,
}

/// How a parameter is announced in the answer to a prepare: nothing is known of its type yet.
pub fn definition() -> ColumnDefinition {
    ColumnDefinition {
        database: String::new(),
        table: String::new(),
        org_table: String::new(),
        name: "?".to_owned(),
        org_name: String::new(),
        collation: 63,
        length: 0,
        type_code: 0xfd,
        flags: 0x80,
        decimals: 0,
    }
}

/// Reads the values of `count` parameters. `types` is what the client named last, and is replaced when it names them anew;
/// `long_data` are values that arrived before.
pub fn decode(payload: &[u8], count: usize, types: &mut Vec<ParamType>, long_data: &[Option<Vec<u8>>]) -> Result<Vec<Datum>, Error> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut cursor = Cursor::new(payload);
    let nulls = cursor.bytes(count.div_ceil(8), WHAT)?;
    if cursor.u8(WHAT)? == 1 {
        types.clear();
        for _ in 0..count {
            let code = cursor.u8(WHAT)?;
            types.push(ParamType { code, unsigned: cursor.u8(WHAT)? & 0x80 != 0 });
        }
    }
    if types.len() != count {
        return Err(Error::Malformed { what: "statement parameters without types" });
    }
    let mut values = Vec::with_capacity(count);
    for (i, ty) in types.iter().enumerate() {
        let value = if let Some(Some(data)) = long_data.get(i) {
            Datum::Bytes(data.clone())
        } else if nulls[i / 8] & (1 << (i % 8)) != 0 {
            Datum::Null
        } else {
            value(&mut cursor, *ty)?
        };
        values.push(value);
    }
    Ok(values)
}

/// Reads one value. Type codes: MySQL source documentation, `enum_field_types`.
fn value(cursor: &mut Cursor<'_>, ty: ParamType) -> Result<Datum, Error> {
    Ok(match ty.code {
        0x01 if ty.unsigned => Datum::UInt(u64::from(cursor.u8(WHAT)?)),
        0x01 => Datum::Int(i64::from(cursor.u8(WHAT)? as i8)),
        0x02 | 0x0d if ty.unsigned => Datum::UInt(u64::from(cursor.u16(WHAT)?)),
        0x02 | 0x0d => Datum::Int(i64::from(cursor.u16(WHAT)? as i16)),
        0x03 | 0x09 if ty.unsigned => Datum::UInt(u64::from(cursor.u32(WHAT)?)),
        0x03 | 0x09 => Datum::Int(i64::from(cursor.u32(WHAT)? as i32)),
        0x08 if ty.unsigned => Datum::UInt(cursor.u64(WHAT)?),
        0x08 => Datum::Int(cursor.u64(WHAT)? as i64),
        0x04 => Datum::Float(f32::from_bits(cursor.u32(WHAT)?)),
        0x05 => Datum::Double(f64::from_bits(cursor.u64(WHAT)?)),
        0x06 => Datum::Null,
        0x07 | 0x0a | 0x0c => date_time(cursor, ty.code)?,
        0x0b => duration(cursor)?,
        0x00 | 0xf6 => {
            let text = cursor.lenenc_bytes(WHAT)?;
            Datum::Decimal(Decimal::parse(text).map_err(|_| Error::Malformed { what: "decimal parameter" })?)
        }
        // VARCHAR, BIT, JSON, ENUM, SET, the BLOBs, VAR_STRING, STRING, GEOMETRY
        0x0f | 0x10 | 0xf5 | 0xf7..=0xff => Datum::Bytes(cursor.lenenc_bytes(WHAT)?.to_vec()),
        _ => return Err(Error::Malformed { what: "parameter type" }),
    })
}

fn date_time(cursor: &mut Cursor<'_>, code: u8) -> Result<Datum, Error> {
    const WHAT: &str = "date parameter";
    let len = cursor.u8(WHAT)?;
    let mut parts = TimeParts::default();
    if !matches!(len, 0 | 4 | 7 | 11) {
        return Err(Error::Malformed { what: WHAT });
    }
    if len >= 4 {
        parts.year = cursor.u16(WHAT)?;
        parts.month = cursor.u8(WHAT)?;
        parts.day = cursor.u8(WHAT)?;
    }
    if len >= 7 {
        parts.hour = cursor.u8(WHAT)?;
        parts.minute = cursor.u8(WHAT)?;
        parts.second = cursor.u8(WHAT)?;
    }
    if len == 11 {
        parts.micro = cursor.u32(WHAT)?;
    }
    // A parameter is local time, also one that was declared TIMESTAMP: it becomes UTC where it is stored.
    let (kind, fsp) = if code == 0x0a { (TimeKind::Date, 0) } else { (TimeKind::DateTime, if len == 11 { 6 } else { 0 }) };
    Time::from_parts(parts, kind, fsp).map(Datum::Time).ok_or(Error::Malformed { what: WHAT })
}

fn duration(cursor: &mut Cursor<'_>) -> Result<Datum, Error> {
    const WHAT: &str = "time parameter";
    let len = cursor.u8(WHAT)?;
    if len == 0 {
        return Ok(Datum::Duration(Duration::ZERO));
    }
    if !matches!(len, 8 | 12) {
        return Err(Error::Malformed { what: WHAT });
    }
    let negative = cursor.u8(WHAT)? != 0;
    let days = u64::from(cursor.u32(WHAT)?);
    let (hours, minutes, seconds) = (u64::from(cursor.u8(WHAT)?), u64::from(cursor.u8(WHAT)?), u64::from(cursor.u8(WHAT)?));
    let micro = if len == 12 { cursor.u32(WHAT)? } else { 0 };
    if days * 24 + hours > MAX_HOURS {
        // As in MySQL, which cuts times of day that are too long to the longest.
        return Ok(Datum::Duration(Duration::max_value(negative, 0)));
    }
    Duration::from_parts(negative, days * 24 + hours, minutes, seconds, micro, if len == 12 { 6 } else { 0 })
        .map(Datum::Duration)
        .ok_or(Error::Malformed { what: WHAT })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn types_are_kept_for_executions_that_leave_them_out() {
        let mut types = Vec::new();
        let first = [0b10, 1, 0x08, 0, 0x0f, 0, 7, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(decode(&first, 2, &mut types, &[]).expect("valid"), [Datum::Int(7), Datum::Null]);
        let second = [0b00, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, b'h', b'i'];
        assert_eq!(decode(&second, 2, &mut types, &[]).expect("valid"), [Datum::Int(8), Datum::Bytes(b"hi".to_vec())]);
        assert!(decode(&second, 2, &mut Vec::new(), &[]).is_err());
    }

    #[test]
    fn long_data_takes_the_place_of_a_value() {
        let payload = [0, 1, 0xfc, 0, 0x01, 0x80, 200];
        let long = [Some(b"pieces".to_vec())];
        let values = decode(&payload, 2, &mut Vec::new(), &long).expect("valid");
        assert_eq!(values, [Datum::Bytes(b"pieces".to_vec()), Datum::UInt(200)]);
    }

    #[test]
    fn times_that_are_too_long_become_the_longest() {
        let payload = [0, 1, 0x0b, 0, 8, 1, 35, 0, 0, 0, 1, 0, 1];
        let values = decode(&payload, 1, &mut Vec::new(), &[]).expect("valid");
        assert_eq!(values, [Datum::Duration(Duration::max_value(true, 0))]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parameters_or_an_error(payload in proptest::collection::vec(any::<u8>(), 0..80), count in 0usize..6) {
            let _ = decode(&payload, count, &mut Vec::new(), &[]);
        }
    }
}
