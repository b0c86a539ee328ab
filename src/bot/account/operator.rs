//! Execution of operator commands.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use tracing::{info, warn};

use super::Account;
use super::outgoing::{ChallengeSource, NOT_ANSWERED, SendResult, closing_reason, slot_holder};
use crate::bot::BotParts;
use crate::bot::account::overrides::OperatorOverrides;
use crate::bot::account::persist::JsonState;
use crate::bot::account::state_files::{StateFile, load_or_default};
use crate::bot::commands::{
    Command, CommandKind, OutgoingChallenge, ReadToken, ReloadSettings, Responder, SHUTTING_DOWN,
};
use crate::bot::game::GameCommand;
use crate::bot::game::status::Activity;
use crate::bot::policy::describe;
use crate::clock;
use crate::config::{ArenaEntry, Match, Pattern, Play, Rule, Settings};
use crate::events::{self, Decision};
use crate::lichess::Error as Failure;
use crate::lichess::model::{ArenaId, Challenge, ChallengeId, ChallengeStatus, GameId, Username};

/// A challenge of the operator with a clock is canceled if it was not answered in this time: otherwise it could
/// become a game hours later.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Added to responses during shutdown: a drain cannot be undone.
const ENDING_NOTE: &str =
    "the program is stopping, which cannot be undone: start it again when it has stopped";

/// Reason reported for a game that a challenge of the operator became.
const BY_OPERATOR: &str = "by operator command";

/// State set by the operator.
pub(super) struct OperatorState {
    /// Settings of the configuration, without overrides.
    pub settings: Arc<Settings>,
    pub overrides: OperatorOverrides,
    pub reload_source: Option<ReloadSettings>,
    pub token_source: Option<ReadToken>,
    /// Held while the settings are loaded.
    pub reload_lock: Arc<Mutex<()>>,
    /// One load in progress and one waiting, which reads everything written until then.
    pub reload_permits: Arc<Semaphore>,
    /// Challenges of the operator without an answer.
    pending: HashMap<ChallengeId, Box<Challenge>>,
    /// How games against matching users are played until the program ends. Takes precedence over rules.
    play: Vec<(Pattern, Play)>,
}

impl OperatorState {
    pub(super) fn open(parts: &BotParts) -> Self {
        let overrides = load_or_default(
            parts.overrides.as_deref(),
            OperatorOverrides::load,
            "without overrides (no pause, no blocks)",
        );
        Self {
            settings: Arc::clone(&parts.settings),
            overrides,
            reload_source: parts.reload.clone(),
            token_source: parts.token.clone(),
            reload_lock: Arc::default(),
            reload_permits: Arc::new(Semaphore::new(2)),
            pending: HashMap::new(),
            play: Vec::new(),
        }
    }

    /// Challenges of the operator without an answer.
    pub(super) fn pending_challenges(&self) -> impl Iterator<Item = &Challenge> {
        self.pending.values().map(|challenge| &**challenge)
    }

    /// Removes the challenges with a clock, to be canceled.
    pub(super) fn take_clocked(&mut self) -> impl Iterator<Item = Box<Challenge>> {
        let with_clock = |_: &ChallengeId, it: &mut Box<Challenge>| it.time_control.is_clock();
        let taken = self.pending.extract_if(with_clock);
        taken.map(|(_, challenge)| challenge)
    }

    /// Forgets that the operator has joined this arena. Whether it was so.
    fn forget_arena(&mut self, arena: &ArenaId) -> bool {
        let arenas = &mut self.overrides.arenas;
        let before = arenas.len();
        arenas.retain(|joining| joining.id != *arena);
        arenas.len() < before
    }

