//! `knightwatch gauntlet`: this program against another engine, both by UCI and with a clock, to see how strong it is; or against
//! itself, to see that nothing goes wrong.
//!
//! Who oversteps the clock loses the game. One in which both see a win of 15 pawns for six plies is won, and after 400 plies it
//! is a draw. An engine that goes away, or answers with a move that there is not, ends it all.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::contest::stats::Tally;
use super::contest::{crew, pair};
use super::datagen::HASH;
use super::openings::Openings;
use super::options::{GauntletOptions, TimeControl};
use super::rival::Rival;
use super::signal::stop_on_signal;
use crate::chess::{Color, Game};
use crate::engine::{Searcher, Setting};
use crate::progress::Progress;

/// In a game a player may overstep the clock by less than so much, for what is lost between the processes.
const MARGIN: Duration = Duration::from_millis(50);

/// What either has where nothing else is said.
const USUAL: [(&str, i64); 2] = [("Hash", 16), ("Threads", 1)];

/// Plays and prints what comes out, also when it is ended before.
///
/// # Errors
/// When an engine cannot be used or fails, or the openings cannot be, or no thread be started.
pub fn run(options: &GauntletOptions) -> anyhow::Result<()> {
    let openings = options.field.openings(0)?;
    // Whatever is wrong with the options is told before the first game.
    let [us, them] = players(options)?.map(|player| player.name.clone());
    println!("{us} against {them}, {}", options.tc);
    let stop = stop_on_signal();
    let (pairs, taken) = (options.games.div_ceil(2), AtomicU64::new(0));
    let next = || {
        let pair = taken.fetch_add(1, Ordering::Relaxed);
        (pair < pairs && !stop.load(Ordering::Relaxed)).then_some(pair)
    };
    let worker = || {
        // Set up when it is needed.
        let mut table = None;
        let openings = &openings;
        move |pair| {
            let table = match &mut table {
                Some(table) => table,
                none => none.insert(Table::new(options)?),
            };
            table.play(openings, pair)
        }
    };
    let (mut tally, mut flags) = (Tally::default(), [0; 2]);
    let mut progress = Progress::default();
    let played = crew::work(
        crew::size(options.field.threads),
        next,
        worker,
        |result: anyhow::Result<Pair>| {
            let result = result?;
            tally.add(result.points);
            for (all, flags) in flags.iter_mut().zip(result.flags) {
                *all += flags;
            }
            progress.show(|| tally.describe());
            Ok(())
        },
    );
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    // What has been played counts, whatever has gone wrong then.
    println!("{} in {seconds:.0} s", tally.describe());
    let [ours, theirs] = flags;
    println!("lost by the clock: {ours} of ours, {theirs} of theirs");
    played
}

/// Us and them.
fn players(options: &GauntletOptions) -> anyhow::Result<[Rival; 2]> {
    let own = std::env::current_exe().context("cannot find this program")?;
    let them = match options.engine == Path::new("self") {
        true => Rival::start(&own, &["uci"]),
        false => Rival::start(&options.engine, &[]),
    };
    let mut players = [Rival::start(&own, &["uci"])?, them?];
    for (player, settings) in players.iter_mut().zip([&options.ours, &options.theirs]) {
        for (name, value) in USUAL {
            if !settings
                .iter()
                .any(|(set, _)| set.eq_ignore_ascii_case(name))
            {
                player.offer(name, value)?;
            }
        }
        for (name, value) in settings {
            player.set(name, value)?;
        }
    }
    Ok(players)
}

/// What came of two games from one opening.
struct Pair {
    /// Our half points in each.
    points: [u8; 2],
    /// Games that we and they have lost by the clock.
    flags: [u64; 2],
}

/// Why a game is over before it is decided.
enum End {
    /// This player has overstepped the clock.
    Flag(usize),
    Broken(anyhow::Error),
}

/// The players of one thread.
struct Table {
    players: [Rival; 2],
    judge: Searcher,
    tc: TimeControl,
}

impl Table {
    fn new(options: &GauntletOptions) -> anyhow::Result<Table> {
        Ok(Table {
            players: players(options)?,
            judge: Searcher::new(HASH, &Setting::default()),
            tc: options.tc,
        })
    }

    /// Two games from one opening.
    fn play(&mut self, openings: &Openings, pair: u64) -> anyhow::Result<Pair> {
        let start = pair::opening(openings, pair, &mut self.judge);
        let (mut points, mut flags) = ([0; 2], [0; 2]);
        for (points, first) in points.iter_mut().zip([Color::White, Color::Black]) {
            for player in &mut self.players {
                player.new_game(&start)?;
            }
            let mut clocks = Clocks::new(self.tc);
            let think = |side: usize, game: &Game| {
                let limits = clocks.limits(first);
                let since = Instant::now();
                let thought = self.players[side]
                    .think(game, &limits)
                    .map_err(End::Broken)?;
                match clocks.press(side, since.elapsed()) {
                    true => Ok(Some(thought)),
                    false => Err(End::Flag(side)),
                }
            };
            *points = match pair::play_game(think, Game::new(start.clone()), first) {
                Ok(outcome) => outcome.points(first),
                Err(End::Flag(side)) => {
                    flags[side] += 1;
                    [0, 2][side]
                }
                Err(End::Broken(error)) => return Err(error),
            };
        }
        Ok(Pair { points, flags })
    }
}

/// What the two players have left.
struct Clocks {
    left: [Duration; 2],
    /// How much more they may take.
    margin: [Duration; 2],
    increment: Duration,
}

impl Clocks {
    fn new(tc: TimeControl) -> Clocks {
        Clocks {
            left: [tc.base; 2],
            margin: [MARGIN; 2],
            increment: tc.increment,
        }
    }

    /// As UCI says it, where player 0 has this colour.
    fn limits(&self, first: Color) -> String {
        let [mut white, mut black] = self.left.map(|left| left.as_millis().max(1));
        if !first.is_white() {
            std::mem::swap(&mut white, &mut black);
        }
        let inc = self.increment.as_millis();
        format!("wtime {white} btime {black} winc {inc} binc {inc}")
    }

    /// A move of this player has taken so long. Whether there was time for it.
    fn press(&mut self, side: usize, took: Duration) -> bool {
        // What a move takes of the margin is no more there for the next one.
        let overstepped = took.saturating_sub(self.left[side]);
        self.margin[side] = self.margin[side].saturating_sub(overstepped);
        self.left[side] = self.left[side].saturating_sub(took) + self.increment;
        !self.margin[side].is_zero()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_run_and_fall() {
        let ms = Duration::from_millis;
        let mut clocks = Clocks::new(TimeControl {
            base: ms(1_000),
            increment: ms(20),
        });
        assert!(clocks.press(0, ms(300)));
        assert_eq!(
            clocks.limits(Color::White),
            "wtime 720 btime 1000 winc 20 binc 20"
        );
        assert_eq!(
            clocks.limits(Color::Black),
            "wtime 1000 btime 720 winc 20 binc 20"
        );
        assert!(clocks.press(1, ms(1_030)), "within the margin");
        assert_eq!(clocks.left, [ms(720), ms(20)]);
        assert!(clocks.press(1, ms(39)));
        assert!(!clocks.press(1, ms(21)), "which is used up");
    }
}
