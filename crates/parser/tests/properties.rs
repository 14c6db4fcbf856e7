//! Properties of all texts: no input makes the parser panic, recurse without bound or contradict itself.
//!
//! Texts are the golden statements, mutated with a fixed seed. Everything runs on a thread with the stack of a server's worker thread.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

use std::fs;

use parser::{ParseOptions, ast::Stmt, digest, normalize, normalize_bytes, parse, parse_bytes, parse_one_bytes};

/// What a tokio worker has.
const STACK_BYTES: usize = 2 << 20;

fn on_worker_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// A small generator of random numbers (xorshift64*).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

fn golden_statements() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let mut out = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path).unwrap();
        for block in text.split("\n\n") {
            let lines: Vec<&str> = block.lines().filter_map(|l| l.strip_prefix("> ")).collect();
            if !lines.is_empty() {
                out.push(lines.join("\n"));
            }
        }
    }
    assert!(out.len() > 400);
    out
}

/// Splits a text into pieces that are roughly tokens.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for c in text.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match out.last_mut() {
            Some(last) if word && last.chars().all(|c| c.is_alphanumeric() || c == '_') => last.push(c),
            _ => out.push(c.to_string()),
        }
    }
    out
}

const EXTRAS: &[&str] = &[
    "(", ")", ",", "SELECT", "FROM", "WHERE", "'", "\"", "`", "/*", "*/", "/*!", "/*+", "--", "#", ";", "?", "@", "@@", ":=", "NOT",
    "NULL", "1", "1e5", "0x", "x'", "b'", "_utf8mb4", ".", "..", "*", "INTERVAL", "DAY", "AS", "ON", "USING", "UNION", "IN", "BETWEEN",
    "AND", "LIKE", "CASE", "END", "\\", "\0", "é", "DEFAULT", "VALUES", "ROW", "SET", "INTO", "OVER", "{", "}", "->", "->>", "|", "||",
    "&&", "!", "~", "-", "+",
];

fn mutate(rng: &mut Rng, statements: &[String]) -> String {
    let mut tokens = pieces(rng.pick::<String>(statements));
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(tokens.len() + 1);
        match rng.below(7) {
            0 if at < tokens.len() => {
                tokens.remove(at);
            }
            1 => tokens.insert(at, (*rng.pick(EXTRAS)).to_owned()),
            2 => tokens.insert(at, format!(" {} ", rng.pick(EXTRAS))),
            3 if tokens.len() > 1 => {
                let other = rng.below(tokens.len());
                let at = at.min(tokens.len() - 1);
                tokens.swap(at, other);
            }
            4 => {
                let other = pieces(rng.pick::<String>(statements));
                let from = rng.below(other.len());
                tokens.truncate(at);
                tokens.extend(other[from..].iter().cloned());
            }
            5 if at < tokens.len() => {
                let copy = tokens[at].clone();
                tokens.insert(at, copy);
            }
            _ => tokens.truncate(at.max(1)),
        }
        if tokens.is_empty() {
            tokens.push(" ".to_owned());
        }
    }
    tokens.concat()
}

/// Everything that must hold for any text; what does not.
fn violation(sql: &str, opts: &ParseOptions) -> Option<String> {
    let normalized = normalize(sql, opts);
    digest(sql);
    let parsed = parse_one_bytes(sql.as_bytes(), opts);
    if let (Ok(parsed), Some(normalized)) = (&parsed, &normalized)
        && parsed.literals as usize != normalized.literals.len()
    {
        return Some(format!("literals counted differently\nfrom: {sql}"));
    }
    let stmts = match parse(sql, opts) {
        Ok(stmts) => stmts,
        Err(e) => {
            let good = e.near.len() <= 82 && e.line >= 1 && e.offset <= sql.len() && !e.to_string().is_empty();
            return (!good).then(|| format!("{e:?}\nfrom: {sql}"));
        }
    };
    for stmt in stmts.into_iter().filter(|s| !matches!(s, Stmt::Unsupported(_))) {
        let printed = stmt.to_string();
        match parse(&printed, &ParseOptions::default()) {
            Ok(again) if again == [stmt.clone()] => {}
            Ok(again) => return Some(format!("from: {sql}\nprinted: {printed}\n{stmt:?}\n{again:?}")),
            Err(e) => return Some(format!("{e}\nfrom: {sql}\nprinted: {printed}")),
        }
    }
    None
}

