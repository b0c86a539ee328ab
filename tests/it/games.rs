//! Games of the real program on the simulator, over real HTTP.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use knightwatch::book::Record;
use knightwatch::chess::{Position, Variant};
use knightwatch::sim::{
    ChallengePlan, ColorChoice, Endpoint, Fault, FaultRule, GameSummary, NewUser, PlayerKind,
    PlayerOptions, TimeControl,
};

use serde_json::json;

use crate::common::{
    BOT, Daemon, FAST_MOVES, IMPATIENT, Player, SLOW, Site, requests_of, signal_twice, wait,
};
use crate::etiquette::act;
use crate::operator::status;

/// Position in which White, the bot, mates in several moves.
const WON: &str = "8/8/8/4k3/8/8/8/1Q2K3 w - - 0 1";

/// A game in which White, to move, has one move, h1g1, after which the bot mates.
pub(crate) const MATED_NEXT: [(&str, &str); 5] = [
    CLOCK[0],
    CLOCK[1],
    ("color", "white"),
    ("variant", "fromPosition"),
    ("fen", "8/8/8/8/8/6k1/3q4/7K w - - 0 1"),
];

/// Half a minute each: short games without time losses on a slow machine.
const CLOCK: [(&str, &str); 2] = [("clock.limit", "30"), ("clock.increment", "0")];

/// Fields of a challenge.
type Form<'a> = &'a [(&'a str, &'a str)];

/// A built-in player who challenges the bot to one game.
fn one_challenge(name: &str, kind: PlayerKind) -> PlayerOptions {
    let plan = ChallengePlan {
        count: Some(1),
        ..ChallengePlan::against(BOT, TimeControl::clock(30, 0))
    };
    PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new(name, kind).challenging(plan)
    }
}

/// A built-in player who challenges the bot to a game that the bot wins in a few moves.
pub(crate) fn losing_player(name: &str) -> PlayerOptions {
    let options = one_challenge(name, PlayerKind::Random);
    let plan = options.challenges.clone().map(|plan| ChallengePlan {
        variants: vec!["fromPosition".to_owned()],
        fen: Some(WON.to_owned()),
        colors: vec![ColorChoice::Black],
        ..plan
    });
    PlayerOptions {
        challenges: plan,
        ..options
    }
}

fn winner(game: &GameSummary) -> Option<&str> {
    match game.result {
        "1-0" => Some(&game.white),
        "0-1" => Some(&game.black),
        _ => None,
    }
}

/// Waits for the end of the only game of the site, and asserts that the bot has mated.
pub(crate) fn bot_mates(site: &Site) -> GameSummary {
    let game = site.started(1).remove(0);
    let game = site.finished(&game.id);
    assert_eq!(
        (game.status, winner(&game)),
        ("mate", Some(BOT)),
        "{game:?}"
    );
    game
}

/// The number of moves that the bot made in a game.
fn moves_of_bot(game: &GameSummary) -> usize {
    if game.white == BOT {
        game.plies.div_ceil(2)
    } else {
        game.plies / 2
    }
}

#[test]
fn game_from_challenge_to_mate_is_won() {
    let site = Site::new([NewUser::human("Randy")]);
    let bot = Daemon::start(&site, FAST_MOVES);
    site.sim
        .add_player(one_challenge("Randy", PlayerKind::Random));
    let game = bot_mates(&site);
    assert!(game.plies >= 8, "{game:?}");
    // Nothing was sent twice.
    assert_eq!(
        site.sim.faults().request_count(Endpoint::Move),
        moves_of_bot(&game)
    );
    assert!(!bot.log().contains("WARN"), "{}", bot.log());
}

