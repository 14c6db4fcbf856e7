//! Functions with syntax of their own: CAST, CONVERT, EXTRACT, TRIM, SUBSTRING, DATE_ADD, MATCH and others.

use super::{Parser, Result};
use crate::{
    ast::{CastExpr, CastType, DateArith, Expr, Ident, JsonOnResponse, JsonValueExpr, MatchAgainst, TemporalKind, TrimSide},
    lexer::{Kw, Tok},
};

/// Digits of fractional seconds MySQL knows.
const MAX_FSP: u64 = 6;

impl Parser<'_> {
    /// The call of a function with its own syntax; the name is taken, the current token is `(`. `None` for any other function.
    pub(super) fn special_call(&mut self, name: &str) -> Result<Option<Expr>> {
        Ok(Some(match name {
            "cast" => self.cast_call()?,
            "extract" => self.extract_call()?,
            "trim" => self.trim_call()?,
            "substring" | "substr" | "mid" => self.substring_call()?,
            "position" => self.position_call()?,
            "date_add" => self.date_arith_call(false, false)?,
            "date_sub" => self.date_arith_call(true, false)?,
            "adddate" => self.date_arith_call(false, true)?,
            "subdate" => self.date_arith_call(true, true)?,
            "timestampadd" => self.timestamp_add_call()?,
            "timestampdiff" => self.timestamp_diff_call()?,
            "get_format" => self.get_format_call()?,
            "weight_string" => self.weight_string_call()?,
            "json_value" => self.json_value_call()?,
            "user" | "session_user" | "system_user" => {
                let args = self.call_args()?;
                Expr::func("user", args)
            }
            _ => return Ok(None),
        }))
    }

    fn cast_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        self.expect(Kw::AS)?;
        let target = self.cast_type()?;
        let array = self.eat(Kw::ARRAY);
        self.expect(Tok::RParen)?;
        Ok(Expr::Cast(Box::new(CastExpr { expr, target, array, binary_operator: false })))
    }

    /// `CONVERT(x, type)`, `CONVERT(x USING charset)`.
    pub(super) fn convert_call(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(Tok::LParen)?;
        let expr = self.expr()?;
        if self.eat(Kw::USING) {
            let charset = self.charset_name()?;
            self.expect(Tok::RParen)?;
            return Ok(Expr::ConvertUsing { expr: Box::new(expr), charset });
        }
        self.expect(Tok::Comma)?;
        let target = self.cast_type()?;
        self.expect(Tok::RParen)?;
        Ok(Expr::Cast(Box::new(CastExpr { expr, target, array: false, binary_operator: false })))
    }

    /// A type of CAST.
    pub(super) fn cast_type(&mut self) -> Result<CastType> {
        let Tok::Kw(kw) = self.tok.tok else { return Err(self.syntax()) };
        if let Some(name) = self.spatial_type(kw) {
            return Ok(CastType::Spatial(name));
        }
        self.bump();
        Ok(match kw {
            Kw::SIGNED | Kw::UNSIGNED => {
                if !self.eat(Kw::INTEGER) {
                    self.eat(Kw::INT);
                }
                if kw == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::CHAR | Kw::CHARACTER => {
                let length = self.opt_paren_uint()?;
                let (charset, _) = self.opt_charset_attributes()?;
                CastType::Char { length, charset }
            }
            Kw::NCHAR => CastType::Char { length: self.opt_paren_uint()?, charset: Some(Ident::from("utf8mb3")) },
            Kw::NATIONAL => {
                self.expect(Kw::CHAR)?;
                CastType::Char { length: self.opt_paren_uint()?, charset: Some(Ident::from("utf8mb3")) }
            }
            Kw::BINARY => CastType::Binary(self.opt_paren_uint()?),
            Kw::DATE => CastType::Date,
            Kw::TIME => CastType::Time(self.opt_fsp()?),
            Kw::DATETIME => CastType::DateTime(self.opt_fsp()?),
            Kw::YEAR => CastType::Year,
            Kw::DECIMAL | Kw::DEC => self.cast_decimal()?,
            Kw::FLOAT => match self.opt_paren_uint()? {
                Some(25..) => CastType::Double,
                _ => CastType::Float,
            },
            Kw::DOUBLE => {
                self.eat(Kw::PRECISION);
                CastType::Double
            }
            Kw::REAL => CastType::Double,
            Kw::JSON => CastType::Json,
            _ => return Err(self.syntax()),
        })
    }

    fn cast_decimal(&mut self) -> Result<CastType> {
        if !self.eat(Tok::LParen) {
            return Ok(CastType::Decimal(10, 0));
        }
        // What does not fit is beyond every limit anyway; the binder names the limit.
        let clamp = |v: u64| u8::try_from(v).unwrap_or(u8::MAX);
        let precision = clamp(self.uint()?);
        let scale = if self.eat(Tok::Comma) { clamp(self.uint()?) } else { 0 };
        self.expect(Tok::RParen)?;
        Ok(CastType::Decimal(if precision == 0 { 10 } else { precision }, scale))
    }

    /// `[(n)]`.
    pub(super) fn opt_paren_uint(&mut self) -> Result<Option<u64>> {
        if !self.eat(Tok::LParen) {
            return Ok(None);
        }
        let n = self.uint()?;
        self.expect(Tok::RParen)?;
        Ok(Some(n))
    }

    /// `[(fsp)]` of a type that is not a column's.
    fn opt_fsp(&mut self) -> Result<u8> {
        let fsp = self.opt_paren_uint()?.unwrap_or(0);
        if fsp > MAX_FSP {
            let kind =
                crate::ParseErrorKind::TooBigNumber { what: crate::SizeKind::Precision, name: "CAST".into(), given: fsp, max: MAX_FSP };
            return Err(self.error(kind));
        }
        Ok(fsp as u8)
    }

    fn extract_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Kw::FROM)?;
        let expr = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr::Extract { unit, expr })
    }

    fn trim_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let written = self.eat_any(&[Kw::BOTH, Kw::LEADING, Kw::TRAILING]);
        let side = match written {
            Some(Kw::LEADING) => TrimSide::Leading,
            Some(Kw::TRAILING) => TrimSide::Trailing,
            _ => TrimSide::Both,
        };
        let mut remove = None;
        if written.is_none() || !self.at(Kw::FROM) {
            let first = self.expr()?;
            if written.is_none() && self.eat(Tok::RParen) {
                return Ok(Expr::Trim { side, remove, expr: Box::new(first) });
            }
            remove = Some(Box::new(first));
        }
        self.expect(Kw::FROM)?;
        let expr = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr::Trim { side, remove, expr })
    }

    /// `SUBSTRING(x, a[, b])`, `SUBSTRING(x FROM a [FOR b])`.
    fn substring_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let mut args = vec![self.expr()?];
        let before_length = if self.eat(Kw::FROM) {
            Tok::Kw(Kw::FOR)
        } else {
            self.expect(Tok::Comma)?;
            Tok::Comma
        };
        args.push(self.expr()?);
        if self.eat(before_length) {
            args.push(self.expr()?);
        }
        self.expect(Tok::RParen)?;
        Ok(Expr::func("substring", args))
    }

    /// `POSITION(a IN b)`.
    fn position_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let needle = self.bit_expr(0)?;
        self.expect(Kw::IN)?;
        let hay = self.expr()?;
        self.expect(Tok::RParen)?;
        Ok(Expr::func("locate", vec![needle, hay]))
    }

    /// DATE_ADD, DATE_SUB, and ADDDATE, SUBDATE, which take a number of days as well.
    fn date_arith_call(&mut self, subtract: bool, days: bool) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let date = self.expr()?;
        self.expect(Tok::Comma)?;
        let (amount, unit) = if self.at(Kw::INTERVAL) && !(days && self.at_interval_function()) {
            self.bump();
            self.interval_behind()?
        } else if days {
            (self.expr()?, crate::ast::IntervalUnit::Day)
        } else {
            return Err(self.syntax());
        };
        self.expect(Tok::RParen)?;
        Ok(Expr::DateArith(Box::new(DateArith { date, subtract, amount, unit })))
    }

    fn timestamp_add_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Tok::Comma)?;
        let amount = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let expr = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr::TimestampAdd { unit, amount, expr })
    }

    fn timestamp_diff_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Tok::Comma)?;
        let from = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let to = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr::TimestampDiff { unit, from, to })
    }

    fn get_format_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let kind = match self.eat_any(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP]) {
            Some(Kw::DATE) => TemporalKind::Date,
            Some(Kw::TIME) => TemporalKind::Time,
            Some(_) => TemporalKind::Timestamp,
            None => return Err(self.syntax()),
        };
        self.expect(Tok::Comma)?;
        let expr = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(Expr::GetFormat { kind, expr })
    }

    fn weight_string_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let expr = Box::new(self.expr()?);
        let mut pad = None;
        if self.eat(Kw::AS) {
            let binary = match self.eat_any(&[Kw::CHAR, Kw::BINARY]) {
                Some(kw) => kw == Kw::BINARY,
                None => return Err(self.syntax()),
            };
            self.expect(Tok::LParen)?;
            pad = Some((binary, self.uint()?));
            self.expect(Tok::RParen)?;
        }
        self.expect(Tok::RParen)?;
        Ok(Expr::WeightString { expr, pad })
    }

    fn json_value_call(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let doc = self.expr()?;
        self.expect(Tok::Comma)?;
        let path = self.operand()?;
        let returning = if self.eat(Kw::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_responses()?;
        self.expect(Tok::RParen)?;
        Ok(Expr::JsonValue(Box::new(JsonValueExpr { doc, path, returning, on_empty, on_error })))
    }

    /// `[… ON EMPTY] [… ON ERROR]`.
    pub(super) fn json_responses(&mut self) -> Result<(Option<JsonOnResponse>, Option<JsonOnResponse>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while on_error.is_none() {
            let response = match self.eat_any(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
                Some(Kw::NULL) => JsonOnResponse::Null,
                Some(Kw::ERROR) => JsonOnResponse::Error,
                Some(_) => JsonOnResponse::Default(self.operand()?),
                None => break,
            };
            self.expect(Kw::ON)?;
            if on_empty.is_none() && self.eat(Kw::EMPTY) {
                on_empty = Some(response);
            } else {
                self.expect(Kw::ERROR)?;
                on_error = Some(response);
            }
        }
        Ok((on_empty, on_error))
    }

    /// `CHAR(n, … [USING charset])`.
    pub(super) fn char_call(&mut self) -> Result<Expr> {
        self.bump();
        self.expect(Tok::LParen)?;
        let args = self.expr_list()?;
        let charset = if self.eat(Kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect(Tok::RParen)?;
        Ok(Expr::Char { args, charset })
    }

    /// `MATCH (a, b) AGAINST (x [mode])`; MySQL allows the columns without parentheses.
    pub(super) fn match_against(&mut self) -> Result<Expr> {
        self.bump();
        let columns = if self.at(Tok::LParen) { self.paren_list(Self::column_ref)? } else { self.comma_list(Self::column_ref)? };
        self.expect(Kw::AGAINST)?;
        self.expect(Tok::LParen)?;
        let against = self.bit_expr(0)?;
        let (mut boolean_mode, mut query_expansion) = (false, false);
        if self.eat(Kw::IN) {
            if self.eat(Kw::BOOLEAN) {
                boolean_mode = true;
            } else {
                self.expect(Kw::NATURAL)?;
                self.expect(Kw::LANGUAGE)?;
            }
            self.expect(Kw::MODE)?;
        }
        if !boolean_mode && self.eat(Kw::WITH) {
            self.expect(Kw::QUERY)?;
            self.expect(Kw::EXPANSION)?;
            query_expansion = true;
        }
        self.expect(Tok::RParen)?;
        Ok(Expr::MatchAgainst(Box::new(MatchAgainst { columns, against, boolean_mode, query_expansion })))
    }
}
