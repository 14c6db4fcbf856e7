//! The text of SHOW CREATE TABLE and SHOW CREATE DATABASE, in MySQL 8.0's exact form.
//!
//! The text is SQL that makes the same table again (MySQL 8.0 manual, 13.7.7.10): dump tools depend on it.

use std::fmt::Write as _;

use types::{Charset, Datum, TimeZone, TypeKind};

use crate::model::{CheckInfo, ColumnDefault, ColumnInfo, DatabaseInfo, ForeignKeyInfo, IndexInfo, PrimaryKey, ReferenceRule, TableInfo};

/// The text of SHOW CREATE TABLE. `next_auto_increment` is what the next AUTO_INCREMENT value would be; MySQL shows it from 2 on.
pub fn show_create_table(table: &TableInfo, next_auto_increment: Option<u64>, zone: &TimeZone) -> String {
    let mut lines: Vec<String> = table.public_columns().iter().map(|column| column_line(table, column, zone)).collect();
    if let PrimaryKey::IntHandle { column } = table.pk {
        lines.push(format!("  PRIMARY KEY ({})", quote_name(&table.columns[column].name)));
    }
    let mut indexes: Vec<&IndexInfo> = table.public_indexes().map(|(_, index)| index).collect();
    // MySQL lists the primary key first, then unique indexes that hold no NULL, then other unique ones, then the rest.
    indexes.sort_by_key(|index| index_rank(table, index));
    lines.extend(indexes.into_iter().map(|index| index_line(table, index)));
    lines.extend(table.foreign_keys.iter().filter(|key| key.state.is_public()).map(|key| format!("  {}", foreign_key_clause(table, key))));
    lines.extend(table.checks.iter().filter(|check| check.state.is_public()).map(check_line));
    let mut text = format!("CREATE TABLE {} (\n{}\n) ENGINE={}", quote_name(&table.name), lines.join(",\n"), table.engine);
    if let Some(next) = next_auto_increment.filter(|&next| next > 1 && table.auto_increment_column().is_some()) {
        let _ = write!(text, " AUTO_INCREMENT={next}");
    }
    let _ = write!(text, " DEFAULT CHARSET={}", table.charset.name());
    if !table.collation.is_default() || table.charset == Charset::Utf8mb4 {
        let _ = write!(text, " COLLATE={}", table.collation.name());
    }
    if !table.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", quote_text(&table.comment));
    }
    text
}

/// The text of SHOW CREATE DATABASE.
pub fn show_create_database(database: &DatabaseInfo, if_not_exists: bool) -> String {
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let mut charset = format!("DEFAULT CHARACTER SET {}", database.charset.name());
    if !database.collation.is_default() || database.charset == Charset::Utf8mb4 {
        let _ = write!(charset, " COLLATE {}", database.collation.name());
    }
    format!("CREATE DATABASE {condition}{} /*!40100 {charset} */ /*!80016 DEFAULT ENCRYPTION='N' */", quote_name(&database.name))
}

/// A name between backticks.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
pub fn quote_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\0"),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// The definition of a foreign key, as it also stands in messages. NO ACTION, which is what a key does that says nothing, is not written.
pub fn foreign_key_clause(table: &TableInfo, key: &ForeignKeyInfo) -> String {
    let own = key.columns.iter().filter_map(|id| table.column_by_id(*id)).map(|column| quote_name(&column.name)).collect::<Vec<_>>();
    let parent = match key.parent_database == table.database {
        true => quote_name(&key.parent_table),
        false => format!("{}.{}", quote_name(&key.parent_database), quote_name(&key.parent_table)),
    };
    let theirs = key.parent_columns.iter().map(|name| quote_name(name)).collect::<Vec<_>>();
    let (name, own, theirs) = (quote_name(&key.name), own.join(", "), theirs.join(", "));
    let mut text = format!("CONSTRAINT {name} FOREIGN KEY ({own}) REFERENCES {parent} ({theirs})");
    for (event, rule) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if rule != ReferenceRule::NoAction {
            let _ = write!(text, " ON {event} {}", rule.name());
        }
    }
    text
}

fn check_line(check: &CheckInfo) -> String {
    let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("  CONSTRAINT {} CHECK ({}){enforced}", quote_name(&check.name), check.expr)
}

/// Where MySQL lists an index: it sorts keys so that the ones that identify rows come first.
pub(crate) fn index_rank(table: &TableInfo, index: &IndexInfo) -> u8 {
    let nullable = index.columns.iter().any(|part| !table.columns[part.offset].ty.not_null);
    match (index.primary, index.unique, nullable) {
        (true, ..) => 0,
        (_, true, false) => 1,
        (_, true, true) => 2,
        _ => 3,
    }
}

