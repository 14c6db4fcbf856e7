//! The lexer: bytes to tokens, as `sql_lex.cc` of MySQL 8.0 is documented to behave.
//!
//! It allocates nothing; a token is a span. What a literal's span means is worked out on demand by [`value`].
//!
//! Rules worth knowing:
//! - a word directly before `.` and a letter, and any word directly behind a `.`, is an identifier, whatever it spells;
//! - identifiers may begin with a digit: `1a` is one, `1e5` is a number, `0x1g` an identifier;
//! - `--` begins a comment only before a blank, a control character or the end;
//! - the inside of `/*! … */` and of `/*!80000 … */` up to our version is lexed as if the comment's marks were blanks;
//! - adjacent strings are one token, and a character set introducer is one token with its literal: so a literal
//!   has one ordinal, to the parser and to [`crate::normalize`] alike.

mod keyword;
mod number;
mod string;
mod token;
pub(crate) mod value;

pub(crate) use keyword::Kw;
pub(crate) use token::{Tok, Token};

use crate::ParseOptions;

/// The version executable comments are compared with: 8.0.36.
const SERVER_VERSION: u32 = 80036;

/// Classes of bytes.
const IDENT: u8 = 1;
const SPACE: u8 = 2;
const DIGIT: u8 = 4;

static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        if c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || c >= 0x80 {
            class[b] |= IDENT;
        }
        if c.is_ascii_digit() {
            class[b] |= DIGIT;
        }
        if matches!(c, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            class[b] |= SPACE;
        }
        b += 1;
    }
    class
};

/// What the token before was, as far as the next depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Other,
    /// A name, ending where the lexer stands.
    Name,
    /// A dot, ending where the lexer stands.
    Dot,
}

