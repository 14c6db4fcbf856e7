//! Digests, compression and random bytes: MD5, SHA1, SHA2, CRC32, COMPRESS, RANDOM_BYTES.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use md5::Md5;
use rand::RngCore;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use types::{Collation, Datum};

use super::encode::to_hex;
use crate::error::{Error, Result};
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] = &[
    Builtin::new("md5", (1, 1), &[Want::Raw], |s| s.connection_string(32), |a| hexed(&Md5::digest(a.bytes(0)))),
    Builtin::new("sha1", (1, 1), &[Want::Raw], |s| s.connection_string(40), |a| hexed(&Sha1::digest(a.bytes(0)))),
    Builtin::new("sha2", (2, 2), &[Want::Raw, Want::Int], |s| s.connection_string(128), sha2),
    Builtin::new("crc32", (1, 1), &[Want::Raw], |_| rt::uint(), |a| Ok(Datum::UInt(u64::from(crc32fast::hash(a.bytes(0)))))),
    Builtin::new("compress", (1, 1), &[Want::Raw], |_| rt::string(-1, Collation::Binary), compress),
    Builtin::new("uncompress", (1, 1), &[Want::Raw], |_| rt::string(-1, Collation::Binary), uncompress),
    Builtin::new("uncompressed_length", (1, 1), &[Want::Raw], |_| rt::uint(), uncompressed_length),
    Builtin::new("random_bytes", (1, 1), &[Want::Int], |_| rt::string(1024, Collation::Binary), random_bytes).volatile(),
];

fn hexed(digest: &[u8]) -> Result<Datum> {
    Ok(Datum::Bytes(to_hex(digest, true)))
}

fn sha2(a: &Args<'_>) -> Result<Datum> {
    let data = a.bytes(0);
    match a.int(1) {
        0 | 256 => hexed(&Sha256::digest(data)),
        224 => hexed(&Sha224::digest(data)),
        384 => hexed(&Sha384::digest(data)),
        512 => hexed(&Sha512::digest(data)),
        _ => Ok(Datum::Null),
    }
}

/// Four bytes of length, little endian, then a zlib stream; a dot if that would end in a space.
fn compress(a: &Args<'_>) -> Result<Datum> {
    let data = a.bytes(0);
    if data.is_empty() {
        return Ok(Datum::Bytes(Vec::new()));
    }
    let header = (data.len() as u32 & 0x3fff_ffff).to_le_bytes().to_vec();
    let mut encoder = ZlibEncoder::new(header, Compression::default());
    let finished = encoder.write_all(data).and_then(|()| encoder.finish());
    let Ok(mut out) = finished else { return Ok(Datum::Null) };
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Datum::Bytes(out))
}

fn claimed_length(data: &[u8]) -> Option<u32> {
    let header: [u8; 4] = data.get(..4)?.try_into().ok()?;
    (data.len() > 4).then_some(u32::from_le_bytes(header) & 0x3fff_ffff)
}

fn damaged(a: &Args<'_>) -> Result<Datum> {
    a.warn(1259, "ZLIB: Input data corrupted");
    Ok(Datum::Null)
}

fn uncompress(a: &Args<'_>) -> Result<Datum> {
    let data = a.bytes(0);
    if data.is_empty() {
        return Ok(Datum::Bytes(Vec::new()));
    }
    let Some(len) = claimed_length(data) else { return damaged(a) };
    if u64::from(len) > a.ctx.max_allowed_packet {
        let limit = a.ctx.max_allowed_packet;
        a.warn(
            1256,
            format!("Uncompressed data size too large; the maximum size is {limit} (probably, length of uncompressed data was corrupted)"),
        );
        return Ok(Datum::Null);
    }
    let mut out = Vec::new();
    match ZlibDecoder::new(&data[4..]).take(u64::from(len) + 1).read_to_end(&mut out) {
        Ok(n) if n == len as usize => Ok(Datum::Bytes(out)),
        _ => damaged(a),
    }
}

fn uncompressed_length(a: &Args<'_>) -> Result<Datum> {
    let data = a.bytes(0);
    if data.is_empty() {
        return Ok(Datum::UInt(0));
    }
    match claimed_length(data) {
        Some(len) => Ok(Datum::UInt(u64::from(len))),
        None => damaged(a),
    }
}

fn random_bytes(a: &Args<'_>) -> Result<Datum> {
    let len = a.int(0);
    if !(1..=1024).contains(&len) {
        return Err(Error::OutOfRange { kind: "length", expression: "random_bytes".into() });
    }
    let mut out = vec![0; len as usize];
    rand::rng().fill_bytes(&mut out);
    Ok(Datum::Bytes(out))
}
