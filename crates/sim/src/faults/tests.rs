//! Tests of fault rules: which requests match, and when scheduled faults fire.

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn request(endpoint: Endpoint, user: &str) -> RequestContext<'_> {
    RequestContext {
        endpoint,
        user: Some(user),
        game: Some("abcdefgh"),
        ply: Some(3),
        time: seconds(10),
    }
}

#[test]
fn rule_affects_counted_requests() {
    let faults = Faults::default();
    let rule = FaultRule::on(Endpoint::Move, Fault::Reset).from_user("Bobby");
    faults.add(rule.nth(2).times(2));
    let is_faulted = |endpoint, user| faults.on_request(&request(endpoint, user)).fault.is_some();
    assert!(!is_faulted(Endpoint::Move, "alice"));
    assert!(!is_faulted(Endpoint::Move, "bobby"));
    assert!(!is_faulted(Endpoint::Chat, "bobby"));
    assert!(is_faulted(Endpoint::Move, "bobby"));
    assert!(is_faulted(Endpoint::Move, "bobby"));
    assert!(!is_faulted(Endpoint::Move, "bobby"));
    assert_eq!(faults.request_count(Endpoint::Move), 5);
    let requests = faults.requests(Endpoint::Move);
    let faulted: Vec<bool> = requests.iter().map(|request| request.faulted).collect();
    assert_eq!(faulted, [false, false, true, true, false]);
    assert_eq!(requests[0].user.as_deref(), Some("alice"));
    assert_eq!(requests[0].at, seconds(10));
}

/// The seconds whose request is affected, with one request every second.
fn affected(rule: FaultRule, seed: u64) -> Vec<u64> {
    let faults = Faults::new(seed);
    faults.add(rule);
    (0..60)
        .filter(|second| {
            let request = RequestContext {
                time: seconds(*second),
                ply: Some(*second as usize / 10),
                ..request(Endpoint::Move, "bobby")
            };
            faults.on_request(&request).fault.is_some()
        })
        .collect()
}

#[test]
fn rule_conditions_select_requests() {
    let rule = || FaultRule::on(Endpoint::Move, Fault::Reset);
    let always = usize::MAX;
    assert_eq!(affected(rule().at(seconds(7)), 1), [7]);
    assert_eq!(affected(rule().at(seconds(7)).nth(2).times(2), 1), [8, 9]);
    let window = FaultRule {
        from: seconds(5),
        until: Some(seconds(8)),
        ..rule().times(always)
    };
    assert_eq!(affected(window, 1), [5, 6, 7]);
    let again = FaultRule {
        every: Some(seconds(20)),
        ..rule().nth(2)
    };
    assert_eq!(affected(again, 1), [21, 41]);
    let far = FaultRule {
        ply: Some(3),
        ..rule()
    };
    assert_eq!(affected(far, 1), [30]);
}

#[test]
fn probability_follows_seed() {
    let rule = FaultRule {
        probability: Some(0.3),
        ..FaultRule::on(Endpoint::Move, Fault::Reset).times(usize::MAX)
    };
    let first = affected(rule.clone(), 1);
    assert!((5..35).contains(&first.len()), "{first:?}");
    assert_eq!(affected(rule.clone(), 1), first);
    assert_ne!(affected(rule, 2), first);
}

/// Actions by second, polled every second; the game advances one ply every ten seconds.
fn actions(rule: FaultRule) -> Vec<(u64, SiteAction)> {
    let faults = Faults::new(1);
    faults.add(rule);
    let poll = |second: u64| {
        let game = GameProgress {
            game: "abcdefgh".to_owned(),
            users: ["bobby".to_owned(), "anna".to_owned()],
            plies: second as usize / 10,
        };
        let actions = faults.due_actions(seconds(second), &[game]);
        actions.into_iter().map(move |action| (second, action))
    };
    (0..60).flat_map(poll).collect()
}

#[test]
fn site_fault_fires_on_schedule() {
    let restart = Fault::Restart {
        downtime: seconds(5),
        streams: StreamFault::Eof,
    };
    let when = |rule| -> Vec<u64> {
        actions(rule)
            .into_iter()
            .map(|(second, _)| second)
            .collect()
    };
    let rule = || FaultRule::new(restart.clone());
    assert_eq!(when(rule().at(seconds(12))), [12]);
    let repeated = FaultRule {
        every: Some(seconds(25)),
        ..rule().times(usize::MAX)
    };
    assert_eq!(when(repeated), [25, 50]);
    let at_ply = |user: &str| FaultRule {
        ply: Some(4),
        ..rule().from_user(user)
    };
    assert_eq!(when(at_ply("Bobby")), [40]);
    assert!(when(at_ply("Nobody")).is_empty());
    // A rule for an endpoint is not scheduled.
    assert!(when(FaultRule::on(Endpoint::Move, restart.clone())).is_empty());
}

#[test]
fn lasting_fault_begins_and_ends() {
    let skew = Skew {
        date: 1_000,
        ..Skew::default()
    };
    let rule = FaultRule {
        until: Some(seconds(20)),
        ..FaultRule::new(Fault::Skew(skew)).at(seconds(10))
    };
    let expected = [
        (10, SiteAction::Skew(Some(skew))),
        (20, SiteAction::Skew(None)),
    ];
    assert_eq!(actions(rule.clone()), expected);

    let faults = Faults::default();
    faults.add(rule);
    assert_eq!(faults.next_due(seconds(0)), Some(seconds(10)));
    faults.due_actions(seconds(15), &[]);
    assert_eq!(faults.next_due(seconds(15)), Some(seconds(20)));
    faults.clear();
    assert_eq!(
        faults.due_actions(seconds(16), &[]),
        [SiteAction::Skew(None)]
    );
    assert_eq!(faults.next_due(seconds(16)), None);
}

#[test]
fn scheduled_stream_fault_selects_streams() {
    let eof = Fault::Stream {
        after_lines: 0,
        fault: StreamFault::Eof,
    };
    for (endpoint, expected) in [
        (Some(Endpoint::EventStream), (true, false)),
        (Some(Endpoint::GameStream), (false, true)),
        (None, (true, true)),
    ] {
        let rule = FaultRule {
            endpoint,
            ..FaultRule::new(eof.clone()).at(seconds(1))
        };
        let SiteAction::BreakStreams { events, games, .. } = actions(rule).remove(0).1 else {
            panic!("not a stream action");
        };
        assert_eq!((events, games), expected);
    }
}
