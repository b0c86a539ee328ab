//! Stream faults, and delayed requests.

use std::time::{Duration, Instant};

use knightwatch::sim::{Endpoint, Fault, FaultRule, Latency, SimOptions, StreamFault};
use reqwest::Method;

use super::site::{Lines, Site, text};

const BLITZ: &str = "clock.limit=180&clock.increment=2";

/// A site with a game whose next stream has this fault after its first line.
async fn site_with_stream_fault(how: StreamFault) -> (Site, String) {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let fault = Fault::Stream {
        after_lines: 1,
        fault: how,
    };
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::GameStream, fault));
    (site, id)
}

#[tokio::test]
async fn stream_garbage_and_oversized_lines_inserted() {
    let (site, id) = site_with_stream_fault(StreamFault::Garbage).await;
    let path = format!("/api/bot/game/stream/{id}");
    let stream = site.request(Method::GET, "Whitey", &path).send().await;
    let mut stream = stream.unwrap();
    let mut text = Vec::new();
    site.play("Whitey", &id, "e2e4").await;
    while text.iter().filter(|byte| **byte == b'\n').count() < 3 {
        text.extend_from_slice(&stream.chunk().await.unwrap().unwrap());
    }
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let is_json = |line| serde_json::from_slice::<serde_json::Value>(line).is_ok();
    assert!(is_json(lines[0]) && !is_json(lines[1]) && is_json(lines[2]));
    assert!(std::str::from_utf8(lines[1]).is_err());

    let (site, id) = site_with_stream_fault(StreamFault::Oversized(3 << 20)).await;
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    let line = stream.raw().await.unwrap();
    assert!(line.len() + 1 >= 3 << 20, "{}", line.len());
    site.play("Whitey", &id, "e2e4").await;
    assert_eq!(stream.state().await.0, "e2e4");
}

#[tokio::test]
async fn stream_line_truncated() {
    let (site, id) = site_with_stream_fault(StreamFault::Truncated).await;
    let path = format!("/api/bot/game/stream/{id}");
    let stream = site.request(Method::GET, "Whitey", &path).send().await;
    site.play("Whitey", &id, "e2e4").await;
    let text = stream.unwrap().text().await.unwrap();
    let (first, second) = text.split_once('\n').unwrap();
    assert!(first.contains("gameFull"));
    assert!(second.starts_with("{\"type\":\"gameState\"") && !second.ends_with('}'));
}

/// Two moves and a resignation, as shown in the game stream.
async fn statuses_of_a_short_game(site: &Site, id: &str) -> Vec<String> {
    let mut stream = site.game_stream("Whitey", id).await;
    stream.line().await;
    site.moves(id, "e2e4 e7e5").await;
    site.ok("Blacky", &format!("/api/bot/game/{id}/resign"))
        .await;
    let mut states = Vec::new();
    while let Some(state) = stream.next().await {
        states.push(text(&state["status"]));
    }
    states
}

#[tokio::test]
async fn stream_final_state_duplicated() {
    let (site, id) = site_with_stream_fault(StreamFault::DuplicateFinal).await;
    let states = statuses_of_a_short_game(&site, &id).await;
    assert_eq!(states, ["started", "started", "resign", "resign"]);
}

#[tokio::test]
async fn drip_slows_streams_and_responses() {
    let pause = Duration::from_millis(1);
    let (site, id) = site_with_stream_fault(StreamFault::Drip(pause)).await;
    let path = format!("/api/bot/game/stream/{id}");
    let stream = site.request(Method::GET, "Whitey", &path).send().await;
    let mut stream = stream.unwrap();
    stream.chunk().await.unwrap();
    site.play("Whitey", &id, "e2e4").await;
    let mut state = Vec::new();
    while !state.ends_with(b"\n") {
        let piece = stream.chunk().await.unwrap().unwrap();
        state.extend_from_slice(&piece);
    }
    assert!(String::from_utf8(state).unwrap().contains("e2e4"));

    let drip = Fault::Drip(Duration::from_millis(2));
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::Account, drip));
    let began = Instant::now();
    let (status, account) = site.get("Whitey", "/api/account").await;
    assert_eq!((status, account["id"].as_str()), (200, Some("whitey")));
    // Eight bytes at a time, out of more than a thousand.
    assert!(began.elapsed() > Duration::from_millis(200));
}

