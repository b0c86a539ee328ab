//! Pacing: spreads games found by matchmaking over the day. Pure functions.

use std::time::{Duration, SystemTime};

use crate::bot::account::quota::{Limit, Quota};

/// Daily challenges reserved for the operator.
const RESERVED_CHALLENGES: u32 = 40;

/// Challenges before they are spread over the day: declined ones cost no game.
const BURST_CHALLENGES: u32 = 10;

/// Delay of the next challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    pub until: SystemTime,
    /// Reason for the operator.
    pub reason: String,
}

/// Delay of the next challenge, if any. `reserve` daily games are left to others. The second game of a pair follows
/// the first at once, and a pair takes the time of two games.
pub(super) fn delay(quota: &Quota, reserve: u32, second: bool, now: SystemTime) -> Option<Delay> {
    used_up_delay(quota, reserve, now)
        .or_else(|| refusal_delay(quota, now))
        .or_else(|| spread_delay(quota, reserve, now).filter(|_| !second))
        .or_else(|| challenge_delay(quota, now))
}

/// Lichess accepts no challenges from us.
fn refusal_delay(quota: &Quota, now: SystemTime) -> Option<Delay> {
    let until = quota.challenges_blocked_until(now)?;
    let reason = "Lichess takes no more challenges from us for now".to_owned();
    Some(Delay { until, reason })
}

/// Games left for matchmaking in the window.
fn games_left(quota: &Quota, reserve: u32, now: SystemTime) -> u32 {
    let made = quota.matchmaking_games(now);
    let others = quota.used(Limit::BotGames, now).saturating_sub(made);
    quota
        .credits(Limit::BotGames, now)
        .saturating_sub(made)
        .saturating_sub(others.max(reserve))
}

fn used_up_delay(quota: &Quota, reserve: u32, now: SystemTime) -> Option<Delay> {
    let until = quota.window_end(Limit::BotGames, now)?;
    let (all, used) = (
        quota.credits(Limit::BotGames, now),
        quota.used(Limit::BotGames, now),
    );
    let reason = if used >= all {
        format!("the {all} games between bots that Lichess allows in 24 hours are played")
    } else {
        format!(
            "{used} of {all} games between bots in 24 hours are played, the rest is left to others"
        )
    };
    (games_left(quota, reserve, now) == 0).then_some(Delay { until, reason })
}

/// The games left are spread evenly over the rest of the window.
fn spread_delay(quota: &Quota, reserve: u32, now: SystemTime) -> Option<Delay> {
    let end = quota.window_end(Limit::BotGames, now)?;
    let (last, pair) = quota.last_matchmaking_game(now)?;
    let left = games_left(quota, reserve, now);
    let rest = end.duration_since(last).unwrap_or_default();
    let games = if pair { 2 } else { 1 };
    let gap = (rest / (left + 1)).saturating_mul(games);
    let until = last + gap;
    let made = quota.matchmaking_games(now);
    let reason = format!(
        "{made} of {} games that we may seek in 24 hours are made, the rest is spread over the day",
        made + left
    );
    (now < until).then_some(Delay { until, reason })
}

