//! What can go wrong with a schema change, and what MySQL's client is told.
//!
//! Most of these are mistakes in the statement: they are found before a job is queued (or, when another job was quicker, by the job's
//! first step) and change nothing. Messages are MySQL 8.0's.

use client::CancelReason;
use types::mysql_error::{self as codes, ErrorCode, MysqlError};

const ER_WRONG_NAME_FOR_INDEX: ErrorCode = ErrorCode { code: 1280, sqlstate: "42000" };
const ER_COLLATION_CHARSET_MISMATCH: ErrorCode = ErrorCode { code: 1253, sqlstate: "42000" };
const ER_INVALID_ON_UPDATE: ErrorCode = ErrorCode { code: 1294, sqlstate: "HY000" };
const ER_TOO_BIG_SCALE: ErrorCode = ErrorCode { code: 1425, sqlstate: "42000" };
const ER_TOO_BIG_PRECISION: ErrorCode = ErrorCode { code: 1426, sqlstate: "42000" };
const ER_M_BIGGER_THAN_D: ErrorCode = ErrorCode { code: 1427, sqlstate: "42000" };
const ER_TOO_BIG_DISPLAYWIDTH: ErrorCode = ErrorCode { code: 1439, sqlstate: "42000" };
const ER_NO_SYSTEM_SCHEMA_ACCESS: ErrorCode = ErrorCode { code: 3552, sqlstate: "HY000" };
const ER_UNKNOWN_STORAGE_ENGINE: ErrorCode = ErrorCode { code: 1286, sqlstate: "42000" };
const ER_WARN_USING_OTHER_HANDLER: ErrorCode = ErrorCode { code: 1266, sqlstate: "HY000" };
const ER_QUERY_INTERRUPTED: ErrorCode = ErrorCode { code: 1317, sqlstate: "70100" };
const ER_WRONG_FK_DEF: ErrorCode = ErrorCode { code: 1239, sqlstate: "42000" };
const ER_DROP_INDEX_FK: ErrorCode = ErrorCode { code: 1553, sqlstate: "HY000" };
const ER_TRUNCATE_ILLEGAL_FK: ErrorCode = ErrorCode { code: 1701, sqlstate: "42000" };
const ER_FK_NO_INDEX_PARENT: ErrorCode = ErrorCode { code: 1822, sqlstate: "HY000" };
const ER_FK_CANNOT_OPEN_PARENT: ErrorCode = ErrorCode { code: 1824, sqlstate: "HY000" };
const ER_FK_DUP_NAME: ErrorCode = ErrorCode { code: 1826, sqlstate: "HY000" };
const ER_FK_COLUMN_CANNOT_DROP: ErrorCode = ErrorCode { code: 1828, sqlstate: "HY000" };
const ER_FK_COLUMN_CANNOT_DROP_CHILD: ErrorCode = ErrorCode { code: 1829, sqlstate: "HY000" };
const ER_FK_COLUMN_NOT_NULL: ErrorCode = ErrorCode { code: 1830, sqlstate: "HY000" };
const ER_FK_COLUMN_CANNOT_CHANGE: ErrorCode = ErrorCode { code: 1832, sqlstate: "HY000" };
const ER_FK_COLUMN_CANNOT_CHANGE_CHILD: ErrorCode = ErrorCode { code: 1833, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode { code: 3102, sqlstate: "HY000" };
const ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN: ErrorCode = ErrorCode { code: 3104, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_NON_PRIOR: ErrorCode = ErrorCode { code: 3107, sqlstate: "HY000" };
const ER_DEPENDENT_BY_GENERATED_COLUMN: ErrorCode = ErrorCode { code: 3108, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_REF_AUTO_INC: ErrorCode = ErrorCode { code: 3109, sqlstate: "HY000" };
const ER_FK_CANNOT_DROP_PARENT: ErrorCode = ErrorCode { code: 3730, sqlstate: "HY000" };
const ER_FK_CANNOT_USE_VIRTUAL_COLUMN: ErrorCode = ErrorCode { code: 3733, sqlstate: "HY000" };
const ER_FK_NO_COLUMN_PARENT: ErrorCode = ErrorCode { code: 3734, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode { code: 3763, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_ROW_VALUE: ErrorCode = ErrorCode { code: 3764, sqlstate: "HY000" };
const ER_GENERATED_COLUMN_VARIABLES: ErrorCode = ErrorCode { code: 3765, sqlstate: "HY000" };
const ER_FK_INCOMPATIBLE_COLUMNS: ErrorCode = ErrorCode { code: 3780, sqlstate: "HY000" };
const ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT: ErrorCode = ErrorCode { code: 3812, sqlstate: "HY000" };
const ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN: ErrorCode = ErrorCode { code: 3813, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode { code: 3814, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED: ErrorCode = ErrorCode { code: 3815, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_VARIABLES: ErrorCode = ErrorCode { code: 3816, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_ROW_VALUE: ErrorCode = ErrorCode { code: 3817, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN: ErrorCode = ErrorCode { code: 3818, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN: ErrorCode = ErrorCode { code: 3820, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_NOT_FOUND: ErrorCode = ErrorCode { code: 3821, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_DUP_NAME: ErrorCode = ErrorCode { code: 3822, sqlstate: "HY000" };
const ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN: ErrorCode = ErrorCode { code: 3823, sqlstate: "HY000" };
const ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME: ErrorCode = ErrorCode { code: 3939, sqlstate: "HY000" };
const ER_CONSTRAINT_NOT_FOUND: ErrorCode = ErrorCode { code: 3940, sqlstate: "HY000" };
const ER_ALTER_CONSTRAINT_ENFORCEMENT_NOT_SUPPORTED: ErrorCode = ErrorCode { code: 3941, sqlstate: "HY000" };
const ER_DEPENDENT_BY_CHECK_CONSTRAINT: ErrorCode = ErrorCode { code: 3959, sqlstate: "HY000" };

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident $({ $($(#[$field_doc:meta])* $field:ident: $ty:ty),* $(,)? })? => $code:expr, $message:literal;)*) => {
        /// An error of a schema change.
        #[derive(Debug, thiserror::Error)]
        pub enum Error {
            $($(#[$doc])* #[error($message)] $name $({ $($(#[$field_doc])* $field: $ty),* })?,)*
            /// Another layer's error, as its client sees it; kept in a job's record.
            #[error("{}", .0.message)]
            Mysql(MysqlError),
            /// The catalog failed.
            #[error(transparent)]
            Catalog(#[from] catalog::Error),
            /// A value was not accepted.
            #[error(transparent)]
            Types(#[from] types::Error),
            /// The transaction client failed.
            #[error(transparent)]
            Client(#[from] client::Error),
            /// An index entry could not be built or read.
            #[error(transparent)]
            Index(#[from] copr::Error),
        }

        impl Error {
            fn code(&self) -> Option<ErrorCode> {
                match self {
                    $(Self::$name { .. } => Some($code),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    /// CREATE DATABASE of one that exists.
    DatabaseExists { /// Its name.
        name: String } => codes::ER_DB_CREATE_EXISTS, "Can't create database '{name}'; database exists";
    /// DROP DATABASE of one that does not exist.
    NoDatabaseToDrop { /// Its name.
        name: String } => codes::ER_DB_DROP_EXISTS, "Can't drop database '{name}'; database doesn't exist";
    /// A database is not there.
    UnknownDatabase { /// Its name.
        name: String } => codes::ER_BAD_DB_ERROR, "Unknown database '{name}'";
    /// A table was named without database, and the session has none.
    NoDatabaseSelected => codes::ER_NO_DB_ERROR, "No database selected";
    /// A table of that name exists.
    TableExists { /// Its name.
        name: String } => codes::ER_TABLE_EXISTS_ERROR, "Table '{name}' already exists";
    /// DROP TABLE of tables that do not exist.
    UnknownTable { /// `database.table`, separated by commas.
        names: String } => codes::ER_BAD_TABLE_ERROR, "Unknown table '{names}'";
    /// A table is not there.
    NoSuchTable { /// The database.
        database: String, /// The table.
        table: String } => codes::ER_NO_SUCH_TABLE, "Table '{database}.{table}' doesn't exist";
    /// A member of ENUM or SET stands twice.
    DuplicatedMember { /// The column.
        column: String, /// The member.
        value: String, /// `ENUM` or `SET`.
        kind: &'static str } => codes::ER_DUPLICATED_VALUE_IN_TYPE, "Column '{column}' has duplicated value '{value}' in {kind}";
    /// More than 64 members of a SET.
    TooBigSet { /// The column.
        column: String } => codes::ER_TOO_BIG_SET, "Too many strings for column {column} and SET";
    /// More than 65535 members of an ENUM.
    TooBigEnum { /// The column.
        column: String } => codes::ER_TOO_BIG_ENUM, "Too many enumeration values for column {column}.";
    /// A member of a SET with a comma.
    IllegalValueForType { /// `set`.
        kind: &'static str, /// The member.
        value: String } => codes::ER_ILLEGAL_VALUE_FOR_TYPE, "Illegal {kind} '{value}' value found during parsing";
    /// A JSON column in an index.
    JsonUsedAsKey { /// The column.
        column: String } => codes::ER_JSON_USED_AS_KEY, "JSON column '{column}' supports indexing only via generated columns on a specified JSON path.";
    /// An identifier has more than 64 characters.
    TooLongIdent { /// It.
        name: String } => codes::ER_TOO_LONG_IDENT, "Identifier name '{name}' is too long";
    /// Two columns of one name.
    DuplicateColumn { /// The name.
        name: String } => codes::ER_DUP_FIELDNAME, "Duplicate column name '{name}'";
    /// Two indexes of one name.
    DuplicateKeyName { /// The name.
        name: String } => codes::ER_DUP_KEYNAME, "Duplicate key name '{name}'";
    /// Rows collide in a unique index that is being built.
    DuplicateEntry { /// The values, separated by `-`.
        entry: String, /// `table.index`.
        key: String } => codes::ER_DUP_ENTRY, "Duplicate entry '{entry}' for key '{key}'";
    /// Attributes that do not fit the column's type.
    WrongColumnSpecifier { /// The column.
        column: String } => codes::ER_WRONG_FIELD_SPEC, "Incorrect column specifier for column '{column}'";
    /// A DEFAULT that is no value of the type.
    InvalidDefault { /// The column.
        column: String } => codes::ER_INVALID_DEFAULT, "Invalid default value for '{column}'";
    /// ON UPDATE of a column that is no time, or with another precision.
    InvalidOnUpdate { /// The column.
        column: String } => ER_INVALID_ON_UPDATE, "Invalid ON UPDATE clause for '{column}' column";
    /// Two primary keys.
    MultiplePrimaryKey => codes::ER_MULTIPLE_PRI_KEY, "Multiple primary key defined";
    /// Too many indexes.
    TooManyKeys { /// The limit.
        max: usize } => codes::ER_TOO_MANY_KEYS, "Too many keys specified; max {max} keys allowed";
    /// Too many parts in an index.
    TooManyKeyParts { /// The limit.
        max: usize } => codes::ER_TOO_MANY_KEY_PARTS, "Too many key parts specified; max {max} parts allowed";
    /// An index key could become too long.
    KeyTooLong { /// The limit in bytes.
        max: u32 } => codes::ER_TOO_LONG_KEY, "Specified key was too long; max key length is {max} bytes";
    /// An index names a column that is not there.
    KeyColumnMissing { /// The column.
        column: String } => codes::ER_KEY_COLUMN_DOES_NOT_EXITS, "Key column '{column}' doesn't exist in table";
    /// A CHAR or VARCHAR is longer than a row can be.
    ColumnTooLong { /// The column.
        column: String, /// The limit.
        max: u32 } => codes::ER_TOO_BIG_FIELDLENGTH, "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
    /// All columns together are longer than a row can be.
    RowTooBig => codes::ER_TOO_BIG_ROWSIZE, "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    /// AUTO_INCREMENT without key, or twice.
    WrongAutoKey => codes::ER_WRONG_AUTO_KEY, "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    /// A prefix of something that has none, or longer than the column.
    WrongSubKey => codes::ER_WRONG_SUB_KEY, "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    /// ALTER TABLE would leave no column.
    CantRemoveAllColumns => codes::ER_CANT_REMOVE_ALL_FIELDS, "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    /// DROP of a column or index that is not there.
    CantDropColumnOrKey { /// The name.
        name: String } => codes::ER_CANT_DROP_FIELD_OR_KEY, "Can't DROP '{name}'; check that column/key exists";
    /// A literal default of a BLOB or TEXT.
    BlobCantHaveDefault { /// The column.
        column: String } => codes::ER_BLOB_CANT_HAVE_DEFAULT, "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
    /// A database name that cannot be one.
    WrongDatabaseName { /// The name.
        name: String } => codes::ER_WRONG_DB_NAME, "Incorrect database name '{name}'";
    /// A table name that cannot be one.
    WrongTableName { /// The name.
        name: String } => codes::ER_WRONG_TABLE_NAME, "Incorrect table name '{name}'";
    /// A column name that cannot be one.
    WrongColumnName { /// The name.
        name: String } => codes::ER_WRONG_COLUMN_NAME, "Incorrect column name '{name}'";
    /// An index name that cannot be one.
    WrongIndexName { /// The name.
        name: String } => ER_WRONG_NAME_FOR_INDEX, "Incorrect index name '{name}'";
    /// A whole BLOB or TEXT in an index.
    BlobKeyWithoutLength { /// The column.
        column: String } => codes::ER_BLOB_KEY_WITHOUT_LENGTH, "BLOB/TEXT column '{column}' used in key specification without a key length";
    /// NULL in a primary key.
    PrimaryCantHaveNull => codes::ER_PRIMARY_CANT_HAVE_NULL, "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    /// A table without columns.
    TableMustHaveColumns => codes::ER_TABLE_MUST_HAVE_COLUMNS, "A table must have at least 1 column";
    /// More columns than a table can have.
    TooManyColumns => codes::ER_TOO_MANY_FIELDS, "Too many columns";
    /// A column is not there.
    UnknownColumn { /// The column.
        column: String, /// Where it was named.
        place: String } => codes::ER_BAD_FIELD_ERROR, "Unknown column '{column}' in '{place}'";
    /// An index is not there.
    KeyDoesNotExist { /// The index.
        key: String, /// The table.
        table: String } => codes::ER_KEY_DOES_NOT_EXITS, "Key '{key}' doesn't exist in table '{table}'";
    /// A collation of another character set.
    CollationMismatch { /// The collation.
        collation: String, /// The character set.
        charset: String } => ER_COLLATION_CHARSET_MISMATCH, "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    /// Too many digits.
    TooBigPrecision { /// The digits.
        given: u64, /// The column.
        column: String, /// The limit.
        max: u64 } => ER_TOO_BIG_PRECISION, "Too-big precision {given} specified for '{column}'. Maximum is {max}.";
    /// Too many fraction digits.
    TooBigScale { /// The digits.
        given: u64, /// The column.
        column: String, /// The limit.
        max: u64 } => ER_TOO_BIG_SCALE, "Too big scale {given} specified for column '{column}'. Maximum is {max}.";
    /// More fraction digits than digits.
    ScaleAbovePrecision { /// The column.
        column: String } => ER_M_BIGGER_THAN_D, "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
    /// Too great a display width.
    TooBigDisplayWidth { /// The column.
        column: String, /// The limit.
        max: u64 } => ER_TOO_BIG_DISPLAYWIDTH, "Display width out of range for column '{column}' (max = {max})";
    /// ENGINE names none of MySQL's engines.
    UnknownEngine { /// The name.
        name: String } => ER_UNKNOWN_STORAGE_ENGINE, "Unknown storage engine '{name}'";
    /// A warning: ENGINE names an engine of MySQL that is not here.
    OtherEngine { /// The table.
        table: String } => ER_WARN_USING_OTHER_HANDLER, "Using storage engine InnoDB for table '{table}'";
    /// A change of a virtual database.
    ReadOnlyDatabase { /// The database.
        name: String } => codes::ER_DBACCESS_DENIED_ERROR, "Access denied to database '{name}'";
    /// A change of a system database.
    SystemDatabase { /// The database.
        name: String } => ER_NO_SYSTEM_SCHEMA_ACCESS, "Access to system schema '{name}' is rejected.";
    /// Two clauses that do not go together.
    WrongUsage { /// One.
        first: &'static str, /// The other.
        second: &'static str } => codes::ER_WRONG_USAGE, "Incorrect usage of {first} and {second}";
    /// The condition of a CHECK constraint is no condition.
    CheckNotBoolean { /// The constraint.
        name: String } => ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT, "An expression of non-boolean type specified to a check constraint '{name}'.";
    /// A CHECK among the attributes of a column is about another one.
    CheckOtherColumn { /// The constraint.
        name: String } => ER_COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN, "Column check constraint '{name}' references other column.";
    /// A CHECK constraint calls what it may not.
    CheckFunction { /// The constraint.
        name: String, /// The function.
        function: String } => ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED, "An expression of a check constraint '{name}' contains disallowed function: {function}.";
    /// A CHECK constraint holds a subquery or the like.
    CheckConstruct { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED, "An expression of a check constraint '{name}' contains disallowed function.";
    /// A CHECK constraint names a variable.
    CheckVariable { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_VARIABLES, "An expression of a check constraint '{name}' cannot refer to a user or system variable.";
    /// A CHECK constraint holds a row of values.
    CheckRowValue { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_ROW_VALUE, "Check constraint '{name}' cannot refer to a row value.";
    /// A CHECK constraint is about the AUTO_INCREMENT column.
    CheckAutoIncrement { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN, "Check constraint '{name}' cannot refer to an auto-increment column.";
    /// A CHECK constraint names a column that is not there.
    CheckUnknownColumn { /// The constraint.
        name: String, /// The column.
        column: String } => ER_CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN, "Check constraint '{name}' refers to non-existing column '{column}'.";
    /// A row that is there already violates a new CHECK constraint.
    CheckViolated { /// The constraint.
        name: String } => codes::ER_CHECK_CONSTRAINT_VIOLATED, "Check constraint '{name}' is violated.";
    /// A CHECK constraint is not there.
    CheckNotFound { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_NOT_FOUND, "Check constraint '{name}' is not found in the table.";
    /// Two CHECK constraints of one name in a database.
    DuplicateCheckName { /// The constraint.
        name: String } => ER_CHECK_CONSTRAINT_DUP_NAME, "Duplicate check constraint name '{name}'.";
    /// A CHECK constraint is about a column that a foreign key changes.
    CheckOverKeyAction { /// The column.
        column: String, /// The constraint.
        name: String, /// The foreign key.
        key: String } => ER_CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN, "Column '{column}' cannot be used in a check constraint '{name}': needed in a foreign key constraint '{key}' referential action.";
    /// A column that a CHECK constraint needs is dropped or renamed.
    CheckNeedsColumn { /// The constraint.
        name: String, /// The column.
        column: String } => ER_DEPENDENT_BY_CHECK_CONSTRAINT, "Check constraint '{name}' uses column '{column}', hence column cannot be dropped or renamed.";
    /// DROP CONSTRAINT of a name that several constraints have.
    AmbiguousConstraint { /// The constraint.
        name: String } => ER_MULTIPLE_CONSTRAINTS_WITH_SAME_NAME, "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause.";
    /// A constraint is not there.
    ConstraintNotFound { /// The constraint.
        name: String } => ER_CONSTRAINT_NOT_FOUND, "Constraint '{name}' does not exist.";
    /// Only CHECK constraints may be not enforced.
    EnforcementNotSupported { /// The constraint.
        name: String } => ER_ALTER_CONSTRAINT_ENFORCEMENT_NOT_SUPPORTED, "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints.";
    /// A generated column holds a subquery or the like.
    GeneratedConstruct { /// The column.
        column: String } => ER_GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED, "Expression of generated column '{column}' contains a disallowed function.";
    /// A generated column calls what it may not.
    GeneratedFunction { /// The column.
        column: String, /// The function.
        function: String } => ER_GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED, "Expression of generated column '{column}' contains a disallowed function: {function}.";
    /// A generated column holds a row of values.
    GeneratedRowValue { /// The column.
        column: String } => ER_GENERATED_COLUMN_ROW_VALUE, "Expression of generated column '{column}' cannot refer to a row value.";
    /// A generated column names a variable.
    GeneratedVariable { /// The column.
        column: String } => ER_GENERATED_COLUMN_VARIABLES, "Expression of generated column '{column}' cannot refer to user or system variables.";
    /// Something that generated columns cannot have.
    GeneratedUnsupported { /// What.
        action: &'static str } => codes::ER_UNSUPPORTED_ACTION_ON_GENERATED_COLUMN, "'{action}' is not supported for generated columns.";
    /// A generated column is computed from one behind it.
    GeneratedNonPrior => ER_GENERATED_COLUMN_NON_PRIOR, "Generated column can refer only to generated columns defined prior to it.";
    /// A column that a generated one is computed from is dropped or renamed.
    GeneratedNeedsColumn { /// The column.
        column: String } => ER_DEPENDENT_BY_GENERATED_COLUMN, "Column '{column}' has a generated column dependency.";
    /// A generated column is computed from the AUTO_INCREMENT column.
    GeneratedAutoIncrement { /// The column.
        column: String } => ER_GENERATED_COLUMN_REF_AUTO_INC, "Generated column '{column}' cannot refer to auto-increment column.";
    /// A new generated NOT NULL column has no value for some row.
    GeneratedNull { /// The column.
        column: String } => codes::ER_BAD_NULL_ERROR, "Column '{column}' cannot be null";
    /// A foreign key that cannot be.
    CannotAddForeignKey => codes::ER_CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint";
    /// A foreign key with more columns on one side.
    WrongForeignKey { /// The foreign key.
        key: String } => ER_WRONG_FK_DEF, "Incorrect foreign key definition for '{key}': Key reference and table reference don't match";
    /// Two foreign keys of one name in a database.
    DuplicateForeignKeyName { /// The foreign key.
        key: String } => ER_FK_DUP_NAME, "Duplicate foreign key constraint name '{key}'";
    /// The table a foreign key refers to is not there.
    NoParentTable { /// The table.
        table: String } => ER_FK_CANNOT_OPEN_PARENT, "Failed to open the referenced table '{table}'";
    /// The columns a foreign key refers to have no index.
    NoParentIndex { /// The foreign key.
        key: String, /// The table.
        table: String } => ER_FK_NO_INDEX_PARENT, "Failed to add the foreign key constraint. Missing index for constraint '{key}' in the referenced table '{table}'";
    /// A foreign key refers to a column that is not there.
    NoParentColumn { /// The column.
        column: String, /// The foreign key.
        key: String, /// The table.
        table: String } => ER_FK_NO_COLUMN_PARENT, "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{key}' in the referenced table '{table}'";
    /// Columns of a foreign key have different types.
    IncompatibleKeyColumns { /// The referring column.
        child: String, /// The column referred to.
        parent: String, /// The foreign key.
        key: String } => ER_FK_INCOMPATIBLE_COLUMNS, "Referencing column '{child}' and referenced column '{parent}' in foreign key constraint '{key}' are incompatible.";
    /// SET NULL of a NOT NULL column.
    ForeignKeyNotNull { /// The column.
        column: String, /// The foreign key.
        key: String } => ER_FK_COLUMN_NOT_NULL, "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{key}' SET NULL";
    /// A foreign key of a virtual column.
    ForeignKeyVirtual { /// The foreign key.
        key: String, /// The column.
        column: String } => ER_FK_CANNOT_USE_VIRTUAL_COLUMN, "Foreign key '{key}' uses virtual column '{column}' which is not supported.";
    /// A foreign key would change a generated column.
    ForeignKeyGenerated { /// The clause.
        clause: &'static str } => ER_WRONG_FK_OPTION_FOR_GENERATED_COLUMN, "Cannot define foreign key with {clause} clause on a generated column.";
    /// A row that is there already refers to none.
    NoReferencedRow { /// The foreign key.
        key: String } => codes::ER_NO_REFERENCED_ROW_2, "Cannot add or update a child row: a foreign key constraint fails ({key})";
    /// A column of a foreign key is dropped.
    ForeignKeyNeedsColumn { /// The column.
        column: String, /// The foreign key.
        key: String } => ER_FK_COLUMN_CANNOT_DROP, "Cannot drop column '{column}': needed in a foreign key constraint '{key}'";
    /// A column that a foreign key refers to is dropped.
    ForeignKeyNeedsParentColumn { /// The column.
        column: String, /// The foreign key.
        key: String, /// The table.
        table: String } => ER_FK_COLUMN_CANNOT_DROP_CHILD, "Cannot drop column '{column}': needed in a foreign key constraint '{key}' of table '{table}'";
    /// A column of a foreign key gets another type.
    ForeignKeyColumnChange { /// The column.
        column: String, /// The foreign key.
        key: String } => ER_FK_COLUMN_CANNOT_CHANGE, "Cannot change column '{column}': used in a foreign key constraint '{key}'";
    /// A column that a foreign key refers to gets another type.
    ForeignKeyParentColumnChange { /// The column.
        column: String, /// The foreign key.
        key: String, /// The table.
        table: String } => ER_FK_COLUMN_CANNOT_CHANGE_CHILD, "Cannot change column '{column}': used in a foreign key constraint '{key}' of table '{table}'";
    /// An index that a foreign key needs is dropped.
    ForeignKeyNeedsIndex { /// The index.
        index: String } => ER_DROP_INDEX_FK, "Cannot drop index '{index}': needed in a foreign key constraint";
    /// A table that another one refers to is dropped.
    ForeignKeyNeedsTable { /// The table.
        table: String, /// The foreign key.
        key: String, /// The table that refers.
        child: String } => ER_FK_CANNOT_DROP_PARENT, "Cannot drop table '{table}' referenced by a foreign key constraint '{key}' on table '{child}'.";
    /// A table that another one refers to is emptied.
    ForeignKeyNeedsRows { /// The key.
        key: String } => ER_TRUNCATE_ILLEGAL_FK, "Cannot truncate a table referenced in a foreign key constraint ({key})";
    /// Parsed, but not supported yet.
    NotSupported { /// What.
        feature: String } => codes::ER_NOT_SUPPORTED_YET, "This version of MySQL doesn't yet support '{feature}'";
    /// The job was cancelled, by KILL or ADMIN CANCEL DDL JOBS.
    Cancelled => ER_QUERY_INTERRUPTED, "Query execution was interrupted";
    /// The owner is stopping; the job goes on with the next one.
    Stopping => codes::ER_SERVER_SHUTDOWN, "Server shutdown in progress";
    /// Another server runs the queue of schema changes.
    NotOwner => codes::ER_UNKNOWN_ERROR, "another server has taken the queue of schema changes over";
    /// A job's record contradicts the schema.
    BrokenJob { /// The job.
        job: i64, /// What contradicts it.
        problem: &'static str } => codes::ER_UNKNOWN_ERROR, "DDL job {job} cannot go on: {problem}";
}

/// The result of a schema change.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether doing the same again in a new transaction may succeed.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Catalog(error) => error.is_retryable(),
            Self::Client(error) => error.is_retryable(),
            _ => false,
        }
    }

    /// Whether the server is stopping or its store has failed, so that the job must be left as it is for the next owner.
    pub fn stops_the_owner(&self) -> bool {
        let error = match self {
            Self::Stopping | Self::NotOwner => return true,
            Self::Client(error) | Self::Catalog(catalog::Error::Client(error)) => error,
            _ => return false,
        };
        matches!(error, client::Error::StoreFailed { .. } | client::Error::Cancelled(CancelReason::Shutdown))
    }

    /// The error as a client sees it.
    pub fn to_mysql(&self) -> MysqlError {
        match (self.code(), self) {
            (Some(code), _) => MysqlError::new(code, self.to_string()),
            (_, Self::Mysql(error)) => error.clone(),
            (_, Self::Catalog(error)) => error.to_mysql(),
            (_, Self::Types(error)) => error.to_mysql(),
            (_, Self::Client(error)) => error.to_mysql(),
            (_, Self::Index(error)) => error.to_mysql(),
            _ => MysqlError::new(codes::ER_UNKNOWN_ERROR, self.to_string()),
        }
    }

    /// The error 1235 that names a feature.
    pub fn not_supported(feature: impl Into<String>) -> Self {
        Self::NotSupported { feature: feature.into() }
    }
}
