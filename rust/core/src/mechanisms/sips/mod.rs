//! DP-SIPS: weighted Gaussian repeated, released items leaving the users' sets between rounds.
//!
//! Theorem, approximate zCDP: after Swanberg, Desfontaines and Haney (`PoPETs` 2023), Algorithm 3 and Theorem 14.
//! Theorem, approximate DP: delta = `delta_T` + (1 - `delta_T`) dG(epsilon, mu) with mu^2 the sum of `1/sigma_j^2` and
//! `delta_T` = 1 - product of (1 - `delta_j`); proof in `docs/algorithms/accounting.md`. It never goes through zCDP.
//! Conditions: in every round each user has at most D0 items, none of them released before. Page:
//! `docs/algorithms/sips.md`.

use dpsel_exact::accounting::gaussian::{approximate_mu, largest_mu};
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy, minimise, without_decision_slack};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::{Interval, div_up, mul_down, mul_up, sqrt_down};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::budget_split::of_step;
use super::shared::curves::{CURVE_GUARANTEE, curve_rounds};
use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, zcdp_sigma};
use super::{Mechanism, Properties, ReleaseStep, WeightedGaussian};
use crate::counting::NumbersAsked;
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::Noisy;
use crate::threshold::calibration::{approximate_threshold, gaussian_noise, smallest_threshold};
use crate::weighting::Weighting;

/// DP-SIPS (Swanberg, Desfontaines and Haney, `PoPETs` 2023, Algorithm 3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sips {
    /// Number of rounds I.
    pub rounds: u32,
    /// Budget of a round as a fraction of the next round's, r in (0, 1].
    pub ratio: f64,
    /// How items are decided.
    #[serde(default)]
    pub release: ReleaseStep,
}

impl Default for Sips {
    fn default() -> Self {
        Self { rounds: 3, ratio: 1.0 / 3.0, release: ReleaseStep::Noise }
    }
}

impl Sips {
    /// The most rounds.
    pub const MAX_ROUNDS: u32 = 64;

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
            let noise = gaussian_noise(Weighting::EqualL2, bound, sigma)?;
            let threshold = smallest_threshold(noise, Weighting::EqualL2, bound, mul_down(delta, *share))?;
            Ok(Round { weighting: Weighting::EqualL2, rule: Rule::Noisy(Noisy { noise, threshold }) })
        };
        Ok(Calibration::of(self.shares().iter().map(round).collect::<Result<_>>()?))
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
        // Otherwise: no rounds, of which nothing is asked.
        let last = self.shares().last().copied().unwrap_or(1.0);
        let threshold = |share: f64| {
            let mu = approximate_mu(epsilon, delta * (1.0 - share), 1e-7);
            let noise = Noise::Gaussian { sigma: 1.0 / (mu * last.sqrt()) };
            approximate_threshold(noise, Weighting::EqualL2, bound, delta * share * last)
        };
        minimise(threshold, 0.1, 0.7, 4, 6)
    }
}

fn no_budget(sips: &Sips) -> Error {
    Error::Calibration {
        what: format!("{} rounds with ratio {:e}: the first rounds get no budget", sips.rounds, sips.ratio),
        fix: "raise ratio or lower rounds",
    }
}

impl Mechanism for Sips {
    fn validate(&self) -> Result<()> {
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

    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        self.validate()?;
        if self.release == ReleaseStep::Curve {
            return curve_rounds("Sips", privacy, bound, &self.shares());
        }
        if self.rounds == 1 {
            return WeightedGaussian::default().calibrate(privacy, bound);
        }
        let decisions = mul_up(self.rounds.into(), bound.get().into());
        match without_decision_slack(privacy.validate()?, decisions)? {
            Privacy::PureDp { .. } => Err(no_pure_dp("Sips")),
            Privacy::ApproxDp { epsilon, delta } => self.approx_dp(bound, epsilon, delta),
            Privacy::Zcdp { rho, delta } => {
                self.rounds(bound, |share| zcdp_sigma(mul_down(rho, share)), delta)
            }
        }
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        of_step(self.release, privacy, bound, asked, |left| self.calibrate(left, bound))
    }

