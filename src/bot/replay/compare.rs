//! A trace against what would be decided now, line by line.

use std::io::{self, Write};
use std::time::{Duration, Instant, UNIX_EPOCH};

use super::super::trace::{Found, Origin, Record, Session};
use super::{Replay, words};
use crate::bot::game::choice::told;
use crate::bot::game::status::SuspendedGame;
use crate::clock;
use crate::engine::{Limits, Searcher, Setting};
use crate::lichess::model::clean;
use crate::plural;

/// The table of a search that is repeated, in MiB.
const HASH_MIB: usize = 64;

/// A search that is repeated may look at so many times the positions, and a few more, to come as deep: its table is empty.
const MORE: u64 = 4;

/// What has come of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Decisions that stand in the trace.
    pub decisions: usize,
    /// Those that are otherwise now, or missing on either side.
    pub differences: usize,
    /// Searches that were repeated.
    pub searches: usize,
    /// Those that found another move.
    pub other_moves: usize,
    /// The largest difference of their scores, in centipawns.
    pub widest: u32,
    /// The number of the line from which on something is missing, so that it could not be gone on.
    pub gap: Option<usize>,
}

/// Tells a trace again.
pub(super) struct Comparison<'a, W> {
    out: &'a mut W,
    verdict: Verdict,
    engine: Option<Searcher>,
}

impl<'a, W: Write> Comparison<'a, W> {
    /// To be printed here; `search`: every search is repeated.
    pub fn new(out: &'a mut W, search: bool) -> Self {
        Self {
            out,
            verdict: Verdict::default(),
            engine: search.then(|| Searcher::new(HASH_MIB, &Setting::default())),
        }
    }

