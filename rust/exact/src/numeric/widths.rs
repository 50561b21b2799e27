//! Conversions between integers of different widths that cannot fail, and one that stops at the end on purpose.
//!
//! A conversion that "cannot fail" never answers with a number that was made up: either its types show that it cannot,
//! as here, or it is an error. `tests/test_architecture.py` sees to that.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("dpsel needs addresses of 64 bits: numbers of items and rows are used as indices");

/// The number as an index: both have 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "addresses have 64 bits, see above")]
#[must_use]
pub const fn index(n: u64) -> usize {
    n as usize
}

/// The number of things that have codes of 32 bits, each counted once.
///
/// # Contract
/// `n` is a number of distinct codes, of which the largest is kept free: so it has 32 bits too.
#[expect(clippy::cast_possible_truncation, reason = "as the contract says")]
#[must_use]
pub fn codes(n: usize) -> u32 {
    debug_assert!(u32::try_from(n).is_ok());
    n as u32
}

/// The largest value of a type.
pub trait Largest {
    /// It.
    const LARGEST: Self;
}

impl Largest for u32 {
    const LARGEST: Self = Self::MAX;
}

impl Largest for u64 {
    const LARGEST: Self = Self::MAX;
}

impl Largest for i64 {
    const LARGEST: Self = Self::MAX;
}

/// Numbers that are never negative, so that a number that does not fit is too large.
pub trait Natural {}

impl Natural for u64 {}
impl Natural for u128 {}
impl Natural for usize {}

/// `n`, or the largest value of the type where it is larger. Each use says why that is right there.
pub fn clipped<T: TryFrom<N> + Largest, N: Natural>(n: N) -> T {
    // Otherwise: the number is larger than the type, because it is not negative.
    T::try_from(n).unwrap_or(T::LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_becomes_the_largest() {
        assert_eq!((clipped::<u32, _>(7_u64), clipped::<u32, _>(1_u64 << 40)), (7, u32::MAX));
        assert_eq!((clipped::<u64, _>(u128::MAX), clipped::<i64, _>(u64::MAX)), (u64::MAX, i64::MAX));
        assert_eq!((index(1 << 40), codes(9)), (1 << 40, 9));
    }
}
