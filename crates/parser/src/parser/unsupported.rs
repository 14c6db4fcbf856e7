//! Statements of MySQL that are recognised by their first words and not modelled: the answer is error 1235 with their name.

use super::{Parser, Result};
use crate::{
    ast::{Stmt, UnsupportedStmt},
    lexer::{Kw, Tok},
};

/// The statements: what error 1235 names, and an example.
pub const UNSUPPORTED: &[(&str, &str)] = &[
    ("ALTER EVENT", "ALTER EVENT e DISABLE"),
    ("ALTER FUNCTION", "ALTER FUNCTION f COMMENT 'x'"),
    ("ALTER INSTANCE", "ALTER INSTANCE ROTATE INNODB MASTER KEY"),
    ("ALTER LOGFILE GROUP", "ALTER LOGFILE GROUP g ADD UNDOFILE 'f'"),
    ("ALTER PROCEDURE", "ALTER PROCEDURE p COMMENT 'x'"),
    ("ALTER RESOURCE GROUP", "ALTER RESOURCE GROUP g VCPU = 1"),
    ("ALTER SERVER", "ALTER SERVER s OPTIONS (USER 'u')"),
    ("ALTER TABLESPACE", "ALTER TABLESPACE s RENAME TO t"),
    ("ALTER UNDO TABLESPACE", "ALTER UNDO TABLESPACE s SET INACTIVE"),
    ("BINLOG", "BINLOG 'text'"),
    ("CACHE INDEX", "CACHE INDEX t IN c"),
    ("CALL", "CALL p()"),
    ("CHANGE REPLICATION SOURCE", "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h'"),
    ("CLONE", "CLONE LOCAL DATA DIRECTORY 'd'"),
    ("CREATE AGGREGATE FUNCTION", "CREATE AGGREGATE FUNCTION f RETURNS INT SONAME 'x'"),
    ("CREATE EVENT", "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1"),
    ("CREATE FUNCTION", "CREATE FUNCTION f() RETURNS INT RETURN 1"),
    ("CREATE LOGFILE GROUP", "CREATE LOGFILE GROUP g ADD UNDOFILE 'f'"),
    ("CREATE PROCEDURE", "CREATE PROCEDURE p() SELECT 1"),
    ("CREATE RESOURCE GROUP", "CREATE RESOURCE GROUP g TYPE = USER"),
    ("CREATE SERVER", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u')"),
    ("CREATE SPATIAL REFERENCE SYSTEM", "CREATE SPATIAL REFERENCE SYSTEM 1 NAME 'n'"),
    ("CREATE TABLESPACE", "CREATE TABLESPACE s ADD DATAFILE 'f'"),
    ("CREATE TRIGGER", "CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 1"),
    ("CREATE UNDO TABLESPACE", "CREATE UNDO TABLESPACE s ADD DATAFILE 'f'"),
    ("DROP EVENT", "DROP EVENT e"),
    ("DROP FUNCTION", "DROP FUNCTION f"),
    ("DROP LOGFILE GROUP", "DROP LOGFILE GROUP g"),
    ("DROP PROCEDURE", "DROP PROCEDURE p"),
    ("DROP RESOURCE GROUP", "DROP RESOURCE GROUP g"),
    ("DROP SERVER", "DROP SERVER s"),
    ("DROP SPATIAL REFERENCE SYSTEM", "DROP SPATIAL REFERENCE SYSTEM 1"),
    ("DROP TABLESPACE", "DROP TABLESPACE s"),
    ("DROP TRIGGER", "DROP TRIGGER r"),
    ("DROP UNDO TABLESPACE", "DROP UNDO TABLESPACE s"),
    ("GET DIAGNOSTICS", "GET DIAGNOSTICS @n = NUMBER"),
    ("GRANT PROXY", "GRANT PROXY ON a TO b"),
    ("HANDLER", "HANDLER t OPEN"),
    ("HELP", "HELP 'contents'"),
    ("IMPORT TABLE", "IMPORT TABLE FROM 'f'"),
    ("INSTALL COMPONENT", "INSTALL COMPONENT 'c'"),
    ("INSTALL PLUGIN", "INSTALL PLUGIN p SONAME 'x'"),
    ("LOAD INDEX INTO CACHE", "LOAD INDEX INTO CACHE t"),
    ("LOAD XML", "LOAD XML INFILE 'f' INTO TABLE t"),
    ("LOCK INSTANCE", "LOCK INSTANCE FOR BACKUP"),
    ("PURGE", "PURGE BINARY LOGS TO 'f'"),
    ("RESET", "RESET MASTER"),
    ("RESIGNAL", "RESIGNAL"),
    ("RESTART", "RESTART"),
    ("REVOKE PROXY", "REVOKE PROXY ON a FROM b"),
    ("SET RESOURCE GROUP", "SET RESOURCE GROUP g"),
    ("SHOW BINLOG EVENTS", "SHOW BINLOG EVENTS"),
    ("SHOW PROCEDURE CODE", "SHOW PROCEDURE CODE p"),
    ("SHOW PROFILE", "SHOW PROFILE"),
    ("SHOW RELAYLOG EVENTS", "SHOW RELAYLOG EVENTS"),
    ("SIGNAL", "SIGNAL SQLSTATE '45000'"),
    ("START REPLICA", "START REPLICA"),
    ("STOP GROUP_REPLICATION", "STOP GROUP_REPLICATION"),
    ("STOP REPLICA", "STOP REPLICA"),
    ("UNINSTALL COMPONENT", "UNINSTALL COMPONENT 'c'"),
    ("UNINSTALL PLUGIN", "UNINSTALL PLUGIN p"),
    ("UNLOCK INSTANCE", "UNLOCK INSTANCE"),
    ("XA", "XA START 'x'"),
];

impl Parser<'_> {
    /// Whether the statement ends here.
    pub(super) fn at_statement_end(&self) -> bool {
        matches!(self.tok.tok, Tok::Eof | Tok::Semi)
    }

    /// Reads over the rest of a statement that began at `start`.
    pub(super) fn unsupported(&mut self, feature: impl Into<String>, start: u32) -> Result<Stmt> {
        let feature = feature.into();
        debug_assert!(UNSUPPORTED.iter().any(|(known, _)| *known == feature), "{feature} is not in the list of what is not supported");
        while !self.at_statement_end() {
            if self.at(Tok::Bad) {
                return Err(self.syntax());
            }
            self.bump();
        }
        let text = &self.text()[start as usize..self.prev_end as usize];
        let text = String::from_utf8_lossy(text).into_owned();
        Ok(Stmt::Unsupported(UnsupportedStmt { feature, text }))
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
            Kw::TRIGGER if verb == "ALTER" => Err(self.syntax()),
            Kw::PROCEDURE | Kw::FUNCTION | Kw::TRIGGER | Kw::EVENT => {
                let feature = format!("{verb} {}", kw.name());
                if verb == "DROP" { self.unsupported(feature, start) } else { self.unsupported_body(feature, start) }
            }
            Kw::INSTANCE if verb != "ALTER" => Err(self.syntax()),
            Kw::SERVER | Kw::TABLESPACE | Kw::INSTANCE => self.unsupported(format!("{verb} {}", kw.name()), start),
            Kw::LOGFILE => self.unsupported(format!("{verb} LOGFILE GROUP"), start),
            Kw::RESOURCE => self.unsupported(format!("{verb} RESOURCE GROUP"), start),
            Kw::UNDO => self.unsupported(format!("{verb} UNDO TABLESPACE"), start),
            Kw::SPATIAL if verb == "ALTER" => Err(self.syntax()),
            Kw::SPATIAL => self.unsupported(format!("{verb} SPATIAL REFERENCE SYSTEM"), start),
            _ => Err(self.syntax()),
        }
    }

    fn unsupported_by_word(&mut self, verb: &str, start: u32) -> Result<Stmt> {
        if verb == "CREATE" && self.at_word("AGGREGATE") {
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
                let words: &[&str] = if kw == Kw::STOP { &["REPLICA", "SLAVE", "GROUP_REPLICATION"] } else { &["PLUGIN", "COMPONENT"] };
                let Some(word) = words.iter().find(|word| self.at_word(word)) else { return Err(self.syntax()) };
                format!("{} {}", kw.name(), if *word == "SLAVE" { "REPLICA" } else { word })
            }
            Kw::CHANGE => "CHANGE REPLICATION SOURCE".to_owned(),
            _ => return Err(self.syntax()),
        };
        self.unsupported(feature, start)
    }
}
