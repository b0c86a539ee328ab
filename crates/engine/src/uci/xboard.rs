//! XBoard's protocol: the Chess Engine Communication Protocol, version 2, by Tim Mann and H.G. Muller (2009).
//!
//! Unlike in UCI, the engine keeps the game: it makes its own moves on it, and is told only those of the opponent. So
//! lines of input and results of searches are handled in one loop, in the order in which they arrive.

mod clock;
mod format;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use self::clock::Clocks;
use self::format::{Notation, features, parse_move, thinking_line};
use super::format::game_result;
use super::options::{self, Kind, MAX_HASH_MIB};
use super::session::Session;
use super::{Line, Lines};
use crate::{Limits, MAX_THREADS, Score, SearchHandle, SearchInfo};
use knightwatch_chess::{CastlingNotation, Color, Game, Move, Position, Variant};
use knightwatch_util::sync::lock;

/// Events that wait for the loop; the reader of the input waits when there are more.
const MAX_WAITING_EVENTS: usize = 64;

/// A draw offer is accepted at this score of the engine or a lower one, in centipawns: early in the game ...
const DRAW_SCORE: i32 = -100;
/// ... and from this move on.
const LATE_DRAW_SCORE: i32 = 0;
const LATE_MOVE: u32 = 40;

/// Serves a GUI that has sent `xboard`, until it sends `quit` or closes the input.
pub(super) fn run(lines: Lines<impl BufRead + Send>, session: Session) -> io::Result<()> {
    let (sender, events) = mpsc::sync_channel(MAX_WAITING_EVENTS);
    let output = session.output.clone();
    let mut xboard = Xboard::new(session, sender.clone());
    std::thread::scope(|scope| {
        scope.spawn(move || send_lines(lines, &sender));
        let ended = events.iter().find_map(|event| {
            match event {
                Event::Line(Line::Text(line)) if line == "quit" => return Some(Ok(())),
                Event::Line(Line::Text(line)) => xboard.execute(&line),
                Event::Line(Line::TooLong) => xboard.refuse_long_line(),
                Event::InputEnded(result) => return Some(result),
                Event::Done(search, info) => xboard.search_done(search, &info),
            }
            output.check().err().map(Err)
        });
        // Closed first, so that a search that ends now does not wait for the loop.
        drop(events);
        drop(xboard);
        ended.unwrap_or(Ok(()))
    })?;
    output.check()
}

/// Sends the lines of the input as events, up to `quit`.
fn send_lines(lines: Lines<impl BufRead>, sender: &SyncSender<Event>) {
    for line in lines {
        let event = match line {
            Ok(line) => Event::Line(line),
            Err(error) => Event::InputEnded(Err(error)),
        };
        let is_last = match &event {
            Event::Line(Line::Text(text)) => text == "quit",
            Event::Line(Line::TooLong) => false,
            Event::InputEnded(_) | Event::Done(..) => true,
        };
        if sender.send(event).is_err() || is_last {
            return;
        }
    }
    // The loop may have ended.
    let _ = sender.send(Event::InputEnded(Ok(())));
}

enum Event {
    Line(Line),
    InputEnded(io::Result<()>),
    /// The search of this number has ended.
    Done(u64, SearchInfo),
}

/// Purpose of a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To make a move.
    Move,
    /// To have an answer if the opponent makes this move.
    Ponder(Move),
    Analysis,
}

struct Search {
    number: u64,
    handle: SearchHandle,
    purpose: Purpose,
    /// Start of the engine's turn: of the search, or of the ponder hit.
    began: Instant,
}

