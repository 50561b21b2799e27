//! The items that several users hold, on the driver, while tasks have the users in blocks.

use super::deciding::wipe;
use super::job::ExchangeJob;
use crate::exchange::blocks::{Items, MOST_SHARED};
use crate::exchange::wire::{
    Packed, PartContents, SharedStates, add_up, each_frequent, each_part, each_sum, unpack_weights,
};
use crate::random::Digest;
use crate::{Error, Result};

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
    round: u32,
    /// All items that several users may hold, in order of their digests. The code of an item is its place.
    items: Items,
    /// The sums of the first round, each item once.
    sums: Vec<(Digest, u64)>,
    /// Decisions about items that one user alone holds.
    released: Vec<u8>,
}

impl Steering {
    /// Before the first round.
    #[must_use]
    pub fn new(job: ExchangeJob) -> Self {
        Self { job, round: 0, items: Items::default(), sums: Vec::new(), released: Vec::new() }
    }

    /// Take what some tasks of a round sent.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged; [`Error::Capacity`] for too many users.
    pub fn take(&mut self, sent: &Packed) -> Result<()> {
        let Self { items, sums, released, .. } = self;
        let is_first = self.round == 0;
        each_part(sent.bytes(), |contents, part| match contents {
            PartContents::ByDigest if is_first => unpack_weights(part, sums),
            PartContents::ByCode if !is_first => each_sum(part, |code, sum| items.give(code, sum)),
            PartContents::ByDigest | PartContents::ByCode => Err(OTHER_ITEMS),
            PartContents::Decisions => {
                released.extend_from_slice(part);
                Ok(())
            }
        })?;
        add_up(sums);
        Ok(())
    }

    /// End a round, all of whose tasks have sent. Returns the states for the next round; after the last round, all
    /// decisions.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no such round; [`Error::Capacity`] for too many items or users.
    pub fn end_round(&mut self) -> Result<Packed> {
        let is_first = self.round == 0;
        if is_first {
            self.items = items_of(&self.sums)?;
        }
        wipe(&mut self.sums);
        let mut released = std::mem::take(&mut self.released);
        let (decider, words) = self.job.decider(self.round, self.job.spec().with_weights)?;
        let is_last = decider.may_release();
        self.items.decide(&(decider, words), &mut released)?;
        self.round += 1;
        if is_last {
            return Ok(released.into());
        }
        let digests = is_first.then(|| self.items.digests().to_vec());
        let importances = self.items.importances().collect();
        Ok(SharedStates { digests, importances }.pack().into())
    }
}

/// The items of these sums, each once.
fn items_of(sums: &[(Digest, u64)]) -> Result<Items> {
    if sums.len() > MOST_SHARED {
        return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
    }
    let mut items = Items::new(sums.iter().map(|(digest, _)| *digest).collect());
    for (at, (_, sum)) in sums.iter().enumerate() {
        items.give(at, *sum)?;
    }
    Ok(items)
}

impl Drop for Steering {
    fn drop(&mut self) {
        self.items.wipe();
        wipe(&mut self.sums);
    }
}
