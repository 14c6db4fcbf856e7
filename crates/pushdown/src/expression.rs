//! Expressions, in both directions.
//!
//! | here | there |
//! |---|---|
//! | column | its position among the scan's columns |
//! | constant, parameter | the value, by its class |
//! | operator | a signature, with the collation of the comparison in the result's type |
//! | cast between numbers that cannot fail | a signature |
//!
//! Invariant: an expression read from a request has operands of the classes its operators compute with, and columns that are there.

use std::sync::Arc;

use codec::number;
use expr::{Call, CallData, Coercibility, EvalCtx, Expr, Func, InSet, Op};
use proto::tipb::{self, ExprType, ScalarFuncSig};
use types::{Collation, Datum, Decimal, Duration, EvalType, FieldType, TypeKind};

use crate::signature::{self, Signature};
use crate::{Error, Result, datum, field_type};

/// Depth of an expression that is still read.
const MAX_DEPTH: usize = 200;
/// Lists of constants at least this long are looked up in a hash set.
const HASHED_LIST_LEN: usize = 8;
/// Digits of any integer.
const INTEGER_DIGITS: i32 = 20;

/// Puts expressions over a scan's columns into words.
pub(crate) struct Encoder<'a> {
    /// Where each of the plan's columns stands among the columns that the store scans.
    pub(crate) positions: &'a [u32],
    pub(crate) eval: &'a EvalCtx,
}

impl Encoder<'_> {
    /// An expression of any class.
    pub(crate) fn expr(&self, expr: &Expr) -> Result<tipb::Expr> {
        match expr {
            Expr::Column { index, ty, .. } => {
                let position = self.positions.get(*index).ok_or(Error::Damaged("a column that the scan does not have"))?;
                let mut val = Vec::with_capacity(8);
                number::encode_i64(&mut val, i64::from(*position));
                Ok(leaf(ExprType::ColumnRef, val, field_type::encode(ty)?))
            }
            Expr::Constant { value, ty } => constant(value, ty),
            Expr::Param { index, ty, .. } => constant(self.eval.param(*index)?, ty),
            Expr::Call(_) if expr.is_constant() => self.value(expr),
            Expr::Call(call) => self.call(call),
        }
    }

    /// What has one value for the execution travels as that value: operations on parameters, such as casts to what they are compared with.
    fn value(&self, expr: &Expr) -> Result<tipb::Expr> {
        let quiet = EvalCtx { warnings: Arc::default(), host: None, ..self.eval.clone() };
        let value = expr.eval_const(&quiet)?;
        match quiet.warnings.count() {
            0 => constant(&value, expr.field_type()),
            // They are to be given for each row.
            _ => Err(Error::unsupported("a constant with warnings")),
        }
    }

    /// A condition: a number that is zero or not.
    pub(crate) fn condition(&self, expr: &Expr) -> Result<tipb::Expr> {
        match expr.eval_type() {
            EvalType::Int => self.expr(expr),
            class => Err(Error::unsupported(format!("a condition of class {class:?}"))),
        }
    }

    fn call(&self, call: &Call) -> Result<tipb::Expr> {
        match call.func {
            Func::Op(Op::Like { escape: Some(escape) }, _) => self.like(call, escape),
            Func::Op(op, class) => self.operator(call, op, class),
            Func::Cast { .. } => self.cast(call),
            Func::Builtin(builtin) => Err(Error::unsupported(format!("the function {}", builtin.name))),
        }
    }

    fn operator(&self, call: &Call, op: Op, class: EvalType) -> Result<tipb::Expr> {
        // Logic is of integers whatever it is applied to.
        let class = match (op, call.args.first()) {
            (Op::Not | Op::IsNull | Op::IsTrue | Op::IsFalse, Some(arg)) => arg.eval_type(),
            _ => class,
        };
        let unknown = || Error::unsupported(format!("{} of class {class:?}", op.symbol()));
        let signature = signature::of_operator(op, class).filter(|one| one.takes(call.args.len())).ok_or_else(unknown)?;
        if class == EvalType::Int && matches!(op, Op::Add | Op::Sub | Op::Mul) && call.args.iter().any(|arg| arg.field_type().unsigned) {
            // What becomes of a difference below zero depends on the session.
            return Err(unknown());
        }
        let count = call.args.len();
        let children = call.args.iter().enumerate().map(|(at, arg)| match signature.takes_value_at(at, count) {
            true => self.operand(arg, class),
            false => self.condition(arg),
        });
        let mut ty = field_type::encode(&call.ty)?;
        if class == EvalType::String {
            ty.collate = field_type::collation_id(if signature.is_condition() { call.collation } else { call.ty.collation });
        }
        Ok(function(signature.sig, children.collect::<Result<_>>()?, ty))
    }

    /// A value of a class; NULL is of every class.
    fn operand(&self, arg: &Expr, class: EvalType) -> Result<tipb::Expr> {
        if arg.is_null_constant() {
            return constant(&Datum::Null, &field_type::of_class(class)?);
        }
        if arg.eval_type() != class {
            return Err(Error::unsupported(format!("a value of class {:?} where {class:?} is computed with", arg.eval_type())));
        }
        self.expr(arg)
    }

    fn like(&self, call: &Call, escape: char) -> Result<tipb::Expr> {
        let escape = constant(&Datum::Int(i64::from(u32::from(escape))), &FieldType::bigint())?;
        let [text, pattern] = &call.args[..] else { return Err(Error::Damaged("LIKE takes two operands")) };
        let mut ty = field_type::encode(&call.ty)?;
        ty.collate = field_type::collation_id(call.collation);
        let children = vec![self.operand(text, EvalType::String)?, self.operand(pattern, EvalType::String)?, escape];
        Ok(function(ScalarFuncSig::LikeSig, children, ty))
    }

    fn cast(&self, call: &Call) -> Result<tipb::Expr> {
        use EvalType::{Decimal, Int, Real};
        let arg = &call.args[0];
        let from = arg.eval_type();
        let is_plain_double = call.ty.tp == TypeKind::Double && call.ty.scale().is_none();
        // What an operation gives may be wider than its type says; a column's value is not.
        let holds_integers = call.ty.decimal == 0 && (call.ty.flen >= INTEGER_DIGITS || arg.as_column().is_some());
        let sig = match (from, call.ty.eval_type()) {
            (Int, Real) if is_plain_double => ScalarFuncSig::CastIntAsReal,
            (Real, Real) if is_plain_double => ScalarFuncSig::CastRealAsReal,
            (Decimal, Real) if is_plain_double => ScalarFuncSig::CastDecimalAsReal,
            (Int, Decimal) if holds_integers => ScalarFuncSig::CastIntAsDecimal,
            (_, to) => return Err(Error::unsupported(format!("a cast from class {from:?} to {to:?}"))),
        };
        Ok(function(sig, vec![self.expr(arg)?], field_type::encode(&call.ty)?))
    }
}

