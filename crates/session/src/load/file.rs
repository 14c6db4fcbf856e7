//! Taking a file apart into rows of fields, as LOAD DATA describes it (FIELDS …, LINES …).
//!
//! ```text
//!            LINES STARTING BY found             terminator of a field
//!   LineStart ───────────────────▶ FieldStart ◀───────────────────── Field { enclosed }
//!       ▲                               └──────────── first byte ──────▶    │
//!       │     terminator of a line                                          │ as many fields as are wanted
//!       └──────────────────────── RestOfLine ◀──────────────────────────────┘
//! ```
//!
//! The content arrives in pieces of any size. Where the pieces end does not matter: whenever more bytes are needed to tell a terminator from
//! data, the reader stops before it and goes on from there with the next piece.
//!
//! | in a field | means |
//! |---|---|
//! | escape character and `0 b n r t Z` | NUL, backspace, newline, carriage return, tab, Control-Z |
//! | escape character and `N` as the whole field | NULL |
//! | `NULL` as the whole field, not enclosed, where fields can be enclosed | NULL |
//! | escape character and another byte | that byte |
//! | the enclosing character twice, in an enclosed field | once |
//!
//! Invariant: every byte is looked at once; what is kept is one row and less than a terminator of bytes behind it.
//!
//! Source: MySQL 8.0 Reference Manual, "LOAD DATA Statement", "Field and Line Handling".

use parser::ast::{FieldsFormat, LinesFormat};
use types::mysql_error::{self, MysqlError};

/// How a file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    field_end: Vec<u8>,
    enclosed: Option<u8>,
    escape: Option<u8>,
    line_start: Vec<u8>,
    line_end: Vec<u8>,
}

impl Format {
    /// The format of the clauses; what they leave out has MySQL's defaults.
    pub(crate) fn new(fields: &FieldsFormat, lines: &LinesFormat) -> Result<Self, MysqlError> {
        let text = |given: &Option<String>, default: &str| given.as_deref().unwrap_or(default).as_bytes().to_vec();
        let one = |given: &Option<String>, default: &str| match text(given, default)[..] {
            [] => Ok(None),
            [byte] => Ok(Some(byte)),
            _ => Err(MysqlError::new(
                mysql_error::ER_WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            )),
        };
        let field_end = text(&fields.terminated, "\t");
        let mut line_end = text(&lines.terminated, "\n");
        let enclosed = one(&fields.enclosed, "")?;
        if field_end.is_empty() && enclosed.is_none() {
            return Err(MysqlError::not_supported("fields of fixed size in LOAD DATA"));
        }
        if line_end.is_empty() {
            line_end.clone_from(&field_end);
        }
        Ok(Self { field_end, enclosed, escape: one(&fields.escaped, "\\")?, line_start: text(&lines.starting, ""), line_end })
    }
}

/// A field; `None` for NULL.
pub(crate) type Field = Option<Vec<u8>>;

/// A row of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The fields, as many as are wanted or fewer.
    pub(crate) fields: Vec<Field>,
    /// The line went on behind the last field wanted.
    pub(crate) had_more: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a line that is left out (IGNORE n LINES).
    Ignored,
    LineStart,
    FieldStart,
    Field {
        enclosed: bool,
        /// `\N` has been seen.
        null: bool,
    },
    /// Behind the last field wanted.
    RestOfLine {
        had_more: bool,
    },
}

/// What one look at the file has brought.
enum Step {
    /// A row is complete.
    Row(Row),
    /// Another state.
    GoOn,
    /// Nothing can be said before more of the file is there; at its end nothing is left to be said.
    NeedsMore,
}

/// Whether bytes are a certain text.
enum Found {
    Yes,
    No,
    /// More bytes have to be seen.
    Unknown,
}

/// Whether a terminator stands somewhere.
enum End {
    Here { length: usize, of_line: bool },
    NotHere,
    Unknown,
}

/// Takes a file apart.
pub(crate) struct FileReader {
    format: Format,
    /// Fields wanted of a line.
    wanted: usize,
    ignored_lines: u64,
    /// Bytes `at..` have arrived and are not looked at yet.
    bytes: Vec<u8>,
    at: usize,
    /// No more bytes come.
    ended: bool,
    state: State,
    field: Vec<u8>,
    fields: Vec<Field>,
    /// Bytes of the row so far, and the most a row may have.
    row_bytes: usize,
    row_limit: usize,
}

impl FileReader {
    pub(crate) fn new(format: Format, wanted: usize, ignored_lines: u64, row_limit: usize) -> Self {
        let state = if ignored_lines > 0 { State::Ignored } else { State::LineStart };
        Self {
            format,
            wanted,
            ignored_lines,
            bytes: Vec::new(),
            at: 0,
            ended: false,
            state,
            field: Vec::new(),
            fields: Vec::new(),
            row_bytes: 0,
            row_limit,
        }
    }

