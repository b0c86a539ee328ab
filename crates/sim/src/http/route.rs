//! Table of the endpoints as a router: which handler answers a request, and what is checked before.

use std::future::Future;

use axum::Router;
use axum::extract::{ConnectInfo, RawPathParams, Request};
use axum::http::Method;
use axum::response::Response;
use axum::routing::{MethodFilter, on};

use crate::faults::Endpoint;
use crate::http::connection::Connection;
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
    /// The reply reads the body while it comes.
    pub is_upload: bool,
    pub handler: fn(&ApiRequest<'_>) -> ApiResult,
}

/// Rows of the table: `METHOD "path" Endpoint, scopes => handler;` or `... => handler, option;`
macro_rules! routes {
    ($($method:ident $path:literal $endpoint:ident, $scopes:expr => $handler:expr $(, $option:ident($($value:expr)?))?;)*) => {
        vec![$($crate::http::route::Route {
            method: axum::http::Method::$method,
            path: $path.to_owned(),
            endpoint: $crate::faults::Endpoint::$endpoint,
            scopes: $scopes,
            concurrency: None,
            is_upload: false,
            handler: $handler,
        }$(.$option($($value)?))?),*]
    };
}
pub(super) use routes;

impl Route {
    /// Limits the concurrent requests.
    pub(super) fn limited(mut self, limit: ConcurrencyLimit) -> Self {
        self.concurrency = Some(limit);
        self
    }

    /// Leaves the body to the reply.
    pub(super) fn upload(mut self) -> Self {
        self.is_upload = true;
        self
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
    fn unknown() -> Self {
        static UNKNOWN: Route = Route {
            method: Method::GET,
            path: String::new(),
            endpoint: Endpoint::Other,
            scopes: NO_TOKEN,
            concurrency: None,
            is_upload: false,
            handler: |_| Err(ApiError::unknown_path()),
        };
        Self {
            route: &UNKNOWN,
            args: Vec::new(),
            game: None,
        }
    }

    /// A path with a malformed id is an unknown one, as on Lichess.
    fn new(route: &'static Route, params: &RawPathParams) -> Self {
        let mut found = Self {
            route,
            args: Vec::new(),
            game: None,
        };
        for (name, value) in params {
            let is_valid = match name {
                "challenge" | "arena" => GameId::parse(value).is_some(),
                "seconds" => value.parse::<u32>().is_ok(),
                _ => true,
            };
            if !is_valid {
                return Self::unknown();
            }
            if matches!(name, "game" | "challenge") {
                found.game = found.game.or_else(|| GameId::parse_any(value));
            }
            found.args.push(value.to_owned());
        }
        found
    }
}

/// A router of the table that passes each request with its row to `answer`. A path with another method is an unknown one.
pub(super) fn router<F, R>(table: &'static [Route], answer: F) -> Router
where
    F: Fn(RouteMatch, Connection, Request) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Response> + Send + 'static,
{
    let mut router = Router::new();
    for route in table {
        let answer = answer.clone();
        let method = MethodFilter::try_from(route.method.clone()).expect("a standard method");
        let handler = move |params: RawPathParams, ConnectInfo(connection), request: Request| {
            answer(RouteMatch::new(route, &params), connection, request)
        };
        router = router.route(&route.path, on(method, handler));
    }
    let unknown = move |ConnectInfo(connection), request: Request| {
        answer(RouteMatch::unknown(), connection, request)
    };
    router
        .fallback(unknown.clone())
        .method_not_allowed_fallback(unknown)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::Body;
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;

    use super::*;
    use crate::http::handlers::TABLE;

    /// The row that answers a request, and its values.
    async fn find(method: &Method, path: &str) -> RouteMatch {
        let found = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&found);
        let router = router(&TABLE, move |route, _, _| {
            *kept.lock().unwrap() = Some(route);
            async { Response::default() }
        });
        let request = Request::builder().method(method).uri(path);
        let request = request.extension(ConnectInfo(Connection::in_process()));
        let request = request.body(Body::empty()).unwrap();
        let response = TowerToHyperService::new(router).call(request).await;
        assert!(response.is_ok());
        found.lock().unwrap().take().unwrap()
    }

    #[tokio::test]
    async fn routes_hide_no_other_route() {
        for route in TABLE.iter() {
            let segments = route.path.split('/').map(|pattern| match pattern {
                "{seconds}" => "15",
                _ if pattern.starts_with('{') => "abcdefgh",
                _ => pattern,
            });
            let path = segments.collect::<Vec<_>>().join("/");
            let found = find(&route.method, &path).await;
            assert_eq!(found.route.path, route.path);
        }
    }

    #[tokio::test]
    async fn routes_capture_values_and_the_game() {
        for (method, path, args, game) in [
            (
                Method::POST,
                "/api/bot/game/abcdefgh/move/N%40f3",
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
            let found = find(&method, path).await;
            assert_eq!(found.args, args, "{path}");
            assert_eq!(
                found.game,
                game.then(|| GameId::parse("abcdefgh")).flatten(),
                "{path}"
            );
        }
    }
}
