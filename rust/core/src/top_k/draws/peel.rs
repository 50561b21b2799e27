//! One item at a time: exact draws of the exponential mechanism and of permute-and-flip among the items that are left.

use dpsel_exact::numeric::{Bits, Scaled};
use dpsel_exact::random::Coins;
use num_bigint::BigUint;

use crate::top_k::draws::loss_levels::{LevelLaw, LossLevels, bounded_horizon, bounded_tail};
use crate::top_k::ranking::RankedCounts;

/// The items that were picked, by rank.
#[derive(Debug, Default)]
pub(in crate::top_k) struct Picked {
    in_order: Vec<u64>,
    sorted: Vec<u64>,
}

impl Picked {
    /// Record a pick.
    pub(in crate::top_k) fn push(&mut self, rank: u64) {
        self.in_order.push(rank);
        let at = self.sorted.partition_point(|picked| *picked < rank);
        self.sorted.insert(at, rank);
    }

    /// The picks, in the order in which they were made.
    pub(in crate::top_k) fn into_ranks(self) -> Vec<u64> {
        self.in_order
    }

    /// The number of remaining ranks below `end`.
    pub(in crate::top_k) fn left_below(&self, end: u64) -> u64 {
        end - self.sorted.partition_point(|picked| *picked < end) as u64
    }

    /// The n-th rank that is left.
    pub(in crate::top_k) fn nth_left(&self, n: u64) -> u64 {
        self.sorted.iter().fold(n, |rank, picked| rank + u64::from(*picked <= rank))
    }
}

/// The exponential mechanism among the items that are left: probability proportional to e^(`rate` count).
///
/// Let best be the largest remaining count. The items at level l or above have a count of at least best - l.
pub(in crate::top_k) struct RatedPick<'a> {
    ranking: &'a RankedCounts<'a>,
    picked: &'a Picked,
    best: i64,
    rate: f64,
}

impl<'a> RatedPick<'a> {
    /// # Contract
    /// Some item is left.
    pub(in crate::top_k) fn new(ranking: &'a RankedCounts<'a>, picked: &'a Picked, rate: f64) -> Self {
        Self { ranking, picked, best: ranking.count_at(picked.nth_left(0)), rate }
    }

    fn left(&self, level: u128) -> u64 {
        self.picked.left_below(self.ranking.at_least(threshold(self.best, level)))
    }

    /// The rank of the item that is picked.
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> u64 {
        let level = LossLevels::new(self).draw(coins);
        self.picked.nth_left(coins.below_u64(self.left(level)))
    }
}

impl LevelLaw for RatedPick<'_> {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn size(&self, level: u128) -> Scaled {
        Scaled::integer(self.left(level).into())
    }

    fn exact_size(&self, level: u128) -> BigUint {
        self.left(level).into()
    }

    fn horizon(&self) -> u128 {
        pick_horizon(self.ranking.items(), self.rate)
    }

    fn tail(&self, first: u128) -> (Scaled, u128) {
        bounded_tail(Scaled::integer(self.ranking.items().into()), self.rate, first)
    }
}

/// The number of levels below the best item that picks consider.
pub(in crate::top_k) fn pick_horizon(items: u64, rate: f64) -> u128 {
    bounded_horizon(libm::log(items as f64), rate)
}

/// `count` - `level`.
pub(in crate::top_k) fn threshold(count: i64, level: u128) -> i128 {
    i128::from(count).saturating_sub_unsigned(level)
}

/// `picks` draws of the exponential mechanism, each among the items that are left.
pub(in crate::top_k) fn peel(
    ranking: &RankedCounts<'_>,
    picks: usize,
    rate: f64,
    coins: &mut Coins,
) -> Vec<u64> {
    let mut picked = Picked::default();
    for _ in 0..picks {
        let rank = RatedPick::new(ranking, &picked, rate).draw(coins);
        picked.push(rank);
    }
    picked.into_ranks()
}
