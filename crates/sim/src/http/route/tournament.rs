//! Routes of arenas, teams and Swiss tournaments.

use crate::faults::Endpoint;
use crate::site::id::ArenaId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TournamentRoute<'a> {
    ArenaList,
    ArenaCreate,
    Arena(ArenaId, ArenaAction),
    ArenasCreatedBy(&'a str),
    ArenasPlayedBy(&'a str),
    Team(&'a str, TeamAction),
    TeamsOf(&'a str),
    SwissShow,
    /// Join or withdraw.
    SwissEnter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArenaAction {
    Show,
    Join,
    Withdraw,
    Results,
    Games,
    Teams,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TeamAction {
    Show,
    Users,
    Arenas,
    Join,
    Quit,
}

impl<'a> TournamentRoute<'a> {
    pub fn parse(get: bool, post: bool, parts: &[&'a str]) -> Option<Self> {
        let route = match *parts {
            ["api", "tournament"] if get => Self::ArenaList,
            ["api", "tournament"] if post => Self::ArenaCreate,
            ["api", "tournament", id, ref action @ ..] => {
                Self::Arena(ArenaId::parse(id)?, ArenaAction::parse(get, post, action)?)
            }
            ["api", "user", name, "tournament", "created"] if get => Self::ArenasCreatedBy(name),
            ["api", "user", name, "tournament", "played"] if get => Self::ArenasPlayedBy(name),
            ["api", "team", "of", name] if get => Self::TeamsOf(name),
            ["api", "team", id] if get => Self::Team(id, TeamAction::Show),
            ["api", "team", id, "users"] if get => Self::Team(id, TeamAction::Users),
            ["api", "team", id, "arena"] if get => Self::Team(id, TeamAction::Arenas),
            ["team", id, "join"] if post => Self::Team(id, TeamAction::Join),
            ["team", id, "quit"] if post => Self::Team(id, TeamAction::Quit),
            ["api", "swiss", _] if get => Self::SwissShow,
            ["api", "swiss", _, "join" | "withdraw"] if post => Self::SwissEnter,
            _ => return None,
        };
        Some(route)
    }

    pub fn endpoint(self) -> Endpoint {
        match self {
            Self::ArenaList => Endpoint::ArenaList,
            Self::ArenaCreate => Endpoint::ArenaCreate,
            Self::Arena(_, action) => match action {
                ArenaAction::Show => Endpoint::ArenaShow,
                ArenaAction::Join => Endpoint::ArenaJoin,
                ArenaAction::Withdraw => Endpoint::ArenaWithdraw,
                ArenaAction::Results => Endpoint::ArenaResults,
                ArenaAction::Games => Endpoint::ArenaGames,
                ArenaAction::Teams => Endpoint::ArenaTeams,
            },
            Self::ArenasCreatedBy(_) | Self::ArenasPlayedBy(_) => Endpoint::ArenasOfUser,
            Self::Team(_, TeamAction::Join) => Endpoint::TeamJoin,
            Self::Team(_, TeamAction::Quit) => Endpoint::TeamQuit,
            Self::Team(..) | Self::TeamsOf(_) => Endpoint::Team,
            Self::SwissShow | Self::SwissEnter => Endpoint::Swiss,
        }
    }

    /// Accepted scopes, see [`accepted_scopes`](crate::http::handlers::accepted_scopes).
    pub fn scopes(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Arena(_, ArenaAction::Join | ArenaAction::Withdraw) => {
                Some(&["tournament:write", "bot:play"])
            }
            Self::ArenaCreate | Self::SwissEnter => Some(&["tournament:write"]),
            Self::Team(_, TeamAction::Join | TeamAction::Quit) => Some(&["team:write"]),
            _ => None,
        }
    }
}

impl ArenaAction {
    fn parse(get: bool, post: bool, parts: &[&str]) -> Option<Self> {
        match *parts {
            [] if get => Some(Self::Show),
            ["results"] if get => Some(Self::Results),
            ["games"] if get => Some(Self::Games),
            ["teams"] if get => Some(Self::Teams),
            ["join"] if post => Some(Self::Join),
            ["withdraw"] if post => Some(Self::Withdraw),
            _ => None,
        }
    }
}
