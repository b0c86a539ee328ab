//! Account task: follows the event stream, answers challenges and runs one task for each game.

pub(in crate::bot) mod accepted_log;
mod background;
mod challenges;
mod correspondence;
pub(in crate::bot) mod file_names;
mod login;
mod missed_results;
mod online;
mod operator;
mod outbox;
mod outgoing;
pub(in crate::bot) mod overrides;
pub(in crate::bot) mod persist;
mod queue;
pub(in crate::bot) mod quota;
mod rematch;
mod seek;
pub(in crate::bot) mod slots;
mod state_files;
mod supervisor;
mod watchdog;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;
use tokio::task::{Id, JoinError};
use tracing::{debug, error, info, warn};

use super::game::{ExitReason, GameCommand};
use super::matchmaking::Matchmaking;
use super::tournament::{ArenaEvent, Tournaments};
use super::{AccountContext, BotParts, Error, HealthHandle, UnfinishedGames};
use crate::backoff::Backoff;
use crate::bot::account::accepted_log::AcceptedLog;
use crate::bot::account::persist::SaveQueue;
use crate::bot::account::quota::{Limit, Quota};
use crate::bot::account::slots::{SlotHolder, Slots};
use crate::bot::commands::CommandReceiver;
use crate::bot::game::status::StatusCell;
use crate::bot::reconnect::ReconnectingStream;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::clock;
use crate::events;
use crate::lichess::model::{Challenge, ChallengeId, Event, GameId, GameInfo, Status, Username};
use crate::lichess::{EventStream, LastActivity, ReconnectPolicy};
use crate::metrics::Metrics;
use crate::plural;
use background::{CoalescedRequest, TaskResult};
use challenges::Outboxes;
use correspondence::SuspendedGames;
use operator::OperatorState;
use outgoing::{Outgoing, cancel_all};
use queue::ChallengeQueue;
use rematch::Rematches;
use state_files::PersistedState;
pub(super) use supervisor::run;
use watchdog::PROBE_CHECK_INTERVAL;

/// Interval between heartbeats of the loop.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between comparisons of the lists of games and challenges with our own state. They are also compared after
/// each connect.
const RECONCILE_INTERVAL: Duration = Duration::from_secs(60);

/// Interval between requests for the list of games while games are running. One request at a time.
const GAME_LIST_INTERVAL: Duration = Duration::from_secs(20);

/// Interval between requests for the list of games while the event stream is closed, or silent while an arena game
/// may start: a game that is not started within about 16 seconds is lost.
const OFFLINE_POLL_INTERVAL: Duration = Duration::from_secs(3);

/// Games requested at most from the list of games.
const MAX_LISTED_GAMES: u32 = 50;

/// Time for game tasks to post their last move during shutdown.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

/// Time that shutdown waits for our challenges to be cancelled. After it they are cancelled without checking whether
/// one was accepted just then.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Entries kept in each list of past challenges, games and accounts.
const MAX_REMEMBERED: usize = 1000;

/// A game that Lichess did not know is tried again if a list names it after this time.
const NOT_FOUND_BACKOFF: Duration = Duration::from_secs(5);

/// A finished game that Lichess still lists is resumed after this time. Doubles with each repetition.
const FINISHED_BACKOFF: Duration = Duration::from_secs(10);

/// Upper bound of [`FINISHED_BACKOFF`].
const MAX_FINISHED_BACKOFF: Duration = Duration::from_secs(600);

/// Wait before a game whose task has panicked is resumed. The first time there is no wait; it grows with each panic.
const PANIC_BACKOFF: Duration = Duration::from_secs(1);

