//! Accounts.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer};

use super::ids::{GameId, Username};
use super::text;

/// A user account, ours or another.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// Name.
    pub username: Username,
    /// Title, such as `BOT` or `GM`.
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    /// Ratings by speed or variant: `bullet`, `blitz`, `chess960` ...
    #[serde(default, deserialize_with = "text::map")]
    pub perfs: BTreeMap<String, Perf>,
    /// The public profile.
    #[serde(default, deserialize_with = "text::lenient")]
    pub profile: Profile,
    /// Only in responses about ourselves or a single user.
    #[serde(default, deserialize_with = "text::lenient")]
    pub count: Option<Count>,
    /// Milliseconds since 1970; `None` for a closed account.
    #[serde(default, deserialize_with = "text::timestamp_ms")]
    pub created_at: Option<i64>,
    /// Whether the account is marked for a violation of the terms of service.
    #[serde(default, deserialize_with = "text::lenient")]
    pub tos_violation: bool,
    /// The account was closed.
    #[serde(default, deserialize_with = "text::lenient")]
    pub disabled: bool,
    /// We block this user. Only sent to authenticated users.
    #[serde(default, deserialize_with = "text::lenient")]
    pub blocking: bool,
}

impl User {
    /// Returns whether the user has the title `BOT`.
    pub fn is_bot(&self) -> bool {
        self.title.as_deref() == Some("BOT")
    }

    /// When the account was created.
    pub fn created(&self) -> Option<SystemTime> {
        let millis = self.created_at?.try_into().ok()?;
        UNIX_EPOCH.checked_add(Duration::from_millis(millis))
    }

    /// Returns whether the profile has a bio. Bots without one are not in the list of online bots.
    pub fn has_bio(&self) -> bool {
        self.profile
            .bio
            .as_deref()
            .is_some_and(|bio| !bio.trim().is_empty())
    }
}

/// Rating in one speed or variant. Modes without one (storm, racer) have zero games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Perf {
    /// Number of rated games.
    #[serde(default, deserialize_with = "text::lenient")]
    pub games: u64,
    /// Rating.
    #[serde(default, deserialize_with = "text::rating")]
    pub rating: Option<i32>,
    /// Rating deviation.
    #[serde(default, deserialize_with = "text::rating")]
    pub rd: Option<i32>,
    /// Too few games so far.
    #[serde(default, rename = "prov", deserialize_with = "text::lenient")]
    pub provisional: bool,
}

/// Public profile.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Profile {
    /// Biography, in one line.
    #[serde(default, deserialize_with = "text::one_line")]
    pub bio: Option<String>,
    /// Links, separated by spaces.
    #[serde(default, deserialize_with = "text::one_line")]
    pub links: Option<String>,
}

/// The account preferences that we use.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Preferences {
    /// Opponents who may propose takebacks: 1 none, 2 those in casual games, 3 all.
    #[serde(default, deserialize_with = "text::count")]
    pub takeback: Option<u32>,
}

/// Game counts.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Count {
    /// All games.
    #[serde(default, deserialize_with = "text::lenient")]
    pub all: u64,
}

/// Online status.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserStatus {
    /// Name.
    pub name: Username,
    /// Title, such as `BOT` or `GM`.
    #[serde(default, deserialize_with = "text::title")]
    pub title: Option<String>,
    /// Whether the user is online.
    #[serde(default, deserialize_with = "text::lenient")]
    pub online: bool,
    /// `true`, or an object that describes the game.
    #[serde(default, deserialize_with = "truthy")]
    pub playing: bool,
    /// Id of the game that the user plays.
    #[serde(default, deserialize_with = "text::lenient")]
    pub playing_id: Option<GameId>,
}

fn truthy<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shape {
        Plain(bool),
        Absent(()),
        Something(serde::de::IgnoredAny),
    }
    Ok(match Shape::deserialize(from)? {
        Shape::Plain(yes) => yes,
        Shape::Absent(()) => false,
        Shape::Something(_) => true,
    })
}

/// Owner, scopes and expiry of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// Owner of the token.
    pub user: Username,
    /// `bot:play`, `challenge:write` ...
    pub scopes: Vec<String>,
    /// Milliseconds since 1970; `None` if the token does not expire.
    pub expires: Option<i64>,
}

impl TokenInfo {
    /// Returns whether the token has a scope.
    pub fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|s| s == scope)
    }
}

impl<'de> Deserialize<'de> for TokenInfo {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            user_id: Username,
            #[serde(default, deserialize_with = "text::lenient")]
            scopes: String,
            #[serde(default, deserialize_with = "text::timestamp_ms")]
            expires: Option<i64>,
        }
        let wire = Wire::deserialize(from)?;
        let scopes = wire
            .scopes
            .split(',')
            .map(str::trim)
            .filter(|s| !s.is_empty());
        Ok(Self {
            user: wire.user_id,
            scopes: scopes.map(|scope| text::clip(scope, 40)).collect(),
            expires: wire.expires,
        })
    }
}
