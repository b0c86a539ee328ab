//! The account: follows its stream, answers challenges, and keeps one task for each game that is on.

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
use super::tournament::{Tournaments, Word};
use super::{AccountContext, BotParts, Error, HealthHandle, UnfinishedGames};
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
use crate::lichess::retry::Reopen;
use crate::lichess::{EventStream, LastHeard};
use crate::metrics::Metrics;
use crate::plural;
use background::{Question, TaskResult};
use challenges::Outboxes;
use correspondence::Resting;
use operator::OperatorState;
use outgoing::{Outgoing, take_all_back};
use queue::Queue;
use rematch::Rematches;
use state_files::PersistedState;
pub(super) use supervisor::run;
use watchdog::WORRY_EVERY;

/// How often the loop says that it is alive.
const BEAT: Duration = Duration::from_secs(1);

/// How often the lists of games and challenges are compared with what we know, beside after each connect.
const RECONCILE_EVERY: Duration = Duration::from_secs(60);

/// How often, while games are on, Lichess is asked whose turn it is in them: a question like any other, of which there
/// is one at a time.
const AUDIT_EVERY: Duration = Duration::from_secs(20);

/// How often Lichess is asked for our games while the account's stream is closed, or silent for this long and a game
/// of an arena may come: one that is not begun within some 16 seconds is lost.
const DEAF_EVERY: Duration = Duration::from_secs(3);

/// The most games that Lichess lists.
const LISTED: u32 = 50;

/// What is left of the games' tasks when we leave gets this long to post what it has.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);

/// A stop waits for so long until challenges of ours are taken back; then they are cancelled without looking whether one was
/// accepted just then.
const TAKE_BACK_WITHIN: Duration = Duration::from_secs(5);

/// Challenges that were judged, by id: each is judged once, though it may come several times.
const REMEMBERED: usize = 1000;

/// Lichess said that it does not know a game; if a list names it after this, it is tried again.
const GONE_FOR: Duration = Duration::from_secs(5);

/// A game that was over is tried again if it is listed as being on after this, then twice this, ...
const OVER_FOR: Duration = Duration::from_secs(10);

/// ... and this at most.
const LONGEST_OVER: Duration = Duration::from_secs(600);

/// A game whose task has panicked is taken up again at once; when that happens again, after this, twice this, ...
const AFTER_PANIC: Duration = Duration::from_secs(1);

struct Account {
    house: AccountContext,
    /// What the operator says.
    office: OperatorState,
    pulse: HealthHandle,
    stop: ShutdownSignal,
    link: ReconnectingStream<EventStream>,
    /// By game id, so that no game ever gets two.
    games: HashMap<GameId, Seat>,
    /// Games without a clock in which there is nothing to do now.
    resting: Resting,
    tasks: SpannedJoinSet<ExitReason>,
    names: HashMap<Id, GameId>,
    /// Games that are over or not ours to play, whatever a list that is older says.
    done: VecDeque<Done>,
    /// Games whose task has panicked, once for each time.
    panicked: VecDeque<GameId>,
    slots: Slots,
    tournaments: Tournaments,
    judged: VecDeque<ChallengeId>,
    /// Challenges that wait for a place, and when Lichess was last asked who of them is still there.
    queue: Queue,
    queue_asked: Option<Instant>,
    rematches: Rematches,
    outgoing: Outgoing,
    /// Challenges of ours that are being taken back.
    taking_back: usize,
    /// Until when a stop waits for challenges of ours that may still become games.
    taken_back_by: Option<Instant>,
    outboxes: Outboxes,
    /// Since when there are accounts, where rules have asked for it.
    births: VecDeque<(Username, SystemTime)>,
    /// What was accepted lately.
    ledger: AcceptedLog,
    /// What of Lichess's limits is used.
    quota: Quota,
    matchmaking: Matchmaking,
    /// Where all of that is kept, by [`Book`].
    keepers: [SaveQueue; 3],
    /// Requests whose answers come back here.
    errands: SpannedJoinSet<TaskResult>,
    born: Instant,
    first_online: Option<Instant>,
    clean_ends: u32,
    /// The stream was ended for the first time right after it had been opened for the first time.
    is_newcomer: bool,
    /// The list of games has been seen since the stream was opened.
    informed: bool,
    /// What was told last of there being nothing to play, and of the next try.
    idle_told: Option<(String, Option<SystemTime>)>,
    /// When Lichess was last asked whether the token is good, and when it last said so.
    token_checked: Option<Instant>,
    token_confirmed: Option<Instant>,
    /// Since when Lichess refuses the account's stream with 403.
    forbidden: Option<Instant>,
    /// The account's stream as it was opened last, and whether it has brought a line that cannot be read.
    ear: Option<LastHeard>,
    garbled: bool,
    /// The account's stream is closed.
    offline: bool,
    /// And that because we ask too much.
    limited: bool,
    /// Which games are on, and which challenges wait for our answer.
    about_games: Question,
    about_challenges: Question,
    /// The games were listed once, or Lichess has refused to list them: from then on the question keeps to the pauses.
    listed: bool,
    /// When the games were asked for last, and how often in a row in vain.
    asked_at: Instant,
    unanswered: u32,
    /// Games whose task has panicked and which are about to be taken up again.
    retaking: usize,
    metrics: Metrics,
    /// Games that the auditor had to help.
    repairs: u64,
    /// When Lichess was last asked out of turn.
    worried: Option<Instant>,
    /// Tells which games the records have as still on; asked once.
    left_open: Option<UnfinishedGames>,
    /// Challenges from our address that the quota knows of, of those that were made since the start.
    challenges_heard: u64,
    /// It has failed before in this life of the program.
    again: bool,
    /// It fails after so many beats, as a rehearsal.
    fails_after: Option<u64>,
}

