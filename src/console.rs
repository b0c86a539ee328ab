//! Console output of games: turns events into lines of text, for the demo and `run --moves`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::broadcast;

use crate::chess::{Color, Game};
use crate::events::{
    Event, GameFinished, GameStarted, Moved, Player, RecvError, SearchInfo, Severity, Source,
    initial_position,
};
use crate::lichess::model::clip;
use crate::plural;

/// Longer names are cut.
const MAX_NAME_CHARS: usize = 20;

/// Longer reasons for the end of a game are cut.
const MAX_REASON_CHARS: usize = 30;

/// Layout of the lines.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// Whether to use escape sequences for color.
    color: bool,
    /// Columns of the terminal; lines are cut to it. Without a limit if stdout is no terminal.
    width: usize,
}

impl Style {
    /// The style for this terminal.
    fn of_terminal() -> Self {
        let terminal = io::stdout().is_terminal();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = match terminal {
            true => terminal_size::terminal_size_of(io::stdout())
                .map_or(120, |(width, _)| usize::from(width.0)),
            false => usize::MAX,
        };
        Self {
            color: terminal && !no_color,
            width,
        }
    }
}

/// A finished game, as a row of the results table.
#[derive(Clone, Debug)]
struct Row {
    tag: usize,
    white: String,
    black: String,
    time_control: String,
    result: String,
    reason: String,
    plies: u32,
    took: Duration,
    /// 1 for our win, 0.5 for a draw; `None` for an aborted game.
    points: Option<f32>,
}

/// A running game.
struct LiveGame {
    tag: usize,
    white: Player,
    black: Player,
    ours: Color,
    time_control: String,
    began: Instant,
    /// The board, from which the reason of a draw is derived; `None` after an illegal move.
    board: Option<Game>,
    /// The opponent's last move, until ours is printed on the same line.
    waiting: Option<String>,
}

/// Formats events and collects the results.
pub(crate) struct ConsoleLog {
    style: Style,
    games: BTreeMap<String, LiveGame>,
    rows: Vec<Row>,
    tags: usize,
}

