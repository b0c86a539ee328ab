use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use super::super::memory::Refusal;
use super::*;
use crate::lichess::model::DeclineReason;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// Somebody with these ratings.
fn user(name: &str, ratings: &[(&str, i32)]) -> User {
    let perfs: serde_json::Map<_, _> = ratings
        .iter()
        .map(|(perf, rating)| {
            let perf = (*perf).to_owned();
            (perf, serde_json::json!({"games": 9, "rating": rating}))
        })
        .collect();
    let wire = serde_json::json!({"id": name, "username": name, "title": "BOT", "perfs": perfs});
    serde_json::from_value(wire).unwrap()
}

/// Ourselves with 2000 in everything, and these with this in blitz.
fn roster(bots: &[(&str, i32)]) -> OnlineBots {
    let ours = ["bullet", "blitz", "rapid", "chess960"].map(|perf| (perf, 2_000));
    let me = user("Me", &ours);
    let bots = bots
        .iter()
        .map(|(name, blitz)| user(name, &[("blitz", *blitz)]));
    OnlineBots {
        bots: bots.chain([me.clone()]).collect(),
        me,
    }
}

fn profile(text: &str) -> Profile {
    toml::from_str(text).unwrap()
}

fn plan(profiles: &[&str]) -> Plan {
    Plan {
        profiles: profiles.iter().map(|text| profile(text)).collect(),
        blocked: Vec::new(),
    }
}

fn names(choice: &Choice) -> Vec<&str> {
    choice.users.iter().map(Username::as_str).collect()
}

/// Whoever may be chosen over many draws.
fn possible(plan: &Plan, roster: &OnlineBots, memory: &Memory) -> BTreeSet<String> {
    let choices = (0..200).filter_map(|seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        choose(plan, roster, memory, at(0), &mut rng).ok()
    });
    let first = |choice: Choice| format!("{} {}", choice.users[0], choice.offer);
    choices.map(first).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn who_fits_follows_from_the_profile() {
    let roster = roster(&[("Low", 1_500), ("Near", 2_100), ("High", 2_600)]);
    let table: [(&str, &[&str]); 7] = [
        ("", &["Near 3+2 rated standard"]),
        (
            "rating_diff = \"0..\"",
            &["Near 3+2 rated standard", "High 3+2 rated standard"],
        ),
        (
            "rating = \"..1800\"\nrated = false",
            &["Low 3+2 casual standard"],
        ),
        ("rating = \"..1800\"\nrating_diff = \"-100..\"", &[]),
        (
            "clock = [\"3+2\", \"5+0\"]",
            &["Near 3+2 rated standard", "Near 5+0 rated standard"],
        ),
        // Of their rapid and their chess960 nothing is known; whoever that may be is near enough.
        (
            "clock = \"10+0\"",
            &[
                "Low 10+0 rated standard",
                "Near 10+0 rated standard",
                "High 10+0 rated standard",
            ],
        ),
        ("variant = \"chess960\"\nrating = \"1..\"", &[]),
    ];
    for (text, who) in table {
        let possible = possible(&plan(&[text]), &roster, &Memory::default());
        assert_eq!(possible, set(who), "{text}");
    }
}

#[test]
fn never_ourselves_and_never_who_is_blocked() {
    let mut roster = roster(&[
        ("Near", 2_100),
        ("Nasty-1", 2_000),
        ("Gone", 2_000),
        ("Enemy", 2_000),
    ]);
    roster.bots[2].disabled = true;
    roster.bots[3].blocking = true;
    let mut plan = plan(&[""]);
    plan.blocked = vec![Pattern::try_from("nasty*".to_owned()).unwrap()];
    let possible = possible(&plan, &roster, &Memory::default());
    assert_eq!(possible, set(&["Near 3+2 rated standard"]));
}

#[test]
fn who_has_declined_is_left_alone_with_that() {
    let roster = roster(&[("Ann", 2_000), ("Ben", 2_000)]);
    let plan = plan(&["clock = [\"3+2\", \"5+0\"]"]);
    let mut memory = Memory::default();
    let offer = |limit, increment| Offer {
        limit,
        increment,
        variant: model::Variant::Standard,
        rated: true,
    };
    let (ann, ben) = (Username::new("Ann"), Username::new("Ben"));
    let declined = |reason| Refusal::Declined(reason);
    let too_fast = declined(DeclineReason::TooFast);
    memory.refused(&ann, offer(180, 2), too_fast, at(0));
    memory.refused(
        &ben,
        offer(180, 2),
        declined(DeclineReason::TimeControl),
        at(0),
    );
    assert_eq!(
        possible(&plan, &roster, &memory),
        set(&["Ann 5+0 rated standard", "Ben 5+0 rated standard"])
    );
    memory.refused(&ann, offer(300, 0), declined(DeclineReason::Later), at(0));
    memory.refused(&ben, offer(300, 0), declined(DeclineReason::NoBot), at(0));
    let mut rng = fastrand::Rng::with_seed(1);
    let none = choose(&plan, &roster, &memory, at(0), &mut rng).unwrap_err();
    assert!(none.why.contains("have all declined lately"), "{none:?}");
    assert_eq!(none.until, Some(at(1_800)));
    let again = choose(&plan, &roster, &memory, at(1_800), &mut rng).unwrap();
    assert_eq!(names(&again), ["Ann"]);
}

