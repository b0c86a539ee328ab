//! The lines of the two streams.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::challenge::Challenge;
use super::game::{ChatLine, Compat, GameFull, GameInfo, GameState, OpponentGone};
use super::text;

/// What happens to the account.
#[derive(Debug, Clone)]
pub enum Event {
    /// A game is on; sent again for each of them whenever the stream is opened.
    GameStart(Box<GameInfo>),
    /// A game is over, an aborted one too. Comes before or after the last line of the game's own stream.
    GameFinish(Box<GameInfo>),
    /// Somebody challenges us, or the echo of our own challenge. Without [`Compat`] when it waited for the stream.
    Challenge(Box<Challenge>, Option<Compat>),
    /// In both directions; also the echo of our own answer.
    ChallengeDeclined(Box<Challenge>),
    /// In both directions.
    ChallengeCanceled(Box<Challenge>),
    /// Something newer than this program, by its type.
    Unknown(String),
    /// A line that could not be read.
    Skipped(Skipped),
}

/// What happens in a game.
#[derive(Debug, Clone)]
pub enum GameEvent {
    /// The first line of every stream, and all that is sent of a game that is over.
    Full(Box<GameFull>),
    State(GameState),
    Chat(ChatLine),
    OpponentGone(OpponentGone),
    /// Something newer than this program, by its type.
    Unknown(String),
    /// A line that could not be read.
    Skipped(Skipped),
}

/// A line that was passed over: worth a warning, not worth the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// What was wrong, with the beginning of the line; harmless in a terminal.
    pub why: String,
}

impl Skipped {
    fn unreadable(line: &str, error: &serde_json::Error) -> Self {
        Self {
            // The error may quote the line, all of it.
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

/// Types that a line of NDJSON can become. There is a value for every line, so that nothing on the wire ends a stream.
pub trait FromLine: Sized {
    fn from_line(line: &str) -> Self;

    fn skipped(skipped: Skipped) -> Self;
}

#[derive(Deserialize)]
struct Tag {
    #[serde(rename = "type")]
    kind: String,
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, Skipped> {
    serde_json::from_str(line).or_else(|error| {
        // A key that stands there twice is an error to a struct, while of a map the last one counts.
        let map = serde_json::from_str::<Value>(line).and_then(serde_json::from_value);
        map.map_err(|_| Skipped::unreadable(line, &error))
    })
}

/// A line without what may stand around JSON where a proxy or a buffer is broken.
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
