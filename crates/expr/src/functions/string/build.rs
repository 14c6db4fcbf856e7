//! Functions that put strings together: CONCAT, REPEAT, LPAD, REPLACE, INSERT, ELT, MAKE_SET ….
//!
//! A result longer than `max_allowed_packet` is NULL with warning 1301, and is never built.

use types::Datum;

use super::chars;
use crate::error::Result;
use crate::functions::{ANY, Args, Builtin, Signature, Want};

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("concat", (1, ANY), &[Want::Str], |s| s.string(sum_chars(s, 0, 0)), concat),
    Builtin::new("concat_ws", (2, ANY), &[Want::Str], |s| s.string(sum_chars(s, 1, s.chars(0))), concat_ws).sees_null(),
    Builtin::new("repeat", (2, 2), &[Want::Str, Want::Int], |s| s.string(times(s, 0, 1)), repeat),
    Builtin::new("space", (1, 1), &[Want::Int], |s| s.connection_string(s.constant_int(0).unwrap_or(-1).max(-1)), space),
    Builtin::new("lpad", (3, 3), &[Want::Str, Want::Int, Want::Str], |s| s.string(s.constant_int(1).unwrap_or(-1).max(-1)), lpad),
    Builtin::new("rpad", (3, 3), &[Want::Str, Want::Int, Want::Str], |s| s.string(s.constant_int(1).unwrap_or(-1).max(-1)), rpad),
    Builtin::new("reverse", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), reverse),
    Builtin::new("replace", (3, 3), &[Want::Str], |s| s.string(replaced_chars(s)), replace).compares(),
    Builtin::new("insert", (4, 4), &[Want::Str, Want::Int, Want::Int, Want::Str], |s| s.string(add(s.chars(0), s.chars(3))), insert),
    Builtin::new("quote", (1, 1), &[Want::Str], |s| s.string(add(double(s.chars(0)), 2)), quote).sees_null(),
    Builtin::new("elt", (2, ANY), &[Want::Int, Want::Str], |s| s.string(widest(s, 1)), elt).sees_null(),
    Builtin::new("make_set", (2, ANY), &[Want::Int, Want::Str], |s| s.string(sum_chars(s, 1, 1)), make_set).sees_null(),
    Builtin::new(
        "export_set",
        (3, 5),
        &[Want::Int, Want::Str, Want::Str, Want::Str, Want::Int],
        |s| s.string(add(s.chars(1).max(s.chars(2)), if s.args.len() > 3 { s.chars(3) } else { 1 }).saturating_mul(64).max(-1)),
        export_set,
    ),
    Builtin::new("soundex", (1, 1), &[Want::Str], |s| s.string(s.chars(0).max(4)), soundex),
];

fn add(a: i64, b: i64) -> i64 {
    if a < 0 || b < 0 { -1 } else { a.saturating_add(b) }
}

fn double(a: i64) -> i64 {
    if a < 0 { -1 } else { a.saturating_mul(2) }
}

fn sum_chars(s: &Signature<'_>, from: usize, separator: i64) -> i64 {
    let total = (from..s.args.len()).fold(0, |sum, i| add(sum, s.chars(i)));
    let gaps = s.args.len().saturating_sub(from + 1) as i64;
    if separator < 0 { -1 } else { add(total, gaps.saturating_mul(separator)) }
}

fn widest(s: &Signature<'_>, from: usize) -> i64 {
    (from..s.args.len()).try_fold(0, |w, i| if s.chars(i) < 0 { None } else { Some(w.max(s.chars(i))) }).unwrap_or(-1)
}

fn times(s: &Signature<'_>, text: usize, count: usize) -> i64 {
    match (s.chars(text), s.constant_int(count)) {
        (c, Some(n)) if c >= 0 => c.saturating_mul(n.max(0)),
        _ => -1,
    }
}

