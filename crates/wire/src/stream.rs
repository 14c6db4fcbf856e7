//! The bytes below the packets: a socket, or TLS over one.
//!
//! ```text
//! Plain ── client asks for TLS ──► upgrade ─┬─► Tls
//!                                           └─► Closed     (the bytes were no TLS, or the certificates did not fit)
//! ```
//!
//! An enum and not a trait object: the plain path is one predictable branch away from the socket.
//!
//! Invariant: bytes that arrived behind the request for TLS are given to TLS and to nothing else; nobody can slip plain packets under
//! an encrypted connection.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use crate::tls::{TlsAcceptor, TlsSession};

/// A connection's bytes.
#[derive(Debug)]
pub enum Stream {
    /// The socket itself.
    Plain(TcpStream),
    /// TLS over the socket.
    Tls(Box<TlsStream<Early>>),
    /// A TLS handshake failed, and took the socket with it.
    Closed,
}

impl Stream {
    /// Answers the TLS handshake that begins with the bytes `early`, which were read already.
    pub async fn upgrade(&mut self, acceptor: &TlsAcceptor, early: Vec<u8>) -> io::Result<TlsSession> {
        let Stream::Plain(socket) = std::mem::replace(self, Stream::Closed) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "TLS was asked for twice"));
        };
        let stream = acceptor.accept(Early { early, taken: 0, socket }).await?;
        let session = TlsSession::of(stream.get_ref().1);
        *self = Stream::Tls(Box::new(stream));
        Ok(session)
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_read(cx, buffer),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
            Stream::Closed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
            Stream::Closed => Poll::Ready(Ok(())),
        }
    }
}

/// A socket of which some bytes were read before TLS took over.
#[derive(Debug)]
pub struct Early {
    early: Vec<u8>,
    taken: usize,
    socket: TcpStream,
}

impl AsyncRead for Early {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.taken == this.early.len() {
            return Pin::new(&mut this.socket).poll_read(cx, buffer);
        }
        let rest = &this.early[this.taken..];
        let len = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..len]);
        this.taken += len;
        if this.taken == this.early.len() {
            (this.early, this.taken) = (Vec::new(), 0);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Early {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