/// Most challenges do not become games, and they are limited too.
fn challenge_delay(quota: &Quota, now: SystemTime) -> Option<Delay> {
    let limit = Limit::ChallengesDay;
    let opened = quota.window_start(limit, now)?;
    let (share, used) = (
        limit.credits() - RESERVED_CHALLENGES,
        quota.used(limit, now),
    );
    let until = if used >= share {
        quota.window_end(limit, now)?
    } else {
        let beyond = (used + 1).saturating_sub(BURST_CHALLENGES);
        let each: Duration = limit.window() / share;
        opened + each * beyond
    };
    let reason = format!(
        "{used} of {share} challenges in 24 hours are made, the rest is spread over the day"
    );
    (now < until).then_some(Delay { until, reason })
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;
    use crate::bot::account::quota::MatchmakingGame;
    use crate::lichess::model::GameId;
    use crate::seconds::DAY;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000 + seconds)
    }

    fn id(n: u64) -> GameId {
        format!("game{n:04}").parse().unwrap()
    }

    /// Seconds to wait, and the reason.
    fn waits(quota: &Quota, reserve: u32, second: bool, now: u64) -> Option<(u64, String)> {
        let delay = delay(quota, reserve, second, at(now))?;
        let wait = delay.until.duration_since(at(now)).unwrap().as_secs();
        Some((wait, delay.reason))
    }

    /// Plays whenever allowed, while others start games at these times. Returns the starts of our games.
    fn day(reserve: u32, pairs: bool, others: &[u64], until: u64) -> Vec<u64> {
        let mut quota = Quota::default();
        let (mut now, mut number, mut second) = (0, 0, false);
        let mut others = others.to_vec();
        let mut made = Vec::new();
        while now < until {
            others.retain(|at_s| {
                let due = *at_s <= now;
                if due {
                    number += 1;
                    quota.count_bot_game(&id(number), None, at(*at_s));
                }
                !due
            });
            if delay(&quota, reserve, second, at(now)).is_none() {
                number += 1;
                quota.charge_challenge(true, at(now));
                let kind = if second {
                    MatchmakingGame::Second
                } else {
                    MatchmakingGame::First
                };
                quota.count_bot_game(&id(number), Some(kind), at(now));
                made.push(now);
                second = pairs && !second;
            }
            now += 60;
        }
        made
    }

    #[test]
    fn pace_spreads_games_over_day() {
        let made = day(20, false, &[], DAY);
        assert!((79..=80).contains(&made.len()), "{made:?}");
        let gaps: Vec<u64> = made.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|gap| (1_020..=1_140).contains(gap)),
            "{gaps:?}"
        );
    }

    #[test]
    fn pace_pair_takes_time_of_two() {
        let made = day(20, true, &[], DAY);
        assert!((78..=80).contains(&made.len()), "{made:?}");
        for pair in made.chunks_exact(2) {
            assert_eq!(pair[1] - pair[0], 60);
        }
        let firsts: Vec<u64> = made.iter().step_by(2).copied().collect();
        let gaps: Vec<u64> = firsts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|gap| (1_980..=2_280).contains(gap)),
            "{gaps:?}"
        );
    }

    #[test]
    fn pace_leaves_reserve_to_others() {
        // Up to the reserve they take nothing from us.
        let few: Vec<u64> = (0..20).map(|n| n * 4_000).collect();
        assert!((79..=80).contains(&day(20, false, &few, DAY).len()));
        // Beyond it they do, and all together never exceed 100.
        let many: Vec<u64> = (0..60).map(|n| n * 1_000).collect();
        let made = day(20, false, &many, DAY).len();
        assert!((36..=40).contains(&made), "{made}");
        let all: Vec<u64> = (0..100).collect();
        assert!(day(20, false, &all, DAY).len() <= 1);
        // On the day after, everything is available again.
        assert!((79..=85).contains(&(day(20, false, &all, 2 * DAY).len())));
    }

    #[test]
    fn pace_used_up_games_give_reason() {
        let mut quota = Quota::default();
        assert_eq!(waits(&quota, 20, false, 0), None);
        for n in 0..80 {
            quota.count_bot_game(&id(n), Some(MatchmakingGame::First), at(10 * n));
        }
        let (wait, reason) = waits(&quota, 20, false, 800).unwrap();
        assert_eq!(wait, DAY - 800);
        assert!(reason.contains("80 of 100 games"), "{reason}");
        // The reserve is not used to complete a pair.
        assert_eq!(waits(&quota, 20, true, 800).unwrap().0, DAY - 800);
        let (wait, reason) = waits(&quota, 19, false, 800).unwrap();
        assert!(
            wait > 40_000 && reason.contains("80 of 81 games that we may seek"),
            "{reason}"
        );
        assert_eq!(waits(&quota, 19, true, 800), None);
        quota.mark_exhausted(Limit::BotGames, Duration::from_secs(3_600), at(900));
        let (wait, reason) = waits(&quota, 19, false, 900).unwrap();
        assert!(
            wait == 3_600 && reason.contains("the 100 games"),
            "{reason}"
        );
    }

    #[test]
    fn pace_spreads_declined_challenges() {
        let mut quota = Quota::default();
        let mut now = 0;
        let mut made = Vec::new();
        while now < DAY {
            if delay(&quota, 20, false, at(now)).is_none() {
                quota.charge_challenge(true, at(now));
                made.push(now);
            }
            now += 30;
        }
        assert_eq!(made[9..12], [270, 540, 1_080]);
        assert!((155..=160).contains(&made.len()), "{}", made.len());
        let late: Vec<u64> = made[20..]
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert!(late.iter().all(|gap| (480..=600).contains(gap)), "{late:?}");
    }

    #[test]
    fn pace_waits_for_refusal() {
        let mut quota = Quota::default();
        quota.on_challenge_refused(Some(Duration::from_secs(700)), at(0));
        let (wait, reason) = waits(&quota, 20, true, 100).unwrap();
        assert!(
            wait == 600 && reason.contains("takes no more challenges"),
            "{reason}"
        );
        assert_eq!(waits(&quota, 20, true, 700), None);
    }
}
