//! Tables of what MySQL 8.0 answers.

use super::*;
use crate::{
    Collation, Datum, FieldType, TypeFlags, TypeKind,
    mysql_error::{
        ER_DATA_TOO_LONG, ER_TRUNCATED_WRONG_VALUE, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_WARN_DATA_OUT_OF_RANGE, WARN_DATA_TRUNCATED,
    },
};

use proptest::prelude::*;

const LOOSE: ConvertMode =
    ConvertMode { strict: false, no_zero_date: false, no_zero_in_date: false, allow_invalid_dates: false, today: None };

fn text_of(datum: &Datum, ty: &FieldType) -> String {
    match datum {
        Datum::Null => "NULL".to_owned(),
        datum => String::from_utf8_lossy(&datum.as_ref().to_text(ty)).into_owned(),
    }
}

/// The stored text, with the numbers of warnings behind it; or the error's number.
fn stored(datum: impl Into<Datum>, ty: &FieldType, mode: ConvertMode) -> String {
    let zone = TimeZone::parse("+08:00").expect("valid");
    let mut codes = Vec::new();
    match store(datum.into(), ty, mode, &zone, &mut |error| codes.push((error.is_note(), error.code()))) {
        Ok(datum) => {
            let mut text = text_of(&datum, ty);
            codes.iter().for_each(|(note, code)| text.push_str(&format!(" {}{code}", if *note { "~" } else { "!" })));
            text
        }
        Err(error) => format!("{}", error.code()),
    }
}

/// Checks what a column stores in strict and in loose mode.
fn check<D: Into<Datum> + Clone>(ty: &FieldType, cases: &[(D, &str, &str)]) {
    for (datum, strict, loose) in cases {
        let datum = datum.clone().into();
        assert_eq!(stored(datum.clone(), ty, ConvertMode::STRICT), *strict, "{datum:?} as {} in strict mode", ty.to_sql());
        assert_eq!(stored(datum.clone(), ty, LOOSE), *loose, "{datum:?} as {} in loose mode", ty.to_sql());
    }
}

#[test]
fn integers_are_stored_within_their_range() {
    let tiny = FieldType::new(TypeKind::TinyInt);
    check(&tiny, &[(127i64, "127", "127"), (128, "1264", "127 !1264"), (-129, "1264", "-128 !1264")]);
    check(&tiny.clone().with_unsigned(), &[(255i64, "255", "255"), (-1, "1264", "0 !1264"), (256, "1264", "255 !1264")]);
    check(
        &FieldType::int(),
        &[
            ("12", "12", "12"),
            (" 12 ", "12", "12"),
            ("1.5", "2", "2"),
            ("-1.5", "-2", "-2"),
            ("1e3", "1000", "1000"),
            ("abc", "1366", "0 !1366"),
            ("", "1366", "0 !1366"),
            ("12abc", "1265", "12 !1265"),
            ("99999999999", "1264", "2147483647 !1264"),
            ("99999999999999999999999999999999999999999999", "1264", "2147483647 !1264"),
        ],
    );
    check(&FieldType::int(), &[(2.5f64, "2", "2"), (3.5, "4", "4"), (-0.4, "0", "0"), (1e30, "1264", "2147483647 !1264")]);
    check(&FieldType::unsigned_bigint(), &[(u64::MAX, "18446744073709551615", "18446744073709551615")]);
    check(&FieldType::bigint(), &[(u64::MAX, "1264", "9223372036854775807 !1264")]);
    check(
        &FieldType::bigint(),
        &[
            ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "1264", "9223372036854775807 !1264"),
        ],
    );
    let decimal = |text: &str| Datum::Decimal(text.parse().expect("valid"));
    check(
        &FieldType::bigint(),
        &[(decimal("2.5"), "3", "3"), (decimal("-2.5"), "-3", "-3"), (decimal("1e40"), "1264", "9223372036854775807 !1264")],
    );
    check(&tiny.clone().with_unsigned(), &[(decimal("-0.4"), "1264", "0 !1264"), (decimal("0.4"), "0", "0")]);
    check(&tiny.with_unsigned(), &[(-0.4f64, "0", "0")]);
    assert_eq!((ER_WARN_DATA_OUT_OF_RANGE.code, WARN_DATA_TRUNCATED.code, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD.code), (1264, 1265, 1366));
}

