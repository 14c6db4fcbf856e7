//! Decimals against a slow reference of big integers, and tables of MySQL's answers.

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use super::*;

fn dec(text: &str) -> Decimal {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn pow10(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// Numerator over a power of ten: the whole value, digits beyond the shown ones included.
fn exact(value: &Decimal) -> (BigInt, u32) {
    let magnitude = value.magnitude.iter().rev().fold(BigInt::ZERO, |acc, &limb| (acc << 64) + limb);
    (if value.negative { -magnitude } else { magnitude }, u32::from(value.computed))
}

fn at_scale(value: &Decimal, scale: u32) -> BigInt {
    let (numerator, own) = exact(value);
    assert!(own <= scale);
    numerator * pow10(scale - own)
}

/// `numerator / denominator` rounded half away from zero.
fn round_ratio(numerator: &BigInt, denominator: &BigInt) -> BigInt {
    let doubled = numerator * 2;
    let away =
        if (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus) { -denominator.clone() } else { denominator.clone() };
    (doubled + away) / (denominator * 2)
}

/// Numbers of all sizes: of one limb, of many, with and without fraction, near powers of ten.
fn decimals() -> impl Strategy<Value = Decimal> {
    let digits = prop_oneof![4 => "[0-9]{1,9}", 2 => "[0-9]{10,35}", 1 => "9{20,30}", 1 => "10{18,30}"];
    let fraction = prop_oneof![3 => Just(String::new()), 3 => "\\.[0-9]{1,6}", 2 => "\\.[0-9]{7,30}", 1 => "\\.9{1,30}"];
    (any::<bool>(), digits, fraction)
        .prop_map(|(negative, int, fraction)| dec(&format!("{}{int}{fraction}", if negative { "-" } else { "" })))
}

proptest! {
    #[test]
    fn sums_and_differences_are_exact(a in decimals(), b in decimals()) {
        for (result, expected) in [
            (a.add(&b).expect("fits"), at_scale(&a, 60) + at_scale(&b, 60)),
            (a.sub(&b).expect("fits"), at_scale(&a, 60) - at_scale(&b, 60)),
        ] {
            prop_assert_eq!(at_scale(&result, 60), expected);
            prop_assert_eq!(result.scale(), a.scale().max(b.scale()));
        }
    }

    #[test]
    fn products_are_exact_up_to_76_digits(a in decimals(), b in decimals()) {
        let product = a.mul(&b).expect("fits");
        let scale = u32::from(product.computed);
        let full = at_scale(&a, 30) * at_scale(&b, 30);
        prop_assert_eq!(exact(&product).0, full / pow10(60 - scale));
        prop_assert_eq!(product.scale(), (a.scale() + b.scale()).min(30));
        prop_assert!(scale == u32::from(a.computed) + u32::from(b.computed) || wide::digits(&product.magnitude) == MAX_DIGITS);
    }

    #[test]
    fn quotients_are_cut_off_behind_enough_digits(a in decimals(), b in decimals(), increment in 0u8..=30) {
        match a.div(&b, increment).expect("fits") {
            None => prop_assert!(b.is_zero()),
            Some(quotient) => {
                let scale = u32::from(quotient.computed);
                prop_assert_eq!(exact(&quotient).0, at_scale(&a, 30) * pow10(scale) / at_scale(&b, 30));
                prop_assert_eq!(quotient.scale(), (a.scale() + increment).min(30));
                prop_assert!(quotient.computed >= quotient.shown || wide::digits(&quotient.magnitude) >= MAX_DIGITS - 1);
            }
        }
    }

    #[test]
    fn remainders_and_whole_quotients_fit_together(a in decimals(), b in decimals()) {
        if b.is_zero() {
            prop_assert_eq!((a.rem(&b), a.int_div(&b)), (Ok(None), Ok(None)));
        } else if let (Ok(Some(rest)), Ok(Some(quotient))) = (a.rem(&b), a.int_div(&b)) {
            let (x, y) = (at_scale(&a, 30), at_scale(&b, 30));
            prop_assert_eq!(at_scale(&rest, 30), &x % &y);
            prop_assert_eq!(at_scale(&quotient, 0), x / y);
        }
    }

    #[test]
    fn rounding_is_that_of_the_reference(a in decimals(), scale in -40i32..=30) {
        let (numerator, own) = exact(&a);
        let unit = if scale <= own as i32 { pow10((own as i32 - scale) as u32) } else { BigInt::from(1) };
        let expected = |units: BigInt| if scale <= own as i32 { units * &unit } else { numerator.clone() };
        let half_up = a.round(scale, RoundMode::HalfUp);
        let towards_zero = a.round(scale, RoundMode::Truncate);
        let scaled = |value: &Decimal| at_scale(value, 30) / pow10(30 - own);
        prop_assert_eq!(scaled(&half_up), expected(round_ratio(&numerator, &unit)));
        prop_assert_eq!(scaled(&towards_zero), expected(&numerator / &unit));
        prop_assert_eq!(i32::from(half_up.scale()), scale.max(0));
        let (floor, ceiling) = (a.round(scale, RoundMode::Floor), a.round(scale, RoundMode::Ceiling));
        prop_assert!(floor <= a && a <= ceiling);
        let expected = if a.is_negative() { ceiling } else { floor };
        prop_assert_eq!(towards_zero, expected);
    }

    #[test]
    fn order_hash_and_negation_agree_with_the_reference(a in decimals(), b in decimals()) {
        prop_assert_eq!(a.cmp(&b), at_scale(&a, 30).cmp(&at_scale(&b, 30)));
        prop_assert_eq!(a.neg().cmp(&b.neg()), b.cmp(&a));
        let longer = a.round(30, RoundMode::HalfUp);
        prop_assert_eq!(longer, a);
        prop_assert_eq!(longer.canonical(), a.canonical());
        prop_assert_eq!(a.sub(&a).expect("fits"), Decimal::ZERO);
    }

    #[test]
    fn text_and_binary_form_come_back(a in decimals(), b in decimals()) {
        prop_assert_eq!(dec(&a.to_string()), a);
        prop_assert_eq!(dec(&a.to_string()).to_string(), a.to_string());
        let encode = |value: &Decimal| {
            let mut out = Vec::new();
            value.encode_binary(65, 30, &mut out);
            out
        };
        let bytes = encode(&a);
        let mut input = &bytes[..];
        let back = Decimal::decode_binary(&mut input).expect("own bytes");
        prop_assert!(input.is_empty() && back == a && back.scale() == 30);
        prop_assert_eq!(bytes.cmp(&encode(&b)), a.cmp(&b));
        prop_assert_eq!(decode_binary_len(&bytes), Ok(bytes.len()));
        let mut own = Vec::new();
        a.encode_binary_exact(&mut own);
        prop_assert_eq!(Decimal::decode_binary(&mut &own[..]).expect("own bytes").to_string(), a.to_string());
    }

    #[test]
    fn numbers_of_other_types_come_back(int: i64, unsigned: u64, number in -1e60f64..1e60, a in decimals()) {
        prop_assert_eq!(Decimal::from_i64(int).to_i64(), Ok(int));
        prop_assert_eq!(Decimal::from_u64(unsigned).to_u64(), Ok(unsigned));
        prop_assert_eq!(Decimal::from_f64(number).expect("fits").to_f64(), number);
        prop_assert_eq!(a.to_f64(), a.to_string().parse::<f64>().expect("a number"));
        let rounded = round_ratio(&exact(&a).0, &pow10(exact(&a).1));
        prop_assert_eq!(a.to_i64().ok(), i64::try_from(&rounded).ok());
        prop_assert_eq!(a.to_u64().ok(), u64::try_from(&rounded).ok());
    }

    #[test]
    fn any_input_is_read_without_panic(text in "[0-9.eE+ -]{0,40}", bytes: Vec<u8>, mut binary: Vec<u8>, precision in 0u8..90, scale in 0u8..40) {
        let _ = Decimal::parse_prefix(text.as_bytes());
        let _ = Decimal::parse_prefix(&bytes);
        if let [p, s, ..] = &mut binary[..] {
            (*p, *s) = (precision, scale);
        }
        let _ = Decimal::decode_binary(&mut &binary[..]);
    }
}

#[test]
fn texts_are_read_as_mysql_reads_them() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        (" 12.50 ", "12.50"),
        ("+7", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1.5e-3", "0.0015"),
        ("1.23E2", "123"),
        ("1.23e1", "12.3"),
        ("00012.30", "12.30"),
        ("1e-40", "0.000000000000000000000000000000"),
        ("0.1234567890123456789012345678905", "0.123456789012345678901234567891"),
        ("123456789012345678901234567890.123456789012345678901234567890", "123456789012345678901234567890.123456789012345678901234567890"),
    ] {
        assert_eq!(dec(text).to_string(), expected, "{text}");
    }
    for bad in ["", "-", ".", "abc", "1x", "1 2", "e5"] {
        assert_eq!(Decimal::parse(bad.as_bytes()), Err(DecimalError::BadNumber), "{bad}");
    }
    assert_eq!(Decimal::parse(b"1e80"), Err(DecimalError::Overflow));
    let prefix = Decimal::parse_prefix(b"12.5abc");
    assert_eq!((prefix.value.to_string(), prefix.used), ("12.5".to_owned(), 4));
}

#[test]
fn arithmetic_answers_as_mysql_does() {
    let div = |a: &str, b: &str| dec(a).div(&dec(b), 4).expect("fits").expect("not by zero");
    for (a, b, expected) in [
        ("1", "3", "0.3333"),
        ("2", "3", "0.6667"),
        ("-2", "3", "-0.6667"),
        ("10", "4", "2.5000"),
        ("1.00", "3.0", "0.333333"),
        ("0.1", "0.03", "3.33333"),
        ("99999999999999999999", "3", "33333333333333333333.0000"),
        ("1", "0.000001", "1000000.0000"),
    ] {
        assert_eq!(div(a, b).to_string(), expected, "{a}/{b}");
    }
    // The quotient has more digits than are shown.
    assert_eq!(div("1", "3").mul(&dec("3")).expect("fits").to_string(), "1.0000");
    assert_eq!(dec("1.10").add(&dec("2.205")).expect("fits").to_string(), "3.305");
    assert_eq!(dec("1.10").mul(&dec("2.205")).expect("fits").to_string(), "2.42550");
    assert_eq!(dec("-7.5").rem(&dec("2")).expect("fits").expect("not by zero").to_string(), "-1.5");
    assert_eq!(dec("7.5").int_div(&dec("-2")).expect("fits").expect("not by zero").to_string(), "-3");
    let max = Decimal::max_value(65, 0);
    assert_eq!(max.mul(&max), Err(DecimalError::Overflow));
    assert_eq!(max.add(&Decimal::ONE).expect("one digit more has room").to_string().len(), 66);
}

#[test]
fn columns_round_and_refuse() {
    assert_eq!(dec("1.005").fit(5, 2).expect("fits").to_string(), "1.01");
    assert_eq!(dec("-1.005").fit(5, 2).expect("fits").to_string(), "-1.01");
    assert_eq!(dec("999.995").fit(5, 2).expect_err("too large").to_string(), "999.99");
    assert_eq!(dec("-1e10").fit(5, 2).expect_err("too large").to_string(), "-999.99");
    assert!(dec("1.001").loses_digits_at(2) && !dec("1.100").loses_digits_at(2));
    assert_eq!((dec("0.05").precision(), dec("0.05").scale(), dec("123.4").precision(), Decimal::ZERO.precision()), (2, 2, 4, 1));
}

#[test]
fn known_bytes_of_the_binary_form() {
    let encode = |text: &str, precision, scale| {
        let mut out = Vec::new();
        dec(text).encode_binary(precision, scale, &mut out);
        out
    };
    // The example of MySQL's source: 1234567890.1234 as DECIMAL(14,4).
    assert_eq!(encode("1234567890.1234", 14, 4), [14, 4, 0x81, 0x0d, 0xfb, 0x38, 0xd2, 0x04, 0xd2]);
    assert_eq!(encode("-1234567890.1234", 14, 4), [14, 4, 0x7e, 0xf2, 0x04, 0xc7, 0x2d, 0xfb, 0x2d]);
    assert_eq!(size_of::<Decimal>(), 40);
}
