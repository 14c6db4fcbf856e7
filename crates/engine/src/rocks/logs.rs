//! Logs that need not grow.
//!
//! A synced append to a growing file waits for its data *and* for the file's new size: two writes to the disk, one after the other. A log that
//! overwrites an old one waits for the data alone. RocksDB recycles logs, but only those that this process has filled and flushed: a server
//! would pay double until it has written several logs full. So once there is load, a log is filled with a record that means nothing, in
//! small synced pieces that others' commits pass between, and is given back to be recycled.
//!
//! ```text
//!   log 1 ── filler ──▶ 64 MiB ── flush ──▶ recycled ─┐
//!   log 2 (new) ── flush ─────────────────────────────┴▶ log 3 = the file of log 1
//! ```
//!
//! Invariant: nothing but filler and the marker is written here; what the filler holds is skipped by recovery.

use super::db::RocksEngine;
use crate::{Cf, Engine as _, Error, Result};

/// Bytes of one filler record: what a commit may have to wait behind.
const PIECE_BYTES: usize = 256 << 10;
/// Records between two syncs.
const PIECES_A_SYNC: usize = 4;
/// The tag of a record that goes to the log only.
const TAG_LOG_DATA: u8 = 3;
/// Sequence number and count in front of a batch.
const HEADER_LEN: usize = 12;
/// Written before each flush: without a record there is nothing to flush, and the log stays.
const MARKER: &[u8] = b"log_prepared";

impl RocksEngine {
    /// Fills a log of `bytes` and has it recycled, unless told to stop.
    pub(super) fn fill_log(&self, bytes: u64, stop: &dyn Fn() -> bool) -> Result<()> {
        let piece = filler(PIECE_BYTES);
        for number in 0..(bytes as usize / PIECE_BYTES) {
            if stop() {
                return Ok(());
            }
            let record = rocksdb::WriteBatch::from_data(&piece);
            self.db.db.write(record).map_err(|error| Error::storage("filling the log", error))?;
            if number % PIECES_A_SYNC == 0 {
                self.sync_log()?;
            }
        }
        // The first flush leaves the filled log behind, the second begins a log in its file.
        for _ in 0..2 {
            if stop() {
                return Ok(());
            }
            self.db.db.put_cf(self.db.handle(Cf::Meta), MARKER, []).map_err(|error| Error::storage("marking the log", error))?;
            self.flush()?;
        }
        Ok(())
    }
}

/// An encoded batch of one record without meaning, `len` bytes long.
fn filler(len: usize) -> Vec<u8> {
    let mut batch = vec![0; HEADER_LEN];
    batch.push(TAG_LOG_DATA);
    let mut rest = len as u32;
    while rest >= 0x80 {
        batch.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    batch.push(rest as u8);
    batch.resize(batch.len() + len, 0);
    batch
}
