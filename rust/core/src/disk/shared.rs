//! Codes of the items that several users hold, for ways that have the states of these items in memory. The state of every
//! other item is beside its user.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::output::Collected;
use super::stages::Stages;
use crate::contributions::Contributions;
use crate::exchange::{ByDigest, Gather, MOST_SHARED, OnUsers, UserCounts};
use crate::numeric::widths::codes;
use crate::random::{Digest, ReleaseKey};
use crate::scratch::Stored;
use crate::{Error, Result};

/// The codes of shared items.
#[derive(Debug)]
pub(super) struct SharedCodes {
    codes: ByDigest<u32>,
    digests: Vec<Digest>,
}

impl SharedCodes {
    /// Give a code to each item that more than one user may hold.
    ///
    /// # Errors
    /// Those of scratch; an interruption.
    pub(super) fn find(
        contributions: &Stored<i32>,
        users: &UserCounts,
        key: &ReleaseKey,
        stages: Stages<'_>,
    ) -> Result<Arc<Self>> {
        let find = Find { users, found: Mutex::default() };
        let nothing = Collected::default();
        stages.run(contributions, || Ok(Gather::new(&find, key, stages.memory.sizes)), || &nothing)?;
        let codes = find.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let digests = by_code(&codes);
        Ok(Arc::new(Self { codes, digests }))
    }

    /// The code of an item; `None` if one user alone holds it.
    pub(super) fn get(&self, item: Digest) -> Option<u32> {
        self.codes.get(&item).copied()
    }

    /// The items by code.
    pub(super) fn digests(&self) -> &[Digest] {
        &self.digests
    }
}

struct Find<'a> {
    users: &'a UserCounts,
    found: Mutex<ByDigest<u32>>,
}

impl OnUsers for &Find<'_> {
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let digests = contributions.vocabulary.digests_from(0..contributions.vocabulary.code_bound());
        // Not every code has an item.
        let held = digests.into_iter().zip(contributions.users_of_items()).filter(|(_, users)| *users > 0);
        let shared = held.map(|(item, _)| item).filter(|item| self.users.at_most(*item) > 1);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for item in shared.collect::<Vec<_>>() {
            let next = codes(found.len());
            found.entry(item).or_insert(next);
        }
        if found.len() > MOST_SHARED {
            return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
        }
        Ok(Vec::new())
    }
}

/// The items in order of their codes, which begin at 0 and leave none out.
pub(super) fn by_code(codes: &ByDigest<u32>) -> Vec<Digest> {
    let mut items = vec![Digest::default(); codes.len()];
    for (item, code) in codes {
        items[*code as usize] = *item;
    }
    items
}
