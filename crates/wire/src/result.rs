//! Answers: OK, ERR and EOF packets, column definitions, the head and the end of a result set.
//!
//! ```text
//! text or binary result set:  column count, column definitions, [EOF], rows…, EOF or OK
//! ```
//! The EOF behind the column definitions is left out, and the last packet is an OK packet with an EOF header, for clients with
//! `CLIENT_DEPRECATE_EOF`.

use mysql_common::constants::{CapabilityFlags, StatusFlags};
use types::mysql_error::MysqlError;

use crate::{
    cursor::{put_lenenc_bytes, put_lenenc_int},
    packet::PacketWriter,
    session_change::SessionChange,
};

/// What an OK packet reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkPacket<'a> {
    /// Rows changed, as MySQL counts them.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value the statement generated.
    pub last_insert_id: u64,
    /// State of the session behind the statement.
    pub status: StatusFlags,
    /// Number of warnings.
    pub warnings: u16,
    /// Text for people (`Rows matched: …`).
    pub info: &'a [u8],
    /// What has changed in the session; for clients with `CLIENT_SESSION_TRACK` only.
    pub changes: &'a [SessionChange],
}

/// Writes an OK packet.
pub fn write_ok(writer: &mut PacketWriter, ok: &OkPacket<'_>) {
    put_ok(writer.begin(), 0x00, ok);
    writer.finish();
}

fn put_ok(out: &mut Vec<u8>, header: u8, ok: &OkPacket<'_>) {
    out.push(header);
    put_lenenc_int(out, ok.affected_rows);
    put_lenenc_int(out, ok.last_insert_id);
    let mut status = ok.status;
    status.set(StatusFlags::SERVER_SESSION_STATE_CHANGED, !ok.changes.is_empty());
    out.extend_from_slice(&status.bits().to_le_bytes());
    out.extend_from_slice(&ok.warnings.to_le_bytes());
    if !ok.info.is_empty() || !ok.changes.is_empty() {
        put_lenenc_bytes(out, ok.info);
    }
    if !ok.changes.is_empty() {
        let mut encoded = Vec::new();
        ok.changes.iter().for_each(|change| change.put(&mut encoded));
        put_lenenc_bytes(out, &encoded);
    }
}

/// Writes an ERR packet.
pub fn write_error(writer: &mut PacketWriter, error: &MysqlError) {
    let out = writer.begin();
    out.push(0xff);
    out.extend_from_slice(&error.code.to_le_bytes());
    out.push(b'#');
    out.extend_from_slice(error.sqlstate.as_bytes());
    // Clients keep 512 bytes of a message; MySQL cuts there too.
    let message = error.message.as_bytes();
    let mut end = message.len().min(511);
    while !error.message.is_char_boundary(end) {
        end -= 1;
    }
    out.extend_from_slice(&message[..end]);
    writer.finish();
}

/// Ends a result set. Clients without `CLIENT_DEPRECATE_EOF` get status and warnings only.
pub fn write_end_of_rows(writer: &mut PacketWriter, capabilities: CapabilityFlags, ok: &OkPacket<'_>) {
    if capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
        put_ok(writer.begin(), 0xfe, ok);
        writer.finish();
    } else {
        write_eof(writer, ok.status, ok.warnings);
    }
}

/// Asks the client for a file (LOAD DATA LOCAL): it answers with the content, packet by packet, and an empty packet.
pub fn write_file_request(writer: &mut PacketWriter, name: &[u8]) {
    let out = writer.begin();
    out.push(0xfb);
    out.extend_from_slice(name);
    writer.finish();
}

/// Writes a plain EOF packet.
pub fn write_eof(writer: &mut PacketWriter, status: StatusFlags, warnings: u16) {
    let out = writer.begin();
    out.push(0xfe);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.bits().to_le_bytes());
    writer.finish();
}

/// One column of a result, as clients are told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Database of the table the column comes from; empty for expressions.
    pub database: String,
    /// Alias of the table.
    pub table: String,
    /// The table's own name.
    pub org_table: String,
    /// Alias of the column: its heading.
    pub name: String,
    /// The column's own name.
    pub org_name: String,
    /// Collation id; 63 for numbers and binary strings.
    pub collation: u16,
    /// Largest length of a value in bytes.
    pub length: u32,
    /// Type code of the protocol.
    pub type_code: u8,
    /// NOT_NULL, PRI_KEY, UNSIGNED, …
    pub flags: u16,
    /// Digits behind the point; 0x1f for floating.
    pub decimals: u8,
}

