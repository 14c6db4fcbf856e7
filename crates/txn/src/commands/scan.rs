//! Scan: a page of a range at a timestamp. A lock in the way ends the page with a pair that carries it.

use base::{KeyRange, TimeStamp};
use bytes::Bytes;
use engine::{Engine, ReadTier};
use mvcc::ScanOptions;
use proto::kvrpcpb::{KeyError, KvPair, ScanRequest, ScanResponse};

use crate::{
    error::{Error, Result},
    storage::{Inner, Storage, lock_policy},
};

impl<E: Engine> Storage<E> {
    /// Reads a page of a range.
    pub async fn scan(&self, request: ScanRequest) -> Result<ScanResponse> {
        let ts = TimeStamp(request.version);
        if ts.is_max() {
            return Err(Error::InvalidRequest("a scan needs a timestamp"));
        }
        let (start, end) = match request.reverse {
            false => (request.start_key.clone(), request.end_key.clone()),
            true => (request.end_key.clone(), request.start_key.clone()),
        };
        let range = KeyRange { start, end };
        self.prepare_scan(&range, ts).await?;
        let context = request.context.as_deref();
        let options = ScanOptions {
            range,
            ts,
            reverse: request.reverse,
            policy: lock_policy(context, false),
            tier: ReadTier::CacheOnly,
            skip_cache: context.is_some_and(|context| context.not_fill_cache),
        };
        let (limit, key_only) = (request.limit as usize, request.key_only);
        let pairs = match self.inner.read_page(options.clone(), limit, key_only) {
            Err(error) if error.is_would_block() => {
                let inner = self.inner.clone();
                let options = ScanOptions { tier: ReadTier::Any, ..options };
                let job = move || inner.read_page(options, limit, key_only);
                self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))?
            }
            pairs => pairs?,
        };
        Ok(ScanResponse { pairs, ..Default::default() })
    }
}

impl<E: Engine> Inner<E> {
    fn read_page(&self, options: ScanOptions, limit: usize, key_only: bool) -> Result<Vec<KvPair>> {
        let mut scanner = self.open_scanner(options)?;
        let mut pairs = Vec::with_capacity(limit.min(256));
        while pairs.len() < limit {
            match scanner.next() {
                Ok(None) => break,
                Ok(Some((key, value))) => pairs.push(KvPair {
                    error: None,
                    key: Bytes::copy_from_slice(key),
                    value: if key_only { Bytes::new() } else { Bytes::copy_from_slice(value) },
                }),
                Err(Error::KeyIsLocked(lock)) => {
                    let key = lock.key.clone();
                    let error = KeyError { locked: Some(lock), ..Default::default() };
                    pairs.push(KvPair { error: Some(Box::new(error)), key, ..Default::default() });
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        scanner.check_safe_point()?;
        Ok(pairs)
    }
}
