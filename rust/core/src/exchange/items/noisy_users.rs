//! What users add to released items becomes their noisy numbers of users. Exact numbers go no further.

use super::sum::OnItems;
use crate::Result;
use crate::counting::CountNoise;
use crate::exchange::wire::Decisions;
use crate::random::{Digest, ReleaseKey};

/// The stage that adds noise to the numbers of users of released items.
#[derive(Debug)]
pub struct NoisyUsers {
    noise: CountNoise,
    key: ReleaseKey,
}

impl NoisyUsers {
    pub(crate) fn new(noise: CountNoise, key: ReleaseKey) -> Self {
        Self { noise, key }
    }
}

impl OnItems for NoisyUsers {
    fn run(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let users = self.noise.noisy_users(items.iter().copied(), &self.key);
        items.iter().zip(users).for_each(|((item, _), users)| Decisions::push(*item, users, packed));
        Ok(())
    }
}
