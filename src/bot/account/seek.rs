//! Games that we look for ourselves, and what is counted of all games.

use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;
use tracing::{debug, info};

use super::Account;
use super::challenges::insist;
use super::outgoing::{self, TOO_LATE};
use crate::bot::account::background::TaskResult;
use crate::bot::account::quota::Entry;
use crate::bot::account::state_files::Book;
use crate::bot::matchmaking::{Choice, Inputs, OnlineBots, Refusal, Step};
use crate::bot::shutdown::Stage;
use crate::clock;
use crate::events::{self, Decision};
use crate::lichess::model::{Challenge, ChallengeId, GameInfo, NewChallenge, UserStatus, Username};
use crate::lichess::retry::RequestKind;
use crate::lichess::{Client, Error as Failure};
use crate::plural;

/// The most bots that Lichess lists.
const BOTS: u32 = 512;

/// Moments that are closer than this are the same to who reads of them.
const ALIKE: Duration = Duration::from_secs(5);

/// What came of a step.
pub(super) enum Sought {
    /// Who is online, and ourselves.
    Online(Result<OnlineBots, Failure>),
    /// What came of a challenge.
    Tried(Tried),
    /// Our challenge was taken back, or was not.
    TakenBack(ChallengeId, Result<bool, Failure>),
}

/// What came of a challenge to one of several.
#[derive(Default)]
pub(super) struct Tried {
    /// Those who cannot be challenged.
    unfit: Vec<(Username, Refusal)>,
    /// Who was challenged to what, and the answer.
    made: Option<(Username, NewChallenge, Result<Box<Challenge>, Failure>)>,
    /// It could not even be asked who is there.
    failed: Option<Failure>,
}

impl Tried {
    /// The challenge that stands.
    pub fn made(self) -> Option<Box<Challenge>> {
        self.made?.2.ok()
    }
}

impl Account {
    /// Looks for a game when there is nothing to play.
    pub(super) fn look_for_games(&mut self) {
        let scene = self.scene();
        let client = self.house.client.clone();
        match self.matchmaking.step(scene, &self.quota) {
            Step::Wait => {}
            Step::Discovery => {
                self.errands
                    .spawn(async move { TaskResult::Sought(Sought::Online(scout(&client).await)) });
            }
            Step::Challenge(choice) => {
                let users: Vec<&str> = choice.users.iter().map(Username::as_str).collect();
                info!(
                    "looking for a game of {}: {}",
                    choice.offer,
                    users.join(", ")
                );
                self.errands.spawn(async move {
                    TaskResult::Sought(Sought::Tried(challenge_one(&client, choice).await))
                });
            }
            Step::TakeBack(id) => {
                self.errands.spawn(async move {
                    let answer =
                        insist(RequestKind::Answer, || outgoing::take_back(&client, &id)).await;
                    TaskResult::Sought(Sought::TakenBack(id, answer))
                });
            }
        }
    }

    fn scene(&mut self) -> Inputs {
        let now = clock::now();
        let waits = !self.queue.is_empty() || self.retaking > 0;
        let arena = self.slots.arenas_awaited() > 0;
        Inputs {
            stopping: !self.takes_games(),
            ready: self.informed && self.link.is_open(),
            busy: waits || arena || self.slots.busy(now),
            room: !self.slots.full(false, now),
            arena: self.slots.next_arena(),
            now,
            date: clock::date(),
        }
    }

    /// A step has come to its end.
    pub(super) fn sought(&mut self, sought: Sought) {
        match sought {
            Sought::Online(Ok(roster)) => {
                let bots = plural::count(roster.bots.len(), "bot is", "bots are");
                debug!("{bots} online");
                self.matchmaking.scouted(Some(roster));
            }
            Sought::Online(Err(failure)) => {
                info!("cannot ask which bots are online: {failure}");
                self.matchmaking.scouted(None);
            }
            Sought::Tried(tried) => self.tried(tried),
            Sought::TakenBack(id, answer) => {
                match &answer {
                    Ok(true) => debug!(challenge = %id, "taken back"),
                    Ok(false) => {
                        let pending = self.matchmaking.pending().cloned();
                        let is_known = self.knows_game(&id);
                        if let Some(challenge) = pending.filter(|it| it.id == id && !is_known) {
                            self.accepted_meanwhile(&challenge);
                            self.tell_challenge(
                                &challenge,
                                Decision::Accepted,
                                TOO_LATE.to_owned(),
                            );
                            return self.matchmaking.became_a_game();
                        }
                    }
                    Err(failure) => info!(challenge = %id, "cannot take back: {failure}"),
                }
                if let Some(challenge) = self.matchmaking.taken_back(matches!(answer, Ok(true))) {
                    let why = "it was not answered".to_owned();
                    self.tell_challenge(&challenge, Decision::Dropped, why);
                    self.save(Book::Answers);
                }
            }
        }
    }

