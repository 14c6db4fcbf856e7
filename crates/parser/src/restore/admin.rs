//! SET, EXPLAIN, FLUSH, ADMIN and their kin.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Quoted, expr::SystemVar, name::UserVar, word};
use crate::ast::{
    AdminStmt, AnalyzeTableStmt, DescribeStmt, ExecuteStmt, ExplainStmt, ExplainTarget, FlushStmt, FlushTarget, HistogramAction, KillStmt,
    MaintenanceKind, PrepareSource, PrepareStmt, SetItem, SetStmt, SetValue, SplitAt, SplitTableStmt, TableMaintenanceStmt,
};

impl Display for SetStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SET {}", List(&self.items, ", "))
    }
}

impl Display for SetItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetItem::System { scope, name, value } => write!(f, "{} = {value}", SystemVar(*scope, name)),
            SetItem::User { name, value } => write!(f, "{} = {value}", UserVar(name)),
            SetItem::Names { charset: None, .. } => f.write_str("NAMES DEFAULT"),
            SetItem::Names { charset, collation } => {
                write!(f, "NAMES{}{}", Opt(" ", charset.as_ref()), Opt(" COLLATE ", collation.as_ref()))
            }
            SetItem::CharacterSet(None) => f.write_str("CHARACTER SET DEFAULT"),
            SetItem::CharacterSet(charset) => write!(f, "CHARACTER SET{}", Opt(" ", charset.as_ref())),
        }
    }
}

impl Display for SetValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SetValue::Default => f.write_str("DEFAULT"),
            SetValue::Word(word) => write!(f, "{word:#}"),
            SetValue::Expr(expr) => expr.fmt(f),
        }
    }
}

impl Display for DescribeStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DESCRIBE {}", self.table)?;
        self.column.as_ref().map_or(Ok(()), |column| write!(f, " {}", Quoted(column)))
    }
}

impl Display for ExplainStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "EXPLAIN {}", word(self.analyze, "ANALYZE "))?;
        if let Some(format) = &self.format {
            write!(f, "FORMAT={} ", Quoted(format))?;
        }
        match &self.target {
            ExplainTarget::Stmt(stmt) => stmt.fmt(f),
            ExplainTarget::Connection(id) => write!(f, "FOR CONNECTION {id}"),
        }
    }
}

impl Display for KillStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "KILL {}{}", word(self.query, "QUERY "), self.id)
    }
}

impl Display for SplitTableStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SPLIT TABLE {:#}{} ", self.table, Opt(" INDEX ", self.index.as_ref()))?;
        match &self.at {
            SplitAt::Between { lower, upper, regions } => {
                write!(f, "BETWEEN ({}) AND ({}) REGIONS {regions}", List(lower, ", "), List(upper, ", "))
            }
            SplitAt::By(keys) => {
                f.write_str("BY ")?;
                keys.iter().enumerate().try_for_each(|(at, key)| write!(f, "{}({})", word(at > 0, ", "), List(key, ", ")))
            }
        }
    }
}

impl Display for FlushStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "FLUSH {}{}", word(self.no_binlog, "NO_WRITE_TO_BINLOG "), List(&self.targets, ", "))
    }
}

impl Display for FlushTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FlushTarget::Tables { tables, read_lock, for_export } => {
                write!(f, "TABLES{}{}", word(!tables.is_empty(), " "), List(tables, ", "))?;
                write!(f, "{}{}", word(*read_lock, " WITH READ LOCK"), word(*for_export, " FOR EXPORT"))
            }
            FlushTarget::Privileges => f.write_str("PRIVILEGES"),
            FlushTarget::Status => f.write_str("STATUS"),
            FlushTarget::Hosts => f.write_str("HOSTS"),
            FlushTarget::Logs(None) => f.write_str("LOGS"),
            FlushTarget::Logs(Some(kind)) => write!(f, "{} LOGS", kind.as_str()),
            FlushTarget::UserResources => f.write_str("USER_RESOURCES"),
            FlushTarget::OptimizerCosts => f.write_str("OPTIMIZER_COSTS"),
        }
    }
}

impl Display for AnalyzeTableStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ANALYZE {}TABLE {}", word(self.no_binlog, "NO_WRITE_TO_BINLOG "), List(&self.tables, ", "))?;
        match &self.histogram {
            Some(HistogramAction::Update { columns, buckets }) => {
                write!(f, " UPDATE HISTOGRAM ON {}", List(columns, ", "))?;
                buckets.map_or(Ok(()), |n| write!(f, " WITH {n} BUCKETS"))
            }
            Some(HistogramAction::Drop(columns)) => write!(f, " DROP HISTOGRAM ON {}", List(columns, ", ")),
            None => Ok(()),
        }
    }
}

impl Display for TableMaintenanceStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            MaintenanceKind::Check => "CHECK",
            MaintenanceKind::Optimize => "OPTIMIZE",
            MaintenanceKind::Repair => "REPAIR",
            MaintenanceKind::Checksum => "CHECKSUM",
        };
        write!(f, "{verb} {}TABLE {}", word(self.no_binlog, "NO_WRITE_TO_BINLOG "), List(&self.tables, ", "))?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

impl Display for AdminStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AdminStmt::CheckTable(tables) => write!(f, "ADMIN CHECK TABLE {}", List(tables, ", ")),
            AdminStmt::CheckIndex(table, index) => write!(f, "ADMIN CHECK INDEX {table} {index:#}"),
            AdminStmt::ChecksumTable(tables) => write!(f, "ADMIN CHECKSUM TABLE {}", List(tables, ", ")),
            AdminStmt::ShowDdl => f.write_str("ADMIN SHOW DDL"),
            AdminStmt::ShowDdlJobs { count, filter } => {
                write!(f, "ADMIN SHOW DDL JOBS{}{}", Opt(" ", count.as_ref()), Opt(" WHERE ", filter.as_ref()))
            }
            AdminStmt::CancelDdlJobs(ids) => write!(f, "ADMIN CANCEL DDL JOBS {}", List(ids, ", ")),
            AdminStmt::PauseDdlJobs(ids) => write!(f, "ADMIN PAUSE DDL JOBS {}", List(ids, ", ")),
            AdminStmt::ResumeDdlJobs(ids) => write!(f, "ADMIN RESUME DDL JOBS {}", List(ids, ", ")),
        }
    }
}

impl Display for PrepareStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PREPARE {:#} FROM ", self.name)?;
        match &self.source {
            PrepareSource::Text(text) => Quoted(text).fmt(f),
            PrepareSource::Var(name) => UserVar(name).fmt(f),
        }
    }
}

impl Display for ExecuteStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "EXECUTE {:#}", self.name)?;
        for (i, name) in self.using.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { " USING " } else { ", " }, UserVar(name))?;
        }
        Ok(())
    }
}
