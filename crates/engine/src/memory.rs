//! The reference engine: sorted maps in memory that keep a list of versions per key.
//!
//! ```text
//! cf → key → [(sequence 3, Some("a")), (sequence 7, None), (sequence 9, Some("b"))]     a read at sequence 8 finds nothing
//! ```
//!
//! Every write takes the next sequence number; a snapshot is a number, held in a list of the living ones so that versions nobody can see
//! any more are dropped when their key is written again. It is the yardstick for `RocksEngine`, and what tests run on; it forgets
//! everything when the last clone is dropped.
//!
//! Like RocksDB, a garbage filter does not care for snapshots: what it removes is gone for everybody.

use std::{
    collections::BTreeMap,
    ops::{Bound, Deref},
    path::PathBuf,
    sync::Arc,
};

use parking_lot::RwLock;

use crate::{Cf, DiskStats, Engine, EngineIter, EngineRead, Error, GcFilter, IterOptions, ReadTier, Result, WriteBatch, WriteOp};

type Versions = Vec<(u64, Option<Arc<[u8]>>)>;

#[derive(Default)]
struct State {
    cfs: [BTreeMap<Vec<u8>, Versions>; Cf::ALL.len()],
    sequence: u64,
    /// Living snapshots: sequence number and how many there are of it.
    snapshots: BTreeMap<u64, usize>,
}

impl State {
    fn get(&self, cf: Cf, key: &[u8], sequence: u64) -> Option<&Arc<[u8]>> {
        visible(self.cfs[cf.index()].get(key)?, sequence)
    }

    fn set(&mut self, cf: Cf, key: &[u8], value: Option<Arc<[u8]>>) {
        let oldest_reader = self.snapshots.first_key_value().map_or(u64::MAX, |(sequence, _)| *sequence);
        let sequence = self.sequence;
        let family = &mut self.cfs[cf.index()];
        let versions = match family.get_mut(key) {
            Some(versions) => versions,
            None if value.is_none() => return,
            None => family.entry(key.to_vec()).or_default(),
        };
        let keep_from = versions.iter().rposition(|(written, _)| *written <= oldest_reader).unwrap_or(0);
        versions.drain(..keep_from);
        match versions.last_mut() {
            Some(last) if last.0 == sequence || oldest_reader == u64::MAX => *last = (sequence, value),
            _ => versions.push((sequence, value)),
        }
        if oldest_reader == u64::MAX && versions.iter().all(|(_, value)| value.is_none()) {
            family.remove(key);
        }
    }

    fn apply(&mut self, batch: &WriteBatch) {
        self.sequence += 1;
        for op in batch.iter() {
            match op {
                WriteOp::Put { cf, key, value } => self.set(cf, key, Some(value.into())),
                WriteOp::Delete { cf, key } => self.set(cf, key, None),
                WriteOp::DeleteRange { cf, start, end } if start < end => {
                    let keys: Vec<Vec<u8>> = self.cfs[cf.index()].range(start.to_vec()..end.to_vec()).map(|(key, _)| key.clone()).collect();
                    keys.iter().for_each(|key| self.set(cf, key, None));
                }
                WriteOp::DeleteRange { .. } => {}
            }
        }
    }
}

fn visible(versions: &Versions, sequence: u64) -> Option<&Arc<[u8]>> {
    versions.iter().rfind(|(written, _)| *written <= sequence)?.1.as_ref()
}

/// An engine in memory.
#[derive(Clone, Default)]
pub struct MemEngine {
    state: Arc<RwLock<State>>,
    filter: Option<GcFilter>,
}

impl MemEngine {
    /// An empty engine without garbage collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty engine whose [`Engine::compact_range`] collects what `filter` says.
    pub fn with_filter(filter: GcFilter) -> Self {
        Self { filter: Some(filter), ..Self::default() }
    }

    /// All records of a column family as they are now, for tests that show them.
    pub fn dump(&self, cf: Cf) -> Vec<(Vec<u8>, Vec<u8>)> {
        let state = self.state.read();
        let family = &state.cfs[cf.index()];
        family.iter().filter_map(|(key, versions)| Some((key.clone(), visible(versions, u64::MAX)?.to_vec()))).collect()
    }
}

/// A value of [`MemEngine`].
#[derive(Clone, Debug)]
pub struct MemValue(Arc<[u8]>);

impl Deref for MemValue {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl EngineRead for MemEngine {
    type Value<'a> = MemValue;
    type Iter = MemIter;

    fn get(&self, cf: Cf, key: &[u8], _tier: ReadTier) -> Result<Option<MemValue>> {
        Ok(self.state.read().get(cf, key, u64::MAX).cloned().map(MemValue))
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<MemIter> {
        self.snapshot().iter(cf, options)
    }
}

impl Engine for MemEngine {
    type Snapshot = MemSnapshot;

    fn snapshot(&self) -> MemSnapshot {
        let mut state = self.state.write();
        let sequence = state.sequence;
        *state.snapshots.entry(sequence).or_default() += 1;
        MemSnapshot { held: Arc::new(HeldSequence { state: self.state.clone(), sequence }) }
    }

    fn write_ref(&self, batch: &WriteBatch, _sync: bool) -> Result<()> {
        self.state.write().apply(batch);
        Ok(())
    }