struct Account {
    ctx: AccountContext,
    /// Commands and overrides of the operator.
    operator: OperatorState,
    health: HealthHandle,
    shutdown: ShutdownSignal,
    event_stream: ReconnectingStream<EventStream>,
    /// Running games by id, so that no game gets two tasks.
    games: HashMap<GameId, RunningGame>,
    /// Correspondence games without a task.
    suspended: SuspendedGames,
    game_tasks: SpannedJoinSet<ExitReason>,
    task_games: HashMap<Id, GameId>,
    /// Games that are over or not ours to play, even if an older list names them.
    finished: VecDeque<FinishedGame>,
    /// Games whose task has panicked, once for each panic.
    panicked: VecDeque<GameId>,
    slots: Slots,
    tournaments: Tournaments,
    seen_challenges: VecDeque<ChallengeId>,
    /// Challenges that wait for a slot, and when the list of open challenges was last requested for them.
    queue: ChallengeQueue,
    queue_checked_at: Option<Instant>,
    rematches: Rematches,
    outgoing: Outgoing,
    /// Our challenges that are being cancelled.
    cancelling: usize,
    /// Until when shutdown waits for our challenges that may still become games.
    cancel_deadline: Option<Instant>,
    outboxes: Outboxes,
    /// Creation times of accounts, where rules have asked for the age.
    account_created: VecDeque<(Username, SystemTime)>,
    /// Challenges accepted in the last 24 hours.
    accepted_log: AcceptedLog,
    /// Use of Lichess's limits.
    quota: Quota,
    matchmaking: Matchmaking,
    /// Background saves, indexed by [`StateFile`](state_files::StateFile).
    save_queues: [SaveQueue; 3],
    /// Requests in the background, which report a [`TaskResult`].
    background: SpannedJoinSet<TaskResult>,
    started_at: Instant,
    first_online: Option<Instant>,
    clean_closes: u32,
    /// The first stream of this account was closed right after it was opened.
    closed_early: bool,
    /// The list of games was read since the stream was opened.
    games_listed: bool,
    /// Reason and next attempt as last reported while no game is running.
    last_idle: Option<(String, Option<SystemTime>)>,
    /// When the token was last checked, and when it was last confirmed.
    token_checked_at: Option<Instant>,
    token_confirmed_at: Option<Instant>,
    /// Since when Lichess answers the event stream with 403.
    forbidden_since: Option<Instant>,
    /// Activity of the current event stream, and whether it has brought an unreadable line.
    stream_activity: Option<LastActivity>,
    stream_unreadable: bool,
    /// The event stream is closed.
    offline: bool,
    /// The event stream is closed because of a 429.
    rate_limited: bool,
    /// Requests for the list of games and for the list of challenges.
    games_request: CoalescedRequest,
    challenges_request: CoalescedRequest,
    /// The list of games was read once, or Lichess has limited the request. From then on the request obeys pauses.
    listed_once: bool,
    /// When the list of games was last requested, and how many requests in a row have failed.
    games_requested_at: Instant,
    list_failures: u32,
    /// Games whose task has panicked and that are about to be resumed.
    resuming: usize,
    metrics: Metrics,
    /// Games recovered by the watchdog.
    recoveries: u64,
    /// When the last probe was sent.
    last_probe: Option<Instant>,
    /// Reads the unfinished games from the records. Used once.
    unfinished_games: Option<UnfinishedGames>,
    /// Challenges of all accounts that were charged to our quota so far.
    counted_challenges: u64,
    /// The account task has panicked before in this process.
    restarted: bool,
    /// Test hook: panic after this many heartbeats.
    panic_after: Option<u64>,
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
struct RunningGame {
    commands: mpsc::UnboundedSender<GameCommand>,
    status: StatusCell,
    started_at: Instant,
    /// As of the start of its task.
    info: Box<GameInfo>,
    clocked: bool,
}

impl Account {
    fn new(
        mut ctx: AccountContext,
        parts: &BotParts,
        state: PersistedState,
        shutdown: ShutdownSignal,
    ) -> Self {
        let operator = OperatorState::open(parts);
        ctx.settings = operator.effective_settings();
        let (health, metrics) = (parts.health.clone(), parts.metrics.clone());
        let unfinished_games = parts.unfinished_games.clone();
        let PersistedState {
            accepted_log,
            quota,
            opponents,
            save_queues,
        } = state;
        let client = ctx.client.clone();
        let mut event_stream = ReconnectingStream::new(ReconnectPolicy::events(), move |silence| {
            let client = client.clone();
            async move { client.events(silence).await }
        });
        info!("I am {}", ctx.me);
        // After several crashes in a row. Meanwhile the list of games is polled.
        let date = clock::date();
        let held = quota.full_until(Limit::EventStreams, date);
        if let Some(wait) = held.and_then(|until| until.duration_since(date).ok()) {
            warn!(
                "too many event streams were opened recently; opening the next one in {wait:.0?}"
            );
            event_stream.reopen(wait);
        }
        health.update(|status| status.account = Some(ctx.me.clone()));
        ctx.shared_load
            .update_concurrency(0, ctx.settings.games.concurrency);
        Self {
            slots: Slots::new(
                ctx.settings.games.concurrency,
                ctx.settings.games.reserved_for_humans,
            ),
            tournaments: Tournaments::new(&ctx, &shutdown, &operator.overrides),
            matchmaking: Matchmaking::new(&ctx.settings, opponents),
            operator,
            health,
            shutdown,
            event_stream,
            games: HashMap::new(),
            suspended: SuspendedGames::default(),
            game_tasks: SpannedJoinSet::default(),
            task_games: HashMap::new(),
            finished: VecDeque::new(),
            panicked: VecDeque::new(),
            seen_challenges: VecDeque::new(),
            queue: ChallengeQueue::default(),
            queue_checked_at: None,
            rematches: Rematches::default(),
            outgoing: Outgoing::default(),
            cancelling: 0,
            cancel_deadline: None,
            outboxes: Outboxes::default(),
            account_created: VecDeque::new(),
            accepted_log,
            quota,
            save_queues,
            background: SpannedJoinSet::default(),
            started_at: clock::now(),
            first_online: None,
            clean_closes: 0,
            closed_early: false,
            games_listed: false,
            last_idle: None,
            token_checked_at: None,
            token_confirmed_at: None,
            forbidden_since: None,
            stream_activity: None,
            stream_unreadable: false,
            offline: held.is_some(),
            rate_limited: false,
            listed_once: false,
            games_request: CoalescedRequest::default(),
            challenges_request: CoalescedRequest::default(),
            games_requested_at: clock::now(),
            list_failures: 0,
            resuming: 0,
            metrics,
            recoveries: 0,
            last_probe: None,
            unfinished_games,
            counted_challenges: 0,
            restarted: false,
            panic_after: parts.inject_panic_after,
            ctx,
        }
    }

