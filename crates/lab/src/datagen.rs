//! Self-play: training games of the engine against itself from random openings.
//!
//! Each thread plays one game at a time with its own small table, cleared between games, so that a game depends on its seed
//! alone. The main thread collects finished games and writes a file every few minutes.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::adjudication::{WinStreak, node_limits, outcome_by_rules};
use super::archive;
use super::contest::worker_pool;
use super::dataset::{NO_SCORE, is_quiet};
use super::log::print_line;
use super::openings;
use super::options::DatagenOptions;
use super::record::Outcome;
use super::signal::stop_and_save_on_signal;
use super::variant_game::VariantGame;
use crate::progress::Progress;
use knightwatch_chess::{Game, Position, Variant};
use knightwatch_engine::nnue::Network;
use knightwatch_engine::{Bound, Limits, Score, SearchInfo, Searcher, Setting};

/// Openings with a larger score, in centipawns, are discarded.
const MAX_OPENING_SCORE: i32 = 300;
/// Ratio of the nodes for an opening to those for a move.
const OPENING_NODES_FACTOR: u64 = 8;
/// Win adjudication: score in centipawns and number of plies.
const WIN_SCORE: i32 = 1200;
const WIN_PLIES: u32 = 4;
/// Draw adjudication: score in centipawns, number of plies, and the first ply at which it applies.
const DRAW_SCORE: i16 = 6;
const DRAW_PLIES: usize = 12;
const DRAW_FROM: usize = 70;
/// Longer games are drawn.
const MAX_PLIES: usize = 400;
/// One game in this many is played to the end without adjudication.
const UNADJUDICATED_PERIOD: u32 = 10;
/// Hash table of a thread, in MiB.
pub(super) const HASH_MIB: usize = 2;
/// Stack size in bytes, enough for the deepest line in an unoptimized build.
const STACK_BYTES: usize = 16 << 20;
/// Shortest interval between attempts to write a full file.
const MIN_WRITE_INTERVAL: Duration = Duration::from_secs(30);

/// Plays until a limit of the options is reached or a signal arrives.
///
/// # Errors
/// When the directory cannot be written, the network is invalid, or the seed was used before.
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
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let seed = choose_seed(options)?;
    let threads = worker_pool::thread_count(options.threads);
    let [stop, abort] = stop_and_save_on_signal();
    print_line(&format!(
        "self-play: {threads} threads, {} nodes, {}, seed {seed:08x}, to {}",
        options.nodes,
        network.as_ref().map_or(
            "material and piece-square tables".into(),
            |network| format!("network {}", network.name())
        ),
        folder.display()
    ));
    let mut writer = GameWriter::new(options, seed);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let (sender, games) = mpsc::channel();
        for thread in 0..threads {
            let (sender, stop, network) = (sender.clone(), stop.clone(), network.clone());
            let player =
                move || Player::new(options, network, seed, thread).play_all(&stop, &sender);
            Builder::new()
                .name("self-play".into())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, player)
                .context("cannot start a thread")?;
        }
        drop(sender);
        loop {
            match games.recv_timeout(Duration::from_millis(200)) {
                Ok(played) => writer.add(&played),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if writer.is_finished() {
                stop.store(true, Ordering::Relaxed);
            }
            writer.write_when_due();
            if abort.load(Ordering::Relaxed) {
                writer.write()?;
                std::process::exit(1);
            }
        }
        Ok(())
    })?;
    writer.write_last(&abort)?;
    writer.progress.clear();
    print_line(&writer.describe());
    Ok(())
}

