//! Incremental PGN reader.

use std::borrow::Cow;
use std::mem;

use super::{MoveComment, Outcome, Problem, ReadError, Tags};
use crate::{Color, Game, Position, Variant};

/// Most bytes of tags, moves and comments kept per game: ten times a well annotated game.
const MAX_GAME_BYTES: usize = 1 << 20;

/// Minimum cost of a tag towards [`MAX_GAME_BYTES`]: a game has at most about a thousand tags.
const TAG_COST: usize = 1 << 10;

/// Cost of a ply towards [`MAX_GAME_BYTES`]: allows more than twice the longest possible game.
const PLY_COST: usize = 24;

/// Longest token in the move text; longer ones are not moves.
const MAX_WORD_BYTES: usize = 64;

/// Bytes that continue a word.
static IS_WORD_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = byte as u8;
        table[byte] = letter.is_ascii_alphanumeric()
            || matches!(
                letter,
                b'+' | b'#' | b'=' | b'-' | b'/' | b'*' | b'!' | b'?' | b'@'
            );
        byte += 1;
    }
    table
};

/// A game that was read.
#[derive(Clone, Debug)]
pub struct Record {
    /// The tags.
    pub tags: Tags,
    /// The moves, from the start position of the tag `Variant` or the position of the tag `FEN`.
    pub game: Game,
    /// `comments[i]` belongs to the move of ply `i`; there may be fewer comments than moves.
    pub comments: Vec<MoveComment>,
    /// Comment before the first move.
    pub initial_comment: MoveComment,
    /// The result: after the moves, or else from the tag `Result`.
    pub outcome: Outcome,
}

/// Reads games from text in chunks, in bounded memory. Variations and numeric annotations are skipped.
///
/// ```
/// use knightwatch_chess::pgn;
///
/// let text = "[White \"Anna\"]\n\n1. e4 (1. d4 d5) e5 $1 2. Nf3 { [%clk 0:02:59] at once } 1-0\n\n1. d4 *\n";
/// let mut reader = pgn::Reader::new();
/// let mut games = Vec::new();
/// // Chunks of any size work, such as those of `BufRead::fill_buf`.
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
/// assert_eq!(games[0].comments[2].text, "at once");
/// # Ok::<(), pgn::ReadError>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    state: State,
    /// The current word, comment or tag.
    text: Vec<u8>,
    line: u64,
    at_line_start: bool,
    draft: Draft,
    /// A game that has just been completed.
    done: Option<Result<Record, ReadError>>,
}

/// The state of the parser.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Between tokens.
    Between,
    /// A move, move number, annotation or result.
    Word,
    /// A comment in braces.
    Comment,
    /// A comment up to the end of the line.
    LineComment,
    /// A line escaped by `%`.
    Escaped,
    Tag(Quotes),
    /// The rest of a game that could not be read.
    Skip(Skip),
}

/// Where the reader is in a game that it skips.
#[derive(Clone, Copy, Debug)]
struct Skip {
    /// The moves have begun, so the game ends with its result or the next tag.
    moves: bool,
    /// A tag may just have begun.
    bracket: bool,
    /// The byte that ends the comment or escaped line, if it is in one.
    comment_end: Option<u8>,
    /// Depth of open variations.
    depth: u32,
}

/// State of the value of a tag. Many programs do not escape quotes in it: only a quote before the bracket closes it.
#[derive(Clone, Copy, Debug, Default)]
struct Quotes {
    opened: bool,
    closed: bool,
    escaped: bool,
}

/// The game being read.
#[derive(Debug, Default)]
struct Draft {
    tags: Tags,
    tagged: bool,
    /// Set when the moves begin.
    game: Option<Game>,
    comments: Vec<MoveComment>,
    initial_comment: MoveComment,
    /// Depth of open variations.
    depth: u32,
    /// Bytes used, as counted by [`MAX_GAME_BYTES`].
    bytes_used: usize,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

impl Reader {
    /// Creates a reader.
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

    /// Reads from `input` until a game is complete, and advances it past what was read. `None` means that all input
    /// was read and no game is complete.
    ///
    /// # Errors
    ///
    /// If a game cannot be read. The next call continues with the next game.
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

