//! Keys of a rule's `match`, one by one.

use knightwatch::sim::NewUser;

use super::{BLITZ, challenge_and_wait};
use crate::common::{Daemon, Site};

/// Time control of a challenge: base and increment in seconds.
fn clock<'a>(base: &'a str, increment: &'a str) -> [(&'a str, &'a str); 2] {
    [("clock.limit", base), ("clock.increment", increment)]
}

#[test]
fn rules_match_speed_clock_rating() {
    let site = Site::new([
        NewUser::human("Anna"),
        NewUser::human("Otto").rating(2_100),
        NewUser::human("Nora").rating(850),
        NewUser::human("Milo").rating(700),
        NewUser {
            games: 50,
            ..NewUser::human("Sam")
        },
    ]);
    let _bot = Daemon::start(
        &site,
        r#"
        [challenge]
        speeds = ["bullet", "blitz", "rapid", "correspondence"]
        min_rating = 800
        min_base_s = 60
        max_increment_s = 20
        max_days = 5
        [[rule]]
        match = { rating = "2000.." }
        decline = "later"
        [[rule]]
        match = { rating_diff = "-650..-550" }
        decline = "onlyBot"
        [[rule]]
        match = { speed = "bullet", increment_s = 0 }
        decline = "tooFast"
        [[rule]]
        match = { clock = ["15+0", "10+5"] }
        decline = "variant"
        [[rule]]
        match = { speed = "blitz", clock = "3+0", provisional = true }
        decline = "timeControl"
        [[rule]]
        match = { base_s = "240..300" }
        decline = "standard"
        [[rule]]
        match = { increment_s = 7 }
        decline = "rated"
        [[rule]]
        match = { estimate_s = "..150" }
        decline = "casual"
        "#,
    );
    for (name, form, expected) in [
        ("Otto", BLITZ, "later"),
        // The bot has 1500.
        ("Nora", BLITZ, "onlybot"),
        ("Milo", BLITZ, "generic"),
        ("Anna", clock("60", "0"), "toofast"),
        ("Anna", clock("600", "5"), "variant"),
        ("Anna", clock("180", "0"), "timecontrol"),
        ("Sam", clock("180", "0"), "accepted"),
        ("Anna", clock("300", "0"), "standard"),
        ("Anna", clock("180", "7"), "rated"),
        // Lichess counts 40 moves: 60 seconds and 80, then 60 and 120.
        ("Anna", clock("60", "2"), "casual"),
        ("Anna", clock("60", "3"), "accepted"),
        // The limits of [challenge] itself.
        ("Anna", clock("30", "5"), "toofast"),
        ("Anna", clock("180", "25"), "tooslow"),
    ] {
        assert_eq!(
            challenge_and_wait(&site.player(name), &form),
            expected,
            "{name} {form:?}"
        );
    }
    let anna = site.player("Anna");
    assert_eq!(challenge_and_wait(&anna, &[("days", "7")]), "tooslow");
    assert_eq!(challenge_and_wait(&anna, &[("days", "5")]), "accepted");
}
