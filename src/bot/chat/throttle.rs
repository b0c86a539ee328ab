//! How often we answer in one room of a game: who watches does not use up what the opponent may ask.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::lichess::model::Room;

/// Answers are counted within this.
const WINDOW: Duration = Duration::from_secs(60);

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub struct Throttle {
    players: VecDeque<Instant>,
    spectators: VecDeque<Instant>,
    /// When it was last said in the players' room that something is not answered, and in that of the spectators.
    hinted: [Option<Instant>; 2],
}

impl Throttle {
    /// Whether one more answer may be given in this room now; then it counts.
    pub fn lets(&mut self, room: &Room, most: usize, now: Instant) -> bool {
        let answers = match room {
            Room::Player => &mut self.players,
            _ => &mut self.spectators,
        };
        while let Some(first) = answers.front()
            && now.saturating_duration_since(*first) >= WINDOW
        {
            answers.pop_front();
        }
        let lets = answers.len() < most;
        if lets {
            answers.push_back(now);
        }
        lets
    }

    /// Whether it may be said in this room now that something is not answered: once in a minute.
    pub fn hints(&mut self, room: &Room, now: Instant) -> bool {
        let last = &mut self.hinted[usize::from(*room != Room::Player)];
        let lets = last.is_none_or(|last| now.saturating_duration_since(last) >= WINDOW);
        if lets {
            *last = Some(now);
        }
        lets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_answered_is_said_once_a_minute() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut throttle = Throttle::default();
        let mut hints = |room, seconds| throttle.hints(&room, at(seconds));
        assert!(hints(Room::Player, 0) && !hints(Room::Player, 59));
        assert!(hints(Room::Spectator, 1) && !hints(Room::Spectator, 2));
        assert!(hints(Room::Player, 60) && !hints(Room::Player, 119));
    }

    #[test]
    fn so_many_within_any_minute() {
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
            assert_eq!(throttle.lets(room, 3, now), answered, "after {at} s");
        }
        // The other room has its own.
        let now = start + Duration::from_secs(90);
        assert!(throttle.lets(&Room::Player, 1, now) && !throttle.lets(&Room::Player, 1, now));
        assert!(!Throttle::default().lets(&Room::Player, 0, start));
    }
}
