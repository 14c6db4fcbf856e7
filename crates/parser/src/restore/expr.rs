//! Expressions.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, name::UserVar, word};
use crate::ast::{BinaryOp, CaseExpr, Expr, Ident, IntervalUnit, IsTest, Literal, TemporalKind, UnaryOp, VarScope};

impl BinaryOp {
    fn symbol(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Or => "or",
            Xor => "xor",
            And => "and",
            Eq => "=",
            NullSafeEq => "<=>",
            Ne => "<>",
            Lt => "<",
            Le => "<=",
            Gt => ">",
            Ge => ">=",
            BitOr => "|",
            BitAnd => "&",
            Shl => "<<",
            Shr => ">>",
            Add => "+",
            Sub => "-",
            Mul => "*",
            Div => "/",
            IntDiv => "DIV",
            Mod => "%",
            BitXor => "^",
            SoundsLike => "sounds like",
            MemberOf => "member of",
            JsonExtract => "->",
            JsonUnquote => "->>",
        }
    }

    /// Operators of one level associate to the left; `None` for those that do not associate.
    fn level(self) -> Option<u8> {
        use BinaryOp::*;
        Some(match self {
            Or => 1,
            Xor => 2,
            And => 3,
            Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge => 4,
            BitOr => 5,
            BitAnd => 6,
            Shl | Shr => 7,
            Add | Sub => 8,
            Mul | Div | IntDiv | Mod => 9,
            BitXor => 10,
            SoundsLike | MemberOf | JsonExtract | JsonUnquote => return None,
        })
    }
}

/// A binary operation without its outer parentheses; `flat`: its left side, where it is of the same level, without parentheses too.
fn binary(f: &mut Formatter<'_>, op: BinaryOp, left: &Expr, right: &Expr, flat: bool) -> fmt::Result {
    match op {
        BinaryOp::MemberOf => return write!(f, "{left} member of({right})"),
        BinaryOp::JsonExtract | BinaryOp::JsonUnquote => return write!(f, "{left}{}{right}", op.symbol()),
        _ => {}
    }
    match left {
        Expr::Binary { op: inner, left: l, right: r } if flat && op.level().is_some() && inner.level() == op.level() => {
            binary(f, *inner, l, r, flat)?
        }
        _ => left.fmt(f)?,
    }
    write!(f, " {} {right}", op.symbol())
}

/// Longer chains than this are printed without inner parentheses.
const MAX_NESTED: usize = 32;

/// How many operators of the level of `op` follow each other down the left side; counted no further than needed.
fn chain_len(op: BinaryOp, mut left: &Expr) -> usize {
    let mut len = 0;
    while let Expr::Binary { op: inner, left: l, .. } = left
        && op.level().is_some()
        && inner.level() == op.level()
        && len <= MAX_NESTED
    {
        len += 1;
        left = l;
    }
    len
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal, _) => literal.fmt(f),
            Expr::Param(_) => f.write_str("?"),
            Expr::Column(column) => column.fmt(f),
            Expr::UserVar(name) => UserVar(name).fmt(f),
            Expr::AssignUserVar { name, value } => write!(f, "({} := {value})", UserVar(name)),
            Expr::SystemVar { scope, name } => SystemVar(*scope, name).fmt(f),
            Expr::Unary { op, expr } => unary(f, *op, expr),
            Expr::Binary { op: op @ (BinaryOp::JsonExtract | BinaryOp::JsonUnquote), left, right } => binary(f, *op, left, right, false),
            Expr::Binary { op, left, right } => {
                f.write_str("(")?;
                let flat = matches!(op, BinaryOp::And | BinaryOp::Or) || chain_len(*op, left) > MAX_NESTED;
                binary(f, *op, left, right, flat)?;
                f.write_str(")")
            }
            Expr::Quantified { op, left, all, query } => {
                write!(f, "({left} {} {} ({query}))", op.symbol(), if *all { "all" } else { "any" })
            }
            Expr::Is { expr, test, negated } => {
                let test = match test {
                    IsTest::Null => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                    IsTest::Unknown => "unknown",
                };
                write!(f, "({expr} is {}{test})", word(*negated, "not "))
            }
            Expr::Between { expr, low, high, negated } => write!(f, "({expr} {}between {low} and {high})", word(*negated, "not ")),
            Expr::InList { expr, list, negated } => write!(f, "({expr} {}in ({}))", word(*negated, "not "), List(list, ",")),
            Expr::InSubquery { expr, query, negated } => write!(f, "({expr} {}in ({query}))", word(*negated, "not ")),
            Expr::Like { expr, pattern, escape, negated } => {
                write!(f, "({expr} {}like {pattern}{})", word(*negated, "not "), Opt(" escape ", escape.as_ref()))
            }
            Expr::Regexp { expr, pattern, negated } => write!(f, "({expr} {}regexp {pattern})", word(*negated, "not ")),
            Expr::Exists(query) => write!(f, "exists({query})"),
            Expr::Subquery(query) => write!(f, "({query})"),
            Expr::Row(values) => write!(f, "row({})", List(values, ",")),
            Expr::Case(case) => case.fmt(f),
            _ => self.fmt_function(f),
        }
    }
}

/// `-5`, `-(x)`, `(not x)`.
fn unary(f: &mut Formatter<'_>, op: UnaryOp, expr: &Expr) -> fmt::Result {
    let symbol = match op {
        UnaryOp::Not => return write!(f, "(not {expr})"),
        UnaryOp::Neg => "-",
        UnaryOp::Plus => "+",
        UnaryOp::BitNot => "~",
    };
    match expr {
        Expr::Literal(Literal::Int(_) | Literal::UInt(_) | Literal::Decimal(_) | Literal::Float(_), _) => write!(f, "{symbol}{expr}"),
        _ => write!(f, "{symbol}({expr})"),
    }
}

/// `@@[scope.]name`, the name in backticks where it would be read as something else.
pub(super) struct SystemVar<'a>(pub(super) Option<VarScope>, pub(super) &'a Ident);

impl Display for SystemVar<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let SystemVar(scope, name) = self;
        write!(f, "@@{}", scope.map_or("", scope_prefix))?;
        let word = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
        let parts = || name.split('.');
        let scope_like = scope.is_none() && parts().next().is_some_and(|part| crate::parser::scope_word(part).is_some());
        if parts().count() <= 2 && parts().all(word) && !scope_like { f.write_str(name) } else { write!(f, "{name:#}") }
    }
}

fn scope_prefix(scope: VarScope) -> &'static str {
    match scope {
        VarScope::Global => "global.",
        VarScope::Session => "session.",
        VarScope::Persist => "persist.",
        VarScope::PersistOnly => "persist_only.",
    }
}

impl Display for CaseExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "case{}", Opt(" ", self.operand.as_ref()))?;
        for (when, then) in &self.whens {
            write!(f, " when {when} then {then}")?;
        }
        write!(f, "{} end", Opt(" else ", self.otherwise.as_ref()))
    }
}

impl Display for IntervalUnit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Display for TemporalKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemporalKind::Date => "DATE",
            TemporalKind::Time => "TIME",
            TemporalKind::Timestamp => "TIMESTAMP",
        })
    }
}
