//! Steered selection: noisy histograms of all items, round after round, steer the users' weights; one publication.
//!
//! Theorem: the rounds are adaptive Gaussian mechanisms, whatever their number and whatever is done with their outcomes.
//! One user moves them by its norm. Besides, the release depends on the user only where the noise of one of its items
//! lies between the threshold and the threshold less the user's cap. Under approximate DP each size of user has a norm
//! and a cap whose two parts add up to delta. Conditions: each user keeps the same at most D0 items in all rounds, and
//! gives each at most its cap over all of them. D0 is the reach times `max_items_per_user`. Page and proof:
//! `docs/algorithms/steered.md`.

mod approx_dp;
mod counts_distance;
mod noise;
mod sizes;
mod steering;
#[cfg(test)]
mod tests;
mod zcdp;

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::{Interval, add_up, div_down, mul_up};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use self::approx_dp::PublicationGoal;
use self::noise::{RoundNoise, fraction};
pub(crate) use self::sizes::{per_root, sizes};
use self::steering::{ScoreBounds, steering};
use super::budget_split::{apart, delta_factor};
use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, value_slack, with_reserve, zcdp_sigma};
use super::{Mechanism, NoisyWeights, Properties};
use crate::counting::{NumbersAsked, Paid};
use crate::rounds::{Calibration, Publish, Round, Rule, Scoring, UserSize};
use crate::threshold::calibration::gaussian_noise;
use crate::weighting::{SHARES, Weighting};

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
    fn approx_dp(self, bound: L0Bound, asked: PublicationGoal) -> Result<(Calibration, f64)> {
        let shares = self.shares();
        let (noise, publish, counts) = approx_dp::publication(&shares, bound, asked)?;
        Ok((rounds(bound, &shares, &noise, &publish)?, counts))
    }

    /// A round of the share f has the norm f and costs rho / R, so its noise is f / sqrt(2 rho / R).
    fn zcdp(self, bound: L0Bound, rho: f64, delta: f64) -> Result<Calibration> {
        let shares = self.shares();
        let each = zcdp_sigma(div_down(rho, f64::from(self.rounds)));
        let noise = RoundNoise::new(&shares, |share| mul_up(share, each))?;
        let publish = zcdp::publication(bound, &noise, delta)?;
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
        let ScoreBounds { futility_bound, expected_path, target, settled_bound } =
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
                    let (calibration, _) =
                        self.approx_dp(bound, PublicationGoal { epsilon, delta, share: 0.0 })?;
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
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        self.validate()?;
        asked.validate()?;
        let Privacy::ApproxDp { epsilon, delta } = privacy.validate()? else {
            return apart(privacy, bound, asked, |left| self.calibrate(left, bound));
        };
        with_reserve(delta, delta_factor(epsilon), |delta| {
            let (rounds, mu) =
                self.approx_dp(bound, PublicationGoal { epsilon, delta, share: asked.share() })?;
            let noise = asked.noise(mu, Paid::Together)?;
            let slack = add_up(total_slack(&rounds, bound), noise.slack());
            Ok((rounds.with_numbers(noise), slack))
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
