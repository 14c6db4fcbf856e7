//! How much a region holds: what reading it through has found, and what was written since.
//!
//! The engine's own figure leaves out write buffers and counts what compaction has still to remove: a region that was just filled looks empty,
//! and one that was emptied full. So every region is read through once, and again when either figure has moved much.

/// Bytes and keys of current versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RegionSize {
    /// Bytes of keys and values.
    pub(super) bytes: u64,
    /// Number of keys.
    pub(super) keys: u64,
}

/// Changes below this are not worth reading a region through.
const WORTH_READING_BYTES: u64 = 1 << 20;

/// What is known of a region's size.
#[derive(Debug, Default)]
pub(super) struct SizeEstimate {
    /// When it was read through last, with the engine's figure of that time.
    measured: Option<(RegionSize, u64)>,
    written: RegionSize,
    /// It is being read through.
    reading: bool,
}

impl SizeEstimate {
    pub(super) fn add_written(&mut self, bytes: u64, keys: u64) {
        self.written.bytes += bytes;
        self.written.keys += keys;
    }

    /// The region was read through.
    pub(super) fn measured(&mut self, size: RegionSize, on_disk: u64) {
        *self = Self { measured: Some((size, on_disk)), ..Self::default() };
    }

    /// The borders have changed.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// What the region holds at most, if it was ever read through. What was written may have replaced something.
    pub(super) fn estimate(&self) -> Option<RegionSize> {
        let (measured, _) = self.measured?;
        Some(RegionSize { bytes: measured.bytes + self.written.bytes, keys: measured.keys + self.written.keys })
    }

    /// Bytes the region may hold beside what the engine's figure counts.
    pub(super) fn bytes(&self) -> u64 {
        self.estimate().unwrap_or(self.written).bytes
    }

    /// Whether the region should be read through, which the caller then does.
    pub(super) fn begin_reading(&mut self, on_disk: u64) -> bool {
        let is_outdated = self.measured.is_none_or(|(size, then)| {
            let moved = self.written.bytes.max(on_disk.abs_diff(then));
            moved >= WORTH_READING_BYTES && moved >= size.bytes / 8
        });
        let begins = is_outdated && !self.reading;
        self.reading |= begins;
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_read_through_once_and_when_it_has_changed_much() {
        let mut size = SizeEstimate::default();
        size.add_written(500, 5);
        assert_eq!((size.estimate(), size.bytes()), (None, 500));
        assert!(size.begin_reading(0) && !size.begin_reading(0));
        size.measured(RegionSize { bytes: 400, keys: 4 }, 0);
        size.add_written(100, 1);
        assert_eq!(size.estimate(), Some(RegionSize { bytes: 500, keys: 5 }));
        assert!(!size.begin_reading(1000));
        // Compaction has removed what was deleted, or written out what was in buffers.
        assert!(size.begin_reading(2 << 20));
        size.measured(RegionSize { bytes: 64 << 20, keys: 1 }, 64 << 20);
        size.add_written(2 << 20, 1);
        assert!(!size.begin_reading(64 << 20));
        size.add_written(7 << 20, 1);
        assert!(size.begin_reading(64 << 20));
    }
}
