//! The fixtures follow the API's documentation, not this program or its simulator.

use std::time::Duration;

use super::*;

const EVENTS: &str = include_str!("../../tests/fixtures/event-stream.ndjson");
const FULLS: &str = include_str!("../../tests/fixtures/game-full.ndjson");
const GAME: &str = include_str!("../../tests/fixtures/game-stream.ndjson");
const USERS: &str = include_str!("../../tests/fixtures/users.ndjson");

fn lines(fixture: &str) -> impl Iterator<Item = &str> {
    fixture.lines().filter(|line| !line.is_empty())
}

fn challenge(id: &str) -> (Challenge, Option<Compat>) {
    lines(EVENTS)
        .find_map(|line| match Event::from_line(line) {
            Event::Challenge(challenge, compat) if challenge.id.as_str() == id => {
                Some((*challenge, compat))
            }
            _ => None,
        })
        .expect(id)
}

fn started(id: &str) -> GameInfo {
    lines(EVENTS)
        .find_map(|line| match Event::from_line(line) {
            Event::GameStart(game) | Event::GameFinish(game) if game.id.as_str() == id => {
                Some(*game)
            }
            _ => None,
        })
        .expect(id)
}

fn full(id: &str) -> GameFull {
    lines(FULLS)
        .find_map(|line| match GameEvent::from_line(line) {
            GameEvent::Full(full) if full.id.as_str() == id => Some(*full),
            _ => None,
        })
        .expect(id)
}

#[test]
fn events_documented_are_parsed() {
    let mut kinds = [0; 6];
    for line in lines(EVENTS) {
        let index = match Event::from_line(line) {
            Event::GameStart(_) => 0,
            Event::GameFinish(_) => 1,
            Event::Challenge(..) => 2,
            Event::ChallengeDeclined(_) => 3,
            Event::ChallengeCanceled(_) => 4,
            Event::Unknown(kind) => {
                assert_eq!(kind, "seasonGreetings");
                5
            }
            Event::Skipped(skipped) => panic!("{}: {line}", skipped.why),
        };
        kinds[index] += 1;
    }
    assert_eq!(kinds, [6, 3, 11, 1, 2, 1]);
}

#[test]
fn game_info_has_players_and_turn() {
    let game = started("AAAAAAAA");
    assert_eq!(
        (game.color, game.is_my_turn, game.has_moved),
        (Color::White, true, false)
    );
    assert_eq!(
        (game.variant, game.speed, game.status),
        (Variant::Standard, Speed::Blitz, Status::Started)
    );
    assert_eq!(
        (game.time_left, game.last_move.as_deref()),
        (Some(Duration::from_secs(180)), None)
    );
    assert_eq!(
        (game.opponent.name.as_str(), game.opponent.rating),
        ("Anna", Some(1776))
    );
    assert_eq!(
        game.compat,
        Some(Compat {
            bot: true,
            board: true
        })
    );

    let bot = started("CORRESP1").opponent;
    assert_eq!(
        (bot.name.as_str(), bot.title.as_deref(), bot.is_bot()),
        ("Bruno", Some("BOT"), true)
    );
    assert_eq!(started("UNLIMIT1").time_left, None);
    assert_eq!(started("UNLIMIT1").opponent.name.as_str(), "Anon.");
    assert_eq!(started("AIAIAIA1").opponent.ai_level, Some(3));
    assert_eq!(
        started("ARENA001").tournament.expect("an arena").as_str(),
        "TTTTTTTT"
    );
    assert_eq!(started("NINE6001").compat, Some(Compat::default()));
    assert_eq!(started("ABORTED1").status, Status::Aborted);
    assert!(
        started("FUTURE01").status.is_over(),
        "a status that we do not know is an end"
    );
}

#[test]
fn game_info_finished_has_winner() {
    let line = lines(EVENTS)
        .find(|line| line.contains("gameFinish"))
        .expect("a finished game");
    let Event::GameFinish(game) = Event::from_line(line) else {
        panic!("{line}")
    };
    assert_eq!(
        (game.status, game.winner, game.rating_diff),
        (Status::Mate, Some(Color::White), Some(-9))
    );
}

