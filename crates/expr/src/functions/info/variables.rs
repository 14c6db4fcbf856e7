//! User variables: reading `@v` (`getvar('v')`) and `@v := x` (`setvar('v', x)`).
//!
//! The type of a variable that is read is the type of the value it has while the statement is planned, as in MySQL; a
//! variable that is not set yet is a string that is NULL.

use types::{Datum, EvalType};

use crate::build::cast;
use crate::collation::Coercibility;
use crate::context::BuildCtx;
use crate::convert;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] =
    &[Special { name: "getvar", arity: (1, 1), build: build_get }, Special { name: "setvar", arity: (2, 2), build: build_set }];

static GET: Builtin = Builtin::new("getvar", (1, 1), &[Want::Raw], |_| rt::null(), get).sees_null().volatile();
static SET: Builtin = Builtin::new("setvar", (2, 2), &[Want::Raw, Want::Any], |s| stored_type(&s.args[1]), set).sees_null().volatile();

/// What a variable can hold: BIGINT, DOUBLE, DECIMAL and strings; temporal values become strings.
fn stored_type(e: &Expr) -> types::FieldType {
    let ty = e.field_type();
    match ty.tp.eval_type() {
        EvalType::Int if ty.unsigned => rt::uint(),
        EvalType::Int => rt::int(),
        EvalType::Real => rt::double(),
        EvalType::Decimal => {
            let (int, scale) = rt::decimal_shape(e);
            rt::decimal(int + scale, scale)
        }
        _ => {
            let collation = if ty.tp.is_string() { ty.collation } else { types::Collation::Utf8mb4_0900AiCi };
            rt::string(rt::display_chars(ty), collation)
        }
    }
}

fn name_of(args: &[Expr]) -> Result<String> {
    match args[0].as_constant() {
        Some(Datum::Bytes(name)) => Ok(String::from_utf8_lossy(name).into_owned()),
        _ => Err(Error::WrongArguments { name: "user variable".into() }),
    }
}

fn build_get(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let name = name_of(&args)?;
    let mut ty = match ctx.eval.user_vars.get(&name) {
        Some((_, ty)) => ty,
        None => rt::string(-1, ctx.eval.collation_connection),
    };
    ty.not_null = false;
    let mut built = GET.build(args, ctx)?;
    if let Expr::Call(call) = &mut built {
        call.coercibility = if ty.tp.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
        call.ty = ty;
    }
    Ok(built)
}

fn build_set(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    name_of(&args)?;
    let ty = stored_type(&args[1]);
    if let Some(value) = args.pop() {
        args.push(cast::to_type(value, &ty, ctx)?);
    }
    SET.build(args, ctx)
}

fn get(a: &Args<'_>) -> Result<Datum> {
    match a.ctx.user_vars.get(&a.text(0)) {
        // The statement may have set it to a value of another type since it was planned.
        Some((value, _)) => convert::to_class(value, &a.call.ty, a.ctx),
        None => Ok(Datum::Null),
    }
}

fn set(a: &Args<'_>) -> Result<Datum> {
    let value = a.datum(1).to_owned();
    let mut ty = a.call.ty.clone();
    ty.not_null = false;
    a.ctx.user_vars.set(&a.text(0), value.clone(), ty);
    Ok(value)
}
