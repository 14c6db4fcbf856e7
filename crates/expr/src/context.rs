//! What an expression may know about the statement and the session around it.
//!
//! [`EvalCtx`] is made once per execution and shared by every thread that evaluates for the statement; it holds no
//! reference back to the session. [`BuildCtx`] is what the planner passes while it turns syntax into expressions.
//!
//! Invariants:
//! - `now_micros` is fixed for the statement: every NOW() in it gives the same answer (SYSDATE() is the exception).
//! - Warnings go to one sink per statement, which caps what it stores but counts all.
//! - Values a statement leaves for the next one (LAST_INSERT_ID(x), @v := x) are written through shared cells, so that
//!   they are seen even if the statement fails later, as in MySQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::{Collation, Datum, FieldType, TimeZone};

use crate::error::{Error, Result};
pub use crate::functions::numeric::rand::RandStates;
use crate::functions::string::aes::BlockMode;
pub use crate::sql_mode::SqlMode;

/// Who is connected, where, and to what: the answers of USER(), DATABASE(), VERSION(), CONNECTION_ID().
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnInfo {
    /// CONNECTION_ID().
    pub id: u64,
    /// The name given at login.
    pub user: Arc<str>,
    /// The host the client connected from.
    pub host: Arc<str>,
    /// `user@host` of the account that the login matched (CURRENT_USER()).
    pub account: Arc<str>,
    /// The active roles, as CURRENT_ROLE() names them.
    pub roles: Arc<str>,
    /// The current database, if one was chosen.
    pub database: Option<Arc<str>>,
    /// VERSION().
    pub version: Arc<str>,
}

impl Default for ConnInfo {
    fn default() -> Self {
        ConnInfo {
            id: 0,
            user: "root".into(),
            host: "localhost".into(),
            account: "root@%".into(),
            roles: "NONE".into(),
            database: None,
            version: "8.0.0".into(),
        }
    }
}

/// How grave a condition is, as SHOW WARNINGS prints it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarningLevel {
    /// `Note`.
    Note,
    /// `Warning`.
    Warning,
    /// `Error`.
    Error,
}

impl WarningLevel {
    /// The word in SHOW WARNINGS.
    pub fn as_str(self) -> &'static str {
        match self {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        }
    }
}

/// One row of SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// How grave it is.
    pub level: WarningLevel,
    /// MySQL error number.
    pub code: u16,
    /// The text.
    pub message: String,
}

/// Where a statement's warnings go: stores the first `max_stored`, counts all.
#[derive(Debug)]
pub struct Warnings {
    list: Mutex<Vec<Warning>>,
    count: AtomicU64,
    max_stored: usize,
}

impl Default for Warnings {
    fn default() -> Self {
        Warnings::new(1024)
    }
}

impl Warnings {
    /// A sink that keeps `max_stored` conditions (`max_error_count`).
    pub fn new(max_stored: usize) -> Self {
        Warnings { list: Mutex::new(Vec::new()), count: AtomicU64::new(0), max_stored }
    }

    /// Adds a condition of any level.
    pub fn push(&self, warning: Warning) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut list = self.list.lock();
        if list.len() < self.max_stored {
            list.push(warning);
        }
    }

    /// Adds a condition of level `Warning`.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        if self.count.load(Ordering::Relaxed) >= self.max_stored as u64 {
            self.count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.push(Warning { level: WarningLevel::Warning, code, message: message.into() });
    }

    /// Adds a condition of level `Note`.
    pub fn note(&self, code: u16, message: impl Into<String>) {
        self.push(Warning { level: WarningLevel::Note, code, message: message.into() });
    }

    /// How many conditions there were, stored or not.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Removes and returns what is stored, and starts counting anew.
    pub fn take(&self) -> Vec<Warning> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.list.lock())
    }

    /// A copy of what is stored.
    pub fn snapshot(&self) -> Vec<Warning> {
        self.list.lock().clone()
    }
}

