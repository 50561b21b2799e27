//! The publication with noise check, for approximate DP: one threshold, and a norm and a cap for each size of user.
//!
//! A user of k items moves the rounds by its norm, in all mu standard deviations. Besides, the release may depend on it
//! where the noise of one of its items lies in \[T - c, T): with probability at most 1 - (1 - q)^k. The norm is the largest
//! at which both together stay within delta. Proof: `docs/algorithms/steered.md`.
//!
//! Counts of the users of released items are one more round, in which a user of any size moves means by the same distance.
//! Proof: `docs/algorithms/counts.md`.

use dpsel_exact::accounting::gaussian::{approximate_mu, delta_upper};
use dpsel_exact::accounting::{L0Bound, minimise, root};
use dpsel_exact::noise::Threshold;
use dpsel_exact::numeric::{Interval, div_up, mul_up, normal_tail, sqrt_up};
use dpsel_exact::{Error, Result};

use super::counts_distance::{OfCounts, mu_of_counts};
use super::noise::{RoundNoise, too_noisy};
use super::sizes::{per_root, sizes};
use crate::rounds::{NoiseCheck, Publish, UserSize};
use crate::threshold::calibration::upper_quantile;
use dpsel_exact::numeric::UNIT;

use crate::weighting::LARGEST_NORM;

/// The sizes of user between which the threshold is set. Larger users get a smaller norm instead.
const REFERENCE: (u32, u32) = (10, 300);
/// The cap of a user of k items, in multiples of its norm / sqrt(k); at most its norm.
const EQUAL_WEIGHTS: f64 = 5.5;
/// The least threshold, in standard deviations of the noise: the check turns no more than 0.2 % of real items away.
const LEAST_THRESHOLD: f64 = 3.0;
/// Thresholds have fewer units of weight.
const LARGEST: f64 = (1_u64 << 31) as f64;

/// What a publication has to meet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PublicationGoal {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    /// The part of the squared distance of means that counts take; 0 without counts.
    pub(super) share: f64,
}