impl ColumnDefinition {
    fn put(&self, out: &mut Vec<u8>) {
        put_lenenc_bytes(out, b"def");
        for text in [&self.database, &self.table, &self.org_table, &self.name, &self.org_name] {
            put_lenenc_bytes(out, text.as_bytes());
        }
        out.push(0x0c);
        out.extend_from_slice(&self.collation.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
        out.push(self.type_code);
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.push(self.decimals);
        out.extend_from_slice(&[0, 0]);
    }
}

/// The head of a result set, encoded once per plan and copied into every answer: only sequence numbers and status change.
#[derive(Debug, Clone)]
pub struct EncodedColumns {
    count: usize,
    /// Payloads of the column definitions one behind the other.
    payloads: Vec<u8>,
    /// End of each payload.
    ends: Vec<u32>,
}

impl EncodedColumns {
    /// Encodes `columns`.
    pub fn new(columns: &[ColumnDefinition]) -> Self {
        let mut payloads = Vec::new();
        let ends = columns
            .iter()
            .map(|column| {
                column.put(&mut payloads);
                payloads.len() as u32
            })
            .collect();
        Self { count: columns.len(), payloads, ends }
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no column.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes column count, definitions and, to clients that want it, the EOF behind them.
    pub fn write_head(&self, writer: &mut PacketWriter, capabilities: CapabilityFlags, status: StatusFlags) {
        put_lenenc_int(writer.begin(), self.count as u64);
        writer.finish();
        self.write_definitions(writer, capabilities, status);
    }

    /// Writes a single definition as COM_FIELD_LIST answers it: with the column's default behind it.
    pub fn write_field(&self, writer: &mut PacketWriter, default: Option<&[u8]>) {
        let out = writer.begin();
        out.extend_from_slice(&self.payloads);
        match default {
            Some(text) => put_lenenc_bytes(out, text),
            None => out.push(0xfb),
        }
        writer.finish();
    }

    /// Writes the definitions alone, as the answer to a prepare needs them; nothing for no columns.
    pub fn write_definitions(&self, writer: &mut PacketWriter, capabilities: CapabilityFlags, status: StatusFlags) {
        let mut start = 0;
        for end in &self.ends {
            writer.begin().extend_from_slice(&self.payloads[start..*end as usize]);
            writer.finish();
            start = *end as usize;
        }
        if self.count > 0 && !capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            write_eof(writer, status, 0);
        }
    }
}

/// Writes the first packet of the answer to a prepare.
pub fn write_prepare_ok(writer: &mut PacketWriter, statement: u32, columns: usize, parameters: usize, warnings: u16) {
    let out = writer.begin();
    out.push(0x00);
    out.extend_from_slice(&statement.to_le_bytes());
    out.extend_from_slice(&(columns as u16).to_le_bytes());
    out.extend_from_slice(&(parameters as u16).to_le_bytes());
    out.push(0);
    out.extend_from_slice(&warnings.to_le_bytes());
    writer.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(write: impl FnOnce(&mut PacketWriter)) -> Vec<u8> {
        let mut writer = PacketWriter::default();
        writer.set_sequence(1);
        write(&mut writer);
        let mut out = Vec::new();
        writer.flush(&mut out).await.expect("a Vec takes everything");
        out
    }

    #[tokio::test]
    async fn ok_and_error_packets_have_the_documented_layout() {
        let status = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
        let ok = OkPacket { affected_rows: 2, last_insert_id: 300, status, warnings: 1, ..OkPacket::default() };
        assert_eq!(sent(|w| write_ok(w, &ok)).await, [9, 0, 0, 1, 0, 2, 0xfc, 0x2c, 1, 2, 0, 1, 0]);
        let told = OkPacket { info: b"hi", ..ok };
        assert_eq!(sent(|w| write_ok(w, &told)).await[12..], [0, 2, b'h', b'i']);
        let changes = [SessionChange::Schema("d".to_owned())];
        let changed = OkPacket { changes: &changes, ..told };
        assert_eq!(sent(|w| write_ok(w, &changed)).await[9..], [2, 0x40, 1, 0, 2, b'h', b'i', 4, 1, 2, 1, b'd']);
        let error = MysqlError::new(types::mysql_error::ER_PARSE_ERROR, "x");
        assert_eq!(sent(|w| write_error(w, &error)).await, b"\x0a\0\0\x01\xff\x28\x04#42000x");
    }

    #[tokio::test]
    async fn eof_stands_behind_definitions_only_for_clients_that_want_it() {
        let column = ColumnDefinition {
            database: "d".into(),
            table: "t".into(),
            org_table: "t".into(),
            name: "a".into(),
            org_name: "a".into(),
            collation: 63,
            length: 11,
            type_code: 3,
            flags: 1,
            decimals: 0,
        };
        let columns = EncodedColumns::new(&[column]);
        let status = StatusFlags::SERVER_STATUS_AUTOCOMMIT;
        let old = sent(|w| columns.write_head(w, CapabilityFlags::empty(), status)).await;
        let new = sent(|w| columns.write_head(w, CapabilityFlags::CLIENT_DEPRECATE_EOF, status)).await;
        assert_eq!(&new[..5], [1, 0, 0, 1, 1]);
        assert!(new[5..].starts_with(&[27, 0, 0, 2, 3, b'd', b'e', b'f', 1, b'd', 1, b't', 1, b't', 1, b'a', 1, b'a', 0x0c, 63, 0, 11]));
        assert_eq!(old[..new.len()], new[..]);
        assert_eq!(old[new.len()..], [5, 0, 0, 3, 0xfe, 0, 0, 2, 0]);
    }
}
