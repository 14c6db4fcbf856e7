//! Foreign keys: rows refer to rows that are there, whoever writes them.
//!
//! ```text
//!   a batch of changes is made ─┬─ rows that refer anew (child)          lock what they refer to, and see that it is there     parents
//!                               └─ rows that go, or change their key ─▶  find who refers to them ─▶ refuse, or change them    children
//!                                  (parent)                                                          └─▶ and so on, from table to table
//! ```
//!
//! How no row is left without its parent, whatever two sessions do at once:
//!
//! | | writes or locks | so that |
//! |---|---|---|
//! | a row that refers | the key it refers to: the entry of the parent's unique index, or the parent's row key | the parent cannot go before this transaction ends |
//! | a parent that goes | the same key, because it removes that row and that entry | nobody can begin to refer to it; who did so before has committed, and is found by a read that is newer than the lock |
//!
//! A pessimistic transaction locks; statements of autocommit on tables with foreign keys are pessimistic from their first try. An optimistic
//! transaction writes the key's value again, so that prewrite finds the other transaction. Locks are exclusive: two sessions that add rows
//! under one parent follow each other, those under different parents do not wait.
//!
//! Invariants
//! - A key that is being added holds writers to it from the state write-only on, before the rows that are there already are looked at.
//! - A row is seen by the checks as it is after the statement's own change of it: it may refer to itself. Rows of a table that refers to
//!   itself are changed one by one, as in InnoDB, so that the order of rows means the same.
//! - What a statement does to other tables lies in the statement's stage: an error takes all of it back.

mod children;
mod existing;
mod parents;
mod reference;

use std::sync::Arc;

use base::TableId;
use catalog::TableInfo;
use catalog::name::eq_ignore_case;
use client::Snapshot;
use types::DatumRef;

pub use self::existing::rows_have_parents;
use self::reference::Reference;
use crate::dml::locks::{Pending, apply_batch};
use crate::dml::table_writer::{TableWriter, same};
use crate::{Error, ExecCtx, Result};

/// How many tables deep changes cascade, as in MySQL.
const MAX_DEPTH: usize = 15;

/// The foreign keys that changes of a table's rows must keep.
pub(crate) struct ForeignKeys {
    /// Keys of the table's own columns.
    to_parents: Vec<Reference>,
    /// Keys of other tables' columns, or its own, that lead to the table.
    from_children: Vec<Reference>,
}

/// How a change came about.
#[derive(Clone, Default)]
struct Cascade {
    /// Tables whose rows were changed on the way, the statement's own first. An update that comes back to one of them is refused.
    updated: Vec<TableId>,
    depth: usize,
}

impl ForeignKeys {
    /// The keys of a table; none when there are none, or nobody wants them kept (`foreign_key_checks`).
    pub(crate) fn of(table: &Arc<TableInfo>, ctx: &ExecCtx) -> Option<Self> {
        if !ctx.vars.foreign_key_checks || !ctx.infoschema.has_foreign_keys() {
            return None;
        }
        let in_force = |key: &&catalog::ForeignKeyInfo| key.state.is_writable();
        let to_parent = |key| Reference::to_parent(table, key, &ctx.infoschema);
        let to_parents = table.foreign_keys.iter().filter(in_force).map(to_parent).collect::<Vec<_>>();
        let mut from_children = Vec::new();
        for child in ctx.infoschema.children(&table.database, &table.name) {
            let leads_here = |key: &&catalog::ForeignKeyInfo| {
                eq_ignore_case(&key.parent_database, &table.database) && eq_ignore_case(&key.parent_table, &table.name)
            };
            from_children
                .extend(child.foreign_keys.iter().filter(in_force).filter(leads_here).map(|key| Reference::new(child, key, table)));
        }
        (!to_parents.is_empty() || !from_children.is_empty()).then_some(Self { to_parents, from_children })
    }

    /// Makes a batch of changes of the table, and what follows from them.
    pub(crate) async fn apply(&self, batch: &mut [Pending<'_>], writer: &TableWriter, ctx: &ExecCtx) -> Result<()> {
        let cascade = Cascade { updated: vec![writer.table().id], depth: 0 };
        self.apply_under(&cascade, batch, writer, ctx).await
    }

    async fn apply_under(&self, cascade: &Cascade, batch: &mut [Pending<'_>], writer: &TableWriter, ctx: &ExecCtx) -> Result<()> {
        let refers_to_itself = self.to_parents.iter().any(Reference::is_to_itself);
        let at_once = if refers_to_itself { 1 } else { batch.len().max(1) };
        for part in batch.chunks_mut(at_once) {
            apply_batch(part, writer, ctx).await?;
            for reference in &self.to_parents {
                let keys = part.iter().filter_map(|pending| new_key(reference, pending)).collect::<Vec<_>>();
                parents::require(reference, &keys, ctx).await?;
            }
            // Newer than the locks of the keys that are gone now.
            let mut newest = None;
            for reference in &self.from_children {
                for pending in part.iter() {
                    let Some((old, new)) = lost_key(reference, pending) else { continue };
                    let snapshot = match &newest {
                        Some(snapshot) => snapshot,
                        None => newest.insert(newest_snapshot(ctx).await?),
                    };
                    children::follow(reference, &old, new.as_deref(), snapshot, cascade, ctx).await?;
                }
            }
        }
        Ok(())
    }
}

/// What statements that lock see now; in an optimistic transaction its own snapshot, because prewrite finds what came after it.
async fn newest_snapshot(ctx: &ExecCtx) -> Result<Snapshot> {
    if !ctx.pessimistic {
        return Ok(ctx.snapshot());
    }
    Ok(ctx.snapshot_at(ctx.txn()?.lock().await.refresh_for_update_ts().await?))
}

/// The key a changed row refers to, if it did not before and no part of it is NULL.
fn new_key<'r>(reference: &Reference, pending: &Pending<'r>) -> Option<Vec<DatumRef<'r>>> {
    let key = reference.child_key(pending.after()?);
    if key.contains(&DatumRef::Null) {
        return None;
    }
    let unchanged = pending.before().is_some_and(|old| reference.child_key(old).iter().zip(&key).all(|(old, new)| same(*old, *new)));
    (!unchanged).then_some(key)
}

/// What became of the key of a row that others may refer to.
type LostKey<'r> = (Vec<DatumRef<'r>>, Option<Vec<DatumRef<'r>>>);

/// The key that a changed row no longer has, and the one it has instead.
fn lost_key<'r>(reference: &Reference, pending: &Pending<'r>) -> Option<LostKey<'r>> {
    let old = reference.parent_key(pending.before()?);
    if old.contains(&DatumRef::Null) {
        return None;
    }
    let new = pending.after().map(|new| reference.parent_key(new));
    let unchanged = new.as_ref().is_some_and(|new| old.iter().zip(new).all(|(old, new)| same(*old, *new)));
    (!unchanged).then_some((old, new))
}

impl Cascade {
    /// As it goes on into another table.
    fn one_further(&self, table: TableId) -> Result<Self> {
        if self.depth == MAX_DEPTH {
            return Err(Error::CascadeTooDeep { max: MAX_DEPTH });
        }
        let mut updated = self.updated.clone();
        updated.push(table);
        Ok(Self { updated, depth: self.depth + 1 })
    }
}
