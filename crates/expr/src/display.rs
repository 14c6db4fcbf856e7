//! The EXPLAIN form of expressions: infix operators in parentheses, columns by name, strings quoted.

use std::fmt;

use types::{Datum, EvalType};

use crate::expr::{Call, CallData, Expr, Func};
use crate::op::Op;

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Column { name: Some(name), .. } => f.write_str(name),
            Expr::Column { index, .. } => write!(f, "col#{index}"),
            Expr::Constant { value, ty } => write_constant(f, value, ty.tp.eval_type()),
            Expr::Param { index, .. } => write!(f, "?{index}"),
            Expr::Call(call) => call.fmt(f),
        }
    }
}

fn write_constant(f: &mut fmt::Formatter<'_>, value: &Datum, class: EvalType) -> fmt::Result {
    match value {
        Datum::Null => f.write_str("NULL"),
        Datum::Int(v) => write!(f, "{v}"),
        Datum::UInt(v) => write!(f, "{v}"),
        Datum::Float(_) | Datum::Double(_) => {
            let text = value.as_ref().to_text(&types::FieldType::double());
            f.write_str(&String::from_utf8_lossy(&text))
        }
        Datum::Decimal(v) => write!(f, "{v}"),
        Datum::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if class == EvalType::String || class == EvalType::Json => {
                write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
            }
            Ok(text) => write!(f, "'{text}'"),
            Err(_) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|b| write!(f, "{b:02X}"))
            }
        },
        Datum::Time(v) => write!(f, "'{v}'"),
        Datum::Duration(v) => write!(f, "'{v}'"),
        Datum::Json(v) => write!(f, "'{}'", String::from_utf8_lossy(&types::JsonRef::new(v).to_text())),
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, args: &[Expr]) -> fmt::Result {
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{arg}")?;
    }
    Ok(())
}

fn write_case(f: &mut fmt::Formatter<'_>, args: &[Expr]) -> fmt::Result {
    f.write_str("case")?;
    for pair in args.chunks(2) {
        match pair {
            [when, then] => write!(f, " when {when} then {then}")?,
            rest => write!(f, " else {}", rest[0])?,
        }
    }
    f.write_str(" end")
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.func, self.args.as_slice()) {
            (Func::Op(Op::Neg, _), [a]) => write!(f, "-({a})"),
            (Func::Op(Op::BitNeg, _), [a]) => write!(f, "~({a})"),
            (Func::Op(Op::Not, _), [a]) => match a.as_op() {
                Some((Op::IsNull, [x])) => write!(f, "({x} is not null)"),
                Some((Op::IsTrue, [x])) => write!(f, "({x} is not true)"),
                Some((Op::IsFalse, [x])) => write!(f, "({x} is not false)"),
                Some((Op::In, [x, list @ ..])) => {
                    write!(f, "({x} not in (")?;
                    write_list(f, list)?;
                    f.write_str("))")
                }
                Some((Op::Like { .. }, [x, p])) => write!(f, "(not({x} like {p}))"),
                _ => write!(f, "(not({a}))"),
            },
            (Func::Op(op @ (Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown), _), [a]) => write!(f, "({a} {op})"),
            (Func::Op(Op::In, _), [x, list @ ..]) => {
                write!(f, "({x} in (")?;
                write_list(f, list)?;
                f.write_str("))")
            }
            (Func::Op(Op::Case, _), args) => write_case(f, args),
            (Func::Op(Op::Row, _), args) => {
                f.write_str("(")?;
                write_list(f, args)?;
                f.write_str(")")
            }
            (Func::Op(op @ (Op::If | Op::IfNull | Op::NullIf | Op::Coalesce), _), args) => {
                write!(f, "{op}(")?;
                write_list(f, args)?;
                f.write_str(")")
            }
            (Func::Op(Op::Like { escape: Some(e) }, _), [a, b]) if e != '\\' => write!(f, "({a} like {b} escape '{e}')"),
            (Func::Op(op, _), [a, b]) => write!(f, "({a} {op} {b})"),
            (Func::Cast { .. }, [a]) => write!(f, "cast({a} as {})", crate::result_type::cast_name(&self.ty)),
            (func, args) => {
                write!(f, "{}(", func.name())?;
                write_list(f, args)?;
                if let CallData::Unit(unit) = &self.data {
                    write!(f, "{}{unit}", if args.is_empty() { "" } else { ", " })?;
                }
                f.write_str(")")
            }
        }
    }
}
