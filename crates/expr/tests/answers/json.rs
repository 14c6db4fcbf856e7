//! JSON functions: the examples of MySQL's manual, chapter 12.17, and its messages.

use crate::script::{answer_in, check, context, warnings};

#[test]
fn documents_are_made_of_values() {
    check(
        r#"json_array(1, 'abc', NULL, 1 = 1, curtime() is null) => [1, "abc", null, true, false]
        json_object('id', 87, 'name', 'carrot') => {"id": 87, "name": "carrot"}
        json_object('b', 1, 'aa', 2, 'a', 3, 'a', 4) => {"a": 4, "b": 1, "aa": 2}
        json_object(NULL, 1) => error 3158
        json_object('a') => error 1582
        json_quote('null') => "null"
        json_quote('"null"') => "\"null\""
        json_quote('[1, 2, 3]') => "[1, 2, 3]"
        json_quote(1) => error 3064
        json_unquote('"abc"') => abc
        json_unquote('[1, 2]') => [1, 2]
        json_unquote('"a"b"') => error 3141
        json_array(1.50, 2e0, date '2024-02-29', time '01:02:03', timestamp '2024-02-29 01:02:03.5') => [1.50, 2.0, "2024-02-29", "01:02:03.000000", "2024-02-29 01:02:03.500000"]
        json_array(cast('[1]' as json), '[1]') => [[1], "[1]"]
        json_array(cast('abcd' as binary)) => ["base64:type253:YWJjZA=="]"#,
    );
}

#[test]
fn documents_are_read_by_path() {
    check(
        r#"json_extract('[10, 20, [30, 40]]', '$[1]') => 20
        json_extract('[10, 20, [30, 40]]', '$[1]', '$[0]') => [20, 10]
        json_extract('[10, 20, [30, 40]]', '$[2][*]') => [30, 40]
        json_extract('[10, 20]', '$[7]') => NULL
        json_extract('[10, 20]', NULL) => NULL
        json_extract('{"a": {"b": 1}, "c": {"b": 2}}', '$**.b') => [1, 2]
        json_extract('[1, 2', '$[0]') => error 3141
        json_extract(1, '$[0]') => error 3146
        json_extract('[1]', '[0]') => error 3143
        json_unquote(json_extract('{"a": "x\\ty"}', '$.a')) => x	y
        json_keys('{"a": 1, "b": {"c": 30}}') => ["a", "b"]
        json_keys('{"a": 1, "b": {"c": 30}}', '$.b') => ["c"]
        json_keys('[1]') => NULL
        json_length('[1, 2, {"a": 3}]') => 3
        json_length('{"a": 1, "b": {"c": 30}}') => 2
        json_length('{"a": 1, "b": {"c": 30}}', '$.b') => 1
        json_length('{"a": 1}', '$.*') => error 3149
        json_depth('{}') => 1
        json_depth('[10, 20]') => 2
        json_depth('[10, {"a": 20}]') => 3
        json_type('{"a": [10, true]}') => OBJECT
        json_type(json_extract('{"a": [10, true]}', '$.a')) => ARRAY
        json_type(json_extract('{"a": [10, true]}', '$.a[0]')) => INTEGER
        json_type(json_extract('{"a": [10, true]}', '$.a[1]')) => BOOLEAN
        json_type('18446744073709551615') => UNSIGNED INTEGER
        json_type(json_extract(json_array(1.5), '$[0]')) => DECIMAL
        json_type('x') => error 3141
        json_type(1) => error 3146
        json_valid('{"a": 1}') => 1
        json_valid('hello') => 0
        json_valid('"hello"') => 1
        json_valid(1) => 0
        json_valid(NULL) => NULL
        json_storage_size('[]') => 9
        json_storage_free('[]') => 0"#,
    );
}

