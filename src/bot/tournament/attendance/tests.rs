use super::*;
use crate::lichess::model::Standing;

fn arena() -> Arena {
    Arena {
        id: "may24bot".parse().unwrap(),
        name: "Bots Arena".to_owned(),
        variant: Variant::Standard,
        bots_allowed: true,
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

fn step(arena: Arena) -> Step {
    next(&arena, &mut Memory::default())
}

#[test]
fn what_is_done_follows_from_how_things_stand() {
    let seconds = Duration::from_secs;
    assert_eq!(step(arena()), Step::Join);
    let humans = Arena {
        bots_allowed: false,
        ..arena()
    };
    assert_eq!(
        step(humans),
        Step::Never("it does not allow bots".to_owned())
    );
    let atomic = Arena {
        variant: Variant::Atomic,
        ..arena()
    };
    assert!(matches!(step(atomic), Step::Never(why) if why.contains("we do not play")));
    let over = Arena {
        finished: true,
        me: standing(false, None),
        ..arena()
    };
    assert_eq!(step(over), Step::Done);
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
        assert_eq!(step(joined), Step::Wait(seconds(wait)), "{starts_in:?}");
    }
    let pausing = Arena {
        me: standing(true, Some(12)),
        ..arena()
    };
    assert_eq!(step(pausing), Step::Wait(seconds(13)));
    // As after a restart: who has withdrawn before comes back.
    let away = Arena {
        me: standing(true, None),
        ..arena()
    };
    assert_eq!(step(away), Step::Join);
}

#[test]
fn who_is_withdrawn_again_and_again_comes_back_more_slowly() {
    let mut memory = Memory::default();
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
        assert_eq!(next(&inside, &mut memory), Step::Wait(WATCH_EVERY));
        if let Some(wait) = wait {
            assert_eq!(
                next(&outside, &mut memory),
                Step::Wait(Duration::from_secs(wait))
            );
        }
        assert_eq!(next(&outside, &mut memory), Step::Join);
    }
}

#[test]
fn a_slot_is_kept_from_shortly_before_the_start() {
    let is_near = |arena: &Arena| needs_now(arena) == Hold::Slot;
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
    // Before that the account knows when it begins, and of one that we are about to join as well.
    assert!(matches!(needs_now(&at(Some(61), false)), Hold::Start(_)));
    assert_eq!(needs_now(&at(Some(61), true)), Hold::Nothing);
    assert!(matches!(needs(&arena()), Hold::Start(_)));
}

#[test]
fn a_slot_is_kept_from_the_start_of_an_arena_that_cannot_be_looked_at() {
    let begins_in = |seconds| Hold::Start(clock::now() + Duration::from_secs(seconds));
    let far = begins_in(90);
    assert_eq!(needs_unseen(far, true), far);
    assert_eq!(needs_unseen(begins_in(60), true), Hold::Slot);
    assert_eq!(needs_unseen(Hold::Slot, true), Hold::Slot);
    assert_eq!(needs_unseen(Hold::Nothing, true), Hold::Nothing);
    assert_eq!(needs_unseen(Hold::Nothing, false), Hold::Slot);
}

#[test]
fn an_arena_that_refuses_us_is_joined_again_when_something_is_different() {
    let seconds = Duration::from_secs;
    let now = clock::now();
    let joining = |text: &str| text.parse::<ArenaEntry>().unwrap();
    let first = Refusal::next(None, &arena(), joining("may24bot:wrong"), now);
    let wait =
        |arena: &Arena, with: &str, at: u64| first.wait(arena, &joining(with), now + seconds(at));
    assert_eq!(wait(&arena(), "may24bot:wrong", 0), Some(REFUSED));
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
        refusal = Refusal::next(Some(&refusal), &arena(), joining("may24bot:wrong"), now);
    }
    assert_eq!(waits, [10, 20, 40, 60, 60]);
}
