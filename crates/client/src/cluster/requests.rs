//! The requests of the transactional API over all regions: each is made into one request a region, and the answers into one answer.
//!
//! What callers may rely on is what one store would do, but for two things that regions make different: prewrites commit in one phase only where
//! all keys lie in one region, and locks of a request that fails may have been taken in some regions.

use std::time::Duration;

use base::TimeStamp;
use bytes::Bytes;
use proto::kvrpcpb::*;

use super::{ClusterStore, command::Command, spread::Spread};
use crate::error::{Error, Result, WaitEdge};

/// Who waits can look again a little later.
const LOCK_WAITS_TIMEOUT: Duration = Duration::from_secs(1);

/// Keys with requests that differ only in them.
struct ByKey<'a, C, F: Fn(Vec<Bytes>) -> C + Sync> {
    keys: &'a [Bytes],
    make: F,
}

impl<C: Command, F: Fn(Vec<Bytes>) -> C + Sync> Spread<C> for ByKey<'_, C, F> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn key(&self, item: usize) -> Bytes {
        self.keys[item].clone()
    }

    fn request(&self, items: &[usize]) -> C {
        (self.make)(items.iter().map(|&item| self.keys[item].clone()).collect())
    }
}

/// Requests for keys, with the answers' errors: the first one stands for all.
macro_rules! spread_over_keys {
    ($self:ident, $request:ident) => {{
        let keys = $request.keys.clone();
        let make = |keys: Vec<Bytes>| {
            let mut part = $request.clone();
            part.keys = keys;
            part
        };
        $self.spread(&ByKey { keys: &keys, make }).await
    }};
}

struct Prewrite<'a>(&'a PrewriteRequest);

impl Spread<PrewriteRequest> for Prewrite<'_> {
    fn len(&self) -> usize {
        self.0.mutations.len()
    }

    fn key(&self, item: usize) -> Bytes {
        self.0.mutations[item].key.clone()
    }

    fn request(&self, items: &[usize]) -> PrewriteRequest {
        let whole = self.0;
        if items.len() == whole.mutations.len() {
            return whole.clone();
        }
        let has_primary = items.iter().any(|&item| whole.mutations[item].key == whole.primary_lock);
        PrewriteRequest {
            context: whole.context.clone(),
            mutations: items.iter().map(|&item| whole.mutations[item].clone()).collect(),
            pessimistic_actions: match whole.pessimistic_actions.is_empty() {
                true => Vec::new(),
                false => items.iter().map(|&item| whole.pessimistic_actions[item]).collect(),
            },
            primary_lock: whole.primary_lock.clone(),
            start_version: whole.start_version,
            lock_ttl: whole.lock_ttl,
            for_update_ts: whole.for_update_ts,
            txn_size: whole.txn_size,
            min_commit_ts: whole.min_commit_ts,
            max_commit_ts: whole.max_commit_ts,
            use_async_commit: whole.use_async_commit,
            // Only the primary's lock names the others.
            secondaries: if has_primary { whole.secondaries.clone() } else { Vec::new() },
            // Only one region can do it all at once.
            try_one_pc: false,
            ..Default::default()
        }
    }
}

struct Locks<'a>(&'a PessimisticLockRequest);

impl Spread<PessimisticLockRequest> for Locks<'_> {
    fn len(&self) -> usize {
        self.0.mutations.len()
    }

    fn key(&self, item: usize) -> Bytes {
        self.0.mutations[item].key.clone()
    }

    fn request(&self, items: &[usize]) -> PessimisticLockRequest {
        let mut part = self.0.clone();
        part.mutations = items.iter().map(|&item| self.0.mutations[item].clone()).collect();
        part
    }
}

impl ClusterStore {
    pub(crate) async fn get(&self, request: GetRequest) -> Result<GetResponse> {
        self.at_key(request.key.clone(), request).await
    }

    pub(crate) async fn check_txn_status(&self, request: CheckTxnStatusRequest) -> Result<CheckTxnStatusResponse> {
        self.at_key(request.primary_key.clone(), request).await
    }

    pub(crate) async fn txn_heart_beat(&self, request: TxnHeartBeatRequest) -> Result<TxnHeartBeatResponse> {
        self.at_key(request.primary_lock.clone(), request).await
    }

