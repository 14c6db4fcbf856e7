//! The metadata lock: who uses which table at which schema version.
//!
//! DDL takes one step at a time, and before the next one waits until nobody uses the tables of the job at an older schema version.
//! Users never wait: a statement or transaction writes down what it uses in the slot of its session, and takes it out at its end.
//!
//! ```text
//! session:  lock own slot, add (table, version of the schema it planned with), unlock; read the current version;
//!           if the table's definition has changed since: take the entry out again, plan anew
//! DDL:      publish version v+1; visit every slot; while one holds a table of the job at a version < v+1: wait for a release
//! ```
//!
//! Invariants:
//! - An entry is in the slot before the session looks at the current version, and the DDL runner publishes before it visits slots. Both go
//!   through the slot's mutex, so one of the two sees the other: no use of an old definition is missed.
//! - A slot belongs to one session; its mutex is contended only while a DDL job looks. No lock is shared by sessions.
//! - A table stays at the oldest version a transaction has used it with until the transaction ends.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicUsize, Ordering},
};

use base::{ConnectionId, TableId};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::InfoSchema;

/// Registrations of sessions are spread over this many lists.
const SHARDS: usize = 16;

/// The definition of a table changed between planning and use; plan again with the current schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The table.
    pub table: TableId,
}

/// The registry; clones share it.
#[derive(Clone, Default)]
pub struct Mdl {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    shards: [Mutex<Vec<Weak<Slot>>>; SHARDS],
    next_shard: AtomicUsize,
    waiters: AtomicUsize,
    released: Notify,
}

struct Slot {
    connection: ConnectionId,
    uses: Mutex<Vec<Use>>,
}

#[derive(Clone, Copy)]
struct Use {
    table: TableId,
    version: u64,
}

impl Mdl {
    /// Makes the slot of a session.
    pub fn register(&self, connection: ConnectionId) -> MdlSession {
        let slot = Arc::new(Slot { connection, uses: Mutex::new(Vec::with_capacity(4)) });
        let shard = self.inner.next_shard.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let mut slots = self.inner.shards[shard].lock();
        if slots.len() == slots.capacity() {
            slots.retain(|slot| slot.strong_count() > 0);
        }
        slots.push(Arc::downgrade(&slot));
        MdlSession { inner: Arc::clone(&self.inner), slot }
    }

    /// The connections that use one of `tables` at a version older than `version`.
    pub fn users_before(&self, tables: &[TableId], version: u64) -> Vec<ConnectionId> {
        let mut users = Vec::new();
        for shard in &self.inner.shards {
            for slot in shard.lock().iter().filter_map(Weak::upgrade) {
                if slot.uses.lock().iter().any(|used| used.version < version && tables.contains(&used.table)) {
                    users.push(slot.connection);
                }
            }
        }
        users
    }

    /// Tables that are still used at a version older than that of their definition in `schema`, with the oldest version used.
    pub fn uses_behind(&self, schema: &InfoSchema) -> Vec<(TableId, u64)> {
        let mut behind: Vec<(TableId, u64)> = Vec::new();
        for shard in &self.inner.shards {
            for slot in shard.lock().iter().filter_map(Weak::upgrade) {
                for used in &*slot.uses.lock() {
                    // A table that has gone was used before it went.
                    if update_version(schema, used.table).is_none_or(|version| used.version < version) {
                        behind.push((used.table, used.version));
                    }
                }
            }
        }
        behind.sort_unstable();
        behind.dedup_by_key(|(table, _)| *table);
        behind
    }

    /// Waits until nobody uses one of `tables` at a version older than `version`. `version` must have been published before.
    pub async fn wait_for_users_before(&self, tables: &[TableId], version: u64) {
        let _waiting = Waiting::new(&self.inner.waiters);
        loop {
            let released = self.inner.released.notified();
            tokio::pin!(released);
            released.as_mut().enable();
            if self.users_before(tables, version).is_empty() {
                return;
            }
            released.await;
        }
    }
}

/// Counts a waiter in for as long as it lives, so that sessions notify only when somebody listens.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A session's slot.
pub struct MdlSession {
    inner: Arc<Inner>,
    slot: Arc<Slot>,
}

impl MdlSession {
    /// Writes down that the session uses `tables` as `schema` defines them, until [`MdlSession::leave`].
    ///
    /// `current` is asked for the newest schema after the entries are in. When it defines one of the tables differently, the entries this
    /// call has added are taken out again. Tables the session already uses keep their older version and are not compared: a
    /// transaction goes on with what it began with.
    pub fn enter(&self, current: impl FnOnce() -> Arc<InfoSchema>, schema: &Arc<InfoSchema>, tables: &[TableId]) -> Result<(), Stale> {
        let version = schema.version();
        let known = {
            let mut uses = self.slot.uses.lock();
            let known = uses.len();
            for &table in tables {
                if !uses.iter().any(|used| used.table == table) {
                    uses.push(Use { table, version });
                }
            }
            if uses.len() == known {
                return Ok(());
            }
            known
        };
        let newest = current();
        if Arc::ptr_eq(&newest, schema) || newest.version() == version {
            return Ok(());
        }
        let changed = {
            let uses = self.slot.uses.lock();
            uses[known..].iter().map(|used| used.table).find(|&table| update_version(&newest, table) != update_version(schema, table))
        };
        let Some(table) = changed else { return Ok(()) };
        self.slot.uses.lock().truncate(known);
        self.notify();
        Err(Stale { table })
    }

