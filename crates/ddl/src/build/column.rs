//! Column definitions.

use base::ColumnId;
use catalog::{ColumnDefault, ColumnInfo, GeneratedColumn, SchemaState};
use parser::ast::{CheckDef, ColumnDef, ColumnOption, IndexDef, IndexKey, IndexKind, IndexPart};
use types::{Collation, Datum, EvalType, Time, TimeKind, convert::implicit_default};

use super::{BuildContext, generated, names::check_column_name};
use crate::{Error, Result};

/// A column and what its attributes say about indexes.
pub struct BuiltColumn {
    /// The column; id and offset are given by the caller.
    pub column: ColumnInfo,
    /// `PRIMARY KEY` and `UNIQUE` among its attributes.
    pub indexes: Vec<IndexDef>,
    /// CHECK constraints among its attributes, to be added when the table has all its columns.
    pub checks: Vec<CheckDef>,
    /// `NULL` was written.
    pub explicit_null: bool,
}

const MAX_COMMENT_CHARS: usize = 1024;

impl BuildContext<'_> {
    /// A column from its definition; `default` is the table's collation.
    pub fn column(&mut self, definition: &ColumnDef, default: Collation) -> Result<BuiltColumn> {
        let name = definition.name.as_str();
        check_column_name(name)?;
        let explicit = definition.options.iter().find_map(|option| match option {
            ColumnOption::Collate(collation) => Some(collation.as_str()),
            _ => None,
        });
        let ty = self.column_type(name, &definition.ty, explicit, default)?;
        generated::check_attributes(&definition.options)?;
        let column = ColumnInfo::new(ColumnId(0), name, 0, ty);
        let mut built = BuiltColumn { column, indexes: Vec::new(), checks: Vec::new(), explicit_null: false };
        // Nullability first: whether DEFAULT NULL is allowed depends on it, in whatever order they are written.
        for option in &definition.options {
            match option {
                ColumnOption::Null => (built.explicit_null, built.column.ty.not_null) = (true, false),
                ColumnOption::NotNull | ColumnOption::PrimaryKey => built.column.ty.not_null = true,
                _ => {}
            }
        }
        for option in &definition.options {
            self.column_option(option, &mut built)?;
        }
        let column = &built.column;
        if column.auto_increment {
            let counts = matches!(column.ty.eval_type(), EvalType::Int | EvalType::Real) && column.ty.tp.is_numeric();
            if !counts || column.on_update_now.is_some() {
                return Err(Error::WrongColumnSpecifier { column: name.to_owned() });
            }
            if column.default != ColumnDefault::None {
                return Err(Error::InvalidDefault { column: name.to_owned() });
            }
            built.column.ty.not_null = true;
        }
        Ok(built)
    }

    fn column_option(&mut self, option: &ColumnOption, built: &mut BuiltColumn) -> Result<()> {
        let column = &mut built.column;
        match option {
            ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Collate(_) => {}
            ColumnOption::Default(expr) => column.default = self.default_value(&column.name, &column.ty, expr)?,
            ColumnOption::DefaultExpr(expr) => column.default = self.default_expr(&column.name, &column.ty, expr)?,
            ColumnOption::OnUpdate(expr) => column.on_update_now = Some(self.on_update(&column.name, &column.ty, expr)?),
            ColumnOption::AutoIncrement => column.auto_increment = true,
            ColumnOption::PrimaryKey => built.indexes.push(index_of(IndexKind::Primary, &column.name)),
            ColumnOption::Unique => built.indexes.push(index_of(IndexKind::Unique, &column.name)),
            ColumnOption::Comment(comment) => {
                if comment.chars().count() > MAX_COMMENT_CHARS {
                    return Err(Error::not_supported(format!("column comments of more than {MAX_COMMENT_CHARS} characters")));
                }
                column.comment.clone_from(comment);
            }
            ColumnOption::Visible(visible) => column.hidden = !visible,
            ColumnOption::Generated { expr, stored } => {
                column.generated = Some(GeneratedColumn { expr: generated::expression_text(&column.name, expr)?, stored: *stored });
            }
            ColumnOption::Check(check) => built.checks.push(check.clone()),
            ColumnOption::Srid(_) => return Err(Error::not_supported("SRID")),
            // MySQL itself ignores a column's REFERENCES, and these have no meaning for InnoDB tables.
            ColumnOption::References(_) | ColumnOption::ColumnFormat(_) | ColumnOption::Storage(_) => {}
            ColumnOption::EngineAttribute { .. } => return Err(Error::not_supported("ENGINE_ATTRIBUTE")),
            ColumnOption::NotSecondary => {}
        }
        Ok(())
    }

    /// The value that rows written before ADD COLUMN show for a column.
    pub fn origin_default(&self, column: &ColumnInfo) -> Datum {
        match &column.default {
            ColumnDefault::Value(value) => value.clone(),
            ColumnDefault::Expr(_) => self.now_as(column).unwrap_or_else(|| implicit_default(&column.ty)),
            ColumnDefault::None if column.ty.not_null => implicit_default(&column.ty),
            ColumnDefault::None => Datum::Null,
        }
    }

    /// The statement's time as a value of a DATETIME or TIMESTAMP column.
    fn now_as(&self, column: &ColumnInfo) -> Option<Datum> {
        let kind = TimeKind::of(column.ty.tp)?;
        let utc = Time::from_unix_micros(self.now_ms as i64 * 1000, TimeKind::Timestamp, column.ty.fsp())?;
        let utc = utc.truncate_to_fsp(column.ty.fsp());
        let value = if kind == TimeKind::Timestamp { utc } else { utc.to_zone(self.time_zone).with_kind(kind, column.ty.fsp()) };
        Some(Datum::Time(value))
    }
}

