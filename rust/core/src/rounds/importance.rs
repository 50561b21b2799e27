//! The importance of an item: how much of its users' weight it gets relative to their other items.
//!
//! Two limits determine it: how likely the item still is to be released, and how much weight it still needs for that.
//! The guarantee holds for any importances. They affect which items are released, so they are exact: the same on every
//! machine. Floating point is used only where it certainly gives the floor.

use dpsel_exact::numeric::widths::clipped;

use crate::weighting::FULL_IMPORTANCE;

/// Stands for 1 in the arithmetic here; its power 3/2 is a whole power of two as well.
const ONE: u32 = 1 << 16;

/// Parts of [`ONE`] in a part of the full importance.
const ONE_IN_FULL: u128 = ONE as u128 / FULL_IMPORTANCE as u128;

/// An item's future weights are assumed to exceed its past ones by a quarter, because other items leave: 5 / 4.
const GROWTH: (u128, u128) = (5, 4);

/// The smaller of two limits, as the importance of an item that is not abandoned.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "at most the full importance")]
pub(super) fn smaller_of(by_prospect: u64, by_remaining: u64) -> u16 {
    by_prospect.min(by_remaining).clamp(1, FULL_IMPORTANCE.into()) as u16
}

/// The smaller of the limits by prospect and by the remaining distance.
///
/// The first is `FULL_IMPORTANCE` y^2 with y the [`position`]. The second is `FULL_IMPORTANCE` x^(3/2), where x, at most 1,
/// is the part of the weight at full importance that would bring the score to the target in the later rounds. Both x and y
/// are in parts of [`ONE`] here. `exposure` is the sum of share times importance over the rounds so far, `left` the sum of
/// the later shares.
#[inline]
pub(super) fn importance(
    (futility_bound, expected_path, target): (i64, i64, i64),
    score: i64,
    (exposure, left): (u32, u32),
) -> u16 {
    let position = position(futility_bound, expected_path, score);
    // From x = y on the second limit is not smaller: x^(3/2) >= y^(3/2) >= y^2. Rounding down keeps that.
    let by_remaining = match remaining_below(position, (target, score), (exposure, left)) {
        Some(x) => u64::from(root_of_cube(x)) * u64::from(FULL_IMPORTANCE) / u64::from(root_of_cube(ONE)),
        None => FULL_IMPORTANCE.into(),
    };
    smaller_of(of_position(position), by_remaining)
}

/// The limit by prospect.
#[inline]
pub(super) fn by_prospect(futility_bound: i64, expected_path: i64, score: i64) -> u64 {
    of_position(position(futility_bound, expected_path, score))
}

/// `FULL_IMPORTANCE` y^4 for the [`position`] y of a score, rounded down but at least 1: what an item allows those below it.
#[inline]
pub(super) fn of_line(futility_bound: i64, expected_path: i64, score: i64) -> u16 {
    let position = position(futility_bound, expected_path, score.max(futility_bound));
    let power = u128::from(position).pow(4) / (u128::from(ONE).pow(4) / u128::from(FULL_IMPORTANCE));
    smaller_of(clipped(power), FULL_IMPORTANCE.into())
}

/// `FULL_IMPORTANCE` y^2 for a position y.
#[inline]
fn of_position(position: u32) -> u64 {
    u64::from(position) * u64::from(position) / (u64::from(ONE) * u64::from(ONE) / u64::from(FULL_IMPORTANCE))
}

/// The position of `score` between the futility bound and the expected path, in parts of [`ONE`].
#[inline]
fn position(futility_bound: i64, expected_path: i64, score: i64) -> u32 {
    let way = expected_path.abs_diff(futility_bound).max(1);
    // Without a branch: which items are beyond cannot be predicted.
    part_of_one(score.abs_diff(futility_bound).min(way), way)
}

/// Ways up to this, 64 units, are divided by in floating point.
const SHORT_WAY: u64 = 1 << 36;

/// `covered` / `way`, which is at most 1, rounded down to a multiple of 1 / [`ONE`].
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number from 0 to 2^16")]
fn part_of_one(covered: u64, way: u64) -> u32 {
    if way > SHORT_WAY {
        return clipped(u128::from(covered) * u128::from(ONE) / u128::from(way));
    }
    // Both numbers are exact, and so is the result: if the quotient is no integer, it is at least 2^-36 away from the next
    // one. That is a multiple of the spacing of numbers below 2^16. So the quotient is not rounded up to an integer.
    ((covered * u64::from(ONE)).cast_signed() as f64 / way.cast_signed() as f64) as u32
}

/// floor(x^(3/2)) for x up to [`ONE`].
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number from 0 to 2^24")]
fn root_of_cube(x: u32) -> u32 {
    // Up to 2^48 numbers are exact. A root is rounded correctly, and not up to an integer: the nearest integer is at
    // least 2^-26 away, a multiple of the spacing of such numbers.
    let x = f64::from(x);
    (x * x * x).sqrt() as u32
}

/// The quotient in [`remaining_below`] is below 2^17: larger ones have returned before. Six operations round it, each by at
/// most 2^-53 of it. So its error is far below this.
const MARGIN: f64 = 1.0 / (1_u64 << 30) as f64;

