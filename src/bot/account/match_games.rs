//! Games of the operator's matches: challenges, results, and what became of them while the bot was not running.

use std::time::Duration;

use tracing::info;

use super::missed_results::fetch_game;
use super::outgoing::{ChallengeSource, NOT_ANSWERED, SendResult, is_for_bot, slot_holder};
use super::{Account, MAX_LISTED_GAMES};
use crate::bot::account::state_files::StateFile;
use crate::bot::commands::{OutgoingChallenge, Responder, SHUTTING_DOWN};
use crate::bot::matches::{Attempt, Failure, Match, Stage};
use crate::bot::matchmaking::{ChallengeFailure, Offer, Refusal};
use crate::clock;
use crate::events::Decision;
use crate::lichess::model::{
    Challenge, ChallengeStatus, Color, DeclineReason, GameId, GameInfo, NewChallenge, Status,
    Username,
};
use crate::lichess::{Client, Error};

/// Time for an answer to a challenge: the opponent may be playing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Wait before it is found out what has become of an attempt, for an event that may be on its way, and between two
/// such requests.
const LOOKUP_DELAY: Duration = Duration::from_secs(5);

/// Wait after a failed request.
const REQUEST_BACKOFF: Duration = Duration::from_secs(60);

/// Reason reported for the challenges.
const BY_MATCH: &str = "by a match of the operator";

/// Result of looking up an attempt.
enum Outcome {
    /// It waits for an answer.
    Open(Box<Challenge>),
    /// Its game is running.
    Running(GameId),
    Ended(GameId, Status, Option<Color>),
    Declined(DeclineReason),
    /// Lichess does not know of it.
    Nothing,
}

impl Account {
    /// Starts a match, if Lichess knows the opponent.
    pub(super) fn start_match(
        &mut self,
        challenge: OutgoingChallenge,
        pairs: u32,
        responder: Responder,
    ) {
        let client = self.ctx.client.clone();
        let request = async move { (client.user(&challenge.user).await, challenge, responder) };
        self.background
            .spawn(request, move |account, (found, challenge, responder)| {
                let user = &challenge.user;
                let problem = match found {
                    Err(error) if error.is_not_found() => format!("there is no user {user}"),
                    Ok(found) if found.disabled => format!("the account {user} is closed"),
                    Ok(found) => {
                        let human = Some(!found.is_bot());
                        return account.add_match(challenge, pairs, human, responder);
                    }
                    // The first challenge tells.
                    Err(_) => return account.add_match(challenge, pairs, None, responder),
                };
                responder.fail(problem);
            });
    }

    /// `human`: whether the opponent is a person, if that is known.
    fn add_match(
        &mut self,
        challenge: OutgoingChallenge,
        pairs: u32,
        human: Option<bool>,
        responder: Responder,
    ) {
        let OutgoingChallenge { user, params } = challenge;
        if self.ctx.is_stopping() {
            return responder.fail(SHUTTING_DOWN);
        }
        if user == self.ctx.me || self.ctx.settings.is_own_account(user.as_str()) {
            return responder.fail(format!("{user} is an account of ours"));
        }
        let offer = Offer {
            time: params.time_control,
            variant: params.variant,
            rated: params.rated,
        };
        if human == Some(false) && self.ctx.settings.games.are_reserved() {
            return responder
                .fail("all slots are reserved for humans: see games.reserved_for_humans");
        }
        let matches = &mut self.state.matches;
        if let Err(why) = matches.add(user.clone(), offer, pairs, human.unwrap_or(false)) {
            return responder.fail(why);
        }
        let paused = match self.operator.overrides.paused {
            true => "; the bot is paused, and begins after `knightwatch resume`",
            false => "",
        };
        let games = 2 * pairs;
        self.publish_note(format!(
            "match against {user} by operator command: {games} games of {offer}"
        ));
        let done = format!(
            "match against {user}: {games} games of {offer}; `knightwatch matches` shows the score{paused}"
        );
        self.save_and_respond(StateFile::Matches, done, responder);
    }

    /// Ends a match early. A running game is played to its end, and counts.
    pub(super) fn cancel_match(&mut self, user: &Username, responder: Responder) {
        let Some(one) = self.state.matches.against(user) else {
            return responder.fail(format!("no match against {user} is running"));
        };
        one.end("canceled by the operator".to_owned());
        // Its challenge has not been sent.
        one.attempt
            .take_if(|attempt| matches!(attempt.stage, Stage::Saving));
        let done = format!("match against {user} canceled at {}", one.score());
        self.publish_note(done.clone());
        self.save_and_respond(StateFile::Matches, done, responder);
    }

