//! Keys of table data.
//!
//! ```text
//! t {table: i64 memcomparable} _r {handle}                          a row
//! t {table: i64 memcomparable} _i {index: i64 memcomparable} {…}    an index entry
//!
//! handle  = i64 memcomparable        clustered integer primary key (unsigned ones by their bits), or the hidden row id
//!         | flagged datums           any other clustered primary key ("common handle")
//! entry   = flagged datums           unique and no NULL among them
//!         | flagged datums, handle   otherwise; an integer handle is written as a flagged datum here
//! ```

use base::{IndexId, TableId};
use bytes::Bytes;

use crate::{
    error::{Error, Result, take_array},
    flag,
    number::{decode_i64, encode_i64},
};

/// First byte of every key of table data.
pub const TABLE_PREFIX: u8 = b't';
/// Between table id and handle.
pub const RECORD_SEPARATOR: &[u8; 2] = b"_r";
/// Between table id and index id.
pub const INDEX_SEPARATOR: &[u8; 2] = b"_i";
/// Bytes of [`table_prefix`].
pub const TABLE_PREFIX_LEN: usize = 9;
/// Bytes of [`record_prefix`].
pub const RECORD_PREFIX_LEN: usize = 11;
/// Bytes of [`index_prefix`].
pub const INDEX_PREFIX_LEN: usize = 19;

/// What identifies a row of one table: its clustered key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Handle {
    /// An integer key; an unsigned one by its bits.
    Int(i64),
    /// The memcomparable, flagged datums of the key's columns. Never empty.
    Common(Bytes),
}

impl Handle {
    /// Appends the handle as it stands in a record key.
    #[inline]
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        match self {
            Handle::Int(value) => encode_i64(out, *value),
            Handle::Common(datums) => out.extend_from_slice(datums),
        }
    }

    /// Appends the handle as it stands at the end of an index key: always as flagged datums.
    #[inline]
    pub fn encode_flagged_into(&self, out: &mut Vec<u8>) {
        if let Handle::Int(_) = self {
            out.push(flag::INT);
        }
        self.encode_into(out);
    }

    /// The integer of an integer handle.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Handle::Int(value) => Some(*value),
            Handle::Common(_) => None,
        }
    }
}

/// `t{table}`: before all keys of a table.
pub fn table_prefix(table: TableId) -> Vec<u8> {
    let mut key = Vec::with_capacity(TABLE_PREFIX_LEN);
    push_table_prefix(&mut key, table);
    key
}

/// `t{table}_r`: before all rows of a table.
pub fn record_prefix(table: TableId) -> Vec<u8> {
    let mut key = Vec::with_capacity(RECORD_PREFIX_LEN + 8);
    push_record_prefix(&mut key, table);
    key
}

/// `t{table}_i{index}`: before all entries of an index.
pub fn index_prefix(table: TableId, index: IndexId) -> Vec<u8> {
    let mut key = Vec::with_capacity(INDEX_PREFIX_LEN + 32);
    push_index_prefix(&mut key, table, index);
    key
}

/// The key of a row.
pub fn record_key(table: TableId, handle: &Handle) -> Vec<u8> {
    let mut key = record_prefix(table);
    handle.encode_into(&mut key);
    key
}

/// The key of a row with an integer handle, without allocation.
#[inline]
pub fn int_record_key(table: TableId, handle: i64) -> [u8; RECORD_PREFIX_LEN + 8] {
    let mut key = [0; RECORD_PREFIX_LEN + 8];
    key[0] = TABLE_PREFIX;
    key[1..9].copy_from_slice(&(table.0 as u64 ^ 1 << 63).to_be_bytes());
    key[9..11].copy_from_slice(RECORD_SEPARATOR);
    key[11..].copy_from_slice(&(handle as u64 ^ 1 << 63).to_be_bytes());
    key
}

/// Appends [`table_prefix`].
#[inline]
pub fn push_table_prefix(key: &mut Vec<u8>, table: TableId) {
    key.push(TABLE_PREFIX);
    encode_i64(key, table.0);
}

/// Appends [`record_prefix`].
#[inline]
pub fn push_record_prefix(key: &mut Vec<u8>, table: TableId) {
    push_table_prefix(key, table);
    key.extend_from_slice(RECORD_SEPARATOR);
}

/// Appends [`index_prefix`].
#[inline]
pub fn push_index_prefix(key: &mut Vec<u8>, table: TableId, index: IndexId) {
    push_table_prefix(key, table);
    key.extend_from_slice(INDEX_SEPARATOR);
    encode_i64(key, index.0);
}

/// The table a key belongs to; an error when it is not a key of table data.
pub fn decode_table_id(key: &[u8]) -> Result<TableId> {
    split_table_prefix(key).map(|(table, _)| table)
}

