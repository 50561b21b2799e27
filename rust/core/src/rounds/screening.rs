//! A look: noisy weights of all items from which their factors follow, and nothing else.
//!
//! The noisy weights are public in the sense of the proof (`docs/algorithms/mad2r.md`), so the factors are post-processing. They are integer
//! arithmetic nevertheless, because the items that are released depend on them and have to be the same on every machine.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::importance::{smaller, worth};
use super::select::BLOCK;
use crate::contributions::{ItemCode, Vocabulary};
use crate::noise::{Noise, NoisyThreshold, Threshold};
use crate::random::{Digest, Words};
use crate::runtime::{Control, parallel};
use crate::weighting::{FULL_FACTOR, WeightHistogram};

/// A round that releases nothing: it says what each item gets of its users' weights in the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Screening {
    /// The noise added to each item's weight.
    pub noise: Noise,
    /// Items with a smaller noisy weight (integer units) are hopeless: users leave them out.
    pub abandon: i64,
    /// From this noisy weight on an item has all chances; below it users give it less (integer units).
    pub course: i64,
    /// Items with a larger noisy weight have more than they need (integer units).
    pub aim: i64,
}

impl Screening {
    /// The factor of an item with this noisy weight: at least 1, and 0 if it is hopeless.
    fn factor(&self, noisy: i64) -> u16 {
        if noisy < self.abandon {
            return 0;
        }
        let (aim, noisy_or_one) = (self.aim.max(0).unsigned_abs(), noisy.max(1).unsigned_abs());
        let wanted = u128::from(FULL_FACTOR) * u128::from(aim) / u128::from(noisy_or_one);
        smaller(worth(self.abandon, self.course, noisy), wanted)
    }

    /// How this round differs from the one that is called for, one phrase per parameter.
    pub(super) fn differences(&self, want: &Self) -> Vec<String> {
        let steering = |look: &Self| (look.abandon, look.course, look.aim);
        let mut found = Vec::new();
        if self.noise != want.noise {
            found.push(format!("noise {:?} instead of {:?}", self.noise, want.noise));
        }
        if steering(self) != steering(want) {
            found.push(format!("steering {:?} instead of {:?}", steering(self), steering(want)));
        }
        found
    }

    /// The factors of all codes, from weights and pseudorandom words.
    ///
    /// Every item gets noise, whether or not anybody keeps it: what becomes of it must not depend on its weight otherwise.
    pub(super) fn factors(
        &self,
        histogram: &WeightHistogram,
        vocabulary: &Vocabulary,
        words: &Words,
        control: &Control,
    ) -> Vec<u16> {
        let noise = NoisyThreshold::new(self.noise, Threshold::from_units(0));
        let mut factors = vec![0; histogram.code_bound()];
        let threads = parallel::threads_for(factors.len(), control);
        let step = factors.len().div_ceil(parallel::parts_for(threads)).next_multiple_of(BLOCK).max(BLOCK);
        let parts = (0..).step_by(step).zip(factors.chunks_mut(step)).collect();
        parallel::map(threads, parts, |(first, part): (usize, &mut [u16])| {
            let (mut digests, mut random) = ([Digest::default(); BLOCK], [0; BLOCK]);
            for (start, block) in (first..).step_by(BLOCK).zip(part.chunks_mut(BLOCK)) {
                let codes: Range<usize> = start..start + block.len();
                let (digests, random) = (&mut digests[..block.len()], &mut random[..block.len()]);
                vocabulary.gather_digests(start, digests);
                words.fill(digests, random);
                for ((factor, weight), word) in block.iter_mut().zip(histogram.weights(codes)).zip(random) {
                    *factor = self.factor(noise.noisy_weight(weight, *word));
                }
            }
        });
        factors
    }
}

/// The items that users leave out.
pub(super) fn hopeless(factors: &[u16]) -> Vec<ItemCode> {
    let out = factors.iter().enumerate().filter(|(_, factor)| **factor == 0);
    out.map(|(code, _)| ItemCode::from_index(code)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UNIT: i64 = 1 << 30;

    fn look(abandon: i64, course: i64, aim: i64) -> Screening {
        Screening { noise: Noise::Gaussian { sigma: 1.0 }, abandon, course, aim }
    }

    #[test]
    fn factors_rise_with_the_square_of_the_way_and_fall_with_what_is_not_needed() {
        let look = look(0, 4 * UNIT, 8 * UNIT);
        let found = [-1, 0, UNIT, 2 * UNIT, 4 * UNIT, 8 * UNIT, 12 * UNIT, 16 * UNIT, i64::MAX];
        assert_eq!(found.map(|noisy| look.factor(noisy)), [0, 1, 16, 64, 256, 256, 170, 128, 1]);
    }

    #[test]
    fn any_noisy_weight_has_a_factor() {
        proptest!(|(noisy: i64, limits: [i64; 3])| {
            let look = look(limits[0], limits[1], limits[2]);
            let factor = look.factor(noisy);
            prop_assert!(factor <= 256);
            prop_assert_eq!(factor == 0, noisy < look.abandon);
        });
    }
}
