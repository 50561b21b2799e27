//! Pruned users, whose candidates go by code, and the weights that they give.
//!
//! Packed users stand as columns, all of them little-endian `u32`: the numbers of users, candidates and ranks; for each user
//! the number of its items and of its candidates; the codes of candidates; and for each candidate of a user above the bound
//! its rank, the number of the user's items before it.

use std::ops::Range;

use dpsel_core::bounding::ItemSet;
use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::ItemCode;
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

use super::weights::Weights;

const DAMAGED: Error = Error::Internal("pruned users are damaged");

/// Pruned users, to be packed.
#[derive(Debug, Default)]
pub(crate) struct PrunedUsers {
    users: Vec<[U32; 2]>,
    candidates: Vec<U32>,
    ranks: Vec<U32>,
}

impl PrunedUsers {
    /// Add a user of so many items with its candidates; above the bound they have ranks. Users without candidates do not
    /// count.
    pub(super) fn add(&mut self, total: u32, kept: impl Iterator<Item = (u32, Option<u32>)>) {
        let before = self.candidates.len();
        for (candidate, rank) in kept {
            self.candidates.push(candidate.into());
            self.ranks.extend(rank.map(U32::new));
        }
        let kept = codes(self.candidates.len() - before);
        if kept > 0 {
            self.users.push([total.into(), kept.into()]);
        }
    }

    /// Number of candidates of all users.
    pub(crate) fn rows(&self) -> usize {
        self.candidates.len()
    }

    /// Append the packed users to a buffer, and start anew.
    pub(crate) fn take(&mut self, packed: &mut Vec<u8>) {
        let Self { users, candidates, ranks } = self;
        for len in [users.len(), candidates.len(), ranks.len()] {
            packed.extend(codes(len).to_le_bytes());
        }
        packed.extend_from_slice(users.as_slice().as_bytes());
        packed.extend_from_slice(candidates.as_slice().as_bytes());
        packed.extend_from_slice(ranks.as_slice().as_bytes());
        users.clear();
        candidates.clear();
        ranks.clear();
    }
}

/// The weights of a range of candidates.
#[derive(Debug)]
pub(crate) struct CandidateSums {
    /// Number of all candidates.
    candidates: usize,
    range: Range<usize>,
    pub(super) of_range: Vec<u64>,
}

impl CandidateSums {
    /// No weight yet, for a range of so many candidates.
    pub(crate) fn new(candidates: usize, range: Range<usize>) -> Self {
        Self { candidates, of_range: vec![0; range.len()], range }
    }

    #[inline]
    fn add(&mut self, candidate: U32, weight: u64) {
        // Otherwise: the candidate is in another range.
        if let Some(sum) = self.of_range.get_mut(place(candidate).wrapping_sub(self.range.start)) {
            *sum = sum.saturating_add(weight);
        }
    }

    /// Add all of them to the weights of all candidates.
    pub(crate) fn add_to(self, all: &mut [u64]) {
        all[self.range].iter_mut().zip(self.of_range).for_each(|(sum, own)| *sum = sum.saturating_add(own));
    }
}

#[inline]
fn place(candidate: U32) -> usize {
    candidate.get() as usize
}

/// Packed users.
#[derive(Debug)]
pub(crate) struct PackedPruned<'a> {
    users: &'a [[U32; 2]],
    candidates: &'a [U32],
    ranks: &'a [U32],
}

impl<'a> PackedPruned<'a> {
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    pub(crate) fn of(packed: &'a [u8]) -> Result<Self> {
        let ([users, candidates, ranks], rest) = <[U32; 3]>::ref_from_prefix(packed).map_err(|_| DAMAGED)?;
        let of = |len: &U32| index(len.get().into());
        let (users, rest) = <[[U32; 2]]>::ref_from_prefix_with_elems(rest, of(users)).map_err(|_| DAMAGED)?;
        let (candidates, rest) =
            <[U32]>::ref_from_prefix_with_elems(rest, of(candidates)).map_err(|_| DAMAGED)?;
        let ranks = <[U32]>::ref_from_bytes_with_elems(rest, of(ranks)).map_err(|_| DAMAGED)?;
        Ok(Self { users, candidates, ranks })
    }

