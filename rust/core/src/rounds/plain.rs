//! The loop over the rounds of a mechanism in memory, unless they are scored.

use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Lineage, Totals};
use dpsel_rows::runtime::{Control, parallel};

use super::calibration::Calibration;
use super::item_states::ItemStates;
use super::items::{ByCode, Weighed};
use super::least_users::Lowered;
use super::noisy_ranks::NoisyRanks;
use super::released::Selected;
use super::scored::{self, score_rounds};
use super::turns::{Deciding, Turns};
use crate::bounding::{BoundedContributions, ItemSet};
use crate::weighting::{Guidance, WeightHistogram, weigh_round};

/// Bytes for each item code: its weight and its importance.
const BYTES: usize = 8 + 2;
/// Bytes for each item code of a ranking.
const RANKED_BYTES: usize = size_of::<i64>();

/// Bytes that the rounds of a calibration take at most.
#[must_use]
pub fn bytes(calibration: &Calibration, totals: Totals, control: &Control) -> usize {
    if calibration.scoring().is_some() {
        let lines =
            if calibration.descent { totals.codes * (scored::LINE_BYTES + Lineage::BYTES) } else { 0 };
        return scored::bytes(totals, control) + lines;
    }
    let weights = calibration.rounds.iter().map(|round| round.weighting.bytes(totals));
    plain_bytes(calibration, totals) + weights.max().unwrap_or(0) // Otherwise: no rounds.
}

/// Bytes of rounds that are not scored, beside those of weights while they are found.
fn plain_bytes(calibration: &Calibration, totals: Totals) -> usize {
    let ranks = calibration.rounds.iter().any(|round| round.rule.ranking().is_some());
    totals.codes * (BYTES + if ranks { RANKED_BYTES } else { 0 }) + totals.rows * size_of::<u32>()
}

/// Run the rounds.
///
/// Each round does four things:
///
/// 1. *Weigh:* every user spreads its weight over its items, by their importance.
/// 2. *Decide:* every item gets noise and is released, abandoned or kept, see [`Decider::decide`]. A ranking round
///    decides nothing and ends here, see [`NoisyRanks::noisy_levels`].
/// 3. *Steer:* the states of kept items determine how users spread their weight in the next round.
/// 4. *Remove:* released and abandoned items leave every user's set, and items from the user's reserve may replace
///    them.
///
/// Before an item is decided its weight is `lowered`.
///
/// # Errors
/// Interruption; the limit of memory; [`dpsel_exact::Error::Internal`] for weights to be lowered in scored rounds.
pub fn run_rounds(
    mut contributions: BoundedContributions,
    calibration: &Calibration,
    (with_weights, lowered): (bool, Lowered),
    key: &ReleaseKey,
    control: &Control,
) -> Result<Selected> {
    let turns = Turns::new(calibration, (with_weights, lowered), key)?;
    if let Some((_, publish)) = calibration.scoring() {
        return score_rounds(contributions, (calibration, publish), with_weights, key, control);
    }
    let codes = contributions.vocabulary().code_bound();
    let totals = Totals { users: contributions.users(), codes, rows: contributions.rows() };
    let bytes = plain_bytes(calibration, totals) as u64;
    control.charge_memory(bytes, "weighing the items")?;
    let mut histogram = WeightHistogram::new(codes);
    let mut states = ItemStates::new(calibration, codes);
    let (mut removed, mut released) = (ItemSet::default(), Vec::new());
    let mut ranking: Option<Vec<i64>> = None;
    for turn in turns.each() {
        let round = turn.round;
        let weighting = (round.weighting, round.rule.quantum());
        let guidance = Guidance { importances: states.importances(), ranking: ranking.take() };
        weigh_round(&mut histogram, &contributions, weighting, guidance, key, control)?;
        if let Some(rule) = round.rule.ranking() {
            let ranked = NoisyRanks::new((turn.number, rule), &histogram, contributions.vocabulary(), key)?;
            ranking = Some(ranked.noisy_levels(control)?);
            // The next round writes the weights when most else of it is gone, so these would be in memory beside it.
            histogram = WeightHistogram::new(codes);
            control.end_phase();
            continue;
        }
        let (Deciding { decider, words, lowered }, vocabulary) =
            (turn.deciding()?, contributions.vocabulary());
        let weights = &ByCode::new(&histogram, vocabulary);
        let weighed = Weighed { decider, words, weights, lowered };
        let decided = weighed.decide(&mut states, control);
        control.check()?;
        if !turn.is_last && !decided.is_empty() {
            decided.items().for_each(|item| removed.insert(item));
            contributions.remove(&removed, control)?;
        }
        released.push(decided.released);
        control.end_phase();
    }
    let threads = contributions.threads(control);
    let (vocabulary, rest) = contributions.into_vocabulary();
    let (keys, digests) = vocabulary.into_keys();
    let weighed = Box::new((histogram, states, removed));
    parallel::free_later(control, threads, vec![rest, weighed, Box::new(digests)]);
    control.release_memory(bytes);
    Ok(Selected { items: released.concat(), keys })
}
