//! DEFAULT and ON UPDATE clauses.

use catalog::ColumnDefault;
use parser::ast::{Expr, Literal, UnaryOp};
use types::{Datum, Decimal, FieldType, TypeKind, convert};

use super::BuildContext;
use crate::{Error, Result};

impl BuildContext<'_> {
    /// `DEFAULT literal`, `DEFAULT NULL`, `DEFAULT CURRENT_TIMESTAMP[(n)]`.
    pub fn default_value(&mut self, column: &str, ty: &FieldType, expr: &Expr) -> Result<ColumnDefault> {
        let invalid = || Error::InvalidDefault { column: column.to_owned() };
        if let Some(fsp) = now_call(expr) {
            let takes_now = matches!(ty.tp, TypeKind::DateTime | TypeKind::Timestamp);
            return if takes_now && fsp == ty.fsp() { Ok(ColumnDefault::Expr(now_text(fsp))) } else { Err(invalid()) };
        }
        let value = literal(expr).ok_or_else(invalid)?;
        if value == Datum::Null {
            return if ty.not_null { Err(invalid()) } else { Ok(ColumnDefault::Value(Datum::Null)) };
        }
        if ty.tp.is_blob() || ty.tp == TypeKind::Json {
            return Err(Error::BlobCantHaveDefault { column: column.to_owned() });
        }
        // A default that would be changed on storing is refused, whatever the SQL mode.
        let mut changed = false;
        let mut warn = |error: types::Error| changed |= !error.is_note();
        let mut mode = self.mode;
        mode.strict = true;
        let stored = convert::store(value, ty, mode, self.time_zone, &mut warn).map_err(|_| invalid())?;
        if changed { Err(invalid()) } else { Ok(ColumnDefault::Value(stored)) }
    }

    /// `DEFAULT (expr)`.
    pub fn default_expr(&mut self, column: &str, ty: &FieldType, expr: &Expr) -> Result<ColumnDefault> {
        if now_call(expr).is_some() || (literal(expr).is_some() && !ty.tp.is_blob() && ty.tp != TypeKind::Json) {
            return self.default_value(column, ty, expr);
        }
        match expr {
            Expr::Func(call) if call.args.iter().all(|arg| literal(arg).is_some()) => Ok(ColumnDefault::Expr(expr.to_string())),
            Expr::Literal(..) => Ok(ColumnDefault::Expr(expr.to_string())),
            _ => Err(Error::not_supported("DEFAULT with an expression over columns or operators")),
        }
    }

    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`.
    pub fn on_update(&self, column: &str, ty: &FieldType, expr: &Expr) -> Result<u8> {
        match now_call(expr) {
            Some(fsp) if matches!(ty.tp, TypeKind::DateTime | TypeKind::Timestamp) && fsp == ty.fsp() => Ok(fsp),
            _ => Err(Error::InvalidOnUpdate { column: column.to_owned() }),
        }
    }
}

/// `CURRENT_TIMESTAMP` with its precision.
fn now_text(fsp: u8) -> String {
    if fsp == 0 { "CURRENT_TIMESTAMP".to_owned() } else { format!("CURRENT_TIMESTAMP({fsp})") }
}

/// The precision of a call of NOW or one of its synonyms.
fn now_call(expr: &Expr) -> Option<u8> {
    let Expr::Func(call) = expr else { return None };
    let synonyms = ["now", "current_timestamp", "localtime", "localtimestamp"];
    if !synonyms.iter().any(|name| call.name.eq_ignore_ascii_case(name)) {
        return None;
    }
    match &call.args[..] {
        [] => Some(0),
        [Expr::Literal(Literal::Int(fsp), _)] => u8::try_from(*fsp).ok(),
        _ => None,
    }
}

/// The value of a literal with its sign.
fn literal(expr: &Expr) -> Option<Datum> {
    match expr {
        Expr::Literal(literal, _) => Some(match literal {
            Literal::Null => Datum::Null,
            Literal::Bool(value) => Datum::Int(i64::from(*value)),
            Literal::Int(value) => Datum::Int(*value),
            Literal::UInt(value) => Datum::UInt(*value),
            Literal::Decimal(digits) => Datum::Decimal(digits.parse::<Decimal>().ok()?),
            Literal::Float(value) => Datum::Double(*value),
            Literal::Str(bytes) | Literal::Hex(bytes) => Datum::Bytes(bytes.to_vec()),
            Literal::Introduced(text) => Datum::Bytes(text.value.to_vec()),
            Literal::Bit(bytes) => {
                Datum::UInt(bytes.iter().try_fold(0u64, |bits, &byte| bits.checked_mul(256).map(|bits| bits | u64::from(byte)))?)
            }
        }),
        Expr::Unary { op: UnaryOp::Plus, expr } => literal(expr),
        Expr::Unary { op: UnaryOp::Neg, expr } => match literal(expr)? {
            Datum::Int(value) => Some(Datum::Int(-value)),
            Datum::UInt(value) if value == 1 << 63 => Some(Datum::Int(i64::MIN)),
            Datum::Double(value) => Some(Datum::Double(-value)),
            Datum::Decimal(value) => Some(Datum::Decimal(value.neg())),
            _ => None,
        },
        Expr::TemporalLiteral { text, .. } => Some(Datum::Bytes(text.as_bytes().to_vec())),
        _ => None,
    }
}
