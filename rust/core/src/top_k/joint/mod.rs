//! `Joint`: the exponential mechanism over sequences of k items.
//!
//! Theorem: weights e^-(epsilon loss / 2) with loss = max (c_(i) - count of the i-th item) are epsilon-DP (Gillenwater,
//! Joseph, Munoz Medina and Ribero, "A joint exponential mechanism for differentially private top-k", ICML 2022,
//! Theorem 3.4). The draw is exact and ours. Page: `docs/algorithms/joint.md`.

mod sequences;

use dpsel_exact::Result;
use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::Interval;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::{log_sequences, picks};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::ranking::{Counts, RankedCounts};

pub(super) use sequences::{Sequences, joint_horizon};

/// The exponential mechanism over sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joint {}

impl TopKMechanism for Joint {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        TopKCalibration::new(parameters.joint_rate(parameters.range_epsilon()), 1)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP, and epsilon^2/8-zCDP, by the exponential mechanism over sequences of k items",
            neighbours: neighbours.words(),
            source: "Gillenwater, Joseph, Munoz Medina and Ribero 2022, Theorem 3.4",
            proof: "docs/algorithms/joint.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let ranking = RankedCounts::new(counts, k, joint_horizon(counts.items(), k, calibration.rate));
        let ranks = Sequences::new(&ranking, calibration.rate).draw(&mut Coins::new(key, Purpose::TopK, 0));
        picks(&ranking, &ranks)
    }

    fn log_answers(&self, items: u64, k: u64) -> Option<Interval> {
        Some(log_sequences(items, k))
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn needs_every_count(&self) -> bool {
        false
    }
}
