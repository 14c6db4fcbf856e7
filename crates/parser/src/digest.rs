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
    const ROW: [&str; 3] = ["(", "...", ")"];
    let ends_with =
        |at: usize, row: &[&str]| pieces.len() >= at + row.len() && pieces[pieces.len() - at - row.len()..pieces.len() - at].iter().eq(row);
    if ends_with(0, &ROW) && ends_with(3, &[","]) {
        if ends_with(4, &ROW) {
            pieces.truncate(pieces.len() - 4);
            pieces.push("/* , ... */".to_owned());
        } else if ends_with(4, &["/* , ... */"]) {
            pieces.truncate(pieces.len() - 4);
        }
    }
}
