//! Task of one arena: polls its state and does what [`next_action`] says, until it is over.

mod refusal;
mod slot_need;

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::ArenaEvent;
use crate::bot::AccountContext;
use crate::bot::account::quota::JoinRequest;
use crate::bot::commands::{CommandResult, Responder};
use crate::bot::shutdown::Stage;
use crate::clock;
use crate::config::ArenaEntry;
use crate::events::{self, ArenaStage, Event};
use crate::lichess::Error;
use crate::lichess::model::{Arena, ArenaId};
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::plural;
use refusal::{JoinRefusal, REFUSED_POLL_INTERVAL, refused_poll_interval};
use slot_need::{SlotNeed, current_slot_need, initial_slot_need, unreachable_slot_need};

/// Time until a withdrawal that has failed is repeated.
const WITHDRAWAL_INTERVAL: Duration = Duration::from_secs(60);

/// Withdrawals repeated at most while the bot drains.
const MAX_WITHDRAWALS_AT_SHUTDOWN: u32 = 10;

/// Interval between polls of an arena that the account has joined.
const JOINED_POLL_INTERVAL: Duration = Duration::from_secs(20);

/// Limits of the interval before the start, which is half of the time left.
const MIN_POLL_INTERVAL: Duration = Duration::from_secs(5);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(300);

/// Wait after a failed request.
const FAILURE_RETRY_WAIT: Duration = Duration::from_secs(15);

/// Wait for a pause that Lichess does not put a number to.
const UNNAMED_PAUSE_WAIT: Duration = Duration::from_secs(10);

/// Wait before rejoining after the second withdrawal that was not ours; grows by as much with each further one.
const REJOIN_STEP: Duration = Duration::from_secs(30);

/// The period of an arena in which the account cannot take part yet.
const NEVER: Range<i64> = 0..0;

/// Reason why the account does not take part.
const NO_BOTS: &str = "it does not allow bots";

/// Part of Lichess's message when too many arenas were joined.
const TOO_MANY_JOINS_TEXT: &str = "joining too many tournaments";

/// Next action for an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// Poll again after this time.
    Wait(Duration),
    Join,
    /// Bots are not allowed yet: poll again after this time.
    AwaitBots(Duration),
    /// The arena is over.
    Done,
    /// The account cannot take part, for this reason.
    Reject(String),
}

/// Why the task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExitReason {
    /// The arena is over, or the account cannot take part.
    Done,
    /// The operator has left the arena.
    Leave,
    Shutdown,
}

/// State kept between polls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Observations {
    /// Withdrawals that were not requested by us.
    withdrawn: u32,
    /// The account was seen as a player since the last join.
    seen: bool,
    /// It was logged that the arena does not allow bots.
    no_bots: bool,
}

/// Decides what to do.
fn next_action(arena: &Arena, observations: &mut Observations) -> Action {
    if arena.finished {
        return Action::Done;
    }
    if arena.variant.rules().is_none() {
        return Action::Reject(format!("we do not play {}", arena.variant));
    }
    if !arena.bots_allowed {
        return match arena.starts_in {
            Some(left) => Action::AwaitBots(refused_poll_interval(left)),
            None => Action::Reject(NO_BOTS.to_owned()),
        };
    }
    match arena.me {
        None => Action::Join,
        Some(me) => match me.pause {
            Some(pause) if me.withdrawn => Action::Wait(pause + Duration::from_secs(1)),
            _ if !me.withdrawn => {
                observations.seen = true;
                Action::Wait(poll_interval(arena))
            }
            _ if std::mem::take(&mut observations.seen) => {
                observations.withdrawn += 1;
                match observations.withdrawn {
                    1 => Action::Join,
                    times => Action::Wait(REJOIN_STEP * (times - 1).min(10)),
                }
            }
            _ => Action::Join,
        },
    }
}

/// Interval between polls of an arena that the account has joined.
fn poll_interval(arena: &Arena) -> Duration {
    match arena.starts_in {
        Some(left) => (left / 2).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL),
        None => JOINED_POLL_INTERVAL,
    }
}

/// Returns whether two times are the same, given that Lichess reports whole seconds from now.
fn are_close(one: SystemTime, other: SystemTime) -> bool {
    let apart = one.duration_since(other);
    apart.unwrap_or_else(|error| error.duration()) < MIN_POLL_INTERVAL
}

