//! Arenas: joins those that the operator has named and those that are found for him, sees to it that we stay in them,
//! and leaves them when we stop.
//!
//! Each has a task of its own ([`attendance`]); another looks for those that nobody has named ([`discovery`]). The games come to
//! the account by its stream like any others; nothing here stands in their way.

mod arena_task;
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
use crate::bot::account::quota::ArenaEntry;
use crate::bot::commands::Responder;
use crate::bot::shutdown::ShutdownSignal;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::clock;
use crate::config::Joining;
use crate::events;
use crate::lichess::model::ArenaId;
use arena_task::ArenaTask;
use discovery::{Candidate, Discovery};

/// What the account is told, and asked.
#[derive(Debug)]
pub(super) enum ArenaEvent {
    /// We are in it, and it begins then.
    StartsAt(ArenaId, Instant),
    /// Pairings may come at any moment: keep a slot.
    SlotNeeded(ArenaId),
    /// None will come, or none any more.
    SlotFree(ArenaId),
    /// We are done with it.
    Finished(ArenaId),
    /// Whether one more may be joined; if so, it is. Otherwise when it may be asked again.
    MayJoin(ArenaEntry, oneshot::Sender<Result<(), SystemTime>>),
    /// Lichess says that we join too many.
    TooManyJoins,
}

/// The arenas that we take part in.
pub(super) struct Tournaments {
    ctx: AccountContext,
    shutdown: ShutdownSignal,
    tasks: SpannedJoinSet<()>,
    events: mpsc::UnboundedReceiver<ArenaEvent>,
    event_sender: mpsc::UnboundedSender<ArenaEvent>,
    /// Those that nobody has named, and in which we may take part.
    discovered: mpsc::UnboundedReceiver<(Joining, Candidate)>,
    discovered_sender: mpsc::UnboundedSender<(Joining, Candidate)>,
    arenas: HashMap<ArenaId, ArenaHandle>,
    /// The same for those who need only know which.
    arena_ids: watch::Sender<HashSet<ArenaId>>,
    /// Those that the operator has had us leave.
    left: watch::Sender<HashSet<ArenaId>>,
    paused: watch::Sender<bool>,
    discovery: Option<AbortHandle>,
}

/// One that we take part in, or mean to.
struct ArenaHandle {
    joining: watch::Sender<Joining>,
    /// Look at it now.
    wake: Arc<Notify>,
    /// Leave it.
    leave: CancellationToken,
    /// How it was found, unless it is in the configuration or by the operator.
    found: Option<Candidate>,
    /// How it stands, once Lichess has said so.
    status: watch::Receiver<Option<events::Arena>>,
}

impl Tournaments {
    /// Begins to look after all of them.
    pub fn new(
        ctx: &AccountContext,
        shutdown: &ShutdownSignal,
        overrides: &OperatorOverrides,
    ) -> Self {
        let (event_sender, events) = mpsc::unbounded_channel();
        let (discovered_sender, discovered) = mpsc::unbounded_channel();
        let mut tournaments = Self {
            ctx: ctx.clone(),
            shutdown: shutdown.clone(),
            tasks: SpannedJoinSet::default(),
            events,
            event_sender,
            discovered,
            discovered_sender,
            arenas: HashMap::new(),
            arena_ids: watch::Sender::default(),
            left: watch::Sender::new(overrides.left_arenas.iter().cloned().collect()),
            paused: watch::Sender::new(overrides.paused),
            discovery: None,
        };
        tournaments.update_named(&overrides.arenas);
        tournaments.restart_discovery();
        tournaments
    }

    /// The next word about one of them.
    pub async fn next(&mut self) -> Option<ArenaEvent> {
        loop {
            tokio::select! {
                Some((joining, candidate)) = self.discovered.recv() => {
                    if !self.left.borrow().contains(&joining.id) {
                        self.join_or_update(joining, Some(candidate), None);
                    }
                }
                event = self.events.recv() => {
                    if let Some(ArenaEvent::Finished(arena)) = &event {
                        self.arenas.remove(arena);
                        self.publish_ids();
                    }
                    return event;
                }
            }
        }
    }

    /// The settings have changed, or the orders: these arenas and those of the operator are the named ones now. Those that
    /// are left because nobody wants them any more.
    pub fn on_settings_changed(
        &mut self,
        ctx: &AccountContext,
        by_operator: &[Joining],
    ) -> Vec<ArenaId> {
        let before = std::mem::replace(&mut self.ctx, ctx.clone());
        self.update_named(by_operator);
        let wanted = &ctx.settings.tournaments;
        if before.settings.tournaments == *wanted {
            return Vec::new();
        }
        let is_unwanted = |handle: &ArenaHandle| {
            let found = handle.found.as_ref();
            found.is_some_and(|candidate| !candidate.is_wanted(wanted))
        };
        let mut left: Vec<ArenaId> = Vec::new();
        for (arena, handle) in &self.arenas {
            if is_unwanted(handle) && !handle.leave.is_cancelled() {
                handle.leave.cancel();
                left.push(arena.clone());
            }
        }
        self.restart_discovery();
        left.sort_unstable();
        left
    }

