//! TCP connections that can be reset on purpose.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use knightwatch_serve::ClientAddress;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Handle with which a request can reset its connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// IP address of the client.
    pub address: IpAddr,
    reset_requested: Arc<AtomicBool>,
}

impl Connection {
    /// Returns the handle of a request made inside this process. It has no connection, so [`reset`](Self::reset) has no
    /// effect.
    pub(crate) fn in_process() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            reset_requested: Arc::default(),
        }
    }

    /// Resets the TCP connection at the next write.
    pub(crate) fn reset(&self) {
        self.reset_requested.store(true, Ordering::Release);
    }
}

impl ClientAddress for Connection {
    fn ip(&self) -> IpAddr {
        self.address
    }
}

/// Listener that returns each connection with its handle.
pub(crate) struct ConnectionListener(pub TcpListener);

impl Listener for ConnectionListener {
    type Io = ConnectionStream;
    type Addr = Connection;

    async fn accept(&mut self) -> (ConnectionStream, Connection) {
        loop {
            match self.0.accept().await {
                Ok((stream, peer)) => return ConnectionStream::new(stream, peer),
                Err(error) => {
                    // Usually out of file descriptors: wait until a connection closes. The wait is wall time because
                    // the limit is the machine's, not the site's.
                    tracing::warn!("cannot accept a connection, trying again in 100 ms: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Connection> {
        Ok(Connection {
            address: Ipv4Addr::UNSPECIFIED.into(),
            reset_requested: Arc::default(),
        })
    }
}

/// Byte stream of one connection.
pub(crate) struct ConnectionStream {
    stream: TcpStream,
    connection: Connection,
}

impl ConnectionStream {
    fn new(stream: TcpStream, peer: SocketAddr) -> (Self, Connection) {
        // Without it, lines would wait for the peer's acknowledgment.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("{peer}: cannot set TCP_NODELAY: {error}");
        }
        let connection = Connection {
            address: peer.ip(),
            reset_requested: Arc::default(),
        };
        let stream = Self {
            stream,
            connection: connection.clone(),
        };
        (stream, connection)
    }

    fn check(&self) -> io::Result<()> {
        if self.connection.reset_requested.load(Ordering::Acquire) {
            // Closing a socket with zero linger sends a reset instead of a FIN.
            self.stream.set_zero_linger()?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl Drop for ConnectionStream {
    fn drop(&mut self) {
        // The server may close a connection whose body has failed without polling it again.
        if self.connection.reset_requested.load(Ordering::Acquire) {
            // On failure the reset becomes an ordinary close; nothing else can be done.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for ConnectionStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for ConnectionStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
