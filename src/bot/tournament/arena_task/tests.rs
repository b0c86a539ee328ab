use super::*;
use crate::lichess::model::Standing;
use crate::lichess::model::Variant;

fn arena() -> Arena {
    Arena {
        id: "may24bot".parse().unwrap(),
        name: "Bots Arena".to_owned(),
        variant: Variant::Standard,
        bots_allowed: true,
        starts_at: 1_793_000_000_000,
        minutes: 60,
        starts_in: Some(Duration::from_secs(600)),
        ends_in: None,
        finished: false,
        players: 12,
        by_lichess: true,
        unmet_requirements: Vec::new(),
        me: None,
    }
}

fn standing(withdrawn: bool, pause: Option<u64>) -> Option<Standing> {
    Some(Standing {
        rank: 4,
        withdrawn,
        pause: pause.map(Duration::from_secs),
    })
}

fn step(arena: Arena) -> Action {
    next_action(&arena, &mut Observations::default())
}

#[test]
fn arena_state_decides_action() {
    let seconds = Duration::from_secs;
    assert_eq!(step(arena()), Action::Join);
    let humans = Arena {
        bots_allowed: false,
        ..arena()
    };
    // Its organizer may allow bots until it starts.
    for (starts_in, wait) in [(600, 60), (20, 21)] {
        let planned = Arena {
            starts_in: Some(seconds(starts_in)),
            ..humans.clone()
        };
        assert_eq!(step(planned), Action::AwaitBots(seconds(wait)));
    }
    let begun = Arena {
        starts_in: None,
        ..humans
    };
    assert_eq!(
        step(begun),
        Action::Reject("it does not allow bots".to_owned())
    );
    let unheard_of = Arena {
        variant: Variant::Unknown,
        ..arena()
    };
    assert!(matches!(step(unheard_of), Action::Reject(why) if why.contains("we do not play")));
    let over = Arena {
        finished: true,
        me: standing(false, None),
        ..arena()
    };
    assert_eq!(step(over), Action::Done);
    for (starts_in, wait) in [
        (Some(600), 300),
        (Some(4_000), 300),
        (Some(60), 30),
        (Some(3), 5),
        (None, 20),
    ] {
        let joined = Arena {
            starts_in: starts_in.map(seconds),
            me: standing(false, None),
            ..arena()
        };
        assert_eq!(step(joined), Action::Wait(seconds(wait)), "{starts_in:?}");
    }
    let pausing = Arena {
        me: standing(true, Some(12)),
        ..arena()
    };
    assert_eq!(step(pausing), Action::Wait(seconds(13)));
    // As after a restart: a withdrawn player rejoins.
    let away = Arena {
        me: standing(true, None),
        ..arena()
    };
    assert_eq!(step(away), Action::Join);
}

#[test]
fn arena_repeated_withdrawal_slows_rejoin() {
    let mut observations = Observations::default();
    let inside = Arena {
        starts_in: None,
        me: standing(false, None),
        ..arena()
    };
    let outside = Arena {
        me: standing(true, None),
        ..inside.clone()
    };
    for wait in [None, Some(30), Some(60), Some(90)] {
        assert_eq!(
            next_action(&inside, &mut observations),
            Action::Wait(JOINED_POLL_INTERVAL)
        );
        if let Some(wait) = wait {
            assert_eq!(
                next_action(&outside, &mut observations),
                Action::Wait(Duration::from_secs(wait))
            );
        }
        assert_eq!(next_action(&outside, &mut observations), Action::Join);
    }
}

#[test]
fn arena_slot_is_needed_shortly_before_start() {
    let is_near = |arena: &Arena| current_slot_need(arena) == SlotNeed::Slot;
    let at = |starts_in: Option<u64>, withdrawn| Arena {
        starts_in: starts_in.map(Duration::from_secs),
        me: standing(withdrawn, None),
        ..arena()
    };
    let near = |starts_in, withdrawn| is_near(&at(starts_in, withdrawn));
    assert!(near(None, false) && near(Some(60), false));
    assert!(!near(Some(61), false) && !near(None, true));
    assert!(!is_near(&Arena {
        starts_in: None,
        ..arena()
    }));
    // Before that the account knows the start, also of an arena that it is about to join.
    assert!(matches!(
        current_slot_need(&at(Some(61), false)),
        SlotNeed::Start(_)
    ));
    assert_eq!(current_slot_need(&at(Some(61), true)), SlotNeed::None);
    assert!(matches!(initial_slot_need(&arena()), SlotNeed::Start(_)));
}

#[test]
fn arena_unreachable_needs_slot_from_start() {
    let begins_in = |seconds| SlotNeed::Start(clock::now() + Duration::from_secs(seconds));
    let far = begins_in(90);
    assert_eq!(unreachable_slot_need(far, true), far);
    assert_eq!(unreachable_slot_need(begins_in(60), true), SlotNeed::Slot);
    assert_eq!(unreachable_slot_need(SlotNeed::Slot, true), SlotNeed::Slot);
    assert_eq!(unreachable_slot_need(SlotNeed::None, true), SlotNeed::None);
    assert_eq!(unreachable_slot_need(SlotNeed::None, false), SlotNeed::Slot);
}

#[test]
fn arena_refusal_retries_on_change() {
    let seconds = Duration::from_secs;
    let now = clock::now();
    let joining = |text: &str| text.parse::<ArenaEntry>().unwrap();
    let first = JoinRefusal::next(None, &arena(), joining("may24bot:wrong"), now);
    let wait =
        |arena: &Arena, with: &str, at: u64| first.wait(arena, &joining(with), now + seconds(at));
    assert_eq!(
        wait(&arena(), "may24bot:wrong", 0),
        Some(REFUSED_POLL_INTERVAL)
    );
    assert_eq!(wait(&arena(), "may24bot:wrong", 590), Some(seconds(10)));
    assert_eq!(wait(&arena(), "may24bot:wrong", 600), None, "a while later");
    assert_eq!(
        wait(&arena(), "may24bot:right", 0),
        None,
        "another password"
    );
    let (mut other, mut soon, mut begun) = (arena(), arena(), arena());
    other.unmet_requirements = vec!["Your rating is too low".to_owned()];
    assert_eq!(wait(&other, "may24bot:wrong", 0), None);
    soon.starts_in = Some(seconds(20));
    assert_eq!(wait(&soon, "may24bot:wrong", 0), Some(seconds(21)));
    begun.starts_in = None;
    assert_eq!(wait(&begun, "may24bot:wrong", 0), None, "the last try");

    let (mut refusal, mut waits) = (first.clone(), Vec::new());
    for _ in 0..5 {
        waits.push((refusal.again - now).as_secs() / 60);
        refusal = JoinRefusal::next(Some(&refusal), &arena(), joining("may24bot:wrong"), now);
    }
    assert_eq!(waits, [10, 20, 40, 60, 60]);
}
