//! Comparison of a trace with the decisions of this version, line by line.

use std::io::{self, Write};
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::super::trace::{FoundMove, Record, Session};
use super::{Replay, format};
use crate::bot::game::status::SuspendedGame;
use crate::clock;
use crate::engine::{Limits, Searcher, Setting};
use crate::events::Source;
use crate::lichess::model::clean;
use crate::plural;

/// Transposition table of a repeated search, in MiB.
const TABLE_MIB: usize = 64;

/// Node limit of a repeated search relative to the original, which had a filled table.
const NODE_LIMIT_FACTOR: u64 = 4;

/// Result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    /// Decisions in the trace.
    pub decisions: usize,
    /// Decisions that differ or are missing on either side.
    pub differences: usize,
    /// Repeated searches.
    pub searches: usize,
    /// Repeated searches with another move.
    pub other_moves: usize,
    /// Largest difference of their scores, in centipawns.
    pub max_score_diff: u32,
    /// Line number at which records are missing and the comparison stopped.
    pub gap_line: Option<usize>,
}

/// Compares a trace and prints it.
pub(super) struct Comparison<'a, W> {
    out: &'a mut W,
    summary: Summary,
    engine: Option<Searcher>,
}

impl<'a, W: Write> Comparison<'a, W> {
    /// Creates a comparison that prints to `out`. `search`: repeat every search.
    pub(super) fn new(out: &'a mut W, search: bool) -> Self {
        Self {
            out,
            summary: Summary::default(),
            engine: search.then(|| Searcher::new(TABLE_MIB, &Setting::default())),
        }
    }

    /// Compares all sessions.
    ///
    /// # Errors
    /// Printing fails.
    pub(super) fn run(mut self, sessions: &[Session]) -> io::Result<Summary> {
        let mut suspended = None;
        if sessions.first().is_some_and(|first| first.header.resumed) {
            writeln!(
                self.out,
                "the trace begins with a resumed session: the trace of the earlier ones was removed"
            )?;
            self.summary.gap_line = Some(1);
            return Ok(self.summary);
        }
        for session in sessions {
            let kept = suspended.take().filter(|_| session.header.resumed);
            suspended = self.compare_session(session, kept)?;
            if self.summary.gap_line.is_some() {
                break;
            }
        }
        Ok(self.summary)
    }

    /// Compares one session. Returns the state of the game at its end.
    fn compare_session(
        &mut self,
        session: &Session,
        suspended: Option<SuspendedGame>,
    ) -> io::Result<Option<SuspendedGame>> {
        let header = &session.header;
        let date = UNIX_EPOCH.checked_add(Duration::from_millis(header.began_ms));
        writeln!(
            self.out,
            "game {} of {} on {}, knightwatch {}, {}{}",
            clean(&header.game),
            clean(&header.account),
            clean(&header.server),
            clean(&header.program),
            date.map_or_else(|| "an unknown time".to_owned(), clock::format_date),
            if header.resumed { ", resumed" } else { "" },
        )?;
        let mut replay = Replay::from_header(header, suspended);
        // After a difference, skip those that follow from it, until the next event.
        let mut diverged = false;
        for (line, at, record) in &session.entries {
            let now = replay.began.checked_add(Duration::from_nanos(*at));
            let Some(now) = now else {
                self.summary.gap_line = Some(*line);
                return Ok(None);
            };
            match record {
                Record::Decision(traced, why) => {
                    self.summary.decisions += 1;
                    let replayed = replay.next_decision(now);
                    let why = match why.is_empty() {
                        true => String::new(),
                        false => format!(" ({})", clean(why)),
                    };
                    let text = format!("-> {}{why}", format::decision(traced));
                    self.print(&replay, *at, &text)?;
                    if replayed.as_ref() != Some(traced) && !diverged {
                        let replayed = replayed
                            .as_ref()
                            .map_or("nothing".to_owned(), format::decision);
                        self.print_difference(*line, &format!("replayed: {replayed}"))?;
                        diverged = true;
                    }
                    if diverged {
                        replay.expected.clear();
                    }
                    continue;
                }
                Record::Note(note) | Record::End(note) => {
                    self.print(&replay, *at, &clean(note))?;
                    continue;
                }
                Record::Missing(count) => {
                    let count = plural::count(*count, "record is", "records are");
                    let text = format!(
                        "{count} missing here: the disk was too slow, or the trace reached its limit"
                    );
                    self.print(&replay, *at, &text)?;
                    self.summary.gap_line = Some(*line);
                    return Ok(None);
                }
                _ => {}
            }
            if !replay.is_part_of_line(record) {
                self.report_missing(&mut replay, (*line, now), record, &mut diverged)?;
            }
            self.print_input(&replay, *at, record)?;
            if let Err(why) = replay.on_record(now, record)
                && !diverged
            {
                self.print_difference(
                    *line,
                    &format!("not possible in the replay: {}", clean(&why)),
                )?;
                diverged = true;
            }
        }
        if !session.has_ended() {
            writeln!(
                self.out,
                "            the trace has no end here: the game is running, the program was killed, or the file was cut"
            )?;
        }
        // Decisions at the end of the trace may have been cut off.
        replay.finish_update();
        Ok(replay.core.suspended())
    }

