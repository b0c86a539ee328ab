//! The Chess Engine Communication Protocol of XBoard.
//!
//! The engine keeps a game of its own. It is told only the moves that it does not know, and plays in force mode except for
//! its own move, so that processes can be shared by games.

use std::time::{Duration, Instant};

use knightwatch_chess::{CastlingNotation, Game, Move, Position, Variant};
use knightwatch_engine::Score;

use super::answer::{Answer, Best, MAX_NAME_CHARS, MAX_OPTIONS, Opponent, parse_move};
use super::channel::{Channel, Deadlines, EngineError, Launch, SearchCommands};
use super::engine_option::EngineOption;
use super::go::{Clocks, Go};
use super::info::{Info, MAX_PV};
use super::transcript::printable;
use super::variant;

const COMMANDS: SearchCommands = SearchCommands {
    stop: Some("?"),
    ponderhit: "",
};

/// Time for `feature done=` after the first feature: some engines never send it.
const DONE_TIMEOUT: Duration = Duration::from_secs(2);

/// Score that stands for a mate, plus the moves to it.
const MATE: i32 = 100_000;

/// State of the engine.
#[derive(Default)]
pub(crate) struct Xboard {
    features: Features,
    /// The game that the engine has on its board.
    board: Option<(Position, Vec<Move>)>,
    /// Depth limit that it has.
    depth: Option<u32>,
    /// The last game was of another variant than standard chess. Some engines keep the variant after `new`.
    has_variant: bool,
    pings: u32,
    /// The opponent of the next searches.
    opponent: Option<Opponent>,
}

/// Abilities that the engine has announced.
#[derive(Debug, Default, PartialEq, Eq)]
struct Features {
    name: Option<String>,
    options: Vec<EngineOption>,
    /// Names of all features, for `accepted`.
    received: Vec<String>,
    done: Option<bool>,
    setboard: bool,
    ping: bool,
    usermove: bool,
    san: bool,
    chess960: bool,
    /// Names of the variants that it plays.
    variants: Vec<String>,
    memory: bool,
    smp: bool,
    /// Whether it wants the name of the opponent.
    opponent: bool,
}

impl Features {
    /// Reads a line.
    fn read(&mut self, line: &str) {
        let Some(rest) = line.trim().strip_prefix("feature ") else {
            return;
        };
        let mut rest = rest.trim_start();
        while let Some((key, after)) = rest.split_once('=') {
            let (value, next) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            self.set(key.trim(), value);
            rest = next.trim_start();
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        let on = value == "1";
        match key {
            "done" => self.done = Some(on),
            "myname" => self.name = Some(value.to_owned()),
            "setboard" => self.setboard = on,
            "ping" => self.ping = on,
            "usermove" => self.usermove = on,
            "san" => self.san = on,
            "memory" => self.memory = on,
            "smp" => self.smp = on,
            "name" => self.opponent = on,
            "variants" => {
                let names = value.split(',').map(str::trim).take(MAX_OPTIONS);
                self.variants = names.map(str::to_owned).collect();
                self.chess960 = self.variants.iter().any(|name| name == "fischerandom");
            }
            "option" if self.options.len() < MAX_OPTIONS => {
                self.options.extend(EngineOption::parse_xboard(value));
            }
            _ => {}
        }
        if self.received.len() < MAX_OPTIONS {
            self.received.push(printable(key, 40));
        }
    }
}

impl Xboard {
    /// Introduces us, and reads the features.
    pub(crate) fn start(
        channel: &mut Channel,
        launch: &Launch,
    ) -> Result<(Option<String>, Vec<EngineOption>, Self), EngineError> {
        channel.send("xboard")?;
        channel.send("protover 2")?;
        let mut features = Features::default();
        // Engines of protocol version 1 have none, and others may be slow to start.
        let first = channel.read_until("feature", launch.timeout, |line| {
            features.read(line);
            (!features.received.is_empty()).then_some(())
        });
        or_silent(first)?;
        if !features.received.is_empty() && features.done.is_none() {
            let done = channel.read_until("feature done", DONE_TIMEOUT, |line| {
                features.read(line);
                features.done.map(drop)
            });
            or_silent(done)?;
        }
        if features.done == Some(false) {
            channel.read_until("feature done=1", launch.timeout, |line| {
                features.read(line);
                features.done.filter(|done| *done).map(drop)
            })?;
        }
        for name in &features.received {
            channel.send(&format!("accepted {name}"))?;
        }
        let (name, options) = (features.name.take(), std::mem::take(&mut features.options));
        let xboard = Self {
            features,
            ..Self::default()
        };
        Ok((name, options, xboard))
    }

