//! Vectorised evaluation against row-wise evaluation, on random expressions over random chunks.

use expr::{BuildCtx, Error, EvalCtx, Expr, Op, build_call, build_cast, build_op};
use proptest::prelude::*;
use types::{Chunk, Collation, Column, Datum, Decimal, FieldType, Time, TimeKind, TypeKind};

use crate::script::context;

/// The columns every expression may use.
fn types() -> Vec<FieldType> {
    vec![
        FieldType::bigint(),
        FieldType::unsigned_bigint(),
        FieldType::double(),
        FieldType::decimal(12, 3),
        FieldType::varchar(20).with_collation(Collation::Utf8mb4_0900AiCi),
        FieldType::varchar(20).with_collation(Collation::Utf8mb4Bin),
        FieldType::datetime(0),
        FieldType::int().with_not_null(),
    ]
}

/// A value of a column from a few bits: small domains, so that comparisons hit, with extremes and NULLs.
fn value(ty: &FieldType, seed: u32) -> Datum {
    let small = i64::from(seed / 16 % 7) - 3;
    if seed.is_multiple_of(5) && !ty.not_null {
        return Datum::Null;
    }
    match (ty.tp, ty.unsigned) {
        (TypeKind::BigInt, false) => Datum::Int(if seed % 16 == 1 { i64::MAX } else { small }),
        (TypeKind::BigInt, true) => Datum::UInt(if seed % 16 == 1 { u64::MAX } else { small.unsigned_abs() }),
        (TypeKind::Double, _) => Datum::Double(small as f64 / 2.0),
        (TypeKind::Decimal, _) => Datum::Decimal(Decimal::from_unscaled(i128::from(small) * 1500, 3)),
        (TypeKind::VarChar, _) => Datum::from(["a", "A", "b", "ab", "é", "1", ""][(seed / 16 % 7) as usize]),
        (TypeKind::DateTime, _) => {
            Datum::Time(Time::from_unix_micros(small * 86_400_000_000 * 30, TimeKind::DateTime, 0).expect("near 1970"))
        }
        _ => Datum::Int(small),
    }
}

fn chunk(seeds: &[u32]) -> Chunk {
    let types = types();
    let mut columns: Vec<Column> = types.iter().map(|ty| Column::for_type(ty, seeds.len())).collect();
    for (row, seed) in seeds.iter().enumerate() {
        for (i, ty) in types.iter().enumerate() {
            columns[i].push(&value(ty, seed.rotate_left(i as u32 * 5).wrapping_add(row as u32)));
        }
    }
    Chunk::from_columns(columns)
}

/// A recipe of an expression: everything is chosen by numbers, so that it can be shrunk.
#[derive(Clone, Debug)]
enum Recipe {
    Column(u8),
    Constant(u8, u32),
    Op(u8, Vec<Recipe>),
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = prop_oneof![any::<u8>().prop_map(Recipe::Column), (any::<u8>(), any::<u32>()).prop_map(|(c, s)| Recipe::Constant(c, s))];
    leaf.prop_recursive(4, 24, 3, |inner| (any::<u8>(), prop::collection::vec(inner, 3)).prop_map(|(op, args)| Recipe::Op(op, args)))
}

const BINARY: &[Op] = &[
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::Div,
    Op::IntDiv,
    Op::Mod,
    Op::Eq,
    Op::NullEq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
    Op::Ge,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::BitAnd,
    Op::BitOr,
    Op::BitXor,
    Op::Shl,
    Op::Shr,
    Op::Like { escape: Some('\\') },
    Op::NullIf,
    Op::Coalesce,
];
const UNARY: &[Op] = &[Op::Neg, Op::Not, Op::BitNeg, Op::IsNull, Op::IsTrue, Op::IsFalse, Op::IsUnknown];

