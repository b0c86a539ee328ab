//! What the operator has the running bot do.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;
use tracing::{error, info, warn};

use super::Account;
use super::outgoing::{STOPPING, Wish, is_for_bot, refusal};
use crate::bot::BotParts;
use crate::bot::account::background::TaskResult;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::persist;
use crate::bot::account::slots::SlotHolder;
use crate::bot::commands::{Call, Order, OutgoingChallenge, ReloadSettings, Reply};
use crate::bot::game;
use crate::bot::game::status::{Activity, GameSnapshot};
use crate::bot::policy::said;
use crate::bot::shutdown::Stage;
use crate::clock;
use crate::config::{self, Change, Joining, Match, Pattern, Play, Rule, Settings};
use crate::events::{self, Decision};
use crate::lichess::Error as Failure;
use crate::lichess::model::{ArenaId, Challenge, ChallengeId, GameId, Username};

/// A challenge of the operator's with a clock is taken back when nobody has answered it by then: one that is left alone
/// can become a game hours later.
const UNANSWERED: Duration = Duration::from_secs(60);

/// What holds while the program stops, whatever the operator says: a drain is not taken back.
const ENDS: &str =
    "the program is about to end, which cannot be taken back: start it again when it has ended";

/// Why such a challenge has become a game.
const AS_HE_SAYS: &str = "as the operator says";

/// What the account has of what its operator says.
pub(super) struct OperatorState {
    /// As the configuration has them, without the standing orders.
    settings: Arc<Settings>,
    pub orders: OperatorOverrides,
    /// Where the orders are kept; nowhere if they need not be.
    file: Option<PathBuf>,
    /// The last write of the orders has failed, and no other has begun since.
    is_owed: bool,
    /// To write there, in the order in which they were given.
    turn: Arc<Mutex<()>>,
    reread: Option<ReloadSettings>,
    /// To read the settings again, one time after another, ...
    reread_turn: Arc<Mutex<()>>,
    /// ... of which one may wait: it reads all that has been written until then.
    rereads: Arc<Semaphore>,
    /// Challenges of the operator's that are not answered yet.
    invited: HashMap<ChallengeId, Box<Challenge>>,
    /// How games are played against whom, until the program ends; goes before what the rules say.
    play: Vec<(Pattern, Play)>,
}

impl OperatorState {
    pub fn open(parts: &BotParts) -> Self {
        let load = |path: &PathBuf| {
            OperatorOverrides::load(path).unwrap_or_else(|error| {
                let kept = persist::set_aside(path);
                let path = path.display();
                warn!(
                    "cannot read {path}, so nobody is blocked by it and nothing paused: {error}; {kept}"
                );
                OperatorOverrides::default()
            })
        };
        Self {
            settings: Arc::clone(&parts.settings),
            orders: parts.orders.as_ref().map(load).unwrap_or_default(),
            file: parts.orders.clone(),
            is_owed: false,
            turn: Arc::default(),
            reread: parts.reread.clone(),
            reread_turn: Arc::default(),
            rereads: Arc::new(Semaphore::new(2)),
            invited: HashMap::new(),
            play: Vec::new(),
        }
    }

    /// Challenges that wait for their answers.
    pub fn awaited(&self) -> impl Iterator<Item = &Challenge> {
        self.invited.values().map(|challenge| &**challenge)
    }

    /// Challenges with a clock that wait for their answers, which are about to be taken back.
    pub fn withdraw(&mut self) -> impl Iterator<Item = Box<Challenge>> {
        let with_clock = |_: &ChallengeId, it: &mut Box<Challenge>| it.time_control.is_clock();
        let taken = self.invited.extract_if(with_clock);
        taken.map(|(_, challenge)| challenge)
    }

    /// No longer in this arena by the operator's order. Whether it was one.
    fn forget(&mut self, arena: &ArenaId) -> bool {
        let arenas = &mut self.orders.arenas;
        let before = arenas.len();
        arenas.retain(|joining| joining.id != *arena);
        arenas.len() < before
    }