    /// Pairs come in the order of the keys.
    pub(crate) async fn batch_get(&self, request: BatchGetRequest) -> Result<BatchGetResponse> {
        let mut parts = spread_over_keys!(self, request)?;
        for pair in parts.iter_mut().flat_map(|(_, answer)| &mut answer.pairs) {
            name_locked_key(pair);
        }
        if parts.len() == 1
            && let Some((_, answer)) = parts.pop()
        {
            return Ok(answer);
        }
        let mut found: Vec<(usize, KvPair)> = Vec::new();
        for (items, answer) in parts {
            if answer.error.is_some() {
                return Ok(answer);
            }
            let mut asked = items.into_iter();
            for pair in answer.pairs {
                let Some(item) = asked.by_ref().find(|&item| request.keys[item] == pair.key) else {
                    return Err(Error::Corrupted { reason: "a store answered a key that was not asked for".to_owned() });
                };
                found.push((item, pair));
            }
        }
        found.sort_unstable_by_key(|(item, _)| *item);
        Ok(BatchGetResponse { pairs: found.into_iter().map(|(_, pair)| pair).collect(), ..Default::default() })
    }

    /// Goes on over borders of regions until the page is full, the range is at its end or a lock is met.
    pub(crate) async fn scan(&self, request: ScanRequest) -> Result<ScanResponse> {
        let mut patience = self.patience();
        let mut page = ScanResponse::default();
        let mut part = request.clone();
        loop {
            let region = match request.reverse {
                false => self.region_of(&part.start_key, &mut patience).await?,
                true => self.region_below(&part.start_key, &mut patience).await?,
            };
            let border = if request.reverse { &region.range.start } else { &region.range.end };
            let is_last = match request.reverse {
                false => border.is_empty() || (!request.end_key.is_empty() && request.end_key <= *border),
                true => *border <= request.end_key,
            };
            part.end_key = if is_last { request.end_key.clone() } else { border.clone() };
            part.limit = request.limit - page.pairs.len() as u32;
            let Some(answer) = self.send(&region, part.clone(), &mut patience).await? else { continue };
            if answer.error.is_some() {
                return Ok(answer);
            }
            let is_locked = answer.pairs.last().is_some_and(|pair| pair.error.is_some());
            page.pairs.extend(answer.pairs);
            if is_last || is_locked || page.pairs.len() >= request.limit as usize {
                return Ok(page);
            }
            part.start_key = border.clone();
        }
    }

    /// As many locks as asked for, in key order over all regions.
    pub(crate) async fn scan_lock(&self, request: ScanLockRequest) -> Result<ScanLockResponse> {
        let mut patience = self.patience();
        let mut found = ScanLockResponse::default();
        let mut part = request.clone();
        loop {
            let region = self.region_of(&part.start_key, &mut patience).await?;
            let border = &region.range.end;
            let is_last = border.is_empty() || (!request.end_key.is_empty() && request.end_key <= *border);
            part.end_key = if is_last { request.end_key.clone() } else { border.clone() };
            part.limit = request.limit.saturating_sub(found.locks.len() as u32);
            let Some(answer) = self.send(&region, part.clone(), &mut patience).await? else { continue };
            if answer.error.is_some() {
                return Ok(answer);
            }
            found.locks.extend(answer.locks);
            if is_last || (request.limit > 0 && found.locks.len() >= request.limit as usize) {
                return Ok(found);
            }
            part.start_key = border.clone();
            // Each region has its own time: there may be many.
            patience = self.patience();
        }
    }

    pub(crate) async fn prewrite(&self, request: &PrewriteRequest) -> Result<PrewriteResponse> {
        let parts = self.spread(&Prewrite(request)).await?;
        let mut whole = PrewriteResponse::default();
        let mut fell_back = false;
        for (_, answer) in parts {
            whole.errors.extend(answer.errors);
            fell_back |= answer.min_commit_ts == 0;
            whole.min_commit_ts = whole.min_commit_ts.max(answer.min_commit_ts);
            whole.one_pc_commit_ts = whole.one_pc_commit_ts.max(answer.one_pc_commit_ts);
        }
        if fell_back {
            whole.min_commit_ts = 0;
        }
        // Locks are resolved together; any other error stands alone.
        if let Some(error) = whole.errors.iter().find(|error| error.locked.is_none()).cloned() {
            whole.errors = vec![error];
        }
        Ok(whole)
    }

