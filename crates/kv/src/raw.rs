//! The raw API: keys and values without transactions, with an optional time to live.
//!
//! ```text
//! raw   'z' key  →  second the value expires, u64 big-endian, 0 for never | value
//! ```
//!
//! Compare-and-swap is atomic towards other compare-and-swaps and towards writes that say they are `for_cas`: they take the key's latch. Values that
//! have expired are absent to every reader; they are removed when they are overwritten, or with their range.

use std::{hash::BuildHasher as _, ops::ControlFlow};

use bytes::Bytes;
use codec::engine_key::DATA_PREFIX;
use engine::{Cf, Engine, EngineIter as _, EngineRead, IterOptions, ReadTier, SpaceUse, WriteBatch, WriteQueue as _};
use proto::kvrpcpb::*;
use raftstore::{ReadPermit, RegionEngine};
use rustc_hash::FxBuildHasher;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use crate::{
    commands::{Entered, Kv, answered},
    refusal::Refusal,
    routed::{Answer, Routed},
};

const EXPIRY_LEN: usize = 8;
const LATCHES: usize = 256;
/// Pairs of one scan.
const MAX_PAIRS: u32 = 10_240;

/// Latches of keys that are compared and swapped.
pub(crate) struct RawLatches {
    shards: Vec<Mutex<()>>,
}

impl Default for RawLatches {
    fn default() -> Self {
        Self { shards: (0..LATCHES).map(|_| Mutex::default()).collect() }
    }
}

impl RawLatches {
    /// Latches keys, in the order of their shards so that nobody waits in a circle.
    async fn acquire(&self, keys: impl Iterator<Item = &Bytes>) -> Vec<MutexGuard<'_, ()>> {
        let mut shards: Vec<usize> = keys.map(|key| (FxBuildHasher.hash_one(key) >> 32) as usize % LATCHES).collect();
        shards.sort_unstable();
        shards.dedup();
        let mut guards = Vec::with_capacity(shards.len());
        for shard in shards {
            guards.push(self.shards[shard].lock().await);
        }
        guards
    }
}

fn engine_key(key: &[u8]) -> Vec<u8> {
    [&[DATA_PREFIX], key].concat()
}

/// A stored value that has not expired at `now` (seconds): the seconds it has left (0 for ever), and the value.
fn live(stored: &[u8], now: u64) -> Option<(u64, &[u8])> {
    let (expiry, value) = stored.split_first_chunk::<EXPIRY_LEN>()?;
    match u64::from_be_bytes(*expiry) {
        0 => Some((0, value)),
        expiry if expiry > now => Some((expiry - now, value)),
        _ => None,
    }
}

fn check_family(cf: &str) -> Result<(), Refusal> {
    match cf {
        "" | "default" => Ok(()),
        other => Err(Refusal::Request(format!("there is no column family {other:?} for raw keys"))),
    }
}

/// What a scan reads.
#[derive(Clone)]
struct RawRange {
    start: Bytes,
    end: Bytes,
    limit: u32,
    key_only: bool,
    reverse: bool,
}

impl<E: Engine> Kv<E> {
    fn now_seconds(&self) -> u64 {
        self.inner().env.wall_ms() / 1000
    }

    /// Lets a request in, runs `read` where it may wait for the disk, and looks at the permission again.
    async fn raw_read<R, T>(
        &self,
        request: &R,
        cf: &str,
        read: impl FnOnce(RegionEngine<E>, u64) -> engine::Result<T> + Send + 'static,
    ) -> Result<T, Refusal>
    where
        R: Routed,
        T: Send + 'static,
    {
        check_family(cf)?;
        let Entered { permit } = self.enter(request).await?;
        let value = self.raw_read_permitted(&permit, read).await?;
        self.raft().confirm(&permit).await?;
        Ok(value)
    }

