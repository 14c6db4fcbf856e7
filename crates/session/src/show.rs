//! SHOW.
//!
//! Most of it is a query on `information_schema` with MySQL's headings, so that LIKE and WHERE mean what they mean everywhere; the rest is
//! a small table the session computes.

use parser::ast::{ShowFilter, ShowKind, ShowStmt, TableName, VarScope};
use types::{
    Datum, FieldType,
    mysql_error::{self, MysqlError},
};

use crate::{
    Error,
    result::{ResultRows, StatementResult, text},
    session::Session,
};

impl Session {
    /// Runs SHOW.
    pub(crate) async fn run_show(&mut self, show: ShowStmt) -> Result<StatementResult, Error> {
        let table = match &show.kind {
            ShowKind::CreateTable(name) | ShowKind::CreateView(name) => self.show_create_table(name).await?,
            ShowKind::TableRegions { table, index } => return self.show_regions(table, index.as_deref()).await,
            ShowKind::CreateDatabase { name, if_not_exists } => self.show_create_database(name, *if_not_exists)?,
            ShowKind::Warnings(_) | ShowKind::Errors(_) | ShowKind::CountWarnings | ShowKind::CountErrors => {
                self.show_conditions(&show.kind)
            }
            ShowKind::Grants { user, using } => {
                self.follow_accounts().await?;
                self.show_grants(user.as_ref(), using)?
            }
            ShowKind::CreateUser(user) => {
                self.follow_accounts().await?;
                self.show_create_user(user)?
            }
            ShowKind::Engine { .. } => return Err(Error::unsupported("SHOW ENGINE")),
            ShowKind::Profiles => return Err(Error::unsupported("SHOW PROFILE")),
            ShowKind::CreateRoutine { kind, .. } => return Err(Error::unsupported(&format!("SHOW CREATE {kind}"))),
            ShowKind::BinaryLogStatus | ShowKind::BinaryLogs | ShowKind::ReplicaStatus | ShowKind::Replicas => {
                return Err(Error::unsupported("SHOW of replication state"));
            }
            _ => {
                let query = self.show_query(&show.kind)?;
                return self.show_filtered(&query, show.filter.as_ref()).await;
            }
        };
        Ok(StatementResult::Rows(table))
    }

    /// Runs a query with LIKE (on its first column) or WHERE (on its headings) around it.
    async fn show_filtered(&mut self, query: &Query, filter: Option<&ShowFilter>) -> Result<StatementResult, Error> {
        let filter = match filter {
            None => String::new(),
            Some(ShowFilter::Like(pattern)) => {
                format!(" WHERE `{}` LIKE {}", query.like_column.replace('`', "``"), quote(pattern))
            }
            Some(ShowFilter::Where(expr)) => format!(" WHERE {expr}"),
        };
        let order = if query.order.is_empty() { String::new() } else { format!(" ORDER BY {}", query.order) };
        // A LIMIT of its own, so that sql_select_limit does not count.
        let sql = format!("SELECT * FROM ({}) AS `SHOW`{filter}{order} LIMIT {}", query.sql, u64::MAX);
        let (result, _) = Box::pin(self.run_text(sql.as_bytes())).await?;
        Ok(result)
    }

