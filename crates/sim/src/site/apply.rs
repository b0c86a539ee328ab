//! Effects of changes, applied to the other subsystems and sent to streams; and periodic work.

use crate::faults::{GameProgress, StreamFault};
use crate::referee::Centis;
use crate::round::setup::Setup;
use crate::round::{COLORS, Round};
use crate::site::effect::ScheduledAction;
use crate::site::outage::Availability;
use crate::site::{AccountKind, Effect, GameId, Notice, SimTime, SiteState, Topic, UserId};
use crate::view::{challenge, game, spectator};
use crate::wire;

/// Clock compensation of the side to move and of the other side when the site stops.
const STOP_COMPENSATION: [Centis; 2] = [Centis(200), Centis(100)];
/// Clock compensation of both sides when the site is up again.
const START_COMPENSATION: Centis = Centis(2_000);

impl SiteState {
    /// Applies effects in order, each with those that follow from it.
    pub(crate) fn apply(&mut self, effects: Vec<Effect>, now: SimTime) {
        for effect in effects {
            self.apply_one(effect, now);
        }
    }

    fn apply_one(&mut self, effect: Effect, now: SimTime) {
        match effect {
            Effect::Challenge {
                challenge,
                status,
                to,
                compat,
            } => {
                let compat = compat.then_some(&to);
                let event = challenge::challenge_event(self, status, &challenge, compat, now);
                self.event_streams.send(&to, &wire::line(&event));
            }
            Effect::EndKeepAlive(feed, status) => {
                feed.push(challenge::done_line(status));
                feed.end();
            }
            Effect::Notify(user, notice) => self.event_streams.notify(&user, notice),
            Effect::NotifyAll(notice) => self.event_streams.notify_all(notice),
            Effect::Schedule(at, action) => self.schedule.add(at, action),
            Effect::Start(setup) => self.start_round(*setup, now),
            Effect::Rematch(previous, next) => self.rounds.set_rematch(previous, next),
            Effect::Pair(arena, users) => {
                let id = self.new_id();
                if let Some(setup) = self.arenas.start_pairing(arena, users, id) {
                    self.start_round(setup, now);
                }
            }
            Effect::Started(id) => self.on_start(id, now),
            Effect::States(id, states) => {
                for state in states {
                    let state = self.outage.skewed_view(state, now);
                    let line = game::state_line(&state, &self.quirks);
                    self.rounds.push(id, &line, |_| true);
                }
            }
            Effect::Finished(id) => self.on_finish(id, now),
            Effect::Deleted(id, users) => {
                self.spectators.end_game(id);
                for user in users {
                    self.users.end_game(&user, id);
                    self.event_streams.notify(&user, Notice::Game(id));
                }
            }
            Effect::Watched(id) => self.update_spectators(id),
            Effect::OpponentGone { game, to, claim_in } => {
                let line = game::opponent_gone_line(claim_in);
                self.rounds.push(game, &line, |color| color == to);
            }
        }
    }

    pub(crate) fn start_round(&mut self, setup: Setup, now: SimTime) {
        let users = setup.users.each_ref().map(|id| self.users.get(id));
        if users.iter().all(|user| user.bot) {
            let limit = self.limits.bot_games();
            for user in users {
                let name = user.id.as_str();
                self.limits.charge_unchecked(&limit, name, 1, now);
            }
        }
        let effects = self.rounds.start(setup, users, &mut self.rng, now);
        self.apply(effects, now);
    }

    fn on_start(&mut self, id: GameId, now: SimTime) {
        let Some(round) = self.rounds.get(id) else {
            return;
        };
        for user in round.users() {
            self.users.start_game(&user, id);
        }
        self.send_game_events(round, now);
        self.update_lists(round);
    }

    /// Records and archives a game that is over.
    fn on_finish(&mut self, id: GameId, now: SimTime) {
        self.rounds.end_streams(id);
        let result = self.rounds.get(id).and_then(|round| round.game_result(now));
        if let Some(result) = result {
            if let Some(diffs) = self.users.record(&result, now) {
                self.rounds.set_rating_diffs(id, diffs);
            }
            let mut users = result.users.iter().map(|id| self.users.get(id));
            if users.all(|user| user.account_kind == AccountKind::User) {
                let halves = result.halves();
                self.crosstables.count(&result.users, halves, now);
            }
        }
        let Some(round) = self.rounds.get(id) else {
            return;
        };
        for user in round.users() {
            self.users.end_game(&user, id);
        }
        self.send_game_events(round, now);
        let mut effects = Vec::new();
        if let Some(arena) = round.source.arena() {
            let perf = round.perf().key;
            let ratings = round.users().map(|user| {
                let rating = self.users.get(&user).rating(perf);
                (rating.value(), rating.is_provisional())
            });
            effects = self.arenas.on_game_over(arena, round, ratings);
        }
        self.update_lists(round);
        self.apply(effects, now);
        self.rounds.archive(id);
    }

    /// Informs both players that their game has started or ended.
    fn send_game_events(&self, round: &Round, now: SimTime) {
        for color in COLORS {
            let event = wire::line(&game::event(round, color, now));
            self.event_streams.send(&round.side(color).user, &event);
        }
    }

