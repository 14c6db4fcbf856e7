//! The syntax tree: what a statement says, before any name is looked up.
//!
//! One file per statement family. The tree keeps names, types and expressions as written (letter case included); it
//! knows nothing of schemas, privileges or variables. Nodes are plain values, `Clone + Debug + PartialEq`.
//!
//! Invariants:
//! - literals carry ordinals 0, 1, 2 … in lexical order, the order in which [`crate::normalize`] extracts them; `?`
//!   markers carry their own ordinals in the same way;
//! - parentheses are not kept: the tree's shape is the precedence, and `Display` writes them back where they matter;
//! - `Display` of any node parses back to an equal node ([`SourceText`] and [`LiteralId`] aside, which are equal to all of their kind).

mod admin;
mod alter;
mod ddl;
mod dml;
mod expr;
mod function;
mod ident;
mod literal;
mod partition;
mod select;
mod show;
mod transaction;
mod types;
mod user;
mod walk;

pub use admin::*;
pub use alter::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use function::*;
pub use ident::*;
pub use literal::*;
pub use partition::*;
pub use select::*;
pub use show::*;
pub use transaction::*;
pub use types::*;
pub use user::*;

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `SELECT`, `VALUES ROW()`, `TABLE t`, set operations over them, with or without `WITH`.
    Query(Box<Query>),
    /// `INSERT` and `REPLACE`.
    Insert(Box<InsertStmt>),
    /// `UPDATE` of one or several tables.
    Update(Box<UpdateStmt>),
    /// `DELETE` from one or several tables.
    Delete(Box<DeleteStmt>),
    /// `LOAD DATA`.
    LoadData(Box<LoadDataStmt>),

    /// `BEGIN`, `START TRANSACTION`.
    Begin(BeginStmt),
    /// `COMMIT`.
    Commit(CompletionType),
    /// `ROLLBACK` of the whole transaction.
    Rollback(CompletionType),
    /// `SAVEPOINT name`.
    Savepoint(Ident),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(Ident),
    /// `RELEASE SAVEPOINT name`.
    ReleaseSavepoint(Ident),
    /// `SET [GLOBAL | SESSION] TRANSACTION …`.
    SetTransaction(SetTransactionStmt),
    /// `LOCK TABLES`.
    LockTables(Vec<TableLock>),
    /// `UNLOCK TABLES`.
    UnlockTables,

    /// `SET` of variables, names and character set.
    Set(SetStmt),
    /// `SHOW …`.
    Show(Box<ShowStmt>),
    /// `USE db`.
    Use(Ident),
    /// `DESCRIBE t [column]`, also spelled `DESC` and `EXPLAIN`.
    Describe(DescribeStmt),
    /// `EXPLAIN [ANALYZE] [FORMAT = …] statement`.
    Explain(Box<ExplainStmt>),
    /// `KILL [QUERY | CONNECTION] id`.
    Kill(KillStmt),
    /// `FLUSH …`.
    Flush(FlushStmt),
    /// `ANALYZE TABLE`.
    AnalyzeTable(AnalyzeTableStmt),
    /// `CHECK`, `OPTIMIZE`, `REPAIR`, `CHECKSUM TABLE`.
    TableMaintenance(TableMaintenanceStmt),
    /// `ADMIN …`: statements of the server itself (index checks, DDL jobs).
    Admin(AdminStmt),
    /// `SPLIT TABLE`.
    SplitTable(SplitTableStmt),
    /// `PREPARE name FROM …`.
    Prepare(PrepareStmt),
    /// `EXECUTE name [USING @a, …]`.
    Execute(ExecuteStmt),
    /// `DEALLOCATE PREPARE name`.
    Deallocate(Ident),
    /// `DO expr, …`.
    Do(Vec<Expr>),
    /// `SHUTDOWN`.
    Shutdown,
    /// `RESET PERSIST [[IF EXISTS] variable]`.
    ResetPersist(ResetPersistStmt),

    /// `CREATE DATABASE`.
    CreateDatabase(CreateDatabaseStmt),
    /// `ALTER DATABASE`.
    AlterDatabase(AlterDatabaseStmt),
    /// `DROP DATABASE`.
    DropDatabase(DropDatabaseStmt),
    /// `CREATE TABLE`.
    CreateTable(Box<CreateTableStmt>),
    /// `ALTER TABLE`.
    AlterTable(Box<AlterTableStmt>),
    /// `DROP TABLE`.
    DropTable(DropTableStmt),
    /// `TRUNCATE TABLE`.
    TruncateTable(TableName),
    /// `RENAME TABLE`.
    RenameTable(Vec<(TableName, TableName)>),
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndexStmt>),
    /// `DROP INDEX`.
    DropIndex(DropIndexStmt),
    /// `CREATE VIEW`, `ALTER VIEW`.
    CreateView(Box<CreateViewStmt>),
    /// `DROP VIEW`.
    DropView(DropViewStmt),

    /// `CREATE USER`.
    CreateUser(Box<CreateUserStmt>),
    /// `ALTER USER`.
    AlterUser(Box<AlterUserStmt>),
    /// `DROP USER`.
    DropUser(DropUserStmt),
    /// `RENAME USER`.
    RenameUser(Vec<(AccountName, AccountName)>),
    /// `CREATE ROLE`.
    CreateRole(CreateRoleStmt),
    /// `DROP ROLE`.
    DropRole(DropUserStmt),
    /// `GRANT privileges ON …`.
    Grant(Box<GrantStmt>),
    /// `GRANT role TO …`.
    GrantRole(GrantRoleStmt),
    /// `REVOKE privileges ON …`.
    Revoke(Box<RevokeStmt>),
    /// `REVOKE role FROM …`.
    RevokeRole(RevokeRoleStmt),
    /// `SET PASSWORD`.
    SetPassword(SetPasswordStmt),
    /// `SET ROLE`.
    SetRole(SetRoleStmt),
    /// `SET DEFAULT ROLE`.
    SetDefaultRole(SetDefaultRoleStmt),

    /// A statement of MySQL that is recognised by its first words and not modelled further.
    Unsupported(UnsupportedStmt),
}

/// A recognised statement without a model: to be answered with MySQL error 1235 naming `feature`.
#[derive(Clone, Debug, PartialEq)]
pub struct UnsupportedStmt {
    /// What error 1235 names, such as `CREATE PROCEDURE`.
    pub feature: String,
    /// The statement's text.
    pub text: String,
}
