//! The numbers of users or rows of released and of public items, with noise.

use super::lists::PublicLists;
use crate::Result;
use crate::contributions::Contributions;
use crate::counting::{Counted, CountedUsers, Holdings};
use crate::random::ReleaseKey;
use crate::rounds::{Released, Selected};
use crate::runtime::Control;
use crate::task::calibrated::CalibratedSelect;

/// What counts need of the rows, kept from before the lists and the rounds take items out.
#[derive(Debug)]
pub(super) struct BeforeSelection {
    holdings: Holdings,
    public: Vec<Counted>,
}

/// Noisy numbers of users or rows: of the released items, and of those that come out in any case.
#[derive(Debug)]
pub(super) struct Numbers {
    pub(super) released: Vec<i64>,
    pub(super) public: Vec<i64>,
}

impl BeforeSelection {
    /// Keep what users hold. Contributions have every row if rows are counted.
    ///
    /// # Errors
    /// The limit of memory.
    pub(super) fn of(
        contributions: &Contributions,
        asked: &CountedUsers,
        lists: &PublicLists,
        control: &Control,
    ) -> Result<Self> {
        let holdings = Holdings::of(contributions, asked.limit(), control)?;
        Ok(Self { holdings, public: lists.counted(contributions) })
    }

    /// The noisy numbers, if the calibration pays for them.
    ///
    /// # Contract
    /// Released and public items are counted together: a user has one norm for all of them.
    ///
    /// # Errors
    /// As [`Holdings::noisy_counts`].
    pub(super) fn numbers(
        &self,
        selected: &Selected,
        calibrated: &CalibratedSelect,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Option<Numbers>> {
        let (Some(asked), Some(noise)) = (calibrated.request.counts, &calibrated.calibration.counts) else {
            return Ok(None);
        };
        let counted = |released: &Released| Counted { digest: released.digest, code: Some(released.item) };
        let released = selected.items.iter().map(counted);
        let items: Vec<Counted> = released.chain(self.public.iter().copied()).collect();
        let mut released = asked.published(self.holdings.noisy_counts(&items, noise, key, control)?);
        let public = released.split_off(selected.items.len());
        Ok(Some(Numbers { released, public }))
    }
}
