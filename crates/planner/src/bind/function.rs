//! Functions, among them those with syntax of their own, and aggregate functions.
//!
//! The `expr` crate takes units, sides and names as string constants, so every special syntax becomes a plain call.

use expr::{AggDesc, AggKind, Expr, JsonResponse, build_json_value, is_builtin};
use parser::ast;
use types::{Charset, Collation, Datum, FieldType, TypeKind};

use super::{
    Binder,
    expression::ExprCx,
    literal::{as_number, value_type},
};
use crate::error::{Error, Result};

impl<'a> Binder<'a> {
    /// A string constant that stands for a piece of syntax.
    pub(super) fn text(&self, text: &str) -> Expr {
        let value = Datum::Bytes(text.as_bytes().to_vec());
        let ty = value_type(&value, self.cx.eval.collation_connection);
        Expr::constant(value, ty)
    }

    /// Everything that is a call in the end.
    pub(super) fn bind_function(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        use ast::Expr as E;
        match e {
            E::Func(call) => self.bind_plain_call(call, cx),
            E::Cast(cast) => self.bind_cast(cast, cx),
            E::ConvertUsing { expr, charset } => {
                let arg = self.bind_expr(expr, cx)?;
                let charset = charset_named(charset)?;
                self.call("convert_using", vec![arg, self.text(charset.name())])
            }
            E::Collate { expr, collation } => {
                let arg = self.bind_expr(expr, cx)?;
                let collation =
                    Collation::by_name(collation).ok_or_else(|| Error::UnknownCollation { name: collation.as_str().to_owned() })?;
                self.call("collate", vec![arg, self.text(collation.name())])
            }
            E::Extract { unit, expr } => {
                let arg = self.bind_expr(expr, cx)?;
                self.call("extract", vec![self.unit(*unit), arg])
            }
            E::DateArith(arith) => {
                let args = self.bind_all([&arith.date, &arith.amount], cx)?;
                let name = if arith.subtract { "date_sub" } else { "date_add" };
                let mut args = args;
                args.push(self.unit(arith.unit));
                self.call(name, args)
            }
            E::TimestampAdd { unit, amount, expr } => {
                let mut args = vec![self.unit(*unit)];
                args.extend(self.bind_all([&**amount, &**expr], cx)?);
                self.call("timestampadd", args)
            }
            E::TimestampDiff { unit, from, to } => {
                let mut args = vec![self.unit(*unit)];
                args.extend(self.bind_all([&**from, &**to], cx)?);
                self.call("timestampdiff", args)
            }
            E::Trim { side, remove, expr } => {
                let mut args = vec![self.bind_expr(expr, cx)?];
                args.push(match remove {
                    Some(remove) => self.bind_expr(remove, cx)?,
                    None => self.text(" "),
                });
                args.push(self.text(match side {
                    ast::TrimSide::Both => "BOTH",
                    ast::TrimSide::Leading => "LEADING",
                    ast::TrimSide::Trailing => "TRAILING",
                }));
                self.call("trim", args)
            }
            E::Char { args, charset } => {
                let args = self.bind_all(args, cx)?;
                let built = self.call("char", args)?;
                match charset {
                    Some(charset) => self.call("convert_using", vec![built, self.text(charset_named(charset)?.name())]),
                    None => Ok(built),
                }
            }
            E::WeightString { expr, pad: None } => {
                let arg = self.bind_expr(expr, cx)?;
                self.call("weight_string", vec![arg])
            }
            E::WeightString { .. } => Err(Error::unsupported("WEIGHT_STRING(... AS ...)")),
            E::GetFormat { kind, expr } => {
                let kind = self.text(match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::Timestamp => "DATETIME",
                });
                let arg = self.bind_expr(expr, cx)?;
                self.call("get_format", vec![kind, arg])
            }
            E::TemporalLiteral { kind, text, .. } => {
                self.cacheable = false;
                self.temporal_literal(*kind, text)
            }
            E::MatchAgainst(_) => Err(Error::unsupported("MATCH ... AGAINST")),
            E::JsonValue(call) => self.bind_json_value(call, cx),
            E::Default(Some(column)) => self.bind_default_of(column, cx.clause),
            E::Default(None) => Err(Error::WrongUsage { first: "DEFAULT", second: "expression" }),
            E::Values(column) => self.bind_values_function(column),
            _ => Err(Error::unsupported(e.to_string())),
        }
    }

    fn unit(&self, unit: ast::IntervalUnit) -> Expr {
        self.text(&unit.name().to_ascii_uppercase())
    }

    fn bind_plain_call(&mut self, call: &'a ast::FuncCall, cx: ExprCx) -> Result<Expr> {
        if let Some(schema) = &call.schema {
            return Err(Error::Expr(expr::Error::UnknownFunction {
                database: schema.as_str().to_owned(),
                name: call.name.as_str().to_owned(),
            }));
        }
        let name = call.name.to_ascii_lowercase();
        if name == "grouping" {
            return self.bind_grouping(&call.args, cx);
        }
        // IF, IFNULL, COALESCE and NULLIF pass values through; the others read their arguments in their own ways.
        let args = self.bind_all(&call.args, cx)?;
        if !is_builtin(&name) {
            if expr::functions::is_unsupported(&name) {
                return Err(Error::unsupported(name.to_ascii_uppercase()));
            }
            let database = self.cx.database.unwrap_or_default().to_owned();
            return Err(Error::Expr(expr::Error::UnknownFunction { database, name: call.name.as_str().to_owned() }));
        }
        self.call(&name, args)
    }

    fn bind_cast(&mut self, cast: &'a ast::CastExpr, cx: ExprCx) -> Result<Expr> {
        if cast.array {
            return Err(Error::unsupported("CAST(... AS ... ARRAY)"));
        }
        let arg = self.bind_expr(&cast.expr, cx)?;
        let ty = self.cast_target(&cast.target)?;
        let arg = if ty.tp.is_numeric() { as_number(&cast.expr, arg) } else { arg };
        self.cast(arg, ty)
    }

    /// JSON_VALUE; without RETURNING a text of up to 512 characters.
    fn bind_json_value(&mut self, call: &'a ast::JsonValueExpr, cx: ExprCx) -> Result<Expr> {
        let document = self.bind_expr(&call.doc, cx.without_params())?;
        let path = self.bind_expr(&call.path, cx.without_params())?;
        let ty = match &call.returning {
            Some(target) => self.cast_target(target)?,
            None => FieldType::varchar(512).with_collation(Collation::Utf8mb4Bin),
        };
        let mut responses = [JsonResponse::Null; 2];
        let mut defaults = [Expr::constant(Datum::Null, FieldType::null()), Expr::constant(Datum::Null, FieldType::null())];
        for (at, response) in [&call.on_empty, &call.on_error].into_iter().enumerate() {
            responses[at] = match response {
                None | Some(ast::JsonOnResponse::Null) => JsonResponse::Null,
                Some(ast::JsonOnResponse::Error) => JsonResponse::Error,
                Some(ast::JsonOnResponse::Default(value)) => {
                    defaults[at] = self.bind_expr(value, cx.without_params())?;
                    JsonResponse::Default
                }
            };
        }
        Ok(build_json_value(document, path, ty, responses, defaults, &self.build())?)
    }

    /// The type a CAST names.
    fn cast_target(&self, target: &ast::CastType) -> Result<FieldType> {
        use ast::CastType as C;
        let length = |length: Option<u64>| u32::try_from(length?).ok();
        Ok(match target {
            C::Signed => FieldType::bigint(),
            C::Unsigned => FieldType::unsigned_bigint(),
            C::Char { length: chars, charset } => {
                let mut ty = FieldType::new(TypeKind::VarChar);
                ty.flen = length(*chars).map_or(-1, |chars| chars as i32);
                match charset {
                    Some(charset) => ty.with_collation(charset_named(charset)?.default_collation()),
                    None => ty.with_collation(self.cx.eval.collation_connection),
                }
            }
            C::Binary(bytes) => match length(*bytes) {
                Some(bytes) => FieldType::binary(bytes),
                None => {
                    let mut ty = FieldType::new(TypeKind::VarBinary);
                    ty.flen = -1;
                    ty
                }
            },
            C::Date => FieldType::date(),
            C::Time(fsp) => FieldType::time(*fsp),
            C::DateTime(fsp) => FieldType::datetime(*fsp),
            C::Year => FieldType::year(),
            C::Decimal(precision, scale) => FieldType::decimal(*precision, *scale),
            C::Float => FieldType::float(),
            C::Double => FieldType::double(),
            C::Json => FieldType::new(TypeKind::Json),
            C::Spatial(_) => return Err(Error::unsupported("spatial types")),
        })
    }

    fn temporal_literal(&mut self, kind: ast::TemporalKind, text: &str) -> Result<Expr> {
        let fsp = text.rsplit_once('.').map_or(0, |(_, fraction)| fraction.len().min(6) as u8);
        let (ty, name) = match kind {
            ast::TemporalKind::Date => (FieldType::date(), "DATE"),
            ast::TemporalKind::Time => (FieldType::time(fsp), "TIME"),
            ast::TemporalKind::Timestamp => (FieldType::datetime(fsp), "DATETIME"),
        };
        let cast = self.cast(self.text(text), ty)?;
        match cast.as_constant() {
            Some(value) if !value.is_null() => Ok(cast),
            _ => Err(Error::Expr(expr::Error::WrongTemporalConstant { kind: name, value: text.to_owned() })),
        }
    }

    /// An aggregate function of this block: its value is a column of the aggregation to come.
    pub(super) fn bind_aggregate(&mut self, call: &'a ast::AggregateCall, cx: ExprCx) -> Result<Expr> {
        if let Some(over) = &call.over {
            return self.bind_window_aggregate(call, over, cx);
        }
        if !cx.aggregates {
            return Err(Error::InvalidGroupFunction);
        }
        let inner = ExprCx::plain(cx.clause);
        let pending = std::mem::take(&mut self.frame().pending);
        let args = self.bind_all(&call.args, inner)?;
        let mut order_by = vec![];
        for entry in &call.order_by {
            order_by.push(expr::SortKey { expr: self.bind_expr(&entry.expr, inner)?, desc: entry.desc });
        }
        let frame = self.frame();
        let for_args = std::mem::replace(&mut frame.pending, pending);
        frame.before_aggregation.extend(for_args);
        let separator = call.separator.as_deref().map_or_else(|| b",".to_vec(), <[u8]>::to_vec);
        let desc = match aggregate_kind(call.func)? {
            AggKind::GroupConcat => AggDesc::group_concat(args, call.distinct, order_by, separator, &self.build())?,
            kind => AggDesc::new(kind, args, call.distinct, &self.build())?,
        };
        let frame = self.frame();
        if let Some((col, _)) = frame.aggs.iter().find(|(_, other)| *other == desc) {
            let col = *col;
            return Ok(self.columns.expr(col));
        }
        let col = self.columns.add_computed(desc.ty.clone());
        self.frame().aggs.push((col, desc));
        Ok(self.columns.expr(col))
    }
}

