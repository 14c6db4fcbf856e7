//! Digests: the form of a statement in which statistics are kept, after `DIGEST_TEXT` of MySQL's performance schema.
//!
//! Keywords in upper case, names in backticks, literals and lists of them replaced by `?` and `...`, one blank between tokens.

use sha2::{Digest, Sha256};

use crate::{
    ParseOptions,
    lexer::{Kw, Lexer, Tok, Token, value},
};

/// The digest text of a statement and its SHA-256. A text that cannot be lexed is digested up to where it can.
pub fn digest(sql: &str) -> (String, [u8; 32]) {
    let text = digest_text(sql.as_bytes());
    let hash = Sha256::digest(text.as_bytes()).into();
    (text, hash)
}

fn digest_text(sql: &[u8]) -> String {
    let opts = ParseOptions::default();
    let mut lexer = Lexer::new(sql, &opts);
    let mut pieces: Vec<String> = Vec::new();
    loop {
        let token = lexer.next();
        match token.tok {
            Tok::Eof | Tok::Bad => break,
            Tok::Semi => {}
            _ => push(&mut pieces, piece(sql, token)),
        }
    }
    let mut text = String::with_capacity(sql.len());
    for (i, piece) in pieces.iter().enumerate() {
        let dot = piece == "." || (i > 0 && pieces[i - 1] == ".");
        if i > 0 && !dot {
            text.push(' ');
        }
        text.push_str(piece);
    }
    text
}

/// One token's text.
fn piece(sql: &[u8], token: Token) -> String {
    let span = || String::from_utf8_lossy(&sql[token.start as usize..token.end as usize]).into_owned();
    match token.tok {
        tok if tok.is_literal() => "?".to_owned(),
        Tok::Kw(Kw::NULL) => "?".to_owned(),
        Tok::Kw(kw) if kw.is_reserved() => kw.name().to_owned(),
        Tok::Ident | Tok::QuotedIdent | Tok::Kw(_) => {
            let name = value::name_bytes(sql, token).unwrap_or_default();
            format!("`{}`", String::from_utf8_lossy(&name).replace('`', "``"))
        }
        _ => span(),
    }
}

/// Appends a piece and folds what it completes: a sign before a literal, `?, ?` to `...`, `(...), (...)` to `(...) /* , ... */`.
fn push(pieces: &mut Vec<String>, piece: String) {
    if piece == "?" {
        // A sign is part of the literal when no operand stands before it.
        if let [.., before, sign] = &pieces[..]
            && (sign == "-" || sign == "+")
            && !(before.starts_with('`') || matches!(before.as_str(), ")" | "?" | "..."))
        {
            pieces.pop();
        }
        if let [.., first, comma] = &pieces[..]
            && comma == ","
            && (first == "?" || first == "...")
        {
            pieces.pop();
            if let Some(last) = pieces.last_mut() {
                "...".clone_into(last);
            }
            return;
        }
    }
    pieces.push(piece);
    fold_rows(pieces);
}

/// What stands for further rows.
const MORE_ROWS: &str = "/* , ... */";

/// Folds `(row) , (row)` at the end to `(row) /* , ... */`, where a row is `?` or `...`.
fn fold_rows(pieces: &mut Vec<String>) {
    let row_ends_at =
        |end: usize| end >= 3 && pieces[end - 3] == "(" && pieces[end - 1] == ")" && matches!(pieces[end - 2].as_str(), "?" | "...");
    let end = pieces.len();
    if !row_ends_at(end) || end < 5 || pieces[end - 4] != "," {
        return;
    }
    let before = end - 4;
    if pieces[before - 1] == MORE_ROWS {
        pieces.truncate(before);
    } else if row_ends_at(before) && pieces[before - 2] == pieces[end - 2] {
        pieces.truncate(before);
        pieces.push(MORE_ROWS.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_lists_and_rows_fold() {
        let cases = [
            ("select c from sbtest1 where id=5", "SELECT `c` FROM `sbtest1` WHERE `id` = ?"),
            (
                "SELECT  *  FROM `a`.b -- x\n WHERE c IN (1, 2,3) /* y */ AND d = 'x';",
                "SELECT * FROM `a`.`b` WHERE `c` IN (...) AND `d` = ?",
            ),
            ("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)", "INSERT INTO `t` VALUES (...) /* , ... */"),
            ("INSERT INTO t VALUES (1, 'a')", "INSERT INTO `t` VALUES (...)"),
            ("INSERT INTO t VALUES (1)", "INSERT INTO `t` VALUES (?)"),
            ("INSERT INTO t VALUES (1), (2), (3)", "INSERT INTO `t` VALUES (?) /* , ... */"),
            ("SELECT -1, a - 1, f(-2)", "SELECT ? , `a` - ? , `f` (?)"),
            ("SELECT @a, @@b", "SELECT @a , @@ `b`"),
        ];
        for (sql, text) in cases {
            assert_eq!(digest(sql).0.replace("( ", "(").replace(" )", ")"), text, "{sql}");
        }
    }

    #[test]
    fn statements_of_one_form_have_one_hash() {
        assert_eq!(digest("SELECT a FROM t WHERE b = 1").1, digest("select  a from t where b = 'x' ;").1);
        assert_ne!(digest("SELECT a FROM t").1, digest("SELECT b FROM t").1);
    }
}
