//! Which server of a cluster runs the queued jobs.
//!
//! ```text
//!   job submitted anywhere ─▶ lease free or over? take it ─▶ run the queue until it is empty ─▶ give the lease back
//!                                  │ held by another server
//!                                  └▶ that one looks at the queue while it owns it; the submitter watches for the job's end
//! ```
//!
//! The lease is a meta key that names its holder. It is held while there is work only, so an idle cluster has no owner and the server that is asked
//! runs the job itself. A holder that dies is replaced when its lease is over.
//!
//! Invariants:
//! - Whatever an owner writes, it writes together with the lease key, in one transaction: so writes of two owners conflict, and a server that has lost
//!   the lease writes nothing more.
//! - Giving the lease back conflicts with submitting: no job is left in a queue that nobody looks at.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use base::TimeStamp;
use catalog::{
    Servers, change_meta,
    meta::{Meta, keys},
};
use client::TxnOptions;
use codec::meta::value_key;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::{Error, Result, owner::Owner, queue};

/// How long the lease is good without being renewed.
const LEASE: Duration = Duration::from_secs(10);
/// How often an owner looks for jobs that others have queued, and for wishes to cancel.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often other servers look whether there are jobs without an owner.
const ATTEND_EVERY: Duration = Duration::from_secs(2);
/// Pauses of who waits for a job that another server runs.
const FIRST_WATCH: Duration = Duration::from_millis(20);
const LONGEST_WATCH: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Holder {
    server: i64,
    /// In milliseconds of the placement driver's timestamps.
    expires_ms: u64,
}

/// This server's part in owning the queue.
pub(crate) struct Ownership {
    servers: Servers,
    work: Notify,
}

impl Ownership {
    pub(crate) fn new(servers: Servers) -> Self {
        Self { servers, work: Notify::new() }
    }

    /// There is something to do.
    pub(crate) fn wake(&self) {
        self.work.notify_one();
    }

    fn lease_from(&self, now: TimeStamp) -> Holder {
        Holder { server: self.servers.id(), expires_ms: now.physical_ms() + LEASE.as_millis() as u64 }
    }

    /// Writes the lease anew in `meta`'s transaction, if it is this server's.
    pub(crate) async fn confirm(&self, meta: &mut Meta<'_>, now: TimeStamp) -> Result<()> {
        let key = value_key(keys::DDL_OWNER);
        match meta.get::<Holder>(&key).await? {
            Some(holder) if holder.server == self.servers.id() => Ok(meta.put(key, &self.lease_from(now))?),
            _ => Err(Error::NotOwner),
        }
    }

    /// Takes the lease if it is free, over, or this server's already.
    async fn acquire(&self, owner: &Owner) -> Result<bool> {
        Ok(change_meta!(owner.catalog.client(), TxnOptions::default(), |meta, now| {
            let key = value_key(keys::DDL_OWNER);
            let is_free = match meta.get::<Holder>(&key).await? {
                Some(holder) => holder.server == self.servers.id() || holder.expires_ms <= now.physical_ms(),
                None => true,
            };
            if is_free {
                meta.put(key, &self.lease_from(now))?;
            }
            is_free
        }))
    }

    /// Gives the lease back unless there are jobs; whether it did.
    async fn release(&self, owner: &Owner) -> Result<bool> {
        Ok(change_meta!(owner.catalog.client(), TxnOptions::default(), |meta, _now| {
            let is_empty = queue::unfinished(meta).await?.is_empty();
            if is_empty {
                // Whoever submits a job takes ids too: one of the two comes first, and the other one sees it.
                meta.touch_ids().await?;
                meta.remove(value_key(keys::DDL_OWNER));
                for id in queue::cancels(meta).await? {
                    queue::remove_cancel(meta, id);
                }
            }
            is_empty
        }))
    }
}

/// This server stops: gives the lease back, whatever is in the queue.
pub(crate) async fn hand_over(owner: &Owner) -> Result<()> {
    let Some(ownership) = &owner.ownership else { return Ok(()) };
    change_meta!(owner.catalog.client(), TxnOptions::default(), |meta, _now| {
        let key = value_key(keys::DDL_OWNER);
        if meta.get::<Holder>(&key).await?.is_some_and(|holder| holder.server == ownership.servers.id()) {
            meta.remove(key);
        }
    });
    Ok(())
}

