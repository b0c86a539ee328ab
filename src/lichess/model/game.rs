//! Games: as the account sees them, and as their own stream tells them.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::Color;
use super::ids::{GameId, Room, Speed, Status, Username, Variant};
use super::text::{self, UNLIMITED};

/// A game in the account's event stream or in `/api/account/playing`.
#[derive(Debug, Clone)]
pub struct GameInfo {
    pub id: GameId,
    /// Our colour.
    pub color: Color,
    /// The present position; of no use in a game against ourselves with closed eyes, so only for show.
    pub fen: Option<String>,
    /// The last move as the site highlights it, castling as `e1g1`; not always UCI.
    pub last_move: Option<String>,
    /// friend, ai, api, arena, lobby ...
    pub source: Option<String>,
    pub status: Status,
    pub variant: Variant,
    pub speed: Speed,
    pub rated: bool,
    pub has_moved: bool,
    pub opponent: Opponent,
    pub is_my_turn: bool,
    /// Our clock; nothing in an unlimited game.
    pub time_left: Option<Duration>,
    pub tournament: Option<GameId>,
    pub winner: Option<Color>,
    pub rating: Option<i32>,
    /// Of rated games that are over.
    pub rating_diff: Option<i32>,
    /// Only in the event stream.
    pub compat: Option<Compat>,
}

/// Who we play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opponent {
    /// `Anonymous` and `Stockfish level 3` too.
    pub name: Username,
    pub title: Option<String>,
    pub rating: Option<i32>,
    /// The level, when this is Lichess's own engine.
    pub ai_level: Option<u8>,
}

/// Which of the two APIs may play a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Compat {
    #[serde(default, deserialize_with = "text::lenient")]
    pub bot: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub board: bool,
}

impl<'de> Deserialize<'de> for GameInfo {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(default, deserialize_with = "text::lenient")]
            game_id: Option<GameId>,
            #[serde(default, deserialize_with = "text::lenient")]
            id: Option<GameId>,
            #[serde(default, deserialize_with = "text::lenient")]
            full_id: Option<GameId>,
            #[serde(default, deserialize_with = "text::color")]
            color: Option<Color>,
            #[serde(default, deserialize_with = "text::lenient")]
            fen: Option<String>,
            #[serde(default, deserialize_with = "text::lenient")]
            last_move: Option<String>,
            #[serde(default, deserialize_with = "text::lenient")]
            source: Option<String>,
            status: Option<Status>,
            #[serde(default)]
            variant: Variant,
            #[serde(default)]
            speed: Speed,
            #[serde(default, deserialize_with = "text::lenient")]
            rated: bool,
            #[serde(default, deserialize_with = "text::lenient")]
            has_moved: bool,
            #[serde(default, deserialize_with = "text::lenient")]
            opponent: OpponentWire,
            #[serde(default, deserialize_with = "text::lenient")]
            is_my_turn: bool,
            #[serde(default, deserialize_with = "text::seconds")]
            seconds_left: Option<Duration>,
            #[serde(default, deserialize_with = "text::lenient")]
            tournament_id: Option<GameId>,
            #[serde(default, deserialize_with = "text::color")]
            winner: Option<Color>,
            #[serde(default, deserialize_with = "text::rating")]
            rating: Option<i32>,
            #[serde(default, deserialize_with = "text::rating")]
            rating_diff: Option<i32>,
            #[serde(default, deserialize_with = "text::lenient")]
            compat: Option<Compat>,
        }
        #[derive(Default, Deserialize)]
        struct OpponentWire {
            #[serde(default, deserialize_with = "text::lenient")]
            id: Option<String>,
            #[serde(default, deserialize_with = "text::lenient")]
            username: Option<String>,
            #[serde(default, deserialize_with = "text::rating")]
            rating: Option<i32>,
            #[serde(default, deserialize_with = "text::lenient")]
            ai: Option<u8>,
        }
        let wire = Wire::deserialize(from)?;
        let missing = serde::de::Error::missing_field;
        let them = &wire.opponent;
        let full = wire
            .full_id
            .as_ref()
            .and_then(|id| id.as_str().get(..8)?.parse().ok());
        Ok(Self {
            id: wire
                .game_id
                .or(wire.id)
                .or(full)
                .ok_or_else(|| missing("gameId"))?,
            color: wire.color.ok_or_else(|| missing("color"))?,
            fen: wire.fen,
            last_move: wire.last_move.filter(|mv| !mv.is_empty()),
            source: wire.source,
            // The official sample of `/api/account/playing` has none, and lists only games that are on.
            status: wire.status.unwrap_or(Status::Started),
            variant: wire.variant,
            speed: wire.speed,
            rated: wire.rated,
            has_moved: wire.has_moved,
            opponent: Opponent::from_wire(
                them.id.as_deref(),
                them.username.as_deref(),
                them.rating,
                them.ai,
            ),
            is_my_turn: wire.is_my_turn,
            time_left: wire.seconds_left,
            tournament: wire.tournament_id,
            winner: wire.winner,
            rating: wire.rating,
            rating_diff: wire.rating_diff,
            compat: wire.compat,
        })
    }
}

