//! The accounts of users: a norm for life, ranks of pairs, and what each pair got in the block.

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

use super::plan::SeriesPlan;
use super::steering::allowance;
use crate::weighting::{scale, weight_at};

/// One user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) digest: Digest,
    /// What is left of the square of the norm.
    pub(super) left: u64,
    /// The release with which its first row came, from 1.
    pub(super) first: u32,
    /// The number of pairs that ever got a rank.
    pub(super) ranked: u32,
    /// Pairs with a rank, in this order. Those on items that were out before the block are left out.
    pub(super) pairs: Vec<Pair>,
    /// Items of pairs without a rank, in the order in which they get one.
    pub(super) queue: Vec<u32>,
}

/// A pair with a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// The place of the item.
    pub(super) item: u32,
    /// The place of the caps of its rank.
    pub(super) place: u8,
    /// What it got in the block.
    pub(super) given: u64,
}

/// The error where weights exceed what they are made of.
const EXCEEDED: Error = Error::Internal("a user of a series gave more than it had");

impl Account {
    /// A user whose first rows come with a release.
    pub(super) fn new(digest: Digest, plan: &SeriesPlan, release: u32) -> Self {
        Self { digest, left: plan.norm, first: release, ranked: 0, pairs: Vec::new(), queue: Vec::new() }
    }

    /// The items of its pairs, with and without a rank.
    pub(super) fn items(&self) -> impl Iterator<Item = u32> {
        self.pairs.iter().map(|pair| pair.item).chain(self.queue.iter().copied())
    }

    /// Whether no further pair of the user will ever get a rank.
    pub(super) fn is_full(&self, plan: &SeriesPlan) -> bool {
        self.ranked >= plan.asked.max_items_per_user.get()
    }

    /// Begin a block, with the items that were out before it: their pairs will never get weight again.
    pub(super) fn begin_block(&mut self, was_out: impl Fn(u32) -> bool) {
        self.pairs.retain(|pair| !was_out(pair.item));
        self.queue.retain(|item| !was_out(*item));
        self.pairs.iter_mut().for_each(|pair| pair.given = 0);
    }

    /// Give the next ranks to the pairs of the queue, but none for items that were out before the block.
    pub(super) fn rank(&mut self, plan: &SeriesPlan, was_out: impl Fn(u32) -> bool) {
        for item in std::mem::take(&mut self.queue) {
            if !was_out(item) && !self.is_full(plan) {
                self.ranked += 1;
                self.pairs.push(Pair { item, place: plan.place(self.ranked), given: 0 });
            }
        }
    }

    /// The norm of the weights of each round of a release.
    pub(super) fn round_norm(&self, plan: &SeriesPlan, release: u32) -> u64 {
        allowance(plan, self.left, self.first, release).isqrt() / u64::from(plan.rounds)
    }

    /// The weights of a round, and what they cost.
    ///
    /// # Contract
    /// The squares of the weights add up to at most that of `norm`, and as many times as there are rounds they are
    /// taken off what is left. No pair has got more than its cap.
    ///
    /// # Errors
    /// [`Error::Internal`] never: the norm of a round is at most what is left for all rounds, over their number.
    pub(super) fn give(
        &mut self,
        (rounds, norm): (u32, u64),
        importances: &[u16],
        caps: &[u64],
        mut weigh: impl FnMut(u32, u64),
    ) -> Result<()> {
        let importance = |pair: &Pair| u64::from(importances[pair.item as usize]);
        let squares = self.pairs.iter().map(importance).map(|importance| importance * importance).sum();
        if squares == 0 || norm == 0 {
            return Ok(());
        }
        let scale = scale(squares, norm);
        let mut spent = 0_u64;
        for pair in &mut self.pairs {
            let room = caps[usize::from(pair.place)].saturating_sub(pair.given);
            let weight = weight_at(importance(pair), scale).min(room);
            if weight > 0 {
                pair.given += weight;
                spent = spent.checked_add(weight * weight).ok_or(EXCEEDED)?;
                weigh(pair.item, weight);
            }
        }
        let cost = spent.checked_mul(rounds.into()).ok_or(EXCEEDED)?;
        self.left = self.left.checked_sub(cost).ok_or(EXCEEDED)?;
        Ok(())
    }
}
