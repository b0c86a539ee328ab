//! One method per endpoint.

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
use super::retry::Kind;
use super::stream::{EventStream, GameLines, GameStream, Ndjson};
use crate::clock;

/// How long an ordinary request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a move may take before it is asked again whether it was played.
pub const MOVE_PATIENCE: Duration = Duration::from_secs(2);

/// The longest line of chat, in the units in which the server counts.
const LONGEST_CHAT: usize = 140;

impl Client {
    // ---- the account

    /// Who we are.
    pub async fn account(&self) -> Result<User, Error> {
        self.question(self.get(&["api", "account"])).await
    }

    /// The same, although questions pause: nothing can be played before it is known.
    pub async fn account_past_pauses(&self) -> Result<User, Error> {
        self.question(self.get(&["api", "account"]).past_pauses())
            .await
    }

    /// How our account is set up. The token needs the scope `preference:read`.
    pub async fn preferences(&self) -> Result<Preferences, Error> {
        #[derive(Deserialize)]
        struct Answer {
            prefs: Preferences,
        }
        let answer = self.question::<Answer>(self.get(&["api", "account", "preferences"]));
        answer.await.map(|answer| answer.prefs)
    }

    /// What our token may do; nothing when Lichess does not know it.
    pub async fn token_test(&self) -> Result<Option<TokenInfo>, Error> {
        let token = self.token().reveal();
        let request = self.post_anonymously(&["api", "token", "test"]).text(token);
        let body = self.send(Kind::Query, PATIENCE, request).await?;
        let mut answer: HashMap<String, Option<TokenInfo>> = serde_json::from_slice(&body)
            .map_err(|_| Error::Decode("the answer to a token test".to_owned()))?;
        Ok(answer.remove(token).flatten())
    }

    /// Our games that are on, at most `nb` (1 to 50), the most urgent first.
    pub async fn playing(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        let request = self.get_playing(nb);
        Ok(self.question::<Playing>(request).await?.now_playing)
    }

    /// The same, although questions pause: for the first time after a start, when games may be on.
    pub async fn playing_past_pauses(&self, nb: u32) -> Result<Vec<GameInfo>, Error> {
        let request = self.get_playing(nb).past_pauses();
        Ok(self.question::<Playing>(request).await?.now_playing)
    }

    fn get_playing(&self, nb: u32) -> Request {
        self.get(&["api", "account", "playing"])
            .query(&[("nb", nb.clamp(1, 50))])
    }

    /// Makes the account a bot account. Cannot be undone.
    pub async fn upgrade(&self) -> Result<(), Error> {
        self.command(
            Kind::Command,
            self.post(&["api", "bot", "account", "upgrade"]),
        )
        .await
    }

    // ---- streams

    /// Opens the account's stream, which closes the one before it. It may be silent for as long as `silence`, see
    /// [`super::retry::Reopen::silence`]; so may the opening.
    pub async fn events(&self, silence: Duration) -> Result<EventStream, Error> {
        self.open(Kind::EventStream, &["api", "stream", "event"], silence)
            .await
    }

    /// Opens a game's stream; as [`events`](Self::events).
    pub async fn game(&self, id: &GameId, silence: Duration) -> Result<GameStream, Error> {
        self.of_game(id, silence).await
    }

    /// The same, with the lines as they come.
    pub async fn game_lines(&self, id: &GameId, silence: Duration) -> Result<GameLines, Error> {
        self.of_game(id, silence).await
    }

    async fn of_game<T: FromLine>(
        &self,
        id: &GameId,
        silence: Duration,
    ) -> Result<Ndjson<T>, Error> {
        self.open(
            Kind::GameStream,
            &["api", "bot", "game", "stream", id.as_str()],
            silence,
        )
        .await
    }

    // ---- a game

    /// Posts what somebody's page has asked for in his name, whatever it is, and gives the answer as it is.
    pub async fn pass_on(&self, path: &str, form: &[(String, String)]) -> Result<Bytes, Error> {
        let path: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let request = self.post(&path).form(&form);
        self.send(Kind::Answer, PATIENCE, request).await
    }

