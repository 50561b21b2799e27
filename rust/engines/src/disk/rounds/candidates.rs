//! The items that some round can release, by code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_rows::runtime::memory::Growing;

use super::item_codes::Hashes;
use crate::exchange::{ByDigest, Chances, NO_CODE};

/// Finds the items that some round can release, and gives codes to them.
pub(super) struct Coding<'a> {
    pub(super) chances: Chances,
    /// The hashes of frequent items, and the users of each.
    pub(super) hashes: Hashes,
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

/// The frequent items and candidates that were met so far.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// The first item with each frequent hash, and its code; zero before there is one.
    first: Vec<Digest>,
    first_codes: Vec<u32>,
    /// Candidates that are not first.
    others: ByDigest<u32>,
    pub(super) candidates: Growing<u128>,
}

/// The most candidates, whose codes have 32 bits, and the bytes of each.
const MOST: usize = 1 << 31;
const CANDIDATE_BYTES: usize = size_of::<u128>();
/// Bytes that a frequent item takes beside: its hash, code and users, and the first digest with its code, rounded up.
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
    /// Nothing is met yet of so many frequent hashes.
    pub(super) fn new(hashes: usize) -> Self {
        Self { first: vec![Digest::default(); hashes], first_codes: vec![NO_CODE; hashes], ..Self::default() }
    }

    /// The bytes that candidates take now, or would take if one more came: beside a full table there is one of twice its size
    /// while it grows.
    fn bytes(&self) -> usize {
        let tables = if self.others.len() < self.others.capacity() { 1 } else { 3 };
        self.candidates.bytes() + tables * self.others.capacity() * OTHER_BYTES
    }

    /// The code of an item that was met before. Other items than first ones are met only if they are candidates.
    #[inline]
    fn code(&self, of_hash: Option<u32>, item: Digest) -> Option<u32> {
        match of_hash {
            Some(of_hash) if self.first[of_hash as usize] == item => Some(self.first_codes[of_hash as usize]),
            Some(_) | None => self.others.get(&item).copied(),
        }
    }

    /// Meet an item; returns its code.
    fn meet(&mut self, of_hash: Option<u32>, item: Digest, is_candidate: bool) -> u32 {
        // Another thread may have met it since.
        if let Some(code) = self.code(of_hash, item) {
            return code;
        }
        let code = if is_candidate { codes(self.candidates.len()) } else { NO_CODE };
        self.candidates.extend(is_candidate.then_some(item.0).into_iter());
        match of_hash.map(|of_hash| of_hash as usize) {
            Some(place) if self.first[place] == Digest::default() => {
                (self.first[place], self.first_codes[place]) = (item, code);
            }
            Some(_) | None if is_candidate => {
                self.others.insert(item, code);
            }
            Some(_) | None => {}
        }
        code
    }
}

impl Coding<'_> {
    /// The code of each item of a bucket.
    pub(super) fn codes_of(&self, items: &[Digest], found: &mut Vec<u32>) {
        found.clear();
        let mut of_hashes = Vec::new();
        for items in items.chunks(LOOKED_UP) {
            self.hashes.codes_of(items, &mut of_hashes);
            self.add_codes(items, &of_hashes, found);
        }
    }

    /// Add the codes of items, given those of their hashes. Only items that were not met before are looked at more closely.
    fn add_codes(&self, items: &[Digest], of_hashes: &[Option<u32>], found: &mut Vec<u32>) {
        let (mut places, mut new, mut users) = (Vec::new(), Vec::new(), Vec::new());
        let met = self.met.read().unwrap_or_else(PoisonError::into_inner);
        let first = found.len();
        for (place, (item, of_hash)) in items.iter().zip(of_hashes).enumerate() {
            let code = met.code(*of_hash, *item);
            if code.is_none() {
                places.push(place);
                new.push(*item);
                users.push(of_hash.map_or(self.above, |of_hash| self.users[of_hash as usize]));
            }
            found.push(code.unwrap_or(NO_CODE)); // Otherwise: changed below, if it is a candidate.
        }
        drop(met);
        let are_candidates = self.chances.can_release(&new, &users);
        let mut met = self.met.write().unwrap_or_else(PoisonError::into_inner);
        for ((place, item), is_candidate) in places.into_iter().zip(new).zip(are_candidates) {
            if met.bytes() > self.most {
                // What this bucket becomes is not used.
                let begun = self.begun.load(Ordering::Relaxed).max(1);
                let needed = met.bytes().saturating_mul(self.buckets) / begun;
                let needed = needed.saturating_add(self.users.len() * FREQUENT_BYTES);
                self.needed.fetch_max(needed, Ordering::Relaxed);
                return;
            }
            if is_candidate || of_hashes[place].is_some() {
                found[first + place] = met.meet(of_hashes[place], item, is_candidate);
            }
        }
    }
}
