//! One client's session: its state, and the calls the server makes on it.
//!
//! ```text
//! query(text) ─► plan cache ─┬ hit ─► run (run.rs)
//!                            └ miss ─► parse ─► plan ─► run │ or another statement (statements.rs)
//! execute(id, values) ─► the statement's plan for these types ─► run
//! fetch(rows) … until None ─► the statement is over: autocommit has committed, metadata locks are released
//! ```
//!
//! Between statements a session holds: variables, the open transaction, prepared statements, what diagnostics statements show. No call blocks
//! its thread, and dropping a call's future in the middle leaves a session that can only be closed.

use std::{pin::pin, sync::Arc};

use catalog::MdlSession;
use expr::{ConnInfo, EvalCtx, LastInsertId, RandStates, UserVars, Warning, WarningLevel, Warnings};
use parser::Normalized;
use rustc_hash::{FxHashMap, FxHashSet};
use types::{
    Chunk, Datum,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    connections::{ConnectionHandle, Identity},
    cursor::Cursor,
    domain::Domain,
    host::Host,
    panics::catching,
    plan_cache::{FrontPlans, PlanEnv},
    prepared::Prepared,
    privileges::Access,
    result::{ResultRows, RowSource, StatementResult},
    track::Tracked,
    transaction::{NextTxn, OpenTxn},
    transport::Transport,
    vars::SessionVars,
};

/// Who a session belongs to, as the handshake found out.
#[derive(Clone, Debug, Default)]
pub struct ClientInfo {
    /// User name of the account that matched; empty for the one of anybody.
    pub user: String,
    /// The name given.
    pub login: String,
    /// Host pattern of the account that matched.
    pub account_host: String,
    /// Address of the client.
    pub client_host: String,
    /// Database to start in.
    pub database: Option<String>,
    /// Id of the collation the client speaks.
    pub collation: u16,
    /// The client wants matched instead of changed rows.
    pub found_rows: bool,
    /// `interactive_timeout` holds instead of `wait_timeout`.
    pub interactive: bool,
    /// Several statements in one text are allowed.
    pub multi_statements: bool,
    /// The client sends files (LOAD DATA LOCAL).
    pub local_files: bool,
    /// How packets are compressed: the algorithm and its level; none for packets as they are.
    pub compression: Option<(&'static str, u8)>,
    /// Connection attributes.
    pub attributes: Vec<(String, String)>,
    /// TLS as it was agreed on; none for a connection that is not encrypted.
    pub transport: Option<Transport>,
    /// The password has to be changed before anything else.
    pub password_expired: bool,
}

/// Status flags of the protocol (`SERVER_STATUS_…`).
const STATUS_IN_TRANSACTION: u16 = 0x0001;
const STATUS_AUTOCOMMIT: u16 = 0x0002;
const STATUS_NO_BACKSLASH_ESCAPES: u16 = 0x0200;
const STATUS_IN_TRANSACTION_READONLY: u16 = 0x2000;

/// Numbers of conditions of a statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Conditions {
    pub conditions: u64,
    pub errors: u64,
}

/// A client's session.
pub struct Session {
    pub(crate) domain: Arc<Domain>,
    pub(crate) handle: ConnectionHandle,
    pub(crate) client: ClientInfo,
    /// What it may do.
    pub(crate) access: Arc<Access>,
    /// Plans that were found allowed, by their ids.
    pub(crate) allowed_plans: FxHashSet<u64>,
    pub(crate) vars: SessionVars,
    pub(crate) connection: Arc<ConnInfo>,
    pub(crate) txn: Option<OpenTxn>,
    /// The open transaction was begun by a statement, not implied by `autocommit = 0`.
    pub(crate) explicit: bool,
    pub(crate) next_txn: NextTxn,
    pub(crate) mdl: MdlSession,
    pub(crate) prepared: FxHashMap<u32, Prepared>,
    pub(crate) next_statement: u32,
    /// Rows that clients fetch in portions, by statement.
    pub(crate) cursors: FxHashMap<u32, Cursor>,
    /// What the client is to be told about itself.
    pub(crate) tracked: Tracked,
    /// `PREPARE name`: names in lower case.
    pub(crate) named: FxHashMap<String, u32>,
    pub(crate) plans: FrontPlans,
    env: Arc<PlanEnv>,
    env_epoch: u64,
    pub(crate) normalized: Normalized,
    pub(crate) user_vars: Arc<UserVars>,
    pub(crate) last_insert_id: Arc<LastInsertId>,
    /// Conditions of the running statement.
    pub(crate) warnings: Arc<Warnings>,
    /// Conditions of the last statement that can have any: what SHOW WARNINGS shows.
    pub(crate) diagnostics: Vec<Warning>,
    /// How many there were before a statement that can have some began: `@@warning_count` and `@@error_count`.
    pub(crate) forgotten: Conditions,
    pub(crate) row_count: i64,
    pub(crate) found_rows: u64,
    host: Arc<Host>,
}

