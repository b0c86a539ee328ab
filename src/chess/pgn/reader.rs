//! Reading games, however many, from text that comes in pieces.

use std::borrow::Cow;
use std::mem;

use super::{Note, Outcome, Problem, ReadError, Tags};
use crate::chess::{Color, Game, Position};

/// The most bytes of tags, moves and comments that are kept of one game: ten times what well annotated games have.
const MOST_TEXT: usize = 1 << 20;

/// What a tag counts at least towards [`MOST_TEXT`], so that a game has at most a thousand tags.
const TAG_COST: usize = 1 << 10;

/// What a ply counts towards [`MOST_TEXT`]: more than twice the longest game possible may be read.
const PLY_COST: usize = 24;

/// The longest word among the moves; longer ones are no moves.
const LONGEST_WORD: usize = 64;

/// The bytes that neither end a word nor may end it.
static IN_WORDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        table[byte] = letter.is_ascii_alphanumeric()
            || matches!(
                letter,
                b'+' | b'#' | b'=' | b'-' | b'/' | b'*' | b'!' | b'?'
            );
        byte += 1;
    }
    table
};

/// A game as it was read.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its tags.
    pub tags: Tags,
    /// Its moves, from the start position or that of the tag `FEN`.
    pub game: Game,
    /// `notes[i]` is what is said about the move of ply `i`; there may be fewer than moves.
    pub notes: Vec<Note>,
    /// What is said before the first move.
    pub preface: Note,
    /// How it ended: what stands behind the moves, or else in the tag `Result`.
    pub outcome: Outcome,
}

/// Reads games from text that is fed to it piece by piece, in memory that does not grow with the text. Variations and
/// numeric marks are skipped.
///
/// ```
/// use knightwatch::chess::pgn;
///
/// let text = "[White \"Anna\"]\n\n1. e4 (1. d4 d5) e5 $1 2. Nf3 { [%clk 0:02:59] at once } 1-0\n\n1. d4 *\n";
/// let mut reader = pgn::Reader::new();
/// let mut games = Vec::new();
/// // Pieces of any size do, as from a file's `BufRead::fill_buf`.
/// for mut piece in text.as_bytes().chunks(10) {
///     while let Some(record) = reader.feed(&mut piece) {
///         games.push(record?);
///     }
/// }
/// games.extend(reader.finish().transpose()?);
///
/// assert_eq!(games.len(), 2);
/// assert_eq!(games[0].tags.get("White"), Some("Anna"));
/// assert_eq!(games[0].game.moves().len(), 3);
/// assert_eq!(games[0].notes[2].text, "at once");
/// # Ok::<(), pgn::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// The word, comment or tag that is being read.
    text: Vec<u8>,
    line: u64,
    at_line_start: bool,
    draft: Draft,
    /// A game that has just ended.
    done: Option<Result<Record, ReadError>>,
}

/// What the next byte is part of.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing yet.
    Between,
    /// A move, its number, a mark or a result.
    Word,
    /// A comment in braces.
    Comment,
    /// A comment to the end of the line.
    LineComment,
    /// A line that is not for us.
    Escaped,
    Tag(Quotes),
    /// What is left of a game that could not be read. With `moves` its moves have been seen, so that the next tag
    /// begins the next game; with `bracket` that tag may just have begun.
    Skip {
        moves: bool,
        bracket: bool,
    },
}

/// How far the value of a tag has come. Many programs do not escape the quotes in it: only one before the bracket
/// ends it.
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    opened: bool,
    closed: bool,
    escaped: bool,
}

/// What is known of the game that is being read.
#[derive(Debug, Default)]
struct Draft {
    tags: Tags,
    tagged: bool,
    /// Once the moves have begun.
    game: Option<Game>,
    notes: Vec<Note>,
    preface: Note,
    /// The variations that are open.
    depth: u32,
    /// What has been kept, as [`MOST_TEXT`] counts.
    kept: usize,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

impl Reader {
    /// A reader at the beginning of a text.
    pub fn new() -> Reader {
        Reader {
            state: State::Between,
            text: Vec::new(),
            line: 1,
            at_line_start: true,
            draft: Draft::default(),
            done: None,
        }
    }

