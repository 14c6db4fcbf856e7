//! The value behind an index key.
//!
//! Integer handle, nothing to restore:
//! ```text
//! unique, no NULL     {handle: i64 big-endian}
//! otherwise           '0'
//! ```
//! Integer handle with restored values (version 0; ten bytes at least, so that it cannot be taken for the form above):
//! ```text
//! {tail length} {restored row, format v2} {tail: [handle] or zeros as padding}
//! ```
//! Common handle (version 1):
//! ```text
//! {tail length 0} 7d 01 [7f {length: u16 big-endian} {handle}] [restored row, format v2]
//! ```
//!
//! Up to nine bytes a value has no header whatever its first bytes are: a version 1 value so short holds nothing but its version.
//!
//! Restored values are what the collation's sort key in the index key loses and a covering read needs. The handle stands in the value
//! only where the key does not end with it: in a unique entry without NULL.

use bytes::Bytes;

use crate::{
    error::{Error, Result, take, take_array},
    row::{ROW_VERSION, RowView},
    table::Handle,
};

/// Before a common handle.
const COMMON_HANDLE: u8 = 0x7f;
/// Before the id of a partition, in entries of global indexes.
const PARTITION_ID: u8 = 0x7e;
/// Before the version of the value.
const VERSION: u8 = 0x7d;
/// Values up to this length have no header.
const MAX_PLAIN_LEN: usize = 9;
const WHAT: &str = "index value";

/// Appends the value of an index entry.
///
/// `handle_in_value` is the handle of a unique entry without NULL. `common` tells a table with common handles. `restored` is a row
/// in format v2; empty when nothing is to be restored.
pub fn encode_index_value(out: &mut Vec<u8>, handle_in_value: Option<&Handle>, common: bool, restored: &[u8]) {
    if common {
        out.extend_from_slice(&[0, VERSION, 1]);
        if let Some(Handle::Common(handle)) = handle_in_value {
            let len = u16::try_from(handle.len()).expect("keys are limited to 3072 bytes before they come here");
            out.push(COMMON_HANDLE);
            out.extend_from_slice(&len.to_be_bytes());
            out.extend_from_slice(handle);
        }
        out.extend_from_slice(restored);
        return;
    }
    let handle = handle_in_value.and_then(Handle::as_int);
    if restored.is_empty() {
        match handle {
            Some(handle) => out.extend_from_slice(&handle.to_be_bytes()),
            None => out.push(b'0'),
        }
        return;
    }
    let start = out.len();
    out.push(0);
    out.extend_from_slice(restored);
    let body = out.len();
    match handle {
        Some(handle) => out.extend_from_slice(&handle.to_be_bytes()),
        None => out.resize(body.max(start + MAX_PLAIN_LEN + 1), 0),
    }
    out[start] = (out.len() - body) as u8;
}

/// An index value taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexValue<'a> {
    /// The handle, where the value holds it.
    pub handle: Option<Handle>,
    /// The restored values: a row in format v2.
    pub restored: Option<&'a [u8]>,
    /// 0 or 1; tells how restored values of `_bin` collations are written (see the `types` crate).
    pub version: u8,
}

impl<'a> IndexValue<'a> {
    /// Takes the value of an index entry apart.
    #[inline]
    pub fn parse(value: &'a [u8]) -> Result<Self> {
        if value.len() > MAX_PLAIN_LEN {
            return Self::parse_with_header(value);
        }
        // A ninth byte marks an entry that an unfinished statement left untouched; it says nothing about the row.
        let handle = match value.first_chunk::<8>() {
            Some(handle) => Some(Handle::Int(i64::from_be_bytes(*handle))),
            None if value.is_empty() => return Err(Error::Truncated { what: WHAT, needed: 1, left: 0 }),
            None => None,
        };
        Ok(Self { handle, restored: None, version: 0 })
    }

    fn parse_with_header(value: &'a [u8]) -> Result<Self> {
        let mut rest = value;
        let [tail_len] = take_array(&mut rest, WHAT)?;
        let tail_len = usize::from(tail_len);
        if tail_len > rest.len() {
            return Err(Error::Truncated { what: "tail of an index value", needed: tail_len, left: rest.len() });
        }
        let (mut options, mut tail) = rest.split_at(rest.len() - tail_len);
        let mut parsed = Self::default();
        if let [VERSION, version, after @ ..] = options {
            parsed.version = *version;
            options = after;
            if *version != 1 {
                return Err(Error::UnknownFlag { what: "version of an index value", found: *version });
            }
        }
        while let Some((&kind, after)) = options.split_first() {
            match kind {
                COMMON_HANDLE => {
                    options = after;
                    let len = u16::from_be_bytes(take_array(&mut options, "length of a common handle")?);
                    parsed.handle = Some(Handle::Common(Bytes::copy_from_slice(take(&mut options, usize::from(len), "common handle")?)));
                }
                PARTITION_ID => {
                    options = after;
                    take(&mut options, 8, "partition id")?;
                }
                ROW_VERSION => {
                    let len = RowView::encoded_len(options)?;
                    parsed.restored = Some(take(&mut options, len, "restored values")?);
                }
                found => return Err(Error::UnknownFlag { what: "option of an index value", found }),
            }
        }
        if parsed.version == 0 && tail.len() >= 8 && parsed.handle.is_none() {
            parsed.handle = Some(Handle::Int(i64::from_be_bytes(take_array(&mut tail, "handle of an index value")?)));
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use base::ColumnId;
    use proptest::prelude::*;

    use super::*;
    use crate::row::RowBuilder;

    fn restored(cells: &[Vec<u8>]) -> Vec<u8> {
        if cells.is_empty() {
            return Vec::new();
        }
        let mut builder = RowBuilder::new();
        builder.start();
        cells.iter().enumerate().for_each(|(i, cell)| builder.push(ColumnId(i as i64 + 1), cell));
        builder.finish()
    }

    proptest! {
        #[test]
        fn values_come_back(
            int: i64, common in prop::collection::vec(any::<u8>(), 9..40), in_value: bool, is_common: bool,
            cells in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5), 0..3),
        ) {
            let restored = restored(&cells);
            let handle = if is_common { Handle::Common(common.into()) } else { Handle::Int(int) };
            let mut value = Vec::new();
            encode_index_value(&mut value, in_value.then_some(&handle), is_common, &restored);
            let parsed = IndexValue::parse(&value).expect("own bytes");
            prop_assert_eq!(parsed.restored, (!restored.is_empty()).then_some(&restored[..]));
            prop_assert_eq!(parsed.handle, in_value.then_some(handle));
        }

        #[test]
        fn handles_that_look_like_headers_are_handles(first: u8, rest in prop::array::uniform6(any::<u8>())) {
            let [a, b, c, d, e, f] = rest;
            let handle = Handle::Int(i64::from_be_bytes([first, VERSION, a, b, c, d, e, f]));
            let mut value = Vec::new();
            encode_index_value(&mut value, Some(&handle), false, &[]);
            prop_assert_eq!(IndexValue::parse(&value).expect("own bytes").handle, Some(handle));
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = IndexValue::parse(&input);
        }
    }
}
