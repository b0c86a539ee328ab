//! Requests of the account, whose answers nothing waits for.

use std::io;
use std::time::{Instant, SystemTime};

use tokio::task::JoinError;
use tracing::{debug, error, info};

use super::outgoing::TOO_LATE;
use super::queue::Asked;
use super::{Account, Error, LISTED};
use crate::bot::account::operator::Then;
use crate::bot::account::seek::Sought;
use crate::bot::account::state_files::Book;
use crate::bot::commands::{OutgoingChallenge, Reply};
use crate::bot::game::status::RematchOffer;
use crate::clock;
use crate::config::{self, Settings};
use crate::events::Decision;
use crate::lichess::Error as Failure;
use crate::lichess::model::{Challenge, ChallengeId, Challenges, GameInfo};

/// The answer to a request of the account.
pub(super) enum TaskResult {
    /// With the time at which it was asked.
    Playing(Instant, Result<Vec<GameInfo>, Failure>),
    /// The same, asked because a game worries; nothing if there was no answer in time.
    Overheard(Instant, Option<Vec<GameInfo>>),
    /// Lichess seemed to wait for our move in this game, by a list that was asked for then; if a line was under way, it
    /// has come.
    Recheck(Instant, Box<GameInfo>),
    /// A game whose task has panicked may be taken up again.
    TakeUpAgain(Box<GameInfo>),
    /// With the time at which it was asked.
    Waiting(Instant, Result<Challenges, Failure>),
    /// Since when there is the challenger's account.
    Born(Asked, Result<Option<SystemTime>, Failure>),
    /// What Lichess says to a challenge of the operator's.
    Invited(OutgoingChallenge, Result<Box<Challenge>, Failure>, Reply),
    /// A challenge of the operator's has waited long enough.
    Unanswered(ChallengeId),
    /// The settings as they were read anew.
    ReloadSettings(Result<Option<Box<Settings>>, config::Error>, Reply),
    /// The standing orders are on disk; what is to be done then.
    Ordered(io::Result<()>, Then),
    /// The games that the records have as still on.
    UnfinishedGames(Vec<String>),
    /// It is done, and nothing follows from it.
    Nothing,
    /// A file is on disk.
    Saved(Book, io::Result<()>),
    /// About a game that we look for.
    Sought(Sought),
    Accepted(Box<Challenge>, Result<(), Failure>),
    Declined(ChallengeId, Result<(), Failure>),
    /// We have offered a rematch.
    RematchAsked(RematchOffer, Result<Box<Challenge>, Failure>),
    /// A challenge of ours is taken back for this reason, unless it has become a game: whether it is.
    TakenBack(Box<Challenge>, &'static str, Result<bool, Failure>),
    /// Whether the token is still good.
    Token(Result<(), Failure>),
}

/// Something to ask Lichess: once at a time, and never with an answer that is older than the wish for it.
#[derive(Debug, Default)]
pub(super) struct Question {
    asked: bool,
    again: bool,
}

impl Question {
    /// Somebody wants to know. Whether it is to be asked now, and not when the answer has come that is awaited.
    fn is_wanted(&mut self) -> bool {
        self.again = self.asked;
        !std::mem::replace(&mut self.asked, true)
    }

    /// The answer has come. Whether it is to be asked again.
    fn is_over(&mut self) -> bool {
        self.asked = false;
        std::mem::take(&mut self.again)
    }
}

impl Account {
    /// Compares what we know with what Lichess lists: the streams may have kept something back.
    pub(super) fn reconcile(&mut self) {
        self.ask_playing();
        self.ask_challenges();
    }

