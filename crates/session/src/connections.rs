//! The connections of a server: who is there, what each one does, and how it is told to stop.
//!
//! Each connection has an entry of its own. What changes with every command (idle or busy, since when, the statement's text) lies behind
//! the entry's own mutex, which only PROCESSLIST, the idle sweep and KILL look into; the registry's shards are locked at connect and
//! disconnect. Nothing is shared by all connections on the path of a statement.
//!
//! Ids of connections, which the protocol has 32 bits for:
//!
//! ```text
//!   one process:   1, 2, 3, …
//!   in a cluster:  30 …… 20 │ 19 ………………… 0
//!                  server   │ connection          so that every server can tell whose connection is to be killed
//! ```

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use base::ConnectionId;
use catalog::MAX_SERVER_NUMBER;
use env::{CancelReason, CancelToken};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use types::mysql_error::{self, MysqlError};

/// Connections are spread over this many maps.
const SHARDS: usize = 16;
/// Bytes of a statement that PROCESSLIST can show.
const SHOWN_TEXT: usize = 4096;
/// Bits of an id that tell the connections of one server of a cluster apart.
const LOCAL_BITS: u32 = 20;
/// Bits of ids of one process that has no others beside it.
const PROTOCOL_BITS: u32 = 32;

/// Why a connection is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum KillReason {
    /// `KILL CONNECTION`.
    Killed = 1,
    /// The server stops.
    Shutdown = 2,
    /// `wait_timeout` is over.
    IdleTimeout = 3,
}

/// All connections of a server.
pub struct ConnectionRegistry {
    shards: [Mutex<FxHashMap<u64, Weak<Entry>>>; SHARDS],
    count: Arc<AtomicUsize>,
    limit: AtomicUsize,
    /// This server among those of the cluster; 0 where there is one process.
    server: u16,
    next_id: AtomicU64,
}

struct Entry {
    id: ConnectionId,
    token: CancelToken,
    /// 0, or a [`KillReason`].
    kill: AtomicU8,
    killed: Notify,
    busy: AtomicBool,
    activity: Mutex<Activity>,
    identity: Mutex<Identity>,
    count: Arc<AtomicUsize>,
}

struct Activity {
    command: &'static str,
    since: Instant,
    text: Vec<u8>,
}

/// Who a connection belongs to, as PROCESSLIST shows it.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// User name.
    pub user: String,
    /// `host:port` of the client.
    pub host: String,
    /// Current database.
    pub database: Option<Arc<str>>,
}

/// A row of PROCESSLIST.
#[derive(Clone, Debug)]
pub struct Process {
    /// The connection.
    pub id: ConnectionId,
    /// Who it belongs to.
    pub identity: Identity,
    /// `Sleep`, or the command that runs.
    pub command: &'static str,
    /// How long that has been so.
    pub time: Duration,
    /// The statement that runs.
    pub statement: Option<String>,
}

/// A connection's own handle; its registration ends when the last clone is dropped.
#[derive(Clone)]
pub struct ConnectionHandle(Arc<Entry>);

impl ConnectionRegistry {
    /// A registry that admits `limit` connections to a server with a number; 0 where there is one process.
    pub fn new(limit: usize, server: u16) -> Self {
        Self { shards: Default::default(), count: Arc::default(), limit: AtomicUsize::new(limit), server, next_id: AtomicU64::new(1) }
    }

    /// The number of the server a connection belongs to; `None` when no server gives such ids.
    pub(crate) fn server_of(&self, id: ConnectionId) -> Option<u16> {
        match self.server {
            0 => Some(0),
            _ => u16::try_from(id.0 >> LOCAL_BITS).ok().filter(|number| (1..=MAX_SERVER_NUMBER).contains(number)),
        }
    }

    /// This server's number.
    pub(crate) fn server(&self) -> u16 {
        self.server
    }

    /// The next id, some time after the last one the first again.
    fn next_id(&self) -> u64 {
        let bits = if self.server == 0 { PROTOCOL_BITS } else { LOCAL_BITS };
        let local = self.next_id.fetch_add(1, Ordering::Relaxed) % (1 << bits);
        u64::from(self.server) << LOCAL_BITS | local
    }

