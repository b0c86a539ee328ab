//! The endpoints, one method each.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::{Client, Request};
use super::error::Error;
use super::model::{
    self, Arena, ArenaId, ArenaLine, Challenge, ChallengeId, Challenges, ChatLine, DeclineReason,
    FromLine, GameId, GameInfo, ListedArena, NewChallenge, Preferences, Room, Team, TokenInfo,
    User, UserStatus, Username, clip,
};
use super::retry::RequestKind;
use super::stream::{EventStream, ExportStream, GameStream, Ndjson, RawGameStream};
use knightwatch_util::clock;

/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit of a move. After it the stream decides whether the move was played.
pub const MOVE_TIMEOUT: Duration = Duration::from_secs(2);

/// Upper limit of a chat line, in UTF-16 code units, as the server counts.
pub const MAX_CHAT_UTF16_UNITS: usize = 140;

impl Client {
    // ---- the account

    /// Our account.
    pub async fn account(&self) -> Result<User, Error> {
        self.query(self.get(&["api", "account"])).await
    }

    /// Like [`account`](Self::account), but sent even while queries are paused: nothing can be played without the answer.
    pub async fn account_past_pauses(&self) -> Result<User, Error> {
        self.query(self.get(&["api", "account"]).past_pauses())
            .await
    }

    /// The preferences of our account. Needs the scope `preference:read`.
    pub async fn preferences(&self) -> Result<Preferences, Error> {
        #[derive(Deserialize)]
        struct Answer {
            prefs: Preferences,
        }
        let answer = self.query::<Answer>(self.get(&["api", "account", "preferences"]));
        answer.await.map(|answer| answer.prefs)
    }

    /// Owner and scopes of our token; `None` if Lichess does not know the token.
    pub async fn token_test(&self) -> Result<Option<TokenInfo>, Error> {
        let token = self.token();
        let token = token.reveal();
        let request = self
            .post_without_token(&["api", "token", "test"])
            .text(token);
        let body = self.fetch(request).await?;
        let mut answer: HashMap<String, Option<TokenInfo>> = serde_json::from_slice(&body)
            .map_err(|_| Error::Decode("the response to a token test".to_owned()))?;
        Ok(answer.remove(token).flatten())
    }

    /// Our ongoing games, at most `nb` (1 to 50), the most urgent first.
    pub async fn playing(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        let request = self.get_playing(nb);
        Ok(self.query::<Playing>(request).await?.now_playing)
    }

    /// Like [`playing`](Self::playing), but sent even while queries are paused: for the start, when games may be running.
    pub async fn playing_past_pauses(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        let request = self.get_playing(nb).past_pauses();
        Ok(self.query::<Playing>(request).await?.now_playing)
    }

    /// Like [`playing`](Self::playing), but sent while other queries wait for their responses: for a clock that may be
    /// running.
    pub async fn playing_unqueued(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        let request = self.get_playing(nb).unqueued();
        Ok(self.query::<Playing>(request).await?.now_playing)
    }

    fn get_playing(&self, nb: u32) -> Request {
        self.get(&["api", "account", "playing"])
            .query(&[("nb", nb.clamp(1, 50))])
    }

    /// Upgrades the account to a bot account. Cannot be undone.
    pub async fn upgrade(&self) -> Result<(), Error> {
        let request = self.post(&["api", "bot", "account", "upgrade"]);
        self.post_ok(RequestKind::Command, request).await
    }

    // ---- streams

    /// Opens the account's event stream, which closes an older one. For `silence` see
    /// [`crate::ReconnectPolicy::silence`].
    pub async fn events(&self, silence: Duration) -> Result<EventStream, Error> {
        let request = self.get_stream(&["api", "stream", "event"]);
        self.open(RequestKind::EventStream, request, silence).await
    }

    /// Opens a game's stream.
    pub async fn game(&self, id: &GameId, silence: Duration) -> Result<GameStream, Error> {
        self.open_game(id, silence).await
    }

    /// Opens a game's stream, with the raw lines.
    pub async fn raw_game_stream(
        &self,
        id: &GameId,
        silence: Duration,
    ) -> Result<RawGameStream, Error> {
        self.open_game(id, silence).await
    }

    async fn open_game<T: FromLine>(
        &self,
        id: &GameId,
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        let request = self.get_stream(&["api", "bot", "game", "stream", id.as_str()]);
        self.open(RequestKind::GameStream, request, silence).await
    }

