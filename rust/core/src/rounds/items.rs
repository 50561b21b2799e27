//! All items of a round, decided in blocks by several threads.

use std::ops::Range;

use super::decision::{Decider, ItemState, Outcome};
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

    /// Append the items of a block of places that take part in the round, and perhaps others. A block has at most
    /// [`BLOCK`] places and begins at a multiple of [`Vocabulary::STRIDE`]. `takes_part` asks for a place and its
    /// weight.
    fn gather(
        &self,
        vocabulary: &Vocabulary,
        block: Range<usize>,
        takes_part: impl Fn(usize, u64) -> bool,
        columns: &mut Columns,
    );
}

/// The items of a block that may take part in a round: one entry of each column for each item.
#[derive(Debug, Default)]
pub(super) struct Columns {
    places: Vec<usize>,
    weights: Vec<u64>,
    digests: Vec<Digest>,
}

impl Weights for WeightHistogram {
    fn places(&self) -> usize {
        self.code_bound()
    }

    fn item(&self, place: usize) -> ItemCode {
        ItemCode::from_index(place)
    }

    /// All items of the block or none: most take part, and the digests of a block are cheaper than single ones.
    fn gather(
        &self,
        vocabulary: &Vocabulary,
        block: Range<usize>,
        takes_part: impl Fn(usize, u64) -> bool,
        columns: &mut Columns,
    ) {
        columns.weights.extend(self.weights(block.clone()));
        if !block.clone().zip(&columns.weights).any(|(place, weight)| takes_part(place, *weight)) {
            return columns.weights.clear();
        }
        columns.digests.resize(block.len(), Digest::default());
        vocabulary.gather_digests(block.start, &mut columns.digests);
        columns.places.extend(block);
    }
}

impl Weights for ReweightedHistogram {
    fn places(&self) -> usize {
        self.slots()
    }

    fn item(&self, place: usize) -> ItemCode {
        ReweightedHistogram::item(self, place)
    }

    /// Only items that take part: after some rounds they are few.
    fn gather(
        &self,
        _: &Vocabulary,
        block: Range<usize>,
        takes_part: impl Fn(usize, u64) -> bool,
        columns: &mut Columns,
    ) {
        for (place, weight) in block.clone().zip(self.weights(block)) {
            if takes_part(place, weight) {
                columns.places.push(place);
                columns.weights.push(weight);
            }
        }
        columns.digests.extend(columns.places.iter().map(|place| self.digest(*place)));
    }
}

/// A round whose items are weighed.
pub(super) struct Weighed<'a, W> {
    pub(super) decider: Decider,
    /// The noise of the round.
    pub(super) words: Words,
    pub(super) histogram: &'a W,
    pub(super) vocabulary: &'a Vocabulary,
    /// Taken off every weight before the decision, and added to a noisy weight that is published: see
    /// [`super::Lowered`].
    pub(super) lowered: u64,
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

/// The items of a block, with their random words.
#[derive(Default)]
struct Block {
    columns: Columns,
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
        let Columns { places, weights, digests } = &mut self.columns;
        places.clear();
        weights.clear();
        digests.clear();
        let lowered = |weight: u64| weight.saturating_sub(round.lowered);
        let takes_part = |place, weight| round.decider.takes_part(states.get(place - start), lowered(weight));
        round.histogram.gather(round.vocabulary, block, takes_part, &mut self.columns);
        self.columns.weights.iter_mut().for_each(|weight| *weight = lowered(*weight));
        self.words.resize(self.columns.digests.len(), 0);
        round.words.fill(&self.columns.digests, &mut self.words);
    }

    /// Decide the items. The states are those from the place `start` on.
    fn decide(
        &self,
        round: &Weighed<'_, impl Weights>,
        start: usize,
        states: &mut StatesPart<'_>,
        found: &mut Decided,
    ) {
        let Columns { places, weights, .. } = &self.columns;
        for ((&place, &weight), &word) in places.iter().zip(weights).zip(&self.words) {
            match round.decider.decide(states.get(place - start), weight, word) {
                Outcome::Released(noisy) => {
                    let noisy = if round.decider.shows_weights() {
                        noisy.saturating_add_unsigned(round.lowered)
                    } else {
                        noisy
                    };
                    found.released.push((round.histogram.item(place), noisy));
                }
                Outcome::Kept(state) => states.set(place - start, state),
                Outcome::Abandoned => {
                    states.set(place - start, ItemState::ABANDONED);
                    found.abandoned.push(round.histogram.item(place));
                }
            }
        }
    }
}
