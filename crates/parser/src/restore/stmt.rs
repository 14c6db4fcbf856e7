//! Statements, and those too small for a file of their own.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, word};
use crate::ast::{BeginStmt, CompletionType, IsolationLevel, SetTransactionStmt, Stmt, TableLock, TableLockKind, TableName, VarScope};

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Stmt::Query(s) => s.fmt(f),
            Stmt::Insert(s) => s.fmt(f),
            Stmt::Update(s) => s.fmt(f),
            Stmt::Delete(s) => s.fmt(f),
            Stmt::LoadData(s) => s.fmt(f),
            Stmt::Begin(s) => s.fmt(f),
            Stmt::Commit(s) => write!(f, "COMMIT{s}"),
            Stmt::Rollback(s) => write!(f, "ROLLBACK{s}"),
            Stmt::Savepoint(name) => write!(f, "SAVEPOINT {name:#}"),
            Stmt::RollbackTo(name) => write!(f, "ROLLBACK TO SAVEPOINT {name:#}"),
            Stmt::ReleaseSavepoint(name) => write!(f, "RELEASE SAVEPOINT {name:#}"),
            Stmt::SetTransaction(s) => s.fmt(f),
            Stmt::LockTables(locks) => write!(f, "LOCK TABLES {}", List(locks, ", ")),
            Stmt::UnlockTables => f.write_str("UNLOCK TABLES"),
            Stmt::Set(s) => s.fmt(f),
            Stmt::Show(s) => s.fmt(f),
            Stmt::Use(name) => write!(f, "USE {name:#}"),
            Stmt::Describe(s) => s.fmt(f),
            Stmt::Explain(s) => s.fmt(f),
            Stmt::Kill(s) => s.fmt(f),
            Stmt::Flush(s) => s.fmt(f),
            Stmt::AnalyzeTable(s) => s.fmt(f),
            Stmt::TableMaintenance(s) => s.fmt(f),
            Stmt::Admin(s) => s.fmt(f),
            Stmt::SplitTable(s) => s.fmt(f),
            Stmt::Prepare(s) => s.fmt(f),
            Stmt::Execute(s) => s.fmt(f),
            Stmt::Deallocate(name) => write!(f, "DEALLOCATE PREPARE {name:#}"),
            Stmt::Do(exprs) => write!(f, "DO {}", List(exprs, ", ")),
            Stmt::Shutdown => f.write_str("SHUTDOWN"),
            Stmt::ResetPersist(s) => {
                f.write_str("RESET PERSIST")?;
                s.name.as_ref().map_or(Ok(()), |name| write!(f, "{} {name}", if s.if_exists { " IF EXISTS" } else { "" }))
            }
            Stmt::Unsupported(s) => f.write_str(&s.text),
            _ => self.fmt_definition(f),
        }
    }
}

impl Stmt {
    /// Statements that define schemas and accounts.
    fn fmt_definition(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Stmt::CreateDatabase(s) => {
                write!(f, "CREATE DATABASE {}{:#}", word(s.if_not_exists, "IF NOT EXISTS "), s.name)?;
                s.options.iter().try_for_each(|option| write!(f, " {option}"))
            }
            Stmt::AlterDatabase(s) => {
                write!(f, "ALTER DATABASE{}", Opt(" ", s.name.as_ref()))?;
                s.options.iter().try_for_each(|option| write!(f, " {option}"))
            }
            Stmt::DropDatabase(s) => write!(f, "DROP DATABASE {}{:#}", word(s.if_exists, "IF EXISTS "), s.name),
            Stmt::CreateTable(s) => s.fmt(f),
            Stmt::AlterTable(s) => s.fmt(f),
            Stmt::DropTable(s) => {
                let what = if s.temporary { "TEMPORARY TABLE" } else { "TABLE" };
                drop_tables(f, what, s.if_exists, &s.tables, s.cascade)
            }
            Stmt::TruncateTable(name) => write!(f, "TRUNCATE TABLE {name:#}"),
            Stmt::RenameTable(pairs) => renames(f, "TABLE", pairs),
            Stmt::CreateIndex(s) => s.fmt(f),
            Stmt::DropIndex(s) => {
                write!(f, "DROP INDEX {}{:#} ON {}{}", word(s.if_exists, "IF EXISTS "), s.name, s.table, s.online)
            }
            Stmt::CreateView(s) => s.fmt(f),
            Stmt::DropView(s) => drop_tables(f, "VIEW", s.if_exists, &s.views, s.cascade),
            Stmt::CreateUser(s) => s.fmt(f),
            Stmt::AlterUser(s) => s.fmt(f),
            Stmt::DropUser(s) => write!(f, "DROP USER {}{}", word(s.if_exists, "IF EXISTS "), List(&s.users, ", ")),
            Stmt::RenameUser(pairs) => renames(f, "USER", pairs),
            Stmt::CreateRole(s) => write!(f, "CREATE ROLE {}{}", word(s.if_not_exists, "IF NOT EXISTS "), List(&s.roles, ", ")),
            Stmt::DropRole(s) => write!(f, "DROP ROLE {}{}", word(s.if_exists, "IF EXISTS "), List(&s.users, ", ")),
            Stmt::Grant(s) => s.fmt(f),
            Stmt::GrantRole(s) => s.fmt(f),
            Stmt::Revoke(s) => s.fmt(f),
            Stmt::RevokeRole(s) => s.fmt(f),
            Stmt::SetPassword(s) => s.fmt(f),
            Stmt::SetRole(s) => write!(f, "SET ROLE {}", s.roles),
            Stmt::SetDefaultRole(s) => write!(f, "SET DEFAULT ROLE {} TO {}", s.roles, List(&s.users, ", ")),
            _ => unreachable!("the other statements are printed by Display"),
        }
    }
}

