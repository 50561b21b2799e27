//! Positive real numbers to any precision: big integers between which they lie, times a power of two.
//!
//! Lower ends are rounded down and upper ends up, so that an enclosure holds by construction; the precision decides
//! only how narrow it is. It is needed where `f64` bounds leave a comparison open, which is next to never.

use num_bigint::BigUint;
use num_traits::{One, Zero};

/// Exponents beyond this stand for a decay between 0 and 2 to minus that power.
const FAR: i64 = 1_000_000_000_000_000;

/// A non-negative real between `lo` and `hi` times 2^`exponent`.
#[derive(Debug, Clone)]
pub struct Enclosure {
    lo: BigUint,
    hi: BigUint,
    exponent: i64,
}

impl Enclosure {
    /// Exactly the integer `n`.
    #[must_use]
    pub fn integer(n: BigUint) -> Self {
        Self { lo: n.clone(), hi: n, exponent: 0 }
    }

    /// The product, to about `bits` bits.
    #[must_use]
    pub fn mul(&self, other: &Self, bits: u64) -> Self {
        let exponent = self.exponent + other.exponent;
        Self { lo: &self.lo * &other.lo, hi: &self.hi * &other.hi, exponent }.rounded(bits)
    }

    /// Times 2^`exponent`, exactly.
    #[must_use]
    pub fn shifted(mut self, exponent: i64) -> Self {
        self.exponent += exponent;
        self
    }

    /// The quotient by a positive integer, to about `bits` bits.
    #[must_use]
    pub fn div(&self, divisor: &BigUint, bits: u64) -> Self {
        let more = bits + divisor.bits();
        let (lo, hi) = (&self.lo << more, &self.hi << more);
        let exponent = self.exponent - signed(more);
        Self { lo: lo / divisor, hi: ceil_div(&hi, divisor), exponent }.rounded(bits)
    }

    /// e^-x for x = `numerator` 2^`exponent`, with a relative error of about 2^-`bits`.
    ///
    /// x is halved until it is below 1/8, the alternating series is summed, and the result squared as often.
    #[must_use]
    pub fn exp_neg(numerator: &BigUint, exponent: i64, bits: u64) -> Self {
        let magnitude = signed(numerator.bits()) + exponent;
        let squarings = (magnitude + 3).max(0);
        let work = bits + 2 * squarings.unsigned_abs() + 32;
        let small = Self { lo: numerator.clone(), hi: numerator.clone(), exponent: exponent - squarings };
        let mut power = exp_neg_series(&small, work);
        for _ in 0..squarings {
            power = power.mul(&power, work);
        }
        power
    }

    /// e^-(`rate` `level`) for a positive, finite rate, with a relative error of about 2^-`bits`.
    #[must_use]
    pub fn decay(rate: f64, level: u128, bits: u64) -> Self {
        if level as f64 * rate > FAR as f64 {
            return Self { lo: BigUint::zero(), hi: BigUint::one(), exponent: -FAR };
        }
        let (mantissa, exponent) = exact_parts(rate);
        Self::exp_neg(&(BigUint::from(mantissa) * level), exponent, bits)
    }

    /// floor(lower end 2^`bits`) and ceil(upper end 2^`bits`).
    #[must_use]
    pub fn fixed_point(&self, bits: u64) -> (BigUint, BigUint) {
        let shift = self.exponent + signed(bits);
        if shift >= 0 {
            return (&self.lo << shift.unsigned_abs(), &self.hi << shift.unsigned_abs());
        }
        let by = shift.unsigned_abs();
        (&self.lo >> by, shift_up(&self.hi, by))
    }

    /// The same number with ends of about `bits` bits, rounded outwards.
    fn rounded(self, bits: u64) -> Self {
        let by = self.hi.bits().saturating_sub(bits + 64);
        let Self { lo, hi, exponent } = self;
        Self { lo: lo >> by, hi: shift_up(&hi, by), exponent: exponent + signed(by) }
    }
}

