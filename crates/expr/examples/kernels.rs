//! Nanoseconds per row of the expressions and aggregates that queries spend their time in.
//!
//! `cargo run --release -p expr --example kernels`

use std::hint::black_box;
use std::time::Instant;

use expr::{AggDesc, AggKind, BuildCtx, EvalCtx, Expr, Op, build_call, build_op, new_state};
use types::{Chunk, Collation, Datum, Decimal, FieldType, Time, TimeKind};

const ROWS: usize = 1024;

fn types() -> Vec<FieldType> {
    vec![
        FieldType::bigint(),
        FieldType::bigint(),
        FieldType::double(),
        FieldType::decimal(12, 2),
        FieldType::varchar(30).with_collation(Collation::Utf8mb4_0900AiCi),
        FieldType::varchar(30).with_collation(Collation::Utf8mb4Bin),
        FieldType::datetime(0),
    ]
}

fn chunk() -> Chunk {
    let mut chunk = Chunk::new(&types(), ROWS);
    for i in 0..ROWS as i64 {
        let text = format!("customer-{:07}-{}", i * 7919 % 100_003, i % 13);
        chunk.push_row(&[
            Datum::Int(i * 31 % 1000),
            if i % 10 == 0 { Datum::Null } else { Datum::Int(i) },
            Datum::Double(i as f64 / 3.0),
            Datum::Decimal(Decimal::from_unscaled(i128::from(i) * 137, 2)),
            Datum::from(text.as_str()),
            Datum::from(text.as_str()),
            Datum::Time(Time::from_unix_micros(i * 86_400_000_000, TimeKind::DateTime, 0).expect("a date of the 1970s")),
        ]);
    }
    chunk
}

/// The best of several rounds, in nanoseconds per row.
fn measure(mut f: impl FnMut()) -> f64 {
    (0..9)
        .map(|_| {
            let start = Instant::now();
            (0..200).for_each(|_| f());
            start.elapsed().as_nanos() as f64 / (200 * ROWS) as f64
        })
        .fold(f64::MAX, f64::min)
}

fn main() -> Result<(), expr::Error> {
    let ctx = EvalCtx::default();
    let build = BuildCtx::new(&ctx);
    let chunk = chunk();
    let c = |i: usize| Expr::column(i, types()[i].clone());
    let int = |v: i64| Expr::constant(Datum::Int(v), FieldType::bigint());
    let text = |s: &str| Expr::constant(Datum::from(s), FieldType::varchar(30));
    let op = |op: Op, args: Vec<Expr>| build_op(op, args, &build);
    let like = Op::Like { escape: Some('\\') };

    let expressions = [
        ("int + int", op(Op::Add, vec![c(0), c(1)])?),
        ("double * double", op(Op::Mul, vec![c(2), c(2)])?),
        ("decimal + decimal", op(Op::Add, vec![c(3), c(3)])?),
        ("decimal * decimal", op(Op::Mul, vec![c(3), c(3)])?),
        ("int / int", op(Op::Div, vec![c(0), int(7)])?),
        ("int < const", op(Op::Lt, vec![c(0), int(500)])?),
        ("int between", op(Op::Between, vec![c(0), int(100), int(600)])?),
        ("int in (4)", op(Op::In, vec![c(0), int(1), int(2), int(3), int(4)])?),
        ("text = const (0900_ai_ci)", op(Op::Eq, vec![c(4), text("customer-0007919-1")])?),
        ("text = const (bin)", op(Op::Eq, vec![c(5), text("customer-0007919-1")])?),
        ("text like 'x%' (0900_ai_ci)", op(like, vec![c(4), text("customer-00%")])?),
        ("text like '%x%' (bin)", op(like, vec![c(5), text("%0079%")])?),
        ("datetime < const", op(Op::Lt, vec![c(6), text("1971-01-01")])?),
        ("case when", op(Op::Case, vec![op(Op::Lt, vec![c(0), int(500)])?, c(0), int(0)])?),
        ("if", op(Op::If, vec![op(Op::Lt, vec![c(0), int(500)])?, c(3), c(3)])?),
        ("coalesce", op(Op::Coalesce, vec![c(1), int(0)])?),
        ("concat", build_call("concat", vec![c(4), text("-x")], &build)?),
        ("year", build_call("year", vec![c(6)], &build)?),
        ("round(decimal, 1)", build_call("round", vec![c(3), int(1)], &build)?),
    ];
    println!("{:<34}{:>10}{:>10}{:>10}   ns/row", "expression", "column", "filter", "row");
    for (name, e) in &expressions {
        let by_column = measure(|| {
            black_box(e.eval_chunk(&ctx, &chunk).expect("evaluates"));
        });
        let filter = measure(|| {
            let mut sel: Vec<u32> = (0..ROWS as u32).collect();
            e.filter(&ctx, &chunk, &mut sel).expect("evaluates");
            black_box(sel);
        });
        let by_row = measure(|| chunk.iter().for_each(|row| drop(black_box(e.eval(&ctx, row).expect("evaluates")))));
        println!("{name:<34}{by_column:>10.2}{filter:>10.2}{by_row:>10.2}");
    }

    let groups: Vec<u32> = (0..ROWS as u32).map(|row| row % 50).collect();
    println!("\n{:<34}{:>10}{:>10}   ns/row", "aggregate", "1 group", "50 groups");
    for (name, kind, i, distinct) in [
        ("count(int)", AggKind::Count, 1, false),
        ("sum(int)", AggKind::Sum, 0, false),
        ("sum(decimal)", AggKind::Sum, 3, false),
        ("avg(double)", AggKind::Avg, 2, false),
        ("max(int)", AggKind::Max, 1, false),
        ("min(text)", AggKind::Min, 4, false),
        ("count(distinct int)", AggKind::Count, 0, true),
        ("count(distinct text)", AggKind::Count, 4, true),
    ] {
        let desc = AggDesc::new(kind, vec![c(i)], distinct, &build)?;
        let mut one = new_state(&desc);
        let mut many = new_state(&desc);
        many.grow(50);
        let single = measure(|| one.update_all(&desc, &ctx, &chunk).expect("fed"));
        let grouped = measure(|| many.update_groups(&desc, &ctx, &chunk, &groups).expect("fed"));
        println!("{name:<34}{single:>10.2}{grouped:>10.2}");
    }
    Ok(())
}
