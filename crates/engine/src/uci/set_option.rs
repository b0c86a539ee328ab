//! Setting of options.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::options::{EMBEDDED, EMPTY, MAX_HASH_MIB, MAX_MULTI_PV, MAX_OVERHEAD_MS, NO_NETWORK};
use super::parse::{check, spin};
use super::session::Session;
use crate::nnue::{self, Network};
use crate::{Elo, MAX_THREADS, Parameters, Setting};
use knightwatch_chess::{CastlingNotation, Game, Variant};

impl Session {
    /// Executes `setoption` with the words after it.
    pub(super) fn set_option(&mut self, words: &[&str]) -> Result<(), String> {
        let ["name", rest @ ..] = words else {
            return Err("setoption: expected `name`".to_owned());
        };
        let split = rest.iter().position(|&word| word == "value");
        let (name, value) = match split {
            Some(at) => (rest[..at].join(" "), rest[at + 1..].join(" ")),
            None => (rest.join(" "), String::new()),
        };
        self.set_named_option(&name, &value)
    }

    /// Sets an option; upper and lower case are the same, except in texts.
    pub(super) fn set_named_option(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "hash" => self.set_hash(spin(name, value, 1, MAX_HASH_MIB)?),
            "clear hash" => {
                self.stop();
                self.engine.new_game();
            }
            "threads" => self.engine.set_threads(spin(name, value, 1, MAX_THREADS)?),
            "move overhead" => {
                self.overhead = Duration::from_millis(spin(name, value, 0, MAX_OVERHEAD_MS)?);
            }
            "multipv" => self.multi_pv = spin(name, value, 1, MAX_MULTI_PV)?,
            "ponder" => self.ponders = check(name, value)?,
            // The search is the same in analysis.
            "uci_analysemode" => {
                check(name, value)?;
            }
            "uci_chess960" => {
                self.notation = match check(name, value)? {
                    true => CastlingNotation::KingTakesRook,
                    false => CastlingNotation::Standard,
                };
            }
            "uci_variant" => self.set_variant(value)?,
            "uci_showwdl" => self.shows_wdl = check(name, value)?,
            "uci_limitstrength" => self.is_limited = check(name, value)?,
            "uci_elo" => {
                let (min, max) = (Elo::MIN.get().into(), Elo::MAX.get().into());
                self.elo = Elo::nearest(spin(name, value, min, max)?);
            }
            "uci_opponent" => check_opponent(value)?,
            "uci_engineabout" => {}
            "evalfile" => self.set_network(value)?,
            _ => self.set_parameter(name, value)?,
        }
        Ok(())
    }

    pub(super) fn set_hash(&mut self, mib: usize) {
        self.engine.set_hash(mib);
        let got = self.engine.hash_mib();
        if got < mib {
            self.output
                .info_string(&format!("only {got} MiB of memory are available for Hash"));
        }
    }

    /// Sets the variant, and returns to its start position if the variant is another one.
    fn set_variant(&mut self, value: &str) -> Result<(), String> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci().eq_ignore_ascii_case(value))
            .ok_or_else(|| {
                let values = Variant::ALL.map(Variant::uci).join(", ");
                format!("UCI_Variant: expected one of {values}, not `{value}`")
            })?;
        if variant == self.variant {
            return Ok(());
        }
        self.stop();
        self.variant = variant;
        self.game = Some(Game::new(variant.start()));
        Ok(())
    }

    fn set_network(&mut self, value: &str) -> Result<(), String> {
        let network = match value {
            "" | EMBEDDED => Network::embedded(),
            NO_NETWORK => None,
            path => Some(Arc::new(
                Network::open(Path::new(path)).map_err(|e| format!("EvalFile: {e}"))?,
            )),
        };
        self.stop();
        self.output.info_string(&nnue::describe(network.as_deref()));
        let parameters = self.engine.setting().parameters;
        self.engine.set(Setting {
            network,
            parameters,
        });
        Ok(())
    }

    /// Sets a search parameter; builds without the feature `tune` have none.
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), String> {
        let tunable = Parameters::tunable()
            .iter()
            .find(|tunable| tunable.name == name)
            .ok_or_else(|| format!("no such option: {name}"))?;
        let value = spin(name, value, tunable.min, tunable.max)?;
        self.stop();
        let mut setting = self.engine.setting();
        setting
            .parameters
            .set(name, value)
            .map_err(|error| error.to_string())?;
        // Time limits are computed by the thread that starts a search.
        setting.parameters.install();
        self.engine.set(setting);
        Ok(())
    }
}

/// Checks the value of `UCI_Opponent`, which changes nothing: all opponents are played alike.
fn check_opponent(value: &str) -> Result<(), String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    match *words.as_slice() {
        [] | [EMPTY] => Ok(()),
        [_, elo, "computer" | "human", _, ..] if elo == "none" || elo.parse::<u32>().is_ok() => {
            Ok(())
        }
        _ => Err(format!(
            "UCI_Opponent: expected title, Elo or none, computer or human, and a name, not `{value}`"
        )),
    }
}
