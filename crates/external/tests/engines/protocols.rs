//! XBoard's protocol, plain lines, and what UCI engines are told about a game.

use std::fs;
use std::time::Duration;

use knightwatch_chess::{CastlingNotation, Game, Position, Variant};
use knightwatch_engine::{Elo, Limits, Score, SearchInfo, Strength};
use knightwatch_external::{
    EngineProcess, ExternalSettings, GameSetup, Launch, Opponent, Protocol,
};

use super::{MOVE, clock, play, search_game, settings, start, stub, unhurried, wait_until_ready};

/// An engine of XBoard's protocol that writes what it receives to a file, and behaves as its `go` says.
fn xboard(go: &str, log: &str) -> Launch {
    let script = format!(
        "while read -r line; do echo \"$line\" >> {log}; case \"$line\" in \
         protover*) echo 'feature done=0'; \
            echo 'feature myname=\"Stub XB\" setboard=1 ping=1 usermove=1 memory=1 smp=1 name=1'; \
            echo 'feature option=\"Style -combo Calm /// *Wild\" variants=\"normal,fischerandom\" done=1';; \
         ping*) echo \"pong ${{line#ping }}\";; \
         go) {go};; \
         quit) exit;; esac; done"
    );
    Launch {
        protocol: Protocol::Xboard,
        ..Launch::new(["sh", "-c", &script])
    }
}

fn uci(report: &SearchInfo) -> String {
    let mv = report.mv.expect("a move");
    mv.uci(CastlingNotation::Standard).to_string()
}