fn leaf(tp: ExprType, val: Vec<u8>, ty: tipb::FieldType) -> tipb::Expr {
    tipb::Expr { tp: tp as i32, val: val.into(), field_type: Some(ty), ..Default::default() }
}

fn function(sig: ScalarFuncSig, children: Vec<tipb::Expr>, ty: tipb::FieldType) -> tipb::Expr {
    tipb::Expr { tp: ExprType::ScalarFunc as i32, sig: sig as i32, children, field_type: Some(ty), ..Default::default() }
}

/// A constant of a type.
pub(crate) fn constant(value: &Datum, ty: &FieldType) -> Result<tipb::Expr> {
    let mut val = Vec::new();
    let mut words = field_type::encode(ty)?;
    let (tp, class) = match value {
        Datum::Null => (ExprType::Null, ty.eval_type()),
        Datum::Int(value) => {
            number::encode_i64(&mut val, *value);
            (ExprType::Int64, EvalType::Int)
        }
        Datum::UInt(value) => {
            number::encode_u64(&mut val, *value);
            words.flag |= types::TypeFlags::UNSIGNED.0;
            (ExprType::Uint64, EvalType::Int)
        }
        Datum::Float(value) => {
            number::encode_f64(&mut val, f64::from(*value));
            (ExprType::Float64, EvalType::Real)
        }
        Datum::Double(value) => {
            number::encode_f64(&mut val, *value);
            (ExprType::Float64, EvalType::Real)
        }
        Datum::Decimal(value) => {
            value.encode_binary_exact(&mut val);
            (ExprType::MysqlDecimal, EvalType::Decimal)
        }
        Datum::Bytes(value) => {
            val.extend_from_slice(value);
            (ExprType::String, EvalType::String)
        }
        Datum::Time(value) => {
            number::encode_u64(&mut val, value.packed());
            (ExprType::MysqlTime, EvalType::Time)
        }
        Datum::Duration(value) => {
            number::encode_i64(&mut val, value.nanos());
            (ExprType::MysqlDuration, EvalType::Duration)
        }
        Datum::Json(_) => return Err(Error::unsupported("a JSON constant")),
    };
    if class != ty.eval_type() || (matches!(value, Datum::Int(_)) && ty.unsigned) {
        return Err(Error::unsupported(format!("a constant {value:?} of type {}", ty.to_sql())));
    }
    Ok(leaf(tp, val, words))
}

