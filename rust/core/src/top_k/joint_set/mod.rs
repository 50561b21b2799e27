//! `JointSet`: the exponential mechanism over sets of k items.
//!
//! Theorem: weights e^-(epsilon gap / 2) with gap = max(0, largest count left out - smallest count taken in) are
//! epsilon-DP; this is the canonical mechanism of Shekelyan and Loukides, "Differentially private top-k selection via
//! canonical Lipschitz mechanism" (2022). The draw is exact and ours. Page: `docs/algorithms/joint_set.md`.

mod sets;

use dpsel_exact::accounting::Guarantee;
use dpsel_exact::numeric::Interval;
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use serde::{Deserialize, Serialize};

use super::mechanism::{log, picks};
use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::top_k::ranking::{Counts, RankedCounts};

pub(super) use sets::{Sets, set_horizon};

use dpsel_exact::{Error, Result};

/// The most items of a set: each evaluation of its sizes takes k^2 multiplications.
const MAX_K: u32 = 10_000;

/// The exponential mechanism over sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointSet {}

impl TopKMechanism for JointSet {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        if parameters.k > MAX_K {
            let fix = "use Joint or GumbelPeel, whose time does not grow with its square";
            return Err(Error::parameter("k", "at most 10,000 for a set", parameters.k, fix));
        }
        TopKCalibration::new(parameters.joint_rate(parameters.range_epsilon()), 1)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "epsilon-DP, and epsilon^2/8-zCDP, by the exponential mechanism over sets of k items",
            neighbours: neighbours.words(),
            source: "Shekelyan and Loukides 2022 (canonical mechanism, symmetric split)",
            proof: "docs/algorithms/joint_set.md",
        }
    }

    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let ranking = RankedCounts::new(counts, k, set_horizon(counts.items(), k, calibration.rate));
        let ranks = Sets::new(&ranking, calibration.rate).draw(&mut Coins::new(key, Purpose::TopK, 0));
        picks(&ranking, &ranks)
    }

    fn log_answers(&self, items: u64, k: u64) -> Option<Interval> {
        Some((0..k).map(|place| log(items - place) - log(place + 1)).fold(Interval::ZERO, |a, b| a + b))
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn needs_every_count(&self) -> bool {
        false
    }
}