/// Table and handle of a row's key.
///
/// Eight bytes behind the separator are an integer handle; a common handle always has another length (its shortest form, one
/// NULL, cannot be a primary key, and every other datum takes nine bytes or more).
#[inline]
pub fn decode_record_key(key: &[u8]) -> Result<(TableId, Handle)> {
    let (table, rest) = split_table_prefix(key)?;
    let handle = rest
        .strip_prefix(RECORD_SEPARATOR)
        .ok_or(Error::Malformed { what: "record key", problem: "separator _r is missing behind the table id" })?;
    Ok((table, decode_handle(handle)?))
}

/// The handle from the bytes behind a record key's prefix.
#[inline]
pub fn decode_handle(mut bytes: &[u8]) -> Result<Handle> {
    match bytes.len() {
        8 => Ok(Handle::Int(decode_i64(&mut bytes)?)),
        0..8 => Err(Error::Truncated { what: "handle", needed: 8, left: bytes.len() }),
        _ => Ok(Handle::Common(Bytes::copy_from_slice(bytes))),
    }
}

/// The handle from the flagged datums at the end of a non-unique index key.
#[inline]
pub fn decode_flagged_handle(bytes: &[u8], is_common: bool) -> Result<Handle> {
    if is_common {
        return if bytes.is_empty() {
            Err(Error::Truncated { what: "common handle of an index key", needed: 1, left: 0 })
        } else {
            Ok(Handle::Common(Bytes::copy_from_slice(bytes)))
        };
    }
    match bytes.split_first() {
        // An unsigned handle may carry its own flag; the eight bytes then have no flipped sign.
        Some((&flag::INT, mut rest)) if rest.len() == 8 => Ok(Handle::Int(decode_i64(&mut rest)?)),
        Some((&flag::UINT, mut rest)) if rest.len() == 8 => Ok(Handle::Int(crate::number::decode_u64(&mut rest)? as i64)),
        Some((&found, _)) if found != flag::INT && found != flag::UINT => Err(Error::UnknownFlag { what: "handle of an index key", found }),
        _ => Err(Error::Truncated { what: "handle of an index key", needed: 9, left: bytes.len() }),
    }
}

/// Table, index and the flagged datums of an index entry's key.
#[inline]
pub fn decode_index_key(key: &[u8]) -> Result<(TableId, IndexId, &[u8])> {
    let (table, rest) = split_table_prefix(key)?;
    let mut rest = rest
        .strip_prefix(INDEX_SEPARATOR)
        .ok_or(Error::Malformed { what: "index key", problem: "separator _i is missing behind the table id" })?;
    let index = IndexId(decode_i64(&mut rest)?);
    Ok((table, index, rest))
}

#[inline]
fn split_table_prefix(key: &[u8]) -> Result<(TableId, &[u8])> {
    let mut rest = match key.split_first() {
        Some((&TABLE_PREFIX, rest)) => rest,
        Some((&found, _)) => return Err(Error::UnknownFlag { what: "prefix of a table key", found }),
        None => return Err(Error::Truncated { what: "table key", needed: TABLE_PREFIX_LEN, left: 0 }),
    };
    let raw: [u8; 8] = take_array(&mut rest, "table id")?;
    Ok((TableId((u64::from_be_bytes(raw) ^ 1 << 63) as i64), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn record_keys_come_back(table: i64, handle: i64, common in prop::collection::vec(any::<u8>(), 9..40)) {
            for handle in [Handle::Int(handle), Handle::Common(common.into())] {
                let key = record_key(TableId(table), &handle);
                prop_assert_eq!(decode_record_key(&key), Ok((TableId(table), handle.clone())));
                prop_assert_eq!(decode_table_id(&key), Ok(TableId(table)));
                prop_assert!(key.starts_with(&record_prefix(TableId(table))));
                prop_assert!(decode_index_key(&key).is_err());
                if let Handle::Int(value) = handle {
                    prop_assert_eq!(&int_record_key(TableId(table), value)[..], &key[..]);
                }
                let mut flagged = Vec::new();
                handle.encode_flagged_into(&mut flagged);
                prop_assert_eq!(decode_flagged_handle(&flagged, handle.as_int().is_none()), Ok(handle));
            }
        }

        #[test]
        fn index_keys_come_back(table: i64, index: i64, datums: Vec<u8>) {
            let mut key = index_prefix(TableId(table), IndexId(index));
            key.extend_from_slice(&datums);
            prop_assert_eq!(decode_index_key(&key), Ok((TableId(table), IndexId(index), &datums[..])));
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = decode_record_key(&input);
            let _ = decode_index_key(&input);
            let _ = decode_flagged_handle(&input, false);
        }
    }

    #[test]
    fn known_bytes_of_the_format() {
        assert_eq!(record_key(TableId(1), &Handle::Int(2)), b"t\x80\0\0\0\0\0\0\x01_r\x80\0\0\0\0\0\0\x02");
        assert_eq!(index_prefix(TableId(1), IndexId(3)), b"t\x80\0\0\0\0\0\0\x01_i\x80\0\0\0\0\0\0\x03");
    }
}
