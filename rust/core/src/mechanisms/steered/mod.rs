//! Steered selection: noisy histograms of all items, round after round, steer the users' weights; one publication.
//!
//! Theorem: the rounds are adaptive Gaussian mechanisms, whatever their number and whatever is done with their outcomes.
//! One user moves them by its norm. Besides, the release depends on the user only where the noise of one of its items
//! lies between the threshold and the threshold less the user's cap. Under approximate DP each size of user has a norm
//! and a cap whose two parts add up to delta. Conditions: each user keeps the same at most D0 items in all rounds, and
//! gives each at most its cap over all of them. D0 is the reach times `max_items_per_user`. Page and proof:
//! `docs/algorithms/steered.md`.

mod checked;
mod counted;
mod noise;
mod sizes;
mod steering;
mod unchecked;

use serde::{Deserialize, Serialize};

use self::checked::Asked;
use self::noise::{RoundNoise, fraction};
use self::steering::{Steering, steering};
use super::beside::{apart, delta_factor};
use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, value_slack, with_reserve, zcdp_sigma};
use super::{Mechanism, NoisyWeights, Properties};
use crate::accounting::{Guarantee, L0Bound, Privacy};
use crate::counting::{CountNoise, CountedUsers, Paid};
use crate::noise::Noise;
use crate::numeric::{Interval, add_up, div_down, mul_up};
use crate::rounds::{Calibration, Publish, Round, Rule, Scoring, UserSize};
use crate::threshold::calibration::gaussian_noise;
use crate::weighting::{SHARES, Weighting};
use crate::{Error, Result};

/// Scoring over several rounds that steers the users' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steered {
    /// Number of rounds: more release more and take longer.
    pub rounds: u32,
    /// A user keeps so many times `max_items_per_user` items. Left out of requests and reports if it is 1.
    #[serde(default = "usual_reach", skip_serializing_if = "is_usual_reach")]
    pub reach: u32,
}

impl Default for Steered {
    fn default() -> Self {
        Self { rounds: 30, reach: usual_reach() }
    }
}

fn usual_reach() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_usual_reach(reach: &u32) -> bool {
    *reach == usual_reach()
}

/// The power of the part of the rounds so far by which the shares of rounds grow.
const SHARE_GROWTH: f64 = 0.1;

impl Steered {
    /// The most rounds.
    pub const MAX_ROUNDS: u32 = 256;
    /// The largest reach.
    pub const MAX_REACH: u32 = 64;

    /// Shares of the rounds in a score. They grow slowly, and add up to exactly [`SHARES`].
    ///
    /// All rounds cost the same. Later weights say more about an item, because other items have left by then.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to all shares")]
    fn shares(self) -> Vec<u32> {
        let upto = |round: u32| {
            let part = libm::pow(f64::from(round) / f64::from(self.rounds), 1.0 + SHARE_GROWTH);
            (part * f64::from(SHARES)).round() as u32
        };
        (0..self.rounds).map(|round| upto(round + 1) - upto(round)).collect()
    }

    /// The rounds, and the distance of means that is left to counts.
    fn approx_dp(self, bound: L0Bound, asked: Asked) -> Result<(Calibration, f64)> {
        let shares = self.shares();
        let (noise, publish, counts) = checked::publication(&shares, bound, asked)?;
        Ok((rounds(bound, &shares, &noise, &publish)?, counts))
    }

    /// A round of the share f has the norm f and costs rho / R, so its noise is f / sqrt(2 rho / R).
    fn zcdp(self, bound: L0Bound, rho: f64, delta: f64) -> Result<Calibration> {
        let shares = self.shares();
        let each = zcdp_sigma(div_down(rho, f64::from(self.rounds)));
        let noise = RoundNoise::new(&shares, |share| mul_up(share, each))?;
        let publish = unchecked::publication(bound, &noise, delta)?;
        rounds(bound, &shares, &noise, &publish)
    }
}

/// The rounds of a publication.
fn rounds(bound: L0Bound, shares: &[u32], noise: &RoundNoise, publish: &Publish) -> Result<Calibration> {
    if !publish.sizes.iter().all(|size| gives_weight_first(size, shares)) {
        return Err(Error::Calibration {
            what: "a weight of one grid step at least for each item in the first round".into(),
            fix: "raise epsilon, rho or delta, or lower rounds or max_items_per_user",
        });
    }
    let mut spent = 0;
    let round = |(share, sigma): (&u32, &f64)| {
        spent += share;
        let Steering { futility_bound, expected_path, target, settled_bound } =
            steering(publish.threshold.value(), noise.total.hi(), fraction(spent));
        let noise = gaussian_noise(Weighting::EqualL2, bound, *sigma)?;
        let publish = (spent == SHARES).then(|| publish.clone());
        let share = *share;
        let scoring = Scoring { share, noise, futility_bound, expected_path, target, settled_bound, publish };
        Ok(Round { weighting: Weighting::EqualL2, rule: Rule::Scoring(scoring) })
    };
    Ok(Calibration::of(shares.iter().zip(&noise.sigmas).map(round).collect::<Result<_>>()?))
}