#[test]
fn floats_and_decimals_are_rounded_to_their_column() {
    check(
        &FieldType::double(),
        &[
            ("1.5", "1.5", "1.5"),
            ("1.5x", "1265", "1.5 !1265"),
            ("x", "1265", "0 !1265"),
            ("1e400", "1264", "1.7976931348623157e308 !1264"),
        ],
    );
    check(&FieldType::float(), &[(1e39f64, "1264", "3.40282e38 !1264"), (0.1, "0.1", "0.1")]);
    let mut money = FieldType::double().with_flen(5);
    money.decimal = 2;
    check(&money, &[(1.005f64, "1.00", "1.00"), (999.994, "999.99", "999.99"), (1000.0, "1264", "999.99 !1264")]);
    check(
        &FieldType::decimal(5, 2),
        &[
            ("1.005", "1.01 ~1265", "1.01 ~1265"),
            ("999.994", "999.99 ~1265", "999.99 ~1265"),
            ("999.995", "1264", "999.99 !1264"),
            ("-1000", "1264", "-999.99 !1264"),
            ("abc", "1366", "0.00 !1366"),
            ("1.2x", "1265", "1.20 !1265"),
            ("1e-3", "0.00 ~1265", "0.00 ~1265"),
            ("1.500", "1.50", "1.50"),
        ],
    );
    check(&FieldType::decimal(5, 2), &[(1.005f64, "1.01 ~1265", "1.01 ~1265"), (1e300, "1264", "999.99 !1264")]);
    check(&FieldType::decimal(5, 0).with_unsigned(), &[(-1i64, "1264", "0 !1264"), (7, "7", "7")]);
    check(&FieldType::decimal(5, 0).with_unsigned(), &[("-1e100", "1264", "0 !1264"), ("1e100", "1264", "99999 !1264")]);
    check(&FieldType::decimal(5, 1).with_unsigned(), &[(-1e300f64, "1264", "0.0 !1264"), (1e300, "1264", "9999.9 !1264")]);
}

#[test]
fn texts_are_cut_by_characters_and_checked() {
    let varchar = FieldType::varchar(3);
    check(&varchar, &[("äöü", "äöü", "äöü"), ("äöüß", "1406", "äöü !1265"), ("abc  ", "abc ~1265", "abc ~1265"), ("ab ", "ab ", "ab ")]);
    check(&varchar, &[(1234i64, "1406", "123 !1265"), (12, "12", "12")]);
    check(&FieldType::char(3), &[("a  ", "a", "a"), ("abc   ", "abc", "abc"), ("abcd", "1406", "abc !1265")]);
    check(&FieldType::binary(3), &[("a", "a\0\0", "a\0\0"), ("abcd", "1406", "abc !1265")]);
    check(&FieldType::varbinary(3), &[("abc ", "1406", "abc !1265")]);
    check(&varchar, &[(Datum::Bytes(b"a\xffb".to_vec()), "1366", "a !1366")]);
    let long = "ä".repeat(128);
    check(&FieldType::new(TypeKind::TinyText), &[(long.as_str(), "1406", &*(["ä".repeat(127), "!1265".to_owned()].join(" ")))]);
    let error =
        store(Datum::Bytes(b"ab\xe9cdefgh".to_vec()), &varchar, ConvertMode::STRICT, &TimeZone::UTC, &mut |_| {}).expect_err("not UTF-8");
    assert_eq!(error.at_column("c", 2).to_string(), "Incorrect string value: '\\xE9cdefg...' for column 'c' at row 2");
    assert_eq!(ER_DATA_TOO_LONG.sqlstate, "22001");
}

