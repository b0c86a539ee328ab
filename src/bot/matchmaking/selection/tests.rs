use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use super::super::opponent_history::Refusal;
use super::*;
use crate::lichess::model::{DeclineReason, TimeControl, Variant};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

/// A user with these ratings.
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

/// Our account with 2000 in everything, and users with these blitz ratings.
fn online_bots(bots: &[(&str, i32)]) -> OnlineBots {
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
        accepted: Vec::new(),
        listed: Arc::default(),
        order: Order::Due,
    }
}

fn names(choice: &Choice) -> Vec<&str> {
    choice.users.iter().map(Username::as_str).collect()
}

/// Users chosen over many draws.
fn possible(plan: &Plan, online_bots: &OnlineBots, history: &OpponentHistory) -> BTreeSet<String> {
    let choices = (0..200).filter_map(|seed| {
        let mut rng = fastrand::Rng::with_seed(seed);
        choose(plan, online_bots, &[], history, at(0), &mut rng).ok()
    });
    let first = |choice: Choice| format!("{} {}", choice.users[0], choice.offer);
    choices.map(first).collect()
}

fn set(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn selection_profile_decides_who_fits() {
    let online_bots = online_bots(&[("Low", 1_500), ("Near", 2_100), ("High", 2_600)]);
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
        // Their rapid and chess960 ratings are unknown and count as near enough.
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
        let possible = possible(&plan(&[text]), &online_bots, &OpponentHistory::default());
        assert_eq!(possible, set(who), "{text}");
    }
}

#[test]
fn selection_excludes_self_and_blocked() {
    let mut online_bots = online_bots(&[
        ("Near", 2_100),
        ("Nasty-1", 2_000),
        ("Gone", 2_000),
        ("Enemy", 2_000),
        ("Clone", 2_000),
        ("Friend", 2_000),
    ]);
    online_bots.bots[2].disabled = true;
    online_bots.bots[3].blocking = true;
    let mut plan = plan(&[""]);
    plan.blocked = vec![Pattern::try_from("nasty*".to_owned()).unwrap()];
    plan.listed = Arc::new(["clone", "friend"].map(str::to_owned).into());
    plan.accepted = vec![Pattern::try_from("friend".to_owned()).unwrap()];
    let possible = possible(&plan, &online_bots, &OpponentHistory::default());
    assert_eq!(
        possible,
        set(&["Friend 3+2 rated standard", "Near 3+2 rated standard"])
    );
}

#[test]
fn selection_excludes_declined_offers() {
    let online_bots = online_bots(&[("Ann", 2_000), ("Ben", 2_000)]);
    let plan = plan(&["clock = [\"3+2\", \"5+0\"]"]);
    let mut history = OpponentHistory::default();
    let offer = |limit, increment| Offer {
        time: TimeControl::Clock { limit, increment },
        variant: Variant::Standard,
        rated: true,
    };
    let (ann, ben) = (Username::new("Ann"), Username::new("Ben"));
    let declined = |reason| Refusal::Declined(reason);
    let too_fast = declined(DeclineReason::TooFast);
    history.record_refusal(&ann, offer(180, 2), too_fast, at(0));
    history.record_refusal(
        &ben,
        offer(180, 2),
        declined(DeclineReason::TimeControl),
        at(0),
    );
    assert_eq!(
        possible(&plan, &online_bots, &history),
        set(&["Ann 5+0 rated standard", "Ben 5+0 rated standard"])
    );
    history.record_refusal(&ann, offer(300, 0), declined(DeclineReason::Later), at(0));
    history.record_refusal(&ben, offer(300, 0), declined(DeclineReason::NoBot), at(0));
    let mut rng = fastrand::Rng::with_seed(1);
    let none = choose(&plan, &online_bots, &[], &history, at(0), &mut rng).unwrap_err();
    assert!(none.reason.contains("have all declined lately"), "{none:?}");
    assert_eq!(none.until, Some(at(1_800)));
    let again = choose(&plan, &online_bots, &[], &history, at(1_800), &mut rng).unwrap();
    assert_eq!(names(&again), ["Ann"]);
}

