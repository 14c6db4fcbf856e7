//! INSERT, UPDATE, DELETE, LOAD DATA.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Parens, Quoted, select::Hints, select::tail, word};
use crate::ast::{
    Assignment, DeleteStmt, DmlPriority, DuplicateMode, FieldsFormat, InsertSource, InsertStmt, LinesFormat, LoadDataStmt, RowAlias,
    UpdateStmt,
};

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.column, self.value)
    }
}

impl Display for DuplicateMode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DuplicateMode::Replace => "replace",
            DuplicateMode::Ignore => "ignore",
        })
    }
}

impl Display for InsertStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.replace { "replace" } else { "insert" }, Hints(&self.hints))?;
        f.write_str(match self.priority {
            None => "",
            Some(DmlPriority::Low) => "low_priority ",
            Some(DmlPriority::Delayed) => "delayed ",
            Some(DmlPriority::High) => "high_priority ",
        })?;
        write!(f, "{}into {}{}", word(self.ignore, "ignore "), self.table, Parens(" partition ", &self.partitions))?;
        write!(f, "{}", Parens(" ", &self.columns))?;
        match &self.source {
            InsertSource::Values(rows) => {
                for (i, row) in rows.iter().enumerate() {
                    write!(f, "{}({})", if i == 0 { " values " } else { "," }, List(row, ","))?;
                }
            }
            InsertSource::Query(query) => write!(f, " {query}")?,
        }
        write!(f, "{}", Opt(" as ", self.row_alias.as_ref()))?;
        if !self.on_duplicate.is_empty() {
            write!(f, " on duplicate key update {}", List(&self.on_duplicate, ","))?;
        }
        Ok(())
    }
}

impl Display for RowAlias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}{}", self.name, Parens(" ", &self.columns))
    }
}

impl Display for UpdateStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        write!(f, "update {}{}{}", Hints(&self.hints), word(self.low_priority, "low_priority "), word(self.ignore, "ignore "))?;
        write!(f, "{} set {}", List(&self.tables, ", "), List(&self.assignments, ","))?;
        write!(f, "{}", Opt(" where ", self.where_clause.as_ref()))?;
        tail(f, &self.order_by, &self.limit)
    }
}

impl Display for DeleteStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        write!(f, "delete {}{}", Hints(&self.hints), word(self.low_priority, "low_priority "))?;
        write!(f, "{}{}", word(self.quick, "quick "), word(self.ignore, "ignore "))?;
        match (self.targets.is_empty(), self.using) {
            (true, _) => f.write_str("from ")?,
            (false, true) => write!(f, "from {} using ", List(&self.targets, ","))?,
            (false, false) => write!(f, "{} from ", List(&self.targets, ","))?,
        }
        if self.targets.is_empty()
            && let [crate::ast::TableRef::Table(table)] = &self.from[..]
        {
            // Here the alias stands before the partitions.
            write!(f, "{}{}{}", table.name, Opt(" ", table.alias.as_ref()), Parens(" partition ", &table.partitions))?;
        } else {
            write!(f, "{}", List(&self.from, ", "))?;
        }
        write!(f, "{}", Opt(" where ", self.where_clause.as_ref()))?;
        tail(f, &self.order_by, &self.limit)
    }
}

impl Display for LoadDataStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("load data ")?;
        f.write_str(match self.priority {
            None => "",
            Some(DmlPriority::Low) => "low_priority ",
            Some(_) => "concurrent ",
        })?;
        write!(f, "{}infile {}{}", word(self.local, "local "), Quoted(&self.file), Opt(" ", self.on_duplicate.as_ref()))?;
        write!(f, " into table {}{}", self.table, Parens(" partition ", &self.partitions))?;
        write!(f, "{}{}{}", Opt(" character set ", self.charset.as_ref()), self.fields, self.lines)?;
        if self.ignore_lines > 0 {
            write!(f, " ignore {} lines", self.ignore_lines)?;
        }
        write!(f, "{}", Parens(" ", &self.columns))?;
        if self.set.is_empty() { Ok(()) } else { write!(f, " set {}", List(&self.set, ",")) }
    }
}

impl Display for FieldsFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self == FieldsFormat::default() {
            return Ok(());
        }
        f.write_str(" fields")?;
        if let Some(text) = &self.terminated {
            write!(f, " terminated by {}", Quoted(text))?;
        }
        if let Some(text) = &self.enclosed {
            write!(f, " {}enclosed by {}", word(self.optionally, "optionally "), Quoted(text))?;
        }
        self.escaped.as_ref().map_or(Ok(()), |text| write!(f, " escaped by {}", Quoted(text)))
    }
}

impl Display for LinesFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if *self == LinesFormat::default() {
            return Ok(());
        }
        f.write_str(" lines")?;
        if let Some(text) = &self.starting {
            write!(f, " starting by {}", Quoted(text))?;
        }
        self.terminated.as_ref().map_or(Ok(()), |text| write!(f, " terminated by {}", Quoted(text)))
    }
}
