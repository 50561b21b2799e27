//! Upper tails of the continuous noise in `f64`, with certified bounds.

use super::Noise;
use crate::numeric::FRACTION_BITS;
use crate::numeric::{Interval, laplace_tail, normal_tail};

/// 2^-128, the probability of one word.
pub(super) const WORD: f64 = 1.0 / 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
/// 2^-30, one grid step.
const STEP: f64 = 1.0 / (1_u64 << FRACTION_BITS) as f64;
/// Q(x) <= exp(-x^2 / 2) / 2 < 2^-130 beyond this many standard deviations.
const GAUSSIAN_END: f64 = 13.4;
/// Q(x) = exp(-x) / 2 < 2^-129 beyond this many scales.
const LAPLACE_END: f64 = 89.0;

/// Bounds, both inclusive, of a number of 128-bit words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordBounds {
    pub(super) lo: u128,
    pub(super) hi: u128,
}

/// Bounds of C(s) = floor(P[X >= s / `2^FRACTION_BITS`] 2^128), less than a relative 2^-40 apart.
pub(super) fn word_bounds(noise: Noise, s: u128) -> WordBounds {
    if is_negligible(noise, s) {
        return WordBounds { lo: 0, hi: 0 };
    }
    // s is below 2^66, so the cast changes nothing.
    let units = Interval::integer(s.cast_signed()) * Interval::point(STEP);
    let tail = match noise {
        Noise::Gaussian { sigma } => normal_tail(units / Interval::point(sigma)),
        Noise::Laplace { scale } => laplace_tail(units / Interval::point(scale)),
    };
    WordBounds { lo: to_words(tail.lo()), hi: to_words(tail.hi()) }
}

/// Whether C(s) is certainly zero.
pub(super) fn is_negligible(noise: Noise, s: u128) -> bool {
    match noise {
        Noise::Gaussian { sigma } => in_scales(s, sigma) > GAUSSIAN_END,
        Noise::Laplace { scale } => in_scales(s, scale) > LAPLACE_END,
    }
}

/// About the number of grid steps beyond which a tail is below 2^-64: the reach of the table. Only speed depends on it.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
pub(super) fn table_reach(noise: Noise) -> i128 {
    let reach = match noise {
        Noise::Gaussian { sigma } => 9.2 * sigma,
        Noise::Laplace { scale } => 44.0 * scale,
    };
    (reach / STEP).clamp(0.0, u64::MAX as f64) as i128
}

/// About the s with P[X >= s / `2^FRACTION_BITS`] = `tail`, for a tail in (0, 1/2].
pub(super) fn approximate_inverse(noise: Noise, tail: f64) -> f64 {
    match noise {
        Noise::Gaussian { sigma } => gaussian_quantile(tail) * sigma / STEP,
        Noise::Laplace { scale } => -libm::log(2.0 * tail) * scale / STEP,
    }
}

/// A rational approximation, good to 4.5e-4, and two of Halley's steps, each of which cubes the error.
///
/// The table of quantiles asks for an error of less than 1e-9, and checks that.
pub(super) fn gaussian_quantile(tail: f64) -> f64 {
    let t = (-2.0 * libm::log(tail)).max(0.0).sqrt();
    // Hastings, in Abramowitz and Stegun, 26.2.23.
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = (t - above / below).max(0.0);
    for _ in 0..2 {
        let upper = 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
        let density = libm::exp(-0.5 * x * x) / std::f64::consts::TAU.sqrt();
        let newton = (upper - tail) / density;
        x += newton / (1.0 - 0.5 * x * newton);
    }
    x
}

/// s grid steps in multiples of the scale. May overflow to infinity, which is negligible.
fn in_scales(s: u128, scale: f64) -> f64 {
    s as f64 * STEP / scale
}

/// floor(p 2^128). Scaling by a power of two is exact, and the cast rounds towards zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the floor of a number in [0, 1)"
)]
fn to_words(p: f64) -> u128 {
    (p / WORD) as u128
}

#[cfg(test)]
mod tests {
    use super::super::fixed_point::FixedPoint;
    use super::*;

    fn noises(scale: f64) -> [Noise; 2] {
        [Noise::Gaussian { sigma: scale }, Noise::Laplace { scale }]
    }

    /// The enclosure holds with room to spare, and is narrow, over the whole range in use.
    #[test]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "test arguments are in range"
    )]
    fn bounds_enclose_the_exact_tail() {
        for scale in [1e-3, 0.7, 2.236_067_977_499_79, 1e9] {
            for noise in noises(scale) {
                for step in 1..150 {
                    let s = (f64::from(step) * 0.0907 * scale / STEP) as u128;
                    let (lo, hi) = FixedPoint::tail(noise, s, 256).floor_bounds(128);
                    let WordBounds { lo: below, hi: above } = word_bounds(noise, s);
                    assert!(below <= lo && hi <= above, "{noise:?} {s}");
                    // The true value keeps well away from both ends, unless the words themselves are the limit.
                    let width = above - below;
                    assert!(
                        width < 64 || (lo - below >= width / 8 && above - hi >= width / 8),
                        "{noise:?} {s}"
                    );
                    assert!(width <= (lo >> 40) + 1, "{noise:?} {s}");
                }
            }
        }
    }

    #[test]
    fn negligible_tails_have_no_word() {
        for (noise, end) in
            [(Noise::Gaussian { sigma: 1.0 }, GAUSSIAN_END), (Noise::Laplace { scale: 1.0 }, LAPLACE_END)]
        {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
            let s = (end / STEP) as u128;
            assert!(!is_negligible(noise, s) && is_negligible(noise, s + 1));
            assert_eq!(FixedPoint::tail(noise, s, 256).floor_bounds(128), (0, 0));
        }
    }

    #[test]
    fn the_approximate_inverse_is_near() {
        for noise in noises(2.0) {
            for tail in [0.5, 0.499, 0.3, 1e-3, 1e-9, 1e-20, 1e-28] {
                let s = approximate_inverse(noise, tail);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
                let back = word_bounds(noise, s as u128).lo as f64 * WORD;
                assert!((back / tail - 1.0).abs() < 1e-6, "{noise:?} {tail}: {back}");
            }
        }
    }
}
