//! Strings, quoted names, and literals that begin like words: `N'…'`, `x'…'`, `_utf8mb4'…'`.

use super::{Lexer, SPACE, Tok};

impl Lexer<'_> {
    /// One or more adjacent strings.
    pub(super) fn string(&mut self, escaped: &mut bool) -> Tok {
        loop {
            let quote = self.text[self.pos];
            if !self.one_string(quote, escaped) {
                return Tok::Bad;
            }
            let next = self.byte(self.pos);
            if self.opens_string(next) {
                *escaped = true;
                continue;
            }
            if self.class(self.pos) & SPACE == 0 && !matches!(next, b'/' | b'#' | b'-' | b'*') {
                return Tok::Str;
            }
            // Look past blanks and comments for another string; if there is none the blanks are the next token's business.
            let mut ahead = *self;
            let (ok, _) = ahead.skip_blanks();
            if !ok || ahead.in_executable != self.in_executable || !ahead.opens_string(ahead.byte(ahead.pos)) {
                return Tok::Str;
            }
            *self = ahead;
            *escaped = true;
        }
    }

    pub(super) fn opens_string(&self, byte: u8) -> bool {
        byte == b'\'' || (byte == b'"' && !self.ansi_quotes)
    }

    /// One string; the lexer stands on its opening quote. False when it does not end.
    fn one_string(&mut self, quote: u8, escaped: &mut bool) -> bool {
        self.pos += 1;
        loop {
            let rest = &self.text[self.pos..];
            let found = if self.no_backslash_escapes { memchr::memchr(quote, rest) } else { memchr::memchr2(quote, b'\\', rest) };
            let Some(i) = found else {
                self.pos = self.text.len();
                return false;
            };
            self.pos += i;
            if self.text[self.pos] == b'\\' && quote != b'\\' {
                *escaped = true;
                if self.pos + 2 > self.text.len() {
                    return false;
                }
                self.pos = (self.pos + 2).min(self.text.len());
            } else if self.byte(self.pos + 1) == quote && self.pos + 1 < self.text.len() {
                // Doubled: one quote of the text.
                *escaped = true;
                self.pos += 2;
            } else {
                self.pos += 1;
                return true;
            }
        }
    }

    /// A quoted name. One that holds a zero byte is no token; an empty one is, and no name that anything can have.
    pub(super) fn quoted_ident(&mut self, quote: u8, escaped: &mut bool) -> Tok {
        let start = self.pos;
        self.pos += 1;
        loop {
            let Some(i) = memchr::memchr(quote, &self.text[self.pos..]) else {
                self.pos = self.text.len();
                return Tok::Bad;
            };
            self.pos += i + 1;
            if self.byte(self.pos) != quote {
                break;
            }
            *escaped = true;
            self.pos += 1;
        }
        let inner = &self.text[start + 1..self.pos - 1];
        if memchr::memchr(0, inner).is_some() { Tok::Bad } else { Tok::QuotedIdent }
    }

    /// `'digits'` behind `x` or `b`.
    pub(super) fn quoted_digits(&mut self, tok: Tok) -> Tok {
        let first = self.pos + 1;
        let Some(len) = memchr::memchr(b'\'', &self.text[first..]) else {
            self.pos = self.text.len();
            return Tok::Bad;
        };
        self.pos = first + len + 1;
        let digits = &self.text[first..first + len];
        let good = match tok {
            Tok::Hex => len % 2 == 0 && digits.iter().all(u8::is_ascii_hexdigit),
            _ => digits.iter().all(|b| matches!(b, b'0' | b'1')),
        };
        if good { tok } else { Tok::Bad }
    }

    /// The literal behind a character set introducer, blanks between allowed. False, and nothing taken, when there is none.
    pub(super) fn introduced(&mut self, escaped: &mut bool) -> bool {
        let mut ahead = *self;
        if !ahead.skip_blanks().0 {
            return false;
        }
        let mut inner_escaped = false;
        let (c, next) = (ahead.byte(ahead.pos), ahead.byte(ahead.pos + 1));
        let tok = if ahead.opens_string(c) {
            ahead.string(&mut inner_escaped)
        } else {
            match (c, next) {
                (b'0', b'x' | b'b') => ahead.number(),
                (b'x' | b'X', b'\'') => {
                    ahead.pos += 1;
                    ahead.quoted_digits(Tok::Hex)
                }
                (b'b' | b'B', b'\'') => {
                    ahead.pos += 1;
                    ahead.quoted_digits(Tok::Bit)
                }
                _ => return false,
            }
        };
        let found = matches!(tok, Tok::Str | Tok::Hex | Tok::Bit);
        if found {
            *escaped = inner_escaped;
            *self = ahead;
        }
        found
    }
}