    /// Does what the matches need next. At most one challenge is sent at a time.
    pub(super) fn step_matches(&mut self) {
        self.withdraw_match_challenges();
        if self.state.is_saving(StateFile::Matches) {
            return;
        }
        if !self.connection.is_ready() {
            return;
        }
        self.look_up_attempts();
        if !self.accepts_games() {
            return;
        }
        let saved = |attempt: &Attempt| matches!(attempt.stage, Stage::Saving);
        let ready = self
            .state
            .matches
            .iter_mut()
            .find(|one| one.attempt.as_ref().is_some_and(saved));
        if let Some(one) = ready {
            one.set_stage(Stage::Sending);
            let (user, challenge) = (one.opponent.clone(), one.challenge());
            return self.send_match_challenge(user, challenge);
        }
        if self.match_is_open() {
            return;
        }
        let date = clock::date();
        let due = self.state.matches.active();
        let due = due.filter(|one| one.attempt.is_none() && one.retry(date).is_none());
        let due: Vec<_> = due
            .map(|one| (one.opponent.clone(), one.human, one.offer))
            .collect();
        for (opponent, human, offer) in due {
            if self.may_begin(&opponent, human, offer)
                && let Some(one) = self.state.matches.against(&opponent)
            {
                one.begin(date);
                self.save(StateFile::Matches);
                return;
            }
        }
    }

    /// Returns whether a challenge of a match is about to be sent or waits for an answer.
    pub(super) fn match_is_open(&self) -> bool {
        let mut active = self.state.matches.active();
        active.any(|one| one.attempt.as_ref().is_some_and(|attempt| !attempt.started))
    }

    /// Returns whether the next challenge of a match may be sent now.
    fn may_begin(&mut self, opponent: &Username, human: bool, offer: Offer) -> bool {
        let (now, date) = (clock::now(), clock::date());
        let blocked = self.state.quota.blocked_until_for(human, date);
        // A game without a clock lets the games of an arena go on.
        let overlaps = offer.time.is_clock() && {
            let ends = now + 2 * Duration::from_secs(offer.estimate().into());
            let arena = self.games.slots.next_arena();
            arena.is_some_and(|arena| arena < ends)
        };
        let challenged = self.is_challenged(opponent);
        let slots = &mut self.games.slots;
        blocked.is_none()
            && !overlaps
            && !challenged
            && !slots.is_full(human, now)
            && slots.games_against(Some(opponent), true, now) == 0
    }

    fn send_match_challenge(&mut self, user: Username, params: NewChallenge) {
        info!(
            name: "challenge_sent",
            "match against {user}: challenging to {}",
            params.time_control
        );
        let (source, challenge) = (ChallengeSource::Match, OutgoingChallenge { user, params });
        self.send_challenge(source, challenge, None, |account, sent, result| {
            let user = &sent.user;
            match result {
                SendResult::Created(challenge) => account.track_match_challenge(challenge),
                SendResult::Closed(challenge) => {
                    let one = account.state.matches.sending_to(user);
                    if let Some(attempt) = one.and_then(|one| one.attempt.as_mut()) {
                        attempt.id = Some(challenge.id.clone());
                    }
                    account.on_match_challenge_closed(&challenge);
                }
                SendResult::NotCreated(why, error) => {
                    info!("match against {user}: cannot challenge: {error}");
                    account.on_match_challenge_failed(user, why, &error);
                }
            }
        });
    }

    fn on_match_challenge_failed(&mut self, user: &Username, why: ChallengeFailure, error: &Error) {
        let date = clock::date();
        let Some(one) = self.state.matches.sending_to(user) else {
            return;
        };
        match why {
            ChallengeFailure::Lost => {
                one.set_stage(Stage::UnknownFrom(clock::now() + LOOKUP_DELAY));
                return;
            }
            ChallengeFailure::Refused(Refusal::Limited(wait)) => {
                one.on_failed(Failure::Limited(wait), date);
            }
            ChallengeFailure::Refused(_) => {
                one.on_failed(
                    Failure::Final(format!("Lichess refuses the challenge: {error}")),
                    date,
                );
            }
            ChallengeFailure::Limited | ChallengeFailure::Failed => {
                one.on_failed(Failure::Withdrawn, date);
                one.retry_after(REQUEST_BACKOFF, &error.to_string(), date);
            }
        }
        self.on_match_changed(user);
    }

