//! TCP connections that can be reset on purpose.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A handle with which a request can break the connection on which it came.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Connection {
    /// Where it comes from.
    pub address: IpAddr,
    reset_requested: Arc<AtomicBool>,
}

impl Connection {
    /// Of a call that comes from this process, over no connection at all: there is nothing to break.
    pub fn in_process() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            reset_requested: Arc::default(),
        }
    }

    /// The next thing that is written, be it an answer or a line of a stream, becomes a TCP reset.
    pub fn reset(&self) {
        self.reset_requested.store(true, Ordering::Release);
    }
}

/// The listener: hands out connections with their handles.
pub(in crate::sim) struct ConnectionListener(pub TcpListener);

impl Listener for ConnectionListener {
    type Io = ConnectionStream;
    type Addr = Connection;

    async fn accept(&mut self) -> (ConnectionStream, Connection) {
        loop {
            match self.0.accept().await {
                Ok((stream, peer)) => return ConnectionStream::new(stream, peer),
                Err(error) => {
                    // Out of file descriptors, mostly: wait until some connection closes. This is about the machine and
                    // not about the site, so it is wall time.
                    tracing::warn!("cannot accept a connection: {error}");
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

/// The bytes of one connection.
pub(in crate::sim) struct ConnectionStream {
    stream: TcpStream,
    connection: Connection,
}

impl ConnectionStream {
    fn new(stream: TcpStream, peer: SocketAddr) -> (Self, Connection) {
        // Every line has to leave at once; without it lines wait for the peer's acknowledgement.
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
            // Closing a socket that does not linger sends a reset instead of a proper end.
            self.stream.set_zero_linger()?;
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        Ok(())
    }
}

impl Drop for ConnectionStream {
    fn drop(&mut self) {
        // The server may close a connection whose body has failed without looking at it again.
        if self.connection.reset_requested.load(Ordering::Acquire) {
            // Without it the reset becomes an ordinary end, which is the worst that can happen.
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
