//! The items that some round can release, by code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_rows::runtime::memory::Growing;

use super::frequent_items::{FrequentTable, Known, NEW, RARE};
use crate::exchange::{Chances, NO_CODE, item_hash};

/// Finds the items that some round can release, and gives codes to them.
pub(super) struct Coding<'a> {
    pub(super) chances: Chances,
    /// The users of each frequent hash, by place.
    pub(super) users: &'a [u32],
    /// The most users of all other items.
    pub(super) above: u32,
    pub(super) met: RwLock<Met>,
    /// The bytes that candidates may take.
    pub(super) most: usize,
    /// The buckets of users, and how many of them were begun.
    pub(super) buckets: usize,
    pub(super) begun: AtomicUsize,
    /// If candidates take more, what those of all users and frequent items would take: users are in buckets by chance, so
    /// those of further buckets bring no more new candidates than those so far.
    pub(super) needed: AtomicUsize,
}

/// The frequent items and candidates that were met so far, with their codes.
#[derive(Debug)]
pub(super) struct Met {
    items: FrequentTable,
    pub(super) candidates: Growing<u128>,
}

/// The most candidates, whose codes have 32 bits, and the bytes of each.
const MOST: usize = 1 << 31;
const CANDIDATE_BYTES: usize = size_of::<u128>();
/// Bytes that a frequent item takes beside: its place in the table and its users, rounded up.
const FREQUENT_BYTES: usize = 36;
/// Bytes of a frequent item that is a candidate. Other candidates take more.
pub(super) const BYTES: usize = FREQUENT_BYTES + CANDIDATE_BYTES;

/// The bytes that candidates may take beside so many frequent items.
pub(super) fn most_candidates(room: usize, frequent: usize) -> usize {
    room.saturating_sub(frequent * FREQUENT_BYTES).min(MOST.saturating_mul(CANDIDATE_BYTES))
}

/// Items of a bucket that are looked up at once.
const LOOKED_UP: usize = 1 << 16;
/// Bytes of an entry of a table of digests: digest, code, and the free entries beside it.
const OTHER_BYTES: usize = 40;

impl Met {
    /// Nothing is met yet of these hashes, each with its users. The users by place come back, and `above` for free places.
    ///
    /// # Errors
    /// [`dpsel_exact::Error::Capacity`] for too many hashes.
    pub(super) fn new(mut counts: Vec<(u32, u32)>, above: u32) -> Result<(Self, Vec<u32>)> {
        let items = FrequentTable::new(&mut counts)?;
        let mut users = vec![above; items.len()];
        for (hash, number) in counts {
            users[items.place_of(hash)] = number;
        }
        Ok((Self { items, candidates: Growing::default() }, users))
    }

    /// The bytes that candidates take now, or would take if one more came: beside a full table there is one of twice its size
    /// while it grows.
    fn bytes(&self) -> usize {
        let (others, room) = self.items.beside();
        let tables = if others < room { 1 } else { 3 };
        self.candidates.bytes() + tables * room * OTHER_BYTES
    }

    /// Meet an item; returns its code. Other items than first ones are remembered only if they are candidates.
    fn meet(&mut self, item: Digest, is_candidate: bool) -> u32 {
        let known = self.items.find(item);
        // Another thread may have met it since.
        if let Known::Met(code) = known {
            return code;
        }
        let code = if is_candidate { codes(self.candidates.len()) } else { NO_CODE };
        self.candidates.extend(is_candidate.then_some(item.0).into_iter());
        if is_candidate || matches!(known, Known::First(_)) {
            self.items.note(item, &known, code);
        }
        code
    }
}

impl Coding<'_> {
    /// The code of each item of a bucket.
    pub(super) fn codes_of(&self, items: &[Digest], found: &mut Vec<u32>) {
        found.clear();
        items.chunks(LOOKED_UP).for_each(|items| self.add_codes(items, found));
    }

    /// Add the codes of items. Only items that were not met before are looked at more closely.
    fn add_codes(&self, items: &[Digest], found: &mut Vec<u32>) {
        let (mut places, mut new, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let (met, first) = (self.met.read().unwrap_or_else(PoisonError::into_inner), found.len());
        met.items.numbers_of(items, found);
        for (place, (code, item)) in (first..).zip(found[first..].iter_mut().zip(items)) {
            match *code {
                // Nearly all of these are no candidates. So that is asked first.
                RARE => users.push(self.above),
                NEW => users.push(self.users[met.items.place_of(item_hash(*item))]),
                _ => continue,
            }
            places.push(place);
            new.push(*item);
        }
        drop(met);
        let are_candidates = self.chances.can_release(&new, &users);
        let mut to_meet = Vec::new();
        for ((place, item), is_candidate) in places.into_iter().zip(new).zip(are_candidates) {
            if is_candidate || found[place] == NEW {
                to_meet.push((place, item, is_candidate));
            }
            found[place] = NO_CODE;
        }
        self.meet(&to_meet, found);
    }

    /// Meet items, each for a place among the codes, and whether it is a candidate.
    fn meet(&self, items: &[(usize, Digest, bool)], found: &mut [u32]) {
        if items.is_empty() {
            return;
        }
        let mut met = self.met.write().unwrap_or_else(PoisonError::into_inner);
        for (place, item, is_candidate) in items {
            if met.bytes() > self.most {
                // What this bucket becomes is not used.
                let begun = self.begun.load(Ordering::Relaxed).max(1);
                let needed = met.bytes().saturating_mul(self.buckets) / begun;
                let needed = needed.saturating_add(self.users.len() * FREQUENT_BYTES);
                self.needed.fetch_max(needed, Ordering::Relaxed);
                return;
            }
            found[*place] = met.meet(*item, *is_candidate);
        }
    }
}
