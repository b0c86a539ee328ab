//! Identifiers of games, arenas and users.

use std::fmt;

use knightwatch_chess::Color;

/// Id of a game and of the challenge that it was created from: eight letters and digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GameId([u8; 8]);

impl GameId {
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        Self(std::array::from_fn(|_| rng.alphanumeric() as u8))
    }

    /// Parses an id of exactly eight word characters.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 8] = text.as_bytes().try_into().ok()?;
        bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .then_some(Self(bytes))
    }

    /// Parses a short id, or a full id of twelve characters whose last four identify the player.
    pub(crate) fn parse_any(text: &str) -> Option<Self> {
        match text.len() {
            12 => Self::parse(text.get(..8)?),
            _ => Self::parse(text),
        }
    }
}

impl fmt::Display for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{}", *b as char))
    }
}

/// Id of an arena; it has the form of a game id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ArenaId(GameId);

impl ArenaId {
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        Self(GameId::random(rng))
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        GameId::parse(text).map(Self)
    }
}

impl fmt::Display for ArenaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Suffixes of the two players' full ids of a game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secrets([[u8; 4]; 2]);

impl Secrets {
    pub(crate) fn random(rng: &mut fastrand::Rng) -> Self {
        Self(std::array::from_fn(|_| {
            std::array::from_fn(|_| rng.alphanumeric() as u8)
        }))
    }

    pub(crate) fn full_id(&self, game: GameId, color: Color) -> String {
        let mut full = game.to_string();
        full.extend(self.0[color.index()].iter().map(|b| *b as char));
        full
    }
}

/// Id of a user: the name in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct UserId(String);

impl UserId {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn of(name: &str) -> Self {
        Self(name.to_lowercase())
    }

    pub(crate) fn personal_token(&self) -> String {
        format!("lip_{self}")
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks a user name.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (2..=30).contains(&name.len()) && name.bytes().all(is_valid) {
        Ok(())
    } else {
        Err(format!(
            "`{name}` is not a user name: expected 2 to 30 letters, digits, `_` and `-`"
        ))
    }
}
