//! The kinds of calls.

use serde::Deserialize;

/// The kinds of calls, as faults and statistics tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    Account,
    Playing,
    TokenTest,
    Upgrade,
    EventStream,
    GameStream,
    Move,
    Chat,
    ChatLog,
    Abort,
    Resign,
    Draw,
    Takeback,
    ClaimVictory,
    ClaimDraw,
    Berserk,
    ChallengeCreate,
    ChallengeAccept,
    ChallengeDecline,
    ChallengeCancel,
    ChallengeList,
    ChallengeShow,
    BotsOnline,
    UsersStatus,
    User,
    Export,
    Ping,
    Users,
    Crosstable,
    Games,
    GamesStream,
    SpectatorChat,
    CloudEval,
    Explorer,
    Tablebase,
    /// Settings, messages, ties to other users.
    Personal,
    Other,
}