    /// Settings without overrides.
    pub(super) fn base_settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings)
    }

    /// Settings with overrides.
    pub(super) fn effective_settings(&self) -> Arc<Settings> {
        let mut settings = self.overrides.apply_to(&self.settings);
        if !self.play.is_empty() {
            let rule = |(who, play): &(Pattern, Play)| Rule {
                name: format!("{who}, by operator command"),
                matching: Match {
                    name: vec![who.clone()],
                    ..Match::default()
                },
                play: play.clone(),
                by_operator: true,
                ..Rule::default()
            };
            let rules = &mut Arc::make_mut(&mut settings).rule;
            rules.splice(0..0, self.play.iter().map(rule));
        }
        settings
    }
}

impl Account {
    /// Returns whether new games are accepted.
    pub(super) fn accepts_games(&self) -> bool {
        !self.ctx.is_stopping() && !self.operator.overrides.paused
    }

    pub(super) fn on_command(&mut self, Command { kind, responder }: Command) {
        match kind {
            CommandKind::Pause => self.pause(true, responder),
            CommandKind::Resume => self.pause(false, responder),
            CommandKind::Seek(on) => self.seek(on, responder),
            CommandKind::Block(who) => self.block(who, responder),
            CommandKind::Unblock(who) => self.unblock(&who, responder),
            CommandKind::MoveNow(game) => self.move_now(&game, responder),
            CommandKind::Play(who, play) => self.play(who, *play, responder),
            CommandKind::Challenge(challenge) => self.challenge(challenge, responder),
            CommandKind::Match(challenge, pairs) => self.start_match(challenge, pairs, responder),
            CommandKind::CancelMatch(user) => self.cancel_match(&user, responder),
            CommandKind::Join(joining) => self.join(joining, responder),
            CommandKind::Leave(arena) => self.leave_arena(&arena, responder),
            CommandKind::Reload => self.reload(responder),
        }
    }

    fn pause(&mut self, paused: bool, responder: Responder) {
        if self.operator.overrides.paused == paused {
            return responder.succeed(match paused {
                true => "it is paused already".to_owned(),
                false if !self.ctx.is_stopping() => "it was not paused".to_owned(),
                false => format!("it was not paused, but {ENDING_NOTE}"),
            });
        }
        self.operator.overrides.paused = paused;
        self.publish_paused();
        self.tournaments.pause(paused);
        self.status.repeat_idle();
        let games = match self.games.len() {
            0 => "no game is running".to_owned(),
            1 => "the running game continues".to_owned(),
            games => format!("the {games} running games continue"),
        };
        let done = match paused {
            true => format!("paused: no new games until `knightwatch resume`; {games}"),
            false if !self.ctx.is_stopping() => "resumed: new games are taken again".to_owned(),
            false => format!("no longer paused, but {ENDING_NOTE}"),
        };
        self.save_and_respond(StateFile::Overrides, done, responder);
    }

    fn publish_paused(&self) {
        let paused = self.operator.overrides.paused;
        let text = match paused {
            true => "paused by the operator: no new games until knightwatch resume".to_owned(),
            false if !self.ctx.is_stopping() => {
                "resumed by the operator: new games are taken again".to_owned()
            }
            false => format!("no longer paused by the operator, but {ENDING_NOTE}"),
        };
        match paused {
            true => warn!("{text}"),
            false => info!("{text}"),
        }
        self.ctx.events.send(events::Event::note(text));
        self.publish_status();
        self.ctx.events.send(events::Event::Paused { paused });
    }

    /// Logs a change by the operator and publishes it.
    pub(super) fn publish_note(&self, text: String) {
        info!("{text}");
        self.ctx.events.send(events::Event::note(text));
    }

    fn block(&mut self, who: Pattern, responder: Responder) {
        let me = self.ctx.me.as_str();
        if who.to_string().eq_ignore_ascii_case(me) {
            return responder.fail(format!("{me} is this bot itself; name the user to block"));
        }
        if self.operator.overrides.blocked.contains(&who) {
            return responder.succeed(format!("{who} is blocked already"));
        }
        self.publish_note(format!("{who} is blocked by the operator"));
        let done = format!("blocked {who}");
        self.operator.overrides.blocked.push(who);
        self.apply_settings();
        self.save_and_respond(StateFile::Overrides, done, responder);
    }

