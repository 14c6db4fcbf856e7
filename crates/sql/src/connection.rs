//! One connection: handshake, then command after command until somebody leaves.
//!
//! The loop waits for the next command and for the connection's own kill signal, nothing else: a connection at rest costs no wake-up,
//! and no two connections share a lock here. Connections that rest longer than `wait_timeout` are found by the server's sweeper.

use std::{net::IpAddr, sync::Arc, time::Instant};

use session::{ConnectionHandle, Domain, LocalLoad, Session, StatementResult};
use tokio::net::TcpStream;
use types::mysql_error::{self, MysqlError};
use wire::{
    CapabilityFlags, StatusFlags, Stream,
    compression::Compression,
    packet::{PacketReader, PacketWriter},
    result::{OkPacket, write_error, write_file_request, write_ok},
    tls::TlsAcceptor,
};

use crate::{
    answer::{self, HeadCache, RowFormat},
    commands::{self, Next},
    handshake::{DigestCache, Failure, Handshake},
    metrics::Metrics,
    prepared::PreparedStatements,
    throttle::Throttle,
};

/// Time a client has for the whole handshake (`connect_timeout`).
const HANDSHAKE_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

/// What all connections of a server share.
pub struct Shared {
    /// The SQL layer.
    pub domain: Arc<Domain>,
    /// Counters.
    pub metrics: Metrics,
    /// Digests of proved passwords.
    pub digests: DigestCache,
    /// Failed logins.
    pub throttle: Throttle,
    /// The server's side of TLS; none when it has no certificate.
    pub tls: Option<TlsAcceptor>,
    /// Whether root without a password is let in from other machines too.
    pub allow_empty_root_password: bool,
}

/// An authenticated connection.
pub struct Connection {
    /// Its bytes.
    pub stream: Stream,
    /// Its reading side.
    pub reader: PacketReader,
    /// Its writing side.
    pub writer: PacketWriter,
    /// The SQL session.
    pub session: Session,
    /// What both sides can do.
    pub capabilities: CapabilityFlags,
    /// How packets are compressed.
    pub compression: Option<Compression>,
    /// The protocol's side of prepared statements.
    pub prepared: PreparedStatements,
    /// Encoded heads of answers.
    pub heads: HeadCache,
    /// The connection in the registry.
    pub handle: ConnectionHandle,
    /// Where the client comes from.
    pub peer: IpAddr,
}