    /// Admits a connection; `None` when there are too many.
    pub fn register(&self) -> Option<ConnectionHandle> {
        if self.count.fetch_add(1, Ordering::SeqCst) >= self.limit.load(Ordering::Relaxed) {
            self.count.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        Some(self.admit())
    }

    /// A connection of the server itself, which no limit keeps out.
    pub(crate) fn register_internal(&self) -> ConnectionHandle {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.admit()
    }

    fn admit(&self) -> ConnectionHandle {
        loop {
            let id = self.next_id();
            let mut shard = self.shard(id).lock();
            // Ids come again, and those of connections that are still there are passed by; 0 is none.
            if id.is_multiple_of(1 << LOCAL_BITS) || shard.get(&id).is_some_and(|entry| entry.strong_count() > 0) {
                continue;
            }
            let entry = Arc::new(Entry {
                id: ConnectionId(id),
                token: CancelToken::new(),
                kill: AtomicU8::new(0),
                killed: Notify::new(),
                busy: AtomicBool::new(true),
                activity: Mutex::new(Activity { command: "Connect", since: Instant::now(), text: Vec::new() }),
                identity: Mutex::default(),
                count: self.count.clone(),
            });
            if shard.len() == shard.capacity() {
                shard.retain(|_, entry| entry.strong_count() > 0);
            }
            shard.insert(id, Arc::downgrade(&entry));
            return ConnectionHandle(entry);
        }
    }

    fn shard(&self, id: u64) -> &Mutex<FxHashMap<u64, Weak<Entry>>> {
        &self.shards[id as usize % SHARDS]
    }

    fn entries(&self) -> Vec<Arc<Entry>> {
        let mut entries: Vec<Arc<Entry>> =
            self.shards.iter().flat_map(|shard| shard.lock().values().filter_map(Weak::upgrade).collect::<Vec<_>>()).collect();
        entries.sort_by_key(|entry| entry.id);
        entries
    }

    /// How many connections may be open.
    pub fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Changes how many connections may be open; those beyond it stay.
    pub fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Connections open now.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether there is no connection.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Connections that run a command now.
    pub fn running(&self) -> usize {
        self.entries().iter().filter(|entry| entry.busy.load(Ordering::Relaxed)).count()
    }

    /// What all connections do, by id.
    pub fn processes(&self) -> Vec<Process> {
        self.entries().iter().map(|entry| entry.process()).collect()
    }

    /// Ends the running statement of a connection (`query`), or the whole connection. Whether there is such a connection.
    pub fn kill(&self, id: ConnectionId, query: bool) -> bool {
        let entry = self.shard(id.0).lock().get(&id.0).and_then(Weak::upgrade);
        match (&entry, query) {
            (None, _) => return false,
            (Some(entry), true) => drop(entry.token.cancel(CancelReason::KillQuery)),
            (Some(entry), false) => entry.end(KillReason::Killed),
        }
        true
    }

    /// The user a connection belongs to.
    pub fn user_of(&self, id: ConnectionId) -> Option<String> {
        let entry = self.shard(id.0).lock().get(&id.0).and_then(Weak::upgrade)?;
        Some(entry.identity.lock().user.clone())
    }

    /// Ends connections that wait for a command, because the server stops.
    pub fn shut_down_idle(&self) {
        for entry in self.entries() {
            if !entry.busy.load(Ordering::SeqCst) {
                entry.end(KillReason::Shutdown);
            }
        }
    }

    /// Ends all connections, also those that run a statement.
    pub fn kill_all(&self) {
        for entry in self.entries() {
            entry.end(KillReason::Shutdown);
        }
    }

    /// Ends connections that have waited for a command longer than `limit`.
    pub fn close_idle_since(&self, limit: Duration) {
        for entry in self.entries() {
            if !entry.busy.load(Ordering::SeqCst) && entry.activity.lock().since.elapsed() > limit {
                entry.end(KillReason::IdleTimeout);
            }
        }
    }
}

impl Entry {
    fn end(&self, reason: KillReason) {
        // The first reason stays.
        let _ = self.kill.compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst);
        let cancel = if reason == KillReason::Killed { CancelReason::KillConnection } else { CancelReason::Shutdown };
        self.token.cancel(cancel);
        self.killed.notify_one();
    }

