//! Variants other than Chess960: the bot plays them against built-in players.

use std::time::Duration;

use knightwatch::chess::pgn::{Outcome, Reader};
use knightwatch::chess::{self, Termination};
use knightwatch::sim::{
    ArenaOptions, ChallengePlan, GameSummary, NewUser, PlayerKind, PlayerOptions, TimeControl,
};
use serde_json::Value;

use crate::common::{BOT, Daemon, SLOW, Site, wait};

/// A built-in player who challenges the bot to one game.
fn challenger(variant: chess::Variant) -> PlayerOptions {
    let plan = ChallengePlan {
        variants: vec![variant.key().to_owned()],
        count: Some(1),
        ..ChallengePlan::against(BOT, TimeControl::clock(600, 0))
    };
    PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        ..PlayerOptions::new(format!("Randy-{}", variant.key()), PlayerKind::Random)
            .challenging(plan)
    }
}

/// Status and result by the rules, from a game's PGN.
fn end_by_rules(pgn: &str) -> (chess::Variant, &'static str, Outcome) {
    let mut reader = Reader::new();
    let read = reader.feed(&mut pgn.as_bytes());
    let game = read.or_else(|| reader.finish()).unwrap().unwrap().game;
    let mover = game.position().turn();
    let (status, outcome) = match game.termination() {
        Some(Termination::Checkmate) => ("mate", Outcome::Win(!mover)),
        Some(Termination::VariantWin(winner)) => ("variantEnd", Outcome::Win(winner)),
        Some(Termination::Stalemate) => ("stalemate", Outcome::Draw),
        // Also by repetition, which ends games of bots at once.
        Some(_) | None => ("draw", Outcome::Draw),
    };
    (game.initial().variant(), status, outcome)
}

#[test]
fn variants_are_played_to_their_end() {
    let site = Site::new([NewUser::human("Anna")]);
    let bot = Daemon::start(
        &site,
        "games.concurrency = 7\nresign.enabled = false\n[[rule]]\nplay = { max_depth = 2 }\n",
    );
    let variants = &chess::Variant::ALL[1..];
    for variant in variants {
        site.sim.add_player(challenger(*variant));
    }
    let games = site.started(variants.len());
    let anna = site.player("Anna");
    let ended: Vec<GameSummary> = games.iter().map(|game| site.finished(&game.id)).collect();
    for variant in variants {
        let game = ended.iter().find(|game| game.variant == variant.key());
        let game = game.unwrap_or_else(|| panic!("no game of {variant}: {ended:?}"));
        let (_, pgn) = anna.get(&format!("/game/export/{}", game.id));
        let (played, status, outcome) = end_by_rules(pgn.as_str().unwrap());
        assert_eq!(
            (played, status, outcome.to_string().as_str()),
            (*variant, game.status, game.result),
            "{pgn}"
        );
        let recorded: Value = wait("its end is recorded", || {
            let listed = bot
                .command("games")
                .env("STATE_DIRECTORY", bot.state())
                .args(["--json", "--variant", variant.key()])
                .output()
                .unwrap();
            let line: Value = serde_json::from_slice(&listed.stdout).ok()?;
            line["result"].is_string().then_some(line)
        });
        assert_eq!(recorded["id"], game.id);
        assert_eq!(recorded["status"], game.status);
        assert_eq!(recorded["result"], game.result);
        assert_eq!(recorded["plies"], game.plies);
        let exported = bot
            .command("export")
            .env("STATE_DIRECTORY", bot.state())
            .arg(&game.id)
            .output()
            .unwrap();
        let exported = String::from_utf8(exported.stdout).unwrap();
        assert_eq!(
            end_by_rules(&exported),
            (*variant, status, outcome),
            "{exported}"
        );
    }
    assert!(!bot.log().contains("WARN"), "{}", bot.log());
}

#[test]
fn variants_are_declined_by_configuration() {
    let site = Site::new([NewUser::human("Anna")]);
    let anna = site.player("Anna");
    let atomic = [SLOW[0], SLOW[1], ("variant", "atomic")];
    let horde = [SLOW[0], SLOW[1], ("variant", "horde")];
    for (accepted, form, answer) in [
        ("[\"standard\"]", &atomic, "standard"),
        ("[\"standard\", \"atomic\"]", &horde, "variant"),
        ("[\"standard\", \"atomic\"]", &atomic, "accepted"),
    ] {
        let _bot = Daemon::start(&site, &format!("[challenge]\nvariants = {accepted}\n"));
        let id = anna.challenge(form);
        assert_eq!(anna.answer(&id), answer, "{accepted}");
    }
}

#[test]
fn arena_of_a_variant_is_played() {
    let site = Site::new([NewUser::bot("Ann")]);
    let arena = ArenaOptions {
        id: Some("atomicar".to_owned()),
        variant: "atomic".to_owned(),
        starts_in: Duration::ZERO,
        ..ArenaOptions::for_bots("Atomic", TimeControl::clock(60, 0), 60)
    };
    site.sim.add_arena(&arena).unwrap();
    site.sim.add_player(PlayerOptions {
        delay: Duration::ZERO..=Duration::ZERO,
        joins_arenas: true,
        ..PlayerOptions::new("Rival", PlayerKind::Random)
    });
    let bot = Daemon::start(
        &site,
        "resign.enabled = false\ntournaments.join = [\"atomicar\"]\n[[rule]]\nplay = { max_depth = 2 }\n",
    );
    let game = site.advance_until("a pairing", || site.sim.games().into_iter().next());
    let game = site.finished(&game.id);
    let (_, pgn) = site.player("Ann").get(&format!("/game/export/{}", game.id));
    let (played, status, outcome) = end_by_rules(pgn.as_str().unwrap());
    assert_eq!(
        (played, status, outcome.to_string().as_str()),
        (chess::Variant::Atomic, game.status, game.result),
        "{pgn}"
    );
    assert!(!bot.log().contains("WARN"), "{}", bot.log());
}