impl Session {
    /// A session of an authenticated client.
    pub fn new(domain: &Arc<Domain>, handle: ConnectionHandle, client: ClientInfo) -> Self {
        let mut session = Self::with_access(domain, handle, client, Access::default());
        session.activate_first_roles();
        session
    }

    /// A session of the server itself, which may do everything.
    pub(crate) fn internal(domain: &Arc<Domain>) -> Result<Self, Error> {
        let handle = domain.connections().register_internal();
        Ok(Self::with_access(domain, handle, ClientInfo::default(), Access::of_server()))
    }

    fn with_access(domain: &Arc<Domain>, handle: ConnectionHandle, client: ClientInfo, access: Access) -> Self {
        let mut vars = SessionVars::new(domain.globals(), client.found_rows);
        if let Some(collation) = types::Collation::by_id(client.collation)
            && collation != types::Collation::Binary
        {
            vars.put("collation_connection", collation.name());
            vars.take_changed();
        }
        handle.set_identity(Identity { user: client.login.clone(), host: client.client_host.clone(), database: None });
        let connection = ConnInfo {
            id: handle.id().0,
            user: client.login.as_str().into(),
            host: client.client_host.as_str().into(),
            account: format!("{}@{}", client.user, client.account_host).into(),
            roles: "NONE".into(),
            database: None,
            version: domain.server_version().into(),
        };
        let env = Arc::new(plan_env(&vars, None));
        let host = Arc::new(Host { cancel: handle.token().clone(), connection: handle.id().0, locks: domain.user_locks().clone() });
        Self {
            mdl: domain.catalog().mdl().register(handle.id()),
            domain: domain.clone(),
            handle,
            client,
            access: Arc::new(access),
            allowed_plans: FxHashSet::default(),
            env_epoch: vars.epoch,
            vars,
            connection: Arc::new(connection),
            txn: None,
            explicit: false,
            next_txn: NextTxn::default(),
            prepared: FxHashMap::default(),
            next_statement: 1,
            cursors: FxHashMap::default(),
            tracked: Tracked::default(),
            named: FxHashMap::default(),
            plans: FrontPlans::default(),
            env,
            normalized: Normalized::default(),
            user_vars: Arc::default(),
            last_insert_id: Arc::default(),
            warnings: Arc::default(),
            diagnostics: Vec::new(),
            forgotten: Conditions::default(),
            row_count: -1,
            found_rows: 0,
            host,
        }
    }

