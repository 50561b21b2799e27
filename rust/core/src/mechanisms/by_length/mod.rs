//! `ByLength`: a noisy number of users with long lists decides between two mechanisms.
//!
//! Theorem: the look is (`share` epsilon, 0)-DP, and the mechanism that it chooses has the rest of the budget. Either
//! choice is fixed by what the look shows, so both compose adaptively. Source: Dwork and Roth 2014, Theorem 3.16. Proof:
//! `docs/algorithms/by_length.md`.

use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::{mul_down, sub_down};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::shared::requirements::{ADD_OR_REMOVE, no_pure_dp};
use super::{Mechanism, NoisyWeights, Properties};
use crate::counting::NumbersAsked;
use crate::rounds::Calibration;

/// By how much more than the noise of the look lists have to be short, in multiples of 1 / epsilon of the look.
///
/// The noise of a count is larger with a probability of 1 in 40.
const MARGIN: f64 = 3.0;
/// The least epsilon of a look, 2^-50. With smaller ones it would be noise alone.
const LEAST_RATE: f64 = 1.0 / (1_u64 << 50) as f64;

/// A choice between two mechanisms, by the lengths of the lists of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByLength<M> {
    /// The mechanism for short lists.
    pub short: Box<M>,
    /// The mechanism for long ones, and for few users.
    pub long: Box<M>,
    /// The most items of a short list, before any limit.
    pub size: u32,
    /// Lists count as short if at most so many per cent of the users have more items.
    pub percent: u32,
    /// The part of epsilon that the look costs.
    pub share: f64,
}

/// What a look found: which lists users have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    /// Nearly all of them are short.
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
    /// The noisy numbers of users with short and with long lists.
    pub users: [i64; 2],
    /// The number of users by which lists have to be short more clearly than asked for.
    pub margin: u64,
    /// The lists that the rule finds in the noisy numbers.
    pub lists: Lists,
    /// The budget of the mechanism that is chosen for them.
    pub rest: Privacy,
}

impl<M> ByLength<M> {
    /// The mechanism for the lists that were found.
    #[must_use]
    pub fn for_lists(&self, lists: Lists) -> &M {
        match lists {
            Lists::Short => &self.short,
            Lists::Long => &self.long,
        }
    }

    /// The epsilon of the look, and the budget that is left.
    ///
    /// # Contract
    /// Both add up to at most `privacy`.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for a guarantee other than approximate DP, [`Error::Calibration`] if a part is nothing.
    pub fn parts(&self, privacy: Privacy) -> Result<(f64, Privacy)> {
        let (epsilon, delta) = match privacy.validate()? {
            Privacy::PureDp { .. } => return Err(no_pure_dp("ByLength")),
            Privacy::Zcdp { .. } => {
                return Err(Error::Incompatible {
                    what: "ByLength divides epsilon between a look and a mechanism, and ZCDP has none".into(),
                    fix: "use ApproxDP(epsilon=..., delta=...), or a Gaussian mechanism (Sips, Steered) with ZCDP",
                });
            }
            Privacy::ApproxDp { epsilon, delta } => (epsilon, delta),
        };
        let look = mul_down(self.share, epsilon);
        let rest = sub_down(epsilon, look);
        if look < LEAST_RATE || rest <= 0.0 {
            return Err(Error::Calibration {
                what: format!("a look and a mechanism for epsilon = {epsilon:e} together"),
                fix: "raise epsilon, or name one of the two mechanisms",
            });
        }
        Ok((look, Privacy::ApproxDp { epsilon: rest, delta }))
    }

    /// The look that shows these noisy numbers, and what follows from them.
    ///
    /// # Contract
    /// All of it is a function of public parameters and the noisy numbers.
    ///
    /// # Errors
    /// As [`ByLength::parts`].
    pub fn looked(&self, privacy: Privacy, users: [i64; 2]) -> Result<Looked> {
        let (epsilon, rest) = self.parts(privacy)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let margin = (MARGIN / epsilon).ceil() as u64;
        Ok(Looked { epsilon, users, margin, lists: self.lists(users, margin), rest })
    }

