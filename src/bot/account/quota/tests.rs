use proptest::prelude::*;

use super::*;
use crate::bot::account::persist;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
}

fn id(n: u64) -> GameId {
    format!("game{n:04}").parse().unwrap()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn quota_limits_match_lichess() {
    let table = [
        (Limit::BotGames, "bot.vsBot.day", 100, DAY),
        (Limit::ChallengesDay, "challenge.create.user.day", 200, DAY),
        (
            Limit::ChallengesMinute,
            "challenge.create.user.minute",
            25,
            60,
        ),
        (Limit::ChallengesAddress, "challenge.create.ip", 500, 600),
        (Limit::AiGames, "setup.post.bot.ai", 20, DAY),
        (Limit::EventStreams, "event.stream", 30, 600),
        (Limit::ArenaJoins, "tournament.join", 30, 600),
        (Limit::ArenasHour, "tournament.user.join.hour", 8, HOUR),
        (Limit::ArenasDay, "tournament.user.join.day", 30, DAY),
    ];
    for (limit, key, credits, window) in table {
        assert_eq!((limit.key(), limit.credits()), (key, credits));
        assert_eq!(limit.window(), secs(window));
    }
}

#[test]
fn quota_window_opens_at_first_charge() {
    let limit = Limit::ChallengesMinute;
    // Charges, and the expected use and end of the window.
    let table = [
        (0, 5, 5, None),
        (10, 15, 20, None),
        // Credits are left, so it passes, and goes beyond.
        (20, 20, 40, Some(60)),
        (59, 0, 40, Some(60)),
        (60, 1, 1, None),
        (119, 24, 25, Some(120)),
        (120, 0, 0, None),
    ];
    let mut quota = Quota::default();
    for (second, cost, used, full) in table {
        if cost > 0 {
            quota.charge(limit, cost, at(second));
        }
        assert_eq!(quota.used(limit, at(second)), used, "{second}");
        assert_eq!(
            quota.full_until(limit, at(second)),
            full.map(at),
            "{second}"
        );
    }
}

#[test]
fn quota_challenge_costs_more_for_person() {
    let mut quota = Quota::default();
    quota.charge_challenge(true, at(0));
    quota.charge_challenge(false, at(1));
    assert_eq!(quota.used(Limit::ChallengesMinute, at(2)), 6);
    assert_eq!(quota.used(Limit::ChallengesDay, at(2)), 6);
    assert_eq!(quota.used(Limit::ChallengesAddress, at(2)), 2);
    assert_eq!(quota.challenges_blocked_until(at(2)), None);
    for _ in 0..4 {
        quota.charge_challenge(false, at(3));
    }
    assert_eq!(quota.challenges_blocked_until(at(4)), Some(at(60)));
    assert_eq!(quota.challenges_blocked_until(at(60)), None);
    for second in 60..240 {
        quota.charge_challenge(true, at(second));
    }
    // 206 of 200: the day's window, opened by the first of all.
    assert_eq!(quota.challenges_blocked_until(at(300)), Some(at(DAY)));
}

#[test]
fn quota_bot_game_is_counted_once() {
    let mut quota = Quota::default();
    assert!(quota.count_bot_game(&id(1), None, at(0)));
    assert!(quota.count_bot_game(&id(2), Some(MatchmakingGame::First), at(100)));
    assert!(!quota.count_bot_game(&id(2), Some(MatchmakingGame::First), at(200)));
    assert!(quota.count_ai_game(&id(3), at(250)) && !quota.count_ai_game(&id(3), at(260)));
    assert!(quota.count_bot_game(&id(4), Some(MatchmakingGame::Second), at(300)));
    let now = at(400);
    assert_eq!(
        (
            quota.used(Limit::BotGames, now),
            quota.matchmaking_games(now)
        ),
        (3, 2)
    );
    assert_eq!(quota.used(Limit::AiGames, now), 1);
    assert_eq!(quota.last_matchmaking_game(now), Some((at(300), true)));
    // The next window begins with nothing, and with its own first game.
    let next = at(DAY);
    assert_eq!(
        (
            quota.used(Limit::BotGames, next),
            quota.matchmaking_games(next)
        ),
        (0, 0)
    );
    assert!(quota.count_bot_game(&id(5), None, next));
    assert_eq!(
        (
            quota.used(Limit::BotGames, next),
            quota.matchmaking_games(next)
        ),
        (1, 0)
    );
    assert_eq!(quota.last_matchmaking_game(next), None);
}

#[test]
fn quota_running_game_stays_counted() {
    let mut quota = Quota::default();
    for n in 0..1_000 {
        assert!(quota.count_bot_game(&id(n), None, at(n)));
        quota.forget_counted_games(|running| running == id(7).as_str());
    }
    assert_eq!(quota.counted_games.len(), MAX_COUNTED_GAMES);
    assert!(!quota.count_bot_game(&id(7), None, at(1_000)));
    assert!(!quota.count_bot_game(&id(999), None, at(1_000)));
}

#[test]
fn quota_reported_exhaustion_overrides_count() {
    let mut quota = Quota::default();
    quota.count_bot_game(&id(1), Some(MatchmakingGame::First), at(0));
    quota.mark_exhausted(Limit::BotGames, secs(2 * HOUR), at(10));
    let now = at(11);
    assert_eq!(quota.used(Limit::BotGames, now), 100);
    assert_eq!(quota.matchmaking_games(now), 1);
    let full = quota.full_until(Limit::BotGames, now);
    assert_eq!(full, Some(at(10 + 2 * HOUR)));
    assert_eq!(quota.full_until(Limit::BotGames, at(10 + 2 * HOUR)), None);
}

#[test]
fn quota_unnamed_refusal_doubles_wait() {
    let mut quota = Quota::default();
    let mut now = 0;
    let waits = [60, 120, 240, 480, 960, 1_920, 3_840, 7_680, 14_400, 14_400];
    for wait in waits {
        quota.on_challenge_refused(None, at(now));
        assert_eq!(
            quota.challenges_blocked_until(at(now)),
            Some(at(now + wait))
        );
        assert_eq!(quota.challenges_blocked_until(at(now + wait)), None);
        now += wait;
    }
    // A challenge that is accepted resets the count.
    quota.charge_challenge(true, at(now));
    quota.on_challenge_refused(None, at(now));
    assert_eq!(quota.challenges_blocked_until(at(now)), Some(at(now + 60)));
    quota.on_challenge_refused(Some(secs(5_000)), at(now));
    quota.on_challenge_refused(Some(secs(10)), at(now));
    assert_eq!(
        quota.challenges_blocked_until(at(now)),
        Some(at(now + 5_000))
    );
}

#[test]
fn quota_pauses_survive_restart() {
    let mut quota = Quota::default();
    let pauses = |left| {
        [
            (RequestKind::Challenge, secs(left)),
            (RequestKind::Chat, secs(5)),
        ]
    };
    assert!(quota.set_pauses(pauses(600), at(0)));
    assert!(!quota.set_pauses(pauses(599), at(1)));
    assert!(quota.set_pauses(pauses(900), at(2)));
    let restored: Quota = serde_json::from_str(&quota.to_json()).unwrap();
    assert_eq!(restored, quota);
    let left = restored.pauses(at(100));
    assert_eq!(left, [(RequestKind::Challenge, secs(803))]);
    assert_eq!(restored.challenges_blocked_until(at(100)), Some(at(903)));
    assert_eq!(restored.pause_until(RequestKind::Query, at(100)), None);
    assert!(restored.pauses(at(1_000)).is_empty());
}

#[test]
fn quota_proxy_pause_is_not_saved() {
    let mut quota = Quota::default();
    quota.set_proxy_pause(Some(secs(60)), at(0));
    assert_eq!(quota.challenges_blocked_until(at(1)), Some(at(61)));
    assert!(quota.pauses(at(1)).is_empty());
    let restored: Quota = serde_json::from_str(&quota.to_json()).unwrap();
    assert_eq!(restored, Quota::default());
    quota.set_proxy_pause(None, at(2));
    assert_eq!(quota.challenges_blocked_until(at(2)), None);
}

#[test]
fn quota_wrong_clock_blocks_nothing_forever() {
    let mut quota = Quota::default();
    let far = at(400 * DAY);
    quota.mark_exhausted(Limit::BotGames, secs(HOUR), far);
    quota.on_challenge_refused(Some(secs(HOUR)), far);
    quota.set_pauses([(RequestKind::Challenge, secs(HOUR))], far);
    assert_eq!(quota.full_until(Limit::BotGames, at(0)), None);
    assert_eq!(quota.challenges_blocked_until(at(0)), None);
    assert!(quota.pauses(at(0)).is_empty());
    for at_s in [clock::epoch_seconds(far), u64::MAX] {
        let text = format!(r#"{{"learned_bot_games":{{"credits":3,"at":{at_s}}}}}"#);
        let quota: Quota = serde_json::from_str(&text).unwrap();
        assert_eq!(quota.credits(Limit::BotGames, at(0)), 100);
        assert_eq!(quota.learned_at(Limit::BotGames, at(0)), None);
    }
}

#[test]
fn quota_survives_in_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("quota.json");
    assert_eq!(Quota::load(&path).unwrap(), Quota::default());
    let mut quota = Quota::default();
    quota.count_bot_game(&id(1), Some(MatchmakingGame::First), at(0));
    quota.charge(Limit::EventStreams, 1, at(1));
    persist::save(&path, quota.to_json()).unwrap();
    assert_eq!(Quota::load(&path).unwrap(), quota);
    persist::save(&path, "{\"used\":").unwrap();
    assert!(Quota::load(&path).is_err());
    // Numbers that no clock ever showed.
    let max = u64::MAX;
    let text = format!(
        r#"{{"used":{{"bot.vsBot.day":{{"since":{max},"credits":7}}}},"made":{{"games":{0},"window":0,"last":{max}}},
        "pauses":{{"challenge":{max}}},"refused":{{"until":{max},"unnamed":{0}}},"new":1}}"#,
        u32::MAX
    );
    persist::save(&path, &text).unwrap();
    let mut odd = Quota::load(&path).unwrap();
    odd.on_challenge_refused(None, at(0));
    odd.count_bot_game(&id(1), Some(MatchmakingGame::First), at(0));
    assert!(odd.last_matchmaking_game(at(0)).is_some());
    assert_eq!(odd.used(Limit::BotGames, at(0)), 1);
}

