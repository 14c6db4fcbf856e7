//! What each command does.

use session::{ConnectionHandle, LocalLoad, Session, StatementResult};
use types::mysql_error::{self, MysqlError};
use wire::{
    CapabilityFlags, StatusFlags, Stream,
    command::Command,
    packet::PacketWriter,
    params,
    result::{EncodedColumns, OkPacket, write_end_of_rows, write_error, write_ok, write_prepare_ok},
};

use crate::{
    answer::{self, Answer, Failure, HeadCache, RowFormat},
    connection::Shared,
    prepared::PreparedStatements,
};

/// What the command loop does behind a command.
pub enum Next {
    /// Wait for the next command.
    Continue,
    /// Send what is waiting and close.
    Close,
    /// Authenticate again with this payload.
    ChangeUser(Vec<u8>),
    /// Ask the client for a file, then go on with the rest of the text.
    LoadFile {
        /// What is done with the file.
        load: Box<LocalLoad>,
        /// The statements behind it.
        rest: Vec<u8>,
    },
}

/// `CURSOR_TYPE_READ_ONLY`; cursors of other types do not exist, as in MySQL.
const READ_ONLY_CURSOR: u8 = 1;

/// The parts of a connection a command works with; the payload is still borrowed from the reader.
pub struct Context<'a> {
    /// What all connections share.
    pub shared: &'a Shared,
    /// Its bytes.
    pub stream: &'a mut Stream,
    /// The answer in progress.
    pub writer: &'a mut PacketWriter,
    /// The SQL session.
    pub session: &'a mut Session,
    /// What both sides can do.
    pub capabilities: &'a mut CapabilityFlags,
    /// The protocol's side of prepared statements.
    pub prepared: &'a mut PreparedStatements,
    /// Encoded heads of answers.
    pub heads: &'a mut HeadCache,
    /// The connection in the registry.
    pub handle: &'a ConnectionHandle,
}

/// Runs one command; the answer is left in the writer, apart from what a long result has sent already.
pub async fn run(context: &mut Context<'_>, payload: &[u8]) -> Result<Next, wire::Error> {
    let command = match Command::parse(payload) {
        Ok(command) => command,
        Err(error) => {
            context.error(&error.to_mysql());
            return Ok(Next::Continue);
        }
    };
    context.handle.busy(command.name());
    match command {
        Command::Quit => return Ok(Next::Close),
        Command::Query(sql) => return query(context, sql).await,
        Command::StmtExecute { statement, cursor, parameters } => {
            execute(context, statement, cursor & READ_ONLY_CURSOR != 0, parameters).await?;
        }
        Command::StmtPrepare(sql) => prepare(context, sql).await,
        Command::StmtSendLongData { statement, parameter, data } => {
            let params = context.session.param_count(statement).unwrap_or(0);
            context.prepared.append(statement, parameter, params, data);
        }
        Command::StmtClose(statement) => {
            context.prepared.close(statement);
            context.session.close_statement(statement);
        }
        Command::StmtReset(statement) => match context.session.param_count(statement) {
            Some(_) => {
                context.session.close_cursor(statement);
                context.prepared.reset(statement);
                context.ok();
            }
            None => context.error(&unknown_statement(statement, "mysqld_stmt_reset")),
        },
        Command::StmtFetch { statement, rows } => fetch(context, statement, rows).await?,
        Command::InitDb(name) => {
            let name = String::from_utf8_lossy(name);
            match context.session.use_database(&name).await {
                Ok(()) => context.ok(),
                Err(error) => context.error(&error),
            }
        }
        Command::Ping => context.ok(),
        Command::Statistics => {
            let line = context.shared.domain.statistics_line();
            context.writer.begin().extend_from_slice(line.as_bytes());
            context.writer.finish();
        }
        Command::ProcessKill(id) => return query(context, format!("KILL {id}").as_bytes()).await,
        Command::FieldList { table, wildcard } => field_list(context, table, wildcard).await,
        Command::SetOption(option) => set_option(context, option),
        Command::ResetConnection => {
            context.prepared.clear();
            context.session.reset().await;
            context.ok();
        }
        Command::ChangeUser(payload) => return Ok(Next::ChangeUser(payload.to_vec())),
    }
    Ok(context.next())
}

impl Context<'_> {
    fn status(&self) -> StatusFlags {
        StatusFlags::from_bits_truncate(self.session.status_flags())
    }

    /// Whether the connection lives on.
    pub(crate) fn next(&self) -> Next {
        if self.handle.is_killed() { Next::Close } else { Next::Continue }
    }

    /// Ends an answer that is neither OK nor rows: with an EOF packet, or what stands for it.
    fn end_of_data(&mut self) {
        let status = self.status();
        write_end_of_rows(self.writer, *self.capabilities, &OkPacket { status, ..OkPacket::default() });
    }

    fn ok(&mut self) {
        let changes = answer::changes(self.session, *self.capabilities);
        let status = self.status();
        write_ok(self.writer, &OkPacket { status, changes: &changes, ..OkPacket::default() });
    }

    pub(crate) fn error(&mut self, error: &MysqlError) {
        self.shared.metrics.errors.inc();
        write_error(self.writer, error);
    }

    /// Writes a statement's result. `Ok(false)` when it failed and the client has been told.
    pub(crate) async fn answer(&mut self, result: StatementResult, format: RowFormat, more: bool) -> Result<bool, wire::Error> {
        let mut answer = Answer { stream: self.stream, writer: self.writer, heads: self.heads, capabilities: *self.capabilities, more };
        let done = match result {
            StatementResult::Done(outcome) => {
                answer.outcome(self.session, &outcome);
                return Ok(true);
            }
            StatementResult::Rows(rows) => answer.rows(self.session, rows, format).await,
            // Texts only can ask for files, and they are looked at before.
            StatementResult::LocalFile(load) => {
                self.session.abandon_load(*load).await;
                Err(Failure::Statement(MysqlError::not_supported("LOAD DATA in this place")))
            }
        };
        self.told(done)
    }

    /// Tells the client of a statement's failure. `Ok(false)` if there was one.
    fn told(&mut self, done: Result<(), Failure>) -> Result<bool, wire::Error> {
        match done {
            Ok(()) => Ok(true),
            Err(Failure::Protocol(error)) => Err(error),
            Err(Failure::Statement(error)) => {
                self.error(&error);
                Ok(false)
            }
        }
    }
}

