//! Keys of the cluster's meta data: the catalog, DDL jobs, cluster-wide variables.
//!
//! ```text
//! m  bytes(name)  's' as u64                      a single value
//! m  bytes(name)  'h' as u64  bytes(field)        a field of a hash
//! m  bytes(name)  'H' as u64                      what is known about the hash as a whole
//! m  bytes(name)  'l' as u64  i64(position)       an element of a list
//! m  bytes(name)  'L' as u64                      what is known about the list as a whole
//! ```
//!
//! `bytes` is the memcomparable form, so the fields of one hash stand side by side in the order of their bytes.

use crate::{
    bytes::{decode_bytes, encode_bytes},
    error::{Error, Result},
    number::{decode_i64, decode_u64, encode_i64, encode_u64},
};

/// First byte of every meta key.
pub const META_PREFIX: u8 = b'm';

/// A meta key taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetaKey {
    /// A single value.
    Value(Vec<u8>),
    /// A field of a hash: name of the hash, field.
    HashField(Vec<u8>, Vec<u8>),
    /// What is known about a hash as a whole.
    HashMeta(Vec<u8>),
    /// An element of a list: name of the list, position.
    ListElement(Vec<u8>, i64),
    /// What is known about a list as a whole.
    ListMeta(Vec<u8>),
}

fn typed(name: &[u8], kind: u8) -> Vec<u8> {
    let mut key = vec![META_PREFIX];
    encode_bytes(&mut key, name);
    encode_u64(&mut key, u64::from(kind));
    key
}

/// The key of a single value.
pub fn value_key(name: &[u8]) -> Vec<u8> {
    typed(name, b's')
}

/// The key of a field of a hash.
pub fn hash_field_key(name: &[u8], field: &[u8]) -> Vec<u8> {
    let mut key = hash_prefix(name);
    encode_bytes(&mut key, field);
    key
}

/// Before the keys of all fields of a hash.
pub fn hash_prefix(name: &[u8]) -> Vec<u8> {
    typed(name, b'h')
}

/// The key of what is known about a hash as a whole.
pub fn hash_meta_key(name: &[u8]) -> Vec<u8> {
    typed(name, b'H')
}

/// The key of an element of a list.
pub fn list_element_key(name: &[u8], position: i64) -> Vec<u8> {
    let mut key = typed(name, b'l');
    encode_i64(&mut key, position);
    key
}

/// Before the keys of all elements of a list.
pub fn list_prefix(name: &[u8]) -> Vec<u8> {
    typed(name, b'l')
}

/// The key of what is known about a list as a whole.
pub fn list_meta_key(name: &[u8]) -> Vec<u8> {
    typed(name, b'L')
}

/// Takes a whole meta key apart.
pub fn decode_meta_key(key: &[u8]) -> Result<MetaKey> {
    let mut rest = match key.split_first() {
        Some((&META_PREFIX, rest)) => rest,
        Some((&found, _)) => return Err(Error::UnknownFlag { what: "prefix of a meta key", found }),
        None => return Err(Error::Truncated { what: "meta key", needed: 1, left: 0 }),
    };
    let name = decode_bytes(&mut rest)?;
    let kind = decode_u64(&mut rest)?;
    let decoded = match u8::try_from(kind).unwrap_or(0) {
        b's' => MetaKey::Value(name),
        b'h' => MetaKey::HashField(name, decode_bytes(&mut rest)?),
        b'H' => MetaKey::HashMeta(name),
        b'l' => MetaKey::ListElement(name, decode_i64(&mut rest)?),
        b'L' => MetaKey::ListMeta(name),
        _ => return Err(Error::UnknownFlag { what: "kind of a meta key", found: kind as u8 }),
    };
    if rest.is_empty() { Ok(decoded) } else { Err(Error::TrailingBytes { what: "meta key", left: rest.len() }) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn meta_keys_come_back(name: Vec<u8>, field: Vec<u8>, position: i64) {
            for (key, expected) in [
                (value_key(&name), MetaKey::Value(name.clone())),
                (hash_field_key(&name, &field), MetaKey::HashField(name.clone(), field.clone())),
                (hash_meta_key(&name), MetaKey::HashMeta(name.clone())),
                (list_element_key(&name, position), MetaKey::ListElement(name.clone(), position)),
                (list_meta_key(&name), MetaKey::ListMeta(name.clone())),
            ] {
                prop_assert_eq!(decode_meta_key(&key), Ok(expected));
            }
        }

        #[test]
        fn any_bytes_are_read_without_panic(input: Vec<u8>) {
            let _ = decode_meta_key(&input);
        }
    }
}
