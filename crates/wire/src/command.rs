//! Commands: the first byte of a payload says which.

use crate::{Error, cursor::Cursor};

/// A command of the client, borrowed from its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The client leaves.
    Quit,
    /// Changes the default database.
    InitDb(&'a [u8]),
    /// One or several statements as text.
    Query(&'a [u8]),
    /// Columns of a table (old clients' completion): table name and a wildcard.
    FieldList {
        /// The table.
        table: &'a [u8],
        /// Pattern the column names must match; empty for all.
        wildcard: &'a [u8],
    },
    /// A line of server statistics as text.
    Statistics,
    /// Ends another connection (deprecated form of KILL).
    ProcessKill(u32),
    /// Are you there?
    Ping,
    /// Another user on this connection; the payload of the handshake response follows.
    ChangeUser(&'a [u8]),
    /// Prepares a statement.
    StmtPrepare(&'a [u8]),
    /// Executes a prepared statement; parameters follow (see [`crate::params`]).
    StmtExecute {
        /// The statement.
        statement: u32,
        /// Cursor type asked for; 0 for none.
        cursor: u8,
        /// NULL bitmap, types and values.
        parameters: &'a [u8],
    },
    /// A piece of one parameter's value. Never answered.
    StmtSendLongData {
        /// The statement.
        statement: u32,
        /// The parameter, from 0.
        parameter: u16,
        /// Bytes to append.
        data: &'a [u8],
    },
    /// Forgets a prepared statement. Never answered.
    StmtClose(u32),
    /// Forgets the long data and the cursor of a statement.
    StmtReset(u32),
    /// Reads on from a cursor.
    StmtFetch {
        /// The statement.
        statement: u32,
        /// Rows wanted.
        rows: u32,
    },
    /// Switches several statements in one text on (0) or off (1).
    SetOption(u16),
    /// Back to the state behind the handshake.
    ResetConnection,
}

impl<'a> Command<'a> {
    /// Reads a command's payload.
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(payload);
        let code = cursor.u8("command")?;
        Ok(match code {
            0x01 => Command::Quit,
            0x02 => Command::InitDb(cursor.rest()),
            0x03 => Command::Query(cursor.rest()),
            0x04 => {
                let table = cursor.nul_bytes("field list")?;
                Command::FieldList { table, wildcard: cursor.rest() }
            }
            0x09 => Command::Statistics,
            0x0c => Command::ProcessKill(cursor.u32("process kill")?),
            0x0e => Command::Ping,
            0x11 => Command::ChangeUser(cursor.rest()),
            0x16 => Command::StmtPrepare(cursor.rest()),
            0x17 => {
                let statement = cursor.u32("statement execute")?;
                let cursor_type = cursor.u8("statement execute")?;
                cursor.u32("statement execute")?; // Iteration count, always 1.
                Command::StmtExecute { statement, cursor: cursor_type, parameters: cursor.rest() }
            }
            0x18 => {
                let statement = cursor.u32("long data")?;
                let parameter = cursor.u16("long data")?;
                Command::StmtSendLongData { statement, parameter, data: cursor.rest() }
            }
            0x19 => Command::StmtClose(cursor.u32("statement close")?),
            0x1a => Command::StmtReset(cursor.u32("statement reset")?),
            0x1b => Command::SetOption(cursor.u16("set option")?),
            0x1c => {
                let statement = cursor.u32("statement fetch")?;
                Command::StmtFetch { statement, rows: cursor.u32("statement fetch")? }
            }
            0x1f => Command::ResetConnection,
            unknown => return Err(Error::UnknownCommand(unknown)),
        })
    }

    /// The name PROCESSLIST shows.
    pub fn name(&self) -> &'static str {
        match self {
            Command::Quit => "Quit",
            Command::InitDb(_) => "Init DB",
            Command::Query(_) => "Query",
            Command::FieldList { .. } => "Field List",
            Command::Statistics => "Statistics",
            Command::ProcessKill(_) => "Kill",
            Command::Ping => "Ping",
            Command::ChangeUser(_) => "Change user",
            Command::StmtPrepare(_) => "Prepare",
            Command::StmtExecute { .. } => "Execute",
            Command::StmtSendLongData { .. } => "Long Data",
            Command::StmtClose(_) => "Close stmt",
            Command::StmtReset(_) => "Reset stmt",
            Command::StmtFetch { .. } => "Fetch",
            Command::SetOption(_) => "Set option",
            Command::ResetConnection => "Reset Connection",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn execute_carries_statement_cursor_and_parameters() {
        let payload = [0x17, 7, 0, 0, 0, 1, 1, 0, 0, 0, 0xaa, 0xbb];
        assert_eq!(Command::parse(&payload).expect("valid"), Command::StmtExecute { statement: 7, cursor: 1, parameters: &[0xaa, 0xbb] });
        assert!(Command::parse(&payload[..8]).is_err());
        assert!(matches!(Command::parse(&[0x77]), Err(Error::UnknownCommand(0x77))));
        assert!(Command::parse(&[]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_command_or_an_error(payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Command::parse(&payload);
        }
    }
}
