//! The weights of items that several users keep, by slot.
//!
//! The sums are of integers, so neither the order of users nor the number of threads matters.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::slots::RANGE;
use crate::contributions::ItemCode;
use crate::random::Digest;
use crate::rounds::items::{Columns, TakesPart, Weights};
use crate::runtime::parallel::{self, Idle};

/// Threads sum slots for themselves up to this number of slots, divided among them. Slots begin with the most frequent
/// items, which threads would otherwise change at the same time. Tests reach beyond it with few items.
pub(super) const THREAD_SLOTS: usize = if cfg!(test) { 1 << 16 } else { 1 << 21 };

/// Slots whose sums of threads are added up at a time.
const MERGED: usize = 1 << 16;

/// For each slot its item, and the sum of all weights so far in grid steps.
#[derive(Debug)]
pub(super) struct SlotSums {
    codes: Vec<u32>,
    /// In the vocabulary they stand far apart.
    digests: Vec<Digest>,
    sums: Vec<AtomicU64>,
    /// The lower halves of the sums of each thread in a round, kept for their memory. They are zero between rounds.
    of_thread: Vec<Vec<u32>>,
}

impl SlotSums {
    /// All weights zero, of the items with these codes and digests.
    pub(super) fn new(codes: Vec<u32>, digests: Vec<Digest>) -> Self {
        let sums = codes.iter().map(|_| AtomicU64::new(0)).collect();
        Self { codes, digests, sums, of_thread: Vec::new() }
    }

    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The same, up to the end of the last range.
    pub(super) fn whole_ranges(&self) -> usize {
        self.len().next_multiple_of(RANGE)
    }

    /// The sum of all weights of a slot so far.
    #[inline]
    pub(super) fn weight(&self, slot: usize) -> u64 {
        self.sums[slot].load(Ordering::Relaxed)
    }

    /// Begin a round of so many threads.
    pub(super) fn adding(&mut self, threads: usize) -> Adding<'_> {
        let own_slots = self.whole_ranges().min(THREAD_SLOTS / threads / RANGE * RANGE);
        Adding { sums: &self.sums, own_slots, idle: std::mem::take(&mut self.of_thread).into() }
    }

    /// End a round: add the sums of all threads, which [`Adding::end`] returned.
    pub(super) fn merge(&mut self, mut of_thread: Vec<Vec<u32>>, threads: usize) {
        let mut pieces: Vec<_> = of_thread.iter_mut().map(|sums| sums.chunks_mut(MERGED)).collect();
        let parts = self.sums.chunks_mut(MERGED).map(|sums| {
            let pieces: Vec<_> = pieces.iter_mut().filter_map(Iterator::next).collect();
            (sums, pieces)
        });
        let parts = parts.collect();
        parallel::map(threads, parts, |(sums, pieces): (&mut [AtomicU64], Vec<&mut [u32]>)| {
            for piece in pieces {
                for (sum, more) in sums.iter_mut().zip(piece) {
                    *sum.get_mut() += u64::from(std::mem::take(more));
                }
            }
        });
        self.of_thread = of_thread;
    }
}

/// The sums while several threads add to them.
pub(super) struct Adding<'a> {
    sums: &'a [AtomicU64],
    /// Each thread has sums of its own for the slots below this, which are whole ranges.
    own_slots: usize,
    /// The sums of threads that work on no part now.
    idle: Idle<Vec<u32>>,
}

impl Adding<'_> {
    /// Sums for one thread: those of its own slots, and a spare range for every range beyond them.
    pub(super) fn take(&self) -> Vec<u32> {
        self.idle.take(|| vec![0; self.own_slots + RANGE])
    }

    /// Give them back.
    pub(super) fn put(&self, of_thread: Vec<u32>) {
        self.idle.put(of_thread);
    }

    /// The sums of a range of slots, for one thread.
    pub(super) fn of_range<'s>(&'s self, of_thread: &'s mut [u32], range: usize) -> RangeSums<'s> {
        // Nothing remains: these are whole ranges.
        let (ranges, _) = of_thread.as_chunks_mut();
        let spare = self.own_slots / RANGE;
        let sums = &self.sums[range * RANGE..];
        RangeSums { sums, low: &mut ranges[range.min(spare)], is_spare: range >= spare }
    }

    /// The sums of all threads, for [`SlotSums::merge`].
    pub(super) fn end(self) -> Vec<Vec<u32>> {
        self.idle.into_values()
    }
}

/// The sums of a range of slots, to which one thread adds.
pub(super) struct RangeSums<'a> {
    /// From the first slot of the range on.
    sums: &'a [AtomicU64],
    /// The lower halves of the sums of this thread.
    low: &'a mut [u32; RANGE],
    /// Whether the next range needs them, too.
    is_spare: bool,
}

impl RangeSums<'_> {
    /// Add to the slot at a place of the range. What 32 bits cannot hold goes to the sums of all threads.
    #[inline]
    pub(super) fn add(&mut self, place: usize, weight: u32) {
        let (sum, carry) = self.low[place].overflowing_add(weight);
        self.low[place] = sum;
        if carry {
            self.sums[place].fetch_add(1 << u32::BITS, Ordering::Relaxed);
        }
    }

    /// End the range, of which only these places were added to. Spare sums go to those of all threads.
    pub(super) fn end(self, places: impl Iterator<Item = usize>) {
        if !self.is_spare {
            return;
        }
        for place in places {
            let sum = std::mem::take(&mut self.low[place]);
            if sum > 0 {
                self.sums[place].fetch_add(sum.into(), Ordering::Relaxed);
            }
        }
    }
}

impl Weights for SlotSums {
    fn places(&self) -> usize {
        self.len()
    }

    fn item(&self, place: usize) -> ItemCode {
        ItemCode::from_index(self.codes[place] as usize)
    }

    fn digest(&self, place: usize) -> Digest {
        self.digests[place]
    }

    /// Only items that take part: after some rounds they are few.
    fn gather(&self, block: Range<usize>, who: &impl TakesPart, columns: &mut Columns) {
        let Columns { places, weights, words } = columns;
        places.resize(block.len(), 0);
        let mut found = 0;
        // Without a branch: which items are left cannot be predicted. Weights of the others are not read.
        for place in block {
            places[found] = place;
            found += usize::from(!who.is_out(place));
        }
        places.truncate(found);
        places.retain(|place| {
            let weight = self.weight(*place);
            let takes_part = who.takes_part(*place, weight);
            if takes_part {
                weights.push(weight);
            }
            takes_part
        });
        words.extend(places.iter().map(|place| self.digests[*place].0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With sums of their own for all slots, and with spare ones only.
    #[test]
    fn sums_pass_what_32_bits_can_hold() {
        let slots = RANGE + 3;
        for threads in [1, THREAD_SLOTS] {
            let mut sums = SlotSums::new(vec![0; slots], vec![Digest(0); slots]);
            for _ in 0..2 {
                let adding = sums.adding(threads);
                let mut of_thread = adding.take();
                for range in 0..2 {
                    let mut of_range = adding.of_range(&mut of_thread, range);
                    for (place, times) in [(0, 5), (2, 1)] {
                        (0..times).for_each(|_| of_range.add(place, 1 << 31));
                    }
                    of_range.end([0, 2, 0].into_iter());
                }
                adding.put(of_thread);
                let of_threads = adding.end();
                sums.merge(of_threads, 1);
            }
            let expected = |slot: usize| [10 << 31, 0, 2 << 31].get(slot % RANGE).copied().unwrap_or(0);
            assert!((0..slots).all(|slot| sums.weight(slot) == expected(slot)), "{threads} threads");
        }
    }
}