    /// Prints decisions of the replay that the trace lacks before the next record.
    fn report_missing(
        &mut self,
        replay: &mut Replay,
        (line, now): (usize, Instant),
        next: &Record,
        diverged: &mut bool,
    ) -> io::Result<()> {
        while let Some(decision) = replay.next_decision(now) {
            if !*diverged {
                let decision = format::decision(&decision);
                self.print_difference(line, &format!("replayed before this: {decision}"))?;
            }
        }
        if !matches!(next, Record::ChatRequest { .. })
            && let Some(missing) = replay.take_missing()
            && !*diverged
        {
            self.print_difference(line, &format!("replayed before this: {missing}"))?;
        }
        *diverged = false;
        Ok(())
    }

    /// Prints an event.
    fn print_input(&mut self, replay: &Replay, at: u64, record: &Record) -> io::Result<()> {
        match record {
            Record::FoundMove(found) => {
                if let Some((_, game_moves)) = replay.core.game() {
                    let text = format!("found {}", format::found(found, game_moves));
                    self.print(replay, at, &text)?;
                }
                self.repeat_search(replay, found)
            }
            Record::NoMove => self.print(replay, at, "no move to choose from"),
            Record::PostResponse(response) => self.print(replay, at, &format::response(response)),
            Record::Recover => self.print(
                replay,
                at,
                "watchdog: nothing was in flight for the pending move",
            ),
            _ => Ok(()),
        }
    }

    fn print(&mut self, replay: &Replay, at: u64, text: &str) -> io::Result<()> {
        let seconds = Duration::from_nanos(at).as_secs_f64();
        let number = replay.core.game();
        let number = number.map_or(String::new(), |(_, game_moves)| format::number(game_moves));
        writeln!(self.out, "{seconds:>10.3}  {number:<6} {text}")
    }

    fn print_difference(&mut self, line: usize, text: &str) -> io::Result<()> {
        self.summary.differences += 1;
        writeln!(self.out, "! line {line}: {text}")
    }

    /// Repeats a search with an empty table and one thread.
    fn repeat_search(&mut self, replay: &Replay, found: &FoundMove) -> io::Result<()> {
        if replay.core.terms().engine.is_some() {
            // Moves of an external engine cannot be repeated.
            return Ok(());
        }
        let (Some(engine), Some((_, game_moves))) = (&mut self.engine, replay.core.game()) else {
            return Ok(());
        };
        let search = found.search.as_ref().filter(|search| search.depth > 0);
        let (Some(search), Source::Search) = (search, found.source) else {
            return Ok(());
        };
        let legal = game_moves.position().legal_moves();
        let rejected = replay.core.pending_move().rejected_moves();
        let allowed = legal.iter().copied().filter(|mv| !rejected.contains(mv));
        engine.new_game();
        let result = engine.search(
            game_moves.game(),
            &Limits {
                depth: Some(search.depth),
                nodes: Some(
                    search
                        .nodes
                        .saturating_mul(NODE_LIMIT_FACTOR)
                        .saturating_add(100_000),
                ),
                search_moves: match rejected.is_empty() {
                    true => Vec::new(),
                    false => allowed.collect(),
                },
                strength: replay.core.strength(),
                ..Limits::default()
            },
        );
        let same = game_moves.position().parse_uci(&found.uci).ok() == result.mv;
        let san = result
            .mv
            .map_or("no move".to_owned(), |mv| game_moves.position().san(mv));
        self.summary.searches += 1;
        self.summary.other_moves += usize::from(!same);
        let difference = match (search.score(), result.score) {
            (crate::engine::Score::Centipawns(then), crate::engine::Score::Centipawns(now)) => {
                self.summary.max_score_diff = self.summary.max_score_diff.max(then.abs_diff(now));
                format!(" ({:+} cp)", i64::from(now) - i64::from(then))
            }
            _ => String::new(),
        };
        writeln!(
            self.out,
            "           repeated, {}: {san}, {} at depth {}{difference}, {}",
            if same { "same move" } else { "another move" },
            result.score,
            result.depth,
            plural::count(result.nodes, "position", "positions"),
        )
    }
}