    /// Sends the start or end of a game to the list streams that watch it.
    fn update_lists(&self, round: &Round) {
        for feed in self.spectators.lists_with(round) {
            feed.push(spectator::update_line(round));
        }
    }

    /// Sends new positions to the spectators of a game.
    fn update_spectators(&mut self, id: GameId) {
        let Some(round) = self.rounds.get(id) else {
            return;
        };
        let visible = spectator::visible_plies(round);
        let is_over = !round.referee.is_running();
        // After a takeback, only the new moves are sent.
        for (feed, shown) in self.spectators.show(id, visible) {
            if visible > shown {
                feed.push(spectator::ply_lines(round, shown + 1, visible));
            }
            if is_over {
                feed.push(spectator::description_line(round));
            }
        }
        if is_over {
            self.spectators.end_game(id);
        }
    }

    /// Periodic work, once per second of the site's time.
    pub(crate) fn tick(&mut self, now: SimTime) {
        if self.is_down(now) {
            return;
        }
        self.challenges.tick(now);
        self.lobby.tick(now);
        let rounds = &self.rounds;
        self.rematches
            .remove_expired(now, |id| rounds.contains(*id));
        self.limits.remove_expired(now);
        for id in self.rounds.ongoing_ids() {
            let effects = self.rounds.tick(id, now);
            self.apply(effects, now);
        }
        for id in self.arenas.due(now) {
            let effects = self.arenas.organize(id, &mut self.rng, now);
            self.apply(effects, now);
        }
    }

    /// Runs due actions in the order in which they were scheduled.
    pub(crate) fn run_scheduled_actions(&mut self, now: SimTime) {
        if self.is_down(now) {
            return;
        }
        for action in self.schedule.take_due(now) {
            let effects = match action {
                ScheduledAction::Announce(id) => self.challenges.announce(id),
                ScheduledAction::AcceptRematch(user, next) => {
                    let previous = self.rematches.offered_after(&user, next);
                    let round = previous.and_then(|id| self.rounds.get(id));
                    round.map_or_else(Vec::new, |round| self.rematches.accept(&user, next, round))
                }
                ScheduledAction::DeclineRematch(user, next) => {
                    self.rematches.decline(&user, next, now);
                    Vec::new()
                }
            };
            self.apply(effects, now);
        }
    }

    /// Returns whether the site is down. Starts it first if its outage is over.
    pub(crate) fn is_down(&mut self, now: SimTime) -> bool {
        let back_at = match self.outage.check(now) {
            Availability::Up => return false,
            Availability::Down => return true,
            Availability::Back(back_at) => back_at,
        };
        self.limits.clear();
        for id in self.rounds.ongoing_ids() {
            self.rounds.on_site_restart(id, back_at);
            let effects = self.rounds.give_time(id, |_| START_COMPENSATION, now);
            self.apply(effects, now);
        }
        false
    }

    /// Stops the site until this time, and breaks all streams.
    pub(crate) fn go_down(&mut self, back_at: SimTime, fault: StreamFault, now: SimTime) {
        let bonus = |to_move: bool| STOP_COMPENSATION[usize::from(!to_move)];
        for id in self.rounds.ongoing_ids() {
            let effects = self.rounds.give_time(id, bonus, now);
            self.apply(effects, now);
        }
        self.break_streams(None, None, [true; 2], fault);
        self.challenges.inject_fault(fault);
        self.lobby.inject_fault(fault);
        self.spectators.inject_fault(fault);
        self.outage.begin(back_at);
    }

    /// Applies a fault to open streams of this user or of all, in this game or in all, to event streams and game
    /// streams as selected.
    pub(crate) fn break_streams(
        &self,
        user: Option<&str>,
        game: Option<&str>,
        [events, games]: [bool; 2],
        fault: StreamFault,
    ) {
        let user = user.map(UserId::of);
        let matches = |id: &UserId| user.as_ref().is_none_or(|user| user == id);
        if events {
            self.event_streams.inject_fault(matches, fault);
        }
        let only = game.and_then(GameId::parse_any);
        if games && only.is_some() == game.is_some() {
            self.rounds.inject_fault(only, matches, fault);
        }
    }

    /// Handles a keep-alive line of a stream. Lichess checks the clock of the game at that time.
    pub(crate) fn on_keep_alive(&mut self, topic: &Topic, now: SimTime) {
        if let Topic::Game { id, .. } = topic
            && !self.is_down(now)
        {
            let effects = self.rounds.check_flag(*id, now);
            self.apply(effects, now);
        }
    }

    /// Closes all streams, including broken and silent ones.
    pub(crate) fn close(&self) {
        self.spectators.close();
        self.event_streams.close();
        self.rounds.close();
        self.challenges.close_streams();
        self.lobby.close();
    }

    /// Progress of the ongoing games.
    pub(crate) fn progress(&self) -> Vec<GameProgress> {
        let rounds = self.rounds.ongoing();
        rounds
            .map(|round| GameProgress {
                game: round.id.to_string(),
                users: round.users().map(|user| user.to_string()),
                plies: round.referee.plies(),
            })
            .collect()
    }
}
