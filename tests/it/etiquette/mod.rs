//! Draws, resignation, takebacks, claims, rematches and chat of the real program.

mod chat;
mod rematch;

use std::time::Duration;

use knightwatch::sim::{
    Behavior, ChallengePlan, ColorChoice, Disconnect, Endpoint, Fault, FaultRule, NewUser,
    PlayerKind, PlayerOptions, SimOptions, TimeControl,
};

use crate::common::{BOT, Daemon, FAST_MOVES, Player, Site, requests_of, wait};

/// Clock long enough for a slow test machine.
pub(crate) const CLOCK: [(&str, &str); 2] = [("clock.limit", "10800"), ("clock.increment", "0")];

/// Blocked position without a possible breakthrough.
pub(crate) const DEAD: &str = "8/8/4k3/4p3/4P3/4K3/8/8 w - - 0 1";

/// Position that White, to move, has lost.
const WON: &str = "4k3/4q3/8/8/8/8/4P3/4K3 w - - 0 1";

/// A site with the bot, which allows takeback requests, and these human players.
pub(crate) fn site(people: &[&str]) -> Site {
    let bot = NewUser {
        takebacks: true,
        ..NewUser::bot(BOT)
    };
    let people = people.iter().map(|name| NewUser::human(*name));
    Site::with(SimOptions {
        users: [bot].into_iter().chain(people).collect(),
        ..SimOptions::default()
    })
}

/// Performs an action of a human player in a game, such as `resign` or `move/e2e4`.
pub(crate) fn act(player: &Player<'_>, id: &str, what: &str) {
    let (status, answer) = player.post(&format!("/api/board/game/{id}/{what}"), &[]);
    assert_eq!(status, 200, "{what}: {answer}");
}

/// Starts a game in which Anna has White and both have moved; returns its id.
pub(crate) fn start_game(site: &Site, anna: &Player<'_>) -> String {
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    act(anna, &id, "move/e2e4");
    site.plies(&id, 2);
    id
}

/// Starts a game from this position with the player as White; returns its id.
fn from_position(player: &Player<'_>, fen: &str) -> String {
    let form = [
        CLOCK[0],
        CLOCK[1],
        ("variant", "fromPosition"),
        ("fen", fen),
        ("color", "white"),
    ];
    player.start(&form)
}

/// Number of requests of the bot to this endpoint.
fn count_requests(site: &Site, endpoint: Endpoint) -> usize {
    requests_of(site, BOT, endpoint).len()
}

/// Waits until the bot has called this endpoint this many times.
fn wait_for_requests(site: &Site, endpoint: Endpoint, count: usize) {
    wait(
        &format!("the bot has called {endpoint:?} {count} times"),
        || (count_requests(site, endpoint) >= count).then_some(()),
    );
}

/// A built-in player who challenges the bot to one game from this position and has White.
fn challenge_from(name: &str, kind: PlayerKind, fen: &str, seconds: u32) -> PlayerOptions {
    let plan = ChallengePlan {
        variants: vec!["fromPosition".to_owned()],
        fen: Some(fen.to_owned()),
        colors: vec![ColorChoice::White],
        count: Some(1),
        ..ChallengePlan::against(BOT, TimeControl::clock(seconds, 0))
    };
    PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new(name, kind).challenging(plan)
    }
}

#[test]
fn draw_offer_on_their_turn_is_answered_at_once() {
    let site = site(&["Anna", "Bert"]);
    let _bot = Daemon::start(
        &site,
        "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30, offer = false }\n",
    );
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let level = from_position(&anna, DEAD);
    act(&anna, &level, "move/e3d3");
    site.plies(&level, 2);
    act(&anna, &level, "draw/yes");
    let game = site.finished(&level);
    assert_eq!((game.status, game.plies), ("draw", 2), "{game:?}");

    // An offer in a position lost for the opponent is declined, and the game continues.
    let won = from_position(&bert, "8/8/4k3/4q3/8/4K3/4P3/8 w - - 0 1");
    act(&bert, &won, "move/e3d3");
    site.plies(&won, 2);
    let before = count_requests(&site, Endpoint::Draw);
    act(&bert, &won, "draw/yes");
    wait_for_requests(&site, Endpoint::Draw, before + 1);
    assert_eq!(site.game(&won).unwrap().status, "started");
}

#[test]
fn draw_offer_of_bot_is_evaluated_after_its_move() {
    let site = Site::new([NewUser::bot("Anna")]);
    let config = "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 33, offer = false }\n\
                  resign = { enabled = false }\n[[rule]]\nplay = { max_depth = 4 }\n";
    let _bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    // A rook for three pawns.
    let game = from_position(&anna, "6k1/ppp2ppp/8/6R1/8/8/5PPP/6K1 w - - 0 1");
    anna.play(&game, "h2h3");
    site.plies(&game, 2);
    // The move that comes with the offer loses the rook, whatever the bot played.
    let (_, playing) = anna.get("/api/account/playing");
    let blunder = match playing["nowPlaying"][0]["lastMove"].as_str() {
        Some("g7g6") => "g5g6",
        _ => "g5g7",
    };
    anna.play(&game, &format!("{blunder}?offeringDraw=true"));
    assert_eq!(site.plies(&game, 4).status, "started");
}

