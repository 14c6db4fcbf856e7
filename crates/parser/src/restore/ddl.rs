//! Databases, tables, columns, indexes, views, partitions.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Parens, Quoted, word};
use crate::ast::{
    CheckDef, CheckOption, ColumnDef, ColumnOption, ColumnType, CreateIndexStmt, CreateTableStmt, CreateViewStmt, DatabaseOption,
    ForeignKeyDef, IndexDef, IndexKey, IndexKind, IndexOption, IndexPart, MatchKind, OnlineOptions, OptionValue, PartitionBy, PartitionDef,
    PartitionMethod, PartitionValues, ReferenceAction, ReferenceDef, TableConstraint, TableOption,
};

impl Display for ColumnType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.name())?;
        match (self.length, self.decimals) {
            (Some(length), Some(decimals)) => write!(f, "({length},{decimals})")?,
            (Some(length), None) => write!(f, "({length})")?,
            _ => {}
        }
        for (i, value) in self.values.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "(" } else { "," }, Quoted(value))?;
        }
        f.write_str(word(!self.values.is_empty(), ")"))?;
        f.write_str(word(self.unsigned, " unsigned"))?;
        f.write_str(word(self.zerofill, " zerofill"))?;
        if let Some(charset) = &self.charset {
            write!(f, " CHARACTER SET {}", charset.as_str())?;
        }
        f.write_str(word(self.binary, " BINARY"))?;
        self.collation.as_ref().map_or(Ok(()), |collation| write!(f, " COLLATE {}", collation.as_str()))
    }
}

impl Display for ColumnDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#} {}", self.name, self.ty)?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

fn engine_attribute(f: &mut Formatter<'_>, secondary: bool, value: &str) -> fmt::Result {
    write!(f, "{}ENGINE_ATTRIBUTE={}", word(secondary, "SECONDARY_"), Quoted(value))
}

impl Display for ColumnOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ColumnOption::Null => f.write_str("NULL"),
            ColumnOption::NotNull => f.write_str("NOT NULL"),
            ColumnOption::Default(expr) => write!(f, "DEFAULT {expr}"),
            ColumnOption::DefaultExpr(expr) => write!(f, "DEFAULT ({expr})"),
            ColumnOption::OnUpdate(expr) => write!(f, "ON UPDATE {expr}"),
            ColumnOption::AutoIncrement => f.write_str("AUTO_INCREMENT"),
            ColumnOption::PrimaryKey => f.write_str("PRIMARY KEY"),
            ColumnOption::Unique => f.write_str("UNIQUE KEY"),
            ColumnOption::Comment(text) => write!(f, "COMMENT {}", Quoted(text)),
            ColumnOption::Collate(name) => write!(f, "COLLATE {}", name.as_str()),
            ColumnOption::Generated { expr, stored } => {
                write!(f, "GENERATED ALWAYS AS ({expr}) {}", if *stored { "STORED" } else { "VIRTUAL" })
            }
            ColumnOption::Check(check) => check.fmt(f),
            ColumnOption::References(reference) => reference.fmt(f),
            ColumnOption::Visible(visible) => f.write_str(visibility(*visible)),
            ColumnOption::ColumnFormat(format) => write!(f, "COLUMN_FORMAT {}", format.as_str()),
            ColumnOption::Storage(storage) => write!(f, "STORAGE {}", storage.as_str()),
            ColumnOption::EngineAttribute { secondary, value } => engine_attribute(f, *secondary, value),
            ColumnOption::Srid(srid) => write!(f, "SRID {srid}"),
            ColumnOption::NotSecondary => f.write_str("NOT SECONDARY"),
        }
    }
}

pub(super) fn visibility(visible: bool) -> &'static str {
    if visible { "VISIBLE" } else { "INVISIBLE" }
}

impl Display for CheckDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "CONSTRAINT {name:#} ")?;
        }
        write!(f, "CHECK ({}){}", self.expr, word(!self.enforced, " NOT ENFORCED"))
    }
}

impl Display for TableConstraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableConstraint::Index(index) => index.fmt(f),
            TableConstraint::ForeignKey(key) => key.fmt(f),
            TableConstraint::Check(check) => check.fmt(f),
        }
    }
}

