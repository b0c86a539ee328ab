//! Kinds of API requests.

use serde::Deserialize;

/// Kind of API request, as faults and statistics distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// `GET /api/account`.
    Account,
    /// `GET /api/account/playing`.
    Playing,
    /// `POST /api/token/test`.
    TokenTest,
    /// `POST /api/bot/account/upgrade`.
    Upgrade,
    /// `GET /api/stream/event`.
    EventStream,
    /// `GET /api/{bot,board}/game/stream/{id}`.
    GameStream,
    /// `POST /api/{bot,board}/game/{id}/move/{uci}`.
    Move,
    /// `POST /api/{bot,board}/game/{id}/chat`.
    Chat,
    /// `GET /api/{bot,board}/game/{id}/chat`.
    ChatLog,
    /// `POST /api/{bot,board}/game/{id}/abort`.
    Abort,
    /// `POST /api/{bot,board}/game/{id}/resign`.
    Resign,
    /// `POST /api/{bot,board}/game/{id}/draw/{answer}`.
    Draw,
    /// `POST /api/{bot,board}/game/{id}/takeback/{answer}`.
    Takeback,
    /// `POST /api/{bot,board}/game/{id}/claim-victory`.
    ClaimVictory,
    /// `POST /api/{bot,board}/game/{id}/claim-draw`.
    ClaimDraw,
    /// `POST /api/{bot,board}/game/{id}/berserk`.
    Berserk,
    /// `POST /api/challenge/{user}`.
    ChallengeCreate,
    /// `POST /api/challenge/{id}/accept`.
    ChallengeAccept,
    /// `POST /api/challenge/{id}/decline`.
    ChallengeDecline,
    /// `POST /api/challenge/{id}/cancel`.
    ChallengeCancel,
    /// `GET /api/challenge`.
    ChallengeList,
    /// `GET /api/challenge/{id}/show`.
    ChallengeShow,
    /// `GET /api/bot/online`.
    BotsOnline,
    /// `GET /api/users/status`.
    UsersStatus,
    /// `GET /api/user/{name}`.
    User,
    /// `GET /game/export/{id}`.
    Export,
    /// `GET /__ping`.
    Ping,
    /// `POST /api/challenge/ai`.
    ChallengeAi,
    /// `POST /api/challenge/open`.
    ChallengeOpen,
    /// `POST /api/challenge/{id}/start-clocks`.
    StartClocks,
    /// `POST /api/round/{id}/add-time/{seconds}`.
    AddTime,
    /// `POST /api/users`.
    Users,
    /// `GET /api/crosstable/{user}/{user}`.
    Crosstable,
    /// `GET /api/games/user/{name}`, `/api/user/{name}/current-game` and `POST /api/games/export/_ids`.
    Games,
    /// `GET /api/stream/game/{id}` and the streams of several games.
    GamesStream,
    /// `GET /api/game/{id}/chat`.
    SpectatorChat,
    /// `GET /api/cloud-eval`.
    CloudEval,
    /// Registrations of external engines.
    ExternalEngine,
    /// Broker of external engines, which Lichess runs on another host.
    Broker,
    /// Opening explorer.
    Explorer,
    /// Tablebase.
    Tablebase,
    /// `POST /api/board/seek`.
    Seek,
    /// Settings, messages, follows and blocks.
    Personal,
    /// `GET /api/tournament`.
    ArenaList,
    /// `POST /api/tournament`.
    ArenaCreate,
    /// `GET /api/tournament/{id}`.
    ArenaShow,
    /// `POST /api/tournament/{id}/join`.
    ArenaJoin,
    /// `POST /api/tournament/{id}/withdraw`.
    ArenaWithdraw,
    /// `GET /api/tournament/{id}/results`.
    ArenaResults,
    /// `GET /api/tournament/{id}/games`.
    ArenaGames,
    /// `GET /api/tournament/{id}/teams`.
    ArenaTeams,
    /// `GET /api/user/{name}/tournament/created` and `/played`.
    ArenasOfUser,
    /// `GET /api/team/{id}` and the lists of teams.
    Team,
    /// `POST /team/{id}/join`.
    TeamJoin,
    /// `POST /team/{id}/quit`.
    TeamQuit,
    /// Swiss tournaments, which the simulator does not have.
    Swiss,
    /// All other paths.
    Other,
}