impl GameInfo {
    /// What is left on our chess clock, if there is one.
    pub fn clock(&self) -> Option<Duration> {
        self.time_left
            .filter(|_| self.speed != Speed::Correspondence)
    }
}

impl Opponent {
    /// Here, and only here, Lichess puts the title before the name: `BOT Aaron`.
    fn from_wire(
        id: Option<&str>,
        username: Option<&str>,
        rating: Option<i32>,
        ai_level: Option<u8>,
    ) -> Self {
        let shown = username.or(id).unwrap_or("Anonymous");
        let (title, name) = match (shown.split_once(' '), id) {
            (Some((title, name)), Some(id)) if name.eq_ignore_ascii_case(id) => {
                (Some(text::clip(title, 8)), name)
            }
            _ => (None, shown),
        };
        Self {
            name: Username::new(name),
            title,
            rating,
            ai_level,
        }
    }

    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// The first line of a game's stream: everything about the game and how it stands.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFull {
    pub id: GameId,
    pub variant: Variant,
    #[serde(default)]
    pub speed: Speed,
    #[serde(default, deserialize_with = "text::lenient")]
    pub rated: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub white: Player,
    #[serde(default, deserialize_with = "text::lenient")]
    pub black: Player,
    /// Nothing when the game begins in the variant's usual position ("startpos" on the wire).
    #[serde(default, deserialize_with = "initial_fen")]
    pub initial_fen: Option<String>,
    #[serde(default, deserialize_with = "text::lenient")]
    clock: Option<GameClock>,
    #[serde(default, deserialize_with = "text::count")]
    days_per_turn: Option<u32>,
    #[serde(default, deserialize_with = "text::lenient")]
    pub tournament_id: Option<GameId>,
    pub state: GameState,
}

fn initial_fen<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let fen: Option<String> = text::lenient(from)?;
    Ok(fen.filter(|fen| fen != "startpos" && !fen.is_empty()))
}

/// How much time the players of a game have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GameTime {
    /// A chess clock.
    Clock(GameClock),
    /// So many days for each move; 0 when it did not say.
    Days(u32),
    Unlimited,
}

impl GameFull {
    /// How much time the players have. A clock that cannot be read is seen by the times in the state.
    pub fn time(&self) -> GameTime {
        let state = &self.state;
        match (self.clock, self.days_per_turn) {
            (Some(clock), _) => GameTime::Clock(clock),
            (None, Some(days)) => GameTime::Days(days),
            (None, None) if state.is_unlimited(Color::White) => GameTime::Unlimited,
            (None, None) if self.speed == Speed::Correspondence => GameTime::Days(0),
            (None, None) => GameTime::Clock(GameClock {
                initial: state.wtime.max(state.btime),
                increment: state.winc,
            }),
        }
    }

    /// Who plays a colour.
    pub fn player(&self, color: Color) -> &Player {
        match color {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }

    /// Which side a user plays. Nobody's when the account is not one of the two.
    pub fn color_of(&self, user: &Username) -> Option<Color> {
        let is = |player: &Player| {
            player.name.as_ref() == Some(user) || player.id.as_ref() == Some(user)
        };
        match (is(&self.white), is(&self.black)) {
            (true, _) => Some(Color::White),
            (_, true) => Some(Color::Black),
            _ => None,
        }
    }
}

/// One side of a game. All of it is missing for an anonymous human; Lichess's engine has a level alone.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Player {
    #[serde(default, deserialize_with = "text::lenient")]
    pub id: Option<Username>,
    #[serde(default, deserialize_with = "text::lenient")]
    pub name: Option<Username>,
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    #[serde(default, deserialize_with = "text::rating")]
    pub rating: Option<i32>,
    #[serde(default, deserialize_with = "text::lenient")]
    pub provisional: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub ai_level: Option<u8>,
}

