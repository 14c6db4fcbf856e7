//! How figures are written: as many digits as they are worth, groups of three, a true minus, a space that does not break before units.

const NO_BREAK: char = '\u{a0}';
const MINUS: char = '\u{2212}';
/// What stands where nothing was measured.
pub(crate) const ABSENT: &str = "–";

/// A count or a rate: whole from 100 on, else with one digit after the point.
pub(crate) fn rate(value: f64) -> String {
    if value.abs() >= 99.95 { whole(value) } else { trimmed(value, 1) }
}

/// Milliseconds, microseconds: about three digits.
pub(crate) fn time(value: f64) -> String {
    match value.abs() {
        v if v >= 99.95 => whole(value),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A share with its sign: `+12 %`, `−3.4 %`.
pub(crate) fn signed_percent(share: f64) -> String {
    let text = percent(share.abs());
    let sign = if text.chars().all(|c| !c.is_ascii_digit() || c == '0') {
        String::new()
    } else if share < 0.0 {
        MINUS.to_string()
    } else {
        "+".to_string()
    };
    format!("{sign}{text}")
}

/// A share: `12 %`, `3.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 9.95 { format!("{}{NO_BREAK}%", whole(value)) } else { format!("{value:.1}{NO_BREAK}%") }
}

/// Seconds: `0.10 s`, `12.3 s`, `4 min 5 s`.
pub(crate) fn seconds(value: f64) -> String {
    let rounded = value.round() as u64;
    match value {
        v if v >= 3600.0 => format!("{}{NO_BREAK}h {}{NO_BREAK}min", rounded / 3600, rounded % 3600 / 60),
        v if v >= 120.0 => format!("{}{NO_BREAK}min {}{NO_BREAK}s", rounded / 60, rounded % 60),
        _ => format!("{}{NO_BREAK}s", time(value)),
    }
}

/// Bytes in binary units.
pub(crate) fn bytes(value: u64) -> String {
    const MIB: f64 = 1024.0 * 1024.0;
    let mebibytes = value as f64 / MIB;
    if mebibytes >= 4_095.5 { format!("{}{NO_BREAK}GiB", rate(mebibytes / 1024.0)) } else { format!("{}{NO_BREAK}MiB", rate(mebibytes)) }
}

/// A number of connections: `1 thread`, `8 threads`.
pub(crate) fn threads(count: u32) -> String {
    if count == 1 { "1 thread".to_string() } else { format!("{count} threads") }
}

/// An instant of RFC 3339 in UTC as people write it; anything else stays as it is.
pub(crate) fn instant(text: &str) -> String {
    match text.strip_suffix('Z').and_then(|text| text.split_once('T')) {
        Some((date, time)) => format!("{date} {time}{NO_BREAK}UTC"),
        None => text.to_string(),
    }
}

/// A tick of an axis: short, `20k` for 20,000.
pub(crate) fn tick(value: f64) -> String {
    match value.abs() {
        v if v >= 999_999.5 => format!("{}M", trimmed(value / 1e6, 2)),
        v if v >= 9_999.5 => format!("{}k", trimmed(value / 1e3, 1)),
        v if v >= 1_000.0 => whole(value),
        _ => trimmed(value, 3),
    }
}

fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    if value < 0.0 && digits != "0" {
        text.push(MINUS);
    }
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_as_many_digits_as_they_are_worth() {
        assert_eq!(
            [rate(51210.7), rate(999.4), rate(99.96), rate(7.25), rate(0.0)],
            ["51,211", "999", "100", "7.2", "0"].map(str::to_string)
        );
        assert_eq!([time(0.3), time(9.999), time(62.19), time(1125.52)], ["0.30", "10.0", "62.2", "1,126"].map(str::to_string));
        assert_eq!([bytes(36 << 20), bytes(23 << 30)], ["36\u{a0}MiB", "23\u{a0}GiB"].map(str::to_string));
        assert_eq!(
            [seconds(0.1), seconds(119.0), seconds(245.2), seconds(3_700.0)],
            ["0.10\u{a0}s", "119\u{a0}s", "4\u{a0}min 5\u{a0}s", "1\u{a0}h 1\u{a0}min"].map(str::to_string)
        );
        assert_eq!([tick(20_000.0), tick(1_500_000.0), tick(2_500.0), tick(0.05)], ["20k", "1.5M", "2,500", "0.05"].map(str::to_string));
    }

    #[test]
    fn differences_carry_a_sign_unless_they_are_nothing() {
        assert_eq!(signed_percent(0.349), "+35\u{a0}%");
        assert_eq!(signed_percent(-0.0342), "\u{2212}3.4\u{a0}%");
        assert_eq!(signed_percent(-0.00001), "0.0\u{a0}%");
        assert_eq!(signed_percent(12.5), "+1,250\u{a0}%");
    }
}