    /// Reads on in `input` until a game ends, and leaves in it what has not been read. `None`: all has been read,
    /// and no game has ended.
    ///
    /// # Errors
    ///
    /// A game that cannot be read. The next call goes on with the game after it.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Result<Record, ReadError>> {
        loop {
            self.take_run(input);
            let Some((&byte, rest)) = input.split_first() else {
                return self.done.take();
            };
            if self.done.is_none() && self.take(byte) {
                *input = rest;
                self.at_line_start = byte == b'\n';
                self.line += u64::from(byte == b'\n');
            }
            if self.done.is_some() {
                return self.done.take();
            }
        }
    }

    /// Takes the bytes that only make a word or a comment longer at once: most are such.
    fn take_run(&mut self, input: &mut &[u8]) {
        let goes_on = match self.state {
            State::Word => |byte: u8| IN_WORDS[usize::from(byte)],
            State::Comment => |byte| byte != b'}',
            State::LineComment => |byte| byte != b'\n',
            _ => return,
        };
        let end = input.iter().position(|&byte| !goes_on(byte));
        let length = end.unwrap_or(input.len()).min(MOST_TEXT);
        let run = input.split_off(..length).unwrap_or_default();
        if matches!(self.state, State::Word) {
            let room = (LONGEST_WORD + 1).saturating_sub(self.text.len());
            self.text.extend_from_slice(&run[..length.min(room)]);
            self.at_line_start = self.at_line_start && length == 0;
            return;
        }
        self.line += run.iter().filter(|&&byte| byte == b'\n').count() as u64;
        if self.draft.depth == 0 {
            self.text.extend_from_slice(run);
            self.count(length);
        }
    }

    /// Says that the text has ended, which may end a last game.
    ///
    /// # Errors
    ///
    /// A last game that cannot be read.
    pub fn finish(mut self) -> Option<Result<Record, ReadError>> {
        match self.state {
            State::Word => self.end_word(),
            State::LineComment => self.end_comment(),
            State::Comment => self.fail(Problem::OpenComment),
            State::Tag(_) => self.fail_tag(),
            State::Between | State::Escaped | State::Skip { .. } => {}
        }
        if self.done.is_none() && (self.draft.tagged || self.draft.game.is_some()) {
            if self.draft.depth > 0 {
                self.fail(Problem::OpenVariation);
            } else {
                self.complete(None);
            }
        }
        self.done
    }

    /// Reads a byte; `false` if it ended something and is to be looked at again.
    fn take(&mut self, byte: u8) -> bool {
        match self.state {
            State::Between => return self.begin(byte),
            State::Word => {
                let ends = match byte {
                    b'{' | b'}' | b'(' | b')' | b'[' | b']' | b';' | b'"' | b'<' | b'>' => true,
                    b'.' => self.text.iter().all(u8::is_ascii_digit),
                    b'$' => !self.text.is_empty(),
                    _ => byte.is_ascii_whitespace(),
                };
                if ends {
                    self.state = State::Between;
                    self.end_word();
                    return false;
                }
                if self.text.len() <= LONGEST_WORD {
                    self.text.push(byte);
                }
            }
            State::Comment if byte == b'}' => {
                self.state = State::Between;
                self.end_comment();
            }
            State::LineComment if byte == b'\n' => {
                self.state = State::Between;
                self.end_comment();
            }
            // Those that do not end it came as a run.
            State::Comment | State::LineComment => {}
            State::Escaped => {
                if byte == b'\n' {
                    self.state = State::Between;
                }
            }
            State::Tag(quotes) => return self.take_tag(byte, quotes),
            State::Skip { moves, bracket } => self.skip(byte, moves, bracket),
        }
        true
    }

