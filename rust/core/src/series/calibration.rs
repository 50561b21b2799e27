//! Noise, thresholds and caps for a guarantee. They are found in plain arithmetic, and taken only if they are certified.

use dpsel_exact::accounting::gaussian::approximate_mu;
use dpsel_exact::accounting::{Privacy, minimise, root};
use dpsel_exact::numeric::{UNIT, div_up, mul_down, sqrt_down, sub_up};
use dpsel_exact::{Error, Result};

use super::certificate::{Bounds, Certified, holds, reserve_factor};
use super::plan::{Asked, Certificate, FORMAT, NORM, PACE_BITS, SeriesPlan, blocks, longest};
use crate::mechanisms::{no_pure_dp, per_root, user_sizes, with_reserve};

/// The cap of the rank r, in multiples of 1/sqrt(r); at most 1. In norms, for the age 1.
const EQUAL_WEIGHTS: f64 = 5.5;
/// Thresholds and sums of noise have fewer units of weight.
const LARGEST: f64 = (1_u64 << 30) as f64;

/// Rounds of a release.
const ROUNDS: u32 = 6;
/// Spending falls with the age of a user like this power of it.
const POWER: f64 = 1.1;

impl SeriesPlan {
    /// The plan of a series.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`]; [`Error::Incompatible`] for `PureDP`; [`Error::Calibration`] if there is none.
    pub fn new(asked: Asked) -> Result<Self> {
        calibrated(asked.validate()?)
    }

    /// The plan with numbers that are found for what is asked, and certified.
    fn of(asked: Asked, (numbers, z, bounds): (SeriesNumbers, f64, Bounds), reserve: f64) -> Self {
        let SeriesNumbers { sigma, spread, thresholds, caps } = numbers;
        let Bounds { mu, delta_thresholds, delta_noise, slack: _ } = bounds;
        Self {
            format: FORMAT,
            asked,
            blocks: blocks(asked.releases),
            rounds: ROUNDS,
            norm: NORM,
            sigma,
            spread,
            thresholds,
            ranks: user_sizes(asked.max_items_per_user),
            caps,
            pace: pace(asked.releases),
            certificate: Certificate { mu, z, delta_thresholds, delta_noise, reserve },
        }
    }
}

/// How spending falls with the age of a user, from 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 2^40")]
fn pace(releases: u32) -> Vec<u64> {
    let at = |age: u32| libm::pow(f64::from(age), -POWER) * (1_u64 << PACE_BITS) as f64;
    (1..=releases).map(|age| at(age) as u64).collect()
}

/// What is found for what is asked.
#[derive(Debug)]
struct SeriesNumbers {
    sigma: f64,
    spread: u64,
    thresholds: Vec<u64>,
    caps: Vec<Vec<u64>>,
}

/// The plan for what is asked.
fn calibrated(asked: Asked) -> Result<SeriesPlan> {
    let (delta, factor) = match asked.privacy {
        Privacy::PureDp { .. } => return Err(no_pure_dp("Series")),
        Privacy::ApproxDp { epsilon, delta } => (delta, reserve_factor(epsilon)),
        Privacy::Zcdp { delta, .. } => (delta, 1.0),
    };
    let shape = SeriesShape::of(asked);
    with_reserve(delta, factor, |left| {
        let reserve = sub_up(delta, left);
        let found = shape.certified(left, reserve)?;
        let slack = found.2.slack;
        Ok((SeriesPlan::of(asked, found, reserve), slack))
    })
}

/// What does not depend on noise and thresholds.
struct SeriesShape {
    asked: Asked,
    blocks: Vec<u32>,
    ranks: Vec<u32>,
}

impl SeriesShape {
    fn of(asked: Asked) -> Self {
        let (blocks, ranks) = (blocks(asked.releases), user_sizes(asked.max_items_per_user));
        Self { asked, blocks, ranks }
    }

    /// Numbers that are certified for a delta, their height of thresholds, and their bounds.
    fn certified(&self, delta: f64, reserve: f64) -> Result<(SeriesNumbers, f64, Bounds)> {
        let of = |part: f64| {
            let mu = self.mu(delta, part);
            (self.height(mu, part * delta), mu)
        };
        let part = minimise(|part| of(part).0 / of(part).1, 0.05, 0.95, 9, 12);
        let (z, mu) = of(part);
        let privacy = self.asked.privacy;
        if !(z.is_finite() && mu.is_normal() && mu > 0.0) {
            return Err(none(privacy));
        }
        // Both are accurate to a few units in the last place, so the next larger heights hold.
        for bits in (4..=40).rev() {
            let more = 1.0 + 0.5_f64.powi(bits);
            let (numbers, bounds) = self.numbers(z * more, mu / more)?;
            if holds(privacy, bounds, reserve) {
                return Ok((numbers, z * more, bounds));
            }
        }
        Err(none(privacy))
    }

