//! Numeric functions.

use expr::EvalCtx;

use crate::script::{check, context, parse, warnings};

#[test]
fn rounding_follows_the_argument_type() {
    check(
        "round(-1.23) => -1
        round(-1.58) => -2
        round(1.58) => 2
        round(1.298, 1) => 1.3
        round(1.298, 0) => 1
        round(23.298, -1) => 20
        round(2.5) => 3
        round(-2.5) => -3
        round(25e-1) => 2
        round(35e-1) => 4
        round(1234567, -3) => 1235000
        round(150, -2) => 200
        round(-150, -2) => -200
        round(0.12345678901234567890123456789012345, 35) => 0.123456789012345678901234567890
        round(NULL) => NULL
        round(1.5, NULL) => NULL
        round('1.5') => 2
        truncate(1.223, 1) => 1.2
        truncate(1.999, 1) => 1.9
        truncate(-1.999, 1) => -1.9
        truncate(122, -2) => 100
        truncate(10.28 * 100, 0) => 1028
        ceiling(1.23) => 2
        ceil(-1.23) => -1
        ceiling(1) => 1
        ceiling(1.2e0) => 2
        floor(1.23) => 1
        floor(-1.23) => -2
        floor('-1.5') => -2",
    );
}

#[test]
fn elementary_functions() {
    check(
        "abs(-32) => 32
        abs(-1.5) => 1.5
        abs('-1.5') => 1.5
        abs(-9223372036854775807 - 1) => error 1690
        sign(-32) => -1
        sign(0) => 0
        sign(234.5) => 1
        mod(234, 10) => 4
        mod(34.5, 3) => 1.5
        mod(1, 0) => NULL
        sqrt(4) => 2
        sqrt(-16) => NULL
        pow(2, 2) => 4
        pow(2, -2) => 0.25
        power(10, 400) => error 1690
        exp(0) => 1
        exp(1000) => error 1690
        ln(1) => 0
        ln(0) => NULL
        log(2, 65536) => 16
        log(1, 100) => NULL
        log2(65536) => 16
        log10(100) => 2
        log10(-100) => NULL
        pi() => 3.141593
        sin(0) => 0
        cos(0) => 1
        atan(1, 1) => 0.7853981633974483
        atan2(-2, 2) => -0.7853981633974483
        acos(1.0001) => NULL
        asin(0) => 0
        cot(12) => -1.5726734063976893
        cot(0) => error 1690
        degrees(pi()) => 180
        radians(90) => 1.5707963267948966
        bit_count(29) => 4
        bit_count(-1) => 64
        bit_count('3') => 2
        greatest(1, 2.5) => 2.5
        least(1e0, 2) => 1",
    );
    assert_eq!(warnings("ln(0)"), [3020]);
}

#[test]
fn rand_with_a_seed_is_mysqls_sequence() {
    let ctx: EvalCtx = context();
    let e = parse("rand(3)", &ctx).expect("builds");
    let values: Vec<f64> = (0..3)
        .map(|_| match e.eval_const(&ctx).expect("evaluates") {
            types::Datum::Double(v) => v,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [0.905_769_755_976_06, 0.373_079_058_130_35, 0.148_086_053_457_19];
    for (got, want) in values.iter().zip(expected) {
        assert!((got - want).abs() < 1e-14, "{values:?}");
    }
    let free = parse("rand()", &ctx).expect("builds");
    assert!(!free.is_deterministic() && !free.is_constant());
}
