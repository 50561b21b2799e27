//! The sum of e^-(rate loss) over all outcomes, to any precision.
//!
//! With M(l) outcomes of loss at most l, those of losses a + 1 to b weigh between (M(b) - M(a)) e^-(rate b) and
//! (M(b) - M(a)) e^-(rate (a + 1)). Stretches are halved where these differ most.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use dpsel_exact::numeric::Enclosure;
use num_bigint::BigUint;

use crate::top_k::draws::loss_levels::LevelLaw;

/// Two integers that enclose the total mass times 2^`bits`. Their distance is at most 2^-`narrow` of the mass, or the
/// precision of `bits` bits if that is coarser. No outcome has a loss above `last`.
pub(in crate::top_k) fn mass(law: &impl LevelLaw, last: u128, bits: u64, narrow: u64) -> (BigUint, BigUint) {
    let last = last.max(1);
    let all = Stretch::new(law, bits, (1, law.exact_size(0)), (last, law.exact_size(last)));
    let certain = law.exact_size(0) << bits;
    let (mut lo, mut hi) = (&certain + &all.lo, &certain + &all.hi);
    let mut stretches = BinaryHeap::from([all]);
    while &hi - &lo > &lo >> narrow {
        let Some(widest) = stretches.pop() else { break };
        if widest.first == widest.last {
            continue;
        }
        lo -= &widest.lo;
        hi -= &widest.hi;
        for half in widest.halves(law, bits) {
            lo += &half.lo;
            hi += &half.hi;
            stretches.push(half);
        }
    }
    (lo, hi)
}

/// The outcomes of losses `first` to `last`.
struct Stretch {
    first: u128,
    last: u128,
    /// M before the first loss and at the last.
    before: BigUint,
    up_to: BigUint,
    /// Bounds of their mass in fixed point.
    lo: BigUint,
    hi: BigUint,
}

impl Stretch {
    fn new(
        law: &impl LevelLaw,
        bits: u64,
        (first, before): (u128, BigUint),
        (last, up_to): (u128, BigUint),
    ) -> Self {
        let outcomes = Enclosure::integer(&up_to - &before);
        let weigh = |level| outcomes.mul(&Enclosure::decay(law.rate(), level, bits), bits).fixed_point(bits);
        let (lo, hi) = (weigh(last).0, weigh(first).1);
        Self { first, last, before, up_to, lo, hi }
    }

    fn halves(self, law: &impl LevelLaw, bits: u64) -> [Self; 2] {
        let middle = self.first + (self.last - self.first) / 2;
        let size = law.exact_size(middle);
        [
            Self::new(law, bits, (self.first, self.before), (middle, size.clone())),
            Self::new(law, bits, (middle + 1, size), (self.last, self.up_to)),
        ]
    }

    fn gap(&self) -> BigUint {
        &self.hi - &self.lo
    }
}

// The heap gives the stretch whose bounds differ most; among equal ones the first.
impl Ord for Stretch {
    fn cmp(&self, other: &Self) -> Ordering {
        self.gap().cmp(&other.gap()).then(other.first.cmp(&self.first))
    }
}

impl PartialOrd for Stretch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Stretch {}

#[cfg(test)]
mod tests {
    use num_traits::ToPrimitive;

    use super::*;
    use crate::top_k::joint::{Sequences, joint_horizon};
    use crate::top_k::ranking::{Counts, RankedCounts};

    #[test]
    fn the_mass_is_the_sum_over_all_sequences() {
        let counts = [9_i64, 7, 7, 2, -3];
        for rate in [1e-9, 0.05, 0.5, 30.0, 1e6] {
            let given = Counts { counts: &counts, digests: None, unseen: 0 };
            let ranking = RankedCounts::new(given, 2, joint_horizon(5, 2, rate));
            let sequences = Sequences::new(&ranking, rate);
            let pairs = (0..5).flat_map(|i| (0..5).filter(move |j| *j != i).map(move |j| (i, j)));
            let losses = pairs.map(|(i, j)| (counts[0] - counts[i]).max(counts[1] - counts[j]));
            let expected: f64 = losses.map(|loss| (-rate * loss as f64).exp()).sum();
            for (bits, narrow) in [(64, 8), (128, 16), (256, 50)] {
                let (lo, hi) = mass(&sequences, sequences.largest_loss(), bits, narrow);
                let number = |n: BigUint| n.to_f64().unwrap() * 2.0_f64.powi(-i32::try_from(bits).unwrap());
                let (lo, hi) = (number(lo), number(hi));
                assert!(
                    lo <= expected * (1.0 + 1e-12) && expected <= hi * (1.0 + 1e-12),
                    "{rate} {lo} {hi} {expected}"
                );
                let narrow = 2.0_f64.powi(-i32::try_from(narrow).unwrap());
                assert!(hi - lo <= lo * (narrow + 1e-12), "{rate} {lo} {hi}");
            }
        }
    }
}