/// Task of an arena that the account takes part in.
pub(super) struct ArenaTask {
    ctx: AccountContext,
    id: ArenaId,
    joining: watch::Receiver<ArenaEntry>,
    arena_events: mpsc::UnboundedSender<ArenaEvent>,
    /// Command that has asked for the join and waits for the response.
    responder: Option<Responder>,
    observations: Observations,
    /// The arena has refused the account and not admitted it since.
    refusal: Option<JoinRefusal>,
    /// Whether the account is a player, as far as is known.
    joined: bool,
    /// The state was read since the start of this task: an earlier one that crashed may have joined the arena.
    known: bool,
    /// The arena was found by discovery.
    found: bool,
    slot_need: SlotNeed,
    /// Last published status.
    status: watch::Sender<Option<events::Arena>>,
    /// Start and end in milliseconds since 1970, once the page was read.
    period: watch::Sender<Option<Range<i64>>>,
}

impl ArenaTask {
    pub(super) fn new(
        ctx: AccountContext,
        joining: watch::Receiver<ArenaEntry>,
        arena_events: mpsc::UnboundedSender<ArenaEvent>,
        found: bool,
        status: watch::Sender<Option<events::Arena>>,
        period: watch::Sender<Option<Range<i64>>>,
        responder: Option<Responder>,
    ) -> Self {
        let id = joining.borrow().id.clone();
        Self {
            id,
            ctx,
            joining,
            arena_events,
            responder,
            observations: Observations::default(),
            refusal: None,
            joined: false,
            known: false,
            found,
            slot_need: SlotNeed::None,
            status,
            period,
        }
    }

    /// Takes part until the arena is over, is left by the operator, or shutdown begins.
    pub(super) async fn run(
        mut self,
        wake: Arc<Notify>,
        leave: CancellationToken,
        mut paused: watch::Receiver<bool>,
    ) {
        let mut shutdown = self.ctx.shutdown.clone();
        let end = loop {
            // A paused bot must not be paired.
            if *paused.borrow_and_update() {
                self.respond(Ok("it will be joined when the bot resumes".to_owned()));
                self.withdraw_if_joined().await;
                let text = match self.joined {
                    true => "paused, but still in the arena: the withdrawal has failed",
                    false => "out until the bot resumes",
                };
                self.update_status(|arena| arena.text = text.to_owned());
                tokio::select! {
                    _ = paused.changed() => continue,
                    () = clock::sleep(WITHDRAWAL_INTERVAL), if self.joined => continue,
                    () = leave.cancelled() => break ExitReason::Leave,
                    () = shutdown.reached(Stage::Draining) => break ExitReason::Shutdown,
                }
            }
            let wait = tokio::select! {
                wait = self.poll() => wait,
                () = leave.cancelled() => break ExitReason::Leave,
                () = shutdown.reached(Stage::Draining) => break ExitReason::Shutdown,
            };
            let Some(wait) = wait else {
                self.joined = false;
                break ExitReason::Done;
            };
            tokio::select! {
                () = clock::sleep(wait) => {}
                () = wake.notified() => {}
                _ = paused.changed() => {}
                () = leave.cancelled() => break ExitReason::Leave,
                () = shutdown.reached(Stage::Draining) => break ExitReason::Shutdown,
            }
        };
        let was_joined = self.joined;
        self.withdraw_if_joined().await;
        let mut while_draining = 0;
        while was_joined
            && self.joined
            && end != ExitReason::Done
            && while_draining < MAX_WITHDRAWALS_AT_SHUTDOWN
        {
            tokio::select! {
                () = clock::sleep(WITHDRAWAL_INTERVAL) => self.withdraw_if_joined().await,
                () = shutdown.reached(Stage::Leaving) => break,
            }
            while_draining += u32::from(shutdown.stage() != Stage::Running);
        }
        self.update_status(|arena| {
            if end != ExitReason::Done && arena.stage != ArenaStage::Over {
                arena.text = "left".to_owned();
            }
            arena.stage = ArenaStage::Over;
        });
        if end != ExitReason::Shutdown {
            let _ = self
                .arena_events
                .send(ArenaEvent::Finished(self.id.clone()));
        }
    }

