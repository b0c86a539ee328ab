//! The state file of a calibration: the results of the pairs that have been played.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use knightwatch_util::{atomic_file, input};

/// Upper limit of a state file, in bytes.
const MAX_FILE_BYTES: u64 = 16 << 20;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Seed of the openings and of the choice of moves.
    seed: u32,
    /// Half points of the level in both games, by the name of the pair.
    pairs: BTreeMap<String, [u8; 2]>,
}

impl State {
    /// Reads the state, or creates a new one if there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, is not a state, or is of a run with another seed.
    pub(super) fn load_or_new(path: Option<&Path>, seed: u32) -> anyhow::Result<State> {
        let new = State {
            seed,
            pairs: BTreeMap::new(),
        };
        let Some(path) = path else { return Ok(new) };
        let name = path.display();
        let text = match input::read(path, MAX_FILE_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(new),
            Err(error) => return Err(error).with_context(|| format!("cannot read {name}")),
        };
        let state: State = serde_json::from_slice(&text)
            .with_context(|| format!("{name} is not the state of a calibration"))?;
        ensure!(
            state.seed == seed,
            "{name} is of a run with --seed {}; use the same, or another --state",
            state.seed
        );
        let mut points = state.pairs.values().flatten();
        ensure!(
            points.all(|&points| points <= 2),
            "{name} is not the state of a calibration: a game has more than 2 half points"
        );
        Ok(state)
    }

    pub(super) fn get(&self, pair: &str) -> Option<[u8; 2]> {
        self.pairs.get(pair).copied()
    }

    /// Adds a pair, and writes the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(
        &mut self,
        path: Option<&Path>,
        pair: String,
        points: [u8; 2],
    ) -> anyhow::Result<()> {
        self.pairs.insert(pair, points);
        let Some(path) = path else { return Ok(()) };
        atomic_file::write(path, &serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_file_continues_a_run_with_the_same_seed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.json");
        let load = |seed| State::load_or_new(Some(&path), seed);
        let mut state = load(3).expect("a new one");
        state
            .add(Some(&path), "1000 - 1300, pair 1".into(), [0, 2])
            .expect("written");
        let again = load(3).expect("the same");
        assert_eq!(again, state);
        assert_eq!(again.get("1000 - 1300, pair 1"), Some([0, 2]));
        assert_eq!(again.get("1000 - 1300, pair 2"), None);
        let other = load(4).expect_err("another seed").to_string();
        assert!(other.contains("of a run with --seed 3; use"), "{other}");
        for (text, expected) in [
            ("{", "is not the state of a calibration"),
            (
                r#"{"seed":3,"pairs":{"1":[1,3]}}"#,
                "more than 2 half points",
            ),
        ] {
            std::fs::write(&path, text).expect("written");
            let error = load(3).expect_err(text).to_string();
            assert!(error.contains(expected), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(load(4).expect("a new one").pairs.len(), 0);
    }
}