    async fn raw_read_permitted<T: Send + 'static>(
        &self,
        permit: &ReadPermit,
        read: impl FnOnce(RegionEngine<E>, u64) -> engine::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let region = self.raft().view(permit.region_id())?.region.clone();
        let engine = RegionEngine::new(self.raft().engine().clone(), &region);
        let now = self.now_seconds();
        let done = self.inner().env.run_blocking(move || read(engine, now)).await;
        done.unwrap_or(Err(engine::Error::ShutDown)).map_err(|error| self.refusal(permit, error.into()))
    }

    async fn raw_write(&self, permit: &ReadPermit, batch: WriteBatch) -> Result<(), Refusal> {
        let (sender, receiver) = oneshot::channel();
        let done = move |result| {
            // The client may have gone away.
            let _ = sender.send(result);
        };
        self.raft().writes(permit).submit(batch, SpaceUse::Grows, Box::new(done));
        let result = receiver.await.unwrap_or(Err(engine::Error::ShutDown));
        result.map_err(|error| self.refusal(permit, error.into()))
    }

    /// Puts and deletes, in one entry of the region's log.
    async fn raw_change<R: Routed, A: Answer>(
        &self,
        request: R,
        cf: &str,
        for_cas: bool,
        changes: Vec<(Bytes, Option<(Bytes, u64)>)>,
    ) -> A {
        let change = async {
            check_family(cf)?;
            let latches = if for_cas { self.inner().raw_latches.acquire(changes.iter().map(|(key, _)| key)).await } else { Vec::new() };
            let Entered { permit } = self.enter(&request).await?;
            let mut batch = WriteBatch::new();
            for (key, change) in &changes {
                match change {
                    Some((value, ttl)) => put(&mut batch, key, value, *ttl, self.now_seconds()),
                    None => batch.delete(Cf::Raw, &engine_key(key)),
                }
            }
            self.raw_write(&permit, batch).await?;
            drop(latches);
            Ok(A::default())
        };
        answered(change.await)
    }

    pub(crate) async fn raw_get(&self, request: RawGetRequest) -> RawGetResponse {
        let key = engine_key(&request.key);
        let found = self.raw_read(&request, &request.cf, move |engine, now| {
            Ok(engine
                .get(Cf::Raw, &key, ReadTier::Any)?
                .and_then(|stored| live(&stored, now).map(|(_, value)| Bytes::copy_from_slice(value))))
        });
        answered(found.await.map(|value| RawGetResponse {
            not_found: value.is_none(),
            value: value.unwrap_or_default(),
            ..Default::default()
        }))
    }

    pub(crate) async fn raw_get_key_ttl(&self, request: RawGetKeyTtlRequest) -> RawGetKeyTtlResponse {
        let key = engine_key(&request.key);
        let found = self.raw_read(&request, &request.cf, move |engine, now| {
            Ok(engine.get(Cf::Raw, &key, ReadTier::Any)?.and_then(|stored| live(&stored, now).map(|(ttl, _)| ttl)))
        });
        answered(found.await.map(|ttl| RawGetKeyTtlResponse { not_found: ttl.is_none(), ttl: ttl.unwrap_or(0), ..Default::default() }))
    }

    pub(crate) async fn raw_batch_get(&self, request: RawBatchGetRequest) -> RawBatchGetResponse {
        let keys = request.keys.clone();
        let found = self.raw_read(&request, &request.cf, move |engine, now| {
            let mut pairs = Vec::new();
            for key in keys {
                if let Some(stored) = engine.get(Cf::Raw, &engine_key(&key), ReadTier::Any)?
                    && let Some((_, value)) = live(&stored, now)
                {
                    pairs.push(KvPair { error: None, value: Bytes::copy_from_slice(value), key });
                }
            }
            Ok(pairs)
        });
        answered(found.await.map(|pairs| RawBatchGetResponse { pairs, ..Default::default() }))
    }

    pub(crate) async fn raw_scan(&self, request: RawScanRequest) -> RawScanResponse {
        let range = RawRange {
            start: request.start_key.clone(),
            end: request.end_key.clone(),
            limit: request.limit.min(MAX_PAIRS),
            key_only: request.key_only,
            reverse: request.reverse,
        };
        let found = self.raw_read(&request, &request.cf, move |engine, now| scan(&engine, &range, now));
        answered(found.await.map(|kvs| RawScanResponse { kvs, ..Default::default() }))
    }

    pub(crate) async fn raw_batch_scan(&self, request: RawBatchScanRequest) -> RawBatchScanResponse {
        let range = |range: &KeyRange| RawRange {
            start: range.start_key.clone(),
            end: range.end_key.clone(),
            limit: request.each_limit.min(MAX_PAIRS),
            key_only: request.key_only,
            reverse: request.reverse,
        };
        let ranges: Vec<RawRange> = request.ranges.iter().map(range).collect();
        let found = self.raw_read(&request, &request.cf, move |engine, now| {
            let mut kvs = Vec::new();
            for range in &ranges {
                kvs.extend(scan(&engine, range, now)?);
            }
            Ok(kvs)
        });
        answered(found.await.map(|kvs| RawBatchScanResponse { kvs, ..Default::default() }))
    }

    pub(crate) async fn raw_put(&self, request: RawPutRequest) -> RawPutResponse {
        let changes = vec![(request.key.clone(), Some((request.value.clone(), request.ttl)))];
        let (cf, for_cas) = (request.cf.clone(), request.for_cas);
        self.raw_change(request, &cf, for_cas, changes).await
    }

    pub(crate) async fn raw_batch_put(&self, request: RawBatchPutRequest) -> RawBatchPutResponse {
        if request.ttls.len() > 1 && request.ttls.len() != request.pairs.len() {
            return answered(Err(Refusal::Request("one time to live for all pairs is needed, or one for each".to_owned())));
        }
        let ttl_of = |index: usize| match request.ttls.len() {
            0 => request.ttl,
            1 => request.ttls[0],
            _ => request.ttls[index],
        };
        let pairs = request.pairs.iter().enumerate();
        let changes = pairs.map(|(index, pair)| (pair.key.clone(), Some((pair.value.clone(), ttl_of(index))))).collect();
        let (cf, for_cas) = (request.cf.clone(), request.for_cas);
        self.raw_change(request, &cf, for_cas, changes).await
    }

    pub(crate) async fn raw_delete(&self, request: RawDeleteRequest) -> RawDeleteResponse {
        let changes = vec![(request.key.clone(), None)];
        let (cf, for_cas) = (request.cf.clone(), request.for_cas);
        self.raw_change(request, &cf, for_cas, changes).await
    }

    pub(crate) async fn raw_batch_delete(&self, request: RawBatchDeleteRequest) -> RawBatchDeleteResponse {
        let changes = request.keys.iter().map(|key| (key.clone(), None)).collect();
        let (cf, for_cas) = (request.cf.clone(), request.for_cas);
        self.raw_change(request, &cf, for_cas, changes).await
    }

    pub(crate) async fn raw_delete_range(&self, request: RawDeleteRangeRequest) -> RawDeleteRangeResponse {
        let deleted = async {
            check_family(&request.cf)?;
            let Entered { permit } = self.enter(&request).await?;
            let end = match request.end_key.is_empty() {
                true => vec![DATA_PREFIX + 1],
                false => engine_key(&request.end_key),
            };
            let mut batch = WriteBatch::new();
            batch.delete_range(Cf::Raw, &engine_key(&request.start_key), &end);
            self.raw_write(&permit, batch).await?;
            Ok(RawDeleteRangeResponse::default())
        };
        answered(deleted.await)
    }

    pub(crate) async fn raw_compare_and_swap(&self, request: RawCasRequest) -> RawCasResponse {
        let swapped = async {
            check_family(&request.cf)?;
            let latches = self.inner().raw_latches.acquire(std::iter::once(&request.key)).await;
            let Entered { permit } = self.enter(&request).await?;
            let key = engine_key(&request.key);
            let previous = self.raw_read_permitted(&permit, move |engine, now| {
                Ok(engine
                    .get(Cf::Raw, &key, ReadTier::Any)?
                    .and_then(|stored| live(&stored, now).map(|(_, value)| Bytes::copy_from_slice(value))))
            });
            let previous = previous.await?;
            let succeed = match &previous {
                None => request.previous_not_exist,
                Some(value) => !request.previous_not_exist && *value == request.previous_value,
            };
            if succeed {
                let mut batch = WriteBatch::new();
                match request.delete {
                    true => batch.delete(Cf::Raw, &engine_key(&request.key)),
                    false => put(&mut batch, &request.key, &request.value, request.ttl, self.now_seconds()),
                }
                self.raw_write(&permit, batch).await?;
            } else {
                self.raft().confirm(&permit).await?;
            }
            drop(latches);
            let previous_not_exist = previous.is_none();
            Ok(RawCasResponse { succeed, previous_not_exist, previous_value: previous.unwrap_or_default(), ..Default::default() })
        };
        answered(swapped.await)
    }

    pub(crate) async fn raw_checksum(&self, request: RawChecksumRequest) -> RawChecksumResponse {
        let ranges = request.ranges.clone();
        let sums = self.raw_read(&request, "", move |engine, now| {
            let mut answer = RawChecksumResponse::default();
            for range in &ranges {
                let range = RawRange {
                    start: range.start_key.clone(),
                    end: range.end_key.clone(),
                    limit: u32::MAX,
                    key_only: false,
                    reverse: false,
                };
                visit(&engine, &range, now, |key, value| {
                    // The checksum of the ecosystem: CRC-64 of key and value together, joined by exclusive or.
                    answer.checksum ^= crc64(&[key, value]);
                    answer.total_kvs += 1;
                    answer.total_bytes += (key.len() + value.len()) as u64;
                    ControlFlow::Continue(())
                })?;
            }
            Ok(answer)
        });
        answered(sums.await)
    }
}