/// The lexer's state; copying it is how the parser looks ahead.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    pos: usize,
    before: Before,
    /// Inside an executable comment.
    in_executable: bool,
    /// Keywords are told from other words.
    keywords: bool,
    ansi_quotes: bool,
    no_backslash_escapes: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a [u8], opts: &ParseOptions) -> Lexer<'a> {
        Lexer {
            text,
            pos: 0,
            before: Before::Other,
            in_executable: false,
            keywords: true,
            ansi_quotes: opts.ansi_quotes,
            no_backslash_escapes: opts.no_backslash_escapes,
        }
    }

    /// A lexer that answers [`Tok::Ident`] for keywords too.
    pub(crate) fn without_keywords(text: &'a [u8], opts: &ParseOptions) -> Lexer<'a> {
        Lexer { keywords: false, ..Lexer::new(text, opts) }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    pub(crate) fn backslash_escapes(&self) -> bool {
        !self.no_backslash_escapes
    }

    /// Skips blanks and comments; the rest of the text.
    pub(crate) fn skip_to_string(&mut self) -> &'a [u8] {
        self.skip_blanks();
        &self.text[self.pos.min(self.text.len())..]
    }

    /// Goes to `pos`, where a token begins.
    pub(crate) fn go_to(&mut self, pos: usize) {
        self.pos = pos;
        self.before = Before::Other;
    }

    /// Moves on by `bytes`, which must end a token.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.pos += bytes;
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    #[inline]
    fn class(&self, at: usize) -> u8 {
        CLASS[self.byte(at) as usize]
    }

    /// The next token. After [`Tok::Eof`] it stays there.
    pub(crate) fn next(&mut self) -> Token {
        let from = self.pos;
        let (ok, hint_before) = self.skip_blanks();
        let start = self.pos;
        if start != from {
            self.before = Before::Other;
        }
        let mut escaped = false;
        let tok = if ok { self.scan(&mut escaped) } else { Tok::Bad };
        self.before = match tok {
            Tok::Ident | Tok::QuotedIdent => Before::Name,
            Tok::Dot => Before::Dot,
            _ => Before::Other,
        };
        Token { tok, start: start as u32, end: self.pos as u32, escaped, hint_before }
    }

    /// Skips blanks and comments. False when a comment does not end.
    #[inline]
    fn skip_blanks(&mut self) -> (bool, bool) {
        let mut hint = false;
        loop {
            while self.class(self.pos) & SPACE != 0 {
                self.pos += 1;
            }
            match self.byte(self.pos) {
                b'#' => self.skip_line(),
                b'-' if self.byte(self.pos + 1) == b'-' && self.ends_dashes(self.pos + 2) => self.skip_line(),
                b'/' if self.byte(self.pos + 1) == b'*' => {
                    hint |= self.byte(self.pos + 2) == b'+';
                    if !self.skip_comment() {
                        return (false, hint);
                    }
                }
                b'*' if self.in_executable && self.byte(self.pos + 1) == b'/' => {
                    self.in_executable = false;
                    self.pos += 2;
                }
                _ => return (true, hint),
            }
        }
    }

    /// Whether `--` before `at` begins a comment.
    fn ends_dashes(&self, at: usize) -> bool {
        at >= self.text.len() || self.class(at) & SPACE != 0 || self.byte(at).is_ascii_control()
    }

    #[cold]
    fn skip_line(&mut self) {
        self.pos = memchr::memchr(b'\n', &self.text[self.pos..]).map_or(self.text.len(), |i| self.pos + i + 1);
    }

    /// Skips a comment, or only the opening mark of an executable one. False when the comment does not end.
    #[cold]
    fn skip_comment(&mut self) -> bool {
        if self.byte(self.pos + 2) == b'!' && !self.in_executable {
            let digits = (self.pos + 3..).take(6).take_while(|at| self.class(*at) & DIGIT != 0).count();
            // Five digits are a version, six are one as well; fewer belong to the comment's text.
            let digits = if digits >= 5 { digits } else { 0 };
            let version = self.text[self.pos + 3..self.pos + 3 + digits].iter().fold(0, |v, b| v * 10 + u32::from(b - b'0'));
            if version <= SERVER_VERSION {
                self.pos += 3 + digits;
                self.in_executable = true;
                return true;
            }
        }
        match memchr::memmem::find(&self.text[self.pos + 2..], b"*/") {
            Some(i) => {
                self.pos += 2 + i + 2;
                true
            }
            // The lexer stays: the error is where the comment begins.
            None => false,
        }
    }

    fn scan(&mut self, escaped: &mut bool) -> Tok {
        if self.pos >= self.text.len() {
            // An executable comment that was opened must be closed.
            return if self.in_executable { Tok::Bad } else { Tok::Eof };
        }
        let c = self.text[self.pos];
        let class = CLASS[c as usize];
        if class & DIGIT != 0 && self.before != Before::Dot {
            return self.number();
        }
        if class & IDENT != 0 {
            return self.word(c, escaped);
        }
        match c {
            b'\'' => self.string(escaped),
            b'"' if !self.ansi_quotes => self.string(escaped),
            b'`' | b'"' => self.quoted_ident(c, escaped),
            b'.' if self.before != Before::Name && self.class(self.pos + 1) & DIGIT != 0 => self.number(),
            b'@' => self.at_sign(),
            _ => self.punctuation(c),
        }
    }

    /// A word, or a literal that begins like one.
    fn word(&mut self, c: u8, escaped: &mut bool) -> Tok {
        let start = self.pos;
        while self.class(self.pos) & IDENT != 0 {
            self.pos += 1;
        }
        if self.before == Before::Dot {
            return Tok::Ident;
        }
        let next = self.byte(self.pos);
        if next == b'.' && self.class(self.pos + 1) & IDENT != 0 {
            return Tok::Ident;
        }
        let word = &self.text[start..self.pos];
        if next == b'\'' && word.len() == 1 {
            match c {
                b'n' | b'N' => {
                    return if self.string(escaped) == Tok::Str { Tok::NationalStr } else { Tok::Bad };
                }
                b'x' | b'X' => return self.quoted_digits(Tok::Hex),
                b'b' | b'B' => return self.quoted_digits(Tok::Bit),
                _ => {}
            }
        }
        if c == b'_' && value::known_charset(&word[1..]) && self.introduced(escaped) {
            return Tok::Introduced;
        }
        if !self.keywords {
            return Tok::Ident;
        }
        Kw::lookup(word).map_or(Tok::Ident, Tok::Kw)
    }

    fn at_sign(&mut self) -> Tok {
        self.pos += 1;
        if self.byte(self.pos) == b'@' {
            self.pos += 1;
            return Tok::AtAt;
        }
        let start = self.pos;
        while self.class(self.pos) & IDENT != 0 || self.byte(self.pos) == b'.' {
            self.pos += 1;
        }
        if self.pos > start { Tok::UserVar } else { Tok::At }
    }

    fn punctuation(&mut self, c: u8) -> Tok {
        let (n1, n2) = (self.byte(self.pos + 1), self.byte(self.pos + 2));
        let (tok, len) = match (c, n1, n2) {
            (b'(', ..) => (Tok::LParen, 1),
            (b')', ..) => (Tok::RParen, 1),
            (b',', ..) => (Tok::Comma, 1),
            (b';', ..) => (Tok::Semi, 1),
            (b'.', ..) => (Tok::Dot, 1),
            (b'?', ..) => (Tok::Param, 1),
            (b'=', ..) => (Tok::Eq, 1),
            (b'<', b'=', b'>') => (Tok::NullSafeEq, 3),
            (b'<', b'=', _) => (Tok::Le, 2),
            (b'<', b'>', _) => (Tok::Ne, 2),
            (b'<', b'<', _) => (Tok::Shl, 2),
            (b'<', ..) => (Tok::Lt, 1),
            (b'>', b'=', _) => (Tok::Ge, 2),
            (b'>', b'>', _) => (Tok::Shr, 2),
            (b'>', ..) => (Tok::Gt, 1),
            (b'!', b'=', _) => (Tok::Ne, 2),
            (b'!', ..) => (Tok::Bang, 1),
            (b'-', b'>', b'>') => (Tok::ArrowArrow, 3),
            (b'-', b'>', _) => (Tok::Arrow, 2),
            (b'-', ..) => (Tok::Minus, 1),
            (b'+', ..) => (Tok::Plus, 1),
            (b'*', ..) => (Tok::Star, 1),
            (b'/', ..) => (Tok::Slash, 1),
            (b'%', ..) => (Tok::Percent, 1),
            (b'^', ..) => (Tok::Caret, 1),
            (b'~', ..) => (Tok::Tilde, 1),
            (b'&', b'&', _) => (Tok::AmpAmp, 2),
            (b'&', ..) => (Tok::Amp, 1),
            (b'|', b'|', _) => (Tok::PipePipe, 2),
            (b'|', ..) => (Tok::Pipe, 1),
            (b':', b'=', _) => (Tok::Assign, 2),
            (b':', ..) => (Tok::Colon, 1),
            (b'{', ..) => (Tok::LBrace, 1),
            (b'}', ..) => (Tok::RBrace, 1),
            _ => (Tok::Bad, 1),
        };
        self.pos += len;
        tok
    }
}
