//! Pruned users on the disk, whose candidates go by codes.

use std::ops::Range;

use zerocopy::native_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use crate::accounting::L0Bound;
use crate::bounding::ItemSet;
use crate::contributions::ItemCode;
use crate::exchange::Weights;
use crate::numeric::widths::{codes, index};
use crate::random::Digest;
use crate::runtime::memory::Growing;
use crate::scratch::Stored;
use crate::{Error, Result};

const DAMAGED: Error = Error::Internal("pruned users in scratch are damaged");

/// Pruned users as columns. On the disk they stand one after the other, after their lengths.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The number of items of each user, and of its candidates.
    users: Vec<[u32; 2]>,
    /// The codes of candidates.
    items: Vec<u32>,
    /// For each candidate of a user above the bound, the number of the user's items before it.
    ranks: Vec<u32>,
}

impl Block {
    /// Add a user of so many items within the bound, with its candidates.
    pub(super) fn add(&mut self, total: u32, kept: impl Iterator<Item = u32>) {
        let before = self.items.len();
        self.items.extend(kept);
        self.end_user(total, before);
    }

    /// Add a user above the bound, whose candidates have ranks.
    pub(super) fn add_ranked(&mut self, total: u32, kept: impl Iterator<Item = (u32, u32)>) {
        let before = self.items.len();
        for (item, rank) in kept {
            self.items.push(item);
            self.ranks.push(rank);
        }
        self.end_user(total, before);
    }

    /// Users without candidates do not count.
    fn end_user(&mut self, total: u32, before: usize) {
        let kept = codes(self.items.len() - before);
        if kept > 0 {
            self.users.push([total, kept]);
        }
    }

    /// Number of candidates of all users.
    pub(super) fn rows(&self) -> usize {
        self.items.len()
    }

    /// Write the users to a buffer, and start anew.
    pub(super) fn take(&mut self, packed: &mut Vec<u8>) {
        packed.clear();
        for len in [self.users.len(), self.items.len(), self.ranks.len()] {
            packed.extend(codes(len).to_ne_bytes());
        }
        packed.extend_from_slice(self.users.as_slice().as_bytes());
        packed.extend_from_slice(self.items.as_slice().as_bytes());
        packed.extend_from_slice(self.ranks.as_slice().as_bytes());
        self.users.clear();
        self.items.clear();
        self.ranks.clear();
    }
}

/// The weights of some candidates, on one thread.
#[derive(Debug)]
pub(super) struct Sums {
    /// Number of all candidates.
    items: usize,
    range: Range<usize>,
    of_range: Vec<u64>,
}

impl Sums {
    /// No weight yet, for a range of so many candidates.
    pub(super) fn new(items: usize, range: Range<usize>) -> Self {
        Self { items, of_range: vec![0; range.len()], range }
    }

    #[inline]
    fn add(&mut self, item: u32, weight: u64) {
        // Otherwise: the item is in another range.
        if let Some(sum) = self.of_range.get_mut((item as usize).wrapping_sub(self.range.start)) {
            *sum = sum.saturating_add(weight);
        }
    }

    /// Add all of them to the weights of all candidates.
    pub(super) fn add_to(self, all: &mut [u64]) {
        all[self.range].iter_mut().zip(self.of_range).for_each(|(sum, own)| *sum = sum.saturating_add(own));
    }
}

/// A packed block.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    users: &'a [[U32; 2]],
    items: &'a [U32],
    ranks: &'a [U32],
}

impl<'a> Columns<'a> {
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub(super) fn of(packed: &'a [u8]) -> Result<Self> {
        let ([users, items, ranks], rest) = <[U32; 3]>::ref_from_prefix(packed).map_err(|_| DAMAGED)?;
        let of = |len: U32| index(len.get().into());
        let (users, rest) =
            <[[U32; 2]]>::ref_from_prefix_with_elems(rest, of(*users)).map_err(|_| DAMAGED)?;
        let (items, rest) = <[U32]>::ref_from_prefix_with_elems(rest, of(*items)).map_err(|_| DAMAGED)?;
        let ranks = <[U32]>::ref_from_bytes_with_elems(rest, of(*ranks)).map_err(|_| DAMAGED)?;
        Ok(Self { users, items, ranks })
    }