    /// Withdraws, so that there are no more pairings.
    async fn withdraw_if_joined(&mut self) {
        self.set_slot_need(SlotNeed::None);
        self.observations.seen = false;
        if self.joined || !self.known {
            let is_out = self.withdraw().await;
            self.known |= is_out;
            self.joined = !is_out;
        }
    }

    /// Responds to the command that has asked for the join.
    fn respond(&mut self, answer: CommandResult) {
        if let Some(responder) = self.responder.take() {
            responder.respond(answer);
        }
    }

    /// Publishes the state of the arena and what is being done.
    fn publish(&mut self, arena: &Arena, text: impl Into<String>) {
        let stage = match arena.starts_in {
            _ if arena.finished => ArenaStage::Over,
            Some(_) => ArenaStage::Planned,
            None => ArenaStage::Running,
        };
        let me = arena.me.filter(|_| stage != ArenaStage::Planned);
        let begins = |left| clock::date() + left;
        self.publish_if_changed(events::Arena {
            id: arena.id.to_string(),
            name: arena.name.clone(),
            stage,
            starts: arena.starts_in.map(begins),
            rank: me.map(|me| me.rank),
            players: arena.players,
            text: text.into(),
        });
    }

    /// Publishes when the arena takes place. One that does not admit the account keeps no other one away.
    fn publish_period(&self, arena: &Arena) {
        let may_admit = arena.bots_allowed && self.refusal.is_none();
        let period = match self.joined || may_admit {
            true => arena.period(),
            false => NEVER,
        };
        self.period.send_replace(Some(period));
    }

    /// Publishes the last status with changes.
    fn update_status(&mut self, change: impl FnOnce(&mut events::Arena)) {
        let last = self.status.borrow().clone();
        if let Some(mut arena) = last {
            change(&mut arena);
            self.publish_if_changed(arena);
        }
    }

    /// Publishes a status if it differs from the last one.
    fn publish_if_changed(&mut self, mut arena: events::Arena) {
        if let Some(last) = &*self.status.borrow() {
            let both = last.starts.zip(arena.starts);
            if both.is_some_and(|(before, now)| are_close(before, now)) {
                arena.starts = last.starts;
            }
            if *last == arena {
                return;
            }
        }
        self.ctx.events.send(Event::Arena(arena.clone()));
        self.status.send_replace(Some(arena));
    }

    /// Reads the state and acts on it. Returns the wait before the next poll; `None` at the end.
    async fn poll(&mut self) -> Option<Duration> {
        let id = self.id.clone();
        let arena = match self.ctx.client.arena(&id).await {
            Ok(arena) => arena,
            Err(failure) if failure.is_not_found() => {
                warn!(arena = %id, "there is no such arena");
                self.known = true;
                self.update_status(|arena| arena.text = "the arena no longer exists".to_owned());
                self.respond(Err(format!("there is no arena {id}").into()));
                return None;
            }
            Err(failure) => {
                self.set_slot_need(unreachable_slot_need(self.slot_need, self.known));
                info!(arena = %id, "cannot read the arena: {failure}");
                self.respond(Ok(format!(
                    "cannot read the arena yet; trying again: {failure}"
                )));
                return Some(if self.known {
                    FAILURE_RETRY_WAIT
                } else {
                    MIN_POLL_INTERVAL
                });
            }
        };
        self.known = true;
        self.joined = arena.me.is_some_and(|me| !me.withdrawn);
        self.publish_period(&arena);
        self.set_slot_need(current_slot_need(&arena));
        match next_action(&arena, &mut self.observations) {
            Action::Wait(wait) => {
                self.respond(Ok(format!("we are in {}", arena.name)));
                let text = match self.joined {
                    true => "we are in it",
                    false => "we were withdrawn, and come back soon",
                };
                self.publish(&arena, text);
                Some(wait)
            }
            Action::Join => self.join(&arena).await,
            Action::AwaitBots(wait) => {
                self.await_bots(&arena);
                Some(wait)
            }
            Action::Done => {
                self.report_result(&arena).await;
                None
            }
            Action::Reject(why) => {
                warn!(arena = %id, "not joining {}: {why}", arena.name);
                self.respond(Err(format!("{}: {why}", arena.name).into()));
                self.publish(&arena, format!("not joining: {why}"));
                None
            }
        }
    }

