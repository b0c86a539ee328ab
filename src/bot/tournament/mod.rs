//! Arenas: joins those that the operator has named and those that are found for him, sees to it that we stay in them,
//! and leaves them when we stop.
//!
//! Each has a task of its own ([`attendance`]); another looks for those that nobody has named ([`discovery`]). The games come to
//! the account by its stream like any others; nothing here stands in their way.

mod attendance;
mod discovery;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::AccountContext;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::quota::Entry;
use crate::bot::commands::Reply;
use crate::bot::shutdown::ShutdownSignal;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::clock;
use crate::config::ArenaEntry;
use crate::events;
use crate::lichess::model::ArenaId;
use attendance::ArenaTask;
use discovery::{Candidate, Discovery};

/// What the account is told, and asked.
#[derive(Debug)]
pub(super) enum Word {
    /// We are in it, and it begins then.
    Begins(ArenaId, Instant),
    /// Pairings may come at any moment: keep a slot.
    Keep(ArenaId),
    /// None will come, or none any more.
    Free(ArenaId),
    /// We are done with it.
    Over(ArenaId),
    /// Whether one more may be joined; if so, it is. Otherwise when it may be asked again.
    MayJoin(Entry, oneshot::Sender<Result<(), SystemTime>>),
    /// Lichess says that we join too many.
    TooMany,
}

/// The arenas that we take part in.
pub(super) struct Tournaments {
    house: AccountContext,
    stop: ShutdownSignal,
    tasks: SpannedJoinSet<()>,
    words: mpsc::UnboundedReceiver<Word>,
    speaker: mpsc::UnboundedSender<Word>,
    /// Those that nobody has named, and in which we may take part.
    found: mpsc::UnboundedReceiver<(ArenaEntry, Candidate)>,
    finder: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
    attended: HashMap<ArenaId, Seat>,
    /// The same for those who need only know which.
    attending: watch::Sender<HashSet<ArenaId>>,
    /// Those that the operator has had us leave.
    left: watch::Sender<HashSet<ArenaId>>,
    paused: watch::Sender<bool>,
    scout: Option<AbortHandle>,
}

/// One that we take part in, or mean to.
struct Seat {
    joining: watch::Sender<ArenaEntry>,
    /// Look at it now.
    nudge: Arc<Notify>,
    /// Leave it.
    leave: CancellationToken,
    /// How it was found, unless it is in the configuration or by the operator.
    found: Option<Candidate>,
    /// How it stands, once Lichess has said so.
    shown: watch::Receiver<Option<events::Arena>>,
}

impl Tournaments {
    /// Begins to look after all of them.
    pub fn new(house: &AccountContext, stop: &ShutdownSignal, orders: &OperatorOverrides) -> Self {
        let (speaker, words) = mpsc::unbounded_channel();
        let (finder, found) = mpsc::unbounded_channel();
        let mut tournaments = Self {
            house: house.clone(),
            stop: stop.clone(),
            tasks: SpannedJoinSet::default(),
            words,
            speaker,
            found,
            finder,
            attended: HashMap::new(),
            attending: watch::Sender::default(),
            left: watch::Sender::new(orders.left.iter().cloned().collect()),
            paused: watch::Sender::new(orders.paused),
            scout: None,
        };
        tournaments.follow_named(&orders.arenas);
        tournaments.look_around();
        tournaments
    }

    /// The next word about one of them.
    pub async fn next(&mut self) -> Option<Word> {
        loop {
            tokio::select! {
                Some((joining, candidate)) = self.found.recv() => {
                    if !self.left.borrow().contains(&joining.id) {
                        self.attend(joining, Some(candidate), None);
                    }
                }
                word = self.words.recv() => {
                    if let Some(Word::Over(arena)) = &word {
                        self.attended.remove(arena);
                        self.publish();
                    }
                    return word;
                }
            }
        }
    }

    /// The settings have changed, or the orders: these arenas and those of the operator are the named ones now. Those that
    /// are left because nobody wants them any more.
    pub fn follow(&mut self, house: &AccountContext, ordered: &[ArenaEntry]) -> Vec<ArenaId> {
        let before = std::mem::replace(&mut self.house, house.clone());
        self.follow_named(ordered);
        let wishes = &house.settings.tournaments;
        if before.settings.tournaments == *wishes {
            return Vec::new();
        }
        let unwanted = |seat: &Seat| {
            let found = seat.found.as_ref();
            found.is_some_and(|candidate| !candidate.is_wanted(wishes))
        };
        let mut left: Vec<ArenaId> = Vec::new();
        for (arena, seat) in &self.attended {
            if unwanted(seat) && !seat.leave.is_cancelled() {
                seat.leave.cancel();
                left.push(arena.clone());
            }
        }
        self.look_around();
        left.sort_unstable();
        left
    }

