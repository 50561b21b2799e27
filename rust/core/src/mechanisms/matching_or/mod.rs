//! `MatchingOr`: a noisy number of what `Matching` would fill decides between it and another mechanism.
//!
//! Theorem: the look is (`share` epsilon, 0)-DP for every fixed choice of what users keep, and the mechanism that it
//! chooses has the rest of the budget. Source: Dwork and Roth 2014, Theorem 3.16, for the composition; the number is ours.
//! Proof: `docs/algorithms/matching_or.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::{div_down, mul_down, sub_down};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp};
use super::{Matching, Mechanism, NoisyWeights, Properties};
use crate::counting::NumbersAsked;
use crate::look::noisy_score;
use crate::rounds::Calibration;
use crate::weighting::FilledSlots;

/// The mechanism for short lists.
const SHORT: Matching = Matching { screening: true };
/// What a step of the filled slots counts in the score, where one of the holders counts 1.
const OF_FILLED: u32 = FilledSlots::FULL_HOLDERS / FilledSlots::FULL_ITEM;
/// How much a user changes the score at most: by what it holds, which is more than by the slot that it fills.
const CHANGE: u32 = FilledSlots::MOST_HELD;
const _: () = assert!(CHANGE >= OF_FILLED * FilledSlots::MOST_FILLED);
/// By how much more than the noise of the look the score has to be above 0, in multiples of its scale.
///
/// Noise alone exceeds this with a probability of 1 in 5.
const MARGIN: f64 = 1.0;
/// The least epsilon of a look, 2^-50. With smaller ones it would be noise alone.
const LEAST_EPSILON: f64 = 1.0 / (1_u64 << 50) as f64;

/// `Matching` where lists are short, and otherwise another mechanism.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchingOr<M> {
    /// The mechanism for long lists, and for few users.
    pub otherwise: Box<M>,
    /// The part of epsilon that the look costs.
    pub share: f64,
}

/// What a look found: which lists users have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    /// So short that `Matching` fills most items of enough holders.
    Short,
    /// They are not, or there are too few users to tell.
    Long,
}

/// A look, as a report states it: what it cost, what it showed, and what follows from that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Looked {
    /// The epsilon of the look.
    pub epsilon: f64,
    /// The noisy score.
    pub score: i64,
    /// The least score of short lists.
    pub margin: u64,
    /// The lists that the rule finds in the noisy score.
    pub lists: Lists,
    /// The budget of the mechanism that is chosen for them.
    pub rest: Privacy,
}

impl<M> MatchingOr<M> {
    /// The mechanism for short lists.
    pub const SHORT: Matching = SHORT;

    /// The epsilon of the look, and the budget that is left.
    ///
    /// # Contract
    /// Both add up to at most `privacy`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a guarantee other than approximate DP, [`Error::Calibration`] if a part is nothing.
    pub fn parts(&self, privacy: Privacy) -> Result<(f64, Privacy)> {
        let (epsilon, delta) = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("MatchingOr")),
            Privacy::Zcdp { .. } => {
                return Err(Error::Incompatible {
                    what: "MatchingOr divides epsilon between a look and a mechanism, and ZCDP has none"
                        .into(),
                    fix: "use ApproxDP(epsilon=..., delta=...), or a Gaussian mechanism (Sips, Steered) with ZCDP",
                });
            }
            Privacy::ApproxDp { epsilon, delta } => (epsilon, delta),
        };
        let look = mul_down(self.share, epsilon);
        let rest = sub_down(epsilon, look);
        if look < LEAST_EPSILON || rest <= 0.0 {
            return Err(Error::Calibration {
                what: format!("a look and a mechanism for epsilon = {epsilon:e} together"),
                fix: "raise epsilon, or name one of the two mechanisms",
            });
        }
        Ok((look, Privacy::ApproxDp { epsilon: rest, delta }))
    }

    /// What the look sees.
    ///
    /// # Errors
    /// As [`MatchingOr::parts`].
    pub(crate) fn sight(&self, privacy: Privacy) -> Result<Sight> {
        let (epsilon, _) = self.parts(privacy)?;
        Ok(Sight { seen: L0Bound::new(FilledSlots::SEEN.into())?, rate: div_down(epsilon, CHANGE.into()) })
    }

    /// The look that shows this noisy score, and what follows from it.
    ///
    /// # Contract
    /// All of it is a function of public parameters and the noisy score.
    ///
    /// # Errors
    /// As [`MatchingOr::parts`].
    pub fn looked(&self, privacy: Privacy, score: i64) -> Result<Looked> {
        let (epsilon, rest) = self.parts(privacy)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let margin = (MARGIN * f64::from(CHANGE) / epsilon).ceil() as u64;
        let lists = if i128::from(score) >= i128::from(margin) { Lists::Short } else { Lists::Long };
        Ok(Looked { epsilon, score, margin, lists, rest })
    }
}

