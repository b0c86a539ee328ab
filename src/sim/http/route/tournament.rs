//! Calls about where people gather: arenas, teams, swiss tournaments.

use crate::sim::faults::Endpoint;
use crate::sim::site::id::ArenaId;

/// One such call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Gathering<'a> {
    ArenaList,
    ArenaCreate,
    Arena(ArenaId, ArenaCall),
    ArenasCreatedBy(&'a str),
    ArenasPlayedBy(&'a str),
    Team(&'a str, TeamCall),
    TeamsOf(&'a str),
    SwissShow,
    /// To take part, or no longer.
    SwissEnter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum ArenaCall {
    Show,
    Join,
    Withdraw,
    Results,
    Games,
    Teams,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum TeamCall {
    Show,
    Users,
    Arenas,
    Join,
    Quit,
}

impl<'a> Gathering<'a> {
    pub fn parse(get: bool, post: bool, parts: &[&'a str]) -> Option<Self> {
        let call = match *parts {
            ["api", "tournament"] if get => Self::ArenaList,
            ["api", "tournament"] if post => Self::ArenaCreate,
            ["api", "tournament", id, ref call @ ..] => {
                Self::Arena(ArenaId::parse(id)?, ArenaCall::parse(get, post, call)?)
            }
            ["api", "user", name, "tournament", "created"] if get => Self::ArenasCreatedBy(name),
            ["api", "user", name, "tournament", "played"] if get => Self::ArenasPlayedBy(name),
            ["api", "team", "of", name] if get => Self::TeamsOf(name),
            ["api", "team", id] if get => Self::Team(id, TeamCall::Show),
            ["api", "team", id, "users"] if get => Self::Team(id, TeamCall::Users),
            ["api", "team", id, "arena"] if get => Self::Team(id, TeamCall::Arenas),
            ["team", id, "join"] if post => Self::Team(id, TeamCall::Join),
            ["team", id, "quit"] if post => Self::Team(id, TeamCall::Quit),
            ["api", "swiss", _] if get => Self::SwissShow,
            ["api", "swiss", _, "join" | "withdraw"] if post => Self::SwissEnter,
            _ => return None,
        };
        Some(call)
    }

    pub fn endpoint(self) -> Endpoint {
        match self {
            Self::ArenaList => Endpoint::ArenaList,
            Self::ArenaCreate => Endpoint::ArenaCreate,
            Self::Arena(_, call) => match call {
                ArenaCall::Show => Endpoint::ArenaShow,
                ArenaCall::Join => Endpoint::ArenaJoin,
                ArenaCall::Withdraw => Endpoint::ArenaWithdraw,
                ArenaCall::Results => Endpoint::ArenaResults,
                ArenaCall::Games => Endpoint::ArenaGames,
                ArenaCall::Teams => Endpoint::ArenaTeams,
            },
            Self::ArenasCreatedBy(_) | Self::ArenasPlayedBy(_) => Endpoint::ArenasOfUser,
            Self::Team(_, TeamCall::Join) => Endpoint::TeamJoin,
            Self::Team(_, TeamCall::Quit) => Endpoint::TeamQuit,
            Self::Team(..) | Self::TeamsOf(_) => Endpoint::Team,
            Self::SwissShow | Self::SwissEnter => Endpoint::Swiss,
        }
    }

    /// As in [`accepted_scopes`](crate::sim::http::handlers::accepted_scopes).
    pub fn scopes(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Arena(_, ArenaCall::Join | ArenaCall::Withdraw) => {
                Some(&["tournament:write", "bot:play"])
            }
            Self::ArenaCreate | Self::SwissEnter => Some(&["tournament:write"]),
            Self::Team(_, TeamCall::Join | TeamCall::Quit) => Some(&["team:write"]),
            _ => None,
        }
    }
}

impl ArenaCall {
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
