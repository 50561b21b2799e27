//! Counts of users as one more round of a publication with noise check.

use crate::numeric::{Interval, div_down, mul_down, sqrt_down, sub_up};

/// The distance of means of counts, in standard deviations.
#[derive(Debug, Clone, Copy)]
pub(super) enum OfCounts {
    /// This part of the square of all distances together.
    Share(f64),
    /// This number.
    Mu(f64),
}

impl OfCounts {
    /// The distance of rounds and counts together, in plain arithmetic.
    pub(super) fn beside(self, mu: f64) -> f64 {
        match self {
            Self::Share(share) => mu / (1.0 - share).sqrt(),
            Self::Mu(0.0) => mu,
            Self::Mu(counts) => (mu * mu + counts * counts).sqrt(),
        }
    }

    /// The distance, if it is known; no number otherwise.
    pub(super) fn mu(self) -> f64 {
        match self {
            Self::Share(_) => f64::NAN,
            Self::Mu(counts) => counts,
        }
    }

    /// An upper bound of the distance of rounds and counts together.
    pub(super) fn beside_up(self, mu: Interval) -> f64 {
        match self {
            // Not known yet: nothing is certified.
            Self::Share(_) => f64::INFINITY,
            Self::Mu(0.0) => mu.hi(),
            Self::Mu(counts) => (mu.square() + Interval::point(counts).square()).sqrt().hi(),
        }
    }

    /// The distance of means that counts leave of all of it, in plain arithmetic.
    pub(super) fn left(self, all: f64) -> f64 {
        match self {
            Self::Share(share) => all * (1.0 - share).sqrt(),
            Self::Mu(0.0) => all,
            // Nothing is left if counts take all of it.
            Self::Mu(counts) => (all * all - counts * counts).max(f64::MIN_POSITIVE).sqrt(),
        }
    }
}

/// The distance of means of counts beside rounds of the distance `mu`, rounded down.
pub(super) fn mu_of_counts(mu: f64, share: f64) -> f64 {
    mul_down(mu, sqrt_down(div_down(share, sub_up(1.0, share))))
}
