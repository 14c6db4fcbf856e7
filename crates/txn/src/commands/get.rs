//! Get: one key at a timestamp, or its newest version.
//!
//! The common case, a cached block and no locks in the way, is two atomic loads, one exact lookup and one copy on the caller's thread.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, ReadTier};
use mvcc::{LockPolicy, MvccReader, RECORD_HEADER_LEN, VersionValue};
use proto::kvrpcpb::{GetRequest, GetResponse};

use crate::{
    error::{Error, Result, key_error},
    storage::{Inner, Storage, lock_policy},
};

impl<E: Engine> Storage<E> {
    /// Reads one key; version `u64::MAX` reads the newest.
    pub async fn get(&self, request: GetRequest) -> Result<GetResponse> {
        let ts = TimeStamp(request.version);
        self.wait_for_commits_in_flight(&request.key, ts).await?;
        let policy = lock_policy(request.context.as_deref(), self.inner.no_stored_locks());
        let value = match self.inner.read_and_remember(&request.key, ts, &policy, ReadTier::CacheOnly) {
            Err(mvcc::Error::Engine(engine::Error::WouldBlock)) => {
                let inner = self.inner.clone();
                let job = move || inner.read_and_remember(&request.key, ts, &policy, ReadTier::Any);
                self.inner.env.run_blocking(job).await.ok_or(Error::Stopped)?
            }
            value => value,
        };
        match value {
            Ok(Some(value)) => Ok(GetResponse { value, ..Default::default() }),
            Ok(None) => Ok(GetResponse { not_found: true, ..Default::default() }),
            Err(error) => Ok(GetResponse { error: Some(Box::new(key_error(error)?)), ..Default::default() }),
        }
    }

    /// What comes before a read of a key at `ts`: the read is announced, and commits it must see are waited for.
    #[inline]
    pub(crate) async fn wait_for_commits_in_flight(&self, key: &[u8], ts: TimeStamp) -> Result<()> {
        self.inner.check_readable(ts)?;
        // The newest version may be any that is committed now; nobody was told of a commit in flight.
        if !ts.is_max() {
            self.inner.max_ts.raise(ts);
            while let Some(commit) = self.inner.in_flight.blocking_key(key, ts) {
                commit.applied().await;
            }
        }
        Ok(())
    }
}

impl<E: Engine> Inner<E> {
    #[inline]
    pub(crate) fn read_key(&self, key: &[u8], ts: TimeStamp, policy: &LockPolicy, tier: ReadTier) -> mvcc::Result<Option<Bytes>> {
        let value = MvccReader::new(&self.engine).with_tier(tier).get(key, ts, policy)?.map(|value| Bytes::copy_from_slice(&value));
        self.check_still_readable(ts)?;
        Ok(value)
    }

    /// [`Inner::read_key`] for a transaction that may be about to replace what it reads. Statements that read the newest version write nothing.
    #[inline]
    fn read_and_remember(&self, key: &Bytes, ts: TimeStamp, policy: &LockPolicy, tier: ReadTier) -> mvcc::Result<Option<Bytes>> {
        let visit = if ts.is_max() { None } else { self.recent.visit(key) };
        let value = MvccReader::new(&self.engine).with_tier(tier).get(key, ts, policy)?.map(|value| match (value, visit) {
            (VersionValue::Current(record), Some(visit)) => {
                let record = Bytes::copy_from_slice(&record);
                visit.remember(key, &record);
                record.slice(RECORD_HEADER_LEN..)
            }
            (value, _) => Bytes::copy_from_slice(&value),
        });
        self.check_still_readable(ts)?;
        Ok(value)
    }

    /// Rule 2, after a read: compaction may have taken the version while it was read.
    #[inline]
    fn check_still_readable(&self, ts: TimeStamp) -> mvcc::Result<()> {
        mvcc::guards::readable_at(ts, self.safe_points.readable_floor())
    }
}
