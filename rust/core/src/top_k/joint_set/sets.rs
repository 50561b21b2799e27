//! The joint exponential mechanism on sets of k items.
//!
//! The gap of a set is the largest count left out less the smallest count taken in, at least 0; its probability is
//! proportional to e^-(rate gap). A set other than the best one has a first rank h that it leaves out; it holds ranks 0
//! to h - 1 and k - h of the later ones. Its gap is at most l iff these all have counts of at least c_(h+1) - l, so
//! G(l) = 1 + sum over h < k of C(H(c_(h+1) - l) - (h + 1), k - h) sets have a gap of at most l. Proof:
//! `docs/algorithms/joint_set.md`.

use dpsel_exact::numeric::widths::index;
use dpsel_exact::numeric::{Interval, Scaled, Uniform};
use dpsel_exact::random::Coins;
use num_bigint::BigUint;
use num_traits::{One, Zero};

use crate::top_k::draws::loss_levels::{LevelLaw, LossLevels, bounded_horizon, bounded_tail};
use crate::top_k::draws::peel::threshold;
use crate::top_k::draws::permute_flip::subset;
use crate::top_k::ranking::RankedCounts;

/// The sets of k items by gap.
pub(in crate::top_k) struct Sets<'a> {
    ranking: &'a RankedCounts<'a>,
    rate: f64,
}

impl<'a> Sets<'a> {
    /// Sets of as many items as the ranking keeps.
    pub(in crate::top_k) fn new(ranking: &'a RankedCounts<'a>, rate: f64) -> Self {
        Self { ranking, rate }
    }

    /// The ranks of the drawn set, ascending.
    pub(in crate::top_k) fn draw(&self, coins: &mut Coins) -> Vec<u64> {
        let level = LossLevels::new(self).draw(coins);
        self.uniform(level, coins)
    }

    /// The ranks of a uniform set of gap at most `level`, ascending.
    pub(in crate::top_k) fn uniform(&self, level: u128, coins: &mut Coins) -> Vec<u64> {
        let first_left_out = self.first_left_out(level, coins);
        // Otherwise: none is left out.
        let mut ranks: Vec<u64> = (0..first_left_out.unwrap_or(self.k())).collect();
        if let Some(h) = first_left_out {
            let (candidates, wanted) = self.choices(h, level);
            ranks.extend(subset(candidates, wanted, coins).into_iter().map(|rank| rank + h + 1));
        }
        ranks
    }

    fn k(&self) -> u64 {
        self.ranking.top().len() as u64
    }

    /// From how many items, and how many, the rest of a set is taken that leaves out rank `h` first.
    fn choices(&self, h: u64, level: u128) -> (u64, u64) {
        let count = self.ranking.top()[index(h)];
        let candidates = self.ranking.at_least(threshold(count, level)).saturating_sub(h + 1);
        (candidates, self.k() - h)
    }

    /// Draw the first rank that is left out, with weight its number of sets; `None` is the best set.
    ///
    /// A uniform number picks a place among the G(level) sets. Bounds in `f64` tell nearly always which rank it is.
    fn first_left_out(&self, level: u128, coins: &mut Coins) -> Option<u64> {
        let mut uniform = Uniform::default();
        let (low, high) = uniform.first_digits(coins);
        let total = self.size(level);
        let place = Interval::new(low.lo(), high.hi()).clamp(0.0, 1.0);
        let mut before = Scaled::integer(1);
        let part = |sum: Scaled| sum.share_of(total);
        if !dpsel_exact::numeric::forced_slow() {
            if place.hi() <= part(before).lo() {
                return None;
            }
            for h in 0..self.k() {
                let next = before + self.sets(h, level);
                if part(before).hi() <= place.lo() && place.hi() <= part(next).lo() {
                    return Some(h);
                }
                before = next;
            }
        }
        self.first_left_out_exactly(level, uniform, coins)
    }

    #[cold]
    fn first_left_out_exactly(&self, level: u128, mut uniform: Uniform, coins: &mut Coins) -> Option<u64> {
        let sizes: Vec<BigUint> = (0..self.k()).map(|h| self.exact_sets(h, level)).collect();
        let total = sizes.iter().sum::<BigUint>() + 1_u32;
        let index = |place: BigUint| {
            let mut sum = BigUint::one();
            let mut index = None;
            for (h, size) in (0..).zip(&sizes) {
                if place < sum {
                    break;
                }
                sum += size;
                index = Some(h);
            }
            index
        };
        let mut bits = 128;
        loop {
            uniform.extend(bits, coins);
            let (digits, length) = uniform.digits();
            let low = (digits * &total) >> length;
            let high = ((digits + 1_u32) * &total - 1_u32) >> length;
            if index(low.clone()) == index(high) {
                return index(low);
            }
            bits *= 2;
        }
    }

    fn sets(&self, h: u64, level: u128) -> Scaled {
        let (n, r) = self.choices(h, level);
        binomial(n, r)
    }

    fn exact_sets(&self, h: u64, level: u128) -> BigUint {
        let (n, r) = self.choices(h, level);
        exact_binomial(n, r)
    }
}

impl LevelLaw for Sets<'_> {
    fn rate(&self) -> f64 {
        self.rate
    }

    fn size(&self, level: u128) -> Scaled {
        (0..self.k()).map(|h| self.sets(h, level)).fold(Scaled::integer(1), |sum, sets| sum + sets)
    }

    fn exact_size(&self, level: u128) -> BigUint {
        (0..self.k()).map(|h| self.exact_sets(h, level)).sum::<BigUint>() + 1_u32
    }

    fn horizon(&self) -> u128 {
        set_horizon(self.ranking.items(), self.ranking.top().len(), self.rate)
    }

    fn tail(&self, first: u128) -> (Scaled, u128) {
        bounded_tail(binomial(self.ranking.items(), self.k()), self.rate, first)
    }
}

/// The number of levels below the k-th largest count that draws consider: there are at most d^k / k! sets.
pub(in crate::top_k) fn set_horizon(items: u64, k: usize, rate: f64) -> u128 {
    let sets = libm::log(items as f64) * k as f64 - libm::lgamma(k as f64 + 1.0);
    bounded_horizon(sets.max(0.0) + 1.0, rate)
}

/// n choose r.
fn binomial(n: u64, r: u64) -> Scaled {
    if n < r {
        return Scaled::ZERO;
    }
    let r = r.min(n - r);
    Scaled::quotient((0..r).map(|i| n - i), (0..r).map(|i| i + 1))
}

fn exact_binomial(n: u64, r: u64) -> BigUint {
    if n < r {
        return BigUint::zero();
    }
    let r = r.min(n - r);
    (0..r).fold(BigUint::one(), |product, i| product * (n - i) / (i + 1))
}
