//! Dates and times on their way into a column.

use super::{Conversion, incorrect_time, out_of_range, truncated};
use crate::{
    datum::{Datum, DatumRef},
    decimal::{Decimal, RoundMode},
    error::Result,
    field_type::{FieldType, TypeKind},
    time::{DateMode, Duration, MAX_FSP, Time, TimeError, TimeKind, TimeZone},
};

/// Whole part and microseconds of a number that means a date or time; `None` beyond all of them.
pub(super) fn number_parts(datum: DatumRef<'_>) -> Option<(i64, u32)> {
    let decimal = match datum {
        DatumRef::Int(value) => return Some((value, 0)),
        DatumRef::UInt(value) => return i64::try_from(value).ok().map(|value| (value, 0)),
        DatumRef::Decimal(value) => *value,
        DatumRef::Double(value) => Decimal::from_f64(value).ok()?,
        DatumRef::Float(value) => Decimal::from_f64(f64::from(value)).ok()?,
        _ => return None,
    };
    let unscaled = decimal.round(i32::from(MAX_FSP), RoundMode::HalfUp).to_unscaled(MAX_FSP)?;
    let whole = i64::try_from(unscaled / 1_000_000).ok()?;
    Some((whole, (unscaled % 1_000_000).unsigned_abs() as u32))
}

/// Characters of a date without a time.
const DATE_CHARS: usize = 10;

/// Whether a text that is a date goes on to a time that is not midnight.
fn names_time_of_day(text: &[u8], mode: &DateMode) -> bool {
    Time::parse(text, TimeKind::DateTime, MAX_FSP, mode).is_ok_and(|parsed| has_time_of_day(parsed.time))
}

fn has_time_of_day(time: Time) -> bool {
    time.kind() != TimeKind::Date && time.to_duration().micros() != 0
}

