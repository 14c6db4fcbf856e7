//! LIKE: `%` matches any characters, `_` one character, the escape character takes the next one literally.
//!
//! Characters are compared one by one by the collation, as the SQL standard has it: no trailing-space padding, no
//! expansions across characters.

use types::Collation;

use crate::functions::string::chars;

/// Whether `text` matches `pattern`.
pub(crate) fn matches(text: &[u8], pattern: &[u8], escape: Option<char>, collation: Collation) -> bool {
    if chars::is_byte_exact(collation) {
        let binary = collation == Collation::Binary;
        return wild(text, pattern, escape, binary, &|a, b| a == b);
    }
    if text.is_ascii() && pattern.is_ascii() {
        return wild(text, pattern, escape, true, &|a, b| a.eq_ignore_ascii_case(b));
    }
    wild(text, pattern, escape, false, &|a, b| a == b || collation.compare(a, b).is_eq())
}

/// A pattern that was looked at once and is applied to many texts.
#[derive(Debug)]
pub(crate) enum Pattern<'p> {
    /// No wildcard.
    Exact(Vec<u8>),
    /// `text%`
    Prefix(Vec<u8>),
    /// `%text`
    Suffix(Vec<u8>),
    /// `%text%`
    Contains(Box<memchr::memmem::Finder<'static>>),
    /// Anything else, or a collation that does not compare bytes.
    General { pattern: &'p [u8], escape: Option<char>, collation: Collation },
}

impl<'p> Pattern<'p> {
    /// Looks for the simple shapes, which byte-comparing collations can match by plain search.
    pub(crate) fn new(pattern: &'p [u8], escape: Option<char>, collation: Collation) -> Self {
        let general = Pattern::General { pattern, escape, collation };
        if !chars::is_byte_exact(collation) {
            return general;
        }
        let escape_bytes = escape.map(|e| e.to_string().into_bytes()).unwrap_or_default();
        let has_escape = !escape_bytes.is_empty() && memchr::memmem::find(pattern, &escape_bytes).is_some();
        if has_escape || pattern.contains(&b'_') {
            return general;
        }
        let leading = pattern.first() == Some(&b'%');
        let trailing = pattern.len() > 1 && pattern.last() == Some(&b'%');
        let inner = &pattern[usize::from(leading)..pattern.len() - usize::from(trailing)];
        if inner.contains(&b'%') {
            return general;
        }
        match (leading, trailing) {
            (false, false) => Pattern::Exact(inner.to_vec()),
            (false, true) => Pattern::Prefix(inner.to_vec()),
            (true, false) => Pattern::Suffix(inner.to_vec()),
            (true, true) => Pattern::Contains(Box::new(memchr::memmem::Finder::new(inner).into_owned())),
        }
    }

    /// Whether the text matches.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        match self {
            Pattern::Exact(p) => text == p.as_slice(),
            Pattern::Prefix(p) => text.starts_with(p),
            Pattern::Suffix(p) => text.ends_with(p),
            Pattern::Contains(finder) => finder.find(text).is_some(),
            Pattern::General { pattern, escape, collation } => matches(text, pattern, *escape, *collation),
        }
    }
}

/// One step of the pattern: what it is and how many bytes it takes.
enum Step<'p> {
    Any,
    One,
    Char(&'p [u8]),
}

fn step<'p>(pattern: &'p [u8], escape: Option<char>, binary: bool) -> (Step<'p>, usize) {
    let width = if binary { 1 } else { chars::char_width(pattern) };
    let head = &pattern[..width];
    let is_escape = escape.is_some_and(|e| head == e.encode_utf8(&mut [0; 4]).as_bytes());
    if is_escape && pattern.len() > width {
        let rest = &pattern[width..];
        let next = if binary { 1 } else { chars::char_width(rest) };
        return (Step::Char(&rest[..next]), width + next);
    }
    match head {
        b"%" => (Step::Any, 1),
        b"_" => (Step::One, 1),
        _ => (Step::Char(head), width),
    }
}

/// Greedy matching that goes back to the last `%` on a mismatch: no recursion, at most text × pattern steps.
fn wild(text: &[u8], pattern: &[u8], escape: Option<char>, binary: bool, same: &dyn Fn(&[u8], &[u8]) -> bool) -> bool {
    let (mut t, mut p) = (0, 0);
    // Where to go on after a mismatch: the pattern behind the last `%`, and the text it was tried at.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if p < pattern.len() {
            let (what, len) = step(&pattern[p..], escape, binary);
            if let Step::Any = what {
                p += len;
                if p == pattern.len() {
                    return true;
                }
                retry = Some((p, t));
                continue;
            }
            if t < text.len() {
                let width = if binary { 1 } else { chars::char_width(&text[t..]) };
                let matched = match what {
                    Step::Char(c) => same(&text[t..t + width], c),
                    _ => true,
                };
                if matched {
                    t += width;
                    p += len;
                    continue;
                }
            }
        } else if t == text.len() {
            return true;
        }
        match retry {
            Some((after, at)) if at < text.len() => {
                let next = at + if binary { 1 } else { chars::char_width(&text[at..]) };
                retry = Some((after, next));
                p = after;
                t = next;
            }
            _ => return false,
        }
    }
}
