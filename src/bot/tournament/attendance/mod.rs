//! One arena: asks Lichess how things stand and does the one thing that [`next`] says, until it is over.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Word;
use crate::bot::AccountContext;
use crate::bot::account::quota::Entry;
use crate::bot::commands::{Answer, Reply};
use crate::bot::shutdown::{ShutdownSignal, Stage};
use crate::clock;
use crate::config::ArenaEntry;
use crate::events::{self, ArenaStage, Event};
use crate::lichess::model::{Arena, ArenaId, Variant};
use crate::lichess::retry::{self, RequestKind, Retry};
use crate::plural;

/// How often an arena that we are in is looked at.
const WATCH_EVERY: Duration = Duration::from_secs(20);

/// Before the start it is looked at when half of the time has passed, but at most and at least so often.
const LOOK_OFTEN: Duration = Duration::from_secs(5);
const LOOK_SELDOM: Duration = Duration::from_secs(300);

/// An arena that has refused us is looked at this often until it has begun, and joined as soon as what speaks against us, or
/// what we join with, is different.
const REFUSED: Duration = Duration::from_secs(60);

/// It is also joined after this, then after twice this, ...: its password may have been changed. Lichess counts refused
/// joins, too.
const JOIN_AGAIN: Duration = Duration::from_secs(600);

/// ... and after this at most.
const JOIN_AGAIN_AT_MOST: Duration = Duration::from_secs(3_600);

/// After a failure of the network or of Lichess.
const FAILED: Duration = Duration::from_secs(15);

/// A pause that Lichess does not put a number to.
const PAUSE: Duration = Duration::from_secs(10);

/// Coming back after the second withdrawal that was not ours takes this much longer than after the first, and so on.
const COMING_BACK: Duration = Duration::from_secs(30);

/// Lichess's words for who joins too many for the first time.
const TOO_MANY: &str = "joining too many tournaments";

/// From then on before the start a slot is kept.
const SOON: Duration = Duration::from_secs(60);

/// What is to be done about an arena.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing now; look again after this.
    Wait(Duration),
    Join,
    /// It is over.
    Done,
    /// We cannot take part, and why.
    Never(String),
}

/// Why there is nothing more to do in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It is over, or we cannot take part.
    Done,
    /// The operator wants us out of it.
    Leave,
    /// We stop.
    ShutdownSignal,
}

/// What is remembered from one look to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Memory {
    /// How often we were withdrawn without having asked for it.
    withdrawn: u32,
    /// We were seen in it since we joined last.
    seen: bool,
}

/// An arena has refused us.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Refusal {
    /// With what we have tried to join.
    joining: ArenaEntry,
    /// The reasons against us on its page.
    reasons: Vec<String>,
    /// How often it has refused us.
    times: u32,
    /// When we try again though nothing is different.
    again: Instant,
}

impl Refusal {
    /// How long to wait before anything is different, if nothing is now. The last try is at the start.
    fn wait(&self, arena: &Arena, joining: &ArenaEntry, now: Instant) -> Option<Duration> {
        let starts_in = arena.starts_in?;
        let same = self.reasons == arena.unmet_requirements && self.joining == *joining;
        let left = self.again.saturating_duration_since(now);
        let start = starts_in + Duration::from_secs(1);
        (same && !left.is_zero()).then(|| REFUSED.min(left).min(start))
    }

    /// It has refused us once more.
    fn next(before: Option<&Self>, arena: &Arena, joining: ArenaEntry, now: Instant) -> Self {
        let times = before.map_or(0, |before| before.times).saturating_add(1);
        let wait = JOIN_AGAIN * (1 << (times - 1).min(10));
        Self {
            joining,
            reasons: arena.unmet_requirements.clone(),
            times,
            again: now + wait.min(JOIN_AGAIN_AT_MOST),
        }
    }
}

/// What to do, from how things stand.
fn next(arena: &Arena, memory: &mut Memory) -> Step {
    if arena.finished {
        return Step::Done;
    }
    if !arena.bots_allowed {
        return Step::Never("it does not allow bots".to_owned());
    }
    let playable = [Variant::Standard, Variant::Chess960, Variant::FromPosition];
    if !playable.contains(&arena.variant) {
        return Step::Never(format!("we do not play {}", arena.variant));
    }
    match arena.me {
        None => Step::Join,
        Some(me) => match me.pause {
            Some(pause) if me.withdrawn => Step::Wait(pause + Duration::from_secs(1)),
            _ if !me.withdrawn => {
                memory.seen = true;
                Step::Wait(patience(arena))
            }
            _ if std::mem::take(&mut memory.seen) => {
                memory.withdrawn += 1;
                match memory.withdrawn {
                    1 => Step::Join,
                    times => Step::Wait(COMING_BACK * (times - 1).min(10)),
                }
            }
            _ => Step::Join,
        },
    }
}

