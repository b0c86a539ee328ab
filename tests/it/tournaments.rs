//! Arenas of the simulator with the real program.

use std::time::Duration;

use knightwatch::sim::{
    ArenaOptions, Endpoint, Fault, FaultRule, GameSummary, NewUser, PlayerKind, PlayerOptions,
    SimOptions, TimeControl,
};
use serde_json::Value;

use crate::common::{BOT, Daemon, FAST_MOVES, IMPATIENT, Site, requests_of, wait};
use crate::operator::{run_command, run_failing_command, status, wait_online};

/// One game at a time, and an arena to join.
const ONE: &str =
    "challenge.queue_size = 0\n[games]\nconcurrency = 1\n[tournaments]\njoin = [\"rehearse\"]\n";

fn arena(starts_s: u64) -> ArenaOptions {
    ArenaOptions {
        id: Some("rehearse".to_owned()),
        starts_in: Duration::from_secs(starts_s),
        ..ArenaOptions::for_bots("Friday", TimeControl::clock(60, 0), 60)
    }
}

fn site(options: &ArenaOptions) -> Site {
    let site = Site::new([NewUser::bot("Ann"), NewUser::bot("Ben")]);
    site.sim.add_arena(options).unwrap();
    site
}

fn arena_page(site: &Site) -> Value {
    site.player("Ann").get("/api/tournament/rehearse").1
}

/// Result line of the bot in the arena.
fn bot_result(site: &Site) -> Option<Value> {
    let page = arena_page(site);
    let players = page["standing"]["players"].as_array()?;
    players.iter().find(|player| player["name"] == BOT).cloned()
}

fn is_joined(site: &Site) -> bool {
    bot_result(site).is_some_and(|player| player.get("withdraw").is_none())
}

/// Running game of the bot in the arena.
fn running_game(site: &Site) -> Option<GameSummary> {
    let games = site.sim.games().into_iter();
    games
        .filter(|game| game.status == "started" && game.time_control == TimeControl::clock(60, 0))
        .find(|game| [game.white.as_str(), game.black.as_str()].contains(&BOT))
}

/// A player who takes part in all arenas, at random and so slowly that a running game can be seen.
fn add_rival(site: &Site) {
    let delay = Duration::from_millis(10);
    site.sim.add_player(PlayerOptions {
        delay: delay..=delay,
        joins_arenas: true,
        ..PlayerOptions::new("Rival", PlayerKind::Random)
    });
}

#[test]
fn arena_joined_before_start_and_played() {
    let site = site(&arena(600));
    add_rival(&site);
    let _bot = Daemon::start(&site, &format!("{ONE}{FAST_MOVES}"));
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let ann = site.player("Ann");
    let clock = [("clock.limit", "10800"), ("clock.increment", "0")];
    let friendly = ann.start(&clock);
    site.sim.advance(Duration::from_secs(590));
    let pairing = site.advance_until("a pairing", || running_game(&site));
    // Both sides move, though the one slot is taken.
    site.plies(&pairing.id, 4);
    assert_eq!(site.game(&friendly).unwrap().status, "started");
}

#[test]
fn arena_reserves_slot_while_running() {
    let site = site(&arena(0));
    let _bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let clock = [("clock.limit", "60"), ("clock.increment", "0")];
    let ann = site.player("Ann");
    let id = ann.challenge(&clock);
    assert_eq!(ann.answer(&id), "later");
}

#[test]
fn arena_that_runs_is_named_while_idle() {
    let site = site(&arena(0));
    add_arena(&site, "tomorrow", 90_000, |options| {
        options.name = "Tomorrow".to_owned();
    });
    let config = "[tournaments]\njoin = [\"rehearse\", \"tomorrow\"]\n";
    let bot = Daemon::start(&site, config);
    let idle = wait("both arenas are shown, and why no game is running", || {
        let status = status(&bot);
        let mut arenas = status["arenas"].as_array()?.iter();
        let are_joined = arenas.all(|arena| {
            ["joined", "we are in it"]
                .iter()
                .any(|text| arena["text"] == *text)
        });
        let reason = status["idle"]["reason"].as_str()?;
        (are_joined && reason.contains("Friday")).then(|| reason.to_owned())
    });
    assert_eq!(
        idle,
        "no game is running; waiting for a pairing in Friday Arena"
    );
}

