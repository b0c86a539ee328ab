//! Games: summaries in account events, and game streams.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer};

use super::Color;
use super::challenge::TimeControl;
use super::ids::{GameId, Room, Speed, Status, Username, Variant};
use super::text::{self, UNLIMITED};

/// A game in the account's event stream or in `/api/account/playing`.
#[derive(Debug, Clone)]
pub struct GameInfo {
    /// Its id.
    pub id: GameId,
    /// Our color.
    pub color: Color,
    /// The current position, for display only: unreliable in a game against ourselves.
    pub fen: Option<String>,
    /// The last move as the site highlights it, castling as `e1g1`; not always UCI.
    pub last_move: Option<String>,
    /// friend, ai, api, arena, lobby ...
    pub source: Option<String>,
    /// Its status.
    pub status: Status,
    /// The variant.
    pub variant: Variant,
    /// The speed.
    pub speed: Speed,
    /// Whether it is rated.
    pub rated: bool,
    /// Whether we have moved.
    pub has_moved: bool,
    /// The opponent.
    pub opponent: Opponent,
    /// Whether it is our turn.
    pub is_my_turn: bool,
    /// Our clock; `None` in an unlimited game.
    pub time_left: Option<Duration>,
    /// Id of its arena.
    pub tournament: Option<GameId>,
    /// The winner, once it is over.
    pub winner: Option<Color>,
    /// Our rating.
    pub rating: Option<i32>,
    /// Only of finished rated games.
    pub rating_diff: Option<i32>,
    /// Only in the event stream.
    pub compat: Option<Compat>,
}

/// The opponent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opponent {
    /// Also `Anonymous` and `Stockfish level 3`.
    pub name: Username,
    /// Title, such as `BOT` or `GM`.
    pub title: Option<String>,
    /// Rating.
    pub rating: Option<i32>,
    /// The level of Lichess's own engine.
    pub ai_level: Option<u8>,
}

/// The APIs that may play a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Compat {
    /// The Bot API may play it.
    #[serde(default, deserialize_with = "text::lenient")]
    pub bot: bool,
    /// The Board API may play it.
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
            // The official sample of `/api/account/playing` has none, and lists only ongoing games.
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
    /// Our remaining time, if there is a chess clock.
    pub fn clock(&self) -> Option<Duration> {
        self.time_left
            .filter(|_| self.speed != Speed::Correspondence)
    }
}

impl Opponent {
    /// Only here Lichess puts the title before the name: `BOT Aaron`.
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

    /// Returns whether the opponent has the title `BOT`.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }
}

/// The first line of a game's stream: header and state.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFull {
    /// Its id.
    pub id: GameId,
    /// The variant.
    pub variant: Variant,
    /// The speed.
    #[serde(default)]
    pub speed: Speed,
    /// Whether it is rated.
    #[serde(default, deserialize_with = "text::lenient")]
    pub rated: bool,
    /// The player of the white pieces.
    #[serde(default, deserialize_with = "text::lenient")]
    pub white: Player,
    /// The player of the black pieces.
    #[serde(default, deserialize_with = "text::lenient")]
    pub black: Player,
    /// `None` for the variant's initial position ("startpos" on the wire).
    #[serde(default, deserialize_with = "initial_fen")]
    pub initial_fen: Option<String>,
    #[serde(default, deserialize_with = "text::lenient")]
    clock: Option<GameClock>,
    #[serde(default, deserialize_with = "text::count")]
    days_per_turn: Option<u32>,
    /// Id of its arena.
    #[serde(default, deserialize_with = "text::lenient")]
    pub tournament_id: Option<GameId>,
    /// Milliseconds since 1970.
    #[serde(default, deserialize_with = "text::timestamp_ms")]
    created_at: Option<i64>,
    /// Moves, clocks and status when the stream was opened.
    pub state: GameState,
}

fn initial_fen<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let fen: Option<String> = text::lenient(from)?;
    Ok(fen.filter(|fen| fen != "startpos" && !fen.is_empty()))
}

impl GameFull {
    /// When the game was created.
    pub fn created(&self) -> Option<SystemTime> {
        let millis = self.created_at?.try_into().ok()?;
        UNIX_EPOCH.checked_add(Duration::from_millis(millis))
    }

    /// The time control. If the clock cannot be parsed, it is taken from the times in the state.
    pub fn time_control(&self) -> TimeControl {
        let state = &self.state;
        let clock = |initial: Duration, increment: Duration| {
            let seconds = |time: Duration| time.as_secs().try_into().unwrap_or(u32::MAX);
            TimeControl::Clock {
                limit: seconds(initial),
                increment: seconds(increment),
            }
        };
        match (self.clock, self.days_per_turn) {
            (Some(GameClock { initial, increment }), _) => clock(initial, increment),
            (None, Some(days)) => TimeControl::Correspondence { days },
            (None, None) if state.is_unlimited(Color::White) => TimeControl::Unlimited,
            (None, None) if self.speed == Speed::Correspondence => {
                TimeControl::Correspondence { days: 0 }
            }
            (None, None) => clock(state.wtime.max(state.btime), state.winc),
        }
    }

    /// The player of a color.
    pub fn player(&self, color: Color) -> &Player {
        match color {
            Color::White => &self.white,
            Color::Black => &self.black,
        }
    }

