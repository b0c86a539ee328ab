//! Lichess speaks HTTP/2 over TLS, the simulator HTTP/1.1: here the bot reaches it through a proxy that speaks HTTP/2 over TLS
//! with a self-signed certificate, and whose connections can be frozen.

use std::path::Path;
use std::pin::Pin;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use knightwatch::sim::{
    ChallengePlan, Endpoint, Fault, FaultRule, NewUser, PlayerKind, PlayerOptions, StreamFault,
    TimeControl,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::common::{BOT, Daemon, FAST_MOVES, IMPATIENT, Site, wait};

/// Whether connections with streams are frozen, and the wakers of tasks that wait for them.
#[derive(Default)]
struct Freezer {
    frozen: Mutex<(bool, Vec<Waker>)>,
}

impl Freezer {
    fn freeze(&self) {
        self.frozen.lock().unwrap().0 = true;
    }

    /// Returns whether connections are frozen.
    fn is_frozen(&self, cx: &Context<'_>) -> bool {
        let mut frozen = self.frozen.lock().unwrap();
        if frozen.0 {
            frozen.1.push(cx.waker().clone());
        }
        frozen.0
    }
}

/// A connection. When frozen it neither reads nor writes, but stays open, as behind a router that has lost its state.
struct FreezableConnection {
    tcp: TcpStream,
    freezer: Arc<Freezer>,
    /// Number of stream requests on the connection.
    streams: Arc<AtomicUsize>,
    /// The connection was made before the freeze; later ones work.
    made_before_freeze: bool,
}

impl FreezableConnection {
    fn is_frozen(&self, cx: &Context<'_>) -> bool {
        self.made_before_freeze
            && self.streams.load(Ordering::SeqCst) > 0
            && self.freezer.is_frozen(cx)
    }
}

impl AsyncRead for FreezableConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.is_frozen(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for FreezableConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        if self.is_frozen(cx) {
            return Poll::Pending;
        }
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// A TLS proxy of a site; stops when dropped.
struct TlsProxy {
    url: String,
    ca: tempfile::NamedTempFile,
    freezer: Arc<Freezer>,
    versions: Arc<Mutex<Vec<hyper::Version>>>,
    _runtime: tokio::runtime::Runtime,
}

impl TlsProxy {
    fn start(site: &Site) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let ca = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(ca.path(), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let freezer = Arc::new(Freezer::default());
        let versions = Arc::new(Mutex::new(Vec::new()));
        let upstream = site.url.clone();
        let (shared_freezer, seen) = (Arc::clone(&freezer), Arc::clone(&versions));
        runtime.spawn(async move {
            let http = crate::common::http_client();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                tcp.set_nodelay(true).unwrap();
                let streams = Arc::new(AtomicUsize::new(0));
                let made_before_freeze = !shared_freezer.frozen.lock().unwrap().0;
                let tcp = FreezableConnection {
                    tcp,
                    freezer: Arc::clone(&shared_freezer),
                    streams: Arc::clone(&streams),
                    made_before_freeze,
                };
                let (acceptor, http, upstream) = (acceptor.clone(), http.clone(), upstream.clone());
                let seen = Arc::clone(&seen);
                tokio::spawn(async move {
                    let Ok(tls) = acceptor.accept(tcp).await else {
                        return;
                    };
                    let service = service_fn(move |request: Request<Incoming>| {
                        if request.uri().path().contains("/stream/") {
                            streams.fetch_add(1, Ordering::SeqCst);
                        }
                        seen.lock().unwrap().push(request.version());
                        forward(http.clone(), upstream.clone(), request)
                    });
                    // Broken connections are handled by the client.
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(tls), service)
                        .await;
                });
            }
        });
        Self {
            url: format!("https://localhost:{port}"),
            ca,
            freezer,
            versions,
            _runtime: runtime,
        }
    }

    /// The lines of the bot's configuration that use this proxy.
    fn config(&self) -> String {
        format!(
            "lichess = {{ url = \"{}\", token_file = \"token\", ca_file = \"{}\" }}",
            self.url,
            self.ca.path().display()
        )
    }
}

type Body = BoxBody<Bytes, reqwest::Error>;