#[test]
fn arena_start_limits_matchmaking() {
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::bot("Ann")
    }]);
    site.sim.add_arena(&arena(600)).unwrap();
    // 10+5 is estimated at 800 seconds for each side.
    let eager =
        "[matchmaking]\nenabled = true\nidle_s = 0\n[[matchmaking.profile]]\nclock = \"10+5\"\n";
    let bot = Daemon::start(&site, &format!("{ONE}{eager}"));
    wait("it waits for the arena", || {
        let why = "an arena begins before any game would be over";
        bot.log().contains(why).then_some(())
    });
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    assert_eq!(
        site.sim.faults().request_count(Endpoint::ChallengeCreate),
        0
    );
}

#[test]
fn arena_unreadable_after_crash_reserves_slot() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let broken = FaultRule::on(Endpoint::ArenaShow, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(broken);
    bot.crash_and_restart();
    wait("the arena was looked at", || {
        bot.log().contains("cannot read the arena").then_some(())
    });
    let clock = [("clock.limit", "60"), ("clock.increment", "0")];
    let ann = site.player("Ann");
    let id = ann.challenge(&clock);
    assert_eq!(ann.answer(&id), "later");
}

#[test]
fn arena_drain_withdraws_and_restart_rejoins() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    wait("the arena has begun", || {
        arena_page(&site).get("isStarted").cloned()
    });
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert!(!is_joined(&site));
    // A leader who leaves has to wait for ten seconds.
    bot.crash_and_restart();
    site.advance_until("the bot is back", || is_joined(&site).then_some(()));
}

#[test]
fn arena_not_started_is_left() {
    let site = site(&arena(3_600));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert_eq!(arena_page(&site)["nbPlayers"], 0);
}

#[test]
fn arena_rejoined_after_unplayed_game() {
    let site = site(&arena(0));
    add_rival(&site);
    let bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    bot.signal("STOP");
    let out = site.advance_until("the bot is withdrawn", || {
        bot_result(&site).filter(|player| player["withdraw"] == true)
    });
    assert_eq!(out["score"], 0);
    assert!(site.sim.games().iter().any(|game| game.status == "noStart"));
    bot.signal("CONT");
    wait("the bot is back", || is_joined(&site).then_some(()));
    let pairing = site.advance_until("the next pairing", || running_game(&site));
    site.plies(&pairing.id, 4);
}

#[test]
fn arena_refusal_reason_is_reported() {
    let site = site(&ArenaOptions {
        bots: false,
        ..arena(3_600)
    });
    for (id, password) in [("private1", "secret"), ("private2", "secret")] {
        site.sim
            .add_arena(&ArenaOptions {
                id: Some(id.to_owned()),
                password: Some(password.to_owned()),
                ..arena(3_600)
            })
            .unwrap();
    }
    let bot = Daemon::start(
        &site,
        "[tournaments]\njoin = [\"rehearse\", \"nonesuch\", \"private1:guess\", \"private2:secret\"]\n",
    );
    let logged = |text: &str| {
        wait(text, || bot.log().contains(text).then_some(()));
    };
    logged("not joining Friday Arena: it does not allow bots");
    logged("there is no such arena");
    logged("or when its conditions change: Lichess answered 400: Wrong entry code");
    wait("the bot knows the password", || {
        let (_, page) = site.player("Ann").get("/api/tournament/private2");
        (page["nbPlayers"] == 1).then_some(())
    });
    assert!(!bot.log().contains("secret") && !bot.log().contains("guess"));
}

