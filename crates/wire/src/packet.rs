//! Packets: three bytes of length, one of sequence number, the payload.
//!
//! ```text
//! +-------------+-----+------------------+   a payload of 0xffffff bytes or more continues in the next packet;
//! | length (LE) | seq | payload          |   one that is an exact multiple ends with an empty packet
//! +-------------+-----+------------------+
//! ```
//!
//! Reader and writer do not own the stream: one connection lends it to both in turn, so that a stream that cannot be split (TLS) serves as well.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{
    Error,
    compression::{Compression, FrameReader, FrameWriter},
};

/// Length of a packet's header.
const HEADER: usize = 4;
/// Payload of a packet that is continued by the next one.
const MAX_PAYLOAD: usize = 0xff_ffff;
/// What a connection's buffers start with, and are cut back to when a large packet has left them over [`KEEP`].
const INITIAL: usize = 4 << 10;
/// Buffers larger than this are given back after use.
const KEEP: usize = 64 << 10;
/// A result is sent on when this much of it is waiting.
const SEND_AT: usize = 32 << 10;

/// Reads packets; holds at most one payload and what arrived behind it.
#[derive(Debug)]
pub struct PacketReader {
    /// Bytes `start..end` have arrived and are not consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Payloads that came in several packets are put together here.
    joined: Vec<u8>,
    /// Where in the buffer the last payload lies; none when it was put together.
    last: Option<(usize, usize)>,
    limit: usize,
    sequence: u8,
    /// Takes apart what arrives compressed.
    frames: Option<Box<FrameReader>>,
}

impl PacketReader {
    /// A reader that refuses payloads over `limit` bytes (`max_allowed_packet`).
    pub fn new(limit: usize) -> Self {
        Self { buffer: vec![0; INITIAL], start: 0, end: 0, joined: Vec::new(), last: None, limit, sequence: 0, frames: None }
    }

    /// Changes the largest payload accepted.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// What arrives from now on is compressed.
    pub fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.frames = Some(Box::new(FrameReader::new(compression.algorithm)?));
        Ok(())
    }

    /// Expects the first packet of a command next: its sequence number is zero.
    pub fn restart_sequence(&mut self) {
        self.sequence = 0;
        if let Some(frames) = &mut self.frames {
            frames.set_sequence(0);
        }
    }

    /// Expects `sequence` next.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Expects the answer to what `writer` has sent.
    pub fn follow(&mut self, writer: &PacketWriter) {
        self.sequence = writer.sequence;
        if let (Some(ours), Some(theirs)) = (&mut self.frames, &writer.frames) {
            ours.set_sequence(theirs.next_sequence());
        }
    }

    /// The sequence number an answer to the last packet carries.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Whether bytes of a further packet have arrived already.
    pub fn has_buffered(&self) -> bool {
        self.start < self.end
    }

    /// Takes the bytes that have arrived and belong to no packet: another protocol begins (TLS).
    pub fn take_buffered(&mut self) -> Vec<u8> {
        let bytes = self.buffer[self.start..self.end].to_vec();
        (self.start, self.end, self.last) = (0, 0, None);
        bytes
    }

    /// Waits for the next payload. [`Error::Closed`] when the peer closed the connection between two packets.
    ///
    /// Dropping the future before it is ready loses nothing but the packet in progress; a connection is closed then.
    pub async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> Result<&[u8], Error> {
        self.receive(stream).await?;
        Ok(self.payload())
    }

    /// The payload that was received last.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        match self.last {
            Some((at, len)) => &self.buffer[at..at + len],
            None => &self.joined,
        }
    }

    /// [`PacketReader::read`] for callers that look at the reader before they look at the payload.
    pub async fn receive<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> Result<(), Error> {
        self.last = None;
        self.joined.clear();
        if self.joined.capacity() > KEEP {
            self.joined = Vec::new();
        }
        let (at, len) = self.read_one(stream).await?;
        if len < MAX_PAYLOAD {
            self.last = Some((at, len));
            return Ok(());
        }
        self.joined.extend_from_slice(&self.buffer[at..at + len]);
        loop {
            let (at, len) = self.read_one(stream).await?;
            if self.joined.len() + len > self.limit {
                return Err(Error::PacketTooLarge { limit: self.limit });
            }
            self.joined.extend_from_slice(&self.buffer[at..at + len]);
            if len < MAX_PAYLOAD {
                return Ok(());
            }
        }
    }

    /// Reads one packet and returns where its payload lies in the buffer.
    async fn read_one<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> Result<(usize, usize), Error> {
        self.fill(stream, HEADER).await?;
        let header = &self.buffer[self.start..self.start + HEADER];
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let got = header[3];
        if got != self.sequence && self.frames.is_none() {
            return Err(Error::OutOfOrder { expected: self.sequence, got });
        }
        self.sequence = self.sequence.wrapping_add(1);
        if len > self.limit {
            return Err(Error::PacketTooLarge { limit: self.limit });
        }
        self.start += HEADER;
        self.fill(stream, len).await?;
        let at = self.start;
        self.start += len;
        Ok((at, len))
    }

    /// Waits until `wanted` bytes behind `start` are there.
    async fn fill<S: AsyncRead + Unpin>(&mut self, stream: &mut S, wanted: usize) -> Result<(), Error> {
        if self.end - self.start >= wanted {
            return Ok(());
        }
        self.make_room(wanted);
        while self.end - self.start < wanted {
            let n = match &mut self.frames {
                None => stream.read(&mut self.buffer[self.end..]).await?,
                Some(frames) => match frames.read(stream).await {
                    Ok(plain) => {
                        let end = self.end + plain.len();
                        if self.buffer.len() < end {
                            self.buffer.resize(end, 0);
                        }
                        self.buffer[self.end..end].copy_from_slice(plain);
                        if plain.is_empty() {
                            continue;
                        }
                        plain.len()
                    }
                    Err(Error::Closed) => 0,
                    Err(error) => return Err(error),
                },
            };
            if n == 0 {
                return Err(if self.start == self.end { Error::Closed } else { Error::Io(std::io::ErrorKind::UnexpectedEof.into()) });
            }
            self.end += n;
        }
        Ok(())
    }

    /// Moves what is left to the front and sizes the buffer for `wanted` bytes; it grows as bytes arrive are expected, never by a
    /// claimed length alone beyond `limit`.
    fn make_room(&mut self, wanted: usize) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() < wanted + 1 {
            self.buffer.resize((wanted + 1).next_power_of_two(), 0);
        } else if self.buffer.len() > KEEP && wanted <= INITIAL && self.end <= INITIAL {
            self.buffer.truncate(INITIAL);
            self.buffer.shrink_to_fit();
        }
    }
}

