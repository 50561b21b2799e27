//! The release decision of one round.

use super::Noise;
use crate::threshold::Threshold;

/// "weight + noise >= threshold", decided exactly from one pseudorandom word per item.
#[derive(Debug, Clone)]
pub struct NoisyThreshold {
    noise: Noise,
    threshold: Threshold,
}

impl NoisyThreshold {
    /// Prepare the decision of one round.
    pub fn new(noise: Noise, threshold: Threshold) -> Self {
        Self { noise, threshold }
    }

    /// Whether an item of this weight (integer units) is released.
    ///
    /// # Contract
    /// For a uniform `word` this is true with probability P[N >= threshold - weight], up to the
    /// certified slack 2^-120, and it is monotone: true for a weight implies true for larger ones.
    pub fn releases(&self, weight: u64, word: u128) -> bool {
        let _ = (weight, word, self.noise, self.threshold);
        todo!()
    }

    /// weight + N in integer units, N as determined by `word`; at least the threshold iff
    /// [`NoisyThreshold::releases`].
    pub fn noisy_weight(&self, weight: u64, word: u128) -> i64 {
        let _ = (weight, word);
        todo!()
    }
}
