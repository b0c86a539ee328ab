//! Tunable search parameters: constants, or thread-local values with the feature `tune`.
//!
//! Each parameter in [`params`](super::params) is a function. Without the feature it returns a constant; with it, it
//! reads the values that [`Parameters::install`] set for the thread. So two settings can play each other in one
//! process, and normal builds pay nothing.

use std::sync::Arc;

use super::nnue::Network;
use super::params::TUNABLES;

/// A tunable search parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Name, as in UCI options.
    pub name: &'static str,
    /// The default value.
    pub value: i32,
    /// Lower bound of the tuning range.
    pub min: i32,
    /// Upper bound of the tuning range.
    pub max: i32,
    /// A change that should just be measurable in play; the tuner starts with it.
    pub step: i32,
}

/// A value for each tunable parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// In the order of the table; empty if the parameters are compiled in.
    values: Vec<i32>,
}

/// Error of [`Parameters::set`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// The parameters of this binary are compiled in.
    #[error("search parameters are compiled in; build with --features tune to change them")]
    CompiledIn,
    /// There is no parameter of this name.
    #[error("unknown search parameter `{0}`")]
    Unknown(String),
    /// The value is out of range.
    #[error("{} = {} is out of range ({} to {})", .0.name, .1, .0.min, .0.max)]
    OutOfRange(Tunable, i32),
}

impl Default for Parameters {
    fn default() -> Parameters {
        let values = Parameters::tunable().iter();
        Parameters {
            values: values.map(|tunable| tunable.value).collect(),
        }
    }
}

impl Parameters {
    /// The tunable parameters; empty if they are compiled in.
    pub fn tunable() -> &'static [Tunable] {
        if cfg!(feature = "tune") {
            &TUNABLES
        } else {
            &[]
        }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// If there is no such parameter, the value is out of range, or the parameters are compiled in.
    pub fn set(&mut self, name: &str, value: i32) -> Result<(), ParameterError> {
        if !cfg!(feature = "tune") {
            return Err(ParameterError::CompiledIn);
        }
        let index = Parameters::tunable()
            .iter()
            .position(|tunable| tunable.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| ParameterError::Unknown(name.to_owned()))?;
        let tunable = TUNABLES[index];
        if value < tunable.min || value > tunable.max {
            return Err(ParameterError::OutOfRange(tunable, value));
        }
        self.values[index] = value;
        Ok(())
    }

    /// Uses these values for searches of the current thread.
    pub(crate) fn install(&self) {
        #[cfg(feature = "tune")]
        of_thread::set(&self.values);
    }
}

#[cfg(feature = "tune")]
pub(super) mod of_thread {
    use std::cell::Cell;

    use super::TUNABLES;

    thread_local! {
        static VALUES: [Cell<i32>; TUNABLES.len()] = const {
            let mut values = [const { Cell::new(0) }; TUNABLES.len()];
            let mut i = 0;
            while i < values.len() {
                values[i] = Cell::new(TUNABLES[i].value);
                i += 1;
            }
            values
        };
    }

    /// The thread's value of a parameter.
    pub(crate) fn get(index: usize) -> i32 {
        VALUES.with(|values| values[index].get())
    }

    pub(crate) fn set(values: &[i32]) {
        VALUES.with(|cells| {
            let pairs = cells.iter().zip(values);
            pairs.for_each(|(cell, value)| cell.set(*value));
        });
    }
}

/// Network and parameters of a search. Defaults to the embedded network, if there is one, and the default parameters.
#[derive(Clone)]
pub struct Setting {
    /// The evaluation network; `None` uses material and piece-square tables.
    pub network: Option<Arc<Network>>,
    /// The search parameters.
    pub parameters: Parameters,
}

impl Setting {
    /// Default parameters with `network`, or material and piece-square tables if `None`.
    pub fn with_network(network: Option<Arc<Network>>) -> Setting {
        Setting {
            network,
            parameters: Parameters::default(),
        }
    }
}

impl Default for Setting {
    fn default() -> Setting {
        Setting::with_network(Network::embedded())
    }
}

/// Defines a function per parameter, and the table of all: `/// Description. name = value in min..=max step step;`
macro_rules! tunables {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal in $min:literal..=$max:literal step $step:literal;)*) => {
        /// All parameters, in order of definition.
        pub(crate) const TUNABLES: [super::tunable::Tunable; [$(stringify!($name)),*].len()] = [$(
            super::tunable::Tunable { name: stringify!($name), value: $value, min: $min, max: $max, step: $step },
        )*];

        #[cfg(feature = "tune")]
        #[allow(non_camel_case_types)]
        enum Index { $($name),* }

        $(
            $(#[doc = $doc])+
            #[cfg(not(feature = "tune"))]
            #[inline(always)]
            pub(crate) const fn $name() -> i32 {
                $value
            }

            $(#[doc = $doc])+
            #[cfg(feature = "tune")]
            #[inline]
            pub(crate) fn $name() -> i32 {
                super::tunable::of_thread::get(Index::$name as usize)
            }
        )*
    };
}
pub(super) use tunables;

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "tune")]
    #[test]
    fn parameters_of_one_thread_do_not_affect_others() {
        use crate::params;

        let usual = params::rfp_margin();
        let mut parameters = Parameters::default();
        parameters.set("rfp_margin", usual + 5).expect("in range");
        parameters.install();
        assert_eq!(params::rfp_margin(), usual + 5);
        let elsewhere = std::thread::spawn(params::rfp_margin).join();
        assert_eq!(elsewhere.expect("no panic"), usual);
        Parameters::default().install();
        assert_eq!(params::rfp_margin(), usual);

        let wrong = parameters.set("rfp_margin", 10_000).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "rfp_margin = 10000 is out of range (20 to 120)"
        );
        let wrong = parameters.set("courage", 1).unwrap_err();
        assert_eq!(wrong.to_string(), "unknown search parameter `courage`");
    }

    #[cfg(not(feature = "tune"))]
    #[test]
    fn set_without_tune_feature_is_refused() {
        assert!(Parameters::tunable().is_empty());
        let refused = Parameters::default().set("rfp_margin", 80);
        assert_eq!(refused, Err(ParameterError::CompiledIn));
    }
}
