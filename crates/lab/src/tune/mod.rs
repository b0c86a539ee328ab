//! `knightwatch tune`: tunes search parameters by SPSA ([`spsa`]).
//!
//! Needs a build with the feature `tune`, where the parameters can be set.

pub mod spsa;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use self::spsa::{Axis, Spsa, Trial};
use super::contest::{pair, worker_pool};
use super::openings::Openings;
use super::options::{TuneOptions, differences};
use super::signal::stop_on_signal;
use crate::progress::Progress;
use crate::state_file;
use knightwatch_chess::Variant;
use knightwatch_engine::{ParameterError, Parameters, Searcher, Setting, Tunable};
use knightwatch_util::sync::lock;

/// Interval between writes of the state.
const WRITE_INTERVAL: Duration = Duration::from_secs(30);

/// A run, as stored in the state file.
#[derive(Serialize, Deserialize)]
struct Run {
    /// The options the run was started with; it can only be continued with the same.
    plan: Plan,
    spsa: Spsa,
}

#[derive(PartialEq, Debug, Serialize, Deserialize)]
struct Plan {
    names: Vec<String>,
    effort: String,
    pairs: u64,
    rate: f64,
    step_factor: i32,
    seed: u64,
}

impl Plan {
    /// The options, without the names of the parameters.
    fn fields(&self) -> [(&'static str, String); 5] {
        [
            ("effort", self.effort.clone()),
            ("games", (2 * self.pairs).to_string()),
            ("rate", self.rate.to_string()),
            ("step-factor", self.step_factor.to_string()),
            ("seed", self.seed.to_string()),
        ]
    }
}

/// Plays until all games are played or a signal arrives, and prints the parameters.
///
/// # Errors
/// When the parameters are compiled in, the state cannot be read or written or belongs to another run, or a thread cannot be
/// started.
pub fn run(options: &TuneOptions) -> anyhow::Result<()> {
    let tunables = chosen(&options.only, options.effort.tc.is_some())?;
    let openings = options.setup.openings(Variant::Standard, 0)?;
    let mut run = Run::load_or_new(options, &tunables)?;
    println!(
        "{} numbers, {} of {} games with {} are played",
        tunables.len(),
        2 * run.spsa.done,
        2 * run.plan.pairs,
        run.plan.effort
    );
    run.play(options, &tunables, &openings)?;
    run.write(&options.state)?;
    for (tunable, value) in tunables.iter().zip(&run.spsa.values) {
        println!("{}", definition(tunable, *value));
    }
    Ok(())
}

/// Prefix of the parameters of time management.
const OF_CLOCK: &str = "time_";

/// The parameters to tune.
fn chosen(only: &[String], has_clock: bool) -> anyhow::Result<Vec<Tunable>> {
    let all = Parameters::tunable();
    ensure!(!all.is_empty(), ParameterError::CompiledIn);
    if only.is_empty() {
        let has_effect = |tunable: &&Tunable| has_clock || !tunable.name.starts_with(OF_CLOCK);
        return Ok(all.iter().filter(has_effect).copied().collect());
    }
    only.iter()
        .map(|name| {
            let found = all.iter().find(|tunable| tunable.name == name);
            found
                .copied()
                .ok_or_else(|| ParameterError::Unknown(name.clone()).into())
        })
        .collect()
}

/// Ranges and steps. The steps are multiplied by `factor`, except those of 1, which are of short ranges of plies.
fn axes(tunables: &[Tunable], factor: i32) -> Vec<Axis> {
    let axis = |tunable: &Tunable| Axis {
        min: f64::from(tunable.min),
        max: f64::from(tunable.max),
        step: f64::from(match tunable.step {
            1 => 1,
            step => step * factor,
        }),
    };
    tunables.iter().map(axis).collect()
}

/// A line for params.rs, with the old value.
fn definition(tunable: &Tunable, value: f64) -> String {
    let Tunable {
        name,
        value: before,
        min,
        max,
        step,
    } = tunable;
    let now = value.round();
    format!("    {name} = {now} in {min}..={max} step {step}; // {value:.2}, was {before}")
}

impl Run {
    /// Continues the run in the state file, or creates a new one.
    fn load_or_new(options: &TuneOptions, tunables: &[Tunable]) -> anyhow::Result<Run> {
        let plan = Plan {
            names: tunables.iter().map(|tunable| tunable.name.into()).collect(),
            effort: options.effort.effort().to_string(),
            pairs: options.games / 2,
            rate: options.rate,
            step_factor: options.step_factor,
            seed: options.setup.seed.into(),
        };
        let name = options.state.display();
        let Some(run) = state_file::read::<Run>(&options.state, "a run")? else {
            let values = tunables.iter().map(|tunable| f64::from(tunable.value));
            let spsa = Spsa::new(values.collect(), plan.pairs, plan.rate);
            return Ok(Run { plan, spsa });
        };
        ensure!(
            run.plan.names == plan.names && run.spsa.values.len() == tunables.len(),
            "{name} is of a run with other parameters; name the same ones with --only, or another --state"
        );
        ensure!(
            run.plan == plan,
            "{name} is of a run with other options: {}",
            differences(&run.plan.fields(), &plan.fields())
        );
        Ok(run)
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        state_file::write(path, self)
    }

