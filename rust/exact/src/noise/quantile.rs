//! Gaussian noise of a word from one polynomial, for nearly all words unless the scale is above some hundred units.
//!
//! The quantile z of a tail probability u is expanded around nodes. With r = (tail(`z_0`) - u) / phi(`z_0`) its Taylor
//! series is `z_0` + r + P2 r^2/2! + P3 r^3/3! + ..., where P1 = 1 and P(n+1) = Pn' + n z Pn, all at `z_0`. The remainder
//! after r^5 is P6(z) (r phi(`z_0`)/phi(z))^6 / 6! at some z between. `docs/algorithms/noise.md` has the proof. A bound of
//! all errors is computed with the table. A word whose noise the bound leaves open is decided by [`Law`](super::law::Law).

use std::sync::OnceLock;

use crate::noise::tail::gaussian_quantile;
use crate::numeric::{Interval, UNIT, normal_tail};

/// Tail probabilities from 2^-(OCTAVES + 1) to 1/2 have nodes.
const OCTAVES: u32 = 16;
/// Bits of the number of nodes in an octave of probabilities.
const NODE_BITS: u32 = 7;
const NODES: usize = 1 << NODE_BITS;

/// The expansion around one node.
#[derive(Debug, Clone, Copy)]
struct Node {
    z: f64,
    tail: f64,
    /// 1 / phi(z).
    inverse_density: f64,
    /// Of r^2, r^3, r^4 and r^5.
    coefficients: [f64; 4],
}

/// The quantiles of the standard normal distribution.
#[derive(Debug)]
pub(super) struct Quantiles {
    nodes: Vec<Node>,
    /// A bound of the error of any quantile.
    error: f64,
}

impl Quantiles {
    /// The table, made at its first use: it does not depend on the noise.
    pub(super) fn get() -> &'static Self {
        static TABLE: OnceLock<Quantiles> = OnceLock::new();
        TABLE.get_or_init(Self::new)
    }

    fn new() -> Self {
        let places = (0..OCTAVES).flat_map(|octave| (0..NODES).map(move |place| (octave, place)));
        let (nodes, errors): (Vec<Node>, Vec<f64>) =
            places.map(|(octave, place)| node(octave.cast_signed(), place as f64)).unzip();
        // What is no number is no bound.
        let error = |error: f64| if error.is_nan() { f64::INFINITY } else { error };
        Self { nodes, error: errors.into_iter().map(error).fold(0.0, f64::max) }
    }

    /// The quantile of any number from `tail` to `tail` + 1, in parts of 2^-64, up to the error; `None` without a node.
    #[inline]
    fn quantile(&self, tail: u64) -> Option<f64> {
        let octave = tail.leading_zeros().checked_sub(1)?;
        if octave >= OCTAVES {
            return None;
        }
        let place = (tail << (octave + 2)) >> (u64::BITS - NODE_BITS);
        let node = self.nodes.get((octave as usize) << NODE_BITS | usize::try_from(place).ok()?)?;
        // With a sign, since the first bit is zero: a signed integer becomes a float in one instruction.
        let r = (node.tail - tail.cast_signed() as f64 * WORD) * node.inverse_density;
        let [second, third, fourth, fifth] = node.coefficients;
        let beyond = second + r * (third + r * (fourth + r * fifth));
        Some(node.z + (r + r * r * beyond))
    }

    /// The noise of this word in grid steps, if the bound of the error leaves no doubt.
    ///
    /// # Contract
    /// As [`Law::noise`](super::law::Law::noise) with the same word and no limits.
    #[inline]
    pub(super) fn noise(&self, sigma: f64, word: u128) -> Option<i64> {
        // Small words stand for large noise.
        let is_upper = word >> 127 == 0;
        let z = self.quantile(((if is_upper { word } else { !word }) >> 64) as u64)?;
        let scale = sigma * UNIT as f64;
        let (middle, error) = (scale * z, scale * self.error);
        let (least, most) = (middle - error, middle + error);
        // The sum is rounded to the nearest integer. That is the floor of the least end, or perhaps one less if that is an
        // integer.
        let shifted = (least - 0.5) + SHIFT;
        let floor = shifted - SHIFT;
        // From `SHIFT` on the bits of these sums rise by one for each integer. Sums below wrap to large numbers, and those
        // from 2^53 on are LARGEST or more away.
        let steps = shifted.to_bits().wrapping_sub(SHIFT.to_bits());
        if most < floor + 1.0 && steps < LARGEST {
            let steps = steps.cast_signed();
            // Above the median the noise is the largest number of steps that is at most the quantile. Below it, it is the
            // largest that is strictly below minus the quantile. A quantile that is an integer is not answered here: on
            // both sides of it floors differ.
            return Some(if is_upper { steps } else { -1 - steps });
        }
        None
    }
}