/// A session's user variables (`@name`). Names are case-insensitive.
#[derive(Debug, Default)]
pub struct UserVars {
    vars: Mutex<FxHashMap<String, (Datum, FieldType)>>,
}

impl UserVars {
    /// The variable's value and the type it was set with.
    pub fn get(&self, name: &str) -> Option<(Datum, FieldType)> {
        let vars = self.vars.lock();
        if vars.is_empty() {
            return None;
        }
        vars.get(&name.to_lowercase()).cloned()
    }

    /// Sets the variable.
    pub fn set(&self, name: &str, value: Datum, ty: FieldType) {
        self.vars.lock().insert(name.to_lowercase(), (value, ty));
    }

    /// Forgets all variables (COM_RESET_CONNECTION, COM_CHANGE_USER).
    pub fn clear(&self) {
        self.vars.lock().clear();
    }

    /// Names and values, in no order.
    pub fn snapshot(&self) -> Vec<(String, Datum)> {
        self.vars.lock().iter().map(|(k, (v, _))| (k.clone(), v.clone())).collect()
    }
}

/// How waiting for a lock by name ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// The session has it.
    Taken,
    /// Another session had it all the time.
    TimedOut,
    /// The statement was told to stop.
    Interrupted,
    /// Its owner waits, maybe over others, for a lock of this session.
    Deadlock,
}

/// What only the running statement's host can do for a function.
pub trait StatementHost: Send + Sync {
    /// SLEEP(): waits `duration` on the calling (blocking-capable) thread; true if the statement was killed meanwhile.
    fn sleep(&self, duration: Duration) -> bool;

    /// The statement has been killed or has run out of time.
    fn is_interrupted(&self) -> bool;

    /// GET_LOCK(): takes a lock by name, waiting on the calling thread for `timeout`, or forever.
    fn get_lock(&self, name: &str, timeout: Option<Duration>) -> LockWait;

    /// RELEASE_LOCK(): whether the session had the lock; `None` if nobody has.
    fn release_lock(&self, name: &str) -> Option<bool>;

    /// RELEASE_ALL_LOCKS(): how many were given back.
    fn release_all_locks(&self) -> u64;

    /// IS_USED_LOCK(): the connection that has the lock.
    fn lock_owner(&self, name: &str) -> Option<u64>;
}

/// LAST_INSERT_ID(): the value left by earlier statements, and the one that LAST_INSERT_ID(x) sets for later ones.
#[derive(Debug, Default)]
pub struct LastInsertId {
    current: AtomicU64,
    /// Number of times `set` was called; the session compares it to see whether the statement set the value.
    set_count: AtomicU64,
}

impl LastInsertId {
    /// A cell holding `value`.
    pub fn new(value: u64) -> Self {
        LastInsertId { current: AtomicU64::new(value), set_count: AtomicU64::new(0) }
    }

    /// The value.
    pub fn get(&self) -> u64 {
        self.current.load(Ordering::Relaxed)
    }