#[test]
fn dates_are_checked_by_the_mode() {
    check(
        &FieldType::date(),
        &[
            ("2024-01-02", "2024-01-02", "2024-01-02"),
            ("2024-01-02 12:00:00", "2024-01-02 ~1265", "2024-01-02 ~1265"),
            ("2024-01-02 00:00:00", "2024-01-02", "2024-01-02"),
            ("2024-02-30", "1292", "0000-00-00 !1265"),
            ("0000-00-00", "1292", "0000-00-00"),
            ("2024-00-01", "1292", "2024-00-01"),
            ("2024-01-02x", "1292", "2024-01-02 !1265"),
            ("x", "1292", "0000-00-00 !1265"),
        ],
    );
    check(&FieldType::date(), &[(20_240_102i64, "2024-01-02", "2024-01-02"), (20_241_302, "1292", "0000-00-00 !1265")]);
    check(&FieldType::datetime(3), &[("2024-01-02 03:04:05.6789", "2024-01-02 03:04:05.679", "2024-01-02 03:04:05.679")]);
    check(&FieldType::datetime(0), &[(20_240_102_030_405.5f64, "2024-01-02 03:04:06", "2024-01-02 03:04:06")]);
    check(&FieldType::datetime(0), &[("2024-01-02 03:04:05+00:00", "2024-01-02 11:04:05", "2024-01-02 11:04:05")]);
    check(
        &FieldType::timestamp(0),
        &[
            // The session's zone is +08:00, the column holds UTC.
            ("2024-01-02 08:00:00", "2024-01-02 00:00:00", "2024-01-02 00:00:00"),
            ("1969-01-01 00:00:00", "1292", "0000-00-00 00:00:00 !1264"),
            ("2038-01-19 11:14:08", "1292", "0000-00-00 00:00:00 !1264"),
        ],
    );
    check(
        &FieldType::time(0),
        &[("12:34:56.5", "12:34:57", "12:34:57"), ("850:00:00", "1292", "838:59:59 !1264"), ("x", "1292", "00:00:00 !1265")],
    );
    check(&FieldType::time(1), &[(-123_456i64, "-12:34:56.0", "-12:34:56.0")]);
    check(
        &FieldType::year(),
        &[(24i64, "2024", "2024"), (70, "1970", "1970"), (0, "0000", "0000"), (1900, "1264", "0000 !1264"), (2155, "2155", "2155")],
    );
    check(&FieldType::year(), &[("0", "2000", "2000"), ("0000", "0000", "0000"), ("2024", "2024", "2024"), ("x", "1366", "0000 !1366")]);
    let error =
        store(Datum::from("2024-02-30"), &FieldType::date(), ConvertMode::STRICT, &TimeZone::UTC, &mut |_| {}).expect_err("no date");
    assert_eq!(error.at_column("d", 1).to_string(), "Incorrect date value: '2024-02-30' for column 'd' at row 1");
}

#[test]
fn enum_set_and_bit() {
    let mut colour = FieldType::new(TypeKind::Enum).with_collation(Collation::Utf8mb4_0900AiCi);
    colour.elems = ["red".to_owned(), "green".to_owned()].into();
    check(&colour, &[("GREEN", "green", "green"), ("2", "green", "green"), ("blue", "1265", " !1265"), ("", "1265", " !1265")]);
    check(&colour, &[(1i64, "red", "red"), (3, "1265", " !1265")]);
    let colours = FieldType { tp: TypeKind::Set, ..colour };
    check(
        &colours,
        &[("green,red", "red,green", "red,green"), ("", "", ""), ("red,x", "1265", "red !1265"), ("3", "red,green", "red,green")],
    );
    let bits = FieldType::new(TypeKind::Bit).with_flen(9);
    check(&bits, &[(0x141i64, "\u{1}A", "\u{1}A"), (512, "1406", "\u{1}\u{fffd} !1406")]);
}

/// The cast value, with warnings behind it.
fn casted(datum: impl Into<Datum>, from: &FieldType, to: &FieldType) -> String {
    let zone = TimeZone::parse("+08:00").expect("valid");
    let mut messages = Vec::new();
    let datum = datum.into();
    let result = cast(datum.as_ref(), from, to, ConvertMode::STRICT, &zone, &mut |error| {
        assert_eq!(error.code(), ER_TRUNCATED_WRONG_VALUE.code);
        messages.push(error.to_string());
    });
    let mut text = text_of(&result.expect("casts do not fail"), to);
    messages.iter().for_each(|message| text.push_str(&format!(" [{message}]")));
    text
}