    /// Lists are short if the users with long ones and the margin are at most `percent` per cent of all users.
    fn lists(&self, [short, long]: [i64; 2], margin: u64) -> Lists {
        let (short, long) = (i128::from(short.max(0)), i128::from(long.max(0)));
        let is_short = 100 * (long + i128::from(margin)) <= i128::from(self.percent) * (short + long);
        if is_short { Lists::Short } else { Lists::Long }
    }
}

impl<M: AsRef<dyn Mechanism>> ByLength<M> {
    fn both(&self) -> [(&'static str, &dyn Mechanism); 2] {
        [("short", (*self.short).as_ref()), ("long", (*self.long).as_ref())]
    }
}

impl<M: AsRef<dyn Mechanism>> Mechanism for ByLength<M> {
    fn validate(&self) -> Result<()> {
        if !(1..=L0Bound::MAX).contains(&self.size) {
            return Err(Error::parameter(
                "size",
                "between 1 and 10,000,000",
                self.size,
                "it is the most items of a short list; 32 is the default",
            ));
        }
        if self.percent > 100 {
            return Err(Error::parameter(
                "percent",
                "between 0 and 100",
                self.percent,
                "lists are short if at most so many per cent of the users have more than size items",
            ));
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            return Err(Error::parameter(
                "share",
                "above 0 and below 1",
                self.share,
                "it is the part of epsilon that the look costs; 0.01 is the default",
            ));
        }
        for (name, mechanism) in self.both() {
            mechanism.validate()?;
            if let Some(flaw) = unfit(mechanism) {
                return Err(Error::parameter(
                    name,
                    "a mechanism that can be chosen after the rows are read",
                    flaw,
                    "use one such as Matching or Steered",
                ));
            }
        }
        Ok(())
    }

    /// The calibration for long lists. The one for short lists has to exist as well: no row may decide whether there is an
    /// error.
    fn calibrate(&self, privacy: Privacy, bound: L0Bound) -> Result<Calibration> {
        let (_, rest) = self.parts(privacy)?;
        let [(_, short), (_, long)] = self.both();
        short.calibrate(rest, bound)?;
        long.calibrate(rest, bound)
    }

    fn calibrate_beside(
        &self,
        privacy: Privacy,
        bound: L0Bound,
        asked: &NumbersAsked,
    ) -> Result<Calibration> {
        let (_, rest) = self.parts(privacy)?;
        let [(_, short), (_, long)] = self.both();
        short.calibrate_beside(rest, bound, asked)?;
        long.calibrate_beside(rest, bound, asked)
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee {
            statement: "(epsilon, delta)-DP: the look shows two noisy numbers of users and costs its part of epsilon; \
                        the mechanism that they choose has what is left of epsilon, and delta",
            neighbours: ADD_OR_REMOVE,
            source: "Dwork and Roth 2014, Theorem 3.16; the proof is on its page, those of the two mechanisms on theirs",
            proof: "docs/algorithms/by_length.md",
        }
    }