/// Serves a client from the first to the last byte.
pub async fn serve(shared: Arc<Shared>, socket: TcpStream, peer: IpAddr) {
    let mut stream = Stream::Plain(socket);
    let mut reader = PacketReader::new(shared.domain.max_allowed_packet());
    let mut writer = PacketWriter::default();
    let Some(handle) = shared.domain.connections().register() else {
        shared.metrics.refused.with_label_values(&["too_many_connections"]).inc();
        write_error(&mut writer, &MysqlError::new(mysql_error::ER_CON_COUNT_ERROR, "Too many connections"));
        let _ = writer.flush(&mut stream).await; // The client is refused either way.
        return;
    };
    let mut handshake = Handshake {
        stream: &mut stream,
        reader: &mut reader,
        writer: &mut writer,
        domain: &shared.domain,
        digests: &shared.digests,
        throttle: &shared.throttle,
        tls: shared.tls.as_ref(),
        allow_empty_root_password: shared.allow_empty_root_password,
        transport: None,
        compression: None,
        connection_id: handle.id().0,
        peer,
    };
    let (capabilities, info) = match tokio::time::timeout(HANDSHAKE_LIMIT, handshake.run()).await {
        Ok(Ok(client)) => client,
        Ok(Err(failure)) => {
            let error = match failure {
                Failure::Refused(error) => error,
                Failure::Tls(error) => {
                    shared.metrics.refused.with_label_values(&["tls"]).inc();
                    tracing::info!(connection = handle.id().0, %peer, %error, "TLS handshake failed");
                    return;
                }
                Failure::Protocol(wire::Error::Closed | wire::Error::Io(_)) => return,
                Failure::Protocol(error) => error.to_mysql(),
            };
            shared.metrics.refused.with_label_values(&["handshake"]).inc();
            tracing::info!(connection = handle.id().0, %peer, code = error.code, error = error.message, "client refused");
            write_error(&mut writer, &error);
            let _ = writer.flush(&mut stream).await; // The client is refused either way.
            return;
        }
        Err(_) => {
            shared.metrics.refused.with_label_values(&["timeout"]).inc();
            let seconds = HANDSHAKE_LIMIT.as_secs();
            tracing::info!(connection = handle.id().0, %peer, seconds, "client did not finish its handshake in time");
            return;
        }
    };
    let compression = handshake.compression;
    let database = info.database.clone();
    let mut session = Session::new(&shared.domain, handle.clone(), info);
    if let Some(database) = database
        && let Err(error) = session.use_database(&database).await
    {
        write_error(&mut writer, &error);
        let _ = writer.flush(&mut stream).await; // The client is refused either way.
        session.close().await;
        return;
    }
    let changes = answer::changes(&mut session, capabilities);
    let status = StatusFlags::from_bits_truncate(session.status_flags());
    write_ok(&mut writer, &OkPacket { status, changes: &changes, ..OkPacket::default() });
    if let Some(compression) = compression {
        // This answer goes out as it is.
        let agreed = async {
            writer.flush(&mut stream).await?;
            writer.set_compression(compression)?;
            reader.set_compression(compression)
        };
        if let Err(error) = agreed.await {
            tracing::debug!(connection = handle.id().0, %error, "connection ended");
            session.close().await;
            return;
        }
    }
    reader.set_limit(shared.domain.max_allowed_packet());
    let mut connection = Connection {
        stream,
        reader,
        writer,
        session,
        capabilities,
        compression,
        prepared: PreparedStatements::default(),
        heads: HeadCache::default(),
        handle,
        peer,
    };
    shared.metrics.connections.inc();
    let end = connection.run(&shared).await;
    shared.metrics.connections.dec();
    match end {
        Ok(()) | Err(wire::Error::Closed) => {}
        Err(error) => tracing::debug!(connection = connection.handle.id().0, %error, "connection ended"),
    }
    connection.session.close().await;
}

impl Connection {
    /// Serves commands until the client or the server ends the connection.
    async fn run(&mut self, shared: &Shared) -> Result<(), wire::Error> {
        loop {
            // At rest before the answer is out: whoever has it may look at the process list.
            self.handle.idle();
            self.writer.flush(&mut self.stream).await?;
            self.reader.restart_sequence();
            let received = tokio::select! {
                biased;
                received = self.reader.receive(&mut self.stream) => received,
                () = self.handle.killed() => {
                    self.writer.restart_sequence();
                    write_error(&mut self.writer, &self.handle.kill_error());
                    return self.writer.flush(&mut self.stream).await;
                }
            };
            let arrived = Instant::now();
            self.writer.follow(&self.reader);
            match received {
                Ok(()) => {}
                Err(error @ (wire::Error::Closed | wire::Error::Io(_))) => return Err(error),
                Err(error) => {
                    // The client is told; what follows on the socket cannot be trusted any more.
                    write_error(&mut self.writer, &error.to_mysql());
                    return self.writer.flush(&mut self.stream).await;
                }
            }
            let mut context = commands::Context {
                shared,
                stream: &mut self.stream,
                writer: &mut self.writer,
                session: &mut self.session,
                capabilities: &mut self.capabilities,
                prepared: &mut self.prepared,
                heads: &mut self.heads,
                handle: &self.handle,
            };
            let mut next = commands::run(&mut context, self.reader.payload()).await?;
            while let Next::LoadFile { load, rest } = next {
                next = Box::pin(self.load_file(shared, load, rest)).await?;
            }
            shared.metrics.commands.inc();
            shared.metrics.latency.observe(arrived.elapsed().as_secs_f64());
            match next {
                // A file was asked for above.
                Next::Continue | Next::LoadFile { .. } => {}
                Next::Close => return self.writer.flush(&mut self.stream).await,
                Next::ChangeUser(payload) => {
                    if !Box::pin(self.change_user(shared, &payload)).await? {
                        return self.writer.flush(&mut self.stream).await;
                    }
                }
            }
        }
    }