    /// Reads bytes that only extend a word or comment in bulk: most bytes are such.
    fn take_run(&mut self, input: &mut &[u8]) {
        let goes_on = match self.state {
            State::Word => |byte: u8| IS_WORD_BYTE[usize::from(byte)],
            State::Comment => |byte| byte != b'}',
            State::LineComment => |byte| byte != b'\n',
            _ => return,
        };
        let end = input.iter().position(|&byte| !goes_on(byte));
        let length = end.unwrap_or(input.len()).min(MAX_GAME_BYTES);
        let run = input.split_off(..length).unwrap_or_default();
        if matches!(self.state, State::Word) {
            let room = (MAX_WORD_BYTES + 1).saturating_sub(self.text.len());
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

    /// Signals the end of the text, which may complete a last game.
    ///
    /// # Errors
    ///
    /// If the last game cannot be read.
    pub fn finish(mut self) -> Option<Result<Record, ReadError>> {
        match self.state {
            State::Word => self.end_word(),
            State::LineComment => self.end_comment(),
            State::Comment => self.fail(Problem::OpenComment),
            State::Tag(_) => self.fail_tag(),
            State::Between | State::Escaped | State::Skip(_) => {}
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

    /// Reads a byte; returns `false` if it ended a token and must be read again.
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
                if self.text.len() <= MAX_WORD_BYTES {
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
            // Other bytes were read in bulk.
            State::Comment | State::LineComment => {}
            State::Escaped => {
                if byte == b'\n' {
                    self.state = State::Between;
                }
            }
            State::Tag(quotes) => return self.take_tag(byte, quotes),
            State::Skip(skip) => return self.skip(byte, skip),
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
            // Byte order mark.
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

    /// Skips a byte; returns `false` if the game has ended before it.
    fn skip(&mut self, byte: u8, mut skip: Skip) -> bool {
        if skip.bracket && skip.moves && byte.is_ascii_alphabetic() {
            self.state = State::Tag(Quotes::default());
            self.text.clear();
            self.keep(byte);
            return true;
        }
        let blank = byte.is_ascii_whitespace();
        // Comments may also have brackets at the start of a line, but as in `[%clk`.
        skip.bracket = self.at_line_start && byte == b'[';
        skip.moves |= self.at_line_start && !skip.bracket && !blank;
        if let Some(end) = skip.comment_end {
            skip.comment_end = (byte != end).then_some(end);
        } else if blank || matches!(byte, b'{' | b'(' | b')' | b';') {
            let is_result = outcome(&text(&self.text)).is_some();
            self.text.clear();
            if is_result && skip.moves && skip.depth == 0 {
                self.state = State::Between;
                return false;
            }
            match byte {
                b'{' => skip.comment_end = Some(b'}'),
                b';' => skip.comment_end = Some(b'\n'),
                b'(' => skip.depth = skip.depth.saturating_add(1),
                b')' => skip.depth = skip.depth.saturating_sub(1),
                _ => {}
            }
        } else if byte == b'%' && self.at_line_start {
            skip.comment_end = Some(b'\n');
        } else if self.text.len() <= MAX_WORD_BYTES {
            self.text.push(byte);
        }
        self.state = State::Skip(skip);
        true
    }

    /// Stores a byte of a tag, if the game is not too long.
    fn keep(&mut self, byte: u8) {
        self.text.push(byte);
        self.count(1);
    }

    fn count(&mut self, cost: usize) {
        self.draft.bytes_used += cost;
        if self.draft.bytes_used > MAX_GAME_BYTES {
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
        let comment = match plies.checked_sub(1) {
            None => &mut self.draft.initial_comment,
            Some(last) => {
                if self.draft.comments.len() < plies {
                    self.draft.comments.resize(plies, MoveComment::default());
                }
                &mut self.draft.comments[last]
            }
        };
        comment.add(&text(&self.text));
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

    /// Completes a game. Without a result after the moves, that of the tags counts.
    fn complete(&mut self, explicit: Option<Outcome>) {
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
            outcome: explicit.or_else(tag).unwrap_or_default(),
            tags: draft.tags,
            game,
            comments: draft.comments,
            initial_comment: draft.initial_comment,
        }));
    }

    fn fail_tag(&mut self) {
        let start = &self.text[..self.text.len().min(MAX_WORD_BYTES)];
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
        self.state = State::Skip(Skip {
            moves: !in_tags,
            bracket: false,
            comment_end: match self.state {
                State::Comment => Some(b'}'),
                State::LineComment => Some(b'\n'),
                _ => None,
            },
            depth: draft.depth,
        });
    }
}

/// The initial position given by the tags.
fn initial(tags: &Tags) -> Result<Position, Problem> {
    let known = |name| tags.get(name).filter(|value| !matches!(value, &"" | &"?"));
    let variant = match known("Variant") {
        Some(name) => Variant::from_name(name).ok_or_else(|| Problem::Variant(name.to_owned()))?,
        None => Variant::Standard,
    };
    match known("FEN") {
        // Many programs write castling rights that do not fit the board.
        Some(fen) => Position::from_variant_fen_lenient(variant, fen).map_err(Problem::Fen),
        None => Ok(variant.start()),
    }
}

/// Decodes UTF-8, or else Latin-1, which is the encoding of the PGN standard.
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

/// Name and value of a tag without brackets.
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
