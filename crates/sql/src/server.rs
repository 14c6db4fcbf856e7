//! Listening, accepting, and ending in order.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use session::Domain;
use tokio::{net::TcpListener, sync::Notify};

use crate::{
    Error, Metrics,
    connection::{self, Shared},
    handshake::DigestCache,
    throttle::Throttle,
    workers::{WorkerOptions, Workers},
};

/// Connections the operating system keeps waiting while the server accepts others.
const BACKLOG: i32 = 1024;
/// How often connections that rest too long are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// Pause after an accept that failed for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where a server listens and how it ends.
#[derive(Clone)]
pub struct ServerConfig {
    /// Address or name to listen on.
    pub host: String,
    /// Port for MySQL clients; 0 for a free one.
    pub port: u16,
    /// Time running statements have to finish when the server stops.
    pub drain: Duration,
    /// The event loops that serve connections.
    pub workers: WorkerOptions,
    /// The server's side of TLS; none when it is not offered.
    pub tls: Option<wire::tls::TlsAcceptor>,
    /// Whether root without a password is let in from other machines too.
    pub allow_empty_root_password: bool,
}

/// A server that accepts MySQL clients.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    stop: Arc<Notify>,
    drain: Duration,
    accept_loop: tokio::task::JoinHandle<()>,
    sweeper: tokio::task::JoinHandle<()>,
    workers: Arc<Workers>,
}

impl Server {
    /// Listens and starts accepting.
    pub fn start(domain: Arc<Domain>, metrics: Metrics, config: &ServerConfig) -> Result<Self, Error> {
        let listener = listen(&config.host, config.port, "MySQL clients")?;
        let address = listener.local_addr().map_err(|source| Error::Host { host: config.host.clone(), source })?;
        domain.set_port(address.port());
        let shared = Arc::new(Shared {
            domain,
            metrics,
            digests: DigestCache::default(),
            throttle: Throttle::default(),
            tls: config.tls.clone(),
            allow_empty_root_password: config.allow_empty_root_password,
        });
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::new(Notify::new());
        let workers = Arc::new(Workers::start(config.workers)?);
        let accept_loop = tokio::spawn(accept(listener, shared.clone(), workers.clone(), stopping.clone(), stop.clone()));
        let sweeper = tokio::spawn(sweep(shared.clone()));
        Ok(Self { shared, address, stopping, stop, drain: config.drain, accept_loop, sweeper, workers })
    }

    /// The address clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops: no new connection and no new statement; running statements finish within the drain time, then they are cancelled.
    pub async fn stop(self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.stop.notify_waiters();
        self.accept_loop.abort();
        self.sweeper.abort();
        let connections = self.shared.domain.connections();
        let deadline = Instant::now() + self.drain;
        while !connections.is_empty() && Instant::now() < deadline {
            // Connections whose statement has just ended are idle now.
            connections.shut_down_idle();
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let left = connections.len();
        if left > 0 {
            tracing::warn!(
                connections = left,
                drain_ms = self.drain.as_millis() as u64,
                "cancelling statements that did not finish in time"
            );
            connections.kill_all();
            let deadline = Instant::now() + Duration::from_secs(2);
            while !connections.is_empty() && Instant::now() < deadline {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        self.workers.stop();
    }
}

/// Binds a listening socket.
pub(crate) fn listen(host: &str, port: u16, purpose: &'static str) -> Result<TcpListener, Error> {
    let host_error = |source| Error::Host { host: host.to_owned(), source };
    let address = (host, port)
        .to_socket_addrs()
        .map_err(host_error)?
        .next()
        .ok_or_else(|| host_error(std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address")))?;
    let bind = || -> std::io::Result<TcpListener> {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    };
    bind().map_err(|source| Error::bind(address, purpose, source))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, workers: Arc<Workers>, stopping: Arc<AtomicBool>, stop: Arc<Notify>) {
    while !stopping.load(Ordering::SeqCst) {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.notified() => return,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        shared.metrics.accepted.inc();
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, %peer, "connection lost before it began");
            continue;
        }
        let keepalive = socket2::TcpKeepalive::new().with_time(Duration::from_secs(60));
        if let Err(error) = socket2::SockRef::from(&stream).set_tcp_keepalive(&keepalive) {
            tracing::debug!(%error, %peer, "no keep-alive on this connection");
        }
        let shared = shared.clone();
        match stream.into_std() {
            Ok(stream) => workers.serve(stream, move |stream| connection::serve(shared, stream, peer.ip())),
            Err(error) => tracing::warn!(%error, %peer, "cannot hand a connection over"),
        }
    }
}

/// Closes connections that have waited for a command longer than `wait_timeout`.
async fn sweep(shared: Arc<Shared>) {
    let mut tick = tokio::time::interval(SWEEP_EVERY);
    loop {
        tick.tick().await;
        shared.domain.connections().close_idle_since(shared.domain.wait_timeout());
    }
}