/// A part of 2^-64.
const WORD: f64 = 1.0 / (1_u128 << 64) as f64;
/// Noise below this many grid steps is answered.
const LARGEST: u64 = 1 << 51;
/// From this number on up to 2^53, which is [`LARGEST`] more, the next number is the next integer. It is even, so half a
/// step below it is rounded to it.
const SHIFT: f64 = (3 * LARGEST) as f64;

/// Added to where the far end of a part is computed to be, so that it certainly lies beyond.
const FAR: f64 = 1e-9;
/// The rounding of one quantile and of what is computed from it is below this many times 2^-52 (1 + z).
const ROUNDING: f64 = 4.0;

/// A node, and a bound of the error of quantiles around it.
fn node(octave: i32, place: f64) -> (Node, f64) {
    let part = |at: f64| 0.5_f64.powi(octave + 2) * (1.0 + at / NODES as f64);
    let (least, most) = (part(place), part(place + 1.0));
    let z = gaussian_quantile(0.5 * (least + most));
    let tail = normal_tail(Interval::point(z));
    let density = |z: f64| libm::exp(-0.5 * z * z) / std::f64::consts::TAU.sqrt();
    let square = z * z;
    let coefficients = [
        z / 2.0,
        (1.0 + 2.0 * square) / 6.0,
        z * (7.0 + 6.0 * square) / 24.0,
        (7.0 + square * (46.0 + 24.0 * square)) / 120.0,
    ];
    let node = Node { z, tail: tail.middle(), inverse_density: 1.0 / density(z), coefficients };
    // Everything rises with z, so the far end bounds the remainder. All factors are rounded up generously.
    let far = gaussian_quantile(least) + FAR;
    if normal_tail(Interval::point(far)).hi() > least {
        // Not far enough, so nothing is bounded.
        return (node, f64::INFINITY);
    }
    let reach = (most - tail.lo()).max(tail.hi() - least) / density(far);
    let sixth = far * (127.0 + far * far * (326.0 + far * far * 120.0)) / 720.0;
    let remainder = sixth * libm::pow(reach, 6.0);
    // The enclosure of the tail, the bits of the word that are cut off or rounded, and the arithmetic here.
    let argument = (tail.hi() - tail.lo() + 2.0 * WORD + most * f64::EPSILON) / density(far);
    (node, 1.01 * (remainder + argument) + ROUNDING * f64::EPSILON * (1.0 + far))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Noise;
    use super::super::fixed_point::FixedPoint;
    use super::super::law::Law;
    use super::*;

    fn exact(sigma: f64, word: u128) -> i128 {
        let range = i128::from(i64::MAX);
        Law::new(Noise::Gaussian { sigma }).unwrap().noise(word, -range, range).unwrap()
    }

    #[test]
    fn errors_are_small_enough_to_decide_nearly_all_words() {
        let table = Quantiles::get();
        assert!(table.error < 1e-13, "{}", table.error);
        let mut state = 1_u128;
        let open = (0..100_000).filter(|_| {
            state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            table.noise(1.0, state ^ state >> 64).is_none()
        });
        assert!(open.count() < 100);
    }

    /// The words at both ends of a part, without their lower halves.
    fn parts() -> impl Iterator<Item = [u64; 2]> {
        let first = |octave: u32, place| (1 << (63 - octave)) + (place << (63 - octave - NODE_BITS));
        let part = move |octave: u32, place| [first(octave, place), first(octave, place + 1) - 1];
        (1..=OCTAVES).flat_map(move |octave| (0..NODES as u64).map(move |place| part(octave, place)))
    }

    /// The number of words below the tail probability at z, times 2^-`cut`; z rounded down to a multiple of 2^-60.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "z is from 0 to 5")]
    fn words_below(z: f64, cut: u64) -> (u128, u128) {
        let steps = (z * (1_u64 << 60) as f64) as u128;
        FixedPoint::tail(Noise::Gaussian { sigma: UNIT as f64 }, steps, 256).floor_bounds(128 - cut)
    }

    /// A bound that is too small by a factor of eight fails, and so does a polynomial without its last term.
    #[test]
    fn quantiles_are_within_a_quarter_of_the_error() {
        let table = Quantiles::get();
        for tail in parts().flatten() {
            let (z, part) = (table.quantile(tail).unwrap(), table.error / 4.0);
            let (tail, cut) = (u128::from(tail) << 36, 28);
            assert!(words_below(z + part, cut).1 < tail, "{tail} {z}");
            // At the median there is nothing on the other side.
            assert!(z < part || words_below(z - part, cut).0 >= tail + (1 << 36), "{tail} {z}");
        }
    }

    /// Multiples of a grid step that are near these numbers of standard deviations.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^63")]
    fn boundaries(sigma: f64) -> impl Iterator<Item = u64> {
        (1..42).map(move |tenth| (sigma * UNIT as f64 * f64::from(tenth) / 10.0) as u64 + 1)
    }

    const SIGMAS: [f64; 5] = [1e-6, 0.37, 2.24, 30.0, 1e3];

    /// Of two neighbouring words at which the noise changes, none is answered.
    #[test]
    fn words_at_a_boundary_are_left_open() {
        for sigma in SIGMAS {
            for steps in boundaries(sigma) {
                let (words, same) =
                    FixedPoint::tail(Noise::Gaussian { sigma }, steps.into(), 256).floor_bounds(128);
                assert_eq!(words, same);
                for word in [words - 1, words, !words, !words - 1] {
                    assert_eq!(Quantiles::get().noise(sigma, word), None, "{sigma} {steps}");
                }
            }
        }
    }

    /// From a little more than the error off a boundary on, what is answered is right. Beyond three errors all is.
    #[test]
    fn words_close_to_a_boundary_are_answered_right() {
        let table = Quantiles::get();
        for sigma in SIGMAS {
            for steps in boundaries(sigma) {
                for errors in [-3.0, -1.05, 1.05, 3.0_f64] {
                    let z = steps as f64 / UNIT as f64 / sigma + errors * table.error;
                    let word = words_below(z, 0).0;
                    let expected = steps.cast_signed() - i64::from(errors < 0.0);
                    for (word, expected) in [(word, expected), (!word, -1 - expected)] {
                        let found = table.noise(sigma, word);
                        assert!(
                            found == Some(expected) || (errors.abs() < 2.0 && found.is_none()),
                            "{sigma} {steps}"
                        );
                    }
                }
            }
        }
    }

    /// The words at both ends of every node's part, and in the middle of it.
    #[test]
    fn every_node_agrees_with_the_exact_law() {
        let table = Quantiles::get();
        for [first, last] in parts().map(|part| part.map(|half| u128::from(half) << 64)) {
            for word in [first, first / 2 + last / 2, last] {
                for (sigma, word) in [(0.37, word), (2.1, !word)] {
                    if let Some(noise) = table.noise(sigma, word) {
                        assert_eq!(i128::from(noise), exact(sigma, word), "{sigma} {word}");
                    }
                }
            }
        }
    }

    #[test]
    fn words_near_the_median_and_far_out_agree_or_are_left_open() {
        let half = 1_u128 << 127;
        for sigma in [5e-324, 8e-320, 1e-9, 0.5, 1e4, 1e9, f64::MAX] {
            let near = [0, 1, half - 1, half, half + 1, half - (1 << 90), half + (1 << 90), u128::MAX];
            for word in near.into_iter().chain([half / 2, !(half / 2), half / 5000, !(half / 5000)]) {
                if let Some(noise) = Quantiles::get().noise(sigma, word) {
                    assert_eq!(i128::from(noise), exact(sigma, word), "{sigma} {word}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn polynomials_and_the_exact_law_agree(exponent in -9.0..4.0_f64, word: u128, shift in 0_u32..20) {
            let sigma = 10_f64.powf(exponent);
            for word in [word >> shift, !(word >> shift)] {
                if let Some(noise) = Quantiles::get().noise(sigma, word) {
                    prop_assert_eq!(i128::from(noise), exact(sigma, word));
                }
            }
        }
    }
}