    fn show_query(&self, kind: &ShowKind) -> Result<Query, Error> {
        Ok(match kind {
            ShowKind::Databases => {
                Query::new("SELECT SCHEMA_NAME AS `Database` FROM information_schema.SCHEMATA", "Database", "`Database`")
            }
            ShowKind::Tables { full, schema, .. } => {
                let database = self.named_database(schema.as_deref())?;
                let heading = format!("Tables_in_{database}");
                let kind = if *full { ", TABLE_TYPE AS `Table_type`" } else { "" };
                let sql = format!(
                    "SELECT TABLE_NAME AS `{}`{kind} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {}",
                    heading.replace('`', "``"),
                    quote(&database)
                );
                Query::new(&sql, &heading, "1")
            }
            ShowKind::TableStatus(schema) => {
                let database = self.named_database(schema.as_deref())?;
                Query::new(&format!("{TABLE_STATUS} WHERE TABLE_SCHEMA = {}", quote(&database)), "Name", "`Name`")
            }
            ShowKind::OpenTables(_) => Query::new(EMPTY_OPEN_TABLES, "Table", ""),
            ShowKind::Columns { full, table, .. } => {
                let (database, name) = self.existing_table(table)?;
                let columns = if *full { FULL_COLUMNS } else { COLUMNS };
                let sql = format!(
                    "{columns} FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION LIMIT 100000",
                    quote(&database),
                    quote(&name)
                );
                Query::new(&sql, "Field", "")
            }
            ShowKind::Index { table, .. } => {
                let (database, name) = self.existing_table(table)?;
                let sql = format!(
                    "{INDEX} FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
                    quote(&database),
                    quote(&name)
                );
                Query::new(&sql, "Key_name", "")
            }
            ShowKind::Variables(scope) => {
                let table = if *scope == Some(VarScope::Global) { "GLOBAL_VARIABLES" } else { "SESSION_VARIABLES" };
                variables(table)
            }
            ShowKind::Status(scope) => variables(if *scope == Some(VarScope::Global) { "GLOBAL_STATUS" } else { "SESSION_STATUS" }),
            ShowKind::ProcessList { full } => {
                let info = if *full { "INFO" } else { "LEFT(INFO, 100)" };
                let sql = format!(
                    "SELECT ID AS `Id`, USER AS `User`, HOST AS `Host`, DB AS `db`, COMMAND AS `Command`, TIME AS `Time`, STATE AS `State`, \
                     {info} AS `Info` FROM information_schema.PROCESSLIST"
                );
                Query::new(&sql, "Id", "`Id`")
            }
            ShowKind::Engines => Query::new(
                "SELECT ENGINE AS `Engine`, SUPPORT AS `Support`, COMMENT AS `Comment`, TRANSACTIONS AS `Transactions`, XA AS `XA`, SAVEPOINTS AS \
                 `Savepoints` FROM information_schema.ENGINES",
                "Engine",
                "",
            ),
            ShowKind::Charset => Query::new(
                "SELECT CHARACTER_SET_NAME AS `Charset`, DESCRIPTION AS `Description`, DEFAULT_COLLATE_NAME AS `Default collation`, MAXLEN AS `Maxlen` \
                 FROM information_schema.CHARACTER_SETS",
                "Charset",
                "`Charset`",
            ),
            ShowKind::Collation => Query::new(
                "SELECT COLLATION_NAME AS `Collation`, CHARACTER_SET_NAME AS `Charset`, ID AS `Id`, IS_DEFAULT AS `Default`, IS_COMPILED AS \
                 `Compiled`, SORTLEN AS `Sortlen`, PAD_ATTRIBUTE AS `Pad_attribute` FROM information_schema.COLLATIONS",
                "Collation",
                "`Collation`",
            ),
            ShowKind::Plugins => Query::new(
                "SELECT PLUGIN_NAME AS `Name`, PLUGIN_STATUS AS `Status`, PLUGIN_TYPE AS `Type`, PLUGIN_LIBRARY AS `Library`, PLUGIN_LICENSE AS \
                 `License` FROM information_schema.PLUGINS",
                "Name",
                "",
            ),
            ShowKind::Privileges => Query::new("SELECT '' AS `Privilege`, '' AS `Context`, '' AS `Comment` LIMIT 0", "Privilege", ""),
            ShowKind::Triggers { .. } => Query::new(EMPTY_TRIGGERS, "Trigger", ""),
            ShowKind::Events(_) => Query::new(EMPTY_EVENTS, "Name", ""),
            ShowKind::ProcedureStatus | ShowKind::FunctionStatus => Query::new(EMPTY_ROUTINES, "Name", ""),
            _ => return Err(Error::unsupported("this form of SHOW")),
        })
    }

    /// The database named, or the current one.
    pub(crate) fn named_database(&self, name: Option<&str>) -> Result<String, Error> {
        let schema = self.domain.catalog().current();
        let name = match (name, &self.connection.database) {
            (Some(name), _) => name,
            (None, Some(current)) => current,
            (None, None) => return Err(MysqlError::new(mysql_error::ER_NO_DB_ERROR, "No database selected").into()),
        };
        match schema.database(name) {
            Some(database) => Ok(database.name.clone()),
            None => Err(MysqlError::new(mysql_error::ER_BAD_DB_ERROR, format!("Unknown database '{name}'")).into()),
        }
    }

