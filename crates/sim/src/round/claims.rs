//! Claims of a win when the opponent has left.

use std::time::Duration;

use knightwatch_chess::{Color, Position};

use crate::quirks::ClaimWin;
use crate::round::{COLORS, Round};
use crate::site::material::material;
use crate::site::{AccountKind, SimTime, Speed};

/// Minimum absence before a game can be claimed.
const MIN_CLAIM_DELAY: Duration = Duration::from_secs(10);
/// The opponent is not informed unless the absent player's clock exceeds the time to the claim by this many seconds.
const CLOCK_MARGIN_SECONDS: u64 = 3;

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

    /// Handles the return of a player. Returns whether the opponent is to be informed: if they could have claimed the
    /// game, unless the player is a bot.
    pub(crate) fn on_returned(&mut self, color: Color) -> bool {
        let was_claimable = self.sides[color.index()].presence.on_returned();
        was_claimable && self.side(color).title != Some("BOT")
    }

    /// Returns each player who is to be informed about the absence of the opponent, with the seconds until they can claim
    /// the game.
    pub(crate) fn absences(&mut self, now: SimTime) -> Vec<(Color, u64)> {
        let mut informed = Vec::new();
        for color in COLORS {
            let Some(wait) = self.claimable_in(color, now) else {
                continue;
            };
            let seconds = wait.as_millis().div_ceil(1_000) as u64;
            let left = self.referee.seconds_left(color, now).unwrap_or(0);
            let presence = &mut self.sides[color.index()].presence;
            if left >= (seconds + CLOCK_MARGIN_SECONDS) as i64
                && presence.takes_event(seconds == 0, now)
            {
                informed.push((!color, seconds));
            }
        }
        informed
    }
}
