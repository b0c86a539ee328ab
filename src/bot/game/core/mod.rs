//! Pure state and decisions of one game.
//!
//! The game task ([`game`](crate::bot::game)) feeds it events with their time and carries out its decisions. A replay
//! ([`replay`](crate::bot::replay)) feeds it the events of a trace and compares the decisions. Nothing in this module does
//! I/O, waits, reads the time or uses randomness.

mod chat;
mod offers;
mod report;
mod timing;

use std::fmt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::choice::{self, ChosenMove};
use super::lag::Lag;
use crate::bot::chat::Throttle;
use crate::bot::game::draw_resign::{
    DrawResignDecision, ScoreTrend, Situation, chances, resign_by,
};
use crate::bot::game::header::GameHeader;
use crate::bot::game::moves::{Change, GameMoves, InvalidMoves, MovesUpdate, moves_after};
use crate::bot::game::pending_move::{Action, BoardUpdate, PendingMove, PostFailure};
use crate::bot::game::status::{Clocks, SuspendedGame};
use crate::bot::policy::{ChallengeFacts, MatchInput, PlaySettings};
use crate::chess::{CastlingNotation, Color, File};
use crate::config::Settings;
use crate::engine::{Strength, Wdl};
use crate::events::{SearchInfo, Timing};
use crate::external::{GameSetup, Opponent};
use crate::lichess::model::{GameFull, GameState};
pub(crate) use chat::{ChatContext, ChatRequest};
pub(crate) use offers::Offers;
pub(crate) use timing::TimeInputs;

/// State of one game and the decisions taken in it.
#[derive(Clone, Debug)]
pub(crate) struct GameCore {
    /// Header and moves; `None` until the first `gameFull`.
    game: Option<(GameHeader, GameMoves)>,
    /// The game as `[[rule]]` matching sees it; `None` until the first `gameFull`.
    match_input: Option<MatchInput>,
    /// Settings of this game, after rules.
    terms: PlaySettings,
    /// The move that we have to post.
    pending_move: PendingMove,
    /// Measured network lag.
    lag: Lag,
    /// The current turn.
    turn: Turn,
    /// Search report and timing of our last move, for chat commands.
    last_search: Option<(SearchInfo, Timing)>,
    /// Takebacks granted to the opponent.
    takebacks_granted: u32,
    /// Result (`1-0`) and winner of a finished game.
    result: Option<(&'static str, Option<Color>)>,
    score_trend: ScoreTrend,
    /// The move chosen for this turn.
    chosen: Option<ChosenMove>,
    /// The opponent's draw offer in the last state.
    opponent_offers_draw: bool,
    /// Our draw offer in the last state.
    our_draw_offered: bool,
    /// The opponent's takeback request in the last state.
    takeback_requested: bool,
    /// The opponent's draw offers in this position.
    draw_offer_count: u32,
    /// The opponent's takeback requests in this position.
    takeback_request_count: u32,
    throttle: Throttle,
    early_states: EarlyStates,
}

/// States that come before the `gameFull` of their stream. Lichess subscribes to the game before it computes that line from
/// what it had read earlier, so it may be older than they are.
#[derive(Clone, Debug, Default)]
struct EarlyStates {
    is_over: bool,
    latest: Option<(GameState, Instant)>,
}

/// A turn, from the state that began it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Arrival of that state.
    began: Instant,
    /// Our clock in the latest state, and the arrival of that state.
    our_clock: (Duration, Instant),
    /// The opponent's clock in the latest state.
    their_clock: Duration,
    /// Start of the first POST of our move.
    first_post_at: Option<Instant>,
    /// POSTs of our move so far.
    posts: u32,
    /// A POST failed and was delayed before its retry.
    backed_off: bool,
    /// Time from the first POST to the first accepted one.
    round_trip: Option<Duration>,
    /// Resyncs of the stream in this turn.
    resyncs: usize,
    /// Draw or resign decision for our move.
    decision: DrawResignDecision,
}

