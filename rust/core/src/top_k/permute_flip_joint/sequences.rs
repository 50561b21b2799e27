//! Permute-and-flip over sequences of k items, without looking at every sequence.
//!
//! Each sequence s has a coin of bias p(s) = e^-(rate loss(s)); the answer is uniform among those that show heads. With
//! arrivals of each sequence at rate p(s) this is a race: the arrivals together come at rate Z, the sum of all p, each
//! being a draw of [`super::joint`]; the first arrival of s at time t is taken with probability e^-(t (1 - p(s))), and
//! s is out if it is not. Proof: `docs/algorithms/permute_flip_joint.md`.

use std::collections::HashSet;

use dpsel_exact::numeric::{Enclosure, Exponential, Interval, Scaled, forced_slow};
use dpsel_exact::random::Coins;
use num_bigint::BigUint;

use crate::top_k::draws::loss_levels::{LevelLaw, LossLevels};
use crate::top_k::draws::normaliser::mass;
use crate::top_k::joint::Sequences;

/// Binary digits of the first exact comparison; a multiple of 64.
const FIRST: u64 = 64;

/// The ranks of one draw.
pub(in crate::top_k) fn flip_sequences(sequences: &Sequences<'_>, coins: &mut Coins) -> Vec<u64> {
    let levels = LossLevels::new(sequences);
    let mut out = HashSet::new();
    // Waiting times, times Z.
    let mut waits = vec![];
    loop {
        waits.push(Exponential::draw(coins));
        let level = levels.draw(coins);
        let ranks = sequences.uniform(level, coins);
        if out.contains(&ranks) {
            continue;
        }
        let loss = sequences.loss(&ranks);
        if loss == 0 || is_taken(sequences, loss, level, &mut waits, coins) {
            return ranks;
        }
        out.insert(ranks);
    }
}

/// True with probability e^-(t (1 - p)), t being the sum of the waits divided by Z: whether an exponential number
/// exceeds t (1 - p).
fn is_taken(
    law: &Sequences<'_>,
    loss: u128,
    level: u128,
    waits: &mut [Exponential],
    coins: &mut Coins,
) -> bool {
    let mut limit = Exponential::draw(coins);
    // There are M(level) sequences of loss at most this level, each of which adds at least e^-(rate level) to Z.
    let least = (law.size(level) * Scaled::decay(law.rate(), level)).to_interval();
    let waited = waits.iter().map(Exponential::to_interval).fold(Interval::ZERO, |a, b| a + b);
    if (limit.to_interval() * Interval::point(least.lo())).lo() > waited.hi() && !forced_slow() {
        return true;
    }
    let mut bits = FIRST;
    loop {
        let (z_lo, z_hi) = mass(law, law.largest_loss(), bits, bits / 8);
        let (p_lo, p_hi) = Enclosure::decay(law.rate(), loss, bits).fixed_point(bits);
        let one = BigUint::from(1_u32) << bits;
        let (rest_lo, rest_hi) = (&one - p_hi.min(one.clone()), &one - p_lo);
        let (limit_lo, limit_hi) = limit.fixed_point(bits, coins);
        let sums = waits.iter_mut().map(|wait| wait.fixed_point(bits, coins));
        let (waited_lo, waited_hi) =
            sums.fold(Default::default(), |sum: (BigUint, BigUint), wait| (sum.0 + wait.0, sum.1 + wait.1));
        if limit_lo * z_lo > waited_hi * rest_hi {
            return true;
        }
        if limit_hi * z_hi < waited_lo * rest_lo {
            return false;
        }
        bits *= 2;
    }
}
