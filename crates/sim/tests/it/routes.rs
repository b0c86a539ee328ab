//! Requests at the edges of the table of endpoints: unknown paths, wrong methods, slashes, escapes and malformed ids.

use std::future::pending;

use knightwatch_sim::Endpoint::{
    Abort, Account, ArenaShow, Broker, ChallengeAccept, ChallengeAi, ChallengeCreate, GameStream,
    Other, Personal, Ping, Team, User,
};
use knightwatch_sim::{Endpoint, NewUser, Sim, SimOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const UNKNOWN: &str = "<!DOCTYPE html><html><body><h1>Page not found!</h1></body></html>";
const NOT_FOUND: &str = r#"{"error":"Not found"}"#;
const NO_TOKEN: &str = r#"{"error":"Missing authorization header"}"#;
const NO_WORK: &str = r#"{"error":"No such work"}"#;
const NO_GAME: &str = r#"{"error":"No such game"}"#;

/// Sends a request as it is written here: client libraries change paths. Returns the response without its date.
async fn send(address: &str, request: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{request} HTTP/1.1\r\nHost: lichess\r\nConnection: close\r\n{token}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let lines = response.split_inclusive("\r\n");
    lines.filter(|line| !line.starts_with("date: ")).collect()
}

async fn site() -> (Sim, String) {
    let sim = Sim::new(SimOptions {
        users: vec![NewUser::bot("Whitey")],
        ..SimOptions::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serving = sim.clone();
    tokio::spawn(async move { serving.serve(listener, pending()).await });
    (sim, address)
}

#[tokio::test]
async fn routes_unusual_paths_and_methods() {
    let (sim, address) = site().await;
    let requests: &[(&str, Endpoint, u16, &str)] = &[
        ("GET /", Other, 404, UNKNOWN),
        ("GET /api/nothing", Other, 404, UNKNOWN),
        ("GET /API/account", Other, 404, UNKNOWN),
        // Wrong methods are unknown paths.
        ("POST /api/account", Other, 404, UNKNOWN),
        ("PUT /api/account", Other, 404, UNKNOWN),
        ("GET /api/token", Other, 404, UNKNOWN),
        ("DELETE /api/token", Personal, 401, NO_TOKEN),
        ("GET /api/challenge/Bobby", Other, 404, UNKNOWN),
        ("GET /api/challenge/ai", Other, 404, UNKNOWN),
        ("GET /api/tournament/abcdefgh/join", Other, 404, UNKNOWN),
        // One trailing slash is ignored; any other empty segment matches nothing, as on Lichess.
        ("GET /__ping/", Ping, 200, "pong"),
        ("GET /__ping//", Other, 404, UNKNOWN),
        ("GET //__ping", Other, 404, UNKNOWN),
        ("GET /api/user/", Other, 404, UNKNOWN),
        ("GET /api/user//", Other, 404, UNKNOWN),
        ("POST /api/challenge/", Other, 404, UNKNOWN),
        ("POST /api/challenge//", Other, 404, UNKNOWN),
        ("POST /api/challenge/Bobby", ChallengeCreate, 401, NO_TOKEN),
        // The path is decoded before it is split.
        ("GET /%5f%5Fping", Ping, 200, "pong"),
        ("GET /api%2Faccount", Account, 401, NO_TOKEN),
        ("GET /api/user/No%20one", User, 404, NOT_FOUND),
        ("GET /api/user/a%2Fb", Other, 404, UNKNOWN),
        ("GET /api/user/%ff", User, 404, NOT_FOUND),
        ("GET /api/user/100%", User, 404, NOT_FOUND),
        // Challenges and arenas have ids of exactly eight characters, games also those of twelve.
        (
            "POST /api/challenge/abcdefgh/accept",
            ChallengeAccept,
            401,
            NO_TOKEN,
        ),
        ("POST /api/challenge/short/accept", Other, 404, UNKNOWN),
        (
            "POST /api/challenge/abcdefghijkl/accept",
            Other,
            404,
            UNKNOWN,
        ),
        ("GET /api/tournament/abcdefgh", ArenaShow, 404, NOT_FOUND),
        ("GET /api/tournament/short", Other, 404, UNKNOWN),
        ("POST /api/round/abcdefgh/add-time/x", Other, 404, UNKNOWN),
        ("POST /api/bot/game/any/abort", Abort, 401, NO_TOKEN),
        // Words that are also ids or names.
        ("POST /api/challenge/ai", ChallengeAi, 401, NO_TOKEN),
        ("POST /api/challenge/ai/accept", Other, 404, UNKNOWN),
        ("GET /api/team/of/users", Team, 404, NOT_FOUND),
        ("GET /api/bot/game/stream/chat", GameStream, 401, NO_TOKEN),
        ("POST /api/bot/game/stream/abort", Other, 401, NO_TOKEN),
        // The broker of external engines, which needs none.
        ("POST /api/external-engine/work/none", Broker, 404, NO_WORK),
        ("GET /api/external-engine/work/none", Other, 404, UNKNOWN),
        // An unknown action needs a token, an unknown path does not.
        ("POST /api/bot/game/abcdefgh", Other, 401, NO_TOKEN),
        ("POST /api/bot/game/abcdefgh/dance/x", Other, 401, NO_TOKEN),
        ("POST /api/bot/game", Other, 404, UNKNOWN),
        ("GET /api/bot/game/abcdefgh/dance", Other, 404, UNKNOWN),
        ("GET /api/bored/game/stream/abcdefgh", Other, 404, UNKNOWN),
    ];
    for (request, endpoint, status, body) in requests {
        let before = sim.faults().request_count(*endpoint);
        let response = send(&address, request, "", "").await;
        let start = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&start), "{request}: {response}");
        assert!(
            response.ends_with(&format!("\r\n\r\n{body}")),
            "{request}: {response}"
        );
        let count = sim.faults().request_count(*endpoint) - before;
        assert_eq!(count, 1, "{request}: not {endpoint:?}");
    }
}

#[tokio::test]
async fn routes_responses_are_complete() {
    const TOKEN: &str = "Authorization: Bearer token\r\n";
    let (sim, address) = site().await;
    sim.add_token("token", "Whitey", &["bot:play"]);
    let json = "content-type: application/json\r\naccess-control-allow-origin: *\r\n";
    let html = "content-type: text/html; charset=utf-8\r\naccess-control-allow-origin: *\r\n";
    let bot = "x-oauth-scopes: bot:play\r\nx-accepted-oauth-scopes: bot:play\r\n";
    let end = "connection: close\r\n\r\n";
    for (request, token, body, expected) in [
        (
            "PUT /api/account",
            TOKEN,
            "",
            format!("HTTP/1.1 404 Not Found\r\n{html}content-length: 65\r\n{end}{UNKNOWN}"),
        ),
        (
            "HEAD /nothing",
            "",
            "",
            format!("HTTP/1.1 404 Not Found\r\n{html}content-length: 65\r\n{end}"),
        ),
        (
            "HEAD /api/user/nobody",
            "",
            "",
            format!("HTTP/1.1 404 Not Found\r\n{json}content-length: 21\r\n{end}"),
        ),
        // Unread by unknown paths, but parsed.
        (
            "POST /nothing",
            "",
            "{",
            format!(
                "HTTP/1.1 400 Bad Request\r\n{json}content-length: 24\r\n{end}{}",
                r#"{"error":"Invalid Json"}"#
            ),
        ),
        (
            "GET /api/account",
            "",
            "",
            format!("HTTP/1.1 401 Unauthorized\r\n{json}content-length: 40\r\n{end}{NO_TOKEN}"),
        ),
        (
            "GET /api/challenge",
            TOKEN,
            "",
            format!(
                "HTTP/1.1 403 Forbidden\r\n{json}x-oauth-scopes: bot:play\r\n\
                 x-accepted-oauth-scopes: challenge:read\r\ncontent-length: 41\r\n{end}{}",
                r#"{"error":"Missing scope: challenge:read"}"#
            ),
        ),
        (
            "POST /api/bot/game/none/dance",
            TOKEN,
            "",
            format!("HTTP/1.1 404 Not Found\r\n{json}{bot}content-length: 24\r\n{end}{NO_GAME}"),
        ),
        // HEAD does not open a stream, not even that of a game that does not exist.
        (
            "HEAD /api/bot/game/stream/none",
            TOKEN,
            "",
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n\
                 access-control-allow-origin: *\r\n{bot}content-length: 0\r\n{end}"
            ),
        ),
        (
            "OPTIONS /nothing",
            "",
            "",
            format!(
                "HTTP/1.1 204 No Content\r\naccess-control-allow-origin: *\r\n\
                 access-control-allow-methods: OPTIONS, GET, POST, PUT, DELETE\r\n\
                 access-control-allow-headers: Origin, Authorization, If-Modified-Since, Cache-Control, Content-Type\r\n\
                 access-control-max-age: 1728000\r\n{end}"
            ),
        ),
    ] {
        assert_eq!(
            send(&address, request, token, body).await,
            expected,
            "{request}"
        );
    }
    assert_eq!(sim.stats().streams, 0);
}