#[tokio::test]
async fn drip_combines_with_other_faults() {
    // The last state comes twice, both times complete.
    let drip = StreamFault::Drip(Duration::from_millis(1));
    let site_with_both_faults = async |how| {
        let (site, id) = site_with_stream_fault(how).await;
        let fault = Fault::Stream {
            after_lines: 1,
            fault: drip,
        };
        site.sim
            .faults()
            .add(FaultRule::on(Endpoint::GameStream, fault));
        (site, id)
    };
    let (site, id) = site_with_both_faults(StreamFault::DuplicateFinal).await;
    let states = statuses_of_a_short_game(&site, &id).await;
    assert_eq!(states, ["started", "started", "resign", "resign"]);

    // Nothing follows half a line, though more happens during the drip.
    let (site, id) = site_with_both_faults(StreamFault::Truncated).await;
    let path = format!("/api/bot/game/stream/{id}");
    let stream = site.request(Method::GET, "Whitey", &path).send().await;
    let mut stream = stream.unwrap();
    let first = stream.chunk().await.unwrap().unwrap();
    assert!(first.ends_with(b"\n"));
    site.play("Whitey", &id, "e2e4").await;
    let mut rest = stream.chunk().await.unwrap().unwrap().to_vec();
    site.play("Blacky", &id, "e7e5").await;
    while let Some(piece) = stream.chunk().await.unwrap() {
        rest.extend_from_slice(&piece);
    }
    let rest = String::from_utf8(rest).unwrap();
    assert_eq!(rest.matches("gameState").count(), 1, "{rest}");
}

/// Whitey's game stream if lines arrive only as time is advanced, and the number of advances.
async fn slow_stream(site: &Site, id: &str, advance_until: Duration) -> (Lines, u32) {
    let opening = async {
        let mut stream = site.game_stream("Whitey", id).await;
        assert_eq!(stream.line().await["type"], "gameFull");
        stream
    };
    let mut opening = std::pin::pin!(opening);
    let mut leaps = 0;
    loop {
        tokio::select! {
            stream = &mut opening => return (stream, leaps),
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                leaps += 1;
                site.sim.advance(advance_until);
            }
        }
    }
}

#[tokio::test]
async fn fault_delays_overlapping_counted_once() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    site.play("Whitey", &id, "e2e4").await;
    let minute = Duration::from_secs(60);
    let slow = Fault::Latency(Latency {
        min: minute,
        jitter: Duration::ZERO,
    });
    let rule = FaultRule::on(Endpoint::GameStream, slow).times(usize::MAX);
    site.sim.faults().add(rule);
    let (mut stream, _) = slow_stream(&site, &id, minute).await;
    let fault_delay = || site.sim.games()[0].fault_delay[0];
    let before = fault_delay();
    site.play("Blacky", &id, "e7e5").await;
    // A second line that shows White to move, in flight at the same time as the first.
    site.post("Blacky", &format!("/api/bot/game/{id}/draw/yes"), "")
        .await;
    stream.quiet(Duration::from_millis(50)).await;
    let by = fault_delay() - before;
    assert!(by >= minute && by < minute + minute / 2, "{by:?}");
}