    /// The settings without the orders.
    pub fn as_written(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    /// The settings with the orders.
    pub fn in_force(&self) -> Arc<Settings> {
        let mut settings = self.orders.over(&self.settings);
        if !self.play.is_empty() {
            let rule = |(who, play): &(Pattern, Play)| Rule {
                name: format!("{who}, as the operator says"),
                matching: Match {
                    name: vec![who.clone()],
                    ..Match::default()
                },
                play: play.clone(),
                ..Rule::default()
            };
            let rules = &mut Arc::make_mut(&mut settings).rule;
            rules.splice(0..0, self.play.iter().map(rule));
        }
        settings
    }
}

impl Account {
    /// Whether we take new games.
    pub(super) fn takes_games(&self) -> bool {
        self.stop.stage() == Stage::Running && !self.office.orders.paused
    }

    pub(super) fn obey(&mut self, Call { order, reply }: Call) {
        match order {
            Order::Pause => self.pause(true, reply),
            Order::Resume => self.pause(false, reply),
            Order::Block(who) => self.block(who, reply),
            Order::Unblock(who) => self.unblock(&who, reply),
            Order::MoveNow(game) => self.move_now(&game, reply),
            Order::Play(who, play) => self.play(who, *play, reply),
            Order::Challenge(invitation) => self.invite(invitation, reply),
            Order::Join(joining) => self.join(joining, reply),
            Order::Leave(arena) => self.leave_arena(&arena, reply),
            Order::Reload => self.reload(reply),
        }
    }

    fn pause(&mut self, paused: bool, reply: Reply) {
        if self.office.orders.paused == paused {
            return reply.done(match paused {
                true => "it is paused already".to_owned(),
                false if self.stop.stage() == Stage::Running => "it was not paused".to_owned(),
                false => format!("it was not paused, but {ENDS}"),
            });
        }
        self.office.orders.paused = paused;
        self.tell_paused();
        self.tournaments.pause(paused);
        self.idle_told = None;
        let games = match self.games.len() {
            0 => "no game is on".to_owned(),
            1 => "the game that is on goes on".to_owned(),
            games => format!("the {games} games that are on go on"),
        };
        let done = match paused {
            true => format!(
                "paused: no new games until `knightwatch resume`, not even after a restart; {games}"
            ),
            false if self.stop.stage() == Stage::Running => {
                "resumed: new games are taken again".to_owned()
            }
            false => format!("no longer paused, but {ENDS}"),
        };
        self.keep_orders(Then::Say(done, reply));
    }

    fn tell_paused(&self) {
        let paused = self.office.orders.paused;
        let text = match paused {
            true => "paused by the operator: no new games until knightwatch resume".to_owned(),
            false if self.stop.stage() == Stage::Running => {
                "resumed by the operator: new games are taken again".to_owned()
            }
            false => format!("no longer paused by the operator, but {ENDS}"),
        };
        match paused {
            true => warn!("{text}"),
            false => info!("{text}"),
        }
        self.house.events.send(events::Event::note(text));
        self.pulse.set(|status| status.paused = paused);
        self.house.events.send(events::Event::Paused { paused });
    }

    /// Logs what an order has changed, and tells it to the page and the records.
    fn note(&self, text: String) {
        info!("{text}");
        self.house.events.send(events::Event::note(text));
    }

    fn block(&mut self, who: Pattern, reply: Reply) {
        let me = self.house.me.as_str();
        if who.to_string().eq_ignore_ascii_case(me) {
            return reply.refuse(format!("{me} is this bot itself; name the user to block"));
        }
        if self.office.orders.blocked.contains(&who) {
            return reply.done(format!("{who} is blocked already"));
        }
        self.note(format!("{who} is blocked by the operator"));
        let done = format!("{who} is blocked, restarts included");
        self.office.orders.blocked.push(who);
        self.put_in_force();
        self.keep_orders(Then::Say(done, reply));
    }

    fn unblock(&mut self, who: &Pattern, reply: Reply) {
        let same = |other: &Pattern| other.to_string().eq_ignore_ascii_case(&who.to_string());
        let blocked = &mut self.office.orders.blocked;
        let before = blocked.len();
        blocked.retain(|other| !same(other));
        if blocked.len() == before {
            let file = self.office.settings.challenge.block.iter().any(same);
            return reply.refuse(match file {
                true => format!("{who} is blocked in the configuration, by challenge.block"),
                false => format!("{who} was not blocked"),
            });
        }
        self.note(format!("{who} is no longer blocked by the operator"));
        self.put_in_force();
        let done = format!("{who} is no longer blocked");
        self.keep_orders(Then::Say(done, reply));
    }

