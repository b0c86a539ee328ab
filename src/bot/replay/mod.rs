//! Replay of games without network, engine or clock.
//!
//! Feeds recorded or generated lines of a stream to the `core` of the game task. Whatever a server
//! sends, the core must not panic, use unbounded memory, or search a position that is not on the board. From a
//! [trace](super::trace), a replay repeats the decisions for comparison (`command`).

mod command;
mod compare;
mod format;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::trace::{
    Bounds, Decision, EffectiveSettings, FoundMove, Header, Record, STREAM_OPEN, TimerKind, nanos,
};
use crate::bot::game::core::{ChatContext, ChatRequest, GameCore, StateUpdate, TimeInputs};
use crate::bot::game::header::GameHeader;
use crate::bot::game::pending_move::Action;
use crate::bot::game::status::SuspendedGame;
use crate::chess::Position;
use crate::config::Settings;
use crate::engine::Limits;
use crate::events::Source;
use crate::lichess::model::{FromLine, GameEvent, GameInfo, GameState, Username};

pub use command::{CommandError, Options, replay_command};

/// Outcome of a line.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Nothing for the board: chat, an absent opponent, an unreadable line.
    Nothing,
    /// The game cannot be played; the reason.
    Unsupported(String),
    /// The move list is not playable and the stream would be reopened; the reason.
    InvalidMoves(String),
    /// The state was applied; no move has to be chosen.
    Updated,
    /// A move has to be chosen in this position, within these limits.
    Think(Box<Position>, Box<Limits>),
    /// The game is over.
    Over,
}

/// A game that is replayed.
#[derive(Debug)]
pub struct Replay {
    me: Username,
    /// The game according to the account stream.
    info: Option<GameInfo>,
    settings: EffectiveSettings,
    core: GameCore,
    /// State of the previous session of a suspended game.
    suspended: Option<SuspendedGame>,
    began: Instant,
    /// Decisions that were not compared yet.
    expected: VecDeque<Expected>,
    /// A move has to be found now.
    searching: bool,
    /// A command has to be answered now.
    chat_request: Option<ChatRequest>,
    /// State whose update has not been finished, since that must not delay our move.
    deferred: Option<(StateUpdate, GameState, Instant)>,
}

/// Decision of the replay.
#[derive(Clone, Debug)]
enum Expected {
    Decision(Decision),
    /// Post the chosen move, which was rejected this many times. The request is built when it is compared, since its time counts
    /// from then.
    Post(u32),
}

impl Replay {
    /// Creates a replay of a game of this account.
    pub fn new(me: Username) -> Self {
        let (settings, began) = (Settings::default(), Instant::now());
        Self {
            me,
            info: None,
            settings: EffectiveSettings::of(&settings),
            core: GameCore::new(&settings, began),
            suspended: None,
            began,
            expected: VecDeque::new(),
            searching: false,
            chat_request: None,
            deferred: None,
        }
    }

    /// Creates a replay of a session of a trace.
    fn from_header(header: &Header, suspended: Option<SuspendedGame>) -> Self {
        let info = header.color.as_ref().and_then(|color| {
            let info = serde_json::json!({"gameId": header.game, "color": color});
            serde_json::from_value(info).ok()
        });
        Self {
            info,
            settings: header.settings.clone(),
            suspended,
            ..Self::new(Username::new(&header.account))
        }
    }

    /// Takes the next line of the stream, without its line break.
    pub fn on_line(&mut self, line: &str) -> Outcome {
        let outcome = self.on_event(GameEvent::from_line(line), self.began);
        self.finish_update();
        self.expected.clear();
        let game = self.core.game().filter(|_| self.searching);
        self.searching = false;
        match game {
            Some((_, game_moves)) => {
                let limits = self
                    .core
                    .limits(self.time_inputs(Duration::ZERO, 1, 1, false));
                Outcome::Think(Box::new(game_moves.position().clone()), Box::new(limits))
            }
            None => outcome,
        }
    }

