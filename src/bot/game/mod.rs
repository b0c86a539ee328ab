//! Game task: plays one game, from the first line of its stream to the end.
//!
//! The stream is authoritative. The task applies its states to the move list ([`GameMoves`](moves::GameMoves)), and
//! [`PendingMove`](pending_move::PendingMove) decides what to do for our move. At most one operation is in flight for it: a
//! search, a POST or a wait. Everything else (chat, answers to offers, claims) runs concurrently and may fail. The path from
//! the opponent's move to our POST begins in [`GameTask::on_state`].

pub(in crate::bot) mod budget;
mod chat;
pub(in crate::bot) mod choice;
pub(in crate::bot) mod core;
pub(in crate::bot) mod draw_resign;
pub(in crate::bot) mod header;
mod in_flight;
pub(in crate::bot) mod lag;
pub(in crate::bot) mod moves;
pub(in crate::bot) mod pending_move;
mod ponder;
mod post_move;
mod publish;
mod side_actions;
pub(in crate::bot) mod status;

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinError;
use tracing::{debug, info, warn};

use super::AccountContext;
use super::trace::{Header, Record, STREAM_OPEN, Trace};
use crate::bot::game::core::GameCore;
use crate::bot::game::header::{GameHeader, UnsupportedGame};
use crate::bot::game::moves::{Change, MovesUpdate};
use crate::bot::game::status::{Activity, StatusCell};
use crate::bot::reconnect::{ReconnectingStream, StreamEvent};
use crate::bot::retries::with_retries_within;
use crate::bot::shutdown::Stage;
use crate::bot::spanned_join_set::SpannedJoinSet;
use crate::chess::Color;
use crate::clock;
use crate::events::{Event, GameStarted};
use crate::lichess::model::{GameEvent, GameFull, GameId, GameInfo, GameState, Status};
use crate::lichess::retry::RequestKind;
use crate::lichess::{Error, Raw, RawGameStream, ReconnectPolicy};
use crate::plural;
use in_flight::{InFlight, SideResponse, Timer, Timers};
use ponder::Pondering;
pub(super) use publish::game_finished;

/// Time for the game stream to report the end of the game after the account stream did.
const FINAL_STATE_TIMEOUT: Duration = Duration::from_secs(2);

/// A stream that should have sent a line and was silent for this long may be dead. Round trips are shorter.
const STALE_STREAM_AFTER: Duration = Duration::from_secs(1);

/// Allowance for clocks with more time than in the latest state: Lichess adds some after an outage.
const CLOCK_SLACK: Duration = Duration::from_secs(15);

/// Time for which the abort of a game that cannot be played is tried. The task of the game ends soon after.
const ABORT_TIME: Duration = Duration::from_secs(2);

/// Longest time that a game stream may stay closed, given the time left on our clock.
fn max_stream_gap(remaining: Duration) -> Duration {
    (remaining / 32).clamp(Duration::from_millis(250), Duration::from_secs(5))
}

/// Command from the account to a game task.
#[derive(Debug)]
pub(super) enum GameCommand {
    /// The account stream reported the end of the game.
    Finished(Box<GameInfo>),
    /// The state may be out of date: reopen the stream.
    Resync,
    /// A move is pending and nothing is in flight for it: start over.
    Recover,
    /// Play the best move found so far.
    MoveNow,
    /// Another correspondence game needs the slot: suspend without waiting for a quick reply.
    Suspend,
}

/// Reason why a game task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitReason {
    /// The game is over.
    Over,
    /// Lichess does not know the game.
    NotFound,
    /// The game cannot be played, or Lichess does not let us play it.
    Unsupported,
    /// The bot is shutting down; the game goes on.
    ShutDown,
    /// A game without a clock waits for its opponent; its state is in the status cell.
    Suspended,
}

impl ExitReason {
    /// Description for the trace.
    fn describe(self) -> &'static str {
        match self {
            Self::Over => "the game is over",
            Self::NotFound => "Lichess does not know the game",
            Self::Unsupported => "the game cannot be played, or Lichess does not let us play it",
            Self::ShutDown => "the bot is shutting down",
            Self::Suspended => "suspended until it is our turn",
        }
    }
}

