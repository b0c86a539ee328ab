//! Games of an account: a task for each running game, and what is remembered of those that have ended.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError};
use tracing::{debug, error, warn};

use super::{Account, push_bounded};
use crate::backoff::Backoff;
use crate::bot::UnfinishedGames;
use crate::bot::account::correspondence::{SuspendedGames, Workload};
use crate::bot::account::rematch::Rematches;
use crate::bot::account::slots::{SlotHolder, Slots};
use crate::bot::game::status::{GameSnapshot, StatusCell};
use crate::bot::game::{self, ExitReason, GameCommand};
use crate::bot::policy::ChallengeFacts;
use crate::bot::shutdown::Stage;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::bot::trace::Traces;
use crate::clock;
use crate::events;
use crate::lichess::model::{GameId, GameInfo};
use crate::plural;

/// A game that Lichess did not know is tried again if a list names it after this time.
const NOT_FOUND_BACKOFF: Duration = Duration::from_secs(5);

/// A finished game that Lichess still lists is resumed after this time. Doubles with each repetition.
const FINISHED_BACKOFF: Duration = Duration::from_secs(10);

/// Upper bound of [`FINISHED_BACKOFF`].
const MAX_FINISHED_BACKOFF: Duration = Duration::from_secs(600);

/// Wait before a game whose task has panicked is resumed. The first time there is no wait; it grows with each panic.
const PANIC_BACKOFF: Duration = Duration::from_secs(1);

/// Games of the account.
pub(super) struct Games {
    pub slots: Slots,
    pub rematches: Rematches,
    /// Reads the unfinished games from the records. Used once.
    pub unfinished: Option<UnfinishedGames>,
    /// The account task has panicked; games from before may be left over.
    pub restarted: bool,
    /// By id, so that no game gets two tasks.
    running: HashMap<GameId, RunningGame>,
    /// Correspondence games without a task.
    suspended: SuspendedGames,
    tasks: SpannedJoinSet<ExitReason>,
    task_games: HashMap<Id, GameId>,
    /// Games that are over or not ours to play, even if an older list names them.
    finished: VecDeque<FinishedGame>,
    /// Unfinished games whose task ended because the bot shuts down.
    shut_down: BTreeSet<GameId>,
    /// Games whose task has panicked, once for each panic.
    panicked: VecDeque<GameId>,
    /// Games whose task has panicked and that are about to be resumed.
    resuming: usize,
}

/// A game that is no longer played.
struct FinishedGame {
    id: GameId,
    /// The game is resumed if Lichess lists it after this time; never if `None`.
    retry_after: Option<Instant>,
    /// How often it has finished.
    times: u32,
}

/// A running game as the account sees it.
pub(super) struct RunningGame {
    commands: mpsc::UnboundedSender<GameCommand>,
    status: StatusCell,
    started_at: Instant,
    /// As of the start of its task.
    info: Box<GameInfo>,
    clocked: bool,
    /// The event stream has reported its end. What its task still does, such as a farewell, takes no place from the
    /// next game.
    over_since: Option<Instant>,
}

impl RunningGame {
    pub(super) fn snapshot(&self) -> GameSnapshot {
        self.status.snapshot()
    }

    pub(super) fn send(&self, command: GameCommand) {
        // The task may have just ended.
        let _ = self.commands.send(command);
    }
}

impl Games {
    pub(super) fn new(slots: Slots, unfinished: Option<UnfinishedGames>, restarted: bool) -> Self {
        Self {
            slots,
            rematches: Rematches::default(),
            unfinished,
            running: HashMap::new(),
            suspended: SuspendedGames::default(),
            tasks: SpannedJoinSet::default(),
            task_games: HashMap::new(),
            finished: VecDeque::new(),
            shut_down: BTreeSet::new(),
            panicked: VecDeque::new(),
            resuming: 0,
            restarted,
        }
    }

