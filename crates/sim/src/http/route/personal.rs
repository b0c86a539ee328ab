//! Routes of the caller's own account: settings, messages, follows and blocks.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PersonalRoute<'a> {
    Preferences,
    Email,
    Kid,
    SetKid,
    /// Revokes the token.
    Revoke,
    Inbox(&'a str),
    SetRelation(RelationChange, &'a str),
    Following,
    Timeline,
    /// A lobby seek, which is forbidden to bots.
    Seek,
}

/// Change of the caller's relation to another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelationChange {
    Follow,
    Unfollow,
    Block,
    Unblock,
}

impl RelationChange {
    fn from_path(name: &str) -> Option<Self> {
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
            ("POST", ["api", "rel", change, name]) => {
                Self::SetRelation(RelationChange::from_path(change)?, name)
            }
            ("GET" | "HEAD", ["api", "timeline"]) => Self::Timeline,
            ("POST", ["api", "board", "seek"]) => Self::Seek,
            _ => return None,
        };
        Some(route)
    }

    /// Accepted scopes, see [`accepted_scopes`](crate::http::handlers::accepted_scopes).
    pub fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::Preferences | Self::Kid => &["preference:read"],
            Self::SetKid => &["preference:write"],
            Self::Email => &["email:read"],
            Self::Inbox(_) => &["msg:write"],
            Self::SetRelation(..) => &["follow:write"],
            Self::Following => &["follow:read"],
            Self::Seek => &["board:play"],
            Self::Revoke | Self::Timeline => &[],
        }
    }
}
