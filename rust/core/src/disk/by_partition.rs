//! Things in order of their partitions, by counting.

use dpsel_exact::numeric::widths::index;

use crate::exchange::Partitions;

/// Things of one thread in order of their partitions. The memory is reused.
#[derive(Debug, Default)]
pub(super) struct ByPartition<T> {
    things: Vec<T>,
    /// Where each partition ends.
    ends: Vec<usize>,
}

impl<T: Copy + Default> ByPartition<T> {
    /// Start anew with these things and their partitions.
    pub(super) fn fill(&mut self, partitions: Partitions, things: impl Iterator<Item = (i32, T)> + Clone) {
        let place = |partition: i32| index(partition.unsigned_abs().into());
        self.ends.clear();
        self.ends.resize(place(partitions.of_bits(u32::MAX)) + 1, 0);
        things.clone().for_each(|(partition, _)| self.ends[place(partition)] += 1);
        let mut total = 0;
        for end in &mut self.ends {
            total += std::mem::replace(end, total);
        }
        self.things.resize(total, T::default());
        for (partition, thing) in things {
            let end = &mut self.ends[place(partition)];
            self.things[*end] = thing;
            *end += 1;
        }
    }

    /// Each partition with its things, also where it has none.
    pub(super) fn each(&self) -> impl Iterator<Item = (i32, &[T])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        (0..).zip(ranges).map(|(partition, (start, end))| (partition, &self.things[start..*end]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_of_a_partition_keep_their_order() {
        let partitions = Partitions::new(4).unwrap();
        let mut by_partition = ByPartition::<u32>::default();
        for things in [&[(3, 7), (0, 5), (3, 6), (0, 4), (1, 9)][..], &[], &[(2, 1)]] {
            by_partition.fill(partitions, things.iter().copied());
            let found: Vec<(i32, Vec<u32>)> =
                by_partition.each().map(|(partition, things)| (partition, things.to_vec())).collect();
            let of = |wanted| things.iter().filter(move |(partition, _)| *partition == wanted);
            let expected = (0..4).map(|partition| (partition, of(partition).map(|(_, n)| *n).collect()));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}
