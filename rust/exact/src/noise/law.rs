//! The law of the integer noise, as a function of one 128-bit word.
//!
//! With q(s) = P[X >= s / `2^FRACTION_BITS`] for s > 0 and C(s) = floor(q(s) 2^128), the number K(t) of
//! words for which N >= t is C(t) for t > 0, 2^127 for t = 0 and, by symmetry, 2^128 - 1 - C(-t) for t < 0.
//! K never increases in t, and K(t) 2^-128 is at most P[N >= t] and at most 2^-128 below it.
//! `docs/algorithms/noise.md` has the proof.

use super::Noise;
use super::fixed_point::FixedPoint;
use super::tail::{self, WordBounds};

/// Half of all words.
const HALF: u128 = 1 << 127;
/// Precisions tried in turn, in bits. To leave a word open, the last needs a tail probability that agrees
/// with a multiple of 2^-128 to about 2,048 bits.
const PRECISIONS: [u64; 4] = [256, 512, 1024, 2048];

/// The law of the integer noise. Holds a noise with a positive, finite scale.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law(Noise);

impl Law {
    /// `None` unless the scale is positive and finite.
    pub(super) fn new(noise: Noise) -> Option<Self> {
        let (Noise::Gaussian { sigma: scale } | Noise::Laplace { scale }) = noise;
        (scale.is_finite() && scale > 0.0).then_some(Self(noise))
    }

    /// Whether N >= `t` for this word.
    ///
    /// # Contract
    /// Exactly K(`t`) words give true: the smallest ones. Never increasing in `t` and in `word`.
    pub(super) fn reaches(self, t: i128, word: u128) -> bool {
        Self::compare(t, word, tail::word_bounds(self.0, t.unsigned_abs()))
            .unwrap_or_else(|| self.reaches_exactly(t, word))
    }

    /// [`Law::reaches`] without the shortcut through `f64`.
    pub(super) fn reaches_exactly(self, t: i128, word: u128) -> bool {
        let s = t.unsigned_abs();
        if tail::is_negligible(self.0, s) {
            // Otherwise: undecided means "not reached".
            return Self::compare(t, word, WordBounds { lo: 0, hi: 0 }).unwrap_or(false);
        }
        // Undecided at the highest precision means "not reached": a release is never likelier than the law.
        PRECISIONS
            .iter()
            .find_map(|&bits| {
                let (lo, hi) = FixedPoint::tail(self.0, s, bits).floor_bounds(128);
                Self::compare(t, word, WordBounds { lo, hi })
            })
            // Otherwise: not reached.
            .unwrap_or(false)
    }

    /// Bounds of K(`t`) from `f64` arithmetic.
    pub(super) fn bounds(self, t: i128) -> WordBounds {
        Self::count(t, tail::word_bounds(self.0, t.unsigned_abs()))
    }

    /// Bounds of K(`t`) from bounds of C(|`t`|).
    fn count(t: i128, tail: WordBounds) -> WordBounds {
        match t.signum() {
            1 => tail,
            0 => WordBounds { lo: HALF, hi: HALF },
            _ => WordBounds { lo: !tail.hi, hi: !tail.lo },
        }
    }

    /// Whether `word` < K(`t`), if bounds of C(|`t`|) decide it.
    fn compare(t: i128, word: u128, tail: WordBounds) -> Option<bool> {
        let k = Self::count(t, tail);
        if word < k.lo {
            Some(true)
        } else if word >= k.hi {
            Some(false)
        } else {
            None
        }
    }

