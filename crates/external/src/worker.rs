//! A warm process, and what it knows.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use knightwatch_chess::Color;
use knightwatch_engine::{Elo, Score, SearchInfo, Task};
use tracing::warn;

use super::channel::{EngineError, Protocol};
use super::engine::{ELO, EngineProcess, LIMIT_STRENGTH};
use super::go::{Clocks, Go};
use super::info::Info;
use super::job::{Bounds, GameSetup, Job, Running, deadlines};
use super::process::ProcessTable;
use super::settings::{ExternalSettings, value_of};

/// Games that a process knows, so that switching between them is not announced as a new game.
const MAX_KNOWN_GAMES: usize = 16;

/// Time for an answer that was late, before the process is killed.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(1);

/// Time limit for an engine that cannot be told to stop, after its search was abandoned. Other games wait for the process.
const MAX_ABANDONED_TIME: Duration = Duration::from_secs(5);

/// Longest search while others wait, in soft limits of its share.
const CROWDED_FACTOR: f64 = 1.5;

/// A process with the games and settings that it knows.
pub(crate) struct Worker {
    pub process: EngineProcess,
    /// Games that it has played, the latest last.
    games: VecDeque<u64>,
    strength: Option<Elo>,
    /// Facts about the current game that the process has been told.
    setup: GameSetup,
    /// Lines since the last search, at first those of the start.
    transcript: Vec<String>,
}

impl Worker {
    /// Starts a process. `transcript` gets the lines of a start that has failed.
    pub(crate) fn start(
        settings: &ExternalSettings,
        table: &ProcessTable,
        transcript: &mut Vec<String>,
    ) -> Result<Self, EngineError> {
        let mut process = EngineProcess::start_in(&settings.launch, table, transcript)?;
        let configured = settings.configure(&mut process);
        let received = process.take_transcript();
        if let Err(error) = configured {
            *transcript = received;
            return Err(error);
        }
        Ok(Self {
            process,
            transcript: received,
            games: VecDeque::new(),
            strength: None,
            setup: GameSetup::default(),
        })
    }

    /// The game that it has played last.
    pub(crate) fn last_game(&self) -> Option<u64> {
        self.games.back().copied()
    }

    /// Runs a search with this share of the time. `last` is the last search information.
    pub(crate) fn search(
        &mut self,
        job: &mut Job,
        settings: &ExternalSettings,
        share: f64,
        last: &mut Option<SearchInfo>,
    ) -> Result<SearchInfo, EngineError> {
        let found = self.search_silently(job, settings, share, last);
        let mut transcript = std::mem::take(&mut self.transcript);
        transcript.extend(self.process.take_transcript());
        job.control
            .update_outcome(|outcome| outcome.transcript = transcript);
        found
    }

    /// Waits for the answer of a failed search that was late: a busy machine makes engines late, and they are not restarted if
    /// they only need some time. `is_awaited`: a game waits for the search. Returns whether the process can be used again.
    pub(crate) fn recover(&mut self, error: &EngineError, is_awaited: bool) -> bool {
        match error {
            EngineError::GaveUp { .. } | EngineError::ExcludedMove { .. } => true,
            // Without a game, its search was stopped and has had that time already.
            EngineError::TooLate(_) if !is_awaited => false,
            EngineError::TooLate(_) => self.process.recover(RECOVERY_TIMEOUT),
            EngineError::Silent { .. } => self.process.recover_ready(RECOVERY_TIMEOUT),
            _ => false,
        }
    }

    /// Waits for the answer of a search that nobody waits for any more: until `deadline`, but for [`MAX_ABANDONED_TIME`] at
    /// most, if the engine cannot be told to stop. Returns whether the process can be used again.
    pub(crate) fn recover_abandoned(&mut self, deadline: Instant) -> bool {
        let left = match self.process.can_stop() {
            true => Duration::ZERO,
            false => deadline
                .saturating_duration_since(Instant::now())
                .min(MAX_ABANDONED_TIME),
        };
        self.process.recover(RECOVERY_TIMEOUT.max(left))
    }

    fn search_silently(
        &mut self,
        job: &mut Job,
        settings: &ExternalSettings,
        share: f64,
        last: &mut Option<SearchInfo>,
    ) -> Result<SearchInfo, EngineError> {
        self.process.clear()?;
        let switch = self.process.stop_switch();
        job.control.set_running(Some(Running::Process(switch)));
        self.enter_game(job, settings)?;
        let now = Instant::now();
        let left = job.deadline().saturating_duration_since(now);
        let soft = job.bounds.soft.mul_f64(share);
        let hard = match share < 1.0 {
            true => soft.mul_f64(CROWDED_FACTOR).min(job.bounds.hard),
            false => job.bounds.hard,
        };
        let bounds = Bounds {
            soft,
            hard: hard.min(left),
            ..job.bounds
        };
        let go = go(
            &job.task,
            &job.setup,
            settings,
            bounds,
            share,
            now - job.since,
        );
        let since = job.since;
        let deadlines = deadlines(now + bounds.stop(go.movetime), &job.task.limits);
        let on_info = &mut job.task.on_info;
        let answer = self.process.search(&job.task.game, &go, deadlines, |info| {
            let info = search_info(info, since);
            on_info(&info);
            if info.multipv == 1 {
                *last = Some(info);
            }
        });
        let answer = answer?;
        Ok(SearchInfo {
            mv: Some(answer.mv),
            ponder: answer.ponder,
            ..search_info(&answer.info, since)
        })
    }