    /// Takes part in those that are named, and no longer in those that were.
    fn follow_named(&mut self, ordered: &[ArenaEntry]) {
        let settings = Arc::clone(&self.house.settings);
        let named = || settings.tournaments.join.iter().chain(ordered);
        for (arena, seat) in &self.attended {
            if seat.found.is_none() && named().all(|joining| joining.id != *arena) {
                seat.leave.cancel();
            }
        }
        for joining in named() {
            let left = self.left.borrow().contains(&joining.id);
            if !left {
                self.attend(joining.clone(), None, None);
            }
        }
    }

    /// Looks for those that nobody has named, as the settings are now.
    fn look_around(&mut self) {
        if let Some(scout) = self.scout.take() {
            scout.abort();
        }
        let wishes = &self.house.settings.tournaments;
        if wishes.join_any || !wishes.teams.is_empty() {
            let scout = Discovery::new(
                self.house.clone(),
                self.finder.clone(),
                [self.attending.subscribe(), self.left.subscribe()],
            );
            let roaming = scout.roam(self.paused.subscribe(), self.stop.clone());
            self.scout = Some(self.tasks.spawn(roaming));
        }
    }

    /// The operator wants us to take part in this one.
    pub fn join(&mut self, joining: ArenaEntry, reply: Option<Reply>) {
        self.left.send_if_modified(|left| left.remove(&joining.id));
        self.attend(joining, None, reply);
    }

    /// The operator wants us out of this one. Whether we are in it.
    pub fn leave_one(&mut self, arena: &ArenaId) -> bool {
        let Some(seat) = self.attended.get(arena) else {
            return false;
        };
        seat.leave.cancel();
        self.left
            .send_if_modified(|left| left.insert(arena.clone()));
        true
    }

    /// Whether the operator wants no new games.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Those that we take part in, or mean to, and how each stands, if Lichess has said so.
    pub fn shown(&self) -> Vec<(ArenaId, Option<events::Arena>)> {
        let all = self.attended.iter();
        let mut all: Vec<_> = all
            .map(|(id, seat)| (id.clone(), seat.shown.borrow().clone()))
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Something has happened to us in this arena: look at it now.
    pub fn nudge(&self, arena: &ArenaId) {
        if let Some(seat) = self.attended.get(arena) {
            seat.nudge.notify_one();
        }
    }

    /// Whether all have been left, once we stop.
    pub fn are_over(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.is_empty()
    }

    /// Gives them this long to be left.
    pub async fn leave(&mut self, patience: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if clock::timeout(patience, all).await.is_err() {
            warn!("still in an arena: Lichess will withdraw us when we do not play");
        }
        self.tasks.shutdown().await;
    }

    fn attend(&mut self, joining: ArenaEntry, found: Option<Candidate>, reply: Option<Reply>) {
        while self.tasks.try_join_next().is_some() {}
        if let Some(seat) = self.attended.get_mut(&joining.id) {
            let named = found.is_none();
            if named {
                seat.found = None;
            }
            let leaving = seat.leave.is_cancelled();
            if *seat.joining.borrow() != joining && named {
                seat.joining.send_replace(joining);
                seat.nudge.notify_one();
            }
            if let Some(reply) = reply {
                match leaving {
                    true => reply.refuse("it is being left at this moment; try again"),
                    false => reply
                        .done("we take part in it already, or try to; the log says how it goes"),
                }
            }
            return;
        }
        let id = joining.id.clone();
        let (teller, shown) = watch::channel(None);
        let seat = Seat {
            joining: watch::Sender::new(joining),
            nudge: Arc::default(),
            leave: CancellationToken::new(),
            found: found.clone(),
            shown,
        };
        let attendance = ArenaTask::new(
            self.house.clone(),
            seat.joining.subscribe(),
            self.speaker.clone(),
            found.is_some(),
            teller,
            reply,
        );
        self.tasks.spawn(attendance.attend(
            Arc::clone(&seat.nudge),
            seat.leave.clone(),
            self.paused.subscribe(),
            self.stop.clone(),
        ));
        self.attended.insert(id, seat);
        self.publish();
    }

    /// Tells which they are now.
    fn publish(&self) {
        let attending = self.attended.keys().cloned().collect();
        self.attending.send_replace(attending);
    }
}
