//! Time zones: where TIMESTAMP meets local time.

use std::fmt;

use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, TimeZone as NamedZone},
};

use super::{MICROS_PER_SECOND, Time, TimeKind, TimeParts, parse::TimeError};
use crate::error::Error;

/// A time zone as `SET time_zone` names it. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub enum TimeZone {
    /// A fixed offset in seconds east of UTC: `+08:00`.
    Offset(i32),
    /// A zone of the IANA database with the name it was asked for.
    Named(String, NamedZone),
    /// The zone of the machine: `SYSTEM`.
    System(NamedZone),
}

/// MySQL accepts offsets from -13:59 to +14:00.
const OFFSET_RANGE_MINUTES: std::ops::RangeInclusive<i32> = -839..=840;

impl Default for TimeZone {
    fn default() -> Self {
        Self::UTC
    }
}

impl TimeZone {
    /// UTC.
    pub const UTC: Self = Self::Offset(0);

    /// The zone of the machine.
    pub fn system() -> Self {
        Self::System(NamedZone::system())
    }

    /// The zone of a text: `SYSTEM`, `±hh:mm`, or a name of the IANA database whatever its case.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("SYSTEM") {
            return Ok(Self::system());
        }
        if let Some(seconds) = parse_offset(trimmed.as_bytes()) {
            return Ok(Self::Offset(seconds));
        }
        if trimmed.eq_ignore_ascii_case("UTC") {
            return Ok(Self::Named("UTC".to_owned(), NamedZone::UTC));
        }
        NamedZone::get(trimmed).map(|zone| Self::Named(trimmed.to_owned(), zone)).map_err(|_| Error::UnknownTimeZone(text.to_owned()))
    }

    /// Seconds east of UTC at a moment given in microseconds since the Unix epoch.
    pub fn offset_at(&self, unix_micros: i64) -> i32 {
        match self {
            Self::Offset(seconds) => *seconds,
            Self::Named(_, zone) | Self::System(zone) => {
                Timestamp::from_microsecond(unix_micros).map_or(0, |moment| zone.to_offset(moment).seconds())
            }
        }
    }

    /// Microseconds since the Unix epoch of a local time. A time that was skipped when clocks were put forward is `Err` with the moment
    /// of the change; a time that came twice is the first one.
    pub fn to_unix_micros(&self, local: Time) -> Result<i64, i64> {
        let micros = local.unix_micros();
        let zone = match self {
            Self::Offset(seconds) => return Ok(micros - i64::from(*seconds) * MICROS_PER_SECOND),
            Self::Named(_, zone) | Self::System(zone) => zone,
        };
        let shifted = |offset: jiff::tz::Offset| micros - i64::from(offset.seconds()) * MICROS_PER_SECOND;
        let Some(civil) = to_civil(local) else { return Ok(micros) };
        match zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => Ok(shifted(offset)),
            AmbiguousOffset::Fold { before, .. } => Ok(shifted(before)),
            AmbiguousOffset::Gap { before, .. } => {
                // The change lies at or before the moment the skipped time would have been with the old offset.
                let with_old_offset = shifted(before);
                let change = Timestamp::from_microsecond(with_old_offset)
                    .ok()
                    .and_then(|moment| zone.preceding(moment + jiff::SignedDuration::from_micros(1)).next())
                    .map_or(with_old_offset, |transition| transition.timestamp().as_microsecond());
                Err(change)
            }
        }
    }
}

fn to_civil(local: Time) -> Option<DateTime> {
    let TimeParts { year, month, day, hour, minute, second, micro } = local.parts();
    let narrow = |value: u8| value as i8;
    DateTime::new(year as i16, narrow(month), narrow(day), narrow(hour), narrow(minute), narrow(second), micro as i32 * 1000).ok()
}

/// Seconds of `±h:mm` or `±hh:mm`.
pub(super) fn parse_offset(text: &[u8]) -> Option<i32> {
    let (negative, rest) = match text.split_first()? {
        (b'+', rest) => (false, rest),
        (b'-', rest) => (true, rest),
        _ => return None,
    };
    let colon = rest.iter().position(|&byte| byte == b':')?;
    let (hours, minutes) = (&rest[..colon], &rest[colon + 1..]);
    let number = |digits: &[u8]| -> Option<i32> {
        let valid = matches!(digits.len(), 1 | 2) && digits.iter().all(u8::is_ascii_digit);
        valid.then(|| digits.iter().fold(0, |acc, &byte| acc * 10 + i32::from(byte - b'0')))
    };
    let (hours, minutes) = (number(hours)?, number(minutes).filter(|&m| m < 60 && minutes.len() == 2)?);
    let total = if negative { -(hours * 60 + minutes) } else { hours * 60 + minutes };
    OFFSET_RANGE_MINUTES.contains(&total).then_some(total * 60)
}

impl fmt::Display for TimeZone {
    /// The text `@@time_zone` shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(_) => f.write_str("SYSTEM"),
            Self::Named(name, _) => f.write_str(name),
            Self::Offset(seconds) => {
                let minutes = seconds.abs() / 60;
                write!(f, "{}{:02}:{:02}", if *seconds < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        }
    }
}