#[test]
fn challenge_is_parsed() {
    let (waiting, compat) = challenge("WAITING1");
    assert_eq!(compat, None, "what waited for the stream comes without it");
    assert_eq!(
        waiting.time_control,
        TimeControl::Clock {
            limit: 180,
            increment: 2
        }
    );
    assert_eq!(
        (waiting.color, waiting.final_color, waiting.rated),
        (ColorChoice::Random, Some(Color::White), false)
    );
    let challenger = waiting.challenger.expect("a challenger");
    assert_eq!(
        (challenger.name.as_str(), challenger.is_bot()),
        ("Anna", false)
    );
    assert!(waiting.dest_user.expect("us").is_bot());
    assert_eq!(
        (waiting.status, waiting.decline_reason_key),
        (ChallengeStatus::Created, None)
    );
    assert!(waiting.rules.is_empty());

    assert_eq!(
        challenge("FRESH001").1,
        Some(Compat {
            bot: true,
            board: true
        })
    );
    assert_eq!(
        challenge("NEWSHAPE")
            .0
            .challenger
            .expect("Greta")
            .title
            .as_deref(),
        Some("GM")
    );
    assert_eq!(
        challenge("DAYS0003").0.time_control,
        TimeControl::Correspondence { days: 3 }
    );
    assert_eq!(challenge("FOREVER1").0.time_control, TimeControl::Unlimited);
    assert!(
        challenge("START960")
            .0
            .initial_fen
            .expect("a position")
            .starts_with("bqnbrnkr/")
    );
    assert_eq!(challenge("FROMPOS1").0.rules, ["noAbort", "noClaimWin"]);
    assert_eq!(
        challenge("REMATCH1").0.rematch_of.expect("a game").as_str(),
        "AAAAAAAA"
    );
    assert!(challenge("ANONYM01").0.challenger.is_none());
    assert_eq!(challenge("CRAZY001").0.variant, Variant::Crazyhouse);
}

#[test]
fn challenge_declined_has_reason() {
    let line = lines(EVENTS)
        .find(|line| line.contains("challengeDeclined"))
        .expect("one");
    let Event::ChallengeDeclined(challenge) = Event::from_line(line) else {
        panic!("{line}")
    };
    assert_eq!(challenge.status, ChallengeStatus::Declined);
    assert_eq!(challenge.decline_reason_key, Some(DeclineReason::TooFast));
    assert!(
        challenge
            .decline_reason
            .expect("a text")
            .starts_with("This time control is too fast")
    );
}

