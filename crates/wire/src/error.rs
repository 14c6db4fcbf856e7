//! What can go wrong on a connection below SQL.

use types::mysql_error::{self, MysqlError};

/// An error of the protocol. Apart from [`Error::PacketTooLarge`] and [`Error::UnknownCommand`] none leaves the connection usable.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer closed the connection, or the socket failed.
    #[error("connection lost: {0}")]
    Io(#[from] std::io::Error),
    /// The peer closed the connection between two packets.
    #[error("connection closed by the client")]
    Closed,
    /// The bytes are no packet of the protocol.
    #[error("malformed packet: {what}")]
    Malformed {
        /// What was being read.
        what: &'static str,
    },
    /// Packets arrived in another order than they were numbered.
    #[error("packets out of order: expected {expected}, got {got}")]
    OutOfOrder {
        /// The number expected.
        expected: u8,
        /// The number read.
        got: u8,
    },
    /// The payload is larger than `max_allowed_packet`.
    #[error("packet of more than {limit} bytes")]
    PacketTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A compressed frame does not hold what it claims.
    #[error("a compressed packet cannot be uncompressed")]
    Compression,
    /// A command byte nobody has defined, or that this server does not serve.
    #[error("unknown command {0:#04x}")]
    UnknownCommand(u8),
    /// The client speaks a protocol older than 4.1.
    #[error("client does not support the 4.1 protocol")]
    OldProtocol,
}

impl Error {
    /// The error packet the client sees, if the connection can still carry one.
    pub fn to_mysql(&self) -> MysqlError {
        match self {
            Error::Io(_) | Error::Closed => MysqlError::new(mysql_error::ER_NET_READ_ERROR, "Got an error reading communication packets"),
            Error::Malformed { .. } => MysqlError::new(mysql_error::ER_MALFORMED_PACKET, "Malformed communication packet."),
            Error::OutOfOrder { .. } => MysqlError::new(mysql_error::ER_NET_PACKETS_OUT_OF_ORDER, "Got packets out of order"),
            Error::PacketTooLarge { .. } => {
                MysqlError::new(mysql_error::ER_NET_PACKET_TOO_LARGE, "Got a packet bigger than 'max_allowed_packet' bytes")
            }
            Error::Compression => MysqlError::new(mysql_error::ER_NET_UNCOMPRESS_ERROR, "Couldn't uncompress communication packet"),
            Error::UnknownCommand(_) => MysqlError::new(mysql_error::ER_UNKNOWN_COM_ERROR, "Unknown command"),
            Error::OldProtocol => MysqlError::new(
                mysql_error::ER_NOT_SUPPORTED_AUTH_MODE,
                "Client does not support authentication protocol requested by server; consider upgrading MySQL client",
            ),
        }
    }
}
