//! Steered selection: noisy histograms of all items, round after round, steer the users' weights; one publication.
//!
//! Theorem: the rounds are adaptive Gaussian mechanisms on the items that somebody else holds, whatever their number
//! and whatever is done with their outcomes, and the publication fails only if the noise in the score of an item
//! of one user alone exceeds the threshold less that user's cap. So delta = `delta_T` + (1 - `delta_T`) dG(epsilon,
//! mu). Conditions: each user keeps the same at most D0 items in all rounds. Page and proof:
//! `docs/algorithms/steered.md`.

use serde::{Deserialize, Serialize};

use super::shared::requirements::{
    ADD_OR_REMOVE, no_pure_dp, value_slack, within_reserve, without_reserve, zcdp_sigma,
};
use super::{Mechanism, Properties};
use crate::accounting::gaussian::{approximate_mu, largest_mu};
use crate::accounting::{Guarantee, L0Bound, Privacy, minimise};
use crate::noise::{Noise, Threshold};
use crate::numeric::{Interval, add_up, div_up, mul_down, sqrt_down};
use crate::rounds::{Calibration, Cap, Publish, Round, Rule, SHARES, Scoring};
use crate::threshold::calibration::{approximate_threshold, gaussian_noise, smallest_threshold};
use crate::weighting::{UNIT, Weighting};
use crate::{Error, Result};

/// Scoring over several rounds that steers the users' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steered {
    /// Number of rounds: more release more and take longer.
    pub rounds: u32,
}

impl Default for Steered {
    fn default() -> Self {
        Self { rounds: 30 }
    }
}

/// The distance of the futility bound below the expected path, in standard deviations of the noise not known yet.
const FUTILITY: f64 = 3.0;
/// The power of F in the expected path T F^1.5. It is above 1 because weights grow as other items leave.
const GROWTH: f64 = 1.5;
/// The distance of the target above the threshold, in standard deviations of the remaining noise.
const MARGIN: f64 = 2.0;
/// The cap of a user of D0 items, in multiples of 1/sqrt(D0); at most one unit.
const EQUAL_WEIGHTS: f64 = 7.0;
/// Scoring and noise stay below this many units of weight, so that everything fits an `i64`.
const LARGEST: f64 = (1_u64 << 31) as f64;

impl Steered {
    /// The most rounds.
    pub const MAX_ROUNDS: u32 = 256;

    /// Equal shares that add up to exactly [`SHARES`].
    #[expect(clippy::cast_possible_truncation, reason = "at most all shares, which have 21 bits")]
    fn shares(self) -> Vec<u32> {
        let upto = |round: u32| (u64::from(SHARES) * u64::from(round) / u64::from(self.rounds)) as u32;
        (0..self.rounds).map(|round| upto(round + 1) - upto(round)).collect()
    }

    /// Rounds whose noise for a share f is `sigma`(f), and a publication that fails with probability `delta`.
    fn rounds(self, bound: L0Bound, sigma: impl Fn(f64) -> f64, delta: f64) -> Result<Calibration> {
        let shares = self.shares();
        let sigmas: Vec<f64> = shares.iter().map(|share| sigma(fraction(*share))).collect();
        let total = score_sigma(&shares, &sigmas);
        let largest = sigmas.iter().copied().fold(total, f64::max);
        if 14.0 * largest >= LARGEST {
            return Err(too_noisy());
        }
        let publish = publication(bound, total, delta)?;
        let mut spent = 0;
        let round = |(share, sigma): (&u32, &f64)| {
            spent += share;
            let last = spent == SHARES;
            let [futility_bound, expected_path, target] =
                steering(publish.threshold.value(), total, fraction(spent));
            let noise = gaussian_noise(Weighting::EqualL2, bound, *sigma)?;
            let publish = last.then(|| publish.clone());
            let rule = Rule::Scoring(Scoring {
                share: *share,
                noise,
                futility_bound,
                expected_path,
                target,
                publish,
            });
            Ok(Round { weighting: Weighting::EqualL2, rule })
        };
        Ok(Calibration { rounds: shares.iter().zip(&sigmas).map(round).collect::<Result<_>>()? })
    }

    fn approx_dp(self, bound: L0Bound, epsilon: f64, delta: f64) -> Result<Calibration> {
        let novel = mul_down(delta, best_split(bound, epsilon, delta));
        let (total, spent) = (Interval::point(delta), Interval::point(novel));
        let mu = largest_mu(epsilon, ((total - spent) / (Interval::ONE - spent)).lo())?;
        self.rounds(bound, |share| div_up(1.0, mul_down(mu, sqrt_down(share))), novel)
    }
}

/// The share as a number: exact, as [`SHARES`] is a power of two.
fn fraction(share: u32) -> f64 {
    f64::from(share) / f64::from(SHARES)
}

/// The standard deviation of the noise in a score, the root of the sum of (share sigma)^2, rounded up.
fn score_sigma(shares: &[u32], sigmas: &[f64]) -> f64 {
    let square =
        |(share, sigma): (&u32, &f64)| (Interval::point(fraction(*share)) * Interval::point(*sigma)).square();
    shares.iter().zip(sigmas).map(square).fold(Interval::ZERO, |a, b| a + b).sqrt().hi()
}

