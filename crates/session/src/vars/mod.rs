//! System variables: global ones shared by the server, and each session's own values on top.
//!
//! A session starts from the global values at its connect and keeps them; `SET SESSION` changes its own, `SET GLOBAL` what later sessions
//! start from. Values are kept as the text SHOW VARIABLES prints. What statements look at all the time is kept beside it in its final form
//! ([`Hot`]), computed anew whenever a variable changes: no statement parses a variable.

mod definitions;
mod value;

use std::{sync::Arc, time::Duration};

use catalog::AutoIdStep;
use client::Isolation;
use exec::ExecVars;
use expr::{BlockMode, SqlMode};
use parking_lot::RwLock;
use parser::ParseOptions;
use parser::ast::VarScope;
use planner::RuleSet;
use rustc_hash::FxHashMap;
use types::{
    Collation, Datum, FieldType, TimeZone,
    convert::ConvertMode,
    mysql_error::{self, MysqlError},
};

pub use definitions::{DEFINITIONS, Definition, Kind, Scope, find};

/// `sql_mode` at start, as MySQL 8.0 has it.
pub(crate) const DEFAULT_SQL_MODE: &str =
    "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// `session_track_system_variables` at start, as MySQL 8.0 has it.
pub(crate) const TRACKED_VARIABLES: &str = "time_zone,autocommit,character_set_client,character_set_results,character_set_connection";

/// Values that differ from their defaults.
type Values = FxHashMap<&'static str, String>;

/// The global values of a server.
#[derive(Default)]
pub struct GlobalVars(RwLock<Arc<Values>>);

impl GlobalVars {
    /// Global values that differ from the defaults from the start (version, port …).
    pub fn new(initial: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self(RwLock::new(Arc::new(initial.into_iter().collect())))
    }

    /// The value of a variable.
    pub fn get(&self, definition: &Definition) -> String {
        self.0.read().get(definition.name).cloned().unwrap_or_else(|| definition.default.to_owned())
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> u64 {
        find(name).and_then(|definition| self.get(definition).parse().ok()).unwrap_or(0)
    }

    /// Whether a variable is on.
    pub fn is_on(&self, name: &str) -> bool {
        find(name).is_some_and(|definition| self.get(definition) == "ON")
    }

    /// Sets a variable for sessions to come; `None` back to its default. Also for variables clients cannot set.
    pub fn set(&self, definition: &'static Definition, value: Option<String>) {
        let mut values = self.0.write();
        let values = Arc::make_mut(&mut values);
        match value {
            Some(value) => drop(values.insert(definition.name, value)),
            None => drop(values.remove(definition.name)),
        }
    }

    fn snapshot(&self) -> Arc<Values> {
        self.0.read().clone()
    }
}

/// Variables in the form statements use.
#[derive(Clone, Debug)]
pub struct Hot {
    /// `autocommit`
    pub autocommit: bool,
    /// `sql_mode`
    pub sql_mode: SqlMode,
    /// What of it the parser looks at.
    pub parse: ParseOptions,
    /// `transaction_isolation`
    pub isolation: Isolation,
    /// `transaction_read_only`
    pub read_only: bool,
    /// `tidb_txn_mode`
    pub pessimistic: bool,
    /// `tidb_enable_1pc`: commit in one phase where that is possible, instead of by async commit.
    pub one_phase_commit: bool,
    /// `time_zone`
    pub time_zone: TimeZone,
    /// `collation_connection`
    pub collation: Collation,
    /// `max_execution_time`; none for no limit.
    pub max_execution_time: Option<Duration>,
    /// `tidb_mem_quota_query` in bytes; none for no limit.
    pub memory_quota: Option<u64>,
    /// What the executor looks at.
    pub exec: Arc<ExecVars>,
    /// Switched-off planner rules.
    pub rules: RuleSet,
    /// Whether plans of prepared statements are kept.
    pub cache_prepared: bool,
    /// Whether plans of text statements are kept.
    pub cache_text: bool,
    /// `div_precision_increment`
    pub div_precision_increment: u8,
    /// `group_concat_max_len`
    pub group_concat_max_len: u64,
    /// `max_allowed_packet`
    pub max_allowed_packet: u64,
    /// `default_week_format`
    pub default_week_format: u8,
    /// `block_encryption_mode`
    pub block_encryption_mode: BlockMode,
    /// `sql_select_limit`; none for no limit.
    pub select_limit: Option<u64>,
    /// `session_track_transaction_info`
    pub track_transactions: TrackTransactions,
    /// `timestamp` set by the client, in microseconds since the epoch.
    pub fixed_now_micros: Option<i64>,
}

/// What clients are told of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrackTransactions {
    /// Nothing.
    Off,
    /// What the transaction has done.
    State,
    /// Also which statements begin one like it.
    Characteristics,
}