#[test]
fn game_full_of_every_kind_is_parsed() {
    assert!(lines(FULLS).all(|line| matches!(GameEvent::from_line(line), GameEvent::Full(_))));

    let game = full("STANDARD");
    assert_eq!((game.initial_fen.as_deref(), game.rated), (None, false));
    let clock = TimeControl::Clock {
        limit: 180,
        increment: 2,
    };
    assert_eq!(game.time_control(), clock);
    assert_eq!(
        (
            game.white.is_bot(),
            game.black.is_bot(),
            game.black.provisional
        ),
        (false, true, true)
    );
    assert_eq!(game.color_of(&Username::new("KESTREL")), Some(Color::Black));
    assert_eq!(game.color_of(&Username::new("Nobody")), None);

    assert!(
        full("NINE6001")
            .initial_fen
            .expect("a position")
            .starts_with("bqnbrnkr/")
    );
    assert_eq!(full("FROMPOS1").variant, Variant::FromPosition);
    assert_eq!(full("KINGHILL").variant, Variant::KingOfTheHill);

    let days = full("CORRESP1");
    assert_eq!(days.time_control(), TimeControl::Correspondence { days: 3 });
    assert_eq!(
        days.state.time(Color::White),
        Duration::from_millis(251_234_560)
    );
    assert!(!days.state.is_unlimited(Color::White));
    let forever = full("UNLIMIT1");
    assert_eq!(forever.time_control(), TimeControl::Unlimited);
    assert!(forever.state.is_unlimited(Color::White) && forever.state.is_unlimited(Color::Black));

    let against_ai = full("AIAIAIA1");
    assert_eq!(against_ai.black.display_name(), "Stockfish level 3");
    assert_eq!(
        against_ai.color_of(&Username::new("kestrel")),
        Some(Color::White)
    );
    assert_eq!(full("ANONYM01").white.display_name(), "Anonymous");

    let arena = full("ARENA001");
    assert_eq!(arena.tournament_id.expect("an arena").as_str(), "TTTTTTTT");

    let zero = full("ZEROPLUS");
    assert_eq!(
        (zero.time_control(), zero.state.wtime),
        (
            TimeControl::Clock {
                limit: 0,
                increment: 1
            },
            Duration::from_secs(3)
        )
    );

    let over = full("FINISHED").state;
    assert_eq!(
        (
            over.status,
            over.winner,
            over.rematch.map(|id| id.to_string())
        ),
        {
            (
                Status::Mate,
                Some(Color::Black),
                Some("REMATCH1".to_owned()),
            )
        }
    );
    assert!(full("ABORTED1").state.status.is_over());
    assert!(!full("SPECFORM").state.offers_draw(Color::White));
}

#[test]
fn game_stream_is_parsed_to_the_end() {
    let events: Vec<GameEvent> = lines(GAME).map(GameEvent::from_line).collect();
    assert!(matches!(&events[0], GameEvent::Full(full) if full.state.moves().count() == 0));
    let states: Vec<&GameState> = events
        .iter()
        .filter_map(|event| {
            if let GameEvent::State(state) = event {
                Some(state)
            } else {
                None
            }
        })
        .collect();
    let plies: Vec<usize> = states.iter().map(|state| state.moves().count()).collect();
    assert_eq!(
        plies,
        [1, 2, 3, 3, 4, 5, 6, 7, 7, 6, 7, 8],
        "an offer changes no moves, a takeback shortens them"
    );
    assert!(states[3].offers_draw(Color::Black) && !states[2].offers_draw(Color::Black));
    assert!(states[8].asks_takeback(Color::White) && !states[9].asks_takeback(Color::White));
    assert_eq!(states[7].moves().last(), Some("e1g1"));
    assert_eq!(states[10].moves().last(), Some("e1h1"));
    let last = states[11];
    assert_eq!(
        (last.status, last.winner),
        (Status::Timeout, Some(Color::Black))
    );

    let chat: Vec<&ChatLine> = events
        .iter()
        .filter_map(|event| {
            if let GameEvent::Chat(line) = event {
                Some(line)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(chat.len(), 3);
    assert_eq!(
        (chat[0].username.as_str(), chat[2].room),
        ("lichess", Room::Spectator)
    );
    let gone: Vec<OpponentGone> = events
        .iter()
        .filter_map(|event| {
            if let GameEvent::OpponentGone(gone) = event {
                Some(*gone)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        gone[0],
        OpponentGone {
            gone: true,
            claim_win_in: Some(Duration::from_secs(25))
        }
    );
    assert_eq!(
        gone[2],
        OpponentGone {
            gone: false,
            claim_win_in: None
        }
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, GameEvent::Unknown(kind) if kind == "confetti"))
    );
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, GameEvent::Skipped(_)))
    );
}