/// Whether users of this size give each of their items a weight in the first round, or nothing in any round.
///
/// Who holds an item is known from the weights of the first round: the proof needs that.
fn gives_weight_first(size: &UserSize, shares: &[u32]) -> bool {
    let norm = |share: &u32| (u128::from(size.norm) * u128::from(*share)) >> SHARES.ilog2();
    // With equal importances a weight is at least the norm of the round over sqrt(k), less one, and rounded down.
    let first = shares.first().map_or(0, norm);
    size.cap == 0 || first * first >= 4 * u128::from(size.items)
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
        if !(1..=Self::MAX_ROUNDS).contains(&self.rounds) {
            let fix = "30 rounds do well; more take longer and release little more";
            return Err(Error::parameter("rounds", "between 1 and 256", self.rounds, fix));
        }
        if !(1..=Self::MAX_REACH).contains(&self.reach) {
            let fix =
                "users keep reach x max_items_per_user items; 3 is what Sips touches in its three rounds";
            return Err(Error::parameter("reach", "between 1 and 64", self.reach, fix));
        }
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        let with_slack = |calibration: Calibration| {
            let slack = total_slack(&calibration, bound);
            (calibration, slack)
        };
        match privacy.validate()? {
            Privacy::PureDp { .. } => Err(no_pure_dp("Steered")),
            Privacy::ApproxDp { epsilon, delta } => {
                let factor = add_up(1.0, Interval::point(epsilon).exp().hi());
                with_reserve(delta, factor, |delta| {
                    let (calibration, _) = self.approx_dp(bound, Asked { epsilon, delta, share: 0.0 })?;
                    Ok(with_slack(calibration))
                })
            }
            Privacy::Zcdp { rho, delta } => {
                with_reserve(delta, 1.0, |left| self.zcdp(bound, rho, left).map(with_slack))
            }
        }
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        counts: &CountedUsers,
    ) -> Result<Calibration> {
        self.validate()?;
        counts.validate()?;
        let Privacy::ApproxDp { epsilon, delta } = privacy.validate()? else {
            return apart(privacy, bound, counts, |left| self.calibrate(left, bound));
        };
        with_reserve(delta, delta_factor(epsilon), |delta| {
            let (rounds, mu) = self.approx_dp(bound, Asked { epsilon, delta, share: counts.share })?;
            let noise = CountNoise::new(mu, counts, Paid::Together)?;
            let slack = add_up(total_slack(&rounds, bound), noise.slack());
            Ok((rounds.with_counts(noise), slack))
        })
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact composition of Gaussian rounds plus the probability that the \
                        noise of one of a user's items lies within the user's cap below the threshold, for users of \
                        every size, or delta-approximate rho-zCDP; users may spread their weight by what earlier \
                        rounds showed",
            neighbours: ADD_OR_REMOVE,
            source: "this library; composition by Dong, Roth and Su 2022, Gaussian noise by Balle and Wang 2018",
            proof: "docs/algorithms/steered.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: NoisyWeights::Score,
            item_order: None,
            reach: self.reach,
            looks: false,
            flaw: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::gaussian::{composed_mu, delta_upper};
    use crate::numeric::UNIT;
    use crate::rounds::NoiseCheck;
    use crate::threshold::calibration::noise_tail;
    use crate::weighting::{Budget, Budgets};

    fn scoring(calibration: &Calibration) -> (Vec<&Scoring>, &Publish) {
        calibration.scoring().unwrap()
    }

    /// For each round its noise in units of a norm of one, its share being the norm.
    fn sigmas(calibration: &Calibration) -> Vec<f64> {
        let sigma = |round: &&Scoring| match round.noise {
            Noise::Gaussian { sigma } => sigma / fraction(round.share),
            Noise::Laplace { .. } => f64::NAN,
        };
        scoring(calibration).0.iter().map(sigma).collect()
    }

    /// The probability that the noise of one of `items` items lies between `from` and `to`, in grid steps.
    fn novel(publish: &Publish, items: u32, from: i128, to: Option<i128>) -> f64 {
        let tail = |steps| noise_tail(publish.score_noise, steps).hi();
        let q = tail(from) - to.map_or(0.0, tail);
        -libm::expm1(f64::from(items) * libm::log1p(-q))
    }

    #[test]
    fn delta_pays_for_noise_and_publication_of_users_of_every_size() {
        for (epsilon, delta) in
            [(0.1, 1e-6), (1.0, 1e-5), (1.765, 4.96e-5), (8.0, 1e-6), (0.5, 0.5), (20.0, 0.1)]
        {
            for bound in [1, 2, 10, 300, 3000, 1_000_000] {
                for rounds in [1, 3, 30, 256] {
                    let privacy = Privacy::ApproxDp { epsilon, delta };
                    let bound = L0Bound::new(bound).unwrap();
                    let calibration =
                        Steered { rounds, ..Steered::default() }.calibrate(privacy, bound).unwrap();
                    let (found, publish) = scoring(&calibration);
                    assert_eq!(found.iter().map(|round| round.share).sum::<u32>(), SHARES);
                    assert_eq!(publish.noise_check, NoiseCheck::BelowThreshold);
                    let mu = composed_mu(sigmas(&calibration));
                    // The rest is reserved for the finite precision of the noise: 2^-20 of delta, or what it costs.
                    let cost = (1.0 + libm::exp(epsilon)) * total_slack(&calibration, bound);
                    let left = (delta - cost).min(delta * (1.0 - 0.5_f64.powi(20)));
                    let threshold = i128::from(publish.threshold.steps());
                    for size in &publish.sizes {
                        let norm = size.norm as f64 / UNIT as f64;
                        let end = threshold + i128::from(rounds);
                        let novel = novel(publish, size.items, threshold - i128::from(size.cap), Some(end));
                        let total = novel + delta_upper(epsilon, norm * mu);
                        assert!(total <= left * (1.0 + 1e-12), "{size:?} {total} {delta}");
                        let is_largest = size.norm == crate::weighting::LARGEST_NORM;
                        let is_at_threshold = i128::from(size.cap) + 1 >= threshold;
                        assert!(
                            total > delta * 0.99 || is_largest || is_at_threshold,
                            "{size:?} {total} {delta}"
                        );
                        assert!(i128::from(size.cap) <= threshold && size.cap <= size.norm);
                    }
                    assert!(publish.sizes.is_sorted_by_key(|size| size.items));
                    let reference = bound.get().min(300);
                    let norm =
                        publish.sizes.iter().find(|size| size.items == reference).map(|size| size.norm);
                    assert_eq!(norm, Some(UNIT));
                }
            }
        }
    }

    /// A user of any size moves the counts by the same distance, beside the one of its norm.
    #[test]
    fn delta_pays_for_counts_as_well() {
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (1.765, 4.96e-5), (8.0, 1e-6)] {
            for (bound, share) in [(1, 0.2), (10, 0.01), (300, 0.2), (300, 0.9), (100_000, 0.4)] {
                let privacy = Privacy::ApproxDp { epsilon, delta };
                let counts = CountedUsers {
                    share,
                    max_counted_items: L0Bound::new(77).unwrap(),
                    nonnegative: false,
                    max_rows_per_item: None,
                };
                let kept = L0Bound::new(bound).unwrap();
                let calibration = Steered::default().calibrate_beside(privacy, kept, &counts).unwrap();
                let (_, publish) = scoring(&calibration);
                let (mu, moved) = (composed_mu(sigmas(&calibration)), calibration.counts.unwrap().mu());
                // Of the reference user, whose norm is one unit.
                assert!((moved * moved / (moved * moved + mu * mu) - share).abs() < 1e-9);
                let threshold = i128::from(publish.threshold.steps());
                for size in &publish.sizes {
                    let norm = size.norm as f64 / UNIT as f64;
                    let novel =
                        novel(publish, size.items, threshold - i128::from(size.cap), Some(threshold + 30));
                    let both = (norm * mu * norm * mu + moved * moved).sqrt();
                    let total = novel + delta_upper(epsilon, both);
                    assert!(total <= delta && total > 0.5 * delta, "{size:?} {total} {delta}");
                }
            }
        }
    }

    #[test]
    fn what_an_item_needs_is_as_computed_for_the_papers_budget() {
        let privacy = Privacy::ApproxDp { epsilon: 1.765, delta: 4.96e-5 };
        let calibration = Steered::default().calibrate(privacy, L0Bound::new(3000).unwrap()).unwrap();
        let publish = scoring(&calibration).1;
        assert!((publish.threshold.value() - 11.18).abs() < 0.02, "{}", publish.threshold.value());
        let needed = |items: u32| {
            let size = publish.sizes.iter().find(|size| size.items >= items).unwrap();
            publish.threshold.steps() as f64 / size.norm as f64
        };
        for (items, units) in [(1, 10.88), (1024, 11.34)] {
            assert!((needed(items) - units).abs() < 0.05, "{items}: {}", needed(items));
        }
    }

    #[test]
    fn users_give_every_item_a_weight_in_the_first_round() {
        let shares = [1 << 12; 256];
        let size = |items, norm, cap| UserSize { items, norm, cap };
        assert!(gives_weight_first(&size(1 << 20, 1 << 19, 1), &shares));
        assert!(!gives_weight_first(&size(1 << 20, (1 << 19) - 256, 1), &shares));
        assert!(gives_weight_first(&size(1 << 20, 0, 0), &shares), "nothing in any round");
        let first = Budgets::new(vec![(1 << 20, Budget::new(1 << 19, 1))]).in_round(shares[0])[0];
        assert!(first.spread((1 << 20) * 256 * 256).uncapped(256) >= 1);
    }

    #[test]
    fn noise_that_is_looked_at_too_often_is_refused() {
        let bound = L0Bound::new(1_000_000).unwrap();
        for privacy in
            [Privacy::ApproxDp { epsilon: 1e-3, delta: 1e-10 }, Privacy::Zcdp { rho: 1e-9, delta: 1e-3 }]
        {
            let refused = Steered { rounds: 256, ..Steered::default() }.calibrate(privacy, bound);
            assert!(matches!(refused, Err(Error::Calibration { .. })), "law 4 allows 1e-18");
        }
    }

    /// At large epsilon finite precision costs e^epsilon times as much. A larger reserve pays for it where it can.
    #[test]
    fn the_reserve_grows_with_epsilon_up_to_a_part_of_delta() {
        let cost = |(epsilon, delta, items): (f64, f64, u64)| {
            let (privacy, bound) = (Privacy::ApproxDp { epsilon, delta }, L0Bound::new(items).unwrap());
            let calibration = Steered::default().calibrate(privacy, bound)?;
            Ok((1.0 + libm::exp(epsilon)) * total_slack(&calibration, bound) / delta)
        };
        for request in [(25.0, 1e-9, 1000), (12.0, 1e-15, 300), (0.01, 1e-15, 3000), (50.0, 0.9, 300)] {
            let cost = cost(request).unwrap();
            assert!(cost > 0.5_f64.powi(20) && cost <= 0.5_f64.powi(10), "{request:?}: {cost}");
        }
        for request in [(50.0, 1e-5, 1), (40.0, 1e-9, 300)] {
            assert!(matches!(cost(request), Err::<f64, _>(Error::Calibration { .. })), "{request:?}");
        }
    }

    #[test]
    fn zcdp_rounds_cost_rho_and_caps_are_generous_to_small_users() {
        let bound = L0Bound::new(300).unwrap();
        let steered = Steered { rounds: 20, ..Steered::default() };
        let calibration = steered.calibrate(Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, bound).unwrap();
        assert!(composed_mu(sigmas(&calibration)) <= 0.2_f64.sqrt() * (1.0 + 1e-14));
        let publish = scoring(&calibration).1;
        assert_eq!(
            publish.noise_check,
            NoiseCheck::Absent,
            "a condition on the noise has no proof under zCDP"
        );
        assert!((publish.threshold.value() - 12.527).abs() < 1e-2, "{}", publish.threshold.value());
        assert!(publish.sizes.iter().all(|size| size.norm == UNIT));
        assert_eq!(publish.sizes[0].cap, UNIT);
        assert!((publish.sizes.last().unwrap().cap as f64 / UNIT as f64 - 0.4041).abs() < 1e-3);
        let threshold = i128::from(publish.threshold.steps());
        for size in &publish.sizes {
            assert!(novel(publish, size.items, threshold - i128::from(size.cap), None) <= 1e-5);
        }
    }

    #[test]
    fn a_reach_of_one_is_no_part_of_a_report() {
        let json = |steered: &Steered| serde_json::to_string(steered).unwrap();
        assert_eq!(json(&Steered::default()), r#"{"rounds":30}"#);
        let wide = Steered { reach: 3, ..Steered::default() };
        assert_eq!(json(&wide), r#"{"rounds":30,"reach":3}"#);
        for steered in [Steered::default(), wide] {
            assert_eq!(serde_json::from_str::<Steered>(&json(&steered)).unwrap(), steered);
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-30 };
        for (rounds, reach) in [(0, 1), (257, 1), (30, 0), (30, 65)] {
            assert!(matches!(Steered { rounds, reach }.validate(), Err(Error::InvalidParameter { .. })));
        }
        let bound = L0Bound::new(100).unwrap();
        assert!(matches!(Steered::default().calibrate(privacy, bound), Err(Error::Calibration { .. })));
        let weak = Privacy::Zcdp { rho: 1e-30, delta: 0.1 };
        assert!(matches!(Steered::default().calibrate(weak, bound), Err(Error::Calibration { .. })));
        let pure = Privacy::PureDp { epsilon: 1.0 };
        assert!(matches!(Steered::default().calibrate(pure, bound), Err(Error::Incompatible { .. })));
    }
}
