//! Columns.

use base::ColumnId;
use serde::{Deserialize, Serialize};
use types::{Datum, FieldType};

use super::SchemaState;
use crate::persist;

/// The DEFAULT of a column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum ColumnDefault {
    /// No DEFAULT clause: NULL for a nullable column, error 1364 in strict mode for a NOT NULL one.
    #[default]
    None,
    /// A constant, already converted to the column's type.
    Value(#[serde(with = "persist::datum")] Datum),
    /// The text of an expression that is evaluated per statement or row, such as `CURRENT_TIMESTAMP(6)`.
    Expr(String),
}

/// A generated column's expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratedColumn {
    /// The expression's text.
    pub expr: String,
    /// STORED rather than VIRTUAL.
    pub stored: bool,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Unique in the table, never reused; the id in row values.
    pub id: ColumnId,
    /// As written; looked up case-insensitively.
    pub name: String,
    /// Position in [`TableInfo::columns`](super::TableInfo::columns).
    pub offset: usize,
    /// The type with its character set, collation and flags.
    pub ty: FieldType,
    /// The DEFAULT clause.
    pub default: ColumnDefault,
    /// `ON UPDATE CURRENT_TIMESTAMP(fsp)`.
    pub on_update_now: Option<u8>,
    /// The value of rows that were written before the column existed: the default at the time of ADD COLUMN.
    #[serde(with = "persist::datum")]
    pub origin_default: Datum,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// `GENERATED ALWAYS AS`.
    pub generated: Option<GeneratedColumn>,
    /// The COMMENT clause.
    pub comment: String,
    /// How far the column has got.
    pub state: SchemaState,
    /// Not shown by `SELECT *` (INVISIBLE).
    pub hidden: bool,
}

impl ColumnInfo {
    /// A public column without default, comment or special behaviour.
    pub fn new(id: ColumnId, name: impl Into<String>, offset: usize, ty: FieldType) -> Self {
        Self {
            id,
            name: name.into(),
            offset,
            ty,
            default: ColumnDefault::None,
            on_update_now: None,
            origin_default: Datum::Null,
            auto_increment: false,
            generated: None,
            comment: String::new(),
            state: SchemaState::Public,
            hidden: false,
        }
    }

    /// Whether an INSERT that leaves the column out has nothing to put there (error 1364 in strict mode).
    pub fn lacks_default(&self) -> bool {
        self.default == ColumnDefault::None && self.ty.not_null && !self.auto_increment && self.generated.is_none()
    }
}