/// How long to wait in an arena that we are in.
fn patience(arena: &Arena) -> Duration {
    match arena.starts_in {
        Some(left) => (left / 2).clamp(LOOK_OFTEN, LOOK_SELDOM),
        None => WATCH_EVERY,
    }
}

/// What the account holds ready for an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Nothing,
    /// Nothing of its own seeking lasts longer than until then, when it begins.
    Start(Instant),
    /// A slot: the next game may come at any moment.
    Slot,
}

/// What an arena needs that we are in, or about to join.
fn needs(arena: &Arena) -> Hold {
    match arena.starts_in {
        Some(left) if left > SOON => Hold::Start(clock::now() + left),
        _ => Hold::Slot,
    }
}

/// What an arena needs as things stand.
fn needs_now(arena: &Arena) -> Hold {
    match arena.me {
        Some(me) if !me.withdrawn && !arena.finished => needs(arena),
        _ => Hold::Nothing,
    }
}

/// What an arena needs that cannot be looked at, where so much was held ready for it: once it begins, or where nothing is known
/// of it, a game may come at any moment.
fn needs_unseen(held: Hold, known: bool) -> Hold {
    match held {
        _ if !known => Hold::Slot,
        Hold::Start(at) if at <= clock::now() + SOON => Hold::Slot,
        held => held,
    }
}

/// Whether these are the same moment, as far as Lichess tells it by whole seconds from now on.
fn are_close(one: SystemTime, other: SystemTime) -> bool {
    let apart = one.duration_since(other);
    apart.unwrap_or_else(|error| error.duration()) < LOOK_OFTEN
}

/// One arena that we take part in.
pub(super) struct ArenaTask {
    house: AccountContext,
    id: ArenaId,
    joining: watch::Receiver<ArenaEntry>,
    words: mpsc::UnboundedSender<Word>,
    /// Who has told us to join and waits for what comes of it.
    reply: Option<Reply>,
    memory: Memory,
    /// It has refused us, and not let us in since.
    refusal: Option<Refusal>,
    /// We are in it, as far as we know.
    joined: bool,
    /// Lichess has said how things stand since we started: a life of ours that ended in a crash may have joined it.
    known: bool,
    /// Nobody has named it.
    found: bool,
    /// What the account holds ready for it.
    held: Hold,
    /// What was told of it last.
    shown: watch::Sender<Option<events::Arena>>,
}

impl ArenaTask {
    pub fn new(
        house: AccountContext,
        joining: watch::Receiver<ArenaEntry>,
        words: mpsc::UnboundedSender<Word>,
        found: bool,
        shown: watch::Sender<Option<events::Arena>>,
        reply: Option<Reply>,
    ) -> Self {
        let id = joining.borrow().id.clone();
        Self {
            id,
            house,
            joining,
            words,
            reply,
            memory: Memory::default(),
            refusal: None,
            joined: false,
            known: false,
            found,
            held: Hold::Nothing,
            shown,
        }
    }

    /// Takes part until it is over, we are to leave it, or to stop.
    pub async fn attend(
        mut self,
        nudge: Arc<Notify>,
        leave: CancellationToken,
        mut paused: watch::Receiver<bool>,
        mut stop: ShutdownSignal,
    ) {
        let end = loop {
            // Whoever takes no new games is not to be paired.
            if *paused.borrow_and_update() {
                self.told(Ok("it is joined as soon as the bot resumes".to_owned()));
                self.step_out().await;
                self.retell(|told| told.text = "out until the bot resumes".to_owned());
                tokio::select! {
                    _ = paused.changed() => continue,
                    () = leave.cancelled() => break End::Leave,
                    () = stop.reached(Stage::Draining) => break End::ShutdownSignal,
                }
            }
            let wait = tokio::select! {
                wait = self.look() => wait,
                () = leave.cancelled() => break End::Leave,
                () = stop.reached(Stage::Draining) => break End::ShutdownSignal,
            };
            let Some(wait) = wait else {
                self.joined = false;
                break End::Done;
            };
            tokio::select! {
                () = clock::sleep(wait) => {}
                () = nudge.notified() => {}
                _ = paused.changed() => {}
                () = leave.cancelled() => break End::Leave,
                () = stop.reached(Stage::Draining) => break End::ShutdownSignal,
            }
        };
        self.step_out().await;
        self.retell(|told| {
            if end != End::Done && told.stage != ArenaStage::Over {
                told.text = "left".to_owned();
            }
            told.stage = ArenaStage::Over;
        });
        if end != End::ShutdownSignal {
            let _ = self.words.send(Word::Over(self.id.clone()));
        }
    }

    /// No pairings from now on.
    async fn step_out(&mut self) {
        self.hold(Hold::Nothing);
        self.memory.seen = false;
        if std::mem::take(&mut self.joined) || !self.known {
            self.known |= self.withdraw().await;
        }
    }

