//! A log in memory, for tests and simulations: it loses what was not synced when it is told that the power has gone.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use protobuf::Message as _;
use raft::eraftpb::{Entry, HardState};

use super::{LogBatch, LogOp, RaftLog};
use crate::{Error, Result};

#[derive(Clone, Default)]
struct RegionLog {
    hard_state: Option<HardState>,
    entries: BTreeMap<u64, Entry>,
}

#[derive(Default)]
struct State {
    current: BTreeMap<u64, RegionLog>,
    /// As of the last sync.
    durable: BTreeMap<u64, RegionLog>,
}

/// A log in memory.
#[derive(Default)]
pub struct MemLog {
    state: Mutex<State>,
}

impl MemLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets what was written since the last sync.
    pub fn lose_power(&self) {
        let mut state = self.state.lock();
        state.current = state.durable.clone();
    }
}

impl RegionLog {
    fn apply(&mut self, op: LogOp) {
        match op {
            LogOp::Append(entries) => {
                if let Some(first) = entries.first() {
                    self.entries.split_off(&first.index);
                }
                self.entries.extend(entries.into_iter().map(|entry| (entry.index, entry)));
            }
            LogOp::HardState(hard_state) => self.hard_state = Some(hard_state),
            LogOp::CompactTo(index) => self.entries = self.entries.split_off(&index),
            LogOp::Clean => *self = Self::default(),
        }
    }
}

impl RaftLog for MemLog {
    fn write(&self, batch: LogBatch, sync: bool) -> Result<()> {
        let mut state = self.state.lock();
        for (region_id, op) in batch.ops {
            state.current.entry(region_id).or_default().apply(op);
        }
        if sync {
            state.durable = state.current.clone();
        }
        Ok(())
    }

    fn hard_state(&self, region_id: u64) -> Result<Option<HardState>> {
        Ok(self.state.lock().current.get(&region_id).and_then(|log| log.hard_state.clone()))
    }

    fn bounds(&self, region_id: u64) -> Option<(u64, u64)> {
        let state = self.state.lock();
        let entries = &state.current.get(&region_id)?.entries;
        Some((*entries.first_key_value()?.0, *entries.last_key_value()?.0))
    }

    fn entries(&self, region_id: u64, low: u64, high: u64, max_bytes: Option<u64>, out: &mut Vec<Entry>) -> Result<()> {
        let state = self.state.lock();
        let missing = || Error::Corrupted { what: "log: entries are missing", region_id };
        let log = state.current.get(&region_id).ok_or_else(missing)?;
        let (mut bytes, mut next) = (0, low);
        for (index, entry) in log.entries.range(low..high) {
            bytes += u64::from(entry.compute_size());
            if *index != next {
                return Err(missing());
            }
            if index > &low && max_bytes.is_some_and(|max| bytes > max) {
                return Ok(());
            }
            next += 1;
            out.push(entry.clone());
        }
        if next == high { Ok(()) } else { Err(missing()) }
    }

    fn regions(&self) -> Vec<u64> {
        let state = self.state.lock();
        let used = |log: &RegionLog| log.hard_state.is_some() || !log.entries.is_empty();
        state.current.iter().filter(|(_, log)| used(log)).map(|(id, _)| *id).collect()
    }

    fn purge(&self) -> Result<Vec<u64>> {
        Ok(Vec::new())
    }
}
