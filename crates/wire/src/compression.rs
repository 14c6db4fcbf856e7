//! The compressed protocol: from the packet behind the handshake on, what would go over the socket goes in frames.
//!
//! ```text
//! +------------------+-----+------------------+----------------+   length before is 0 for bytes that are sent as they are:
//! | length of bytes  | seq | length before    | bytes          |   short ones, and those that compression would make longer
//! | (3, LE)          | (1) | (3, LE)          | (zlib or zstd) |
//! +------------------+-----+------------------+----------------+
//! ```
//!
//! Frames and packets do not know each other's borders: a frame holds several packets, or a part of one. Frames have sequence numbers of
//! their own, which restart with every command and count both directions; the numbers of packets inside frames are not looked at, because
//! clients derive them from those of the frames in ways of their own.
//!
//! Invariant: a frame gives exactly the bytes its header claims, at most 16 MiB, or the connection ends.
//!
//! Source: MySQL 8.0 source documentation, "Compression".

use std::io::Read;

use flate2::{FlushCompress, Status, read::ZlibDecoder};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::Error;

/// Length of a frame's header.
const HEADER: usize = 7;
/// Shorter payloads are not worth it; MySQL's `MIN_COMPRESS_LENGTH`.
const MIN_COMPRESSED: usize = 50;
/// Bytes compressed together, as many as a header can claim, as MySQL does: some clients expect a packet in two frames at most.
const FRAME: usize = 0xff_ffff;
/// Buffers larger than this are given back after use.
const KEEP: usize = 64 << 10;
/// What MySQL compresses with when the client cannot say.
const ZLIB_LEVEL: u32 = 6;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 1950.
    Zlib,
    /// RFC 8878.
    Zstd,
}

impl Algorithm {
    /// The name in `protocol_compression_algorithms`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Zlib => "zlib",
            Algorithm::Zstd => "zstd",
        }
    }
}

/// What client and server agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Its level; zstd's is the client's choice.
    pub level: u8,
}

impl Compression {
    /// zlib at the level that MySQL uses.
    pub fn zlib() -> Self {
        Self { algorithm: Algorithm::Zlib, level: ZLIB_LEVEL as u8 }
    }

    /// zstd at a level from 1 to 22; others become the nearest.
    pub fn zstd(level: u8) -> Self {
        Self { algorithm: Algorithm::Zstd, level: level.clamp(1, 22) }
    }
}

fn header(length: usize, sequence: u8, before: usize) -> [u8; HEADER] {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    let [x, y, z, _] = (before as u32).to_le_bytes();
    [a, b, c, sequence, x, y, z]
}

/// Takes frames apart.
pub(crate) struct FrameReader {
    decoder: Option<zstd::bulk::Decompressor<'static>>,
    /// The bytes of the frame in progress.
    raw: Vec<u8>,
    /// What they stand for.
    plain: Vec<u8>,
    sequence: u8,
}

impl FrameReader {
    /// For frames compressed by `algorithm`.
    pub(crate) fn new(algorithm: Algorithm) -> Result<Self, Error> {
        let decoder = match algorithm {
            Algorithm::Zlib => None,
            Algorithm::Zstd => Some(zstd::bulk::Decompressor::new()?),
        };
        Ok(Self { decoder, raw: Vec::new(), plain: Vec::new(), sequence: 0 })
    }

    pub(crate) fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub(crate) fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Waits for the next frame and gives what is in it. [`Error::Closed`] when the peer closed the connection between two frames.
    pub(crate) async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> Result<&[u8], Error> {
        self.raw.clear();
        self.raw.shrink_to(KEEP);
        self.fill(stream, HEADER).await?;
        let [a, b, c, sequence, x, y, z] = *self.raw.first_chunk::<HEADER>().ok_or(Error::Malformed { what: "frame" })?;
        if sequence != self.sequence {
            return Err(Error::OutOfOrder { expected: self.sequence, got: sequence });
        }
        self.sequence = self.sequence.wrapping_add(1);
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let before = u32::from_le_bytes([x, y, z, 0]) as usize;
        self.raw.clear();
        self.fill(stream, length).await?;
        if before == 0 {
            return Ok(&self.raw);
        }
        self.plain.clear();
        self.plain.shrink_to(KEEP);
        match &mut self.decoder {
            None => {
                // One byte more than claimed is asked for, so that a frame that holds more is found out.
                let mut inflated = ZlibDecoder::new(&self.raw[..]).take(before as u64 + 1);
                inflated.read_to_end(&mut self.plain).map_err(|_| Error::Compression)?;
            }
            Some(decoder) => {
                self.plain.reserve_exact(before);
                decoder.decompress_to_buffer(&self.raw, &mut self.plain).map_err(|_| Error::Compression)?;
            }
        }
        if self.plain.len() != before {
            return Err(Error::Compression);
        }
        Ok(&self.plain)
    }

