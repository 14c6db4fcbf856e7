//! What the span of a literal or name means.

use super::{Kw, Lexer, Tok, Token};
use crate::{
    ParseErrorKind, ParseOptions,
    ast::{IntroducedString, Literal},
};

/// The character sets of MySQL 8.0, and its alias `utf8`.
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8", "eucjpms",
    "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5",
    "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
];

/// Whether MySQL knows a character set of this name.
pub(crate) fn known_charset(name: &[u8]) -> bool {
    CHARSETS.iter().any(|c| c.as_bytes().eq_ignore_ascii_case(name))
}

/// The value of a literal token.
pub(crate) fn literal(text: &[u8], token: Token, opts: &ParseOptions) -> Result<Literal, ParseErrorKind> {
    let span = &text[token.start as usize..token.end as usize];
    Ok(match token.tok {
        Tok::Int => integer(span),
        Tok::Decimal => Literal::Decimal(ascii(span).into()),
        Tok::Float => {
            let digits = ascii(span);
            match digits.parse::<f64>() {
                Ok(value) if value.is_finite() => Literal::Float(value),
                _ => return Err(ParseErrorKind::IllegalNumber(digits.to_owned())),
            }
        }
        Tok::Str => Literal::Str(string(span, token.escaped, opts)),
        Tok::NationalStr => {
            let value = string(&span[1..], token.escaped, opts);
            Literal::Introduced(Box::new(IntroducedString { charset: "utf8mb3".into(), value }))
        }
        Tok::Hex => Literal::Hex(hex(span)),
        Tok::Bit => Literal::Bit(bits(span)),
        Tok::Introduced => introduced(span, token.escaped, opts),
        _ => unreachable!("only literal tokens have a value"),
    })
}

fn ascii(span: &[u8]) -> &str {
    std::str::from_utf8(span).expect("numbers are made of ASCII digits")
}

fn integer(span: &[u8]) -> Literal {
    // Nineteen digits always fit 64 bits.
    if span.len() <= 18 {
        return Literal::Int(span.iter().fold(0, |v, b| v * 10 + i64::from(b - b'0')));
    }
    let digits = ascii(span);
    match digits.parse::<u64>() {
        Ok(v) => i64::try_from(v).map_or(Literal::UInt(v), Literal::Int),
        Err(_) => {
            let significant = digits.trim_start_matches('0');
            Literal::Decimal(significant.into())
        }
    }
}

fn hex(span: &[u8]) -> Box<[u8]> {
    let digits = if span[0] == b'0' { &span[2..] } else { &span[2..span.len() - 1] };
    let value = |b: u8| (b as char).to_digit(16).expect("the lexer has checked the digits") as u8;
    let mut out = Vec::with_capacity(digits.len().div_ceil(2));
    let (odd, even) = digits.split_at(digits.len() % 2);
    out.extend(odd.iter().map(|b| value(*b)));
    out.extend(even.chunks_exact(2).map(|p| value(p[0]) << 4 | value(p[1])));
    out.into()
}

fn bits(span: &[u8]) -> Box<[u8]> {
    let digits = if span[0] == b'0' { &span[2..] } else { &span[2..span.len() - 1] };
    digits.rchunks(8).rev().map(|byte| byte.iter().fold(0, |v, b| v << 1 | (b - b'0'))).collect()
}

fn introduced(span: &[u8], escaped: bool, opts: &ParseOptions) -> Literal {
    let name_end = span[1..].iter().position(|b| !(b.is_ascii_alphanumeric())).map_or(span.len(), |i| i + 1);
    let charset = String::from_utf8_lossy(&span[1..name_end]).to_ascii_lowercase().into();
    // Lexing the rest again skips the blanks between.
    let rest = &span[name_end..];
    let inner = Lexer::without_keywords(rest, opts).next();
    let value = match inner.tok {
        Tok::Hex => hex(&rest[inner.start as usize..inner.end as usize]),
        Tok::Bit => bits(&rest[inner.start as usize..inner.end as usize]),
        _ => string(&rest[inner.start as usize..], escaped, opts),
    };
    Literal::Introduced(Box::new(IntroducedString { charset, value }))
}

/// The bytes of one or more adjacent strings.
pub(crate) fn string(span: &[u8], escaped: bool, opts: &ParseOptions) -> Box<[u8]> {
    if !escaped {
        return span[1..span.len() - 1].into();
    }
    let mut out = Vec::with_capacity(span.len());
    let mut lexer = Lexer::without_keywords(span, opts);
    let backslash = lexer.backslash_escapes();
    loop {
        let rest = lexer.skip_to_string();
        if rest.is_empty() {
            return out.into();
        }
        let taken = unescape(rest, backslash, &mut out);
        lexer.advance(taken);
    }
}

/// Appends the text of the string `rest` begins with; returns how many bytes it takes with its quotes.
fn unescape(rest: &[u8], backslash: bool, out: &mut Vec<u8>) -> usize {
    let quote = rest[0];
    let mut i = 1;
    while i < rest.len() {
        let c = rest[i];
        if c == b'\\' && backslash {
            let next = rest.get(i + 1).copied().unwrap_or(b'\\');
            match next {
                b'n' => out.push(b'\n'),
                b't' => out.push(b'\t'),
                b'r' => out.push(b'\r'),
                b'b' => out.push(0x08),
                b'0' => out.push(0),
                b'Z' => out.push(0x1a),
                // `\%` and `\_` keep the backslash: LIKE will read it.
                b'%' | b'_' => out.extend([b'\\', next]),
                other => out.push(other),
            }
            i += 2;
        } else if c == quote {
            if rest.get(i + 1) != Some(&quote) {
                return i + 1;
            }
            out.push(quote);
            i += 2;
        } else {
            out.push(c);
            i += 1;
        }
    }
    rest.len()
}

/// The bytes a name token names, without quotes; `None` when the token is no name. Keywords are names here.
pub(crate) fn name_bytes<'a>(text: &'a [u8], token: Token) -> Option<std::borrow::Cow<'a, [u8]>> {
    let span = &text[token.start as usize..token.end as usize];
    match token.tok {
        Tok::Ident | Tok::Kw(_) => Some(span.into()),
        Tok::QuotedIdent => {
            let inner = &span[1..span.len() - 1];
            if !token.escaped {
                return Some(inner.into());
            }
            let quote = span[0];
            let mut out = Vec::with_capacity(inner.len());
            let mut i = 0;
            while i < inner.len() {
                out.push(inner[i]);
                i += if inner[i] == quote { 2 } else { 1 };
            }
            Some(out.into())
        }
        _ => None,
    }
}

/// Whether a token may stand where a name is expected without quotes.
pub(crate) fn is_name(tok: Tok) -> bool {
    match tok {
        Tok::Ident | Tok::QuotedIdent => true,
        Tok::Kw(kw) => !Kw::is_reserved(kw),
        _ => false,
    }
}
