//! The driver of scored rounds while tasks have the users in blocks.

use dpsel_core::rounds::{
    BLOCK_ITEMS, Driver, ItemBlock, MOST_SHARED, MemoryBlocks, SharedLines, SharedTable,
};
use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use zeroize::Zeroize;

use super::job::ExchangeJob;
use super::plain_rounds::{WEIGHT, wipe};
use crate::exchange::wire::{
    Decisions, Packed, PartContents, add_up, each_frequent, each_pair, each_part, pack_states, unpack_weights,
};

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
    /// None before the first round has ended. The slot of an item is its place in order of digests.
    driver: Option<Driver<MemoryBlocks<'static, ItemBlock>>>,
    /// The sums of the first round, each item once.
    sums: Vec<(Digest, u64)>,
    /// Items of the first round, each with one directly above it.
    lines: Vec<(Digest, u128)>,
    /// Decisions about items that one user alone holds.
    released: Vec<u8>,
}

impl Steering {
    /// Before the first round.
    #[must_use]
    pub fn new(job: ExchangeJob) -> Self {
        Self { job, driver: None, sums: Vec::new(), lines: Vec::new(), released: Vec::new() }
    }

    /// Take what some tasks of a round sent.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged; [`Error::Capacity`] for too many users.
    pub fn take(&mut self, sent: &Packed) -> Result<()> {
        let Self { driver, sums, lines, released, .. } = self;
        if driver.is_none() {
            make_room(sums, sent.bytes().len() / WEIGHT);
        }
        // Where the items of the task begin.
        let mut first = 0;
        each_part(sent.bytes(), |contents, part| match (contents, &mut *driver) {
            (PartContents::ByDigest, None) => {
                first = sums.len();
                unpack_weights(part, sums)
            }
            (PartContents::Lines, None) => {
                make_room(lines, part.len() / 2);
                let of_task = &sums[first..];
                let item = |at: usize| of_task.get(at).map(|(item, _)| *item).ok_or(OTHER_ITEMS);
                each_pair(part, |at, above| {
                    lines.push((item(at)?, item(index(above))?.0));
                    Ok(())
                })
            }
            (PartContents::ByCode, Some(driver)) => {
                each_pair(part, |slot, sum| driver.shared_mut().add(slot, sum))
            }
            (PartContents::ByDigest | PartContents::Lines, Some(_)) | (PartContents::ByCode, None) => {
                Err(OTHER_ITEMS)
            }
            (PartContents::Decisions, _) => {
                released.extend_from_slice(part);
                Ok(())
            }
        })?;
        add_up(sums);
        lines.sort_unstable();
        lines.dedup();
        Ok(())
    }

    /// End a round, all of whose tasks have sent. Returns the states for the next round; after the last round, all
    /// decisions.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no such round; [`Error::Capacity`] for too many items or users.
    pub fn end_round(&mut self) -> Result<Packed> {
        let digests = if self.driver.is_none() { Some(self.begin()?) } else { None };
        let driver = self.driver.as_mut().ok_or(OTHER_ITEMS)?;
        let Some(decided) = driver.decide()? else {
            return Ok(pack_states(digests.as_deref(), driver.shared()).into());
        };
        let mut released = std::mem::take(&mut self.released);
        Decisions::push_released(&decided, &mut released);
        Ok(released.into())
    }

    /// Begin with the items of the first round, which are returned.
    fn begin(&mut self) -> Result<Vec<Digest>> {
        let sums = &mut self.sums;
        if sums.len() > MOST_SHARED {
            return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
        }
        let digests: Vec<Digest> = sums.iter().map(|(digest, _)| *digest).collect();
        let slot = |item| digests.binary_search(&item).map(codes).map_err(|_| OTHER_ITEMS);
        let lines = self.lines.iter().map(|(item, above)| Ok((slot(*item)?, slot(Digest(*above))?)));
        let lines = SharedLines::new(digests.len(), lines.collect::<Result<_>>()?);
        wipe(&mut self.lines);
        let lines = Some(lines).filter(|_| self.job.spec().calibration.descent);
        let mut shared = SharedTable::new(digests.len(), (1, 0)).with_lines(lines);
        sums.iter().enumerate().try_for_each(|(slot, (_, sum))| shared.add(slot, *sum))?;
        wipe(sums);
        *sums = Vec::new();
        let blocks = (0..).step_by(BLOCK_ITEMS).zip(digests.chunks(BLOCK_ITEMS));
        let mut items: Vec<_> = blocks.map(|(first, items)| ItemBlock::new(first, items.to_vec())).collect();
        items.iter_mut().for_each(ItemBlock::begin);
        self.driver = Some(Driver::new(self.job.scored_rounds()?, shared, MemoryBlocks::new(items, 1, None)));
        Ok(digests)
    }
}

/// Make room for more sums. Growing would leave a copy behind that is not wiped.
fn make_room<N: Copy + Default + Zeroize>(sums: &mut Vec<(Digest, N)>, more: usize) {
    if sums.capacity() - sums.len() < more {
        let mut larger = Vec::with_capacity((sums.len() + more).max(sums.len() * 2));
        larger.extend_from_slice(sums);
        wipe(sums);
        *sums = larger;
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.items_mut().blocks_mut().iter_mut().for_each(ItemBlock::wipe);
            driver.shared_mut().wipe();
        }
        wipe(&mut self.sums);
        wipe(&mut self.lines);
    }
}