    fn move_now(&self, id: &GameId, reply: Reply) {
        let Some(seat) = self.games.get(id) else {
            return reply.refuse(format!("no game {id} is on"));
        };
        match seat.desk.snapshot() {
            GameSnapshot {
                activity: Activity::Searching,
                ..
            } => {
                let _ = seat.orders.send(game::GameCommand::MoveNow);
                reply.done(format!("{id}: the best move found so far is played"));
            }
            GameSnapshot {
                our_turn_since: Some(_),
                ..
            } => reply.refuse(format!("{id}: the move is already on its way")),
            _ => reply.refuse(format!("{id}: it is not our turn")),
        }
    }

    /// Games that begin from now on.
    fn play(&mut self, who: Pattern, play: Play, reply: Reply) {
        self.office.play.retain(|(other, _)| *other != who);
        let done = match play == Play::default() {
            true => format!("the next games against {who} follow the rules again"),
            false => format!("the next games against {who}: {}", said(&play).join(", ")),
        };
        self.note(format!("by order of the operator, {done}"));
        if play != Play::default() {
            self.office.play.push((who, play));
        }
        self.put_in_force();
        reply.done(done);
    }

    fn invite(&mut self, invitation: OutgoingChallenge, reply: Reply) {
        if self.stop.stage() != Stage::Running {
            return reply.refuse(STOPPING);
        }
        if invitation.user == self.house.me {
            return reply.refuse("that is us");
        }
        if self.house.settings.is_sister(invitation.user.as_str()) {
            let user = &invitation.user;
            return reply.refuse(format!("{user} is another account of ours"));
        }
        let clocked = invitation.what.time_control.is_clock();
        if clocked && self.slots.full(true, clock::now()) {
            let places = self.house.settings.games.concurrency;
            return reply.refuse(match places {
                1 => "the one place is taken".to_owned(),
                places => format!("all {places} places are taken"),
            });
        }
        // Asking all the same would make it last longer.
        if let Some(until) = self.quota.no_challenge_until(clock::date()) {
            let until = clock::shown(until);
            return reply.refuse(format!(
                "Lichess takes no challenges from us before {until}"
            ));
        }
        self.outgoing.send(invitation.user.clone(), Wish::Operator);
        let client = self.house.client.clone();
        self.errands.spawn(async move {
            let answer = client.challenge(&invitation.user, &invitation.what).await;
            let answer = answer.map(Box::new);
            TaskResult::Invited(invitation, answer, reply)
        });
    }

    /// Lichess has passed on a challenge of the operator's, or has not.
    pub(super) fn invited(
        &mut self,
        invitation: &OutgoingChallenge,
        answer: Result<Box<Challenge>, Failure>,
        reply: Reply,
    ) {
        let OutgoingChallenge { user, what } = invitation;
        let challenge = match answer {
            Ok(challenge) => {
                let over = self.outgoing.answered(user, Wish::Operator);
                self.challenge_counts(is_for_bot(&challenge));
                if let Some(answer) = over {
                    let why = self.invitation_refused(&answer);
                    return reply.done(format!("{}: {why}", challenge.id));
                }
                challenge
            }
            Err(failure) => {
                info!("cannot challenge {invitation}: {failure}");
                let ours = (user, Wish::Operator);
                match self.not_sent(ours, None, what, &failure) {
                    Some(challenge) => challenge,
                    None if failure.may_have_worked() => {
                        return reply.refuse(format!(
                            "{failure}; if the challenge was made all the same, it is looked after"
                        ));
                    }
                    None => return reply.refuse(failure.to_string()),
                }
            }
        };
        let paused = match self.office.orders.paused {
            true => "; the bot is paused, and this challenge is made all the same",
            false => "",
        };
        reply.done(self.invitation_stands(challenge) + paused);
    }

    /// A challenge of the operator's stands. The game may be on by now. What he is told.
    pub(super) fn invitation_stands(&mut self, challenge: Box<Challenge>) -> String {
        let id = challenge.id.clone();
        let clocked = challenge.time_control.is_clock();
        let rated = if challenge.rated { "rated" } else { "casual" };
        let to = challenge.dest_user.as_ref().map(|user| user.name.clone());
        let user = to.as_ref().map_or("nobody", Username::as_str);
        let time = challenge.time_control;
        info!(challenge = %id, "challenging {user} to {time}, {rated}, as the operator says");
        let mut done = format!("{user} is challenged to {time}, {rated}: {id}");
        if self.knows_game(&id) {
            self.tell_challenge(&challenge, Decision::Accepted, AS_HE_SAYS.to_owned());
            return done + ", and the game is on";
        }
        if clocked {
            let guest = SlotHolder {
                name: to,
                human: !is_for_bot(&challenge),
                clocked,
            };
            let until = clock::now() + UNANSWERED;
            self.slots.expect(id.clone(), guest, until);
            if self.takes_all_back() {
                self.take_back(challenge, STOPPING);
                return done + "; it is taken back, since we are about to stop";
            }
            let unanswered = id.clone();
            self.errands.spawn(async move {
                clock::sleep(UNANSWERED).await;
                TaskResult::Unanswered(unanswered)
            });
            done += &format!(
                "; it is taken back if nobody answers within {} s",
                UNANSWERED.as_secs()
            );
        }
        self.office.invited.insert(id, challenge);
        done
    }

