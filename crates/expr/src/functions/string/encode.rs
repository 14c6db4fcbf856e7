//! Encodings: HEX, UNHEX, CONV, BIN, OCT, CHAR, BASE64, FORMAT.

use types::{Collation, Datum, DatumRef, EvalType};

use crate::build::cast;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::Expr;
use crate::functions::{ANY, Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("unhex", (1, 1), &[Want::Raw], |s| rt::string(s.chars(0), Collation::Binary), unhex),
    Builtin::new("conv", (3, 3), &[Want::Digits, Want::Int, Want::Int], |s| s.connection_string(64), conv),
    Builtin::new("bin", (1, 1), &[Want::Digits], |s| s.connection_string(64), bin),
    Builtin::new("oct", (1, 1), &[Want::Digits], |s| s.connection_string(64), oct),
    Builtin::new("char", (1, ANY), &[Want::Int], |s| rt::string(s.args.len() as i64 * 4, Collation::Binary), char_of)
        .sees_null()
        .never_null(),
    Builtin::new("to_base64", (1, 1), &[Want::Raw], |s| s.connection_string(if s.chars(0) < 0 { -1 } else { s.chars(0) * 6 }), to_base64),
    Builtin::new("from_base64", (1, 1), &[Want::Raw], |s| rt::string(s.chars(0), Collation::Binary), from_base64),
    Builtin::new("weight_string", (1, 1), &[Want::Str], |_| rt::string(-1, Collation::Binary), weight_string),
];

pub(super) const SPECIALS: &[Special] =
    &[Special { name: "hex", arity: (1, 1), build: build_hex }, Special { name: "format", arity: (2, 3), build: build_format }];

static HEX_STRING: Builtin =
    Builtin::new("hex", (1, 1), &[Want::Raw], |s| s.connection_string(if s.chars(0) < 0 { -1 } else { s.chars(0) * 8 }), hex_string);
static HEX_NUMBER: Builtin = Builtin::new("hex", (1, 1), &[Want::Int], |s| s.connection_string(16), hex_number);
static FORMAT_EXACT: Builtin =
    Builtin::new("format", (2, 3), &[Want::Dec, Want::Int, Want::Raw], |s| s.connection_string(108), format_exact).sees_null();
static FORMAT_REAL: Builtin =
    Builtin::new("format", (2, 3), &[Want::Real, Want::Int, Want::Raw], |s| s.connection_string(108), format_real).sees_null();

fn text(s: impl Into<Vec<u8>>) -> Result<Datum> {
    Ok(Datum::Bytes(s.into()))
}

/// Upper-case hexadecimal digits of the bytes.
pub(crate) fn to_hex(bytes: &[u8], lower: bool) -> Vec<u8> {
    let digits: &[u8; 16] = if lower { b"0123456789abcdef" } else { b"0123456789ABCDEF" };
    bytes.iter().flat_map(|b| [digits[usize::from(b >> 4)], digits[usize::from(b & 15)]]).collect()
}

fn build_hex(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    match args[0].eval_type() {
        EvalType::Int | EvalType::Real | EvalType::Decimal => HEX_NUMBER.build(args, ctx),
        _ => HEX_STRING.build(args, ctx),
    }
}

fn hex_string(a: &Args<'_>) -> Result<Datum> {
    text(to_hex(a.bytes(0), false))
}

fn hex_number(a: &Args<'_>) -> Result<Datum> {
    text(format!("{:X}", a.bits(0)))
}

/// The bytes of hexadecimal digits; an odd first digit stands alone. `None` if there is another character.
pub(crate) fn parse_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
    let mut out = Vec::with_capacity(digits.len().div_ceil(2));
    let (first, rest) = digits.split_at(digits.len() % 2);
    for b in first {
        out.push(value(*b)?);
    }
    for pair in rest.chunks(2) {
        out.push(value(pair[0])? << 4 | value(pair[1])?);
    }
    Some(out)
}