    /// Database and name of a table that exists.
    pub(crate) fn existing_table(&self, name: &TableName) -> Result<(String, String), Error> {
        let database = self.named_database(name.schema.as_deref())?;
        match self.domain.catalog().current().table(&database, &name.name) {
            Some(table) => Ok((database, table.name.clone())),
            None => {
                let message = format!("Table '{database}.{}' doesn't exist", name.name.as_str());
                Err(MysqlError::new(mysql_error::ER_NO_SUCH_TABLE, message).into())
            }
        }
    }

    async fn show_create_table(&self, name: &TableName) -> Result<ResultRows, Error> {
        let (database, table) = self.existing_table(name)?;
        let schema = self.domain.catalog().current();
        let Some(info) = schema.table(&database, &table) else { return Err(Error::unsupported("SHOW CREATE of this table")) };
        let next = match info.auto_increment_column() {
            Some(_) => Some(self.domain.catalog().auto_ids().peek(info.id, catalog::AutoIdKind::AutoIncrement).await?),
            None => None,
        };
        let sql = catalog::show_create::show_create_table(&info, next, self.time_zone());
        Ok(ResultRows::table(
            &[("Table", FieldType::varchar(64)), ("Create Table", FieldType::longtext())],
            vec![vec![text(table), text(sql)]],
        ))
    }

    fn show_create_database(&self, name: &str, if_not_exists: bool) -> Result<ResultRows, Error> {
        let name = self.named_database(Some(name))?;
        let schema = self.domain.catalog().current();
        let Some(info) = schema.database(&name) else { return Err(Error::unsupported("SHOW CREATE of this database")) };
        let sql = catalog::show_create::show_create_database(&info, if_not_exists);
        Ok(ResultRows::table(
            &[("Database", FieldType::varchar(64)), ("Create Database", FieldType::longtext())],
            vec![vec![text(name), text(sql)]],
        ))
    }

    /// SHOW WARNINGS and SHOW ERRORS: the conditions of the statement before.
    fn show_conditions(&mut self, kind: &ShowKind) -> ResultRows {
        let (only_errors, limit) = match kind {
            ShowKind::Errors(limit) => (true, limit.as_ref()),
            ShowKind::CountErrors => (true, None),
            ShowKind::Warnings(limit) => (false, limit.as_ref()),
            _ => (false, None),
        };
        let conditions = self.diagnostics.iter().filter(|condition| !only_errors || condition.level == expr::WarningLevel::Error);
        match kind {
            ShowKind::CountWarnings | ShowKind::CountErrors => {
                let name = if only_errors { "@@session.error_count" } else { "@@session.warning_count" };
                ResultRows::table(&[(name, FieldType::unsigned_bigint())], vec![vec![Datum::UInt(conditions.count() as u64)]])
            }
            _ => {
                let number = |expr: &parser::ast::Expr| match expr {
                    parser::ast::Expr::Literal(parser::ast::Literal::Int(number), _) => *number as usize,
                    _ => usize::MAX,
                };
                let offset = limit.and_then(|limit| limit.offset.as_ref()).map_or(0, number);
                let count = limit.map_or(usize::MAX, |limit| number(&limit.count));
                let rows = conditions
                    .skip(offset)
                    .take(count)
                    .map(|condition| {
                        vec![text(condition.level.as_str()), Datum::UInt(u64::from(condition.code)), text(condition.message.clone())]
                    })
                    .collect();
                let columns =
                    [("Level", FieldType::varchar(7)), ("Code", FieldType::int().with_unsigned()), ("Message", FieldType::varchar(512))];
                ResultRows::table(&columns, rows)
            }
        }
    }
}

/// Whether it shows the conditions of the statement before, which stay for it.
pub(crate) fn is_diagnostics(kind: &ShowKind) -> bool {
    matches!(kind, ShowKind::Warnings(_) | ShowKind::Errors(_) | ShowKind::CountWarnings | ShowKind::CountErrors)
}

/// A query behind a SHOW.
struct Query {
    sql: String,
    /// What LIKE is about.
    like_column: String,
    order: String,
}

impl Query {
    fn new(sql: &str, like_column: &str, order: &str) -> Self {
        Self { sql: sql.to_owned(), like_column: like_column.to_owned(), order: order.to_owned() }
    }
}