    /// Announces a game that the process does not know, and the settings of a game that it has not played last.
    fn enter_game(&mut self, job: &Job, settings: &ExternalSettings) -> Result<(), EngineError> {
        let (setup, game) = (&*job.setup, job.task.game_id);
        let has_other_options = setup.options != self.setup.options;
        if has_other_options {
            self.set_game_options(setup, settings)?;
        }
        let strength = job.task.limits.strength;
        if has_other_options || self.strength != strength.map(|strength| strength.elo) {
            self.set_strength(strength.map(|strength| strength.elo), setup, settings)?;
        }
        if setup.opponent != self.setup.opponent {
            self.process.set_opponent(setup.opponent.as_ref())?;
        }
        self.setup = setup.clone();
        let known = self.games.iter().position(|other| *other == game);
        if let Some(at) = known {
            self.games.remove(at);
        } else {
            let start = job.task.game.initial();
            self.process.new_game(start, job.deadline())?;
        }
        self.games.push_back(game);
        if self.games.len() > MAX_KNOWN_GAMES {
            self.games.pop_front();
        }
        Ok(())
    }

    /// Sets the options of a game in place of those of the last one.
    fn set_game_options(
        &mut self,
        setup: &GameSetup,
        settings: &ExternalSettings,
    ) -> Result<(), EngineError> {
        for (name, _) in &self.setup.options {
            if value_of(&setup.options, name).is_none() {
                self.process.reset_option(name, settings.option(name))?;
            }
        }
        for (name, value) in &setup.options {
            match self.process.check_option(name, value) {
                Ok(()) => self.process.send_option(name, value)?,
                Err(error) => warn!(
                    "engine {}: {error}; the game is played without this option of play.options",
                    settings.name
                ),
            }
        }
        Ok(())
    }

    /// Limits the strength. It comes after the options of the game, which have the same names.
    fn set_strength(
        &mut self,
        strength: Option<Elo>,
        setup: &GameSetup,
        settings: &ExternalSettings,
    ) -> Result<(), EngineError> {
        match (strength, self.strength) {
            (Some(elo), _) => {
                self.process.set_clamped(ELO, i64::from(elo.get()))?;
                self.process.send_option(LIMIT_STRENGTH, "true")?;
            }
            (None, Some(_)) => {
                let usual = |name| value_of(&setup.options, name).or_else(|| settings.option(name));
                if let Some(elo) = usual(ELO) {
                    self.process.send_option(ELO, &elo)?;
                }
                self.process
                    .reset_option(LIMIT_STRENGTH, usual(LIMIT_STRENGTH))?;
            }
            (None, None) => {}
        }
        self.strength = strength;
        Ok(())
    }
}

/// The limits of a search with this share of the time, `elapsed` after its start.
fn go(
    task: &Task,
    setup: &GameSetup,
    settings: &ExternalSettings,
    bounds: Bounds,
    share: f64,
    elapsed: Duration,
) -> Go {
    let (limits, fixed) = (&task.limits, &settings.limits);
    let mut go = Go {
        nodes: limits.nodes.into_iter().chain(fixed.nodes).min(),
        depth: limits.depth.into_iter().chain(fixed.depth).min(),
        search_moves: limits.search_moves.clone(),
        ponder: limits.ponder,
        ..Go::default()
    };
    match (bounds.fixed_time(limits, settings), limits.clock) {
        (Some(time), _) => go.movetime = Some(time),
        (None, Some(clock)) => {
            let left = clock.remaining.saturating_sub(clock.overhead + elapsed);
            let time = left.mul_f64(share);
            // Without a share, so that an engine sees who is short of time.
            let other = setup.opponent_time.unwrap_or(time);
            let (white, black) = match task.game.position().turn() {
                Color::White => (time, other),
                Color::Black => (other, time),
            };
            go.clock = Some(Clocks {
                white,
                black,
                increment: clock.increment.saturating_sub(clock.lag).mul_f64(share),
                moves_to_go: clock.moves_to_go,
            });
        }
        (None, None) => {
            // XBoard's protocol has no search without a limit.
            let is_xboard = settings.launch.protocol == Protocol::Xboard;
            let has_limit = limits.max_time.is_some() || is_xboard;
            go.movetime = has_limit.then_some(bounds.hard);
        }
    }
    go
}

fn search_info(info: &Info, since: Instant) -> SearchInfo {
    SearchInfo {
        mv: info.pv.first().copied(),
        ponder: info.pv.get(1).copied(),
        score: info.score.unwrap_or(Score::Centipawns(0)),
        wdl: info.wdl,
        depth: info.depth,
        seldepth: info.seldepth.max(info.depth),
        nodes: info.nodes,
        elapsed: since.elapsed(),
        hashfull: info.hashfull.min(1_000),
        ordering: None,
        pv: info.pv.clone(),
        multipv: info.multi_pv.max(1),
        bound: info.bound,
    }
}
