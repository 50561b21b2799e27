//! Permute-and-flip without looking at every item.
//!
//! Each remaining item has a coin of bias e^-(rate gap), where the gap is the distance of its count to the largest
//! count. Permute-and-flip goes through the items in random order and takes the first whose coin shows heads. So its
//! answer is uniform among the heads. There are two exact ways, and the cheaper one is chosen: the random order, if
//! heads are frequent; or all heads, found by thinning, if heads are rare. Proof:
//! `docs/algorithms/permute_flip_peel.md`.

use std::collections::{BTreeSet, HashSet};
use std::f64::consts::LN_2;

use dpsel_exact::numeric::widths::index;
use dpsel_exact::numeric::{Bits, Enclosure, Interval, Scaled, Uniform};
use dpsel_exact::random::Coins;

use crate::top_k::draws::peel::{Picked, threshold};
use crate::top_k::ranking::RankedCounts;

/// The items whose coins have a bias between two powers of two, and those that are worse than all of them.
struct Octave {
    /// The bias is at most 2^-`power`.
    power: u32,
    /// The items left are those from the `first`-th to the one before the `end`-th.
    first: u64,
    end: u64,
}

/// One pick of permute-and-flip among the items that are left.
pub(in crate::top_k) struct Flip<'a> {
    ranking: &'a RankedCounts<'a>,
    picked: &'a Picked,
    best: i64,
    rate: f64,
}

impl<'a> Flip<'a> {
    /// # Contract
    /// Some item is left.
    pub(in crate::top_k) fn new(ranking: &'a RankedCounts<'a>, picked: &'a Picked, rate: f64) -> Self {
        Self { ranking, picked, best: ranking.count_at(picked.nth_left(0)), rate }
    }

    /// The rank of the item that is picked.
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> u64 {
        let octaves = self.octaves();
        let items = self.picked.left_below(self.ranking.items());
        let heads: f64 = octaves
            .iter()
            .map(|octave| (octave.end - octave.first) as f64 / 2_f64.powi(octave.power.cast_signed()))
            .sum();
        if heads * heads >= items as f64 {
            return self.first_in_random_order(items, coins);
        }
        let heads: Vec<u64> = octaves.iter().flat_map(|octave| self.heads(octave, coins)).collect();
        // The best item always shows heads.
        heads[index(coins.below_u64(heads.len() as u64))]
    }

    fn octaves(&self) -> Vec<Octave> {
        let items = self.picked.left_below(self.ranking.items());
        let last = 64 - items.leading_zeros() + 40;
        let mut octaves = vec![];
        let mut first = 0;
        for power in 0..=last {
            // At the first level of the next octave the bias is certainly at most 2^-(power + 1).
            let next = (Interval::integer((power + 1).into()) * Interval::point(LN_2.next_up())
                / Interval::point(self.rate))
            .hi()
            .ceil();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "positive; saturates"
            )]
            let next = (next as u128).max(1);
            let above = self.ranking.at_least(threshold(self.best, next).saturating_add(1));
            let end = if power == last { items } else { self.picked.left_below(above) };
            octaves.push(Octave { power, first, end });
            first = end;
            if end == items {
                break;
            }
        }
        octaves
    }

    /// The order is drawn one item at a time; an item that was passed over is not asked again.
    fn first_in_random_order(&self, items: u64, coins: &mut Coins) -> u64 {
        let mut passed = HashSet::new();
        loop {
            let item = coins.below_u64(items);
            if passed.contains(&item) {
                continue;
            }
            let rank = self.picked.nth_left(item);
            if self.shows_heads(rank, 0, coins) {
                return rank;
            }
            passed.insert(item);
        }
    }

    /// The items of an octave that show heads: a coin of bias 2^-power for each, and for those that pass one of the
    /// rest.
    fn heads(&self, octave: &Octave, coins: &mut Coins) -> Vec<u64> {
        let items = octave.end - octave.first;
        let count = (0..octave.power).fold(items, |left, _| fair_heads(left, coins));
        let passed: Vec<u64> = if count == items {
            (0..items).collect()
        } else {
            subset(items, count, coins).into_iter().collect()
        };
        let ranks = passed.into_iter().map(|item| self.picked.nth_left(octave.first + item));
        ranks.filter(|rank| self.shows_heads(*rank, octave.power, coins)).collect()
    }

    /// True with probability 2^`power` e^-(rate gap).
    fn shows_heads(&self, rank: u64, power: u32, coins: &mut Coins) -> bool {
        let gap = self.best.abs_diff(self.ranking.count_at(rank));
        if gap == 0 {
            return true;
        }
        let rough = Scaled::decay(self.rate, gap.into()).shifted(power.into()).to_interval();
        Uniform::default().is_below(rough, coins, |bits| {
            Enclosure::decay(self.rate, gap.into(), bits).shifted(power.into())
        })
    }
}

/// Toss `coins` fair coins; returns the number of heads.
fn fair_heads(coins: u64, source: &mut Coins) -> u64 {
    let words = (0..coins / 128).map(|_| u64::from(source.word().count_ones())).sum::<u64>();
    let rest = coins % 128;
    let mask = (1_u128 << rest) - 1;
    words + if rest == 0 { 0 } else { u64::from((source.word() & mask).count_ones()) }
}

/// A uniform subset of `wanted` of the numbers below `candidates`, ascending (Floyd's algorithm).
pub(in crate::top_k) fn subset(candidates: u64, wanted: u64, coins: &mut Coins) -> BTreeSet<u64> {
    let mut chosen = BTreeSet::new();
    for last in candidates - wanted..candidates {
        let number = coins.below_u64(last + 1);
        if !chosen.insert(number) {
            chosen.insert(last);
        }
    }
    chosen
}

/// `picks` draws of permute-and-flip, each among the items that are left.
pub(in crate::top_k) fn flip_and_peel(
    ranking: &RankedCounts<'_>,
    picks: usize,
    rate: f64,
    coins: &mut Coins,
) -> Vec<u64> {
    let mut picked = Picked::default();
    for _ in 0..picks {
        let rank = Flip::new(ranking, &picked, rate).draw(coins);
        picked.push(rank);
    }
    picked.into_ranks()
}
