//! Self-play: games of the engine against itself from random openings, for the trainer.
//!
//! Each thread plays one game at a time with a small table of its own, all forgotten between games, so that a game depends on
//! its seed alone. The main thread collects finished games and writes them, a file every few minutes.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::archive;
use super::contest::crew;
use super::dataset::is_quiet;
use super::log::say;
use super::openings;
use super::options::DatagenOptions;
use super::record::{Outcome, Record};
use super::referee::{Streak, by_rule, limits};
use super::signal::stop_and_save_on_signal;
use crate::chess::{Game, Position};
use crate::engine::nnue::Network;
use crate::engine::{Bound, Limits, Score, SearchReport, Searcher, Setting};
use crate::progress::Progress;

/// Openings beyond this, in centipawns, are no games.
const OPENING_MAX: i32 = 800;
/// The opening is looked at so many times longer than a move.
const OPENING_EFFORT: u64 = 8;
/// A game is won when it stands at this for so many plies...
const WIN_SCORE: i32 = 2500;
const WIN_PLIES: u32 = 5;
/// ... and drawn when it stands so near to zero for so many plies, not before ply so-and-so.
const DRAW_SCORE: i16 = 6;
const DRAW_PLIES: usize = 12;
const DRAW_FROM: usize = 70;
/// No game is longer.
const MAX_PLIES: usize = 400;
/// One game in so many is played out to mate.
const PLAYED_OUT: u32 = 10;
/// Table of a thread, in MiB.
pub(super) const HASH: usize = 2;
/// Enough for the deepest line in an unoptimised build.
const STACK: usize = 16 << 20;
/// A file that is full is not written, or tried to be, sooner after the one before.
const RETRY: Duration = Duration::from_secs(30);
/// Stored where the search gave no score; too large for any filter.
const NO_SCORE: i16 = i16::MAX;

/// Plays until the options' limits or until told to stop (Ctrl-C, SIGTERM).
///
/// # Errors
/// When the folder cannot be written, the network is bad or the seed was used before.
pub fn run(options: &DatagenOptions) -> anyhow::Result<()> {
    let folder = &options.data;
    let label_is_plain = options
        .label
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    ensure!(
        label_is_plain && !options.label.is_empty(),
        "--label takes letters, digits and underscores"
    );
    let network = match &options.network {
        Some(path) => Some(Arc::new(Network::open(path)?)),
        None if options.classical => None,
        None => Network::embedded(),
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let seed = choose_seed(folder, options.seed)?;
    let threads = crew::size(options.threads);
    let [stop, at_once] = stop_and_save_on_signal();
    say(&format!(
        "self-play: {threads} threads, {} nodes, {}, seed {seed:08x}, to {}",
        options.nodes,
        network
            .as_ref()
            .map_or("classical evaluation".into(), |network| format!(
                "network {}",
                network.name()
            )),
        folder.display()
    ));
    let mut store = Store::new(options, seed);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let (sender, games) = mpsc::channel();
        for thread in 0..threads {
            let (sender, stop, network) = (sender.clone(), stop.clone(), network.clone());
            let player =
                move || Player::new(options, network, seed, thread).play_all(&stop, &sender);
            Builder::new()
                .name("self-play".into())
                .stack_size(STACK)
                .spawn_scoped(scope, player)
                .context("cannot start a thread")?;
        }
        drop(sender);
        loop {
            match games.recv_timeout(Duration::from_millis(200)) {
                Ok(played) => store.add(&played),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if store.is_enough() {
                stop.store(true, Ordering::Relaxed);
            }
            store.write_when_due();
            if at_once.load(Ordering::Relaxed) {
                store.write()?;
                std::process::exit(1);
            }
        }
        Ok(())
    })?;
    store.write()?;
    store.progress.clear();
    say(&store.describe());
    Ok(())
}