/// Prints the moves and results of all games in the columns of the demo, on a separate thread, so that no game waits for the
/// terminal.
///
/// # Errors
/// When the system has no thread for it.
pub(crate) fn print_moves(mut watch: broadcast::Receiver<Arc<Event>>) -> io::Result<()> {
    let mut print = move || -> io::Result<()> {
        let (mut console, mut out) = (ConsoleLog::for_terminal(), io::stdout());
        loop {
            match watch.blocking_recv() {
                Ok(event) => {
                    for line in console.on_event(&event, Instant::now()) {
                        writeln!(out, "{line}")?;
                    }
                    console.forget_results();
                    out.flush()?;
                }
                Err(RecvError::Lagged(missed)) => {
                    let lines = plural::count(missed, "event", "events");
                    writeln!(out, "-- {lines} skipped: the terminal is too slow")?;
                }
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    };
    // The thread ends when stdout is closed.
    let thread = thread::Builder::new().name("moves".to_owned());
    thread.spawn(move || drop(print())).map(drop)
}

impl ConsoleLog {
    /// With the style for this terminal.
    pub(crate) fn for_terminal() -> Self {
        Self::new(Style::of_terminal())
    }

    fn new(style: Style) -> Self {
        Self {
            style,
            games: BTreeMap::new(),
            rows: Vec::new(),
            tags: 0,
        }
    }

    /// Number of finished games.
    pub(crate) fn finished(&self) -> usize {
        self.rows.len()
    }

    /// Drops the results kept for [`table`](Self::table), which would otherwise grow without bound.
    fn forget_results(&mut self) {
        self.rows.clear();
    }

    /// The lines to print for an event received at `now`.
    pub(crate) fn on_event(&mut self, event: &Event, now: Instant) -> Vec<String> {
        match event {
            Event::GameStarted(start) => self.on_game_started(start, now),
            Event::Moved(moved) => self.on_move(moved).into_iter().collect(),
            Event::TakenBack { game, ply } => self.on_takeback(game, *ply),
            Event::GameFinished(end) => self.on_game_finished(end, now),
            Event::Offline { reason, .. } => vec![self.note("offline", reason)],
            Event::Note { severity, text, .. } if *severity >= Severity::Warning => {
                vec![self.note("note", text)]
            }
            _ => Vec::new(),
        }
    }

    fn on_game_started(&mut self, start: &GameStarted, now: Instant) -> Vec<String> {
        if self.games.contains_key(&start.game) {
            return Vec::new();
        }
        self.tags += 1;
        let initial = initial_position(&start.variant, start.initial_fen.as_deref());
        let live = LiveGame {
            tag: self.tags,
            white: start.white.clone(),
            black: start.black.clone(),
            ours: start.our_color,
            time_control: start.time_control.to_string(),
            began: now,
            board: initial.map(Game::new),
            waiting: None,
        };
        let kind = match start.variant.as_str() {
            "standard" => String::new(),
            "chess960" => " Chess960".to_owned(),
            other => format!(" {}", clip(other, MAX_NAME_CHARS)),
        };
        let line = format!(
            "{} – {}   {} {}{kind}, {}",
            full_name(&live.white),
            full_name(&live.black),
            live.time_control,
            clip(&start.speed, MAX_NAME_CHARS),
            if start.rated { "rated" } else { "casual" },
        );
        let line = self.line(live.tag, &self.bold(&line));
        self.games.insert(start.game.clone(), live);
        vec![line]
    }

    fn on_move(&mut self, moved: &Moved) -> Option<String> {
        let live = self.games.get_mut(&moved.game)?;
        if let Some(board) = &mut live.board
            && board.push_uci(&moved.uci).is_err()
        {
            live.board = None;
        }
        let number = numbered_move(moved);
        if !moved.ours {
            live.waiting = Some(number);
            return None;
        }
        let moves = match live.waiting.take() {
            // Our own number would only repeat that of the opponent's move.
            Some(theirs) if live.ours == Color::Black => format!("{theirs} {}", moved.san),
            Some(theirs) => format!("{theirs}  {number}"),
            None => number,
        };
        let (our_clock, their_clock) = match live.ours {
            Color::White => (moved.wtime, moved.btime),
            Color::Black => (moved.btime, moved.wtime),
        };
        let clocks = format!("{:>7} {:>7}", clock(our_clock), clock(their_clock));
        let info = moved.search.as_ref().map(search_info).unwrap_or_default();
        let line = format!("{moves:<25} {clocks}  {info}");
        Some(self.line(self.games[&moved.game].tag, line.trim_end()))
    }

    fn on_takeback(&mut self, game: &str, ply: u32) -> Vec<String> {
        let Some(live) = self.games.get_mut(game) else {
            return Vec::new();
        };
        if let Some(board) = &mut live.board {
            board.truncate(ply as usize);
        }
        live.waiting = None;
        vec![self.line(self.games[game].tag, &format!("takeback to ply {ply}"))]
    }

    fn on_game_finished(&mut self, end: &GameFinished, now: Instant) -> Vec<String> {
        let Some(live) = self.games.remove(&end.game) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if let Some(last) = &live.waiting {
            lines.push(self.line(live.tag, last));
        }
        let reason = clip(&end.reason(live.board.as_ref()), MAX_REASON_CHARS);
        let winner = end.winner.map(|color| match color {
            Color::White => clip(&live.white.name, MAX_NAME_CHARS),
            Color::Black => clip(&live.black.name, MAX_NAME_CHARS),
        });
        let sentence = match winner {
            Some(winner) => format!("{}  {winner} wins: {reason}", end.result),
            None if end.result == "1/2-1/2" => format!("{}  draw: {reason}", end.result),
            None => format!("{}  {reason}", end.result),
        };
        lines.push(self.line(live.tag, &self.bold(&sentence)));
        self.rows.push(Row {
            tag: live.tag,
            white: short_name(&live.white),
            black: short_name(&live.black),
            time_control: live.time_control,
            result: end.result.clone(),
            reason,
            plies: end.plies,
            took: now.saturating_duration_since(live.began),
            points: match (end.winner, end.result.as_str()) {
                (Some(winner), _) => Some(if winner == live.ours { 1.0 } else { 0.0 }),
                (None, "1/2-1/2") => Some(0.5),
                (None, _) => None,
            },
        });
        lines
    }

    /// Results table: a line for each finished game, and our score.
    pub(crate) fn table(&self) -> String {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.tag);
        let column_width = |of: fn(&Row) -> &str, min: usize| {
            rows.iter()
                .map(|row| of(row).chars().count())
                .fold(min, usize::max)
        };
        let white = column_width(|row| &row.white, 5);
        let black = column_width(|row| &row.black, 5);
        let reason = column_width(|row| &row.reason, 6);
        let head = format!(
            "{:>4}  {:white$}  {:black$}  {:>5}  {:>7}  {:reason$}  {:>5}  {:>6}",
            "game", "White", "Black", "clock", "result", "reason", "moves", "time"
        );
        let mut text = format!("{}\n", self.bold(&head));
        for row in &rows {
            text.push_str(&format!(
                "{:>4}  {:white$}  {:black$}  {:>5}  {:>7}  {:reason$}  {:>5}  {:>6}\n",
                row.tag,
                row.white,
                row.black,
                row.time_control,
                row.result,
                row.reason,
                row.plies.div_ceil(2),
                minutes(row.took),
            ));
        }
        let count = |points: f32| rows.iter().filter(|r| r.points == Some(points)).count();
        text.push_str(&format!(
            "\nKnightwatch: {} won, {} drawn, {} lost\n",
            count(1.0),
            count(0.5),
            count(0.0)
        ));
        text
    }

    /// A line of a game, cut to the width of the terminal, prefixed with the colored number of the game.
    fn line(&self, tag: usize, text: &str) -> String {
        let marker = format!("[{tag}]");
        let room = self.style.width.saturating_sub(6);
        let text = cut(text, room);
        if self.style.color {
            // Six colors that are readable on dark and light backgrounds.
            let color = 31 + (tag - 1) % 6;
            format!("\x1b[{color}m{marker:<5}\x1b[0m {text}")
        } else {
            format!("{marker:<5} {text}")
        }
    }

    /// A line that belongs to no game.
    fn note(&self, what: &str, text: &str) -> String {
        cut(&format!("-- {what}: {}", clip(text, 200)), self.style.width)
    }

    fn bold(&self, text: &str) -> String {
        if self.style.color {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// `BOT Rookie (1000)`
fn full_name(player: &Player) -> String {
    let rating = player
        .rating
        .map(|rating| format!(" ({rating})"))
        .unwrap_or_default();
    format!("{}{rating}", short_name(player))
}

/// `BOT Rookie`
fn short_name(player: &Player) -> String {
    let name = clip(&player.name, MAX_NAME_CHARS);
    match &player.title {
        Some(title) => format!("{} {name}", clip(title, 5)),
        None => name,
    }
}

/// `12. Nf3` or `12... Nf6`, by the ply; a game from a position where Black moves first counts from `1...` too.
fn numbered_move(moved: &Moved) -> String {
    let offset = match (moved.by, moved.ply % 2) {
        (Color::White, 1) | (Color::Black, 0) => 0,
        _ => 1,
    };
    let number = (moved.ply + offset).div_ceil(2);
    let dots = match moved.by {
        Color::White => ".",
        Color::Black => "...",
    };
    format!("{number}{dots} {}", moved.san)
}

/// Milliseconds as `1:05.3`; a dash where there is no clock.
fn clock(ms: Option<u64>) -> String {
    match ms {
        None => "-".to_owned(),
        Some(ms) if ms >= 3_600_000 => {
            let minutes = ms / 60_000;
            format!("{}h{:02}m", minutes / 60, minutes % 60)
        }
        Some(ms) => format!("{}:{:02}.{}", ms / 60_000, ms / 1000 % 60, ms % 1000 / 100),
    }
}

/// `+0.35 d14/22  Nf3 Nc6 Bb5`, or the source of a move that was not searched.
fn search_info(info: &SearchInfo) -> String {
    match info.source {
        Source::Book => "book".to_owned(),
        Source::Only => "only move".to_owned(),
        Source::Search | Source::Fallback => {
            let score = info
                .score
                .map(|score| score.to_string())
                .unwrap_or_default();
            format!(
                "{score:>7} d{:<2} {:>5}  {}",
                info.depth,
                count(info.nodes),
                info.pv.join(" ")
            )
        }
    }
}

/// `850`, `12k`, `3.4M`
fn count(nodes: u64) -> String {
    match nodes {
        0..1_000 => nodes.to_string(),
        1_000..1_000_000 => format!("{}k", nodes / 1_000),
        _ => format!("{}.{}M", nodes / 1_000_000, nodes / 100_000 % 10),
    }
}

/// `2:05`
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// The text cut to `width` visible characters; escape sequences do not count.
fn cut(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut room = width;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\x1b' {
            out.push(c);
            for c in chars.by_ref() {
                out.push(c);
                if c.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if room > 0 {
            out.push(c);
            room -= 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Score, TimeControl};

    const PLAIN: Style = Style {
        color: false,
        width: 100,
    };

    fn player(name: &str, rating: u32) -> Player {
        Player {
            name: name.to_owned(),
            title: Some("BOT".to_owned()),
            rating: Some(rating),
            provisional: false,
        }
    }

    fn start(game: &str, ours: Color) -> Event {
        Event::GameStarted(GameStarted {
            game: game.to_owned(),
            white: player("Rookie", 1000),
            black: player("Knightwatch", 2500),
            our_color: ours,
            speed: "bullet".to_owned(),
            time_control: TimeControl::Clock {
                limit: 60,
                increment: 1,
            },
            rated: true,
            variant: "standard".to_owned(),
            initial_fen: None,
            tournament: None,
            engine: None,
            plies: 0,
        })
    }

    fn moved(ply: u32, san: &str, uci: &str, ours: bool, search: Option<SearchInfo>) -> Event {
        Event::Moved(Moved {
            game: "abcdefgh".to_owned(),
            ply,
            san: san.to_owned(),
            uci: uci.to_owned(),
            by: if ply % 2 == 1 {
                Color::White
            } else {
                Color::Black
            },
            ours,
            wtime: Some(60_000),
            btime: Some(59_140),
            search,
            timing: None,
        })
    }

    fn end(status: &str, winner: Option<Color>, result: &str) -> Event {
        Event::GameFinished(GameFinished {
            game: "abcdefgh".to_owned(),
            our_color: None,
            status: status.to_owned(),
            winner,
            result: result.to_owned(),
            plies: 4,
            moves: "e2e4 e7e5 g1f3 b8c6".to_owned(),
            observed: true,
        })
    }

    #[test]
    fn short_game_prints_moves_and_result_table() {
        let now = Instant::now();
        let mut console = ConsoleLog::new(PLAIN);
        let searched = SearchInfo {
            source: Source::Search,
            score: Some(Score::Mate(1)),
            wdl: None,
            fallback: None,
            depth: 9,
            seldepth: 12,
            nodes: 12_345,
            hashfull: 0,
            ordering: None,
            elapsed: Duration::from_millis(300),
            pv: vec!["Qh4#".to_owned()],
        };
        let events = [
            start("abcdefgh", Color::Black),
            moved(1, "f3", "f2f3", false, None),
            moved(2, "e5", "e7e5", true, None),
            moved(3, "g4", "g2g4", false, None),
            moved(4, "Qh4#", "d8h4", true, Some(searched)),
            end("mate", Some(Color::Black), "0-1"),
        ];
        let lines: Vec<String> = events
            .iter()
            .flat_map(|e| console.on_event(e, now))
            .collect();
        assert_eq!(
            lines,
            [
                "[1]   BOT Rookie (1000) – BOT Knightwatch (2500)   1+1 bullet, rated",
                "[1]   1. f3 e5                   0:59.1  1:00.0",
                "[1]   2. g4 Qh4#                 0:59.1  1:00.0       #1 d9    12k  Qh4#",
                "[1]   0-1  Knightwatch wins: checkmate",
            ]
        );
        assert_eq!(
            console.table(),
            "game  White       Black            clock   result  reason     moves    time\n   \
             1  BOT Rookie  BOT Knightwatch    1+1      0-1  checkmate      2    0:00\n\n\
             Knightwatch: 1 won, 0 drawn, 0 lost\n"
        );
    }

    #[test]
    fn our_move_as_white_follows_opponents_reply() {
        let now = Instant::now();
        let mut console = ConsoleLog::new(PLAIN);
        console.on_event(&start("abcdefgh", Color::White), now);
        console.on_event(&moved(1, "e4", "e2e4", true, None), now);
        assert!(
            console
                .on_event(&moved(2, "e5", "e7e5", false, None), now)
                .is_empty()
        );
        let lines = console.on_event(&moved(3, "Nf3", "g1f3", true, None), now);
        assert!(lines[0].starts_with("[1]   1... e5  2. Nf3 "), "{lines:?}");
        console.on_event(&moved(4, "Nc6", "b8c6", false, None), now);
        let lines = console.on_event(&end("draw", None, "1/2-1/2"), now);
        assert_eq!(lines, ["[1]   2... Nc6", "[1]   1/2-1/2  draw: agreement"]);
    }

    #[test]
    fn control_characters_in_name_are_removed() {
        let mut console = ConsoleLog::new(PLAIN);
        let Event::GameStarted(mut begin) = start("abcdefgh", Color::Black) else {
            unreachable!("made above")
        };
        begin.white.name = "Ev\x1b[2Jil\n".to_owned();
        let lines = console.on_event(&Event::GameStarted(begin), Instant::now());
        assert!(!lines[0].contains(char::is_control), "{lines:?}");
    }

    #[test]
    fn line_longer_than_terminal_is_cut() {
        let mut console = ConsoleLog::new(Style {
            color: true,
            width: 40,
        });
        let lines = console.on_event(&start("abcdefgh", Color::Black), Instant::now());
        let visible = lines[0].replace("\x1b[31m", "").replace("\x1b[1m", "");
        let visible = visible.replace("\x1b[0m", "");
        assert_eq!(visible.chars().count(), 40);
        assert!(lines[0].ends_with("\x1b[0m"), "{lines:?}");
    }

    #[test]
    fn repeated_game_start_is_ignored() {
        let now = Instant::now();
        let mut console = ConsoleLog::new(PLAIN);
        assert_eq!(
            console
                .on_event(&start("abcdefgh", Color::Black), now)
                .len(),
            1
        );
        assert!(
            console
                .on_event(&start("abcdefgh", Color::Black), now)
                .is_empty()
        );
    }

    #[test]
    fn aborted_game_is_not_counted_as_draw() {
        let now = Instant::now();
        let mut console = ConsoleLog::new(PLAIN);
        console.on_event(&start("abcdefgh", Color::Black), now);
        assert_eq!(
            console.on_event(&end("aborted", None, "*"), now),
            ["[1]   *  aborted"]
        );
        assert!(console.table().ends_with("0 won, 0 drawn, 0 lost\n"));
    }
}
