//! Transactions and table locks.

use super::{Ident, TableName, VarScope};

/// `BEGIN [PESSIMISTIC | OPTIMISTIC]`, `START TRANSACTION …`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BeginStmt {
    /// `READ ONLY` (true) or `READ WRITE` (false).
    pub read_only: Option<bool>,
    /// `WITH CONSISTENT SNAPSHOT`.
    pub consistent_snapshot: bool,
    /// `BEGIN PESSIMISTIC` (true), `BEGIN OPTIMISTIC` (false).
    pub pessimistic: Option<bool>,
}

/// `[AND [NO] CHAIN] [[NO] RELEASE]` after COMMIT and ROLLBACK; `None` leaves it to `completion_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionType {
    /// `AND [NO] CHAIN`.
    pub chain: Option<bool>,
    /// `[NO] RELEASE`.
    pub release: Option<bool>,
}

/// `SET [GLOBAL | SESSION] TRANSACTION …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetTransactionStmt {
    /// The scope; `None` means the next transaction only.
    pub scope: Option<VarScope>,
    /// `ISOLATION LEVEL`.
    pub isolation: Option<IsolationLevel>,
    /// `READ ONLY` (true) or `READ WRITE` (false).
    pub read_only: Option<bool>,
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl IsolationLevel {
    /// The value of the variable `transaction_isolation`.
    pub fn variable_value(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
            IsolationLevel::ReadCommitted => "READ-COMMITTED",
            IsolationLevel::RepeatableRead => "REPEATABLE-READ",
            IsolationLevel::Serializable => "SERIALIZABLE",
        }
    }
}

/// One table of LOCK TABLES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLock {
    /// The table.
    pub table: TableName,
    /// Its alias.
    pub alias: Option<Ident>,
    /// The lock.
    pub kind: TableLockKind,
}

/// Kinds of table locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TableLockKind {
    Read,
    ReadLocal,
    Write,
}
