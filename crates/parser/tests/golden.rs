//! Golden tests: statements and what the parser makes of them.
//!
//! A file under `tests/golden` holds cases separated by blank lines: the statement on lines that begin with `> `, then the tree
//! printed back, or the error. Operators print in parentheses, so the printed text shows the tree. `UPDATE_GOLDEN=1` rewrites
//! the files; the difference is for people to review. A line `# options: a b` sets parse options up to the next one.
//!
//! Every statement of the files is also put through the properties that hold for all statements.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

use std::{fmt::Write as _, fs, path::PathBuf};

use parser::{ParseOptions, ast::Stmt, normalize, parse, parse_one_bytes};

struct Case {
    sql: String,
    opts: ParseOptions,
}

fn files() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn options(words: &str) -> ParseOptions {
    let mut opts = ParseOptions::default();
    for word in words.split_whitespace() {
        match word {
            "ansi_quotes" => opts.ansi_quotes = true,
            "no_backslash_escapes" => opts.no_backslash_escapes = true,
            "pipes_as_concat" => opts.pipes_as_concat = true,
            "high_not_precedence" => opts.high_not_precedence = true,
            "ignore_space" => opts.ignore_space = true,
            "no_markers" => opts.markers = false,
            "none" => {}
            _ => panic!("unknown option {word}"),
        }
    }
    opts
}

fn printed(stmt: &Stmt) -> String {
    match stmt {
        Stmt::Unsupported(s) => format!("UNSUPPORTED {}: {stmt}", s.feature),
        _ => stmt.to_string(),
    }
}

#[test]
fn every_listed_statement_is_recognised_and_unsupported() {
    for (feature, example) in parser::UNSUPPORTED_STATEMENTS {
        match parse(example, &ParseOptions::default()).as_deref() {
            Ok([Stmt::Unsupported(found)]) => assert_eq!(found.feature, *feature, "{example}"),
            other => panic!("{example}: {other:?}"),
        }
    }
}

fn answer(case: &Case) -> String {
    match parse(&case.sql, &case.opts) {
        Ok(stmts) => stmts.iter().map(printed).collect::<Vec<_>>().join(";\n"),
        Err(e) => format!("ERROR {} ({}): {e}", e.code(), e.sqlstate()),
    }
}

/// Calls `visit` with every case of a file; returns the file with the answers of today.
fn run(text: &str, mut visit: impl FnMut(&Case)) -> String {
    let mut out = String::new();
    let mut opts = ParseOptions::default();
    let mut sql: Option<String> = None;
    for line in text.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("> ") {
            match &mut sql {
                Some(sql) => write!(sql, "\n{more}").unwrap(),
                None => sql = Some(more.to_owned()),
            }
            writeln!(out, "{line}").unwrap();
            continue;
        }
        if let Some(words) = line.strip_prefix("# options:") {
            opts = options(words);
        }
        if line.starts_with('#') {
            writeln!(out, "{line}").unwrap();
        }
        if line.is_empty() {
            if let Some(sql) = sql.take() {
                let case = Case { sql, opts: opts.clone() };
                writeln!(out, "{}", answer(&case)).unwrap();
                visit(&case);
            }
            writeln!(out).unwrap();
        }
    }
    format!("{}\n", out.trim_end())
}

fn for_every_case(mut visit: impl FnMut(&Case)) {
    for file in files() {
        run(&fs::read_to_string(file).unwrap(), &mut visit);
    }
}

#[test]
fn statements_parse_as_recorded() {
    let mut wrong = Vec::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        let today = run(&text, |_| {});
        if today == text {
            continue;
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&file, today).unwrap();
            continue;
        }
        let line = text.lines().zip(today.lines()).position(|(a, b)| a != b).unwrap_or(0);
        wrong.push(format!(
            "{}:{}:\n  recorded: {}\n  today:    {}",
            file.display(),
            line + 1,
            text.lines().nth(line).unwrap_or("<end>"),
            today.lines().nth(line).unwrap_or("<end>")
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_printed_parses_back_to_an_equal_tree() {
    for_every_case(|case| {
        let Ok(stmts) = parse(&case.sql, &case.opts) else { return };
        for stmt in stmts {
            let printed = stmt.to_string();
            match parse(&printed, &ParseOptions::default()) {
                Ok(again) => assert!(again == [stmt.clone()], "\nfrom: {}\nprinted: {printed}\n{stmt:?}\n{again:?}", case.sql),
                Err(e) => panic!("{e}\nfrom: {}\nprinted: {printed}", case.sql),
            }
        }
    });
}

#[test]
fn normalize_and_parse_number_literals_alike() {
    let mut compared = 0;
    for_every_case(|case| {
        let (Ok(parsed), Some(normalized)) = (parse_one_bytes(case.sql.as_bytes(), &case.opts), normalize(&case.sql, &case.opts)) else {
            return;
        };
        assert_eq!(parsed.literals as usize, normalized.literals.len(), "{}", case.sql);
        let tree = format!("{:?}", parsed.stmt);
        let mut found = 0;
        for (id, literal) in normalized.literals.iter().enumerate() {
            let id = format!("LiteralId({id})");
            if !tree.contains(&id) {
                assert!(parsed.structural_literals, "{id} is nowhere in the tree of {}", case.sql);
                continue;
            }
            let whole = format!("Literal({literal:?}, {id})");
            let temporal = tree.contains(&format!(", id: {id}"));
            assert!(tree.contains(&whole) || temporal, "{id} is not {literal:?} in {}", case.sql);
            found += 1;
        }
        assert!(parsed.structural_literals || found == normalized.literals.len(), "{}", case.sql);
        compared += 1;
    });
    assert!(compared > 100, "only {compared} statements compared");
}

#[test]
fn markers_are_numbered_in_order() {
    for_every_case(|case| {
        let Ok(parsed) = parse_one_bytes(case.sql.as_bytes(), &case.opts) else { return };
        let tree = format!("{:?}", parsed.stmt);
        for n in 0..parsed.params {
            assert_eq!(tree.matches(&format!("Param({n})")).count(), 1, "{}", case.sql);
        }
        assert!(!tree.contains(&format!("Param({})", parsed.params)));
    });
}
