//! Calls about oneself: settings, messages, whom one follows and blocks.

/// One such route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum PersonalRoute<'a> {
    Preferences,
    Email,
    Kid,
    SetKid,
    /// The token is given up.
    Revoke,
    Inbox(&'a str),
    Relate(RelationChange, &'a str),
    Following,
    Timeline,
    /// A wish for a game against anybody, which is not for bots.
    Seek,
}

/// What becomes of how one user stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum RelationChange {
    Follow,
    Unfollow,
    Block,
    Unblock,
}

impl RelationChange {
    fn named(name: &str) -> Option<Self> {
        match name {
            "follow" => Some(Self::Follow),
            "unfollow" => Some(Self::Unfollow),
            "block" => Some(Self::Block),
            "unblock" => Some(Self::Unblock),
            _ => None,
        }
    }
}

impl<'a> PersonalRoute<'a> {
    pub fn parse(method: &axum::http::Method, parts: &[&'a str]) -> Option<Self> {
        let route = match (method.as_str(), parts) {
            ("GET" | "HEAD", ["api", "account", "preferences"]) => Self::Preferences,
            ("GET" | "HEAD", ["api", "account", "email"]) => Self::Email,
            ("GET" | "HEAD", ["api", "account", "kid"]) => Self::Kid,
            ("POST", ["api", "account", "kid"]) => Self::SetKid,
            ("DELETE", ["api", "token"]) => Self::Revoke,
            ("POST", ["inbox", name]) => Self::Inbox(name),
            ("GET" | "HEAD", ["api", "rel", "following"]) => Self::Following,
            ("POST", ["api", "rel", tie, name]) => Self::Relate(RelationChange::named(tie)?, name),
            ("GET" | "HEAD", ["api", "timeline"]) => Self::Timeline,
            ("POST", ["api", "board", "seek"]) => Self::Seek,
            _ => return None,
        };
        Some(route)
    }

    /// As in [`accepted_scopes`](crate::sim::http::handlers::accepted_scopes).
    pub fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::Preferences | Self::Kid => &["preference:read"],
            Self::SetKid => &["preference:write"],
            Self::Email => &["email:read"],
            Self::Inbox(_) => &["msg:write"],
            Self::Relate(..) => &["follow:write"],
            Self::Following => &["follow:read"],
            Self::Seek => &["board:play"],
            Self::Revoke | Self::Timeline => &[],
        }
    }
}
