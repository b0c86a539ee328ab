//! Switches for behavior of Lichess that is not documented or on which sources contradict each other.

use std::str::FromStr;

use serde::Deserialize;
use toml::{Table, Value};

use knightwatch_util::spelling;

/// Switches. The defaults follow the source of lila where it could be read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirks {
    /// Notation of castling in the moves of standard games.
    pub castling: Castling,
    /// How used credits of a rate limit expire.
    pub limiter: Limiter,
    /// Games of a bot against other bots in 24 hours, if limits are enabled; Lichess may lower it.
    pub bot_games: u32,
    /// Whether a state is sent when a player adds time to the opponent's clock.
    pub add_time_push: bool,
    /// Whether a state is sent when players are compensated for a restart.
    pub gifts_push: bool,
    /// Whether states of games that expire without a first move contain `expiration`.
    pub expiration: bool,
    /// Absence after which a win can be claimed.
    pub claim_win: ClaimWin,
    /// How a missing title is shown in games and challenges.
    pub title: Absent,
    /// Whether the list of ongoing games contains `nbMyTurn`.
    pub nb_my_turn: bool,
    /// Format of the chat log of a game.
    pub chat_log: ChatLog,
    /// Format of the status in the list of ongoing games.
    pub playing_status: PlayingStatus,
    /// Whether states contain draw flags that are not set.
    pub draw_flags: Flags,
    /// Error message for a bot that may not join an arena.
    pub restriction: String,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            castling: Castling::default(),
            limiter: Limiter::default(),
            bot_games: 100,
            add_time_push: true,
            gifts_push: false,
            expiration: true,
            claim_win: ClaimWin::default(),
            title: Absent::default(),
            nb_my_turn: true,
            chat_log: ChatLog::default(),
            playing_status: PlayingStatus::default(),
            draw_flags: Flags::default(),
            restriction: "Tournament restrictions".to_owned(),
        }
    }
}

impl Quirks {
    /// Builds switches from tables of settings; later settings override earlier ones.
    ///
    /// # Errors
    /// An unknown name or an invalid value. The message lists the valid ones.
    pub fn with(settings: impl IntoIterator<Item = Table>) -> Result<Self, toml::de::Error> {
        let mut all = Table::new();
        all.extend(settings.into_iter().flatten());
        Self::deserialize(Value::Table(all))
    }
}

/// Notation of castling moves in standard games. Elsewhere it is always king takes rook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Castling {
    /// `e1g1`
    #[default]
    #[serde(rename = "e1g1")]
    KingMoves,
    /// `e1h1`
    #[serde(rename = "e1h1")]
    KingTakesRook,
}

/// How used credits of a rate limit expire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limiter {
    /// All at once at the end of a window, which starts with the first request.
    #[default]
    Fixed,
    /// Each charge separately after the length of the window.
    Rolling,
}

/// Absence after which a win can be claimed, in seconds for bullet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub enum ClaimWin {
    /// 30 s: twice that in blitz, four times in rapid, ten times in classical; half of it for a player far behind.
    #[default]
    Thirty,
    /// 40 s: twice that in rapid, three times in classical; a third of it for a player far behind.
    Forty,
}

impl TryFrom<u32> for ClaimWin {
    type Error = String;

    fn try_from(seconds: u32) -> Result<Self, String> {
        match seconds {
            30 => Ok(Self::Thirty),
            40 => Ok(Self::Forty),
            _ => Err("expected 30 or 40".to_owned()),
        }
    }
}

/// How a key without a value is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    /// `null`.
    #[default]
    Null,
    /// No key.
    Omitted,
}

/// How a flag that is not set is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flags {
    /// No key.
    #[default]
    Omitted,
    /// `false`.
    Shown,
}

/// Format of the chat log of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatLog {
    /// One JSON array.
    #[default]
    Array,
    /// One line per entry.
    Ndjson,
}

/// Format of the status in the list of ongoing games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayingStatus {
    /// `{"id":20,"name":"started"}`
    #[default]
    Object,
    /// `"started"`
    String,
    /// No key.
    Absent,
}

/// One switch as on the command line: `NAME=VALUE`, or `NAME` for `NAME=yes`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quirk(pub(super) Table);

impl FromStr for Quirk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, "yes"));
        let value = match value.trim() {
            "yes" | "true" | "on" => Value::Boolean(true),
            "no" | "false" | "off" => Value::Boolean(false),
            text => text
                .parse()
                .map_or_else(|_| Value::String(text.to_owned()), Value::Integer),
        };
        let setting = Table::from_iter([(name.trim().replace('_', "-"), value)]);
        Quirks::with([setting.clone()]).map_err(|error| spelling::suggest(error.message()))?;
        Ok(Self(setting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(settings: &[&str]) -> Result<Quirks, String> {
        let settings: Result<Vec<Quirk>, String> =
            settings.iter().map(|text| text.parse()).collect();
        Ok(Quirks::with(settings?.into_iter().map(|quirk| quirk.0)).unwrap())
    }

    #[test]
    fn quirks_set_by_name() {
        let quirks = with(&[
            "castling=e1h1",
            "add-time-push=no",
            "gifts_push",
            "claim-win=40",
            "title=omitted",
            "restriction=Not for bots",
            "castling=e1g1",
            "limiter=rolling",
            "bot-games=50",
        ]);
        let expected = Quirks {
            add_time_push: false,
            gifts_push: true,
            claim_win: ClaimWin::Forty,
            title: Absent::Omitted,
            restriction: "Not for bots".to_owned(),
            limiter: Limiter::Rolling,
            bot_games: 50,
            ..Quirks::default()
        };
        assert_eq!(quirks, Ok(expected));
        assert_eq!(with(&[]), Ok(Quirks::default()));
    }

    #[test]
    fn quirk_errors_list_valid_values() {
        for (setting, word) in [
            ("castles=yes", "`castling`, `limiter`"),
            ("castling=o-o", "`e1g1`"),
            ("claim-win=50", "30 or 40"),
            ("nb-my-turn=perhaps", "boolean"),
        ] {
            let error = with(&[setting]).unwrap_err();
            assert!(error.contains(word), "{setting}: {error}");
        }
    }
}