    /// Tracks a challenge of a match. The game may be running by now.
    pub(super) fn track_match_challenge(&mut self, challenge: Box<Challenge>) {
        let id = challenge.id.clone();
        let Some(to) = challenge.to().cloned() else {
            return;
        };
        let bot = is_for_bot(&challenge);
        let known = self.games.is_known(&id);
        let Some(one) = self.state.matches.iter_mut().find(|one| {
            let attempt = one.attempt.as_ref();
            one.opponent == to
                && attempt
                    .is_some_and(|attempt| attempt.id.as_ref().is_none_or(|other| *other == id))
        }) else {
            return self.cancel_challenge(challenge, "its match has ended");
        };
        one.human = !bot;
        // As Lichess spells it.
        one.opponent = to;
        let attempt = one.attempt.as_mut().expect("found by its attempt");
        attempt.id = Some(id.clone());
        if attempt.started {
            return self.publish_challenge(&challenge, Decision::Accepted, BY_MATCH.to_owned());
        }
        if known {
            one.on_started(&id);
            self.publish_challenge(&challenge, Decision::Accepted, BY_MATCH.to_owned());
        } else {
            let until = clock::now() + ANSWER_TIMEOUT;
            attempt.stage = Stage::Waiting(challenge.clone(), until);
            self.games
                .slots
                .reserve_until(id, slot_holder(&challenge), until);
        }
        self.save(StateFile::Matches);
    }

    /// Cancels challenges of matches that were not answered in time or are no longer wanted.
    fn withdraw_match_challenges(&mut self) {
        let (now, accepts) = (clock::now(), self.accepts_games());
        let expired = |one: &mut Match| {
            let unwanted = !accepts || one.is_over();
            match one.attempt.as_ref().map(|attempt| &attempt.stage) {
                Some(Stage::Waiting(_, until)) if unwanted || now >= *until => take_waiting(one),
                _ => None,
            }
        };
        let expired: Vec<_> = self.state.matches.iter_mut().filter_map(expired).collect();
        for challenge in expired {
            let why = match accepts {
                true => NOT_ANSWERED,
                false => "no games are taken",
            };
            self.cancel_challenge(challenge, why);
        }
    }

    /// Handles a closed challenge, which may be one of a match.
    pub(super) fn on_match_challenge_closed(&mut self, challenge: &Challenge) {
        let (accepts, date) = (self.accepts_games(), clock::date());
        let Some(one) = self.state.matches.with_game(&challenge.id) else {
            return;
        };
        if one.attempt.as_ref().is_some_and(|attempt| attempt.started) {
            return;
        }
        let failure = match challenge.refusal() {
            None if !accepts || one.is_over() => Failure::Withdrawn,
            reason => Failure::of_closed(reason),
        };
        one.on_failed(failure, date);
        let user = one.opponent.clone();
        self.games.slots.release(&challenge.id);
        let (decision, why) = super::outgoing::closing_reason(challenge);
        info!(challenge = %challenge.id, "match against {user}: {why}");
        self.publish_challenge(challenge, decision, why);
        self.on_match_changed(&user);
    }

    /// A game has started, or is resumed after a restart. It may be one of a match.
    pub(super) fn on_match_game_started(&mut self, info: &GameInfo) {
        let may_be_ours = self.may_be_from_us(info);
        let matches = &mut self.state.matches;
        let one = match matches.with_game(&info.id) {
            Some(one) => Some(one),
            None if may_be_ours => matches.expecting(info),
            None => None,
        };
        let Some(one) = one.filter(|one| one.attempt.as_ref().is_some_and(|it| !it.started)) else {
            return;
        };
        let accepted = take_waiting(one);
        one.on_started(&info.id);
        info!(game = %info.id, "match against {}: game started at {}", one.opponent, one.score());
        if let Some(challenge) = accepted {
            self.publish_challenge(&challenge, Decision::Accepted, BY_MATCH.to_owned());
        }
        self.save(StateFile::Matches);
    }

    /// A game has ended, which may be one of a match.
    pub(super) fn on_match_game_ended(
        &mut self,
        id: &GameId,
        status: Status,
        winner: Option<Color>,
    ) {
        let Some(one) = self.state.matches.with_game(id) else {
            return;
        };
        one.on_ended(status, winner, clock::date());
        let user = one.opponent.clone();
        let score = one.score();
        info!(game = %id, "match against {user}: {score}");
        self.on_match_changed(&user);
    }

    /// Saves the matches, and reports the end of the one against this opponent.
    fn on_match_changed(&mut self, user: &Username) {
        self.save(StateFile::Matches);
        self.publish_status();
        let mut statuses = self.state.matches.statuses(clock::date()).into_iter();
        let last = statuses.find(|status| status.opponent.eq_ignore_ascii_case(user.as_str()));
        if let Some(status) = last.filter(|status| status.over) {
            self.publish_note(format!("match against {status}"));
        }
    }