/// What a look sees, and the noise of what it shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    /// The most items of a user. The table is bounded at this number: the first so many places of a larger bounding are
    /// another choice of items.
    pub(crate) seen: L0Bound,
    /// The rate of the noise: by so much its probability falls for each step away from 0, on a logarithmic scale.
    rate: f64,
}

impl Sight {
    /// The score with its noise: mostly above 0 if more items are filled than are held by many, both softly.
    ///
    /// # Contract
    /// It costs the epsilon of the look. Nothing else of the slots may go into a choice.
    pub(crate) fn noisy_score(self, slots: FilledSlots, key: &ReleaseKey) -> i64 {
        noisy_score(score(slots), self.rate, key)
    }
}

/// Above 0 if more items are filled than are held by many, both softly.
fn score(slots: FilledSlots) -> i64 {
    i64::from(OF_FILLED) * slots.filled - slots.held
}

impl<M: AsRef<dyn Mechanism>> MatchingOr<M> {
    fn both(&self) -> [&dyn Mechanism; 2] {
        [&SHORT, (*self.otherwise).as_ref()]
    }
}

impl<M: AsRef<dyn Mechanism>> Mechanism for MatchingOr<M> {
    fn validate(&self) -> Result<()> {
        if !(self.share > 0.0 && self.share < 1.0) {
            return Err(Error::parameter(
                "share",
                "above 0 and below 1",
                self.share,
                "it is the part of epsilon that the look costs; 0.01 is the default",
            ));
        }
        let otherwise = (*self.otherwise).as_ref();
        otherwise.validate()?;
        unfit(otherwise).map_or(Ok(()), |flaw| {
            let rule = "a mechanism that can be chosen after the rows are read";
            Err(Error::parameter("otherwise", rule, flaw, "use one such as Steered or Sips"))
        })
    }

    /// The calibration for long lists. The one for short lists has to exist as well: no row may decide whether there is an
    /// error.
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        let (_, rest) = self.parts(privacy)?;
        let [short, otherwise] = self.both();
        short.calibrate(rest, bound)?;
        otherwise.calibrate(rest, bound)
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        let (_, rest) = self.parts(privacy)?;
        let [short, otherwise] = self.both();
        short.calibrate_beside(rest, bound, asked)?;
        otherwise.calibrate_beside(rest, bound, asked)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP: the look shows one noisy number and costs its part of epsilon; the mechanism that \
                        it chooses has what is left of epsilon, and delta",
            neighbours: ADD_OR_REMOVE,
            source: "Dwork and Roth 2014, Theorem 3.16; the proof is on its page, those of the two mechanisms on theirs",
            proof: "docs/algorithms/matching_or.md",
        }
    }

    fn properties(&self) -> Properties {
        let reach = self.both().map(|mechanism| mechanism.properties().reach);
        Properties {
            noisy_weights: NoisyWeights::Absent,
            item_order: None,
            reach: reach[0].max(reach[1]),
            looks: true,
            flaw: None,
        }
    }
}