    /// The distance of means that this part of delta for thresholds leaves.
    fn mu(&self, delta: f64, part: f64) -> f64 {
        match self.asked.privacy {
            Privacy::ApproxDp { epsilon, .. } => approximate_mu(epsilon, delta * (1.0 - part), 1e-12),
            Privacy::Zcdp { rho, .. } => {
                let lambda = -libm::log1p(-part * delta);
                std::f64::consts::SQRT_2 * (rho.sqrt() - lambda.sqrt())
            }
            Privacy::PureDp { .. } => f64::NAN,
        }
    }

    /// The least height of thresholds in standard deviations, at which all comparisons cost at most `delta`.
    fn height(&self, mu: f64, delta: f64) -> f64 {
        if !(mu.is_normal() && mu > 0.0) {
            return f64::INFINITY;
        }
        let goal = libm::log(delta / f64::from(self.asked.releases));
        let cost = |z: f64| {
            let mut before = 0;
            self.ranks.iter().fold(0.0, |sum, upto| {
                let number = f64::from(upto - before);
                before = *upto;
                sum + number * (tail(z - mu * per_root(EQUAL_WEIGHTS, *upto)) - tail(z))
            })
        };
        let gap = |z: f64| goal - libm::log(cost(z));
        let (mut lo, mut hi) = (mu, mu + 1.0);
        if gap(lo) >= 0.0 {
            return lo;
        }
        while gap(hi) < 0.0 && hi < mu + 60.0 {
            (lo, hi) = (hi, hi + 2.0);
        }
        root(gap, lo, hi, 1e-13)
    }

    /// The integers for a height and a distance of means, and their bounds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^61")]
    fn numbers(&self, z: f64, mu: f64) -> Result<(SeriesNumbers, Bounds)> {
        let sigma = div_up(1.0, mul_down(mu, sqrt_down(ROUNDS.into())));
        let spread = sigma * f64::from(ROUNDS).sqrt();
        let ages = || (1..=longest(&self.blocks, self.asked.releases)).map(|age| f64::from(age).sqrt());
        let highest = z.max(14.0) * spread * f64::from(self.asked.releases).sqrt();
        if highest.is_nan() || highest >= LARGEST {
            return Err(Error::Calibration {
                what: "noise below 2^30 units of weight".into(),
                fix: "raise epsilon, rho or delta, or lower releases",
            });
        }
        let steps = |units: f64| units * UNIT as f64;
        let thresholds: Vec<u64> = ages().map(|root| steps(z * spread * root).ceil() as u64).collect();
        let cap = |root: f64, rank: u32| steps(root * per_root(EQUAL_WEIGHTS, rank)) as u64;
        let of_age = |(root, threshold): (f64, &u64)| -> Vec<u64> {
            self.ranks.iter().map(|rank| cap(root, *rank).min(*threshold)).collect()
        };
        let caps = ages().zip(&thresholds).map(of_age).collect();
        let numbers = SeriesNumbers { sigma, spread: steps(spread) as u64, thresholds, caps };
        let bounds = Certified {
            privacy: self.asked.privacy,
            releases: self.asked.releases,
            most: self.asked.max_items_per_user,
            blocks: &self.blocks,
            rounds: ROUNDS,
            sigma: numbers.sigma,
            thresholds: &numbers.thresholds,
            ranks: &self.ranks,
            caps: &numbers.caps,
        };
        let bounds = bounds.bounds();
        Ok((numbers, bounds))
    }
}

/// The error where no plan keeps the guarantee.
fn none(privacy: Privacy) -> Error {
    let what = match privacy {
        Privacy::ApproxDp { epsilon, delta } => {
            format!("a series at epsilon = {epsilon:e} and delta = {delta:e}")
        }
        Privacy::Zcdp { rho, delta } => format!("a series at rho = {rho:e} and delta = {delta:e}"),
        Privacy::PureDp { epsilon } => format!("a series at epsilon = {epsilon:e}"),
    };
    Error::Calibration { what, fix: "raise epsilon, rho or delta, or lower releases or max_items_per_user" }
}

fn tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}
