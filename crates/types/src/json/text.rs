//! Values as MySQL prints them.
//!
//! A blank behind commas and colons, shorter keys first, temporal values quoted with six fraction digits, byte strings as
//! `"base64:type253:…"`. JSON_PRETTY puts every element on a line of its own, indented by two blanks.

use std::borrow::Cow;

use super::{Json, JsonRef, MAX_DEPTH, binary::Scalar};
use crate::{text::write_f64, time::TimeKind};

/// What JSON_UNQUOTE makes of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Unquoted<'a> {
    /// The text itself: it is not quoted.
    Same(&'a str),
    /// The string that was quoted.
    Text(String),
    /// Quotes at both ends, but no JSON string between them: error 3141 with what the parser says.
    Invalid(super::JsonError),
}

/// Appends a string in quotes, with what needs it escaped.
pub fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let escape = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => 0,
            _ => continue,
        };
        out.extend_from_slice(&bytes[copied..at]);
        copied = at + 1;
        if escape != 0 {
            out.extend_from_slice(&[b'\\', escape]);
        } else {
            out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
        }
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

/// A text that begins and ends with a quotation mark is a JSON string; any other is itself.
pub fn unquote(text: &str) -> Unquoted<'_> {
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return Unquoted::Same(text);
    }
    match super::parse(text.as_bytes()) {
        Ok(Json::String(inside)) => Unquoted::Text(inside),
        Ok(_) => Unquoted::Same(text),
        Err(error) => Unquoted::Invalid(error),
    }
}

impl JsonRef<'_> {
    /// Appends the value as MySQL prints it.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        write(self, out, None, 1);
    }

    /// The value as MySQL prints it.
    pub fn to_text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write_text(&mut out);
        out
    }

    /// Appends the value as JSON_PRETTY prints it.
    pub fn write_pretty(&self, out: &mut Vec<u8>) {
        write(self, out, Some(0), 1);
    }

    /// The text of a string without quotes; of other values what is printed, temporal values without quotes too.
    pub fn unquoted(&self) -> Cow<'_, [u8]> {
        match self.scalar() {
            Scalar::String(text) => Cow::Borrowed(text.as_bytes()),
            scalar => {
                let mut out = Vec::new();
                if !write_quoted(&scalar, &mut out) {
                    self.write_text(&mut out);
                }
                Cow::Owned(out)
            }
        }
    }
}

/// Appends what stands between the quotes of values that are printed as strings; false for all others.
fn write_quoted(scalar: &Scalar<'_>, out: &mut Vec<u8>) -> bool {
    match scalar {
        Scalar::Time(time) if time.kind() == TimeKind::Date => time.write_text(out),
        Scalar::Time(time) => time.with_kind(TimeKind::DateTime, 6).write_text(out),
        Scalar::Duration(duration) => duration.round_to_fsp(6).write_text(out),
        Scalar::Opaque(mysql_type, bytes) => {
            out.extend_from_slice(format!("base64:type{mysql_type}:").as_bytes());
            write_base64(bytes, out);
        }
        _ => return false,
    }
    true
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for i in 0..4 {
            out.push(if i <= group.len() { DIGITS[(word >> (18 - 6 * i) & 63) as usize] } else { b'=' });
        }
    }
}

fn new_line(out: &mut Vec<u8>, indent: usize) {
    out.push(b'\n');
    out.resize(out.len() + indent * 2, b' ');
}

/// Writes a value; with an indentation one element a line.
fn write(json: &JsonRef<'_>, out: &mut Vec<u8>, indent: Option<usize>, depth: usize) {
    if depth > MAX_DEPTH {
        return out.extend_from_slice(b"null");
    }
    let deeper = indent.map(|indent| indent + 1);
    let separate = |out: &mut Vec<u8>, first: bool| {
        if !first {
            out.push(b',');
        }
        match deeper {
            Some(indent) => new_line(out, indent),
            None if !first => out.push(b' '),
            None => {}
        }
    };
    let close = |out: &mut Vec<u8>, empty: bool, bracket: u8| {
        if let (Some(indent), false) = (indent, empty) {
            new_line(out, indent);
        }
        out.push(bracket);
    };
    match json.scalar() {
        Scalar::Null => out.extend_from_slice(b"null"),
        Scalar::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Scalar::Int(value) => crate::text::write_i64(value, out),
        Scalar::UInt(value) => crate::text::write_u64(value, out),
        Scalar::Double(value) => write_double(value, out),
        Scalar::Decimal(value) => value.write_text(out),
        Scalar::String(text) => quote(text, out),
        scalar @ (Scalar::Time(_) | Scalar::Duration(_) | Scalar::Opaque(..)) => {
            out.push(b'"');
            write_quoted(&scalar, out);
            out.push(b'"');
        }
        Scalar::Array => {
            out.push(b'[');
            for (i, item) in json.elements().enumerate() {
                separate(out, i == 0);
                write(&item, out, deeper, depth + 1);
            }
            close(out, json.is_empty(), b']');
        }
        Scalar::Object => {
            out.push(b'{');
            for (i, (key, value)) in json.members().iter().enumerate() {
                separate(out, i == 0);
                quote(key, out);
                out.extend_from_slice(b": ");
                write(value, out, deeper, depth + 1);
            }
            close(out, json.is_empty(), b'}');
        }
    }
}

/// A double never looks like an integer.
fn write_double(value: f64, out: &mut Vec<u8>) {
    let start = out.len();
    write_f64(value, out);
    if out[start..].iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        out.extend_from_slice(b".0");
    }
}