struct Xboard {
    session: Session,
    sender: SyncSender<Event>,
    /// The side that the engine plays; `None` in force mode and in analysis.
    side: Option<Color>,
    is_analyzing: bool,
    /// Whether thinking output is written.
    posts: Arc<AtomicBool>,
    /// Number of the search that may be shown.
    current: Arc<Mutex<u64>>,
    clocks: Clocks,
    search: Option<Search>,
    /// Searches so far: results of earlier ones are ignored.
    searches: u64,
    /// The latest information of the running search.
    latest: Arc<Mutex<Option<SearchInfo>>>,
    /// Pings that are answered after the engine's move.
    pings: Vec<String>,
    /// Score of the last move that the engine made.
    score: Option<Score>,
    /// The reply that the engine expects.
    hint: Option<Move>,
}

/// Error of a command, as the protocol writes it: type and message before the command.
type CommandError = &'static str;

const UNKNOWN: CommandError = "unknown command";
const BAD_ARGUMENT: CommandError = "bad argument";
const NOT_LEGAL_NOW: CommandError = "command not legal now";
const NO_POSITION: CommandError = "illegal position";

impl Xboard {
    fn new(mut session: Session, sender: SyncSender<Event>) -> Xboard {
        // What UCI has started and set is over.
        session.stop();
        session.variant = Variant::Standard;
        session.notation = CastlingNotation::Standard;
        session.game = Some(Game::new(Position::startpos()));
        session.output.set_comment_prefix("#");
        // The newline that the protocol asks for.
        session.output.write_line("");
        Xboard {
            session,
            sender,
            side: Some(Color::Black),
            is_analyzing: false,
            posts: Arc::new(AtomicBool::new(false)),
            current: Arc::default(),
            clocks: Clocks::default(),
            search: None,
            searches: 0,
            latest: Arc::default(),
            pings: Vec::new(),
            score: None,
            hint: None,
        }
    }

    fn write(&self, text: &str) {
        self.session.output.write_line(text);
    }

    fn execute(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Err(error) = self.try_execute(line, &words) {
            self.write(&format!("Error ({error}): {line}"));
        }
    }

    fn try_execute(&mut self, line: &str, words: &[&str]) -> Result<(), CommandError> {
        match *words {
            [] => {}
            [
                "accepted" | "rejected" | "random" | "computer" | "name" | "rating" | "ics"
                | "egtpath" | "otim" | "xboard",
                ..,
            ] => {}
            ["protover", ..] => self.write(&features()),
            ["new"] => self.new_game(),
            ["variant", name] => self.set_variant(name)?,
            ["force"] | ["result", ..] => self.force(),
            ["go"] => self.play(true)?,
            ["playother"] => {
                self.play(false)?;
                if self.session.ponders && self.side.is_some() {
                    self.hint = self.hint.or_else(|| self.known_reply());
                    self.ponder();
                }
            }
            ["level", moves, base, increment] => self.clocks.set_level(moves, base, increment)?,
            ["st", seconds] => self.clocks.set_seconds_per_move(seconds)?,
            ["sd", depth] => self.clocks.set_depth(depth)?,
            ["time", centiseconds] => self.clocks.set_remaining(centiseconds)?,
            ["usermove", text] => self.user_move(text)?,
            ["?"] => {
                if let Some(search) = &self.search
                    && search.purpose == Purpose::Move
                {
                    search.handle.stop();
                }
            }
            ["ping", number] if self.is_searching() && self.pings.len() < MAX_WAITING_EVENTS => {
                self.pings.push(number.to_owned());
            }
            ["ping", number] => self.write(&format!("pong {number}")),
            ["draw"] => self.answer_draw_offer(),
            ["setboard", ref fen @ ..] => self.set_board(&fen.join(" ")),
            ["hint"] => self.show_hint(),
            ["bk"] => self.write("\tThe engine plays without a book here.\n"),
            ["undo"] => self.undo_moves(1)?,
            ["remove"] => self.undo_moves(2)?,
            ["hard"] => self.session.ponders = true,
            ["easy"] => {
                self.session.ponders = false;
                self.cancel_if(|purpose| matches!(purpose, Purpose::Ponder(_)));
            }
            ["post"] => {
                if let Some(search) = &self.search
                    && let Purpose::Ponder(_) = search.purpose
                    && !self.posts.load(Relaxed)
                {
                    self.show_hint();
                }
                self.posts.store(true, Relaxed);
            }
            ["nopost"] => self.posts.store(false, Relaxed),
            ["analyze"] => {
                self.force();
                self.is_analyzing = true;
                self.analyze();
            }
            ["exit"] => self.force(),
            ["."] => self.show_status(),
            ["memory", mib] => {
                let mib: usize = mib.parse().map_err(|_| BAD_ARGUMENT)?;
                self.session.set_hash(mib.clamp(1, MAX_HASH_MIB));
            }
            ["cores", threads] => {
                let threads: usize = threads.parse().map_err(|_| BAD_ARGUMENT)?;
                self.session
                    .engine
                    .set_threads(threads.clamp(1, MAX_THREADS));
            }
            ["option", ..] => self.set_option(line)?,
            [text] if parse_move(&Position::startpos(), text) != Err(Notation::Unknown) => {
                self.user_move(text)?;
            }
            _ => return Err(UNKNOWN),
        }
        Ok(())
    }

