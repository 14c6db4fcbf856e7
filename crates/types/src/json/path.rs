//! Path expressions and what they find.
//!
//! ```text
//! path  = $ leg*           leg = .key  ."key"  .*  [cell]  [cell to cell]  [*]  **
//! cell  = n | last | last - n
//! ```
//!
//! A value that is no array is to `[cell]` an array of itself alone: `$[0]` of a scalar is the scalar. `[*]` and `.*` find nothing there.
//! `**` stands for the value and everything within it, and must be followed by another leg.
//!
//! Source: MySQL 8.0 Reference Manual, 11.5 "JSON Path Syntax".

use std::fmt;

use super::{JsonError, JsonRef, MAX_DEPTH, quote};

/// A cell of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// How far from the first cell, or from the last.
    pub index: usize,
    /// Counted from the last cell.
    pub from_last: bool,
}

impl Cell {
    /// The position in an array of `len` cells; `None` if it is before the first or behind the last.
    pub fn position(self, len: usize) -> Option<usize> {
        let at = if self.from_last { len.checked_sub(1)?.checked_sub(self.index)? } else { self.index };
        (at < len).then_some(at)
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leg {
    /// A member of an object.
    Member(String),
    /// All members.
    AnyMember,
    /// A cell of an array.
    Cell(Cell),
    /// Cells of an array, both ends included.
    Range(Cell, Cell),
    /// All cells.
    AnyCell,
    /// The value and everything within it.
    Within,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a member.
    Key(&'a str),
    /// To a cell.
    Index(usize),
}

/// A path expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonPath {
    /// Its steps from the root.
    pub legs: Vec<Leg>,
}

impl JsonPath {
    /// The path of an expression.
    ///
    /// # Errors
    /// [`JsonError::Path`].
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let mut parser = PathParser { text, at: 0 };
        match parser.path() {
            Some(legs) => Ok(Self { legs }),
            None => Err(JsonError::Path { position: text[..parser.at.min(text.len())].chars().count() }),
        }
    }

    /// The path of steps that were taken.
    pub fn of_steps(steps: &[Step<'_>]) -> Self {
        let leg = |step: &Step<'_>| match step {
            Step::Key(key) => Leg::Member((*key).to_owned()),
            Step::Index(index) => Leg::Cell(Cell { index: *index, from_last: false }),
        };
        Self { legs: steps.iter().map(leg).collect() }
    }

    /// Whether it may find several values.
    pub fn has_wildcard(&self) -> bool {
        self.legs.iter().any(|leg| !matches!(leg, Leg::Member(_) | Leg::Cell(_)))
    }

    /// Whether it is `$`.
    pub fn is_root(&self) -> bool {
        self.legs.is_empty()
    }

    /// The values found, in the order of the document, each once.
    pub fn find<'a>(&self, root: JsonRef<'a>) -> Vec<JsonRef<'a>> {
        let mut found = Vec::new();
        self.visit(root, &mut |_, value| found.push(value));
        found
    }

    /// Calls `visit` with every value found and the steps that lead to it, in the order of the document, with each value once.
    pub fn visit<'a>(&self, root: JsonRef<'a>, visit: &mut dyn FnMut(&[Step<'a>], JsonRef<'a>)) {
        let mut seen = std::collections::HashSet::new();
        let several = self.legs.contains(&Leg::Within);
        let mut once = |trail: &[Step<'a>], value: JsonRef<'a>| {
            if !several || seen.insert(value.place()) {
                visit(trail, value);
            }
        };
        collect(root, &self.legs, &mut Vec::new(), &mut once);
    }

    /// The value found by a path without wildcards; with wildcards the first one.
    pub fn find_one<'a>(&self, root: JsonRef<'a>) -> Option<JsonRef<'a>> {
        if self.has_wildcard() {
            return self.find(root).into_iter().next();
        }
        self.legs.iter().try_fold(root, one_step)
    }
}

/// The value one step on, for steps that lead to one.
fn one_step<'a>(value: JsonRef<'a>, leg: &Leg) -> Option<JsonRef<'a>> {
    match leg {
        Leg::Member(key) => value.member(key),
        Leg::Cell(cell) if value.is_array() => value.element(cell.position(value.len())?),
        Leg::Cell(cell) => cell.position(1).map(|_| value),
        _ => None,
    }
}