/// A session's variables.
pub struct SessionVars {
    global: Arc<Values>,
    own: Values,
    /// In the form statements use.
    pub hot: Hot,
    /// Grows with every change: plans made before are not used after.
    pub epoch: u64,
    /// What was set since somebody asked last; each once.
    changed: Vec<&'static str>,
}

/// Errors of reading and setting.
fn unknown(name: &str) -> MysqlError {
    MysqlError::new(mysql_error::ER_UNKNOWN_SYSTEM_VARIABLE, format!("Unknown system variable '{name}'"))
}

fn wrong_scope(name: &str, is_a: &str) -> MysqlError {
    MysqlError::new(mysql_error::ER_INCORRECT_GLOBAL_LOCAL_VAR, format!("Variable '{name}' is a {is_a} variable"))
}

impl SessionVars {
    /// The variables of a new session.
    pub fn new(global: &GlobalVars, found_rows: bool) -> Self {
        let global = global.snapshot();
        let own = Values::default();
        let hot = Hot::compute(&|name| text_of(&own, &global, name), found_rows);
        Self { global, own, hot, epoch: 0, changed: Vec::new() }
    }

    /// The session's value of a variable, as SHOW VARIABLES prints it.
    pub fn text(&self, definition: &'static Definition) -> &str {
        text_of(&self.own, &self.global, definition.name)
    }

    /// The session's value of a variable.
    pub fn datum(&self, definition: &'static Definition) -> (Datum, FieldType) {
        value::datum(definition, self.text(definition))
    }

    /// Sets the session's value; `None` back to the global one. A warning's text when the value had to be cut.
    pub fn set(&mut self, definition: &'static Definition, value: Option<&Datum>) -> Result<Option<String>, MysqlError> {
        let mut warning = None;
        match value {
            Some(value) => {
                let canonical = check(definition, value)?;
                if canonical.cut {
                    warning = Some(format!("Truncated incorrect {} value: '{}'", definition.name, given_text(value)));
                }
                self.own.insert(definition.name, canonical.text);
            }
            None => drop(self.own.remove(definition.name)),
        }
        self.note_change(definition.name);
        self.recompute();
        Ok(warning)
    }

    /// Sets a value the server itself knows to be right (`character_set_*` by SET NAMES, `collation_database` by USE).
    pub fn put(&mut self, name: &'static str, text: impl Into<String>) {
        self.own.insert(name, text.into());
        self.note_change(name);
        self.recompute();
    }

    fn note_change(&mut self, name: &'static str) {
        if !self.changed.contains(&name) {
            self.changed.push(name);
        }
    }