    /// Exports the finished games of a user with their clocks, those that started first before the others: one JSON object
    /// per line. `since` is a time in milliseconds since 1970. Lichess sends 20 to 60 games a second, and one export at a
    /// time.
    pub async fn export_games(
        &self,
        user: &Username,
        since: Option<i64>,
        silence: Duration,
    ) -> Result<ExportStream, Error> {
        let since = since.map(|since| ("since", since.to_string()));
        let request = self
            .get_stream(&["api", "games", "user", user.as_str()])
            .accept("application/x-ndjson")
            .query(&[("clocks", "true"), ("sort", "dateAsc")])
            .query(&Vec::from_iter(since));
        self.open(RequestKind::Query, request, silence).await
    }

    // ---- a game

    /// Posts a request of a player on our page and returns the raw response.
    pub async fn forward(&self, path: &str, form: &[(String, String)]) -> Result<Bytes, Error> {
        let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let request = self.post(&path).form(&form);
        self.send(RequestKind::Answer, REQUEST_TIMEOUT, request)
            .await
    }

    /// Plays a move in UCI. The response comes once the move was applied, or the flag had fallen; the game's stream is what
    /// counts. With `offering_draw` the draw offer is shown before the move, or the opponent's offer accepted.
    pub async fn play(&self, id: &GameId, uci: &str, offering_draw: bool) -> Result<(), Error> {
        self.play_within(MOVE_TIMEOUT, id, uci, offering_draw).await
    }

    /// Like [`play`](Self::play), with another time limit than [`MOVE_TIMEOUT`].
    pub async fn play_within(
        &self,
        timeout: Duration,
        id: &GameId,
        uci: &str,
        offering_draw: bool,
    ) -> Result<(), Error> {
        let mut request = self.in_game(id, &["move", uci]);
        if offering_draw {
            request = request.query(&[("offeringDraw", true)]);
        }
        self.send(RequestKind::Move, timeout, request)
            .await
            .map(drop)
    }

    /// Posts a chat line, cut to 140 characters.
    pub async fn chat(&self, id: &GameId, room: Room, text: &str) -> Result<(), Error> {
        let form = [("room", room.key()), ("text", cut_chat(text))];
        self.post_ok(RequestKind::Chat, self.in_game(id, &["chat"]).form(&form))
            .await
    }

    /// The chat of the players so far.
    pub async fn chat_log(&self, id: &GameId) -> Result<Vec<ChatLine>, Error> {
        let request = self.get(&["api", "bot", "game", id.as_str(), "chat"]);
        let body = self.fetch(request).await?;
        // The server sends an array; its documentation says NDJSON.
        if body.trim_ascii_start().starts_with(b"[") {
            decode(&body)
        } else {
            Ok(lines(&body))
        }
    }

    /// Aborts a game with fewer than two moves.
    pub async fn abort(&self, id: &GameId) -> Result<(), Error> {
        self.act(id, RequestKind::Command, &["abort"]).await
    }

    /// Resigns, or aborts when that is still possible.
    pub async fn resign(&self, id: &GameId) -> Result<(), Error> {
        self.act(id, RequestKind::Command, &["resign"]).await
    }

    /// Offers or accepts a draw, or claims one by threefold repetition; with `yes` false declines. Succeeds even if nothing
    /// changed.
    pub async fn draw(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        let action = ["draw", yes_or_no(yes)];
        self.act(id, RequestKind::Offer, &action).await
    }

    /// Proposes or accepts a takeback; with `yes` false declines. Succeeds even if nothing changed.
    pub async fn takeback(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        let action = ["takeback", yes_or_no(yes)];
        self.act(id, RequestKind::Offer, &action).await
    }

    /// Claims victory against an opponent who left. Only on their turn; the stream says whether it worked.
    pub async fn claim_victory(&self, id: &GameId) -> Result<(), Error> {
        self.act(id, RequestKind::Claim, &["claim-victory"]).await
    }

    /// Claims a draw against an opponent who left. Only on their turn.
    pub async fn claim_draw(&self, id: &GameId) -> Result<(), Error> {
        self.act(id, RequestKind::Claim, &["claim-draw"]).await
    }

    // ---- challenges

    /// The pending challenges, incoming and outgoing.
    pub async fn challenges(&self) -> Result<Challenges, Error> {
        self.query(self.get(&["api", "challenge"])).await
    }

    /// One of our challenges, incoming or outgoing.
    ///
    /// # Errors
    ///
    /// [`Error`] if the request fails.
    pub async fn challenge_by_id(&self, id: &ChallengeId) -> Result<Challenge, Error> {
        self.query::<ChallengeResponse>(self.get(&["api", "challenge", id.as_str(), "show"]))
            .await
            .map(ChallengeResponse::open)
    }