    /// Returns whether the engine has sent its features. One without may be of protocol version 1, or late.
    pub(crate) fn has_features(&self) -> bool {
        !self.features.received.is_empty()
    }

    pub(crate) fn plays_chess960(&self) -> bool {
        self.features.chess960
    }

    /// The engine's name of a variant, if it plays it.
    pub(crate) fn variant_name(&self, variant: Variant) -> Option<&str> {
        variant::name_of(&self.features.variants, variant)
    }

    pub(crate) fn sets_boards(&self) -> bool {
        self.features.setboard
    }

    /// The command for threads, if the engine has it.
    pub(crate) fn threads(&self, threads: usize) -> Option<String> {
        self.features.smp.then(|| format!("cores {threads}"))
    }

    /// The command for the size of the hash table, if the engine has it.
    pub(crate) fn hash(&self, mib: usize) -> Option<String> {
        self.features.memory.then(|| format!("memory {mib}"))
    }

    /// The command that sets an option, or presses a button.
    pub(crate) fn set_option(name: &str, value: Option<&str>) -> String {
        match value {
            None => format!("option {name}"),
            Some("true") => format!("option {name}=1"),
            Some("false") => format!("option {name}=0"),
            Some(value) => format!("option {name}={value}"),
        }
    }

    /// Waits until the engine has done everything so far, if it can say so.
    pub(crate) fn ready(
        &mut self,
        channel: &mut Channel,
        timeout: Duration,
        on_line: impl FnMut(&str),
    ) -> Result<(), EngineError> {
        if !self.features.ping {
            return Ok(());
        }
        self.pings = self.pings.wrapping_add(1);
        channel.send(&format!("ping {}", self.pings))?;
        self.wait_until_ready(channel, timeout, on_line)
    }

    /// Waits for the answer to the last `ping`.
    pub(crate) fn wait_until_ready(
        &self,
        channel: &mut Channel,
        timeout: Duration,
        mut on_line: impl FnMut(&str),
    ) -> Result<(), EngineError> {
        let number = self.pings.to_string();
        channel.read_until("pong", timeout, |line| {
            on_line(line);
            let pong = line.trim().strip_prefix("pong ")?;
            (pong.trim() == number).then_some(())
        })
    }

    /// Names the opponent of the next searches. The engine gets it when a game begins, or is continued after another.
    pub(crate) fn set_opponent(&mut self, opponent: Option<&Opponent>) {
        self.opponent = opponent.cloned();
        // Another game may have begun with the same moves.
        self.board = None;
    }

    /// Begins a game.
    pub(crate) fn new_game(
        &mut self,
        channel: &mut Channel,
        start: &Position,
    ) -> Result<(), EngineError> {
        self.board = None;
        self.depth = None;
        let variant = start.variant();
        let is_initial = *start == variant.start();
        if !is_initial && !self.features.setboard {
            return Err(EngineError::CannotPlay {
                name: channel.name.clone(),
                what: "from other positions than the initial one",
            });
        }
        channel.send("new")?;
        let is_chess960 = start.castling_notation() == CastlingNotation::KingTakesRook;
        let has_variant = is_chess960 || variant != Variant::Standard;
        if std::mem::replace(&mut self.has_variant, has_variant) && !has_variant {
            channel.send("variant normal")?;
        }
        if is_chess960 {
            channel.send("variant fischerandom")?;
        }
        if variant != Variant::Standard
            && let Some(name) = self.variant_name(variant)
        {
            channel.send(&format!("variant {name}"))?;
        }
        if let Some(opponent) = &self.opponent {
            if self.features.opponent {
                let name = printable(&opponent.name, MAX_NAME_CHARS);
                channel.send(&format!("name {name}"))?;
            }
            if opponent.is_computer {
                channel.send("computer")?;
            }
        }
        channel.send("easy")?;
        channel.send("post")?;
        channel.send("force")?;
        if !is_initial {
            channel.send(&format!("setboard {}", start.uci_fen()))?;
        }
        self.board = Some((start.clone(), Vec::new()));
        Ok(())
    }

