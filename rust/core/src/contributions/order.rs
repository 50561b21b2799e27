//! In which order a user's items stand, where a weighting asks for one: by the user's own counts or by a public table.
//!
//! The order of a user is a function of that user's rows, the public table and the release key. Equal items go by digest.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::grouping::SeenItems;
use super::{Digests, ItemCode, Vocabulary};
use crate::random::Digest;

/// What decides in which order each user's items stand.
#[derive(Debug)]
pub enum ItemOrder {
    /// Nothing: any order will do.
    Any,
    /// How many rows the user has of the item, the most first.
    OwnCounts,
    /// The rank of the item's digest, the smallest first. Items without a rank come last.
    Ranks(HashMap<Digest, u32>),
}

/// Puts the items of one user after the other in order.
#[derive(Debug)]
pub(super) enum Arrangement<'a> {
    Any,
    OwnCounts {
        digests: Digests<'a>,
    },
    /// One rank for each code.
    Ranks {
        ranks: Vec<u32>,
        digests: Digests<'a>,
    },
}

impl<'a> Arrangement<'a> {
    pub(super) fn new(order: &ItemOrder, vocabulary: &'a Vocabulary) -> Self {
        let digests = vocabulary.digests();
        match order {
            ItemOrder::Any => Self::Any,
            ItemOrder::OwnCounts => Self::OwnCounts { digests },
            ItemOrder::Ranks(known) => Self::Ranks { ranks: ranks(known, vocabulary), digests },
        }
    }

    /// Whether the order of a user's items means something.
    pub(super) fn is_preference(&self) -> bool {
        !matches!(self, Self::Any)
    }

    /// Move each item of one user to the front once, in order; returns how many there are.
    pub(super) fn arrange(&self, items: &mut [u32], seen: &mut SeenItems) -> u32 {
        match self {
            Self::Any => seen.keep_first(items),
            Self::OwnCounts { digests } => by_count(items, digests),
            Self::Ranks { ranks, digests } => {
                let kept = seen.keep_first(items);
                let rank = |item: u32| ranks[item as usize];
                items[..kept as usize]
                    .sort_unstable_by_key(|item| (rank(*item), digests.get(ItemCode(*item))));
                kept
            }
        }
    }
}

/// Each distinct item once, those with the most rows first.
fn by_count(items: &mut [u32], digests: &Digests<'_>) -> u32 {
    items.sort_unstable();
    let mut counted: Vec<_> = items
        .chunk_by(|a, b| a == b)
        .map(|rows| (Reverse(rows.len()), digests.get(ItemCode(rows[0])), rows[0]))
        .collect();
    counted.sort_unstable();
    let mut kept = 0;
    for (slot, (.., item)) in items.iter_mut().zip(counted) {
        *slot = item;
        kept += 1;
    }
    kept
}

/// The rank of every code.
fn ranks(known: &HashMap<Digest, u32>, vocabulary: &Vocabulary) -> Vec<u32> {
    let mut digests = vec![Digest::default(); vocabulary.code_bound()];
    vocabulary.gather_digests(0, &mut digests);
    // Otherwise: the public table does not have the item, so that it comes last.
    digests.iter().map(|digest| known.get(digest).copied().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{item_digest, ordered};
    use super::*;
    use crate::random::ReleaseKey;

    fn key() -> ReleaseKey {
        ReleaseKey::insecure_test([4; 32])
    }

    /// The items of user 1 in their order.
    fn items_of(rows: &[(u64, u64)], order: &ItemOrder) -> Vec<Digest> {
        let contributions = ordered(rows, &key(), order);
        let digests = contributions.vocabulary.digests();
        let items =
            &contributions.items.as_slice()[contributions.starts[0]..][..contributions.lens[0] as usize];
        items.iter().map(|item| digests.get(ItemCode(*item))).collect()
    }

    fn digests(items: &[u64]) -> Vec<Digest> {
        items.iter().map(|item| item_digest(*item, &key())).collect()
    }

    #[test]
    fn items_of_more_rows_come_first() {
        let rows: Vec<_> = [7, 5, 7, 9, 5, 7, 3].map(|item| (1, item)).to_vec();
        let mut tied = digests(&[9, 3]);
        tied.sort_unstable();
        let expected = [digests(&[7, 5]), tied].concat();
        assert_eq!(items_of(&rows, &ItemOrder::OwnCounts), expected);
        let turned: Vec<_> = rows.iter().rev().copied().collect();
        assert_eq!(items_of(&turned, &ItemOrder::OwnCounts), expected);
    }

    #[test]
    fn ranked_items_come_first_in_order_of_rank() {
        let known = digests(&[9, 3, 100]).into_iter().zip([4, 2, 1]).collect();
        let rows = [7, 5, 7, 9, 5, 7, 3].map(|item| (1, item));
        let mut unknown = digests(&[7, 5]);
        unknown.sort_unstable();
        assert_eq!(items_of(&rows, &ItemOrder::Ranks(known)), [digests(&[3, 9]), unknown].concat());
    }
}
