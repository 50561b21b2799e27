//! The joint exponential mechanism on sequences of k items, drawn exactly in one pass over the counts.
//!
//! The loss of a sequence is the largest gap c_(i) - (count of its i-th item), c_(i) being the i-th largest count; its
//! probability is proportional to e^-(rate loss). With H(t) the number of items of count at least t there are
//! M(l) = prod (H(c_(i) - l) - (i - 1)) sequences of loss at most l. A level drawn with weight M(l) e^-(rate l) and
//! then a uniform sequence of loss at most that level have this law. Proof: `docs/algorithms/joint.md`.

use std::collections::HashMap;

use dpsel_exact::numeric::{Bits, Scaled};
use dpsel_exact::random::Coins;
use num_bigint::BigUint;

use crate::top_k::draws::loss_levels::{LevelLaw, LossLevels, bounded_horizon, bounded_tail};
use crate::top_k::ranking::RankedCounts;

/// The sequences of k items by loss.
pub(in crate::top_k) struct Sequences<'a> {
    ranking: &'a RankedCounts<'a>,
    rate: f64,
}

impl<'a> Sequences<'a> {
    /// Sequences of as many items as the ranking keeps.
    pub(in crate::top_k) fn new(ranking: &'a RankedCounts<'a>, rate: f64) -> Self {
        Self { ranking, rate }
    }

    /// The ranks of the drawn sequence.
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> Vec<u64> {
        let level = LossLevels::new(self).draw(coins);
        self.uniform(level, coins)
    }

    /// A uniform sequence of loss at most `level`: a shuffle of the ranks that touches only those it draws.
    ///
    /// The items allowed at position i are the first H(c_(i) - level), and this grows with i. So after i swaps the
    /// first i places hold the drawn items, and the places up to the limit hold the remaining allowed items.
    pub(in crate::top_k) fn uniform(&self, level: u128, coins: &mut Coins) -> Vec<u64> {
        let mut moved: HashMap<u64, u64> = HashMap::new();
        let mut ranks = Vec::with_capacity(self.ranking.top().len());
        for (place, allowed) in self.allowed(level) {
            let chosen = place + coins.below_u64(allowed - place);
            // Otherwise: the place holds its own item still.
            let displaced = moved.remove(&place).unwrap_or(place);
            ranks.push(if chosen == place {
                displaced
            } else {
                // Otherwise: as above.
                moved.insert(chosen, displaced).unwrap_or(chosen)
            });
        }
        ranks
    }

    /// By how much the worst place of a sequence falls short.
    pub(in crate::top_k) fn loss(&self, ranks: &[u64]) -> u128 {
        let gap = |(best, rank): (&i64, &u64)| best.saturating_sub(self.ranking.count_at(*rank));
        // Otherwise: no place falls short of anything.
        let loss = self.ranking.top().iter().zip(ranks).map(gap).max().unwrap_or(0);
        loss.max(0).unsigned_abs().into()
    }

    /// The loss of the worst sequence, or more.
    pub(in crate::top_k) fn largest_loss(&self) -> u128 {
        self.ranking.range()
    }

    /// Each position from 0 with the number of items that are allowed there.
    fn allowed(&self, level: u128) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(self.ranking.at_least_below_top(level))
    }

    fn factors(&self, level: u128) -> impl Iterator<Item = u64> {
        self.allowed(level).map(|(place, allowed)| allowed - place)
    }
}

impl LevelLaw for Sequences<'_> {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn size(&self, level: u128) -> Scaled {
        Scaled::product(self.factors(level))
    }

    fn exact_size(&self, level: u128) -> BigUint {
        self.factors(level).map(BigUint::from).product()
    }

    fn horizon(&self) -> u128 {
        joint_horizon(self.ranking.items(), self.ranking.top().len(), self.rate)
    }

    fn tail(&self, first: u128) -> (Scaled, u128) {
        let (items, k) = (self.ranking.items(), self.ranking.top().len() as u64);
        bounded_tail(Scaled::product((0..k).map(|place| items - place)), self.rate, first)
    }
}

/// The number of levels below the k-th largest count that draws consider: there are at most d^k sequences.
pub(in crate::top_k) fn joint_horizon(items: u64, k: usize, rate: f64) -> u128 {
    bounded_horizon(libm::log(items as f64) * k as f64, rate)
}