impl Player {
    /// Whether this is a bot account.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// What to call this side: the name, `Stockfish level 3` or `Anonymous`.
    pub fn shown(&self) -> String {
        match (&self.name, &self.id, self.ai_level) {
            (Some(name), ..) | (None, Some(name), _) => name.to_string(),
            (None, None, Some(level)) => format!("Stockfish level {level}"),
            (None, None, None) => "Anonymous".to_owned(),
        }
    }
}

/// The clock as configured. In a game of 0+N the players start with max(increment, 3 s) all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct GameClock {
    #[serde(default, deserialize_with = "text::millis")]
    pub initial: Duration,
    #[serde(default, deserialize_with = "text::millis")]
    pub increment: Duration,
}

/// How a game stands: sent after every move, offer and end.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameState {
    /// Every move since `initial_fen`, in UCI with blanks between. After a takeback it is shorter than before.
    pub moves: String,
    /// White's clock when the server wrote this, the running time already taken off; [`UNLIMITED`] without a clock.
    #[serde(default, deserialize_with = "text::millis")]
    pub wtime: Duration,
    #[serde(default, deserialize_with = "text::millis")]
    pub btime: Duration,
    #[serde(default, deserialize_with = "text::millis")]
    pub winc: Duration,
    #[serde(default, deserialize_with = "text::millis")]
    pub binc: Duration,
    /// One that is not told is that of a game that is on.
    #[serde(default = "started", deserialize_with = "status")]
    pub status: Status,
    #[serde(default, deserialize_with = "text::color")]
    pub winner: Option<Color>,
    /// White offers a draw. Stays up in the state in which Black answers with a move.
    #[serde(default, deserialize_with = "text::lenient")]
    pub wdraw: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub bdraw: bool,
    /// White asks to take a move back.
    #[serde(default, deserialize_with = "text::lenient")]
    pub wtakeback: bool,
    #[serde(default, deserialize_with = "text::lenient")]
    pub btakeback: bool,
    /// The game that follows this one, once a rematch was accepted.
    #[serde(default, deserialize_with = "text::lenient")]
    pub rematch: Option<GameId>,
}

fn started() -> Status {
    Status::Started
}

fn status<'de, D: Deserializer<'de>>(from: D) -> Result<Status, D::Error> {
    Ok(Option::<Status>::deserialize(from)?.unwrap_or_else(started))
}

impl GameState {
    /// The moves one by one.
    pub fn moves(&self) -> impl Iterator<Item = &str> {
        self.moves.split_ascii_whitespace()
    }

    /// What is left on a side's clock, at the moment the server wrote this state.
    pub fn time(&self, color: Color) -> Duration {
        match color {
            Color::White => self.wtime,
            Color::Black => self.btime,
        }
    }

    /// What a side gets for each move.
    pub fn increment(&self, color: Color) -> Duration {
        match color {
            Color::White => self.winc,
            Color::Black => self.binc,
        }
    }

    /// Whether a side has no clock at all.
    pub fn is_unlimited(&self, color: Color) -> bool {
        self.time(color) >= UNLIMITED
    }

    /// Whether a side's draw offer stands.
    pub fn offers_draw(&self, color: Color) -> bool {
        match color {
            Color::White => self.wdraw,
            Color::Black => self.bdraw,
        }
    }

    /// Whether a side asks to take a move back.
    pub fn asks_takeback(&self, color: Color) -> bool {
        match color {
            Color::White => self.wtakeback,
            Color::Black => self.btakeback,
        }
    }
}

/// A line of chat. Our own are echoed; Lichess's own notes come from the user `lichess`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChatLine {
    #[serde(default = "player_room")]
    pub room: Room,
    /// `user` in a chat log.
    #[serde(alias = "user", default = "somebody", deserialize_with = "named")]
    pub username: Username,
    #[serde(default, deserialize_with = "text::words")]
    pub text: String,
}

fn player_room() -> Room {
    Room::Player
}

fn somebody() -> Username {
    Username::new("Anonymous")
}

fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Username, D::Error> {
    Ok(text::lenient::<_, Option<Username>>(from)?.unwrap_or_else(somebody))
}

/// The opponent left, or came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpponentGone {
    #[serde(default, deserialize_with = "text::lenient")]
    pub gone: bool,
    /// When we may claim the win; zero is now.
    #[serde(
        default,
        deserialize_with = "text::seconds",
        rename = "claimWinInSeconds"
    )]
    pub claim_win_in: Option<Duration>,
}