fn put(batch: &mut WriteBatch, key: &[u8], value: &[u8], ttl: u64, now: u64) {
    let expiry = if ttl == 0 { 0 } else { now.saturating_add(ttl) };
    batch.put_parts(Cf::Raw, &engine_key(key), &[&expiry.to_be_bytes(), value]);
}

/// Calls `each` with the live pairs of a range until it says stop.
fn visit<R: EngineRead>(
    engine: &R,
    range: &RawRange,
    now: u64,
    mut each: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> engine::Result<()> {
    // In reverse the range begins behind its greater bound.
    let (lower, upper) = if range.reverse { (&range.end, &range.start) } else { (&range.start, &range.end) };
    let upper = if upper.is_empty() { vec![DATA_PREFIX + 1] } else { engine_key(upper) };
    let mut iter = engine.iter(Cf::Raw, IterOptions { lower: Some(engine_key(lower)), upper: Some(upper), ..IterOptions::default() })?;
    if range.reverse {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        if let Some((_, value)) = live(iter.value(), now)
            && each(&iter.key()[1..], value).is_break()
        {
            return Ok(());
        }
        if range.reverse { iter.prev() } else { iter.next() }
    }
    iter.status()
}

fn scan<R: EngineRead>(engine: &R, range: &RawRange, now: u64) -> engine::Result<Vec<KvPair>> {
    let mut pairs = Vec::new();
    if range.limit == 0 {
        return Ok(pairs);
    }
    visit(engine, range, now, |key, value| {
        let value = if range.key_only { Bytes::new() } else { Bytes::copy_from_slice(value) };
        pairs.push(KvPair { error: None, key: Bytes::copy_from_slice(key), value });
        if pairs.len() < range.limit as usize { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(pairs)
}

/// CRC-64/XZ, bit by bit: a checksum of a whole range reads the disk far longer than this computes.
fn crc64(parts: &[&[u8]]) -> u64 {
    const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;
    let mut crc = !0u64;
    for byte in parts.iter().flat_map(|part| part.iter()) {
        crc ^= u64::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use engine::MemEngine;

    use super::*;

    #[test]
    fn the_checksum_is_the_ecosystems() {
        // The check value of CRC-64/XZ.
        assert_eq!(crc64(&[b"1234", b"56789"]), 0x995D_C9BB_DF19_39FA);
    }

    #[test]
    fn scans_go_both_ways_and_pass_by_what_has_expired() {
        let engine = MemEngine::new();
        let mut batch = WriteBatch::new();
        for (key, ttl) in [("a", 0), ("b", 10), ("c", 0), ("d", 0)] {
            put(&mut batch, key.as_bytes(), b"v", ttl, 100);
        }
        engine.write(batch, false).unwrap();
        let keys = |start: &'static str, end: &'static str, reverse, now, limit| {
            let range = RawRange { start: start.into(), end: end.into(), limit, key_only: true, reverse };
            let pairs = scan(&engine, &range, now).unwrap();
            pairs.iter().map(|pair| String::from_utf8(pair.key.to_vec()).unwrap()).collect::<String>()
        };
        assert_eq!(keys("a", "d", false, 109, 10), "abc");
        assert_eq!(keys("a", "", false, 110, 10), "acd");
        assert_eq!(keys("d", "a", true, 0, 2), "cb");
        assert_eq!(keys("", "", true, 0, 10), "dcba");
    }
}
