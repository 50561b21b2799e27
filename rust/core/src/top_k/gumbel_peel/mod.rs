//! `GumbelPeel`: k exponential mechanisms, one after the other; the same law as Gumbel noise on every count.
//!
//! Theorem: each pick has bounded range epsilon0, so k of them are k epsilon0^2 / 8-zCDP (Durfee and Rogers 2019; Cesar
//! and Rogers 2021), and also k epsilon0-DP. Page: `docs/algorithms/gumbel_peel.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, Privacy, conversion};
use dpsel_exact::numeric::{Interval, div_down, mul_down, sqrt_down};
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::{log_picks, picks};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::draws::peel::{peel, pick_horizon};
use crate::top_k::ranking::{Counts, RankedCounts};

/// Peeling with exponential mechanisms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GumbelPeel {
    /// How (epsilon, delta) becomes a budget per pick.
    #[serde(default)]
    pub conversion: Conversion,
}

/// From zCDP to (epsilon, delta).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conversion {
    /// Canonne, Kamath and Steinke 2020, Proposition 7.
    #[default]
    Tight,
    /// Bun and Steinke 2016, Proposition 1.3, as in the experiments of the Joint paper: about 15 % less per pick.
    Paper,
}

impl TopKMechanism for GumbelPeel {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let epsilon = per_pick(parameters.privacy, parameters.k, self.conversion);
        TopKCalibration::new(parameters.per_span(epsilon), parameters.k)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP, zCDP or epsilon-DP by k exponential mechanisms of bounded range",
            neighbours: neighbours.words(),
            source: "Durfee and Rogers 2019; Cesar and Rogers 2021; Canonne, Kamath and Steinke 2020, Proposition 7",
            proof: "docs/algorithms/gumbel_peel.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let rate = calibration.rate;
        let ranking = RankedCounts::new(counts, k, pick_horizon(counts.items(), rate));
        picks(&ranking, &peel(&ranking, k, rate, &mut Coins::new(key, Purpose::TopK, 0)))
    }

    fn log_answers(&self, items: u64, k: u64) -> Option<Interval> {
        Some(log_picks(items, k))
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn needs_every_count(&self) -> bool {
        false
    }
}

/// The epsilon of each of `picks` exponential mechanisms that together meet `privacy`, rounded down.
pub(in crate::top_k) fn per_pick(privacy: Privacy, picks: u32, conversion: Conversion) -> f64 {
    let k = f64::from(picks);
    let of_rho = |rho: f64| sqrt_down(div_down(mul_down(8.0, rho), k));
    match privacy {
        Privacy::PureDp { epsilon } => div_down(epsilon, k),
        Privacy::ApproxDp { epsilon, delta } => {
            let rho = match conversion {
                Conversion::Tight => conversion::largest_rho(epsilon, delta),
                Conversion::Paper => paper_rho(epsilon, delta),
            };
            div_down(epsilon, k).max(of_rho(rho))
        }
        Privacy::Zcdp { rho, .. } => of_rho(rho),
    }
}

/// rho + 2 sqrt(rho ln(1/delta)) = epsilon, solved for rho and rounded down.
fn paper_rho(epsilon: f64, delta: f64) -> f64 {
    let log = -Interval::point(delta).ln();
    ((log + Interval::point(epsilon)).sqrt() - log.sqrt()).square().lo().max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Budgets per pick as computed apart from this code, for epsilon = 1 and delta = 1e-6.
    #[test]
    fn published_and_tight_budgets() {
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 };
        let table = [
            (10, 0.1182, 0.1396),
            (20, 0.0836, 0.0987),
            (50, 0.0529, 0.0624),
            (100, 0.0374, 0.0441),
            (200, 0.0264, 0.0312),
        ];
        for (k, paper, tight) in table {
            assert!((per_pick(privacy, k, Conversion::Paper) - paper).abs() < 6e-5, "{k}");
            assert!((per_pick(privacy, k, Conversion::Tight) - tight).abs() < 6e-5, "{k}");
        }
        assert!((per_pick(privacy, 2, Conversion::Tight) - 0.5).abs() < 1e-12);
    }
}