#[test]
fn draw_is_offered_in_level_ending() {
    let site = site(&[]);
    let bot = Daemon::start(
        &site,
        "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30 }\n",
    );
    let kind = PlayerKind::Engine { nodes: 500 };
    site.sim.add_player(PlayerOptions {
        behavior: Behavior {
            accepts_draws: true,
            ..Behavior::default()
        },
        ..challenge_from("Tired", kind, DEAD, 30)
    });
    let game = site.started(1).remove(0);
    let game = site.finished(&game.id);
    // Before the threefold repetition.
    assert!(game.status == "draw" && game.plies < 8, "{game:?}");
    // The log is written asynchronously, possibly after the end of the game.
    let log = wait("the log says that it is over", || {
        let log = bot.log();
        log.contains("drawn with Tired (1500): agreement, ")
            .then_some(log)
    });
    assert_eq!(log.matches("offering a draw").count(), 1, "{log}");
}

#[test]
fn draw_offer_is_not_repeated_soon() {
    let site = site(&["Anna"]);
    let config = "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30 }\n[[rule]]\nplay = { max_depth = 4 }\n";
    let bot = Daemon::start(&site, config);
    let anna = site.player("Anna");
    let id = from_position(&anna, DEAD);
    for (mv, plies) in [("e3d3", 2), ("d3e3", 4), ("e3f3", 6)] {
        act(&anna, &id, &format!("move/{mv}"));
        site.plies(&id, plies);
    }
    let offers = wait("it has offered", || {
        let offers = bot.log().matches("offering a draw").count();
        (offers > 0).then_some(offers)
    });
    assert_eq!(offers, 1, "{}", bot.log());
}

#[test]
fn draw_settings_follow_rules() {
    let site = site(&["Anna", "Bert"]);
    let config = "draw = { min_move = 1, min_level_moves = 1, max_win_percent = 30 }\n[[rule]]\nmatch = { name = \"anna\" }\n\
                  play = { accept_draws = false, offer_draws = false, max_depth = 4 }\n\
                  [[rule]]\nplay = { offer_draws = false }\n";
    let bot = Daemon::start(&site, config);
    let (anna, bert) = (site.player("Anna"), site.player("Bert"));
    let games = [&anna, &bert].map(|player| {
        let id = from_position(player, DEAD);
        act(player, &id, "move/e3d3");
        site.plies(&id, 2);
        act(player, &id, "draw/yes");
        id
    });
    assert_eq!(site.finished(&games[1]).status, "draw");
    act(&anna, &games[0], "move/d3e3");
    let game = site.plies(&games[0], 4);
    assert_eq!(game.status, "started");
    let declined = |line: &str| {
        let why = "declining the draw: draws are not accepted in this game";
        line.contains(why) && line.contains(&games[0])
    };
    let log = wait("the offer is declined", || {
        Some(bot.log()).filter(|log| log.lines().any(declined))
    });
    let mut offers = log
        .lines()
        .filter(|line| line.contains("offering a draw") || line.contains("accepting the draw at"));
    assert!(offers.all(|line| !line.contains(&games[0])), "{log}");
}

#[test]
fn lost_game_is_resigned_to_bots_only() {
    let site = site(&[]);
    let _bot = Daemon::start(
        &site,
        &format!("[resign]\nscore_cp = 300\nmin_lost_moves = 2\ntheir_time_s = 0\n{FAST_MOVES}"),
    );
    // A rook up, with several moves to mate.
    let kind = PlayerKind::Engine { nodes: 3_000 };
    for (name, bot) in [("Robot", true), ("Person", false)] {
        let rook_up = "8/8/8/4k3/8/8/8/R3K3 w - - 0 1";
        site.sim.add_player(PlayerOptions {
            bot,
            ..challenge_from(name, kind, rook_up, 600)
        });
    }
    for game in site.started(2) {
        let game = site.finished(&game.id);
        let expected = match game.white.as_str() {
            "Robot" => "resign",
            _ => "mate",
        };
        assert_eq!(game.status, expected, "{game:?}");
    }
}

