//! The handshake: the server greets with a scramble, the client answers with who it is; the server may ask for another
//! authentication plugin once.
//!
//! ```text
//! server: Greeting(scramble) ─► client: request for TLS; both speak TLS from here on      (if both can, and the client wants to)
//!                            ─► client: HandshakeResponse(user, answer to the scramble, database)
//! server: AuthSwitch(plugin, scramble) ─► client: answer      (when the account uses another plugin)
//! server: AuthMoreData(..) ◄─► client: password, encrypted    (caching_sha2_password without a cached digest)
//! server: OK | ERR
//! ```

use mysql_common::constants::{CapabilityFlags, StatusFlags};

use crate::{Error, compression::Compression, cursor::Cursor};

/// Length of the scramble.
pub const SCRAMBLE_LEN: usize = 20;

/// What this server can do; TLS besides, if it has a certificate, and compression as far as it is allowed.
pub fn server_capabilities() -> CapabilityFlags {
    CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_FOUND_ROWS
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_CONNECT_WITH_DB
        | CapabilityFlags::CLIENT_COMPRESS
        | CapabilityFlags::CLIENT_ODBC
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_IGNORE_SPACE
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_INTERACTIVE
        | CapabilityFlags::CLIENT_IGNORE_SIGPIPE
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_RESERVED
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_MULTI_STATEMENTS
        | CapabilityFlags::CLIENT_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PS_MULTI_RESULTS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS
        | CapabilityFlags::CLIENT_SESSION_TRACK
        | CapabilityFlags::CLIENT_DEPRECATE_EOF
        | CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM
}

/// The first packet of a connection.
#[derive(Debug)]
pub struct Greeting<'a> {
    /// Version text announced, e.g. `8.0.11-Trine-0.1.0`.
    pub version: &'a str,
    /// The connection's id; clients show its lower 32 bits.
    pub connection_id: u64,
    /// Random bytes without NUL that the password is mixed with.
    pub scramble: &'a [u8; SCRAMBLE_LEN],
    /// Default collation's id.
    pub collation: u8,
    /// The plugin the scramble is meant for.
    pub plugin: &'a str,
    /// What is offered: all or a part of [`server_capabilities`], and TLS.
    pub capabilities: CapabilityFlags,
}

impl Greeting<'_> {
    /// Appends the packet's payload.
    pub fn write(&self, out: &mut Vec<u8>) {
        let capabilities = self.capabilities.bits();
        out.push(10);
        out.extend_from_slice(self.version.as_bytes());
        out.push(0);
        out.extend_from_slice(&(self.connection_id as u32).to_le_bytes());
        out.extend_from_slice(&self.scramble[..8]);
        out.push(0);
        out.extend_from_slice(&(capabilities as u16).to_le_bytes());
        out.push(self.collation);
        out.extend_from_slice(&StatusFlags::SERVER_STATUS_AUTOCOMMIT.bits().to_le_bytes());
        out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        out.push(SCRAMBLE_LEN as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&self.scramble[8..]);
        out.push(0);
        out.extend_from_slice(self.plugin.as_bytes());
        out.push(0);
    }
}

/// What the client answers to the greeting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandshakeResponse {
    /// What both sides can do.
    pub capabilities: CapabilityFlags,
    /// Id of the collation the client wants to speak.
    pub collation: u16,
    /// Account name.
    pub user: String,
    /// Answer to the scramble.
    pub auth_response: Vec<u8>,
    /// Default database, if one was named.
    pub database: Option<String>,
    /// The plugin the answer was made with.
    pub plugin: Option<String>,
    /// Connection attributes (`_client_name`, `program_name`, …).
    pub attributes: Vec<(String, String)>,
    /// The level of zstd the client wants; 0 if it does not say.
    pub zstd_level: u8,
}

impl HandshakeResponse {
    /// Reads the payload of a `HandshakeResponse41`.
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        const WHAT: &str = "handshake response";
        let mut cursor = Cursor::new(payload);
        let claimed = CapabilityFlags::from_bits_truncate(cursor.u32(WHAT)?);
        if !claimed.contains(CapabilityFlags::CLIENT_PROTOCOL_41) {
            return Err(Error::OldProtocol);
        }
        let capabilities = claimed & server_capabilities();
        cursor.u32(WHAT)?; // The client's own packet limit: it binds what it sends, not what it is sent.
        let collation = u16::from(cursor.u8(WHAT)?);
        cursor.bytes(23, WHAT)?;
        let user = text(cursor.nul_bytes(WHAT)?);
        let auth_response = if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA) {
            cursor.lenenc_bytes(WHAT)?.to_vec()
        } else if capabilities.contains(CapabilityFlags::CLIENT_SECURE_CONNECTION) {
            let len = cursor.u8(WHAT)?;
            cursor.bytes(usize::from(len), WHAT)?.to_vec()
        } else {
            cursor.nul_bytes(WHAT)?.to_vec()
        };
        let mut database = None;
        if capabilities.contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB) && !cursor.is_empty() {
            database = Some(text(cursor.nul_bytes(WHAT)?)).filter(|name| !name.is_empty());
        }
        let mut plugin = None;
        if capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) && !cursor.is_empty() {
            // Some clients leave the NUL out when nothing follows.
            let name = cursor.nul_bytes(WHAT).or_else(|_| cursor.bytes(cursor.rest().len(), WHAT))?;
            plugin = Some(text(name)).filter(|name| !name.is_empty());
        }
        let attributes = match capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) && !cursor.is_empty() {
            true => parse_attributes(cursor.lenenc_bytes(WHAT)?)?,
            false => Vec::new(),
        };
        let zstd = capabilities.contains(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM);
        let zstd_level = if zstd && !cursor.is_empty() { cursor.u8(WHAT)? } else { 0 };
        Ok(Self { capabilities, collation, user, auth_response, database, plugin, attributes, zstd_level })
    }

    /// How packets behind the handshake are compressed. A client that offers both algorithms gets zlib, as from MySQL.
    pub fn compression(&self) -> Option<Compression> {
        if self.capabilities.contains(CapabilityFlags::CLIENT_COMPRESS) {
            return Some(Compression::zlib());
        }
        let zstd = self.capabilities.contains(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM);
        // 3 is what zstd and MySQL's clients take when nothing is said.
        zstd.then(|| Compression::zstd(if self.zstd_level == 0 { 3 } else { self.zstd_level }))
    }

    /// Whether `payload` asks for TLS before the real response.
    pub fn is_tls_request(payload: &[u8]) -> bool {
        payload.len() == 32
            && Cursor::new(payload)
                .u32("capabilities")
                .is_ok_and(|bits| CapabilityFlags::from_bits_truncate(bits).contains(CapabilityFlags::CLIENT_SSL))
    }
}