fn index_of(kind: IndexKind, column: &str) -> IndexDef {
    let part = IndexPart { key: IndexKey::Column { name: column.into(), length: None }, desc: false };
    IndexDef { kind, name: None, parts: vec![part], options: Vec::new() }
}

/// Whether every value of `old` is stored and ordered the same as a value of `new`, so that the definition can be changed alone.
pub fn is_lossless(old: &ColumnInfo, new: &ColumnInfo) -> bool {
    use types::TypeKind::{
        BigInt, Bit, Blob, Char, Enum, Int, LongBlob, LongText, MediumBlob, MediumInt, MediumText, Set, SmallInt, Text, TinyBlob, TinyInt,
        TinyText, VarBinary, VarChar,
    };
    let (a, b) = (&old.ty, &new.ty);
    if a.unsigned != b.unsigned || a.charset != b.charset || a.collation != b.collation {
        return false;
    }
    if b.not_null && !a.not_null {
        return false;
    }
    let width = |family: &[types::TypeKind], kind| family.iter().position(|&member| member == kind);
    for family in
        [&[TinyInt, SmallInt, MediumInt, Int, BigInt][..], &[TinyText, Text, MediumText, LongText], &[TinyBlob, Blob, MediumBlob, LongBlob]]
    {
        if let (Some(from), Some(to)) = (width(family, a.tp), width(family, b.tp)) {
            return from <= to;
        }
    }
    match (a.tp, b.tp) {
        // Values are numbers of members, which keep theirs when others are added behind them.
        (Enum, Enum) | (Set, Set) => b.elems.starts_with(&a.elems),
        (Bit, Bit) => a.flen <= b.flen,
        (VarChar, VarChar) | (VarBinary, VarBinary) | (Char, Char) => a.flen <= b.flen,
        (from, to) => from == to && a.flen == b.flen && a.decimal == b.decimal,
    }
}

/// A column that is being added, before its first state.
pub fn as_addition(mut column: ColumnInfo, id: ColumnId, origin_default: Datum) -> ColumnInfo {
    column.id = id;
    column.origin_default = origin_default;
    column.state = SchemaState::None;
    column
}
