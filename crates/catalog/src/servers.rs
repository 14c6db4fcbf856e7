//! The SQL servers of a cluster, as they know of each other: a record each in a meta key, good for a lease.
//!
//! ```text
//!   join ─▶ record with lease ──renew──▶ … ──leave──▶ gone          nobody renews: the record is void when its lease is over
//!                │ schema version loaded, tables still used at older versions
//!                ▼
//!   the owner of schema changes waits, after each step, until every record says that the step is known and nobody there is behind it
//! ```
//!
//! A server that does not answer any more must not write by a schema that the others have left behind. So no transaction may commit at a timestamp
//! above its server's lease ([`client::Client::set_commit_bound`]), and who waits for a server goes on only when the timestamps have passed that
//! lease. Leases are measured by timestamps of the placement driver, not by the clocks of servers.
//!
//! Invariants:
//! - A server's commits lie at or below the lease that its record shows.
//! - A record's version is loaded, and its list of tables in use complete for that version, before it is written.
//! - A server is on record before it loads the schema for the first time.
//! - No two servers on record have the same number.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use base::{TableId, TimeStamp};
use client::{Client, TxnOptions};
use codec::meta::value_key;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, change_meta,
    meta::{Meta, keys},
    requests,
};

/// How long a server's record is good.
pub const LEASE: Duration = Duration::from_secs(10);
/// How long a record stays behind its lease.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);
/// Pause between two looks at what others say.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(25);
/// Numbers of servers go from 1 to this: with as many ids of connections as each has, they fit into what the protocol has room for.
pub const MAX_SERVER_NUMBER: u16 = 2047;

/// Where a server is and what runs there, for the others to show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerAbout {
    /// The address clients and other servers are told.
    pub host: String,
    /// Port for MySQL clients.
    pub port: u16,
    /// Port of the status page; 0 where there is none.
    pub status_port: u16,
    /// What it tells clients its version is.
    pub version: String,
    /// The commit it was built from.
    pub git_hash: String,
    /// When it started, in milliseconds since the epoch.
    pub started_ms: u64,
}

/// What one server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Its id, never used again.
    pub id: i64,
    /// Its number: what the ids of its connections begin with. No other server on record has it, but one that has gone may have had it.
    #[serde(default)]
    pub number: u16,
    /// Where it is.
    #[serde(default)]
    pub about: ServerAbout,
    /// The end of its lease, in milliseconds of the placement driver's timestamps.
    pub expires_ms: u64,
    /// The schema version its statements are planned with; 0 before the first one is loaded.
    pub schema_version: u64,
    /// Tables that statements or transactions still use as they were at an older version: table and that version.
    pub behind: Vec<(TableId, u64)>,
}

impl ServerRecord {
    /// Whether the server knows `version`, and nobody there uses one of `tables` as it was before.
    pub fn has_reached(&self, version: u64, tables: &[TableId]) -> bool {
        self.schema_version >= version && !self.behind.iter().any(|(table, used)| *used < version && tables.contains(table))
    }
}

/// This server among the others; clones share it.
#[derive(Clone)]
pub struct Servers {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    id: i64,
    number: u16,
    about: Mutex<ServerAbout>,
    /// Whether `about` is not on record yet.
    is_news: AtomicBool,
    expires_ms: AtomicU64,
    /// Whether this server has left; what it says of itself is written one after the other.
    left: tokio::sync::Mutex<bool>,
}

impl Servers {
    /// Puts this server on record.
    pub(crate) async fn join(client: Client) -> Result<Self> {
        let id = client.allocate_id().await? as i64;
        let number = take_number(&client, id).await?;
        let inner = Inner {
            client,
            id,
            number,
            about: Mutex::default(),
            is_news: AtomicBool::new(false),
            expires_ms: AtomicU64::new(0),
            left: tokio::sync::Mutex::default(),
        };
        let servers = Self { inner: Arc::new(inner) };
        servers.renew(0, Vec::new()).await?;
        Ok(servers)
    }

    /// What the ids of this server's connections begin with.
    pub fn number(&self) -> u16 {
        self.inner.number
    }

    /// Says where this server is; the others know it with the next look.
    pub fn describe(&self, about: ServerAbout) {
        *self.inner.about.lock() = about;
        self.inner.is_news.store(true, Ordering::Release);
    }

    /// Whether there is something to be put on record before the lease asks for it; the caller does so.
    pub(crate) fn take_news(&self) -> bool {
        self.inner.is_news.swap(false, Ordering::AcqRel)
    }

    /// The client.
    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    /// This server's id.
    pub fn id(&self) -> i64 {
        self.inner.id
    }

    /// Whether the lease is over by the timestamp `now`: others may have gone on without this server.
    pub fn has_lapsed(&self, now: TimeStamp) -> bool {
        now.physical_ms() >= self.inner.expires_ms.load(Ordering::Acquire)
    }