    fn new_game(&mut self) {
        self.cancel();
        self.session.new_game();
        self.session.game = Some(Game::new(Position::startpos()));
        self.session.notation = CastlingNotation::Standard;
        self.clocks.new_game();
        (self.score, self.hint) = (None, None);
        self.side = (!self.is_analyzing).then_some(Color::Black);
        self.analyze();
    }

    fn set_variant(&mut self, name: &str) -> Result<(), CommandError> {
        self.session.notation = match name {
            "normal" => CastlingNotation::Standard,
            "fischerandom" => CastlingNotation::KingTakesRook,
            _ => return Err("unsupported variant"),
        };
        Ok(())
    }

    /// Leaves the engine without a side to play and without a search.
    fn force(&mut self) {
        self.cancel();
        self.side = None;
        self.is_analyzing = false;
    }

    /// Makes the engine play the side to move, or the other one.
    fn play(&mut self, to_move: bool) -> Result<(), CommandError> {
        let turn = self.game()?.position().turn();
        self.force();
        self.side = Some(if to_move { turn } else { !turn });
        self.start_search();
        Ok(())
    }

    fn game(&self) -> Result<&Game, CommandError> {
        self.session.game.as_ref().ok_or(NO_POSITION)
    }

    /// Sets up a position. After one that is refused, all moves are illegal until the next.
    fn set_board(&mut self, fen: &str) {
        self.cancel();
        (self.score, self.hint) = (None, None);
        self.session.game = match Position::from_fen_lenient(fen) {
            Ok(position) => Some(Game::new(position)),
            Err(error) => {
                self.write(&format!("tellusererror Illegal position: {error}"));
                None
            }
        };
        self.analyze();
    }

    /// A line of that length is a `setboard` or damaged, so the position before it must not be played on.
    fn refuse_long_line(&mut self) {
        self.cancel();
        (self.score, self.hint) = (None, None);
        self.session.game = None;
        self.write("tellusererror Illegal position: line too long; set the position again");
    }

    fn undo_moves(&mut self, plies: usize) -> Result<(), CommandError> {
        let left = self.game()?.moves().len().checked_sub(plies);
        let left = left.ok_or(NOT_LEGAL_NOW)?;
        self.cancel();
        if let Some(game) = &mut self.session.game {
            game.truncate(left);
        }
        self.hint = None;
        self.analyze();
        Ok(())
    }

