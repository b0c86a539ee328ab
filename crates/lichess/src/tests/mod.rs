//! The client against a scripted server.

mod server;

use std::time::{Duration, Instant};

use futures::StreamExt;
use tokio::net::TcpListener;

use self::server::{OK, Reply, Server, StreamEnd};
use super::model::*;
use super::retry::RequestKind;
use super::*;

fn id() -> GameId {
    "AAAAAAAA".parse().expect("an id")
}

const STATE: &str = "{\"type\":\"gameState\",\"moves\":\"e2e4\",\"wtime\":1000,\"btime\":1000,\"status\":\"started\"}\n";

#[tokio::test]
async fn requests_match_the_documentation() {
    let server = Server::new(|_| OK).await;
    let client = server.client();
    let bruno = Username::new("Bruno");
    client.play(&id(), "e7e8q", false).await.expect("ok");
    client.play(&id(), "e1h1", true).await.expect("ok");
    client
        .chat(&id(), Room::Player, "Good luck & have fun")
        .await
        .expect("ok");
    client.abort(&id()).await.expect("ok");
    client.resign(&id()).await.expect("ok");
    client.draw(&id(), true).await.expect("ok");
    client.takeback(&id(), false).await.expect("ok");
    client.claim_victory(&id()).await.expect("ok");
    client.claim_draw(&id()).await.expect("ok");
    client.accept(&id()).await.expect("ok");
    client
        .decline(&id(), DeclineReason::TooFast)
        .await
        .expect("ok");
    client.cancel(&id()).await.expect("ok");
    client.upgrade().await.expect("ok");
    let new = NewChallenge {
        time_control: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        rated: true,
        color: ColorChoice::Random,
        variant: Variant::Standard,
        fen: None,
    };
    client
        .challenge(&bruno, &new)
        .await
        .expect_err("`ok` is no challenge");

    let seen = server.seen();
    let lines: Vec<(&str, &str)> = seen
        .iter()
        .map(|seen| (seen.line(), seen.body.as_str()))
        .collect();
    let expected = [
        ("POST /api/bot/game/AAAAAAAA/move/e7e8q", ""),
        (
            "POST /api/bot/game/AAAAAAAA/move/e1h1?offeringDraw=true",
            "",
        ),
        (
            "POST /api/bot/game/AAAAAAAA/chat",
            "room=player&text=Good+luck+%26+have+fun",
        ),
        ("POST /api/bot/game/AAAAAAAA/abort", ""),
        ("POST /api/bot/game/AAAAAAAA/resign", ""),
        ("POST /api/bot/game/AAAAAAAA/draw/yes", ""),
        ("POST /api/bot/game/AAAAAAAA/takeback/no", ""),
        ("POST /api/bot/game/AAAAAAAA/claim-victory", ""),
        ("POST /api/bot/game/AAAAAAAA/claim-draw", ""),
        ("POST /api/challenge/AAAAAAAA/accept", ""),
        ("POST /api/challenge/AAAAAAAA/decline", "reason=tooFast"),
        ("POST /api/challenge/AAAAAAAA/cancel", ""),
        ("POST /api/bot/account/upgrade", ""),
        (
            "POST /api/challenge/Bruno",
            "rated=true&color=random&variant=standard&clock.limit=60&clock.increment=0",
        ),
    ];
    assert_eq!(lines, expected);
    for request in &seen {
        assert_eq!(request.header("authorization"), Some("Bearer lip_secret"));
        assert_eq!(
            request.header("user-agent"),
            Some(concat!(
                "knightwatch/",
                env!("CARGO_PKG_VERSION"),
                " user:Kestrel"
            ))
        );
        assert_eq!(
            request.connection, 0,
            "one warm connection carries them all"
        );
    }
}