    /// Locks in several regions. If this fails, or the answer has errors, some of the locks may have been taken.
    pub(crate) async fn pessimistic_lock(&self, request: &PessimisticLockRequest) -> Result<PessimisticLockResponse> {
        let mut parts = self.spread(&Locks(request)).await?;
        if parts.len() == 1
            && let Some((_, answer)) = parts.pop()
        {
            return Ok(answer);
        }
        let count = request.mutations.len();
        let mut whole = PessimisticLockResponse::default();
        for (items, answer) in parts {
            whole.errors.extend(answer.errors);
            if !whole.errors.is_empty() {
                continue;
            }
            put_in_place(&mut whole.values, count, &items, answer.values)?;
            put_in_place(&mut whole.not_founds, count, &items, answer.not_founds)?;
            put_in_place(&mut whole.results, count, &items, answer.results)?;
        }
        Ok(whole)
    }

    pub(crate) async fn pessimistic_rollback(&self, request: PessimisticRollbackRequest) -> Result<PessimisticRollbackResponse> {
        let mut whole = PessimisticRollbackResponse::default();
        for (_, answer) in spread_over_keys!(self, request)? {
            whole.errors.extend(answer.errors);
        }
        Ok(whole)
    }

    pub(crate) async fn commit(&self, request: CommitRequest) -> Result<CommitResponse> {
        let parts = spread_over_keys!(self, request)?;
        Ok(parts.into_iter().map(|(_, answer)| answer).reduce(|a, b| if a.error.is_some() { a } else { b }).unwrap_or_default())
    }

    pub(crate) async fn batch_rollback(&self, request: BatchRollbackRequest) -> Result<BatchRollbackResponse> {
        let parts = spread_over_keys!(self, request)?;
        Ok(parts.into_iter().map(|(_, answer)| answer).reduce(|a, b| if a.error.is_some() { a } else { b }).unwrap_or_default())
    }

    /// Locks that are all there, or when the transaction was committed (zero: it was rolled back) if one is not.
    pub(crate) async fn check_secondary_locks(&self, request: CheckSecondaryLocksRequest) -> Result<CheckSecondaryLocksResponse> {
        let mut whole = CheckSecondaryLocksResponse::default();
        for (_, answer) in spread_over_keys!(self, request)? {
            if answer.error.is_some() {
                return Ok(answer);
            }
            whole.locks.extend(answer.locks);
            whole.commit_ts = whole.commit_ts.max(answer.commit_ts);
        }
        Ok(whole)
    }

    /// Locks on the request's keys.
    pub(crate) async fn resolve_lock(&self, request: ResolveLockRequest) -> Result<ResolveLockResponse> {
        let parts = spread_over_keys!(self, request)?;
        Ok(parts.into_iter().map(|(_, answer)| answer).reduce(|a, b| if a.error.is_some() { a } else { b }).unwrap_or_default())
    }

    /// All locks of a transaction in the region that holds `key`.
    pub(crate) async fn resolve_locks_around(&self, key: Bytes, request: ResolveLockRequest) -> Result<ResolveLockResponse> {
        self.at_key(key, request).await
    }

    /// Who waits for whose locks, in all stores that answer.
    pub(crate) async fn lock_waits(&self) -> Result<Vec<WaitEdge>> {
        let stores = self.inner.pd.stores().await?;
        let asked = stores.into_iter().map(async |store| {
            let mut stub = self.inner.stores.connection(store.id).await.ok()?.stub;
            let mut request = tonic::Request::new(GetLockWaitInfoRequest::default());
            request.set_timeout(LOCK_WAITS_TIMEOUT);
            Some(stub.get_lock_wait_info(request).await.ok()?.into_inner().entries)
        });
        let entries = futures_util::future::join_all(asked).await.into_iter().flatten().flatten();
        let edge = |entry: proto::deadlock::WaitForEntry| WaitEdge {
            waiter: TimeStamp(entry.txn),
            holder: TimeStamp(entry.wait_for_txn),
            key: entry.key,
        };
        Ok(entries.map(edge).collect())
    }

