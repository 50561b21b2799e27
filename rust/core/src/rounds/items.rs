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

/// The weights of all items in a round, by place: the code of an item or its slot.
pub(super) trait Weights: Sync {
    /// All places are below this.
    fn places(&self) -> usize;

    /// The item at a place.
    fn item(&self, place: usize) -> ItemCode;

    /// Copy the weights of a range of places to `weights`.
    fn read(&self, places: Range<usize>, weights: &mut [u64]);

    /// Append the digests of some places to `digests`. They are among the [`BLOCK`] places from `first` on, a multiple
    /// of [`Vocabulary::STRIDE`].
    fn gather(&self, vocabulary: &Vocabulary, first: usize, places: &[usize], digests: &mut Vec<Digest>);
}

impl Weights for WeightHistogram {
    fn places(&self) -> usize {
        self.code_bound()
    }

    fn item(&self, place: usize) -> ItemCode {
        ItemCode::from_index(place)
    }

    fn read(&self, places: Range<usize>, weights: &mut [u64]) {
        copy(self.weights(places), weights);
    }

    fn gather(&self, vocabulary: &Vocabulary, first: usize, places: &[usize], digests: &mut Vec<Digest>) {
        let mut all = [Digest::default(); BLOCK];
        vocabulary.gather_digests(first, &mut all);
        digests.extend(places.iter().map(|place| all[place - first]));
    }
}

impl Weights for ReweightedHistogram {
    fn places(&self) -> usize {
        self.slots()
    }

    fn item(&self, place: usize) -> ItemCode {
        ReweightedHistogram::item(self, place)
    }

    fn read(&self, places: Range<usize>, weights: &mut [u64]) {
        copy(self.weights(places), weights);
    }

    fn gather(&self, vocabulary: &Vocabulary, _: usize, places: &[usize], digests: &mut Vec<Digest>) {
        let known = vocabulary.digests();
        digests.extend(places.iter().map(|place| known.get(self.item(*place))));
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
        let places = self.histogram.places();
        let threads = parallel::threads_for(places, control);
        let step = places.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let ranges = (0..places).step_by(step).map(|first| first..places.min(first + step));
        let parts = ranges.zip(states.parts(step)).collect();
        let found = parallel::map(threads, parts, |(places, mut states): (Range<usize>, _)| {
            let (mut found, mut block) = (Decided::default(), Block::default());
            for first in places.clone().step_by(BLOCK) {
                block.gather(self, first..places.end.min(first + BLOCK), places.start, &states);
                block.decide(self, places.start, &mut states, &mut found);
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

/// The items of a block of places that take part in the round: one entry of each column for each item.
#[derive(Default)]
struct Block {
    places: Vec<usize>,
    weights: Vec<u64>,
    digests: Vec<Digest>,
    words: Vec<u128>,
}

impl Block {
    /// Fill the columns with the items of a block of places. The states are those from the place `start` on.
    fn gather(
        &mut self,
        round: &Weighed<'_, impl Weights>,
        block: Range<usize>,
        start: usize,
        states: &StatesPart<'_>,
    ) {
        let mut weights = [0; BLOCK];
        round.histogram.read(block.clone(), &mut weights[..block.len()]);
        self.places.clear();
        self.weights.clear();
        for (place, weight) in block.clone().zip(weights) {
            if round.decider.takes_part(states.get(place - start), weight) {
                self.places.push(place);
                self.weights.push(weight);
            }
        }
        self.digests.clear();
        if !self.places.is_empty() {
            round.histogram.gather(round.vocabulary, block.start, &self.places, &mut self.digests);
        }
        self.words.resize(self.digests.len(), 0);
        round.words.fill(&self.digests, &mut self.words);
    }

    /// Decide the items. The states are those from the place `start` on.
    fn decide(
        &self,
        round: &Weighed<'_, impl Weights>,
        start: usize,
        states: &mut StatesPart<'_>,
        found: &mut Decided,
    ) {
        for ((&place, &weight), &word) in self.places.iter().zip(&self.weights).zip(&self.words) {
            match round.decider.decide(states.get(place - start), weight, word) {
                Outcome::Released(noisy) => found.released.push((round.histogram.item(place), noisy)),
                Outcome::Kept(state) => states.set(place - start, state),
                Outcome::Abandoned => {
                    states.set_importance(place - start, 0);
                    found.abandoned.push(round.histogram.item(place));
                }
            }
        }
    }
}
