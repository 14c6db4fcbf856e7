//! SHOW.

use super::{Parser, Result};
use crate::{
    ast::{Ident, ShowFilter, ShowKind, ShowStmt, Stmt, TableName, VarScope},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `SHOW …`.
    pub(super) fn show(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        if self.eat(Kw::CREATE) {
            let kind = self.show_create()?;
            return Ok(Stmt::Show(Box::new(ShowStmt { kind, filter: None })));
        }
        if let Some(feature) = self.unsupported_show() {
            return self.unsupported(feature, start);
        }
        let extended = self.eat(Kw::EXTENDED);
        let full = self.eat(Kw::FULL);
        let kind = match (extended, full) {
            (false, false) => self.show_plain()?,
            _ => self.show_full(extended, full)?,
        };
        let filter = if filterable(&kind) { self.opt_show_filter()? } else { None };
        Ok(Stmt::Show(Box::new(ShowStmt { kind, filter })))
    }

    /// What can be shown but is not modelled.
    fn unsupported_show(&mut self) -> Option<&'static str> {
        if self.at(Kw::BINLOG) {
            return Some("SHOW BINLOG EVENTS");
        }
        if self.at(Kw::PROFILE) {
            return Some("SHOW PROFILE");
        }
        if self.at_word("RELAYLOG") {
            return Some("SHOW RELAYLOG EVENTS");
        }
        if (self.at(Kw::PROCEDURE) || self.at(Kw::FUNCTION)) && !self.peek_is(Kw::STATUS) {
            return Some("SHOW PROCEDURE CODE");
        }
        None
    }

    /// `[LIKE 'pattern' | WHERE expr]`.
    fn opt_show_filter(&mut self) -> Result<Option<ShowFilter>> {
        if self.eat(Kw::LIKE) {
            return Ok(Some(ShowFilter::Like(self.text_literal()?)));
        }
        Ok(self.opt_where()?.map(ShowFilter::Where))
    }

    /// `[{FROM | IN} db]`.
    fn opt_from_schema(&mut self) -> Result<Option<Ident>> {
        if self.eat(Kw::FROM) || self.eat(Kw::IN) { self.ident().map(Some) } else { Ok(None) }
    }

    /// `{FROM | IN} t [{FROM | IN} db]`.
    fn table_behind_from(&mut self) -> Result<TableName> {
        if !self.eat(Kw::FROM) {
            self.expect(Kw::IN)?;
        }
        let mut table = self.table_name()?;
        if let Some(schema) = self.opt_from_schema()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn show_create(&mut self) -> Result<ShowKind> {
        let Tok::Kw(kw) = self.bump().tok else { return Err(self.syntax()) };
        Ok(match kw {
            Kw::TABLE => ShowKind::CreateTable(self.table_name()?),
            Kw::VIEW => ShowKind::CreateView(self.table_name()?),
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                ShowKind::CreateDatabase { if_not_exists, name: self.ident()? }
            }
            Kw::USER => ShowKind::CreateUser(self.user_spec()?),
            Kw::PROCEDURE | Kw::FUNCTION | Kw::TRIGGER | Kw::EVENT => ShowKind::CreateRoutine { kind: kw.name(), name: self.table_name()? },
            _ => return Err(self.syntax()),
        })
    }

    /// What may follow EXTENDED and FULL.
    fn show_full(&mut self, extended: bool, full: bool) -> Result<ShowKind> {
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        self.bump();
        Ok(match kw {
            Kw::TABLES => ShowKind::Tables { extended, full, schema: self.opt_from_schema()? },
            Kw::COLUMNS | Kw::FIELDS => ShowKind::Columns { extended, full, table: self.table_behind_from()? },
            Kw::INDEX | Kw::INDEXES | Kw::KEYS if !full => ShowKind::Index { extended, table: self.table_behind_from()? },
            Kw::PROCESSLIST if !extended => ShowKind::ProcessList { full },
            Kw::TRIGGERS if !extended => ShowKind::Triggers { full, schema: self.opt_from_schema()? },
            _ => return Err(self.syntax()),
        })
    }

    fn show_plain(&mut self) -> Result<ShowKind> {
        if self.eat_word("REPLICAS") {
            return Ok(ShowKind::Replicas);
        }
        if self.at_word("COUNT") && self.peek_is(Tok::LParen) {
            return self.show_count();
        }
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        match kw {
            Kw::TABLES | Kw::COLUMNS | Kw::FIELDS | Kw::INDEX | Kw::INDEXES | Kw::KEYS | Kw::PROCESSLIST | Kw::TRIGGERS => {
                return self.show_full(false, false);
            }
            Kw::CHARACTER | Kw::CHAR | Kw::CHARSET => {
                if self.bump().tok != Tok::Kw(Kw::CHARSET) {
                    self.expect(Kw::SET)?;
                }
                return Ok(ShowKind::Charset);
            }
            _ => {}
        }
        self.bump();
        Ok(match kw {
            Kw::DATABASES | Kw::SCHEMAS => ShowKind::Databases,
            Kw::TABLE => self.show_table()?,
            Kw::OPEN => {
                self.expect(Kw::TABLES)?;
                ShowKind::OpenTables(self.opt_from_schema()?)
            }
            Kw::VARIABLES => ShowKind::Variables(None),
            Kw::STATUS => ShowKind::Status(None),
            Kw::GLOBAL => self.show_scoped(VarScope::Global)?,
            Kw::SESSION | Kw::LOCAL => self.show_scoped(VarScope::Session)?,
            Kw::WARNINGS => ShowKind::Warnings(self.opt_limit()?),
            Kw::ERRORS => ShowKind::Errors(self.opt_limit()?),
            Kw::GRANTS => self.show_grants()?,
            Kw::STORAGE => {
                self.expect(Kw::ENGINES)?;
                ShowKind::Engines
            }
            Kw::ENGINES => ShowKind::Engines,
            Kw::ENGINE => {
                let name = if self.eat(Kw::ALL) { Ident::from("ALL") } else { self.ident_or_text()? };
                let what = self.eat_words(&["STATUS", "MUTEX", "LOGS"]).ok_or_else(|| self.syntax())?;
                ShowKind::Engine { name, what }
            }
            Kw::COLLATION => ShowKind::Collation,
            Kw::PRIVILEGES => ShowKind::Privileges,
            Kw::PLUGINS => ShowKind::Plugins,
            Kw::EVENTS => ShowKind::Events(self.opt_from_schema()?),
            Kw::PROFILES => ShowKind::Profiles,
            Kw::PROCEDURE => {
                self.expect(Kw::STATUS)?;
                ShowKind::ProcedureStatus
            }
            Kw::FUNCTION => {
                self.expect(Kw::STATUS)?;
                ShowKind::FunctionStatus
            }
            _ => self.show_replication(kw)?,
        })
    }

    /// `TABLE STATUS`, `TABLE t [INDEX i] REGIONS`.
    fn show_table(&mut self) -> Result<ShowKind> {
        if self.eat(Kw::STATUS) {
            return Ok(ShowKind::TableStatus(self.opt_from_schema()?));
        }
        let table = self.table_name()?;
        let index = if self.eat(Kw::INDEX) { Some(self.index_name()?) } else { None };
        self.expect_word("REGIONS")?;
        Ok(ShowKind::TableRegions { table, index })
    }

    /// `COUNT(*) {WARNINGS | ERRORS}`.
    fn show_count(&mut self) -> Result<ShowKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        self.expect(Tok::Star)?;
        self.expect(Tok::RParen)?;
        match self.eat_any(&[Kw::WARNINGS, Kw::ERRORS]) {
            Some(Kw::WARNINGS) => Ok(ShowKind::CountWarnings),
            Some(_) => Ok(ShowKind::CountErrors),
            None => Err(self.syntax()),
        }
    }

    fn show_scoped(&mut self, scope: VarScope) -> Result<ShowKind> {
        match self.eat_any(&[Kw::VARIABLES, Kw::STATUS]) {
            Some(Kw::VARIABLES) => Ok(ShowKind::Variables(Some(scope))),
            Some(_) => Ok(ShowKind::Status(Some(scope))),
            None => Err(self.syntax()),
        }
    }

    fn show_grants(&mut self) -> Result<ShowKind> {
        let (mut user, mut using) = (None, Vec::new());
        if self.eat(Kw::FOR) {
            user = Some(self.user_spec()?);
            if self.eat(Kw::USING) {
                using = self.comma_list(Self::account_name)?;
            }
        }
        Ok(ShowKind::Grants { user, using })
    }

    fn show_replication(&mut self, kw: Kw) -> Result<ShowKind> {
        let second = self.eat_any(&[Kw::STATUS, Kw::LOGS, Kw::HOSTS]);
        match (kw, second) {
            (Kw::MASTER, Some(Kw::STATUS)) => Ok(ShowKind::BinaryLogStatus),
            (Kw::MASTER | Kw::BINARY, Some(Kw::LOGS)) => Ok(ShowKind::BinaryLogs),
            (Kw::BINARY, None) if self.eat_word("LOG") => {
                self.expect(Kw::STATUS)?;
                Ok(ShowKind::BinaryLogStatus)
            }
            (Kw::SLAVE | Kw::REPLICA, Some(Kw::STATUS)) => {
                if self.eat(Kw::FOR) {
                    self.expect_word("CHANNEL")?;
                    self.text_literal()?;
                }
                Ok(ShowKind::ReplicaStatus)
            }
            (Kw::SLAVE, Some(Kw::HOSTS)) => Ok(ShowKind::Replicas),
            _ => Err(self.syntax()),
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.syntax()) }
    }
}

/// Whether LIKE and WHERE may follow.
fn filterable(kind: &ShowKind) -> bool {
    use ShowKind::*;
    matches!(
        kind,
        Databases
            | Tables { .. }
            | TableStatus(_)
            | OpenTables(_)
            | Columns { .. }
            | Index { .. }
            | Variables(_)
            | Status(_)
            | Charset
            | Collation
            | Triggers { .. }
            | Events(_)
            | ProcedureStatus
            | FunctionStatus
    )
}