    /// Running games.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&GameId, &RunningGame)> {
        self.running.iter()
    }

    pub(super) fn get(&self, id: &GameId) -> Option<&RunningGame> {
        self.running.get(id)
    }

    /// Number of running games.
    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn is_running(&self, id: &GameId) -> bool {
        self.running.contains_key(id)
    }

    /// Correspondence games without a task.
    pub(super) fn suspended_ids(&self) -> impl Iterator<Item = &GameId> {
        self.suspended.ids()
    }

    /// Returns whether this game is running, with or without a task.
    fn is_unfinished(&self, id: &GameId) -> bool {
        self.is_running(id) || self.suspended.contains(id)
    }

    /// Returns whether no game is running or about to start.
    pub(super) fn is_drained(&mut self) -> bool {
        let now = clock::now();
        self.is_empty() && !self.is_resuming() && !self.slots.has_reservations(now)
    }

    /// Returns whether a game is about to be resumed.
    pub(super) fn is_resuming(&self) -> bool {
        self.resuming > 0
    }

    /// Returns whether this game is running or has been.
    pub(super) fn is_known(&self, id: &GameId) -> bool {
        self.is_unfinished(id) || self.find_finished(id).is_some()
    }

    fn find_finished(&self, id: &GameId) -> Option<&FinishedGame> {
        self.finished.iter().find(|game| game.id == *id)
    }

    /// Running games with a clock.
    pub(super) fn clocked(&self) -> usize {
        let games = self.running.values();
        games
            .filter(|game| game.clocked && game.over_since.is_none())
            .count()
    }

    /// Open correspondence games.
    fn open_correspondence(&self) -> usize {
        let games = self.running.values();
        games.filter(|game| !game.clocked).count()
    }

    /// Waits for a task to end. `None` if there is none.
    pub(super) async fn next_ended(&mut self) -> Option<Result<(Id, ExitReason), JoinError>> {
        self.tasks.join_next_with_id().await
    }

    /// Passes the end of a game, as reported by the event stream, to whatever plays it.
    pub(super) fn on_finished(&mut self, info: Box<GameInfo>) {
        self.shut_down.remove(&info.id);
        if let Some(running) = self.running.get_mut(&info.id) {
            if running.clocked {
                running.over_since = Some(clock::now());
                self.slots.release(&info.id);
            }
            running.send(GameCommand::Finished(info));
        } else if !self.suspended.mark_over(&info.id) {
            self.slots.release(&info.id);
        }
    }

    /// Handles the complete list of running games: resyncs those that are not listed.
    pub(super) fn on_listed(&mut self, list: &[GameInfo], requested_at: Instant) {
        self.suspended.on_games_listed(list, requested_at);
        for (id, running) in &mut self.running {
            let is_listed = list.iter().any(|info| info.id == *id);
            // The report of its end was wrong.
            let was_over = |since: &mut Instant| is_listed && *since < requested_at;
            running.over_since.take_if(was_over);
            // A game that has started since could not be listed.
            if running.snapshot().stream.is_some()
                && running.started_at < requested_at
                && !is_listed
            {
                debug!(game = %id, "game is not listed as running; opening its stream again");
                running.send(GameCommand::Resync);
            }
        }
    }

    /// Handles a list of running games that is not complete.
    pub(super) fn on_some_listed(&mut self, now: Instant) {
        self.suspended.on_some_games_listed(now);
    }

    /// Waits until moves being searched or posted are posted, at most for this time, and ends all tasks. Returns the
    /// games that are still running.
    pub(super) async fn leave(&mut self, timeout: Duration) -> Vec<GameId> {
        let mut left: BTreeSet<GameId> = self.running.keys().cloned().collect();
        left.extend(self.suspended.ids().cloned());
        left.append(&mut self.shut_down);
        let all = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                if let Ok((task, ExitReason::Over | ExitReason::NotFound | ExitReason::Unsupported)) =
                    ended
                    && let Some(game) = self.task_games.get(&task)
                {
                    left.remove(game);
                }
            }
        };
        if clock::timeout(timeout, all).await.is_err() {
            let left = plural::count(self.tasks.len(), "game is", "games are");
            warn!("{left} left without posting the move being searched");
        }
        self.tasks.shutdown().await;
        left.into_iter().collect()
    }

    /// Marks a game as finished. It is resumed only if Lichess lists it after the backoff, and never without one.
    fn mark_finished(&mut self, id: GameId, after: Option<Duration>) {
        let before = self.finished.iter().position(|game| game.id == id);
        let before = before.and_then(|at| self.finished.remove(at));
        let times = before.map_or(0, |game| game.times).saturating_add(1);
        let retry_after = after
            .map(|after| clock::now() + Backoff::new(after, MAX_FINISHED_BACKOFF).delay(times - 1));
        let finished = FinishedGame {
            id,
            retry_after,
            times,
        };
        push_bounded(&mut self.finished, finished);
    }
}

