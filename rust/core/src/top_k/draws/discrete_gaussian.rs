//! Discrete Gaussian noise, drawn exactly: the probability of z is proportional to e^-(g z^2).
//!
//! Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020): a draw y of discrete Laplace
//! noise of rate r = 2 g m is kept with probability e^-(g (|y| - m)^2), whatever m is. m is next to the standard
//! deviation, and a fraction of few digits, so that r is exact. Proof: `docs/algorithms/published_counts.md`.

use dpsel_exact::numeric::{Bits, Enclosure, Interval, Uniform, exact_parts};
use dpsel_exact::{Error, Result};
use num_bigint::{BigInt, BigUint};

use crate::top_k::draws::discrete_laplace::laplace;
use crate::top_k::draws::loss_levels::RATES;

/// Binary digits of g; m has `DIGITS` more, and the product of both is exact.
const SQUARE_DIGITS: u32 = 32;
/// Binary digits of m.
const DIGITS: i32 = 8;

/// Rounded down to few digits, and to the largest, which is as good as no noise.
///
/// # Errors
/// [`Error::Calibration`] if it is too small.
pub(crate) fn checked_square_rate(square: f64) -> Result<f64> {
    // So the rate of the proposals, about the root of 2 g, is in range.
    let least = *RATES.start() * *RATES.start();
    if square >= least {
        let cut = f64::MANTISSA_DIGITS - SQUARE_DIGITS;
        return Ok(f64::from_bits(square.to_bits() >> cut << cut).min(*RATES.end()));
    }
    Err(Error::Calibration {
        what: format!("noise on counts with the square rate {square:e}"),
        fix: "raise the budget of counts=, or lower k",
    })
}

/// A number z of probability proportional to e^-(`square` z^2), where `square` is from [`checked_square_rate`].
pub(crate) fn gaussian(square: f64, bits: &mut impl Bits) -> i128 {
    let proposal = Proposal::new(square);
    loop {
        let z = laplace(proposal.rate, bits);
        if proposal.is_kept(z, bits) {
            return z;
        }
    }
}

/// The proposal of the rejection sampler. All its arithmetic is exact.
struct Proposal {
    square: f64,
    /// m = `numerator` 2^-`shift`.
    numerator: u128,
    shift: i32,
    /// 2 `square` m.
    rate: f64,
}

impl Proposal {
    fn new(square: f64) -> Self {
        let (fraction, exponent) = libm::frexp(libm::sqrt(0.5 / square));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1/2 and below 1"
        )]
        let digits = (fraction * f64::from(1 << DIGITS)) as u32;
        let m = libm::ldexp(f64::from(digits), exponent - DIGITS);
        let shift = (DIGITS - exponent).max(0);
        let numerator = u128::from(digits) << (exponent - DIGITS).max(0);
        Self { square, numerator, shift, rate: 2.0 * square * m }
    }

    /// True with probability e^-(square (|z| - m)^2).
    fn is_kept(&self, z: i128, bits: &mut impl Bits) -> bool {
        let gap = (BigInt::from(z.unsigned_abs()) << self.shift) - BigInt::from(self.numerator);
        let gap = gap.magnitude() * gap.magnitude();
        let scale = libm::ldexp(1.0, -2 * self.shift);
        let rough = i128::try_from(&gap).map_or_else(
            |_| Interval::new(0.0, 1.0),
            |gap| (-(Interval::integer(gap) * Interval::point(self.square) * Interval::point(scale))).exp(),
        );
        let (mantissa, exponent) = exact_parts(self.square);
        let numerator: BigUint = gap * mantissa;
        Uniform::default().is_below(rough, bits, |digits| {
            Enclosure::exp_neg(&numerator, exponent - 2 * i64::from(self.shift), digits)
        })
    }
}
