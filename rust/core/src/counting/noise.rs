//! What counts are asked for, and the noise that a part of the budget buys.

use serde::{Deserialize, Serialize};

use crate::accounting::{Guarantee, L0Bound};
use crate::noise::Noise;
use crate::numeric::{UNIT, add_up, div_up, mul_up, sqrt_up};
use crate::{Error, Result};

/// Counts of the users of released items, as a request asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedUsers {
    /// The part of the budget that counts cost.
    pub share: f64,
    /// A user of more released items counts less than 1 in each of them.
    pub max_counted_items: L0Bound,
    /// Whether numbers below 0 are published as 0.
    pub nonnegative: bool,
}

impl CountedUsers {
    /// Noisy numbers as they are published.
    pub(crate) fn published(&self, mut users: Vec<i64>) -> Vec<i64> {
        if self.nonnegative {
            for number in &mut users {
                *number = (*number).max(0);
            }
        }
        users
    }

    /// Check the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter.
    pub fn validate(&self) -> Result<()> {
        L0Bound::new(self.max_counted_items.get().into()).map_err(|_| {
            Error::parameter(
                "max_counted_items",
                "between 1 and 10,000,000",
                self.max_counted_items.get(),
                "users of more released items count less than 1 in each of them",
            )
        })?;
        if self.share > 0.0 && self.share < 1.0 {
            return Ok(());
        }
        Err(Error::parameter(
            "share",
            "above 0 and below 1",
            self.share,
            "it is the part of the budget that counts cost; 0.2 is usual",
        ))
    }
}

/// How counts are paid for, beside the rounds of a selection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paid {
    /// Rounds and counts have budgets of their own, which add up.
    Apart,
    /// Counts are one more Gaussian round: the squares of all distances of means add up.
    Together,
}

impl Paid {
    /// The guarantee of items and counts together, where counts are one more round.
    pub(crate) const GUARANTEE: Guarantee = Guarantee {
        statement: "(epsilon, delta)-DP of items and numbers of users together, by the exact composition of Gaussian rounds, of \
                    which the numbers are the last, plus the probability of what a threshold lets through; or \
                    delta-approximate rho-zCDP, where rho adds up",
        neighbours: "add or remove one user with all its rows",
        source: "this library; composition by Dong, Roth and Su 2022, Gaussian noise by Balle and Wang 2018",
        proof: "docs/algorithms/counts.md",
    };

    /// The theorem in one sentence.
    #[must_use]
    pub fn statement(self) -> &'static str {
        match self {
            Self::Apart => {
                "the items have the guarantee of their mechanism for one part of the budget, the counts of their users the one of \
                 Gaussian noise for the other part, and both parts add up to the stated guarantee"
            }
            Self::Together => {
                "the counts of the users of released items are one more adaptive Gaussian round, so that the stated guarantee is \
                 of items and counts together"
            }
        }
    }
}

/// The noise of counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountNoise {
    /// Gaussian, in users.
    pub noise: Noise,
    /// The half-width of an interval that holds one count with 95 %, rounding to whole numbers included.
    pub half_width: f64,
    /// A user of more released items counts less than 1 in each of them.
    pub max_counted_items: L0Bound,
    /// How it is paid for.
    pub paid: Paid,
}

/// The upper 2.5 % point of a standard normal, rounded up.
const TWO_SIDED: f64 = 1.959_963_984_540_055;
/// Noise of a larger standard deviation need not fit an `i64` of grid steps.
const LARGEST: f64 = (1_u64 << 28) as f64;
/// Codes of items: the most items that one user may hold.
const ALL_ITEMS: f64 = (1_u64 << 32) as f64;

impl CountNoise {
    /// The noise whose means one user moves by at most `mu` standard deviations.
    ///
    /// # Contract
    /// sqrt(`limit`) / sigma <= `mu` in real numbers.
    ///
    /// # Errors
    /// [`Error::Calibration`] if the noise is too large for the integers of counts.
    pub fn new(mu: f64, limit: L0Bound, paid: Paid) -> Result<Self> {
        let sigma = div_up(sqrt_up(limit.get().into()), mu);
        if !(sigma > 0.0 && sigma < LARGEST) {
            return Err(Error::Calibration {
                what: "noise of counts below 2^28 users".into(),
                fix: "raise the share of counts or the budget, or lower max_counted_items",
            });
        }
        let half_width = add_up(mul_up(TWO_SIDED, sigma), 0.5);
        Ok(Self { noise: Noise::Gaussian { sigma }, half_width, max_counted_items: limit, paid })
    }