impl Account {
    /// Starts a task for a game unless there is one. `at` is when Lichess reported the state of the game.
    pub(super) fn start_game(&mut self, info: Box<GameInfo>, at: Instant) {
        let id = &info.id;
        let finished = self.games.find_finished(id);
        let is_finished =
            finished.is_some_and(|game| game.retry_after.is_none_or(|until| at < until));
        if self.games.is_running(id) || is_finished || info.status.is_over() {
            return;
        }
        if finished.is_some() {
            warn!(game = %id, "Lichess lists a game as running that was finished or unknown; resuming it");
        }
        if info.compat.is_some_and(|compat| !compat.bot) {
            return debug!(game = %id, "not a game for the bot API");
        }
        let opponent = &info.opponent;
        let clocked = info.clock().is_some();
        if clocked || !self.games.suspended.contains(id) {
            let holder = SlotHolder {
                name: Some(opponent.name.clone()),
                human: !opponent.is_bot() && opponent.ai_level.is_none(),
                clocked,
                limit: self.state.accepted_log.limit(id).map(str::to_owned),
            };
            let arena = info.tournament.clone();
            self.games.slots.occupy(id.clone(), holder, arena);
            self.on_operator_challenge_started(&info.id);
            self.on_rematch_started(&info.id);
            self.on_match_game_started(&info);
            self.count_game(&info);
        }
        match clocked {
            true => self.spawn_game(info, StatusCell::default()),
            false => self.games.suspended.update(info, at),
        }
    }

    /// Starts a game task. A game beyond the configured concurrency is played too: without a task it would be lost.
    fn spawn_game(&mut self, info: Box<GameInfo>, status: StatusCell) {
        let id = info.id.clone();
        let clocked = info.clock().is_some();
        let running = self.games.clocked();
        if clocked && running >= self.ctx.settings.games.concurrency {
            warn!(game = %id, "{running} running games are the most that games.concurrency allows; this one is played too, and all get less time");
        }
        let (commands, inbox) = mpsc::unbounded_channel();
        let running = RunningGame {
            commands,
            status: status.clone(),
            started_at: clock::now(),
            info: info.clone(),
            clocked,
            over_since: None,
        };
        let known = self.state.accepted_log.facts(&id);
        let listed = || self.listed(&info.opponent.name);
        let of_list = |listed| ChallengeFacts {
            listed: Some(listed),
            ..ChallengeFacts::default()
        };
        if let Some(facts) = known.or_else(|| listed().map(of_list)) {
            status.update(|snapshot| snapshot.challenge_facts = Some(facts));
        }
        self.games.shut_down.remove(&id);
        self.games.running.insert(id.clone(), running);
        self.publish_game_count();
        let mut ctx = self.ctx.clone();
        let opponent = &info.opponent.name;
        if self.ctx.settings.is_own_account(opponent.as_str()) && self.ctx.me.id() > opponent.id() {
            // An arena has paired us with another account of this process. One of the two reports the game.
            ctx.events = ctx.events.without_parent();
            ctx.traces = Traces::default();
        }
        let task = game::play(ctx, id.clone(), Some(info), inbox, status);
        let handle = self.games.tasks.spawn(task);
        self.games.task_games.insert(handle.id(), id);
    }