/// Reads an expression over columns of the types given.
pub(crate) fn decode(expr: &tipb::Expr, columns: &[FieldType]) -> Result<Expr> {
    decode_at(expr, columns, 0)
}

fn decode_at(expr: &tipb::Expr, columns: &[FieldType], depth: usize) -> Result<Expr> {
    if depth > MAX_DEPTH {
        return Err(Error::unsupported("an expression this deep"));
    }
    let tp = ExprType::try_from(expr.tp).map_err(|_| Error::unsupported(format!("the expression of kind {}", expr.tp)))?;
    if tp == ExprType::ScalarFunc {
        return decode_function(expr, columns, depth);
    }
    let mut val = &expr.val[..];
    if tp == ExprType::ColumnRef {
        let index = usize::try_from(number::decode_i64(&mut val)?).ok().filter(|&index| index < columns.len());
        let index = index.ok_or(Error::Damaged("a column that the plan does not have"))?;
        return Ok(Expr::column(index, columns[index].clone()));
    }
    let declared = || field_type::decode(expr.field_type.as_ref().unwrap_or(&tipb::FieldType::default()));
    let (value, ty) = match tp {
        ExprType::Null => (Datum::Null, FieldType::null()),
        ExprType::Int64 => (Datum::Int(number::decode_i64(&mut val)?), FieldType::bigint()),
        ExprType::Uint64 => (Datum::UInt(number::decode_u64(&mut val)?), FieldType::unsigned_bigint()),
        ExprType::Float32 | ExprType::Float64 => (Datum::Double(number::decode_f64(&mut val)?), FieldType::double()),
        ExprType::MysqlDecimal => {
            let value = Decimal::decode_binary(&mut val).map_err(|_| Error::Damaged("a decimal"))?;
            let ty = declared().ok().filter(|ty| ty.tp == TypeKind::Decimal);
            (Datum::Decimal(value), ty.unwrap_or_else(|| FieldType::decimal(65, value.scale())))
        }
        ExprType::String | ExprType::Bytes => {
            let ty = declared().ok().filter(|ty| ty.eval_type() == EvalType::String);
            (Datum::Bytes(val.to_vec()), ty.unwrap_or_else(|| FieldType::new(TypeKind::VarBinary)))
        }
        ExprType::MysqlTime => {
            let ty = declared()?;
            if ty.eval_type() != EvalType::Time {
                return Err(Error::Damaged("a date of another type"));
            }
            (Datum::Time(datum::time(number::decode_u64(&mut val)?, &ty)?), ty)
        }
        ExprType::MysqlDuration => {
            let fsp = expr.field_type.as_ref().map_or(6, |ty| ty.decimal.clamp(0, 6)) as u8;
            (Datum::Duration(Duration::from_nanos(number::decode_i64(&mut val)?, fsp)), FieldType::time(fsp))
        }
        tp => return Err(Error::unsupported(format!("the expression {}", tp.as_str_name()))),
    };
    Ok(Expr::constant(value, ty))
}

