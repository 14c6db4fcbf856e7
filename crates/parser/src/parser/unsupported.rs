//! Statements of MySQL that are recognised by their first words and not modelled: the answer is error 1235 with their name.

use super::{Parser, Result};
use crate::{
    ast::{Stmt, UnsupportedStmt},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// Whether the statement ends here.
    pub(super) fn at_statement_end(&self) -> bool {
        matches!(self.tok.tok, Tok::Eof | Tok::Semi)
    }

    /// Reads over the rest of a statement that began at `start`.
    pub(super) fn unsupported(&mut self, feature: impl Into<String>, start: u32) -> Result<Stmt> {
        while !self.at_statement_end() {
            if self.at(Tok::Bad) {
                return Err(self.syntax());
            }
            self.bump();
        }
        let text = &self.text()[start as usize..self.prev_end as usize];
        let text = String::from_utf8_lossy(text).into_owned();
        Ok(Stmt::Unsupported(UnsupportedStmt { feature: feature.into(), text }))
    }

    /// As [`Parser::unsupported`], for statements whose body may hold semicolons: up to the end of the text.
    fn unsupported_body(&mut self, feature: String, start: u32) -> Result<Stmt> {
        while !self.at(Tok::Eof) {
            if self.at(Tok::Bad) {
                return Err(self.syntax());
            }
            self.bump();
        }
        self.unsupported(feature, start)
    }

    /// `CREATE`, `ALTER` or `DROP` of an object that is not modelled; the verb is taken.
    pub(super) fn unsupported_object(&mut self, verb: &str, start: u32) -> Result<Stmt> {
        // `DEFINER = user` may stand before the object of CREATE.
        let Tok::Kw(mut kw) = self.tok.tok else { return self.unsupported_by_word(verb, start) };
        if kw == Kw::DEFINER {
            self.bump();
            self.opt_eq();
            self.user_spec()?;
            match self.tok.tok {
                Tok::Kw(object) => kw = object,
                _ => return Err(self.syntax()),
            }
        }
        match kw {
            Kw::PROCEDURE | Kw::FUNCTION | Kw::TRIGGER | Kw::EVENT => {
                let feature = format!("{verb} {}", kw.name());
                if verb == "DROP" { self.unsupported(feature, start) } else { self.unsupported_body(feature, start) }
            }
            Kw::SERVER | Kw::TABLESPACE | Kw::INSTANCE => self.unsupported(format!("{verb} {}", kw.name()), start),
            Kw::LOGFILE => self.unsupported(format!("{verb} LOGFILE GROUP"), start),
            Kw::RESOURCE => self.unsupported(format!("{verb} RESOURCE GROUP"), start),
            Kw::UNDO => self.unsupported(format!("{verb} UNDO TABLESPACE"), start),
            Kw::SPATIAL => self.unsupported(format!("{verb} SPATIAL REFERENCE SYSTEM"), start),
            _ => Err(self.syntax()),
        }
    }

    fn unsupported_by_word(&mut self, verb: &str, start: u32) -> Result<Stmt> {
        if verb != "DROP" && self.at_word("AGGREGATE") {
            return self.unsupported(format!("{verb} AGGREGATE FUNCTION"), start);
        }
        Err(self.syntax())
    }

    /// A statement whose first word, a keyword, belongs to none of the modelled families.
    pub(super) fn unsupported_statement(&mut self, kw: Kw) -> Result<Stmt> {
        let start = self.tok.start;
        let feature = match kw {
            Kw::CALL
            | Kw::HANDLER
            | Kw::SIGNAL
            | Kw::RESIGNAL
            | Kw::BINLOG
            | Kw::XA
            | Kw::CLONE
            | Kw::RESTART
            | Kw::HELP
            | Kw::RESET
            | Kw::PURGE => kw.name().to_owned(),
            Kw::GET => "GET DIAGNOSTICS".to_owned(),
            Kw::CACHE => "CACHE INDEX".to_owned(),
            Kw::INSTALL | Kw::UNINSTALL | Kw::STOP => {
                self.bump();
                let token = self.tok;
                let second = String::from_utf8_lossy(self.span(token)).to_ascii_uppercase();
                format!("{} {second}", kw.name())
            }
            Kw::CHANGE => "CHANGE REPLICATION SOURCE".to_owned(),
            _ => return Err(self.syntax()),
        };
        self.unsupported(feature, start)
    }
}
