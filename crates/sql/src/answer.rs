//! From a statement's result to packets.

use std::{ops::Range, sync::Arc};

use planner::physical::OutputColumn;
use session::{Change, Outcome, ResultRows, Session};
use types::{Chunk, FieldType, TimeZone, mysql_error::MysqlError};
use wire::{
    CapabilityFlags, ColumnDefinition, SessionChange, StatusFlags, Stream,
    packet::PacketWriter,
    result::{EncodedColumns, OkPacket, write_end_of_rows, write_ok},
    write_binary_row, write_text_row,
};

/// Heads of answers a connection keeps encoded; the plans of its prepared and cached statements share their columns.
const CACHED_HEADS: usize = 32;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Answer to COM_QUERY.
    Text,
    /// Answer to COM_STMT_EXECUTE.
    Binary,
}

/// Why an answer was not completed.
#[derive(Debug)]
pub enum Failure {
    /// The connection is gone.
    Protocol(wire::Error),
    /// The statement failed; the client has not been told yet.
    Statement(MysqlError),
}

impl From<wire::Error> for Failure {
    fn from(error: wire::Error) -> Self {
        Failure::Protocol(error)
    }
}

/// One answer's head: what the rows are made of, and its packets.
struct Head {
    columns: Arc<[OutputColumn]>,
    types: Arc<[FieldType]>,
    encoded: Arc<EncodedColumns>,
}

/// Answer heads encoded before, found by the identity of the plan's columns.
#[derive(Default)]
pub struct HeadCache {
    heads: Vec<Head>,
    /// Next entry to give up.
    oldest: usize,
}

impl HeadCache {
    /// The encoded head for `columns`.
    pub fn get(&mut self, columns: &Arc<[OutputColumn]>) -> (Arc<[FieldType]>, Arc<EncodedColumns>) {
        if let Some(head) = self.heads.iter().find(|head| Arc::ptr_eq(&head.columns, columns)) {
            return (head.types.clone(), head.encoded.clone());
        }
        let definitions: Vec<ColumnDefinition> = columns.iter().map(definition).collect();
        let head = Head {
            columns: columns.clone(),
            types: columns.iter().map(|column| column.ty.clone()).collect(),
            encoded: Arc::new(EncodedColumns::new(&definitions)),
        };
        let found = (head.types.clone(), head.encoded.clone());
        if self.heads.len() < CACHED_HEADS {
            self.heads.push(head);
        } else {
            self.heads[self.oldest] = head;
            self.oldest = (self.oldest + 1) % CACHED_HEADS;
        }
        found
    }
}

/// How a column is announced to clients.
pub fn definition(column: &OutputColumn) -> ColumnDefinition {
    ColumnDefinition {
        database: column.database.to_string(),
        table: column.table.to_string(),
        org_table: column.org_table.to_string(),
        name: column.name.to_string(),
        org_name: column.org_name.to_string(),
        collation: column.ty.protocol_collation(types::Collation::Utf8mb4_0900AiCi),
        length: column.ty.column_length(),
        type_code: column.ty.tp.mysql_type(),
        flags: column.ty.protocol_flags(),
        decimals: column.ty.protocol_decimals(),
    }
}

/// What has changed in the session since the last answer, for clients that follow it.
pub fn changes(session: &mut Session, capabilities: CapabilityFlags) -> Vec<SessionChange> {
    if !capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK) {
        return Vec::new();
    }
    let changes = session.take_changes().into_iter().map(|change| match change {
        Change::Variable { name, value } => SessionChange::Variable { name, value },
        Change::Schema(name) => SessionChange::Schema(name),
        Change::Something => SessionChange::Something,
        Change::TransactionCharacteristics(statements) => SessionChange::TransactionCharacteristics(statements),
        Change::TransactionState(letters) => SessionChange::TransactionState(letters),
    });
    changes.collect()
}

/// Everything an answer needs of its connection.
pub struct Answer<'a> {
    /// Where it goes.
    pub stream: &'a mut Stream,
    /// What it is put together in.
    pub writer: &'a mut PacketWriter,
    /// Heads encoded before.
    pub heads: &'a mut HeadCache,
    /// What the client understands.
    pub capabilities: CapabilityFlags,
    /// Whether another result follows (several statements in one text).
    pub more: bool,
}

