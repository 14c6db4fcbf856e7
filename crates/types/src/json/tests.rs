//! JSON against the manual's examples and against `serde_json`.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{path::JsonPath, *};

fn json(text: &str) -> Json {
    parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn stored(text: &str) -> Vec<u8> {
    json(text).to_binary().expect("fits")
}

fn printed(json: &Json) -> String {
    String::from_utf8(JsonRef::new(&json.to_binary().expect("fits")).to_text()).expect("UTF-8")
}

/// The same value as `serde_json` has it.
fn reference(json: &Json) -> serde_json::Value {
    match json {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Int(value) => (*value).into(),
        Json::UInt(value) => (*value).into(),
        Json::Double(value) => (*value).into(),
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(reference).collect::<Vec<_>>().into(),
        Json::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), reference(value))).collect::<serde_json::Map<_, _>>().into()
        }
        other => panic!("{other:?} has no text that JSON reads back"),
    }
}

/// Values that JSON text can hold.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::Int),
        (i64::MAX as u64 + 1..).prop_map(Json::UInt),
        // Binary fractions, which the reference reads exactly too.
        (-1_000_000i32..1_000_000).prop_map(|eighths| Json::Double(f64::from(eighths) / 8.0)),
        prop_oneof!["[a-c]{0,2}", any::<String>()].prop_map(Json::String),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::vec((prop_oneof!["[a-c]{0,3}", any::<String>()], inner), 0..6).prop_map(Json::object),
        ]
    })
}

