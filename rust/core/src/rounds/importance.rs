//! The factor of an item: how much of its users' weight it gets, as a function of its evidence alone.
//!
//! Two things limit it: what its chances are worth and what it still needs. No guarantee rests on it, but the released
//! items do, so it is integer arithmetic.

use super::scoring::Scoring;
use crate::weighting::FULL_FACTOR;

/// Stands for 1 in the arithmetic here; its power 3/2 is a whole power of two as well.
const ONE: u128 = 1 << 16;

/// An item's future weights are taken to exceed the past ones by a quarter, since other items leave: 5 / 4.
const GROWTH: (u128, u128) = (5, 4);

/// The factor of an item for the next round: at least 1, and 0 if it is given up.
///
/// `exposure` is the sum of share times factor over the rounds so far, `left` the shares of those to come.
pub(super) fn factor(round: &Scoring, evidence: i64, exposure: u32, left: u32) -> u16 {
    if evidence < round.abandon {
        return 0;
    }
    let need = need(round.aim, evidence, exposure, left);
    let wanted = (need * need * need).isqrt() * u128::from(FULL_FACTOR) / ONE.pow(3).isqrt();
    smaller(worth(round.abandon, round.course, evidence), wanted)
}

/// The smaller one of two limits, as the factor of an item that is not given up.
pub(super) fn smaller(worth: u128, wanted: u128) -> u16 {
    // Otherwise: more than the full factor, to which it is cut off.
    u16::try_from(worth.min(wanted)).map_or(FULL_FACTOR, |factor| factor.clamp(1, FULL_FACTOR))
}

/// What the chances of an item are worth: the square of how far it is on the way from where it is given up to its course.
pub(super) fn worth(abandon: i64, course: i64, evidence: i64) -> u128 {
    let way = course.abs_diff(abandon).max(1);
    let covered = evidence.abs_diff(abandon).min(way);
    let chance = u128::from(covered) * ONE / u128::from(way);
    chance * chance * u128::from(FULL_FACTOR) / (ONE * ONE)
}

/// The weight that takes an item from here to its aim, as a part of the one that a full factor would give it.
fn need(aim: i64, evidence: i64, exposure: u32, left: u32) -> u128 {
    let evidence = evidence.max(1);
    let missing = u128::from(aim.max(evidence).abs_diff(evidence));
    // missing / (1 - F) over evidence / exposure; the units of share cancel, and exposure counts full factors.
    let full = ONE / u128::from(FULL_FACTOR);
    let above = missing * u128::from(exposure) * full * GROWTH.1;
    let below = u128::from(left.max(1)) * u128::from(evidence.unsigned_abs()) * GROWTH.0;
    (above / below).min(ONE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::scoring::SHARES;
    use super::*;
    use crate::noise::Noise;

    const UNIT: i64 = 1 << 30;

    fn round(abandon: i64, course: i64, aim: i64) -> Scoring {
        let noise = Noise::Gaussian { sigma: 1.0 };
        Scoring { share: SHARES / 4, noise, abandon, course, aim, publish: None }
    }

    #[test]
    fn chances_count_by_their_square() {
        let round = round(-UNIT, 3 * UNIT, i64::MAX);
        let found = [-2, -1, 0, 1, 2, 3, 9].map(|at| factor(&round, at * UNIT, SHARES * 256 / 2, SHARES / 2));
        assert_eq!(found, [0, 1, 16, 64, 144, 256, 256]);
    }

    #[test]
    fn needs_count_by_their_power_of_three_halves() {
        // Half of the budget brought 4 units; what is missing is so many parts of the 5 units that the rest brings.
        let round = round(0, 1, 9 * UNIT);
        let at = |aim: i64| factor(&Scoring { aim, ..round.clone() }, 4 * UNIT, SHARES / 2 * 256, SHARES / 2);
        let found = [0, 4, 5, 6, 8, 9, 20].map(|aim| at(aim * UNIT));
        assert_eq!(found, [1, 1, 22, 64, 183, 256, 256]);
    }

    proptest! {
        #[test]
        fn any_state_has_a_factor(
            evidence: i64, limits: [i64; 3], exposure in 0_u32..=SHARES * 256, left in 0..=SHARES,
        ) {
            let round = round(limits[0], limits[1], limits[2]);
            let found = factor(&round, evidence, exposure, left);
            prop_assert!(found <= FULL_FACTOR);
            prop_assert_eq!(found == 0, evidence < round.abandon);
        }
    }
}