    /// Takes the next piece of the file; an empty one ends it.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.ended = piece.is_empty();
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(piece);
    }

    /// The next row; `None` when more of the file is needed, or all of it has been read.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row>, MysqlError> {
        loop {
            let step = match self.state {
                State::Ignored => self.ignore_line(),
                State::LineStart => self.find_line_start(),
                State::FieldStart => self.start_field(),
                State::Field { enclosed, null } => self.read_field(enclosed, null)?,
                State::RestOfLine { had_more } => self.leave_line(had_more),
            };
            match step {
                Step::Row(row) => return Ok(Some(row)),
                Step::GoOn => {}
                Step::NeedsMore => return Ok(None),
            }
        }
    }

    fn end_row(&mut self, had_more: bool) -> Row {
        self.state = State::LineStart;
        self.row_bytes = 0;
        Row { fields: std::mem::take(&mut self.fields), had_more }
    }

    /// Whether `text` stands at `at`.
    fn stands(&self, at: usize, text: &[u8]) -> Found {
        let there = self.bytes.get(at..).unwrap_or_default();
        if there.len() >= text.len() {
            return if there.starts_with(text) { Found::Yes } else { Found::No };
        }
        if self.ended || !text.starts_with(there) { Found::No } else { Found::Unknown }
    }

    /// Goes behind the end of the line. `Some(true)` when there was something before it; `None` when more of the file is needed.
    fn skip_line(&mut self) -> Option<bool> {
        let start = self.at;
        while self.at < self.bytes.len() {
            match self.stands(self.at, &self.format.line_end) {
                Found::Yes => {
                    let skipped = self.at > start;
                    self.at += self.format.line_end.len();
                    return Some(skipped);
                }
                Found::No => self.at += 1,
                Found::Unknown => return None,
            }
        }
        None
    }

    /// IGNORE n LINES.
    fn ignore_line(&mut self) -> Step {
        if self.skip_line().is_none() {
            return Step::NeedsMore;
        }
        self.ignored_lines -= 1;
        if self.ignored_lines == 0 {
            self.state = State::LineStart;
        }
        Step::GoOn
    }

    /// What stands behind the last field wanted is thrown away.
    fn leave_line(&mut self, had_more: bool) -> Step {
        let start = self.at;
        match self.skip_line() {
            Some(skipped) => Step::Row(self.end_row(had_more || skipped)),
            None if self.ended => Step::Row(self.end_row(false)),
            None => {
                self.state = State::RestOfLine { had_more: had_more || self.at > start };
                Step::NeedsMore
            }
        }
    }

    /// Goes behind LINES STARTING BY, on whichever line it stands.
    fn find_line_start(&mut self) -> Step {
        while self.at < self.bytes.len() || self.format.line_start.is_empty() {
            match self.stands(self.at, &self.format.line_start) {
                Found::Yes => {
                    self.at += self.format.line_start.len();
                    self.state = State::FieldStart;
                    return Step::GoOn;
                }
                Found::No => self.at += 1,
                Found::Unknown => break,
            }
        }
        Step::NeedsMore
    }

    /// Looks at the first byte of a field.
    fn start_field(&mut self) -> Step {
        let Some(first) = self.bytes.get(self.at).copied() else {
            // A file may end behind a field's terminator; behind a line's there is no row.
            let ends_row = self.ended && !self.fields.is_empty();
            return if ends_row { Step::Row(self.end_row(false)) } else { Step::NeedsMore };
        };
        let enclosed = Some(first) == self.format.enclosed;
        self.at += usize::from(enclosed);
        self.state = State::Field { enclosed, null: false };
        Step::GoOn
    }

    /// Reads on in a field.
    fn read_field(&mut self, enclosed: bool, mut null: bool) -> Result<Step, MysqlError> {
        let Format { enclosed: quote, escape, .. } = self.format;
        let stops: [u8; 3] = match enclosed {
            true => [quote.unwrap_or_default(); 3],
            false => {
                let line = self.format.line_end.first().copied().unwrap_or_default();
                [self.format.field_end.first().copied().unwrap_or(line), line, line]
            }
        };
        let step = loop {
            let plain = &self.bytes[self.at..];
            let run = plain.iter().position(|byte| stops.contains(byte) || Some(*byte) == escape).unwrap_or(plain.len());
            self.field.extend_from_slice(&plain[..run]);
            self.row_bytes += run;
            self.at += run;
            if self.row_bytes > self.row_limit {
                return Err(MysqlError::new(
                    mysql_error::ER_NET_PACKET_TOO_LARGE,
                    format!("A row of the file is longer than 'max_allowed_packet' bytes ({})", self.row_limit),
                ));
            }
            let Some(byte) = self.bytes.get(self.at).copied() else {
                if !self.ended {
                    break Step::NeedsMore;
                }
                if let (true, Some(quote)) = (enclosed, quote) {
                    // Nothing closed the field: the character at its start is data.
                    self.field.insert(0, quote);
                }
                break self.end_field(false, null, true);
            };
            let next = self.bytes.get(self.at + 1).copied();
            if next.is_none() && !self.ended && (Some(byte) == escape || enclosed) {
                break Step::NeedsMore;
            }
            if Some(byte) == escape {
                match next {
                    // A character that both encloses and escapes is doubled to stand for itself, and does nothing else.
                    Some(next) if escape != quote || next == byte => {
                        null |= next == b'N';
                        self.push(unescaped(next), 2);
                        continue;
                    }
                    None => {
                        self.push(byte, 1);
                        continue;
                    }
                    Some(_) => {}
                }
            }
            if enclosed && Some(byte) == quote {
                if next == quote {
                    self.push(byte, 2);
                    continue;
                }
                if next.is_none() {
                    self.at += 1;
                    break self.end_field(true, null, true);
                }
                match self.end_at(self.at + 1) {
                    End::Here { length, of_line } => {
                        self.at += 1 + length;
                        break self.end_field(true, null, of_line);
                    }
                    End::NotHere => self.push(byte, 1),
                    End::Unknown => break Step::NeedsMore,
                }
            } else if enclosed {
                self.push(byte, 1);
            } else {
                match self.end_at(self.at) {
                    End::Here { length, of_line } => {
                        self.at += length;
                        break self.end_field(false, null, of_line);
                    }
                    End::NotHere => self.push(byte, 1),
                    End::Unknown => break Step::NeedsMore,
                }
            }
        };
        if let Step::NeedsMore = step {
            self.state = State::Field { enclosed, null };
        }
        Ok(step)
    }

    fn push(&mut self, byte: u8, read: usize) {
        self.field.push(byte);
        self.row_bytes += 1;
        self.at += read;
    }

    /// Which terminator stands at `at`.
    fn end_at(&self, at: usize) -> End {
        let Format { field_end, line_end, .. } = &self.format;
        for (text, of_line) in [(line_end, true), (field_end, false)] {
            match self.stands(at, text) {
                Found::Yes if !text.is_empty() => return End::Here { length: text.len(), of_line },
                Found::Unknown => return End::Unknown,
                _ => {}
            }
        }
        End::NotHere
    }

    /// A field is complete; so is the row when it was the last of its line.
    fn end_field(&mut self, enclosed: bool, null: bool, ends_line: bool) -> Step {
        let field = std::mem::take(&mut self.field);
        let is_null = (null && field == b"N") || (!enclosed && self.format.enclosed.is_some() && field == b"NULL");
        self.fields.push((!is_null).then_some(field));
        if ends_line {
            return Step::Row(self.end_row(false));
        }
        self.state = if self.fields.len() < self.wanted { State::FieldStart } else { State::RestOfLine { had_more: false } };
        Step::GoOn
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Default)]
    struct Clauses {
        terminated: Option<&'static str>,
        enclosed: Option<&'static str>,
        escaped: Option<&'static str>,
        starting: Option<&'static str>,
        line: Option<&'static str>,
    }

    fn format(clauses: Clauses) -> Result<Format, MysqlError> {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let (terminated, enclosed, escaped) = (text(clauses.terminated), text(clauses.enclosed), text(clauses.escaped));
        let fields = FieldsFormat { terminated, enclosed, escaped, optionally: false };
        Format::new(&fields, &LinesFormat { starting: text(clauses.starting), terminated: text(clauses.line) })
    }

    /// Rows in one line each: fields separated by `|`, NULL as `-`, `+` behind a row whose line went on.
    fn read(clauses: Clauses, wanted: usize, ignored: u64, file: &[u8], piece: usize) -> Vec<String> {
        let mut reader = FileReader::new(format(clauses).expect("a format"), wanted, ignored, 1000);
        let mut rows = Vec::new();
        for piece in file.chunks(piece.max(1)).chain([&[][..]]) {
            reader.feed(piece);
            while let Some(row) = reader.next_row().expect("short rows") {
                let fields = row.fields.iter().map(|field| match field {
                    Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    None => "-".to_owned(),
                });
                rows.push(fields.collect::<Vec<_>>().join("|") + if row.had_more { "+" } else { "" });
            }
        }
        rows
    }

    #[track_caller]
    fn check(clauses: Clauses, wanted: usize, ignored: u64, file: &str, expected: &[&str]) {
        for piece in [1, 2, 3, 1000] {
            assert_eq!(read(clauses, wanted, ignored, file.as_bytes(), piece), expected, "in pieces of {piece}");
        }
    }

    const CSV: Clauses = Clauses { terminated: Some(","), enclosed: Some("\""), escaped: None, starting: None, line: Some("\r\n") };

    #[test]
    fn defaults_are_tabs_newlines_and_backslashes() {
        let none = Clauses::default();
        check(none, 2, 0, "1\ta\n2\t\n", &["1|a", "2|"]);
        check(none, 2, 0, "1\t\\N\n\\N\tN\n", &["1|-", "-|N"]);
        check(none, 1, 0, "a\\tb\\\\c\\nd\\x\n", &["a\tb\\c\ndx"]);
        check(none, 1, 0, "\\N \n", &["N "]);
        check(none, 1, 0, "last line", &["last line"]);
        check(none, 2, 0, "", &[]);
        check(none, 2, 0, "\n\n", &["", ""]);
    }

    #[test]
    fn lines_have_fewer_or_more_fields_than_wanted() {
        check(Clauses::default(), 2, 0, "1\n2\tb\tc\td\n3\tc\t\n4\t", &["1", "2|b+", "3|c", "4"]);
        check(CSV, 1, 0, "a,\"b\r\nc\r\n", &["a+", "c"]);
    }

    #[test]
    fn enclosed_fields_hold_terminators_and_doubled_quotes() {
        check(CSV, 2, 0, "\"a,b\",\"c\"\"d\"\r\n\"x\r\ny\",z\r\n", &["a,b|c\"d", "x\r\ny|z"]);
        check(CSV, 2, 0, "NULL,\"NULL\"\r\n", &["-|NULL"]);
        check(CSV, 2, 0, "\"a\" b\",c\"d\r\n", &["a\" b|c\"d"]);
        check(CSV, 2, 0, "\"open, to the end\r\n", &["\"open, to the end\r\n"]);
        check(CSV, 2, 0, "a\rb,c\r\n", &["a\rb|c"]);
    }

    #[test]
    fn a_character_may_enclose_and_escape() {
        let both = Clauses { escaped: Some("\""), line: Some("\n"), ..CSV };
        check(both, 2, 0, "\"fie\"\"ld1\",\"field\\n2\"\n", &["fie\"ld1|field\\n2"]);
        let neither = Clauses { escaped: Some(""), enclosed: None, line: Some("\n"), ..CSV };
        check(neither, 2, 0, "\\N,\\\n", &["\\N|\\"]);
    }

    #[test]
    fn lines_are_skipped_and_found_by_their_start() {
        check(Clauses::default(), 1, 2, "head\nhead\na\n", &["a"]);
        check(Clauses::default(), 1, 5, "a\nb", &[]);
        let starting = Clauses { terminated: Some(","), starting: Some("xxx"), ..Clauses::default() };
        check(starting, 2, 0, "xxx\"abc\",1\nsomething xxx\"def\",2\n\"ghi\",3\n", &["\"abc\"|1", "\"def\"|2"]);
    }

    #[test]
    fn an_empty_line_terminator_makes_the_fields_terminator_end_lines() {
        let one = Clauses { terminated: Some(";"), line: Some(""), ..Clauses::default() };
        check(one, 1, 0, "a;b;c", &["a", "b", "c"]);
    }

    #[test]
    fn formats_that_are_none_and_rows_that_never_end_are_refused() {
        let long = format(Clauses { enclosed: Some("''"), ..Clauses::default() });
        assert_eq!(long.expect_err("two characters").code, 1083);
        assert_eq!(format(Clauses { terminated: Some(""), ..Clauses::default() }).expect_err("fixed").code, 1235);
        let mut reader = FileReader::new(format(Clauses::default()).expect("a format"), 1, 0, 10);
        reader.feed(b"0123456789012345");
        assert_eq!(reader.next_row().expect_err("a long row").code, 1153);
    }

    proptest! {
        #[test]
        fn where_pieces_end_does_not_matter(file in "[ab,\"\\\\N\r\n]{0,40}", piece in 1usize..8, wanted in 1usize..4) {
            for clauses in [CSV, Clauses { line: Some("\n"), ..CSV }, Clauses { enclosed: None, ..CSV }] {
                let whole = read(clauses, wanted, 0, file.as_bytes(), 1000);
                prop_assert_eq!(read(clauses, wanted, 0, file.as_bytes(), piece), whole);
            }
        }
    }
}
