//! Options of the engine, by their UCI names, with their defaults and ranges.

use std::fmt;

use crate::{Elo, MAX_THREADS, Parameters};
use knightwatch_chess::Variant;

/// Special values of `EvalFile`: the embedded network, and none.
pub(super) const EMBEDDED: &str = "<embedded>";
pub(super) const NO_NETWORK: &str = "<none>";

pub(super) const DEFAULT_HASH_MIB: usize = 16;
pub(super) const MAX_HASH_MIB: usize = 1 << 20;
pub(super) const MAX_MULTI_PV: usize = 256;
pub(super) const DEFAULT_OVERHEAD_MS: u64 = 10;
pub(super) const MAX_OVERHEAD_MS: u64 = 10_000;
pub(super) const DEFAULT_ELO: i32 = 1_500;

/// Value of a string option that stands for no text.
pub(super) const EMPTY: &str = "<empty>";

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
