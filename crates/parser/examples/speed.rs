//! What parsing and normalising cost per statement: `cargo run --release -p parser --example speed`.

use std::{hint::black_box, time::Instant};

use parser::{Normalized, ParseOptions, normalize_into, parse_one_bytes};

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=500123"),
    ("range", "SELECT c FROM sbtest1 WHERE id BETWEEN 500123 AND 500222 ORDER BY c"),
    ("sum", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 500123 AND 500222"),
    ("update index", "UPDATE sbtest1 SET k=k+1 WHERE id=500123"),
    (
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (500123, 499999, '68487932199-96439406143-93774651418-41631865787-96406072701-\
         20604855487-25459966574-28203206787-41238978918-19503783441', '22195207048-70116052123-74140395089-76317954521-98694025897')",
    ),
    ("begin", "BEGIN"),
];

const ROUNDS: u32 = 200_000;

fn main() {
    let opts = ParseOptions::default();
    let mut out = Normalized::default();
    println!("{:>14} {:>12} {:>16}", "statement", "parse ns", "normalize ns");
    for (name, sql) in STATEMENTS {
        let parse = per_round(|| {
            black_box(parse_one_bytes(black_box(sql.as_bytes()), &opts)).expect("the statements are correct");
        });
        let normalize = per_round(|| {
            black_box(normalize_into(black_box(sql.as_bytes()), &opts, &mut out));
        });
        println!("{name:>14} {parse:>12.0} {normalize:>16.0}");
    }
}

/// Nanoseconds per call, the best of five runs.
fn per_round(mut f: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let start = Instant::now();
            (0..ROUNDS).for_each(|_| f());
            start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .fold(f64::INFINITY, f64::min)
}