    fn process(&self) -> Process {
        let activity = self.activity.lock();
        let busy = self.busy.load(Ordering::Relaxed);
        let statement = (busy && !activity.text.is_empty()).then(|| crate::secrets::masked(&String::from_utf8_lossy(&activity.text)));
        Process {
            id: self.id,
            identity: self.identity.lock().clone(),
            command: if busy { activity.command } else { "Sleep" },
            time: activity.since.elapsed(),
            statement,
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ConnectionHandle {
    /// The connection's id.
    pub fn id(&self) -> ConnectionId {
        self.0.id
    }

    /// Cancelled by KILL and at the end of the connection; the session resets it before each statement.
    pub fn token(&self) -> &CancelToken {
        &self.0.token
    }

    /// The connection waits for a command now.
    pub fn idle(&self) {
        let mut activity = self.0.activity.lock();
        activity.since = Instant::now();
        activity.text.clear();
        self.0.busy.store(false, Ordering::SeqCst);
    }

    /// The connection runs a command now.
    pub fn busy(&self, command: &'static str) {
        self.0.busy.store(true, Ordering::SeqCst);
        let mut activity = self.0.activity.lock();
        activity.command = command;
        activity.since = Instant::now();
    }

    /// The statement that runs, for PROCESSLIST.
    pub fn set_statement(&self, text: &[u8]) {
        let mut activity = self.0.activity.lock();
        activity.text.clear();
        activity.text.extend_from_slice(&text[..text.len().min(SHOWN_TEXT)]);
    }

    /// The beginning of the statement that runs.
    pub fn statement(&self) -> String {
        String::from_utf8_lossy(&self.0.activity.lock().text).into_owned()
    }

    /// Who the connection belongs to.
    pub fn set_identity(&self, identity: Identity) {
        *self.0.identity.lock() = identity;
    }

    /// The connection's current database.
    pub fn set_database(&self, database: Option<Arc<str>>) {
        self.0.identity.lock().database = database;
    }

    /// Whether the connection is to end.
    pub fn is_killed(&self) -> bool {
        self.0.kill.load(Ordering::SeqCst) != 0
    }

    /// Completes when the connection is to end.
    pub async fn killed(&self) {
        while !self.is_killed() {
            self.0.killed.notified().await;
        }
    }

    /// What the client is told at the end of a killed connection.
    pub fn kill_error(&self) -> MysqlError {
        match self.0.kill.load(Ordering::SeqCst) {
            reason if reason == KillReason::Shutdown as u8 => {
                MysqlError::new(mysql_error::ER_SERVER_SHUTDOWN, "Server shutdown in progress")
            }
            reason if reason == KillReason::IdleTimeout as u8 => MysqlError::new(
                mysql_error::ER_CLIENT_INTERACTION_TIMEOUT,
                "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this \
                 behavior.",
            ),
            _ => MysqlError::new(mysql_error::ER_QUERY_INTERRUPTED, "Query execution was interrupted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_beyond_the_limit_are_refused_until_one_leaves() {
        let registry = ConnectionRegistry::new(2, 0);
        let first = registry.register().expect("room");
        let _second = registry.register().expect("room");
        assert!(registry.register().is_none());
        drop(first);
        assert!(registry.register().is_some());
    }

    #[test]
    fn ids_in_a_cluster_say_whose_connection_it_is_and_come_again_only_when_free() {
        let registry = ConnectionRegistry::new(2, 2047);
        let first = registry.register().expect("room");
        assert_eq!(first.id().0, (2047 << 20) + 1);
        assert!(first.id().0 < 1 << 31, "the protocol has room for it");
        registry.next_id.store((1 << 20) - 1, Ordering::Relaxed);
        assert_eq!(registry.register().expect("room").id().0, (2047 << 20) + (1 << 20) - 1);
        let second = registry.register().expect("room");
        assert_eq!(second.id().0, (2047 << 20) + 2, "0 is none, and 1 is still there");
        assert_eq!([(3 << 20) + 7, 7, 1 << 31].map(|id| registry.server_of(ConnectionId(id))), [Some(3), None, None]);
    }

    #[test]
    fn kill_query_leaves_the_connection_and_kill_connection_ends_it() {
        let registry = ConnectionRegistry::new(2, 0);
        let handle = registry.register().expect("room");
        assert!(registry.kill(handle.id(), true));
        assert!(handle.token().check().is_err() && !handle.is_killed());
        handle.token().reset();
        assert!(handle.token().check().is_ok());
        assert!(registry.kill(handle.id(), false));
        handle.token().reset();
        assert!(handle.token().check().is_err() && handle.is_killed());
        assert!(!registry.kill(ConnectionId(999), false));
    }

    #[test]
    fn idle_connections_are_shut_down_and_busy_ones_are_not() {
        let registry = ConnectionRegistry::new(2, 0);
        let (idle, busy) = (registry.register().expect("room"), registry.register().expect("room"));
        idle.idle();
        busy.busy("Query");
        busy.set_statement(b"SELECT 1");
        registry.shut_down_idle();
        assert!(idle.is_killed() && !busy.is_killed());
        let processes = registry.processes();
        assert_eq!(processes[0].command, "Sleep");
        assert_eq!(processes[1].statement.as_deref(), Some("SELECT 1"));
    }
}
