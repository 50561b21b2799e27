//! The order of a user's items, for a weighting that fills them one by one.
//!
//! The order of a user depends on that user's rows, the public table and the release key alone. Ties are broken by
//! digest.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::distinct::SeenItems;
use super::vocabulary::{Digests, Vocabulary};
use crate::ingest::ItemCode;
use crate::numeric::widths::codes;
use crate::random::Digest;

/// In which order a user fills its items.
///
/// `R` holds the ranks of a public table. A request has none of them yet, so `R` is `()`. Reading takes the table
/// itself, and grouping a rank for each digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOrder<R = ()> {
    /// By the user's number of rows of the item, the most first.
    #[default]
    Counts,
    /// By the rank of the item in a public table, the smallest first. Items that are not in the table come last.
    Prior(#[serde(skip)] R),
}

/// What becomes of the rows of a user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum RowOrder<R = RanksByDigest> {
    /// Each distinct item once, in any order.
    #[default]
    Any,
    /// Each distinct item once, in this order.
    Items(ItemOrder<R>),
    /// Every row, because the order by numbers of rows is made later.
    EveryRow,
}

impl RowOrder {
    /// What is done with a part of the rows, so that all parts together can be put in this order.
    pub(crate) fn of_parts(&self) -> Self {
        match self {
            Self::Any | Self::Items(ItemOrder::Prior(_)) => Self::Any,
            Self::Items(ItemOrder::Counts) | Self::EveryRow => Self::EveryRow,
        }
    }
}

/// The rank of each digest in a public table.
pub(crate) type RanksByDigest = HashMap<Digest, u32>;

/// Sorts the items of one user after another.
#[derive(Debug)]
pub(super) struct ItemSorter<'a> {
    order: RowOrder<Vec<u32>>,
    digests: Digests<'a>,
}

impl<'a> ItemSorter<'a> {
    pub(super) fn new(order: &RowOrder, vocabulary: &'a Vocabulary) -> Self {
        let order = match order {
            RowOrder::Any => RowOrder::Any,
            RowOrder::EveryRow => RowOrder::EveryRow,
            RowOrder::Items(ItemOrder::Counts) => RowOrder::Items(ItemOrder::Counts),
            RowOrder::Items(ItemOrder::Prior(ranked)) => {
                RowOrder::Items(ItemOrder::Prior(ranks(ranked, vocabulary)))
            }
        };
        Self { order, digests: vocabulary.digests() }
    }

    /// Move each distinct item of one user to the front once, in order; returns their number. Where every row is kept,
    /// rows of one item come to stand side by side.
    pub(super) fn sort(&self, items: &mut [u32], seen: &mut SeenItems) -> u32 {
        match &self.order {
            RowOrder::Any => seen.keep_first(items),
            RowOrder::EveryRow => every_row(items),
            RowOrder::Items(ItemOrder::Counts) => by_count(items, &self.digests),
            RowOrder::Items(ItemOrder::Prior(ranks)) => {
                let kept = seen.keep_first(items);
                let rank = |item: u32| ranks[item as usize];
                items[..kept as usize]
                    .sort_unstable_by_key(|item| (rank(*item), self.digests.get(ItemCode(*item))));
                kept
            }
        }
    }
}

/// Moves rows of one item side by side; returns the number of rows.
fn every_row(items: &mut [u32]) -> u32 {
    items.sort_unstable();
    codes(items.len())
}

/// Moves each distinct item to the front once, the items with the most rows first; returns their number.
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
fn ranks(ranked: &RanksByDigest, vocabulary: &Vocabulary) -> Vec<u32> {
    let mut digests = vec![Digest::default(); vocabulary.code_bound()];
    vocabulary.gather_digests(0, &mut digests);
    // Otherwise: the public table does not have the item, so it comes last.
    digests.iter().map(|digest| ranked.get(digest).copied().unwrap_or(u32::MAX)).collect()
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
    fn items_of(rows: &[(u64, u64)], order: &ItemOrder<RanksByDigest>) -> Vec<Digest> {
        let contributions = ordered(rows, &key(), Some(order));
        let digests = contributions.vocabulary.digests();
        let items =
            &contributions.items.as_slice()[contributions.starts[0]..][..contributions.lens[0] as usize];
        items.iter().map(|item| digests.get(ItemCode(*item))).collect()
    }

    fn digests(items: &[u64]) -> Vec<Digest> {
        items.iter().map(|item| item_digest(*item, &key())).collect()
    }

    #[test]
    fn requests_name_the_order_in_one_word() {
        for (order, word) in [(ItemOrder::Counts, "\"counts\""), (ItemOrder::Prior(()), "\"prior\"")] {
            assert_eq!(serde_json::to_string(&order).unwrap(), word);
            assert_eq!(serde_json::from_str::<ItemOrder>(word).unwrap(), order);
        }
        assert!(serde_json::from_str::<ItemOrder>("\"any\"").is_err());
    }

    #[test]
    fn items_of_more_rows_come_first() {
        let rows: Vec<_> = [7, 5, 7, 9, 5, 7, 3].map(|item| (1, item)).to_vec();
        let mut tied = digests(&[9, 3]);
        tied.sort_unstable();
        let expected = [digests(&[7, 5]), tied].concat();
        assert_eq!(items_of(&rows, &ItemOrder::Counts), expected);
        let turned: Vec<_> = rows.iter().rev().copied().collect();
        assert_eq!(items_of(&turned, &ItemOrder::Counts), expected);
    }

    #[test]
    fn ranked_items_come_first_in_order_of_rank() {
        let ranked = digests(&[9, 3, 100]).into_iter().zip([4, 2, 1]).collect();
        let rows = [7, 5, 7, 9, 5, 7, 3].map(|item| (1, item));
        let mut unranked = digests(&[7, 5]);
        unranked.sort_unstable();
        assert_eq!(items_of(&rows, &ItemOrder::Prior(ranked)), [digests(&[3, 9]), unranked].concat());
    }
}
