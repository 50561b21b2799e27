//! What users spend, and how they spread it: integers only, the same on every machine.
//!
//! No guarantee rests on these numbers. They decide what is listed.

use dpsel_exact::numeric::widths::clipped;

use super::plan::SeriesPlan;
use crate::weighting::FULL_IMPORTANCE;

/// Bits of roots behind the point.
const ROOT_BITS: u32 = 30;
/// Bits of parts of 1 behind the point; their power 5/4 is a whole power of two as well.
const PART_BITS: u32 = 16;
/// Items that are so many standard deviations below the course to the last threshold are paused.
const BELOW: u128 = 3;

/// What a user may spend in a release: `left` of the square of its norm, of whose rows the first came with the release
/// `first`.
pub(super) fn allowance(plan: &SeriesPlan, left: u64, first: u32, release: u32) -> u64 {
    let pace = &plan.pace;
    let age = (release - first) as usize;
    let ahead: u128 =
        pace[age..=(plan.asked.releases - first) as usize].iter().copied().map(u128::from).sum();
    clipped(u128::from(left) * u128::from(pace[age]) / ahead.max(1))
}

/// What decides the importance of an item after one round: a place on the way of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    /// Items with a smaller score are paused.
    bound: i128,
    /// The distance from there to the course to the last threshold, which is at least 1.
    span: i128,
    /// Users bring an item to this score, with as little weight as possible.
    target: i128,
    /// What is ahead, by the pace of weights now.
    ahead: u128,
    /// Whether the block ends with the round.
    is_last: bool,
    /// About what users at full importance give in a round: it falls with the release.
    pace: u64,
}

impl Course {
    /// The course after a round of a release, both from 1.
    pub(super) fn after(plan: &SeriesPlan, release: u32, round: u32) -> Self {
        let (first, length) = plan.block(release);
        let (age, rounds) = (u128::from(release - first + 1), u128::from(plan.rounds));
        let (length, spread) = (u128::from(length), u128::from(plan.spread));
        let (done, all) = ((age - 1) * rounds + u128::from(round), length * rounds);
        let root =
            |numerator: u128, denominator: u128| ((numerator << (2 * ROOT_BITS)) / denominator).isqrt();
        let times = |steps: u128, root: u128| ((steps * root) >> ROOT_BITS).cast_signed();
        let last = u128::from(plan.threshold(plan.longest_age(release)));
        let course = (last * done / all).cast_signed();
        let below = times(BELOW * spread, root(done * (all - done), all * rounds));
        // In fifths of rounds: a fifth more than is done, and at least the end of the release.
        let (fifths, goal) = (5 * done, (6 * done).max(5 * age * rounds));
        let whole = 5 * rounds;
        let highest = times(u128::from(plan.threshold(1)), root(goal, whole));
        let pace = weight_pace(plan, release);
        Self {
            bound: course - below,
            span: below.max(1),
            target: highest + times(2 * spread, root(goal - fifths, whole)),
            ahead: (goal - fifths) * u128::from(FULL_IMPORTANCE) * u128::from(pace),
            is_last: done == all,
            pace,
        }
    }

    /// What a round at this importance adds to the exposure of an item.
    pub(super) fn exposure(&self, importance: u16) -> u64 {
        self.pace * u64::from(importance)
    }

    /// The importance of an item that is not paused; 0 pauses it.
    ///
    /// `exposure` has the round, and `importance` is that of the round.
    #[expect(clippy::cast_possible_truncation, reason = "at most the full importance")]
    pub(super) fn importance(&self, score: i128, exposure: u64, importance: u16) -> u16 {
        if self.is_last {
            return importance;
        }
        if score < self.bound {
            return 0;
        }
        let part = parts((score - self.bound).unsigned_abs(), self.span.unsigned_abs());
        let chances = (part * part) >> (2 * PART_BITS - FULL_IMPORTANCE.ilog2());
        let limit = chances.min(self.prospect(score, exposure));
        limit.clamp(1, FULL_IMPORTANCE.into()) as u16
    }

    /// The importance with which an item comes to the target.
    fn prospect(&self, score: i128, exposure: u64) -> u64 {
        if score <= 0 {
            return FULL_IMPORTANCE.into();
        }
        if score >= self.target {
            return 0;
        }
        let (missing, score) = ((self.target - score).unsigned_abs(), score.unsigned_abs());
        let part = parts(missing * 5 * u128::from(exposure), self.ahead * score);
        let power = u128::from(part).pow(5).isqrt().isqrt();
        clipped::<u64, _>(power) >> (5 * PART_BITS / 4 - FULL_IMPORTANCE.ilog2())
    }
}

/// `numerator` / `denominator`, at most 1, in parts of 2^[`PART_BITS`].
fn parts(numerator: u128, denominator: u128) -> u64 {
    if numerator >= denominator {
        return 1 << PART_BITS;
    }
    clipped((numerator << PART_BITS) / denominator.max(1))
}

/// How weights fall over the releases: about the root of the pace of users whose first rows came with the first one.
fn weight_pace(plan: &SeriesPlan, release: u32) -> u64 {
    plan.pace[release as usize - 1].isqrt()
}