/// Result of applying a state of the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateUpdate {
    /// Change of the move list.
    pub moves_update: MovesUpdate,
    /// Next action for the pending move.
    pub action: Action,
    /// Ply at which our posted move appeared, if it did.
    pub echoed_at: Option<usize>,
    /// The turn before this state.
    pub previous_turn: Turn,
}

/// Decision other than a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideAction {
    AcceptDraw,
    DeclineDraw,
    AcceptTakeback,
    DeclineTakeback,
    Abort,
    ClaimVictory,
    ClaimDraw,
}

impl SideAction {
    /// Verb phrase for messages, as in "cannot accept the draw".
    pub fn describe(self) -> &'static str {
        match self {
            Self::AcceptDraw => "accept the draw",
            Self::DeclineDraw => "decline the draw",
            Self::AcceptTakeback => "accept the takeback",
            Self::DeclineTakeback => "decline the takeback",
            Self::Abort => "abort",
            Self::ClaimVictory => "claim victory",
            Self::ClaimDraw => "claim the draw",
        }
    }
}

/// Request that answers our turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostRequest {
    /// A move. With `draw` it offers a draw, or accepts the opponent's offer.
    Move { uci: String, draw: bool },
    /// Resignation.
    Resign,
}

/// `play e2e4`, `play e2e4 with a draw offer` or `resign`.
impl fmt::Display for PostRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move { uci, draw: false } => write!(f, "play {uci}"),
            Self::Move { uci, draw: true } => write!(f, "play {uci} with a draw offer"),
            Self::Resign => f.write_str("resign"),
        }
    }
}

impl GameCore {
    /// Creates the state of a game of which nothing has been received.
    pub(crate) fn new(settings: &Settings, now: Instant) -> Self {
        Self {
            game: None,
            match_input: None,
            terms: PlaySettings::defaults(settings),
            pending_move: PendingMove::default(),
            lag: Lag::default(),
            turn: Turn::new(Duration::ZERO, Duration::ZERO, now),
            last_search: None,
            takebacks_granted: 0,
            result: None,
            score_trend: ScoreTrend::default(),
            chosen: None,
            opponent_offers_draw: false,
            our_draw_offered: false,
            takeback_requested: false,
            draw_offer_count: 0,
            takeback_request_count: 0,
            throttle: Throttle::default(),
            early_states: EarlyStates::default(),
        }
    }

    /// Starts from the first `gameFull`, with the state kept while the game was suspended.
    pub(crate) fn start(
        &mut self,
        header: GameHeader,
        full: &GameFull,
        suspended: Option<SuspendedGame>,
    ) {
        self.match_input = Some(MatchInput::of_game(full, &header));
        let mut game_moves = GameMoves::new(header.initial.clone());
        if let Some(suspended) = suspended {
            self.score_trend = suspended.score_trend;
            self.takebacks_granted = suspended.takebacks_granted;
            self.last_search = suspended.last_search;
            game_moves = suspended.moves;
        }
        self.game = Some((header, game_moves));
    }

    /// Sets the facts of the challenge that the game comes from, and applies the rules.
    pub(crate) fn apply_rules(&mut self, settings: &Settings, facts: Option<ChallengeFacts>) {
        if let Some(match_input) = &mut self.match_input {
            match_input.facts = facts.unwrap_or_default();
            self.terms = PlaySettings::of(settings, match_input);
        }
    }

    /// Sets the settings of this game, as a trace has recorded them.
    pub(crate) fn set_terms(&mut self, terms: PlaySettings) {
        self.terms = terms;
    }

    /// Header and moves; `None` until the first `gameFull`.
    pub(crate) fn game(&self) -> Option<(&GameHeader, &GameMoves)> {
        self.game.as_ref().map(|(header, moves)| (header, moves))
    }

    /// Settings of this game, after rules.
    pub(crate) fn terms(&self) -> &PlaySettings {
        &self.terms
    }