#[test]
fn why_there_is_nobody() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut why = |roster: &OnlineBots| {
        let choice = choose(&plan(&[""]), roster, &Memory::default(), at(0), &mut rng);
        choice.unwrap_err().why
    };
    assert_eq!(
        why(&roster(&[("Low", 900)])),
        "no bot that is online fits a profile"
    );
    let empty = OnlineBots {
        bots: Vec::new(),
        ..roster(&[])
    };
    assert_eq!(why(&empty), "no other bot is online");
}

#[test]
fn who_was_not_met_for_longest_comes_first() {
    let roster = roster(&[
        ("Ann", 2_000),
        ("Ben", 2_000),
        ("Cleo", 2_000),
        ("Dora", 2_000),
    ]);
    let plan = plan(&["color = \"random\""]);
    let mut memory = Memory::default();
    for seed in 0..40_u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let choice = choose(&plan, &roster, &memory, at(seed), &mut rng).unwrap();
        assert_eq!((choice.users.len(), choice.color), (4, ColorChoice::Random));
        memory.met(
            &choice.users[0],
            choice.offer,
            false,
            Color::White,
            at(seed),
        );
    }
    let mut met: Vec<u64> = ["Ann", "Ben", "Cleo", "Dora"]
        .iter()
        .filter_map(|name| memory.last_met(&Username::new(name)))
        .collect();
    met.sort_unstable();
    let first = met[0];
    assert_eq!(met, [first, first + 1, first + 2, first + 3]);
}

#[test]
fn weights_are_heeded() {
    let roster = roster(&[("Ann", 2_000)]);
    let plan = plan(&[
        "weight = 3",
        "clock = \"5+0\"\nname = \"slow\"",
        "clock = \"30+0\"\nrating = \"1..\"\nweight = 100",
    ]);
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..4_000 {
        let choice = choose(&plan, &roster, &Memory::default(), at(0), &mut rng).unwrap();
        *drawn.entry(choice.profile).or_default() += 1;
    }
    assert_eq!(drawn.len(), 2, "{drawn:?}");
    assert!((2_850..3_150).contains(&drawn["profile 1"]), "{drawn:?}");
    assert!((850..1_150).contains(&drawn["profile `slow`"]), "{drawn:?}");
}

#[test]
fn pairs_have_both_colours() {
    let roster = roster(&[("Ann", 2_000), ("Ben", 2_000)]);
    let balanced = plan(&[""]);
    let mut whites = 0;
    for seed in 0..200 {
        let mut memory = Memory::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        assert_eq!(second(&balanced, &roster, &memory, at(0)), None);
        let first = choose(&balanced, &roster, &memory, at(0), &mut rng).unwrap();
        assert_eq!(first.pair, Some(PairGame::First));
        let white = first.color == ColorChoice::White;
        whites += u32::from(white);
        let color = if white { Color::White } else { Color::Black };
        memory.met(&first.users[0], first.offer, true, color, at(0));
        let second = second(&balanced, &roster, &memory, at(600)).unwrap();
        assert_eq!(second.users, first.users[..1]);
        assert_eq!(
            (second.offer, second.pair),
            (first.offer, Some(PairGame::Second))
        );
        assert_eq!(second.color == ColorChoice::Black, white);
    }
    assert!((60..140).contains(&whites), "{whites}");
}

#[test]
fn the_second_game_of_a_pair_is_not_forced() {
    let roster = roster(&[("Ann", 2_000), ("Ben", 2_000)]);
    let offer = Offer {
        limit: 180,
        increment: 2,
        variant: model::Variant::Standard,
        rated: true,
    };
    let ann = Username::new("Ann");
    let mut memory = Memory::default();
    memory.met(&ann, offer, true, Color::White, at(0));
    let owed = |plan: &Plan, roster: &OnlineBots, memory: &Memory, now| {
        second(plan, roster, memory, at(now)).is_some()
    };
    let balanced = plan(&["clock = \"1+0\"", ""]);
    assert!(owed(&balanced, &roster, &memory, 10));
    assert!(!owed(&balanced, &roster, &memory, 86_400));
    // The settings have changed since, he has gone, is blocked, or does not want to.
    assert!(!owed(&plan(&["color = \"white\""]), &roster, &memory, 10));
    assert!(!owed(&plan(&["rated = false"]), &roster, &memory, 10));
    let alone = OnlineBots {
        bots: Vec::new(),
        ..roster.clone()
    };
    assert!(!owed(&balanced, &alone, &memory, 10));
    let mut blocked = balanced.clone();
    blocked.blocked = vec![Pattern::try_from("ann".to_owned()).unwrap()];
    assert!(!owed(&blocked, &roster, &memory, 10));
    memory.refused(&ann, offer, Refusal::Unanswered, at(10));
    assert!(!owed(&balanced, &roster, &memory, 20));
    assert!(owed(&balanced, &roster, &memory, 3_610));
}