    /// Runs the first statement of a text. Also says how many bytes belong to it: the next one begins there.
    pub async fn query(&mut self, sql: &[u8]) -> Result<(StatementResult, usize), MysqlError> {
        self.start_statement(sql);
        let done = catching(pin!(self.run_text(sql))).await;
        match done {
            Ok(done) => Ok(done),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// Executes a prepared statement.
    pub async fn execute(&mut self, id: u32, values: Vec<Datum>) -> Result<StatementResult, MysqlError> {
        if let Some(prepared) = self.prepared.get(&id) {
            let text = prepared.text.clone();
            self.start_statement(&text);
        }
        let done = catching(pin!(self.run_prepared(id, values))).await;
        match done {
            Ok(done) => Ok(done),
            Err(error) => Err(self.failed(error).await),
        }
    }

    /// The next rows of a result; `None` when the statement is over.
    pub async fn fetch(&mut self, rows: &mut ResultRows) -> Result<Option<Chunk>, MysqlError> {
        let next = match &mut rows.source {
            RowSource::Finished => return Ok(None),
            RowSource::Ready(chunks) => Ok(chunks.pop_front()),
            RowSource::Stream(stream, _) => catching(pin!(async { Ok(stream.next().await?) })).await,
        };
        match next {
            Ok(Some(chunk)) => {
                rows.rows += chunk.rows() as u64;
                self.note_activity(|activity| activity.sent_rows = true);
                Ok(Some(chunk))
            }
            Ok(None) => {
                self.found_rows = rows.rows;
                match self.finish_rows(rows, true).await {
                    Ok(()) => Ok(None),
                    Err(error) => Err(self.failed(error).await),
                }
            }
            Err(error) => {
                let _ = self.finish_rows(rows, false).await; // The first error is the one to tell.
                Err(self.failed(error).await)
            }
        }
    }

    /// Ends a statement whose rows nobody wants any more.
    pub async fn abandon(&mut self, mut rows: ResultRows) {
        let _ = self.finish_rows(&mut rows, false).await; // Nobody is there to be told.
    }

    /// The statement behind `rows` is over.
    async fn finish_rows(&mut self, rows: &mut ResultRows, complete: bool) -> Result<(), Error> {
        let source = std::mem::replace(&mut rows.source, RowSource::Finished);
        if let RowSource::Stream(stream, end) = source {
            drop(stream);
            self.end_statement(end.own, complete).await?;
        }
        Ok(())
    }

    /// Makes `name` the current database.
    pub async fn use_database(&mut self, name: &str) -> Result<(), MysqlError> {
        if name.is_empty() {
            return Err(MysqlError::new(mysql_error::ER_NO_DB_ERROR, "No database selected"));
        }
        // Whether there is such a database is no business of those who may not use it.
        if !self.access.may_use(name) {
            return Err(self.database_denied(name).to_mysql());
        }
        let schema = self.domain.catalog().current();
        let Some(database) = schema.database(name) else {
            return Err(MysqlError::new(mysql_error::ER_BAD_DB_ERROR, format!("Unknown database '{name}'")));
        };
        let name: Arc<str> = database.name.as_str().into();
        self.handle.set_database(Some(name.clone()));
        self.tracked.schema = true;
        Arc::make_mut(&mut self.connection).database = Some(name);
        self.vars.put("character_set_database", database.charset.name());
        self.vars.put("collation_database", database.collation.name());
        Ok(())
    }

    /// The current database is gone.
    pub(crate) fn leave_database(&mut self) {
        self.handle.set_database(None);
        self.tracked.schema = true;
        Arc::make_mut(&mut self.connection).database = None;
        self.vars.epoch += 1;
    }

    /// COM_RESET_CONNECTION: everything but the identity and the database is as after the handshake.
    pub async fn reset(&mut self) {
        self.rollback().await;
        self.vars.reset(self.domain.globals());
        self.vars.take_changed();
        self.tracked = Tracked::default();
        self.cursors.clear();
        self.prepared.clear();
        self.named.clear();
        self.user_vars.clear();
        self.domain.user_locks().release_all(self.connection.id);
        self.last_insert_id = Arc::default();
        self.diagnostics.clear();
        self.next_txn = NextTxn::default();
        self.row_count = -1;
        self.activate_first_roles();
    }

    /// Ends the session; what was not committed is rolled back.
    pub async fn close(mut self) {
        self.rollback().await;
        self.plans.flush(self.domain.plans());
    }

    /// Switches several statements in one text on or off.
    pub fn set_multi_statements(&mut self, on: bool) {
        self.client.multi_statements = on;
    }

    /// TLS between client and server.
    pub fn transport(&self) -> Option<&Transport> {
        self.client.transport.as_ref()
    }

    /// Status flags of the protocol.
    pub fn status_flags(&self) -> u16 {
        let mut flags = 0;
        if self.vars.hot.autocommit {
            flags |= STATUS_AUTOCOMMIT;
        }
        if self.txn.is_some() {
            flags |= STATUS_IN_TRANSACTION;
        }
        if self.txn.as_ref().is_some_and(|open| open.read_only) {
            flags |= STATUS_IN_TRANSACTION_READONLY;
        }
        if self.vars.hot.parse.no_backslash_escapes {
            flags |= STATUS_NO_BACKSLASH_ESCAPES;
        }
        flags
    }

    /// Number of conditions the last statement raised.
    pub fn warning_count(&self) -> u16 {
        let running = self.warnings.count();
        u16::try_from(if running > 0 { running } else { self.diagnostics.len() as u64 }).unwrap_or(u16::MAX)
    }

    /// `net_read_timeout`: how long a client may take between two packets of a file.
    pub fn net_read_timeout(&self) -> std::time::Duration {
        let seconds = crate::vars::find("net_read_timeout").and_then(|definition| self.vars.text(definition).parse().ok());
        std::time::Duration::from_secs(seconds.unwrap_or(30))
    }

    /// The time zone TIMESTAMPs are shown in.
    pub fn time_zone(&self) -> &types::TimeZone {
        &self.vars.hot.time_zone
    }

    /// A new statement begins: KILL QUERY of the one before must not hit it, and its conditions are forgotten.
    fn start_statement(&mut self, text: &[u8]) {
        self.handle.set_statement(text);
        self.handle.token().reset();
        if self.access.is_stale(self.domain.accounts().version()) {
            self.refresh_access();
        }
        if self.warnings.count() > 0 {
            self.diagnostics = self.warnings.take();
        }
    }

    /// A statement that can have conditions begins: those of the one before are forgotten.
    pub(crate) fn forget_diagnostics(&mut self) {
        self.forgotten = Conditions::default();
        if !self.diagnostics.is_empty() {
            let errors = self.diagnostics.iter().filter(|condition| condition.level == expr::WarningLevel::Error).count();
            self.forgotten = Conditions { conditions: self.diagnostics.len() as u64, errors: errors as u64 };
            self.diagnostics.clear();
        }
    }

    /// What the client is told of an error, which also becomes a condition that SHOW WARNINGS shows.
    pub(crate) async fn failed(&mut self, error: Error) -> MysqlError {
        if let Error::Panicked { message } = &error {
            tracing::error!(connection = self.handle.id().0, message, "a statement panicked; its connection is closed");
            self.domain.connections().kill(self.handle.id(), false);
            Box::pin(self.rollback()).await;
        }
        self.domain.deadlocks().note(&error, self.domain.client().env().wall_ms());
        let error = error.to_mysql();
        self.row_count = -1;
        self.warnings.push(Warning { level: WarningLevel::Error, code: error.code, message: error.message.clone() });
        error
    }

    /// What plans of this session depend on.
    pub(crate) fn plan_env(&mut self) -> Arc<PlanEnv> {
        if self.env_epoch != self.vars.epoch {
            self.env = Arc::new(plan_env(&self.vars, self.connection.database.clone()));
            self.env_epoch = self.vars.epoch;
        }
        self.env.clone()
    }

    /// What expressions may look at, for one execution.
    pub(crate) fn eval_ctx(&self, params: Arc<[Datum]>, changes_data: bool) -> EvalCtx {
        let hot = &self.vars.hot;
        EvalCtx {
            params,
            sql_mode: hot.sql_mode,
            changes_data,
            time_zone: hot.time_zone.clone(),
            now_micros: hot.fixed_now_micros.unwrap_or_else(|| self.domain.wall_micros()),
            connection: self.connection.clone(),
            user_vars: self.user_vars.clone(),
            last_insert_id: self.last_insert_id.clone(),
            row_count: self.row_count,
            found_rows: self.found_rows,
            div_precision_increment: hot.div_precision_increment,
            collation_connection: hot.collation,
            group_concat_max_len: hot.group_concat_max_len,
            max_allowed_packet: hot.max_allowed_packet,
            default_week_format: hot.default_week_format,
            block_encryption_mode: hot.block_encryption_mode,
            warnings: self.warnings.clone(),
            host: Some(self.host.clone()),
            rand: RandStates::default(),
        }
    }
}

fn plan_env(vars: &SessionVars, database: Option<Arc<str>>) -> PlanEnv {
    let hot = &vars.hot;
    PlanEnv {
        database,
        sql_mode: hot.sql_mode,
        collation: hot.collation,
        time_zone: hot.time_zone.to_string(),
        rules: hot.rules,
        div_precision_increment: hot.div_precision_increment,
        select_limit: hot.select_limit,
    }
}