    /// Reports that the arena does not allow bots. Its organizer may allow them until it starts.
    fn await_bots(&mut self, arena: &Arena) {
        let (id, name) = (&arena.id, &arena.name);
        if !std::mem::replace(&mut self.observations.no_bots, true) {
            warn!(arena = %id, "not joining {name}: {NO_BOTS}; looking again every minute until it starts");
        }
        self.respond(Ok(format!(
            "not joining {name} yet: {NO_BOTS}; looking again until it starts"
        )));
        self.publish(
            arena,
            format!("not joining yet, looking again until it starts: {NO_BOTS}"),
        );
    }

    async fn join(&mut self, arena: &Arena) -> Option<Duration> {
        let wait = self
            .refusal
            .as_ref()
            .and_then(|refusal| refusal.wait(arena, &self.joining.borrow(), clock::now()));
        if wait.is_some() {
            return wait;
        }
        if let Some(wait) = self.quota_wait(arena).await {
            return Some(wait);
        }
        // Until the response is read the account may be a player.
        self.joined = true;
        self.set_slot_need(initial_slot_need(arena));
        let joining = self.joining.borrow_and_update().clone();
        let (team, password) = (joining.team.as_deref(), joining.password.as_deref());
        let answer = self.ctx.client.join_arena(&arena.id, team, password).await;
        match answer {
            Ok(()) => Some(self.on_joined(arena)),
            Err(failure) => self.on_join_failed(arena, joining, &failure).await,
        }
    }

    /// Reports that the arena was joined. Returns the wait before the next poll.
    fn on_joined(&mut self, arena: &Arena) -> Duration {
        let (id, name) = (&arena.id, &arena.name);
        self.refusal = None;
        self.publish_period(arena);
        let begins = match arena.starts_in {
            Some(left) => format!(", which begins in {} min", left.as_secs().div_ceil(60)),
            None => String::new(),
        };
        self.respond(Ok(format!("joined {name}{begins}")));
        self.publish(arena, "joined");
        match self.observations.withdrawn {
            0 => info!(name: "arena_joined", arena = %id, "joined {name}"),
            _ => info!(arena = %id, "rejoined {name} after Lichess withdrew us"),
        }
        poll_interval(arena)
    }

    /// Decides what follows a failed join, and reports it. Returns the wait before the next poll; `None` to give up.
    async fn on_join_failed(
        &mut self,
        arena: &Arena,
        joining: ArenaEntry,
        failure: &Error,
    ) -> Option<Duration> {
        let (id, name) = (&arena.id, &arena.name);
        self.joined = failure.may_have_worked();
        if !self.joined {
            self.set_slot_need(SlotNeed::None);
        }
        let refused = failure.lichess_code() == Some(400);
        if refused && failure.to_string().contains("pause") {
            info!(arena = %id, "Lichess pauses us in {name}; joining again in {} s", UNNAMED_PAUSE_WAIT.as_secs());
            self.respond(Ok(format!(
                "back in {name} after the pause that Lichess wants"
            )));
            self.publish(arena, "back after the pause that Lichess wants");
            return Some(UNNAMED_PAUSE_WAIT);
        }
        if !refused {
            warn!(arena = %id, "cannot join {name}: {failure}");
            self.respond(Ok(format!(
                "cannot join {name} yet, trying again: {failure}"
            )));
            self.publish(arena, format!("cannot join yet, trying again: {failure}"));
            return match retry::decide(RequestKind::Arena, failure, 0) {
                Retry::After(wait) => Some(wait.max(FAILURE_RETRY_WAIT)),
                Retry::GiveUp => Some(REFUSED_POLL_INTERVAL),
            };
        }
        if failure.to_string().contains(TOO_MANY_JOINS_TEXT) {
            let _ = self.arena_events.send(ArenaEvent::TooManyJoins);
            return self.quota_wait(arena).await.or(Some(REFUSED_POLL_INTERVAL));
        }
        let why = match &arena.unmet_requirements[..] {
            [] => failure.to_string(),
            some => format!("{failure} ({})", some.join("; ")),
        };
        self.on_refused(arena, joining, &why)
    }

