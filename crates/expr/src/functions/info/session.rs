//! DATABASE, USER, VERSION, CONNECTION_ID, LAST_INSERT_ID, ROW_COUNT, FOUND_ROWS, SLEEP, BENCHMARK, and the operators
//! that are written as functions: IF, IFNULL, NULLIF, COALESCE, ISNULL.

use std::time::Duration;

use types::Datum;

use crate::build::build_op;
use crate::error::{Error, Result};
use crate::functions::{ANY, Args, Builtin, Special, Want};
use crate::op::Op;
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("database", (0, 0), &[], |s| s.connection_string(64), database).sees_null().of_session(),
    Builtin::new("user", (0, 0), &[], |s| s.connection_string(288), user).sees_null().of_session(),
    Builtin::new("current_user", (0, 0), &[], |s| s.connection_string(288), |a| text(&a.ctx.connection.account)).sees_null().of_session(),
    Builtin::new("current_role", (0, 0), &[], |s| s.connection_string(288), |a| text(&a.ctx.connection.roles)).sees_null().of_session(),
    Builtin::new("version", (0, 0), &[], |s| s.connection_string(60), |a| text(&a.ctx.connection.version)).never_null().of_session(),
    Builtin::new("connection_id", (0, 0), &[], |_| rt::uint(), |a| Ok(Datum::UInt(a.ctx.connection.id))).never_null().of_session(),
    Builtin::new("last_insert_id", (0, 1), &[Want::Int], |_| rt::uint(), last_insert_id).sees_null().volatile(),
    Builtin::new("row_count", (0, 0), &[], |_| rt::int(), |a| Ok(Datum::Int(a.ctx.row_count))).never_null().of_session(),
    Builtin::new("found_rows", (0, 0), &[], |_| rt::int(), |a| Ok(Datum::Int(a.ctx.found_rows as i64))).never_null().of_session(),
    Builtin::new("sleep", (1, 1), &[Want::Real], |_| rt::int_of(1), sleep).sees_null().never_null().volatile().waits(),
    Builtin::new("benchmark", (2, 2), &[Want::Int, Want::Any], |_| rt::int_of(1), benchmark).sees_null().volatile().waits(),
    Builtin::new("name_const", (2, 2), &[Want::Raw, Want::Any], |s| s.args[1].field_type().clone(), |a| Ok(a.datum(1).to_owned()))
        .sees_null(),
    Builtin::new("format_bytes", (1, 1), &[Want::Real], |s| s.connection_string(16), |a| Ok(Datum::from(format_bytes(a.real(0))))),
    Builtin::new("format_pico_time", (1, 1), &[Want::Real], |s| s.connection_string(16), |a| Ok(Datum::from(format_pico_time(a.real(0))))),
    // Patterns are compiled by a library of another name; the version is that of the syntax it is compared with.
    Builtin::new("icu_version", (0, 0), &[], |s| s.connection_string(4), |_| text("73.1")).never_null(),
    Builtin::new("any_value", (1, 1), &[Want::Any], |s| s.args[0].field_type().clone(), |a| Ok(a.datum(0).to_owned())).sees_null(),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "if", arity: (3, 3), build: |args, ctx| build_op(Op::If, args, ctx) },
    Special { name: "ifnull", arity: (2, 2), build: |args, ctx| build_op(Op::IfNull, args, ctx) },
    Special { name: "nullif", arity: (2, 2), build: |args, ctx| build_op(Op::NullIf, args, ctx) },
    Special { name: "coalesce", arity: (1, ANY), build: |args, ctx| build_op(Op::Coalesce, args, ctx) },
    Special { name: "isnull", arity: (1, 1), build: |args, ctx| build_op(Op::IsNull, args, ctx) },
];

/// A number of bytes as sys.format_bytes and performance_schema print it.
fn format_bytes(bytes: f64) -> String {
    scaled(
        bytes,
        &[
            ("bytes", 1.0),
            ("KiB", 1024.0),
            ("MiB", 1024f64.powi(2)),
            ("GiB", 1024f64.powi(3)),
            ("TiB", 1024f64.powi(4)),
            ("PiB", 1024f64.powi(5)),
            ("EiB", 1024f64.powi(6)),
        ],
    )
}

/// A number of picoseconds.
fn format_pico_time(picoseconds: f64) -> String {
    scaled(picoseconds, &[("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12), ("min", 6e13), ("h", 3.6e15), ("d", 8.64e16)])
}

/// The number in the largest unit that it reaches: whole units of the smallest, two digits of the others.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let (at, (unit, size)) = units.iter().enumerate().rev().find(|(_, (_, size))| value.abs() >= *size).unwrap_or((0, &units[0]));
    match at {
        0 => format!("{value:>4.0} {unit}"),
        _ if (value / size).abs() >= 100_000.0 => format!("{:4.2e} {unit}", value / size),
        _ => format!("{:4.2} {unit}", value / size),
    }
}

fn text(s: &str) -> Result<Datum> {
    Ok(Datum::Bytes(s.as_bytes().to_vec()))
}

fn database(a: &Args<'_>) -> Result<Datum> {
    a.ctx.connection.database.as_deref().map_or(Ok(Datum::Null), text)
}

fn user(a: &Args<'_>) -> Result<Datum> {
    text(&format!("{}@{}", a.ctx.connection.user, a.ctx.connection.host))
}

fn last_insert_id(a: &Args<'_>) -> Result<Datum> {
    if a.is_empty() {
        return Ok(Datum::UInt(a.ctx.last_insert_id.get()));
    }
    a.ctx.last_insert_id.set(if a.is_null(0) { 0 } else { a.bits(0) });
    Ok(if a.is_null(0) { Datum::Null } else { Datum::UInt(a.bits(0)) })
}

fn sleep(a: &Args<'_>) -> Result<Datum> {
    let seconds = a.real(0);
    if a.is_null(0) || seconds < 0.0 {
        if a.ctx.is_strict() {
            return Err(Error::WrongArguments { name: "sleep.".into() });
        }
        a.warn(1210, "Incorrect arguments to sleep.");
        return Ok(Datum::Int(0));
    }
    let Some(host) = &a.ctx.host else { return Ok(Datum::Int(0)) };
    // A year is as good as forever, and fits every clock.
    let interrupted = host.sleep(Duration::from_secs_f64(seconds.min(31_536_000.0)));
    Ok(Datum::Int(i64::from(interrupted)))
}

/// Evaluates the expression as often as asked; the operand has been evaluated once already when this is called, which
/// is all that constants and columns can show.
fn benchmark(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) || a.int(0) < 0 {
        if !a.is_null(0) {
            a.warn(1411, format!("Incorrect count value: '{}' for function benchmark", a.int(0)));
        }
        return Ok(Datum::Null);
    }
    let body = &a.call.args[1];
    if body.is_constant() || body.columns_used().is_empty() {
        for i in 0..a.int(0) {
            if i % 1024 == 0 && a.ctx.host.as_ref().is_some_and(|h| h.is_interrupted()) {
                return Err(Error::Interrupted);
            }
            std::hint::black_box(body.eval_const(a.ctx)?);
        }
    }
    Ok(Datum::Int(0))
}
