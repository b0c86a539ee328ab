//! Middlegame and endgame score packed into one integer.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// Middlegame in the low half, endgame in the high half, each within 16 bits, so that one addition adds both.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Phased(i32);

/// A pair of middlegame and endgame score, in centipawns.
pub(super) const fn s(middlegame: i32, endgame: i32) -> Phased {
    Phased((endgame << 16) + middlegame)
}

impl Phased {
    pub const ZERO: Phased = Phased(0);

    pub const fn middlegame(self) -> i32 {
        self.0 as i16 as i32
    }

    pub const fn endgame(self) -> i32 {
        ((self.0 + 0x8000) >> 16) as i16 as i32
    }

    pub const fn plus(self, other: Phased) -> Phased {
        Phased(self.0 + other.0)
    }

    /// Half of each, rounded towards zero.
    pub const fn half(self) -> Phased {
        s(self.middlegame() / 2, self.endgame() / 2)
    }
}

impl Add for Phased {
    type Output = Phased;
    fn add(self, other: Phased) -> Phased {
        self.plus(other)
    }
}

impl Sub for Phased {
    type Output = Phased;
    fn sub(self, other: Phased) -> Phased {
        Phased(self.0 - other.0)
    }
}

impl Neg for Phased {
    type Output = Phased;
    fn neg(self) -> Phased {
        Phased(-self.0)
    }
}

impl Mul<i32> for Phased {
    type Output = Phased;
    fn mul(self, factor: i32) -> Phased {
        Phased(self.0 * factor)
    }
}

impl AddAssign for Phased {
    fn add_assign(&mut self, other: Phased) {
        *self = *self + other;
    }
}

impl SubAssign for Phased {
    fn sub_assign(&mut self, other: Phased) {
        *self = *self - other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phased_arithmetic_keeps_halves_apart() {
        for (m, e) in [(0, 0), (5, -7), (-5, 7), (-300, -299), (1_000, -1_000)] {
            let both = s(m, e);
            assert_eq!((both.middlegame(), both.endgame()), (m, e));
            let sum = both + s(-11, 13) - s(2, -3);
            assert_eq!((sum.middlegame(), sum.endgame()), (m - 13, e + 16));
            assert_eq!(
                (both.half().middlegame(), both.half().endgame()),
                (m / 2, e / 2)
            );
            assert_eq!(
                ((-both * 3).middlegame(), (-both * 3).endgame()),
                (-3 * m, -3 * e)
            );
        }
    }
}