#[tokio::test]
async fn queries_are_parsed() {
    let server = Server::new(|line| {
        let body = match line {
            "GET /api/account" => {
                r#"{"id":"kestrel","username":"Kestrel","title":"BOT","count":{"all":3}}"#
            }
            "POST /api/token/test" => {
                r#"{"lip_secret":{"userId":"kestrel","scopes":"bot:play","expires":null}}"#
            }
            "GET /api/account/playing?nb=50" => {
                r#"{"nowPlaying":[{"gameId":"AAAAAAAA","color":"black"}]}"#
            }
            "GET /api/challenge" => r#"{"in":[],"out":[]}"#,
            "GET /api/bot/online?nb=2" => {
                "{\"username\":\"A\"}\nnot json\n{\"username\":\"B\",\"title\":null}"
            }
            "GET /api/users/status?ids=bruno%2Canna" => {
                r#"[{"id":"bruno","name":"Bruno","online":true}]"#
            }
            "GET /api/user/Bruno" => r#"{"id":"bruno","username":"Bruno"}"#,
            "GET /api/bot/game/AAAAAAAA/chat" => r#" [{"text":"hi","user":"anna"}]"#,
            "GET /api/bot/game/BBBBBBBB/chat" => {
                "{\"text\":\"hi\",\"user\":\"anna\"}\n{\"text\":\"ho\",\"user\":\"bruno\"}\n"
            }
            other => panic!("{other}"),
        };
        Reply::Body("200 OK", "application/json", body)
    })
    .await;
    let client = server.client();
    let account = client.account().await.expect("an account");
    assert!(account.is_bot() && account.username.as_str() == "Kestrel");
    assert!(
        client
            .token_test()
            .await
            .expect("an answer")
            .expect("a token")
            .has("bot:play")
    );
    assert_eq!(
        client.playing(1000).await.expect("games")[0].color,
        Color::Black
    );
    assert!(
        client
            .challenges()
            .await
            .expect("challenges")
            .incoming
            .is_empty()
    );
    assert_eq!(
        client.online_bots(2).await.expect("bots").len(),
        2,
        "what cannot be read is left out"
    );
    let users = [Username::new("Bruno"), Username::new("Anna")];
    assert!(client.users_status(&users).await.expect("users")[0].online);
    assert_eq!(
        client.user(&users[0]).await.expect("a user").username,
        users[0]
    );
    assert_eq!(client.chat_log(&id()).await.expect("an array").len(), 1);
    assert_eq!(
        client
            .chat_log(&"BBBBBBBB".parse().expect("an id"))
            .await
            .expect("lines")
            .len(),
        2
    );

    let test = server
        .seen()
        .into_iter()
        .find(|seen| seen.line().contains("token/test"))
        .expect("a test");
    assert_eq!(
        (test.body.as_str(), test.header("authorization")),
        ("lip_secret", None)
    );
}

#[tokio::test]
async fn base_url_with_path_and_later_name_are_used() {
    let server = Server::new(|_| OK).await;
    for path in ["/box", "/box/"] {
        let endpoint = Endpoint::parse(&format!("{}{path}", server.base)).expect("loopback");
        let client =
            Client::new(&endpoint, "lip_secret".parse().expect("a token"), None).expect("a client");
        client.abort(&id()).await.expect("ok");
        client
            .named(&Username::new("Kestrel"))
            .abort(&id())
            .await
            .expect("ok");
        client
            .named(&Username::new("not a name\r\n"))
            .abort(&id())
            .await
            .expect("ok");
    }
    let seen = server.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.line() == "POST /box/api/bot/game/AAAAAAAA/abort")
    );
    let agents: Vec<&str> = seen
        .iter()
        .filter_map(|seen| seen.header("user-agent")?.split_once(' '))
        .map(|(_, user)| user)
        .collect();
    assert_eq!(agents, ["user:Kestrel", "user:Kestrel"]);
}

