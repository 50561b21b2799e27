//! An exact draw of a level l = 0, 1, 2, ... with probability proportional to M(l) e^-(rate l), M a non-decreasing
//! integer.
//!
//! The levels are cut into blocks, each with an integer weight that is certainly not below the mass of a proposal
//! anywhere in it. A block is drawn by integers, a level in it uniformly (in the last block, which has no end, by
//! coin tosses), and the level is accepted with probability true mass / proposed mass. That probability is real; it
//! is compared with a uniform number that gets more digits until the comparison is certain. So the law is exact
//! whatever the blocks are; they only decide how often a proposal is refused. Proof: `docs/algorithms/joint.md`.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::f64::consts::{LN_2, LOG2_E};

use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::numeric::{Bits, Enclosure, Interval, Scaled, Uniform};
use dpsel_exact::random::Coins;
use num_bigint::BigUint;

/// The sizes M(l) and the rate.
pub(in crate::top_k) trait LevelLaw {
    /// The exponent lost at each level.
    fn rate(&self) -> f64;
    /// Bounds of M at a level.
    fn size(&self, level: u128) -> Scaled;
    /// M at a level.
    fn exact_size(&self, level: u128) -> BigUint;
    /// A level beyond which hardly any mass lies. Only the time of a draw depends on it.
    fn horizon(&self) -> u128;
    /// A bound of M(l) e^-(rate l) 2^floor((l - first) / n) over all l >= `first`, and this n. `first` is never below
    /// the horizon.
    fn tail(&self, first: u128) -> (Scaled, u128);
}

/// [`LevelLaw::tail`] where M never exceeds `limit`.
pub(in crate::top_k) fn bounded_tail(limit: Scaled, rate: f64, first: u128) -> (Scaled, u128) {
    (limit * Scaled::decay(rate, first), half_life(rate))
}

/// A horizon beyond which less than 2^-40 of the mass lies if M grows from 1 to at most e^`log_limit`.
pub(in crate::top_k) fn bounded_horizon(log_limit: f64, rate: f64) -> u128 {
    const BITS: f64 = 40.0;
    let levels = (log_limit + BITS * LN_2 - libm::log(-libm::expm1(-rate))) / rate;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
    let levels = levels.ceil() as u128;
    levels.clamp(1, 1 << 100)
}

/// The least n (or one more) with e^-(rate n) <= 1/2.
pub(in crate::top_k) fn half_life(rate: f64) -> u128 {
    let levels = (Interval::point(LN_2.next_up()) / Interval::point(rate)).hi().ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
    let levels = levels as u128;
    levels.max(1)
}

/// The largest rate and the smallest: outside, levels would not be counted exactly or take for ever.
pub(in crate::top_k) const RATES: std::ops::RangeInclusive<f64> = 1e-12..=1e6;
/// A block is cut while its bound exceeds its least mass by more than this power of two,
const LOOSE: f64 = 4.0;
/// and while it exceeds the largest block's least mass times this power of two.
const NEGLIGIBLE: f64 = -20.0;
/// The approximate number of bits of integer weights.
const WEIGHT_BITS: i64 = 60;

/// Levels from `first` to `last`, without an end if there is no `last`.
#[derive(Debug, Clone, Copy)]
struct LevelRange {
    first: u128,
    last: Option<u128>,
    /// Above the mass of a proposal, times the number of proposals.
    bound: Scaled,
}

/// The blocks of a law, ready for draws.
#[derive(Debug)]
pub(in crate::top_k) struct LossLevels<'a, L> {
    law: &'a L,
    blocks: Vec<LevelRange>,
    weights: Vec<u64>,
    total: u128,
    shift: i64,
}

impl<'a, L: LevelLaw> LossLevels<'a, L> {
    /// Cut the levels into blocks.
    pub(in crate::top_k) fn new(law: &'a L) -> Self {
        let horizon = law.horizon();
        let mut blocks = cut(law, horizon);
        let (bound, cell) = law.tail(horizon + 1);
        // The proposal of cell j has probability 2^-(j+1) / cell.
        let bound = bound * Scaled::integer(cell).shifted(1);
        blocks.push(LevelRange { first: horizon + 1, last: None, bound });
        // Otherwise: no blocks; one was just added.
        let top = blocks.iter().map(|block| block.bound.upper_exponent()).max().unwrap_or_default();
        let shift = WEIGHT_BITS - top;
        let weights: Vec<u64> =
            blocks.iter().map(|block| integer_above(block.bound.shifted(shift))).collect();
        let total = weights.iter().map(|weight| u128::from(*weight)).sum();
        Self { law, blocks, weights, total, shift }
    }