    /// LOAD DATA LOCAL: asks the client for the file, and goes on with the statements behind it.
    async fn load_file(&mut self, shared: &Shared, mut load: Box<LocalLoad>, rest: Vec<u8>) -> Result<Next, wire::Error> {
        write_file_request(&mut self.writer, load.file_name().as_bytes());
        self.writer.flush(&mut self.stream).await?;
        self.reader.follow(&self.writer);
        let limit = self.session.net_read_timeout();
        let mut failure = None;
        let end = loop {
            let piece = tokio::select! {
                biased;
                piece = tokio::time::timeout(limit, self.reader.read(&mut self.stream)) => piece,
                () = self.handle.killed() => break Err(self.handle.kill_error()),
            };
            match piece {
                Ok(Ok([])) => break Ok(()),
                Ok(Ok(_)) if failure.is_some() => {}
                Ok(Ok(piece)) => failure = self.session.load_piece(&mut load, piece).await.err(),
                Ok(Err(error @ (wire::Error::Closed | wire::Error::Io(_)))) => {
                    self.session.abandon_load(*load).await;
                    return Err(error);
                }
                // What follows on the socket cannot be trusted any more.
                Ok(Err(error)) => break Err(error.to_mysql()),
                Err(_) => {
                    let message = "Got timeout reading communication packets";
                    break Err(MysqlError::new(mysql_error::ER_NET_READ_INTERRUPTED, message));
                }
            }
        };
        self.writer.follow(&self.reader);
        if let Err(error) = end {
            self.session.abandon_load(*load).await;
            write_error(&mut self.writer, &error);
            return Ok(Next::Close);
        }
        let done = match failure {
            Some(error) => Err(error),
            None => self.session.finish_load(*load).await,
        };
        let mut context = self.context(shared);
        match done {
            Ok(outcome) => {
                let more = commands::has_statement(&rest);
                context.answer(StatementResult::Done(outcome), RowFormat::Text, more).await?;
                if more {
                    return commands::query(&mut context, &rest).await;
                }
            }
            Err(error) => context.error(&error),
        }
        Ok(context.next())
    }

    /// What a command works with.
    fn context<'a>(&'a mut self, shared: &'a Shared) -> commands::Context<'a> {
        commands::Context {
            shared,
            stream: &mut self.stream,
            writer: &mut self.writer,
            session: &mut self.session,
            capabilities: &mut self.capabilities,
            prepared: &mut self.prepared,
            heads: &mut self.heads,
            handle: &self.handle,
        }
    }

    /// COM_CHANGE_USER: authenticates again and starts a fresh session. Whether the connection lives on.
    async fn change_user(&mut self, shared: &Shared, payload: &[u8]) -> Result<bool, wire::Error> {
        let response = wire::handshake::parse_change_user(payload, self.capabilities)?;
        self.writer.follow(&self.reader);
        let mut handshake = Handshake {
            stream: &mut self.stream,
            reader: &mut self.reader,
            writer: &mut self.writer,
            domain: &shared.domain,
            digests: &shared.digests,
            throttle: &shared.throttle,
            tls: None,
            allow_empty_root_password: shared.allow_empty_root_password,
            transport: self.session.transport().cloned(),
            compression: self.compression,
            connection_id: self.handle.id().0,
            peer: self.peer,
        };
        match handshake.authenticate_changed(response).await {
            Ok(info) => {
                let database = info.database.clone();
                let fresh = Session::new(&shared.domain, self.handle.clone(), info);
                std::mem::replace(&mut self.session, fresh).close().await;
                self.prepared.clear();
                if let Some(database) = database
                    && let Err(error) = self.session.use_database(&database).await
                {
                    write_error(&mut self.writer, &error);
                    return Ok(false);
                }
                let changes = answer::changes(&mut self.session, self.capabilities);
                let status = StatusFlags::from_bits_truncate(self.session.status_flags());
                write_ok(&mut self.writer, &OkPacket { status, changes: &changes, ..OkPacket::default() });
                Ok(true)
            }
            Err(Failure::Refused(error)) => {
                write_error(&mut self.writer, &error);
                Ok(false)
            }
            Err(Failure::Protocol(error)) => Err(error),
            Err(Failure::Tls(error)) => Err(error.into()),
        }
    }
}
