//! Rounds that gather evidence and steer the users' weights by it; one publication at the end.
//!
//! After a round an item's noisy weight is public in the sense of the proof (`docs/algorithms/steered.md`), so all of
//! this but the publication is post-processing. It is integer arithmetic nevertheless, because the items that are
//! released depend on it and have to be the same on every machine.

use std::ops::Range;

use super::evidence::{Evidence, Publish, SHARES};
use super::factor::factor;
use super::rounds::{BLOCK, Selected};
use crate::Result;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{ItemCode, Vocabulary};
use crate::control::Control;
use crate::noise::{NoisyThreshold, Threshold};
use crate::parallel;
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::weighting::{FULL_FACTOR, TiltedHistogram};

/// Bytes held for each item code: its weight, evidence, exposure and factor.
const CODE_BYTES: usize = 8 + 8 + 4 + 2;

/// Run the rounds on users who keep the items that they have now.
///
/// # Errors
/// Interruption; the limit of memory.
pub(super) fn select_by_evidence(
    mut contributions: BoundedContributions,
    rounds: &[&Evidence],
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
    let mut spent = 0;
    for (index, round) in (0_u32..).zip(rounds) {
        histogram.weigh(&contributions, &state.factors, control)?;
        spent += round.share;
        let step = Step {
            round,
            noise: NoisyThreshold::new(round.noise, Threshold::from_units(0)),
            words: Words::new(key, Purpose::Noise, index),
            left: SHARES.saturating_sub(spent),
            histogram: &histogram,
            vocabulary: contributions.vocabulary(),
            first: index == 0,
        };
        let dropped = step.advance(&mut state, control);
        control.check()?;
        if round.publish.is_none() && !dropped.is_empty() {
            for item in dropped {
                gone.insert(item);
            }
            contributions.remove(&gone, control)?;
        }
    }
    Ok(Selected::new(state.reached(publish.threshold), contributions))
}

/// What is known of each item code.
struct State {
    /// The sum of the shares of its noisy weights, in integer units.
    evidence: Vec<i64>,
    /// The sum of share times factor over the rounds.
    exposure: Vec<u32>,
    /// How much of a user's weight it gets, relative to other items; 0 once it is out.
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
        Self { evidence: vec![0; codes], exposure: vec![0; codes], factors: vec![FULL_FACTOR; codes] }
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

    /// The items that are not out and whose evidence reaches the threshold.
    fn reached(&self, threshold: Threshold) -> Vec<(ItemCode, i64)> {
        let items = self.evidence.iter().zip(&self.factors).enumerate();
        let reached = items.filter(|(_, (evidence, factor))| **factor > 0 && **evidence >= threshold.units());
        reached.map(|(code, (evidence, _))| (ItemCode::from_index(code), *evidence)).collect()
    }
}

/// One round after its weights are known.
struct Step<'a> {
    round: &'a Evidence,
    noise: NoisyThreshold,
    words: Words,
    /// The shares of the rounds to come.
    left: u32,
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
            self.add_evidence(part, start + place, *weight, *word);
            if part.factors[start + place] == 0 {
                dropped.push(ItemCode::from_index(first_code + place));
            }
        }
    }

    fn add_evidence(&self, part: &mut Part<'_>, at: usize, weight: u64, word: u128) {
        let noisy = i128::from(self.noise.noisy_weight(weight, word));
        let more = (noisy * i128::from(self.round.share)) >> SHARES.ilog2();
        part.exposure[at] = part.exposure[at].saturating_add(self.round.share * u32::from(part.factors[at]));
        // Calibration keeps noise and sums far from the ends of the range.
        part.evidence[at] = part.evidence[at].saturating_add(i64::try_from(more).unwrap_or(i64::MIN));
        if self.round.publish.is_none() {
            part.factors[at] = factor(self.round, part.evidence[at], part.exposure[at], self.left);
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
