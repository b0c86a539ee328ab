//! Games without a clock: many of them, each opened when there is something to do.

use std::time::Duration;

use knightwatch::sim::{
    ChallengePlan, Endpoint, NewUser, PlayerKind, PlayerOptions, RequestRecord, SimOptions,
    TimeControl,
};
use serde_json::{Value, json};

use crate::common::{BOT, Daemon, Site, requests_of, time_scale_from_now, wait};
use crate::etiquette::act;
use crate::operator::{run, status};

/// How much faster than real time the site and the bot run.
const SPEED: f64 = 10.0;

/// Accepts such games, and thinks briefly.
const CONFIG: &str = r#"
    [challenge]
    speeds = ["blitz", "correspondence"]
    [correspondence]
    concurrency = 2
    linger_s = 1
    [[rule]]
    play = { max_depth = 3 }
"#;

fn site() -> Site {
    site_at(SPEED)
}

fn site_at(speed: f64) -> Site {
    Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::human("Anna")],
        speed,
        ..SimOptions::default()
    })
}

fn start(site: &Site) -> Daemon {
    Daemon::start_with(site, CONFIG, &["--time-scale", &time_scale_from_now(SPEED)])
}

#[test]
fn correspondence_many_games_few_at_once() {
    const GAMES: usize = 24;
    // Slower, so that a busy machine matters less.
    const SPEED: f64 = 4.0;
    let site = site_at(SPEED);
    let bot = Daemon::start_with(
        &site,
        CONFIG,
        &["--time-scale", &time_scale_from_now(SPEED)],
    );
    for (time, name) in [
        (TimeControl::Days(1), "Daily"),
        (TimeControl::Unlimited, "Patient"),
    ] {
        let plan = ChallengePlan {
            count: Some(1),
            ..ChallengePlan::against(BOT, time)
        };
        site.sim.add_player(PlayerOptions {
            copies: GAMES / 2,
            delay: Duration::ZERO..=Duration::ZERO,
            ..PlayerOptions::new(name, PlayerKind::Random).challenging(plan)
        });
    }
    let mut streams = 0;
    wait("all games go on", || {
        streams = streams.max(site.sim.stats().streams);
        let games = site.sim.games();
        let moved = games.iter().filter(|game| game.plies >= 6).count();
        (moved == GAMES).then_some(())
    });
    // The event stream, those of two games, and some that the server has not yet noticed to be closed.
    assert!(streams <= GAMES / 3, "{streams} streams at once");
    // By the scaled clock a busy machine may answer late.
    let is_late = |line: &str| {
        [
            "the stream was silent for ",
            "posting the move failed; retrying in ",
        ]
        .iter()
        .any(|words| line.contains(words))
    };
    let log = bot.log();
    let unexpected = log
        .lines()
        .find(|line| line.contains("WARN") && !is_late(line));
    assert_eq!(unexpected, None, "{log}");
}

#[test]
fn correspondence_opens_next_game_after_move() {
    let site = site();
    let config = CONFIG
        .replace("concurrency = 2", "concurrency = 1\nmove_time_s = 5")
        .replace("max_depth = 3", "book = false");
    let arguments = ["--time-scale", &time_scale_from_now(SPEED)];
    let _bot = Daemon::start_with(&site, &config, &arguments);
    let anna = site.player("Anna");
    let form = [("days", "2"), ("color", "black")];
    let games = [(); 4].map(|()| anna.start(&form));
    for game in &games {
        site.plies(game, 1);
    }
    let mut opened = requests_of(&site, BOT, Endpoint::GameStream);
    // By the scaled clock a busy machine may answer late, and the bot asks again.
    opened.dedup_by(|request, before| request.game == before.game);
    let moves = requests_of(&site, BOT, Endpoint::Move);
    assert!(opened.len() >= games.len(), "{opened:?}");
    for pair in opened.windows(2) {
        let before = |request: &RequestRecord| request.at <= pair[1].at;
        let mut moves = moves.iter().filter(|request| before(request));
        assert!(
            moves.any(|request| request.game == pair[0].game),
            "{opened:?} {moves:?}"
        );
    }
}

