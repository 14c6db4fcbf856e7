//! Literals and parameters.
//!
//! In a statement that goes through the plan cache a literal is first bound as a parameter where its context allows one; an operator
//! whose meaning depends on the literal's value or exact type then takes it back with [`Binder::demote`]. What stays a constant makes the
//! plan not cacheable.

use expr::{Coercibility, Expr};
use parser::ast::{self, Literal, LiteralId};
use types::{Charset, Collation, Datum, Decimal, EvalType, FieldType, TimeKind, TypeKind};

use super::{Binder, expression::ExprCx};
use crate::error::{Clause, Error, Result};

impl<'a> Binder<'a> {
    /// A literal as a constant, or as a parameter where `params` allows it.
    pub(super) fn bind_literal(&mut self, literal: &Literal, id: LiteralId, params: bool) -> Result<Expr> {
        let (value, ty) = self.literal_value(literal)?;
        let (Some(count), Some(ordinal)) = (self.cx.literal_count, id.ordinal()) else { return Ok(Expr::constant(value, ty)) };
        let extracted = matches!(literal, Literal::Int(_) | Literal::UInt(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Str(_));
        if !params || !extracted || ordinal >= count {
            self.cacheable = false;
            return Ok(Expr::constant(value, ty));
        }
        let ty = parameter_type(&ty);
        self.values[ordinal] = Some(value);
        self.params[ordinal] = Some(ty.clone());
        Ok(Expr::Param { index: ordinal, ty, coercibility: Coercibility::Coercible })
    }

    /// The n-th `?`.
    pub(super) fn bind_marker(&mut self, ordinal: u32) -> Expr {
        let index = ordinal as usize;
        let text = FieldType::varchar(255).with_collation(self.cx.eval.collation_connection);
        let ty = self.cx.param_types.get(index).cloned().unwrap_or(text);
        if index >= self.params.len() {
            // Planned without types (PREPARE): slots of the executor start behind all markers, so they grow together.
            self.params.resize(index + 1, None);
            self.values.resize(self.values.len().max(index + 1), None);
            self.slots = self.slots.max(index + 1);
        }
        self.params[index] = Some(ty.clone());
        Expr::Param { index, ty, coercibility: Coercibility::Coercible }
    }

    /// Takes literals that were bound as parameters back: they become constants of their exact type.
    pub(super) fn demote(&mut self, expr: Expr) -> Expr {
        if self.cx.literal_count.is_none() || !expr.has_params() {
            return expr;
        }
        let count = self.params.len();
        expr.transform(&mut |node| match node {
            Expr::Param { index, .. } if index < count => {
                self.cacheable = false;
                self.params[index] = None;
                let value = self.values[index].clone().unwrap_or(Datum::Null);
                let ty = value_type(&value, self.cx.eval.collation_connection);
                Expr::constant(value, ty)
            }
            other => other,
        })
    }

    /// Demotes literals next to an operand of another class, where a constant is compared or converted in a way of its own.
    pub(super) fn settle_operands(&mut self, operands: Vec<Expr>) -> Vec<Expr> {
        let class = operands.iter().find(|operand| !is_bare_param(operand)).map(Expr::eval_type);
        if self.cx.literal_count.is_none() {
            return self.settle_texts(operands, class);
        }
        let keeps = |operand: &Expr| match (class, operand.eval_type()) {
            (Some(EvalType::Int), own) => own == EvalType::Int,
            (Some(EvalType::Decimal), own) => matches!(own, EvalType::Int | EvalType::Decimal),
            (Some(EvalType::Real), own) => matches!(own, EvalType::Int | EvalType::Decimal | EvalType::Real),
            (Some(EvalType::String), own) => own == EvalType::String,
            _ => false,
        };
        operands
            .into_iter()
            .map(|operand| if !is_bare_param(&operand) || keeps(&operand) { operand } else { self.demote(operand) })
            .collect()
    }

    /// A client that sends numbers as texts would keep indexes from being used, because a text and a number are compared as DOUBLE. Next to
    /// an exact number such a value is taken as the constant it is, which the comparison reads as a number.
    fn settle_texts(&mut self, operands: Vec<Expr>, class: Option<EvalType>) -> Vec<Expr> {
        if !matches!(class, Some(EvalType::Int | EvalType::Decimal)) {
            return operands;
        }
        operands
            .into_iter()
            .map(|operand| match &operand {
                Expr::Param { index, ty, .. } if ty.eval_type() == EvalType::String => match self.values.get(*index).cloned().flatten() {
                    Some(value @ Datum::Bytes(_)) => {
                        self.cacheable = false;
                        let ty = value_type(&value, self.cx.eval.collation_connection);
                        Expr::constant(value, ty)
                    }
                    _ => operand,
                },
                _ => operand,
            })
            .collect()
    }

    /// LIMIT's operands: unsigned integers known at execution.
    pub(super) fn bind_row_count(&mut self, count: &'a ast::Expr) -> Result<Expr> {
        match count {
            ast::Expr::Literal(Literal::Int(_) | Literal::UInt(_), _) | ast::Expr::Param(_) => {}
            _ => return Err(Error::WrongUsage { first: "LIMIT", second: "expression" }),
        }
        self.bind_expr(count, ExprCx::condition(Clause::Where))
    }

    fn literal_value(&self, literal: &Literal) -> Result<(Datum, FieldType)> {
        let collation = self.cx.eval.collation_connection;
        let value = match literal {
            Literal::Null => Datum::Null,
            Literal::Bool(value) => return Ok((Datum::from(*value), FieldType::boolean().with_not_null())),
            Literal::Int(value) => Datum::Int(*value),
            Literal::UInt(value) => Datum::UInt(*value),
            Literal::Decimal(digits) => match digits.parse::<Decimal>() {
                Ok(value) => Datum::Decimal(value),
                Err(_) => Datum::Double(digits.parse().unwrap_or(f64::MAX)),
            },
            Literal::Float(value) => Datum::Double(*value),
            Literal::Str(text) => Datum::Bytes(text.to_vec()),
            Literal::Introduced(introduced) => {
                let name = &*introduced.charset;
                let collation = match name {
                    "utf8mb3" | "utf8" | "ascii" | "latin1" => Charset::Utf8mb4.default_collation(),
                    _ => Charset::by_name(name).ok_or_else(|| Error::UnknownCharset { name: name.to_owned() })?.default_collation(),
                };
                let value = Datum::Bytes(introduced.value.to_vec());
                let ty = value_type(&value, collation);
                return Ok((value, ty));
            }
            Literal::Hex(bytes) | Literal::Bit(bytes) => {
                let value = Datum::Bytes(bytes.to_vec());
                // The unsigned flag tells it from other byte strings: it is a number where one is wanted.
                return Ok((value, FieldType::varbinary(bytes.len() as u32).with_unsigned().with_not_null()));
            }
        };
        // Long VALUES lists have thousands of integers and texts: their types share what they can.
        let ty = match &value {
            Datum::Int(number) => self.integer_type.clone().with_flen(int_digits(*number)),
            Datum::Bytes(text) => self.text_type.clone().with_flen(collation.charset().char_count(text) as u32),
            _ => value_type(&value, collation),
        };
        Ok((value, ty))
    }
}

/// Characters of an integer in decimal, its sign included.
fn int_digits(value: i64) -> u32 {
    value.unsigned_abs().checked_ilog10().unwrap_or(0) + 1 + u32::from(value < 0)
}

/// A hexadecimal or bit literal is a byte string, but a number where a number is asked for: in arithmetic, next to a number, stored into a
/// numeric column.
pub(super) fn as_number(literal: &ast::Expr, bound: Expr) -> Expr {
    let ast::Expr::Literal(Literal::Hex(bytes) | Literal::Bit(bytes), _) = literal else { return bound };
    if bytes.len() > 8 {
        return bound;
    }
    let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    Expr::constant(Datum::UInt(value), FieldType::unsigned_bigint().with_not_null())
}

fn is_bare_param(expr: &Expr) -> bool {
    match expr {
        Expr::Param { .. } => true,
        // -5 is a minus over a literal.
        Expr::Call(call) => call.func.op() == Some(expr::Op::Neg) && call.args.iter().all(is_bare_param),
        _ => false,
    }
}

/// The type of a literal's value.
pub(crate) fn value_type(value: &Datum, collation: Collation) -> FieldType {
    let ty = match value {
        Datum::Null => return FieldType::null(),
        Datum::Int(value) => FieldType::bigint().with_flen(int_digits(*value)),
        Datum::UInt(value) => FieldType::unsigned_bigint().with_flen(value.checked_ilog10().unwrap_or(0) + 1),
        Datum::Float(_) => FieldType::float(),
        Datum::Double(_) => FieldType::double(),
        Datum::Decimal(value) => FieldType::decimal(value.precision(), value.scale()),
        Datum::Bytes(text) => FieldType::varchar(collation.charset().char_count(text) as u32).with_collation(collation),
        Datum::Time(time) => match time.kind() {
            TimeKind::Date => FieldType::date(),
            TimeKind::DateTime => FieldType::datetime(time.fsp()),
            TimeKind::Timestamp => FieldType::timestamp(time.fsp()),
        },
        Datum::Duration(duration) => FieldType::time(duration.fsp()),
        Datum::Json(_) => FieldType::new(TypeKind::Json),
    };
    ty.with_not_null()
}

/// The type of a parameter for literals of this kind: what depends on the value is left open. (Decimals of other digits have another
/// normal form of the statement, so theirs is kept.)
fn parameter_type(literal: &FieldType) -> FieldType {
    let mut ty = match literal.tp {
        TypeKind::BigInt if literal.unsigned => FieldType::unsigned_bigint(),
        TypeKind::BigInt => FieldType::bigint(),
        TypeKind::VarChar => FieldType::varchar(16_383).with_collation(literal.collation),
        _ => literal.clone(),
    };
    ty.not_null = true;
    ty
}