/// Noise for a reference norm of one unit, the publication, and the distance of means that is left to counts, in standard
/// deviations.
///
/// # Errors
/// [`Error::Calibration`] if there is none.
pub(super) fn publication(
    shares: &[u32],
    bound: L0Bound,
    PublicationGoal { epsilon, delta, share }: PublicationGoal,
) -> Result<(RoundNoise, Publish, f64)> {
    let reference = reference(bound);
    let any_noise = RoundNoise::new(shares, |share| share)?;
    let spread = (any_noise.total * any_noise.unit_mu).middle();
    let search = Search { epsilon, delta, spread, counts: OfCounts::Share(share) };
    let tau = search.best_threshold(reference);
    let mu = search.largest_mu(reference, tau);
    let checked = back_off(mu, |mu| {
        let search = Search { counts: OfCounts::Mu(mu_of_counts(mu, share)), ..search };
        let checked = Checked::new(shares, search, tau, mu);
        match checked {
            Ok(found)
                if found.holds(UserSize { items: reference, norm: UNIT, cap: cap(reference, UNIT) }) =>
            {
                Some(Ok(found))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    });
    let checked = checked.ok_or_else(|| none(epsilon, delta))??;
    let size = |items: u32| {
        let of_reference = UserSize { items, norm: UNIT, cap: cap(items, UNIT) };
        if items == reference {
            return Ok(of_reference);
        }
        let size = checked.size(items, tau)?;
        Ok(if items < reference && size.norm < UNIT {
            checked.with_norm(items, u64::midpoint(size.norm, UNIT))
        } else {
            size
        })
    };
    let mut numbers = sizes(bound);
    numbers.push(reference);
    numbers.sort_unstable();
    numbers.dedup();
    let sizes = numbers.into_iter().map(size).collect::<Result<_>>()?;
    let publish = Publish {
        threshold: Threshold::from_steps(checked.threshold),
        score_noise: checked.noise.of_score(),
        noise_check: NoiseCheck::BelowThreshold,
        sizes,
    };
    let counts = checked.budget.counts.mu();
    Ok((checked.noise, publish, counts))
}

/// The size of user for which the threshold is set: three times the root of the largest, within [`REFERENCE`].
pub(super) fn reference(bound: L0Bound) -> u32 {
    let (least, most) = REFERENCE;
    (3 * bound.get().isqrt()).clamp(least, most).min(bound.get())
}

fn none(epsilon: f64, delta: f64) -> Error {
    Error::Calibration {
        what: format!("Gaussian noise at epsilon = {epsilon:e} and delta = {delta:e}"),
        fix: "raise epsilon or delta",
    }
}

/// The first answer for a number that is less and less close below `guess`.
fn back_off<T>(guess: f64, mut answer: impl FnMut(f64) -> Option<T>) -> Option<T> {
    (2..=11).rev().find_map(|fourth| answer(guess * (1.0 - 0.5_f64.powi(4 * fourth))))
}

/// The cap of a user of `items` items and this norm, in grid steps.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the norm")]
fn cap(items: u32, norm: u64) -> u64 {
    ((norm as f64 * per_root(EQUAL_WEIGHTS, items)) as u64).min(norm)
}

/// A budget in plain arithmetic, for proposals. Lengths are in standard deviations of the noise in a score.
#[derive(Debug, Clone, Copy)]
struct Search {
    epsilon: f64,
    delta: f64,
    /// The standard deviation of the noise in a score, times the distance that a norm of one unit makes. It is 1 where
    /// shares are proportional to what rounds cost, and larger otherwise.
    spread: f64,
    counts: OfCounts,
}

impl Search {
    /// The threshold that is lowest in units of the norm of users of `items` items. Any threshold is valid.
    fn best_threshold(self, items: u32) -> f64 {
        let of = |part: f64| {
            let all = approximate_mu(self.epsilon, self.delta * (1.0 - part), 1e-7);
            let mu = self.counts.left(all);
            let cap = mu * self.cap(items);
            let q = -libm::expm1(libm::log1p(-part * self.delta) / f64::from(items));
            let noise = dpsel_exact::noise::Noise::Gaussian { sigma: 1.0 };
            // The noise between the threshold less the cap and the threshold has the probability q.
            let above = |threshold: f64| cap + upper_quantile(noise, (q + tail(threshold)).min(0.5));
            let threshold = (0..3).fold(f64::INFINITY, |threshold, _| above(threshold));
            (threshold.max(LEAST_THRESHOLD).max(cap), mu)
        };
        let part = minimise(|part| of(part).0 / of(part).1, 0.05, 0.8, 6, 6);
        of(part).0
    }

    /// The cap of users of `items` items, in standard deviations of the noise in a score, for a mu of 1.
    fn cap(self, items: u32) -> f64 {
        per_root(EQUAL_WEIGHTS, items) / self.spread
    }

    /// The largest mu of users of `items` items at this threshold.
    fn largest_mu(self, items: u32, threshold: f64) -> f64 {
        let times = self.cap(items);
        let goal = libm::log(self.delta);
        let gap = |log_mu: f64| {
            let mu = libm::exp(log_mu);
            let q = tail(threshold - times * mu) - tail(threshold);
            let novel = -libm::expm1(f64::from(items) * libm::log1p(-q));
            libm::log(novel + delta_upper(self.epsilon, self.counts.beside(mu))) - goal
        };
        let most = libm::log(threshold / times);
        let all = approximate_mu(self.epsilon, self.delta, 1e-7);
        let mut hi = libm::log(self.counts.left(all)).min(most);
        if gap(hi) <= 0.0 {
            return libm::exp(hi);
        }
        let mut lo = hi - 0.1;
        while gap(lo) > 0.0 && lo > hi - 600.0 {
            (hi, lo) = (lo, lo - 2.0 * (hi - lo));
        }
        libm::exp(root(gap, lo, hi, 1e-12))
    }
}

fn tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Noise and threshold for a budget, which certify sizes of users.
#[derive(Debug)]
struct Checked {
    budget: Search,
    noise: RoundNoise,
    /// In grid steps.
    threshold: i64,
}

impl Checked {
    /// The noise at which a norm of one unit is moved by `mu` standard deviations, and `tau` standard deviations as
    /// threshold.
    #[expect(clippy::cast_possible_truncation, reason = "below 2^61")]
    fn new(shares: &[u32], budget: Search, tau: f64, mu: f64) -> Result<Self> {
        let noise = RoundNoise::new(shares, |share| mul_up(share, div_up(sqrt_up(shares.len() as f64), mu)))?;
        let threshold = tau * noise.total.hi();
        if threshold.is_nan() || threshold >= LARGEST {
            return Err(too_noisy());
        }
        Ok(Self { budget, noise, threshold: (threshold * UNIT as f64).ceil() as i64 })
    }

    /// The largest norm that is certified for users of `items` items.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the largest norm")]
    fn size(&self, items: u32, tau: f64) -> Result<UserSize> {
        let guess = self.budget.largest_mu(items, tau) / self.noise.unit_mu.hi() * UNIT as f64;
        let sized = |norm: f64| {
            let norm = (norm as u64).min(LARGEST_NORM);
            Some(UserSize { items, norm, cap: cap(items, norm) }).filter(|size| self.holds(*size))
        };
        back_off(guess, sized).ok_or_else(|| none(self.budget.epsilon, self.budget.delta))
    }

    /// This norm of at most one unit, and the largest certified cap for it, for fewer items than those of the reference.
    ///
    /// At large epsilon a cap of a whole norm would be dear: it would make the norm of small users less than that of
    /// large ones. The cap of the reference is certified for them too, as they have fewer items.
    fn with_norm(&self, items: u32, norm: u64) -> UserSize {
        let sized = |cap| UserSize { items, norm, cap };
        let (mut least, mut most) = (0, norm + 1);
        while most - least > 1 {
            let middle = u64::midpoint(least, most);
            if self.holds(sized(middle)) { least = middle } else { most = middle }
        }
        sized(least)
    }

    /// Whether users of this size are within the budget.
    ///
    /// # Contract
    /// `true` is certified: 1 - (1 - q)^k + dG(epsilon, mu) <= delta in real numbers, where mu is of rounds and counts, and q is the probability of an
    /// interval of real noise that contains the one of integers, whose sum is below it by at most a grid step a round.
    fn holds(&self, size: UserSize) -> bool {
        let Some(start) = self.threshold.checked_sub_unsigned(size.cap).filter(|start| *start >= 0) else {
            return false;
        };
        let end = i128::from(self.threshold) + self.noise.sigmas.len() as i128;
        let reaches = |steps: i128| {
            let weight = Interval::integer(steps) * Interval::point(1.0 / UNIT as f64);
            normal_tail(weight / self.noise.total)
        };
        let q = (reaches(start.into()) - reaches(end)).hi().min(1.0);
        let novel = -(Interval::integer(size.items.into()) * (-Interval::point(q)).ln_1p()).exp_m1();
        let norm = Interval::integer(size.norm.into()) * Interval::point(1.0 / UNIT as f64);
        let gauss = delta_upper(self.budget.epsilon, self.budget.counts.beside_up(norm * self.noise.unit_mu));
        (novel + Interval::point(gauss)).hi() <= self.budget.delta
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum over all rounds of (weights moved / noise)^2, one round after the other as the proof has it.
    #[test]
    fn equal_shares_add_up_to_the_mu_of_the_search() {
        let shares = [1 << 18; 4];
        let checked = Checked::new(
            &shares,
            Search { epsilon: 1.0, delta: 1e-5, spread: 1.0, counts: OfCounts::Mu(0.0) },
            5.0,
            0.5,
        )
        .unwrap();
        assert!((checked.noise.unit_mu.middle() - 0.5).abs() < 1e-12);
        assert!((checked.noise.total.middle() - 2.0).abs() < 1e-12);
        assert!(checked.noise.sigmas.iter().all(|sigma| (sigma - 1.0).abs() < 1e-12));
    }

    #[test]
    fn a_cap_above_the_threshold_is_never_certified() {
        let checked = Checked::new(
            &[1 << 20],
            Search { epsilon: 5.0, delta: 0.9, spread: 1.0, counts: OfCounts::Mu(0.0) },
            3.0,
            1.0,
        )
        .unwrap();
        let size = |cap| UserSize { items: 1, norm: UNIT / 64, cap };
        assert!(checked.holds(size(3 * UNIT)) && !checked.holds(size(3 * UNIT + 9)));
    }

    /// The interval of the noise ends above the threshold by a grid step for each round, and starts at T - c.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "caps are small")]
    fn the_interval_of_noise_has_the_whole_cap() {
        let checked = Checked::new(
            &[1 << 18; 4],
            Search { epsilon: 1.0, delta: 1e-5, spread: 1.0, counts: OfCounts::Mu(0.0) },
            5.0,
            0.5,
        )
        .unwrap();
        let q = |cap: f64| tail(5.0 - cap / 2.0) - tail(5.0);
        let allowed = |delta: f64, cap: f64| {
            let budget = Search { epsilon: 40.0, delta, spread: 1.0, counts: OfCounts::Mu(0.0) };
            let checked = Checked { budget, ..Checked::new(&[1 << 18; 4], budget, 5.0, 0.5).unwrap() };
            checked.holds(UserSize { items: 1, norm: 1, cap: (cap * UNIT as f64) as u64 })
        };
        for cap in [0.1, 0.5, 1.0, 3.0] {
            assert!(allowed(q(cap) * (1.0 + 1e-6), cap) && !allowed(q(cap) * (1.0 - 1e-6), cap), "{cap}");
        }
        assert!(checked.threshold >= (10 * UNIT).cast_signed());
    }
}