/// The threshold for the largest users' cap, and the caps that the same threshold affords smaller users.
///
/// [`smallest_threshold`] finds the threshold for k items of weight 1. Only the difference of threshold and weight
/// matters, so for a weight w below 1 the threshold is lower by 1 - w. The threshold for weight 1 is kept at 1 or more:
/// above the weight, rounding sigma up cannot lower the tail.
fn publication(bound: L0Bound, sigma: f64, delta: f64) -> Result<Publish> {
    let score_noise = Noise::Gaussian { sigma };
    let unit = UNIT.cast_signed();
    let for_units = |items: u32| {
        let bound = L0Bound::new(items.into())?;
        Ok(smallest_threshold(score_noise, Weighting::Count, bound, delta)?.steps().max(unit))
    };
    let threshold = for_units(bound.get())? - unit + least_cap(bound);
    let cap = |items: u32| {
        let weight = (threshold - for_units(items)? + unit).clamp(0, unit);
        Ok(Cap { items, weight: weight.unsigned_abs() })
    };
    let caps = sizes(bound).into_iter().map(cap).collect::<Result<_>>()?;
    Ok(Publish { threshold: Threshold::from_steps(threshold), score_noise, caps })
}

/// The cap of users with all the items they may have, in integer units.
#[expect(clippy::cast_possible_truncation, reason = "at most one unit")]
fn least_cap(bound: L0Bound) -> i64 {
    let cap = (EQUAL_WEIGHTS / f64::from(bound.get()).sqrt()).min(1.0);
    (cap * UNIT as f64) as i64
}

/// 1, 2, 3, 4, 6, 8, 12, 16, ... and the bound.
fn sizes(bound: L0Bound) -> Vec<u32> {
    let powers = (0..u32::BITS - 2).map(|bits| 1_u32 << bits);
    let halves = powers.flat_map(|power| [power, power + power / 2]).filter(|size| *size != 1);
    let mut sizes: Vec<u32> = [1].into_iter().chain(halves).take_while(|size| *size < bound.get()).collect();
    sizes.push(bound.get());
    sizes
}

/// The futility bound, the expected path and the target after a part of the budget.
///
/// The guarantee holds for any such values. They only affect which items are released.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn steering(threshold: f64, sigma: f64, spent: f64) -> [i64; 3] {
    let units = |weight: f64| (weight * UNIT as f64).round() as i64;
    let left = 1.0 - spent;
    let expected_path = threshold * libm::pow(spent, GROWTH);
    let futility_bound = expected_path - FUTILITY * sigma * (spent * left).sqrt();
    [futility_bound, expected_path, threshold + MARGIN * sigma * left.sqrt()].map(units)
}

/// The fraction of delta for the publication that makes the threshold lowest. Any fraction gives a valid calibration.
fn best_split(bound: L0Bound, epsilon: f64, delta: f64) -> f64 {
    let threshold = |share: f64| {
        let noise = Noise::Gaussian { sigma: 1.0 / approximate_mu(epsilon, delta * (1.0 - share), 1e-7) };
        approximate_threshold(noise, Weighting::Count, bound, delta * share)
    };
    minimise(threshold, 0.05, 0.8, 6, 6)
}

fn too_noisy() -> Error {
    Error::Calibration {
        what: "noise below 2^27 units of weight".into(),
        fix: "raise epsilon, rho or delta, or lower rounds",
    }
}

/// The total variation that the finite precision of the noise costs, over all rounds.
fn total_slack(calibration: &Calibration, bound: L0Bound) -> f64 {
    let slack = |round: &Round| match &round.rule {
        Rule::Scoring(Scoring { noise: Noise::Gaussian { sigma }, .. }) => value_slack(*sigma, bound),
        // Steered has no such round. The infinite cost refuses a release with one.
        Rule::Scoring(Scoring { noise: Noise::Laplace { .. }, .. })
        | Rule::Noisy(_)
        | Rule::Curve(_)
        | Rule::Screening(_)
        | Rule::Ranking(_) => f64::INFINITY,
    };
    calibration.rounds.iter().map(slack).fold(0.0, add_up)
}