#[test]
fn xboard_engine_is_told_moves_and_clocks() {
    let log = std::env::temp_dir().join(format!("xboard-{}", std::process::id()));
    let go = "echo '4 35 12 900 Nf3 Nf6'; echo '# thinking'; echo 'move g1f3'; echo '0-1 {stub}'";
    let engine = start(ExternalSettings {
        options: vec![("Style".to_owned(), "Calm".to_owned())],
        threads: Some(2),
        hash_mib: Some(16),
        ..settings(xboard(go, log.to_str().unwrap()), 1)
    });
    wait_until_ready(&engine);
    assert_eq!(engine.stats().identity.as_deref(), Some("Stub XB"));
    let setup = GameSetup {
        opponent: Some(Opponent {
            name: "Anna".to_owned(),
            title: None,
            rating: None,
            is_computer: true,
        }),
        opponent_time: Some(Duration::from_secs(70)),
        ..GameSetup::default()
    };
    let mut limits = clock(Duration::from_secs(90));
    limits.clock.as_mut().unwrap().increment = Duration::from_secs(2);
    for (moves, best) in [("", "g1f3"), ("g1f3 g8f6 f3g1 f6g8", "g1f3")] {
        let (report, outcome) =
            search_game(&engine, 1, &play(moves), limits.clone(), setup.clone());
        assert_eq!(outcome.fallback, None);
        assert_eq!(uci(&report), best);
        assert_eq!((report.depth, report.score), (4, Score::Centipawns(35)));
        assert!(outcome.transcript.contains(&"< move g1f3".to_owned()));
    }
    // The engine has no limit of nodes.
    let nodes = Limits {
        nodes: Some(100),
        ..limits
    };
    let (_, outcome) = search_game(&engine, 1, &play(""), nodes, setup);
    assert!(outcome.fallback.is_some());

    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let expected = "xboard protover_2 accepted_done accepted_myname accepted_setboard accepted_ping accepted_usermove \
        accepted_memory accepted_smp accepted_name accepted_option accepted_variants accepted_done cores_2 memory_16 \
        option_Style=Calm ping_1 new name_Anna computer easy post force ping_2 force ping_3 level_0_1:29_2 time_8995 otim_7000 \
        go force usermove_g8f6 usermove_f3g1 usermove_f6g8 ping_4 level_0_1:29_2 time_8995 otim_7000 go";
    let close = |received: &str| {
        // The clock has lost some milliseconds.
        received.strip_prefix("time ").map_or_else(
            || received.replace(' ', "_"),
            |number| {
                let number: u32 = number.parse().unwrap();
                assert!((8_900..=8_995).contains(&number), "{number}");
                received
                    .replace(' ', "_")
                    .replace(&number.to_string(), "8995")
            },
        )
    };
    let received: Vec<String> = received.lines().map(close).collect();
    assert_eq!(received, expected.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn xboard_engine_that_ends_the_game_leaves_the_move_to_the_own_one() {
    let log = "/dev/null";
    for go in [
        "echo resign",
        "echo '1/2-1/2 {Draw by boredom}'",
        "echo 'Illegal move: e2e4'",
        "echo 'move e2e5'",
        "exit",
    ] {
        let engine = start(settings(xboard(go, log), 1));
        wait_until_ready(&engine);
        let limits = clock(Duration::from_secs(1));
        let (report, outcome) =
            search_game(&engine, 1, &play("e2e4"), limits, GameSetup::default());
        assert!(report.mv.is_some() && outcome.fallback.is_some(), "{go}");
    }
    // After `?`, in the forms of protocol versions 2 and 1.
    for answer in ["move c7c5", "My move is: c7c5"] {
        let best = format!("echo '9 20 3 100 e7e5'; read -r stop; echo '{answer}'");
        let engine = start(settings(xboard(&best, log), 1));
        wait_until_ready(&engine);
        let limits = Limits {
            max_time: Some(Duration::from_secs(1)),
            ..Limits::default()
        };
        let (report, outcome) =
            search_game(&engine, 1, &play("e2e4"), limits, GameSetup::default());
        assert_eq!(
            (uci(&report), outcome.fallback),
            ("c7c5".to_owned(), None),
            "{answer}"
        );
    }
}

#[test]
fn xboard_engine_may_be_slow_to_start() {
    let launch = |timeout| {
        let mut launch = xboard("echo 'move c7c5'", "/dev/null");
        let script = launch.command.last_mut().unwrap();
        *script = script.replace("protover*)", "protover*) sleep 3;");
        Launch { timeout, ..launch }
    };
    // Without `feature memory=1` its hash cannot be set.
    let engine = start(ExternalSettings {
        hash_mib: Some(2),
        ..settings(launch(Duration::from_secs(30)), 1)
    });
    wait_until_ready(&engine);
    let limits = clock(Duration::from_secs(10));
    let (_, outcome) = search_game(&engine, 1, &play("e2e4"), limits, GameSetup::default());
    assert_eq!(outcome.fallback, None);
    // What it has not said is no mistake of the configuration.
    let mut process = EngineProcess::start(&launch(Duration::from_millis(100))).unwrap();
    let error = process.set_hash(2).unwrap_err();
    assert!(!error.is_mistake(), "{error}");
}

#[test]
fn options_that_follow_from_games_are_refused() {
    let mut process = EngineProcess::start(&stub(MOVE)).unwrap();
    for option in ["UCI_Chess960", "uci_variant"] {
        let error = process.set_options([(option, "true")]).unwrap_err();
        assert!(error.is_mistake(), "{error}");
        assert!(error.to_string().contains("remove it"), "{error}");
    }
}

#[test]
fn move_outside_of_searchmoves_is_not_played() {
    let engine = start(settings(stub(MOVE), 1));
    wait_until_ready(&engine);
    let game = play("");
    let limits = Limits {
        search_moves: vec![game.position().parse_uci("d2d4").unwrap()],
        ..unhurried()
    };
    for _ in 0..2 {
        let setup = GameSetup::default();
        let (report, outcome) = search_game(&engine, 1, &game, limits.clone(), setup);
        assert_eq!(uci(&report), "d2d4");
        let why = outcome.fallback.unwrap();
        assert!(why.contains("searchmoves"), "{why}");
    }
    // Not even as the best line so far, when most of the time is gone.
    let late = "echo info depth 3 score cp 20 pv e2e4; sleep 0.5; echo bestmove e2e4";
    let engine = start(settings(stub(late), 1));
    wait_until_ready(&engine);
    let limits = Limits {
        movetime: Some(Duration::from_millis(600)),
        ..limits
    };
    let (report, _) = search_game(&engine, 1, &game, limits, GameSetup::default());
    assert_eq!(uci(&report), "d2d4");
}

#[test]
fn engine_without_a_protocol_gets_json() {
    let script = "read -r line; echo \"$line\" >&3; echo info depth 2 score cp 7 pv b8c6; \
                  echo info depth 3 score cp 0.35 pv e7e5; echo info string; echo Nc6; exec sleep 100";
    let log = std::env::temp_dir().join(format!("lines-{}", std::process::id()));
    let script = format!("exec 3> {}; {script}", log.display());
    let engine = start(ExternalSettings {
        options: vec![("style".to_owned(), "calm".to_owned())],
        ..settings(
            Launch {
                protocol: Protocol::Lines,
                ..Launch::new(["sh", "-c", &script])
            },
            1,
        )
    });
    wait_until_ready(&engine);
    let limits = Limits {
        depth: Some(3),
        ..clock(Duration::from_secs(10))
    };
    let (report, outcome) = search_game(&engine, 1, &play("e2e4"), limits, GameSetup::default());
    assert_eq!(outcome.fallback, None);
    assert_eq!((uci(&report), report.depth), ("b8c6".to_owned(), 2));
    let request: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&log).unwrap()).unwrap();
    fs::remove_file(&log).unwrap();
    assert_eq!(request["moves"][0], "e2e4");
    assert_eq!(request["color"], "black");
    assert_eq!(request["variant"], "standard");
    assert_eq!(request["legal"].as_array().map(Vec::len), Some(20));
    assert_eq!(
        (&request["depth"], &request["options"]["style"]),
        (&3.into(), &"calm".into())
    );
    assert!(
        request["clock_ms"]
            .as_u64()
            .is_some_and(|ms| ms > 9_000 && ms < 10_000)
    );
}

