//! The weights of items that several users keep, by slot.
//!
//! The sums are of integers, so neither the order of users nor the number of threads matters.

use std::sync::atomic::{AtomicU64, Ordering};

use dpsel_exact::numeric::widths::codes;
use dpsel_rows::runtime::parallel::{self, Idle};
use zeroize::Zeroize;

/// Slots of a range: the place in it has a byte, and what is known of so many fits the fastest cache.
pub(in crate::rounds) const RANGE: usize = 1 << u8::BITS;

/// Threads sum slots for themselves up to this number of slots, divided among them. Slots begin with the most frequent
/// items, which threads would otherwise change at the same time. Tests reach beyond it with few items.
pub(in crate::rounds) const THREAD_SLOTS: usize =
    if cfg!(any(test, feature = "testing")) { 1 << 16 } else { 1 << 21 };

/// Slots whose sums of threads are added up at a time.
const MERGED: usize = 1 << 16;

/// Sums that wait until they are added to those of all threads together. What they touch fits the second-level cache.
const WAITING: usize = if cfg!(any(test, feature = "testing")) { 1 << 4 } else { 1 << 12 };

/// For each slot the sum of all weights so far in grid steps.
#[derive(Debug)]
pub(super) struct SlotSums {
    sums: Vec<AtomicU64>,
    threads: usize,
    /// Each thread has sums of its own for the slots below this, which are whole ranges.
    own_slots: usize,
    of_thread: Idle<ThreadSums>,
}

/// The sums of one thread in a round.
#[derive(Debug)]
pub(super) struct ThreadSums {
    /// The lower halves: those of its own slots, and a spare range for every range beyond them. They are zero between
    /// rounds.
    low: Vec<u32>,
    /// Slots beyond its own, and what was given to each. It is empty between rounds.
    waiting: Vec<(u32, u32)>,
}

impl SlotSums {
    /// All weights zero. Threads have about `first` sums of their own together.
    pub(super) fn new(slots: usize, (threads, first): (usize, usize)) -> Self {
        let sums = std::iter::repeat_with(|| AtomicU64::new(0)).take(slots).collect();
        let own_slots = slots.next_multiple_of(RANGE).min(first / threads / RANGE * RANGE);
        Self { sums, threads, own_slots, of_thread: Idle::default() }
    }

    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.sums.len()
    }

    /// The sum of all weights of a slot so far.
    #[inline]
    pub(super) fn weight(&self, slot: usize) -> u64 {
        self.sums[slot].load(Ordering::Relaxed)
    }

    /// Add to the sum of a slot; `None` if there is no such slot.
    pub(super) fn add(&mut self, slot: usize, weight: u64) -> Option<()> {
        let sum = self.sums.get_mut(slot)?.get_mut();
        // Otherwise: the sum is too large, which is refused when items are decided.
        *sum = sum.saturating_add(weight);
        Some(())
    }

    /// Sums for one thread.
    pub(super) fn take(&self) -> ThreadSums {
        self.of_thread.take(|| ThreadSums {
            low: vec![0; self.own_slots + RANGE],
            // Allocated once. Growing would leave a copy behind that is not wiped.
            waiting: Vec::with_capacity(WAITING + RANGE),
        })
    }

    /// Give them back.
    pub(super) fn put(&self, mut of_thread: ThreadSums) {
        self.add_waiting(&mut of_thread.waiting);
        self.of_thread.put(of_thread);
    }

    /// The sums of a range of slots, for one thread.
    pub(super) fn of_range<'s>(&'s self, of_thread: &'s mut ThreadSums, range: usize) -> RangeSums<'s> {
        let ThreadSums { low, waiting } = of_thread;
        if waiting.len() >= WAITING {
            self.add_waiting(waiting);
        }
        // Nothing remains: these are whole ranges.
        let (ranges, _) = low.as_chunks_mut();
        let spare = self.own_slots / RANGE;
        let waiting = (range >= spare).then_some(waiting);
        let (first, low) = (range * RANGE, &mut ranges[range.min(spare)]);
        RangeSums { first, sums: &self.sums[first..], low, waiting }
    }

    /// Add what waits.
    fn add_waiting(&self, waiting: &mut Vec<(u32, u32)>) {
        // Read first. The processor fetches many sums at a time then, while an addition that all threads see would wait for
        // its own.
        let read = waiting.iter().fold(0, |read, (slot, _)| read ^ self.weight(*slot as usize));
        std::hint::black_box(read);
        for (slot, sum) in waiting.drain(..) {
            self.sums[slot as usize].fetch_add(sum.into(), Ordering::Relaxed);
        }
    }

    /// End a round: add the sums of all threads.
    pub(super) fn merge(&mut self) {
        let Self { sums, threads, of_thread, .. } = self;
        let mut pieces: Vec<_> =
            of_thread.values_mut().iter_mut().map(|sums| sums.low.chunks_mut(MERGED)).collect();
        let parts = sums.chunks_mut(MERGED).map(|sums| {
            let pieces: Vec<_> = pieces.iter_mut().filter_map(Iterator::next).collect();
            (sums, pieces)
        });
        let parts = parts.collect();
        parallel::map(*threads, parts, |(sums, pieces): (&mut [AtomicU64], Vec<&mut [u32]>)| {
            for piece in pieces {
                for (sum, more) in sums.iter_mut().zip(piece) {
                    *sum.get_mut() += u64::from(std::mem::take(more));
                }
            }
        });
    }

    /// Overwrite the sums, also those that have waited.
    pub(super) fn wipe(&mut self) {
        self.sums.iter_mut().for_each(|sum| sum.get_mut().zeroize());
        self.of_thread.values_mut().iter_mut().for_each(|sums| sums.waiting.zeroize());
    }
}

/// The sums of a range of slots, to which one thread adds.
pub(super) struct RangeSums<'a> {
    /// The first slot of the range.
    first: usize,
    /// From there on.
    sums: &'a [AtomicU64],
    /// The lower halves of the sums of this thread.
    low: &'a mut [u32; RANGE],
    /// Where they wait if the next range needs `low`, too.
    waiting: Option<&'a mut Vec<(u32, u32)>>,
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

    /// End the range, of which only these places were added to.
    pub(super) fn end(self, places: impl Iterator<Item = usize>) {
        let Some(waiting) = self.waiting else { return };
        for place in places {
            let sum = std::mem::take(&mut self.low[place]);
            if sum > 0 {
                waiting.push((codes(self.first + place), sum));
            }
        }
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
            let mut sums = SlotSums::new(slots, (threads, THREAD_SLOTS));
            for _ in 0..2 {
                let mut of_thread = sums.take();
                for range in 0..2 {
                    let mut of_range = sums.of_range(&mut of_thread, range);
                    for (place, times) in [(0, 5), (2, 1)] {
                        (0..times).for_each(|_| of_range.add(place, 1 << 31));
                    }
                    of_range.end([0, 2, 0].into_iter());
                }
                sums.put(of_thread);
                sums.merge();
            }
            let expected = |slot: usize| [10 << 31, 0, 2 << 31].get(slot % RANGE).copied().unwrap_or(0);
            assert!((0..slots).all(|slot| sums.weight(slot) == expected(slot)), "{threads} threads");
        }
    }
}