#[test]
fn selection_without_opponent_gives_reason() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut reason = |online_bots: &OnlineBots| {
        let choice = choose(
            &plan(&[""]),
            online_bots,
            &[],
            &OpponentHistory::default(),
            at(0),
            &mut rng,
        );
        choice.unwrap_err().reason
    };
    assert_eq!(
        reason(&online_bots(&[("Low", 900)])),
        "no bot that is online fits a profile"
    );
    let empty = OnlineBots {
        bots: Vec::new(),
        ..online_bots(&[])
    };
    assert_eq!(reason(&empty), "no other bot is online");
}

#[test]
fn selection_prefers_longest_unmet() {
    let online_bots = online_bots(&[
        ("Ann", 2_000),
        ("Ben", 2_000),
        ("Cleo", 2_000),
        ("Dora", 2_000),
    ]);
    let plan = plan(&["color = \"random\""]);
    let mut history = OpponentHistory::default();
    for seed in 0..40_u64 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let choice = choose(&plan, &online_bots, &[], &history, at(seed), &mut rng).unwrap();
        assert_eq!((choice.users.len(), choice.color), (4, ColorChoice::Random));
        history.record_game(
            &choice.users[0],
            choice.offer,
            false,
            Color::White,
            at(seed),
        );
    }
    let mut met: Vec<u64> = ["Ann", "Ben", "Cleo", "Dora"]
        .iter()
        .filter_map(|name| history.last_game(&Username::new(name)))
        .collect();
    met.sort_unstable();
    let first = met[0];
    assert_eq!(met, [first, first + 1, first + 2, first + 3]);
}

#[test]
fn selection_follows_order() {
    let online_bots = online_bots(&[
        ("Near", 1_950),
        ("Strong", 2_250),
        ("Weak", 1_750),
        ("Far", 2_200),
    ]);
    let mut plan = plan(&[""]);
    for (order, wanted) in [
        (Order::Nearest, ["Near", "Far", "Strong", "Weak"]),
        (Order::Strongest, ["Strong", "Far", "Near", "Weak"]),
        (Order::Weakest, ["Weak", "Near", "Far", "Strong"]),
    ] {
        plan.order = order;
        let mut rng = fastrand::Rng::with_seed(3);
        let history = OpponentHistory::default();
        let choice = choose(&plan, &online_bots, &[], &history, at(0), &mut rng).unwrap();
        let mut names = names(&choice);
        if order == Order::Nearest {
            // Both are 250 points away.
            names[2..].sort_unstable();
        }
        assert_eq!(names, wanted, "{order:?}");
    }
}

#[test]
fn selection_excludes_opponents_of_games_and_challenges() {
    let online_bots = online_bots(&[("Ann", 2_000), ("Ben", 2_000)]);
    let plan = plan(&["clock = [\"3+2\", \"2d\"]"]);
    let [ann, ben] = ["Ann", "Ben"].map(Username::new);
    let possible = |engaged: &Engaged| -> BTreeSet<String> {
        let choices = (0..200).filter_map(|seed| {
            let mut rng = fastrand::Rng::with_seed(seed);
            let history = OpponentHistory::default();
            choose(&plan, &online_bots, engaged, &history, at(0), &mut rng).ok()
        });
        choices
            .flat_map(|choice| {
                choice
                    .users
                    .into_iter()
                    .map(move |user| (user, choice.offer))
            })
            .map(|(user, offer)| format!("{user} {offer}"))
            .collect()
    };
    let game = |clocked| Engagement::Game { clocked };
    let engaged = [(ann.clone(), game(true)), (ben.clone(), game(false))];
    let wanted = ["Ann 2 days rated standard", "Ben 3+2 rated standard"];
    assert_eq!(possible(&engaged), set(&wanted));
    let engaged = [(ann.clone(), Engagement::Challenge), (ben, game(false))];
    assert_eq!(possible(&engaged), set(&["Ben 3+2 rated standard"]));
    // The second game of a pair waits for the first, unless that takes days.
    let clock = TimeControl::Clock {
        limit: 180,
        increment: 2,
    };
    for (time, due) in [
        (clock, false),
        (TimeControl::Correspondence { days: 2 }, true),
    ] {
        let offer = Offer {
            time,
            variant: Variant::Standard,
            rated: true,
        };
        let mut history = OpponentHistory::default();
        history.record_game(&ann, offer, true, Color::White, at(0));
        let second = |engagement| {
            let engaged = [(ann.clone(), engagement)];
            return_game(&plan, &online_bots, &engaged, &history, at(1))
        };
        assert_eq!(second(game(time.is_clock())).is_some(), due, "{offer}");
        assert_eq!(second(Engagement::Challenge), None, "{offer}");
    }
    let short = plan.restricted(Some(Duration::from_secs(10)), true);
    let none = plan.restricted(Some(Duration::from_secs(10)), false);
    assert_eq!((short.profiles.len(), none.profiles.len()), (1, 0));
}