#[test]
fn engines_play_the_variants_that_they_know() {
    let log = std::env::temp_dir().join(format!("variants-{}", std::process::id()));
    let log = log.to_str().unwrap();
    let mut speaks_uci = stub("echo bestmove b8c6");
    let script = speaks_uci.command.last_mut().unwrap();
    *script = script
        .replace(
            "echo uciok",
            "echo option name UCI_Variant type combo default chess var chess var crazyhouse var 3check; echo uciok",
        )
        .replace(
            "read -r line; do",
            &format!("read -r line; do echo \"$line\" >> {log};"),
        );
    let mut speaks_xboard = xboard("echo 'move b8c6'", log);
    let script = speaks_xboard.command.last_mut().unwrap();
    *script = script.replace("normal,", "normal,crazyhouse,3check,");
    let crazyhouse = "rnb1kb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR/Qn b KQkq - 0 9";
    let three_check = "rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 9 +1+0";
    let standard = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
    for (launch, expected) in [
        (
            speaks_uci,
            &[
                "setoption name UCI_Variant value crazyhouse",
                "position fen rnb1kb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Qn] b KQkq - 0 9 moves N@f6 e2e4",
                "setoption name UCI_Variant value 3check",
                "position fen rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 2+3 0 9",
                "setoption name UCI_Variant value chess",
            ][..],
        ),
        (
            speaks_xboard,
            &[
                "variant crazyhouse",
                "setboard rnb1kb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR[Qn] b KQkq - 0 9",
                "usermove N@f6",
                "variant 3check",
                "setboard rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 2+3 0 9",
                "new",
                // Fairy-Stockfish keeps the variant after `new`.
                "variant normal",
            ],
        ),
    ] {
        let engine = start(settings(launch, 1));
        wait_until_ready(&engine);
        for (id, variant, fen, moves, fallback) in [
            (1, Variant::Crazyhouse, crazyhouse, "N@f6 e2e4", None),
            (2, Variant::ThreeCheck, three_check, "", None),
            (
                3,
                Variant::Atomic,
                Variant::Atomic.start_fen(),
                "",
                Some("it does not play this variant"),
            ),
            (4, Variant::Standard, standard, "", None),
        ] {
            let start = Position::from_variant_fen(variant, fen).unwrap();
            let mut game = Game::new(start);
            for uci in moves.split_whitespace() {
                game.push_uci(uci).unwrap();
            }
            let limits = clock(Duration::from_secs(10));
            let setup = GameSetup::default();
            let (_, outcome) = search_game(&engine, id, &game, limits, setup);
            assert_eq!(outcome.fallback.as_deref(), fallback, "{variant}");
        }
        drop(engine);
        let received = fs::read_to_string(log).unwrap();
        fs::remove_file(log).unwrap();
        let mut lines = received.lines();
        for line in expected {
            assert!(
                lines.any(|received| received == *line),
                "{line}: {received}"
            );
        }
    }
}