/// Plays a game until it ends, is suspended, or the bot shuts down.
pub(super) async fn play(
    ctx: AccountContext,
    id: GameId,
    info: Option<Box<GameInfo>>,
    mut commands: mpsc::UnboundedReceiver<GameCommand>,
    status_cell: StatusCell,
) -> ExitReason {
    let mut stop = ctx.shutdown.clone();
    let mut task = GameTask::new(ctx, id, info, status_cell);
    task.on_shutdown(stop.stage());
    let reason = loop {
        tokio::select! {
            // The stream first: it may make everything else obsolete.
            biased;
            event = task.game_stream.next() => task.on_stream_event(event),
            completion = task.in_flight.completed() => task.on_completion(completion),
            stage = stop.next() => task.on_shutdown(stage),
            Some(command) = commands.recv() => task.on_command(command),
            timer = task.timers.next() => task.on_timer(timer),
            Some(response) = task.side_requests.join_next() => task.on_side_response(response),
        }
        task.publish_status();
        // A POST is sent only while it is polled, so it goes before the trace.
        if !matches!(task.in_flight, InFlight::Post(_)) {
            task.trace.flush();
        }
        if let Some(reason) = task.exit_reason() {
            break reason;
        }
    };
    if reason != ExitReason::Suspended {
        let game_id = choice::game_id_hash(&task.id);
        task.ctx.engine.end_game(game_id);
    }
    task.wind_down(reason).await;
    task.trace_end(reason);
    reason
}

struct GameTask {
    ctx: AccountContext,
    id: GameId,
    info: Option<Box<GameInfo>>,
    game_stream: ReconnectingStream<RawGameStream>,
    /// State and decisions of the game.
    core: GameCore,
    in_flight: InFlight,
    /// Search on the opponent's time.
    pondering: Pondering,
    /// Start of the POST in flight.
    post_began: Instant,
    /// Requests that no move waits for.
    side_requests: SpannedJoinSet<SideResponse>,
    timers: Timers,
    rng: fastrand::Rng,
    status_cell: StatusCell,
    /// How often the wait for the opponent's first move was extended.
    wait_extensions: u32,
    greeted: bool,
    /// Time of our last claim of victory or a draw.
    last_claim: Option<Instant>,
    /// The account stream reported the end of the game; the game stream was reopened to confirm it.
    confirming_end: bool,
    trace: Trace,
    /// Event to send once the first move is being posted.
    started_event: Option<GameStarted>,
    /// The opponent of a game without a clock may answer soon: we have just moved, or the game has just begun.
    expects_quick_reply: bool,
    stage: Stage,
    exit: Option<ExitReason>,
    /// Status and winner of the finished game.
    final_status: Option<(Status, Option<Color>)>,
}

impl GameTask {
    fn new(
        ctx: AccountContext,
        id: GameId,
        info: Option<Box<GameInfo>>,
        status_cell: StatusCell,
    ) -> Self {
        let (client, game) = (ctx.client.clone(), id.clone());
        let mut game_stream = ReconnectingStream::new(ReconnectPolicy::game(), move |silence| {
            let (client, game) = (client.clone(), game.clone());
            async move { client.raw_game_stream(&game, silence).await }
        });
        let now = clock::now();
        if let Some(left) = info.as_deref().and_then(GameInfo::clock) {
            game_stream.cap_wait(max_stream_gap(left), now + 2 * left + CLOCK_SLACK);
        }
        let trace = ctx.traces.start(&id, now, || {
            let resumed = status_cell.snapshot().suspended.is_some();
            Header::new(&ctx.settings, &ctx.me, &id, info.as_deref(), resumed)
        });
        Self {
            core: GameCore::new(&ctx.settings, now),
            ctx,
            id,
            info,
            game_stream,
            in_flight: InFlight::None,
            pondering: Pondering::default(),
            post_began: now,
            side_requests: SpannedJoinSet::default(),
            timers: Timers::default(),
            rng: fastrand::Rng::new(),
            status_cell,
            wait_extensions: 0,
            greeted: false,
            last_claim: None,
            confirming_end: false,
            trace,
            started_event: None,
            expects_quick_reply: false,
            stage: Stage::Running,
            exit: None,
            final_status: None,
        }
    }

