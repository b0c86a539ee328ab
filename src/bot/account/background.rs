//! Background requests of an account.

use std::io;
use std::time::{Instant, SystemTime};

use tokio::task::JoinError;
use tracing::{debug, error, info};

use super::outgoing::ALREADY_ACCEPTED;
use super::queue::IncomingChallenge;
use super::{Account, Error, MAX_LISTED_GAMES};
use crate::bot::account::operator::AfterSave;
use crate::bot::account::seek::SeekResult;
use crate::bot::account::state_files::StateFile;
use crate::bot::commands::{OutgoingChallenge, Responder};
use crate::bot::game::status::RematchOffer;
use crate::clock;
use crate::config::{self, Settings};
use crate::events::Decision;
use crate::lichess::Error as Failure;
use crate::lichess::model::{Challenge, ChallengeId, Challenges, GameInfo};

/// Result of a background request.
pub(super) enum TaskResult {
    /// List of games, with the time of the request.
    GamesListed(Instant, Result<Vec<GameInfo>, Failure>),
    /// List of games requested by a probe, with the time of the request; `None` on a timeout.
    ProbeAnswered(Instant, Option<Vec<GameInfo>>),
    /// Second check of a game in which it seemed to be our turn, by a list requested at this time. A line in flight
    /// has arrived by now.
    Recheck(Instant, Box<GameInfo>),
    /// A game whose task has panicked may be resumed.
    ResumeGame(Box<GameInfo>),
    /// List of challenges, with the time of the request.
    ChallengesListed(Instant, Result<Challenges, Failure>),
    /// Creation time of the challenger's account.
    AccountAge(IncomingChallenge, Result<Option<SystemTime>, Failure>),
    /// Response to a challenge of the operator.
    ChallengeSent(
        OutgoingChallenge,
        Result<Box<Challenge>, Failure>,
        Responder,
    ),
    /// A challenge of the operator was not answered in time.
    ChallengeExpired(ChallengeId),
    /// Settings that were loaded again.
    SettingsRead(Result<Option<Box<Settings>>, config::Error>, Responder),
    /// The overrides were written, and what to do now.
    OverridesSaved(io::Result<()>, AfterSave),
    /// Games that are unfinished in the records.
    UnfinishedGames(Vec<String>),
    /// Nothing to do.
    Done,
    /// A state file was written.
    Saved(StateFile, io::Result<()>),
    /// Result of a matchmaking request.
    Seek(SeekResult),
    Accepted(Box<Challenge>, Result<(), Failure>),
    Declined(ChallengeId, Result<(), Failure>),
    /// Response to our offer of a rematch.
    RematchSent(RematchOffer, Result<Box<Challenge>, Failure>),
    /// A challenge of ours was cancelled for this reason; `false` if it had become a game.
    ChallengeCancelled(Box<Challenge>, &'static str, Result<bool, Failure>),
    /// Result of the token check.
    TokenChecked(Result<(), Failure>),
}

/// Request that runs once at a time and is repeated if it was requested again meanwhile.
#[derive(Debug, Default)]
pub(super) struct CoalescedRequest {
    in_flight: bool,
    repeat: bool,
}

impl CoalescedRequest {
    /// Requests a run. Whether it is to be started now.
    fn start(&mut self) -> bool {
        self.repeat = self.in_flight;
        !std::mem::replace(&mut self.in_flight, true)
    }

    /// The run has finished. Whether it is to be repeated.
    fn finish(&mut self) -> bool {
        self.in_flight = false;
        std::mem::take(&mut self.repeat)
    }
}

impl Account {
    /// Compares our state with what Lichess lists: streams may miss events.
    pub(super) fn reconcile(&mut self) {
        self.request_games();
        self.request_challenges();
    }

    /// Requests the list of challenges that wait for our answer.
    pub(super) fn request_challenges(&mut self) {
        if !self.challenges_request.start() {
            return;
        }
        let client = self.ctx.client.clone();
        self.background.spawn(async move {
            let requested_at = clock::now();
            TaskResult::ChallengesListed(requested_at, client.challenges().await)
        });
    }

    /// Requests the list of running games.
    pub(super) fn request_games(&mut self) {
        if !self.games_request.start() {
            return;
        }
        self.games_requested_at = clock::now();
        let first = !self.listed_once;
        let client = self.ctx.client.clone();
        self.background.spawn(async move {
            let requested_at = clock::now();
            let list = if first {
                client.playing_past_pauses(MAX_LISTED_GAMES).await
            } else {
                client.playing(MAX_LISTED_GAMES).await
            };
            TaskResult::GamesListed(requested_at, list)
        });
    }