    fn tried(&mut self, tried: Tried) {
        self.matchmaking.unfit(&tried.unfit);
        if !tried.unfit.is_empty() {
            self.save(Book::Answers);
        }
        match tried.made {
            Some((user, _, Ok(challenge))) => {
                info!(challenge = %challenge.id, "challenged {user}");
                self.challenge_counts(true);
                self.matchmaking.stands(challenge, user);
            }
            Some((user, what, Err(failure))) => self.not_made(&user, &what, &failure),
            None => {
                if let Some(failure) = tried.failed {
                    info!("cannot ask who of them is there: {failure}");
                    return self.matchmaking.scouted(None);
                }
                self.matchmaking.nobody();
            }
        }
    }

    /// Lichess has not taken our challenge: of whom does it not want one, and for how long?
    fn not_made(&mut self, user: &Username, what: &NewChallenge, failure: &Failure) {
        info!("cannot challenge {user}: {failure}");
        let why = self.unmade(Some(true), failure);
        self.matchmaking.not_made(user, why);
        if self.matchmaking.pending().is_some() {
            info!("the challenge to {user} was made, as the event stream has shown");
        } else {
            self.tell_unmade(user, what, why, failure);
        }
        self.save(Book::Quota);
        self.save(Book::Answers);
    }

    /// A challenge was declined or taken back; it may be ours.
    pub(super) fn refused_by(&mut self, challenge: &Challenge) {
        if let Some(why) = self.matchmaking.over(challenge) {
            self.tell_challenge(challenge, Decision::Declined, why);
            self.save(Book::Answers);
        }
    }

    /// A game has begun, or goes on after a restart.
    pub(super) fn game_counts(&mut self, info: &GameInfo) {
        let date = clock::date();
        let begun = self.matchmaking.began(info);
        if let Some(begun) = &begun {
            if let Some(challenge) = &begun.challenge {
                let why = format!("as {} wants it", begun.profile);
                self.tell_challenge(challenge, Decision::Accepted, why);
            }
            self.save(Book::Answers);
        }
        let sought = begun.map(|begun| begun.sought);
        let opponent = &info.opponent;
        let new = if opponent.ai_level.is_some() {
            self.quota.ai_game(&info.id, date)
        } else {
            opponent.is_bot() && self.quota.bot_game(&info.id, sought, date)
        };
        if new {
            self.save(Book::Quota);
        }
    }

    /// An arena is to be joined: whether it may be, or else from when on.
    pub(super) fn may_join(
        &mut self,
        entry: Entry,
        reply: oneshot::Sender<Result<(), SystemTime>>,
    ) {
        let answer = self.quota.enter_arena(entry, clock::date());
        if answer.is_ok() {
            self.save(Book::Quota);
        }
        // Who has asked may have left meanwhile.
        let _ = reply.send(answer);
    }

    /// Lichess has counted more arenas than we have.
    pub(super) fn too_many_arenas(&mut self) {
        self.quota.too_many_arenas(clock::date());
        self.save(Book::Quota);
    }

    /// A game is over.
    pub(super) fn game_over(&mut self, info: &GameInfo) {
        if self.matchmaking.finished(info) {
            self.save(Book::Answers);
        }
    }

    /// Takes down what Lichess has asked to pause, for the case that we are restarted. What a proxy has asked for is over by
    /// then.
    pub(super) fn keep_pauses(&mut self) {
        let (client, date) = (&self.house.client, clock::date());
        self.quota.proxy_pause(client.proxy_pause(), date);
        if self.quota.keep_pauses(client.pauses(), date) {
            self.save(Book::Quota);
        }
    }

