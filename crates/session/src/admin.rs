//! KILL, FLUSH, ANALYZE, CHECK and the ADMIN statements.

use base::ConnectionId;
use exec::ReadTs;
use parser::ast::{AdminStmt, AnalyzeTableStmt, FlushStmt, FlushTarget, KillStmt, MaintenanceKind, TableMaintenanceStmt, TableName};
use types::{
    Datum, FieldType,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    peers::{self, Killed},
    result::{Outcome, ResultRows, StatementResult, text},
    session::Session,
    statements::done,
    transaction::Placement,
};

/// Columns of the statements that go over tables and report one line each.
fn table_report(rows: Vec<Vec<Datum>>) -> StatementResult {
    let column = |name, len| (name, FieldType::varchar(len));
    StatementResult::Rows(ResultRows::table(
        &[column("Table", 128), column("Op", 10), column("Msg_type", 10), column("Msg_text", 393_216)],
        rows,
    ))
}

impl Session {
    /// KILL.
    pub(crate) async fn run_kill(&mut self, kill: &KillStmt) -> Result<(), Error> {
        let id = self.evaluate(&kill.id).await?.as_u64().unwrap_or(0);
        let may_kill_all = self.check_need(&crate::privileges::needs::CONNECTIONS).is_ok();
        let of = (!may_kill_all).then(|| self.client.login.clone());
        match peers::kill(&self.domain, ConnectionId(id), kill.query, of).await? {
            Killed::Done => {}
            Killed::Unknown => return Err(MysqlError::new(mysql_error::ER_NO_SUCH_THREAD, format!("Unknown thread id: {id}")).into()),
            Killed::Denied => {
                return Err(MysqlError::new(mysql_error::ER_KILL_DENIED_ERROR, format!("You are not owner of thread {id}")).into());
            }
        }
        if id == self.handle.id().0 {
            return Err(MysqlError::new(mysql_error::ER_QUERY_INTERRUPTED, "Query execution was interrupted").into());
        }
        Ok(())
    }

    /// FLUSH.
    pub(crate) async fn run_flush(&mut self, flush: &FlushStmt) -> Result<(), Error> {
        for target in &flush.targets {
            match target {
                FlushTarget::Privileges => {
                    self.domain.accounts().reload(&self.domain).await?;
                    crate::notices::accounts_changed(&self.domain).await?;
                }
                FlushTarget::Tables { read_lock: true, .. } | FlushTarget::Tables { for_export: true, .. } => {
                    return Err(Error::unsupported("FLUSH TABLES WITH READ LOCK"));
                }
                // Nothing is kept that these would write out or forget.
                FlushTarget::Tables { .. }
                | FlushTarget::Status
                | FlushTarget::Hosts
                | FlushTarget::Logs(_)
                | FlushTarget::UserResources
                | FlushTarget::OptimizerCosts => {}
            }
        }
        Ok(())
    }

    /// ANALYZE TABLE.
    pub(crate) async fn run_analyze(&mut self, analyze: &AnalyzeTableStmt) -> Result<StatementResult, Error> {
        if analyze.histogram.is_some() {
            return Err(Error::unsupported("ANALYZE TABLE … HISTOGRAM"));
        }
        self.commit().await?;
        let mut rows = Vec::new();
        for name in &analyze.tables {
            let row = |full: String, kind: &str, message: &str| vec![text(full), text("analyze"), text(kind), text(message)];
            match self.existing_table(name) {
                Ok((database, table)) => {
                    if let Some(info) = self.domain.catalog().current().table(&database, &table) {
                        crate::analyze::analyze_table(&self.domain, info.id, self.handle.token().clone()).await?;
                    }
                    rows.push(row(format!("{database}.{table}"), "status", "OK"));
                }
                Err(error) => {
                    let full = self.full_name(name);
                    rows.push(row(full.clone(), "Error", &error.to_mysql().message));
                    rows.push(row(full, "status", "Operation failed"));
                }
            }
        }
        Ok(table_report(rows))
    }

    /// Database and name of a table that may not exist.
    fn full_name(&self, name: &TableName) -> String {
        let database = name.schema.as_deref().or(self.connection.database.as_deref()).unwrap_or("");
        format!("{database}.{}", name.name.as_str())
    }