    /// Takes an event of the reconnecting stream.
    fn on_stream_event(&mut self, event: StreamEvent<Raw<GameEvent>>) {
        let arrived = clock::now();
        match event {
            StreamEvent::Opened => {
                debug!(game = %self.id, "stream open");
                self.core.on_stream_opened();
                self.trace(arrived, || Record::Note(STREAM_OPEN.to_owned()));
            }
            StreamEvent::Item(Raw { line, event }) => {
                self.trace(arrived, || Record::Line(line));
                self.on_event(event, arrived);
            }
            StreamEvent::Lost { error, wait } => {
                let why = error.map_or("it ended".into(), |error| error.to_string());
                warn!(name: "stream_lost", game = %self.id, "game stream lost; reopening in {wait:.1?}: {why}");
                self.trace(arrived, || {
                    Record::Note(format!(
                        "the stream is lost; reopening in {wait:.1?}: {why}"
                    ))
                });
            }
            StreamEvent::OpenFailed { error, wait } => {
                self.on_stream_refused(&error, wait);
                self.trace(arrived, || {
                    Record::Note(format!("the stream could not be opened: {error}"))
                });
            }
        }
        self.greet();
    }

    /// Takes a line of the stream.
    fn on_event(&mut self, event: GameEvent, arrived: Instant) {
        match event {
            GameEvent::Full(full) => self.on_full(*full, arrived),
            GameEvent::State(state) => self.on_state(&state, arrived, false),
            GameEvent::Chat(line) => self.on_chat(line, arrived),
            GameEvent::OpponentGone(gone) => self.on_opponent_gone(gone, arrived),
            GameEvent::Unknown(kind) => debug!(game = %self.id, kind, "unknown event"),
            GameEvent::Skipped(skipped) => {
                // The line may contain the opponent's move.
                warn!(game = %self.id, "unreadable line; reopening the stream: {}", skipped.why);
                self.game_stream.reset();
            }
        }
    }

    /// Adds a record to the trace.
    fn trace(&mut self, at: Instant, record: impl FnOnce() -> Record) {
        self.trace.note(at, record);
    }

    /// The stream was not opened. Only errors of Lichess itself end the game, not those of a proxy in front of it.
    fn on_stream_refused(&mut self, error: &Error, wait: Duration) {
        match error.lichess_code() {
            Some(404) => {
                warn!(game = %self.id, "the game does not exist; leaving it: {error}");
                if self.core.game().is_some() {
                    let (status, winner) = self
                        .end_by_account_stream()
                        .unwrap_or((Status::UnknownFinish, None));
                    self.finish(status, winner);
                }
                self.exit = Some(ExitReason::NotFound);
            }
            Some(400) if self.core.game().is_none() => {
                warn!(game = %self.id, "Lichess does not let us play; leaving the game: {error}");
                self.exit = Some(ExitReason::Unsupported);
            }
            _ => {
                if error.is_unauthorized() {
                    self.ctx.request_token_check();
                }
                warn!(game = %self.id, "cannot open the game stream; retrying in {wait:.1?}: {error}");
            }
        }
    }

    /// Takes the `gameFull` of a stream.
    fn on_full(&mut self, full: GameFull, arrived: Instant) {
        if self.core.game().is_none() {
            match GameHeader::read(&full, &self.ctx.me, self.info.as_deref()) {
                Ok(header) => self.start_game(header, &full, arrived),
                Err(unsupported) => return self.reject_unsupported(&unsupported),
            }
        }
        let (state, arrived) = self.core.on_full_state(full.state, arrived);
        self.on_state(&state, arrived, true);
    }

