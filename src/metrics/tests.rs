use super::*;
use crate::events::{Color, GameStarted, Player, TimeControl, Timing};

fn started(game: &str, our_color: Color) -> Event {
    Event::GameStarted(GameStarted {
        game: game.to_owned(),
        white: Player::default(),
        black: Player::default(),
        our_color,
        speed: "blitz".to_owned(),
        time_control: TimeControl::Unlimited,
        rated: false,
        variant: "standard".to_owned(),
        initial_fen: None,
        tournament: None,
        engine: None,
        plies: 0,
    })
}

fn finished(ours: Color, status: &str, winner: Option<Color>, result: &str) -> Event {
    Event::GameFinished(GameFinished {
        game: "a".to_owned(),
        our_color: Some(ours),
        status: status.to_owned(),
        winner,
        result: result.to_owned(),
        plies: 40,
        moves: String::new(),
        observed: true,
    })
}

fn moved(source: Source, elapsed_ms: u64, to_post_ms: u64) -> Event {
    let mut moved = Moved::example("a", source);
    moved.search.as_mut().unwrap().elapsed = Duration::from_millis(elapsed_ms);
    moved.timing = Some(Timing {
        to_post: Duration::from_millis(to_post_ms),
        round_trip: Duration::from_millis(30),
    });
    Event::Moved(moved)
}

fn game(id: &str, our_turn_ms: Option<u64>) -> GameStatus {
    GameStatus {
        our_turn_ms,
        ..GameStatus::example(id)
    }
}

#[test]
fn moves_from_before_the_start_are_not_counted() {
    let metrics = Metrics::default();
    let Event::GameStarted(mut resumed) = started("a", Color::White) else {
        unreachable!("it is a start");
    };
    resumed.plies = 2;
    metrics.count(&Event::GameStarted(resumed));
    for ply in 1..=3 {
        let mut moved = Moved::example("a", Source::Search);
        moved.ply = ply;
        metrics.count(&Event::Moved(moved));
    }
    assert_eq!(metrics.status().counts.moves, 1);
}

#[test]
fn counters_of_a_stopped_account_stay() {
    let metrics = Metrics::default();
    metrics.set_live(LiveState {
        stuck_game_recoveries: 3,
        ..LiveState::default()
    });
    metrics.set_ended(None);
    assert_eq!(metrics.status().live.stuck_game_recoveries, 3);
}

#[test]
fn finished_games_are_counted_by_our_result() {
    let metrics = Metrics::default();
    for (ours, status, winner, result) in [
        (Color::White, "mate", Some(Color::White), "1-0"),
        (Color::Black, "resign", Some(Color::White), "1-0"),
        (Color::Black, "outoftime", Some(Color::White), "1-0"),
        (Color::White, "draw", None, "1/2-1/2"),
        (Color::White, "aborted", None, "*"),
    ] {
        metrics.count(&started("a", ours));
        metrics.count(&finished(ours, status, winner, result));
    }
    let counts = metrics.status().counts;
    assert_eq!(counts.started, 5);
    assert_eq!((counts.won, counts.drawn, counts.lost), (1, 1, 2));
    assert_eq!((counts.aborted, counts.lost_on_time), (1, 1));
}

#[test]
fn reaction_latency_excludes_thinking() {
    let metrics = Metrics::default();
    metrics.count(&moved(Source::Search, 2_000, 2_004));
    metrics.count(&moved(Source::Book, 0, 2));
    let status = metrics.status();
    assert_eq!(status.latency.reaction_ms.max, 4.0);
    assert_eq!(status.latency.post_ms.p50, 30.0);
    assert_eq!((status.counts.moves, status.counts.book_moves), (2, 1));
    assert_eq!(status.live.engine.nodes_per_second, 50_000);
    assert_eq!(status.live.engine.hashfull_permille, 123);
}

#[test]
fn oldest_turn_is_the_longest_of_all_games() {
    let metrics = Metrics::default();
    metrics.set_live(LiveState {
        games: vec![game("a", Some(40)), game("b", Some(900)), game("c", None)],
        ..LiveState::default()
    });
    assert_eq!(metrics.status().oldest_turn_ms, 900);
}

#[test]
fn health_with_overdue_game_is_unhealthy() {
    let metrics = Metrics::default();
    let health = |overdue| {
        let game = GameStatus {
            overdue,
            ..game("abcdefgh", Some(130_000))
        };
        metrics.set_live(LiveState {
            games: vec![game],
            ..LiveState::default()
        });
        metrics.status().health
    };
    assert_eq!(health(false), Health::Ok);
    let reason = "no move was made in game abcdefgh for 130 s".to_owned();
    assert_eq!(health(true), Health::Unhealthy { reason });
}

#[test]
fn health_with_stuck_loop_or_long_outage_is_unhealthy() {
    let status = Metrics::default().status();
    let second = Duration::from_secs(1);
    assert_eq!(health(second, None, &status), Health::Ok);
    assert_eq!(health(second, Some(30 * second), &status), Health::Ok);
    assert!(matches!(
        health(16 * second, None, &status),
        Health::Unhealthy { .. }
    ));
    assert!(matches!(
        health(second, Some(121 * second), &status),
        Health::Unhealthy { .. }
    ));
}

