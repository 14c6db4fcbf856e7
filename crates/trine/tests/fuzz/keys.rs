//! Key codecs: what is accepted is what encoding it again gives.

use base::{IndexId, TableId};
use codec::{Handle, bytes, engine_key, index_value::IndexValue, meta, number, table};

use crate::mutation::fuzz;

fn again<T>(decoded: codec::Result<T>, input: &[u8], rest: &[u8], encode: impl FnOnce(T) -> Vec<u8>) -> bool {
    let Ok(value) = decoded else { return false };
    assert_eq!(encode(value), input[..input.len() - rest.len()], "encoded again");
    true
}

#[test]
fn engine_keys() {
    let mut key = Vec::new();
    engine_key::encode_engine_key(b"t12345678_r87654321", &mut key);
    let mut with_ts = key.clone();
    engine_key::append_ts_desc(&mut with_ts, 400_000_000_000);
    fuzz("engine keys", vec![key, with_ts], |input| {
        let encode = |key: Vec<u8>| {
            let mut out = Vec::new();
            engine_key::encode_engine_key(&key, &mut out);
            out
        };
        let plain = again(engine_key::decode_engine_key(input), input, &[], encode);
        let split = engine_key::split_ts_desc(input).is_ok_and(|(key, ts)| {
            let mut out = key.to_vec();
            engine_key::append_ts_desc(&mut out, ts);
            assert_eq!(out, input);
            engine_key::decode_engine_key(key).is_ok()
        });
        plain || split
    });
}

#[test]
fn byte_strings_and_numbers() {
    let mut seeds = vec![Vec::new(); 3];
    bytes::encode_bytes(&mut seeds[0], b"memcomparable");
    bytes::encode_bytes_desc(&mut seeds[1], b"descending, a little longer");
    bytes::encode_bytes(&mut seeds[2], b"");
    fuzz("byte strings", seeds, |input| {
        let mut rest = input;
        let up = again(bytes::decode_bytes(&mut rest), input, rest, |value| {
            let mut out = Vec::new();
            bytes::encode_bytes(&mut out, &value);
            assert_eq!(bytes::skip_bytes(input).expect("was decoded"), out.len());
            out
        });
        let mut rest = input;
        let down = again(bytes::decode_bytes_desc(&mut rest), input, rest, |value| {
            let mut out = Vec::new();
            bytes::encode_bytes_desc(&mut out, &value);
            out
        });
        up || down
    });
    fuzz("numbers", vec![vec![0x80; 8], vec![1], 7u64.to_le_bytes().to_vec(), vec![0xff; 9]], |input| {
        let mut rest = input;
        let varint = number::decode_uvarint(&mut rest).is_ok() | number::decode_varint(&mut &input[..]).is_ok();
        let fixed = number::decode_f64(&mut &input[..]).is_ok() | number::decode_f64_desc(&mut &input[..]).is_ok();
        let mut rest = input;
        let int = again(number::decode_i64(&mut rest), input, rest, |value| {
            let mut out = Vec::new();
            number::encode_i64(&mut out, value);
            out
        });
        let compact = number::decode_compact_i64(input).is_ok() | number::decode_compact_u64(input).is_ok();
        varint | fixed | int | compact
    });
}

#[test]
fn table_and_meta_keys() {
    let common = Handle::Common(b"\x01abcdefgh\xf8".to_vec().into());
    let mut index = table::index_prefix(TableId(42), IndexId(3));
    index.extend_from_slice(b"\x03\x80\0\0\0\0\0\0\x07");
    let seeds = vec![
        table::record_key(TableId(42), &Handle::Int(-7)),
        table::record_key(TableId(i64::MAX), &common),
        index,
        meta::hash_field_key(b"DBs", b"DB:1"),
        meta::list_element_key(b"jobs", 5),
        meta::value_key(b"version"),
    ];
    fuzz("table and meta keys", seeds, |input| {
        let _ = table::decode_table_id(input);
        let record = again(table::decode_record_key(input), input, &[], |(id, handle)| table::record_key(id, &handle));
        let index = again(table::decode_index_key(input), input, &[], |(id, index, rest)| {
            let mut key = table::index_prefix(id, index);
            key.extend_from_slice(rest);
            key
        });
        let _ = table::decode_flagged_handle(input, true);
        let _ = table::decode_flagged_handle(input, false);
        record | index | meta::decode_meta_key(input).is_ok()
    });
}

#[test]
fn index_values() {
    let common = Handle::Common(b"\x01abcdefgh\xf8".to_vec().into());
    let mut row = codec::row::RowBuilder::new();
    row.start();
    row.push(base::ColumnId(1), b"restored");
    let restored = row.finish();
    let mut seeds = vec![vec![b'0'], vec![0, 0, 0, 0, 0, 0, 0, 9]];
    for (handle, common, restored) in
        [(None, false, &restored[..]), (Some(&common), true, &[][..]), (Some(&Handle::Int(5)), false, &restored[..])]
    {
        let mut value = Vec::new();
        codec::index_value::encode_index_value(&mut value, handle, common, restored);
        seeds.push(value);
    }
    fuzz("index values", seeds, |input| match IndexValue::parse(input) {
        Ok(value) => {
            assert!(value.version <= 1);
            true
        }
        Err(_) => false,
    });
}
