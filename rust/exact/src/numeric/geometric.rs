//! Geometric random numbers, exactly.

use num_bigint::BigUint;

use super::{Bits, Enclosure, Interval, Uniform, exact_parts, forced_slow};

/// Numbers from here on are cut off. A rate of at least 2^-80 never gets there: that takes a million digits of zeros.
const LARGEST: i128 = 1 << 126;

/// A number g >= 0 with P[g >= n] = e^-(`rate` n), exactly: the largest n for which a uniform number is below
/// e^-(`rate` n).
///
/// # Arguments
/// With a rate below 2^-80 the number may be cut off.
pub fn geometric(rate: f64, bits: &mut impl Bits) -> i128 {
    let mut uniform = Uniform::default();
    let (low, high) = uniform.first_digits(bits);
    let at = |u: Interval| -(u.ln() / Interval::point(rate));
    let (least, most) = (at(high).lo().max(0.0).floor(), at(low).hi().floor());
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let least_number = (least as i128).min(LARGEST);
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
    while low.saturating_add(step) < LARGEST && reaches(low + step) {
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

    /// These half words, one after the other.
    struct Digits<'a>(std::slice::Iter<'a, u64>);

    impl Bits for Digits<'_> {
        fn half_word(&mut self) -> u64 {
            *self.0.next().unwrap()
        }
    }

    fn from_digits(rate: f64, digits: &[u64]) -> i128 {
        geometric(rate, &mut Digits(digits.iter()))
    }

    /// With the float next to ln 2 as rate, e^-rate is 2^63 + 213.894 parts of 2^-64.
    #[test]
    fn digits_at_a_boundary_are_decided_exactly() {
        let digits = |part: u64, rest: f64| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^64")]
            let rest = (rest * 2.0_f64.powi(64)) as u64;
            [(1 << 63) + part, rest, 0, 0]
        };
        let cases =
            [(200, 0.5, 1), (212, 0.99, 1), (213, 0.8, 1), (213, 0.95, 0), (214, 0.0, 0), (230, 0.5, 0)];
        for (part, rest, number) in cases {
            assert_eq!(from_digits(std::f64::consts::LN_2, &digits(part, rest)), number, "{part} {rest}");
        }
    }

    #[test]
    fn the_ends_of_the_first_digits_agree_with_the_slow_way() {
        for rate in [0.01, 0.4, std::f64::consts::LN_2, 3.0] {
            for first in [0, 1, u64::MAX - 1, u64::MAX] {
                let digits = [first, 1 << 62, 5, 7, 9, 11, 13, 15];
                let fast = from_digits(rate, &digits);
                SLOW.set(true);
                let slow = from_digits(rate, &digits);
                SLOW.set(false);
                assert_eq!(slow, fast, "{rate} {first}");
                let below = |number: i128| (-rate * number as f64).exp() * 2.0_f64.powi(64);
                assert!(first == 0 || below(fast) >= first as f64 && below(fast + 1) <= first as f64 + 1.0);
            }
        }
    }

    #[test]
    fn numbers_beyond_all_bounds_are_cut_off() {
        for rate in [1e-45, 5e-324] {
            assert!(draws(rate, 100).iter().all(|number| (0..=LARGEST).contains(number)));
            assert_eq!(from_digits(rate, &[0; 64]), LARGEST);
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