    fn unblock(&mut self, who: &Pattern, responder: Responder) {
        let same = |other: &Pattern| other.is_same(who);
        let blocked = &mut self.operator.overrides.blocked;
        let before = blocked.len();
        blocked.retain(|other| !same(other));
        if blocked.len() == before {
            let file = self.operator.settings.challenge.block.iter().any(same);
            return responder.fail(match file {
                true => format!("{who} is blocked in the configuration, by challenge.block"),
                false => format!("{who} was not blocked"),
            });
        }
        self.publish_note(format!("{who} is no longer blocked by the operator"));
        self.apply_settings();
        let name = who.to_string();
        let mut others = self.ctx.settings.challenge.block.iter();
        let done = match others.find(|other| other.matches(&name)) {
            Some(other) => {
                format!("the block of {who} is removed, but {other} blocks the same name")
            }
            None => format!("{who} is no longer blocked"),
        };
        self.save_and_respond(StateFile::Overrides, done, responder);
    }

    fn move_now(&self, id: &GameId, responder: Responder) {
        let Some(running) = self.games.get(id) else {
            return responder.fail(format!("no game {id} is running"));
        };
        let snapshot = running.snapshot();
        if snapshot.activity == Activity::Searching {
            running.send(GameCommand::MoveNow);
            responder.succeed(format!("{id}: the best move found so far is played"));
        } else if snapshot.our_turn_since.is_some() {
            responder.fail(format!("{id}: our move is already being posted"));
        } else {
            responder.fail(format!("{id}: it is not our turn"));
        }
    }

    /// Applies to games that start from now on.
    fn play(&mut self, who: Pattern, play: Play, responder: Responder) {
        self.operator.play.retain(|(other, _)| !other.is_same(&who));
        let done = match play == Play::default() {
            true => format!("the next games against {who} follow the rules again"),
            false => format!(
                "the next games against {who}: {}",
                describe(&play).join(", ")
            ),
        };
        self.publish_note(format!("operator: {done}"));
        if play != Play::default() {
            // The latest command counts.
            self.operator.play.insert(0, (who, play));
        }
        self.apply_settings();
        responder.succeed(done);
    }

    fn challenge(&mut self, challenge: OutgoingChallenge, responder: Responder) {
        if self.ctx.is_stopping() {
            return responder.fail(SHUTTING_DOWN);
        }
        if challenge.user == self.ctx.me {
            return responder.fail(format!(
                "{} is this account; name another user",
                challenge.user
            ));
        }
        if self.ctx.settings.is_own_account(challenge.user.as_str()) {
            let user = &challenge.user;
            return responder.fail(format!("{user} is another account of ours"));
        }
        if self.state.matches.against(&challenge.user).is_some() {
            let user = &challenge.user;
            return responder.fail(format!(
                "a match against {user} is running: see `knightwatch matches`"
            ));
        }
        let clocked = challenge.params.time_control.is_clock();
        if clocked && self.games.slots.is_full(true, clock::now()) {
            let concurrency = self.ctx.settings.games.concurrency;
            return responder.fail(match concurrency {
                1 => "the only slot is taken".to_owned(),
                concurrency => format!("all {concurrency} slots are taken"),
            });
        }
        // A refused challenge would extend the limit.
        if let Some(until) = self.state.quota.challenges_blocked_until(clock::date()) {
            let until = clock::format_date(until);
            return responder.fail(format!(
                "Lichess takes no challenges from us before {until}"
            ));
        }
        let source = ChallengeSource::Operator;
        self.send_challenge(source, challenge, None, |account, challenge, result| {
            account.on_challenge_sent(&challenge, result, responder);
        });
    }