    fn properties(&self) -> Properties {
        let reach = self.both().map(|(_, mechanism)| mechanism.properties().reach);
        Properties {
            noisy_weights: NoisyWeights::Absent,
            item_order: None,
            reach: reach[0].max(reach[1]),
            looks: true,
            flaw: None,
        }
    }
}

/// Why a mechanism cannot be one of the two, if so.
fn unfit(mechanism: &dyn Mechanism) -> Option<&'static str> {
    let properties = mechanism.properties();
    if properties.flaw.is_some() {
        return Some("one without a guarantee");
    }
    if properties.item_order.is_some() {
        return Some("one that orders items while rows are read");
    }
    properties.looks.then_some("another choice by length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::{GreedyFrequency, Matching, MechanismSpec, OneItem, Steered};

    fn choice() -> ByLength<MechanismSpec> {
        ByLength {
            short: Box::new(MechanismSpec::Matching(Matching { screening: true })),
            long: Box::new(MechanismSpec::Steered(Steered { reach: 3, ..Steered::default() })),
            size: 32,
            percent: 2,
            share: 0.01,
        }
    }

    fn approx(epsilon: f64) -> Privacy {
        Privacy::ApproxDp { epsilon, delta: 1e-6 }
    }

    #[test]
    fn the_parts_add_up_to_no_more_than_the_budget() {
        for share in [1e-9, 0.01, 0.1, 1.0 / 3.0, 0.5, 0.999] {
            for epsilon in [0.01, 0.1, 1.0, 1.765, 6.0, 50.0] {
                let (look, rest) = ByLength { share, ..choice() }.parts(approx(epsilon)).unwrap();
                let Privacy::ApproxDp { epsilon: left, delta } = rest else { panic!("{rest:?}") };
                // Sums of f64 are rounded, so they are compared in parts.
                assert!(look <= share * epsilon && left <= epsilon - look, "{share} {epsilon}");
                assert!(look + left > epsilon * (1.0 - 1e-12) && delta.to_bits() == 1e-6_f64.to_bits());
            }
        }
    }

    #[test]
    fn lists_are_short_by_a_margin() {
        let lists = |users| choice().looked(approx(6.0), users).unwrap().lists;
        // 100 (long + 51) against 2 (short + long): epsilon of the look is a little below 0.06.
        assert_eq!(choice().looked(approx(6.0), [0, 0]).unwrap().margin, 51);
        assert_eq!(lists([2_550, 0]), Lists::Short);
        assert_eq!(lists([2_549, 0]), Lists::Long);
        assert_eq!(lists([2_550, 1]), Lists::Long);
        assert_eq!(lists([2_599, 1]), Lists::Short);
        // Noise below 0 makes nothing short.
        for few in [[-5, -5], [2_549, -900], [i64::MIN, i64::MIN], [0, i64::MAX], [i64::MIN, i64::MAX]] {
            assert_eq!(lists(few), Lists::Long, "{few:?}");
        }
        assert_eq!(lists([i64::MAX, i64::MIN]), Lists::Short);
    }

    #[test]
    fn each_mechanism_is_calibrated_to_the_rest() {
        let (bound, choice) = (L0Bound::new(30).unwrap(), choice());
        let (_, rest) = choice.parts(approx(6.0)).unwrap();
        let long = choice.for_lists(Lists::Long).as_mechanism().calibrate(rest, bound).unwrap();
        assert_eq!(choice.calibrate(approx(6.0), bound).unwrap(), long);
        assert_eq!(
            choice.for_lists(Lists::Short).as_mechanism().calibrate(rest, bound).unwrap().rounds.len(),
            2
        );
        assert_eq!(choice.properties().reach, 3);
    }

    /// Otherwise a row would decide whether there is an error.
    #[test]
    fn both_mechanisms_have_to_be_calibrated() {
        let bound = L0Bound::new(2).unwrap();
        let one_item = || Box::new(MechanismSpec::OneItem(OneItem {}));
        for choice in [ByLength { short: one_item(), ..choice() }, ByLength { long: one_item(), ..choice() }]
        {
            assert!(choice.validate().is_ok() && choice.calibrate(approx(1.0), bound).is_err());
        }
    }

    #[test]
    fn what_cannot_be_chosen_is_refused() {
        let refused = |choice: ByLength<MechanismSpec>| {
            matches!(choice.validate(), Err(Error::InvalidParameter { .. }))
        };
        let greedy = Box::new(MechanismSpec::GreedyFrequency(GreedyFrequency::default()));
        assert!(choice().validate().is_ok());
        assert!(refused(ByLength { long: greedy, ..choice() }));
        assert!(refused(ByLength { short: Box::new(MechanismSpec::ByLength(choice())), ..choice() }));
        assert!(refused(ByLength { size: 0, ..choice() }) && refused(ByLength { percent: 101, ..choice() }));
        for share in [0.0, -0.1, 1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(ByLength { share, ..choice() }), "{share}");
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
