//! A server of a few lines that does as it is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::lichess::{Client, Endpoint};

/// What the server does with a request.
#[derive(Clone)]
pub enum Act {
    /// Answers, and keeps the connection.
    Say(&'static str, &'static str, &'static str),
    /// Sends headers and these pieces of a stream, 10 ms apart, then goes on as the last one says.
    Stream(&'static [&'static str], After),
    /// Never answers.
    Stall,
    /// Closes the connection without a word.
    Hang,
}

#[derive(Clone, Copy)]
pub enum After {
    End,
    Stall,
    Break,
}

pub const OK: Act = Act::Say("200 OK", "application/json", r#"{"ok":true}"#);

/// A request as it came, and the number of the connection that it came over.
#[derive(Debug, Clone)]
pub struct Seen {
    pub connection: usize,
    pub head: String,
    pub body: String,
}

impl Seen {
    pub fn line(&self) -> &str {
        self.head
            .lines()
            .next()
            .expect("a request line")
            .trim_end_matches(" HTTP/1.1")
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

pub struct Server {
    pub base: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Serves on a free port; `act` decides by the request line.
    pub async fn new(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let (seen, act) = (Arc::new(Mutex::new(Vec::new())), Arc::new(act));
        let all = Arc::clone(&seen);
        tokio::spawn(async move {
            for connection in 0.. {
                let Ok((socket, _)) = listener.accept().await else {
                    return;
                };
                tokio::spawn(serve(
                    socket,
                    connection,
                    Arc::clone(&act),
                    Arc::clone(&all),
                ));
            }
        });
        Self { base, seen }
    }

    pub fn client(&self) -> Client {
        let endpoint = Endpoint::parse(&self.base).expect("loopback");
        Client::new(
            &endpoint,
            "lip_secret".parse().expect("a token"),
            Some("Kestrel"),
        )
        .expect("no TLS is needed")
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    act: Arc<impl Fn(&str) -> Act>,
    seen: Arc<Mutex<Vec<Seen>>>,
) -> Option<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(socket.read_u8().await.ok()?);
        }
        let mut request = Seen {
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
        let act = act(request.line());
        seen.lock().ok()?.push(request);
        match act {
            Act::Say(status, kind, body) => {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nlocation: /elsewhere\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                socket.write_all(answer.as_bytes()).await.ok()?;
            }
            Act::Stream(pieces, after) => {
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
                    After::End => socket.write_all(b"0\r\n\r\n").await.ok()?,
                    After::Stall => std::future::pending().await,
                    After::Break => return None,
                }
            }
            Act::Stall => std::future::pending().await,
            Act::Hang => return None,
        }
    }
}