    /// Handles the response to a challenge of the operator.
    fn on_challenge_sent(
        &mut self,
        sent: &OutgoingChallenge,
        result: SendResult,
        responder: Responder,
    ) {
        match result {
            SendResult::Created(challenge) => {
                let paused = match self.operator.overrides.paused {
                    true => "; the bot is paused, and this challenge is sent anyway",
                    false => "",
                };
                responder.succeed(self.track_challenge(challenge) + paused);
            }
            SendResult::Closed(challenge) => {
                let why = self.report_challenge_refused(&challenge);
                responder.succeed(format!("{}: {why}", challenge.id));
            }
            SendResult::NotCreated(_, failure) => {
                info!("cannot challenge {sent}: {failure}");
                responder.fail(match failure.may_have_worked() {
                    true => {
                        format!("{failure}; if the challenge was created anyway, it is tracked")
                    }
                    false => failure.to_string(),
                });
            }
        }
    }

    /// Tracks a challenge of the operator and returns the response. The game may be running by now.
    pub(super) fn track_challenge(&mut self, challenge: Box<Challenge>) -> String {
        let id = challenge.id.clone();
        let rated = if challenge.rated { "rated" } else { "casual" };
        let to = challenge.to();
        let user = to.map_or("nobody", Username::as_str);
        let time = challenge.time_control;
        info!(name: "challenge_sent", challenge = %id, "challenging {user} to {time}, {rated}, by operator command");
        let mut done = format!("{user} is challenged to {time}, {rated}: {id}");
        // Lichess cancels an older challenge to the same user without an event.
        self.look_up_challenges(|other| other.id != id && other.to() == to);
        if self.games.is_known(&id) {
            self.publish_challenge(&challenge, Decision::Accepted, BY_OPERATOR.to_owned());
            return done + ", and the game has started";
        }
        if challenge.time_control.is_clock() {
            let holder = slot_holder(&challenge);
            let until = clock::now() + ANSWER_TIMEOUT;
            self.games.slots.reserve_until(id.clone(), holder, until);
            if self.ctx.is_stopping() {
                self.cancel_challenge(challenge, SHUTTING_DOWN);
                return done + "; it is canceled, since the bot is shutting down";
            }
            let unanswered = id.clone();
            self.background
                .spawn(clock::sleep(ANSWER_TIMEOUT), move |account, ()| {
                    account.on_challenge_expired(&unanswered);
                });
            done += &format!(
                "; it is canceled without an answer within {} s",
                ANSWER_TIMEOUT.as_secs()
            );
        }
        self.operator.pending.insert(id, challenge);
        done
    }

    /// A challenge of the operator may have become a game.
    pub(super) fn on_operator_challenge_started(&mut self, id: &ChallengeId) {
        if let Some(challenge) = self.operator.pending.remove(id) {
            self.publish_challenge(&challenge, Decision::Accepted, BY_OPERATOR.to_owned());
        }
    }

    /// Handles a closed challenge, which may be one of the operator.
    pub(super) fn on_operator_challenge_closed(&mut self, answer: &Challenge) {
        if self.operator.pending.remove(&answer.id).is_some() {
            self.report_challenge_refused(answer);
        }
    }

    /// Handles the list of our open challenges. There is no event for a correspondence challenge that has expired, and
    /// one with a clock has a timer of ours.
    pub(super) fn on_own_challenges_listed(&mut self, open: &[Challenge]) {
        self.look_up_challenges(|challenge| {
            let is_listed = open.iter().any(|other| other.id == challenge.id);
            !is_listed && !challenge.time_control.is_clock()
        });
    }

    /// Asks Lichess what has become of these challenges of the operator. The answer also decides on one that was sent or
    /// accepted while a list was on its way.
    fn look_up_challenges(&mut self, which: impl Fn(&Challenge) -> bool) {
        let wanted = self.operator.pending_challenges();
        let wanted = wanted.filter(|challenge| which(challenge));
        let wanted: Vec<_> = wanted.map(|challenge| challenge.id.clone()).collect();
        for id in wanted {
            let client = self.ctx.client.clone();
            let request = async move { (client.challenge_by_id(&id).await, id) };
            self.background.spawn(request, |account, (found, id)| {
                account.on_challenge_looked_up(&id, found);
            });
        }
    }

