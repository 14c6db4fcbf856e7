//! The flag byte before every datum of an index key or a common handle.
//!
//! The flags are ordered so that NULL sorts before every value. A column has one flag besides [`NULL`], so the order of
//! the flags among each other matters only for [`NULL`] and [`MAX`].

/// SQL NULL; nothing follows.
pub const NULL: u8 = 0;
/// A byte string in [`crate::bytes`]' memcomparable form.
pub const BYTES: u8 = 1;
/// A byte string behind its length; never in keys.
pub const COMPACT_BYTES: u8 = 2;
/// A signed integer, eight bytes, order-preserving.
pub const INT: u8 = 3;
/// An unsigned integer, eight bytes, order-preserving.
pub const UINT: u8 = 4;
/// A double, eight bytes, order-preserving.
pub const FLOAT: u8 = 5;
/// A decimal: precision, fraction digits, MySQL's binary form.
pub const DECIMAL: u8 = 6;
/// A TIME value: nanoseconds as a signed integer.
pub const DURATION: u8 = 7;
/// A signed integer of variable width; never in keys.
pub const VARINT: u8 = 8;
/// An unsigned integer of variable width; never in keys.
pub const UVARINT: u8 = 9;
/// A JSON document in its binary form.
pub const JSON: u8 = 10;
/// Sorts behind every value; the upper end of ranges.
pub const MAX: u8 = 250;
