//! The calendar: day numbers, months, weekdays, weeks of the year.
//!
//! Day numbers count from year 0 as MySQL's TO_DAYS does: day 1 is 0000-01-01, day 719528 is 1970-01-01. The calendar is the
//! Gregorian one for all years, except that MySQL's year 0 has 365 days.

/// Day number of 1970-01-01.
pub const UNIX_EPOCH_DAY: i64 = 719_528;
/// Day number of 9999-12-31.
pub const MAX_DAY: i64 = 3_652_424;

/// Whether the year has 366 days.
#[inline]
pub const fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// Days of a month (1 to 12); 0 for any other number.
#[inline]
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Days of a year.
#[inline]
pub const fn days_in_year(year: u16) -> u16 {
    if is_leap_year(year) { 366 } else { 365 }
}

/// The day number of a date; dates with zero month or day have the number MySQL's arithmetic gives them.
#[inline]
pub const fn day_number(year: u16, month: u8, day: u8) -> i64 {
    if year == 0 && month == 0 {
        return 0;
    }
    let (mut y, m) = (year as i64, month as i64);
    let mut days = 365 * y + 31 * (m - 1) + day as i64;
    if m <= 2 {
        y -= 1;
    } else {
        days -= (m * 4 + 23) / 10;
    }
    // Division towards zero: the "year before year 0" adds no leap day.
    days + y / 4 - (y / 100 + 1) * 3 / 4
}

/// Year, month and day of a day number; `None` outside of 0000-01-01 to 9999-12-31.
#[inline]
pub fn date_of_day(number: i64) -> Option<(u16, u8, u8)> {
    if !(1..=MAX_DAY).contains(&number) {
        return None;
    }
    // Days of March-based years; see Howard Hinnant, "chrono-compatible low-level date algorithms".
    if number <= 365 {
        return Some(date_in_year(0, number as u16));
    }
    let shifted = number - 60;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((year as u16, month as u8, day as u8))
}

fn date_in_year(year: u16, mut day_of_year: u16) -> (u16, u8, u8) {
    let mut month = 1;
    while day_of_year > u16::from(days_in_month(year, month)) {
        day_of_year -= u16::from(days_in_month(year, month));
        month += 1;
    }
    (year, month, day_of_year as u8)
}

/// Day of the week of a day number: 0 is Monday, 6 is Sunday (WEEKDAY).
#[inline]
pub const fn weekday(number: i64) -> u8 {
    (number + 5).rem_euclid(7) as u8
}

/// Day of the year from 1.
#[inline]
pub const fn day_of_year(year: u16, month: u8, day: u8) -> u16 {
    (day_number(year, month, day) - day_number(year, 1, 1) + 1) as u16
}

/// The modes of WEEK(): which day begins a week, whether weeks count from 0 or 1, which week is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeekMode {
    /// Weeks begin on Monday, else on Sunday.
    pub monday_first: bool,
    /// Weeks count from 1 to 53 and may belong to a neighbouring year, else from 0 to 53 within the year.
    pub week_year: bool,
    /// The first week is the first that begins in the year, else the first that has four days or more of it.
    pub first_weekday: bool,
}

impl WeekMode {
    /// The mode of the number given to WEEK(date, mode).
    pub const fn new(mode: i64) -> Self {
        let monday_first = mode & 1 != 0;
        let first_weekday = mode & 4 != 0;
        // In modes that begin on Sunday the third bit has the opposite meaning.
        Self { monday_first, week_year: mode & 2 != 0, first_weekday: if monday_first { first_weekday } else { !first_weekday } }
    }
}

/// Week and the year it belongs to (WEEK, YEARWEEK).
pub fn week(year: u16, month: u8, day: u8, mode: WeekMode) -> (u16, u8) {
    let number = day_number(year, month, day);
    let mut first_day = day_number(year, 1, 1);
    let mut year = year;
    let mut week_year = mode.week_year;
    let begins = |first: i64| if mode.monday_first { weekday(first) } else { (weekday(first) + 1) % 7 };
    let mut first_weekday = begins(first_day);
    if month == 1 && i64::from(day) <= i64::from(7 - first_weekday) {
        let first_is_old = (mode.first_weekday && first_weekday != 0) || (!mode.first_weekday && first_weekday >= 4);
        if !week_year && first_is_old {
            return (year, 0);
        }
        if first_is_old {
            week_year = true;
            year = year.wrapping_sub(1);
            let days = i64::from(days_in_year(year));
            first_day -= days;
            first_weekday = (i64::from(first_weekday) + 53 * 7 - days).rem_euclid(7) as u8;
        }
    }
    let starts_late = (mode.first_weekday && first_weekday != 0) || (!mode.first_weekday && first_weekday >= 4);
    let days =
        if starts_late { number - (first_day + i64::from(7 - first_weekday)) } else { number - (first_day - i64::from(first_weekday)) };
    if week_year && days >= 52 * 7 {
        let next_first = (i64::from(first_weekday) + i64::from(days_in_year(year))) % 7;
        if (!mode.first_weekday && next_first < 4) || (mode.first_weekday && next_first == 0) {
            return (year + 1, 1);
        }
    }
    (year, (days / 7 + 1) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_and_dates_are_inverse_for_all_days() {
        let mut number = day_number(0, 1, 1);
        assert_eq!(number, 1);
        for year in 0..=9999u16 {
            for month in 1..=12u8 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(day_number(year, month, day), number, "{year}-{month}-{day}");
                    assert_eq!(date_of_day(number), Some((year, month, day)));
                    number += 1;
                }
            }
        }
        assert_eq!(number - 1, MAX_DAY);
        assert_eq!((date_of_day(0), date_of_day(MAX_DAY + 1)), (None, None));
        assert_eq!(day_number(1970, 1, 1), UNIX_EPOCH_DAY);
    }

    #[test]
    fn weekdays_are_those_of_the_calendar() {
        // 2024-01-01 was a Monday, 2000-02-29 a Tuesday.
        assert_eq!((weekday(day_number(2024, 1, 1)), weekday(day_number(2000, 2, 29))), (0, 1));
        assert_eq!((day_of_year(2024, 12, 31), day_of_year(2023, 3, 1)), (366, 60));
    }

    #[test]
    fn weeks_are_numbered_as_the_manual_shows() {
        let week_of = |y, m, d, mode| week(y, m, d, WeekMode::new(mode));
        assert_eq!(week_of(2008, 2, 20, 0).1, 7);
        assert_eq!(week_of(2008, 2, 20, 1).1, 8);
        assert_eq!(week_of(2008, 12, 31, 1).1, 53);
        assert_eq!(week_of(2000, 1, 1, 0).1, 0);
        assert_eq!(week_of(2000, 1, 1, 2), (1999, 52));
        assert_eq!(week_of(1987, 1, 1, 2), (1986, 52));
        for (mode, expected) in [(0, 0), (1, 1), (2, 52), (3, 1), (4, 1), (5, 0), (6, 1), (7, 53)] {
            // 2019-01-01 was a Tuesday.
            assert_eq!(week_of(2019, 1, 1, mode).1, expected, "mode {mode}");
        }
    }
}
