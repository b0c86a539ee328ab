//! Playing strength and think time of the real program.

use std::time::{Duration, Instant};

use knightwatch::sim::{NewUser, SimOptions};

use crate::cli::output;
use crate::common::{BOT, Daemon, SLOW, Site, wait};
use crate::engines::script;
use crate::etiquette::act;
use crate::operator::{run_command, status};

const CASUAL: [(&str, &str); 3] = [
    ("clock.limit", "600"),
    ("clock.increment", "5"),
    ("color", "white"),
];

fn wait_for_log(bot: &Daemon, words: &str) {
    wait(&format!("the log says: {words}"), || {
        bot.log().contains(words).then_some(())
    });
}

#[test]
fn strength_rule_limits_casual_games_only() {
    let site = Site::new([NewUser::human("Anna"), NewUser::human("Bert")]);
    let config = "[[rule]]\nname = \"people\"\nmatch = { bot = false }\nplay = { strength = { elo = 1100 } }\n\
                  [[rule]]\nmatch = { name = \"nobody\" }\nplay = { strength = \"full\" }\n";
    let bot = Daemon::start(&site, config);
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let id = anna.start(&CASUAL);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    wait_for_log(
        &bot,
        "settings of this game: plays at 1100 Elo by rule `people`",
    );
    wait_for_log(&bot, "playing at 1100 Elo");
    let chat = format!("/api/board/game/{id}/chat");
    let (status, _) = anna.post(&chat, &[("room", "player"), ("text", "!strength")]);
    assert_eq!(status, 200);
    wait("it says how strong it plays", || {
        let (_, lines) = anna.get(&chat);
        let lines = lines.as_array()?.iter();
        let mut ours = lines.filter(|line| line["user"] == BOT);
        ours.find(|line| line["text"] == "I play this game at about 1100 Elo.")
            .map(|_| ())
    });

    let [limit, increment, color] = CASUAL;
    let id = bert.start(&[limit, increment, color, ("rated", "true")]);
    act(&bert, &id, "move/e2e4");
    site.plies(&id, 2);
    wait_for_log(
        &bot,
        "playing at full strength, for the game is rated, and a limited engine there is sandbagging",
    );
}

/// A player with an established rating.
fn established_player(name: &str, rating: u32) -> NewUser {
    NewUser {
        games: 50,
        ..NewUser::human(name).rating(rating)
    }
}

#[test]
fn adaptive_strength_follows_opponent_rating() {
    let site = Site::with(SimOptions {
        users: vec![
            NewUser::bot(BOT),
            established_player("Anna", 1732),
            established_player("Bert", 850),
            NewUser::human("Clara").rating(1100),
        ],
        ..SimOptions::default()
    });
    let bot = Daemon::start(
        &site,
        "engine = { hash_mib = 16, threads = 1, strength = { adaptive = true, offset = 50 } } # [engine]\n",
    );
    for (name, words) in [
        ("Anna", "playing at 1782 Elo, for the opponent has 1732"),
        ("Bert", "playing at 1000 Elo, for the opponent has 850"),
        (
            "Clara",
            "playing at 1350 Elo, for the opponent has 1100, which is uncertain",
        ),
    ] {
        let player = site.player(name);
        let id = player.start(&CASUAL);
        act(&player, &id, "move/e2e4");
        site.plies(&id, 2);
        wait_for_log(&bot, words);
    }
}

#[test]
fn limited_engine_takes_time_until_move_now() {
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(
        &site,
        "book = { enabled = false }\n[[rule]]\nplay = { strength = 1500 }\n",
    );
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    // The move is found within moments; with three hours on the clock a person would take a minute.
    act(&anna, &id, "move/g1f3");
    wait("it thinks", || {
        let game = status(&bot)["games"][0].clone();
        (game["ply"] == 3 && game["activity"] == "searching").then_some(())
    });
    let requested_at = Instant::now();
    assert!(run_command(&bot, &["move-now", &id]).contains("best move found so far"));
    let game = site.plies(&id, 4);
    assert!(requested_at.elapsed() < Duration::from_secs(30));
    assert!(game.time_left[1].is_some_and(|left| left > Duration::from_secs(10_000)));
}

#[test]
fn limited_engine_never_loses_on_time() {
    let site = Site::new([NewUser::in_browser("Anna")]);
    let _bot = Daemon::start(&site, "[[rule]]\nplay = { strength = 1000 }\n");
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "30"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    // The opponent replies to any move at once.
    let mut plies = 0;
    while plies < 24 {
        let game = site.game(&id).unwrap();
        if game.status != "started" {
            break;
        }
        let moves = [
            "e2e4", "g1f3", "f1c4", "d2d3", "b1c3", "c1e3", "h2h3", "a2a3", "f3d2", "f3g1", "e1g1",
            "g1h1", "h1g1", "a1b1", "b1a1", "e1f1", "f1g1", "e1e2", "e2f1", "e2e1", "g1g2", "a3a4",
            "a4a5", "h3h4",
        ];
        let played = moves.iter().any(|uci| {
            let path = format!("/api/board/game/{id}/move/{uci}");
            anna.post(&path, &[]).0 == 200
        });
        if !played {
            break;
        }
        plies = site.plies(&id, game.plies + 2).plies;
    }
    let game = site.game(&id).unwrap();
    assert_ne!(game.status, "outoftime", "{game:?}");
    assert!(game.plies >= 6, "{game:?}");
    assert!(
        game.time_left[1].is_some_and(|left| left > Duration::from_secs(5)),
        "{game:?}"
    );
}

#[test]
fn calibration_continues_from_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let [engine, state] = ["engine", "state.json"].map(|name| folder.path().join(name));
    script(
        &engine,
        &format!("exec {} uci", env!("CARGO_BIN_EXE_knightwatch")),
    );
    let calibrate = |seed: u8| {
        let levels = "--levels 1000,1050 --anchors 1100@40 --near 60 --games 2";
        let [engine, state] = [&engine, &state].map(|path| path.display());
        let command =
            format!("calibrate {engine} {levels} --threads 2 --seed {seed} --state {state}");
        let output = output(&command.split(' ').collect::<Vec<_>>());
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let table = || {
        let (code, printed, error) = calibrate(5);
        assert_eq!(code, Some(0), "{error}");
        let (table, seconds) = printed.rsplit_once("in ").unwrap();
        assert!(seconds.ends_with(" s\n"), "{printed}");
        table.to_owned()
    };
    let first = table();
    assert!(first.contains("1000 - 1050: +"), "{first}");
    assert!(first.contains("1050 - anchor 1100@40: +"), "{first}");
    // Without an engine there is a result only if no game is played again.
    std::fs::remove_file(&engine).unwrap();
    assert_eq!(table(), first);
    let (code, _, error) = calibrate(6);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("seed was 5 and is 6 now"), "{error}");
}
