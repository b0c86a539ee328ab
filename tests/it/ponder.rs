//! Pondering by the real program.

use std::fs;

use crate::common::{Daemon, Site, wait};
use crate::etiquette::{act, site, start_game};
use crate::replay::{replay_without_differences, wait_for_trace};

/// The bot searches every move, and briefly.
const CONFIG: &str = "
[engine]
hash_mib = 16
threads = 1

[[rule]]
match = { bot = false }
play = { book = false, max_nodes = 2000 }
";

const PONDERING: &str = "pondering on ";
const HIT: &str = "ponder hit";
const PONDERS: &str = "\"ponders\":true";
const PONDERS_NOT: &str = "\"ponders\":false";

/// Waits until the bot has pondered `times` times, and returns the expected move.
fn wait_for_ponder_move(site: &Site, bot: &Daemon, id: &str, times: usize) -> String {
    let trace = wait_for_trace(site, bot, id, PONDERING);
    wait("the bot ponders", || {
        let text = fs::read_to_string(&trace).ok()?;
        let mut notes = text.split(PONDERING).skip(times);
        let note = notes.next()?;
        Some(note[..note.find('"')?].to_owned())
    })
}

fn ponderhit_count(site: &Site, bot: &Daemon, id: &str) -> usize {
    let text = fs::read_to_string(wait_for_trace(site, bot, id, PONDERING)).unwrap();
    text.matches(HIT).count()
}

#[test]
fn ponderhit_uses_the_pondered_search() {
    let site = site(&["Anna"]);
    let mut bot = Daemon::start(&site, CONFIG);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    let first = wait_for_ponder_move(&site, &bot, &id, 1);
    act(&anna, &id, &format!("move/{first}"));
    site.plies(&id, 4);
    let second = wait_for_ponder_move(&site, &bot, &id, 2);
    assert_eq!(ponderhit_count(&site, &bot, &id), 1);
    // Any other move is searched as usual.
    let mut others = ["a2a3", "h2h3", "c2c3", "e1e2"]
        .into_iter()
        .filter(|mv| **mv != *second);
    // The bot may have given check.
    let is_played = |mv| {
        let path = format!("/api/board/game/{id}/move/{mv}");
        anna.post(&path, &[]).0 == 200
    };
    assert!(others.any(is_played));
    site.plies(&id, 6);
    wait_for_ponder_move(&site, &bot, &id, 3);
    assert_eq!(ponderhit_count(&site, &bot, &id), 1);
    act(&anna, &id, "resign");
    site.finished(&id);
    let trace = wait_for_trace(&site, &bot, &id, "\"end\"");
    // Its moves may take longer.
    let text = fs::read_to_string(&trace).unwrap();
    assert!(
        text.contains(PONDERS) && !text.contains(PONDERS_NOT),
        "{text}"
    );
    let state = bot.state().clone();
    assert!(bot.stop().success());
    let printed = replay_without_differences(&site, &state, &[trace.to_str().unwrap()]);
    assert!(printed.contains(HIT), "{printed}");
}

#[test]
fn limited_strength_does_not_ponder() {
    let site = site(&["Anna"]);
    let weak = CONFIG.replace("max_nodes = 2000", "strength = { elo = 1500 }");
    let bot = Daemon::start(&site, &weak);
    let anna = site.player("Anna");
    let id = start_game(&site, &anna);
    act(&anna, &id, "resign");
    site.finished(&id);
    let trace = wait_for_trace(&site, &bot, &id, "\"end\"");
    let text = fs::read_to_string(trace).unwrap();
    assert!(
        text.contains(PONDERS_NOT) && !text.contains(PONDERS),
        "{text}"
    );
    assert!(!text.contains(PONDERING));
}