    /// Challenges a user. A second challenge to the same user silently replaces the first. The created challenge may differ
    /// from the requested one, above all in `rated`.
    pub async fn challenge(
        &self,
        user: &Username,
        what: &NewChallenge,
    ) -> Result<Challenge, Error> {
        let request = self
            .post(&["api", "challenge", user.as_str()])
            .form(&what.form());
        let body = self
            .send(RequestKind::Challenge, REQUEST_TIMEOUT, request)
            .await?;
        decode(&body).map(ChallengeResponse::open)
    }

    /// Accepts a challenge. The event stream may report the game before this returns.
    pub async fn accept(&self, id: &ChallengeId) -> Result<(), Error> {
        let request = self.post(&["api", "challenge", id.as_str(), "accept"]);
        self.post_ok(RequestKind::Answer, request).await
    }

    /// Declines a challenge with a reason.
    pub async fn decline(&self, id: &ChallengeId, reason: DeclineReason) -> Result<(), Error> {
        let request = self
            .post(&["api", "challenge", id.as_str(), "decline"])
            .form(&[("reason", reason.key())]);
        self.post_ok(RequestKind::Answer, request).await
    }

    /// Cancels a challenge. Without this it can still be accepted for hours.
    pub async fn cancel(&self, id: &ChallengeId) -> Result<(), Error> {
        let request = self.post(&["api", "challenge", id.as_str(), "cancel"]);
        self.post_ok(RequestKind::Answer, request).await
    }

    // ---- arenas

    /// An arena and our standing in it.
    pub async fn arena(&self, id: &ArenaId) -> Result<Arena, Error> {
        self.query(self.get(&["api", "tournament", id.as_str()]))
            .await
    }

    /// Joins an arena, or rejoins it; rejoining needs neither team nor password.
    pub async fn join_arena(
        &self,
        id: &ArenaId,
        team: Option<&str>,
        password: Option<&str>,
    ) -> Result<(), Error> {
        let mut form = vec![("pairMeAsap", "true")];
        form.extend(team.map(|team| ("team", team)));
        form.extend(password.map(|password| ("password", password)));
        let request = self
            .post(&["api", "tournament", id.as_str(), "join"])
            .form(&form);
        self.post_ok(RequestKind::Arena, request).await
    }

    /// Leaves an arena. A running game continues. Leaving early may delay a rejoin.
    pub async fn leave_arena(&self, id: &ArenaId) -> Result<(), Error> {
        let request = self.post(&["api", "tournament", id.as_str(), "withdraw"]);
        self.post_ok(RequestKind::Withdrawal, request).await
    }

    /// The first `nb` players of an arena's results.
    pub async fn arena_results(&self, id: &ArenaId, nb: u32) -> Result<Vec<ArenaLine>, Error> {
        let request = self
            .get(&["api", "tournament", id.as_str(), "results"])
            .query(&[("nb", nb)]);
        Ok(lines(&self.fetch(request).await?))
    }

    /// The upcoming and ongoing arenas of the site.
    pub async fn arenas(&self) -> Result<Vec<ListedArena>, Error> {
        #[derive(Deserialize)]
        struct Lists {
            #[serde(default, deserialize_with = "model::list")]
            created: Vec<ListedArena>,
            #[serde(default, deserialize_with = "model::list")]
            started: Vec<ListedArena>,
        }
        let lists: Lists = self.query(self.get(&["api", "tournament"])).await?;
        Ok([lists.started, lists.created].concat())
    }

    /// The latest arenas of a team, including finished ones.
    pub async fn team_arenas(&self, team: &str) -> Result<Vec<ListedArena>, Error> {
        let request = self
            .get(&["api", "team", team, "arena"])
            .query(&[("max", 50)]);
        Ok(lines(&self.fetch(request).await?))
    }

    /// A team.
    ///
    /// # Errors
    ///
    /// [`Error`] if the request fails.
    pub async fn team(&self, team: &str) -> Result<Team, Error> {
        self.query(self.get(&["api", "team", team])).await
    }

    /// Joins a team, or requests to join. The message is for the team's leaders.
    pub async fn join_team(
        &self,
        team: &str,
        message: &str,
        password: Option<&str>,
    ) -> Result<(), Error> {
        let mut form = vec![("message", message)];
        form.extend(password.map(|password| ("password", password)));
        let request = self.post(&["team", team, "join"]).form(&form);
        self.post_ok(RequestKind::Arena, request).await
    }

    // ---- others

    /// Online bots that have a bio, at most `nb` (1 to 512).
    pub async fn online_bots(&self, nb: u32) -> Result<Vec<User>, Error> {
        let request = self
            .get(&["api", "bot", "online"])
            .query(&[("nb", nb.clamp(1, 512))]);
        Ok(lines(&self.fetch_of_users(request).await?))
    }

