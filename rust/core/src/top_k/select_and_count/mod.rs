//! `SelectAndCount`: a partition selection with noisy counts of the users of its items, and the k largest of these.
//!
//! Items and counts have one budget; the answer is computed from them alone. Page: `docs/algorithms/select_and_count.md`.

use std::cmp::Reverse;

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::Interval;
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Neighbours, Parameters, Pick, TopKCalibration, TopKMechanism};
use crate::counting::{CountedUsers, NumbersAsked, Paid};
use crate::mechanisms::{Mechanism, Steered};
use crate::top_k::ranking::{Counts, Place};

/// A selection with counts, sorted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectAndCount {
    /// The part of the budget that counts cost.
    pub share: f64,
    /// A user of more selected items counts less than 1 in each of them.
    pub max_counted_items: L0Bound,
}

impl SelectAndCount {
    fn counted(self) -> NumbersAsked {
        let Self { share, max_counted_items } = self;
        let users = CountedUsers { share, max_counted_items, nonnegative: false, max_rows_per_item: None };
        NumbersAsked { counts: Some(users), rest: None }
    }
}

impl TopKMechanism for SelectAndCount {
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration> {
        if let Privacy::PureDp { .. } = parameters.privacy {
            return Err(Error::Incompatible {
                what: "SelectAndCount finds items that nobody named; its guarantee needs a delta".into(),
                fix: "use ApproxDP(epsilon=..., delta=...) or ZCDP(rho=..., delta=...)",
            });
        }
        let kept = parameters.for_rounds("SelectAndCount")?;
        // Its reach is 1, so users keep no more than their limit.
        let (selection, counts) = (Steered::default(), self.counted());
        let rounds = selection.calibrate_beside(parameters.privacy, kept, &counts);
        rounds.map(TopKCalibration::of_rounds).map_err(|error| {
            let Error::Calibration { .. } = error else { return error };
            let divided = Error::Calibration {
                what: "the items with one part of the budget and their counts with the other".into(),
                fix: "change share, raise epsilon, rho or delta, or lower max_counted_items",
            };
            // A budget that is too small for the items alone is refused in the words of the selection.
            selection.calibrate(parameters.privacy, kept).map_or_else(|own| own, |_| divided)
        })
    }

    fn guarantee(&self, neighbours: Neighbours) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP, or delta-approximate rho-zCDP, of a partition selection and noisy counts of the users \
                        of its items together; the answer is computed from these alone",
            neighbours: neighbours.words(),
            source: Paid::GUARANTEE.source,
            proof: "docs/algorithms/select_and_count.md",
        }
    }

    /// The largest of the noisy counts.
    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        _calibration: &TopKCalibration,
        _key: &ReleaseKey,
    ) -> Vec<Pick> {
        let mut order: Vec<usize> = (0..counts.counts.len()).collect();
        order.sort_by_key(|at| (Reverse(counts.counts[*at]), counts.digests.map(|digests| digests[*at].0)));
        let picked = order.into_iter().take(k);
        picked.map(|at| Pick { place: Place::Listed(at), noisy: Some(counts.counts[at]) }).collect()
    }

    fn finds_domain(&self) -> bool {
        true
    }

    fn log_answers(&self, _items: u64, _k: u64) -> Option<Interval> {
        None
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn needs_every_count(&self) -> bool {
        false
    }

    fn has_free_counts(&self, _parameters: &Parameters) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::random::Digest;

    use super::*;

    const BUDGETS: [Privacy; 2] =
        [Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 }, Privacy::Zcdp { rho: 0.1, delta: 1e-6 }];

    fn bound(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    fn of(share: f64) -> SelectAndCount {
        SelectAndCount { share, max_counted_items: bound(7) }
    }

    fn parameters(privacy: Privacy) -> Parameters {
        Parameters {
            privacy,
            k: 3,
            neighbours: Neighbours::AddRemove,
            sensitivity: 1,
            bound: Some(bound(20)),
        }
    }

    #[test]
    fn its_rounds_are_those_of_a_selection_with_counts() {
        for privacy in BUDGETS {
            for share in [0.1, 0.5] {
                let found = of(share).calibrate(&parameters(privacy)).unwrap();
                let wanted = Steered::default().calibrate_beside(privacy, bound(20), &of(share).counted());
                assert_eq!(found.discovery, Some(wanted.unwrap()));
                let alone = Steered::default().calibrate(privacy, bound(20)).unwrap();
                assert_ne!(found.discovery.unwrap().rounds, alone.rounds, "counts take a part of the budget");
                assert!(found.rate.to_bits() == 0 && found.rounds == 0);
            }
        }
    }

    #[test]
    fn the_largest_noisy_counts_come_first_and_digests_order_equal_ones() {
        let counts = [-3, 9, 4, 9, 4, 4];
        let digests = [5, 8, 3, 2, 1, 2].map(Digest);
        let calibration = of(0.3).calibrate(&parameters(BUDGETS[0])).unwrap();
        let select = |digests, k| {
            let counts = Counts { counts: &counts, digests, unseen: 0 };
            let picks = of(0.3).select(counts, k, &calibration, &ReleaseKey::insecure_test([1; 32]));
            picks.into_iter().map(|pick| (pick.place, pick.noisy)).collect::<Vec<_>>()
        };
        let listed = |at: usize| (Place::Listed(at), Some(counts[at]));
        assert_eq!(select(Some(&digests), 4), [3, 1, 4, 5].map(listed));
        assert_eq!(select(Some(&digests), 9), [3, 1, 4, 5, 2, 0].map(listed));
        assert_eq!(select(None, 3), [1, 3, 2].map(listed));
        assert!(select(None, 0).is_empty());
    }

    #[test]
    fn what_has_no_proof_is_refused() {
        let usual = parameters(BUDGETS[0]);
        for wrong in [
            parameters(Privacy::PureDp { epsilon: 1.0 }),
            Parameters { bound: None, ..usual },
            Parameters { neighbours: Neighbours::Swap, ..usual },
            Parameters { sensitivity: 2, ..usual },
        ] {
            assert!(matches!(of(0.3).calibrate(&wrong), Err(Error::Incompatible { .. })), "{wrong:?}");
        }
        for share in [0.0, 1.0, f64::NAN] {
            assert!(matches!(of(share).calibrate(&usual), Err(Error::InvalidParameter { .. })), "{share}");
        }
        let tiny = parameters(Privacy::ApproxDp { epsilon: 1e-3, delta: 1e-6 });
        let refused = of(1e-12).calibrate(&tiny).unwrap_err();
        assert!(matches!(refused, Error::Calibration { fix, .. } if fix.contains("share")), "{refused:?}");
    }
}