    /// Who has told us to join hears what came of it.
    fn told(&mut self, answer: Answer) {
        if let Some(reply) = self.reply.take() {
            reply.give(answer);
        }
    }

    /// Whoever watches is told how things stand and what we do about it.
    fn tell(&mut self, arena: &Arena, text: impl Into<String>) {
        let stage = match arena.starts_in {
            _ if arena.finished => ArenaStage::Over,
            Some(_) => ArenaStage::Planned,
            None => ArenaStage::Running,
        };
        let me = arena.me.filter(|_| stage != ArenaStage::Planned);
        let begins = |left| clock::date() + left;
        self.show(events::Arena {
            id: arena.id.to_string(),
            name: arena.name.clone(),
            stage,
            starts: arena.starts_in.map(begins),
            rank: me.map(|me| me.rank),
            players: arena.players,
            text: text.into(),
        });
    }

    /// The same arena, of which there is something else to tell.
    fn retell(&mut self, change: impl FnOnce(&mut events::Arena)) {
        let told = self.shown.borrow().clone();
        if let Some(mut arena) = told {
            change(&mut arena);
            self.show(arena);
        }
    }

    /// The same as the last time is not told again.
    fn show(&mut self, mut arena: events::Arena) {
        if let Some(told) = &*self.shown.borrow() {
            let both = told.starts.zip(arena.starts);
            if both.is_some_and(|(before, now)| are_close(before, now)) {
                arena.starts = told.starts;
            }
            if *told == arena {
                return;
            }
        }
        self.house.events.send(Event::Arena(arena.clone()));
        self.shown.send_replace(Some(arena));
    }

    /// Looks how things stand and does what is to be done. How long to wait then; nothing when all is done.
    async fn look(&mut self) -> Option<Duration> {
        let id = self.id.clone();
        let arena = match self.house.client.arena(&id).await {
            Ok(arena) => arena,
            Err(failure) if failure.lichess_error().is_some_and(|no| no.code == 404) => {
                warn!(arena = %id, "there is no such arena");
                self.known = true;
                self.retell(|told| told.text = "it is no longer there".to_owned());
                self.told(Err(format!("there is no arena {id}").into()));
                return None;
            }
            Err(failure) => {
                self.hold(needs_unseen(self.held, self.known));
                info!(arena = %id, "cannot look at the arena: {failure}");
                self.told(Ok(format!(
                    "cannot look at it yet, trying again: {failure}"
                )));
                return Some(if self.known { FAILED } else { LOOK_OFTEN });
            }
        };
        self.known = true;
        self.joined = arena.me.is_some_and(|me| !me.withdrawn);
        self.hold(needs_now(&arena));
        match next(&arena, &mut self.memory) {
            Step::Wait(wait) => {
                self.told(Ok(format!("we are in {}", arena.name)));
                let text = match self.joined {
                    true => "we are in it",
                    false => "we were withdrawn, and come back soon",
                };
                self.tell(&arena, text);
                Some(wait)
            }
            Step::Join => self.join(&arena).await,
            Step::Done => {
                self.report(&arena).await;
                None
            }
            Step::Never(why) => {
                warn!(arena = %id, "not joining {}: {why}", arena.name);
                self.told(Err(format!("{}: {why}", arena.name).into()));
                self.tell(&arena, format!("not joining: {why}"));
                None
            }
        }
    }

