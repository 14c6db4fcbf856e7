//! A client of the bare protocol, for what no driver does: chosen capabilities, commands nobody sends any more, slow reading.

use std::net::TcpStream;

use testkit::Server;
use tokio::runtime::Runtime;
use wire::{
    CapabilityFlags,
    compression::Compression,
    cursor::Cursor,
    packet::{PacketReader, PacketWriter},
};

/// A connection as root.
pub struct RawClient {
    runtime: Runtime,
    stream: tokio::net::TcpStream,
    reader: PacketReader,
    writer: PacketWriter,
}

/// What an OK packet says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub status: u16,
    pub info: String,
    /// The session's changes as they are encoded.
    pub changes: Vec<u8>,
}

impl Told {
    /// Reads an OK packet, also one that stands for an EOF packet, or the number of an ERR packet.
    pub fn read(payload: &[u8]) -> Result<Self, u16> {
        const WHAT: &str = "an OK packet";
        if payload[0] == 0xff {
            return Err(u16::from_le_bytes([payload[1], payload[2]]));
        }
        let mut cursor = Cursor::new(&payload[1..]);
        let mut told = Self::default();
        cursor.lenenc_int(WHAT).expect("affected rows");
        cursor.lenenc_int(WHAT).expect("an id");
        told.status = cursor.u16(WHAT).expect("a status");
        cursor.u16(WHAT).expect("warnings");
        if !cursor.is_empty() {
            told.info = String::from_utf8_lossy(cursor.lenenc_bytes(WHAT).expect("info")).into_owned();
        }
        if !cursor.is_empty() {
            told.changes = cursor.lenenc_bytes(WHAT).expect("changes").to_vec();
        }
        assert!(cursor.is_empty(), "{payload:?}");
        Ok(told)
    }
}

impl RawClient {
    /// Connects; ends of rows are OK packets.
    pub fn connect(server: &Server, further: CapabilityFlags) -> Self {
        let (client, answer) = Self::log_in(server, further);
        assert_eq!(answer[0], 0, "{answer:?}");
        client
    }

    /// Connects, and gives the last answer of the handshake besides.
    pub fn log_in(server: &Server, further: CapabilityFlags) -> (Self, Vec<u8>) {
        let capabilities = further
            | CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_MULTI_STATEMENTS
            | CapabilityFlags::CLIENT_DEPRECATE_EOF;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let socket = TcpStream::connect(("127.0.0.1", server.port())).expect("connects");
        socket.set_nonblocking(true).expect("a socket");
        let stream = runtime.block_on(async { tokio::net::TcpStream::from_std(socket).expect("a socket") });
        let mut client = Self { runtime, stream, reader: PacketReader::new(1 << 30), writer: PacketWriter::default() };
        client.read();
        client.writer.set_sequence(1);
        let mut response = capabilities.bits().to_le_bytes().to_vec();
        response.extend_from_slice(&(1u32 << 30).to_le_bytes());
        response.push(45);
        response.extend_from_slice(&[0; 23]);
        response.extend_from_slice(b"root\0\0mysql_native_password\0");
        let zstd = capabilities.contains(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM);
        if zstd {
            response.push(7);
        }
        client.send(&response);
        let answer = client.read();
        let compression = match capabilities.contains(CapabilityFlags::CLIENT_COMPRESS) {
            true => Some(Compression::zlib()),
            false => zstd.then(|| Compression::zstd(7)),
        };
        if let Some(compression) = compression {
            client.reader.set_compression(compression).expect("a context");
            client.writer.set_compression(compression).expect("a context");
        }
        (client, answer)
    }

    /// Sends a packet that goes on with what was read last.
    pub fn send(&mut self, payload: &[u8]) {
        self.writer.begin().extend_from_slice(payload);
        self.writer.finish();
        self.runtime.block_on(self.writer.flush(&mut self.stream)).expect("sent");
        self.reader.follow(&self.writer);
    }

    /// The next packet of the server.
    pub fn read(&mut self) -> Vec<u8> {
        let payload = self.runtime.block_on(self.reader.read(&mut self.stream)).expect("a packet").to_vec();
        self.writer.follow(&self.reader);
        payload
    }

    /// A packet that the server sends of its own accord.
    pub fn unasked(&mut self) -> Vec<u8> {
        self.reader.restart_sequence();
        self.read()
    }

    /// Sends a command and gives the first packet of the answer.
    pub fn command(&mut self, code: u8, rest: &[u8]) -> Vec<u8> {
        self.reader.restart_sequence();
        self.writer.restart_sequence();
        self.send(&[&[code], rest].concat());
        self.read()
    }

    /// A command that is answered by OK, by ERR (its number) or by an EOF.
    pub fn told(&mut self, code: u8, rest: &[u8]) -> Result<Told, u16> {
        Told::read(&self.command(code, rest))
    }

    /// COM_QUERY without rows.
    pub fn run(&mut self, sql: &str) -> Told {
        self.told(0x03, sql.as_bytes()).unwrap_or_else(|code| panic!("{sql}: {code}"))
    }

    /// The packets of rows up to the end of them, and what the end says.
    pub fn rows(&mut self) -> (Vec<Vec<u8>>, Told) {
        let mut rows = Vec::new();
        loop {
            let packet = self.read();
            if packet[0] == 0xfe || packet[0] == 0xff {
                return (rows, Told::read(&packet).expect("no error"));
            }
            rows.push(packet);
        }
    }

    /// The rows of a query as texts, joined by `|`.
    pub fn query(&mut self, sql: &str) -> Vec<String> {
        let columns = self.command(0x03, sql.as_bytes())[0];
        (0..columns).for_each(|_| drop(self.read()));
        let (rows, _) = self.rows();
        let text = |row: Vec<u8>| {
            let mut cursor = Cursor::new(&row);
            let cells: Vec<_> =
                (0..columns).map(|_| String::from_utf8_lossy(cursor.lenenc_bytes("a cell").expect("text")).into_owned()).collect();
            cells.join("|")
        };
        rows.into_iter().map(text).collect()
    }

    /// Prepares a statement and gives its id.
    pub fn prepare(&mut self, sql: &str) -> u32 {
        let answer = self.command(0x16, sql.as_bytes());
        assert_eq!(answer[0], 0, "{sql}: {answer:?}");
        let number = |at: usize| u16::from_le_bytes([answer[at], answer[at + 1]]);
        for _ in 0..number(5) + number(7) {
            self.read();
        }
        u32::from_le_bytes([answer[1], answer[2], answer[3], answer[4]])
    }
}
