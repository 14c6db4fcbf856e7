//! A server in memory without a session layer: parse, plan, execute, commit. Enough to drive execution by SQL.
#![allow(missing_docs, dead_code)]

pub mod random_sql;

use std::sync::{Arc, atomic::AtomicU64};
use std::time::Duration;

use base::{ConnectionId, TimeStamp};
use catalog::{AutoIds, Catalog, InfoSchema, MdlSession};
use client::{CancelToken, Client, TxnOptions};
use engine::{CommitOptions, CommitQueue, MemEngine};
use env::Env;
use exec::{Affected, ExecCtx, ExecVars, Execution, MemTracker, ReadTs, TxnHandle};
use expr::{EvalCtx, SqlMode, Warnings};
use parser::{ParseOptions, ast::VarScope};
use planner::{NoStats, PhysicalPlan, PlanCtx, RuleSet, SystemVariables};
use txn::{Storage, StorageOptions};
use types::{Chunk, Datum, FieldType, MysqlError, TimeZone, convert::ConvertMode};

/// A whole server.
#[derive(Clone)]
pub struct Server {
    pub client: Client,
    pub catalog: Catalog,
    pub ddl: ddl::Ddl,
    pub auto_ids: AutoIds,
}

impl Server {
    pub async fn start() -> Self {
        let env = Env::production();
        let engine = MemEngine::default();
        let pd = pd::EmbeddedPd::open(engine.clone(), env.clone()).expect("the placement driver opens");
        let queue = CommitQueue::start(engine.clone(), CommitOptions::default()).expect("the commit thread starts");
        let options = StorageOptions::new(env.clone(), pd.last_timestamp().max(TimeStamp(1)), Arc::new(AtomicU64::new(0)));
        let storage = Storage::open(engine, queue, options).expect("the store opens");
        let client = Client::embedded(storage, pd, env);
        catalog::bootstrap::run(&client).await.expect("bootstraps");
        let catalog = Catalog::load(client.clone()).await.expect("the catalog loads");
        let ddl = ddl::Ddl::start(catalog.clone()).await.expect("DDL starts");
        let auto_ids = AutoIds::new(client.clone(), 100);
        Self { client, catalog, ddl, auto_ids }
    }

    pub fn session(&self) -> Session {
        let mdl = self.catalog.mdl().register(ConnectionId(0));
        Session { server: self.clone(), mdl, txn: None, pessimistic: false, settings: Settings::default(), last_warnings: Vec::new() }
    }

    /// A server with these tables, and a session on it.
    pub async fn with(statements: &[&str]) -> (Self, Session) {
        let server = Self::start().await;
        let mut session = server.session();
        for sql in statements {
            session.run(sql).await;
        }
        (server, session)
    }
}

/// What a test varies.
#[derive(Clone)]
pub struct Settings {
    pub chunk_rows: usize,
    pub quota: Option<u64>,
    pub spill: bool,
    pub found_rows: bool,
    pub sql_mode: SqlMode,
    pub rules: RuleSet,
    pub lock_wait: Duration,
    pub now_micros: i64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chunk_rows: 1024,
            quota: None,
            spill: true,
            found_rows: false,
            sql_mode: SqlMode::default(),
            rules: RuleSet::default(),
            lock_wait: Duration::from_secs(20),
            now_micros: 1_700_000_000_000_000,
        }
    }
}

/// A connection: at most one open transaction.
pub struct Session {
    pub server: Server,
    /// Keeps schema changes from getting ahead of the open transaction.
    mdl: MdlSession,
    pub txn: Option<TxnHandle>,
    pub pessimistic: bool,
    pub settings: Settings,
    pub last_warnings: Vec<String>,
}

/// What a statement answered.
#[derive(Debug)]
pub enum Answer {
    Rows(Vec<Vec<String>>),
    Affected(Affected),
    Done,
}

struct NoVariables;

impl SystemVariables for NoVariables {
    fn system_variable(&self, _: Option<VarScope>, name: &str) -> Result<(Datum, FieldType), MysqlError> {
        Err(MysqlError { code: 1193, sqlstate: "HY000", message: format!("Unknown system variable '{name}'") })
    }
}

impl Session {
    pub async fn begin(&mut self, pessimistic: bool) {
        let mut txn = self.server.client.begin(TxnOptions { pessimistic, ..TxnOptions::default() });
        txn.ensure_start_ts().await.expect("a timestamp");
        self.pessimistic = pessimistic;
        self.txn = Some(Arc::new(tokio::sync::Mutex::new(txn)));
    }

