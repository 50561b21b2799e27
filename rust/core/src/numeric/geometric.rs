//! Geometric random numbers, exactly.

use num_bigint::BigUint;

use super::{Bits, Enclosure, Interval, Uniform, exact_parts, forced_slow};

/// A number g >= 0 with P[g >= n] = e^-(`rate` n), exactly: the largest n for which a uniform number is below
/// e^-(`rate` n).
pub(crate) fn geometric(rate: f64, bits: &mut impl Bits) -> i128 {
    let mut uniform = Uniform::default();
    let (low, high) = uniform.first_digits(bits);
    let at = |u: Interval| -(u.ln() / Interval::point(rate));
    let (least, most) = (at(high).lo().max(0.0).floor(), at(low).hi().floor());
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let least_number = least as i128;
    if least.to_bits() == most.to_bits() && !forced_slow() {
        return least_number;
    }
    geometric_exactly(rate, least_number, uniform, bits)
}

#[cold]
fn geometric_exactly(rate: f64, least: i128, mut uniform: Uniform, bits: &mut impl Bits) -> i128 {
    let (mantissa, exponent) = exact_parts(rate);
    let mut number = least;
    loop {
        let next = BigUint::from(mantissa) * (number + 1).unsigned_abs();
        if !uniform.is_below_exactly(bits, |digits| Enclosure::exp_neg(&next, exponent, digits)) {
            return number;
        }
        number += 1;
    }
}
