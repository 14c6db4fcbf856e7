//! The parser: recursive descent over statements, precedence climbing over expressions.
//!
//! One file per statement family; this one holds the cursor over the tokens that all of them share.
//!
//! Invariants:
//! - each token is taken by exactly one [`Parser::bump`], in order, so counting there gives literals and `?` their ordinals;
//! - looking ahead copies the lexer and counts nothing;
//! - the depth of recursion and the height of the tree are both bounded ([`crate::MAX_NESTING`], [`crate::MAX_HEIGHT`]), so neither the
//!   parser nor a recursive reader of its result can exhaust the stack.

mod admin;
mod alter;
mod column;
mod create;
mod cte;
mod ddl;
mod dml;
mod expr;
mod function;
mod hint;
mod json_table;
mod load;
mod operand;
mod partition;
mod select;
mod set;
mod show;
mod special;
mod statement;
mod table_option;
mod table_ref;
mod transaction;
mod unsupported;
mod user;
mod window;

pub use unsupported::UNSUPPORTED;
pub(crate) use {function::is_aggregate, operand::scope_word};

use crate::{
    MAX_HEIGHT, MAX_NESTING, ParseError, ParseErrorKind, ParseOptions,
    ast::{Ident, Literal, LiteralId, TableName},
    lexer::{Kw, Lexer, Tok, Token, value},
};

/// Results inside the parser; the error is boxed because it is rare and large.
pub(crate) type Result<T> = std::result::Result<T, Box<ParseError>>;

/// The longest identifier, in characters.
const MAX_IDENT_CHARS: usize = 64;

/// Tokens that may be looked at further ahead than one, in a text.
const LOOK_AHEAD_BUDGET: u32 = 1 << 20;

/// The most `?` markers of one statement: the protocol counts them in 16 bits.
const MAX_PARAMS: u32 = 65535;