/// Builds packets in one buffer, and sends them when it is flushed.
#[derive(Debug)]
pub struct PacketWriter {
    buffer: Vec<u8>,
    /// Where the packet in progress begins.
    open: usize,
    sequence: u8,
    /// Compresses what is sent.
    frames: Option<Box<FrameWriter>>,
}

impl Default for PacketWriter {
    fn default() -> Self {
        Self { buffer: Vec::with_capacity(INITIAL), open: 0, sequence: 0, frames: None }
    }
}

impl PacketWriter {
    /// Numbers the next packet `sequence`.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// What is sent from now on is compressed.
    pub fn set_compression(&mut self, compression: Compression) -> Result<(), Error> {
        self.frames = Some(Box::new(FrameWriter::new(compression)?));
        Ok(())
    }

    /// Answers what `reader` has read: numbers go on from there.
    #[inline]
    pub fn follow(&mut self, reader: &PacketReader) {
        self.sequence = reader.sequence;
        if let (Some(ours), Some(theirs)) = (&mut self.frames, &reader.frames) {
            ours.set_sequence(theirs.next_sequence());
        }
    }

    /// Speaks unasked: numbers start from zero.
    pub fn restart_sequence(&mut self) {
        self.sequence = 0;
        if let Some(frames) = &mut self.frames {
            frames.set_sequence(0);
        }
    }

    /// The number of the next packet.
    pub fn next_sequence(&self) -> u8 {
        self.sequence
    }

