//! Things in order of their buckets, by counting.

use dpsel_exact::numeric::widths::index;

use crate::exchange::Buckets;

/// Things of one thread in order of their buckets. The memory is reused.
#[derive(Debug, Default)]
pub(in crate::disk) struct ByBucket<T> {
    things: Vec<T>,
    /// Where each bucket ends.
    ends: Vec<usize>,
}

impl<T: Copy + Default> ByBucket<T> {
    /// Start anew with these things and their buckets.
    pub(in crate::disk) fn fill(&mut self, buckets: Buckets, things: impl Iterator<Item = (i32, T)> + Clone) {
        let place = |bucket: i32| index(bucket.unsigned_abs().into());
        self.ends.clear();
        self.ends.resize(place(buckets.of_bits(u32::MAX)) + 1, 0);
        things.clone().for_each(|(bucket, _)| self.ends[place(bucket)] += 1);
        let mut total = 0;
        for end in &mut self.ends {
            total += std::mem::replace(end, total);
        }
        self.things.resize(total, T::default());
        for (bucket, thing) in things {
            let end = &mut self.ends[place(bucket)];
            self.things[*end] = thing;
            *end += 1;
        }
    }

    /// Each bucket with its things, also where it has none.
    pub(in crate::disk) fn each(&self) -> impl Iterator<Item = (i32, &[T])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        (0..).zip(ranges).map(|(bucket, (start, end))| (bucket, &self.things[start..*end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_of_a_bucket_keep_their_order() {
        let buckets = Buckets::new(4).unwrap();
        let mut by_bucket = ByBucket::<u32>::default();
        for things in [&[(3, 7), (0, 5), (3, 6), (0, 4), (1, 9)][..], &[], &[(2, 1)]] {
            by_bucket.fill(buckets, things.iter().copied());
            let found: Vec<(i32, Vec<u32>)> =
                by_bucket.each().map(|(bucket, things)| (bucket, things.to_vec())).collect();
            let of = |wanted| things.iter().filter(move |(bucket, _)| *bucket == wanted);
            let expected = (0..4).map(|bucket| (bucket, of(bucket).map(|(_, n)| *n).collect()));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}
