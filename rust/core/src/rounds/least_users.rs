//! Weights that are lowered before the decision, so that an item of too few users has none.

use dpsel_exact::{Error, Result};

use super::calibration::{Calibration, Round};
use super::rule::Rule;

/// The least number of users of a released item.
///
/// A user gives an item at most the weight of a user of one item. Every weight is lowered by that times one user less
/// than the least number. What is left is above zero only if at least that many users hold the item, and an item without
/// weight is never released. Proof: `docs/algorithms/min_users.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lowered {
    min_users: u32,
}

impl Lowered {
    /// Weights as they are.
    pub const NOT: Self = Self { min_users: 1 };

    /// So that every released item has at least this many users.
    #[must_use]
    pub fn to(min_users: u32) -> Self {
        Self { min_users: min_users.max(1) }
    }

    /// What is taken off every weight of a round, in grid steps.
    #[must_use]
    pub fn in_round(self, round: &Round) -> u64 {
        let most = round.weighting.weight_in_quanta(1, round.rule.quantum());
        u64::from(self.min_users - 1).saturating_mul(most)
    }

    /// Refuse rounds for which lowered weights have no proof: those where users react to each other, or where noise of
    /// several rounds adds up.
    ///
    /// # Errors
    /// [`Error::Incompatible`] with the mechanisms to use.
    pub fn check(self, calibration: &Calibration) -> Result<()> {
        let is_plain = |round: &Round| {
            round.weighting.adds_up()
                && match round.rule {
                    Rule::Noisy(_) | Rule::Curve(_) => true,
                    Rule::Scoring(_) | Rule::Screening(_) | Rule::Ranking(_) => false,
                }
        };
        if self == Self::NOT || calibration.rounds.iter().all(is_plain) {
            return Ok(());
        }
        Err(Error::Incompatible {
            what: "min_users= has a proof only where each round decides by weights of its own, which no other user \
                   changes"
                .into(),
            fix: "use mechanism=\"auto\", CountGaussian, CountLaplace, WeightedGaussian, WeightedLaplace, OneItem or Sips",
        })
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::noise::{Noise, Threshold};
    use dpsel_exact::numeric::UNIT;

    use super::*;
    use crate::threshold::Noisy;
    use crate::weighting::Weighting;

    fn round(weighting: Weighting) -> Round {
        let rule = Noisy { noise: Noise::Gaussian { sigma: 1.0 }, threshold: Threshold::from_steps(0) };
        Round { weighting, rule: Rule::Noisy(rule) }
    }

    #[test]
    fn one_user_less_can_never_reach_what_is_taken_off() {
        for weighting in [Weighting::Count, Weighting::EqualL1, Weighting::EqualL2] {
            for least in [1, 2, 7, u32::MAX] {
                let off = Lowered::to(least).in_round(&round(weighting));
                for items in 1..50 {
                    assert!(u64::from(least - 1) * weighting.weight_in_quanta(items, 1) <= off);
                }
                assert_eq!(off, u64::from(least - 1) * UNIT);
            }
        }
    }
}
