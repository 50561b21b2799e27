//! Ranking rounds: the noisy numbers of units of all items set the order of the items in the next round.
//!
//! The noisy numbers count as published in the proof (`docs/algorithms/matching.md`), so the order is post-processing.

use dpsel_exact::numeric::{Bits, geometric};
use serde::{Deserialize, Serialize};

/// A round that releases nothing and ranks the items by their noisy numbers of units.
///
/// The noise is a whole number. Its probability falls by e^-`rate_above` for each step upwards from 0, and by
/// e^-`rate_below` for each step downwards.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// The privacy loss for adding a user: one more unit makes any result likelier by a factor of at most e to this.
    pub rate_above: f64,
    /// The privacy loss for removing a user.
    pub rate_below: f64,
}

impl Ranking {
    /// A number of units with noise.
    ///
    /// # Contract
    /// For uniform bits the noise is exactly geometric in both directions. It does not depend on the units.
    pub(super) fn noisy(self, units: u64, bits: &mut impl Bits) -> i64 {
        let noise = geometric(self.rate_above, bits) - geometric(self.rate_below, bits);
        let sum = i128::from(units).saturating_add(noise);
        // Otherwise: beyond the largest numbers, which then stand for all beyond them. That is post-processing.
        i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::random::{Digest, ItemBits, Purpose, ReleaseKey, Words};

    use super::*;

    const RANKING: Ranking = Ranking { rate_above: 0.3, rate_below: 0.9 };

    fn draws(number: u128) -> Vec<i64> {
        let key = ReleaseKey::insecure_test([6; 32]);
        let words = Words::new(&key, Purpose::Ranking, 0);
        let noisy = |item: u128| {
            let digest = Digest(item);
            RANKING.noisy(0, &mut ItemBits::new(&key, Purpose::Ranking, digest, words.word(digest)))
        };
        (0..number).map(noisy).collect()
    }

    /// The law of the page, with c = (1 - a) (1 - b) / (1 - a b).
    #[test]
    fn the_noise_falls_by_its_two_rates() {
        const DRAWS: u32 = 60_000;
        let found = draws(DRAWS.into());
        let (a, b) = ((-RANKING.rate_above).exp(), (-RANKING.rate_below).exp());
        let most = (1.0 - a) * (1.0 - b) / (1.0 - a * b);
        for value in -4..10_i32 {
            let seen = found.iter().filter(|noise| **noise == i64::from(value)).count() as f64;
            let chance = most * if value < 0 { b.powi(-value) } else { a.powi(value) };
            let expected = chance * f64::from(DRAWS);
            // Seven standard deviations.
            assert!((seen - expected).abs() < 7.0 * expected.sqrt(), "{value}: {seen}, {expected}");
        }
    }

    #[test]
    fn noise_is_added_to_the_units_and_the_ends_are_kept() {
        let key = ReleaseKey::insecure_test([6; 32]);
        let bits = || ItemBits::new(&key, Purpose::Ranking, Digest(1), 77);
        let noise = RANKING.noisy(0, &mut bits());
        assert_eq!(RANKING.noisy(1000, &mut bits()), 1000 + noise);
        let wide = Ranking { rate_above: 1e-25, rate_below: 1.0 };
        assert_eq!(wide.noisy(0, &mut ItemBits::new(&key, Purpose::Ranking, Digest(1), 1 << 60)), i64::MAX);
    }
}
