//! Checks of challenges, as tables.

mod etiquette;
mod rules;
mod strength;

use serde_json::{Value, json};

use super::*;
use crate::bot::account::accepted_log::AcceptedLog;
use crate::chess;
use crate::config::{self, Pattern};
use crate::lichess::model::{self, Speed};

/// A human's ordinary challenge with some fields replaced.
fn challenge(patch: Value) -> Challenge {
    let mut challenge = json!({
        "id": "abcdefgh", "status": "created",
        "challenger": {"id": "ann", "name": "Ann", "rating": 1500},
        "destUser": {"id": "bot", "name": "Bot", "title": "BOT", "rating": 2000},
        "variant": {"key": "standard", "name": "Standard", "short": "Std"},
        "rated": false, "speed": "blitz",
        "timeControl": {"type": "clock", "limit": 180, "increment": 2, "show": "3+2"},
        "color": "random", "finalColor": "white",
    });
    for (key, value) in patch.as_object().unwrap() {
        challenge[key] = value.clone();
    }
    serde_json::from_value(challenge).unwrap()
}

fn clock(limit: u32, increment: u32) -> Value {
    json!({
        "speed": Speed::of_clock(limit, increment).key(),
        "timeControl": {"type": "clock", "limit": limit, "increment": increment},
    })
}

fn bot() -> Value {
    json!({"challenger": {"id": "rob", "name": "Rob", "title": "BOT", "rating": 2200}})
}

/// A morning.
const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn assessment(
    patch: Value,
    settings: &Settings,
    accepted_log: &AcceptedLog,
    load: Load,
) -> Assessment {
    assess(
        (&challenge(patch), None, None),
        settings,
        accepted_log,
        load,
    )
}

fn assess(
    (challenge, compat, age_days): (&Challenge, Option<Compat>, Option<u32>),
    settings: &Settings,
    accepted_log: &AcceptedLog,
    load: Load,
) -> Assessment {
    let input = MatchInput::of_challenge(challenge, age_days);
    assess_input((challenge, compat, &input), settings, accepted_log, load)
}

fn assess_input(
    (challenge, compat, input): (&Challenge, Option<Compat>, &MatchInput),
    settings: &Settings,
    accepted_log: &AcceptedLog,
    load: Load,
) -> Assessment {
    let case = ChallengeContext {
        challenge,
        compat,
        input,
    };
    let usage = LimitUsage {
        accepted: &|limit, user, window| accepted_log.usage(limit, user, window, NOW),
        running: &|_| Some(0),
    };
    evaluate(case, settings, &usage, load)
}

/// Answer of an account without load.
fn answer(patch: Value, settings: &Settings) -> ChallengeAnswer {
    assessment(patch, settings, &AcceptedLog::default(), Load::default()).answer
}

fn decline_reason(patch: Value, rules: &config::Challenge) -> Option<DeclineReason> {
    let settings = Settings {
        challenge: rules.clone(),
        ..Settings::default()
    };
    let assessment = assessment(patch, &settings, &AcceptedLog::default(), Load::default());
    assert!(!assessment.reason.is_empty());
    match assessment.answer {
        ChallengeAnswer::Decline(reason) => Some(reason),
        ChallengeAnswer::Accept | ChallengeAnswer::Wait => None,
    }
}

#[test]
fn policy_defaults_accept_everybody() {
    let rules = config::Challenge::default();
    for patch in [
        json!({}),
        bot(),
        json!({"rated": true}),
        clock(60, 0),
        clock(30, 0),
        clock(0, 1),
        clock(600, 5),
        clock(10_800, 0),
        json!({"challenger": null}),
        json!({"variant": {"key": "chess960"}}),
        json!({"variant": {"key": "antichess"}}),
        json!({"variant": {"key": "horde"}, "initialFen": chess::Variant::Horde.start_fen()}),
        json!({"variant": {"key": "fromPosition"}, "initialFen": "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"}),
        json!({"rules": ["noRematch"]}),
        json!({"rematchOf": "hgfedcba"}),
    ] {
        assert_eq!(decline_reason(patch.clone(), &rules), None, "{patch}");
    }
}

