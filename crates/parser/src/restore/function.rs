//! Calls of functions.

use std::fmt::{self, Display, Formatter};

use super::{List, Opt, Quoted, name::Bytes, word};
use crate::ast::{
    AggregateCall, AggregateFunc, CastExpr, CastType, Expr, FuncCall, Ident, JsonOnResponse, JsonValueExpr, MatchAgainst, Over, TrimSide,
    WindowCall,
};
use crate::lexer::Kw;

impl Expr {
    pub(super) fn fmt_function(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Func(call) => call.fmt(f),
            Expr::Aggregate(call) => call.fmt(f),
            Expr::Window(call) => call.fmt(f),
            Expr::Cast(cast) => cast.fmt(f),
            Expr::ConvertUsing { expr, charset } => write!(f, "convert({expr} using {})", charset.as_str()),
            // The operand of a sign would take COLLATE for itself, hence the parentheses.
            Expr::Collate { expr, collation } => write!(f, "({expr} collate {})", collation.as_str()),
            Expr::Extract { unit, expr } => write!(f, "extract({unit} from {expr})"),
            Expr::DateArith(arith) => {
                let sign = if arith.subtract { "-" } else { "+" };
                write!(f, "({} {sign} interval {} {})", arith.date, arith.amount, arith.unit)
            }
            Expr::TimestampAdd { unit, amount, expr } => write!(f, "timestampadd({unit},{amount},{expr})"),
            Expr::TimestampDiff { unit, from, to } => write!(f, "timestampdiff({unit},{from},{to})"),
            Expr::Trim { side, remove, expr } => {
                let side = match side {
                    TrimSide::Leading => "leading",
                    TrimSide::Trailing => "trailing",
                    TrimSide::Both => "both",
                };
                match remove {
                    Some(remove) => write!(f, "trim({side} {remove} from {expr})"),
                    None => write!(f, "trim({side} from {expr})"),
                }
            }
            Expr::Char { args, charset } => {
                write!(f, "char({}", List(args, ","))?;
                if let Some(charset) = charset {
                    write!(f, " using {}", charset.as_str())?;
                }
                f.write_str(")")
            }
            Expr::WeightString { expr, pad: None } => write!(f, "weight_string({expr})"),
            Expr::WeightString { expr, pad: Some((binary, n)) } => {
                write!(f, "weight_string({expr} as {}({n}))", if *binary { "binary" } else { "char" })
            }
            Expr::GetFormat { kind, expr } => write!(f, "get_format({kind},{expr})"),
            Expr::TemporalLiteral { kind, text, .. } => write!(f, "{kind}{}", Quoted(text)),
            Expr::MatchAgainst(m) => m.fmt(f),
            Expr::Default(None) => f.write_str("default"),
            Expr::Default(Some(column)) => write!(f, "default({column:#})"),
            Expr::Values(column) => write!(f, "values({column:#})"),
            Expr::JsonValue(j) => j.fmt(f),
            _ => unreachable!("operators and operands are printed by Display of Expr"),
        }
    }
}

/// Functions with nodes of their own or another name in the tree: a plain call was written with quotes or a blank, and is some
/// other function.
const OWN_NODES: &[&str] = &[
    "adddate",
    "cast",
    "date_add",
    "date_sub",
    "extract",
    "get_format",
    "json_value",
    "mid",
    "position",
    "session_user",
    "subdate",
    "substr",
    "system_user",
    "timestampadd",
    "timestampdiff",
    "trim",
    "weight_string",
];

/// Reserved words that are functions before `(`.
const RESERVED_FUNCTIONS: &[&str] = &[
    "current_user",
    "database",
    "grouping",
    "if",
    "insert",
    "left",
    "repeat",
    "replace",
    "right",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// Whether the name can stand before `(` without quotes.
fn plain_name(name: &str) -> bool {
    let own = OWN_NODES.contains(&name) || crate::parser::is_aggregate(name);
    let reserved = Kw::lookup(name.as_bytes()).is_some_and(Kw::is_reserved) && !RESERVED_FUNCTIONS.contains(&name);
    let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && name.starts_with(|c: char| !c.is_ascii_digit());
    word && !own && !reserved
}

impl Display for FuncCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lower = self.name.to_ascii_lowercase();
        match &self.schema {
            Some(schema) => write!(f, "{schema:#}.{:#}", self.name)?,
            None if plain_name(&lower) || (lower == "interval" && self.args.len() > 1) => f.write_str(&lower)?,
            None => write!(f, "{:#}", Ident::from(lower))?,
        }
        write!(f, "({})", List(&self.args, ","))
    }
}

