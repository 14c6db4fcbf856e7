//! Databases.

use base::DatabaseId;
use serde::{Deserialize, Serialize};
use types::{Charset, Collation};

use super::SchemaState;

/// A database ("schema" in the standard's words): a name space for tables with a default collation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseInfo {
    /// Unique in the cluster, never reused.
    pub id: DatabaseId,
    /// As written by its creator; looked up case-insensitively.
    pub name: String,
    /// Default character set of new tables.
    pub charset: Charset,
    /// Default collation of new tables.
    pub collation: Collation,
    /// Public, or on its way out.
    pub state: SchemaState,
}
