//! What counts are asked for, and the noise that a part of the budget buys.

use dpsel_exact::accounting::{Guarantee, L0Bound};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::{add_up, div_up, mul_up, sqrt_up};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::limit::CountLimit;
use dpsel_exact::numeric::UNIT;

/// Counts of the users of released items, or of their rows, as a request asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountedUsers {
    /// The part of the budget that counts cost.
    pub share: f64,
    /// A user of more released items counts less than 1 in each of them.
    pub max_counted_items: L0Bound,
    /// Whether numbers below 0 are published as 0.
    pub nonnegative: bool,
    /// Rows are counted in place of users: of one user, up to so many of each item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_item: Option<u32>,
}

impl CountedUsers {
    /// How much one user counts.
    #[must_use]
    pub fn limit(&self) -> CountLimit {
        CountLimit::new(self.max_counted_items, self.max_rows_per_item)
    }

    /// The name of the column of published numbers.
    #[must_use]
    pub fn column(&self) -> &'static str {
        if self.max_rows_per_item.is_some() { ROWS_COLUMN } else { USERS_COLUMN }
    }

    /// Noisy numbers as they are published.
    pub(crate) fn published(&self, mut numbers: Vec<i64>) -> Vec<i64> {
        if self.nonnegative {
            for number in &mut numbers {
                *number = (*number).max(0);
            }
        }
        numbers
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
        if let Some(rows) = self.max_rows_per_item
            && !(1..=CountLimit::MOST_ROWS).contains(&rows)
        {
            let fix = "of one user, so many rows of each item count";
            return Err(Error::parameter("max_rows_per_item", "between 1 and 1,000,000", rows, fix));
        }
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

/// Name of the column of noisy numbers of users.
pub const USERS_COLUMN: &str = "users";
/// Name of the column of noisy numbers of rows.
pub const ROWS_COLUMN: &str = "rows";

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
        statement: "(epsilon, delta)-DP of items and their numbers together, by the exact composition of Gaussian rounds, of \
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
                "the items have the guarantee of their mechanism for one part of the budget, their counts the one of \
                 Gaussian noise for the other part, and both parts add up to the stated guarantee"
            }
            Self::Together => {
                "the counts of released items are one more adaptive Gaussian round, so that the stated guarantee is \
                 of items and counts together"
            }
        }
    }
}

/// The noise of counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountNoise {
    /// Gaussian, in users or rows.
    pub noise: Noise,
    /// The half-width of an interval that holds one count with 95 %, rounding to whole numbers included.
    pub half_width: f64,
    /// A user of more released items counts less than 1 in each of them.
    pub max_counted_items: L0Bound,
    /// Rows are counted: of one user, up to so many of each item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_item: Option<u32>,
    /// How it is paid for.
    pub paid: Paid,
}

/// Half the width of an interval that holds one number with 95 %.
pub(super) struct HalfWidth;

impl HalfWidth {
    /// The upper 2.5 % point of a standard normal, rounded up.
    pub(super) const TWO_SIDED: f64 = 1.959_963_984_540_055;

    /// Of noise of this standard deviation. Rounding to whole numbers is included.
    pub(super) fn of(sigma: f64) -> f64 {
        add_up(mul_up(Self::TWO_SIDED, sigma), 0.5)
    }
}

/// Noise of a larger standard deviation need not fit an `i64` of grid steps.
const LARGEST: f64 = (1_u64 << 28) as f64;
/// Codes of items: the most items that one user may hold.
const ALL_ITEMS: f64 = (1_u64 << 32) as f64;

impl CountNoise {
    /// What mends a request whose numbers would have too much noise.
    pub(crate) const TOO_NOISY: &str =
        "raise share, epsilon or rho, or lower max_counted_items, max_rows_per_item or max_rows_per_user";

    /// The noise whose means one user moves by at most `mu` standard deviations.
    ///
    /// # Contract
    /// The norm of what `asked` lets one user count, over sigma, is at most `mu` in real numbers.
    ///
    /// # Errors
    /// [`Error::Calibration`] if the noise is too large for the integers of counts.
    pub fn new(mu: f64, asked: &CountedUsers, paid: Paid) -> Result<Self> {
        let sigma = scale_of(norm_up(asked.limit()), mu, "counts=")?;
        let half_width = HalfWidth::of(sigma);
        let CountedUsers { max_counted_items, max_rows_per_item, .. } = *asked;
        Ok(Self { noise: Noise::Gaussian { sigma }, half_width, max_counted_items, max_rows_per_item, paid })
    }