#[test]
fn selection_follows_weights() {
    let online_bots = online_bots(&[("Ann", 2_000)]);
    let plan = plan(&[
        "weight = 3",
        "clock = \"5+0\"\nname = \"slow\"",
        "clock = \"30+0\"\nrating = \"1..\"\nweight = 100",
    ]);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..4_000 {
        let choice = choose(
            &plan,
            &online_bots,
            &[],
            &OpponentHistory::default(),
            at(0),
            &mut rng,
        )
        .unwrap();
        *counts.entry(choice.profile).or_default() += 1;
    }
    assert_eq!(counts.len(), 2, "{counts:?}");
    assert!((2_850..3_150).contains(&counts["profile 1"]), "{counts:?}");
    assert!(
        (850..1_150).contains(&counts["profile `slow`"]),
        "{counts:?}"
    );
}

#[test]
fn selection_pair_has_both_colors() {
    let online_bots = online_bots(&[("Ann", 2_000), ("Ben", 2_000)]);
    let balanced = plan(&[""]);
    let mut whites = 0;
    for seed in 0..200 {
        let mut history = OpponentHistory::default();
        let mut rng = fastrand::Rng::with_seed(seed);
        assert_eq!(
            return_game(&balanced, &online_bots, &[], &history, at(0)),
            None
        );
        let first = choose(&balanced, &online_bots, &[], &history, at(0), &mut rng).unwrap();
        assert_eq!(first.pair, Some(PairGame::First));
        let white = first.color == ColorChoice::White;
        whites += u32::from(white);
        let color = if white { Color::White } else { Color::Black };
        history.record_game(&first.users[0], first.offer, true, color, at(0));
        let second = return_game(&balanced, &online_bots, &[], &history, at(600)).unwrap();
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
fn selection_return_game_is_optional() {
    let online_bots = online_bots(&[("Ann", 2_000), ("Ben", 2_000)]);
    let offer = Offer {
        time: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        variant: Variant::Standard,
        rated: true,
    };
    let ann = Username::new("Ann");
    let mut history = OpponentHistory::default();
    history.record_game(&ann, offer, true, Color::White, at(0));
    let owed = |plan: &Plan, online_bots: &OnlineBots, history: &OpponentHistory, now| {
        return_game(plan, online_bots, &[], history, at(now)).is_some()
    };
    let balanced = plan(&["clock = \"1+0\"", ""]);
    assert!(owed(&balanced, &online_bots, &history, 10));
    assert!(!owed(&balanced, &online_bots, &history, 86_400));
    // The settings have changed, or the opponent has left, is blocked, or has declined.
    assert!(!owed(
        &plan(&["color = \"white\""]),
        &online_bots,
        &history,
        10
    ));
    assert!(!owed(&plan(&["rated = false"]), &online_bots, &history, 10));
    let alone = OnlineBots {
        bots: Vec::new(),
        ..online_bots.clone()
    };
    assert!(!owed(&balanced, &alone, &history, 10));
    let mut blocked = balanced.clone();
    blocked.blocked = vec![Pattern::try_from("ann".to_owned()).unwrap()];
    assert!(!owed(&blocked, &online_bots, &history, 10));
    history.record_refusal(&ann, offer, Refusal::Unanswered, at(10));
    assert!(!owed(&balanced, &online_bots, &history, 20));
    assert!(owed(&balanced, &online_bots, &history, 3_610));
}
