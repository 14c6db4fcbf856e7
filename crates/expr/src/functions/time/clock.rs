//! NOW and its relatives. All but SYSDATE give the statement's time.

use std::time::{SystemTime, UNIX_EPOCH};

use types::{Datum, TimeKind};

use crate::context::{BuildCtx, EvalCtx};
use crate::convert::local_now;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::{Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "now", arity: (0, 1), build: |args, ctx| build(&NOW, args, ctx, rt::datetime) },
    Special { name: "sysdate", arity: (0, 1), build: |args, ctx| build(&SYSDATE, args, ctx, rt::datetime) },
    Special { name: "utc_timestamp", arity: (0, 1), build: |args, ctx| build(&UTC_TIMESTAMP, args, ctx, rt::datetime) },
    Special { name: "curtime", arity: (0, 1), build: |args, ctx| build(&CURTIME, args, ctx, rt::time) },
    Special { name: "utc_time", arity: (0, 1), build: |args, ctx| build(&UTC_TIME, args, ctx, rt::time) },
    Special { name: "curdate", arity: (0, 0), build: |args, ctx| build(&CURDATE, args, ctx, |_| rt::date()) },
    Special { name: "utc_date", arity: (0, 0), build: |args, ctx| build(&UTC_DATE, args, ctx, |_| rt::date()) },
];

const fn clock(name: &'static str, eval: fn(&Args<'_>) -> Result<Datum>) -> Builtin {
    Builtin::new(name, (0, 0), &[Want::Any], |_| rt::null(), eval).never_null().of_session()
}

static NOW: Builtin = clock("now", |a| Ok(Datum::Time(local_now(a.ctx, fsp(a)))));
static SYSDATE: Builtin = clock("sysdate", |a| Ok(Datum::Time(local_now(&at_present(a.ctx), fsp(a))))).volatile();
static UTC_TIMESTAMP: Builtin = clock("utc_timestamp", |a| Ok(Datum::Time(local_now(&in_utc(a.ctx), fsp(a)))));
static CURTIME: Builtin = clock("curtime", |a| Ok(Datum::Duration(local_now(a.ctx, fsp(a)).to_duration())));
static UTC_TIME: Builtin = clock("utc_time", |a| Ok(Datum::Duration(local_now(&in_utc(a.ctx), fsp(a)).to_duration())));
static CURDATE: Builtin = clock("curdate", |a| Ok(Datum::Time(local_now(a.ctx, 0).with_kind(TimeKind::Date, 0))));
static UTC_DATE: Builtin = clock("utc_date", |a| Ok(Datum::Time(local_now(&in_utc(a.ctx), 0).with_kind(TimeKind::Date, 0))));

fn fsp(a: &Args<'_>) -> u8 {
    rt::fsp_of(&a.call.ty)
}

fn in_utc(ctx: &EvalCtx) -> EvalCtx {
    EvalCtx { now_micros: ctx.now_micros, ..EvalCtx::default() }
}

fn at_present(ctx: &EvalCtx) -> EvalCtx {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64);
    EvalCtx { now_micros: now, time_zone: ctx.time_zone.clone(), ..EvalCtx::default() }
}

/// The optional argument is the number of fraction digits, a constant from 0 to 6.
fn build(builtin: &'static Builtin, args: Vec<Expr>, ctx: &BuildCtx<'_>, ty: fn(u8) -> types::FieldType) -> Result<Expr> {
    let fsp = match args.first().map(Expr::as_constant) {
        None => 0,
        Some(Some(Datum::Int(n @ 0..=6))) => *n as u8,
        Some(Some(Datum::UInt(n @ 0..=6))) => *n as u8,
        Some(Some(Datum::Int(n))) => return Err(too_precise(builtin, *n as i128)),
        Some(Some(Datum::UInt(n))) => return Err(too_precise(builtin, *n as i128)),
        Some(_) => return Err(Error::WrongArguments { name: builtin.name.to_owned() }),
    };
    let mut built = builtin.build(Vec::new(), ctx)?;
    *built.field_type_mut() = ty(fsp).with_not_null();
    Ok(built)
}

fn too_precise(builtin: &Builtin, given: i128) -> Error {
    let message = format!("Too-big precision {given} specified for '{}'. Maximum is 6.", builtin.name);
    Error::BadCastTarget { code: 1426, message }
}