    /// One line whenever there is nothing to play: why, and what is tried next.
    pub(super) fn tell_idle(&mut self) {
        if !self.games.is_empty() || self.stop.stage() != Stage::Running {
            self.idle_told = None;
            return;
        }
        if !self.informed || !self.link.is_open() {
            return;
        }
        let (reason, next) = match self.matchmaking.idle() {
            _ if self.office.orders.paused => (
                "no game is on, and the operator has paused the bot".to_owned(),
                None,
            ),
            _ if self.slots.arenas_awaited() > 0 => (
                format!(
                    "no game is on; waiting for a pairing in {}",
                    self.arenas_on()
                ),
                None,
            ),
            Some(idle) => (format!("no game is on; {}", idle.why), Some(idle.next)),
            None if self.house.settings.challenge.accept => {
                ("no game is on; waiting for challenges".to_owned(), None)
            }
            None => (
                "no game is on, and challenges are switched off".to_owned(),
                None,
            ),
        };
        let told = self.idle_told.as_ref();
        if told.is_some_and(|(before, then)| *before == reason && alike(*then, next)) {
            return;
        }
        match next {
            Some(next) => info!("idle: {reason}; next try at {}", clock::format_date(next)),
            None => info!("idle: {reason}"),
        }
        self.idle_told = Some((reason.clone(), next));
        self.house.events.send(events::Event::Idle { reason, next });
    }
}

impl Account {
    /// The arenas from which a game may come, `Friday Arena and Bots Arena`.
    fn arenas_on(&self) -> String {
        let names = self
            .tournaments
            .shown()
            .into_iter()
            .filter_map(|(_, shown)| {
                let shown = shown.filter(|shown| shown.stage != events::ArenaStage::Over)?;
                Some(shown.name)
            });
        let names: Vec<String> = names.collect();
        match names.is_empty() {
            true => "an arena".to_owned(),
            false => names.join(" and "),
        }
    }
}

fn alike(one: Option<SystemTime>, other: Option<SystemTime>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            let apart = one.duration_since(other);
            apart.unwrap_or_else(|error| error.duration()) < ALIKE
        }
        (one, other) => one == other,
    }
}

/// Who is online, and what we are worth by now.
async fn scout(client: &Client) -> Result<OnlineBots, Failure> {
    Ok(OnlineBots {
        me: client.account().await?,
        bots: client.online_bots(BOTS).await?,
    })
}

/// Challenges the first of these who is there and does not play, or else the first who is there.
async fn challenge_one(client: &Client, choice: Choice) -> Tried {
    let mut tried = Tried::default();
    let there = match client.users_status(&choice.users).await {
        Ok(there) => there,
        Err(failure) => {
            tried.failed = Some(failure);
            return tried;
        }
    };
    let status = |user: &Username| there.iter().find(|status| status.name == *user);
    let is_online = |user: &&Username| status(user).is_some_and(|status| status.online);
    let plays = |user: &&Username| status(user).is_some_and(|status: &UserStatus| status.playing);
    let (mut online, away): (Vec<_>, Vec<_>) = choice.users.iter().partition(is_online);
    online.sort_by_key(plays);
    let gone = away.into_iter().map(|user| (user.clone(), Refusal::Away));
    tried.unfit.extend(gone);
    for user in online {
        // Whom we block is told of a single user only.
        match client.user(user).await {
            Ok(profile) if profile.blocking => {
                tried.unfit.push((user.clone(), Refusal::Blocked));
            }
            Ok(_) => {
                let what = NewChallenge {
                    time_control: choice.offer.time(),
                    rated: choice.offer.rated,
                    color: choice.color,
                    variant: choice.offer.variant,
                    fen: None,
                };
                let made = client.challenge(user, &what).await.map(Box::new);
                tried.made = Some((user.clone(), what, made));
                return tried;
            }
            Err(failure) => {
                tried.failed = Some(failure);
                return tried;
            }
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_anew_when_they_have_moved() {
        let now = SystemTime::now();
        let later = |seconds| Some(now + Duration::from_secs(seconds));
        assert!(alike(None, None) && alike(later(0), later(4)) && alike(later(4), later(0)));
        assert!(!alike(None, later(0)) && !alike(later(0), later(5)) && !alike(later(6), later(0)));
    }
}