#[test]
fn takeback_stops_search() {
    let site = site(&["Anna"]);
    let bot = Daemon::start(
        &site,
        "book = { enabled = false }\n[games]\nmax_takebacks = 2\n",
    );
    let anna = site.player("Anna");
    let id = anna.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
    let stands_at = |plies: usize| {
        wait(&format!("the game is back at ply {plies}"), || {
            site.game(&id).filter(|game| game.plies == plies)
        });
    };
    act(&anna, &id, "move/a2a4");
    site.plies(&id, 2);
    // On their own turn, the opponent takes back their move and that of the bot.
    act(&anna, &id, "takeback/yes");
    stands_at(0);
    act(&anna, &id, "move/e2e4");
    site.plies(&id, 2);
    let moves = count_requests(&site, Endpoint::Move);
    // With three hours on its clock the bot searches for minutes.
    act(&anna, &id, "move/h2h4");
    act(&anna, &id, "takeback/yes");
    stands_at(2);
    act(&anna, &id, "move/d2d4");
    act(&anna, &id, "takeback/yes");
    // The third takeback of the game is declined.
    wait_for_requests(&site, Endpoint::Takeback, 3);
    assert_eq!(site.game(&id).unwrap().plies, 3);
    assert_eq!(
        count_requests(&site, Endpoint::Move),
        moves,
        "{}",
        bot.log()
    );
    assert!(bot.log().contains("accepting the takeback, 2 of 2"));
}

#[test]
fn takebacks_follow_rules() {
    let site = site(&["Anna", "Bert"]);
    let config = "[[rule]]\nmatch = { name = \"bert\" }\nplay = { takebacks = \"never\" }\n";
    let _bot = Daemon::start(&site, config);
    for (name, plies) in [("Anna", 0), ("Bert", 2)] {
        let player = site.player(name);
        let id = player.start(&[CLOCK[0], CLOCK[1], ("color", "white")]);
        act(&player, &id, "move/e2e4");
        site.plies(&id, 2);
        let before = count_requests(&site, Endpoint::Takeback);
        act(&player, &id, "takeback/yes");
        wait_for_requests(&site, Endpoint::Takeback, before + 1);
        wait("the answer has come", || {
            site.game(&id).filter(|game| game.plies == plies)
        });
    }
}

/// The times between the claims of a game whose opponent leaves, with this fault for the first ones.
fn times_between_claims(fault: Fault, times: usize) -> Vec<Duration> {
    // Slow, so that a busy machine matters less.
    const SPEED: f64 = 4.0;
    let site = Site::with(SimOptions {
        users: vec![NewUser::bot(BOT)],
        speed: SPEED,
        ..SimOptions::default()
    });
    let failing = FaultRule::on(Endpoint::ClaimVictory, fault).from_user(BOT);
    site.sim.faults().add(failing.times(times));
    let _bot = Daemon::start_with(&site, "", &["--time-scale", &SPEED.to_string()]);
    let behavior = Behavior {
        disconnects: Some(Disconnect {
            at_ply: 2,
            reconnect_after: None,
        }),
        ..Behavior::default()
    };
    site.sim.add_player(PlayerOptions {
        behavior,
        ..challenge_from("Quitter", PlayerKind::Random, WON, 600)
    });
    let game = site.started(1).remove(0);
    assert_eq!(site.finished(&game.id).status, "timeout");
    let claims = requests_of(&site, BOT, Endpoint::ClaimVictory);
    let pairs = claims.windows(2);
    pairs
        .map(|two| two[1].at.saturating_sub(two[0].at))
        .collect()
}

#[test]
fn refused_victory_claim_is_not_repeated_at_once() {
    let no = Fault::json(400, "{\"error\":\"You cannot claim the win on this game\"}");
    // The site reports every five seconds that the opponent is gone.
    let apart = times_between_claims(no, 3);
    assert_eq!(apart.len(), 3, "{apart:?}");
    assert!(apart.iter().all(|time| time.as_secs() >= 9), "{apart:?}");
}

#[test]
fn failed_victory_claim_is_repeated_at_once() {
    let apart = times_between_claims(Fault::html(502), 2);
    assert_eq!(apart.len(), 2, "{apart:?}");
    assert!(apart.iter().all(|time| time.as_secs() < 9), "{apart:?}");
}

#[test]
fn victory_or_draw_is_claimed_against_absent_opponent() {
    for (fen, result) in [(WON, "0-1"), ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "1/2-1/2")] {
        let site = site(&[]);
        let _bot = Daemon::start(&site, "");
        site.sim.add_player(PlayerOptions {
            behavior: Behavior {
                disconnects: Some(Disconnect {
                    at_ply: 2,
                    reconnect_after: None,
                }),
                ..Behavior::default()
            },
            ..challenge_from("Quitter", PlayerKind::Random, fen, 180)
        });
        let game = site.started(1).remove(0);
        site.plies(&game.id, 2);
        let game = site.advance_until("the game is claimed", || {
            site.game(&game.id).filter(|game| game.status != "started")
        });
        assert_eq!((game.status, game.result), ("timeout", result), "{game:?}");
    }
}