impl Conversion<'_> {
    pub(super) fn store_date(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        let kind = TimeKind::of(ty.tp).unwrap_or(TimeKind::DateTime);
        // A timestamp is local until it is known to be a date at all.
        let local_kind = if kind == TimeKind::Timestamp { TimeKind::DateTime } else { kind };
        let mode = self.mode.date_mode();
        let read = match datum {
            DatumRef::Null => return Ok(Datum::Null),
            DatumRef::Bytes(text) => match Time::parse(text, local_kind, ty.fsp(), &mode) {
                Ok(parsed) => {
                    if parsed.truncated {
                        let error = if self.mode.strict { incorrect_time(kind.name(), text) } else { truncated() };
                        self.reject(error, ())?;
                    }
                    if local_kind == TimeKind::Date && text.len() > DATE_CHARS && names_time_of_day(text, &mode) {
                        self.note_truncation();
                    }
                    match parsed.offset {
                        Some(seconds) => self.shift_offset(parsed.time, seconds, local_kind),
                        None => Ok(parsed.time),
                    }
                }
                Err(error) => Err(error),
            },
            DatumRef::Time(value) => {
                if local_kind == TimeKind::Date && has_time_of_day(value.to_zone(self.zone)) {
                    self.note_truncation();
                }
                self.refit(value, local_kind, ty.fsp())
            }
            DatumRef::Duration(value) => self.date_of_duration(value, local_kind, ty.fsp()),
            number => match number_parts(number) {
                Some((whole, micro)) => Time::from_number(whole, micro, local_kind, ty.fsp(), &mode),
                None => Err(TimeError::Invalid),
            },
        };
        // Values that are timestamps already need no way through local time.
        if let (TimeKind::Timestamp, DatumRef::Time(value)) = (kind, datum)
            && value.kind() == TimeKind::Timestamp
            && let Some(rounded) = value.round_to_fsp(ty.fsp())
        {
            return Ok(Datum::Time(rounded));
        }
        let stored = match kind {
            TimeKind::Timestamp => read.and_then(|local| local.from_zone(self.zone)),
            _ => read,
        };
        match stored {
            Ok(time) => Ok(Datum::Time(time)),
            Err(error) => self.reject_date(error, datum, kind, ty),
        }
    }

    /// The error of a date that cannot be stored; in non-strict mode the zero date, or the end of the gap that the zone skipped.
    fn reject_date(&mut self, error: TimeError, datum: DatumRef<'_>, kind: TimeKind, ty: &FieldType) -> Result<Datum> {
        if self.mode.strict {
            let text = self.text_of(datum);
            return Err(incorrect_time(kind.name(), &text));
        }
        let instead = match error {
            TimeError::Skipped { unix_micros } => Time::timestamp_from_unix_micros(unix_micros, ty.fsp()),
            _ => None,
        };
        let is_range = !matches!(error, TimeError::Invalid);
        self.warn(if is_range { out_of_range() } else { truncated() });
        Ok(Datum::Time(instead.unwrap_or_else(|| Time::zero(kind, ty.fsp()))))
    }

    /// A local time that was given with an offset, in the session's zone.
    fn shift_offset(&self, time: Time, offset_seconds: i32, kind: TimeKind) -> Result<Time, TimeError> {
        let given = time.with_kind(TimeKind::DateTime, time.fsp());
        let stamp = given.from_zone(&TimeZone::Offset(offset_seconds))?;
        Ok(stamp.to_zone(self.zone).with_kind(kind, time.fsp()))
    }

    /// A date of another kind or precision.
    pub(super) fn refit(&self, value: Time, kind: TimeKind, fsp: u8) -> Result<Time, TimeError> {
        let local = value.to_zone(self.zone);
        local.check_date(&self.mode.date_mode())?;
        if kind == TimeKind::Date {
            return Ok(local.with_kind(TimeKind::Date, 0));
        }
        // Of a date the midnight.
        local.with_kind(TimeKind::DateTime, MAX_FSP).round_to_fsp(fsp).ok_or(TimeError::OutOfRange)
    }

    /// A TIME as a date: that long from today's midnight.
    pub(super) fn date_of_duration(&self, value: Duration, kind: TimeKind, fsp: u8) -> Result<Time, TimeError> {
        let today = self.mode.today.ok_or(TimeError::Invalid)?;
        let micros = (today.day_number() - crate::time::calendar::UNIX_EPOCH_DAY) * crate::time::MICROS_PER_DAY + value.micros();
        let moment = Time::from_unix_micros(micros, TimeKind::DateTime, MAX_FSP).ok_or(TimeError::OutOfRange)?;
        self.refit(moment, kind, fsp)
    }

    pub(super) fn store_duration(&mut self, datum: DatumRef<'_>, ty: &FieldType) -> Result<Datum> {
        debug_assert!(ty.tp == TypeKind::Time);
        let fsp = ty.fsp();
        let parsed = match datum {
            DatumRef::Null => return Ok(Datum::Null),
            DatumRef::Duration(value) if value.in_range() => return Ok(Datum::Duration(value.round_to_fsp(fsp))),
            DatumRef::Duration(value) => {
                return self.reject(out_of_range(), Datum::Duration(Duration::max_value(value.is_negative(), fsp)));
            }
            DatumRef::Time(value) => return Ok(Datum::Duration(value.to_zone(self.zone).to_duration().round_to_fsp(fsp))),
            DatumRef::Bytes(text) => Duration::parse(text, fsp),
            number => number_parts(number).ok_or(TimeError::Invalid).and_then(|(whole, micro)| Duration::from_number(whole, micro, fsp)),
        };
        let (error, instead) = match parsed {
            Ok(parsed) if parsed.out_of_range => (out_of_range(), parsed.duration),
            Ok(parsed) if parsed.truncated => (truncated(), parsed.duration),
            Ok(parsed) => return Ok(Datum::Duration(parsed.duration)),
            Err(_) => (truncated(), Duration::from_micros(0, fsp)),
        };
        let error = if self.mode.strict { incorrect_time("time", &self.text_of(datum)) } else { error };
        self.reject(error, Datum::Duration(instead))
    }
}