/// A cursor over the tokens of a text.
pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    opts: &'a ParseOptions,
    /// The current token: the first one not yet taken.
    tok: Token,
    /// The token behind it, when somebody has looked.
    ahead: Option<Token>,
    /// Where the last taken token ends.
    prev_end: u32,
    /// Literal tokens taken in this statement.
    pub(crate) literals: u32,
    /// How many of them became expressions.
    pub(crate) expr_literals: u32,
    /// `?` taken in this statement.
    pub(crate) params: u32,
    depth: usize,
    /// How many tokens may still be looked at far ahead; keeps hostile texts from costing quadratic time.
    look_ahead_budget: u32,
    /// Height of the tree of the expression or query parsed last; see [`Parser::deeper`].
    height: usize,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a [u8], opts: &'a ParseOptions) -> Parser<'a> {
        let mut lexer = Lexer::new(text, opts);
        let tok = lexer.next();
        Parser {
            lexer,
            opts,
            tok,
            ahead: None,
            prev_end: 0,
            literals: 0,
            expr_literals: 0,
            params: 0,
            depth: 0,
            look_ahead_budget: LOOK_AHEAD_BUDGET,
            height: 0,
        }
    }

    /// Whether nothing is left.
    pub(crate) fn at_end(&self) -> bool {
        self.tok.tok == Tok::Eof
    }

    /// Where the current token begins.
    pub(crate) fn offset(&self) -> usize {
        self.tok.start as usize
    }

    /// Starts counting literals and markers anew, for the next statement of a text.
    pub(crate) fn reset_counts(&mut self) {
        (self.literals, self.expr_literals, self.params, self.height) = (0, 0, 0, 0);
    }

    fn text(&self) -> &'a [u8] {
        self.lexer.text()
    }

    fn span(&self, token: Token) -> &'a [u8] {
        &self.lexer.text()[token.start as usize..token.end as usize]
    }

    /// Takes the current token.
    fn bump(&mut self) -> Token {
        let taken = self.tok;
        self.literals += u32::from(taken.tok.is_literal());
        self.prev_end = taken.end;
        self.tok = match self.ahead.take() {
            Some(token) => token,
            None => self.lexer.next(),
        };
        taken
    }

    /// The token behind the current one.
    fn peek(&mut self) -> Tok {
        if self.ahead.is_none() {
            self.ahead = Some(self.lexer.next());
        }
        self.ahead.map_or(Tok::Eof, |t| t.tok)
    }

    /// Whether the token behind the current one is `tok`.
    fn peek_is(&mut self, tok: impl Into<Tok>) -> bool {
        self.peek() == tok.into()
    }

    /// A lexer standing behind the current token, for looking further ahead than one token.
    fn look_from_here(&self) -> Lexer<'a> {
        let mut lexer = self.lexer;
        if let Some(ahead) = self.ahead {
            // The lexer has passed the token ahead: go back to where that one begins.
            lexer.go_to(ahead.start as usize);
        }
        lexer
    }

    fn at(&self, tok: impl Into<Tok>) -> bool {
        self.tok.tok == tok.into()
    }

    /// Takes the current token if it is `tok`.
    fn eat(&mut self, tok: impl Into<Tok>) -> bool {
        let found = self.tok.tok == tok.into();
        if found {
            self.bump();
        }
        found
    }

    /// Takes two keywords if both are there.
    fn eat2(&mut self, first: Kw, second: Kw) -> bool {
        if self.at(first) && self.peek_is(second) {
            self.bump();
            self.bump();
            return true;
        }
        false
    }

    fn expect(&mut self, tok: impl Into<Tok>) -> Result<()> {
        if self.eat(tok) { Ok(()) } else { Err(self.syntax()) }
    }

    /// Takes one of several keywords.
    fn eat_any(&mut self, kws: &[Kw]) -> Option<Kw> {
        match self.tok.tok {
            Tok::Kw(kw) if kws.contains(&kw) => {
                self.bump();
                Some(kw)
            }
            _ => None,
        }
    }

    /// Whether the current token is the bare word `word` (upper case), keyword or not.
    fn at_word(&self, word: &str) -> bool {
        matches!(self.tok.tok, Tok::Ident | Tok::Kw(_)) && self.span(self.tok).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Takes the bare word `word` (upper case), keyword or not.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Takes one of several bare words (upper case).
    fn eat_words(&mut self, words: &[&'static str]) -> Option<&'static str> {
        words.iter().copied().find(|w| self.eat_word(w))
    }

    /// The error that the current token does not fit.
    #[cold]
    fn syntax(&self) -> Box<ParseError> {
        self.error_at(ParseErrorKind::Syntax, self.tok.start)
    }

    #[cold]
    fn error(&self, kind: ParseErrorKind) -> Box<ParseError> {
        self.error_at(kind, self.tok.start)
    }

    #[cold]
    fn error_at(&self, kind: ParseErrorKind, offset: u32) -> Box<ParseError> {
        Box::new(ParseError::at(kind, self.text(), offset as usize))
    }

    /// Runs `f` one level deeper and accounts for the height of what it built.
    ///
    /// Afterwards `height` is the larger of what it was and one more than what `f` built, so whoever parses several parts in
    /// turn ends with the height of the highest.
    fn deeper<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.height);
        let result = f(self);
        self.depth -= 1;
        self.height = outer.max(self.height + 1);
        self.check_height()?;
        result
    }

    fn check_height(&self) -> Result<()> {
        if self.height > MAX_HEIGHT { Err(self.error(ParseErrorKind::TooDeep)) } else { Ok(()) }
    }

    /// One node above a left part of height `left` and a right part of the current height.
    fn grow(&mut self, left: usize) -> Result<()> {
        self.height = self.height.max(left) + 1;
        self.check_height()
    }

    /// `item, item, …`, at least one.
    fn comma_list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Tok::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `( item, item, … )`, at least one.
    fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(Tok::LParen)?;
        let items = self.comma_list(item)?;
        self.expect(Tok::RParen)?;
        Ok(items)
    }

    // Names.

    fn make_ident(&self, token: Token) -> Result<Ident> {
        let Some(bytes) = value::name_bytes(self.text(), token) else { return Err(self.error_at(ParseErrorKind::Syntax, token.start)) };
        match std::str::from_utf8(&bytes) {
            Ok(name) => Ok(Ident::from(name)),
            Err(_) => Err(self.error_at(ParseErrorKind::Syntax, token.start)),
        }
    }

    /// Whether the current token can be an identifier.
    fn at_ident(&self) -> bool {
        value::is_name(self.tok.tok)
    }

    /// An identifier of any length; aliases and variables are not bound to 64 characters.
    fn long_ident(&mut self) -> Result<Ident> {
        if !self.at_ident() {
            return Err(self.syntax());
        }
        let token = self.bump();
        self.make_ident(token)
    }

    /// An identifier.
    fn ident(&mut self) -> Result<Ident> {
        let name = self.long_ident()?;
        self.check_ident(name)
    }

    /// An identifier where reserved words are identifiers too: behind a dot.
    fn ident_after_dot(&mut self) -> Result<Ident> {
        if !matches!(self.tok.tok, Tok::Ident | Tok::QuotedIdent | Tok::Kw(_)) {
            return Err(self.syntax());
        }
        let token = self.bump();
        let name = self.make_ident(token)?;
        self.check_ident(name)
    }

    fn check_ident(&self, name: Ident) -> Result<Ident> {
        if name.len() > MAX_IDENT_CHARS && name.chars().count() > MAX_IDENT_CHARS {
            return Err(self.error(ParseErrorKind::TooLongIdent(name.into_string())));
        }
        Ok(name)
    }

    /// An identifier or a string.
    fn ident_or_text(&mut self) -> Result<Ident> {
        if self.at(Tok::Str) { Ok(Ident::from(self.text_literal()?)) } else { self.long_ident() }
    }

    /// `[schema.]name`, also `.name`.
    fn table_name(&mut self) -> Result<TableName> {
        if self.at(Tok::Dot) {
            self.bump();
            return Ok(TableName { schema: None, name: self.ident_after_dot()? });
        }
        let name = self.ident()?;
        if self.eat(Tok::Dot) {
            return Ok(TableName { schema: Some(name), name: self.ident_after_dot()? });
        }
        Ok(TableName { schema: None, name })
    }

    /// `(name, …)`.
    fn paren_idents(&mut self) -> Result<Vec<Ident>> {
        self.paren_list(Self::ident)
    }

    /// `(name, …)` when a parenthesis is there.
    fn opt_paren_idents(&mut self) -> Result<Vec<Ident>> {
        if self.at(Tok::LParen) { self.paren_idents() } else { Ok(Vec::new()) }
    }

    /// The name of a character set: a word, a string or BINARY, in lower case. DEFAULT is the caller's business.
    fn charset_name(&mut self) -> Result<Ident> {
        let name = if self.eat(Kw::BINARY) { Ident::from("binary") } else { self.ident_or_text()? };
        let name = name.to_ascii_lowercase();
        if value::known_charset(name.as_bytes()) { Ok(Ident::from(name)) } else { Err(self.error(ParseErrorKind::UnknownCharset(name))) }
    }

    /// The name of a collation, in lower case.
    fn collation_name(&mut self) -> Result<Ident> {
        let name = if self.eat(Kw::BINARY) { Ident::from("binary") } else { self.ident_or_text()? };
        let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(word) {
            return Err(self.error(ParseErrorKind::UnknownCollation(name.into_string())));
        }
        Ok(Ident::from(name.to_ascii_lowercase()))
    }

    // Literals outside expressions.

    /// A string, as text.
    fn text_literal(&mut self) -> Result<String> {
        if !matches!(self.tok.tok, Tok::Str | Tok::NationalStr | Tok::Hex | Tok::Introduced) {
            return Err(self.syntax());
        }
        let token = self.bump();
        let bytes = match value::literal(self.text(), token, self.opts) {
            Ok(Literal::Str(bytes) | Literal::Hex(bytes)) => bytes,
            Ok(Literal::Introduced(s)) => s.value,
            _ => return Err(self.error_at(ParseErrorKind::Syntax, token.start)),
        };
        String::from_utf8(bytes.into_vec()).map_err(|_| self.error_at(ParseErrorKind::Syntax, token.start))
    }

    /// An unsigned integer, also in hexadecimal.
    fn uint(&mut self) -> Result<u64> {
        if !matches!(self.tok.tok, Tok::Int | Tok::Hex) {
            return Err(self.syntax());
        }
        let token = self.bump();
        match value::literal(self.text(), token, self.opts) {
            Ok(Literal::Int(v)) => Ok(v as u64),
            Ok(Literal::UInt(v)) => Ok(v),
            Ok(Literal::Hex(bytes)) if bytes.len() <= 8 => Ok(bytes.iter().fold(0, |v, b| v << 8 | u64::from(*b))),
            _ => Err(self.error_at(ParseErrorKind::Syntax, token.start)),
        }
    }

    fn small_uint<T: TryFrom<u64>>(&mut self) -> Result<T> {
        let at = self.tok.start;
        let value = self.uint()?;
        T::try_from(value).map_err(|_| self.error_at(ParseErrorKind::Syntax, at))
    }

    /// The current literal token as a value with its ordinal.
    fn literal(&mut self) -> Result<(Literal, LiteralId)> {
        let id = LiteralId(self.literals);
        let token = self.bump();
        self.expr_literals += 1;
        match value::literal(self.text(), token, self.opts) {
            Ok(literal) => Ok((literal, id)),
            Err(kind) => Err(self.error_at(kind, token.start)),
        }
    }

    /// The current `?`.
    fn param(&mut self) -> Result<u32> {
        if !self.opts.markers {
            return Err(self.syntax());
        }
        if self.params >= MAX_PARAMS {
            return Err(self.error(ParseErrorKind::TooManyParams));
        }
        self.bump();
        self.params += 1;
        Ok(self.params - 1)
    }

    /// An optional `=`.
    fn opt_eq(&mut self) {
        if !self.eat(Tok::Eq) {
            self.eat(Tok::Assign);
        }
    }

    /// `IF EXISTS`.
    fn if_exists(&mut self) -> bool {
        self.eat2(Kw::IF, Kw::EXISTS)
    }

    /// `IF NOT EXISTS`.
    fn if_not_exists(&mut self) -> Result<bool> {
        if !self.at(Kw::IF) || !self.peek_is(Kw::NOT) {
            return Ok(false);
        }
        self.bump();
        self.bump();
        self.expect(Kw::EXISTS)?;
        Ok(true)
    }
}
