//! REGEXP_LIKE, REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.
//!
//! Patterns are compiled by the `regex` crate, whose syntax covers ICU's common part (no backreferences and no look-around:
//! they are reported as a syntax error). A pattern is compiled once per thread and kept while it stays among the last few.
//!
//! Match types: `c` case-sensitive, `i` not, `m` `^` and `$` match at line ends, `n` `.` matches line ends, `u` only `\n`
//! ends a line. Without `c` or `i` the collation decides.

use std::cell::RefCell;

use regex::bytes::{Regex, RegexBuilder};
use types::{Collation, Datum};

use super::chars;
use crate::error::{Error, Result};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("regexp_like", (2, 3), &[Want::Str, Want::Str, Want::Raw], |_| rt::boolean(), like).compares(),
    Builtin::new("regexp_instr", (2, 6), &[Want::Str, Want::Str, Want::Int, Want::Int, Want::Int, Want::Raw], |_| rt::int_of(21), instr)
        .compares(),
    Builtin::new("regexp_substr", (2, 5), &[Want::Str, Want::Str, Want::Int, Want::Int, Want::Raw], |s| s.string(s.chars(0)), substr)
        .compares(),
    Builtin::new("regexp_replace", (3, 6), &[Want::Str, Want::Str, Want::Str, Want::Int, Want::Int, Want::Raw], |s| s.string(-1), replace)
        .compares(),
];

/// Compiled patterns kept by each thread.
const KEPT_PATTERNS: usize = 8;

/// What a compiled pattern was compiled from: its text and the match flags.
type PatternKey = (Vec<u8>, Flags);

thread_local! {
    static COMPILED: RefCell<Vec<(PatternKey, Regex)>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    unix_lines: bool,
    binary: bool,
}

fn flags(a: &Args<'_>, at: usize) -> Result<Flags> {
    let collation = a.collation();
    let mut flags = Flags {
        ignore_case: !chars::is_byte_exact(collation),
        multi_line: false,
        dot_all: false,
        unix_lines: false,
        binary: collation == Collation::Binary,
    };
    if at < a.len() {
        for letter in a.bytes(at) {
            match letter {
                b'c' => flags.ignore_case = false,
                b'i' => flags.ignore_case = true,
                b'm' => flags.multi_line = true,
                b'n' => flags.dot_all = true,
                b'u' => flags.unix_lines = true,
                _ => return Err(Error::WrongArguments { name: a.call.func.name().to_owned() }),
            }
        }
    }
    Ok(flags)
}

fn compile(pattern: &[u8], flags: Flags) -> Result<Regex> {
    if pattern.is_empty() {
        return Err(Error::RegexpIllegalArgument);
    }
    COMPILED.with_borrow_mut(|kept| {
        if let Some(at) = kept.iter().position(|((p, f), _)| p == pattern && *f == flags) {
            if at > 0 {
                kept.swap(at, at - 1);
            }
            return Ok(kept[at.saturating_sub(1)].1.clone());
        }
        let text = String::from_utf8_lossy(pattern);
        let compiled = RegexBuilder::new(&text)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all)
            .unicode(!flags.binary)
            .build()
            .map_err(|e| syntax_error(&text, &e))?;
        kept.insert(0, ((pattern.to_vec(), flags), compiled.clone()));
        kept.truncate(KEPT_PATTERNS);
        Ok(compiled)
    })
}

/// MySQL's number for the kind of mistake, found from the shape of the pattern; a general syntax error if there is no better one.
fn syntax_error(pattern: &str, error: &regex::Error) -> Error {
    let (code, message) = match error {
        regex::Error::CompiledTooBig(_) => (3698, "The regular expression pattern is too large."),
        _ if unbalanced(pattern, '[', ']') => (3696, "The regular expression contains an unclosed bracket expression."),
        _ if unbalanced(pattern, '(', ')') => (3691, "Mismatched parenthesis in regular expression."),
        _ if pattern.ends_with('\\') && !pattern.ends_with("\\\\") => (3689, "Unrecognized escape sequence in regular expression."),
        _ => (3692, "Syntax error in regular expression."),
    };
    Error::RegexpSyntax { code, message: message.to_owned() }
}

