//! The account of a user of a series of numbers: where it counted, and what that took of its norm.

use dpsel_exact::random::Digest;

use super::plan::CountsPlan;

/// One user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountAccount {
    pub(super) digest: Digest,
    /// The square of the norm of all that it gives, to the end of the series, in squares of grid steps.
    pub(super) spent: u128,
    /// Places of items, and the releases in which it counted there, both rising.
    pub(super) items: Vec<(u32, Vec<u32>)>,
}

impl CountAccount {
    /// A user that never counted.
    pub(super) fn new(digest: Digest) -> Self {
        Self { digest, spent: 0, items: Vec::new() }
    }

    /// Count in an item in a release, if its releases and its norm allow that; whether it does.
    ///
    /// # Contract
    /// `costs` are those of the release, and the user did not count in the item in it yet. With the norm as limit, the
    /// square of the norm of R times what the user counts is `spent`, and at most that limit.
    pub(super) fn count(
        &mut self,
        (item, release): (u32, u32),
        plan: &CountsPlan,
        (costs, limit): (&[u128], u128),
    ) -> bool {
        let found = self.items.binary_search_by_key(&item, |(item, _)| *item);
        let before: &[u32] = found.map_or(&[], |at| &self.items[at].1);
        if before.len() >= plan.asked.max_releases_per_item as usize {
            return false;
        }
        let beside: u128 = before.iter().map(|earlier| costs[(release - earlier) as usize]).sum();
        let spent = self.spent + costs[0] + 2 * beside;
        if spent > limit {
            return false;
        }
        self.spent = spent;
        match found {
            Ok(at) => self.items[at].1.push(release),
            Err(at) => self.items.insert(at, (item, vec![release])),
        }
        true
    }
}
