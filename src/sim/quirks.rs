//! Where no source settles what Lichess does, or two contradict each other: a switch for each.

use std::str::FromStr;

use serde::Deserialize;
use toml::{Table, Value};

use crate::spelling;

/// The switches. Each stands as the server's own source has it, where that could be read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirks {
    /// How castling is spelt in the moves of standard games.
    pub castling: Castling,
    /// How a limit gives back what was used of it.
    pub limiter: Limiter,
    /// Whether a state is sent when a player adds time to his opponent's clock.
    pub add_time_push: bool,
    /// Whether a state is sent when a restart of the site gives time.
    pub gifts_push: bool,
    /// Whether states of games that expire without a first move say when.
    pub expiration: bool,
    /// How long somebody may be away before he can be claimed.
    pub claim_win: ClaimWin,
    /// How somebody without a title is shown, in games and challenges.
    pub title: Absent,
    /// Whether the list of games that are on says in how many it is my turn.
    pub nb_my_turn: bool,
    /// As what the chat of a game is sent to who asks for it.
    pub chat_log: ChatLog,
    /// As what the status is shown in the list of games that are on.
    pub playing_status: PlayingStatus,
    /// Whether states say that nobody offers a draw.
    pub draw_flags: Flags,
    /// What a bot is told that may not join an arena.
    pub restriction: String,
}

impl Default for Quirks {
    fn default() -> Self {
        Self {
            castling: Castling::default(),
            limiter: Limiter::default(),
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
    /// With these settings, of which later ones win.
    ///
    /// # Errors
    /// A name that is none, or a value that it does not take; says which there are.
    pub fn with(settings: impl IntoIterator<Item = Table>) -> Result<Self, toml::de::Error> {
        let mut all = Table::new();
        all.extend(settings.into_iter().flatten());
        Self::deserialize(Value::Table(all))
    }
}

/// The spelling of castling that the site puts out in standard games. Elsewhere it is always the king taking his rook.
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

/// How a limit gives back what was used of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limiter {
    /// All at once, at the end of a window that the first call has opened.
    #[default]
    Fixed,
    /// One after the other, each when its own time is over.
    Rolling,
}

/// How long somebody may be away, in seconds at a bullet pace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u32")]
pub enum ClaimWin {
    /// 30: twice that in blitz, four times in rapid, ten times in classical games; half of it for who is far behind.
    #[default]
    Thirty,
    /// 40: twice that in rapid, three times in classical games; a third of it for who is far behind.
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

/// How a key is shown that has no value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Absent {
    #[default]
    Null,
    Omitted,
}

/// How a flag is shown that is not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flags {
    #[default]
    Omitted,
    Shown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatLog {
    /// One JSON array.
    #[default]
    Array,
    /// A line for each entry.
    Ndjson,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayingStatus {
    /// `{"id":20,"name":"started"}`
    #[default]
    Object,
    /// `"started"`
    String,
    Absent,
}

/// One switch as on the command line: `NAME=VALUE`, or `NAME` to switch it on.
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
    fn switches_are_set_by_name() {
        let quirks = with(&[
            "castling=e1h1",
            "add-time-push=no",
            "gifts_push",
            "claim-win=40",
            "title=omitted",
            "restriction=Not for bots",
            "castling=e1g1",
            "limiter=rolling",
        ]);
        let expected = Quirks {
            add_time_push: false,
            gifts_push: true,
            claim_win: ClaimWin::Forty,
            title: Absent::Omitted,
            restriction: "Not for bots".to_owned(),
            limiter: Limiter::Rolling,
            ..Quirks::default()
        };
        assert_eq!(quirks, Ok(expected));
        assert_eq!(with(&[]), Ok(Quirks::default()));
    }

    #[test]
    fn what_there_is_is_told_to_who_errs() {
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