    /// Facts about this game for an external engine.
    pub(crate) fn setup(&self) -> GameSetup {
        let them = self.match_input.as_ref();
        let has_clock = self.game().is_some_and(|(header, _)| header.has_clock());
        GameSetup {
            options: self.terms.options.clone(),
            opponent: them.map(|them| Opponent {
                name: them.display_name().to_owned(),
                title: them.title.clone().filter(|title| title != "BOT"),
                rating: them.rating.and_then(|rating| rating.try_into().ok()),
                is_computer: them.bot,
            }),
            opponent_time: has_clock.then_some(self.turn.their_clock),
        }
    }

    /// The move that we have to post.
    pub(crate) fn pending_move(&self) -> &PendingMove {
        &self.pending_move
    }

    /// The wait for the pending move is over.
    pub(crate) fn on_timeout(&mut self) -> Action {
        self.pending_move.on_timeout()
    }

    /// There is no move to choose from.
    pub(crate) fn on_no_move(&mut self) -> Action {
        self.pending_move.on_no_move()
    }

    /// Nothing is in flight for the pending move.
    pub(crate) fn recover(&mut self) -> Action {
        self.pending_move.recover()
    }

    /// Sets the result (`1-0`) and the winner of the finished game.
    pub(crate) fn finish(&mut self, result: &'static str, winner: Option<Color>) {
        self.result = Some((result, winner));
    }

    /// State to keep while the game is suspended.
    pub(crate) fn suspended(&self) -> Option<SuspendedGame> {
        let (_, game_moves) = self.game.as_ref()?;
        Some(SuspendedGame {
            moves: game_moves.clone(),
            score_trend: self.score_trend.clone(),
            takebacks_granted: self.takebacks_granted,
            last_search: self.last_search.clone(),
        })
    }

    /// A stream was opened.
    pub(crate) fn on_stream_opened(&mut self) {
        self.early_states = EarlyStates::default();
    }

    /// Takes the state of the `gameFull` of a stream. Returns the newest state that the stream has shown, with its arrival.
    pub(crate) fn on_full_state(
        &mut self,
        state: GameState,
        arrived: Instant,
    ) -> (GameState, Instant) {
        self.early_states.is_over = true;
        let is_newer = |early: &GameState| {
            let more = moves_after(&early.moves, &state.moves);
            more.is_some_and(|more| !more.is_empty())
        };
        match self.early_states.latest.take() {
            Some((early, arrived)) if is_newer(&early) => (early, arrived),
            _ => (state, arrived),
        }
    }

    /// Applies a state of the stream. `fresh`: the state is in the first line of a new stream. Returns `None` before the
    /// first `gameFull`, which contains the whole state.
    ///
    /// # Errors
    /// The move list is not playable.
    pub(crate) fn on_state(
        &mut self,
        state: &GameState,
        arrived: Instant,
        fresh: bool,
    ) -> Result<Option<StateUpdate>, InvalidMoves> {
        if !self.early_states.is_over {
            self.early_states.latest = Some((state.clone(), arrived));
        }
        let Some((header, game_moves)) = &mut self.game else {
            return Ok(None);
        };
        let moves_update = game_moves.apply_state(state, header.us)?;
        let previous_turn = self.turn;
        let (clock, their_clock) = (state.time(header.us), state.time(!header.us));
        let echoed_at = match (moves_update.change, self.pending_move.chosen_move()) {
            (Change::Appended { from }, Some(mv)) => {
                (game_moves.game().moves()[from] == mv).then_some(from)
            }
            _ => None,
        };
        self.turn = match moves_update.change {
            Change::Unchanged => Turn {
                our_clock: (clock, arrived),
                their_clock,
                ..previous_turn
            },
            _ => Turn::new(clock, their_clock, arrived),
        };
        let board = BoardUpdate::new(moves_update, fresh);
        let action = self.pending_move.on_board(board);
        Ok(Some(StateUpdate {
            moves_update,
            action,
            echoed_at,
            previous_turn,
        }))
    }