#[test]
fn arena_that_allows_bots_later_is_joined() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim.add_arena(&arena(36_000)).unwrap();
    let mut page = arena_page(&site);
    page.as_object_mut().unwrap().remove("botsAllowed").unwrap();
    let without_bots = Fault::json(200, &page.to_string());
    let rule = FaultRule::on(Endpoint::ArenaShow, without_bots).from_user(BOT);
    site.sim.faults().add(rule.times(2));
    let bot = Daemon::start_with(&site, ONE, &["--time-scale", "10"]);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let reason = "not joining Friday Arena: it does not allow bots";
    assert_eq!(bot.log().matches(reason).count(), 1, "{}", bot.log());
}

#[test]
fn arena_refusal_leaves_joins_for_others() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        limits: true,
        speed: 10.0,
        ..SimOptions::default()
    });
    add_arena(&site, "refusing", 7_200, |options| {
        options.password = Some("right".to_owned());
    });
    add_arena(&site, "welcome1", 7_200, |_| {});
    let config = "[tournaments]\njoin = [\"refusing:wrong\"]\n";
    let bot = Daemon::start_with(&site, config, &["--time-scale", "10"]);
    wait("it is looked at once a minute", || {
        (requests_of(&site, BOT, Endpoint::ArenaShow).len() >= 2).then_some(())
    });
    assert_eq!(requests_of(&site, BOT, Endpoint::ArenaJoin).len(), 1);
    assert!(run_command(&bot, &["join", "welcome1"]).contains("joined Friday Arena"));
    bot.configure(|text| text.replace("refusing:wrong", "refusing:right"));
    run_command(&bot, &["reload"]);
    wait("the bot knows the password", || {
        (player_counts(&site, ["refusing"]) == [1]).then_some(())
    });
    assert_eq!(requests_of(&site, BOT, Endpoint::ArenaJoin).len(), 3);
}

#[test]
fn arena_joined_and_left_by_command() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, "");
    assert!(
        run_failing_command(&bot, &["join", "nonesuch"]).contains("there is no arena nonesuch")
    );
    assert!(run_failing_command(&bot, &["leave", "rehearse"]).contains("we have not joined it"));
    let address = format!("{}/tournament/rehearse", site.url);
    let done = run_command(&bot, &["join", &address]);
    assert!(done.contains("joined Friday Arena"), "{done}");
    assert!(is_joined(&site));
    // It need not be repeated after a crash.
    bot.crash_and_restart();
    wait_online(&bot, 2);
    wait("it is shown", || {
        run_command(&bot, &["status"])
            .contains("arena    Friday Arena (rehearse), running, number 1 of 1, we are in it")
            .then_some(())
    });
    run_command(&bot, &["leave", &address]);
    wait("the bot has left", || (!is_joined(&site)).then_some(()));
    bot.crash_and_restart();
    wait_online(&bot, 3);
    assert!(run_failing_command(&bot, &["leave", "rehearse"]).contains("we have not joined it"));
}

#[test]
fn arena_left_while_paused() {
    let site = site(&arena(3_600));
    let bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    run_command(&bot, &["pause"]);
    wait("the bot is out of it", || (!is_joined(&site)).then_some(()));
    run_command(&bot, &["resume"]);
    wait("the bot is back", || is_joined(&site).then_some(()));
}

#[test]
fn arena_withdrawal_that_fails_is_repeated() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        speed: 10.0,
        ..SimOptions::default()
    });
    site.sim.add_arena(&arena(36_000)).unwrap();
    let bot = Daemon::start_with(&site, ONE, &["--time-scale", "10"]);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let broken = FaultRule::on(Endpoint::ArenaWithdraw, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(broken.times(1_000));
    run_command(&bot, &["pause"]);
    wait("it gives up for now", || {
        let status = run_command(&bot, &["status"]);
        status.contains("the withdrawal has failed").then_some(())
    });
    site.sim.faults().clear();
    wait("the bot is out of it", || (!is_joined(&site)).then_some(()));
}

