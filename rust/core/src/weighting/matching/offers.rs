//! The items that somebody keeps, in the order in which they are offered slots.

use std::cmp::Reverse;

use crate::Result;
use crate::contributions::{ItemCode, Vocabulary};
use crate::random::{Digest, code_of, order_ties, with_code};
use crate::weighting::order::Visits;

/// Items that somebody keeps, in the order of their turns, and how many users keep each.
#[derive(Debug)]
pub(super) struct Offers {
    /// The code of each item.
    items: Vec<u32>,
    /// The number of users who keep the item of each code.
    holders: Vec<u32>,
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
        let mut items: Vec<u32> = words.iter().map(|word| code_of(*word)).collect();
        drop(words);
        if let Some(ranking) = ranking {
            // The sort is stable: items of one place stay in the order of their digests.
            items.sort_by_key(|item| Reverse(ranking[*item as usize]));
        }
        visits.control.check()?;
        Ok(Self { items, holders })
    }

    /// The code of each item.
    pub(super) fn items(&self) -> &[u32] {
        &self.items
    }

    /// The number of users who keep each item.
    pub(super) fn holders(&self) -> impl Iterator<Item = u32> + '_ {
        self.items.iter().map(|item| self.holders[*item as usize])
    }

    /// The turn of each code that somebody keeps, and the code of each turn.
    pub(super) fn into_turns(self) -> (Vec<u32>, Vec<u32>) {
        let Self { items, holders: mut turns } = self;
        for (turn, item) in (0..).zip(&items) {
            turns[*item as usize] = turn;
        }
        (turns, items)
    }
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
