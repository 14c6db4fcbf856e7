//! LIKE: `%` matches any characters, `_` one character, the escape character takes the next one literally.
//!
//! Characters are compared one by one by the collation, as the SQL standard has it: no trailing-space padding, no
//! expansions across characters.

use smallvec::SmallVec;
use types::Collation;

use crate::functions::string::chars;

/// Whether `text` matches `pattern`.
pub(crate) fn matches(text: &[u8], pattern: &[u8], escape: Option<char>, collation: Collation) -> bool {
    // Preparing a search pays only for many texts.
    Pattern::taken_apart(pattern, escape, collation).is_match_by_steps(text)
}

/// The steps of a pattern; short ones need no allocation.
type Steps = SmallVec<[Step; 24]>;

/// A pattern that was taken apart once and can be applied to many texts.
#[derive(Debug)]
pub(crate) struct Pattern {
    shape: Shape,
    steps: Steps,
    equality: Equality,
}

/// How two characters are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equality {
    /// Byte by byte: binary strings.
    Bytes,
    /// Character by character, equal if their bytes are.
    Chars,
    /// By a collation; the pattern is ASCII, so that ASCII texts can be compared without case.
    Ascii(Collation),
    /// By a collation.
    Collated(Collation),
}

/// Shapes that a plain search decides, where equality is that of bytes.
#[derive(Debug)]
enum Shape {
    /// No wildcard.
    Exact(Vec<u8>),
    /// `text%`
    Prefix(Vec<u8>),
    /// `%text`
    Suffix(Vec<u8>),
    /// `%text%`
    Contains(Box<memchr::memmem::Finder<'static>>),
    /// Anything else.
    General,
}

/// One step of a pattern.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// `%`
    Any,
    /// `_`
    One,
    /// A character, as up to four bytes.
    Char([u8; 4], u8),
}

impl Pattern {
    /// Takes a pattern apart and prepares the search for its literal part, if it is of a shape that has one.
    pub(crate) fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> Self {
        let mut prepared = Pattern::taken_apart(pattern, escape, collation);
        if matches!(prepared.equality, Equality::Bytes | Equality::Chars) {
            prepared.shape = shape(&prepared.steps);
        }
        prepared
    }

    fn taken_apart(pattern: &[u8], escape: Option<char>, collation: Collation) -> Self {
        let equality = match collation {
            Collation::Binary => Equality::Bytes,
            c if chars::is_byte_exact(c) => Equality::Chars,
            c if pattern.is_ascii() => Equality::Ascii(c),
            c => Equality::Collated(c),
        };
        let steps = steps(pattern, escape, equality == Equality::Bytes);
        Pattern { shape: Shape::General, steps, equality }
    }

    /// Whether the text matches.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        match &self.shape {
            Shape::Exact(p) => text == p.as_slice(),
            Shape::Prefix(p) => text.starts_with(p),
            Shape::Suffix(p) => text.ends_with(p),
            Shape::Contains(finder) => finder.find(text).is_some(),
            Shape::General => self.is_match_by_steps(text),
        }
    }

    fn is_match_by_steps(&self, text: &[u8]) -> bool {
        match self.equality {
            Equality::Bytes => wild(text, &self.steps, |_| 1, |a, b| a == b),
            Equality::Chars => wild(text, &self.steps, chars::char_width, |a, b| a == b),
            Equality::Ascii(_) if text.is_ascii() => wild(text, &self.steps, |_| 1, |a, b| a[0].eq_ignore_ascii_case(&b[0])),
            Equality::Ascii(c) | Equality::Collated(c) => wild(text, &self.steps, chars::char_width, |a, b| a == b || c.equal(a, b)),
        }
    }
}

fn steps(pattern: &[u8], escape: Option<char>, binary: bool) -> Steps {
    let mut buffer = [0; 4];
    let escape: &[u8] = escape.map_or(&[], |e| e.encode_utf8(&mut buffer).as_bytes());
    let mut steps = Steps::with_capacity(pattern.len());
    let mut chars = chars::each(pattern, binary);
    while let Some(c) = chars.next() {
        let literal = |c: &[u8]| {
            let mut bytes = [0; 4];
            bytes[..c.len()].copy_from_slice(c);
            Step::Char(bytes, c.len() as u8)
        };
        steps.push(match c {
            // An escape character at the end stands for itself.
            _ if c == escape => literal(chars.next().unwrap_or(c)),
            b"%" => Step::Any,
            b"_" => Step::One,
            _ => literal(c),
        });
    }
    steps
}

fn shape(steps: &[Step]) -> Shape {
    let any = |step: Option<&Step>| matches!(step, Some(Step::Any));
    let leading = any(steps.first());
    let trailing = steps.len() > 1 && any(steps.last());
    let mut literal = Vec::new();
    for step in &steps[usize::from(leading)..steps.len() - usize::from(trailing)] {
        match step {
            Step::Char(bytes, len) => literal.extend_from_slice(&bytes[..usize::from(*len)]),
            _ => return Shape::General,
        }
    }
    match (leading, trailing) {
        (false, false) => Shape::Exact(literal),
        (false, true) => Shape::Prefix(literal),
        (true, false) => Shape::Suffix(literal),
        (true, true) => Shape::Contains(Box::new(memchr::memmem::Finder::new(&literal).into_owned())),
    }
}

/// Greedy matching that goes back to the last `%` on a mismatch: no recursion, at most text × pattern steps.
#[inline]
fn wild(text: &[u8], steps: &[Step], width: impl Fn(&[u8]) -> usize, same: impl Fn(&[u8], &[u8]) -> bool) -> bool {
    let (mut t, mut p) = (0, 0);
    // Where to go on after a mismatch: the step behind the last `%`, and the text it was tried at.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match steps.get(p) {
            Some(Step::Any) => {
                p += 1;
                if p == steps.len() {
                    return true;
                }
                retry = Some((p, t));
                continue;
            }
            Some(step) if t < text.len() => {
                let len = width(&text[t..]);
                let matched = match step {
                    Step::Char(bytes, n) => same(&text[t..t + len], &bytes[..usize::from(*n)]),
                    _ => true,
                };
                if matched {
                    t += len;
                    p += 1;
                    continue;
                }
            }
            None if t == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((after, at)) if at < text.len() => {
                let next = at + width(&text[at..]);
                retry = Some((after, next));
                p = after;
                t = next;
            }
            _ => return false,
        }
    }
}
