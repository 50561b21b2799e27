//! What a matching fills, softly: the two sums of the score of a look. Proof: `docs/algorithms/look.md`.

use dpsel_exact::Result;

use super::holders::Holders;
use super::offers::Offers;
use super::user_number::{self, UserNumber};
use super::{Matching, charge};
use crate::weighting::order::Visits;

/// How far items are beyond half a quota, in halves of a quota's slots and holders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilledSlots {
    /// Twice the filled slots of each item beyond half of its quota, added up.
    pub filled: i64,
    /// The same of all its holders, up to one and a half quotas.
    pub held: i64,
}

impl Matching {
    /// What the slots of the quota fill, in the order of digests. Slots beyond it are not offered.
    ///
    /// # Contract
    /// Adding a user raises `filled` by at most 2, and `held` by at most twice its kept items. Neither falls.
    pub(in crate::weighting) fn filled_slots(self, visits: Visits<'_>) -> Result<FilledSlots> {
        let quotas = Self { most: self.quota, ..self };
        let charged = charge(visits)?;
        let offers = Offers::of(visits, None)?;
        let found = if user_number::are_few(visits.contributions.users()) {
            quotas.sums::<[u8; 3]>(visits, offers)?
        } else {
            quotas.sums::<u32>(visits, offers)?
        };
        visits.control.release_memory(charged);
        Ok(found)
    }

    fn sums<N: UserNumber>(
        self,
        visits: Visits<'_>,
        Offers { codes, counts }: Offers,
    ) -> Result<FilledSlots> {
        let holders = Holders::<N>::of(visits.contributions, &codes, counts, visits.control)?;
        drop(codes);
        let mut levels = vec![0_u32; holders.items()];
        for turn in self.assign(visits, &holders)? {
            levels[turn as usize] += 1;
        }
        let quota = i64::from(self.quota);
        let beyond = |users: i64| (2 * users - quota).clamp(0, 2 * quota);
        let mut sums = FilledSlots::default();
        for (level, turn) in levels.iter().zip(0_u32..) {
            sums.filled += beyond((*level).into());
            sums.held += beyond(holders.users_of(turn).len() as i64);
        }
        Ok(sums)
    }
}
