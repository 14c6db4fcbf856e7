//! The engine as one region sees it: the same reads, bounded to the region's keys.
//!
//! Exact gets pass through: who asks has checked that the key is inside. Cursors are cut at the borders, so that a scan without bounds (all locks,
//! for example) is one of the region. Writing is not for here: it goes through the region's log ([`crate::RegionWrites`]); what a store does to
//! its engine as a whole passes through.

use std::{path::PathBuf, sync::Arc};

use engine::{Cf, DiskStats, Engine, EngineRead, IterOptions, ReadTier, Result, WriteBatch};
use proto::metapb::Region;

use crate::region;

/// An engine, or a state of one, bounded to a region.
#[derive(Clone)]
pub struct RegionEngine<E> {
    engine: E,
    range: Arc<(Vec<u8>, Vec<u8>)>,
}

impl<E> RegionEngine<E> {
    /// The part of `engine` that belongs to `region`.
    pub fn new(engine: E, region: &Region) -> Self {
        Self { engine, range: Arc::new(region::engine_range(region)) }
    }

    fn clamp(&self, options: IterOptions) -> IterOptions {
        let (start, end) = &*self.range;
        let lower = options.lower.filter(|lower| lower > start).unwrap_or_else(|| start.clone());
        let upper = options.upper.filter(|upper| upper < end).unwrap_or_else(|| end.clone());
        // A range outside the region is empty, not reversed.
        let upper = if upper < lower { lower.clone() } else { upper };
        IterOptions { lower: Some(lower), upper: Some(upper), ..options }
    }

    fn clamp_range<'a>(&'a self, start: &'a [u8], end: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        (start.max(&self.range.0), end.min(&self.range.1))
    }
}

impl<E: EngineRead> EngineRead for RegionEngine<E> {
    type Value<'a>
        = E::Value<'a>
    where
        Self: 'a;
    type Iter = E::Iter;

    #[inline]
    fn get(&self, cf: Cf, key: &[u8], tier: ReadTier) -> Result<Option<E::Value<'_>>> {
        self.engine.get(cf, key, tier)
    }

    fn iter(&self, cf: Cf, options: IterOptions) -> Result<E::Iter> {
        match cf {
            Cf::Meta => self.engine.iter(cf, options),
            _ => self.engine.iter(cf, self.clamp(options)),
        }
    }
}

impl<E: Engine> Engine for RegionEngine<E> {
    type Snapshot = RegionEngine<E::Snapshot>;

    fn snapshot(&self) -> Self::Snapshot {
        RegionEngine { engine: self.engine.snapshot(), range: self.range.clone() }
    }

    fn write_ref(&self, batch: &WriteBatch, sync: bool) -> Result<()> {
        self.engine.write_ref(batch, sync)
    }

    fn sync_log(&self) -> Result<()> {
        self.engine.sync_log()
    }

    fn flush(&self) -> Result<()> {
        self.engine.flush()
    }

    fn compact_range(&self, cf: Cf, start: Option<&[u8]>, end: Option<&[u8]>) -> Result<()> {
        let (start, end) = self.clamp_range(start.unwrap_or(&self.range.0), end.unwrap_or(&self.range.1));
        self.engine.compact_range(cf, Some(start), Some(end))
    }

    fn delete_files_in_range(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<()> {
        let (start, end) = self.clamp_range(start, end);
        match start < end {
            true => self.engine.delete_files_in_range(cf, start, end),
            false => Ok(()),
        }
    }

    fn ingest(&self, cf: Cf, files: &[PathBuf]) -> Result<()> {
        self.engine.ingest(cf, files)
    }

    fn approximate_size(&self, cf: Cf, start: &[u8], end: &[u8]) -> Result<u64> {
        let (start, end) = self.clamp_range(start, end);
        if start < end { self.engine.approximate_size(cf, start, end) } else { Ok(0) }
    }

    fn disk_stats(&self) -> DiskStats {
        self.engine.disk_stats()
    }
}

#[cfg(test)]
mod tests {
    use engine::{EngineIter as _, MemEngine};

    use super::*;

    #[test]
    fn cursors_end_at_the_borders() {
        let engine = MemEngine::new();
        let mut batch = WriteBatch::new();
        for key in ["za", "zb", "zc", "zd"] {
            batch.put(Cf::Lock, key.as_bytes(), b"");
        }
        engine.write(batch, false).unwrap();
        let region = Region { start_key: "b".into(), end_key: "d".into(), ..Default::default() };
        let view = RegionEngine::new(engine, &region);
        let keys = |lower: Option<&str>, upper: Option<&str>| {
            let bound = |bound: Option<&str>| bound.map(|key| key.as_bytes().to_vec());
            let mut iter =
                view.snapshot().iter(Cf::Lock, IterOptions { lower: bound(lower), upper: bound(upper), ..Default::default() }).unwrap();
            iter.seek_to_first();
            let mut keys = Vec::new();
            while iter.valid() {
                keys.push(String::from_utf8(iter.key().to_vec()).unwrap());
                iter.next();
            }
            keys
        };
        assert_eq!(keys(None, None), ["zb", "zc"]);
        assert_eq!(keys(Some("za"), Some("zc")), ["zb"]);
        assert_eq!(keys(Some("zd"), None), Vec::<String>::new());
    }
}
