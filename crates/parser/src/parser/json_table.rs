//! JSON_TABLE in FROM.

use super::{Parser, Result};
use crate::{
    ast::{JsonTable, JsonTableColumn, TableRef},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `JSON_TABLE(doc, 'path' COLUMNS (…)) [AS] alias`.
    pub(super) fn json_table(&mut self) -> Result<TableRef> {
        self.bump();
        self.expect(Tok::LParen)?;
        let doc = self.expr()?;
        self.expect(Tok::Comma)?;
        let path = self.text_literal()?;
        let columns = self.json_columns()?;
        self.expect(Tok::RParen)?;
        let alias = self.opt_table_alias()?;
        Ok(TableRef::JsonTable(Box::new(JsonTable { doc, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Result<Vec<JsonTableColumn>> {
        self.expect(Kw::COLUMNS)?;
        self.deeper(|p| p.paren_list(Self::json_column))
    }

    fn json_column(&mut self) -> Result<JsonTableColumn> {
        if self.at(Kw::NESTED) && (self.peek_is(Kw::PATH) || self.peek_is(Tok::Str)) {
            self.bump();
            self.eat(Kw::PATH);
            let path = self.text_literal()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.eat(Kw::FOR) {
            self.expect(Kw::ORDINALITY)?;
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let (ty, serial) = self.column_type(&name)?;
        if serial {
            return Err(self.syntax());
        }
        let exists = self.eat(Kw::EXISTS);
        self.expect(Kw::PATH)?;
        let path = self.text_literal()?;
        let (on_empty, on_error) = self.json_responses()?;
        Ok(JsonTableColumn::Path { name, ty: Box::new(ty), exists, path, on_empty, on_error })
    }
}