    /// Whether anything was set since [`SessionVars::take_changed`].
    #[inline]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The variables that were set since the last call.
    pub fn take_changed(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.changed)
    }

    /// Forgets all own values (COM_RESET_CONNECTION).
    pub fn reset(&mut self, global: &GlobalVars) {
        self.global = global.snapshot();
        self.own.clear();
        self.recompute();
    }

    fn recompute(&mut self) {
        let found_rows = self.hot.exec.found_rows;
        self.hot = Hot::compute(&|name| text_of(&self.own, &self.global, name), found_rows);
        self.epoch += 1;
    }

    /// `@@[scope.]name`.
    pub fn read(&self, scope: Option<VarScope>, name: &str, global: &GlobalVars) -> Result<(Datum, FieldType), MysqlError> {
        let definition = find(name).ok_or_else(|| unknown(name))?;
        match (scope, definition.scope) {
            (Some(VarScope::Session), Scope::Global | Scope::ReadOnly) => Err(wrong_scope(definition.name, "GLOBAL")),
            (Some(VarScope::Global), Scope::Session) => Err(wrong_scope(definition.name, "SESSION")),
            (Some(VarScope::Global), _) | (None, Scope::Global | Scope::ReadOnly) => Ok(value::datum(definition, &global.get(definition))),
            _ => Ok(self.datum(definition)),
        }
    }
}

/// The variable SET names, if it may be set in that scope.
pub fn settable(name: &str, global: bool) -> Result<&'static Definition, MysqlError> {
    let definition = find(name).ok_or_else(|| unknown(name))?;
    match (definition.scope, global) {
        (Scope::ReadOnly, _) => Err(wrong_scope(definition.name, "read only")),
        (Scope::Global, false) => Err(MysqlError::new(
            mysql_error::ER_GLOBAL_VARIABLE,
            format!("Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL", definition.name),
        )),
        (Scope::Session, true) => Err(MysqlError::new(
            mysql_error::ER_LOCAL_VARIABLE,
            format!("Variable '{}' is a SESSION variable and can't be used with SET GLOBAL", definition.name),
        )),
        _ => Ok(definition),
    }
}

/// Reads a value and checks what only the user of the variable can check.
pub fn check(definition: &Definition, given: &Datum) -> Result<value::Canonical, MysqlError> {
    let mut canonical = value::canonical(definition, given)?;
    let wrong_value = |text: &str| {
        MysqlError::new(
            mysql_error::ER_WRONG_VALUE_FOR_VAR,
            format!("Variable '{}' can't be set to the value of '{text}'", definition.name),
        )
    };
    match definition.name {
        "sql_mode" => {
            // A number is the bit mask of old dumps; only 0, "no mode", has a meaning that lasted.
            if canonical.text == "0" {
                canonical.text.clear();
            }
            canonical.text = SqlMode::parse(&canonical.text).map_err(|name| wrong_value(&name))?.to_string();
        }
        "protocol_compression_algorithms" => {
            let known = |name: &str| ["zlib", "zstd", "uncompressed"].contains(&name);
            canonical.text = canonical.text.to_ascii_lowercase();
            if !canonical.text.split(',').all(known) {
                return Err(wrong_value(&canonical.text));
            }
        }
        "session_track_system_variables" => {
            let known = |name: &str| name.is_empty() || name == "*" || find(name).is_some();
            if !canonical.text.split(',').map(str::trim).all(known) {
                return Err(wrong_value(&canonical.text));
            }
        }
        "block_encryption_mode" => {
            let mode = canonical.text.parse::<BlockMode>().map_err(|()| wrong_value(&canonical.text))?;
            canonical.text = mode.to_string();
        }
        "time_zone" => {
            TimeZone::parse(&canonical.text).map_err(|error| error.to_mysql())?;
        }
        "collation_connection" | "collation_database" | "collation_server" => {
            Collation::by_name(&canonical.text)
                .ok_or_else(|| MysqlError::new(mysql_error::ER_UNKNOWN_COLLATION, format!("Unknown collation: '{}'", canonical.text)))?;
        }
        "character_set_client" | "character_set_connection" | "character_set_results" | "character_set_database" => {
            check_charset(&canonical.text)?;
        }
        "transaction_isolation" if canonical.text == "SERIALIZABLE" => {
            return Err(MysqlError::not_supported("isolation level SERIALIZABLE"));
        }
        "trine_disabled_rules" => {
            disabled_rules(&canonical.text).map_err(|name| wrong_value(&name))?;
        }
        "tidb_gc_life_time" | "tidb_gc_run_interval" => {
            canonical.text.parse::<base::ReadableDuration>().map_err(|_| wrong_value(&canonical.text))?;
        }
        _ => {}
    }
    Ok(canonical)
}

