//! Sliding sample of values with quantiles.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Maximum number of values kept.
const MAX_VALUES: usize = 1_000;

/// The latest 1,000 values.
#[derive(Clone, Debug, Default)]
pub struct Sample(VecDeque<f64>);

/// Quantiles of a sample; zeros if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
    /// The number of values, at most 1,000.
    #[serde(alias = "of")]
    pub count: usize,
}

impl Sample {
    /// Adds a duration, in seconds.
    pub fn add(&mut self, value: Duration) {
        self.add_value(value.as_secs_f64());
    }

    /// Adds a value.
    pub fn add_value(&mut self, value: f64) {
        if self.0.len() == MAX_VALUES {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    /// Quantiles multiplied by `unit`, rounded to three decimals.
    pub fn quantiles(&self, unit: f64) -> Quantiles {
        let mut sorted: Vec<f64> = self.0.iter().copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let quantile = |q: f64| {
            let index = (sorted.len() as f64 * q).ceil() as usize;
            let value = sorted.get(index.saturating_sub(1)).copied().unwrap_or(0.0);
            (value * unit * 1_000.0).round() / 1_000.0
        };
        Quantiles {
            p50: quantile(0.5),
            p99: quantile(0.99),
            max: quantile(1.0),
            count: sorted.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_cover_the_latest_values() {
        let mut sample = Sample::default();
        assert_eq!(sample.quantiles(1.0), Quantiles::default());
        (1..=1_500).for_each(|n| sample.add(Duration::from_millis(n)));
        let found = sample.quantiles(1_000.0);
        assert_eq!(
            (found.p50, found.p99, found.max, found.count),
            (1_000.0, 1_490.0, 1_500.0, 1_000)
        );
    }
}