    pub async fn commit(&mut self) -> Result<(), MysqlError> {
        let Some(txn) = self.txn.take() else { return Ok(()) };
        let result = txn.lock().await.commit().await;
        self.mdl.leave();
        result.map(|_| ()).map_err(|error| self.commit_error(error).to_mysql())
    }

    pub async fn rollback(&mut self) {
        if let Some(txn) = self.txn.take() {
            txn.lock().await.rollback().await;
        }
        self.mdl.leave();
    }

    fn commit_error(&self, error: client::Error) -> exec::Error {
        match error {
            client::Error::KeyExists { key, value } => exec::dml::duplicate_entry(&self.server.catalog.current(), &key, value.as_deref()),
            error => exec::Error::Client(error),
        }
    }

    fn eval(&self, params: Vec<Datum>, changes_data: bool) -> EvalCtx {
        let mut eval = EvalCtx::default().with_params(params.into());
        eval.sql_mode = self.settings.sql_mode;
        eval.changes_data = changes_data;
        eval.now_micros = self.settings.now_micros;
        eval.warnings = Arc::new(Warnings::default());
        eval
    }

    pub fn plan(&self, sql: &str, schema: &InfoSchema) -> Result<Arc<PhysicalPlan>, MysqlError> {
        let (statement, _) = parser::parse_one(sql, &ParseOptions::default()).expect("the test's statement parses");
        let eval = self.eval(Vec::new(), false);
        let ctx = PlanCtx {
            infoschema: schema,
            stats: &NoStats,
            database: Some("test"),
            eval: &eval,
            variables: &NoVariables,
            literal_count: None,
            param_types: &[],
            param_values: &[],
            rules: self.settings.rules,
            gate: None,
        };
        planner::plan(&statement, &ctx).map(Arc::new).map_err(|error| error.to_mysql())
    }

    /// The operators of a statement's plan.
    pub fn explain(&self, sql: &str) -> String {
        let plan = self.plan(sql, &self.server.catalog.current()).expect("plans");
        planner::explain::explain_rows(&plan).into_iter().map(|row| row.id + "\n").collect()
    }