    fn on_challenge_looked_up(&mut self, id: &ChallengeId, found: Result<Challenge, Failure>) {
        match found {
            Ok(challenge) => match challenge.status {
                ChallengeStatus::Accepted => self.on_operator_challenge_started(id),
                ChallengeStatus::Canceled | ChallengeStatus::Declined => {
                    self.on_challenge_closed(Box::new(challenge));
                }
                _ => {}
            },
            Err(failure) if failure.is_not_found() => {
                if let Some(challenge) = self.operator.pending.remove(id) {
                    let why = "it has expired without an answer";
                    info!(challenge = %id, "the operator's challenge was closed: {why}");
                    self.publish_challenge(&challenge, Decision::Dropped, why.to_owned());
                }
            }
            Err(failure) => {
                info!(challenge = %id, "cannot look up the challenge, trying again within a minute: {failure}");
            }
        }
    }

    /// Reports why a challenge of the operator was closed, and returns the reason.
    fn report_challenge_refused(&self, answer: &Challenge) -> String {
        let (decision, why) = closing_reason(answer);
        info!(challenge = %answer.id, "the operator's challenge was closed: {why}");
        self.publish_challenge(answer, decision, why.clone());
        why
    }

    /// Cancels a challenge of the operator that was not answered in time.
    fn on_challenge_expired(&mut self, id: &ChallengeId) {
        let Some(challenge) = self.operator.pending.remove(id) else {
            return;
        };
        info!(challenge = %id, "nobody has answered; canceling the challenge");
        self.cancel_challenge(challenge, NOT_ANSWERED);
    }

    fn join(&mut self, joining: ArenaEntry, responder: Responder) {
        if self.ctx.is_stopping() {
            return responder.fail(SHUTTING_DOWN);
        }
        let overrides = &mut self.operator.overrides;
        overrides.left_arenas.retain(|arena| *arena != joining.id);
        overrides.arenas.retain(|other| other.id != joining.id);
        overrides.arenas.push(joining.clone());
        self.save_then(StateFile::Overrides, |account, _| {
            account.tournaments.join(joining, Some(responder));
        });
    }

    fn leave_arena(&mut self, arena: &ArenaId, responder: Responder) {
        if !self.tournaments.leave_arena(arena) {
            return responder.fail(format!("{arena}: we have not joined it"));
        }
        let done = format!("{arena}: leaving it");
        self.operator.forget_arena(arena);
        self.operator.overrides.add_left(arena);
        self.save_and_respond(StateFile::Overrides, done, responder);
    }

    /// The next start need not join it again.
    pub(super) fn on_arena_over(&mut self, arena: &ArenaId) {
        if self.operator.forget_arena(arena) {
            self.save_then(StateFile::Overrides, |_, _| {});
        }
    }

    /// Applies changed settings or overrides. Returns the arenas that are left because of them.
    pub(super) fn apply_settings(&mut self) -> Vec<ArenaId> {
        let settings = self.operator.effective_settings();
        let games = &settings.games;
        let before = self.ctx.settings.games.concurrency;
        self.ctx
            .shared_load
            .update_concurrency(before, games.concurrency);
        self.games
            .slots
            .resize(games.concurrency, games.reserved_for_humans);
        self.ctx.settings = settings;
        self.publish_settings();
        let arenas = &self.operator.overrides.arenas;
        let left = self.tournaments.on_settings_changed(&self.ctx, arenas);
        self.matchmaking.set_settings(&self.ctx.settings);
        self.state.accepted_log.keep_for(&self.ctx.settings);
        self.status.repeat_idle();
        self.reassess_queue();
        left
    }

    /// Publishes settings and overrides at the start.
    pub(super) fn publish_initial_state(&self) {
        self.publish_settings();
        if self.operator.overrides.paused {
            self.publish_paused();
        }
    }

    fn publish_settings(&self) {
        let words = self.ctx.settings.describe();
        self.ctx.events.send(events::Event::Settings(words));
    }
}
