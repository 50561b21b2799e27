//! A uniform real number in [0, 1) that gets as many binary digits as a comparison needs.

use num_bigint::BigUint;

use super::Bits;
use super::Enclosure;
use super::Interval;

/// The number lies between `digits` and `digits` + 1, times 2^-`length`.
#[derive(Debug, Default, Clone)]
pub struct Uniform {
    digits: BigUint,
    length: u64,
}

/// Digits of the first comparison.
const FIRST: u64 = 64;

impl Uniform {
    /// Whether the number is below p, of which `rough` are bounds, and `exact` gives bounds for any number of bits.
    ///
    /// # Contract
    /// For a fresh number this is true with probability p, exactly. It does not end only if the number equals p, which
    /// has probability 0.
    pub fn is_below(
        &mut self,
        rough: Interval,
        coins: &mut impl Bits,
        exact: impl Fn(u64) -> Enclosure,
    ) -> bool {
        let (low, high) = self.first_digits(coins);
        if high.hi() <= rough.lo() && !forced_slow() {
            return true;
        }
        if low.lo() >= rough.hi() && !forced_slow() {
            return false;
        }
        self.is_below_exactly(coins, exact)
    }

    /// The same, for a number that may have been compared before.
    #[cold]
    pub(crate) fn is_below_exactly(
        &mut self,
        coins: &mut impl Bits,
        exact: impl Fn(u64) -> Enclosure,
    ) -> bool {
        let mut bits = 2 * FIRST;
        loop {
            self.extend(bits, coins);
            let (lo, hi) = exact(bits).fixed_point(self.length);
            if self.digits < lo {
                return true;
            }
            if self.digits >= hi {
                return false;
            }
            bits *= 2;
        }
    }

    /// Get the first 64 digits; the number lies between the two.
    pub fn first_digits(&mut self, coins: &mut impl Bits) -> (Interval, Interval) {
        let word = coins.half_word();
        self.digits = word.into();
        self.length = FIRST;
        let unit = Interval::point(2.0_f64.powi(-64));
        (Interval::integer(word.into()) * unit, Interval::integer(i128::from(word) + 1) * unit)
    }

    /// Get more digits.
    pub fn extend(&mut self, length: u64, coins: &mut impl Bits) {
        while self.length < length {
            self.digits = (&self.digits << FIRST) | BigUint::from(coins.half_word());
            self.length += FIRST;
        }
    }

    /// A number with its first 64 digits.
    pub(crate) fn drawn(coins: &mut impl Bits) -> Self {
        let mut number = Self::default();
        number.extend(FIRST, coins);
        number
    }

    /// Whether the number is below another one; both get more digits until they differ.
    pub(crate) fn is_less(&mut self, other: &mut Self, coins: &mut impl Bits) -> bool {
        loop {
            let length = self.length.max(other.length);
            self.extend(length, coins);
            other.extend(length, coins);
            if self.digits != other.digits {
                return self.digits < other.digits;
            }
            self.extend(length + FIRST, coins);
        }
    }

    /// Bounds from the first digits, of which there are some.
    #[must_use]
    pub(crate) fn to_interval(&self) -> Interval {
        // Otherwise: the number 0 has no digits.
        let word = (&self.digits >> (self.length - FIRST)).iter_u64_digits().next().unwrap_or(0);
        let unit = Interval::point(2.0_f64.powi(-64));
        Interval::new(
            (Interval::integer(word.into()) * unit).lo(),
            (Interval::integer(i128::from(word) + 1) * unit).hi(),
        )
    }

    /// The digits, and how many there are.
    #[must_use]
    pub fn digits(&self) -> (&BigUint, u64) {
        (&self.digits, self.length)
    }
}

#[cfg(any(test, feature = "testing"))]
thread_local! {
    /// Set by tests of the slow paths.
    pub static SLOW: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether tests want every comparison to go to big integers.
#[cfg(any(test, feature = "testing"))]
#[must_use]
pub fn forced_slow() -> bool {
    SLOW.get()
}

/// No: only tests want that.
#[cfg(not(any(test, feature = "testing")))]
#[must_use]
pub const fn forced_slow() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Coins, Purpose, ReleaseKey};

    #[test]
    fn the_slow_path_agrees_with_the_fast_one() {
        let third = |bits| Enclosure::integer(1_u32.into()).div(&3_u32.into(), bits);
        let run = |rough: Interval| {
            let mut coins = Coins::new(&ReleaseKey::insecure_test([1; 32]), Purpose::TopK, 0);
            let mut below = vec![];
            for _ in 0..2000 {
                let mut uniform = Uniform::default();
                let answer = uniform.is_below(rough, &mut coins, third);
                below.push((uniform.digits >> (uniform.length - 16), answer));
            }
            below
        };
        for (digits, answer) in run(Interval::new(1.0 / 3.0, 0.333_333_333_333_333_4)) {
            assert_eq!(answer, digits < BigUint::from(21_845_u32), "{digits}");
        }
        let open = run(Interval::new(0.0, 1.0));
        let below = open.iter().filter(|(_, answer)| *answer).count();
        assert!(open.iter().all(|(digits, answer)| *answer == (*digits <= BigUint::from(21_845_u32))));
        assert!((540..800).contains(&below), "{below}");
    }
}