    /// CHECK TABLE checks indexes against rows; OPTIMIZE and REPAIR have nothing to do.
    pub(crate) async fn run_maintenance(&mut self, maintenance: &TableMaintenanceStmt) -> Result<StatementResult, Error> {
        let (op, note) = match maintenance.kind {
            MaintenanceKind::Check => ("check", None),
            MaintenanceKind::Optimize => ("optimize", Some("The store compacts by itself; nothing to do")),
            MaintenanceKind::Repair => ("repair", Some("The storage engine for the table doesn't support repair")),
            MaintenanceKind::Checksum => return Err(Error::unsupported("CHECKSUM TABLE")),
        };
        let mut rows = Vec::new();
        for name in &maintenance.tables {
            let found = self.existing_table(name);
            let full = match &found {
                Ok((database, table)) => format!("{database}.{table}"),
                Err(_) => self.full_name(name),
            };
            let mut row = |kind: &str, message: &str| rows.push(vec![text(full.clone()), text(op), text(kind), text(message)]);
            if let Err(error) = found {
                row("Error", &error.to_mysql().message);
                row("status", "Operation failed");
                continue;
            }
            match (maintenance.kind, note) {
                (MaintenanceKind::Repair, Some(note)) => row("note", note),
                (_, Some(note)) => {
                    row("note", note);
                    row("status", "OK");
                }
                (_, None) => match self.check_table(name, None).await {
                    Ok(()) => row("status", "OK"),
                    Err(error) => {
                        row("error", &error.to_mysql().message);
                        row("status", "Operation failed");
                    }
                },
            }
        }
        Ok(table_report(rows))
    }

    /// ADMIN.
    pub(crate) async fn run_admin(&mut self, admin: AdminStmt) -> Result<StatementResult, Error> {
        match admin {
            AdminStmt::CheckTable(tables) => {
                for table in &tables {
                    self.check_table(table, None).await?;
                }
            }
            AdminStmt::CheckIndex(table, index) => self.check_table(&table, Some(&index)).await?,
            AdminStmt::ChecksumTable(_) => return Err(Error::unsupported("ADMIN CHECKSUM TABLE")),
            AdminStmt::ShowDdl => return Err(Error::unsupported("ADMIN SHOW DDL")),
            AdminStmt::ShowDdlJobs { count, filter } => {
                if filter.is_some() {
                    return Err(Error::unsupported("ADMIN SHOW DDL JOBS … WHERE"));
                }
                return self.show_jobs(count.unwrap_or(10)).await;
            }
            AdminStmt::CancelDdlJobs(ids) => {
                let ids: Vec<i64> = ids.into_iter().filter_map(|id| i64::try_from(id).ok()).collect();
                let told = |(id, found): (i64, bool)| {
                    let result = if found { "successful" } else { "error: DDL Job not found or finished" };
                    vec![text(id.to_string()), text(result)]
                };
                let rows = self.domain.ddl().cancel_jobs(&ids).await?.into_iter().map(told).collect();
                let columns = [("JOB_ID", FieldType::varchar(64)), ("RESULT", FieldType::varchar(128))];
                return Ok(StatementResult::Rows(ResultRows::table(&columns, rows)));
            }
            AdminStmt::PauseDdlJobs(_) => return Err(Error::unsupported("ADMIN PAUSE DDL JOBS")),
            AdminStmt::ResumeDdlJobs(_) => return Err(Error::unsupported("ADMIN RESUME DDL JOBS")),
        }
        Ok(done(Outcome::default()))
    }

    /// ADMIN SHOW DDL JOBS.
    async fn show_jobs(&self, finished: u64) -> Result<StatementResult, Error> {
        let jobs = self.domain.ddl().jobs(finished as usize).await?;
        let rows = jobs
            .into_iter()
            .map(|job| {
                let error = job.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
                vec![
                    Datum::Int(job.id),
                    text(job.database.clone()),
                    text(job.table.clone()),
                    text(job.action.name()),
                    text(job.state.name()),
                    text(job.query.clone()),
                    text(error),
                ]
            })
            .collect();
        let name = |name| (name, FieldType::varchar(64));
        let columns = [
            ("JOB_ID", FieldType::bigint()),
            name("DB_NAME"),
            name("TABLE_NAME"),
            name("JOB_TYPE"),
            name("STATE"),
            ("QUERY", FieldType::varchar(4096)),
            ("ERROR", FieldType::varchar(512)),
        ];
        Ok(StatementResult::Rows(ResultRows::table(&columns, rows)))
    }

    /// Every index entry has its row, and the reverse.
    async fn check_table(&mut self, name: &TableName, index: Option<&str>) -> Result<(), Error> {
        let (database, table) = self.existing_table(name)?;
        let schema = self.domain.catalog().current();
        let Some(info) = schema.table(&database, &table) else { return Ok(()) };
        if let Some(index) = index
            && info.index(index).is_none_or(|index| !index.state.is_public())
        {
            let message = format!("Key '{index}' doesn't exist in table '{}'", info.name);
            return Err(MysqlError::new(mysql_error::ER_KEY_DOES_NOT_EXITS, message).into());
        }
        let placement = Placement { txn: None, pessimistic: false, read_ts: ReadTs::Newest, own: false };
        let eval = self.eval_ctx(std::sync::Arc::from([]), false);
        let ctx = self.bare_ctx(&placement, schema, eval);
        exec::admin_check::check_table(&info, index, &ctx).await?;
        Ok(())
    }
}
