//! `PermuteFlipPeel`: k times permute-and-flip.
//!
//! Theorem: permute-and-flip with coins e^-(epsilon0 gap) is epsilon0-DP where counts change in one direction
//! (`McKenna` and Sheldon 2020, Theorem 1, with the factor 2 saved by monotonicity), and k of them are k epsilon0-DP.
//! Page: `docs/algorithms/permute_flip_peel.md`.

use dpsel_exact::Result;
use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::{Interval, div_down};
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::{log_picks, picks};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::draws::peel::pick_horizon;
use crate::top_k::draws::permute_flip::flip_and_peel;
use crate::top_k::ranking::{Counts, RankedCounts};

/// Peeling with permute-and-flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermuteFlipPeel {}

impl TopKMechanism for PermuteFlipPeel {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let epsilon = div_down(parameters.pure_epsilon(), parameters.k.into());
        TopKCalibration::new(parameters.per_span(epsilon), parameters.k)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP by k rounds of permute-and-flip",
            neighbours: neighbours.words(),
            source: "McKenna and Sheldon 2020, Theorem 1; composition",
            proof: "docs/algorithms/permute_flip_peel.md",
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
        picks(&ranking, &flip_and_peel(&ranking, k, rate, &mut Coins::new(key, Purpose::TopK, 0)))
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
