//! Matches of the operator: pairs of games against one opponent on the simulator.

use std::time::Duration;

use knightwatch::sim::{
    Behavior, Endpoint, Fault, FaultRule, GameSummary, NewUser, PlayerKind, PlayerOptions,
    SimOptions,
};
use serde_json::Value;

use crate::common::{BOT, Daemon, Site, requests_of, time_scale_from_now, wait};
use crate::operator::{run_command, run_failing_command};

/// A bot that plays at once and resigns when it has lost a piece.
fn rival() -> PlayerOptions {
    PlayerOptions {
        delay: Duration::ZERO..=Duration::from_millis(20),
        behavior: Behavior {
            resigns_when_lost: Some(3),
            ..Behavior::default()
        },
        ..PlayerOptions::new("Rival", PlayerKind::Random)
    }
}

fn site() -> Site {
    Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        kept_games: 1_000,
        ..SimOptions::default()
    })
}

/// Little time for each move.
const FAST: &str = "[[rule]]\nmatch = { bot = true }\nplay = { max_move_ms = 50 }\n";

/// Waits until the match is over, and returns its status.
fn wait_until_over(bot: &Daemon) -> Value {
    wait("the match is over", || {
        // The bot may be about to start.
        let output = bot.command("status").arg("--json").output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        let shown = status["matches"][0].clone();
        (shown["over"] == true).then_some(shown)
    })
}

/// Our half points in the games with this color that the site has seen to their ends, in order.
fn points(site: &Site, white: bool) -> Vec<Value> {
    let games = site.sim.games().into_iter();
    let ours = games.filter(|game| (game.white == BOT) == white && game.plies > 1);
    let points = |game: GameSummary| match (game.result, white) {
        ("1-0", true) | ("0-1", false) => 2,
        ("1/2-1/2", _) => 1,
        ("0-1", true) | ("1-0", false) => 0,
        other => panic!("{other:?}: {}", game.id),
    };
    ours.map(points).map(Value::from).collect()
}

#[test]
fn match_counts_each_game_once_over_kills() {
    let site = site();
    let mut bot = Daemon::start(&site, FAST);
    site.sim.add_player(rival());
    let done = run_command(&bot, &["challenge", "Rival", "1+0", "--pairs", "5"]);
    assert!(done.contains("10 games of 1+0 casual standard"), "{done}");
    let mut rng = fastrand::Rng::with_seed(2026);
    for kill in 0..6 {
        wait("the match goes on", || {
            let games = site.sim.games();
            (games.len() > kill).then_some(())
        });
        std::thread::sleep(Duration::from_millis(rng.u64(0..700)));
        bot.crash_and_restart();
    }
    let shown = wait_until_over(&bot);
    let [white, black] = [true, false].map(|white| points(&site, white));
    assert_eq!((white.len(), black.len()), (5, 5), "{shown}");
    assert_eq!(shown["as_white"], Value::Array(white), "{shown}");
    assert_eq!(shown["as_black"], Value::Array(black), "{shown}");
    assert_eq!(shown["state"], "over");
    let shown = run_command(&bot, &["matches"]);
    assert!(shown.contains("Rival, 1+0 casual standard: +"), "{shown}");
    assert!(
        shown.contains("as White") && shown.contains(" of 10, Elo +"),
        "{shown}"
    );
    let shown: Value = serde_json::from_str(&run_command(&bot, &["matches", "--json"])).unwrap();
    assert_eq!(shown[0]["opponent"], "Rival", "{shown}");
    assert_eq!(shown[0]["games"], 10, "{shown}");
}

#[test]
fn match_lost_responses_are_found() {
    let site = site();
    let lost = FaultRule::on(Endpoint::ChallengeCreate, Fault::ResponseLost).from_user(BOT);
    site.sim.faults().add(lost.times(2));
    let bot = Daemon::start(&site, FAST);
    site.sim.add_player(rival());
    run_command(&bot, &["challenge", "Rival", "1+0", "--pairs", "2"]);
    let shown = wait_until_over(&bot);
    let [white, black] = [true, false].map(|white| points(&site, white));
    assert_eq!((white.len(), black.len()), (2, 2), "{shown}");
    assert_eq!(shown["as_white"], Value::Array(white), "{shown}");
    assert_eq!(shown["as_black"], Value::Array(black), "{shown}");
}

#[test]
fn match_survives_declines_and_gives_up_with_reason() {
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        speed: 10.0,
        ..SimOptions::default()
    });
    let mut grump = rival();
    let reasons = ["later", "generic", "tooFast"];
    grump.behavior.decline_reasons = reasons.map(|reason| reason.parse().unwrap()).to_vec();
    site.sim.add_player(grump);
    let mut bot = Daemon::start_with(&site, "", &["--time-scale", &time_scale_from_now(10.0)]);
    run_command(&bot, &["challenge", "Rival", "3+2", "--pairs", "1"]);
    wait("the first decline is shown", || {
        let shown = run_command(&bot, &["status"]);
        shown
            .contains("the challenge was declined (later)")
            .then_some(())
    });
    bot.crash_and_restart();
    let shown = wait_until_over(&bot);
    assert_eq!(
        shown["state"],
        "ended early: the challenge was declined (tooFast)"
    );
    assert_eq!(requests_of(&site, BOT, Endpoint::ChallengeCreate).len(), 3);
}

#[test]
fn match_is_paused_and_canceled_by_command() {
    let site = Site::new([NewUser {
        present: true,
        ..NewUser::bot("Statue")
    }]);
    let bot = Daemon::start(&site, "");
    run_command(
        &bot,
        &["challenge", "Statue", "3+2", "--rated", "--pairs", "3"],
    );
    let sent = || requests_of(&site, BOT, Endpoint::ChallengeCreate).len();
    let taken_back = || requests_of(&site, BOT, Endpoint::ChallengeCancel).len();
    wait("the challenge waits", || (sent() == 1).then_some(()));
    let nobody = run_failing_command(&bot, &["challenge", "Nobody", "3+2", "--pairs", "3"]);
    assert!(nobody.contains("there is no user Nobody"), "{nobody}");
    let again = run_failing_command(&bot, &["challenge", "Statue", "3+2", "--pairs", "3"]);
    assert!(
        again.contains("a match against Statue is running"),
        "{again}"
    );
    run_command(&bot, &["pause"]);
    wait("it is taken back", || (taken_back() == 1).then_some(()));
    run_command(&bot, &["resume"]);
    wait("it is sent again", || (sent() == 2).then_some(()));
    let done = run_command(&bot, &["matches", "--cancel", "statue"]);
    assert!(done.contains("canceled at +0 =0 -0 of 6"), "{done}");
    wait("it is taken back again", || {
        (taken_back() == 2).then_some(())
    });
    let shown = run_command(&bot, &["matches"]);
    assert!(
        shown.contains("ended early: canceled by the operator"),
        "{shown}"
    );
    let none = run_failing_command(&bot, &["matches", "--cancel", "Statue"]);
    assert!(
        none.contains("no match against Statue is running"),
        "{none}"
    );
}