#[test]
fn users_with_missing_fields_are_parsed() {
    let users: Vec<User> = lines(USERS)
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let [me, fresh, closed, naughty] = users.as_slice() else {
        panic!("four users")
    };
    assert!(me.is_bot() && me.has_bio());
    assert_eq!(
        (me.count.expect("counts").all, me.perfs["bullet"].rating),
        (12, Some(1890))
    );
    assert!(me.perfs["blitz"].provisional && me.perfs["storm"].games == 0);
    assert!(!fresh.is_bot() && !fresh.has_bio());
    assert!(closed.disabled);
    assert!(naughty.tos_violation && !naughty.has_bio());
    let linked =
        r#"{"username":"Linked","profile":{"bio":"One\r\ntwo","links":"a.org\nb.org\u0007"}}"#;
    let linked: User = serde_json::from_str(linked).unwrap();
    assert_eq!(linked.profile.bio.as_deref(), Some("One two"));
    assert_eq!(linked.profile.links.as_deref(), Some("a.org b.org"));
}

#[test]
fn token_scopes_are_parsed() {
    let info: TokenInfo = serde_json::from_str(
        r#"{"userId":"kestrel","scopes":"bot:play, challenge:write","expires":null}"#,
    )
    .unwrap();
    assert!(info.has("bot:play") && info.has("challenge:write") && !info.has("play"));
    let none: TokenInfo =
        serde_json::from_str(r#"{"userId":"kestrel","scopes":"","expires":1745112707998}"#)
            .unwrap();
    assert!(none.scopes.is_empty());
}

#[test]
fn user_status_playing_of_any_shape_is_parsed() {
    let playing = |json: &str| {
        serde_json::from_str::<UserStatus>(json)
            .expect(json)
            .playing
    };
    assert!(playing(
        r#"{"id":"a","name":"A","playing":true,"playingId":"AAAAAAAA"}"#
    ));
    assert!(playing(
        r#"{"id":"a","name":"A","playing":{"id":"AAAAAAAA","clock":"3+2"}}"#
    ));
    assert!(!playing(r#"{"id":"a","name":"A"}"#));
    assert!(!playing(r#"{"id":"a","name":"A","playing":null}"#));
    assert!(!playing(r#"{"id":"a","name":"A","playing":false}"#));
}

#[test]
fn line_unreadable_is_skipped_with_reason() {
    let lines = [
        "{",
        "null",
        "[]",
        "<html>502</html>",
        r#"{"type":"gameState"}"#,
        r#"{"type":"gameState","status":"started"}"#,
        r#"{"type":"gameState","moves":7,"wtime":1,"btime":1,"status":"started"}"#,
        r#"{"type":"gameFull","id":"../../x","variant":{},"state":{}}"#,
        "\u{0}\u{1b}[2J",
    ];
    for line in lines {
        let GameEvent::Skipped(skipped) = GameEvent::from_line(line) else {
            panic!("{line}")
        };
        assert!(
            !skipped.why.contains('\u{1b}') && skipped.why.chars().count() < 300,
            "{}",
            skipped.why
        );
    }
    assert!(matches!(
        Event::from_line(r#"{"no":"type"}"#),
        Event::Skipped(_)
    ));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(Event::from_line(&deep), Event::Skipped(_)));
}

#[test]
fn numbers_out_of_range_are_clamped() {
    let clock = |wtime: &str| {
        let line = format!(
            r#"{{"type":"gameState","moves":"","wtime":{wtime},"btime":1.5,"status":"started"}}"#
        );
        match GameEvent::from_line(&line) {
            GameEvent::State(state) => state.wtime,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(clock("-5"), Duration::ZERO);
    assert_eq!(clock("1e300"), UNLIMITED);
    assert_eq!(clock("18446744073709551615"), UNLIMITED);
    assert_eq!(clock("2147483647"), UNLIMITED);
    assert_eq!(clock("7598040"), Duration::from_millis(7_598_040));
}

#[test]
fn control_sequences_are_removed() {
    let line = r#"{"type":"chatLine","room":"player","username":"Evil\u001b[31m","text":"\u001b]0;x\u0007\u202ehi\n♞"}"#;
    let GameEvent::Chat(chat) = GameEvent::from_line(line) else {
        panic!("{line}")
    };
    assert_eq!(
        (chat.username.as_str(), chat.text.as_str()),
        ("Evil[31m", "]0;xhi♞")
    );
}

#[test]
fn time_controls_are_displayed_like_lichess() {
    let shown = |limit, increment| TimeControl::Clock { limit, increment }.to_string();
    let all = [
        shown(180, 2),
        shown(15, 1),
        shown(30, 0),
        shown(45, 0),
        shown(90, 1),
        shown(0, 1),
        shown(10_800, 60),
        shown(10, 1),
    ];
    let expected = [
        "3+2", "¼+1", "½+0", "¾+0", "1.5+1", "0+1", "180+60", "10s+1",
    ];
    assert_eq!(all, expected);
}

#[test]
fn speed_follows_from_clock() {
    let table = [
        ((15, 0), Speed::UltraBullet),
        ((30, 0), Speed::Bullet),
        ((0, 1), Speed::Bullet),
        ((180, 0), Speed::Blitz),
        ((300, 3), Speed::Blitz),
        ((480, 0), Speed::Rapid),
        ((1500, 0), Speed::Classical),
        ((21_600, 0), Speed::Correspondence),
    ];
    for ((limit, increment), speed) in table {
        assert_eq!(
            Speed::of_clock(limit, increment),
            speed,
            "{limit}+{increment}"
        );
    }
}

#[test]
fn new_challenge_form_has_lower_case_booleans() {
    let new = NewChallenge {
        time_control: TimeControl::Clock {
            limit: 60,
            increment: 1,
        },
        rated: true,
        color: ColorChoice::Random,
        variant: Variant::Chess960,
        fen: None,
    };
    let form: Vec<String> = new
        .form()
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(
        form,
        [
            "rated=true",
            "color=random",
            "variant=chess960",
            "clock.limit=60",
            "clock.increment=1"
        ]
    );
    let days = NewChallenge {
        time_control: TimeControl::Correspondence { days: 2 },
        rated: false,
        ..new
    };
    assert!(
        days.form().contains(&("days", "2".to_owned()))
            && days.form().contains(&("rated", "false".to_owned()))
    );
}

#[test]
fn keys_round_trip() {
    for &variant in Variant::ALL {
        assert_eq!(Variant::from_key(variant.key()), variant);
    }
    for &reason in DeclineReason::ALL {
        assert_eq!(
            DeclineReason::from_key(&reason.key().to_lowercase()),
            reason
        );
    }
    for &status in Status::ALL {
        assert_eq!(Status::from_key(status.key()), status);
    }
    assert_eq!(Variant::from_key("fischerandom"), Variant::Unknown);
}

#[test]
fn displayed_text_is_short_and_safe() {
    let bomb = "\\u001b[2J\\u202e".to_owned() + &"x".repeat(500_000);
    let harmless = |text: &str| {
        assert!(text.len() < 2_000, "{} bytes", text.len());
        assert!(
            !text.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{text}"
        );
    };
    let line = format!(r#"{{"type":"chatLine","username":"{bomb}","text":"{bomb}"}}"#);
    let GameEvent::Chat(chat) = GameEvent::from_line(&line) else {
        panic!("no chat")
    };
    harmless(chat.username.as_str());
    harmless(&chat.text);

    let player: Player =
        serde_json::from_str(&format!(r#"{{"name":"{bomb}","title":"{bomb}"}}"#)).unwrap();
    harmless(&player.display_name());
    harmless(&player.title.expect("a title"));

    // The unreadable line is quoted, and so is it in the error.
    for line in [
        format!(r#"{{"type":"gameFull","id":"AAAAAAAA","variant":"standard","state":"{bomb}"}}"#),
        format!(r#"{{"type":"gameStart","game":{{"gameId":"{bomb}","color":"white"}}}}"#),
        format!("{{{bomb}"),
    ] {
        let why = match (Event::from_line(&line), GameEvent::from_line(&line)) {
            (_, GameEvent::Skipped(skipped)) | (Event::Skipped(skipped), _) => skipped.why,
            other => panic!("{other:?}"),
        };
        harmless(&why);
    }
}