proptest! {
    /// The counts of a limiter that works as Lichess's does are never above ours, so we are refused nothing.
    #[test]
    fn quota_obeyed_is_never_refused(
        gaps in prop::collection::vec((0_u64..30, any::<bool>()), 1..400),
    ) {
        let mut quota = Quota::default();
        let (mut now, mut windows) = (0, [(0_u64, 0_u32); 2]);
        for (gap, bot) in gaps {
            now += gap;
            if quota.challenges_blocked_until(at(now)).is_some() {
                continue;
            }
            let limits = [Limit::ChallengesMinute, Limit::ChallengesDay];
            for (window, limit) in windows.iter_mut().zip(limits) {
                if window.1 == 0 || now >= window.0 + limit.seconds() {
                    *window = (now, 0);
                }
                prop_assert!(window.1 < limit.credits());
                window.1 += if bot { 1 } else { 5 };
            }
            quota.charge_challenge(bot, at(now));
        }
    }
}

#[test]
fn quota_arena_joins_match_lichess() {
    let discovered = JoinRequest {
        first: true,
        by_lichess: true,
        discovered: true,
        refused: false,
    };
    let mut quota = Quota::default();
    // Six of eight; two are reserved for the operator.
    for second in 0..6 {
        assert_eq!(quota.enter_arena(discovered, at(second)), Ok(()));
    }
    assert_eq!(quota.enter_arena(discovered, at(6)), Err(at(HOUR)));
    assert_eq!(quota.used(Limit::ArenasDay, at(6)), 6);
    let named = JoinRequest {
        discovered: false,
        ..discovered
    };
    let by_ann = JoinRequest {
        by_lichess: false,
        ..named
    };
    assert_eq!(quota.enter_arena(by_ann, at(7)), Ok(()));
    assert_eq!(quota.enter_arena(named, at(8)), Err(at(HOUR)));
    let refused = JoinRequest {
        refused: true,
        ..named
    };
    let mut other = Quota::default();
    for second in 0..4 {
        assert_eq!(other.enter_arena(refused, at(second)), Ok(()));
    }
    assert_eq!(other.enter_arena(refused, at(5)), Err(at(HOUR)), "half");
    assert_eq!(other.enter_arena(named, at(6)), Ok(()));
    // Rejoining is limited separately.
    let back = JoinRequest {
        first: false,
        ..named
    };
    for second in 10..33 {
        assert_eq!(quota.enter_arena(back, at(second)), Ok(()));
    }
    assert_eq!(quota.enter_arena(back, at(40)), Err(at(600)));
    // After three hours the day is full: 8 + 3 * 6 and more.
    let mut now = HOUR;
    while quota.enter_arena(discovered, at(now)).is_ok() || now < 4 * HOUR {
        now += 600;
    }
    assert_eq!(quota.used(Limit::ArenasDay, at(now)), 23);
    assert_eq!(quota.enter_arena(discovered, at(now)), Err(at(DAY)));
    quota.on_too_many_arenas(at(2 * DAY));
    let again = at(2 * DAY + HOUR);
    assert_eq!(quota.enter_arena(named, at(2 * DAY)), Err(again));
}