    /// Does the part of [`on_state`](Self::on_state) that must not delay our move. Returns report and timing of our move if
    /// it has just appeared on the board.
    pub(crate) fn finish_update(
        &mut self,
        update: &StateUpdate,
        state: &GameState,
        now: Instant,
    ) -> Option<(SearchInfo, Timing)> {
        let shown = update
            .echoed_at
            .and_then(|at| self.measure_move(at, update.previous_turn, state, now));
        if shown.is_some() {
            self.last_search.clone_from(&shown);
        }
        if matches!(update.moves_update.change, Change::Replaced { .. }) {
            self.last_search = None;
            self.score_trend.reset();
        }
        shown
    }

    /// Returns whether the opponent has yet to make their first move and we may abort. Tournaments handle this
    /// themselves.
    pub(crate) fn awaits_first_move(&self) -> bool {
        self.game.as_ref().is_some_and(|(header, game_moves)| {
            let waiting = game_moves.ply() < 2
                && game_moves.turn() != header.us
                && !self.pending_move.is_over();
            waiting && !header.tournament && header.has_clock()
        })
    }

    /// The claim allowed when the opponent has left.
    pub(crate) fn claimable(&self) -> Option<SideAction> {
        let (header, game_moves) = self.game.as_ref()?;
        if game_moves.turn() == header.us {
            return None;
        }
        Some(match game_moves.position().has_mating_material(header.us) {
            true => SideAction::ClaimVictory,
            false => SideAction::ClaimDraw,
        })
    }

    /// Explains an action, for log and trace.
    pub(crate) fn reason(&self, act: SideAction) -> String {
        let (granted, max) = (self.takebacks_granted, self.terms.takebacks);
        match act {
            SideAction::AcceptDraw => {
                "accepting the draw: no winning chances for several moves".to_owned()
            }
            SideAction::DeclineDraw => self.draw_refusal(),
            SideAction::AcceptTakeback => format!("accepting the takeback, {granted} of {max}"),
            SideAction::DeclineTakeback if max == 0 => {
                "declining the takeback: not allowed for this opponent".to_owned()
            }
            SideAction::DeclineTakeback => {
                format!("declining the takeback: {granted} of {max} already granted")
            }
            SideAction::Abort => "aborting: the opponent made no first move".to_owned(),
            SideAction::ClaimVictory => "claiming victory: the opponent left".to_owned(),
            SideAction::ClaimDraw => "claiming a draw: the opponent left".to_owned(),
        }
    }

    /// Explains why the draw offer is not accepted.
    fn draw_refusal(&self) -> String {
        let plies = self.game().map_or(0, |(_, game_moves)| game_moves.ply());
        let why = self.score_trend.decline_reason(plies, &self.terms.draw);
        format!("declining the draw: {why}")
    }

    /// Returns whether a draw is accepted after the searches so far.
    fn accepts_draw(&self) -> bool {
        let game = self.game();
        game.is_some_and(|(_, game_moves)| {
            self.score_trend.accepts(game_moves.ply(), &self.terms.draw)
        })
    }

    /// Returns whether the opponent's draw offer is open.
    pub(crate) fn is_draw_offered(&self) -> bool {
        self.opponent_offers_draw
    }

    /// Explains why our chosen move does not accept an open draw offer; `None` if there is none or it is accepted.
    pub(crate) fn draw_refusal_on_move(&self) -> Option<String> {
        let draw_refusal_on_move =
            self.opponent_offers_draw && self.turn.decision != DrawResignDecision::Draw;
        draw_refusal_on_move.then(|| self.draw_refusal())
    }

    /// Strength limit; `None` for full strength.
    pub(crate) fn strength(&self) -> Option<Strength> {
        let (header, _) = self.game.as_ref()?;
        Some(Strength {
            elo: self.terms.strength.level()?,
            seed: choice::game_id_hash(&header.id),
        })
    }

