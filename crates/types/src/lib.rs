//! MySQL's types and values.
//!
//! | module | |
//! |---|---|
//! | [`field_type`], [`type_text`] | the type of a column or expression; how it is written and sent |
//! | [`datum`] | one value |
//! | [`column`](mod@column), [`chunk`], [`bitmap`] | many values, stored by column: what operators hand to each other |
//! | [`decimal`](mod@decimal) | exact numbers of up to 65 digits |
//! | [`time`] | dates, times, time zones, the calendar |
//! | [`charset`], [`collation`] | how text is counted, compared, ordered, hashed |
//! | [`text`] | values as MySQL prints them |
//! | [`json`] | documents: the stored form, paths, the text
//! | [`value`] | values in keys and row cells |
//! | [`convert`] | what INSERT stores, what CAST makes of a value |
//! | [`error`], [`mysql_error`] | what can go wrong with values; MySQL's numbers and SQLSTATEs |
//!
//! Invariants that hold everywhere:
//! - a TIMESTAMP value is UTC; local time is made of it at the edges (see [`time`]);
//! - text is UTF-8, checked where it comes in;
//! - a value of a column's type has the column's scale, precision and range.

pub mod bitmap;
pub mod charset;
pub mod chunk;
pub mod collation;
pub mod column;
pub mod convert;
pub mod datum;
pub mod decimal;
pub mod error;
pub mod field_type;
pub mod json;
pub mod mysql_error;
pub mod text;
pub mod time;
pub mod type_text;
pub mod value;

pub use bitmap::Bitmap;
pub use charset::Charset;
pub use chunk::{Chunk, RowRef};
pub use collation::Collation;
pub use column::{Column, ColumnData};
pub use convert::ConvertMode;
pub use datum::{Datum, DatumRef};
pub use decimal::Decimal;
pub use error::{Error, Result};
pub use field_type::{EvalType, FieldType, TypeFlags, TypeKind};
pub use json::{Json, JsonRef};
pub use mysql_error::{ErrorCode, MysqlError};
pub use time::{DateMode, Duration, Time, TimeKind, TimeParts, TimeZone};
