//! All items of a round, decided in blocks by several threads.

use std::ops::Range;

use super::decision::{Decider, Outcome};
use super::item_states::{ItemStates, StatesPart};
use crate::contributions::{ItemCode, Vocabulary};
use crate::random::{Digest, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::{ReweightedHistogram, WeightHistogram};

/// Items decided at a time: a multiple of [`Vocabulary::STRIDE`].
const BLOCK: usize = 4 * Vocabulary::STRIDE;

/// The weights of all items in a round.
pub(super) trait Weights: Sync {
    /// Copy the weights of a range of codes to `weights`.
    fn read(&self, codes: Range<usize>, weights: &mut [u64]);
}

impl Weights for WeightHistogram {
    fn read(&self, codes: Range<usize>, weights: &mut [u64]) {
        copy(self.weights(codes), weights);
    }
}

impl Weights for ReweightedHistogram {
    fn read(&self, codes: Range<usize>, weights: &mut [u64]) {
        copy(self.weights(codes), weights);
    }
}

fn copy(found: impl Iterator<Item = u64>, weights: &mut [u64]) {
    weights.iter_mut().zip(found).for_each(|(weight, found)| *weight = found);
}

/// A round whose items are weighed.
pub(super) struct Weighed<'a, W> {
    pub(super) decider: Decider,
    /// The noise of the round.
    pub(super) words: Words,
    pub(super) histogram: &'a W,
    pub(super) vocabulary: &'a Vocabulary,
}

/// The items that no later round decides.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// With their noisy weights in grid steps.
    pub(super) released: Vec<(ItemCode, i64)>,
    pub(super) abandoned: Vec<ItemCode>,
}

impl Decided {
    pub(super) fn is_empty(&self) -> bool {
        self.released.is_empty() && self.abandoned.is_empty()
    }

    /// The items without their weights.
    pub(super) fn items(&self) -> impl Iterator<Item = ItemCode> + '_ {
        self.released.iter().map(|(item, _)| *item).chain(self.abandoned.iter().copied())
    }
}

impl<W: Weights> Weighed<'_, W> {
    /// Decide every item and bring its state up to date.
    pub(super) fn decide(&self, states: &mut ItemStates, control: &Control) -> Decided {
        let codes = self.vocabulary.code_bound();
        let threads = parallel::threads_for(codes, control);
        let step = codes.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let ranges = (0..codes).step_by(step).map(|first| first..codes.min(first + step));
        let parts = ranges.zip(states.parts(step)).collect();
        let found = parallel::map(threads, parts, |(codes, mut states): (Range<usize>, _)| {
            let (mut found, mut block) = (Decided::default(), Block::default());
            for first in codes.clone().step_by(BLOCK) {
                block.gather(self, first..codes.end.min(first + BLOCK), first - codes.start, &states);
                block.decide(self, codes.start, &mut states, &mut found);
            }
            found
        });
        let mut all = Decided::default();
        for part in found {
            all.released.extend(part.released);
            all.abandoned.extend(part.abandoned);
        }
        all
    }
}

/// The items of a block that take part in the round: one entry of each column for each item.
#[derive(Default)]
struct Block {
    /// Places in the range of the thread.
    places: Vec<usize>,
    weights: Vec<u64>,
    digests: Vec<Digest>,
    words: Vec<u128>,
}

impl Block {
    /// Fill the columns with the items of some codes, the first of which is at the place `first`.
    fn gather(
        &mut self,
        round: &Weighed<'_, impl Weights>,
        codes: Range<usize>,
        first: usize,
        states: &StatesPart<'_>,
    ) {
        let mut weights = [0; BLOCK];
        round.histogram.read(codes.clone(), &mut weights[..codes.len()]);
        self.places.clear();
        self.weights.clear();
        for (place, weight) in (first..first + codes.len()).zip(weights) {
            if round.decider.takes_part(states.get(place), weight) {
                self.places.push(place);
                self.weights.push(weight);
            }
        }
        self.digests.clear();
        if !self.places.is_empty() {
            let mut digests = [Digest::default(); BLOCK];
            round.vocabulary.gather_digests(codes.start, &mut digests[..codes.len()]);
            self.digests.extend(self.places.iter().map(|place| digests[place - first]));
        }
        self.words.resize(self.digests.len(), 0);
        round.words.fill(&self.digests, &mut self.words);
    }

    /// Decide the items, whose codes are `start` and their place.
    fn decide(
        &self,
        round: &Weighed<'_, impl Weights>,
        start: usize,
        states: &mut StatesPart<'_>,
        found: &mut Decided,
    ) {
        for ((&place, &weight), &word) in self.places.iter().zip(&self.weights).zip(&self.words) {
            let item = ItemCode::from_index(start + place);
            match round.decider.decide(states.get(place), weight, word) {
                Outcome::Released(noisy) => found.released.push((item, noisy)),
                Outcome::Kept(state) => states.set(place, state),
                Outcome::Abandoned => {
                    states.set_importance(place, 0);
                    found.abandoned.push(item);
                }
            }
        }
    }
}
