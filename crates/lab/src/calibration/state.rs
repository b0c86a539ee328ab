//! The results of a calibration, and the file that keeps them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use crate::options::{CalibrateOptions, differences};
use crate::state_file;

/// The results, and where they are kept, if anywhere.
#[derive(Debug)]
pub(super) struct State {
    path: Option<PathBuf>,
    run: Run,
}

/// A run, as stored in the state file.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    engine: PathBuf,
    openings: Option<PathBuf>,
    /// Seed of the openings and of the choice of moves.
    seed: u32,
    /// Half points of the level in both games, by the name of the pair.
    pairs: BTreeMap<String, [u8; 2]>,
}

impl Run {
    /// The options that a run can only be continued with.
    fn fields(&self) -> [(&'static str, String); 3] {
        let openings = self.openings.as_ref();
        [
            ("engine", self.engine.display().to_string()),
            (
                "openings",
                openings.map_or("random".to_owned(), |path| path.display().to_string()),
            ),
            ("seed", self.seed.to_string()),
        ]
    }
}

impl State {
    /// Reads the state file, or creates it if there is none.
    ///
    /// # Errors
    /// When the file cannot be read or written, is not a state, or is of a run with another engine, openings or seed.
    pub(super) fn load_or_new(options: &CalibrateOptions) -> anyhow::Result<State> {
        let run = Run {
            engine: options.engine.clone(),
            openings: options.setup.openings.clone(),
            seed: options.setup.seed,
            pairs: BTreeMap::new(),
        };
        let mut state = State {
            path: options.state.clone(),
            run,
        };
        let Some(path) = &state.path else {
            return Ok(state);
        };
        let name = path.display();
        if let Some(run) = state_file::read::<Run>(path, "a calibration")? {
            let (old, new) = (run.fields(), state.run.fields());
            ensure!(
                old == new,
                "{name} is of a run with other options: {}; use the same, or another --state",
                differences(&old, &new)
            );
            let mut points = run.pairs.values().flatten();
            ensure!(
                points.all(|&points| points <= 2),
                "{name} is not the state of a calibration: a game has more than 2 half points"
            );
            state.run = run;
        }
        // A file that cannot be written ends the run before its first game.
        state.write()?;
        Ok(state)
    }

    pub(super) fn get(&self, pair: &str) -> Option<[u8; 2]> {
        self.run.pairs.get(pair).copied()
    }

    /// Adds a pair, and writes the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&mut self, pair: String, points: [u8; 2]) -> anyhow::Result<()> {
        self.run.pairs.insert(pair, points);
        self.write()
    }

    fn write(&self) -> anyhow::Result<()> {
        match &self.path {
            Some(path) => state_file::write(path, &self.run),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::MatchSetup;

    #[test]
    fn state_file_continues_the_same_run_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        let options = |seed, openings: Option<&str>| CalibrateOptions {
            engine: "engine".into(),
            levels: Vec::new(),
            anchors: Vec::new(),
            near: 100,
            games: 2,
            state: Some(path.clone()),
            setup: MatchSetup {
                threads: None,
                openings: openings.map(PathBuf::from),
                seed,
            },
        };
        let load = |seed| State::load_or_new(&options(seed, None));
        let mut state = load(3).expect("a new one");
        let pair = "1000 - 1300, pair 1";
        state.add(pair.into(), [0, 2]).expect("written");
        let again = load(3).expect("the same");
        assert_eq!(again.get(pair), Some([0, 2]));
        assert_eq!(again.get("1000 - 1300, pair 2"), None);
        let other = State::load_or_new(&options(4, Some("some.epd")));
        let other = other.expect_err("another run").to_string();
        assert!(
            other.contains("openings was random and is some.epd now, seed was 3 and is 4 now"),
            "{other}"
        );
        for (text, expected) in [
            ("{", "is not the state of a calibration"),
            (
                r#"{"engine":"engine","seed":3,"pairs":{"1":[1,3]}}"#,
                "more than 2 half points",
            ),
        ] {
            std::fs::write(&path, text).expect("written");
            let error = load(3).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(load(4).expect("a new one").get(pair), None);
        assert!(path.exists());
    }
}