    /// The standard deviation, in users.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        let (Noise::Gaussian { sigma: scale } | Noise::Laplace { scale }) = self.noise;
        scale
    }

    /// Upper bound of the distance by which one user moves the means, in standard deviations.
    #[must_use]
    pub fn mu(&self) -> f64 {
        div_up(sqrt_up(self.max_counted_items.get().into()), self.sigma())
    }

    /// Upper bound of the total variation to exact noise: one user changes the counts of any number of items, and each
    /// whole number within 14 standard deviations is exact up to 2^-128.
    #[must_use]
    pub fn slack(&self) -> f64 {
        let values = add_up(mul_up(28.0, self.sigma()), 4.0);
        mul_up(mul_up(values, ALL_ITEMS), 1.0 / 2_f64.powi(128))
    }
}

/// What a user of `held` released items adds to each of them, in grid steps: min(1, sqrt(limit / held)), rounded down.
///
/// # Contract
/// The squares of `held` such contributions add up to at most `limit`, in squared units, exactly.
#[expect(clippy::cast_possible_truncation, reason = "at most one unit")]
fn contribution(held: u64, limit: L0Bound) -> u64 {
    let limit = u64::from(limit.get());
    if held <= limit {
        return UNIT;
    }
    (u128::from(UNIT) * u128::from(UNIT) * u128::from(limit) / u128::from(held)).isqrt() as u64
}

/// Hand out what a user adds to each counted item that it holds: the place of the item, and grid steps.
///
/// # Contract
/// `held` has all items of the user, each once, and `place` the place of every counted item. So the user has one norm
/// for all of them.
pub(crate) fn each_contribution<P>(
    held: &[u32],
    place: impl Fn(u32) -> Option<P>,
    limit: L0Bound,
    mut add: impl FnMut(P, u64),
) {
    let counted = held.iter().filter_map(|item| place(*item));
    let each = contribution(counted.clone().count() as u64, limit);
    counted.for_each(|place| add(place, each));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limit(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    #[test]
    fn a_user_within_the_limit_counts_whole() {
        for (held, items) in [(1, 1), (1, 7), (7, 7), (10_000_000, 10_000_000)] {
            assert_eq!(contribution(held, limit(items)), UNIT);
        }
        assert_eq!(contribution(4, limit(1)), UNIT / 2);
        assert_eq!(contribution(400, limit(100)), UNIT / 2);
    }

    proptest! {
        #[test]
        fn the_norm_is_within_the_limit(held in 1_u64..=u64::from(u32::MAX), items in 1_u64..=10_000_000) {
            let each = u128::from(contribution(held, limit(items)));
            let unit = u128::from(UNIT);
            prop_assert!(u128::from(held) * each * each <= unit * unit * u128::from(items));
            // Nothing is given away but a grid step.
            let more = each + 1;
            prop_assert!(each == unit || u128::from(held) * more * more > unit * unit * u128::from(items));
        }
    }

    #[test]
    fn the_noise_is_that_of_its_distance() {
        for (mu, items) in [(0.2, 1), (0.2, 100), (1.5, 300), (1e-3, 7)] {
            let noise = CountNoise::new(mu, limit(items), Paid::Together).unwrap();
            let moved = (items as f64).sqrt() / noise.sigma();
            assert!(moved <= mu && moved > mu * (1.0 - 1e-14));
            assert!((noise.half_width - 0.5) / noise.sigma() > 1.959_96 && noise.slack() < 1e-18);
        }
        for mu in [0.0, f64::NAN, 1e-9] {
            assert!(matches!(CountNoise::new(mu, limit(1), Paid::Apart), Err(Error::Calibration { .. })));
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let asked = |share| CountedUsers { share, max_counted_items: limit(3), nonnegative: false };
        assert!(asked(0.2).validate().is_ok());
        for share in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(asked(share).validate(), Err(Error::InvalidParameter { .. })), "{share}");
        }
    }
}
