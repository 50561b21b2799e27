//! Positive real numbers of any size: an [`Interval`] times a power of two.

use std::f64::consts::LN_2;

use super::Interval;

/// A non-negative real between the ends of `mantissa` times 2^`exponent`.
#[derive(Debug, Clone, Copy)]
pub struct Scaled {
    mantissa: Interval,
    exponent: i64,
}

/// Products are brought back to the range of `f64` when they pass this power of two.
const CARRY: i32 = 900;
/// Exponents beyond this stand for 0 and infinity.
const FAR: i64 = 1 << 60;

impl Scaled {
    /// Exactly 0.
    pub const ZERO: Self = Self { mantissa: Interval::ZERO, exponent: 0 };

    /// The integer `n`.
    #[must_use]
    pub fn integer(n: u128) -> Self {
        // Otherwise: the lower end, and the upper one is put right below.
        let mantissa = Interval::integer(i128::try_from(n).unwrap_or(i128::MAX));
        // Beyond i128 only the upper end is off.
        let mantissa = if n > i128::MAX.unsigned_abs() {
            Interval::new(mantissa.lo(), 2.0_f64.powi(128))
        } else {
            mantissa
        };
        Self { mantissa, exponent: 0 }
    }

    /// The product of integers below 2^53.
    ///
    /// Each multiplication is off by a factor of at most 1 +- 2^-53; for up to 2^50 of them the product is within
    /// n 2^-52 of it, relatively.
    pub fn product(factors: impl Iterator<Item = u64>) -> Self {
        let (mut product, mut exponent, mut count) = (1.0_f64, 0_i64, 0_u64);
        for factor in factors {
            debug_assert!(factor < 1 << 53);
            product *= factor as f64;
            count += 1;
            if product > 2.0_f64.powi(CARRY) {
                product *= 2.0_f64.powi(-CARRY);
                exponent += i64::from(CARRY);
            }
        }
        let error = count as f64 * f64::EPSILON;
        let mantissa = Interval::point(product) * Interval::new(1.0 - error, 1.0 + error);
        Self { mantissa, exponent }.normalised()
    }

    /// The quotient of two products of as many integers below 2^53.
    pub fn quotient(above: impl Iterator<Item = u64>, below: impl Iterator<Item = u64>) -> Self {
        let (above, below) = (Self::product(above), Self::product(below));
        Self { mantissa: above.mantissa / below.mantissa, exponent: above.exponent - below.exponent }
            .normalised()
    }

    /// The `power`-th power.
    #[must_use]
    pub fn pow(self, mut power: u64) -> Self {
        let (mut result, mut square) = (Self::integer(1), self);
        while power > 0 {
            if power & 1 == 1 {
                result = result * square;
            }
            square = square * square;
            power >>= 1;
        }
        result
    }

    /// The number divided by `total`, which is positive.
    #[must_use]
    pub fn share_of(self, total: Self) -> Interval {
        let exponent = self.exponent.saturating_sub(total.exponent);
        Self { mantissa: self.mantissa / total.mantissa, exponent }.to_interval()
    }

    /// e^-(`rate` `level`).
    #[must_use]
    pub fn decay(rate: f64, level: u128) -> Self {
        let x = Self::integer(level).mantissa * Interval::point(rate);
        let powers = (x.lo() / LN_2).floor();
        if powers > FAR as f64 {
            return Self { mantissa: Interval::new(0.0, 1.0), exponent: -FAR };
        }
        let ln_2 = Interval::new(LN_2.next_down(), LN_2.next_up());
        let rest = x - Interval::point(powers) * ln_2;
        #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^60")]
        let exponent = -(powers as i64);
        Self { mantissa: (-rest).exp(), exponent }
    }

    /// Times 2^`exponent`.
    #[must_use]
    pub fn shifted(mut self, exponent: i64) -> Self {
        self.exponent = self.exponent.saturating_add(exponent).clamp(-FAR, FAR);
        self
    }

    /// The number itself, as far as `f64` reaches.
    #[must_use]
    pub fn to_interval(self) -> Interval {
        match i32::try_from(self.exponent) {
            Ok(exponent @ -1000..=1000) => self.mantissa * Interval::point(2.0_f64.powi(exponent)),
            _ if self.mantissa.hi() <= 0.0 => Interval::ZERO,
            _ if self.exponent < 0 => Interval::new(0.0, f64::MIN_POSITIVE),
            _ if self.mantissa.lo() > 0.0 => Interval::new(f64::MAX, f64::INFINITY),
            _ => Interval::new(0.0, f64::INFINITY),
        }
    }