    /// Plays a move, in UCI. The answer comes once the move was applied, or the flag had fallen; what counts is the
    /// game's stream. With `offering_draw` the offer is shown before the move is, and accepts the opponent's.
    pub async fn play(&self, id: &GameId, uci: &str, offering_draw: bool) -> Result<(), Error> {
        self.play_within(MOVE_PATIENCE, id, uci, offering_draw)
            .await
    }

    /// [`play`](Self::play) with another limit than two seconds.
    pub async fn play_within(
        &self,
        patience: Duration,
        id: &GameId,
        uci: &str,
        offering_draw: bool,
    ) -> Result<(), Error> {
        let mut request = self.in_game(id, &["move", uci]);
        if offering_draw {
            request = request.query(&[("offeringDraw", true)]);
        }
        self.send(Kind::Move, patience, request).await.map(drop)
    }

    /// Says something, cut to the 140 characters that are allowed.
    pub async fn chat(&self, id: &GameId, room: Room, text: &str) -> Result<(), Error> {
        let form = [("room", room.key()), ("text", cut(text))];
        self.command(Kind::Chat, self.in_game(id, &["chat"]).form(&form))
            .await
    }

    /// What was said between the players so far.
    pub async fn chat_log(&self, id: &GameId) -> Result<Vec<ChatLine>, Error> {
        let request = self.get(&["api", "bot", "game", id.as_str(), "chat"]);
        let body = self.send(Kind::Query, PATIENCE, request).await?;
        // An array from the server, a line for each in its documentation.
        if body.trim_ascii_start().starts_with(b"[") {
            decode(&body)
        } else {
            Ok(lines(&body))
        }
    }

