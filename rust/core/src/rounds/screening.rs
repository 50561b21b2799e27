//! Screening rounds: the noisy weights of all items set the importances of the items, and nothing else.
//!
//! The noisy weights count as published in the proof (`docs/algorithms/mad2r.md`), so importances are post-processing.

use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::widths::clipped;
use serde::{Deserialize, Serialize};

use super::importance::{by_prospect, smaller_of};
use crate::weighting::FULL_IMPORTANCE;

/// A round that releases nothing and sets the importance of each item for the next round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screening {
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// Items with a smaller noisy weight (in grid steps) are abandoned: users leave them out.
    pub futility_bound: i64,
    /// Items with a smaller noisy weight (in grid steps) get a smaller importance.
    pub expected_path: i64,
    /// Items with a larger noisy weight (in grid steps) have more than they need and get a smaller importance.
    pub target: i64,
}

impl Screening {
    /// The importance of an item of this noisy weight: at least 1, and 0 if it is abandoned.
    pub(super) fn importance(&self, noisy: i64) -> u16 {
        if noisy < self.futility_bound {
            return 0;
        }
        let (target, positive) = (self.target.max(0).unsigned_abs(), noisy.max(1).unsigned_abs());
        let by_excess = u128::from(FULL_IMPORTANCE) * u128::from(target) / u128::from(positive);
        smaller_of(by_prospect(self.futility_bound, self.expected_path, noisy), clipped(by_excess))
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::numeric::UNIT;
    use proptest::prelude::*;

    use super::*;

    const ONE: i64 = UNIT.cast_signed();

    fn screening(futility_bound: i64, expected_path: i64, target: i64) -> Screening {
        Screening { noise: Noise::Gaussian { sigma: 1.0 }, futility_bound, expected_path, target }
    }

    #[test]
    fn importances_rise_with_the_square_of_the_way_and_fall_beyond_the_target() {
        let screening = screening(0, 4 * ONE, 8 * ONE);
        let found = [-1, 0, ONE, 2 * ONE, 4 * ONE, 8 * ONE, 12 * ONE, 16 * ONE, i64::MAX];
        assert_eq!(found.map(|noisy| screening.importance(noisy)), [0, 1, 16, 64, 256, 256, 170, 128, 1]);
    }

    #[test]
    fn any_noisy_weight_has_an_importance() {
        proptest!(|(noisy: i64, limits: [i64; 3])| {
            let screening = screening(limits[0], limits[1], limits[2]);
            let importance = screening.importance(noisy);
            prop_assert!(importance <= 256);
            prop_assert_eq!(importance == 0, noisy < screening.futility_bound);
        });
    }
}