    /// Runs the event loop. Nothing in it waits for a response.
    async fn run(
        &mut self,
        shutdown: &mut ShutdownSignal,
        commands: &mut CommandReceiver,
    ) -> Result<(), Error> {
        self.publish_initial_state();
        let mut heartbeat = clock::interval(HEARTBEAT_INTERVAL);
        let mut reconcile = clock::delayed_interval(RECONCILE_INTERVAL);
        let mut game_list = clock::delayed_interval(GAME_LIST_INTERVAL);
        let mut probe = clock::interval(PROBE_CHECK_INTERVAL);
        let mut offline_poll = clock::interval(OFFLINE_POLL_INTERVAL);
        let token_check = Arc::clone(&self.ctx.token_check);
        let mut stage = shutdown.stage();
        self.on_stage(stage);
        loop {
            if stage == Stage::Leaving || (stage == Stage::Draining && self.is_drained()) {
                return Ok(());
            }
            tokio::select! {
                event = self.event_stream.next() => self.on_stream(event)?,
                Some(ended) = self.game_tasks.join_next_with_id() => self.on_game_task_ended(ended),
                Some(task_result) = self.background.join_next() => self.on_task_result(task_result)?,
                Some(event) = self.tournaments.next() => match event {
                    ArenaEvent::StartsAt(arena, at) => self.slots.set_arena_start(arena, at),
                    ArenaEvent::SlotNeeded(arena) => self.slots.reserve_arena(arena),
                    ArenaEvent::SlotFree(arena) => self.slots.release_arena(&arena),
                    ArenaEvent::Finished(arena) => self.on_arena_over(&arena),
                    ArenaEvent::MayJoin(entry, responder) => self.on_arena_entry(entry, responder),
                    ArenaEvent::TooManyJoins => self.on_too_many_arenas(),
                },
                command = commands.next() => self.on_command(command),
                now = shutdown.next() => {
                    stage = now;
                    self.on_stage(stage);
                }
                () = token_check.notified() => self.check_token(),
                _ = reconcile.tick() => {
                    self.retry_failed_saves();
                    if !self.offline {
                        self.reconcile();
                    }
                }
                _ = game_list.tick() => if !self.offline && !self.games.is_empty() {
                    self.request_games();
                },
                _ = offline_poll.tick() => if self.should_poll_games() { self.request_games() },
                _ = probe.tick(), if !self.games.is_empty() => self.probe_silent_games(),
                _ = heartbeat.tick() => {
                    self.health.heartbeat();
                    self.inject_panic();
                    self.recover_stuck_games();
                    self.expire_rematch();
                    self.publish_status();
                    self.save_pauses();
                    self.charge_shared_challenges();
                }
            }
            self.send_outboxes();
            self.serve_queue();
            self.open_suspended();
            self.step_matchmaking();
            self.publish_idle();
        }
    }

