//! Finding and comparing strings: LOCATE, INSTR, FIELD, FIND_IN_SET, STRCMP, and COLLATE/CONVERT … USING.

use std::cmp::Ordering;

use types::{Charset, Collation, Datum, EvalType, FieldType};

use super::chars;
use crate::build::cast;
use crate::collation::Coercibility;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;
use crate::functions::{ANY, Args, Builtin, Special, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("locate", (2, 3), &[Want::Str, Want::Str, Want::Int], |_| rt::int_of(11), locate).compares(),
    Builtin::new("instr", (2, 2), &[Want::Str], |_| rt::int_of(11), instr).compares(),
    Builtin::new("find_in_set", (2, 2), &[Want::Str], |_| rt::int_of(3), find_in_set).compares(),
    Builtin::new("strcmp", (2, 2), &[Want::Str], |_| rt::int_of(2), strcmp).compares(),
];

pub(super) const SPECIALS: &[Special] = &[
    Special { name: "field", arity: (2, ANY), build: build_field },
    Special { name: "collate", arity: (2, 2), build: build_collate },
    Special { name: "convert_using", arity: (2, 2), build: build_convert_using },
];

static FIELD_STRING: Builtin = Builtin::new("field", (2, ANY), &[Want::Str], |_| rt::int_of(3), field).sees_null().never_null().compares();
static FIELD_INT: Builtin = Builtin::new("field", (2, ANY), &[Want::Int], |_| rt::int_of(3), field).sees_null().never_null();
static FIELD_REAL: Builtin = Builtin::new("field", (2, ANY), &[Want::Real], |_| rt::int_of(3), field).sees_null().never_null();
static FIELD_DECIMAL: Builtin = Builtin::new("field", (2, ANY), &[Want::Dec], |_| rt::int_of(3), field).sees_null().never_null();
/// COLLATE changes nothing in the value, only what later comparisons do with it.
static COLLATE: Builtin =
    Builtin::new("collate", (1, 1), &[Want::Str], |s| s.string(s.chars(0)), |a| Ok(Datum::Bytes(a.bytes(0).to_vec())));
static CONVERT_USING: Builtin = Builtin::new("convert_using", (1, 1), &[Want::Raw], |s| s.string(s.chars(0)), convert_using);

fn find_at(a: &Args<'_>, needle: &[u8], haystack: &[u8], start: i64) -> Result<Datum> {
    let binary = a.is_binary();
    if start < 1 {
        return Ok(Datum::Int(0));
    }
    let skip = start as usize - 1;
    if skip > chars::count(haystack, binary) {
        return Ok(Datum::Int(0));
    }
    let from = chars::offset(haystack, skip, binary);
    let found = chars::find(haystack, needle, from, a.collation());
    Ok(Datum::Int(found.map_or(0, |at| chars::count(&haystack[..at], binary) as i64 + 1)))
}

fn locate(a: &Args<'_>) -> Result<Datum> {
    find_at(a, a.bytes(0), a.bytes(1), if a.len() == 3 { a.int(2) } else { 1 })
}

fn instr(a: &Args<'_>) -> Result<Datum> {
    find_at(a, a.bytes(1), a.bytes(0), 1)
}

fn find_in_set(a: &Args<'_>) -> Result<Datum> {
    let (needle, list) = (a.bytes(0), a.bytes(1));
    if list.is_empty() || memchr::memchr(b',', needle).is_some() {
        return Ok(Datum::Int(0));
    }
    let at = list.split(|b| *b == b',').position(|item| a.collation().compare(item, needle) == Ordering::Equal);
    Ok(Datum::Int(at.map_or(0, |i| i as i64 + 1)))
}

fn strcmp(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(a.collation().compare(a.bytes(0), a.bytes(1)) as i64))
}

/// FIELD compares as strings if all arguments are strings, as exact numbers if all are exact, else as DOUBLE.
fn build_field(args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let all = |f: fn(EvalType) -> bool| args.iter().all(|a| f(a.eval_type()) || a.is_null_constant());
    let builtin = if all(|t| t == EvalType::String) {
        &FIELD_STRING
    } else if all(|t| t == EvalType::Int) {
        &FIELD_INT
    } else if all(|t| matches!(t, EvalType::Int | EvalType::Decimal)) {
        &FIELD_DECIMAL
    } else {
        &FIELD_REAL
    };
    builtin.build(args, ctx)
}

fn field(a: &Args<'_>) -> Result<Datum> {
    if a.is_null(0) {
        return Ok(Datum::Int(0));
    }
    let subject = a.datum(0);
    let at = (1..a.len()).find(|i| !a.is_null(*i) && subject.compare(a.datum(*i), a.collation()) == Ordering::Equal);
    Ok(Datum::Int(at.unwrap_or(0) as i64))
}

fn constant_text(e: &Expr, function: &str) -> Result<String> {
    match e.as_constant() {
        Some(Datum::Bytes(b)) => Ok(String::from_utf8_lossy(b).into_owned()),
        _ => Err(Error::WrongArguments { name: function.to_owned() }),
    }
}

fn build_collate(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let name = constant_text(&args.remove(1), "collate")?;
    let collation = Collation::by_name(&name.to_ascii_lowercase()).ok_or(Error::UnknownCollation { name })?;
    let subject = args.remove(0);
    let charset =
        if subject.eval_type() == EvalType::String { subject.field_type().charset } else { ctx.eval.collation_connection.charset() };
    if collation.charset() != charset && !subject.is_null_constant() {
        return Err(Error::CollationCharsetMismatch { collation: collation.name().to_owned(), charset: charset.name().to_owned() });
    }
    let subject = cast::to_string(subject, collation, ctx)?;
    let mut built = COLLATE.build(vec![subject], ctx)?;
    retype(&mut built, collation, Coercibility::Explicit);
    Ok(built)
}

fn retype(e: &mut Expr, collation: Collation, coercibility: Coercibility) {
    if let Expr::Call(call) = e {
        let FieldType { flen, .. } = call.ty;
        call.ty = rt::string(i64::from(flen), collation);
        call.collation = collation;
        call.coercibility = coercibility;
    }
}

fn build_convert_using(mut args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let name = constant_text(&args.remove(1), "convert")?;
    let charset = Charset::by_name(&name.to_ascii_lowercase()).ok_or(Error::UnknownCharset { name })?;
    let mut built = CONVERT_USING.build(args, ctx)?;
    retype(&mut built, charset.default_collation(), Coercibility::Implicit);
    Ok(built)
}

/// Bytes that have no meaning in the target character set become `?`.
fn convert_using(a: &Args<'_>) -> Result<Datum> {
    let s = a.bytes(0);
    if a.call.ty.collation == Collation::Binary || std::str::from_utf8(s).is_ok() {
        return Ok(Datum::Bytes(s.to_vec()));
    }
    let cleaned = chars::each(s, false).flat_map(|c| if std::str::from_utf8(c).is_ok() { c } else { b"?" }).copied().collect();
    Ok(Datum::Bytes(cleaned))
}