    async fn join(&mut self, arena: &Arena) -> Option<Duration> {
        let (id, name) = (&arena.id, &arena.name);
        let wait = self
            .refusal
            .as_ref()
            .and_then(|refusal| refusal.wait(arena, &self.joining.borrow(), clock::now()));
        if wait.is_some() {
            return wait;
        }
        if let Some(wait) = self.quota_waits(arena).await {
            return Some(wait);
        }
        // Until the answer is read we have to reckon with being in it.
        self.joined = true;
        self.hold(needs(arena));
        let joining = self.joining.borrow_and_update().clone();
        let client = &self.house.client;
        let answer = client
            .join_arena(id, joining.team.as_deref(), joining.password.as_deref())
            .await;
        let Err(failure) = answer else {
            self.refusal = None;
            let begins = match arena.starts_in {
                Some(left) => format!(", which begins in {} min", left.as_secs().div_ceil(60)),
                None => String::new(),
            };
            self.told(Ok(format!("joined {name}{begins}")));
            self.tell(arena, "joined");
            match self.memory.withdrawn {
                0 => info!(arena = %id, "joined {name}"),
                _ => info!(arena = %id, "back in {name}, from which we had been withdrawn"),
            }
            return Some(patience(arena));
        };
        self.joined = failure.may_have_worked();
        if !self.joined {
            self.hold(Hold::Nothing);
        }
        let refused = failure.lichess_error().is_some_and(|no| no.code == 400);
        if refused && failure.to_string().contains("pause") {
            info!(arena = %id, "back in {name} after the pause");
            self.told(Ok(format!(
                "back in {name} after the pause that Lichess wants"
            )));
            self.tell(arena, "back after the pause that Lichess wants");
            return Some(PAUSE);
        }
        if !refused {
            warn!(arena = %id, "cannot join {name}: {failure}");
            self.told(Ok(format!(
                "cannot join {name} yet, trying again: {failure}"
            )));
            self.tell(arena, format!("cannot join yet, trying again: {failure}"));
            return match retry::decide(RequestKind::Arena, &failure, 0) {
                Retry::After(wait) => Some(wait.max(FAILED)),
                Retry::GiveUp => Some(REFUSED),
            };
        }
        if failure.to_string().contains(TOO_MANY) {
            let _ = self.words.send(Word::TooMany);
            return self.quota_waits(arena).await.or(Some(REFUSED));
        }
        let why = match &arena.unmet_requirements[..] {
            [] => failure.to_string(),
            some => format!("{failure} ({})", some.join("; ")),
        };
        match arena.starts_in {
            None => {
                warn!(arena = %id, "not joining {name}: {why}");
                self.told(Err(format!("{name} does not take us: {why}").into()));
                self.tell(arena, format!("does not take us: {why}"));
                None
            }
            Some(left) => {
                let now = clock::now();
                let refusal = Refusal::next(self.refusal.as_ref(), arena, joining, now);
                let wait = refusal.again.saturating_duration_since(now);
                let minutes = wait.min(left).as_secs().div_ceil(60);
                self.refusal = Some(refusal);
                warn!(arena = %id, "{name} does not take us, trying again in {minutes} min, or when something is different: {why}");
                self.told(Ok(format!(
                    "{name} does not take us, trying again until it starts: {why}"
                )));
                self.tell(arena, format!("does not take us, trying again: {why}"));
                Some(REFUSED.min(left + Duration::from_secs(1)))
            }
        }
    }

    /// Asks whether Lichess would let us join one more arena. How long to wait, if it would not.
    async fn quota_waits(&mut self, arena: &Arena) -> Option<Duration> {
        let entry = Entry {
            first: arena.me.is_none(),
            by_lichess: arena.by_lichess,
            found: self.found,
            refused: self.refusal.is_some(),
        };
        let (reply, answer) = oneshot::channel();
        let _ = self.words.send(Word::MayJoin(entry, reply));
        // The account answers at once while there is one.
        let until = answer.await.ok()?.err()?;
        let wait = until.duration_since(clock::date()).unwrap_or_default();
        let text = format!(
            "joining it when Lichess lets us join more arenas, at {}",
            clock::format_date(until)
        );
        info!(arena = %arena.id, "{}: {text}", arena.name);
        self.hold(Hold::Nothing);
        self.told(Ok(format!("{}: {text}", arena.name)));
        self.tell(arena, text);
        Some(wait.clamp(LOOK_OFTEN, LOOK_SELDOM))
    }

    /// Leaves, so that nobody is paired with who does not play. Whether we are out of it for certain.
    async fn withdraw(&self) -> bool {
        let id = &self.id;
        let mut attempt = 0;
        loop {
            match self.house.client.leave_arena(id).await {
                Ok(()) => {
                    info!(arena = %id, "withdrawn");
                    return true;
                }
                Err(failure) if failure.lichess_error().is_some_and(|no| no.code == 404) => {
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

    /// It is over: says how we did.
    async fn report(&mut self, arena: &Arena) {
        let (id, name) = (&arena.id, &arena.name);
        let Some(me) = arena.me else {
            info!(arena = %id, "{name}: it is over");
            self.tell(arena, "over");
            return self.told(Err(format!("{name} is over").into()));
        };
        // As many lines as there are before ours, and ours.
        let results = self.house.client.arena_results(id, me.rank).await;
        let mine = results.map(|lines| {
            let mut lines = lines.into_iter();
            lines.find(|line| line.username == self.house.me)
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
        self.tell(arena, text.clone());
        let text = format!("{name} is over: {text}");
        info!(arena = %id, "{text}");
        self.house.events.send(Event::note(text.clone()));
        self.told(Err(text.into()));
    }

    fn hold(&mut self, hold: Hold) {
        if std::mem::replace(&mut self.held, hold) == hold {
            return;
        }
        let id = self.id.clone();
        // Nobody listens any more when the account has gone.
        let _ = self.words.send(match hold {
            Hold::Nothing => Word::Free(id),
            Hold::Start(at) => Word::Begins(id, at),
            Hold::Slot => Word::Keep(id),
        });
    }
}

#[cfg(test)]
mod tests;
