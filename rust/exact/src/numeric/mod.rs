//! Numbers with certified bounds: every figure that a guarantee rests on is computed here.
//!
//! [`Interval`] encloses real numbers in `f64`, `Scaled` does so at any magnitude, and `Enclosure` to any precision.
//! `Uniform` and `Exponential` are random reals that grow as many digits as a comparison needs; `geometric` draws whole
//! numbers by such comparisons.

mod bits;
mod enclosure;
mod exponential;
mod geometric;
mod grid;
mod interval;
mod scaled;
mod uniform;
pub mod widths;

pub use bits::Bits;
pub use enclosure::{Enclosure, exact_parts};
pub use exponential::Exponential;
pub use geometric::geometric;
pub use grid::{FRACTION_BITS, UNIT};
pub use interval::{
    Interval, add_down, add_up, at_least, div_down, div_up, laplace_tail, mul_down, mul_up, normal_tail,
    sqrt_down, sqrt_up, sub_down, sub_up,
};
pub use scaled::Scaled;
#[cfg(any(test, feature = "testing"))]
pub use uniform::SLOW;
pub use uniform::{Uniform, forced_slow};
