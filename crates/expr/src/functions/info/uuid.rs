//! UUID, UUID_SHORT, UUID_TO_BIN, BIN_TO_UUID, IS_UUID.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use types::{Collation, Datum};

use crate::error::{Error, Result};
use crate::functions::string::encode::{parse_hex, to_hex};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("uuid", (0, 0), &[], |s| s.connection_string(36), |_| Ok(Datum::Bytes(print(&version_1(), false))))
        .never_null()
        .volatile(),
    Builtin::new("uuid_short", (0, 0), &[], |_| rt::uint(), uuid_short).never_null().volatile(),
    Builtin::new("is_uuid", (1, 1), &[Want::Raw], |_| rt::boolean(), |a| Ok(Datum::Int(i64::from(parse(a.bytes(0)).is_some())))),
    Builtin::new("uuid_to_bin", (1, 2), &[Want::Raw, Want::Int], |_| rt::string(16, Collation::Binary), uuid_to_bin),
    Builtin::new("bin_to_uuid", (1, 2), &[Want::Raw, Want::Int], |s| s.connection_string(36), bin_to_uuid),
];

/// 100-nanosecond steps between the Gregorian reform, where version 1 starts counting, and 1970.
const GREGORIAN_OFFSET: u64 = 0x01b2_1dd2_1381_4000;

/// A process-wide clock in 100-nanosecond steps that never repeats.
fn unique_ticks() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| (d.as_nanos() / 100) as u64);
    let previous = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(now.max(last + 1)));
    previous.map_or(now, |last| now.max(last + 1))
}

/// A random node number with the multicast bit, and a random clock sequence, fixed for the process.
fn node() -> &'static [u8; 8] {
    static NODE: OnceLock<[u8; 8]> = OnceLock::new();
    NODE.get_or_init(|| {
        let mut node: [u8; 8] = rand::random();
        node[0] = node[0] & 0x3f | 0x80;
        node[2] |= 1;
        node
    })
}

fn version_1() -> [u8; 16] {
    let ticks = unique_ticks() + GREGORIAN_OFFSET;
    let mut out = [0; 16];
    out[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    out[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    out[6..8].copy_from_slice(&((ticks >> 48) as u16 & 0x0fff | 0x1000).to_be_bytes());
    out[8..].copy_from_slice(node());
    out
}

fn uuid_short(_: &Args<'_>) -> Result<Datum> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: OnceLock<u64> = OnceLock::new();
    let start =
        *START.get_or_init(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()) << 24 & 0x00ff_ffff_ffff_ffff);
    Ok(Datum::UInt(start + NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Reads 32 digits with or without dashes, or the dashed form in braces.
fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let inner = match text {
        [b'{', inner @ .., b'}'] if inner.len() == 36 => inner,
        other => other,
    };
    let digits = match inner.len() {
        32 => inner.to_vec(),
        36 if [8, 13, 18, 23].iter().all(|i| inner[*i] == b'-') => inner.iter().copied().filter(|b| *b != b'-').collect(),
        _ => return None,
    };
    if digits.len() != 32 {
        return None;
    }
    parse_hex(&digits)?.try_into().ok()
}

/// With `swapped`, the time-high and time-low groups have exchanged places.
fn print(id: &[u8; 16], swapped: bool) -> Vec<u8> {
    let order = if swapped { [4..8, 2..4, 0..2, 8..10, 10..16] } else { [0..4, 4..6, 6..8, 8..10, 10..16] };
    let groups: Vec<Vec<u8>> = order.into_iter().map(|range| to_hex(&id[range], true)).collect();
    groups.join(&b'-')
}

fn swapped(a: &Args<'_>) -> bool {
    a.len() == 2 && a.int(1) != 0
}

fn uuid_to_bin(a: &Args<'_>) -> Result<Datum> {
    let Some(id) = parse(a.bytes(0)) else {
        return Err(Error::BadFunctionValue { kind: "string", value: a.text(0).into_owned(), function: "uuid_to_bin" });
    };
    if swapped(a) {
        let parts = [&id[6..8], &id[4..6], &id[0..4], &id[8..]];
        return Ok(Datum::Bytes(parts.concat()));
    }
    Ok(Datum::Bytes(id.to_vec()))
}

fn bin_to_uuid(a: &Args<'_>) -> Result<Datum> {
    match <[u8; 16]>::try_from(a.bytes(0)) {
        Ok(id) => Ok(Datum::Bytes(print(&id, swapped(a)))),
        Err(_) => Err(Error::BadFunctionValue { kind: "string", value: a.text(0).into_owned(), function: "bin_to_uuid" }),
    }
}
