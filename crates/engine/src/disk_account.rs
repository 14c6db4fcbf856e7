//! What is on a disk and what has still to get there: the arithmetic behind [`DiskGuard`](crate::DiskGuard).
//!
//! ```text
//! available (as the file system says)
//! ├── write buffers that are not flushed: a flush, or recovery after a crash, must be able to write them out
//! ├── what running compactions have still to write: at most their inputs, and the blobs they move, less what they have written
//! ├── floor: what nobody may touch, for a crash in the middle of a flush leaves half of it behind and all of it to be done again
//! └── the rest: `needed` of it for the next compaction, everything above for new rows
//! ```
//!
//! Two sums follow, and everything is decided by them:
//! - *settled*: what is available once write buffers are flushed and running compactions have given back what they have written. New rows
//!   want the whole of `needed` there, deletions a part of it.
//! - *left*: the worst moment on the way there, when running compactions have written everything and deleted nothing.
//!
//! Invariants:
//! - What is let through leaves `left` at or above the floor: so every flush, every compaction that has begun, and a recovery after a kill
//!   at any moment find room.
//! - A compaction may begin when its inputs and the blobs it may move fit between `left` and the floor.
//! - Where the whole store could be rewritten beside itself, compactions are not limited.
//!
//! Left out on purpose: other programs that fill the disk. The floor and the reserve file take what they do between two looks.

use crate::Room;

/// Deletions want this part of `needed`: the rest is for the compactions that turn them into space.
const FREES_NEED: (u64, u64) = (2, 3);
/// The floor is at least this part of `needed`.
const FLOOR_DIVISOR: u64 = 8;
/// How far the state may move between two looks, as a part of `needed`.
pub(crate) const STEP_DIVISOR: u64 = 16;
/// Tables and blobs may be that much larger than the write buffers they come from, which count their own overhead.
const FLUSH_OVERHEAD_DIVISOR: u64 = 16;
/// Of what compactions may use, the part that may go to blobs.
const BLOB_DIVISOR: u64 = 4;

/// The shares of a family's blob files, the oldest first, whose blobs compactions move: as many as there is room for.
pub(crate) const BLOB_SHARES: [f64; 8] = [1.0 / 4.0, 1.0 / 8.0, 1.0 / 16.0, 1.0 / 32.0, 1.0 / 64.0, 1.0 / 128.0, 1.0 / 256.0, 0.0];

/// The blob files of a column family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlobFiles {
    /// How many there are.
    pub(crate) count: u64,
    /// What they take.
    pub(crate) bytes: u64,
    /// Size at which one is closed.
    pub(crate) file_bytes: u64,
}

/// What an engine has stored and has still to write, in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outstanding {
    /// Table and blob files.
    pub(crate) stored: u64,
    /// Write buffers that are in no table yet.
    pub(crate) unflushed: u64,
    /// Inputs of running compactions, and the blobs they may move.
    pub(crate) compacting: u64,
    /// What running compactions have written of that.
    pub(crate) compacted: u64,
    /// Families with blobs.
    pub(crate) blobs: Vec<BlobFiles>,
}

/// A disk at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// What the file system says.
    pub(crate) available: u64,
    /// What the engine says.
    pub(crate) outstanding: Outstanding,
    /// What is kept free.
    pub(crate) needed: u64,
}

impl Account {
    fn unflushed(&self) -> u64 {
        self.outstanding.unflushed + self.outstanding.unflushed / FLUSH_OVERHEAD_DIVISOR
    }

    /// What will be available when flushes and running compactions are done.
    pub(crate) fn settled(&self) -> u64 {
        (self.available + self.outstanding.compacted.min(self.outstanding.compacting)).saturating_sub(self.unflushed())
    }

    /// What is available at the worst moment until then.
    fn left(&self) -> u64 {
        self.settled().saturating_sub(self.outstanding.compacting)
    }

    fn floor(&self) -> u64 {
        (self.needed / FLOOR_DIVISOR).max(self.unflushed())
    }

    /// For which writes there is room. A margin on the way back keeps the answer from flapping around a border.
    pub(crate) fn room(&self, was: Room) -> Room {
        let (settled, left, floor) = (self.settled(), self.left(), self.floor());
        let margin = |returns: bool, bytes: u64| if returns { bytes } else { 0 };
        let frees = self.needed / FREES_NEED.1 * FREES_NEED.0 + margin(was == Room::Exhausted, self.needed / STEP_DIVISOR);
        let grows = self.needed + margin(was != Room::Ample, self.needed / 4);
        match () {
            () if settled < frees || left < floor => Room::Exhausted,
            () if settled < grows || left < floor + self.needed / STEP_DIVISOR => Room::Scarce,
            () => Room::Ample,
        }
    }

    /// What compactions may use altogether, those that run included: their inputs and the blobs they move.
    fn compaction_room(&self) -> u64 {
        self.settled().saturating_sub(self.floor())
    }

    /// The bytes of inputs compactions may have at once, when they move blobs of the `share`th of [`BLOB_SHARES`]; none where any would do.
    pub(crate) fn compaction_limit(&self, share: usize) -> Option<u64> {
        let limit = self.compaction_room().saturating_sub(self.moved_blobs(share));
        (limit < self.outstanding.stored).then_some(limit)
    }

    /// How many bytes of blobs compactions may move, over all families.
    pub(crate) fn moved_blobs(&self, share: usize) -> u64 {
        self.outstanding.blobs.iter().map(|files| files.moved(BLOB_SHARES[share])).sum()
    }

