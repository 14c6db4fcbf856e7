//! Optimizer hints, `/*+ … */` directly behind SELECT, INSERT, REPLACE, UPDATE or DELETE.
//!
//! A hint MySQL cannot read costs a warning, not the statement: what can be read up to the first mistake is kept. The comment is
//! lexed by itself, so literals in it have no ordinals.

use super::{Parser, Result};
use crate::{
    ast::{HintArg, Ident, OptimizerHint},
    lexer::Tok,
};

impl Parser<'_> {
    /// The hints between the token just taken and the current one.
    pub(super) fn opt_hints(&mut self) -> Vec<OptimizerHint> {
        if !self.tok.hint_before {
            return Vec::new();
        }
        let between = &self.text()[self.prev_end as usize..self.tok.start as usize];
        let Some(start) = memchr::memmem::find(between, b"/*+") else { return Vec::new() };
        let inner = &between[start + 3..];
        let inner = &inner[..memchr::memmem::find(inner, b"*/").unwrap_or(inner.len())];
        let mut parser = Parser::new(inner, self.opts);
        let mut hints = Vec::new();
        while !parser.at_end() {
            match parser.hint() {
                Ok(hint) => hints.push(hint),
                Err(_) => break,
            }
        }
        hints
    }

    fn hint(&mut self) -> Result<OptimizerHint> {
        let name = self.ident_after_dot()?.to_ascii_uppercase();
        self.expect(Tok::LParen)?;
        let mut hint = OptimizerHint { name, query_block: None, args: Vec::new() };
        if self.at(Tok::UserVar) || self.at(Tok::At) {
            hint.query_block = Some(self.query_block()?);
            self.eat(Tok::Comma);
        }
        while !self.at(Tok::RParen) {
            hint.args.push(self.hint_arg()?);
            self.eat(Tok::Comma);
        }
        self.bump();
        Ok(hint)
    }

    fn query_block(&mut self) -> Result<Ident> {
        let token = self.bump();
        if token.tok == Tok::UserVar {
            let name = std::str::from_utf8(&self.span(token)[1..]).map_err(|_| self.syntax())?;
            return Ok(Ident::from(name));
        }
        self.long_ident()
    }

    fn hint_arg(&mut self) -> Result<HintArg> {
        match self.tok.tok {
            Tok::UserVar | Tok::At => return Ok(HintArg::QueryBlock(self.query_block()?)),
            Tok::Int => return Ok(HintArg::Int(self.uint()?)),
            Tok::Str => return Ok(HintArg::Str(self.text_literal()?)),
            _ => {}
        }
        let first = self.ident_after_dot()?;
        if self.eat(Tok::Eq) {
            return Ok(HintArg::Assign(first, self.hint_value()?));
        }
        let (schema, name) = if self.eat(Tok::Dot) { (Some(first), self.ident_after_dot()?) } else { (None, first) };
        // `t@block`: no blank between.
        let attached = (self.at(Tok::UserVar) || self.at(Tok::At)) && self.prev_end == self.tok.start;
        let query_block = if attached { Some(self.query_block()?) } else { None };
        Ok(HintArg::Name { schema, name, query_block })
    }

    /// The value of SET_VAR as text.
    fn hint_value(&mut self) -> Result<String> {
        if self.at(Tok::Str) {
            return self.text_literal();
        }
        let sign = if self.eat(Tok::Minus) { "-" } else { "" };
        if !matches!(self.tok.tok, Tok::Int | Tok::Decimal | Tok::Float | Tok::Ident | Tok::Kw(_)) {
            return Err(self.syntax());
        }
        let token = self.bump();
        Ok(format!("{sign}{}", String::from_utf8_lossy(self.span(token))))
    }
}
