//! Literals and their ordinals.

/// The place of a literal among all literals of the statement, 0-based in lexical order.
///
/// It tells where a value comes from and is no part of the meaning: any two ids are equal under `==`. Use [`LiteralId::ordinal`].
#[derive(Clone, Copy, Debug, Eq)]
pub struct LiteralId(pub u32);

impl LiteralId {
    /// The id of values that are part of the statement's key and so are never extracted: `NULL`, `TRUE`, `FALSE`,
    /// and values the parser supplies itself.
    pub const NONE: LiteralId = LiteralId(u32::MAX);

    /// The ordinal, or `None` for a value that is not extracted.
    pub fn ordinal(self) -> Option<usize> {
        (self.0 != u32::MAX).then_some(self.0 as usize)
    }
}

impl PartialEq for LiteralId {
    fn eq(&self, _: &LiteralId) -> bool {
        true
    }
}

/// A literal value.
///
/// Numbers have no sign: `-5` is the operator minus over `5`. Strings are bytes in the connection's character set, with escapes
/// resolved and adjacent strings joined; they need not be valid UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `TRUE` or `FALSE`.
    Bool(bool),
    /// An integer up to 2^63 - 1.
    Int(i64),
    /// An integer from 2^63 to 2^64 - 1.
    UInt(u64),
    /// A number with a point, or an integer beyond 64 bits: its digits, such as `1.50` or `.5`.
    Decimal(Box<str>),
    /// A number with an exponent. Never NaN; a value too large to represent is an error of the lexer's user, not infinity.
    Float(f64),
    /// `'…'`, in the connection's character set.
    Str(Box<[u8]>),
    /// `_charset'…'`, `N'…'`, `_charset 0x…`, `_charset b'…'`.
    Introduced(Box<IntroducedString>),
    /// `0x…` and `x'…'`.
    Hex(Box<[u8]>),
    /// `0b…` and `b'…'`, big-endian, padded to whole bytes on the left.
    Bit(Box<[u8]>),
}

/// A string with a character set introducer.
#[derive(Clone, Debug, PartialEq)]
pub struct IntroducedString {
    /// The character set's name in lower case; `utf8mb3` for `N'…'`.
    pub charset: Box<str>,
    /// The bytes.
    pub value: Box<[u8]>,
}

impl Literal {
    /// A string literal of text.
    pub fn str(text: &str) -> Literal {
        Literal::Str(text.as_bytes().into())
    }
}