    /// How much one user counts.
    #[must_use]
    pub fn limit(&self) -> CountLimit {
        CountLimit::new(self.max_counted_items, self.max_rows_per_item)
    }

    /// The standard deviation, in users or rows.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        let (Noise::Gaussian { sigma: scale } | Noise::Laplace { scale }) = self.noise;
        scale
    }

    /// Upper bound of the distance by which one user moves the means, in standard deviations.
    #[must_use]
    pub fn mu(&self) -> f64 {
        div_up(norm_up(self.limit()), self.sigma())
    }

    /// Upper bound of the total variation to exact noise: one user changes the counts of any number of items, and each
    /// whole number within 14 standard deviations is exact up to 2^-128.
    #[must_use]
    pub fn slack(&self) -> f64 {
        mul_up(ALL_ITEMS, slack_of_values(self.sigma()))
    }
}

/// The standard deviation with which one user, who moves sums by `norm`, moves means by `mu` deviations at most.
///
/// # Errors
/// [`Error::Calibration`] if it is too large for the integers of counts.
pub(super) fn scale_of(norm: f64, mu: f64, option: &str) -> Result<f64> {
    let sigma = div_up(norm, mu);
    // A distance that is no number, rounded down, is below 0, and its noise would be too small.
    if mu > 0.0 && sigma > 0.0 && sigma < LARGEST {
        return Ok(sigma);
    }
    Err(Error::Calibration {
        what: format!("{option} with noise of a standard deviation below 2^28 = 268,435,456"),
        fix: CountNoise::TOO_NOISY,
    })
}

/// Upper bound of the total variation between one published number and exact noise: each whole number within 14 standard
/// deviations is exact up to 2^-128.
pub(super) fn slack_of_values(sigma: f64) -> f64 {
    mul_up(add_up(mul_up(28.0, sigma), 4.0), 1.0 / 2_f64.powi(128))
}

/// A noisy number in grid steps to the nearest whole number.
#[expect(clippy::cast_possible_truncation, reason = "a 2^30th of an i64")]
pub(super) fn rounded(steps: i64) -> i64 {
    (i128::from(steps) + i128::from(UNIT / 2)).div_euclid(i128::from(UNIT)) as i64
}

/// The most by which one user moves the sums, in the L2 norm, rounded up.
fn norm_up(limit: CountLimit) -> f64 {
    mul_up(sqrt_up(limit.items().get().into()), limit.most_rows().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    fn asked(items: u64, rows: Option<u32>) -> CountedUsers {
        CountedUsers {
            share: 0.2,
            max_counted_items: limit(items),
            nonnegative: false,
            max_rows_per_item: rows,
        }
    }

    #[test]
    fn the_noise_is_that_of_its_distance() {
        for (mu, items, rows) in [
            (0.2, 1, None),
            (0.2, 100, Some(1)),
            (1.5, 300, Some(70)),
            (1e-3, 7, None),
            (2.0, 7, Some(1_000_000)),
        ] {
            let noise = CountNoise::new(mu, &asked(items, rows), Paid::Together).unwrap();
            let moved = (items as f64).sqrt() * f64::from(rows.unwrap_or(1)) / noise.sigma();
            assert!(moved <= mu * (1.0 + 1e-15) && moved > mu * (1.0 - 1e-14));
            assert!(noise.mu() >= moved * (1.0 - 1e-15) && noise.mu() <= mu * (1.0 + 1e-14));
            assert!((noise.half_width - 0.5) / noise.sigma() > 1.959_96 && noise.slack() < 1e-18);
        }
        for mu in [0.0, f64::NAN, 1e-9] {
            assert!(matches!(
                CountNoise::new(mu, &asked(1, None), Paid::Apart),
                Err(Error::Calibration { .. })
            ));
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let of = |share| CountedUsers { share, ..asked(3, None) };
        assert!(of(0.2).validate().is_ok());
        for share in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(of(share).validate(), Err(Error::InvalidParameter { .. })), "{share}");
        }
        assert!(
            asked(3, Some(1)).validate().is_ok() && asked(3, Some(CountLimit::MOST_ROWS)).validate().is_ok()
        );
        for rows in [0, CountLimit::MOST_ROWS + 1, u32::MAX] {
            let refused = asked(3, Some(rows)).validate();
            assert!(
                matches!(refused, Err(Error::InvalidParameter { name: "max_rows_per_item", .. })),
                "{rows}"
            );
        }
    }
}