/// The seed asked for, or a fresh one; never one that a file in the folder was made with.
fn choose_seed(folder: &Path, wanted: Option<u32>) -> anyhow::Result<u32> {
    let used: HashSet<String> = archive::files(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .iter()
        .filter_map(|path| {
            path.file_name()?
                .to_str()?
                .split('-')
                .nth(1)
                .map(str::to_owned)
        })
        .collect();
    let is_used = |seed: u32| used.contains(&format!("{seed:08x}"));
    match wanted {
        Some(seed) => {
            ensure!(
                !is_used(seed),
                "{} has games of seed {seed} already",
                folder.display()
            );
            Ok(seed)
        }
        None => Ok(std::iter::repeat_with(|| fastrand::u32(..))
            .find(|seed| !is_used(*seed))
            .expect("an endless supply")),
    }
}

/// A finished game and what it took.
struct Played {
    record: Record,
    /// Positions that the trainer will keep.
    kept: u64,
    nodes: u64,
    depths: u64,
}

/// One thread's player.
struct Player {
    solo: Searcher,
    rng: fastrand::Rng,
    limits: Limits,
    opening_limits: Limits,
    chess960: u8,
}

impl Player {
    fn new(
        options: &DatagenOptions,
        network: Option<Arc<Network>>,
        seed: u32,
        thread: usize,
    ) -> Player {
        Player {
            solo: Searcher::new(HASH, &Setting::with_network(network)),
            rng: fastrand::Rng::with_seed(u64::from(seed) << 32 | thread as u64),
            limits: limits(options.nodes),
            opening_limits: limits(options.nodes.saturating_mul(OPENING_EFFORT)),
            chess960: options.chess960,
        }
    }

    fn play_all(&mut self, stop: &AtomicBool, games: &Sender<Played>) {
        while !stop.load(Ordering::Relaxed) {
            if let Some(played) = self.play()
                && games.send(played).is_err()
            {
                return;
            }
        }
    }

    /// One game; `None` when the opening was bad.
    fn play(&mut self) -> Option<Played> {
        let opening = openings::random(&mut self.rng, self.chess960)?;
        self.solo.new_game();
        let mut game = Game::new(opening.clone());
        let look = self.solo.search(&game, &self.opening_limits);
        if !matches!(look.score, Score::Centipawns(cp) if cp.abs() <= OPENING_MAX) {
            return None;
        }
        self.solo.new_game();
        let adjudicated = self.rng.u32(0..PLAYED_OUT) > 0;
        let mut played = Played {
            record: Record::new(opening),
            kept: 0,
            nodes: look.nodes,
            depths: 0,
        };
        let (mut winning, mut level) = (Streak::default(), 0);
        let outcome = loop {
            if let Some(outcome) = by_rule(&game) {
                break outcome;
            }
            let thought = self.solo.search(&game, &self.limits);
            let mv = thought.mv?;
            let score = for_white(&thought, game.position());
            played.nodes += thought.nodes;
            played.depths += u64::from(thought.depth);
            played.kept += u64::from(is_quiet(game.position(), mv, score));
            played.record.push(mv, score);
            if score != NO_SCORE {
                winning.see(score.into(), WIN_SCORE);
                level = if score.abs() <= DRAW_SCORE {
                    level + 1
                } else {
                    0
                };
            }
            if adjudicated && let Some(outcome) = winning.outcome(WIN_PLIES) {
                break outcome;
            }
            let plies = played.record.len();
            if plies >= MAX_PLIES || adjudicated && plies >= DRAW_FROM && level >= DRAW_PLIES {
                break Outcome::Draw;
            }
            game.play(mv);
        };
        played.record.finish(outcome);
        Some(played)
    }
}

/// The score as it is stored: centipawns for White, mates beyond all others.
fn for_white(thought: &SearchReport, position: &Position) -> i16 {
    if thought.depth == 0 || thought.bound != Bound::Exact {
        return NO_SCORE;
    }
    let score = match thought.score {
        Score::Centipawns(cp) => cp.clamp(-30_000, 30_000),
        Score::Mate(moves) if moves > 0 => 32_000 - moves,
        Score::Mate(moves) => -32_000 - moves,
    };
    (if position.turn().is_white() {
        score
    } else {
        -score
    }) as i16
}

/// Collects games and writes them.
struct Store<'a> {
    options: &'a DatagenOptions,
    seed: u32,
    progress: Progress,
    file_began: Instant,
    /// Games that no file has yet.
    pending: Vec<u8>,
    files: usize,
    games: u64,
    plies: u64,
    kept: u64,
    nodes: u64,
    depths: u64,
    bytes: usize,
    /// By [`Outcome`].
    outcomes: [u64; 3],
}