#[test]
fn failing_records_are_in_status_of_several_accounts() {
    let metrics = Metrics::combined(vec![Metrics::default()]);
    let state = metrics.track_records();
    for (reason, is_new) in [
        ("disk full", true),
        ("read-only", true),
        ("read-only", false),
    ] {
        let fail = |state: &mut RecordsState| state.fail(reason.to_owned());
        assert_eq!(state.send_if_modified(fail), is_new);
    }
    let status = metrics.status();
    let failure = |status: Status| status.records.unwrap().failure;
    let shown = status.to_string();
    let warning = shown.lines().find(|line| line.starts_with("WARNING  "));
    assert!(warning.unwrap().ends_with(" s: read-only"), "{shown}");
    assert_eq!(failure(status).as_deref(), Some("read-only"));
    assert!(metrics.text().contains("knightwatch_records_writable 0.0"));
    state.send_modify(|state| state.failure = None);
    assert_eq!(failure(metrics.status()), None);
    assert!(metrics.text().contains("knightwatch_records_writable 1.0"));
}

#[test]
fn health_before_login_depends_on_heartbeats() {
    let metrics = Metrics::default();
    let long_ago = Instant::now() - 20 * Duration::from_secs(1);
    metrics
        .0
        .live
        .send_replace((LiveState::default(), long_ago));
    metrics.heartbeat();
    assert_eq!(metrics.status().health, Health::Ok);
    lock(&metrics.0.heartbeats).1 = long_ago;
    assert!(matches!(metrics.status().health, Health::Unhealthy { .. }));
}

#[test]
fn text_is_in_prometheus_format() {
    let metrics = Metrics::default();
    metrics.count(&started("a", Color::White));
    metrics.count(&finished(Color::White, "mate", Some(Color::White), "1-0"));
    metrics.count(&moved(Source::Book, 0, 2));
    metrics.set_live(LiveState {
        games: vec![game("a", Some(40))],
        requests: vec![RequestOutcomes {
            kind: "event stream".to_owned(),
            outcomes: vec![("done".to_owned(), 3)],
        }],
        ..LiveState::default()
    });
    let text = metrics.text();
    for line in [
        "# TYPE knightwatch_games_finished counter",
        "knightwatch_games_finished_total{result=\"won\"} 1",
        "knightwatch_oldest_turn_seconds 0.04",
        "knightwatch_games_our_turn 1.0",
        "knightwatch_games_overdue 0.0",
        "knightwatch_requests_total{kind=\"event_stream\",outcome=\"done\"} 3",
        "knightwatch_move_post_seconds_count 1",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn status_json_round_trips() {
    let metrics = Metrics::default();
    metrics.set_live(LiveState {
        account: Some("MyBot".to_owned()),
        stage: "running".to_owned(),
        games: vec![game("abcdefgh", Some(40))],
        ..LiveState::default()
    });
    let status = metrics.status();
    let sent = serde_json::to_string(&status).unwrap();
    assert_eq!(serde_json::from_str::<Status>(&sent).unwrap(), status);
    let shown = status.to_string();
    assert!(shown.contains("MyBot, running"), "{shown}");
    let line = "with white against Anna (1500), 3+2, clocks 1:23 and 0:09.3, +0.35: our move for 0.0 s, searching";
    assert!(shown.contains(line), "{shown}");
}

#[test]
fn status_shows_idle_reason_and_limits() {
    let live = |name: &str, used| LiveState {
        account: Some(name.to_owned()),
        stage: "running".to_owned(),
        idle: Some(IdleStatus {
            reason: "no game is running; 92 of 100 games between bots are played".to_owned(),
            next_s: Some(754),
        }),
        limits: vec![
            LimitStatus {
                name: "bot games".to_owned(),
                note: None,
                used,
                capacity: 100,
                resets_in_s: Some(7_300),
            },
            LimitStatus {
                name: "arenas".to_owned(),
                note: None,
                used: 0,
                capacity: 30,
                resets_in_s: None,
            },
        ],
        ..LiveState::default()
    };
    let alone = Metrics::default();
    alone.set_live(live("MyBot", 92));
    let shown = alone.status().to_string();
    for line in [
        "idle     no game is running; 92 of 100 games between bots are played; next try in 12 min 34 s",
        "limits   bot games 92 of 100 (reset in 2 h 1 min), arenas 0 of 30",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    }
    let challenges = LimitStatus {
        name: "challenges".to_owned(),
        note: Some("one to a person counts 5".to_owned()),
        used: 5,
        capacity: 200,
        resets_in_s: Some(60),
    };
    let shown = "challenges 5 of 200 (one to a person counts 5; reset in 1 min 0 s)";
    assert_eq!(challenges.to_string(), shown);
    let text = alone.text();
    for line in [
        "knightwatch_limit_used{account=\"MyBot\",limit=\"bot_games\"} 92.0",
        "knightwatch_rate_limit_capacity{account=\"MyBot\",limit=\"arenas\"} 30.0",
        "knightwatch_matchmaking_next_attempt_seconds{account=\"MyBot\"} 754.0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let [one, two] = [("One", 3), ("Two", 40)].map(|(name, used)| {
        let metrics = Metrics::default();
        metrics.set_live(live(name, used));
        metrics
    });
    let shown = Metrics::combined(vec![one, two]).status().to_string();
    assert!(
        shown.contains("limits   One: bot games 3 of 100"),
        "{shown}"
    );
    assert!(
        shown.contains("limits   Two: bot games 40 of 100"),
        "{shown}"
    );
}
