//! The system variables this server knows: name, scope, kind of value, default.
//!
//! A variable stands here because it has its effect, or because clients set or read it and MySQL accepts it without visible effect for
//! them (character set bookkeeping, optimizer and buffer sizes of other engines). The second kind is marked `inert` with the reason, which
//! `docs/mysql-compat.md` lists. Anything else is error 1193.

/// Where a variable can be read and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One value a server.
    Global,
    /// One value a session, started from the global one.
    Both,
    /// One value a session, without a global one.
    Session,
    /// Cannot be set.
    ReadOnly,
}

/// What values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF.
    Bool,
    /// Whole numbers; values outside are cut to the nearest with a warning.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// Numbers with a fraction.
    Float,
    /// One of the words; a number counts from 0.
    Enum(&'static [&'static str]),
    /// Any text, checked where it is used.
    Text,
}

/// A system variable.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Where it can be read and set.
    pub scope: Scope,
    /// What values it takes.
    pub kind: Kind,
    /// Its value at start, as SHOW VARIABLES prints it.
    pub default: &'static str,
    /// Why setting it changes nothing; empty for a variable with its effect.
    pub inert: &'static str,
}

const fn live(name: &'static str, scope: Scope, kind: Kind, default: &'static str) -> Definition {
    Definition { name, scope, kind, default, inert: "" }
}

const fn inert(name: &'static str, scope: Scope, kind: Kind, default: &'static str, reason: &'static str) -> Definition {
    Definition { name, scope, kind, default, inert: reason }
}

const fn int(min: i64, max: u64) -> Kind {
    Kind::Int { min, max }
}

const U32: u64 = u32::MAX as u64;
const U64: u64 = u64::MAX;
const ISOLATION: Kind = Kind::Enum(&["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"]);

const OTHER_ENGINE: &str = "sizes a part of InnoDB that this store does not have";
const ONE_EXECUTOR: &str = "operators of one statement run on one task here; results do not depend on it";
const NO_BINLOG: &str = "there is no binary log";
const CHARSET_ONLY: &str = "all text is utf8mb4 on the wire and in the store";
const OPTIMIZER: &str = "the planner has rules of its own (trine_disabled_rules)";
const NEVER_RETRIES: &str = "an explicit transaction is never repeated behind the client's back; statements of autocommit are";
const TMP_TABLES: &str = "memory is bounded a statement, by tidb_mem_quota_query";
const NO_CACHE: &str = "there is no query cache, as in MySQL 8.0";
const ALWAYS_SO: &str = "this server always behaves as with the default";