    /// Ends a game that has not begun: fewer than two moves.
    pub async fn abort(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["abort"]))
            .await
    }

    /// Resigns, or aborts when that is still possible.
    pub async fn resign(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Command, self.in_game(id, &["resign"]))
            .await
    }

    /// Offers a draw, accepts one or claims one by threefold repetition; or declines. Succeeds even if nothing came of it.
    pub async fn draw(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        self.command(Kind::Offer, self.in_game(id, &["draw", yes_or_no(yes)]))
            .await
    }

    /// Proposes or accepts a takeback; or declines it. Succeeds even if nothing came of it.
    pub async fn takeback(&self, id: &GameId, yes: bool) -> Result<(), Error> {
        self.command(Kind::Offer, self.in_game(id, &["takeback", yes_or_no(yes)]))
            .await
    }

    /// Claims the win against an opponent who left. Only on the opponent's turn; the stream says whether it worked.
    pub async fn claim_victory(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Claim, self.in_game(id, &["claim-victory"]))
            .await
    }

    /// Claims a draw against an opponent who left. Only on the opponent's turn.
    pub async fn claim_draw(&self, id: &GameId) -> Result<(), Error> {
        self.command(Kind::Claim, self.in_game(id, &["claim-draw"]))
            .await
    }

    // ---- challenges

    /// The challenges that wait for an answer, ours and other people's.
    pub async fn challenges(&self) -> Result<Challenges, Error> {
        self.question(self.get(&["api", "challenge"])).await
    }

    /// One challenge.
    pub async fn show_challenge(&self, id: &ChallengeId) -> Result<Challenge, Error> {
        self.question::<Wrapped>(self.get(&["api", "challenge", id.as_str(), "show"]))
            .await
            .map(Wrapped::open)
    }

    /// Challenges somebody. A second one to the same user takes the first one's place, and nothing tells so. What comes
    /// back may differ from what was asked: `rated` above all.
    pub async fn challenge(
        &self,
        user: &Username,
        what: &NewChallenge,
    ) -> Result<Challenge, Error> {
        let request = self
            .post(&["api", "challenge", user.as_str()])
            .form(&what.form());
        let body = self.send(Kind::Challenge, PATIENCE, request).await?;
        decode(&body).map(Wrapped::open)
    }

    /// Accepts a challenge. The game may be told by the event stream before this is answered.
    pub async fn accept(&self, id: &ChallengeId) -> Result<(), Error> {
        self.command(
            Kind::Answer,
            self.post(&["api", "challenge", id.as_str(), "accept"]),
        )
        .await
    }

    /// Declines a challenge, and says why.
    pub async fn decline(&self, id: &ChallengeId, reason: DeclineReason) -> Result<(), Error> {
        let request = self
            .post(&["api", "challenge", id.as_str(), "decline"])
            .form(&[("reason", reason.key())]);
        self.command(Kind::Answer, request).await
    }

    /// Takes a challenge back. One that is merely left alone can still be accepted for hours.
    pub async fn cancel(&self, id: &ChallengeId) -> Result<(), Error> {
        self.command(
            Kind::Answer,
            self.post(&["api", "challenge", id.as_str(), "cancel"]),
        )
        .await
    }

    // ---- arenas

    /// An arena, and how we stand in it.
    pub async fn arena(&self, id: &ArenaId) -> Result<Arena, Error> {
        self.question(self.get(&["api", "tournament", id.as_str()]))
            .await
    }

    /// Joins an arena, or comes back to it: then neither team nor password are asked for again.
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
        self.command(Kind::Arena, request).await
    }

    /// Leaves an arena. A game that is on has to be played all the same; who leaves among the first has to wait before
    /// he may come back.
    pub async fn leave_arena(&self, id: &ArenaId) -> Result<(), Error> {
        self.command(
            Kind::Withdrawal,
            self.post(&["api", "tournament", id.as_str(), "withdraw"]),
        )
        .await
    }

    /// The first `nb` lines of an arena's results.
    pub async fn arena_results(&self, id: &ArenaId, nb: u32) -> Result<Vec<ArenaLine>, Error> {
        let request = self
            .get(&["api", "tournament", id.as_str(), "results"])
            .query(&[("nb", nb)]);
        Ok(lines(&self.send(Kind::Query, PATIENCE, request).await?))
    }

    /// The arenas of the site that are to begin or are on.
    pub async fn arenas(&self) -> Result<Vec<ListedArena>, Error> {
        #[derive(Deserialize)]
        struct Lists {
            #[serde(default, deserialize_with = "model::list")]
            created: Vec<ListedArena>,
            #[serde(default, deserialize_with = "model::list")]
            started: Vec<ListedArena>,
        }
        let lists: Lists = self.question(self.get(&["api", "tournament"])).await?;
        Ok([lists.started, lists.created].concat())
    }

    /// The latest arenas of a team, those that are over too.
    pub async fn team_arenas(&self, team: &str) -> Result<Vec<ListedArena>, Error> {
        let request = self
            .get(&["api", "team", team, "arena"])
            .query(&[("max", 50)]);
        Ok(lines(&self.send(Kind::Query, PATIENCE, request).await?))
    }

    /// A team.
    pub async fn team(&self, team: &str) -> Result<Team, Error> {
        self.question(self.get(&["api", "team", team])).await
    }

    /// Joins a team, or asks to be let in. The message is for those who read such.
    pub async fn join_team(
        &self,
        team: &str,
        message: &str,
        password: Option<&str>,
    ) -> Result<(), Error> {
        let mut form = vec![("message", message)];
        form.extend(password.map(|password| ("password", password)));
        let request = self.post(&["team", team, "join"]).form(&form);
        self.command(Kind::Arena, request).await
    }

    // ---- others

    /// The bots that are online and have a bio, at most `nb` (1 to 512).
    pub async fn online_bots(&self, nb: u32) -> Result<Vec<User>, Error> {
        let request = self
            .get(&["api", "bot", "online"])
            .query(&[("nb", nb.clamp(1, 512))]);
        Ok(lines(&self.send(Kind::Query, PATIENCE, request).await?))
    }

    /// Who of these is there. Users that do not exist are left out.
    pub async fn users_status(&self, users: &[Username]) -> Result<Vec<UserStatus>, Error> {
        let mut all = Vec::with_capacity(users.len());
        for some in users.chunks(100) {
            let ids: Vec<String> = some.iter().map(Username::id).collect();
            let request = self
                .get(&["api", "users", "status"])
                .query(&[("ids", ids.join(","))]);
            all.extend(self.question::<Vec<UserStatus>>(request).await?);
        }
        Ok(all)
    }

    /// A user.
    pub async fn user(&self, name: &Username) -> Result<User, Error> {
        self.question(self.get(&["api", "user", name.as_str()]))
            .await
    }

    /// How long a small request takes, there and back. Any answer counts, a refusal too.
    pub async fn ping(&self) -> Result<Duration, Error> {
        let start = clock::now();
        match self
            .send(Kind::Query, PATIENCE, self.get_anonymously(&["__ping"]))
            .await
        {
            Ok(_) => Ok(clock::since(start)),
            Err(Error::Status(refusal)) if refusal.code < 500 => Ok(clock::since(start)),
            Err(error) => Err(error),
        }
    }

    /// By how many seconds this machine's clock is ahead of the server's, give or take one; nothing when the server does
    /// not tell the time.
    pub async fn clock_ahead(&self) -> Result<Option<f64>, Error> {
        let before = Timestamp::now();
        let date = self
            .date(PATIENCE, self.get_anonymously(&["__ping"]))
            .await?;
        let after = Timestamp::now();
        let there = date.and_then(|date| {
            let time = strtime::parse("%a, %d %b %Y %H:%M:%S GMT", &date).ok()?;
            let time = time.to_datetime().ok()?.to_zoned(TimeZone::UTC).ok()?;
            Some(time.timestamp().as_second() as f64)
        });
        let seconds = |time: Timestamp| time.as_millisecond() as f64 / 1e3;
        let here = f64::midpoint(seconds(before), seconds(after));
        // Half a second has passed on average since the one that is told began.
        Ok(there.map(|there| here - there - 0.5))
    }

    // ---- how they are asked

    fn in_game(&self, id: &GameId, rest: &[&str]) -> Request {
        let path: Vec<&str> = ["api", "bot", "game", id.as_str()]
            .iter()
            .chain(rest)
            .copied()
            .collect();
        self.post(&path)
    }

    async fn question<T: DeserializeOwned>(&self, request: Request) -> Result<T, Error> {
        decode(&self.send(Kind::Query, PATIENCE, request).await?)
    }

    /// Sends what is answered by `{"ok":true}`. Any success will do, whatever its body.
    async fn command(&self, kind: Kind, request: Request) -> Result<(), Error> {
        self.send(kind, PATIENCE, request).await.map(drop)
    }
}

/// The answer of `/api/account/playing`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Playing {
    /// The games that are on, the most urgent first.
    #[serde(deserialize_with = "model::list")]
    pub now_playing: Vec<GameInfo>,
}

/// A challenge, alone or inside an object as older servers send it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Wrapped {
    Inside { challenge: Box<Challenge> },
    Flat(Box<Challenge>),
}

impl Wrapped {
    fn open(self) -> Challenge {
        match self {
            Self::Inside { challenge } | Self::Flat(challenge) => *challenge,
        }
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// The beginning of a text that is short enough to be said.
fn cut(text: &str) -> &str {
    let mut units = 0;
    let too_far = |c: char| {
        units += c.len_utf16();
        units > LONGEST_CHAT
    };
    let end = text.find(too_far).unwrap_or(text.len());
    &text[..end]
}

/// Reads the body of an answer.
///
/// # Errors
/// [`Error::Decode`], with the beginning of what cannot be read, harmless in a terminal.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| {
        Error::Decode(format!(
            "{}: {}",
            clip(&error.to_string(), 200),
            clip(&String::from_utf8_lossy(body), 120)
        ))
    })
}

/// Every line that can be read.
fn lines<T: DeserializeOwned>(body: &[u8]) -> Vec<T> {
    body.split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}