#[test]
fn mutated_statements_never_panic_and_keep_the_properties() {
    on_worker_stack(|| {
        let statements = golden_statements();
        let mut rng = Rng(0x5eed_0001_cafe);
        let opts = ParseOptions::default();
        let mut violations = Vec::new();
        for _ in 0..40_000 {
            violations.extend(violation(&mutate(&mut rng, &statements), &opts));
        }
        violations.truncate(20);
        assert!(violations.is_empty(), "{}", violations.join("\n\n"));
    });
}

#[test]
fn random_bytes_never_panic() {
    on_worker_stack(|| {
        let mut rng = Rng(0x5eed_0005_cafe);
        let statements = golden_statements();
        for round in 0..20_000 {
            let mut bytes = if round % 2 == 0 { Vec::new() } else { rng.pick(&statements).clone().into_bytes() };
            for _ in 0..1 + rng.below(20) {
                let at = rng.below(bytes.len() + 1);
                let byte = rng.next() as u8;
                if rng.below(2) == 0 || at == bytes.len() { bytes.insert(at, byte) } else { bytes[at] = byte }
            }
            let (ansi_quotes, no_backslash_escapes) = (rng.below(4) == 0, rng.below(4) == 0);
            let opts = ParseOptions { ansi_quotes, no_backslash_escapes, ..ParseOptions::default() };
            let parsed = parse_one_bytes(&bytes, &opts);
            let normalized = normalize_bytes(&bytes, &opts);
            if let (Ok(parsed), Some(normalized)) = (&parsed, &normalized) {
                assert_eq!(parsed.literals as usize, normalized.literals.len(), "{}", String::from_utf8_lossy(&bytes));
            }
            let _ = parse_bytes(&bytes, &opts).map(|stmts| stmts.iter().map(|s| s.to_string()).collect::<String>());
        }
    });
}

/// `before` n times, `middle`, `after` n times.
fn nest(before: &str, middle: &str, after: &str, n: usize) -> String {
    format!("{}{middle}{}", before.repeat(n), after.repeat(n))
}

#[test]
fn nesting_is_an_error_before_it_is_a_stack_overflow() {
    on_worker_stack(|| {
        const DEEP: usize = 20_000;
        let texts = [
            format!("SELECT {}", nest("(", "1", ")", DEEP)),
            format!("SELECT {}", nest("(1+", "1", ")", DEEP)),
            format!("SELECT {}", nest("f(", "1", ")", DEEP)),
            format!("SELECT {}", nest("NOT ", "1", "", DEEP)),
            format!("SELECT {}", nest("-", " 1", "", DEEP).replace("--", "- -")),
            format!("SELECT {}", nest("!", "1", "", DEEP)),
            format!("SELECT {}", nest("BINARY ", "1", "", DEEP)),
            format!("SELECT {}", nest("@a:=", "1", "", DEEP)),
            format!("SELECT {}", nest("CASE WHEN ", "1", " THEN 1 END", DEEP)),
            format!("SELECT {}", nest("1 IN (", "1", ")", DEEP)),
            format!("SELECT {}", nest("1 BETWEEN 1 AND ", "1", "", DEEP)),
            format!("SELECT {}", nest("(SELECT ", "1", ")", DEEP)),
            format!("SELECT {}", nest("EXISTS(SELECT ", "1", ")", DEEP)),
            format!("SELECT {}", nest("INTERVAL (", "1", ") DAY + 1", DEEP)),
            format!("SELECT {}", nest("INTERVAL ", "1", " DAY + 1", DEEP)),
            format!("SELECT {}", nest("{x ", "1", "}", DEEP)),
            format!("SELECT {}", nest("CAST(", "1", " AS SIGNED)", DEEP)),
            format!("SELECT 1{}", "+1".repeat(DEEP)),
            format!("SELECT 1{}", "=1".repeat(DEEP)),
            format!("SELECT 1{}", " XOR 1".repeat(DEEP)),
            format!("SELECT 1{}", " COLLATE a".repeat(DEEP)),
            format!("SELECT 1{}", " IS NULL".repeat(DEEP)),
            format!("SELECT 1{}", " IS TRUE".repeat(DEEP)),
            format!("SELECT 1{}", " + INTERVAL 1 DAY".repeat(DEEP)),
            format!("SELECT 1{}", " UNION SELECT 1".repeat(DEEP)),
            nest("(", "SELECT 1", ")", DEEP),
            nest("(", "SELECT 1", ") UNION SELECT 1", DEEP),
            format!("SELECT * FROM {}", nest("(", "a", ")", DEEP)),
            format!("SELECT * FROM {}", nest("(SELECT * FROM ", "a", ") t", DEEP)),
            format!("SELECT * FROM {}", nest("(", "a", ", b)", DEEP)),
            format!("SELECT * FROM a{}", " JOIN b".repeat(DEEP)),
            format!("SELECT * FROM a{}", " LEFT JOIN b ON 1".repeat(DEEP)),
            format!("SELECT * FROM a {}", nest("LEFT JOIN b ", "", " ON 1", DEEP)),
            format!("SELECT * FROM {}", nest("{OJ ", "a", "}", DEEP)),
            nest("WITH a AS (", "SELECT 1", ") SELECT 1", DEEP),
            nest("EXPLAIN ", "SELECT 1", "", DEEP),
            format!("SELECT * FROM JSON_TABLE('', '' {})", nest("COLUMNS (NESTED '' ", "COLUMNS (a FOR ORDINALITY)", ")", DEEP)),
            format!("CREATE TABLE t (a INT CHECK {})", nest("(", "1", ")", DEEP)),
        ];
        for text in &texts {
            let head: String = text.chars().take(60).collect();
            let error = parse(text, &ParseOptions::default()).expect_err(&head);
            assert_eq!(error.code(), 1064, "{head}");
        }
    });
}

