//! The tunable numbers of the search: compiled in, or values of the thread where the feature `tune` is on.
//!
//! Each number of the table in [`params`](super::params) is a function of that name. Without the feature it is a
//! constant; with it, it reads the values that [`Parameters::install`] has left to the thread. So two settings can
//! play each other in one process, and nobody else pays for it.

use std::fmt;
use std::sync::Arc;

use super::nnue::Network;
use super::params::TUNABLES;

/// A number of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunable {
    pub name: &'static str,
    /// What it is.
    pub value: i32,
    /// The range in which it makes sense.
    pub min: i32,
    pub max: i32,
    /// A change that should just be felt in play; what the tuner begins with.
    pub step: i32,
}

/// A value for each of the tunable numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// As in the table; nothing where the numbers are compiled in.
    values: Vec<i32>,
}

/// Why a number cannot be set. Its display is a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// The numbers of this binary are compiled in.
    Fixed,
    /// There is none of this name.
    Unknown(String),
    /// The value is beyond its range.
    Beyond(Tunable, i32),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Fixed => write!(
                f,
                "the numbers of this binary are fixed: build it with --features tune"
            ),
            ParameterError::Unknown(name) => write!(f, "the search has no number `{name}`"),
            ParameterError::Beyond(Tunable { name, min, max, .. }, value) => {
                write!(f, "{name} is from {min} to {max}, not {value}")
            }
        }
    }
}

impl std::error::Error for ParameterError {}

impl Default for Parameters {
    fn default() -> Parameters {
        let values = Parameters::tunable().iter();
        Parameters {
            values: values.map(|tunable| tunable.value).collect(),
        }
    }
}

impl Parameters {
    /// The numbers that can be set; none where they are compiled in.
    pub fn tunable() -> &'static [Tunable] {
        if cfg!(feature = "tune") {
            &TUNABLES
        } else {
            &[]
        }
    }

    /// Sets a number.
    ///
    /// # Errors
    /// When there is no such number, the value is out of range, or this binary has its numbers compiled in.
    pub fn set(&mut self, name: &str, value: i32) -> Result<(), ParameterError> {
        if !cfg!(feature = "tune") {
            return Err(ParameterError::Fixed);
        }
        let index = Parameters::tunable()
            .iter()
            .position(|tunable| tunable.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| ParameterError::Unknown(name.to_owned()))?;
        let tunable = TUNABLES[index];
        if value < tunable.min || value > tunable.max {
            return Err(ParameterError::Beyond(tunable, value));
        }
        self.values[index] = value;
        Ok(())
    }

    /// Searches of this thread go by these values from now on.
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

    /// The thread's value of the number with this index.
    pub fn get(index: usize) -> i32 {
        VALUES.with(|values| values[index].get())
    }

    pub fn set(values: &[i32]) {
        VALUES.with(|cells| {
            let pairs = cells.iter().zip(values);
            pairs.for_each(|(cell, value)| cell.set(*value));
        });
    }
}

/// What a search is made with. The default is the embedded network, if there is one, and the numbers of the table.
#[derive(Clone)]
pub struct Setting {
    /// What evaluates; by hand if it is none.
    pub network: Option<Arc<Network>>,
    pub parameters: Parameters,
}

impl Setting {
    /// The numbers of the table, and this network, or the evaluation by hand.
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

/// Makes a function of each number, and a table of all: `/// What it is. name = value in min..=max step step;`
macro_rules! tunables {
    ($($(#[doc = $doc:literal])+ $name:ident = $value:literal in $min:literal..=$max:literal step $step:literal;)*) => {
        /// All of them, in the order of their definition.
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
    fn each_thread_has_its_own_numbers() {
        use crate::engine::params;

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
        assert_eq!(wrong.to_string(), "rfp_margin is from 50 to 120, not 10000");
        let wrong = parameters.set("courage", 1).unwrap_err();
        assert_eq!(wrong.to_string(), "the search has no number `courage`");
    }

    #[cfg(not(feature = "tune"))]
    #[test]
    fn numbers_that_are_compiled_in_cannot_be_set() {
        assert!(Parameters::tunable().is_empty());
        let refused = Parameters::default().set("rfp_margin", 80);
        assert_eq!(refused, Err(ParameterError::Fixed));
    }
}
