//! Reading the stored form without taking it apart.

use std::cmp::Ordering;

use super::{
    Json, JsonKind, MAX_DEPTH, OPAQUE_DECIMAL,
    encode::{ENTRY_BYTES, FALSE, HEADER_BYTES, KEY_ENTRY_BYTES, NULL, TRUE, code},
};
use crate::{
    decimal::Decimal,
    time::{Duration, Time, TimeKind, TimeParts},
};

/// A stored value, or one within it.
#[derive(Clone, Copy, Debug)]
pub struct JsonRef<'a> {
    code: u8,
    /// The value's bytes, and maybe others behind it.
    body: &'a [u8],
}

/// A value that is neither array nor object, or the sign that it is one.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// `null`, and what is damaged.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A double.
    Double(f64),
    /// A DECIMAL.
    Decimal(Decimal),
    /// A string.
    String(&'a str),
    /// A date.
    Time(Time),
    /// A TIME.
    Duration(Duration),
    /// A value of another type of MySQL.
    Opaque(u8, &'a [u8]),
    /// An array.
    Array,
    /// An object.
    Object,
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Bytes behind their length, and how many bytes both take.
fn sized(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let mut rest = bytes;
    let len = usize::try_from(codec::number::decode_uvarint(&mut rest).ok()?).ok()?;
    let value = rest.get(..len)?;
    Some((value, bytes.len() - rest.len() + len))
}

/// The time of a TiDB core time; `None` if a field is out of its range.
fn time_of(packed: u64, kind: TimeKind) -> Option<Time> {
    let field = |shift: u32, bits: u32| packed >> shift & ((1 << bits) - 1);
    let parts = TimeParts {
        year: field(50, 14) as u16,
        month: field(46, 4) as u8,
        day: field(41, 5) as u8,
        hour: field(36, 5) as u8,
        minute: field(30, 6) as u8,
        second: field(24, 6) as u8,
        micro: field(4, 20) as u32,
    };
    let fsp = if kind == TimeKind::Date { 0 } else { field(1, 3).min(6) as u8 };
    Time::from_parts(parts, kind, fsp)
}

impl<'a> JsonRef<'a> {
    /// The value of stored bytes.
    #[inline]
    pub fn new(stored: &'a [u8]) -> Self {
        match stored.split_first() {
            Some((&code, body)) => Self { code, body },
            None => Self::null(),
        }
    }

    fn null() -> Self {
        Self { code: code::LITERAL, body: &[NULL] }
    }

    /// Where the value stands: different for any two values of one document.
    pub(super) fn place(&self) -> (usize, u8) {
        (self.body.as_ptr().addr(), self.code)
    }

    /// The value itself, or which container it is.
    pub fn scalar(&self) -> Scalar<'a> {
        self.try_scalar().unwrap_or(Scalar::Null)
    }

    fn try_scalar(&self) -> Option<Scalar<'a>> {
        let time = |kind| time_of(u64_at(self.body, 0), kind).map(Scalar::Time);
        Some(match self.code {
            code::OBJECT => Scalar::Object,
            code::ARRAY => Scalar::Array,
            code::LITERAL => match *self.body.first()? {
                TRUE => Scalar::Bool(true),
                FALSE => Scalar::Bool(false),
                _ => Scalar::Null,
            },
            code::INT => Scalar::Int(u64_at(self.body, 0) as i64),
            code::UINT => Scalar::UInt(u64_at(self.body, 0)),
            code::DOUBLE => Scalar::Double(f64::from_bits(u64_at(self.body, 0))),
            code::STRING => Scalar::String(std::str::from_utf8(sized(self.body)?.0).ok()?),
            code::DATE => time(TimeKind::Date)?,
            code::DATETIME => time(TimeKind::DateTime)?,
            code::TIMESTAMP => time(TimeKind::Timestamp)?,
            code::DURATION => Scalar::Duration(Duration::from_nanos(u64_at(self.body, 0) as i64, u32_at(self.body, 8).min(6) as u8)),
            code::OPAQUE => {
                let (mysql_type, rest) = self.body.split_first()?;
                let (bytes, _) = sized(rest)?;
                if *mysql_type == OPAQUE_DECIMAL {
                    let mut digits = bytes;
                    return Decimal::decode_binary(&mut digits).ok().map(Scalar::Decimal);
                }
                Scalar::Opaque(*mysql_type, bytes)
            }
            _ => return None,
        })
    }

    /// What JSON_TYPE tells apart.
    pub fn kind(&self) -> JsonKind {
        match self.scalar() {
            Scalar::Null => JsonKind::Null,
            Scalar::Bool(_) => JsonKind::Boolean,
            Scalar::Int(_) => JsonKind::Integer,
            Scalar::UInt(_) => JsonKind::UnsignedInteger,
            Scalar::Double(_) => JsonKind::Double,
            Scalar::Decimal(_) => JsonKind::Decimal,
            Scalar::String(_) => JsonKind::String,
            Scalar::Time(time) => JsonKind::of_time(time.kind()),
            Scalar::Duration(_) => JsonKind::Time,
            Scalar::Opaque(mysql_type, _) => JsonKind::of_opaque(mysql_type),
            Scalar::Array => JsonKind::Array,
            Scalar::Object => JsonKind::Object,
        }
    }

    /// Whether it is an array.
    pub fn is_array(&self) -> bool {
        self.code == code::ARRAY
    }

    /// Whether it is an object.
    pub fn is_object(&self) -> bool {
        self.code == code::OBJECT
    }

    /// Elements of an array, members of an object; 1 for a scalar.
    pub fn len(&self) -> usize {
        let entry = match self.code {
            code::ARRAY => ENTRY_BYTES,
            code::OBJECT => ENTRY_BYTES + KEY_ENTRY_BYTES,
            _ => return 1,
        };
        // Damaged counts cost no more than there are bytes.
        u32_at(self.body, 0).min(self.body.len() / entry)
    }

    /// Whether it is an array or object without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entry(&self, at: usize) -> JsonRef<'a> {
        match self.body.get(at) {
            Some(&code::LITERAL) => Self { code: code::LITERAL, body: self.body.get(at + 1..).unwrap_or_default() },
            Some(&code) => match self.body.get(u32_at(self.body, at + 1)..) {
                Some(body) => Self { code, body },
                None => Self::null(),
            },
            None => Self::null(),
        }
    }

    /// Element `i` of an array.
    pub fn element(&self, i: usize) -> Option<JsonRef<'a>> {
        (self.is_array() && i < self.len()).then(|| self.entry(HEADER_BYTES + i * ENTRY_BYTES))
    }

    /// All elements of an array; none of other values.
    pub fn elements(&self) -> impl Iterator<Item = JsonRef<'a>> + use<'a> {
        let array = *self;
        let len = if array.is_array() { array.len() } else { 0 };
        (0..len).filter_map(move |i| array.element(i))
    }

    fn key_at(&self, i: usize) -> &'a str {
        let at = HEADER_BYTES + i * KEY_ENTRY_BYTES;
        let len = self.body.get(at + 4..at + 6).map_or(0, |b| usize::from(u16::from_le_bytes([b[0], b[1]])));
        let offset = u32_at(self.body, at);
        self.body.get(offset..offset + len).and_then(|key| std::str::from_utf8(key).ok()).unwrap_or_default()
    }

    fn value_at(&self, i: usize) -> JsonRef<'a> {
        self.entry(HEADER_BYTES + self.len() * KEY_ENTRY_BYTES + i * ENTRY_BYTES)
    }

    /// The members of an object in MySQL's order, shorter keys first; none of other values.
    pub fn members(&self) -> Vec<(&'a str, JsonRef<'a>)> {
        if !self.is_object() {
            return Vec::new();
        }
        let mut members: Vec<_> = (0..self.len()).map(|i| (self.key_at(i), self.value_at(i))).collect();
        // Stored by bytes already: only the lengths are left to be sorted by.
        members.sort_by_key(|(key, _)| key.len());
        members
    }

    /// The member of an object.
    pub fn member(&self, key: &str) -> Option<JsonRef<'a>> {
        self.member_entry(key).map(|(_, value)| value)
    }

    /// The member of an object, with its key.
    pub fn member_entry(&self, key: &str) -> Option<(&'a str, JsonRef<'a>)> {
        if !self.is_object() {
            return None;
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let found = self.key_at(middle);
            match found.cmp(key) {
                Ordering::Equal => return Some((found, self.value_at(middle))),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Bytes of the value without its code.
    fn body_len(&self) -> Option<usize> {
        Some(match self.code {
            code::OBJECT | code::ARRAY => u32_at(self.body, 4),
            code::LITERAL => 1,
            code::INT | code::UINT | code::DOUBLE | code::DATE | code::DATETIME | code::TIMESTAMP => 8,
            code::DURATION => 12,
            code::STRING => sized(self.body)?.1,
            code::OPAQUE => 1 + sized(self.body.get(1..)?)?.1,
            _ => return None,
        })
    }

    /// The stored form of the value alone.
    pub fn to_binary(&self) -> Vec<u8> {
        let body = self.body_len().and_then(|len| self.body.get(..len));
        match body {
            Some(body) => {
                let mut out = Vec::with_capacity(body.len() + 1);
                out.push(self.code);
                out.extend_from_slice(body);
                out
            }
            None => vec![code::LITERAL, NULL],
        }
    }

    /// Bytes of the stored form.
    pub fn storage_bytes(&self) -> usize {
        1 + self.body_len().unwrap_or(1)
    }

    /// The value as a tree.
    pub fn to_json(&self) -> Json {
        self.tree(1)
    }

    fn tree(&self, depth: usize) -> Json {
        if depth > MAX_DEPTH {
            return Json::Null;
        }
        match self.scalar() {
            Scalar::Null => Json::Null,
            Scalar::Bool(value) => Json::Bool(value),
            Scalar::Int(value) => Json::Int(value),
            Scalar::UInt(value) => Json::UInt(value),
            Scalar::Double(value) => Json::Double(value),
            Scalar::Decimal(value) => Json::Decimal(value),
            Scalar::String(text) => Json::String(text.to_owned()),
            Scalar::Time(value) => Json::Time(value),
            Scalar::Duration(value) => Json::Duration(value),
            Scalar::Opaque(mysql_type, bytes) => Json::Opaque { mysql_type, bytes: bytes.to_vec() },
            Scalar::Array => Json::Array(self.elements().map(|item| item.tree(depth + 1)).collect()),
            Scalar::Object => {
                Json::Object(self.members().into_iter().map(|(key, value)| (key.to_owned(), value.tree(depth + 1))).collect())
            }
        }
    }

    /// Arrays and objects within each other.
    pub fn depth(&self) -> usize {
        self.depth_above(1)
    }

    fn depth_above(&self, depth: usize) -> usize {
        if depth > MAX_DEPTH {
            return 0;
        }
        let below = match self.code {
            code::ARRAY => self.elements().map(|item| item.depth_above(depth + 1)).max(),
            code::OBJECT => self.members().iter().map(|(_, value)| value.depth_above(depth + 1)).max(),
            _ => None,
        };
        1 + below.unwrap_or(0)
    }

    /// Whether the value and all within it are whole, and nothing lies behind it.
    fn is_valid(&self, len: Option<usize>, depth: usize) -> bool {
        let Some(own) = self.body_len().filter(|own| *own <= self.body.len() && len.is_none_or(|len| len == *own)) else { return false };
        let body = &self.body[..own];
        let inside = Self { code: self.code, body };
        let (count, keys) = match self.code {
            code::ARRAY => (u32_at(body, 0), 0),
            code::OBJECT => (u32_at(body, 0), KEY_ENTRY_BYTES),
            code::LITERAL => return body[0] <= FALSE,
            _ => return inside.try_scalar().is_some(),
        };
        let head = count.checked_mul(keys + ENTRY_BYTES).and_then(|bytes| bytes.checked_add(HEADER_BYTES));
        let Some(mut end) = head.filter(|head| depth <= MAX_DEPTH && *head <= own) else { return false };
        if keys > 0 && !(1..count).all(|i| inside.key_at(i - 1) < inside.key_at(i)) {
            return false;
        }
        // Values stand one behind the other: none is read twice, however the offsets are damaged.
        (0..count).all(|i| {
            let at = HEADER_BYTES + count * keys + i * ENTRY_BYTES;
            if body[at] == code::LITERAL {
                return body[at + 1] <= FALSE;
            }
            let offset = u32_at(body, at + 1);
            let value = inside.entry(at);
            let len = value.body_len().filter(|_| offset >= end).and_then(|len| offset.checked_add(len));
            end = match len {
                Some(next) if next <= own => next,
                _ => return false,
            };
            value.is_valid(None, depth + 1)
        })
    }
}

/// Whether bytes are a stored value, whole and with nothing behind it.
pub fn validate(stored: &[u8]) -> bool {
    stored.len() >= 2 && JsonRef::new(stored).is_valid(Some(stored.len() - 1), 1)
}