/// Writes down that a job is to be cancelled, for the server that runs it; false when there is no such job.
pub(crate) async fn request_cancel(owner: &Owner, id: i64) -> Result<bool> {
    Ok(change_meta!(owner.catalog.client(), TxnOptions::default(), |meta, _now| {
        let is_known = queue::find(meta, id).await?.is_some();
        if is_known {
            queue::put_cancel(meta, id)?;
        }
        is_known
    }))
}

/// What is in the queue, and what is to be cancelled.
async fn look(owner: &Owner) -> Result<(Vec<crate::job::Job>, Vec<i64>)> {
    let mut txn = owner.catalog.client().begin(TxnOptions::default());
    let mut meta = Meta::new(&mut txn);
    Ok((queue::unfinished(&mut meta).await?, queue::cancels(&mut meta).await?))
}

/// Waits for work as long as there is an owner object, and does it when the lease can be had.
pub(crate) async fn attend(weak: Weak<Owner>) {
    loop {
        let Some(owner) = weak.upgrade().filter(|owner| !owner.is_stopped()) else { return };
        let Some(ownership) = &owner.ownership else { return };
        let worked = async {
            let (jobs, _) = look(&owner).await?;
            if !jobs.is_empty() && ownership.acquire(&owner).await? {
                run_queue(&owner, ownership).await?;
            }
            Ok::<(), Error>(())
        };
        if let Err(error) = worked.await {
            tracing::info!(%error, "could not look after the queue of schema changes; trying again");
        }
        let env = owner.catalog.client().env().clone();
        tokio::select! {
            () = ownership.work.notified() => {}
            () = env.sleep(ATTEND_EVERY) => {}
        }
    }
}

/// Runs the queue as its owner until it is empty, or the lease is another server's.
async fn run_queue(owner: &Arc<Owner>, ownership: &Ownership) -> Result<()> {
    let env = owner.catalog.client().env().clone();
    let mut renewed = env.now();
    // Steps are planned with the newest schema.
    owner.catalog.reload().await?;
    loop {
        if owner.is_stopped() {
            return Ok(());
        }
        if env.now() >= renewed + LEASE / 3 {
            if !ownership.acquire(owner).await? {
                owner.let_go();
                return Err(Error::NotOwner);
            }
            renewed = env.now();
        }
        let (jobs, cancels) = look(owner).await?;
        owner.take_in(jobs, &cancels);
        if !owner.is_running_jobs() && ownership.release(owner).await? {
            owner.let_go();
            return Ok(ownership.servers.sweep().await?);
        }
        tokio::select! {
            () = ownership.work.notified() => {}
            () = env.sleep(LOOK_EVERY) => {}
        }
    }
}

/// Waits until a change is known on all servers: whatever the client of the statement does next, and wherever, is to see it.
async fn change_is_known(owner: &Owner, version: u64) -> Result<()> {
    owner.catalog.reload().await?;
    if let Some(servers) = owner.catalog.servers() {
        servers.wait_for_version(version, &[], || owner.is_stopped()).await?;
    }
    Ok(())
}

/// Waits for the end of a job that somebody here has submitted and that may run anywhere.
pub(crate) async fn watch_job(weak: Weak<Owner>, id: i64) {
    let mut pause = FIRST_WATCH;
    loop {
        let Some(owner) = weak.upgrade().filter(|owner| owner.has_waiter(id)) else { return };
        let env = owner.catalog.client().env().clone();
        let mut txn = owner.catalog.client().begin(TxnOptions::default());
        let found = queue::find_finished(&mut Meta::new(&mut txn), id).await;
        txn.rollback().await;
        if let Ok(Some(job)) = found {
            match change_is_known(&owner, job.schema_version).await {
                Ok(()) => return owner.report_end(job),
                Err(error) => tracing::info!(%error, "cannot see whether a change is known everywhere; trying again"),
            }
        }
        drop(owner);
        env.sleep(pause).await;
        pause = (pause * 2).min(LONGEST_WATCH);
    }
}
