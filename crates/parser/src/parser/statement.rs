//! Statements by their first word.

use super::{Parser, Result};
use crate::{
    ParseErrorKind,
    ast::{MaintenanceKind, Query, QueryBody, ResetPersistStmt, Stmt},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// One statement and the `;` behind it, if there is one.
    pub(crate) fn statement_and_semicolon(&mut self) -> Result<Stmt> {
        if self.at(Tok::Eof) || self.at(Tok::Semi) {
            return Err(self.error(ParseErrorKind::EmptyQuery));
        }
        let stmt = self.statement()?;
        if !self.eat(Tok::Semi) && !self.at(Tok::Eof) {
            return Err(self.syntax());
        }
        Ok(stmt)
    }

    /// One statement.
    pub(super) fn statement(&mut self) -> Result<Stmt> {
        let kw = match self.tok.tok {
            Tok::Kw(kw) => kw,
            Tok::LParen => return self.query_statement(),
            Tok::Ident if self.at_word("SPLIT") => return self.split_table(),
            _ => return Err(self.syntax()),
        };
        match kw {
            Kw::SELECT | Kw::VALUES | Kw::TABLE => self.query_statement(),
            Kw::WITH => self.with_statement(),
            Kw::INSERT | Kw::REPLACE => Ok(Stmt::Insert(Box::new(self.insert()?))),
            Kw::UPDATE => Ok(Stmt::Update(Box::new(self.update(None)?))),
            Kw::DELETE => Ok(Stmt::Delete(Box::new(self.delete(None)?))),
            Kw::BEGIN => self.begin(),
            Kw::START => self.start(),
            Kw::COMMIT => self.commit(),
            Kw::ROLLBACK => self.rollback(),
            Kw::SAVEPOINT => self.savepoint(),
            Kw::RELEASE => self.release_savepoint(),
            Kw::SET => self.set(),
            Kw::SHOW => self.show(),
            Kw::USE => self.use_database(),
            Kw::EXPLAIN | Kw::DESCRIBE | Kw::DESC => self.explain(),
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop(),
            Kw::TRUNCATE => self.truncate(),
            Kw::RENAME => self.rename(),
            Kw::PREPARE => self.prepare(),
            Kw::EXECUTE => self.execute(),
            Kw::DEALLOCATE => self.deallocate(),
            Kw::DO => self.do_exprs(),
            _ => self.rare_statement(kw),
        }
    }

    fn rare_statement(&mut self, kw: Kw) -> Result<Stmt> {
        match kw {
            Kw::ANALYZE => self.analyze(),
            Kw::CHECK => self.table_maintenance(MaintenanceKind::Check),
            Kw::OPTIMIZE => self.table_maintenance(MaintenanceKind::Optimize),
            Kw::REPAIR => self.table_maintenance(MaintenanceKind::Repair),
            Kw::CHECKSUM => self.table_maintenance(MaintenanceKind::Checksum),
            Kw::KILL => self.kill(),
            Kw::FLUSH => self.flush(),
            Kw::ADMIN => self.admin(),
            Kw::LOCK => self.lock_tables(),
            Kw::UNLOCK => self.unlock_tables(),
            Kw::GRANT => self.grant(),
            Kw::REVOKE => self.revoke(),
            Kw::LOAD => self.load(),
            Kw::IMPORT => {
                let start = self.tok.start;
                self.unsupported("IMPORT TABLE", start)
            }
            Kw::RESET if self.peek_is(Kw::PERSIST) => self.reset_persist(),
            Kw::SHUTDOWN => {
                self.bump();
                Ok(Stmt::Shutdown)
            }
            _ => self.unsupported_statement(kw),
        }
    }

    fn query_statement(&mut self) -> Result<Stmt> {
        Ok(Stmt::Query(Box::new(self.query()?)))
    }

    /// `WITH … {SELECT | UPDATE | DELETE} …`.
    fn with_statement(&mut self) -> Result<Stmt> {
        let with = self.deeper(Self::opt_with)?;
        match self.tok.tok {
            Tok::Kw(Kw::UPDATE) => Ok(Stmt::Update(Box::new(self.update(with)?))),
            Tok::Kw(Kw::DELETE) => Ok(Stmt::Delete(Box::new(self.delete(with)?))),
            _ => {
                let mut query = self.query()?;
                if query.with.is_some() {
                    let body = QueryBody::Query(Box::new(query));
                    query = Query { with: None, body, order_by: Vec::new(), limit: None, locks: Vec::new(), into: None };
                }
                query.with = with;
                Ok(Stmt::Query(Box::new(query)))
            }
        }
    }

    /// `START TRANSACTION`; START REPLICA and its kin are not modelled.
    fn start(&mut self) -> Result<Stmt> {
        let start = self.tok.start;
        if self.peek_is(Kw::SLAVE) || self.peek_is(Kw::REPLICA) {
            return self.unsupported("START REPLICA", start);
        }
        self.start_transaction()
    }

    /// `RESET PERSIST …`.
    fn reset_persist(&mut self) -> Result<Stmt> {
        self.bump();
        self.bump();
        let if_exists = self.if_exists();
        let name = if self.at_statement_end() && !if_exists { None } else { Some(self.ident()?) };
        Ok(Stmt::ResetPersist(ResetPersistStmt { if_exists, name }))
    }

    /// `LOAD DATA …`; LOAD XML and LOAD INDEX are not modelled.
    fn load(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        if self.eat(Kw::DATA) {
            return Ok(Stmt::LoadData(Box::new(self.load_data()?)));
        }
        if self.at_word("XML") {
            return self.unsupported("LOAD XML", start);
        }
        if self.at(Kw::INDEX) {
            return self.unsupported("LOAD INDEX INTO CACHE", start);
        }
        Err(self.syntax())
    }
}

impl Parser<'_> {
    /// An expression and nothing behind it.
    pub(crate) fn whole_expr(&mut self) -> Result<crate::ast::Expr> {
        let expr = self.expr()?;
        if self.at(Tok::Eof) { Ok(expr) } else { Err(self.syntax()) }
    }
}
