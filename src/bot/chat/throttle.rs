//! Rate limit of answers, per chat room of a game, so that spectators do not use up the opponent's answers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::lichess::model::Room;

/// Period in which answers are counted.
const ANSWER_WINDOW: Duration = Duration::from_secs(60);

/// Rate limit of answers in the rooms of one game.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throttle {
    players: VecDeque<Instant>,
    spectators: VecDeque<Instant>,
    /// Last hint about an unanswered command, in the players' and in the spectators' room.
    last_hint: [Option<Instant>; 2],
}

impl Throttle {
    /// Returns whether another answer is allowed in this room now, given `limit` per minute. Counts it if so.
    pub(crate) fn allow(&mut self, room: &Room, limit: usize, now: Instant) -> bool {
        let answers = match room {
            Room::Player => &mut self.players,
            _ => &mut self.spectators,
        };
        while let Some(first) = answers.front()
            && now.saturating_duration_since(*first) >= ANSWER_WINDOW
        {
            answers.pop_front();
        }
        let is_allowed = answers.len() < limit;
        if is_allowed {
            answers.push_back(now);
        }
        is_allowed
    }

    /// Returns whether a hint about an unanswered command is allowed in this room now: once per minute. Counts it if
    /// so.
    pub(crate) fn allow_hint(&mut self, room: &Room, now: Instant) -> bool {
        let last = &mut self.last_hint[usize::from(*room != Room::Player)];
        let is_allowed =
            last.is_none_or(|last| now.saturating_duration_since(last) >= ANSWER_WINDOW);
        if is_allowed {
            *last = Some(now);
        }
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_limited_to_one_per_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut throttle = Throttle::default();
        let mut hints = |room, seconds| throttle.allow_hint(&room, at(seconds));
        assert!(hints(Room::Player, 0) && !hints(Room::Player, 59));
        assert!(hints(Room::Spectator, 1) && !hints(Room::Spectator, 2));
        assert!(hints(Room::Player, 60) && !hints(Room::Player, 119));
    }

    #[test]
    fn answers_are_limited_within_any_minute() {
        let start = Instant::now();
        let mut throttle = Throttle::default();
        // Second, and whether it is answered.
        for (at, answered) in [
            (0, true),
            (1, true),
            (30, true),
            (31, false),
            (59, false),
            (60, true),
            (60, false),
            (61, true),
            (89, false),
            (90, true),
        ] {
            let now = start + Duration::from_secs(at);
            let room = &Room::Spectator;
            assert_eq!(throttle.allow(room, 3, now), answered, "after {at} s");
        }
        // The other room has its own limit.
        let now = start + Duration::from_secs(90);
        assert!(throttle.allow(&Room::Player, 1, now) && !throttle.allow(&Room::Player, 1, now));
        assert!(!Throttle::default().allow(&Room::Player, 0, start));
    }
}