/// Counts games a minute apart, from this second on.
fn play(quota: &mut Quota, games: u64, from: u64) {
    for n in 0..games {
        quota.count_bot_game(&id(from / 60 + n), None, at(from + n * 60));
    }
}

#[test]
fn quota_learns_lower_limit_from_refusal() {
    let limit = Limit::BotGames;
    let mut quota = Quota::default();
    play(&mut quota, 50, 0);
    assert_eq!(quota.full_until(limit, at(3_000)), None);
    assert_eq!(
        quota.mark_exhausted(limit, secs(DAY - 3_000), at(3_000)),
        Some(50)
    );
    assert_eq!(quota.full_until(limit, at(3_000)), Some(at(DAY)));
    assert_eq!(quota.learned_at(limit, at(3_000)), Some(at(3_000)));
    let mut quota: Quota = serde_json::from_str(&quota.to_json()).unwrap();
    // The next day ends without a refusal.
    play(&mut quota, 50, DAY);
    assert_eq!(quota.full_until(limit, at(DAY + 3_000)), Some(at(2 * DAY)));
    // After a week a little more is tried each day, and never more than usual.
    for (days, credits) in [(6, 50), (7, 50), (8, 55), (9, 60), (17, 100), (400, 100)] {
        assert_eq!(
            quota.credits(limit, at(days * DAY + 3_000)),
            credits,
            "day {days}"
        );
    }
    assert_eq!(quota.learned_at(limit, at(18 * DAY)), None);
    // The next refusal tells again.
    play(&mut quota, 52, 9 * DAY);
    let refused = 9 * DAY + 52 * 60;
    assert_eq!(
        quota.mark_exhausted(limit, secs(DAY - 52 * 60), at(refused)),
        Some(52)
    );
    assert_eq!(quota.credits(limit, at(16 * DAY)), 52);
}

#[test]
fn quota_learns_nothing_from_incomplete_count() {
    let limit = Limit::BotGames;
    // Games of the window of Lichess are missing: its window began before ours.
    let mut quota = Quota::default();
    play(&mut quota, 30, 10_000);
    assert_eq!(quota.mark_exhausted(limit, secs(60_000), at(12_000)), None);
    assert_eq!(quota.credits(limit, at(12_000)), 100);
    assert_eq!(quota.full_until(limit, at(12_000)), Some(at(72_000)));
    // There is no count at all.
    assert_eq!(
        Quota::default().mark_exhausted(limit, secs(60_000), at(0)),
        None
    );
    // The usual limit.
    let mut quota = Quota::default();
    play(&mut quota, 100, 0);
    assert_eq!(
        quota.mark_exhausted(limit, secs(DAY - 6_000), at(6_000)),
        None
    );
    // Other limits are documented.
    let mut quota = Quota::default();
    quota.charge(Limit::ArenasHour, 3, at(0));
    assert_eq!(
        quota.mark_exhausted(Limit::ArenasHour, secs(HOUR), at(0)),
        None
    );
}