fn cook(recipe: &Recipe, ctx: &BuildCtx<'_>) -> Result<Expr, Error> {
    let types = types();
    match recipe {
        Recipe::Column(c) => {
            let i = usize::from(*c) % types.len();
            Ok(Expr::column(i, types[i].clone()))
        }
        Recipe::Constant(c, seed) => {
            let ty = &types[usize::from(*c) % types.len()];
            Ok(Expr::constant(value(ty, *seed), ty.clone()))
        }
        Recipe::Op(op, args) => {
            let args = args.iter().map(|a| cook(a, ctx)).collect::<Result<Vec<_>, _>>()?;
            let mut args = args.into_iter();
            let mut next = || args.next().expect("three operands");
            let at = usize::from(*op);
            match at {
                _ if at < 4 * BINARY.len() => build_op(BINARY[at % BINARY.len()], vec![next(), next()], ctx),
                _ if at < 4 * BINARY.len() + 3 * UNARY.len() => build_op(UNARY[at % UNARY.len()], vec![next()], ctx),
                _ => match at % 7 {
                    0 => build_op(Op::In, vec![next(), next(), next()], ctx),
                    1 => build_op(Op::If, vec![next(), next(), next()], ctx),
                    2 => build_op(Op::Case, vec![next(), next(), next()], ctx),
                    3 => build_call("concat", vec![next(), next()], ctx),
                    4 => build_cast(next(), FieldType::bigint(), ctx),
                    5 => build_cast(next(), FieldType::decimal(20, 2), ctx),
                    _ => build_op(Op::Between, vec![next(), next(), next()], ctx),
                },
            }
        }
    }
}

/// Columns as text, or the number of the first error.
fn rows_of(e: &Expr, ctx: &EvalCtx, chunk: &Chunk) -> Result<Vec<Datum>, u16> {
    // A column adapts numbers to its physical type, so the comparison is of columns.
    let mut column = Column::for_type(e.field_type(), chunk.rows());
    for row in chunk.iter() {
        column.push(&e.eval(ctx, row).map_err(|e| e.code())?);
    }
    Ok((0..column.len()).map(|i| column.datum(i)).collect())
}

