//! ALTER TABLE.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, ddl::visibility, word};
use crate::ast::{AlterAction, AlterTableStmt, ColumnPosition, Ident};

impl Display for AlterTableStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ALTER TABLE {}", self.table)?;
        let mut separator = " ";
        for action in &self.actions {
            // Partitioning stands last, without a comma.
            let tail = matches!(action, AlterAction::PartitionBy(_) | AlterAction::RemovePartitioning);
            write!(f, "{}{action}", if tail { " " } else { separator })?;
            separator = ", ";
        }
        if let Some(algorithm) = &self.online.algorithm {
            write!(f, "{separator}ALGORITHM={}", algorithm.as_str())?;
            separator = ", ";
        }
        if let Some(lock) = &self.online.lock {
            write!(f, "{separator}LOCK={}", lock.as_str())?;
            separator = ", ";
        }
        match self.validation {
            Some(with) => write!(f, "{separator}{} VALIDATION", if with { "WITH" } else { "WITHOUT" }),
            None => Ok(()),
        }
    }
}

impl Display for ColumnPosition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ColumnPosition::First => f.write_str("FIRST"),
            ColumnPosition::After(column) => write!(f, "AFTER {column:#}"),
        }
    }
}

/// Partition names, or ALL for none.
struct OrAll<'a>(&'a [Ident]);

impl Display for OrAll<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("ALL") } else { List(self.0, ", ").fmt(f) }
    }
}

fn enforced(yes: bool) -> &'static str {
    if yes { "ENFORCED" } else { "NOT ENFORCED" }
}

impl Display for AlterAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use AlterAction::*;
        match self {
            AddColumn { if_not_exists, column, position } => {
                write!(f, "ADD COLUMN {}{column:#}{}", word(*if_not_exists, "IF NOT EXISTS "), Opt(" ", position.as_ref()))
            }
            DropColumn { if_exists, name } => write!(f, "DROP COLUMN {}{name:#}", word(*if_exists, "IF EXISTS ")),
            ModifyColumn { column, position } => write!(f, "MODIFY COLUMN {column:#}{}", Opt(" ", position.as_ref())),
            ChangeColumn { old, column, position } => write!(f, "CHANGE COLUMN {old:#} {column:#}{}", Opt(" ", position.as_ref())),
            RenameColumn { old, new } => write!(f, "RENAME COLUMN {old:#} TO {new:#}"),
            AlterColumnDefault { name, default: None, .. } => write!(f, "ALTER COLUMN {name:#} DROP DEFAULT"),
            AlterColumnDefault { name, default: Some(expr), parenthesized: true } => {
                write!(f, "ALTER COLUMN {name:#} SET DEFAULT ({expr})")
            }
            AlterColumnDefault { name, default: Some(expr), .. } => write!(f, "ALTER COLUMN {name:#} SET DEFAULT {expr}"),
            AlterColumnVisible { name, visible } => write!(f, "ALTER COLUMN {name:#} SET {}", visibility(*visible)),
            AddConstraint { if_not_exists: false, constraint } => write!(f, "ADD {constraint}"),
            // The words stand before the index; only the parenthesised form takes them for all kinds.
            AddConstraint { if_not_exists: true, constraint } => write!(f, "ADD IF NOT EXISTS ({constraint})"),
            DropIndex { if_exists, name } => write!(f, "DROP INDEX {}{name:#}", word(*if_exists, "IF EXISTS ")),
            DropPrimaryKey => f.write_str("DROP PRIMARY KEY"),
            DropForeignKey(name) => write!(f, "DROP FOREIGN KEY {name:#}"),
            DropCheck(name) => write!(f, "DROP CHECK {name:#}"),
            DropConstraint(name) => write!(f, "DROP CONSTRAINT {name:#}"),
            AlterCheck { name, enforced: yes } => write!(f, "ALTER CHECK {name:#} {}", enforced(*yes)),
            AlterIndexVisible { name, visible } => write!(f, "ALTER INDEX {name:#} {}", visibility(*visible)),
            RenameIndex { old, new } => write!(f, "RENAME INDEX {old:#} TO {new:#}"),
            RenameTable(name) => write!(f, "RENAME TO {name:#}"),
            Options(options) => List(options, " ").fmt(f),
            ConvertCharset { charset, collation } => {
                write!(f, "CONVERT TO CHARACTER SET {}", charset.as_ref().map_or("DEFAULT", |c| c.as_str()))?;
                collation.as_ref().map_or(Ok(()), |collation| write!(f, " COLLATE {}", collation.as_str()))
            }
            OrderBy(items) => write!(f, "ORDER BY {}", List(items, ", ")),
            EnableKeys(enable) => write!(f, "{} KEYS", if *enable { "ENABLE" } else { "DISABLE" }),
            Force => f.write_str("FORCE"),
            Tablespace { import } => write!(f, "{} TABLESPACE", if *import { "IMPORT" } else { "DISCARD" }),
            _ => self.fmt_partitioning(f),
        }
    }
}

impl AlterAction {
    fn fmt_partitioning(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use AlterAction::*;
        match self {
            PartitionBy(by) => by.fmt(f),
            RemovePartitioning => f.write_str("REMOVE PARTITIONING"),
            AddPartitions(partitions) => write!(f, "ADD PARTITION ({})", List(partitions, ", ")),
            AddPartitionCount(n) => write!(f, "ADD PARTITION PARTITIONS {n}"),
            DropPartitions(names) => write!(f, "DROP PARTITION {}", List(names, ", ")),
            TruncatePartitions(names) => write!(f, "TRUNCATE PARTITION {}", OrAll(names)),
            CoalescePartition(n) => write!(f, "COALESCE PARTITION {n}"),
            ReorganizePartitions { names, .. } if names.is_empty() => f.write_str("REORGANIZE PARTITION"),
            ReorganizePartitions { names, into } => write!(f, "REORGANIZE PARTITION {} INTO ({})", List(names, ", "), List(into, ", ")),
            ExchangePartition { name, table } => write!(f, "EXCHANGE PARTITION {name:#} WITH TABLE {table}"),
            MaintainPartitions { verb, names } => {
                let (verb, tablespace) = verb.split_once(' ').unwrap_or((verb, ""));
                write!(f, "{verb} PARTITION {}{}{tablespace}", OrAll(names), word(!tablespace.is_empty(), " "))
            }
            _ => unreachable!("the other actions are printed by Display"),
        }
    }
}
