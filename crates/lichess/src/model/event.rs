//! Lines of the event stream and of game streams.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::challenge::Challenge;
use super::game::{ChatLine, Compat, GameFull, GameInfo, GameState, OpponentGone};
use super::text;

/// An event of the account.
#[derive(Debug, Clone)]
pub enum Event {
    /// A game is running; sent again for each running game whenever the stream is opened.
    GameStart(Box<GameInfo>),
    /// A game is over, also when aborted. Comes before or after the last line of the game's own stream.
    GameFinish(Box<GameInfo>),
    /// An incoming challenge, or the echo of our own. Without [`Compat`] if the challenge is older than the stream.
    Challenge(Box<Challenge>, Option<Compat>),
    /// Sent to both sides; also the echo of our own decline.
    ChallengeDeclined(Box<Challenge>),
    /// Sent to both sides.
    ChallengeCanceled(Box<Challenge>),
    /// An unknown event, by its type.
    Unknown(String),
    /// A line that could not be parsed.
    Skipped(Skipped),
}

/// An event of a game.
#[derive(Debug, Clone)]
pub enum GameEvent {
    /// The first line of every stream, and the only one of a finished game.
    Full(Box<GameFull>),
    /// Moves, clocks or status have changed.
    State(GameState),
    /// A line of chat.
    Chat(ChatLine),
    /// The opponent has left, or is back.
    OpponentGone(OpponentGone),
    /// An unknown event, by its type.
    Unknown(String),
    /// A line that could not be parsed.
    Skipped(Skipped),
}

/// A line that was skipped: worth a warning, not worth the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The error and the beginning of the line; safe to print.
    pub why: String,
}

impl Skipped {
    fn unreadable(line: &str, error: &serde_json::Error) -> Self {
        Self {
            // The error may quote the whole line.
            why: format!(
                "{}: {}",
                text::clip(&error.to_string(), 200),
                text::clip(line, 120)
            ),
        }
    }

    /// A line that was longer than `limit` bytes.
    pub fn too_long(limit: usize) -> Self {
        Self {
            why: format!("a line of more than {limit} bytes"),
        }
    }
}

/// Types parsed from a line of NDJSON. Every line has a value, so that no line ends a stream.
pub trait FromLine: Sized {
    /// Parses a line; never fails.
    fn from_line(line: &str) -> Self;

    /// The event for a line that could not be parsed.
    fn skipped(skipped: Skipped) -> Self;
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, Skipped> {
    serde_json::from_str(line).or_else(|error| {
        // Serde rejects duplicate keys in a struct; in a map the last one counts.
        let map = serde_json::from_str::<Value>(line).and_then(serde_json::from_value);
        map.map_err(|_| Skipped::unreadable(line, &error))
    })
}

/// A line without what broken proxies or buffers may add around the JSON.
fn bare(line: &str) -> &str {
    line.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\0'))
}

impl FromLine for Event {
    fn from_line(line: &str) -> Self {
        #[derive(Deserialize)]
        struct OfGame {
            game: GameInfo,
        }
        #[derive(Deserialize)]
        struct OfChallenge {
            challenge: Challenge,
            #[serde(default, deserialize_with = "text::lenient")]
            compat: Option<Compat>,
        }
        let line = bare(line);
        let game = || read(line).map(|of: OfGame| Box::new(of.game));
        let challenge = || read(line).map(|of: OfChallenge| (Box::new(of.challenge), of.compat));
        let event = read(line).and_then(|tag: Tag| match tag.kind.as_str() {
            "gameStart" => game().map(Self::GameStart),
            "gameFinish" => game().map(Self::GameFinish),
            "challenge" => {
                challenge().map(|(challenge, compat)| Self::Challenge(challenge, compat))
            }
            "challengeDeclined" => {
                challenge().map(|(challenge, _)| Self::ChallengeDeclined(challenge))
            }
            "challengeCanceled" => {
                challenge().map(|(challenge, _)| Self::ChallengeCanceled(challenge))
            }
            other => Ok(Self::Unknown(text::clip(other, 40))),
        });
        event.unwrap_or_else(Self::Skipped)
    }

    fn skipped(skipped: Skipped) -> Self {
        Self::Skipped(skipped)
    }
}

impl FromLine for GameEvent {
    fn from_line(line: &str) -> Self {
        let line = bare(line);
        let event = read(line).and_then(|tag: Tag| match tag.kind.as_str() {
            "gameFull" => read(line).map(Box::new).map(Self::Full),
            "gameState" => read(line).map(Self::State),
            "chatLine" => read(line).map(Self::Chat),
            "opponentGone" => read(line).map(Self::OpponentGone),
            other => Ok(Self::Unknown(text::clip(other, 40))),
        });
        event.unwrap_or_else(Self::Skipped)
    }

    fn skipped(skipped: Skipped) -> Self {
        Self::Skipped(skipped)
    }
}