fn parse_attributes(bytes: &[u8]) -> Result<Vec<(String, String)>, Error> {
    const WHAT: &str = "connection attributes";
    let mut cursor = Cursor::new(bytes);
    let mut attributes = Vec::new();
    while !cursor.is_empty() {
        let key = text(cursor.lenenc_bytes(WHAT)?);
        attributes.push((key, text(cursor.lenenc_bytes(WHAT)?)));
    }
    Ok(attributes)
}

/// COM_CHANGE_USER: a handshake response without capabilities on a connection that lives on.
pub fn parse_change_user(payload: &[u8], capabilities: CapabilityFlags) -> Result<HandshakeResponse, Error> {
    const WHAT: &str = "change user";
    let mut cursor = Cursor::new(payload);
    let user = text(cursor.nul_bytes(WHAT)?);
    let len = cursor.u8(WHAT)?;
    let auth_response = cursor.bytes(usize::from(len), WHAT)?.to_vec();
    let database = Some(text(cursor.nul_bytes(WHAT)?)).filter(|name| !name.is_empty());
    let collation = if cursor.is_empty() { 0 } else { cursor.u16(WHAT)? };
    let plugin = if cursor.is_empty() { None } else { Some(text(cursor.nul_bytes(WHAT)?)) };
    let attributes = match capabilities.contains(CapabilityFlags::CLIENT_CONNECT_ATTRS) && !cursor.is_empty() {
        true => parse_attributes(cursor.lenenc_bytes(WHAT)?)?,
        false => Vec::new(),
    };
    Ok(HandshakeResponse { capabilities, collation, user, auth_response, database, plugin, attributes, zstd_level: 0 })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Appends the request to authenticate with another plugin.
pub fn write_auth_switch(out: &mut Vec<u8>, plugin: &str, scramble: &[u8; SCRAMBLE_LEN]) {
    out.push(0xfe);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(scramble);
    out.push(0);
}

/// Appends a plugin's own data (`AuthMoreData`).
pub fn write_auth_more(out: &mut Vec<u8>, data: &[u8]) {
    out.push(0x01);
    out.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(capabilities: CapabilityFlags, tail: &[u8]) -> Vec<u8> {
        let mut payload = capabilities.bits().to_le_bytes().to_vec();
        payload.extend_from_slice(&(1u32 << 24).to_le_bytes());
        payload.push(45);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(tail);
        payload
    }

    #[test]
    fn response_with_everything_is_read() {
        let capabilities = server_capabilities();
        let payload = response(capabilities, b"root\0\x03abcsbtest\0mysql_native_password\0\x07\x03key\x02vv\x09");
        let mut got = HandshakeResponse::parse(&payload).expect("valid");
        assert_eq!((got.user.as_str(), got.auth_response.as_slice(), got.collation), ("root", &b"abc"[..], 45));
        assert_eq!(got.database.as_deref(), Some("sbtest"));
        assert_eq!(got.plugin.as_deref(), Some("mysql_native_password"));
        assert_eq!(got.attributes, [("key".to_owned(), "vv".to_owned())]);
        assert_eq!(got.compression(), Some(Compression::zlib()), "zlib goes before zstd");
        got.capabilities.remove(CapabilityFlags::CLIENT_COMPRESS);
        assert_eq!(got.compression(), Some(Compression::zstd(9)));
        got.capabilities.remove(CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM);
        assert_eq!(got.compression(), None);
    }

    #[test]
    fn every_cut_of_a_response_is_an_error_or_a_shorter_response() {
        let payload = response(server_capabilities(), b"root\0\x03abcsbtest\0mysql_native_password\0\x07\x03key\x02vv");
        for cut in 0..payload.len() {
            let _ = HandshakeResponse::parse(&payload[..cut]);
        }
        assert!(HandshakeResponse::parse(&payload[..20]).is_err());
        assert!(matches!(HandshakeResponse::parse(&[0; 60]), Err(Error::OldProtocol)));
    }
}