/// Whether CURRENT_TIMESTAMP stands bare rather than in parentheses.
pub(crate) fn is_current_timestamp(expr: &str) -> bool {
    expr.get(..17).is_some_and(|head| head.eq_ignore_ascii_case("CURRENT_TIMESTAMP"))
}

/// `CURRENT_TIMESTAMP` or `CURRENT_TIMESTAMP(fsp)`.
pub(crate) fn current_timestamp(fsp: u8) -> String {
    if fsp == 0 { "CURRENT_TIMESTAMP".to_owned() } else { format!("CURRENT_TIMESTAMP({fsp})") }
}

/// The value of a DEFAULT clause as text without quotes, TIMESTAMP in `zone`; `None` for NULL.
pub fn default_text(value: &Datum, column: &ColumnInfo, zone: &TimeZone) -> Option<String> {
    Some(match value {
        Datum::Null => return None,
        Datum::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => format!("0x{}", bytes.iter().map(|byte| format!("{byte:02X}")).collect::<String>()),
        },
        Datum::UInt(bits) if column.ty.tp == TypeKind::Bit => format!("b'{bits:b}'"),
        value => {
            let mut text = Vec::new();
            value.as_ref().write_text_in_zone(&column.ty, zone, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
    })
}

fn column_line(table: &TableInfo, column: &ColumnInfo, zone: &TimeZone) -> String {
    let mut line = format!("  {} {}", quote_name(&column.name), column.ty.to_sql());
    if column.ty.is_text() && column.ty.tp != TypeKind::Json {
        let differs = column.ty.collation != table.collation;
        if differs {
            let _ = write!(line, " CHARACTER SET {}", column.ty.charset.name());
        }
        if differs || !column.ty.collation.is_default() {
            let _ = write!(line, " COLLATE {}", column.ty.collation.name());
        }
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(line, " GENERATED ALWAYS AS ({}) {kind}", generated.expr);
    }
    if column.ty.not_null {
        line.push_str(" NOT NULL");
    } else if column.ty.tp == TypeKind::Timestamp {
        line.push_str(" NULL");
    }
    if column.hidden {
        line.push_str(" /*!80023 INVISIBLE */");
    }
    default_clause(&mut line, column, zone);
    if let Some(fsp) = column.on_update_now {
        let _ = write!(line, " ON UPDATE {}", current_timestamp(fsp));
    }
    if column.auto_increment {
        line.push_str(" AUTO_INCREMENT");
    }
    if !column.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", quote_text(&column.comment));
    }
    line
}

fn default_clause(line: &mut String, column: &ColumnInfo, zone: &TimeZone) {
    if column.generated.is_some() || column.auto_increment {
        return;
    }
    match &column.default {
        ColumnDefault::None if !column.ty.not_null && !column.ty.tp.is_blob() => line.push_str(" DEFAULT NULL"),
        ColumnDefault::None => {}
        ColumnDefault::Expr(expr) if is_current_timestamp(expr) => {
            let _ = write!(line, " DEFAULT {expr}");
        }
        ColumnDefault::Expr(expr) => {
            let _ = write!(line, " DEFAULT ({expr})");
        }
        ColumnDefault::Value(value) => match default_text(value, column, zone) {
            None if column.ty.tp.is_blob() => {}
            None => line.push_str(" DEFAULT NULL"),
            Some(text) if text.starts_with("0x") && matches!(value, Datum::Bytes(_)) || column.ty.tp == TypeKind::Bit => {
                let _ = write!(line, " DEFAULT {text}");
            }
            Some(text) => {
                let _ = write!(line, " DEFAULT {}", quote_text(&text));
            }
        },
    }
}

fn index_line(table: &TableInfo, index: &IndexInfo) -> String {
    let parts: Vec<String> = index
        .columns
        .iter()
        .map(|part| {
            let mut text = quote_name(&table.columns[part.offset].name);
            if let Some(len) = part.prefix_len {
                let _ = write!(text, "({len})");
            }
            if part.desc {
                text.push_str(" DESC");
            }
            text
        })
        .collect();
    let parts = parts.join(",");
    let mut line = match (index.primary, index.unique) {
        (true, _) => format!("  PRIMARY KEY ({parts})"),
        (_, true) => format!("  UNIQUE KEY {} ({parts})", quote_name(&index.name)),
        _ => format!("  KEY {} ({parts})", quote_name(&index.name)),
    };
    if !index.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", quote_text(&index.comment));
    }
    if index.invisible {
        line.push_str(" /*!80000 INVISIBLE */");
    }
    line
}
