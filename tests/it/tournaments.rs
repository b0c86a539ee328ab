//! The real program takes part in arenas of the simulator.

use std::time::Duration;

use knightwatch::sim::{
    ArenaOptions, Endpoint, Fault, GameSummary, Kind, NewUser, Rule, Sparring, TimeControl,
};
use serde_json::Value;

use crate::common::{BOT, Daemon, Site, wait};

/// One game at a time, and an arena to join.
const ONE: &str =
    "challenge.queue = 0\n[games]\nconcurrency = 1\n[tournaments]\njoin = [\"rehearse\"]\n";

fn arena(starts_s: u64) -> ArenaOptions {
    ArenaOptions {
        id: Some("rehearse".to_owned()),
        starts: Duration::from_secs(starts_s),
        ..ArenaOptions::for_bots("Friday", TimeControl::clock(60, 0), 60)
    }
}

fn site(options: &ArenaOptions) -> Site {
    let site = Site::new([NewUser::bot("Ann"), NewUser::bot("Ben")]);
    site.sim.arena(options).unwrap();
    site
}

fn page(site: &Site) -> Value {
    site.player("Ann").get("/api/tournament/rehearse").1
}

/// How the bot stands in the arena.
fn standing(site: &Site) -> Option<Value> {
    let page = page(site);
    let players = page["standing"]["players"].as_array()?;
    players.iter().find(|player| player["name"] == BOT).cloned()
}

fn is_in(site: &Site) -> bool {
    standing(site).is_some_and(|player| player.get("withdraw").is_none())
}

/// Lets time leap until the condition gives something.
fn leap<T>(site: &Site, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    wait(what, || {
        let found = look();
        if found.is_none() {
            site.sim.advance(Duration::from_secs(1));
            std::thread::sleep(Duration::from_millis(50));
        }
        found
    })
}

/// The bot's game of the arena that is on.
fn game_on(site: &Site) -> Option<GameSummary> {
    let games = site.sim.games().into_iter();
    games
        .filter(|game| game.status == "started" && game.time_control == TimeControl::clock(60, 0))
        .find(|game| [game.white.as_str(), game.black.as_str()].contains(&BOT))
}

#[test]
fn joins_before_the_start_and_plays_beyond_the_number_of_games() {
    let site = site(&arena(600));
    site.sim.spar(Sparring {
        delay: Duration::ZERO..=Duration::from_millis(10),
        arenas: true,
        ..Sparring::new("Rival", Kind::Random)
    });
    let _bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    let ann = site.player("Ann");
    let clock = [("clock.limit", "10800"), ("clock.increment", "0")];
    let friendly = ann.start(&clock);
    let pairing = leap(&site, "a pairing", || game_on(&site));
    // Both sides move, though the one place is taken.
    site.plies(&pairing.id, 4);
    assert_eq!(site.game(&friendly).unwrap().status, "started");
}

#[test]
fn a_place_is_kept_while_an_arena_is_on() {
    let site = site(&arena(0));
    let _bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    let clock = [("clock.limit", "60"), ("clock.increment", "0")];
    let ann = site.player("Ann");
    let id = ann.challenge(&clock);
    assert_eq!(ann.answer(&id), "later");
}

#[test]
fn a_place_is_kept_in_an_arena_that_cannot_be_looked_at_after_a_crash() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    let broken = Rule::on(Endpoint::ArenaShow, Fault::html(502)).of_user(BOT);
    site.sim.faults().add(broken);
    bot.crash_and_restart();
    wait("the arena was looked at", || {
        bot.log().contains("cannot look at the arena").then_some(())
    });
    let clock = [("clock.limit", "60"), ("clock.increment", "0")];
    let ann = site.player("Ann");
    let id = ann.challenge(&clock);
    assert_eq!(ann.answer(&id), "later");
}

#[test]
fn withdraws_when_it_drains_and_comes_back_at_the_next_start() {
    let site = site(&arena(0));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    wait("the arena has begun", || {
        page(&site).get("isStarted").cloned()
    });
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert!(!is_in(&site));
    // Who leads and leaves has to sit out a pause of ten seconds.
    bot.crash_and_restart();
    leap(&site, "the bot is back", || is_in(&site).then_some(()));
}

#[test]
fn leaves_an_arena_that_has_not_begun() {
    let site = site(&arena(3_600));
    let mut bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    bot.signal("TERM");
    assert!(bot.ended().success());
    assert_eq!(page(&site)["nbPlayers"], 0);
}

#[test]
fn comes_back_after_a_game_that_it_did_not_begin() {
    let site = site(&arena(0));
    site.sim.spar(Sparring {
        delay: Duration::ZERO..=Duration::ZERO,
        arenas: true,
        ..Sparring::new("Rival", Kind::Random)
    });
    let bot = Daemon::start(&site, ONE);
    wait("the bot is in the arena", || is_in(&site).then_some(()));
    bot.signal("STOP");
    let out = leap(&site, "the bot is withdrawn", || {
        standing(&site).filter(|player| player["withdraw"] == true)
    });
    assert_eq!(out["score"], 0);
    assert!(site.sim.games().iter().any(|game| game.status == "noStart"));
    bot.signal("CONT");
    wait("the bot is back", || is_in(&site).then_some(()));
    let pairing = leap(&site, "the next pairing", || game_on(&site));
    site.plies(&pairing.id, 4);
}

#[test]
fn says_what_keeps_it_out() {
    let site = site(&ArenaOptions {
        bots: false,
        ..arena(3_600)
    });
    for (id, password) in [("private1", "secret"), ("private2", "secret")] {
        site.sim
            .arena(&ArenaOptions {
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
    logged("trying again until it starts: Lichess answered 400: Wrong entry code");
    wait("the bot knows the password", || {
        let (_, page) = site.player("Ann").get("/api/tournament/private2");
        (page["nbPlayers"] == 1).then_some(())
    });
    assert!(!bot.log().contains("secret") && !bot.log().contains("guess"));
}
