//! `Matching`: as many users as possible are assigned to slots of their items; the one-item rule releases by filled
//! slots.
//!
//! Theorem: adding a user fills at most one slot more, and none less. So releasing each item with the optimal one-item
//! probability of its filled slots is (epsilon, delta)-DP, for users of any number of items. With screening, a first
//! assignment with two-sided geometric noise sets the order of the items: it costs a part of epsilon, another part for
//! adding a user than for removing one. Source: ours; the one-item rule is from Desfontaines, Voss, Gipson and
//! Mandayam, `PoPETs` 2022, Theorem 1. Proof: `docs/algorithms/matching.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::numeric::{mul_down, sub_down};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::budget_split::apart;
use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp, no_zcdp_without_noise};
use super::{Mechanism, NoisyWeights, Properties};
use crate::counting::NumbersAsked;
use crate::rounds::{Calibration, Ranking, Round, Rule};
use crate::threshold::curve::{Curve, CurveSpec, l1_curve, one_unit_curve, worthwhile_weight};
use dpsel_exact::numeric::UNIT;

use crate::weighting::{self, Weighting};

/// The parts of epsilon that the order of the items costs: for adding a user, and for removing one.
const ADDING: f64 = 0.11;
const REMOVING: f64 = 0.25;
/// The least rate of the noise of a ranking, 2^-50. With smaller ones the order would be noise alone.
const LEAST_RATE: f64 = 1.0 / (1_u64 << 50) as f64;

/// Assignment of users to slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// Whether a first assignment sets the order of the items: a ranking round.
    #[serde(default)]
    pub screening: bool,
}

impl Matching {
    /// The only round without screening.
    fn plain(epsilon: f64, delta: f64) -> Result<Calibration> {
        let curve = l1_curve(epsilon, delta, UNIT)?;
        let round = Round { weighting: Weighting::Matching(slots(&curve)?), rule: Rule::Curve(curve) };
        Ok(Calibration::of(vec![round]))
    }

    /// The two rounds with screening.
    ///
    /// # Contract
    /// The loss of the ranking and that of the release add up to at most epsilon, for adding a user and for removing
    /// one. Only the release spends delta.
    fn screened(epsilon: f64, delta: f64) -> Result<Calibration> {
        let (above, below) = (mul_down(ADDING, epsilon), mul_down(REMOVING, epsilon));
        if above < LEAST_RATE {
            return Err(Error::Calibration {
                what: format!("an order of the items for epsilon = {epsilon:e}, which would be noise alone"),
                fix: "raise epsilon, or leave screening out",
            });
        }
        let curve = one_unit_curve(sub_down(epsilon, above), sub_down(epsilon, below), delta)?;
        let slots = slots(&curve)?;
        let first = weighting::MatchingSlots { most: slots.quota, ..slots };
        let ranking = Rule::Ranking(Ranking { rate_above: above, rate_below: below });
        Ok(Calibration::of(vec![
            Round { weighting: Weighting::Matching(first), rule: ranking },
            Round { weighting: Weighting::Matching(slots), rule: Rule::Curve(curve) },
        ]))
    }
}

/// The slots of an item: in its turn as many as are worth more there than for other items, in all until its release is
/// certain.
///
/// No guarantee depends on either.
fn slots(spec: &CurveSpec) -> Result<weighting::MatchingSlots> {
    let certain = Curve::of(spec.curve, spec.quantum)?.weight_of(u128::MAX);
    let slots = |weight: u64| clipped(weight.div_ceil(UNIT));
    Ok(weighting::MatchingSlots { quota: slots(worthwhile_weight(spec)?), most: slots(certain) })
}