#[test]
fn options_of_a_game_end_with_it() {
    let hash = vec![("Hash".to_owned(), "2".to_owned())];
    for (options, hash_mib) in [(hash, None), (Vec::new(), Some(2))] {
        check_options_of_games(&options, hash_mib);
    }
}

/// Plays games with and without options on an engine with these settings, which give it 2 MiB of hash.
fn check_options_of_games(options: &[(String, String)], hash_mib: Option<usize>) {
    let log = std::env::temp_dir().join(format!("options-{}", std::process::id()));
    let log = log.to_str().unwrap();
    let go = format!("echo \"$line\" >> {log}; echo bestmove e2e4");
    let listen = format!("setoption*) echo \"$line\" >> {log};; go*) ");
    let mut launch = stub(&go);
    let script = launch.command.last_mut().unwrap();
    *script = script.replace("go*) ", &listen).replace(
        "echo uciok",
        "echo option name UCI_Opponent type string default; \
         echo 'option name Book type string default <empty>'; echo uciok",
    );
    let engine = start(ExternalSettings {
        options: options.to_vec(),
        hash_mib,
        ..settings(launch, 1)
    });
    wait_until_ready(&engine);
    let setup = |options: &[(&str, &str)], name: &str| GameSetup {
        options: options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        opponent: Some(Opponent {
            name: name.to_owned(),
            title: Some("GM".to_owned()),
            rating: Some(2_500),
            is_computer: false,
        }),
        opponent_time: None,
    };
    let limits = Limits {
        nodes: Some(5),
        ..Limits::default()
    };
    let anna = setup(
        &[("hash", "8"), ("Book", "b.bin"), ("Nonsense", "1")],
        "Anna",
    );
    for (game, setup) in [(1, &anna), (1, &anna), (2, &setup(&[], "Bert"))] {
        let (_, outcome) = search_game(&engine, game, &play(""), limits.clone(), setup.clone());
        assert_eq!(outcome.fallback, None);
    }
    let received = fs::read_to_string(log).unwrap();
    fs::remove_file(log).unwrap();
    let expected = "setoption name Hash value 2\nsetoption name Hash value 8\n\
        setoption name Book value b.bin\nsetoption name UCI_Opponent value GM 2500 human Anna\ngo nodes 5\ngo nodes 5\n\
        setoption name Hash value 2\nsetoption name Book value <empty>\nsetoption name UCI_Opponent value GM 2500 human Bert\ngo nodes 5\n";
    assert_eq!(received, expected);
}

#[test]
fn options_of_a_game_end_with_it_without_a_protocol() {
    let log = std::env::temp_dir().join(format!("line-options-{}", std::process::id()));
    let script = format!(
        "while read -r line; do echo \"$line\" >> {}; echo e2e4; done",
        log.display()
    );
    let launch = Launch {
        protocol: Protocol::Lines,
        ..Launch::new(["sh", "-c", &script])
    };
    let engine = start(settings(launch, 1));
    wait_until_ready(&engine);
    let level = GameSetup {
        options: vec![("level".to_owned(), "1".to_owned())],
        ..GameSetup::default()
    };
    for (game, setup) in [(1, level), (2, GameSetup::default())] {
        let limits = clock(Duration::from_secs(10));
        let (_, outcome) = search_game(&engine, game, &play(""), limits, setup);
        assert_eq!(outcome.fallback, None);
    }
    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let levels = received.lines().map(|line| {
        let request: serde_json::Value = serde_json::from_str(line).unwrap();
        request["options"]["level"].clone()
    });
    assert_eq!(
        levels.collect::<Vec<_>>(),
        ["1".into(), serde_json::Value::Null]
    );
}