    /// The color that a user plays; `None` if they are not one of the players.
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

/// A player of a game. All fields are empty for an anonymous human; Lichess's engine has only a level.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Player {
    /// Id; `None` for a guest or the AI of Lichess.
    #[serde(default, deserialize_with = "text::lenient")]
    pub id: Option<Username>,
    /// Name; `None` for a guest or the AI of Lichess.
    #[serde(default, deserialize_with = "text::lenient")]
    pub name: Option<Username>,
    /// Title, such as `BOT` or `GM`.
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    /// Rating.
    #[serde(default, deserialize_with = "text::rating")]
    pub rating: Option<i32>,
    /// Whether the rating is provisional.
    #[serde(default, deserialize_with = "text::lenient")]
    pub provisional: bool,
    /// Level of the AI of Lichess, 1 to 8.
    #[serde(default, deserialize_with = "text::lenient")]
    pub ai_level: Option<u8>,
}

impl Player {
    /// Returns whether the player has the title `BOT`.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// Display name: the user name, `Stockfish level 3` or `Anonymous`.
    pub fn display_name(&self) -> String {
        match (&self.name, &self.id, self.ai_level) {
            (Some(name), ..) | (None, Some(name), _) => name.to_string(),
            (None, None, Some(level)) => format!("Stockfish level {level}"),
            (None, None, None) => "Anonymous".to_owned(),
        }
    }
}

/// The configured clock. In a game of 0+N the players start with max(increment, 3 s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct GameClock {
    /// Initial time.
    #[serde(default, deserialize_with = "text::millis")]
    initial: Duration,
    /// Increment.
    #[serde(default, deserialize_with = "text::millis")]
    increment: Duration,
}

/// State of a game, sent after every move, offer and end.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameState {
    /// All moves since `initial_fen`, in UCI, separated by spaces. Shorter after a takeback.
    pub moves: String,
    /// White's clock when the server sent this, with the running time already subtracted; [`UNLIMITED`] without a clock.
    #[serde(default, deserialize_with = "text::millis")]
    pub wtime: Duration,
    /// Black's clock.
    #[serde(default, deserialize_with = "text::millis")]
    pub btime: Duration,
    /// White's increment.
    #[serde(default, deserialize_with = "text::millis")]
    pub winc: Duration,
    /// Black's increment.
    #[serde(default, deserialize_with = "text::millis")]
    pub binc: Duration,
    /// `started` if absent.
    #[serde(default = "started", deserialize_with = "status")]
    pub status: Status,
    /// The winner, once it is over.
    #[serde(default, deserialize_with = "text::color")]
    pub winner: Option<Color>,
    /// White offers a draw. Still set in the state in which Black replies with a move.
    #[serde(default, deserialize_with = "text::lenient")]
    pub wdraw: bool,
    /// Black offers a draw.
    #[serde(default, deserialize_with = "text::lenient")]
    pub bdraw: bool,
    /// White proposes a takeback.
    #[serde(default, deserialize_with = "text::lenient")]
    pub wtakeback: bool,
    /// Black proposes a takeback.
    #[serde(default, deserialize_with = "text::lenient")]
    pub btakeback: bool,
    /// The next game, once a rematch was accepted.
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
    /// The moves.
    pub fn moves(&self) -> impl Iterator<Item = &str> {
        self.moves.split_ascii_whitespace()
    }

    /// A side's clock when the server sent this state.
    pub fn time(&self, color: Color) -> Duration {
        match color {
            Color::White => self.wtime,
            Color::Black => self.btime,
        }
    }

    /// A side's increment.
    pub fn increment(&self, color: Color) -> Duration {
        match color {
            Color::White => self.winc,
            Color::Black => self.binc,
        }
    }

    /// Returns whether a side has no clock.
    pub fn is_unlimited(&self, color: Color) -> bool {
        self.time(color) >= UNLIMITED
    }

    /// Returns whether a side's draw offer is pending.
    pub fn offers_draw(&self, color: Color) -> bool {
        match color {
            Color::White => self.wdraw,
            Color::Black => self.bdraw,
        }
    }

    /// Returns whether a side's takeback proposal is pending.
    pub fn asks_takeback(&self, color: Color) -> bool {
        match color {
            Color::White => self.wtakeback,
            Color::Black => self.btakeback,
        }
    }
}

/// A chat line. Ours are echoed; Lichess's own messages come from the user `lichess`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChatLine {
    /// The room.
    #[serde(default = "player_room")]
    pub room: Room,
    /// `user` in a chat log.
    #[serde(
        alias = "user",
        default = "anonymous",
        deserialize_with = "user_or_anonymous"
    )]
    pub username: Username,
    /// The text.
    #[serde(default, deserialize_with = "text::text")]
    pub text: String,
}

fn player_room() -> Room {
    Room::Player
}

fn anonymous() -> Username {
    Username::new("Anonymous")
}

fn user_or_anonymous<'de, D: Deserializer<'de>>(from: D) -> Result<Username, D::Error> {
    Ok(text::lenient::<_, Option<Username>>(from)?.unwrap_or_else(anonymous))
}

/// The opponent left, or came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpponentGone {
    /// Whether the opponent is gone.
    #[serde(default, deserialize_with = "text::lenient")]
    pub gone: bool,
    /// Time until we may claim victory; zero means now.
    #[serde(
        default,
        deserialize_with = "text::seconds",
        rename = "claimWinInSeconds"
    )]
    pub claim_win_in: Option<Duration>,
}