impl Mechanism for Steered {
    fn validate(&self) -> Result<()> {
        if (1..=Self::MAX_ROUNDS).contains(&self.rounds) {
            return Ok(());
        }
        let fix = "30 rounds do well; more take longer and release little more";
        Err(Error::parameter("rounds", "between 1 and 256", self.rounds, fix))
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let (calibration, factor, delta) = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("Steered")),
            Privacy::ApproxDp { epsilon, delta } => {
                let factor = add_up(1.0, Interval::point(epsilon).exp().hi());
                (self.approx_dp(bound, epsilon, without_reserve(delta))?, factor, delta)
            }
            Privacy::Zcdp { rho, delta } => {
                let sigma = |share: f64| zcdp_sigma(mul_down(rho, share));
                (self.rounds(bound, sigma, without_reserve(delta))?, 1.0, delta)
            }
        };
        within_reserve(total_slack(&calibration, bound), factor, delta)?;
        Ok(calibration)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact composition of Gaussian rounds plus the probability that the \
                        noise in the score of an item of one user alone reaches the threshold, or \
                        delta-approximate rho-zCDP; users may spread their weight by what earlier rounds showed",
            neighbours: ADD_OR_REMOVE,
            source: "this library; composition by Dong, Roth and Su 2022, Gaussian noise by Balle and Wang 2018",
            proof: "docs/algorithms/steered.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties { noisy_weights: true, item_order: None, flaw: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::gaussian::{composed_mu, delta_upper};
    use crate::threshold::calibration::noise_tail;

    fn scoring(calibration: &Calibration) -> (Vec<&Scoring>, &Publish) {
        calibration.scoring().unwrap()
    }

    fn sigmas(calibration: &Calibration) -> Vec<f64> {
        let sigma = |noise| if let Noise::Gaussian { sigma } = noise { sigma } else { f64::NAN };
        scoring(calibration).0.iter().map(|round| sigma(round.noise)).collect()
    }

    /// The probability that a user of `items` items, each at its cap, has one released.
    fn novel(publish: &Publish, items: u32) -> f64 {
        let weight = publish.caps.iter().find(|cap| cap.items >= items).unwrap().weight;
        let q =
            noise_tail(publish.score_noise, i128::from(publish.threshold.steps()) - i128::from(weight)).hi();
        -libm::expm1(f64::from(items) * libm::log1p(-q))
    }

    #[test]
    fn delta_pays_for_noise_and_publication() {
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (1.765, 4.96e-5), (8.0, 1e-6), (0.5, 0.5)] {
            for bound in [1, 2, 10, 300, 50_000] {
                for rounds in [1, 3, 30, 256] {
                    let privacy = Privacy::ApproxDp { epsilon, delta };
                    let bound = L0Bound::new(bound).unwrap();
                    let calibration = Steered { rounds }.calibrate(privacy, bound).unwrap();
                    let (found, publish) = scoring(&calibration);
                    assert_eq!(found.iter().map(|round| round.share).sum::<u32>(), SHARES);
                    let gauss = delta_upper(epsilon, composed_mu(sigmas(&calibration)));
                    for Cap { items, .. } in &publish.caps {
                        let novel = novel(publish, *items);
                        assert!(
                            novel + (1.0 - novel) * gauss <= delta * (1.0 + 1e-9),
                            "{novel} {gauss} {delta}"
                        );
                    }
                    assert!(publish.caps.is_sorted_by_key(|cap| (cap.items, u64::MAX - cap.weight)));
                }
            }
        }
    }

    #[test]
    fn noise_that_is_looked_at_too_often_is_refused() {
        let bound = L0Bound::new(1_000_000).unwrap();
        for privacy in
            [Privacy::ApproxDp { epsilon: 0.1, delta: 1e-3 }, Privacy::Zcdp { rho: 1e-3, delta: 1e-3 }]
        {
            let refused = Steered { rounds: 256 }.calibrate(privacy, bound);
            assert!(matches!(refused, Err(Error::Calibration { .. })), "law 4 allows 1e-18");
        }
    }

    #[test]
    fn zcdp_rounds_cost_rho_and_caps_are_generous_to_small_users() {
        let bound = L0Bound::new(300).unwrap();
        let calibration =
            Steered { rounds: 20 }.calibrate(Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, bound).unwrap();
        assert!(composed_mu(sigmas(&calibration)) <= 0.2_f64.sqrt() * (1.0 + 1e-14));
        let publish = scoring(&calibration).1;
        assert!((publish.threshold.value() - 12.479).abs() < 1e-2, "{}", publish.threshold.value());
        assert_eq!(publish.cap(1), UNIT);
        assert!((publish.cap(300) as f64 / UNIT as f64 - 0.4041).abs() < 1e-3);
    }

    #[test]
    fn steering_ends_at_the_threshold() {
        assert_eq!(steering(12.0, 2.0, 1.0), [12 << 30; 3]);
        let [futility_bound, expected_path, target] = steering(12.0, 2.0, 0.25);
        assert!(futility_bound < 0 && expected_path == 3 << 29 && target > 15 << 30);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-30 };
        for rounds in [0, 257] {
            assert!(matches!(Steered { rounds }.validate(), Err(Error::InvalidParameter { .. })));
        }
        let bound = L0Bound::new(100).unwrap();
        assert!(matches!(Steered::default().calibrate(privacy, bound), Err(Error::Calibration { .. })));
        let weak = Privacy::Zcdp { rho: 1e-30, delta: 0.1 };
        assert!(matches!(Steered::default().calibrate(weak, bound), Err(Error::Calibration { .. })));
        let pure = Privacy::PureDp { epsilon: 1.0 };
        assert!(matches!(Steered::default().calibrate(pure, bound), Err(Error::Incompatible { .. })));
    }
}
