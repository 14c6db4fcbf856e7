//! Values on their way into columns: conversion to the column's type, NOT NULL, defaults.
//!
//! | | strict | not strict, or IGNORE |
//! |---|---|---|
//! | value does not fit | error "… for column 'c' at row n" | nearest value, warning |
//! | NULL for NOT NULL | 1048 | implicit default of the type, warning (error for a single-row INSERT without IGNORE) |
//! | no value, no default | 1364 | implicit default, warning |

use std::sync::OnceLock;

use catalog::ColumnInfo;
use expr::{SqlMode, WarningLevel};
use types::convert::{ConvertMode, implicit_default, store};
use types::{Datum, FieldType, MysqlError, Time, TimeKind, TypeKind};

use crate::{Error, ExecCtx, Result};

/// How the values of one statement are converted.
pub struct Converter<'c> {
    ctx: &'c ExecCtx,
    /// Without the statement's date, which few columns ask for.
    mode: ConvertMode,
    today: OnceLock<Option<Time>>,
    /// Errors of single rows become warnings (IGNORE).
    pub ignore: bool,
    strict: bool,
}

impl<'c> Converter<'c> {
    /// For a statement with or without IGNORE.
    pub fn new(ctx: &'c ExecCtx, ignore: bool) -> Self {
        let sql_mode = ctx.eval.sql_mode;
        let strict = sql_mode.is_strict() && !ignore;
        let mode = ConvertMode {
            strict,
            allow_invalid_dates: sql_mode.contains(SqlMode::ALLOW_INVALID_DATES),
            no_zero_date: sql_mode.contains(SqlMode::NO_ZERO_DATE),
            no_zero_in_date: sql_mode.contains(SqlMode::NO_ZERO_IN_DATE),
            today: None,
        };
        Self { ctx, mode, today: OnceLock::new(), ignore, strict }
    }

    /// Whether bad values are errors.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Converts a value to a column's type. NULL stays NULL. `row` counts from 1.
    pub fn store(&self, value: Datum, column: &ColumnInfo, row: u64) -> Result<Datum> {
        if value.is_null() {
            return Ok(value);
        }
        let warnings = &self.ctx.eval.warnings;
        let mut warn = |error: types::Error| {
            let level = if error.is_note() { WarningLevel::Note } else { WarningLevel::Warning };
            let error = error.at_column(&column.name, row);
            warnings.push(expr::Warning { level, code: error.code(), message: error.message() });
        };
        store(value, &column.ty, self.mode_for(&column.ty), &self.ctx.eval.time_zone, &mut warn)
            .map_err(|error| Error::Types(error.at_column(&column.name, row)))
    }

    /// A time of day becomes a date and time of the statement's day.
    fn mode_for(&self, ty: &FieldType) -> ConvertMode {
        match ty.tp {
            TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp => {
                ConvertMode { today: *self.today.get_or_init(|| today(self.ctx)), ..self.mode }
            }
            _ => self.mode,
        }
    }

    /// What stands for NULL in a NOT NULL column, or the error. `single_row`: an INSERT of one row refuses NULL even when not strict.
    pub fn replace_null(&self, column: &ColumnInfo, row: u64, single_row: bool) -> Result<Datum> {
        let error = match self.ctx.loaded_rows {
            Some(_) => Error::NullLoaded { column: column.name.clone(), row },
            None => Error::NotNull { column: column.name.clone() },
        };
        if self.strict || (single_row && !self.ignore) {
            return Err(error);
        }
        self.warn(&error);
        Ok(implicit_default(&column.ty))
    }

    /// The value of a NOT NULL column that has neither a value nor a default, or the error.
    pub fn missing(&self, column: &ColumnInfo) -> Result<Datum> {
        let error = Error::NoDefault { column: column.name.clone() };
        if self.strict {
            return Err(error);
        }
        self.warn(&error);
        Ok(implicit_default(&column.ty))
    }

    /// Turns an error of one row into a warning.
    pub fn warn(&self, error: &Error) {
        let MysqlError { code, message, .. } = error.to_mysql();
        self.ctx.eval.warnings.push(expr::Warning { level: WarningLevel::Warning, code, message });
    }
}

/// The statement's date in the session's time zone.
fn today(ctx: &ExecCtx) -> Option<Time> {
    let now = Time::timestamp_from_unix_micros(ctx.eval.now_micros, 0)?;
    Some(now.to_zone(&ctx.eval.time_zone).with_kind(TimeKind::Date, 0))
}