fn unhex(a: &Args<'_>) -> Result<Datum> {
    match parse_hex(a.bytes(0)) {
        Some(bytes) => text(bytes),
        None => {
            a.warn(1411, format!("Incorrect string value: '{}' for function unhex", a.text(0)));
            Ok(Datum::Null)
        }
    }
}

/// The digits of a number in a base from 2 to 36.
fn digits_in(mut value: u64, base: u64) -> String {
    let mut out = Vec::new();
    loop {
        out.push(std::char::from_digit((value % base) as u32, base as u32).unwrap_or('0').to_ascii_uppercase() as u8);
        value /= base;
        if value == 0 {
            break;
        }
    }
    out.reverse();
    String::from_utf8(out).unwrap_or_default()
}

/// Reads the longest prefix of digits of a base; saturates. The sign is applied in two's complement, unless it is kept for `signed`.
fn parse_in(digits: &[u8], base: u64, signed: bool) -> u64 {
    let trimmed = digits.trim_ascii_start();
    let (negative, rest) = match trimmed.first() {
        Some(b'-') => (true, &trimmed[1..]),
        Some(b'+') => (false, &trimmed[1..]),
        _ => (false, trimmed),
    };
    let mut value = 0u64;
    for d in rest.iter().map_while(|b| (*b as char).to_digit(base as u32)) {
        value = match value.checked_mul(base).and_then(|v| v.checked_add(u64::from(d))) {
            Some(v) => v,
            None => return u64::MAX,
        };
    }
    if signed {
        let limit = if negative { 1 << 63 } else { i64::MAX as u64 };
        value = value.min(limit);
    }
    if negative { value.wrapping_neg() } else { value }
}

fn convert_base(digits: &[u8], from: i64, to: i64) -> Option<String> {
    let (from_base, to_base) = (from.unsigned_abs(), to.unsigned_abs());
    if !(2..=36).contains(&from_base) || !(2..=36).contains(&to_base) || digits.is_empty() {
        return None;
    }
    let value = parse_in(digits, from_base, from < 0);
    if to < 0 && (value as i64) < 0 {
        return Some(format!("-{}", digits_in((value as i64).unsigned_abs(), to_base)));
    }
    Some(digits_in(value, to_base))
}

fn conv(a: &Args<'_>) -> Result<Datum> {
    convert_base(a.bytes(0), a.int(1), a.int(2)).map_or(Ok(Datum::Null), text)
}

fn bin(a: &Args<'_>) -> Result<Datum> {
    convert_base(a.bytes(0), 10, 2).map_or(Ok(Datum::Null), text)
}

fn oct(a: &Args<'_>) -> Result<Datum> {
    convert_base(a.bytes(0), 10, 8).map_or(Ok(Datum::Null), text)
}

