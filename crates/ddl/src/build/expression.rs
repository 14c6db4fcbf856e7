//! Expressions of CHECK constraints and generated columns: what may stand in them, and the text that is kept.
//!
//! The text is MySQL's: names without their table, functions in lower case, strings with the name of their character set, so that it means
//! the same whatever connection reads it.

use parser::ast::{BinaryOp, Expr, Ident, IntroducedString, Literal};

/// What makes an expression unfit for a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A function whose value is not one of the row alone.
    Function(String),
    /// A subquery or another construct that yields no value of the row.
    Construct,
    /// A user or system variable.
    Variable,
    /// A row of several values.
    Row,
    /// An aggregate function.
    Aggregate,
}

/// Functions whose values depend on more than their arguments, in MySQL's spelling, with their other names.
const UNFIT_FUNCTIONS: &[(&str, &[&str])] = &[
    ("benchmark", &[]),
    ("connection_id", &[]),
    ("curdate", &["current_date"]),
    ("current_role", &[]),
    ("current_user", &[]),
    ("curtime", &["current_time"]),
    ("database", &["schema"]),
    ("found_rows", &[]),
    ("get_lock", &[]),
    ("is_free_lock", &[]),
    ("is_used_lock", &[]),
    ("last_insert_id", &[]),
    ("load_file", &[]),
    ("name_const", &[]),
    ("now", &["current_timestamp", "localtime", "localtimestamp"]),
    ("rand", &[]),
    ("random_bytes", &[]),
    ("release_all_locks", &[]),
    ("release_lock", &[]),
    ("row_count", &[]),
    ("sleep", &[]),
    ("sysdate", &[]),
    ("user", &["session_user", "system_user"]),
    ("utc_date", &[]),
    ("utc_time", &[]),
    ("utc_timestamp", &[]),
    ("uuid", &[]),
    ("uuid_short", &[]),
    ("version", &[]),
];

/// Functions whose values are true and false.
const BOOLEAN_FUNCTIONS: &[&str] = &[
    "is_ipv4",
    "is_ipv4_compat",
    "is_ipv4_mapped",
    "is_ipv6",
    "is_uuid",
    "isnull",
    "json_contains",
    "json_contains_path",
    "json_overlaps",
    "json_schema_valid",
    "json_valid",
    "regexp_like",
];

/// The first thing in an expression that no definition may hold.
pub fn unfit(expr: &Expr) -> Option<Unfit> {
    let mut found = None;
    expr.clone().walk_mut(&mut |part| {
        let this = match part {
            Expr::Exists(_) | Expr::Subquery(_) | Expr::InSubquery { .. } | Expr::Quantified { .. } | Expr::Param(_) | Expr::Window(_) => {
                Some(Unfit::Construct)
            }
            Expr::UserVar(_) | Expr::AssignUserVar { .. } | Expr::SystemVar { .. } => Some(Unfit::Variable),
            Expr::Row(_) => Some(Unfit::Row),
            Expr::Aggregate(_) => Some(Unfit::Aggregate),
            Expr::Default(_) => Some(Unfit::Function("default".to_owned())),
            Expr::Values(_) => Some(Unfit::Function("values".to_owned())),
            Expr::MatchAgainst(_) => Some(Unfit::Function("match".to_owned())),
            Expr::Func(call) => unfit_function(&call.name, call.args.len()).map(|name| Unfit::Function(name.to_owned())),
            _ => None,
        };
        if found.is_none() {
            found = this;
        }
    });
    found
}

fn unfit_function(name: &str, args: usize) -> Option<&'static str> {
    if name.eq_ignore_ascii_case("unix_timestamp") && args == 0 {
        return Some("unix_timestamp");
    }
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    UNFIT_FUNCTIONS.iter().find(|(known, aliases)| is(known) || aliases.iter().any(|alias| is(alias))).map(|(known, _)| *known)
}

/// The columns an expression names, each once, in the order they are written.
pub fn columns(expr: &Expr) -> Vec<Ident> {
    let mut names: Vec<Ident> = Vec::new();
    expr.clone().walk_mut(&mut |part| {
        if let Expr::Column(column) = part
            && !names.iter().any(|known| catalog::name::eq_ignore_case(known, &column.name))
        {
            names.push(column.name.clone());
        }
    });
    names
}