    /// Sends the moves that the engine does not know.
    fn set_position(
        &mut self,
        channel: &mut Channel,
        game: &Game,
        depth: Option<u32>,
    ) -> Result<(), EngineError> {
        let known = self.board.as_ref().filter(|(start, moves)| {
            start == game.initial() && game.moves().starts_with(moves) && self.depth == depth
        });
        let known = match known.map(|(_, moves)| moves.len()) {
            Some(known) => {
                channel.send("force")?;
                known
            }
            None => {
                self.new_game(channel, game.initial())?;
                0
            }
        };
        let mut position = game.initial().clone();
        // Not that of the position: in Chess960 it may have no castling rights but those of standard chess.
        let notation = position.castling_notation();
        for (ply, &mv) in game.moves().iter().enumerate() {
            if ply >= known {
                let prefix = if self.features.usermove {
                    "usermove "
                } else {
                    ""
                };
                channel.send(&format!(
                    "{prefix}{}",
                    self.move_text(notation, &position, mv)
                ))?;
            }
            position.play(mv);
        }
        if self.depth != depth {
            if let Some(depth) = depth {
                channel.send(&format!("sd {depth}"))?;
            }
            self.depth = depth;
        }
        // Known again once the engine has moved.
        self.board = None;
        Ok(())
    }

    /// A move in the form that the engine wants; `notation` is that of its game.
    fn move_text(&self, notation: CastlingNotation, position: &Position, mv: Move) -> String {
        let castles_960 = notation == CastlingNotation::KingTakesRook && mv.is_castle();
        match (self.features.san, castles_960) {
            (true, _) => position.san(mv),
            // `O-O` only: a check is not marked in this notation.
            (false, true) => position.san(mv).trim_end_matches(['+', '#']).to_owned(),
            (false, false) => mv.uci(notation).to_string(),
        }
    }

    /// Runs a search.
    pub(crate) fn search(
        &mut self,
        channel: &mut Channel,
        game: &Game,
        go: &Go,
        deadlines: Deadlines,
        best: &mut Best<'_>,
    ) -> Result<Answer, EngineError> {
        self.set_position(channel, game, go.depth)?;
        // What the engine says up to here, such as the end of another game, is no answer.
        let mut refused = None;
        let left = deadlines.hard.saturating_duration_since(Instant::now());
        self.ready(channel, left, |line| {
            let is_refusal = line.trim_start().starts_with("Illegal move");
            refused = is_refusal.then(|| printable(line, 80)).or(refused.take());
        })?;
        if let Some(line) = refused {
            let name = channel.name.clone();
            return Err(EngineError::OutOfSync { name, line });
        }
        let clocks = match (go.movetime, go.clock) {
            (Some(time), _) => {
                channel.send(&format!("st {}", whole_seconds(time)))?;
                // Engines that ignore `st` see a clock for one move.
                Some(Clocks {
                    white: time,
                    black: time,
                    moves_to_go: Some(1),
                    ..Clocks::default()
                })
            }
            (None, Some(clocks)) => {
                let base = whole_seconds(clocks.of(game.position().turn()));
                channel.send(&format!(
                    "level {} {}:{:02} {}",
                    clocks.moves_to_go.unwrap_or(0),
                    base / 60,
                    base % 60,
                    // The lag has been subtracted, so rounding down would lose a second.
                    (clocks.increment + Duration::from_millis(500)).as_secs(),
                ))?;
                Some(clocks)
            }
            (None, None) => None,
        };
        if let Some(clocks) = clocks {
            let turn = game.position().turn();
            channel.send(&format!("time {}", clocks.of(turn).as_millis() / 10))?;
            channel.send(&format!("otim {}", clocks.of(!turn).as_millis() / 10))?;
        }
        channel.send("go")?;
        let name = channel.name.clone();
        let answer = channel.answer(Some(deadlines), COMMANDS, |line| {
            let line = line.trim();
            if let Some(info) = thinking_output(line, game.position()) {
                best.add_info(info);
                return Ok(None);
            }
            if let Some(text) = move_of(line) {
                let mv = parse_move(game.position(), text);
                let mv = mv.map_err(|source| EngineError::illegal(&name, game, line, source))?;
                return Ok(Some((mv, best.take())));
            }
            let word = line.split_whitespace().next().unwrap_or_default();
            match word {
                "resign" | "1-0" | "0-1" | "1/2-1/2" => Err(EngineError::GaveUp {
                    name: name.clone(),
                    line: printable(line, 80),
                }),
                "Illegal" => Err(EngineError::OutOfSync {
                    name: name.clone(),
                    line: printable(line, 80),
                }),
                _ => Ok(None),
            }
        })?;
        let (mv, info) = answer;
        let moves = [game.moves(), &[mv]].concat();
        self.board = Some((game.initial().clone(), moves));
        Ok(Answer {
            mv,
            ponder: None,
            info,
        })
    }
}

/// Accepts that an engine has sent nothing in time.
fn or_silent(read: Result<(), EngineError>) -> Result<(), EngineError> {
    match read {
        Err(EngineError::Silent { .. }) => Ok(()),
        read => read,
    }
}

/// The move that a line announces: `move e2e4`, or as in protocol version 1 `My move is: e2e4`.
pub(crate) fn move_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line
        .strip_prefix("move ")
        .or_else(|| line.strip_prefix("My move is"))?;
    Some(text.trim_start_matches([' ', ':']))
}

