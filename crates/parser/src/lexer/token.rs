//! Tokens: a kind and a span of the text. They own nothing.

use super::Kw;

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum Tok {
    /// The end of the text.
    Eof,
    /// A byte that begins no token, or an unterminated string, quoted name or comment.
    Bad,
    /// A keyword, reserved or not.
    Kw(Kw),
    /// A bare word that is no keyword.
    Ident,
    /// `` `…` ``, and `"…"` under ANSI_QUOTES.
    QuotedIdent,
    /// `@name`, without quotes.
    UserVar,
    /// Digits.
    Int,
    /// Digits with a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// One or more adjacent strings.
    Str,
    /// `N'…'`.
    NationalStr,
    /// `_charset` with the string, hex or bit literal behind it.
    Introduced,
    /// `0x…`, `x'…'`.
    Hex,
    /// `0b…`, `b'…'`.
    Bit,
    /// `?`.
    Param,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Semi,
    Dot,
    At,
    AtAt,
    Assign,
    Colon,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Arrow,
    ArrowArrow,
}

impl Tok {
    /// Whether the token is a literal that has an ordinal.
    pub(crate) fn is_literal(self) -> bool {
        matches!(self, Tok::Int | Tok::Decimal | Tok::Float | Tok::Str | Tok::NationalStr | Tok::Introduced | Tok::Hex | Tok::Bit)
    }
}

impl From<Kw> for Tok {
    fn from(kw: Kw) -> Tok {
        Tok::Kw(kw)
    }
}

/// A token: its kind and where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    /// First byte.
    pub(crate) start: u32,
    /// One behind the last byte.
    pub(crate) end: u32,
    /// The quoted text holds escapes, doubled quotes or several strings, so that it is not the bytes between the quotes.
    pub(crate) escaped: bool,
    /// A `/*+ … */` comment lies between this token and the one before.
    pub(crate) hint_before: bool,
}
