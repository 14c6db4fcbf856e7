//! What an entry of a region's log says.
//!
//! ```text
//! (empty)                                             a new leader's first entry
//! 01 | region version, u64 little-endian | operations of a write batch
//! 02 | conf_ver, u64 | version, u64 | AdminRequest
//! ```
//!
//! A write carries the version of the region it was computed for; it is refused where the region has been split or merged before it.
//! Writes are the operations themselves, so applying is copying them into the engine's batch. Entries that change the membership are in the
//! consensus library's own form and carry an entry of the third kind as their context.
//!
//! Rule 6 of the version layout would have the log say `promote(key)` and leave the moving of the old version to each replica. Here the log
//! carries the rows: they are absolute, so replay needs no guard and no replica's garbage collection can make a difference; the price is the
//! old value's bytes in the log.

use engine::WriteBatch;
use prost::Message as _;
use proto::{
    metapb::RegionEpoch,
    raft_cmdpb::{AdminCmdType, AdminRequest},
};

use crate::{Error, Result};

const TAG_WRITE: u8 = 1;
const TAG_ADMIN: u8 = 2;
const WRITE_HEADER: usize = 9;
const ADMIN_HEADER: usize = 17;

/// A decoded entry.
#[derive(Debug, PartialEq)]
pub enum Payload<'a> {
    /// Nothing.
    Empty,
    /// Operations for the engine.
    Write {
        /// Version of the region the write was computed for.
        version: u64,
        /// See [`WriteBatch::operations`].
        operations: &'a [u8],
    },
    /// A change of the region itself.
    Admin {
        /// The epoch the request was made for.
        epoch: RegionEpoch,
        /// The change.
        request: Box<AdminRequest>,
    },
}

/// Starts an entry that writes to the region at `version`; operations of more batches may be appended.
pub fn begin_write(version: u64, batch: &WriteBatch) -> Vec<u8> {
    let mut data = Vec::with_capacity(WRITE_HEADER + batch.operations().len());
    data.push(TAG_WRITE);
    data.extend_from_slice(&version.to_le_bytes());
    data.extend_from_slice(batch.operations());
    data
}

/// An entry that changes the region.
pub fn encode_admin(epoch: &RegionEpoch, request: &AdminRequest) -> Vec<u8> {
    let mut data = Vec::with_capacity(ADMIN_HEADER + request.encoded_len());
    data.push(TAG_ADMIN);
    data.extend_from_slice(&epoch.conf_ver.to_le_bytes());
    data.extend_from_slice(&epoch.version.to_le_bytes());
    data.extend_from_slice(&request.encode_to_vec());
    data
}

/// Whether an entry changes the region, without reading it.
pub fn is_admin(data: &[u8]) -> bool {
    data.first() == Some(&TAG_ADMIN)
}

/// Whether an entry divides the region.
pub fn is_split(data: &[u8]) -> bool {
    let request = |data: &[u8]| AdminRequest::decode(data.get(ADMIN_HEADER..)?).ok();
    is_admin(data) && request(data).is_some_and(|request| request.cmd_type == AdminCmdType::BatchSplit as i32)
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

/// Reads an entry of `region_id`.
pub fn decode(region_id: u64, data: &[u8]) -> Result<Payload<'_>> {
    let corrupted = || Error::Corrupted { what: "log entry", region_id };
    match data.first() {
        None => Ok(Payload::Empty),
        Some(&TAG_WRITE) => {
            let version = u64_at(data, 1).ok_or_else(corrupted)?;
            Ok(Payload::Write { version, operations: &data[WRITE_HEADER..] })
        }
        Some(&TAG_ADMIN) => {
            let (Some(conf_ver), Some(version)) = (u64_at(data, 1), u64_at(data, 9)) else { return Err(corrupted()) };
            let request = AdminRequest::decode(&data[ADMIN_HEADER..]).map_err(|_| corrupted())?;
            Ok(Payload::Admin { epoch: RegionEpoch { conf_ver, version }, request: Box::new(request) })
        }
        Some(_) => Err(corrupted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Cf;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let mut batch = WriteBatch::new();
        batch.put(Cf::Data, b"k", b"v");
        let write = begin_write(7, &batch);
        assert_eq!(decode(1, &write).unwrap(), Payload::Write { version: 7, operations: batch.operations() });
        let epoch = RegionEpoch { conf_ver: 3, version: 4 };
        let request = AdminRequest { cmd_type: AdminCmdType::CompactLog as i32, ..Default::default() };
        assert_eq!(decode(1, &encode_admin(&epoch, &request)).unwrap(), Payload::Admin { epoch, request: Box::new(request) });
        assert_eq!(decode(1, b"").unwrap(), Payload::Empty);
        for damaged in [&b"\x01short"[..], b"\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xff", b"\x03"] {
            assert!(matches!(decode(1, damaged), Err(Error::Corrupted { region_id: 1, .. })));
        }
    }
}