    /// Goes to every store that is not removed for good: the range's regions may have been anywhere.
    pub(crate) async fn unsafe_destroy_range(&self, request: UnsafeDestroyRangeRequest) -> Result<UnsafeDestroyRangeResponse> {
        for store in self.inner.pd.stores().await?.into_iter().filter(|store| !is_columnar(store)) {
            let mut stub = self.inner.stores.connection(store.id).await?.stub;
            let unanswered = |reason: String| Error::StoreUnavailable { reason, unanswered: true };
            let answer = stub.unsafe_destroy_range(request.clone()).await;
            let answer = answer.map_err(|status| unanswered(format!("store {}: {}", store.id, status.message())))?.into_inner();
            if !answer.error.is_empty() {
                return Err(Error::StoreFailed { reason: answer.error });
            }
        }
        Ok(UnsafeDestroyRangeResponse::default())
    }
}

/// Some stores name a locked key in the error only.
fn name_locked_key(pair: &mut KvPair) {
    if pair.key.is_empty()
        && let Some(lock) = pair.error.as_ref().and_then(|error| error.locked.as_ref())
    {
        pair.key = lock.key.clone();
    }
}

/// Whether a store holds copies in columns for analysis, and no regions of its own.
fn is_columnar(store: &proto::metapb::Store) -> bool {
    store.labels.iter().any(|label| label.key == "engine" && label.value.starts_with("tiflash"))
}

/// Writes a part's list, which is empty or has an element for each of its items, to where the items stand in the whole.
fn put_in_place<T: Clone + Default>(whole: &mut Vec<T>, count: usize, items: &[usize], part: Vec<T>) -> Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    if part.len() != items.len() {
        return Err(Error::Corrupted { reason: "a store answered another number of keys than were to be locked".to_owned() });
    }
    whole.resize(count, T::default());
    for (&item, element) in items.iter().zip(part) {
        whole[item] = element;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_prewrite_may_commit_in_one_phase_and_only_the_primary_names_the_others() {
        let mutation = |key: &'static str| Mutation { key: key.into(), ..Default::default() };
        let whole = PrewriteRequest {
            mutations: vec![mutation("a"), mutation("m"), mutation("z")],
            pessimistic_actions: vec![0, 1, 2],
            primary_lock: "a".into(),
            secondaries: vec!["m".into(), "z".into()],
            try_one_pc: true,
            use_async_commit: true,
            ..Default::default()
        };
        assert_eq!(Prewrite(&whole).request(&[0, 1, 2]), whole);
        let first = Prewrite(&whole).request(&[0, 1]);
        assert!(!first.try_one_pc && first.use_async_commit && first.secondaries.len() == 2 && first.pessimistic_actions == [0, 1]);
        let second = Prewrite(&whole).request(&[2]);
        assert!(!second.try_one_pc && second.secondaries.is_empty() && second.pessimistic_actions == [2]);
    }

    #[test]
    fn a_locked_key_is_named_by_its_lock() {
        let lock = proto::kvrpcpb::LockInfo { key: "k".into(), ..Default::default() };
        let error = Some(Box::new(proto::kvrpcpb::KeyError { locked: Some(Box::new(lock)), ..Default::default() }));
        let mut pairs = [KvPair { error, ..Default::default() }, KvPair { key: "other".into(), ..Default::default() }, KvPair::default()];
        pairs.iter_mut().for_each(name_locked_key);
        assert_eq!(pairs.map(|pair| pair.key), ["k", "other", ""]);
    }

    #[test]
    fn answers_about_keys_return_to_their_places() {
        let mut values: Vec<u32> = Vec::new();
        put_in_place(&mut values, 4, &[3, 1], vec![30, 10]).unwrap();
        put_in_place(&mut values, 4, &[0, 2], vec![0, 20]).unwrap();
        assert_eq!(values, [0, 10, 20, 30]);
        assert!(put_in_place(&mut values, 4, &[0, 2], vec![1]).is_err());
    }
}