fn char_of(a: &Args<'_>) -> Result<Datum> {
    let mut out = Vec::new();
    for i in (0..a.len()).filter(|i| !a.is_null(*i)) {
        let bytes = (a.bits(i) as u32).to_be_bytes();
        let skip = bytes.iter().take(3).take_while(|b| **b == 0).count();
        out.extend_from_slice(&bytes[skip..]);
    }
    text(out)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(a: &Args<'_>) -> Result<Datum> {
    let mut out = Vec::with_capacity(a.bytes(0).len() * 4 / 3 + 4);
    for (i, group) in a.bytes(0).chunks(3).enumerate() {
        // 76 characters a line: 19 groups.
        if i > 0 && i % 19 == 0 {
            out.push(b'\n');
        }
        let word = group.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for k in 0..4 {
            out.push(if k <= group.len() { BASE64[(word >> (18 - 6 * k) & 63) as usize] } else { b'=' });
        }
    }
    text(out)
}

fn from_base64(a: &Args<'_>) -> Result<Datum> {
    Ok(decode_base64(a.bytes(0)).map_or(Datum::Null, Datum::Bytes))
}

fn decode_base64(input: &[u8]) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = input.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(symbols.len() / 4 * 3);
    let groups = symbols.len() / 4;
    for (i, group) in symbols.chunks(4).enumerate() {
        let padding = group.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || (padding > 0 && i + 1 != groups) {
            return None;
        }
        let mut word = 0u32;
        for symbol in &group[..4 - padding] {
            word = word << 6 | BASE64.iter().position(|b| b == symbol)? as u32;
        }
        word <<= 6 * padding as u32;
        out.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

fn weight_string(a: &Args<'_>) -> Result<Datum> {
    let mut key = Vec::new();
    a.collation().sort_key(a.bytes(0), &mut key);
    text(key)
}

fn build_format(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let builtin = match args[0].eval_type() {
        EvalType::Int | EvalType::Decimal => &FORMAT_EXACT,
        _ => &FORMAT_REAL,
    };
    if args[0].eval_type() == EvalType::Int {
        let first = args.remove(0);
        args.insert(0, cast::to_class(first, EvalType::Decimal, ctx)?);
    }
    builtin.build(args, ctx)
}

/// Decimal point and thousands separator of a locale; `en_US` for unknown ones, with warning 1649.
fn locale(a: &Args<'_>) -> (char, Option<char>) {
    if a.len() < 3 || a.is_null(2) {
        return ('.', Some(','));
    }
    match a.text(2).as_ref() {
        "en_US" | "en_GB" | "en_AU" | "en_CA" | "en_IN" | "zh_CN" | "zh_TW" | "ja_JP" | "ko_KR" | "th_TH" | "he_IL" => ('.', Some(',')),
        "de_DE" | "nl_NL" | "da_DK" | "id_ID" | "tr_TR" | "es_ES" | "pt_BR" | "it_IT" | "nb_NO" | "el_GR" | "ro_RO" => (',', Some('.')),
        "de_AT" | "es_MX" if a.text(2) == "es_MX" => ('.', Some(',')),
        "de_CH" => ('.', Some('\'')),
        "ru_RU" | "uk_UA" | "bg_BG" => (',', Some('.')),
        "fr_FR" | "pl_PL" | "cs_CZ" | "sk_SK" | "sv_SE" | "fi_FI" | "hu_HU" | "de_AT" | "fr_BE" | "pt_PT" => match a.text(2).as_ref() {
            "cs_CZ" | "sk_SK" | "sv_SE" | "fi_FI" => (',', Some(' ')),
            "hu_HU" => (',', Some('.')),
            _ => (',', None),
        },
        unknown => {
            a.warn(1649, format!("Unknown locale: '{unknown}'"));
            ('.', Some(','))
        }
    }
}

fn grouped(number: &str, point: char, separator: Option<char>) -> String {
    let (sign, unsigned) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (int, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut out = String::from(sign);
    for (i, digit) in int.chars().enumerate() {
        if i > 0 && (int.len() - i) % 3 == 0 {
            out.extend(separator);
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push(point);
        out.push_str(fraction);
    }
    out
}

fn format_scale(a: &Args<'_>) -> Option<i32> {
    match (a.datum(0), a.datum(1)) {
        (DatumRef::Null, _) | (_, DatumRef::Null) => None,
        _ => Some(a.int(1).clamp(0, i64::from(rt::MAX_SCALE)) as i32),
    }
}

fn format_exact(a: &Args<'_>) -> Result<Datum> {
    let Some(scale) = format_scale(a) else { return Ok(Datum::Null) };
    let (point, separator) = locale(a);
    let mut digits = Vec::new();
    a.decimal(0).write_text_scaled(scale as u8, &mut digits);
    text(grouped(&String::from_utf8_lossy(&digits), point, separator))
}

fn format_real(a: &Args<'_>) -> Result<Datum> {
    let Some(scale) = format_scale(a) else { return Ok(Datum::Null) };
    let (point, separator) = locale(a);
    let rounded = crate::functions::numeric::rounding::round_real(a.real(0), scale);
    text(grouped(&format!("{rounded:.*}", scale as usize), point, separator))
}