    /// Add what the users give to the candidates of a range, without those that earlier rounds released.
    ///
    /// # Errors
    /// [`Error::Internal`] for users that do not fit together.
    pub(super) fn weigh(
        &self,
        bound: u32,
        weights: &mut Weights,
        removed: &ItemSet,
        sums: &mut Sums,
    ) -> Result<()> {
        let is_removed = |item: &U32| removed.contains(ItemCode(item.get()));
        let (mut items, mut ranks) = (self.items, self.ranks);
        for [total, kept] in self.users {
            let (own, rest) = items.split_at_checked(index(kept.get().into())).ok_or(DAMAGED)?;
            items = rest;
            if own.iter().any(|item| item.get() as usize >= sums.items) {
                return Err(DAMAGED);
            }
            let gone = codes(own.iter().filter(|item| is_removed(item)).count());
            let left = total.get().checked_sub(gone).ok_or(DAMAGED)?;
            let weight = weights.of(left.min(bound).into());
            let mut give = |item: &U32| sums.add(item.get(), weight);
            if total.get() <= bound {
                own.iter().filter(|item| !is_removed(item)).for_each(&mut give);
                continue;
            }
            let (own_ranks, rest) = ranks.split_at_checked(own.len()).ok_or(DAMAGED)?;
            ranks = rest;
            let mut gone_before = 0;
            for (item, rank) in own.iter().zip(own_ranks) {
                if is_removed(item) {
                    gone_before += 1;
                } else if rank.get().checked_sub(gone_before).ok_or(DAMAGED)? < bound {
                    give(item);
                }
            }
        }
        if items.is_empty() && ranks.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }
}

/// Pruned users in scratch, and the candidates by code.
pub(super) struct Pruned {
    pub(super) blocks: Stored,
    pub(super) items: Growing<u128>,
    pub(super) bound: L0Bound,
}

impl Pruned {
    /// The candidate with a code.
    pub(super) fn item(&self, code: usize) -> Digest {
        Digest(self.items.as_slice()[code])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, Threshold};
    use crate::rounds::{Round, Rule};
    use crate::threshold::Noisy;
    use crate::weighting::Weighting;

    /// What the users of a block give within a bound of two, if this item was released before.
    fn given(packed: &[u8], released: usize) -> Result<Vec<u64>> {
        let rule = Noisy { noise: Noise::Gaussian { sigma: 1.0 }, threshold: Threshold::from_steps(0) };
        let round = Round { weighting: Weighting::Count, rule: Rule::Noisy(rule) };
        let (mut removed, mut sums) = (ItemSet::new(), vec![0; 4]);
        removed.insert(ItemCode::from_index(released));
        for range in [0..1, 1..4] {
            let mut of_range = Sums::new(4, range);
            Columns::of(packed)?.weigh(2, &mut Weights::new(&round), &removed, &mut of_range)?;
            of_range.add_to(&mut sums);
        }
        let unit = Weights::new(&round).of(1);
        Ok(sums.into_iter().map(|sum| sum / unit).collect())
    }

    #[test]
    fn items_move_up_when_others_are_released_and_half_of_a_block_is_an_error() {
        let (mut block, mut packed) = (Block::default(), Vec::new());
        block.add(2, [0, 1].into_iter());
        block.add(1, std::iter::empty());
        block.add_ranked(5, [(1, 0), (2, 1), (3, 2)].into_iter());
        assert_eq!(block.rows(), 5);
        block.take(&mut packed);
        assert_eq!(block.rows(), 0);
        assert_eq!(given(&packed, 0).unwrap(), [0, 2, 1, 0]);
        assert_eq!(given(&packed, 1).unwrap(), [1, 0, 1, 1]);
        assert_eq!(given(&packed, 3).unwrap(), [1, 2, 1, 0]);
        for len in 0..packed.len() {
            assert!(given(&packed[..len], 0).is_err());
        }
    }
}
