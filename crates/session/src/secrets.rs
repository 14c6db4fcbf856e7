//! Statements with passwords, as others may see them.
//!
//! PROCESSLIST, logs and error reports show statements. Where a statement may hold a password, every text behind the word that announces one is
//! replaced; so is a text that has such a statement in it, as PREPARE is given. This is done when a statement is shown, not when it
//! runs.

/// Words behind which a password stands in account statements: `IDENTIFIED … BY`, `AS`, `REPLACE`, and `SET PASSWORD … =`.
const ANNOUNCE: [&str; 2] = ["IDENTIFIED", "PASSWORD"];
/// What stands in the place of a password.
const MASK: &str = "<secret>";

/// The statements of a text without their passwords.
pub(crate) fn masked(text: &str) -> String {
    let upper = text.to_ascii_uppercase();
    if !ANNOUNCE.iter().any(|word| upper.contains(word)) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    // A password has been announced and the statement has not ended.
    let mut secret = false;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '\'' | '"' => quoted_len(rest, first),
            '`' => quoted_len(rest, first),
            _ if first.is_alphanumeric() || first == '_' => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(len);
        rest = after;
        match first {
            '\'' | '"' if secret || holds_account_statement(piece) => shown.push_str(MASK),
            ';' => {
                secret = false;
                shown.push(';');
            }
            _ => {
                secret |= ANNOUNCE.iter().any(|word| piece.eq_ignore_ascii_case(word));
                shown.push_str(piece);
            }
        }
    }
    shown
}

/// Whether a quoted text is a statement with a password in it.
fn holds_account_statement(quoted: &str) -> bool {
    let upper = quoted.to_ascii_uppercase();
    upper.contains("IDENTIFIED") || upper.contains("SET PASSWORD")
}

/// Bytes of a quoted text that `text` begins with; all of it when the end is missing.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote != '`' {
            chars.next();
        } else if c == quote {
            if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
            } else {
                return at + quote.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (text, shown) in [
            (
                "CREATE USER u IDENTIFIED BY 'it''s \\' me', v IDENTIFIED WITH 'p' AS \"hash\"",
                "CREATE USER u IDENTIFIED BY <secret>, v IDENTIFIED WITH <secret> AS <secret>",
            ),
            ("alter user u identified by 'a' replace 'b'", "alter user u identified by <secret> replace <secret>"),
            ("SET PASSWORD FOR 'u'@'%' = 'x'; SELECT 'y'", "SET PASSWORD FOR <secret>@<secret> = <secret>; SELECT 'y'"),
            ("SELECT 'password'", "SELECT 'password'"),
            ("CREATE USER u IDENTIFIED BY 'cut of", "CREATE USER u IDENTIFIED BY <secret>"),
            ("PREPARE s FROM 'ALTER USER u IDENTIFIED BY ''x'''", "PREPARE s FROM <secret>"),
            ("SELECT `it's` FROM t", "SELECT `it's` FROM t"),
        ] {
            assert_eq!(masked(text), shown);
        }
    }
}