    /// Asks for the challenges that wait for our answer.
    pub(super) fn ask_challenges(&mut self) {
        if !self.about_challenges.is_wanted() {
            return;
        }
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let asked = clock::now();
            TaskResult::Waiting(asked, client.challenges().await)
        });
    }

    /// Asks for the games that are on.
    pub(super) fn ask_playing(&mut self) {
        if !self.about_games.is_wanted() {
            return;
        }
        self.asked_at = clock::now();
        let first = !self.listed;
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let asked = clock::now();
            let list = if first {
                client.playing_past_pauses(LISTED).await
            } else {
                client.playing(LISTED).await
            };
            TaskResult::Playing(asked, list)
        });
    }

    /// An errand is done.
    pub(super) fn back(&mut self, errand: Result<TaskResult, JoinError>) -> Result<(), Error> {
        if matches!(errand, Ok(TaskResult::Playing(..)) | Err(_)) && self.about_games.is_over() {
            self.ask_playing();
        }
        if matches!(errand, Ok(TaskResult::Waiting(..)) | Err(_)) && self.about_challenges.is_over()
        {
            self.ask_challenges();
        }
        match errand {
            Ok(TaskResult::Overheard(asked, Some(list))) => self.compare(list, asked),
            Ok(TaskResult::Overheard(_, None)) => self.look_where_it_worries(),
            Ok(TaskResult::Recheck(asked, info)) => self.recheck(asked, &info),
            Ok(TaskResult::TakeUpAgain(info)) => {
                self.retaking -= 1;
                self.take_up(info, clock::now());
            }
            Ok(TaskResult::Playing(asked, Ok(list))) => {
                self.informed = true;
                self.listed = true;
                self.unanswered = 0;
                self.compare(list, asked);
                self.ask_records();
            }
            Ok(TaskResult::UnfinishedGames(games)) => self.settle(&games),
            Ok(TaskResult::Waiting(asked, Ok(list))) => self.listed(list.incoming, asked),
            Ok(TaskResult::Born(asked, born)) => self.aged(asked, born),
            Ok(TaskResult::Invited(invitation, answer, reply)) => {
                self.invited(&invitation, answer, reply);
            }
            Ok(TaskResult::Unanswered(id)) => self.unanswered(&id),
            Ok(TaskResult::ReloadSettings(read, reply)) => self.reloaded(read, reply),
            Ok(TaskResult::Ordered(written, then)) => self.ordered(written, then),
            Ok(TaskResult::Nothing) => {}
            Ok(TaskResult::Saved(book, written)) => self.saved(book, written),
            Ok(TaskResult::Sought(sought)) => self.sought(sought),
            Ok(TaskResult::Playing(_, Err(failure))) => {
                self.informed = true;
                self.listed |= failure.is_rate_limited();
                self.unanswered += 1;
                // Once is enough while Lichess is away.
                match self.unanswered {
                    1 => info!("cannot read the list of games: {failure}"),
                    _ => debug!("cannot read the list of games: {failure}"),
                }
            }
            Ok(TaskResult::Waiting(_, Err(failure))) => {
                info!("cannot read the list of challenges: {failure}");
            }
            Ok(TaskResult::Accepted(challenge, Ok(()))) => {
                debug!(challenge = %challenge.id, "accepted")
            }
            Ok(TaskResult::Accepted(challenge, Err(failure))) => {
                self.not_accepted(&challenge, failure)
            }
            Ok(TaskResult::Declined(id, Err(failure))) => {
                info!(challenge = %id, "cannot decline: {failure}")
            }
            Ok(TaskResult::Declined(_, Ok(()))) => {}
            Ok(TaskResult::RematchAsked(encore, asked)) => self.rematch_asked(&encore, asked),
            Ok(TaskResult::TakenBack(challenge, why, taken_back)) => {
                let id = &challenge.id;
                self.taking_back = self.taking_back.saturating_sub(1);
                match taken_back {
                    Ok(true) => {
                        info!(challenge = %id, "taken back");
                        self.tell_challenge(&challenge, Decision::Dropped, why.to_owned());
                    }
                    Ok(false) => {
                        self.accepted_meanwhile(&challenge);
                        self.tell_challenge(&challenge, Decision::Accepted, TOO_LATE.to_owned());
                    }
                    Err(failure) => info!(challenge = %id, "cannot take it back: {failure}"),
                }
            }
            Ok(TaskResult::Token(Ok(()))) => self.token_confirmed = Some(clock::now()),
            Ok(TaskResult::Token(Err(failure))) => {
                let no = failure.lichess_error().map(|refusal| refusal.code);
                if matches!(no, Some(401 | 403)) {
                    return Err(Error::TokenRejected(failure.to_string()));
                }
            }
            Err(failure) => error!("an errand has failed: {failure}"),
        }
        Ok(())
    }
}