impl Store<'_> {
    fn new(options: &DatagenOptions, seed: u32) -> Store<'_> {
        Store {
            options,
            seed,
            progress: Progress::default(),
            file_began: Instant::now(),
            pending: Vec::new(),
            files: 0,
            games: 0,
            plies: 0,
            kept: 0,
            nodes: 0,
            depths: 0,
            bytes: 0,
            outcomes: [0; 3],
        }
    }

    fn add(&mut self, played: &Played) {
        played.record.write(&mut self.pending);
        self.games += 1;
        self.plies += played.record.len() as u64;
        self.kept += played.kept;
        self.nodes += played.nodes;
        self.depths += played.depths;
        self.outcomes[played.record.outcome() as usize] += 1;
        let line = self.describe();
        self.progress.show(|| line);
    }

    fn is_enough(&self) -> bool {
        let (played, options) = (self.progress.elapsed(), self.options);
        options.minutes.is_some_and(|limit| played >= limit)
            || options.games.is_some_and(|limit| self.games >= limit)
    }

    /// Where a file cannot be written its games wait for the next one.
    fn write_when_due(&mut self) {
        let waited = self.file_began.elapsed();
        let is_full = self.pending.len() >= self.options.file_mib << 20;
        let is_due = waited >= self.options.file_minutes || is_full && waited >= RETRY;
        if is_due && let Err(error) = self.write() {
            self.progress.clear();
            let told = format!("{error:#}; its games are kept, and it is tried again");
            let _ = writeln!(std::io::stderr(), "{told}");
        }
    }

    fn write(&mut self) -> anyhow::Result<()> {
        self.file_began = Instant::now();
        if self.pending.is_empty() {
            return Ok(());
        }
        let name = format!(
            "{}-{:08x}-{:04}{}",
            self.options.label,
            self.seed,
            self.files,
            archive::ENDING
        );
        let path: PathBuf = self.options.data.join(name);
        self.bytes += archive::store(&path, &self.pending)?;
        self.files += 1;
        self.pending.clear();
        Ok(())
    }

    fn describe(&self) -> String {
        let seconds = self.progress.elapsed().as_secs_f64();
        let games = self.games.max(1) as f64;
        let share = |outcome: Outcome| self.outcomes[outcome as usize] as f64 * 100.0 / games;
        let plies = self.plies.max(1) as f64;
        format!(
            "{:.1} min: {} games, {} positions kept ({:.0}/s, {:.0} % of the plies), {:.1} plies a game, +{:.0} ={:.0} -{:.0} %, {:.0} nodes and depth {:.1} a move, {:.2} Mnps, {} files of {:.1} MiB",
            seconds / 60.0,
            self.games,
            self.kept,
            self.kept as f64 / seconds,
            self.kept as f64 * 100.0 / plies,
            self.plies as f64 / games,
            share(Outcome::WhiteWins),
            share(Outcome::Draw),
            share(Outcome::BlackWins),
            self.nodes as f64 / plies,
            self.depths as f64 / plies,
            self.nodes as f64 / seconds / 1e6,
            self.files,
            self.bytes as f64 / f64::from(1 << 20)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(folder: &Path) -> DatagenOptions {
        DatagenOptions {
            data: folder.to_owned(),
            threads: Some(2),
            nodes: 60,
            minutes: None,
            games: Some(6),
            network: None,
            classical: true,
            file_minutes: Duration::from_secs(60),
            file_mib: 1,
            chess960: 50,
            seed: Some(7),
            label: "test".into(),
        }
    }

    #[test]
    fn games_are_played_and_can_be_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path());
        run(&options).unwrap();
        let files = archive::files(folder.path()).unwrap();
        assert_eq!(files.len(), 1);
        let mut from = archive::open(&files[0]).unwrap();
        let mut games = 0;
        while let Some(record) = Record::read(&mut from).unwrap() {
            record.replay(|_, _, _| {}).unwrap();
            assert!(!record.is_empty());
            games += 1;
        }
        assert!(games >= 6);
        assert!(run(&options).is_err(), "a seed is never used twice");
    }

    #[test]
    fn a_game_is_a_function_of_its_seed() {
        let options = options(Path::new("nowhere"));
        let play = |seed: u32| {
            let mut player = Player::new(&options, None, seed, 0);
            std::iter::repeat_with(|| player.play())
                .flatten()
                .next()
                .map(|played| played.record)
        };
        assert_eq!(play(3), play(3));
        assert_ne!(play(3), play(4));
    }
}
