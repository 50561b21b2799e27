//! The driver of scored rounds while tasks have the users in blocks.

use super::job::ExchangeJob;
use crate::exchange::wire::{
    Decisions, Packed, PartContents, SharedStates, add_up, each_frequent, each_part, each_sum, unpack_weights,
};
use crate::random::Digest;
use crate::rounds::{BLOCK_ITEMS, Driver, InMemory, ItemBlock, MOST_SHARED, Shared};
use crate::{Error, Result};
use zeroize::Zeroize;

const OTHER_ITEMS: Error = Error::Internal("the items of blocks changed between rounds");

/// The most sums that tasks send together in a round, if each of `tasks` has some of the users.
///
/// # Errors
/// [`Error::Internal`] if the user counts are damaged.
pub fn most_sums(shared: &Packed, tasks: u32) -> Result<u64> {
    let mut sums = 0_u64;
    each_frequent(shared.bytes(), |_, users| sums = sums.saturating_add(users.min(tasks).into()))?;
    Ok(sums)
}

/// Scores shared items round by round, and steers the next round.
#[derive(Debug)]
pub struct Steering {
    job: ExchangeJob,
    /// None before the first round. The slot of an item is its place in order of digests.
    driver: Option<Driver<InMemory<'static, ItemBlock>>>,
}

impl Steering {
    /// Before the first round.
    #[must_use]
    pub fn new(job: ExchangeJob) -> Self {
        Self { job, driver: None }
    }

    /// Take what the tasks of a round sent. Returns the states for the next round; after the last round, all decisions.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged, or if there is no such round; [`Error::Capacity`] for too many items or
    /// users.
    pub fn next(&mut self, sent: &Packed) -> Result<Packed> {
        let (mut sums, mut released) = (Vec::new(), Vec::new());
        let known = &mut self.driver;
        each_part(sent.bytes(), |contents, part| match (contents, &mut *known) {
            (PartContents::ByDigest, None) => unpack_weights(part, &mut sums),
            (PartContents::ByCode, Some(driver)) => {
                each_sum(part, |slot, sum| driver.shared_mut().add(slot, sum))
            }
            (PartContents::ByDigest, Some(_)) | (PartContents::ByCode, None) => Err(OTHER_ITEMS),
            (PartContents::Decisions, _) => {
                released.extend_from_slice(part);
                Ok(())
            }
        })?;
        let digests = if self.driver.is_none() { Some(self.begin(&mut sums)?) } else { None };
        let driver = self.driver.as_mut().ok_or(OTHER_ITEMS)?;
        let Some(decided) = driver.decide()? else {
            return Ok(SharedStates { digests, importances: driver.shared().importances().collect() }
                .pack()
                .into());
        };
        for item in &decided {
            Decisions::push(item.digest, item.weight, &mut released);
        }
        Ok(released.into())
    }

    /// Begin with the items of these sums, which are returned.
    fn begin(&mut self, sums: &mut Vec<(Digest, u64)>) -> Result<Vec<Digest>> {
        add_up(sums);
        if sums.len() > MOST_SHARED {
            return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
        }
        let digests: Vec<Digest> = sums.iter().map(|(digest, _)| *digest).collect();
        let mut shared = Shared::new(digests.len(), (1, 0));
        sums.iter().enumerate().try_for_each(|(slot, (_, sum))| shared.add(slot, *sum))?;
        for (digest, sum) in sums {
            digest.0.zeroize();
            sum.zeroize();
        }
        let blocks = (0..).step_by(BLOCK_ITEMS).zip(digests.chunks(BLOCK_ITEMS));
        let mut items: Vec<_> = blocks.map(|(first, items)| ItemBlock::new(first, items.to_vec())).collect();
        items.iter_mut().for_each(ItemBlock::begin);
        self.driver = Some(Driver::new(self.job.scored_rounds()?, shared, InMemory::new(items, 1, None)));
        Ok(digests)
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.items_mut().blocks_mut().iter_mut().for_each(ItemBlock::wipe);
            driver.shared_mut().wipe();
        }
    }
}