impl Time {
    /// A TIMESTAMP (which holds UTC) as the local DATETIME of a zone; other kinds and the zero date stay as they are.
    #[inline]
    #[must_use]
    pub fn to_zone(self, zone: &TimeZone) -> Self {
        if self.kind() != TimeKind::Timestamp {
            return self;
        }
        if self.is_zero() || matches!(zone, TimeZone::Offset(0)) {
            return self.with_kind(TimeKind::DateTime, self.fsp());
        }
        let micros = self.unix_micros();
        let local = micros + i64::from(zone.offset_at(micros)) * MICROS_PER_SECOND;
        // Years 1970 to 2038 cannot leave the calendar by an offset of hours.
        Self::from_unix_micros(local, TimeKind::DateTime, self.fsp()).unwrap_or_else(|| self.with_kind(TimeKind::DateTime, self.fsp()))
    }

    /// A local date and time as a TIMESTAMP. The zero date stays zero. Errors: before 1970-01-01 00:00:01 UTC or after 2038-01-19 03:14:07 UTC, no
    /// calendar date, or a time that the zone skipped.
    pub fn from_zone(self, zone: &TimeZone) -> Result<Self, TimeError> {
        if self.kind() == TimeKind::Timestamp {
            return Ok(self);
        }
        if self.is_zero() {
            return Ok(self.with_kind(TimeKind::Timestamp, self.fsp()));
        }
        if !self.is_calendar_date() {
            return Err(TimeError::Invalid);
        }
        let micros = zone.to_unix_micros(self).map_err(|change| TimeError::Skipped { unix_micros: change })?;
        Self::timestamp_from_unix_micros(micros, self.fsp()).ok_or(TimeError::OutOfRange)
    }

    /// A TIMESTAMP of microseconds since the Unix epoch; `None` outside of its range.
    pub fn timestamp_from_unix_micros(micros: i64, fsp: u8) -> Option<Self> {
        let range = MICROS_PER_SECOND..(i64::from(i32::MAX) + 1) * MICROS_PER_SECOND;
        range.contains(&micros).then(|| Self::from_unix_micros(micros, TimeKind::Timestamp, fsp)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(text: &str) -> Time {
        Time::parse(text.as_bytes(), TimeKind::DateTime, 6, &super::super::DateMode::default()).expect("valid").time
    }

    #[test]
    fn zones_are_read_and_shown() {
        for (text, shown) in [
            ("+08:00", "+08:00"),
            ("-3:30", "-03:30"),
            ("SYSTEM", "SYSTEM"),
            ("system", "SYSTEM"),
            ("Europe/Berlin", "Europe/Berlin"),
            ("UTC", "UTC"),
        ] {
            assert_eq!(TimeZone::parse(text).expect(text).to_string(), shown);
        }
        for bad in ["+15:00", "-14:00", "08:00", "+8", "Mars/Olympus", "", "+08:0"] {
            assert!(TimeZone::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn timestamps_go_to_local_time_and_back() {
        for zone in ["+08:00", "-03:30", "America/New_York", "Asia/Shanghai", "UTC"] {
            let zone = TimeZone::parse(zone).expect("known zone");
            for text in ["1970-01-02 12:00:00", "2024-02-29 23:59:59.999999", "2038-01-18 12:00:00", "2024-07-01 00:00:00"] {
                let stored = local(text).from_zone(&zone).expect("in range");
                assert_eq!(stored.kind(), TimeKind::Timestamp);
                assert_eq!(stored.to_zone(&zone), local(text));
            }
        }
        let shanghai = TimeZone::parse("Asia/Shanghai").expect("known zone");
        assert_eq!(local("2024-01-01 08:00:00").from_zone(&shanghai).expect("in range").to_string(), "2024-01-01 00:00:00.000000");
    }

    #[test]
    fn skipped_and_repeated_times() {
        let berlin = TimeZone::parse("Europe/Berlin").expect("known zone");
        // Clocks went from 02:00 to 03:00 at 01:00 UTC.
        let change = local("2024-03-31 01:00:00").unix_micros();
        assert_eq!(local("2024-03-31 02:30:00").from_zone(&berlin), Err(TimeError::Skipped { unix_micros: change }));
        // 02:30 came twice; the first one had summer time.
        assert_eq!(local("2024-10-27 02:30:00").from_zone(&berlin).expect("ambiguous"), local("2024-10-27 00:30:00"));
    }

    #[test]
    fn timestamps_have_their_range() {
        let utc = TimeZone::UTC;
        assert!(local("1970-01-01 00:00:01").from_zone(&utc).is_ok() && local("2038-01-19 03:14:07.999999").from_zone(&utc).is_ok());
        for bad in ["1970-01-01 00:00:00", "2038-01-19 03:14:08", "1969-12-31 23:59:59"] {
            assert_eq!(local(bad).from_zone(&utc), Err(TimeError::OutOfRange), "{bad}");
        }
        assert!(Time::zero(TimeKind::DateTime, 0).from_zone(&utc).expect("zero").is_zero());
    }
}