    /// A challenge of the operator's has become a game.
    pub(super) fn invitation_is_on(&mut self, id: &ChallengeId) {
        if let Some(challenge) = self.office.invited.remove(id) {
            self.tell_challenge(&challenge, Decision::Accepted, AS_HE_SAYS.to_owned());
        }
    }

    /// A challenge of ours is answered by a word, and it may be the operator's.
    pub(super) fn invitation_is_off(&mut self, answer: &Challenge) {
        if self.office.invited.remove(&answer.id).is_some() {
            self.invitation_refused(answer);
        }
    }

    /// A challenge of the operator's is answered by a word, which this gives.
    fn invitation_refused(&self, answer: &Challenge) -> String {
        let (decision, why) = refusal(answer);
        info!(challenge = %answer.id, "the operator's challenge comes to nothing: {why}");
        self.tell_challenge(answer, decision, why.clone());
        why
    }

    /// Nobody has answered a challenge of the operator's for long enough.
    pub(super) fn unanswered(&mut self, id: &ChallengeId) {
        let Some(challenge) = self.office.invited.remove(id) else {
            return;
        };
        info!(challenge = %id, "nobody has answered: taking the challenge back");
        self.take_back(challenge, "it was not answered");
    }

    fn join(&mut self, joining: Joining, reply: Reply) {
        if self.stop.stage() != Stage::Running {
            return reply.refuse(STOPPING);
        }
        let orders = &mut self.office.orders;
        orders.left.retain(|arena| *arena != joining.id);
        orders.arenas.retain(|other| other.id != joining.id);
        orders.arenas.push(joining.clone());
        self.keep_orders(Then::Join(joining, reply));
    }

    fn leave_arena(&mut self, arena: &ArenaId, reply: Reply) {
        if !self.tournaments.leave_one(arena) {
            return reply.refuse(format!("{arena}: we take no part in it"));
        }
        let done = format!("{arena}: leaving it");
        self.office.forget(arena);
        self.office.orders.leave(arena);
        self.keep_orders(Then::Say(done, reply));
    }

    /// It is over: the next start need not know of it.
    pub(super) fn arena_over(&mut self, arena: &ArenaId) {
        if self.office.forget(arena) {
            self.keep_orders(Then::Nothing);
        }
    }

    fn reload(&mut self, reply: Reply) {
        let Some(reread) = self.office.reread.clone() else {
            return reply.refuse("there is no configuration to read again");
        };
        let Ok(permit) = Arc::clone(&self.office.rereads).try_acquire_owned() else {
            return reply
                .done("the configuration is being read, and will be once more after that; the log says what has changed".to_owned());
        };
        let turn = Arc::clone(&self.office.reread_turn);
        self.errands.spawn(async move {
            let _permit = permit;
            // However long the disk takes, it is one thread that waits for it.
            let _turn = turn.lock_owned().await;
            match spawn_blocking(move || reread()).await {
                Ok(read) => TaskResult::ReloadSettings(read.map(|new| new.map(Box::new)), reply),
                Err(failure) => {
                    reply.refuse(failure.to_string());
                    TaskResult::Nothing
                }
            }
        });
    }