#[test]
fn values_are_found_in_documents() {
    check(
        r#"json_contains('{"a": 1, "b": 2, "c": {"d": 4}}', '1', '$.a') => 1
        json_contains('{"a": 1, "b": 2, "c": {"d": 4}}', '1', '$.b') => 0
        json_contains('{"a": 1, "b": 2, "c": {"d": 4}}', '{"d": 4}', '$.a') => 0
        json_contains('{"a": 1, "b": 2, "c": {"d": 4}}', '{"d": 4}', '$.c') => 1
        json_contains('[1, [2, 3], {"a": 4}]', '[1, {"a": 4}]') => 1
        json_contains('[1, [2, 3]]', '2') => 0
        json_contains('[1, [2, 3]]', '[[3]]') => 1
        json_contains('[1]', '1', '$[3]') => NULL
        json_contains_path('{"a": 1, "b": 2, "c": {"d": 4}}', 'one', '$.a', '$.e') => 1
        json_contains_path('{"a": 1, "b": 2, "c": {"d": 4}}', 'all', '$.a', '$.e') => 0
        json_contains_path('{"a": 1, "b": 2, "c": {"d": 4}}', 'one', '$.c.d') => 1
        json_contains_path('{"a": 1}', 'some', '$.a') => error 3154
        json_overlaps('[1,3,5,7]', '[2,5,7]') => 1
        json_overlaps('[1,3,5,7]', '[2,6,8]') => 0
        json_overlaps('[[1,2],[3,4],5]', '[1,[2,3],[4,5]]') => 0
        json_overlaps('{"a":1,"b":10,"d":10}', '{"a":5,"e":10,"f":1,"d":20}') => 0
        json_overlaps('{"a":1,"b":10,"d":10}', '{"c":1,"e":10,"f":1,"d":10}') => 1
        json_overlaps('[4,5,6,7]', '6') => 1
        json_overlaps('5', '5') => 1
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'one', 'abc') => "$[0]"
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', 'abc') => ["$[0]", "$[2].x"]
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', 'ghi') => NULL
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '10', NULL, '$**.k') => "$[1][0].k"
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '%b%', '', '$[2]') => "$[2].x"
        json_search('["abc", [{"k": "10"}, "def"], {"x":"abc"}, {"y":"bcd"}]', 'all', '%b%', '', '$') => ["$[0]", "$[2].x", "$[3].y"]"#,
    );
}

#[test]
fn documents_are_changed() {
    check(
        r#"json_set('{"a": 1, "b": [2, 3]}', '$.a', 10, '$.c', '[true, false]') => {"a": 10, "b": [2, 3], "c": "[true, false]"}
        json_insert('{"a": 1, "b": [2, 3]}', '$.a', 10, '$.c', cast('[true, false]' as json)) => {"a": 1, "b": [2, 3], "c": [true, false]}
        json_replace('{"a": 1, "b": [2, 3]}', '$.a', 10, '$.c', '[true, false]') => {"a": 10, "b": [2, 3]}
        json_set('{"a": 1}', '$.a', NULL) => {"a": null}
        json_set('{"a": 1}', NULL, 1) => NULL
        json_set('{"a": 1}', '$.*', 1) => error 3149
        json_set('{"a": 1}', '$.a') => error 1582
        json_remove('["a", ["b", "c"], "d"]', '$[1]') => ["a", "d"]
        json_remove('[1]', '$') => error 3153
        json_array_append('["a", ["b", "c"], "d"]', '$[1]', 1) => ["a", ["b", "c", 1], "d"]
        json_array_append('{"a": 1}', '$', 'z') => [{"a": 1}, "z"]
        json_array_insert('["a", {"b": [1, 2]}, [3, 4]]', '$[1].b[0]', 'x') => ["a", {"b": ["x", 1, 2]}, [3, 4]]
        json_array_insert('["a"]', '$.b', 'x') => error 3165
        json_merge_preserve('[1, 2]', '[true, false]') => [1, 2, true, false]
        json_merge_preserve('{"a": 1, "b": 2}', '{"a": 3, "c": 4}', '{"a": 5, "d": 6}') => {"a": [1, 3, 5], "b": 2, "c": 4, "d": 6}
        json_merge_preserve('1', NULL) => NULL
        json_merge_patch('[1, 2]', '[true, false]') => [true, false]
        json_merge_patch('{"a": 1, "b": 2}', '{"a": 3, "c": 4}', '{"a": 5, "d": 6}') => {"a": 5, "b": 2, "c": 4, "d": 6}
        json_merge_patch('{"a": {"x": 1}}', '{"a": {"y": 2}}') => {"a": {"x": 1, "y": 2}}
        json_merge_patch(NULL, '{}') => NULL
        json_merge_patch('{}', NULL, '7') => 7"#,
    );
    assert_eq!(warnings("json_merge('[1]', '[2]')"), [1287]);
}