#[test]
fn names_change_neither_terminal_nor_writing_direction() {
    let launch = stub(MOVE);
    let mut command = launch.command.clone();
    let script = command.last_mut().unwrap();
    *script = script.replace("id name Stub", "id name 'St\u{202e}u\u{1b}b'");
    let process = EngineProcess::start(&Launch { command, ..launch }).unwrap();
    assert_eq!(process.name(), "Stub");
}

#[test]
fn silent_program_speaks_no_protocol() {
    for protocol in [Protocol::Uci, Protocol::Xboard] {
        let launch = Launch {
            protocol,
            timeout: Duration::from_millis(50),
            ..Launch::new(["true"])
        };
        assert!(EngineProcess::start(&launch).is_err(), "{protocol:?}");
    }
}

#[test]
fn xboard_engine_is_told_the_opponent_of_each_game_again() {
    let log = std::env::temp_dir().join(format!("opponents-{}", std::process::id()));
    let engine = start(settings(
        xboard("echo 'move g1f3'", log.to_str().unwrap()),
        1,
    ));
    wait_until_ready(&engine);
    let setup = |name: &str, is_computer| GameSetup {
        opponent: Some(Opponent {
            name: name.to_owned(),
            title: None,
            rating: None,
            is_computer,
        }),
        ..GameSetup::default()
    };
    let limits = clock(Duration::from_secs(60));
    for (game, moves) in [
        (1, ""),
        (2, ""),
        (1, "g1f3 g8f6 f3g1 f6g8"),
        (2, "g1f3 b8c6 f3g1 c6b8"),
    ] {
        let setup = setup(["Anna", "Bert"][game as usize - 1], game == 1);
        let (_, outcome) = search_game(&engine, game, &play(moves), limits.clone(), setup);
        assert_eq!(outcome.fallback, None);
    }
    drop(engine);
    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let sent: Vec<&str> = received
        .lines()
        .filter(|line| line.starts_with("name ") || *line == "computer")
        .collect();
    let (anna, bert) = (["name Anna", "computer"], ["name Bert"]);
    assert_eq!(sent, [&anna[..], &bert, &anna, &bert].concat());
}

#[test]
fn uci_engine_is_told_both_clocks() {
    let log = std::env::temp_dir().join(format!("clocks-{}", std::process::id()));
    let go = format!("echo \"$line\" >> {}; echo bestmove e7e5", log.display());
    let engine = start(settings(stub(&go), 1));
    wait_until_ready(&engine);
    let setup = GameSetup {
        opponent_time: Some(Duration::from_secs(5)),
        ..GameSetup::default()
    };
    let limits = clock(Duration::from_secs(60));
    let (_, outcome) = search_game(&engine, 1, &play("e2e4"), limits, setup);
    assert_eq!(outcome.fallback, None);
    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    assert!(received.starts_with("go wtime 5000 btime 59"), "{received}");
}

/// Strength and options of a game, and why the embedded engine plays it, if it does.
type StrengthGame<'a> = (Option<u16>, &'a [(&'a str, &'a str)], Option<&'a str>);

