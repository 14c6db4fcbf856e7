//! Types of results: constructors, and how the types of alternatives (CASE, COALESCE, UNION) merge.
//!
//! `flen` of a DECIMAL is its precision, of a string its characters, of others the display width.

use types::{Collation, EvalType, FieldType, TypeFlags, TypeKind};

use crate::expr::Expr;

/// Longest string type a function declares before it becomes a text type.
const MAX_VARCHAR_CHARS: i64 = 16_383;
/// MySQL's largest DECIMAL precision.
pub const MAX_PRECISION: i32 = 65;
/// MySQL's largest DECIMAL scale.
pub const MAX_SCALE: i32 = 30;

/// BIGINT.
pub fn int() -> FieldType {
    sized(TypeKind::BigInt, 20)
}

/// BIGINT of a display width.
pub fn int_of(width: i32) -> FieldType {
    sized(TypeKind::BigInt, width)
}

/// BIGINT UNSIGNED.
pub fn uint() -> FieldType {
    let mut ty = sized(TypeKind::BigInt, 20);
    ty.unsigned = true;
    ty
}

/// The type of conditions.
pub fn boolean() -> FieldType {
    sized(TypeKind::BigInt, 1).with_flags(TypeFlags::TRUTH)
}

/// JSON.
pub fn json() -> FieldType {
    FieldType::new(TypeKind::Json)
}

/// DOUBLE.
pub fn double() -> FieldType {
    let mut ty = sized(TypeKind::Double, 22);
    ty.decimal = -1;
    ty
}

/// FLOAT.
pub fn float() -> FieldType {
    let mut ty = sized(TypeKind::Float, 12);
    ty.decimal = -1;
    ty
}

/// DECIMAL(precision, scale), limited to what exists.
pub fn decimal(precision: i32, scale: i32) -> FieldType {
    let scale = scale.clamp(0, MAX_SCALE);
    let mut ty = sized(TypeKind::Decimal, precision.clamp(scale.max(1), MAX_PRECISION));
    ty.decimal = scale as i8;
    ty
}

/// A string of at most `chars` characters (-1: unknown): VARCHAR, or a text type if it is longer. VARBINARY or a blob type if the collation is binary.
pub fn string(chars: i64, collation: Collation) -> FieldType {
    let binary = collation == Collation::Binary;
    let tp = match (chars, binary) {
        (c, false) if c <= MAX_VARCHAR_CHARS => TypeKind::VarChar,
        (c, true) if c <= 65_535 => TypeKind::VarBinary,
        (c, false) if c <= 4_194_303 => TypeKind::MediumText,
        (_, false) => TypeKind::LongText,
        (c, true) if c <= 16_777_215 => TypeKind::MediumBlob,
        (_, true) => TypeKind::LongBlob,
    };
    let mut ty = sized(tp, chars.clamp(-1, i32::MAX as i64) as i32);
    ty.charset = collation.charset();
    ty.collation = collation;
    ty
}

/// DATE.
pub fn date() -> FieldType {
    sized(TypeKind::Date, 10)
}

/// DATETIME(fsp).
pub fn datetime(fsp: u8) -> FieldType {
    temporal(TypeKind::DateTime, 19, fsp)
}

/// TIME(fsp).
pub fn time(fsp: u8) -> FieldType {
    temporal(TypeKind::Time, 10, fsp)
}

/// The type of NULL.
pub fn null() -> FieldType {
    sized(TypeKind::Null, 0)
}

fn temporal(tp: TypeKind, width: i32, fsp: u8) -> FieldType {
    let fsp = fsp.min(6);
    let mut ty = sized(tp, width + if fsp > 0 { i32::from(fsp) + 1 } else { 0 });
    ty.decimal = fsp as i8;
    ty
}

fn sized(tp: TypeKind, flen: i32) -> FieldType {
    let mut ty = FieldType::new(tp);
    ty.flen = flen;
    ty.decimal = 0;
    ty
}

/// Digits before the point and scale that a value of this type has as a DECIMAL.
pub fn decimal_shape(e: &Expr) -> (i32, i32) {
    let ty = e.field_type();
    match ty.tp {
        TypeKind::Decimal => {
            let scale = i32::from(ty.decimal).clamp(0, MAX_SCALE);
            let precision = if ty.flen < 0 { 10 } else { ty.flen };
            ((precision - scale).max(0), scale)
        }
        TypeKind::Date => (8, 0),
        TypeKind::DateTime | TypeKind::Timestamp => (14, i32::from(ty.decimal.max(0))),
        TypeKind::Time => (7, i32::from(ty.decimal.max(0))),
        TypeKind::Year => (4, 0),
        _ if ty.tp.eval_type() == EvalType::Int => (int_digits(e), 0),
        TypeKind::Null => (1, 0),
        _ => (MAX_PRECISION - MAX_SCALE, if ty.decimal >= 0 { i32::from(ty.decimal).min(MAX_SCALE) } else { MAX_SCALE }),
    }
}

