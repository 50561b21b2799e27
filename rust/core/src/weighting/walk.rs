//! Users one after the other, for an engine that holds the weights of some items only.
//!
//! The steps of a user are those of the weightings. Which items have a place here, and for how long, is up to the
//! engine: an item that one user alone holds needs one while that user is visited.

use super::kind::Weighting;
use super::policy_l1::Slot;
use super::{Greedy, policy_l1, policy_l2};
use crate::Result;
use crate::random::Digest;

/// Items with places and weights, to which users give one after the other.
#[derive(Debug)]
pub(crate) struct Walk {
    steps: Steps,
    digests: Vec<Digest>,
    quantum: u64,
    passes: u32,
}

#[derive(Debug)]
enum Steps {
    L1(policy_l1::Descent),
    L2(policy_l2::Descent),
    Greedy(Greedy, Vec<u64>),
}

impl Walk {
    /// The walk of a weighting whose users come one after the other; `None` for others.
    ///
    /// # Errors
    /// [`crate::Error::Internal`] for a cutoff that no calibration gives.
    pub(crate) fn new(weighting: Weighting, quantum: u64, bound: u32) -> Result<Option<Self>> {
        let quantum = quantum.max(1);
        let (steps, passes) = match weighting {
            Weighting::PolicyL1(policy) => (Steps::L1(policy.descent(quantum)), policy.passes),
            Weighting::PolicyL2(policy) => (Steps::L2(policy.descent(bound)?), policy.passes),
            Weighting::Greedy(greedy) => (Steps::Greedy(greedy, Vec::new()), 1),
            Weighting::Count
            | Weighting::EqualL1
            | Weighting::EqualL2
            | Weighting::Mad(_)
            | Weighting::Matching(_) => return Ok(None),
        };
        Ok(Some(Self { steps, digests: Vec::new(), quantum, passes }))
    }

    /// How often each user comes.
    pub(crate) fn passes(&self) -> u32 {
        self.passes
    }

    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.digests.len()
    }

    /// Give an item the next place, with what [`Walk::given`] said of it before, or 0.
    pub(crate) fn push(&mut self, item: Digest, given: u64) {
        self.digests.push(item);
        match &mut self.steps {
            Steps::L1(descent) => descent.slots.push(Slot { weight: given, turn: (item.0 >> 64) as u64 }),
            Steps::L2(descent) => descent.weights.push(given),
            Steps::Greedy(_, weights) => weights.push(given),
        }
    }

    /// Take the places from this one on away.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.digests.truncate(len);
        match &mut self.steps {
            Steps::L1(descent) => descent.slots.truncate(len),
            Steps::L2(descent) => descent.weights.truncate(len),
            Steps::Greedy(_, weights) => weights.truncate(len),
        }
    }

    /// Let one user give to the items at these places.
    pub(crate) fn visit(&mut self, items: &[u32]) {
        let digests = &self.digests;
        let by_digest = |tied: &mut [u32]| tied.sort_unstable_by_key(|item| digests[*item as usize]);
        match &mut self.steps {
            Steps::L1(descent) => descent.visit(items, by_digest),
            Steps::L2(descent) => descent.visit(items),
            Steps::Greedy(greedy, weights) => greedy.visit(items, weights),
        }
    }

    /// What users gave to the item at a place so far, in the steps of the weighting.
    pub(crate) fn given(&self, place: usize) -> u64 {
        match &self.steps {
            Steps::L1(descent) => descent.slots[place].weight,
            Steps::L2(descent) => descent.weights[place],
            Steps::Greedy(_, weights) => weights[place],
        }
    }

    /// What [`Walk::given`] says, as a weight in grid steps.
    pub(crate) fn in_grid_steps(&self, given: u64) -> u64 {
        match &self.steps {
            Steps::L1(_) => given * self.quantum,
            Steps::L2(descent) => descent.in_grid_steps(given),
            Steps::Greedy(..) => given,
        }
    }

    /// The item at a place and its weight in grid steps.
    pub(crate) fn weight(&self, place: usize) -> (Digest, u64) {
        (self.digests[place], self.in_grid_steps(self.given(place)))
    }
}
