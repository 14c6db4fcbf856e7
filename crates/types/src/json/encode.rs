//! Writing the stored form.

use super::{Json, JsonError, MAX_DEPTH, MAX_KEY_BYTES, OPAQUE_DECIMAL};
use crate::time::{Time, TimeKind};

/// The codes before values.
pub(super) mod code {
    pub const OBJECT: u8 = 0x01;
    pub const ARRAY: u8 = 0x03;
    pub const LITERAL: u8 = 0x04;
    pub const INT: u8 = 0x09;
    pub const UINT: u8 = 0x0a;
    pub const DOUBLE: u8 = 0x0b;
    pub const STRING: u8 = 0x0c;
    pub const OPAQUE: u8 = 0x0d;
    pub const DATE: u8 = 0x0e;
    pub const DATETIME: u8 = 0x0f;
    pub const TIMESTAMP: u8 = 0x10;
    pub const DURATION: u8 = 0x11;
}

/// The literals.
pub(super) const NULL: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;

/// Element count and size in bytes.
pub(super) const HEADER_BYTES: usize = 8;
/// Code and offset of an element.
pub(super) const ENTRY_BYTES: usize = 5;
/// Offset and length of a key.
pub(super) const KEY_ENTRY_BYTES: usize = 6;

/// Appends the stored form.
pub(super) fn encode(json: &Json, out: &mut Vec<u8>) -> Result<(), JsonError> {
    let at = out.len();
    out.push(0);
    out[at] = write_body(json, out, 1)?;
    Ok(())
}

/// Appends the value without its code, which is the answer.
fn write_body(json: &Json, out: &mut Vec<u8>, depth: usize) -> Result<u8, JsonError> {
    if depth > MAX_DEPTH {
        return Err(JsonError::TooDeep);
    }
    Ok(match json {
        Json::Null => literal(out, NULL),
        Json::Bool(value) => literal(out, if *value { TRUE } else { FALSE }),
        Json::Int(value) => fixed(out, code::INT, value.to_le_bytes()),
        Json::UInt(value) => fixed(out, code::UINT, value.to_le_bytes()),
        Json::Double(value) => fixed(out, code::DOUBLE, value.to_le_bytes()),
        Json::String(text) => {
            write_sized(out, text.as_bytes());
            code::STRING
        }
        Json::Decimal(value) => {
            let mut digits = Vec::new();
            value.encode_binary_exact(&mut digits);
            opaque(out, OPAQUE_DECIMAL, &digits)
        }
        Json::Opaque { mysql_type, bytes } => opaque(out, *mysql_type, bytes),
        Json::Time(time) => fixed(out, time_code(time.kind()), core_time(*time).to_le_bytes()),
        Json::Duration(duration) => {
            out.extend_from_slice(&duration.nanos().to_le_bytes());
            out.extend_from_slice(&u32::from(duration.fsp()).to_le_bytes());
            code::DURATION
        }
        Json::Array(items) => {
            write_array(items, out, depth)?;
            code::ARRAY
        }
        Json::Object(members) => {
            write_object(members, out, depth)?;
            code::OBJECT
        }
    })
}

fn literal(out: &mut Vec<u8>, value: u8) -> u8 {
    out.push(value);
    code::LITERAL
}

fn fixed(out: &mut Vec<u8>, code: u8, bytes: [u8; 8]) -> u8 {
    out.extend_from_slice(&bytes);
    code
}

fn opaque(out: &mut Vec<u8>, mysql_type: u8, bytes: &[u8]) -> u8 {
    out.push(mysql_type);
    write_sized(out, bytes);
    code::OPAQUE
}

/// Length as a varint, then the bytes.
fn write_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    codec::number::encode_uvarint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn time_code(kind: TimeKind) -> u8 {
    match kind {
        TimeKind::Date => code::DATE,
        TimeKind::DateTime => code::DATETIME,
        TimeKind::Timestamp => code::TIMESTAMP,
    }
}

/// Year 14 bits, month 4, day 5, hour 5, minute 6, second 6, microsecond 20, fraction digits 3 and a bit that tells TIMESTAMP;
/// a DATE has 1110 in the last four.
fn core_time(time: Time) -> u64 {
    let parts = time.parts();
    let last = match time.kind() {
        TimeKind::Date => 0b1110,
        TimeKind::DateTime => u64::from(time.fsp()) << 1,
        TimeKind::Timestamp => u64::from(time.fsp()) << 1 | 1,
    };
    u64::from(parts.year) << 50
        | u64::from(parts.month) << 46
        | u64::from(parts.day) << 41
        | u64::from(parts.hour) << 36
        | u64::from(parts.minute) << 30
        | u64::from(parts.second) << 24
        | u64::from(parts.micro) << 4
        | last
}

fn put_u32(out: &mut [u8], at: usize, value: usize) -> Result<(), JsonError> {
    let value = u32::try_from(value).map_err(|_| JsonError::TooBig)?;
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
    Ok(())
}

fn write_array(items: &[Json], out: &mut Vec<u8>, depth: usize) -> Result<(), JsonError> {
    let start = out.len();
    let entries = start + HEADER_BYTES;
    out.resize(entries + items.len() * ENTRY_BYTES, 0);
    for (i, item) in items.iter().enumerate() {
        write_element(item, out, start, entries + i * ENTRY_BYTES, depth)?;
    }
    finish(out, start, items.len())
}

fn write_object(members: &[(String, Json)], out: &mut Vec<u8>, depth: usize) -> Result<(), JsonError> {
    let mut sorted: Vec<&(String, Json)> = members.iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    let start = out.len();
    let keys = start + HEADER_BYTES;
    let entries = keys + sorted.len() * KEY_ENTRY_BYTES;
    out.resize(entries + sorted.len() * ENTRY_BYTES, 0);
    for (i, (key, _)) in sorted.iter().enumerate() {
        if key.len() > MAX_KEY_BYTES {
            return Err(JsonError::KeyTooLong);
        }
        let (at, offset) = (keys + i * KEY_ENTRY_BYTES, out.len() - start);
        put_u32(out, at, offset)?;
        out[at + 4..at + 6].copy_from_slice(&(key.len() as u16).to_le_bytes());
        out.extend_from_slice(key.as_bytes());
    }
    for (i, (_, value)) in sorted.iter().enumerate() {
        write_element(value, out, start, entries + i * ENTRY_BYTES, depth)?;
    }
    finish(out, start, sorted.len())
}

/// Appends an element and fills its entry in. A literal stands in the entry itself.
fn write_element(value: &Json, out: &mut Vec<u8>, start: usize, entry: usize, depth: usize) -> Result<(), JsonError> {
    let at = out.len();
    let code = write_body(value, out, depth + 1)?;
    out[entry] = code;
    if code == code::LITERAL {
        out[entry + 1] = out[at];
        out.truncate(at);
        return Ok(());
    }
    put_u32(out, entry + 1, at - start)
}

fn finish(out: &mut [u8], start: usize, count: usize) -> Result<(), JsonError> {
    put_u32(out, start, count)?;
    let len = out.len();
    put_u32(out, start + 4, len - start)
}