/// Forwards a request to the simulator and streams the response.
async fn forward(
    http: reqwest::Client,
    upstream: String,
    request: Request<Incoming>,
) -> Result<Response<Body>, reqwest::Error> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut forwarded = http.request(parts.method, format!("{upstream}{path}"));
    for (name, value) in &parts.headers {
        if name != hyper::header::HOST && name != hyper::header::CONTENT_LENGTH {
            forwarded = forwarded.header(name, value);
        }
    }
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    let answer = forwarded.body(body.unwrap_or_default()).send().await?;
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        if name != hyper::header::TRANSFER_ENCODING && name != hyper::header::CONNECTION {
            response = response.header(name, value);
        }
    }
    let stream = StreamBody::new(answer.bytes_stream().map_ok(Frame::data));
    Ok(response.body(BodyExt::boxed(stream)).unwrap())
}

/// A user who plays one game against the bot, with a move every 100 ms.
fn opponent(clock: TimeControl) -> PlayerOptions {
    PlayerOptions {
        delay: Duration::from_millis(100)..=Duration::from_millis(100),
        ..PlayerOptions::new("Randy", PlayerKind::Random).challenging(ChallengePlan {
            count: Some(1),
            ..ChallengePlan::against(BOT, clock)
        })
    }
}

/// Starts a site, its proxy, and the bot with this configuration.
fn start(config: &str, faults: impl IntoIterator<Item = FaultRule>) -> (Site, TlsProxy, Daemon) {
    let site = Site::new([NewUser::human("Randy")]);
    faults
        .into_iter()
        .for_each(|rule| site.sim.faults().add(rule));
    let proxy = TlsProxy::start(&site);
    let bot = Daemon::start(&site, &(proxy.config() + config));
    (site, proxy, bot)
}

/// Plays a game and checks that the bot wins it on the board.
fn assert_bot_wins(site: &Site) {
    site.sim.add_player(opponent(TimeControl::clock(60, 0)));
    let game = site.finished(&site.started(1)[0].id);
    assert_eq!(game.status, "mate", "{game:?}");
    let winner = if game.result == "1-0" {
        &game.white
    } else {
        &game.black
    };
    assert_eq!(winner, BOT, "{game:?}");
}

fn bot_fault(endpoint: Endpoint, fault: Fault) -> FaultRule {
    FaultRule::on(endpoint, fault).from_user(BOT)
}

#[test]
fn game_is_played_over_http_2_and_tls() {
    let (site, proxy, _bot) = start(FAST_MOVES, []);
    assert_bot_wins(&site);
    let versions = proxy.versions.lock().unwrap();
    assert!(versions.len() > 10);
    assert!(
        versions
            .iter()
            .all(|&version| version == hyper::Version::HTTP_2)
    );
}

#[test]
fn untrusted_certificate_is_rejected() {
    let site = Site::new([]);
    let proxy = TlsProxy::start(&site);
    let config = format!(
        "lichess = {{ url = \"{}\", token_file = \"token\" }}",
        proxy.url
    );
    let bot = Daemon::launch_as(&site, &site.sim.token_of(BOT), &config);
    wait("the certificate is refused", || {
        bot.log()
            .to_lowercase()
            .contains("certificate")
            .then_some(())
    });
    assert!(Path::new(proxy.ca.path()).exists());
    assert!(
        proxy.versions.lock().unwrap().is_empty(),
        "no request was sent"
    );
}

#[test]
fn f06_f07_f09_closed_and_broken_streams_reopen() {
    let broken = |endpoint, how| {
        bot_fault(
            endpoint,
            Fault::Stream {
                after_lines: 2,
                fault: how,
            },
        )
    };
    let (site, _front, bot) = start(
        FAST_MOVES,
        [
            broken(Endpoint::GameStream, StreamFault::Eof),
            broken(Endpoint::GameStream, StreamFault::Reset).nth(2),
            broken(Endpoint::EventStream, StreamFault::Eof),
        ],
    );
    assert_bot_wins(&site);
    assert!(site.sim.faults().request_count(Endpoint::GameStream) >= 3);
    assert!(bot.log().contains("game stream lost"), "{}", bot.log());
}

#[test]
fn f08_f10_silent_streams_reopen() {
    let silent = |endpoint| {
        let how = StreamFault::Silence;
        bot_fault(
            endpoint,
            Fault::Stream {
                after_lines: 2,
                fault: how,
            },
        )
    };
    let (site, _front, bot) = start(
        FAST_MOVES,
        [silent(Endpoint::GameStream), silent(Endpoint::EventStream)],
    );
    assert_bot_wins(&site);
    assert!(bot.log().contains("silent"), "{}", bot.log());
}