/// Why a mechanism cannot be the other one, if so.
fn unfit(mechanism: &dyn Mechanism) -> Option<&'static str> {
    let properties = mechanism.properties();
    if properties.flaw.is_some() {
        return Some("one without a guarantee");
    }
    if properties.item_order.is_some() {
        return Some("one that orders items while rows are read");
    }
    properties.looks.then_some("another one that looks first")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::{GreedyFrequency, MechanismSpec, OneItem, Steered};

    fn choice() -> MatchingOr<MechanismSpec> {
        let otherwise = Box::new(MechanismSpec::Steered(Steered { reach: 3, ..Steered::default() }));
        MatchingOr { otherwise, share: 0.01 }
    }

    fn approx(epsilon: f64) -> Privacy {
        Privacy::ApproxDp { epsilon, delta: 1e-6 }
    }

    fn limit(items: u32) -> L0Bound {
        L0Bound::new(items.into()).unwrap()
    }

    #[test]
    fn the_parts_add_up_to_no_more_than_the_budget() {
        for share in [1e-9, 0.01, 0.1, 1.0 / 3.0, 0.5, 0.999] {
            for epsilon in [0.01, 0.1, 1.0, 1.765, 6.0, 50.0] {
                let (look, rest) = MatchingOr { share, ..choice() }.parts(approx(epsilon)).unwrap();
                let Privacy::ApproxDp { epsilon: left, delta } = rest else { panic!("{rest:?}") };
                // Sums of f64 are rounded, so they are compared in parts.
                assert!(look <= share * epsilon && left <= epsilon - look, "{share} {epsilon}");
                assert!(look + left > epsilon * (1.0 - 1e-12) && delta.to_bits() == 1e-6_f64.to_bits());
            }
        }
    }

    /// A filled slot, or all that a user holds, whichever is more.
    #[test]
    fn noise_is_for_all_that_one_user_changes() {
        let (sight, epsilon) = (choice().sight(approx(1.0)).unwrap(), choice().parts(approx(1.0)).unwrap().0);
        let (filled, held) = (FilledSlots::MOST_FILLED, FilledSlots::MOST_HELD);
        let of = |filled: u32, held: u32| score(FilledSlots { filled: filled.into(), held: held.into() });
        assert_eq!((of(filled, 0), of(0, held)), (64, -128));
        let change = of(filled, 0).max(-of(0, held)) as f64;
        assert!(sight.rate * change <= epsilon && sight.rate * change > epsilon * (1.0 - 1e-12));
        let (item, holders) = (FilledSlots::FULL_ITEM, FilledSlots::FULL_HOLDERS);
        assert_eq!([of(0, 0), of(item, holders), of(7 * item, 7 * holders)], [0; 3]);
        assert!(of(item + 1, holders) > 0 && of(item, holders + 1) < 0 && of(0, u32::MAX) < 0);
    }

    #[test]
    fn lists_are_short_by_a_margin() {
        // 128 over an epsilon a little below 0.06.
        let looked = |score| choice().looked(approx(6.0), score).unwrap();
        let margin = looked(0).margin;
        assert_eq!(margin, 2_134);
        for (score, lists) in [
            (2_133, Lists::Long),
            (2_134, Lists::Short),
            (0, Lists::Long),
            (i64::MIN, Lists::Long),
            (i64::MAX, Lists::Short),
        ] {
            assert_eq!((looked(score).lists, looked(score).margin), (lists, margin), "{score}");
        }
    }

    #[test]
    fn each_mechanism_is_calibrated_to_the_rest() {
        let (_, rest) = choice().parts(approx(6.0)).unwrap();
        let long = choice().otherwise.as_mechanism().calibrate(rest, limit(30)).unwrap();
        assert_eq!(choice().calibrate(approx(6.0), limit(30)).unwrap(), long);
        assert_eq!(choice().properties().reach, 3);
    }

    /// Otherwise a row would decide whether there is an error.
    #[test]
    fn both_mechanisms_have_to_be_calibrated() {
        let one_item = MatchingOr { otherwise: Box::new(MechanismSpec::OneItem(OneItem {})), ..choice() };
        assert!(one_item.validate().is_ok() && one_item.calibrate(approx(1.0), limit(2)).is_err());
        // There is no curve for so small a budget of the ranking, but there are noises.
        let little = MatchingOr { share: 0.5, ..choice() };
        assert!(little.otherwise.as_mechanism().calibrate(approx(4e-15), limit(2)).is_ok());
        assert!(matches!(little.calibrate(approx(4e-15), limit(2)), Err(Error::Calibration { .. })));
    }

    #[test]
    fn what_cannot_be_chosen_is_refused() {
        let refused = |choice: MatchingOr<MechanismSpec>| {
            matches!(choice.validate(), Err(Error::InvalidParameter { .. }))
        };
        let greedy = Box::new(MechanismSpec::GreedyFrequency(GreedyFrequency::default()));
        assert!(choice().validate().is_ok());
        assert!(refused(MatchingOr { otherwise: greedy, ..choice() }));
        assert!(refused(MatchingOr { otherwise: Box::new(MechanismSpec::MatchingOr(choice())), ..choice() }));
        for share in [0.0, -0.1, 1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(MatchingOr { share, ..choice() }), "{share}");
        }
    }

    #[test]
    fn only_approximate_dp_and_no_look_of_noise_alone() {
        let parts = |privacy| choice().parts(privacy);
        for privacy in [Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, Privacy::PureDp { epsilon: 1.0 }] {
            assert!(matches!(parts(privacy), Err(Error::Incompatible { .. })));
        }
        assert!(matches!(parts(approx(1e-14)), Err(Error::Calibration { .. })));
        assert!(parts(approx(1e-12)).is_ok());
    }
}
