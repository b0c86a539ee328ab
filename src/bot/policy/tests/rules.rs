//! Rules, limits and the queue, as tables and at random.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::{Match, Range};

/// Returns whether a rule with this `match` matches this challenge.
fn matches(matching: &str, patch: Value) -> bool {
    let rule = format!("[[rule]]\nmatch = {{ {matching} }}\ndecline = \"noBot\"\n");
    let declined = ChallengeAnswer::Decline(DeclineReason::NoBot);
    answer(patch, &settings(&rule)) == declined
}

#[test]
fn rules_every_match_key_matches() {
    let rated = || json!({"rated": true});
    let titled =
        || json!({"challenger": {"id": "ann", "name": "Ann", "title": "IM", "rating": 2400}});
    let new =
        || json!({"challenger": {"id": "ann", "name": "Ann", "rating": 1500, "provisional": true}});
    let nobody = || json!({"challenger": null});
    let days = || json!({"speed": "correspondence", "timeControl": {"type": "correspondence", "daysPerTurn": 3}});
    let unlimited = || json!({"speed": "correspondence", "timeControl": {"type": "unlimited"}});
    let chess960 = || json!({"variant": {"key": "chess960"}});
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let from = |fen: &str| json!({"variant": {"key": "fromPosition"}, "initialFen": fen});
    // What is in a rule, what fits, what does not.
    let table: Vec<(&str, Vec<Value>, Vec<Value>)> = vec![
        ("", vec![json!({}), bot(), nobody()], vec![]),
        ("bot = true", vec![bot()], vec![json!({}), nobody()]),
        (
            "bot = false",
            vec![json!({}), titled(), nobody()],
            vec![bot()],
        ),
        ("title = \"IM\"", vec![titled()], vec![json!({}), bot()]),
        ("title = [\"GM\", \"IM\"]", vec![titled()], vec![json!({})]),
        ("name = \"ann\"", vec![json!({})], vec![bot(), nobody()]),
        (
            "name = [\"x*\", \"*B\"]",
            vec![bot()],
            vec![json!({}), nobody()],
        ),
        (
            "rating = \"1500..2200\"",
            vec![json!({}), bot()],
            vec![titled(), nobody()],
        ),
        ("rating = \"..1499\"", vec![], vec![json!({}), nobody()]),
        (
            "rating_diff = \"..-500\"",
            vec![json!({})],
            vec![bot(), nobody()],
        ),
        ("rating_diff = 200", vec![bot()], vec![json!({})]),
        ("provisional = true", vec![new()], vec![json!({})]),
        ("provisional = false", vec![json!({})], vec![new()]),
        ("age_days = \"0..\"", vec![], vec![json!({})]),
        ("variant = \"chess960\"", vec![chess960()], vec![json!({})]),
        (
            "speed = [\"blitz\", \"rapid\"]",
            vec![json!({}), clock(600, 0)],
            vec![clock(60, 0), days()],
        ),
        (
            "clock = \"3+2\"",
            vec![json!({})],
            vec![clock(180, 0), clock(120, 2), days()],
        ),
        (
            "clock = [\"½+0\", \"unlimited\"]",
            vec![clock(30, 0), unlimited()],
            vec![json!({}), days()],
        ),
        (
            "base_s = \"..180\"",
            vec![json!({}), clock(60, 0)],
            vec![clock(181, 0), days()],
        ),
        (
            "increment_s = 0",
            vec![clock(180, 0)],
            vec![json!({}), unlimited()],
        ),
        (
            "estimate_s = \"260..\"",
            vec![json!({}), clock(0, 10)],
            vec![clock(180, 1), days()],
        ),
        (
            "days = \"2..5\"",
            vec![days()],
            vec![json!({}), unlimited()],
        ),
        ("rated = true", vec![rated()], vec![json!({})]),
        ("rated = false", vec![json!({})], vec![rated()]),
        (
            "color = \"black\"",
            vec![json!({"color": "white"})],
            vec![json!({}), json!({"color": "black"})],
        ),
        (
            "color = \"random\"",
            vec![json!({})],
            vec![json!({"color": "white"})],
        ),
        (
            "rules = \"noAbort\"",
            vec![json!({"rules": ["noRematch", "noabort"]})],
            vec![json!({}), json!({"rules": ["noRematch"]})],
        ),
        (
            "rematch = true",
            vec![json!({"rematchOf": "hgfedcba"})],
            vec![json!({})],
        ),
        (
            "fen = \"*Q*\"",
            vec![json!({}), from(start)],
            vec![from("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), chess960()],
        ),
        (
            "fen = [\"* b\", \"4k3/*\"]",
            vec![from("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")],
            vec![json!({}), chess960()],
        ),
        ("engine = \"stockfish\"", vec![], vec![json!({}), bot()]),
        ("bio = \"*\"", vec![], vec![json!({}), bot()]),
        (
            "bot = true, speed = \"blitz\"",
            vec![bot()],
            vec![json!({})],
        ),
    ];
    for (matching, fits, others) in table {
        for patch in fits {
            assert!(matches(matching, patch.clone()), "{matching}: {patch}");
        }
        for patch in others {
            assert!(!matches(matching, patch.clone()), "{matching}: {patch}");
        }
    }
}

#[test]
fn rules_account_age_matches_if_known() {
    let young = settings("[[rule]]\nmatch = { age_days = \"..6\" }\ndecline = \"later\"\n");
    assert!(needs_profile(&young) && !needs_profile(&Settings::default()));
    let challenge = challenge(json!({}));
    for (age_days, expected) in [
        (None, ChallengeAnswer::Accept),
        (Some(7), ChallengeAnswer::Accept),
        (Some(6), ChallengeAnswer::Decline(DeclineReason::Later)),
    ] {
        let (case, none) = ((&challenge, None, age_days), AcceptedLog::default());
        let assessment = assess(case, &young, &none, Load::default());
        assert_eq!(assessment.answer, expected, "{age_days:?}");
    }
}

#[test]
fn rules_match_profile_and_hours() {
    let with = |patch: Value, profile: &str, hour: u64| {
        let challenge = challenge(patch);
        let mut input = MatchInput::of_challenge(&challenge, None);
        input.facts.profile = Some(profile.to_owned());
        input.at = NOW + Duration::from_secs(3_600 * hour);
        (challenge, input)
    };
    let fishy = "I am Stockfish 17 on a phone\nhttps://stockfishchess.org";
    for (matching, (challenge, input), expected) in [
        ("engine = \"stockfish\"", with(bot(), fishy, 0), true),
        (
            "engine = [\"lc0\", \"sunfish\"]",
            with(bot(), fishy, 0),
            false,
        ),
        // What people say about engines is not about theirs.
        ("engine = \"stockfish\"", with(json!({}), fishy, 0), false),
        ("bio = \"*on a phone*\"", with(json!({}), fishy, 0), true),
        (
            "bio = [\"*tablet*\", \"on a phone\"]",
            with(json!({}), fishy, 0),
            false,
        ),
        ("hours = \"08:00-22:00 UTC\"", with(json!({}), "", 8), true),
        (
            "hours = \"08:00-22:00 UTC\"",
            with(json!({}), "", 22),
            false,
        ),
        (
            "hours = [\"22:00-02:00 UTC\", \"12:00-13:00 UTC\"]",
            with(json!({}), "", 1),
            true,
        ),
    ] {
        let rule = format!("[[rule]]\nmatch = {{ {matching} }}\ndecline = \"noBot\"\n");
        let settings = settings(&rule);
        assert_eq!(needs_profile(&settings), !matching.starts_with("hours"));
        let case = (&challenge, None, &input);
        let assessment = assess_input(case, &settings, &AcceptedLog::default(), Load::default());
        let declined = ChallengeAnswer::Decline(DeclineReason::NoBot);
        assert_eq!(assessment.answer == declined, expected, "{matching}");
    }
}

#[test]
fn commands_of_the_operator_do_not_renumber_rules() {
    let mut settings = settings("[[rule]]\nmatch = { bot = true }\naccept = true\n");
    let by_operator = Rule {
        name: "Rob, by operator command".to_owned(),
        by_operator: true,
        ..Rule::default()
    };
    settings
        .rule
        .splice(0..0, [by_operator.clone(), by_operator]);
    let challenge = challenge(bot());
    let input = MatchInput::of_challenge(&challenge, None);
    let case = (&challenge, None, &input);
    let assessment = assess_input(case, &settings, &AcceptedLog::default(), Load::default());
    assert_eq!(assessment.reason, "rule 1");
}

#[test]
fn listed_user_is_accepted_only_by_rule_about_listed() {
    let settings = settings(
        "[challenge]\nblock_lists = [\"https://example.org/list\"]\n\
         [[rule]]\nmatch = { bot = true }\naccept = true\nplay = { max_depth = 3 }\n\
         [[rule]]\nname = \"clones\"\nmatch = { listed = true, rated = false }\naccept = true\n",
    );
    let assess = |patch: Value, listed: bool| {
        let challenge = challenge(patch);
        let mut input = MatchInput::of_challenge(&challenge, None);
        input.facts.listed = listed.then(|| "https://example.org/list".to_owned());
        let case = (&challenge, None, &input);
        let assessment = assess_input(case, &settings, &AcceptedLog::default(), Load::default());
        let rules = PlaySettings::of(&settings, &input).rules;
        (assessment, rules.is_some())
    };
    let mut rated = bot();
    rated["rated"] = true.into();
    let reason = "Rob is on the block list https://example.org/list";
    for (patch, listed, answer, why, limited) in [
        (bot(), false, ChallengeAnswer::Accept, "rule 1", true),
        (bot(), true, ChallengeAnswer::Accept, "rule `clones`", false),
        (
            rated.clone(),
            false,
            ChallengeAnswer::Accept,
            "rule 1",
            true,
        ),
        (
            rated,
            true,
            ChallengeAnswer::Decline(DeclineReason::Generic),
            reason,
            false,
        ),
    ] {
        let (assessment, by_rule) = assess(patch.clone(), listed);
        assert_eq!(
            (assessment.answer, assessment.reason.as_str()),
            (answer, why),
            "{patch}"
        );
        assert_eq!(by_rule, limited, "{patch}");
    }
    let (assessment, _) = assess(json!({}), false);
    let checks = assessment.checks.iter();
    let shown: Vec<_> = checks
        .map(|check| (check.name.as_str(), check.result.as_str()))
        .collect();
    assert!(shown.contains(&("block lists", "not listed")), "{shown:?}");
}

#[test]
fn limit_at_once_counts_games_under_the_rule() {
    let settings = settings(
        "[[rule]]\nname = \"bots\"\nmatch = { bot = true }\nlimit = { concurrency = 2 }\n",
    );
    let challenge = challenge(bot());
    let answer = |running: usize| {
        let case = ChallengeContext {
            challenge: &challenge,
            compat: None,
            input: &MatchInput::of_challenge(&challenge, None),
        };
        let usage = LimitUsage {
            accepted: &|_, _, _| (0, None),
            running: &|limit| Some(if limit == "rule `bots`" { running } else { 0 }),
        };
        evaluate(case, &settings, &usage, Load::default())
    };
    let (free, full) = (answer(1), answer(2));
    assert_eq!(
        (free.answer, free.limit.as_deref()),
        (ChallengeAnswer::Accept, Some("rule `bots`"))
    );
    assert_eq!(full.answer, ChallengeAnswer::Decline(DeclineReason::Later));
    assert_eq!(
        full.reason,
        "the limit of 2 at the same time by rule `bots` is reached"
    );
}

/// No bots, but for Rob; nobody who takes White, and otherwise as `[challenge]` says, which is no rated games.
const STORY: &str = r#"
[challenge]
rated = false
block = ["blocked*"]

[[rule]]
name = "friends"
match = { name = "rob" }
accept = true

[[rule]]
match = { bot = true }
decline = "noBot"

[[rule]]
match = { color = "black" }
decline = "generic"
"#;

#[test]
fn rules_first_decision_wins() {
    let settings = settings(STORY);
    let other_bot = json!({"challenger": {"id": "x", "name": "X", "title": "BOT", "rating": 1}});
    let mut rated_rob = bot();
    rated_rob["rated"] = true.into();
    rated_rob["color"] = "white".into();
    let blocked = json!({"challenger": {"id": "blocked1", "name": "Blocked1", "rating": 1}});
    let trap = json!({"rules": ["noAbort"]});
    for (patch, expected, reason) in [
        (json!({}), ChallengeAnswer::Accept, "within [challenge]"),
        (rated_rob, ChallengeAnswer::Accept, "rule `friends`"),
        (
            other_bot,
            ChallengeAnswer::Decline(DeclineReason::NoBot),
            "rule 2",
        ),
        (
            json!({"color": "white"}),
            ChallengeAnswer::Decline(DeclineReason::Generic),
            "rule 3",
        ),
        (
            json!({"rated": true}),
            ChallengeAnswer::Decline(DeclineReason::Casual),
            "rated games are not played",
        ),
        (
            blocked,
            ChallengeAnswer::Decline(DeclineReason::Generic),
            "Blocked1 is blocked",
        ),
        (
            trap,
            ChallengeAnswer::Decline(DeclineReason::Generic),
            "noAbort is not accepted: the game could hold a slot forever",
        ),
    ] {
        let assessment = assessment(
            patch.clone(),
            &settings,
            &AcceptedLog::default(),
            Load::default(),
        );
        assert_eq!(
            (assessment.answer, assessment.reason.as_str()),
            (expected, reason),
            "{patch}"
        );
    }
}

#[test]
fn rules_daily_limits_decline() {
    let settings = settings(
        "[challenge]\nper_user_day = 2\n[[rule]]\nname = \"bots\"\nmatch = { bot = true }\nlimit = { per_day = 1 }\n",
    );
    let mut accepted_log = AcceptedLog::default();
    let mut play = |patch: Value, n: u32| {
        let assessment = assessment(patch.clone(), &settings, &accepted_log, Load::default());
        if assessment.answer == ChallengeAnswer::Accept {
            let id = format!("game{n:04}").parse().unwrap();
            let user = MatchInput::of_challenge(&challenge(patch), None).name;
            accepted_log.add(&id, user.as_ref(), &assessment.limit.unwrap(), None, NOW);
        }
        (assessment.answer, assessment.reason)
    };
    let ben = || json!({"challenger": {"id": "ben", "name": "Ben", "rating": 1500}});
    let later = ChallengeAnswer::Decline(DeclineReason::Later);
    for n in 0..2 {
        assert_eq!(play(json!({}), n).0, ChallengeAnswer::Accept);
    }
    let (answer, reason) = play(json!({}), 2);
    assert_eq!(answer, later);
    assert_eq!(
        reason,
        "the limit of 2 in 24 hours for Ann by [challenge] is reached; next at 1970-01-02 00:00 UTC"
    );
    assert_eq!(play(ben(), 3).0, ChallengeAnswer::Accept);
    assert_eq!(play(bot(), 4).0, ChallengeAnswer::Accept);
    assert_eq!(play(bot(), 5).0, later);
    let other = json!({"challenger": {"id": "x", "name": "X", "title": "BOT", "rating": 1}});
    assert_eq!(play(other, 6).0, later);
}

#[test]
fn rules_priority_ranks_queue() {
    let rank = |text: &str, patch| {
        rank(
            &settings(text),
            &MatchInput::of_challenge(&challenge(patch), None),
        )
    };
    let strong = || json!({"challenger": {"id": "x", "name": "X", "rating": 2400}});
    let vip = "[[rule]]\nmatch = { bot = true }\npriority = 5\n";
    for (text, first, second) in [
        ("", json!({}), bot()),
        ("challenge.prefer = \"bots\"", bot(), json!({})),
        ("challenge.prefer = \"strongest\"", strong(), json!({})),
        (vip, bot(), strong()),
    ] {
        let (first, second) = (rank(text, first), rank(text, second));
        assert!(first < second, "{text}: {first:?} {second:?}");
    }
    let first_come = "challenge.prefer = \"first\"";
    assert_eq!(rank(first_come, bot()), rank(first_come, strong()));
}

#[test]
fn rules_set_play_settings() {
    let settings = settings(
        r#"
        [[rule]]
        name = "gently"
        match = { bot = false, rating = "..1600" }
        play = { book = false, resign = true, max_depth = 4 }

        [[rule]]
        match = { bot = true }
        decline = "noBot"

        [[rule]]
        match = { rated = false }
        accept = true
        play = { book = true, chat = false, max_move_ms = 700, offer_draws = false }

        [[rule]]
        play = { accept_draws = false }
        "#,
    );
    let terms = |patch| {
        PlaySettings::of(
            &settings,
            &MatchInput::of_challenge(&challenge(patch), None),
        )
    };
    let plain = PlaySettings::defaults(&settings);
    assert!(plain.book.are_used() && plain.chat && !plain.resign.enabled && plain.rules.is_none());
    // The first value counts, and reading ends with the rule that accepts.
    let ann = terms(json!({}));
    assert!(!ann.book.are_used() && !ann.chat && ann.resign.enabled);
    assert!(!ann.draw.offer && ann.draw.accept);
    let think = MoveLimits {
        time: Some(Duration::from_millis(700)),
        depth: Some(4),
        nodes: None,
    };
    assert_eq!(ann.move_limits, think);
    assert_eq!(
        ann.rules.as_deref(),
        Some(
            "no books, offers no draws, resigns, no chat, 700 ms for a move at most, 4 plies deep at most \
             by rule `gently` and rule 3"
        )
    );
    // A rule that declines applies to challenges only: an arena has paired us with this bot.
    let mut rated_bot = bot();
    rated_bot["rated"] = true.into();
    let arena = terms(rated_bot);
    assert!(
        arena.book.are_used() && !arena.draw.accept && arena.move_limits == MoveLimits::default()
    );
}

/// A table for rules that may or may not match, each with a decision or none.
fn any_rules() -> impl Strategy<Value = Vec<Rule>> {
    let matching = (
        prop::option::of(any::<bool>()),
        prop::option::of(any::<bool>()),
        prop::option::of(1_400_i64..1_700),
    );
    let matching = matching.prop_map(|(bot, rated, rating)| Match {
        bot,
        rated,
        rating: rating.map(Range::from),
        ..Match::default()
    });
    let decision = prop_oneof![
        Just((None, None)),
        Just((Some(true), None)),
        Just((None, Some(config::Decline::OnlyBot))),
    ];
    let rule = (matching, decision).prop_map(|(matching, (accept, decline))| Rule {
        matching,
        accept,
        decline,
        priority: Some(1),
        ..Rule::default()
    });
    prop::collection::vec(rule, 0..6)
}

fn any_challenge() -> impl Strategy<Value = Value> {
    let parts = (any::<bool>(), any::<bool>(), 1_400..1_700, 0_u8..4);
    parts.prop_map(|(bot, rated, rating, odd)| {
        let title = bot.then_some("BOT");
        let mut patch = json!({
            "challenger": {"id": "x", "name": "X", "title": title, "rating": rating}, "rated": rated,
        });
        match odd {
            0 => patch["variant"] = json!({"key": "bughouse"}),
            1 => patch["challenger"]["name"] = "Blocked".into(),
            _ => {}
        }
        patch
    })
}

proptest! {
    #[test]
    fn rules_cascade_play_settings(rules in any_rules(), patch in any_challenge(), extra in any_rules()) {
        let blocked = Pattern::try_from("blocked".to_owned()).unwrap();
        let with = |rule: Vec<Rule>| Settings {
            rule,
            challenge: config::Challenge { block: vec![blocked.clone()], rated: false, ..config::Challenge::default() },
            ..Settings::default()
        };
        let judged = assessment(patch.clone(), &with(rules.clone()), &AcceptedLog::default(), Load::default());
        let input = MatchInput::of_challenge(&challenge(patch.clone()), None);
        let closed = patch["variant"]["key"] == "bughouse" || patch["challenger"]["name"] == "Blocked";
        // Reference: the first rule that matches and decides, else the section.
        let decider = rules.iter().find(|rule| {
            is_final(rule) && match_input::first_objection(rule, &input).is_none()
        });
        let accepted = match decider {
            _ if closed => false,
            Some(rule) => rule.accept == Some(true),
            None => patch["rated"] == false,
        };
        prop_assert_eq!(judged.answer == ChallengeAnswer::Accept, accepted);
        // Rules below the deciding one are never read.
        if decider.is_some() {
            let more = assessment(patch.clone(), &with([rules.clone(), extra].concat()), &AcceptedLog::default(), Load::default());
            prop_assert_eq!(&more, &judged);
        }
        // Without a free slot nothing is accepted, and while draining nothing waits.
        let full = Load { full: true, ..Load::default() };
        let waits = assessment(patch.clone(), &with(rules.clone()), &AcceptedLog::default(), full);
        prop_assert_eq!(waits.answer == ChallengeAnswer::Wait, accepted);
        let drains = Load { draining: true, ..full };
        let drains = assessment(patch, &with(rules), &AcceptedLog::default(), drains);
        prop_assert!(matches!(drains.answer, ChallengeAnswer::Decline(_)));
    }
}

#[test]
fn rules_match_game_like_its_challenge() {
    let settings = settings(
        "[[rule]]\naccept = true\n\
         match = { age_days = \"..40\", rules = \"noRematch\", rematch = true }\n\
         [[rule]]\nname = \"a\"\nmatch = { color = \"random\" }\nplay = { max_depth = 3 }\n\
         [[rule]]\nname = \"b\"\nmatch = { color = \"white\" }\nplay = { max_nodes = 4 }\n",
    );
    let by = |input: &MatchInput| PlaySettings::of(&settings, input).rules.unwrap_or_default();
    let of = |patch: Value, age_days| MatchInput::of_challenge(&challenge(patch), age_days);
    // The stream of a game says only who has White.
    let game = of(json!({"color": "black"}), None);
    assert!(by(&game).ends_with("by rule `b`"), "{}", by(&game));
    let recalled = |input: &MatchInput| {
        let mut game = game.clone();
        let kept = serde_json::to_string(&input.facts).unwrap();
        game.facts = serde_json::from_str(&kept).unwrap();
        by(&game)
    };
    let by_random_color = of(json!({}), None);
    assert!(by(&by_random_color).ends_with("by rule `a`"));
    assert!(recalled(&by_random_color).ends_with("by rule `a` and rule `b`"));
    // Rules below the first accepting one do not apply.
    let patch = json!({"rules": ["noRematch"], "rematchOf": "hgfedcba"});
    let accepted = of(patch, Some(30));
    assert_eq!([by(&accepted), recalled(&accepted)], ["", ""]);
}