impl Display for IndexDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            IndexKind::Primary => "PRIMARY KEY",
            IndexKind::Unique => "UNIQUE KEY",
            IndexKind::Index => "KEY",
            IndexKind::FullText => "FULLTEXT KEY",
            IndexKind::Spatial => "SPATIAL KEY",
        })?;
        write!(f, "{} ({})", Opt(" ", self.name.as_ref()), List(&self.parts, ","))?;
        index_options(f, &self.options)
    }
}

fn index_options(f: &mut Formatter<'_>, options: &[IndexOption]) -> fmt::Result {
    options.iter().try_for_each(|option| write!(f, " {option}"))
}

impl Display for IndexPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.key {
            IndexKey::Column { name, length: Some(length) } => write!(f, "{name:#}({length})")?,
            IndexKey::Column { name, length: None } => write!(f, "{name:#}")?,
            IndexKey::Expr(expr) => write!(f, "({expr})")?,
        }
        f.write_str(word(self.desc, " DESC"))
    }
}

impl Display for IndexOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            IndexOption::Using(name) => write!(f, "USING {}", name.as_str()),
            IndexOption::KeyBlockSize(size) => write!(f, "KEY_BLOCK_SIZE={size}"),
            IndexOption::Parser(name) => write!(f, "WITH PARSER {name:#}"),
            IndexOption::Comment(text) => write!(f, "COMMENT {}", Quoted(text)),
            IndexOption::Visible(visible) => f.write_str(visibility(*visible)),
            IndexOption::EngineAttribute { secondary, value } => engine_attribute(f, *secondary, value),
        }
    }
}

impl Display for ForeignKeyDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "CONSTRAINT {name:#} ")?;
        }
        write!(f, "FOREIGN KEY{} ({}) {}", Opt(" ", self.index_name.as_ref()), List(&self.columns, ", "), self.reference)
    }
}

impl Display for ReferenceDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "REFERENCES {}{}", self.table, Parens(" ", &self.columns))?;
        f.write_str(match self.match_kind {
            None => "",
            Some(MatchKind::Full) => " MATCH FULL",
            Some(MatchKind::Partial) => " MATCH PARTIAL",
            Some(MatchKind::Simple) => " MATCH SIMPLE",
        })?;
        write!(f, "{}{}", Opt(" ON DELETE ", self.on_delete.as_ref()), Opt(" ON UPDATE ", self.on_update.as_ref()))
    }
}

impl Display for ReferenceAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::SetDefault => "SET DEFAULT",
        })
    }
}

impl Display for TableOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableOption::Engine(name) => write!(f, "ENGINE={}", Quoted(name)),
            TableOption::AutoIncrement(next) => write!(f, "AUTO_INCREMENT={next}"),
            TableOption::Charset(name) => write!(f, "DEFAULT CHARSET={}", name.as_str()),
            TableOption::Collate(name) => write!(f, "COLLATE={}", name.as_str()),
            TableOption::Comment(text) => write!(f, "COMMENT={}", Quoted(text)),
            TableOption::Union(tables) => write!(f, "UNION=({})", List(tables, ",")),
            TableOption::Other("STORAGE", value) => write!(f, "STORAGE {value}"),
            TableOption::Other(name, value) => write!(f, "{name:#}={value}"),
        }
    }
}

impl Display for OptionValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Int(n) => n.fmt(f),
            OptionValue::Str(text) => Quoted(text).fmt(f),
            OptionValue::Word(word) => f.write_str(word),
        }
    }
}

impl Display for DatabaseOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseOption::Charset(name) => write!(f, "CHARACTER SET {}", name.as_str()),
            DatabaseOption::Collate(name) => write!(f, "COLLATE {}", name.as_str()),
            DatabaseOption::Encryption(value) => write!(f, "ENCRYPTION {}", Quoted(value)),
            DatabaseOption::ReadOnly(on) => write!(f, "READ ONLY = {}", u8::from(*on)),
        }
    }
}

impl Display for CreateTableStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "CREATE {}TABLE {}", word(self.temporary, "TEMPORARY "), word(self.if_not_exists, "IF NOT EXISTS "))?;
        self.name.fmt(f)?;
        if let Some(like) = &self.like {
            return write!(f, " LIKE {like}");
        }
        if !self.columns.is_empty() || !self.constraints.is_empty() {
            let comma = word(!self.columns.is_empty() && !self.constraints.is_empty(), ", ");
            write!(f, " ({}{comma}{})", List(&self.columns, ", "), List(&self.constraints, ", "))?;
        }
        self.options.iter().try_for_each(|option| write!(f, " {option}"))?;
        write!(f, "{}{}", Opt(" ", self.partition_by.as_ref()), Opt(" ", self.duplicate_mode.as_ref()))?;
        write!(f, "{}", Opt(" AS ", self.query.as_ref()))
    }
}

