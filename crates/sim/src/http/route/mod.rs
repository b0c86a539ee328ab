//! Routing of requests by method and path.

pub(super) mod personal;
pub(super) mod public;
pub(super) mod tournament;

use axum::http::Method;

use crate::faults::Endpoint;
use crate::http::route::personal::PersonalRoute;
use crate::http::route::public::PublicRoute;
use crate::http::route::tournament::TournamentRoute;
use crate::site::id::GameId;

/// Endpoint of a request with the parameters of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Account,
    Playing,
    TokenTest,
    Upgrade,
    Events,
    BotsOnline,
    UsersStatus,
    User(&'a str),
    Export(&'a str),
    Ping,
    /// A call on one game of the Bot or Board API.
    Game(Api, &'a str, GameAction<'a>),
    ChallengeList,
    ChallengeCreate(&'a str),
    Challenge(GameId, ChallengeAction),
    PlayEngine,
    OpenChallenge,
    StartClocks(GameId),
    /// Gives the opponent this many seconds.
    AddTime(GameId, u32),
    Public(PublicRoute<'a>),
    Personal(PersonalRoute<'a>),
    Tournament(TournamentRoute<'a>),
    /// No known endpoint.
    Unknown,
}

/// API through which a game is played: `/api/bot` for bots, `/api/board` for humans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Bot,
    Board,
}

impl Api {
    fn from_path(name: &str) -> Option<Self> {
        match name {
            "bot" => Some(Self::Bot),
            "board" => Some(Self::Board),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GameAction<'a> {
    Stream,
    Move(&'a str),
    Say,
    ChatLog,
    Abort,
    Resign,
    Draw(&'a str),
    Takeback(&'a str),
    ClaimVictory,
    ClaimDraw,
    Berserk,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChallengeAction {
    Show,
    Accept,
    Decline,
    Cancel,
}

impl<'a> Route<'a> {
    /// Parses method and path. A trailing slash is ignored.
    pub fn parse(method: &Method, path: &'a str) -> Self {
        let path = path.strip_suffix('/').unwrap_or(path);
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        let get = matches!(*method, Method::GET | Method::HEAD);
        let post = *method == Method::POST;
        if let Some(route) = PublicRoute::parse(get, post, &parts) {
            return Self::Public(route);
        }
        if let Some(route) = PersonalRoute::parse(method, &parts) {
            return Self::Personal(route);
        }
        if let Some(route) = TournamentRoute::parse(get, post, &parts) {
            return Self::Tournament(route);
        }
        match parts[..] {
            ["__ping"] if get => Self::Ping,
            ["game", "export", id] if get => Self::Export(id),
            ["api", ref rest @ ..] => match *rest {
                ["account"] if get => Self::Account,
                ["account", "playing"] if get => Self::Playing,
                ["token", "test"] if post => Self::TokenTest,
                ["bot", "account", "upgrade"] if post => Self::Upgrade,
                ["stream", "event"] if get => Self::Events,
                ["bot", "online"] if get => Self::BotsOnline,
                ["users", "status"] if get => Self::UsersStatus,
                ["user", name] if get => Self::User(name),
                [api, "game", ref rest @ ..] => {
                    let game = Api::from_path(api).zip(GameAction::parse(get, post, rest));
                    game.map_or(Self::Unknown, |(api, (id, action))| {
                        Self::Game(api, id, action)
                    })
                }
                ["challenge"] if get => Self::ChallengeList,
                ["challenge", id, "show"] if get => Self::challenge(id, ChallengeAction::Show),
                ["challenge", id, "accept"] if post => Self::challenge(id, ChallengeAction::Accept),
                ["challenge", id, "decline"] if post => {
                    Self::challenge(id, ChallengeAction::Decline)
                }
                ["challenge", id, "cancel"] if post => Self::challenge(id, ChallengeAction::Cancel),
                ["challenge", "ai"] if post => Self::PlayEngine,
                ["challenge", "open"] if post => Self::OpenChallenge,
                ["challenge", id, "start-clocks"] if post => {
                    GameId::parse(id).map_or(Self::Unknown, Self::StartClocks)
                }
                ["round", id, "add-time", seconds] if post => GameId::parse(id)
                    .zip(seconds.parse().ok())
                    .map_or(Self::Unknown, |(id, seconds)| Self::AddTime(id, seconds)),
                ["challenge", name] if post => Self::ChallengeCreate(name),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    /// Challenge endpoints accept only ids of exactly eight characters; any other id is an unknown path.
    fn challenge(id: &str, action: ChallengeAction) -> Self {
        GameId::parse(id).map_or(Self::Unknown, |id| Self::Challenge(id, action))
    }

    /// Returns whether the response is an unbounded stream.
    pub fn is_stream(&self) -> bool {
        matches!(
            self,
            Self::Events
                | Self::Game(_, _, GameAction::Stream)
                | Self::Public(PublicRoute::StreamGame(_))
        )
    }

    pub fn endpoint(&self) -> Endpoint {
        match self {
            Self::Account => Endpoint::Account,
            Self::Playing => Endpoint::Playing,
            Self::TokenTest => Endpoint::TokenTest,
            Self::Upgrade => Endpoint::Upgrade,
            Self::Events => Endpoint::EventStream,
            Self::BotsOnline => Endpoint::BotsOnline,
            Self::UsersStatus => Endpoint::UsersStatus,
            Self::User(_) => Endpoint::User,
            Self::Export(_) => Endpoint::Export,
            Self::Ping => Endpoint::Ping,
            Self::Game(_, _, action) => match action {
                GameAction::Stream => Endpoint::GameStream,
                GameAction::Move(_) => Endpoint::Move,
                GameAction::Say => Endpoint::Chat,
                GameAction::ChatLog => Endpoint::ChatLog,
                GameAction::Abort => Endpoint::Abort,
                GameAction::Resign => Endpoint::Resign,
                GameAction::Draw(_) => Endpoint::Draw,
                GameAction::Takeback(_) => Endpoint::Takeback,
                GameAction::ClaimVictory => Endpoint::ClaimVictory,
                GameAction::ClaimDraw => Endpoint::ClaimDraw,
                GameAction::Berserk => Endpoint::Berserk,
                GameAction::Unknown => Endpoint::Other,
            },
            Self::ChallengeList => Endpoint::ChallengeList,
            Self::ChallengeCreate(_) => Endpoint::ChallengeCreate,
            Self::Challenge(_, action) => match action {
                ChallengeAction::Show => Endpoint::ChallengeShow,
                ChallengeAction::Accept => Endpoint::ChallengeAccept,
                ChallengeAction::Decline => Endpoint::ChallengeDecline,
                ChallengeAction::Cancel => Endpoint::ChallengeCancel,
            },
            Self::PlayEngine => Endpoint::ChallengeAi,
            Self::OpenChallenge => Endpoint::ChallengeOpen,
            Self::StartClocks(_) => Endpoint::StartClocks,
            Self::AddTime(..) => Endpoint::AddTime,
            Self::Public(route) => route.endpoint(),
            Self::Personal(_) => Endpoint::Personal,
            Self::Tournament(route) => route.endpoint(),
            Self::Unknown => Endpoint::Other,
        }
    }

    /// Id of the game or challenge in the path.
    pub fn id(&self) -> Option<GameId> {
        match self {
            Self::Game(_, id, _) | Self::Export(id) => GameId::parse_any(id),
            Self::Challenge(id, _) | Self::StartClocks(id) | Self::AddTime(id, _) => Some(*id),
            _ => None,
        }
    }
}

impl<'a> GameAction<'a> {
    /// Parses what follows `/api/bot/game` or `/api/board/game` into game id and action.
    fn parse(get: bool, post: bool, rest: &[&'a str]) -> Option<(&'a str, Self)> {
        match *rest {
            ["stream", id] if get => Some((id, Self::Stream)),
            [id, "chat"] if get => Some((id, Self::ChatLog)),
            [id, ref action @ ..] if post => Some((id, Self::parse_action(action))),
            _ => None,
        }
    }

    fn parse_action(parts: &[&'a str]) -> Self {
        match *parts {
            ["move", uci] => Self::Move(uci),
            ["chat"] => Self::Say,
            ["abort"] => Self::Abort,
            ["resign"] => Self::Resign,
            ["draw", answer] => Self::Draw(answer),
            ["takeback", answer] => Self::Takeback(answer),
            ["claim-victory"] => Self::ClaimVictory,
            ["claim-draw"] => Self::ClaimDraw,
            ["berserk"] => Self::Berserk,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_paths_parse() {
        let post = |path| Route::parse(&Method::POST, path);
        let get = |path| Route::parse(&Method::GET, path);
        let game = |action| Route::Game(Api::Bot, "abcdefgh", action);
        assert_eq!(
            post("/api/bot/game/abcdefgh/move/e2e4"),
            game(GameAction::Move("e2e4"))
        );
        assert_eq!(
            post("/api/bot/game/abcdefgh/claim-victory/"),
            game(GameAction::ClaimVictory)
        );
        assert_eq!(
            post("/api/bot/game/abcdefgh/dance"),
            game(GameAction::Unknown)
        );
        assert_eq!(
            get("/api/bot/game/stream/abcdefgh"),
            game(GameAction::Stream)
        );
        assert_eq!(
            get("/api/bot/game/abcdefgh/chat"),
            game(GameAction::ChatLog)
        );
        assert_eq!(
            post("/api/board/game/abcdefgh/resign"),
            Route::Game(Api::Board, "abcdefgh", GameAction::Resign)
        );
        assert_eq!(get("/api/bored/game/stream/abcdefgh"), Route::Unknown);
        assert_eq!(
            post("/api/challenge/bobby"),
            Route::ChallengeCreate("bobby")
        );
        assert_eq!(
            post("/api/challenge/tooshort/accept").endpoint(),
            Endpoint::ChallengeAccept
        );
        assert_eq!(post("/api/challenge/short/accept"), Route::Unknown);
        assert_eq!(get("/api/challenge/bobby"), Route::Unknown);
        assert_eq!(
            post("/api/tournament/abcdefgh/join").endpoint(),
            Endpoint::ArenaJoin
        );
        assert_eq!(get("/api/tournament/abcdefgh/join"), Route::Unknown);
        assert_eq!(get("/api/tournament/short"), Route::Unknown);
        assert_eq!(post("/team/bots/quit").endpoint(), Endpoint::TeamQuit);
        assert_eq!(get("/"), Route::Unknown);
    }
}
