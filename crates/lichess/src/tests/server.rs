//! A scripted HTTP server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::{Client, Endpoint};

/// Response to a request.
#[derive(Clone)]
pub(super) enum Reply {
    /// Responds, and keeps the connection.
    Body(&'static str, &'static str, &'static str),
    /// Sends headers and these chunks of a stream, 10 ms apart, then does what `StreamEnd` says.
    Stream(&'static [&'static str], StreamEnd),
    /// Never answers.
    Stall,
    /// Closes the connection without a response.
    Close,
}

#[derive(Clone, Copy)]
pub(super) enum StreamEnd {
    End,
    Stall,
    Break,
}

pub(super) const OK: Reply = Reply::Body("200 OK", "application/json", r#"{"ok":true}"#);

/// A request, and the number of its connection.
#[derive(Debug, Clone)]
pub(super) struct RecordedRequest {
    pub connection: usize,
    pub head: String,
    pub body: String,
}

impl RecordedRequest {
    pub(super) fn line(&self) -> &str {
        self.head
            .lines()
            .next()
            .expect("a request line")
            .trim_end_matches(" HTTP/1.1")
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub(super) struct Server {
    pub base: String,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
}

impl Server {
    /// Serves on a free port; `reply` maps request lines to responses.
    pub(super) async fn new(reply: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (seen, reply) = (Arc::new(Mutex::new(Vec::new())), Arc::new(reply));
        let all = Arc::clone(&seen);
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((socket, _)) = listener.accept().await else {
                    return;
                };
                tokio::spawn(serve(
                    socket,
                    connection,
                    Arc::clone(&reply),
                    Arc::clone(&all),
                ));
            }
        });
        Self { base, seen }
    }

    pub(super) fn client(&self) -> Client {
        let endpoint = Endpoint::parse(&self.base).expect("loopback");
        Client::new(
            &endpoint,
            "lip_secret".parse().expect("a token"),
            Some("Kestrel"),
        )
        .expect("no TLS is needed")
    }

    pub(super) fn seen(&self) -> Vec<RecordedRequest> {
        self.seen.lock().expect("no panic").clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    reply: Arc<impl Fn(&str) -> Reply>,
    seen: Arc<Mutex<Vec<RecordedRequest>>>,
) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(socket.read_u8().await.ok()?);
        }
        let mut request = RecordedRequest {
            connection,
            head: String::from_utf8(head).ok()?,
            body: String::new(),
        };
        let length = request
            .header("content-length")
            .map_or(0, |length| length.parse().expect("a length"));
        let mut body = vec![0; length];
        socket.read_exact(&mut body).await.ok()?;
        request.body = String::from_utf8(body).ok()?;
        let reply = reply(request.line());
        seen.lock().ok()?.push(request);
        match reply {
            Reply::Body(status, kind, body) => {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nlocation: /elsewhere\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                socket.write_all(answer.as_bytes()).await.ok()?;
            }
            Reply::Stream(pieces, after) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n";
                socket.write_all(head.as_bytes()).await.ok()?;
                for piece in pieces {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    socket
                        .write_all(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes())
                        .await
                        .ok()?;
                }
                match after {
                    StreamEnd::End => socket.write_all(b"0\r\n\r\n").await.ok()?,
                    StreamEnd::Stall => std::future::pending().await,
                    StreamEnd::Break => return None,
                }
            }
            Reply::Stall => std::future::pending().await,
            Reply::Close => return None,
        }
    }
}
