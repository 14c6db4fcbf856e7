//! Conversions between types.
//!
//! Two ways of converting that MySQL keeps apart:
//!
//! | | [`store`](store()): INSERT, UPDATE | [`cast`](cast()): CAST, comparisons, functions |
//! |---|---|---|
//! | a value that does not fit | error in strict mode; else a warning and the nearest value | a warning and the nearest value |
//! | a text that is no date | error in strict mode; else a warning and the zero date | a warning and NULL |
//! | `'1.7'` to an integer | 2 | 1 |
//! | messages | name column and row | name the type |
//!
//! | file | |
//! |---|---|
//! | `numeric` | numbers at the front of texts; what integers, floats and decimals become of each other |
//! | `store` | dispatch of [`store`](store()); integers, floats, decimals, YEAR, BIT |
//! | `store_text` | text, byte strings, ENUM, SET |
//! | `store_time` | dates and times |
//! | `json` | values as JSON values, and back |
//! | `cast` | [`cast`](cast()) |
//! | `implicit` | what a NOT NULL column gets where nothing is given |
//!
//! Warnings go to a callback as [`Error`]s; the caller names the column with [`Error::at_column`] and decides where they are kept.

mod cast;
mod implicit;
mod json;
pub mod numeric;
mod store;
mod store_text;
mod store_time;
#[cfg(test)]
mod tests;

pub use cast::{cast, to_bool};
pub use implicit::implicit_default;
pub use json::{of_json, to_json};
pub use store::store;

use crate::{
    error::{Error, Result},
    time::{DateMode, Time, TimeZone},
};

/// What of the session decides about conversions.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConvertMode {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES, and not IGNORE: what does not fit is an error.
    pub strict: bool,
    /// NO_ZERO_DATE.
    pub no_zero_date: bool,
    /// NO_ZERO_IN_DATE.
    pub no_zero_in_date: bool,
    /// ALLOW_INVALID_DATES.
    pub allow_invalid_dates: bool,
    /// The date of the statement in the session's time zone, which a TIME gets that becomes a date; `None` refuses that.
    pub today: Option<Time>,
}

impl ConvertMode {
    /// MySQL 8.0's default `sql_mode`, as far as it matters here.
    pub const STRICT: Self = Self { strict: true, no_zero_date: true, no_zero_in_date: true, allow_invalid_dates: false, today: None };

    /// The flags of dates.
    pub fn date_mode(&self) -> DateMode {
        DateMode { no_zero_date: self.no_zero_date, no_zero_in_date: self.no_zero_in_date, allow_invalid_dates: self.allow_invalid_dates }
    }
}

/// A conversion on its way: mode, zone and where warnings go.
struct Conversion<'a> {
    mode: ConvertMode,
    zone: &'a TimeZone,
    warnings: &'a mut dyn FnMut(Error),
}

impl Conversion<'_> {
    /// The error in strict mode; else a warning, and the value that is stored instead.
    fn reject<T>(&mut self, error: Error, instead: T) -> Result<T> {
        if self.mode.strict {
            return Err(error);
        }
        (self.warnings)(error);
        Ok(instead)
    }

    fn warn(&mut self, error: Error) {
        (self.warnings)(error);
    }

    /// What is lost is a trifle: a note in every mode.
    fn note_truncation(&mut self) {
        (self.warnings)(Error::TrifleTruncated { column: String::new(), row: 0 });
    }
}

/// A text as messages show it: what is not UTF-8 is replaced, long texts are cut.
fn shown(text: &[u8]) -> String {
    const MOST: usize = 128;
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(MOST) {
        Some((at, _)) => text[..at].to_owned(),
        None => text.into_owned(),
    }
}

fn out_of_range() -> Error {
    Error::OutOfRangeForColumn { column: String::new(), row: 0 }
}

fn truncated() -> Error {
    Error::Truncated { column: String::new(), row: 0 }
}

fn too_long() -> Error {
    Error::TooLong { column: String::new(), row: 0 }
}

fn incorrect(kind: &'static str, text: &[u8]) -> Error {
    Error::IncorrectForColumn { kind, value: shown(text), column: String::new(), row: 0 }
}

fn incorrect_time(kind: &'static str, text: &[u8]) -> Error {
    Error::IncorrectTimeForColumn { kind, value: shown(text), column: String::new(), row: 0 }
}
