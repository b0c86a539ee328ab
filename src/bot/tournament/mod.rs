//! Arenas: joins those named by the operator and those found by discovery, keeps the account in them, and leaves them
//! at shutdown.
//!
//! Each arena has a task ([`arena_task`]); another one finds arenas ([`discovery`]). The games come by the event
//! stream like any others.

mod arena_task;
mod discovery;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::AccountContext;
use crate::bot::account::TaskPanic;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::quota::JoinRequest;
use crate::bot::commands::Responder;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::clock;
use crate::config::ArenaEntry;
use crate::events;
use crate::lichess::model::ArenaId;
use arena_task::ArenaTask;
use discovery::{Candidate, Discovery};

/// Event of an arena for the account.
#[derive(Debug)]
pub(super) enum ArenaEvent {
    /// The arena was joined and starts then.
    StartsAt(ArenaId, Instant),
    /// Pairings may come at any moment: reserve a slot.
    SlotNeeded(ArenaId),
    /// No pairings will come: release the slot.
    SlotFree(ArenaId),
    /// The arena is over or was left.
    Finished(ArenaId),
    /// Asks whether one more arena may be joined, and charges it if so. Otherwise answers with the time of the next
    /// attempt.
    MayJoin(JoinRequest, oneshot::Sender<Result<(), SystemTime>>),
    /// Lichess has refused a join because of too many arenas.
    TooManyJoins,
    /// The task of an arena, or the one that finds arenas, has panicked.
    Panicked(TaskPanic),
}

/// Arenas of the account.
pub(super) struct Tournaments {
    ctx: AccountContext,
    tasks: SpannedJoinSet<()>,
    events: mpsc::UnboundedReceiver<ArenaEvent>,
    event_sender: mpsc::UnboundedSender<ArenaEvent>,
    /// Arenas found by discovery.
    discovered: mpsc::UnboundedReceiver<(ArenaEntry, Candidate)>,
    discovered_sender: mpsc::UnboundedSender<(ArenaEntry, Candidate)>,
    arenas: HashMap<ArenaId, ArenaHandle>,
    /// Named arenas that are over or have refused us: not joined again until our settings change.
    ended: HashSet<ArenaId>,
    /// The arenas and their times, for discovery.
    periods: watch::Sender<HashMap<ArenaId, PeriodReceiver>>,
    /// Arenas that the operator has left.
    left: watch::Sender<HashSet<ArenaId>>,
    paused: watch::Sender<bool>,
    discovery: Option<AbortHandle>,
}

/// Start and end of an arena in milliseconds since 1970, once its page was read.
type PeriodReceiver = watch::Receiver<Option<Range<i64>>>;

/// Handle of an arena that the account has joined or is going to join.
struct ArenaHandle {
    joining: watch::Sender<ArenaEntry>,
    /// Polls the arena now.
    wake: Arc<Notify>,
    /// Leaves the arena.
    leave: CancellationToken,
    /// How discovery found it; `None` if it is configured or named by the operator.
    found: Option<Candidate>,
    /// Last status, once Lichess has reported one.
    status: watch::Receiver<Option<events::Arena>>,
    period: PeriodReceiver,
}

impl Tournaments {
    /// Starts the tasks of all named arenas, and discovery.
    pub(super) fn new(ctx: &AccountContext, overrides: &OperatorOverrides) -> Self {
        let (event_sender, events) = mpsc::unbounded_channel();
        let (discovered_sender, discovered) = mpsc::unbounded_channel();
        let mut tournaments = Self {
            ctx: ctx.clone(),
            tasks: SpannedJoinSet::default(),
            events,
            event_sender,
            discovered,
            discovered_sender,
            arenas: HashMap::new(),
            ended: HashSet::new(),
            periods: watch::Sender::default(),
            left: watch::Sender::new(overrides.left_arenas.iter().cloned().collect()),
            paused: watch::Sender::new(overrides.paused),
            discovery: None,
        };
        tournaments.update_named(&overrides.arenas);
        tournaments.restart_discovery();
        tournaments
    }

    /// Returns the next event of an arena.
    pub(super) async fn next(&mut self) -> Option<ArenaEvent> {
        loop {
            tokio::select! {
                Some((joining, candidate)) = self.discovered.recv() => {
                    if !self.left.borrow().contains(&joining.id) {
                        self.join_or_update(joining, Some(candidate), None);
                    }
                }
                event = self.events.recv() => {
                    if let Some(ArenaEvent::Finished(arena)) = &event {
                        self.on_finished(arena);
                    }
                    return event;
                }
                Some(Err(ended)) = self.tasks.join_next() => {
                    if let Ok(panic) = ended.try_into_panic() {
                        return Some(ArenaEvent::Panicked(panic));
                    }
                }
            }
        }
    }

