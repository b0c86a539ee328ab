use super::*;
use crate::bot::account::quota::Limit;
use crate::lichess::model::{Color, ColorChoice, User};

/// State machine with the inputs that it needs.
struct Fixture {
    matchmaking: Matchmaking,
    quota: Quota,
    start: Instant,
    inputs: Inputs,
}

fn user(name: &str) -> User {
    let wire = serde_json::json!({
        "id": name, "username": name, "title": "BOT",
        "perfs": {"blitz": {"games": 9, "rating": 2_000}},
    });
    serde_json::from_value(wire).unwrap()
}

fn online_bots(names: &[&str]) -> OnlineBots {
    OnlineBots {
        me: user("Me"),
        bots: names.iter().map(|name| user(name)).collect(),
    }
}

fn challenge(id: &str, to: &str, more: serde_json::Value) -> Box<Challenge> {
    let mut wire = serde_json::json!({
        "id": id, "status": "created", "challenger": {"name": "Me"}, "destUser": {"name": to},
        "variant": {"key": "standard"}, "rated": true, "speed": "blitz",
        "timeControl": {"type": "clock", "limit": 180, "increment": 2},
    });
    let more = more.as_object().unwrap().clone();
    wire.as_object_mut().unwrap().extend(more);
    serde_json::from_value(wire).unwrap()
}

fn declined(id: &str, by: &str, reason: &str) -> Box<Challenge> {
    let more = serde_json::json!({"status": "declined", "declineReasonKey": reason});
    challenge(id, by, more)
}

fn created(id: &str, to: &str) -> Box<Challenge> {
    challenge(id, to, serde_json::json!({}))
}

fn game(id: &str, opponent: &str, color: ColorChoice, status: &str) -> GameInfo {
    let wire = serde_json::json!({
        "gameId": id, "fullId": format!("{id}xxxx"), "fen": "8/8/8/8/8/8/8/8 w - - 0 1", "color": color.key(),
        "lastMove": "", "source": "friend", "status": {"name": status},
        "variant": {"key": "standard", "name": "Standard"}, "speed": "blitz", "perf": "blitz", "rated": true,
        "hasMoved": false, "isMyTurn": true, "secondsLeft": 180,
        "opponent": {"id": opponent, "username": format!("BOT {opponent}"), "rating": 2_000},
    });
    serde_json::from_value(wire).unwrap()
}

impl Fixture {
    fn new(config: &str) -> Self {
        let settings: Settings = toml::from_str(&format!("[matchmaking]\n{config}")).unwrap();
        let start = clock::now();
        Self {
            matchmaking: Matchmaking::new(&settings, OpponentHistory::default()),
            quota: Quota::default(),
            start,
            inputs: Inputs {
                stopping: false,
                ready: true,
                busy: false,
                correspondence: true,
                has_slot: true,
                arena_starts: None,
                now: start,
                date: clock::date(),
            },
        }
    }

    /// Matchmaking without an idle wait, with these bots online.
    fn eager(names: &[&str]) -> Self {
        let mut fixture = Self::new("enabled = true\nidle_s = 0\n");
        assert_eq!(fixture.next_action(0), Action::ListOnlineBots);
        fixture.matchmaking.on_online_bots(online_bots(names));
        fixture
    }

    /// Next action, this many seconds after the start.
    fn next_action(&mut self, seconds: u64) -> Action {
        let after = Duration::from_secs(seconds);
        self.inputs.date += (self.start + after).saturating_duration_since(self.inputs.now);
        self.inputs.now = self.start + after;
        self.matchmaking.next_action(self.inputs, &[], &self.quota)
    }

    fn choice(&mut self, seconds: u64) -> Choice {
        match self.next_action(seconds) {
            Action::Challenge(choice) => choice,
            other => panic!("{other:?}"),
        }
    }

    /// Why nothing is done, and seconds until the next attempt.
    fn idle(&self) -> (&str, u64) {
        let idle = self.matchmaking.idle().unwrap();
        let wait = idle.next.duration_since(self.inputs.date);
        (&idle.reason, wait.unwrap_or_default().as_secs())
    }

    fn alone(&self, name: &str) -> bool {
        let offer = Offer {
            time: crate::lichess::model::TimeControl::Clock {
                limit: 180,
                increment: 2,
            },
            variant: crate::lichess::model::Variant::Standard,
            rated: true,
        };
        let history = self.matchmaking.history();
        history
            .blocked_until(&Username::new(name), offer, clock::date())
            .is_some()
    }
}

