//! Options of the engine, by their UCI names.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::parse::{check, spin};
use super::session::Session;
use crate::nnue::{self, Network};
use crate::{Elo, Parameters, Setting};
use knightwatch_chess::{CastlingNotation, Game, Variant};

/// Special values of `EvalFile`: the embedded network, and none.
const EMBEDDED: &str = "<embedded>";
const NO_NETWORK: &str = "<none>";

pub(super) const DEFAULT_HASH_MIB: usize = 16;
pub(super) const MAX_HASH_MIB: usize = 1 << 20;
pub(super) const MAX_THREADS: usize = 512;
const MAX_MULTI_PV: usize = 256;
pub(super) const DEFAULT_OVERHEAD_MS: u64 = 10;
const MAX_OVERHEAD_MS: u64 = 10_000;
pub(super) const DEFAULT_ELO: i32 = 1_500;

/// Value of a string option that stands for no text.
const EMPTY: &str = "<empty>";

/// Type of an option, with its default and range.
pub(super) enum Kind {
    Spin {
        default: i64,
        min: i64,
        max: i64,
    },
    Check(bool),
    Text(String),
    /// One of these values; the first one is the default.
    Combo(Vec<&'static str>),
    Button,
}

/// An option that a GUI can set. Displayed as in the answer to `uci`.
pub(super) struct GuiOption {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

impl fmt::Display for GuiOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option name {} type ", self.name)?;
        match &self.kind {
            Kind::Spin { default, min, max } => {
                write!(f, "spin default {default} min {min} max {max}")
            }
            Kind::Check(default) => write!(f, "check default {default}"),
            Kind::Text(default) => write!(f, "string default {default}"),
            Kind::Combo(values) => {
                write!(f, "combo default {}", values[0])?;
                values
                    .iter()
                    .try_for_each(|value| write!(f, " var {value}"))
            }
            Kind::Button => write!(f, "button"),
        }
    }
}

/// All options; in builds with the feature `tune` also the search parameters.
pub(super) fn all() -> Vec<GuiOption> {
    let spin = |default: usize, min: usize, max: usize| Kind::Spin {
        default: default as i64,
        min: min as i64,
        max: max as i64,
    };
    let about = concat!(
        "Knightwatch ",
        env!("CARGO_PKG_VERSION"),
        ", GPL-3.0-or-later, see ",
        env!("CARGO_PKG_REPOSITORY")
    );
    let mut options: Vec<GuiOption> = [
        ("Hash", spin(DEFAULT_HASH_MIB, 1, MAX_HASH_MIB)),
        ("Clear Hash", Kind::Button),
        ("Threads", spin(1, 1, MAX_THREADS)),
        (
            "Move Overhead",
            spin(DEFAULT_OVERHEAD_MS as usize, 0, MAX_OVERHEAD_MS as usize),
        ),
        ("MultiPV", spin(1, 1, MAX_MULTI_PV)),
        ("Ponder", Kind::Check(false)),
        ("UCI_Chess960", Kind::Check(false)),
        (
            "UCI_Variant",
            Kind::Combo(Variant::ALL.map(Variant::uci).to_vec()),
        ),
        ("UCI_ShowWDL", Kind::Check(false)),
        ("UCI_AnalyseMode", Kind::Check(false)),
        ("UCI_LimitStrength", Kind::Check(false)),
        (
            "UCI_Elo",
            Kind::Spin {
                default: DEFAULT_ELO.into(),
                min: Elo::MIN.get().into(),
                max: Elo::MAX.get().into(),
            },
        ),
        ("UCI_Opponent", Kind::Text(EMPTY.to_owned())),
        ("UCI_EngineAbout", Kind::Text(about.to_owned())),
        ("EvalFile", Kind::Text(EMBEDDED.to_owned())),
    ]
    .into_iter()
    .map(|(name, kind)| GuiOption { name, kind })
    .collect();
    options.extend(Parameters::tunable().iter().map(|tunable| GuiOption {
        name: tunable.name,
        kind: Kind::Spin {
            default: tunable.value.into(),
            min: tunable.min.into(),
            max: tunable.max.into(),
        },
    }));
    options
}

/// The search parameters in the input format of OpenBench's SPSA: `name, int, value, min, max, c_end, r_end`.
pub(super) fn spsa_lines() -> Result<String, String> {
    // OpenBench divides the perturbation by about 2 from the first iteration to the last.
    const START_TO_END: f64 = 2.0;
    const LEARNING_RATE: f64 = 0.002;
    if Parameters::tunable().is_empty() {
        return Err(format!("spsa: {}", crate::ParameterError::CompiledIn));
    }
    let lines = Parameters::tunable().iter().map(|tunable| {
        let c_end = f64::from(tunable.step) / START_TO_END;
        format!(
            "{}, int, {}, {}, {}, {c_end}, {LEARNING_RATE}",
            tunable.name, tunable.value, tunable.min, tunable.max
        )
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

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

    /// Sets an option; upper and lower case of its name are the same.
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
            // The search is the same in analysis, and `go ponder` says when to ponder.
            "ponder" | "uci_analysemode" => {
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
                let (least, most) = (Elo::MIN.get().into(), Elo::MAX.get().into());
                self.elo = Elo::nearest(spin(name, value, least, most)?);
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
                .info_string(&format!("Hash: only {got} MiB of memory available"));
        }
    }

    /// Sets the variant, and returns to its start position.
    fn set_variant(&mut self, value: &str) -> Result<(), String> {
        let variant = Variant::ALL
            .into_iter()
            .find(|variant| variant.uci() == value)
            .ok_or_else(|| {
                let values = Variant::ALL.map(Variant::uci).join(", ");
                format!("UCI_Variant: expected one of {values}, not `{value}`")
            })?;
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