    /// Add what the users give to the candidates of a range, without those that earlier rounds released.
    ///
    /// # Errors
    /// [`Error::Internal`] for users that do not fit together.
    pub(crate) fn weigh(
        &self,
        bound: u32,
        weights: &mut Weights,
        removed: &ItemSet,
        sums: &mut CandidateSums,
    ) -> Result<()> {
        let is_removed = |candidate: &U32| removed.contains(ItemCode(candidate.get()));
        let (mut candidates, mut ranks) = (self.candidates, self.ranks);
        for [total, kept] in self.users {
            let (own, rest) = candidates.split_at_checked(index(kept.get().into())).ok_or(DAMAGED)?;
            candidates = rest;
            if own.iter().any(|candidate| place(*candidate) >= sums.candidates) {
                return Err(DAMAGED);
            }
            let gone = codes(own.iter().filter(|candidate| is_removed(candidate)).count());
            let left = total.get().checked_sub(gone).ok_or(DAMAGED)?;
            let weight = weights.of(left.min(bound).into());
            let mut give = |candidate: &U32| sums.add(*candidate, weight);
            if total.get() <= bound {
                own.iter().filter(|candidate| !is_removed(candidate)).for_each(&mut give);
                continue;
            }
            let (own_ranks, rest) = ranks.split_at_checked(own.len()).ok_or(DAMAGED)?;
            ranks = rest;
            let mut gone_before = 0;
            for (candidate, rank) in own.iter().zip(own_ranks) {
                if is_removed(candidate) {
                    gone_before += 1;
                } else if rank.get().checked_sub(gone_before).ok_or(DAMAGED)? < bound {
                    give(candidate);
                }
            }
        }
        if candidates.is_empty() && ranks.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }
}

#[cfg(test)]
mod tests {
    use dpsel_core::rounds::{Round, Rule};
    use dpsel_core::threshold::Noisy;
    use dpsel_core::weighting::Weighting;
    use dpsel_exact::noise::{Noise, Threshold};
    use proptest::prelude::*;

    use super::*;

    /// What the users of a block give within a bound of two, if this item was released before.
    fn given(packed: &[u8], released: usize) -> Result<Vec<u64>> {
        let rule = Noisy { noise: Noise::Gaussian { sigma: 1.0 }, threshold: Threshold::from_steps(0) };
        let round = Round { weighting: Weighting::Count, rule: Rule::Noisy(rule) };
        let (mut removed, mut sums) = (ItemSet::default(), vec![0; 4]);
        removed.insert(ItemCode::from_index(released));
        for range in [0..1, 1..4] {
            let mut of_range = CandidateSums::new(4, range);
            PackedPruned::of(packed)?.weigh(2, &mut Weights::new(&round), &removed, &mut of_range)?;
            of_range.add_to(&mut sums);
        }
        let unit = Weights::new(&round).of(1);
        Ok(sums.into_iter().map(|sum| sum / unit).collect())
    }

    #[test]
    fn items_move_up_when_others_are_released_and_half_of_a_block_is_an_error() {
        let (mut block, mut packed) = (PrunedUsers::default(), Vec::new());
        block.add(2, [(0, None), (1, None)].into_iter());
        block.add(1, std::iter::empty());
        block.add(5, [(1, Some(0)), (2, Some(1)), (3, Some(2))].into_iter());
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

    proptest! {
        #[test]
        fn damaged_users_are_refused(
            lens in prop::collection::vec(0_u32..4, 3), body in prop::collection::vec(0_u32..6, 0..20),
        ) {
            let packed: Vec<u8> = lens.into_iter().chain(body).flat_map(u32::to_le_bytes).collect();
            let _ = given(&packed, 0);
        }
    }
}
