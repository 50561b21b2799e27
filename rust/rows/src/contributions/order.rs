//! The order of a user's items, for a weighting that fills them one by one.
//!
//! The order of a user depends on that user's rows, the public table and the release key alone. Ties are broken by
//! digest.

use std::cmp::Reverse;
use std::collections::HashMap;

use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use serde::{Deserialize, Serialize};

use super::distinct::SeenItems;
use super::pieces::change_items;
use super::user_items::Contributions;
use super::vocabulary::{Digests, Vocabulary};
use crate::ingest::ItemCode;

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
pub enum RowOrder<R = RanksByDigest> {
    /// Each distinct item once, in any order.
    #[default]
    Any,
    /// Each distinct item once, in this order.
    Items(ItemOrder<R>),
    /// Every row, but of each item at most so many, because rows are counted later. Rows of one item stand side by side.
    Rows(u32),
}

impl RowOrder {
    /// What is done with the rows if up to `most` of each item are counted before they are put in this order.
    #[must_use]
    pub fn with_rows(&self, most: u32) -> Self {
        match self {
            Self::Any | Self::Items(ItemOrder::Prior(_)) => Self::Rows(most),
            Self::Items(ItemOrder::Counts) => Self::Rows(u32::MAX),
            Self::Rows(others) => Self::Rows(most.max(*others)),
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
            RowOrder::Rows(most) => RowOrder::Rows(*most),
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
            RowOrder::Rows(most) => every_row(items, *most),
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

/// Moves rows of one item side by side, at most so many of each; returns the number of rows.
fn every_row(items: &mut [u32], most: u32) -> u32 {
    items.sort_unstable();
    let (mut kept, mut same, mut last) = (0, 0, None);
    for read in 0..items.len() {
        let item = items[read];
        same = if last == Some(item) { same + 1 } else { 1 };
        last = Some(item);
        if same <= u64::from(most) {
            items[kept] = item;
            kept += 1;
        }
    }
    codes(kept)
}

impl Contributions {
    /// Put rows that were counted into an order: each item of a user once.
    pub fn put_in_order(&mut self, order: &RowOrder) {
        let Self { starts, lens, pieces, vocabulary, .. } = self;
        let (sorter, mut seen) = (ItemSorter::new(order, vocabulary), SeenItems::default());
        change_items(pieces, starts, lens, |items| sorter.sort(items, &mut seen));
        self.in_order = matches!(order, RowOrder::Items(_));
    }
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
    use dpsel_exact::random::ReleaseKey;

    use super::super::testing::{grouped, item_digest, ordered};
    use super::*;

    fn key() -> ReleaseKey {
        ReleaseKey::insecure_test([4; 32])
    }

    /// The items of user 1 in their order.
    fn items_of(rows: &[(u64, u64)], order: &ItemOrder<RanksByDigest>) -> Vec<Digest> {
        let contributions = ordered(rows, &key(), Some(order));
        let digests = contributions.vocabulary.digests();
        contributions.items_of(0).iter().map(|item| digests.get(ItemCode(*item))).collect()
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
    fn rows_are_kept_up_to_their_limit_and_are_put_in_order_as_if_they_had_never_been() {
        let rows: Vec<_> = [7, 5, 7, 9, 5, 7, 3].map(|item| (1, item)).to_vec();
        let ranked = || ItemOrder::Prior(digests(&[9, 3]).into_iter().zip([4, 2]).collect());
        for order in [RowOrder::Any, RowOrder::Items(ItemOrder::Counts), RowOrder::Items(ranked())] {
            for (most, left) in [(1, 4), (2, 6), (u32::MAX, 7)] {
                let mut every = grouped(&rows, &key(), &order.with_rows(most));
                let all = matches!(order, RowOrder::Items(ItemOrder::Counts));
                assert_eq!(every.lens, [if all { 7 } else { left }]);
                every.put_in_order(&order);
                let ordered = grouped(&rows, &key(), &order);
                assert_eq!((every.in_order, every.lens.clone()), (ordered.in_order, ordered.lens.clone()));
                let held = |made: &Contributions| made.items_of(0).to_vec();
                let (mut found, mut expected) = (held(&every), held(&ordered));
                if order == RowOrder::Any {
                    found.sort_unstable();
                    expected.sort_unstable();
                }
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn parts_of_rows_up_to_a_limit_have_as_many_rows_together() {
        let (first, second) = ([4, 4, 4, 2], [4, 2, 2, 9]);
        for most in 1..6 {
            let kept = |rows: &[u32]| {
                let mut rows = rows.to_vec();
                let len = every_row(&mut rows, most) as usize;
                rows.truncate(len);
                rows
            };
            let parts = [kept(&first), kept(&second)].concat();
            assert_eq!(kept(&parts), kept(&[first, second].concat()));
        }
        assert_eq!(RowOrder::<()>::Rows(3), RowOrder::Rows(3));
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
