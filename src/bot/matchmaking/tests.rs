use super::*;
use crate::bot::account::quota::Limit;
use crate::lichess::model::{Color, ColorChoice, User};

/// What the tests need beside the machine itself.
struct AccountContext {
    matchmaking: Matchmaking,
    quota: Quota,
    start: Instant,
    scene: Inputs,
}

fn user(name: &str) -> User {
    let wire = serde_json::json!({
        "id": name, "username": name, "title": "BOT",
        "perfs": {"blitz": {"games": 9, "rating": 2_000}},
    });
    serde_json::from_value(wire).unwrap()
}

fn roster(names: &[&str]) -> OnlineBots {
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

impl AccountContext {
    fn new(config: &str) -> Self {
        let settings: Settings = toml::from_str(&format!("[matchmaking]\n{config}")).unwrap();
        let start = clock::now();
        Self {
            matchmaking: Matchmaking::new(&settings, Memory::default()),
            quota: Quota::default(),
            start,
            scene: Inputs {
                stopping: false,
                ready: true,
                busy: false,
                room: true,
                arena: None,
                now: start,
                date: clock::date(),
            },
        }
    }

    /// One that looks for games at once, with these online.
    fn eager(names: &[&str]) -> Self {
        let mut house = Self::new("enabled = true\nidle_s = 0\n");
        assert_eq!(house.step(0), Step::Discovery);
        house.matchmaking.scouted(Some(roster(names)));
        house
    }

    /// The next step, so many seconds after the start.
    fn step(&mut self, seconds: u64) -> Step {
        let after = Duration::from_secs(seconds);
        self.scene.date += (self.start + after).saturating_duration_since(self.scene.now);
        self.scene.now = self.start + after;
        self.matchmaking.step(self.scene, &self.quota)
    }

    fn choice(&mut self, seconds: u64) -> Choice {
        match self.step(seconds) {
            Step::Challenge(choice) => choice,
            other => panic!("{other:?}"),
        }
    }

    /// Why nothing is done, and in how many seconds something is.
    fn idle(&self) -> (&str, u64) {
        let idle = self.matchmaking.idle().unwrap();
        let wait = idle.next.duration_since(self.scene.date);
        (&idle.why, wait.unwrap_or_default().as_secs())
    }

    fn alone(&self, name: &str) -> bool {
        let offer = Offer {
            limit: 180,
            increment: 2,
            variant: crate::lichess::model::Variant::Standard,
            rated: true,
        };
        let memory = self.matchmaking.memory();
        memory
            .alone_until(&Username::new(name), offer, clock::date())
            .is_some()
    }
}

#[test]
fn nothing_is_looked_for_unless_it_is_wanted() {
    let mut house = AccountContext::new("");
    for seconds in [0, 100, 10_000] {
        assert_eq!(house.step(seconds), Step::Wait);
        assert_eq!(house.matchmaking.idle(), None);
    }
}

#[test]
fn a_game_that_an_arena_would_cut_into_is_not_begun() {
    let config = "enabled = true\nidle_s = 0\nprofile = [{ clock = [\"3+2\", \"10+5\"] }]\n";
    let mut house = AccountContext::new(config);
    assert_eq!(house.step(0), Step::Discovery);
    house.matchmaking.scouted(Some(roster(&["Ann"])));
    // A game of 3+2 lasts for 2 * (180 + 40 * 2) seconds.
    house.scene.arena = Some(house.start + Duration::from_secs(521));
    assert_eq!(house.step(2), Step::Wait);
    let why = "an arena begins before any game would be over";
    assert_eq!(house.idle(), (why, 519));
    house.scene.arena = Some(house.start + Duration::from_secs(523));
    assert_eq!(house.choice(3).offer.limit, 180);
}

#[test]
fn others_come_first() {
    let mut house = AccountContext::new("enabled = true\nidle_s = 60\n");
    assert_eq!(house.step(0), Step::Wait);
    assert_eq!(house.idle(), ("others may come first", 60));
    house.scene.busy = true;
    assert_eq!(house.step(59), Step::Wait);
    assert_eq!(house.matchmaking.idle(), None);
    house.scene.busy = false;
    assert_eq!(house.step(70), Step::Wait);
    assert_eq!(house.idle().1, 60);
    for (stopping, ready, room) in [
        (true, true, true),
        (false, false, true),
        (false, true, false),
    ] {
        let before = house.scene;
        house.scene = Inputs {
            stopping,
            ready,
            room,
            ..before
        };
        assert_eq!(house.step(140), Step::Wait);
        house.scene = before;
    }
    assert_eq!(house.step(199), Step::Wait);
    assert_eq!(house.step(200), Step::Discovery);
    // One thing at a time.
    assert_eq!(house.step(270), Step::Wait);
    house.matchmaking.scouted(None);
    assert_eq!(house.step(1), Step::Wait);
}

#[test]
fn a_challenge_that_is_not_answered_is_taken_back() {
    let mut house = AccountContext::eager(&["Ann"]);
    assert_eq!(house.choice(0).users, [Username::new("Ann")]);
    assert_eq!(house.step(1), Step::Wait);
    let sent = created("aaaaaaaa", "Ann");
    house.matchmaking.stands(sent.clone(), "Ann".into());
    assert_eq!(house.matchmaking.pending().map(|it| &it.id), Some(&sent.id));
    assert_eq!(house.step(10), Step::Wait);
    assert_eq!(house.idle().0, "Ann is challenged to 3+2 rated standard");
    assert_eq!(house.step(25), Step::TakeBack(sent.id.clone()));
    assert_eq!(house.step(26), Step::Wait);
    // The echo of our taking it back says nothing about him.
    let canceled = challenge("aaaaaaaa", "Ann", serde_json::json!({"status": "canceled"}));
    assert_eq!(house.matchmaking.over(&canceled), None);
    assert!(!house.alone("Ann"));
    assert_eq!(house.matchmaking.taken_back(true).unwrap().id, sent.id);
    assert!(house.alone("Ann") && house.matchmaking.pending().is_none());
    assert_eq!(house.step(27), Step::Wait);
    assert_eq!(house.idle().0, "the last challenge has come to nothing");
    assert_eq!(house.step(60), Step::Wait);
    assert_eq!(house.step(61), Step::Wait);
    assert!(house.idle().0.contains("have all declined lately"));
}

#[test]
fn who_declines_is_left_alone() {
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    house
        .matchmaking
        .stands(created("aaaaaaaa", "Ann"), "Ann".into());
    let other = declined("bbbbbbbb", "Ann", "later");
    assert_eq!(house.matchmaking.over(&other), None);
    let told = house
        .matchmaking
        .over(&declined("aaaaaaaa", "Ann", "toofast"));
    assert_eq!(told.as_deref(), Some("Ann has declined (tooFast)"));
    assert!(house.alone("Ann") && house.matchmaking.pending().is_none());
}

#[test]
fn an_answer_may_come_before_the_answer() {
    // A no before we know what the challenge is called, but for the event stream.
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    assert!(!house.matchmaking.echoed(&created("aaaaaaaa", "Ann")));
    let told = house
        .matchmaking
        .over(&declined("aaaaaaaa", "Ann", "generic"));
    assert!(told.is_some());
    assert_eq!(house.step(1), Step::Wait);
    house
        .matchmaking
        .stands(created("aaaaaaaa", "Ann"), "Ann".into());
    assert!(house.matchmaking.pending().is_none());
    // And a yes.
    let mut house = AccountContext::eager(&["Ann"]);
    let choice = house.choice(0);
    let begun = house
        .matchmaking
        .began(&game("aaaaaaaa", "Ann", choice.color, "started"));
    assert_eq!(begun.unwrap().sought, Sought::First);
    house
        .matchmaking
        .stands(created("aaaaaaaa", "Ann"), "Ann".into());
    assert!(house.matchmaking.pending().is_none());
}

#[test]
fn a_challenge_whose_answer_is_lost_is_found_again() {
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    house
        .matchmaking
        .not_made(&"Ann".into(), ChallengeFailure::Lost);
    assert_eq!(house.step(5), Step::Wait);
    assert!(house.matchmaking.echoed(&created("aaaaaaaa", "Ann")));
    assert!(matches!(house.step(21), Step::TakeBack(_)));
    // The event stream may have shown it before: it is not shown again.
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    assert!(!house.matchmaking.echoed(&created("aaaaaaaa", "Ann")));
    house
        .matchmaking
        .not_made(&"Ann".into(), ChallengeFailure::Lost);
    let sent = created("aaaaaaaa", "Ann");
    assert_eq!(house.matchmaking.pending().map(|it| &it.id), Some(&sent.id));
    assert_eq!(house.step(21), Step::TakeBack(sent.id));
    // Where there is no trace of it, nothing is left to wait for.
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    house
        .matchmaking
        .not_made(&"Ann".into(), ChallengeFailure::Lost);
    assert_eq!(house.step(31), Step::Wait);
    assert!(!house.matchmaking.echoed(&created("aaaaaaaa", "Ann")));
    house.choice(61);
}

#[test]
fn a_challenge_that_is_accepted_at_the_last_moment_is_a_game_of_ours() {
    let mut house = AccountContext::eager(&["Ann"]);
    let choice = house.choice(0);
    let sent = created("aaaaaaaa", "Ann");
    house.matchmaking.stands(sent.clone(), "Ann".into());
    house.step(1);
    assert_eq!(house.step(25), Step::TakeBack(sent.id));
    house.matchmaking.became_a_game();
    assert_eq!(house.step(26), Step::Wait);
    let info = game("aaaaaaaa", "Ann", choice.color, "started");
    assert!(house.matchmaking.began(&info).is_some());
    assert!(!house.alone("Ann"));
    // Its start may have been heard before the answer.
    house.matchmaking.became_a_game();
    assert!(house.matchmaking.began(&info).is_none());
}

#[test]
fn somebody_else_takes_the_last_place() {
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    let sent = created("aaaaaaaa", "Ann");
    house.matchmaking.stands(sent.clone(), "Ann".into());
    house.scene.busy = true;
    assert_eq!(house.step(1), Step::Wait);
    house.scene.room = false;
    assert_eq!(house.step(2), Step::TakeBack(sent.id));
    assert!(house.matchmaking.taken_back(true).is_none());
    assert!(!house.alone("Ann"));
    // Nor does one stand when we stop.
    let mut house = AccountContext::eager(&["Ann"]);
    house.choice(0);
    house
        .matchmaking
        .stands(created("aaaaaaaa", "Ann"), "Ann".into());
    house.scene.stopping = true;
    assert!(matches!(house.step(1), Step::TakeBack(_)));
}

#[test]
fn a_pair_is_played_with_both_colours_and_then_comes_a_pause() {
    let mut house = AccountContext::eager(&["Ann", "Ben"]);
    let first = house.choice(0);
    let opponent = first.users[0].clone();
    house
        .matchmaking
        .stands(created("aaaaaaaa", opponent.as_str()), opponent.clone());
    let info = game("aaaaaaaa", opponent.as_str(), first.color, "started");
    let begun = house.matchmaking.began(&info).unwrap();
    assert_eq!(begun.sought, Sought::First);
    assert!(begun.challenge.is_some());
    let date = house.scene.date;
    house.quota.bot_game(&info.id, Some(begun.sought), date);
    assert!(
        !house
            .matchmaking
            .finished(&game("aaaaaaaa", opponent.as_str(), first.color, "mate"))
    );
    let second = house.choice(5);
    assert_eq!(second.users, first.users[..1]);
    let colors = [first.color, second.color];
    assert!(colors.contains(&ColorChoice::White) && colors.contains(&ColorChoice::Black));
    let info = game("bbbbbbbb", opponent.as_str(), second.color, "started");
    let begun = house.matchmaking.began(&info).unwrap();
    assert_eq!(begun.sought, Sought::Second);
    house.quota.bot_game(&info.id, Some(begun.sought), date);
    house
        .matchmaking
        .stands(created("bbbbbbbb", opponent.as_str()), opponent);
    assert_eq!(house.step(10), Step::Wait);
    let (why, wait) = house.idle();
    assert!(
        why.contains("2 of 80 games") && (2_000..2_300).contains(&wait),
        "{why} {wait}"
    );
}

#[test]
fn new_settings_are_heeded_at_once() {
    let mut house = AccountContext::eager(&["Ann", "Ben"]);
    let settings = "[challenge]\nblock = [\"ann\"]\n[matchmaking]\nenabled = true\nidle_s = 0\n";
    house.matchmaking.adopt(&toml::from_str(settings).unwrap());
    assert_eq!(house.choice(1).users, [Username::new("Ben")]);
    house.matchmaking.nobody();
    house.matchmaking.adopt(&Settings::default());
    assert_eq!(house.step(2), Step::Wait);
}

#[test]
fn who_does_not_play_is_left_alone() {
    let mut house = AccountContext::eager(&["Ann"]);
    let choice = house.choice(0);
    house
        .matchmaking
        .began(&game("aaaaaaaa", "Ann", choice.color, "started"));
    assert!(
        !house
            .matchmaking
            .finished(&game("bbbbbbbb", "Ann", choice.color, "aborted"))
    );
    assert!(
        house
            .matchmaking
            .finished(&game("aaaaaaaa", "Ann", choice.color, "aborted"))
    );
    assert!(house.alone("Ann"));
}

#[test]
fn games_of_others_are_none_of_ours() {
    let mut house = AccountContext::eager(&["Ann"]);
    let theirs = game("zzzzzzzz", "Ben", ColorChoice::White, "started");
    assert!(house.matchmaking.began(&theirs).is_none());
    house.choice(0);
    assert!(house.matchmaking.began(&theirs).is_none());
    house
        .matchmaking
        .stands(created("aaaaaaaa", "Ann"), "Ann".into());
    let of_ann = game("zzzzzzzz", "Ann", ColorChoice::White, "started");
    assert!(house.matchmaking.began(&of_ann).is_none());
    assert_eq!(of_ann.color, Color::White);
    assert!(house.matchmaking.pending().is_some());
}

#[test]
fn the_quota_is_heeded_before_anybody_is_asked() {
    let mut house = AccountContext::new("enabled = true\nidle_s = 0\n");
    let date = house.scene.date;
    house
        .quota
        .exhausted(Limit::BotGames, Duration::from_secs(5_000), date);
    assert_eq!(house.step(0), Step::Wait);
    let (why, wait) = house.idle();
    assert!(
        why.contains("the 100 games between bots") && (4_998..=5_000).contains(&wait),
        "{why} {wait}"
    );
    assert_eq!(house.step(5_001), Step::Discovery);
}
