//! The stored tables of the `mysql` database: accounts and privileges (MySQL 8.0 manual, 8.2.3 "Grant Tables"), and `global_variables`, the
//! values that SET PERSIST keeps.
//!
//! Columns and their defaults are MySQL's, so that statements of administration tools that read or write these tables work. ENUM('N','Y')
//! columns are kept as CHAR(1), SET columns as VARCHAR with comma-separated words. Names are compared by bytes, as MySQL compares
//! user names; host names are stored in lower case by whoever writes them.

use base::{DatabaseId, TableId};
use types::{Datum, FieldType, TypeKind};

use crate::{
    infoschema_tables::definition::{Type, Type::*, push_columns, text},
    model::{ColumnDefault, ColumnInfo, IndexColumn, IndexInfo, PrimaryKey, SchemaState, TableInfo},
};

/// A system table before it has ids.
pub(crate) struct SystemTable {
    /// Its name.
    pub name: &'static str,
    /// Its columns in groups, in order.
    columns: &'static [Columns],
    /// The bootstrap version that brought it.
    pub since: u32,
    /// How many leading columns make the primary key.
    key_parts: usize,
}

enum Columns {
    /// Columns with their types, without defaults.
    Plain(&'static [(&'static str, Type)]),
    /// Privileges: CHAR(1) NOT NULL DEFAULT 'N'.
    Flags(&'static [&'static str]),
    /// Columns with a text default.
    Default(&'static [(&'static str, Type, &'static str)]),
    /// INT UNSIGNED NOT NULL DEFAULT 0.
    Limits(&'static [&'static str]),
    /// BLOB NOT NULL.
    Blobs(&'static [&'static str]),
}

/// The privileges of one database that `mysql.db` knows, in its order.
const DATABASE_FLAGS: &[&str] = &[
    "Select_priv",
    "Insert_priv",
    "Update_priv",
    "Delete_priv",
    "Create_priv",
    "Drop_priv",
    "Grant_priv",
    "References_priv",
    "Index_priv",
    "Alter_priv",
    "Create_tmp_table_priv",
    "Lock_tables_priv",
    "Create_view_priv",
    "Show_view_priv",
    "Create_routine_priv",
    "Alter_routine_priv",
    "Execute_priv",
    "Event_priv",
    "Trigger_priv",
];

/// The global privileges of `mysql.user`, in its order, up to the ones that were added later.
const USER_FLAGS: &[&str] = &[
    "Select_priv",
    "Insert_priv",
    "Update_priv",
    "Delete_priv",
    "Create_priv",
    "Drop_priv",
    "Reload_priv",
    "Shutdown_priv",
    "Process_priv",
    "File_priv",
    "Grant_priv",
    "References_priv",
    "Index_priv",
    "Alter_priv",
    "Show_db_priv",
    "Super_priv",
    "Create_tmp_table_priv",
    "Lock_tables_priv",
    "Execute_priv",
    "Repl_slave_priv",
    "Repl_client_priv",
    "Create_view_priv",
    "Show_view_priv",
    "Create_routine_priv",
    "Alter_routine_priv",
    "Create_user_priv",
    "Event_priv",
    "Trigger_priv",
    "Create_tablespace_priv",
];

/// Names of dynamic privileges, as MySQL 8.0 has them without plugins; in alphabetical order.
pub const DYNAMIC_PRIVILEGES: [&str; 36] = [
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_USER_ID",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "XA_RECOVER_ADMIN",
];

