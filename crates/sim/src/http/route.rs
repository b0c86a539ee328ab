//! Table of the endpoints: which handler answers a request, and what is checked before.
//!
//! `axum::Router` cannot hold this table: the path is decoded before it is split, a segment may be empty, and a malformed
//! id is an unknown path rather than an error.

use axum::http::Method;
use percent_encoding::percent_decode_str;

use crate::faults::Endpoint;
use crate::http::request::{ApiRequest, ApiResult};
use crate::site::limits::ConcurrencyLimit;
use crate::site::{ApiError, GameId};

/// Scopes of which the token needs one. An empty list accepts any token; `None` needs no token.
pub(crate) type Scopes = Option<&'static [&'static str]>;

pub(super) const NO_TOKEN: Scopes = None;
pub(super) const ANY_TOKEN: Scopes = Some(&[]);

/// Row of the table.
pub(crate) struct Route {
    /// GET includes HEAD.
    pub method: Method,
    /// `{challenge}` and `{arena}` stand for an id of exactly eight characters, `{game}` for the id of a game in any
    /// form, `{seconds}` for a number, `{*rest}` for all segments that follow, and any other `{name}` for one segment.
    pub path: String,
    pub endpoint: Endpoint,
    pub scopes: Scopes,
    /// Limit of concurrent requests; a request is running until its response is sent.
    pub concurrency: Option<ConcurrencyLimit>,
    pub handler: fn(&ApiRequest<'_>) -> ApiResult,
}

/// Rows of the table: `METHOD "path" Endpoint, scopes => handler;` or `... => handler, limit;`
macro_rules! routes {
    ($($method:ident $path:literal $endpoint:ident, $scopes:expr => $handler:expr $(, $limit:expr)?;)*) => {
        vec![$($crate::http::route::Route {
            method: axum::http::Method::$method,
            path: $path.to_owned(),
            endpoint: $crate::faults::Endpoint::$endpoint,
            scopes: $scopes,
            concurrency: None$(.or(Some($limit)))?,
            handler: $handler,
        }),*]
    };
}
pub(super) use routes;

impl Route {
    /// Returns the placeholders' names and values if the path matches.
    fn captures<'a>(&self, path: &'a str) -> Option<Vec<(&str, &'a str)>> {
        let mut segments = path.split('/');
        let mut captures = Vec::new();
        for pattern in self.path.split('/') {
            let segment = segments.next()?;
            match pattern {
                "{*rest}" => return Some(captures),
                "{challenge}" | "{arena}" => drop(GameId::parse(segment)?),
                "{seconds}" => drop(segment.parse::<u32>().ok()?),
                _ if pattern.starts_with('{') || pattern == segment => {}
                _ => return None,
            }
            if pattern.starts_with('{') {
                captures.push((pattern, segment));
            }
        }
        segments.next().is_none().then_some(captures)
    }
}

/// The row of a request with the values from its path.
pub(crate) struct RouteMatch {
    pub route: &'static Route,
    /// Values of the placeholders, in order.
    pub args: Vec<String>,
    /// Id of the game or challenge in the path.
    pub game: Option<GameId>,
}

impl RouteMatch {
    /// Finds the first row that matches. A trailing slash is ignored.
    pub(super) fn find(table: &'static [Route], method: &Method, path: &str) -> Self {
        static UNKNOWN: Route = Route {
            method: Method::GET,
            path: String::new(),
            endpoint: Endpoint::Other,
            scopes: NO_TOKEN,
            concurrency: None,
            handler: |_| Err(ApiError::unknown_path()),
        };
        let method = if *method == Method::HEAD {
            &Method::GET
        } else {
            method
        };
        let path = percent_decode_str(path).decode_utf8_lossy();
        let path = path.strip_suffix('/').unwrap_or(&path);
        let found = table
            .iter()
            .filter(|route| route.method == *method)
            .find_map(|route| Some((route, route.captures(path)?)));
        let (route, captures) = found.unwrap_or_else(|| (&UNKNOWN, Vec::new()));
        let game = captures
            .iter()
            .find(|(name, _)| matches!(*name, "{game}" | "{challenge}"));
        Self {
            route,
            game: game.and_then(|(_, id)| GameId::parse_any(id)),
            args: captures.iter().map(|(_, arg)| (*arg).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::handlers::TABLE;

    #[test]
    fn routes_hide_no_other_route() {
        for route in TABLE.iter() {
            let segments = route.path.split('/').map(|pattern| match pattern {
                "{seconds}" => "15",
                _ if pattern.starts_with('{') => "abcdefgh",
                _ => pattern,
            });
            let path = segments.collect::<Vec<_>>().join("/");
            let found = RouteMatch::find(&TABLE, &route.method, &path);
            assert_eq!(found.route.path, route.path);
        }
    }

    #[test]
    fn routes_capture_values_and_the_game() {
        for (method, path, args, game) in [
            (
                Method::POST,
                "/api/bot/game/abcdefgh/move/N%40f3/",
                &["abcdefgh", "N@f3"][..],
                true,
            ),
            (
                Method::GET,
                "/game/export/abcdefghijkl",
                &["abcdefghijkl"],
                true,
            ),
            (
                Method::POST,
                "/api/round/abcdefgh/add-time/15",
                &["abcdefgh", "15"],
                true,
            ),
            (Method::POST, "/api/bot/game/none/abort", &["none"], false),
            (
                Method::GET,
                "/api/tournament/abcdefgh",
                &["abcdefgh"],
                false,
            ),
            (Method::GET, "/api/game/abcdefgh/chat", &["abcdefgh"], false),
            (Method::HEAD, "/api/user/Anna", &["Anna"], false),
            (Method::GET, "/nothing", &[], false),
        ] {
            let found = RouteMatch::find(&TABLE, &method, path);
            assert_eq!(found.args, args, "{path}");
            assert_eq!(
                found.game,
                game.then(|| GameId::parse("abcdefgh")).flatten(),
                "{path}"
            );
        }
    }
}
