//! Reading a region through: how much it holds, and where it would be split.

use bytes::Bytes;
use codec::engine_key::DATA_PREFIX;
use engine::{Cf, EngineIter, EngineRead, IterOptions};

use super::size::RegionSize;
use crate::Result;

/// Where a region's bulk lies: the current versions of transactional data, and raw data.
pub(super) const MEASURED: [Cf; 2] = [Cf::Data, Cf::Raw];

/// What reading a range through has found.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) size: RegionSize,
    /// Keys that cut it into parts.
    pub(super) borders: Vec<Bytes>,
}

/// Reads a range of the engine through, and cuts it into parts of at most that size.
pub(super) fn measure(engine: &impl EngineRead, start: &[u8], end: &[u8], part: RegionSize) -> Result<Measured> {
    let mut iters = Vec::with_capacity(MEASURED.len());
    for cf in MEASURED {
        let options = IterOptions { lower: Some(start.to_vec()), upper: Some(end.to_vec()), skip_cache: true, ..IterOptions::default() };
        let mut iter = engine.iter(cf, options)?;
        iter.seek_to_first();
        iters.push(iter);
    }
    let mut measured = Measured::default();
    let mut begun = RegionSize::default();
    while let Some(iter) = iters.iter_mut().filter(|iter| iter.valid()).min_by(|a, b| a.key().cmp(b.key())) {
        if (begun.bytes >= part.bytes || begun.keys >= part.keys) && iter.key().first() == Some(&DATA_PREFIX) {
            measured.borders.push(Bytes::copy_from_slice(&iter.key()[1..]));
            begun = RegionSize::default();
        }
        let bytes = (iter.key().len() + iter.value().len()) as u64;
        for size in [&mut begun, &mut measured.size] {
            size.bytes += bytes;
            size.keys += 1;
        }
        iter.next();
    }
    for iter in &iters {
        iter.status()?;
    }
    // A last part that is small stays with the one before it.
    if begun.bytes < part.bytes / 4 && begun.keys < part.keys / 4 {
        measured.borders.pop();
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use engine::{Engine as _, MemEngine, WriteBatch};

    use super::*;

    /// Keys of five bytes with values of fifteen.
    fn engine_with(keys: impl IntoIterator<Item = (Cf, u32)>) -> MemEngine {
        let engine = MemEngine::new();
        let mut batch = WriteBatch::new();
        for (cf, n) in keys {
            batch.put(cf, format!("{}{n:04}", DATA_PREFIX as char).as_bytes(), &[b'v'; 15]);
        }
        engine.write(batch, false).unwrap();
        engine
    }

    fn borders(engine: &MemEngine, part: RegionSize) -> (RegionSize, Vec<String>) {
        let measured = measure(engine, &[DATA_PREFIX], &[DATA_PREFIX + 1], part).unwrap();
        (measured.size, measured.borders.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect())
    }

    #[test]
    fn raw_and_transactional_data_are_cut_together_in_the_order_of_their_keys() {
        let all = RegionSize { bytes: 40 * 20, keys: 40 };
        let by_keys = RegionSize { bytes: u64::MAX, keys: 10 };
        let by_bytes = RegionSize { bytes: 200, keys: u64::MAX };
        for cf_of in [|_| Cf::Data, |_| Cf::Raw, |n: u32| if n.is_multiple_of(2) { Cf::Data } else { Cf::Raw }] {
            let engine = engine_with((0..40).map(|n| (cf_of(n), n)));
            for part in [by_keys, by_bytes] {
                assert_eq!(borders(&engine, part), (all, ["0010", "0020", "0030"].map(str::to_owned).to_vec()));
            }
        }
    }

    #[test]
    fn a_small_rest_is_no_part() {
        let engine = engine_with((0..21).map(|n| (Cf::Raw, n)));
        assert_eq!(borders(&engine, RegionSize { bytes: 200, keys: 10 }).1, ["0010"]);
        assert!(borders(&engine_with([]), RegionSize { bytes: 200, keys: 10 }).1.is_empty());
    }
}