#[test]
fn moves_option_prints_moves_and_result() {
    let site = Site::new([NewUser::human("Anna")]);
    let home = tempfile::tempdir().unwrap();
    let printed = home.path().join("moves");
    let shell = ["sh", "-c", "exec \"$@\" --moves > moves", "sh"];
    let launcher = shell.map(str::to_owned).to_vec();
    let bot = Daemon::launch_in(&site, "", launcher, home);
    bot.ready();
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    let shown = wait("its status shows it", || {
        let games = status(&bot)["games"].clone();
        (games[0]["ply"] == 2).then(|| games[0].clone())
    });
    assert_eq!(
        (&shown["color"], &shown["rating"]),
        (&json!("black"), &json!(1500))
    );
    assert_eq!(shown["time_control"], "180+0");
    let clock = shown["our_clock_ms"].as_u64().unwrap();
    assert!((10_700_000..=10_800_000).contains(&clock), "{shown}");
    act(&anna, &id, "resign");
    wait("the end is told", || {
        let line = "won against Anna (1500): resignation, 1 move game=";
        bot.log().contains(line).then_some(())
    });
    let text = wait("the moves are printed", || {
        let text = std::fs::read_to_string(&printed).ok()?;
        text.contains("Knightwatch wins: resignation")
            .then_some(text)
    });
    assert!(text.contains("Anna (1500) – BOT Knightwatch"), "{text}");
    assert!(text.contains("1. e4"), "{text}");
}

#[test]
fn games_run_concurrently() {
    let names = ["Anna", "Bert", "Carl", "Dora"];
    let site = Site::new(names.map(NewUser::bot));
    let _bot = Daemon::start(&site, "games = { concurrency = 4 }");
    let players = names.map(|name| site.player(name));
    let ids = players.each_ref().map(|player| player.start(&MATED_NEXT));
    let games = site.sim.games();
    let on = games.iter().filter(|game| game.status == "started").count();
    assert_eq!(on, 4, "{games:?}");
    // Each game ends while those that began before it go on.
    for (player, id) in players.iter().zip(&ids).rev() {
        player.play(id, "h1g1");
        let game = site.finished(id);
        assert_eq!(
            (game.status, winner(&game)),
            ("mate", Some(BOT)),
            "{game:?}"
        );
    }
}

#[test]
fn challenge_beyond_slots_is_declined_later() {
    let site = Site::new([NewUser::bot("Anna"), NewUser::bot("Bert")]);
    let config = "games.concurrency = 1\nchallenge.queue_size = 0\n";
    let _bot = Daemon::start(&site, config);
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    anna.start(&CLOCK);
    assert_eq!(bert.answer(&bert.challenge(&CLOCK)), "later");
}

#[test]
fn game_without_first_move_is_aborted() {
    let site = Site::new([NewUser::bot("Anna")]);
    let _bot = Daemon::start(&site, "games = { concurrency = 1, abort_after_s = 1 }");
    site.sim
        .add_player(one_challenge("Sleepy", PlayerKind::Idle));
    let game = site.started(1).remove(0);
    assert_eq!(site.finished(&game.id).status, "aborted");
    wait_for_free_slot(&site.player("Anna"));
}

/// Challenges the bot until it accepts: its slot is free as soon as it has seen the end of the previous game.
fn wait_for_free_slot(player: &Player<'_>) {
    wait("the bot has a place", || {
        (player.answer(&player.challenge(&CLOCK)) == "accepted").then_some(())
    });
}

#[test]
fn game_is_resumed_after_crash() {
    let site = Site::new([]);
    let mut bot = Daemon::start(&site, "");
    site.sim.add_player(PlayerOptions {
        delay: Duration::from_millis(100)..=Duration::from_millis(100),
        ..one_challenge("Randy", PlayerKind::Random)
    });
    let game = site.started(1).remove(0);
    site.plies(&game.id, 6);
    bot.crash_and_restart();
    let before = site.game(&game.id).unwrap();
    assert_eq!(before.status, "started", "{before:?}");
    let game = bot_mates(&site);
    assert!(game.plies > before.plies, "{game:?}");
}

#[test]
fn opponent_out_of_time_loses() {
    let site = Site::new([NewUser::bot("Anna")]);
    let _bot = Daemon::start(&site, "games = { concurrency = 1 }");
    let anna = site.player("Anna");
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    site.sim.advance(Duration::from_secs(31));
    let game = site.finished(&id);
    assert_eq!(
        (game.status, winner(&game)),
        ("outoftime", Some(BOT)),
        "{game:?}"
    );
    wait_for_free_slot(&anna);
}

