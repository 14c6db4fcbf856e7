//! BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION, LOCK TABLES.

use super::{Parser, Result};
use crate::{
    ast::{BeginStmt, CompletionType, IsolationLevel, SetTransactionStmt, Stmt, TableLock, TableLockKind, VarScope},
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `BEGIN [WORK | PESSIMISTIC | OPTIMISTIC]`.
    pub(super) fn begin(&mut self) -> Result<Stmt> {
        self.bump();
        let pessimistic = self.eat_any(&[Kw::WORK, Kw::PESSIMISTIC, Kw::OPTIMISTIC]).and_then(|kw| match kw {
            Kw::PESSIMISTIC => Some(true),
            Kw::OPTIMISTIC => Some(false),
            _ => None,
        });
        Ok(Stmt::Begin(BeginStmt { pessimistic, ..BeginStmt::default() }))
    }

    /// `START TRANSACTION [characteristic, …]`; START is the current token.
    pub(super) fn start_transaction(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect(Kw::TRANSACTION)?;
        let mut begin = BeginStmt::default();
        if self.at_statement_end() {
            return Ok(Stmt::Begin(begin));
        }
        loop {
            if self.eat(Kw::WITH) {
                self.expect(Kw::CONSISTENT)?;
                self.expect(Kw::SNAPSHOT)?;
                begin.consistent_snapshot = true;
            } else {
                let read_only = self.access_mode()?;
                if begin.read_only.is_some_and(|before| before != read_only) {
                    return Err(self.syntax());
                }
                begin.read_only = Some(read_only);
            }
            if !self.eat(Tok::Comma) {
                return Ok(Stmt::Begin(begin));
            }
        }
    }

    /// `READ ONLY` (true) or `READ WRITE` (false).
    fn access_mode(&mut self) -> Result<bool> {
        self.expect(Kw::READ)?;
        if self.eat(Kw::ONLY) {
            return Ok(true);
        }
        self.expect(Kw::WRITE)?;
        Ok(false)
    }

    fn completion_type(&mut self) -> Result<CompletionType> {
        let mut completion = CompletionType::default();
        if self.eat(Kw::AND) {
            completion.chain = Some(!self.eat(Kw::NO));
            self.expect(Kw::CHAIN)?;
        }
        if self.at(Kw::NO) {
            self.bump();
            self.expect(Kw::RELEASE)?;
            completion.release = Some(false);
        } else if self.at(Kw::RELEASE) {
            if completion.chain == Some(true) {
                return Err(self.syntax());
            }
            self.bump();
            completion.release = Some(true);
        }
        Ok(completion)
    }

    /// `COMMIT …`.
    pub(super) fn commit(&mut self) -> Result<Stmt> {
        self.bump();
        self.eat(Kw::WORK);
        Ok(Stmt::Commit(self.completion_type()?))
    }

    /// `ROLLBACK …`, `ROLLBACK TO …`.
    pub(super) fn rollback(&mut self) -> Result<Stmt> {
        self.bump();
        self.eat(Kw::WORK);
        if self.eat(Kw::TO) {
            self.eat(Kw::SAVEPOINT);
            return Ok(Stmt::RollbackTo(self.ident()?));
        }
        Ok(Stmt::Rollback(self.completion_type()?))
    }

    /// `SAVEPOINT name`.
    pub(super) fn savepoint(&mut self) -> Result<Stmt> {
        self.bump();
        Ok(Stmt::Savepoint(self.ident()?))
    }

    /// `RELEASE SAVEPOINT name`.
    pub(super) fn release_savepoint(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect(Kw::SAVEPOINT)?;
        Ok(Stmt::ReleaseSavepoint(self.ident()?))
    }

    /// The characteristics of `SET [scope] TRANSACTION`; TRANSACTION is the current token.
    pub(super) fn set_transaction(&mut self, scope: Option<VarScope>) -> Result<Stmt> {
        self.bump();
        let mut set = SetTransactionStmt { scope, isolation: None, read_only: None };
        loop {
            if self.eat(Kw::ISOLATION) {
                self.expect(Kw::LEVEL)?;
                if set.isolation.replace(self.isolation_level()?).is_some() {
                    return Err(self.syntax());
                }
            } else if set.read_only.replace(self.access_mode()?).is_some() {
                return Err(self.syntax());
            }
            if !self.eat(Tok::Comma) {
                return Ok(Stmt::SetTransaction(set));
            }
        }
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        Ok(match self.eat_any(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE]) {
            Some(Kw::READ) if self.eat(Kw::COMMITTED) => IsolationLevel::ReadCommitted,
            Some(Kw::READ) => {
                self.expect(Kw::UNCOMMITTED)?;
                IsolationLevel::ReadUncommitted
            }
            Some(Kw::REPEATABLE) => {
                self.expect(Kw::READ)?;
                IsolationLevel::RepeatableRead
            }
            Some(_) => IsolationLevel::Serializable,
            None => return Err(self.syntax()),
        })
    }

    /// `LOCK {TABLE | TABLES} t [AS alias] kind, …`; LOCK is the current token.
    pub(super) fn lock_tables(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        if self.at(Kw::INSTANCE) {
            return self.unsupported("LOCK INSTANCE", start);
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return Err(self.syntax());
        }
        Ok(Stmt::LockTables(self.comma_list(|p| {
            let table = p.table_name()?;
            let alias = p.opt_table_alias()?;
            let kind = match p.eat_any(&[Kw::READ, Kw::WRITE, Kw::LOW_PRIORITY]) {
                Some(Kw::READ) if p.eat(Kw::LOCAL) => TableLockKind::ReadLocal,
                Some(Kw::READ) => TableLockKind::Read,
                Some(Kw::WRITE) => TableLockKind::Write,
                Some(_) => {
                    p.expect(Kw::WRITE)?;
                    TableLockKind::Write
                }
                None => return Err(p.syntax()),
            };
            Ok(TableLock { table, alias, kind })
        })?))
    }

    /// `UNLOCK {TABLE | TABLES}`.
    pub(super) fn unlock_tables(&mut self) -> Result<Stmt> {
        let start = self.bump().start;
        if self.at(Kw::INSTANCE) {
            return self.unsupported("UNLOCK INSTANCE", start);
        }
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_none() {
            return Err(self.syntax());
        }
        Ok(Stmt::UnlockTables)
    }
}
