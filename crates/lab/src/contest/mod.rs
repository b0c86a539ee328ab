//! `knightwatch match`: a match between two configurations of this binary at a fixed number of nodes, or
//! on a clock that counts nodes.
//!
//! Both sides search on one thread with a small table, so that the result depends neither on speed nor on the load of the
//! machine.

pub(super) mod pair;
pub(super) mod worker_pool;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Context;

use super::openings::Openings;
use super::options::MatchOptions;
use super::signal::stop_on_signal;
use crate::progress::Progress;
use knightwatch_chess::Variant;
use knightwatch_engine::nnue::{self, Network};
use knightwatch_engine::{Parameters, Searcher, Setting};
use knightwatch_util::match_stats::{MatchStats, Sprt, SprtResult};
use knightwatch_util::plural;

/// Plays the match and prints its result.
///
/// # Errors
/// When a network, a parameter or the openings cannot be used, or a thread cannot be started.
pub fn run(options: &MatchOptions) -> anyhow::Result<()> {
    let sprt = options.sprt()?;
    let settings = [
        setting(&options.network, &options.set)?,
        setting(&options.opponent, &options.against)?,
    ];
    for (setting, numbers) in settings.iter().zip([&options.set, &options.against]) {
        let network = nnue::describe(setting.network.as_deref());
        let numbers: String = numbers
            .iter()
            .map(|(name, value)| format!(", {name} = {value}"))
            .collect();
        println!("{network}{numbers}");
    }
    let openings = options
        .setup
        .openings(Variant::Standard, options.chess960)?;
    if let Some(count) = openings.count().filter(|&count| count < options.pairs()) {
        println!(
            "at most {} games: the file has {}, whose games would repeat",
            2 * count,
            plural::count(count, "opening", "openings")
        );
    }
    let stop = stop_on_signal();
    let mut result = None;
    let mut progress = Progress::default();
    let stats = play(options, &settings, &openings, &stop, |stats| {
        result = sprt.and_then(|sprt| sprt.result(stats));
        progress.show(|| describe(stats, sprt));
        result.is_some()
    })?;
    progress.clear();
    let seconds = progress.elapsed().as_secs_f64();
    println!("{} in {seconds:.0} s", describe(&stats, sprt));
    match (sprt, result) {
        (Some(sprt), Some(SprtResult::Accepted)) => println!("accepted: rather {} Elo", sprt.elo1),
        (Some(sprt), Some(SprtResult::Rejected)) => println!("rejected: rather {} Elo", sprt.elo0),
        (Some(_), None) => println!("undecided"),
        (None, _) => {}
    }
    Ok(())
}

/// Plays until all games are played, `stop` is set, or `on_pair`, which is called after every pair, returns true: then the
/// pairs that are still played do not count.
fn play(
    options: &MatchOptions,
    settings: &[Setting; 2],
    openings: &Openings,
    stop: &AtomicBool,
    mut on_pair: impl FnMut(&MatchStats) -> bool,
) -> anyhow::Result<MatchStats> {
    let pairs = openings.count().unwrap_or(u64::MAX).min(options.pairs());
    let taken = AtomicU64::new(0);
    let next = || {
        let pair = taken.fetch_add(1, Ordering::Relaxed);
        (pair < pairs && !stop.load(Ordering::Relaxed)).then_some(pair)
    };
    let worker = || {
        let mut players = [0, 1].map(|side: usize| Searcher::new(pair::HASH_MIB, &settings[side]));
        let scores = if options.balanced {
            pair::BALANCED
        } else {
            pair::UNBALANCED
        };
        move |pair| {
            pair::play(
                &mut players,
                openings,
                &scores,
                pair,
                options.effort.effort(),
            )
        }
    };
    let mut stats = MatchStats::default();
    let threads = worker_pool::thread_count(options.setup.threads);
    let mut is_decided = false;
    worker_pool::run(threads, next, worker, |points| {
        if !is_decided {
            stats.add(points);
            is_decided = on_pair(&stats);
            stop.fetch_or(is_decided, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(stats)
}

/// The engine setting of one side.
fn setting(network: &str, numbers: &[(String, i32)]) -> anyhow::Result<Setting> {
    let network = match network {
        "default" => Network::embedded(),
        "none" => None,
        "embedded" => Some(Network::embedded().context("this binary has no network")?),
        path => Some(Arc::new(Network::open(Path::new(path))?)),
    };
    let mut parameters = Parameters::default();
    for (name, value) in numbers {
        parameters.set(name, *value)?;
    }
    Ok(Setting {
        network,
        parameters,
    })
}

fn describe(stats: &MatchStats, sprt: Option<Sprt>) -> String {
    let test = sprt.map_or(String::new(), |sprt| format!(", {}", sprt.describe(stats)));
    format!("{}{test}", stats.describe())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{EffortOptions, MatchSetup};

    fn options(games: u64) -> MatchOptions {
        MatchOptions {
            network: "none".into(),
            opponent: "none".into(),
            set: Vec::new(),
            against: Vec::new(),
            effort: EffortOptions {
                nodes: 50,
                tc: None,
                nodes_per_ms: 1_000,
            },
            games,
            balanced: true,
            setup: MatchSetup {
                threads: Some(2),
                openings: None,
                seed: 1,
            },
            chess960: 0,
            sprt: None,
        }
    }

    #[test]
    fn match_of_equal_players_is_drawn() {
        let openings = Openings::Random {
            seed: 1,
            variant: Variant::Standard,
            chess960: 0,
        };
        let settings = [(); 2].map(|()| Setting::with_network(None));
        let stop = AtomicBool::new(false);
        let mut calls = 0;
        let stats = play(&options(6), &settings, &openings, &stop, |_| {
            calls += 1;
            false
        });
        let stats = stats.expect("a match");
        assert_eq!((stats.count(), calls), (6, 3));
        assert_eq!(stats.pairs, [0, 0, 3, 0, 0]);
        // No further pairs count after the decision.
        let stats = play(&options(1_000), &settings, &openings, &stop, |_| true);
        assert_eq!(stats.expect("a match").count(), 2);
        assert!(stop.load(Ordering::Relaxed));
    }

    #[test]
    fn parameters_are_set_with_feature_tune() {
        let wanted = setting("none", &[("rfp_margin".into(), 90)]);
        assert_eq!(wanted.is_ok(), cfg!(feature = "tune"));
        assert!(setting("none", &[("courage".into(), 1)]).is_err());
    }
}
