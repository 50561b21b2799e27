//! Slots: the places of items in the arrays of scored rounds.
//!
//! Item codes stand in the order of first appearance, so the items of one user are all over the arrays. Slots put the
//! items of several users first, from the most frequent down, and then the items of one user alone, user after user. So
//! what is hit most stays in the cache, and what one user alone holds is read from one end to the other. In skewed data
//! nine items of ten have one user. A release does not depend on slots.

use std::cmp::Reverse;

use crate::bounding::KeptRows;
use crate::contributions::{ItemCode, Vocabulary};
use crate::numeric::widths::codes;
use crate::random::Digest;
use crate::runtime::{Control, parallel};

/// The items by slot.
#[derive(Debug)]
pub(super) struct Slots {
    codes: Vec<u32>,
    /// The slots from here on have one user each.
    shared: usize,
}

impl Slots {
    /// Give a slot to each item that a user keeps, and write the slots into the rows, of each user first those that it
    /// shares with others. Codes are below `bound`.
    pub(super) fn assign(rows: &mut KeptRows, bound: usize) -> Self {
        let mut users = vec![0_u32; bound];
        rows.for_each_item(|item| users[*item as usize] = users[*item as usize].saturating_add(1));
        let mut by_slot: Vec<u32> = (0..codes(bound)).filter(|code| users[*code as usize] > 1).collect();
        by_slot.sort_unstable_by_key(|code| (Reverse(users[*code as usize]), *code));
        let shared = by_slot.len();
        // The same memory again: the slot of each shared item.
        let mut slots = users;
        slots.fill(u32::MAX);
        for (slot, code) in (0..).zip(&by_slot) {
            slots[*code as usize] = slot;
        }
        rows.for_each_user(|items| {
            let mut with_others = 0;
            for at in 0..items.len() {
                let slot = slots[items[at] as usize];
                if slot != u32::MAX {
                    items.swap(at, with_others);
                    items[with_others] = slot;
                    with_others += 1;
                }
            }
            for item in &mut items[with_others..] {
                by_slot.push(std::mem::replace(item, codes(by_slot.len())));
            }
        });
        Self { codes: by_slot, shared }
    }

    /// The digest of the item of each slot.
    pub(super) fn digests(&self, vocabulary: &Vocabulary, control: &Control) -> Vec<Digest> {
        let (known, threads) = (vocabulary.digests(), parallel::threads_for(self.len(), control));
        let step = self.len().div_ceil(threads).max(1);
        let mut digests = vec![Digest::default(); self.len()];
        let parts = digests.chunks_mut(step).zip(self.codes.chunks(step)).collect();
        parallel::map(threads, parts, |(digests, codes)| {
            for (digest, code) in digests.iter_mut().zip(codes) {
                *digest = known.get(ItemCode::from_index(*code as usize));
            }
        });
        digests
    }

    /// Number of slots.
    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The number of slots of items of several users, which come first.
    pub(super) fn shared(&self) -> usize {
        self.shared
    }

    /// The item of a slot.
    #[inline]
    pub(super) fn item(&self, slot: usize) -> ItemCode {
        ItemCode::from_index(self.codes[slot] as usize)
    }
}