#[test]
fn casts_answer_as_mysql_does() {
    let (text, int, double) = (FieldType::varchar(50), FieldType::bigint(), FieldType::double());
    for (value, expected) in [
        ("12", "12"),
        ("12.9", "12 [Truncated incorrect INTEGER value: '12.9']"),
        ("abc", "0 [Truncated incorrect INTEGER value: 'abc']"),
        ("18446744073709551615", "-1"),
        (" 7 ", "7"),
    ] {
        assert_eq!(casted(value, &text, &int), expected);
    }
    assert_eq!(casted(2.5f64, &double, &int), "2");
    assert_eq!(casted(Datum::Decimal("2.5".parse().expect("valid")), &FieldType::decimal(2, 1), &int), "3");
    assert_eq!(casted(-1i64, &int, &FieldType::unsigned_bigint()), "18446744073709551615");
    assert_eq!(casted("1.5abc", &text, &double), "1.5 [Truncated incorrect DOUBLE value: '1.5abc']");
    assert_eq!(casted("1.255", &text, &FieldType::decimal(5, 2)), "1.26");
    assert_eq!(casted("12345.6", &text, &FieldType::decimal(5, 2)), "999.99 [Truncated incorrect DECIMAL value: '12345.6']");
    assert_eq!(casted("2024-01-02", &text, &FieldType::datetime(0)), "2024-01-02 00:00:00");
    assert_eq!(casted("2024-13-02", &text, &FieldType::date()), "NULL [Incorrect datetime value: '2024-13-02']");
    assert_eq!(casted("x", &text, &FieldType::time(0)), "NULL [Truncated incorrect time value: 'x']");
    assert_eq!(casted("abcdef", &text, &FieldType::char(3)), "abc [Truncated incorrect CHAR(3) value: 'abcdef']");
    assert_eq!(casted(1.5f64, &double, &text), "1.5");
    assert_eq!(casted(Datum::Null, &FieldType::null(), &int), "NULL");
    let zerofill = FieldType::int().with_unsigned().with_flags(TypeFlags::ZEROFILL).with_flen(4);
    assert_eq!(casted(7u64, &zerofill, &text), "0007");
}

#[test]
fn timestamps_are_local_outside() {
    let zone = TimeZone::parse("+08:00").expect("valid");
    let stamp =
        store(Datum::from("2024-01-02 08:00:00"), &FieldType::timestamp(0), ConvertMode::STRICT, &zone, &mut |_| {}).expect("valid");
    let (from, text) = (FieldType::timestamp(0), FieldType::varchar(30));
    assert_eq!(casted(stamp.clone(), &from, &text), "2024-01-02 08:00:00");
    assert_eq!(casted(stamp.clone(), &from, &FieldType::date()), "2024-01-02");
    assert_eq!(casted(stamp.clone(), &from, &FieldType::bigint()), "20240102080000");
    assert_eq!(casted(stamp, &from, &FieldType::timestamp(0)), "2024-01-02 00:00:00");
    let mut mode = ConvertMode::STRICT;
    mode.today = crate::Time::date(2024, 1, 2);
    let noon = Datum::Duration(crate::Duration::from_micros(12 * 3_600_000_000, 0));
    let stored = store(noon, &FieldType::datetime(0), mode, &zone, &mut |_| {}).expect("today is known");
    assert_eq!(text_of(&stored, &FieldType::datetime(0)), "2024-01-02 12:00:00");
}

#[test]
fn truth_of_values() {
    for (datum, truth) in [
        (Datum::Null, None),
        (Datum::Int(0), Some(false)),
        (Datum::from("0.5"), Some(true)),
        (Datum::from("abc"), Some(false)),
        (Datum::from(""), Some(false)),
        (Datum::Double(-0.0), Some(false)),
    ] {
        assert_eq!(to_bool(datum.as_ref()), truth, "{datum:?}");
    }
}

fn any_datum() -> impl Strategy<Value = Datum> {
    let number = "-?[0-9]{1,40}(\\.[0-9]{0,31})?(e-?[0-9]{1,3})?";
    prop_oneof![
        Just(Datum::Null),
        prop_oneof![any::<i64>(), -300i64..300, 10_000_000i64..99_999_999].prop_map(Datum::Int),
        any::<u64>().prop_map(Datum::UInt),
        prop_oneof![any::<f64>(), -1e3..1e3].prop_map(Datum::Double),
        any::<f32>().prop_map(Datum::Float),
        (any::<i128>(), 0u8..=30).prop_map(|(n, scale)| Datum::Decimal(crate::Decimal::from_unscaled(n, scale))),
        prop::collection::vec(any::<u8>(), 0..20).prop_map(Datum::Bytes),
        prop_oneof![number, "[0-9:. -]{0,25}", "[a-zé漢 ]{0,9}"].prop_map(Datum::from),
        (any::<u64>(), 0u8..=6).prop_filter_map("packed bits", |(bits, fsp)| {
            crate::Time::from_packed(bits >> 4, crate::TimeKind::DateTime, fsp).map(Datum::Time)
        }),
        (0i64..4_000_000_000_000_000)
            .prop_filter_map("in range", |micros| crate::Time::timestamp_from_unix_micros(micros, 6).map(Datum::Time)),
        (any::<i32>(), 0u8..=6).prop_map(|(n, fsp)| Datum::Duration(crate::Duration::from_micros(i64::from(n) * 1400, fsp))),
    ]
}