fn int_digits(e: &Expr) -> i32 {
    let ty = e.field_type();
    if let Expr::Constant { value, .. } = e {
        match value {
            types::Datum::Int(v) => return v.unsigned_abs().max(1).ilog10() as i32 + 1,
            types::Datum::UInt(v) => return (*v).max(1).ilog10() as i32 + 1,
            _ => {}
        }
    }
    match ty.tp {
        TypeKind::TinyInt => 3,
        TypeKind::SmallInt => 5,
        TypeKind::MediumInt => 8,
        TypeKind::Int => 10,
        _ if ty.flen == 1 => 1,
        _ if ty.unsigned => 20,
        _ => 19,
    }
}

/// Characters that a value of this type prints as; -1 if unbounded.
pub fn display_chars(ty: &FieldType) -> i64 {
    match ty.tp {
        TypeKind::Decimal => i64::from(ty.flen.max(0)) + 2,
        TypeKind::Double | TypeKind::Float => 23,
        TypeKind::Null => 0,
        TypeKind::Enum => ty.elems.iter().map(|e| e.chars().count() as i64).max().unwrap_or(0),
        TypeKind::Set => ty.elems.iter().map(|e| e.chars().count() as i64 + 1).sum(),
        _ if ty.flen >= 0 => i64::from(ty.flen),
        _ if ty.tp.eval_type() == EvalType::Int => 20,
        _ if ty.tp.eval_type() == EvalType::String => -1,
        _ => 26,
    }
}

/// Fractional seconds of a type that is, or is read as, a temporal value.
pub fn fsp_of(ty: &FieldType) -> u8 {
    match ty.tp.eval_type() {
        EvalType::Time | EvalType::Duration => {
            if ty.tp == TypeKind::Date {
                0
            } else {
                ty.decimal.clamp(0, 6) as u8
            }
        }
        EvalType::Int => 0,
        EvalType::Decimal => ty.decimal.clamp(0, 6) as u8,
        _ => 6,
    }
}

/// The words of a CAST that would give this type.
pub fn cast_name(ty: &FieldType) -> String {
    let with = |name: &str| if ty.decimal > 0 { format!("{name}({})", ty.decimal) } else { name.to_owned() };
    match ty.tp {
        TypeKind::Decimal => format!("decimal({},{})", ty.flen, ty.decimal.max(0)),
        TypeKind::Double => "double".into(),
        TypeKind::Float => "float".into(),
        TypeKind::Date => "date".into(),
        TypeKind::DateTime | TypeKind::Timestamp => with("datetime"),
        TypeKind::Time => with("time"),
        TypeKind::Year => "year".into(),
        _ => match ty.tp.eval_type() {
            EvalType::Int if ty.unsigned => "unsigned".into(),
            EvalType::Int => "signed".into(),
            EvalType::String => {
                let word = if ty.collation == Collation::Binary { "binary" } else { "char" };
                if ty.flen >= 0 { format!("{word}({})", ty.flen) } else { word.into() }
            }
            _ => "json".into(),
        },
    }
}

fn int_rank(tp: TypeKind) -> u8 {
    match tp {
        TypeKind::Year => 0,
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt => 3,
        TypeKind::Int => 4,
        _ => 5,
    }
}

fn merge_ints(a: &FieldType, b: &FieldType) -> FieldType {
    const BY_RANK: [TypeKind; 5] = [TypeKind::TinyInt, TypeKind::SmallInt, TypeKind::MediumInt, TypeKind::Int, TypeKind::BigInt];
    if a.tp == TypeKind::Year && b.tp == TypeKind::Year {
        return a.clone();
    }
    let mut rank = int_rank(a.tp).max(int_rank(b.tp)).max(1);
    let unsigned = |t: &FieldType| t.unsigned || t.tp == TypeKind::Year || t.tp == TypeKind::Bit;
    let (ua, ub) = (unsigned(a), unsigned(b));
    if ua != ub {
        let unsigned_rank = int_rank(if ua { a.tp } else { b.tp });
        let signed_rank = int_rank(if ua { b.tp } else { a.tp });
        if unsigned_rank >= signed_rank {
            if unsigned_rank == 5 {
                return decimal(20, 0);
            }
            rank = unsigned_rank.max(signed_rank) + 1;
        }
    }
    let mut ty =
        sized(BY_RANK[usize::from(rank.clamp(1, 5)) - 1], a.flen.max(b.flen).max(if rank == 5 && a.flen.max(b.flen) < 1 { 20 } else { 0 }));
    ty.unsigned = ua && ub;
    ty
}