    /// Reads until `raw` holds `wanted` bytes; it grows as they arrive.
    async fn fill<S: AsyncRead + Unpin>(&mut self, stream: &mut S, wanted: usize) -> Result<(), Error> {
        self.raw.reserve(wanted.min(KEEP));
        let mut limited = stream.take(wanted as u64);
        while self.raw.len() < wanted {
            if limited.read_buf(&mut self.raw).await? == 0 {
                let between = wanted == HEADER && self.raw.is_empty();
                return Err(if between { Error::Closed } else { Error::Io(std::io::ErrorKind::UnexpectedEof.into()) });
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for FrameReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameReader").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

/// Puts bytes into frames.
pub(crate) struct FrameWriter {
    encoder: Encoder,
    frames: Vec<u8>,
    sequence: u8,
}

enum Encoder {
    Zlib(flate2::Compress),
    Zstd(zstd::bulk::Compressor<'static>),
}

impl FrameWriter {
    pub(crate) fn new(compression: Compression) -> Result<Self, Error> {
        let encoder = match compression.algorithm {
            Algorithm::Zlib => Encoder::Zlib(flate2::Compress::new(flate2::Compression::new(u32::from(compression.level)), true)),
            Algorithm::Zstd => Encoder::Zstd(zstd::bulk::Compressor::new(i32::from(compression.level))?),
        };
        Ok(Self { encoder, frames: Vec::new(), sequence: 0 })
    }

    pub(crate) fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    pub(crate) fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// The frames that carry `plain`.
    pub(crate) fn pack(&mut self, plain: &[u8]) -> Result<&[u8], Error> {
        self.frames.clear();
        self.frames.shrink_to(KEEP);
        for part in plain.chunks(FRAME) {
            let at = self.frames.len();
            self.frames.extend_from_slice(&[0; HEADER]);
            let mut before = part.len();
            if part.len() < MIN_COMPRESSED || !self.compress(part)? {
                self.frames.truncate(at + HEADER);
                self.frames.extend_from_slice(part);
                before = 0;
            }
            let length = self.frames.len() - at - HEADER;
            self.frames[at..at + HEADER].copy_from_slice(&header(length, self.sequence, before));
            self.sequence = self.sequence.wrapping_add(1);
        }
        Ok(&self.frames)
    }

    /// Appends `part` compressed. Whether it became shorter; if not, what was appended is to be thrown away.
    fn compress(&mut self, part: &[u8]) -> Result<bool, Error> {
        let at = self.frames.len();
        match &mut self.encoder {
            Encoder::Zlib(encoder) => {
                encoder.reset();
                self.frames.reserve(part.len());
                // What does not fit into as many bytes as there were before is not worth sending compressed.
                let status = encoder.compress_vec(part, &mut self.frames, FlushCompress::Finish).map_err(|_| Error::Compression)?;
                Ok(status == Status::StreamEnd && self.frames.len() - at < part.len())
            }
            Encoder::Zstd(encoder) => {
                let packed = encoder.compress(part).map_err(|_| Error::Compression)?;
                self.frames.extend_from_slice(&packed);
                Ok(packed.len() < part.len())
            }
        }
    }
}

impl std::fmt::Debug for FrameWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameWriter").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BOTH: [Compression; 2] =
        [Compression { algorithm: Algorithm::Zlib, level: 6 }, Compression { algorithm: Algorithm::Zstd, level: 3 }];

    fn packed(compression: Compression, plain: &[u8]) -> Vec<u8> {
        FrameWriter::new(compression).expect("a context").pack(plain).expect("packs").to_vec()
    }

    async fn unpacked(algorithm: Algorithm, mut frames: &[u8]) -> Result<Vec<u8>, Error> {
        let mut reader = FrameReader::new(algorithm).expect("a context");
        let mut plain = Vec::new();
        loop {
            match reader.read(&mut frames).await {
                Ok(part) => plain.extend_from_slice(part),
                Err(Error::Closed) => return Ok(plain),
                Err(error) => return Err(error),
            }
        }
    }

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 7u64;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        })
        .take(length)
        .collect()
    }

    #[tokio::test]
    async fn bytes_come_back_whatever_their_length_and_pattern() {
        for compression in BOTH {
            for length in [0, 1, MIN_COMPRESSED - 1, MIN_COMPRESSED, 5000, 1 << 20, FRAME + 1] {
                for plain in [vec![b'x'; length], noise(length)] {
                    let frames = packed(compression, &plain);
                    assert!(unpacked(compression.algorithm, &frames).await.expect("readable") == plain, "{compression:?} {length}");
                }
            }
        }
    }

    #[test]
    fn short_and_random_bytes_travel_as_they_are_and_repeated_ones_shrink() {
        for compression in BOTH {
            assert_eq!(packed(compression, b"ping"), b"\x04\0\0\0\0\0\0ping");
            let random = noise(1000);
            assert_eq!(&packed(compression, &random)[..7], [0xe8, 3, 0, 0, 0, 0, 0]);
            let shrunk = packed(compression, &[b'x'; 1000]);
            assert!(shrunk.len() < 60 && shrunk[4..7] == [0xe8, 3, 0], "{shrunk:?}");
        }
    }

    #[tokio::test]
    async fn frames_that_claim_another_length_or_come_out_of_order_end_the_connection() {
        for compression in BOTH {
            let frames = packed(compression, &[b'x'; 1000]);
            for claimed in [1u8, 0xe7, 0xe9] {
                let mut wrong = frames.clone();
                wrong[4] = claimed;
                assert!(matches!(unpacked(compression.algorithm, &wrong).await, Err(Error::Compression)), "{compression:?} {claimed}");
            }
            let mut late = frames.clone();
            late[3] = 1;
            assert!(matches!(unpacked(compression.algorithm, &late).await, Err(Error::OutOfOrder { expected: 0, got: 1 })));
            assert!(matches!(unpacked(compression.algorithm, &frames[..frames.len() - 1]).await, Err(Error::Io(_))));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_frames_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200), zstd in any::<bool>()) {
            let algorithm = if zstd { Algorithm::Zstd } else { Algorithm::Zlib };
            let mut frame = header(bytes.len(), 0, 300).to_vec();
            frame.extend_from_slice(&bytes);
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            let _ = runtime.block_on(unpacked(algorithm, &bytes));
            let _ = runtime.block_on(unpacked(algorithm, &frame));
        }
    }
}