fn variables(table: &str) -> Query {
    let sql = format!(
        "SELECT VARIABLE_NAME AS `Variable_name`, VARIABLE_VALUE AS `Value` FROM performance_schema.{}",
        table.to_ascii_lowercase()
    );
    Query::new(&sql, "Variable_name", "`Variable_name`")
}

/// A text as a string literal that means the same under every `sql_mode`.
pub(crate) fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    if text.contains('\\') {
        let hex = text.bytes().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02X}"); // Writing to a String cannot fail.
            hex
        });
        return format!("_utf8mb4 X'{hex}'");
    }
    format!("'{}'", text.replace('\'', "''"))
}

const COLUMNS: &str = "SELECT COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, IS_NULLABLE AS `Null`, COLUMN_KEY AS `Key`, COLUMN_DEFAULT AS `Default`, \
                       EXTRA AS `Extra`";
const FULL_COLUMNS: &str = "SELECT COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, COLLATION_NAME AS `Collation`, IS_NULLABLE AS `Null`, COLUMN_KEY AS \
                            `Key`, COLUMN_DEFAULT AS `Default`, EXTRA AS `Extra`, PRIVILEGES AS `Privileges`, COLUMN_COMMENT AS `Comment`";
const INDEX: &str = "SELECT TABLE_NAME AS `Table`, NON_UNIQUE AS `Non_unique`, INDEX_NAME AS `Key_name`, SEQ_IN_INDEX AS `Seq_in_index`, COLUMN_NAME AS \
                     `Column_name`, COLLATION AS `Collation`, CARDINALITY AS `Cardinality`, SUB_PART AS `Sub_part`, PACKED AS `Packed`, NULLABLE AS \
                     `Null`, INDEX_TYPE AS `Index_type`, COMMENT AS `Comment`, INDEX_COMMENT AS `Index_comment`, IS_VISIBLE AS `Visible`, EXPRESSION AS \
                     `Expression`";
const TABLE_STATUS: &str = "SELECT TABLE_NAME AS `Name`, ENGINE AS `Engine`, VERSION AS `Version`, ROW_FORMAT AS `Row_format`, TABLE_ROWS AS `Rows`, \
                            AVG_ROW_LENGTH AS `Avg_row_length`, DATA_LENGTH AS `Data_length`, MAX_DATA_LENGTH AS `Max_data_length`, INDEX_LENGTH AS \
                            `Index_length`, DATA_FREE AS `Data_free`, AUTO_INCREMENT AS `Auto_increment`, CREATE_TIME AS `Create_time`, UPDATE_TIME AS \
                            `Update_time`, CHECK_TIME AS `Check_time`, TABLE_COLLATION AS `Collation`, CHECKSUM AS `Checksum`, CREATE_OPTIONS AS \
                            `Create_options`, TABLE_COMMENT AS `Comment` FROM information_schema.TABLES";
const EMPTY_OPEN_TABLES: &str = "SELECT '' AS `Database`, '' AS `Table`, 0 AS `In_use`, 0 AS `Name_locked` LIMIT 0";
const EMPTY_TRIGGERS: &str = "SELECT '' AS `Trigger`, '' AS `Event`, '' AS `Table`, '' AS `Statement`, '' AS `Timing`, NULL AS `Created`, '' AS `sql_mode`, '' \
                              AS `Definer`, '' AS `character_set_client`, '' AS `collation_connection`, '' AS `Database Collation` LIMIT 0";
const EMPTY_EVENTS: &str = "SELECT '' AS `Db`, '' AS `Name`, '' AS `Definer`, '' AS `Time zone`, '' AS `Type`, NULL AS `Execute at`, NULL AS `Interval value`, \
                            NULL AS `Interval field`, NULL AS `Starts`, NULL AS `Ends`, '' AS `Status`, 0 AS `Originator`, '' AS `character_set_client`, '' \
                            AS `collation_connection`, '' AS `Database Collation` LIMIT 0";
const EMPTY_ROUTINES: &str = "SELECT '' AS `Db`, '' AS `Name`, '' AS `Type`, '' AS `Definer`, NULL AS `Modified`, NULL AS `Created`, '' AS `Security_type`, '' AS \
                              `Comment`, '' AS `character_set_client`, '' AS `collation_connection`, '' AS `Database Collation` LIMIT 0";