    /// Takes part in those that are named, and no longer in those that were.
    fn update_named(&mut self, by_operator: &[Joining]) {
        let settings = Arc::clone(&self.ctx.settings);
        let named = || settings.tournaments.join.iter().chain(by_operator);
        for (arena, handle) in &self.arenas {
            if handle.found.is_none() && named().all(|joining| joining.id != *arena) {
                handle.leave.cancel();
            }
        }
        for joining in named() {
            let left = self.left.borrow().contains(&joining.id);
            if !left {
                self.join_or_update(joining.clone(), None, None);
            }
        }
    }

    /// Looks for those that nobody has named, as the settings are now.
    fn restart_discovery(&mut self) {
        if let Some(discovery) = self.discovery.take() {
            discovery.abort();
        }
        let wanted = &self.ctx.settings.tournaments;
        if wanted.any || !wanted.teams.is_empty() {
            let discovery = Discovery::new(
                self.ctx.clone(),
                self.discovered_sender.clone(),
                [self.arena_ids.subscribe(), self.left.subscribe()],
            );
            let task = discovery.run(self.paused.subscribe(), self.shutdown.clone());
            self.discovery = Some(self.tasks.spawn(task));
        }
    }

    /// The operator wants us to take part in this one.
    pub fn join(&mut self, joining: Joining, responder: Option<Responder>) {
        self.left.send_if_modified(|left| left.remove(&joining.id));
        self.join_or_update(joining, None, responder);
    }

    /// The operator wants us out of this one. Whether we are in it.
    pub fn leave_arena(&mut self, arena: &ArenaId) -> bool {
        let Some(handle) = self.arenas.get(arena) else {
            return false;
        };
        handle.leave.cancel();
        self.left
            .send_if_modified(|left| left.insert(arena.clone()));
        true
    }

    /// Whether the operator wants no new games.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Those that we take part in, or mean to, and how each stands, if Lichess has said so.
    pub fn statuses(&self) -> Vec<(ArenaId, Option<events::Arena>)> {
        let all = self.arenas.iter();
        let mut all: Vec<_> = all
            .map(|(id, handle)| (id.clone(), handle.status.borrow().clone()))
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Something has happened to us in this arena: look at it now.
    pub fn wake(&self, arena: &ArenaId) {
        if let Some(handle) = self.arenas.get(arena) {
            handle.wake.notify_one();
        }
    }

    /// Whether all have been left, once we stop.
    pub fn is_finished(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.is_empty()
    }

    /// Gives them this long to be left.
    pub async fn leave_all(&mut self, patience: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if clock::timeout(patience, all).await.is_err() {
            warn!("still in an arena: Lichess will withdraw us when we do not play");
        }
        self.tasks.shutdown().await;
    }

    fn join_or_update(
        &mut self,
        joining: Joining,
        found: Option<Candidate>,
        responder: Option<Responder>,
    ) {
        while self.tasks.try_join_next().is_some() {}
        if let Some(handle) = self.arenas.get_mut(&joining.id) {
            let named = found.is_none();
            if named {
                handle.found = None;
            }
            let leaving = handle.leave.is_cancelled();
            if *handle.joining.borrow() != joining && named {
                handle.joining.send_replace(joining);
                handle.wake.notify_one();
            }
            if let Some(responder) = responder {
                match leaving {
                    true => responder.fail("it is being left at this moment; try again"),
                    false => responder
                        .succeed("we take part in it already, or try to; the log says how it goes"),
                }
            }
            return;
        }
        let id = joining.id.clone();
        let (status_sender, status) = watch::channel(None);
        let handle = ArenaHandle {
            joining: watch::Sender::new(joining),
            wake: Arc::default(),
            leave: CancellationToken::new(),
            found: found.clone(),
            status,
        };
        let task = ArenaTask::new(
            self.ctx.clone(),
            handle.joining.subscribe(),
            self.event_sender.clone(),
            found.is_some(),
            status_sender,
            responder,
        );
        self.tasks.spawn(task.run(
            Arc::clone(&handle.wake),
            handle.leave.clone(),
            self.paused.subscribe(),
            self.shutdown.clone(),
        ));
        self.arenas.insert(id, handle);
        self.publish_ids();
    }

    /// Tells which they are now.
    fn publish_ids(&self) {
        let arena_ids = self.arenas.keys().cloned().collect();
        self.arena_ids.send_replace(arena_ids);
    }
}