/// The requested seed, or a random one; never the seed of an existing file.
fn choose_seed(options: &DatagenOptions) -> anyhow::Result<u32> {
    let folder = &options.data;
    let used: HashSet<String> = archive::files(folder, file_suffix(options.variant))
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
    match options.seed {
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

/// The suffix of files with games of a variant.
fn file_suffix(variant: Variant) -> &'static str {
    match variant {
        Variant::Standard => archive::FILE_SUFFIX,
        _ => archive::VARIANT_FILE_SUFFIX,
    }
}

/// A finished game with its statistics.
struct FinishedGame {
    game: VariantGame,
    /// Positions that pass the trainer's filter.
    kept: u64,
    nodes: u64,
    depths: u64,
}

/// A self-play thread.
struct Player {
    solo: Searcher,
    rng: fastrand::Rng,
    limits: Limits,
    opening_limits: Limits,
    variant: Variant,
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
            solo: Searcher::new(HASH_MIB, &Setting::with_network(network)),
            rng: fastrand::Rng::with_seed(u64::from(seed) << 32 | thread as u64),
            limits: node_limits(options.nodes),
            opening_limits: node_limits(options.nodes.saturating_mul(OPENING_NODES_FACTOR)),
            variant: options.variant,
            chess960: options.chess960,
        }
    }

    fn play_all(&mut self, stop: &AtomicBool, games: &Sender<FinishedGame>) {
        while !stop.load(Ordering::Relaxed) {
            if let Some(played) = self.play()
                && games.send(played).is_err()
            {
                return;
            }
        }
    }

    /// Plays one game; `None` when the opening was unbalanced.
    fn play(&mut self) -> Option<FinishedGame> {
        let opening = openings::random(&mut self.rng, self.variant, self.chess960)?;
        self.solo.new_game();
        let mut game = Game::new(opening.clone());
        let opening_search = self.solo.search(&game, &self.opening_limits);
        if !matches!(opening_search.score, Score::Centipawns(cp) if cp.abs() <= MAX_OPENING_SCORE) {
            return None;
        }
        // Scores of variants say less about the result.
        let adjudicated =
            self.variant == Variant::Standard && self.rng.u32(0..UNADJUDICATED_PERIOD) > 0;
        let mut played = FinishedGame {
            game: VariantGame::new(opening),
            kept: 0,
            nodes: opening_search.nodes,
            depths: 0,
        };
        let (mut winning, mut drawn_plies) = (WinStreak::default(), 0);
        let outcome = loop {
            if let Some(outcome) = outcome_by_rules(&game) {
                break outcome;
            }
            let result = self.solo.search(&game, &self.limits);
            let mv = result.mv?;
            let score = for_white(&result, game.position());
            played.nodes += result.nodes;
            played.depths += u64::from(result.depth);
            played.kept += u64::from(is_quiet(game.position(), mv, score));
            played.game.plies.push((mv, score));
            if score != NO_SCORE {
                winning.add_score(score.into(), WIN_SCORE);
                drawn_plies = if score.abs() <= DRAW_SCORE {
                    drawn_plies + 1
                } else {
                    0
                };
            }
            if adjudicated && let Some(outcome) = winning.outcome(WIN_PLIES) {
                break outcome;
            }
            let plies = played.game.plies.len();
            if adjudicated && plies >= DRAW_FROM && drawn_plies >= DRAW_PLIES {
                break Outcome::Draw;
            }
            game.play(mv);
            if plies >= MAX_PLIES {
                break outcome_by_rules(&game).unwrap_or(Outcome::Draw);
            }
        };
        played.game.outcome = outcome;
        Some(played)
    }
}

