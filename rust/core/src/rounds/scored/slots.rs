//! Slots: the places of items that several users keep, in the arrays of scored rounds.
//!
//! Codes say nothing of the number of users. Slots do: items of 128 users or more come first, then those of 64 to 127, and so
//! on. So what is read and written most stays in the cache. An item that one user alone keeps has no slot: what is known of
//! it stands beside its user. A release does not depend on slots.

use std::sync::{Mutex, PoisonError};

use dpsel_rows::runtime::parallel;

use crate::bounding::KeptPiece;

/// Threads that count users at most: each has a byte for every item code.
const COUNTING: usize = 4;
/// Classes of items by their number of users: in the class c it is 2^(7 - c) or more.
const CLASSES: usize = u8::BITS as usize;
const WORD: usize = u64::BITS as usize;

/// The slots of items that several users keep.
#[derive(Debug)]
pub(super) struct ItemSlots {
    /// A bit for each item code, set if several users keep the item, 64 in a word; and the number of bits in the words
    /// before it. This is small enough for the cache, where a slot for each code would not be.
    shared: Vec<(u64, u32)>,
    /// The slots of these items in the order of their codes. One entry more is at the end, so that there is a first one:
    /// [`ItemSlots::separate`] reads it for items without a slot.
    by_code: Vec<u32>,
    /// The code of each slot.
    codes: Vec<u32>,
}

impl ItemSlots {
    /// Give a slot to each item that several users keep. Codes are below `bound`.
    pub(super) fn assign(pieces: &[KeptPiece], bound: usize, threads: usize) -> Self {
        let users = count_users(pieces, bound, threads.min(COUNTING));
        let shared = || (0_u32..).zip(&users).filter(|(_, users)| **users > 1);
        // Of each class the next slot: the most users come first.
        let class = |users: u8| users.leading_zeros() as usize;
        let mut next = [0_u32; CLASSES];
        shared().for_each(|(_, users)| next[class(*users)] += 1);
        let mut all = 0;
        for slot in &mut next {
            (*slot, all) = (all, all + *slot);
        }
        let mut slots = Self {
            shared: vec![(0, 0); bound.div_ceil(WORD)],
            by_code: Vec::with_capacity(all as usize + 1),
            codes: vec![0; all as usize],
        };
        for (code, users) in shared() {
            let slot = &mut next[class(*users)];
            slots.shared[code as usize / WORD].0 |= 1 << (code as usize % WORD);
            slots.codes[*slot as usize] = code;
            slots.by_code.push(*slot);
            *slot += 1;
        }
        slots.by_code.push(0);
        let mut before = 0;
        for (bits, number) in &mut slots.shared {
            *number = before;
            before += bits.count_ones();
        }
        slots
    }

    /// The items of a user: write slots to the front of `shared`, and items without one to the front of `alone`. Both have
    /// room for all. Returns the number of slots.
    pub(super) fn separate(&self, items: &[u32], shared: &mut [u32], alone: &mut [u32]) -> usize {
        let (mut with_slot, mut others) = (0, 0);
        // Without a branch: which items are shared cannot be predicted.
        for item in items {
            let (bits, before) = self.shared[*item as usize / WORD];
            let bit = 1 << (*item as usize % WORD);
            let is_shared = usize::from(bits & bit > 0);
            // For the others always the first one, which is in the cache.
            let place = (before + (bits & (bit - 1)).count_ones()) as usize * is_shared;
            shared[with_slot] = self.by_code[place];
            alone[others] = *item;
            (with_slot, others) = (with_slot + is_shared, others + 1 - is_shared);
        }
        with_slot
    }

    /// The slot of an item code, if several users keep the item.
    pub(super) fn slot_of(&self, code: u32) -> Option<u32> {
        let (bits, before) = self.shared[code as usize / WORD];
        let bit = 1 << (code as usize % WORD);
        (bits & bit > 0).then(|| self.by_code[(before + (bits & (bit - 1)).count_ones()) as usize])
    }

    /// The code of the item of each slot.
    pub(super) fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The same. How to find the slot of a code is forgotten.
    pub(super) fn into_codes(self) -> Vec<u32> {
        self.codes
    }
}

/// The number of users of each code, up to the largest that fits.
fn count_users(pieces: &[KeptPiece], bound: usize, threads: usize) -> Vec<u8> {
    // Pieces take different times, so each thread takes one until none are left.
    let left = Mutex::new(pieces.iter());
    let counted = parallel::map(threads, vec![(); threads], |()| {
        let mut users = vec![0_u8; bound];
        // Nothing panics while it holds the lock.
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        for item in std::iter::from_fn(next).flat_map(KeptPiece::items_by_user).flatten() {
            users[*item as usize] = users[*item as usize].saturating_add(1);
        }
        users
    });
    // Otherwise: no threads.
    counted.into_iter().reduce(added).unwrap_or_else(|| vec![0; bound])
}

/// What two threads counted, up to the largest that fits: an item of 256 users has many, not none.
fn added(mut all: Vec<u8>, more: Vec<u8>) -> Vec<u8> {
    for (all, more) in all.iter_mut().zip(more) {
        *all = all.saturating_add(more);
    }
    all
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::contributions;
    use dpsel_rows::runtime::Control;

    use super::*;
    use crate::bounding::BoundedContributions;

    /// Items with one user, with some, and with more than a byte can count, counted by several threads.
    #[test]
    fn slots_are_by_classes_of_users_and_each_shared_item_has_one() {
        let users_of =
            |item: u64| [1, 2, 3, 40, 128, 255, 256, 257, 258, 300][(item % 10) as usize] - item / 10 % 2;
        let rows: Vec<(u64, u64)> =
            (0..193).flat_map(|item| (0..users_of(item)).map(move |user| (user * 7 % 300, item))).collect();
        let key = ReleaseKey::insecure_test([3; 32]);
        let bound = L0Bound::new(1000).unwrap();
        let kept =
            BoundedContributions::new(contributions(&rows, &key), bound, &key, &Control::default()).unwrap();
        let (pieces, vocabulary) = kept.into_kept_pieces();
        let bound = vocabulary.code_bound();
        let mut users = vec![0_usize; bound];
        pieces
            .iter()
            .flat_map(KeptPiece::items_by_user)
            .flatten()
            .for_each(|item| users[*item as usize] += 1);
        for threads in [1, 3] {
            let slots = ItemSlots::assign(&pieces, bound, threads);
            let of_slots: Vec<usize> = slots.codes().iter().map(|code| users[*code as usize]).collect();
            assert_eq!(slots.codes().len(), users.iter().filter(|users| **users > 1).count());
            assert!(
                of_slots.is_sorted_by_key(|users| (*users).min(255).ilog2().wrapping_neg().cast_signed())
            );
            let all: Vec<u32> = (0..).take(bound).collect();
            let (mut shared, mut alone) = (vec![0; bound], vec![0; bound]);
            let with_slot = slots.separate(&all, &mut shared, &mut alone);
            let found = shared[..with_slot].iter().map(|slot| slots.codes()[*slot as usize]);
            assert!(found.eq(all.iter().copied().filter(|code| users[*code as usize] > 1)));
            let others = alone[..bound - with_slot].iter().copied();
            assert!(others.eq(all.iter().copied().filter(|code| users[*code as usize] <= 1)));
        }
    }

    #[test]
    fn numbers_of_users_stop_at_the_largest() {
        assert_eq!(added(vec![1, 128, 255, 0], vec![2, 128, 1, 0]), [3, 255, 255, 0]);
    }
}
