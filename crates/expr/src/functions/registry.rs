//! Looking functions up by name.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{Builtin, Special, info, json, numeric, string, time};
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::Expr;

enum Entry {
    Table(&'static Builtin),
    Special(&'static Special),
}

fn registry() -> &'static FxHashMap<&'static str, Entry> {
    static REGISTRY: OnceLock<FxHashMap<&'static str, Entry>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut map = FxHashMap::default();
        let tables = [string::TABLES, numeric::TABLES, time::TABLES, info::TABLES, json::TABLES];
        for builtin in tables.iter().flat_map(|t| t.iter()).flat_map(|t| t.iter()) {
            map.insert(builtin.name, Entry::Table(builtin));
        }
        let specials = [string::SPECIALS, numeric::SPECIALS, time::SPECIALS, info::SPECIALS];
        for special in specials.iter().flat_map(|t| t.iter()).flat_map(|t| t.iter()) {
            map.insert(special.name, Entry::Special(special));
        }
        for (alias, name) in ALIASES {
            let entry = match map.get(name) {
                Some(Entry::Table(b)) => Entry::Table(b),
                Some(Entry::Special(s)) => Entry::Special(s),
                None => continue,
            };
            map.insert(alias, entry);
        }
        map
    })
}

/// Second names.
const ALIASES: &[(&str, &str)] = &[
    ("ceil", "ceiling"),
    ("power", "pow"),
    ("character_length", "char_length"),
    ("octet_length", "length"),
    ("lcase", "lower"),
    ("ucase", "upper"),
    ("mid", "substring"),
    ("substr", "substring"),
    ("position", "locate"),
    ("sha", "sha1"),
    ("current_timestamp", "now"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("day", "dayofmonth"),
    ("schema", "database"),
    ("session_user", "user"),
    ("system_user", "user"),
];

/// Functions that MySQL has and this server does not: they are an error of their own (1235) instead of an unknown function.
const UNSUPPORTED: &[&str] = &[
    "extractvalue",
    "gtid_subset",
    "gtid_subtract",
    "load_file",
    "master_pos_wait",
    "point",
    "linestring",
    "polygon",
    "ps_current_thread_id",
    "ps_thread_id",
    "roles_graphml",
    "source_pos_wait",
    "statement_digest",
    "statement_digest_text",
    "updatexml",
    "validate_password_strength",
    "wait_for_executed_gtid_set",
];

/// Beginnings of names: spatial functions.
const UNSUPPORTED_FAMILIES: &[&str] = &["st_", "mbr", "geom"];

/// Whether MySQL has a function of this name (in lower case) that is error 1235 here.
pub fn is_unsupported(lower: &str) -> bool {
    UNSUPPORTED.contains(&lower) || UNSUPPORTED_FAMILIES.iter().any(|family| lower.starts_with(family))
}

/// The names of all built-in functions with the fewest and most arguments they take ([`ANY`](super::ANY) for no limit), in no order.
pub fn function_names() -> Vec<(&'static str, u8, u8)> {
    let arity = |entry: &Entry| match entry {
        Entry::Table(b) => (b.min_args, b.max_args),
        Entry::Special(s) => s.arity,
    };
    registry().iter().map(|(name, entry)| (*name, arity(entry).0, arity(entry).1)).collect()
}

/// Functions of MySQL that are error 1235 here, by name or, where it ends in `_`, by the beginning of their names.
pub fn unsupported_functions() -> Vec<&'static str> {
    UNSUPPORTED.iter().chain(UNSUPPORTED_FAMILIES).copied().collect()
}

/// Whether a built-in function of this name exists.
pub fn is_builtin(name: &str) -> bool {
    registry().contains_key(name.to_ascii_lowercase().as_str())
}

/// Whether an evaluation of the function may take as long as the user likes (`SLEEP`, `BENCHMARK`): statements that call it are executed on
/// a thread of their own.
pub fn call_waits(name: &str) -> bool {
    matches!(registry().get(name.to_ascii_lowercase().as_str()), Some(Entry::Table(builtin)) if builtin.waits)
}

/// Builds the call of a built-in function by its SQL name: checks the number of arguments, infers the type and inserts
/// the implicit casts.
///
/// # Errors
/// [`Error::UnknownFunction`], [`Error::WrongArity`], [`Error::WrongArguments`], illegal mixes of collations.
pub fn build_call(name: &str, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let lower = name.to_ascii_lowercase();
    match registry().get(lower.as_str()) {
        Some(Entry::Table(builtin)) => builtin.build(args, ctx),
        Some(Entry::Special(special)) => {
            Builtin::check_arity(special.name, special.arity, args.len())?;
            for arg in &args {
                crate::build::reject_row(arg)?;
            }
            (special.build)(args, ctx)
        }
        None if is_unsupported(&lower) => Err(Error::NotSupported { feature: lower.to_ascii_uppercase() }),
        None => Err(Error::UnknownFunction { database: ctx.database().to_owned(), name: name.to_owned() }),
    }
}
