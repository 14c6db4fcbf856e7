//! Amounts with two decimals, as whole cents: sums of them are exact.

/// Cents of a decimal with at most two places, as servers write it; nothing for anything else.
pub(super) fn cents(text: &str) -> Option<i64> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, whole),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if digits.is_empty() || places.len() > 2 || !all_digits(digits) || !all_digits(places) {
        return None;
    }
    Some(sign * format!("{digits}{places:0<2}").parse::<i64>().ok()?)
}

/// The decimal of an amount in cents.
pub(super) fn decimal(cents: i64) -> String {
    let (sign, all) = (if cents < 0 { "-" } else { "" }, cents.unsigned_abs());
    format!("{sign}{}.{:02}", all / 100, all % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_cents_are_the_same_amount() {
        for (text, amount) in [("0.00", 0), ("12.34", 1234), ("-10.00", -1000), ("-0.05", -5), ("9999999999.99", 999_999_999_999)] {
            assert_eq!(cents(text), Some(amount));
            assert_eq!(decimal(amount), text);
        }
        assert_eq!((cents("7"), cents("7.5")), (Some(700), Some(750)));
        for wrong in ["", ".5", "1.234", "1e3", "--1", "1.-2", "abc"] {
            assert_eq!(cents(wrong), None, "{wrong}");
        }
    }
}
