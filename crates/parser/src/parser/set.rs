//! SET of variables, names and character set.

use super::{Parser, Result, operand::scope_word};
use crate::{
    ast::{ColumnRef, Expr, Ident, SetItem, SetStmt, SetValue, Stmt, VarScope},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `SET …`.
    pub(super) fn set(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        let tok = self.tok.tok;
        match tok {
            Tok::Kw(Kw::PASSWORD) if matches!(self.peek(), Tok::Eq | Tok::Assign | Tok::Kw(Kw::FOR | Kw::TO)) => {
                return self.set_password();
            }
            Tok::Kw(Kw::ROLE) if !self.peek_assigns() => return self.set_role(),
            Tok::Kw(Kw::DEFAULT) => return self.set_default_role(),
            Tok::Kw(Kw::RESOURCE) if !self.peek_assigns() => return self.unsupported("SET RESOURCE GROUP", start),
            Tok::Kw(Kw::TRANSACTION) if !self.peek_assigns() => return self.set_transaction(None),
            Tok::Kw(Kw::GLOBAL | Kw::SESSION | Kw::LOCAL) if self.peek_is(Kw::TRANSACTION) => {
                let scope = if self.at(Kw::GLOBAL) { VarScope::Global } else { VarScope::Session };
                self.bump();
                // A variable named `transaction` does not exist; MySQL reads the word in the same way.
                return self.set_transaction(Some(scope));
            }
            _ => {}
        }
        Ok(Stmt::Set(SetStmt { items: self.comma_list(Self::set_item)? }))
    }

    fn peek_assigns(&mut self) -> bool {
        matches!(self.peek(), Tok::Eq | Tok::Assign | Tok::Dot)
    }

    fn set_item(&mut self) -> Result<SetItem> {
        let tok = self.tok.tok;
        match tok {
            Tok::UserVar | Tok::At => {
                let name = self.user_var_name()?;
                self.assign()?;
                return Ok(SetItem::User { name, value: self.expr()? });
            }
            Tok::AtAt => {
                let (scope, name) = self.system_var()?;
                self.assign()?;
                return Ok(SetItem::System { scope, name, value: self.set_value()? });
            }
            Tok::Kw(Kw::NAMES) if !self.peek_assigns() => return self.set_names(),
            _ if self.at_charset_clause() && !self.peek_assigns() => {
                // `CHARACTER SET name`; a `=` is allowed by the clause but not by MySQL here.
                return Ok(SetItem::CharacterSet(self.charset_clause()?));
            }
            _ => {}
        }
        let mut scope = None;
        if let Tok::Kw(Kw::GLOBAL | Kw::SESSION | Kw::LOCAL | Kw::PERSIST | Kw::PERSIST_ONLY) = self.tok.tok
            && !self.peek_assigns()
        {
            let word = self.ident()?;
            scope = scope_word(&word);
        }
        let name = self.ident()?;
        let mut name = name.to_ascii_lowercase();
        if self.eat(Tok::Dot) {
            name = format!("{name}.{}", self.ident_after_dot()?.to_ascii_lowercase());
        }
        self.assign()?;
        Ok(SetItem::System { scope, name: Ident::from(name), value: self.set_value()? })
    }

    fn assign(&mut self) -> Result<()> {
        if self.eat(Tok::Eq) { Ok(()) } else { self.expect(Tok::Assign) }
    }

    fn set_value(&mut self) -> Result<SetValue> {
        let ends = matches!(self.peek(), Tok::Comma | Tok::Semi | Tok::Eof);
        match self.tok.tok {
            Tok::Kw(Kw::DEFAULT) if ends => {
                self.bump();
                Ok(SetValue::Default)
            }
            Tok::Kw(Kw::TRUE | Kw::FALSE | Kw::NULL) => Ok(SetValue::Expr(self.expr()?)),
            Tok::Kw(Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM) if ends => Ok(SetValue::Word(self.ident_after_dot()?)),
            Tok::Ident | Tok::Kw(_) | Tok::QuotedIdent if ends && self.at_ident() => Ok(SetValue::Word(self.long_ident()?)),
            _ => Ok(match self.expr()? {
                // Parentheses make no difference: a bare name is a word.
                Expr::Column(ColumnRef { schema: None, table: None, name }) => SetValue::Word(name),
                value => SetValue::Expr(value),
            }),
        }
    }

    /// `NAMES {charset [COLLATE collation] | DEFAULT}`.
    fn set_names(&mut self) -> Result<SetItem> {
        self.bump();
        if self.eat(Kw::DEFAULT) {
            return Ok(SetItem::Names { charset: None, collation: None });
        }
        let charset = Some(self.charset_name()?);
        let collation = if self.eat(Kw::COLLATE) { Some(self.collation_name()?) } else { None };
        Ok(SetItem::Names { charset, collation })
    }
}
