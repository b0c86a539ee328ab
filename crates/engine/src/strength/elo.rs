//! Playing strength as a number.

use std::fmt;

/// Playing strength, on a scale of engines: see `CALIBRATION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Elo(pub(super) u16);

impl Elo {
    /// The lowest.
    pub const MIN: Elo = Elo(1000);
    /// The highest; above it there is only full strength.
    pub const MAX: Elo = Elo(2800);

    /// The nearest supported value.
    ///
    /// ```
    /// use knightwatch_engine::Elo;
    ///
    /// assert_eq!(Elo::nearest(1500).get(), 1500);
    /// assert_eq!(Elo::nearest(400), Elo::MIN);
    /// assert_eq!(Elo::nearest(3000), Elo::MAX);
    /// ```
    pub fn nearest(elo: i32) -> Elo {
        let (min, max) = (i32::from(Self::MIN.0), i32::from(Self::MAX.0));
        Elo(elo.clamp(min, max) as u16)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }

    /// The handicap step of this Elo, the second column of `CALIBRATION`.
    pub fn step(self) -> f64 {
        let elo = f64::from(self.0);
        let above = CALIBRATION
            .iter()
            .position(|rung| rung.0 >= elo)
            .unwrap_or(CALIBRATION.len() - 1)
            .max(1);
        let ((from, low), (to, high)) = (CALIBRATION[above - 1], CALIBRATION[above]);
        low + (elo - from) / (to - from) * (high - low)
    }
}

impl fmt::Display for Elo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Playing strength and random seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strength {
    /// The strength.
    pub elo: Elo,
    /// Seed of the random choices; one for each game.
    pub seed: u64,
}

/// Elo and the step of `Handicap::from_step` that has it, as measured in `docs/engine/strength.md`; the last row has 70 Elo
/// for each doubling of the nodes. Values in between are interpolated linearly.
pub(super) const CALIBRATION: [(f64, f64); 11] = [
    (1000.0, 1585.0),
    (1160.0, 1665.0),
    (1330.0, 1750.0),
    (1480.0, 1850.0),
    (1650.0, 1955.0),
    (1820.0, 2065.0),
    (1950.0, 2190.0),
    (2130.0, 2335.0),
    (2315.0, 2520.0),
    (2480.0, 2800.0),
    (2800.0, 3394.0),
];