#[test]
fn challenge_decline_has_reason() {
    let rated = [CLOCK[0], CLOCK[1], ("rated", "true")];
    let blitz = [("clock.limit", "180"), ("clock.increment", "2")];
    let rapid = [("clock.limit", "600"), ("clock.increment", "0")];
    let chess960 = [CLOCK[0], CLOCK[1], ("variant", "chess960")];
    let days = [("days", "3")];
    let cases: [(&str, &str, Form<'_>, &str); 14] = [
        ("", "Anna", &CLOCK, "accepted"),
        ("", "Robot", &rated, "accepted"),
        ("", "Anna", &days, "tooslow"),
        ("accept = false", "Anna", &CLOCK, "generic"),
        ("rated = false", "Anna", &rated, "casual"),
        ("casual = false", "Anna", &CLOCK, "rated"),
        ("bots = false", "Robot", &CLOCK, "nobot"),
        ("bots = false", "Anna", &CLOCK, "accepted"),
        ("rated = false", "Anna", &CLOCK, "accepted"),
        ("humans = false", "Anna", &CLOCK, "onlybot"),
        ("variants = [\"standard\"]", "Anna", &chess960, "standard"),
        ("speeds = [\"rapid\"]", "Anna", &blitz, "toofast"),
        ("max_base_s = 300", "Anna", &rapid, "tooslow"),
        ("block = [\"anna\"]", "Anna", &CLOCK, "generic"),
    ];
    for (config, name, challenge, expected) in cases {
        let site = Site::new([NewUser::human("Anna"), NewUser::bot("Robot")]);
        let _bot = Daemon::start(&site, &format!("[challenge]\n{config}\n"));
        let player = site.player(name);
        let answer = player.answer(&player.challenge(challenge));
        assert_eq!(
            answer, expected,
            "{name} with {challenge:?} against `{config}`"
        );
    }
}

#[test]
fn shutdown_second_signal_exits_at_once() {
    let site = Site::new([NewUser::bot("Anna")]);
    let mut bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    anna.play(&id, "e2e4");
    site.plies(&id, 2);
    signal_twice(bot.pid(), "INT");
    wait("the bot drains", || {
        bot.log().contains("stopping").then_some(())
    });
    let stopping = Instant::now();
    anna.play(&id, "d2d4");
    site.plies(&id, 4);
    wait("a signal is a new request", || {
        (stopping.elapsed() >= Duration::from_millis(100)).then_some(())
    });
    bot.signal("INT");
    assert_eq!(bot.ended().code(), Some(0));
    assert_eq!(site.game(&id).unwrap().status, "started");
}

#[test]
fn rejected_token_exits_with_77() {
    let site = Site::new([]);
    let arguments = IMPATIENT.map(str::to_owned).to_vec();
    let mut bot = Daemon::launch_with(&site, "lip_nobody", "", arguments);
    assert_eq!(bot.ended().code(), Some(77), "{}", bot.log());
    assert!(bot.log().contains("token"), "{}", bot.log());
}

#[test]
fn token_rejected_for_a_moment_delays_start() {
    let site = Site::new([NewUser::bot("Anna")]);
    let rejected = Fault::json(401, r#"{"error":"No such token"}"#);
    let rule = FaultRule::on(Endpoint::Account, rejected).from_user(BOT);
    site.sim.faults().add(rule.times(2));
    let bot = Daemon::start_with(&site, "", &IMPATIENT);
    assert!(bot.log().contains("Lichess rejects the token"));
}

#[test]
fn account_without_bot_title_exits_with_77() {
    let site = Site::new([NewUser::human("Anna")]);
    let mut bot = Daemon::launch_as(&site, "lip_anna", "");
    assert_eq!(bot.ended().code(), Some(77), "{}", bot.log());
    assert!(bot.log().contains("knightwatch upgrade"), "{}", bot.log());
}

#[test]
fn instances_with_one_token_leave_one_running() {
    let site = Site::new([NewUser::human("Anna")]);
    let mut one = Daemon::start(&site, "");
    // Each new event stream begins with the running game.
    site.player("Anna").start(&SLOW);
    let mut two = Daemon::start(&site, "");
    wait("one of them gives up", || {
        (!one.is_running() || !two.is_running()).then_some(())
    });
    let (mut stopped, mut running) = if one.is_running() {
        (two, one)
    } else {
        (one, two)
    };
    assert_eq!(stopped.ended().code(), Some(69), "{}", stopped.log());
    assert!(
        stopped.log().contains("another instance"),
        "{}",
        stopped.log()
    );
    assert!(running.is_running());
}

#[test]
fn server_path_is_kept_and_user_agent_names_bot() {
    let site = Site::new([NewUser::human("Anna")]);
    let (url, callers) = site.serve_under("/box");
    let config = format!("lichess = {{ url = \"{url}\", token_file = \"token\" }}\n");
    let _bot = Daemon::start(&site, &config);
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    let program = format!("knightwatch/{}", env!("CARGO_PKG_VERSION"));
    let callers = callers.lock().unwrap().clone();
    assert!(
        callers.iter().all(|name| name.starts_with(&program)),
        "{callers:?}"
    );
    let named = format!("user:{BOT}");
    assert!(
        callers.iter().any(|name| name.ends_with(&named)),
        "{callers:?}"
    );
}

#[test]
fn moves_are_retried_until_made_and_queries_a_few_times() {
    let site = Site::new([NewUser::human("Anna")]);
    let broken = |endpoint, times| {
        let rule = FaultRule::on(endpoint, Fault::json(502, "{}"));
        site.sim.faults().add(rule.from_user(BOT).times(times));
    };
    broken(Endpoint::Account, 2);
    broken(Endpoint::Move, 6);
    let _bot = Daemon::start(&site, "");
    let anna = site.player("Anna");
    let id = anna.start(&SLOW);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    for (endpoint, calls) in [(Endpoint::Account, 3), (Endpoint::Move, 7)] {
        let requests = requests_of(&site, BOT, endpoint);
        assert_eq!(requests.len(), calls, "{requests:?}");
    }
}

#[test]
fn first_move_is_quick_although_clock_stands() {
    let site = Site::new([NewUser::human("Anna")]);
    let _bot = Daemon::start(&site, "book = { enabled = false }\n");
    let [limit, increment, _] = SLOW;
    let id = site
        .player("Anna")
        .start(&[limit, increment, ("color", "black")]);
    site.plies(&id, 1);
    let when = |endpoint| requests_of(&site, BOT, endpoint)[0].at;
    let took = when(Endpoint::Move) - when(Endpoint::ChallengeAccept);
    // The limit is one second, and other tests share the machine; by its clock of three hours the bot would search for
    // minutes.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[test]
fn book_ends_at_max_ply() {
    let site = Site::new([NewUser::bot("Anna")]);
    let bot = Daemon::start(
        &site,
        "book = { max_ply = 2 }\n[[rule]]\nmatch = { bot = true }\nplay = { max_depth = 3 }\n",
    );
    let anna = site.player("Anna");
    let id = anna.start(&[
        ("clock.limit", "600"),
        ("clock.increment", "0"),
        ("color", "white"),
    ]);
    for (uci, plies) in [("e2e4", 2), ("d2d4", 4)] {
        anna.play(&id, uci);
        site.plies(&id, plies);
    }
    let counts = wait("two moves are counted", || {
        let counts = status(&bot)["counts"].clone();
        (counts["moves"] == 2).then_some(counts)
    });
    assert_eq!(counts["book_moves"], 1);
}

/// Builds a book of these lines of moves and returns its path.
fn book_of_lines(directory: &Path, name: &str, lines: &str) -> String {
    let [text, book] = ["txt", "bin"].map(|end| directory.join(format!("{name}.{end}")));
    std::fs::write(&text, lines).unwrap();
    let mut build = Command::new(env!("CARGO_BIN_EXE_knightwatch"));
    build.args(["book", "build"]).arg(text).arg("-o").arg(&book);
    let output = build.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    book.display().to_string()
}

#[test]
fn book_moves_do_not_repeat() {
    let directory = tempfile::tempdir().unwrap();
    let book = book_of_lines(directory.path(), "draws", "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6\n");
    for (allowed, book_moves) in [(false, 1), (true, 3)] {
        let site = Site::new([NewUser::bot("Anna")]);
        let bot = Daemon::start(
            &site,
            &format!(
                "book = {{ files = [\"{book}\"], embedded = false, allow_repetitions = {allowed} }}\n\
                 [[rule]]\nmatch = {{ bot = true }}\nplay = {{ max_depth = 3 }}\n"
            ),
        );
        let anna = site.player("Anna");
        let id = anna.start(&[
            ("clock.limit", "600"),
            ("clock.increment", "0"),
            ("color", "white"),
        ]);
        // With the key set, the book goes on in the repeated position, too.
        let moves = if allowed { 3 } else { 2 };
        let plies = [("g1f3", 2), ("f3g1", 4), ("g1f3", 6)];
        for (uci, plies) in plies.into_iter().take(moves) {
            anna.play(&id, uci);
            site.plies(&id, plies);
        }
        let counts = wait("the moves are counted", || {
            let counts = status(&bot)["counts"].clone();
            (counts["moves"] == moves).then_some(counts)
        });
        assert_eq!(counts["book_moves"], book_moves, "{allowed}");
    }
}

#[test]
fn books_are_used_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let book = |name: &str, lines: &str| book_of_lines(directory.path(), name, lines);
    let files = [book("first", "e4 e6\n"), book("second", "e4 c5\nd4 f5\n")];
    let site = Site::new(["Anna", "Bert", "Cleo", "Dora"].map(NewUser::bot));
    let rules = r#"
        [[rule]]
        match = { name = "bert" }
        play = { book = false, max_depth = 3 }
        [[rule]]
        match = { name = "cleo" }
        play = { book = ["second.bin", "first.bin"] }
        [[rule]]
        match = { name = "dora" }
        play = { book = "first.bin", max_depth = 3 }
    "#;
    let bot = Daemon::start(
        &site,
        &format!("games.concurrency = 8\nbook = {{ files = {files:?} }}\n{rules}"),
    );
    let reply = |name: &str, opening: &str| {
        let player = site.player(name);
        let id = player.start(&SLOW);
        player.play(&id, opening);
        site.plies(&id, 2);
        let (_, playing) = player.get("/api/account/playing");
        let mut games = playing["nowPlaying"].as_array().unwrap().iter();
        let game = games.find(|game| game["gameId"] == id.as_str()).unwrap();
        game["lastMove"].as_str().unwrap().to_owned()
    };
    assert_eq!(reply("Anna", "e2e4"), "e7e6");
    assert_eq!(reply("Anna", "d2d4"), "f7f5");
    // The embedded book has a reply.
    reply("Anna", "c2c4");
    let book_moves = |moves: u64| {
        let counted = wait("the moves are counted", || {
            let counts = status(&bot)["counts"].clone();
            (counts["moves"] == moves).then_some(counts)
        });
        counted["book_moves"].clone()
    };
    assert_eq!(book_moves(3), 3);
    reply("Bert", "e2e4");
    assert_eq!(book_moves(4), 3);
    // Only the books of the rule, in its order.
    assert_eq!(reply("Cleo", "e2e4"), "c7c5");
    assert_eq!(book_moves(5), 4);
    reply("Dora", "d2d4");
    assert_eq!(book_moves(6), 4);
}

#[test]
fn books_of_variants_are_used_in_their_games() {
    let directory = tempfile::tempdir().unwrap();
    let book = |name: &str, lines: &str| book_of_lines(directory.path(), name, lines);
    let standard = book("standard", "e4 e6\nd4 f5\n");
    // Their keys are those of standard chess as long as the start position is.
    let [atomic, white, chess960] = [
        book("atomic", "e4 a6\nd4 h6\n"),
        book("white", "e4 h5\n"),
        book("chess960", "e4 g6\n"),
    ];
    let site = Site::new(["Anna", "Bert"].map(NewUser::bot));
    let bot = Daemon::start(
        &site,
        &format!(
            "games.concurrency = 8\n[book]\nfiles = [{standard:?}]\nembedded = false\n\
             [book.variants]\natomic = [{atomic:?}, {white:?}]\nchess960 = {chess960:?}\n\
             [[rule]]\nmatch = {{ name = \"bert\" }}\nplay = {{ book = [\"white.bin\", \"standard.bin\"] }}\n\
             [[rule]]\nplay = {{ max_depth = 3 }}\n"
        ),
    );
    let reply = |name: &str, variant: &str, opening: &str| {
        let player = site.player(name);
        let mut form = SLOW.to_vec();
        form.push(("variant", variant));
        if variant == "chess960" {
            form.push(("fen", Variant::Standard.start_fen()));
        }
        let id = player.start(&form);
        player.play(&id, opening);
        site.plies(&id, 2);
        let (_, playing) = player.get("/api/account/playing");
        let mut games = playing["nowPlaying"].as_array().unwrap().iter();
        let game = games.find(|game| game["gameId"] == id.as_str()).unwrap();
        game["lastMove"].as_str().unwrap().to_owned()
    };
    let book_moves = |moves: u64| {
        let counted = wait("the moves are counted", || {
            let counts = status(&bot)["counts"].clone();
            (counts["moves"] == moves).then_some(counts)
        });
        counted["book_moves"].clone()
    };
    assert_eq!(reply("Anna", "standard", "e2e4"), "e7e6");
    assert_eq!(reply("Anna", "atomic", "e2e4"), "a7a6");
    assert_eq!(reply("Anna", "chess960", "e2e4"), "g7g6");
    // The books of standard chess are asked as well.
    assert_eq!(reply("Anna", "chess960", "d2d4"), "f7f5");
    assert_eq!(book_moves(4), 4);
    // Neither the books of standard chess nor those of another variant.
    reply("Bert", "threeCheck", "e2e4");
    reply("Bert", "kingOfTheHill", "d2d4");
    assert_eq!(book_moves(6), 4);
    // The book of the rule, as far as it is of the variant.
    assert_eq!(reply("Bert", "atomic", "e2e4"), "h7h5");
    reply("Bert", "atomic", "d2d4");
    assert_eq!(book_moves(8), 5);
}

#[test]
fn embedded_books_of_variants_are_used() {
    let site = Site::new([NewUser::bot("Anna")]);
    let variants = &Variant::ALL[1..];
    let bot = Daemon::start(
        &site,
        "games = { concurrency = 8, per_opponent = 8 }\n[[rule]]\nplay = { max_depth = 3 }\n",
    );
    let anna = site.player("Anna");
    for variant in variants {
        let mut form = SLOW.to_vec();
        // The bot begins.
        form.retain(|(key, _)| *key != "color");
        form.extend([("variant", variant.key()), ("color", "black")]);
        let id = anna.start(&form);
        site.plies(&id, 1);
    }
    wait("the moves are counted", || {
        let counts = status(&bot)["counts"].clone();
        let count = variants.len();
        (counts["moves"] == count && counts["book_moves"] == count).then_some(())
    });
}

/// Writes a book with these replies to 1. e4 and their weights; returns its path.
fn book_of_replies(directory: &Path, moves: &[(&str, u16)]) -> String {
    let mut position = Position::startpos();
    position.play(position.parse_san("e4").unwrap());
    let bytes = moves.iter().flat_map(|&(san, weight)| {
        let mv = Record::write_move(position.parse_san(san).unwrap()).unwrap();
        let key = position.key();
        Record {
            key,
            mv,
            weight,
            learn: 0,
        }
        .to_bytes()
    });
    let file = directory.join("answers.bin");
    std::fs::write(&file, bytes.collect::<Vec<u8>>()).unwrap();
    file.display().to_string()
}

#[test]
fn book_selection_follows_settings() {
    const GAMES: usize = 20;
    let directory = tempfile::tempdir().unwrap();
    let file = book_of_replies(directory.path(), &[("c5", 60_000), ("e6", 2), ("a6", 1)]);
    // Range of the count of the first move. The probability of a false failure is 1 in 500,000.
    for (selection, min, max) in [
        ("best", GAMES, GAMES),
        ("weighted", GAMES - 2, GAMES),
        ("uniform", 1, GAMES - 1),
    ] {
        let settings = format!("selection = \"{selection}\", min_weight = 2");
        let site = Site::new([NewUser::bot("Anna")]);
        let _bot = Daemon::start(
            &site,
            &format!(
                "games = {{ concurrency = {GAMES}, per_opponent = {GAMES} }}\nbook = {{ files = [{file:?}], {settings} }}\n"
            ),
        );
        let anna = site.player("Anna");
        for _ in 0..GAMES {
            let id = anna.start(&SLOW);
            anna.play(&id, "e2e4");
            site.plies(&id, 2);
        }
        let (_, playing) = anna.get("/api/account/playing?nb=50");
        let games = playing["nowPlaying"].as_array().unwrap();
        assert_eq!(games.len(), GAMES);
        let count = |uci: &str| games.iter().filter(|game| game["lastMove"] == uci).count();
        let [first, second] = ["c7c5", "e7e6"].map(count);
        assert_eq!(
            first + second,
            GAMES,
            "{selection}: a move below min_weight was played"
        );
        assert!((min..=max).contains(&first), "{selection}: {first}");
    }
}