proptest! {
    #[test]
    fn stored_bytes_and_printed_text_are_read_back_as_by_serde_json(value in any_json()) {
        let bytes = value.to_binary().expect("small");
        prop_assert!(validate(&bytes));
        let view = JsonRef::new(&bytes);
        prop_assert_eq!(view.to_json(), value.clone());
        prop_assert_eq!(view.to_binary(), bytes.clone());
        prop_assert_eq!(view.depth(), value.depth());
        let text = view.to_text();
        let independent: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        prop_assert_eq!(&independent, &reference(&value));
        prop_assert_eq!(parse(&text).expect("own text"), value.clone());
        prop_assert_eq!(parse(independent.to_string().as_bytes()).expect("its text"), value.clone());
        let mut pretty = Vec::new();
        view.write_pretty(&mut pretty);
        prop_assert_eq!(parse(&pretty).expect("pretty text"), value);
    }

    #[test]
    fn texts_are_json_for_both_parsers_or_for_none(text in r#"[\[\]{},:"0-9.eE+\-ntrufalse\\ ]{0,12}"#) {
        let independent = serde_json::from_str::<serde_json::Value>(&text);
        match parse(text.as_bytes()) {
            Ok(value) => prop_assert_eq!(reference(&value).to_string(), independent.expect("JSON").to_string()),
            Err(_) => prop_assert!(independent.is_err(), "{}", text),
        }
    }

    #[test]
    fn sort_keys_have_the_order_of_the_values(a in any_json(), b in any_json()) {
        let (left, right) = (a.to_binary().expect("small"), b.to_binary().expect("small"));
        let key = |bytes: &[u8]| {
            let mut out = Vec::new();
            JsonRef::new(bytes).write_sort_key(&mut out);
            out
        };
        let order = JsonRef::new(&left).compare(&JsonRef::new(&right));
        prop_assert_eq!(key(&left).cmp(&key(&right)), order);
        prop_assert_eq!(JsonRef::new(&right).compare(&JsonRef::new(&left)), order.reverse());
        prop_assert_eq!(JsonRef::new(&left).compare(&JsonRef::new(&left)), Ordering::Equal);
    }

    #[test]
    fn damaged_bytes_are_noticed_or_read_without_panic(value in any_json(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut bytes = value.to_binary().expect("small");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let kept = cut.index(bytes.len()) + 1;
        for damaged in [&bytes[..], &bytes[..kept]] {
            if validate(damaged) {
                let view = JsonRef::new(damaged);
                prop_assert_eq!(view.to_json().to_binary().map(|_| ()), Ok(()));
                let _ = (view.to_text(), view.depth(), JsonPath::parse("$**[0]").expect("valid").find(view));
            }
            let _ = (JsonRef::new(damaged).scalar(), JsonRef::new(damaged).members(), JsonRef::new(damaged).to_binary());
        }
    }

    #[test]
    fn any_text_is_a_path_or_an_error(text in r#"\$?[.\[\]*a"0-9 lasto\-]{0,10}"#) {
        if let Ok(path) = JsonPath::parse(&text) {
            prop_assert_eq!(JsonPath::parse(&path.to_string()).expect("own text"), path);
        }
    }
}

#[test]
fn the_layout_is_that_of_tidb() {
    assert_eq!(stored("null"), [4, 0]);
    assert_eq!(stored("true"), [4, 1]);
    assert_eq!(stored("-2"), [[9].as_slice(), &(-2i64).to_le_bytes()].concat());
    assert_eq!(stored("\"ab\""), [12, 2, b'a', b'b']);
    assert_eq!(stored("[true, \"x\"]"), [3, 2, 0, 0, 0, 20, 0, 0, 0, 4, 1, 0, 0, 0, 12, 18, 0, 0, 0, 1, b'x']);
    let object = [1, 1, 0, 0, 0, 28, 0, 0, 0, 19, 0, 0, 0, 1, 0, 9, 20, 0, 0, 0, b'k', 7, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(stored("{\"k\": 7}"), object);
}

#[test]
fn values_print_as_in_mysql() {
    for (text, out) in [
        ("{\"bb\":1,\"a\":[1,2.0,{}],\"bb\":2}", "{\"a\": [1, 2.0, {}], \"bb\": 2}"),
        (
            "[1e3, 1e20, -0.5, 18446744073709551615, 18446744073709551616]",
            "[1000.0, 1e20, -0.5, 18446744073709551615, 1.8446744073709552e19]",
        ),
        ("\"\\u00e9\\n\\u0001\\\"/\"", "\"é\\n\\u0001\\\"/\""),
        (" [ ] ", "[]"),
        ("\"\\ud83d\\ude00\"", "\"😀\""),
    ] {
        assert_eq!(printed(&json(text)), out);
    }
    let opaque = Json::Opaque { mysql_type: 253, bytes: b"abcd".to_vec() };
    assert_eq!(printed(&opaque), "\"base64:type253:YWJjZA==\"");
    assert_eq!(printed(&Json::Time(Time::date(2024, 2, 29).expect("valid"))), "\"2024-02-29\"");
    assert_eq!(printed(&Json::Duration(Duration::from_micros(-1_500_000, 1))), "\"-00:00:01.500000\"");
    assert_eq!(printed(&Json::Decimal("1.50".parse().expect("valid"))), "1.50");
    let mut pretty = Vec::new();
    JsonRef::new(&stored("{\"a\": [1, {}], \"b\": []}")).write_pretty(&mut pretty);
    assert_eq!(String::from_utf8_lossy(&pretty), "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (text, problem, at) in [
        ("", "The document is empty.", 0),
        ("  ", "The document is empty.", 2),
        ("[1, 2,", "Invalid value.", 6),
        ("abc", "Invalid value.", 0),
        ("nul", "Invalid value.", 3),
        ("[1] 2", "The document root must not be followed by other values.", 4),
        ("01", "The document root must not be followed by other values.", 1),
        ("{1: 2}", "Missing a name for object member.", 1),
        ("{\"a\" 2}", "Missing a colon after a name of object member.", 5),
        ("{\"a\": 2]", "Missing a comma or } after an object member.", 7),
        ("[1 2]", "Missing a comma or ] after an array element.", 3),
        ("\"a", "Missing a closing quotation mark in string.", 2),
        ("\"\\x\"", "Invalid escape character in string.", 1),
        ("1.", "Miss fraction part in number.", 2),
        ("1e", "Miss exponent in number.", 2),
        ("1e999", "Number too big to be stored in double.", 0),
    ] {
        assert_eq!(parse(text.as_bytes()), Err(JsonError::Text { problem, position: at, column: String::new() }), "{text}");
    }
    assert_eq!(parse("[".repeat(101).as_bytes()), Err(JsonError::TooDeep));
    let mut deep = Json::Null;
    (0..100).for_each(|_| deep = Json::Array(vec![std::mem::replace(&mut deep, Json::Null)]));
    assert_eq!(deep.to_binary(), Err(JsonError::TooDeep));
    assert_eq!(Json::object(vec![("k".repeat(65_536), Json::Null)]).to_binary(), Err(JsonError::KeyTooLong));
}

#[test]
fn paths_find_what_the_manual_says() {
    let found = |document: &str, path: &str| {
        let bytes = stored(document);
        let found = JsonPath::parse(path).expect("a path").find(JsonRef::new(&bytes));
        found.iter().map(|value| String::from_utf8(value.to_text()).expect("UTF-8")).collect::<Vec<_>>().join(" ")
    };
    let nested = "[3, {\"a\": [5, 6], \"b\": 10}, [99, 100]]";
    for (document, path, out) in [
        (nested, "$[0]", "3"),
        (nested, "$[1].a[1]", "6"),
        (nested, "$[2][0]", "99"),
        (nested, "$[3][0]", ""),
        (nested, "$[1].b", "10"),
        ("{\"a\": 1, \"b\": 2, \"c\": [3, 4, 5]}", "$.*", "1 2 [3, 4, 5]"),
        ("{\"a\": 1, \"b\": 2, \"c\": [3, 4, 5]}", "$.c[*]", "3 4 5"),
        ("{\"a\": {\"b\": 1}, \"c\": {\"b\": 2}}", "$**.b", "1 2"),
        ("[1, 2, 3, 4, 5]", "$[1 to 3]", "2 3 4"),
        ("[1, 2, 3, 4, 5]", "$[last-3 to last-1]", "2 3 4"),
        ("{\"a fish\": \"shark\"}", "$.\"a fish\"", "\"shark\""),
        ("7", "$[0]", "7"),
        ("7", "$[last]", "7"),
        ("7", "$[1]", ""),
        ("7", "$[0 to 3]", "7"),
        ("7", "$[*]", ""),
        ("[[1]]", "$**[0]", "[1] 1"),
    ] {
        assert_eq!(found(document, path), out, "{document} {path}");
    }
    for (path, position) in [("a", 1), ("", 0), ("$.", 2), ("$[", 2), ("$x", 1), ("$**", 3), ("$[2 to 1]", 8), ("$.1", 2), ("$[-1]", 2)] {
        assert_eq!(JsonPath::parse(path), Err(JsonError::Path { position }), "{path}");
    }
}

#[test]
fn documents_change_as_the_manual_says() {
    let place = |document: &str, path: &str, value: &str, placement| {
        let mut document = json(document);
        document.place(&JsonPath::parse(path).expect("a path"), json(value), placement);
        printed(&document)
    };
    let document = "{\"a\": 1, \"b\": [2, 3]}";
    assert_eq!(place(document, "$.a", "10", Placement::Set), "{\"a\": 10, \"b\": [2, 3]}");
    assert_eq!(place(document, "$.c", "[true]", Placement::Set), "{\"a\": 1, \"b\": [2, 3], \"c\": [true]}");
    assert_eq!(place(document, "$.a", "10", Placement::Insert), printed(&json(document)));
    assert_eq!(place(document, "$.c", "10", Placement::Replace), printed(&json(document)));
    assert_eq!(place(document, "$.b[9]", "4", Placement::Insert), "{\"a\": 1, \"b\": [2, 3, 4]}");
    assert_eq!(place(document, "$.b[last-9]", "4", Placement::Insert), "{\"a\": 1, \"b\": [4, 2, 3]}");
    assert_eq!(place("1", "$[3]", "2", Placement::Set), "[1, 2]");
    assert_eq!(place("1", "$[0]", "2", Placement::Set), "2");
    let change = |document: &str, f: &dyn Fn(&mut Json)| {
        let mut document = json(document);
        f(&mut document);
        printed(&document)
    };
    let path = |text: &str| JsonPath::parse(text).expect("a path");
    assert_eq!(change("[\"a\", [\"b\", \"c\"], \"d\"]", &|json| json.remove(&path("$[1]"))), "[\"a\", \"d\"]");
    assert_eq!(
        change("[\"a\", [\"b\", \"c\"], \"d\"]", &|json| json.append(&path("$[1]"), Json::Int(1))),
        "[\"a\", [\"b\", \"c\", 1], \"d\"]"
    );
    assert_eq!(
        change("[\"a\", [\"b\", \"c\"], \"d\"]", &|json| json.append(&path("$[0]"), Json::Int(2))),
        "[[\"a\", 2], [\"b\", \"c\"], \"d\"]"
    );
    let cells = "[\"a\", {\"b\": [1, 2]}, [3, 4]]";
    assert_eq!(change(cells, &|json| json.insert_cell(&path("$[1]"), Json::string("x"))), "[\"a\", \"x\", {\"b\": [1, 2]}, [3, 4]]");
    assert_eq!(change(cells, &|json| json.insert_cell(&path("$[100]"), Json::string("x"))), "[\"a\", {\"b\": [1, 2]}, [3, 4], \"x\"]");
    let merged = |f: fn(Json, Json) -> Json, a: &str, b: &str| printed(&f(json(a), json(b)));
    assert_eq!(merged(merge_preserve, "{\"a\": 1, \"b\": 2}", "{\"a\": 3, \"c\": 4}"), "{\"a\": [1, 3], \"b\": 2, \"c\": 4}");
    assert_eq!(merged(merge_preserve, "1", "true"), "[1, true]");
    assert_eq!(merged(merge_patch, "{\"a\": 1, \"b\": 2}", "{\"a\": 3, \"b\": null, \"c\": {\"d\": null}}"), "{\"a\": 3, \"c\": {}}");
}

#[test]
fn kinds_and_numbers_are_ordered_as_the_manual_says() {
    let ascending = [
        "null",
        "-1e30",
        "-1",
        "0",
        "0.5",
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "\"\"",
        "\"a\"",
        "\"b\"",
        "{}",
        "[]",
        "[1]",
        "[1, 2]",
        "[2]",
        "false",
        "true",
    ];
    for pair in ascending.windows(2) {
        let (a, b) = (stored(pair[0]), stored(pair[1]));
        assert_eq!(JsonRef::new(&a).compare(&JsonRef::new(&b)), Ordering::Less, "{pair:?}");
    }
    let decimal = Json::Decimal("1.0".parse().expect("valid")).to_binary().expect("fits");
    assert_eq!(JsonRef::new(&decimal).compare(&JsonRef::new(&stored("1"))), Ordering::Equal);
    assert_eq!(JsonRef::new(&stored("{\"a\": 1, \"b\": 2}")).compare(&JsonRef::new(&stored("{\"b\": 2, \"a\": 1}"))), Ordering::Equal);
}