    /// Finds out what has become of attempts for which nothing in this process waits.
    fn look_up_attempts(&mut self) {
        let now = clock::now();
        let mut wanted = Vec::new();
        for one in self.state.matches.iter_mut() {
            let Some(attempt) = &mut one.attempt else {
                continue;
            };
            let id = attempt.id.as_ref();
            let due = match attempt.stage {
                _ if id.is_some_and(|id| self.games.is_running(id)) => {
                    attempt.stage = Stage::UnknownFrom(now + LOOKUP_DELAY);
                    continue;
                }
                Stage::Unknown => true,
                Stage::UnknownFrom(at) => now >= at,
                Stage::LookingUp | Stage::Saving | Stage::Sending | Stage::Waiting(..) => false,
            };
            if due {
                attempt.stage = Stage::LookingUp;
                wanted.push((attempt.clone(), one.clone()));
            }
        }
        for (attempt, one) in wanted {
            let client = self.ctx.client.clone();
            let request = async move {
                let found = match &attempt.id {
                    Some(id) => look_up(&client, id).await,
                    None => find(&client, &one).await,
                };
                (one.opponent, attempt, found)
            };
            self.background
                .spawn(request, |account, (opponent, attempt, found)| {
                    account.on_looked_up(&opponent, &attempt, found);
                });
        }
    }

    fn on_looked_up(
        &mut self,
        opponent: &Username,
        attempt: &Attempt,
        found: Result<Outcome, Error>,
    ) {
        let (now, date) = (clock::now(), clock::date());
        let Some(one) = self.state.matches.iter_mut().find(|one| {
            let still = one.attempt.as_ref();
            one.opponent == *opponent
                && still.is_some_and(|it| {
                    it.since_ms == attempt.since_ms && matches!(it.stage, Stage::LookingUp)
                })
        }) else {
            return;
        };
        match found {
            Ok(Outcome::Open(challenge)) => {
                info!(challenge = %challenge.id, "match against {opponent}: the challenge still waits for an answer");
                return self.track_match_challenge(challenge);
            }
            Ok(Outcome::Running(id)) => {
                one.on_started(&id);
                one.set_stage(Stage::UnknownFrom(now + LOOKUP_DELAY));
                self.request_games();
            }
            Ok(Outcome::Ended(id, status, winner)) => {
                one.on_started(&id);
                return self.on_match_game_ended(&id, status, winner);
            }
            Ok(Outcome::Declined(reason)) => one.on_failed(Failure::of_closed(Some(reason)), date),
            // Its game may have been aborted and deleted.
            Ok(Outcome::Nothing) => one.on_failed(Failure::Withdrawn, date),
            Err(error) => {
                info!(
                    "match against {opponent}: cannot read what became of the last challenge: {error}"
                );
                one.set_stage(Stage::UnknownFrom(now + REQUEST_BACKOFF));
                return;
            }
        }
        self.on_match_changed(opponent);
    }
}

/// Removes the challenge that waits for an answer. What becomes of it is found out later, unless an event tells.
fn take_waiting(one: &mut Match) -> Option<Box<Challenge>> {
    let attempt = one.attempt.as_mut()?;
    let later = Stage::UnknownFrom(clock::now() + LOOKUP_DELAY);
    match std::mem::replace(&mut attempt.stage, later) {
        Stage::Waiting(challenge, _) => Some(challenge),
        other => {
            attempt.stage = other;
            None
        }
    }
}

/// Finds out what has become of a challenge.
async fn look_up(client: &Client, id: &GameId) -> Result<Outcome, Error> {
    if let Some(full) = fetch_game(client, id).await? {
        let state = full.state;
        return Ok(match state.status.is_over() {
            true => Outcome::Ended(id.clone(), state.status, state.winner),
            false => Outcome::Running(id.clone()),
        });
    }
    match client.challenge_by_id(id).await {
        Ok(challenge) => Ok(match (challenge.status, challenge.refusal()) {
            (ChallengeStatus::Declined, Some(reason)) => Outcome::Declined(reason),
            // Perhaps by us, at the end of the program.
            (ChallengeStatus::Canceled | ChallengeStatus::Accepted, _) => Outcome::Nothing,
            _ => Outcome::Open(Box::new(challenge)),
        }),
        Err(error) if error.is_not_found() => Ok(Outcome::Nothing),
        Err(error) => Err(error),
    }
}

/// Finds out what has become of a challenge whose id is not known: it is open or has become a game, which cannot end without moves
/// of ours. The games are listed last, since it may be accepted meanwhile.
async fn find(client: &Client, one: &Match) -> Result<Outcome, Error> {
    let open = client.challenges().await?.outgoing;
    let is_ours = |challenge: &Challenge| challenge.to() == Some(&one.opponent);
    if let Some(challenge) = open.into_iter().find(is_ours) {
        return Ok(Outcome::Open(Box::new(challenge)));
    }
    let running = client.playing(MAX_LISTED_GAMES).await?;
    let game = running.into_iter().find(|game| one.expects(game));
    Ok(game.map_or(Outcome::Nothing, |game| Outcome::Running(game.id)))
}
