//! Noise on every count, by exact discrete laws, and the largest noisy counts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dpsel_exact::numeric::{Bits, Scaled, geometric};
use dpsel_exact::random::{Coins, Digest, ItemBits, Purpose, ReleaseKey, Words};
use num_bigint::BigUint;
use num_traits::Pow;

use crate::top_k::draws::loss_levels::{LevelLaw, LossLevels, half_life};

/// Discrete Laplace noise: the probability of z is proportional to e^-(`rate` |z|).
///
/// It is the difference of two independent numbers g >= 0 of probability proportional to e^-(`rate` g).
pub(crate) fn laplace(rate: f64, bits: &mut impl Bits) -> i128 {
    geometric(rate, bits) - geometric(rate, bits)
}

/// The radius of noise on `items` counts with probability proportional to e^-(`rate` max |z|): R = l has weight
/// (2 l + 1)^items e^-(rate l), and then every count gets a uniform number from -R to R.
///
/// Summed over R >= max |z| this gives e^-(rate max |z|) / (1 - e^-rate).
pub(in crate::top_k) struct Radius {
    pub(in crate::top_k) items: u64,
    pub(in crate::top_k) rate: f64,
}

impl Radius {
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> u128 {
        LossLevels::new(self).draw(coins)
    }
}

impl LevelLaw for Radius {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn size(&self, level: u128) -> Scaled {
        Scaled::integer(2 * level + 1).pow(self.items)
    }

    fn exact_size(&self, level: u128) -> BigUint {
        BigUint::from(2 * level + 1).pow(self.items)
    }

    fn horizon(&self) -> u128 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
        let levels = (4.0 * (self.items as f64 + 40.0) / self.rate).ceil() as u128;
        levels.min(1 << 100)
    }

    /// (2 l + 1)^d <= (2 first + 1)^d e^(2 d (l - first) / (2 first + 1)), and from 4 d / rate on the exponent is at
    /// most rate (l - first) / 4; so what is left falls like e^-(3 rate / 4), in cells for e^-(rate / 2) by more than
    /// half.
    fn tail(&self, first: u128) -> (Scaled, u128) {
        (self.size(first) * Scaled::decay(self.rate, first), half_life(self.rate / 2.0))
    }
}

/// A uniform integer from -`radius` to `radius`.
pub(in crate::top_k) fn within(radius: u128, bits: &mut impl Bits) -> i128 {
    // The difference of the two numbers, which has 128 bits with its sign: `2 * radius` would not fit otherwise.
    bits.below(2 * radius + 1).wrapping_sub(radius).cast_signed()
}

/// The positions of the `k` largest of the noisy counts, descending, with these.
///
/// Each item's noise comes from its own bits, found by its digest or its position. Of equal noisy counts the one with
/// the smaller digest or position goes first: that order does not depend on the counts.
pub(in crate::top_k) fn largest_noisy(
    counts: &[i64],
    digests: Option<&[Digest]>,
    k: usize,
    key: &ReleaseKey,
    noise: impl Fn(&mut ItemBits<'_>) -> i128,
) -> Vec<(usize, i128)> {
    let words = Words::new(key, Purpose::TopKNoise, 0);
    let mut best: BinaryHeap<Reverse<(i128, Reverse<Digest>, usize)>> = BinaryHeap::with_capacity(k + 1);
    for (position, count) in counts.iter().enumerate() {
        let digest = digests.map_or(Digest(position as u128), |digests| digests[position]);
        let mut bits = ItemBits::new(key, Purpose::TopKNoise, digest, words.word(digest));
        let entry = Reverse((i128::from(*count) + noise(&mut bits), Reverse(digest), position));
        if best.len() < k {
            best.push(entry);
        } else if best.peek().is_some_and(|worst| entry < *worst) {
            best.pop();
            best.push(entry);
        }
    }
    best.into_sorted_vec().into_iter().map(|Reverse((noisy, _, position))| (position, noisy)).collect()
}