    /// Handles a game task that has returned or panicked.
    pub(super) fn on_game_task_ended(&mut self, ended: Result<(Id, ExitReason), JoinError>) {
        let task = match &ended {
            Ok((task, _)) => *task,
            Err(failure) => failure.id(),
        };
        let Some(id) = self.games.task_games.remove(&task) else {
            return;
        };
        let running = self.games.running.remove(&id);
        self.publish_game_count();
        if let (Ok((_, ExitReason::Suspended)), Some(RunningGame { info, status, .. })) =
            (&ended, &running)
        {
            let (info, status) = (info.clone(), status.clone());
            return self.games.suspended.insert(info, status, clock::now());
        }
        self.games.slots.release(&id);
        match ended {
            Ok((_, ExitReason::Over | ExitReason::Unsupported)) => {
                if let Some(rematch) = running.and_then(|running| running.snapshot().rematch) {
                    self.offer_rematch(&id, rematch);
                }
                let is_over = matches!(ended, Ok((_, ExitReason::Over)));
                let after = is_over.then_some(FINISHED_BACKOFF);
                self.games.mark_finished(id, after);
            }
            Ok((_, ExitReason::NotFound)) => {
                self.games.mark_finished(id, Some(NOT_FOUND_BACKOFF));
            }
            Ok((_, ExitReason::ShutDown)) => {
                self.games.shut_down.insert(id);
            }
            Ok((_, ExitReason::Suspended)) => {}
            Err(failure) => {
                error!(name: "panicked", game = %id, "game task panicked; resuming the game: {failure}");
                self.ctx.events.send(events::Event::Note {
                    severity: events::Severity::Error,
                    game: Some(id.to_string()),
                    text: "internal error; the game is resumed".into(),
                });
                let panicked = &mut self.games.panicked;
                let before = panicked.iter().filter(|other| **other == id).count();
                let wait = PANIC_BACKOFF * before.min(30) as u32;
                push_bounded(panicked, id);
                self.connection.lists.invalidate_games();
                if let Some(RunningGame { info, .. }) = running {
                    self.games.resuming += 1;
                    self.background.spawn(clock::sleep(wait), |account, ()| {
                        account.games.resuming -= 1;
                        account.start_game(info, clock::now());
                    });
                }
            }
        }
    }

    /// Forgets games that are over, with the list of running games. Before it arrives, not all of those are known.
    pub(super) fn forget_old_games(&mut self, list: &[GameInfo]) {
        let is_running = |id: &str| {
            let mut listed = list.iter().map(|info| &info.id);
            let known = || id.parse().is_ok_and(|id| self.games.is_unfinished(&id));
            listed.any(|listed| listed.as_str() == id) || known()
        };
        self.state.quota.forget_counted_games(is_running);
        let log = &mut self.state.accepted_log;
        log.prune(clock::date(), is_running);
    }

    pub(super) fn publish_game_count(&self) {
        self.set_running_games(self.games.clocked());
        self.publish_status();
    }

    /// Sets the count of running games with a clock.
    fn set_running_games(&self, games: usize) {
        let before = self.ctx.running_games.swap(games, Ordering::Relaxed);
        self.ctx.shared_load.update_games(before, games);
    }

    /// Removes this account from the shared load.
    pub(super) fn release_load(&self) {
        self.set_running_games(0);
        let concurrency = self.ctx.settings.games.concurrency;
        self.ctx.shared_load.update_concurrency(concurrency, 0);
    }

    /// Opens suspended games in which there is something to do, a limited number at once.
    pub(super) fn open_suspended(&mut self) {
        if self.games.suspended.len() == 0 {
            return;
        }
        let workload = match self.ctx.shutdown.stage() {
            Stage::Running if self.games.clocked() == 0 => Workload::Idle,
            Stage::Running => Workload::Playing,
            Stage::Draining if self.connection.is_offline() => return,
            Stage::Draining => Workload::Draining,
            Stage::Leaving => return,
        };
        let (mut open, now) = (self.games.open_correspondence(), clock::now());
        while open < self.ctx.settings.correspondence.concurrency
            && let Some((info, status)) = self.games.suspended.take_next(workload, now)
        {
            let rest = self.games.suspended.len();
            debug!(game = %info.id, "opening a correspondence game; {rest} more are suspended");
            self.spawn_game(info, status);
            open += 1;
        }
        if self.games.suspended.has_our_turn(workload, now) {
            // A task that has just ended frees a place as well.
            for running in self.games.running.values().filter(|game| !game.clocked) {
                running.send(GameCommand::Suspend);
            }
        }
    }
}