fn unbalanced(pattern: &str, open: char, close: char) -> bool {
    let mut depth = 0i64;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == open => depth += 1,
            c if c == close => depth -= 1,
            _ => {}
        }
    }
    depth != 0
}

/// The byte position where the search starts, from a character position counted from 1.
fn start(a: &Args<'_>, at: usize) -> Result<usize> {
    if at >= a.len() {
        return Ok(0);
    }
    let (subject, pos) = (a.bytes(0), a.int(at));
    let count = chars::count(subject, a.is_binary()) as i64;
    if pos < 1 || (pos > count && !(pos == 1 && count == 0) && pos != count + 1) {
        return Err(Error::RegexpIndexOutOfBounds);
    }
    Ok(chars::offset(subject, pos as usize - 1, a.is_binary()))
}

fn occurrence(a: &Args<'_>, at: usize, default: usize) -> usize {
    if at < a.len() { usize::try_from(a.int(at)).unwrap_or(default).max(default) } else { default }
}

fn like(a: &Args<'_>) -> Result<Datum> {
    let regex = compile(a.bytes(1), flags(a, 2)?)?;
    Ok(Datum::Int(i64::from(regex.is_match(a.bytes(0)))))
}

fn instr(a: &Args<'_>) -> Result<Datum> {
    let regex = compile(a.bytes(1), flags(a, 5)?)?;
    let (subject, from) = (a.bytes(0), start(a, 2)?);
    let found = regex.find_iter(&subject[from..]).nth(occurrence(a, 3, 1) - 1);
    let after = a.len() > 4 && a.int(4) == 1;
    Ok(Datum::Int(found.map_or(0, |m| {
        let at = from + if after { m.end() } else { m.start() };
        chars::count(&subject[..at], a.is_binary()) as i64 + 1
    })))
}

fn substr(a: &Args<'_>) -> Result<Datum> {
    let regex = compile(a.bytes(1), flags(a, 4)?)?;
    let (subject, from) = (a.bytes(0), start(a, 2)?);
    let found = regex.find_iter(&subject[from..]).nth(occurrence(a, 3, 1) - 1);
    Ok(found.map_or(Datum::Null, |m| Datum::Bytes(m.as_bytes().to_vec())))
}

fn replace(a: &Args<'_>) -> Result<Datum> {
    let regex = compile(a.bytes(1), flags(a, 5)?)?;
    let (subject, replacement, from) = (a.bytes(0), a.bytes(2), start(a, 3)?);
    let only = occurrence(a, 4, 0);
    let mut out = subject[..from].to_vec();
    let mut copied = from;
    for (i, captures) in regex.captures_iter(&subject[from..]).enumerate() {
        let Some(whole) = captures.get(0) else { continue };
        if only != 0 && i + 1 != only {
            continue;
        }
        out.extend_from_slice(&subject[copied..from + whole.start()]);
        expand(replacement, &captures, &mut out);
        copied = from + whole.end();
        if a.exceeds_packet(out.len() as u64) {
            return Ok(Datum::Null);
        }
    }
    out.extend_from_slice(&subject[copied..]);
    Ok(Datum::Bytes(out))
}

/// `$n` is the nth group, `\` takes the next character literally.
fn expand(replacement: &[u8], captures: &regex::bytes::Captures<'_>, out: &mut Vec<u8>) {
    let mut rest = replacement;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match (first, tail.first()) {
            (b'\\', Some(next)) => {
                out.push(*next);
                rest = &tail[1..];
            }
            (b'$', Some(digit)) if digit.is_ascii_digit() => {
                if let Some(group) = captures.get(usize::from(digit - b'0')) {
                    out.extend_from_slice(group.as_bytes());
                }
                rest = &tail[1..];
            }
            _ => out.push(first),
        }
    }
}
