//! Views of a game for its players.

use knightwatch_chess::{CastlingNotation, Color, Game, Position};

use crate::options::TimeControl;
use crate::referee::StateSnapshot;
use crate::round::{Round, Side};
use crate::site::time::SimTime;
use crate::site::users::AccountKind;
use crate::site::variant::Variant;
use crate::wire::{
    self, ClockJson, Compat, GameEvent, GameFull, GamePlayer, GamePreview, GameState, Opponent,
    PerfJson, StatusOrName, VariantJson,
};

impl Round {
    fn initial_fen(&self) -> String {
        match self.variant {
            Variant::Standard => "startpos".to_owned(),
            Variant::Chess960 | Variant::FromPosition => self.referee.config().start.fen(),
        }
    }

    pub(crate) fn preview(&self, color: Color, now: SimTime) -> GamePreview {
        let (mine, theirs) = (self.side(color), self.side(!color));
        let referee = &self.referee;
        let over = !referee.is_running();
        let game = referee.game();
        GamePreview {
            full_id: self.secrets.full_id(self.id, color),
            game_id: self.id.to_string(),
            fen: game.position().fen(),
            color: color.key(),
            last_move: self.last_move(),
            source: self.source.key(),
            status: Some(StatusOrName::Full(referee.status().into())),
            variant: VariantJson::brief(self.variant),
            speed: self.speed().key(),
            perf: self.perf().key,
            rated: self.rated,
            has_moved: has_moved(game, color),
            opponent: theirs.opponent(),
            is_my_turn: !over && referee.turn() == color,
            seconds_left: referee.seconds_left(color, now),
            tournament_id: self.source.arena().map(|id| id.to_string()),
            winner: referee.winner().map(Color::key),
            rating: over.then_some(mine.rating),
            rating_diff: mine.rating_diff,
            compat: None,
            id: None,
        }
    }

    /// Last move in UCI, with castling as the king's move (`e1g1`).
    pub(crate) fn last_move(&self) -> String {
        let moves = self.referee.game().moves();
        moves.last().map_or_else(String::new, |mv| {
            mv.uci(CastlingNotation::Standard).to_string()
        })
    }

    pub(crate) fn event(&self, kind: &'static str, color: Color, now: SimTime) -> GameEvent {
        let mut game = self.preview(color, now);
        game.compat = Some(Compat {
            bot: self.side(color).title == Some("BOT") && self.allows_bots(),
            board: self.allows_boards(),
        });
        game.id = Some(self.id.to_string());
        GameEvent { kind, game }
    }

    /// First line of a game stream; `view` is the current state.
    pub(crate) fn full_line(&self, view: &StateSnapshot) -> bytes::Bytes {
        let player = |color| {
            let side = self.side(color);
            match side.account_kind {
                AccountKind::User => GamePlayer::User {
                    id: side.user.to_string(),
                    name: side.name.clone(),
                    title: wire::title(side.title, &self.quirks),
                    rating: side.rating,
                    provisional: side.provisional,
                },
                AccountKind::Ai(ai_level) => GamePlayer::Ai { ai_level },
                AccountKind::Anonymous => GamePlayer::Anonymous {},
            }
        };
        let (clock, days_per_turn) = match self.time_control {
            TimeControl::Clock { limit, increment } => {
                let clock = ClockJson {
                    initial: u64::from(limit) * 1_000,
                    increment: u64::from(increment) * 1_000,
                };
                (Some(clock), None)
            }
            TimeControl::Days(days) => (None, Some(days)),
            TimeControl::Unlimited => (None, None),
        };
        wire::line(&GameFull {
            id: self.id.to_string(),
            variant: VariantJson::full(self.variant),
            speed: self.speed().key(),
            perf: PerfJson::named(self.perf()),
            rated: self.rated,
            created_at: self.created_at.0,
            white: player(Color::White),
            black: player(Color::Black),
            initial_fen: self.initial_fen(),
            clock,
            days_per_turn,
            tournament_id: self.source.arena().map(|id| id.to_string()),
            kind: "gameFull",
            state: GameState::new(view, &self.quirks).followed_by(self.rematch),
        })
    }
}

/// Returns the first two fields of the FEN.
pub(crate) fn board_and_turn(position: &Position) -> String {
    let fen = position.fen();
    fen.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

impl Side {
    /// Displayed name; a placeholder for players without an account.
    pub(crate) fn shown_name(&self) -> String {
        match self.account_kind {
            AccountKind::User => self.name.clone(),
            AccountKind::Ai(level) => format!("Stockfish level {level}"),
            AccountKind::Anonymous => "Anon.".to_owned(),
        }
    }

    /// Player as shown to the opponent.
    fn opponent(&self) -> Opponent {
        let known = self.account_kind == AccountKind::User;
        Opponent {
            id: known.then(|| self.user.to_string()),
            username: match self.title {
                Some(title) => format!("{title} {}", self.name),
                None => self.shown_name(),
            },
            rating: known.then_some(self.rating),
            rating_diff: self.rating_diff,
            ai: match self.account_kind {
                AccountKind::Ai(level) => Some(level),
                AccountKind::User | AccountKind::Anonymous => None,
            },
        }
    }
}

fn has_moved(game: &Game, color: Color) -> bool {
    let first = game.initial().turn() == color;
    game.moves().len() > usize::from(!first)
}
