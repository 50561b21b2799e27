//! DP-SIPS: weighted Gaussian repeated, released items leaving the users' sets between rounds.
//!
//! Theorem, approximate zCDP: Swanberg, Desfontaines and Haney (PoPETs 2023), Algorithm 3 and Theorem 14.
//! Theorem, approximate DP: delta = delta_T + (1 - delta_T) dG(epsilon, mu) with mu^2 the sum of 1/sigma_j^2 and
//! delta_T = 1 - product of (1 - delta_j); proof in `docs/algorithms/accounting.md`. It never goes through zCDP.
//! Conditions: in every round each user has at most D0 items, none of them released before. Page:
//! `docs/algorithms/sips.md`.

use serde::{Deserialize, Serialize};

use super::requirements::{ADD_OR_REMOVE, no_pure_dp, zcdp_sigma};
use super::{Calibration, Guarantee, Mechanism, Round, WeightedGaussian};
use crate::accounting::gaussian::{approximate_mu, largest_mu};
use crate::accounting::{L0Bound, Privacy, minimise, without_decision_slack};
use crate::noise::Noise;
use crate::rounding::{Interval, div_up, mul_down, sqrt_down};
use crate::threshold::calibration::{approximate_threshold, smallest_threshold};
use crate::weighting::Weighting;
use crate::{Error, Result};

/// DP-SIPS (Swanberg, Desfontaines and Haney, PoPETs 2023, Algorithm 3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sips {
    /// Number of rounds I.
    pub rounds: u32,
    /// Budget of a round as a fraction of the next round's, r in (0, 1].
    pub ratio: f64,
}

impl Default for Sips {
    fn default() -> Self {
        Self { rounds: 3, ratio: 1.0 / 3.0 }
    }
}

impl Sips {
    /// The most rounds.
    pub const MAX_ROUNDS: u32 = 64;

    pub(super) fn validate(&self) -> Result<()> {
        if !(1..=Self::MAX_ROUNDS).contains(&self.rounds) {
            let fix = "3 rounds do well; more than 10 rarely release more";
            return Err(Error::parameter("rounds", "between 1 and 64", self.rounds, fix));
        }
        if !(self.ratio > 0.0 && self.ratio <= 1.0) {
            let fix = "1/3 gives each round three times the budget of the one before";
            return Err(Error::parameter("ratio", "above 0 and at most 1", self.ratio, fix));
        }
        Ok(())
    }

    /// Each round's share of the budget, r^(I-1-j) / (1 + r + ... + r^(I-1)) rounded down: their sum is at most 1.
    fn shares(&self) -> Vec<f64> {
        let ratio = Interval::point(self.ratio);
        let step = |power: &mut Interval| {
            let now = *power;
            *power = now * ratio;
            Some(now)
        };
        let powers: Vec<_> = (0..self.rounds).scan(Interval::ONE, |power, _| step(power)).collect();
        let total = powers.iter().fold(Interval::ZERO, |sum, power| sum + *power);
        powers.iter().rev().map(|power| (*power / total).lo().max(0.0)).collect()
    }

    /// Rounds whose Gaussians together are `mu`-GDP and whose thresholds fail with probability `delta` in all.
    fn rounds(&self, bound: L0Bound, sigma: impl Fn(f64) -> f64, delta: f64) -> Result<Calibration> {
        let round = |share: &f64| {
            let sigma = sigma(*share);
            if !sigma.is_finite() {
                return Err(no_budget(self));
            }
            let noise = Noise::Gaussian { sigma };
            let threshold = smallest_threshold(noise, Weighting::EqualL2, bound, mul_down(delta, *share))?;
            Ok(Round { weighting: Weighting::EqualL2, noise, threshold })
        };
        Ok(Calibration { rounds: self.shares().iter().map(round).collect::<Result<_>>()? })
    }

    fn approx_dp(&self, bound: L0Bound, epsilon: f64, delta: f64) -> Result<Calibration> {
        let for_thresholds = self.best_split(bound, epsilon, delta);
        let thresholds = mul_down(delta, for_thresholds);
        // 1 - product of (1 - delta_j) is at most the sum of the delta_j.
        let (total, spent) = (Interval::point(delta), Interval::point(thresholds));
        let for_noise = ((total - spent) / (Interval::ONE - spent)).lo();
        let mu = largest_mu(epsilon, for_noise)?;
        self.rounds(bound, |share| div_up(1.0, mul_down(mu, sqrt_down(share))), thresholds)
    }

    /// The fraction of delta for the thresholds that makes the last threshold lowest. A proposal: any is valid.
    fn best_split(&self, bound: L0Bound, epsilon: f64, delta: f64) -> f64 {
        let last = self.shares().last().copied().unwrap_or(1.0);
        let threshold = |share: f64| {
            let mu = approximate_mu(epsilon, delta * (1.0 - share));
            let noise = Noise::Gaussian { sigma: 1.0 / (mu * last.sqrt()) };
            approximate_threshold(noise, Weighting::EqualL2, bound, delta * share * last)
        };
        minimise(threshold, 0.02, 0.98, 8, 10)
    }
}

fn no_budget(sips: &Sips) -> Error {
    Error::Calibration {
        what: format!("{} rounds with ratio {:e}: the first rounds get no budget", sips.rounds, sips.ratio),
        fix: "raise ratio or lower rounds",
    }
}

impl Mechanism for Sips {
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        if self.rounds == 1 {
            return WeightedGaussian {}.calibrate(privacy, bound);
        }
        match without_decision_slack(privacy.validate()?, bound, self.rounds)? {
            Privacy::PureDp { .. } => Err(no_pure_dp("Sips")),
            Privacy::ApproxDp { epsilon, delta } => self.approx_dp(bound, epsilon, delta),
            Privacy::Zcdp { rho, delta } => {
                self.rounds(bound, |share| zcdp_sigma(mul_down(rho, share)), delta)
            }
        }
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact composition of Gaussian rounds plus the probability of \
                        releasing an item of one user, or delta-approximate rho-zCDP; the rounds may adapt to what \
                        earlier ones released",
            neighbours: ADD_OR_REMOVE,
            source: "Swanberg et al. 2023, Theorem 14; Dong, Roth and Su 2022; Balle and Wang 2018",
            proof: "docs/algorithms/sips.md",
        }
    }
}
