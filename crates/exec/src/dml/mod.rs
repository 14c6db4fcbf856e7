//! Changing rows: INSERT, REPLACE, UPDATE, DELETE.
//!
//! ```text
//!   source rows ──▶ convert to column types ──▶ keys and entries ──▶ [lock] ──▶ write into the transaction's buffer
//!                   (convert)                   (table_writer)      (locks)
//! ```
//!
//! CHECK constraints (`checks`) are tried before a row's writes are made, foreign keys (`foreign_keys`) after: a row may refer to itself, and
//! those that refer to a row are found without it.
//!
//! Two ways to keep unique keys unique:
//!
//! | transaction | how |
//! |---|---|
//! | optimistic (autocommit) | writes carry "must not exist"; the store checks it at prewrite. No read before an INSERT. |
//! | pessimistic | row keys and unique index keys are locked at `for_update_ts` first; the lock request itself checks that new keys do not exist |
//!
//! Invariants
//! - A statement's writes lie in one stage of the transaction: an error takes all of them back, locks stay.
//! - Rows stream through in chunks; what a statement keeps is bounded by a chunk, apart from the transaction's buffer itself.
//! - Everything that is known about a key that exists (in the transaction's own writes) is checked here; the store is only asked about the rest.

mod assign;
mod checks;
mod conflict;
pub mod convert;
mod delete;
pub mod duplicate;
mod foreign_keys;
mod insert;
mod locks;
mod row_source;
pub mod table_writer;
mod update;

use base::TableId;
use planner::physical::{Node, Op};
use smallvec::SmallVec;

use crate::plan_ref::PlanRef;
use crate::{Error, ExecCtx, Result};

pub use duplicate::duplicate_entry;
pub use foreign_keys::rows_have_parents;
pub use table_writer::TableWriter;

/// What a statement that changes rows reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affected {
    /// Affected rows as the OK packet says: changed (or matched, for CLIENT_FOUND_ROWS), inserted, deleted.
    pub rows: u64,
    /// For the OK packet: the first generated AUTO_INCREMENT value, else the last explicit one; 0 for none.
    pub last_insert_id: u64,
    /// Rows that the conditions matched (UPDATE) or that the source yielded (INSERT).
    pub matched: u64,
    /// Rows that really changed (UPDATE), or duplicates met (INSERT).
    pub changed: u64,
    /// What kind of information the statement gives.
    pub info: InfoKind,
    /// What the statement did to the row counts of tables.
    pub changes: SmallVec<[TableChanges; 1]>,
}

/// What happened to the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChanges {
    /// The table.
    pub table: TableId,
    /// Rows added; negative for rows removed.
    pub rows: i64,
    /// Rows added, changed and removed.
    pub modified: u64,
}

impl TableChanges {
    /// Adds what happened later.
    pub fn add(&mut self, later: &Self) {
        self.rows += later.rows;
        self.modified += later.modified;
    }
}

/// The form of the information string of the OK packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InfoKind {
    /// None.
    #[default]
    None,
    /// `Records: 3  Duplicates: 0  Warnings: 0`
    Records,
    /// `Rows matched: 1  Changed: 1  Warnings: 0`
    Matched,
}

impl Affected {
    /// The information string of the OK packet, empty for none.
    pub fn info(&self, warnings: u64) -> String {
        let [matched, changed] = match self.info {
            InfoKind::None => return String::new(),
            InfoKind::Records => ["Records: ", "  Duplicates: "],
            InfoKind::Matched => ["Rows matched: ", "  Changed: "],
        };
        // Every UPDATE tells this; the general formatter would be one of its dearer parts.
        let mut out = String::with_capacity(64);
        for (what, number) in [(matched, self.matched), (changed, self.changed), ("  Warnings: ", warnings)] {
            out.push_str(what);
            out.push_str(itoa::Buffer::new().format(number));
        }
        out
    }
}

/// Whether the operator changes rows.
pub(crate) fn is_write(op: &Op) -> bool {
    matches!(op, Op::Insert(_) | Op::Update(_) | Op::Delete(_))
}

/// Runs a statement that changes rows, in a stage of the transaction that is taken back when it fails.
pub(crate) async fn run(node: PlanRef<Node>, ctx: &ExecCtx) -> Result<Affected> {
    let txn = ctx.txn()?.clone();
    let stage = txn.lock().await.stage();
    let result = run_staged(node, ctx).await;
    let mut txn = txn.lock().await;
    match &result {
        Ok(_) => txn.release(stage),
        Err(_) => txn.revert(stage),
    }
    result
}

async fn run_staged(node: PlanRef<Node>, ctx: &ExecCtx) -> Result<Affected> {
    match &node.op {
        Op::Insert(_) => {
            let plan = node.try_map(|node| if let Op::Insert(plan) = &node.op { Some(&**plan) } else { None });
            insert::run(plan.ok_or(Error::InvalidPlan("an insert was expected"))?, ctx).await
        }
        Op::Update(_) => {
            let plan = node.try_map(|node| if let Op::Update(plan) = &node.op { Some(&**plan) } else { None });
            update::run(plan.ok_or(Error::InvalidPlan("an update was expected"))?, ctx).await
        }
        Op::Delete(_) => {
            let plan = node.try_map(|node| if let Op::Delete(plan) = &node.op { Some(&**plan) } else { None });
            delete::run(plan.ok_or(Error::InvalidPlan("a delete was expected"))?, ctx).await
        }
        _ => Err(Error::InvalidPlan("a statement that changes rows was expected")),
    }
}
