//! `Discover`: partition selection finds the domain with one part of the budget, a top-k mechanism picks with the rest.
//!
//! Theorem: adaptive composition of an (epsilon1, delta)-DP selection and an epsilon2-DP top-k on what it released
//! (after Dick, Joseph and Raman 2026). Page: `docs/algorithms/discover.md`.

use dpsel_exact::accounting::{Guarantee, Privacy};
use dpsel_exact::numeric::{Interval, mul_down, sub_down};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Joint, JointSet, Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::mechanisms::{Mechanism, Sips};
use crate::top_k::ranking::Counts;

/// Selection, then top-k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Discover {
    /// The part of epsilon that the selection gets.
    pub share: f64,
    /// Whether the answer has an order.
    pub ordered: bool,
}

impl Discover {
    fn split(self, privacy: Privacy) -> Result<(Privacy, Privacy)> {
        if !(self.share > 0.0 && self.share < 1.0) {
            let fix = "0.5 gives both halves of the job the same";
            return Err(Error::parameter("share", "above 0 and below 1", self.share, fix));
        }
        let divide = |budget: f64| {
            let first = mul_down(budget, self.share);
            (first, sub_down(budget, first))
        };
        match privacy {
            Privacy::ApproxDp { epsilon, delta } => {
                let (first, rest) = divide(epsilon);
                Ok((Privacy::ApproxDp { epsilon: first, delta }, Privacy::PureDp { epsilon: rest }))
            }
            Privacy::Zcdp { rho, delta } => {
                let (first, rest) = divide(rho);
                Ok((Privacy::Zcdp { rho: first, delta }, Privacy::Zcdp { rho: rest, delta }))
            }
            Privacy::PureDp { .. } => Err(Error::Incompatible {
                what: "Discover finds items that nobody named; its guarantee needs a delta".into(),
                fix: "use ApproxDP(epsilon=..., delta=...) or ZCDP(rho=..., delta=...)",
            }),
        }
    }

    fn second(self) -> &'static dyn TopKMechanism {
        if self.ordered { &Joint {} } else { &JointSet {} }
    }
}

impl TopKMechanism for Discover {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        let (first, rest) = self.split(parameters.privacy)?;
        let bound = parameters.for_rounds("Discover")?;
        let mut calibration = self.second().calibrate(&Parameters { privacy: rest, ..*parameters })?;
        calibration.discovery = Some(Sips::default().calibrate(first, bound)?);
        Ok(calibration)
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP, or delta-approximate rho-zCDP: a partition selection and a top-k mechanism on what it released share epsilon or rho",
            neighbours: neighbours.words(),
            source: "Swanberg, Desfontaines and Haney 2023; Gillenwater et al. 2022; composition",
            proof: "docs/algorithms/discover.md",
        }
    }

    /// On the counts of the discovered items alone.
    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick> {
        let k = k.min(counts.counts.len());
        if k == 0 { vec![] } else { self.second().select(counts, k, calibration, key) }
    }

    fn finds_domain(&self) -> bool {
        true
    }

    fn log_answers(&self, _items: u64, _k: u64) -> Option<Interval> {
        None
    }

    fn is_ordered(&self) -> bool {
        self.ordered
    }

    fn needs_every_count(&self) -> bool {
        false
    }
}