/// A game that is not played any more.
struct Done {
    id: GameId,
    /// Lichess may list it as being on after this, and it is tried again; never without.
    until: Option<Instant>,
    /// How often it was over.
    times: u32,
}

/// A game that is on, as the account has it.
struct Seat {
    orders: mpsc::UnboundedSender<GameCommand>,
    desk: StatusCell,
    since: Instant,
    /// As it was when it was taken up.
    info: Box<GameInfo>,
    clocked: bool,
}

impl Account {
    fn new(
        mut house: AccountContext,
        parts: &BotParts,
        books: PersistedState,
        stop: ShutdownSignal,
    ) -> Self {
        let office = OperatorState::open(parts);
        house.settings = office.in_force();
        let (pulse, metrics) = (parts.pulse.clone(), parts.metrics.clone());
        let left_open = parts.left_open.clone();
        let PersistedState {
            ledger,
            quota,
            memory,
            keepers,
        } = books;
        let client = house.client.clone();
        let mut link = ReconnectingStream::new(Reopen::events(), move |silence| {
            let client = client.clone();
            async move { client.events(silence).await }
        });
        info!("I am {}", house.me);
        // After a row of crashes. Meanwhile Lichess is asked for our games.
        let date = clock::date();
        let held = quota.full_until(Limit::EventStreams, date);
        if let Some(wait) = held.and_then(|until| until.duration_since(date).ok()) {
            warn!("too many event streams were opened lately: the next one in {wait:.0?}");
            link.reopen(wait);
        }
        pulse.set(|status| status.account = Some(house.me.clone()));
        house.hall.want(0, house.settings.games.concurrency);
        Self {
            slots: Slots::new(
                house.settings.games.concurrency,
                house.settings.games.reserved_for_humans,
            ),
            tournaments: Tournaments::new(&house, &stop, &office.orders),
            matchmaking: Matchmaking::new(&house.settings, memory),
            office,
            pulse,
            stop,
            link,
            games: HashMap::new(),
            resting: Resting::default(),
            tasks: SpannedJoinSet::default(),
            names: HashMap::new(),
            done: VecDeque::new(),
            panicked: VecDeque::new(),
            judged: VecDeque::new(),
            queue: Queue::default(),
            queue_asked: None,
            rematches: Rematches::default(),
            outgoing: Outgoing::default(),
            taking_back: 0,
            taken_back_by: None,
            outboxes: Outboxes::default(),
            births: VecDeque::new(),
            ledger,
            quota,
            keepers,
            errands: SpannedJoinSet::default(),
            born: clock::now(),
            first_online: None,
            clean_ends: 0,
            is_newcomer: false,
            informed: false,
            idle_told: None,
            token_checked: None,
            token_confirmed: None,
            forbidden: None,
            ear: None,
            garbled: false,
            offline: held.is_some(),
            limited: false,
            listed: false,
            about_games: Question::default(),
            about_challenges: Question::default(),
            asked_at: clock::now(),
            unanswered: 0,
            retaking: 0,
            metrics,
            repairs: 0,
            worried: None,
            left_open,
            challenges_heard: 0,
            again: false,
            fails_after: parts.rehearsed_failure,
            house,
        }
    }

