//! Tail probabilities to any precision: fixed-point interval arithmetic on big integers.
//!
//! Every operation rounds its lower end down and its upper end up, so the result encloses the true value. The precision
//! decides only how narrow the result is. Two alternating series are summed:
//!
//! * normal: 1/2 - Q(x) = (2 pi)^(-1/2) sum (-1)^n x^(2n+1) / (2^n n! (2n+1));
//! * Laplace: 2 Q(x) = exp(-x) = sum (-1)^n x^n / n!.
//!
//! Their terms grow to about 1/Q(x) before they shrink. Hence the computation carries about log2(1/Q(x)) more bits.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::Noise;
use crate::numeric::{FRACTION_BITS, exact_parts};

/// A non-negative real between two multiples of `2^-bits`.
///
/// [`crate::numeric::Enclosure`] has a floating point, which sums of series do not need: see
/// `docs/decisions/0003-exact-noise.md`.
#[derive(Debug, Clone)]
pub(super) struct FixedPoint {
    lo: BigUint,
    hi: BigUint,
    bits: u64,
}

impl FixedPoint {
    /// P[X >= s / `2^FRACTION_BITS`], with an error of about `2^-bits`.
    ///
    /// # Arguments
    /// The scale of `noise` must be positive and finite. Time grows with `s / scale`: callers exclude arguments whose
    /// tail is below one word.
    pub(super) fn tail(noise: Noise, s: u128, bits: u64) -> Self {
        match noise {
            Noise::Gaussian { sigma } => {
                let x = in_scales(s, sigma);
                gaussian_tail(s, sigma, bits + carried(x * x / 2.0))
            }
            Noise::Laplace { scale } => laplace_tail(s, scale, bits + carried(in_scales(s, scale))),
        }
    }

    /// Bounds of floor(value 2^`shift`), cut off at the largest word.
    pub(super) fn floor_bounds(&self, shift: u64) -> (u128, u128) {
        // Otherwise: the value is above all words; the largest word is below it, and above it for `hi` as far as words
        // go.
        let floor = |end: &BigUint| ((end << shift) >> self.bits).to_u128().unwrap_or(u128::MAX);
        (floor(&self.lo), floor(&self.hi))
    }

    fn one(bits: u64) -> Self {
        let one = BigUint::one() << bits;
        Self { lo: one.clone(), hi: one, bits }
    }

    fn ratio(numerator: &BigUint, denominator: &BigUint, bits: u64) -> Self {
        let lo = (numerator << bits) / denominator;
        Self { hi: &lo + 1_u32, lo, bits }
    }

    fn mul(&self, other: &Self) -> Self {
        let lo = (&self.lo * &other.lo) >> self.bits;
        let hi = ((&self.hi * &other.hi) >> self.bits) + 1_u32;
        Self { lo, hi, bits: self.bits }
    }

    fn div(&self, divisor: u64) -> Self {
        Self { lo: &self.lo / divisor, hi: &self.hi / divisor + 1_u32, bits: self.bits }
    }

    fn half(&self) -> Self {
        self.div(2)
    }

    fn add_assign(&mut self, other: &Self) {
        self.lo += &other.lo;
        self.hi += &other.hi;
    }

    /// `self - other`, known to be non-negative.
    fn sub(&self, other: &Self) -> Self {
        Self { lo: monus(&self.lo, &other.hi), hi: monus(&self.hi, &other.lo), bits: self.bits }
    }
}

/// Additional bits for terms that grow to `exp(exponent)`. Only the width of the result depends on them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; only the width depends on it"
)]
fn carried(exponent: f64) -> u64 {
    64 + (exponent * std::f64::consts::LOG2_E).ceil() as u64
}

/// s / `2^FRACTION_BITS` in multiples of the scale, to nearest: for choosing a precision only.
fn in_scales(s: u128, scale: f64) -> f64 {
    s as f64 / (1_u64 << FRACTION_BITS) as f64 / scale
}

fn gaussian_tail(s: u128, sigma: f64, bits: u64) -> FixedPoint {
    let (numerator, denominator) = exact_ratio(s, sigma);
    let x = FixedPoint::ratio(&numerator, &denominator, bits);
    let square = FixedPoint::ratio(&(&numerator * &numerator), &(&denominator * &denominator), bits);
    let series = alternating_series(x, &square, |n| (2 * n, 2 * n + 1));
    FixedPoint::one(bits).half().sub(&series.mul(&density_at_zero(bits)))
}