    fn on_finished(&mut self, arena: &ArenaId) {
        let handle = self.arenas.remove(arena);
        if handle.is_some_and(|handle| handle.found.is_none() && !handle.leave.is_cancelled()) {
            self.ended.insert(arena.clone());
        }
        self.publish_periods();
    }

    /// Applies changed settings or overrides. Returns the arenas that are left because they no longer match.
    pub(super) fn on_settings_changed(
        &mut self,
        ctx: &AccountContext,
        by_operator: &[ArenaEntry],
    ) -> Vec<ArenaId> {
        let before = std::mem::replace(&mut self.ctx, ctx.clone());
        let wanted = &ctx.settings.tournaments;
        let is_unchanged = before.settings.tournaments == *wanted;
        if !is_unchanged {
            self.ended.clear();
        }
        self.update_named(by_operator);
        if is_unchanged {
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

    /// Joins arenas that are named, and leaves those that no longer are.
    fn update_named(&mut self, by_operator: &[ArenaEntry]) {
        let settings = Arc::clone(&self.ctx.settings);
        let named = || settings.tournaments.join.iter().chain(by_operator);
        for (arena, handle) in &self.arenas {
            if handle.found.is_none() && named().all(|joining| joining.id != *arena) {
                handle.leave.cancel();
            }
        }
        self.ended
            .retain(|arena| named().any(|joining| joining.id == *arena));
        for joining in named() {
            let left = self.left.borrow().contains(&joining.id);
            if !left && !self.ended.contains(&joining.id) {
                self.join_or_update(joining.clone(), None, None);
            }
        }
    }

    /// Starts discovery with the current settings.
    fn restart_discovery(&mut self) {
        if let Some(discovery) = self.discovery.take() {
            discovery.abort();
        }
        // What it has found may not match the new settings.
        (self.discovered_sender, self.discovered) = mpsc::unbounded_channel();
        let wanted = &self.ctx.settings.tournaments;
        if wanted.join_any || !wanted.teams.is_empty() {
            let discovery = Discovery::new(
                self.ctx.clone(),
                self.discovered_sender.clone(),
                self.periods.subscribe(),
                self.left.subscribe(),
            );
            let task = discovery.run(self.paused.subscribe());
            self.discovery = Some(self.tasks.spawn(task));
        }
    }

    /// Joins an arena for the operator.
    pub(super) fn join(&mut self, joining: ArenaEntry, responder: Option<Responder>) {
        self.left.send_if_modified(|left| left.remove(&joining.id));
        self.ended.remove(&joining.id);
        self.join_or_update(joining, None, responder);
    }

    /// Leaves an arena for the operator. Whether the account was in it.
    pub(super) fn leave_arena(&mut self, arena: &ArenaId) -> bool {
        let Some(handle) = self.arenas.get(arena) else {
            return false;
        };
        handle.leave.cancel();
        self.left
            .send_if_modified(|left| left.insert(arena.clone()));
        true
    }

    /// Pauses or resumes participation.
    pub(super) fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Arenas and their status, once Lichess has reported one.
    pub(super) fn statuses(&self) -> Vec<(ArenaId, Option<events::Arena>)> {
        let all = self.arenas.iter();
        let mut all: Vec<_> = all
            .map(|(id, handle)| (id.clone(), handle.status.borrow().clone()))
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// Polls an arena now, because its state has changed.
    pub(super) fn wake(&self, arena: &ArenaId) {
        if let Some(handle) = self.arenas.get(arena) {
            handle.wake.notify_one();
        }
    }

    /// Returns whether all arenas have been left at shutdown.
    pub(super) fn is_finished(&mut self) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.tasks.is_empty()
    }

    /// Waits until all arenas have been left, at most this long.
    pub(super) async fn leave_all(&mut self, timeout: Duration) {
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if clock::timeout(timeout, all).await.is_err() {
            warn!("still in an arena: Lichess will withdraw us when we do not play");
        }
        self.tasks.shutdown().await;
    }

    fn join_or_update(
        &mut self,
        joining: ArenaEntry,
        found: Option<Candidate>,
        responder: Option<Responder>,
    ) {
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
        let (period_sender, period) = watch::channel(None);
        let handle = ArenaHandle {
            joining: watch::Sender::new(joining),
            wake: Arc::default(),
            leave: CancellationToken::new(),
            found: found.clone(),
            status,
            period,
        };
        let task = ArenaTask::new(
            self.ctx.clone(),
            handle.joining.subscribe(),
            self.event_sender.clone(),
            found.is_some(),
            status_sender,
            period_sender,
            responder,
        );
        self.tasks.spawn(task.run(
            Arc::clone(&handle.wake),
            handle.leave.clone(),
            self.paused.subscribe(),
        ));
        self.arenas.insert(id, handle);
        self.publish_periods();
    }

    fn publish_periods(&self) {
        let arenas = self.arenas.iter();
        let periods = arenas.map(|(id, handle)| (id.clone(), handle.period.clone()));
        self.periods.send_replace(periods.collect());
    }
}