    fn guarantee(&self) -> Guarantee {
        if self.release == ReleaseStep::Curve {
            return CURVE_GUARANTEE;
        }
        Guarantee {
            statement: "(epsilon, delta)-DP by the exact composition of Gaussian rounds plus the probability of \
                        releasing an item of one user, or delta-approximate rho-zCDP; the rounds may adapt to what \
                        earlier ones released",
            neighbours: ADD_OR_REMOVE,
            source: "Swanberg et al. 2023, Theorem 14; Dong, Roth and Su 2022; Balle and Wang 2018",
            proof: "docs/algorithms/sips.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: self.release.noisy_weights(),
            item_order: None,
            reach: 1,
            looks: false,
            flaw: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::gaussian::{composed_mu, delta_upper};

    use super::*;

    fn sigmas(calibration: &Calibration) -> Vec<f64> {
        let sigma = |noise| if let Noise::Gaussian { sigma } = noise { sigma } else { f64::NAN };
        calibration
            .rounds
            .iter()
            .filter_map(|round| round.rule.noisy())
            .map(|rule| sigma(rule.noise))
            .collect()
    }

    fn last_threshold(calibration: &Calibration) -> f64 {
        calibration.rounds.last().and_then(|round| round.rule.noisy()).unwrap().threshold.value()
    }

    #[test]
    fn zcdp_shares_are_the_papers() {
        let bound = L0Bound::new(100).unwrap();
        let calibration = Sips::default().calibrate(Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, bound).unwrap();
        for (sigma, share) in sigmas(&calibration).into_iter().zip([1.0 / 13.0, 3.0 / 13.0, 9.0 / 13.0]) {
            let paper = f64::sqrt(0.5 / (0.1 * share));
            assert!(sigma >= paper * (1.0 - 1e-15) && sigma < paper * (1.0 + 1e-14), "{sigma} {paper}");
        }
        assert!((last_threshold(&calibration) - 14.255_382_27).abs() < 1e-6);
        assert!(composed_mu(sigmas(&calibration)) <= 0.2_f64.sqrt() * (1.0 + 1e-14));
    }

    #[test]
    fn approximate_dp_does_not_go_through_zcdp() {
        // With the paper's own split, 1e-5 of 4.96e-5 to the thresholds, mu rises from 0.4472 to 0.4862.
        let (spent, total) = (1e-5, 4.96e-5);
        let mu = largest_mu(1.765, (total - spent) / (1.0 - spent)).unwrap();
        assert!((mu - 0.4862).abs() < 1e-4, "{mu}");
        let bound = L0Bound::new(100).unwrap();
        let asked =
            [(0.5, 1e-6, 58.05), (1.0, 1e-5, 25.20), (1.765, 4.96e-5, 13.03), (3.0, 4.539_992_98e-5, 8.28)];
        for (epsilon, delta, threshold) in asked {
            let calibration = Sips::default().calibrate(Privacy::ApproxDp { epsilon, delta }, bound).unwrap();
            let last = last_threshold(&calibration);
            assert!((last / threshold - 1.0).abs() < 1e-3, "{last} {threshold}");
            let noise = delta_upper(epsilon, composed_mu(sigmas(&calibration)));
            assert!(noise < 0.8 * delta && noise > 0.5 * delta, "{noise} {delta}");
        }
    }

    #[test]
    fn shares_never_exceed_the_budget() {
        for ratio in [1.0, 0.99, 1.0 / 3.0, 0.1, 1e-3, 1e-300] {
            for rounds in [1, 2, 3, 17, 64] {
                let sips = Sips { rounds, ratio, ..Sips::default() };
                let sum = sips.shares().iter().fold(Interval::ZERO, |a, b| a + Interval::point(*b));
                assert!(sum.lo() <= 1.0 && sum.hi() > 1.0 - 1e-12, "{sips:?}");
            }
        }
        let hopeless = Sips { rounds: 64, ratio: 1e-300, ..Sips::default() };
        let privacy = Privacy::Zcdp { rho: 1.0, delta: 1e-6 };
        let error = hopeless.calibrate(privacy, L0Bound::new(1).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Calibration { .. }), "{error}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for (rounds, ratio) in [(0, 0.5), (65, 0.5), (3, 0.0), (3, 1.5), (3, f64::NAN), (3, -1.0)] {
            assert!(matches!(
                Sips { rounds, ratio, ..Sips::default() }.validate(),
                Err(Error::InvalidParameter { .. })
            ));
        }
    }
}