    /// Runs a statement. An autocommit statement, or one of a pessimistic transaction, is repeated after a conflict, as a session does.
    pub async fn try_run(&mut self, sql: &str) -> Result<Answer, MysqlError> {
        let (statement, _) = parser::parse_one(sql, &ParseOptions::default()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        if ddl::Ddl::handles(&statement) {
            let request = ddl::DdlRequest {
                database: Some("test"),
                query: sql,
                mode: ConvertMode::STRICT,
                time_zone: &TimeZone::parse("+00:00").expect("a zone"),
                cancel: CancelToken::never(),
                foreign_key_checks: true,
            };
            self.server.ddl.run(&statement, &request).await.map_err(|error| error.to_mysql())?;
            return Ok(Answer::Done);
        }
        loop {
            match self.try_once(sql).await {
                Err(error) if error.is_retryable() => continue,
                Err(error) => {
                    return Err(error.to_mysql());
                }
                Ok(answer) => return Ok(answer),
            }
        }
    }

    async fn try_once(&mut self, sql: &str) -> exec::Result<Answer> {
        let plan = loop {
            let schema = self.server.catalog.current();
            let plan = self.plan(sql, &schema).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            let tables = plan.tables.iter().map(|used| used.id).collect::<Vec<_>>();
            if self.mdl.enter(|| self.server.catalog.current(), &schema, &tables).is_ok() {
                break plan;
            }
        };
        let answer = self.try_plan(plan).await;
        if self.txn.is_none() {
            self.mdl.leave();
        }
        answer
    }

    /// The rows of a plan, sorted.
    pub async fn sorted_lines_of(&mut self, plan: Arc<PhysicalPlan>) -> Vec<String> {
        match self.try_plan(plan).await.expect("runs") {
            Answer::Rows(rows) => {
                let mut lines = rows.into_iter().map(|row| row.join(",")).collect::<Vec<_>>();
                lines.sort();
                lines
            }
            other => panic!("rows expected, got {other:?}"),
        }
    }

    async fn try_plan(&mut self, plan: Arc<PhysicalPlan>) -> exec::Result<Answer> {
        let schema = self.server.catalog.current();
        let autocommit = self.txn.is_none();
        let txn = match &self.txn {
            Some(txn) => Some(txn.clone()),
            None if plan.is_write => {
                let mut txn = self.server.client.begin(TxnOptions::default());
                txn.ensure_start_ts().await?;
                Some(Arc::new(tokio::sync::Mutex::new(txn)))
            }
            None => None,
        };
        let pessimistic = self.pessimistic && !autocommit;
        let read_ts = match &txn {
            None => ReadTs::Newest,
            Some(txn) if pessimistic && plan.locks_rows => ReadTs::At(txn.lock().await.refresh_for_update_ts().await?),
            Some(txn) => ReadTs::At(txn.lock().await.start_ts()),
        };
        let ctx = self.ctx(&plan, schema, txn.clone(), pessimistic, read_ts);
        let warnings = ctx.eval.warnings.clone();
        let result = exec::execute(&plan, ctx).await;
        let answer = match result? {
            Execution::Affected(affected) => Answer::Affected(affected),
            Execution::Rows(mut stream) => Answer::Rows(texts(&stream.collect().await?, &plan)),
        };
        self.last_warnings = warnings.take().into_iter().map(|warning| format!("{} {}", warning.code, warning.message)).collect();
        if autocommit && let Some(txn) = txn {
            txn.lock().await.commit().await.map_err(|error| self.commit_error(error))?;
        }
        Ok(answer)
    }

    pub fn ctx(
        &self,
        plan: &PhysicalPlan,
        infoschema: Arc<InfoSchema>,
        txn: Option<TxnHandle>,
        pessimistic: bool,
        read_ts: ReadTs,
    ) -> ExecCtx {
        let settings = &self.settings;
        ExecCtx {
            client: self.server.client.clone(),
            txn,
            pessimistic,
            read_ts,
            eval: Arc::new(self.eval(Vec::new(), plan.is_write)),
            infoschema,
            auto_ids: self.server.auto_ids.clone(),
            virtual_tables: None,
            cancel: CancelToken::new(),
            deadline: None,
            env: Env::production(),
            memory: MemTracker::new(settings.quota),
            vars: Arc::new(ExecVars {
                chunk_rows: settings.chunk_rows,
                lookup_rows: settings.chunk_rows.max(2),
                join_batch_rows: settings.chunk_rows.max(2),
                lock_wait: settings.lock_wait,
                spill: settings.spill,
                found_rows: settings.found_rows,
                ..ExecVars::default()
            }),
            stats: None,
            loaded_rows: None,
        }
    }

    pub async fn run(&mut self, sql: &str) -> Answer {
        self.try_run(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    pub async fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        match self.run(sql).await {
            Answer::Rows(rows) => rows,
            other => panic!("{sql}: rows expected, got {other:?}"),
        }
    }

    /// Rows as lines, values joined by commas.
    pub async fn lines(&mut self, sql: &str) -> Vec<String> {
        self.rows(sql).await.into_iter().map(|row| row.join(",")).collect()
    }

    pub async fn sorted_lines(&mut self, sql: &str) -> Vec<String> {
        let mut lines = self.lines(sql).await;
        lines.sort();
        lines
    }

    pub async fn affected(&mut self, sql: &str) -> Affected {
        match self.run(sql).await {
            Answer::Affected(affected) => affected,
            other => panic!("{sql}: affected rows expected, got {other:?}"),
        }
    }

    /// Code and message of the error a statement must fail with.
    pub async fn error(&mut self, sql: &str) -> String {
        match self.try_run(sql).await {
            Err(error) => format!("{} {}", error.code, error.message),
            Ok(answer) => panic!("{sql}: an error was expected, got {answer:?}"),
        }
    }

    /// ADMIN CHECK TABLE.
    pub async fn check(&self, table: &str) -> exec::Result<exec::admin_check::Checked> {
        let schema = self.server.catalog.current();
        let table = schema.table("test", table).expect("the table is there");
        let plan = self.plan("SELECT 1", &schema).expect("plans");
        exec::admin_check::check_table(&table, None, &self.ctx(&plan, schema.clone(), None, false, ReadTs::Newest)).await
    }
}

fn texts(chunks: &[Chunk], plan: &PhysicalPlan) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for chunk in chunks {
        assert!(chunk.rows() > 0, "chunks are never empty");
        for row in chunk.iter() {
            rows.push(plan.output.iter().enumerate().map(|(at, column)| exec::layout::datum_text(row.get(at), &column.ty)).collect());
        }
    }
    rows
}
