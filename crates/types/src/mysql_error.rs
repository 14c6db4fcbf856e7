//! MySQL's error numbers with their SQLSTATE, and the error as a client sees it.
//!
//! The names and numbers are those of the MySQL 8.0 Error Message Reference, "Server Error Message Reference".
//! Only what some crate raises stands here.

use std::fmt;

/// One of MySQL's errors: its number and its SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode {
    /// The number, as in `ERROR 1062`.
    pub code: u16,
    /// Five characters; `HY000` where the standard knows none.
    pub sqlstate: &'static str,
}

/// An error (or warning) as the client sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MysqlError {
    /// The number, as in `ERROR 1062`.
    pub code: u16,
    /// Five characters.
    pub sqlstate: &'static str,
    /// What is said to the user.
    pub message: String,
}

impl MysqlError {
    /// An error of the given kind with its message.
    pub fn new(kind: ErrorCode, message: impl Into<String>) -> Self {
        Self { code: kind.code, sqlstate: kind.sqlstate, message: message.into() }
    }

    /// Understood, and not supported yet: error 1235 naming the feature.
    pub fn not_supported(feature: &str) -> Self {
        Self::new(ER_NOT_SUPPORTED_YET, format!("This version of MySQL doesn't yet support '{feature}'"))
    }

    /// Whether this is an error of that kind.
    pub fn is(&self, kind: ErrorCode) -> bool {
        self.code == kind.code
    }
}

impl fmt::Display for MysqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.code, self.sqlstate, self.message)
    }
}

impl std::error::Error for MysqlError {}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $state:literal;)*) => {
        $(
            $(#[$doc])*
            pub const $name: ErrorCode = ErrorCode { code: $code, sqlstate: $state };
        )*

        /// Every error above by its number.
        const BY_CODE: &[(&str, ErrorCode)] = &[$((stringify!($name), $name)),*];
    };
}

/// The symbolic name of an error number, as `perror` prints it.
pub fn name_of(code: u16) -> Option<&'static str> {
    BY_CODE.iter().find(|(_, kind)| kind.code == code).map(|(name, _)| *name)
}

/// The SQLSTATE that belongs to an error number; `HY000` for one that is not listed.
pub fn sqlstate_of(code: u16) -> &'static str {
    BY_CODE.iter().find(|(_, kind)| kind.code == code).map_or("HY000", |(_, kind)| kind.sqlstate)
}