/// The rules `trine_disabled_rules` switches off; `all` names every one.
fn disabled_rules(text: &str) -> Result<RuleSet, String> {
    if text.trim().eq_ignore_ascii_case("all") { Ok(RuleSet::all_off()) } else { RuleSet::parse(text) }
}

/// Fails for a character set this server does not know.
pub fn check_charset(name: &str) -> Result<(), MysqlError> {
    const SPOKEN: [&str; 8] = ["utf8mb4", "utf8", "utf8mb3", "binary", "latin1", "ascii", "NULL", ""];
    if SPOKEN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    Err(MysqlError::new(mysql_error::ER_UNKNOWN_CHARACTER_SET, format!("Unknown character set: '{name}'")))
}

fn given_text(value: &Datum) -> String {
    value::plain_text(value).unwrap_or_else(|| "NULL".to_owned())
}

fn text_of<'a>(own: &'a Values, global: &'a Values, name: &'static str) -> &'a str {
    own.get(name).or_else(|| global.get(name)).map(String::as_str).unwrap_or_else(|| find(name).map_or("", |definition| definition.default))
}

impl Hot {
    fn compute<'a>(text: &dyn Fn(&'static str) -> &'a str, found_rows: bool) -> Self {
        let on = |name| text(name) == "ON";
        let number = |name| text(name).parse::<u64>().unwrap_or(0);
        let sql_mode = SqlMode::parse(text("sql_mode")).unwrap_or_default();
        let seconds = text("timestamp").parse::<f64>().unwrap_or(0.0);
        let exec = ExecVars {
            chunk_rows: number("tidb_max_chunk_size").max(1) as usize,
            lookup_rows: number("tidb_index_lookup_size").max(1) as usize,
            join_batch_rows: number("tidb_index_join_batch_size").max(1) as usize,
            lock_wait: Duration::from_secs(number("innodb_lock_wait_timeout")),
            auto_id_step: AutoIdStep {
                increment: number("auto_increment_increment").max(1) as _,
                offset: number("auto_increment_offset").max(1) as _,
            },
            spill: on("tidb_enable_tmp_storage_on_oom"),
            found_rows,
            foreign_key_checks: on("foreign_key_checks"),
        };
        Self {
            autocommit: on("autocommit"),
            sql_mode,
            parse: ParseOptions {
                ansi_quotes: sql_mode.contains(SqlMode::ANSI_QUOTES),
                no_backslash_escapes: sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES),
                pipes_as_concat: sql_mode.contains(SqlMode::PIPES_AS_CONCAT),
                high_not_precedence: sql_mode.contains(SqlMode::HIGH_NOT_PRECEDENCE),
                ignore_space: sql_mode.contains(SqlMode::IGNORE_SPACE),
                markers: false,
            },
            isolation: isolation(text("transaction_isolation")),
            read_only: on("transaction_read_only"),
            pessimistic: text("tidb_txn_mode") != "optimistic",
            one_phase_commit: on("tidb_enable_1pc"),
            time_zone: TimeZone::parse(text("time_zone")).unwrap_or_default(),
            collation: Collation::by_name(text("collation_connection")).unwrap_or(Collation::Utf8mb4_0900AiCi),
            max_execution_time: Some(number("max_execution_time")).filter(|ms| *ms > 0).map(Duration::from_millis),
            memory_quota: text("tidb_mem_quota_query")
                .parse::<i64>()
                .ok()
                .and_then(|bytes| u64::try_from(bytes).ok())
                .filter(|bytes| *bytes > 0),
            exec: Arc::new(exec),
            rules: disabled_rules(text("trine_disabled_rules")).unwrap_or_default(),
            cache_prepared: on("tidb_enable_prepared_plan_cache"),
            cache_text: on("tidb_enable_non_prepared_plan_cache"),
            div_precision_increment: number("div_precision_increment") as u8,
            group_concat_max_len: number("group_concat_max_len"),
            max_allowed_packet: number("max_allowed_packet"),
            default_week_format: number("default_week_format") as u8,
            block_encryption_mode: text("block_encryption_mode").parse().unwrap_or_default(),
            select_limit: Some(number("sql_select_limit")).filter(|limit| *limit != u64::MAX),
            track_transactions: match text("session_track_transaction_info") {
                "STATE" => TrackTransactions::State,
                "CHARACTERISTICS" => TrackTransactions::Characteristics,
                _ => TrackTransactions::Off,
            },
            fixed_now_micros: (seconds > 0.0).then_some((seconds * 1e6) as i64),
        }
    }
}