#[test]
fn matchmaking_disabled_does_nothing() {
    let mut fixture = Fixture::new("");
    for seconds in [0, 100, 10_000] {
        assert_eq!(fixture.next_action(seconds), Action::Wait);
        assert_eq!(fixture.matchmaking.idle(), None);
    }
}

#[test]
fn matchmaking_avoids_game_overlapping_arena() {
    let config = "enabled = true\nidle_s = 0\nprofile = [{ clock = [\"3+2\", \"10+5\"] }]\n";
    let mut fixture = Fixture::new(config);
    assert_eq!(fixture.next_action(0), Action::ListOnlineBots);
    fixture.matchmaking.on_online_bots(online_bots(&["Ann"]));
    // A game of 3+2 lasts for 2 * (180 + 40 * 2) seconds.
    fixture.inputs.arena_starts = Some(fixture.start + Duration::from_secs(521));
    assert_eq!(fixture.next_action(2), Action::Wait);
    let reason = "an arena begins before any game would be over";
    assert_eq!(fixture.idle(), (reason, 519));
    fixture.inputs.arena_starts = Some(fixture.start + Duration::from_secs(523));
    assert_eq!(fixture.choice(3).offer.time.to_string(), "3+2");
}

#[test]
fn matchmaking_waits_for_others() {
    let mut fixture = Fixture::new("enabled = true\nidle_s = 60\n");
    assert_eq!(fixture.next_action(0), Action::Wait);
    assert_eq!(fixture.idle(), ("others may come first", 60));
    fixture.inputs.busy = true;
    assert_eq!(fixture.next_action(59), Action::Wait);
    assert_eq!(fixture.matchmaking.idle(), None);
    fixture.inputs.busy = false;
    assert_eq!(fixture.next_action(70), Action::Wait);
    assert_eq!(fixture.idle().1, 60);
    for (stopping, ready, has_slot) in [
        (true, true, true),
        (false, false, true),
        (false, true, false),
    ] {
        let before = fixture.inputs;
        fixture.inputs = Inputs {
            stopping,
            ready,
            has_slot,
            ..before
        };
        assert_eq!(fixture.next_action(140), Action::Wait);
        fixture.inputs = before;
    }
    assert_eq!(fixture.next_action(199), Action::Wait);
    assert_eq!(fixture.next_action(200), Action::ListOnlineBots);
    // One thing at a time.
    assert_eq!(fixture.next_action(270), Action::Wait);
    fixture
        .matchmaking
        .on_unreadable("the list of online bots cannot be read");
    assert_eq!(fixture.next_action(1), Action::Wait);
}

#[test]
fn matchmaking_unanswered_challenge_is_canceled() {
    let mut fixture = Fixture::eager(&["Ann"]);
    assert_eq!(fixture.choice(0).users, [Username::new("Ann")]);
    assert_eq!(fixture.next_action(1), Action::Wait);
    let sent = created("aaaaaaaa", "Ann");
    fixture.matchmaking.on_created(sent.clone(), "Ann".into());
    assert_eq!(
        fixture.matchmaking.pending().map(|it| &it.id),
        Some(&sent.id)
    );
    assert_eq!(fixture.next_action(10), Action::Wait);
    assert_eq!(fixture.idle().0, "Ann is challenged to 3+2 rated standard");
    assert_eq!(fixture.next_action(25), Action::Cancel(sent.id.clone()));
    assert_eq!(fixture.next_action(26), Action::Wait);
    // The echo of our cancel request says nothing about the opponent.
    let canceled = challenge("aaaaaaaa", "Ann", serde_json::json!({"status": "canceled"}));
    assert_eq!(fixture.matchmaking.on_closed(&canceled), None);
    assert!(!fixture.alone("Ann"));
    assert_eq!(fixture.matchmaking.on_canceled(true).unwrap().id, sent.id);
    assert!(fixture.alone("Ann") && fixture.matchmaking.pending().is_none());
    assert_eq!(fixture.next_action(27), Action::Wait);
    assert_eq!(fixture.idle().0, "the last challenge was refused");
    assert_eq!(fixture.next_action(60), Action::Wait);
    assert_eq!(fixture.next_action(61), Action::Wait);
    assert!(fixture.idle().0.contains("have all declined lately"));
}

#[test]
fn matchmaking_decline_backs_off() {
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    let other = declined("bbbbbbbb", "Ann", "later");
    assert_eq!(fixture.matchmaking.on_closed(&other), None);
    let reason = fixture
        .matchmaking
        .on_closed(&declined("aaaaaaaa", "Ann", "toofast"));
    assert_eq!(reason.as_deref(), Some("Ann has declined (tooFast)"));
    assert!(fixture.alone("Ann") && fixture.matchmaking.pending().is_none());
}

