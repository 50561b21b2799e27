//! All items of a round, decided in blocks by several threads.

use std::ops::Range;

use dpsel_exact::random::Words;
use dpsel_rows::contributions::{Digests, ItemCode, Vocabulary};
use dpsel_rows::runtime::{Control, parallel};

use super::decision::{Decider, ItemOutcome, ItemState};
use super::item_states::{ItemStates, StatesPart};
use super::released::Released;
use crate::weighting::WeightHistogram;

/// Items decided at a time: a multiple of [`Vocabulary::STRIDE`].
const BLOCK: usize = 4 * Vocabulary::STRIDE;

/// The items of a block that may take part in a round: one entry of each column for each item.
#[derive(Debug, Default)]
struct ItemColumns {
    weights: Vec<u64>,
    /// The digests, and then random words in their place.
    words: Vec<u128>,
}

/// The weights of all item codes.
pub(super) struct ByCode<'a> {
    histogram: &'a WeightHistogram,
    vocabulary: &'a Vocabulary,
    digests: Digests<'a>,
}

impl<'a> ByCode<'a> {
    /// The items of the vocabulary have these weights.
    pub(super) fn new(histogram: &'a WeightHistogram, vocabulary: &'a Vocabulary) -> Self {
        Self { histogram, vocabulary, digests: vocabulary.digests() }
    }
}

/// A round whose items are weighed.
pub(super) struct Weighed<'a> {
    pub(super) decider: Decider,
    /// The noise of the round.
    pub(super) words: Words,
    pub(super) weights: &'a ByCode<'a>,
    /// Taken off every weight before the decision, and added to a noisy weight that is published: see
    /// [`super::Lowered`].
    pub(super) lowered: u64,
}

/// The items that no later round decides.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub(super) released: Vec<Released>,
    pub(super) abandoned: Vec<ItemCode>,
}

impl Decided {
    pub(super) fn is_empty(&self) -> bool {
        self.released.is_empty() && self.abandoned.is_empty()
    }

    /// The items without their weights.
    pub(super) fn items(&self) -> impl Iterator<Item = ItemCode> + '_ {
        self.released.iter().map(|released| released.item).chain(self.abandoned.iter().copied())
    }
}

impl Decided {
    /// Note the outcome for the item at a place. The states are those from the place `start` on.
    #[inline]
    fn note(
        &mut self,
        round: &Weighed<'_>,
        (place, start): (usize, usize),
        outcome: ItemOutcome,
        states: &mut StatesPart<'_>,
    ) {
        match outcome {
            ItemOutcome::Released(noisy) => {
                let published = if round.decider.shows_weights() {
                    noisy.saturating_add_unsigned(round.lowered)
                } else {
                    noisy
                };
                let item = ItemCode::from_index(place);
                let digest = round.weights.digests.get(item);
                self.released.push(Released { item, digest, weight: published });
            }
            ItemOutcome::Kept(state) => states.set(place - start, state),
            ItemOutcome::Abandoned => {
                states.set(place - start, ItemState::ABANDONED);
                self.abandoned.push(ItemCode::from_index(place));
            }
        }
    }
}

impl Weighed<'_> {
    /// Decide every item and bring its state up to date.
    pub(super) fn decide(&self, states: &mut ItemStates, control: &Control) -> Decided {
        let places = self.weights.histogram.code_bound();
        let threads = parallel::threads_for(places, control);
        let step = places.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let ranges = (0..places).step_by(step).map(|first| first..places.min(first + step));
        let parts = ranges.zip(states.parts(step)).collect();
        let found = parallel::map(threads, parts, |(places, mut states): (Range<usize>, _)| {
            let (mut found, mut block) = (Decided::default(), ItemRange::default());
            for first in places.clone().step_by(BLOCK) {
                block.gather(self, first..places.end.min(first + BLOCK), places.start, &states);
                block.decide(self, (first, places.start), &mut states, &mut found);
            }
            found
        });
        // In one piece: a vector that grows takes new memory again and again.
        let released = Vec::with_capacity(found.iter().map(|part| part.released.len()).sum());
        let abandoned = Vec::with_capacity(found.iter().map(|part| part.abandoned.len()).sum());
        let mut all = Decided { released, abandoned };
        for part in found {
            all.released.extend(part.released);
            all.abandoned.extend(part.abandoned);
        }
        all
    }
}

/// The items of a block, with their random words.
#[derive(Default)]
struct ItemRange(ItemColumns);

impl ItemRange {
    /// Fill the columns with all items of a block of places, or with none if no item takes part. The states are those from the
    /// place `start` on. Most items take part, and the digests of a block are cheaper than single ones.
    fn gather(&mut self, round: &Weighed<'_>, block: Range<usize>, start: usize, states: &StatesPart<'_>) {
        let ItemColumns { weights, words } = &mut self.0;
        weights.clear();
        words.clear();
        let ByCode { histogram, vocabulary, .. } = round.weights;
        weights.extend(histogram.weights(block.clone()).map(|weight| weight.saturating_sub(round.lowered)));
        let takes_part =
            |(place, weight): (usize, &u64)| round.decider.takes_part(states.get(place - start), *weight);
        if !block.clone().zip(&*weights).any(takes_part) {
            return weights.clear();
        }
        words.resize(block.len(), 0);
        vocabulary.gather_digests(block.start, zerocopy::transmute_mut!(words.as_mut_slice()));
        round.words.replace(words);
    }

    /// Decide the items from the place `first` on. The states are those from the place `start` on.
    fn decide(
        &mut self,
        round: &Weighed<'_>,
        (first, start): (usize, usize),
        states: &mut StatesPart<'_>,
        found: &mut Decided,
    ) {
        let ItemColumns { weights, words } = &self.0;
        round.decider.each_change(weights, words, |at| {
            let place = first + at;
            let outcome = round.decider.decide(states.get(place - start), weights[at], words[at]);
            found.note(round, (place, start), outcome, states);
        });
    }
}