impl Display for AggregateCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}", self.func.name(), word(self.distinct, "distinct "))?;
        if self.args.is_empty() {
            f.write_str("*")?;
        }
        List(&self.args, ",").fmt(f)?;
        if !self.order_by.is_empty() {
            write!(f, " order by {}", List(&self.order_by, ","))?;
        }
        if let Some(separator) = &self.separator {
            write!(f, " separator {}", Bytes(separator))?;
        } else if self.func == AggregateFunc::GroupConcat {
            f.write_str(" separator ','")?;
        }
        write!(f, "){}", Opt(" over ", self.over.as_ref()))
    }
}

impl Display for WindowCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.func.name(), List(&self.args, ","))?;
        f.write_str(word(self.from_last, " from last"))?;
        f.write_str(word(self.ignore_nulls, " ignore nulls"))?;
        write!(f, " over {}", self.over)
    }
}

impl Display for Over {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Over::Named(name) => write!(f, "{name:#}"),
            Over::Spec(spec) => spec.fmt(f),
        }
    }
}

impl Display for CastExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.binary_operator {
            return write!(f, "(binary {})", self.expr);
        }
        write!(f, "cast({} as {}{})", self.expr, self.target, word(self.array, " array"))
    }
}

impl Display for CastType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let length = |f: &mut Formatter<'_>, length: &Option<u64>| length.map_or(Ok(()), |n| write!(f, "({n})"));
        let fsp = |f: &mut Formatter<'_>, fsp: u8| if fsp == 0 { Ok(()) } else { write!(f, "({fsp})") };
        match self {
            CastType::Signed => f.write_str("signed"),
            CastType::Unsigned => f.write_str("unsigned"),
            CastType::Char { length: n, charset } => {
                f.write_str("char")?;
                length(f, n)?;
                charset.as_ref().map_or(Ok(()), |c| write!(f, " charset {}", c.as_str()))
            }
            CastType::Binary(n) => {
                f.write_str("binary")?;
                length(f, n)
            }
            CastType::Date => f.write_str("date"),
            CastType::Time(n) => {
                f.write_str("time")?;
                fsp(f, *n)
            }
            CastType::DateTime(n) => {
                f.write_str("datetime")?;
                fsp(f, *n)
            }
            CastType::Year => f.write_str("year"),
            CastType::Decimal(precision, scale) => write!(f, "decimal({precision},{scale})"),
            CastType::Float => f.write_str("float"),
            CastType::Double => f.write_str("double"),
            CastType::Json => f.write_str("json"),
            CastType::Spatial(name) => f.write_str(name.name()),
        }
    }
}

impl Display for MatchAgainst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "(match ({}) against ({}", List(&self.columns, ","), self.against)?;
        f.write_str(word(self.boolean_mode, " in boolean mode"))?;
        write!(f, "{}))", word(self.query_expansion, " with query expansion"))
    }
}

impl Display for JsonOnResponse {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            JsonOnResponse::Null => f.write_str("null"),
            JsonOnResponse::Error => f.write_str("error"),
            JsonOnResponse::Default(value) => write!(f, "default {value}"),
        }
    }
}

/// `[… on empty] [… on error]`.
pub(super) fn json_responses(f: &mut Formatter<'_>, on_empty: &Option<JsonOnResponse>, on_error: &Option<JsonOnResponse>) -> fmt::Result {
    if let Some(response) = on_empty {
        write!(f, " {response} on empty")?;
    }
    if let Some(response) = on_error {
        write!(f, " {response} on error")?;
    }
    Ok(())
}

impl Display for JsonValueExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "json_value({}, {}{}", self.doc, self.path, Opt(" returning ", self.returning.as_ref()))?;
        json_responses(f, &self.on_empty, &self.on_error)?;
        f.write_str(")")
    }
}