    /// Takes the chosen move. Returns the draw or resign decision, if there was one to make, and the next action.
    pub(crate) fn on_move_chosen(
        &mut self,
        choice: ChosenMove,
    ) -> (Option<DrawResignDecision>, Action) {
        let mut decision = None;
        if let Some(search) = choice.search.as_ref().filter(|search| search.depth > 0) {
            let (score, draw, resign) = (search.score, &self.terms.draw, &self.terms.resign);
            if let Some((header, game_moves)) = &self.game {
                let situation = Situation {
                    ply: game_moves.ply(),
                    offered: self.opponent_offers_draw,
                    their_time: header.has_clock().then_some(self.turn.their_clock),
                };
                let position = game_moves.position();
                let resign = &resign_by(position.variant(), resign);
                let wdl = search.wdl.map(Wdl::from_permille);
                let wdl = wdl.unwrap_or_else(|| chances(score, position));
                self.score_trend.record(score, wdl, draw, resign);
                self.turn.decision = self.score_trend.decide(situation, draw, resign);
                decision = Some(self.turn.decision);
            }
        } else if self.opponent_offers_draw && self.accepts_draw() {
            self.turn.decision = DrawResignDecision::Draw;
            decision = Some(self.turn.decision);
        }
        let action = self.pending_move.on_move_chosen(choice.mv);
        self.chosen = Some(choice);
        (decision, action)
    }

    /// Builds the request for the pending move, which was rejected `rejections` times.
    pub(crate) fn post_request(&mut self, rejections: u32, now: Instant) -> Option<PostRequest> {
        let ((header, _), mv) = (self.game.as_ref()?, self.pending_move.chosen_move()?);
        // Castling that was rejected is retried in the other notation, unless that could be a king step.
        let notations = if mv.from().file() == File::E { 2 } else { 1 };
        let castling = match (header.castling, rejections % notations) {
            (CastlingNotation::Standard, 0) | (CastlingNotation::KingTakesRook, 1) => {
                CastlingNotation::Standard
            }
            _ => CastlingNotation::KingTakesRook,
        };
        self.turn.first_post_at.get_or_insert(now);
        self.turn.posts += 1;
        Some(match self.turn.decision {
            DrawResignDecision::Resign => PostRequest::Resign,
            decision => PostRequest::Move {
                uci: mv.uci(castling).to_string(),
                draw: decision == DrawResignDecision::Draw,
            },
        })
    }

    /// Takes the response to a POST.
    pub(crate) fn on_response(&mut self, answer: Result<(), PostFailure>, now: Instant) -> Action {
        if answer == Err(PostFailure::Rejected) {
            // A move rejected with a draw offer may be accepted without it; a rejected resignation becomes a move.
            self.turn.decision = DrawResignDecision::Play;
        }
        match (answer, self.turn.first_post_at) {
            (Ok(()), Some(posted)) => {
                let took = now.saturating_duration_since(posted);
                self.turn.round_trip.get_or_insert(took);
            }
            (answer, _) => self.turn.backed_off |= matches!(answer, Err(PostFailure::Retry(_))),
        }
        self.pending_move.on_response(answer)
    }

    /// Both clocks; `None` in a game without them.
    pub(crate) fn clocks(&self) -> Option<Clocks> {
        let (header, game_moves) = self.game.as_ref()?;
        let (ours, at) = self.turn.our_clock;
        header.has_clock().then_some(Clocks {
            ours,
            theirs: self.turn.their_clock,
            at,
            running: game_moves.ply() >= 2 && !self.pending_move.is_over(),
        })
    }
}

impl Turn {
    fn new(clock: Duration, their_clock: Duration, at: Instant) -> Self {
        Self {
            began: at,
            our_clock: (clock, at),
            their_clock,
            first_post_at: None,
            posts: 0,
            backed_off: false,
            round_trip: None,
            resyncs: 0,
            decision: DrawResignDecision::Play,
        }
    }
}
