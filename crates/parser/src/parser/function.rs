//! Calls of functions: by plain name, aggregates, and the functions whose names are keywords.
//!
//! MySQL treats some names (`COUNT`, `SUM`, `NOW`, `TRIM`, …) as its own functions only when `(` follows without a blank,
//! unless the SQL mode has IGNORE_SPACE; otherwise they are names like any other.

use super::{Parser, Result};
use crate::{
    ast::{AggregateCall, AggregateFunc, Expr, FuncCall, OrderItem},
    lexer::{Kw, Tok},
};

/// How an aggregate's arguments look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AggregateArgs {
    /// `[ALL | DISTINCT] x`.
    One,
    /// As `One`, with `*` and `DISTINCT a, b`.
    Count,
    /// One without DISTINCT.
    Plain,
    /// Two without DISTINCT.
    Pair,
    /// GROUP_CONCAT.
    Concat,
    /// Any number without DISTINCT.
    Many,
}

fn aggregate(name: &str) -> Option<(AggregateFunc, AggregateArgs)> {
    use AggregateArgs::*;
    use AggregateFunc as F;
    Some(match name {
        "count" => (F::Count, Count),
        "sum" => (F::Sum, One),
        "avg" => (F::Avg, One),
        "min" => (F::Min, One),
        "max" => (F::Max, One),
        "bit_and" => (F::BitAnd, Plain),
        "bit_or" => (F::BitOr, Plain),
        "bit_xor" => (F::BitXor, Plain),
        "std" | "stddev" | "stddev_pop" => (F::StdPop, Plain),
        "stddev_samp" => (F::StdSamp, Plain),
        "var_pop" | "variance" => (F::VarPop, Plain),
        "var_samp" => (F::VarSamp, Plain),
        "group_concat" => (F::GroupConcat, Concat),
        "json_arrayagg" => (F::JsonArrayAgg, Plain),
        "json_objectagg" => (F::JsonObjectAgg, Pair),
        "any_value" => (F::AnyValue, Plain),
        "approx_count_distinct" => (F::ApproxCountDistinct, Many),
        _ => return None,
    })
}

/// Whether a function of this name (in lower case) is an aggregate.
pub(crate) fn is_aggregate(name: &str) -> bool {
    aggregate(name).is_some()
}

/// The names MySQL takes for its own functions only when `(` follows at once (manual, "Function Name Parsing and Resolution").
const ADJACENT: &[&str] = &[
    "adddate",
    "bit_and",
    "bit_or",
    "bit_xor",
    "cast",
    "count",
    "curdate",
    "curtime",
    "date_add",
    "date_sub",
    "extract",
    "group_concat",
    "json_arrayagg",
    "json_objectagg",
    "max",
    "mid",
    "min",
    "now",
    "position",
    "session_user",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "subdate",
    "substr",
    "substring",
    "sum",
    "sysdate",
    "system_user",
    "trim",
    "variance",
    "var_pop",
    "var_samp",
];

