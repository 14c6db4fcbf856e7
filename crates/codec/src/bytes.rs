//! Byte strings that order as keys.
//!
//! The string is cut into groups of eight; each group is followed by a marker. The last group is padded with zeros:
//!
//! ```text
//! ""          00 00 00 00 00 00 00 00 f7
//! "abc"       61 62 63 00 00 00 00 00 fa        marker = 0xff - number of padding bytes
//! "abcdefgh"  61 62 63 64 65 66 67 68 ff 00 00 00 00 00 00 00 00 f7
//! ```
//!
//! The marker decides between a string and the same string with zeros behind it, and no encoding is a prefix of another
//! one. The descending form complements every byte.

use crate::error::{Error, Result};

const GROUP: usize = 8;
const MARKER: u8 = 0xff;
const WHAT: &str = "memcomparable bytes";

/// Bytes the encoding of a string of `len` bytes takes.
pub const fn encoded_len(len: usize) -> usize {
    (len / GROUP + 1) * (GROUP + 1)
}

/// Appends `value` so that encodings order as the strings do.
#[inline]
pub fn encode_bytes(out: &mut Vec<u8>, value: &[u8]) {
    out.reserve(encoded_len(value.len()));
    let (groups, rest) = value.as_chunks::<GROUP>();
    for group in groups {
        out.extend_from_slice(group);
        out.push(MARKER);
    }
    let padding = GROUP - rest.len();
    out.extend_from_slice(rest);
    out.extend_from_slice(&[0; GROUP][..padding]);
    out.push(MARKER - padding as u8);
}

/// Appends `value` so that encodings order opposite to the strings.
pub fn encode_bytes_desc(out: &mut Vec<u8>, value: &[u8]) {
    let start = out.len();
    encode_bytes(out, value);
    out[start..].iter_mut().for_each(|byte| *byte = !*byte);
}

/// Takes what [`encode_bytes`] wrote off the front of `input`.
pub fn decode_bytes(input: &mut &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(input.len());
    decode_bytes_into(input, &mut out)?;
    Ok(out)
}

/// Takes what [`encode_bytes`] wrote off the front of `input` and appends the string to `out`. On an error `out` may hold a part of it.
#[inline]
pub fn decode_bytes_into(input: &mut &[u8], out: &mut Vec<u8>) -> Result<()> {
    decode_groups(input, out, 0)
}

/// Takes what [`encode_bytes_desc`] wrote off the front of `input`.
pub fn decode_bytes_desc(input: &mut &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(input.len());
    decode_groups(input, &mut out, 0xff)?;
    Ok(out)
}

/// Length in bytes of the encoding at the front of `input`, without decoding it.
#[inline]
pub fn skip_bytes(input: &[u8]) -> Result<usize> {
    let mut at = 0;
    loop {
        let marker = *input.get(at + GROUP).ok_or(Error::Truncated { what: WHAT, needed: at + GROUP + 1, left: input.len() })?;
        at += GROUP + 1;
        if marker != MARKER {
            return Ok(at);
        }
    }
}

/// Reads groups whose bytes are complemented by `mask` (0 or 0xff).
#[inline]
fn decode_groups(input: &mut &[u8], out: &mut Vec<u8>, mask: u8) -> Result<()> {
    let mut rest = *input;
    loop {
        let Some((chunk, tail)) = rest.split_first_chunk::<{ GROUP + 1 }>() else {
            return Err(Error::Truncated { what: WHAT, needed: GROUP + 1, left: rest.len() });
        };
        rest = tail;
        let padding = usize::from(MARKER - (chunk[GROUP] ^ mask));
        if padding > GROUP {
            return Err(Error::UnknownFlag { what: "marker of memcomparable bytes", found: chunk[GROUP] });
        }
        let start = out.len();
        out.extend_from_slice(&chunk[..GROUP - padding]);
        if mask != 0 {
            out[start..].iter_mut().for_each(|byte| *byte ^= mask);
        }
        if padding > 0 {
            if chunk[GROUP - padding..GROUP].iter().any(|&byte| byte != mask) {
                return Err(Error::Malformed { what: WHAT, problem: "padding is not zero" });
            }
            *input = rest;
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asc(value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_bytes(&mut out, value);
        out
    }

    fn desc(value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_bytes_desc(&mut out, value);
        out
    }

    /// Short strings over few letters, so that prefixes and zeros at group borders are met often.
    fn tricky() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0u8, 1, 0xfe, 0xff]), 0..20)
    }

    proptest! {
        #[test]
        fn strings_order_and_come_back(a in tricky(), b in tricky(), tail in tricky()) {
            prop_assert_eq!(asc(&a).cmp(&asc(&b)), a.cmp(&b));
            prop_assert_eq!(desc(&a).cmp(&desc(&b)), b.cmp(&a));
            prop_assert_eq!(asc(&a).len(), encoded_len(a.len()));
            for (mut bytes, is_desc) in [(asc(&a), false), (desc(&a), true)] {
                let len = bytes.len();
                bytes.extend_from_slice(&tail);
                let mut input = &bytes[..];
                let decoded = if is_desc { decode_bytes_desc(&mut input) } else { decode_bytes(&mut input) };
                prop_assert_eq!(decoded, Ok(a.clone()));
                prop_assert_eq!(input, &tail[..]);
                if !is_desc {
                    prop_assert_eq!(skip_bytes(&bytes), Ok(len));
                }
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = decode_bytes(&mut &input[..]);
            let _ = decode_bytes_desc(&mut &input[..]);
            let _ = skip_bytes(&input);
        }
    }

    #[test]
    fn known_bytes_of_the_format() {
        assert_eq!(asc(b""), [0, 0, 0, 0, 0, 0, 0, 0, 0xf7]);
        assert_eq!(asc(&[1, 2, 3]), [1, 2, 3, 0, 0, 0, 0, 0, 0xfa]);
        assert_eq!(asc(&[1, 2, 3, 4, 5, 6, 7, 8]), [1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xf7]);
        assert!(decode_bytes(&mut &[1, 2, 3, 9, 0, 0, 0, 0, 0xfa][..]).is_err());
    }
}