/// Seconds, at least one.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().max(1)
}

/// Parses a line of thinking output: depth, score, centiseconds, nodes, perhaps more numbers, line.
fn thinking_output(line: &str, position: &Position) -> Option<Info> {
    let mut words = line.split_whitespace().peekable();
    let depth = words
        .next()?
        .trim_end_matches(|c: char| !c.is_ascii_digit());
    let depth = depth.parse().ok()?;
    let score: i32 = words.next()?.parse().ok()?;
    let _centiseconds: u64 = words.next()?.parse().ok()?;
    let nodes = words.next()?.parse().ok()?;
    let score = match score {
        score if score >= MATE => Score::Mate(score - MATE),
        score if score <= -MATE => Score::Mate(score + MATE),
        score => Score::Centipawns(score),
    };
    let mut info = Info {
        multi_pv: 1,
        depth,
        nodes,
        score: Some(score),
        ..Info::default()
    };
    while words.next_if(|word| word.parse::<i64>().is_ok()).is_some() {}
    let mut position = position.clone();
    for word in words.take(2 * MAX_PV) {
        // Move numbers stand alone (`1.`, `1...`) or before the move (`1.e4`).
        let text = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if text.is_empty() {
            continue;
        }
        let Ok(mv) = parse_move(&position, text) else {
            break;
        };
        position.play(mv);
        info.pv.push(mv);
    }
    Some(info)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read() {
        let mut features = Features::default();
        features.read("feature myname=\"Fairy-Max 5.0b\" setboard=1 ping=1 usermove=0 done=0");
        features.read("feature variants=\"normal,fischerandom\" option=\"Style -combo A /// *B\"");
        features.read("feature smp=1 memory=1 =\" done=\"");
        features.read("feature done=1");
        assert_eq!(features.name.as_deref(), Some("Fairy-Max 5.0b"));
        assert!(features.setboard && features.ping && !features.usermove);
        assert!(features.chess960 && features.smp && features.memory);
        assert_eq!(features.options[0].name, "Style");
        assert_eq!(features.done, Some(true));
    }

    #[test]
    fn castling_is_written_as_the_game_wants_it() {
        // In Chess960, too, only castling of standard chess may be left.
        let position = Position::from_fen("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1").expect("a position");
        let castle = position.parse_san("O-O-O").expect("a legal move");
        for (notation, text) in [
            (CastlingNotation::Standard, "e1c1"),
            (CastlingNotation::KingTakesRook, "O-O-O"),
        ] {
            assert_eq!(
                Xboard::default().move_text(notation, &position, castle),
                text
            );
        }
        let position = Position::from_fen("3k4/8/8/8/8/8/8/R3K3 w Q - 0 1").expect("a position");
        let castle = position.parse_san("O-O-O+").expect("a legal move");
        let text = Xboard::default().move_text(CastlingNotation::KingTakesRook, &position, castle);
        assert_eq!(text, "O-O-O");
    }

    #[test]
    fn thinking_output_is_read() {
        let start = Position::startpos();
        for (line, depth, score, moves) in [
            ("9 156 1084 48000 Nf3 Nc6 Nd3", 9, Score::Centipawns(156), 2),
            (
                "3. -15 2 300 1. e2e4 e7e5 2.Nf3 (x)",
                3,
                Score::Centipawns(-15),
                3,
            ),
            (
                "12& 100003 8 9000 14 250000 0\te4 e5",
                12,
                Score::Mate(3),
                2,
            ),
            ("1 -100002 0 20", 1, Score::Mate(-2), 0),
        ] {
            let info = thinking_output(line, &start).expect(line);
            assert_eq!((info.depth, info.score), (depth, Some(score)), "{line}");
            assert_eq!(info.pv.len(), moves, "{line}");
        }
        for line in [
            "move e2e4",
            "pong 3",
            "# 1 2 3 4",
            "",
            "1 2 x 4 e4",
            "9999999999 1 1 1",
        ] {
            assert_eq!(thinking_output(line, &start), None, "{line}");
        }
    }
}