#[test]
fn matchmaking_event_before_response_counts() {
    // Declined before the response.
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    assert!(
        !fixture
            .matchmaking
            .on_lost_found(&created("aaaaaaaa", "Ann"))
    );
    fixture.matchmaking.on_echo(&created("aaaaaaaa", "Ann"));
    let reason = fixture
        .matchmaking
        .on_closed(&declined("aaaaaaaa", "Ann", "generic"));
    assert!(reason.is_some());
    assert_eq!(fixture.next_action(1), Action::Wait);
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    assert!(fixture.matchmaking.pending().is_none());
    // Accepted before the response.
    let mut fixture = Fixture::eager(&["Ann"]);
    let choice = fixture.choice(0);
    let begun = fixture
        .matchmaking
        .on_game_started(&game("aaaaaaaa", "Ann", choice.color, "started"), true);
    assert_eq!(begun.unwrap().kind, MatchmakingGame::First);
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    assert!(fixture.matchmaking.pending().is_none());
}

#[test]
fn matchmaking_lost_response_is_found_by_echo() {
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    fixture
        .matchmaking
        .on_not_created(&"Ann".into(), ChallengeFailure::Lost);
    assert_eq!(fixture.next_action(5), Action::Wait);
    assert!(
        fixture
            .matchmaking
            .on_lost_found(&created("aaaaaaaa", "Ann"))
    );
    assert!(matches!(fixture.next_action(21), Action::Cancel(_)));
    // The event stream may have echoed it before; it does so once.
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    assert!(
        !fixture
            .matchmaking
            .on_lost_found(&created("aaaaaaaa", "Ann"))
    );
    fixture.matchmaking.on_echo(&created("aaaaaaaa", "Ann"));
    fixture
        .matchmaking
        .on_not_created(&"Ann".into(), ChallengeFailure::Lost);
    let sent = created("aaaaaaaa", "Ann");
    assert_eq!(
        fixture.matchmaking.pending().map(|it| &it.id),
        Some(&sent.id)
    );
    assert_eq!(fixture.next_action(21), Action::Cancel(sent.id));
    // Without an echo there is nothing to wait for.
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    fixture
        .matchmaking
        .on_not_created(&"Ann".into(), ChallengeFailure::Lost);
    assert_eq!(fixture.next_action(31), Action::Wait);
    assert!(
        !fixture
            .matchmaking
            .on_lost_found(&created("aaaaaaaa", "Ann"))
    );
    fixture.choice(61);
}

#[test]
fn matchmaking_late_acceptance_is_our_game() {
    let mut fixture = Fixture::eager(&["Ann"]);
    let choice = fixture.choice(0);
    let sent = created("aaaaaaaa", "Ann");
    fixture.matchmaking.on_created(sent.clone(), "Ann".into());
    fixture.next_action(1);
    assert_eq!(fixture.next_action(25), Action::Cancel(sent.id));
    fixture.matchmaking.on_late_acceptance();
    assert_eq!(fixture.next_action(26), Action::Wait);
    let info = game("aaaaaaaa", "Ann", choice.color, "started");
    assert!(fixture.matchmaking.on_game_started(&info, true).is_some());
    assert!(!fixture.alone("Ann"));
    // The start of the game may have been reported before the response.
    fixture.matchmaking.on_late_acceptance();
    assert!(fixture.matchmaking.on_game_started(&info, true).is_none());
}

#[test]
fn matchmaking_cancels_when_last_slot_is_taken() {
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    let sent = created("aaaaaaaa", "Ann");
    fixture.matchmaking.on_created(sent.clone(), "Ann".into());
    fixture.inputs.busy = true;
    assert_eq!(fixture.next_action(1), Action::Wait);
    fixture.inputs.has_slot = false;
    assert_eq!(fixture.next_action(2), Action::Cancel(sent.id));
    assert!(fixture.matchmaking.on_canceled(true).is_none());
    assert!(!fixture.alone("Ann"));
    // No challenge stays open during shutdown.
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    fixture.inputs.stopping = true;
    assert!(matches!(fixture.next_action(1), Action::Cancel(_)));
}