fn replaced_chars(s: &Signature<'_>) -> i64 {
    let (text, to) = (s.chars(0), s.chars(2));
    if text < 0 || to < 0 { -1 } else { text.saturating_mul(to.max(1)) }
}

fn concat(a: &Args<'_>) -> Result<Datum> {
    let len: usize = (0..a.len()).map(|i| a.bytes(i).len()).sum();
    if a.exceeds_packet(len as u64) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::with_capacity(len);
    (0..a.len()).for_each(|i| out.extend_from_slice(a.bytes(i)));
    Ok(Datum::Bytes(out))
}

fn concat_ws(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    let mut first = true;
    for i in (1..a.len()).filter(|i| !a.is_null(*i)) {
        if !first {
            out.extend_from_slice(a.bytes(0));
        }
        first = false;
        out.extend_from_slice(a.bytes(i));
        if a.exceeds_packet(out.len() as u64) {
            return Ok(Datum::Null);
        }
    }
    Ok(Datum::Bytes(out))
}

fn repeat(a: &Args<'_>) -> Result<Datum> {
    let (s, n) = (a.bytes(0), a.int(1).max(0) as u64);
    if a.exceeds_packet((s.len() as u64).saturating_mul(n)) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bytes(s.repeat(if s.is_empty() { 0 } else { n as usize })))
}

fn space(a: &Args<'_>) -> Result<Datum> {
    let n = a.int(0).max(0) as u64;
    if a.exceeds_packet(n) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bytes(vec![b' '; n as usize]))
}

/// The padding for `lpad`/`rpad`: `missing` characters of `pad`, repeated; `None` if the string is cut instead.
fn padding(pad: &[u8], missing: usize, binary: bool) -> Vec<u8> {
    let per_round = chars::count(pad, binary);
    let mut out = pad.repeat(missing / per_round);
    out.extend_from_slice(&pad[..chars::offset(pad, missing % per_round, binary)]);
    out
}

fn pad(a: &Args<'_>, left: bool) -> Result<Datum> {
    let (s, wanted, with, binary) = (a.bytes(0), a.int(1), a.bytes(2), a.is_binary());
    if wanted < 0 || (a.is_unsigned(1) && wanted == i64::MAX) {
        return Ok(Datum::Null);
    }
    let width = if binary { 1 } else { 4 };
    if a.exceeds_packet((wanted as u64).saturating_mul(width)) {
        return Ok(Datum::Null);
    }
    let wanted = wanted as usize;
    let have = chars::count(s, binary);
    if wanted <= have {
        return Ok(Datum::Bytes(s[..chars::offset(s, wanted, binary)].to_vec()));
    }
    if with.is_empty() {
        return Ok(Datum::Bytes(Vec::new()));
    }
    let mut fill = padding(with, wanted - have, binary);
    if left {
        fill.extend_from_slice(s);
        return Ok(Datum::Bytes(fill));
    }
    let mut out = s.to_vec();
    out.append(&mut fill);
    Ok(Datum::Bytes(out))
}

fn lpad(a: &Args<'_>) -> Result<Datum> {
    pad(a, true)
}

fn rpad(a: &Args<'_>) -> Result<Datum> {
    pad(a, false)
}

fn reverse(a: &Args<'_>) -> Result<Datum> {
    let s = a.bytes(0);
    let mut out = s.to_vec();
    if a.is_binary() || s.is_ascii() {
        out.reverse();
        return Ok(Datum::Bytes(out));
    }
    let mut end = s.len();
    for c in chars::each(s, false) {
        end -= c.len();
        out[end..end + c.len()].copy_from_slice(c);
    }
    Ok(Datum::Bytes(out))
}

