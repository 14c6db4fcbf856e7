//! The normal form of a statement: its text with literals taken out, to find the plan of a statement that differs only in them.
//!
//! No tree is built and no keyword looked up: the lexer passes over the text once, stretches between literals are copied as they
//! are (blanks and letter case too, because they can show in column names), literals are replaced by a marker of their kind,
//! and comments by one blank. For `SELECT c FROM sbtest1 WHERE id=5` the key is `SELECT c FROM sbtest1 WHERE id=` and a marker.
//!
//! Invariants:
//! - the n-th literal here is the literal with ordinal n of the syntax tree;
//! - two texts with one key differ in nothing but the values of literals of the same kinds (for decimals, also of the same numbers
//!   of digits; for introduced strings, of the same character set). Where such a value decides what the statement means,
//!   [`crate::Parsed::structural_literals`] or the planner says so, and no plan is kept;
//! - optimizer hints stay in the key.

use smallvec::SmallVec;

use crate::{
    ParseOptions,
    ast::Literal,
    lexer::{Lexer, Tok, value},
};

/// Longer texts are not normalised: their plans are not worth keeping.
pub const MAX_NORMALIZED_BYTES: usize = 16 * 1024;

/// A statement taken apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalized {
    /// The text without its literals; equal keys mean equal statements up to the values of literals.
    pub key: Vec<u8>,
    /// The literals, by ordinal.
    pub literals: SmallVec<[Literal; 8]>,
}

/// The normal form of a text, or `None` when it cannot be had or is of no use: the text holds several statements, is no SELECT,
/// INSERT, REPLACE, UPDATE or DELETE, is longer than [`MAX_NORMALIZED_BYTES`], holds executable comments, or cannot be lexed.
pub fn normalize(sql: &str, opts: &ParseOptions) -> Option<Normalized> {
    normalize_bytes(sql.as_bytes(), opts)
}

/// [`normalize`] of a text that need not be UTF-8 inside its strings.
pub fn normalize_bytes(sql: &[u8], opts: &ParseOptions) -> Option<Normalized> {
    let mut out = Normalized::default();
    normalize_into(sql, opts, &mut out).then_some(out)
}

/// [`normalize`] into a value whose memory is used again. False stands for `None`; `out` holds nothing of use then.
pub fn normalize_into(sql: &[u8], opts: &ParseOptions, out: &mut Normalized) -> bool {
    out.key.clear();
    out.literals.clear();
    if sql.len() > MAX_NORMALIZED_BYTES {
        return false;
    }
    let mut lexer = Lexer::without_keywords(sql, opts);
    let first = lexer.next();
    if !worth_keeping(&sql[first.start as usize..first.end as usize]) || starts_executable(&sql[..first.start as usize]) {
        return false;
    }
    out.key.reserve(sql.len() + 16);
    // Everything before `copied` is in the key or was left out.
    let mut copied = first.start as usize;
    let mut prev_end = first.end as usize;
    loop {
        let token = lexer.next();
        let start = token.start as usize;
        if token.tok == Tok::Eof {
            // What stands behind the last token decides nothing, unless it is not the comment it seems to be.
            if starts_executable(&sql[prev_end..start]) {
                return false;
            }
            break;
        }
        if start > prev_end && !copy_gap(sql, &mut copied, prev_end, start, &mut out.key) {
            return false;
        }
        match token.tok {
            Tok::Bad => return false,
            Tok::Semi => {
                out.key.extend_from_slice(&sql[copied..start]);
                copied = sql.len();
                if lexer.next().tok != Tok::Eof {
                    return false;
                }
                break;
            }
            tok if tok.is_literal() => {
                out.key.extend_from_slice(&sql[copied..start]);
                copied = token.end as usize;
                let Ok(literal) = value::literal(sql, token, opts) else { return false };
                mark(&literal, &mut out.key);
                out.literals.push(literal);
            }
            _ => {}
        }
        prev_end = token.end as usize;
    }
    if copied < prev_end {
        out.key.extend_from_slice(&sql[copied..prev_end]);
    }
    true
}

/// Whether a statement that begins with this word can have a plan in the cache.
fn worth_keeping(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b"SELECT", b"INSERT", b"UPDATE", b"DELETE", b"REPLACE", b"WITH", b"("];
    WORDS.iter().any(|w| w.eq_ignore_ascii_case(word))
}

fn starts_executable(gap: &[u8]) -> bool {
    memchr::memmem::find(gap, b"/*!").is_some()
}

