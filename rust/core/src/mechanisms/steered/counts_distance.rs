//! Counts of users as one more round of a publication with noise check.

use dpsel_exact::numeric::{Interval, div_down, mul_down, sqrt_down, sub_up};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certified_is_the_distance_of_rounds_and_counts_together() {
        for (mu, counts) in [(0.3, 0.4), (1e-3, 2.0), (2.0, 1e-3), (0.5, 0.5)] {
            let both = libm::hypot(mu, counts);
            let up = OfCounts::Mu(counts).beside_up(Interval::point(mu));
            assert!(up >= both * (1.0 - 1e-15) && up <= both * (1.0 + 1e-14), "{mu} {counts}: {up}");
            assert!((OfCounts::Mu(counts).beside(mu) / both - 1.0).abs() < 1e-14);
            assert!((OfCounts::Mu(counts).left(both) / mu - 1.0).abs() < 1e-9);
        }
        assert!(
            OfCounts::Share(0.2).beside_up(Interval::point(0.1)).is_infinite(),
            "nothing is certified yet"
        );
        let alone = Interval::point(0.7);
        assert!(OfCounts::Mu(0.0).beside_up(alone).to_bits() == alone.hi().to_bits());
    }

    #[test]
    fn counts_have_their_share_of_the_squares() {
        for (mu, share) in [(0.3, 0.2), (1.0, 0.01), (0.01, 0.9)] {
            let counts = mu_of_counts(mu, share);
            let part = counts * counts / (counts * counts + mu * mu);
            assert!(part <= share && part > share * (1.0 - 1e-12), "{mu} {share}: {part}");
            assert!((OfCounts::Share(share).beside(mu) / libm::hypot(mu, counts) - 1.0).abs() < 1e-12);
        }
    }
}
