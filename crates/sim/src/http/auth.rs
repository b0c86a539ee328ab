//! Authentication of requests.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, USER_AGENT};

use crate::site::{ApiError, UserId, Users};

/// User, token and `User-Agent` of an authenticated request.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub user: UserId,
    pub token: String,
    pub user_agent: String,
}

fn header(headers: &HeaderMap, name: impl axum::http::header::AsHeaderName) -> &str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Returns the bearer token of a request, unchecked.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    header(headers, AUTHORIZATION).strip_prefix("Bearer ")
}

/// Checks the token, then that it has one of the accepted scopes (an empty list accepts any token), then that the
/// `User-Agent` does not name another user.
pub(crate) fn authorize(
    users: &Users,
    headers: &HeaderMap,
    accepted: &[&str],
) -> Result<Caller, ApiError> {
    let token = bearer(headers).ok_or_else(ApiError::no_token)?;
    let grant = users
        .grant(token)
        .ok_or_else(|| ApiError::new(401, "No such token"))?;
    let has_scope = accepted.is_empty()
        || accepted
            .iter()
            .any(|scope| grant.scopes.iter().any(|granted| granted == scope));
    if !has_scope {
        return Err(ApiError::new(
            403,
            format!("Missing scope: {}", accepted.join(" || ")),
        ));
    }
    let user_agent = header(headers, USER_AGENT);
    if named_user(user_agent).is_some_and(|name| UserId::of(name) != grant.user) {
        return Err(ApiError::new(
            401,
            "The user in the user-agent doesn't match the token bearer",
        ));
    }
    Ok(Caller {
        user: grant.user.clone(),
        token: token.to_owned(),
        user_agent: user_agent.to_owned(),
    })
}

/// Returns the user name in a `User-Agent`, matched as Lichess does: `(?:user|as):\s?([\w\-]{3,31})`.
fn named_user(user_agent: &str) -> Option<&str> {
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let bytes = user_agent.as_bytes();
    (0..bytes.len()).find_map(|at| {
        let rest = user_agent.get(at..)?;
        let rest = rest.strip_prefix("user:").or(rest.strip_prefix("as:"))?;
        let named = rest.strip_prefix(|c: char| c.is_ascii_whitespace());
        // The space is optional in the pattern, but a name never begins with one.
        let name = named.unwrap_or(rest);
        let length = name.bytes().take_while(|b| is_name(*b)).count().min(31);
        (length >= 3).then(|| &name[..length])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agent_names_its_user() {
        for (agent, name) in [
            ("knightwatch/0.1 user:MyBot", Some("MyBot")),
            ("lichess-bot/1.2 user:?", None),
            ("x user: My-Bot_1 (mail@host)", Some("My-Bot_1")),
            ("x as:me", None),
            ("x as:you", Some("you")),
            ("python-requests/2", None),
            ("user:é", None),
            ("", None),
        ] {
            assert_eq!(named_user(agent), name, "{agent}");
        }
    }
}