    /// The exponent of the smallest power of two that is certainly not below the number; for searches.
    #[must_use]
    pub fn upper_exponent(self) -> i64 {
        self.exponent.saturating_add(i64::from(libm::ilogb(self.mantissa.hi()))) + 1
    }

    /// log2 of some number inside, for searches.
    #[must_use]
    pub fn log2(self) -> f64 {
        libm::log2(self.mantissa.middle()) + self.exponent as f64
    }

    fn normalised(self) -> Self {
        let hi = self.mantissa.hi();
        if !(2.0_f64.powi(-1000)..2.0_f64.powi(1000)).contains(&hi) || (1e-90..1e90).contains(&hi) {
            return self;
        }
        let size = libm::ilogb(hi);
        // A power of two changes no digit of a normal number; the interval steps outwards anyway.
        let mantissa = self.mantissa * Interval::point(2.0_f64.powi(-size));
        Self { mantissa, exponent: self.exponent + i64::from(size) }
    }
}

impl std::ops::Mul for Scaled {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let exponent = self.exponent.saturating_add(other.exponent).clamp(-FAR, FAR);
        Self { mantissa: self.mantissa * other.mantissa, exponent }.normalised()
    }
}

impl std::ops::Add for Scaled {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = small.exponent.saturating_sub(large.exponent);
        let small = Self { mantissa: small.mantissa, exponent: shift }.to_interval();
        Self { mantissa: large.mantissa + small, exponent: large.exponent }.normalised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_enclose_integers() {
        let factorial = Scaled::product(1..=20_u64).to_interval();
        assert!(
            factorial.contains(2_432_902_008_176_640_000.0) && factorial.hi() / factorial.lo() < 1.0 + 1e-13
        );
        let large = Scaled::product((1..=1000).map(|_| 1 << 52));
        assert_eq!(large.upper_exponent() - 52_000, 1);
        assert!((large.log2() - 52_000.0).abs() < 1e-9);
        let binomial = Scaled::quotient((0..30).map(|i| 100 - i), 1..=30).to_interval();
        assert!(binomial.contains(2.937_233_982_161_094_5e25) && binomial.hi() / binomial.lo() < 1.0 + 1e-12);
        let power = Scaled::integer(3).pow(1000);
        assert!((power.log2() - 1000.0 * 3_f64.log2()).abs() < 1e-9);
        assert!(Scaled::integer(3).pow(5).share_of(Scaled::integer(486)).contains(0.5));
        let sum = (large + large).shifted(-52_001).to_interval();
        assert!(sum.contains(1.0) && sum.hi() < 1.0 + 1e-12);
        assert!((Scaled::integer(3) + Scaled::integer(4)).to_interval().contains(7.0));
        assert!(Scaled::integer(u128::MAX).to_interval().contains(2.0_f64.powi(128)));
    }

    #[test]
    fn decay_encloses_powers_of_e() {
        for (rate, level) in [(0.5, 0_u128), (0.5, 7), (1e-9, 1 << 40), (2.5, 1 << 20), (1e-12, 1)] {
            let log = Scaled::decay(rate, level).log2() * LN_2;
            assert!((log + rate * level as f64).abs() < 1e-9 * (1.0 + rate * level as f64), "{rate} {level}");
        }
        let vanishing = Scaled::decay(1e9, u128::MAX).to_interval();
        assert!(vanishing.lo() <= 0.0 && vanishing.hi() < 1e-300);
        // e^-20.5 as computed with mpmath.
        assert!(Scaled::decay(0.5, 41).to_interval().contains(1.250_152_866_386_742_6e-9));
    }

    #[test]
    fn numbers_beyond_f64_stay_bounds() {
        let tiny = Scaled::integer(1).shifted(-5000).to_interval();
        assert!(tiny.lo() <= 0.0 && tiny.hi() > 0.0);
        let huge = Scaled::integer(1).shifted(5000).to_interval();
        assert!(huge.lo() >= f64::MAX && huge.hi() > f64::MAX);
    }
}