    fn sync_log(&self) -> Result<()> {
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn compact_range(&self, cf: Cf, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let Some(filter) = self.filter.as_ref().filter(|_| GcFilter::applies_to(cf)) else { return Ok(()) };
        let safe_point = filter.current_safe_point();
        let mut state = self.state.write();
        state.cfs[cf.index()].retain(|key, versions| {
            let inside = start.is_none_or(|start| key.as_slice() >= start) && end.is_none_or(|end| key.as_slice() < end);
            let newest = versions.last().and_then(|(_, value)| value.as_ref());
            !(inside && newest.is_some_and(|value| filter.removes(cf, key, value, safe_point)))
        });
        Ok(())
    }

    fn delete_files_in_range(&self, _cf: Cf, _start: &[u8], _end: &[u8]) -> Result<()> {
        Ok(())
    }

    fn ingest(&self, _cf: Cf, _files: &[PathBuf]) -> Result<()> {
        Err(Error::Config { option: "ingest", problem: "the engine in memory has no files" })
    }

    fn approximate_size(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<u64> {
        if start >= end {
            return Ok(0);
        }
        let state = self.state.read();
        let range = state.cfs[cf.index()].range(start.to_vec()..end.to_vec());
        Ok(range.filter_map(|(key, versions)| Some((key.len() + visible(versions, u64::MAX)?.len()) as u64)).sum())
    }

    fn disk_stats(&self) -> DiskStats {
        let state = self.state.read();
        DiskStats { estimated_keys: std::array::from_fn(|cf| state.cfs[cf].len() as u64), ..DiskStats::default() }
    }
}

struct HeldSequence {
    state: Arc<RwLock<State>>,
    sequence: u64,
}

impl Drop for HeldSequence {
    fn drop(&mut self) {
        let mut state = self.state.write();
        if let Some(count) = state.snapshots.get_mut(&self.sequence) {
            *count -= 1;
            if *count == 0 {
                state.snapshots.remove(&self.sequence);
            }
        }
    }
}

/// A state of a [`MemEngine`].
#[derive(Clone)]
pub struct MemSnapshot {
    held: Arc<HeldSequence>,
}

impl EngineRead for MemSnapshot {
    type Value<'a> = MemValue;
    type Iter = MemIter;

    fn get(&self, cf: Cf, key: &[u8], _tier: ReadTier) -> Result<Option<MemValue>> {
        Ok(self.held.state.read().get(cf, key, self.held.sequence).cloned().map(MemValue))
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<MemIter> {
        Ok(MemIter { held: self.held.clone(), cf, options, current: None })
    }
}

/// A cursor over a [`MemSnapshot`].
pub struct MemIter {
    held: Arc<HeldSequence>,
    cf: Cf,
    options: IterOptions,
    current: Option<(Vec<u8>, Arc<[u8]>)>,
}

impl MemIter {
    fn first_in(&self, from: Bound<&[u8]>) -> Option<(Vec<u8>, Arc<[u8]>)> {
        let lower = self.options.lower.as_deref();
        let from = match (from, lower) {
            (Bound::Included(key) | Bound::Excluded(key), Some(lower)) if key < lower => Bound::Included(lower),
            (Bound::Unbounded, Some(lower)) => Bound::Included(lower),
            (from, _) => from,
        };
        let state = self.held.state.read();
        let mut range = state.cfs[self.cf.index()].range::<[u8], _>((from, Bound::Unbounded));
        let (key, value) = range.find_map(|(key, versions)| Some((key, visible(versions, self.held.sequence)?)))?;
        let inside = self.options.upper.as_ref().is_none_or(|upper| key < upper);
        inside.then(|| (key.clone(), value.clone()))
    }

    fn last_in(&self, to: Bound<&[u8]>) -> Option<(Vec<u8>, Arc<[u8]>)> {
        let upper = self.options.upper.as_deref();
        let to = match (to, upper) {
            (Bound::Included(key) | Bound::Excluded(key), Some(upper)) if key >= upper => Bound::Excluded(upper),
            (Bound::Unbounded, Some(upper)) => Bound::Excluded(upper),
            (to, _) => to,
        };
        let state = self.held.state.read();
        let mut range = state.cfs[self.cf.index()].range::<[u8], _>((Bound::Unbounded, to));
        let (key, value) = range.by_ref().rev().find_map(|(key, versions)| Some((key, visible(versions, self.held.sequence)?)))?;
        let inside = self.options.lower.as_ref().is_none_or(|lower| key >= lower);
        inside.then(|| (key.clone(), value.clone()))
    }
}

const NOT_VALID: &str = "the caller has checked valid()";

impl EngineIter for MemIter {
    fn seek(&mut self, key: &[u8]) {
        self.current = self.first_in(Bound::Included(key));
    }

    fn seek_for_prev(&mut self, key: &[u8]) {
        self.current = self.last_in(Bound::Included(key));
    }

    fn seek_to_first(&mut self) {
        self.current = self.first_in(Bound::Unbounded);
    }

    fn seek_to_last(&mut self) {
        self.current = self.last_in(Bound::Unbounded);
    }

    fn next(&mut self) {
        let (key, _) = self.current.take().expect(NOT_VALID);
        self.current = self.first_in(Bound::Excluded(&key));
    }

    fn prev(&mut self) {
        let (key, _) = self.current.take().expect(NOT_VALID);
        self.current = self.last_in(Bound::Excluded(&key));
    }

    fn valid(&self) -> bool {
        self.current.is_some()
    }

    fn key(&self) -> &[u8] {
        &self.current.as_ref().expect(NOT_VALID).0
    }

    fn value(&self) -> &[u8] {
        &self.current.as_ref().expect(NOT_VALID).1
    }

    fn status(&self) -> Result<()> {
        Ok(())
    }
}
