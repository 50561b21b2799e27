//! Rounds that gather evidence and steer the users' weights by it; one publication at the end.
//!
//! After a round an item's noisy weight is public in the sense of the proof (`docs/algorithms/steered.md`), so all of
//! this but the publication is post-processing. It is integer arithmetic nevertheless, because the items that are
//! released depend on it and have to be the same on every machine.

use std::ops::Range;

use super::item_state::{ItemState, Steering};
use super::scoring::{Publish, Scoring};
use super::select::{BLOCK, Selected};
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{ItemCode, Vocabulary};
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::TiltedHistogram;
use crate::{Error, Result};

/// Bytes held for each item code: its weight, evidence, exposure and factor.
const CODE_BYTES: usize = 8 + 8 + 4 + 2;

/// Run the rounds on users who keep the items that they have now.
///
/// # Errors
/// Interruption; the limit of memory.
pub(super) fn select_by_evidence(
    mut contributions: BoundedContributions,
    rounds: &[&Scoring],
    publish: &Publish,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    contributions.forget_reserve();
    let codes = contributions.vocabulary().code_bound();
    control.charge_memory((codes * CODE_BYTES + contributions.users() * 4) as u64, "weighing the items")?;
    let mut histogram = TiltedHistogram::new(&contributions, |items| publish.cap(items));
    let mut state = State::new(codes);
    let mut gone = ItemSet::new(codes);
    let mut reached = Vec::new();
    for (index, number) in (0..rounds.len()).zip(0_u32..) {
        histogram.weigh(&contributions, &state.factors, control)?;
        let steering = Steering::new(rounds, index).ok_or(Error::Internal("there is no such round"))?;
        let step = Step {
            steering,
            words: Words::new(key, Purpose::Noise, number),
            histogram: &histogram,
            vocabulary: contributions.vocabulary(),
            first: index == 0,
        };
        let dropped = step.advance(&mut state, control);
        control.check()?;
        if step.steering.is_last() {
            reached = state.reached(&step.steering);
        } else if !dropped.is_empty() {
            for item in dropped {
                gone.insert(item);
            }
            contributions.remove(&gone, control)?;
        }
        control.end_phase();
    }
    Ok(Selected::new(reached, contributions))
}

/// What is known of each item code: an [`ItemState`] in three arrays.
struct State {
    evidence: Vec<i64>,
    exposure: Vec<u32>,
    factors: Vec<u16>,
}

/// The state of a range of codes.
struct Part<'a> {
    codes: Range<usize>,
    evidence: &'a mut [i64],
    exposure: &'a mut [u32],
    factors: &'a mut [u16],
}

impl State {
    fn new(codes: usize) -> Self {
        let ItemState { evidence, exposure, factor } = ItemState::default();
        Self {
            evidence: vec![evidence; codes],
            exposure: vec![exposure; codes],
            factors: vec![factor; codes],
        }
    }

    fn parts(&mut self, step: usize) -> Vec<Part<'_>> {
        let states = self.evidence.chunks_mut(step).zip(self.exposure.chunks_mut(step));
        let parts = states.zip(self.factors.chunks_mut(step)).zip((0..).step_by(step));
        parts
            .map(|(((evidence, exposure), factors), first)| {
                let codes = first..first + factors.len();
                Part { codes, evidence, exposure, factors }
            })
            .collect()
    }

    /// The items that the round publishes, with their evidence.
    fn reached(&self, last: &Steering) -> Vec<(ItemCode, i64)> {
        let states = self.evidence.iter().zip(&self.exposure).zip(&self.factors).enumerate();
        let reached = states.filter(|(_, ((evidence, exposure), factor))| {
            last.releases(ItemState { evidence: **evidence, exposure: **exposure, factor: **factor })
        });
        reached.map(|(code, ((evidence, _), _))| (ItemCode::from_index(code), *evidence)).collect()
    }
}

impl Part<'_> {
    fn get(&self, at: usize) -> ItemState {
        ItemState { evidence: self.evidence[at], exposure: self.exposure[at], factor: self.factors[at] }
    }

    fn set(&mut self, at: usize, state: ItemState) {
        (self.evidence[at], self.exposure[at]) = (state.evidence, state.exposure);
        self.factors[at] = state.factor;
    }
}

/// One round after its weights are known.
struct Step<'a> {
    steering: Steering,
    words: Words,
    histogram: &'a TiltedHistogram,
    vocabulary: &'a Vocabulary,
    first: bool,
}

impl Step<'_> {
    /// Add the round's evidence and steer; returns the items that are out from now on.
    fn advance(&self, state: &mut State, control: &Control) -> Vec<ItemCode> {
        let codes = state.factors.len();
        let threads = parallel::threads_for(codes, control);
        let step = codes.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        parallel::map(threads, state.parts(step), |mut part| {
            let mut dropped = Vec::new();
            let mut block = Block::default();
            for first in (0..part.codes.len()).step_by(BLOCK) {
                let places = first..part.codes.len().min(first + BLOCK);
                self.advance_block(&mut part, places, &mut block, &mut dropped);
            }
            dropped
        })
        .concat()
    }

    fn advance_block(
        &self,
        part: &mut Part<'_>,
        places: Range<usize>,
        block: &mut Block,
        dropped: &mut Vec<ItemCode>,
    ) {
        let (start, first_code) = (places.start, part.codes.start + places.start);
        block.fill(self, first_code, &mut part.factors[places]);
        for ((place, weight), word) in block.alive.iter().zip(&block.words) {
            let at = start + place;
            part.set(at, self.steering.advance(part.get(at), *weight, *word));
            if part.factors[at] == 0 {
                dropped.push(ItemCode::from_index(first_code + place));
            }
        }
    }
}

/// The items of a block that are not out: place, weight and pseudorandom word of each.
#[derive(Default)]
struct Block {
    alive: Vec<(usize, u64)>,
    digests: Vec<Digest>,
    words: Vec<u128>,
}

impl Block {
    /// In the first round items without weight go out: nobody holds them, so they must not matter.
    fn fill(&mut self, step: &Step<'_>, first: usize, factors: &mut [u16]) {
        let mut all = [Digest::default(); BLOCK];
        let codes = factors.len();
        self.alive.clear();
        self.digests.clear();
        let weights = step.histogram.weights(first..first + factors.len());
        for ((place, factor), weight) in factors.iter_mut().enumerate().zip(weights) {
            if step.first && weight == 0 {
                *factor = 0;
            }
            if *factor > 0 {
                self.alive.push((place, weight));
            }
        }
        if !self.alive.is_empty() {
            step.vocabulary.gather_digests(first, &mut all[..codes]);
        }
        self.digests.extend(self.alive.iter().map(|(place, _)| all[*place]));
        self.words.resize(self.digests.len(), 0);
        step.words.fill(&self.digests, &mut self.words);
    }
}
