//! Options of tables and partitions.

use super::{Parser, Result};
use crate::{
    ast::{OptionValue, TableOption},
    lexer::{Kw, Tok},
};

/// Options that are a word and a value, `=` optional, kept as they are.
const PLAIN: &[&str] = &[
    "AUTOEXTEND_SIZE",
    "AVG_ROW_LENGTH",
    "CHECKSUM",
    "COMPRESSION",
    "CONNECTION",
    "DELAY_KEY_WRITE",
    "ENCRYPTION",
    "ENGINE_ATTRIBUTE",
    "INSERT_METHOD",
    "KEY_BLOCK_SIZE",
    "MAX_ROWS",
    "MIN_ROWS",
    "NODEGROUP",
    "PACK_KEYS",
    "PASSWORD",
    "ROW_FORMAT",
    "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE",
    "STATS_AUTO_RECALC",
    "STATS_PERSISTENT",
    "STATS_SAMPLE_PAGES",
    "TABLESPACE",
    "TABLE_CHECKSUM",
];

impl Parser<'_> {
    /// Options with or without commas between them.
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.opt_table_option()? {
            options.push(option);
            if self.at(Tok::Comma) {
                self.bump();
                match self.opt_table_option()? {
                    Some(option) => options.push(option),
                    None => return Err(self.syntax()),
                }
            }
        }
        Ok(options)
    }

    /// Options without commas: in ALTER TABLE a comma begins the next action.
    pub(super) fn table_options_without_commas(&mut self) -> Result<Vec<TableOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.opt_table_option()? {
            options.push(option);
        }
        Ok(options)
    }

    /// One option, when its first word stands here.
    pub(super) fn opt_table_option(&mut self) -> Result<Option<TableOption>> {
        if self.at(Kw::DEFAULT) {
            self.bump();
            if self.at(Kw::COLLATE) || self.at_charset_clause() || self.at(Kw::ENCRYPTION) {
                return self.opt_table_option();
            }
            return Err(self.syntax());
        }
        if self.at_charset_clause() {
            // DEFAULT as the value is the server's choice, as if the option were not there; the name says so.
            return Ok(Some(TableOption::Charset(self.charset_clause()?.unwrap_or_else(|| "default".into()))));
        }
        let Tok::Kw(kw) = self.tok.tok else { return self.opt_plain_option() };
        Ok(Some(match kw {
            Kw::ENGINE => {
                self.bump();
                self.opt_eq();
                TableOption::Engine(self.ident_or_text()?.into_string())
            }
            Kw::STORAGE if self.peek_is(Kw::ENGINE) => {
                self.bump();
                return self.opt_table_option();
            }
            Kw::STORAGE => {
                self.bump();
                let word = self.upper_word(&["DISK", "MEMORY"])?;
                TableOption::Other("STORAGE", OptionValue::Word(word))
            }
            Kw::AUTO_INCREMENT => {
                self.bump();
                self.opt_eq();
                TableOption::AutoIncrement(self.uint()?)
            }
            Kw::COLLATE => {
                self.bump();
                self.opt_eq();
                TableOption::Collate(if self.eat(Kw::DEFAULT) { "default".into() } else { self.collation_name()? })
            }
            Kw::COMMENT => {
                self.bump();
                self.opt_eq();
                TableOption::Comment(self.text_literal()?)
            }
            Kw::UNION => {
                self.bump();
                self.opt_eq();
                TableOption::Union(self.paren_list(Self::table_name)?)
            }
            Kw::DATA | Kw::INDEX if self.peek_is(Kw::DIRECTORY) => {
                self.bump();
                self.bump();
                self.opt_eq();
                let name = if kw == Kw::DATA { "DATA DIRECTORY" } else { "INDEX DIRECTORY" };
                TableOption::Other(name, OptionValue::Str(self.text_literal()?))
            }
            _ => return self.opt_plain_option(),
        }))
    }

    fn opt_plain_option(&mut self) -> Result<Option<TableOption>> {
        let Some(name) = self.eat_words(PLAIN) else { return Ok(None) };
        self.opt_eq();
        let value = match self.tok.tok {
            Tok::Int | Tok::Hex => OptionValue::Int(self.uint()?),
            Tok::Str => OptionValue::Str(self.text_literal()?),
            Tok::Kw(Kw::DEFAULT) => {
                self.bump();
                OptionValue::Word("DEFAULT".into())
            }
            _ => OptionValue::Word(self.ident()?),
        };
        Ok(Some(TableOption::Other(name, value)))
    }
}