fn merge_strings(a: &FieldType, b: &FieldType) -> FieldType {
    let collation = string_collation(a, b);
    let chars = match (display_chars(a), display_chars(b)) {
        (x, y) if x < 0 || y < 0 => -1,
        (x, y) => x.max(y),
    };
    let texts = |t: &FieldType| {
        matches!(t.tp, TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText)
            || matches!(t.tp, TypeKind::TinyBlob | TypeKind::Blob | TypeKind::MediumBlob | TypeKind::LongBlob)
    };
    if texts(a) || texts(b) {
        let tp = if collation == Collation::Binary { TypeKind::LongBlob } else { TypeKind::LongText };
        let mut ty = sized(if a.tp == b.tp { a.tp } else { tp }, if chars < 0 { -1 } else { chars as i32 });
        ty.charset = collation.charset();
        ty.collation = collation;
        return ty;
    }
    string(chars, collation)
}

fn string_collation(a: &FieldType, b: &FieldType) -> Collation {
    let of = |t: &FieldType| (t.tp.eval_type() == EvalType::String).then_some(t.collation);
    match (of(a), of(b)) {
        (Some(x), Some(y)) if x == Collation::Binary || y == Collation::Binary => Collation::Binary,
        (Some(x), Some(_)) | (Some(x), None) | (None, Some(x)) => x,
        (None, None) => Collation::Utf8mb4_0900AiCi,
    }
}

fn merge_decimals(a: &FieldType, b: &FieldType) -> FieldType {
    let shape = |t: &FieldType| decimal_shape(&Expr::Column { index: 0, ty: t.clone(), name: None });
    let ((ia, sa), (ib, sb)) = (shape(a), shape(b));
    let scale = sa.max(sb);
    decimal(ia.max(ib) + scale, scale)
}

/// DOUBLE with a fixed number of places if both sides have one.
fn merge_reals(a: &FieldType, b: &FieldType) -> FieldType {
    let places = |t: &FieldType| if t.tp.eval_type() == EvalType::Int { Some(0) } else { t.scale() };
    let mut ty = double();
    if let (Some(x), Some(y)) = (places(a), places(b)) {
        ty.decimal = x.max(y) as i8;
    }
    ty
}

/// The type that holds values of both types (MySQL's rules for UNION, CASE, COALESCE, IF …).
pub fn merge_two(a: &FieldType, b: &FieldType) -> FieldType {
    use EvalType as E;
    let mut ty = match (a.tp, b.tp) {
        (TypeKind::Null, _) => b.clone(),
        (_, TypeKind::Null) => a.clone(),
        (x, y) => match (x.eval_type(), y.eval_type()) {
            (E::Int, E::Int) => merge_ints(a, b),
            (E::Int | E::Decimal, E::Int | E::Decimal) if x != TypeKind::Year || y != TypeKind::Year => merge_decimals(a, b),
            (E::Real, E::Real) if x == TypeKind::Float && y == TypeKind::Float => float(),
            (E::Real, E::Int | E::Decimal | E::Real) | (E::Int | E::Decimal, E::Real) => merge_reals(a, b),
            (E::Time, E::Time) if x == y => temporal_max(x, a, b),
            (E::Time, E::Time) | (E::Time, E::Duration) | (E::Duration, E::Time) => datetime(fsp_of(a).max(fsp_of(b))),
            (E::Duration, E::Duration) => time(fsp_of(a).max(fsp_of(b))),
            (E::Json, E::Json) => a.clone(),
            _ => merge_strings(a, b),
        },
    };
    ty.not_null = a.not_null && b.not_null;
    ty
}

fn temporal_max(tp: TypeKind, a: &FieldType, b: &FieldType) -> FieldType {
    match tp {
        TypeKind::Date => date(),
        TypeKind::Timestamp => temporal(TypeKind::Timestamp, 19, fsp_of(a).max(fsp_of(b))),
        _ => datetime(fsp_of(a).max(fsp_of(b))),
    }
}

/// The type that holds values of all the types; the type of NULL if there is none.
pub fn merge_types<'a>(all: impl IntoIterator<Item = &'a FieldType>) -> FieldType {
    let mut iter = all.into_iter();
    let Some(first) = iter.next() else { return null() };
    iter.fold(first.clone(), |acc, t| merge_two(&acc, t))
}