    /// Tries again until the arena starts, then gives up.
    fn on_refused(&mut self, arena: &Arena, joining: ArenaEntry, why: &str) -> Option<Duration> {
        let (id, name) = (&arena.id, &arena.name);
        match arena.starts_in {
            None => {
                warn!(arena = %id, "not joining {name}: {why}");
                self.respond(Err(format!("{name} refuses us: {why}").into()));
                self.publish(arena, format!("refuses us: {why}"));
                None
            }
            Some(left) => {
                let now = clock::now();
                let refusal = JoinRefusal::next(self.refusal.as_ref(), arena, joining, now);
                let wait = refusal.again.saturating_duration_since(now);
                let minutes = wait.min(left).as_secs().div_ceil(60);
                self.refusal = Some(refusal);
                self.publish_period(arena);
                warn!(arena = %id, "{name} refuses us; trying again in {minutes} min, or when its conditions change: {why}");
                self.respond(Ok(format!(
                    "{name} refuses us; trying again until it starts: {why}"
                )));
                self.publish(arena, format!("refuses us; trying again: {why}"));
                Some(refused_poll_interval(left))
            }
        }
    }

    /// Asks the quota for another join. Returns the wait if it is refused.
    async fn quota_wait(&mut self, arena: &Arena) -> Option<Duration> {
        let entry = JoinRequest {
            first: arena.me.is_none(),
            by_lichess: arena.by_lichess,
            discovered: self.found,
            refused: self.refusal.is_some(),
        };
        let (responder, answer) = oneshot::channel();
        let _ = self
            .arena_events
            .send(ArenaEvent::MayJoin(entry, responder));
        // The account answers at once while it exists.
        let until = answer.await.ok()?.err()?;
        let wait = until.duration_since(clock::date()).unwrap_or_default();
        let text = format!(
            "joining it when Lichess lets us join more arenas, at {}",
            clock::format_date(until)
        );
        info!(arena = %arena.id, "{}: {text}", arena.name);
        self.set_slot_need(SlotNeed::None);
        self.respond(Ok(format!("{}: {text}", arena.name)));
        self.publish(arena, text);
        Some(wait.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL))
    }

    /// Withdraws, so that no opponent waits for us. Whether the account is certainly out.
    async fn withdraw(&self) -> bool {
        let id = &self.id;
        let mut attempt = 0;
        loop {
            match self.ctx.client.leave_arena(id).await {
                Ok(()) => {
                    info!(arena = %id, "withdrawn");
                    return true;
                }
                Err(failure) if failure.is_not_found() => {
                    return true;
                }
                Err(failure) => match retry::decide(RequestKind::Withdrawal, &failure, attempt) {
                    Retry::After(wait) => clock::sleep(wait).await,
                    Retry::GiveUp => {
                        warn!(arena = %id, "cannot withdraw: {failure}");
                        return false;
                    }
                },
            }
            attempt += 1;
        }
    }

    /// Reports the result of an arena that is over.
    async fn report_result(&mut self, arena: &Arena) {
        let (id, name) = (&arena.id, &arena.name);
        let Some(me) = arena.me else {
            info!(name: "arena_finished", arena = %id, "{name}: it is over");
            self.publish(arena, "over");
            return self.respond(Err(format!("{name} is over").into()));
        };
        // All lines down to ours.
        let results = self.ctx.client.arena_results(id, me.rank).await;
        let mine = results.map(|lines| {
            let mut lines = lines.into_iter();
            lines.find(|line| line.username == self.ctx.me)
        });
        let mut text = format!("number {} of {}", me.rank, arena.players);
        match mine {
            Ok(Some(mine)) => {
                let points = plural::count(mine.score, "point", "points");
                text += &format!(" with {points}");
                if let Some(performance) = mine.performance {
                    text += &format!(", performance {performance}");
                }
            }
            Ok(None) => {}
            Err(failure) => info!(arena = %id, "cannot read the results: {failure}"),
        }
        self.publish(arena, text.clone());
        let text = format!("{name} is over: {text}");
        info!(name: "arena_finished", arena = %id, "{text}");
        self.ctx.events.send(Event::note(text.clone()));
        self.respond(Err(text.into()));
    }

    fn set_slot_need(&mut self, need: SlotNeed) {
        if std::mem::replace(&mut self.slot_need, need) == need {
            return;
        }
        let id = self.id.clone();
        // Nobody listens after the account task has ended.
        let _ = self.arena_events.send(match need {
            SlotNeed::None => ArenaEvent::SlotFree(id),
            SlotNeed::Start(at) => ArenaEvent::StartsAt(id, at),
            SlotNeed::Slot => ArenaEvent::SlotNeeded(id),
        });
    }
}

#[cfg(test)]
mod tests;