#[test]
fn correspondence_suspended_game_survives_crash() {
    let site = site();
    let mut bot = start(&site);
    let anna = site.player("Anna");
    let id = anna.start(&[("days", "2"), ("color", "white")]);
    let act = |what: &str| act(&anna, &id, what);
    let rests = || {
        wait("the game rests", || {
            (site.sim.stats().streams == 1).then_some(())
        });
    };
    act("move/e2e4");
    site.plies(&id, 2);
    rests();
    bot.crash_and_restart();
    act("move/d2d4");
    site.plies(&id, 4);
    rests();
    // An operator who stops the bot for good must know of it.
    wait("the status counts it", || {
        (status(&bot)["suspended_games"] == json!([id])).then_some(())
    });
    let shown = run(&bot, &["status"]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(
        shown.contains("1 correspondence game more, without an open stream"),
        "{shown}"
    );
    act("resign");
    wait("the end is seen", || {
        let log = bot.log();
        let mut lines = log.lines();
        let end = |line: &str| {
            line.contains(&id) && line.contains("won against Anna (1500): resignation, 2 moves")
        };
        lines.any(end).then_some(())
    });
    wait("it is counted", || {
        (status(&bot)["counts"]["won"] == 1).then_some(())
    });
}

#[test]
fn correspondence_game_against_bot_counts_once() {
    let names = ["Robot", "Rival", "Third"];
    let site = Site::new(names.map(NewUser::bot));
    let config = format!("games = {{ concurrency = 4 }}\n{CONFIG}");
    let mut bot = Daemon::start(&site, &config);
    let quota = |bot: &Daemon| -> Option<Value> {
        let text = std::fs::read(bot.state_file("quota.json")?).ok()?;
        serde_json::from_slice(&text).ok()
    };
    // The number of games that were counted when this one had been.
    let counted = |bot: &Daemon, id: &str| {
        wait("the game is counted", || {
            let quota = quota(bot)?;
            let games = quota["counted_games"].as_array()?;
            let count = quota["windows"]["bot.vsBot.day"]["credits"].as_u64();
            count.filter(|_| games.iter().any(|game| game == id))
        })
    };
    let [robot, rival, third] = names.map(|name| site.player(name));
    let clock = [("clock.limit", "180"), ("clock.increment", "2")];
    let long = robot.start(&[("days", "2"), ("color", "white")]);
    assert_eq!(counted(&bot, &long), 1);
    bot.crash();
    // After it as many other games as are remembered.
    let mut state = quota(&bot).unwrap();
    let games = state["counted_games"].as_array_mut().unwrap();
    games.extend((1..300).map(|n| Value::from(format!("past{n:04}"))));
    std::fs::write(bot.state_file("quota.json").unwrap(), state.to_string()).unwrap();
    bot.restart();
    assert_eq!(counted(&bot, &rival.start(&clock)), 2);
    bot.crash_and_restart();
    wait("the long game is taken up again", || {
        let started = bot
            .log()
            .matches("correspondence game against Robot")
            .count();
        (started == 3).then_some(())
    });
    assert_eq!(counted(&bot, &third.start(&clock)), 3);
}

#[test]
fn correspondence_lingering_game_yields() {
    let site = site();
    let config = CONFIG.replace("concurrency = 2", "concurrency = 1");
    let config = config.replace("linger_s = 1", "linger_s = 36000");
    let _bot = Daemon::start_with(
        &site,
        &config,
        &["--time-scale", &time_scale_from_now(SPEED)],
    );
    let anna = site.player("Anna");
    let games = ["1", "2", "3"].map(|days| anna.start(&[("days", days), ("color", "white")]));
    for (before, mv) in [(0, "e2e4"), (2, "d2d4")] {
        for id in &games {
            act(&anna, id, &format!("move/{mv}"));
        }
        for id in &games {
            site.plies(id, before + 2);
        }
    }
}

#[test]
fn correspondence_open_game_is_named_at_shutdown() {
    let site = site();
    let config = CONFIG.replace("linger_s = 1", "linger_s = 36000");
    let scale = time_scale_from_now(SPEED);
    let mut bot = Daemon::start_with(&site, &config, &["--time-scale", &scale]);
    let anna = site.player("Anna");
    let id = anna.start(&[("days", "2"), ("color", "white")]);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    // The game's task ends before the account's does.
    bot.signal("TERM");
    assert_eq!(bot.ended().code(), Some(0), "{}", bot.log());
    let left = format!("stopped: 1 game left on, taken up again at the next start: {id}");
    assert!(bot.log().contains(&left), "{}", bot.log());
}

#[test]
fn correspondence_urgent_game_is_searched_first() {
    // Slower, so that a busy machine matters less.
    const SPEED: f64 = 4.0;
    let site = site_at(SPEED);
    let config = CONFIG.replace("concurrency = 2", "concurrency = 1\nmove_time_s = 4");
    let config = config.replace("[[rule]]\n    play = { max_depth = 3 }", "");
    let config = format!("book = {{ enabled = false }}\n{config}");
    let scale = time_scale_from_now(SPEED);
    let mut bot = Daemon::start_with(&site, &config, &["--time-scale", &scale]);
    let anna = site.player("Anna");
    let start = |days| anna.start(&[("days", days), ("color", "white")]);
    let [fortnight, day, week, three] = ["14", "1", "7", "3"].map(start);
    bot.crash();
    for id in [&fortnight, &day, &week, &three] {
        act(&anna, id, "move/e2e4");
    }
    bot.restart();
    for id in [&fortnight, &day, &week, &three] {
        site.plies(id, 2);
    }
    let mut moves = requests_of(&site, BOT, Endpoint::Move);
    // By the scaled clock a busy machine may answer late, and the bot sends a move again.
    moves.dedup_by(|request, before| request.game == before.game);
    let games: Vec<_> = moves
        .iter()
        .filter_map(|visit| visit.game.clone())
        .collect();
    assert_eq!(games, [day, three, week, fortnight]);
    // Each is thought about when the one before is played, and by default that would take longer.
    let (min, default) = (Duration::from_secs(1), Duration::from_secs(20));
    for pair in moves.windows(2) {
        let took = pair[1].at - pair[0].at;
        assert!(took > min && took < default, "{took:?}");
    }
}
