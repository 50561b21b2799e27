//! Releases as a Gaussian mechanism and a probability of anything: the form in which other accountants compose them.
//!
//! Theorem and proof: `docs/algorithms/accounting.md`, section 10.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::{Interval, add_up, mul_up, normal_tail};

use crate::rounds::{Calibration, NoiseCheck, Publish, Round, Scoring, UserSize};
use crate::threshold::calibration::{noise_tail, novel_items_within};
use dpsel_exact::numeric::UNIT;

use crate::weighting::{SHARES, Weighting};

/// A release that is a Gaussian mechanism but for a probability of `delta`: in each direction, with a noise check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianPart {
    /// An upper bound of the distance of the means of neighbours, in standard deviations.
    pub mu: f64,
    /// An upper bound of the probability that an item of one user is decided by noise alone.
    pub delta: f64,
}

/// The distances above the larger end at which the maximum over all users is searched.
const MARGINS: [f64; 7] = [1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.1, 1.0];

impl Calibration {
    /// The release as a Gaussian mechanism and a rest, if all its rounds have Gaussian noise and a proof of that form.
    ///
    /// # Contract
    /// For users of at most `bound` items the theorem of section 10 holds with these numbers.
    #[must_use]
    pub fn gaussian_part(&self, bound: L0Bound) -> Option<GaussianPart> {
        let mut part = self.part_of_rounds(bound)?;
        let numbers = self.numbers();
        if numbers.paid().is_some() {
            // Numbers are one more Gaussian mechanism, on what was released.
            part.mu = root_of_squares(std::iter::once(part.mu).chain(numbers.mus()));
        }
        Some(part).filter(is_usable)
    }

    fn part_of_rounds(&self, bound: L0Bound) -> Option<GaussianPart> {
        if let Some((rounds, publish)) = self.scoring() {
            return of_scores(&rounds, publish);
        }
        let parts = self.rounds.iter().map(|round| of_round(round, bound)).collect::<Option<Vec<_>>>()?;
        let mu = root_of_squares(parts.iter().map(|part| part.mu));
        let missed =
            |left: Interval, part: &GaussianPart| left * (Interval::ONE - Interval::point(part.delta));
        let delta = (Interval::ONE - parts.iter().fold(Interval::ONE, missed)).hi();
        (!parts.is_empty()).then_some(GaussianPart { mu, delta }).filter(is_usable)
    }
}

fn is_usable(part: &GaussianPart) -> bool {
    part.mu.is_finite() && part.mu > 0.0 && part.delta > 0.0 && part.delta < 1.0
}

fn root_of_squares(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| Interval::point(value).square()).fold(Interval::ZERO, |a, b| a + b).sqrt().hi()
}

fn of_round(round: &Round, bound: L0Bound) -> Option<GaussianPart> {
    let rule = round.rule.noisy()?;
    let Noise::Gaussian { sigma } = rule.noise else { return None };
    let norm = round.weighting.l2_norm()?.at_most(bound);
    let mu = (Interval::point(norm) / Interval::point(sigma)).hi();
    let delta = least_delta(rule.noise, round.weighting, bound, rule.threshold)?;
    Some(GaussianPart { mu, delta })
}

/// A delta, close above the smallest, that [`novel_items_within`] certifies.
fn least_delta(noise: Noise, weighting: Weighting, bound: L0Bound, threshold: Threshold) -> Option<f64> {
    let ends = [1, bound.get()].map(|items| missed(noise, threshold, weighting.weight(items), items));
    let least = ends[0].max(ends[1]);
    MARGINS
        .map(|margin| mul_up(least, add_up(1.0, margin)))
        .into_iter()
        .find(|delta| *delta < 1.0 && novel_items_within(noise, weighting, bound, threshold, *delta))
}

/// An upper bound of the probability that one of `items` items of weight `weight`, held by nobody else, is released.
fn missed(noise: Noise, threshold: Threshold, weight: u64, items: u32) -> f64 {
    any_of(items, noise_tail(noise, i128::from(threshold.steps()) - i128::from(weight)))
}

/// An upper bound of the probability that one of `items` independent events of this probability happens.
fn any_of(items: u32, each: Interval) -> f64 {
    let q = each.hi().min(1.0);
    (-(Interval::integer(items.into()) * (-Interval::point(q)).ln_1p()).exp_m1()).hi()
}

/// The distance of scored rounds, and the probability that an item of one user is decided by noise.
fn of_scores(rounds: &[&Scoring], publish: &Publish) -> Option<GaussianPart> {
    let norm = publish.sizes.iter().map(|size| size.norm).max()?;
    let norm = Interval::integer(norm.into()) * Interval::point(1.0 / UNIT as f64);
    let sigmas = rounds.iter().map(|round| sigma_of(round.noise)).collect::<Option<Vec<_>>>()?;
    let distance = |(round, sigma): (&&Scoring, &f64)| {
        let share = Interval::point(f64::from(round.share) / f64::from(SHARES));
        (norm * share / Interval::point(*sigma)).hi()
    };
    let mu = root_of_squares(rounds.iter().zip(&sigmas).map(distance));
    // A cap is for users of at most `size.items` items. A user of just that number has the largest probability.
    let likely = |size: &UserSize| match publish.noise_check {
        NoiseCheck::Absent => missed(publish.score_noise, publish.threshold, size.cap, size.items),
        NoiseCheck::BelowThreshold => decided_by_noise(&sigmas, publish, size),
    };
    let delta = publish.sizes.iter().map(likely).fold(0.0, f64::max);
    Some(GaussianPart { mu, delta }).filter(is_usable)
}

