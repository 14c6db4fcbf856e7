//! The front door: statements in, finished schema changes out.

use std::sync::Arc;

use base::{KeyRange, TableId};
use bytes::Bytes;
use catalog::{AutoIdKind, Catalog, InfoSchema, meta::Meta};
use client::{CancelToken, TxnOptions};
use parser::ast::{DropTableStmt, Stmt, TableName};
use types::{MysqlError, TimeZone, convert::ConvertMode, mysql_error::sqlstate_of};

use crate::{
    Error, Result,
    build::{BuildContext, alter, alter::Alteration, database, names::check_table_name, table},
    job::{Action, BackfillProgress, Job, JobError, TableChange, TableRename},
    owner::Owner,
    queue,
};

/// What a statement is run with.
pub struct DdlRequest<'a> {
    /// The session's current database.
    pub database: Option<&'a str>,
    /// The statement's text, for ADMIN SHOW DDL JOBS.
    pub query: &'a str,
    /// How default values are converted (from the SQL mode).
    pub mode: ConvertMode,
    /// The session's time zone.
    pub time_zone: &'a TimeZone,
    /// KILL.
    pub cancel: CancelToken,
    /// `foreign_key_checks`
    pub foreign_key_checks: bool,
}

/// What a statement has come to.
#[derive(Debug, Default)]
pub struct DdlOutcome {
    /// Warnings and notes for SHOW WARNINGS.
    pub warnings: Vec<MysqlError>,
}

/// Runs schema changes; clones share one owner.
#[derive(Clone)]
pub struct Ddl {
    owner: Arc<Owner>,
}

impl Ddl {
    /// Starts the owner, which goes on with unfinished jobs at once.
    pub async fn start(catalog: Catalog) -> Result<Self> {
        Ok(Self { owner: Owner::start(catalog).await? })
    }

    /// Starts no further step of any job. Unfinished jobs are resumed by the next [`Ddl::start`].
    pub fn stop(&self) {
        self.owner.stop();
    }

    /// After [`Ddl::stop`]: another server of the cluster may go on with the jobs at once.
    pub async fn hand_over(&self) -> Result<()> {
        crate::ownership::hand_over(&self.owner).await
    }

    /// Whether a statement is one this crate runs.
    pub fn handles(stmt: &Stmt) -> bool {
        matches!(
            stmt,
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
                | Stmt::DropView(_)
        )
    }

    /// Runs a statement to its end. The session has committed its transaction and left the metadata lock before.
    pub async fn run(&self, stmt: &Stmt, request: &DdlRequest<'_>) -> Result<DdlOutcome> {
        let schema = self.owner.catalog.current();
        let mut context = BuildContext {
            schema: &schema,
            database: request.database,
            mode: request.mode,
            time_zone: request.time_zone,
            now_ms: self.owner.catalog.client().env().wall_ms(),
            foreign_key_checks: request.foreign_key_checks,
            warnings: Vec::new(),
        };
        for plan in plan(&mut context, stmt)? {
            self.run_job(plan, request).await?;
        }
        Ok(DdlOutcome { warnings: context.warnings })
    }

    async fn run_job(&self, plan: Plan, request: &DdlRequest<'_>) -> Result<()> {
        let raises = raised_counter(&plan.action);
        let now_ms = self.owner.catalog.client().env().wall_ms();
        let make = |id: i64| {
            let action = plan.action.clone().with_new_id(id + 1);
            Job::new(id, action, plan.database.clone(), plan.table.clone(), request.query, now_ms)
        };
        let (id, mut end) = self.owner.submit(2, make).await?;
        let job = tokio::select! {
            ended = &mut end => ended,
            _ = request.cancel.cancelled() => {
                // The job takes itself back in the background; the session need not wait for the users of the table.
                self.owner.request_cancel(id).await?;
                return Err(Error::Cancelled);
            }
        };
        let job = job.map_err(|_| Error::Stopping)??;
        if let Some(JobError { code, message }) = job.error {
            return Err(Error::Mysql(MysqlError { code, sqlstate: sqlstate_of(code), message }));
        }
        if let Some((table, next)) = raises {
            // The stored counter is raised; values that this server has cached below the new start are skipped.
            self.owner.catalog.auto_ids().rebase(table, AutoIdKind::AutoIncrement, next.saturating_sub(1)).await?;
        }
        Ok(())
    }

