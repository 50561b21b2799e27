//! The forecast for `plan`: which items a calibration would release. It needs no data, uses plain arithmetic and is not
//! part of any guarantee.

use crate::rounds::{Calibration, Lowered};
use dpsel_exact::numeric::UNIT;

use crate::weighting::Weighting;

/// The most users that [`users_needed`] considers.
pub const MOST_USERS: u64 = 1 << 32;

/// The probability that an item of `users` users, each holding `items_per_user` bounded items, is released in some
/// round.
///
/// The users' other items stay with them in every round, which is the worst case for mechanisms of several rounds.
/// Where users come one after the other, their other items are taken to be as popular as this one.
#[must_use]
pub fn keep_probability(calibration: &Calibration, lowered: Lowered, users: u64, items_per_user: u32) -> f64 {
    let scored = calibration.scoring().map(|(_, publish)| publish.equal_weight(items_per_user));
    let missed = calibration.rounds.iter().map(|round| {
        let given = match round.weighting {
            // A user gives its unit to one of its items, each in its turn.
            Weighting::Greedy(_) | Weighting::Matching(_) => users / u64::from(items_per_user.max(1)) * UNIT,
            weighting @ (Weighting::Count
            | Weighting::EqualL1
            | Weighting::EqualL2
            | Weighting::PolicyL1(_)
            | Weighting::PolicyL2(_)
            | Weighting::Mad(_)) => {
                users.saturating_mul(weighting.weight_in_quanta(items_per_user, round.rule.quantum()))
            }
        };
        // Scored rounds decide by the weight of all rounds.
        let given = scored.map_or(given, |weight| users.saturating_mul(weight));
        let given = given.saturating_sub(lowered.in_round(round));
        let weight = i128::from(given.min(round.weighting.cutoff()));
        // An item without weight is never released.
        if lowered != Lowered::NOT && weight == 0 {
            return 1.0;
        }
        1.0 - round.rule.keep_probability(weight)
    });
    (1.0 - missed.product::<f64>()).clamp(0.0, 1.0)
}

/// The fewest users, each of `items_per_user` items, that make the release of an item at least this likely.
///
/// `None` if [`MOST_USERS`] do not suffice.
#[must_use]
pub fn users_needed(
    calibration: &Calibration,
    lowered: Lowered,
    items_per_user: u32,
    probability: f64,
) -> Option<u64> {
    let enough = |users: u64| keep_probability(calibration, lowered, users, items_per_user) >= probability;
    if !enough(MOST_USERS) {
        return None;
    }
    let (mut fails, mut good) = (0, MOST_USERS);
    while good - fails > 1 {
        let middle = fails + (good - fails) / 2;
        if enough(middle) { good = middle } else { fails = middle }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::{L0Bound, Privacy};

    use super::*;
    use crate::mechanisms::{CountGaussian, Mechanism, Sips};

    #[test]
    fn more_users_are_kept_more_often() {
        let bound = L0Bound::new(10).unwrap();
        let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 };
        let mechanisms: [&dyn Mechanism; 2] = [&CountGaussian {}, &Sips::default()];
        for mechanism in mechanisms {
            let calibration = mechanism.calibrate(privacy, bound).unwrap();
            assert!(keep_probability(&calibration, Lowered::NOT, 1, 10) < 1e-6);
            let needed = [0.5, 0.95, 0.99].map(|p| users_needed(&calibration, Lowered::NOT, 10, p).unwrap());
            assert!(needed[0] < needed[1] && needed[1] < needed[2], "{needed:?}");
            for (users, p) in needed.into_iter().zip([0.5, 0.95, 0.99]) {
                assert!(keep_probability(&calibration, Lowered::NOT, users, 10) >= p);
                assert!(keep_probability(&calibration, Lowered::NOT, users - 1, 10) < p);
            }
        }
    }

    #[test]
    fn out_of_reach_is_none() {
        let bound = L0Bound::new(10_000_000).unwrap();
        let privacy = Privacy::Zcdp { rho: 1e-6, delta: 1e-9 };
        let calibration = CountGaussian {}.calibrate(privacy, bound).unwrap();
        assert_eq!(users_needed(&calibration, Lowered::NOT, 1, 1.0 + f64::EPSILON), None);
    }
}
