//! Playing strength, as tables.

use super::*;
use crate::config::{MAX_ELO, MIN_ELO};
use crate::engine::Elo;

fn skill(text: &str, patch: Value) -> PlayingStrength {
    let input = MatchInput::of_challenge(&challenge(patch), None);
    PlaySettings::of(&settings(text), &input).strength
}

fn elo(text: &str, patch: Value) -> Option<u16> {
    skill(text, patch).elo
}

fn rated(rating: i32, provisional: bool) -> Value {
    json!({"challenger": {"id": "ann", "name": "Ann", "rating": rating, "provisional": provisional}})
}

#[test]
fn strength_config_and_engine_levels_agree() {
    assert_eq!((MIN_ELO, MAX_ELO), (Elo::MIN.get(), Elo::MAX.get()));
}

#[test]
fn strength_of_rule_overrides_section() {
    let text = "[engine]\nstrength = 2000\n[[rule]]\nmatch = { rating = \"..1600\" }\nplay = { strength = { elo = 1300 } }\n\
                [[rule]]\nmatch = { rating = \"2400..\" }\nplay = { strength = \"full\" }\n";
    assert_eq!(elo(text, rated(1500, false)), Some(1300));
    assert_eq!(elo(text, rated(1900, false)), Some(2000));
    assert_eq!(elo(text, rated(2500, false)), None);
    assert_eq!(elo("", rated(1500, false)), None);
    assert_eq!(skill("", json!({"rated": true})).description, None);
}

#[test]
fn strength_rated_game_is_full_unless_allowed() {
    let limited = skill("[engine]\nstrength = 1500\n", json!({"rated": true}));
    assert_eq!(limited.elo, None);
    let text = limited.description.unwrap();
    assert!(
        text.contains("rated") && text.contains("sandbagging"),
        "{text}"
    );
    let allowed = "[engine]\nstrength = { elo = 1500, allow_rated = true }\n";
    assert_eq!(elo(allowed, json!({"rated": true})), Some(1500));
}

#[test]
fn strength_adaptive_follows_opponent() {
    let adaptive = "[engine]\nstrength = \"adaptive\"\n";
    for (rating, provisional, expected) in [
        (1732, false, 1732),
        (800, false, 1000),
        (3100, false, 2800),
        // A provisional rating counts half.
        (2300, true, 1900),
        (900, true, 1200),
    ] {
        let patch = rated(rating, provisional);
        assert_eq!(elo(adaptive, patch), Some(expected), "{rating}");
    }
    assert_eq!(elo(adaptive, json!({"challenger": null})), Some(1500));
    let weaker = "[engine]\nstrength = { adaptive = true, offset = -150 }\n";
    assert_eq!(elo(weaker, rated(1700, false)), Some(1550));
    let text = skill(adaptive, rated(2300, true)).description.unwrap();
    assert_eq!(
        text,
        "at 1900 Elo, for the opponent has 2300, which is uncertain"
    );
}

#[test]
fn strength_weak_level_limits_book() {
    let plies = |text: &str| skill(text, json!({})).book_plies();
    assert_eq!(plies("[engine]\nstrength = 1000\n"), 0);
    assert_eq!(plies("[engine]\nstrength = 1850\n"), 8);
    assert_eq!(plies(""), usize::MAX);
}
