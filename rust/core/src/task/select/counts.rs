//! The numbers of users of released and of public items, with noise.

use super::lists::PublicLists;
use crate::Result;
use crate::contributions::Contributions;
use crate::counting::{Counted, Holdings};
use crate::random::ReleaseKey;
use crate::rounds::Selected;
use crate::runtime::Control;
use crate::task::calibrated::CalibratedSelect;

/// What counts need of the rows, kept from before the lists and the rounds take items out.
#[derive(Debug)]
pub(super) struct BeforeSelection {
    holdings: Holdings,
    public: Vec<Counted>,
}

/// Noisy numbers of users: of the released items, and of those that come out in any case.
#[derive(Debug)]
pub(super) struct Users {
    pub(super) released: Vec<i64>,
    pub(super) public: Vec<i64>,
}

impl BeforeSelection {
    /// Keep what users hold.
    ///
    /// # Errors
    /// The limit of memory.
    pub(super) fn of(contributions: &Contributions, lists: &PublicLists, control: &Control) -> Result<Self> {
        let holdings = Holdings::of(contributions, control)?;
        Ok(Self { holdings, public: lists.counted(contributions) })
    }

    /// The noisy numbers of users, if the calibration pays for them.
    ///
    /// # Contract
    /// Released and public items are counted together: a user has one norm for all of them.
    ///
    /// # Errors
    /// As [`Holdings::noisy_users`].
    pub(super) fn users(
        &self,
        selected: &Selected,
        calibrated: &CalibratedSelect,
        key: &ReleaseKey,
        control: &Control,
    ) -> Result<Option<Users>> {
        let (Some(asked), Some(noise)) = (calibrated.request.counts, &calibrated.calibration.counts) else {
            return Ok(None);
        };
        let digests = selected.vocabulary().digests();
        let released =
            selected.items.iter().map(|(item, _)| Counted { digest: digests.get(*item), code: Some(*item) });
        let items: Vec<Counted> = released.chain(self.public.iter().copied()).collect();
        let mut users = asked.published(self.holdings.noisy_users(&items, noise, key, control)?);
        let public = users.split_off(selected.items.len());
        Ok(Some(Users { released: users, public }))
    }
}