    /// Opens a packet; the payload is appended to what this returns, and [`PacketWriter::finish`] closes it.
    #[inline]
    pub fn begin(&mut self) -> &mut Vec<u8> {
        self.open = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER]);
        &mut self.buffer
    }

    /// The payload in progress.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Closes the packet that [`PacketWriter::begin`] opened, splitting a payload that is too long for one.
    #[inline]
    pub fn finish(&mut self) {
        let len = self.buffer.len() - self.open - HEADER;
        if len >= MAX_PAYLOAD {
            self.split(len);
            return;
        }
        self.put_header(self.open, len);
    }

    fn put_header(&mut self, at: usize, len: usize) {
        let [a, b, c, _] = (len as u32).to_le_bytes();
        self.buffer[at..at + HEADER].copy_from_slice(&[a, b, c, self.sequence]);
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn split(&mut self, len: usize) {
        let payload = self.buffer.split_off(self.open + HEADER);
        self.buffer.truncate(self.open);
        self.buffer.reserve(len + (len / MAX_PAYLOAD + 2) * HEADER);
        let mut rest = &payload[..];
        loop {
            let (part, tail) = rest.split_at(rest.len().min(MAX_PAYLOAD));
            let at = self.buffer.len();
            self.buffer.extend_from_slice(&[0; HEADER]);
            self.put_header(at, part.len());
            self.buffer.extend_from_slice(part);
            if part.len() < MAX_PAYLOAD {
                return;
            }
            rest = tail;
        }
    }

    /// Throws the packet in progress away.
    pub fn abandon(&mut self) {
        self.buffer.truncate(self.open);
    }

    /// Whether enough is waiting that a long result should be sent on.
    #[inline]
    pub fn wants_flush(&self) -> bool {
        self.buffer.len() >= SEND_AT
    }

    /// Sends everything that is waiting.
    pub async fn flush<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        match &mut self.frames {
            None => stream.write_all(&self.buffer).await?,
            Some(frames) => stream.write_all(frames.pack(&self.buffer)?).await?,
        }
        // TLS may keep what the socket did not take; a socket keeps nothing.
        stream.flush().await?;
        self.buffer.clear();
        if self.buffer.capacity() > KEEP * 2 {
            self.buffer = Vec::with_capacity(INITIAL);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn round_trip(payload: Vec<u8>, limit: usize) -> Result<Vec<u8>, Error> {
        let mut writer = PacketWriter::default();
        writer.begin().extend_from_slice(&payload);
        writer.finish();
        writer.begin().push(42);
        writer.finish();
        let mut wire = Vec::new();
        writer.flush(&mut wire).await?;
        let mut stream = &wire[..];
        let mut reader = PacketReader::new(limit);
        let got = reader.read(&mut stream).await?.to_vec();
        assert_eq!(reader.read(&mut stream).await?, [42]);
        assert!(matches!(reader.read(&mut stream).await, Err(Error::Closed)));
        Ok(got)
    }

    #[tokio::test]
    async fn payloads_come_back_at_every_packet_border() {
        for len in [0, 1, 5000, MAX_PAYLOAD - 1, MAX_PAYLOAD, MAX_PAYLOAD + 1, 2 * MAX_PAYLOAD] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            assert!(round_trip(payload.clone(), 1 << 30).await.expect("readable") == payload, "{len}");
        }
    }

    #[tokio::test]
    async fn payload_over_the_limit_is_refused_before_it_is_read() {
        assert!(matches!(round_trip(vec![0; 2000], 1000).await, Err(Error::PacketTooLarge { limit: 1000 })));
        assert!(matches!(round_trip(vec![0; MAX_PAYLOAD + 5], MAX_PAYLOAD + 1).await, Err(Error::PacketTooLarge { .. })));
    }

    #[tokio::test]
    async fn packets_cross_frames_and_numbers_of_frames_go_on_in_the_answer() {
        for compression in [Compression::zlib(), Compression::zstd(3)] {
            let (mut writer, mut reader) = (PacketWriter::default(), PacketReader::new(1 << 30));
            writer.set_compression(compression).expect("a context");
            reader.set_compression(compression).expect("a context");
            let mut wire = Vec::new();
            let large: Vec<u8> = (0..MAX_PAYLOAD + 9).map(|i| (i / 1000) as u8).collect();
            for payload in [&b"SELECT 1"[..], &large] {
                writer.begin().extend_from_slice(payload);
                writer.finish();
                writer.flush(&mut wire).await.expect("a Vec takes everything");
            }
            let mut stream = &wire[..];
            assert_eq!(reader.read(&mut stream).await.expect("readable"), b"SELECT 1");
            assert!(reader.read(&mut stream).await.expect("readable") == large);
            assert!(stream.is_empty());
            let mut answer = PacketWriter::default();
            answer.set_compression(compression).expect("a context");
            answer.follow(&reader);
            answer.begin().push(0);
            answer.finish();
            let mut sent = Vec::new();
            answer.flush(&mut sent).await.expect("a Vec takes everything");
            // One frame for the first packet, two for the second; three packets.
            assert_eq!(sent, [5, 0, 0, 3, 0, 0, 0, 1, 0, 0, 3, 0]);
        }
    }

    #[tokio::test]
    async fn wrong_sequence_number_and_cut_packets_are_errors() {
        let mut reader = PacketReader::new(1000);
        assert!(matches!(reader.read(&mut &[1u8, 0, 0, 7, 0][..]).await, Err(Error::OutOfOrder { expected: 0, got: 7 })));
        let mut reader = PacketReader::new(1000);
        assert!(matches!(reader.read(&mut &[9u8, 0, 0, 0, 1][..]).await, Err(Error::Io(_))));
    }
}