/// The score as stored: centipawns for White; mates are larger than all other scores.
fn for_white(result: &SearchInfo, position: &Position) -> i16 {
    if result.depth == 0 || result.bound != Bound::Exact {
        return NO_SCORE;
    }
    let score = match result.score {
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

/// Collects games and writes files.
struct GameWriter<'a> {
    options: &'a DatagenOptions,
    seed: u32,
    progress: Progress,
    last_write: Instant,
    /// Games that are not written yet.
    pending: Vec<u8>,
    files: usize,
    games: u64,
    plies: u64,
    kept: u64,
    nodes: u64,
    depths: u64,
    bytes: usize,
    /// Indexed by [`Outcome`].
    outcomes: [u64; 3],
}

impl GameWriter<'_> {
    fn new(options: &DatagenOptions, seed: u32) -> GameWriter<'_> {
        GameWriter {
            options,
            seed,
            progress: Progress::default(),
            last_write: Instant::now(),
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

    fn add(&mut self, played: &FinishedGame) {
        let game = &played.game;
        match self.options.variant {
            Variant::Standard => game.record().write(&mut self.pending),
            _ => game.write(&mut self.pending),
        }
        self.games += 1;
        self.plies += game.plies.len() as u64;
        self.kept += played.kept;
        self.nodes += played.nodes;
        self.depths += played.depths;
        self.outcomes[game.outcome as usize] += 1;
        let line = self.describe();
        self.progress.show(|| line);
    }

    fn is_finished(&self) -> bool {
        let (played, options) = (self.progress.elapsed(), self.options);
        options.minutes.is_some_and(|limit| played >= limit)
            || options.games.is_some_and(|limit| self.games >= limit)
    }

    /// Writes a file when it is due. After a failure its games are kept for the next attempt.
    fn write_when_due(&mut self) {
        let waited = self.last_write.elapsed();
        let is_full = self.pending.len() >= self.options.file_mib << 20;
        let is_due = waited >= self.options.file_minutes || is_full && waited >= MIN_WRITE_INTERVAL;
        if is_due && let Err(error) = self.write() {
            self.progress.clear();
            let message = format!("{error:#}; keeping the games and trying again later");
            let _ = writeln!(std::io::stderr(), "{message}");
        }
    }

    /// Writes the last games. If they cannot be written, it is tried again until `abort` is set.
    fn write_last(&mut self, abort: &AtomicBool) -> anyhow::Result<()> {
        while let Err(error) = self.write() {
            if abort.load(Ordering::Relaxed) {
                return Err(error);
            }
            self.progress.clear();
            let message =
                format!("{error:#}; trying again until it works, or until a second signal");
            let _ = writeln!(std::io::stderr(), "{message}");
            let until = Instant::now() + MIN_WRITE_INTERVAL;
            while Instant::now() < until && !abort.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    fn write(&mut self) -> anyhow::Result<()> {
        self.last_write = Instant::now();
        if self.pending.is_empty() {
            return Ok(());
        }
        let name = format!(
            "{}-{:08x}-{:04}{}",
            self.options.label,
            self.seed,
            self.files,
            file_suffix(self.options.variant)
        );
        let path: PathBuf = self.options.data.join(name);
        self.bytes += archive::write_file(&path, &self.pending)?;
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
    use std::io::{BufRead as _, BufReader};
    use std::path::Path;

    use super::*;
    use crate::record::Record;

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
            variant: Variant::Standard,
            chess960: 50,
            seed: Some(7),
            label: "test".into(),
        }
    }

    #[test]
    fn self_play_games_are_readable() {
        let folder = tempfile::tempdir().unwrap();
        let options = options(folder.path());
        run(&options).unwrap();
        let files = archive::files(folder.path(), archive::FILE_SUFFIX).unwrap();
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
    fn games_of_variants_are_played_to_their_end() {
        for variant in [Variant::Crazyhouse, Variant::Horde] {
            let folder = tempfile::tempdir().unwrap();
            let options = DatagenOptions {
                variant,
                ..options(folder.path())
            };
            run(&options).unwrap();
            let files = archive::files(folder.path(), archive::VARIANT_FILE_SUFFIX).unwrap();
            let lines = BufReader::new(archive::open(&files[0]).unwrap()).lines();
            for line in lines {
                let played = VariantGame::read(&line.unwrap()).unwrap();
                let mut game = Game::new(played.start);
                for (mv, _) in &played.plies {
                    game.play(*mv);
                }
                assert_eq!(game.initial().variant(), variant);
                let is_long = played.plies.len() >= MAX_PLIES;
                let outcome = outcome_by_rules(&game);
                assert!(is_long || outcome == Some(played.outcome), "{variant}");
            }
            assert!(run(&options).is_err(), "a seed is never used twice");
        }
    }

    #[test]
    fn game_depends_only_on_seed() {
        let options = options(Path::new("nowhere"));
        let play = |seed: u32| {
            let mut player = Player::new(&options, None, seed, 0);
            std::iter::repeat_with(|| player.play())
                .flatten()
                .next()
                .map(|played| played.game.record())
        };
        assert_eq!(play(3), play(3));
        assert_ne!(play(3), play(4));
    }
}
