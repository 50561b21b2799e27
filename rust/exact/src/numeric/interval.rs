//! Interval arithmetic on `f64` with outward rounding: every privacy figure is an enclosure of the real number.
//!
//! An [`Interval`] contains the real value of the expression that made it, whatever its arguments, zero,
//! subnormal numbers and infinities included. Sums, products, quotients and square roots are correctly rounded
//! by IEEE 754, so one step outwards encloses them. The functions of `libm` are widened by [`LIBM_STEPS`] and
//! [`ERFC_STEPS`] neighbouring numbers; the comments there say where these come from.

use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Steps that enclose `exp`, `expm1`, `log` and `log1p` of `libm`.
///
/// Their sources (the FreeBSD msun routines) state an error below 1 ulp; one ulp is at most two neighbours, next to
/// a power of two. Measured against 40-digit arithmetic: below 0.85 ulp on 60,000 arguments each, see
/// `docs/algorithms/accounting.md`.
const LIBM_STEPS: u64 = 4;

/// Steps that enclose `erfc` of `libm`, whose source states no bound.
///
/// Published surveys of mathematical libraries find up to 5.2 ulp for this algorithm. Measured against 40-digit
/// arithmetic: below 2.5 ulp on 60,000 arguments, see `docs/algorithms/accounting.md`.
const ERFC_STEPS: u64 = 32;

/// A closed interval of real numbers that contains the exact value of a computation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    /// All real numbers: the result of an undefined operation.
    pub const ENTIRE: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    /// Exactly 0.
    pub const ZERO: Self = Self { lo: 0.0, hi: 0.0 };
    /// Exactly 1.
    pub const ONE: Self = Self { lo: 1.0, hi: 1.0 };

    /// The numbers from `lo` to `hi`; [`Interval::ENTIRE`] if these are not ordered (or not numbers).
    #[must_use]
    pub fn new(lo: f64, hi: f64) -> Self {
        if lo <= hi { Self { lo, hi } } else { Self::ENTIRE }
    }

    /// Exactly `x`.
    #[must_use]
    pub fn point(x: f64) -> Self {
        Self::new(x, x)
    }

    /// An enclosure of the integer `n`, exact up to 2^53.
    #[must_use]
    pub fn integer(n: i128) -> Self {
        let nearest = n as f64;
        if n.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
            Self::point(nearest)
        } else {
            Self::new(nearest.next_down(), nearest.next_up())
        }
    }

    /// The lower end.
    #[must_use]
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The upper end.
    #[must_use]
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// Some number inside, for searches whose result is verified afterwards.
    #[must_use]
    pub fn middle(self) -> f64 {
        (0.5 * self.lo + 0.5 * self.hi).clamp(self.lo, self.hi)
    }

    /// Whether `x` lies inside.
    #[must_use]
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }

    /// The part that both enclosures of one number share.
    ///
    /// # Contract
    /// Both contain the same number, so they meet; were they disjoint, the result is `self`.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Self { lo, hi } } else { self }
    }

    /// The maximum of the two numbers enclosed.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The minimum of the two numbers enclosed.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    /// The enclosure of a number that is known to lie in `lo..=hi`.
    #[must_use]
    pub fn clamp(self, lo: f64, hi: f64) -> Self {
        Self { lo: self.lo.clamp(lo, hi), hi: self.hi.clamp(lo, hi) }
    }

    /// e^x.
    #[must_use]
    pub fn exp(self) -> Self {
        let (lo, hi) = self.at_both_ends(libm::exp);
        Self::new(steps_down(lo, LIBM_STEPS).max(0.0), steps_up(hi, LIBM_STEPS))
    }

    /// e^x - 1, accurate near 0.
    #[must_use]
    pub fn exp_m1(self) -> Self {
        let (lo, hi) = self.at_both_ends(libm::expm1);
        Self::new(steps_down(lo, LIBM_STEPS).max(-1.0), steps_up(hi, LIBM_STEPS))
    }

    /// A function at the ends, once if they are one number.
    fn at_both_ends(self, f: impl Fn(f64) -> f64) -> (f64, f64) {
        let lo = f(self.lo);
        (lo, if self.lo.to_bits() == self.hi.to_bits() { lo } else { f(self.hi) })
    }

    /// ln x of the positive part; unbounded below if the interval reaches 0.
    #[must_use]
    pub fn ln(self) -> Self {
        if self.hi <= 0.0 {
            return Self::ENTIRE;
        }
        let lo = if self.lo > 0.0 { steps_down(libm::log(self.lo), LIBM_STEPS) } else { f64::NEG_INFINITY };
        Self::new(lo, steps_up(libm::log(self.hi), LIBM_STEPS))
    }

    /// ln(1 + x) of the part above -1, accurate near 0; unbounded below if the interval reaches -1.
    #[must_use]
    pub fn ln_1p(self) -> Self {
        if self.hi <= -1.0 {
            return Self::ENTIRE;
        }
        let lo =
            if self.lo > -1.0 { steps_down(libm::log1p(self.lo), LIBM_STEPS) } else { f64::NEG_INFINITY };
        Self::new(lo, steps_up(libm::log1p(self.hi), LIBM_STEPS))
    }

    /// The square root of the non-negative part.
    #[must_use]
    pub fn sqrt(self) -> Self {
        if self.hi < 0.0 {
            return Self::ENTIRE;
        }
        Self::new(self.lo.max(0.0).sqrt().next_down().max(0.0), self.hi.sqrt().next_up())
    }

    /// x * x, which is never negative.
    #[must_use]
    pub fn square(self) -> Self {
        let (a, b) = (self.lo.abs(), self.hi.abs());
        let least = if self.contains(0.0) { 0.0 } else { a.min(b) };
        let most = a.max(b);
        Self::new(mul_down(least, least).max(0.0), mul_up(most, most))
    }
}

