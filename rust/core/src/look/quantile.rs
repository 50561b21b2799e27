//! The limit of items as a noisy quantile of the users' numbers of distinct items.
//!
//! Theorem: the noisy numbers of users are (epsilon, 0)-DP, so epsilon^2 / 2-zCDP, and the limit follows from them. The
//! selection has the rest of the budget and a limit that is public by then. Proof: `docs/algorithms/quantile.md`.

use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::numeric::{mul_down, sqrt_down, sub_down};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

/// The least epsilon of the noisy numbers, 2^-50. With smaller ones they would be noise alone.
const LEAST_RATE: f64 = 1.0 / (1_u64 << 50) as f64;

/// A limit that is a quantile of the users' numbers of distinct items.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// The part of the users who have at most so many items.
    pub quantile: f64,
    /// The part of epsilon, or of rho, that it costs.
    pub share: f64,
}

/// A limit, as a report states it: what it cost, what was shown of the data, and what follows from that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundLimit {
    /// The epsilon of the noisy numbers.
    pub epsilon: f64,
    /// The noisy numbers of users of each size of [`Quantile::sizes`], and of those with more items.
    pub users: Vec<i64>,
    /// The size that the rule finds in them.
    pub limit: u32,
    /// The budget of the selection.
    pub rest: Privacy,
}

impl Quantile {
    /// Why such a limit is private, in one sentence.
    pub const STATEMENT: &'static str = "the limit follows from noisy numbers of users, which cost their part of the \
                                         budget; the selection has the rest, and a limit that is public by then; proof: \
                                         docs/algorithms/quantile.md";

    /// Check the parameters.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if one is out of range.
    pub fn validate(&self) -> Result<()> {
        if !(self.quantile > 0.0 && self.quantile < 1.0) {
            let fix =
                "it is the part of the users who have at most so many items; 0.95 leaves 5 per cent above";
            return Err(Error::parameter("quantile", "above 0 and below 1", self.quantile, fix));
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            let fix = "it is the part of the budget that the limit costs; 0.02 is the default";
            return Err(Error::parameter("share", "above 0 and below 1", self.share, fix));
        }
        Ok(())
    }

    /// The limits that can be found, all public: powers of two, and one and a half times these, up to `most`.
    #[must_use]
    pub fn sizes(most: L0Bound) -> Vec<u32> {
        let most = most.get();
        let powers = (0..u32::BITS).map(|power| 1_u32 << power);
        let both = powers.flat_map(|power| [power, power.saturating_add(power / 2)]);
        let mut sizes: Vec<u32> = both.filter(|size| *size < most).chain([most]).collect();
        sizes.dedup();
        sizes
    }

    /// The epsilon of the noisy numbers, and the budget that is left.
    ///
    /// # Contract
    /// Both together are at most `privacy`; under zCDP the numbers count as epsilon^2 / 2.
    ///
    /// # Errors
    /// [`Error::Calibration`] if a part is nothing.
    pub fn parts(&self, privacy: Privacy) -> Result<(f64, Privacy)> {
        let divided = |whole: f64| {
            let part = mul_down(self.share, whole);
            (part, sub_down(whole, part))
        };
        let (rate, left, rest) = match privacy.validate()? {
            Privacy::PureDp { epsilon } => {
                let (part, rest) = divided(epsilon);
                (part, rest, Privacy::PureDp { epsilon: rest })
            }
            Privacy::ApproxDp { epsilon, delta } => {
                let (part, rest) = divided(epsilon);
                (part, rest, Privacy::ApproxDp { epsilon: rest, delta })
            }
            Privacy::Zcdp { rho, delta } => {
                let (part, rest) = divided(rho);
                (sqrt_down(mul_down(2.0, part)), rest, Privacy::Zcdp { rho: rest, delta })
            }
        };
        if rate < LEAST_RATE || left <= 0.0 {
            return Err(Error::Calibration {
                what: "a limit that is a quantile, and a selection, within one budget".into(),
                fix: "raise epsilon or rho, or give max_items_per_user as a number",
            });
        }
        Ok((rate, rest))
    }

    /// The limit that follows from these noisy numbers of users; `None` if they are not as many as there are classes.
    ///
    /// # Contract
    /// A function of public parameters and the noisy numbers.
    ///
    /// # Errors
    /// As [`Quantile::parts`].
    pub fn found(&self, privacy: Privacy, most: L0Bound, users: Vec<i64>) -> Result<Option<FoundLimit>> {
        let (epsilon, rest) = self.parts(privacy)?;
        let sizes = Self::sizes(most);
        if users.len() != sizes.len() + 1 {
            return Ok(None);
        }
        let limit = self.limit(&sizes, &users);
        Ok(Some(FoundLimit { epsilon, users, limit, rest }))
    }