    fn play(
        &mut self,
        options: &TuneOptions,
        tunables: &[Tunable],
        openings: &Openings,
    ) -> anyhow::Result<()> {
        let axes = axes(tunables, self.plan.step_factor);
        let stop = stop_on_signal();
        let (began, first, planned) = (Instant::now(), self.spsa.done, self.plan.pairs);
        let (effort, seed) = (options.effort.effort(), self.plan.seed);
        let taken = AtomicU64::new(first);
        let shared = Mutex::new(&mut *self);
        let next = || {
            let number = taken.fetch_add(1, Ordering::Relaxed);
            if number >= planned || stop.load(Ordering::Relaxed) {
                return None;
            }
            // A separate seed, so that perturbations do not correlate with openings.
            let mut rng = fastrand::Rng::with_seed(!(seed << 32 | number));
            let trial = lock(&shared).spsa.trial(number, &axes, &mut rng);
            Some((number, trial))
        };
        let worker = || {
            let mut players = [(); 2].map(|()| Searcher::new(pair::HASH_MIB, &Setting::default()));
            move |(number, trial): (u64, Trial)| {
                players[0].set(&setting(tunables, &trial.plus));
                players[1].set(&setting(tunables, &trial.minus));
                let scores = &pair::UNBALANCED;
                let [white, black] = pair::play(&mut players, openings, scores, number, effort);
                (trial, f64::from(white) + f64::from(black) - 2.0)
            }
        };
        let mut progress = Progress::default();
        let mut written = Instant::now();
        let threads = worker_pool::thread_count(options.setup.threads);
        worker_pool::run(threads, next, worker, |(trial, result)| {
            let mut run = lock(&shared);
            run.spsa.update(&trial, &axes, result);
            if written.elapsed() >= WRITE_INTERVAL {
                written = Instant::now();
                run.write(&options.state)?;
            }
            progress.show(|| run.describe(tunables, first, began.elapsed()));
            Ok(())
        })
    }

    /// One-line progress: games, time left, and the parameter that moved most.
    fn describe(&self, tunables: &[Tunable], first: u64, elapsed: Duration) -> String {
        let moved = |(tunable, value): (&Tunable, &f64)| {
            (value - f64::from(tunable.value)) / f64::from(tunable.step)
        };
        let all = || tunables.iter().zip(&self.spsa.values);
        let far = all().max_by(|a, b| moved(*a).abs().total_cmp(&moved(*b).abs()));
        let (name, steps) = far.map_or(("", 0.0), |pair| (pair.0.name, moved(pair)));
        let (done, planned) = (self.spsa.done, self.plan.pairs);
        let left =
            elapsed.as_secs_f64() / (done - first) as f64 * planned.saturating_sub(done) as f64;
        format!(
            "{} of {} games, {:.0} min left; {name} by {steps:+.2} steps",
            2 * done,
            2 * planned,
            left / 60.0
        )
    }
}

/// The default setting with these parameters.
fn setting(tunables: &[Tunable], values: &[i32]) -> Setting {
    let mut setting = Setting::default();
    for (tunable, value) in tunables.iter().zip(values) {
        let set = setting.parameters.set(tunable.name, *value);
        set.expect("a trial stays in range");
    }
    setting
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{EffortOptions, MatchSetup};

    const SOME: [Tunable; 2] = [
        Tunable {
            name: "courage",
            value: 5,
            min: 0,
            max: 10,
            step: 1,
        },
        Tunable {
            name: "rfp_margin",
            value: 70,
            min: 0,
            max: 100,
            step: 10,
        },
    ];

    fn options(state: &Path, games: u64) -> TuneOptions {
        TuneOptions {
            state: state.to_owned(),
            only: Vec::new(),
            effort: EffortOptions {
                nodes: 30,
                tc: None,
                nodes_per_ms: 1_000,
            },
            games,
            step_factor: 1,
            rate: 0.006,
            setup: MatchSetup {
                threads: Some(2),
                openings: None,
                seed: 1,
            },
        }
    }

    #[test]
    fn state_file_continues_the_same_run_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        let mut run = Run::load_or_new(&options(&path, 100), &SOME).expect("a new one");
        assert_eq!((run.spsa.done, &run.spsa.values[..]), (0, &[5.0, 70.0][..]));
        run.spsa.done = 7;
        run.spsa.values[1] = 72.5;
        run.write(&path).expect("written");
        let again = Run::load_or_new(&options(&path, 100), &SOME).expect("the same");
        assert_eq!(again.spsa, run.spsa);
        let other = Run::load_or_new(&options(&path, 200), &SOME).err();
        let other = other.expect("another number of games").to_string();
        assert!(
            other.ends_with("options: games was 100 and is 200 now"),
            "{other}"
        );
        assert!(Run::load_or_new(&options(&path, 100), &SOME[..1]).is_err());
        std::fs::write(&path, "{").expect("written");
        assert!(Run::load_or_new(&options(&path, 100), &SOME).is_err());
    }

    #[test]
    fn step_factor_leaves_steps_of_one() {
        let steps = |factor| [0, 1].map(|at| axes(&SOME, factor)[at].step);
        assert_eq!((steps(1), steps(2)), ([1.0, 10.0], [1.0, 20.0]));
    }

    #[test]
    fn definition_has_the_form_of_params_rs() {
        assert_eq!(
            definition(&SOME[1], 72.5),
            "    rfp_margin = 73 in 0..=100 step 10; // 72.50, was 70"
        );
    }

    #[cfg(feature = "tune")]
    #[test]
    fn few_games_change_parameters() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        run(&options(&path, 12)).expect("a run");
        let tunables = chosen(&[], false).expect("all");
        let after = Run::load_or_new(&options(&path, 12), &tunables).expect("the state");
        assert_eq!(after.spsa.done, 6);
        assert!(chosen(&["courage".into()], false).is_err());
    }
}
