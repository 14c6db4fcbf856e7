//! Parts of strings: SUBSTRING, LEFT, RIGHT, SUBSTRING_INDEX, TRIM, and case folding.

use types::{Collation, Datum};

use super::chars;
use crate::error::Result;
use crate::functions::{Args, Builtin, Want};

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("substring", (2, 3), &[Want::Str, Want::Int, Want::Int], |s| s.string(s.chars(0)), substring),
    Builtin::new("left", (2, 2), &[Want::Str, Want::Int], |s| s.string(cut(s)), left),
    Builtin::new("right", (2, 2), &[Want::Str, Want::Int], |s| s.string(cut(s)), right),
    Builtin::new("substring_index", (3, 3), &[Want::Str, Want::Str, Want::Int], |s| s.string(s.chars(0)), substring_index).compares(),
    Builtin::new("trim", (1, 3), &[Want::Str, Want::Str, Want::Raw], |s| s.string(s.chars(0)), trim).compares(),
    Builtin::new("ltrim", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), ltrim),
    Builtin::new("rtrim", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), rtrim),
    Builtin::new("upper", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), upper),
    Builtin::new("lower", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), lower),
];

fn cut(s: &crate::functions::Signature<'_>) -> i64 {
    match (s.chars(0), s.constant_int(1)) {
        (c, Some(n)) if c >= 0 => c.min(n.max(0)),
        (_, Some(n)) => n.max(0),
        (c, None) => c,
    }
}

fn owned(bytes: &[u8]) -> Result<Datum> {
    Ok(Datum::Bytes(bytes.to_vec()))
}

fn substring(a: &Args<'_>) -> Result<Datum> {
    let (s, binary) = (a.bytes(0), a.is_binary());
    let pos = a.int(1);
    let len = if a.len() == 3 { a.int(2) } else { i64::MAX };
    if len <= 0 || pos == 0 {
        return owned(b"");
    }
    let start = if pos > 0 {
        pos as usize - 1
    } else {
        match chars::count(s, binary).checked_sub(pos.unsigned_abs() as usize) {
            Some(start) => start,
            None => return owned(b""),
        }
    };
    let from = chars::offset(s, start, binary);
    let rest = &s[from..];
    let to = if len as u64 >= rest.len() as u64 { rest.len() } else { chars::offset(rest, len as usize, binary) };
    owned(&rest[..to])
}

fn left(a: &Args<'_>) -> Result<Datum> {
    let n = a.int(1).max(0) as usize;
    let s = a.bytes(0);
    let to = if n >= s.len() { s.len() } else { chars::offset(s, n, a.is_binary()) };
    owned(&s[..to])
}

fn right(a: &Args<'_>) -> Result<Datum> {
    let n = a.int(1).max(0) as usize;
    let (s, binary) = (a.bytes(0), a.is_binary());
    let skip = chars::count(s, binary).saturating_sub(n);
    owned(&s[chars::offset(s, skip, binary)..])
}

fn substring_index(a: &Args<'_>) -> Result<Datum> {
    let (s, delimiter, count) = (a.bytes(0), a.bytes(1), a.int(2));
    if s.is_empty() || delimiter.is_empty() || count == 0 {
        return owned(b"");
    }
    let wanted = count.unsigned_abs() as usize;
    if count > 0 {
        let end = memchr::memmem::find_iter(s, delimiter).nth(wanted - 1).unwrap_or(s.len());
        return owned(&s[..end]);
    }
    let start = memchr::memmem::rfind_iter(s, delimiter).nth(wanted - 1).map_or(0, |at| at + delimiter.len());
    owned(&s[start..])
}

fn trim(a: &Args<'_>) -> Result<Datum> {
    let remove = if a.len() > 1 { a.bytes(1) } else { b" " };
    let (leading, trailing) = match if a.len() > 2 { a.bytes(2) } else { b"BOTH" } {
        b"LEADING" => (true, false),
        b"TRAILING" => (false, true),
        _ => (true, true),
    };
    let mut s = a.bytes(0);
    if remove.is_empty() {
        return owned(s);
    }
    while leading && s.starts_with(remove) {
        s = &s[remove.len()..];
    }
    while trailing && s.ends_with(remove) {
        s = &s[..s.len() - remove.len()];
    }
    owned(s)
}

fn ltrim(a: &Args<'_>) -> Result<Datum> {
    let s = a.bytes(0);
    owned(&s[s.iter().take_while(|b| **b == b' ').count()..])
}

fn rtrim(a: &Args<'_>) -> Result<Datum> {
    let s = a.bytes(0);
    owned(&s[..s.len() - s.iter().rev().take_while(|b| **b == b' ').count()])
}

/// Folds characters one to one, as MySQL does: a character whose folding has another length in characters stays.
fn fold_case(a: &Args<'_>, ascii: fn(&[u8]) -> Vec<u8>, fold: fn(char) -> Option<char>) -> Result<Datum> {
    let s = a.bytes(0);
    if a.call.collation == Collation::Binary {
        return owned(s);
    }
    if s.is_ascii() {
        return Ok(Datum::Bytes(ascii(s)));
    }
    let mut out = Vec::with_capacity(s.len());
    for c in chars::each(s, false) {
        match std::str::from_utf8(c).ok().and_then(|t| t.chars().next()) {
            Some(c) => out.extend_from_slice(fold(c).unwrap_or(c).encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(c),
        }
    }
    Ok(Datum::Bytes(out))
}

fn only<I: Iterator<Item = char>>(mut folded: I) -> Option<char> {
    let first = folded.next()?;
    folded.next().is_none().then_some(first)
}

fn upper(a: &Args<'_>) -> Result<Datum> {
    fold_case(a, |s| s.to_ascii_uppercase(), |c| only(c.to_uppercase()))
}

fn lower(a: &Args<'_>) -> Result<Datum> {
    fold_case(a, |s| s.to_ascii_lowercase(), |c| only(c.to_lowercase()))
}