    /// The schema version at which the running statement or transaction has first used a table.
    pub fn first_use(&self, table: TableId) -> Option<u64> {
        self.slot.uses.lock().iter().find(|used| used.table == table).map(|used| used.version)
    }

    /// Ends all uses: the autocommit statement or the transaction is over.
    pub fn leave(&self) {
        self.slot.uses.lock().clear();
        self.notify();
    }

    /// Whether anything is in use.
    pub fn is_empty(&self) -> bool {
        self.slot.uses.lock().is_empty()
    }

    fn notify(&self) {
        // Pairs with the count-in of `wait_for_users_before`: the slot's mutex orders the release before the waiter's look or after its count.
        if self.inner.waiters.load(Ordering::SeqCst) > 0 {
            self.inner.released.notify_waiters();
        }
    }
}

impl Drop for MdlSession {
    fn drop(&mut self) {
        self.leave();
    }
}

fn update_version(schema: &InfoSchema, table: TableId) -> Option<u64> {
    schema.table_ref(table).map(|table| table.update_version)
}

#[cfg(test)]
mod tests {
    use base::DatabaseId;

    use super::*;
    use crate::{
        InfoSchemaBuilder,
        model::{DatabaseInfo, SchemaState, TableInfo},
    };

    fn schema(version: u64, tables: &[(i64, u64)]) -> Arc<InfoSchema> {
        let mut builder = InfoSchemaBuilder::default();
        builder.version(version).put_database(DatabaseInfo {
            id: DatabaseId(1),
            name: "test".into(),
            charset: types::Charset::Utf8mb4,
            collation: types::Collation::Utf8mb4Bin,
            state: SchemaState::Public,
        });
        for &(id, update_version) in tables {
            let mut table = TableInfo::new(TableId(id), DatabaseId(1), "test", format!("t{id}"));
            table.update_version = update_version;
            builder.put_table(table);
        }
        Arc::new(builder.build())
    }

    #[test]
    fn a_statement_that_planned_with_an_old_definition_is_sent_back() {
        let mdl = Mdl::default();
        let session = mdl.register(ConnectionId(1));
        let old = schema(5, &[(1, 3), (2, 3)]);
        let new = schema(6, &[(1, 3), (2, 6)]);
        assert_eq!(session.enter(|| Arc::clone(&new), &old, &[TableId(2)]), Err(Stale { table: TableId(2) }));
        assert!(session.is_empty());
        assert_eq!(session.enter(|| Arc::clone(&new), &old, &[TableId(1)]), Ok(()));
        assert_eq!(mdl.users_before(&[TableId(1)], 6), [ConnectionId(1)]);
        assert!(mdl.users_before(&[TableId(2)], 6).is_empty());
    }

    #[test]
    fn a_transaction_keeps_its_oldest_version_of_a_table() {
        let mdl = Mdl::default();
        let session = mdl.register(ConnectionId(1));
        let old = schema(5, &[(1, 3)]);
        session.enter(|| Arc::clone(&old), &old, &[TableId(1)]).expect("current");
        let new = schema(6, &[(1, 6)]);
        session.enter(|| Arc::clone(&new), &new, &[TableId(1)]).expect("in use");
        assert_eq!(mdl.users_before(&[TableId(1)], 6).len(), 1);
        assert_eq!(mdl.uses_behind(&new), [(TableId(1), 5)]);
        assert!(mdl.uses_behind(&old).is_empty());
        session.leave();
        assert!(mdl.users_before(&[TableId(1)], 6).is_empty());
    }

    #[tokio::test]
    async fn the_waiter_goes_on_when_the_last_user_leaves_or_disconnects() {
        let mdl = Mdl::default();
        let old = schema(5, &[(1, 3)]);
        let first = mdl.register(ConnectionId(1));
        let second = mdl.register(ConnectionId(2));
        for session in [&first, &second] {
            session.enter(|| Arc::clone(&old), &old, &[TableId(1)]).expect("current");
        }
        let waiter = tokio::spawn({
            let mdl = mdl.clone();
            async move { mdl.wait_for_users_before(&[TableId(1)], 6).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        first.leave();
        tokio::task::yield_now().await;
        assert!(!waiter.is_finished());
        drop(second);
        waiter.await.expect("no panic");
    }
}