#[test]
fn matchmaking_pair_has_both_colors() {
    let mut fixture = Fixture::eager(&["Ann", "Ben"]);
    let first = fixture.choice(0);
    let opponent = first.users[0].clone();
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", opponent.as_str()), opponent.clone());
    let info = game("aaaaaaaa", opponent.as_str(), first.color, "started");
    let begun = fixture.matchmaking.on_game_started(&info, true).unwrap();
    assert_eq!(begun.kind, MatchmakingGame::First);
    assert!(begun.challenge.is_some());
    let date = fixture.inputs.date;
    fixture
        .quota
        .count_bot_game(&info.id, Some(begun.kind), date);
    assert!(!fixture.matchmaking.on_game_finished(&game(
        "aaaaaaaa",
        opponent.as_str(),
        first.color,
        "mate"
    )));
    let second = fixture.choice(5);
    assert_eq!(second.users, first.users[..1]);
    let colors = [first.color, second.color];
    assert!(colors.contains(&ColorChoice::White) && colors.contains(&ColorChoice::Black));
    let info = game("bbbbbbbb", opponent.as_str(), second.color, "started");
    let begun = fixture.matchmaking.on_game_started(&info, true).unwrap();
    assert_eq!(begun.kind, MatchmakingGame::Second);
    fixture
        .quota
        .count_bot_game(&info.id, Some(begun.kind), date);
    fixture
        .matchmaking
        .on_created(created("bbbbbbbb", opponent.as_str()), opponent);
    assert_eq!(fixture.next_action(10), Action::Wait);
    let (reason, wait) = fixture.idle();
    assert!(
        reason.contains("2 of 80 games") && (2_000..2_300).contains(&wait),
        "{reason} {wait}"
    );
}

#[test]
fn matchmaking_new_settings_apply_at_once() {
    let mut fixture = Fixture::eager(&["Ann", "Ben"]);
    let settings = "[challenge]\nblock = [\"ann\"]\n[matchmaking]\nenabled = true\nidle_s = 0\n";
    fixture
        .matchmaking
        .set_settings(&toml::from_str(settings).unwrap());
    assert_eq!(fixture.choice(1).users, [Username::new("Ben")]);
    fixture.matchmaking.on_nobody_available();
    fixture.matchmaking.set_settings(&Settings::default());
    assert_eq!(fixture.next_action(2), Action::Wait);
}

#[test]
fn matchmaking_unplayed_game_backs_off() {
    let mut fixture = Fixture::eager(&["Ann"]);
    let choice = fixture.choice(0);
    fixture
        .matchmaking
        .on_game_started(&game("aaaaaaaa", "Ann", choice.color, "started"), true);
    assert!(!fixture.matchmaking.on_game_finished(&game(
        "bbbbbbbb",
        "Ann",
        choice.color,
        "aborted"
    )));
    assert!(fixture.matchmaking.on_game_finished(&game(
        "aaaaaaaa",
        "Ann",
        choice.color,
        "aborted"
    )));
    assert!(fixture.alone("Ann"));
}

#[test]
fn matchmaking_ignores_games_of_others() {
    let mut fixture = Fixture::eager(&["Ann"]);
    let theirs = game("zzzzzzzz", "Ben", ColorChoice::White, "started");
    assert!(fixture.matchmaking.on_game_started(&theirs, true).is_none());
    fixture.choice(0);
    assert!(fixture.matchmaking.on_game_started(&theirs, true).is_none());
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    let of_ann = game("zzzzzzzz", "Ann", ColorChoice::White, "started");
    assert!(fixture.matchmaking.on_game_started(&of_ann, true).is_none());
    assert_eq!(of_ann.color, Color::White);
    assert!(fixture.matchmaking.pending().is_some());
}

#[test]
fn matchmaking_keeps_challenge_when_opponent_challenges_us() {
    let mut fixture = Fixture::eager(&["Ann"]);
    fixture.choice(0);
    let theirs = game("zzzzzzzz", "Ann", ColorChoice::White, "started");
    assert!(
        fixture
            .matchmaking
            .on_game_started(&theirs, false)
            .is_none()
    );
    fixture
        .matchmaking
        .on_created(created("aaaaaaaa", "Ann"), "Ann".into());
    assert!(fixture.matchmaking.pending().is_some());
}

#[test]
fn matchmaking_obeys_quota_first() {
    let mut fixture = Fixture::new("enabled = true\nidle_s = 0\n");
    let date = fixture.inputs.date;
    fixture
        .quota
        .mark_exhausted(Limit::BotGames, Duration::from_secs(5_000), date);
    assert_eq!(fixture.next_action(0), Action::Wait);
    let (reason, wait) = fixture.idle();
    assert!(
        reason.contains("the 100 games between bots") && (4_998..=5_000).contains(&wait),
        "{reason} {wait}"
    );
    assert_eq!(fixture.next_action(5_001), Action::ListOnlineBots);
}
