//! Matchmaking requests of an account, and counting of games.

use std::time::{Instant, SystemTime};

use tokio::sync::oneshot;
use tracing::{debug, info};

use super::Account;
use super::outgoing::{NOT_ANSWERED, Uncanceled, cancel_unless_accepted};
use crate::bot::account::quota::{JoinRequest, Quota};
use crate::bot::account::state_files::StateFile;
use crate::bot::commands::Responder;
use crate::bot::matchmaking::{Action, Choice, Engagement, Inputs, OnlineBots, Refusal};
use crate::clock;
use crate::events::Decision;
use crate::lichess::model::{Challenge, ChallengeId, GameInfo, NewChallenge, UserStatus, Username};
use crate::lichess::{Client, Error as Failure};
use crate::plural;

/// Bots requested at most from the list of online bots.
const MAX_LISTED_BOTS: u32 = 512;

/// User, challenge and response.
type SentChallenge = (Username, NewChallenge, Result<Box<Challenge>, Failure>);

/// Attempt to challenge the first available one of several users.
struct ChallengeAttempt {
    /// Users who cannot be challenged.
    unavailable: Vec<(Username, Refusal)>,
    /// The challenge, if anyone is available.
    sent: Result<Option<SentChallenge>, Failure>,
}

impl Account {
    /// Runs the next matchmaking action.
    pub(super) fn step_matchmaking(&mut self) {
        let inputs = self.matchmaking_inputs();
        let engaged = match inputs.busy {
            true => Vec::new(),
            false => self.engaged_users(inputs.now),
        };
        let client = self.ctx.client.clone();
        let quota = &self.state.quota;
        match self.matchmaking.next_action(inputs, &engaged, quota) {
            Action::Wait => {}
            Action::ListOnlineBots => {
                let request = async move { fetch_online_bots(&client).await };
                self.background.spawn(request, Self::on_online_bots);
            }
            Action::Challenge(choice) => {
                let users: Vec<&str> = choice.users.iter().map(Username::as_str).collect();
                info!(
                    "looking for a game of {}: {}",
                    choice.offer,
                    users.join(", ")
                );
                let request = async move {
                    let mut unavailable = Vec::new();
                    let sent = challenge_first_available(&client, choice, &mut unavailable).await;
                    ChallengeAttempt { unavailable, sent }
                };
                self.background.spawn_challenge(
                    request,
                    |attempt| attempt.sent.ok()??.2.ok().map(|challenge| challenge.id),
                    Self::on_challenge_attempt,
                );
            }
            Action::Cancel(id) => {
                let request = async move { (cancel_unless_accepted(&client, &id).await, id) };
                self.background.spawn_challenge(
                    request,
                    |_| None,
                    |account, (answer, id)| account.on_cancel_response(&id, answer),
                );
            }
        }
    }

    /// Opponents of running games, and users with an unanswered challenge of ours.
    fn engaged_users(&mut self, now: Instant) -> Vec<(Username, Engagement)> {
        let challenged = self.challenged_users();
        let challenged = challenged.map(|user| (user.clone(), Engagement::Challenge));
        let mut engaged: Vec<_> = challenged.collect();
        let opponents = self.games.slots.opponents(now);
        engaged.extend(opponents.filter_map(|(name, clocked)| {
            let name = name?.clone();
            Some((name, Engagement::Game { clocked }))
        }));
        engaged
    }

    /// Returns whether a challenge of ours to this user waits for an answer. Lichess would cancel it for another one.
    pub(super) fn is_challenged(&self, user: &Username) -> bool {
        self.challenged_users().any(|challenged| challenged == user)
    }

    fn challenged_users(&self) -> impl Iterator<Item = &Username> {
        self.unanswered_challenges()
            .filter_map(|challenge| challenge.to())
    }

    /// Switches matchmaking on or off, also for the next start.
    pub(super) fn seek(&mut self, on: bool, responder: Responder) {
        let state = if on { "on" } else { "off" };
        if self.ctx.settings.matchmaking.enabled == on {
            return responder.succeed(format!("matchmaking is {state} already"));
        }
        let settings = self.operator.base_settings();
        if on && let Some(why) = settings.seek_problem() {
            return responder.fail(format!("[matchmaking] cannot be used: {why}"));
        }
        let configured = settings.matchmaking.enabled;
        self.operator.overrides.seek = (on != configured).then_some(on);
        self.publish_note(format!("matchmaking is switched {state} by the operator"));
        self.apply_settings();
        let done = format!("matchmaking is {state}");
        self.save_and_respond(StateFile::Overrides, done, responder);
    }

