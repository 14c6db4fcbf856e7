//! Batch get: several keys at one timestamp. Absent keys are left out of the answer, locked ones carry their lock.

use base::TimeStamp;
use engine::{Engine, ReadTier};
use mvcc::LockPolicy;
use proto::kvrpcpb::{BatchGetRequest, BatchGetResponse, KvPair};

use crate::{
    error::{Error, Result, key_error},
    storage::{Inner, Storage, lock_policy},
};

impl<E: Engine> Storage<E> {
    /// Reads several keys.
    pub async fn batch_get(&self, request: BatchGetRequest) -> Result<BatchGetResponse> {
        let ts = TimeStamp(request.version);
        if ts.is_max() && request.keys.len() > 1 {
            return Err(Error::InvalidRequest("newest versions of several keys are not of one moment"));
        }
        for key in &request.keys {
            self.wait_for_commits_in_flight(key, ts).await?;
        }
        let policy = lock_policy(request.context.as_deref(), self.inner.no_stored_locks());
        let mut pairs = Vec::with_capacity(request.keys.len());
        match self.inner.read_keys(&request, &policy, ReadTier::CacheOnly, &mut pairs) {
            Err(error) if error.is_would_block() => {
                let inner = self.inner.clone();
                let job = move || {
                    pairs.clear();
                    inner.read_keys(&request, &policy, ReadTier::Any, &mut pairs).map(|()| pairs)
                };
                pairs = self.inner.env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))?;
            }
            result => result?,
        }
        Ok(BatchGetResponse { pairs, ..Default::default() })
    }
}

impl<E: Engine> Inner<E> {
    fn read_keys(&self, request: &BatchGetRequest, policy: &LockPolicy, tier: ReadTier, pairs: &mut Vec<KvPair>) -> Result<()> {
        for key in &request.keys {
            match self.read_key(key, TimeStamp(request.version), policy, tier) {
                Ok(None) => {}
                Ok(Some(value)) => pairs.push(KvPair { error: None, key: key.clone(), value }),
                Err(error) => pairs.push(KvPair { error: Some(Box::new(key_error(error)?)), key: key.clone(), ..Default::default() }),
            }
        }
        Ok(())
    }
}