fn sigma_of(noise: Noise) -> Option<f64> {
    match noise {
        Noise::Gaussian { sigma } => Some(sigma),
        Noise::Laplace { .. } => None,
    }
}

/// An upper bound of the probability that the noise of one of a user's items lies between the threshold less the cap and
/// the threshold, and a grid step a round, by which integer noise is below real noise at most.
fn decided_by_noise(sigmas: &[f64], publish: &Publish, size: &UserSize) -> f64 {
    let squares = sigmas.iter().map(|sigma| Interval::point(*sigma).square());
    let score = squares.fold(Interval::ZERO, |a, b| a + b).sqrt();
    let threshold = i128::from(publish.threshold.steps());
    let reaches = |steps| normal_tail(Interval::integer(steps) * Interval::point(1.0 / UNIT as f64) / score);
    let end = threshold + sigmas.len() as i128;
    any_of(size.items, reaches(threshold - i128::from(size.cap)) - reaches(end))
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::Privacy;
    use dpsel_exact::accounting::gaussian::delta_upper;

    use super::*;
    use crate::mechanisms::{
        CountGaussian, CountLaplace, Mad, Mechanism, PolicyGaussian, ReleaseStep, Sips, Steered,
    };

    fn bound(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    fn part(mechanism: &dyn Mechanism, privacy: Privacy, items: u64) -> Option<GaussianPart> {
        mechanism.calibrate(privacy, bound(items)).unwrap().gaussian_part(bound(items))
    }

    #[test]
    fn under_zcdp_the_parts_are_those_of_the_request() {
        let (rho, delta) = (0.1, 1e-5);
        let mechanisms: [&dyn Mechanism; 5] = [
            &crate::mechanisms::WeightedGaussian::default(),
            &CountGaussian {},
            &PolicyGaussian { alpha: 3.0, passes: 1, release: ReleaseStep::Noise },
            &Sips::default(),
            &Steered::default(),
        ];
        for mechanism in mechanisms {
            for items in [1, 7, 300] {
                let part = part(mechanism, Privacy::Zcdp { rho, delta }, items).unwrap();
                assert!((part.mu * part.mu / 2.0 - rho).abs() < 1e-9, "{part:?}");
                assert!(part.delta <= delta * (1.0 + 1e-6) && part.delta > 0.9 * delta, "{part:?}");
            }
        }
    }

    #[test]
    fn under_approximate_privacy_both_parts_are_within_it() {
        let (epsilon, delta) = (1.0, 1e-5);
        for items in [1, 20, 300] {
            let part = part(&Sips::default(), Privacy::ApproxDp { epsilon, delta }, items).unwrap();
            let total = part.delta + (1.0 - part.delta) * delta_upper(epsilon, part.mu);
            assert!(total <= delta * (1.0 + 1e-6) && total > 0.99 * delta, "{part:?} {total}");
        }
        // One round is calibrated more closely than its two parts add up, to at most twice delta.
        let part = part(&CountGaussian {}, Privacy::ApproxDp { epsilon, delta }, 20).unwrap();
        let total = part.delta + (1.0 - part.delta) * delta_upper(epsilon, part.mu);
        assert!(total > delta && total <= 2.0 * delta, "{part:?} {total}");
    }

    /// What decides by noise is less than delta. For the reference user both parts together are delta.
    #[test]
    fn a_noise_check_leaves_a_gaussian_part() {
        for (epsilon, delta) in [(0.5, 1e-5), (1.0, 1e-9), (6.0, 1e-6)] {
            for items in [1, 30, 900, 100_000] {
                let privacy = Privacy::ApproxDp { epsilon, delta };
                let part = part(&Steered::default(), privacy, items).unwrap();
                let total = part.delta + delta_upper(epsilon, part.mu);
                assert!(part.delta < delta, "{items}: {part:?}");
                assert!(total > 0.99 * delta && total < 2.0 * delta, "{items}: {part:?} {total}");
            }
        }
    }

    /// Of a user of any number of items: the probability that the noise of at least one decides.
    #[test]
    fn all_items_of_a_user_may_be_decided_by_noise() {
        for items in [1, 30, 900] {
            let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 };
            let calibration = Steered::default().calibrate(privacy, bound(items)).unwrap();
            let (rounds, publish) = calibration.scoring().unwrap();
            let sigmas = rounds.iter().map(|round| sigma_of(round.noise).unwrap());
            let spread = sigmas.map(|sigma| sigma * sigma).sum::<f64>().sqrt() * UNIT as f64;
            let tail = |steps: i64| normal_tail(Interval::point(steps as f64 / spread)).hi();
            let threshold = publish.threshold.steps();
            let of_user = |size: &UserSize| {
                let decided = tail(threshold - i64::try_from(size.cap).unwrap()) - tail(threshold);
                1.0 - (1.0 - decided).powi(size.items.cast_signed())
            };
            let expected = publish.sizes.iter().map(of_user).fold(0.0, f64::max);
            let found = calibration.gaussian_part(bound(items)).unwrap().delta;
            assert!((found / expected - 1.0).abs() < 1e-5, "{items}: {found} {expected}");
        }
    }

    #[test]
    fn what_is_not_gaussian_has_no_such_part() {
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-5 };
        assert_eq!(part(&CountLaplace {}, privacy, 5), None);
        assert_eq!(part(&Mad { alpha: 3.0 }, privacy, 5), None);
        let curve = Sips { release: ReleaseStep::Curve, ..Sips::default() };
        assert_eq!(part(&curve, privacy, 5), None);
    }
}
