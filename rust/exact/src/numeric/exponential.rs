//! Exponential random numbers of mean 1, with as many binary digits as a comparison needs.

use num_bigint::BigUint;

use super::Bits;
use super::Interval;
use super::Uniform;

/// The number is `whole` + `fraction`.
#[derive(Debug, Clone)]
pub struct Exponential {
    whole: u64,
    fraction: Uniform,
}

impl Exponential {
    /// One draw, by comparisons of uniform numbers alone (von Neumann 1951).
    ///
    /// # Contract
    /// The law is exact: the first number x of uniform numbers falls for exactly n steps with probability
    /// x^(n-1)/(n-1)! - x^n/n!, so for an odd number of steps with e^-x; and each failure is worth a factor 1/e.
    pub fn draw(coins: &mut impl Bits) -> Self {
        let mut whole = 0;
        loop {
            let mut falling = vec![Uniform::drawn(coins)];
            loop {
                let mut next = Uniform::drawn(coins);
                let falls = falling.last_mut().is_some_and(|last| next.is_less(last, coins));
                if !falls {
                    break;
                }
                falling.push(next);
            }
            if falling.len() % 2 == 1 {
                return Self { whole, fraction: falling.swap_remove(0) };
            }
            whole += 1;
        }
    }

    /// Bounds from the digits that are known.
    #[must_use]
    pub fn to_interval(&self) -> Interval {
        Interval::integer(self.whole.into()) + self.fraction.to_interval()
    }

    /// Integers between which the number lies, times 2^-`bits`; `bits` is a multiple of 64.
    pub fn fixed_point(&mut self, bits: u64, coins: &mut impl Bits) -> (BigUint, BigUint) {
        self.fraction.extend(bits, coins);
        let (digits, length) = self.fraction.digits();
        let below = (BigUint::from(self.whole) << bits) + (digits >> (length - bits));
        let above = &below + 1_u32;
        (below, above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Coins, Purpose, ReleaseKey};

    #[test]
    fn frequencies_are_those_of_the_exponential_law() {
        const DRAWS: u32 = 100_000;
        let mut coins = Coins::new(&ReleaseKey::insecure_test([9; 32]), Purpose::TopK, 0);
        // Cells of a quarter, the last one open.
        let mut cells = [0_u32; 24];
        for _ in 0..DRAWS {
            let (below, _) = Exponential::draw(&mut coins).fixed_point(64, &mut coins);
            let cell = usize::try_from(below >> 62_u32).unwrap();
            cells[cell.min(23)] += 1;
        }
        let statistic: f64 = (0_u32..)
            .zip(cells)
            .map(|(cell, seen)| {
                let above = |quarters: u32| (-0.25 * f64::from(quarters)).exp();
                let share = above(cell) - if cell == 23 { 0.0 } else { above(cell + 1) };
                let expected = share * f64::from(DRAWS);
                (f64::from(seen) - expected).powi(2) / expected
            })
            .sum();
        // 23 degrees of freedom: above 100 with a probability of 2e-11.
        assert!(statistic < 100.0, "{statistic}");
    }

    #[test]
    fn more_digits_do_not_move_the_number() {
        let mut coins = Coins::new(&ReleaseKey::insecure_test([8; 32]), Purpose::TopK, 0);
        for _ in 0..100 {
            let mut number = Exponential::draw(&mut coins);
            let rough = number.fixed_point(64, &mut coins);
            let fine = number.fixed_point(192, &mut coins);
            assert!(rough.0 << 128_u32 <= fine.0 && fine.1 <= rough.1 << 128_u32);
            let bounds = number.to_interval();
            assert!(bounds.hi() - bounds.lo() < 1e-14);
        }
    }
}