    /// Tells these lives, and what has come of it.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn tell(mut self, lives: &[Session]) -> io::Result<Verdict> {
        let mut notes = None;
        for life in lives {
            let kept = notes.take().filter(|_| life.header.rested);
            notes = self.life(life, kept)?;
            if self.verdict.gap.is_some() {
                break;
            }
        }
        Ok(self.verdict)
    }

    /// One of them; what is known of the game at its end.
    fn life(
        &mut self,
        life: &Session,
        notes: Option<SuspendedGame>,
    ) -> io::Result<Option<SuspendedGame>> {
        let header = &life.header;
        let date = UNIX_EPOCH.checked_add(Duration::from_millis(header.began_ms));
        writeln!(
            self.out,
            "game {} of {} on {}, knightwatch {}, {}{}",
            clean(&header.game),
            clean(&header.account),
            clean(&header.server),
            clean(&header.program),
            date.map_or_else(|| "an unknown time".to_owned(), clock::format_date),
            if header.rested { ", after a rest" } else { "" },
        )?;
        let mut replay = Replay::of(header, notes);
        // After one difference those that follow from it are of no interest, until something happens.
        let mut lost = false;
        for (line, at, what) in &life.entries {
            let now = replay.began.checked_add(Duration::from_nanos(*at));
            let Some(now) = now else {
                self.verdict.gap = Some(*line);
                return Ok(None);
            };
            match what {
                Record::Decided(decided, why) => {
                    self.verdict.decisions += 1;
                    let ours = replay.decision(now);
                    let why = match why.is_empty() {
                        true => String::new(),
                        false => format!(" ({})", clean(why)),
                    };
                    let said = format!("-> {}{why}", words::decision(decided));
                    self.say(&replay, *at, &said)?;
                    if ours.as_ref() != Some(decided) && !lost {
                        let ours = ours.as_ref().map_or("nothing".to_owned(), words::decision);
                        self.differs(*line, &format!("now it would be: {ours}"))?;
                        lost = true;
                    }
                    if lost {
                        replay.due.clear();
                    }
                    continue;
                }
                Record::Note(note) | Record::End(note) => {
                    self.say(&replay, *at, &clean(note))?;
                    continue;
                }
                Record::Missing(count) => {
                    let count = plural::count(*count, "entry is", "entries are");
                    let said = format!("{count} missing here, the disk was too slow");
                    self.say(&replay, *at, &said)?;
                    self.verdict.gap = Some(*line);
                    return Ok(None);
                }
                _ => {}
            }
            if !replay.is_within_a_line(what) {
                self.leftover(&mut replay, (*line, now), what, &mut lost)?;
            }
            self.input(&replay, *at, what)?;
            if let Err(why) = replay.feed(now, what)
                && !lost
            {
                self.differs(*line, &format!("now this could not be: {}", clean(&why)))?;
                lost = true;
            }
        }
        // What was still to be decided may have been cut off.
        replay.settle();
        Ok(replay.mind.notes())
    }

    /// What would have been decided before this comes, and was not.
    fn leftover(
        &mut self,
        replay: &mut Replay,
        (line, now): (usize, Instant),
        next: &Record,
        lost: &mut bool,
    ) -> io::Result<()> {
        while let Some(decision) = replay.decision(now) {
            if !*lost {
                let decision = words::decision(&decision);
                self.differs(line, &format!("before this it would now: {decision}"))?;
            }
        }
        if !matches!(next, Record::Asked { .. })
            && let Some(overdue) = replay.overdue()
            && !*lost
        {
            self.differs(line, &format!("before this it would now: {overdue}"))?;
        }
        *lost = false;
        Ok(())
    }

    /// What comes.
    fn input(&mut self, replay: &Replay, at: u64, what: &Record) -> io::Result<()> {
        match what {
            Record::Found(found) => {
                if let Some((_, sheet)) = &replay.mind.table {
                    let said = format!("found {}", words::found(found, sheet));
                    self.say(replay, at, &said)?;
                }
                self.search(replay, found)
            }
            Record::FoundNone => self.say(replay, at, "found no move to choose from"),
            Record::Answer(answer) => self.say(replay, at, &words::answer(answer)),
            Record::Mend => self.say(
                replay,
                at,
                "nothing was in flight for the move that is owed",
            ),
            _ => Ok(()),
        }
    }

    fn say(&mut self, replay: &Replay, at: u64, text: &str) -> io::Result<()> {
        let seconds = Duration::from_nanos(at).as_secs_f64();
        let number = replay.mind.table.as_ref();
        let number = number.map_or(String::new(), |(_, sheet)| words::number(sheet));
        writeln!(self.out, "{seconds:>10.3}  {number:<6} {text}")
    }

    fn differs(&mut self, line: usize, text: &str) -> io::Result<()> {
        self.verdict.differences += 1;
        writeln!(self.out, "! line {line}: {text}")
    }

    /// Repeats a search on an empty table and one thread.
    fn search(&mut self, replay: &Replay, found: &Found) -> io::Result<()> {
        let (Some(engine), Some((_, sheet))) = (&mut self.engine, &replay.mind.table) else {
            return Ok(());
        };
        let idea = found.thought.as_ref().filter(|idea| idea.depth > 0);
        let (Some(idea), Origin::Search) = (idea, found.from) else {
            return Ok(());
        };
        let legal = sheet.position().legal_moves();
        let barred = replay.mind.duty.barred();
        let open = legal.iter().copied().filter(|mv| !barred.contains(mv));
        engine.new_game();
        let thought = engine.search(
            sheet.game(),
            &Limits {
                depth: Some(idea.depth),
                nodes: Some(idea.nodes.saturating_mul(MORE).saturating_add(100_000)),
                search_moves: match barred.is_empty() {
                    true => Vec::new(),
                    false => open.collect(),
                },
                strength: replay.mind.strength(),
                ..Limits::default()
            },
        );
        let same = sheet.position().parse_uci(&found.uci).ok() == thought.mv;
        let san = thought
            .mv
            .map_or("no move".to_owned(), |mv| sheet.position().san(mv));
        self.verdict.searches += 1;
        self.verdict.other_moves += usize::from(!same);
        let by = match (idea.score(), thought.score) {
            (crate::engine::Score::Centipawns(then), crate::engine::Score::Centipawns(now)) => {
                self.verdict.widest = self.verdict.widest.max(then.abs_diff(now));
                format!(" ({:+} cp)", i64::from(now) - i64::from(then))
            }
            _ => String::new(),
        };
        writeln!(
            self.out,
            "           {} again: {san}, {} at depth {}{by}, {}",
            if same { "same move" } else { "another move" },
            told(thought.score),
            thought.depth,
            plural::count(thought.nodes, "position", "positions"),
        )
    }
}
