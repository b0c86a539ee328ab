//! Which calls are struck, and what happens when.

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn call(endpoint: Endpoint, user: &str) -> Circumstances<'_> {
    Circumstances {
        endpoint,
        user: Some(user),
        game: Some("abcdefgh"),
        ply: Some(3),
        time: seconds(10),
    }
}

#[test]
fn a_rule_strikes_the_calls_it_counts() {
    let faults = Faults::default();
    let rule = Rule::on(Endpoint::Move, Fault::Reset).of_user("Bobby");
    faults.add(rule.nth(2).times(2));
    let strike = |endpoint, user| faults.strike(&call(endpoint, user)).fault.is_some();
    assert!(!strike(Endpoint::Move, "alice"));
    assert!(!strike(Endpoint::Move, "bobby"));
    assert!(!strike(Endpoint::Chat, "bobby"));
    assert!(strike(Endpoint::Move, "bobby"));
    assert!(strike(Endpoint::Move, "bobby"));
    assert!(!strike(Endpoint::Move, "bobby"));
    assert_eq!(faults.calls(Endpoint::Move), 5);
    let visits = faults.visits(Endpoint::Move);
    let struck: Vec<bool> = visits.iter().map(|visit| visit.struck).collect();
    assert_eq!(struck, [false, false, true, true, false]);
    assert_eq!(visits[0].user.as_deref(), Some("alice"));
    assert_eq!(visits[0].at, seconds(10));
}

/// Which of the calls that come every second, from the first second on, are struck.
fn struck(rule: Rule, seed: u64) -> Vec<u64> {
    let faults = Faults::new(seed);
    faults.add(rule);
    (0..60)
        .filter(|second| {
            let call = Circumstances {
                time: seconds(*second),
                ply: Some(*second as usize / 10),
                ..call(Endpoint::Move, "bobby")
            };
            faults.strike(&call).fault.is_some()
        })
        .collect()
}

#[test]
fn times_plies_and_periods_say_which_calls_are_meant() {
    let rule = || Rule::on(Endpoint::Move, Fault::Reset);
    let always = usize::MAX;
    assert_eq!(struck(rule().at(seconds(7)), 1), [7]);
    assert_eq!(struck(rule().at(seconds(7)).nth(2).times(2), 1), [8, 9]);
    let window = Rule {
        from: seconds(5),
        until: Some(seconds(8)),
        ..rule().times(always)
    };
    assert_eq!(struck(window, 1), [5, 6, 7]);
    let again = Rule {
        every: Some(seconds(20)),
        ..rule().nth(2)
    };
    assert_eq!(struck(again, 1), [21, 41]);
    let far = Rule {
        ply: Some(3),
        ..rule()
    };
    assert_eq!(struck(far, 1), [30]);
}

#[test]
fn the_dice_follow_the_seed() {
    let rule = Rule {
        probability: Some(0.3),
        ..Rule::on(Endpoint::Move, Fault::Reset).times(usize::MAX)
    };
    let first = struck(rule.clone(), 1);
    assert!((5..35).contains(&first.len()), "{first:?}");
    assert_eq!(struck(rule.clone(), 1), first);
    assert_ne!(struck(rule, 2), first);
}

/// What is done when, if somebody looks every second; the game comes to one ply more every ten seconds.
fn done(rule: Rule) -> Vec<(u64, Deed)> {
    let faults = Faults::new(1);
    faults.add(rule);
    let look = |second: u64| {
        let game = Progress {
            game: "abcdefgh".to_owned(),
            users: ["bobby".to_owned(), "anna".to_owned()],
            plies: second as usize / 10,
        };
        let deeds = faults.due(seconds(second), &[game]);
        deeds.into_iter().map(move |deed| (second, deed))
    };
    (0..60).flat_map(look).collect()
}

#[test]
fn what_concerns_the_site_is_done_by_itself() {
    let restart = Fault::Restart {
        down: seconds(5),
        how: StreamFault::Eof,
    };
    let when = |rule| -> Vec<u64> { done(rule).into_iter().map(|(second, _)| second).collect() };
    let rule = || Rule::of(restart.clone());
    assert_eq!(when(rule().at(seconds(12))), [12]);
    let often = Rule {
        every: Some(seconds(25)),
        ..rule().times(usize::MAX)
    };
    assert_eq!(when(often), [25, 50]);
    let far = |user: &str| Rule {
        ply: Some(4),
        ..rule().of_user(user)
    };
    assert_eq!(when(far("Bobby")), [40]);
    assert!(when(far("Nobody")).is_empty());
    // On a call it is not done by itself.
    assert!(when(Rule::on(Endpoint::Move, restart.clone())).is_empty());
}

#[test]
fn what_lasts_begins_and_ends() {
    let skew = Skew {
        date: 1_000,
        ..Skew::default()
    };
    let rule = Rule {
        until: Some(seconds(20)),
        ..Rule::of(Fault::Skew(skew)).at(seconds(10))
    };
    let expected = [(10, Deed::Skew(Some(skew))), (20, Deed::Skew(None))];
    assert_eq!(done(rule.clone()), expected);

    let faults = Faults::default();
    faults.add(rule);
    assert_eq!(faults.next(seconds(0)), Some(seconds(10)));
    faults.due(seconds(15), &[]);
    assert_eq!(faults.next(seconds(15)), Some(seconds(20)));
    faults.clear();
    assert_eq!(faults.due(seconds(16), &[]), [Deed::Skew(None)]);
    assert_eq!(faults.next(seconds(16)), None);
}

#[test]
fn open_streams_are_cut_as_meant() {
    let eof = Fault::Stream {
        after: 0,
        how: StreamFault::Eof,
    };
    for (endpoint, expected) in [
        (Some(Endpoint::EventStream), (true, false)),
        (Some(Endpoint::GameStream), (false, true)),
        (None, (true, true)),
    ] {
        let rule = Rule {
            endpoint,
            ..Rule::of(eof.clone()).at(seconds(1))
        };
        let Deed::Cut { events, games, .. } = done(rule).remove(0).1 else {
            panic!("streams are cut");
        };
        assert_eq!((events, games), expected);
    }
}