    /// Returns whether these users are online and playing. Unknown users are left out.
    pub async fn users_status(&self, users: &[Username]) -> Result<Vec<UserStatus>, Error> {
        let mut all = Vec::with_capacity(users.len());
        for some in users.chunks(100) {
            let ids: Vec<String> = some.iter().map(Username::id).collect();
            let request = self
                .get(&["api", "users", "status"])
                .query(&[("ids", ids.join(","))]);
            let some: Vec<UserStatus> = decode(&self.fetch_of_users(request).await?)?;
            all.extend(some);
        }
        Ok(all)
    }

    /// The public data of a user.
    ///
    /// # Errors
    ///
    /// [`Error`] if the request fails.
    pub async fn user(&self, name: &Username) -> Result<User, Error> {
        let request = self.get(&["api", "user", name.as_str()]);
        decode(&self.fetch_of_users(request).await?)
    }

    /// Round-trip time of a small request. Error responses below 500 count, too.
    pub async fn ping(&self) -> Result<Duration, Error> {
        let start = clock::now();
        match self.fetch(self.get_without_token(&["__ping"])).await {
            Ok(_) => Ok(clock::since(start)),
            Err(Error::Status(response)) if response.code < 500 => Ok(clock::since(start)),
            Err(error) => Err(error),
        }
    }

    /// By how many seconds this machine's clock is ahead of the server's, within about a second. `None` if the server sends
    /// no date.
    pub async fn clock_ahead(&self) -> Result<Option<f64>, Error> {
        let before = Timestamp::now();
        let date = self
            .date(REQUEST_TIMEOUT, self.get_without_token(&["__ping"]))
            .await?;
        let after = Timestamp::now();
        let there = date.and_then(|date| {
            let time = strtime::parse("%a, %d %b %Y %H:%M:%S GMT", &date).ok()?;
            let time = time.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok()?;
            Some(time.timestamp().as_second() as f64)
        });
        let seconds = |time: Timestamp| time.as_millisecond() as f64 / 1e3;
        let here = f64::midpoint(seconds(before), seconds(after));
        // The `Date` header has whole seconds, rounded down: half a second too early on average.
        Ok(there.map(|there| here - there - 0.5))
    }

    // ---- helpers

    fn in_game(&self, id: &GameId, rest: &[&str]) -> Request {
        self.post(&[&["api", "bot", "game", id.as_str()], rest].concat())
    }

    async fn act(&self, id: &GameId, kind: RequestKind, action: &[&str]) -> Result<(), Error> {
        self.post_ok(kind, self.in_game(id, action)).await
    }

    async fn fetch(&self, request: Request) -> Result<Bytes, Error> {
        self.send(RequestKind::Query, REQUEST_TIMEOUT, request)
            .await
    }

    async fn fetch_of_users(&self, request: Request) -> Result<Bytes, Error> {
        self.send(RequestKind::User, REQUEST_TIMEOUT, request).await
    }

    pub(super) async fn query<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        decode(&self.fetch(request).await?)
    }

    /// Sends a request whose response is `{"ok":true}`. The body is ignored.
    pub(super) async fn post_ok(&self, kind: RequestKind, request: Request) -> Result<(), Error> {
        self.send(kind, REQUEST_TIMEOUT, request).await.map(drop)
    }
}

/// The response of `/api/account/playing`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Playing {
    /// Ongoing games, the most urgent first.
    #[serde(deserialize_with = "model::list")]
    pub now_playing: Vec<GameInfo>,
}

/// A challenge, bare or inside an object (older servers).
#[derive(Deserialize)]
#[serde(untagged)]
enum ChallengeResponse {
    Wrapped { challenge: Box<Challenge> },
    Flat(Box<Challenge>),
}

impl ChallengeResponse {
    fn open(self) -> Challenge {
        match self {
            Self::Wrapped { challenge } | Self::Flat(challenge) => *challenge,
        }
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// Cuts a text to the length of a chat line.
fn cut_chat(text: &str) -> &str {
    let mut units = 0;
    let too_far = |c: char| {
        units += c.len_utf16();
        units > MAX_CHAT_UTF16_UNITS
    };
    let end = text.find(too_far).unwrap_or(text.len());
    &text[..end]
}

/// Parses the body of a response.
///
/// # Errors
/// [`Error::Decode`], with the beginning of the body, safe to print.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| {
        Error::Decode(format!(
            "{}: {}",
            clip(&error.to_string(), 200),
            clip(&String::from_utf8_lossy(body), 120)
        ))
    })
}

/// The lines that can be parsed.
fn lines<T: DeserializeOwned>(body: &[u8]) -> Vec<T> {
    body.split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}