    /// Jobs under way, then the newest `finished` ones that have ended; newest first in both.
    pub async fn jobs(&self, finished: usize) -> Result<Vec<Job>> {
        let mut txn = self.owner.catalog.client().begin(TxnOptions::default());
        let mut meta = Meta::new(&mut txn);
        let mut jobs = queue::unfinished(&mut meta).await?;
        jobs.reverse();
        jobs.extend(queue::history(&mut meta, finished).await?);
        txn.rollback().await;
        Ok(jobs)
    }

    /// ADMIN CANCEL DDL JOBS: per job, whether it was under way and will be cancelled unless it publishes first.
    pub async fn cancel_jobs(&self, ids: &[i64]) -> Result<Vec<(i64, bool)>> {
        let mut told = Vec::with_capacity(ids.len());
        for &id in ids {
            told.push((id, self.owner.request_cancel(id).await?));
        }
        Ok(told)
    }

    /// Destroys the data of dropped tables and indexes that no snapshot can reach any more. To be called after the safe point has
    /// moved. Returns how many ranges were destroyed.
    pub async fn destroy_old_ranges(&self) -> Result<usize> {
        let client = self.owner.catalog.client();
        let mut txn = client.begin(TxnOptions::default());
        let found = queue::destroy_jobs(&mut Meta::new(&mut txn)).await;
        txn.rollback().await;
        let safe_point = client.safe_point();
        let mut destroyed = 0;
        for job in found?.into_iter().filter(|job| job.ts < safe_point) {
            for (start, end) in &job.ranges {
                client.destroy_range(KeyRange::new(Bytes::copy_from_slice(start), Bytes::copy_from_slice(end))).await?;
                destroyed += 1;
            }
            let mut txn = client.begin(TxnOptions::default());
            queue::remove_destroy_job(&mut Meta::new(&mut txn), job.job);
            txn.commit().await?;
        }
        Ok(destroyed)
    }
}

/// A job before it has an id.
pub(crate) struct Plan {
    /// What is to be done.
    pub(crate) action: Action,
    /// The database's name.
    pub(crate) database: String,
    /// The table's name.
    pub(crate) table: String,
}

/// The table whose AUTO_INCREMENT counter an action raises, and the value it is to hand out next.
fn raised_counter(action: &Action) -> Option<(TableId, u64)> {
    let Action::AlterTable { id, changes, .. } = action else { return None };
    changes.iter().find_map(|change| if let TableChange::SetAutoIncrement(next) = change { Some((*id, *next)) } else { None })
}

impl Action {
    /// Fills in the id that the action's new object gets.
    pub(crate) fn with_new_id(mut self, id: i64) -> Self {
        match &mut self {
            Self::CreateDatabase(info) => info.id = base::DatabaseId(id),
            Self::CreateTable(table) => table.id = TableId(id),
            Self::TruncateTable { new_id, .. } => *new_id = TableId(id),
            _ => {}
        }
        self
    }
}

/// The jobs a statement comes to, in order; none when IF [NOT] EXISTS leaves nothing to do.
pub(crate) fn plan(context: &mut BuildContext<'_>, stmt: &Stmt) -> Result<Vec<Plan>> {
    let one = |action, database: &str, table: &str| vec![Plan { action, database: database.to_owned(), table: table.to_owned() }];
    Ok(match stmt {
        Stmt::CreateDatabase(stmt) => match database::create_database(context, stmt)? {
            Some(info) => {
                let name = info.name.clone();
                one(Action::CreateDatabase(info), &name, "")
            }
            None => Vec::new(),
        },
        Stmt::AlterDatabase(stmt) => {
            let (action, name) = database::alter_database(context, stmt)?;
            one(action, &name, "")
        }
        Stmt::DropDatabase(stmt) => match database::drop_database(context, stmt)? {
            Some((action, name)) => one(action, &name, ""),
            None => Vec::new(),
        },
        Stmt::CreateTable(stmt) => match table::create_table(context, stmt)? {
            Some(table) => {
                let (database, name) = (table.database.clone(), table.name.clone());
                one(Action::CreateTable(Box::new(table)), &database, &name)
            }
            None => Vec::new(),
        },
        Stmt::AlterTable(stmt) => alteration(alter::alter_table(context, stmt)?),
        Stmt::CreateIndex(stmt) => alteration(alter::create_index(context, stmt)?),
        Stmt::DropIndex(stmt) => alteration(alter::drop_index(context, stmt)?),
        Stmt::DropTable(stmt) => drop_tables(context, stmt)?,
        Stmt::TruncateTable(name) => {
            let table = removable(context, name)?;
            context.check_truncatable(&table)?;
            let action = Action::TruncateTable { database: table.database_id, id: table.id, new_id: TableId(0) };
            one(action, &table.database, &table.name)
        }
        Stmt::RenameTable(renames) => rename_tables(context, renames)?,
        Stmt::CreateView(_) => return Err(Error::not_supported("CREATE VIEW")),
        Stmt::DropView(stmt) => {
            missing_tables(context, stmt.if_exists, &stmt.views)?;
            Vec::new()
        }
        _ => return Err(Error::not_supported("this statement as a schema change")),
    })
}

