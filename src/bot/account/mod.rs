//! Account task: follows the event stream, answers challenges and runs one task for each game.

pub(in crate::bot) mod accepted_log;
mod background;
mod challenges;
mod connection;
mod correspondence;
pub(in crate::bot) mod file_names;
mod games;
mod lists;
mod login;
mod match_games;
mod missed_results;
mod operator;
mod outbox;
mod outgoing;
pub(in crate::bot) mod overrides;
pub(in crate::bot) mod persist;
mod queue;
pub(in crate::bot) mod quota;
mod reload;
mod rematch;
mod seek;
pub(in crate::bot) mod slots;
mod state_files;
mod status;
mod supervisor;
mod token;
mod watchdog;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info, warn};

use super::matchmaking::{Matchmaking, OpponentHistory};
use super::tournament::{ArenaEvent, Tournaments};
use super::{AccountContext, BotParts, Error};
use crate::bot::account::quota::Limit;
use crate::bot::account::slots::Slots;
use crate::bot::commands::CommandReceiver;
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::clock;
use crate::events;
use crate::lichess::model::{Challenge, Event, GameId, Status};
use crate::plural;
use background::Background;
use challenges::IncomingChallenges;
use connection::Connection;
use games::Games;
use operator::OperatorState;
use outgoing::{OutgoingChallenges, cancel_all};
use state_files::PersistedState;
use status::StatusPublisher;
pub(super) use supervisor::{TaskPanic, run};
use watchdog::{PROBE_CHECK_INTERVAL, Watchdog};

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

/// The same while the event stream is closed: Lichess is probably unreachable.
const OFFLINE_LEAVE_TIMEOUT: Duration = Duration::from_millis(300);

/// Time that shutdown waits for our challenges to be canceled. After it they are canceled without checking whether
/// one was accepted just then.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the last changes of the state files, on a slow disk.
const FINAL_SAVES_TIMEOUT: Duration = Duration::from_secs(3);

/// Entries kept in each list of past challenges, games and accounts.
const MAX_REMEMBERED: usize = 1000;

struct Account {
    ctx: AccountContext,
    /// Commands and overrides of the operator.
    operator: OperatorState,
    connection: Connection,
    games: Games,
    tournaments: Tournaments,
    incoming: IncomingChallenges,
    outgoing: OutgoingChallenges,
    matchmaking: Matchmaking,
    state: PersistedState,
    background: Background,
    watchdog: Watchdog,
    /// Panic of another task; the account task restarts because of it once no game is running.
    task_panic: Option<TaskPanic>,
    status: StatusPublisher,
}