    /// Whether no game is running and none is about to start. Used while draining.
    fn is_drained(&mut self) -> bool {
        // Games may be left over from before the panic.
        let known = self.games_listed || !self.restarted;
        let idle = self.games.is_empty()
            && self.resuming == 0
            && !self.slots.has_reservations(clock::now());
        known && idle && !self.has_pending_challenges() && self.tournaments.is_finished()
    }

    /// Test hook: panics when the count of heartbeats is reached.
    fn inject_panic(&mut self) {
        if let Some(beats) = &mut self.panic_after {
            assert!(*beats > 0, "on purpose, for a test");
            *beats -= 1;
        }
    }

    /// Shuts down: moves being searched or posted are posted, then all tasks end. Returns the games that are still
    /// running.
    async fn leave(&mut self, timeout: Duration) -> Vec<GameId> {
        let standing = self.pending_challenges();
        let mut left: BTreeSet<GameId> = self.games.keys().cloned().collect();
        left.extend(self.suspended.ids().cloned());
        let all = async {
            while let Some(ended) = self.game_tasks.join_next_with_id().await {
                if let Ok((task, ExitReason::Over | ExitReason::NotFound | ExitReason::Unsupported)) =
                    ended
                    && let Some(game) = self.task_games.get(&task)
                {
                    left.remove(game);
                }
            }
        };
        let client = self.ctx.client.clone();
        let take_back = cancel_all(&client, standing, &mut self.background);
        let (games, (), _) = tokio::join!(
            clock::timeout(timeout, all),
            self.tournaments.leave_all(timeout),
            clock::timeout(timeout, take_back),
        );
        if games.is_err() {
            let left = plural::count(self.game_tasks.len(), "game is", "games are");
            warn!("{left} left without posting the move being searched");
        }
        self.game_tasks.shutdown().await;
        self.background.shutdown().await;
        left.into_iter().collect()
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::GameStart(info) => self.start_game(info, clock::now()),
            Event::GameFinish(info) => {
                if let (Some(arena), Status::NoStart) = (&info.tournament, info.status) {
                    self.tournaments.wake(arena);
                }
                self.on_game_over(&info);
                if let Some(running) = self.games.get(&info.id) {
                    let _ = running.commands.send(GameCommand::Finished(info));
                } else if !self.suspended.mark_over(&info.id) {
                    self.slots.release(&info.id);
                }
            }
            Event::Challenge(challenge, compat) => self.on_challenge(challenge, compat),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.on_challenge_closed(challenge);
            }
            Event::Unknown(kind) => debug!(kind, "unknown event"),
            Event::Skipped(skipped) => {
                warn!("unreadable event: {}", skipped.why);
                self.stream_unreadable = true;
                self.reconcile();
            }
        }
    }

    /// Handles a challenge, incoming or ours, that was cancelled or declined.
    fn on_challenge_closed(&mut self, challenge: Box<Challenge>) {
        self.on_rematch_closed(&challenge);
        self.on_operator_challenge_closed(&challenge);
        self.on_withdrawn(&challenge.id);
        self.on_matchmaking_challenge_closed(&challenge);
        self.outgoing.on_closed(challenge);
    }

    /// Whether this game is running or has been.
    fn knows_game(&self, id: &GameId) -> bool {
        self.games.contains_key(id)
            || self.suspended.contains(id)
            || self
                .finished
                .iter()
                .any(|finished_game| finished_game.id == *id)
    }

    /// Starts a task for a game unless there is one. `at` is when Lichess reported the state of the game.
    fn start_game(&mut self, info: Box<GameInfo>, at: Instant) {
        let id = &info.id;
        let finished_game = self
            .finished
            .iter()
            .find(|finished_game| finished_game.id == *id);
        let is_finished = finished_game
            .is_some_and(|finished_game| finished_game.retry_after.is_none_or(|until| at < until));
        if self.games.contains_key(id) || is_finished || info.status.is_over() {
            return;
        }
        if finished_game.is_some() {
            warn!(game = %id, "Lichess lists a finished game as running; resuming it");
        }
        if info.compat.is_some_and(|compat| !compat.bot) {
            return debug!(game = %id, "not a game for the bot API");
        }
        let opponent = &info.opponent;
        let clocked = info.clock().is_some();
        let holder = SlotHolder {
            name: Some(opponent.name.clone()),
            human: !opponent.is_bot() && opponent.ai_level.is_none(),
            clocked,
        };
        if clocked || !self.suspended.contains(id) {
            self.slots
                .occupy(id.clone(), holder, info.tournament.clone());
            self.on_operator_challenge_started(&info.id);
            self.on_rematch_started(&info.id);
            self.count_game(&info);
        }
        match clocked {
            true => self.spawn_game(info, StatusCell::default()),
            false => self.suspended.update(info, at),
        }
    }

    /// Handles a game task that has returned or panicked.
    fn on_game_task_ended(&mut self, ended: Result<(Id, ExitReason), JoinError>) {
        let task = match &ended {
            Ok((task, _)) => *task,
            Err(failure) => failure.id(),
        };
        let Some(id) = self.task_games.remove(&task) else {
            return;
        };
        let running = self.games.remove(&id);
        self.publish_game_count();
        if let (Ok((_, ExitReason::Suspended)), Some(RunningGame { info, status, .. })) =
            (&ended, &running)
        {
            self.suspended
                .insert(info.clone(), status.clone(), clock::now());
            return;
        }
        self.slots.release(&id);
        match ended {
            Ok((_, ExitReason::Over | ExitReason::Unsupported)) => {
                if let Some(rematch) = running.and_then(|running| running.status.snapshot().rematch)
                {
                    self.offer_rematch(&id, rematch);
                }
                let is_over = matches!(ended, Ok((_, ExitReason::Over)));
                self.mark_finished(id, is_over.then_some(FINISHED_BACKOFF));
            }
            Ok((_, ExitReason::NotFound)) => self.mark_finished(id, Some(NOT_FOUND_BACKOFF)),
            Ok((_, ExitReason::ShutDown | ExitReason::Suspended)) => {}
            Err(failure) => {
                error!(game = %id, "game task panicked; resuming the game: {failure}");
                self.ctx.events.send(events::Event::Note {
                    severity: events::Severity::Error,
                    game: Some(id.to_string()),
                    text: "internal error; the game is resumed".into(),
                });
                let before = self.panicked.iter().filter(|other| **other == id).count();
                let wait = PANIC_BACKOFF * before.min(30) as u32;
                if let Some(RunningGame { info, .. }) = running {
                    self.resuming += 1;
                    self.background.spawn(async move {
                        clock::sleep(wait).await;
                        TaskResult::ResumeGame(info)
                    });
                }
                push_bounded(&mut self.panicked, id);
                self.games_listed = false;
            }
        }
    }

    /// Marks a game as finished. It is resumed only if Lichess lists it after the backoff, and never without one.
    fn mark_finished(&mut self, id: GameId, after: Option<Duration>) {
        let before = self
            .finished
            .iter()
            .position(|finished_game| finished_game.id == id);
        let before = before.and_then(|at| self.finished.remove(at));
        let times = before
            .map_or(0, |finished_game| finished_game.times)
            .saturating_add(1);
        let retry_after = after
            .map(|after| clock::now() + Backoff::new(after, MAX_FINISHED_BACKOFF).delay(times - 1));
        push_bounded(
            &mut self.finished,
            FinishedGame {
                id,
                retry_after,
                times,
            },
        );
    }

    fn publish_game_count(&self) {
        self.set_running_games(self.clocked_games());
        self.health.update(|status| status.games = self.games.len());
    }

    fn on_stage(&mut self, stage: Stage) {
        let games = self.games.len();
        if stage == Stage::Draining {
            let text = match games {
                0 => "draining: no game is running and no new ones are taken".to_owned(),
                games => {
                    let games = plural::count(games, "game", "games");
                    format!("draining: finishing {games}, taking no new ones, then stopping")
                }
            };
            info!("{text}");
            self.ctx.events.send(events::Event::note(text));
            self.cancel_challenges();
            self.ctx.events.send(events::Event::Draining { games });
        }
    }
}

fn push_bounded<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MAX_REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_list_is_bounded() {
        let mut list = VecDeque::new();
        (0..3 * MAX_REMEMBERED).for_each(|n| push_bounded(&mut list, n));
        assert_eq!(list.len(), MAX_REMEMBERED);
        assert_eq!(list.back(), Some(&(3 * MAX_REMEMBERED - 1)));
    }
}
