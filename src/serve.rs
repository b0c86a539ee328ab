//! HTTP/1.1 for those who connect to a listener of this process: so many connections at once, each with a time limit.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::serve::Listener;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tracing::debug;

/// What clients can take of a server.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at once. Further clients wait until one of them closes.
    pub connections: usize,
    /// Time for the head of a request, and between two requests of a connection.
    pub head: Duration,
    /// Time in which a client takes nothing of an answer.
    pub stall: Duration,
}

/// Serves until `closing`, then finishes what is under way. Handlers get the client's address as `ConnectInfo`.
pub async fn serve<L>(
    mut listener: L,
    app: Router,
    bounds: Bounds,
    closing: impl Future<Output = ()>,
) where
    L: Listener,
    L::Addr: Clone + Sync,
{
    let seats = Arc::new(Semaphore::new(bounds.connections));
    let stop = CancellationToken::new();
    let mut connections = JoinSet::new();
    let mut closing = pin!(closing);
    loop {
        let accept = async {
            // Nobody closes the semaphore.
            let seat = Arc::clone(&seats).acquire_owned().await;
            (seat, listener.accept().await)
        };
        tokio::select! {
            () = &mut closing => break,
            (seat, (stream, address)) = accept => {
                let (app, stop) = (app.clone(), stop.clone());
                connections.spawn(async move {
                    let _seat = seat;
                    converse(stream, address, app, bounds, stop).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
    stop.cancel();
    while connections.join_next().await.is_some() {}
}

/// Answers the requests of one connection.
async fn converse<S, A>(stream: S, address: A, app: Router, bounds: Bounds, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    A: Clone + Send + Sync + 'static,
{
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request
            .extensions_mut()
            .insert(ConnectInfo(address.clone()));
        app.call(request.map(Body::new))
    });
    let stream = Timed {
        stream,
        limit: bounds.stall,
        stalled: None,
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        debug!("a connection has ended: {error}");
    }
}

/// A stream that fails when nothing can be written for too long.
struct Timed<S> {
    stream: S,
    limit: Duration,
    /// Since when nothing could be written, as the time when that is too long.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Timed<S> {
    /// What became of an attempt to write, or that it has taken too long.
    fn timed<T>(
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

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(written, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.timed(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.timed(shut, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.timed(written, context)
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
    use tokio::time::timeout;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        connections: 2,
        head: Duration::from_millis(300),
        stall: Duration::from_millis(300),
    };

    /// No answer takes as long as this on a slow machine.
    const LONG: Duration = Duration::from_secs(30);

    /// A server, and what closes it.
    async fn server() -> (std::net::SocketAddr, oneshot::Sender<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let endless = || async {
            Body::from_stream(futures::stream::repeat_with(|| {
                Ok::<_, io::Error>(vec![b'x'; 1 << 16])
            }))
        };
        let app = Router::new()
            .route("/", get("hello"))
            .route("/endless", get(endless));
        let (close, closed) = oneshot::channel::<()>();
        tokio::spawn(serve(
            listener,
            app,
            BOUNDS,
            async move { drop(closed.await) },
        ));
        (address, close)
    }

    async fn connect(address: std::net::SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// All that comes until the server closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        // A reset ends it as well.
        let _ = timeout(LONG, stream.read_to_end(&mut text)).await.unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    const ASK: &str = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn half_a_request_makes_room_for_a_whole_one() {
        let (address, _close) = server().await;
        let half = connect(address, "GET / HTTP/1.1\r\nHo").await;
        let idle = connect(address, "").await;
        let third = connect(address, ASK).await;
        assert!(rest(third).await.ends_with("hello"));
        assert!(!rest(half).await.contains("hello"));
        assert_eq!(rest(idle).await, "");
    }

    #[tokio::test]
    async fn who_takes_nothing_of_an_answer_is_cut_off() {
        let (address, _close) = server().await;
        let ask = "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let _lazy = [connect(address, ask).await, connect(address, ask).await];
        let third = connect(address, ASK).await;
        assert!(rest(third).await.ends_with("hello"));
    }

    #[tokio::test]
    async fn nothing_but_http_1_is_spoken() {
        let (address, _close) = server().await;
        let stream = connect(address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        let answer = rest(stream).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1."),
            "{answer}"
        );
    }
}
