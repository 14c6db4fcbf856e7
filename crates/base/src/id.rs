//! Ids as newtypes, so that a table id can never be passed where an index id is meant.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// The cluster a process belongs to; non-zero, chosen at bootstrap, written to every data directory.
    ClusterId(u64)
);
id!(
    /// A region: a contiguous range of keys that is replicated as one unit.
    RegionId(u64)
);
id!(
    /// A store: one `kv` process with its data directory.
    StoreId(u64)
);
id!(
    /// A replica of a region on a store.
    PeerId(u64)
);
id!(
    /// A database (schema in the standard's words); unique in the cluster, never reused.
    DatabaseId(i64)
);
id!(
    /// A table's physical id, the `t{id}` of its keys; unique in the cluster, never reused (TRUNCATE takes a new one).
    TableId(i64)
);
id!(
    /// A column of one table; unique in that table, never reused.
    ColumnId(i64)
);
id!(
    /// An index of one table; unique in that table, never reused.
    IndexId(i64)
);
id!(
    /// A client connection; unique in the cluster while the connection lives.
    ConnectionId(u64)
);