/// The options that an engine gets for games.
fn options_for_games(options: &[(&str, &str)], games: &[StrengthGame<'_>]) -> Vec<String> {
    let owned = |options: &[(&str, &str)]| -> Vec<(String, String)> {
        let options = options.iter();
        options
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    let listen = format!(
        "setoption*) echo \"$line\" >> {};; go*) ",
        log.path().display()
    );
    *script = script.replace("go*) ", &listen).replace(
        "echo uciok",
        "echo option name UCI_LimitStrength type check default false; \
         echo option name UCI_Elo type spin default 1350 min 1350 max 2850; echo uciok",
    );
    let engine = start(ExternalSettings {
        options: owned(options),
        ..settings(launch, 1)
    });
    wait_until_ready(&engine);
    fs::write(log.path(), "").unwrap();
    for (game, (elo, options, fallback)) in (1..).zip(games) {
        let limits = Limits {
            strength: elo.map(|elo| Strength {
                elo: Elo::nearest(elo.into()),
                seed: 1,
            }),
            ..clock(Duration::from_secs(10))
        };
        let setup = GameSetup {
            options: owned(options),
            ..GameSetup::default()
        };
        let (_, outcome) = search_game(&engine, game, &play(""), limits, setup);
        assert_eq!(outcome.fallback.as_deref(), *fallback, "{elo:?}");
    }
    let received = fs::read_to_string(log.path()).unwrap();
    let received = received
        .replace("setoption name ", "")
        .replace(" value ", "=");
    received.lines().map(str::to_owned).collect()
}

#[test]
fn strength_is_set_within_the_range_of_the_engine() {
    let too_low = Some("its UCI_Elo does not take this strength");
    let games = [
        (Some(1_500), &[][..], None),
        (Some(1_200), &[], too_low),
        (Some(2_600), &[], None),
        (None, &[], None),
    ];
    let expected = [
        "UCI_Elo=1500",
        "UCI_LimitStrength=true",
        "UCI_Elo=2600",
        "UCI_LimitStrength=true",
        "UCI_LimitStrength=false",
    ];
    assert_eq!(options_for_games(&[], &games), expected);
}

#[test]
fn strength_of_a_game_leaves_that_of_the_settings() {
    let limited = [("UCI_LimitStrength", "true"), ("UCI_Elo", "2000")];
    let games = [(Some(1_500), &[][..], None), (None, &[], None)];
    let expected = [
        "UCI_Elo=1500",
        "UCI_LimitStrength=true",
        "UCI_Elo=2000",
        "UCI_LimitStrength=true",
    ];
    assert_eq!(options_for_games(&limited, &games), expected);
    // The options of a game end before the next one gets its strength.
    let games = [(None, &limited[..], None), (Some(1_800), &[], None)];
    let expected = [
        "UCI_LimitStrength=true",
        "UCI_Elo=2000",
        "UCI_LimitStrength=false",
        "UCI_Elo=1350",
        "UCI_Elo=1800",
        "UCI_LimitStrength=true",
    ];
    assert_eq!(options_for_games(&[], &games), expected);
}

#[test]
fn threads_are_set_by_the_name_that_the_engine_has() {
    let log = std::env::temp_dir().join(format!("threads-{}", std::process::id()));
    let mut launch = stub(MOVE);
    let script = launch.command.last_mut().unwrap();
    let listen = format!("setoption*) echo \"$line\" >> {};; go*) ", log.display());
    *script = script.replace("go*) ", &listen).replace(
        "echo uciok",
        "echo option name Number of Threads type spin default 1 min 1 max 16; echo uciok",
    );
    let engine = start(ExternalSettings {
        threads: Some(3),
        ..settings(launch, 1)
    });
    wait_until_ready(&engine);
    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    assert_eq!(received, "setoption name Number of Threads value 3\n");
}

#[test]
fn wins_and_draws_are_asked_for_and_reported() {
    let log = std::env::temp_dir().join(format!("wdl-{}", std::process::id()));
    let mut launch = stub(
        "echo info string NNUE evaluation; echo info depth 3 score cp 20 wdl 71 906 23 pv e2e4; echo bestmove e2e4",
    );
    let script = launch.command.last_mut().unwrap();
    let listen = format!("setoption*) echo \"$line\" >> {};; go*) ", log.display());
    *script = script.replace("go*) ", &listen).replace(
        "echo uciok",
        "echo option name UCI_ShowWDL type check default false; echo uciok",
    );
    let engine = start(settings(launch, 1));
    wait_until_ready(&engine);
    let limits = clock(Duration::from_secs(10));
    let (report, outcome) = search_game(&engine, 1, &play(""), limits, GameSetup::default());
    assert_eq!((report.wdl, outcome.fallback), (Some([71, 906, 23]), None));
    let line = "< info string NNUE evaluation".to_owned();
    assert!(
        outcome.transcript.contains(&line),
        "{:?}",
        outcome.transcript
    );
    let received = fs::read_to_string(&log).unwrap();
    fs::remove_file(&log).unwrap();
    assert_eq!(received, "setoption name UCI_ShowWDL value true\n");
}
