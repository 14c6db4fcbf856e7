//! What an OK packet tells of changes in the session (`CLIENT_SESSION_TRACK`).
//!
//! ```text
//! length of all │ kind (1) │ length │ data │ kind (1) │ length │ data │ …
//! ```
//!
//! Source: MySQL 8.0 source documentation, "OK_Packet", "Session State Information".

use crate::cursor::put_lenenc_bytes;

/// One change of a session's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// A system variable that the client follows has this value now.
    Variable {
        /// Its name.
        name: String,
        /// Its value, as SHOW VARIABLES prints it.
        value: String,
    },
    /// The default database.
    Schema(String),
    /// Something has changed (`session_track_state_change`).
    Something,
    /// The statements that begin a transaction like the open one; empty outside a transaction.
    TransactionCharacteristics(String),
    /// What the transaction has done, in eight letters.
    TransactionState(String),
}

impl SessionChange {
    /// Appends kind, length and data.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match self {
            Self::Variable { name, value } => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                put_lenenc_bytes(&mut data, value.as_bytes());
                0
            }
            Self::Schema(name) => {
                put_lenenc_bytes(&mut data, name.as_bytes());
                1
            }
            Self::Something => {
                put_lenenc_bytes(&mut data, b"1");
                2
            }
            Self::TransactionCharacteristics(statements) => {
                put_lenenc_bytes(&mut data, statements.as_bytes());
                4
            }
            Self::TransactionState(letters) => {
                put_lenenc_bytes(&mut data, letters.as_bytes());
                5
            }
        };
        out.push(kind);
        put_lenenc_bytes(out, &data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_the_documented_layout() {
        let mut out = Vec::new();
        SessionChange::Variable { name: "autocommit".to_owned(), value: "OFF".to_owned() }.put(&mut out);
        assert_eq!(out, b"\x00\x0f\x0aautocommit\x03OFF");
        out.clear();
        SessionChange::Schema("test".to_owned()).put(&mut out);
        SessionChange::Something.put(&mut out);
        SessionChange::TransactionState("T___W___".to_owned()).put(&mut out);
        SessionChange::TransactionCharacteristics(String::new()).put(&mut out);
        assert_eq!(out, b"\x01\x05\x04test\x02\x02\x011\x05\x09\x08T___W___\x04\x01\x00");
    }
}