    fn on_event(&mut self, event: GameEvent, at: Instant) -> Outcome {
        match event {
            GameEvent::Full(full) => {
                if self.core.game().is_none() {
                    match GameHeader::read(&full, &self.me, self.info.as_ref()) {
                        Ok(header) => self.core.start(header, &full, self.suspended.take()),
                        Err(unsupported) => return Outcome::Unsupported(unsupported.to_string()),
                    }
                }
                let (state, at) = self.core.on_full_state(full.state, at);
                self.on_state(state, at, true)
            }
            GameEvent::State(state) => self.on_state(state, at, false),
            GameEvent::Chat(line) => {
                self.chat_request =
                    self.core
                        .read_command(&line, &self.me, &self.settings.chat, at);
                Outcome::Nothing
            }
            _ => Outcome::Nothing,
        }
    }

    fn on_state(&mut self, state: GameState, at: Instant, fresh: bool) -> Outcome {
        let update = match self.core.on_state(&state, at, fresh) {
            Ok(Some(update)) => update,
            Ok(None) => return Outcome::Nothing,
            Err(unplayable) => return Outcome::InvalidMoves(unplayable.to_string()),
        };
        self.perform(update.action);
        self.deferred = Some((update, state, at));
        match update.moves_update.over {
            true => Outcome::Over,
            false => Outcome::Updated,
        }
    }

    /// Does what the game task does with a state after its move is posted.
    fn finish_update(&mut self) {
        let Some((update, state, at)) = self.deferred.take() else {
            return;
        };
        self.core.finish_update(&update, &state, at);
        let changed = update.moves_update.change != crate::bot::game::moves::Change::Unchanged;
        let offers = self.core.offers(&state, changed);
        self.expect(offers.actions.into_iter().map(Decision::SideAction));
        self.perform(offers.action.unwrap_or(Action::Continue));
    }

    fn perform(&mut self, action: Action) {
        if action == Action::Continue {
            return;
        }
        self.searching = action == Action::Search;
        let expected = match action {
            Action::Continue | Action::Cancel | Action::Search => None,
            Action::Post { rejections, .. } => Some(Expected::Post(rejections)),
            Action::Wait(wait) => Some(Expected::Decision(Decision::Wait(nanos(wait)))),
            Action::Resync(within) => Some(Expected::Decision(Decision::Resync(nanos(within)))),
        };
        self.expected.extend(expected);
    }

    fn expect(&mut self, decisions: impl IntoIterator<Item = Decision>) {
        self.expected
            .extend(decisions.into_iter().map(Expected::Decision));
    }

    fn time_inputs(
        &self,
        elapsed: Duration,
        games: usize,
        concurrency: usize,
        ponders: bool,
    ) -> TimeInputs {
        TimeInputs {
            elapsed,
            games,
            concurrency,
            ponders,
            safety_margin: self.settings.move_overhead,
            max_move_time: self.settings.max_move_time,
        }
    }

    /// Returns whether the game task adds this record while it handles a line.
    fn is_part_of_line(&self, record: &Record) -> bool {
        match record {
            Record::PlaySettings(_) => true,
            Record::Turn { .. } => self.searching,
            Record::FoundMove(found) => {
                let is_search = matches!(found.source, Source::Search | Source::Fallback);
                self.searching && !is_search
            }
            _ => false,
        }
    }

    /// Takes the next decision, as carried out at this time.
    fn next_decision(&mut self, at: Instant) -> Option<Decision> {
        if self.expected.is_empty() {
            self.finish_update();
        }
        match self.expected.pop_front()? {
            Expected::Decision(decision) => Some(decision),
            Expected::Post(rejections) => {
                self.core.post_request(rejections, at).map(Decision::Post)
            }
        }
    }

