//! Takebacks, resignation and rematches, as tables.

use std::time::Duration;

use super::*;

fn terms(text: &str, patch: Value) -> PlaySettings {
    PlaySettings::of(
        &settings(text),
        &MatchInput::of_challenge(&challenge(patch), None),
    )
}

fn rated() -> Value {
    json!({"rated": true})
}

fn rated_bot() -> Value {
    let mut bot = bot();
    bot["rated"] = true.into();
    bot
}

#[test]
fn takebacks_follow_setting() {
    let everybody: [fn() -> Value; 4] = [|| json!({}), rated, bot, rated_bot];
    for (who, expected) in [
        ("never", [0, 0, 0, 0]),
        ("casual", [3, 0, 0, 0]),
        ("humans", [3, 3, 0, 0]),
        ("always", [3, 3, 3, 3]),
    ] {
        let text = format!("games.takebacks = \"{who}\"");
        let given = everybody.map(|patch| terms(&text, patch()).takebacks);
        assert_eq!(given, expected, "{who}");
    }
    let rule = "games.max_takebacks = 1\n[[rule]]\nmatch = { bot = true }\nplay = { takebacks = \"always\" }\n";
    let given = everybody.map(|patch| terms(rule, patch()).takebacks);
    assert_eq!(given, [1, 0, 1, 1]);
}

#[test]
fn resign_disabled_against_humans_by_default() {
    for (text, human, bot_too) in [
        ("", false, true),
        ("resign.humans = true", true, true),
        ("resign.enabled = false", false, false),
        ("[[rule]]\nplay = { resign = true }", true, true),
        (
            "[[rule]]\nmatch = { rated = false }\nplay = { resign = false }",
            false,
            false,
        ),
    ] {
        let resigns = |patch| terms(text, patch).resign.enabled;
        assert_eq!(
            (resigns(json!({})), resigns(bot())),
            (human, bot_too),
            "{text}"
        );
    }
}

#[test]
fn rule_sets_abort_time_and_rematch_offer() {
    let text = "games = { abort_after_s = 30 }\n[[rule]]\nmatch = { bot = false }\n\
                play = { abort_after_s = 0, offer_rematch = true }\n";
    let (human, bot) = (terms(text, json!({})), terms(text, bot()));
    assert_eq!((human.abort_after, human.offer_rematch), (None, true));
    let half_a_minute = Some(Duration::from_secs(30));
    assert_eq!((bot.abort_after, bot.offer_rematch), (half_a_minute, false));
    let by = "offers a rematch, waits for the first move for ever by rule 1";
    assert_eq!(human.rules.as_deref(), Some(by));
}

#[test]
fn rematches_in_a_row_are_limited() {
    let rematch = || json!({"rematchOf": "hgfedcba"});
    let rule = "[[rule]]\nmatch = { rematch = true, rated = false }\naccept = true\n";
    let later = ChallengeAnswer::Decline(DeclineReason::Later);
    for (text, number, expected) in [
        ("", 1, ChallengeAnswer::Accept),
        ("", 2, later),
        ("challenge.rematches = 3", 3, ChallengeAnswer::Accept),
        ("challenge.rematches = 3", 4, later),
        // The number was lost in a restart, or is not known in advance.
        ("", 0, ChallengeAnswer::Accept),
        ("challenge.rematches = 0", 0, later),
        (rule, 9, ChallengeAnswer::Accept),
    ] {
        let load = Load {
            rematch_number: number,
            ..Load::default()
        };
        let assessment = assessment(rematch(), &settings(text), &AcceptedLog::default(), load);
        assert_eq!(assessment.answer, expected, "number {number} with {text}");
    }
    let first = assessment(
        json!({}),
        &settings("challenge.rematches = 0"),
        &AcceptedLog::default(),
        Load::default(),
    );
    assert_eq!(first.answer, ChallengeAnswer::Accept);
}