/// The part x in parts of [`ONE`], rounded down, if it is below a limit of at most all parts.
#[inline]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number from 0 to 2^17")]
fn remaining_below(limit: u32, (target, score): (i64, i64), (exposure, left): (u32, u32)) -> Option<u32> {
    let (score, left) = (score.max(1), left.max(1));
    let missing = target.max(score) - score;
    // missing / (1 - F) over score / exposure; the factors SHARES cancel, and exposure counts full importances.
    let above = missing as f64 * f64::from(exposure) * (ONE_IN_FULL * GROWTH.1) as f64;
    let below = score as f64 * f64::from(left) * GROWTH.0 as f64;
    // One more than needed, since these numbers are rounded. Most items end here.
    if above > below * f64::from(limit + 1) {
        return None;
    }
    let quotient = above / below;
    let floor = quotient as u32;
    let x = if (MARGIN..1.0 - MARGIN).contains(&(quotient - f64::from(floor))) {
        floor
    } else {
        exactly_remaining(missing, score, exposure, left)
    };
    (x < limit).then_some(x)
}

/// The quotient in parts of [`ONE`], rounded down, by exact arithmetic.
#[cold]
fn exactly_remaining(missing: i64, score: i64, exposure: u32, left: u32) -> u32 {
    let above = u128::from(missing.unsigned_abs()) * u128::from(exposure) * ONE_IN_FULL * GROWTH.1;
    let below = u128::from(score.unsigned_abs()) * u128::from(left) * GROWTH.0;
    clipped(above / below)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The root is taken in floating point: every argument there is, against integers.
    #[test]
    fn roots_of_cubes_are_exact() {
        for x in 0..=ONE {
            assert_eq!(u64::from(root_of_cube(x)), u64::from(x).pow(3).isqrt(), "{x}");
        }
    }

    fn exact_part(covered: u64, way: u64) -> u128 {
        u128::from(covered) * u128::from(ONE) / u128::from(way)
    }

    /// In floating point the quotient would be rounded up to an integer.
    #[test]
    fn parts_of_long_ways_are_exact() {
        for bits in 37..64 {
            let way = (1 << bits) - 1;
            let below = (u128::from(way) * (u128::from(ONE) - 1) - 1) / u128::from(ONE);
            let covered = u64::try_from(below).unwrap();
            assert_eq!(u128::from(part_of_one(covered, way)), exact_part(covered, way), "{bits}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_exact(way in 1..=1_u64 << 63, shift in 0_u32..63, part: u64) {
            let way = (way >> shift).max(1);
            let covered = part % (way + 1);
            prop_assert_eq!(u128::from(part_of_one(covered, way)), exact_part(covered, way));
        }

        /// The quotients that are closest to an integer from below, and those that are one.
        #[test]
        fn parts_next_to_an_integer_are_exact(way in SHORT_WAY - 100_000..=SHORT_WAY, place in 0_u64..=1 << 16) {
            let first = (way * place).div_ceil(u64::from(ONE));
            for covered in [first.saturating_sub(1), first] {
                prop_assert_eq!(u128::from(part_of_one(covered, way)), exact_part(covered, way));
            }
        }

        #[test]
        fn what_remains_is_exact(
            [target, score]: [i64; 2], shift in 0_u32..63, exposure in 0_u32..=1 << 28, left in 0_u32..=1 << 20,
            parts in 0..=ONE,
        ) {
            for (target, score) in [(target >> shift, score >> shift), (target, score >> shift), (target >> shift, score)] {
                let above_zero = score.max(1);
                let missing = target.max(above_zero) - above_zero;
                let exact = exactly_remaining(missing, above_zero, exposure, left.max(1));
                for parts in [ONE, parts, exact.min(ONE)] {
                    let found = remaining_below(parts, (target, score), (exposure, left));
                    prop_assert_eq!(found, (exact < parts).then_some(exact));
                }
            }
        }

        /// The shorter way to the smaller limit.
        #[test]
        fn what_remains_beyond_the_position_is_no_limit(position in 0..=ONE, more: u32) {
            for x in [position, position.saturating_add(more % 64), position.saturating_add(more)] {
                let x = x.min(ONE);
                let by_remaining = u64::from(root_of_cube(x)) * 256 / u64::from(root_of_cube(ONE));
                prop_assert!(by_remaining >= of_position(position));
            }
        }

        /// Quotients that are integers or very close to one.
        #[test]
        fn what_remains_next_to_an_integer_is_exact(
            part in 1_i64..1 << 17, number in 1_i64..1 << 36, left in 1_u32..=1 << 20, off in -1_i64..=1,
        ) {
            // With these the quotient is missing / number.
            let (score, exposure) = (number << 10, left.saturating_mul(5));
            let missing = part * number + off;
            let exact = exactly_remaining(missing, score, exposure, left);
            let exact = (exact < ONE).then_some(exact);
            prop_assert_eq!(remaining_below(ONE, (score + missing, score), (exposure, left)), exact);
        }
    }
}
