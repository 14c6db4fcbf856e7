//! How keys and rows become bytes: the byte-exact formats Trine shares with the existing ecosystem.
//!
//! | module | what it encodes | where it is read back |
//! |---|---|---|
//! | [`number`] | integers and floats, order-preserving, fixed or variable width | keys, row cells |
//! | [`bytes`](mod@bytes) | byte strings, order-preserving: groups of eight and a marker | keys |
//! | [`flag`] | the byte before each datum of a key that says which kind follows | index keys, common handles |
//! | [`table`] | `t{table}_r{handle}` and `t{table}_i{index}{columns}` | SQL layer, coprocessor |
//! | [`meta`] | `m…` keys: the catalog and other cluster state | catalog, DDL |
//! | [`row`] | row format v2, small and large | SQL layer, coprocessor |
//! | [`index_value`] | what stands behind an index key: handle, restored values | SQL layer, coprocessor |
//! | [`engine_key`] | the key as the engine stores it: region-local prefix, memcomparable, version | engine, MVCC |
//!
//! Invariants:
//! - Order: for any two values of one kind, the encoded bytes compare as the values do (or exactly opposite in the `_desc` forms),
//!   and no encoding of a kind is a prefix of another one of that kind. Keys can therefore be concatenated.
//! - Trust: bytes come from disk or network. Every decoder answers an [`Error`] for bytes it did not write; none panics.
//! - Compatibility: the formats are TiDB's documented ones. A change here is a change of every data directory.
//!
//! Nothing here knows SQL types: which datum is encoded how is the matter of the `types` crate.

pub mod bytes;
pub mod engine_key;
mod error;
pub mod flag;
pub mod index_value;
pub mod meta;
pub mod number;
pub mod row;
pub mod table;

pub use error::{Error, Result};
pub use table::Handle;
