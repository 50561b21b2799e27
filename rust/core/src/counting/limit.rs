//! How much one user counts, in exact integers.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::UNIT;

/// The most that one user counts in all counted items together.
///
/// A user that has `r` rows of an item counts up to `rows` of them in it, and 1 where users are counted. If the squares of
/// these numbers add up to more than `items` times the square of `rows`, all of them are scaled down by the same factor, so
/// that they do not. Of all vectors within that norm it is the nearest to the user's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountLimit {
    items: L0Bound,
    rows: u32,
}

impl CountLimit {
    /// The most rows of one user and one item. With them all products below fit.
    pub const MOST_ROWS: u32 = 1_000_000;

    /// Counts of users, or of up to `rows` rows of a user and an item.
    #[must_use]
    pub(crate) fn new(items: L0Bound, rows: Option<u32>) -> Self {
        // Otherwise: users are counted, each once.
        Self { items, rows: rows.unwrap_or(1).clamp(1, Self::MOST_ROWS) }
    }

    /// The items in which a user of most rows still counts whole.
    #[must_use]
    pub(crate) fn items(self) -> L0Bound {
        self.items
    }

    /// What a user of so many rows of an item has there, before it is scaled.
    #[must_use]
    pub fn rows(self, rows: usize) -> u32 {
        // Otherwise: more than any limit.
        u32::try_from(rows).unwrap_or(u32::MAX).min(self.rows)
    }

    /// The most rows that have to be known of a user and an item.
    #[must_use]
    pub fn most_rows(self) -> u32 {
        self.rows
    }

    /// What each row counts, in grid steps, if the squares of the user's numbers of rows add up to `squares`:
    /// min(1, sqrt(items rows^2 / squares)), rounded down.
    ///
    /// # Contract
    /// With it, the squares add up to at most `items` times the square of `rows`, in squared units, exactly.
    #[expect(clippy::cast_possible_truncation, reason = "at most one unit")]
    pub(crate) fn of_row(self, squares: u128) -> u64 {
        let most = u128::from(self.items.get()) * u128::from(self.rows) * u128::from(self.rows);
        if squares <= most {
            return UNIT;
        }
        // Below 2^60 * 2^24 * 2^40.
        (u128::from(UNIT) * u128::from(UNIT) * most / squares).isqrt() as u64
    }

    /// Hand out what a user adds to each counted item that it holds: its place, and grid steps.
    ///
    /// # Contract
    /// `counted` has place and number of rows ([`CountLimit::rows`]) of all counted items of the user, each once. So the
    /// user has one norm for all of them.
    pub fn each_addition<P>(
        self,
        counted: impl Iterator<Item = (P, u32)> + Clone,
        mut add: impl FnMut(P, u64),
    ) {
        let of_row = self.of_row(counted.clone().map(|(_, rows)| square(rows)).sum());
        counted.for_each(|(place, rows)| add(place, added(rows, of_row)));
    }
}

/// The largest sum. With any noise it fits an `i64`.
const LARGEST: u64 = UNIT << 32;

/// A sum in grid steps, given the saturating sum of what all users add: 2^32 of an item, and all beyond count as so many.
///
/// # Contract
/// It moves by at most as much as the exact sum.
pub(crate) fn capped(sum: u64) -> u64 {
    sum.min(LARGEST)
}

/// The square of a number of rows.
pub(crate) fn square(rows: u32) -> u128 {
    u128::from(rows) * u128::from(rows)
}

/// What so many rows add, in grid steps. Together with the largest number of rows it fits.
fn added(rows: u32, of_row: u64) -> u64 {
    u64::from(rows).saturating_mul(of_row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn users(items: u64) -> CountLimit {
        CountLimit::new(L0Bound::new(items).unwrap(), None)
    }

    fn rows(items: u64, rows: u32) -> CountLimit {
        CountLimit::new(L0Bound::new(items).unwrap(), Some(rows))
    }

    #[test]
    fn a_user_within_the_limit_counts_whole() {
        for (held, items) in [(1, 1), (1, 7), (7, 7), (10_000_000, 10_000_000)] {
            assert_eq!(users(items).of_row(held), UNIT);
        }
        assert_eq!(users(1).of_row(4), UNIT / 2);
        assert_eq!(users(100).of_row(400), UNIT / 2);
        // Three items of four rows are 48, and one of five more than the limit of three times 16.
        assert_eq!(rows(3, 4).of_row(48), UNIT);
        assert!(rows(3, 4).of_row(49) < UNIT);
        assert_eq!(rows(3, 4).of_row(4 * 48), UNIT / 2);
        // Many items of few rows count whole, too.
        assert_eq!(rows(3, 4).of_row(48 * square(1)), UNIT);
    }

    #[test]
    fn rows_beyond_the_limit_do_not_count() {
        assert_eq!([0, 1, 4, 5, usize::MAX].map(|held| rows(3, 4).rows(held)), [0, 1, 4, 4, 4]);
        assert_eq!([0, 1, 2, usize::MAX].map(|held| users(3).rows(held)), [0, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn the_norm_is_within_the_limit(held in 1_u64..=u64::from(u32::MAX), items in 1_u64..=10_000_000) {
            let each = u128::from(users(items).of_row(held.into()));
            let unit = u128::from(UNIT);
            prop_assert!(u128::from(held) * each * each <= unit * unit * u128::from(items));
            // Nothing is given away but a grid step.
            let more = each + 1;
            prop_assert!(each == unit || u128::from(held) * more * more > unit * unit * u128::from(items));
        }

        #[test]
        fn the_norm_of_rows_is_within_the_limit(
            held in prop::collection::vec(1_usize..3_000_000, 1..60),
            items in 1_u64..40, most in 1_u32..=CountLimit::MOST_ROWS,
        ) {
            let limit = rows(items, most);
            let counted: Vec<u32> = held.iter().map(|held| limit.rows(*held)).collect();
            let squares: u128 = counted.iter().map(|rows| square(*rows)).sum();
            let each = limit.of_row(squares);
            let given: u128 = counted.iter().map(|rows| u128::from(added(*rows, each)).pow(2)).sum();
            let largest = u128::from(UNIT) * u128::from(UNIT) * u128::from(items) * square(most);
            prop_assert!(given <= largest);
            prop_assert!(each == UNIT || squares * u128::from(each + 1).pow(2) > largest);
            prop_assert!(counted.iter().zip(&held).all(|(counted, held)| *counted as usize == (*held).min(most as usize)));
        }
    }

    #[test]
    fn the_largest_numbers_fit() {
        let limit = rows(10_000_000, CountLimit::MOST_ROWS);
        let squares = square(CountLimit::MOST_ROWS) * (u128::from(u32::MAX) + 1);
        let each = u128::from(limit.of_row(squares));
        let most = 10_000_000 * square(CountLimit::MOST_ROWS);
        assert!(each > 0 && squares * each * each <= u128::from(UNIT) * u128::from(UNIT) * most);
        assert_eq!(added(CountLimit::MOST_ROWS, UNIT), u64::from(CountLimit::MOST_ROWS) * UNIT);
    }

    #[test]
    fn sums_stop_at_the_largest_and_move_no_more_for_it() {
        let sums = [0, 1, LARGEST - 1, LARGEST, LARGEST + 7, u64::MAX];
        assert_eq!(sums.map(capped), [0, 1, LARGEST - 1, LARGEST, LARGEST, LARGEST]);
        for (less, more) in
            sums.into_iter().flat_map(|sum| sums.map(|other| (sum.min(other), sum.max(other))))
        {
            assert!(capped(more) - capped(less) <= more - less);
        }
    }
}