#[test]
fn json_is_cast_and_compared() {
    check(
        r#"cast('{"b":1, "a" : [ ]}' as json) => {"a": [], "b": 1}
        cast('{' as json) => error 3141
        cast(5 as json) => 5
        cast(1 < 2 as json) => true
        cast(cast('12' as json) as signed) => 12
        cast(cast('"12"' as json) as signed) => 12
        cast(cast('true' as json) as signed) => 1
        cast(cast('1.5' as json) as decimal(4,2)) => 1.50
        cast(cast('"2024-02-29"' as json) as date) => 2024-02-29
        cast(cast('{"a": "b"}' as json) as char) => {"a": "b"}
        cast(cast('"x"' as json) as char) => "x"
        cast('1' as json) = 1 => 1
        cast('1' as json) = 1.0 => 1
        cast('"a"' as json) = 'a' => 1
        cast('[1]' as json) = '[1]' => 0
        cast('true' as json) = (1 = 1) => 1
        cast('true' as json) = 1 => 0
        cast('[1, 2]' as json) < cast('[1, 3]' as json) => 1
        cast('"a"' as json) > cast('999' as json) => 1
        cast('2' as json) in (1, 2, 3) => 1
        cast('null' as json) is null => 0
        json_unquote(json_extract('{"a": "X"}', '$.a')) = 'x' => 0
        concat(cast('[1,2]' as json), 'x') => [1, 2]x
        coalesce(NULL, cast('[1]' as json)) => [1]
        if(1, cast('1' as json), 'x') => 1"#,
    );
    let ctx = context();
    answer_in(&ctx, "cast(cast('\"abc\"' as json) as signed)");
    let warning = ctx.warnings.take().remove(0);
    assert_eq!(
        (warning.code, warning.message.as_str()),
        (3156, "Invalid JSON value for CAST to INTEGER from column cast_as_json at row 1")
    );
}

#[test]
fn documents_are_held_against_schemas() {
    // The manual's example: a place on earth.
    const PLACE: &str = r#"'{"type": "object", "properties": {"latitude": {"type": "number", "minimum": -90, "maximum": 90}, "longitude": {"type": "number"}}, "required": ["latitude", "longitude"]}'"#;
    let valid = |document: &str| answer_in(&context(), &format!("json_schema_valid({PLACE}, '{document}')"));
    assert_eq!(valid(r#"{"latitude": 63.444697, "longitude": 10.445118}"#), "1");
    assert_eq!(valid(r#"{"latitude": 63.444697}"#), "0");
    assert_eq!(valid(r#"{"latitude": 310.444697, "longitude": 10}"#), "0");
    let report = |document: &str| answer_in(&context(), &format!("json_schema_validation_report({PLACE}, '{document}')"));
    assert_eq!(report(r#"{"latitude": 1, "longitude": 1}"#), r#"{"valid": true}"#);
    assert_eq!(
        report(r#"{"latitude": 163.444697, "longitude": 10}"#),
        r##"{"valid": false, "reason": "The JSON document location '#/latitude' failed requirement 'maximum' at JSON Schema location '#/properties/latitude'", "schema-location": "#/properties/latitude", "document-location": "#/latitude", "schema-failed-keyword": "maximum"}"##
    );
    check(
        r##"json_schema_valid('{"enum": [1, "a"]}', '"a"') => 1
        json_schema_valid('{"enum": [1, "a"]}', '2') => 0
        json_schema_valid('{"items": {"type": "integer"}, "uniqueItems": true}', '[1, 2]') => 1
        json_schema_valid('{"items": {"type": "integer"}, "uniqueItems": true}', '[1, 1]') => 0
        json_schema_valid('{"items": [{"type": "string"}], "additionalItems": false}', '["a", 1]') => 0
        json_schema_valid('{"oneOf": [{"type": "string"}, {"minLength": 2}]}', '"ab"') => 0
        json_schema_valid('{"anyOf": [{"type": "string"}, {"type": "null"}]}', 'null') => 1
        json_schema_valid('{"not": {"type": "null"}}', 'null') => 0
        json_schema_valid('{"definitions": {"n": {"type": "number"}}, "items": {"$ref": "#/definitions/n"}}', '["x"]') => 0
        json_schema_valid('{"$ref": "http://example.com/x"}', '1') => error 1235
        json_schema_valid('{"additionalProperties": false, "properties": {"a": {}}, "patternProperties": {"^x_": {}}}', '{"a": 1, "x_b": 2}') => 1
        json_schema_valid('{"additionalProperties": false, "properties": {"a": {}}}', '{"b": 1}') => 0
        json_schema_valid('{"dependencies": {"a": ["b"]}}', '{"a": 1}') => 0
        json_schema_valid('{"multipleOf": 0.5, "exclusiveMinimum": true, "minimum": 1}', '1.5') => 1
        json_schema_valid('{"exclusiveMinimum": true, "minimum": 1}', '1') => 0
        json_schema_valid('{"pattern": "^a+$"}', '"aab"') => 0
        json_schema_valid('[]', '1') => error 3853"##,
    );
}

#[test]
fn encryption_follows_the_manual() {
    check(
        "hex(aes_encrypt('text', 'password')) => F6BD0FA8DCB7F8CD4A2FAABC54668044
        cast(aes_decrypt(aes_encrypt('text', 'password'), 'password') as char) => text
        aes_decrypt('not a block', 'password') => NULL
        aes_encrypt(NULL, 'k') => NULL
        trim(format_bytes(512)) => 512 bytes
        format_bytes(18446644073709551615) => 16.00 EiB
        format_pico_time(3501) => 3.50 ns
        format_pico_time(188732396662000) => 3.15 min",
    );
}
