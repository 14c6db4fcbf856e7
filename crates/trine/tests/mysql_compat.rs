//! `docs/mysql-compat.md` says what the server really refuses and ignores.
//!
//! Everything below its marker is generated: the statements that the parser recognises and does not model, the functions that `expr` knows by
//! name only and those it has, the column types, every feature that a crate of the SQL layer names in error 1235 (read from the sources, so that none can be forgotten), and the
//! system variables without effect. After a change:
//!
//! ```sh
//! UPDATE_DOCS=1 cargo test -p trine --test mysql_compat
//! ```

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use session::vars::DEFINITIONS;

const MARKER: &str = "<!-- Generated from here on: UPDATE_DOCS=1 cargo test -p trine --test mysql_compat -->\n";
/// Crates whose sources name features, and how the reader knows them.
const SOURCES: [(&str, &str); 4] =
    [("planner", "Queries and DML"), ("expr", "Expressions"), ("ddl", "Schema changes"), ("session", "Administration and session")];
/// What stands before the name of a feature.
const NAMING: [&str; 3] = ["unsupported(", "not_supported(", "NotSupported { feature: "];

#[test]
fn the_page_on_compatibility_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = root.join("docs/mysql-compat.md");
    let text = fs::read_to_string(&page).expect("the page is there");
    let (head, found) = text.split_once(MARKER).expect("the page has the marker");
    let generated = generate(&root);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, format!("{head}{MARKER}{generated}")).expect("the page can be written");
    } else {
        assert!(found == generated, "docs/mysql-compat.md is out of date; run: UPDATE_DOCS=1 cargo test -p trine --test mysql_compat");
    }
}

fn generate(root: &Path) -> String {
    let mut page = String::new();
    page += "\n## Statements answered with error 1235\n\n| statement | for example |\n|---|---|\n";
    for (feature, example) in parser::UNSUPPORTED_STATEMENTS {
        let _ = writeln!(page, "| {feature} | `{example}` |");
    }
    page += "\n## Parts of statements answered with error 1235\n";
    for (name, title) in SOURCES {
        let mut features = BTreeSet::new();
        collect(&root.join("crates").join(name).join("src"), &mut features);
        assert!(!features.is_empty(), "no feature found in the sources of {name}");
        let _ = write!(page, "\n{title}:\n\n");
        for feature in &features {
            let _ = writeln!(page, "- {feature}");
        }
    }
    page += "\n## Column types\n\n| type | state |\n|---|---|\n";
    for (name, supported) in ddl::supported_types() {
        let _ = writeln!(page, "| {} | {} |", name.to_uppercase(), if supported { "yes" } else { "error 1235" });
    }
    page += "\n## Functions\n\nBeside operators and what has syntax of its own. Aggregates can be used over windows too, but for GROUP_CONCAT and DISTINCT, as in MySQL.\n\n";
    page += "| function | arguments | state |\n|---|---|---|\n";
    let mut known: Vec<(String, String)> =
        expr::functions::function_names().into_iter().map(|(name, min, max)| (name.to_owned(), arity(min, max))).collect();
    known.extend(expr::AggKind::function_names().map(|name| (name.to_owned(), "aggregate".to_owned())));
    known.extend(expr::window::WindowKind::function_names().map(|(name, arity)| (name.to_owned(), format!("{arity}, over a window"))));
    // The planner makes it of a group's level.
    known.push(("GROUPING".to_owned(), "1 to 64, with WITH ROLLUP".to_owned()));
    known.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase());
    known.sort();
    known.dedup_by(|a, b| a.0 == b.0);
    for (name, arguments) in known {
        let _ = writeln!(page, "| {} | {arguments} | yes |", name.to_uppercase());
    }
    page += "\n## Functions answered with error 1235\n\nNames that end in `_` stand for all functions that begin so.\n\n";
    let mut functions = expr::functions::unsupported_functions();
    functions.sort_unstable();
    let functions: Vec<String> = functions.iter().map(|name| format!("`{}`", name.to_ascii_uppercase())).collect();
    let _ = writeln!(page, "{}", functions.join(", "));
    page += "\n## System variables without effect\n\nThey can be read and set, as clients and tools do; nothing else happens.\n\n";
    page += "| variable | why |\n|---|---|\n";
    for definition in DEFINITIONS.iter().filter(|definition| !definition.inert.is_empty()) {
        let _ = writeln!(page, "| `{}` | {} |", definition.name, definition.inert);
    }
    page
}

/// How many arguments a function takes.
fn arity(min: u8, max: u8) -> String {
    match (min, max) {
        (min, max) if min == max => min.to_string(),
        (min, expr::functions::ANY) => format!("{min} or more"),
        (min, max) => format!("{min} to {max}"),
    }
}

/// The features that the sources below a folder name.
fn collect(folder: &Path, features: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            collect(&path, features);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("the file can be read");
            for naming in NAMING {
                features.extend(text.split(naming).skip(1).filter_map(feature));
            }
        }
    }
}

/// The string literal at the beginning of an argument; what its braces stand for is left open.
fn feature(argument: &str) -> Option<String> {
    let argument = argument.trim_start().trim_start_matches('&').trim_start_matches("format!(");
    let literal = argument.strip_prefix('"')?.split('"').next()?;
    let mut text = String::new();
    for (at, piece) in literal.split('{').enumerate() {
        match piece.split_once('}') {
            Some((_, rest)) if at > 0 => text += &format!("…{rest}"),
            _ => text += piece,
        }
    }
    Some(text)
}