#[test]
fn arena_reload_follows_config() {
    let site = site(&arena(3_600));
    let other = ArenaOptions {
        id: Some("another1".to_owned()),
        password: Some("secret".to_owned()),
        ..arena(3_600)
    };
    site.sim.add_arena(&other).unwrap();
    let bot = Daemon::start(
        &site,
        "[tournaments]\njoin = [\"rehearse\", \"another1:guess\"]\n",
    );
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    bot.configure(|text| text.replace("\"rehearse\", \"another1:guess\"", "\"another1:secret\""));
    let done = run_command(&bot, &["reload"]);
    assert!(
        done.contains("another1:***") && !done.contains("secret"),
        "{done}"
    );
    wait("the bot is out of the one", || {
        (!is_joined(&site)).then_some(())
    });
    wait("and in the other", || {
        let (_, page) = site.player("Ann").get("/api/tournament/another1");
        (page["nbPlayers"] == 1).then_some(())
    });
}

#[test]
fn arena_result_is_reported() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        ..SimOptions::default()
    });
    site.sim.add_arena(&arena(0)).unwrap();
    add_rival(&site);
    let bot = Daemon::start_with(&site, &format!("{ONE}{FAST_MOVES}"), &IMPATIENT);
    let pairing = site.advance_until("a pairing", || running_game(&site));
    assert_eq!(site.finished(&pairing.id).status, "mate");
    site.sim.advance(Duration::from_secs(3_600));
    wait("the report", || {
        let log = bot.log();
        let (_, report) = log.split_once("Friday Arena is over: number ")?;
        let report = report.lines().next()?;
        assert!(report.contains(" of 2 with "), "{report}");
        assert!(report.contains(" points, performance "), "{report}");
        Some(())
    });
    // A change of other settings does not begin it again.
    let requests = || site.sim.faults().request_count(Endpoint::ArenaShow);
    let before = requests();
    run_command(&bot, &["block", "Nobody"]);
    site.player("Ann")
        .start(&[("clock.limit", "60"), ("clock.increment", "0")]);
    assert_eq!(requests(), before);
}

/// Number of players in each of these arenas.
pub(crate) fn player_counts<const N: usize>(site: &Site, ids: [&str; N]) -> [Value; N] {
    ids.map(|id| {
        let (_, page) = site.player("Ann").get(&format!("/api/tournament/{id}"));
        page["nbPlayers"].clone()
    })
}

pub(crate) fn add_arena(
    site: &Site,
    id: &str,
    starts_s: u64,
    change: impl FnOnce(&mut ArenaOptions),
) {
    let mut options = ArenaOptions {
        id: Some(id.to_owned()),
        ..arena(starts_s)
    };
    change(&mut options);
    site.sim.add_arena(&options).unwrap();
}

/// Ten arenas, one after the other, the first one in ten minutes.
const ROW: [&str; 10] = [
    "inarow00", "inarow01", "inarow02", "inarow03", "inarow04", "inarow05", "inarow06", "inarow07",
    "inarow08", "inarow09",
];

#[test]
fn arena_joins_stay_within_limit() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        limits: true,
        ..SimOptions::default()
    });
    for (id, hour) in ROW.into_iter().zip(0..) {
        add_arena(&site, id, 600 + hour * 3_700, |_| {});
    }
    let mut bot = Daemon::start(&site, "[tournaments]\njoin_any = true\n");
    let joined = || {
        let all = player_counts(&site, ROW).into_iter();
        all.filter(|players| *players == 1).count()
    };
    wait("the rest of them wait", || {
        let words = "joining it when Lichess lets us join more arenas";
        (bot.log().matches(words).count() >= 3).then_some(())
    });
    assert_eq!(joined(), 6);
    // Two of the eight an hour are reserved for those that the operator names.
    let later = ["byhand00", "byhand01", "byhand02"];
    for id in later {
        add_arena(&site, id, 600, |_| {});
    }
    for id in &later[..2] {
        assert!(run_command(&bot, &["join", id]).contains("joined Friday Arena"));
    }
    let done = run_command(&bot, &["join", later[2]]);
    assert!(done.contains("when Lichess lets us"), "{done}");
    assert_eq!(requests_of(&site, BOT, Endpoint::ArenaJoin).len(), 8);
    let arenas = wait("it is shown", || {
        let status = status(&bot);
        let mut limits = status["limits"].as_array()?.iter();
        let arenas = limits.find(|limit| limit["name"] == "arenas" && limit["used"] == 8);
        arenas.cloned()
    });
    assert_eq!(arenas["capacity"], 30);
    // Nor after a restart.
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert_eq!(joined(), 0);
    bot.restart();
    wait_online(&bot, 2);
    wait("it waits again", || {
        let log = bot.log();
        let (_, life) = log.rsplit_once("online as")?;
        life.contains("joining it when Lichess lets us")
            .then_some(())
    });
    assert_eq!(requests_of(&site, BOT, Endpoint::ArenaJoin).len(), 8);
}