    fn start_game(&mut self, header: GameHeader, full: &GameFull, now: Instant) {
        let plies = full.state.moves().count();
        let mut started = header.started(full, plies);
        let (time, opponent) = (started.time_control, &header.opponent);
        if plies <= 1 {
            info!(name: "game_started", game = %self.id, "playing {} against {opponent}, {time}", header.us);
        } else {
            let moves = plural::count(plies.div_ceil(2), "move", "moves");
            info!(name: "game_resumed", game = %self.id, "resuming the game against {opponent}, {time}, after {moves}");
        }
        // A resumed game was greeted before.
        self.greeted = plies > 1 || header.tournament || header.against_ai;
        self.expects_quick_reply = plies <= 1;
        let suspended = self.status_cell.take_suspended();
        let mut announces = false;
        match suspended {
            // A suspended game was greeted and announced before.
            Some(_) => self.greeted = true,
            None => announces = true,
        }
        self.core
            .start(header, full, suspended.map(|suspended| *suspended));
        let facts = self.status_cell.snapshot().challenge_facts;
        self.core.apply_rules(&self.ctx.settings, facts);
        let terms = self.core.terms();
        started.engine.clone_from(&terms.engine);
        let engine = terms.engine.clone();
        self.status_cell.update(|snapshot| snapshot.engine = engine);
        self.started_event = announces.then_some(started);
        if let Some(rules) = &terms.rules {
            info!(game = %self.id, "settings of this game: {rules}");
        }
        if let Some(engine) = &terms.engine {
            info!(game = %self.id, "playing with the engine {engine}");
        }
        if let Some(said) = &terms.strength.description {
            info!(game = %self.id, "playing {said}");
        }
        self.trace
            .note(now, || Record::PlaySettings(Box::new(terms.clone())));
    }

    /// Aborts a game that cannot be played. If that fails, the game is left to the operator.
    fn reject_unsupported(&mut self, unsupported: &UnsupportedGame) {
        warn!(game = %self.id, "cannot play this game; aborting it: {unsupported}");
        let (client, id) = (self.ctx.client.clone(), self.id.clone());
        self.side_requests
            .spawn(SideResponse::of("abort", async move {
                let send = || client.abort(&id);
                let aborted = with_retries_within(ABORT_TIME, RequestKind::Command, send).await;
                aborted.inspect_err(|error| {
                    warn!(game = %id, "cannot abort the game; play it by hand: {error}");
                })
            }));
        self.exit = Some(ExitReason::Unsupported);
    }

    /// Takes a state of the game. `fresh`: it is in the first line of a new stream.
    fn on_state(&mut self, state: &GameState, arrived: Instant, fresh: bool) {
        let update = match self.core.on_state(state, arrived, fresh) {
            Ok(Some(update)) => update,
            Ok(None) => return,
            Err(invalid) => {
                warn!(game = %self.id, "{invalid}; reopening the stream");
                return self.game_stream.reset();
            }
        };
        let (action, moves_update) = (update.action, update.moves_update);
        let MovesUpdate {
            change,
            our_turn,
            over,
        } = moves_update;
        let changed = change != Change::Unchanged;
        if self.has_clock() {
            let both = state.time(Color::White) + state.time(Color::Black);
            let until = arrived + both + CLOCK_SLACK;
            self.game_stream
                .cap_wait(max_stream_gap(self.core.remaining()), until);
        }
        if update.echoed_at.is_some() {
            self.expects_quick_reply = true;
            self.detach_post();
        }
        if changed && !our_turn || over {
            self.pondering.search = None;
        }
        self.perform(action);

        // Nothing from here on delays our move.
        if let Some(started_event) = self.started_event.take() {
            self.ctx.events.send(Event::GameStarted(started_event));
        }
        if update.echoed_at.is_some() && !our_turn && !over {
            self.start_pondering();
        }
        let shown = self.core.finish_update(&update, state, arrived);
        self.publish_moves(change, state, shown);
        self.on_offers(state, changed);
        self.set_abort_timer(changed);
        self.set_suspend_timer(over);
        if changed {
            self.timers.claim = None;
        }
        if !our_turn {
            self.timers.flag_fall = None;
        }
        if over {
            self.finish(state.status, state.winner);
        } else if fresh {
            self.on_still_running();
        }
    }

