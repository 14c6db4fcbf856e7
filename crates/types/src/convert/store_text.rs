//! Text, byte strings, ENUM and SET on their way into a column.

use super::{Conversion, too_long, truncated};
use crate::{
    charset::Charset,
    collation::trim_spaces,
    datum::{Datum, DatumRef},
    error::{Error, Result},
    field_type::{FieldType, TypeKind},
    text::enum_text,
};

impl Conversion<'_> {
    pub(super) fn store_text(&mut self, datum: Datum, ty: &FieldType) -> Result<Datum> {
        let mut text = match datum {
            Datum::Null => return Ok(Datum::Null),
            Datum::Bytes(text) => text,
            other => self.text_of(other.as_ref()),
        };
        let charset = if ty.is_text() { ty.charset } else { Charset::Binary };
        if charset == Charset::Utf8mb4
            && let Err(error) = std::str::from_utf8(&text)
        {
            let valid = error.valid_up_to();
            let error = Error::IncorrectForColumn { kind: "string", value: printable(&text[valid..]), column: String::new(), row: 0 };
            text = self.reject(error, text[..valid].to_vec())?;
        }
        let limit = self.limit_of(&text, ty, charset);
        if let Some(limit) = limit {
            let only_spaces = charset != Charset::Binary && trim_spaces(&text[limit..]).is_empty();
            if !only_spaces {
                // The error says that the data is too long, the warning that it was cut.
                if self.mode.strict {
                    return Err(too_long());
                }
                self.warn(truncated());
            } else if ty.tp != TypeKind::Char {
                self.note_truncation();
            }
            text.truncate(limit);
        }
        match ty.tp {
            TypeKind::Char => text.truncate(trim_spaces(&text).len()),
            TypeKind::Binary => text.resize(ty.flen.max(0) as usize, 0),
            _ => {}
        }
        Ok(Datum::Bytes(text))
    }

    /// Where a text that is too long must be cut.
    fn limit_of(&self, text: &[u8], ty: &FieldType, charset: Charset) -> Option<usize> {
        let limit = if ty.tp.is_blob() {
            let most = ty.max_bytes() as usize;
            if text.len() <= most {
                return None;
            }
            // Never inside of a character.
            (0..=most).rev().find(|&at| charset == Charset::Binary || (text[at] as i8) >= -0x40).unwrap_or(0)
        } else {
            let chars = usize::try_from(ty.flen).ok()?;
            charset.prefix_len(text, chars)
        };
        (limit < text.len()).then_some(limit)
    }

    /// The text of a value of any type.
    pub(super) fn text_of(&self, datum: DatumRef<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        datum.write_text_in_zone(&FieldType::null(), self.zone, &mut out);
        out
    }

    pub(super) fn store_enum(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let of_number = |number: u64| (number >= 1 && number <= ty.elems.len() as u64).then_some(number);
        let found = match datum {
            DatumRef::Bytes(text) => {
                let by_name = ty.elems.iter().position(|member| ty.collation.equal(member.as_bytes(), trim_spaces(text)));
                // A text that is no member may be the number of one.
                let by_number = || std::str::from_utf8(text).ok()?.parse().ok().and_then(of_number);
                by_name.map(|at| at as u64 + 1).or_else(by_number)
            }
            DatumRef::Null => return Ok(Datum::Null),
            // The error value may be copied.
            DatumRef::UInt(0) | DatumRef::Int(0) if !self.mode.strict => Some(0),
            other => other.number().filter(|number| *number >= 0.0).map(|number| number as u64).and_then(of_number),
        };
        match found {
            Some(number) => {
                debug_assert!(number == 0 || !enum_text(number, ty).is_empty() || ty.elems[number as usize - 1].is_empty());
                Ok(Datum::UInt(number))
            }
            None => self.reject(truncated(), Datum::UInt(0)),
        }
    }

    pub(super) fn store_set(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let members = ty.elems.len().min(64);
        let all = if members == 0 { 0 } else { u64::MAX >> (64 - members) };
        let (bits, complete) = match datum {
            DatumRef::Null => return Ok(Datum::Null),
            DatumRef::Bytes([]) => (0, true),
            DatumRef::Bytes(text) => {
                let mut bits = 0;
                let mut complete = true;
                for part in text.split(|&byte| byte == b',') {
                    match ty.elems.iter().take(64).position(|member| ty.collation.equal(member.as_bytes(), trim_spaces(part))) {
                        Some(at) => bits |= 1 << at,
                        None => complete = false,
                    }
                }
                match std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok()) {
                    Some(number) if !complete && number & !all == 0 => (number, true),
                    _ => (bits, complete),
                }
            }
            other => {
                let number = other.number().filter(|number| *number >= 0.0).map(|number| number as u64);
                (number.unwrap_or(0) & all, number.is_some_and(|number| number & !all == 0))
            }
        };
        if complete { Ok(Datum::UInt(bits)) } else { self.reject(truncated(), Datum::UInt(bits)) }
    }
}

/// Up to six bytes as the message of error 1366 shows them: ASCII as it is, all else as `\xHH`.
fn printable(bytes: &[u8]) -> String {
    const MOST: usize = 6;
    let mut out = String::new();
    for &byte in bytes.iter().take(MOST) {
        match byte {
            0x20..0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02X}")),
        }
    }
    if bytes.len() > MOST {
        out.push_str("...");
    }
    out
}
