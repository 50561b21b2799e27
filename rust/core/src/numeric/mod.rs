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
pub(crate) mod widths;

pub use bits::Bits;
pub(crate) use enclosure::{Enclosure, exact_parts};
pub(crate) use exponential::Exponential;
pub(crate) use geometric::geometric;
pub use grid::{FRACTION_BITS, UNIT};
pub(crate) use interval::at_least;
pub use interval::{
    Interval, add_down, add_up, div_down, div_up, laplace_tail, mul_down, mul_up, normal_tail, sqrt_down,
    sqrt_up, sub_down, sub_up,
};
pub(crate) use scaled::Scaled;
#[cfg(test)]
pub(crate) use uniform::tests::SLOW;
pub(crate) use uniform::{Uniform, forced_slow};