    fn user_move(&mut self, text: &str) -> Result<(), CommandError> {
        if self.is_searching() {
            self.write(&format!("Illegal move (not your turn): {text}"));
            return Ok(());
        }
        let Some(game) = &mut self.session.game else {
            self.write(&format!("Illegal move (no position): {text}"));
            return Ok(());
        };
        let mv = match parse_move(game.position(), text) {
            Ok(mv) => mv,
            Err(Notation::Known) => {
                self.write(&format!("Illegal move: {text}"));
                return Ok(());
            }
            Err(Notation::Unknown) => return Err("not a move"),
        };
        game.play(mv);
        let moves = game.moves().len();
        let limits = self.limits(moves);
        if let Some(search) = &mut self.search
            && search.purpose == Purpose::Ponder(mv)
            && search.handle.ponderhit_with(&limits)
        {
            search.purpose = Purpose::Move;
            search.began = Instant::now();
            self.hint = None;
            return Ok(());
        }
        self.cancel();
        self.hint = None;
        self.start_search();
        self.analyze();
        Ok(())
    }

    /// Limits of the engine's next move, after this many plies.
    fn limits(&self, plies: usize) -> Limits {
        let session = &self.session;
        self.clocks.limits(plies, session.overhead, session.ponders)
    }

    /// Searches for a move if it is the engine's turn; ends the game if it is over.
    fn start_search(&mut self) {
        if self.side.is_none() || self.end_game() {
            return;
        }
        if let Some(game) = &self.session.game
            && self.side == Some(game.position().turn())
        {
            let limits = self.limits(game.moves().len());
            self.start(game.clone(), limits, Purpose::Move);
        }
    }

    /// Announces the result of a game that is over by rule.
    fn end_game(&mut self) -> bool {
        let result = self.session.game.as_ref().and_then(game_result);
        if let Some(result) = result {
            self.write(&result.to_string());
            self.side = None;
        }
        result.is_some()
    }

    /// Starts the analysis of the current position, in analyze mode.
    fn analyze(&mut self) {
        if let Some(game) = &self.session.game
            && self.is_analyzing
        {
            let limits = Limits {
                infinite: true,
                ..Limits::default()
            };
            self.start(game.clone(), limits, Purpose::Analysis);
        }
    }

    fn start(&mut self, game: Game, limits: Limits, purpose: Purpose) {
        self.searches += 1;
        let number = self.searches;
        let (output, sender) = (self.session.output.clone(), self.sender.clone());
        let (posts, latest) = (self.posts.clone(), Arc::default());
        self.latest = Arc::clone(&latest);
        let root = game.position().clone();
        let is_shown = purpose == Purpose::Analysis;
        *lock(&self.current) = number;
        let current = Arc::clone(&self.current);
        let handle = self.session.start(
            game,
            limits,
            move |info| {
                if info.multipv == 1 {
                    *lock(&latest) = Some(info.clone());
                }
                // No line of a search that was canceled comes after the answer to the cancellation.
                let current = lock(&current);
                if *current == number && (is_shown || posts.load(Relaxed)) {
                    output.write_line(&thinking_line(info, &root));
                }
            },
            // The loop may have ended.
            move |info| drop(sender.send(Event::Done(number, info))),
        );
        self.search = Some(Search {
            number,
            handle,
            purpose,
            began: Instant::now(),
        });
    }

    fn is_searching(&self) -> bool {
        matches!(&self.search, Some(search) if search.purpose == Purpose::Move)
    }

    /// Stops the running search, whose result is ignored.
    fn cancel(&mut self) {
        self.cancel_if(|_| true);
    }

    fn cancel_if(&mut self, is_unwanted: impl FnOnce(Purpose) -> bool) {
        let canceled = self.search.take_if(|search| is_unwanted(search.purpose));
        if canceled.is_some() {
            *lock(&self.current) = 0;
        }
        if !self.is_searching() {
            self.answer_pings();
        }
    }

    fn answer_pings(&mut self) {
        for number in std::mem::take(&mut self.pings) {
            self.write(&format!("pong {number}"));
        }
    }