pub(super) fn aggregate_kind(func: ast::AggregateFunc) -> Result<AggKind> {
    use ast::AggregateFunc as F;
    Ok(match func {
        F::Count => AggKind::Count,
        F::Sum => AggKind::Sum,
        F::Avg => AggKind::Avg,
        F::Min => AggKind::Min,
        F::Max => AggKind::Max,
        F::BitAnd => AggKind::BitAnd,
        F::BitOr => AggKind::BitOr,
        F::BitXor => AggKind::BitXor,
        F::StdPop => AggKind::StddevPop,
        F::StdSamp => AggKind::StddevSamp,
        F::VarPop => AggKind::VarPop,
        F::VarSamp => AggKind::VarSamp,
        F::GroupConcat => AggKind::GroupConcat,
        F::AnyValue => AggKind::AnyValue,
        F::JsonArrayAgg => AggKind::JsonArrayAgg,
        F::JsonObjectAgg => AggKind::JsonObjectAgg,
        F::ApproxCountDistinct => return Err(Error::unsupported(func.name())),
    })
}

fn charset_named(name: &str) -> Result<Charset> {
    match name.to_ascii_lowercase().as_str() {
        "utf8" | "utf8mb3" => Ok(Charset::Utf8mb4),
        other => Charset::by_name(other).ok_or_else(|| Error::UnknownCharset { name: name.to_owned() }),
    }
}
