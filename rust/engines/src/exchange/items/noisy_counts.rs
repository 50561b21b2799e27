//! What users add to released items becomes their noisy numbers of users or rows. Exact numbers go no further.

use dpsel_core::counting::CountNoise;
use dpsel_exact::Result;
use dpsel_exact::random::{Digest, ReleaseKey};

use super::sum::OnItems;
use crate::exchange::wire::Decisions;

/// The stage that adds noise to the numbers of users or rows of released items.
#[derive(Debug)]
pub struct NoisyCounts {
    pub(crate) noise: CountNoise,
    pub(crate) key: ReleaseKey,
}

impl OnItems for NoisyCounts {
    /// No table is refused for its number of rows.
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let numbers = self.noise.noisy_counts(items.iter().copied(), &self.key);
        items.iter().zip(numbers).for_each(|((item, _), number)| Decisions::push(*item, number, packed));
        Ok(())
    }
}