#[test]
fn statements_as_deep_as_allowed_can_be_printed_cloned_and_dropped() {
    on_worker_stack(|| {
        let opts = ParseOptions::default();
        let deep = parser::MAX_NESTING - 5;
        let texts = [
            format!("SELECT {}", nest("(1+", "1", ")", deep)),
            format!("SELECT {}", nest("f(", "1", ")", deep)),
            format!("SELECT {}", nest("(SELECT ", "1", ")", deep / 2 - 2)),
            format!("SELECT 1{}", "+1".repeat(parser::MAX_HEIGHT - 10)),
            format!("SELECT * FROM {}", nest("(SELECT * FROM ", "a", ") t", deep / 3)),
            format!("SELECT 1 FROM t WHERE a = 0{}", " OR a = 1".repeat(20_000)),
            format!("SELECT 1 FROM t WHERE a IN (0{})", ",1".repeat(20_000)),
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(parser::MAX_HEIGHT - 10)),
        ];
        for text in &texts {
            let head: String = text.chars().take(60).collect();
            let stmts = parse(text, &opts).unwrap_or_else(|e| panic!("{e}: {head}"));
            let again = parse(&stmts[0].to_string(), &opts).unwrap_or_else(|e| panic!("{e}: {head}"));
            assert!(again == stmts.clone(), "{head}");
            assert!(!format!("{stmts:?}").is_empty());
        }
    });
}

#[test]
fn consumed_bytes_lead_to_the_next_statement() {
    let text = "SELECT 1 ; /* x */ SELECT 'a;b'; -- end";
    let opts = ParseOptions::default();
    let first = parse_one_bytes(text.as_bytes(), &opts).unwrap();
    assert_eq!(&text[first.consumed..], "SELECT 'a;b'; -- end");
    let second = parse_one_bytes(&text.as_bytes()[first.consumed..], &opts).unwrap();
    assert_eq!(first.consumed + second.consumed, text.len());
    assert_eq!(second.literals, 1);
}

#[test]
fn strings_need_not_be_utf8() {
    let opts = ParseOptions::default();
    let parsed = parse_one_bytes(b"INSERT INTO t VALUES (_binary'\xff\\0\xfe', '\xc3')", &opts).unwrap();
    let tree = format!("{:?}", parsed.stmt);
    assert!(tree.contains("[255, 0, 254]") && tree.contains("[195]"), "{tree}");
    assert_eq!(parse_one_bytes(b"SELECT `\xff` FROM t", &opts).unwrap_err().code(), 1064);
}