fn laplace_tail(s: u128, scale: f64, bits: u64) -> FixedPoint {
    let (numerator, denominator) = exact_ratio(s, scale);
    let x = FixedPoint::ratio(&numerator, &denominator, bits);
    alternating_series(FixedPoint::one(bits), &x, |n| (n, 1)).half()
}

/// The sum of (-1)^n b(n) / d(n) with b(0) = `first`, b(n) = b(n-1) `factor` / c(n) and (c, d) = `divisors`,
/// both non-decreasing in n.
fn alternating_series(
    first: FixedPoint,
    factor: &FixedPoint,
    divisors: impl Fn(u64) -> (u64, u64),
) -> FixedPoint {
    let small = BigUint::from(4_u32);
    let zero = FixedPoint { lo: BigUint::zero(), hi: BigUint::zero(), bits: first.bits };
    let (mut even, mut odd) = (zero.clone(), zero);
    let mut power = first;
    for n in 0_u64.. {
        let term = power.div(divisors(n).1);
        if n % 2 == 0 {
            even.add_assign(&term);
        } else {
            odd.add_assign(&term);
        }
        let next = divisors(n + 1).0;
        // From here on each term is at most the one before, so the rest is at most the next term, which
        // is at most this one.
        if term.hi <= small && factor.hi <= BigUint::from(next) << factor.bits {
            even.hi += &small;
            odd.hi += &small;
            break;
        }
        power = power.mul(factor).div(next);
    }
    even.sub(&odd)
}

/// (2 pi)^(-1/2).
fn density_at_zero(bits: u64) -> FixedPoint {
    let pi = pi(bits);
    let numerator = BigUint::one() << (3 * bits);
    let lo = (&numerator / (pi.hi * 2_u32)).sqrt();
    let hi = (numerator / (pi.lo * 2_u32) + 1_u32).sqrt() + 1_u32;
    FixedPoint { lo, hi, bits }
}

/// Machin: pi = 16 arctan(1/5) - 4 arctan(1/239).
fn pi(bits: u64) -> FixedPoint {
    let arctan_of_inverse = |k: u64| {
        let inverse = FixedPoint::one(bits).div(k);
        let square = FixedPoint::one(bits).div(k * k);
        alternating_series(inverse, &square, |n| (1, 2 * n + 1))
    };
    let times = |e: FixedPoint, k: u32| FixedPoint { lo: e.lo * k, hi: e.hi * k, bits };
    times(arctan_of_inverse(5), 16).sub(&times(arctan_of_inverse(239), 4))
}

/// s / `2^FRACTION_BITS` / scale as an exact quotient: a binary float is an integer times a power of two.
fn exact_ratio(s: u128, scale: f64) -> (BigUint, BigUint) {
    let (mantissa, exponent) = exact_parts(scale);
    let shift = exponent + i64::from(FRACTION_BITS);
    let (s, mantissa) = (BigUint::from(s), BigUint::from(mantissa));
    if shift < 0 { (s << shift.unsigned_abs(), mantissa) } else { (s, mantissa << shift.unsigned_abs()) }
}