impl Parser<'_> {
    /// `(a, b, …)`, perhaps empty.
    pub(super) fn call_args(&mut self) -> Result<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        if self.eat(Tok::RParen) {
            return Ok(Vec::new());
        }
        let args = self.expr_list()?;
        self.expect(Tok::RParen)?;
        Ok(args)
    }

    /// `name(…)` where the name is no reserved word; a quoted name is never one of MySQL's own functions.
    pub(super) fn named_call(&mut self) -> Result<Expr> {
        let token = self.tok;
        let written = self.ident()?;
        let name = written.to_ascii_lowercase();
        let quoted = token.tok == Tok::QuotedIdent;
        let adjacent = token.end == self.tok.start || self.opts.ignore_space || !ADJACENT.contains(&name.as_str());
        if adjacent && !quoted {
            if let Some((func, args)) = aggregate(&name) {
                return self.aggregate_call(func, args);
            }
            if let Some(expr) = self.special_call(&name)? {
                return Ok(expr);
            }
        }
        let args = self.call_args()?;
        Ok(Expr::Func(Box::new(FuncCall { schema: None, name: written, args })))
    }

    fn aggregate_call(&mut self, func: AggregateFunc, kind: AggregateArgs) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let mut call = AggregateCall { func, distinct: false, args: Vec::new(), order_by: Vec::new(), separator: None, over: None };
        match kind {
            AggregateArgs::Count if self.at(Tok::Star) => {
                self.bump();
            }
            AggregateArgs::Count => {
                self.aggregate_quantifier(&mut call);
                call.args = if call.distinct { self.expr_list()? } else { vec![self.expr()?] };
            }
            AggregateArgs::One => {
                self.aggregate_quantifier(&mut call);
                call.args.push(self.expr()?);
            }
            AggregateArgs::Plain => {
                self.eat(Kw::ALL);
                call.args.push(self.expr()?);
            }
            AggregateArgs::Pair => {
                call.args.push(self.expr()?);
                self.expect(Tok::Comma)?;
                call.args.push(self.expr()?);
            }
            AggregateArgs::Many => call.args = self.expr_list()?,
            AggregateArgs::Concat => self.group_concat(&mut call)?,
        }
        self.expect(Tok::RParen)?;
        // ANY_VALUE is no aggregate to MySQL, and so none over a window.
        if func != AggregateFunc::AnyValue {
            call.over = self.opt_over()?;
        }
        Ok(Expr::Aggregate(Box::new(call)))
    }

    fn aggregate_quantifier(&mut self, call: &mut AggregateCall) {
        call.distinct = self.eat(Kw::DISTINCT);
        // `DISTINCT ALL` and `ALL` alone change nothing.
        self.eat(Kw::ALL);
    }

    /// `[DISTINCT] a, b [ORDER BY …] [SEPARATOR 's']`.
    fn group_concat(&mut self, call: &mut AggregateCall) -> Result<()> {
        call.distinct = self.eat(Kw::DISTINCT);
        call.args = self.expr_list()?;
        call.order_by = self.opt_order_by()?;
        if self.eat(Kw::SEPARATOR) {
            let separator = self.text_literal()?;
            // A comma is what stands for none.
            call.separator = (separator != ",").then(|| separator.into_bytes().into());
        }
        Ok(())
    }

    /// `[ORDER BY a [DESC], …]`.
    pub(super) fn opt_order_by(&mut self) -> Result<Vec<OrderItem>> {
        if !self.at(Kw::ORDER) {
            return Ok(Vec::new());
        }
        self.bump();
        self.expect(Kw::BY)?;
        self.order_items()
    }

    /// `a [ASC | DESC], …`.
    pub(super) fn order_items(&mut self) -> Result<Vec<OrderItem>> {
        self.comma_list(|p| {
            let expr = p.expr()?;
            let desc = p.eat(Kw::DESC);
            if !desc {
                p.eat(Kw::ASC);
            }
            Ok(OrderItem { expr, desc })
        })
    }

    /// A function whose name is the keyword `kw`; `None` when it is none, and nothing is taken then.
    pub(super) fn special_function(&mut self, kw: Kw) -> Result<Option<Expr>> {
        let called = self.peek_is(Tok::LParen);
        Ok(Some(match kw {
            Kw::CURRENT_USER => self.niladic("current_user", false)?,
            Kw::CURRENT_DATE => self.niladic("curdate", false)?,
            Kw::CURRENT_TIME => self.niladic("curtime", true)?,
            Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => self.niladic("now", true)?,
            Kw::UTC_DATE => self.niladic("utc_date", false)?,
            Kw::UTC_TIME => self.niladic("utc_time", true)?,
            Kw::UTC_TIMESTAMP => self.niladic("utc_timestamp", true)?,
            Kw::CONVERT if called => self.convert_call()?,
            Kw::CHAR if called => self.char_call()?,
            Kw::MATCH => self.match_against()?,
            Kw::MOD if called => self.mod_call()?,
            Kw::IF | Kw::LEFT | Kw::RIGHT | Kw::REPEAT | Kw::REPLACE | Kw::INSERT | Kw::GROUPING if called => self.keyword_call(kw)?,
            Kw::DATABASE | Kw::SCHEMA if called => {
                self.bump();
                let args = self.call_args()?;
                Expr::func("database", args)
            }
            _ if called => return self.window_function(kw),
            _ => return Ok(None),
        }))
    }

    fn keyword_call(&mut self, kw: Kw) -> Result<Expr> {
        self.bump();
        let args = self.call_args()?;
        Ok(Expr::func(kw.name().to_ascii_lowercase(), args))
    }

    /// A function that needs no parentheses, with an optional precision inside them.
    pub(super) fn niladic(&mut self, name: &str, precision: bool) -> Result<Expr> {
        self.bump();
        let mut args = Vec::new();
        if self.eat(Tok::LParen) {
            if precision && self.at(Tok::Int) {
                let (fsp, id) = self.literal()?;
                // It decides the type, so it is no value a plan could take from elsewhere.
                self.expr_literals -= 1;
                args.push(Expr::Literal(fsp, id));
            }
            self.expect(Tok::RParen)?;
        }
        Ok(Expr::func(name, args))
    }

    fn mod_call(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(Tok::LParen)?;
        let left = self.expr()?;
        self.expect(Tok::Comma)?;
        let right = self.expr()?;
        self.expect(Tok::RParen)?;
        Ok(Expr::binary(crate::ast::BinaryOp::Mod, left, right))
    }
}