impl Account {
    /// `charged`: challenges of all accounts of this process that were charged to our quota before. `restarted`: the
    /// account task has panicked before in this process.
    fn new(
        mut ctx: AccountContext,
        parts: &BotParts,
        (mut state, opponents): (PersistedState, OpponentHistory),
        charged: u64,
        restarted: bool,
    ) -> Self {
        let operator = OperatorState::open(parts);
        ctx.settings = operator.effective_settings();
        info!("logged in as {}", ctx.me);
        // After several crashes in a row. Meanwhile the list of games is polled.
        let date = clock::date();
        let held = state.quota.full_until(Limit::EventStreams, date);
        let wait = held.map(|until| until.duration_since(date).unwrap_or_default());
        if let Some(wait) = wait {
            warn!(
                "too many event streams were opened recently; opening the next one in {wait:.0?}"
            );
        }
        let status = StatusPublisher::new(parts);
        let limits = &ctx.settings.games;
        ctx.shared_load.update_concurrency(0, limits.concurrency);
        let slots = Slots::new(limits.concurrency, limits.reserved_for_humans);
        state.accepted_log.keep_for(&ctx.settings);
        state.block_lists.set_lists(&ctx.settings);
        let mut matchmaking = Matchmaking::new(&ctx.settings, opponents);
        matchmaking.set_listed(state.block_lists.all_names());
        Self {
            connection: Connection::new(ctx.client.clone(), wait),
            games: Games::new(slots, parts.unfinished_games.clone(), restarted),
            tournaments: Tournaments::new(&ctx, &operator.overrides),
            incoming: IncomingChallenges::default(),
            outgoing: OutgoingChallenges::new(charged),
            matchmaking,
            background: Background::default(),
            watchdog: Watchdog::new(parts.injected_panics),
            task_panic: None,
            status,
            state,
            operator,
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
            if stage == Stage::Running {
                self.restart_after_task_panic();
            }
            tokio::select! {
                event = self.connection.next() => self.on_stream(event)?,
                Some(ended) = self.games.next_ended() => self.on_game_task_ended(ended),
                Some(completion) = self.background.next() => self.on_completion(completion)?,
                Some(event) = self.tournaments.next() => match event {
                    ArenaEvent::StartsAt(arena, at) => self.games.slots.set_arena_start(arena, at),
                    ArenaEvent::SlotNeeded(arena) => self.games.slots.reserve_arena(arena),
                    ArenaEvent::SlotFree(arena) => self.games.slots.release_arena(&arena),
                    ArenaEvent::Finished(arena) => self.on_arena_over(&arena),
                    ArenaEvent::MayJoin(entry, responder) => self.on_arena_entry(entry, responder),
                    ArenaEvent::TooManyJoins => self.on_too_many_arenas(),
                    ArenaEvent::Panicked(panic) => self.on_task_panicked("an arena task", panic),
                },
                command = commands.next() => self.on_command(command),
                now = shutdown.next() => {
                    stage = now;
                    self.on_stage(stage);
                }
                () = token_check.notified() => self.check_token(),
                _ = reconcile.tick() => {
                    self.retry_failed_saves();
                    self.repeat_cancellations();
                    if !self.connection.is_offline() {
                        self.reconcile();
                    }
                }
                _ = game_list.tick() => if !self.connection.is_offline() && !self.games.is_empty() {
                    self.request_games();
                },
                _ = offline_poll.tick() => if self.should_poll_games() {
                    self.request_games();
                },
                _ = probe.tick(), if !self.games.is_empty() => self.probe_silent_games(),
                _ = heartbeat.tick() => {
                    self.status.metrics.heartbeat();
                    self.inject_panics();
                    self.recover_stuck_games();
                    self.expire_rematch();
                    self.publish_status();
                    self.save_pauses();
                    self.read_block_lists();
                    self.charge_shared_challenges();
                    if self.connection.is_rejected() {
                        self.check_token();
                    }
                }
            }
            self.send_outboxes();
            self.serve_queue();
            self.open_suspended();
            self.step_matches();
            self.step_matchmaking();
            self.publish_idle();
        }
    }

    /// Returns whether no game is running and none is about to start. Used while draining.
    fn is_drained(&mut self) -> bool {
        let known = self.connection.lists.games_listed() || !self.games.restarted;
        known
            && self.games.is_drained()
            && !self.has_pending_challenges()
            && self.tournaments.is_finished()
    }

    /// Shuts down: moves being searched or posted are posted, then all tasks end. Returns the games that are still
    /// running.
    async fn leave(&mut self, timeout: Duration) -> Vec<GameId> {
        let challenges = self.pending_challenges();
        let client = self.ctx.client.clone();
        let cancel_challenges = cancel_all(&client, challenges, &mut self.background);
        let (left, (), _) = tokio::join!(
            self.games.leave(timeout),
            self.tournaments.leave_all(timeout),
            clock::timeout(timeout, cancel_challenges),
        );
        let saves = clock::timeout(FINAL_SAVES_TIMEOUT, self.finish_saves());
        if saves.await.is_err() {
            warn!("the last changes of the state files are not saved yet; leaving without them");
        }
        self.background.shutdown().await;
        left
    }

    /// Returns whether a game may have started without an event.
    fn should_poll_games(&self) -> bool {
        let awaited = self.games.slots.arenas_awaited() > 0;
        self.connection.should_poll_games(awaited)
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::GameStart(info) => self.start_game(info, clock::now()),
            Event::GameFinish(info) => {
                if let (Some(arena), Status::NoStart) = (&info.tournament, info.status) {
                    self.tournaments.wake(arena);
                }
                self.on_game_over(&info);
                self.on_match_game_ended(&info.id, info.status, info.winner);
                self.games.on_finished(info);
                self.publish_game_count();
            }
            Event::Challenge(challenge, compat) => self.on_challenge(challenge, compat),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.on_challenge_closed(challenge);
            }
            Event::Unknown(kind) => debug!(kind, "unknown event"),
            Event::Skipped(skipped) => {
                warn!("unreadable event: {}", skipped.why);
                self.connection.mark_unreadable();
                self.reconcile();
            }
        }
    }

    /// Handles a challenge, incoming or ours, that was canceled or declined.
    fn on_challenge_closed(&mut self, challenge: Box<Challenge>) {
        self.on_rematch_closed(&challenge);
        self.on_operator_challenge_closed(&challenge);
        self.on_withdrawn(&challenge.id);
        self.on_matchmaking_challenge_closed(&challenge);
        self.on_match_challenge_closed(&challenge);
        self.outgoing.on_closed(challenge);
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
