//! Where a constant lies among the values a key column can hold.
//!
//! A comparison with a constant of another type (`int_col > 3.5`, `tinyint_col = 1000`, `date_col <= '2024-01-01 12:00:00'`) becomes a
//! comparison with a value of the column: the constant itself, its neighbour below, or none at all.

use types::{Datum, Decimal, Duration, EvalType, FieldType, TimeKind, TypeKind, decimal::RoundMode};

/// A constant's place among a column's values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fit {
    /// It is this value.
    Exact(Datum),
    /// It lies behind this value and before the next one.
    After(Datum),
    /// It is below every value.
    BelowAll,
    /// It is above every value.
    AboveAll,
    /// It is NULL: no comparison is true.
    Null,
    /// It cannot be placed.
    Unknown,
}

/// Places a constant.
pub(crate) fn fit(value: &Datum, column: &FieldType) -> Fit {
    if matches!(value, Datum::Null) {
        return Fit::Null;
    }
    match column.eval_type() {
        EvalType::Int => fit_integer(value, column),
        _ if column.tp == TypeKind::Enum => fit_integer(value, column),
        EvalType::Decimal => fit_decimal(value, column),
        EvalType::Real => fit_real(value, column),
        EvalType::String if column.tp.is_string() => match value {
            Datum::Bytes(_) => Fit::Exact(value.clone()),
            _ => Fit::Unknown,
        },
        EvalType::Time => fit_time(value, column),
        EvalType::Duration => match value {
            Datum::Duration(duration) => {
                let floor = floor_duration(*duration, column.fsp());
                if floor.micros() == duration.micros() { Fit::Exact(value.clone()) } else { Fit::After(Datum::Duration(floor)) }
            }
            _ => Fit::Unknown,
        },
        _ => Fit::Unknown,
    }
}

fn fit_integer(value: &Datum, column: &FieldType) -> Fit {
    let (floor, exact) = match value {
        Datum::Int(value) => (i128::from(*value), true),
        Datum::UInt(value) => (i128::from(*value), true),
        Datum::Decimal(value) => {
            let floor = value.round(0, RoundMode::Floor);
            let number = match (floor.to_i64(), floor.to_u64()) {
                (Ok(number), _) => i128::from(number),
                (_, Ok(number)) => i128::from(number),
                _ if value.is_negative() => return Fit::BelowAll,
                _ => return Fit::AboveAll,
            };
            (number, floor == *value)
        }
        Datum::Double(value) => (value.floor() as i128, value.floor() == *value),
        Datum::Float(value) => (value.floor() as i128, value.floor() == *value),
        _ => return Fit::Unknown,
    };
    let (low, high) = match column.tp {
        // The year 0000 stands beside 1901 … 2155.
        TypeKind::Year => (0, 2155),
        TypeKind::Bit => (0, u64::MAX >> (64 - column.flen.clamp(1, 64))),
        TypeKind::Enum => (0, column.elems.len() as u64),
        tp => tp.int_range(column.unsigned),
    };
    if floor < i128::from(low) {
        return Fit::BelowAll;
    }
    if floor > i128::from(high) {
        return Fit::AboveAll;
    }
    let is_unsigned = column.unsigned || matches!(column.tp, TypeKind::Bit | TypeKind::Enum);
    let datum = if is_unsigned { Datum::UInt(floor as u64) } else { Datum::Int(floor as i64) };
    if exact { Fit::Exact(datum) } else { Fit::After(datum) }
}

fn fit_decimal(value: &Datum, column: &FieldType) -> Fit {
    let value = match value {
        Datum::Int(value) => Decimal::from(*value),
        Datum::UInt(value) => Decimal::from(*value),
        Datum::Decimal(value) => *value,
        _ => return Fit::Unknown,
    };
    let (Ok(precision), Some(scale)) = (u8::try_from(column.flen), column.scale()) else { return Fit::Unknown };
    let floor = value.round(i32::from(scale), RoundMode::Floor);
    if floor.int_digits() > precision.saturating_sub(scale) {
        return if floor.is_negative() { Fit::BelowAll } else { Fit::AboveAll };
    }
    let exact = floor == value;
    let datum = Datum::Decimal(floor);
    if exact { Fit::Exact(datum) } else { Fit::After(datum) }
}

fn fit_real(value: &Datum, column: &FieldType) -> Fit {
    let value = match value {
        Datum::Double(value) => *value,
        Datum::Float(value) => f64::from(*value),
        Datum::Int(value) => *value as f64,
        Datum::UInt(value) => *value as f64,
        Datum::Decimal(value) => value.to_f64(),
        _ => return Fit::Unknown,
    };
    if column.tp == TypeKind::Double {
        return Fit::Exact(Datum::Double(value));
    }
    let nearest = value as f32;
    if nearest.is_infinite() {
        return if value < 0.0 { Fit::BelowAll } else { Fit::AboveAll };
    }
    if f64::from(nearest) == value {
        return Fit::Exact(Datum::Float(nearest));
    }
    Fit::After(Datum::Float(if f64::from(nearest) > value { nearest.next_down() } else { nearest }))
}

fn fit_time(value: &Datum, column: &FieldType) -> Fit {
    let Datum::Time(time) = value else { return Fit::Unknown };
    if time.kind() == TimeKind::Timestamp {
        // Which local time it is depends on the session's time zone: left to the filter.
        return Fit::Unknown;
    }
    let floor = match column.tp {
        TypeKind::Date => match time.micros_of_day() {
            0 => return Fit::Exact(Datum::Time(time.with_kind(TimeKind::Date, 0))),
            _ => time.truncate_to_fsp(0).with_kind(TimeKind::Date, 0),
        },
        TypeKind::DateTime => time.truncate_to_fsp(column.fsp()).with_kind(TimeKind::DateTime, column.fsp()),
        _ => return Fit::Unknown,
    };
    let exact = column.tp == TypeKind::DateTime && floor == *time;
    let datum = Datum::Time(floor);
    if exact { Fit::Exact(datum) } else { Fit::After(datum) }
}

/// Truncation goes towards zero; below zero the value before is one step further down.
fn floor_duration(duration: Duration, fsp: u8) -> Duration {
    let cut = duration.truncate_to_fsp(fsp);
    if cut.micros() > duration.micros() {
        let unit = i64::from(types::time::FSP_UNIT[usize::from(fsp.min(types::time::MAX_FSP))]);
        return Duration::from_micros(cut.micros() - unit, fsp);
    }
    cut
}
