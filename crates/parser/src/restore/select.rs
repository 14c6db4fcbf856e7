//! Queries and what they read from.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Parens, Quoted, function::json_responses, name::UserVar, word};
use crate::ast::{
    Cte, DerivedTable, Expr, FrameBound, FrameUnit, HintArg, IndexHint, IndexHintKind, IndexHintScope, IntervalUnit, IntoClause, Join,
    JoinConstraint, JoinKind, JsonTable, JsonTableColumn, Limit, LockClause, LockStrength, LockWait, OptimizerHint, OrderItem, OutfileSpec,
    Query, QueryBody, SelectItem, SelectOptions, SelectStmt, SetOperator, SetOpr, TableFactor, TableRef, WindowFrame, WindowSpec, With,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        self.body.fmt(f)?;
        tail(f, &self.order_by, &self.limit)?;
        if let Some(into) = &self.into {
            write!(f, " into {into}")?;
        }
        for lock in &self.locks {
            write!(f, " {lock}")?;
        }
        Ok(())
    }
}

/// `[ORDER BY …] [LIMIT …]`.
pub(super) fn tail(f: &mut Formatter<'_>, order_by: &[OrderItem], limit: &Option<Limit>) -> fmt::Result {
    if !order_by.is_empty() {
        write!(f, " order by {}", List(order_by, ","))?;
    }
    write!(f, "{}", Opt(" limit ", limit.as_ref()))
}

impl Display for QueryBody {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            QueryBody::Select(select) => select.fmt(f),
            QueryBody::SetOpr(op) => op.fmt(f),
            QueryBody::Values(rows) => {
                for (i, row) in rows.iter().enumerate() {
                    write!(f, "{}row({})", if i == 0 { "values " } else { ", " }, List(row, ","))?;
                }
                Ok(())
            }
            QueryBody::Table(name) => write!(f, "table {name:#}"),
            QueryBody::Query(query) => write!(f, "({query})"),
        }
    }
}

impl Display for SetOpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tight = |op: SetOperator| op == SetOperator::Intersect;
        match &self.left {
            // Operators of one strength associate to the left, and INTERSECT binds tighter.
            QueryBody::SetOpr(inner) if tight(self.op) && !tight(inner.op) => write!(f, "({inner})")?,
            left => left.fmt(f)?,
        }
        let op = match self.op {
            SetOperator::Union => "union",
            SetOperator::Intersect => "intersect",
            SetOperator::Except => "except",
        };
        write!(f, " {op} {}", word(self.all, "all "))?;
        match &self.right {
            QueryBody::SetOpr(inner) => write!(f, "({inner})"),
            right => right.fmt(f),
        }
    }
}

impl Display for SelectStmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "select {}{}{}", Hints(&self.hints), self.options, List(&self.items, ","))?;
        if self.dual {
            f.write_str(" from dual")?;
        } else if !self.from.is_empty() {
            write!(f, " from {}", List(&self.from, ", "))?;
        }
        write!(f, "{}", Opt(" where ", self.where_clause.as_ref()))?;
        if !self.group_by.is_empty() {
            write!(f, " group by {}{}", List(&self.group_by, ","), word(self.rollup, " with rollup"))?;
        }
        write!(f, "{}", Opt(" having ", self.having.as_ref()))?;
        for (i, (name, spec)) in self.windows.iter().enumerate() {
            write!(f, "{}{name:#} as {spec}", if i == 0 { " window " } else { ", " })?;
        }
        Ok(())
    }
}

impl Display for SelectOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words = [
            (self.distinct, "distinct "),
            (self.high_priority, "high_priority "),
            (self.straight_join, "straight_join "),
            (self.sql_small_result, "sql_small_result "),
            (self.sql_big_result, "sql_big_result "),
            (self.sql_buffer_result, "sql_buffer_result "),
            (self.sql_no_cache, "sql_no_cache "),
            (self.sql_calc_found_rows, "sql_calc_found_rows "),
        ];
        words.into_iter().try_for_each(|(written, text)| f.write_str(word(written, text)))
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SelectItem::Wildcard => f.write_str("*"),
            SelectItem::TableWildcard(table) => write!(f, "{table}.*"),
            SelectItem::Expr { expr, alias, .. } => write!(f, "{expr}{}", Opt(" AS ", alias.as_ref())),
        }
    }
}

impl Display for TableRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TableRef::Table(table) => table.fmt(f),
            TableRef::Derived(derived) => derived.fmt(f),
            TableRef::Join(join) => join.fmt(f),
            TableRef::JsonTable(table) => table.fmt(f),
        }
    }
}

impl Display for TableFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.name, Parens(" partition ", &self.partitions), Opt(" ", self.alias.as_ref()))?;
        self.index_hints.iter().try_for_each(|hint| write!(f, " {hint}"))
    }
}

impl Display for DerivedTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", word(self.lateral, "lateral "), self.query)?;
        write!(f, "{}{}", Opt(" ", self.alias.as_ref()), Parens(" ", &self.columns))
    }
}

impl Display for Join {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // A join on the left needs no parentheses; one on the right does.
        self.left.fmt(f)?;
        let kind = match self.kind {
            JoinKind::Inner => "join",
            JoinKind::Left => "left join",
            JoinKind::Right => "right join",
            JoinKind::Straight => "straight_join",
        };
        write!(f, " {}{kind} ", word(self.natural, "natural "))?;
        match &self.right {
            TableRef::Join(join) => write!(f, "({join})")?,
            right => right.fmt(f)?,
        }
        match &self.constraint {
            Some(JoinConstraint::On(expr)) => write!(f, " on {expr}"),
            Some(JoinConstraint::Using(columns)) => write!(f, " using ({})", List(columns, ",")),
            None => Ok(()),
        }
    }
}

