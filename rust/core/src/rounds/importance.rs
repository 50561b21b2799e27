//! The importance of an item: how much of its users' weight it gets relative to their other items.
//!
//! Two limits determine it: how likely the item still is to be released, and how much weight it still needs for that.
//! The guarantee holds for any importances. They affect which items are released, so integer arithmetic gives the same
//! result on every machine.

use crate::numeric::widths::clipped;
use crate::weighting::FULL_IMPORTANCE;

/// Stands for 1 in the arithmetic here; its power 3/2 is a whole power of two as well.
const ONE: u128 = 1 << 16;
/// The same, where 64 bits suffice.
const ONE_SHORT: u64 = 1 << 16;

/// An item's future weights are assumed to exceed its past ones by a quarter, because other items leave: 5 / 4.
const GROWTH: (u128, u128) = (5, 4);

/// The smaller of two limits, as the importance of an item that is not abandoned.
#[inline]
pub(super) fn smaller_of(by_prospect: u64, by_remaining: u64) -> u16 {
    // Otherwise: the limit exceeds 16 bits, so it exceeds the full importance, which is the largest.
    u16::try_from(by_prospect.min(by_remaining))
        .map_or(FULL_IMPORTANCE, |importance| importance.clamp(1, FULL_IMPORTANCE))
}

/// The limit by prospect: `FULL_IMPORTANCE` x^2, where x in \[0, 1\] is the position of `score` between the futility
/// bound and the expected path.
#[inline]
pub(super) fn by_prospect(futility_bound: i64, expected_path: i64, score: i64) -> u64 {
    let way = expected_path.abs_diff(futility_bound).max(1);
    // Without a branch: which items are beyond cannot be predicted.
    let covered = score.abs_diff(futility_bound).min(way);
    let position = part_of_one(covered, way);
    position * position * u64::from(FULL_IMPORTANCE) / (ONE_SHORT * ONE_SHORT)
}

/// `covered` / `way`, which is at most 1, rounded down to a multiple of 1 / [`ONE`].
#[inline]
fn part_of_one(covered: u64, way: u64) -> u64 {
    // Where 64 bits suffice, which is nearly always, the division takes a fraction of the time.
    match covered.checked_mul(ONE_SHORT) {
        Some(covered) => covered / way,
        None => clipped(u128::from(covered) * ONE / u128::from(way)),
    }
}

/// The limit by the remaining distance to the target: `FULL_IMPORTANCE` x^(3/2). x in \[0, 1\] is the part of the
/// weight at full importance that would bring the score to the target in the later rounds.
///
/// `exposure` is the sum of share times importance over the rounds so far, `left` the sum of the later shares.
#[inline]
pub(super) fn by_remaining(target: i64, score: i64, exposure: u32, left: u32) -> u64 {
    match remaining(target, score, exposure, left) {
        Some(x) => root_of_cube(x) * u64::from(FULL_IMPORTANCE) / root_of_cube(ONE_SHORT),
        None => FULL_IMPORTANCE.into(),
    }
}

/// floor(x^(3/2)) for x up to [`ONE`].
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number from 0 to 2^24")]
fn root_of_cube(x: u64) -> u64 {
    // Up to 2^48 numbers are exact. A root is rounded correctly, and not up to an integer: the nearest integer is at
    // least 2^-26 away, a multiple of the spacing of such numbers.
    ((x * x * x) as f64).sqrt() as u64
}

/// The part x, below 1, in parts of [`ONE`].
#[inline]
fn remaining(target: i64, score: i64, exposure: u32, left: u32) -> Option<u64> {
    let score = score.max(1);
    let missing = u128::from(target.max(score).abs_diff(score));
    // missing / (1 - F) over score / exposure; the factors SHARES cancel, and exposure counts full importances.
    let full = ONE / u128::from(FULL_IMPORTANCE);
    let above = missing * u128::from(exposure) * full * GROWTH.1;
    let below = u128::from(left.max(1)) * u128::from(score.unsigned_abs()) * GROWTH.0;
    if above >= below * ONE { None } else { u64::try_from(above / below).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root is taken in floating point: every argument there is, against integers.
    #[test]
    fn roots_of_cubes_are_exact() {
        for x in 0..=ONE_SHORT {
            assert_eq!(root_of_cube(x), (x * x * x).isqrt(), "{x}");
        }
    }
}