impl Hot {
    /// What of `sql_mode` decides about conversions.
    pub fn convert_mode(&self) -> ConvertMode {
        let has = |mode| self.sql_mode.contains(mode);
        ConvertMode {
            strict: self.sql_mode.is_strict(),
            no_zero_date: has(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: has(SqlMode::NO_ZERO_IN_DATE),
            allow_invalid_dates: has(SqlMode::ALLOW_INVALID_DATES),
            today: None,
        }
    }
}

/// The isolation level a value of `transaction_isolation` gets: the two that the store has, each also for its weaker neighbour.
pub fn isolation(text: &str) -> Isolation {
    match text {
        "READ-COMMITTED" | "READ-UNCOMMITTED" => Isolation::ReadCommitted,
        _ => Isolation::Snapshot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_values_stand_on_the_global_ones_of_the_connect() {
        let global = GlobalVars::default();
        let mut vars = SessionVars::new(&global, false);
        let definition = settable("innodb_lock_wait_timeout", false).expect("known");
        global.set(definition, Some("7".to_owned()));
        assert_eq!(vars.hot.exec.lock_wait, Duration::from_secs(50), "a session keeps what it started with");
        vars.set(definition, Some(&Datum::Int(3))).expect("settable");
        assert_eq!(vars.hot.exec.lock_wait, Duration::from_secs(3));
        vars.reset(&global);
        assert_eq!(vars.hot.exec.lock_wait, Duration::from_secs(7));
    }

    #[test]
    fn one_phase_commit_can_be_switched_off() {
        let global = GlobalVars::default();
        let one_phase = settable("tidb_enable_1pc", false).expect("known");
        assert!(SessionVars::new(&global, false).hot.one_phase_commit);
        global.set(one_phase, Some("OFF".to_owned()));
        assert!(!SessionVars::new(&global, false).hot.one_phase_commit);
    }

    #[test]
    fn wrong_names_scopes_and_values_are_mysqls_errors() {
        assert_eq!(settable("nonsense", false).expect_err("unknown").code, 1193);
        assert_eq!(settable("version", false).expect_err("read only").code, 1238);
        assert_eq!(settable("max_connections", false).expect_err("global").code, 1229);
        let mut vars = SessionVars::new(&GlobalVars::default(), false);
        let autocommit = settable("autocommit", false).expect("known");
        assert_eq!(vars.set(autocommit, Some(&Datum::Int(2))).expect_err("no boolean").code, 1231);
        let mode = settable("sql_mode", false).expect("known");
        assert_eq!(vars.set(mode, Some(&Datum::Bytes(b"NONSENSE".to_vec()))).expect_err("no mode").code, 1231);
        let timeout = settable("innodb_lock_wait_timeout", false).expect("known");
        assert!(vars.set(timeout, Some(&Datum::Int(0))).expect("cut").is_some());
        assert_eq!(vars.text(timeout), "1");
    }
}