    /// The least size that `quantile` of all users do not exceed, by the noisy numbers.
    fn limit(&self, sizes: &[u32], users: &[i64]) -> u32 {
        let total: i128 = users.iter().map(|users| i128::from(*users)).sum();
        #[expect(clippy::cast_precision_loss, reason = "a rule about noisy numbers")]
        let needed = self.quantile * total as f64;
        let mut covered = 0_i128;
        for (size, users) in sizes.iter().zip(users) {
            covered += i128::from(*users);
            #[expect(clippy::cast_precision_loss, reason = "as above")]
            if covered as f64 >= needed {
                return *size;
            }
        }
        // Otherwise: more users than that are above all sizes, so the largest is taken.
        sizes.last().copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn most(items: u32) -> L0Bound {
        L0Bound::new(items.into()).unwrap()
    }

    #[test]
    fn sizes_are_a_grid_that_ends_with_the_most() {
        assert_eq!(Quantile::sizes(most(1)), [1]);
        assert_eq!(Quantile::sizes(most(2)), [1, 2]);
        assert_eq!(Quantile::sizes(most(10)), [1, 2, 3, 4, 6, 8, 10]);
        assert_eq!(Quantile::sizes(most(64)), [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]);
        let all = Quantile::sizes(most(L0Bound::MAX));
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]) && all.last() == Some(&L0Bound::MAX));
    }

    #[test]
    fn the_parts_are_no_more_than_the_budget() {
        for share in [1e-9, 0.02, 0.3, 0.99] {
            let quantile = Quantile { quantile: 0.5, share };
            for amount in [0.01, 0.1, 1.0, 1.765, 6.0] {
                let approx = Privacy::ApproxDp { epsilon: amount, delta: 1e-6 };
                let (look, rest) = quantile.parts(approx).unwrap();
                assert!(
                    look <= share * amount
                        && rest == Privacy::ApproxDp { epsilon: sub_down(amount, look), delta: 1e-6 }
                );
                let (look, rest) = quantile.parts(Privacy::Zcdp { rho: amount, delta: 1e-6 }).unwrap();
                let Privacy::Zcdp { rho, delta } = rest else { panic!("{rest:?}") };
                assert!(look * look / 2.0 <= share * amount * (1.0 + 1e-15) && rho < amount);
                assert_eq!(delta.to_bits(), 1e-6_f64.to_bits());
                assert!((look * look / 2.0 + rho) / amount > 1.0 - 1e-9);
            }
        }
        let tiny = Quantile { quantile: 0.5, share: 1e-17 };
        assert!(matches!(
            tiny.parts(Privacy::ApproxDp { epsilon: 1.0, delta: 1e-6 }),
            Err(Error::Calibration { .. })
        ));
    }

    #[test]
    fn the_limit_is_the_quantile_of_the_numbers() {
        let limit =
            |quantile: f64, users: &[i64]| Quantile { quantile, share: 0.1 }.limit(&[1, 2, 3, 4], users);
        // 100 users of 1, 2, 3, 4 and more items.
        let users = [10, 40, 30, 15, 5];
        for (quantile, expected) in [(0.1, 1), (0.11, 2), (0.5, 2), (0.51, 3), (0.8, 3), (0.95, 4), (0.99, 4)]
        {
            assert_eq!(limit(quantile, &users), expected, "{quantile}");
        }
        // Noise may make numbers negative, and their sum too.
        assert_eq!(limit(0.5, &[50, -3, 2, 40, -5]), 1);
        assert!((1..=4).contains(&limit(0.5, &[-9, i64::MIN, -1, i64::MIN, i64::MAX])));
    }

    #[test]
    fn other_numbers_of_classes_give_no_limit() {
        let quantile = Quantile { quantile: 0.9, share: 0.1 };
        let found =
            |users| quantile.found(Privacy::ApproxDp { epsilon: 1.0, delta: 0.1 }, most(3), users).unwrap();
        assert_eq!(found(vec![9, 1, 1]), None);
        assert_eq!(found(vec![90, 5, 4, 1]).map(|found| found.limit), Some(1));
    }
}
