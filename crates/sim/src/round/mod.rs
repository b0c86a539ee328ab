//! Games: players, referee, streams and chat.

pub(crate) mod chat;
mod claims;
pub(crate) mod presence;
pub(crate) mod rematch;
pub(crate) mod rounds;
pub(crate) mod setup;
pub(crate) mod spectators;
pub(crate) mod summary;

use std::sync::Arc;
use std::time::Duration;

use knightwatch_chess::Color;

use crate::quirks::Quirks;
use crate::referee::{Referee, Status};
use crate::round::chat::ChatMessage;
use crate::round::presence::Presence;
use crate::round::setup::{Setup, Source};
use crate::round::summary::GameSummary;
use crate::site::id::Secrets;
use crate::site::users::GameResult;
use crate::site::{AccountKind, Feed, GameId, Perf, SimTime, Speed, User, UserId, Variant};
use crate::time_control::TimeControl;

pub(crate) const COLORS: [Color; 2] = [Color::White, Color::Black];

/// Minimum number of plies of a rated game for a rematch; shorter games could be used to manipulate ratings.
const MIN_RATED_PLIES: usize = 10;

/// One player of a game.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub user: UserId,
    pub account_kind: AccountKind,
    pub name: String,
    pub title: Option<&'static str>,
    pub rating: i32,
    pub rating_diff: Option<i32>,
    pub provisional: bool,
    pub presence: Presence,
}

pub(crate) struct PlayerStream {
    pub color: Color,
    pub user: UserId,
    pub user_agent: String,
    pub feed: Feed,
}

pub(crate) struct Round {
    pub id: GameId,
    pub sides: [Side; 2],
    pub source: Source,
    pub rated: bool,
    pub created_at: SimTime,
    pub referee: Referee,
    pub secrets: Secrets,
    pub variant: Variant,
    pub time_control: TimeControl,
    pub quirks: Arc<Quirks>,
    pub player_streams: Vec<PlayerStream>,
    pub chat: Vec<ChatMessage>,
    pub no_rematch: bool,
    /// Per player: clock time lost to faults, and the time until which it has been counted.
    pub fault_delays: [(Duration, SimTime); 2],
    /// Id of the rematch.
    pub rematch: Option<GameId>,
    pub next_flag_check: SimTime,
}

impl Side {
    pub(crate) fn new(user: &User, perf: Perf, now: SimTime) -> Self {
        let rating = user.rating(perf.key);
        Self {
            user: user.id.clone(),
            account_kind: user.account_kind,
            name: user.name.clone(),
            title: user.title(),
            rating: rating.value(),
            provisional: rating.is_provisional(),
            rating_diff: None,
            presence: Presence::new(user.always_online, now),
        }
    }

    /// Displayed name; a placeholder for players without an account.
    pub(crate) fn shown_name(&self) -> String {
        match self.account_kind {
            AccountKind::User => self.name.clone(),
            AccountKind::Ai(level) => format!("Stockfish level {level}"),
            AccountKind::Anonymous => "Anon.".to_owned(),
        }
    }
}

impl Round {
    pub(crate) fn users(&self) -> [UserId; 2] {
        self.sides.each_ref().map(|side| side.user.clone())
    }

    /// Result for the players' accounts; `None` while the game is running and if it was aborted.
    pub(crate) fn game_result(&self, now: SimTime) -> Option<GameResult> {
        let status = self.referee.status();
        (!matches!(status, Status::Started | Status::Aborted)).then(|| GameResult {
            users: self.users(),
            perf: self.perf().key,
            rated: self.rated,
            winner: self.referee.winner(),
            lasted: now.since(self.created_at),
        })
    }

    pub(crate) fn allows_rematch(&self) -> bool {
        let is_too_short = self.rated && self.referee.plies() < MIN_RATED_PLIES;
        !self.referee.is_running()
            && !matches!(self.source, Source::Arena { .. })
            && !self.no_rematch
            && !is_too_short
            && self.rematch.is_none()
    }

    /// Options of the rematch. Colors are swapped, except from a custom position against a bot.
    pub(crate) fn next_setup(&self, id: GameId, keeps_position: bool) -> Setup {
        let mut users = self.users();
        let bots = self.sides.iter().filter(|side| side.title == Some("BOT"));
        if !(self.variant == Variant::FromPosition && bots.count() == 1) {
            users.swap(0, 1);
        }
        Setup {
            id,
            users,
            source: self.source,
            variant: self.variant,
            start: keeps_position
                .then(|| self.referee.config().start.clone())
                .or_else(|| self.variant.special_start()),
            time_control: self.time_control,
            rated: self.rated,
            rules: Vec::new(),
        }
    }

    pub(crate) fn speed(&self) -> Speed {
        Speed::of(self.time_control)
    }

    pub(crate) fn perf(&self) -> Perf {
        Perf::of(self.variant, self.speed())
    }

    pub(crate) fn side(&self, color: Color) -> &Side {
        &self.sides[color.index()]
    }

    pub(crate) fn color_of(&self, user: &UserId) -> Option<Color> {
        COLORS
            .into_iter()
            .find(|color| self.side(*color).user == *user)
    }

    /// Returns whether the game has a player chat.
    pub(crate) fn has_chat(&self) -> bool {
        !matches!(self.source, Source::Ai | Source::Arena { .. })
    }

    /// Returns whether the game can be played through the Bot API.
    pub(crate) fn allows_bots(&self) -> bool {
        let bots_allowed = match self.source {
            Source::Arena { bots, .. } => bots,
            Source::Friend | Source::Ai | Source::Api => true,
            Source::Lobby => false,
        };
        bots_allowed && self.speed() >= Speed::Bullet
    }

    /// Returns whether the game can be played through the Board API.
    pub(crate) fn allows_boards(&self) -> bool {
        let min_speed = match self.source {
            Source::Friend | Source::Ai | Source::Api => Speed::Blitz,
            Source::Lobby | Source::Arena { .. } => Speed::Rapid,
        };
        self.speed() >= min_speed
    }

    pub(crate) fn end_streams(&mut self) {
        for stream in self.player_streams.drain(..) {
            stream.feed.end();
        }
    }

    pub(crate) fn result(&self) -> &'static str {
        match (self.referee.status(), self.referee.winner()) {
            (Status::Started | Status::Aborted, _) => "*",
            (_, Some(Color::White)) => "1-0",
            (_, Some(Color::Black)) => "0-1",
            (_, None) => "1/2-1/2",
        }
    }

    /// Counts clock time that a fault costs this side by delaying its move. Overlapping delays count once.
    pub(crate) fn add_fault_delay(&mut self, color: Color, from: SimTime, until: SimTime) {
        if self.referee.is_running() && self.referee.turn() == color {
            let (by, counted) = &mut self.fault_delays[color.index()];
            *by += until.since(from.max(*counted));
            *counted = until.max(*counted);
        }
    }

    pub(crate) fn summary(&self, now: SimTime) -> GameSummary {
        GameSummary {
            time_left: COLORS.map(|color| self.referee.time_left(color, now)),
            fault_delay: self.fault_delays.map(|(by, _)| by),
            id: self.id.to_string(),
            white: self.side(Color::White).shown_name(),
            black: self.side(Color::Black).shown_name(),
            variant: self.variant.key(),
            time_control: self.time_control,
            rated: self.rated,
            plies: self.referee.plies(),
            status: self.referee.status().key(),
            result: self.result(),
        }
    }
}