/// Whether the values of an expression are true, false and unknown by its very form.
pub fn is_boolean(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(Literal::Bool(_), _)
        | Expr::Is { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. } => true,
        Expr::Unary { op, .. } => *op == parser::ast::UnaryOp::Not,
        Expr::Binary { op, .. } => {
            op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::SoundsLike | BinaryOp::MemberOf)
        }
        Expr::Func(call) => BOOLEAN_FUNCTIONS.iter().any(|name| call.name.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

/// The text of an expression as it is kept.
pub fn text(expr: &Expr) -> String {
    let mut expr = expr.clone();
    expr.walk_mut(&mut |part| match part {
        Expr::Column(column) => (column.schema, column.table) = (None, None),
        Expr::Literal(literal, _) => {
            if let Literal::Str(value) = literal {
                *literal = Literal::Introduced(Box::new(IntroducedString { charset: "utf8mb4".into(), value: std::mem::take(value) }));
            }
        }
        Expr::Binary { op: op @ (BinaryOp::JsonExtract | BinaryOp::JsonUnquote), left, right } => {
            let unquotes = *op == BinaryOp::JsonUnquote;
            let [left, right] = [left, right].map(|operand| std::mem::replace(&mut **operand, Expr::null()));
            let found = Expr::func("json_extract", vec![left, right]);
            *part = if unquotes { Expr::func("json_unquote", vec![found]) } else { found };
        }
        _ => {}
    });
    expr.to_string()
}

/// An expression read back from its text.
pub fn parsed(text: &str) -> Option<Expr> {
    let (statement, _) = parser::parse_one(&format!("DO {text}"), &parser::ParseOptions::default()).ok()?;
    match statement {
        parser::ast::Stmt::Do(mut exprs) if exprs.len() == 1 => exprs.pop(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expr(text: &str) -> Expr {
        parsed(text).unwrap_or_else(|| panic!("{text} is an expression"))
    }

    #[test]
    fn the_text_is_mysqls() {
        for (written, kept) in [
            ("a > 0", "(`a` > 0)"),
            ("t.a > 0 AND test.t.B < 5 OR a IS NULL", "(((`a` > 0) and (`B` < 5)) or (`a` is null))"),
            ("a IN ('x', 'it''s')", "(`a` in (_utf8mb4'x',_utf8mb4'it''s'))"),
            ("LENGTH(a) <= 3", "(length(`a`) <= 3)"),
            ("j->'$.x' = 1", "(json_extract(`j`,_utf8mb4'$.x') = 1)"),
            ("j->>'$.x'", "json_unquote(json_extract(`j`,_utf8mb4'$.x'))"),
            ("a + b - c * 2 - d", "(((`a` + `b`) - (`c` * 2)) - `d`)"),
            ("a AND b AND c OR d", "((`a` and `b` and `c`) or `d`)"),
            ("a LIKE 'x|_' ESCAPE '|'", "(`a` like _utf8mb4'x|_' escape '|')"),
        ] {
            assert_eq!(text(&expr(written)), kept, "{written}");
            assert_eq!(text(&expr(kept)), kept, "what is kept reads as itself");
        }
    }

    #[test]
    fn what_depends_on_more_than_the_row_is_found() {
        let function = |name: &str| Some(Unfit::Function(name.to_owned()));
        for (written, found) in [
            ("a > 0", None),
            ("UNIX_TIMESTAMP(a)", None),
            ("a > CURRENT_TIMESTAMP", function("now")),
            ("a > COALESCE(b, RAND())", function("rand")),
            ("UNIX_TIMESTAMP() > a", function("unix_timestamp")),
            ("a > @x", Some(Unfit::Variable)),
            ("a > @@sort_buffer_size", Some(Unfit::Variable)),
            ("a = (SELECT 1)", Some(Unfit::Construct)),
            ("(a, b) = (1, 2)", Some(Unfit::Row)),
            ("SUM(a) > 1", Some(Unfit::Aggregate)),
        ] {
            assert_eq!(unfit(&expr(written)), found, "{written}");
        }
    }

    #[test]
    fn booleans_are_told_by_their_form() {
        for written in ["a = 1", "NOT a", "a AND b", "a IS TRUE", "a IN (1)", "JSON_VALID(a)", "true"] {
            assert!(is_boolean(&expr(written)), "{written}");
        }
        for written in ["a", "1", "a + 1", "IF(a, 1, 0)", "COALESCE(a = 1, b)"] {
            assert!(!is_boolean(&expr(written)), "{written}");
        }
    }
}
