//! Rows of a result, as text or binary.
//!
//! Both are written straight from a chunk's columns into the packet; no value is built on the way.

use types::{Chunk, DatumRef, FieldType, Time, TimeZone, TypeKind, time::MICROS_PER_DAY};

use crate::cursor::put_lenenc_bytes;

/// Appends a row as text: length-encoded strings, 0xfb for NULL. TIMESTAMPs are shown in `zone`.
#[inline]
pub fn write_text_row(out: &mut Vec<u8>, chunk: &Chunk, row: usize, types: &[FieldType], zone: &TimeZone) {
    for (column, ty) in chunk.columns().iter().zip(types) {
        match column.datum_ref(row) {
            DatumRef::Null => out.push(0xfb),
            DatumRef::Bytes(bytes) => put_lenenc_bytes(out, bytes),
            value => put_text(out, |out| value.write_text_in_zone(ty, zone, out)),
        }
    }
}

/// Writes a text with its length before it, which is known only afterwards and nearly always fits one byte.
#[inline]
fn put_text(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let len = out.len() - at - 1;
    if len <= 0xfa {
        out[at] = len as u8;
    } else {
        let text = out.split_off(at + 1);
        out.truncate(at);
        put_lenenc_bytes(out, &text);
    }
}

/// Appends a row in binary: 0x00, a NULL bitmap that begins at bit 2, the values. TIMESTAMPs are shown in `zone`.
#[inline]
pub fn write_binary_row(out: &mut Vec<u8>, chunk: &Chunk, row: usize, types: &[FieldType], zone: &TimeZone) {
    out.push(0x00);
    let bitmap = out.len();
    out.resize(bitmap + (types.len() + 9) / 8, 0);
    for (i, (column, ty)) in chunk.columns().iter().zip(types).enumerate() {
        match column.datum_ref(row) {
            DatumRef::Null => out[bitmap + (i + 2) / 8] |= 1 << ((i + 2) % 8),
            value => put_binary(out, value, ty, zone),
        }
    }
}

/// Writes one value in the layout its declared type has.
fn put_binary(out: &mut Vec<u8>, value: DatumRef<'_>, ty: &FieldType, zone: &TimeZone) {
    match value {
        DatumRef::Null => {}
        DatumRef::Int(number) => put_integer(out, number as u64, ty.tp),
        DatumRef::UInt(_) if matches!(ty.tp, TypeKind::Enum | TypeKind::Set | TypeKind::Bit) => {
            put_text(out, |out| value.write_text(ty, out));
        }
        DatumRef::UInt(number) => put_integer(out, number, ty.tp),
        DatumRef::Float(number) if ty.tp == TypeKind::Double => out.extend_from_slice(&f64::from(number).to_le_bytes()),
        DatumRef::Float(number) => out.extend_from_slice(&number.to_le_bytes()),
        DatumRef::Double(number) if ty.tp == TypeKind::Float => out.extend_from_slice(&(number as f32).to_le_bytes()),
        DatumRef::Double(number) => out.extend_from_slice(&number.to_le_bytes()),
        DatumRef::Bytes(bytes) => put_lenenc_bytes(out, bytes),
        DatumRef::Time(time) => put_time(out, time.to_zone(zone)),
        DatumRef::Duration(duration) => put_duration(out, duration.micros()),
        value => put_text(out, |out| value.write_text(ty, out)),
    }
}

/// An integer takes the bytes its type has, whatever its value.
#[inline]
fn put_integer(out: &mut Vec<u8>, number: u64, tp: TypeKind) {
    let bytes = number.to_le_bytes();
    let len = match tp {
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt | TypeKind::Year => 2,
        TypeKind::MediumInt | TypeKind::Int => 4,
        _ => 8,
    };
    out.extend_from_slice(&bytes[..len]);
}

fn put_time(out: &mut Vec<u8>, time: Time) {
    let parts = time.parts();
    let clock = (parts.hour, parts.minute, parts.second) != (0, 0, 0);
    let len: u8 = match (parts.micro != 0, clock) {
        (true, _) => 11,
        (false, true) => 7,
        (false, false) if (parts.year, parts.month, parts.day) == (0, 0, 0) => 0,
        (false, false) => 4,
    };
    out.push(len);
    if len >= 4 {
        out.extend_from_slice(&parts.year.to_le_bytes());
        out.extend_from_slice(&[parts.month, parts.day]);
    }
    if len >= 7 {
        out.extend_from_slice(&[parts.hour, parts.minute, parts.second]);
    }
    if len == 11 {
        out.extend_from_slice(&parts.micro.to_le_bytes());
    }
}

fn put_duration(out: &mut Vec<u8>, micros: i64) {
    if micros == 0 {
        out.push(0);
        return;
    }
    let span = micros.unsigned_abs();
    let day = MICROS_PER_DAY as u64;
    let (days, rest, micro) = ((span / day) as u32, span % day / 1_000_000, (span % 1_000_000) as u32);
    out.push(if micro == 0 { 8 } else { 12 });
    out.push(u8::from(micros < 0));
    out.extend_from_slice(&days.to_le_bytes());
    out.extend_from_slice(&[(rest / 3600) as u8, (rest / 60 % 60) as u8, (rest % 60) as u8]);
    if micro != 0 {
        out.extend_from_slice(&micro.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use types::{Datum, Decimal, Duration, TimeKind, TimeParts};

    use super::*;

    fn chunk(values: &[(FieldType, Datum)]) -> (Chunk, Vec<FieldType>) {
        let types: Vec<FieldType> = values.iter().map(|(ty, _)| ty.clone()).collect();
        let mut chunk = Chunk::new(&types, 1);
        chunk.push_row(&values.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>());
        (chunk, types)
    }

    #[test]
    fn text_row_has_lengths_and_nulls() {
        let decimal = Decimal::parse(b"1.50").expect("a decimal");
        let (chunk, types) = chunk(&[
            (FieldType::int(), Datum::Int(-12)),
            (FieldType::varchar(10), Datum::Null),
            (FieldType::varchar(300), Datum::Bytes(vec![b'x'; 300])),
            (FieldType::decimal(10, 2), Datum::Decimal(decimal)),
        ]);
        let mut out = Vec::new();
        write_text_row(&mut out, &chunk, 0, &types, &TimeZone::UTC);
        assert_eq!(&out[..9], b"\x03-12\xfb\xfc\x2c\x01x");
        assert_eq!(&out[out.len() - 5..], b"\x041.50");
    }

    #[test]
    fn binary_row_has_fixed_widths_and_a_shifted_bitmap() {
        let parts = TimeParts { year: 2024, month: 2, day: 29, hour: 1, minute: 2, second: 3, micro: 0 };
        let time = Time::from_parts(parts, TimeKind::DateTime, 0).expect("in range");
        let (chunk, types) = chunk(&[
            (FieldType::int(), Datum::Int(-1)),
            (FieldType::varchar(10), Datum::Null),
            (FieldType::bigint(), Datum::Int(1)),
            (FieldType::datetime(0), Datum::Time(time)),
            (FieldType::time(0), Datum::Duration(Duration::from_micros(-3_723_000_000, 0))),
        ]);
        let mut out = Vec::new();
        write_binary_row(&mut out, &chunk, 0, &types, &TimeZone::UTC);
        let mut expected = vec![0x00, 0b1000, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0];
        expected.extend_from_slice(&[7, 0xe8, 0x07, 2, 29, 1, 2, 3]);
        expected.extend_from_slice(&[8, 1, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(out, expected);
    }
}
