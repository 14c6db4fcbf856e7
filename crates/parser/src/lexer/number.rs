//! Numbers, and words that begin with a digit.

use super::{CLASS, DIGIT, IDENT, Lexer, Tok};

impl Lexer<'_> {
    /// A token that begins with a digit, or with a point and a digit.
    pub(super) fn number(&mut self) -> Tok {
        let start = self.pos;
        if self.text[start] == b'0' {
            let prefixed = match self.byte(start + 1) {
                b'x' => self.prefixed(|b| b.is_ascii_hexdigit(), Tok::Hex),
                b'b' => self.prefixed(|b| b == b'0' || b == b'1', Tok::Bit),
                _ => None,
            };
            if let Some(tok) = prefixed {
                return tok;
            }
        }
        self.digits();
        if self.byte(self.pos) == b'.' {
            self.pos += 1;
            self.digits();
            return match self.exponent() {
                Some(true) => Tok::Float,
                // `1.5e` is no number, and the grammar has nothing that begins so.
                Some(false) => Tok::Bad,
                None => Tok::Decimal,
            };
        }
        if self.class(self.pos) & IDENT == 0 {
            return Tok::Int;
        }
        if self.exponent() == Some(true) {
            return Tok::Float;
        }
        while self.class(self.pos) & IDENT != 0 {
            self.pos += 1;
        }
        Tok::Ident
    }

    fn digits(&mut self) {
        while self.class(self.pos) & DIGIT != 0 {
            self.pos += 1;
        }
    }

    /// Takes `e[+-]digits`. `None` when there is no `e`, `Some(false)` (and nothing taken) when no digits follow it.
    fn exponent(&mut self) -> Option<bool> {
        if self.byte(self.pos) | 0x20 != b'e' {
            return None;
        }
        let sign = usize::from(matches!(self.byte(self.pos + 1), b'+' | b'-'));
        if self.class(self.pos + 1 + sign) & DIGIT == 0 {
            return Some(false);
        }
        self.pos += 1 + sign;
        self.digits();
        Some(true)
    }

    /// `0x…` or `0b…`, when at least one digit follows and no letter behind the digits.
    fn prefixed(&mut self, digit: impl Fn(u8) -> bool, tok: Tok) -> Option<Tok> {
        let first = self.pos + 2;
        let mut end = first;
        while self.text.get(end).is_some_and(|b| digit(*b)) {
            end += 1;
        }
        if end == first || CLASS[self.byte(end) as usize] & IDENT != 0 {
            return None;
        }
        self.pos = end;
        Some(tok)
    }
}
