//! CAST, and what names and arity errors look like.

use crate::script::{check, context, warnings};
use expr::{BuildCtx, Expr, build_call};

#[test]
fn casts_of_numbers() {
    check(
        "cast('123' as signed) => 123
        cast('  12abc' as signed) => 12
        cast('abc' as signed) => 0
        cast('1.7' as signed) => 1
        cast(1.5 as signed) => 2
        cast(-1.5 as signed) => -2
        cast(2.5e0 as signed) => 2
        cast(-1 as unsigned) => 18446744073709551615
        cast(18446744073709551615 as signed) => -1
        cast(1e30 as signed) => 9223372036854775807
        cast('12.345' as decimal(5, 2)) => 12.35
        cast(1234567 as decimal(5, 2)) => 999.99
        cast(12 as decimal(5, 2)) => 12.00
        cast('abc' as decimal) => 0
        cast(1 / 3 as decimal(10, 8)) => 0.33333333
        cast('1.5e2' as double) => 150
        cast(1.1 as float) => 1.1
        cast(1 as decimal(66, 0)) => error 1426
        cast(1 as decimal(40, 31)) => error 1425
        cast(NULL as signed) => NULL
        cast(date '2024-01-02' as signed) => 20240102
        cast(timestamp '2024-01-02 03:04:05.9' as signed) => 20240102030406
        cast('2024' as year) => 2024
        cast(69 as year) => 2069
        cast(70 as year) => 1970",
    );
    assert_eq!(warnings("cast('12abc' as signed)"), [1292]);
}

#[test]
fn casts_to_strings_and_times() {
    check(
        "cast(123 as char) => 123
        cast('abcdef' as char(3)) => abc
        cast('日本語' as char(2)) => 日本
        hex(cast('ab' as binary(4))) => 61620000
        cast(1.50 as char) => 1.50
        cast(1e20 as char) => 1e20
        cast('2024-02-30' as date) => NULL
        cast('2024-2-3' as date) => 2024-02-03
        cast('0000-00-00' as date) => NULL
        cast(20240203 as date) => 2024-02-03
        cast('2024-02-03 04:05:06.789' as datetime) => 2024-02-03 04:05:07
        cast('2024-02-03 04:05:06.789' as datetime(2)) => 2024-02-03 04:05:06.79
        cast('2024-02-03' as datetime) => 2024-02-03 00:00:00
        cast('10:11:12.6' as time) => 10:11:13
        cast(101112 as time) => 10:11:12
        cast('-100:00:00' as time) => -100:00:00
        cast('900:00:00' as time) => 838:59:59
        cast('nonsense' as datetime) => NULL
        cast(timestamp '2024-02-03 04:05:06' as time) => 04:05:06
        cast(timestamp '2024-02-03 04:05:06' as date) => 2024-02-03
        cast(time '01:02:03' as datetime) => 2024-02-29 01:02:03
        cast('a' as datetime(7)) => error 1426",
    );
    assert_eq!(warnings("cast('abcdef' as char(3))"), [1292]);
    assert_eq!(warnings("cast('nonsense' as datetime)"), [1292]);
}

#[test]
fn unknown_functions_and_wrong_arity_are_mysqls_errors() {
    let ctx = context();
    let build = |name: &str, args: Vec<Expr>| build_call(name, args, &BuildCtx::new(&ctx)).expect_err("must fail");
    let unknown = build("nosuch", vec![]);
    assert_eq!((unknown.code(), unknown.to_string().as_str()), (1305, "FUNCTION test.nosuch does not exist"));
    let arity = build("abs", vec![]);
    assert_eq!((arity.code(), arity.to_string().as_str()), (1582, "Incorrect parameter count in the call to native function 'ABS'"));
    assert_eq!(build("updatexml", vec![]).code(), 1235);
    assert_eq!(build("ST_AREA", vec![]).code(), 1235);
    check(
        "concat() => error 1582
        now(1, 2) => error 1582
        now(7) => error 1426",
    );
}