    /// The largest t in `first..=last` with N >= t, or `None` if even N < `first`.
    pub(super) fn noise(self, word: u128, first: i128, last: i128) -> Option<i128> {
        // Everything below the range counts as reached and everything above it as not reached.
        let reaches = |t| t < first || (t <= last && self.reaches(t, word));
        let guess = self.approximate_noise(word).clamp(first, last);
        // Gallop away from the guess, which is nearly always right, until the answer is between `yes` and `no`.
        let (mut yes, mut no, mut step) = (guess, guess, 1);
        if reaches(guess) {
            loop {
                no = yes + step;
                if !reaches(no) {
                    break;
                }
                yes = no;
                step *= 2;
            }
        } else {
            loop {
                yes = no - step;
                if reaches(yes) {
                    break;
                }
                no = yes;
                step *= 2;
            }
        }
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            if reaches(middle) {
                yes = middle;
            } else {
                no = middle;
            }
        }
        (yes >= first).then_some(yes)
    }

    /// A guess at the noise of this word. Nothing relies on it being near.
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and the caller clamps")]
    fn approximate_noise(self, word: u128) -> i128 {
        let (tail_words, sign) = if word < HALF { (word, 1.0) } else { (!word, -1.0) };
        let distance = tail::approximate_inverse(self.0, (tail_words as f64 + 0.5) * tail::WORD);
        (sign * distance).floor() as i128
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "test arguments are in range")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn laws(scale: f64) -> [Law; 2] {
        [Noise::Gaussian { sigma: scale }, Noise::Laplace { scale }].map(|n| Law::new(n).unwrap())
    }

    /// K(t) in exact arithmetic.
    fn count(law: Law, t: i128) -> u128 {
        let (lo, hi) = match t {
            0 => (HALF, HALF),
            _ => FixedPoint::tail(law.0, t.unsigned_abs(), 256).floor_bounds(128),
        };
        assert_eq!(lo, hi);
        if t < 0 { !lo } else { lo }
    }

    /// The words on both sides of the boundary, and where the `f64` bounds begin and end.
    #[test]
    fn boundary_words() {
        for scale in [1e-9, 0.3, 2.5, 1e9] {
            for law in laws(scale) {
                let unit = ((scale * 1e9) as i128).max(1);
                for t in [-12 * unit, -3 * unit, -unit, -1, 0, 1, unit, 3 * unit, 12 * unit] {
                    let k = count(law, t);
                    let WordBounds { lo, hi } = law.bounds(t);
                    assert!(lo <= k && k <= hi);
                    for edge in [k, lo, hi] {
                        for word in [edge.saturating_sub(1), edge, edge.saturating_add(1)] {
                            assert_eq!(law.reaches(t, word), word < k, "{law:?} {t} {word}");
                            assert_eq!(law.reaches_exactly(t, word), word < k, "{law:?} {t} {word}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_scales_and_distances() {
        for scale in [5e-324, f64::MIN_POSITIVE, 1e-9, 1e9, 1e300, f64::MAX] {
            for law in laws(scale) {
                for t in [1, 1 << 30, 1 << 64, i128::from(u64::MAX) + i128::from(i64::MAX)] {
                    let wide = scale >= 1e300;
                    for word in [0, 1, HALF - 1, HALF, HALF + 1, u128::MAX] {
                        assert_eq!(law.reaches(t, word), law.reaches_exactly(t, word));
                        assert_eq!(law.reaches(-t, word), law.reaches_exactly(-t, word));
                    }
                    if wide {
                        assert!(law.reaches(t, HALF - 2) && !law.reaches(t, HALF - 1));
                        assert!(law.reaches(-t, HALF - 1) && !law.reaches(-t, HALF));
                    }
                }
            }
        }
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Law::new(Noise::Gaussian { sigma: scale }).is_none());
            assert!(Law::new(Noise::Laplace { scale }).is_none());
        }
    }

    /// Undecided at the first precision means a higher one; at none means "not reached", on both sides of 0.
    #[test]
    fn comparison_is_open_only_between_the_bounds() {
        let bounds = WordBounds { lo: 10, hi: 12 };
        let answers =
            |t| (9..14).map(|w| Law::compare(t, if t < 0 { !w } else { w }, bounds)).collect::<Vec<_>>();
        assert_eq!(answers(1), [Some(true), None, None, Some(false), Some(false)]);
        assert_eq!(answers(-1), [Some(false), Some(false), None, None, Some(true)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn shortcut_and_exact_agree(
            exponent in -3.0..3.0_f64, distance in -14.0..14.0_f64, low: u64, offset in -3..=3_i128, random: u128,
        ) {
            for law in laws(10_f64.powf(exponent)) {
                let t = (distance * 10_f64.powf(exponent) * 2_f64.powi(30)) as i128;
                let near = law.bounds(t);
                // A word within the f64 bounds, one by chance.
                let inside = near.lo + u128::from(low) % (near.hi - near.lo + 1);
                for word in [random, inside, inside.saturating_add_signed(offset)] {
                    prop_assert_eq!(law.reaches(t, word), law.reaches_exactly(t, word));
                }
            }
        }

        #[test]
        fn noise_is_the_last_value_reached(exponent in -10.0..3.0_f64, shift in 0..128_u32, random: u128, upper: bool) {
            let word = if upper { !(random >> shift) } else { random >> shift };
            for law in laws(10_f64.powf(exponent)) {
                let range = i128::from(i64::MAX);
                if let Some(t) = law.noise(word, -range, range) {
                    prop_assert!(law.reaches_exactly(t, word) && !law.reaches_exactly(t + 1, word));
                    prop_assert_eq!(law.noise(word, t - 5, t - 2), Some(t - 2));
                    prop_assert_eq!(law.noise(word, t + 1, t + 9), None);
                    prop_assert_eq!(law.noise(word, t, t), Some(t));
                } else {
                    prop_assert_eq!(word, u128::MAX);
                }
            }
        }
    }
}
