//! The items that somebody keeps, in the order in which they are offered slots.

use std::cmp::Reverse;

use crate::Result;
use crate::contributions::{ItemCode, Vocabulary};
use crate::numeric::widths::clipped;
use crate::random::{Digest, code_of, order_ties, with_code};
use crate::weighting::order::Visits;

/// Items that somebody keeps, in the order of their turns, and how many users keep each.
#[derive(Debug)]
pub(super) struct Offers {
    /// The code of each item.
    pub(super) items: Vec<u32>,
    /// The number of users who keep the item of each code.
    pub(super) holders: Vec<u32>,
}

impl Offers {
    /// Items in descending order of their places in the `ranking`, if there is one, and then by their digests.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn of(visits: Visits<'_>, ranking: Option<Vec<i64>>) -> Result<Self> {
        let vocabulary = visits.contributions.vocabulary();
        let mut holders = vec![0; vocabulary.code_bound()];
        for user in 0..visits.contributions.users() {
            for &item in visits.contributions.kept_items(user) {
                holders[item as usize] += 1;
            }
        }
        visits.control.check()?;
        let mut words = held_words(&holders, vocabulary);
        words.sort_unstable();
        let digests = vocabulary.digests();
        order_ties(&mut words, |item| digests.get(ItemCode(item)).0);
        visits.control.check()?;
        if let Some(ranking) = ranking {
            by_rank(&mut words, &ranking);
        }
        let items = words.iter().map(|word| code_of(*word)).collect();
        Ok(Self { items, holders })
    }
}

/// Put items in descending order of their places in the ranking. Items of one place stay in their order.
fn by_rank(words: &mut [u64], ranking: &[i64]) {
    let place = |word: u64| ranking[code_of(word) as usize];
    let first = words.iter().map(|word| place(*word)).max().unwrap_or_default(); // Otherwise: no items.
    for word in &mut *words {
        // Clipped: the last ones are put in order below.
        let behind: u32 = clipped(first.abs_diff(place(*word)));
        *word = u64::from(behind) << u32::BITS | u64::from(code_of(*word));
    }
    let behind = |word: &u64| word >> u32::BITS;
    words.sort_by_key(behind);
    let far = words.partition_point(|word| behind(word) < u32::MAX.into());
    words[far..].sort_by_key(|word| Reverse(place(*word)));
}

/// The digests of the items that somebody keeps, with their codes.
fn held_words(holders: &[u32], vocabulary: &Vocabulary) -> Vec<u64> {
    let held = holders.iter().filter(|holders| **holders > 0).count();
    let mut words = Vec::with_capacity(held);
    let mut digests = [Digest::default(); Vocabulary::STRIDE];
    let starts = (0..holders.len()).step_by(Vocabulary::STRIDE).zip((0_u32..).step_by(Vocabulary::STRIDE));
    for (holders, (first, start)) in holders.chunks(Vocabulary::STRIDE).zip(starts) {
        let block = &mut digests[..holders.len()];
        vocabulary.gather_digests(first, block);
        let held = holders.iter().zip(block.iter().zip(start..)).filter(|(holders, _)| **holders > 0);
        words.extend(held.map(|(_, (digest, item))| with_code(digest.0, item)));
    }
    words
}