fn replace(a: &Args<'_>) -> Result<Datum> {
    let (s, from, to) = (a.bytes(0), a.bytes(1), a.bytes(2));
    if from.is_empty() {
        return Ok(Datum::Bytes(s.to_vec()));
    }
    let mut out = Vec::with_capacity(s.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(s, from) {
        out.extend_from_slice(&s[copied..at]);
        out.extend_from_slice(to);
        copied = at + from.len();
        if a.exceeds_packet(out.len() as u64) {
            return Ok(Datum::Null);
        }
    }
    out.extend_from_slice(&s[copied..]);
    Ok(Datum::Bytes(out))
}

fn insert(a: &Args<'_>) -> Result<Datum> {
    let (s, pos, len, new, binary) = (a.bytes(0), a.int(1), a.int(2), a.bytes(3), a.is_binary());
    let have = chars::count(s, binary) as i64;
    if pos < 1 || pos > have {
        return Ok(Datum::Bytes(s.to_vec()));
    }
    let start = pos - 1;
    let len = if len < 0 || len > have - start { have - start } else { len };
    let from = chars::offset(s, start as usize, binary);
    let to = from + chars::offset(&s[from..], len as usize, binary);
    if a.exceeds_packet((s.len() + new.len()) as u64) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bytes([&s[..from], new, &s[to..]].concat()))
}

fn quote(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Bytes(b"NULL".to_vec()));
    }
    let s = a.bytes(0);
    let mut out = Vec::with_capacity(s.len() + 2);
    out.push(b'\'');
    for &b in s {
        match b {
            b'\\' | b'\'' => out.extend_from_slice(&[b'\\', b]),
            0 => out.extend_from_slice(b"\\0"),
            0x1a => out.extend_from_slice(b"\\Z"),
            _ => out.push(b),
        }
    }
    out.push(b'\'');
    Ok(Datum::Bytes(out))
}

fn elt(a: &Args<'_>) -> Result<Datum> {
    let n = if a.is_null(0) { 0 } else { a.int(0) };
    if n < 1 || n >= a.len() as i64 || a.is_null(n as usize) {
        return Ok(Datum::Null);
    }
    Ok(Datum::Bytes(a.bytes(n as usize).to_vec()))
}

fn make_set(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Null);
    }
    let bits = a.bits(0);
    let mut out = Vec::new();
    let mut first = true;
    for i in (1..a.len()).take(64).filter(|i| bits >> (i - 1) & 1 == 1 && !a.is_null(*i)) {
        if !first {
            out.push(b',');
        }
        first = false;
        out.extend_from_slice(a.bytes(i));
    }
    Ok(Datum::Bytes(out))
}

fn export_set(a: &Args<'_>) -> Result<Datum> {
    let bits = a.bits(0);
    let separator = if a.len() > 3 { a.bytes(3) } else { b"," };
    let count = match a.len() {
        5 => usize::try_from(a.int(4)).map_or(64, |n| n.min(64)),
        _ => 64,
    };
    let per_bit = a.bytes(1).len().max(a.bytes(2).len()) + separator.len();
    if a.exceeds_packet((per_bit * count) as u64) {
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    for i in 0..count {
        if i > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(a.bytes(if bits >> i & 1 == 1 { 1 } else { 2 }));
    }
    Ok(Datum::Bytes(out))
}

/// Digit of an upper-case letter, `0` for vowels and the letters that separate nothing.
fn soundex_code(c: char) -> Option<u8> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    if c.is_ascii_uppercase() { Some(CODES[(c as u8 - b'A') as usize]) } else { None }
}

fn soundex(a: &Args<'_>) -> Result<Datum> {
    let text = a.text(0);
    let mut letters = text.chars().filter(|c| c.is_alphabetic()).map(|c| c.to_ascii_uppercase());
    let Some(first) = letters.next() else { return Ok(Datum::Bytes(Vec::new())) };
    let mut out = String::from(first);
    let mut last = soundex_code(first).unwrap_or(b'0');
    for code in letters.map(|c| soundex_code(c).unwrap_or(b'0')) {
        // Vowels go before what is double, so they separate nothing.
        if code != b'0' && code != last {
            out.push(code as char);
            last = code;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    Ok(Datum::Bytes(out.into_bytes()))
}
