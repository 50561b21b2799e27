//! `PermuteFlipJoint`: permute-and-flip over sequences of k items.
//!
//! Theorem: permute-and-flip with coins e^-(epsilon loss / 2) is epsilon-DP for a loss that one user changes by at most
//! 1 (`McKenna` and Sheldon 2020, Theorem 1); the loss over sequences is the loss of `Joint`. The draw is exact and
//! ours. Page: `docs/algorithms/permute_flip_joint.md`.

mod sequences;

use dpsel_exact::Result;
use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::Interval;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::{log_sequences, picks};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::ranking::{Counts, RankedCounts};

pub(super) use sequences::flip_sequences;

use crate::top_k::joint::{Sequences, joint_horizon};

/// Permute-and-flip over sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermuteFlipJoint {}

impl TopKMechanism for PermuteFlipJoint {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        TopKCalibration::new(parameters.joint_rate(parameters.pure_epsilon()), 1)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP by permute-and-flip over sequences of k items",
            neighbours: neighbours.words(),
            source: "McKenna and Sheldon 2020, Theorem 1; Gillenwater, Joseph, Munoz Medina and Ribero 2022",
            proof: "docs/algorithms/permute_flip_joint.md",
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
        let sequences = Sequences::new(&ranking, calibration.rate);
        picks(&ranking, &flip_sequences(&sequences, &mut Coins::new(key, Purpose::TopK, 0)))
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
