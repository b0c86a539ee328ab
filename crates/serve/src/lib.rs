//! HTTP/1.1 server with limits on connections and time.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use futures::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

/// Upper limit of the head of a request, in bytes, which a last read may exceed. A client that sends more gets 431.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// Minimum interval between two warnings about closed connections.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Concurrent connections. Further clients wait until one of them closes.
    pub max_connections: usize,
    /// Connections of these that only clients on this machine may use.
    pub reserved_for_local: usize,
    /// Concurrent connections of one address of another machine, or one IPv6 network ([`network`]). Further ones are
    /// closed at once, as are those beyond the ones that are not reserved.
    pub max_connections_per_address: usize,
    /// Time limit for the head of a request, and for an idle connection.
    pub head_timeout: Duration,
    /// Time limit for a client that reads nothing of a response.
    pub stall_timeout: Duration,
    /// Time limit for a client that sends nothing of a request's body; `None` if bodies are streams that may pause.
    pub body_timeout: Option<Duration>,
}

/// The address of a client.
pub trait ClientAddress {
    /// Its IP address.
    fn ip(&self) -> IpAddr;
}

impl ClientAddress for SocketAddr {
    fn ip(&self) -> IpAddr {
        SocketAddr::ip(self)
    }
}

/// Serves until `closing`, then finishes open requests. Handlers get the client's address as `ConnectInfo`.
pub async fn serve<L>(
    mut listener: L,
    app: Router,
    limits: ServerLimits,
    closing: impl Future<Output = ()>,
) where
    L: Listener,
    L::Addr: ClientAddress + Clone + Sync,
{
    let permits = Arc::new(Semaphore::new(limits.max_connections));
    let remote = Arc::new(RemoteConnections::default());
    let stop = CancellationToken::new();
    let mut connections = JoinSet::new();
    let mut closing = pin!(closing);
    loop {
        let accept = async {
            // The semaphore is never closed.
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        tokio::select! {
            () = &mut closing => break,
            (permit, (stream, address)) = accept => {
                let Some(slot) = Slot::take(&remote, address.ip(), limits) else { continue };
                let (app, stop) = (app.clone(), stop.clone());
                connections.spawn(async move {
                    let (_permit, _slot) = (permit, slot);
                    handle_connection(stream, address, app, limits, stop).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
    stop.cancel();
    while connections.join_next().await.is_some() {}
}

/// The address, or the network of 64 bits from which an IPv6 client can take its addresses. The limits of a client hold
/// for all of them together.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(prefix).into()
        }
        address => address,
    }
}

/// Counts the connections from other machines.
#[derive(Default)]
struct RemoteConnections(Mutex<RemoteCounts>);

#[derive(Default)]
struct RemoteCounts {
    by_network: HashMap<IpAddr, usize>,
    warned_at: Option<Instant>,
}

impl RemoteConnections {
    fn lock(&self) -> MutexGuard<'_, RemoteCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteCounts {
    /// Returns whether a warning is due, and takes note of it.
    fn is_warning_due(&mut self) -> bool {
        let is_due = self
            .warned_at
            .is_none_or(|at| at.elapsed() >= WARNING_INTERVAL);
        if is_due {
            self.warned_at = Some(Instant::now());
        }
        is_due
    }
}

/// The place of a connection among those from other machines, if it is one.
struct Slot(Option<(Arc<RemoteConnections>, IpAddr)>);

impl Slot {
    /// Takes a place; `None` if there is none left.
    fn take(
        remote: &Arc<RemoteConnections>,
        address: IpAddr,
        limits: ServerLimits,
    ) -> Option<Self> {
        if address.to_canonical().is_loopback() {
            return Some(Self(None));
        }
        let network = network(address);
        let mut counts = remote.lock();
        let all: usize = counts.by_network.values().sum();
        let max = limits
            .max_connections
            .saturating_sub(limits.reserved_for_local);
        let own = counts.by_network.get(&network).copied().unwrap_or(0);
        if all >= max || own >= limits.max_connections_per_address {
            if counts.is_warning_due() {
                warn!(
                    "connections are closed: {network} has {own} open, and other machines have {all} of {max} at most"
                );
            }
            return None;
        }
        *counts.by_network.entry(network).or_default() += 1;
        Some(Self(Some((Arc::clone(remote), network))))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some((remote, network)) = &self.0 else {
            return;
        };
        let counts = &mut remote.lock().by_network;
        if let Some(count) = counts.get_mut(network) {
            *count -= 1;
            if *count == 0 {
                counts.remove(network);
            }
        }
    }
}

/// Serves one connection.
async fn handle_connection<S, A>(
    stream: S,
    address: A,
    app: Router,
    limits: ServerLimits,
    stop: CancellationToken,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Clone + Send + Sync + 'static,
{
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request
            .extensions_mut()
            .insert(ConnectInfo(address.clone()));
        app.call(request.map(|body| limit_pauses(body, limits.body_timeout)))
    });
    let stream = StallLimited {
        stream,
        limit: limits.stall_timeout,
        stalled: None,
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        debug!("connection failed: {error}");
    }
}

/// A body that fails when nothing of it arrives for as long as `limit`.
fn limit_pauses(body: Incoming, limit: Option<Duration>) -> Body {
    let body = Body::new(body);
    let Some(limit) = limit.filter(|_| !body.is_end_stream()) else {
        return body;
    };
    let parts = body.into_data_stream();
    let next = move |mut parts: BodyDataStream| async move {
        match timeout(limit, parts.next()).await {
            Ok(part) => part.map(|part| (part.map_err(io::Error::other), parts)),
            Err(_) => Some((Err(io::ErrorKind::TimedOut.into()), parts)),
        }
    };
    Body::from_stream(stream::unfold(parts, next))
}

/// A stream whose writes fail when they stall for too long.
struct StallLimited<S> {
    stream: S,
    limit: Duration,
    /// The timer of a stalled write.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> StallLimited<S> {
    /// The result of a write, or a timeout error.
    fn check_stall<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallLimited<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallLimited<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_stall(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.check_stall(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.check_stall(shut, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.check_stall(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::oneshot;

    use super::*;

    const LIMITS: ServerLimits = ServerLimits {
        max_connections: 2,
        reserved_for_local: 1,
        max_connections_per_address: 1,
        head_timeout: Duration::from_millis(300),
        stall_timeout: Duration::from_millis(300),
        body_timeout: Some(Duration::from_millis(300)),
    };

    /// Time limit for slow machines.
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Starts a server; the sender closes it.
    async fn server() -> (std::net::SocketAddr, oneshot::Sender<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endless = || async {
            Body::from_stream(futures::stream::repeat_with(|| {
                Ok::<_, io::Error>(vec![b'x'; 1 << 16])
            }))
        };
        let app = Router::new()
            .route("/", get("hello").post(|body: String| async { body }))
            .route("/endless", get(endless));
        let (close, closed) = oneshot::channel::<()>();
        tokio::spawn(serve(
            listener,
            app,
            LIMITS,
            async move { drop(closed.await) },
        ));
        (address, close)
    }

    async fn connect(address: std::net::SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// Reads until the server closes the connection.
    async fn read_to_end(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // A reset ends the stream as well.
        let _ = timeout(TIMEOUT, stream.read_to_end(&mut text))
            .await
            .unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn one_address_cannot_take_all_connections() {
        let remote = Arc::new(RemoteConnections::default());
        let limits = ServerLimits {
            max_connections: 4,
            reserved_for_local: 1,
            max_connections_per_address: 2,
            ..LIMITS
        };
        let take = |address: &str| Slot::take(&remote, address.parse().unwrap(), limits);
        {
            let of_one_network = (take("2001:db8::1"), take("2001:db8::2"));
            assert!(of_one_network.0.is_some() && of_one_network.1.is_some());
            assert!(take("2001:db8::3").is_none());
            assert!(take("2001:db8:0:1::1").is_some());
        }
        let first = (take("192.0.2.1"), take("192.0.2.1"));
        assert!(first.0.is_some() && first.1.is_some());
        assert!(take("::ffff:192.0.2.1").is_none());
        let other = take("192.0.2.2");
        assert!(other.is_some());
        assert!(take("192.0.2.3").is_none(), "the last one is reserved");
        assert!((0..10).all(|_| take("127.0.0.1").is_some()));
        drop(first);
        assert!(take("192.0.2.3").is_some());
    }

    const REQUEST: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn incomplete_request_times_out() {
        let (address, _close) = server().await;
        let half = connect(address, "GET / HTTP/1.1\r\nHo").await;
        let idle = connect(address, "").await;
        let third = connect(address, REQUEST).await;
        assert!(read_to_end(third).await.ends_with("hello"));
        assert!(!read_to_end(half).await.contains("hello"));
        assert_eq!(read_to_end(idle).await, "");
    }

    #[tokio::test]
    async fn long_head_is_rejected() {
        let (address, _close) = server().await;
        let start = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: ";
        let long = format!("{start}{}\r\n\r\n", "x".repeat(MAX_HEAD_BYTES / 2));
        let long = connect(address, &long).await;
        assert!(read_to_end(long).await.ends_with("hello"));
        // Nothing is left unread, so the connection is not reset.
        let too_long = format!("{start:x<MAX_HEAD_BYTES$}");
        let too_long = connect(address, &too_long).await;
        assert!(read_to_end(too_long).await.starts_with("HTTP/1.1 431 "));
    }

    #[tokio::test]
    async fn stalled_client_is_disconnected() {
        let (address, _close) = server().await;
        let ask = "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let _lazy = [connect(address, ask).await, connect(address, ask).await];
        let third = connect(address, REQUEST).await;
        assert!(read_to_end(third).await.ends_with("hello"));
    }

    #[tokio::test]
    async fn incomplete_body_times_out() {
        let (address, _close) = server().await;
        let post = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n";
        let half = connect(address, &format!("{post}\r\nhel")).await;
        let whole = connect(address, &format!("{post}Connection: close\r\n\r\nhello")).await;
        assert!(read_to_end(whole).await.ends_with("hello"));
        assert!(read_to_end(half).await.starts_with("HTTP/1.1 400 "));
    }

    #[tokio::test]
    async fn http_2_is_rejected() {
        let (address, _close) = server().await;
        let stream = connect(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        let answer = read_to_end(stream).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1."),
            "{answer}"
        );
    }
}

/// Runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
