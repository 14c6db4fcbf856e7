//! Names as MySQL compares them: stored as written, looked up without regard to case (`lower_case_table_names = 2`).
//!
//! Most look-ups are ASCII and already lower-case; [`folded`] allocates only when it has to.

use std::borrow::Cow;

/// The form of `name` that look-up maps are keyed by.
pub fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) { Cow::Borrowed(name) } else { Cow::Owned(name.to_lowercase()) }
}

/// Whether two names are the same name.
pub fn eq_ignore_case(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b) || (!(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter() {
        assert!(matches!(folded("sbtest1"), Cow::Borrowed("sbtest1")));
        assert_eq!(folded("SBTest1"), "sbtest1");
        assert_eq!(folded("ÄB"), "äb");
        assert!(eq_ignore_case("Äb", "äB") && eq_ignore_case("T", "t") && !eq_ignore_case("t1", "t2"));
    }
}