#[test]
fn arena_leave_works_beyond_join_limit() {
    let site = site(&arena(0));
    add_arena(&site, "another1", 0, |_| {});
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let body = r#"{"error":"Too many requests. Try again later."}"#;
    let limited = FaultRule::on(Endpoint::ArenaJoin, Fault::json(429, body)).from_user(BOT);
    site.sim.faults().add(limited);
    assert!(run_command(&bot, &["join", "another1"]).contains("cannot join"));
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert!(!is_joined(&site));
}

#[test]
fn arena_unreadable_after_crash_is_left() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let broken = FaultRule::on(Endpoint::ArenaShow, Fault::html(502)).from_user(BOT);
    site.sim.faults().add(broken.times(1_000));
    bot.crash_and_restart();
    wait("the arena was looked at", || {
        bot.log().contains("cannot read the arena").then_some(())
    });
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert!(!is_joined(&site));
}

#[test]
fn arena_games_match_rules() {
    let site = site(&arena(600));
    add_rival(&site);
    let rule =
        "[[rule]]\nname = \"arenas\"\nmatch = { tournament = true }\nplay = { max_depth = 4 }\n";
    let bot = Daemon::start(&site, &format!("{ONE}{rule}"));
    let ann = site.player("Ann");
    wait("the bot is in the arena", || is_joined(&site).then_some(()));
    let clock = [("clock.limit", "10800"), ("clock.increment", "0")];
    let friendly = ann.start(&[clock[0], clock[1], ("color", "white")]);
    ann.play(&friendly, "e2e4");
    site.plies(&friendly, 2);
    site.sim.advance(Duration::from_secs(590));
    let pairing = site.advance_until("a pairing", || running_game(&site));
    site.plies(&pairing.id, 2);
    let by_rule = |log: &str, id: &str| {
        log.lines()
            .any(|line| line.contains("by rule `arenas`") && line.contains(id))
    };
    let log = wait("the rule is in the log", || {
        Some(bot.log()).filter(|log| by_rule(log, &pairing.id))
    });
    assert!(!by_rule(&log, &friendly), "{log}");
}

#[test]
fn arena_survives_crash_during_game() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT), NewUser::bot("Ann")],
        seed: 14,
        ..SimOptions::default()
    });
    site.sim.add_arena(&arena(0)).unwrap();
    add_rival(&site);
    let mut bot = Daemon::start(&site, ONE);
    let first = site.advance_until("a pairing", || running_game(&site));
    let before = site.plies(&first.id, 6).plies;
    bot.crash_and_restart();
    wait_online(&bot, 2);
    let end = site.finished(&first.id);
    // The site's clock does not matter here.
    assert_eq!((end.status, end.plies > before), ("mate", true));
    assert!(is_joined(&site));
    let second = site.advance_until("the next pairing", || {
        running_game(&site).filter(|game| game.id != first.id)
    });
    site.plies(&second.id, 4);
    site.sim.advance(Duration::from_secs(3_600));
    wait("the report", || {
        bot.log()
            .contains("Friday Arena is over: number ")
            .then_some(())
    });
}
