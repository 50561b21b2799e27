//! The noise of the rounds, and its sum in a score.

use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::Interval;
use dpsel_exact::{Error, Result};

use crate::weighting::SHARES;

/// Scores and noise stay below this many units of weight, so that everything fits an `i64`.
const LARGEST: f64 = (1_u64 << 31) as f64;

/// The share as a number: exact, as [`SHARES`] is a power of two.
pub(super) fn fraction(share: u32) -> f64 {
    f64::from(share) / f64::from(SHARES)
}

/// The standard deviations of the noise of all rounds, and what follows from them.
#[derive(Debug)]
pub(super) struct RoundNoise {
    /// One for each round, in units of weight.
    pub(super) sigmas: Vec<f64>,
    /// Encloses the standard deviation of their sum.
    pub(super) total: Interval,
    /// Encloses the distance of the means in all rounds together, in standard deviations, that a norm of one unit makes.
    pub(super) unit_mu: Interval,
}

impl RoundNoise {
    /// The noise of rounds with these shares, `sigma` being a function of the share.
    ///
    /// # Errors
    /// [`Error::Calibration`] for noise whose sums need not fit an `i64`.
    pub(super) fn new(shares: &[u32], sigma: impl Fn(f64) -> f64) -> Result<Self> {
        let sigmas: Vec<f64> = shares.iter().map(|share| sigma(fraction(*share))).collect();
        if 14.0 * sigmas.iter().sum::<f64>() >= LARGEST {
            return Err(too_noisy());
        }
        let sum = |squares: &mut dyn Iterator<Item = Interval>| squares.fold(Interval::ZERO, |a, b| a + b);
        let total = sum(&mut sigmas.iter().map(|sigma| Interval::point(*sigma).square())).sqrt();
        let moved = |(share, sigma): (&u32, &f64)| {
            (Interval::point(fraction(*share)) / Interval::point(*sigma)).square()
        };
        let unit_mu = sum(&mut shares.iter().zip(&sigmas).map(moved)).sqrt();
        Ok(Self { sigmas, total, unit_mu })
    }

    /// The law of the sum, with a standard deviation rounded up.
    pub(super) fn of_score(&self) -> Noise {
        Noise::Gaussian { sigma: self.total.hi() }
    }
}

/// Refuses noise that is too large for the integers of scores.
pub(super) fn too_noisy() -> Error {
    Error::Calibration {
        what: "noise below 2^27 units of weight".into(),
        fix: "raise epsilon, rho or delta, or lower rounds",
    }
}