#[test]
fn policy_every_decline_has_reason() {
    use DeclineReason::*;
    let rules = config::Challenge::default;
    let table: Vec<(&str, Value, config::Challenge, DeclineReason)> = vec![
        (
            "off",
            json!({}),
            config::Challenge {
                accept: false,
                ..rules()
            },
            Generic,
        ),
        (
            "blocked",
            json!({}),
            config::Challenge {
                block: vec![Pattern::try_from("aNN".to_owned()).unwrap()],
                ..rules()
            },
            Generic,
        ),
        (
            "bots",
            bot(),
            config::Challenge {
                bots: false,
                ..rules()
            },
            NoBot,
        ),
        (
            "humans",
            json!({}),
            config::Challenge {
                humans: false,
                ..rules()
            },
            OnlyBot,
        ),
        (
            "weak",
            json!({}),
            config::Challenge {
                min_rating: 1600,
                ..rules()
            },
            Generic,
        ),
        (
            "strong",
            json!({}),
            config::Challenge {
                max_rating: 1400,
                ..rules()
            },
            Generic,
        ),
        (
            "unrated player",
            json!({"challenger": null}),
            config::Challenge {
                min_rating: 1,
                ..rules()
            },
            Generic,
        ),
        (
            "variant",
            json!({"variant": {"key": "crazyhouse"}}),
            config::Challenge {
                variants: vec![model::Variant::Standard, model::Variant::Atomic],
                ..rules()
            },
            Variant,
        ),
        (
            "variant of tomorrow",
            json!({"variant": {"key": "bughouse"}}),
            rules(),
            Variant,
        ),
        (
            "only standard",
            json!({"variant": {"key": "chess960"}}),
            config::Challenge {
                variants: vec![model::Variant::Standard],
                ..rules()
            },
            Standard,
        ),
        (
            "only 960",
            json!({}),
            config::Challenge {
                variants: vec![model::Variant::Chess960],
                ..rules()
            },
            Variant,
        ),
        (
            "no position",
            json!({"variant": {"key": "fromPosition"}}),
            rules(),
            Variant,
        ),
        (
            "bad position",
            json!({"variant": {"key": "fromPosition"}, "initialFen": "8/8/8/8/8/8/8/8 w - - 0 1"}),
            rules(),
            Variant,
        ),
        ("trap", json!({"rules": ["noAbort"]}), rules(), Generic),
        ("ultra", clock(15, 0), rules(), TooFast),
        (
            "too fast",
            clock(60, 0),
            config::Challenge {
                speeds: vec![Speed::Blitz, Speed::Rapid],
                ..rules()
            },
            TooFast,
        ),
        (
            "too slow",
            clock(1800, 0),
            config::Challenge {
                speeds: vec![Speed::Blitz, Speed::Rapid],
                ..rules()
            },
            TooSlow,
        ),
        (
            "between",
            clock(180, 2),
            config::Challenge {
                speeds: vec![Speed::Bullet, Speed::Rapid],
                ..rules()
            },
            TimeControl,
        ),
        (
            "no speed",
            clock(60, 0),
            config::Challenge {
                speeds: vec![],
                ..rules()
            },
            TimeControl,
        ),
        (
            "short",
            clock(180, 2),
            config::Challenge {
                min_base_s: 300,
                ..rules()
            },
            TooFast,
        ),
        (
            "long",
            clock(180, 2),
            config::Challenge {
                max_base_s: 60,
                ..rules()
            },
            TooSlow,
        ),
        (
            "no increment",
            clock(180, 0),
            config::Challenge {
                min_increment_s: 1,
                ..rules()
            },
            TooFast,
        ),
        (
            "much increment",
            clock(180, 9),
            config::Challenge {
                max_increment_s: 5,
                ..rules()
            },
            TooSlow,
        ),
        (
            "correspondence",
            json!({"speed": "correspondence", "timeControl": {"type": "correspondence", "daysPerTurn": 3}}),
            rules(),
            TooSlow,
        ),
        (
            "unlimited",
            json!({"speed": "correspondence", "timeControl": {"type": "unlimited"}}),
            rules(),
            TooSlow,
        ),
        (
            "many days",
            json!({"speed": "correspondence", "timeControl": {"type": "correspondence", "daysPerTurn": 14}}),
            config::Challenge {
                speeds: vec![Speed::Correspondence],
                max_days: 3,
                ..rules()
            },
            TooSlow,
        ),
        (
            "rated",
            json!({"rated": true}),
            config::Challenge {
                rated: false,
                ..rules()
            },
            Casual,
        ),
        (
            "casual",
            json!({}),
            config::Challenge {
                casual: false,
                ..rules()
            },
            Rated,
        ),
    ];
    for (name, patch, rules, reason) in table {
        assert_eq!(decline_reason(patch, &rules), Some(reason), "{name}");
    }
}

#[test]
fn policy_compat_of_lichess_decides() {
    let challenge = challenge(json!({}));
    let compat = Compat {
        bot: false,
        board: false,
    };
    let everybody = settings("[[rule]]\naccept = true\n");
    let none = AcceptedLog::default();
    let case = (&challenge, Some(compat), None);
    let assessment = assess(case, &everybody, &none, Load::default());
    assert_eq!(
        assessment.answer,
        ChallengeAnswer::Decline(DeclineReason::TooFast)
    );
}

#[test]
fn policy_full_slots_decline_later() {
    let settings = settings("games.per_opponent = 2\n");
    let answer = |patch, load| assessment(patch, &settings, &AcceptedLog::default(), load).answer;
    let full = Load {
        full: true,
        ..Load::default()
    };
    let queue_full = Load {
        queue_full: true,
        ..full
    };
    let draining = Load {
        draining: true,
        ..full
    };
    let paused = Load {
        paused: true,
        ..full
    };
    let against = |against| Load {
        games_vs_opponent: against,
        ..Load::default()
    };
    let later = ChallengeAnswer::Decline(DeclineReason::Later);
    for (load, expected) in [
        (full, ChallengeAnswer::Wait),
        (queue_full, later),
        (draining, later),
        (paused, later),
        (against(2), later),
        (against(1), ChallengeAnswer::Accept),
    ] {
        assert_eq!(answer(json!({}), load), expected, "{load:?}");
    }
    // The daily limit of games against bots is reached; people may still play.
    let spent = Load {
        no_bots_until: Some(NOW),
        ..full
    };
    assert_eq!(answer(bot(), spent), later);
    assert_eq!(answer(json!({}), spent), ChallengeAnswer::Wait);
    let never = json!({"variant": {"key": "bughouse"}});
    let variant = ChallengeAnswer::Decline(DeclineReason::Variant);
    assert_eq!(answer(never, full), variant);
}

/// The settings of this configuration file.
fn settings(text: &str) -> Settings {
    let settings = Settings::from_text(text.to_owned(), &config::Sources::default());
    settings.unwrap_or_else(|error| panic!("{error}"))
}