fn alteration(alteration: Alteration) -> Vec<Plan> {
    if alteration.changes.is_empty() {
        return Vec::new();
    }
    let table = alteration.table;
    let action = Action::AlterTable {
        database: table.database_id,
        id: table.id,
        changes: alteration.changes,
        backfill: BackfillProgress::default(),
    };
    vec![Plan { action, database: table.database.clone(), table: table.name.clone() }]
}

/// A table that may be dropped, emptied or renamed.
fn removable(context: &BuildContext<'_>, name: &TableName) -> Result<Arc<catalog::TableInfo>> {
    let table = context.table(name)?;
    if table.database == "mysql" { Err(Error::SystemDatabase { name: table.database.clone() }) } else { Ok(table) }
}

fn drop_tables(context: &mut BuildContext<'_>, stmt: &DropTableStmt) -> Result<Vec<Plan>> {
    let (mut plans, mut missing) = (Vec::new(), Vec::new());
    for name in &stmt.tables {
        // Nothing is temporary here, so DROP TEMPORARY TABLE finds nothing.
        match context.find_table(name)? {
            Some(_) if !stmt.temporary => {
                let table = removable(context, name)?;
                let action = Action::DropTable { database: table.database_id, id: table.id };
                plans.push(Plan { action, database: table.database.clone(), table: table.name.clone() });
            }
            _ => missing.push(name.clone()),
        }
    }
    missing_tables(context, stmt.if_exists, &missing)?;
    let dropped: Vec<TableId> = plans.iter().filter_map(|plan| dropped_table(&plan.action)).collect();
    for table in dropped.iter().filter_map(|id| context.schema.table_ref(*id)) {
        context.check_droppable(table, &|child| dropped.contains(&child.id))?;
    }
    Ok(plans)
}

fn dropped_table(action: &Action) -> Option<TableId> {
    if let Action::DropTable { id, .. } = action { Some(*id) } else { None }
}

/// Error 1051 for tables that are not there, or a note for each with IF EXISTS.
fn missing_tables(context: &mut BuildContext<'_>, if_exists: bool, missing: &[TableName]) -> Result<()> {
    let names = missing.iter().map(|name| Ok(format!("{}.{}", context.database_name(name)?, &*name.name))).collect::<Result<Vec<_>>>()?;
    if names.is_empty() {
        return Ok(());
    }
    if !if_exists {
        return Err(Error::UnknownTable { names: names.join(",") });
    }
    context.warnings.extend(names.into_iter().map(|names| Error::UnknownTable { names }.to_mysql()));
    Ok(())
}

fn rename_tables(context: &BuildContext<'_>, renames: &[(TableName, TableName)]) -> Result<Vec<Plan>> {
    let mut built: Vec<TableRename> = Vec::new();
    let mut first = None;
    for (old, new) in renames {
        check_table_name(&new.name)?;
        let target = context.database_of(new)?;
        let source = context.database_name(old)?;
        // A table may have got its name by an earlier rename of the same statement.
        let renamed = built.iter().rev().find(|rename| same_name(context.schema, rename, source, &old.name));
        let (id, old_database) = match renamed {
            Some(rename) => (rename.id, rename.old_database),
            None => {
                let table = removable(context, old)?;
                first.get_or_insert_with(|| (table.database.clone(), table.name.clone()));
                (table.id, table.database_id)
            }
        };
        built.push(TableRename {
            id,
            old_database,
            new_database: target.id,
            new_database_name: target.name.clone(),
            new_name: new.name.to_string(),
        });
    }
    let (database, table) = first.unwrap_or_default();
    Ok(vec![Plan { action: Action::RenameTables(built), database, table }])
}

fn same_name(schema: &InfoSchema, rename: &TableRename, database: &str, name: &str) -> bool {
    let same_database = schema.database(database).is_some_and(|info| info.id == rename.new_database);
    same_database && catalog::name::eq_ignore_case(&rename.new_name, name)
}