    /// Returns whether the game is known to have a chess clock.
    fn has_clock(&self) -> bool {
        let game = self.core.game();
        game.is_some_and(|(header, _)| header.has_clock())
    }

    fn on_command(&mut self, command: GameCommand) {
        match command {
            GameCommand::Finished(info) => {
                self.info = Some(info);
                self.confirming_end = false;
                self.timers.final_state = Some(clock::now() + FINAL_STATE_TIMEOUT);
            }
            GameCommand::Resync => self.resync(Duration::ZERO),
            GameCommand::Recover => {
                self.trace(clock::now(), || Record::Recover);
                let action = self.core.recover();
                self.perform(action);
            }
            GameCommand::MoveNow => {
                info!(game = %self.id, "operator command: moving now");
                self.move_now();
            }
            GameCommand::Suspend if self.timers.suspend.is_some() => self.on_timer(Timer::Suspend),
            GameCommand::Suspend => {}
        }
    }

    /// Reopens the stream after a wait, unless it is being opened already. If it should have sent a line, stream and connection
    /// may be dead and are not reused.
    fn resync(&mut self, wait: Duration) {
        let Some((stream, _)) = self.game_stream.stream() else {
            return;
        };
        let last_heard = stream.last_activity().at();
        let (_, posted) = self.core.posts();
        let silent_since = posted.map_or(last_heard, |posted| posted.max(last_heard));
        if clock::since(silent_since) > STALE_STREAM_AFTER {
            stream.fail_over();
        }
        self.game_stream.reopen(wait);
    }

    /// Updates the status cell.
    fn publish_status(&self) {
        let activity = match &self.in_flight {
            InFlight::None => Activity::Listening,
            InFlight::Search(_) => Activity::Searching,
            InFlight::Post(_) => Activity::Posting,
            InFlight::Wait(_) => Activity::Waiting,
        };
        self.status_cell.update(|snapshot| {
            self.core.update_snapshot(snapshot);
            snapshot.activity = activity;
            snapshot.stream = self
                .game_stream
                .stream()
                .map(|(stream, since)| (since, stream.last_activity()));
        });
    }

    fn on_shutdown(&mut self, stage: Stage) {
        self.stage = stage;
        if stage == Stage::Leaving {
            self.move_now();
        }
    }

    fn move_now(&mut self) {
        if let InFlight::Search(search) = &mut self.in_flight {
            search.move_now();
            self.trace(clock::now(), || {
                Record::Note("the engine is told to move now".to_owned())
            });
        }
    }

    /// Traces the response to a side request.
    fn on_side_response(&mut self, response: Result<SideResponse, JoinError>) {
        if let Ok(response) = response {
            self.trace(clock::now(), || Record::Note(response.to_string()));
        }
    }

    /// Adds the last record to the trace.
    fn trace_end(&mut self, reason: ExitReason) {
        let text = match self.final_status {
            Some((status, winner)) => {
                let end = publish::game_finished(&self.id, None, status, winner, String::new());
                let board = self.core.game().map(|(_, game_moves)| game_moves.game());
                format!(
                    "{}: {}, {}",
                    reason.describe(),
                    end.reason(board),
                    end.result
                )
            }
            None => reason.describe().to_owned(),
        };
        self.trace(clock::now(), || Record::End(text));
    }

    /// The reason to end the task now, if any.
    fn exit_reason(&self) -> Option<ExitReason> {
        if self.exit.is_some() {
            return self.exit;
        }
        let game = self.core.game();
        let clocked = game.is_none_or(|(header, _)| header.has_clock());
        let pending = self.core.pending_move();
        let leave = match self.stage {
            Stage::Running => false,
            // Shutdown does not wait for a game without a clock.
            Stage::Draining => !clocked && !pending.is_pending(),
            Stage::Leaving => !pending.is_pending() || pending.awaits_echo(),
        };
        leave.then_some(ExitReason::ShutDown)
    }
}