    /// Dispatches the result of a background request.
    pub(super) fn on_task_result(
        &mut self,
        task_result: Result<TaskResult, JoinError>,
    ) -> Result<(), Error> {
        if matches!(task_result, Ok(TaskResult::GamesListed(..)) | Err(_))
            && self.games_request.finish()
        {
            self.request_games();
        }
        if matches!(task_result, Ok(TaskResult::ChallengesListed(..)) | Err(_))
            && self.challenges_request.finish()
        {
            self.request_challenges();
        }
        match task_result {
            Ok(TaskResult::ProbeAnswered(requested_at, Some(list))) => {
                self.reconcile_games(list, requested_at);
            }
            Ok(TaskResult::ProbeAnswered(_, None)) => self.resync_silent_games(),
            Ok(TaskResult::Recheck(requested_at, info)) => self.recheck(requested_at, &info),
            Ok(TaskResult::ResumeGame(info)) => {
                self.resuming -= 1;
                self.start_game(info, clock::now());
            }
            Ok(TaskResult::GamesListed(requested_at, Ok(list))) => {
                self.games_listed = true;
                self.listed_once = true;
                self.list_failures = 0;
                self.reconcile_games(list, requested_at);
                self.load_unfinished_games();
            }
            Ok(TaskResult::UnfinishedGames(games)) => self.fetch_missed_results(&games),
            Ok(TaskResult::ChallengesListed(requested_at, Ok(list))) => {
                self.on_challenges_listed(list.incoming, requested_at);
            }
            Ok(TaskResult::AccountAge(challenge, created)) => {
                self.on_account_age(challenge, created);
            }
            Ok(TaskResult::ChallengeSent(invitation, answer, responder)) => {
                self.on_challenge_sent(&invitation, answer, responder);
            }
            Ok(TaskResult::ChallengeExpired(id)) => self.on_challenge_expired(&id),
            Ok(TaskResult::SettingsRead(read, responder)) => self.on_settings_read(read, responder),
            Ok(TaskResult::OverridesSaved(written, then)) => self.on_overrides_saved(written, then),
            Ok(TaskResult::Done) => {}
            Ok(TaskResult::Saved(book, written)) => self.on_saved(book, written),
            Ok(TaskResult::Seek(sought)) => self.on_seek_result(sought),
            Ok(TaskResult::GamesListed(_, Err(failure))) => {
                self.games_listed = true;
                self.listed_once |= failure.is_rate_limited();
                self.list_failures += 1;
                // Once is enough while Lichess is unreachable.
                match self.list_failures {
                    1 => info!("cannot read the list of games: {failure}"),
                    _ => debug!("cannot read the list of games: {failure}"),
                }
            }
            Ok(TaskResult::ChallengesListed(_, Err(failure))) => {
                info!("cannot read the list of challenges: {failure}");
            }
            Ok(TaskResult::Accepted(challenge, Ok(()))) => {
                debug!(challenge = %challenge.id, "accepted");
            }
            Ok(TaskResult::Accepted(challenge, Err(failure))) => {
                self.on_accept_failed(&challenge, failure);
            }
            Ok(TaskResult::Declined(id, Err(failure))) => {
                info!(challenge = %id, "cannot decline: {failure}");
            }
            Ok(TaskResult::Declined(_, Ok(()))) => {}
            Ok(TaskResult::RematchSent(offer, response)) => self.on_rematch_sent(&offer, response),
            Ok(TaskResult::ChallengeCancelled(challenge, why, taken_back)) => {
                let id = &challenge.id;
                self.cancelling = self.cancelling.saturating_sub(1);
                match taken_back {
                    Ok(true) => {
                        info!(challenge = %id, "cancelled");
                        self.publish_challenge(&challenge, Decision::Dropped, why.to_owned());
                    }
                    Ok(false) => {
                        self.on_late_acceptance(&challenge);
                        self.publish_challenge(
                            &challenge,
                            Decision::Accepted,
                            ALREADY_ACCEPTED.to_owned(),
                        );
                    }
                    Err(failure) => info!(challenge = %id, "cannot cancel it: {failure}"),
                }
            }
            Ok(TaskResult::TokenChecked(Ok(()))) => self.token_confirmed_at = Some(clock::now()),
            Ok(TaskResult::TokenChecked(Err(failure))) => {
                let no = failure.lichess_error().map(|refusal| refusal.code);
                if matches!(no, Some(401 | 403)) {
                    return Err(Error::TokenRejected(failure.to_string()));
                }
            }
            Err(failure) => error!("background task panicked: {failure}"),
        }
        Ok(())
    }
}