    fn begin(&mut self, byte: u8) -> bool {
        self.text.clear();
        match byte {
            b'%' if self.at_line_start => self.state = State::Escaped,
            b'{' => self.state = State::Comment,
            b';' => self.state = State::LineComment,
            b'(' => self.draft.depth = self.draft.depth.saturating_add(1),
            b')' => self.draft.depth = self.draft.depth.saturating_sub(1),
            b'[' if self.draft.depth > 0 => {
                self.fail(Problem::OpenVariation);
                return false;
            }
            b'[' if self.draft.game.is_some() => {
                self.complete(None);
                return false;
            }
            b'[' => self.state = State::Tag(Quotes::default()),
            b'}' | b']' | b'"' if self.draft.depth == 0 => {
                self.fail(Problem::Unexpected(char::from(byte)));
            }
            b'}' | b']' | b'"' | b'<' | b'>' | b'.' => {}
            // The mark that some programs set at the beginning of a file.
            0xef | 0xbb | 0xbf => {}
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.state = State::Word;
                return false;
            }
        }
        true
    }

    fn take_tag(&mut self, byte: u8, quotes: Quotes) -> bool {
        match byte {
            b'\n' => {
                self.fail_tag();
                return false;
            }
            b']' if quotes.closed || !quotes.opened => {
                self.end_tag();
                return true;
            }
            _ => {}
        }
        let quote = byte == b'"' && !quotes.escaped;
        self.state = State::Tag(Quotes {
            opened: quotes.opened || quote,
            closed: quotes.opened && quote || quotes.closed && byte.is_ascii_whitespace(),
            escaped: quotes.opened && byte == b'\\' && !quotes.escaped,
        });
        self.keep(byte);
        true
    }

    fn skip(&mut self, byte: u8, moves: bool, bracket: bool) {
        if bracket && moves && byte.is_ascii_alphabetic() {
            self.state = State::Tag(Quotes::default());
            self.text.clear();
            self.keep(byte);
            return;
        }
        // Comments may have brackets at the beginning of a line, too, but as in `[%clk`.
        let bracket = self.at_line_start && byte == b'[';
        let blank = byte.is_ascii_whitespace();
        self.state = State::Skip {
            moves: moves || self.at_line_start && !bracket && !blank,
            bracket,
        };
    }

    /// Keeps a byte of a tag or a comment, as long as the game has room.
    fn keep(&mut self, byte: u8) {
        self.text.push(byte);
        self.count(1);
    }

    fn count(&mut self, cost: usize) {
        self.draft.kept += cost;
        if self.draft.kept > MOST_TEXT {
            self.fail(Problem::TooLong);
        }
    }

    fn end_word(&mut self) {
        if self.draft.depth > 0 {
            return;
        }
        let word = mem::take(&mut self.text);
        self.word(&text(&word));
        self.text = word;
    }

    fn word(&mut self, word: &str) {
        let is_mark = word.starts_with('$') || word.chars().all(|c| matches!(c, '!' | '?'));
        if is_mark || word == "e.p." {
            return;
        }
        if self.draft.game.is_none() {
            match initial(&self.draft.tags) {
                Ok(initial) => self.draft.game = Some(Game::new(initial)),
                Err(problem) => return self.fail(problem),
            }
        }
        if let Some(outcome) = outcome(word) {
            return self.complete(Some(outcome));
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        let game = self.draft.game.as_mut().expect("begun above");
        match game.position().parse_san(word) {
            Ok(mv) => {
                game.play(mv);
                self.count(PLY_COST);
            }
            Err(error) => self.fail(Problem::Move(error)),
        }
    }

    fn end_comment(&mut self) {
        if self.draft.depth > 0 {
            return;
        }
        let plies = self
            .draft
            .game
            .as_ref()
            .map_or(0, |game| game.moves().len());
        let note = match plies.checked_sub(1) {
            None => &mut self.draft.preface,
            Some(last) => {
                if self.draft.notes.len() < plies {
                    self.draft.notes.resize(plies, Note::default());
                }
                &mut self.draft.notes[last]
            }
        };
        note.add(&text(&self.text));
    }

    fn end_tag(&mut self) {
        let tag = text(&self.text).into_owned();
        let Some((name, value)) = split_tag(&tag) else {
            return self.fail_tag();
        };
        self.draft.tagged = true;
        self.draft.tags.set(name, value);
        self.state = State::Between;
        self.count(TAG_COST);
    }

    /// The game has ended; if the moves do not say how, the tags do.
    fn complete(&mut self, said: Option<Outcome>) {
        let draft = mem::take(&mut self.draft);
        let game = match draft.game {
            Some(game) => game,
            None => match initial(&draft.tags) {
                Ok(initial) => Game::new(initial),
                Err(problem) => return self.fail(problem),
            },
        };
        let tag = || draft.tags.get("Result").and_then(outcome);
        self.done = Some(Ok(Record {
            outcome: said.or_else(tag).unwrap_or_default(),
            tags: draft.tags,
            game,
            notes: draft.notes,
            preface: draft.preface,
        }));
    }

    fn fail_tag(&mut self) {
        let start = &self.text[..self.text.len().min(LONGEST_WORD)];
        let tag = format!("[{}", text(start));
        self.fail(Problem::Tag(tag));
    }

    fn fail(&mut self, problem: Problem) {
        let draft = mem::take(&mut self.draft);
        let position = draft.game.as_ref().map(Game::position);
        self.done = Some(Err(ReadError {
            line: self.line,
            at: position.map(|position| (position.fullmove_number(), position.turn())),
            problem,
        }));
        self.text = Vec::new();
        let in_tags = matches!(self.state, State::Tag(_));
        self.state = State::Skip {
            moves: !in_tags,
            bracket: false,
        };
    }
}