#[tokio::test]
async fn rate_limit_pauses_its_kind_but_never_moves() {
    let server = Server::new(|line| {
        if line.contains("/move/") {
            return OK;
        }
        Reply::Body(
            "429 Too Many Requests",
            "application/json",
            r#"{"error":"slow down","ratelimit":{"key":"chat","seconds":30}}"#,
        )
    })
    .await;
    let client = server.client();
    let error = client
        .chat(&id(), Room::Player, "hi")
        .await
        .expect_err("429");
    assert_eq!(
        error.error_response().expect("a status").requested_wait(),
        Some(Duration::from_secs(30))
    );
    let paused = client
        .chat(&id(), Room::Player, "hi")
        .await
        .expect_err("a pause");
    assert!(
        matches!(paused, Error::Paused(RequestKind::Chat, left) if left > Duration::from_secs(29)),
        "{paused}"
    );
    client.play(&id(), "e2e4", false).await.expect("a move");
    assert!(
        client
            .accept(&id())
            .await
            .expect_err("429")
            .is_rate_limited(),
        "answers were not paused"
    );
    client.play(&id(), "e7e5", false).await.expect("a move");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn proxy_rate_limit_spares_moves_and_streams() {
    let server = Server::new(|line| match line {
        "GET /api/account" => Reply::Body(
            "429 Too Many Requests",
            "text/html",
            "<html><title>429</title></html>",
        ),
        "GET /api/stream/event" => Reply::Stream(&["\n"], StreamEnd::End),
        _ => OK,
    })
    .await;
    let client = server.client();
    assert!(client.account().await.expect_err("429").is_rate_limited());
    assert!(matches!(client.accept(&id()).await, Err(Error::Paused(..))));
    assert!(matches!(
        client.chat(&id(), Room::Player, "hi").await,
        Err(Error::Paused(..))
    ));
    client.play(&id(), "e2e4", false).await.expect("a move");
    client
        .events(Duration::from_secs(5))
        .await
        .expect("a stream");
}

#[tokio::test]
async fn startup_queries_ignore_pauses() {
    let server = Server::new(|line| match line {
        "GET /api/account" => {
            let me = r#"{"id":"kestrel","username":"Kestrel","title":"BOT"}"#;
            Reply::Body("200 OK", "application/json", me)
        }
        _ => Reply::Body("200 OK", "application/json", r#"{"nowPlaying":[]}"#),
    })
    .await;
    let client = server.client();
    client.pause(RequestKind::Query, Duration::from_secs(3600));
    let paused = |answer| matches!(answer, Err(Error::Paused(RequestKind::Query, _)));
    assert!(paused(client.account().await.map(drop)));
    assert!(paused(client.playing(9).await.map(drop)));
    client.account_past_pauses().await.expect("an account");
    client.playing_past_pauses(9).await.expect("games");
    assert!(paused(client.playing(9).await.map(drop)));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn unqueued_query_does_not_wait_for_another() {
    let server = Server::new(|line| match line {
        "GET /api/account" => Reply::Stall,
        _ => Reply::Body("200 OK", "application/json", r#"{"nowPlaying":[]}"#),
    })
    .await;
    let client = server.client();
    let waiting = tokio::spawn({
        let client = client.clone();
        async move { client.account().await.map(drop) }
    });
    while server.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    client.playing_unqueued(9).await.expect("games");
    assert!(!waiting.is_finished());
    waiting.abort();
}

#[tokio::test]
async fn rate_limit_on_users_pauses_no_other_reads() {
    let server = Server::new(|line| match line {
        "GET /api/user/Anna" => {
            let refusal =
                r#"{"error":"Too many requests","ratelimit":{"key":"user","seconds":36000}}"#;
            Reply::Body("429 Too Many Requests", "application/json", refusal)
        }
        _ => Reply::Body("200 OK", "application/json", r#"{"nowPlaying":[]}"#),
    })
    .await;
    let client = server.client();
    let anna = Username::new("Anna");
    client.user(&anna).await.expect_err("429");
    let again = client.user(&anna).await;
    assert!(matches!(again, Err(Error::Paused(RequestKind::User, _))));
    client.playing(9).await.expect("games");
}

#[tokio::test]
async fn rate_limit_per_ip_pauses_all_accounts() {
    const ADDRESS: &str =
        r#"{"error":"no","ratelimit":{"key":"challenge.create.ip","seconds":60}}"#;
    let server = Server::new(|line| match line {
        "GET /api/account" => Reply::Body("429 Too Many Requests", "text/html", "<html></html>"),
        "GET /api/account/playing?nb=9" => {
            let refusal = r#"{"error":"Too many requests. Try again later."}"#;
            Reply::Body("429 Too Many Requests", "application/json", refusal)
        }
        "POST /api/challenge/Anna" => {
            Reply::Body("429 Too Many Requests", "application/json", ADDRESS)
        }
        _ => OK,
    })
    .await;
    let accounts = || {
        let client = server.client();
        let other = client.with_token("lip_other".parse().expect("a token"));
        (client, other)
    };
    let paused_kinds = |client: &Client| -> Vec<RequestKind> {
        client.pauses().into_iter().map(|(kind, _)| kind).collect()
    };

    let (client, other) = accounts();
    client.playing(9).await.expect_err("429");
    assert_eq!(paused_kinds(&client), [RequestKind::Query]);
    assert_eq!(paused_kinds(&other), []);

    let (client, other) = accounts();
    let new = NewChallenge {
        time_control: TimeControl::Unlimited,
        rated: false,
        color: ColorChoice::Random,
        variant: Variant::Standard,
        fen: None,
    };
    let refused = client.challenge(&Username::new("Anna"), &new).await;
    refused.expect_err("429");
    assert_eq!(paused_kinds(&other), [RequestKind::Challenge]);

    let (client, other) = accounts();
    client.account().await.expect_err("429");
    assert_eq!(
        (paused_kinds(&client), paused_kinds(&other)),
        (vec![], vec![])
    );
    assert!(client.proxy_pause().is_some() && other.proxy_pause().is_some());
    assert!(matches!(other.accept(&id()).await, Err(Error::Paused(..))));
    other.play(&id(), "e2e4", false).await.expect("a move");
    let seen = server.seen();
    let last = seen.last().expect("the move");
    assert_eq!(last.header("authorization"), Some("Bearer lip_other"));
}

#[tokio::test]
async fn failures_are_classified() {
    let server = Server::new(|line| match line.rsplit('/').next() {
        Some("e2e4") => Reply::Close,
        Some("d2d4") => Reply::Body(
            "502 Bad Gateway",
            "text/html",
            "<html><head><title>502 Bad Gateway</title></head></html>",
        ),
        Some("c2c4") => Reply::Body(
            "400 Bad Request",
            "application/json",
            r#"{"error":"Not your turn, or game already over"}"#,
        ),
        Some("f2f4") => Reply::Body("302 Found", "text/html", ""),
        Some("account") => Reply::Body("200 OK", "text/html", "<html>Welcome</html>"),
        _ => OK,
    })
    .await;
    let client = server.client();
    let error = client
        .play(&id(), "e2e4", false)
        .await
        .expect_err("a reset");
    assert!(
        matches!(
            error,
            Error::Network {
                connecting: false,
                ..
            }
        ) && error.may_have_worked(),
        "{error:?}"
    );
    let error = client.play(&id(), "d2d4", false).await.expect_err("502");
    assert_eq!(error.to_string(), "Lichess answered 502: 502 Bad Gateway");
    let error = client.play(&id(), "c2c4", false).await.expect_err("400");
    assert_eq!(
        error.to_string(),
        "Lichess answered 400: Not your turn, or game already over"
    );
    assert_eq!(
        client
            .play(&id(), "f2f4", false)
            .await
            .expect_err("a redirect")
            .code(),
        Some(302)
    );
    assert!(
        !server
            .seen()
            .iter()
            .any(|seen| seen.line().contains("elsewhere")),
        "the token goes nowhere else"
    );
    assert!(matches!(client.account().await, Err(Error::Decode(_))));

    let unused = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port")
        .local_addr()
        .expect("an address");
    let endpoint = Endpoint::parse(&format!("http://{unused}")).expect("loopback");
    let unreachable =
        Client::new(&endpoint, "lip_secret".parse().expect("a token"), None).expect("a client");
    let error = unreachable
        .play(&id(), "e2e4", false)
        .await
        .expect_err("nobody there");
    assert!(
        matches!(
            error,
            Error::Network {
                connecting: true,
                ..
            }
        ) && !error.may_have_worked(),
        "{error:?}"
    );
    assert!(!format!("{error} {error:?} {unreachable:?}").contains("lip_secret"));
}

#[tokio::test]
async fn request_timeout_switches_connections() {
    let server = Server::new(|line| {
        if line.ends_with("e2e4") {
            Reply::Stall
        } else {
            OK
        }
    })
    .await;
    let client = server.client();
    let (start, timeout) = (Instant::now(), Duration::from_secs(1));
    let error = client
        .play_within(timeout, &id(), "e2e4", false)
        .await
        .expect_err("nothing");
    assert_eq!(error, Error::Timeout(timeout));
    assert!(start.elapsed() < 10 * timeout);
    client.play(&id(), "d2d4", false).await.expect("a move");
    let seen = server.seen();
    assert_ne!(seen[0].connection, seen[1].connection);
}

#[tokio::test]
async fn streams_and_moves_use_separate_connections() {
    let server = Server::new(|line| match line {
        "GET /api/bot/game/stream/AAAAAAAA" => Reply::Stream(&[STATE], StreamEnd::Stall),
        "GET /api/bot/game/stream/STALLED1" => Reply::Stall,
        _ => OK,
    })
    .await;
    let client = server.client();
    let silence = Duration::from_secs(1);
    let mut stream = client.game(&id(), silence).await.expect("a stream");
    assert!(matches!(stream.next().await, Some(Ok(GameEvent::State(_)))));
    let open_stalled = |timeout| {
        let client = client.clone();
        async move {
            let id = "STALLED1".parse().expect("an id");
            client.game(&id, timeout).await.map(drop)
        }
    };
    let opening = tokio::spawn(open_stalled(Duration::from_secs(600)));
    for _ in 0..10 {
        client.play(&id(), "e7e5", false).await.expect("a move");
    }
    assert!(!opening.is_finished());
    opening.abort();
    let error = stream.next().await.expect("an error").expect_err("silence");
    assert_eq!(error, StreamError::Silent(silence));
    assert_eq!(open_stalled(silence).await, Err(Error::Timeout(silence)));

    let seen = server.seen();
    let moves: Vec<usize> = seen
        .iter()
        .filter(|seen| seen.line().contains("/move/"))
        .map(|seen| seen.connection)
        .collect();
    assert!(moves.iter().all(|connection| *connection == moves[0]));
    assert!(
        seen.iter()
            .filter(|seen| seen.line().contains("stream"))
            .all(|seen| seen.connection != moves[0])
    );
}

#[tokio::test]
async fn stream_chunks_are_joined_and_end_is_reported() {
    let server = Server::new(|line| match line {
        "GET /api/bot/game/stream/CLEAN001" => Reply::Stream(
            &[
                "\n",
                "{\"type\":\"gameState\",\"moves\":\"e2",
                "e4\",\"wtime\":1,\"btime\":1,\"status\":\"started\"}\n\n",
                STATE,
            ],
            StreamEnd::End,
        ),
        "GET /api/bot/game/stream/BROKEN01" => Reply::Stream(&[STATE], StreamEnd::Break),
        "GET /api/stream/event" => Reply::Body(
            "404 Not Found",
            "application/json",
            r#"{"error":"No such game"}"#,
        ),
        other => panic!("{other}"),
    })
    .await;
    let client = server.client();
    let silence = Duration::from_secs(5);
    let clean: Vec<_> = client
        .game(&"CLEAN001".parse().expect("an id"), silence)
        .await
        .expect("a stream")
        .collect()
        .await;
    assert_eq!(clean.len(), 2);
    assert!(
        clean
            .iter()
            .all(|event| matches!(event, Ok(GameEvent::State(state)) if state.moves == "e2e4"))
    );
    let broken: Vec<_> = client
        .game(&"BROKEN01".parse().expect("an id"), silence)
        .await
        .expect("a stream")
        .collect()
        .await;
    assert!(
        matches!(
            broken.as_slice(),
            [Ok(GameEvent::State(_)), Err(StreamError::Io(_))]
        ),
        "{broken:?}"
    );
    let error = client.events(silence).await.expect_err("404");
    assert_eq!(error.to_string(), "Lichess answered 404: No such game");
}

#[tokio::test]
async fn ping_accepts_any_response() {
    let server = Server::new(|_| Reply::Body("404 Not Found", "text/html", "")).await;
    assert!(server.client().ping().await.expect("an answer") < Duration::from_secs(5));
}

#[tokio::test]
async fn chat_line_is_cut_to_140_units() {
    let server = Server::new(|_| OK).await;
    let client = server.client();
    client
        .chat(&id(), Room::Spectator, &"x".repeat(500))
        .await
        .expect("ok");
    client
        .chat(&id(), Room::Spectator, &"𝄞".repeat(500))
        .await
        .expect("ok");
    let seen = server.seen();
    assert_eq!(
        seen[0].body,
        format!("room=spectator&text={}", "x".repeat(140))
    );
    assert_eq!(
        seen[1].body,
        format!("room=spectator&text={}", "%F0%9D%84%9E".repeat(70)),
        "two units each"
    );
}

#[test]
fn ca_file_invalid_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "not a certificate").expect("written");
    for path in [file.path().to_owned(), "/nowhere/ca.pem".into()] {
        let endpoint = Endpoint::parse("https://localhost")
            .expect("https")
            .with_ca_file(Some(path.clone()));
        let error = Client::new(&endpoint, "lip_secret".parse().expect("a token"), None)
            .expect_err("no certificates");
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}
