//! Statements the session does itself, and those it hands to DDL.

use std::pin::Pin;

use parser::ast::{CompletionType, DescribeStmt, ExplainStmt, ExplainTarget, IsolationLevel, SetTransactionStmt, Stmt, VarScope};
use types::{
    Datum,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    result::{Outcome, StatementResult},
    session::Session,
    vars,
};

impl Session {
    /// Runs a statement that has no plan. Boxed, because such statements run queries themselves.
    pub(crate) fn run_other(&mut self, stmt: Stmt) -> Pin<Box<dyn Future<Output = Result<StatementResult, Error>> + Send + '_>> {
        Box::pin(self.dispatch(stmt))
    }

    async fn dispatch(&mut self, stmt: Stmt) -> Result<StatementResult, Error> {
        if !matches!(&stmt, Stmt::Show(show) if crate::show::is_diagnostics(&show.kind)) {
            self.forget_diagnostics();
        }
        self.check_needs(&stmt)?;
        match stmt {
            Stmt::Begin(begin) => self.begin(&begin).await?,
            Stmt::Commit(completion) => self.complete(&completion, true).await?,
            Stmt::Rollback(completion) => self.complete(&completion, false).await?,
            Stmt::Savepoint(name) => self.savepoint(&name).await,
            Stmt::RollbackTo(name) => self.rollback_to(&name).await?,
            Stmt::ReleaseSavepoint(name) => self.release_savepoint(&name)?,
            Stmt::SetTransaction(set) => self.set_transaction(&set)?,
            Stmt::Use(name) => self.use_database(&name).await?,
            Stmt::Set(set) => return self.run_set(&set).await.map(done),
            Stmt::Show(show) => return self.run_show(*show).await,
            Stmt::Describe(describe) => return self.run_describe(describe).await,
            Stmt::Explain(explain) => return self.explain_other(*explain),
            Stmt::Kill(kill) => self.run_kill(&kill).await?,
            Stmt::Flush(flush) => self.run_flush(&flush).await?,
            Stmt::AnalyzeTable(analyze) => return self.run_analyze(&analyze).await,
            Stmt::TableMaintenance(maintenance) => return self.run_maintenance(&maintenance).await,
            Stmt::Admin(admin) => return self.run_admin(admin).await,
            Stmt::SplitTable(split) => return self.run_split(&split).await,
            Stmt::Prepare(prepare) => return self.run_prepare(&prepare).await.map(done),
            Stmt::Execute(execute) => return Box::pin(self.run_execute(&execute)).await,
            Stmt::Deallocate(name) => self.run_deallocate(&name)?,
            Stmt::Do(exprs) => self.run_do(exprs).await?,
            // Answered first; then running statements finish, as after SIGTERM.
            Stmt::Shutdown => self.domain.request_stop(),
            Stmt::ResetPersist(reset) => self.reset_persist(&reset).await?,
            Stmt::LockTables(_) => return Err(Error::unsupported("LOCK TABLES")),
            Stmt::UnlockTables => {}
            Stmt::LoadData(load) => return Ok(StatementResult::LocalFile(Box::new(self.start_load(*load).await?))),
            Stmt::CreateDatabase(_)
            | Stmt::AlterDatabase(_)
            | Stmt::DropDatabase(_)
            | Stmt::CreateTable(_)
            | Stmt::AlterTable(_)
            | Stmt::DropTable(_)
            | Stmt::TruncateTable(_)
            | Stmt::RenameTable(_)
            | Stmt::CreateIndex(_)
            | Stmt::DropIndex(_)
            | Stmt::CreateView(_)
            | Stmt::DropView(_) => return self.run_ddl(stmt).await,
            Stmt::CreateUser(_)
            | Stmt::AlterUser(_)
            | Stmt::DropUser(_)
            | Stmt::RenameUser(_)
            | Stmt::CreateRole(_)
            | Stmt::DropRole(_)
            | Stmt::Grant(_)
            | Stmt::GrantRole(_)
            | Stmt::Revoke(_)
            | Stmt::RevokeRole(_)
            | Stmt::SetPassword(_)
            | Stmt::SetRole(_)
            | Stmt::SetDefaultRole(_) => return self.run_account_statement(stmt).await,
            Stmt::Unsupported(unsupported) => return Err(Error::unsupported(&unsupported.feature)),
            Stmt::Query(_) | Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) => {
                return Err(MysqlError::new(mysql_error::ER_UNKNOWN_ERROR, "a statement with a plan was not planned").into());
            }
        }
        self.row_count = 0;
        Ok(done(Outcome::default()))
    }

    /// COMMIT and ROLLBACK with `AND CHAIN`; `RELEASE` ends the connection.
    async fn complete(&mut self, completion: &CompletionType, commit: bool) -> Result<(), Error> {
        let characteristics = self.txn.as_ref().map(|open| (open.pessimistic, open.read_only));
        if commit {
            self.commit().await?;
        } else {
            self.rollback().await;
        }
        if completion.chain == Some(true) {
            let (pessimistic, read_only) = characteristics.unzip();
            self.begin(&parser::ast::BeginStmt { read_only, consistent_snapshot: false, pessimistic }).await?;
        }
        if completion.release == Some(true) {
            self.domain.connections().kill(self.handle.id(), false);
        }
        Ok(())
    }

    /// SET TRANSACTION: without a scope for the next transaction only.
    fn set_transaction(&mut self, set: &SetTransactionStmt) -> Result<(), Error> {
        if set.scope.is_none() && self.txn.is_some() {
            return Err(MysqlError::new(
                mysql_error::ER_CANT_CHANGE_TX_CHARACTERISTICS,
                "Transaction characteristics can't be changed while a transaction is in progress",
            )
            .into());
        }
        if set.isolation == Some(IsolationLevel::Serializable) {
            return Err(Error::unsupported("isolation level SERIALIZABLE"));
        }
        let isolation = set.isolation.map(|level| ("transaction_isolation", level.variable_value()));
        let read_only = set.read_only.map(|on| ("transaction_read_only", if on { "ON" } else { "OFF" }));
        match set.scope {
            None => {
                self.next_txn.isolation = set.isolation.map(|level| vars::isolation(level.variable_value())).or(self.next_txn.isolation);
                self.next_txn.read_only = set.read_only.or(self.next_txn.read_only);
            }
            Some(VarScope::Session) => {
                for (name, value) in [isolation, read_only].into_iter().flatten() {
                    self.vars.put(name, value);
                }
            }
            Some(_) => {
                for (name, value) in [isolation, read_only].into_iter().flatten() {
                    self.domain.globals().set(vars::settable(name, true)?, Some(value.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Schema changes commit what is open first, as in MySQL.
    async fn run_ddl(&mut self, stmt: Stmt) -> Result<StatementResult, Error> {
        self.check_writable()?;
        self.commit().await?;
        self.mdl.leave();
        let query = self.handle.statement();
        let request = ddl::DdlRequest {
            database: self.connection.database.as_deref(),
            query: &query,
            mode: self.vars.hot.convert_mode(),
            time_zone: self.time_zone(),
            cancel: self.handle.token().clone(),
            foreign_key_checks: self.vars.hot.exec.foreign_key_checks,
        };
        let outcome = self.domain.ddl().run(&stmt, &request).await?;
        for warning in outcome.warnings {
            self.warnings.push(expr::Warning { level: expr::WarningLevel::Note, code: warning.code, message: warning.message });
        }
        if let Stmt::DropDatabase(drop) = &stmt
            && self.connection.database.as_deref().is_some_and(|current| current.eq_ignore_ascii_case(&drop.name))
        {
            self.leave_database();
        }
        // MySQL counts the database created and the tables dropped with one; other changes affect no rows.
        let affected_rows = u64::from(matches!(&stmt, Stmt::CreateDatabase(_)));
        self.row_count = affected_rows as i64;
        Ok(done(Outcome { affected_rows, ..Outcome::default() }))
    }

    /// DESCRIBE is SHOW COLUMNS.
    async fn run_describe(&mut self, describe: DescribeStmt) -> Result<StatementResult, Error> {
        let kind = parser::ast::ShowKind::Columns { extended: false, full: false, table: describe.table };
        let filter = describe.column.map(parser::ast::ShowFilter::Like);
        self.run_show(parser::ast::ShowStmt { kind, filter }).await
    }

    fn explain_other(&mut self, explain: ExplainStmt) -> Result<StatementResult, Error> {
        match explain.target {
            ExplainTarget::Connection(_) => Err(Error::unsupported("EXPLAIN FOR CONNECTION")),
            ExplainTarget::Stmt(_) => Err(Error::unsupported("EXPLAIN of this statement")),
        }
    }

    /// DO: computes expressions for what they do.
    async fn run_do(&mut self, exprs: Vec<parser::ast::Expr>) -> Result<(), Error> {
        for expr in exprs {
            self.evaluate(&expr).await?;
        }
        Ok(())
    }

    /// The value of an expression without columns, subqueries included.
    pub(crate) async fn evaluate(&mut self, expr: &parser::ast::Expr) -> Result<Datum, Error> {
        let sql = format!("SELECT {expr}");
        let mut rows = self.select(&sql).await?;
        Ok(rows.pop().and_then(|mut row| row.pop()).unwrap_or(Datum::Null))
    }

    /// Runs a query of the session's own in the place of the statement, and returns its rows.
    pub(crate) async fn select(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Error> {
        let (result, _) = Box::pin(self.run_text(sql.as_bytes())).await?;
        let mut all = Vec::new();
        if let StatementResult::Rows(mut rows) = result {
            while let Some(chunk) = self.fetch(&mut rows).await? {
                all.extend(chunk.iter().map(|row| row.to_datums()));
            }
        }
        Ok(all)
    }
}

/// A result without rows.
pub(crate) fn done(outcome: Outcome) -> StatementResult {
    StatementResult::Done(outcome)
}
