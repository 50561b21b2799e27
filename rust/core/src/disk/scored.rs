//! Scored rounds on the disk: each reads its users once. The state of items that several users hold is in memory, that of
//! others is beside their user.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::rounds::Rounds;
use super::users::{MOST_SHARED, SharedItems, Users};
use crate::accounting::L0Bound;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{Contributions, ItemCode};
use crate::exchange::{ByDigest, Gather, OnUsers, Packed, Route, UserCounts};
use crate::random::{Digest, Purpose, ReleaseKey, Words};
use crate::rounds::Decider;
use crate::runtime::Control;
use crate::scratch::{Spool, Stored};
use crate::weighting::Budgets;
use crate::{Error, Result};

/// Rows of a block, about. A round holds a block for each thread: unpacked, without abandoned items, and packed, which
/// is 150 bytes a row.
const BLOCK_ROWS: usize = 1 << 13;

/// Puts users into blocks: bounded, with the items that they keep.
struct Settle<'a> {
    bound: L0Bound,
    key: &'a ReleaseKey,
    budgets: &'a Budgets,
    /// Items with one user at most are not shared.
    users: &'a UserCounts,
    /// The code of each shared item.
    codes: &'a Mutex<ByDigest<u32>>,
}

impl OnUsers for &Settle<'_> {
    fn run(&self, last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let control = Control::new(std::num::NonZeroUsize::new(1), None);
        let bounded = BoundedContributions::new(contributions, self.bound, self.key, &control)?;
        let digests = bounded.vocabulary().digests_from(0..bounded.vocabulary().code_bound());
        let codes = self.codes_of(&bounded, &digests)?;
        let (mut blocks, mut users) = (Vec::new(), Users::default());
        for user in 0..bounded.users() {
            let items = bounded.kept_items(user);
            // A user beyond the table of budgets gives nothing.
            let Ok(place) = u8::try_from(self.budgets.place(items.len())) else { continue };
            if !items.is_empty() && self.budgets.has(place.into()) {
                users.add(
                    place,
                    items.iter().map(|item| codes[*item as usize].ok_or(digests[*item as usize])),
                );
            }
            if users.rows() >= BLOCK_ROWS {
                blocks.push((last, std::mem::take(&mut users).pack()));
            }
        }
        blocks.push((last, users.pack()));
        Ok(vec![Route::batch(&blocks)?])
    }
}

impl Settle<'_> {
    /// The codes of items that are kept and shared.
    fn codes_of(&self, bounded: &BoundedContributions, digests: &[Digest]) -> Result<Vec<Option<u32>>> {
        let mut kept = ItemSet::new(digests.len());
        for item in (0..bounded.users()).flat_map(|user| bounded.kept_items(user)) {
            kept.insert(ItemCode::from_index(*item as usize));
        }
        let is_shared =
            |code: usize| kept.contains(ItemCode::from_index(code)) && self.users.at_most(digests[code]) > 1;
        let shared: Vec<bool> = (0..digests.len()).map(is_shared).collect();
        let mut known = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let code = |(item, shared): (&Digest, bool)| {
            let next = known.len();
            shared.then(|| *known.entry(*item).or_insert(crate::numeric::widths::codes(next)))
        };
        let codes = digests.iter().zip(shared).map(code).collect();
        if known.len() > MOST_SHARED {
            return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
        }
        Ok(codes)
    }
}

impl Rounds<'_> {
    /// The decisions of the last round, given the numbers of users of all items with more than one.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn scored(&self, contributions: Arc<Stored<i32>>, users: &UserCounts) -> Result<Packed> {
        let (stages, spec) = (self.stages, self.job.spec());
        let Some((rounds, publish)) = spec.calibration.scoring() else {
            return Err(Error::Internal("the rounds do not score"));
        };
        let budgets = publish.budgets();
        let (mut blocks, mut shared) = self.settled(&contributions, &budgets, users)?;
        drop(contributions);
        stages.control.end_phase();
        let mut released = Vec::new();
        for (number, scoring) in (0_u32..).zip(rounds) {
            let decider = Decider::new(&spec.calibration, number, spec.with_weights)?;
            let round = (decider, Words::new(self.job.key(), Purpose::Noise, number));
            let (in_round, next) = (budgets.in_round(scoring.share), Spool::new(self.scratch)?);
            let found = Mutex::new(&mut released);
            stages.each_value(
                &blocks,
                || (stages.writer(&next), Vec::new()),
                |(writer, released), route: i32, packed| {
                    let mut users = Users::unpack(packed)?;
                    users.run(&in_round, &shared, &round, released)?;
                    writer.push(route, &users.pack())
                },
                |(mut writer, released)| {
                    found.lock().unwrap_or_else(PoisonError::into_inner).extend(released);
                    writer.flush()
                },
            )?;
            shared.decide(&round, &mut released)?;
            blocks = next.stored();
            stages.control.end_phase();
        }
        Ok(released.into())
    }

    /// The users in blocks, and the items that several of them hold.
    fn settled(
        &self,
        contributions: &Stored<i32>,
        budgets: &Budgets,
        users: &UserCounts,
    ) -> Result<(Stored<i32>, SharedItems)> {
        let (stages, key, codes) = (self.stages, self.job.key(), Mutex::default());
        let bound = self.job.spec().bound.ok_or(Error::Internal("rounds without a bound"))?;
        let (settle, blocks) =
            (Settle { bound, key, budgets, users, codes: &codes }, Spool::new(self.scratch)?);
        let gather = || Ok(Gather::new(&settle, key, stages.memory.sizes));
        stages.run(contributions, gather, || stages.writer(&blocks))?;
        let codes = codes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut digests = vec![Digest::default(); codes.len()];
        for (item, code) in codes {
            digests[code as usize] = item;
        }
        Ok((blocks.stored(), SharedItems::new(digests)))
    }
}