/// The position that a game with these tags begins with.
fn initial(tags: &Tags) -> Result<Position, Problem> {
    if let Some(variant) = tags.get("Variant") {
        let known = [
            "standard",
            "chess",
            "fromposition",
            "chess960",
            "fischerandom",
            "fischerrandom",
        ];
        let name: String = variant
            .chars()
            .filter(|letter| letter.is_ascii_alphanumeric())
            .map(|letter| letter.to_ascii_lowercase())
            .collect();
        if !known.contains(&name.as_str()) {
            return Err(Problem::Variant(variant.to_owned()));
        }
    }
    match tags.get("FEN") {
        Some(fen) => Position::from_fen(fen).map_err(Problem::Fen),
        None => Ok(Position::startpos()),
    }
}

/// The text of bytes in UTF-8, or else in Latin-1, which the PGN standard asks for.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes
            .iter()
            .map(|&byte| char::from(byte))
            .collect::<String>()
            .into(),
    }
}

fn outcome(word: &str) -> Option<Outcome> {
    Some(match word {
        "1-0" => Outcome::Win(Color::White),
        "0-1" => Outcome::Win(Color::Black),
        "1/2-1/2" | "1/2" => Outcome::Draw,
        "*" => Outcome::Unknown,
        _ => return None,
    })
}

/// Name and value of a tag without its brackets.
fn split_tag(tag: &str) -> Option<(&str, String)> {
    let (name, value) = tag.trim().split_once(char::is_whitespace)?;
    let of_names = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let quoted = value.trim().strip_prefix('"')?.strip_suffix('"')?;
    if name.is_empty() || !name.chars().all(of_names) {
        return None;
    }
    let mut value = String::with_capacity(quoted.len());
    let mut letters = quoted.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letters.next_if(|next| letter == '\\' && matches!(next, '"' | '\\'));
        value.push(escaped.unwrap_or(letter));
    }
    Some((name, value))
}

#[cfg(test)]
mod tests;