#[test]
fn failed_moves_are_retried() {
    let (site, _front, _bot) = start(
        FAST_MOVES,
        [
            bot_fault(Endpoint::Move, Fault::html(502)).nth(2),
            bot_fault(Endpoint::Move, Fault::ResponseLost).nth(4),
            bot_fault(Endpoint::Move, Fault::Reset).nth(6),
            bot_fault(
                Endpoint::Move,
                Fault::json(429, r#"{"error":"Too many requests. Try again later."}"#),
            )
            .nth(8),
        ],
    );
    assert_bot_wins(&site);
}

#[test]
fn frozen_stream_connection_does_not_block_moves() {
    let (site, proxy, bot) = start("", []);
    site.sim.add_player(opponent(TimeControl::clock(60, 0)));
    let id = site.started(1)[0].id.clone();
    let plies = || site.game(&id).map_or(0, |game| game.plies);
    wait("some moves are made", || (plies() >= 6).then_some(()));
    proxy.freezer.freeze();
    let frozen = Instant::now();
    // No side of the connection notices. The pending move is posted over another connection; the next one has to wait until
    // the silence is noticed.
    let game = site.plies_or_end(&id, plies() + 6);
    assert!(frozen.elapsed() < Duration::from_secs(100));
    assert!(
        ["started", "mate"].contains(&game.status),
        "{game:?}\n{}",
        bot.log()
    );
}

#[test]
fn frozen_stream_connection_loses_no_short_game() {
    let (site, proxy, bot) = start("", []);
    site.sim.add_player(PlayerOptions {
        // The opponent moves before the bot asks Lichess, about a second after the freeze.
        delay: Duration::from_millis(500)..=Duration::from_millis(500),
        ..opponent(TimeControl::clock(0, 5))
    });
    let id = site.started(1)[0].id.clone();
    let game = || site.game(&id).unwrap();
    // Freeze after a move of the bot, so that the opponent's move is not received.
    let frozen = wait("the bot has made some moves", || {
        let bot_moved = |plies: usize| plies.is_multiple_of(2) == (game().black == BOT);
        Some(game().plies).filter(|plies| *plies >= 5 && bot_moved(*plies))
    });
    proxy.freezer.freeze();
    let at = site.sim.elapsed();
    site.plies_or_end(&id, frozen + 2);
    assert!(
        ["started", "mate"].contains(&game().status),
        "{:?}\n{}",
        game(),
        bot.log()
    );
    // The bot asks Lichess after about a second and opens the stream over another connection; HTTP/2 pings would take up
    // to eight seconds.
    let opened = site.sim.faults().requests(Endpoint::GameStream);
    let again = opened.iter().find(|visit| visit.at > at).unwrap();
    let took = again.at - at;
    println!("after the freeze the stream is open again within {took:.1?}");
    assert!(took < Duration::from_secs(3), "{took:?}\n{}", bot.log());
}

#[test]
fn new_root_certificates_are_used_without_a_restart() {
    let site = Site::new([]);
    let proxy = TlsProxy::start(&site);
    let new = std::fs::read(proxy.ca.path()).unwrap();
    let old = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(proxy.ca.path(), old.cert.pem()).unwrap();
    // They are read again after a minute, six seconds here.
    let arguments = IMPATIENT.map(str::to_owned).to_vec();
    let token = site.sim.token_of(BOT);
    let bot = Daemon::launch_with(&site, &token, &proxy.config(), arguments);
    wait("the certificate is not accepted", || {
        let log = bot.log();
        log.contains("invalid peer certificate").then_some(())
    });
    std::fs::write(proxy.ca.path(), new).unwrap();
    bot.ready();
}

#[test]
fn unusable_ca_file_exits_with_78() {
    let home = tempfile::tempdir().unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    for (name, text) in [
        ("missing.pem", None),
        ("text.pem", Some("no certificate")),
        ("broken.pem", Some(broken)),
    ] {
        let file = home.path().join(name);
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        for command in ["run", "check"] {
            let output = Command::new(env!("CARGO_BIN_EXE_knightwatch"))
                .arg(command)
                .args(["--set", "lichess.url=https://localhost:9"])
                .args(["--set", &format!("lichess.ca_file={}", file.display())])
                .args(["--set", "engine.hash_mib=1", "--set", "engine.threads=1"])
                .current_dir(home.path())
                .env("STATE_DIRECTORY", home.path())
                .env("RUNTIME_DIRECTORY", home.path())
                .env("LICHESS_TOKEN", "lip_knightwatch")
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(78), "{command}: {printed}");
            assert!(printed.contains(name), "{command}: {printed}");
            assert!(printed.contains("lichess.ca_file"), "{command}: {printed}");
            assert!(!printed.contains("ca-certificates"), "{command}: {printed}");
        }
    }
}
