//! Buckets of users and of items: digests are divided among them by 32 of their bits.

use std::collections::HashSet;

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

/// The bucket of what goes to the driver. Buckets of users and items are not negative.
pub(crate) const TO_DRIVER: i32 = -1;

/// The number of buckets, at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buckets(u32);

impl Buckets {
    /// # Errors
    /// [`Error::InvalidParameter`] for no buckets, or for more than a Spark integer counts.
    pub(crate) fn new(number: u32) -> Result<Self> {
        if number == 0 || i32::try_from(number).is_err() {
            let fix = "leave it out for four times spark.sql.shuffle.partitions";
            return Err(Error::parameter("num_partitions", "between 1 and 2147483647", number, fix));
        }
        Ok(Self(number))
    }

    /// The bucket of a digest. It depends on bits that the hash tables of the engine do not start from.
    #[expect(clippy::cast_possible_truncation, reason = "32 bits are meant")]
    pub(crate) fn of(self, digest: Digest) -> i32 {
        self.of_bits((digest.0 >> 64) as u32)
    }

    /// The bucket of 32 bits. It does not fall as the bits rise, so a range of bits has a range of buckets.
    pub(crate) fn of_bits(self, bits: u32) -> i32 {
        (((u64::from(bits) * u64::from(self.0)) >> 32) as u32).cast_signed()
    }
}

/// Checks that the rows of a bucket come together in a task: one bucket after the other, in any order.
#[derive(Debug, Default)]
pub(crate) struct BucketRuns {
    current: Option<i32>,
    ended: HashSet<i32>,
}

impl BucketRuns {
    /// The bucket that came last.
    pub(crate) fn current(&self) -> Option<i32> {
        self.current
    }

    /// The bucket that has ended, if this value starts another one.
    ///
    /// # Errors
    /// [`Error::Internal`] if the bucket has ended before. Its users or items would be taken in parts.
    pub(crate) fn ended_by(&mut self, bucket: i32) -> Result<Option<i32>> {
        if self.current == Some(bucket) {
            return Ok(None);
        }
        if self.ended.contains(&bucket) {
            return Err(Error::Internal("the rows of a bucket do not come together"));
        }
        let before = self.current.replace(bucket);
        self.ended.extend(before);
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_divide_digests_and_numbers_out_of_range_are_refused() {
        for number in [0, 1 << 31, u32::MAX] {
            assert!(matches!(Buckets::new(number), Err(Error::InvalidParameter { .. })));
        }
        let buckets = Buckets::new(7).unwrap();
        let of = |upper: u128| buckets.of(Digest(upper << 64 | 5));
        assert_eq!([0, u128::from(u32::MAX), 1 << 31].map(of), [0, 6, 3]);
    }

    #[test]
    fn buckets_come_in_any_order_and_once() {
        let mut runs = BucketRuns::default();
        let found = [5, 5, 2, 2, 6].map(|bucket| runs.ended_by(bucket).unwrap());
        assert_eq!(found, [None, None, Some(5), None, Some(2)]);
        assert_eq!(runs.current(), Some(6));
        assert!(runs.ended_by(5).is_err());
        assert!(runs.ended_by(2).is_err());
        assert_eq!(runs.ended_by(6).unwrap(), None);
    }
}