fn any_type() -> impl Strategy<Value = FieldType> {
    let mut members = FieldType::new(TypeKind::Enum);
    members.elems = ["a".to_owned(), "b".to_owned()].into();
    let set = FieldType { tp: TypeKind::Set, ..members.clone() };
    let mut fixed = FieldType::float().with_flen(7);
    fixed.decimal = 3;
    prop::sample::select(vec![
        FieldType::new(TypeKind::TinyInt),
        FieldType::new(TypeKind::MediumInt).with_unsigned(),
        FieldType::bigint(),
        FieldType::unsigned_bigint(),
        FieldType::float(),
        fixed,
        FieldType::double().with_unsigned(),
        FieldType::decimal(10, 3),
        FieldType::decimal(65, 30),
        FieldType::decimal(20, 0).with_unsigned(),
        FieldType::char(4),
        FieldType::varchar(6),
        FieldType::binary(5),
        FieldType::varbinary(5),
        FieldType::new(TypeKind::TinyBlob),
        FieldType::text(),
        FieldType::date(),
        FieldType::datetime(2),
        FieldType::timestamp(0),
        FieldType::time(3),
        FieldType::year(),
        FieldType::new(TypeKind::Bit).with_flen(12),
        members,
        set,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever is stored is a value of the column: it is kept by columns, rows and keys, and storing it again changes nothing.
    #[test]
    fn stored_values_are_values_of_the_column(datum in any_datum(), ty in any_type(), strict: bool, zone in prop::sample::select(vec!["+08:00", "America/New_York"])) {
        let zone = TimeZone::parse(zone).expect("known");
        let mode = if strict { ConvertMode::STRICT } else { LOOSE };
        let mut warned = 0;
        let stored = store(datum.clone(), &ty, mode, &zone, &mut |error| warned += u32::from(!error.is_note()));
        prop_assert!(!strict || warned == 0, "strict mode raises errors");
        prop_assert!(strict || stored.is_ok(), "loose mode has no errors");
        if let Ok(stored) = stored && !stored.is_null() {
            let mut column = crate::Column::for_type(&ty, 1);
            column.push(&stored);
            prop_assert_eq!(column.datum(0), stored.clone());
            let (mut cell, mut key) = (Vec::new(), Vec::new());
            crate::value::encode_row_value(&mut cell, stored.as_ref(), &ty);
            prop_assert_eq!(crate::value::decode_row_value(&cell, &ty), Ok(stored.clone()));
            crate::value::encode_key_datum(&mut key, stored.as_ref(), &ty, false);
            prop_assert_eq!(crate::value::skip_key_datum(&key, false), Ok(key.len()));
            if !matches!(ty.tp, TypeKind::Enum) {
                prop_assert_eq!(store(stored.clone(), &ty, LOOSE, &zone, &mut |_| {}), Ok(stored));
            }
        }
    }

    #[test]
    fn casts_give_values_of_the_type(datum in any_datum(), ty in any_type()) {
        let from = match &datum {
            Datum::Float(_) => FieldType::float(),
            Datum::Time(_) => FieldType::datetime(6),
            Datum::Bytes(_) => FieldType::varbinary(50),
            _ => FieldType::null(),
        };
        let result = cast(datum.as_ref(), &from, &ty, LOOSE, &TimeZone::UTC, &mut |_| {}).expect("casts do not fail");
        if !matches!(ty.tp, TypeKind::Enum | TypeKind::Set) {
            let mut column = crate::Column::for_type(&ty, 1);
            column.push(&result);
            let mut out = Vec::new();
            column.datum_ref(0).write_text(&ty, &mut out);
        }
    }
}
