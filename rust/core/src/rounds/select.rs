//! The rounds of a calibrated mechanism on bounded contributions.

use std::ops::Range;

use super::rule::Decider;
use super::screening::hopeless;
use super::steering::select_by_evidence;
use super::{Calibration, Round};
use crate::Result;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{ItemCode, Vocabulary};
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::{WeightHistogram, weigh_round};

/// Items decided at a time: a multiple of [`Vocabulary::STRIDE`].
pub(super) const BLOCK: usize = 4 * Vocabulary::STRIDE;

/// The items selected by all rounds.
#[derive(Debug)]
pub struct Selected {
    /// Each selected item with its noisy weight in integer units (0 where weights were not asked for).
    pub(crate) items: Vec<(ItemCode, i64)>,
    contributions: BoundedContributions,
}

impl Selected {
    pub(super) fn new(items: Vec<(ItemCode, i64)>, contributions: BoundedContributions) -> Self {
        Self { items, contributions }
    }

    /// What is known of the items.
    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        self.contributions.vocabulary()
    }
}

/// Run the rounds: weigh, decide, take the released items out of every user's set, re-bound.
///
/// A round that only looks takes hopeless items out, and its factors tilt the weights of the rounds after it.
///
/// # Errors
/// Interruption.
pub fn select_rounds(
    mut contributions: BoundedContributions,
    calibration: &Calibration,
    with_weights: bool,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    if let Some((rounds, publish)) = calibration.evidence() {
        return select_by_evidence(contributions, &rounds, publish, key, control);
    }
    let codes = contributions.vocabulary().code_bound();
    let bytes = codes * (8 + 2) + contributions.rows() * 4;
    control.charge_memory(bytes as u64, "weighing the items")?;
    let mut histogram = WeightHistogram::new(codes);
    let mut gone = ItemSet::new(codes);
    let mut items = Vec::new();
    let mut factors: Option<Vec<u16>> = None;
    for (index, round) in (0_u32..).zip(&calibration.rounds) {
        let weights = (round.weighting, round.rule.quantum());
        weigh_round(&mut histogram, &contributions, weights, factors.as_deref(), key, control)?;
        let (vocabulary, words) = (contributions.vocabulary(), Words::new(key, Purpose::Noise, index));
        let out: Vec<ItemCode> = if let Some(look) = round.rule.look() {
            hopeless(factors.insert(look.factors(&histogram, vocabulary, &words, control)))
        } else {
            let rule = round.rule.decider()?;
            let decision = Decision { histogram: &histogram, vocabulary, round, rule, words, with_weights };
            let found = decision.decide_all(control);
            items.extend_from_slice(&found);
            found.into_iter().map(|(item, _)| item).collect()
        };
        let last = index as usize + 1 == calibration.rounds.len();
        if !last && !out.is_empty() {
            for item in out {
                gone.insert(item);
            }
            contributions.remove(&gone, control)?;
        }
        control.end_phase();
    }
    Ok(Selected { items, contributions })
}

/// What one round's decisions depend on.
struct Decision<'a> {
    histogram: &'a WeightHistogram,
    vocabulary: &'a Vocabulary,
    round: &'a Round,
    rule: Decider,
    words: Words,
    with_weights: bool,
}

impl Decision<'_> {
    /// Decide every item that has weight.
    ///
    /// An item without weight is held by nobody in this round and is never released: the proofs count only
    /// noise on items that somebody holds.
    fn decide_all(&self, control: &Control) -> Vec<(ItemCode, i64)> {
        let codes = self.histogram.code_bound();
        let threads = parallel::threads_for(codes, control);
        let step = codes.div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let parts = (0..codes).step_by(step).map(|first| first..codes.min(first + step)).collect();
        parallel::map(threads, parts, |part: Range<usize>| {
            let mut found = Vec::new();
            let (mut digests, mut words) = ([Digest::default(); BLOCK], [0; BLOCK]);
            for first in part.clone().step_by(BLOCK) {
                let codes = first..part.end.min(first + BLOCK);
                let (digests, words) = (&mut digests[..codes.len()], &mut words[..codes.len()]);
                self.decide_block(codes, digests, words, &mut found);
            }
            found
        })
        .concat()
    }

    /// Decide the items of a block, whose digests and random words are put into `digests` and `words`.
    fn decide_block(
        &self,
        codes: Range<usize>,
        digests: &mut [Digest],
        words: &mut [u128],
        found: &mut Vec<(ItemCode, i64)>,
    ) {
        self.vocabulary.gather_digests(codes.start, digests);
        self.words.fill(digests, words);
        let weights = self.histogram.weights(codes.clone());
        for ((code, weight), &word) in codes.zip(weights).zip(words.iter()) {
            if weight > 0 && self.rule.releases(weight, word) {
                let noisy = || self.round.published(self.rule.noisy_weight(weight, word));
                found.push((ItemCode::from_index(code), if self.with_weights { noisy() } else { 0 }));
            }
        }
    }
}