/// Deals with the blanks and comments between two tokens: blanks stay, a hint stays, another comment becomes one blank. False for an
/// executable comment, whose meaning depends on more than its text.
fn copy_gap(sql: &[u8], copied: &mut usize, from: usize, to: usize, key: &mut Vec<u8>) -> bool {
    let gap = &sql[from..to];
    if gap.iter().all(|b| !matches!(b, b'/' | b'#' | b'-' | b'*')) {
        return true;
    }
    if starts_executable(gap) || memchr::memmem::find(gap, b"*/").is_some() && memchr::memmem::find(gap, b"/*").is_none() {
        return false;
    }
    if memchr::memmem::find(gap, b"/*+").is_none() {
        key.extend_from_slice(&sql[*copied..from]);
        key.push(b' ');
        *copied = to;
    }
    true
}

/// Marks of literals in a key: bytes that no statement holds outside literals and comments.
const INT: u8 = 1;
const UINT: u8 = 2;
const DECIMAL: u8 = 3;
const FLOAT: u8 = 4;
const STR: u8 = 5;
const INTRODUCED: u8 = 6;
const HEX: u8 = 7;
const BIT: u8 = 8;

fn mark(literal: &Literal, key: &mut Vec<u8>) {
    match literal {
        Literal::Int(_) | Literal::Null | Literal::Bool(_) => key.push(INT),
        Literal::UInt(_) => key.push(UINT),
        Literal::Decimal(digits) => {
            let scale = digits.find('.').map_or(0, |point| digits.len() - point - 1);
            // Lengths beyond a byte are beyond any decimal; the planner refuses those by value.
            key.extend([DECIMAL, digits.len().min(255) as u8, scale.min(255) as u8]);
        }
        Literal::Float(_) => key.push(FLOAT),
        Literal::Str(_) => key.push(STR),
        Literal::Introduced(s) => {
            key.push(INTRODUCED);
            key.extend_from_slice(s.charset.as_bytes());
            key.push(INTRODUCED);
        }
        Literal::Hex(_) => key.push(HEX),
        Literal::Bit(_) => key.push(BIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(sql: &str) -> Option<Vec<u8>> {
        normalize(sql, &ParseOptions::default()).map(|n| n.key)
    }

    #[test]
    fn statements_that_differ_in_literals_only_share_a_key() {
        assert_eq!(key("SELECT c FROM t WHERE id=5"), key("SELECT c FROM t WHERE id=77"));
        assert_eq!(key("SELECT c FROM t WHERE id = 'a'"), key("SELECT c FROM t WHERE id = 'b''c' 'd'"));
        assert_eq!(key("SELECT 1 FROM t LIMIT 5;"), key("SELECT 2 FROM t LIMIT 6"));
        assert_eq!(key("SELECT /* one */ c FROM t -- x"), key("SELECT /* two */ c FROM t"));
        assert_eq!(key("/* trace 1 */ SELECT 1"), key("SELECT 2"));
    }

    #[test]
    fn statements_that_differ_in_more_do_not() {
        let different = [
            "SELECT 1",
            "SELECT 'a'",
            "SELECT 1.5",
            "SELECT 1.55",
            "SELECT 1e5",
            "SELECT 0x1",
            "SELECT b'1'",
            "SELECT 18446744073709551615",
            "SELECT _latin1'a'",
            "SELECT _utf8mb4'a'",
            "SELECT -1",
            "SELECT NULL",
            "SELECT ?",
            "select 1",
            "SELECT  1",
            "SELECT /*+ A(1) */ 1",
            "SELECT /*+ A(2) */ 1",
            "SELECT a",
        ];
        for (i, a) in different.iter().enumerate() {
            for b in &different[i + 1..] {
                assert_ne!(key(a), key(b), "{a} / {b}");
            }
        }
    }

    #[test]
    fn texts_without_a_plan_worth_keeping_have_no_normal_form() {
        let none = [
            "BEGIN",
            "SET a = 1",
            "SELECT 1; SELECT 2",
            "SELECT /*!40000 1 */",
            "/*!40000 SELECT 1 */",
            "SELECT 1 /*! + 1 */",
            "SELECT 'open",
            "SELECT 1e999",
            "SELECT 1 /* open",
            "",
            "CREATE TABLE t (a INT)",
        ];
        for sql in none {
            assert_eq!(key(sql), None, "{sql}");
        }
        assert_eq!(key(&format!("SELECT '{}'", "x".repeat(MAX_NORMALIZED_BYTES))), None);
    }

    #[test]
    fn literals_come_in_order() {
        let n = normalize("INSERT INTO t (a, b) VALUES (1, 'x'), (-2.50, NULL), (0x41, TRUE)", &ParseOptions::default()).unwrap();
        let literals = [Literal::Int(1), Literal::str("x"), Literal::Decimal("2.50".into()), Literal::Hex([0x41].into())];
        assert_eq!(n.literals.as_slice(), literals);
    }
}