fn decode_function(expr: &tipb::Expr, columns: &[FieldType], depth: usize) -> Result<Expr> {
    let sig = ScalarFuncSig::try_from(expr.sig).map_err(|_| Error::unsupported(format!("the function with number {}", expr.sig)))?;
    let args = expr.children.iter().map(|child| decode_at(child, columns, depth + 1)).collect::<Result<Vec<_>>>()?;
    let words = expr.field_type.as_ref().ok_or(Error::Damaged("a function without a type"))?;
    let unknown = || Error::unsupported(format!("the function {}", sig.as_str_name()));
    if sig == ScalarFuncSig::LikeSig {
        return decode_like(args, words);
    }
    if let Some((from, to)) = cast_classes(sig) {
        let ty = field_type::decode(words)?;
        return match &args[..] {
            [arg] if arg.eval_type() == from && ty.eval_type() == to => Ok(call(Func::Cast { explicit: false }, args, ty)),
            _ => Err(Error::Damaged("a cast between other classes than its name says")),
        };
    }
    let signature = signature::by_name(sig).ok_or_else(unknown)?;
    check_operands(signature, &args)?;
    let ty = match signature.is_condition() {
        true => FieldType::boolean(),
        false => field_type::decode(words)?,
    };
    if !signature.is_condition() && ty.eval_type() != signature.class {
        return Err(Error::Damaged("a function whose result is of another class than its name says"));
    }
    let mut built = call(Func::Op(signature.op, signature.class), args, ty);
    if let Expr::Call(call) = &mut built {
        if signature.class == EvalType::String {
            call.collation = field_type::collation(words.collate)?.1;
        }
        if signature.op == Op::In && call.args.len() > HASHED_LIST_LEN {
            let set = InSet::of_constants(signature.class, call.collation, &call.args[1..]);
            call.data = set.map_or(CallData::None, |set| CallData::InSet(Arc::new(set)));
        }
    }
    Ok(built)
}

fn cast_classes(sig: ScalarFuncSig) -> Option<(EvalType, EvalType)> {
    use EvalType::{Decimal, Int, Real};
    Some(match sig {
        ScalarFuncSig::CastIntAsReal => (Int, Real),
        ScalarFuncSig::CastIntAsDecimal => (Int, Decimal),
        ScalarFuncSig::CastRealAsReal => (Real, Real),
        ScalarFuncSig::CastDecimalAsReal => (Decimal, Real),
        ScalarFuncSig::CastDecimalAsDecimal => (Decimal, Decimal),
        _ => return None,
    })
}

fn decode_like(args: Vec<Expr>, words: &tipb::FieldType) -> Result<Expr> {
    let [text, pattern, escape] = <[Expr; 3]>::try_from(args).map_err(|_| Error::Damaged("LIKE takes three operands"))?;
    let escape = escape.as_constant().and_then(Datum::as_i64).and_then(|code| char::from_u32(u32::try_from(code).ok()?));
    let escape = escape.ok_or_else(|| Error::unsupported("LIKE with an escape character that is no constant"))?;
    let args = vec![text, pattern];
    if !args.iter().all(|arg| arg.is_null_constant() || arg.eval_type() == EvalType::String) {
        return Err(Error::Damaged("LIKE of other values than text"));
    }
    let mut built = call(Func::Op(Op::Like { escape: Some(escape) }, EvalType::String), args, FieldType::boolean());
    if let Expr::Call(call) = &mut built {
        call.collation = field_type::collation(words.collate)?.1;
    }
    Ok(built)
}

fn check_operands(signature: &Signature, args: &[Expr]) -> Result<()> {
    if !signature.takes(args.len()) {
        return Err(Error::Damaged("a function with another number of operands than it takes"));
    }
    let fits = |(at, arg): (usize, &Expr)| {
        let class = arg.eval_type();
        arg.is_null_constant()
            || match signature.takes_value_at(at, args.len()) {
                true => class == signature.class,
                false => matches!(class, EvalType::Int | EvalType::Real | EvalType::Decimal),
            }
    };
    match args.iter().enumerate().all(fits) {
        true => Ok(()),
        false => Err(Error::Damaged("an operand of another class than the function computes with")),
    }
}

fn call(func: Func, args: Vec<Expr>, ty: FieldType) -> Expr {
    let collation = Collation::Binary;
    Expr::Call(Box::new(Call { func, args, ty, collation, coercibility: Coercibility::Numeric, data: CallData::None }))
}
