//! The states of online schema change (F1, "Online, Asynchronous Schema Change in F1", VLDB 2013).
//!
//! ```text
//! ADD:   None → DeleteOnly → WriteOnly → WriteReorg → Public
//! DROP:  Public → WriteOnly → DeleteOnly → (removed; the data goes to a delete-range job)
//! ```
//!
//! Two servers (or two transactions of one server) may use neighbouring states at the same time, never states further apart:
//! the DDL runner waits for every user of the older version before it takes the next step.

use serde::{Deserialize, Serialize};

/// How far an element of the schema has got into (or out of) existence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SchemaState {
    /// Not there; only seen inside a DDL job.
    #[default]
    None,
    /// Writers remove entries (so that no stale one survives) but add none; readers do not see the element.
    DeleteOnly,
    /// Writers maintain the element fully; readers do not see it.
    WriteOnly,
    /// As [`SchemaState::WriteOnly`], while existing rows are being backfilled.
    WriteReorg,
    /// Visible to everyone.
    Public,
}

impl SchemaState {
    /// Readers may use the element.
    pub fn is_public(self) -> bool {
        self == Self::Public
    }

    /// Inserts and updates must write the element.
    pub fn is_writable(self) -> bool {
        matches!(self, Self::WriteOnly | Self::WriteReorg | Self::Public)
    }

    /// Deletes (and the delete half of updates) must remove the element's entries.
    pub fn is_deletable(self) -> bool {
        self != Self::None
    }

    /// The name as `ADMIN SHOW DDL JOBS` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::DeleteOnly => "delete only",
            Self::WriteOnly => "write only",
            Self::WriteReorg => "write reorganization",
            Self::Public => "public",
        }
    }
}

impl std::fmt::Display for SchemaState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