    /// One draw.
    ///
    /// # Contract
    /// For uniform coins the level l has probability M(l) e^-(rate l) / sum, exactly.
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> u128 {
        loop {
            let index = self.block(coins.below(self.total));
            let (level, multiple) =
                propose(&self.blocks[index], || self.law.tail(self.blocks[index].first).1, coins);
            if self.accepts(level, multiple, self.weights[index], coins) {
                return level;
            }
        }
    }

    /// The block in which a number below the sum of the weights falls.
    fn block(&self, mut number: u128) -> usize {
        for (index, weight) in self.weights.iter().enumerate() {
            match number.checked_sub(u128::from(*weight)) {
                Some(rest) => number = rest,
                None => return index,
            }
        }
        self.weights.len() - 1
    }

    /// True with probability M(l) e^-(rate l) `multiple` 2^shift / `weight`.
    fn accepts(&self, level: u128, multiple: Multiple, weight: u64, coins: &mut Coins) -> bool {
        let rate = self.law.rate();
        let Multiple { factor, power } = multiple;
        let shift = self.shift + power;
        let mass = self.law.size(level) * Scaled::decay(rate, level) * Scaled::integer(factor);
        let rough = mass.shifted(shift).to_interval() / Interval::integer(weight.into());
        Uniform::default().is_below(rough, coins, |bits| {
            let decay = Enclosure::decay(rate, level, bits);
            let size = Enclosure::integer(self.law.exact_size(level) * factor);
            size.mul(&decay, bits).shifted(shift).div(&weight.into(), bits)
        })
    }
}

/// One over the probability of a proposal within its block: `factor` 2^`power`.
#[derive(Debug, Clone, Copy)]
struct Multiple {
    factor: u128,
    power: i64,
}

/// A level of the block.
fn propose(block: &LevelRange, cell: impl FnOnce() -> u128, coins: &mut Coins) -> (u128, Multiple) {
    if let Some(last) = block.last {
        let levels = last - block.first + 1;
        return (block.first + coins.below(levels), Multiple { factor: levels, power: 0 });
    }
    let cell = cell();
    let mut index = 0_u128;
    while coins.half_word() & 1 == 1 {
        index += 1;
    }
    // A run of heads that long has a negligible probability.
    let power = clipped(index + 1);
    (block.first + index * cell + coins.below(cell), Multiple { factor: cell, power })
}

/// Levels that may still be cut.
struct Open {
    first: u128,
    last: u128,
    /// log2 of a lower bound of M at the first level.
    log_least: f64,
    /// M at the last level.
    most: Scaled,
    /// log2 of the bound of the block, and of its least mass, about: these decide only where to cut.
    upper: f64,
    lower: f64,
}

impl Open {
    fn new(rate: f64, (first, log_least): (u128, f64), (last, most): (u128, Scaled)) -> Self {
        let levels = libm::log2((last - first + 1) as f64);
        let decayed = |level: u128| level as f64 * rate * LOG2_E;
        let upper = most.log2() + levels - decayed(first);
        let lower = log_least + levels - decayed(last);
        Self { first, last, log_least, most, upper, lower }
    }

    fn closed(&self, rate: f64) -> LevelRange {
        let levels = Scaled::integer(self.last - self.first + 1);
        let bound = self.most * Scaled::decay(rate, self.first) * levels;
        LevelRange { first: self.first, last: Some(self.last), bound }
    }

    fn halves(&self, law: &impl LevelLaw) -> [Self; 2] {
        let middle = self.first + (self.last - self.first) / 2;
        let (rate, size) = (law.rate(), law.size(middle));
        // M never falls, so its size at the middle is a lower bound of the one after it.
        [
            Self::new(rate, (self.first, self.log_least), (middle, size)),
            Self::new(rate, (middle + 1, size.log2()), (self.last, self.most)),
        ]
    }
}

/// Blocks of the levels up to the horizon.
fn cut(law: &impl LevelLaw, horizon: u128) -> Vec<LevelRange> {
    let rate = law.rate();
    let mut best = f64::NEG_INFINITY;
    let mut open = BinaryHeap::from([Open::new(rate, (0, law.size(0).log2()), (horizon, law.size(horizon)))]);
    let mut closed = vec![];
    while let Some(block) = open.pop() {
        best = best.max(block.lower);
        if block.upper < best + NEGLIGIBLE {
            closed.push(block.closed(rate));
            closed.extend(open.drain().map(|block| block.closed(rate)));
        } else if block.upper - block.lower <= LOOSE || block.first == block.last {
            closed.push(block.closed(rate));
        } else {
            open.extend(block.halves(law));
        }
    }
    closed
}

/// An integer not below the number, which is below 2^62.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
fn integer_above(bound: Scaled) -> u64 {
    (bound.to_interval().hi().ceil() as u64).max(1)
}

// The heap gives the block with the largest bound; among equal ones the first, so that nothing is left to chance.
impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.upper.total_cmp(&other.upper).then(other.first.cmp(&self.first))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Open {}