impl Display for IndexHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            IndexHintKind::Use => "use index ",
            IndexHintKind::Force => "force index ",
            IndexHintKind::Ignore => "ignore index ",
        })?;
        f.write_str(match self.scope {
            None => "",
            Some(IndexHintScope::Join) => "for join ",
            Some(IndexHintScope::OrderBy) => "for order by ",
            Some(IndexHintScope::GroupBy) => "for group by ",
        })?;
        write!(f, "({})", List(&self.indexes, ","))
    }
}

/// `/*+ … */ ` when there are hints.
pub(super) struct Hints<'a>(pub(super) &'a [OptimizerHint]);

impl Display for Hints<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "/*+ {} */ ", List(self.0, " ")) }
    }
}

impl Display for OptimizerHint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.name, Opt("@", self.query_block.as_ref()))?;
        if self.query_block.is_some() && !self.args.is_empty() {
            f.write_str(" ")?;
        }
        write!(f, "{})", List(&self.args, ", "))
    }
}

impl Display for HintArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            HintArg::Name { schema, name, query_block } => {
                if let Some(schema) = schema {
                    write!(f, "{schema:#}.")?;
                }
                write!(f, "{name:#}{}", Opt("@", query_block.as_ref()))
            }
            HintArg::QueryBlock(block) => write!(f, "@{block:#}"),
            HintArg::Int(n) => n.fmt(f),
            HintArg::Assign(name, value) => write!(f, "{}={}", name.as_str(), Quoted(value)),
            HintArg::Str(text) => Quoted(text).fmt(f),
        }
    }
}

impl Display for OrderItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.expr, word(self.desc, " desc"))
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.offset, self.comma) {
            (Some(offset), true) => write!(f, "{offset},{}", self.count),
            (Some(offset), false) => write!(f, "{} offset {offset}", self.count),
            (None, _) => self.count.fmt(f),
        }
    }
}

impl Display for LockClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.strength {
            LockStrength::Update => "for update",
            LockStrength::Share => "for share",
        })?;
        if !self.of.is_empty() {
            write!(f, " of {}", List(&self.of, ","))?;
        }
        f.write_str(match self.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        })
    }
}

impl Display for IntoClause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            IntoClause::Vars(names) => {
                for (i, name) in names.iter().enumerate() {
                    write!(f, "{}{}", word(i > 0, ","), UserVar(name))?;
                }
                Ok(())
            }
            IntoClause::Outfile(spec) => spec.fmt(f),
            IntoClause::Dumpfile(file) => write!(f, "dumpfile {}", Quoted(file)),
        }
    }
}

impl Display for OutfileSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "outfile {}{}{}{}", Quoted(&self.file), Opt(" character set ", self.charset.as_ref()), self.fields, self.lines)
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "with {}{}", word(self.recursive, "recursive "), List(&self.ctes, ", "))
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}{} as ({})", self.name, Parens(" ", &self.columns), self.query)
    }
}

impl Display for WindowSpec {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({}", Opt("", self.base.as_ref()))?;
        if !self.partition_by.is_empty() {
            write!(f, " partition by {}", List(&self.partition_by, ","))?;
        }
        tail(f, &self.order_by, &None)?;
        write!(f, "{})", Opt(" ", self.frame.as_ref()))
    }
}

impl Display for WindowFrame {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            FrameUnit::Rows => "rows",
            FrameUnit::Range => "range",
            FrameUnit::Groups => "groups",
        };
        match &self.end {
            Some(end) => write!(f, "{unit} between {} and {end}", self.start),
            None => write!(f, "{unit} {}", self.start),
        }
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let amount = |f: &mut Formatter<'_>, expr: &Expr, unit: &Option<IntervalUnit>| match unit {
            Some(unit) => write!(f, "interval {expr} {unit}"),
            None => expr.fmt(f),
        };
        match self {
            FrameBound::UnboundedPreceding => f.write_str("unbounded preceding"),
            FrameBound::Preceding(expr, unit) => {
                amount(f, expr, unit)?;
                f.write_str(" preceding")
            }
            FrameBound::CurrentRow => f.write_str("current row"),
            FrameBound::Following(expr, unit) => {
                amount(f, expr, unit)?;
                f.write_str(" following")
            }
            FrameBound::UnboundedFollowing => f.write_str("unbounded following"),
        }
    }
}

impl Display for JsonTable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "json_table({}, {} columns ({}))", self.doc, Quoted(&self.path), List(&self.columns, ", "))?;
        write!(f, "{}", Opt(" ", self.alias.as_ref()))
    }
}

impl Display for JsonTableColumn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonTableColumn::Ordinality(name) => write!(f, "{name:#} for ordinality"),
            JsonTableColumn::Path { name, ty, exists, path, on_empty, on_error } => {
                write!(f, "{name:#} {ty}{} path {}", word(*exists, " exists"), Quoted(path))?;
                json_responses(f, on_empty, on_error)
            }
            JsonTableColumn::Nested { path, columns } => write!(f, "nested path {} columns ({})", Quoted(path), List(columns, ", ")),
        }
    }
}
