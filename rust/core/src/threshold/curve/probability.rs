//! Probabilities that a 128-bit word can decide exactly.

use dpsel_exact::numeric::{Interval, add_down, add_up, sub_up};

/// 2^128, the number of words.
const WORDS: f64 = 2.0 * (1_u128 << 127) as f64;

/// A multiple of 2^-128 in 0..=1, kept as itself or, above one half, as its complement.
///
/// The number kept is an `f64` without any error, so both ends of a curve are as precise as its middle is not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Probability {
    /// The probability or its complement, whichever is smaller.
    small: f64,
    /// Whether `small` is the complement.
    upper: bool,
}

impl Probability {
    pub(super) const ZERO: Self = Self { small: 0.0, upper: false };
    pub(super) const ONE: Self = Self { small: 0.0, upper: true };

    /// The largest probability of this kind that is at most `p`.
    pub(super) fn at_most(p: f64) -> Self {
        if p <= 0.5 {
            Self { small: (p.max(0.0) * WORDS).floor() / WORDS, upper: false }
        } else {
            Self::with_complement(1.0 - p)
        }
    }

    /// The largest probability of this kind whose complement is at least `complement`.
    pub(super) fn with_complement(complement: f64) -> Self {
        if complement < 0.5 {
            Self { small: (complement.max(0.0) * WORDS).ceil() / WORDS, upper: true }
        } else {
            Self::at_most((1.0 - complement).min(0.5))
        }
    }

    pub(super) fn is_one(self) -> bool {
        self == Self::ONE
    }

    /// Whether this is at most `other`.
    pub(super) fn is_within(self, other: Self) -> bool {
        match (self.upper, other.upper) {
            (false, false) => self.small <= other.small,
            (true, true) => self.small >= other.small,
            (mine, _) => !mine,
        }
    }

    pub(super) fn min(self, other: Self) -> Self {
        if self.is_within(other) { self } else { other }
    }

    pub(super) fn max(self, other: Self) -> Self {
        if self.is_within(other) { other } else { self }
    }

    /// The probability.
    pub(super) fn value(self) -> Interval {
        let small = Interval::point(self.small);
        if self.upper { Interval::ONE - small } else { small }
    }

    /// One minus the probability.
    pub(super) fn complement(self) -> Interval {
        let small = Interval::point(self.small);
        if self.upper { small } else { Interval::ONE - small }
    }

    /// By how much this exceeds `below`, which is not above it.
    pub(super) fn step_from(self, below: Self) -> Interval {
        let (here, there) = (Interval::point(self.small), Interval::point(below.small));
        match (below.upper, self.upper) {
            (false, false) => here - there,
            (true, true) => there - here,
            _ => Interval::ONE - (here + there),
        }
    }

    /// This probability moved towards `below` by a fraction of their distance, rounded down.
    pub(super) fn lowered_towards(self, below: Self, fraction: f64) -> Self {
        let step = self.step_from(below).hi() * fraction;
        let lowered = if self.upper {
            Self::with_complement(add_up(self.small, step))
        } else {
            Self::at_most(-sub_up(step, self.small))
        };
        lowered.max(below)
    }

    /// This probability raised by a step, rounded down.
    pub(super) fn raised(self, step: f64) -> Self {
        if self.upper {
            return Self::with_complement(sub_up(self.small, step));
        }
        let risen = add_down(self.small, step);
        if risen <= 0.5 { Self::at_most(risen) } else { Self::with_complement(sub_up(1.0, risen)) }
    }

    /// This probability rounded down to one of a number of words that is a multiple of a power of two.
    pub(super) fn on_grid(self, words: u64) -> Self {
        let unit = words as f64 / WORDS;
        let count = self.small / unit;
        Self { small: unit * if self.upper { count.ceil() } else { count.floor() }, upper: self.upper }
    }

    /// The number of words that release: those below it do. All of them cannot be counted; [`Self::is_one`] says so.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an integer in 0..=2^127")]
    pub(super) fn words(self) -> u128 {
        let count = (self.small * WORDS) as u128;
        if self.upper { count.wrapping_neg() } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundings_go_down() {
        for p in [0.0, 1e-300, 3e-39, 1e-20, 0.1, 0.5, 0.500_000_1, 0.9, 1.0 - 1e-16, 1.0] {
            let rounded = Probability::at_most(p);
            assert!(rounded.value().lo() <= p, "{p}");
            assert!(rounded.value().hi() >= p - 3e-39 - 1e-16 * p, "{p}");
        }
        for complement in [1e-300, 3e-39, 1e-20, 0.1, 0.5, 0.7, 1.0] {
            let rounded = Probability::with_complement(complement);
            assert!(rounded.complement().hi() >= complement && !rounded.is_one(), "{complement}");
        }
    }

    #[test]
    fn words_are_counted_at_both_ends() {
        let least = 1.0 / WORDS;
        assert_eq!(Probability::at_most(least).words(), 1);
        assert_eq!(Probability::at_most(0.5).words(), 1 << 127);
        assert_eq!(Probability::with_complement(least).words(), u128::MAX);
        assert_eq!(Probability::with_complement(0.25).words(), 3 << 126);
        assert_eq!(Probability::ZERO.words(), 0);
    }

    #[test]
    fn the_order_is_that_of_the_numbers() {
        let rising = [0.0, 1e-9, 0.2, 0.5, 0.7, 1.0 - 1e-9, 1.0].map(Probability::at_most);
        for pair in rising.windows(2) {
            assert!(pair[0].is_within(pair[1]) && !pair[1].is_within(pair[0]));
            assert!(pair[1].step_from(pair[0]).lo() > 0.0);
            let lowered = pair[1].lowered_towards(pair[0], 0.5);
            assert!(pair[0].is_within(lowered) && lowered.is_within(pair[1]));
        }
    }
}
