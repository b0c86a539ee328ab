//! Presence of players in a game, and claims of a win when the opponent has left.

use std::time::Duration;

use knightwatch_chess::{Color, Position, Role};

use crate::quirks::ClaimWin;
use crate::round::{COLORS, Round};
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::Speed;
use crate::wire::{self, OpponentGone};

/// Minimum absence before a game can be claimed.
const MIN_CLAIM_DELAY: Duration = Duration::from_secs(10);
/// Interval of `opponentGone` events.
const GONE_EVENT_INTERVAL: Duration = Duration::from_secs(5);
/// No `opponentGone` is sent unless the absent player's clock exceeds the time to the claim by this many seconds.
const CLOCK_MARGIN_SECONDS: u64 = 3;

/// Presence of one player in one game.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    is_builtin: bool,
    away_since: Option<SimTime>,
    claimable: bool,
    next_event: SimTime,
}

impl Presence {
    /// Built-in players are always present; others are absent until they open a stream.
    pub(crate) fn new(is_builtin: bool, now: SimTime) -> Self {
        Self {
            is_builtin,
            away_since: (!is_builtin).then_some(now),
            claimable: false,
            next_event: now,
        }
    }

    pub(crate) fn is_builtin(&self) -> bool {
        self.is_builtin
    }

    /// Marks the player as present. Returns whether the opponent could have claimed the game.
    pub(crate) fn on_returned(&mut self) -> bool {
        self.away_since = None;
        std::mem::take(&mut self.claimable)
    }

    /// Marks the player as absent after their last stream was closed. Built-in players stay present.
    pub(crate) fn on_left(&mut self, now: SimTime) {
        if !self.is_builtin && self.away_since.is_none() {
            self.away_since = Some(now);
            self.next_event = now;
        }
    }

    /// Marks the player as absent, also a built-in one.
    pub(crate) fn leave(&mut self, now: SimTime) {
        self.away_since = Some(now);
        self.next_event = now;
    }

    fn absent_for(&self, now: SimTime) -> Option<Duration> {
        Some(now.since(self.away_since?))
    }
}

/// `opponentGone` event with `gone: false`.
fn returned_line() -> bytes::Bytes {
    wire::line(&OpponentGone {
        kind: "opponentGone",
        gone: false,
        claim_win_in_seconds: None,
    })
}

/// Absence after which the game can be claimed. It is shorter if the player is four pawns of material behind.
fn claim_delay(claim_win: ClaimWin, speed: Speed, position: &Position, color: Color) -> Duration {
    let (base, factors, share) = match claim_win {
        ClaimWin::Thirty => (30, [1, 2, 4, 10], 2),
        ClaimWin::Forty => (40, [1, 1, 2, 3], 3),
    };
    let factor = match speed {
        Speed::UltraBullet | Speed::Bullet => factors[0],
        Speed::Blitz => factors[1],
        Speed::Rapid => factors[2],
        Speed::Classical | Speed::Correspondence => factors[3],
    };
    let behind = material(position, !color) >= material(position, color) + 4;
    let seconds = base * factor / if behind { share } else { 1 };
    Duration::from_secs(seconds).max(MIN_CLAIM_DELAY)
}

/// Material of a side, in pawns.
pub(crate) fn material(position: &Position, color: Color) -> u32 {
    [
        (Role::Pawn, 1),
        (Role::Knight, 3),
        (Role::Bishop, 3),
        (Role::Rook, 5),
        (Role::Queen, 9),
    ]
    .into_iter()
    .map(|(role, worth)| position.pieces(color, role).count() * worth)
    .sum()
}

impl Round {
    /// Returns whether the opponent may claim the game because this player left.
    pub(crate) fn is_gone(&self, color: Color, now: SimTime) -> bool {
        self.claimable_in(color, now) == Some(Duration::ZERO)
    }

    fn claimable_in(&self, color: Color, now: SimTime) -> Option<Duration> {
        let away = self.side(color).presence.absent_for(now)?;
        let mut claim_delay = claim_delay(
            self.quirks.claim_win,
            self.speed(),
            self.referee.game().position(),
            color,
        );
        if self.side(color).account_kind == AccountKind::Anonymous {
            claim_delay = (claim_delay / 2).max(MIN_CLAIM_DELAY);
        }
        self.referee
            .allows_claims()
            .then(|| claim_delay.saturating_sub(away))
    }

    /// Handles the return of a player. The opponent is informed if they could have claimed the game, unless the player
    /// is a bot.
    pub(crate) fn on_returned(&mut self, color: Color) {
        let is_bot = self.side(color).title == Some("BOT");
        let was_claimable = self.sides[color.index()].presence.on_returned();
        if was_claimable && !is_bot {
            self.push_to_player(!color, &returned_line());
        }
    }

    /// Sends `opponentGone` events every five seconds.
    pub(crate) fn send_opponent_gone(&mut self, now: SimTime) {
        for color in COLORS {
            let Some(wait) = self.claimable_in(color, now) else {
                continue;
            };
            let seconds = wait.as_millis().div_ceil(1_000) as u64;
            let left = self.referee.seconds_left(color, now).unwrap_or(0);
            let presence = &mut self.sides[color.index()].presence;
            let away = presence.absent_for(now).unwrap_or_default();
            if away <= GONE_EVENT_INTERVAL
                || now < presence.next_event
                || left < (seconds + CLOCK_MARGIN_SECONDS) as i64
            {
                continue;
            }
            presence.next_event = now + GONE_EVENT_INTERVAL;
            presence.claimable |= seconds == 0;
            let line = wire::line(&OpponentGone {
                kind: "opponentGone",
                gone: true,
                claim_win_in_seconds: Some(seconds),
            });
            self.push_to_player(!color, &line);
        }
    }
}