    /// Which of [`BLOB_SHARES`] there is room for. It shrinks at once and grows only with room to spare, for every change costs a file.
    pub(crate) fn blob_share(&self, was: usize) -> usize {
        let allowed = self.compaction_room().saturating_sub(self.outstanding.compacting) / BLOB_DIVISOR;
        let first_within =
            |bytes: u64| (0..BLOB_SHARES.len()).find(|share| self.moved_blobs(*share) <= bytes).unwrap_or(BLOB_SHARES.len() - 1);
        let (most, spare) = (first_within(allowed), first_within(allowed / 2));
        if most > was { most } else { spare.min(was) }
    }
}

impl BlobFiles {
    /// An upper bound of what compactions move when they move the blobs of the oldest `share` of files.
    fn moved(&self, share: f64) -> u64 {
        // Files of other times may be larger than one of today.
        let file_bytes = self.bytes.checked_div(self.count).unwrap_or(0).max(self.file_bytes);
        (((self.count as f64) * share) as u64).saturating_mul(file_bytes).min(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDED: u64 = 48;

    fn account(available: u64, unflushed: u64, compacting: u64, compacted: u64) -> Account {
        let outstanding = Outstanding { stored: 100, unflushed, compacting, compacted, blobs: Vec::new() };
        Account { available, outstanding, needed: NEEDED }
    }

    #[test]
    fn rows_and_deletions_are_refused_when_what_was_promised_would_not_fit() {
        let room = |available, unflushed, compacting, compacted| account(available, unflushed, compacting, compacted).room(Room::Ample);
        let (ample, scarce, exhausted) = (Room::Ample, Room::Scarce, Room::Exhausted);
        let cases = [
            ((48, 0, 0, 0), ample),
            ((47, 0, 0, 0), scarce),
            ((31, 0, 0, 0), exhausted),
            // Write buffers: they will be written.
            ((60, 12, 0, 0), ample),
            ((59, 12, 0, 0), scarce),
            // A compaction: what it has written it will give back, what it has still to write must fit above the floor.
            ((100, 0, 40, 0), ample),
            ((60, 0, 40, 40), ample),
            ((50, 0, 40, 0), ample),
            ((48, 0, 40, 0), scarce),
            ((48, 0, 43, 0), exhausted),
            // The floor is one more flush: half of one may lie there from before a crash.
            ((80, 32, 8, 0), scarce),
            ((90, 32, 48, 0), exhausted),
        ];
        for ((available, unflushed, compacting, compacted), expected) in cases {
            let found = room(available, unflushed, compacting, compacted);
            assert_eq!(found, expected, "available {available}, unflushed {unflushed}, compacting {compacting}, {compacted} of it written");
        }
    }

    #[test]
    fn the_way_back_has_a_margin() {
        let room = |available, was| account(available, 0, 0, 0).room(was);
        assert_eq!([room(48, Room::Ample), room(48, Room::Scarce), room(60, Room::Scarce)], [Room::Ample, Room::Scarce, Room::Ample]);
        assert_eq!(
            [room(32, Room::Scarce), room(32, Room::Exhausted), room(35, Room::Exhausted)],
            [Room::Scarce, Room::Exhausted, Room::Scarce]
        );
    }

    #[test]
    fn compactions_that_are_let_through_leave_the_floor() {
        for available in 0..300 {
            for unflushed in [0, 3, 12, 24] {
                let before = account(available, unflushed, 0, 0);
                let Some(limit) = before.compaction_limit(0) else {
                    assert!(before.left() >= before.floor() + before.outstanding.stored, "no limit with {available} bytes available");
                    continue;
                };
                let begun = account(available, unflushed, limit, 0);
                assert!(limit == 0 || begun.left() >= begun.floor(), "{limit} bytes with {available} available, {unflushed} unflushed");
                // It has written everything and deleted nothing, and the buffers are flushed beside it.
                let unflushed_now = unflushed + unflushed / FLUSH_OVERHEAD_DIVISOR;
                assert!(limit == 0 || available - limit - unflushed_now >= begun.floor());
            }
        }
    }

    #[test]
    fn blobs_are_moved_as_far_as_there_is_room() {
        let blobs = |available| {
            let mut account = account(available, 0, 0, 0);
            account.outstanding.blobs = vec![BlobFiles { count: 32, bytes: 64, file_bytes: 2 }, BlobFiles::default()];
            account
        };
        assert_eq!([0, 1, 2, 3, 4, 7].map(|share| blobs(0).moved_blobs(share)), [16, 8, 4, 2, 0, 0]);
        // The floor is 6; a quarter of the rest may go to blobs, and half of that much must be spare for more.
        assert_eq!([6 + 64, 6 + 63, 6 + 31, 6, 0].map(|available| blobs(available).blob_share(0)), [0, 1, 2, 4, 4]);
        assert_eq!([6 + 64, 6 + 127, 6 + 128].map(|available| blobs(available).blob_share(4)), [1, 1, 0]);
        assert_eq!(blobs(6 + 64).compaction_limit(0), Some(64 - 16));
    }

    #[test]
    fn blob_files_larger_than_those_of_today_count_in_full() {
        let files = BlobFiles { count: 8, bytes: 800, file_bytes: 3 };
        assert_eq!([1.0 / 4.0, 1.0 / 8.0, 0.0].map(|share| files.moved(share)), [200, 100, 0]);
        assert_eq!(BlobFiles::default().moved(0.25), 0);
    }
}