    /// The loop. Nothing in it waits for an answer.
    async fn follow(
        &mut self,
        stop: &mut ShutdownSignal,
        calls: &mut CommandReceiver,
    ) -> Result<(), Error> {
        self.tell_in_force();
        let mut beat = clock::interval(BEAT);
        let mut reconcile = clock::interval_later(RECONCILE_EVERY);
        let mut audit = clock::interval_later(AUDIT_EVERY);
        let mut worry = clock::interval(WORRY_EVERY);
        let mut deaf = clock::interval(DEAF_EVERY);
        let doubt = Arc::clone(&self.house.doubt);
        let mut stage = stop.stage();
        self.draining(stage);
        loop {
            if stage == Stage::Leaving || (stage == Stage::Draining && self.is_empty()) {
                return Ok(());
            }
            tokio::select! {
                heard = self.link.next() => self.hear(heard)?,
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
                Some(errand) = self.errands.join_next() => self.back(errand)?,
                Some(word) = self.tournaments.next() => match word {
                    Word::Begins(arena, at) => self.slots.begins(arena, at),
                    Word::Keep(arena) => self.slots.keep(arena),
                    Word::Free(arena) => self.slots.release(&arena),
                    Word::Over(arena) => self.arena_over(&arena),
                    Word::MayJoin(entry, reply) => self.may_join(entry, reply),
                    Word::TooMany => self.too_many_arenas(),
                },
                call = calls.next() => self.obey(call),
                now = stop.next() => {
                    stage = now;
                    self.draining(stage);
                }
                () = doubt.notified() => self.check_token(),
                _ = reconcile.tick() => {
                    self.save_what_is_owed();
                    if !self.offline {
                        self.reconcile();
                    }
                }
                _ = audit.tick() => if !self.offline && !self.games.is_empty() {
                    self.ask_playing();
                },
                _ = deaf.tick() => if self.may_be_deaf() { self.ask_playing() },
                _ = worry.tick(), if !self.games.is_empty() => self.worry(),
                _ = beat.tick() => {
                    self.pulse.beat();
                    self.rehearse();
                    self.audit();
                    self.look_after_rematch();
                    self.report();
                    self.keep_pauses();
                    self.hear_of_challenges();
                }
            }
            self.empty_outboxes();
            self.look_after_queue();
            self.look_after_resting();
            self.look_for_games();
            self.tell_idle();
        }
    }

    /// Whether no game is on, and none is about to be. Asked when we stop.
    fn is_empty(&mut self) -> bool {
        // Games may be left of the life before.
        let known = self.informed || !self.again;
        let idle =
            self.games.is_empty() && self.retaking == 0 && !self.slots.promised(clock::now());
        known && idle && !self.waits_for_challenges() && self.tournaments.are_over()
    }

    /// Fails, when that is rehearsed and due.
    fn rehearse(&mut self) {
        if let Some(beats) = &mut self.fails_after {
            assert!(*beats > 0, "on purpose, as a rehearsal");
            *beats -= 1;
        }
    }

