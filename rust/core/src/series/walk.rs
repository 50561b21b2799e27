//! The walk of an item through a block: the sum of its noisy values, and what follows from it.

use dpsel_exact::Result;
use dpsel_exact::noise::{Noise, NoisyThreshold, Threshold};
use dpsel_exact::random::{Digest, Purpose, ReleaseKey, Words};
use dpsel_rows::runtime::{Control, parallel};

use super::steering::Course;
use crate::weighting::FULL_IMPORTANCE;

/// An item in the running block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Walk {
    /// The sum of all noisy values.
    pub(super) score: i128,
    /// The sum of all noise in it: exactly the score without all weights.
    pub(super) noise: i128,
    /// What a user would have given by now, if only importances counted.
    pub(super) exposure: u64,
    /// At least 1: an item that comes to 0 is paused until the next block, and has no walk.
    pub(super) importance: u16,
}

impl Walk {
    /// Before the first step of a block.
    pub(super) const START: Self = Self { score: 0, noise: 0, exposure: 0, importance: FULL_IMPORTANCE };

    /// One noisy value: the weights of all users, and noise. Whether the item goes on; otherwise it is paused.
    #[must_use]
    pub(super) fn observe(&mut self, weight: u64, noise: i64, course: &Course) -> bool {
        self.exposure += course.exposure(self.importance);
        self.score += i128::from(weight) + i128::from(noise);
        self.noise += i128::from(noise);
        self.importance = course.importance(self.score, self.exposure, self.importance);
        // Noise that stands for minus infinity keeps the item out of the lists of the block.
        self.importance > 0 && noise != i64::MIN
    }

    /// Whether the item comes out: its score reaches the threshold, and its noise alone does not.
    pub(super) fn comes_out(&self, threshold: u64) -> bool {
        let threshold = i128::from(threshold);
        self.score >= threshold && self.noise < threshold
    }
}

/// The noise of one round of one release, of any items.
#[derive(Debug)]
pub(super) struct ReleaseNoise {
    words: Words,
    law: NoisyThreshold,
}

impl ReleaseNoise {
    /// With this standard deviation in units, under the noise key of the release; rounds are counted from 1.
    pub(super) fn new(sigma: f64, key: &ReleaseKey, round: u32) -> Self {
        let law = NoisyThreshold::new(Noise::Gaussian { sigma }, Threshold::from_steps(0));
        Self { words: Words::new(key, Purpose::Series, round), law }
    }

    /// The noise of items, in grid steps.
    ///
    /// # Errors
    /// Interruption.
    pub(super) fn of(&self, items: &[Digest], control: &Control) -> Result<Vec<i64>> {
        control.check()?;
        let threads = parallel::threads_for(items.len(), control);
        let size = items.len().div_ceil(parallel::parts_for(threads)).max(1);
        let parts = parallel::map(threads, items.chunks(size).collect(), |items| {
            let (mut words, mut noise) = (vec![0; items.len()], Vec::with_capacity(items.len()));
            self.words.fill(items, &mut words);
            self.law.append_noises(&words, &mut noise);
            noise
        });
        Ok(parts.concat())
    }
}