    /// Makes the move of a search, unless the search was canceled.
    fn search_done(&mut self, number: u64, info: &SearchInfo) {
        let search = self
            .search
            .take_if(|search| search.number == number && search.purpose == Purpose::Move);
        let (Some(search), Some(game), Some(mv)) = (search, &mut self.session.game, info.mv) else {
            return;
        };
        let text = match self.session.notation {
            CastlingNotation::KingTakesRook if mv.is_castle() => {
                let san = game.position().san(mv);
                san.trim_end_matches(['+', '#']).to_owned()
            }
            notation => mv.uci(notation).to_string(),
        };
        game.play(mv);
        self.clocks
            .moved(game.moves().len(), search.began.elapsed());
        (self.score, self.hint) = (Some(info.score), info.ponder);
        self.write(&format!("move {text}"));
        let is_over = self.end_game();
        self.answer_pings();
        if self.session.ponders && !is_over {
            self.ponder();
        }
    }

    /// The reply in the transposition table, if the position was searched.
    fn known_reply(&self) -> Option<Move> {
        let position = self.session.game.as_ref()?.position();
        let hit = self.session.engine.pool().table().probe(position.key(), 0);
        hit?.mv.filter(|&mv| position.is_legal(mv))
    }

    /// Starts to ponder on the expected reply, if there is one.
    fn ponder(&mut self) {
        let (Some(game), Some(expected)) = (&self.session.game, self.hint) else {
            return;
        };
        let mut game = game.clone();
        game.play(expected);
        if game_result(&game).is_none() {
            // Thinking output comes without the move.
            if self.posts.load(Relaxed) {
                self.show_hint();
            }
            let limits = Limits {
                ponder: true,
                ..self.limits(game.moves().len())
            };
            self.start(game, limits, Purpose::Ponder(expected));
        }
    }

    /// Accepts a draw unless the engine is better, or not clearly worse early in the game.
    fn answer_draw_offer(&self) {
        let Some(game) = &self.session.game else {
            return;
        };
        let accepted = match self.score {
            Some(Score::Centipawns(score)) => {
                let is_late = game.position().fullmove_number() >= LATE_MOVE;
                score <= if is_late { LATE_DRAW_SCORE } else { DRAW_SCORE }
            }
            Some(Score::Mate(moves)) => moves < 0,
            None => false,
        };
        if accepted && self.side.is_some() {
            self.write("offer draw");
        }
    }

    /// The reply that the engine expects, or its best move in analysis.
    fn show_hint(&self) {
        let Some(game) = &self.session.game else {
            return;
        };
        let latest = lock(&self.latest);
        let best = latest.as_ref().and_then(|info| info.mv);
        let hint = if self.is_analyzing { best } else { self.hint };
        if let Some(mv) = hint.filter(|&mv| game.position().is_legal(mv)) {
            self.write(&format!("Hint: {}", game.position().san(mv)));
        }
    }

    /// Answers `.` in analysis; how many moves of the iteration are left is not known.
    fn show_status(&self) {
        let latest = lock(&self.latest);
        if let (Some(info), Some(game), true) = (&*latest, &self.session.game, self.is_analyzing) {
            self.write(&format!(
                "stat01: {} {} {} 0 {}",
                info.elapsed.as_millis() / 10,
                info.nodes,
                info.depth,
                game.position().legal_moves().len()
            ));
        }
    }

    /// Executes `option NAME=VALUE`, or `option NAME` for a button.
    fn set_option(&mut self, line: &str) -> Result<(), CommandError> {
        let setting = line.trim_start_matches("option").trim();
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let options = options::all();
        let option = options
            .iter()
            .filter(|option| format::is_announced(option.name))
            .find(|option| option.name.eq_ignore_ascii_case(name.trim()))
            .ok_or("no such option")?;
        let value = match (&option.kind, value) {
            (Kind::Check(_), "1") => "true",
            (Kind::Check(_), "0") => "false",
            (_, value) => value,
        };
        // Otherwise a search would go on with what it has, and fill a cleared table with it.
        self.cancel_if(|purpose| purpose != Purpose::Move);
        let set = self.session.set_named_option(option.name, value);
        self.analyze();
        set.map_err(|_| BAD_ARGUMENT)
    }
}