    /// Leaves: what is being searched or posted is posted, then all tasks end. Gives the games that are still on.
    async fn leave(&mut self, patience: Duration) -> Vec<GameId> {
        let standing = self.standing();
        let mut left: BTreeSet<GameId> = self.games.keys().cloned().collect();
        left.extend(self.resting.ids().cloned());
        let all = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                if let Ok((task, ExitReason::Over | ExitReason::NotFound | ExitReason::Unsupported)) =
                    ended
                    && let Some(game) = self.names.get(&task)
                {
                    left.remove(game);
                }
            }
        };
        let client = self.house.client.clone();
        let take_back = take_all_back(&client, standing, &mut self.errands);
        let (games, (), _) = tokio::join!(
            clock::timeout(patience, all),
            self.tournaments.leave(patience),
            clock::timeout(patience, take_back),
        );
        if games.is_err() {
            let left = plural::count(self.tasks.len(), "game is", "games are");
            warn!("{left} left without the move that was being searched");
        }
        self.tasks.shutdown().await;
        self.errands.shutdown().await;
        left.into_iter().collect()
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::GameStart(info) => self.take_up(info, clock::now()),
            Event::GameFinish(info) => {
                if let (Some(arena), Status::NoStart) = (&info.tournament, info.status) {
                    self.tournaments.nudge(arena);
                }
                self.game_over(&info);
                if let Some(seat) = self.games.get(&info.id) {
                    let _ = seat.orders.send(GameCommand::Finished(info));
                } else if !self.resting.finish(&info.id) {
                    self.slots.free(&info.id);
                }
            }
            Event::Challenge(challenge, compat) => self.judge(challenge, compat),
            Event::ChallengeCanceled(challenge) | Event::ChallengeDeclined(challenge) => {
                self.called_off(challenge)
            }
            Event::Unknown(kind) => debug!(kind, "unknown event"),
            Event::Skipped(skipped) => {
                warn!("unreadable event: {}", skipped.why);
                self.garbled = true;
                self.reconcile();
            }
        }
    }

    /// Somebody's challenge to us, or one of ours, was taken back or declined.
    fn called_off(&mut self, challenge: Box<Challenge>) {
        self.rematch_is_off(&challenge);
        self.invitation_is_off(&challenge);
        self.withdrawn(&challenge.id);
        self.refused_by(&challenge);
        self.outgoing.over(challenge);
    }

    /// Whether this game is on, or was.
    fn knows_game(&self, id: &GameId) -> bool {
        self.games.contains_key(id)
            || self.resting.knows(id)
            || self.done.iter().any(|done| done.id == *id)
    }

    /// Plays a game, unless it is being played already. `at`: when Lichess said how it stands.
    fn take_up(&mut self, info: Box<GameInfo>, at: Instant) {
        let id = &info.id;
        let done = self.done.iter().find(|done| done.id == *id);
        let is_done = done.is_some_and(|done| done.until.is_none_or(|until| at < until));
        if self.games.contains_key(id) || is_done || info.status.is_over() {
            return;
        }
        if done.is_some() {
            warn!(game = %id, "Lichess lists a game that was over as being on: taking it up again");
        }
        if info.compat.is_some_and(|compat| !compat.bot) {
            return debug!(game = %id, "not a game for the bot API");
        }
        let opponent = &info.opponent;
        let clocked = info.clock().is_some();
        let guest = SlotHolder {
            name: Some(opponent.name.clone()),
            human: !opponent.is_bot() && opponent.ai_level.is_none(),
            clocked,
        };
        if clocked || !self.resting.knows(id) {
            self.slots.take(id.clone(), guest, info.tournament.clone());
            self.invitation_is_on(&info.id);
            self.rematch_is_on(&info.id);
            self.game_counts(&info);
        }
        match clocked {
            true => self.open(info, StatusCell::default()),
            false => self.resting.note(info, at),
        }
    }

    /// A game's task has returned, or panicked.
    fn ended(&mut self, ended: Result<(Id, ExitReason), JoinError>) {
        let task = match &ended {
            Ok((task, _)) => *task,
            Err(failure) => failure.id(),
        };
        let Some(id) = self.names.remove(&task) else {
            return;
        };
        let seat = self.games.remove(&id);
        self.count();
        if let (Ok((_, ExitReason::Suspended)), Some(Seat { info, desk, .. })) = (&ended, &seat) {
            self.resting.put(info.clone(), desk.clone(), clock::now());
            return;
        }
        self.slots.free(&id);
        match ended {
            Ok((_, ExitReason::Over | ExitReason::Unsupported)) => {
                if let Some(encore) = seat.and_then(|seat| seat.desk.snapshot().rematch) {
                    self.offer_rematch(&id, encore);
                }
                let is_over = matches!(ended, Ok((_, ExitReason::Over)));
                self.put_away(id, is_over.then_some(OVER_FOR));
            }
            Ok((_, ExitReason::NotFound)) => self.put_away(id, Some(GONE_FOR)),
            Ok((_, ExitReason::ShutDown | ExitReason::Suspended)) => {}
            Err(failure) => {
                error!(game = %id, "the game's task has failed, taking the game up again: {failure}");
                self.house.events.send(events::Event::Note {
                    severity: events::Severity::Error,
                    game: Some(id.to_string()),
                    text: "an error of ours; the game is taken up again".into(),
                });
                let before = self.panicked.iter().filter(|other| **other == id).count();
                let wait = AFTER_PANIC * before.min(30) as u32;
                if let Some(Seat { info, .. }) = seat {
                    self.retaking += 1;
                    self.errands.spawn(async move {
                        clock::sleep(wait).await;
                        TaskResult::TakeUpAgain(info)
                    });
                }
                remember(&mut self.panicked, id);
                self.informed = false;
            }
        }
    }

    /// A game is not played any more; it is tried again only if it is listed as being on after this time.
    fn put_away(&mut self, id: GameId, after: Option<Duration>) {
        let before = self.done.iter().position(|done| done.id == id);
        let before = before.and_then(|at| self.done.remove(at));
        let times = before.map_or(0, |done| done.times).saturating_add(1);
        let doubled = |after: Duration| (after * (1 << (times - 1).min(10))).min(LONGEST_OVER);
        let until = after.map(|after| clock::now() + doubled(after));
        remember(&mut self.done, Done { id, until, times });
    }

    fn count(&self) {
        self.plays(self.clocked());
        self.pulse.set(|status| status.games = self.games.len());
    }

    fn draining(&mut self, stage: Stage) {
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
            self.house.events.send(events::Event::note(text));
            self.take_challenges_back();
            self.house.events.send(events::Event::Draining { games });
        }
    }
}

fn remember<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == REMEMBERED {
        list.pop_front();
    }
    list.push_back(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let mut list = VecDeque::new();
        (0..3 * REMEMBERED).for_each(|n| remember(&mut list, n));
        assert_eq!(list.len(), REMEMBERED);
        assert_eq!(list.back(), Some(&(3 * REMEMBERED - 1)));
    }
}