fn drop_tables(f: &mut Formatter<'_>, what: &str, if_exists: bool, names: &[TableName], cascade: Option<bool>) -> fmt::Result {
    write!(f, "DROP {what} {}{}", word(if_exists, "IF EXISTS "), List(names, ", "))?;
    f.write_str(match cascade {
        None => "",
        Some(true) => " CASCADE",
        Some(false) => " RESTRICT",
    })
}

fn renames<T: Display>(f: &mut Formatter<'_>, what: &str, pairs: &[(T, T)]) -> fmt::Result {
    write!(f, "RENAME {what} ")?;
    for (i, (from, to)) in pairs.iter().enumerate() {
        write!(f, "{}{from} TO {to}", word(i > 0, ", "))?;
    }
    Ok(())
}

impl Display for BeginStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(pessimistic) = self.pessimistic {
            return write!(f, "BEGIN {}", if pessimistic { "PESSIMISTIC" } else { "OPTIMISTIC" });
        }
        f.write_str("START TRANSACTION")?;
        f.write_str(word(self.consistent_snapshot, " WITH CONSISTENT SNAPSHOT"))?;
        match self.read_only {
            Some(read_only) => write!(f, "{} {}", word(self.consistent_snapshot, ","), access_mode(read_only)),
            None => Ok(()),
        }
    }
}

fn access_mode(read_only: bool) -> &'static str {
    if read_only { "READ ONLY" } else { "READ WRITE" }
}

impl Display for CompletionType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.chain {
            None => "",
            Some(true) => " AND CHAIN",
            Some(false) => " AND NO CHAIN",
        })?;
        f.write_str(match self.release {
            None => "",
            Some(true) => " RELEASE",
            Some(false) => " NO RELEASE",
        })
    }
}

impl Display for SetTransactionStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.scope {
            None => "SET TRANSACTION",
            Some(VarScope::Global) => "SET GLOBAL TRANSACTION",
            Some(_) => "SET SESSION TRANSACTION",
        })?;
        if let Some(level) = self.isolation {
            let level = match level {
                IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
                IsolationLevel::ReadCommitted => "READ COMMITTED",
                IsolationLevel::RepeatableRead => "REPEATABLE READ",
                IsolationLevel::Serializable => "SERIALIZABLE",
            };
            write!(f, " ISOLATION LEVEL {level}")?;
        }
        match self.read_only {
            Some(read_only) => write!(f, "{} {}", word(self.isolation.is_some(), ","), access_mode(read_only)),
            None => Ok(()),
        }
    }
}

impl Display for TableLock {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TableLockKind::Read => "READ",
            TableLockKind::ReadLocal => "READ LOCAL",
            TableLockKind::Write => "WRITE",
        };
        write!(f, "{}{} {kind}", self.table, Opt(" AS ", self.alias.as_ref()))
    }
}
