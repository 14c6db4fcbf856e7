//! USE, EXPLAIN, KILL, FLUSH, ANALYZE and other table maintenance, ADMIN, PREPARE and EXECUTE.

use super::{Parser, Result};
use crate::{
    ast::{
        AdminStmt, AnalyzeTableStmt, DescribeStmt, ExecuteStmt, ExplainStmt, ExplainTarget, FlushStmt, FlushTarget, HistogramAction, Ident,
        KillStmt, MaintenanceKind, PrepareSource, PrepareStmt, SplitAt, SplitTableStmt, Stmt, TableMaintenanceStmt,
    },
    lexer::{Kw, Tok},
};

impl Parser<'_> {
    /// `EXPLAIN …`, `DESCRIBE …`, `DESC …`.
    pub(super) fn explain(&mut self) -> Result<Stmt> {
        self.bump();
        let mut explain = ExplainStmt { analyze: false, format: None, target: ExplainTarget::Connection(0) };
        // A table may be called anything that is not reserved, so ANALYZE (reserved) is safe, FORMAT needs its `=`.
        explain.analyze = self.eat(Kw::ANALYZE);
        if self.at(Kw::FORMAT) && self.peek_is(Tok::Eq) {
            self.bump();
            self.bump();
            explain.format = Some(self.ident_or_text()?.to_ascii_lowercase());
        } else if (self.at(Kw::EXTENDED) || self.at(Kw::PARTITIONS)) && matches!(self.peek(), Tok::Kw(Kw::SELECT)) {
            // Spellings of 5.7 that 8.0 refuses.
            return Err(self.syntax());
        }
        if !explain.analyze && self.at(Kw::FOR) {
            self.bump();
            self.expect(Kw::CONNECTION)?;
            explain.target = ExplainTarget::Connection(self.uint()?);
            return Ok(Stmt::Explain(Box::new(explain)));
        }
        if self.at_explainable() {
            explain.target = ExplainTarget::Stmt(Box::new(self.deeper(Self::statement)?));
            return Ok(Stmt::Explain(Box::new(explain)));
        }
        if explain.analyze || explain.format.is_some() {
            return Err(self.syntax());
        }
        let table = self.table_name()?;
        let column = if self.at(Tok::Str) {
            Some(self.text_literal()?)
        } else if self.at_ident() {
            Some(self.ident()?.into_string())
        } else {
            None
        };
        Ok(Stmt::Describe(DescribeStmt { table, column }))
    }

    fn at_explainable(&self) -> bool {
        matches!(
            self.tok.tok,
            Tok::LParen | Tok::Kw(Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE | Kw::TABLE | Kw::VALUES | Kw::WITH)
        )
    }

    /// `USE db`.
    pub(super) fn use_database(&mut self) -> Result<Stmt> {
        self.bump();
        Ok(Stmt::Use(self.ident()?))
    }

    /// `KILL [QUERY | CONNECTION] expr`.
    pub(super) fn kill(&mut self) -> Result<Stmt> {
        self.bump();
        let query = self.eat_any(&[Kw::QUERY, Kw::CONNECTION]) == Some(Kw::QUERY);
        Ok(Stmt::Kill(KillStmt { query, id: self.expr()? }))
    }

    fn no_binlog(&mut self) -> bool {
        self.eat_any(&[Kw::NO_WRITE_TO_BINLOG, Kw::LOCAL]).is_some()
    }

    /// `FLUSH …`.
    pub(super) fn flush(&mut self) -> Result<Stmt> {
        self.bump();
        let no_binlog = self.no_binlog();
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_some() {
            let tables = if self.at_ident() { self.comma_list(Self::table_name)? } else { Vec::new() };
            let (mut read_lock, mut for_export) = (false, false);
            if self.eat(Kw::WITH) {
                self.expect(Kw::READ)?;
                self.expect(Kw::LOCK)?;
                read_lock = true;
            } else if !tables.is_empty() && self.eat(Kw::FOR) {
                self.expect(Kw::EXPORT)?;
                for_export = true;
            }
            return Ok(Stmt::Flush(FlushStmt { no_binlog, targets: vec![FlushTarget::Tables { tables, read_lock, for_export }] }));
        }
        let targets = self.comma_list(|p| {
            if let Some(word) = p.eat_words(&["BINARY", "ENGINE", "ERROR", "GENERAL", "SLOW", "RELAY"]) {
                p.expect(Kw::LOGS)?;
                return Ok(FlushTarget::Logs(Some(Ident::from(word))));
            }
            Ok(match p.eat_any(&[Kw::PRIVILEGES, Kw::STATUS, Kw::HOSTS, Kw::LOGS, Kw::USER_RESOURCES, Kw::OPTIMIZER_COSTS]) {
                Some(Kw::PRIVILEGES) => FlushTarget::Privileges,
                Some(Kw::STATUS) => FlushTarget::Status,
                Some(Kw::HOSTS) => FlushTarget::Hosts,
                Some(Kw::LOGS) => FlushTarget::Logs(None),
                Some(Kw::USER_RESOURCES) => FlushTarget::UserResources,
                Some(_) => FlushTarget::OptimizerCosts,
                None => return Err(p.syntax()),
            })
        })?;
        Ok(Stmt::Flush(FlushStmt { no_binlog, targets }))
    }

    /// `SPLIT [REGION FOR] TABLE t [INDEX i] {BETWEEN (…) AND (…) REGIONS n | BY (…), …}`.
    pub(super) fn split_table(&mut self) -> Result<Stmt> {
        self.bump();
        if self.eat_word("REGION") {
            self.expect(Kw::FOR)?;
        }
        self.expect(Kw::TABLE)?;
        let table = self.table_name()?;
        let index = if self.eat(Kw::INDEX) { Some(self.index_name()?) } else { None };
        let at = if self.eat(Kw::BETWEEN) {
            let lower = self.paren_list(Self::expr)?;
            self.expect(Kw::AND)?;
            let upper = self.paren_list(Self::expr)?;
            self.expect_word("REGIONS")?;
            SplitAt::Between { lower, upper, regions: self.uint()? }
        } else {
            self.expect(Kw::BY)?;
            SplitAt::By(self.comma_list(|p| p.paren_list(Self::expr))?)
        };
        Ok(Stmt::SplitTable(SplitTableStmt { table, index, at }))
    }

    /// `ANALYZE [NO_WRITE_TO_BINLOG | LOCAL] TABLE …`.
    pub(super) fn analyze(&mut self) -> Result<Stmt> {
        self.bump();
        let no_binlog = self.no_binlog();
        self.table_word()?;
        let tables = self.comma_list(Self::table_name)?;
        let histogram = match self.eat_any(&[Kw::UPDATE, Kw::DROP]) {
            None => None,
            Some(kw) => {
                self.expect(Kw::HISTOGRAM)?;
                self.expect(Kw::ON)?;
                let columns = self.comma_list(Self::ident)?;
                if kw == Kw::DROP {
                    Some(HistogramAction::Drop(columns))
                } else {
                    let buckets = if self.eat(Kw::WITH) { Some(self.uint()?) } else { None };
                    if buckets.is_some() {
                        self.expect(Kw::BUCKETS)?;
                    }
                    Some(HistogramAction::Update { columns, buckets })
                }
            }
        };
        Ok(Stmt::AnalyzeTable(AnalyzeTableStmt { no_binlog, tables, histogram }))
    }

    fn table_word(&mut self) -> Result<()> {
        if self.eat_any(&[Kw::TABLE, Kw::TABLES]).is_some() { Ok(()) } else { Err(self.syntax()) }
    }

    /// `CHECK`, `OPTIMIZE`, `REPAIR`, `CHECKSUM TABLE …`.
    pub(super) fn table_maintenance(&mut self, kind: MaintenanceKind) -> Result<Stmt> {
        self.bump();
        let no_binlog = matches!(kind, MaintenanceKind::Optimize | MaintenanceKind::Repair) && self.no_binlog();
        self.table_word()?;
        let tables = self.comma_list(Self::table_name)?;
        let allowed: &[&'static str] = match kind {
            MaintenanceKind::Check => &["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
            MaintenanceKind::Optimize => &[],
            MaintenanceKind::Repair => &["QUICK", "EXTENDED", "USE_FRM"],
            MaintenanceKind::Checksum => &["QUICK", "EXTENDED"],
        };
        let mut options = Vec::new();
        loop {
            if kind == MaintenanceKind::Check && self.eat2(Kw::FOR, Kw::UPGRADE) {
                options.push("FOR UPGRADE");
            } else if let Some(word) = self.eat_words(allowed) {
                options.push(word);
            } else {
                return Ok(Stmt::TableMaintenance(TableMaintenanceStmt { kind, no_binlog, tables, options }));
            }
        }
    }

    /// `ADMIN …`.
    pub(super) fn admin(&mut self) -> Result<Stmt> {
        self.bump();
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        self.bump();
        Ok(Stmt::Admin(match kw {
            Kw::CHECK if self.eat(Kw::INDEX) => {
                let table = self.table_name()?;
                AdminStmt::CheckIndex(table, self.index_name()?)
            }
            Kw::CHECK => {
                self.expect(Kw::TABLE)?;
                AdminStmt::CheckTable(self.comma_list(Self::table_name)?)
            }
            Kw::CHECKSUM => {
                self.expect(Kw::TABLE)?;
                AdminStmt::ChecksumTable(self.comma_list(Self::table_name)?)
            }
            Kw::SHOW => {
                self.expect(Kw::DDL)?;
                if self.eat(Kw::JOBS) {
                    let count = if self.at(Tok::Int) { Some(self.uint()?) } else { None };
                    AdminStmt::ShowDdlJobs { count, filter: self.opt_where()? }
                } else {
                    AdminStmt::ShowDdl
                }
            }
            Kw::CANCEL => AdminStmt::CancelDdlJobs(self.ddl_jobs()?),
            Kw::PAUSE => AdminStmt::PauseDdlJobs(self.ddl_jobs()?),
            Kw::RESUME => AdminStmt::ResumeDdlJobs(self.ddl_jobs()?),
            _ => return Err(self.syntax()),
        }))
    }

    /// `DDL JOBS id, …`.
    fn ddl_jobs(&mut self) -> Result<Vec<u64>> {
        self.expect(Kw::DDL)?;
        self.expect(Kw::JOBS)?;
        self.comma_list(Self::uint)
    }

    /// `PREPARE name FROM {'text' | @var}`.
    pub(super) fn prepare(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.ident()?;
        self.expect(Kw::FROM)?;
        let source = if self.at(Tok::UserVar) || self.at(Tok::At) {
            PrepareSource::Var(self.user_var_name()?)
        } else {
            PrepareSource::Text(self.text_literal()?)
        };
        Ok(Stmt::Prepare(PrepareStmt { name, source }))
    }

    /// `EXECUTE name [USING @a, …]`.
    pub(super) fn execute(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.ident()?;
        let using = if self.eat(Kw::USING) {
            self.comma_list(|p| if p.at(Tok::UserVar) || p.at(Tok::At) { p.user_var_name() } else { Err(p.syntax()) })?
        } else {
            Vec::new()
        };
        Ok(Stmt::Execute(ExecuteStmt { name, using }))
    }

    /// `DEALLOCATE PREPARE name`.
    pub(super) fn deallocate(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect(Kw::PREPARE)?;
        Ok(Stmt::Deallocate(self.ident()?))
    }

    /// `DO expr, …`.
    pub(super) fn do_exprs(&mut self) -> Result<Stmt> {
        self.bump();
        Ok(Stmt::Do(self.expr_list()?))
    }
}