/// P[X >= z] of a standard normal X, relatively accurate down to about 1e-300.
#[must_use]
pub fn normal_tail(z: Interval) -> Interval {
    let root_half = Interval { lo: FRAC_1_SQRT_2.next_down(), hi: FRAC_1_SQRT_2.next_up() };
    let x = z * root_half;
    // erfc falls, so the ends change places. Halving can round below the normal range: one more step.
    let hi = 0.5 * steps_up(libm::erfc(x.lo), ERFC_STEPS);
    let lo = 0.5 * steps_down(libm::erfc(x.hi), ERFC_STEPS);
    Interval::new(lo.next_down(), hi.next_up()).clamp(0.0, 1.0)
}

/// P[X >= x] of a standard (scale 1) Laplace X.
#[must_use]
pub fn laplace_tail(x: Interval) -> Interval {
    let at = |x: f64| {
        if x >= 0.0 {
            Interval::point(-x).exp() * Interval::point(0.5)
        } else {
            Interval::ONE - Interval::point(x).exp() * Interval::point(0.5)
        }
    };
    Interval::new(at(x.hi).lo, at(x.lo).hi).clamp(0.0, 1.0)
}

impl From<f64> for Interval {
    fn from(x: f64) -> Self {
        Self::point(x)
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(add_down(self.lo, other.lo), add_up(self.hi, other.hi))
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(sub_down(self.lo, other.hi), sub_up(self.hi, other.lo))
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let (a, b, c, d) = (self.lo, self.hi, other.lo, other.hi);
        if a >= 0.0 && c >= 0.0 {
            return Self::new(mul_down(a, c), mul_up(b, d));
        }
        let lo = mul_down(a, c).min(mul_down(a, d)).min(mul_down(b, c)).min(mul_down(b, d));
        let hi = mul_up(a, c).max(mul_up(a, d)).max(mul_up(b, c)).max(mul_up(b, d));
        Self::new(lo, hi)
    }
}

impl Div for Interval {
    type Output = Self;
    /// [`Interval::ENTIRE`] if the divisor contains 0.
    fn div(self, other: Self) -> Self {
        if other.contains(0.0) {
            return Self::ENTIRE;
        }
        let (a, b, c, d) = (self.lo, self.hi, other.lo, other.hi);
        if a >= 0.0 && c > 0.0 {
            return Self::new(div_down(a, d), div_up(b, c));
        }
        let lo = div_down(a, c).min(div_down(a, d)).min(div_down(b, c)).min(div_down(b, d));
        let hi = div_up(a, c).max(div_up(a, d)).max(div_up(b, c)).max(div_up(b, d));
        Self::new(lo, hi)
    }
}

/// At least `a + b`.
#[must_use]
pub fn add_up(a: f64, b: f64) -> f64 {
    up(a + b)
}

/// At most `a + b`.
#[must_use]
pub fn add_down(a: f64, b: f64) -> f64 {
    down(a + b)
}

/// At least `a - b`.
#[must_use]
pub fn sub_up(a: f64, b: f64) -> f64 {
    up(a - b)
}

/// At most `a - b`.
#[must_use]
pub fn sub_down(a: f64, b: f64) -> f64 {
    down(a - b)
}

/// At least `a * b`; an infinite factor stands for an unbounded number, so 0 times it is 0.
#[must_use]
pub fn mul_up(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { up(a * b) }
}

/// At most `a * b`; as [`mul_up`] for a factor of 0.
#[must_use]
pub fn mul_down(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { down(a * b) }
}

/// At least `a / b`.
#[must_use]
pub fn div_up(a: f64, b: f64) -> f64 {
    if a == 0.0 && b != 0.0 { 0.0 } else { up(a / b) }
}

/// An integer as a float that is not below it.
#[must_use]
pub fn at_least(n: u64) -> f64 {
    Interval::integer(n.into()).hi()
}

/// At most `a / b`.
#[must_use]
pub fn div_down(a: f64, b: f64) -> f64 {
    if a == 0.0 && b != 0.0 { 0.0 } else { down(a / b) }
}

/// At least the square root of `a >= 0`.
#[must_use]
pub fn sqrt_up(a: f64) -> f64 {
    up(a.max(0.0).sqrt())
}

/// At most the square root of `a >= 0`.
#[must_use]
pub fn sqrt_down(a: f64) -> f64 {
    down(a.max(0.0).sqrt()).max(0.0)
}

/// One step up; no information (not a number) becomes the largest bound.
fn up(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x.next_up() }
}

/// One step down; no information (not a number) becomes the smallest bound.
fn down(x: f64) -> f64 {
    if x.is_nan() { f64::NEG_INFINITY } else { x.next_down() }
}

/// The `n`-th number above `x` in the order of floating-point numbers, at most infinity.
fn steps_up(x: f64, n: u64) -> f64 {
    const MAGNITUDE: u64 = !(1 << 63);
    if x.is_nan() {
        return f64::INFINITY;
    }
    let magnitude = x.to_bits() & MAGNITUDE;
    if x.is_sign_positive() || magnitude == 0 {
        f64::from_bits((magnitude + n).min(f64::INFINITY.to_bits()))
    } else if magnitude > n {
        -f64::from_bits(magnitude - n)
    } else {
        f64::from_bits(n - magnitude)
    }
}

/// The `n`-th number below `x`, at least minus infinity.
fn steps_down(x: f64, n: u64) -> f64 {
    -steps_up(-x, n)
}

#[cfg(test)]
mod tests;
