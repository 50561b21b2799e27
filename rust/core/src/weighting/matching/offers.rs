//! The items that somebody keeps, in the order in which they are offered slots.

use std::cmp::Reverse;

use dpsel_exact::Result;
use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::random::{Digest, code_of, order_ties, with_code};
use dpsel_rows::contributions::{ItemCode, Vocabulary};

use crate::weighting::order::Visits;

/// Items that somebody keeps, in the order of their turns, and how many users keep each.
#[derive(Debug)]
pub(super) struct Offers {
    /// The code of each item, by its turn.
    pub(super) codes: Vec<u32>,
    /// How many users keep the item of each code.
    pub(super) counts: Vec<u32>,
}

impl Offers {
    /// Items in descending order of their noisy levels, if the `ranking` has them, and then by their digests.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn of(visits: Visits<'_>, ranking: Option<Vec<i64>>) -> Result<Self> {
        let vocabulary = visits.contributions.vocabulary();
        let mut counts = vec![0; vocabulary.code_bound()];
        for user in 0..visits.contributions.users() {
            for &item in visits.contributions.kept_items(user) {
                counts[item as usize] += 1;
            }
        }
        visits.control.check()?;
        let mut words = held_words(&counts, vocabulary);
        words.sort_unstable();
        let digests = vocabulary.digests();
        order_ties(&mut words, |item| digests.get(ItemCode(item)).0);
        visits.control.check()?;
        if let Some(ranking) = ranking {
            by_rank(&mut words, &ranking);
        }
        let codes = words.iter().map(|word| code_of(*word)).collect();
        Ok(Self { codes, counts })
    }
}

/// Put items in descending order of their noisy levels. Items of one level stay in their order.
fn by_rank(words: &mut [u64], ranking: &[i64]) {
    let level = |word: u64| ranking[code_of(word) as usize];
    let first = words.iter().map(|word| level(*word)).max().unwrap_or_default(); // Otherwise: no items.
    for word in &mut *words {
        // Clipped: the last ones are put in order below.
        let behind: u32 = clipped(first.abs_diff(level(*word)));
        *word = u64::from(behind) << u32::BITS | u64::from(code_of(*word));
    }
    let behind = |word: &u64| word >> u32::BITS;
    words.sort_by_key(behind);
    let far = words.partition_point(|word| behind(word) < u32::MAX.into());
    words[far..].sort_by_key(|word| Reverse(level(*word)));
}

/// The digests of the items that somebody keeps, with their codes.
fn held_words(counts: &[u32], vocabulary: &Vocabulary) -> Vec<u64> {
    let held = counts.iter().filter(|count| **count > 0).count();
    let mut words = Vec::with_capacity(held);
    let mut digests = [Digest::default(); Vocabulary::STRIDE];
    let starts = (0..counts.len()).step_by(Vocabulary::STRIDE).zip((0_u32..).step_by(Vocabulary::STRIDE));
    for (counts, (first, start)) in counts.chunks(Vocabulary::STRIDE).zip(starts) {
        let block = &mut digests[..counts.len()];
        vocabulary.gather_digests(first, block);
        let held = counts.iter().zip(block.iter().zip(start..)).filter(|(count, _)| **count > 0);
        words.extend(held.map(|(_, (digest, item))| with_code(digest.0, item)));
    }
    words
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::{ReleaseKey, agree};
    use dpsel_rows::contributions::testing::contributions;
    use dpsel_rows::runtime::Control;

    use super::*;
    use crate::bounding::BoundedContributions;

    /// So many items that some digests agree in all bits that are sorted with the codes.
    #[test]
    fn items_come_in_the_order_of_whole_digests() {
        let (key, control) = (ReleaseKey::insecure_test([9; 32]), Control::default());
        let rows: Vec<(u64, u64)> = (0..400_000).map(|item| (item % 7, item)).collect();
        let bound = L0Bound::new(100_000).unwrap();
        let bounded = BoundedContributions::new(contributions(&rows, &key), bound, &key, &control).unwrap();
        let visits = Visits { contributions: &bounded, key: &key, control: &control };
        let Offers { codes, counts } = Offers::of(visits, None).unwrap();
        assert_eq!((codes.len(), counts.iter().sum::<u32>()), (400_000, 400_000));
        let digests = bounded.vocabulary().digests();
        let words: Vec<u128> = codes.iter().map(|code| digests.get(ItemCode(*code)).0).collect();
        assert!(words.is_sorted());
        let pairs = words.windows(2);
        let close = |pair: &&[u128]| agree(with_code(pair[0], 0), with_code(pair[1], 0));
        // Eighteen are expected, half of them with codes in the other order.
        assert!(pairs.filter(close).count() > 4);
    }
}
