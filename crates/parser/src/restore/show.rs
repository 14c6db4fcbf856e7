//! SHOW.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Quoted, word};
use crate::ast::{ShowFilter, ShowKind, ShowStmt, VarScope};

impl Display for ShowStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SHOW {}", self.kind)?;
        match &self.filter {
            Some(ShowFilter::Like(pattern)) => write!(f, " LIKE {}", Quoted(pattern)),
            Some(ShowFilter::Where(expr)) => write!(f, " WHERE {expr}"),
            None => Ok(()),
        }
    }
}

fn scope(scope: &Option<VarScope>) -> &'static str {
    match scope {
        None => "",
        Some(VarScope::Global) => "GLOBAL ",
        Some(_) => "SESSION ",
    }
}

impl Display for ShowKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use ShowKind::*;
        match self {
            Databases => f.write_str("DATABASES"),
            Tables { extended, full, schema } => {
                write!(f, "{}{}TABLES{}", word(*extended, "EXTENDED "), word(*full, "FULL "), Opt(" FROM ", schema.as_ref()))
            }
            TableStatus(schema) => write!(f, "TABLE STATUS{}", Opt(" FROM ", schema.as_ref())),
            OpenTables(schema) => write!(f, "OPEN TABLES{}", Opt(" FROM ", schema.as_ref())),
            Columns { extended, full, table } => {
                write!(f, "{}{}COLUMNS FROM {table}", word(*extended, "EXTENDED "), word(*full, "FULL "))
            }
            Index { extended, table } => write!(f, "{}INDEX FROM {table}", word(*extended, "EXTENDED ")),
            TableRegions { table, index } => write!(f, "TABLE {table:#}{} REGIONS", Opt(" INDEX ", index.as_ref())),
            CreateTable(name) => write!(f, "CREATE TABLE {name:#}"),
            CreateView(name) => write!(f, "CREATE VIEW {name:#}"),
            CreateDatabase { if_not_exists, name } => write!(f, "CREATE DATABASE {}{name:#}", word(*if_not_exists, "IF NOT EXISTS ")),
            CreateUser(user) => write!(f, "CREATE USER {user}"),
            CreateRoutine { kind, name } => write!(f, "CREATE {kind} {name:#}"),
            Variables(s) => write!(f, "{}VARIABLES", scope(s)),
            Status(s) => write!(f, "{}STATUS", scope(s)),
            ProcessList { full } => write!(f, "{}PROCESSLIST", word(*full, "FULL ")),
            Warnings(limit) => write!(f, "WARNINGS{}", Opt(" LIMIT ", limit.as_ref())),
            CountWarnings => f.write_str("COUNT(*) WARNINGS"),
            Errors(limit) => write!(f, "ERRORS{}", Opt(" LIMIT ", limit.as_ref())),
            CountErrors => f.write_str("COUNT(*) ERRORS"),
            Grants { user, using } => {
                write!(f, "GRANTS{}", Opt(" FOR ", user.as_ref()))?;
                if using.is_empty() { Ok(()) } else { write!(f, " USING {}", List(using, ", ")) }
            }
            Engine { name, what } if name == "ALL" => write!(f, "ENGINE ALL {what}"),
            Engine { name, what } => write!(f, "ENGINE {name:#} {what}"),
            Triggers { full, schema } => write!(f, "{}TRIGGERS{}", word(*full, "FULL "), Opt(" FROM ", schema.as_ref())),
            Events(schema) => write!(f, "EVENTS{}", Opt(" FROM ", schema.as_ref())),
            Engines => f.write_str("ENGINES"),
            Charset => f.write_str("CHARACTER SET"),
            Collation => f.write_str("COLLATION"),
            Privileges => f.write_str("PRIVILEGES"),
            Plugins => f.write_str("PLUGINS"),
            ProcedureStatus => f.write_str("PROCEDURE STATUS"),
            FunctionStatus => f.write_str("FUNCTION STATUS"),
            BinaryLogStatus => f.write_str("MASTER STATUS"),
            BinaryLogs => f.write_str("BINARY LOGS"),
            ReplicaStatus => f.write_str("REPLICA STATUS"),
            Replicas => f.write_str("REPLICAS"),
            Profiles => f.write_str("PROFILES"),
        }
    }
}