    fn matchmaking_inputs(&mut self) -> Inputs {
        let now = clock::now();
        let waits = self.incoming.is_waiting() || self.games.is_resuming();
        let settings = &self.ctx.settings.matchmaking;
        let (concurrency, days) = (settings.concurrency, settings.correspondence_games);
        let slots = &mut self.games.slots;
        let (running, correspondence) = (slots.count(true, now), slots.count(false, now) < days);
        Inputs {
            stopping: !self.accepts_games(),
            ready: self.connection.is_ready(),
            busy: waits || self.match_is_open() || running >= concurrency,
            correspondence,
            has_slot: !self.games.slots.is_full(false, now),
            arena_starts: self.games.slots.next_arena(),
            now,
            date: clock::date(),
        }
    }

    fn on_online_bots(&mut self, response: Result<OnlineBots, Failure>) {
        match response {
            Ok(online_bots) => {
                let bots = plural::count(online_bots.bots.len(), "bot is", "bots are");
                debug!("{bots} online");
                self.matchmaking.on_online_bots(online_bots);
            }
            Err(failure) => {
                info!("cannot read the online bots: {failure}");
                self.matchmaking
                    .on_unreadable("the list of online bots cannot be read");
            }
        }
    }

    /// Handles the end of a cancel request; `false` if the challenge had been accepted.
    fn on_cancel_response(&mut self, id: &ChallengeId, answer: Result<bool, Failure>) {
        match &answer {
            Ok(true) => debug!(challenge = %id, "canceled"),
            Ok(false) => {
                let pending = self.matchmaking.pending().cloned();
                let is_known = self.games.is_known(id);
                if let Some(challenge) = pending.filter(|it| it.id == *id && !is_known) {
                    self.on_late_acceptance(&challenge);
                    return self.matchmaking.on_late_acceptance();
                }
            }
            Err(failure) => {
                let pending = self.matchmaking.pending().cloned();
                if let Some(challenge) = pending.filter(|it| it.id == *id) {
                    let uncanceled = Uncanceled::new(Box::new(challenge), NOT_ANSWERED);
                    self.outgoing.keep_uncanceled(uncanceled, failure);
                }
            }
        }
        if let Some(challenge) = self.matchmaking.on_canceled(matches!(answer, Ok(true))) {
            self.publish_challenge(&challenge, Decision::Dropped, NOT_ANSWERED.to_owned());
            self.save(StateFile::Opponents);
        }
    }

    fn on_challenge_attempt(&mut self, attempt: ChallengeAttempt) {
        self.matchmaking.on_unavailable(&attempt.unavailable);
        if !attempt.unavailable.is_empty() {
            self.save(StateFile::Opponents);
        }
        match attempt.sent {
            Ok(Some((user, _, Ok(challenge)))) => {
                info!(name: "challenge_sent", challenge = %challenge.id, "challenged {user}");
                self.count_challenge(true);
                self.matchmaking.on_created(challenge, user);
            }
            Ok(Some((user, params, Err(failure)))) => {
                self.on_challenge_not_created(&user, &params, &failure);
            }
            Ok(None) => self.matchmaking.on_nobody_available(),
            Err(failure) => {
                info!(
                    "cannot read the online status of the chosen opponents; trying again later: {failure}"
                );
                self.matchmaking
                    .on_unreadable("the online status of the chosen opponents cannot be read");
            }
        }
    }

    /// Handles a challenge that was not created.
    fn on_challenge_not_created(
        &mut self,
        user: &Username,
        params: &NewChallenge,
        failure: &Failure,
    ) {
        info!("cannot challenge {user}: {failure}");
        let why = self.classify_failure(Some(true), failure);
        self.matchmaking.on_not_created(user, why);
        if self.matchmaking.pending().is_some() {
            info!("the challenge to {user} was created although its response was lost");
        } else {
            self.publish_failed_challenge(user, params, why, failure);
        }
        self.save(StateFile::Quota);
        self.save(StateFile::Opponents);
    }