/// a - b, or zero.
fn monus(a: &BigUint, b: &BigUint) -> BigUint {
    if a > b { a - b } else { BigUint::zero() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// floor(P[X >= s 2^-30] 2^128), computed with mpmath 1.3 at 420 digits:
    /// `erfc(x / sqrt(2)) / 2` and `exp(-x) / 2` for x = s / 2^30 / scale, scale being the exact value of the float.
    #[rustfmt::skip]
    const VECTORS: [(f64, u128, u128, u128); 9] = [
        (1.0, 1, 0x7fff_fffe_677b_acc2_bc9a_f733_44ad_18f7, 0x7fff_fffe_0000_0003_ffff_fffa_aaaa_aaaf),
        (1.0, 1 << 30, 0x289d_a176_f964_165b_40dd_1610_d22e_29b6, 0x2f16_ac6c_59de_6f8d_5d6f_63c1_482a_7c86),
        (2.236_067_977_499_79, 12_884_902_233, 0xac_567b_0a7e_6761_c1ea_3e67_9fe7, 0x99_0816_c396_ffb5_b957_7a83_61c1_0bbf),
        (0.1, 1 << 30, 0x9_363a_f427_d895, 0x1_7cd7_9b56_47c9_e547_628c_d041_0eb1),
        (3.5, 1, 0x7fff_ffff_8b47_e837_a399_fd7b_3eec_0122, 0x7fff_ffff_6db6_db6e_0a72_f053_77aa_6afa),
        (1e9, 1_000_000_000_000_000_000, 0x2d04_1219_8b4a_7356_d558_2c6e_7952_8dc6, 0x326f_a5e7_a66c_226f_e4c1_7157_8f99_6833),
        (1e-9, 1, 0x2d04_1219_8b4a_746b_7dfc_0f4d_6163_19a8, 0x326f_a5e7_a66c_2342_b2e2_8327_9959_3b97),
        (13.37, 161_061_273_607, 0x1_4d0f_213a, 0x7088_327e_6c5e_9690_a21e_8605_a0a6),
        (1e9, 1, 0x7fff_ffff_ffff_fff9_256e_ec75_02c3_255d, 0x7fff_ffff_ffff_fff7_68fa_0bec_94b5_a6d6),
    ];

    #[test]
    fn known_answers() {
        for (scale, s, gaussian, laplace) in VECTORS {
            for (noise, expected) in
                [(Noise::Gaussian { sigma: scale }, gaussian), (Noise::Laplace { scale }, laplace)]
            {
                let bounds = FixedPoint::tail(noise, s, 256).floor_bounds(128);
                assert_eq!(bounds, (expected, expected), "{noise:?} {s}");
            }
        }
    }

    /// The same source, times 2^1120: tails near 1e-300.
    #[test]
    fn far_tails() {
        let gaussian = FixedPoint::tail(Noise::Gaussian { sigma: 1.0 }, 37 << 30, 1250).floor_bounds(1120);
        assert_eq!(
            gaussian,
            (0x3d59_98d7_fd61_5d26_18fd_0748_cc2e_104a, 0x3d59_98d7_fd61_5d26_18fd_0748_cc2e_104a)
        );
        let laplace = FixedPoint::tail(Noise::Laplace { scale: 1.0 }, 690 << 30, 1250).floor_bounds(1120);
        assert_eq!(
            laplace,
            (0xba2_9b3d_f567_6348_06b0_a6ef_cb35_fbab, 0xba2_9b3d_f567_6348_06b0_a6ef_cb35_fbab)
        );
    }

    #[test]
    fn enclosures_are_narrow_and_nested() {
        for noise in [Noise::Gaussian { sigma: 1.0 }, Noise::Laplace { scale: 0.15 }] {
            for s in [1, 1 << 20, 1 << 30, 5 << 30, 13 << 30] {
                let (coarse, fine) = (FixedPoint::tail(noise, s, 128), FixedPoint::tail(noise, s, 300));
                let width = &coarse.hi - &coarse.lo;
                assert!(
                    width.bits() <= coarse.bits - 128,
                    "{noise:?} {s}: {} bits of {}",
                    width.bits(),
                    coarse.bits
                );
                let extra = fine.bits - coarse.bits;
                assert!((&coarse.lo << extra) <= fine.lo && fine.lo <= fine.hi);
                assert!(fine.hi <= (&coarse.hi << extra));
            }
        }
    }

    #[test]
    fn floats_become_exact_quotients() {
        for (scale, s) in [(1.0, 5), (0.1, 1), (1e300, 7), (f64::MIN_POSITIVE, 3), (5e-324, 1), (f64::MAX, 1)]
        {
            let (numerator, denominator) = exact_ratio(s, scale);
            // Dividing back by s leaves scale times a power of two, which a float holds exactly.
            let (n, d) = (numerator / s, denominator);
            let exponent = i32::try_from(d.bits()).unwrap() - i32::try_from(n.bits()).unwrap() - 30;
            assert_eq!(exponent, libm::ilogb(scale), "{scale}");
            let mantissa: BigUint = &d >> d.trailing_zeros().unwrap();
            let same = libm::frexp(mantissa.to_f64().unwrap()).0.to_bits();
            assert_eq!(same, libm::frexp(scale).0.to_bits(), "{scale}");
        }
    }
}
