//! Whether a player is there, and when his opponent may claim the game because he is not.

use std::time::Duration;

use crate::chess::{Color, Position, Role};

use crate::sim::quirks::ClaimWin;
use crate::sim::round::{COLORS, Round};
use crate::sim::site::time::SimTime;
use crate::sim::site::users::AccountKind;
use crate::sim::site::variant::Speed;
use crate::sim::wire::{self, OpponentGone};

/// The least that anybody may be away.
const MIN_CLAIM_DELAY: Duration = Duration::from_secs(10);
/// How often the opponent of somebody who left is told.
const GONE_EVENT_INTERVAL: Duration = Duration::from_secs(5);
/// What somebody who left must have more on his clock than the time until he can be claimed.
const CLOCK_MARGIN_SECONDS: u64 = 3;

/// One player's presence in one game.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Presence {
    resident: bool,
    away_since: Option<SimTime>,
    claimable: bool,
    next_event: SimTime,
}

impl Presence {
    /// Who lives in this process is always there; the others are away until they open a stream.
    pub fn new(resident: bool, now: SimTime) -> Self {
        Self {
            resident,
            away_since: (!resident).then_some(now),
            claimable: false,
            next_event: now,
        }
    }

    pub fn is_resident(&self) -> bool {
        self.resident
    }

    /// He opens a stream; tells whether the opponent could have claimed the game.
    pub fn on_returned(&mut self) -> bool {
        self.away_since = None;
        std::mem::take(&mut self.claimable)
    }

    /// He closed his last stream.
    pub fn on_left(&mut self, now: SimTime) {
        if !self.resident && self.away_since.is_none() {
            self.away_since = Some(now);
            self.next_event = now;
        }
    }

    /// He leaves the game, wherever he lives.
    pub fn leave(&mut self, now: SimTime) {
        self.away_since = Some(now);
        self.next_event = now;
    }

    fn away(&self, now: SimTime) -> Option<Duration> {
        Some(now.since(self.away_since?))
    }
}

/// `gone:false`
fn returned_line() -> bytes::Bytes {
    wire::line(&OpponentGone {
        kind: "opponentGone",
        gone: false,
        claim_win_in_seconds: None,
    })
}

/// How long a player may be away: less of it when he is four points of material behind.
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

/// What the pieces of a side are worth in pawns.
pub(in crate::sim) fn material(position: &Position, color: Color) -> u32 {
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
    /// Whether this player has been away for so long that his opponent may claim the game.
    pub fn is_gone(&self, color: Color, now: SimTime) -> bool {
        self.claimable_in(color, now) == Some(Duration::ZERO)
    }

    fn claimable_in(&self, color: Color, now: SimTime) -> Option<Duration> {
        let away = self.side(color).presence.away(now)?;
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

    /// A player is there again. His opponent hears of it if he could have claimed the game; not of a bot.
    pub fn on_returned(&mut self, color: Color) {
        let is_bot = self.side(color).title == Some("BOT");
        let was_claimable = self.sides[color.index()].presence.on_returned();
        if was_claimable && !is_bot {
            self.push_to_player(!color, &returned_line());
        }
    }

    /// Tells the players every five seconds that their opponent is away.
    pub fn send_opponent_gone(&mut self, now: SimTime) {
        for color in COLORS {
            let Some(wait) = self.claimable_in(color, now) else {
                continue;
            };
            let seconds = wait.as_millis().div_ceil(1_000) as u64;
            let left = self.referee.seconds_left(color, now).unwrap_or(0);
            let presence = &mut self.sides[color.index()].presence;
            let away = presence.away(now).unwrap_or_default();
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
