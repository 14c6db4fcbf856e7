//! Tables about the server and its sessions. Rows of PROCESSLIST, of variables, status and privileges come from the session layer; tables
//! of objects that do not exist here (routines, triggers, events) are empty, so that tools that ask for them get an answer.

use types::Datum;

use super::{
    VirtualContext,
    definition::{Type::*, VirtualTable, text},
};

macro_rules! tables {
    ($($database:literal $name:literal ($($column:literal $ty:expr),* $(,)?) $rows:expr;)*) => {
        &[$(VirtualTable { database: $database, name: $name, columns: &[$(($column, $ty)),*], rows: $rows }),*]
    };
}
pub(super) use tables;

pub(super) const TABLES: &[VirtualTable] = tables! {
    "information_schema" "ENGINES" (
        "ENGINE" Name(64), "SUPPORT" Name(8), "COMMENT" Name(80), "TRANSACTIONS" Nullable(&Name(3)), "XA" Nullable(&Name(3)),
        "SAVEPOINTS" Nullable(&Name(3)),
    ) Some(engines);
    "information_schema" "PLUGINS" (
        "PLUGIN_NAME" Name(64), "PLUGIN_VERSION" Name(20), "PLUGIN_STATUS" Name(10), "PLUGIN_TYPE" Name(80),
        "PLUGIN_TYPE_VERSION" Name(20), "PLUGIN_LIBRARY" Nullable(&Name(64)), "PLUGIN_LIBRARY_VERSION" Nullable(&Name(20)),
        "PLUGIN_AUTHOR" Nullable(&Name(64)), "PLUGIN_DESCRIPTION" Nullable(&LongText), "PLUGIN_LICENSE" Nullable(&Name(80)),
        "LOAD_OPTION" Name(64),
    ) Some(plugins);
    "information_schema" "PROCESSLIST" (
        "ID" Unsigned, "USER" Name(32), "HOST" Name(261), "DB" Nullable(&Name(64)), "COMMAND" Name(16), "TIME" Int,
        "STATE" Nullable(&Name(64)), "INFO" Nullable(&LongText),
    ) None;
    "information_schema" "USER_PRIVILEGES" (
        "GRANTEE" Name(292), "TABLE_CATALOG" Name(512), "PRIVILEGE_TYPE" Name(64), "IS_GRANTABLE" Name(3),
    ) None;
    "information_schema" "SCHEMA_PRIVILEGES" (
        "GRANTEE" Name(292), "TABLE_CATALOG" Name(512), "TABLE_SCHEMA" Name(64), "PRIVILEGE_TYPE" Name(64), "IS_GRANTABLE" Name(3),
    ) None;
    "information_schema" "TABLE_PRIVILEGES" (
        "GRANTEE" Name(292), "TABLE_CATALOG" Name(512), "TABLE_SCHEMA" Name(64), "TABLE_NAME" Name(64), "PRIVILEGE_TYPE" Name(64),
        "IS_GRANTABLE" Name(3),
    ) None;
    "information_schema" "COLUMN_PRIVILEGES" (
        "GRANTEE" Name(292), "TABLE_CATALOG" Name(512), "TABLE_SCHEMA" Name(64), "TABLE_NAME" Name(64), "COLUMN_NAME" Name(64),
        "PRIVILEGE_TYPE" Name(64), "IS_GRANTABLE" Name(3),
    ) None;
    "information_schema" "ROUTINES" (
        "SPECIFIC_NAME" Name(64), "ROUTINE_CATALOG" Name(64), "ROUTINE_SCHEMA" Name(64), "ROUTINE_NAME" Name(64), "ROUTINE_TYPE" Name(9),
        "DATA_TYPE" Nullable(&LongText), "CHARACTER_MAXIMUM_LENGTH" Nullable(&BigInt), "CHARACTER_OCTET_LENGTH" Nullable(&BigInt),
        "NUMERIC_PRECISION" Nullable(&Unsigned), "NUMERIC_SCALE" Nullable(&Unsigned), "DATETIME_PRECISION" Nullable(&Unsigned),
        "CHARACTER_SET_NAME" Nullable(&Name(64)), "COLLATION_NAME" Nullable(&Name(64)), "DTD_IDENTIFIER" Nullable(&LongText),
        "ROUTINE_BODY" Name(8), "ROUTINE_DEFINITION" Nullable(&LongText), "EXTERNAL_NAME" Nullable(&Name(64)), "EXTERNAL_LANGUAGE" Name(64),
        "PARAMETER_STYLE" Name(3), "IS_DETERMINISTIC" Name(3), "SQL_DATA_ACCESS" Name(17), "SQL_PATH" Nullable(&Name(64)),
        "SECURITY_TYPE" Name(7), "CREATED" Timestamp, "LAST_ALTERED" Timestamp, "SQL_MODE" Name(520), "ROUTINE_COMMENT" LongText,
        "DEFINER" Text(288), "CHARACTER_SET_CLIENT" Name(64), "COLLATION_CONNECTION" Name(64), "DATABASE_COLLATION" Name(64),
    ) None;
    "information_schema" "PARAMETERS" (
        "SPECIFIC_CATALOG" Name(64), "SPECIFIC_SCHEMA" Name(64), "SPECIFIC_NAME" Name(64), "ORDINAL_POSITION" Unsigned,
        "PARAMETER_MODE" Nullable(&Name(5)), "PARAMETER_NAME" Nullable(&Name(64)), "DATA_TYPE" Nullable(&LongText),
        "CHARACTER_MAXIMUM_LENGTH" Nullable(&BigInt), "CHARACTER_OCTET_LENGTH" Nullable(&BigInt), "NUMERIC_PRECISION" Nullable(&Unsigned),
        "NUMERIC_SCALE" Nullable(&BigInt), "DATETIME_PRECISION" Nullable(&Unsigned), "CHARACTER_SET_NAME" Nullable(&Name(64)),
        "COLLATION_NAME" Nullable(&Name(64)), "DTD_IDENTIFIER" LongText, "ROUTINE_TYPE" Name(9),
    ) None;
    "information_schema" "TRIGGERS" (
        "TRIGGER_CATALOG" Name(64), "TRIGGER_SCHEMA" Name(64), "TRIGGER_NAME" Name(64), "EVENT_MANIPULATION" Name(6),
        "EVENT_OBJECT_CATALOG" Name(64), "EVENT_OBJECT_SCHEMA" Name(64), "EVENT_OBJECT_TABLE" Name(64), "ACTION_ORDER" Unsigned,
        "ACTION_CONDITION" Nullable(&LongText), "ACTION_STATEMENT" LongText, "ACTION_ORIENTATION" Name(3), "ACTION_TIMING" Name(6),
        "ACTION_REFERENCE_OLD_TABLE" Nullable(&Name(64)), "ACTION_REFERENCE_NEW_TABLE" Nullable(&Name(64)),
        "ACTION_REFERENCE_OLD_ROW" Name(3), "ACTION_REFERENCE_NEW_ROW" Name(3), "CREATED" Timestamp, "SQL_MODE" Name(520),
        "DEFINER" Text(288), "CHARACTER_SET_CLIENT" Name(64), "COLLATION_CONNECTION" Name(64), "DATABASE_COLLATION" Name(64),
    ) None;
    "information_schema" "EVENTS" (
        "EVENT_CATALOG" Name(64), "EVENT_SCHEMA" Name(64), "EVENT_NAME" Name(64), "DEFINER" Text(288), "TIME_ZONE" Name(64),
        "EVENT_BODY" Name(3), "EVENT_DEFINITION" LongText, "EVENT_TYPE" Name(9), "EXECUTE_AT" Nullable(&DateTime),
        "INTERVAL_VALUE" Nullable(&Name(256)), "INTERVAL_FIELD" Nullable(&Name(18)), "SQL_MODE" Name(520), "STARTS" Nullable(&DateTime),
        "ENDS" Nullable(&DateTime), "STATUS" Name(21), "ON_COMPLETION" Name(12), "CREATED" Timestamp, "LAST_ALTERED" Timestamp,
        "LAST_EXECUTED" Nullable(&DateTime), "EVENT_COMMENT" Text(2048), "ORIGINATOR" Unsigned, "CHARACTER_SET_CLIENT" Name(64),
        "COLLATION_CONNECTION" Name(64), "DATABASE_COLLATION" Name(64),
    ) None;
    "information_schema" "KEYWORDS" ("WORD" Nullable(&Name(128)), "RESERVED" Nullable(&Int)) None;
    "information_schema" "COLUMN_STATISTICS" (
        "SCHEMA_NAME" Name(64), "TABLE_NAME" Name(64), "COLUMN_NAME" Name(64), "HISTOGRAM" LongText,
    ) None;
    "information_schema" "FILES" (
        "FILE_ID" Nullable(&BigInt), "FILE_NAME" Nullable(&LongText), "FILE_TYPE" Nullable(&Name(256)), "TABLESPACE_NAME" Name(268),
        "TABLE_CATALOG" Name(0), "TABLE_SCHEMA" Nullable(&Name(0)), "TABLE_NAME" Nullable(&Name(0)),
        "LOGFILE_GROUP_NAME" Nullable(&Name(256)), "LOGFILE_GROUP_NUMBER" Nullable(&BigInt), "ENGINE" Name(64),
        "FULLTEXT_KEYS" Nullable(&Name(0)), "DELETED_ROWS" Nullable(&Name(0)), "UPDATE_COUNT" Nullable(&Name(0)),
        "FREE_EXTENTS" Nullable(&BigInt), "TOTAL_EXTENTS" Nullable(&BigInt), "EXTENT_SIZE" Nullable(&BigInt),
        "INITIAL_SIZE" Nullable(&BigInt), "MAXIMUM_SIZE" Nullable(&BigInt), "AUTOEXTEND_SIZE" Nullable(&BigInt),
        "CREATION_TIME" Nullable(&Name(0)), "LAST_UPDATE_TIME" Nullable(&Name(0)), "LAST_ACCESS_TIME" Nullable(&Name(0)),
        "RECOVER_TIME" Nullable(&Name(0)), "TRANSACTION_COUNTER" Nullable(&Name(0)), "VERSION" Nullable(&BigInt),
        "ROW_FORMAT" Nullable(&Name(256)), "TABLE_ROWS" Nullable(&Name(0)), "AVG_ROW_LENGTH" Nullable(&Name(0)),
        "DATA_LENGTH" Nullable(&Name(0)), "MAX_DATA_LENGTH" Nullable(&Name(0)), "INDEX_LENGTH" Nullable(&Name(0)),
        "DATA_FREE" Nullable(&BigInt), "CREATE_TIME" Nullable(&Name(0)), "UPDATE_TIME" Nullable(&Name(0)),
        "CHECK_TIME" Nullable(&Name(0)), "CHECKSUM" Nullable(&Name(0)), "STATUS" Nullable(&Name(256)), "EXTRA" Nullable(&Name(256)),
    ) None;
    "information_schema" "INNODB_TRX" (
        "trx_id" Unsigned, "trx_state" Name(13), "trx_started" DateTime, "trx_requested_lock_id" Nullable(&Name(126)),
        "trx_wait_started" Nullable(&DateTime), "trx_weight" Unsigned, "trx_mysql_thread_id" Unsigned, "trx_query" Nullable(&LongText),
    ) None;
    "performance_schema" "global_variables" ("VARIABLE_NAME" Name(64), "VARIABLE_VALUE" Nullable(&Name(1024))) None;
    "performance_schema" "session_variables" ("VARIABLE_NAME" Name(64), "VARIABLE_VALUE" Nullable(&Name(1024))) None;
    "performance_schema" "global_status" ("VARIABLE_NAME" Name(64), "VARIABLE_VALUE" Nullable(&Name(1024))) None;
    "performance_schema" "session_status" ("VARIABLE_NAME" Name(64), "VARIABLE_VALUE" Nullable(&Name(1024))) None;
    "performance_schema" "processlist" (
        "ID" Unsigned, "USER" Nullable(&Name(32)), "HOST" Nullable(&Name(255)), "DB" Nullable(&Name(64)), "COMMAND" Nullable(&Name(16)),
        "TIME" Nullable(&BigInt), "STATE" Nullable(&Name(64)), "INFO" Nullable(&LongText),
    ) None;
};

fn engines(_: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    // Drivers and frameworks look for a transactional engine called InnoDB.
    vec![vec![
        text("InnoDB"),
        text("DEFAULT"),
        text("Transactional multi-version storage with row locks"),
        text("YES"),
        text("NO"),
        text("YES"),
    ]]
}

fn plugins(_: &VirtualContext<'_>) -> Vec<Vec<Datum>> {
    ["mysql_native_password", "caching_sha2_password"]
        .into_iter()
        .map(|name| {
            vec![
                text(name),
                text("1.0"),
                text("ACTIVE"),
                text("AUTHENTICATION"),
                text("2.0"),
                Datum::Null,
                Datum::Null,
                Datum::Null,
                Datum::Null,
                Datum::Null,
                text("FORCE"),
            ]
        })
        .collect()
}