/// All variables, by name.
pub static DEFINITIONS: &[Definition] = &[
    live("activate_all_roles_on_login", Scope::Global, Kind::Bool, "OFF"),
    live("auto_increment_increment", Scope::Both, int(1, 65_535), "1"),
    live("auto_increment_offset", Scope::Both, int(1, 65_535), "1"),
    live("autocommit", Scope::Both, Kind::Bool, "ON"),
    live("basedir", Scope::ReadOnly, Kind::Text, ""),
    inert("big_tables", Scope::Both, Kind::Bool, "OFF", TMP_TABLES),
    live("bind_address", Scope::ReadOnly, Kind::Text, ""),
    live("block_encryption_mode", Scope::Both, Kind::Text, "aes-128-ecb"),
    inert("bulk_insert_buffer_size", Scope::Both, int(0, U64), "8388608", OTHER_ENGINE),
    live("character_set_client", Scope::Both, Kind::Text, "utf8mb4"),
    live("character_set_connection", Scope::Both, Kind::Text, "utf8mb4"),
    live("character_set_database", Scope::Both, Kind::Text, "utf8mb4"),
    inert("character_set_filesystem", Scope::Both, Kind::Text, "binary", CHARSET_ONLY),
    live("character_set_results", Scope::Both, Kind::Text, "utf8mb4"),
    inert("character_set_server", Scope::Both, Kind::Text, "utf8mb4", CHARSET_ONLY),
    live("character_set_system", Scope::ReadOnly, Kind::Text, "utf8mb3"),
    live("collation_connection", Scope::Both, Kind::Text, "utf8mb4_0900_ai_ci"),
    live("collation_database", Scope::Both, Kind::Text, "utf8mb4_0900_ai_ci"),
    inert("collation_server", Scope::Both, Kind::Text, "utf8mb4_0900_ai_ci", CHARSET_ONLY),
    inert("completion_type", Scope::Both, Kind::Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN", ALWAYS_SO),
    inert("connect_timeout", Scope::Global, int(2, 31_536_000), "10", ALWAYS_SO),
    live("cte_max_recursion_depth", Scope::Both, int(0, U32), "1000"),
    live("datadir", Scope::ReadOnly, Kind::Text, ""),
    inert("default_authentication_plugin", Scope::ReadOnly, Kind::Text, "mysql_native_password", ""),
    inert("default_collation_for_utf8mb4", Scope::Both, Kind::Text, "utf8mb4_0900_ai_ci", ALWAYS_SO),
    live("default_password_lifetime", Scope::Global, int(0, 65_535), "0"),
    inert("default_storage_engine", Scope::Both, Kind::Text, "InnoDB", "there is one store"),
    inert("default_tmp_storage_engine", Scope::Both, Kind::Text, "InnoDB", "there is one store"),
    live("default_week_format", Scope::Both, int(0, 7), "0"),
    live("disconnect_on_expired_password", Scope::ReadOnly, Kind::Bool, "ON"),
    live("div_precision_increment", Scope::Both, int(0, 30), "4"),
    inert("eq_range_index_dive_limit", Scope::Both, int(0, U32), "200", OPTIMIZER),
    live("error_count", Scope::Session, int(0, U64), "0"),
    inert("event_scheduler", Scope::Global, Kind::Enum(&["OFF", "ON", "DISABLED"]), "OFF", "there are no events"),
    inert("explicit_defaults_for_timestamp", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
    inert("flush", Scope::Global, Kind::Bool, "OFF", OTHER_ENGINE),
    live("foreign_key_checks", Scope::Both, Kind::Bool, "ON"),
    inert("general_log", Scope::Global, Kind::Bool, "OFF", "statements are not logged to a file"),
    live("group_concat_max_len", Scope::Both, int(4, U64), "1024"),
    live("have_openssl", Scope::ReadOnly, Kind::Text, "DISABLED"),
    live("have_ssl", Scope::ReadOnly, Kind::Text, "DISABLED"),
    live("hostname", Scope::ReadOnly, Kind::Text, "localhost"),
    live("identity", Scope::Session, int(0, U64), "0"),
    inert("init_connect", Scope::Global, Kind::Text, "", ALWAYS_SO),
    inert("innodb_buffer_pool_size", Scope::ReadOnly, int(0, U64), "134217728", OTHER_ENGINE),
    inert("innodb_file_per_table", Scope::Global, Kind::Bool, "ON", OTHER_ENGINE),
    inert("innodb_flush_log_at_trx_commit", Scope::Global, int(0, 2), "1", "durability is set by sync-log in the configuration file"),
    live("innodb_lock_wait_timeout", Scope::Both, int(1, 1_073_741_824), "50"),
    inert("innodb_rollback_on_timeout", Scope::ReadOnly, Kind::Bool, "OFF", ALWAYS_SO),
    inert("innodb_strict_mode", Scope::Both, Kind::Bool, "ON", OTHER_ENGINE),
    live("insert_id", Scope::Session, int(0, U64), "0"),
    live("interactive_timeout", Scope::Both, int(1, 31_536_000), "28800"),
    inert("join_buffer_size", Scope::Both, int(128, U64), "262144", TMP_TABLES),
    inert("key_buffer_size", Scope::Global, int(0, U64), "8388608", OTHER_ENGINE),
    live("last_insert_id", Scope::Session, int(0, U64), "0"),
    inert("lc_messages", Scope::Both, Kind::Text, "en_US", ALWAYS_SO),
    inert("lc_time_names", Scope::Both, Kind::Text, "en_US", ALWAYS_SO),
    live("license", Scope::ReadOnly, Kind::Text, "Apache License 2.0"),
    live("local_infile", Scope::Global, Kind::Bool, "OFF"),
    live("lock_wait_timeout", Scope::Both, int(1, 31_536_000), "31536000"),
    live("log_bin", Scope::ReadOnly, Kind::Bool, "OFF"),
    inert("long_query_time", Scope::Both, Kind::Float, "10.000000", "statements are not logged to a file"),
    inert("low_priority_updates", Scope::Both, Kind::Bool, "OFF", OTHER_ENGINE),
    live("lower_case_file_system", Scope::ReadOnly, Kind::Bool, "OFF"),
    live("lower_case_table_names", Scope::ReadOnly, int(0, 2), "2"),
    live("mandatory_roles", Scope::Global, Kind::Text, ""),
    live("max_allowed_packet", Scope::Both, int(1024, 1_073_741_824), "67108864"),
    live("max_connections", Scope::Global, int(1, 100_000), "2000"),
    live("max_error_count", Scope::Both, int(0, 65_535), "1024"),
    live("max_execution_time", Scope::Both, int(0, U32), "0"),
    inert("max_heap_table_size", Scope::Both, int(16_384, U64), "16777216", TMP_TABLES),
    inert("max_join_size", Scope::Both, int(1, U64), "18446744073709551615", ALWAYS_SO),
    inert("max_length_for_sort_data", Scope::Both, int(4, 8_388_608), "4096", TMP_TABLES),
    live("max_prepared_stmt_count", Scope::Global, int(0, 4_194_304), "16382"),
    inert("max_sort_length", Scope::Both, int(4, 8_388_608), "1024", ALWAYS_SO),
    inert("max_sp_recursion_depth", Scope::Both, int(0, 255), "0", "there are no stored programs"),
    inert("max_user_connections", Scope::Both, int(0, U32), "0", ALWAYS_SO),
    inert("net_buffer_length", Scope::Both, int(1024, 1_048_576), "16384", ALWAYS_SO),
    live("net_read_timeout", Scope::Both, int(1, 31_536_000), "30"),
    inert("net_retry_count", Scope::Both, int(1, U64), "10", ALWAYS_SO),
    inert("net_write_timeout", Scope::Both, int(1, 31_536_000), "60", ALWAYS_SO),
    inert("old_passwords", Scope::Both, int(0, 2), "0", ALWAYS_SO),
    inert("optimizer_prune_level", Scope::Both, int(0, 1), "1", OPTIMIZER),
    inert("optimizer_search_depth", Scope::Both, int(0, 62), "62", OPTIMIZER),
    inert("optimizer_switch", Scope::Both, Kind::Text, "index_merge=on,mrr=on", OPTIMIZER),
    inert("optimizer_trace", Scope::Both, Kind::Text, "enabled=off,one_line=off", OPTIMIZER),
    inert("performance_schema", Scope::ReadOnly, Kind::Bool, "OFF", ""),
    live("port", Scope::ReadOnly, int(0, 65_535), "4000"),
    inert("profiling", Scope::Both, Kind::Bool, "OFF", "use EXPLAIN ANALYZE"),
    live("protocol_compression_algorithms", Scope::Global, Kind::Text, "zlib,zstd,uncompressed"),
    live("protocol_version", Scope::ReadOnly, int(0, 255), "10"),
    inert("query_cache_size", Scope::Global, int(0, U64), "0", NO_CACHE),
    inert("query_cache_type", Scope::Both, Kind::Enum(&["OFF", "ON", "DEMAND"]), "OFF", NO_CACHE),
    inert("read_buffer_size", Scope::Both, int(8192, 2_147_479_552), "131072", OTHER_ENGINE),
    live("read_only", Scope::Global, Kind::Bool, "OFF"),
    inert("read_rnd_buffer_size", Scope::Both, int(1, 2_147_483_647), "262144", OTHER_ENGINE),
    live("require_secure_transport", Scope::Global, Kind::Bool, "OFF"),
    live("secure_file_priv", Scope::ReadOnly, Kind::Text, ""),
    inert("session_track_gtids", Scope::Both, Kind::Text, "OFF", NO_BINLOG),
    live("session_track_schema", Scope::Both, Kind::Bool, "ON"),
    live("session_track_state_change", Scope::Both, Kind::Bool, "OFF"),
    live("session_track_system_variables", Scope::Both, Kind::Text, super::TRACKED_VARIABLES),
    live("session_track_transaction_info", Scope::Both, Kind::Enum(&["OFF", "STATE", "CHARACTERISTICS"]), "OFF"),
    live("server_id", Scope::ReadOnly, int(0, U32), "1"),
    live("server_uuid", Scope::ReadOnly, Kind::Text, ""),
    inert("skip_name_resolve", Scope::ReadOnly, Kind::Bool, "ON", ""),
    inert("slow_query_log", Scope::Global, Kind::Bool, "OFF", "statements are not logged to a file"),
    live("socket", Scope::ReadOnly, Kind::Text, ""),
    inert("sort_buffer_size", Scope::Both, int(32_768, U64), "262144", TMP_TABLES),
    inert("sql_auto_is_null", Scope::Both, Kind::Bool, "OFF", ALWAYS_SO),
    inert("sql_big_selects", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
    inert("sql_buffer_result", Scope::Both, Kind::Bool, "OFF", ALWAYS_SO),
    inert("sql_log_bin", Scope::Session, Kind::Bool, "ON", NO_BINLOG),
    live("sql_mode", Scope::Both, Kind::Text, super::DEFAULT_SQL_MODE),
    inert("sql_notes", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
    inert("sql_quote_show_create", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
    inert("sql_require_primary_key", Scope::Both, Kind::Bool, "OFF", ALWAYS_SO),
    inert("sql_safe_updates", Scope::Both, Kind::Bool, "OFF", ALWAYS_SO),
    live("sql_select_limit", Scope::Both, int(0, U64), "18446744073709551615"),
    inert("sql_warnings", Scope::Both, Kind::Bool, "OFF", ALWAYS_SO),
    live("ssl_ca", Scope::ReadOnly, Kind::Text, ""),
    live("ssl_cert", Scope::ReadOnly, Kind::Text, ""),
    live("ssl_key", Scope::ReadOnly, Kind::Text, ""),
    inert("storage_engine", Scope::Both, Kind::Text, "InnoDB", "there is one store"),
    live("super_read_only", Scope::Global, Kind::Bool, "OFF"),
    live("system_time_zone", Scope::ReadOnly, Kind::Text, "UTC"),
    inert("table_definition_cache", Scope::Global, int(400, 524_288), "2000", OTHER_ENGINE),
    inert("table_open_cache", Scope::Global, int(1, 524_288), "4000", OTHER_ENGINE),
    inert("thread_cache_size", Scope::Global, int(0, 16_384), "9", "connections do not have threads of their own"),
    inert("tidb_build_stats_concurrency", Scope::Both, int(1, 256), "2", ONE_EXECUTOR),
    inert(
        "tidb_constraint_check_in_place",
        Scope::Both,
        Kind::Bool,
        "OFF",
        "duplicates are found when the statement or the commit runs, whichever is first",
    ),
    live("tidb_current_ts", Scope::Session, int(0, U64), "0"),
    inert("tidb_ddl_reorg_batch_size", Scope::Global, int(32, 10_240), "256", ALWAYS_SO),
    inert("tidb_ddl_reorg_worker_cnt", Scope::Global, int(1, 256), "4", ALWAYS_SO),
    inert("tidb_disable_txn_auto_retry", Scope::Both, Kind::Bool, "ON", NEVER_RETRIES),
    inert("tidb_distsql_scan_concurrency", Scope::Both, int(1, 256), "15", ONE_EXECUTOR),
    live("tidb_enable_1pc", Scope::Both, Kind::Bool, "ON"),
    inert("tidb_enable_async_commit", Scope::Both, Kind::Bool, "ON", "async commit is chosen where it is possible"),
    inert("tidb_enable_clustered_index", Scope::Both, Kind::Text, "ON", ALWAYS_SO),
    live("tidb_enable_non_prepared_plan_cache", Scope::Both, Kind::Bool, "ON"),
    live("tidb_enable_prepared_plan_cache", Scope::Both, Kind::Bool, "ON"),
    live("tidb_enable_tmp_storage_on_oom", Scope::Both, Kind::Bool, "ON"),
    live("tidb_gc_enable", Scope::Global, Kind::Bool, "ON"),
    live("tidb_gc_life_time", Scope::Global, Kind::Text, "10m0s"),
    live("tidb_gc_run_interval", Scope::Global, Kind::Text, "1m0s"),
    inert("tidb_hash_join_concurrency", Scope::Both, int(1, 256), "5", ONE_EXECUTOR),
    inert("tidb_hashagg_final_concurrency", Scope::Both, int(-1, 256), "-1", ONE_EXECUTOR),
    inert("tidb_hashagg_partial_concurrency", Scope::Both, int(-1, 256), "-1", ONE_EXECUTOR),
    live("tidb_index_join_batch_size", Scope::Both, int(1, 2_147_483_647), "1024"),
    inert("tidb_index_lookup_concurrency", Scope::Both, int(-1, 256), "-1", ONE_EXECUTOR),
    live("tidb_index_lookup_size", Scope::Both, int(1, 2_147_483_647), "4096"),
    inert("tidb_index_serial_scan_concurrency", Scope::Both, int(1, 256), "1", ONE_EXECUTOR),
    inert("tidb_init_chunk_size", Scope::Both, int(1, 1024), "32", "chunks grow by what fills them"),
    live("tidb_max_chunk_size", Scope::Both, int(1, 65_536), "1024"),
    live("tidb_mem_quota_query", Scope::Both, int(-1, 9_223_372_036_854_775_807), "1073741824"),
    inert("tidb_opt_agg_push_down", Scope::Both, Kind::Bool, "OFF", OPTIMIZER),
    inert("tidb_projection_concurrency", Scope::Both, int(-1, 256), "-1", ONE_EXECUTOR),
    inert("tidb_retry_limit", Scope::Both, int(0, U32), "10", NEVER_RETRIES),
    live("tidb_snapshot", Scope::Session, Kind::Text, ""),
    live("tidb_txn_mode", Scope::Both, Kind::Enum(&["", "pessimistic", "optimistic"]), "pessimistic"),
    live("time_zone", Scope::Both, Kind::Text, "SYSTEM"),
    live("timestamp", Scope::Session, Kind::Float, "0"),
    live("tls_version", Scope::ReadOnly, Kind::Text, ""),
    inert("tmp_table_size", Scope::Both, int(1024, U64), "16777216", TMP_TABLES),
    inert("tmpdir", Scope::ReadOnly, Kind::Text, "/tmp", ""),
    inert("transaction_alloc_block_size", Scope::Both, int(1024, 131_072), "8192", OTHER_ENGINE),
    live("transaction_isolation", Scope::Both, ISOLATION, "REPEATABLE-READ"),
    live("transaction_read_only", Scope::Both, Kind::Bool, "OFF"),
    live("trine_disabled_rules", Scope::Both, Kind::Text, ""),
    live("tx_isolation", Scope::Both, ISOLATION, "REPEATABLE-READ"),
    live("tx_read_only", Scope::Both, Kind::Bool, "OFF"),
    inert("unique_checks", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
    inert("updatable_views_with_limit", Scope::Both, Kind::Bool, "ON", "there are no views yet"),
    live("version", Scope::ReadOnly, Kind::Text, ""),
    live("version_comment", Scope::ReadOnly, Kind::Text, "Trine"),
    live("version_compile_machine", Scope::ReadOnly, Kind::Text, std::env::consts::ARCH),
    live("version_compile_os", Scope::ReadOnly, Kind::Text, std::env::consts::OS),
    live("wait_timeout", Scope::Both, int(1, 31_536_000), "28800"),
    live("warning_count", Scope::Session, int(0, U64), "0"),
    inert("windowing_use_high_precision", Scope::Both, Kind::Bool, "ON", ALWAYS_SO),
];

/// The variable of that name; `tx_isolation` and `tx_read_only` are found under their present names.
pub fn find(name: &str) -> Option<&'static Definition> {
    let lower = name.to_ascii_lowercase();
    let name = match lower.as_str() {
        "tx_isolation" => "transaction_isolation",
        "tx_read_only" => "transaction_read_only",
        "identity" => "last_insert_id",
        other => other,
    };
    DEFINITIONS.iter().find(|definition| definition.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_in_lower_case() {
        let mut names: Vec<&str> = DEFINITIONS.iter().map(|definition| definition.name).collect();
        assert!(names.iter().all(|name| *name == name.to_ascii_lowercase()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DEFINITIONS.len());
    }

    #[test]
    fn every_default_is_a_value_the_variable_takes() {
        for definition in DEFINITIONS {
            let read = super::super::value::canonical(definition, &types::Datum::Bytes(definition.default.as_bytes().to_vec()));
            let read = read.unwrap_or_else(|error| panic!("{}: {}", definition.name, error.message));
            assert_eq!(read.text, definition.default, "{}", definition.name);
        }
    }
}