/// COM_QUERY: the statements of a text one after the other, until one fails.
pub async fn query(context: &mut Context<'_>, sql: &[u8]) -> Result<Next, wire::Error> {
    let mut rest = sql;
    loop {
        match context.session.query(rest).await {
            Ok((result, consumed)) => {
                rest = rest.get(consumed..).unwrap_or_default();
                if let StatementResult::LocalFile(load) = result {
                    return Ok(Next::LoadFile { load, rest: rest.to_vec() });
                }
                let more = has_statement(rest);
                if !context.answer(result, RowFormat::Text, more).await? || !more {
                    return Ok(context.next());
                }
            }
            Err(error) => {
                context.error(&error);
                return Ok(context.next());
            }
        }
    }
}

/// Whether another statement follows in a text.
pub fn has_statement(rest: &[u8]) -> bool {
    rest.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b';')
}

/// COM_STMT_PREPARE.
async fn prepare(context: &mut Context<'_>, sql: &[u8]) {
    let info = match context.session.prepare(sql).await {
        Ok(info) => info,
        Err(error) => return context.error(&error),
    };
    let (_, columns) = context.heads.get(&info.columns);
    let (capabilities, status) = (*context.capabilities, context.status());
    write_prepare_ok(context.writer, info.id, columns.len(), info.params, context.session.warning_count());
    EncodedColumns::new(&vec![params::definition(); info.params]).write_definitions(context.writer, capabilities, status);
    columns.write_definitions(context.writer, capabilities, status);
}

/// COM_STMT_EXECUTE. With a cursor rows are kept for COM_STMT_FETCH.
async fn execute(context: &mut Context<'_>, statement: u32, with_cursor: bool, parameters: &[u8]) -> Result<(), wire::Error> {
    let Some(count) = context.session.param_count(statement) else {
        context.error(&unknown_statement(statement, "mysqld_stmt_execute"));
        return Ok(());
    };
    context.session.close_cursor(statement);
    let bound = context.prepared.bound(statement);
    let values = if bound.overflow {
        Err(MysqlError::new(mysql_error::ER_NET_PACKET_TOO_LARGE, "Got a packet bigger than 'max_allowed_packet' bytes"))
    } else {
        params::decode(parameters, count, &mut bound.types, &bound.long_data).map_err(|error| error.to_mysql())
    };
    if !bound.long_data.is_empty() || bound.overflow {
        context.prepared.reset(statement);
    }
    let result = match values {
        Ok(values) => context.session.execute(statement, values).await,
        Err(error) => Err(error),
    };
    match result {
        Ok(StatementResult::Rows(rows)) if with_cursor => {
            let (stream, writer, heads) = (&mut *context.stream, &mut *context.writer, &mut *context.heads);
            let mut answer = Answer { stream, writer, heads, capabilities: *context.capabilities, more: false };
            let done = answer.cursor(context.session, statement, rows).await;
            context.told(done)?;
        }
        Ok(result) => {
            context.answer(result, RowFormat::Binary, false).await?;
        }
        Err(error) => context.error(&error),
    }
    Ok(())
}

/// COM_STMT_FETCH.
async fn fetch(context: &mut Context<'_>, statement: u32, rows: u32) -> Result<(), wire::Error> {
    if context.session.param_count(statement).is_none() {
        context.error(&unknown_statement(statement, "mysqld_stmt_fetch"));
        return Ok(());
    }
    let (stream, writer, heads) = (&mut *context.stream, &mut *context.writer, &mut *context.heads);
    let mut answer = Answer { stream, writer, heads, capabilities: *context.capabilities, more: false };
    let done = answer.fetched(context.session, statement, rows as usize).await;
    context.told(done).map(drop)
}

/// COM_FIELD_LIST: definitions and defaults of a table's columns.
async fn field_list(context: &mut Context<'_>, table: &[u8], wildcard: &[u8]) {
    let (table, wildcard) = (String::from_utf8_lossy(table), String::from_utf8_lossy(wildcard));
    match context.session.field_list(&table, &wildcard).await {
        Ok(fields) => {
            for field in &fields {
                EncodedColumns::new(&[answer::definition(&field.column)]).write_field(context.writer, field.default.as_deref());
            }
            context.end_of_data();
        }
        Err(error) => context.error(&error),
    }
}

/// COM_SET_OPTION: several statements in one text, on or off.
fn set_option(context: &mut Context<'_>, option: u16) {
    match option {
        0 | 1 => {
            context.capabilities.set(CapabilityFlags::CLIENT_MULTI_STATEMENTS, option == 0);
            context.session.set_multi_statements(option == 0);
            context.end_of_data();
        }
        _ => context.error(&MysqlError::new(mysql_error::ER_UNKNOWN_COM_ERROR, "Unknown command")),
    }
}

fn unknown_statement(statement: u32, function: &str) -> MysqlError {
    MysqlError::new(mysql_error::ER_UNKNOWN_STMT_HANDLER, format!("Unknown prepared statement handler ({statement}) given to {function}"))
}