    /// LAST_INSERT_ID(x), or an INSERT that generated `value`.
    pub fn set(&self, value: u64) {
        self.current.store(value, Ordering::Relaxed);
        self.set_count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the value was set since the cell was made.
    pub fn set_count(&self) -> u64 {
        self.set_count.load(Ordering::Relaxed)
    }
}

/// Everything evaluation may look at. Made once per execution of a statement; `Send + Sync`. A clone shares warnings and session state.
#[derive(Clone)]
pub struct EvalCtx {
    /// Values of [`Expr::Param`](crate::Expr::Param), already of the parameter's type.
    pub params: Arc<[Datum]>,
    /// The session's `sql_mode`.
    pub sql_mode: SqlMode,
    /// The statement changes data and is not IGNORE: in strict mode, conditions that are warnings elsewhere are errors.
    pub changes_data: bool,
    /// The session's time zone.
    pub time_zone: TimeZone,
    /// The statement's start, microseconds since the epoch in UTC.
    pub now_micros: i64,
    /// Who is connected.
    pub connection: Arc<ConnInfo>,
    /// The session's user variables.
    pub user_vars: Arc<UserVars>,
    /// LAST_INSERT_ID().
    pub last_insert_id: Arc<LastInsertId>,
    /// ROW_COUNT() of the previous statement.
    pub row_count: i64,
    /// FOUND_ROWS() of the previous statement.
    pub found_rows: u64,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `collation_connection`: the collation of string constants.
    pub collation_connection: Collation,
    /// `group_concat_max_len`, bytes.
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`, bytes.
    pub max_allowed_packet: u64,
    /// `default_week_format`.
    pub default_week_format: u8,
    /// `block_encryption_mode`.
    pub block_encryption_mode: BlockMode,
    /// Where warnings go.
    pub warnings: Arc<Warnings>,
    /// What the statement's host does for SLEEP() and for long loops; none while planning.
    pub host: Option<Arc<dyn StatementHost>>,
    /// Generators of RAND(seed), started by the first evaluation.
    pub rand: RandStates,
}

impl Default for EvalCtx {
    fn default() -> Self {
        EvalCtx {
            params: Arc::from([]),
            sql_mode: SqlMode::default(),
            changes_data: false,
            time_zone: TimeZone::UTC,
            now_micros: 0,
            connection: Arc::new(ConnInfo::default()),
            user_vars: Arc::new(UserVars::default()),
            last_insert_id: Arc::new(LastInsertId::default()),
            row_count: -1,
            found_rows: 0,
            div_precision_increment: 4,
            collation_connection: Collation::Utf8mb4_0900AiCi,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            default_week_format: 0,
            block_encryption_mode: BlockMode::default(),
            warnings: Arc::new(Warnings::default()),
            host: None,
            rand: RandStates::default(),
        }
    }
}

impl EvalCtx {
    /// Records a warning.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        self.warnings.warn(code, message);
    }

    /// The same statement with other parameters: those of a subquery's result or of an outer row. Warnings and session state are shared.
    #[must_use]
    pub fn with_params(&self, params: Arc<[Datum]>) -> EvalCtx {
        EvalCtx { params, ..self.clone() }
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// [`Error::MissingParameter`] if the execution did not bind it.
    pub fn param(&self, index: usize) -> Result<&Datum> {
        self.params.get(index).ok_or(Error::MissingParameter { index })
    }

    /// Division by zero: NULL with or without a warning, or an error in a strict data change.
    ///
    /// # Errors
    /// [`Error::DivisionByZero`] where the mode says so.
    pub fn division_by_zero(&self) -> Result<()> {
        if self.sql_mode.contains(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
            if self.is_strict() {
                return Err(Error::DivisionByZero);
            }
            self.warn(1365, "Division by 0");
        }
        Ok(())
    }

    /// The statement changes data in strict mode.
    pub fn is_strict(&self) -> bool {
        self.changes_data && self.sql_mode.is_strict()
    }
}

impl std::fmt::Debug for EvalCtx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EvalCtx")
            .field("params", &self.params)
            .field("sql_mode", &self.sql_mode)
            .field("now_micros", &self.now_micros)
            .field("connection", &self.connection)
            .finish_non_exhaustive()
    }
}

/// What building an expression may look at: the planning session's evaluation context.
///
/// Constants are folded and converted with it, so a plan that is cached must be keyed by what it read:
/// `sql_mode`, `collation_connection`, `div_precision_increment`, the time zone and the current database.
#[derive(Clone, Copy, Debug)]
pub struct BuildCtx<'a> {
    /// The session's evaluation context. Its `params` may be empty while planning.
    pub eval: &'a EvalCtx,
}

impl<'a> BuildCtx<'a> {
    /// A build context over the session's evaluation context.
    pub fn new(eval: &'a EvalCtx) -> Self {
        BuildCtx { eval }
    }

    /// The current database's name, empty if there is none.
    pub(crate) fn database(&self) -> &str {
        self.eval.connection.database.as_deref().unwrap_or("")
    }
}
