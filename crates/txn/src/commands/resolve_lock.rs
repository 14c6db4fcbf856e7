//! Resolve lock: turns the locks of decided transactions into versions, or removes them.
//!
//! With keys, those of one transaction on these keys. Without, all locks of the transactions named, found by scanning; each batch of
//! keys is latched and looked at again, since a lock may have gone in between.

use base::TimeStamp;
use bytes::Bytes;
use engine::{Engine, ReadTier, SpaceUse};
use mvcc::{MvccReader, MvccTxn, steps};
use proto::kvrpcpb::{ResolveLockRequest, ResolveLockResponse};
use rustc_hash::FxHashMap;

use crate::{
    error::{Error, Result, key_error},
    storage::Storage,
    write::{Command, ProcessContext},
};

/// Locks resolved by one write.
const BATCH_KEYS: usize = 256;

#[derive(Clone)]
struct ResolveLocks {
    /// Key, start_ts, commit_ts (zero: rolled back).
    locks: Vec<(Bytes, TimeStamp, TimeStamp)>,
}

impl<E: Engine> Storage<E> {
    /// Commits or rolls back locks whose transactions' fates are known.
    pub async fn resolve_lock(&self, request: ResolveLockRequest) -> Result<ResolveLockResponse> {
        if !request.keys.is_empty() {
            let (start_ts, commit_ts) = (TimeStamp(request.start_version), TimeStamp(request.commit_version));
            let mut locks = request.keys.into_iter().map(|key| (key, start_ts, commit_ts)).peekable();
            while locks.peek().is_some() {
                let response = self.execute(&ResolveLocks { locks: locks.by_ref().take(BATCH_KEYS).collect() }).await?;
                if response.error.is_some() {
                    return Ok(response);
                }
            }
            return Ok(ResolveLockResponse::default());
        }
        let mut fates: FxHashMap<TimeStamp, TimeStamp> =
            request.txn_infos.iter().map(|info| (TimeStamp(info.txn), TimeStamp(info.status))).collect();
        if request.start_version > 0 {
            fates.insert(TimeStamp(request.start_version), TimeStamp(request.commit_version));
        }
        self.resolve_by_scan(fates).await
    }

    async fn resolve_by_scan(&self, fates: FxHashMap<TimeStamp, TimeStamp>) -> Result<ResolveLockResponse> {
        let fates = std::sync::Arc::new(fates);
        let mut from = Vec::new();
        loop {
            let (inner, known, start) = (self.inner.clone(), fates.clone(), from.clone());
            let job = move || {
                let mut locks = MvccReader::new(&inner.engine)
                    .with_tier(ReadTier::Any)
                    .scan_locks(&start, b"", BATCH_KEYS, |lock| known.contains_key(&lock.start_ts))?;
                locks.extend(inner.pessimistic.list(|key, lock| key >= &start[..] && known.contains_key(&lock.start_ts)));
                locks.sort_by(|a, b| a.0.cmp(&b.0));
                locks.truncate(BATCH_KEYS);
                Ok(locks)
            };
            let found = self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))?;
            let Some((last, _)) = found.last() else { return Ok(ResolveLockResponse::default()) };
            from = [last, &b"\0"[..]].concat();
            let locks = found.into_iter().map(|(key, lock)| {
                let commit_ts = fates.get(&lock.start_ts).copied().unwrap_or(TimeStamp::ZERO);
                (key, lock.start_ts, commit_ts)
            });
            let response = self.execute(&ResolveLocks { locks: locks.collect() }).await?;
            if response.error.is_some() {
                return Ok(response);
            }
        }
    }
}

impl Command for ResolveLocks {
    type Answer = ResolveLockResponse;

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.locks.iter().map(|(key, ..)| &key[..])
    }

    fn start_ts(&self) -> Option<TimeStamp> {
        self.locks.iter().map(|(_, start_ts, _)| *start_ts).min()
    }

    fn process<E: Engine>(&self, context: &mut ProcessContext<'_, E>) -> Result<ResolveLockResponse> {
        let mut response = ResolveLockResponse::default();
        for (key, start_ts, commit_ts) in &self.locks {
            if let Err(error) = steps::resolve_lock(&mut context.reader, &mut context.txn, key, *start_ts, *commit_ts) {
                context.txn = MvccTxn::new();
                response.error = Some(Box::new(key_error(error)?));
                break;
            }
        }
        Ok(response)
    }

    fn space(&self) -> SpaceUse {
        SpaceUse::Essential
    }
}