error_codes! {
    /// Can't create database; it exists.
    ER_DB_CREATE_EXISTS = 1007 "HY000";
    /// Can't drop database; it does not exist.
    ER_DB_DROP_EXISTS = 1008 "HY000";
    /// A row was changed since it was read.
    ER_CHECKREAD = 1020 "HY000";
    /// The disk is full.
    ER_DISK_FULL = 1021 "HY000";
    /// Duplicate key on write.
    ER_DUP_KEY = 1022 "23000";
    /// Can't find the record.
    ER_KEY_NOT_FOUND = 1032 "HY000";
    /// Out of memory.
    ER_OUT_OF_RESOURCES = 1041 "HY000";
    /// Too many connections.
    ER_CON_COUNT_ERROR = 1040 "08004";
    /// Bad handshake.
    ER_HANDSHAKE_ERROR = 1043 "08S01";
    /// Access to the database is denied.
    ER_DBACCESS_DENIED_ERROR = 1044 "42000";
    /// Wrong user or password.
    ER_ACCESS_DENIED_ERROR = 1045 "28000";
    /// No database selected.
    ER_NO_DB_ERROR = 1046 "3D000";
    /// Unknown command.
    ER_UNKNOWN_COM_ERROR = 1047 "08S01";
    /// Too many members of a SET.
    ER_TOO_BIG_SET = 1097 "HY000";
    /// Too many members of an ENUM.
    ER_TOO_BIG_ENUM = 3134 "HY000";
    /// Column cannot be null.
    ER_BAD_NULL_ERROR = 1048 "23000";
    /// Unknown database.
    ER_BAD_DB_ERROR = 1049 "42000";
    /// Table already exists.
    ER_TABLE_EXISTS_ERROR = 1050 "42S01";
    /// Unknown table.
    ER_BAD_TABLE_ERROR = 1051 "42S02";
    /// Column is ambiguous.
    ER_NON_UNIQ_ERROR = 1052 "23000";
    /// Server shutdown in progress.
    ER_SERVER_SHUTDOWN = 1053 "08S01";
    /// Unknown column.
    ER_BAD_FIELD_ERROR = 1054 "42S22";
    /// Not in GROUP BY.
    ER_WRONG_FIELD_WITH_GROUP = 1055 "42000";
    /// Can't group on.
    ER_WRONG_GROUP_FIELD = 1056 "42000";
    /// Column count doesn't match value count.
    ER_WRONG_VALUE_COUNT = 1058 "21S01";
    /// Identifier is too long.
    ER_TOO_LONG_IDENT = 1059 "42000";
    /// Duplicate column name.
    ER_DUP_FIELDNAME = 1060 "42S21";
    /// Duplicate key name.
    ER_DUP_KEYNAME = 1061 "42000";
    /// Duplicate entry for key.
    ER_DUP_ENTRY = 1062 "23000";
    /// Incorrect column specifier.
    ER_WRONG_FIELD_SPEC = 1063 "42000";
    /// Syntax error.
    ER_PARSE_ERROR = 1064 "42000";
    /// Query was empty.
    ER_EMPTY_QUERY = 1065 "42000";
    /// Not unique table/alias.
    ER_NONUNIQ_TABLE = 1066 "42000";
    /// Invalid default value.
    ER_INVALID_DEFAULT = 1067 "42000";
    /// Multiple primary key defined.
    ER_MULTIPLE_PRI_KEY = 1068 "42000";
    /// Too many keys.
    ER_TOO_MANY_KEYS = 1069 "42000";
    /// Too many key parts.
    ER_TOO_MANY_KEY_PARTS = 1070 "42000";
    /// Specified key was too long.
    ER_TOO_LONG_KEY = 1071 "42000";
    /// Key column doesn't exist in table.
    ER_KEY_COLUMN_DOES_NOT_EXITS = 1072 "42000";
    /// BLOB column can't be used in key specification with the used table type.
    ER_BLOB_USED_AS_KEY = 1073 "42000";
    /// Column length too big.
    ER_TOO_BIG_FIELDLENGTH = 1074 "42000";
    /// There can be only one auto column.
    ER_WRONG_AUTO_KEY = 1075 "42000";
    /// Incorrect index prefix.
    ER_WRONG_SUB_KEY = 1089 "HY000";
    /// You can't delete all columns.
    ER_CANT_REMOVE_ALL_FIELDS = 1090 "42000";
    /// Can't drop; check that it exists.
    ER_CANT_DROP_FIELD_OR_KEY = 1091 "42000";
    /// Target table of an update is also read.
    ER_UPDATE_TABLE_USED = 1093 "HY000";
    /// Unknown thread id.
    ER_NO_SUCH_THREAD = 1094 "HY000";
    /// Not owner of the thread.
    ER_KILL_DENIED_ERROR = 1095 "HY000";
    /// No tables used.
    ER_NO_TABLES_USED = 1096 "HY000";
    /// BLOB can't have a default value.
    ER_BLOB_CANT_HAVE_DEFAULT = 1101 "42000";
    /// Incorrect database name.
    ER_WRONG_DB_NAME = 1102 "42000";
    /// Incorrect table name.
    ER_WRONG_TABLE_NAME = 1103 "42000";
    /// Too big select.
    ER_TOO_BIG_SELECT = 1104 "42000";
    /// Unknown error.
    ER_UNKNOWN_ERROR = 1105 "HY000";
    /// Incorrect parameters in a call of a native function.
    ER_WRONG_PARAMETERS_TO_PROCEDURE = 1108 "HY000";
    /// Unknown table in MULTI DELETE.
    ER_UNKNOWN_TABLE = 1109 "42S02";
    /// Column specified twice.
    ER_FIELD_SPECIFIED_TWICE = 1110 "42000";
    /// Invalid use of group function.
    ER_INVALID_GROUP_FUNC_USE = 1111 "HY000";
    /// A table must have at least one column.
    ER_TABLE_MUST_HAVE_COLUMNS = 1113 "42000";
    /// Unknown character set.
    ER_UNKNOWN_CHARACTER_SET = 1115 "42000";
    /// Too many columns.
    ER_TOO_MANY_FIELDS = 1117 "HY000";
    /// Row size too large.
    ER_TOO_BIG_ROWSIZE = 1118 "42000";
    /// Column used in key is NULLable.
    ER_PRIMARY_CANT_HAVE_NULL = 1171 "42000";
    /// Host is not allowed to connect.
    ER_HOST_NOT_PRIVILEGED = 1130 "HY000";
    /// No matching row in the user table.
    ER_PASSWORD_NO_MATCH = 1133 "42000";
    /// Column count doesn't match value count at row.
    ER_WRONG_VALUE_COUNT_ON_ROW = 1136 "21S01";
    /// NULL where none can be.
    ER_INVALID_USE_OF_NULL = 1138 "22004";
    /// No such privilege was granted.
    ER_NONEXISTING_GRANT = 1141 "42000";
    /// Command denied on the table.
    ER_TABLEACCESS_DENIED_ERROR = 1142 "42000";
    /// Mixing of GROUP columns with no GROUP columns.
    ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140 "42000";
    /// Table doesn't exist.
    ER_NO_SUCH_TABLE = 1146 "42S02";
    /// Syntax error without position.
    ER_SYNTAX_ERROR = 1149 "42000";
    /// Got a packet bigger than max_allowed_packet.
    ER_NET_PACKET_TOO_LARGE = 1153 "08S01";
    /// Got packets out of order.
    ER_NET_PACKETS_OUT_OF_ORDER = 1156 "08S01";
    /// A compressed packet cannot be uncompressed.
    ER_NET_UNCOMPRESS_ERROR = 1157 "08S01";
    /// Read error on the connection.
    ER_NET_READ_ERROR = 1158 "08S01";
    /// Read timeout on the connection.
    ER_NET_READ_INTERRUPTED = 1159 "08S01";
    /// Result string is longer than max_allowed_packet.
    ER_TOO_LONG_STRING = 1162 "42000";
    /// Incorrect column name.
    ER_WRONG_COLUMN_NAME = 1166 "42000";
    /// The used storage engine can't index the column.
    ER_WRONG_KEY_COLUMN = 1167 "42000";
    /// BLOB used in key specification without a key length.
    ER_BLOB_KEY_WITHOUT_LENGTH = 1170 "42000";
    /// Result consisted of more than one row.
    ER_TOO_MANY_ROWS = 1172 "42000";
    /// Safe update mode.
    ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE = 1175 "HY000";
    /// Key doesn't exist in table.
    ER_KEY_DOES_NOT_EXITS = 1176 "42000";
    /// Check that the table exists and is readable.
    ER_CHECK_NO_SUCH_TABLE = 1177 "42000";
    /// Statement must not be used in a transaction.
    ER_CANT_DO_THIS_DURING_AN_TRANSACTION = 1179 "25000";
    /// Error during COMMIT.
    ER_ERROR_DURING_COMMIT = 1180 "HY000";
    /// New connection was aborted.
    ER_NEW_ABORTING_CONNECTION = 1184 "08S01";
    /// Unknown system variable.
    ER_UNKNOWN_SYSTEM_VARIABLE = 1193 "HY000";
    /// Lock wait timeout exceeded.
    ER_LOCK_WAIT_TIMEOUT = 1205 "HY000";
    /// Update lock in a read-only transaction.
    ER_READ_ONLY_TRANSACTION = 1207 "25000";
    /// Incorrect arguments.
    ER_WRONG_ARGUMENTS = 1210 "HY000";
    /// Deadlock found.
    ER_LOCK_DEADLOCK = 1213 "40001";
    /// Cannot add foreign key.
    ER_CANNOT_ADD_FOREIGN = 1215 "HY000";
    /// Cannot add or update a child row.
    ER_NO_REFERENCED_ROW = 1216 "23000";
    /// Incorrect usage of … and ….
    ER_WRONG_USAGE = 1221 "HY000";
    /// The used SELECT statements have a different number of columns.
    ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222 "21000";
    /// Duplicate argument.
    ER_DUP_ARGUMENT = 1225 "HY000";
    /// Access denied; a privilege is needed.
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227 "42000";
    /// Variable is a SESSION variable.
    ER_LOCAL_VARIABLE = 1228 "HY000";
    /// Variable is a GLOBAL variable.
    ER_GLOBAL_VARIABLE = 1229 "HY000";
    /// Variable has no default.
    ER_NO_DEFAULT = 1230 "42000";
    /// Variable can't be set to the value.
    ER_WRONG_VALUE_FOR_VAR = 1231 "42000";
    /// Incorrect argument type to variable.
    ER_WRONG_TYPE_FOR_VAR = 1232 "42000";
    /// Variable can't be read.
    ER_VAR_CANT_BE_READ = 1233 "HY000";
    /// Incorrect usage or placement.
    ER_CANT_USE_OPTION_HERE = 1234 "42000";
    /// This version doesn't yet support ….
    ER_NOT_SUPPORTED_YET = 1235 "42000";
    /// Variable is read only.
    ER_INCORRECT_GLOBAL_LOCAL_VAR = 1238 "HY000";
    /// Operand should contain n columns.
    ER_OPERAND_COLUMNS = 1241 "21000";
    /// Subquery returns more than 1 row.
    ER_SUBQUERY_NO_1_ROW = 1242 "21000";
    /// Unknown prepared statement handler.
    ER_UNKNOWN_STMT_HANDLER = 1243 "HY000";
    /// Cyclic or forward reference.
    ER_ILLEGAL_REFERENCE = 1247 "42S22";
    /// Every derived table must have its own alias.
    ER_DERIVED_MUST_HAVE_ALIAS = 1248 "42000";
    /// Table from one of the SELECTs cannot be used in ….
    ER_TABLENAME_NOT_ALLOWED_HERE = 1250 "42000";
    /// Client does not support the authentication protocol.
    ER_NOT_SUPPORTED_AUTH_MODE = 1251 "08004";
    /// COLLATION is not valid for CHARACTER SET.
    ER_COLLATION_CHARSET_MISMATCH = 1253 "42000";
    /// Row doesn't contain data for all columns.
    ER_WARN_TOO_FEW_RECORDS = 1261 "01000";
    /// Row contained more data than there were input columns.
    ER_WARN_TOO_MANY_RECORDS = 1262 "01000";
    /// NULL supplied to NOT NULL column.
    ER_WARN_NULL_TO_NOTNULL = 1263 "22004";
    /// Out of range value for column.
    ER_WARN_DATA_OUT_OF_RANGE = 1264 "22003";
    /// Data truncated for column.
    WARN_DATA_TRUNCATED = 1265 "01000";
    /// Illegal mix of collations (two).
    ER_CANT_AGGREGATE_2COLLATIONS = 1267 "HY000";
    /// Illegal mix of collations (three).
    ER_CANT_AGGREGATE_3COLLATIONS = 1270 "HY000";
    /// Illegal mix of collations (many).
    ER_CANT_AGGREGATE_NCOLLATIONS = 1271 "HY000";
    /// Unknown collation.
    ER_UNKNOWN_COLLATION = 1273 "HY000";
    /// Deprecated syntax.
    ER_WARN_DEPRECATED_SYNTAX = 1287 "HY000";
    /// The table of the statement is not updatable.
    ER_NON_UPDATABLE_TABLE = 1288 "HY000";
    /// The feature is disabled.
    ER_FEATURE_DISABLED = 1289 "HY000";
    /// The server runs with an option so that it cannot execute this statement.
    ER_OPTION_PREVENTS_STATEMENT = 1290 "HY000";
    /// Column has duplicated value in ENUM or SET.
    ER_DUPLICATED_VALUE_IN_TYPE = 1291 "HY000";
    /// Truncated incorrect value.
    ER_TRUNCATED_WRONG_VALUE = 1292 "22007";
    /// Invalid ON UPDATE clause.
    ER_INVALID_ON_UPDATE = 1294 "HY000";
    /// Command is not supported in the prepared statement protocol yet.
    ER_UNSUPPORTED_PS = 1295 "HY000";
    /// Modules of the time zone are unknown.
    ER_UNKNOWN_TIME_ZONE = 1298 "HY000";
    /// Invalid character string.
    ER_INVALID_CHARACTER_STRING = 1300 "HY000";
    /// Result was larger than max_allowed_packet; truncated.
    ER_WARN_ALLOWED_PACKET_OVERFLOWED = 1301 "HY000";
    /// FUNCTION or PROCEDURE does not exist.
    ER_SP_DOES_NOT_EXIST = 1305 "42000";
    /// SAVEPOINT does not exist.
    ER_SP_SAVEPOINT_DOES_NOT_EXIST = 1305 "42000";
    /// Query execution was interrupted.
    ER_QUERY_INTERRUPTED = 1317 "70100";
    /// No row for the variables of INTO.
    ER_SP_FETCH_NO_DATA = 1329 "02000";
    /// Incorrect number of arguments.
    ER_SP_WRONG_NO_OF_ARGS = 1318 "42000";
    /// Column of a view is not updatable.
    ER_NONUPDATEABLE_COLUMN = 1348 "HY000";
    /// View's SELECT and field list have different column counts.
    ER_VIEW_WRONG_LIST = 1353 "HY000";
    /// Field doesn't have a default value.
    ER_NO_DEFAULT_FOR_FIELD = 1364 "HY000";
    /// Division by 0.
    ER_DIVISION_BY_ZERO = 1365 "22012";
    /// Incorrect value for column.
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366 "HY000";
    /// Illegal value found during parsing.
    ER_ILLEGAL_VALUE_FOR_TYPE = 1367 "22007";
    /// CHECK OPTION failed.
    ER_VIEW_CHECK_FAILED = 1369 "HY000";
    /// Command denied on a routine.
    ER_PROCACCESS_DENIED_ERROR = 1370 "42000";
    /// Unknown XA transaction.
    ER_XAER_NOTA = 1397 "XAE04";
    /// Cannot grant with a nonexisting user.
    ER_CANT_CREATE_USER_WITH_GRANT = 1410 "42000";
    /// Data too long for column.
    ER_DATA_TOO_LONG = 1406 "22001";
    /// Incorrect datetime or time function argument.
    ER_WRONG_VALUE_FOR_TYPE = 1411 "HY000";
    /// Scale too big.
    ER_TOO_BIG_SCALE = 1425 "42000";
    /// Precision too big.
    ER_TOO_BIG_PRECISION = 1426 "42000";
    /// M must be >= D.
    ER_M_BIGGER_THAN_D = 1427 "42000";
    /// Display width out of range.
    ER_TOO_BIG_DISPLAYWIDTH = 1439 "42000";
    /// Datetime function: field overflow.
    ER_DATETIME_FUNCTION_OVERFLOW = 1441 "22008";
    /// The statement cannot change the table that it was called from.
    ER_CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG = 1442 "HY000";
    /// Cannot delete or update a parent row.
    ER_ROW_IS_REFERENCED_2 = 1451 "23000";
    /// Cannot add or update a child row.
    ER_NO_REFERENCED_ROW_2 = 1452 "23000";
    /// Prepared statement contains too many placeholders.
    ER_PS_MANY_PARAM = 1390 "HY000";
    /// Max prepared statements reached.
    ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461 "42000";
    /// Column is not in the GROUP BY.
    ER_NON_GROUPING_FIELD_USED = 1463 "42000";
    /// Conflicting declarations.
    ER_CONFLICTING_DECLARATIONS = 1302 "HY000";
    /// Incorrect parameter count in a native function call.
    ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582 "42000";
    /// Duplicate entry with its key name.
    ER_DUP_ENTRY_WITH_KEY_NAME = 1586 "23000";
    /// Statement violates row-based logging.
    ER_BINLOG_UNSAFE_STATEMENT = 1592 "HY000";
    /// Out of sort memory.
    ER_OUT_OF_SORTMEMORY = 1038 "HY001";
    /// DECIMAL, BIGINT or DOUBLE value is out of range.
    ER_DATA_OUT_OF_RANGE = 1690 "22003";
    /// The client was disconnected by the server because of inactivity.
    ER_CLIENT_INTERACTION_TIMEOUT = 4031 "HY000";
    /// The definition of a table is younger than the snapshot.
    ER_TABLE_DEF_CHANGED = 1412 "HY000";
    /// ALGORITHM of ALTER TABLE names none.
    ER_UNKNOWN_ALTER_ALGORITHM = 1800 "HY000";
    /// LOCK of ALTER TABLE names none.
    ER_UNKNOWN_ALTER_LOCK = 1801 "HY000";
    /// Invalid parse tree or unsupported option for ALTER.
    ER_ALTER_OPERATION_NOT_SUPPORTED = 1845 "0A000";
    /// Unsupported ALTER with the reason.
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON = 1846 "0A000";
    /// Duplicate index.
    ER_DUP_INDEX = 1831 "HY000";
    /// Cannot execute the statement in a READ ONLY transaction.
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792 "25006";
    /// The table is full.
    ER_RECORD_FILE_FULL = 1114 "HY000";
    /// Default specified for a generated column.
    ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN = 3105 "HY000";
    /// Generated columns are unsupported for this action.
    ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN = 3106 "HY000";
    /// Invalid JSON text.
    ER_INVALID_JSON_TEXT = 3140 "22032";
    /// Invalid JSON text in a function's argument.
    ER_INVALID_JSON_TEXT_IN_PARAM = 3141 "22032";
    /// Invalid JSON path expression.
    ER_INVALID_JSON_PATH = 3143 "42000";
    /// Cannot create a JSON value from a string of this character set.
    ER_INVALID_JSON_CHARSET = 3144 "22032";
    /// A JSON argument of a wrong type.
    ER_INVALID_TYPE_FOR_JSON = 3146 "22032";
    /// A path with wildcards where one place is meant.
    ER_INVALID_JSON_PATH_WILDCARD = 3149 "42000";
    /// A JSON value is too big.
    ER_JSON_VALUE_TOO_BIG = 3150 "22032";
    /// A key of a JSON object is too long.
    ER_JSON_KEY_TOO_BIG = 3151 "22032";
    /// A JSON column in an index.
    ER_JSON_USED_AS_KEY = 3152 "42000";
    /// The path `$` is not allowed here.
    ER_JSON_VACUOUS_PATH = 3153 "42000";
    /// Neither 'one' nor 'all'.
    ER_JSON_BAD_ONE_OR_ALL_ARG = 3154 "42000";
    /// A JSON number out of the range of a CAST.
    ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE = 3155 "22003";
    /// A JSON value that cannot be CAST.
    ER_INVALID_JSON_VALUE_FOR_CAST = 3156 "22018";
    /// A JSON document is nested too deep.
    ER_JSON_DOCUMENT_TOO_DEEP = 3157 "22032";
    /// NULL as a key of a JSON object.
    ER_JSON_DOCUMENT_NULL_KEY = 3158 "22032";
    /// A path that does not end in an array's cell.
    ER_INVALID_JSON_PATH_ARRAY_CELL = 3165 "42000";
    /// JSON_VALUE found nothing.
    ER_MISSING_JSON_VALUE = 3966 "22035";
    /// JSON_VALUE found several values.
    ER_MULTIPLE_JSON_VALUES = 3967 "22034";
    /// Statement exceeded max_execution_time.
    ER_QUERY_TIMEOUT = 3024 "HY000";
    /// ORDER BY expression is not in the SELECT list with DISTINCT.
    ER_FIELD_IN_ORDER_NOT_SELECT = 3065 "HY000";
    /// Memory capacity exceeded for a statement.
    ER_CAPACITY_EXCEEDED = 3170 "HY000";
    /// CHECK constraint is violated.
    ER_CHECK_CONSTRAINT_VIOLATED = 3819 "HY000";
    /// A row could not be locked at once (NOWAIT).
    ER_LOCK_NOWAIT = 3572 "HY000";
    /// An optimizer hint names what the query does not have.
    ER_UNRESOLVED_HINT_NAME = 3128 "HY000";
    /// The recursive query ran too often.
    ER_CTE_MAX_RECURSION_DEPTH = 3636 "HY000";
    /// The default expression is not allowed.
    ER_DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED = 3770 "HY000";
    /// Regular expression: illegal argument.
    ER_REGEXP_ILLEGAL_ARGUMENT = 3685 "HY000";
    /// Regular expression: syntax error.
    ER_REGEXP_RULE_SYNTAX = 3688 "HY000";
    /// A malformed packet.
    ER_MALFORMED_PACKET = 1835 "HY000";
    /// The statement has no open cursor.
    ER_STMT_HAS_NO_OPEN_CURSOR = 1421 "HY000";
    /// The account is locked.
    ER_ACCOUNT_HAS_BEEN_LOCKED = 3118 "HY000";
    /// The privileges are not ones of this object.
    ER_ILLEGAL_GRANT_FOR_TABLE = 1144 "42000";
    /// No privilege on the column.
    ER_COLUMNACCESS_DENIED_ERROR = 1143 "42000";
    /// There is no such grant on the table.
    ER_NONEXISTING_TABLE_GRANT = 1147 "42000";
    /// A value is out of its range.
    ER_WRONG_VALUE = 1525 "HY000";
    /// The password has to be changed first.
    ER_MUST_CHANGE_PASSWORD = 1820 "HY000";
    /// The password has expired, and the client cannot change it.
    ER_MUST_CHANGE_PASSWORD_LOGIN = 1862 "HY000";
    /// The account does not exist.
    ER_USER_DOES_NOT_EXIST = 3162 "HY000";
    /// The role or account is unknown.
    ER_UNKNOWN_AUTHID = 3523 "HY000";
    /// The role would be granted to itself.
    ER_ROLE_GRANTED_TO_ITSELF = 3524 "HY000";
    /// The role was not granted.
    ER_ROLE_NOT_GRANTED = 3530 "HY000";
    /// The privilege is not one of this level.
    ER_ILLEGAL_PRIVILEGE_LEVEL = 3619 "HY000";
    /// The role is granted to everybody.
    ER_MANDATORY_ROLE = 3628 "HY000";
    /// The current password is not the one given.
    ER_INCORRECT_CURRENT_PASSWORD = 3891 "HY000";
    /// The current password is asked for of one's own account only.
    ER_CURRENT_PASSWORD_NOT_REQUIRED = 3893 "HY000";
    /// There is no dynamic privilege of this name.
    ER_DYNAMIC_PRIVILEGE_NOT_REGISTERED = 3929 "HY000";
    /// The account is locked for failed logins.
    ER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK = 3955 "HY000";
    /// The attribute of an account is no JSON object.
    ER_INVALID_USER_ATTRIBUTE_JSON = 4068 "HY000";
    /// A connection that is not encrypted, where all must be.
    ER_SECURE_TRANSPORT_REQUIRED = 3159 "HY000";
    /// The client does not compress as the server wants it.
    ER_WRONG_COMPRESSION_ALGORITHM_CLIENT = 3922 "HY000";
    /// LOAD DATA LOCAL is switched off.
    ER_CLIENT_LOCAL_FILES_DISABLED = 3948 "42000";
    /// FIELDS ENCLOSED BY or ESCAPED BY of several characters.
    ER_WRONG_FIELD_TERMINATORS = 1083 "42000";
    /// An operation on accounts failed.
    ER_CANNOT_USER = 1396 "HY000";
    /// Transaction characteristics cannot change inside a transaction.
    ER_CANT_CHANGE_TX_CHARACTERISTICS = 1568 "25001";
    /// The plugin is not loaded.
    ER_PLUGIN_IS_NOT_LOADED = 1524 "HY000";
    /// The password hash has another format.
    ER_PASSWORD_FORMAT = 1827 "HY000";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_names_and_states() {
        assert_eq!((name_of(1062), sqlstate_of(1062)), (Some("ER_DUP_ENTRY"), "23000"));
        assert_eq!((name_of(9), sqlstate_of(9)), (None, "HY000"));
        let error = MysqlError::new(ER_PARSE_ERROR, "near 'x'");
        assert_eq!(error.to_string(), "ERROR 1064 (42000): near 'x'");
        assert!(error.is(ER_PARSE_ERROR) && !error.is(ER_EMPTY_QUERY));
    }
}
