//! All items of a round, decided in blocks by several threads.

use std::ops::Range;

use super::decision::{Decider, ItemState, Outcome};
use super::item_states::{ItemStates, StatesPart};
use super::selected::Released;
use crate::contributions::{Digests, ItemCode, Vocabulary};
use crate::random::{Digest, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::WeightHistogram;

/// Items decided at a time: a multiple of [`Vocabulary::STRIDE`].
const BLOCK: usize = 4 * Vocabulary::STRIDE;

/// The weights of all items in a round, by place: the code of an item or its slot.
pub(super) trait Weights: Sync {
    /// All places are below this.
    fn places(&self) -> usize;

    /// The item at a place.
    fn item(&self, place: usize) -> ItemCode;

    /// The digest of the item at a place that somebody holds.
    fn digest(&self, place: usize) -> Digest;

    /// Append the items of a block of places that take part in the round, and perhaps others. A block has at most
    /// [`BLOCK`] places and begins at a multiple of [`Vocabulary::STRIDE`].
    fn gather(&self, block: Range<usize>, who: &impl TakesPart, columns: &mut Columns);
}

/// Who takes part in a round.
pub(super) trait TakesPart {
    /// Whether the item at a place takes no part, whatever its weight.
    fn is_out(&self, place: usize) -> bool;
    /// Whether the item at a place takes part with this weight.
    fn takes_part(&self, place: usize, weight: u64) -> bool;
}

/// The items of a block that may take part in a round: one entry of each column for each item.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) places: Vec<usize>,
    pub(super) weights: Vec<u64>,
    /// The digests. `Block::gather` puts random words in their place.
    pub(super) words: Vec<u128>,
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

impl Weights for ByCode<'_> {
    fn places(&self) -> usize {
        self.histogram.code_bound()
    }

    fn item(&self, place: usize) -> ItemCode {
        ItemCode::from_index(place)
    }

    fn digest(&self, place: usize) -> Digest {
        self.digests.get(self.item(place))
    }

    /// All items of the block or none: most take part, and the digests of a block are cheaper than single ones.
    fn gather(&self, block: Range<usize>, who: &impl TakesPart, columns: &mut Columns) {
        columns.weights.extend(self.histogram.weights(block.clone()));
        if !block.clone().zip(&columns.weights).any(|(place, weight)| who.takes_part(place, *weight)) {
            return columns.weights.clear();
        }
        columns.words.resize(block.len(), 0);
        let digests = zerocopy::transmute_mut!(columns.words.as_mut_slice());
        self.vocabulary.gather_digests(block.start, digests);
        columns.places.extend(block);
    }
}

/// A round whose items are weighed.
pub(super) struct Weighed<'a, W> {
    pub(super) decider: Decider,
    /// The noise of the round.
    pub(super) words: Words,
    pub(super) weights: &'a W,
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
        round: &Weighed<'_, impl Weights>,
        (place, start): (usize, usize),
        outcome: Outcome,
        states: &mut StatesPart<'_>,
    ) {
        match outcome {
            Outcome::Released(noisy) => {
                let published = if round.decider.shows_weights() {
                    noisy.saturating_add_unsigned(round.lowered)
                } else {
                    noisy
                };
                let (item, digest) = (round.weights.item(place), round.weights.digest(place));
                self.released.push(Released { item, digest, weight: published });
            }
            Outcome::Kept(state) => states.set(place - start, state),
            Outcome::Abandoned => {
                states.set(place - start, ItemState::ABANDONED);
                self.abandoned.push(round.weights.item(place));
            }
        }
    }
}

impl<W: Weights> Weighed<'_, W> {
    /// Decide every item and bring its state up to date.
    pub(super) fn decide(&self, states: &mut ItemStates, control: &Control) -> Decided {
        let places = self.weights.places();
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

/// The states of the items from the place `start` on tell who takes part.
struct Who<'a> {
    decider: &'a Decider,
    /// Taken off every weight.
    lowered: u64,
    start: usize,
    states: &'a StatesPart<'a>,
}

impl TakesPart for Who<'_> {
    #[inline]
    fn is_out(&self, place: usize) -> bool {
        self.decider.is_out(self.states.get(place - self.start))
    }
    #[inline]
    fn takes_part(&self, place: usize, weight: u64) -> bool {
        let weight = weight.saturating_sub(self.lowered);
        self.decider.takes_part(self.states.get(place - self.start), weight)
    }
}

/// The items of a block, with their random words.
#[derive(Default)]
struct Block {
    columns: Columns,
    /// The noise of the words in a scored round.
    noises: Vec<i64>,
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
        let Columns { places, weights, words } = &mut self.columns;
        places.clear();
        weights.clear();
        words.clear();
        let who = Who { decider: &round.decider, lowered: round.lowered, start, states };
        round.weights.gather(block, &who, &mut self.columns);
        self.columns.weights.iter_mut().for_each(|weight| *weight = weight.saturating_sub(round.lowered));
        round.words.replace(&mut self.columns.words);
    }

    /// Decide the items. The states are those from the place `start` on.
    fn decide(
        &mut self,
        round: &Weighed<'_, impl Weights>,
        start: usize,
        states: &mut StatesPart<'_>,
        found: &mut Decided,
    ) {
        let Columns { places, weights, words } = &self.columns;
        let items = places.iter().zip(weights);
        let Some(scored) = round.decider.scored() else {
            let changed =
                items.zip(words).filter(|((_, weight), word)| !round.decider.keeps(**weight, **word));
            for ((&place, &weight), &word) in changed {
                let outcome = round.decider.decide(states.get(place - start), weight, word);
                found.note(round, (place, start), outcome, states);
            }
            return;
        };
        // A loop over draws alone is faster than draws between decisions, whose branches nobody can predict.
        scored.noises(words, &mut self.noises);
        for ((&place, &weight), &noise) in items.zip(&self.noises) {
            let outcome = scored.decide(states.get(place - start), weight, noise);
            found.note(round, (place, start), outcome, states);
        }
    }
}
