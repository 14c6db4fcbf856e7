//! A disk in memory that loses what was not synced: log and engine of one store.

use std::sync::{Arc, Mutex};

use engine::{Cf, DiskStats, Engine, EngineRead, IterOptions, MemEngine, ReadTier, Result, WriteBatch};
use raftstore::log::MemLog;

/// An engine that knows which of its writes are on disk.
#[derive(Clone, Default)]
pub struct LossyEngine {
    current: MemEngine,
    durable: Arc<Mutex<(MemEngine, Vec<WriteBatch>)>>,
}

fn copy(engine: &MemEngine) -> MemEngine {
    let (copy, mut batch) = (MemEngine::new(), WriteBatch::new());
    for cf in Cf::ALL {
        engine.dump(cf).iter().for_each(|(key, value)| batch.put(cf, key, value));
    }
    copy.write(batch, true).unwrap();
    copy
}

impl LossyEngine {
    /// The engine after a loss of power that `kept` of the writes since the last sync have survived, the oldest ones.
    fn lose_power(&self, kept: usize) -> Self {
        let durable = self.durable.lock().unwrap();
        let engine = copy(&durable.0);
        durable.1.iter().take(kept).for_each(|batch| engine.write_ref(batch, true).unwrap());
        Self { current: copy(&engine), durable: Arc::new(Mutex::new((engine, Vec::new()))) }
    }

    fn unsynced(&self) -> usize {
        self.durable.lock().unwrap().1.len()
    }

    pub fn dump(&self, cf: Cf) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.current.dump(cf)
    }
}

impl EngineRead for LossyEngine {
    type Value<'a> = <MemEngine as EngineRead>::Value<'a>;
    type Iter = <MemEngine as EngineRead>::Iter;

    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> Result<Option<Self::Value<'_>>> {
        self.current.get(cf, key, tier)
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<Self::Iter> {
        self.current.iter(cf, options)
    }
}

impl Engine for LossyEngine {
    type Snapshot = <MemEngine as Engine>::Snapshot;

    fn snapshot(&self) -> Self::Snapshot {
        self.current.snapshot()
    }

    fn write_ref(&self, batch: &WriteBatch, sync: bool) -> Result<()> {
        self.current.write_ref(batch, sync)?;
        self.durable.lock().unwrap().1.push(batch.clone());
        if sync { self.sync_log() } else { Ok(()) }
    }

    fn sync_log(&self) -> Result<()> {
        let mut durable = self.durable.lock().unwrap();
        let (engine, batches) = &mut *durable;
        batches.drain(..).for_each(|batch| engine.write(batch, true).unwrap());
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.sync_log()
    }

    fn compact_range(&self, cf: Cf, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        self.current.compact_range(cf, start, end)
    }

    fn delete_files_in_range(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<()> {
        self.current.delete_files_in_range(cf, start, end)
    }

    fn ingest(&self, cf: Cf, files: &[std::path::PathBuf]) -> Result<()> {
        self.current.ingest(cf, files)
    }

    fn approximate_size(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<u64> {
        self.current.approximate_size(cf, start, end)
    }

    fn disk_stats(&self) -> DiskStats {
        self.current.disk_stats()
    }
}

/// What a store leaves behind when it dies.
pub struct Disk {
    pub engine: LossyEngine,
    pub log: Arc<MemLog>,
    pub directory: tempfile::TempDir,
}

impl Disk {
    pub fn new() -> Self {
        Self { engine: LossyEngine::default(), log: Arc::new(MemLog::new()), directory: tempfile::tempdir().unwrap() }
    }

    /// Loses what was not synced; `keep` chooses how many of so many writes of the engine are kept.
    pub fn lose_power(&mut self, keep: impl FnOnce(usize) -> usize) {
        self.engine = self.engine.lose_power(keep(self.engine.unsynced()));
        self.log.lose_power();
    }
}