/// What is done with each value found.
type Visit<'v, 'a> = dyn FnMut(&[Step<'a>], JsonRef<'a>) + 'v;

fn collect<'a>(value: JsonRef<'a>, legs: &[Leg], trail: &mut Vec<Step<'a>>, visit: &mut Visit<'_, 'a>) {
    let Some((leg, rest)) = legs.split_first() else { return visit(trail, value) };
    if trail.len() > MAX_DEPTH {
        return;
    }
    let mut go = |step: Step<'a>, value: JsonRef<'a>, legs: &[Leg]| {
        trail.push(step);
        collect(value, legs, trail, visit);
        trail.pop();
    };
    match leg {
        Leg::Member(key) => {
            if let Some((key, member)) = value.member_entry(key) {
                go(Step::Key(key), member, rest);
            }
        }
        Leg::AnyMember => value.members().into_iter().for_each(|(key, member)| go(Step::Key(key), member, rest)),
        Leg::AnyCell => value.elements().enumerate().for_each(|(i, element)| go(Step::Index(i), element, rest)),
        Leg::Cell(_) | Leg::Range(..) => {
            let cells = |len: usize| match leg {
                Leg::Range(from, to) => range(*from, *to, len),
                Leg::Cell(cell) => cell.position(len).map_or(0..0, |at| at..at + 1),
                _ => 0..0,
            };
            if !value.is_array() {
                // An array of itself alone.
                return if cells(1).contains(&0) {
                    collect(value, rest, trail, visit)
                };
            }
            cells(value.len()).for_each(|i| {
                if let Some(element) = value.element(i) {
                    go(Step::Index(i), element, rest);
                }
            });
        }
        Leg::Within => {
            collect(value, rest, trail, visit);
            let mut go = |step: Step<'a>, value: JsonRef<'a>| {
                trail.push(step);
                collect(value, legs, trail, visit);
                trail.pop();
            };
            value.members().into_iter().for_each(|(key, member)| go(Step::Key(key), member));
            value.elements().enumerate().for_each(|(i, element)| go(Step::Index(i), element));
        }
    }
}

/// The cells of a range in an array of `len`.
fn range(from: Cell, to: Cell, len: usize) -> std::ops::Range<usize> {
    let start = match from.from_last {
        true => len.saturating_sub(from.index.saturating_add(1)),
        false => from.index,
    };
    let end = match to.from_last {
        true => len.saturating_sub(to.index),
        false => to.index.saturating_add(1).min(len),
    };
    start..end
}

/// Whether an unquoted key may be written like this: an ECMAScript name.
fn is_name(key: &str) -> bool {
    let mut chars = key.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    first && chars.all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '\u{200c}' || c == '\u{200d}'
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from_last, self.index) {
            (true, 0) => f.write_str("last"),
            (true, index) => write!(f, "last-{index}"),
            (false, index) => write!(f, "{index}"),
        }
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for leg in &self.legs {
            match leg {
                Leg::Member(key) if is_name(key) => write!(f, ".{key}")?,
                Leg::Member(key) => {
                    let mut quoted = Vec::new();
                    quote(key, &mut quoted);
                    write!(f, ".{}", String::from_utf8_lossy(&quoted))?;
                }
                Leg::AnyMember => f.write_str(".*")?,
                Leg::Cell(cell) => write!(f, "[{cell}]")?,
                Leg::Range(from, to) => write!(f, "[{from} to {to}]")?,
                Leg::AnyCell => f.write_str("[*]")?,
                Leg::Within => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

/// Reads a path; where it stops is the place of the error.
struct PathParser<'a> {
    text: &'a str,
    at: usize,
}

impl PathParser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    fn path(&mut self) -> Option<Vec<Leg>> {
        self.skip_space();
        if !self.take("$") {
            self.at += self.rest().chars().next().map_or(0, char::len_utf8);
            return None;
        }
        let mut legs = Vec::new();
        loop {
            self.skip_space();
            if self.rest().is_empty() {
                // `**` alone finds nothing that could be meant.
                return (legs.last() != Some(&Leg::Within)).then_some(legs);
            }
            legs.push(self.leg()?);
        }
    }

    fn leg(&mut self) -> Option<Leg> {
        if self.take(".") {
            self.skip_space();
            return if self.take("*") { Some(Leg::AnyMember) } else { self.key().map(Leg::Member) };
        }
        if self.take("[") {
            self.skip_space();
            let leg = if self.take("*") { Leg::AnyCell } else { self.cells()? };
            self.skip_space();
            return self.take("]").then_some(leg);
        }
        // Three stars are two wildcards without a place between them.
        (self.take("**") && !self.rest().starts_with('*')).then_some(Leg::Within)
    }

    fn key(&mut self) -> Option<String> {
        if !self.rest().starts_with('"') {
            let len = self.rest().find(|c| !is_name_char(c)).unwrap_or(self.rest().len());
            let key = self.rest()[..len].to_owned();
            if !is_name(&key) {
                return None;
            }
            self.at += len;
            return Some(key);
        }
        let mut escaped = false;
        let close = self.rest()[1..].find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        })?;
        let quoted = &self.rest()[..close + 2];
        match super::parse(quoted.as_bytes()) {
            Ok(super::Json::String(key)) => {
                self.at += close + 2;
                Some(key)
            }
            _ => None,
        }
    }

    fn cells(&mut self) -> Option<Leg> {
        let from = self.cell()?;
        let before = self.at;
        self.skip_space();
        if self.at == before || !self.take("to") {
            return Some(Leg::Cell(from));
        }
        self.skip_space();
        let to = self.cell()?;
        // A range that can never hold a cell is a mistake.
        let reversed = from.from_last == to.from_last && if from.from_last { from.index < to.index } else { from.index > to.index };
        (!reversed).then_some(Leg::Range(from, to))
    }

    fn cell(&mut self) -> Option<Cell> {
        if !self.take("last") {
            return self.number().map(|index| Cell { index, from_last: false });
        }
        self.skip_space();
        if !self.take("-") {
            return Some(Cell { index: 0, from_last: true });
        }
        self.skip_space();
        self.number().map(|index| Cell { index, from_last: true })
    }

    fn number(&mut self) -> Option<usize> {
        let len = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..len].parse::<u32>().ok()?;
        self.at += len;
        Some(number as usize)
    }
}