/// An argument of any function: usual and extreme values of every type, and words that are syntax.
fn argument(seed: u32) -> Expr {
    let text = |s: &str| (Datum::from(s), FieldType::varchar(40).with_collation(Collation::Utf8mb4_0900AiCi));
    let texts = [
        "",
        "a",
        "abc,d",
        "12",
        "-1.5e3",
        "2024-02-29 10:11:12",
        "10:11:12",
        "DAY",
        "DAY_SECOND",
        "utf8mb4",
        "%Y-%m-%d",
        "(a",
        "é日",
        "\\",
    ];
    let ints = [0, 1, -1, 3, 64, -64, i64::MAX, i64::MIN, 20_240_229];
    let pick = (seed / 8) as usize;
    let (value, ty) = match seed % 8 {
        0 => (Datum::Null, FieldType::null()),
        1 | 2 => text(texts[pick % texts.len()]),
        3 => (Datum::Int(ints[pick % ints.len()]), FieldType::bigint()),
        4 => (Datum::UInt([0, 5, u64::MAX][pick % 3]), FieldType::unsigned_bigint()),
        5 => (Datum::Double([0.0, -0.5, 1e300, -1e300, 2.5][pick % 5]), FieldType::double()),
        6 => (Datum::Decimal(Decimal::from_unscaled([0, 15, -99_999_999_999, 1][pick % 4], 1)), FieldType::decimal(20, 1)),
        _ => {
            let micros = [0, -1_000_000, 253_402_300_799_000_000, -62_000_000_000_000_000][pick % 4];
            (Time::from_unix_micros(micros, TimeKind::DateTime, 0).map_or(Datum::Null, Datum::Time), FieldType::datetime(0))
        }
    };
    Expr::constant(value, ty)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// No argument makes a function panic, and its columns are what its rows are.
    #[test]
    fn every_function_survives_every_argument(seeds in prop::collection::vec(any::<u32>(), 12)) {
        let ctx = EvalCtx { max_allowed_packet: 1 << 16, ..context() };
        let build = BuildCtx::new(&ctx);
        for (name, min, max) in expr::functions::function_names() {
            for count in min..=max.min(min + 2).min(6) {
                let args: Vec<Expr> = (0..count).map(|i| argument(seeds[usize::from(i)].wrapping_add(name.len() as u32 * 7919))).collect();
                if name == "benchmark" {
                    continue;
                }
                let Ok(constant) = build_call(name, args.clone(), &build) else { continue };
                let _ = constant.eval_const(&ctx);
                // The same over columns, where that builds.
                let columns: Vec<Column> = args.iter().map(|a| Column::repeat(a.field_type(), a.as_constant().expect("a constant").as_ref(), 2)).collect();
                let over: Vec<Expr> = args.iter().enumerate().map(|(i, a)| Expr::column(i, a.field_type().clone())).collect();
                let (Ok(e), false) = (build_call(name, over, &build), columns.is_empty()) else { continue };
                let chunk = Chunk::from_columns(columns);
                let by_row = rows_of(&e, &ctx, &chunk);
                let by_column = e.eval_chunk(&ctx, &chunk).map(|c| (0..c.len()).map(|i| c.datum(i)).collect::<Vec<_>>()).map_err(|e| e.code());
                if e.is_deterministic() {
                    prop_assert_eq!(by_row, by_column, "{}", e);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn columns_are_what_rows_are(recipe in recipe(), seeds in prop::collection::vec(any::<u32>(), 1..20)) {
        let ctx = context();
        // Operands that do not fit together are refused while building; that is tested elsewhere.
        let Ok(e) = cook(&recipe, &BuildCtx::new(&ctx)) else { return Ok(()) };
        let chunk = chunk(&seeds);
        ctx.warnings.take();
        let by_row = rows_of(&e, &ctx, &chunk);
        let row_warnings = ctx.warnings.count();
        ctx.warnings.take();
        let by_column = e.eval_chunk(&ctx, &chunk).map(|c| (0..c.len()).map(|i| c.datum(i)).collect::<Vec<_>>()).map_err(|e| e.code());
        prop_assert_eq!(&by_row, &by_column, "{}", e);
        // Constant parts that warn are evaluated once, whether rows reach them or not.
        let mut constant_calls = false;
        e.walk(&mut |part| constant_calls |= part.as_call().is_some() && part.is_constant());
        if by_row.is_ok() && !constant_calls {
            prop_assert!(ctx.warnings.count() <= row_warnings, "{e}: {} warnings by column, {row_warnings} by row", ctx.warnings.count());
        }
    }

    #[test]
    fn filters_keep_the_rows_that_are_true(recipe in recipe(), seeds in prop::collection::vec(any::<u32>(), 1..20), picks in any::<u32>()) {
        let ctx = context();
        let Ok(e) = cook(&recipe, &BuildCtx::new(&ctx)) else { return Ok(()) };
        let chunk = chunk(&seeds);
        let mut sel: Vec<u32> = (0..chunk.rows() as u32).filter(|row| picks >> row & 1 == 1).collect();
        let expected: Result<Vec<u32>, u16> = sel
            .iter()
            .filter_map(|row| match e.is_true(&ctx, chunk.row(*row as usize)) {
                Ok(true) => Some(Ok(*row)),
                Ok(false) => None,
                Err(e) => Some(Err(e.code())),
            })
            .collect();
        let outcome = e.filter(&ctx, &chunk, &mut sel).map(|()| sel).map_err(|e| e.code());
        // A filter drops a row at the first condition that is NULL, and may so pass by an error.
        if expected.is_ok() || outcome.is_err() {
            prop_assert_eq!(expected, outcome, "{}", e);
        }
    }

    #[test]
    fn folding_constants_changes_no_value(recipe in recipe(), seeds in prop::collection::vec(any::<u32>(), 1..8)) {
        let ctx = context();
        let build = BuildCtx::new(&ctx);
        let Ok(e) = cook(&recipe, &build) else { return Ok(()) };
        let folded = expr::fold_constants(e.clone(), &build);
        let chunk = chunk(&seeds);
        let (before, after) = (rows_of(&e, &ctx, &chunk), rows_of(&folded, &ctx, &chunk));
        // Folding may decide a condition before an operand that fails is reached.
        if before.is_ok() {
            prop_assert_eq!(before, after, "{} folded to {}", e, folded);
        }
    }
}