    /// The settings have been read anew. Games that are on go on by those that they began with.
    pub(super) fn reloaded(
        &mut self,
        read: Result<Option<Box<Settings>>, config::Error>,
        reply: Reply,
    ) {
        const UNUSABLE: &str = "the settings stay as they are, for the new ones cannot be used";
        const GONE: &str =
            "this account is gone from the configuration; until a restart it plays on as before";
        let new = match read {
            Ok(Some(new)) => new,
            Ok(None) => {
                warn!("{GONE}");
                return reply.done(GONE);
            }
            Err(error) => {
                error!("{UNUSABLE}");
                for problem in error.problems() {
                    error!("{}", problem.line());
                }
                if let Some(more) = error.more() {
                    error!("{more}");
                }
                return reply.refuse(format!("{UNUSABLE}\n\n{error}"));
            }
        };
        let old = Arc::clone(&self.office.settings);
        let adopted = old.adopting(&new);
        let (now, mut later) = (old.changes(&adopted), adopted.changes(&new));
        if adopted.has_books() && self.house.books.is_empty() {
            later.push(Change {
                key: "rule".to_owned(),
                what: "books are asked for, and none were opened at the start".to_owned(),
            });
        }
        // The books are those of the start.
        later.extend(adopted.strange_books().into_iter().map(|what| Change {
            key: "rule".to_owned(),
            what,
        }));
        let mut told = vec![match now.len() {
            0 => "nothing has changed".to_owned(),
            1 => "one setting has changed".to_owned(),
            n => format!("{n} settings have changed"),
        }];
        info!("reloaded: {}", told[0]);
        for change in now {
            info!("{change}");
            told.push(format!("  {change}"));
        }
        for change in later {
            warn!("not before a restart: {change}");
            told.push(format!("  not before a restart: {change}"));
        }
        for warning in &new.warnings {
            warn!("{warning}");
            told.push(format!("  warning: {warning}"));
        }
        self.office.settings = Arc::new(adopted);
        for arena in self.put_in_force() {
            info!(arena = %arena, "leaving it: nobody wants it any more");
            told.push(format!(
                "  leaving the arena {arena}, which is no longer looked for"
            ));
        }
        reply.done(told.join("\n"));
    }

    /// The settings or the orders are others now. Arenas that are left for that.
    fn put_in_force(&mut self) -> Vec<ArenaId> {
        let settings = self.office.in_force();
        let games = &settings.games;
        let before = self.house.settings.games.concurrency;
        self.house.hall.want(before, games.concurrency);
        self.slots
            .resize(games.concurrency, games.reserved_for_humans);
        self.house.settings = settings;
        self.tell_settings();
        let left = self
            .tournaments
            .follow(&self.house, &self.office.orders.arenas);
        self.matchmaking.adopt(&self.house.settings);
        self.idle_told = None;
        // Who waits is judged by them.
        for asked in self.queue.clear() {
            self.answer(asked, true);
        }
        left
    }

    /// Tells what is in force from the start on.
    pub(super) fn tell_in_force(&self) {
        self.tell_settings();
        if self.office.orders.paused {
            self.tell_paused();
        }
    }

    fn tell_settings(&self) {
        let words = self.house.settings.in_words();
        self.house.events.send(events::Event::Settings(words));
    }

    /// Writes the standing orders down, and then does this.
    fn keep_orders(&mut self, then: Then) {
        // Who asks for the status next is told of it.
        self.report();
        let (text, turn) = (self.office.orders.text(), Arc::clone(&self.office.turn));
        let file = self.office.file.clone();
        self.errands.spawn(async move {
            let Some(file) = file else {
                return TaskResult::Ordered(Ok(()), then);
            };
            let _turn = turn.lock().await;
            let written = persist::aside(move || persist::save(&file, &text)).await;
            TaskResult::Ordered(written, then)
        });
    }

    /// Writes the orders down if they could not be the last time.
    pub(super) fn keep_orders_if_owed(&mut self) {
        if std::mem::take(&mut self.office.is_owed) {
            self.keep_orders(Then::Nothing);
        }
    }

    /// They are written down, or cannot be.
    pub(super) fn ordered(&mut self, written: io::Result<()>, then: Then) {
        self.office.is_owed = written.is_err();
        if let Err(error) = &written {
            warn!(
                "what the operator says cannot be kept over a restart: {error}; it is tried again"
            );
        }
        match (then, written) {
            (Then::Say(done, reply), Ok(())) => reply.done(done),
            (Then::Say(done, reply), Err(error)) => {
                reply.done(format!("{done}; but a restart undoes it: {error}"));
            }
            (Then::Join(joining, reply), _) => self.tournaments.join(joining, Some(reply)),
            (Then::Nothing, _) => {}
        }
    }
}

/// What is done when the standing orders are written down.
pub(super) enum Then {
    Say(String, Reply),
    Join(Joining, Reply),
    Nothing,
}