/// All tables, in the order they are created.
pub(crate) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "user",
        columns: &[
            Columns::Default(&[("Host", Char(255), ""), ("User", Char(32), "")]),
            Columns::Flags(USER_FLAGS),
            Columns::Default(&[("ssl_type", Name(9), "")]),
            Columns::Blobs(&["ssl_cipher", "x509_issuer", "x509_subject"]),
            Columns::Limits(&["max_questions", "max_updates", "max_connections", "max_user_connections"]),
            Columns::Default(&[("plugin", Char(64), "caching_sha2_password")]),
            Columns::Plain(&[("authentication_string", Nullable(&LongText))]),
            Columns::Flags(&["password_expired"]),
            Columns::Plain(&[("password_last_changed", Nullable(&Timestamp)), ("password_lifetime", Nullable(&Int))]),
            Columns::Flags(&["account_locked", "Create_role_priv", "Drop_role_priv"]),
            Columns::Plain(&[
                ("Password_reuse_history", Nullable(&Int)),
                ("Password_reuse_time", Nullable(&Int)),
                ("Password_require_current", Nullable(&Char(1))),
                ("User_attributes", Nullable(&LongText)),
            ]),
        ],
        since: 1,
        key_parts: 2,
    },
    SystemTable {
        name: "db",
        columns: &[
            Columns::Default(&[("Host", Char(255), ""), ("Db", Char(64), ""), ("User", Char(32), "")]),
            Columns::Flags(DATABASE_FLAGS),
        ],
        since: 1,
        key_parts: 3,
    },
    SystemTable {
        name: "tables_priv",
        columns: &[
            Columns::Default(&[
                ("Host", Char(255), ""),
                ("Db", Char(64), ""),
                ("User", Char(32), ""),
                ("Table_name", Char(64), ""),
                ("Grantor", Text(288), ""),
            ]),
            Columns::Plain(&[("Timestamp", Nullable(&Timestamp))]),
            Columns::Default(&[("Table_priv", Name(255), ""), ("Column_priv", Name(255), "")]),
        ],
        since: 1,
        key_parts: 4,
    },
    SystemTable {
        name: "columns_priv",
        columns: &[
            Columns::Default(&[
                ("Host", Char(255), ""),
                ("Db", Char(64), ""),
                ("User", Char(32), ""),
                ("Table_name", Char(64), ""),
                ("Column_name", Char(64), ""),
            ]),
            Columns::Plain(&[("Timestamp", Nullable(&Timestamp))]),
            Columns::Default(&[("Column_priv", Name(255), "")]),
        ],
        since: 1,
        key_parts: 5,
    },
    SystemTable {
        name: "global_grants",
        columns: &[
            Columns::Default(&[("USER", Char(32), ""), ("HOST", Char(255), ""), ("PRIV", Char(32), "")]),
            Columns::Flags(&["WITH_GRANT_OPTION"]),
        ],
        since: 1,
        key_parts: 3,
    },
    SystemTable {
        name: "role_edges",
        columns: &[
            Columns::Default(&[
                ("FROM_HOST", Char(255), ""),
                ("FROM_USER", Char(32), ""),
                ("TO_HOST", Char(255), ""),
                ("TO_USER", Char(32), ""),
            ]),
            Columns::Flags(&["WITH_ADMIN_OPTION"]),
        ],
        since: 1,
        key_parts: 4,
    },
    SystemTable {
        name: "default_roles",
        columns: &[Columns::Default(&[
            ("HOST", Char(255), ""),
            ("USER", Char(32), ""),
            ("DEFAULT_ROLE_HOST", Char(255), "%"),
            ("DEFAULT_ROLE_USER", Char(32), ""),
        ])],
        since: 1,
        key_parts: 4,
    },
    SystemTable {
        name: "global_variables",
        columns: &[Columns::Default(&[("Variable_name", Char(64), "")]), Columns::Plain(&[("Variable_value", Nullable(&LongText))])],
        since: 2,
        key_parts: 1,
    },
];

impl SystemTable {
    /// The table's definition.
    pub(crate) fn build(&self, id: TableId, database: DatabaseId, now_ms: u64) -> TableInfo {
        let mut table = TableInfo::new(id, database, "mysql", self.name);
        table.created_ms = now_ms;
        for group in self.columns {
            match group {
                Columns::Plain(columns) => push_columns(&mut table, columns),
                Columns::Flags(names) => {
                    names.iter().for_each(|name| push(&mut table, name, Char(1).field_type(), ColumnDefault::Value(text("N"))));
                }
                Columns::Default(columns) => {
                    columns.iter().for_each(|(name, ty, value)| push(&mut table, name, ty.field_type(), ColumnDefault::Value(text(value))));
                }
                Columns::Limits(names) => {
                    let ty = FieldType::int().with_unsigned().with_not_null();
                    names.iter().for_each(|name| push(&mut table, name, ty.clone(), ColumnDefault::Value(Datum::UInt(0))));
                }
                Columns::Blobs(names) => {
                    let ty = FieldType::new(TypeKind::Blob).with_not_null();
                    names.iter().for_each(|name| push(&mut table, name, ty.clone(), ColumnDefault::None));
                }
            }
        }
        let id = table.take_index_id();
        table.indexes.push(IndexInfo {
            id,
            name: "PRIMARY".to_owned(),
            columns: (0..self.key_parts).map(|offset| IndexColumn { offset, prefix_len: None, desc: false }).collect(),
            unique: true,
            primary: true,
            state: SchemaState::Public,
            invisible: false,
            comment: String::new(),
        });
        table.pk = PrimaryKey::Common { index: 0 };
        table
    }
}

fn push(table: &mut TableInfo, name: &str, ty: FieldType, default: ColumnDefault) {
    let id = table.take_column_id();
    let offset = table.columns.len();
    let mut column = ColumnInfo::new(id, name, offset, ty);
    column.default = default;
    table.columns.push(column);
}

/// The rows of `mysql.global_grants` for the first account.
pub(crate) fn root_grants() -> impl Iterator<Item = Vec<Datum>> {
    DYNAMIC_PRIVILEGES.into_iter().map(|name| vec![text("root"), text("%"), text(name), text("Y")])
}

/// The row of the first account, `root@'%'`: every privilege, no password.
pub(crate) fn root_account(table: &TableInfo) -> Vec<Datum> {
    let value = |column: &ColumnInfo| match column.name.as_str() {
        "Host" => text("%"),
        "User" => text("root"),
        "plugin" => text("mysql_native_password"),
        "authentication_string" => text(""),
        name if name.ends_with("_priv") => text("Y"),
        _ => match &column.default {
            ColumnDefault::Value(value) => value.clone(),
            _ if column.ty.tp == TypeKind::Blob => Datum::Bytes(Vec::new()),
            _ => Datum::Null,
        },
    };
    table.columns.iter().map(value).collect()
}
