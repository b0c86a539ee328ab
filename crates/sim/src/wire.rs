//! JSON of Lichess's API, with keys in the order in which Lichess writes them.
//!
//! The types are written from the documented formats alone and are not shared with the client.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use knightwatch_chess::Color;

use crate::quirks::{Absent, Flags, Quirks};
use crate::referee::{StateSnapshot, Status};
use crate::site::{GameId, Perf, Variant};

/// Serializes a stream line, including the newline.
pub(super) fn line(value: &impl Serialize) -> bytes::Bytes {
    let mut text = json(value);
    text.push('\n');
    text.into()
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data with string keys")
}

pub(super) fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Title, or for users without one `null` or no key at all.
pub(super) fn title(title: Option<&'static str>, quirks: &Quirks) -> Option<Option<&'static str>> {
    (title.is_some() || quirks.title == Absent::Null).then_some(title)
}

/// JSON object that keeps the order of its keys.
pub(super) struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
pub(super) struct VariantJson {
    key: &'static str,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    short: Option<&'static str>,
}

impl VariantJson {
    pub(crate) fn full(variant: Variant) -> Self {
        Self {
            short: Some(variant.short()),
            ..Self::brief(variant)
        }
    }

    pub(crate) fn brief(variant: Variant) -> Self {
        Self {
            key: variant.key(),
            name: variant.name(),
            short: None,
        }
    }
}

/// Short form of a user.
#[derive(Clone, Serialize)]
pub(super) struct LightUser {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct PerfJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    icon: Option<char>,
    name: &'static str,
}

impl PerfJson {
    pub(crate) fn named(perf: Perf) -> Self {
        Self {
            icon: None,
            name: perf.name,
        }
    }

    pub(crate) fn with_icon(perf: Perf) -> Self {
        Self {
            icon: Some(perf.icon),
            name: perf.name,
        }
    }
}

#[derive(Serialize)]
pub(super) struct StatusJson {
    id: u8,
    name: &'static str,
}

/// Status as an object or only its name.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum StatusOrName {
    Full(StatusJson),
    Name(&'static str),
}

impl From<Status> for StatusJson {
    fn from(status: Status) -> Self {
        Self {
            id: status.id(),
            name: status.key(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Compat {
    pub bot: bool,
    pub board: bool,
}

#[derive(Serialize)]
pub(super) struct GameState<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    moves: &'a str,
    wtime: i64,
    btime: i64,
    winc: i64,
    binc: i64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wdraw: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bdraw: Option<bool>,
    #[serde(skip_serializing_if = "is_false")]
    wtakeback: bool,
    #[serde(skip_serializing_if = "is_false")]
    btakeback: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiration: Option<ExpirationJson>,
    /// Id of the rematch.
    #[serde(skip_serializing_if = "Option::is_none")]
    rematch: Option<String>,
}

/// Idle time of the side to move and its limit, in milliseconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExpirationJson {
    idle_millis: u64,
    millis_to_move: u64,
}

impl GameState<'_> {
    /// Adds the id of the rematch, if there is one.
    pub(crate) fn followed_by(self, next: Option<GameId>) -> Self {
        Self {
            rematch: next.map(|id| id.to_string()),
            ..self
        }
    }
}

impl<'a> GameState<'a> {
    pub(crate) fn new(view: &'a StateSnapshot, quirks: &Quirks) -> Self {
        let flag = |set| (set || quirks.draw_flags == Flags::Shown).then_some(set);
        Self {
            kind: "gameState",
            moves: &view.moves,
            wtime: view.millis[0],
            btime: view.millis[1],
            winc: view.increment,
            binc: view.increment,
            status: view.status.key(),
            wdraw: flag(view.draw_offers[0]),
            bdraw: flag(view.draw_offers[1]),
            wtakeback: view.takeback_offers[0],
            btakeback: view.takeback_offers[1],
            winner: view.winner.map(Color::key),
            expiration: view.expiration.map(|expiration| ExpirationJson {
                idle_millis: expiration.idle.as_millis() as u64,
                millis_to_move: expiration.allowed.as_millis() as u64,
            }),
            rematch: None,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum GamePlayer {
    User {
        id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Option<&'static str>>,
        rating: i32,
        #[serde(skip_serializing_if = "is_false")]
        provisional: bool,
    },
    Ai {
        #[serde(rename = "aiLevel")]
        ai_level: u8,
    },
    /// An empty object, for players without an account.
    Anonymous {},
}

#[derive(Serialize)]
pub(super) struct ClockJson {
    pub initial: u64,
    pub increment: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GameFull<'a> {
    pub id: String,
    pub variant: VariantJson,
    pub speed: &'static str,
    pub perf: PerfJson,
    pub rated: bool,
    pub created_at: i64,
    pub white: GamePlayer,
    pub black: GamePlayer,
    pub initial_fen: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days_per_turn: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tournament_id: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub state: GameState<'a>,
}

#[derive(Serialize)]
pub(super) struct ChatLine<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub room: &'a str,
    pub username: &'a str,
    pub text: &'a str,
}

#[derive(Serialize)]
pub(super) struct ChatEntry<'a> {
    pub text: &'a str,
    pub user: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpponentGone {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub gone: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_win_in_seconds: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Opponent {
    /// `null` for players without an account.
    pub id: Option<String>,
    /// Name, preceded by the title.
    pub username: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating_diff: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai: Option<u8>,
}

/// Game as seen by one of its players: in `nowPlaying` and in the event stream.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GamePreview {
    pub full_id: String,
    pub game_id: String,
    pub fen: String,
    pub color: &'static str,
    pub last_move: String,
    pub source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusOrName>,
    pub variant: VariantJson,
    pub speed: &'static str,
    pub perf: &'static str,
    pub rated: bool,
    pub has_moved: bool,
    pub opponent: Opponent,
    pub is_my_turn: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tournament_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating_diff: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct GameEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub game: GamePreview,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NowPlaying {
    pub now_playing: Vec<GamePreview>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nb_my_turn: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct ChallengeUser {
    pub id: String,
    pub name: String,
    pub rating: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<&'static str>>,
    #[serde(skip_serializing_if = "is_false")]
    pub provisional: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub online: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<u8>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum TimeControlJson {
    Clock {
        limit: u32,
        increment: u32,
        show: String,
    },
    Correspondence {
        #[serde(rename = "daysPerTurn")]
        days_per_turn: u32,
    },
    Unlimited,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OpenJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_ids: Option<[String; 2]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChallengeJson {
    pub id: String,
    pub url: String,
    pub status: &'static str,
    /// `null` for a player without an account and in an open challenge.
    pub challenger: Option<ChallengeUser>,
    pub dest_user: Option<ChallengeUser>,
    pub variant: VariantJson,
    pub rated: bool,
    pub speed: &'static str,
    pub time_control: TimeControlJson,
    pub color: &'static str,
    pub final_color: &'static str,
    pub perf: PerfJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_fen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline_reason_key: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rematch_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenJson>,
    /// Full id of the game that it has become.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_id: Option<String>,
}

#[derive(Serialize)]
pub(super) struct ChallengeEvent {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub challenge: ChallengeJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
}

#[derive(Serialize)]
pub(super) struct ChallengeList {
    #[serde(rename = "in")]
    pub incoming: Vec<ChallengeJson>,
    #[serde(rename = "out")]
    pub outgoing: Vec<ChallengeJson>,
}

#[derive(Serialize)]
pub(super) struct RatingJson {
    pub games: u32,
    pub rating: i32,
    pub rd: u32,
    pub prog: i32,
    #[serde(skip_serializing_if = "is_false")]
    pub prov: bool,
}

#[derive(Serialize)]
pub(super) struct Profile {
    pub bio: String,
}

#[derive(Serialize)]
pub(super) struct PlayTime {
    pub total: u64,
    pub tv: u64,
}

#[derive(Serialize)]
pub(super) struct Count {
    pub all: u32,
    pub rated: u32,
    pub draw: u32,
    pub loss: u32,
    pub win: u32,
    pub bookmark: u32,
    pub playing: u32,
    pub import: u32,
    pub me: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserJson {
    pub id: String,
    pub username: String,
    pub perfs: Ordered<RatingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    pub created_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    pub seen_at: i64,
    pub play_time: PlayTime,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub extended: Option<Extended>,
}

#[derive(Serialize)]
pub(super) struct Extended {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playing: Option<String>,
    pub count: Count,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub relation: Option<Relation>,
}

/// Whether the user is playing, optionally with the game.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum PlayingJson {
    Yes(bool),
    Game {
        id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        clock: Option<String>,
        /// Omitted for standard games.
        #[serde(skip_serializing_if = "Option::is_none")]
        variant: Option<&'static str>,
    },
}

/// Relation of the caller to this user.
#[derive(Serialize)]
pub(super) struct Relation {
    pub followable: bool,
    pub following: bool,
    pub blocking: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserStatus {
    pub id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'static str>,
    #[serde(skip_serializing_if = "is_false")]
    pub online: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playing: Option<PlayingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub playing_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenInfo {
    pub user_id: String,
    pub scopes: String,
    pub expires: Option<i64>,
}
