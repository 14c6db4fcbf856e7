//! The key as the engine stores it.
//!
//! ```text
//! 'z'  memcomparable(user key)  [ !commit_ts or !start_ts, 8 bytes big-endian ]
//! ```
//!
//! `z` keeps the data of regions apart from what a store keeps about itself. The memcomparable form makes the border between key and
//! timestamp unambiguous: versions of one key stand side by side, newest first, and never between versions of another key.

use crate::{
    bytes::{decode_bytes_into, encode_bytes, encoded_len},
    error::{Error, Result},
    number::encode_u64_desc,
};

/// What every region-local key begins with.
pub const DATA_PREFIX: u8 = b'z';

/// Bytes of an appended timestamp.
pub const TS_LEN: usize = 8;

/// Appends the engine key of `user_key`, without a timestamp.
#[inline]
pub fn encode_engine_key(user_key: &[u8], out: &mut Vec<u8>) {
    out.reserve(1 + encoded_len(user_key.len()) + TS_LEN);
    out.push(DATA_PREFIX);
    encode_bytes(out, user_key);
}

/// The user key of a whole engine key without a timestamp.
pub fn decode_engine_key(engine_key: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(engine_key.len());
    decode_engine_key_into(engine_key, &mut out)?;
    Ok(out)
}

/// Appends the user key of a whole engine key without a timestamp to `out`.
#[inline]
pub fn decode_engine_key_into(engine_key: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let Some((&prefix, mut rest)) = engine_key.split_first() else {
        return Err(Error::Truncated { what: "engine key", needed: 1, left: 0 });
    };
    if prefix != DATA_PREFIX {
        return Err(Error::UnknownFlag { what: "prefix of an engine key", found: prefix });
    }
    decode_bytes_into(&mut rest, out)?;
    if rest.is_empty() { Ok(()) } else { Err(Error::TrailingBytes { what: "engine key", left: rest.len() }) }
}

/// Appends a timestamp so that greater timestamps sort first.
#[inline]
pub fn append_ts_desc(key: &mut Vec<u8>, ts: u64) {
    encode_u64_desc(key, ts);
}

/// Splits an engine key with a timestamp into the part before it and the timestamp.
#[inline]
pub fn split_ts_desc(key: &[u8]) -> Result<(&[u8], u64)> {
    match key.split_last_chunk::<TS_LEN>() {
        Some((head, ts)) => Ok((head, !u64::from_be_bytes(*ts))),
        None => Err(Error::Truncated { what: "timestamp of an engine key", needed: TS_LEN, left: key.len() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn versions_order_by_key_then_newest_first(a: Vec<u8>, b: Vec<u8>, ts_a: u64, ts_b: u64) {
            let encode = |key: &[u8], ts| {
                let mut out = Vec::new();
                encode_engine_key(key, &mut out);
                append_ts_desc(&mut out, ts);
                out
            };
            prop_assert_eq!(encode(&a, ts_a).cmp(&encode(&b, ts_b)), a.cmp(&b).then(ts_b.cmp(&ts_a)));
            let whole = encode(&a, ts_a);
            let (key, ts) = split_ts_desc(&whole).expect("has a timestamp");
            prop_assert_eq!((decode_engine_key(key), ts), (Ok(a), ts_a));
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = decode_engine_key(&input);
            let _ = split_ts_desc(&input);
        }
    }
}