/// e^-y in fixed point of `bits` bits for 0 <= y < 1/8.
fn exp_neg_series(y: &Enclosure, bits: u64) -> Enclosure {
    let one = BigUint::one() << bits;
    let (y_lo, y_hi) = y.fixed_point(bits);
    // Terms of both signs are added up apart, so that nothing is rounded inwards.
    let mut sums = [(one.clone(), one.clone()), (BigUint::zero(), BigUint::zero())];
    let mut term = (one.clone(), one);
    for n in 1_u64.. {
        term = (((&term.0 * &y_lo) >> bits) / n, ceil_div(&shift_up(&(&term.1 * &y_hi), bits), &n.into()));
        let sum = &mut sums[usize::from(n % 2 == 1)];
        sum.0 += &term.0;
        sum.1 += &term.1;
        // The terms fall, so the rest of the series is below the last term, which is 1 or 2 in the last place.
        if term.1 <= BigUint::from(2_u32) {
            break;
        }
    }
    let [even, odd] = sums;
    let unit = BigUint::from(2_u32);
    let lo = even.0 - (odd.1 + &unit);
    let hi = even.1 + unit - odd.0;
    Enclosure { lo, hi, exponent: -signed(bits) }
}

fn ceil_div(n: &BigUint, divisor: &BigUint) -> BigUint {
    (n + (divisor - 1_u32)) / divisor
}

/// n / 2^`by`, rounded up.
fn shift_up(n: &BigUint, by: u64) -> BigUint {
    let down = n >> by;
    if (&down << by) == *n { down } else { down + 1_u32 }
}

/// Sizes in bits are far below 2^63.
fn signed(bits: u64) -> i64 {
    bits.cast_signed()
}

/// The mantissa and the exponent of a positive, finite number: `x` = mantissa 2^exponent exactly.
#[must_use]
pub fn exact_parts(x: f64) -> (u64, i64) {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i64::from((bits >> 52) as u16 & 0x7ff);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

#[cfg(test)]
mod tests {
    use num_traits::ToPrimitive;

    use super::*;

    /// floor(e^-x 2^128) with mpmath 1.3 at 400 digits, for the exact value of each float x.
    const VECTORS: [(f64, u128); 5] = [
        (1.0, 125_182_886_983_370_532_117_250_726_298_150_828_301),
        (0.1, 307_900_218_287_906_976_377_694_989_821_985_081_041),
        (20.5, 425_404_976_387_076_512_672_470_855_624),
        (1e-9, 340_282_366_580_656_096_712_577_306_178_821_772_287),
        (85.25, 32),
    ];

    #[test]
    fn known_answers() {
        for (x, expected) in VECTORS {
            let (mantissa, exponent) = exact_parts(x);
            let (lo, hi) = Enclosure::exp_neg(&mantissa.into(), exponent, 300).fixed_point(128);
            assert_eq!(lo.to_u128(), Some(expected), "{x}");
            assert_eq!(hi.to_u128(), Some(expected + 1), "{x}");
        }
    }

    #[test]
    fn products_of_powers_meet() {
        let (mantissa, exponent) = exact_parts(0.37);
        for n in [0_u32, 1, 7, 1000, 1_000_000] {
            let power = |n: u32| Enclosure::exp_neg(&(BigUint::from(mantissa) * n), exponent, 200);
            let both = power(n).mul(&power(3), 200);
            let once = power(n + 3);
            // Compare far below the leading bits.
            let bits = 150 + u64::from(n) * 5338 / 10_000;
            let ((lo, hi), (low, high)) = (both.fixed_point(bits), once.fixed_point(bits));
            assert!(lo <= high && low <= hi, "{n}");
            assert!(&hi - &lo <= BigUint::from(2_u32), "{n}");
        }
    }

    #[test]
    fn quotients_enclose() {
        let third = Enclosure::integer(BigUint::one()).div(&3_u32.into(), 100);
        let (lo, hi) = third.fixed_point(64);
        assert_eq!(
            (lo.to_u128(), hi.to_u128()),
            (Some(u128::from(u64::MAX / 3)), Some(u128::from(u64::MAX / 3) + 1))
        );
    }
}