impl Mechanism for Matching {
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    fn calibrate(&self, privacy: Privacy, _bound: L0Bound) -> Result<Calibration> {
        match privacy.validate()? {
            Privacy::PureDp { .. } => Err(no_pure_dp("Matching")),
            Privacy::Zcdp { .. } => Err(no_zcdp_without_noise("Matching")),
            Privacy::ApproxDp { epsilon, delta } if self.screening => Self::screened(epsilon, delta),
            Privacy::ApproxDp { epsilon, delta } => Self::plain(epsilon, delta),
        }
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        apart(privacy, bound, asked, |left| self.calibrate(left, bound))
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: if self.screening {
                "(epsilon, delta)-DP for users of any number of items: adding a user fills at most one more slot, of one item, in \
                 either assignment; the noise of the first and the release by the second cost at most epsilon together, both ways"
            } else {
                "(epsilon, delta)-DP for users of any number of items: adding a user fills at most one more slot, of one item, and \
                 an item is released with the optimal probability of its filled slots"
            },
            neighbours: ADD_OR_REMOVE,
            source: "Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1, for one item; the proof for all is on its page",
            proof: "docs/algorithms/matching.md",
        }
    }

    fn properties(&self) -> Properties {
        Properties {
            noisy_weights: NoisyWeights::Absent,
            item_order: None,
            reach: 1,
            looks: false,
            flaw: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threshold::curve::CurveKind;

    fn calibrated(mechanism: Matching, epsilon: f64, delta: f64) -> Calibration {
        let bound = L0Bound::new(1000).unwrap();
        mechanism.calibrate(Privacy::ApproxDp { epsilon, delta }, bound).unwrap()
    }

    fn matching(round: &Round) -> weighting::MatchingSlots {
        match round.weighting {
            Weighting::Matching(matching) => matching,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slots_reach_from_a_likely_release_to_a_certain_one() {
        for screening in [false, true] {
            for (epsilon, delta) in [(0.1, 1e-6), (1.765, 4.96e-5), (6.0, 1e-6), (50.0, 0.1)] {
                let calibration = calibrated(Matching { screening }, epsilon, delta);
                let last = calibration.rounds.last().unwrap();
                let (slots, rule) = (matching(last), last.rule.curve().unwrap());
                let curve = Curve::of(rule.curve, rule.quantum).unwrap();
                let at = |slots: u32| curve.probability(u64::from(slots) * UNIT);
                let gain = |slots: u32| (at(slots + 1) - at(slots)) / (at(slots) / f64::from(slots));
                assert!(at(slots.quota) >= 0.5 && gain(slots.quota) <= 0.5, "{epsilon}");
                assert!(at(slots.quota - 1) < 0.5 || gain(slots.quota - 1) > 0.5, "{epsilon}");
                assert!(at(slots.most) >= 1.0 && at(slots.most - 1) < 1.0 && slots.quota <= slots.most);
            }
        }
    }

    #[test]
    fn screening_and_release_share_epsilon_in_either_direction() {
        for (epsilon, delta) in [(0.1, 1e-6), (1.765, 4.96e-5), (6.0, 1e-6)] {
            let calibration = calibrated(Matching { screening: true }, epsilon, delta);
            let [first, last] = &calibration.rounds[..] else { panic!("two rounds") };
            let ranking = first.rule.ranking().unwrap();
            let CurveKind::OneUnit { adding, removing, delta: spent } = last.rule.curve().unwrap().curve
            else {
                panic!("a curve for whole units")
            };
            assert!(ranking.rate_above + adding <= epsilon && ranking.rate_below + removing <= epsilon);
            assert!(ranking.rate_above + adding > 0.999 * epsilon && spent.to_bits() == delta.to_bits());
            assert_eq!(matching(first).most, matching(last).quota);
        }
    }

    #[test]
    fn rankings_of_noise_alone_are_refused() {
        let calibrate = |screening, epsilon| {
            let privacy = Privacy::ApproxDp { epsilon, delta: 0.3 };
            Matching { screening }.calibrate(privacy, L0Bound::new(10).unwrap())
        };
        for epsilon in [1e-15, 1e-40, 5e-324] {
            assert!(matches!(calibrate(true, epsilon), Err(Error::Calibration { .. })), "{epsilon}");
            assert!(calibrate(false, epsilon).is_ok(), "{epsilon}");
        }
        assert!(calibrate(true, 1e-14).is_ok());
    }

    #[test]
    fn only_approximate_dp() {
        let bound = L0Bound::new(10).unwrap();
        for screening in [false, true] {
            for privacy in [Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, Privacy::PureDp { epsilon: 1.0 }] {
                let refused = Matching { screening }.calibrate(privacy, bound);
                assert!(matches!(refused, Err(Error::Incompatible { .. })));
            }
        }
    }
}
