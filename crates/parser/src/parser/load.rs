//! LOAD DATA, and the file format it shares with SELECT … INTO OUTFILE.

use super::{Parser, Result};
use crate::{
    ast::{ColumnRef, DmlPriority, DuplicateMode, Expr, FieldsFormat, LinesFormat, LoadDataStmt},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `LOAD DATA …`; LOAD and DATA are taken.
    pub(super) fn load_data(&mut self) -> Result<LoadDataStmt> {
        let priority = match self.eat_any(&[Kw::LOW_PRIORITY, Kw::CONCURRENT]) {
            Some(Kw::LOW_PRIORITY) => Some(DmlPriority::Low),
            Some(_) => Some(DmlPriority::High),
            None => None,
        };
        let local = self.eat(Kw::LOCAL);
        self.expect(Kw::INFILE)?;
        let file = self.text_literal()?;
        let on_duplicate = self.opt_duplicate_mode();
        self.expect(Kw::INTO)?;
        self.expect(Kw::TABLE)?;
        let table = self.table_name()?;
        let partitions = self.opt_partition_names()?;
        let charset = if self.at_charset_clause() { self.charset_clause()? } else { None };
        let (fields, lines) = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat(Kw::IGNORE) {
            ignore_lines = self.uint()?;
            if self.eat_any(&[Kw::LINES, Kw::ROWS]).is_none() {
                return Err(self.syntax());
            }
        }
        let mut columns = Vec::new();
        if self.eat(Tok::LParen) {
            if !self.at(Tok::RParen) {
                columns = self.comma_list(Self::load_column)?;
            }
            self.expect(Tok::RParen)?;
        }
        let set = if self.eat(Kw::SET) { self.comma_list(Self::assignment)? } else { Vec::new() };
        Ok(LoadDataStmt { local, priority, file, on_duplicate, table, partitions, charset, fields, lines, ignore_lines, columns, set })
    }

    fn load_column(&mut self) -> Result<Expr> {
        if self.at(Tok::UserVar) || self.at(Tok::At) {
            return Ok(Expr::UserVar(self.user_var_name()?));
        }
        let column: ColumnRef = self.column_ref()?;
        Ok(Expr::Column(column))
    }

    /// `[REPLACE | IGNORE]`.
    pub(super) fn opt_duplicate_mode(&mut self) -> Option<DuplicateMode> {
        self.eat_any(&[Kw::REPLACE, Kw::IGNORE]).map(|kw| if kw == Kw::REPLACE { DuplicateMode::Replace } else { DuplicateMode::Ignore })
    }

    /// `[{FIELDS | COLUMNS} …] [LINES …]`.
    pub(super) fn file_format(&mut self) -> Result<(FieldsFormat, LinesFormat)> {
        let (mut fields, mut lines) = (FieldsFormat::default(), LinesFormat::default());
        if self.eat_any(&[Kw::FIELDS, Kw::COLUMNS]).is_some() {
            let mut any = false;
            while let Some(kw) = self.eat_any(&[Kw::TERMINATED, Kw::OPTIONALLY, Kw::ENCLOSED, Kw::ESCAPED]) {
                if kw == Kw::OPTIONALLY {
                    self.expect(Kw::ENCLOSED)?;
                    fields.optionally = true;
                }
                self.expect(Kw::BY)?;
                let text = Some(self.text_literal()?);
                match kw {
                    Kw::TERMINATED => fields.terminated = text,
                    Kw::ESCAPED => fields.escaped = text,
                    _ => fields.enclosed = text,
                }
                any = true;
            }
            if !any {
                return Err(self.syntax());
            }
        }
        if self.eat(Kw::LINES) {
            let mut any = false;
            while let Some(kw) = self.eat_any(&[Kw::STARTING, Kw::TERMINATED]) {
                self.expect(Kw::BY)?;
                let text = Some(self.text_literal()?);
                if kw == Kw::STARTING {
                    lines.starting = text;
                } else {
                    lines.terminated = text;
                }
                any = true;
            }
            if !any {
                return Err(self.syntax());
            }
        }
        Ok((fields, lines))
    }
}