    /// Renews the lease and says what this server knows.
    pub(crate) async fn renew(&self, schema_version: u64, behind: Vec<(TableId, u64)>) -> Result<()> {
        let left = self.inner.left.lock().await;
        if *left {
            return Ok(());
        }
        // This is how the bound on commits is raised, so it is not held to it.
        let options = TxnOptions { above_bound: true, ..TxnOptions::default() };
        let expires_ms = change_meta!(self.inner.client, options.clone(), |meta, now| {
            let expires_ms = now.physical_ms() + LEASE.as_millis() as u64;
            let about = self.inner.about.lock().clone();
            let record =
                ServerRecord { id: self.inner.id, number: self.inner.number, about, expires_ms, schema_version, behind: behind.clone() };
            meta.put(keys::numbered(keys::SERVERS, self.inner.id), &record)?;
            expires_ms
        });
        self.inner.expires_ms.store(expires_ms, Ordering::Release);
        self.inner.client.set_commit_bound(TimeStamp::compose(expires_ms, 0));
        Ok(())
    }

    /// Takes this server off the record: nobody waits for it.
    pub async fn leave(&self) -> Result<()> {
        let mut left = self.inner.left.lock().await;
        *left = true;
        change_meta!(self.inner.client, TxnOptions::default(), |meta, _now| {
            meta.remove(keys::numbered(keys::SERVERS, self.inner.id));
        });
        Ok(())
    }

    /// The servers whose leases are good, and the timestamp at which that was so.
    pub async fn alive(&self) -> Result<(Vec<ServerRecord>, TimeStamp)> {
        let mut txn = self.inner.client.begin(TxnOptions::default());
        let now = txn.ensure_start_ts().await?;
        let records = Meta::new(&mut txn).hash::<ServerRecord>(keys::SERVERS).await;
        txn.rollback().await;
        Ok((records?.into_iter().filter(|record| record.expires_ms > now.physical_ms()).collect(), now))
    }

    /// Waits until all other servers know `version` and nobody there uses one of `tables` as it was before; `false` when told to stop.
    pub async fn wait_for_version(&self, version: u64, tables: &[TableId], stop: impl Fn() -> bool) -> Result<bool> {
        loop {
            let (records, _) = self.alive().await?;
            if records.iter().filter(|record| record.id != self.inner.id).all(|record| record.has_reached(version, tables)) {
                return Ok(true);
            }
            if stop() {
                return Ok(false);
            }
            self.inner.client.env().sleep(LOOK_EVERY).await;
        }
    }

    /// Forgets servers whose leases have been over for a long time, and what was asked and answered when nobody is left to want it.
    pub async fn sweep(&self) -> Result<()> {
        requests::sweep(&self.inner.client).await?;
        change_meta!(self.inner.client, TxnOptions::default(), |meta, now| {
            for record in meta.hash::<ServerRecord>(keys::SERVERS).await? {
                if record.expires_ms + FORGOTTEN_AFTER.as_millis() as u64 <= now.physical_ms() {
                    meta.remove(keys::numbered(keys::SERVERS, record.id));
                }
            }
        });
        Ok(())
    }
}

/// Puts a server on record under a number that nobody on record has, the next one behind that which was given last.
async fn take_number(client: &Client, id: i64) -> Result<u16> {
    let key = value_key(keys::SERVER_NUMBER);
    Ok(change_meta!(client, TxnOptions::default(), |meta, now| {
        let taken: Vec<u16> = meta.hash::<ServerRecord>(keys::SERVERS).await?.into_iter().map(|record| record.number).collect();
        let last = meta.get(&key).await?.unwrap_or(0);
        let number = next_number(last, &taken).ok_or(Error::TooManyServers)?;
        // Two that join at the same time both write this key, so one of them looks again.
        meta.put(key.clone(), &number)?;
        let expires_ms = now.physical_ms() + LEASE.as_millis() as u64;
        meta.put(keys::numbered(keys::SERVERS, id), &ServerRecord { id, number, expires_ms, ..ServerRecord::default() })?;
        number
    }))
}

fn next_number(last: u16, taken: &[u16]) -> Option<u16> {
    let mut numbers = (1..=MAX_SERVER_NUMBER).map(|step| (last % MAX_SERVER_NUMBER + step - 1) % MAX_SERVER_NUMBER + 1);
    numbers.find(|number| !taken.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_reached_a_version_when_nobody_there_uses_the_tables_as_they_were() {
        let record = ServerRecord { schema_version: 7, behind: vec![(TableId(3), 5)], ..Default::default() };
        assert!(record.has_reached(7, &[TableId(4)]));
        assert!(!record.has_reached(8, &[TableId(4)]), "not loaded yet");
        assert!(!record.has_reached(6, &[TableId(3)]), "used as it was at version 5");
        assert!(record.has_reached(5, &[TableId(3)]));
    }

    #[test]
    fn numbers_go_round_and_pass_those_that_are_taken() {
        assert_eq!(next_number(0, &[]), Some(1));
        assert_eq!(next_number(5, &[6, 7]), Some(8));
        assert_eq!(next_number(MAX_SERVER_NUMBER - 1, &[]), Some(MAX_SERVER_NUMBER));
        assert_eq!(next_number(MAX_SERVER_NUMBER, &[1]), Some(2));
        let all: Vec<u16> = (1..=MAX_SERVER_NUMBER).collect();
        assert_eq!(next_number(7, &all), None);
        assert_eq!(next_number(7, &all[1..]), Some(1));
    }
}
