//! GREATEST and LEAST: the extreme of several values, in the domain all of them share.

use std::cmp::Ordering;

use types::{Datum, EvalType, FieldType, Time};

use crate::build::cast;
use crate::collation;
use crate::context::BuildCtx;
use crate::error::Result;
use crate::expr::{Call, CallData, Expr, Func};
use crate::functions::{ANY, Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "greatest", arity: (2, ANY), build: |args, ctx| build(&GREATEST, args, ctx) },
    Special { name: "least", arity: (2, ANY), build: |args, ctx| build(&LEAST, args, ctx) },
];

static GREATEST: Builtin = Builtin::new("greatest", (2, ANY), &[Want::Any], |_| rt::null(), |a| extreme(a, Ordering::Greater));
static LEAST: Builtin = Builtin::new("least", (2, ANY), &[Want::Any], |_| rt::null(), |a| extreme(a, Ordering::Less));

fn extreme(a: &Args<'_>, wanted: Ordering) -> Result<Datum> {
    let mut best = a.datum(0);
    for i in 1..a.len() {
        if a.datum(i).compare(best, a.collation()) == wanted {
            best = a.datum(i);
        }
    }
    Ok(best.to_owned())
}

/// The type values are compared in: numbers before strings, and strings beside a date are dates.
fn common_type(args: &[Expr]) -> FieldType {
    let present: Vec<&Expr> = args.iter().filter(|a| !a.is_null_constant()).collect();
    let has = |class: EvalType| present.iter().any(|a| a.eval_type() == class);
    let numeric = |a: &&Expr| matches!(a.eval_type(), EvalType::Int | EvalType::Real | EvalType::Decimal);
    if has(EvalType::String) && present.iter().any(numeric) {
        return rt::double();
    }
    if has(EvalType::Time) && !present.iter().any(numeric) {
        let fsp = present.iter().map(|a| crate::functions::time::fsp_of(a)).max().unwrap_or(0);
        let all_dates = present.iter().all(|a| a.field_type().tp == types::TypeKind::Date || is_date_text(a));
        return if all_dates { rt::date() } else { rt::datetime(fsp) };
    }
    if has(EvalType::Duration) && !present.iter().any(numeric) {
        return rt::time(present.iter().map(|a| rt::fsp_of(a.field_type())).max().unwrap_or(0));
    }
    rt::merge_types(present.into_iter().map(Expr::field_type))
}

/// A constant text that is a date without time.
fn is_date_text(e: &Expr) -> bool {
    match e.as_constant() {
        Some(Datum::Bytes(text)) => Time::parse(text, types::TimeKind::Date, 0, &types::DateMode::default())
            .is_ok_and(|parsed| !parsed.has_time && !parsed.truncated),
        _ => false,
    }
}

fn build(builtin: &'static Builtin, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let mut ty = common_type(&args);
    let refs: Vec<&Expr> = args.iter().collect();
    let is_string = ty.tp.eval_type() == EvalType::String;
    let derived = collation::aggregate(builtin.name, &refs, ctx.eval.collation_connection, is_string)?;
    if is_string {
        ty = rt::string(i64::from(ty.flen), derived.collation);
    }
    let args = args.into_iter().map(|a| cast::to_type(a, &ty, ctx)).collect::<Result<Vec<_>>>()?;
    ty.not_null = args.iter().all(|a| a.field_type().not_null);
    let coercibility = if is_string { derived.coercibility } else { collation::Coercibility::Numeric };
    Ok(Expr::Call(Box::new(Call {
        func: Func::Builtin(builtin),
        args,
        ty,
        collation: derived.collation,
        coercibility,
        data: CallData::None,
    })))
}