#[tokio::test]
async fn latency_keeps_order() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let rule = |endpoint, [min, jitter]: [Duration; 2]| {
        FaultRule::on(endpoint, Fault::Latency(Latency { min, jitter })).times(usize::MAX)
    };
    let times = [150, 100].map(Duration::from_millis);
    let moves = rule(Endpoint::Move, times).from_user("Whitey");
    site.sim.faults().add(moves);
    let began = Instant::now();
    site.play("Whitey", &id, "e2e4").await;
    assert!(began.elapsed() >= 2 * times[0], "{:?}", began.elapsed());

    // Long enough to arrive only when time is advanced.
    site.sim.faults().clear();
    let times = [60, 30].map(Duration::from_secs);
    site.sim.faults().add(rule(Endpoint::GameStream, times));
    let (mut stream, leaps) = slow_stream(&site, &id, times[0]).await;
    // The request, its response and the line.
    assert!(leaps >= 3, "{leaps}");
    site.play("Blacky", &id, "e7e5").await;
    for (user, uci) in [("Whitey", "g1f3"), ("Blacky", "b8c6"), ("Whitey", "f1b5")] {
        site.play(user, &id, uci).await;
    }
    stream.quiet(Duration::from_millis(50)).await;
    // They are in flight at the same time.
    site.sim.advance(times[0] + times[1]);
    for plies in 2..=5 {
        assert_eq!(stream.state().await.0.split(' ').count(), plies);
    }
}

#[tokio::test]
async fn applied_late_works_after_client_disconnects() {
    let site = Site::start().await;
    let id = site.game(BLITZ).await;
    let late = Fault::AppliedLate(Duration::from_secs(60));
    site.sim.faults().add(FaultRule::on(Endpoint::Move, late));
    let path = format!("/api/bot/game/{id}/move/e2e4");
    let request = site.request(Method::POST, "Whitey", &path);
    site.send_and_disconnect(request, Endpoint::Move).await;
    assert_eq!(site.full("Whitey", &id).await["state"]["moves"], "");
    let mut stream = site.game_stream("Whitey", &id).await;
    stream.line().await;
    site.sim.advance(Duration::from_secs(60));
    assert_eq!(stream.state().await.0, "e2e4");
}

#[tokio::test]
async fn stream_faults_triggered_by_time_and_ply() {
    let eof = |endpoint| FaultRule {
        endpoint: Some(endpoint),
        ..FaultRule::new(Fault::Stream {
            after_lines: 0,
            fault: StreamFault::Eof,
        })
    };
    let site = Site::with(SimOptions {
        faults: vec![
            eof(Endpoint::EventStream).at(Duration::from_secs(600)),
            FaultRule {
                ply: Some(2),
                ..eof(Endpoint::EventStream).from_user("Blacky")
            },
            FaultRule {
                ply: Some(3),
                ..eof(Endpoint::GameStream)
            },
        ],
        ..SimOptions::default()
    })
    .await;
    let mut whitey = site.stream("Whitey", "/api/stream/event").await;
    let mut blacky = site.stream("Blacky", "/api/stream/event").await;
    let id = site.game(BLITZ).await;
    let mut game = site.game_stream("Whitey", &id).await;
    site.moves(&id, "e2e4 e7e5").await;
    // The end of a stream follows the queued lines.
    while blacky.next().await.is_some() {}
    site.play("Whitey", &id, "g1f3").await;
    assert_eq!(game.line().await["type"], "gameFull");
    for plies in 1..=3 {
        assert_eq!(game.state().await.0.split(' ').count(), plies);
    }
    assert_eq!(game.next().await, None);
    // This stream has not been affected so far.
    while whitey.line().await["type"] != "gameStart" {}
    whitey.quiet(Duration::from_millis(200)).await;
    site.sim.advance(Duration::from_secs(600));
    assert_eq!(whitey.next().await, None);
}

#[tokio::test]
async fn stream_reset_is_tcp_reset() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let site = Site::start().await;
    let fault = Fault::Stream {
        after_lines: 1,
        fault: StreamFault::Reset,
    };
    site.sim
        .faults()
        .add(FaultRule::on(Endpoint::GameStream, fault));
    let id = site.game(BLITZ).await;
    let host = site.base.strip_prefix("http://").unwrap();
    let mut socket = tokio::net::TcpStream::connect(host).await.unwrap();
    let token = site.sim.token_of("Whitey");
    let request = format!(
        "GET /api/bot/game/stream/{id} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    let error = socket.read_to_end(&mut read).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(String::from_utf8(read).unwrap().contains("gameFull"));
}
