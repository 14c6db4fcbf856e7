//! One connection: handshake, then command after command until somebody leaves.
//!
//! The loop waits for the next command and for the connection's own kill signal, nothing else: a connection at rest costs no wake-up,
//! and no two connections share a lock here. Connections that rest longer than `wait_timeout` are found by the server's sweeper.

use std::{net::IpAddr, sync::Arc, time::Instant};

use session::{ConnectionHandle, Domain, Session};
use tokio::net::TcpStream;
use types::mysql_error::{self, MysqlError};
use wire::{
    CapabilityFlags, StatusFlags, Stream,
    packet::{PacketReader, PacketWriter},
    result::{OkPacket, write_error, write_ok},
    tls::TlsAcceptor,
};

use crate::{
    answer::HeadCache,
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
    let status = StatusFlags::from_bits_truncate(session.status_flags());
    write_ok(&mut writer, &OkPacket { status, ..OkPacket::default() });
    reader.set_limit(shared.domain.max_allowed_packet());
    let mut connection = Connection {
        stream,
        reader,
        writer,
        session,
        capabilities,
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
            let payload = tokio::select! {
                biased;
                payload = self.reader.read(&mut self.stream) => payload,
                () = self.handle.killed() => {
                    self.writer.set_sequence(0);
                    write_error(&mut self.writer, &self.handle.kill_error());
                    return self.writer.flush(&mut self.stream).await;
                }
            };
            let arrived = Instant::now();
            let payload = match payload {
                Ok(payload) => payload,
                Err(error @ (wire::Error::Closed | wire::Error::Io(_))) => return Err(error),
                Err(error) => {
                    // The client is told; what follows on the socket cannot be trusted any more.
                    self.writer.set_sequence(self.reader.next_sequence());
                    write_error(&mut self.writer, &error.to_mysql());
                    return self.writer.flush(&mut self.stream).await;
                }
            };
            self.writer.set_sequence(1);
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
            let next = commands::run(&mut context, payload).await?;
            shared.metrics.commands.inc();
            shared.metrics.latency.observe(arrived.elapsed().as_secs_f64());
            match next {
                Next::Continue => {}
                Next::Close => return self.writer.flush(&mut self.stream).await,
                Next::ChangeUser(payload) => {
                    if !Box::pin(self.change_user(shared, &payload)).await? {
                        return self.writer.flush(&mut self.stream).await;
                    }
                }
            }
        }
    }

    /// COM_CHANGE_USER: authenticates again and starts a fresh session. Whether the connection lives on.
    async fn change_user(&mut self, shared: &Shared, payload: &[u8]) -> Result<bool, wire::Error> {
        let response = wire::handshake::parse_change_user(payload, self.capabilities)?;
        self.writer.set_sequence(self.reader.next_sequence());
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
                let status = StatusFlags::from_bits_truncate(self.session.status_flags());
                write_ok(&mut self.writer, &OkPacket { status, ..OkPacket::default() });
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
