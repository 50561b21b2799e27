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
    let mut reaches = |number: i128| {
        let power = BigUint::from(mantissa) * number.unsigned_abs();
        uniform.is_below_exactly(bits, |digits| Enclosure::exp_neg(&power, exponent, digits))
    };
    // The number is at least `low`, then below `low + step`: where the rate is tiny, its bounds are far apart.
    let (mut low, mut step) = (least, 1);
    while reaches(low + step) {
        (low, step) = (low + step, 2 * step);
    }
    while step > 1 {
        let half = step / 2;
        low += if reaches(low + half) { half } else { 0 };
        step = half;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::SLOW;
    use crate::random::{Coins, Purpose, ReleaseKey};

    fn draws(rate: f64, number: usize) -> Vec<i128> {
        let mut coins = Coins::new(&ReleaseKey::insecure_test([3; 32]), Purpose::TopK, 0);
        (0..number).map(|_| geometric(rate, &mut coins)).collect()
    }

    #[test]
    fn both_ways_give_the_same_number() {
        for rate in [0.01, 0.4, 3.0] {
            // The slow way takes more digits for the first number, so the numbers after it differ.
            let fast = draws(rate, 1);
            SLOW.set(true);
            let slow = draws(rate, 1);
            SLOW.set(false);
            assert_eq!(slow, fast, "{rate}");
        }
    }

    #[test]
    fn tiny_rates_take_no_time() {
        let numbers = draws(1e-25, 100);
        assert!(numbers.iter().all(|number| *number > 1 << 64 && *number < 1 << 100));
    }

    #[test]
    fn frequencies_fall_by_the_rate() {
        const DRAWS: usize = 40_000;
        for rate in [0.2_f64, 1.0] {
            let found = draws(rate, DRAWS);
            for least in 1..5_i128 {
                let seen = found.iter().filter(|number| **number >= least).count() as f64;
                let expected = (-rate * least as f64).exp() * DRAWS as f64;
                // Seven standard deviations.
                assert!(
                    (seen - expected).abs() < 7.0 * expected.sqrt(),
                    "{rate} {least}: {seen}, {expected}"
                );
            }
        }
    }
}