    /// Handles a closed challenge, which may be one of matchmaking.
    pub(super) fn on_matchmaking_challenge_closed(&mut self, challenge: &Challenge) {
        if let Some(why) = self.matchmaking.on_closed(challenge) {
            self.publish_challenge(challenge, Decision::Declined, why);
            self.save(StateFile::Opponents);
        }
    }

    /// Counts a game that has started, or is resumed after a restart.
    pub(super) fn count_game(&mut self, info: &GameInfo) {
        let date = clock::date();
        let may_be_ours = self.may_be_from_us(info);
        let started = self.matchmaking.on_game_started(info, may_be_ours);
        if let Some(started) = &started {
            if let Some(challenge) = &started.challenge {
                let why = format!("by matchmaking profile {}", started.profile);
                self.publish_challenge(challenge, Decision::Accepted, why);
            }
            self.save(StateFile::Opponents);
        }
        let sought = started.map(|started| started.kind);
        let opponent = &info.opponent;
        let new = if opponent.ai_level.is_some() {
            self.state.quota.count_ai_game(&info.id, date)
        } else {
            let counts = opponent.is_bot() && !self.ctx.unlimited_bot_games;
            counts && self.state.quota.count_bot_game(&info.id, sought, date)
        };
        if new {
            self.save(StateFile::Quota);
        }
    }

    /// Answers whether an arena may be joined, or when.
    pub(super) fn on_arena_entry(
        &mut self,
        entry: JoinRequest,
        responder: oneshot::Sender<Result<(), SystemTime>>,
    ) {
        let answer = self.state.quota.enter_arena(entry, clock::date());
        if answer.is_ok() {
            self.save(StateFile::Quota);
        }
        // The arena task may have ended meanwhile.
        let _ = responder.send(answer);
    }

    /// Lichess has counted more arenas than the quota.
    pub(super) fn on_too_many_arenas(&mut self) {
        self.update_quota(Quota::on_too_many_arenas);
    }

    /// Handles the end of a game.
    pub(super) fn on_game_over(&mut self, info: &GameInfo) {
        if self.matchmaking.on_game_finished(info) {
            self.save(StateFile::Opponents);
        }
    }

    /// Stores pauses that Lichess has demanded, for the next start. That of a proxy is over by then.
    pub(super) fn save_pauses(&mut self) {
        let (client, date) = (&self.ctx.client, clock::date());
        self.state.quota.set_proxy_pause(client.proxy_pause(), date);
        if self.state.quota.set_pauses(client.pauses(), date) {
            self.save(StateFile::Quota);
        }
    }
}

/// Fetches the online bots and our own ratings.
async fn fetch_online_bots(client: &Client) -> Result<OnlineBots, Failure> {
    Ok(OnlineBots {
        me: client.account().await?,
        bots: client.online_bots(MAX_LISTED_BOTS).await?,
    })
}

/// Challenges the first of these users who is online and not playing, or else the first who is online. Adds those who
/// cannot be challenged to `unavailable`.
async fn challenge_first_available(
    client: &Client,
    choice: Choice,
    unavailable: &mut Vec<(Username, Refusal)>,
) -> Result<Option<SentChallenge>, Failure> {
    let statuses = client.users_status(&choice.users).await?;
    let status = |user: &Username| statuses.iter().find(|status| status.name == *user);
    let is_online = |user: &&Username| status(user).is_some_and(|status| status.online);
    let plays = |user: &&Username| status(user).is_some_and(|status: &UserStatus| status.playing);
    let (mut online, away): (Vec<_>, Vec<_>) = choice.users.iter().partition(is_online);
    online.sort_by_key(plays);
    unavailable.extend(away.into_iter().map(|user| (user.clone(), Refusal::Away)));
    for user in online {
        // Lichess reports our own blocks only for a single user.
        if client.user(user).await?.blocking {
            unavailable.push((user.clone(), Refusal::Blocked));
            continue;
        }
        let params = choice.offer.challenge(choice.color);
        let response = client.challenge(user, &params).await.map(Box::new);
        return Ok(Some((user.clone(), params, response)));
    }
    Ok(None)
}