    /// Takes what should have happened before the next event, if anything.
    fn take_missing(&mut self) -> Option<&'static str> {
        let request = self.chat_request.take().is_some();
        let searching = std::mem::take(&mut self.searching);
        match (searching, request) {
            (true, _) => Some("choose a move"),
            (false, true) => Some("answer a command"),
            (false, false) => None,
        }
    }

    /// Takes a record that is not a decision.
    ///
    /// # Errors
    /// The record is not possible now; the reason.
    fn on_record(&mut self, at: Instant, record: &Record) -> Result<(), String> {
        match record {
            Record::Line(line) => drop(self.on_event(GameEvent::from_line(line), at)),
            Record::PlaySettings(terms) => self.core.set_terms((**terms).clone()),
            Record::Turn {
                elapsed,
                games,
                concurrency,
                ponders,
            } => {
                if !std::mem::take(&mut self.searching) {
                    return Err("no move has to be chosen".to_owned());
                }
                let elapsed = Duration::from_nanos(*elapsed);
                let time_inputs = self.time_inputs(elapsed, *games, *concurrency, *ponders);
                let bounds = Bounds::from(&self.core.limits(time_inputs));
                self.expect([Decision::Think(bounds)]);
            }
            Record::FoundMove(found) => self.on_found(found)?,
            Record::NoMove => {
                let action = self.core.on_no_move();
                self.perform(action);
            }
            Record::PostResponse(response) => {
                let result = response.error.map_or(Ok(()), Err);
                let action = self.core.on_response(result, at);
                self.perform(action);
            }
            Record::Timeout => {
                let action = self.core.on_timeout();
                self.perform(action);
            }
            Record::Recover => {
                let action = self.core.recover();
                self.perform(action);
            }
            Record::Timer(TimerKind::Abort) => {
                let awaited = self.core.awaits_first_move();
                let act = awaited.then_some(crate::bot::game::core::SideAction::Abort);
                self.expect(act.map(Decision::SideAction));
            }
            Record::Timer(TimerKind::Claim) => {
                let act = self.core.claimable();
                self.expect(act.map(Decision::SideAction));
            }
            Record::ChatRequest {
                games,
                waiting,
                extends_wait,
            } => {
                let request = self.chat_request.take().ok_or("no command was asked")?;
                let context = ChatContext {
                    me: &self.me,
                    chat: &self.settings.chat,
                    challenge: &self.settings.challenge,
                    now: at,
                    games: *games,
                    waiting: *waiting,
                    extends_wait: *extends_wait,
                };
                let answer = self.core.answer(&request, &context);
                self.expect(answer.map(Decision::Chat));
            }
            Record::Note(note) if note == STREAM_OPEN => self.core.on_stream_opened(),
            Record::Decision(..) | Record::Note(_) | Record::End(_) | Record::Missing(_) => {}
        }
        Ok(())
    }

    fn on_found(&mut self, found: &FoundMove) -> Result<(), String> {
        let Some((_, game_moves)) = self.core.game() else {
            return Err("no board was received yet".to_owned());
        };
        let game = game_moves.game();
        let choice = found
            .choice(game)
            .ok_or_else(|| format!("{} is not legal here", found.uci))?;
        let moves = game.position().legal_moves().len();
        let fits = match found.source {
            Source::Only => moves == 1,
            Source::Book => moves > 1 && self.core.terms().book.are_used(),
            Source::Search | Source::Fallback => moves > 1,
        };
        if !fits {
            return Err(format!(
                "a move from this source would not be chosen with {moves} legal moves"
            ));
        }
        self.searching = false;
        let (_, action) = self.core.on_move_chosen(choice);
        self.perform(action);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bot::game::choice::ChosenMove;
    use crate::bot::game::draw_resign::DrawResignDecision;
    use crate::chess::Game;
    use crate::config::Draw;
    use crate::engine::{Score, Searcher, Setting};

    fn full(fen: &str, moves: &str, time: &str) -> String {
        format!(
            r#"{{"id":"abcdefgh","variant":{{"key":"standard"}},"speed":"blitz","rated":false,"white":{{"id":"me","name":"Me"}},
            "black":{{"id":"you","name":"You"}},"initialFen":"{fen}","clock":{{"initial":{time},"increment":0}},
            "type":"gameFull","state":{{"type":"gameState","moves":"{moves}","wtime":{time},"btime":{time},"winc":0,
            "binc":0,"status":"started"}}}}"#
        )
        .replace('\n', " ")
    }

    fn replay() -> Replay {
        Replay::new(Username::new("Me"))
    }

    #[test]
    fn game_is_replayed_line_by_line() {
        let mut game = replay();
        let first = game.on_line(&full("startpos", "", "180000"));
        assert!(matches!(first, Outcome::Think(..)), "{first:?}");
        let state = |moves: &str, status: &str| {
            format!(
                r#"{{"type":"gameState","moves":"{moves}","wtime":1,"btime":1,"winc":0,"binc":0,"status":"{status}"}}"#
            )
        };
        assert!(matches!(
            game.on_line(&state("e2e4", "started")),
            Outcome::Updated
        ));
        let Outcome::Think(position, _) = game.on_line(&state("e2e4 e7e5", "started")) else {
            panic!("it is our turn");
        };
        assert_eq!(position.fullmove_number(), 2);
        assert!(matches!(
            game.on_line(&state("e2e4 e7e5 e1e3", "started")),
            Outcome::InvalidMoves(_)
        ));
        assert!(matches!(
            game.on_line(&state("e2e4", "mate")),
            Outcome::Over
        ));
    }

    fn state(moves: &str, fields: &str) -> String {
        format!(
            r#"{{"type":"gameState","moves":"{moves}","wtime":9000,"btime":9000,"winc":0,"binc":0,"status":"started"{fields}}}"#
        )
    }

    #[test]
    fn state_before_an_older_full_counts() {
        let plies = |game: &Replay| game.core.game().map(|(_, game_moves)| game_moves.ply());
        // The stream of a new game: the first move comes before the line that starts the game.
        let mut game = replay();
        assert!(matches!(
            game.on_line(&state("e2e4 e7e5", "")),
            Outcome::Nothing
        ));
        let first = game.on_line(&full("startpos", "", "180000"));
        assert!(matches!(first, Outcome::Think(..)), "{first:?}");
        assert_eq!(plies(&game), Some(2));
        // A stream that was opened again.
        game.on_line(&state("e2e4 e7e5 g1f3", ""));
        game.core.on_stream_opened();
        game.on_line(&state("e2e4 e7e5 g1f3 b8c6", ""));
        game.on_line(&full("startpos", "e2e4 e7e5 g1f3", "180000"));
        assert_eq!(plies(&game), Some(4));
        // A takeback while the stream was closed.
        game.core.on_stream_opened();
        game.on_line(&full("startpos", "e2e4 e7e5", "180000"));
        assert_eq!(plies(&game), Some(2));
        // A state that is older.
        game.core.on_stream_opened();
        game.on_line(&state("e2e4", ""));
        game.on_line(&full("startpos", "e2e4 e7e5", "180000"));
        assert_eq!(plies(&game), Some(2));
    }

    #[test]
    fn draw_is_accepted_with_a_move_that_needs_no_search() {
        let settings = Settings {
            draw: Draw {
                accept: true,
                min_move: 1,
                min_level_moves: 1,
                ..Draw::default()
            },
            ..Settings::default()
        };
        let mut game = replay();
        game.on_line(&full("startpos", "", "180000"));
        game.core.apply_rules(&settings, None);
        let chosen = |uci: &str, search| ChosenMove {
            mv: Position::startpos().parse_uci(uci).expect("a legal move"),
            source: Source::Search,
            search,
            transcript: Vec::new(),
            fallback: None,
        };
        let mut searcher = Searcher::new(1, &Setting::default());
        let one_ply = Limits {
            depth: Some(1),
            ..Limits::default()
        };
        let mut level = searcher.search(&Game::new(Position::startpos()), &one_ply);
        (level.score, level.wdl) = (Score::Centipawns(0), Some([0, 1000, 0]));
        for (fields, expected) in [
            ("", None),
            (",\"bdraw\":true", Some(DrawResignDecision::Draw)),
        ] {
            game.core
                .on_move_chosen(chosen("a2a3", Some(level.clone())));
            game.on_line(&state("a2a3 a7a6", fields));
            let (decision, _) = game.core.on_move_chosen(chosen("h2h3", None));
            assert_eq!(decision, expected, "{fields}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_lines_do_not_panic(
            lines in prop::collection::vec(".{0,200}", 0..8),
            fen in "[ -~]{0,80}",
            moves in "([a-i][0-9][a-i][0-9][qrbnk]? ?){0,20}",
            time in "-?[0-9]{1,25}",
        ) {
            let mut game = replay();
            game.on_line(&full("startpos", "", "180000"));
            game.on_line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
            game.on_line(&full("startpos", &moves, &time));
            for line in &lines {
                game.on_line(line);
            }
            let mut fresh = replay();
            fresh.on_line(&full(&fen.replace(['"', '\\'], " "), &moves, &time));
        }
    }
}