impl Display for OnlineOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(algorithm) = &self.algorithm {
            write!(f, " ALGORITHM={}", algorithm.as_str())?;
        }
        self.lock.as_ref().map_or(Ok(()), |lock| write!(f, " LOCK={}", lock.as_str()))
    }
}

impl Display for CreateIndexStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.index.kind {
            IndexKind::Unique => "UNIQUE ",
            IndexKind::FullText => "FULLTEXT ",
            IndexKind::Spatial => "SPATIAL ",
            IndexKind::Primary | IndexKind::Index => "",
        };
        write!(f, "CREATE {kind}INDEX{}", word(self.if_not_exists, " IF NOT EXISTS"))?;
        write!(f, "{} ON {} ({})", Opt(" ", self.index.name.as_ref()), self.table, List(&self.index.parts, ","))?;
        index_options(f, &self.index.options)?;
        self.online.fmt(f)
    }
}

impl Display for CreateViewStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.alter { "ALTER" } else { "CREATE" }, word(self.or_replace, "OR REPLACE "))?;
        if let Some(algorithm) = &self.algorithm {
            write!(f, "ALGORITHM={} ", algorithm.as_str())?;
        }
        if let Some(definer) = &self.definer {
            write!(f, "DEFINER={definer} ")?;
        }
        f.write_str(match self.invoker {
            None => "",
            Some(true) => "SQL SECURITY INVOKER ",
            Some(false) => "SQL SECURITY DEFINER ",
        })?;
        write!(f, "VIEW {}{} AS {}", self.name, Parens(" ", &self.columns), self.query)?;
        f.write_str(match self.check_option {
            None => "",
            Some(CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
            Some(CheckOption::Local) => " WITH LOCAL CHECK OPTION",
        })
    }
}

impl Display for PartitionBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PARTITION BY {}{}", self.method, Opt(" PARTITIONS ", self.count.as_ref()))?;
        write!(f, "{}", Opt(" SUBPARTITION BY ", self.subpartition.as_ref()))?;
        write!(f, "{}{}", Opt(" SUBPARTITIONS ", self.subpartition_count.as_ref()), Parens(" ", &self.partitions))
    }
}

impl Display for PartitionMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PartitionMethod::Hash { linear, expr } => write!(f, "{}HASH ({expr})", word(*linear, "LINEAR ")),
            PartitionMethod::Key { linear, algorithm, columns } => {
                write!(f, "{}KEY{} ({})", word(*linear, "LINEAR "), Opt(" ALGORITHM=", algorithm.as_ref()), List(columns, ","))
            }
            PartitionMethod::Range(expr) => write!(f, "RANGE ({expr})"),
            PartitionMethod::RangeColumns(columns) => write!(f, "RANGE COLUMNS({})", List(columns, ",")),
            PartitionMethod::List(expr) => write!(f, "LIST ({expr})"),
            PartitionMethod::ListColumns(columns) => write!(f, "LIST COLUMNS({})", List(columns, ",")),
        }
    }
}

impl Display for PartitionDef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "PARTITION {:#}{}", self.name, Opt(" VALUES ", self.values.as_ref()))?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))?;
        for (i, (name, options)) in self.subpartitions.iter().enumerate() {
            write!(f, "{}SUBPARTITION {name:#}", if i == 0 { " (" } else { ", " })?;
            options.iter().try_for_each(|option| write!(f, " {option}"))?;
        }
        f.write_str(word(!self.subpartitions.is_empty(), ")"))
    }
}

impl Display for PartitionValues {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PartitionValues::In(values) => write!(f, "IN ({})", List(values, ",")),
            PartitionValues::LessThan(bounds) => {
                f.write_str("LESS THAN (")?;
                for (i, bound) in bounds.iter().enumerate() {
                    f.write_str(word(i > 0, ","))?;
                    match bound {
                        Some(expr) => expr.fmt(f)?,
                        None => f.write_str("MAXVALUE")?,
                    }
                }
                f.write_str(")")
            }
        }
    }
}
