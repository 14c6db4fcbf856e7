//! The operators of SQL, as the planner names them.

use std::fmt;

/// An operator. With [`EvalType`](types::EvalType) it selects an implementation; see [`Func::Op`](crate::Func::Op).
///
/// Shapes of the operands that [`build_op`](crate::build_op) expects beyond the obvious:
/// - `In`: the subject, then the list. `Between`: subject, low, high (becomes an `And` of `Ge` and `Le`).
/// - `Case`: condition, result, condition, result …, and the ELSE result if the number of operands is odd. The planner
///   turns `CASE x WHEN v` into conditions `x = v`.
/// - `Row`: the elements of a row constructor; only comparisons, `In` and `Between` accept it.
/// - `And`, `Or` and `Xor` take two operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `DIV`
    IntDiv,
    /// `%`, `MOD`
    Mod,
    /// unary `-`
    Neg,
    /// `=`
    Eq,
    /// `<=>`
    NullEq,
    /// `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `XOR`
    Xor,
    /// `NOT`
    Not,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `~`
    BitNeg,
    /// `LIKE`
    Like {
        /// The escape character; none after `ESCAPE ''`.
        escape: Option<char>,
    },
    /// `REGEXP`, `RLIKE`
    Regexp,
    /// `IN (…)`
    In,
    /// `BETWEEN`
    Between,
    /// `IS NULL`
    IsNull,
    /// `IS TRUE`
    IsTrue,
    /// `IS FALSE`
    IsFalse,
    /// `IS NOT TRUE` is `Not(IsTrue)`; this is `IS UNKNOWN` on a condition.
    IsUnknown,
    /// `CASE`
    Case,
    /// `IF(c, a, b)`
    If,
    /// `IFNULL(a, b)`
    IfNull,
    /// `NULLIF(a, b)`
    NullIf,
    /// `COALESCE(a, …)`
    Coalesce,
    /// `(a, b, …)`
    Row,
}

impl Op {
    /// A comparison of two operands: `= <=> <> < <= > >=`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Op::Eq | Op::NullEq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
    }

    /// The comparison with the operands exchanged (`<` for `>`); `None` for other operators.
    pub fn commuted(self) -> Option<Op> {
        Some(match self {
            Op::Eq | Op::NullEq | Op::Ne => self,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
            _ => return None,
        })
    }

    /// The comparison that is true where this one is false (NULL stays NULL); `None` for other operators and `<=>`.
    pub fn negated(self) -> Option<Op> {
        Some(match self {
            Op::Eq => Op::Ne,
            Op::Ne => Op::Eq,
            Op::Lt => Op::Ge,
            Op::Le => Op::Gt,
            Op::Gt => Op::Le,
            Op::Ge => Op::Lt,
            _ => return None,
        })
    }

    /// The symbol or word that EXPLAIN prints, which is also the name in messages.
    pub fn symbol(self) -> &'static str {
        match self {
            Op::Add => "+",
            Op::Sub | Op::Neg => "-",
            Op::Mul => "*",
            Op::Div => "/",
            Op::IntDiv => "DIV",
            Op::Mod => "%",
            Op::Eq => "=",
            Op::NullEq => "<=>",
            Op::Ne => "<>",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
            Op::And => "and",
            Op::Or => "or",
            Op::Xor => "xor",
            Op::Not => "not",
            Op::BitAnd => "&",
            Op::BitOr => "|",
            Op::BitXor => "^",
            Op::Shl => "<<",
            Op::Shr => ">>",
            Op::BitNeg => "~",
            Op::Like { .. } => "like",
            Op::Regexp => "regexp",
            Op::In => "in",
            Op::Between => "between",
            Op::IsNull => "is null",
            Op::IsTrue => "is true",
            Op::IsFalse => "is false",
            Op::IsUnknown => "is unknown",
            Op::Case => "case",
            Op::If => "if",
            Op::IfNull => "ifnull",
            Op::NullIf => "nullif",
            Op::Coalesce => "coalesce",
            Op::Row => "row",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}