impl Answer<'_> {
    /// The session's state with the flags that belong to this answer.
    fn status(&self, session: &Session) -> StatusFlags {
        let mut status = StatusFlags::from_bits_truncate(session.status_flags());
        status.set(StatusFlags::SERVER_MORE_RESULTS_EXISTS, self.more);
        status
    }

    /// Answers a statement without rows.
    pub fn outcome(&mut self, session: &mut Session, outcome: &Outcome) {
        let changes = changes(session, self.capabilities);
        let ok = OkPacket {
            affected_rows: outcome.affected_rows,
            last_insert_id: outcome.last_insert_id,
            status: self.status(session),
            warnings: session.warning_count(),
            info: outcome.info.as_bytes(),
            changes: &changes,
        };
        write_ok(self.writer, &ok);
    }

    /// Streams a statement's rows. On an error inside the statement what was not sent yet of the answer is followed by the error packet,
    /// which the caller writes.
    pub async fn rows(&mut self, session: &mut Session, mut rows: ResultRows, format: RowFormat) -> Result<(), Failure> {
        let (types, head) = self.heads.get(&rows.columns);
        // The first chunk is fetched before anything is written: most errors come before the first row.
        let mut next = session.fetch(&mut rows).await.map_err(Failure::Statement)?;
        head.write_head(self.writer, self.capabilities, self.status(session));
        while let Some(chunk) = next {
            if let Err(error) = self.chunk(&chunk, 0..chunk.rows(), &types, format, session.time_zone()).await {
                Box::pin(session.abandon(rows)).await;
                return Err(error.into());
            }
            next = session.fetch(&mut rows).await.map_err(Failure::Statement)?;
        }
        self.end_of_rows(session, StatusFlags::empty());
        Ok(())
    }

    /// Ends a result, or a part of one; `flags` say which.
    pub fn end_of_rows(&mut self, session: &mut Session, flags: StatusFlags) {
        let changes = changes(session, self.capabilities);
        let (status, warnings) = (self.status(session) | flags, session.warning_count());
        write_end_of_rows(self.writer, self.capabilities, &OkPacket { status, warnings, changes: &changes, ..OkPacket::default() });
    }

    /// Answers an execution with a cursor: columns, but no rows. They are fetched later ([`Answer::fetched`]).
    pub async fn cursor(&mut self, session: &mut Session, statement: u32, rows: ResultRows) -> Result<(), Failure> {
        let (_, head) = self.heads.get(&rows.columns);
        session.open_cursor(statement, rows).await.map_err(Failure::Statement)?;
        // One end stands for that of the columns and that of the rows.
        head.write_head(self.writer, CapabilityFlags::CLIENT_DEPRECATE_EOF, StatusFlags::empty());
        self.end_of_rows(session, StatusFlags::SERVER_STATUS_CURSOR_EXISTS);
        Ok(())
    }

    /// Sends up to `wanted` rows of a statement's cursor.
    pub async fn fetched(&mut self, session: &mut Session, statement: u32, wanted: usize) -> Result<(), Failure> {
        let mut left = wanted;
        while left > 0 {
            let Some(fetched) = session.fetch_cursor(statement, left).await.map_err(Failure::Statement)? else {
                self.end_of_rows(session, StatusFlags::SERVER_STATUS_LAST_ROW_SENT);
                return Ok(());
            };
            let (types, _) = self.heads.get(&fetched.columns);
            left -= fetched.rows.len();
            self.chunk(&fetched.chunk, fetched.rows, &types, RowFormat::Binary, session.time_zone()).await?;
        }
        self.end_of_rows(session, StatusFlags::SERVER_STATUS_CURSOR_EXISTS);
        Ok(())
    }

    async fn chunk(
        &mut self,
        chunk: &Chunk,
        rows: Range<usize>,
        types: &[FieldType],
        format: RowFormat,
        zone: &TimeZone,
    ) -> Result<(), wire::Error> {
        for row in rows {
            let out = self.writer.begin();
            match format {
                RowFormat::Text => write_text_row(out, chunk, row, types, zone),
                RowFormat::Binary => write_binary_row(out, chunk, row, types, zone),
            }
            self.writer.finish();
            if self.writer.wants_flush() {
                self.writer.flush(self.stream).await?;
            }
        }
        Ok(())
    }
}
