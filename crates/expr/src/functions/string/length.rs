//! Lengths and codes of strings: LENGTH, CHAR_LENGTH, ASCII, ORD, CHARSET ….

use types::Datum;

use super::chars;
use crate::collation::Coercibility;
use crate::error::Result;
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("length", (1, 1), &[Want::Raw], |_| rt::int_of(10), length),
    Builtin::new("bit_length", (1, 1), &[Want::Raw], |_| rt::int_of(11), bit_length),
    Builtin::new("char_length", (1, 1), &[Want::Str], |_| rt::int_of(10), char_length),
    Builtin::new("ascii", (1, 1), &[Want::Raw], |_| rt::int_of(3), ascii),
    Builtin::new("ord", (1, 1), &[Want::Str], |_| rt::int_of(21), ord),
    Builtin::new("charset", (1, 1), &[Want::Any], |s| s.connection_string(64), charset).sees_null().never_null(),
    Builtin::new("collation", (1, 1), &[Want::Any], |s| s.connection_string(64), collation).sees_null().never_null(),
    Builtin::new("coercibility", (1, 1), &[Want::Any], |_| rt::int_of(10), coercibility).sees_null().never_null(),
];

fn length(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(a.bytes(0).len() as i64))
}

fn bit_length(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(a.bytes(0).len() as i64 * 8))
}

fn char_length(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(chars::count(a.bytes(0), a.is_binary()) as i64))
}

fn ascii(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(a.bytes(0).first().map_or(0, |b| i64::from(*b))))
}

fn ord(a: &Args<'_>) -> Result<Datum> {
    let first = chars::each(a.bytes(0), a.is_binary()).next().unwrap_or(b"");
    Ok(Datum::Int(first.iter().fold(0, |code, b| code << 8 | i64::from(*b))))
}

fn is_string(a: &Args<'_>) -> bool {
    let arg = &a.call.args[0];
    arg.eval_type() == types::EvalType::String
        && !matches!(arg, crate::Expr::Call(c) if matches!(c.func, crate::Func::Cast { explicit: false }))
}

fn charset(a: &Args<'_>) -> Result<Datum> {
    let name = if is_string(a) { a.call.args[0].field_type().collation.charset().name() } else { "binary" };
    Ok(Datum::Bytes(name.as_bytes().to_vec()))
}

fn collation(a: &Args<'_>) -> Result<Datum> {
    let name = if is_string(a) { a.call.args[0].field_type().collation.name() } else { "binary" };
    Ok(Datum::Bytes(name.as_bytes().to_vec()))
}

fn coercibility(a: &Args<'_>) -> Result<Datum> {
    Ok(Datum::Int(match a.call.args[0].coercibility() {
        Coercibility::Explicit => 0,
        Coercibility::None => 1,
        Coercibility::Implicit => 2,
        Coercibility::SysConst => 3,
        Coercibility::Coercible => 4,
        Coercibility::Numeric => 5,
        Coercibility::Ignorable => 6,
    }))
}
