//! CHECK constraints and foreign keys.

use base::ColumnId;
use serde::{Deserialize, Serialize};

use super::SchemaState;

/// A CHECK constraint: no row may make its condition false.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckInfo {
    /// As written or made up; unique in the database, case-insensitively.
    pub name: String,
    /// The condition's text, which names columns without their table.
    pub expr: String,
    /// Whether rows are held to it.
    pub enforced: bool,
    /// Write-only while the rows that were there before it are looked at: new rows are held to it already, nobody sees it.
    pub state: SchemaState,
}

/// What happens to the rows that refer to a row that goes, or whose key changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferenceRule {
    /// Nothing was written: the row may not go.
    #[default]
    NoAction,
    /// The row may not go. The same as [`ReferenceRule::NoAction`] in all but its name.
    Restrict,
    /// They go too, or take the new key.
    Cascade,
    /// Their columns become NULL.
    SetNull,
}

impl ReferenceRule {
    /// The words of the clause.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoAction => "NO ACTION",
            Self::Restrict => "RESTRICT",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
        }
    }

    /// Whether rows that refer are changed rather than protected.
    pub fn acts(self) -> bool {
        matches!(self, Self::Cascade | Self::SetNull)
    }
}

/// A foreign key, kept with the table whose rows refer (the child).
///
/// The table referred to (the parent) is known by name: with `foreign_key_checks = 0` a key may be made before its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKeyInfo {
    /// As written or made up; unique in the database, case-insensitively.
    pub name: String,
    /// The columns that refer.
    pub columns: Vec<ColumnId>,
    /// The parent's database.
    pub parent_database: String,
    /// The parent's name.
    pub parent_table: String,
    /// The columns referred to, by name.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferenceRule,
    /// ON UPDATE.
    pub on_update: ReferenceRule,
    /// Write-only while the rows that were there before it are looked at: new rows are held to it already, nobody sees it.
    pub state: SchemaState,
}
